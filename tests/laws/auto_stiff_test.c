// The default method where things are stiff: springs, dampers and loads of any strength at 1/60 s,
// without a setting, against closed forms, statics and the conservation of energy.
#include "support/auto_rig.h"
#include "support/contact_rig.h"
#include "support/impulse_rig.h"

static tn_joint_id add_hinge(rig* r, tn_body_id body, tn_vec3 axis, double stiffness,
                             double damping, double torque)
{
    tn_joint_def def = tn_default_joint_def(TN_JOINT_HINGE);
    def.body2        = body;
    def.axis         = axis;
    def.stiffness    = stiffness;
    def.damping      = damping;
    def.force[0]     = torque;
    return tn_scene_add_joint(r->scene, &def);
}

// ---- Dampers and springs ---------------------------------------------------------------------------

// 1 N m against a damper d on the inertia I: w d = 1 - exp(-d t / I). Never more, never back; where
// the damper is stiff, from the first step on.
static void check_damper(double I, double d)
{
    rig              r    = auto_make(tns_vec(0, 0, 0));
    const tn_body_id body = rig_add_body(&r, 1, tns_vec(I, I, I), tns_vec(0, 0, 0));
    add_hinge(&r, body, tns_vec(0, 0, 1), 0, d, 1);
    rig_ready(&r);
    double before = 0;
    for (int i = 1; i <= 60 && rig_step(&r, auto_h); ++i) {
        const double t = i * auto_h, w = tn_state_velocities(r.state)[5];
        const double exact = -expm1(-d * t / I) / d, y = auto_h * d / I;
        // One step is exact to y^2 / 24 of its change; 2 % is the most, near y = 2.
        CHECK_NEAR(w, exact,
                   fmin(0.1 * y * y, y > 100 ? 1e-6 : 0.025) * fmin(t / I, 1 / d) + 1e-14 * w);
        CHECK(w >= before - 1e-14 * w);
        CHECK(w * d < 1 + 1e-14);
        before = w;
    }
    if (d / I > 40) CHECK_NEAR(before * d, 1, 1e-12);
    rig_free(&r);
}

TEST(a_damper_of_any_strength_balances_its_torque)
{
    check_damper(1e-3, 10);
    for (double I = 1e-6; I < 2e3; I *= 1e3)
        for (double d = 1e-4; d < 2e8; d *= 100) check_damper(I, d);
}

// Kicked from rest with the speed that takes it to 0.3 rad. Without damping the energy of a step
// like Verlet's is that at the start times 1 / (1 - z / 4), z = h^2 k / I, at most, again and again;
// where z is large it comes to rest at once.
static void check_spring(double I, double k)
{
    rig              r    = auto_make(tns_vec(0, 0, 0));
    const tn_body_id body = rig_add_body(&r, 1, tns_vec(I, I, I), tns_vec(0, 0, 0));
    const double     z    = auto_h * auto_h * k / I;
    add_hinge(&r, body, tns_vec(0, 0, 1), k, 0, 0);
    rig_ready(&r);
    const tn_twist kick = {{0, 0, 0}, {0, 0, 0.3 * sqrt(k / I)}};
    CHECK_OK(tn_state_set_velocity(r.state, body, kick));
    const double E = rig_energy(&r), most = 1 + fmin(1.001 * z / fmax(4 - z, 1e-9), 0.5);
    double       highest[2] = {0, 0}; // of the first and of the last two seconds
    for (int i = 0; i < 240 && rig_step(&r, auto_h); ++i) {
        CHECK_LESS(rig_energy(&r), E * most + 1e-300);
        highest[i / 120] = fmax(highest[i / 120], rig_energy(&r));
    }
    if (z < 0.3) CHECK_NEAR(highest[1], highest[0], 3e-3 * E);
    rig_free(&r);
}

TEST(an_undamped_spring_gains_no_energy)
{
    for (double I = 1e-6; I < 2e3; I *= 1e3)
        for (double k = 1e-2; k < 2e10 && k / I < 1e8; k *= 10)
            check_spring(I, k); // it is not faster than 3e3 rad/s
}

