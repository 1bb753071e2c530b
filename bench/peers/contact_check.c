// contact_check: is the ruler right, and are the drops of the other engines the same mechanism?
// Depths against closed forms and against sampling; principal axes against the inertia they come
// from; the free fall of every engine against Tenon's motion, with loops, a drive and bodies
// whose axes are not principal; friction by the distance that a box slides. Not part of the test
// suite: it needs the engines' packages. Run by scripts/peers.
#include "drops.h"
#include "scenes/parts.h"
#include "test.h"

#include <stdlib.h>

static const drop_options exact[3]   = {{0, 0.1, 1e-12, 0, 0}, {500, 0, 0, 0, 0}, {0, 0, 0, 2, 0}};
static const drop_engine* engines[3] = {&drop_ode, &drop_bullet, &drop_mujoco};

// ---- Depth ---------------------------------------------------------------------------------------

static drop_shape shape(tn_shape_type type, int body, double a, double b, double c)
{
    return (drop_shape){type, body, {0, 0, 0}, {1, 0, 0, 0}, {a, b, c}, 0, UINT32_MAX};
}

static double depth_of(drop_shape a, drop_pose at, drop_shape b, drop_pose bt)
{
    drop_shape      shapes[2] = {a, b};
    const drop_pose poses[2]  = {at, bt};
    const drop      d         = {.shape_count = 2, .shapes = shapes};
    return drop_pair_depth(&d, 0, 1, poses);
}

static drop_pose at(double x, double y, double z)
{
    return (drop_pose){{x, y, z}, {1, 0, 0, 0}, {0}, {0}};
}

static drop_pose turned(drop_pose p, double x, double y, double z, double angle)
{
    const double n = sqrt(x * x + y * y + z * z), s = sin(angle / 2) / n;
    p.q[0] = cos(angle / 2), p.q[1] = s * x, p.q[2] = s * y, p.q[3] = s * z;
    return p;
}

TEST(depth_over_a_plane)
{
    const drop_shape plane = shape(TN_SHAPE_PLANE, 0, 0, 0, 0);
    const double     a     = 0.7;
    CHECK_NEAR(depth_of(plane, at(0, 0, 0), shape(TN_SHAPE_SPHERE, 1, 0.3, 0, 0), at(5, 1, 0.25)),
               0.05, 1e-15);
    CHECK_NEAR(depth_of(shape(TN_SHAPE_CAPSULE, 0, 0.1, 0.5, 0), turned(at(0, 0, 0.3), 1, 0, 0, a),
                        shape(TN_SHAPE_PLANE, 1, 0, 0, 0), at(0, 0, 0)),
               0.1 + 0.5 * cos(a) - 0.3, 1e-15);
    CHECK_NEAR(depth_of(plane, at(0, 0, 0), shape(TN_SHAPE_CYLINDER, 1, 0.1, 0.5, 0),
                        turned(at(0, 0, 0.3), 0, 1, 0, a)),
               0.1 * sin(a) + 0.5 * cos(a) - 0.3, 1e-15);
    CHECK_NEAR(depth_of(plane, at(0, 0, 0), shape(TN_SHAPE_BOX, 1, 0.1, 0.2, 0.3),
                        turned(at(0, 0, 0.3), 0, 1, 0, a)),
               0.1 * sin(a) + 0.3 * cos(a) - 0.3, 1e-15);
    // A plane that leans: its normal is (sin a, 0, cos a).
    CHECK_NEAR(depth_of(shape(TN_SHAPE_PLANE, 0, 0, 0, 0), turned(at(1, 0, 0), 0, 1, 0, a),
                        shape(TN_SHAPE_SPHERE, 1, 0.2, 0, 0), at(1.5, 7, 0)),
               0.2 - 0.5 * sin(a), 1e-15);
}

static double uniform(uint64_t* seed)
{
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return (double)(*seed >> 11) * 0x1p-53 * 2 - 1;
}

static drop_pose anywhere(uint64_t* seed, double size)
{
    drop_pose    p    = at(size * uniform(seed), size * uniform(seed), size * uniform(seed));
    const double a[3] = {uniform(seed), uniform(seed), uniform(seed)};
    return turned(p, a[0], a[1], a[2], 3 * uniform(seed));
}

