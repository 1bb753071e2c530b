// The energy watch of the default method: what a step gains beside the work of what may bring energy.
#include "support/auto_rig.h"
#include "support/contact_rig.h"

#include <tenon/io.h>

static rig from_text(const char* text)
{
    rig    r   = {.settings = auto_settings()};
    tn_why why = {.text = ""};
    rig_must(tn_scene_read(NULL, text, strlen(text), &r.scene, &why), "scene", &why);
    rig_ready(&r);
    return r;
}

// Runs; *gain: sum of what the reports say. Returns how often energy was suspect.
static int run(rig* r, double h, int steps, double* gain)
{
    int count = 0;
    *gain     = 0;
    for (int i = 0; i < steps && rig_step(r, h); ++i) {
        count += r->report.suspects[TN_SUSPECT_ENERGY].count;
        *gain += r->report.energy_gain;
    }
    return count;
}

// ---- Without any source, the gain is the change of energy --------------------------------------------

TEST(where_nothing_brings_energy_the_gain_is_its_change)
{
    static const char* const names[] = {"fourbar", "spider",    "tree", "bricard",
                                        "cradle",  "boxes:n=3", "coin"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        rig          r = auto_builtin(names[i]);
        const double E = rig_energy(&r), T = fmax(1, fabs(E));
        double       gain;
        CHECK_INT(run(&r, auto_h, 60, &gain), 0);
        CHECK_NEAR(gain, rig_energy(&r) - E, 1e-9 * T);
        rig_free(&r);
    }
}

// ---- Everything that may bring energy ----------------------------------------------------------------

#define BODY       "\"mass\": 2, \"inertia\": [0.1, 0.1, 0.1]"
#define SCENE(...) "{\"tenon_scene\": 1, \"gravity\": [0, 0, 0], " __VA_ARGS__ "}"

typedef struct source {
    const char* what;
    const char* scene;
} source;

static const source sources[] = {
    {"load at a point, and a torque",
     SCENE("\"bodies\": [{\"name\": \"a\", " BODY
           "}], \"loads\": [{\"body\": \"a\", \"force\": [3, 1, 0], \"point\": [0, 0, 0.1], "
           "\"torque\": [0, 0, 0.2], \"from\": 0.1, \"until\": 0.7}]")},
    {"constant torque of a hinge",
     SCENE(
         "\"bodies\": [{\"name\": \"a\", " BODY
         ", \"position\": [0.3, 0, 0]}], \"joints\": [{\"name\": \"j\", \"type\": "
         "\"hinge\", \"bodies\": [\"ground\", \"a\"], \"anchor\": [0, 0, 0], \"axis\": [0, 0, 1], \"force\": 2}]")},
    {"constant torque of a ball",
     SCENE("\"bodies\": [{\"name\": \"a\", " BODY
           "}], \"joints\": [{\"name\": \"j\", \"type\": \"ball\", \"bodies\": "
           "[\"ground\", \"a\"], \"anchor\": [0, 0, 0], \"force\": [0.1, 0.3, 0.2]}]")},
    {"motor with a speed that changes",
     SCENE(
         "\"bodies\": [{\"name\": \"a\", " BODY
         ", \"position\": [0.3, 0, 0]}], \"joints\": [{\"name\": \"j\", \"type\": "
         "\"motor\", \"of\": \"hinge\", \"bodies\": [\"ground\", \"a\"], \"anchor\": [0, 0, 0], \"axis\": [0, 0, 1], "
         "\"velocity\": {\"keys\": [{\"time\": 0, \"value\": 0}, {\"time\": 0.5, \"value\": 4}, {\"time\": 1, \"value\": 1}]}}]")},
    {"target, stiff, with keys",
     SCENE(
         "\"bodies\": [{\"name\": \"a\", " BODY
         "}], \"targets\": [{\"body\": \"a\", \"keys\": [{\"time\": 0}, {\"time\": 0.4, "
         "\"position\": [1, 0, 0], \"orientation\": [0.8, 0, 0, 0.6]}, {\"time\": 1}], \"stiffness\": 1e5, \"damping\": 500, "
         "\"angular_stiffness\": 1e4, \"angular_damping\": 50}]")},
    {"target, soft",
     SCENE("\"bodies\": [{\"name\": \"a\", " BODY
           "}], \"targets\": [{\"body\": \"a\", \"keys\": [{\"time\": 0}, {\"time\": 1, "
           "\"position\": [3, 0, 0]}], \"stiffness\": 100}]")},
    {"hinge to a body that moves",
     SCENE(
         "\"bodies\": [{\"name\": \"lift\", \"kind\": \"kinematic\", \"keys\": [{\"time\": 0}, {\"time\": 0.5, \"position\": "
         "[1, 0, 0]}, {\"time\": 1, \"position\": [1, 0, 1]}]}, {\"name\": \"a\", " BODY
         ", \"position\": [0.3, 0, 0]}], "
         "\"joints\": [{\"name\": \"j\", \"type\": \"hinge\", \"bodies\": [\"lift\", \"a\"], \"anchor\": [0, 0, 0], \"axis\": "
         "[0, 1, 0]}]")},
    {"springs of a joint and between points, to a body that moves",
     SCENE(
         "\"bodies\": [{\"name\": \"crank\", \"kind\": \"kinematic\", \"keys\": [{\"time\": 0}, {\"time\": 1, \"position\": "
         "[0, 0, 1], \"orientation\": [0.6, 0, 0.8, 0]}]}, {\"name\": \"a\", " BODY
         "}, {\"name\": \"b\", " BODY
         ", \"position\": [0, 2, 0]}], \"joints\": [{\"name\": \"j\", \"type\": \"hinge\", \"bodies\": [\"crank\", \"a\"], \"anchor\": "
         "[0, 0, 0], \"axis\": [0, 1, 0], \"stiffness\": 50, \"damping\": 1}], \"springs\": [{\"bodies\": [\"crank\", \"b\"], "
         "\"anchors\": [[0, 0, 0], [0, 0, 0]], \"stiffness\": 200, \"damping\": 3}]")},
    {"belt",
     "{\"tenon_scene\": 1, \"bodies\": [{\"name\": \"belt\", \"kind\": \"static\", \"shapes\": [{\"type\": \"plane\", "
     "\"surface_velocity\": [2, 0, 0]}]}, {\"name\": \"a\", \"mass\": 2, \"position\": [0, 0, 0.1], \"shapes\": [{\"type\": "
     "\"box\", \"half_size\": [0.1, 0.1, 0.1]}]}]}"},
    {"lift with a box on it",
     "{\"tenon_scene\": 1, \"bodies\": [{\"name\": \"lift\", \"kind\": \"kinematic\", \"keys\": [{\"time\": 0}, {\"time\": 1, "
     "\"position\": [0.5, 0, 1]}], \"shapes\": [{\"type\": \"box\", \"half_size\": [2, 2, 0.1]}]}, {\"name\": \"a\", \"mass\": 2, "
     "\"position\": [0, 0, 0.2], \"shapes\": [{\"type\": \"box\", \"half_size\": [0.1, 0.1, 0.1]}]}]}"},
    {"bat that hits a ball",
     SCENE(
         "\"bodies\": [{\"name\": \"bat\", \"kind\": \"kinematic\", \"keys\": [{\"time\": 0, \"position\": [-1, 0, 0]}, {\"time\": "
         "0.5, \"position\": [1, 0, 0]}], \"shapes\": [{\"type\": \"box\", \"half_size\": [0.1, 1, 1]}]}, {\"name\": \"a\", \"mass\": "
         "1, \"shapes\": [{\"type\": \"sphere\", \"radius\": 0.1, \"restitution\": 0.8}]}]")},
    {"wind", SCENE("\"bodies\": [{\"name\": \"a\", " BODY
                   "}], \"drag\": [{\"body\": \"a\", \"linear\": 1, \"quadratic\": 0.5, \"wind\": "
                   "[5, 0, 0]}]")}};

