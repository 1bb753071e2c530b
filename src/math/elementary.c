// elementary: sin, cos, atan2, asin, acos, exp, log from + - * / sqrt and integers alone.
//
// Every function splits its result as  big + small:  big is exact or a pair of doubles, small a
// polynomial of much smaller magnitude. Rounding errors of small then cost a fraction of an ulp,
// and the last addition costs half of one. A pair (hi, lo) stands for hi + lo, |lo| <= ulp(hi)/2 or
// so; sums and products of two doubles are pairs exactly [1]. No fma is used: not every target has
// it, and its emulation is slow.
//
// sin, cos.  x = n pi/2 + r,  |r| <= pi/4, r a pair, n taken modulo 4.
//     |x| <= 1.5e6: pi/2 = P1 + P2 + P3 + P4, the first three of 33 bits, so that n P is exact for
//     n < 2^20 [2]. Beyond: x = m 2^e with an integer m, and x 2/pi modulo 4 needs only 192 bits
//     of 2/pi, those from weight 2^(1-e) down: bits above give multiples of 4 [3]. What is cut off
//     is below 2^-137, and no double comes nearer than 2^-62 to a multiple of pi/2.
//         sin r = r + r^3 S(r^2)        S, C: minimax, relative error of the whole
//         cos r = 1 - r^2/2 + r^4 C(r^2)    4e-18 and 6e-20, each coefficient rounded before
//                                           the next ones were fitted
// atan2.  t = min/max of |x|, |y|;  c = k/16 nearest to t;
//         atan t = atan c + atan u,   u = (num - c den) / (den + c num),   |u| <= 1/32
//     u a pair, atan c a pair from a table, atan u by its Taylor series; then pi/2 or pi minus it.
// asin, acos.  The angle of (sqrt(1 - x^2), x), the root a pair: the same code as atan2.
// exp.  x = k ln2 + r,  |r| <= ln2/2, e^r by its Taylor series to r^14, 1 + r a pair.
// log.  x = 2^k m,  m in [sqrt(1/2), sqrt(2)],  log m = 2 artanh s,  s = (m - 1)/(m + 1) a pair.
//
// Worst errors over some million arguments (tests/unit/elementary_test.c) [ulp]: sin, cos 0.80,
// atan2, asin, acos 0.51, exp 0.64, log 0.54, and exp 0.78 where the result is subnormal.
// Cost, gcc 12 -O3, shared machine, independent calls [ns]: sincos 17 (36 to 51 beyond 1.5e6),
// atan2 33, asin and acos 60, exp 13, log 15.
// Needs evaluation in double and no floating-point contraction; a hash in the test checks the
// latter. Never fails; a NaN gives a NaN.
// [1] T. J. Dekker, A floating-point technique for extending the available precision, 1971.
// [2] W. J. Cody, W. Waite, Software Manual for the Elementary Functions, 1980.
// [3] M. H. Payne, R. N. Hanek, Radian reduction for trigonometric functions, 1983.
#include "math/elementary.h"

#include "base/base.h"

#include <float.h>
#include <math.h>

_Static_assert(FLT_EVAL_METHOD == 0, "double expressions must be evaluated in double");

typedef struct pair {
    double hi, lo;
} pair;

#define PI_2_HI 0x1.921fb54442d18p+0
#define PI_2_LO 0x1.1a62633145c07p-54
#define LN2_HI  0x1.62e42fefa3800p-1 // 42 bits: k LN2_HI is exact
#define LN2_LO  0x1.ef35793c76730p-45
#define ROUNDER 0x1.8p52 // v + ROUNDER holds the integer nearest to v in its low bits

static inline uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

// 2^k, a normal number.
static inline double power_of_two(int k)
{
    return double_of((uint64_t)(1023 + k) << 52);
}

static inline pair add(double a, double b)
{
    const double sum = a + b, b_seen = sum - a;
    return (pair){sum, (a - (sum - b_seen)) + (b - b_seen)};
}

// The same for |a| >= |b| or a = 0.
static inline pair add_ordered(double a, double b)
{
    const double sum = a + b;
    return (pair){sum, b - (sum - a)};
}

// a as a sum of two halves of 26 bits. |a| must be below 2^990.
static inline pair split(double a)
{
    const double t = a * 0x1.0000002p27, hi = t - (t - a);
    return (pair){hi, a - hi};
}

static inline pair multiply(double a, double b)
{
    const double p = a * b;
    const pair   A = split(a), B = split(b);
    return (pair){p, ((A.hi * B.hi - p) + A.hi * B.lo + A.lo * B.hi) + A.lo * B.lo};
}

static inline pair divide(pair a, pair b)
{
    const double q = a.hi / b.hi;
    const pair   p = multiply(q, b.hi);
    return (pair){q, (((a.hi - p.hi) - p.lo) + (a.lo - q * b.lo)) / b.hi};
}

