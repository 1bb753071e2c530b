#include "base/text.h"
#include "model/settings.h"
#include "tenon/settings.h"
#include "test.h"

static bool says(const tn_why* why, const char* part)
{
    if (strstr(why->text, part) != NULL) return true;
    fprintf(stderr, "  the message \"%s\" lacks \"%s\"\n", why->text, part);
    return false;
}

TEST(word_distance_counts_edits)
{
    CHECK_INT(tni_word_distance("hinge", "hinge"), 0);
    CHECK_INT(tni_word_distance("hinge", "HINGE"), 0);
    CHECK_INT(tni_word_distance("hinge", "hing"), 1);
    CHECK_INT(tni_word_distance("hinge", "hignes"), 2);
    CHECK_INT(tni_word_distance("ab", "ba"), 1);
    CHECK_INT(tni_word_distance("", "abc"), 3);
    CHECK_INT(tni_word_distance("kitten", "sitting"), 3);
    CHECK_INT(tni_word_distance("sitting", "kitten"), 3);
}

TEST(nearest_word_suggests_the_likely_one_or_none)
{
    static const char* const words[] = {"hinge", "slider", "screw", "ball", "h"};
    CHECK_TEXT(tn_nearest_word("hnige", words, 5), "hinge");
    CHECK_TEXT(tn_nearest_word("sliderr", words, 5), "slider");
    CHECK_TEXT(tn_nearest_word("Ball", words, 5), "ball");
    CHECK(tn_nearest_word("xylophone", words, 5) == NULL);
    CHECK(tn_nearest_word("foo", words, 5) == NULL);
    CHECK(tn_nearest_word("hinge", words, 0) == NULL);
    char long_word[200];
    memset(long_word, 'x', sizeof long_word);
    long_word[199] = 0;
    CHECK(tn_nearest_word(long_word, words, 5) == NULL);
}

TEST(defaults_are_the_documented_ones)
{
    const tn_settings s = tn_default_settings();
    CHECK_INT(s.method, TN_METHOD_AUTO);
    CHECK(s.h == 1.0 / 60 && s.duration == 5);
    CHECK_INT(s.multiplier.integrator, TN_INTEGRATOR_RK4);
    CHECK_INT(s.multiplier.dynamics, TN_DYNAMICS_SECOND);
    CHECK(s.multiplier.baumgarte == 0 && s.multiplier.project);
    CHECK(s.multiplier.tolerance == 1e-10 && s.multiplier.error_tolerance == 1e-8);
    CHECK_OK(tni_settings_check(&s, NULL));
    CHECK_INT(tn_method_order(TN_METHOD_MULTIPLIER), 4);
    CHECK(s.impulse.tolerance == 1e-9 && s.impulse.iterations == 50 && s.impulse.accept == 1e-3);
    CHECK_INT(s.impulse.formulation, TN_FORMULATION_AUTO);
    CHECK(s.impulse.regularisation == 1e-11);
    CHECK(s.impulse.part_joints == 0 && s.impulse.stiffen);
    CHECK_INT(s.impulse.springs, TN_SPRINGS_EXPLICIT);
    CHECK(s.impulse.sleep == 0.5 && s.impulse.sleep_speed == 1e-4);
    CHECK_INT(tn_method_order(TN_METHOD_IMPULSE), 2);
    CHECK_INT(s.implicit.solve, TN_IMPLICIT_CORRECTED);
    CHECK_INT(s.implicit.form, TN_IMPLICIT_FORM_AUTO);
    CHECK_INT(s.implicit.integrator, TN_IMPLICIT_EULER);
    CHECK(s.implicit.tolerance == 1e-8 && s.implicit.iterations == 30 && s.implicit.stiffen);
    CHECK(s.implicit.contact_stiffness == 0 && s.implicit.contact_damping == 0);
    CHECK(s.adaptive.active == 0 && s.adaptive.update == 0 && s.adaptive.period == 20);
    CHECK(s.adaptive.acceleration_error == 0 && s.adaptive.velocity_error == 0);
    CHECK(s.adaptive.pixel_error == 0 && s.adaptive.budget == 0 && !s.adaptive.bounded);
    CHECK_INT(s.adaptive.integrator, TN_ADAPTIVE_MIDPOINT);
    CHECK(s.adaptive.choice == TN_CHOICE_AUTO && s.adaptive.weights == TN_WEIGHTS_LENGTH);
    CHECK(s.adaptive.solver == TN_ADAPTIVE_CLUSTERS && s.adaptive.pixels == 0);
    CHECK(s.adaptive.detail == 0 && s.adaptive.falloff == 1);
    CHECK_INT(tn_method_order(TN_METHOD_ADAPTIVE), 1);
    CHECK_INT(tn_method_order(TN_METHOD_IMPLICIT), 1);
    CHECK_TEXT(tn_method_word(TN_METHOD_IMPULSE), "impulse");
    CHECK_TEXT(tn_method_word((tn_method)77), "unknown");
}

