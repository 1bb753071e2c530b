// Springs, targets, handles and drag in the adaptive method: linearly implicit, so each step has a
// closed form, for any stiffness and any h; an equilibrium persists.
#include "support/adaptive_rig.h"
#include "support/rig.h"

static const tn_vec3 none = {0, 0, 0}, down = {0, 0, -9.81}, along_x = {1, 0, 0};
static const double  zeros[6] = {0};
static const double  hs[]     = {1e-4, 1e-3, 1.0 / 60, 0.1, 1, 10};
enum { H_COUNT = sizeof hs / sizeof *hs };

static void ready(rig* r, tn_adaptive_integrator integrator)
{
    r->settings.method              = TN_METHOD_ADAPTIVE;
    r->settings.adaptive.integrator = integrator;
    rig_ready(r);
}

// Position after a number of steps.
static double way(tn_adaptive_integrator integrator, double h, double before, double after)
{
    return h * (integrator == TN_ADAPTIVE_MIDPOINT ? 0.5 * (before + after) : after);
}

#define TEST_BOTH(id)                                          \
    static void check_##id(tn_adaptive_integrator integrator); \
    TEST(id)                                                   \
    {                                                          \
        check_##id(TN_ADAPTIVE_EULER);                         \
        check_##id(TN_ADAPTIVE_MIDPOINT);                      \
    }                                                          \
    static void check_##id(tn_adaptive_integrator integrator)

static tn_vec3 velocity_of(const rig* r, tn_body_id body)
{
    return tn_state_velocity(r->state, body).linear;
}

static void near_vector(tn_vec3 a, tn_vec3 b, double tolerance, int line)
{
    test_check(tni_max_abs(tni_sub(a, b)) <= tolerance, __FILE__, line,
               "(%.17g, %.17g, %.17g), wanted (%.17g, %.17g, %.17g) +- %.3g", a.x, a.y, a.z, b.x,
               b.y, b.z, tolerance);
}
#define NEAR_VECTOR(a, b, tolerance) near_vector(a, b, tolerance, __LINE__)

static tn_spring_def spring_to(tn_body_id body, tn_vec3 from, tn_vec3 to, double k, double d,
                               double length)
{
    tn_spring_def def = tn_default_spring_def();
    def.body2         = body;
    def.anchor1 = from, def.anchor2 = to;
    def.stiffness = k, def.damping = d, def.length = length;
    return def;
}

// ---- One freedom --------------------------------------------------------------------------------

// m a = F - k (x + h v1) - d v1, v1 = v + h a
static double implicit_rate(double m, double F, double k, double d, double h, double x, double v)
{
    return (F - k * x - (h * k + d) * v) / (m + h * (h * k + d));
}

TEST_BOTH(a_slider_on_a_spring_is_linearly_implicit)
{
    const double m = 1.7, x = 0.3, v = -0.8;
    for (int n = 0; n < 4 * H_COUNT; ++n) {
        const double  h = hs[n % H_COUNT], k = n < 2 * H_COUNT ? 40 : 1e8, d = n / H_COUNT % 2 * 5;
        rig           r          = rig_make((tn_vec3){3, 0, -9.81});
        const tn_vec3 start      = {2 + x, 0, 0};
        const tn_body_id    body = rig_add_body(&r, m, (tn_vec3){1, 1, 1}, start);
        const tn_spring_def def  = spring_to(body, none, none, k, d, 2);
        const tn_joint_id   joint =
            rig_add_joint(&r, TN_JOINT_SLIDER, TNS_GROUND, body, start, along_x);
        CHECK(tn_scene_add_spring(r.scene, &def).bits != 0);
        ready(&r, integrator);
        CHECK_OK(tn_state_set_joints(r.state, zeros, &v, NULL));
        CHECK(rig_step(&r, h));
        const double a = implicit_rate(m, 3 * m, k, d, h, x, v);
        CHECK_NEAR(rig_rate(&r, joint), v + h * a, 1e-14 * (fabs(v) + h * fabs(a)));
        CHECK_NEAR(rig_angle(&r, joint), way(integrator, h, v, v + h * a),
                   1e-14 * (h * fabs(v) + h * h * fabs(a) + 2));
        rig_free(&r);
    }
}

