// lanes_angle: angles in lanes: atan2, sine and cosine, rotation vectors, with the bits of
// math/elementary.c and math/rotation.c: the same sums in the same order. Unusual numbers (zeros,
// infinities, huge ones) are passed to those functions one by one.
#ifndef TNI_LANES_ANGLE_H
#define TNI_LANES_ANGLE_H

#include "batch/lanes.h"
#include "math/elementary.h"

typedef struct vec2 {
    vec hi, lo;
} vec2;

static const double angle_rounder = 0x1.8p52, half_pi_hi = 0x1.921fb54442d18p+0,
                    half_pi_lo = 0x1.1a62633145c07p-54;

TNI_INLINE vec2 two_sum(vec a, vec b)
{
    const vec sum = a + b, b_seen = sum - a;
    return (vec2){sum, (a - (sum - b_seen)) + (b - b_seen)};
}

TNI_INLINE vec2 two_sum_ordered(vec a, vec b)
{
    const vec sum = a + b;
    return (vec2){sum, b - (sum - a)};
}

TNI_INLINE vec2 halves(vec a)
{
    const vec t = a * 0x1.0000002p27, hi = t - (t - a);
    return (vec2){hi, a - hi};
}

TNI_INLINE vec2 two_product(vec a, vec b)
{
    const vec  p = a * b;
    const vec2 A = halves(a), B = halves(b);
    return (vec2){p, ((A.hi * B.hi - p) + A.hi * B.lo + A.lo * B.hi) + A.lo * B.lo};
}

TNI_INLINE vec2 two_quotient(vec2 a, vec2 b)
{
    const vec  q = a.hi / b.hi;
    const vec2 p = two_product(q, b.hi);
    return (vec2){q, (((a.hi - p.hi) - p.lo) + (a.lo - q * b.lo)) / b.hi};
}

TNI_INLINE vec2 two_add_scaled(vec2 a, vec c, vec2 b)
{
    const vec2 B = halves(b.hi), s = two_sum(a.hi, c * B.hi), t = two_sum(s.hi, c * B.lo);
    return two_sum(t.hi, (s.lo + t.lo) + (a.lo + c * b.lo));
}

// Angle in [0, pi] of (x, y), y >= 0: atan(c) of the table, c in sixteenths, plus the rest. NaN
// reads entry 0.
TNI_INLINE vec angle_of(vec y, vec x)
{
    const vec  none   = {0};
    const mask left   = x < 0;
    const vec  w      = pick(left, -x, x);
    const mask steep  = y > w;
    const vec2 num    = {pick(steep, w, y), pick(steep & left, -none, none)},
               den    = {pick(steep, y, w), pick(~steep & left, -none, none)};
    const vec rounded = 16.0 * (num.hi / den.hi) + angle_rounder,
              c       = (rounded - angle_rounder) / 16.0;
    double hi[LANES], lo[LANES];
    vec2   A;
    EACH(k)
    {
        const int64_t at = ((mask)rounded)[k] & 31;
        hi[k]            = tni_atan_of_sixteenth[at <= 16 ? at : 0][0],
        lo[k]            = tni_atan_of_sixteenth[at <= 16 ? at : 0][1];
    }
    memcpy(&A.hi, hi, sizeof A.hi);
    memcpy(&A.lo, lo, sizeof A.lo);
    const vec2 u = two_quotient(two_add_scaled(num, -c, den), two_add_scaled(den, c, num));
    const vec  z = u.hi * u.hi;
    const vec  series =
        z * (-1.0 / 3 + z * (1.0 / 5 + z * (-1.0 / 7 + z * (1.0 / 9 + z * (-1.0 / 11)))));
    const vec sign     = pick(left ^ steep, splat(-1.0), splat(1.0)),
              quarters = pick(steep, splat(1.0), only(left, splat(2.0)));
    const vec2 s       = two_sum_ordered(quarters * half_pi_hi, sign * A.hi);
    const vec2 t       = two_sum(s.hi, sign * u.hi);
    return t.hi +
           (t.lo + (s.lo + (quarters * half_pi_lo + sign * (A.lo + (u.lo + u.hi * series)))));
}

TNI_INLINE vec arc(vec y, vec x)
{
    const vec  ax = absolute(x), ay = absolute(y);
    const vec  small = pick(ax < ay, ax, ay), large = pick(ax < ay, ay, ax);
    const mask usual = (small > large * 0x1p-60) & (large <= 0x1p500) & (large >= 0x1p-400);
    vec        angle = signed_as(angle_of(ay, x), y);
    if (all(usual)) return angle;
    EACH(k) if (!usual[k]) angle[k] = tni_atan2(y[k], x[k]);
    return angle;
}

