#include "math/elementary.h"

#include "test.h"

#include <float.h>

static const double inf = (double)INFINITY, nan_value = (double)NAN;

#ifdef TENON_TEST_LIGHT
enum { SAMPLES = 50000 };
#else
enum { SAMPLES = 1000000 }; // for each function and range
#endif

static double from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint64_t to_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static bool same(double a, double b) // the sign of zero counts, any NaN is a NaN
{
    return isnan(a) != 0 ? isnan(b) != 0 : to_bits(a) == to_bits(b);
}

// Either sign, mantissa and exponent evenly spread over 2^lower .. 2^(upper+1).
static double random_scaled(test_random* r, int lower, int upper)
{
    const uint64_t bits = test_random_bits(r) & 0x800fffffffffffffu;
    return from_bits(bits | (uint64_t)(1023 + test_random_int(r, lower, upper)) << 52);
}

static double random_finite(test_random* r)
{
    for (;;) {
        const double x = from_bits(test_random_bits(r));
        if (isfinite(x)) return x;
    }
}

// Up to three doubles away from x, which is not zero.
static double nudged(test_random* r, double x)
{
    return from_bits(to_bits(x) + (uint64_t)test_random_int(r, 0, 6) - 3);
}

TEST(elementary_special_values)
{
    CHECK(same(tni_sin(0.0), 0.0) && same(tni_sin(-0.0), -0.0));
    CHECK(same(tni_cos(0.0), 1.0) && same(tni_cos(-0.0), 1.0));
    CHECK(same(tni_sin(-0x1p-1074), -0x1p-1074) && same(tni_sin(0x1p-1022), 0x1p-1022));
    CHECK(same(tni_sin(inf), nan_value) && same(tni_sin(-inf), nan_value) &&
          same(tni_sin(nan_value), nan_value));
    CHECK(same(tni_cos(inf), nan_value) && same(tni_cos(-inf), nan_value) &&
          same(tni_cos(nan_value), nan_value));

    CHECK(same(tni_asin(0.0), 0.0) && same(tni_asin(-0.0), -0.0) &&
          same(tni_asin(nan_value), nan_value));
    CHECK(same(tni_asin(-0x1p-1074), -0x1p-1074));
    CHECK(same(tni_asin(1.0), 0x1.921fb54442d18p0) && same(tni_asin(-1.0), -0x1.921fb54442d18p0));
    CHECK(same(tni_asin(1.0 + DBL_EPSILON), nan_value) && same(tni_asin(-inf), nan_value));
    CHECK(same(tni_acos(1.0), 0.0) && same(tni_acos(-1.0), 0x1.921fb54442d18p1));
    CHECK(same(tni_acos(0.0), 0x1.921fb54442d18p0) && same(tni_acos(-0.0), 0x1.921fb54442d18p0));
    CHECK(same(tni_acos(-1.0 - DBL_EPSILON), nan_value) && same(tni_acos(inf), nan_value));
    CHECK(same(tni_acos(nan_value), nan_value));

    CHECK(same(tni_exp(0.0), 1.0) && same(tni_exp(-0.0), 1.0) &&
          same(tni_exp(nan_value), nan_value));
    CHECK(same(tni_exp(inf), inf) && same(tni_exp(-inf), 0.0));
    CHECK(same(tni_exp(0x1.62e42fefa39efp9), 0x1.fffffffffff2ap1023)); // the last that is finite
    CHECK(same(tni_exp(0x1.62e42fefa39f0p9), inf) && same(tni_exp(1e300), inf));
    CHECK(same(tni_exp(-0x1.74910d52d3051p9), 0x1p-1074)); // the last that is not zero
    CHECK(same(tni_exp(-0x1.74910d52d3052p9), 0.0) && same(tni_exp(-1e300), 0.0));

    CHECK(same(tni_log(1.0), 0.0) && same(tni_log(inf), inf));
    CHECK(same(tni_log(0.0), -inf) && same(tni_log(-0.0), -inf));
    CHECK(same(tni_log(-1.0), nan_value) && same(tni_log(-inf), nan_value) &&
          same(tni_log(nan_value), nan_value));
}