// ---- A single body ------------------------------------------------------------------------------

typedef enum pull { BY_TARGET, BY_HANDLE, BY_DRAG, PULLS } pull;

// One body, pulled at its centre of mass with stiffness k and damping d, at x from its anchor,
// which moves at `far`.
static rig pulled_body(pull by, bool planar, double m, double k, double d, tn_vec3 x, tn_vec3 far,
                       tn_adaptive_integrator integrator, tn_body_id* body)
{
    rig            r     = rig_make(planar ? (tn_vec3){2, -9, 0} : (tn_vec3){2, -9, 4});
    tn_body_def    def   = rig_body(m, (tn_vec3){0.4, 0.4, 0.4}, (tn_vec3){0.5, 1.5, 0});
    const tn_frame there = {tni_sub(def.pose.position, x), {1, 0, 0, 0}};
    const tn_twist go    = {far, none};
    if (planar) def.kind = TN_BODY_PLANAR;
    *body = tn_scene_add_body(r.scene, &def);
    if (by == BY_TARGET) {
        const tn_key  key    = {0, there};
        tn_target_def target = tn_default_target_def();
        target.body = *body, target.keys = &key, target.key_count = 1;
        target.stiffness = k, target.damping = d;
        target.angular_stiffness = 3 * k, target.angular_damping = 2 * d;
        CHECK(tn_scene_add_target(r.scene, &target).bits != 0);
    }
    if (by == BY_DRAG) {
        tn_drag_def drag = tn_default_drag_def();
        drag.body = *body, drag.linear = d, drag.wind = far;
        CHECK(tn_scene_add_drag(r.scene, &drag).bits != 0);
    }
    ready(&r, integrator);
    if (by == BY_TARGET) CHECK_OK(tn_state_set_target(r.state, (tn_target_id){1}, &there, &go));
    if (by == BY_HANDLE) {
        CHECK_OK(tn_state_grab(r.state, 3, *body, none, k, d));
        CHECK_OK(tn_state_move(r.state, 3, there.position, far));
    }
    return r;
}

// With a moving anchor, x and v are relative to its position at the end: F = d far + k h far more.
TEST_BOTH(targets_handles_and_drag_are_linearly_implicit)
{
    const double m = 1.3;
    for (int n = 0; n < 4 * PULLS * H_COUNT; ++n) {
        const double  h      = hs[n % H_COUNT];
        const pull    by     = (pull)(n / H_COUNT % PULLS);
        const bool    planar = n / H_COUNT / PULLS % 2;
        const double  d = 7, k = by == BY_DRAG ? 0 : n / H_COUNT / PULLS < 2 ? 60 : 1e7;
        const tn_vec3 x = {0.3, -0.2, planar ? 0 : 0.5}, v = {-1, 0.6, planar ? 0 : 0.4},
                      far = {0.2, 0.7, planar ? 0 : -0.3};
        tn_body_id     body;
        rig            r    = pulled_body(by, planar, m, k, d, x, far, integrator, &body);
        const tn_vec3  g    = tn_scene_gravity(r.scene);
        const tn_twist u    = {v, none};
        const tn_vec3  from = tn_state_pose(r.state, body).position;
        CHECK_OK(tn_state_set_velocity(r.state, body, u));
        CHECK(rig_step(&r, h));
        const tn_vec3 w = tn_state_velocity(r.state, body).angular;
        double        to[3], at[3], size = 1;
        for (int i = 0; i < 3; ++i) {
            const double F = m * tni_at(g, i) + (h * k + d) * tni_at(far, i);
            const double a = implicit_rate(m, F, k, d, h, tni_at(x, i), tni_at(v, i));
            to[i]          = tni_at(v, i) + h * a;
            at[i]          = tni_at(from, i) + way(integrator, h, tni_at(v, i), to[i]);
            size           = fmax(size, fabs(h * a));
        }
        NEAR_VECTOR(velocity_of(&r, body), tni_read3(to), 1e-14 * size);
        NEAR_VECTOR(tn_state_pose(r.state, body).position, tni_read3(at), 1e-14 * (2 + h * size));
        NEAR_VECTOR(w, none, 1e-14);
        tn_state_release(r.state, 3);
        if (by == BY_HANDLE) { // released, it falls
            CHECK(rig_step(&r, h));
            NEAR_VECTOR(velocity_of(&r, body), tni_add_scaled(tni_read3(to), h, g),
                        1e-14 * (size + 10 * h));
        }
        rig_free(&r);
    }
}

