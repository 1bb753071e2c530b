// spatial: spatial vectors (angular part first), transforms between frames, rigid-body inertias.
//
// A transform X leads from frame P to frame C: E takes P to C coordinates, r is C's origin in P
// coordinates.
//     X = [ E       0 ]      motion_C = X motion_P       force_P = X^T force_C
//         [ -E[r]   E ]      I_P = X^T I_C X
// Accelerations are spatial (the derivative of the velocity's numbers at a fixed point): the
// acceleration of the point at the origin is v' + w x v.
// what is at the origin is v' + w x v.
#ifndef TNI_SPATIAL_H
#define TNI_SPATIAL_H

#include "math/vec3.h"

/// A motion: angular w, linear v at the frame's origin. A force: torque w about the origin, force
/// v.
typedef struct tni_spatial {
    tn_vec3 w, v;
} tni_spatial;

typedef struct tni_transform {
    tni_mat3 E;
    tn_vec3  r;
} tni_transform;

/// A rigid-body inertia in a frame: mass, first moment (mass times centre of mass), second moments
/// about the origin.
typedef struct tni_rigid_inertia {
    double  mass;
    tn_vec3 moment;
    double  xx, xy, xz, yy, yz, zz;
} tni_rigid_inertia;

TNI_INLINE tni_spatial tni_spatial_zero(void)
{
    return (tni_spatial){{0, 0, 0}, {0, 0, 0}};
}
TNI_INLINE tni_spatial tni_spatial_add(tni_spatial a, tni_spatial b)
{
    return (tni_spatial){tni_add(a.w, b.w), tni_add(a.v, b.v)};
}
TNI_INLINE tni_spatial tni_spatial_sub(tni_spatial a, tni_spatial b)
{
    return (tni_spatial){tni_sub(a.w, b.w), tni_sub(a.v, b.v)};
}
/// a + s b
TNI_INLINE tni_spatial tni_spatial_add_scaled(tni_spatial a, double s, tni_spatial b)
{
    return (tni_spatial){tni_add_scaled(a.w, s, b.w), tni_add_scaled(a.v, s, b.v)};
}
TNI_INLINE double tni_spatial_dot(tni_spatial a, tni_spatial b)
{
    return tni_dot(a.w, b.w) + tni_dot(a.v, b.v);
}
TNI_INLINE tni_spatial tni_spatial_read(const double* p)
{
    return (tni_spatial){tni_read3(p), tni_read3(p + 3)};
}
TNI_INLINE void tni_spatial_write(double* p, tni_spatial a)
{
    tni_write3(p, a.w);
    tni_write3(p + 3, a.v);
}
/// v x m, motion cross motion
TNI_INLINE tni_spatial tni_cross_motion(tni_spatial v, tni_spatial m)
{
    return (tni_spatial){tni_cross(v.w, m.w), tni_add(tni_cross(v.v, m.w), tni_cross(v.w, m.v))};
}
/// v x* f, motion cross force
TNI_INLINE tni_spatial tni_cross_force(tni_spatial v, tni_spatial f)
{
    return (tni_spatial){tni_add(tni_cross(v.w, f.w), tni_cross(v.v, f.v)), tni_cross(v.w, f.v)};
}

TNI_INLINE tni_transform tni_transform_identity(void)
{
    return (tni_transform){tni_identity3(), {0, 0, 0}};
}
/// X m: a motion from P to C coordinates
TNI_INLINE tni_spatial tni_transform_motion(const tni_transform* X, tni_spatial m)
{
    return (tni_spatial){tni_mul(&X->E, m.w), tni_mul(&X->E, tni_sub(m.v, tni_cross(X->r, m.w)))};
}
/// X^T f: a force from C to P coordinates
TNI_INLINE tni_spatial tni_transform_force(const tni_transform* X, tni_spatial f)
{
    const tn_vec3 force = tni_mul_t(&X->E, f.v);
    return (tni_spatial){tni_add(tni_mul_t(&X->E, f.w), tni_cross(X->r, force)), force};
}
/// Composition: `first` from P to C, `then` from C to Q.
TNI_INLINE tni_transform tni_transform_then(const tni_transform* first, const tni_transform* then)
{
    return (tni_transform){tni_mat_mul(&then->E, &first->E),
                           tni_add(first->r, tni_mul_t(&first->E, then->r))};
}
TNI_INLINE tni_transform tni_transform_inverse(const tni_transform* X)
{
    return (tni_transform){tni_transposed(&X->E), tni_neg(tni_mul(&X->E, X->r))};
}

/// I v
TNI_INLINE tni_spatial tni_rigid_inertia_times(const tni_rigid_inertia* I, tni_spatial v)
{
    const tn_vec3 w  = v.w;
    const tn_vec3 Jw = {I->xx * w.x + I->xy * w.y + I->xz * w.z,
                        I->xy * w.x + I->yy * w.y + I->yz * w.z,
                        I->xz * w.x + I->yz * w.y + I->zz * w.z};
    return (tni_spatial){tni_add(Jw, tni_cross(I->moment, v.v)),
                         tni_add_scaled(tni_cross(w, I->moment), I->mass, v.v)};
}

/// rigid_inertia.c. X^T I X: an inertia from C to P.
tni_rigid_inertia tni_rigid_inertia_transform(const tni_transform* X, const tni_rigid_inertia* I);
tni_rigid_inertia tni_rigid_inertia_add(const tni_rigid_inertia* a, const tni_rigid_inertia* b);
/// The 6 x 6 matrix, row-major, and its inverse. False: not positive definite; M is unchanged.
void tni_rigid_inertia_matrix(const tni_rigid_inertia* I, double* M);
bool tni_rigid_inertia_inverse(const tni_rigid_inertia* I, double* M);

#endif
