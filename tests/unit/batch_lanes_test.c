// Functions in lanes have the bits of the scalar ones, for numbers of every size.
#include "math/elementary.h"
#include "math/rotation.h"
#include "test.h"

#define WIDTH 2
#include "math/simd_begin.h"

#include "batch/lanes_angle.h"

#ifdef TENON_TEST_LIGHT
enum { SAMPLES = 2000 };
#else
enum { SAMPLES = 200000 };
#endif

static const double odd_ones[] = {0.0,
                                  -0.0,
                                  1.0,
                                  -1.0,
                                  0.5,
                                  1e-300,
                                  -1e-300,
                                  1e-20,
                                  1e20,
                                  1e300,
                                  -1e300,
                                  1.5e6,
                                  HUGE_VAL,
                                  -HUGE_VAL,
                                  (double)NAN,
                                  5e-324,
                                  0x1p-60,
                                  0x1p500,
                                  0.7853981633974483};
enum { ODD = sizeof odd_ones / sizeof odd_ones[0] };

// Mostly ordinary numbers, sometimes of any size, sometimes special values.
static double number(test_random* r)
{
    const int kind = test_random_int(r, 0, 19);
    if (kind == 0) return odd_ones[test_random_int(r, 0, ODD - 1)];
    const double x = test_random_between(r, -1, 1);
    return kind < 4 ? x * exp2(test_random_between(r, -80, 80)) : 4 * x;
}

static bool same(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static void check_same(vec got, const double* wanted, const char* what, double x, double y)
{
    for (int k = 0; k < LANES; ++k)
        test_check(same(got[k], wanted[k]), __FILE__, __LINE__, "%s(%a, %a) = %a, wanted %a", what,
                   x, y, got[k], wanted[k]);
}

TEST(angles)
{
    test_random r = {1};
    for (int i = 0; i < SAMPLES; ++i) {
        const vec    y = {number(&r), number(&r)}, x = {number(&r), number(&r)};
        const double wanted[2] = {tni_atan2(y[0], x[0]), tni_atan2(y[1], x[1])};
        check_same(arc(y, x), wanted, "atan2", y[0], x[0]);
    }
}

TEST(sines)
{
    test_random r = {2};
    for (int i = 0; i < SAMPLES; ++i) {
        const vec x = {number(&r), 10 * number(&r)};
        double    s[2], c[2];
        vec       sine, cosine;
        for (int k = 0; k < 2; ++k) tni_sincos(x[k], &s[k], &c[k]);
        sine_cosine(x, &sine, &cosine);
        check_same(sine, s, "sin", x[0], x[1]);
        check_same(cosine, c, "cos", x[0], x[1]);
    }
}

TEST(whole_numbers)
{
    test_random r = {3};
    for (int i = 0; i < SAMPLES; ++i) {
        vec       x   = {1000 * test_random_between(&r, -1, 1), (double)test_random_int(&r, -9, 9)};
        const vec got = lower_whole(x);
        const double wanted[2] = {floor(x[0]), floor(x[1])};
        CHECK(got[0] == wanted[0] && got[1] == wanted[1]);
    }
}

static void check_vector(vec3 got, const tn_vec3* wanted, const char* what)
{
    for (int k = 0; k < LANES; ++k)
        test_check(same(got.x[k], wanted[k].x) && same(got.y[k], wanted[k].y) &&
                       same(got.z[k], wanted[k].z),
                   __FILE__, __LINE__, "%s: lane %d differs", what, k);
}

TEST(rotations)
{
    test_random r = {4};
    for (int i = 0; i < SAMPLES; ++i) {
        const double size = test_random_int(&r, 0, 3) == 0 ? 1e-9 : 2;
        tn_vec3      d[2], log[2];
        tn_quat      q[2], back[2];
        vec3         D;
        for (int k = 0; k < 2; ++k) {
            d[k] = tni_vec3(size * test_random_between(&r, -1, 1), test_random_between(&r, -2, 2),
                            test_random_between(&r, -2, 2));
            if (test_random_int(&r, 0, 4) == 0) d[k] = tni_scale(size * 1e-3, d[k]);
            D.x[k] = d[k].x, D.y[k] = d[k].y, D.z[k] = d[k].z;
            q[k]             = tni_quat_exp(d[k]);
            const tni_mat3 R = tni_quat_matrix(q[k]);
            back[k]          = tni_matrix_quat(&R);
            log[k]           = tni_quat_log(back[k]);
        }
        const quat   Q    = quat_exp(D);
        const mat3   M    = quat_matrix(Q);
        const quat   B    = matrix_quat(&M);
        const double w[2] = {q[0].w, q[1].w}, x[2] = {q[0].x, q[1].x},
                     bw[2] = {back[0].w, back[1].w}, bz[2] = {back[0].z, back[1].z};
        check_same(Q.w, w, "exp", d[0].x, d[1].x);
        check_same(Q.x, x, "exp", d[0].x, d[1].x);
        check_same(B.w, bw, "quaternion", d[0].x, d[1].x);
        check_same(B.z, bz, "quaternion", d[0].x, d[1].x);
        check_vector(quat_log(B), log, "log");
    }
}
