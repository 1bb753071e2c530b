// peaucellier: the linkage of Peaucellier and Lipkin, which turns a circle into a straight line.
//
//     OA = OB = l = 3,  AC = BC = AD = BD = s = 2,  QC = OQ = r = 0.9  [m]
//
// O, C, D stay on one line and OC OD = l^2 - s^2, since the power of O for the circle about A
// through C and D is fixed. C runs on a circle through O, so its inverse D runs on a straight line,
// square to OQ, at the distance (l^2 - s^2) / 2r from O. Q hangs below O: the line is level, and
// the whole swings like a pendulum about OC upright, on which it is lowest. QC starts in the
// direction (4, 0, -3) / 5 and its swing stays clear of OC = l - s, where the arms are stretched
// and the rank drops.
//
// 7 bars, 10 hinges (where three bars meet there are two): 50 rows, rank 41, 9 redundant.
// The hinge "tip" is D. After R. Tomcin, D. Sibbing, L. Kobbelt, Efficient Enforcement of Hard
// Articulation Constraints in the Presence of Closed Loops and Contacts, 2014, fig. 3.
#include "builtins.h"
#include "linkage.h"

static tn_body_id bar(tn_scene* scene, const char* name, tn_vec3 a, tn_vec3 b)
{
    return tns_bar(scene, name, a, b, 0.04, 2);
}

static void build(tn_scene* scene, const double* values)
{
    (void)values;
    const double  l = 3, s = 2, r = 0.9;
    const tn_vec3 O = tns_vec(0, 0, 4), Q = tns_above(O, -r);
    const tn_vec3 C = tns_add(Q, tns_vec(0.8 * r, 0, -0.6 * r));
    const tn_vec3 A = tns_meet(O, l, C, s, true), B = tns_meet(O, l, C, s, false);
    const tn_vec3 OC = tns_sub(C, O);
    const tn_vec3 D  = tns_add(O, tns_scale((l - s) * (l + s) / tns_dot(OC, OC), OC));
    tns_setup(scene, "peaucellier", 0.001, 10);
    const tn_body_id oa = bar(scene, "OA", O, A), ob = bar(scene, "OB", O, B);
    const tn_body_id ac = bar(scene, "AC", A, C), bc = bar(scene, "BC", B, C);
    const tn_body_id ad = bar(scene, "AD", A, D), bd = bar(scene, "BD", B, D);
    const tn_body_id qc = bar(scene, "QC", Q, C);
    tns_pin(scene, "O1", TNS_GROUND, oa, O);
    tns_pin(scene, "O2", TNS_GROUND, ob, O);
    tns_pin(scene, "Q", TNS_GROUND, qc, Q);
    tns_pin(scene, "A1", oa, ac, A);
    tns_pin(scene, "A2", oa, ad, A);
    tns_pin(scene, "B1", ob, bc, B);
    tns_pin(scene, "B2", ob, bd, B);
    tns_pin(scene, "C1", qc, ac, C);
    tns_pin(scene, "C2", qc, bc, C);
    tns_pin(scene, "tip", ad, bd, D);
}

const tns_builtin tns_peaucellier = {
    "peaucellier",
    "Peaucellier's linkage: a tip on an exact straight line, 9 redundant rows",
    {{0}},
    build,
};