// About the axis of the remaining rotation, a rotation-vector spring is a scalar one.
TEST_BOTH(a_target_turns_a_body_linearly_implicitly)
{
    const double  I = 0.4, angle = 0.9, speed = 1.4;
    const tn_vec3 axis = tni_normalised((tn_vec3){1, -2, 2});
    for (int n = 0; n < 2 * H_COUNT; ++n) {
        const double  h = hs[n % H_COUNT], k = n < H_COUNT ? 20 : 1e6, d = 1.5;
        const tn_key  key    = {0, {none, {1, 0, 0, 0}}};
        rig           r      = rig_make(none);
        tn_body_def   def    = rig_body(2, (tn_vec3){I, I, I}, none);
        tn_target_def target = tn_default_target_def();
        target.body          = tn_scene_add_body(r.scene, &def);
        target.keys = &key, target.key_count = 1;
        target.angular_stiffness = k, target.angular_damping = d;
        CHECK(tn_scene_add_target(r.scene, &target).bits != 0);
        ready(&r, integrator);
        const tn_frame pose = {none, tni_quat_exp(tni_scale(angle, axis))};
        const tn_twist u    = {none, tni_scale(speed, axis)};
        CHECK_OK(tn_state_set_pose(r.state, target.body, pose));
        CHECK_OK(tn_state_set_velocity(r.state, target.body, u));
        CHECK(rig_step(&r, h));
        const double a = implicit_rate(I, 0, k, d, h, angle, speed), w = speed + h * a;
        NEAR_VECTOR(tn_state_velocity(r.state, target.body).angular, tni_scale(w, axis),
                    1e-14 * (speed + h * fabs(a)));
        rig_free(&r);
    }
}

// ---- A hinge ------------------------------------------------------------------------------------

// A body on a hinge about z through the origin, optionally with another one welded to it, with a
// spring to a point.
typedef struct crank {
    bool    planar, carries;
    double  m[2], I;  // I: of each about its centre of mass
    tn_vec3 c[2];     // centres of mass
    tn_vec3 far, arm; // ends of the spring: in the world, and on the last body
    double  k, d, length;
} crank;

static rig crank_make(const crank* w, tn_vec3 gravity, tn_adaptive_integrator integrator,
                      tn_joint_id* hinge)
{
    const tn_vec3 z    = {0, 0, 1};
    rig           r    = rig_make(gravity);
    tn_body_id    last = {0};
    for (int i = 0; i <= w->carries; ++i) {
        tn_body_def def = rig_body(w->m[i], (tn_vec3){w->I, w->I, w->I}, w->c[i]);
        if (w->planar) def.kind = TN_BODY_PLANAR;
        const tn_body_id  body  = tn_scene_add_body(r.scene, &def);
        const tn_joint_id joint = rig_add_joint(&r, i == 0 ? TN_JOINT_HINGE : TN_JOINT_WELD, last,
                                                body, i == 0 ? none : w->c[1], z);
        if (i == 0) *hinge = joint;
        last = body;
    }
    const tn_spring_def def = spring_to(last, w->far, w->arm, w->k, w->d, w->length);
    CHECK(tn_scene_add_spring(r.scene, &def).bits != 0);
    ready(&r, integrator);
    return r;
}

// C x, C = h K + D of the spring: see force/spring.c.
static tn_vec3 resists(const crank* w, tn_vec3 n, double length, double h, tn_vec3 x)
{
    const double across = fmax(0, w->k * (length - w->length) / length), on = tni_dot(n, x);
    return tni_add_scaled(tni_scale(h * across, x), (h * (w->k - across) + w->d) * on, n);
}

