// command: user actions on a simulation, one line of words each; docs/protocol.md has them all. A
// table lists the arguments of each. An invalid command is answered with a notice that gives the
// reason, and nothing changes.
#include "stage/inside.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LINE_MAX = 512, WORDS_MAX = 8, STEPS_MAX = 100000 };

typedef struct words {
    int   count; ///< arguments, without the command itself
    char* at[WORDS_MAX];
    char  line[LINE_MAX];
} words;

// ---- Refusing ----------------------------------------------------------------------------------

__attribute__((format(printf, 2, 3))) static void refuse(tng_stage* stage, const char* format, ...)
{
    tn_why  why = {.result = TN_ERR_PARSE};
    va_list args;
    va_start(args, format);
    vsnprintf(why.text, sizeof why.text, format, args);
    va_end(args);
    for (char* c = why.text; *c; ++c) // words may contain any bytes
        if ((unsigned char)*c < ' ' || (unsigned char)*c > '~') *c = '?';
    tng_say_notice(stage, "error", &why);
}

static void refuse_why(tng_stage* stage, tn_why* why, tn_result result)
{
    why->result = result;
    why->line   = 0; // the user sees no text that it refers to
    tng_say_notice(stage, "error", why);
    tng_say_settings(stage, false); // so that a slider returns to the valid value
}

static bool number_at(tng_stage* stage, const words* w, int i, double* value)
{
    const char *text = w->at[i + 1], *limit = text + strlen(text), *end;
    if (tn_parse_number(text, limit, &end, value) && end == limit) return true;
    refuse(stage, "%s: '%.40s' is not a number", w->at[0], text);
    return false;
}

static bool vec3_at(tng_stage* stage, const words* w, int i, tn_vec3* v)
{
    return number_at(stage, w, i, &v->x) && number_at(stage, w, i + 1, &v->y) &&
           number_at(stage, w, i + 2, &v->z);
}

// A whole number from lower to below upper.
static bool whole_at(tng_stage* stage, const words* w, int i, int lower, int upper, int* value)
{
    double number;
    if (!number_at(stage, w, i, &number)) return false;
    if (number >= lower && number < upper && number == floor(number)) {
        *value = (int)number;
        return true;
    }
    refuse(stage, "%s: '%.40s' is not a whole number from %d to %d", w->at[0], w->at[i + 1], lower,
           upper - 1);
    return false;
}

// ---- Time --------------------------------------------------------------------------------------

static void play(tng_stage* stage, const words* w)
{
    (void)w;
    if (stage->stopped)
        refuse(stage, "play: it cannot go on from here; reset, or change something");
    tng_set_playing(stage, true);
    tng_say_settings(stage, false);
}

static void pause_it(tng_stage* stage, const words* w)
{
    (void)w;
    tng_set_playing(stage, false);
    tng_say_settings(stage, false);
}

static void step(tng_stage* stage, const words* w)
{
    int count = 1;
    if (w->count > 0 && !whole_at(stage, w, 0, 1, STEPS_MAX + 1, &count)) return;
    const bool was = stage->playing;
    tng_set_playing(stage, false);
    stage->asked = count;
    if (was) tng_say_settings(stage, false);
}

static void reset(tng_stage* stage, const words* w)
{
    (void)w;
    tn_why          why    = {0};
    const tn_result result = tng_restart(stage, &why);
    if (result != TN_OK) refuse_why(stage, &why, result);
    tng_set_playing(stage, stage->playing);
}

static void speed(tng_stage* stage, const words* w)
{
    double x;
    if (!number_at(stage, w, 0, &x)) return;
    if (!(x >= 0.01 && x <= 100)) {
        refuse(stage, "speed: %g is not between 0.01 and 100", x);
        return;
    }
    stage->speed = x;
    tng_set_playing(stage, stage->playing);
    tng_say_settings(stage, false);
}

// ---- Settings and edits ------------------------------------------------------------------------

