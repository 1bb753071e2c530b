// check: is the ruler right, and are the worlds of the other engines the same mechanism?
//
// Depths against closed forms and against sampling; principal axes against the inertia they come from.
// Accelerations of a bent and moving humanoid: each engine's against Tenon's. Motions: as h falls every
// setup's comes to Tenon's, for joints of every type with bodies off their centres and full inertia
// tensors, springs, velocities at the start, loops, a drive, and what floats. Friction by the distance
// that a box slides. Not part of the test suite: it needs the engines' packages. Run by
// scripts/bench-peers.
#include "run.h"
#include "scenes/parts.h"
#include "scenes/scenes.h"
#include "test.h"

#include <stdlib.h>

// ---- Depth ---------------------------------------------------------------------------------------

static peer_shape shape(tn_shape_type type, int body, double a, double b, double c)
{
    return (peer_shape){type, body, {0, 0, 0}, {1, 0, 0, 0}, {a, b, c}, 0, UINT32_MAX};
}

static double depth_of(peer_shape a, peer_pose at, peer_shape b, peer_pose bt)
{
    peer_shape       shapes[2] = {a, b};
    const peer_pose  poses[2]  = {at, bt};
    const peer_plain p         = {.shape_count = 2, .shapes = shapes};
    return peer_pair_depth(&p, 0, 1, poses);
}

static peer_pose at(double x, double y, double z)
{
    return (peer_pose){{x, y, z}, {1, 0, 0, 0}, {0}, {0}};
}

static peer_pose turned(peer_pose p, double x, double y, double z, double angle)
{
    const double n = sqrt(x * x + y * y + z * z), s = sin(angle / 2) / n;
    p.q[0] = cos(angle / 2), p.q[1] = s * x, p.q[2] = s * y, p.q[3] = s * z;
    return p;
}