// Let go 0.3 rad away from where spring and torque balance: it is there in the end, and at once
// where it is stiff; from critical damping on hardly passing it. Energy falls in every step.
static void check_settling(double I, double k, double ratio)
{
    const double     d = 2 * ratio * sqrt(k * I), rest = 0.3;
    rig              r    = auto_make(tns_vec(0, 0, 0));
    const tn_body_id body = rig_add_body(&r, 1, tns_vec(I, I, I), tns_vec(0, 0, 0));
    tn_joint_def     def  = tn_default_joint_def(TN_JOINT_HINGE);
    def.body2 = body, def.stiffness = k, def.damping = d;
    def.rest[0] = 0.2, def.force[0] = 0.1 * k;
    const tn_joint_id hinge = tn_scene_add_joint(r.scene, &def);
    rig_ready(&r);
    const double w = sqrt(k / I), z = auto_h * w;
    double       before = HUGE_VAL, q = 0;
    for (int i = 0; i < 240 && rig_step(&r, auto_h); ++i) {
        q              = rig_angle(&r, hinge);
        const double u = rig_rate(&r, hinge),
                     E = 0.5 * I * u * u + 0.5 * k * (q - rest) * (q - rest);
        CHECK_LESS(E, before * (1 + 1e-9) + 1e-20 * k);
        if (ratio >= 1) CHECK_LESS(q, rest + (ratio > 1 ? 1e-9 : 0.02 * rest)); // 1.1 % is the most
        if (z > 20 && z * 0.1 > ratio && i > 10) CHECK_NEAR(q, rest, 1e-9);
        before = E;
    }
    // The slower of the two rates is ratio - sqrt(ratio^2 - 1), or ratio.
    const double slow = ratio > 1 ? ratio - sqrt(ratio * ratio - 1) : ratio;
    if (slow * w * 4 > 35) CHECK_NEAR(q, rest, 1e-9);
    rig_free(&r);
}

TEST(damped_springs_settle_where_they_must_and_lose_energy_in_every_step)
{
    static const double ratios[] = {0.3, 1, 10};
    for (int i = 0; i < 3; ++i)
        for (double I = 1e-6; I < 2e3; I *= 1e3)
            for (double k = 1e-2; k < 2e10; k *= 10) check_settling(I, k, ratios[i]);
}

// A mass of 1 kg on a spring of 1 m falls from the horizontal. Energy stays within (h w)^2 / 24-like bounds of
// Verlet's, the same for all stiffnesses, and the error of where it is falls with h^2.
TEST(a_spring_pendulum_keeps_its_energy_at_any_stiffness)
{
    for (double k = 10; k < 1e11; k *= 1e3) {
        rig         r   = auto_make(tns_vec(0, 0, -rig_g));
        tn_body_def def = tn_default_body_def();
        def.kind = TN_BODY_PARTICLE, def.mass = 1, def.pose.position = tns_vec(1, 0, 0);
        tn_spring_def spring = tn_default_spring_def();
        spring.body2         = tn_scene_add_body(r.scene, &def);
        spring.stiffness = k, spring.length = 1;
        CHECK(tn_scene_add_spring(r.scene, &spring).bits != 0);
        rig_ready(&r);
        const double start = rig_energy(&r);
        for (int i = 0; i < 300 && rig_step(&r, auto_h); ++i) {
            CHECK_LESS(fabs(rig_energy(&r) - start), 2e-3 * rig_g);
            CHECK_INT(r.report.substep_count, 1);
        }
        rig_free(&r);
    }
}