// e: rate of the spring's point for unit angular velocity; the body's centre of mass also
// accelerates inwards.
static double crank_rate(const crank* w, tn_vec3 gravity, double h, double speed)
{
    const tn_vec3 z = {0, 0, 1}, c = w->c[w->carries], r = tni_add(c, w->arm);
    const tn_vec3 e = tni_cross(z, r), D = tni_sub(r, w->far), n = tni_normalised(D);
    const tn_vec3 inward = tni_scale(speed * speed, tni_cross(z, tni_cross(z, c)));
    const double  length = tni_norm(D);
    const tn_vec3 f      = tni_add_scaled(tni_scale(-w->k * (length - w->length), n), -1,
                                          resists(w, n, length, h, tni_scale(speed, e)));
    double        torque = tni_dot(e, f) - h * tni_dot(e, resists(w, n, length, h, inward)), I = 0;
    for (int i = 0; i <= w->carries; ++i) {
        torque += w->m[i] * tni_dot(z, tni_cross(w->c[i], gravity));
        I += w->I + w->m[i] * (w->c[i].x * w->c[i].x + w->c[i].y * w->c[i].y);
    }
    return torque / (I + h * tni_dot(e, resists(w, n, length, h, e)));
}

static crank random_crank(test_random* r, bool planar, bool carries, double k)
{
    crank w = {.planar  = planar,
               .carries = carries,
               .m       = {test_random_between(r, 1, 3), test_random_between(r, 1, 3)},
               .I       = 0.3,
               .c       = {random_vec3(r, 1), random_vec3(r, 1)},
               .far     = random_vec3(r, 2),
               .arm     = random_vec3(r, 1),
               .k       = k,
               .d       = test_random_between(r, 0, 0.1 * k),
               .length  = test_random_between(r, 0.1, 1.5)};
    if (planar) w.c[0].z = w.c[1].z = w.far.z = w.arm.z = 0;
    return w;
}

TEST(a_hinge_in_a_spring_is_linearly_implicit)
{
    test_random r = {1};
    for (int n = 0; n < 8 * H_COUNT; ++n) {
        const double  h = hs[n % H_COUNT], speed = test_random_between(&r, -2, 2);
        const tn_vec3 gravity = {1, -9, 0};
        const crank   w =
            random_crank(&r, n / H_COUNT % 2, n / H_COUNT / 2 % 2, n < 4 * H_COUNT ? 30 : 1e6);
        tn_joint_id  hinge;
        const double v[2] = {speed, 0};
        rig          g    = crank_make(&w, gravity, TN_ADAPTIVE_EULER, &hinge);
        CHECK_OK(tn_state_set_joints(g.state, zeros, v, NULL));
        CHECK(rig_step(&g, h));
        const double a = crank_rate(&w, gravity, h, speed);
        CHECK_NEAR(rig_rate(&g, hinge), speed + h * a, 3e-14 * (fabs(speed) + h * fabs(a)));
        rig_free(&g);
    }
}

// ---- At rest ------------------------------------------------------------------------------------

TEST_BOTH(what_hangs_in_its_equilibrium_stays)
{
    static const double ks[] = {10, 1e4, 1e8, 1e12};
    const double        m    = 2;
    for (int n = 0; n < 3 * 4 * H_COUNT; ++n) {
        const double     h = hs[n % H_COUNT], k = ks[n / H_COUNT % 4], sag = 9.81 * m / k;
        const int        by   = n / H_COUNT / 4;
        const tn_vec3    from = {1, 2, 3};
        rig              r    = rig_make(down);
        const tn_body_id body = rig_add_body(&r, m, (tn_vec3){0.2, 0.3, 0.4}, from);
        if (by == 0) {
            const tn_spring_def def = spring_to(body, (tn_vec3){1, 2, 5}, none, k, 0, 2 - sag);
            CHECK(tn_scene_add_spring(r.scene, &def).bits != 0);
        }
        const tn_key  key    = {0, {{1, 2, 3 + sag}, {1, 0, 0, 0}}};
        tn_target_def target = tn_default_target_def();
        target.body = body, target.keys = &key, target.key_count = 1, target.stiffness = k;
        if (by == 1) CHECK(tn_scene_add_target(r.scene, &target).bits != 0);
        ready(&r, integrator);
        if (by == 2) {
            CHECK_OK(tn_state_grab(r.state, 0, body, none, k, 0));
            CHECK_OK(tn_state_move(r.state, 0, key.pose.position, none));
        }
        rig_run(&r, h, 20);
        // The start has rounding errors, which a soft spring amplifies.
        NEAR_VECTOR(tn_state_pose(r.state, body).position, from, 1e-12);
        rig_free(&r);
    }
}

