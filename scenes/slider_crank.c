// slider_crank: a crank, a rod and a piston on a straight guide; gravity acts in their plane.
//
//       B             OB crank, BC rod, C the piston's pin, which runs along x through O.
//      / `--.__       The crank starts in the direction (3, 4) / 5.
//     O        C ==
//
// 3 bodies, 3 hinges and a slider, 20 rows of rank 17. The rod is longer than the crank, so the
// crank turns all the way round and no dead centre stops it.
#include "builtins.h"
#include "linkage.h"

static void build(tn_scene* scene, const double* values)
{
    const double  crank = values[0], rod = values[1];
    const tn_vec3 O = tns_vec(0, 0, 0), B = tns_vec(0.6 * crank, 0, 0.8 * crank);
    const tn_vec3 C = tns_vec(B.x + sqrt((rod - B.z) * (rod + B.z)), 0, 0);
    tns_setup(scene, "slider_crank", 5);
    const tn_body_id OB     = tns_bar(scene, "crank", O, B, 0.02, 4);
    const tn_body_id BC     = tns_bar(scene, "rod", B, C, 0.015, 2);
    const tn_body_id piston = tns_box(scene, "piston", tns_frame(C), tns_vec(0.06, 0.05, 0.05), 1);
    tns_drive(scene, "O", TNS_GROUND, OB, O, values[2]);
    tns_pin(scene, "B", OB, BC, B);
    tns_pin(scene, "C", BC, piston, C);
    tns_joint_at(scene, "guide", TN_JOINT_SLIDER, TNS_GROUND, piston, C, TNS_X);
}

const tns_builtin tns_slider_crank = {
    "slider_crank",
    "a crank that drives a piston, or is left to swing",
    {{"crank", "length [m]", 0.3, 0.05, 0.5, false, NULL},
     {"rod", "length [m]", 0.8, 0.6, 2, false, NULL},
     {"motor", "speed of the crank [rad/s]; 0: it swings freely", 0, -100, 100, false, NULL}},
    build,
};