// Where a damped, stiff spring pendulum is after half a second.
static tn_vec3 swing(int steps)
{
    rig         r   = auto_make(tns_vec(0, 0, -rig_g));
    tn_body_def def = tn_default_body_def();
    def.kind = TN_BODY_PARTICLE, def.mass = 1, def.pose.position = tns_vec(1, 0, 0);
    tn_spring_def spring = tn_default_spring_def();
    spring.body2         = tn_scene_add_body(r.scene, &def);
    spring.stiffness = 2e3, spring.damping = 5, spring.length = 1;
    CHECK(tn_scene_add_spring(r.scene, &spring).bits != 0);
    rig_ready(&r);
    rig_run(&r, 0.5 / steps, steps);
    const double* q  = tn_state_coordinates(r.state);
    const tn_vec3 at = tns_vec(q[0], q[1], q[2]);
    rig_free(&r);
    return at;
}

TEST(the_step_is_of_second_order_where_springs_are_stiff)
{
    const tn_vec3 exact     = swing(7680);
    const double  errors[3] = {rig_distance(swing(30), exact), rig_distance(swing(60), exact),
                               rig_distance(swing(120), exact)};
    CHECK_LESS(errors[0], 5e-3);
    CHECK_NEAR(log2(errors[0] / errors[1]), 2, 0.3);
    CHECK_NEAR(log2(errors[1] / errors[2]), 2, 0.3);
}

// One rod, spring and damper at its hinge: k q = m g l cos q, at rest.
TEST(a_stiff_spring_sags_as_statics_says)
{
    for (double k = 100; k < 2e10; k *= 100) {
        for (double d = 1e-3; d < 2; d *= 10) {
            rig              r = auto_make(tns_vec(0, 0, -rig_g));
            const tn_body_id body =
                rig_add_body(&r, 1, tns_vec(0.01, 0.01, 0.01), tns_vec(0.5, 0, 0));
            const tn_joint_id hinge = add_hinge(&r, body, tns_vec(0, 1, 0), k, d * k, 0);
            rig_ready(&r);
            const double rate = fmin(1 / d, 0.5 * d * k / 0.26); // with which it settles
            rig_run(&r, auto_h, (int)(40 / (rate * auto_h)) + 10);
            const double q = rig_angle(&r, hinge);
            CHECK_NEAR(k * q, 0.5 * rig_g * cos(q), 1e-8 + 2e-15 * k); // rounding of q
            CHECK_LESS(fabs(tn_state_velocities(r.state)[4]), 1e-12);
            rig_free(&r);
        }
    }
}

// Ten rods in a line, let go from the horizontal. Energy is never above that at the start; with
// dampers it falls in every step. Where it is stiff, the first joint carries m g l n^2 / 2.
static void check_chain(bool balls, double k, double d)
{
    char spec[100];
    snprintf(spec, sizeof spec, "chain:n=10,joint=%s,stiffness=%g,damping=%g",
             balls ? "ball" : "hinge", k, d);
    rig          r     = auto_builtin(spec);
    const double start = rig_energy(&r), swing = 10 * 0.1 * rig_g * 0.5;
    rig_fall     fall = rig_fall_begin(&r);
    for (int i = 0; i < 100 && rig_step(&r, auto_h); ++i) {
        rig_fall_note(&r, &fall);
        CHECK_LESS(rig_energy(&r), start + 1e-12 * swing);
        CHECK_INT(r.report.unclosed_count, 0);
    }
    if (d > 0) CHECK_LESS(fall.growth, 1e-5 * swing);
    CHECK_LESS(r.joint_error, 1.001e-9);
    if (d > 0 && k > 5e4 && !balls) // the rest of the motion falls with exp(-k/d t)
        CHECK_NEAR(k * rig_angle(&r, tn_model_find_joint(r.model, "j1")), 0.1 * rig_g * 5, 1e-6);
    rig_free(&r);
}

TEST(a_chain_with_joints_of_any_stiffness_gains_no_energy)
{
    for (int balls = 0; balls < 2; ++balls) {
        check_chain(balls, 0, 0);
        for (double k = 0.1; k < 2e9; k *= 100) {
            const double stiffness = k > 5e8 ? 1e9 : k; // the most that the scene takes
            check_chain(balls, stiffness, 0);
            check_chain(balls, stiffness, 0.1 * stiffness);
        }
    }
}

