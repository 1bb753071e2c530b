// Assembly: bodies in random poses find their joints again, with the right orientation of frames;
// what cannot close is refused, and the joint named is one that is at fault.
#include "step/stepper.h"
#include "support/failing_host.h"
#include "support/random_scene.h"
#include "support/rig.h"
#include "system/levenberg_marquardt.h"

#ifdef TENON_TEST_LIGHT
enum { SEEDS = 40, FORESTS = 10 };
#else
enum { SEEDS = 200, FORESTS = 60 };
#endif

// Joint error after assembly: anchors a metre or so away from the origin, summed from a few
// products each.
static const double closed = 1e-13;

// ---- Parts ---------------------------------------------------------------------------------------

// A bar along its own x axis, its frame in the middle.
static tn_body_id add_bar(rig* r, tn_body_kind kind, const char* name, double length, double mass)
{
    tn_body_def def = rig_body(
        mass, tns_vec(1e-3 * mass, mass * length * length / 12, mass * length * length / 12),
        tns_vec(0, 0, 0));
    def.name = name;
    def.kind = kind;
    if (kind == TN_BODY_AFFINE) def.young = 1e3, def.volume = 1e-3;
    return tn_scene_add_body(r->scene, &def);
}

// Frames along the bodies' own axes, at given points.
static tn_joint_id add_pin(rig* r, tn_joint_type type, const char* name, tn_body_id body1,
                           tn_vec3 at1, tn_body_id body2, tn_vec3 at2)
{
    tn_joint_def def    = tn_default_joint_def(type);
    def.name            = name;
    def.form            = TN_JOINT_BY_FRAMES;
    def.body1           = body1;
    def.body2           = body2;
    def.frame1.position = at1;
    def.frame2.position = at2;
    return tn_scene_add_joint(r->scene, &def);
}

// A ring of three bars on the ground, hinged about z: O at the origin, D at (ground, 0, 0).
static rig make_fourbar(tn_body_kind kind, double crank, double coupler, double rocker,
                        double ground)
{
    rig              r = rig_make(tns_vec(0, 0, -9.81));
    const tn_body_id a = add_bar(&r, kind, "crank", crank, 1),
                     b = add_bar(&r, kind, "coupler", coupler, 2),
                     c = add_bar(&r, kind, "rocker", rocker, 1.5);
    add_pin(&r, TN_JOINT_HINGE, "O", TNS_GROUND, tns_vec(0, 0, 0), a, tns_vec(-crank / 2, 0, 0));
    add_pin(&r, TN_JOINT_HINGE, "B", a, tns_vec(crank / 2, 0, 0), b, tns_vec(-coupler / 2, 0, 0));
    add_pin(&r, TN_JOINT_HINGE, "C", b, tns_vec(coupler / 2, 0, 0), c, tns_vec(-rocker / 2, 0, 0));
    add_pin(&r, TN_JOINT_HINGE, "D", TNS_GROUND, tns_vec(ground, 0, 0), c,
            tns_vec(rocker / 2, 0, 0));
    return r;
}

// Every body within `far` of its start, rotated by up to `turn`; random velocities.
static void throw_about(rig* r, uint64_t seed, double far, double turn)
{
    test_random g = {seed};
    tn_state_reset(r->state);
    for (int i = 1; i <= tn_model_counts(r->model).bodies; ++i) {
        const tni_body* body = &r->model->bodies[i];
        const bool      flat = body->kind == TN_BODY_PLANAR;
        tn_frame        pose = tn_state_pose(r->state, (tn_body_id){(uint32_t)i});
        tn_vec3         by = random_vec3(&g, far), about = random_direction(&g);
        const double    angle = test_random_between(&g, -turn, turn);
        if (body->dim == 0) continue;
        if (flat) by.z = 0, about = TNS_Z;
        pose.position    = tns_add(pose.position, by);
        pose.orientation = tni_quat_mul(tni_quat_exp(tns_scale(angle, about)), pose.orientation);
        if (body->kind == TN_BODY_PARTICLE) pose.orientation = TNS_UPRIGHT;
        CHECK_OK(tn_state_set_pose(r->state, (tn_body_id){(uint32_t)i}, pose));
    }
    random_numbers(&g, r->state->u, r->model->u_count, 1);
}

static tn_assembly assemble(rig* r)
{
    tn_assembly     report;
    tn_why          why    = {.text = ""};
    const tn_result result = tn_stepper_assemble(r->stepper, r->state, &report, &why);
    test_check(result == TN_OK, __FILE__, __LINE__, "assembly: %s", why.text);
    return report;
}

// Axis k of a joint's frame on a side, world axes: computed from the defs, not from the model.
static tn_vec3 axis_of(const rig* r, int joint, int side, tn_vec3 axis)
{
    const tn_joint_def* def  = tn_scene_joint(r->scene, joint);
    const tn_body_id    body = side == 0 ? def->body1 : def->body2;
    const tn_quat       in   = side == 0 ? def->frame1.orientation : def->frame2.orientation;
    return rig_axis(r, body, tns_rotate(in, axis));
}

// Hinges given by frames: anchors coincide, axes are parallel and not opposite.
static void check_hinges(const rig* r, double tolerance)
{
    for (int i = 0; i < tn_scene_joint_count(r->scene); ++i) {
        const tn_joint_id id = {(uint32_t)i + 1};
        CHECK_LESS(rig_distance(tn_state_joint_anchor(r->state, id, 0),
                                tn_state_joint_anchor(r->state, id, 1)),
                   tolerance);
        CHECK_LESS(rig_distance(axis_of(r, i, 0, TNS_Z), axis_of(r, i, 1, TNS_Z)), tolerance);
    }
}

// ---- What closes ---------------------------------------------------------------------------------