// a + c b, where c has so few bits that c times half of b is exact.
static inline pair add_scaled(pair a, double c, pair b)
{
    const pair B = split(b.hi), s = add(a.hi, c * B.hi), t = add(s.hi, c * B.lo);
    return add(t.hi, (s.lo + t.lo) + (a.lo + c * b.lo));
}

// sin, cos

// 2/pi, 32 bits a word, after 64 zero bits: the window may begin above the binary point.
static const uint32_t two_over_pi[40] = {
    0x00000000u, 0x00000000u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u,
    0x3c439041u, 0xfe5163abu, 0xdebbc561u, 0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu,
    0xfe1deb1cu, 0xb129a73eu, 0xe88235f5u, 0x2ebb4484u, 0xe99c7026u, 0xb45f7e41u, 0x3991d639u,
    0x835339f4u, 0x9c845f8bu, 0xbdf9283bu, 0x1ff897ffu, 0xde05980fu, 0xef2f118bu, 0x5a0a6d1fu,
    0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du, 0x7527bac7u, 0xebe5f17bu, 0x3d0739f7u,
    0x8a5292eau, 0x6bfb5fb1u, 0x1f8d5d08u, 0x56033046u, 0xfc7b6babu,
};

// The 192 bits of |x| 2/pi modulo 4, highest word first: weights 2^-30, 2^-62, ...
// x is finite and at least 2^19.
static void turns_modulo_four(double x, uint32_t product[6])
{
    const uint64_t bits  = bits_of(x);
    const int      e     = (int)(bits >> 52 & 0x7ff) - 1075;
    const uint64_t m     = (bits & 0xfffffffffffffu) | (uint64_t)1 << 52;
    const uint64_t m_low = m & 0xffffffffu, m_high = m >> 32;
    const int      first = e - 1 + 63; // in the table, the bit of weight 2^(1-e)
    uint64_t       carry = 0;
    uint64_t       below = 0; // the window's word below this one
    for (int i = 5; i >= 0; --i) {
        const uint32_t* w    = two_over_pi + first / 32 + i;
        const uint64_t  word = ((uint64_t)w[0] << 32 | w[1]) >> (32 - first % 32) & 0xffffffffu;
        const uint64_t  low = word * m_low, high = below * m_high;
        const uint64_t  sum = (low & 0xffffffffu) + (high & 0xffffffffu) + (carry & 0xffffffffu);
        product[i]          = (uint32_t)sum;
        carry               = (sum >> 32) + (low >> 32) + (high >> 32) + (carry >> 32);
        below               = word;
    }
}

// x = n pi/2 + r for |x| >= 2^19; n modulo 4 in *quadrant.
static pair reduce_large(double x, uint64_t* quadrant)
{
    *quadrant = 0;
    if (!isfinite(x)) return (pair){x - x, 0.0};
    uint32_t product[6];
    turns_modulo_four(x, product);
    uint64_t n = product[0] >> 30;
    // A fraction above a half counts back from the next multiple: there ~f stands for 1 - f.
    const bool     past_half = (product[0] >> 29 & 1) != 0;
    const uint32_t flip      = past_half ? 0xffffffffu : 0;
    n += past_half;
    double weight = 0x1p-30;
    pair   f      = {(double)((product[0] ^ flip) & 0x3fffffffu) * weight, 0.0};
    for (int i = 1; i < 6; ++i) {
        weight *= 0x1p-32;
        const pair s = add(f.hi, (double)(product[i] ^ flip) * weight);
        f            = (pair){s.hi, f.lo + s.lo};
    }
    const pair   p    = multiply(f.hi, PI_2_HI);
    const pair   r    = add(p.hi, p.lo + (f.hi * PI_2_LO + f.lo * PI_2_HI));
    const double sign = past_half != (x < 0.0) ? -1.0 : 1.0;
    *quadrant         = x < 0.0 ? 0 - n : n;
    return (pair){sign * r.hi, sign * r.lo};
}

static inline pair reduce_moderate(double x, uint64_t* quadrant)
{
    const double rounded = x * 0x1.45f306dc9c883p-1 + ROUNDER, n = rounded - ROUNDER;
    const double a = x - n * 0x1.921fb54400000p+0; // exact
    const pair   b = add(a, -(n * 0x1.0b4611a600000p-34));
    const pair   c = add(b.hi, -(n * 0x1.3198a2e000000p-69));
    *quadrant      = bits_of(rounded);
    // Written this way, lo is -0 for n = 0, and sin(-0) is -0.
    return (pair){c.hi, -(n * 0x1.b839a252049c1p-104 - (b.lo + c.lo))};
}

