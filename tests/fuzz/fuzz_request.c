// libFuzzer target: any bytes as what a browser sends: a request, and behind it, or in its place, the frames of a
// WebSocket. A head that was read lies within the bytes and gets an answer. Frames come to the same events whether they
// arrive at once or byte by byte, and never to a message above the bound or a text that is not UTF-8.
// The texts are obeyed by a stage with a pendulum of three: whatever they are, it stays finite, and all
// it says begins as a message does.
#include "request.h"
#include "websocket.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

#define REQUIRE(condition, text) ((condition) ? (void)0 : broken(#condition, text))

enum { MESSAGE_MAX = 600, COMMANDS_MAX = 12 };

static _Noreturn void broken(const char* condition, const char* text)
{
    fprintf(stderr, "not so: %s: %s\n", condition, text);
    abort();
}

// ---- Requests ------------------------------------------------------------------------------------

static void require_within(tnc_span span, const char* bytes, size_t length)
{
    REQUIRE(!span.at || (span.at >= bytes && span.at + span.length <= bytes + length), "a span");
}

// Bytes of the head; 0: there is none.
static size_t check_request(const char* bytes, size_t length)
{
    tnc_request    r;
    const tnc_site site = {8000, "/live"};
    const tnc_head head = tnc_request_read(bytes, length, &r);
    REQUIRE(head != TNC_HEAD_MORE || length < TNC_HEAD_MAX, "a head without end");
    REQUIRE(head != TNC_HEAD_LONG || length >= TNC_HEAD_MAX, "a short head that is long");
    if (head != TNC_HEAD_DONE) return 0;
    REQUIRE(r.length <= length && memcmp(bytes + r.length - 2, "\r\n", 2) == 0, "its end");
    const tnc_span spans[] = {r.method,  r.path,       r.host, r.origin,
                              r.upgrade, r.connection, r.key,  r.version};
    for (size_t i = 0; i < sizeof spans / sizeof *spans; ++i)
        require_within(spans[i], bytes, r.length);
    const tnc_answer answer = tnc_request_answer(&r, &site);
    const bool       good   = answer.status < 300;
    REQUIRE(good == (answer.line == NULL) && tnc_status_text(answer.status)[0], "an answer");
    REQUIRE(!good || r.host.length == 14, "another host");
    if (answer.status == 101) {
        char accept[29];
        REQUIRE(r.origin.length == 21 && r.key.length == 24, "another origin, or no key");
        tnc_websocket_accept(r.key.at, accept);
        REQUIRE(strlen(accept) == 28, "an accept");
    }
    return r.length;
}

// ---- Frames --------------------------------------------------------------------------------------

// What came out so far: a hash of all events, and the first texts.
typedef struct outcome {
    uint64_t hash;
    int      code; ///< of the close; 0: none yet
    int      count;
    tng_text texts; ///< each with a NUL behind it
    size_t   ends[COMMANDS_MAX];
} outcome;

static void add_hash(outcome* o, const void* bytes, size_t length)
{
    for (size_t i = 0; i < length; ++i)
        o->hash = (o->hash ^ ((const unsigned char*)bytes)[i]) * 1099511628211u;
}

static void note_event(outcome* o, const tnc_event* e)
{
    if (e->kind == TNC_EVENT_NONE) return;
    add_hash(o, &e->kind, sizeof e->kind);
    add_hash(o, &e->code, sizeof e->code);
    add_hash(o, &e->length, sizeof e->length);
    add_hash(o, e->bytes, e->length);
    REQUIRE(e->length <= MESSAGE_MAX, "a message above the bound");
    REQUIRE((e->kind == TNC_EVENT_CLOSE) == (e->code >= 1000 && e->code < 5000), "a code");
    if (e->kind == TNC_EVENT_CLOSE) o->code = e->code;
    if (e->kind != TNC_EVENT_TEXT || o->count == COMMANDS_MAX) return;
    tng_put_bytes(&o->texts, e->bytes, e->length);
    o->ends[o->count++] = o->texts.length;
}

