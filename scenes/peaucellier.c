// peaucellier: the linkage of Peaucellier and Lipkin, which turns a circle into a straight line.
//
//     OA = OB = l = 3,  AC = BC = AD = BD = s = 2,  QC = OQ = r = 0.9  [m]
//
// O, C, D stay on one line and OC OD = l^2 - s^2, since the power of O for the circle about A
// through C and D is fixed. C runs on a circle through O, so its inverse D runs on a straight line,
// square to OQ, at the distance (l^2 - s^2) / 2r from O. Q hangs below O: the line is level, and
// the whole swings like a pendulum about OC upright, on which it is lowest. QC starts in the
// direction (4, 0, -3) / 5. Let go at rest it stays clear of OC = l - s, where the arms are
// stretched, A and B meet and the rank drops.
//
// With `speed` it starts on the move: w is the turn of QC about y, A turns about O at the rate
// that keeps its distance to C, and D = A + B - C closes the rhombus,
//
//     C' = w y x QC     A' = t y x OA,  t = C' . CA / (y x OA . CA),  B' likewise     D' = A' + B' - C'
//
// and a bar has the velocities of its ends. Energy puts the turning point of the swing on
// OC = l - s at |speed| = 2.26814164. Below, at 2.2367 and 2.2678, the nonzero eigenvalues of
// J M^-1 J^T have the ratios 1e7 and 9e8 at the turning point, the range of T fig. 3; 4e5 at rest.
//
// 7 bars, 10 hinges (where three bars meet there are two): 50 rows, rank 41, 9 redundant.
// The hinge "tip" is D. After T: R. Tomcin, D. Sibbing, L. Kobbelt, Efficient Enforcement of Hard
// Articulation Constraints in the Presence of Closed Loops and Contacts, 2014, fig. 3, which gives
// one length, 2, that of the bars drawn green: here those of the rhombus.
#include "builtins.h"
#include "linkage.h"

typedef struct pin {
    tn_vec3 at, velocity;
} pin;

static tn_body_id bar(tn_scene* scene, const char* name, pin a, pin b)
{
    const double mass = 2 * tns_length(tns_sub(b.at, a.at)); // 2 kg/m
    return tns_moving_rod(scene, name, a.at, b.at, a.velocity, b.velocity, 0.04, mass);
}

// At distance l from O, which rests, and s from C.
static pin place_arm(pin O, double l, pin C, double s, bool left)
{
    const tn_vec3 at = tns_meet(O.at, l, C.at, s, left), CA = tns_sub(at, C.at);
    const tn_vec3 way = tns_cross(TNS_Y, tns_sub(at, O.at));
    return (pin){at, tns_scale(tns_dot(C.velocity, CA) / tns_dot(way, CA), way)};
}

static void build(tn_scene* scene, const double* values)
{
    const double  l = 3, s = 2, r = 0.9;
    const tn_vec3 QC = tns_vec(0.8 * r, 0, -0.6 * r), rest = {0, 0, 0};
    const pin     O = {tns_vec(0, 0, 4), rest}, Q = {tns_above(O.at, -r), rest};
    const pin     C = {tns_add(Q.at, QC), tns_scale(values[0], tns_cross(TNS_Y, QC))};
    const pin     A = place_arm(O, l, C, s, true), B = place_arm(O, l, C, s, false);
    const tn_vec3 OC = tns_sub(C.at, O.at);
    const pin     D  = {tns_add(O.at, tns_scale((l - s) * (l + s) / tns_dot(OC, OC), OC)),
                        tns_sub(tns_add(A.velocity, B.velocity), C.velocity)};
    tns_setup(scene, "peaucellier", 10);
    const tn_body_id oa = bar(scene, "OA", O, A), ob = bar(scene, "OB", O, B);
    const tn_body_id ac = bar(scene, "AC", A, C), bc = bar(scene, "BC", B, C);
    const tn_body_id ad = bar(scene, "AD", A, D), bd = bar(scene, "BD", B, D);
    const tn_body_id qc = bar(scene, "QC", Q, C);
    tns_pin(scene, "O1", TNS_GROUND, oa, O.at);
    tns_pin(scene, "O2", TNS_GROUND, ob, O.at);
    tns_pin(scene, "Q", TNS_GROUND, qc, Q.at);
    tns_pin(scene, "A1", oa, ac, A.at);
    tns_pin(scene, "A2", oa, ad, A.at);
    tns_pin(scene, "B1", ob, bc, B.at);
    tns_pin(scene, "B2", ob, bd, B.at);
    tns_pin(scene, "C1", qc, ac, C.at);
    tns_pin(scene, "C2", qc, bc, C.at);
    tns_pin(scene, "tip", ad, bd, D.at);
}

const tns_builtin tns_peaucellier = {
    "peaucellier",
    "Peaucellier's linkage: a tip on an exact straight line, 9 redundant rows",
    {{"speed", "of the crank at the start [rad/s]; 2.2678 nearly reaches the singular position", 0,
      -100, 100, false, NULL}},
    build,
};
