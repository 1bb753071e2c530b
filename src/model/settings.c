// settings: one table says what can be set, in which range, and how it reads in files.
//
// A setting is a number, a whole number, or one word of a list. The field is found by its offset in tn_settings;
// words are stored as their index in the list. Adding a setting is adding a line to the table: EVERYDAY, or VARIANT where
// it chooses a variant of a paper's method. What benchmarks alone ask for is no setting: tni_stepper_create_variant().
// Fails with TN_ERR_PARSE, naming the key, what it takes, and the nearest good word.
#include "model/settings.h"

#include "base/base.h"
#include "tenon/io.h"

#include <math.h>
#include <stdio.h>

typedef enum field_type { FIELD_NUMBER, FIELD_WHOLE, FIELD_ENUM, FIELD_BOOL } field_type;

typedef struct setting {
    tn_setting_info    info;
    field_type         type;
    size_t             offset;
    double             lower; ///< numbers: the least value
    bool               open;  ///< numbers: the least value itself is refused
    const char* const* words;
    int                word_count;
} setting;

static const char* const method_words[] = {
#define METHOD_WORD(name, word) word,
    TN_METHOD_LIST(METHOD_WORD)
#undef METHOD_WORD
};
static const char* const integrator_words[]  = {"euler", "rk4", "adaptive"};
static const char* const dynamics_words[]    = {"second", "first"};
static const char* const loops_words[]       = {"core", "auxiliary"};
static const char* const formulation_words[] = {"auto", "kkt", "spd", "split"};
static const char* const springs_words[]     = {"explicit", "implicit"};
static const char* const solve_words[]       = {"linear", "corrected", "newton"};
static const char* const form_words[]        = {"auto", "rows", "blocks", "exact", "nullspace"};
static const char* const backward_words[]    = {"euler", "bdf2"};
static const char* const choice_words[]      = {"auto", "closed", "mixed", "fixed"};
static const char* const weights_words[]     = {"one", "length", "pixels"};
static const char* const step_words[]        = {"midpoint", "euler", "rk4"};
static const char* const solver_words[]      = {"clusters", "tree"};
static const char* const bool_words[]        = {"false", "true"};

#define AT(field) offsetof(tn_settings, field)
#define EVERYDAY  false
#define VARIANT   true
#define POSITIVE(rank, key, field, help)                                                   \
    {                                                                                      \
        {key, "a number > 0", help, true, rank}, FIELD_NUMBER, AT(field), 0, true, NULL, 0 \
    }
#define NOT_NEGATIVE(rank, key, field, help)                                                 \
    {                                                                                        \
        {key, "a number >= 0", help, true, rank}, FIELD_NUMBER, AT(field), 0, false, NULL, 0 \
    }
#define ANY(rank, key, field, help)                                                            \
    {                                                                                          \
        {key, "a number", help, true, rank}, FIELD_NUMBER, AT(field), -HUGE_VAL, true, NULL, 0 \
    }
#define WHOLE(rank, key, field, values, least, help)                                   \
    {                                                                                  \
        {key, values, help, true, rank}, FIELD_WHOLE, AT(field), least, false, NULL, 0 \
    }
#define WORD(rank, key, field, type, words, values, help)                   \
    {                                                                       \
        {key, values, help, false, rank}, type, AT(field), 0, false, words, \
            (int)(sizeof words / sizeof *words)                             \
    }

