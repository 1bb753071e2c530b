// pendulum: a long chain of parallel hinges let go from the horizontal, as in Redon et al. 2005,
// fig. 5.
#include "builtins.h"
#include "parts.h"

static void build(tn_scene* scene, const double* values)
{
    const tns_links links = {.count  = (int)values[0],
                             .step   = {0.1, 0, 0},
                             .radius = 0.01,
                             .mass   = 0.1,
                             .joint  = TN_JOINT_HINGE,
                             .axis   = TNS_Y};
    tns_setup(scene, "pendulum", 10);
    tns_add_links(scene, &links);
}

const tns_builtin tns_pendulum = {"pendulum",
                                  "a plane pendulum of many hinges, let go from the horizontal",
                                  {{"n", "hinges, and rods", 300, 1, 10000000, true, NULL}},
                                  build};