// The energy changes by what they bring, which is not taken for a gain; friction, dampers and drag only lose.
TEST(what_may_bring_energy_is_no_gain)
{
    for (size_t i = 0; i < sizeof sources / sizeof *sources; ++i) {
        rig          r = from_text(sources[i].scene);
        const double E = rig_energy(&r);
        double       gain, highest = 0, gained = 0;
        for (int k = 0; k < 60; ++k) {
            test_check(run(&r, auto_h, 1, &gain) == 0, __FILE__, __LINE__, "%s: suspect at %g s",
                       sources[i].what, tn_state_time(r.state));
            gained += gain;
            highest = fmax(highest, fabs(rig_energy(&r) - E));
        }
        test_check(highest > 4e-3 && gained < 0.02 * highest, __FILE__, __LINE__,
                   "%s: the energy changes by %g J, gains %g J", sources[i].what, highest, gained);
        rig_free(&r);
    }
}

TEST(a_handle_brings_energy)
{
    rig              r = from_text(SCENE("\"bodies\": [{\"name\": \"a\", " BODY "}]"));
    const double     E = rig_energy(&r);
    double           gain, gained = 0;
    const tn_body_id body = {1};
    CHECK_OK(tn_state_grab(r.state, 0, body, tns_vec(0, 0, 0.1), 500, 10));
    for (int k = 0; k < 60; ++k) {
        CHECK_OK(tn_state_move(r.state, 0, tns_vec(0.05 * k, 0, 0.1), tns_vec(3, 0, 0)));
        CHECK_INT(run(&r, auto_h, 1, &gain), 0);
        gained += fmax(gain, 0);
    }
    CHECK(rig_energy(&r) - E > 5);
    CHECK_LESS(gained, 0.05);
    rig_free(&r);
}

// ---- Energy from nowhere -----------------------------------------------------------------------------