static const setting table[] = {
    WORD(EVERYDAY, "method", method, FIELD_ENUM, method_words,
         "auto | multiplier | implicit | impulse | adaptive", "how a step is computed"),
    POSITIVE(EVERYDAY, "h", h, "step [s]; where a method is named, 0.001 unless told"),
    NOT_NEGATIVE(EVERYDAY, "duration", duration, "simulated time [s]"),
    NOT_NEGATIVE(
        EVERYDAY, "accuracy", accuracy,
        "error that a step of auto or impulse may make, relative to the size of the mechanism; steps are "
        "split until it is met. 0: not controlled"),
    WORD(EVERYDAY, "multiplier.integrator", multiplier.integrator, FIELD_ENUM, integrator_words,
         "euler | rk4 | adaptive",
         "semi-implicit Euler, classical Runge-Kutta, or Dormand-Prince 5(4)"),
    WORD(EVERYDAY, "multiplier.dynamics", multiplier.dynamics, FIELD_ENUM, dynamics_words,
         "second | first", "f = m a, or f = m v: drag a mechanism about with no inertia"),
    WORD(VARIANT, "multiplier.loops", multiplier.loops, FIELD_ENUM, loops_words, "core | auxiliary",
         "joints that close loops: in the factored matrix, or beside a forest of the others"),
    NOT_NEGATIVE(VARIANT, "multiplier.baumgarte", multiplier.baumgarte,
                 "time in which drift decays [s]; 0: no such terms"),
    WORD(VARIANT, "multiplier.project", multiplier.project, FIELD_BOOL, bool_words, "true | false",
         "bring each step's end back onto the constraints"),
    POSITIVE(EVERYDAY, "multiplier.tolerance", multiplier.tolerance,
             "joint error that the projection leaves at most [m or rad]"),
    POSITIVE(EVERYDAY, "multiplier.error_tolerance", multiplier.error_tolerance,
             "adaptive integrator: error a step [m or rad]"),
    POSITIVE(EVERYDAY, "impulse.tolerance", impulse.tolerance,
             "joint error that a step leaves at most [m or rad]"),
    WHOLE(EVERYDAY, "impulse.iterations", impulse.iterations, "a whole number >= 1", 1,
          "rounds of the joint correction, at most"),
    NOT_NEGATIVE(
        EVERYDAY, "impulse.accept", impulse.accept,
        "joint error with which a step that misses the tolerance may still be taken [m or rad]"),
    WORD(VARIANT, "impulse.formulation", impulse.formulation, FIELD_ENUM, formulation_words,
         "auto | kkt | spd | split",
         "the matrix: bodies and joints, J M^-1 J^T, the same with bodies split, or the cheapest"),
    POSITIVE(VARIANT, "impulse.regularisation", impulse.regularisation,
             "regularisation of rows that loops may make redundant, relative to their size"),
    WHOLE(VARIANT, "impulse.part_joints", impulse.part_joints, "a whole number >= 0", 0,
          "split: joints on a part of a body; 0: chosen by predicted cost"),
    WORD(
        EVERYDAY, "impulse.springs", impulse.springs, FIELD_ENUM, springs_words,
        "explicit | implicit",
        "implicit: springs, dampers and targets of any stiffness, in the matrix of joints and contacts"),
    NOT_NEGATIVE(EVERYDAY, "impulse.sleep", impulse.sleep,
                 "time at rest after which bodies in contact fall asleep [s]; 0: never"),
    POSITIVE(EVERYDAY, "impulse.sleep_speed", impulse.sleep_speed,
             "speed that counts as rest [m/s]"),
    WORD(VARIANT, "impulse.stiffen", impulse.stiffen, FIELD_BOOL, bool_words, "true | false",
         "geometric stiffness of light bodies under heavy load"),
    WORD(EVERYDAY, "implicit.solve", implicit.solve, FIELD_ENUM, solve_words,
         "linear | corrected | newton",
         "one linear solve, joints closed on its factorisation, or the step's equations solved"),
    WORD(
        VARIANT, "implicit.form", implicit.form, FIELD_ENUM, form_words,
        "auto | rows | blocks | exact | nullspace",
        "stiff forces as compliant rows, as blocks between bodies, exactly, or in joint velocities"),
    WORD(EVERYDAY, "implicit.integrator", implicit.integrator, FIELD_ENUM, backward_words,
         "euler | bdf2",
         "backward Euler, or two-step backward differences: second order, far less damping"),
    POSITIVE(EVERYDAY, "implicit.tolerance", implicit.tolerance,
             "joint error that a step leaves at most [m or rad]"),
    WHOLE(EVERYDAY, "implicit.iterations", implicit.iterations, "a whole number >= 1", 1,
          "rounds of the joint correction or of Newton's method, at most"),
    WORD(VARIANT, "implicit.stiffen", implicit.stiffen, FIELD_BOOL, bool_words, "true | false",
         "geometric stiffness: joint forces turn with the bodies"),
    NOT_NEGATIVE(
        EVERYDAY, "implicit.contact_stiffness", implicit.contact_stiffness,
        "stiffness of contacts, which are soft in this method [N/m]; 0: by the mass of all"),
    NOT_NEGATIVE(EVERYDAY, "implicit.contact_damping", implicit.contact_damping,
                 "damping of contacts, where their stiffness is given [N s/m]"),
    WHOLE(EVERYDAY, "adaptive.active", adaptive.active, "a whole number >= 0", 0,
          "joints that are simulated, over all articulated bodies; 0: no such bound"),
    WHOLE(VARIANT, "adaptive.update", adaptive.update, "a whole number >= 0", 0,
          "joints whose acceleration is looked at in a choice; 0: twice as many as active"),
    WHOLE(EVERYDAY, "adaptive.period", adaptive.period, "a whole number >= 1", 1,
          "steps between choices"),
    NOT_NEGATIVE(
        EVERYDAY, "adaptive.acceleration_error", adaptive.acceleration_error,
        "error of joint accelerations allowed: root of the summed squares; 0: no such bound"),
    NOT_NEGATIVE(EVERYDAY, "adaptive.velocity_error", adaptive.velocity_error,
                 "error of joint velocities allowed: root of the summed squares; 0: no such bound"),
    NOT_NEGATIVE(EVERYDAY, "adaptive.pixel_error", adaptive.pixel_error,
                 "error of a body on the screen allowed over a period [pixels]; 0: no such bound"),
    NOT_NEGATIVE(EVERYDAY, "adaptive.budget", adaptive.budget,
                 "wall time that a step may take, over all bodies [us]; 0: no such bound"),
    WORD(VARIANT, "adaptive.bounded", adaptive.bounded, FIELD_BOOL, bool_words, "true | false",
         "choose in every step by errors, leave out and nothing else (Redon 2005, 7.3)"),
    WORD(
        EVERYDAY, "adaptive.integrator", adaptive.integrator, FIELD_ENUM, step_words,
        "midpoint | euler | rk4",
        "implicit midpoint: second order, keeps energy well; semi-implicit Euler: a quarter of the cost; "
        "Runge-Kutta: fourth order, explicit"),
    WORD(
        VARIANT, "adaptive.choice", adaptive.choice, FIELD_ENUM, choice_words,
        "auto | closed | mixed | fixed",
        "which sets of joints may be active: with all above them, half of them so, or the same for ever"),
    WORD(EVERYDAY, "adaptive.weights", adaptive.weights, FIELD_ENUM, weights_words,
         "one | length | pixels",
         "weight of a joint in errors: one, by the length of what it moves, or by its pixels"),
    WORD(VARIANT, "adaptive.solver", adaptive.solver, FIELD_ENUM, solver_words, "clusters | tree",
         "articulated-body algorithm on rigid clusters, or divide and conquer"),
    NOT_NEGATIVE(EVERYDAY, "adaptive.pixels", adaptive.pixels,
                 "focal length of the camera [pixels]; 0: no camera, all bodies count alike"),
    ANY(EVERYDAY, "adaptive.camera_x", adaptive.camera_x, "x of the camera [m]"),
    ANY(EVERYDAY, "adaptive.camera_y", adaptive.camera_y, "y of the camera [m]"),
    ANY(EVERYDAY, "adaptive.camera_z", adaptive.camera_z, "z of the camera [m]"),
    NOT_NEGATIVE(EVERYDAY, "adaptive.detail", adaptive.detail,
                 "distance within which all joints of a body may be active [m]; 0: any"),
    NOT_NEGATIVE(
        EVERYDAY, "adaptive.falloff", adaptive.falloff,
        "beyond adaptive.detail the number of active joints falls with this power of the distance"),
};
enum { SETTING_COUNT = (int)(sizeof table / sizeof *table) };

