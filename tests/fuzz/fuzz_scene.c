// libFuzzer target: any bytes as a scene file. Whatever they are, reading them ends in a scene or in
// a reason with a line. A scene that was read is written, read back and written again: the two texts
// are the same bytes. Then it is compiled, which may refuse it, and when it is small, checked,
// evaluated and stepped. Each call either fails, with a reason and an untouched state, or leaves
// nothing but finite numbers.
#include "tenon/tenon.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int    LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t room, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t room); // the library's own

#define REQUIRE(condition, text) ((condition) ? (void)0 : broken(#condition, text))

static _Noreturn void broken(const char* condition, const char* text)
{
    fprintf(stderr, "not so: %s: %s\n", condition, text);
    abort();
}

typedef struct buffer {
    char*  bytes;
    size_t count, room;
} buffer;

static bool buffer_add(void* user, const char* bytes, size_t count)
{
    buffer* b = user;
    if (b->count + count > b->room) {
        b->room  = 2 * (b->count + count);
        b->bytes = realloc(b->bytes, b->room);
        REQUIRE(b->bytes != NULL, "out of memory");
    }
    if (count > 0) memcpy(b->bytes + b->count, bytes, count);
    b->count += count;
    return true;
}

static buffer written(const tn_scene* scene)
{
    buffer          b   = {0};
    tn_why          why = {0};
    const tn_result r   = tn_scene_write(scene, buffer_add, &b, &why);
    REQUIRE(r == TN_OK, why.text);
    REQUIRE(b.count > 0, "an empty text");
    return b;
}

static void check_round_trip(const tn_scene* scene)
{
    const buffer    first = written(scene);
    tn_scene*       again = NULL;
    tn_why          why   = {0};
    const tn_result r     = tn_scene_read(NULL, first.bytes, first.count, &again, &why);
    REQUIRE(r == TN_OK, why.text);
    const buffer second = written(again);
    REQUIRE(first.count == second.count, "read back, the scene is another one");
    REQUIRE(memcmp(first.bytes, second.bytes, first.count) == 0, "read back, it is another one");
    tn_scene_free(again);
    free(first.bytes);
    free(second.bytes);
}

static void require_finite(const double* numbers, int count, const char* what)
{
    for (int i = 0; i < count; ++i) REQUIRE(isfinite(numbers[i]), what);
}

static void require_finite_state(const tn_state* state)
{
    REQUIRE(isfinite(tn_state_time(state)), "time of a state");
    require_finite(tn_state_coordinates(state), tn_state_coordinate_count(state), "position");
    require_finite(tn_state_velocities(state), tn_state_velocity_count(state), "velocity");
}

static void require_reason(tn_result result, const tn_why* why)
{
    REQUIRE(result == TN_OK || (why->result == result && why->text[0] != '\0'), "no reason given");
}

static void check_mechanism(tn_stepper* stepper, const tn_state* state)
{
    tn_check        check;
    tn_why          why    = {0};
    const tn_result result = tn_stepper_check(stepper, state, &check, &why);
    require_reason(result, &why);
    if (result != TN_OK) return;
    for (int i = 0; i < check.redundant_count; ++i) {
        REQUIRE(tn_stepper_redundant_row(stepper, i).row >= 0, "a redundant row");
    }
}

static void check_evaluation(tn_stepper* stepper, const tn_model* model, const tn_state* state)
{
    tn_why          why    = {0};
    const tn_result result = tn_stepper_evaluate(stepper, state, NULL, &why);
    require_reason(result, &why);
    if (result != TN_OK) return;
    const tn_counts counts = tn_model_counts(model);
    require_finite(tn_stepper_accelerations(stepper), tn_state_velocity_count(state),
                   "acceleration");
    for (int i = 1; i <= counts.joints; ++i) {
        const tn_joint_id joint = {(uint32_t)i};
        require_finite(tn_stepper_multipliers(stepper, joint), tn_model_joint_rows(model, joint),
                       "multiplier");
    }
}

static void check_step(tn_stepper* stepper, tn_state* state)
{
    const uint64_t  before = tn_state_hash(state);
    tn_why          why    = {0};
    const tn_result result = tn_stepper_step(stepper, state, 1e-3, NULL, &why);
    require_reason(result, &why);
    if (result == TN_OK) require_finite_state(state);
    else REQUIRE(tn_state_hash(state) == before, "a failed step changed the state");
}

// The adaptive integrator may take a hundred thousand pieces before it gives up: it is left to the
// smallest scenes, and need not be exact.
static tn_settings settings_for(const tn_scene* scene, const tn_counts* counts)
{
    tn_settings settings                = tn_scene_settings(scene);
    settings.method                     = TN_METHOD_MULTIPLIER;
    settings.multiplier.error_tolerance = fmax(settings.multiplier.error_tolerance, 1e-3);
    if (counts->bodies + counts->joints > 4 &&
        settings.multiplier.integrator == TN_INTEGRATOR_ADAPTIVE) {
        settings.multiplier.integrator = TN_INTEGRATOR_RK4;
    }
    return settings;
}

static void check_motion(const tn_scene* scene, const tn_model* model)
{
    const tn_counts counts = tn_model_counts(model);
    if (counts.bodies > 32 || counts.joints > 64 || counts.couplings > 64) return;
    const tn_settings settings = settings_for(scene, &counts);
    tn_stepper*       stepper  = NULL;
    tn_state*         state    = NULL;
    REQUIRE(tn_state_create(model, &state) == TN_OK, "no state");
    tn_why          why    = {0};
    const tn_result result = tn_stepper_create(model, &settings, &stepper, &why);
    if (result == TN_ERR_UNSUPPORTED) { // of what this method does not model
        REQUIRE(why.text[0] != '\0', "refused without a word");
        tn_state_free(state);
        return;
    }
    REQUIRE(result == TN_OK, "no stepper");
    require_finite_state(state);
    check_mechanism(stepper, state);
    check_evaluation(stepper, model, state);
    check_step(stepper, state);
    check_step(stepper, state);
    tn_stepper_free(stepper);
    tn_state_free(state);
}