static void set(tng_stage* stage, const words* w)
{
    tn_settings settings = stage->settings;
    tn_why      why      = {0};
    tn_result   result   = tn_settings_set(&settings, w->at[1], w->at[2], &why);
    const bool  light    = strcmp(w->at[1], "h") == 0 || strcmp(w->at[1], "duration") == 0;
    if (result == TN_OK && light) stage->settings = settings;
    else if (result == TN_OK) result = tng_restep(stage, &settings, &why);
    if (result != TN_OK) {
        refuse_why(stage, &why, result);
        return;
    }
    stage->stopped = false;
    tng_set_playing(stage, stage->playing);
    tng_say_settings(stage, false);
}

static void gravity(tng_stage* stage, const words* w)
{
    const tn_vec3 old = tn_scene_gravity(stage->scene);
    tn_vec3       g;
    tn_why        why = {0};
    if (!vec3_at(stage, w, 0, &g)) return;
    tn_scene_set_gravity(stage->scene, g);
    const tn_result result = tng_rebuild(stage, &why);
    if (result != TN_OK) {
        tn_scene_set_gravity(stage->scene, old);
        refuse_why(stage, &why, result);
        return;
    }
    tng_say_settings(stage, false);
}

// False: invalid, and already answered.
static bool change_joint(tng_stage* stage, const words* w, int coordinates, tn_joint_def* def)
{
    const char* what = w->at[2];
    double      value;
    int         which = 0;
    if (!number_at(stage, w, 2, &value)) return false;
    if (strcmp(what, "stiffness") == 0) def->stiffness = value;
    else if (strcmp(what, "damping") == 0) def->damping = value;
    else if (strcmp(what, "velocity") == 0) {
        def->velocity           = value;
        def->velocity_key_count = 0;
    } else if (strcmp(what, "rest") == 0) {
        if (w->count > 3 && !whole_at(stage, w, 3, 0, coordinates, &which)) return false;
        if (coordinates == 0) {
            refuse(stage, "joint: '%s' has no free coordinate", def->name);
            return false;
        }
        def->rest[which] = value;
    } else {
        refuse(stage, "joint: '%.40s' is none of stiffness, damping, rest, velocity", what);
        return false;
    }
    if (w->count == 3 || strcmp(what, "rest") == 0) return true;
    refuse(stage, "joint: '%.40s' is one word too many", w->at[4]);
    return false;
}

static void joint(tng_stage* stage, const words* w)
{
    int    index;
    tn_why why = {0};
    if (!whole_at(stage, w, 0, 0, tn_scene_joint_count(stage->scene), &index)) return;
    const tn_joint_id  id  = {(uint32_t)index + 1};
    const tn_joint_def old = *tn_scene_joint(stage->scene, index);
    tn_joint_def       def = old;
    if (!change_joint(stage, w, tn_model_joint_coordinates(stage->machine.model, id), &def)) return;
    tn_result result = tn_scene_set_joint(stage->scene, id, &def, &why);
    if (result == TN_OK) {
        result = tng_rebuild(stage, &why);
        if (result != TN_OK) (void)!tn_scene_set_joint(stage->scene, id, &old, NULL);
    }
    if (result != TN_OK) refuse_why(stage, &why, result);
    else tng_say_settings(stage, true);
}

// ---- Handles and camera ------------------------------------------------------------------------

static void grab(tng_stage* stage, const words* w)
{
    int     handle, body;
    tn_vec3 point;
    if (!whole_at(stage, w, 0, 0, TN_HANDLES_MAX, &handle) ||
        !whole_at(stage, w, 1, 0, tn_scene_body_count(stage->scene), &body) ||
        !vec3_at(stage, w, 2, &point))
        return;
    const tn_body_id id = {(uint32_t)body + 1};
    if (tng_grab(stage, handle, id, point) != TN_OK)
        refuse(stage, "grab: '%s' cannot be moved", tn_model_body_name(stage->machine.model, id));
    stage->fresh = true;
}

