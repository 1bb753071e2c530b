// shots: options of pictures, read and checked, and their moments.
//
// A film of S simulated seconds has round(S fps / speed) pictures, at 0, speed / fps, 2 speed / fps, ...: so it lasts as long
// as it should, and a motion that repeats itself does so without a hitch. Still pictures are of the moments typed, or of the end.
#include "shots.h"

#include <math.h>
#include <string.h>

enum { SIDE_MIN = 16, SIDE_MAX = 4096, STRIP_MAX = 16384, WORD_MAX = 200 };

// ---- Words between commas ------------------------------------------------------------------------

typedef struct word {
    const char* at;
    int         length;
} word;

// The next word of a list; false: there is none. `rest` goes behind it.
static bool next_word(const char** rest, word* w)
{
    if (!*rest) return false;
    const char* comma = strchr(*rest, ',');
    *w                = (word){*rest, comma ? (int)(comma - *rest) : (int)strlen(*rest)};
    *rest             = comma ? comma + 1 : NULL;
    return true;
}

static void copy_word(word w, char text[WORD_MAX])
{
    snprintf(text, WORD_MAX, "%.*s", w.length, w.at);
}

// Numbers between commas, `count` of them at most. Returns how many; -1: something else stands there.
static int read_numbers(const char* text, double* values, int count)
{
    word w;
    int  n = 0;
    while (next_word(&text, &w)) {
        const char* end;
        const bool number = n < count && tn_parse_number(w.at, w.at + w.length, &end, &values[n]) &&
                            end == w.at + w.length && isfinite(values[n]);
        if (!number) return -1;
        ++n;
    }
    return n;
}

// ---- Options -------------------------------------------------------------------------------------

static bool read_kind(tnc_shots* s, const char* path)
{
    static const struct {
        const char*    ending;
        tnc_shots_kind kind;
    } list[] = {{".png", TNC_SHOTS_PNG}, {".mp4", TNC_SHOTS_MP4}, {".gif", TNC_SHOTS_GIF}};
    const size_t length = strlen(path);
    for (size_t i = 0; i < sizeof list / sizeof list[0]; ++i) {
        if (length <= 4 || strcmp(path + length - 4, list[i].ending) != 0) continue;
        s->kind = list[i].kind;
        return true;
    }
    tnc_complain("--out: '%.200s' ends in none of .png, .mp4, .gif", path);
    return false;
}

// A whole number of pixels; 0: it is none.
static int read_side(const char* text, const char** end)
{
    const size_t digits = strspn(text, "0123456789");
    int          value  = 0;
    for (size_t i = 0; i < digits && digits <= 5; ++i) value = 10 * value + (text[i] - '0');
    *end = text + digits;
    return value >= SIDE_MIN && value <= SIDE_MAX ? value : 0;
}

static bool read_size(tnc_shots* s, const char* text)
{
    const char *x, *end;
    s->width  = read_side(text, &x);
    s->height = *x == 'x' ? read_side(x + 1, &end) : 0;
    if (s->width == 0 || s->height == 0 || *end) {
        tnc_complain("option '--size' takes WIDTHxHEIGHT, from %d to %d pixels each, not '%.200s'",
                     (int)SIDE_MIN, (int)SIDE_MAX, text);
        return false;
    }
    if (s->kind == TNC_SHOTS_MP4 && (s->width % 2 || s->height % 2)) {
        tnc_complain("option '--size': films (.mp4) have an even width and height, not '%.200s'",
                     text);
        return false;
    }
    return true;
}

static bool read_rate(const char* name, const char* text, double lower, double upper, double* value)
{
    if (!text) return true;
    if (read_numbers(text, value, 1) == 1 && *value >= lower && *value <= upper) return true;
    tnc_complain("option '%s' takes a number from %g to %g, not '%.200s'", name, lower, upper,
                 text);
    return false;
}

