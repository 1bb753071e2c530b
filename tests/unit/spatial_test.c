// spatial: transforms, rigid inertias and their inverses against dense 6 x 6 algebra and clouds of
// points.
#include "adaptive/spatial.h"

#include "support/random_scene.h"

static tni_transform random_shift(test_random* r)
{
    const tni_mat3 R = tni_quat_matrix(random_quat(r));
    return (tni_transform){tni_transposed(&R), random_vec3(r, 2)};
}

static tni_spatial random_six(test_random* r)
{
    const tn_vec3 w = random_vec3(r, 1);
    return (tni_spatial){w, random_vec3(r, 1)};
}

enum { POINTS = 6 };
typedef struct cloud {
    double  m[POINTS];
    tn_vec3 p[POINTS];
} cloud;

static cloud random_cloud(test_random* r)
{
    cloud c;
    for (int i = 0; i < POINTS; ++i)
        c.m[i] = test_random_between(r, 0.1, 1), c.p[i] = random_vec3(r, 1);
    return c;
}

// Point by point: mass, first and second moments. NULL: the identity.
static tni_rigid_inertia rigid_of(const cloud* c, const tni_transform* X)
{
    tni_rigid_inertia I = {0};
    for (int i = 0; i < POINTS; ++i) {
        const double  m = c->m[i];
        const tn_vec3 p = X != NULL ? tni_add(X->r, tni_mul_t(&X->E, c->p[i])) : c->p[i];
        I.mass += m;
        I.moment = tni_add_scaled(I.moment, m, p);
        I.xx += m * (p.y * p.y + p.z * p.z), I.yy += m * (p.x * p.x + p.z * p.z);
        I.zz += m * (p.x * p.x + p.y * p.y);
        I.xy -= m * p.x * p.y, I.xz -= m * p.x * p.z, I.yz -= m * p.y * p.z;
    }
    return I;
}

static double difference(const tni_rigid_inertia* a, const tni_rigid_inertia* b)
{
    double A[36], B[36], most = fabs(a->mass - b->mass);
    tni_rigid_inertia_matrix(a, A);
    tni_rigid_inertia_matrix(b, B);
    for (int k = 0; k < 36; ++k) most = fmax(most, fabs(A[k] - B[k]));
    return most;
}

TEST(transformed_inertia_is_that_of_the_points)
{
    test_random r = {1};
    for (int i = 0; i < 200; ++i) {
        const cloud             c = random_cloud(&r);
        const tni_transform     X = random_shift(&r);
        const tni_rigid_inertia I = rigid_of(&c, NULL), there = rigid_of(&c, &X);
        const tni_rigid_inertia moved = tni_rigid_inertia_transform(&X, &I);
        CHECK_LESS(difference(&moved, &there), 1e-13); // numbers up to 6 * 12
    }
}

TEST(energy_is_the_same_from_every_frame)
{
    test_random r = {2};
    for (int i = 0; i < 100; ++i) {
        const cloud             c = random_cloud(&r);
        const tni_transform     X = random_shift(&r);
        const tni_rigid_inertia I = rigid_of(&c, NULL), P = tni_rigid_inertia_transform(&X, &I);
        const tni_spatial       v = random_six(&r), vc = tni_transform_motion(&X, v);
        CHECK_NEAR(tni_spatial_dot(v, tni_rigid_inertia_times(&P, v)),
                   tni_spatial_dot(vc, tni_rigid_inertia_times(&I, vc)), 1e-12);
    }
}

TEST(inertia_matrix_times_a_motion_is_inertia_times_motion)
{
    test_random r = {3};
    for (int i = 0; i < 50; ++i) {
        const cloud             c = random_cloud(&r);
        const tni_rigid_inertia I = rigid_of(&c, NULL);
        const tni_spatial       v = random_six(&r);
        double                  M[36], in[6], out[6];
        tni_rigid_inertia_matrix(&I, M);
        tni_spatial_write(in, v);
        tni_spatial_write(out, tni_rigid_inertia_times(&I, v));
        for (int k = 0; k < 6; ++k) {
            double sum = 0;
            for (int l = 0; l < 6; ++l) sum += M[6 * k + l] * in[l];
            CHECK_NEAR(sum, out[k], 1e-14);
        }
    }
}

TEST(inverse_times_matrix_is_one)
{
    test_random r = {4};
    for (int i = 0; i < 200; ++i) {
        const cloud             c = random_cloud(&r);
        const tni_rigid_inertia I = rigid_of(&c, NULL);
        double                  M[36], A[36], most = 0;
        tni_rigid_inertia_matrix(&I, M);
        CHECK(tni_rigid_inertia_inverse(&I, A));
        for (int k = 0; k < 36; ++k) {
            double sum = k % 7 == 0 ? -1 : 0;
            for (int l = 0; l < 6; ++l) sum += M[6 * (k / 6) + l] * A[6 * l + k % 6];
            most = fmax(most, fabs(sum));
            CHECK(A[k] == A[6 * (k % 6) + k / 6]);
        }
        CHECK_LESS(most, 1e-12);
    }
}

TEST(matrices_that_are_not_positive_definite_are_refused)
{
    const double            nan   = test_random_unit(&(test_random){1}) * 0 / 0.0;
    const tni_rigid_inertia good  = {1, {0, 0, 0}, 1, 0, 0, 1, 0, 1};
    double                  M[36] = {42};
    for (int i = 0; i < 7; ++i) {
        tni_rigid_inertia bad = good;
        if (i == 0) bad.mass = 0;
        if (i == 1) bad.mass = -1;
        if (i == 2) bad.xx = 0;
        if (i == 3) bad.xy = 1; // xx yy - xy^2 = 0
        if (i == 4) bad.zz = -1;
        if (i == 5) bad.moment = tni_vec3(2, 0, 0); // too far from the origin for yy
        if (i == 6) bad.yy = nan;
        CHECK(!tni_rigid_inertia_inverse(&bad, M));
        CHECK(M[0] == 42);
    }
    CHECK(tni_rigid_inertia_inverse(&good, M));
}

TEST(transforms_compose_and_invert)
{
    test_random r = {5};
    for (int i = 0; i < 50; ++i) {
        const tni_transform A = random_shift(&r), B = random_shift(&r),
                            AB = tni_transform_then(&A, &B), back = tni_transform_inverse(&AB);
        const tni_spatial m = random_six(&r), f = random_six(&r);
        const tni_spatial one = tni_transform_motion(&AB, m), step = tni_transform_motion(&A, m),
                          two  = tni_transform_motion(&B, step);
        const tni_spatial none = tni_spatial_sub(tni_transform_motion(&back, one), m),
                          same = tni_spatial_sub(one, two);
        CHECK_LESS(sqrt(tni_spatial_dot(none, none)), 1e-14);
        CHECK_LESS(sqrt(tni_spatial_dot(same, same)), 1e-14);
        CHECK_NEAR(tni_spatial_dot(tni_transform_force(&AB, f), m), tni_spatial_dot(f, one),
                   1e-13); // power
    }
}

TEST(motion_and_force_cross_products_are_transposed)
{
    test_random r = {6};
    for (int i = 0; i < 50; ++i) {
        const tni_spatial v = random_six(&r), m = random_six(&r), f = random_six(&r);
        CHECK_NEAR(tni_spatial_dot(tni_cross_force(v, f), m),
                   -tni_spatial_dot(f, tni_cross_motion(v, m)), 1e-14);
    }
}