static void move(tng_stage* stage, const words* w)
{
    const tn_vec3 rest = {0, 0, 0};
    int           handle;
    tn_vec3       to;
    tn_handle     held;
    if (!whole_at(stage, w, 0, 0, TN_HANDLES_MAX, &handle) || !vec3_at(stage, w, 1, &to)) return;
    if (!tn_state_handle(stage->machine.state, handle, &held) ||
        tn_state_move(stage->machine.state, handle, to, rest) != TN_OK)
        refuse(stage, "move: handle %d holds nothing", handle);
    else tn_state_wake(stage->machine.state, held.body);
    stage->fresh = true;
}

static void release(tng_stage* stage, const words* w)
{
    int handle;
    if (!whole_at(stage, w, 0, 0, TN_HANDLES_MAX, &handle)) return;
    tn_state_release(stage->machine.state, handle);
    stage->fresh = true;
}

static void show(tng_stage* stage, const words* w)
{
    if (whole_at(stage, w, 0, 0, TNG_ALL + 1, &stage->parts)) stage->fresh = true;
}

static void camera(tng_stage* stage, const words* w)
{
    tn_vec3 at;
    if (vec3_at(stage, w, 0, &at)) (void)!tn_state_set_camera(stage->machine.state, &at);
}

// ---- The table ---------------------------------------------------------------------------------

static const struct command {
    const char* word;
    int         least, most; ///< number of arguments
    const char* takes;
    void (*obey)(tng_stage* stage, const words* w);
} commands[] = {
    {"play", 0, 0, "", play},
    {"pause", 0, 0, "", pause_it},
    {"step", 0, 1, "[N]", step},
    {"reset", 0, 0, "", reset},
    {"speed", 1, 1, "X", speed},
    {"set", 2, 2, "KEY VALUE", set},
    {"gravity", 3, 3, "X Y Z", gravity},
    {"joint", 3, 4, "J WHAT X [K]", joint},
    {"grab", 5, 5, "H BODY X Y Z", grab},
    {"move", 4, 4, "H X Y Z", move},
    {"release", 1, 1, "H", release},
    {"show", 1, 1, "PARTS", show},
    {"camera", 3, 3, "X Y Z", camera},
};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

// Splits at single spaces. False: invalid, and already answered.
static bool split(tng_stage* stage, const char* line, size_t length, words* w)
{
    if (length == 0 || length >= LINE_MAX || memchr(line, '\0', length)) {
        refuse(stage, "command is empty, too long, or contains a NUL");
        return false;
    }
    memcpy(w->line, line, length);
    w->line[length] = '\0';
    int   count     = 0;
    char* next      = w->line;
    while (next && count < WORDS_MAX) {
        w->at[count++] = next;
        next           = strchr(next, ' ');
        if (next) *next++ = '\0';
    }
    if (next) refuse(stage, "%.40s: too many words", w->at[0]);
    w->count = count - 1;
    return next == NULL;
}

static void refuse_word(tng_stage* stage, const char* word)
{
    const char* known[COMMAND_COUNT];
    for (int i = 0; i < COMMAND_COUNT; ++i) known[i] = commands[i].word;
    const char* near = tn_nearest_word(word, known, COMMAND_COUNT);
    refuse(stage, "unknown command '%.40s'%s%s%s", word, near ? " (did you mean '" : "",
           near ? near : "", near ? "'?)" : "");
}

void tng_stage_command(tng_stage* stage, const char* line, size_t length)
{
    words w;
    if (!split(stage, line, length, &w)) return;
    for (int i = 0; i < COMMAND_COUNT; ++i) {
        const struct command* c = &commands[i];
        if (strcmp(w.at[0], c->word) != 0) continue;
        if (w.count < c->least || w.count > c->most)
            refuse(stage, "%s: takes %s%s", c->word, c->takes[0] ? "" : "nothing", c->takes);
        else c->obey(stage, &w);
        return;
    }
    refuse_word(stage, w.at[0]);
}