TEST(a_fourbar_is_put_together_from_anywhere)
{
    const tn_body_kind kinds[] = {TN_BODY_RIGID, TN_BODY_PLANAR};
    for (int k = 0; k < 2; ++k) {
        rig r = make_fourbar(kinds[k], 0.3, 0.8, 0.6, 0.8);
        rig_ready(&r);
        for (uint64_t seed = 0; seed < SEEDS; ++seed) {
            throw_about(&r, seed, 2, 3.1);
            const tn_assembly report = assemble(&r);
            check_hinges(&r, closed);
            CHECK(report.error_before > 0.01);
            CHECK_LESS(report.error_after, closed);
            CHECK_LESS(report.turned, 3.2);
            for (uint32_t i = 1; i <= 4; ++i)
                CHECK_LESS(tn_state_joint_velocity_error(r.state, (tn_joint_id){i}), 1e-10);
        }
        rig_free(&r);
    }
}

static void check_exploded(const char* spec, double far, double turn, int seeds)
{
    rig r = rig_builtin(spec);
    for (int seed = 1; seed <= seeds; ++seed) {
        throw_about(&r, (uint64_t)seed, far, turn);
        CHECK_LESS(assemble(&r).error_after, 1e-12); // metres across
    }
    rig_free(&r);
}

TEST(exploded_linkages_come_together)
{
    check_exploded("peaucellier", 0.5, 1, SEEDS / 20);
    check_exploded("strandbeest:legs=1", 0.3, 1, SEEDS / 20);
    check_exploded("slider_crank", 1, 3, SEEDS / 20);
    check_exploded("slider_crank:motor=5", 1, 3, SEEDS / 20);
    check_exploded("bricard", 0.3, 1, SEEDS / 20);
    check_exploded("scissor:segments=4", 0.5, 1, SEEDS / 40);
    check_exploded("differential", 1, 3, SEEDS / 20);
}

// A random start never has inverted affine bodies.
static void straighten(random_mechanism* m)
{
    for (int i = 1; i < m->body_count; ++i) {
        const tn_body_id id = {(uint32_t)i};
        if (m->kinds[i] == RANDOM_AFFINE)
            CHECK_OK(tn_state_set_pose(m->state, id, tn_state_pose(m->state, id)));
    }
}

// Thin rods must not spin about their own axes instead of moving.
TEST(a_chain_comes_together_in_few_rounds)
{
    rig r   = rig_builtin("chain:n=10");
    int sum = 0;
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        throw_about(&r, seed, 2, 3);
        sum += assemble(&r).round_count;
    }
    CHECK_LESS(sum, 1000); // 500, and 4,600 with their true inertia
    rig_free(&r);
}

// A long chain descends very slowly. Link by link it closes at once.
TEST(a_long_chain_comes_together)
{
    rig r = rig_builtin("chain:n=300");
    for (uint64_t seed = 1; seed <= 2; ++seed) {
        throw_about(&r, seed, 5, 3);
        const tn_assembly report = assemble(&r);
        CHECK_LESS(report.error_after, 1e-12); // tens of metres long
        CHECK_LESS(report.round_count, 450);   // those of one descent, and hardly more
    }
    rig_free(&r);
}

// Bodies of all kinds, joints of all types, motors and keyed bodies.
TEST(trees_always_come_together)
{
    int done = 0;
    for (uint64_t seed = 0; seed < FORESTS; ++seed) {
        test_random       g = {seed};
        random_mechanism* m = random_forest(&g, 12);
        tn_stepper*       stepper;
        tn_why            why = {.text = ""};
        CHECK_OK(tn_stepper_create(m->model, NULL, &stepper, &why));
        random_disturb(m, &g, seed % 2 ? 1 : 0.2, 1);
        straighten(m);
        tn_assembly     report;
        const tn_result result = tn_stepper_assemble(stepper, m->state, &report, &why);
        test_check(result == TN_OK, __FILE__, __LINE__, "seed %d: %s", (int)seed, why.text);
        for (int i = 1; i <= m->model->named_count; ++i) {
            const tn_joint_id id = {(uint32_t)i};
            CHECK_LESS(tn_state_joint_error(m->state, id),
                       1e-11); // masses from 0.1 to 10, arms likewise
            CHECK_LESS(tn_state_joint_velocity_error(m->state, id), 1e-9);
        }
        done += result == TN_OK;
        tn_stepper_free(stepper);
        random_mechanism_free(m);
    }
    CHECK_INT(done, FORESTS);
}

// Body by body, in either order of the two bodies and out of order in the scene: closed in one
// pass.
TEST(body_by_body_assembly_closes_trees_exactly)
{
    const tn_joint_type types[]  = {TN_JOINT_HINGE,         TN_JOINT_WELD,    TN_JOINT_SLIDER,
                                    TN_JOINT_BALL,          TN_JOINT_PLANE,   TN_JOINT_SCREW,
                                    TN_JOINT_POINT_ON_LINE, TN_JOINT_CYLINDER};
    rig                 r        = rig_make(tns_vec(0, 0, 0));
    tn_body_id          bars[17] = {TNS_GROUND};
    for (int i = 1; i <= 16; ++i)
        bars[i] = add_bar(&r, i % 5 ? TN_BODY_RIGID : TN_BODY_AFFINE, NULL, 1, 1);
    for (int n = 0; n < 16; ++n) {
        const int    i   = 5 * n % 16; // 0, 5, 10, ...
        tn_joint_def def = tn_default_joint_def(types[n % 8]);
        def.form         = TN_JOINT_BY_FRAMES;
        def.pitch        = 0.1;
        def.body1 = bars[n % 3 ? i : i + 1], def.body2 = bars[n % 3 ? i + 1 : i];
        def.frame1 = (tn_frame){tns_vec(0.5, 0.1, 0), tns_turn_about(TNS_X, 0.1 * n)};
        def.frame2 = (tn_frame){tns_vec(-0.5, 0, 0.1), tns_turn_about(TNS_Y, 0.07 * n)};
        CHECK(tn_scene_add_joint(r.scene, &def).bits > 0);
    }
    rig_ready(&r);
    tni_lm* align;
    CHECK_OK(tni_lm_create(r.model, &align));
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        throw_about(&r, seed, 3, 3);
        const tni_configuration at = {0, r.state->q, NULL, r.state->z};
        tni_lm_assemble_tree(align, &at, r.state->q);
        for (int i = 0; i < 16; ++i) {
            CHECK_LESS(tn_state_joint_error(r.state, (tn_joint_id){(uint32_t)i + 1}), 1e-13);
            if (types[i % 8] == TN_JOINT_BALL || types[i % 8] == TN_JOINT_POINT_ON_LINE) continue;
            CHECK_LESS(rig_distance(axis_of(&r, i, 0, TNS_Z), axis_of(&r, i, 1, TNS_Z)), 1e-13);
        }
    }
    tni_lm_free(align);
    rig_free(&r);
}

