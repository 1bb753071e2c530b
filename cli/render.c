// render: pictures and films of a motion.
//
// The mechanism is simulated as by `tenon run`. The page that would play it is told instead to make pictures of some moments
// (docs/protocol.md), and is served at 127.0.0.1; a headless browser opens it and sends each picture back over a WebSocket, as PNG.
// A still picture is written as it comes, films go through ffmpeg:
//
//     steps -> frames -> page -> browser -> PNG -> file
//                                              \-> ffmpeg -> file
//
// The file grows beside the one asked for, under a name of its own, and takes its place when it is whole. Whatever happens, the other
// programs are ended, and their folder is removed. Where the motion ends early, there are pictures up to there.
#define _POSIX_C_SOURCE 200809L

#include "child.h"
#include "server.h"
#include "simulate.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { NOBODY = -1, WORDS_MAX = 40 };
static const double patience = 60; // for the browser [s]

typedef struct render {
    const char*  path;
    tnc_options  options; ///< for the simulation: it knows nothing of the file
    tnc_audience audience;
    tnc_shots    shots;
    tnc_page     page;
    char*        text; ///< of the page
    size_t       length;
    char         browser[TNC_PATH_ROOM], ffmpeg[TNC_PATH_ROOM]; ///< the programs
    char         folder[TNC_PATH_ROOM];                         ///< theirs
    char         part[TNC_PATH_ROOM];                           ///< the file, until it is whole
    FILE*        file;                                          ///< a still picture's
    tnc_child    painter, encoder;
    tnc_server*  server;
    int          client; ///< the page, or NOBODY
    double       heard;  ///< when it was heard of last [s]
    int          taken;  ///< pictures; a strip is one
    int          made;   ///< likewise, but for those of a strip
    bool         done, failed;
    tnc_progress progress;
    double       begun;
    long         bytes; ///< of the file
} render;

// Only what goes wrong first is told: the rest follows from it.
static void fail(render* r, const char* format, ...) __attribute__((format(printf, 2, 3)));

static void fail(render* r, const char* format, ...)
{
    char    text[600];
    va_list args;
    if (r->failed) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tnc_progress_end(&r->progress);
    tnc_complain("%s", text);
    r->failed = true;
}

static bool is_film(const render* r)
{
    return r->shots.kind != TNC_SHOTS_PNG;
}

// ---- The file ------------------------------------------------------------------------------------

// Opens a new file beside the one that is wanted, which must be writable, too.
static bool open_part(render* r)
{
    FILE* old   = fopen(r->path, "r+b");
    int   error = old ? 0 : errno;
    if (old) fclose(old);
    for (int i = 0; !r->file && (error == 0 || error == ENOENT || error == EEXIST) && i < 100;
         ++i) {
        const int length = snprintf(r->part, sizeof r->part, "%s.part%d", r->path, i);
        r->file          = length < TNC_PATH_ROOM ? fopen(r->part, "wbx") : NULL;
        error            = errno;
        if (error == ENOENT) break; // there is no such folder
    }
    if (r->file) return true;
    r->part[0] = '\0';
    tnc_complain("cannot write '%s': %s", r->path, strerror(error));
    return false;
}

// Why a file was not written, once it is known that it was not.
static void fail_writing(render* r, int error)
{
    fail(r, "%s: not written whole%s%s", r->path, error ? ": " : "", error ? strerror(error) : "");
}

static bool close_part(render* r)
{
    FILE* file = r->file;
    r->file    = NULL;
    errno      = 0;
    if (!file || fclose(file) == 0) return true;
    fail_writing(r, errno);
    return false;
}

static void put_in_place(render* r)
{
    FILE* file = fopen(r->part, "rb");
    long  size = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : 0;
    if (file) fclose(file);
    if (rename(r->part, r->path) != 0) {
        fail(r, "cannot write '%s': %s", r->path, strerror(errno));
        return;
    }
    r->part[0] = '\0';
    r->bytes   = size;
}

// ---- Other programs ------------------------------------------------------------------------------