static inline double sine_kernel(pair r)
{
    const double z = r.hi * r.hi, zz = z * z;
    const double tail =
        (0x1.111111110f730p-7 + z * -0x1.a01a019be921bp-13) +
        zz * (0x1.71de35552bd31p-19 + z * -0x1.ae5e4b8482bd5p-26 + zz * 0x1.5d8b55d222d17p-33);
    const double cubic = z * r.hi * (0x1.5555555555548p-3 - z * tail);
    return r.hi - (cubic - r.lo * (1.0 - 0.5 * z));
}

static inline double cosine_kernel(pair r)
{
    const double z = r.hi * r.hi, zz = z * z, half = 0.5 * z;
    const double tail = (0x1.555555555554bp-5 + z * -0x1.6c16c16c15015p-10) +
                        zz * ((0x1.a01a019c8f254p-16 + z * -0x1.27e4f7f1914aep-22) +
                              zz * (0x1.1ee9dbcf000d7p-29 + z * -0x1.8fa6848b3686fp-37));
    const pair one = add_ordered(1.0, -half);
    return one.hi + (one.lo + (zz * tail - r.hi * r.lo));
}

// No branch on the quadrant: it would be mispredicted half of the time.
void tni_sincos(double x, double* sine, double* cosine)
{
    uint64_t     n;
    const pair   r = fabs(x) <= 1.5e6 ? reduce_moderate(x, &n) : reduce_large(x, &n);
    const double s = sine_kernel(r), c = cosine_kernel(r);
    const bool   odd = (n & 1) != 0;
    *sine            = double_of(bits_of(odd ? c : s) ^ (n & 2) << 62);
    *cosine          = double_of(bits_of(odd ? s : c) ^ ((n + 1) & 2) << 62);
}

double tni_sin(double x)
{
    double sine, cosine;
    tni_sincos(x, &sine, &cosine);
    return sine;
}

double tni_cos(double x)
{
    double sine, cosine;
    tni_sincos(x, &sine, &cosine);
    return cosine;
}

// atan2, asin, acos

const double tni_atan_of_sixteenth[17][2] = {
    {0.0, 0.0},
    {0x1.ff55bb72cfdeap-5, -0x1.c934d86d23f1dp-60},
    {0x1.fd5ba9aac2f6ep-4, -0x1.cd37686760c17p-59},
    {0x1.7b97b4bce5b02p-3, 0x1.347b0b4f881cap-58},
    {0x1.f5b75f92c80ddp-3, 0x1.8ab6e3cf7afbdp-57},
    {0x1.362773707ebccp-2, -0x1.963a544b672d8p-57},
    {0x1.6f61941e4def1p-2, -0x1.c63aae6f6e918p-56},
    {0x1.a64eec3cc23fdp-2, -0x1.24dec1b50b7ffp-56},
    {0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56},
    {0x1.0657e94db30d0p-1, -0x1.d5b495f6349e6p-56},
    {0x1.1e00babdefeb4p-1, -0x1.928df287a668fp-58},
    {0x1.345f01cce37bbp-1, 0x1.1021137c71102p-55},
    {0x1.4978fa3269ee1p-1, 0x1.2419a87f2a458p-56},
    {0x1.5d58987169b18p-1, 0x1.0028e4bc5e7cap-57},
    {0x1.700a7c5784634p-1, -0x1.8c34d25aadef6p-56},
    {0x1.819d0b7158a4dp-1, -0x1.bf76229d3b917p-56},
    {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55},
};

// Angle in [0, pi] of the point (x, y); y >= 0, not both zero, the larger of the two far from
// overflow and underflow.
static double angle_of(pair y, pair x)
{
    const bool    left  = x.hi < 0.0;
    const pair    w     = left ? (pair){-x.hi, -x.lo} : x;
    const bool    steep = y.hi > w.hi;
    const pair    num = steep ? w : y, den = steep ? y : w;
    const double  rounded = 16.0 * (num.hi / den.hi) + ROUNDER, c = (rounded - ROUNDER) / 16.0;
    const double* atan_c = tni_atan_of_sixteenth[bits_of(rounded) & 31];
    const pair    A      = {atan_c[0], atan_c[1]};
    const pair    u      = divide(add_scaled(num, -c, den), add_scaled(den, c, num));
    const double  z      = u.hi * u.hi;
    const double  series =
        z * (-1.0 / 3 + z * (1.0 / 5 + z * (-1.0 / 7 + z * (1.0 / 9 + z * (-1.0 / 11)))));
    // The angle is base + sign (atan c + atan u).
    const double sign = left != steep ? -1.0 : 1.0, quarters = steep ? 1.0 : left ? 2.0 : 0.0;
    const pair   s = add_ordered(quarters * PI_2_HI, sign * A.hi);
    const pair   t = add(s.hi, sign * u.hi);
    return t.hi + (t.lo + (s.lo + (quarters * PI_2_LO + sign * (A.lo + (u.lo + u.hi * series)))));
}