// What belongs to films only, and to still pictures only.
static bool read_moments(tnc_shots* s, const tnc_options* options)
{
    const bool film = s->kind != TNC_SHOTS_PNG;
    if (film && options->picture.at) {
        tnc_complain("option '--at' is for still pictures (.png), not for films");
        return false;
    }
    if (!film && (options->picture.fps || options->picture.speed)) {
        tnc_complain("option '%s' is for films (.mp4, .gif), not for still pictures",
                     options->picture.fps ? "--fps" : "--speed");
        return false;
    }
    s->at_count = options->picture.at ? read_numbers(options->picture.at, s->at, TNC_AT_MAX) : 0;
    for (int i = 0; i < s->at_count; ++i)
        if (s->at[i] < 0) s->at_count = -1;
    if (s->at_count < 0) {
        tnc_complain(
            "option '--at' takes times from 0 [s], %d at most, as in 0,0.5,1, not '%.200s'",
            (int)TNC_AT_MAX, options->picture.at);
        return false;
    }
    if (s->at_count * s->width > STRIP_MAX) {
        tnc_complain("a strip of %d pictures is wider than %d pixels: choose a smaller --size",
                     s->at_count, (int)STRIP_MAX);
        return false;
    }
    return read_rate("--fps", options->picture.fps, 1, 240, &s->fps) &&
           read_rate("--speed", options->picture.speed, 1e-3, 1e3, &s->speed);
}

static bool read_overlays(tnc_shots* s)
{
    static const char* const names[] = {"error", "forces", "contacts", "active"};
    static const int         parts[] = {TNG_ERRORS, TNG_FORCES, TNG_CONTACTS, TNG_ACTIVE};
    enum { COUNT = sizeof names / sizeof names[0] };
    const char* rest = s->overlays;
    word        w;
    while (next_word(&rest, &w)) {
        char text[WORD_MAX];
        int  i = 0;
        copy_word(w, text);
        while (i < COUNT && strcmp(text, names[i]) != 0) ++i;
        if (i < COUNT) {
            s->parts |= parts[i];
            continue;
        }
        const char* near = tn_nearest_word(text, names, COUNT);
        tnc_complain("option '--overlays': there is no '%s'%s%s%s", text,
                     near ? " (did you mean '" : "; there are error, forces, contacts, active",
                     near ? near : "", near ? "'?)" : "");
        return false;
    }
    return true;
}

static bool read_look(tnc_shots* s, const tnc_options* options)
{
    s->turned   = options->picture.from != NULL;
    s->overlays = options->picture.overlays;
    s->trails   = options->picture.trail;
    s->theme    = options->picture.theme ? options->picture.theme : "light";
    if (s->turned && read_numbers(options->picture.from, s->from, 2) != 2) {
        tnc_complain("option '--from' takes AZIMUTH,ELEVATION [rad], as in -1.57,0.1, not '%.200s'",
                     options->picture.from);
        return false;
    }
    if (strcmp(s->theme, "light") != 0 && strcmp(s->theme, "dark") != 0) {
        tnc_complain("option '--theme' takes light or dark, not '%.200s'", s->theme);
        return false;
    }
    return read_overlays(s);
}

bool tnc_shots_read(tnc_shots* s, const tnc_options* options)
{
    *s = (tnc_shots){.fps = 30, .speed = 1};
    if (!options->out) {
        tnc_complain("tenon render needs --out FILE, ending in .png, .mp4 or .gif");
        return false;
    }
    return read_kind(s, options->out) &&
           read_size(s, options->picture.size ? options->picture.size : "640x480") &&
           read_moments(s, options) && read_look(s, options);
}

// ---- Moments -------------------------------------------------------------------------------------

static bool plan_moments(tnc_shots* s, double seconds)
{
    const double slack = 1e-9 * (1 + seconds);
    if (s->kind == TNC_SHOTS_PNG) {
        if (s->at_count == 0) s->at[0] = seconds;
        s->count = s->at_count > 0 ? s->at_count : 1;
        for (int i = 0; i < s->count; ++i) {
            if (s->at[i] <= seconds + slack) continue;
            tnc_complain("option '--at': %g s is after the end, %g s; --duration makes it longer",
                         s->at[i], seconds);
            return false;
        }
        return true;
    }
    const double count = floor(seconds * s->fps / s->speed + 0.5);
    if (count > TNC_SHOTS_MAX) {
        tnc_complain("a film of %.0f pictures is too long: %d at most; choose a smaller --duration "
                     "or --fps, or a larger --speed",
                     count, (int)TNC_SHOTS_MAX);
        return false;
    }
    s->count = count > 1 ? (int)count : 1;
    return true;
}