// The bytes arrive `stride` at a time. Done by hand as the server does it.
static outcome take_frames(const char* data, size_t size, size_t stride)
{
    outcome       o      = {.hash = 14695981039346656037u};
    tnc_websocket socket = {.message_max = MESSAGE_MAX, .binary = size % 2 != 0};
    char*         bytes  = malloc(size + 1);
    size_t        here = 0, done = 0;
    REQUIRE(bytes != NULL, "out of memory");
    while (o.code == 0 && here < size) {
        const size_t count = size - here < stride ? size - here : stride;
        memcpy(bytes + here, data + here, count);
        here += count;
        for (size_t taken = 1; taken > 0 && o.code == 0; done += taken) {
            tnc_event event;
            taken = tnc_websocket_take(&socket, bytes + done, here - done, &event);
            REQUIRE(taken <= here - done, "more than there is");
            note_event(&o, &event);
        }
    }
    tng_text_free(&socket.fragments);
    free(bytes);
    return o;
}

// ---- Commands ------------------------------------------------------------------------------------

// A millisecond each time it is asked.
static double tick(void* user)
{
    return *(double*)user += 1e-3;
}

static void check_messages(tng_stage* stage)
{
    const char* text;
    size_t      length;
    while ((text = tng_stage_message(stage, &length)) != NULL) {
        REQUIRE(length == strlen(text) && text[length - 1] == '}', text);
        REQUIRE(strncmp(text, "{\"type\":\"", 9) == 0, text);
    }
    text = tng_stage_frame(stage, &length);
    REQUIRE(text && length >= 112 && length % 8 == 0 && memcmp(text, "TNF1", 4) == 0, "a frame");
    const tn_state* state = tng_stage_state(stage);
    for (int i = 0; i < tn_state_coordinate_count(state); ++i)
        REQUIRE(isfinite(tn_state_coordinates(state)[i]), "a coordinate");
}

// A step of the adaptive integrator may have a hundred thousand pieces: that takes too long here.
static bool is_slow(const char* text, size_t length)
{
    return length >= 25 && strncmp(text, "set multiplier.integrator", 25) == 0;
}

static void check_commands(const outcome* o)
{
    static const char scene_name[] = "@pendulum:n=3";
    tn_scene*         scene        = NULL;
    tng_stage*        stage        = NULL;
    tn_why            why          = {0};
    double            now          = 0;
    const tn_result   read = tng_scene_open(NULL, scene_name, sizeof scene_name - 1, &scene, &why);
    REQUIRE(read == TN_OK, why.text);
    const tn_result made =
        tng_stage_create(NULL, scene_name, scene, NULL, (tng_clock){tick, &now}, &stage, &why);
    REQUIRE(made == TN_OK, why.text);
    for (int i = 0; i < o->count; ++i) {
        const size_t begin = i > 0 ? o->ends[i - 1] : 0, length = o->ends[i] - begin;
        const char*  text = length > 0 ? o->texts.bytes + begin : "";
        if (is_slow(text, length)) continue;
        tng_stage_command(stage, text, length);
        (void)tng_stage_advance(stage, 0.02);
        REQUIRE(tng_stage_wait(stage) >= 0, "time goes back");
        check_messages(stage);
    }
    tng_stage_free(stage);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    const char*  bytes   = (const char*)data;
    const size_t head    = check_request(bytes, size);
    outcome      at_once = take_frames(bytes + head, size - head, size + 1);
    outcome      slowly  = take_frames(bytes + head, size - head, 1);
    REQUIRE(at_once.hash == slowly.hash, "events depend on how bytes arrive");
    if (at_once.count > 0) check_commands(&at_once);
    tng_text_free(&at_once.texts);
    tng_text_free(&slowly.texts);
    return 0;
}