const char* tn_method_word(tn_method method)
{
    return (unsigned)method < TN_METHOD_COUNT ? method_words[method] : "unknown";
}

int tn_method_order(tn_method method)
{
    switch (method) {
    case TN_METHOD_MULTIPLIER: return 4;
    case TN_METHOD_IMPULSE: return 2;
    case TN_METHOD_IMPLICIT:
    case TN_METHOD_ADAPTIVE: return 1;
    default: return 0;
    }
}

double tn_method_h(tn_method method)
{
    return method == TN_METHOD_AUTO ? 1.0 / 60 : 0.001;
}

enum { COOKIE = 0x7e45e771 }; ///< proof that settings started from their defaults

tn_settings tn_default_settings(void)
{
    return (tn_settings){.method     = TN_METHOD_AUTO,
                         .h          = tn_method_h(TN_METHOD_AUTO),
                         .duration   = 5,
                         .multiplier = {.integrator      = TN_INTEGRATOR_RK4,
                                        .dynamics        = TN_DYNAMICS_SECOND,
                                        .baumgarte       = 0,
                                        .project         = true,
                                        .tolerance       = 1e-10,
                                        .error_tolerance = 1e-8},
                         .impulse    = {.tolerance      = 1e-9,
                                        .sleep          = 0.5,
                                        .sleep_speed    = 1e-4,
                                        .iterations     = 50,
                                        .accept         = 1e-3,
                                        .regularisation = 1e-11,
                                        .stiffen        = true},
                         .implicit   = {.solve             = TN_IMPLICIT_CORRECTED,
                                        .integrator        = TN_IMPLICIT_EULER,
                                        .tolerance         = 1e-8,
                                        .iterations        = 30,
                                        .stiffen           = true,
                                        .contact_stiffness = 0,
                                        .contact_damping   = 0},
                         .adaptive   = {.period = 20, .weights = TN_WEIGHTS_LENGTH, .falloff = 1},
                         .cookie     = COOKIE};
}

