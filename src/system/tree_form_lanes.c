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

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__GNUC__) && !defined(__clang__)
#define UNROLL _Pragma("GCC unroll 4")
#else
#define UNROLL
#endif

static const double rounds_2 = 0.001, rounds_3 = 0.02; // |a|^2 above which 2, 3 rounds are needed
static const double far_turn = 0.0652;                 // s.s of a rotation by one radian

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
    enum { ROUNDS_MAX = 20 };
    const tni_link* a = &ns->links[i];
    const tni_mat3* I = &ns->model->bodies[a->body].inertia;
    const double *  p = q + a->q + 3, *m = I->m;
    const tn_quat   at = {p[0], p[1], p[2], p[3]};
    const tn_vec3   W0 = tni_rotate(tni_quat_conjugate(at), tni_read3(u + a->u + 3));
    const tn_vec3   L  = tni_mul(I, W0);
    tn_vec3         W  = tni_add_scaled(W0, 0.5 * h, tni_solve3(I, tni_cross(L, W0)));
    for (int round = 0; round < ROUNDS_MAX; ++round) {
        const tn_vec3  Lm   = tni_rotate(tni_quat_exp(tni_scale(-0.5 * h, W)), L);
        const tn_vec3  left = tni_sub(tni_mul(I, W), Lm), b = tni_scale(0.5 * h, Lm);
        const tni_mat3 D = {{m[0], m[1] + b.z, m[2] - b.y, m[3] - b.z, m[4], m[5] + b.x, m[6] + b.y,
                             m[7] - b.x, m[8]}};
        const tn_vec3  change = tni_solve3(&D, left);
        W                     = tni_sub(W, change);
        if (!(tni_max_abs(change) > 1e-12 * tni_max_abs(W))) break;
    }
    const tn_quat by  = tni_quat_exp(tni_scale(h, W));
    const tn_quat to  = tni_quat_normalised(tni_quat_mul(at, by));
    const tn_vec3 end = tni_solve3(I, tni_rotate(tni_quat_conjugate(by), L));
    double*       p1  = q1 + a->q + 3;
    p1[0] = to.w, p1[1] = to.x, p1[2] = to.y, p1[3] = to.z;
    tni_write3(u1 + a->u + 3, tni_rotate(to, end));
    ns->ends[i]     = tni_quat_matrix(to);
    const tn_vec3 x = tni_read3(q1 + a->q);
    *own            = tni_add(x, tni_mul(&ns->ends[i], a->form->ref));
    if (i > 0) *held = tni_add(x, tni_mul(&ns->ends[i], ns->links[i - 1].form->anchor));
}

#define SET plain
#define TARGET
#define BYTES 16
#if defined(__GNUC__) && defined(__x86_64__)
#define ROOT(x) ((__typeof__(x))_mm_sqrt_pd((__m128d)(x)))
#elif defined(__GNUC__)
#define ROOT(x) ((__typeof__(x)){sqrt((x)[0]), sqrt((x)[1])})
#else
#define ROOT(x) sqrt(x)
#endif
#include "system/tree_form_lanes.h"

const tni_link_lanes* tni_link_lanes_plain(void)
{
    return &plain;
}

#if defined(__GNUC__) && defined(__x86_64__)
#define SET     wide
#define TARGET  __attribute__((target("avx2")))
#define BYTES   32
#define ROOT(x) ((__typeof__(x))_mm256_sqrt_pd((__m256d)(x)))
#include "system/tree_form_lanes.h"

const tni_link_lanes* tni_link_lanes_best(void)
{
    return __builtin_cpu_supports("avx2") ? &wide : &plain;
}
#else
const tni_link_lanes* tni_link_lanes_best(void)
{
    return &plain;
}
#endif