// A crank held by a spring against gravity: its torque is that of the tension.
TEST_BOTH(a_crank_rests_against_its_spring)
{
    test_random r     = {2};
    int         cases = 0;
    for (int n = 0; n < 24 * H_COUNT; ++n) {
        const double  h       = hs[n % H_COUNT];
        const tn_vec3 gravity = {0, -9.81, 0}, z = {0, 0, 1};
        crank         w = random_crank(&r, n / H_COUNT % 2, n / H_COUNT / 2 % 2, n % 3 ? 1e4 : 1e9);
        const tn_vec3 at = tni_add(w.c[w.carries], w.arm), D = tni_sub(at, w.far);
        const double  lever  = tni_dot(tni_cross(z, at), tni_normalised(D));
        double        torque = 0;
        for (int i = 0; i <= w.carries; ++i)
            torque += w.m[i] * tni_dot(z, tni_cross(w.c[i], gravity));
        const double tension = torque / lever;
        w.length             = tni_norm(D) - tension / w.k;
        if (!(tension > 0 && tension < 100)) continue; // not through the axis
        tn_joint_id hinge;
        rig         g = crank_make(&w, gravity, integrator, &hinge);
        rig_run(&g, h, 20);
        CHECK_NEAR(rig_angle(&g, hinge), 0, 1e-12);
        rig_free(&g);
        ++cases;
    }
    CHECK(cases > 20);
}

// ---- Some joints held ---------------------------------------------------------------------------

// One step of a random scene with half of its joints held, against welds in their place: velocities
// of bodies.
TEST_BOTH(held_joints_are_welds_in_stiff_steps)
{
    const bool euler =
        integrator == TN_ADAPTIVE_EULER; // the midpoint rule is iterated: wider tolerance
    double worst = 0;
    for (uint64_t seed = 1; seed <= 60; ++seed) {
        test_random          r        = {seed};
        random_mechanism*    m        = adaptive_scene(&r, 12, 3, ADAPTIVE_ALL);
        tn_adaptive_settings settings = adaptive_settings();
        const double         h        = random_log_uniform(&r, 1e-3, euler ? 1 : 0.03);
        settings.active               = 1;
        settings.integrator           = integrator;
        adaptive_rig* g               = adaptive_rig_make(m->model, &settings);
        adaptive_disturb(g, m, &r, 0.3, 1);
        adaptive_hold(g, m, &r, 0.5, 1);
        m->state->reduced.kept = true; // no choice in this step
        random_mechanism* w    = adaptive_welded(g, m);
        settings.active        = 0;
        adaptive_rig* all      = adaptive_rig_make(w->model, &settings);
        double        size = 1, error = 0;
        CHECK(adaptive_step(g, m->state, h) && adaptive_step(all, w->state, h));
        adaptive_keep(g, m->state);
        adaptive_keep(all, w->state);
        for (int i = 0; i < m->model->u_count; ++i) {
            size  = fmax(size, fabs(w->state->u[i]));
            error = fmax(error, fabs(m->state->u[i] - w->state->u[i]));
        }
        worst = fmax(worst, error / size);
        adaptive_rig_free(g), adaptive_rig_free(all);
        random_mechanism_free(m), random_mechanism_free(w);
    }
    CHECK_LESS(worst, 1e-12);
}

// ---- Between two links --------------------------------------------------------------------------

// Two balls on a spring stretched by x. The spring is explicit and internal, so momentum is kept at
// any stiffness; stable while h^2 k (1/m1 + 1/m2) < 4 without damper, like semi-implicit Euler. The
// midpoint rule uses forces of the start, too: without damper the amplitude grows by h k (1/m1 +
// 1/m2)/4 per second.
static rig pair_make(double m1, double m2, double k, double d, double x,
                     tn_adaptive_integrator integrator, tn_body_id* body)
{
    rig r             = rig_make(down);
    body[0]           = rig_add_body(&r, m1, (tn_vec3){1, 1, 1}, none);
    body[1]           = rig_add_body(&r, m2, (tn_vec3){1, 1, 1}, (tn_vec3){1 + x, 0, 0});
    tn_spring_def def = spring_to(body[1], none, none, k, d, 1);
    def.body1         = body[0];
    CHECK(tn_scene_add_spring(r.scene, &def).bits != 0);
    ready(&r, integrator);
    return r;
}