// The same by the adaptive method, which refuses what is no tree.
static void check_adaptive(const tn_scene* scene, const tn_model* model)
{
    const tn_counts counts = tn_model_counts(model);
    if (counts.bodies > 32 || counts.joints > 64) return;
    tn_settings settings     = tn_scene_settings(scene);
    tn_stepper* stepper      = NULL;
    tn_state*   state        = NULL;
    tn_why      why          = {0};
    settings.method          = TN_METHOD_ADAPTIVE;
    settings.adaptive.active = settings.adaptive.active > 0 ? settings.adaptive.active : 2;
    const tn_result result   = tn_stepper_create(model, &settings, &stepper, &why);
    require_reason(result, &why);
    if (result != TN_OK) return;
    REQUIRE(tn_state_create(model, &state) == TN_OK, "no state");
    check_step(stepper, state);
    check_step(stepper, state);
    tn_stepper_free(stepper);
    tn_state_free(state);
}

static void check_compile(const tn_scene* scene)
{
    tn_model*       model = NULL;
    tn_why          why   = {0};
    const tn_result r     = tn_scene_compile(scene, &model, &why);
    REQUIRE((r == TN_OK) == (model != NULL), why.text);
    require_reason(r, &why);
    if (r == TN_OK) check_motion(scene, model);
    if (r == TN_OK) check_adaptive(scene, model);
    tn_model_free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    tn_scene*       scene = NULL;
    tn_why          why   = {0};
    const tn_result r     = tn_scene_read(NULL, (const char*)data, size, &scene, &why);
    if (r != TN_OK) {
        REQUIRE(scene == NULL, "a scene after a failure");
        REQUIRE(why.result == r && why.text[0] != '\0' && why.line > 0, why.text);
        return 0;
    }
    check_round_trip(scene);
    check_compile(scene);
    tn_scene_free(scene);
    return 0;
}

// ---- Changes that leave JSON whole -----------------------------------------------------------------
// Bytes changed at random are seldom a scene any more. So most inputs come of putting another number,
// or another text of the same file, in the place of one: what gets past the reader is tried, too.

typedef struct token {
    size_t start, count;
} token;

static bool is_number_byte(uint8_t c)
{
    return c != '\0' && strchr("+-.0123456789eE", c) != NULL;
}

// The token that begins at data[i]: a number, or a text with its quotes. count 0: neither.
static token token_at(const uint8_t* data, size_t size, size_t i)
{
    size_t end = i;
    if (data[i] == '"') {
        for (++end; end < size && data[end] != '"'; ++end) end += data[end] == '\\';
        return end < size ? (token){i, end + 1 - i} : (token){i, 0};
    }
    if (data[i] != '-' && (data[i] < '0' || data[i] > '9')) return (token){i, 0};
    while (end < size && is_number_byte(data[end])) ++end;
    return (token){i, end - i};
}

// One of the tokens that begin as `first` does ('"', or '0' for numbers), by chance.
static token pick(const uint8_t* data, size_t size, uint8_t first, unsigned* seed)
{
    token    chosen = {0, 0};
    unsigned seen   = 0;
    for (size_t i = 0; i < size;) {
        const token t = token_at(data, size, i);
        *seed         = *seed * 1664525u + 1013904223u;
        if (t.count > 0 && (data[i] == '"') == (first == '"') && (*seed >> 8) % ++seen == 0) {
            chosen = t;
        }
        i += t.count > 0 ? t.count : 1;
    }
    return chosen;
}

static size_t replace(uint8_t* data, size_t size, size_t room, token old, const void* by,
                      size_t count)
{
    if (old.count == 0 || size - old.count + count > room) return size;
    const size_t end = old.start + old.count;
    memmove(data + old.start + count, data + end, size - end);
    memcpy(data + old.start, by, count);
    return size - old.count + count;
}

static size_t change_number(uint8_t* data, size_t size, size_t room, unsigned* seed)
{
    static const char* const numbers[] = {
        "0",      "1",      "-1",     "2",       "0.5",
        "1e-3",   "-1e-9",  "1e-16",  "3.14159", "1e4",
        "-1e9",   "1e15",   "1e30",   "1e-30",   "1e100",
        "-1e155", "1e200",  "1e-200", "1e-5",    "1e300",
        "-1e308", "1e-308", "5e-324", "-0.0",    "0.7071067811865476",
        "1e-160"};
    const token old = pick(data, size, '0', seed);
    const char* by  = numbers[(*seed >> 12) % (sizeof numbers / sizeof *numbers)];
    return replace(data, size, room, old, by, strlen(by));
}

static size_t change_text(uint8_t* data, size_t size, size_t room, unsigned* seed)
{
    const token old = pick(data, size, '"', seed), from = pick(data, size, '"', seed);
    uint8_t     by[64];
    if (from.count == 0 || from.count > sizeof by) return size;
    memcpy(by, data + from.start, from.count);
    return replace(data, size, room, old, by, from.count);
}

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t room, unsigned seed)
{
    const unsigned way = seed % 8, times = 1 + seed / 8 % 3;
    if (way > 5) return LLVMFuzzerMutate(data, size, room);
    for (unsigned i = 0; i < times; ++i) {
        if (way < 5) size = change_number(data, size, room, &seed);
        else size = change_text(data, size, room, &seed);
    }
    return size;
}
