// chain: rods in a line, held at one end and released, by default from the horizontal. Shows linear
// run time, and how methods handle stiff joints and heavy loads:
//     chain:n=20,mass=0.05,tip_mass=7500,angle=1   7.5 t swing on 20 light links
#include "builtins.h"
#include "parts.h"

static void build(tn_scene* scene, const double* values)
{
    const double    length    = values[5];
    const tn_vec3   direction = tns_circle(tns_turns(values[7]));
    const tns_links links     = {.count     = (int)values[0],
                                 .step      = {length * direction.x, 0, -length * direction.y},
                                 .radius    = length / 10,
                                 .mass      = values[6],
                                 .tip_mass  = values[3],
                                 .joint     = values[1] == 0 ? TN_JOINT_BALL : TN_JOINT_HINGE,
                                 .axis      = TNS_Y,
                                 .stiffness = values[2],
                                 .damping   = values[4]};
    tns_setup(scene, "chain", 5);
    tns_add_links(scene, &links);
}

const tns_builtin tns_chain = {
    "chain",
    "rods in a line, held at one end, let go from the horizontal",
    {{"n", "rods, and joints", 10, 1, 10000000, true, NULL},
     {"joint", "type of every joint; hinges turn about y", 0, 0, 1, true, "ball|hinge"},
     {"stiffness", "spring in every joint [N m/rad]", 0, 0, 1e9, false, NULL},
     {"tip_mass", "added to the last rod [kg]", 0, 0, 1e9, false, NULL},
     {"damping", "in every joint [N m s/rad]", 0, 0, 1e9, false, NULL},
     {"length", "of a rod [m]", 0.1, 1e-4, 1000, false, NULL},
     {"mass", "of a rod [kg]", 0.1, 1e-9, 1e9, false, NULL},
     {"angle", "of the line below the horizontal [rad]; pi/2 hangs", 0, -3.15, 3.15, false, NULL}},
    build};
