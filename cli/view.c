// view: a mechanism that moves in real time while browsers of this machine watch it and pull at it.
//
// One thread does all of it in turn: it hears commands, steps until simulated time has caught up with the clock, and sends
// frames, 60 a second at most, to those who have taken the frame before; so a slow page gets
// fewer of them, never old ones. While nobody watches, the clock that the stage sees stands still.
//
// What one page does, all see; three things are each page's own, and are turned into those of the stage:
//     handles    a page counts from 0, the stage has 8 for all; in its frames, others' come as 8 and up
//     parts      frames have what anybody has asked for
//     notices    go to whose command was wrong
// When a page goes, its handles are released.
#include "server.h"
#include "stage/stage.h"
#include "viewer_page.h"

#include "cli.h"

#include <math.h>
#include <string.h>

enum { HANDLES = 8, MESSAGE_MAX = 1 << 16, PARTS_NONE = -1, NOBODY = -1 };
static const double frame_seconds = 1.0 / 60, turn_min = 0.002, turn_max = 0.02, nap = 0.25; // [s]

typedef struct watcher {
    bool here;
    bool stale;           ///< something has changed since its last frame
    int  parts;           ///< asked for, or PARTS_NONE
    int  handle[HANDLES]; ///< of the stage for each of its own; NOBODY: not in use
} watcher;

typedef struct view {
    tnc_job     job;
    tng_stage*  stage;
    tnc_server* server;
    watcher     watchers[TNC_CLIENTS_MAX];
    int         owner[HANDLES]; ///< of the stage's handles, or NOBODY
    int         count;          ///< of watchers
    double      asleep;         ///< wall time that did not count [s]
    double      asleep_since;
    double      next_frame;
    tng_text    page, line, frame;
} view;

// ---- Time ----------------------------------------------------------------------------------------

// Stands still while nobody watches.
static double stage_clock(void* user)
{
    const view* v = user;
    return (v->count > 0 ? tnc_clock(NULL) : v->asleep_since) - v->asleep;
}

static void change_count(view* v, int by)
{
    const double now = tnc_clock(NULL);
    if (v->count == 0) v->asleep += now - v->asleep_since;
    v->count += by;
    v->asleep_since = now;
}

// ---- Messages to pages ---------------------------------------------------------------------------

static void tell_all(view* v, const char* text, size_t length)
{
    for (int i = 0; i < TNC_CLIENTS_MAX; ++i)
        if (v->watchers[i].here) tnc_server_tell(v->server, i, text, length);
}

