// The other kinds of bodies and of dynamics: planar, particle, kinematic, affine; f = m v;
// impulses.
#include "state/state.h"
#include "support/rig.h"

static const double  pi = 3.141592653589793, g = 9.81;
static const tn_vec3 origin = {0, 0, 0}, weight = {0, 0, -9.81};

static double agm(double a, double b)
{
    while (fabs(a - b) > 1e-15 * a) {
        const double mean = 0.5 * (a + b);
        b                 = sqrt(a * b);
        a                 = mean;
    }
    return a;
}

// ---- Planar bodies ------------------------------------------------------------------------------

static tn_body_id bar(rig* r, bool planar, tn_vec3 a, tn_vec3 b, double mass)
{
    return planar ? tns_planar_rod(r->scene, NULL, a, b, 0.02, mass)
                  : tns_rod(r->scene, NULL, a, b, 0.02, mass);
}

// A crank that drives a block along x through a rod, with a pendulum on the block; the crank is
// free, gravity is along -y.
static rig plane_machine(bool planar)
{
    const tn_vec3    B = {0.12, 0.16, 0}, C = {0.12 + 0.3, -0.24, 0}, D = {0.5, -0.7, 0};
    rig              r     = rig_make((tn_vec3){0, -g, 0});
    const tn_body_id crank = bar(&r, planar, origin, B, 1), rod = bar(&r, planar, B, C, 0.6);
    const tn_body_id block = bar(&r, planar, C, tns_add(C, TNS_X), 2),
                     tail  = bar(&r, planar, C, D, 0.4);
    rig_add_joint(&r, TN_JOINT_HINGE, TNS_GROUND, crank, origin, TNS_Z);
    rig_add_joint(&r, TN_JOINT_HINGE, crank, rod, B, TNS_Z);
    rig_add_joint(&r, TN_JOINT_HINGE, rod, block, C, TNS_Z);
    rig_add_joint(&r, TN_JOINT_SLIDER, TNS_GROUND, block, C, TNS_X);
    tn_joint_def def = tns_joint(TN_JOINT_HINGE, block, tail, C, TNS_Z);
    def.stiffness    = 3;
    def.damping      = 0.1;
    tn_scene_add_joint(r.scene, &def);
    rig_ready(&r);
    return r;
}

TEST(planar_bodies_move_like_rigid_ones)
{
    rig flat = plane_machine(true), solid = plane_machine(false);
    CHECK_INT(tn_model_counts(flat.model).freedoms, 12);
    for (int i = 0; i < 10; ++i) {
        rig_run(&flat, 2.5e-4, 400);
        rig_run(&solid, 2.5e-4, 400);
        for (uint32_t b = 1; b <= 4; ++b) {
            const tn_body_id id = {b};
            const tn_twist   v  = tn_state_velocity(flat.state, id),
                           w    = tn_state_velocity(solid.state, id);
            CHECK_LESS(rig_distance(tn_state_pose(flat.state, id).position,
                                    tn_state_pose(solid.state, id).position),
                       1e-10);
            CHECK_LESS(rig_distance(rig_axis(&flat, id, TNS_X), rig_axis(&solid, id, TNS_Z)),
                       1e-10);
            CHECK_LESS(rig_distance(v.linear, w.linear) + fabs(v.angular.z - w.angular.z), 1e-9);
        }
        CHECK_NEAR(rig_energy(&flat), rig_energy(&solid), 1e-9);
    }
    CHECK(fabs(rig_energy(&flat)) > 0.1);
    rig_free(&flat);
    rig_free(&solid);
}

// ---- Particles ----------------------------------------------------------------------------------