/// The angle plus the multiple of 2 pi that brings it nearest to `near`.
TNI_INLINE vec unwrapped(vec near, vec angle)
{
    return angle + TNI_TWO_PI * lower_whole((near - angle) / TNI_TWO_PI + 0.5);
}

TNI_INLINE vec sine_kernel(vec2 r)
{
    const vec z = r.hi * r.hi, zz = z * z;
    const vec tail =
        (0x1.111111110f730p-7 + z * -0x1.a01a019be921bp-13) +
        zz * (0x1.71de35552bd31p-19 + z * -0x1.ae5e4b8482bd5p-26 + zz * 0x1.5d8b55d222d17p-33);
    const vec cubic = z * r.hi * (0x1.5555555555548p-3 - z * tail);
    return r.hi - (cubic - r.lo * (1.0 - 0.5 * z));
}

TNI_INLINE vec cosine_kernel(vec2 r)
{
    const vec z = r.hi * r.hi, zz = z * z, half = 0.5 * z;
    const vec tail = (0x1.555555555554bp-5 + z * -0x1.6c16c16c15015p-10) +
                     zz * ((0x1.a01a019c8f254p-16 + z * -0x1.27e4f7f1914aep-22) +
                           zz * (0x1.1ee9dbcf000d7p-29 + z * -0x1.8fa6848b3686fp-37));
    const vec2 one = two_sum_ordered(splat(1.0), -half);
    return one.hi + (one.lo + (zz * tail - r.hi * r.lo));
}

TNI_INLINE void sine_cosine(vec x, vec* sine, vec* cosine)
{
    const mask usual   = absolute(x) <= 1.5e6;
    const vec  rounded = x * 0x1.45f306dc9c883p-1 + angle_rounder, n = rounded - angle_rounder;
    const vec  a = x - n * 0x1.921fb54400000p+0;
    const vec2 b = two_sum(a, -(n * 0x1.0b4611a600000p-34));
    const vec2 c = two_sum(b.hi, -(n * 0x1.3198a2e000000p-69));
    const vec2 r = {c.hi, -(n * 0x1.b839a252049c1p-104 - (b.lo + c.lo))};
    const vec  S = sine_kernel(r), C = cosine_kernel(r);
    const mask turns = (mask)rounded, odd = -(turns & 1), sign = (mask)splat(-0.0),
               back = -(turns >> 1 & 1), back_c = -((turns + 1) >> 1 & 1);
    *sine   = (vec)((mask)pick(odd, C, S) ^ (back & sign));
    *cosine = (vec)((mask)pick(odd, S, C) ^ (back_c & sign));
    if (all(usual)) return;
    EACH(k)
    {
        double s, co;
        if (usual[k]) continue;
        tni_sincos(x[k], &s, &co);
        (*sine)[k] = s, (*cosine)[k] = co;
    }
}

// ---- Rotation vectors --------------------------------------------------------------------------

TNI_INLINE quat quat_exp(vec3 d)
{
    const vec  x     = 0.25 * dot(d, d);
    const mask small = x < 0.25;
    vec        c     = 1 - x * (1.0 / 2) *
                    (1 - x * (1.0 / 12) *
                             (1 - x * (1.0 / 30) *
                                      (1 - x * (1.0 / 56) *
                                               (1 - x * (1.0 / 90) *
                                                        (1 - x * (1.0 / 132) * (1 - x / 182))))));
    vec s = 0.5 - x * (1.0 / 12) *
                      (1 - x * (1.0 / 20) *
                               (1 - x * (1.0 / 42) *
                                        (1 - x * (1.0 / 72) *
                                                 (1 - x * (1.0 / 110) *
                                                          (1 - x * (1.0 / 156) * (1 - x / 210))))));
    const quat near = {c, s * d.x, s * d.y, s * d.z};
    if (all(small)) return near;
    const vec half = ROOT(x);
    sine_cosine(half, &s, &c);
    s /= 2 * half;
    return pick4(small, near, normalised((quat){c, s * d.x, s * d.y, s * d.z}));
}

TNI_INLINE vec3 quat_log(quat q)
{
    q                = pick4(q.w < 0, opposite(q), q);
    const vec3 v     = make3(q.x, q.y, q.z);
    const vec  n     = ROOT(dot(v, v));
    const mask small = n < 1e-8;
    const vec3 far   = scale(2 * arc(n, q.w) / n, v);
    if (!any(small)) return far;
    return pick3(small, scale(2 / q.w, v), far);
}

#endif