// A scene that nearly closes stays nearly where it was: bodies move by the errors, not more.
TEST(what_nearly_closes_hardly_moves)
{
    rig r = rig_builtin("strandbeest:legs=1");
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        throw_about(&r, seed, 1e-4, 1e-4);
        const tn_assembly report = assemble(&r);
        CHECK(report.moved > 0);
        CHECK_LESS(report.moved, 1e-3);
        CHECK_LESS(report.turned, 1e-2);
        CHECK(report.moved_body.bits > 0);
    }
    rig_free(&r);
}

TEST(an_assembled_state_does_not_change)
{
    const char* specs[] = {"fourbar", "peaucellier", "bricard", "humanoid", "chain", "scissor"};
    for (int i = 0; i < 6; ++i) {
        rig               r      = rig_builtin(specs[i]);
        const uint64_t    before = tn_state_hash(r.state);
        const tn_assembly report = assemble(&r);
        CHECK(tn_state_hash(r.state) == before);
        CHECK_INT(report.round_count, 0);
        CHECK(report.moved == 0 && report.turned == 0);
        CHECK(report.error_after == report.error_before);
        rig_free(&r);
    }
}

// The same during a motion: closed to rounding, moving.
TEST(a_closed_moving_state_does_not_change)
{
    rig r = rig_builtin("fourbar");
    rig_run(&r, 1e-3, 300);
    const uint64_t before = tn_state_hash(r.state);
    assemble(&r);
    CHECK(tn_state_hash(r.state) == before);
    rig_free(&r);
}

// The motor of a machine at rest: bodies stay, speeds are those of the motor.
TEST(velocities_are_corrected_without_moving_bodies)
{
    rig          r     = rig_builtin("strandbeest:legs=1");
    const size_t bytes = sizeof(double) * (size_t)r.model->q_count;
    double*      q     = malloc(bytes);
    memcpy(q, r.state->q, bytes);
    CHECK_INT(assemble(&r).round_count, 0);
    CHECK(memcmp(q, r.state->q, bytes) == 0);
    for (int i = 1; i <= r.model->named_count; ++i)
        CHECK_LESS(tn_state_joint_velocity_error(r.state, (tn_joint_id){(uint32_t)i}), 1e-10);
    free(q);
    rig_free(&r);
}

// Singular start: all bars in one line, a symmetric saddle. The ground is shorter than the bars
// together, so it closes only bent.
TEST(a_straight_ring_buckles_and_closes)
{
    rig r = make_fourbar(TN_BODY_RIGID, 0.5, 0.5, 0.5, 0.9);
    rig_ready(&r);
    for (int i = 0; i < 3; ++i)
        CHECK_OK(tn_state_set_pose(r.state, (tn_body_id){(uint32_t)i + 1},
                                   tns_frame(tns_vec(0.25 + 0.5 * i, 0, 0))));
    assemble(&r);
    check_hinges(&r, closed);
    rig_free(&r);
}

// Fully stretched: closes in one configuration only, where the rows are dependent.
TEST(a_ring_that_just_closes_is_closed)
{
    rig r = make_fourbar(TN_BODY_RIGID, 0.25, 0.5, 0.25, 1);
    rig_ready(&r);
    for (uint64_t seed = 1; seed <= 5; ++seed) {
        throw_about(&r, seed, 0.3, 1);
        CHECK_LESS(assemble(&r).error_after, 1e-9);
    }
    rig_free(&r);
}

TEST(welds_and_sliders_get_the_right_orientation)
{
    const tn_joint_type types[] = {TN_JOINT_WELD, TN_JOINT_SLIDER, TN_JOINT_HINGE,
                                   TN_JOINT_CYLINDER, TN_JOINT_PLANE};
    for (int t = 0; t < 5; ++t) {
        for (int kind = 0; kind < 2; ++kind) {
            rig              r = rig_make(tns_vec(0, 0, 0));
            const tn_body_id a = add_bar(&r, TN_BODY_RIGID, "a", 1, 1);
            const tn_body_id b = add_bar(&r, kind ? TN_BODY_AFFINE : TN_BODY_RIGID, "b", 1, 1);
            add_pin(&r, types[t], "a", TNS_GROUND, tns_vec(1, 2, 3), a, tns_vec(-0.5, 0, 0));
            add_pin(&r, types[t], "b", a, tns_vec(0.5, 0, 0), b, tns_vec(-0.5, 0, 0));
            rig_ready(&r);
            for (uint64_t seed = 1; seed <= 20; ++seed) {
                throw_about(&r, seed, 1, 3.14159);
                assemble(&r);
                // Rotated, not stretched: 1 J would double its size
                CHECK_LESS(tn_state_energy(r.state).elastic, 1e-4);
                for (int i = 0; i < 2; ++i) {
                    const tn_vec3 z1 = axis_of(&r, i, 0, TNS_Z), z2 = axis_of(&r, i, 1, TNS_Z);
                    CHECK(tns_dot(z1, z2) > 0.5); // affine bodies may be stretched on the way
                    if (t < 2)
                        CHECK(tns_dot(axis_of(&r, i, 0, TNS_X), axis_of(&r, i, 1, TNS_X)) > 0.5);
                    CHECK_LESS(tn_state_joint_error(r.state, (tn_joint_id){(uint32_t)i + 1}),
                               1e-12);
                }
            }
            rig_free(&r);
        }
    }
}