TEST(every_setting_reads_back_as_it_was_set)
{
    static const char* const values[][2] = {{"method", "impulse"},
                                            {"h", "0.016666666666666666"},
                                            {"duration", "1e+300"},
                                            {"accuracy", "0.001"},
                                            {"multiplier.integrator", "adaptive"},
                                            {"multiplier.dynamics", "first"},
                                            {"multiplier.loops", "auxiliary"},
                                            {"multiplier.baumgarte", "0.25"},
                                            {"multiplier.project", "false"},
                                            {"multiplier.tolerance", "5e-324"},
                                            {"multiplier.error_tolerance", "0.5"},
                                            {"impulse.tolerance", "1e-12"},
                                            {"impulse.iterations", "7"},
                                            {"impulse.accept", "0"},
                                            {"impulse.formulation", "split"},
                                            {"impulse.regularisation", "1e-08"},
                                            {"impulse.part_joints", "3"},
                                            {"impulse.springs", "implicit"},
                                            {"impulse.sleep", "0"},
                                            {"impulse.sleep_speed", "0.01"},
                                            {"impulse.stiffen", "false"},
                                            {"implicit.solve", "newton"},
                                            {"implicit.form", "nullspace"},
                                            {"implicit.integrator", "bdf2"},
                                            {"implicit.tolerance", "1e-300"},
                                            {"implicit.iterations", "9"},
                                            {"implicit.stiffen", "false"},
                                            {"implicit.contact_stiffness", "0.1"},
                                            {"implicit.contact_damping", "0"},
                                            {"adaptive.active", "20"},
                                            {"adaptive.update", "41"},
                                            {"adaptive.period", "7"},
                                            {"adaptive.acceleration_error", "0.001"},
                                            {"adaptive.velocity_error", "1e-09"},
                                            {"adaptive.pixel_error", "0.5"},
                                            {"adaptive.budget", "4000"},
                                            {"adaptive.bounded", "true"},
                                            {"adaptive.integrator", "rk4"},
                                            {"adaptive.choice", "mixed"},
                                            {"adaptive.weights", "pixels"},
                                            {"adaptive.solver", "tree"},
                                            {"adaptive.pixels", "1080"},
                                            {"adaptive.camera_x", "-3.5"},
                                            {"adaptive.camera_y", "1e+300"},
                                            {"adaptive.camera_z", "0"},
                                            {"adaptive.detail", "12"},
                                            {"adaptive.falloff", "1.5"}};
    enum { COUNT = sizeof values / sizeof *values };
    tn_settings s     = tn_default_settings();
    int         count = 0;
    for (; count < COUNT && tn_setting_at(count).key != NULL; ++count) {
        const tn_setting_info info = tn_setting_at(count);
        CHECK_TEXT(info.key, values[count][0]);
        CHECK(info.values != NULL && info.help != NULL);
        tn_why why;
        char   text[64];
        CHECK_OK(tn_settings_set(&s, info.key, values[count][1], &why));
        const int length = tn_settings_get(&s, info.key, text, sizeof text);
        CHECK_INT(length, strlen(text));
        tn_settings again = tn_default_settings();
        CHECK_OK(tn_settings_set(&again, info.key, text, &why));
        char text_again[64];
        tn_settings_get(&again, info.key, text_again, sizeof text_again);
        CHECK_TEXT(text_again, text);
        if (!info.number) CHECK_TEXT(text, values[count][1]);
    }
    CHECK_INT(count, COUNT);
    CHECK(tn_setting_at(COUNT).key == NULL);
    CHECK(tn_setting_at(-1).key == NULL);
    CHECK(s.h == 0.016666666666666666 && s.duration == 1e300 && s.multiplier.tolerance == 5e-324);
    CHECK(!s.multiplier.project && s.method == TN_METHOD_IMPULSE);
}

// A method that is named brings its own step, unless one is told.
TEST(a_method_brings_its_step)
{
    for (int m = TN_METHOD_AUTO; m < TN_METHOD_COUNT; ++m) {
        const char* word = tn_method_word((tn_method)m);
        tn_settings s    = tn_default_settings();
        CHECK(tn_method_h((tn_method)m) == (m == TN_METHOD_AUTO ? 1.0 / 60 : 0.001));
        CHECK_OK(tn_settings_set(&s, "method", word, NULL));
        CHECK(s.h == tn_method_h((tn_method)m));
        CHECK_OK(tn_settings_set(&s, "method", "auto", NULL));
        CHECK(s.h == 1.0 / 60);
        CHECK_OK(tn_settings_set(&s, "h", "0.004", NULL));
        CHECK_OK(tn_settings_set(&s, "method", word, NULL));
        CHECK(s.h == 0.004);
    }
}

