// Rotations: the exponential against the C library's sine and cosine on both sides of where its
// series ends, eigenvectors of symmetric matrices against what defines them.
#include "math/rotation.h"
#include "support/random_scene.h"

static double quat_distance(tn_quat a, tn_quat b)
{
    const double d[4] = {a.w - b.w, a.x - b.x, a.y - b.y, a.z - b.z};
    return fmax(fmax(fabs(d[0]), fabs(d[1])), fmax(fabs(d[2]), fabs(d[3])));
}

// By the C library, without series.
static tn_quat plain_exp(tn_vec3 d)
{
    const double angle = tni_norm(d), s = angle > 0 ? sin(0.5 * angle) / angle : 0.5;
    return (tn_quat){cos(0.5 * angle), s * d.x, s * d.y, s * d.z};
}

// ---- The exponential ----------------------------------------------------------------------------

TEST(the_exponential_is_that_of_sine_and_cosine)
{
    test_random r = {11};
    for (int i = 0; i < 20000; ++i) {
        const double  size = random_log_uniform(&r, 1e-12, 7);
        const tn_vec3 d    = tni_scale(size, random_direction(&r));
        const tn_quat q    = tni_quat_exp(d);
        // Roundings of numbers up to 1; both ways have them.
        test_check(quat_distance(q, plain_exp(d)) < 4e-16, __FILE__, __LINE__, "angle %.17g: %.3g",
                   size, quat_distance(q, plain_exp(d)));
        CHECK_NEAR(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z, 1, 1e-15);
    }
}

// The series ends at one radian: its next terms would show there first.
TEST(the_exponential_has_no_step_where_its_series_ends)
{
    test_random r = {12};
    for (int i = 0; i < 1000; ++i) {
        const tn_vec3 axis  = random_direction(&r);
        const double  below = 1 - 1e-15, above = 1 + 1e-15; // 1e-15 of this is seen
        const tn_quat a = tni_quat_exp(tni_scale(below, axis)),
                      b = tni_quat_exp(tni_scale(above, axis));
        CHECK_LESS(quat_distance(a, b), 1.4e-15);
        CHECK_LESS(quat_distance(a, plain_exp(tni_scale(below, axis))), 3e-16);
    }
}

TEST(the_exponential_at_zero_and_near_it)
{
    const tn_quat none = tni_quat_exp(tni_vec3(0, 0, 0)), one = {1, 0, 0, 0};
    CHECK(quat_distance(none, one) == 0);
    const tn_quat small = tni_quat_exp(tni_vec3(1e-200, -2e-300, 0)); // its square is zero
    CHECK(small.w == 1 && small.x == 5e-201 && small.y == -1e-300 && small.z == 0);
    const tn_quat bad = tni_quat_exp(tni_vec3(NAN, 0, 0));
    CHECK(isnan(bad.w));
}

TEST(the_logarithm_undoes_the_exponential)
{
    test_random r = {13};
    for (int i = 0; i < 5000; ++i) {
        const tn_vec3 d = tni_scale(random_log_uniform(&r, 1e-6, 3.1), random_direction(&r));
        CHECK_LESS(tni_max_abs(tni_sub(tni_quat_log(tni_quat_exp(d)), d)),
                   2e-15 * (1 + tni_norm(d)));
    }
}

TEST(turns_about_one_axis_add_up)
{
    test_random r = {14};
    for (int i = 0; i < 2000; ++i) {
        const tn_vec3 axis = random_direction(&r);
        const double a = test_random_between(&r, -1.5, 1.5), b = test_random_between(&r, -1.5, 1.5);
        const tn_quat both =
            tni_quat_mul(tni_quat_exp(tni_scale(a, axis)), tni_quat_exp(tni_scale(b, axis)));
        CHECK_LESS(quat_distance(both, tni_quat_exp(tni_scale(a + b, axis))), 8e-16);
    }
}

// ---- Eigenvectors -------------------------------------------------------------------------------

