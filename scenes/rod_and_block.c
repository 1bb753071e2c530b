// rod_and_block: a heavy block on a light rod, as in Tomcin et al. 2014, fig. 1d. The tension in
// the rod, not its weight, rules its motion: methods that treat joints by iteration stretch it.
#include "builtins.h"
#include "parts.h"

static void build(tn_scene* scene, const double* values)
{
    const tn_joint_type type  = values[3] == 0 ? TN_JOINT_BALL : TN_JOINT_HINGE;
    const tns_links     links = {.count  = (int)values[0],
                                 .start  = {0, 0, 0},
                                 .step   = {1, 0, 0},
                                 .radius = 0.04,
                                 .mass   = values[1],
                                 .joint  = type,
                                 .axis   = TNS_Y};
    tns_setup(scene, "rod_and_block", 0.001, 5);
    const tn_body_id last  = tns_add_links(scene, &links);
    const tn_vec3    end   = tns_links_end(&links);
    const tn_vec3    half  = {0.5, 0.5, 0.5};
    const tn_vec3    mid   = tns_add(end, tns_vec(half.x, 0, 0));
    const tn_body_id block = tns_box(scene, "block", tns_frame(mid), half, values[2]);
    tns_joint_at(scene, "hook", type, last, block, end, TNS_Y);
}

const tns_builtin tns_rod_and_block = {
    "rod_and_block",
    "a 7.5 t block on a 50 kg rod, let go from the horizontal; rods=5,rod_mass=1 is the hard one",
    {{"rods", "rods of 1 m between the ground and the block", 1, 1, 10000, true, NULL},
     {"rod_mass", "of each rod [kg]", 50, 1e-6, 1e9, false, NULL},
     {"block_mass", "a cube of 1 m [kg]", 7500, 1e-6, 1e12, false, NULL},
     {"joint", "type of every joint; hinges turn about y", 1, 0, 1, true, "ball|hinge"}},
    build};
