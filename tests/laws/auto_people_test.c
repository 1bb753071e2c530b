// Characters with stiff joints and stiff drives by the default method without a setting, at 1/60 s:
// joints closed, nothing wild, and near to what the implicit method finds with eight times the steps
// (two-step differences, iterated to the end).
#include "support/auto_rig.h"
#include "support/contact_rig.h"

enum { FRAMES = 60, FINER = 8, BODIES_MAX = 100 };

typedef struct motion {
    int     bodies;
    tn_vec3 at[FRAMES][BODIES_MAX]; ///< where the bodies are after each 1/60 s
} motion;

// walks: driven by a recorded walk.
static rig make_character(const char* spec, bool walks)
{
    rig    r   = {.settings = auto_settings()};
    tn_why why = {.text = ""};
    rig_must(tns_build(NULL, spec, &r.scene, &why), spec, &why);
    if (walks) {
        tn_mocap*              walk;
        const tn_mocap_options options = tn_default_mocap_options();
        rig_must(tn_mocap_read_file(NULL, "scenes/walk.bvh", &walk, &why), "walk", &why);
        rig_must(tn_mocap_drive(r.scene, walk, &options, NULL, &why), "drive", &why);
        tn_mocap_free(walk);
    }
    return r;
}

static void record(rig* r, int steps, motion* m)
{
    rig_ready(r);
    m->bodies = tn_model_counts(r->model).bodies;
    CHECK(m->bodies <= BODIES_MAX);
    for (int f = 0; f < FRAMES; ++f) {
        for (int k = 0; k < steps && rig_step(r, auto_h / steps); ++k)
            CHECK_INT(r->report.unclosed_count, 0);
        for (int b = 0; b < m->bodies; ++b)
            m->at[f][b] = tn_state_pose(r->state, (tn_body_id){(uint32_t)b + 1}).position;
    }
    CHECK_LESS(r->joint_error, 1.001e-9);
    rig_free(r);
}

static double apart(const motion* a, const motion* b)
{
    double most = 0;
    for (int f = 0; f < FRAMES; ++f) {
        for (int i = 0; i < a->bodies; ++i) {
            const double d = rig_distance(a->at[f][i], b->at[f][i]);
            most           = d > most || !(d < 1e9) ? d : most; // so written, it keeps NaN
        }
    }
    return most;
}

// How far it may be from the reference [m], at 1/60 s and at a quarter of that.
static void check_character(const char* spec, bool walks, double within, double within_fine)
{
    static motion exact, coarse, fine;
    rig           r                = make_character(spec, walks);
    r.settings.method              = TN_METHOD_IMPLICIT;
    r.settings.implicit.integrator = TN_IMPLICIT_BDF2;
    r.settings.implicit.solve      = TN_IMPLICIT_NEWTON;
    record(&r, FINER, &exact);
    r = make_character(spec, walks);
    record(&r, 1, &coarse);
    r = make_character(spec, walks);
    record(&r, 4, &fine);
    if (contact_tells())
        printf("%s: off by %.3g and %.3g\n", spec, apart(&coarse, &exact), apart(&fine, &exact));
    CHECK(apart(&coarse, &exact) < within);
    CHECK(apart(&fine, &exact) < within_fine);
}

TEST(a_robot_is_dragged_by_its_hand)
{
    check_character("robot", false, 6e-3, 1e-3);
}

TEST(a_hand_follows_its_recorded_motion)
{
    check_character("hand", false, 1e-3, 1e-3);
}

TEST(a_person_follows_a_recorded_walk)
{
    check_character("humanoid", true, 0.035, 7e-3);
}

// No reference: that every vertebra is joined, and that nothing flies.
TEST(a_person_with_every_vertebra_follows_it)
{
    rig r = make_character("humanoid:detail=1", true);
    rig_ready(&r);
    const double start = rig_energy(&r);
    for (int i = 0; i < FRAMES && rig_step(&r, auto_h); ++i) CHECK_INT(r.report.unclosed_count, 0);
    CHECK_LESS(r.joint_error, 1.001e-9);
    CHECK_NEAR(rig_energy(&r), start, 0.2 * start);
    rig_free(&r);
}

TEST(a_plant_in_the_wind_stays_whole)
{
    rig r = auto_builtin("plant");
    for (int i = 0; i < FRAMES && rig_step(&r, auto_h); ++i) CHECK_INT(r.report.unclosed_count, 0);
    CHECK_LESS(r.joint_error, 1.001e-9);
    CHECK(rig_energy(&r) < 2000);
    rig_free(&r);
}

// Several hundred contacts and limits: laws are met roughly then, joints are not.
TEST(a_crowd_that_falls_stays_together)
{
    rig      r    = auto_builtin("ragdoll_pile:n=10");
    rig_fall fall = rig_fall_begin(&r);
    int      most = 0;
    for (int i = 0; i < 90 && rig_step(&r, auto_h); ++i) {
        rig_fall_note(&r, &fall);
        CHECK_INT(r.report.unclosed_count, 0);
        CHECK_LESS(r.report.deepest, 0.05);
        if (r.report.automatic.contact_count > most) most = r.report.automatic.contact_count;
    }
    CHECK(most > 100);
    CHECK_LESS(fall.growth, 0.1);
    CHECK_LESS(r.joint_error, 1.001e-9);
    rig_free(&r);
}

TEST(people_who_fall_lose_energy_and_stay_together)
{
    rig      r    = auto_builtin("ragdoll_pile:n=2");
    rig_fall fall = rig_fall_begin(&r);
    for (int i = 0; i < 90 && rig_step(&r, auto_h); ++i) {
        rig_fall_note(&r, &fall);
        CHECK_LESS(r.report.deepest, 1e-4);
    }
    CHECK_LESS(fall.growth, 1e-3);
    CHECK_LESS(r.joint_error, 1.001e-9);
    rig_free(&r);
}