tn_setting_info tn_setting_at(int index)
{
    return index >= 0 && index < SETTING_COUNT ? table[index].info : (tn_setting_info){.key = NULL};
}

static const setting* find(const char* key)
{
    for (int i = 0; i < SETTING_COUNT; ++i) {
        if (strcmp(table[i].info.key, key) == 0) return &table[i];
    }
    return NULL;
}

static tn_result unknown_key(const char* key, tn_why* why)
{
    const char* keys[SETTING_COUNT];
    for (int i = 0; i < SETTING_COUNT; ++i) keys[i] = table[i].info.key;
    const char* near = tn_nearest_word(key, keys, SETTING_COUNT);
    if (near == NULL) return tni_fail(why, TN_ERR_PARSE, "no setting is called '%.60s'", key);
    return tni_fail(why, TN_ERR_PARSE, "no setting is called '%.60s'; did you mean '%s'?", key,
                    near);
}

static tn_result bad_value(const setting* s, const char* value, tn_why* why)
{
    const char* near = tn_nearest_word(value, s->words, s->word_count);
    if (near == NULL) {
        return tni_fail(why, TN_ERR_PARSE, "setting '%s' takes %s, not '%.60s'", s->info.key,
                        s->info.values, value);
    }
    return tni_fail(why, TN_ERR_PARSE, "setting '%s' takes %s, not '%.60s'; did you mean '%s'?",
                    s->info.key, s->info.values, value, near);
}

static bool in_range(const setting* s, double number)
{
    return isfinite(number) && (s->open ? number > s->lower : number >= s->lower);
}