// ffmpeg keeps all pictures of a gif until it knows their colours.
static bool gif_fits(const tnc_shots* s)
{
    const double most = 2e9 / (4.0 * s->width * s->height);
    if (s->kind != TNC_SHOTS_GIF || s->count <= most) return true;
    tnc_complain("a gif of %dx%d has room for %.0f pictures, not %d: choose a smaller --size or "
                 "--fps, or .mp4",
                 s->width, s->height, most, s->count);
    return false;
}

static bool joints_are_there(const tnc_shots* s, const tn_model* model)
{
    const char* rest = s->trails;
    word        w;
    while (next_word(&rest, &w)) {
        char text[WORD_MAX];
        copy_word(w, text);
        if (tn_model_find_joint(model, text).bits) continue;
        tnc_complain("option '--trail': the mechanism has no joint '%s'", text);
        return false;
    }
    return true;
}

bool tnc_shots_plan(tnc_shots* s, const tn_model* model, double seconds)
{
    return plan_moments(s, seconds) && gif_fits(s) && joints_are_there(s, model);
}

double tnc_shots_time(const tnc_shots* s, int index)
{
    return s->kind == TNC_SHOTS_PNG ? s->at[index] : index * s->speed / s->fps;
}

void tnc_shots_trim(tnc_shots* s, double end)
{
    const double slack = 1e-9 * (1 + end);
    if (s->kind == TNC_SHOTS_PNG && s->at_count == 0) s->at[0] = end;
    int kept = 0;
    for (int i = 0; i < s->count; ++i) {
        const double time = tnc_shots_time(s, i);
        if (time > end + slack) continue;
        if (s->kind == TNC_SHOTS_PNG) s->at[kept] = time;
        ++kept;
    }
    s->count = kept;
}

bool tnc_shots_near(const tnc_shots* s, double time, double h)
{
    const double reach = h * (1 - 1e-6);
    if (s->kind != TNC_SHOTS_PNG) {
        const double i = floor(time * s->fps / s->speed + 0.5);
        return i < s->count && fabs(i * s->speed / s->fps - time) < reach;
    }
    for (int i = 0; i < s->count; ++i)
        if (fabs(s->at[i] - time) < reach) return true;
    return false;
}

// ---- For the page --------------------------------------------------------------------------------

static void put_words(tng_text* text, const char* list)
{
    const char* rest = list;
    word        w;
    tng_put(text, "[");
    while (next_word(&rest, &w)) {
        char name[WORD_MAX];
        copy_word(w, name);
        if (w.at != list) tng_put(text, ",");
        tng_put_text(text, name);
    }
    tng_put(text, "]");
}

void tnc_put_shots(tng_text* text, const tnc_shots* s)
{
    tng_put(text, "{\"width\":%d,\"height\":%d,\"strip\":%s,\"theme\":\"%s\",\"from\":", s->width,
            s->height, s->kind == TNC_SHOTS_PNG ? "true" : "false", s->theme);
    if (s->turned) {
        tng_put(text, "[");
        tng_put_number(text, s->from[0]);
        tng_put(text, ",");
        tng_put_number(text, s->from[1]);
        tng_put(text, "]");
    } else {
        tng_put(text, "null");
    }
    tng_put(text, ",\"overlays\":");
    put_words(text, s->overlays);
    tng_put(text, ",\"trails\":");
    put_words(text, s->trails);
    tng_put(text, ",\"times\":[");
    for (int i = 0; i < s->count; ++i) {
        if (i > 0) tng_put(text, ",");
        tng_put_number(text, tnc_shots_time(s, i));
    }
    tng_put(text, "]}");
}