TEST(elementary_atan2_special_values)
{
    static const double pi        = 0x1.921fb54442d18p1;
    const double        rows[][3] = {
        {0, 0, 0},
        {0, -0.0, pi},
        {0, 1, 0},
        {0, -1, pi},
        {0, inf, 0},
        {0, -inf, pi},
        {1, 0, pi / 2},
        {1, -0.0, pi / 2},
        {1, inf, 0},
        {1, -inf, pi},
        {inf, 0, pi / 2},
        {inf, -1, pi / 2},
        {inf, inf, pi / 4},
        {inf, -inf, 3 * pi / 4},
        {1, 1, pi / 4},
        {1, -1, 3 * pi / 4},
        {0x1p-1074, 0, pi / 2},
        {0x1p-1074, -1, pi},
        {0x1p-1074, 1, 0x1p-1074},
        {1, 1e-300, pi / 2},
        {0x1p-1074, 0x1p-1074, pi / 4},
        {DBL_MAX, DBL_MAX, pi / 4},
        {DBL_MAX, 0x1p-1074, pi / 2},
        {0x1p-1074, DBL_MAX, 0},
        {0x1p-1022, 2, 0x1p-1023},
        {0x1p-1070, 0x1p-1040, 0x1p-30},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const double* row = rows[i];
        test_check(same(tni_atan2(row[0], row[1]), row[2]), __FILE__, __LINE__,
                   "atan2(%g, %g) = %.17g, wanted %.17g", row[0], row[1], tni_atan2(row[0], row[1]),
                   row[2]);
        CHECK(same(tni_atan2(-row[0], row[1]), -row[2]));
    }
    CHECK(same(tni_atan2(nan_value, 1.0), nan_value) && same(tni_atan2(1.0, nan_value), nan_value));
}

// Correctly rounded values from 2000-bit arithmetic. The first argument is, of all doubles, the
// nearest to a multiple of pi/2.
TEST(elementary_reduces_hard_arguments)
{
    CHECK(same(tni_sin(0x1.6ac5b262ca1ffp+849), 1.0));
    CHECK(same(tni_cos(0x1.6ac5b262ca1ffp+849), -0x1.14ae72e6ba22fp-61));
    CHECK(same(tni_cos(-0x1.6ac5b262ca1ffp+849), -0x1.14ae72e6ba22fp-61));
    CHECK(same(tni_sin(DBL_MAX), 0x1.452fc98b34e97p-8));
    CHECK(same(tni_cos(DBL_MAX), -0x1.fffe62ecfab75p-1));
    CHECK(same(tni_sin(-1e22), 0x1.b453ab76bf397p-1));
    CHECK(same(tni_cos(1e22), 0x1.0be2cef01c8f4p-1));
    CHECK(same(tni_sin(355.0), -0x1.f9bd0307d1de3p-16));
    CHECK(same(tni_cos(11.0), 0x1.220ae41ee2fdfp-8));
}

// Long double must have enough extra bits to be the reference.
#if LDBL_MANT_DIG >= 64

// Distance to the exact value in units of the last place that a double of its size has.
static double ulps(double got, long double exact)
{
    const double rounded = (double)exact;
    if (same(got, rounded) && (got == 0.0 || isinf(got))) return 0.0;
    int exponent;
    frexpl(exact, &exponent);
    const int last = exponent - 53 < -1074 ? -1074 : exponent - 53;
    return (double)fabsl(ldexpl((long double)got - exact, -last));
}

static double worst(double seen, double got, long double exact)
{
    const double error = ulps(got, exact);
    return isnan(seen) || error <= seen ? seen : error; // a NaN stays
}

static double near_quarter_turn(test_random* r)
{
    const long double quarter = 1.57079632679489661923132169163975144L;
    const uint64_t    count   = 1 + (test_random_bits(r) >> test_random_int(r, 24, 63));
    return nudged(r, (double)((long double)count * quarter));
}

static double sincos_argument(test_random* r, int range)
{
    switch (range) {
    case 0: return test_random_between(r, -3.2, 3.2);
    case 1: return test_random_between(r, -2e6, 2e6);
    case 2: return random_scaled(r, -60, 30);
    case 3: return near_quarter_turn(r);
    default: return random_finite(r);
    }
}

TEST(elementary_sin_cos_within_an_ulp)
{
    for (int range = 0; range < 5; ++range) {
        test_random r         = {17 + (uint64_t)range};
        double      sin_worst = 0.0, cos_worst = 0.0;
        for (int i = 0; i < SAMPLES; ++i) {
            const double x = sincos_argument(&r, range);
            double       s, c;
            tni_sincos(x, &s, &c);
            sin_worst = worst(sin_worst, s, sinl((long double)x));
            cos_worst = worst(cos_worst, c, cosl((long double)x));
        }
        CHECK_LESS(sin_worst, 1.0);
        CHECK_LESS(cos_worst, 1.0);
    }
}

static void atan2_argument(test_random* r, int range, double* y, double* x)
{
    switch (range) {
    case 0:
        *y = test_random_between(r, -1.0, 1.0);
        *x = test_random_between(r, -1.0, 1.0);
        return;
    case 1:
        *y = random_scaled(r, -40, 40);
        *x = random_scaled(r, -40, 40);
        return;
    case 2: // near the diagonals and the borders of the table's intervals
        *x = random_scaled(r, -1022, 1018);
        *y = nudged(r, *x * (test_random_bits(r) & 1 ? 1 : -1) * test_random_int(r, 1, 32) / 32.0);
        return;
    case 3: // the whole range, subnormals among it
        *y = random_finite(r);
        *x = random_finite(r);
        return;
    default: // small numbers, where quotients of subnormals arise
        *y = random_finite(r) * 0x1p-1000;
        *x = random_scaled(r, -1022, 10);
    }
}

