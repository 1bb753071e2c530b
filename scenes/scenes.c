// scenes: finding a built-in scene by its spec and reading its parameters.
//
//     spec   = ["@"] name [":" param {"," param}]        param = key "=" value
//
// A value is a number within the parameter's range, or one of its words. Anything else is refused
// with one sentence that names the parameter, its allowed values, and the nearest valid word.
#include "scenes.h"
#include "builtins.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const tns_builtin* const builtins[] = {
    &tns_chain,
    &tns_pendulum,
    &tns_spring_pendulum,
    &tns_tree,
    &tns_spider,
    &tns_planar_web,
    &tns_hand,
    &tns_robot,
    &tns_humanoid,
    &tns_crowd,
    &tns_plant,
    &tns_hair,
    &tns_fourbar,
    &tns_slider_crank,
    &tns_peaucellier,
    &tns_scissor,
    &tns_strandbeest,
    &tns_bricard,
    &tns_octahedron,
    &tns_octahedron_tube,
    &tns_octahedron_cube,
    &tns_rod_and_block,
    &tns_differential,
    &tns_planetary,
    &tns_delta,
    &tns_car,
    &tns_ladder,
    &tns_incline,
    &tns_bounce,
    &tns_cradle,
    &tns_painleve,
    &tns_heap,
    &tns_boxes,
    &tns_ragdoll_pile,
    &tns_gripper,
    &tns_coin,
    &tns_conveyor,
    &tns_marbles,
    &tns_domino,
    &tns_bullet,
};
enum {
    BUILTIN_COUNT = sizeof builtins / sizeof builtins[0],
    BODIES_MAX    = 10000000,
    DRIVEN_MAX    = 100000
};

const tns_builtin* tns_at(int index)
{
    return index >= 0 && index < BUILTIN_COUNT ? builtins[index] : NULL;
}

__attribute__((format(printf, 3, 4))) static tn_result refuse(tn_why* why, tn_result result,
                                                              const char* format, ...)
{
    if (why == NULL) return result;
    *why = (tn_why){.result = result};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why->text, sizeof why->text, format, arguments);
    va_end(arguments);
    return result;
}

// ---- Words --------------------------------------------------------------------------------------

enum { WORD_SIZE = 64, WORDS_MAX = 32 };

// A piece of the spec as a string; longer pieces are cut, as no name is that long.
typedef struct word {
    char text[WORD_SIZE];
} word;

static word word_of(const char* begin, const char* end)
{
    word         w;
    const size_t length =
        (size_t)(end - begin) < WORD_SIZE - 1 ? (size_t)(end - begin) : WORD_SIZE - 1;
    memcpy(w.text, begin, length);
    w.text[length] = '\0';
    return w;
}

static const char* find_or_end(const char* begin, const char* end, char wanted)
{
    const char* at = memchr(begin, wanted, (size_t)(end - begin));
    return at != NULL ? at : end;
}

// "; did you mean 'near'?", or `otherwise` if nothing is near.
static word hint(const char* wrong, const char* const* words, int count, const char* otherwise)
{
    word        w;
    const char* near = tn_nearest_word(wrong, words, count);
    if (near != NULL) snprintf(w.text, sizeof w.text, "; did you mean '%.30s'?", near);
    else snprintf(w.text, sizeof w.text, "%s", otherwise);
    return w;
}

// ---- Parameters ---------------------------------------------------------------------------------

static int param_count(const tns_builtin* scene)
{
    int count = 0;
    while (count < TNS_PARAM_MAX && scene->params[count].name != NULL) ++count;
    return count;
}

static int find_param(const tns_builtin* scene, const char* key)
{
    for (int i = 0; i < param_count(scene); ++i) {
        if (strcmp(scene->params[i].name, key) == 0) return i;
    }
    return -1;
}