// The angle in [0, pi] where one of ax, ay is at most 2^-60 of the other, or both are infinite.
static double angle_at_axis(double ay, double ax, bool left)
{
    if (isinf(ax) && isinf(ay)) {
        return left ? 0x1.2d97c7f3321d2p+1 : 0x1.921fb54442d18p-1;
    }
    if (ay > ax) return PI_2_HI;
    if (left) return 2.0 * PI_2_HI;
    return ax > 0.0 ? ay / ax : 0.0;
}

double tni_atan2(double y, double x)
{
    if (isnan(x) || isnan(y)) return x + y;
    const double ax = fabs(x), ay = fabs(y);
    const double small = ax < ay ? ax : ay, large = ax < ay ? ay : ax;
    if (small <= large * 0x1p-60) return copysign(angle_at_axis(ay, ax, signbit(x) != 0), y);
    const double scale = large > 0x1p500 ? 0x1p-600 : large < 0x1p-400 ? 0x1p600 : 1.0;
    return copysign(angle_of((pair){ay * scale, 0.0}, (pair){x * scale, 0.0}), y);
}

// sqrt(1 - x^2) for |x| <= 1.
static pair leg(double x)
{
    const pair   xx = multiply(x, x), a = add_ordered(1.0, -xx.hi), b = add(a.hi, a.lo - xx.lo);
    const double root = sqrt(b.hi);
    if (root == 0.0) return (pair){0.0, 0.0};
    const pair square = multiply(root, root);
    return (pair){root, ((b.hi - square.hi) - square.lo + b.lo) / (2.0 * root)};
}

double tni_asin(double x)
{
    if (!(fabs(x) <= 1.0)) return (double)NAN;
    if (fabs(x) < 0x1p-30) return x; // the cube is below 2^-62 of x
    return copysign(angle_of((pair){fabs(x), 0.0}, leg(x)), x);
}

double tni_acos(double x)
{
    if (!(fabs(x) <= 1.0)) return (double)NAN;
    return angle_of(leg(x), (pair){x, 0.0});
}

// exp, log

// c[0] + c[1] x + ... + c[count-1] x^(count-1)
static inline double polynomial(const double* c, int count, double x)
{
    double sum = c[count - 1];
    for (int i = count - 2; i >= 0; --i) sum = c[i] + x * sum;
    return sum;
}

double tni_exp(double x)
{
    static const double inverse_factorial[13] = {
        1.0 / 2,         1.0 / 6,          1.0 / 24,          1.0 / 120,     1.0 / 720,
        1.0 / 5040,      1.0 / 40320,      1.0 / 362880,      1.0 / 3628800, 1.0 / 39916800,
        1.0 / 479001600, 1.0 / 6227020800, 1.0 / 87178291200,
    };
    if (!(x <= 710.0)) return isnan(x) ? x : (double)INFINITY;
    if (x < -746.0) return 0.0;
    const double rounded = x * 0x1.71547652b82fep+0 + ROUNDER, n = rounded - ROUNDER;
    const int    k = (int)n, k_half = k / 2;
    const pair   r = add(x - n * LN2_HI, -(n * LN2_LO)), one = add_ordered(1.0, r.hi);
    const double tail = r.hi * r.hi * polynomial(inverse_factorial, 13, r.hi);
    const double y    = one.hi + (one.lo + (r.lo + tail));
    return y * power_of_two(k_half) * power_of_two(k - k_half); // only the last product rounds
}

double tni_log(double x)
{
    static const double odd[10] = {
        2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11,
        2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21,
    };
    if (!(x > 0.0)) return x == 0.0 ? -(double)INFINITY : (double)NAN;
    if (isinf(x)) return x;
    const bool     subnormal = x < DBL_MIN;
    const uint64_t bits      = bits_of(subnormal ? x * 0x1p54 : x);
    double         m     = double_of((bits & 0xfffffffffffffu) | (uint64_t)1023 << 52); // [1, 2)
    const bool     upper = m > 0x1.6a09e667f3bcdp+0;
    m                    = upper ? 0.5 * m : m;
    const double k = (double)((int)(bits >> 52) - 1023 - (subnormal ? 54 : 0) + (upper ? 1 : 0));
    const pair   s = divide((pair){m - 1.0, 0.0}, add(m, 1.0));
    const double z = s.hi * s.hi;
    const pair   t = add(k * LN2_HI, 2.0 * s.hi);
    return t.hi + (t.lo + (k * LN2_LO + (2.0 * s.lo + s.hi * (z * polynomial(odd, 10, z)))));
}