TEST_BOTH(a_spring_between_two_bodies_keeps_their_momentum)
{
    for (double k = 1; k <= (integrator == TN_ADAPTIVE_EULER ? 1e4 : 100); k *= 100) {
        const double h = 0.01, m1 = 1, m2 = 5, d = 8, x = 0.1;
        tn_body_id   body[2];
        rig          r    = pair_make(m1, m2, k, d, x, integrator, body);
        double       most = 0;
        for (int n = 0; n < 300; ++n) {
            rig_step(&r, h);
            const tn_momentum p = tn_state_momentum(r.state);
            NEAR_VECTOR(p.linear, tni_vec3(0, 0, -9.81 * (m1 + m2) * h * (n + 1)), 1e-11);
            most = fmax(most, fabs(rig_distance(tn_state_pose(r.state, body[0]).position,
                                                tn_state_pose(r.state, body[1]).position) -
                                   1));
        }
        CHECK_LESS(most, 1.5 * x); // h^2 k (1/m1 + 1/m2) = 1.2 at most
        CHECK(most > 0.5 * x);
        rig_free(&r);
    }
}

// ---- Order --------------------------------------------------------------------------------------

static double pair_distance(tn_method method, tn_adaptive_integrator integrator, double h,
                            int steps)
{
    tn_body_id body[2];
    rig        r      = pair_make(1, 3, 200, 2, 0.2, integrator, body);
    r.settings.method = method;
    rig_restart(&r);
    rig_run(&r, h, steps);
    const double d = rig_distance(tn_state_pose(r.state, body[0]).position,
                                  tn_state_pose(r.state, body[1]).position);
    rig_free(&r);
    return d;
}

static double crank_angle(tn_method method, tn_adaptive_integrator integrator, double h, int steps)
{
    test_random r = {3};
    const crank w = random_crank(&r, false, true, 400);
    tn_joint_id hinge;
    rig         g     = crank_make(&w, (tn_vec3){1, -9, 0}, integrator, &hinge);
    g.settings.method = method;
    rig_restart(&g);
    rig_run(&g, h, steps);
    const double angle = rig_angle(&g, hinge);
    rig_free(&g);
    return angle;
}

TEST_BOTH(stiff_forces_are_of_first_order)
{
    const double exact[2]  = {pair_distance(TN_METHOD_MULTIPLIER, integrator, 1e-3, 250),
                              crank_angle(TN_METHOD_MULTIPLIER, integrator, 1e-3, 250)},
                 coarse[2] = {pair_distance(TN_METHOD_ADAPTIVE, integrator, 1e-4, 2500),
                              crank_angle(TN_METHOD_ADAPTIVE, integrator, 1e-4, 2500)},
                 fine[2]   = {pair_distance(TN_METHOD_ADAPTIVE, integrator, 5e-5, 5000),
                              crank_angle(TN_METHOD_ADAPTIVE, integrator, 5e-5, 5000)};
    for (int i = 0; i < 2; ++i) {
        CHECK_NEAR(rig_order(fabs(coarse[i] - exact[i]), fabs(fine[i] - exact[i])), 1, 0.05);
        CHECK_LESS(fabs(coarse[i] - exact[i]), 1e-2);
    }
}

// ---- Characters ---------------------------------------------------------------------------------

// Targets move a hand and a robot, by the adaptive and by the implicit method: largest distance
// between bodies, and difference of energies relative to the energy moved and dissipated.
typedef struct apart {
    double place, way, energy, change;
} apart;