TEST(depth_over_a_plane)
{
    const peer_shape plane = shape(TN_SHAPE_PLANE, 0, 0, 0, 0);
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

TEST(depth_of_a_ball_in_a_box)
{
    const peer_shape ball = shape(TN_SHAPE_SPHERE, 0, 0.3, 0, 0),
                     box  = shape(TN_SHAPE_BOX, 1, 1, 2, 3);
    const double a        = 0.7;
    CHECK_NEAR(depth_of(ball, at(1.2, 0.5, -2), box, at(0, 0, 0)), 0.1, 1e-15);
    CHECK_NEAR(depth_of(box, at(0, 0, 0), ball, at(1.1, 2.1, 0)), 0.3 - 0.1 * sqrt(2), 1e-15);
    CHECK_NEAR(depth_of(ball, at(0.8, 0, 0), box, at(0, 0, 0)), 0.5, 1e-15);
    // Turned about y, its face x = 1 has the normal (cos a, 0, -sin a).
    CHECK_NEAR(
        depth_of(ball, at(1.2 * cos(a), 0, -1.2 * sin(a)), box, turned(at(0, 0, 0), 0, 1, 0, a)),
        0.1, 1e-15);
}

static double uniform(uint64_t* seed)
{
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return (double)(*seed >> 11) * 0x1p-53 * 2 - 1;
}

static peer_pose anywhere(uint64_t* seed, double size)
{
    peer_pose    p    = at(size * uniform(seed), size * uniform(seed), size * uniform(seed));
    const double a[3] = {uniform(seed), uniform(seed), uniform(seed)};
    return turned(p, a[0], a[1], a[2], 3 * uniform(seed));
}

// Distances along two segments on a grid of 401 x 401: the least is off by no more than half a
// cell of either, and never under the true one.
TEST(depth_of_capsules_by_sampling)
{
    enum { GRID = 200 };
    uint64_t         seed = 5;
    const peer_shape a    = shape(TN_SHAPE_CAPSULE, 0, 0.1, 0.5, 0),
                     b    = shape(TN_SHAPE_CAPSULE, 1, 0.2, 0.3, 0);
    for (int trial = 0; trial < 60; ++trial) {
        const peer_pose p = anywhere(&seed, 0.6), q = trial % 6 ? anywhere(&seed, 0.6) : p;
        const double    z[3] = {0, 0, 1};
        double          u[3], v[3], least = HUGE_VAL;
        peer_turn(p.q, z, u);
        peer_turn(q.q, z, v);
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
    const peer_shape a    = shape(TN_SHAPE_BOX, 0, 0.3, 0.2, 0.5),
                     b    = shape(TN_SHAPE_BOX, 1, 0.4, 0.4, 0.1);
    CHECK_NEAR(depth_of(a, at(0, 0, 0), b, at(0.1, 0, 0.57)), 0.03, 1e-15);
    for (int trial = 0; trial < 40; ++trial) {
        const peer_pose p = anywhere(&seed, 0.3), q = anywhere(&seed, 0.3);
        const double    depth = depth_of(a, p, b, q);
        double          least = HUGE_VAL;
        for (int i = 0; i < 40000; ++i) {
            double       n[3] = {uniform(&seed), uniform(&seed), uniform(&seed)}, sum = 0, gap = 0;
            const double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
            for (int k = 0; k < 3; ++k) n[k] /= length, gap += n[k] * (p.x[k] - q.x[k]);
            for (int k = 0; k < 3; ++k) {
                const double unit[3] = {k == 0, k == 1, k == 2};
                double       e[3], f[3];
                peer_turn(p.q, unit, e);
                peer_turn(q.q, unit, f);
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

static void make(peer_case* c, tn_scene* from)
{
    static const peer_work nothing = {.workload = "check", .size = 1};
    tn_why                 why     = {0};
    *c                             = (peer_case){.work = &nothing};
    const bool good =
        peer_scene_open(&c->scene, from, &why) && peer_plain_open(&c->plain, &c->scene, &why);
    test_check(good, __FILE__, __LINE__, "%s", why.text);
    if (!good) exit(1);
}

static void build(peer_case* c, const char* spec, tn_vec3 gravity)
{
    tn_why    why   = {0};
    tn_scene* scene = NULL;
    CHECK_OK(tns_build(NULL, spec, &scene, &why));
    tn_scene_set_gravity(scene, gravity);
    make(c, scene);
}

static const tn_vec3 down = {0, 0, -9.81}, aside = {1, 4, -9};

TEST(principal_axes_give_the_inertia_back)
{
    peer_case c;
    int       skew = 0;
    make(&c, work_beast(1));
    for (int i = 1; i < c.plain.body_count; ++i) {
        const peer_body* b = &c.plain.bodies[i];
        for (int k = 0; k < 3; ++k) { // the inertia's column k, by its axes
            const double unit[3] = {k == 0, k == 1, k == 2};
            double       v[3], column[3];
            peer_turn_back(b->axes, unit, v);
            for (int n = 0; n < 3; ++n) v[n] *= b->moments[n];
            peer_turn(b->axes, v, column);
            const double* I       = b->inertia;
            const double  want[9] = {I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2]};
            for (int n = 0; n < 3; ++n)
                CHECK_NEAR(column[n], want[3 * k + n], 1e-13 * (I[0] + I[1] + I[2]));
        }
        skew += fabs(b->inertia[4]) > 1e-3 * b->inertia[0];
    }
    CHECK(skew > 0); // else nothing was shown
    peer_case_close(&c);
}

TEST(a_forest_reaches_every_body_and_leaves_the_loops)
{
    peer_case c;
    build(&c, "strandbeest:motor=0", down);
    CHECK_INT(c.plain.loop_count, tn_model_counts(c.scene.model).loops);
    CHECK_INT(c.plain.float_count, 0);
    for (int k = 0; k + 1 < c.plain.body_count; ++k) {
        const peer_body* b = &c.plain.bodies[c.plain.order[k]];
        CHECK(b->joint >= 0 && !c.plain.joints[b->joint].closes);
        for (int n = k; n + 1 < c.plain.body_count; ++n) CHECK(b->parent != c.plain.order[n]);
    }
    peer_case_close(&c);
}

TEST(joined_bodies_and_groups_do_not_touch)
{
    peer_case c;
    make(&c, work_ragdolls(1));
    CHECK(peer_may_touch(&c.plain, 0, 1));  // floor and pelvis
    CHECK(!peer_may_touch(&c.plain, 1, 2)); // joined
    CHECK(peer_may_touch(&c.plain, 1, 6));  // pelvis and a forearm
    c.plain.shapes[6].with = 1u << 1;       // one of the two is against it
    CHECK(!peer_may_touch(&c.plain, 1, 6) && !peer_may_touch(&c.plain, 6, 1));
    peer_case_close(&c);
    make(&c, work_beast(1));
    CHECK(peer_may_touch(&c.plain, 0, c.plain.shape_count - 1));
    CHECK(!peer_may_touch(&c.plain, 1, c.plain.shape_count - 1)); // frame and a foot: floor only
    peer_case_close(&c);
}

static tn_body_id add_body(tn_scene* scene, tn_vec3 where, tn_twist velocity)
{
    tn_body_def def      = tn_default_body_def();
    def.mass             = 2;
    def.com              = (tn_vec3){0.05, -0.03, 0.02};
    def.pose.position    = where;
    def.pose.orientation = (tn_quat){0.5, 0.5, -0.5, 0.5};
    def.velocity         = velocity;
    const double I[6]    = {0.04, 0.03, 0.05, 0.006, -0.004, 0.003};
    memcpy(def.inertia, I, sizeof I);
    return tn_scene_add_body(scene, &def);
}

// ground - slider - A - hinge - B - weld - C - ball - D - hinge with a spring - E; F floats and spins, G
// hangs on it. Swapped: the second body of each joint is the one nearer to the ground.
static tn_scene* every_type(bool swapped)
{
    tn_scene* scene = NULL;
    if (tn_scene_create(NULL, &scene) != TN_OK) exit(1);
    tn_scene_set_gravity(scene, aside);
    tn_body_id body[7] = {{0}};
    for (int i = 0; i < 7; ++i) {
        const tn_twist spin = {{0, 0.5, 0}, {1, 2, -1}};
        body[i] = add_body(scene, tns_vec(0.4 * i, 0.1, 0), i >= 5 ? spin : (tn_twist){0});
    }
    const tn_vec3 tilted    = {0.6, 0, 0.8};
    tn_joint_def  joints[6] = {
        tns_joint(TN_JOINT_SLIDER, TNS_GROUND, body[0], tns_vec(0, 0, 0), tilted),
        tns_joint(TN_JOINT_HINGE, body[0], body[1], tns_vec(0.2, 0, 0), tilted),
        tns_joint(TN_JOINT_WELD, body[1], body[2], tns_vec(0.6, 0, 0), TNS_X),
        tns_joint(TN_JOINT_BALL, body[2], body[3], tns_vec(1, 0, 0), TNS_X),
        tns_joint(TN_JOINT_HINGE, body[3], body[4], tns_vec(1.4, 0, 0), TNS_Y),
        tns_joint(TN_JOINT_BALL, body[5], body[6], tns_vec(2.2, 0, 0), TNS_Y),
    };
    joints[3].stiffness = 3, joints[4].stiffness = 2, joints[5].stiffness = 4;
    for (int i = 0; i < 6; ++i) {
        const tn_body_id first = joints[i].body1;
        if (swapped) joints[i].body1 = joints[i].body2, joints[i].body2 = first;
        tn_scene_add_joint(scene, &joints[i]);
    }
    return scene;
}

static double apart(const tn_model* model, const tn_state* a, const tn_state* b)
{
    double worst = 0;
    for (int i = 1; i <= tn_model_counts(model).bodies; ++i) {
        const tn_body_id id = {(uint32_t)i};
        const tn_frame   f = tn_state_pose(a, id), g = tn_state_pose(b, id);
        const tn_twist   s = tn_state_velocity(a, id), t = tn_state_velocity(b, id);
        const tn_quat    p = f.orientation, q = g.orientation;
        const double     dot  = p.w * q.w + p.x * q.x + p.y * q.y + p.z * q.z;
        const double     d[8] = {f.position.x - g.position.x,        f.position.y - g.position.y,
                                 f.position.z - g.position.z,        0.1 * (s.linear.x - t.linear.x),
                                 0.1 * (s.linear.z - t.linear.z),    0.01 * (s.angular.x - t.angular.x),
                                 0.01 * (s.angular.y - t.angular.y), sqrt(fmax(0, 2 - 2 * fabs(dot)))};
        for (int k = 0; k < 8; ++k)
            if (!(fabs(d[k]) <= worst)) worst = fabs(d[k]);
    }
    return worst;
}

static bool ends(const peer_case* c, const peer_setup* setup, double h, double duration,
                 tn_state* state, tn_why* why)
{
    void* world = setup->engine->open(&c->plain, &setup->options, why);
    bool  good  = world != NULL;
    if (!world) return false;
    for (int i = (int)(duration / h + 0.5); good && i > 0; --i)
        good = setup->engine->step(world, h, why);
    setup->engine->read(world, state);
    setup->engine->close(world);
    return good;
}

// Too few sweeps to be held to anything; DART's constraints of a loop may not depend on each other, as
// those of a scissor do.
static bool left_out(const peer_setup* s, const char* name)
{
    return strstr(s->name, "QuickStep 20") || strstr(s->name, "10 sweeps") ||
           (s->engine == &peer_dart && strcmp(name, "scissor") == 0);
}

static void converges(const char* name, peer_case* c, double duration, double near, int least)
{
    static const peer_setup exact = {
        "Tenon", "exact", &peer_tenon, {.settings = "method=multiplier multiplier.tolerance=1e-11"},
        0,       NULL,    false};
    tn_state *want, *got;
    int       went = 0;
    tn_why    why  = {0};
    CHECK_OK(tn_state_create(c->scene.model, &want));
    CHECK_OK(tn_state_create(c->scene.model, &got));
    CHECK(ends(c, &exact, 1e-4, duration, want, &why));
    for (int s = 0; s < peer_setup_count; ++s) {
        const peer_setup* setup = &peer_setups[s];
        tn_why            no    = {0};
        if (left_out(setup, name) || setup->forward) continue;
        if (!ends(c, setup, 4e-4, duration, got, &no)) {
            printf("    %-18s %-24s %s\n", name, setup->name, no.text);
            continue;
        }
        const double coarse = apart(c->scene.model, want, got);
        CHECK(ends(c, setup, 2e-4, duration, got, &no));
        const double fine = apart(c->scene.model, want, got);
        printf("    %-18s %-24s apart at %g s: %.2e %.2e\n", name, setup->name, duration, coarse,
               fine);
        test_check(fine < near, __FILE__, __LINE__, "%s, %s: %.3g apart", name, setup->name, fine);
        test_check(fine < fmax(0.6 * coarse, 2e-5), __FILE__, __LINE__,
                   "%s, %s: no convergence, %.3g to %.3g", name, setup->name, coarse, fine);
        ++went;
    }
    CHECK(went >= least);
    tn_state_free(got);
    tn_state_free(want);
    peer_case_close(c);
}

TEST(chains_fall_and_swing_alike)
{
    peer_case c;
    build(&c, "chain:n=4", aside);
    converges("chain", &c, 0.4, 2e-2, 15);
    build(&c, "chain:n=3,stiffness=0.5,tip_mass=1", aside);
    converges("springs", &c, 0.2, 2e-2, 15);
}

TEST(every_type_of_joint_is_the_same)
{
    peer_case c;
    make(&c, every_type(false));
    converges("every type", &c, 0.2, 5e-3, 15);
    make(&c, every_type(true));
    converges("swapped", &c, 0.2, 5e-3, 15);
}

TEST(loops_move_alike)
{
    peer_case c;
    build(&c, "fourbar", down);
    converges("four-bar", &c, 0.3, 5e-3, 10);
    make(&c, work_scissor(2));
    converges("scissor", &c, 0.2, 5e-3, 8);
}

TEST(driven_machines_turn_alike)
{
    peer_case c;
    build(&c, "strandbeest:legs=2,frame=free,motor=3", down);
    converges("strandbeest", &c, 0.2, 5e-3, 5);
}

TEST(accelerations_are_the_same)
{
    const peer_work* work = NULL;
    peer_case        c;
    tn_why           why  = {0};
    int              went = 0;
    for (int i = 0; i < peer_work_count; ++i)
        if (peer_works[i].kind == WORK_FORWARD) work = &peer_works[i];
    CHECK(work && peer_case_open(&c, work, &why));
    const tn_counts n = tn_model_counts(c.scene.model);
    CHECK_INT(n.freedoms - n.rows, 36);
    double *want = calloc(6 * (size_t)c.plain.body_count, sizeof *want),
           *got  = calloc(6 * (size_t)c.plain.body_count, sizeof *got);
    for (int s = 0; s < peer_setup_count; ++s) {
        const peer_setup* setup = &peer_setups[s];
        if (!setup->engine->evaluate) continue;
        void* world = setup->engine->open(&c.plain, &setup->options, &why);
        CHECK(world != NULL);
        if (!world || !setup->engine->evaluate(world, s == 0 ? want : got, &why)) continue;
        double worst = 0, scale = 0;
        for (int i = 6; s > 0 && i < 6 * c.plain.body_count; ++i) {
            worst = fmax(worst, fabs(got[i] - want[i]));
            scale = fmax(scale, fabs(want[i]));
        }
        printf("    %-24s %.1e of %.3g\n", setup->name, worst, scale);
        test_check(worst <= 1e-9 * scale, __FILE__, __LINE__, "%s: %g", setup->name, worst);
        setup->engine->close(world);
        ++went;
    }
    CHECK(went >= 10);
    free(want);
    free(got);
    peer_case_close(&c);
}

// To two per cent: the first steps of an engine whose contacts are springs have too little or too
// much normal force.
TEST(a_box_slides_as_far_as_friction_says)
{
    const tn_twist sliding = {{2, 0, 0}, {0, 0, 0}};
    tn_scene*      from    = NULL;
    tn_shape_def   box     = tn_default_shape_def(TN_SHAPE_BOX);
    peer_case      c;
    tn_state*      end;
    int            went = 0;
    box.half_size       = tns_vec(0.5, 0.5, 0.05);
    CHECK_OK(tn_scene_create(NULL, &from));
    tn_scene_set_ground(from, 0.5, 0);
    tns_solid(from, "box", tns_frame(tns_vec(0, 0, 0.05)), sliding, 10, box, (tns_surface){0.5, 0});
    make(&c, from);
    CHECK_OK(tn_state_create(c.scene.model, &end));
    for (int s = 0; s < peer_setup_count; ++s) {
        tn_why why = {0};
        if (peer_setups[s].engine == &peer_tenon && !strstr(peer_setups[s].name, "impulse"))
            continue;
        if (peer_setups[s].forward || !ends(&c, &peer_setups[s], 1e-3, 1, end, &why)) continue;
        const double x = tn_state_pose(end, (tn_body_id){1}).position.x;
        test_check(fabs(x - 2 * 2 / (2 * 0.5 * 9.81)) < 0.02 * 0.41, __FILE__, __LINE__, "%s: %g m",
                   peer_setups[s].name, x);
        ++went;
    }
    CHECK(went >= 6);
    tn_state_free(end);
    peer_case_close(&c);
}

TEST(what_has_no_counterpart_is_refused)
{
    tn_why     why   = {0};
    tn_scene*  scene = NULL;
    peer_scene s;
    peer_plain p;
    CHECK_OK(tn_scene_create(NULL, &scene));
    const tn_body_id   a   = add_body(scene, tns_vec(0, 0, 0), (tn_twist){0});
    const tn_joint_def def = tns_joint(TN_JOINT_PLANE, TNS_GROUND, a, tns_vec(0, 0, 0), TNS_Z);
    tn_scene_add_joint(scene, &def);
    CHECK(peer_scene_open(&s, scene, &why));
    CHECK(!peer_plain_open(&p, &s, &why));
    CHECK_TEXT(why.text, "plain: no counterpart for plane");
    peer_scene_close(&s);
}