static bool begins_with(const char* text, const char* start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

// What the stage has to say; client: whose command it answers. True: an error was among it.
static bool pass_messages(view* v, int client)
{
    size_t      length;
    const char* text;
    bool        error = false;
    while ((text = tng_stage_message(v->stage, &length)) != NULL) {
        const bool notice = begins_with(text, "{\"type\":\"notice\"");
        if (notice && client != NOBODY) tnc_server_tell(v->server, client, text, length);
        else tell_all(v, text, length);
        error = error || begins_with(text, "{\"type\":\"notice\",\"level\":\"error\"");
    }
    return error;
}

static void refuse(view* v, int client, const char* text)
{
    tn_why why = {.result = TN_ERR_UNSUPPORTED};
    snprintf(why.text, sizeof why.text, "%s", text);
    tng_stage_complain(v->stage, &why);
    pass_messages(v, client);
}

// A command with a number of the stage's in place of the page's. True: it was obeyed.
static bool order(view* v, int client, const char* verb, int number, const char* rest,
                  size_t length)
{
    tng_text_clear(&v->line);
    tng_put(&v->line, "%s %d", verb, number);
    if (length > 0) tng_put_bytes(&v->line, rest, length);
    if (v->line.failed) return false;
    tng_stage_command(v->stage, v->line.bytes, v->line.length);
    return !pass_messages(v, client);
}

// ---- Commands ------------------------------------------------------------------------------------

// "VERB NUMBER rest"; number -1: another word, or none.
typedef struct sentence {
    char        verb[16];
    int         number;
    const char* rest; ///< behind the number, with the space
    size_t      rest_length;
} sentence;

static sentence split(const char* line, size_t length)
{
    sentence w  = {.number = -1};
    size_t   at = 0;
    while (at < length && line[at] != ' ') ++at;
    if (at < sizeof w.verb) memcpy(w.verb, line, at);
    const size_t begin = at < length ? at + 1 : at;
    int          value = 0;
    for (at = begin; at < length && at < begin + 3 && line[at] >= '0' && line[at] <= '9'; ++at)
        value = 10 * value + (line[at] - '0');
    if (at > begin && (at == length || line[at] == ' ')) w.number = value;
    w.rest        = line + at;
    w.rest_length = length - at;
    return w;
}

static int free_handle(const view* v)
{
    for (int i = 0; i < HANDLES; ++i)
        if (v->owner[i] == NOBODY) return i;
    return NOBODY;
}

static void drop_handle(view* v, watcher* w, int number)
{
    v->owner[w->handle[number]] = NOBODY;
    w->handle[number]           = NOBODY;
}

static void grab(view* v, int client, const sentence* words)
{
    watcher*   w     = &v->watchers[client];
    const bool fresh = w->handle[words->number] == NOBODY;
    const int  own   = fresh ? free_handle(v) : w->handle[words->number];
    if (own == NOBODY) {
        refuse(v, client, "grab: every handle is in use; let one go first");
        return;
    }
    w->handle[words->number] = own;
    v->owner[own]            = client;
    const bool held          = order(v, client, "grab", own, words->rest, words->rest_length);
    if (!held && fresh) drop_handle(v, w, words->number);
}

// Whether the command is about a handle; then it is done.
static bool use_handle(view* v, int client, const sentence* words)
{
    watcher*   w       = &v->watchers[client];
    const bool taking  = strcmp(words->verb, "grab") == 0;
    const bool leaving = strcmp(words->verb, "release") == 0;
    if (!taking && !leaving && strcmp(words->verb, "move") != 0) return false;
    if (words->number < 0 || words->number >= HANDLES) {
        refuse(v, client, "a handle is a number from 0 to 7, as in 'release 0'");
    } else if (taking) {
        grab(v, client, words);
    } else if (w->handle[words->number] == NOBODY) {
        refuse(v, client, "this handle holds nothing; 'grab' comes first");
    } else {
        const bool obeyed = order(v, client, words->verb, w->handle[words->number], words->rest,
                                  words->rest_length);
        if (leaving && obeyed) drop_handle(v, w, words->number);
    }
    return true;
}

// Frames have what anybody wants to see.
static void show_parts(view* v, int client)
{
    int all = PARTS_NONE;
    for (int i = 0; i < TNC_CLIENTS_MAX; ++i) {
        const watcher* w = &v->watchers[i];
        if (w->here && w->parts != PARTS_NONE) all = all == PARTS_NONE ? w->parts : all | w->parts;
    }
    if (all != PARTS_NONE) order(v, client, "show", all, "", 0);
}

static void on_message(void* user, int client, const char* line, size_t length, bool binary)
{
    view*          v     = user;
    const sentence words = split(line, length);
    (void)binary; // never: the service takes none
    pass_messages(v, NOBODY);
    if (strcmp(words.verb, "scene") == 0) {
        refuse(v, client, "a live simulation stays with its scene; end it and view another one");
    } else if (strcmp(words.verb, "show") == 0 && words.number >= 0 && words.number <= TNG_ALL &&
               words.rest_length == 0) {
        v->watchers[client].parts = words.number;
        show_parts(v, client);
    } else if (!use_handle(v, client, &words)) {
        tng_stage_command(v->stage, line, length);
        pass_messages(v, client);
    }
}

// ---- Pages come and go ---------------------------------------------------------------------------

static void on_come(void* user, int client)
{
    static const char hello[] = "{\"type\": \"hello\", \"tenon\": \"" TN_VERSION "\"}";
    view*             v       = user;
    watcher*          w       = &v->watchers[client];
    size_t            length;
    change_count(v, 1);
    *w = (watcher){.here = true, .stale = true, .parts = PARTS_NONE};
    for (int i = 0; i < HANDLES; ++i) w->handle[i] = NOBODY;
    tnc_server_tell(v->server, client, hello, sizeof hello - 1);
    const char* mechanism = tng_stage_mechanism(v->stage, &length);
    if (mechanism) tnc_server_tell(v->server, client, mechanism, length);
    else refuse(v, client, tn_result_text(TN_ERR_MEMORY));
}

static void on_gone(void* user, int client)
{
    view*    v = user;
    watcher* w = &v->watchers[client];
    w->here    = false;
    for (int i = 0; i < HANDLES; ++i) {
        if (w->handle[i] == NOBODY) continue;
        order(v, NOBODY, "release", w->handle[i], "", 0);
        drop_handle(v, w, i);
    }
    show_parts(v, NOBODY);
    change_count(v, -1);
}

// ---- Frames --------------------------------------------------------------------------------------
// Their layout is in docs/protocol.md. Numbers have the little end first, here as there.

enum { AT_PARTS = 8, AT_BODIES = 88, FRAME_HEAD = 112 };

static size_t word_at(const char* frame, size_t at)
{
    uint32_t value;
    memcpy(&value, frame + at, sizeof value);
    return value;
}

// Where the handles begin.
static size_t handles_at(const char* frame)
{
    const size_t parts = word_at(frame, AT_PARTS), joints = word_at(frame, AT_BODIES + 4);
    size_t       count = 7 * word_at(frame, AT_BODIES);
    if (parts & TNG_ERRORS) count += joints;
    if (parts & TNG_FORCES) count += 6 * joints;
    if (parts & TNG_COORDINATES) count += word_at(frame, AT_BODIES + 8);
    if (parts & TNG_ACTIVE) count += (joints + 31) / 32;
    if (parts & TNG_CONTACTS) count += 10 * word_at(frame, AT_BODIES + 12);
    return FRAME_HEAD + 4 * count;
}

// How a page calls a handle of the stage.
static float name_for(const watcher* w, int handle)
{
    for (int i = 0; i < HANDLES; ++i)
        if (w->handle[i] == handle) return (float)i;
    return (float)(HANDLES + handle);
}

// The frame as one page is to see it.
static const char* frame_for(view* v, const watcher* w, const char* frame, size_t length)
{
    enum { HANDLE_BYTES = 44 };
    const size_t count = word_at(frame, AT_BODIES + 16);
    if (count == 0) return frame;
    tng_text_clear(&v->frame);
    tng_put_bytes(&v->frame, frame, length);
    size_t at = handles_at(frame);
    if (v->frame.failed) return frame;
    for (size_t i = 0; i < count && at + HANDLE_BYTES <= length; ++i, at += HANDLE_BYTES) {
        float handle;
        memcpy(&handle, frame + at, sizeof handle);
        handle = name_for(w, (int)handle);
        memcpy(v->frame.bytes + at, &handle, sizeof handle);
    }
    return v->frame.bytes;
}

static bool wants_frame(const view* v, int client)
{
    return v->watchers[client].stale && tnc_server_is_ready(v->server, client);
}

static bool anybody_wants_frame(const view* v)
{
    for (int i = 0; i < TNC_CLIENTS_MAX; ++i)
        if (wants_frame(v, i)) return true;
    return false;
}

static void send_frames(view* v)
{
    const double now = tnc_clock(NULL);
    size_t       length;
    if (now < v->next_frame || !anybody_wants_frame(v)) return;
    const char* frame = tng_stage_frame(v->stage, &length);
    for (int i = 0; frame && i < TNC_CLIENTS_MAX; ++i) {
        watcher* w = &v->watchers[i];
        if (!wants_frame(v, i)) continue;
        tnc_server_send(v->server, i, frame_for(v, w, frame, length), length);
        w->stale = false;
    }
    v->next_frame = fmax(v->next_frame, now - frame_seconds) + frame_seconds;
}

// ---- In turn -------------------------------------------------------------------------------------

// Until something is to be done: the next step, but no more often than frames are sent, or a frame.
static double pause_seconds(const view* v)
{
    const double step = tng_stage_wait(v->stage), frame = v->next_frame - tnc_clock(NULL);
    if (v->count == 0) return nap;
    if (step <= 0) return 0;
    const double next = anybody_wants_frame(v) ? frame : fmax(step, frame);
    return fmin(next, nap);
}

static void advance(view* v)
{
    const double left = v->next_frame - tnc_clock(NULL);
    if (tng_stage_advance(v->stage, fmin(fmax(left, turn_min), turn_max)))
        for (int i = 0; i < TNC_CLIENTS_MAX; ++i) v->watchers[i].stale = v->watchers[i].here;
    pass_messages(v, NOBODY);
}

static void watch(view* v)
{
    while (!tnc_interrupted()) {
        tnc_server_serve(v->server, pause_seconds(v));
        if (v->count == 0) continue;
        advance(v);
        send_frames(v);
    }
}

static void print_summary(const tng_stage* stage)
{
    const tng_summary s = tng_stage_summary(stage);
    printf("simulated %.4g s in %lld steps, joint error at most %.2g", s.time, s.steps,
           s.joint_error);
    if (s.real_time > 0) printf(", %.3g x real time", s.real_time);
    printf("\n");
}

// ---- The command ---------------------------------------------------------------------------------

static bool make_page(tng_text* page)
{
    for (int i = 0; tnc_page_head[i]; ++i) tng_put(page, "%s", tnc_page_head[i]);
    tng_put(page, "{\"source\": \"live\"}");
    for (int i = 0; tnc_page_tail[i]; ++i) tng_put(page, "%s", tnc_page_tail[i]);
    if (page->failed) tnc_complain("%s", tn_result_text(TN_ERR_MEMORY));
    return !page->failed;
}

static int open_stage(view* v, bool paused)
{
    tn_why    why          = {0};
    tn_scene* scene        = v->job.scene;
    v->job.scene           = NULL; // it belongs to the stage from here on
    const tn_result result = tng_stage_create(&v->job.host, v->job.origin, scene, &v->job.settings,
                                              (tng_clock){stage_clock, v}, &v->stage, &why);
    if (result != TN_OK) tnc_complain_why(v->job.origin, &why);
    else if (!paused) tng_stage_command(v->stage, "play", 4);
    return tnc_exit_code(result);
}

static bool open_server(view* v, long long port)
{
    if (port > 65535) {
        tnc_complain("option '--port' takes a whole number from 0 to 65535");
        return false;
    }
    const tnc_service service = {.page        = v->page.bytes,
                                 .page_length = v->page.length,
                                 .socket      = "/live",
                                 .message_max = MESSAGE_MAX,
                                 .come        = on_come,
                                 .message     = on_message,
                                 .gone        = on_gone,
                                 .user        = v};
    v->server                 = tnc_server_open(&service, (int)port);
    return v->server != NULL;
}

int tnc_view(const tnc_options* options)
{
    view v   = {.asleep_since = tnc_clock(NULL)};
    v.asleep = v.asleep_since; // its clock begins at 0
    for (int i = 0; i < HANDLES; ++i) v.owner[i] = NOBODY;
    if (!tnc_page_head[0]) {
        tnc_complain("this program was built without its viewer; build it where node and npm are, "
                     "with -DTENON_PAGE=ON");
        return TNC_WRONG;
    }
    int code = tnc_job_load(&v.job, options);
    if (code == TNC_DONE) code = open_stage(&v, options->paused);
    if (code == TNC_DONE && !make_page(&v.page)) code = TNC_STOPPED;
    if (code == TNC_DONE && !open_server(&v, options->port)) code = TNC_WRONG;
    if (code == TNC_DONE) {
        pass_messages(&v, NOBODY); // nobody has to know how it began
        tnc_catch_interrupt();
        printf("watch %s at http://127.0.0.1:%d/ (ctrl-C ends it)\n", v.job.origin,
               tnc_server_port(v.server));
        fflush(stdout);
        watch(&v);
        if (!options->quiet) print_summary(v.stage);
    }
    tnc_server_close(v.server);
    tng_stage_free(v.stage);
    tng_text_free(&v.page);
    tng_text_free(&v.line);
    tng_text_free(&v.frame);
    tnc_job_close(&v.job);
    return code;
}