// Distances along two segments on a grid of 401 x 401: the least is off by no more than half a
// cell of either, and never under the true one.
TEST(depth_of_capsules_by_sampling)
{
    enum { GRID = 200 };
    uint64_t         seed = 5;
    const drop_shape a    = shape(TN_SHAPE_CAPSULE, 0, 0.1, 0.5, 0),
                     b    = shape(TN_SHAPE_CAPSULE, 1, 0.2, 0.3, 0);
    for (int trial = 0; trial < 60; ++trial) {
        const drop_pose p = anywhere(&seed, 0.6), q = trial % 6 ? anywhere(&seed, 0.6) : p;
        const double    z[3] = {0, 0, 1};
        double          u[3], v[3], least = HUGE_VAL;
        drop_turn(p.q, z, u);
        drop_turn(q.q, z, v);
        for (int i = -GRID; i <= GRID; ++i) {
            for (int k = -GRID; k <= GRID; ++k) {
                const double s = 0.5 * i / GRID, t = 0.3 * k / GRID;
                double       sum = 0;
                for (int c = 0; c < 3; ++c) {
                    const double e = p.x[c] + s * u[c] - q.x[c] - t * v[c];
                    sum += e * e;
                }
                least = fmin(least, sqrt(sum));
            }
        }
        const double distance = 0.3 - depth_of(a, p, b, q);
        CHECK_LESS(distance, least + 1e-12);
        CHECK_LESS(least - distance, 0.5 * (0.5 + 0.3) / GRID);
    }
}

// The depth is the least overlap over all directions: no direction may show less, and the best of
// many must come near.
TEST(depth_of_boxes_by_sampling)
{
    uint64_t         seed = 7;
    const drop_shape a    = shape(TN_SHAPE_BOX, 0, 0.3, 0.2, 0.5),
                     b    = shape(TN_SHAPE_BOX, 1, 0.4, 0.4, 0.1);
    CHECK_NEAR(depth_of(a, at(0, 0, 0), b, at(0.1, 0, 0.57)), 0.03, 1e-15);
    for (int trial = 0; trial < 40; ++trial) {
        const drop_pose p = anywhere(&seed, 0.3), q = anywhere(&seed, 0.3);
        const double    depth = depth_of(a, p, b, q);
        double          least = HUGE_VAL;
        for (int i = 0; i < 40000; ++i) {
            double       n[3] = {uniform(&seed), uniform(&seed), uniform(&seed)}, sum = 0, gap = 0;
            const double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
            for (int k = 0; k < 3; ++k) n[k] /= length, gap += n[k] * (p.x[k] - q.x[k]);
            for (int k = 0; k < 3; ++k) {
                const double unit[3] = {k == 0, k == 1, k == 2};
                double       e[3], f[3];
                drop_turn(p.q, unit, e);
                drop_turn(q.q, unit, f);
                sum += a.size[k] * fabs(n[0] * e[0] + n[1] * e[1] + n[2] * e[2]);
                sum += b.size[k] * fabs(n[0] * f[0] + n[1] * f[1] + n[2] * f[2]);
            }
            least = fmin(least, sum - fabs(gap));
        }
        if (depth < 0) continue; // apart: the 15 axes give a bound only
        CHECK_LESS(depth, least + 1e-12);
        CHECK_LESS(least - depth, 0.02);
    }
}

// ---- The same mechanism --------------------------------------------------------------------------

static void make(peer_scene* scene, drop* d, tn_scene* from)
{
    tn_why why = {0};
    CHECK(peer_scene_open(scene, from, &why) && drop_open(d, scene, &why));
    if (d->body_count == 0) fprintf(stderr, "%s\n", why.text), exit(1);
}

static void unmake(peer_scene* scene, drop* d)
{
    drop_close(d);
    peer_scene_close(scene);
}

TEST(principal_axes_give_the_inertia_back)
{
    peer_scene scene;
    drop       d;
    int        skew = 0;
    make(&scene, &d, drops_beast(1, 0));
    for (int i = 1; i < d.body_count; ++i) {
        const drop_body* b = &d.bodies[i];
        for (int k = 0; k < 3; ++k) { // the inertia's column k, by its axes
            const double unit[3] = {k == 0, k == 1, k == 2};
            double       v[3], column[3];
            drop_turn_back(b->axes, unit, v);
            for (int c = 0; c < 3; ++c) v[c] *= b->moments[c];
            drop_turn(b->axes, v, column);
            const double* I       = b->inertia;
            const double  want[9] = {I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2]};
            for (int c = 0; c < 3; ++c)
                CHECK_NEAR(column[c], want[3 * k + c], 1e-13 * (I[0] + I[1] + I[2]));
        }
        skew += fabs(b->inertia[4]) > 1e-3 * b->inertia[0];
    }
    CHECK(skew > 0); // else nothing was shown
    unmake(&scene, &d);
}

