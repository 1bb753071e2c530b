// flight_lanes: `turn` of flight.c for several bodies, for one vector length. Compiled once for
// each, with
//     SET      its name
//     TARGET   the processor it is for, as an attribute
//     BYTES    of a vector
//     ROOT(x)  its square root
// No include guard: the file is meant to be included several times. The operations are those of
// vec3.h, rotation.h and flight.c in the same order, so that every lane has their bits; a lane that
// has converged waits for the others.
#include "math/lanes_vec3.h"

#define quat   NAME(quat)
#define ALL(x) ((vec){0} + (x))
#if BYTES == 32
#define TAKE(p, i) ((vec){(p)[0][i], (p)[1][i], (p)[2][i], (p)[3][i]})
#define ANY(m)     (((m)[0] | (m)[1] | (m)[2] | (m)[3]) != 0)
#else
#define TAKE(p, i) ((vec){(p)[0][i], (p)[1][i]})
#define ANY(m)     (((m)[0] | (m)[1]) != 0)
#endif

typedef struct quat {
    vec w, x, y, z;
} quat;

TNI_INLINE TARGET vec3 NAME(rotate)(quat q, vec3 v)
{
    const vec xx = q.x * q.x, yy = q.y * q.y, zz = q.z * q.z, xy = q.x * q.y, xz = q.x * q.z,
              yz = q.y * q.z, wx = q.w * q.x, wy = q.w * q.y, wz = q.w * q.z;
    const vec R[9] = {1 - 2 * (yy + zz), 2 * (xy - wz),     2 * (xz + wy),
                      2 * (xy + wz),     1 - 2 * (xx + zz), 2 * (yz - wx),
                      2 * (xz - wy),     2 * (yz + wx),     1 - 2 * (xx + yy)};
    return NAME(rotated)(R, v);
}

TNI_INLINE TARGET vec3 NAME(solve3)(const vec m[9], vec3 b)
{
    const vec3 x = {m[0], m[3], m[6]}, y = {m[1], m[4], m[7]}, z = {m[2], m[5], m[8]};
    const vec  s = 1 / NAME(dot)(x, NAME(cross)(y, z));
    return (vec3){s * NAME(dot)(b, NAME(cross)(y, z)), s * NAME(dot)(x, NAME(cross)(b, z)),
                  s * NAME(dot)(x, NAME(cross)(y, b))};
}

TNI_INLINE TARGET vec NAME(size)(vec3 a) // largest absolute component
{
    const mask bits = (mask){0} + INT64_MAX; // all but the sign
    const vec x = (vec)((mask)a.x & bits), y = (vec)((mask)a.y & bits), z = (vec)((mask)a.z & bits),
              most = PICK(y >= z, y, z);
    return PICK(x >= most, x, most);
}

// By its series; lanes that rotate too far for it are marked in far.
TNI_INLINE TARGET quat NAME(quat_exp)(vec3 d, mask* far)
{
    const vec x = 0.25 * NAME(dot)(d, d);
    const vec c =
        1 -
        x * (1.0 / 2) *
            (1 -
             x * (1.0 / 12) *
                 (1 - x * (1.0 / 30) *
                          (1 - x * (1.0 / 56) *
                                   (1 - x * (1.0 / 90) * (1 - x * (1.0 / 132) * (1 - x / 182))))));
    const vec s =
        0.5 -
        x * (1.0 / 12) *
            (1 -
             x * (1.0 / 20) *
                 (1 - x * (1.0 / 42) *
                          (1 - x * (1.0 / 72) *
                                   (1 - x * (1.0 / 110) * (1 - x * (1.0 / 156) * (1 - x / 210))))));
    *far |= ~(x < 0.25);
    return (quat){c, s * d.x, s * d.y, s * d.z};
}

// As tni_quat_mul and then tni_quat_normalised.
TNI_INLINE TARGET quat NAME(turned)(quat a, quat b)
{
    const quat q = {a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
                    a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                    a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                    a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
    const vec  s = 1 / ROOT(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
    return (quat){s * q.w, s * q.x, s * q.y, s * q.z};
}

TNI_INLINE TARGET vec3 NAME(middle)(const vec I[9], double h, vec3 L, vec3 W, mask* far)
{
    const vec3 bend = NAME(solve3)(I, NAME(cross)(L, W)), first = NAME(scale)(ALL(0.5 * h), bend);
    mask       active = ~(mask){0};
    W                 = NAME(add)(W, first);
    for (int round = 0; round < ROUNDS_MAX && ANY(active); ++round) {
        const vec3 Lm   = NAME(rotate)(NAME(quat_exp)(NAME(scale)(ALL(-0.5 * h), W), far), L);
        const vec3 left = NAME(sub)(NAME(rotated)(I, W), Lm), a = NAME(scale)(ALL(0.5 * h), Lm);
        const vec  D[9]   = {I[0],       I[1] + a.z, I[2] - a.y, I[3] - a.z, I[4],
                             I[5] + a.x, I[6] + a.y, I[7] - a.x, I[8]};
        const vec3 change = NAME(solve3)(D, left), to = NAME(sub)(W, change);
        W = (vec3){PICK(active, to.x, W.x), PICK(active, to.y, W.y), PICK(active, to.z, W.z)};
        active &= NAME(size)(change) > 1e-12 * NAME(size)(W);
    }
    return W;
}

// Rotates LANES bodies. False: one of them rotates too far for the series, or is not finite;
// nothing is written.
TARGET static bool NAME(turn)(const double* const* inertia, double h, const double* const* q,
                              const double* const* u, double* const* q_out, double* const* u_out)
{
    vec  I[9];
    mask far = {0};
    for (int k = 0; k < 9; ++k) I[k] = TAKE(inertia, k);
    const quat at = {TAKE(q, 3), TAKE(q, 4), TAKE(q, 5), TAKE(q, 6)};
    const vec3 w  = {TAKE(u, 3), TAKE(u, 4), TAKE(u, 5)};
    const vec3 W = NAME(rotate)((quat){at.w, -at.x, -at.y, -at.z}, w), L = NAME(rotated)(I, W);
    const vec3 Wm   = NAME(middle)(I, h, L, W, &far);
    const quat by   = NAME(quat_exp)(NAME(scale)(ALL(h), Wm), &far);
    const quat next = NAME(turned)(at, by);
    const vec3 end =
        NAME(rotate)(next, NAME(solve3)(I, NAME(rotate)((quat){by.w, -by.x, -by.y, -by.z}, L)));
    const vec sum =
        NAME(dot)(end, end) + next.w + next.x + next.y + next.z; // NaN in any of them shows
    if (ANY(far | ~(sum == sum))) return false;
    for (int lane = 0; lane < LANES; ++lane) {
        q_out[lane][3] = next.w[lane], q_out[lane][4] = next.x[lane];
        q_out[lane][5] = next.y[lane], q_out[lane][6] = next.z[lane];
        u_out[lane][3] = end.x[lane], u_out[lane][4] = end.y[lane], u_out[lane][5] = end.z[lane];
    }
    return true;
}

#undef ANY
#undef TAKE
#undef ALL
#undef quat
#include "math/lanes_end.h"
