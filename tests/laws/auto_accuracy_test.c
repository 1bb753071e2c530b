// Accuracy asked for: errors fall with it, quiet motion costs nothing more than the estimate, and the bits are those of
// the state. And the forces that are evaluated after a step.
#include "support/auto_rig.h"
#include "support/contact_rig.h"

enum { BODIES_MAX = 32 };

typedef struct ends {
    tn_vec3 at[BODIES_MAX];
    int     pieces; ///< of a second
} ends;

static ends after_a_second(rig* r, double h, double accuracy)
{
    ends e;
    r->settings.accuracy = accuracy;
    rig_restart(r);
    e.pieces        = 0;
    const int steps = (int)floor(1 / h + 0.5);
    for (int i = 0; i < steps && rig_step(r, h); ++i) e.pieces += r->report.substep_count;
    for (int i = 0; i < tn_model_counts(r->model).bodies; ++i)
        e.at[i] = tn_state_pose(r->state, (tn_body_id){(uint32_t)i + 1}).position;
    return e;
}

static double apart(const rig* r, const ends* a, const ends* b)
{
    double most = 0;
    for (int i = 0; i < tn_model_counts(r->model).bodies; ++i)
        most = fmax(most, tns_length(tns_sub(a->at[i], b->at[i])));
    return most;
}

// Against steps of 1/60000 s of the multiplier method, which is of fourth order. size: about that of the mechanism.
static void check_accuracy(rig* r, double size, double growth)
{
    const tn_settings settings = r->settings;
    r->settings                = rig_settings();
    const ends exact           = after_a_second(r, 1.0 / 6000, 0);
    r->settings                = settings;
    double before              = HUGE_VAL;
    int    pieces              = 0;
    for (double accuracy = 1e-3; accuracy > 5e-7; accuracy *= 0.1) {
        const ends   e     = after_a_second(r, auto_h, accuracy);
        const double error = apart(r, &e, &exact);
        CHECK_LESS(error, growth * accuracy * size);
        CHECK(error <= 1.01 * before + 2 * accuracy * size);
        CHECK(e.pieces >= pieces);
        before = error;
        pieces = e.pieces;
    }
    const ends rough = after_a_second(r, auto_h, 0);
    CHECK(apart(r, &rough, &exact) > 10 * before);
    CHECK(pieces > 5 * rough.pieces);
    rig_free(r);
}

// A pendulum of 1 m, from level.
TEST(a_pendulum_is_as_accurate_as_asked)
{
    rig              r    = auto_make(tns_vec(0, 0, -rig_g));
    const tn_body_id body = rig_add_body(&r, 1, tns_vec(0.08, 0.08, 0.01), tns_vec(0.5, 0, 0));
    rig_add_joint(&r, TN_JOINT_HINGE, (tn_body_id){0}, body, tns_vec(0, 0, 0), tns_vec(0, 1, 0));
    rig_ready(&r);
    check_accuracy(&r, 1, 10);
}

// A top that spins at 125 rad/s, 9 cm above its tip.
TEST(a_top_is_as_accurate_as_asked)
{
    rig         r        = auto_make(tns_vec(0, 0, -rig_g));
    tn_body_def def      = rig_body(0.5, tns_vec(2e-4, 2e-4, 3e-4), tns_vec(0.04, 0, 0.08));
    def.pose.orientation = (tn_quat){0.97324898946773, 0, 0.22975292054736, 0};
    def.velocity.linear  = tns_vec(0, -0.4, 0);
    def.velocity.angular = tns_vec(60, 0, 110);
    const tn_body_id top = tn_scene_add_body(r.scene, &def);
    rig_add_joint(&r, TN_JOINT_BALL, (tn_body_id){0}, top, tns_vec(0, 0, 0), tns_vec(0, 0, 1));
    rig_ready(&r);
    check_accuracy(&r, 0.1, 100);
}

TEST(linkages_and_chains_are_as_accurate_as_asked)
{
    rig fourbar = auto_builtin("fourbar"), chain = auto_builtin("chain:n=5");
    check_accuracy(&fourbar, 3, 10);
    check_accuracy(&chain, 0.5, 100);
}

// ---- What it costs ---------------------------------------------------------------------------------

// A bob that hangs at rest needs three pieces a step; the same swung needs more; slow again, few again.
TEST(quiet_motion_costs_the_estimate_only)
{
    rig r               = auto_builtin("chain:n=3");
    r.settings.accuracy = 1e-5;
    rig_restart(&r);
    CHECK(rig_step(&r, auto_h));
    for (int i = 0; i < 20; ++i) CHECK(rig_step(&r, auto_h));
    CHECK(r.report.substep_count > 3);
    rig_free(&r);
    rig still               = auto_builtin("boxes:n=3");
    still.settings.accuracy = 1e-6;
    rig_restart(&still);
    for (int i = 0; i < 20; ++i) {
        CHECK(rig_step(&still, auto_h));
        CHECK_INT(still.report.substep_count, 3);
    }
    rig_free(&still);
}

// A ball that bounces once: an impact is dealt at the start of its piece, so its time must be found.
TEST(an_impact_is_found_in_time)
{
    rig r               = auto_builtin("bounce");
    r.settings.accuracy = 1e-4;
    rig_restart(&r);
    const double fall = sqrt(2 / rig_g), rest = 0.7 - fall; // from 1 m
    for (int i = 0; i < 42; ++i) CHECK(rig_step(&r, auto_h));
    const double z = tn_state_pose(r.state, (tn_body_id){1}).position.z;
    CHECK_NEAR(tn_state_time(r.state), 0.7, 1e-12);
    CHECK_NEAR(z, 0.1 + 0.8 * rig_g * fall * rest - 0.5 * rig_g * rest * rest, 2e-4);
    rig_free(&r);
}