// Where nothing is stiff it is the step of the impulse method, but for what its solves are accurate to.
TEST(without_springs_it_is_the_same_step)
{
    const char* scenes[] = {"fourbar", "peaucellier", "bricard", "slider_crank"};
    for (int i = 0; i < 4; ++i) {
        rig a = auto_builtin(scenes[i]), b = impulse_builtin(scenes[i], 1e-9);
        rig_run(&a, auto_h, 30);
        rig_run(&b, auto_h, 30);
        const impulse_apart apart = impulse_difference(a.state, b.state);
        CHECK_LESS(apart.q, 1e-7);
        CHECK_LESS(apart.u, 1e-6);
        rig_free(&a);
        rig_free(&b);
    }
}

TEST(redundant_loops_close_without_substeps)
{
    rig r = auto_builtin("octahedron_cube:n=2");
    rig_run(&r, auto_h, 30);
    CHECK_LESS(r.joint_error, 1e-9);
    CHECK_INT(r.report.substep_count, 1);
    rig_free(&r);
}

// ---- Heavy loads -----------------------------------------------------------------------------------

static const double load_mass = 7500, load_arm = 0.5; ///< arm: from the last joint to its middle

// A horizontal chain of 5 m, links of 0.5 kg, between the ground and 7.5 t; folded: the links lie
// over each other until the load has fallen.
static rig make_load(int links, bool folded)
{
    rig          r      = auto_make(tns_vec(0, 0, -rig_g));
    tn_body_id   last   = {0};
    const double length = 5.0 / links, I = 0.5 * length * length / 12, J = 0.1 * load_mass;
    double       x = 0;
    for (int i = 0; i <= links; ++i) {
        const double  way  = folded && i % 2 == 1 ? -1 : 1;
        const bool    load = i == links;
        tn_joint_def  def  = tn_default_joint_def(TN_JOINT_BALL);
        const tn_vec3 at = load ? tns_vec(x, 0, -load_arm) : tns_vec(x + 0.5 * way * length, 0, 0);
        const tn_vec3 turn    = load ? tns_vec(J, J, J) : tns_vec(0.01 * I, I, I);
        const tn_body_id body = rig_add_body(&r, load ? load_mass : 0.5, turn, at);
        def.body1 = last, def.body2 = body, def.anchor = tns_vec(x, 0, 0);
        CHECK(tn_scene_add_joint(r.scene, &def).bits != 0);
        last = body, x += way * length;
    }
    rig_ready(&r);
    return r;
}

// The swing of the load on 20 links. Energy never rises; what is lost is too much yet (4.9 % of the
// fall, where 1e-4 to 9e-3 was aimed at), and falls with h.
static double swing_loss(int finer)
{
    rig          r       = make_load(20, false);
    rig_fall     fall    = rig_fall_begin(&r);
    const double E       = rig_energy(&r);
    double       kinetic = 0;
    for (int i = 0; i < 120 * finer && rig_step(&r, auto_h / finer); ++i) {
        rig_fall_note(&r, &fall);
        kinetic = fmax(kinetic, tn_state_energy(r.state).kinetic);
        CHECK_INT(r.report.unclosed_count, 0);
    }
    CHECK_LESS(fall.growth, 1e-8 * kinetic);
    CHECK_LESS(r.joint_error, 1.001e-9);
    CHECK_NEAR(kinetic, load_mass * rig_g * 5, 0.07 * load_mass * rig_g * 5);
    const double loss = (E - rig_energy(&r)) / kinetic;
    rig_free(&r);
    return loss;
}

TEST(a_heavy_load_swings_on_a_light_chain)
{
    const double coarse = swing_loss(1), fine = swing_loss(4);
    CHECK_LESS(coarse, 0.055);
    CHECK_LESS(fine, 0.3 * coarse);
}