TEST(a_particle_on_a_distance_joint_is_a_pendulum)
{
    const double length = 0.7, angle = 2.2, w = sqrt(g / length);
    rig          r       = rig_make(weight);
    tn_body_def  def     = tn_default_body_def();
    def.kind             = TN_BODY_PARTICLE;
    def.mass             = 0.3;
    def.pose.position    = (tn_vec3){length * sin(angle), 0, -length * cos(angle)};
    const tn_body_id bob = tn_scene_add_body(r.scene, &def);
    tn_joint_def     rod = tn_default_joint_def(TN_JOINT_DISTANCE);
    rod.body2            = bob;
    rod.form             = TN_JOINT_BY_POINTS;
    const tn_joint_id id = tn_scene_add_joint(r.scene, &rod);
    rig_ready(&r);
    rig_run(&r, pi / 2 / (w * agm(1, cos(angle / 2))) / 2000, 2000); // a quarter of the period
    const double speed = 2 * sin(angle / 2) * w * length;
    CHECK_LESS(rig_distance(tn_state_pose(r.state, bob).position, (tn_vec3){0, 0, -length}), 1e-10);
    CHECK_NEAR(tn_state_velocity(r.state, bob).linear.x, -speed, 1e-10);
    rig_evaluate(&r);
    CHECK_NEAR(tn_stepper_reaction(r.stepper, id).force.z, 0.3 * (g + speed * speed / length),
               1e-8);
    rig_free(&r);
}

// ---- Kinematic bodies ---------------------------------------------------------------------------

static tn_body_id add_kinematic(rig* r, const tn_key* keys, int count)
{
    tn_body_def def = tn_default_body_def();
    def.kind        = TN_BODY_KINEMATIC;
    def.keys        = keys;
    def.key_count   = count;
    return tn_scene_add_body(r->scene, &def);
}

// A rod of angle 1 rad on a pivot that moves with v; how it hangs after half a second.
static tn_vec3 hung_on_a_moving_pivot(tn_vec3 v, tn_vec3* from_pivot)
{
    const tn_key keys[2]   = {{0, {origin, TNS_UPRIGHT}}, {1, {v, TNS_UPRIGHT}}};
    rig          r         = rig_make(weight);
    tn_body_id   pivot     = add_kinematic(&r, keys, 2);
    tn_body_def  def       = rig_body(1, (tn_vec3){0.1, 0.1, 0.1}, (tn_vec3){sin(1), 0, -cos(1)});
    def.velocity.linear    = v;
    const tn_body_id  rod  = tn_scene_add_body(r.scene, &def);
    const tn_joint_id ball = rig_add_joint(&r, TN_JOINT_BALL, pivot, rod, origin, TNS_Z);
    rig_ready(&r);
    rig_run(&r, 1e-3, 500);
    *from_pivot        = tns_sub(tn_state_pose(r.state, rod).position, tns_scale(0.5, v));
    const tn_vec3 turn = rig_axis(&r, rod, TNS_X);
    CHECK_LESS(rig_distance(tn_state_joint_anchor(r.state, ball, 0), tns_scale(0.5, v)), 1e-14);
    rig_free(&r);
    return turn;
}

TEST(a_pendulum_on_a_steadily_moving_pivot_swings_as_on_a_fixed_one) // Galilei
{
    tn_vec3       at_rest, carried;
    const tn_vec3 turn1 = hung_on_a_moving_pivot(origin, &at_rest),
                  turn2 = hung_on_a_moving_pivot((tn_vec3){2, -1, 0.5}, &carried);
    CHECK_LESS(rig_distance(at_rest, carried), 1e-12);
    CHECK_LESS(rig_distance(turn1, turn2), 1e-12);
    CHECK(rig_distance(turn1, TNS_X) > 0.5);
}

