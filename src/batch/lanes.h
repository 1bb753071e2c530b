// lanes: numbers of several copies side by side, and vectors, matrices and quaternions made of
// them. The operations are those of math/vec3.h and math/rotation.h in the same order, so that a
// lane has their bits.
//
// Compiled once for each vector length (math/simd.h), in a file of its own (batch_baseline.c, batch_avx2.c).
#ifndef TNI_LANES_H
#define TNI_LANES_H

#include "math/rotation.h"

#define EACH(k) UNROLL for (int k = 0; k < LANES; ++k)

TNI_INLINE vec pick(mask m, vec a, vec b)
{
    return PICK(m, a, b);
}

TNI_INLINE vec only(mask m, vec a)
{
    return ONLY(m, a);
}

TNI_INLINE bool any(mask m)
{
    return ANY(m);
}

TNI_INLINE bool all(mask m)
{
    return BITS(m) == (1 << LANES) - 1;
}

TNI_INLINE vec splat(double a)
{
    return ALL(a);
}

TNI_INLINE vec absolute(vec a)
{
    const mask sign = (mask)splat(-0.0);
    return (vec)((mask)a & ~sign);
}

/// With the sign of b.
TNI_INLINE vec signed_as(vec a, vec b)
{
    const mask sign = (mask)splat(-0.0);
    return (vec)(((mask)a & ~sign) | ((mask)b & sign));
}

/// fmax; NaN is ignored.
TNI_INLINE vec larger(vec a, vec b)
{
    return pick(a >= b, a, pick(b == b, b, a));
}

/// floor, of numbers below 2^51.
TNI_INLINE vec lower_whole(vec a)
{
    const double rounder = 0x1.8p52;
    const vec    near    = (a + rounder) - rounder;
    return pick(near > a, near - 1, near);
}

// ---- To and from lanes -------------------------------------------------------------------------

#if WIDTH == 4
TNI_INLINE void transpose(vec a[4])
{
    const vec p = __builtin_shufflevector(a[0], a[1], 0, 4, 2, 6),
              q = __builtin_shufflevector(a[0], a[1], 1, 5, 3, 7),
              r = __builtin_shufflevector(a[2], a[3], 0, 4, 2, 6),
              s = __builtin_shufflevector(a[2], a[3], 1, 5, 3, 7);
    a[0]        = __builtin_shufflevector(p, r, 0, 1, 4, 5);
    a[1]        = __builtin_shufflevector(q, s, 0, 1, 4, 5);
    a[2]        = __builtin_shufflevector(p, r, 2, 3, 6, 7);
    a[3]        = __builtin_shufflevector(q, s, 2, 3, 6, 7);
}
#else
TNI_INLINE void transpose(vec a[2])
{
    const vec p = {a[0][0], a[1][0]}, q = {a[0][1], a[1][1]};
    a[0] = p, a[1] = q;
}
#endif

/// to[i] <- number i of each lane.
TNI_INLINE void into_lanes(vec* to, const double* const* from, int count)
{
    int i = 0;
    for (; i + LANES <= count; i += LANES) {
        vec a[LANES];
        EACH(k) memcpy(&a[k], from[k] + i, sizeof a[k]);
        transpose(a);
        EACH(k) to[i + k] = a[k];
    }
    for (; i < count; ++i) EACH(k) to[i][k] = from[k][i];
}

/// The reverse.
TNI_INLINE void out_of_lanes(double* const* to, const vec* from, int count)
{
    int i = 0;
    for (; i + LANES <= count; i += LANES) {
        vec a[LANES];
        EACH(k) a[k] = from[i + k];
        transpose(a);
        EACH(k) memcpy(to[k] + i, &a[k], sizeof a[k]);
    }
    for (; i < count; ++i) EACH(k) to[k][i] = from[i][k];
}

// ---- Three numbers -----------------------------------------------------------------------------

typedef struct vec3 {
    vec x, y, z;
} vec3;

TNI_INLINE vec3 make3(vec x, vec y, vec z)
{
    return (vec3){x, y, z};
}

TNI_INLINE vec3 splat3(tn_vec3 a)
{
    return make3(splat(a.x), splat(a.y), splat(a.z));
}

TNI_INLINE vec3 zero3(void)
{
    const vec zero = {0};
    return make3(zero, zero, zero);
}

TNI_INLINE vec3 add(vec3 a, vec3 b)
{
    return make3(a.x + b.x, a.y + b.y, a.z + b.z);
}