// A chain of balls hangs over a round bar, which is slippery, a load of 100 kg at each end, and slides: what hangs over
// on one side, 1 kg to the metre, pulls, and the speed is v cosh(k t), k^2 = 2 lambda g / M. Tension holds its links
// straight, but not still: they turn with the bar's normals.
TEST(a_tense_chain_slides_over_a_round_bar)
{
    enum { ROUND = 13, SIDE = 13, LINKS = ROUND + 2 * SIDE };
    const double pi = acos(-1.0), pitch = 0.05, ball = 0.01, mass = 0.05, load = 100, speed = 1,
                 circle = pitch / (2 * sin(pi / (2 * ROUND)));
    rig          r      = auto_make(tns_vec(0, 0, -rig_g));
    tn_vec3      pin[LINKS + 1];
    tn_body_id   last = {0}, first = {0};
    tn_shape_def bar = tn_default_shape_def(TN_SHAPE_CYLINDER);
    bar.radius       = circle - ball;
    bar.half_length  = 0.05;
    bar.friction     = 0;
    tns_fixed(r.scene, "bar", (tn_frame){tns_vec(0, 0, 0), tns_turn_about(TNS_X, 0.25)}, bar);
    for (int i = 0; i <= LINKS; ++i) {
        const int    before = SIDE - i, after = i - SIDE - ROUND;
        const double angle = pi * (i - SIDE) / ROUND;
        pin[i]             = before > 0  ? tns_vec(-circle, 0, -pitch * before)
                             : after > 0 ? tns_vec(circle, 0, -pitch * after)
                                         : tns_vec(-circle * cos(angle), 0, circle * sin(angle));
    }
    for (int i = -1; i <= LINKS; ++i) {
        const bool    end  = i < 0 || i == LINKS;
        const int     from = i < 0 ? 0 : i == LINKS ? LINKS - 1 : i;
        const tn_vec3 way = tns_sub(pin[from + 1], pin[from]), tip = i < 0 ? pin[0] : pin[LINKS],
                      at     = end ? tns_add(tip, tns_vec(0, 0, -0.05))
                                   : tns_add(pin[from], tns_scale(0.5, way));
        const double I       = end ? 0.1 * 0.1 * load / 6 : mass * pitch * pitch / 12;
        tn_body_def  def     = rig_body(end ? load : mass, tns_vec(I, I, I), at);
        tn_shape_def sphere  = rig_sphere(ball);
        def.velocity.linear  = tns_scale(speed / pitch, way);
        sphere.pose.position = tns_sub(pin[from], at);
        def.shapes = &sphere, def.shape_count = end ? 0 : 1;
        const tn_body_id body = tn_scene_add_body(r.scene, &def);
        if (i >= 0)
            rig_add_joint(&r, i == 0 || i == LINKS ? TN_JOINT_WELD : TN_JOINT_HINGE, last, body,
                          pin[i], TNS_Y);
        if (i < 0) first = body;
        last = body;
    }
    rig_ready(&r);
    rig_run(&r, auto_h, 30);
    const double k = sqrt(2 * mass / pitch * rig_g / (2 * load + LINKS * mass));
    CHECK_NEAR(contact_velocity(&r, first).linear.z, speed * cosh(0.5 * k), 0.03 * speed);
    CHECK_NEAR(contact_velocity(&r, last).linear.z, -speed * cosh(0.5 * k), 0.03 * speed);
    CHECK_LESS(r.joint_error, 1.001e-9);
    rig_free(&r);
}

// It falls straight down, which is plastic: all energy of the fall is gone, and it hangs 5 m lower.
TEST(a_light_chain_that_goes_taut_under_a_heavy_load_holds)
{
    for (int links = 10; links <= 20; links += 10) {
        rig              r    = make_load(links, true);
        const tn_body_id load = {(uint32_t)links + 1};
        rig_fall         fall = rig_fall_begin(&r);
        for (int i = 0; i < 150 && rig_step(&r, auto_h); ++i) rig_fall_note(&r, &fall);
        CHECK_LESS(fall.growth, 1e-4 * load_mass * rig_g * 5);
        CHECK_LESS(r.joint_error, 1.001e-9);
        const tn_vec3 at = tn_state_pose(r.state, load).position;
        CHECK_NEAR(at.z, -5 - load_arm, 0.05);
        rig_free(&r);
    }
}