static bool find_browser(render* r)
{
    static const char* const names[] = {"chromium", "chromium-browser", "google-chrome",
                                        "google-chrome-stable"};
    const char*              asked   = getenv("CHROMIUM");
    if (asked && asked[0]) {
        if (tnc_program_find(asked, r->browser)) return true;
        tnc_complain("CHROMIUM: there is no program '%s'", asked);
        return false;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        if (tnc_program_find(names[i], r->browser)) return true;
    tnc_complain("there is no Chromium here to draw with: install chromium, or say where a browser "
                 "is, as in CHROMIUM=/opt/chrome/chrome");
    return false;
}

static bool find_programs(render* r)
{
    if (!find_browser(r)) return false;
    if (!is_film(r) || tnc_program_find("ffmpeg", r->ffmpeg)) return true;
    tnc_complain("there is no ffmpeg here to make a film with: install ffmpeg, or make a .png");
    return false;
}

// A file in the programs' folder.
static const char* in_folder(const render* r, const char* name, char path[TNC_PATH_ROOM])
{
    const int length = snprintf(path, TNC_PATH_ROOM, "%s/%s", r->folder, name);
    return length < TNC_PATH_ROOM ? path : "/dev/null";
}

// The line of a program's that tells most: the first that is fatal, or the last that is not empty; ": " stands before it.
static void last_words(const render* r, const char* log, char text[200])
{
    char  path[TNC_PATH_ROOM], line[198];
    FILE* file = fopen(in_folder(r, log, path), "rb");
    text[0]    = '\0';
    while (file && !strstr(text, "FATAL") && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0]) snprintf(text, 200, ": %s", line);
    }
    if (file) fclose(file);
}

static void fail_program(render* r, const char* log, const char* path, int code)
{
    char words[200];
    last_words(r, log, words);
    if (code > 128) fail(r, "'%s' was ended by signal %d%s", path, code - 128, words);
    else fail(r, "'%s' ended with exit code %d%s", path, code, words);
}

static bool start_browser(render* r)
{
    char        profile[TNC_PATH_ROOM + 24], size[40], address[64], log[TNC_PATH_ROOM];
    const char* words[WORDS_MAX] = {r->browser,
                                    "--headless",
                                    "--remote-debugging-pipe",
                                    "--no-first-run",
                                    "--disable-quic",
                                    "--disable-background-networking",
                                    "--disable-component-update",
                                    "--disable-sync",
                                    "--disable-extensions",
                                    "--disable-breakpad",
                                    "--use-angle=swiftshader",
                                    "--enable-unsafe-swiftshader",
                                    "--hide-scrollbars",
                                    "--force-device-scale-factor=1",
                                    "--no-default-browser-check"};
    int         n                = 15;
    snprintf(profile, sizeof profile, "--user-data-dir=%s/profile", r->folder);
    snprintf(size, sizeof size, "--window-size=%d,%d", r->shots.width, r->shots.height);
    snprintf(address, sizeof address, "http://127.0.0.1:%d/", tnc_server_port(r->server));
    if (tnc_is_root()) words[n++] = "--no-sandbox"; // it refuses to have one there
    words[n++] = profile;
    words[n++] = size;
    words[n++] = address;
    r->heard   = tnc_clock(NULL);
    return tnc_child_start(&r->painter, &(tnc_start){.words  = words,
                                                     .folder = r->folder,
                                                     .log    = in_folder(r, "browser.log", log),
                                                     .held   = true});
}

// Whether ffmpeg can write H.264.
static bool has_x264(render* r)
{
    char        log[TNC_PATH_ROOM], line[256];
    const char* words[] = {r->ffmpeg, "-hide_banner", "-h", "encoder=libx264", NULL};
    bool        found   = false;
    tnc_child   child   = {0};
    if (!tnc_child_start(&child, &(tnc_start){.words  = words,
                                              .folder = r->folder,
                                              .log    = in_folder(r, "x264.log", log)}))
        return false;
    if (!tnc_child_finish(&child)) tnc_child_kill(&child);
    FILE* file = fopen(log, "rb");
    while (file && fgets(line, sizeof line, file))
        found = found || strncmp(line, "Encoder libx264", 15) == 0;
    if (file) fclose(file);
    return found;
}