TEST(everyday_settings_are_told_from_variants_of_the_papers)
{
    static const char* const some[][2] = {{"h", "e"},
                                          {"impulse.tolerance", "e"},
                                          {"adaptive.active", "e"},
                                          {"implicit.integrator", "e"},
                                          {"multiplier.loops", "v"},
                                          {"impulse.formulation", "v"},
                                          {"impulse.part_joints", "v"},
                                          {"implicit.form", "v"},
                                          {"adaptive.solver", "v"},
                                          {"adaptive.bounded", "v"}};
    int                      everyday = 0, variants = 0, found = 0;
    for (int i = 0; tn_setting_at(i).key != NULL; ++i) {
        const tn_setting_info info = tn_setting_at(i);
        info.variant ? ++variants : ++everyday;
        for (int k = 0; k < (int)(sizeof some / sizeof *some); ++k) {
            if (strcmp(some[k][0], info.key) != 0) continue;
            CHECK_INT(info.variant, some[k][1][0] == 'v');
            ++found;
        }
    }
    CHECK_INT(found, sizeof some / sizeof *some);
    CHECK(everyday > variants && variants > 0);
}

TEST(what_only_benchmarks_ask_for_is_no_setting)
{
    static const char* const gone[] = {"impulse.backend", "impulse.alpha"};
    for (int i = 0; i < 2; ++i) {
        tn_settings s = tn_default_settings();
        tn_why      why;
        CHECK_INT(tn_settings_set(&s, gone[i], "core", &why), TN_ERR_PARSE);
        CHECK(strstr(why.text, gone[i]) != NULL);
    }
}

TEST(get_tells_the_length_and_never_overruns)
{
    const tn_settings s       = tn_default_settings();
    char              text[4] = "xyz";
    CHECK_INT(tn_settings_get(&s, "method", text, 3), 4);
    CHECK_TEXT(text, "au");
    CHECK_INT(tn_settings_get(&s, "nonsense", text, sizeof text), 0);
    CHECK_TEXT(text, "");
}

static void refused(const char* key, const char* value, const char* part)
{
    tn_settings       s      = tn_default_settings();
    const tn_settings before = s;
    tn_why            why    = {0};
    CHECK_INT(tn_settings_set(&s, key, value, &why), TN_ERR_PARSE);
    CHECK(says(&why, part));
    CHECK(memcmp(&s, &before, sizeof s) == 0);
    CHECK_INT(tn_settings_set(&s, key, value, NULL), TN_ERR_PARSE);
}

TEST(bad_keys_and_values_are_refused_with_the_nearest)
{
    refused("mehtod", "auto", "did you mean 'method'");
    refused("multiplier.tolerence", "1", "did you mean 'multiplier.tolerance'");
    refused("bananas", "1", "'bananas'");
    refused("method", "implict", "did you mean 'implicit'");
    refused("method", "bananas", "auto | multiplier | implicit | impulse | adaptive");
    refused("multiplier.project", "yes", "true | false");
    refused("multiplier.integrator", "rk5", "did you mean 'rk4'");
    refused("h", "0", "'h' takes a number > 0");
    refused("h", "-1", "not '-1'");
    refused("h", "nan", "'h'");
    refused("h", "1e999", "'h'");
    refused("h", "1x", "'h'");
    refused("h", "", "'h'");
    refused("duration", "-0.5", "'duration' takes a number >= 0");
    refused("multiplier.baumgarte", "-1", "'multiplier.baumgarte'");
    refused("multiplier.tolerance", "0", "'multiplier.tolerance'");
    refused("multiplier.error_tolerance", "0", "'multiplier.error_tolerance'");
    refused("implicit.solve", "newtn", "did you mean 'newton'");
    refused("implicit.form", "tree", "auto | rows | blocks | exact | nullspace");
    refused("implicit.integrator", "bdf3", "did you mean 'bdf2'");
    refused("implicit.tolerance", "0", "'implicit.tolerance'");
    refused("implicit.iterations", "0", "a whole number >= 1");
    refused("implicit.stiffen", "on", "true | false");
    refused("implicit.contact_stiffness", "-1", "'implicit.contact_stiffness'");
    refused("implicit.contact_damping", "-1", "'implicit.contact_damping'");
    refused("adaptive.active", "-1", "a whole number >= 0");
    refused("adaptive.period", "0", "a whole number >= 1");
    refused("adaptive.choice", "close", "did you mean 'closed'");
    refused("adaptive.weights", "pixel", "did you mean 'pixels'");
    refused("adaptive.solver", "trees", "did you mean 'tree'");
    refused("adaptive.camera_x", "1e999", "'adaptive.camera_x' takes a number");
    refused("implict.solve", "linear", "did you mean 'implicit.solve'");
}

TEST(check_finds_what_was_filled_in_by_hand)
{
    tn_why      why = {0};
    tn_settings s   = tn_default_settings();
    s.h             = -1;
    CHECK_INT(tni_settings_check(&s, &why), TN_ERR_MODEL);
    CHECK(says(&why, "'h'"));
    s        = tn_default_settings();
    s.method = (tn_method)99;
    CHECK_INT(tni_settings_check(&s, &why), TN_ERR_MODEL);
    CHECK(says(&why, "'method'"));
    s                      = tn_default_settings();
    s.multiplier.tolerance = (double)NAN;
    CHECK_INT(tni_settings_check(&s, &why), TN_ERR_MODEL);
}