// A double pendulum that falls on a floor. Newton's restitution with friction gains energy where the friction of an
// impact reverses the slip (Kane and Levinson 1985); up to 4775 J of 20 J before impacts were kept from it.
static void write_rod(char* text, size_t size, const char* name, double x, double z, double angle)
{
    snprintf(
        text, size,
        "{\"name\": \"%s\", \"mass\": 1, \"inertia\": [0.084, 0.084, 0.001], \"position\": [%.17g, 0, %.17g], "
        "\"orientation\": [%.17g, 0, %.17g, 0], \"shapes\": [{\"type\": \"capsule\", \"radius\": 0.02, \"half_length\": 0.48, "
        "\"friction\": 0.7, \"restitution\": 0.9}]}",
        name, x, z, cos(angle / 2), -sin(angle / 2));
}

static rig double_pendulum(double a, double b)
{
    const double top = 1.9, x = sin(a), z = top - cos(a);
    char         upper[400], lower[400], text[1600];
    write_rod(upper, sizeof upper, "upper", 0.5 * x, top - 0.5 * cos(a), a);
    write_rod(lower, sizeof lower, "lower", x + 0.5 * sin(b), z - 0.5 * cos(b), b);
    snprintf(
        text, sizeof text,
        "{\"tenon_scene\": 1, \"bodies\": [{\"name\": \"floor\", \"kind\": \"static\", \"shapes\": [{\"type\": \"plane\", "
        "\"friction\": 0.7, \"restitution\": 0.9}]}, %s, %s], \"joints\": [{\"type\": \"hinge\", \"name\": \"top\", \"bodies\": "
        "[\"ground\", \"upper\"], \"anchor\": [0, 0, %g], \"axis\": [0, 1, 0]}, {\"type\": \"hinge\", \"name\": \"elbow\", "
        "\"bodies\": [\"upper\", \"lower\"], \"anchor\": [%.17g, 0, %.17g], \"axis\": [0, 1, 0]}]}",
        upper, lower, top, x, z);
    return from_text(text);
}

TEST(impacts_with_friction_gain_no_energy)
{
    static const double lower[] = {-0.9, -0.3, 0.4, 1.0};
    for (int k = 0; k < 10; ++k) {
        for (size_t n = 0; n < sizeof lower / sizeof *lower; ++n) {
            rig      r    = double_pendulum(-1.2 + 0.1 * k, lower[n]);
            rig_fall fall = rig_fall_begin(&r);
            int      hits = 0;
            for (int i = 0; i < 150 && rig_step(&r, auto_h); ++i) {
                rig_fall_note(&r, &fall);
                hits += r.report.impact_count;
                CHECK_INT(r.report.suspects[TN_SUSPECT_ENERGY].count, 0);
            }
            CHECK(hits > 0);
            CHECK_LESS(fall.growth, 0.3); // of 10 to 20 J
            rig_free(&r);
        }
    }
}

// A joint that a program has torn open is pulled back within a step, which throws its body. No shorter step would do
// better, so it is taken whole, and told: once, with the body and the energy that it gained.
TEST(a_joint_torn_open_is_told)
{
    rig r = from_text(
        "{\"tenon_scene\": 1, \"bodies\": [{\"name\": \"a\", " BODY
        ", \"position\": [0.5, 0, 0]}], \"joints\": "
        "[{\"name\": \"j\", \"type\": \"ball\", \"bodies\": [\"ground\", \"a\"], \"anchor\": [0, 0, 0]}]}");
    const tn_body_id body = {1};
    for (int k = 1; k < 6; ++k) {
        const tn_frame pose = {tns_vec(0.5, 0.05 * k, 0.1 * k), {1, 0, 0, 0}};
        tn_state_reset(r.state);
        CHECK_OK(tn_state_set_pose(r.state, body, pose));
        const double E = rig_energy(&r);
        CHECK(rig_step(&r, auto_h));
        const tn_suspect* suspect = &r.report.suspects[TN_SUSPECT_ENERGY];
        const double      gained  = rig_energy(&r) - E;
        CHECK_INT(suspect->count, 1);
        CHECK_INT((int)suspect->body.bits, 1);
        CHECK(gained > 1);
        CHECK_NEAR(suspect->amount, gained, 1e-3 * gained); // the largest part of it
        CHECK_NEAR(r.report.energy_gain, gained, 1e-9 * gained);
        double after;
        CHECK_INT(run(&r, auto_h, 20, &after), 0); // closed now: an ordinary pendulum
    }
    rig_free(&r);
}

// At a step that is far too long for a four-bar linkage its energy is kept by splitting, and nothing is told.
TEST(steps_that_are_too_long_are_split)
{
    rig      r    = auto_builtin("fourbar");
    rig_fall fall = rig_fall_begin(&r);
    int      most = 0;
    for (int i = 0; i < 20 && rig_step(&r, 0.25); ++i) {
        rig_fall_note(&r, &fall);
        CHECK_INT(r.report.suspects[TN_SUSPECT_ENERGY].count, 0);
        if (r.report.substep_count > most) most = r.report.substep_count;
    }
    CHECK(most > 1);
    CHECK_LESS(fall.growth, 0.5); // of 6.8 J; 1.03 J without splitting
    rig_free(&r);
}