// ---- Lines under tension ---------------------------------------------------------------------------

typedef enum line_kind { LINE_ROPE, LINE_DISTANCE, LINE_SPRING } line_kind;

static const double bead_mass = 0.1, bob_mass = 1000, line_length = 0.5, line_stiffness = 1e8;

static void add_line(rig* r, line_kind kind, tn_body_id upper, tn_body_id lower, tn_vec3 top)
{
    if (kind == LINE_SPRING) {
        tn_spring_def def = tn_default_spring_def();
        def.body1 = upper, def.body2 = lower, def.stiffness = line_stiffness;
        def.length = line_length;
        if (upper.bits == 0) def.anchor1 = top;
        CHECK(tn_scene_add_spring(r->scene, &def).bits != 0);
        return;
    }
    tn_joint_def def = tn_default_joint_def(kind == LINE_ROPE ? TN_JOINT_ROPE : TN_JOINT_DISTANCE);
    def.body1 = upper, def.body2 = lower, def.length = line_length;
    def.form = TN_JOINT_BY_POINTS;
    if (upper.bits == 0) def.frame1.position = top;
    CHECK(tn_scene_add_joint(r->scene, &def).bits != 0);
}

// A bead of 0.1 kg on a line of 1 m from which a tonne hangs, pushed aside by 100 N: h^2 k / m = 109 across the
// line. It hangs where the upper half has the direction of all forces below it; in the lower one there is the weight alone.
static rig make_bead(line_kind kind, tn_vec3 top, double force, tn_body_id* bead)
{
    rig          r = auto_make(tns_vec(0, 0, -rig_g));
    const double W = (bead_mass + bob_mass) * rig_g, T = sqrt(W * W + force * force);
    const double more  = kind == LINE_SPRING ? 1 / line_stiffness : 0;
    const double upper = line_length + more * T, lower = line_length + more * bob_mass * rig_g;
    tn_body_def  def = tn_default_body_def();
    def.kind = TN_BODY_PARTICLE, def.mass = bead_mass;
    def.pose.position = tns_vec(top.x + upper * force / T, 0, top.z - upper * W / T);
    *bead             = tn_scene_add_body(r.scene, &def);
    def.mass          = bob_mass;
    def.pose.position.z -= lower;
    const tn_body_id bob = tn_scene_add_body(r.scene, &def);
    add_line(&r, kind, (tn_body_id){0}, *bead, top);
    add_line(&r, kind, *bead, bob, top);
    tn_load_def load = tn_default_load_def();
    load.body = *bead, load.force = tns_vec(force, 0, 0);
    CHECK(tn_scene_add_load(r.scene, &load).bits != 0);
    rig_ready(&r);
    return r;
}

TEST(a_light_bead_on_a_taut_line_hangs_where_statics_says)
{
    for (int kind = LINE_ROPE; kind <= LINE_SPRING; ++kind) {
        tn_body_id    bead;
        rig           r  = make_bead((line_kind)kind, tns_vec(0, 0, 0), 100, &bead);
        const tn_vec3 at = tn_state_pose(r.state, bead).position;
        rig_run(&r, auto_h, 120);
        CHECK_LESS(rig_distance(tn_state_pose(r.state, bead).position, at), 2e-6);
        // ropes may be too long by 1e-6 m, and wander in that
        CHECK_LESS(tns_length(tn_state_velocity(r.state, bead).linear),
                   kind == LINE_ROPE ? 1e-4 : 1e-6);
        CHECK_INT(r.report.substep_count, 1);
        rig_free(&r);
    }
}