// Planar: a slider along x on the ground, and a weld, neither of which may end half a turn off.
TEST(planar_frames_get_the_right_orientation)
{
    rig              r     = rig_make(tns_vec(0, 0, 0));
    const tn_body_id a     = add_bar(&r, TN_BODY_PLANAR, "a", 1, 1),
                     b     = add_bar(&r, TN_BODY_PLANAR, "b", 1, 1);
    tn_joint_def def       = tn_default_joint_def(TN_JOINT_SLIDER);
    def.form               = TN_JOINT_BY_FRAMES;
    def.body2              = a;
    def.frame1.orientation = def.frame2.orientation = tns_turn(TNS_Z, TNS_X);
    CHECK(tn_scene_add_joint(r.scene, &def).bits > 0);
    add_pin(&r, TN_JOINT_WELD, "b", a, tns_vec(0.5, 0, 0), b, tns_vec(-0.5, 0, 0));
    rig_ready(&r);
    for (uint64_t seed = 1; seed <= 40; ++seed) {
        throw_about(&r, seed, 1, 3.14159);
        assemble(&r);
        CHECK_NEAR(rig_axis(&r, a, TNS_X).x, 1, 1e-14);
        CHECK_NEAR(rig_axis(&r, b, TNS_X).x, 1, 1e-14);
    }
    rig_free(&r);
}

// Axes that the author set opposite, in a closed joint, stay so.
TEST(a_closed_joint_is_not_turned_round)
{
    rig              r     = rig_make(tns_vec(0, 0, 0));
    const tn_body_id a     = add_bar(&r, TN_BODY_RIGID, "a", 1, 1),
                     b     = add_bar(&r, TN_BODY_RIGID, "b", 1, 1);
    tn_joint_def def       = tn_default_joint_def(TN_JOINT_HINGE);
    def.form               = TN_JOINT_BY_FRAMES;
    def.body2              = a;
    def.frame2.orientation = (tn_quat){0, 1, 0, 0}; // half a turn about x
    CHECK(tn_scene_add_joint(r.scene, &def).bits > 0);
    add_pin(&r, TN_JOINT_HINGE, "b", a, tns_vec(0.5, 0, 0), b, tns_vec(-0.4, 0, 0.1));
    rig_ready(&r);
    const tn_assembly report = assemble(&r);
    CHECK_NEAR(report.error_before, 0.9, 1e-12);
    CHECK_NEAR(tns_dot(axis_of(&r, 0, 0, TNS_Z), axis_of(&r, 0, 1, TNS_Z)), -1, 1e-14);
    CHECK_LESS(report.turned, 1.5);
    rig_free(&r);
}

// ---- Coordinates and speeds ----------------------------------------------------------------------

// Angles keep their number of full turns; a screw's follows from its slide.
TEST(angles_come_out_right)
{
    rig              r = rig_make(tns_vec(0, 0, 0));
    const tn_body_id a = add_bar(&r, TN_BODY_RIGID, "a", 1, 1),
                     b = add_bar(&r, TN_BODY_RIGID, "b", 1, 1);
    const tn_joint_id pin =
        add_pin(&r, TN_JOINT_HINGE, "pin", TNS_GROUND, tns_vec(0, 0, 0), a, tns_vec(0, 0, 0));
    tn_joint_def def       = tn_default_joint_def(TN_JOINT_SCREW);
    def.form               = TN_JOINT_BY_FRAMES;
    def.body2              = b;
    def.pitch              = 0.1;
    const tn_joint_id bolt = tn_scene_add_joint(r.scene, &def);
    rig_ready(&r);
    const double angles[2] = {20.5, 13}; // three turns, two turns
    CHECK_OK(tn_state_set_joints(r.state, angles, NULL, NULL));
    tn_frame pose = tn_state_pose(r.state, a);
    pose.position = tns_vec(0.3, 0.1, -0.2);
    CHECK_OK(tn_state_set_pose(r.state, a, pose));
    pose            = tn_state_pose(r.state, b);
    pose.position.x = 0.2;
    CHECK_OK(tn_state_set_pose(r.state, b, pose));
    assemble(&r);
    CHECK_NEAR(rig_angle(&r, pin), 20.5, 1e-12);
    CHECK_NEAR(rig_angle(&r, bolt), 13, 1e-9);
    CHECK_NEAR(tn_state_pose(r.state, b).position.z, 0.1 * 13 / 6.283185307179586, 1e-9);
    rig_free(&r);
}