TEST(joined_bodies_and_groups_do_not_touch)
{
    peer_scene scene;
    drop       d;
    make(&scene, &d, drops_chain(4));
    CHECK(drop_may_touch(&d, 0, 1));  // floor and link
    CHECK(!drop_may_touch(&d, 1, 2)); // joined
    CHECK(drop_may_touch(&d, 1, 3));
    d.shapes[3].with = 1u << 1; // one of the two is against it
    CHECK(!drop_may_touch(&d, 1, 3) && !drop_may_touch(&d, 3, 1));
    unmake(&scene, &d);
    make(&scene, &d, drops_beast(1, 0));
    CHECK(drop_may_touch(&d, 0, d.shape_count - 1));
    CHECK(!drop_may_touch(&d, 1, d.shape_count - 1)); // frame and a foot: floor only
    unmake(&scene, &d);
}

static double apart(const drop* d, const drop_pose* a, const drop_pose* b)
{
    double worst = 0;
    for (int i = 1; i < d->body_count; ++i) {
        double dot = 0;
        for (int k = 0; k < 4; ++k) dot += a[i].q[k] * b[i].q[k];
        worst = fmax(worst, sqrt(fmax(0, 2 - 2 * fabs(dot))));
        for (int k = 0; k < 3; ++k) worst = fmax(worst, fabs(a[i].x[k] - b[i].x[k]));
    }
    return worst;
}

static void ends(const drop* d, int engine, double h, double duration, drop_pose* poses)
{
    tn_why why   = {0};
    void*  world = engines[engine]->open(d, &exact[engine], &why);
    CHECK(world != NULL);
    if (world == NULL) fprintf(stderr, "%s\n", why.text), exit(1);
    for (int i = 0; i < d->body_count; ++i) poses[i] = d->bodies[i].start;
    engines[engine]->read(world, poses);
    for (int i = (int)(duration / h + 0.5); i > 0; --i)
        CHECK(engines[engine]->step(world, h, &why));
    engines[engine]->read(world, poses);
    engines[engine]->close(world);
}

// Before anything touches, every engine comes to Tenon's motion as h falls.
static void falls_alike(tn_scene* from, double duration, double near)
{
    peer_scene scene;
    drop       d;
    tn_why     why = {0};
    tn_state*  state;
    make(&scene, &d, from);
    drop_pose* want = calloc((size_t)d.body_count, sizeof *want);
    drop_pose* got  = calloc((size_t)d.body_count, sizeof *got);
    CHECK_OK(tn_state_create(scene.model, &state));
    peer_task task = {&scene, &peer_tenon_multiplier, {.tolerance = 1e-11}, 1e-4, duration, 0};
    CHECK(peer_end(&task, state, &why));
    for (int i = 0; i < d.body_count; ++i) want[i] = d.bodies[i].start;
    drop_read(&d, state, want);
    for (int e = 0; e < 3; ++e) {
        ends(&d, e, 2e-4, duration, got);
        const double error = apart(&d, want, got);
        if (!(error < near)) printf("%s: %g\n", engines[e]->name, error);
        CHECK_LESS(error, near);
    }
    tn_state_free(state);
    free(want);
    free(got);
    unmake(&scene, &d);
}

TEST(rod_and_block_fall_alike)
{
    falls_alike(drops_rod(), 0.2, 1e-3);
}

TEST(walking_machine_falls_alike)
{
    falls_alike(drops_beast(1, 5), 0.2, 2e-3);
}

// To two per cent: the first steps of an engine whose contacts are springs have too little or too
// much normal force.
TEST(a_box_slides_as_far_as_friction_says)
{
    const tn_twist sliding = {{2, 0, 0}, {0, 0, 0}};
    tn_scene*      from    = NULL;
    tn_shape_def   box     = tn_default_shape_def(TN_SHAPE_BOX);
    peer_scene     scene;
    drop           d;
    drop_pose      end[2];
    box.half_size = tns_vec(0.5, 0.5, 0.05);
    CHECK_OK(tn_scene_create(NULL, &from));
    tn_scene_set_ground(from, 0.5, 0);
    tns_solid(from, "box", tns_frame(tns_vec(0, 0, 0.05)), sliding, 10, box, (tns_surface){0.5, 0});
    make(&scene, &d, from);
    for (int e = 0; e < 3; ++e) {
        ends(&d, e, 1e-3, 1, end);
        CHECK_NEAR(end[1].x[0], 2 * 2 / (2 * 0.5 * 9.81), 0.02 * 0.41);
    }
    unmake(&scene, &d);
}