// A V = V diag(values), V^T V = 1, values rising, trace kept; to `rounding` of the largest value.
// Where values are equal up to 30 sweeps of 3 rotations are made, each with its rounding.
static void check_eigen(const tni_mat3* A, double rounding)
{
    tni_mat3      V;
    const tn_vec3 values = tni_symmetric_eigen(A, &V), again = tni_symmetric_eigen(A, NULL);
    double        size = 0;
    for (int i = 0; i < 9; ++i) size = fmax(size, fabs(A->m[i]));
    CHECK(values.x <= values.y && values.y <= values.z);
    CHECK(values.x == again.x && values.y == again.y && values.z == again.z);
    CHECK_NEAR(values.x + values.y + values.z, A->m[0] + A->m[4] + A->m[8], rounding * size);
    for (int i = 0; i < 3; ++i) {
        const tn_vec3 v    = tni_column(&V, i);
        const tn_vec3 left = tni_sub(tni_mul(A, v), tni_scale(tni_at(values, i), v));
        CHECK_LESS(tni_max_abs(left), rounding * size + 1e-300);
        for (int j = 0; j < 3; ++j) CHECK_NEAR(tni_dot(v, tni_column(&V, j)), i == j, 2e-14);
    }
}

static tni_mat3 with_values(test_random* r, double x, double y, double z)
{
    const tni_mat3 D = {{x, 0, 0, 0, y, 0, 0, 0, z}}, R = tni_quat_matrix(random_quat(r));
    tni_mat3       A = tni_rotate_symmetric(&R, &D);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < i; ++j) A.m[3 * i + j] = A.m[3 * j + i]; // to the last bit
    return A;
}

TEST(eigenvectors_satisfy_their_equations)
{
    test_random r = {15};
    for (int i = 0; i < 3000; ++i) {
        const double   size = random_log_uniform(&r, 1e-9, 1e9);
        const tni_mat3 A    = with_values(&r, size * test_random_between(&r, -1, 1),
                                          size * test_random_between(&r, -1, 1), size);
        check_eigen(&A, 4e-15);
    }
}

TEST(equal_eigenvalues_and_thin_bodies)
{
    test_random r = {16};
    for (int i = 0; i < 500; ++i) {
        const double   thin = random_log_uniform(&r, 1e-12, 1);
        const tni_mat3 two = with_values(&r, thin, 1, 1), other = with_values(&r, thin, thin, 1),
                       all = with_values(&r, 3, 3, 3), near = with_values(&r, 1, 1 + 1e-13, 2);
        check_eigen(&two, 2e-14);
        check_eigen(&other, 2e-14);
        check_eigen(&all, 2e-14);
        check_eigen(&near, 2e-14);
        CHECK_NEAR(tni_symmetric_eigen(&two, NULL).x, thin, 2e-14);
    }
    const tni_mat3 zero = {{0}}, diagonal = {{3, 0, 0, 0, -1, 0, 0, 0, 2}};
    check_eigen(&zero, 4e-15);
    check_eigen(&diagonal, 0);
    const tn_vec3 values = tni_symmetric_eigen(&diagonal, NULL);
    CHECK(values.x == -1 && values.y == 2 && values.z == 3);
}

// Roots of the characteristic polynomial, in closed form.
TEST(eigenvalues_solve_the_cubic)
{
    const tni_mat3 A     = {{2, -1, 0, -1, 2, -1, 0, -1, 2}};
    const tn_vec3  value = tni_symmetric_eigen(&A, NULL);
    CHECK_NEAR(value.x, 2 - sqrt(2), 1e-14);
    CHECK_NEAR(value.y, 2, 1e-14);
    CHECK_NEAR(value.z, 2 + sqrt(2), 1e-14);
}

TEST(nan_input_terminates)
{
    const tni_mat3 A = {{NAN, 1, 0, 1, 2, 0, 0, 0, 1}};
    (void)tni_symmetric_eigen(&A, NULL);
    const tni_mat3 B = {{1e308, 1e308, 0, 1e308, 1e308, 0, 0, 0, 1}};
    (void)tni_symmetric_eigen(&B, NULL);
    CHECK(true);
}