TEST(a_bead_on_a_turning_rod_flies_out_exponentially) // r'' = w^2 r
{
    const double  w = 2, start = 0.3;
    const tn_quat turned   = {cos(1.5), 0, 0, sin(1.5)}; // 3 rad in 1.5 s
    const tn_key  keys[2]  = {{0, {origin, TNS_UPRIGHT}}, {1.5, {origin, turned}}};
    rig           r        = rig_make(weight);
    tn_body_id    rod      = add_kinematic(&r, keys, 2);
    tn_body_def   def      = rig_body(1, (tn_vec3){0.1, 0.1, 0.1}, (tn_vec3){start, 0, 0});
    def.velocity           = (tn_twist){{0, w * start, 0}, {0, 0, w}};
    tn_body_id        bead = tn_scene_add_body(r.scene, &def);
    const tn_joint_id slide =
        rig_add_joint(&r, TN_JOINT_SLIDER, rod, bead, def.pose.position, TNS_X);
    rig_ready(&r);
    rig_run(&r, 1e-3, 1000);
    const double out = start * cosh(w);
    CHECK_NEAR(rig_angle(&r, slide), out - start, 1e-10);
    CHECK_LESS(rig_distance(tn_state_pose(r.state, bead).position,
                            (tn_vec3){out * cos(w), out * sin(w), 0}),
               1e-10);
    rig_evaluate(&r); // Coriolis: 2 w rdot across the rod
    const tn_vec3 across = {-sin(w), cos(w), 0},
                  force  = tn_stepper_reaction(r.stepper, slide).force;
    CHECK_NEAR(tns_dot(force, across), 2 * w * w * start * sinh(w), 1e-8);
    rig_free(&r);
}

// ---- Affine bodies ------------------------------------------------------------------------------

// A bar 1 m long on a ball joint at its end, let go from the level; where its other end is at 0.4
// s.
static tn_vec3 fallen_bar(tn_body_kind kind, double young)
{
    const double m = 1, a = 0.05, l = 0.5;
    rig          r = rig_make(weight);
    tn_body_def  def =
        rig_body(m, (tn_vec3){m * 2 * a * a / 3, m * (a * a + l * l) / 3, m * (a * a + l * l) / 3},
                 (tn_vec3){l, 0, 0});
    def.kind = kind;
    if (kind == TN_BODY_AFFINE) {
        def.young   = young;
        def.poisson = 0.3;
        def.volume  = 8 * a * a * l;
    }
    const tn_body_id body = tn_scene_add_body(r.scene, &def);
    rig_add_joint(&r, TN_JOINT_BALL, TNS_GROUND, body, origin, TNS_Z);
    rig_ready(&r);
    rig_run(&r, 1e-4, 4000);
    const tn_vec3 x =
        tn_state_pose(r.state, body).position; // the bar's middle: twice as far, its end
    rig_free(&r);
    return tns_scale(2, x);
}

TEST(a_stiff_affine_body_is_nearly_rigid)
{
    const tn_vec3 rigid = fallen_bar(TN_BODY_RIGID, 0);
    const double  soft  = rig_distance(fallen_bar(TN_BODY_AFFINE, 1e5), rigid),
                 hard   = rig_distance(fallen_bar(TN_BODY_AFFINE, 1e6), rigid),
                 harder = rig_distance(fallen_bar(TN_BODY_AFFINE, 1e7), rigid);
    CHECK_LESS(soft, 0.1);
    CHECK_NEAR(soft / hard, 10, 1); // the stretch, and with it the difference, goes as 1/E
    CHECK_NEAR(hard / harder, 10, 1);
}

// Moves an affine cube by a small strain off its rest and runs for a time; what is left of the
// strain in units of the first one.
static double strain_left(const double strain[9], double time)
{
    const double size = 1e-6, q = 0.02;
    rig          r   = rig_make(origin);
    tn_body_def  def = rig_body(2, (tn_vec3){2 * q, 2 * q, 2 * q}, origin); // Q = q I
    def.kind         = TN_BODY_AFFINE;
    def.young        = 500;
    def.poisson      = 0.25;
    def.volume       = 0.1;
    tn_scene_add_body(r.scene, &def);
    rig_ready(&r);
    for (int i = 0; i < 9; ++i) r.state->q[3 + i] += size * strain[i];
    rig_run(&r, time / 1000, 1000);
    double left = 0, sum = 0;
    for (int i = 0; i < 9; ++i) {
        left += strain[i] * (r.state->q[3 + i] - (i % 4 == 0));
        sum += strain[i] * strain[i];
    }
    rig_free(&r);
    return left / (sum * size);
}