// A nut held 0.12 m up by another joint: a rotation of 7 rad at 0.1 m a turn is 0.111 m, so it is
// screwed on by more than a full turn, and the angle shows it.
TEST(a_screw_counts_its_turns)
{
    rig              r   = rig_make(tns_vec(0, 0, 0));
    const tn_body_id a   = add_bar(&r, TN_BODY_RIGID, "a", 0.1, 1);
    tn_joint_def     def = tn_default_joint_def(TN_JOINT_SCREW);
    def.form = TN_JOINT_BY_FRAMES, def.body2 = a, def.pitch = 0.1;
    const tn_joint_id bolt = tn_scene_add_joint(r.scene, &def);
    add_pin(&r, TN_JOINT_POINT_ON_PLANE, "height", TNS_GROUND, tns_vec(0, 0, 0.12), a,
            tns_vec(0, 0, 0));
    rig_ready(&r);
    assemble(&r);
    CHECK_LESS(tn_state_joint_error(r.state, bolt), closed);
    CHECK_NEAR(tn_state_pose(r.state, a).position.z, 0.12, closed);
    CHECK_NEAR(rig_angle(&r, bolt), 1.2 * 6.283185307179586, 1e-11);
    rig_free(&r);
}

// Motors and gears prescribe velocities only. They do not obstruct assembly, and the velocities fit
// them afterwards.
TEST(motors_and_gears_run_at_their_speeds)
{
    rig              r      = rig_make(tns_vec(0, 0, -9.81));
    const tn_body_id a      = add_bar(&r, TN_BODY_RIGID, "a", 0.3, 1),
                     b      = add_bar(&r, TN_BODY_RIGID, "b", 0.3, 1);
    tn_joint_def def        = tn_default_joint_def(TN_JOINT_MOTOR);
    def.form                = TN_JOINT_BY_FRAMES;
    def.of                  = TN_JOINT_HINGE;
    def.body2               = a;
    def.velocity            = 3;
    const tn_joint_id motor = tn_scene_add_joint(r.scene, &def);
    const tn_joint_id wheel =
        add_pin(&r, TN_JOINT_HINGE, "wheel", TNS_GROUND, tns_vec(1, 0, 0), b, tns_vec(0.1, 0, 0));
    const tn_joint_id both[2] = {wheel, motor};
    tn_coupling_def   gear    = tn_default_coupling_def(TN_COUPLING_GEAR);
    gear.joints = both, gear.joint_count = 2, gear.ratio = -2;
    CHECK(tn_scene_add_coupling(r.scene, &gear).bits != 0);
    rig_ready(&r);
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        throw_about(&r, seed, 1, 3);
        assemble(&r);
        check_hinges(&r, closed);
        CHECK_NEAR(rig_rate(&r, motor), 3, 1e-12);
        CHECK_NEAR(rig_rate(&r, wheel), -6, 1e-12);
    }
    rig_free(&r);
}

// The crank alone would not reach: it must rotate although a motor drives it.
TEST(a_motor_lets_its_crank_be_turned)
{
    rig              r  = rig_make(tns_vec(0, 0, 0));
    const tn_body_id a  = add_bar(&r, TN_BODY_RIGID, "a", 1, 1),
                     b  = add_bar(&r, TN_BODY_RIGID, "b", 1, 1);
    tn_joint_def def    = tn_default_joint_def(TN_JOINT_MOTOR);
    def.form            = TN_JOINT_BY_FRAMES;
    def.of              = TN_JOINT_HINGE;
    def.body2           = a;
    def.frame2.position = tns_vec(-0.5, 0, 0);
    CHECK(tn_scene_add_joint(r.scene, &def).bits > 0);
    add_pin(&r, TN_JOINT_HINGE, "B", a, tns_vec(0.5, 0, 0), b, tns_vec(-0.5, 0, 0));
    add_pin(&r, TN_JOINT_HINGE, "C", TNS_GROUND, tns_vec(-1.9, 0, 0), b, tns_vec(0.5, 0, 0));
    rig_ready(&r);
    CHECK_OK(
        tn_state_set_pose(r.state, a, tns_frame(tns_vec(0.5, 0.1, 0)))); // points the other way
    assemble(&r);
    check_hinges(&r, closed);
    rig_free(&r);
}

// Distances between particles; a kinematic body, at a time between its keys.
TEST(distances_and_keyed_bodies_take_part)
{
    rig          r       = rig_make(tns_vec(0, 0, -9.81));
    const tn_key keys[2] = {{0, tns_frame(tns_vec(0, 0, 2))},
                            {2, {tns_vec(2, 0, 2), tns_turn_about(TNS_Z, 0.25)}}};
    tn_body_def  hand    = tn_default_body_def();
    hand.name = "hand", hand.kind = TN_BODY_KINEMATIC, hand.keys = keys, hand.key_count = 2;
    const tn_body_id at   = tn_scene_add_body(r.scene, &hand);
    const tn_body_id a    = add_bar(&r, TN_BODY_RIGID, "a", 1, 1);
    tn_body_def      ball = tn_default_body_def();
    ball.kind = TN_BODY_PARTICLE, ball.mass = 0.2, ball.pose.position = tns_vec(1, 1, 1);
    const tn_body_id p = tn_scene_add_body(r.scene, &ball);
    add_pin(&r, TN_JOINT_HINGE, "grip", at, tns_vec(0.1, 0, 0), a, tns_vec(-0.5, 0, 0));
    tn_joint_def rod = tn_default_joint_def(TN_JOINT_DISTANCE);
    rod.form = TN_JOINT_BY_POINTS, rod.body1 = a, rod.body2 = p, rod.length = 0.7;
    rod.frame1.position = tns_vec(0.5, 0, 0);
    CHECK(tn_scene_add_joint(r.scene, &rod).bits > 0);
    rig_ready(&r);
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        throw_about(&r, seed, 2, 3);
        r.state->time = 1.5;
        assemble(&r);
        const tn_vec3  grip = tns_place(tn_state_pose(r.state, at), tns_vec(0.1, 0, 0));
        const tn_frame bar  = tn_state_pose(r.state, a);
        CHECK_NEAR(tn_state_pose(r.state, at).position.x, 1.5, 1e-14);
        CHECK_LESS(rig_distance(grip, tns_place(bar, tns_vec(-0.5, 0, 0))), closed);
        CHECK_NEAR(
            rig_distance(tns_place(bar, tns_vec(0.5, 0, 0)), tn_state_pose(r.state, p).position),
            0.7, closed);
    }
    rig_free(&r);
}

