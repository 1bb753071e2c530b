// bricard: six links of 1 m in a ring, each hinge square to the two links it joins, along the edges
// of a cube. R. Bricard's trihedral 6R linkage: the squares of its odd and even links have equal
// sums and its axes are turned by 90 and -90 degrees in turn, so it moves although six hinges
// should lock a ring.
//
//     5 rods and the ground, 6 hinges: 30 rows, rank 29, one degree of freedom, one redundant row
//
// After the benchmark A04 of the IFToMM library: rods of 1 m, 0.1 m square, 1 kg each, released
// from rest on the cube's edges. There gravity is along -y; here it is along -z, and the fixed link
// is a level one.
#include "builtins.h"
#include "parts.h"

static void build(tn_scene* scene, const double* values)
{
    (void)values;
    static const tn_vec3 corners[6] = {{0, 0, 0},  {0, 0, -1}, {1, 0, -1},
                                       {1, 1, -1}, {1, 1, 0},  {0, 1, 0}};
    tns_setup(scene, "bricard", 10);
    tn_body_id rods[6]; // rods[i] leads from corner i on; the last is the ground
    for (int i = 0; i < 5; ++i) {
        const tn_vec3  a = corners[i], b = corners[i + 1];
        const tn_frame pose = {tns_mix(a, b, 0.5), tns_turn(TNS_Z, tns_sub(b, a))};
        rods[i] = tns_box(scene, tns_name("rod%d", i + 1).text, pose, tns_vec(0.05, 0.05, 0.5), 1);
    }
    rods[5] = TNS_GROUND;
    for (int i = 0; i < 6; ++i) {
        const int     before = (i + 5) % 6;
        const tn_vec3 in     = tns_sub(corners[i], corners[before]),
                      out    = tns_sub(corners[(i + 1) % 6], corners[i]);
        tns_joint_at(scene, tns_name("P%d", i).text, TN_JOINT_HINGE, rods[before], rods[i],
                     corners[i], tns_cross(in, out));
    }
}

const tns_builtin tns_bricard = {
    "bricard",
    "Bricard's ring of six hinges, which moves although it should be locked",
    {{0}},
    build,
};
