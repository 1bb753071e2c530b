// The impulse method with implicit springs (impulse.springs = implicit): springs, dampers and contacts of any strength at
// 1/60 s, against closed forms, statics and the conservation of energy.
#include "support/contact_rig.h"
#include "support/impulse_rig.h"

static const double h60 = 1.0 / 60;

static rig make(tn_vec3 gravity)
{
    rig r                      = rig_make(gravity);
    r.settings.method          = TN_METHOD_IMPULSE;
    r.settings.impulse.springs = TN_SPRINGS_IMPLICIT;
    r.settings.impulse.sleep   = 0;
    return r;
}

static rig builtin(const char* spec)
{
    rig r                      = rig_builtin(spec);
    r.settings.method          = TN_METHOD_IMPULSE;
    r.settings.impulse.springs = TN_SPRINGS_IMPLICIT;
    rig_restart(&r);
    return r;
}

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

// 1 N m against a damper d on 1e-3 kg m^2: w d = 1 from the first steps on, without ringing. The exact
// solution is 1 - exp(-d t / I), over after 1e-3 s or less.
TEST(a_damper_of_any_strength_balances_its_torque)
{
    const double dampings[] = {10, 1e3, 1e8};
    for (int k = 0; k < 3; ++k) {
        rig              r    = make(tns_vec(0, 0, 0));
        const tn_body_id body = rig_add_body(&r, 1, tns_vec(1e-3, 1e-3, 1e-3), tns_vec(0, 0, 0));
        add_hinge(&r, body, tns_vec(0, 0, 1), 0, dampings[k], 1);
        rig_ready(&r);
        for (int i = 0; i < 60 && rig_step(&r, h60); ++i)
            CHECK_NEAR(dampings[k] * tn_state_velocities(r.state)[5], 1, i == 0 ? 1e-6 : 1e-12);
        rig_free(&r);
    }
}

// A mass of 1 kg on a spring of 1 m falls from the horizontal. Energy stays within (h w)^2 / 24-like bounds of
// Verlet's, the same for all stiffnesses, and the error of where it is falls with h^2.
TEST(a_spring_pendulum_keeps_its_energy_at_any_stiffness)
{
    for (double k = 10; k < 1e11; k *= 1e3) {
        rig         r   = make(tns_vec(0, 0, -rig_g));
        tn_body_def def = tn_default_body_def();
        def.kind = TN_BODY_PARTICLE, def.mass = 1, def.pose.position = tns_vec(1, 0, 0);
        tn_spring_def spring = tn_default_spring_def();
        spring.body2         = tn_scene_add_body(r.scene, &def);
        spring.stiffness = k, spring.length = 1;
        CHECK(tn_scene_add_spring(r.scene, &spring).bits != 0);
        rig_ready(&r);
        const double start = rig_energy(&r);
        for (int i = 0; i < 300 && rig_step(&r, h60); ++i) {
            CHECK_LESS(fabs(rig_energy(&r) - start), 2e-3 * rig_g);
            CHECK_INT(r.report.substep_count, 1);
        }
        rig_free(&r);
    }
}

// Where a damped, stiff spring pendulum is after half a second.
static tn_vec3 swing(int steps)
{
    rig         r   = make(tns_vec(0, 0, -rig_g));
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
    for (double k = 100; k < 1e9; k *= 1e3) {
        rig               r    = make(tns_vec(0, 0, -rig_g));
        const tn_body_id  body = rig_add_body(&r, 1, tns_vec(0.01, 0.01, 0.01), tns_vec(0.5, 0, 0));
        const tn_joint_id hinge = add_hinge(&r, body, tns_vec(0, 1, 0), k, 0.1 * k, 0);
        rig_ready(&r);
        rig_run(&r, h60, 1200);
        double q;
        tn_state_joint_position(r.state, hinge, &q);
        CHECK_NEAR(k * q, 0.5 * rig_g * cos(q), 1e-8);
        CHECK_LESS(fabs(tn_state_velocities(r.state)[4]), 1e-12);
        rig_free(&r);
    }
}