// Coincident ends of a distance joint have no direction in which to separate.
TEST(coincident_ends_of_a_distance_separate)
{
    rig         r    = rig_make(tns_vec(0, 0, 0));
    tn_body_def ball = tn_default_body_def();
    ball.kind = TN_BODY_PARTICLE, ball.mass = 1;
    const tn_body_id a   = tn_scene_add_body(r.scene, &ball);
    ball.pose.position.x = 1;
    const tn_body_id b   = tn_scene_add_body(r.scene, &ball);
    tn_joint_def     rod = tn_default_joint_def(TN_JOINT_DISTANCE);
    rod.form = TN_JOINT_BY_POINTS, rod.body1 = a, rod.body2 = b, rod.length = 0.7;
    CHECK(tn_scene_add_joint(r.scene, &rod).bits > 0);
    rig_ready(&r);
    CHECK_OK(tn_state_set_pose(r.state, b, tn_state_pose(r.state, a)));
    assemble(&r);
    CHECK_NEAR(rig_distance(tn_state_pose(r.state, a).position, tn_state_pose(r.state, b).position),
               0.7, closed);
    rig_free(&r);
}

// An auxiliary joint.
TEST(an_auxiliary_joint_takes_part)
{
    rig              r = rig_make(tns_vec(0, 0, 0));
    const tn_body_id a = add_bar(&r, TN_BODY_RIGID, "a", 1, 1),
                     b = add_bar(&r, TN_BODY_RIGID, "b", 1, 1);
    add_pin(&r, TN_JOINT_HINGE, "O", TNS_GROUND, tns_vec(0, 0, 0), a, tns_vec(-0.5, 0, 0));
    add_pin(&r, TN_JOINT_HINGE, "B", a, tns_vec(0.5, 0, 0), b, tns_vec(-0.5, 0, 0));
    tn_joint_def def = tn_default_joint_def(TN_JOINT_BALL);
    def.name = "C", def.form = TN_JOINT_BY_FRAMES, def.body2 = b, def.role = TN_ROLE_AUXILIARY;
    def.frame1.position = tns_vec(1.5, 0, 0), def.frame2.position = tns_vec(0.5, 0, 0);
    CHECK(tn_scene_add_joint(r.scene, &def).bits > 0);
    rig_ready(&r);
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        throw_about(&r, seed, 1, 1);
        CHECK_LESS(assemble(&r).error_after, 1e-12);
    }
    rig_free(&r);
}

// How loops are solved makes no difference to the assembled configuration.
TEST(assembly_does_not_depend_on_how_loops_are_solved)
{
    rig      r = make_fourbar(TN_BODY_RIGID, 0.3, 0.8, 0.6, 0.8);
    uint64_t hash[2];
    rig_ready(&r);
    for (int k = 0; k < 2; ++k) {
        r.settings.multiplier.loops = k ? TN_LOOPS_AUXILIARY : TN_LOOPS_CORE;
        rig_restart(&r);
        throw_about(&r, 3, 1, 2);
        memset(r.state->u, 0, sizeof(double) * (size_t)r.model->u_count);
        assemble(&r);
        hash[k] = tn_state_hash(r.state);
    }
    CHECK(hash[0] == hash[1]);
    rig_free(&r);
}

// ---- What cannot close ---------------------------------------------------------------------------

// Refused: the state keeps its bits, and the reason names one of the joints and the gap.
static void check_refused(rig* r, const char* names, double gap, double tolerance)
{
    tn_assembly     report;
    tn_why          why    = {.text = ""};
    const uint64_t  before = tn_state_hash(r->state);
    const tn_result result = tn_stepper_assemble(r->stepper, r->state, &report, &why);
    char            name[64];
    double          told = 0;
    CHECK_INT(result, TN_ERR_MODEL);
    CHECK(tn_state_hash(r->state) == before);
    const int read =
        sscanf(why.text, "joint '%60[^']' cannot close: its two sides stay %lf", name, &told);
    test_check(read == 2, __FILE__, __LINE__, "reason: %s", why.text);
    if (read != 2) return;
    char word[66];
    snprintf(word, sizeof word, " %s ", name);
    test_check(strstr(names, word) != NULL, __FILE__, __LINE__, "not one of %s: %s", names,
               why.text);
    test_check(fabs(told - gap) <= tolerance * gap, __FILE__, __LINE__, "wanted a gap of %.6g: %s",
               gap, why.text);
    CHECK_TEXT(tn_model_joint_name(r->model, report.worst_joint), name);
}

// The gap of a ring with one side longer than the others together is the difference.
TEST(a_fourbar_that_cannot_close_is_refused_with_its_gap)
{
    const double sides[4][4] = {
        {0.3, 0.5, 0.4, 1.5}, {0.3, 0.2, 0.2, 0.9}, {2, 0.5, 0.4, 0.6}, {0.3, 1.5, 0.4, 0.6}};
    for (int i = 0; i < 4; ++i) {
        for (int k = 0; k < 2; ++k) {
            const double* s       = sides[i];
            const double  longest = fmax(fmax(s[0], s[1]), fmax(s[2], s[3]));
            rig r = make_fourbar(k ? TN_BODY_PLANAR : TN_BODY_RIGID, s[0], s[1], s[2], s[3]);
            rig_ready(&r);
            throw_about(&r, (uint64_t)i, 0.5, 1);
            check_refused(&r, " O B C D ", 2 * longest - s[0] - s[1] - s[2] - s[3],
                          5e-3); // three digits told
            rig_free(&r);
        }
    }
}

