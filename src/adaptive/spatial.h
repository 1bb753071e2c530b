// spatial: motions and forces with six numbers, the angular part first; frames; rigid inertias.
//
// A shift leads from frame P to frame C: E takes P to C coordinates, r is C's origin in P coordinates.
//     X = [ E       0 ]      motion_C = X motion_P       force_P = X^T force_C
//         [ -E[r]   E ]      I_P = X^T I_C X
// Accelerations are spatial: the rate of the velocity's numbers at a point that is fixed; the acceleration of
// what is at the origin is v' + w x v.
#ifndef TNI_SPATIAL_H
#define TNI_SPATIAL_H

#include "math/vec3.h"

/// A motion: angular w, linear v at the frame's origin. A force: torque w about the origin, force v.
typedef struct tni_six {
    tn_vec3 w, v;
} tni_six;

typedef struct tni_shift {
    tni_mat3 E;
    tn_vec3  r;
} tni_shift;

/// A rigid body seen from a frame: mass, mass times the centre of mass, moments about the origin.
typedef struct tni_rigid {
    double  mass;
    tn_vec3 moment;
    double  xx, xy, xz, yy, yz, zz;
} tni_rigid;

TNI_INLINE tni_six tni_six_zero(void)
{
    return (tni_six){{0, 0, 0}, {0, 0, 0}};
}
TNI_INLINE tni_six tni_six_add(tni_six a, tni_six b)
{
    return (tni_six){tni_add(a.w, b.w), tni_add(a.v, b.v)};
}
TNI_INLINE tni_six tni_six_sub(tni_six a, tni_six b)
{
    return (tni_six){tni_sub(a.w, b.w), tni_sub(a.v, b.v)};
}
/// a + s b
TNI_INLINE tni_six tni_six_add_scaled(tni_six a, double s, tni_six b)
{
    return (tni_six){tni_add_scaled(a.w, s, b.w), tni_add_scaled(a.v, s, b.v)};
}
TNI_INLINE double tni_six_dot(tni_six a, tni_six b)
{
    return tni_dot(a.w, b.w) + tni_dot(a.v, b.v);
}
TNI_INLINE tni_six tni_six_read(const double* p)
{
    return (tni_six){tni_read3(p), tni_read3(p + 3)};
}
TNI_INLINE void tni_six_write(double* p, tni_six a)
{
    tni_write3(p, a.w);
    tni_write3(p + 3, a.v);
}
/// v x m, of motions
TNI_INLINE tni_six tni_cross_motion(tni_six v, tni_six m)
{
    return (tni_six){tni_cross(v.w, m.w), tni_add(tni_cross(v.v, m.w), tni_cross(v.w, m.v))};
}
/// v x* f, of a motion and a force
TNI_INLINE tni_six tni_cross_force(tni_six v, tni_six f)
{
    return (tni_six){tni_add(tni_cross(v.w, f.w), tni_cross(v.v, f.v)), tni_cross(v.w, f.v)};
}

TNI_INLINE tni_shift tni_shift_none(void)
{
    return (tni_shift){tni_identity3(), {0, 0, 0}};
}
/// X m: a motion of P, seen from C
TNI_INLINE tni_six tni_shift_motion(const tni_shift* X, tni_six m)
{
    return (tni_six){tni_mul(&X->E, m.w), tni_mul(&X->E, tni_sub(m.v, tni_cross(X->r, m.w)))};
}
/// X^T f: a force of C, seen from P
TNI_INLINE tni_six tni_shift_force(const tni_shift* X, tni_six f)
{
    const tn_vec3 force = tni_mul_t(&X->E, f.v);
    return (tni_six){tni_add(tni_mul_t(&X->E, f.w), tni_cross(X->r, force)), force};
}
/// From P to Q, by way of C: first from P to C, then from C to Q.
TNI_INLINE tni_shift tni_shift_then(const tni_shift* first, const tni_shift* then)
{
    return (tni_shift){tni_mat_mul(&then->E, &first->E),
                       tni_add(first->r, tni_mul_t(&first->E, then->r))};
}
TNI_INLINE tni_shift tni_shift_inverse(const tni_shift* X)
{
    return (tni_shift){tni_transposed(&X->E), tni_neg(tni_mul(&X->E, X->r))};
}

/// I v
TNI_INLINE tni_six tni_rigid_times(const tni_rigid* I, tni_six v)
{
    const tn_vec3 w  = v.w;
    const tn_vec3 Jw = {I->xx * w.x + I->xy * w.y + I->xz * w.z,
                        I->xy * w.x + I->yy * w.y + I->yz * w.z,
                        I->xz * w.x + I->yz * w.y + I->zz * w.z};
    return (tni_six){tni_add(Jw, tni_cross(I->moment, v.v)),
                     tni_add_scaled(tni_cross(w, I->moment), I->mass, v.v)};
}

/// rigid_inertia.c. X^T I X: a body seen from C, seen from P.
tni_rigid tni_rigid_shift(const tni_shift* X, const tni_rigid* I);
tni_rigid tni_rigid_add(const tni_rigid* a, const tni_rigid* b);
/// The 6 x 6 matrix, row-major; and its inverse. False: not positive definite, and nothing was written.
void tni_rigid_matrix(const tni_rigid* I, double* M);
bool tni_rigid_inverse(const tni_rigid* I, double* M);

#endif