// The ones that come apart with explicit springs: every joint closed, no substep, nothing grows.
TEST(stiff_characters_hold_together_at_60_steps_a_second)
{
    const char* scenes[] = {"robot", "hand", "humanoid", "plant"};
    for (int i = 0; i < 4; ++i) {
        rig r = builtin(scenes[i]);
        for (int k = 0; k < 60 && rig_step(&r, h60); ++k) CHECK_INT(r.report.unclosed_count, 0);
        CHECK_LESS(r.joint_error, 1e-9);
        CHECK_LESS(rig_energy(&r), 2000);
        rig_free(&r);
    }
}

// Where nothing is stiff it is the step of the impulse method, but for what its solves are accurate to.
TEST(without_springs_it_is_the_same_step)
{
    const char* scenes[] = {"fourbar", "peaucellier", "bricard", "slider_crank"};
    for (int i = 0; i < 4; ++i) {
        rig a = builtin(scenes[i]), b = impulse_builtin(scenes[i], 1e-9);
        rig_run(&a, h60, 30);
        rig_run(&b, h60, 30);
        const impulse_apart apart = impulse_difference(a.state, b.state);
        CHECK_LESS(apart.q, 1e-7);
        CHECK_LESS(apart.u, 1e-6);
        rig_free(&a);
        rig_free(&b);
    }
}

TEST(redundant_loops_close_without_substeps)
{
    rig r = builtin("octahedron_cube:n=2");
    rig_run(&r, h60, 30);
    CHECK_LESS(r.joint_error, 1e-9);
    CHECK_INT(r.report.substep_count, 1);
    rig_free(&r);
}

// ---- Contact ---------------------------------------------------------------------------------------

typedef struct block {
    rig        r;
    tn_body_id body;
} block;

// A box on a plane that leans so far that tan of its angle is share times friction.
static block make_block(double share, double friction, double speed)
{
    const double angle  = atan(share * friction);
    block        b      = {.r = make(tns_vec(rig_g * sin(angle), 0, -rig_g * cos(angle)))};
    tn_shape_def ground = tn_default_shape_def(TN_SHAPE_PLANE),
                 box    = rig_box(tns_vec(0.2, 0.2, 0.1));
    ground.friction = box.friction = friction;
    box.density                    = 1000;
    tn_body_def floor = tn_default_body_def(), def = tn_default_body_def();
    floor.kind = TN_BODY_STATIC, floor.shapes = &ground, floor.shape_count = 1;
    def.shapes = &box, def.shape_count = 1, def.pose.position = tns_vec(0, 0, 0.1);
    def.velocity.linear = tns_vec(speed, 0, 0);
    CHECK(tn_scene_add_body(b.r.scene, &floor).bits != 0);
    b.body = tn_scene_add_body(b.r.scene, &def);
    rig_ready(&b.r);
    return b;
}

static double speed_of(const block* b)
{
    return tn_state_velocities(b->r.state)[0];
}

TEST(a_block_on_an_incline_sticks_below_friction_and_slides_above)
{
    const double shares[] = {0.98, 0.999, 1.001, 1.02};
    for (int i = 0; i < 4; ++i) {
        const double friction = 0.5, angle = atan(shares[i] * friction);
        block        b = make_block(shares[i], friction, 0);
        rig_run(&b.r, h60, 60);
        const double exact = fmax(0, rig_g * (sin(angle) - friction * cos(angle)));
        CHECK_NEAR(speed_of(&b), exact, 1e-7);
        CHECK_LESS(b.r.report.deepest, 1e-7);
        rig_free(&b.r);
    }
}