TEST(a_slider_out_of_reach_is_refused)
{
    rig              r = rig_make(tns_vec(0, 0, 0));
    const tn_body_id a = add_bar(&r, TN_BODY_RIGID, "crank", 0.3, 1),
                     b = add_bar(&r, TN_BODY_RIGID, "rod", 0.5, 1),
                     c = add_bar(&r, TN_BODY_RIGID, "piston", 0.1, 1);
    add_pin(&r, TN_JOINT_HINGE, "O", TNS_GROUND, tns_vec(0, 0, 0), a, tns_vec(-0.15, 0, 0));
    add_pin(&r, TN_JOINT_HINGE, "B", a, tns_vec(0.15, 0, 0), b, tns_vec(-0.25, 0, 0));
    add_pin(&r, TN_JOINT_HINGE, "C", b, tns_vec(0.25, 0, 0), c, tns_vec(0, 0, 0));
    tn_joint_def def = tn_default_joint_def(TN_JOINT_SLIDER);
    def.name = "rail", def.form = TN_JOINT_BY_FRAMES, def.body2 = c;
    def.frame1 = (tn_frame){tns_vec(0, 1, 0), tns_turn(TNS_Z, TNS_X)}; // along x, one metre up
    def.frame2.orientation = def.frame1.orientation;
    CHECK(tn_scene_add_joint(r.scene, &def).bits > 0);
    rig_ready(&r);
    throw_about(&r, 5, 0.3, 0.5);
    check_refused(&r, " O B C rail ", 0.2, 5e-3);
    rig_free(&r);
}

// Two hinges between the same two bodies, 1 m apart on one and 1.1 m on the other.
TEST(two_contradicting_hinges_are_refused)
{
    rig              r = rig_make(tns_vec(0, 0, 0));
    const tn_body_id a = add_bar(&r, TN_BODY_RIGID, "a", 1, 1),
                     b = add_bar(&r, TN_BODY_RIGID, "b", 1, 1);
    add_pin(&r, TN_JOINT_HINGE, "to_ground", TNS_GROUND, tns_vec(0, 0, 0), a, tns_vec(0, 0, 0));
    add_pin(&r, TN_JOINT_HINGE, "first", a, tns_vec(-0.5, 0, 0), b, tns_vec(-0.5, 0, 0));
    add_pin(&r, TN_JOINT_HINGE, "second", a, tns_vec(0.5, 0, 0), b, tns_vec(0.6, 0, 0));
    rig_ready(&r);
    check_refused(&r, " second ", 0.1, 1e-3);
    throw_about(&r, 7, 1, 3);
    check_refused(&r, " second ", 0.1, 1e-3);
    rig_free(&r);
}

// The gap is the shortest one in any direction: the same, with a skew frame.
TEST(a_gap_is_the_shortest_in_all_directions)
{
    rig              r = rig_make(tns_vec(0, 0, 0));
    const tn_body_id a = add_bar(&r, TN_BODY_RIGID, "a", 1, 1),
                     b = add_bar(&r, TN_BODY_RIGID, "b", 1, 1);
    tn_joint_def def   = tn_default_joint_def(TN_JOINT_WELD);
    def.name = "askew", def.form = TN_JOINT_BY_FRAMES, def.body2 = a;
    def.frame1.orientation = tns_turn_about(TNS_Z, 0.06);
    CHECK(tn_scene_add_joint(r.scene, &def).bits > 0);
    add_pin(&r, TN_JOINT_BALL, "first", a, tns_vec(-0.5, 0, 0), b, tns_vec(-0.5, 0, 0));
    add_pin(&r, TN_JOINT_BALL, "second", a, tns_vec(0.5, 0, 0), b, tns_vec(0.9, 0, 0));
    rig_ready(&r);
    check_refused(&r, " first second ", 0.4, 2e-3);
    rig_free(&r);
}

// Two contradicting motors on one axle; the joints could close. The state does not change all the
// same.
TEST(contradicting_motors_leave_the_state_unchanged)
{
    rig              r   = rig_make(tns_vec(0, 0, 0));
    const tn_body_id a   = add_bar(&r, TN_BODY_RIGID, "a", 1, 1);
    tn_joint_def     def = tn_default_joint_def(TN_JOINT_MOTOR);
    def.form = TN_JOINT_BY_FRAMES, def.of = TN_JOINT_HINGE, def.body2 = a;
    def.frame2.position = tns_vec(0.5, 0, 0);
    for (int i = 1; i <= 2; ++i) {
        def.velocity = i;
        CHECK(tn_scene_add_joint(r.scene, &def).bits > 0);
    }
    rig_ready(&r);
    const uint64_t before = tn_state_hash(r.state);
    CHECK_INT(tn_stepper_assemble(r.stepper, r.state, NULL, NULL), TN_ERR_SINGULAR);
    CHECK(tn_state_hash(r.state) == before);
    rig_free(&r);
}

// Contradicting axes: a gap that is an angle.
TEST(contradicting_axes_are_refused)
{
    rig              r = rig_make(tns_vec(0, 0, 0));
    const tn_body_id a = add_bar(&r, TN_BODY_RIGID, "a", 1, 1);
    add_pin(&r, TN_JOINT_WELD, "held", TNS_GROUND, tns_vec(0, 0, 0), a, tns_vec(0, 0, 0));
    tn_joint_def def = tn_default_joint_def(TN_JOINT_HINGE);
    def.name = "leaning", def.form = TN_JOINT_BY_FRAMES, def.body2 = a;
    def.frame1.orientation = tns_turn_about(TNS_X, 0.1);
    CHECK(tn_scene_add_joint(r.scene, &def).bits > 0);
    rig_ready(&r);
    tn_why why = {.text = ""};
    CHECK_INT(tn_stepper_assemble(r.stepper, r.state, NULL, &why), TN_ERR_MODEL);
    CHECK(strstr(why.text, "rad apart") != NULL);
    rig_free(&r);
}