static bool start_encoder(render* r)
{
    static const char* const x264[]  = {"-c:v", "libx264", "-preset", "medium", "-crf", "20", NULL};
    static const char* const mpeg4[] = {"-c:v", "mpeg4", "-q:v", "3", NULL};
    static const char* const mp4[]   = {"-pix_fmt", "yuv420p", "-movflags", "+faststart",
                                        "-f",       "mp4",     NULL};
    static const char* const gif[]   = {
        "-filter_complex",
        "split[a][b];[a]palettegen=stats_mode=full[p];[b][p]paletteuse=dither=bayer:bayer_scale=5",
        "-f", "gif", NULL};
    char        rate[40], target[TNC_PATH_ROOM + 8], log[TNC_PATH_ROOM];
    const char* words[WORDS_MAX] = {r->ffmpeg,    "-hide_banner", "-loglevel",  "error", "-xerror",
                                    "-y",         "-f",           "image2pipe", "-c:v",  "png",
                                    "-framerate", rate,           "-i",         "pipe:0"};
    int         n                = 14;
    snprintf(rate, sizeof rate, "%.9g", r->shots.fps);
    snprintf(target, sizeof target, "file:%s", r->part);
    if (r->shots.kind == TNC_SHOTS_GIF) {
        for (int i = 0; gif[i]; ++i) words[n++] = gif[i];
    } else {
        const char* const* how = has_x264(r) ? x264 : mpeg4;
        for (int i = 0; how[i]; ++i) words[n++] = how[i];
        for (int i = 0; mp4[i]; ++i) words[n++] = mp4[i];
    }
    words[n] = target;
    return tnc_child_start(&r->encoder, &(tnc_start){.words  = words,
                                                     .folder = r->folder,
                                                     .log    = in_folder(r, "ffmpeg.log", log),
                                                     .fed    = true});
}

// ---- Pictures come -------------------------------------------------------------------------------