static apart compare(const char* spec, tn_adaptive_integrator integrator, double h, double duration)
{
    rig   one = rig_builtin(spec), two = rig_builtin(spec);
    apart a             = {0, 0, 0, 0};
    one.settings.method = TN_METHOD_ADAPTIVE, two.settings.method = TN_METHOD_IMPLICIT;
    one.settings.adaptive            = adaptive_settings();
    one.settings.adaptive.integrator = integrator;
    rig_restart(&one), rig_restart(&two);
    const double start = rig_energy(&two);
    tn_state*    from  = adaptive_copy(two.state);
    for (int n = 0; n < (int)(duration / h + 0.5); ++n) {
        if (!rig_step(&one, h) || !rig_step(&two, h)) break;
        for (int i = 1; i <= tn_scene_body_count(one.scene); ++i) {
            const tn_body_id body = {(uint32_t)i};
            const tn_vec3    p    = tn_state_pose(one.state, body).position,
                          q       = tn_state_pose(two.state, body).position;
            a.place               = fmax(a.place, rig_distance(p, q));
            a.way = fmax(a.way, rig_distance(q, tn_state_pose(from, body).position));
        }
        a.energy = fmax(a.energy, fabs(rig_energy(&one) - rig_energy(&two)));
        a.change = fmax(a.change, fabs(rig_energy(&two) - start));
    }
    tn_state_free(from);
    rig_free(&one), rig_free(&two);
    return a;
}
TEST_BOTH(characters_move_as_by_the_implicit_method)
{
    static const char* const specs[] = {"@hand", "@robot"};
    for (int i = 0; i < 2; ++i) { // both of first order: 1 %
        const apart a = compare(specs[i], integrator, 1.0 / 60, 0.5),
                    b = compare(specs[i], integrator, 1.0 / 240, 0.5);
        CHECK_LESS(a.place, (integrator == TN_ADAPTIVE_EULER ? 0.015 : 0.06) * a.way);
        CHECK_LESS(a.energy, (integrator == TN_ADAPTIVE_EULER ? 0.03 : 0.12) * a.change);
        CHECK_LESS(b.place, 0.4 * a.place);
        CHECK(a.way > 0.02);
    }
}

// ---- Few joints ---------------------------------------------------------------------------------

// A chain whose tip is held by a spring, with all or few joints active, falling from rest: it can
// gain at most 12 kg times g times a few metres. Within a step a joint rotates by h w; a very stiff
// spring removes the tip's deviation from its tangent in one step, so h w must be small for those;
// at 1/60 s and 1e7 N/m it is not. The midpoint rule is iterated and has narrower bounds.
static double chain_kinetic(tn_adaptive_integrator integrator, double k, int active, double h,
                            int steps)
{
    rig        r    = rig_make(down);
    tn_body_id last = {0};
    double     most = 0;
    for (int i = 0; i < 12; ++i) {
        const tn_vec3    at = {i + 0.5, 0, 0}, from = {i, 0, 0};
        const tn_body_id body = rig_add_body(&r, 1, (tn_vec3){0.1, 0.1, 0.1}, at);
        rig_add_joint(&r, TN_JOINT_HINGE, last, body, from, (tn_vec3){0, 1, 0});
        last = body;
    }
    const tn_spring_def def =
        spring_to(last, (tn_vec3){13, 0, 1}, (tn_vec3){0.5, 0, 0}, k, 0, sqrt(2));
    CHECK(tn_scene_add_spring(r.scene, &def).bits != 0);
    r.settings.adaptive.active = active, r.settings.adaptive.period = 5;
    ready(&r, integrator);
    for (int n = 0; n < steps && rig_step(&r, h); ++n)
        most = fmax(most, tn_state_energy(r.state).kinetic);
    rig_free(&r);
    return most;
}

TEST_BOTH(a_chain_in_a_stiff_spring_stays_calm)
{
    const bool          euler    = integrator == TN_ADAPTIVE_EULER;
    static const double ks[]     = {100, 1e4, 1e7, 1e12};
    static const int    active[] = {0, 1, 4};
    for (int n = 0; n < 12; ++n) {
        if (euler || n < 9)
            CHECK_LESS(chain_kinetic(integrator, ks[n / 3], active[n % 3], 1.0 / 240, 1000), 200);
        if (euler && n < 6)
            CHECK_LESS(chain_kinetic(integrator, ks[n / 3], active[n % 3], 1.0 / 60, 600), 200);
    }
}
