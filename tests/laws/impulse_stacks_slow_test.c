// Long runs of many contacts by the impulse method at frame-rate steps: stacks at rest, machines
// that walk and stand, tongs that hold, piles of people. Sleep is off unless a test says so.
#include "support/contact_rig.h"

static const double screen = 1.0 / 60;

#ifdef TENON_TEST_LIGHT
enum { SHARE = 10 }; // of the time that is simulated
#else
enum { SHARE = 1 };
#endif

static int steps_of(double seconds)
{
    return (int)(60 * seconds) / SHARE;
}

// ---- Standing still ------------------------------------------------------------------------------

enum { BOXES_MAX = 100 };

typedef struct standing {
    rig     r;
    int     count;
    tn_vec3 at[BOXES_MAX], x[BOXES_MAX];
} standing;

static standing make_standing(const char* spec, double sleep)
{
    standing s                 = {.r = contact_builtin(spec)};
    s.r.settings.impulse.sleep = sleep;
    rig_restart(&s.r);
    s.count = tn_model_counts(s.r.model).bodies;
    CHECK(s.count <= BOXES_MAX);
    for (int i = 0; i < s.count; ++i) {
        const tn_body_id id = {(uint32_t)i + 1};
        s.at[i] = contact_place(&s.r, id), s.x[i] = rig_axis(&s.r, id, TNS_X);
    }
    return s;
}

// The largest motion of a box, translation and rotation at a lever of a metre.
static double drift_of(const standing* s)
{
    double most = 0;
    for (int i = 0; i < s->count; ++i) {
        const tn_body_id id = {(uint32_t)i + 1};
        most                = fmax(most, rig_distance(contact_place(&s->r, id), s->at[i]));
        most                = fmax(most, rig_distance(rig_axis(&s->r, id, TNS_X), s->x[i]));
    }
    return most;
}

static void check_standing(const char* spec, double seconds, double sleep)
{
    standing     s    = make_standing(spec, sleep);
    const double E    = rig_energy(&s.r);
    double       most = 0, deep = 0;
    rig_fall     fall = rig_fall_begin(&s.r);
    for (int i = 0; i < steps_of(seconds) && rig_step(&s.r, screen); ++i) {
        rig_fall_note(&s.r, &fall);
        deep = fmax(deep, s.r.report.deepest);
        if (i % 60 == 0) most = fmax(most, drift_of(&s));
    }
    most = fmax(most, drift_of(&s));
    if (contact_tells())
        printf("%s, sleep %g, %g s: drift %.3g, passed %.3g, energy %.3g of %.3g\n", spec, sleep,
               seconds, most, deep, fall.growth, E);
    test_check(most < 1e-3, __FILE__, __LINE__, "%s: drift %g", spec, most);
    test_check(fall.growth < 1e-9 * E, __FILE__, __LINE__, "%s: energy rises by %g", spec,
               fall.growth);
    test_check(deep < 1e-6, __FILE__, __LINE__, "%s: penetration %g m", spec, deep);
    for (int i = 1; sleep > 0 && i <= s.count; ++i)
        CHECK(tn_state_asleep(s.r.state, (tn_body_id){(uint32_t)i}));
    rig_free(&s.r);
}

TEST(a_stack_of_twenty_boxes_stands_for_a_minute)
{
    check_standing("boxes:n=20", 60, 0);
    check_standing("boxes:n=20", 60, 0.5);
}

TEST(a_pyramid_stands_for_a_minute)
{
    check_standing("boxes:n=15,arrangement=pyramid", 60, 0);
    check_standing("boxes:n=55,arrangement=pyramid", 60, 0.5);
}

// A thousand times from the lowest to the highest of four, and of two.
TEST(heavy_boxes_stand_on_light_ones)
{
    check_standing("boxes:n=4,ratio=10", 30, 0);
    check_standing("boxes:n=2,ratio=100", 30, 0);
    check_standing("boxes:n=10,ratio=2.2", 30, 0);
}

// Dropped from a little height, one on the other, they come to rest as a stack.
TEST(a_dropped_stack_comes_to_rest)
{
    standing s    = make_standing("boxes:n=10,gap=0.005", 0);
    rig_fall fall = rig_fall_begin(&s.r);
    for (int i = 0; i < steps_of(30) && rig_step(&s.r, screen); ++i) rig_fall_note(&s.r, &fall);
    CHECK_LESS(fall.growth, 1e-9 * fall.least);
    CHECK_LESS(tn_state_energy(s.r.state).kinetic, 1e-12);
    for (int i = 0; i < s.count; ++i) {
        const tn_vec3 at = contact_place(&s.r, (tn_body_id){(uint32_t)i + 1});
        CHECK_LESS(rig_distance(at, tns_vec(0, 0, 0.1 + 0.2 * i)), 1e-4);
    }
    rig_free(&s.r);
}

