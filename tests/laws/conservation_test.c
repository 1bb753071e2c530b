// What no joint can change: the momentum of a free mechanism. What no joint spends: energy.
#include "support/rig.h"

enum { BODIES = 12 };

static tn_vec3 random_vec(test_random* random, double size)
{
    return (tn_vec3){test_random_between(random, -size, size),
                     test_random_between(random, -size, size),
                     test_random_between(random, -size, size)};
}

static tn_quat random_turn(test_random* random)
{
    const tn_quat q = {test_random_between(random, -1, 1), test_random_between(random, -1, 1),
                       test_random_between(random, -1, 1), test_random_between(random, -1, 1)};
    const double  n = sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
    return n > 0.1 ? (tn_quat){q.w / n, q.x / n, q.y / n, q.z / n} : TNS_UPRIGHT;
}

static void add_random_joint(rig* r, test_random* random, tn_body_id parent, tn_body_id child,
                             tn_vec3 anchor, double stiffness, double damping)
{
    static const tn_joint_type types[] = {TN_JOINT_BALL, TN_JOINT_HINGE, TN_JOINT_UNIVERSAL};
    const tn_vec3              axis    = tns_unit(random_vec(random, 1));
    tn_joint_def def = tns_joint(types[test_random_int(random, 0, 2)], parent, child, anchor, axis);
    def.axis2        = tns_unit(tns_cross(axis, fabs(axis.x) < 0.5 ? TNS_X : TNS_Y));
    def.stiffness    = stiffness;
    def.damping      = damping;
    tn_scene_add_joint(r->scene, &def);
}

// A floating tree of balls, hinges and universal joints; body frames are not at the centres of
// mass. All bodies move, as the joints allow.
static rig random_sprung_tree(uint64_t seed, tn_vec3 gravity, double stiffness, double damping)
{
    test_random random = {seed};
    rig         r      = rig_make(gravity);
    tn_vec3     places[BODIES];
    for (int i = 0; i < BODIES; ++i) {
        const int parent       = i > 0 ? test_random_int(&random, 0, i - 1) : 0;
        places[i]              = i > 0 ? tns_add(places[parent], random_vec(&random, 1)) : TNS_X;
        const double  mass     = test_random_between(&random, 0.5, 2);
        const tn_vec3 inertia  = {test_random_between(&random, 0.2, 0.3),
                                  test_random_between(&random, 0.2, 0.3),
                                  test_random_between(&random, 0.2, 0.3)};
        tn_body_def   def      = rig_body(mass, inertia, places[i]);
        def.com                = random_vec(&random, 0.1);
        def.pose.orientation   = random_turn(&random);
        def.velocity           = (tn_twist){random_vec(&random, 1), random_vec(&random, 1)};
        const tn_body_id child = tn_scene_add_body(r.scene, &def);
        if (i > 0) {
            add_random_joint(&r, &random, (tn_body_id){(uint32_t)parent + 1}, child,
                             tns_mix(places[parent], places[i], 0.5), stiffness, damping);
        }
    }
    rig_ready(&r);
    CHECK_OK(tn_stepper_impulse(r.stepper, r.state, NULL, NULL, NULL)); // as the joints allow
    return r;
}

static rig random_tree(uint64_t seed, tn_vec3 gravity)
{
    return random_sprung_tree(seed, gravity, 0, 0);
}

static double total_mass(const rig* r)
{
    double mass = 0;
    for (uint32_t i = 1; i <= BODIES; ++i) mass += tn_model_body_mass(r->model, (tn_body_id){i});
    return mass;
}

static tn_vec3 centre_of_mass(const rig* r) // places of the centres: the first three coordinates
{
    const double* q   = tn_state_coordinates(r->state);
    tn_vec3       sum = {0, 0, 0};
    for (uint32_t i = 0; i < BODIES; ++i) {
        const tn_vec3 x = {q[7 * i], q[7 * i + 1], q[7 * i + 2]};
        sum = tns_add(sum, tns_scale(tn_model_body_mass(r->model, (tn_body_id){i + 1}), x));
    }
    return tns_scale(1 / total_mass(r), sum);
}

// At h = 2e-4 the error of the integrator itself, about (h w)^4, is below rounding.
TEST(momentum_of_a_free_tree_is_constant)
{
    for (uint64_t seed = 1; seed <= 5; ++seed) {
        rig               r = random_tree(seed, (tn_vec3){0, 0, 0});
        const tn_momentum p = tn_state_momentum(r.state);
        const double      E = rig_energy(&r);
        CHECK(tns_length(p.linear) > 0.1 && tns_length(p.angular) > 0.1);
        rig_run(&r, 2e-4, 1000);
        const tn_momentum after = tn_state_momentum(r.state);
        CHECK_LESS(rig_distance(after.linear, p.linear) / tns_length(p.linear), 1e-12);
        CHECK_LESS(rig_distance(after.angular, p.angular) / tns_length(p.angular), 1e-12);
        CHECK_LESS(fabs(rig_energy(&r) / E - 1), 1e-12);
        rig_free(&r);
    }
}