// Six points, all fifteen distances between them: twelve would do. One is wrong, and it alone is the
// one without which the rest closes.
TEST(the_wrong_bar_of_a_truss_is_named)
{
    for (uint64_t seed = 1; seed <= 6; ++seed) {
        rig         r = rig_make(tns_vec(0, 0, 0));
        test_random g = {seed};
        tn_vec3     at[6];
        tn_body_id  ball[6];
        const int   wrong     = test_random_int(&g, 0, 14);
        char        names[64] = "";
        for (int i = 0; i < 6; ++i) {
            at[i]             = random_vec3(&g, 1);
            tn_body_def def   = tn_default_body_def();
            def.kind          = TN_BODY_PARTICLE;
            def.mass          = random_log_uniform(&g, 0.01, 10);
            def.pose.position = tns_add(at[i], random_vec3(&g, 0.02));
            ball[i]           = tn_scene_add_body(r.scene, &def);
        }
        for (int i = 0, n = 0; i < 6; ++i) {
            for (int j = 0; j < i; ++j, ++n) {
                tn_joint_def   def  = tn_default_joint_def(TN_JOINT_DISTANCE);
                const tns_text name = tns_name("bar%d", n);
                def.name = name.text, def.form = TN_JOINT_BY_POINTS, def.body1 = ball[j],
                def.body2  = ball[i];
                def.length = rig_distance(at[i], at[j]) + (n == wrong ? 0.05 : 0);
                CHECK(tn_scene_add_joint(r.scene, &def).bits > 0);
                if (n == wrong) snprintf(names, sizeof names, " %s ", name.text);
            }
        }
        rig_ready(&r);
        check_refused(&r, names, 0.05, 5e-3);
        rig_free(&r);
    }
}

// A ring that cannot close, with good parts attached to it and next to it, of all masses.
TEST(no_innocent_neighbour_is_named)
{
    const double masses[] = {1e-3, 1, 1e3};
    for (int seed = 0; seed < 9; ++seed) {
        const int  m    = seed % 3;
        rig        r    = make_fourbar(TN_BODY_RIGID, 0.3, 0.5, 0.4, 1.5);
        tn_body_id last = {2};
        for (int i = 0; i < 3; ++i) {
            const tn_body_id next = add_bar(&r, TN_BODY_RIGID, NULL, 0.4, masses[(m + i) % 3]);
            add_pin(&r, TN_JOINT_BALL, NULL, last, tns_vec(0.2, 0, 0), next, tns_vec(-0.2, 0, 0));
            last = next;
        }
        const tn_body_id own = add_bar(&r, TN_BODY_RIGID, NULL, 1, masses[m]);
        add_pin(&r, TN_JOINT_HINGE, NULL, TNS_GROUND, tns_vec(5, 0, 0), own, tns_vec(-0.5, 0, 0));
        rig_ready(&r);
        throw_about(&r, (uint64_t)seed, 0.5, 1);
        check_refused(&r, " O B C D ", 0.3, 5e-3);
        rig_free(&r);
    }
}

// Two rings that cannot close: whichever is named, the gap is its own.
TEST(one_of_two_open_rings_is_named)
{
    rig              r = make_fourbar(TN_BODY_RIGID, 0.3, 0.5, 0.4, 1.5);
    const tn_body_id a = add_bar(&r, TN_BODY_RIGID, "a", 1, 1),
                     b = add_bar(&r, TN_BODY_RIGID, "b", 1, 1);
    add_pin(&r, TN_JOINT_HINGE, "p", TNS_GROUND, tns_vec(0, 5, 0), a, tns_vec(-0.5, 0, 0));
    add_pin(&r, TN_JOINT_HINGE, "q", a, tns_vec(0.5, 0, 0), b, tns_vec(-0.5, 0, 0));
    add_pin(&r, TN_JOINT_HINGE, "s", TNS_GROUND, tns_vec(2.3, 5, 0), b, tns_vec(0.5, 0, 0));
    rig_ready(&r);
    throw_about(&r, 1, 0.2, 0.5);
    check_refused(&r, " O B C D p q s ", 0.3, 5e-3); // both lack 0.3 m
    rig_free(&r);
}

// ---- Memory --------------------------------------------------------------------------------------

// Any allocation may fail; all memory is given back, and the state does not change.
TEST(assembly_gives_back_what_it_takes)
{
    failing_host  f    = failing_host_make();
    const tn_host host = failing_host_of(&f);
    rig           r    = {.settings = rig_settings()};
    tn_why        why  = {.text = ""};
    rig_must(tns_build(&host, "fourbar", &r.scene, &why), "fourbar", &why);
    rig_ready(&r);
    throw_about(&r, 1, 1, 2);
    const int      blocks = f.live_blocks;
    const uint64_t before = tn_state_hash(r.state);
    for (int n = 1;; ++n) {
        failing_host_rewind(&f, n);
        const tn_result result = tn_stepper_assemble(r.stepper, r.state, NULL, &why);
        CHECK_INT(f.live_blocks, blocks);
        if (f.refused == 0) break;
        CHECK_INT(result, TN_ERR_MEMORY);
        CHECK(tn_state_hash(r.state) == before);
    }
    CHECK_INT(f.size_errors, 0);
    CHECK(tn_state_hash(r.state) != before);
    rig_free(&r);
}
