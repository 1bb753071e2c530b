// fourbar: a crank, a coupler and a rocker on the ground, pinned in a ring; gravity acts in their
// plane.
//
//     B-------C      OB crank, BC coupler, CD rocker, OD ground; the crank stands up at the start.
//     |        \     The crank turns all the way round when shortest + longest <= the other two.
//     O         D
//
// 3 bodies, 4 hinges, 20 rows of rank 17: one degree of freedom, and three rows too many because
// every hinge holds the loop in its plane. The ranges of the parameters let every choice close.
#include "builtins.h"
#include "linkage.h"

static void build(tn_scene* scene, const double* values)
{
    const double  crank = values[0], coupler = values[1], rocker = values[2], ground = values[3];
    const tn_vec3 O = tns_vec(0, 0, 0), D = tns_vec(ground, 0, 0), B = tns_vec(0, 0, crank);
    const tn_vec3 C = tns_meet(B, coupler, D, rocker, true);
    tns_setup(scene, "fourbar", 5);
    const tn_body_id OB = tns_bar(scene, "crank", O, B, 0.02, 2);
    const tn_body_id BC = tns_bar(scene, "coupler", B, C, 0.02, 2);
    const tn_body_id CD = tns_bar(scene, "rocker", C, D, 0.02, 2);
    tns_drive(scene, "O", TNS_GROUND, OB, O, values[4]);
    tns_pin(scene, "B", OB, BC, B);
    tns_pin(scene, "C", BC, CD, C);
    tns_pin(scene, "D", TNS_GROUND, CD, D);
}

const tns_builtin tns_fourbar = {
    "fourbar",
    "a four-bar linkage, driven or swinging",
    {{"crank", "length [m]", 0.3, 0.1, 0.4, false, NULL},
     {"coupler", "length [m]", 0.8, 0.6, 1.2, false, NULL},
     {"rocker", "length [m]", 0.6, 0.6, 1.0, false, NULL},
     {"ground", "distance of the fixed pins [m]", 0.8, 0.6, 1.0, false, NULL},
     {"motor", "speed of the crank [rad/s]; 0: it swings freely", 0, -100, 100, false, NULL}},
    build,
};