TEST(springs_in_joints_act_on_both_sides) // and take energy only where they damp
{
    for (uint64_t seed = 1; seed <= 5; ++seed) {
        for (int damped = 0; damped < 2; ++damped) {
            rig               r = random_sprung_tree(seed, (tn_vec3){0, 0, 0}, 5, damped ? 0.5 : 0);
            const tn_momentum p = tn_state_momentum(r.state);
            const double      E = rig_energy(&r);
            rig_run(&r, 2e-4, 1000);
            CHECK(tn_state_energy(r.state).elastic > 0.01);
            const tn_momentum after = tn_state_momentum(r.state);
            CHECK_LESS(rig_distance(after.linear, p.linear), 1e-12 * tns_length(p.linear));
            CHECK_LESS(rig_distance(after.angular, p.angular), 1e-12 * tns_length(p.angular));
            if (damped) CHECK_LESS(rig_energy(&r), 0.99 * E);
            else CHECK_NEAR(rig_energy(&r) / E, 1, 1e-11);
            rig_free(&r);
        }
    }
}

TEST(joint_impulses_keep_momentum) // making velocities fit the joints is the joints' own doing
{
    for (uint64_t seed = 1; seed <= 5; ++seed) {
        test_random random = {seed + 100};
        rig         r      = random_tree(seed, (tn_vec3){0, 0, 0});
        for (uint32_t i = 1; i <= BODIES; ++i) {
            CHECK_OK(
                tn_state_set_velocity(r.state, (tn_body_id){i},
                                      (tn_twist){random_vec(&random, 3), random_vec(&random, 3)}));
        }
        const tn_momentum p = tn_state_momentum(r.state);
        const double      E = rig_energy(&r);
        CHECK_OK(tn_stepper_impulse(r.stepper, r.state, NULL, &r.report, NULL));
        const tn_momentum after = tn_state_momentum(r.state);
        CHECK_LESS(r.report.velocity_error, 1e-12);
        CHECK_LESS(rig_distance(after.linear, p.linear), 1e-12 * tns_length(p.linear));
        CHECK_LESS(rig_distance(after.angular, p.angular), 1e-12 * tns_length(p.angular));
        CHECK_LESS(rig_energy(&r), E); // an impact without restitution
        rig_free(&r);
    }
}

TEST(momentum_grows_with_weight_and_the_centre_of_mass_falls_on_a_parabola)
{
    const tn_vec3 gravity = {1, -2, -9.81};
    for (uint64_t seed = 1; seed <= 5; ++seed) {
        rig               r = random_tree(seed, gravity);
        const tn_momentum p = tn_state_momentum(r.state);
        const tn_vec3     x = centre_of_mass(&r);
        const double      m = total_mass(&r), E = rig_energy(&r);
        const tn_vec3     v = tns_scale(1 / m, p.linear);
        rig_run(&r, 2e-4, 1000);
        const double  t = 0.2;
        const tn_vec3 gained =
            tns_scale(1 / m, tns_sub(tn_state_momentum(r.state).linear, p.linear));
        CHECK_LESS(rig_distance(gained, tns_scale(t, gravity)), 1e-12);
        const tn_vec3 parabola =
            tns_add(x, tns_add(tns_scale(t, v), tns_scale(0.5 * t * t, gravity)));
        CHECK_LESS(rig_distance(centre_of_mass(&r), parabola), 1e-12);
        CHECK_LESS(fabs(rig_energy(&r) - E), 1e-11 * fabs(E));
        rig_free(&r);
    }
}

static double energy_drift(bool project, int steps)
{
    rig r                         = random_tree(3, (tn_vec3){0, 0, -9.81});
    r.settings.multiplier.project = project;
    rig_restart(&r);
    CHECK_OK(tn_stepper_impulse(r.stepper, r.state, NULL, NULL, NULL));
    const double E     = rig_energy(&r);
    double       drift = 0;
    for (int i = 0; i < steps && rig_step(&r, 1.0 / steps); ++i)
        drift = fmax(drift, fabs(rig_energy(&r) - E));
    rig_free(&r);
    return drift;
}

TEST(energy_of_a_free_tree_drifts_at_fourth_order)
{
    for (int project = 0; project < 2; ++project)
        CHECK_NEAR(rig_order(energy_drift(project, 32), energy_drift(project, 64)), 4, 0.3);
}