TEST(elementary_atan2_within_an_ulp)
{
    for (int range = 0; range < 5; ++range) {
        test_random r           = {29 + (uint64_t)range};
        double      atan2_worst = 0.0;
        for (int i = 0; i < SAMPLES; ++i) {
            double y, x;
            atan2_argument(&r, range, &y, &x);
            atan2_worst =
                worst(atan2_worst, tni_atan2(y, x), atan2l((long double)y, (long double)x));
        }
        CHECK_LESS(atan2_worst, 1.0);
    }
}

static double sine_argument(test_random* r, int range)
{
    switch (range) {
    case 0: return test_random_between(r, -1.0, 1.0);
    case 1: return random_scaled(r, -1022, -1);
    case 2: return random_scaled(r, -35, -1);
    default: { // towards the ends of the domain
        const double end = 1.0 - fabs(random_scaled(r, -53, -2));
        return (test_random_bits(r) & 1) != 0 ? end : -end;
    }
    }
}

TEST(elementary_asin_acos_within_an_ulp)
{
    for (int range = 0; range < 4; ++range) {
        test_random r          = {43 + (uint64_t)range};
        double      asin_worst = 0.0, acos_worst = 0.0;
        for (int i = 0; i < SAMPLES; ++i) {
            const double x = sine_argument(&r, range);
            asin_worst     = worst(asin_worst, tni_asin(x), asinl((long double)x));
            acos_worst     = worst(acos_worst, tni_acos(x), acosl((long double)x));
        }
        CHECK_LESS(asin_worst, 1.0);
        CHECK_LESS(acos_worst, 1.0);
    }
}

TEST(elementary_exp_within_an_ulp)
{
    static const double ends[][2] = {{-1, 1}, {-745.2, 709.78}, {-745.2, -708}, {709, 709.78}};
    for (int range = 0; range < 5; ++range) {
        test_random r         = {61 + (uint64_t)range};
        double      exp_worst = 0.0;
        for (int i = 0; i < SAMPLES; ++i) {
            const double x = range == 4 ? random_scaled(&r, -1022, 8)
                                        : test_random_between(&r, ends[range][0], ends[range][1]);
            exp_worst      = worst(exp_worst, tni_exp(x), expl((long double)x));
        }
        CHECK_LESS(exp_worst, 1.0);
    }
}

static double log_argument(test_random* r, int range)
{
    switch (range) {
    case 0: return test_random_between(r, 0.25, 4.0);
    case 1: return 1.0 + random_scaled(r, -53, -3);
    case 2: return fabs(random_finite(r));
    default: return from_bits(test_random_bits(r) >> test_random_int(r, 12, 63)); // subnormal
    }
}

TEST(elementary_log_within_an_ulp)
{
    for (int range = 0; range < 4; ++range) {
        test_random r         = {79 + (uint64_t)range};
        double      log_worst = 0.0;
        for (int i = 0; i < SAMPLES; ++i) {
            const double x = log_argument(&r, range);
            if (x > 0.0) log_worst = worst(log_worst, tni_log(x), logl((long double)x));
        }
        CHECK_LESS(log_worst, 1.0);
    }
}

#endif

static uint64_t mixed(uint64_t hash, double x)
{
    return (hash ^ to_bits(x)) * 0x100000001b3u ^ hash >> 29;
}

// golden: the same bits from every compiler at every level. A new constant here means that every
// recorded trajectory changes with it.
TEST(elementary_same_bits_everywhere)
{
    test_random r    = {97};
    uint64_t    hash = 0xcbf29ce484222325u;
    for (int i = 0; i < 100000; ++i) {
        const double angle = test_random_between(&r, -7.0, 7.0), any = random_finite(&r);
        const double unit = test_random_between(&r, -1.0, 1.0);
        double       s, c;
        tni_sincos(angle, &s, &c);
        hash = mixed(mixed(hash, s), c);
        hash = mixed(mixed(hash, tni_sin(any)), tni_cos(any));
        hash = mixed(mixed(hash, tni_atan2(unit, angle)), tni_atan2(any, random_finite(&r)));
        hash = mixed(mixed(hash, tni_asin(unit)), tni_acos(unit));
        hash = mixed(mixed(hash, tni_exp(100.0 * angle)), tni_exp(angle));
        hash = mixed(mixed(hash, tni_log(fabs(angle))), tni_log(fabs(any)));
    }
    CHECK_INT(hash, 8308794866838694812);
}