// ---- Walking and standing machines ---------------------------------------------------------------

TEST(a_machine_walks_for_half_a_minute)
{
    rig              r     = contact_builtin("strandbeest:walk=on");
    const tn_body_id frame = contact_body(&r, "frame");
    const tn_vec3    start = contact_place(&r, frame);
    double           deep = 0, upright = 1, low = 1e9;
    for (int i = 0; i < steps_of(30) && rig_step(&r, screen); ++i) {
        deep    = fmax(deep, r.report.deepest);
        upright = fmin(upright, rig_axis(&r, frame, TNS_Z).z);
        low     = fmin(low, contact_place(&r, frame).z - start.z);
    }
    const double way = fabs(contact_place(&r, frame).x - start.x);
    if (contact_tells())
        printf("walked %.3f m (%.3f aside), joints %.3g, passed %.3g, upright %.4f, lowest %.4f\n",
               way, contact_place(&r, frame).y - start.y, r.joint_error, deep, upright, low);
    CHECK_LESS(r.joint_error, 1e-6);
    CHECK_LESS(deep, 1e-5);
    CHECK(way > 15.0 / SHARE);
    CHECK(upright > 0.99);
    CHECK(low > -0.1);
    rig_free(&r);
}

static void drop_machine(const char* spec)
{
    rig       r    = contact_builtin(spec);
    double    deep = 0, E = rig_energy(&r);
    const int count = steps_of(3) < 60 ? 60 : steps_of(3);
    for (int i = 0; i < count && rig_step(&r, screen); ++i) deep = fmax(deep, r.report.deepest);
    if (contact_tells())
        printf("%s: joints %.3g, passed %.3g, kinetic %.3g of %.3g\n", spec, r.joint_error, deep,
               tn_state_energy(r.state).kinetic, E);
    test_check(r.joint_error < 1e-6, __FILE__, __LINE__, "%s: joint error %g", spec, r.joint_error);
    test_check(deep < 1e-5, __FILE__, __LINE__, "%s: penetration %g m", spec, deep);
    const double kinetic = tn_state_energy(r.state).kinetic;
    test_check(kinetic < 1e-6 * E, __FILE__, __LINE__, "%s: still moves, %g J", spec, kinetic);
    rig_free(&r);
}

TEST(a_dropped_machine_rests)
{
    drop_machine("strandbeest:walk=stand,legs=50,drop=0.4");
#ifndef TENON_TEST_LIGHT
    drop_machine("strandbeest:walk=stand,legs=50,drop=0.4,load=5");
    drop_machine("strandbeest:walk=stand,legs=50,drop=0.4,load=20");
#endif
}

// ---- Tongs ---------------------------------------------------------------------------------------

// Once lifted, the box stays where it is to the palm.
TEST(tongs_hold_a_thousand_times_their_weight)
{
    rig              r   = contact_builtin("gripper");
    const tn_body_id box = contact_body(&r, "box"), palm = contact_body(&r, "palm");
    const double     far  = contact_place(&r, box).z - contact_place(&r, palm).z;
    double           slip = 0;
    for (int i = 0; i < steps_of(10) && rig_step(&r, screen); ++i) {
        const double now = contact_place(&r, box).z - contact_place(&r, palm).z;
        slip             = fmax(slip, fabs(now - far));
    }
    if (contact_tells())
        printf("tongs: slip %.3g, joints %.3g, lifted %.3f\n", slip, r.joint_error,
               contact_place(&r, box).z - 0.15);
    CHECK_LESS(slip, 1e-3);
    CHECK_LESS(r.joint_error, 1e-9);
#ifndef TENON_TEST_LIGHT
    CHECK_NEAR(contact_place(&r, box).z, 0.15 + 0.375, 1e-3);
#endif
    rig_free(&r);
}

// ---- People --------------------------------------------------------------------------------------

TEST(people_pile_up)
{
    rig r                    = contact_builtin("ragdoll_pile:n=4");
    r.settings.impulse.sleep = 0.5;
    rig_restart(&r);
    double   deep = 0;
    rig_fall fall = rig_fall_begin(&r);
    for (int i = 0; i < 180 && rig_step(&r, screen); ++i) {
        deep = fmax(deep, r.report.deepest);
        rig_fall_note(&r, &fall);
    }
    if (contact_tells())
        printf("people: passed %.3g, energy %.3g of %.3g, joints %.3g\n", deep, fall.growth,
               fall.least, r.joint_error);
    CHECK_LESS(deep, 3e-4); // 1 % of the least radius
    CHECK_LESS(fall.growth, 1e-6 * fall.least);
    CHECK_LESS(r.joint_error, 1e-6);
    rig_free(&r);
}