TNI_INLINE vec3 sub(vec3 a, vec3 b)
{
    return make3(a.x - b.x, a.y - b.y, a.z - b.z);
}

TNI_INLINE vec3 scale(vec s, vec3 a)
{
    return make3(s * a.x, s * a.y, s * a.z);
}

/// By a number equal in all lanes.
TNI_INLINE vec3 scale1(double s, vec3 a)
{
    return make3(s * a.x, s * a.y, s * a.z);
}

TNI_INLINE vec3 add_scaled(vec3 a, vec s, vec3 b)
{
    return make3(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z);
}

TNI_INLINE vec3 neg(vec3 a)
{
    return make3(-a.x, -a.y, -a.z);
}

TNI_INLINE vec dot(vec3 a, vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

TNI_INLINE vec3 cross(vec3 a, vec3 b)
{
    return make3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

TNI_INLINE vec3 pick3(mask m, vec3 a, vec3 b)
{
    return make3(pick(m, a.x, b.x), pick(m, a.y, b.y), pick(m, a.z, b.z));
}

TNI_INLINE vec3 only3(mask m, vec3 a)
{
    return make3(only(m, a.x), only(m, a.y), only(m, a.z));
}

TNI_INLINE vec3 read3(const vec* p)
{
    return make3(p[0], p[1], p[2]);
}

TNI_INLINE void write3(vec* p, vec3 a)
{
    p[0] = a.x, p[1] = a.y, p[2] = a.z;
}

/// w x (w x r)
TNI_INLINE vec3 bias(vec3 w, vec3 r)
{
    return cross(w, cross(w, r));
}

// ---- Matrices: nine numbers, six if symmetric --------------------------------------------------

typedef struct mat3 {
    vec m[9]; ///< row-major
} mat3;

typedef struct sym {
    vec xx, xy, xz, yy, yz, zz;
} sym;

TNI_INLINE mat3 splat33(const tni_mat3* A)
{
    mat3 B;
    for (int i = 0; i < 9; ++i) B.m[i] = splat(A->m[i]);
    return B;
}

TNI_INLINE vec3 mul(const mat3* A, vec3 b)
{
    const vec* m = A->m;
    return make3(m[0] * b.x + m[1] * b.y + m[2] * b.z, m[3] * b.x + m[4] * b.y + m[5] * b.z,
                 m[6] * b.x + m[7] * b.y + m[8] * b.z);
}

/// A b for a vector equal in all lanes.
TNI_INLINE vec3 mul1(const mat3* A, tn_vec3 b)
{
    const vec* m = A->m;
    return make3(m[0] * b.x + m[1] * b.y + m[2] * b.z, m[3] * b.x + m[4] * b.y + m[5] * b.z,
                 m[6] * b.x + m[7] * b.y + m[8] * b.z);
}

/// A^T b
TNI_INLINE vec3 mul_t(const mat3* A, vec3 b)
{
    const vec* m = A->m;
    return make3(m[0] * b.x + m[3] * b.y + m[6] * b.z, m[1] * b.x + m[4] * b.y + m[7] * b.z,
                 m[2] * b.x + m[5] * b.y + m[8] * b.z);
}

TNI_INLINE mat3 mat_mul(const mat3* A, const mat3* B)
{
    mat3 C;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            C.m[3 * i + j] = A->m[3 * i] * B->m[j] + A->m[3 * i + 1] * B->m[3 + j] +
                             A->m[3 * i + 2] * B->m[6 + j];
    return C;
}

TNI_INLINE mat3 mat_mul1(const mat3* A, const tni_mat3* B)
{
    mat3 C;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            C.m[3 * i + j] = A->m[3 * i] * B->m[j] + A->m[3 * i + 1] * B->m[3 + j] +
                             A->m[3 * i + 2] * B->m[6 + j];
    return C;
}

TNI_INLINE mat3 transposed(const mat3* A)
{
    const vec* m = A->m;
    return (mat3){{m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8]}};
}

TNI_INLINE vec3 column(const mat3* A, int k)
{
    return make3(A->m[k], A->m[3 + k], A->m[6 + k]);
}

TNI_INLINE vec3 row3(const mat3* A, int i)
{
    return read3(A->m + 3 * i);
}

TNI_INLINE mat3 columns(vec3 x, vec3 y, vec3 z)
{
    return (mat3){{x.x, y.x, z.x, x.y, y.y, z.y, x.z, y.z, z.z}};
}

TNI_INLINE mat3 rows(vec3 x, vec3 y, vec3 z)
{
    return (mat3){{x.x, x.y, x.z, y.x, y.y, y.z, z.x, z.y, z.z}};
}

TNI_INLINE vec determinant(const mat3* A)
{
    return dot(column(A, 0), cross(column(A, 1), column(A, 2)));
}

TNI_INLINE vec3 solve3(const mat3* A, vec3 b)
{
    const vec3 x = column(A, 0), y = column(A, 1), z = column(A, 2);
    const vec  s = 1 / determinant(A);
    return make3(s * dot(b, cross(y, z)), s * dot(x, cross(b, z)), s * dot(x, cross(y, b)));
}

TNI_INLINE vec3 sym_times(const sym* A, vec3 x)
{
    return make3(A->xx * x.x + A->xy * x.y + A->xz * x.z, A->xy * x.x + A->yy * x.y + A->yz * x.z,
                 A->xz * x.x + A->yz * x.y + A->zz * x.z);
}

TNI_INLINE void sym_add(sym* A, const sym* B)
{
    A->xx += B->xx, A->xy += B->xy, A->xz += B->xz;
    A->yy += B->yy, A->yz += B->yz, A->zz += B->zz;
}

/// A += s x x^T
TNI_INLINE void sym_add_outer(sym* A, vec s, vec3 x)
{
    const vec3 y = scale(s, x);
    A->xx += y.x * x.x, A->xy += y.x * x.y, A->xz += y.x * x.z;
    A->yy += y.y * x.y, A->yz += y.y * x.z, A->zz += y.z * x.z;
}

// ---- Quaternions -------------------------------------------------------------------------------

typedef struct quat {
    vec w, x, y, z;
} quat;

TNI_INLINE quat read4(const vec* p)
{
    return (quat){p[0], p[1], p[2], p[3]};
}

TNI_INLINE quat quat_mul(quat a, quat b)
{
    return (quat){a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
                  a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                  a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                  a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}

TNI_INLINE quat splat4(tn_quat a)
{
    return (quat){splat(a.w), splat(a.x), splat(a.y), splat(a.z)};
}

TNI_INLINE quat pick4(mask m, quat a, quat b)
{
    return (quat){pick(m, a.w, b.w), pick(m, a.x, b.x), pick(m, a.y, b.y), pick(m, a.z, b.z)};
}

TNI_INLINE quat opposite(quat a)
{
    return (quat){-a.w, -a.x, -a.y, -a.z};
}

TNI_INLINE quat normalised(quat a)
{
    const vec s = 1 / ROOT(a.w * a.w + a.x * a.x + a.y * a.y + a.z * a.z);
    return (quat){s * a.w, s * a.x, s * a.y, s * a.z};
}

TNI_INLINE mat3 quat_matrix(quat q)
{
    const vec xx = q.x * q.x, yy = q.y * q.y, zz = q.z * q.z, xy = q.x * q.y, xz = q.x * q.z,
              yz = q.y * q.z, wx = q.w * q.x, wy = q.w * q.y, wz = q.w * q.z;
    return (mat3){{1 - 2 * (yy + zz), 2 * (xy - wz), 2 * (xz + wy), 2 * (xy + wz),
                   1 - 2 * (xx + zz), 2 * (yz - wx), 2 * (xz - wy), 2 * (yz + wx),
                   1 - 2 * (xx + yy)}};
}

/// Most rotations are by less than 120 degrees: then the trace is the largest.
TNI_INLINE quat matrix_quat(const mat3* R)
{
    const vec* m     = R->m;
    const vec  trace = m[0] + m[4] + m[8];
    const mask first = (trace >= m[0]) & (trace >= m[4]) & (trace >= m[8]);
    quat       q     = {1 + trace, m[7] - m[5], m[2] - m[6], m[3] - m[1]};
    if (!all(first)) {
        const mask x = (m[0] >= m[4]) & (m[0] >= m[8]), y = m[4] >= m[8];
        const quat of_x = {m[7] - m[5], 1 + m[0] - m[4] - m[8], m[1] + m[3], m[2] + m[6]},
                   of_y = {m[2] - m[6], m[1] + m[3], 1 + m[4] - m[0] - m[8], m[5] + m[7]},
                   of_z = {m[3] - m[1], m[2] + m[6], m[5] + m[7], 1 + m[8] - m[0] - m[4]};
        q               = pick4(first, q, pick4(x, of_x, pick4(y, of_y, of_z)));
    }
    q = normalised(q);
    return pick4(q.w < 0, opposite(q), q);
}

#endif