static tn_result no_param(const tns_builtin* scene, const char* key, tn_why* why)
{
    const char* names[TNS_PARAM_MAX];
    char        list[120] = "";
    const int   count     = param_count(scene);
    for (int i = 0; i < count; ++i) {
        names[i]          = scene->params[i].name;
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    if (count == 0)
        return refuse(why, TN_ERR_PARSE, "scene '%s' takes no parameters, not '%s'", scene->name,
                      key);
    return refuse(why, TN_ERR_PARSE, "scene '%s' has no parameter '%s'%s (it has %s)", scene->name,
                  key, hint(key, names, count, "").text, list);
}

static tn_result read_word(const tns_builtin* scene, const tns_param* param, const char* text,
                           double* value, tn_why* why)
{
    const char* names[WORDS_MAX];
    word        words[WORDS_MAX];
    int         count = 0;
    const char* end   = param->words + strlen(param->words);
    for (const char* at = param->words; at < end && count < WORDS_MAX; ++count) {
        const char* stop = find_or_end(at, end, '|');
        words[count]     = word_of(at, stop);
        names[count]     = words[count].text;
        if (strcmp(names[count], text) == 0) {
            *value = count;
            return TN_OK;
        }
        at = stop + 1;
    }
    return refuse(why, TN_ERR_PARSE, "scene '%s': parameter '%s' must be one of %s, not '%s'%s",
                  scene->name, param->name, param->words, text, hint(text, names, count, "").text);
}

static tn_result read_number(const tns_builtin* scene, const tns_param* param, const char* text,
                             double* value, tn_why* why)
{
    const char* end   = text + strlen(text);
    const char* after = text;
    if (tn_parse_number(text, end, &after, value) && after == end && *value >= param->lower &&
        *value <= param->upper && (!param->whole || *value == floor(*value))) {
        return TN_OK;
    }
    char lower[32], upper[32];
    tn_format_number(param->lower, lower, sizeof lower);
    tn_format_number(param->upper, upper, sizeof upper);
    return refuse(why, TN_ERR_PARSE,
                  "scene '%s': parameter '%s' must be a %snumber from %s to %s, not '%s'",
                  scene->name, param->name, param->whole ? "whole " : "", lower, upper, text);
}

// One "key=value". given has a flag for each parameter.
static tn_result read_param(const tns_builtin* scene, const char* begin, const char* end,
                            double* values, bool* given, tn_why* why)
{
    const char* equals = find_or_end(begin, end, '=');
    const word  key    = word_of(begin, equals);
    const int   index  = find_param(scene, key.text);
    if (index < 0) return no_param(scene, key.text, why);
    if (equals == end) {
        return refuse(why, TN_ERR_PARSE, "scene '%s': parameter '%s' has no value; write %s=...",
                      scene->name, key.text, key.text);
    }
    if (given[index]) {
        return refuse(why, TN_ERR_PARSE, "scene '%s': parameter '%s' is given twice", scene->name,
                      key.text);
    }
    given[index]           = true;
    const tns_param* param = &scene->params[index];
    const word       value = word_of(equals + 1, end);
    return param->words != NULL ? read_word(scene, param, value.text, &values[index], why)
                                : read_number(scene, param, value.text, &values[index], why);
}

static tn_result read_params(const tns_builtin* scene, const char* text, double* values,
                             tn_why* why)
{
    bool        given[TNS_PARAM_MAX] = {false};
    const char* end                  = text + strlen(text);
    for (const char* at = text;;) {
        const char*     stop   = find_or_end(at, end, ',');
        const tn_result result = read_param(scene, at, stop, values, given, why);
        if (result != TN_OK || stop == end) return result;
        at = stop + 1;
    }
}

// Checks combinations of parameters that are each in range.
static tn_result check_together(const tns_builtin* scene, const double* values, tn_why* why)
{
    if (scene == &tns_tree && tns_tree_bodies(values) > BODIES_MAX) {
        return refuse(why, TN_ERR_PARSE,
                      "scene 'tree': depth=%d with branching=%d makes more than %d bodies",
                      (int)values[0], (int)values[1], BODIES_MAX);
    }
    if (scene == &tns_plant && tns_plant_bodies(values) > DRIVEN_MAX) {
        return refuse(why, TN_ERR_PARSE,
                      "scene 'plant': depth=%d with branching=%d makes more than %d bodies",
                      (int)values[0], (int)values[1], DRIVEN_MAX);
    }
    if (scene == &tns_hair && values[0] * values[1] > BODIES_MAX) {
        return refuse(why, TN_ERR_PARSE,
                      "scene 'hair': n=%d with strands=%d makes more than %d bodies",
                      (int)values[0], (int)values[1], BODIES_MAX);
    }
    if (scene == &tns_planar_web && values[1] > tns_planar_web_loops(values)) {
        return refuse(why, TN_ERR_PARSE,
                      "scene 'planar_web': parameter 'loops' must be at most %d when joints=%d",
                      (int)tns_planar_web_loops(values), (int)values[0]);
    }
    if (scene == &tns_cradle && values[1] > values[0]) {
        return refuse(why, TN_ERR_PARSE,
                      "scene 'cradle': parameter 'in' must be at most %d when balls=%d",
                      (int)values[0], (int)values[0]);
    }
    return TN_OK;
}

// ---- Building -----------------------------------------------------------------------------------

static const tns_builtin* find_builtin(const char* name, tn_why* why)
{
    const char* names[BUILTIN_COUNT];
    for (int i = 0; i < BUILTIN_COUNT; ++i) {
        names[i] = builtins[i]->name;
        if (strcmp(names[i], name) == 0) return builtins[i];
    }
    refuse(why, TN_ERR_PARSE, "there is no built-in scene '%s'%s", name,
           hint(name, names, BUILTIN_COUNT, "; tenon scene --list shows them").text);
    return NULL;
}

static tn_result build(const tn_host* host, const tns_builtin* builtin, const double* values,
                       tn_scene** scene, tn_why* why)
{
    tn_result result = tn_scene_create(host, scene);
    if (result != TN_OK)
        return refuse(why, result, "scene '%s': %s", builtin->name, tn_result_text(result));
    builtin->build(*scene, values);
    result = tn_scene_problem(*scene, why);
    if (result == TN_OK) return TN_OK;
    tn_scene_free(*scene);
    *scene = NULL;
    return result;
}

tn_result tns_build(const tn_host* host, const char* spec, tn_scene** scene, tn_why* why)
{
    *scene = NULL;
    if (spec[0] == '@') ++spec;
    const char*        end     = spec + strlen(spec);
    const char*        colon   = find_or_end(spec, end, ':');
    const tns_builtin* builtin = find_builtin(word_of(spec, colon).text, why);
    if (builtin == NULL) return TN_ERR_PARSE;
    double values[TNS_PARAM_MAX] = {0};
    for (int i = 0; i < param_count(builtin); ++i) values[i] = builtin->params[i].value;
    tn_result result = TN_OK;
    if (colon != end) result = read_params(builtin, colon + 1, values, why);
    if (result == TN_OK) result = check_together(builtin, values, why);
    return result == TN_OK ? build(host, builtin, values, scene, why) : result;
}