// ---- A step is a function of the state -------------------------------------------------------------

TEST(a_copied_state_goes_on_with_the_same_bits)
{
    rig r               = auto_builtin("chain:n=5");
    r.settings.accuracy = 1e-4;
    rig_restart(&r);
    for (int i = 0; i < 30; ++i) {
        tn_state*   copy;
        tn_stepper* fresh;
        rig_must(tn_state_create(r.model, &copy), "state", NULL);
        rig_must(tn_stepper_create(r.model, &r.settings, &fresh, NULL), "stepper", NULL);
        tn_state_copy(copy, r.state);
        CHECK(rig_step(&r, auto_h));
        CHECK_OK(tn_stepper_step(fresh, copy, auto_h, NULL, NULL));
        CHECK(tn_state_hash(copy) == tn_state_hash(r.state));
        tn_stepper_free(fresh);
        tn_state_free(copy);
    }
    rig_free(&r);
}

TEST(other_methods_refuse_it_in_one_line)
{
    static const tn_method methods[] = {TN_METHOD_MULTIPLIER, TN_METHOD_IMPLICIT,
                                        TN_METHOD_ADAPTIVE};
    rig                    r         = auto_builtin("fourbar");
    for (int i = 0; i < 3; ++i) {
        tn_stepper* stepper = NULL;
        tn_why      why     = {.text = ""};
        r.settings.method   = methods[i];
        r.settings.accuracy = 1e-3;
        CHECK(tn_stepper_create(r.model, &r.settings, &stepper, &why) == TN_ERR_UNSUPPORTED);
        CHECK(stepper == NULL && strstr(why.text, "accuracy") != NULL &&
              strstr(why.text, tn_method_word(methods[i])) != NULL);
    }
    rig_free(&r);
}

// ---- Forces evaluated after a step -----------------------------------------------------------------

// A bob on a stiff spring along a mast, and a disc that a torque of 3 N m turns against a damper: after a second the
// foot of the mast carries both, by statics. With the springs' half kick still in the matrix, as it once was, a force F
// came out as F (1 + h/2).
TEST(forces_after_a_step_are_those_of_statics)
{
    rig               r    = auto_make(tns_vec(0, 0, -rig_g));
    const tn_body_id  mast = rig_add_body(&r, 2, tns_vec(0.1, 0.1, 0.1), tns_vec(0, 0, 1));
    const tn_body_id  bob  = rig_add_body(&r, 1, tns_vec(0.1, 0.1, 0.1), tns_vec(0, 0, 1.5));
    const tn_body_id  disc = rig_add_body(&r, 1, tns_vec(0.1, 0.1, 0.1), tns_vec(0, 0, 2));
    const tn_vec3     up   = tns_vec(0, 0, 1);
    const tn_joint_id foot =
        rig_add_joint(&r, TN_JOINT_WELD, (tn_body_id){0}, mast, tns_vec(0, 0, 0), up);
    tn_joint_def rail = tns_joint(TN_JOINT_SLIDER, mast, bob, tns_vec(0, 0, 1.5), up),
                 axle = tns_joint(TN_JOINT_HINGE, mast, disc, tns_vec(0, 0, 2), up);
    rail.stiffness    = 1e4;
    rail.damping      = 300;
    axle.force[0]     = 3;
    tn_scene_add_joint(r.scene, &rail);
    tn_scene_add_joint(r.scene, &axle);
    tn_drag_def drag = tn_default_drag_def();
    drag.body        = disc;
    drag.angular     = 20;
    CHECK(tn_scene_add_drag(r.scene, &drag).bits > 0);
    rig_ready(&r);
    for (int i = 0; i < 120; ++i) CHECK(rig_step(&r, auto_h));
    CHECK_OK(tn_stepper_evaluate(r.stepper, r.state, NULL, NULL));
    const tn_wrench w = tn_stepper_reaction(r.stepper, foot);
    CHECK_NEAR(w.force.z, 4 * rig_g, 1e-6);
    CHECK_NEAR(w.torque.z, 3, 1e-6);
    rig_free(&r);
}

// Two boxes, one on the other, on the floor: contacts with gaps of rounding carry them.
TEST(contacts_carry_their_load_when_evaluated)
{
    rig r = auto_builtin("boxes:n=2");
    for (int i = 0; i < 20; ++i) CHECK(rig_step(&r, auto_h));
    CHECK_OK(tn_stepper_evaluate(r.stepper, r.state, NULL, NULL));
    int         count;
    tn_contact* contacts = rig_contacts(r.stepper, &count);
    double      floor = 0, mass = 0;
    for (int i = 0; i < count; ++i) {
        if (contacts[i].body1.bits == 0) floor += contacts[i].force.z;
        if (contacts[i].body2.bits == 0) floor -= contacts[i].force.z;
    }
    for (uint32_t b = 1; b <= (uint32_t)tn_model_counts(r.model).bodies; ++b)
        mass += tn_model_body_mass(r.model, (tn_body_id){b});
    CHECK_NEAR(floor, mass * rig_g, 1e-3 * mass * rig_g);
    free(contacts);
    rig_free(&r);
}