TEST(an_affine_cube_breathes_and_shears_at_the_rates_of_small_strain)
{
    // Lame's constants times the volume, E V = 50, nu = 1/4; breathing w^2 = (2 mu + 3 lambda)/q,
    // shearing w^2 = 2 mu/q.
    const double mu = 20, lambda = 20, q = 0.02;
    const double breathe = sqrt((2 * mu + 3 * lambda) / q), shear = sqrt(2 * mu / q);
    const double ball[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, skewed[9] = {0, 1, 0, 1, 0, 0, 0, 0, 0};
    const double turn[9] = {0, 1, 0, -1, 0, 0, 0, 0, 0};
    CHECK_NEAR(strain_left(ball, 2 * pi / breathe / 4), 0,
               1e-4); // amplitude 1e-6 is not quite zero
    CHECK_NEAR(strain_left(ball, 2 * pi / breathe / 6), 0.5, 1e-4);
    CHECK_NEAR(strain_left(ball, 2 * pi / breathe), 1, 1e-6);
    CHECK_NEAR(strain_left(skewed, 2 * pi / shear / 4), 0, 1e-4);
    CHECK_NEAR(strain_left(skewed, 2 * pi / shear / 6), 0.5, 1e-4);
    CHECK_NEAR(strain_left(turn, 2 * pi / shear / 4), 1, 1e-4); // a rotation has no energy
}

// ---- f = m v ------------------------------------------------------------------------------------

TEST(without_inertia_a_pendulum_sinks) // angle' = -k sin(angle): tan(angle/2) falls exponentially
{
    const double      m = 2, arm = 0.5, I = 0.3, k = m * g * arm / (I + m * arm * arm), angle = 2.5;
    rig               r     = rig_make(weight);
    const tn_body_id  rod   = rig_add_body(&r, m, (tn_vec3){0.2, I, 0.2},
                                           (tn_vec3){-arm * sin(angle), 0, -arm * cos(angle)});
    const tn_joint_id hinge = rig_add_joint(&r, TN_JOINT_HINGE, TNS_GROUND, rod, origin, TNS_Y);
    r.settings.multiplier.dynamics = TN_DYNAMICS_FIRST;
    rig_ready(&r);
    rig_evaluate(&r);
    CHECK_NEAR(tn_stepper_acceleration(r.stepper, rod).angular.y, -k * sin(angle), 1e-12);
    for (int i = 1; i <= 5; ++i) {
        rig_run(&r, 1e-3, 50);
        const double now = 2 * atan(tan(angle / 2) * exp(-k * 0.05 * i));
        CHECK_NEAR(angle + rig_angle(&r, hinge), now, 1e-9);
        CHECK_NEAR(rig_rate(&r, hinge), -k * sin(now), 1e-8);
    }
    rig_free(&r);
}

TEST(an_arm_dragged_by_its_hand_arrives_and_stays_whole)
{
    const tn_key  goal   = {0, {{0.3, 0.4, 0.5}, TNS_UPRIGHT}};
    rig           r      = rig_make(origin);
    tns_links     arm    = {.count  = 4,
                            .step   = {0.4, 0, 0},
                            .radius = 0.02,
                            .mass   = 1,
                            .joint  = TN_JOINT_BALL,
                            .axis   = TNS_Y};
    tn_target_def target = tn_default_target_def();
    target.body          = tns_add_links(r.scene, &arm);
    target.keys          = &goal;
    target.key_count     = 1;
    target.point         = (tn_vec3){0, 0, 0.2}; // the end of the last rod
    target.stiffness     = 20;
    CHECK_OK(tn_scene_add_target(r.scene, &target));
    r.settings.multiplier.dynamics = TN_DYNAMICS_FIRST;
    rig_ready(&r);
    const tn_body_id hand   = tn_model_find_body(r.model, "link4");
    double           before = HUGE_VAL;
    for (int i = 0; i < 10; ++i) { // the spring's energy can only fall
        rig_run(&r, 5e-3, 100);
        const double now = tn_state_energy(r.state).elastic;
        CHECK_LESS(now, before + 1e-20);
        before = now;
    }
    CHECK_LESS(r.joint_error, 1e-10);
    const tn_vec3 tip = tns_place(tn_state_pose(r.state, hand), target.point);
    CHECK_LESS(rig_distance(tip, goal.pose.position), 1e-6);
    rig_free(&r);
}

// ---- Impulses
// ------------------------------------------------------------------------------------

// A hanging rod of length 1, hit sideways at `depth` below its upper end.
static tn_twist struck(bool pivoted, double depth, double blow)
{
    rig              r   = rig_make(weight);
    const tn_body_id rod = rig_add_body(&r, 3, (tn_vec3){0.25, 0.25, 0.01}, (tn_vec3){0, 0, -0.5});
    if (pivoted) rig_add_joint(&r, TN_JOINT_HINGE, TNS_GROUND, rod, origin, TNS_Y);
    rig_ready(&r);
    const tn_vec3   force = {blow, 0, 0}, arm = {0, 0, 0.5 - depth};
    const tn_wrench wrench = {force, tns_cross(arm, force)};
    CHECK_OK(tn_stepper_impulse(r.stepper, r.state, &wrench, NULL, NULL));
    const tn_twist velocity = tn_state_velocity(r.state, rod);
    rig_free(&r);
    return velocity;
}

TEST(a_pivoted_rod_has_its_centre_of_percussion_at_two_thirds)
{
    const double blow = 2.5;
    for (int i = 1; i <= 6; ++i) {
        const double   depth = i / 6.0, spin = -blow * depth / 1; // I = m l^2/3 = 1
        const tn_twist v = struck(true, depth, blow);
        CHECK_NEAR(v.angular.y, spin, 1e-13);
        const double pivot = 3 * v.linear.x - blow; // impulse of the pivot
        CHECK_NEAR(pivot, blow * (1.5 * depth - 1), 1e-12);
        if (i == 4) CHECK_NEAR(pivot, 0, 1e-13);
    }
}

TEST(a_free_rod_struck_off_centre_moves_and_turns)
{
    const tn_twist v = struck(false, 0.9, 2.5);
    CHECK_NEAR(v.linear.x, 2.5 / 3, 1e-14);
    CHECK_NEAR(v.angular.y, -2.5 * 0.4 / 0.25, 1e-13);
    CHECK_NEAR(fabs(v.linear.y) + fabs(v.linear.z) + fabs(v.angular.x) + fabs(v.angular.z), 0,
               1e-14);
}

TEST(an_impulse_on_two_rods_has_its_closed_form)
{
    // Two hanging rods of length l and mass m, joined end to end, free, the lower end struck by P.
    const double     m = 2, l = 1, I = m * l * l / 12, P = 1.5;
    rig              r  = rig_make(weight);
    const tn_body_id b1 = rig_add_body(&r, m, (tn_vec3){I, I, 0.01}, (tn_vec3){0, 0, -0.5}),
                     b2 = rig_add_body(&r, m, (tn_vec3){I, I, 0.01}, (tn_vec3){0, 0, -1.5});
    rig_add_joint(&r, TN_JOINT_BALL, b1, b2, (tn_vec3){0, 0, -1}, TNS_Z);
    rig_ready(&r);
    const tn_wrench blows[2] = {{origin, origin}, {{P, 0, 0}, {0, -0.5 * l * P, 0}}};
    CHECK_OK(tn_stepper_impulse(r.stepper, r.state, blows, NULL, NULL));
    // X at the joint on rod 2: m v1 = -X, I w1 = +X l/2, m v2 = P + X, I w2 = -P l/2 + X l/2
    // (about y), and v1 - w1 l/2 = v2 + w2 l/2.
    const double X  = -P * (1 / m - l * l / (4 * I)) / (2 / m + 2 * l * l / (4 * I));
    const double w1 = X * l / (2 * I), w2 = (X - P) * l / (2 * I);
    CHECK_NEAR(tn_state_velocity(r.state, b1).linear.x, -X / m, 1e-13);
    CHECK_NEAR(tn_state_velocity(r.state, b2).linear.x, (P + X) / m, 1e-13);
    CHECK_NEAR(tn_state_velocity(r.state, b1).angular.y, w1, 1e-13);
    CHECK_NEAR(tn_state_velocity(r.state, b2).angular.y, w2, 1e-13);
    rig_free(&r);
}
