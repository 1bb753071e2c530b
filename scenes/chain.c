// chain: rods in a line, held at one end and let go from the horizontal. The measure of linear
// time.
#include "builtins.h"
#include "parts.h"

static void build(tn_scene* scene, const double* values)
{
    const tns_links links = {.count     = (int)values[0],
                             .step      = {0.1, 0, 0},
                             .radius    = 0.01,
                             .mass      = 0.1,
                             .tip_mass  = values[3],
                             .joint     = values[1] == 0 ? TN_JOINT_BALL : TN_JOINT_HINGE,
                             .axis      = TNS_Y,
                             .stiffness = values[2]};
    tns_setup(scene, "chain", 0.001, 5);
    tns_add_links(scene, &links);
}

const tns_builtin tns_chain = {
    "chain",
    "rods of 0.1 m and 0.1 kg in a line, held at one end, let go from the horizontal",
    {{"n", "rods, and joints", 10, 1, 10000000, true, NULL},
     {"joint", "type of every joint; hinges turn about y", 0, 0, 1, true, "ball|hinge"},
     {"stiffness", "spring in every joint [N m/rad]", 0, 0, 1e9, false, NULL},
     {"tip_mass", "added to the last rod [kg]", 0, 0, 1e9, false, NULL}},
    build};