TEST(a_sliding_block_slows_down_and_stops_by_coulombs_law)
{
    block b = make_block(0, 0.5, 3);
    rig_run(&b.r, h60, 30);
    CHECK_NEAR(speed_of(&b), 3 - 0.5 * rig_g * 0.5, 1e-6);
    CHECK_NEAR(tn_state_coordinates(b.r.state)[0], 1.5 - 0.5 * 0.5 * rig_g * 0.25, 1e-6);
    rig_run(&b.r, h60, 30);
    CHECK_LESS(fabs(speed_of(&b)), 1e-9);
    rig_free(&b.r);
}

TEST(people_who_fall_lose_energy_and_stay_together)
{
    rig      r    = builtin("ragdoll_pile:n=2");
    rig_fall fall = rig_fall_begin(&r);
    for (int i = 0; i < 90 && rig_step(&r, h60); ++i) {
        rig_fall_note(&r, &fall);
        CHECK_LESS(r.report.deepest, 1e-4);
    }
    CHECK_LESS(fall.growth, 1e-3);
    CHECK_LESS(r.joint_error, 1.001e-9);
    rig_free(&r);
}

// ---- Heavy loads -----------------------------------------------------------------------------------

// Links of 0.5 kg between the ground and 7.5 t; folded: they lie over each other until the load has fallen.
static rig make_load(int links, double length, bool folded)
{
    rig          r    = make(tns_vec(0, 0, -rig_g));
    tn_body_id   last = {0};
    double       x    = 0;
    const double I    = 0.5 * length * length / 12;
    for (int i = 0; i <= links; ++i) {
        const double     way  = folded && i % 2 == 1 ? -1 : 1;
        const bool       load = i == links;
        tn_joint_def     def  = tn_default_joint_def(TN_JOINT_BALL);
        const tn_vec3    at   = load ? tns_vec(x, 0, -0.5) : tns_vec(x + 0.5 * way * length, 0, 0);
        const tn_vec3    turn = load ? tns_vec(750, 750, 750) : tns_vec(0.01 * I, I, I);
        const tn_body_id body = rig_add_body(&r, load ? 7500 : 0.5, turn, at);
        def.body1 = last, def.body2 = body, def.anchor = tns_vec(x, 0, 0);
        CHECK(tn_scene_add_joint(r.scene, &def).bits != 0);
        last = body, x += way * length;
    }
    rig_ready(&r);
    return r;
}

TEST(a_light_chain_that_goes_taut_under_a_heavy_load_holds)
{
    for (int folded = 0; folded < 2; ++folded) {
        rig      r    = make_load(10, 0.5, folded != 0);
        rig_fall fall = rig_fall_begin(&r);
        for (int i = 0; i < 150 && rig_step(&r, h60); ++i) rig_fall_note(&r, &fall);
        CHECK_LESS(fall.growth, 1e-2 * 7500 * rig_g * 5);
        CHECK_LESS(r.joint_error, 1e-6);
        rig_free(&r);
    }
}

// ---- What is refused -------------------------------------------------------------------------------

TEST(settings_that_mean_nothing_with_it_are_refused_by_name)
{
    rig         r   = make(tns_vec(0, 0, 0));
    tn_stepper* s   = NULL;
    tn_why      why = {.text = ""};
    rig_add_body(&r, 1, tns_vec(1, 1, 1), tns_vec(0, 0, 0));
    rig_ready(&r);
    r.settings.impulse.formulation = TN_FORMULATION_SPD;
    CHECK_INT(tn_stepper_create(r.model, &r.settings, &s, &why), TN_ERR_UNSUPPORTED);
    CHECK(strstr(why.text, "impulse.formulation") != NULL);
    r.settings.impulse.formulation = TN_FORMULATION_AUTO;
    r.settings.impulse.contacts    = TN_CONTACTS_SWEEPS;
    CHECK_INT(tn_stepper_create(r.model, &r.settings, &s, &why), TN_ERR_UNSUPPORTED);
    CHECK(strstr(why.text, "impulse.contacts") != NULL);
    rig_free(&r);
}
