// vec3 and mat3: operations on 3-vectors and 3x3 matrices.
#ifndef TNI_VEC3_H
#define TNI_VEC3_H

#include "base/base.h"
#include "tenon/math.h"

#include <math.h>

typedef struct tni_mat3 {
    double m[9]; ///< row-major
} tni_mat3;

TNI_INLINE tn_vec3 tni_vec3(double x, double y, double z)
{
    return (tn_vec3){x, y, z};
}

TNI_INLINE tn_vec3 tni_add(tn_vec3 a, tn_vec3 b)
{
    return tni_vec3(a.x + b.x, a.y + b.y, a.z + b.z);
}

TNI_INLINE tn_vec3 tni_sub(tn_vec3 a, tn_vec3 b)
{
    return tni_vec3(a.x - b.x, a.y - b.y, a.z - b.z);
}

TNI_INLINE tn_vec3 tni_scale(double s, tn_vec3 a)
{
    return tni_vec3(s * a.x, s * a.y, s * a.z);
}

/// a + s b
TNI_INLINE tn_vec3 tni_add_scaled(tn_vec3 a, double s, tn_vec3 b)
{
    return tni_vec3(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z);
}

TNI_INLINE tn_vec3 tni_neg(tn_vec3 a)
{
    return tni_vec3(-a.x, -a.y, -a.z);
}

TNI_INLINE double tni_dot(tn_vec3 a, tn_vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

TNI_INLINE tn_vec3 tni_cross(tn_vec3 a, tn_vec3 b)
{
    return tni_vec3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

TNI_INLINE double tni_norm(tn_vec3 a)
{
    return sqrt(tni_dot(a, a));
}

TNI_INLINE bool tni_is_finite(tn_vec3 a)
{
    return tni_all_finite((const double[]){a.x, a.y, a.z}, 3);
}

TNI_INLINE double tni_max_abs(tn_vec3 a)
{
    return fmax(fabs(a.x), fmax(fabs(a.y), fabs(a.z)));
}

TNI_INLINE double tni_at(tn_vec3 a, int k)
{
    return k == 0 ? a.x : k == 1 ? a.y : a.z;
}

TNI_INLINE tn_vec3 tni_read3(const double* p)
{
    return tni_vec3(p[0], p[1], p[2]);
}

TNI_INLINE void tni_write3(double* p, tn_vec3 a)
{
    p[0] = a.x, p[1] = a.y, p[2] = a.z;
}

TNI_INLINE void tni_accumulate(double* p, tn_vec3 a)
{
    p[0] += a.x, p[1] += a.y, p[2] += a.z;
}

/// a / |a|; zero stays zero.
TNI_INLINE tn_vec3 tni_normalised(tn_vec3 a)
{
    const double n = tni_norm(a);
    return n > 0 ? tni_scale(1 / n, a) : a;
}

/// A unit vector perpendicular to s: s x e_k for the axis with the smallest |s_k|, first on ties.
TNI_INLINE tn_vec3 tni_perpendicular(tn_vec3 s)
{
    const double  x = fabs(s.x), y = fabs(s.y), z = fabs(s.z);
    const tn_vec3 e = x <= y && x <= z ? tni_vec3(1, 0, 0)
                      : y <= z         ? tni_vec3(0, 1, 0)
                                       : tni_vec3(0, 0, 1);
    return tni_normalised(tni_cross(s, e));
}

TNI_INLINE tn_vec3 tni_mul(const tni_mat3* A, tn_vec3 b)
{
    const double* m = A->m;
    return tni_vec3(m[0] * b.x + m[1] * b.y + m[2] * b.z, m[3] * b.x + m[4] * b.y + m[5] * b.z,
                    m[6] * b.x + m[7] * b.y + m[8] * b.z);
}

/// A^T b
TNI_INLINE tn_vec3 tni_mul_t(const tni_mat3* A, tn_vec3 b)
{
    const double* m = A->m;
    return tni_vec3(m[0] * b.x + m[3] * b.y + m[6] * b.z, m[1] * b.x + m[4] * b.y + m[7] * b.z,
                    m[2] * b.x + m[5] * b.y + m[8] * b.z);
}

TNI_INLINE tni_mat3 tni_mat_mul(const tni_mat3* A, const tni_mat3* B)
{
    tni_mat3 C;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            C.m[3 * i + j] = A->m[3 * i] * B->m[j] + A->m[3 * i + 1] * B->m[3 + j] +
                             A->m[3 * i + 2] * B->m[6 + j];
    return C;
}

TNI_INLINE tni_mat3 tni_transposed(const tni_mat3* A)
{
    const double* m = A->m;
    return (tni_mat3){{m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8]}};
}

TNI_INLINE tn_vec3 tni_column(const tni_mat3* A, int k)
{
    return tni_vec3(A->m[k], A->m[3 + k], A->m[6 + k]);
}

TNI_INLINE tni_mat3 tni_columns(tn_vec3 x, tn_vec3 y, tn_vec3 z)
{
    return (tni_mat3){{x.x, y.x, z.x, x.y, y.y, z.y, x.z, y.z, z.z}};
}

TNI_INLINE tni_mat3 tni_identity3(void)
{
    return (tni_mat3){{1, 0, 0, 0, 1, 0, 0, 0, 1}};
}

/// R S R^T for symmetric S.
TNI_INLINE tni_mat3 tni_rotate_symmetric(const tni_mat3* R, const tni_mat3* S)
{
    const tni_mat3 RS = tni_mat_mul(R, S), Rt = tni_transposed(R);
    return tni_mat_mul(&RS, &Rt);
}

TNI_INLINE double tni_det(const tni_mat3* A)
{
    return tni_dot(tni_column(A, 0), tni_cross(tni_column(A, 1), tni_column(A, 2)));
}

/// A^-1 b; A must be regular.
TNI_INLINE tn_vec3 tni_solve3(const tni_mat3* A, tn_vec3 b)
{
    const tn_vec3 x = tni_column(A, 0), y = tni_column(A, 1), z = tni_column(A, 2);
    const double  s = 1 / tni_det(A);
    return tni_vec3(s * tni_dot(b, tni_cross(y, z)), s * tni_dot(x, tni_cross(b, z)),
                    s * tni_dot(x, tni_cross(y, b)));
}

#endif