// Struck across the line it does not ring: what it had is gone in a few steps, and none comes from nowhere.
TEST(a_light_bead_on_a_taut_line_does_not_ring)
{
    for (int kind = LINE_ROPE; kind <= LINE_SPRING; ++kind) {
        tn_body_id bead;
        rig        r = make_bead((line_kind)kind, tns_vec(0, 0, 0), 0, &bead);
        CHECK_OK(tn_state_set_velocity(r.state, bead, (tn_twist){{0.5, 0.3, 0}, {0, 0, 0}}));
        const double E = rig_energy(&r), hit = 0.5 * bead_mass * 0.34;
        for (int i = 0; i < 60 && rig_step(&r, auto_h); ++i) {
            CHECK_LESS(rig_energy(&r), E + 1e-3 * hit);
            if (i >= 20) CHECK_LESS(tns_length(tn_state_velocity(r.state, bead).linear), 1e-3);
            if (i >= 4) CHECK_INT(r.report.substep_count, 1);
        }
        rig_free(&r);
    }
}

// ---- After a step ----------------------------------------------------------------------------------

// Forces and blows at a state are those of the state, not of the step that led there.
TEST(evaluations_and_blows_know_nothing_of_the_step_before)
{
    rig               r     = auto_make(tns_vec(0, 0, -rig_g));
    const tn_body_id  body  = rig_add_body(&r, 1, tns_vec(0.01, 0.01, 0.01), tns_vec(0.5, 0, 0));
    const tn_joint_id hinge = add_hinge(&r, body, tns_vec(0, 1, 0), 50, 2, 1);
    rig_ready(&r);
    rig_run(&r, auto_h, 10);
    tn_stepper* fresh = NULL;
    tn_state*   other = NULL;
    CHECK_OK(tn_stepper_create(r.model, &r.settings, &fresh, NULL));
    CHECK_OK(tn_state_create(r.model, &other));
    tn_state_copy(other, r.state);
    CHECK_OK(tn_stepper_evaluate(r.stepper, r.state, NULL, NULL));
    CHECK_OK(tn_stepper_evaluate(fresh, other, NULL, NULL));
    CHECK_NEAR(tn_stepper_reaction(r.stepper, hinge).force.z,
               tn_stepper_reaction(fresh, hinge).force.z, 1e-12);
    CHECK_NEAR(tn_stepper_acceleration(r.stepper, body).angular.y,
               tn_stepper_acceleration(fresh, body).angular.y, 1e-12);
    // w' = sum of torques over the inertia about the hinge
    const double q = rig_angle(&r, hinge), w = rig_rate(&r, hinge);
    CHECK_NEAR(tn_stepper_acceleration(r.stepper, body).angular.y,
               (1 - 50 * q - 2 * w + 0.5 * rig_g * cos(q)) / (0.01 + 0.25), 1e-9);
    rig_run(&r, auto_h, 1);
    tn_state_copy(other, r.state);
    const tn_wrench blow = {{0, 0, 0.3}, {0, 0, 0}};
    CHECK_OK(tn_stepper_impulse(r.stepper, r.state, &blow, NULL, NULL));
    CHECK_OK(tn_stepper_impulse(fresh, other, &blow, NULL, NULL));
    CHECK_NEAR(tn_state_velocity(r.state, body).angular.y, tn_state_velocity(other, body).angular.y,
               1e-12);
    tn_stepper_free(fresh);
    tn_state_free(other);
    rig_free(&r);
}

// ---- What is refused -------------------------------------------------------------------------------

TEST(settings_that_mean_nothing_with_it_are_refused_by_name)
{
    rig         r   = auto_make(tns_vec(0, 0, 0));
    tn_stepper* s   = NULL;
    tn_why      why = {.text = ""};
    rig_add_body(&r, 1, tns_vec(1, 1, 1), tns_vec(0, 0, 0));
    rig_ready(&r);
    r.settings.method              = TN_METHOD_IMPULSE;
    r.settings.impulse.springs     = TN_SPRINGS_IMPLICIT;
    r.settings.impulse.formulation = TN_FORMULATION_SPD;
    CHECK_INT(tn_stepper_create(r.model, &r.settings, &s, &why), TN_ERR_UNSUPPORTED);
    CHECK(strstr(why.text, "impulse.formulation") != NULL);
    rig_free(&r);
}