static uint32_t big_end_first(const unsigned char* at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

// A PNG of the size that was asked for, as far as its first bytes tell.
static bool is_picture(const render* r, const unsigned char* bytes, size_t length)
{
    const uint32_t count = is_film(r) ? 1 : (uint32_t)r->shots.count;
    return length > 33 && memcmp(bytes, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16) == 0 &&
           big_end_first(bytes + 16) == count * (uint32_t)r->shots.width &&
           big_end_first(bytes + 20) == (uint32_t)r->shots.height;
}

static void take_picture(render* r, const char* bytes, size_t length)
{
    const int wanted = is_film(r) ? r->shots.count : 1;
    if (r->taken == wanted || !is_picture(r, (const unsigned char*)bytes, length)) {
        fail(r, "'%s' sent something else than the picture that was wanted", r->browser);
    } else if (is_film(r) && !tnc_child_feed(&r->encoder, bytes, length)) {
        if (tnc_interrupted()) return;
        tnc_child_finish(&r->encoder);
        fail_program(r, "ffmpeg.log", r->ffmpeg, r->encoder.code);
    } else if (!is_film(r) && fwrite(bytes, 1, length, r->file) != length) {
        fail_writing(r, errno);
    } else {
        ++r->taken;
        r->made += is_film(r);
    }
}

static void on_come(void* user, int client)
{
    render* r = user;
    if (r->client == NOBODY) r->client = client;
    r->heard = tnc_clock(NULL);
}

static void on_message(void* user, int client, const char* bytes, size_t length, bool binary)
{
    render* r = user;
    if (client != r->client || r->done || r->failed) return;
    if (binary) take_picture(r, bytes, length);
    else if (length == 4 && memcmp(bytes, "done", 4) == 0) r->done = true;
    else if (length == 4 && memcmp(bytes, "next", 4) == 0) ++r->made;
    else if (length > 6 && memcmp(bytes, "error:", 6) == 0)
        fail(r, "the page could not make the pictures:%.*s", length < 300 ? (int)length - 6 : 300,
             bytes + 6);
    r->heard = tnc_clock(NULL);
}

static void on_gone(void* user, int client)
{
    render* r = user;
    if (client == r->client && !r->done)
        fail(r, "'%s' went away after %d of %d pictures", r->browser, r->made, r->shots.count);
}

static bool open_server(render* r)
{
    const size_t      pixels  = (size_t)r->shots.width * (size_t)r->shots.height;
    const tnc_service service = {.page        = r->text,
                                 .page_length = r->length,
                                 .socket      = "/render",
                                 .message_max = 65536 + 5 * pixels * (size_t)r->shots.count,
                                 .binary      = true,
                                 .come        = on_come,
                                 .message     = on_message,
                                 .gone        = on_gone,
                                 .user        = r};
    r->server                 = tnc_server_open(&service, 0);
    return r->server != NULL;
}

static void take_pictures(render* r)
{
    while (!r->done && !r->failed) {
        tnc_server_serve(r->server, 0.1);
        if (r->done || r->failed) break;
        if (tnc_interrupted()) fail(r, "interrupted: '%s' is not written", r->path);
        else if (tnc_child_ended(&r->painter))
            fail_program(r, "browser.log", r->browser, r->painter.code);
        else if (tnc_clock(NULL) - r->heard > patience)
            fail(r, "'%s' said nothing for %g s, after %d of %d pictures", r->browser, patience,
                 r->made, r->shots.count);
        else tnc_progress_count(&r->progress, r->made, r->shots.count, "pictures");
    }
    if (!r->failed && r->taken != (is_film(r) ? r->shots.count : 1))
        fail(r, "'%s' made %d of %d pictures", r->browser, r->made, r->shots.count);
}

static void finish_film(render* r)
{
    if (!tnc_child_finish(&r->encoder)) fail(r, "interrupted: '%s' is not written", r->path);
    else if (r->encoder.code != 0) fail_program(r, "ffmpeg.log", r->ffmpeg, r->encoder.code);
}

// ---- The command ---------------------------------------------------------------------------------

static bool open_page(void* user, tnc_job* job, tnc_motion* m)
{
    render* r = user;
    if (!tnc_shots_plan(&r->shots, job->model, (double)m->steps * m->h) || !open_part(r))
        return false;
    FILE* file = open_memstream(&r->text, &r->length);
    if (!file) tnc_complain("%s", tn_result_text(TN_ERR_MEMORY));
    else if (tnc_page_open_shots(&r->page, file, job, m->steps, &r->shots)) return true;
    else fclose(file);
    return false;
}

static tn_result see_step(void* user, tnc_job* job, tnc_motion* m, tn_why* why)
{
    render* r = user;
    (void)why;
    tnc_page_add(&r->page, job, m);
    return TN_OK;
}

static bool shoot(void* user, tnc_job* job, tnc_motion* m)
{
    render* r = user;
    if (!tnc_page_close(&r->page, job, m)) return false;
    if (tnc_interrupted() || r->shots.count == 0) return false; // why is told by others
    tnc_catch_interrupt();
    r->begun    = tnc_clock(NULL);
    r->progress = tnc_progress_begin(r->options.quiet);
    if (is_film(r) && !close_part(r)) return false;
    if (!tnc_folder_make(r->folder) || (is_film(r) && !start_encoder(r)) || !open_server(r) ||
        !start_browser(r))
        return false;
    take_pictures(r);
    if (!r->failed && is_film(r)) finish_film(r);
    if (!r->failed && close_part(r)) put_in_place(r);
    tnc_progress_end(&r->progress);
    return !r->failed;
}

static void clean_up(void* user)
{
    render* r = user;
    tnc_catch_interrupt(); // once more: this is to be done
    tnc_child_kill(&r->painter);
    tnc_child_kill(&r->encoder);
    tnc_server_close(r->server);
    tnc_folder_remove(r->folder);
    tnc_page_free(&r->page);
    free(r->text);
    if (r->file) fclose(r->file);
    if (r->part[0]) remove(r->part);
}

static void print_summary(const render* r, double seconds)
{
    printf("pictures      %d of %dx%d", r->shots.count, r->shots.width, r->shots.height);
    if (is_film(r))
        printf(", %.4g s at %.4g a second", r->shots.count / r->shots.fps, r->shots.fps);
    printf(", in %.3g s\nwritten       %s, %.4g kB\n", seconds, r->path, 1e-3 * (double)r->bytes);
}

int tnc_render(const tnc_options* options)
{
    render r        = {.path     = options->out,
                       .options  = *options,
                       .audience = {.open = open_page, .see = see_step, .close = shoot, .free = clean_up},
                       .client   = NOBODY};
    r.audience.user = &r;
    r.options.out   = NULL;
    if (!tnc_shots_read(&r.shots, options)) return TNC_WRONG;
    if (options->argument && strcmp(options->argument, r.path) == 0) {
        tnc_complain("%s: would be overwritten: it is the scene", r.path);
        return TNC_WRONG;
    }
    if (!find_programs(&r)) return TNC_STOPPED;
    const int code = tnc_simulate(&r.options, &r.audience);
    if (r.bytes > 0 && !options->quiet) print_summary(&r, tnc_clock(NULL) - r.begun);
    return code;
}
