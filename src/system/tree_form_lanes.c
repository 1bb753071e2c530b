// tree_form_lanes: kernels on links, several links at once in SIMD lanes; all instruction sets give
// the same bits.
//
// Survey: inertia, momentum and geometric stiffness of a link, and its anchors' positions, before
// the elimination.
//
// Flight: the rule of state/flight.c, for rotations by less than a radian. With a = h W / 2 and l =
// h L / 2 in body axes, and s = tan(|a|/2) a/|a|, so that exp(-[a]x) = (1 + [s]x)^-1 (1 - [s]x),
//
//     F(s) = I a - l + s x (I a + l) = 0,    a = 2 k s,   k = atan(|s|)/|s|
//     dF   = (1 + [s]x) I da - [I a + l]x ds,   da = (2 k + 4 k' s s^T) ds
//
// by Newton's method from the first three terms of a in powers of h, whose error is of order |a|^3:
// one round, and one or two more with the same dF; the rotation by 2 a is rational in s:
//
//     by = ((1 - s.s), 2 s) / (1 + s.s)
#include "system/tree_form_link.h"

#include "math/simd.h"

// Offsets of the numbers in a link form, in doubles.
_Static_assert(offsetof(tni_link_form, inertia) == 1 * sizeof(double), "INERTIA");
_Static_assert(offsetof(tni_link_form, inverse) == 7 * sizeof(double), "INVERSE");
_Static_assert(offsetof(tni_link_form, ref) == 13 * sizeof(double), "REF");
_Static_assert(offsetof(tni_link_form, anchor) == 16 * sizeof(double), "ANCHOR");
_Static_assert(offsetof(tni_link_form, sign) == 19 * sizeof(double), "SIGN");
_Static_assert(offsetof(tni_link_form, axes) == 26 * sizeof(double), "AXES");

// A body that rotates far in a step: the same rule, with functions for any angle. Returns the
// positions of its anchor and of that of its only child.
static void fly_far(const tni_tree_form* ns, int i, double h, const double* q, const double* u,
                    double* q1, double* u1, tn_vec3* own, tn_vec3* held)
{
    const tni_link* a  = &ns->links[i];
    const double*   p  = q + a->q + 3;
    double*         p1 = q1 + a->q + 3;
    tn_quat         to = {p[0], p[1], p[2], p[3]};
    tn_vec3         w  = tni_read3(u + a->u + 3);
    tni_turn_freely(&ns->model->bodies[a->body].inertia, h, &to, &w);
    p1[0] = to.w, p1[1] = to.x, p1[2] = to.y, p1[3] = to.z;
    tni_write3(u1 + a->u + 3, w);
    ns->ends[i]     = tni_quat_matrix(to);
    const tn_vec3 x = tni_read3(q1 + a->q);
    *own            = tni_add(x, tni_mul(&ns->ends[i], a->form->ref));
    if (i > 0) *held = tni_add(x, tni_mul(&ns->ends[i], ns->links[i - 1].form->anchor));
}

#define SIMD_KERNELS "system/tree_form_lanes.h"
#include "math/simd_each.h"

const tni_link_lanes* tni_link_lanes_of(int width)
{
    return TNI_SIMD_OF(&lanes, width);
}