static tn_result set_number(const setting* s, void* field, const char* value, tn_why* why)
{
    const char* const limit  = value + strlen(value);
    const char*       end    = value;
    double            number = 0;
    if (!tn_parse_number(value, limit, &end, &number) || end != limit || !in_range(s, number)) {
        return bad_value(s, value, why);
    }
    if (s->type == FIELD_WHOLE) {
        if (number != floor(number) || number > 1e9) return bad_value(s, value, why);
        *(int*)field = (int)number;
        return TN_OK;
    }
    *(double*)field = number;
    return TN_OK;
}

static tn_result set_word(const setting* s, void* field, const char* value, tn_why* why)
{
    for (int i = 0; i < s->word_count; ++i) {
        if (strcmp(s->words[i], value) != 0) continue;
        if (s->type == FIELD_BOOL) *(bool*)field = i != 0;
        else *(int*)field = i; // every enum of tn_settings is as wide as int; asserted below
        return TN_OK;
    }
    return bad_value(s, value, why);
}
_Static_assert(sizeof(tn_method) == sizeof(int) && sizeof(tn_integrator) == sizeof(int) &&
                   sizeof(tn_dynamics) == sizeof(int) && sizeof(tn_loops) == sizeof(int) &&
                   sizeof(tn_formulation) == sizeof(int) && sizeof(tn_choice) == sizeof(int) &&
                   sizeof(tn_weights) == sizeof(int) && sizeof(tn_adaptive_solver) == sizeof(int) &&
                   sizeof(tn_adaptive_integrator) == sizeof(int),
               "set_word() stores words as int");

tn_result tn_settings_set(tn_settings* settings, const char* key, const char* value, tn_why* why)
{
    const setting* s = find(key);
    if (s == NULL) return unknown_key(key, why);
    void*           field = (char*)settings + s->offset;
    const bool      own_h = settings->h == tn_method_h(settings->method);
    const tn_result result =
        s->info.number ? set_number(s, field, value, why) : set_word(s, field, value, why);
    if (field == &settings->method && own_h) settings->h = tn_method_h(settings->method);
    return result;
}

static double number_of(const setting* s, const void* field)
{
    return s->type == FIELD_WHOLE ? *(const int*)field : *(const double*)field;
}

static int word_index(const setting* s, const void* field)
{
    return s->type == FIELD_BOOL ? *(const bool*)field : *(const int*)field;
}

int tn_settings_get(const tn_settings* settings, const char* key, char* text, size_t size)
{
    const setting* s = find(key);
    if (size > 0) text[0] = 0;
    if (s == NULL) return 0;
    const void* field = (const char*)settings + s->offset;
    char        number[32];
    const char* word = number;
    if (s->info.number) tn_format_number(number_of(s, field), number, sizeof number);
    else word = s->words[word_index(s, field)];
    return snprintf(text, size, "%s", word);
}

tn_result tni_settings_made(const tn_settings* settings, tn_why* why)
{
    TN_ASSERT(settings->cookie == COOKIE && "the settings were made by tn_default_settings()");
    if (settings->cookie == COOKIE) return TN_OK;
    return tni_fail(why, TN_ERR_MODEL, "tn_settings were not made by tn_default_settings()");
}

tn_result tni_settings_check(const tn_settings* settings, tn_why* why)
{
    if (tni_settings_made(settings, why) != TN_OK) return TN_ERR_MODEL;
    for (int i = 0; i < SETTING_COUNT; ++i) {
        const setting* s     = &table[i];
        const void*    field = (const char*)settings + s->offset;
        const bool     good  = s->info.number ? in_range(s, number_of(s, field))
                                              : (unsigned)word_index(s, field) < (unsigned)s->word_count;
        if (!good)
            return tni_fail(why, TN_ERR_MODEL, "setting '%s' must be %s", s->info.key,
                            s->info.values);
    }
    return TN_OK;
}
