// mocap_bvh: reads motion capture in Biovision's BVH format: a skeleton, then one line of numbers a
// frame.
//
//     HIERARCHY
//     ROOT Hips                                   a name extends to the end of its line
//     {
//         OFFSET 0 0 0                            from the parent
//         CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
//         JOINT Chest { ... }                     any number of them, nested
//         End Site { OFFSET 0 10 0 }              end of the last bone of a chain
//     }
//     MOTION
//     Frames: 2
//     Frame Time: 0.0333333
//     0 90 0 0 0 0 ...                            all channels, in the order of the file
//
// Accepted: any white space and line ends, any case of keywords, several roots, any number of
// channels up to six in any order, OFFSET and CHANNELS in any order or no CHANNELS at all, frames
// broken over lines, numbers such as ".5", "5." and "+5". Refused: joints without OFFSET, repeated
// names, numbers that are not finite, too few or too many numbers. If the count of numbers is
// wrong, the message names the first line that is not one whole frame.
//
// Cost: one pass, 8 bytes a number. Counts in the file are not trusted: memory is allocated for
// what the text can hold.
#include "base/base.h"
#include "io/file.h"
#include "io/json.h"
#include "io/words.h"
#include "tenon/io.h"
#include "tenon/mocap.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

enum { JOINTS_MAX = 4096, NAME_MAX_BYTES = 127 };

typedef struct joint {
    const char*      name;
    int              line; ///< line of its name
    int              parent;
    tn_vec3          offset;
    bool             placed;     ///< OFFSET was read
    bool             channelled; ///< CHANNELS was read
    int              first;      ///< of its channels, among those of all joints
    int              count;
    tn_mocap_channel channels[TN_MOCAP_CHANNELS_MAX];
} joint;

typedef struct end_site {
    int     joint;
    tn_vec3 offset;
} end_site;

struct tn_mocap {
    tni_arena arena;
    joint*    joints;
    end_site* ends;
    int       joint_count, end_count, room; ///< capacity of each of the two
    int       channel_count;
    int       frame_count;
    double    frame_time;
    double*   values; ///< frame_count * channel_count
};

// ---- Positions and words -----------------------------------------------------------------------

typedef struct reader {
    tn_mocap*   mocap;
    const char *start, *at, *limit;
    int         line;
    int         current; ///< index of the open joint; -1: none
    tn_why*     why;
} reader;

TNI_PRINTF(4, 5)
static tn_result fail_in(const reader* r, int line, const char* at, const char* format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    tni_fail_parse(r->why, line, tni_column(r->start, at), format, arguments);
    va_end(arguments);
    return TN_ERR_PARSE;
}
#define FAIL(r, at, ...) fail_in((r), (r)->line, (at), __VA_ARGS__)

static tn_result no_memory(const reader* r)
{
    return tni_fail(r->why, TN_ERR_MEMORY, "out of memory while reading a motion");
}

static void skip_blanks(reader* r)
{
    while (r->at < r->limit && tni_is_blank(*r->at)) ++r->at;
}

static void skip_space(reader* r)
{
    for (; r->at < r->limit && (tni_is_blank(*r->at) || *r->at == '\n'); ++r->at) {
        r->line += *r->at == '\n';
    }
}

static bool ends_word(char c)
{
    return tni_is_blank(c) || c == '\n' || c == '{' || c == '}' || c == ':';
}

// The next word, brace or colon. The reader stays before it, so that messages point to it.
static tni_word peek(reader* r)
{
    skip_space(r);
    tni_word w = {r->at, 0};
    while (w.text + w.length < r->limit && !ends_word(w.text[w.length]) && w.length < INT_MAX)
        ++w.length;
    if (w.length == 0 && r->at < r->limit) w.length = 1;
    return w;
}

static tni_quoted shown(tni_word w)
{
    return tni_word_shown(w, "the end of the text");
}

static tn_result expect(reader* r, const char* wanted, const char* where)
{
    const tni_word w = peek(r);
    if (!tni_word_is(w, wanted))
        return FAIL(r, w.text, "expected '%s' %s, found %s", wanted, where, shown(w).text);
    r->at += w.length;
    return TN_OK;
}

// ---- Numbers -----------------------------------------------------------------------------------

static tn_result read_number(reader* r, const char* what, double* value)
{
    const tni_word w = peek(r);
    if (w.length == 0) return FAIL(r, w.text, "the text ends before %s", what);
    switch (tni_word_number(w, value)) {
    case TNI_NUMBER_LONG:
        return FAIL(r, w.text, "a number of more than %d characters", TNI_NUMBER_BYTES);
    case TNI_NUMBER_NONE: return FAIL(r, w.text, "%s: %s is not a number", what, shown(w).text);
    case TNI_NUMBER_LARGE: return FAIL(r, w.text, "%s: %s is too large", what, shown(w).text);
    default: r->at += w.length; return TN_OK;
    }
}

// A whole number from lower to upper.
static tn_result read_count(reader* r, const char* what, int lower_end, int upper_end, int* count)
{
    double         value = 0;
    const tni_word w     = peek(r);
    TRY(read_number(r, what, &value));
    const bool inside = value >= lower_end && value <= upper_end;
    *count            = inside ? (int)value : 0;
    if (inside && *count == value) return TN_OK;
    return FAIL(r, w.text, "%s must be a whole number from %d to %d, not %s", what, lower_end,
                upper_end, shown(w).text);
}

static tn_result read_offset(reader* r, tn_vec3* offset)
{
    TRY(read_number(r, "OFFSET", &offset->x));
    TRY(read_number(r, "OFFSET", &offset->y));
    return read_number(r, "OFFSET", &offset->z);
}

// ---- The skeleton ------------------------------------------------------------------------------

static tn_result check_name(const reader* r, tni_word w)
{
    const tn_mocap* m = r->mocap;
    if (w.length == 0) return FAIL(r, w.text, "a joint has no name");
    if (w.length > NAME_MAX_BYTES)
        return FAIL(r, w.text, "a joint's name of more than %d bytes", NAME_MAX_BYTES);
    for (int i = 0; i < w.length;) {
        const int length = tni_utf8_length(w.text + i, w.text + w.length);
        if (length == 0) return FAIL(r, w.text + i, "a joint's name is not UTF-8");
        if ((unsigned char)w.text[i] < 0x20 || w.text[i] == 0x7f)
            return FAIL(r, w.text + i, "a control character in a joint's name");
        i += length;
    }
    for (int j = 0; j < m->joint_count; ++j) {
        const char* name = m->joints[j].name;
        if ((int)strlen(name) == w.length && memcmp(name, w.text, (size_t)w.length) == 0)
            return FAIL(r, w.text, "a second joint named %s; the first is in line %d",
                        shown(w).text, m->joints[j].line);
    }
    return TN_OK;
}

// ROOT or JOINT was read: its name, which may contain blanks and ends with the line, and '{'.
static tn_result open_joint(reader* r)
{
    tn_mocap* m = r->mocap;
    skip_blanks(r);
    tni_word w = {r->at, 0};
    while (r->at < r->limit && *r->at != '\n' && *r->at != '{') ++r->at;
    w.length = (int)(r->at - w.text);
    while (w.length > 0 && tni_is_blank(w.text[w.length - 1])) --w.length;
    TRY(check_name(r, w));
    if (m->joint_count == m->room) return FAIL(r, w.text, "more than %d joints", JOINTS_MAX);
    char* name = TNI_TAKE(&m->arena, char, w.length + 1);
    if (name == NULL) return no_memory(r);
    memcpy(name, w.text, (size_t)w.length);
    m->joints[m->joint_count] = (joint){.name = name, .line = r->line, .parent = r->current};
    r->current                = m->joint_count++;
    return expect(r, "{", "after the name of a joint");
}

static tn_result read_end_site(reader* r)
{
    tn_mocap* m = r->mocap;
    TRY(expect(r, "Site", "after 'End'"));
    while (r->at < r->limit && *r->at != '\n' && *r->at != '{') ++r->at; // some files name them
    TRY(expect(r, "{", "after 'End Site'"));
    TRY(expect(r, "OFFSET", "in an 'End Site'"));
    if (m->end_count == m->room) return FAIL(r, r->at, "more than %d end sites", JOINTS_MAX);
    end_site* site = &m->ends[m->end_count++];
    site->joint    = r->current;
    TRY(read_offset(r, &site->offset));
    return expect(r, "}", "after the OFFSET of an 'End Site'");
}

static tn_result read_channel(reader* r, joint* j)
{
    static const char* const names[] = {"Xposition", "Yposition", "Zposition",
                                        "Xrotation", "Yrotation", "Zrotation"};
    const tni_word           w       = peek(r);
    int                      k       = 0;
    while (k < 6 && !tni_word_is(w, names[k])) ++k;
    if (k == 6) {
        char text[64];
        snprintf(text, sizeof text, "%.*s", w.length < 60 ? w.length : 60, w.text);
        const char* near = tn_nearest_word(text, names, 6);
        return FAIL(r, w.text, "%s of joint '%.60s' is not a channel%s%s%s", shown(w).text, j->name,
                    near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                    near != NULL ? "'?" : "");
    }
    for (int i = 0; i < j->count && k < 3; ++i) {
        if ((int)j->channels[i] == k)
            return FAIL(r, w.text, "joint '%.60s' has the channel '%s' twice", j->name, names[k]);
    }
    r->at += w.length;
    j->channels[j->count++] = (tn_mocap_channel)k;
    return TN_OK;
}

static tn_result read_channels(reader* r, joint* j)
{
    int count = 0;
    TRY(read_count(r, "CHANNELS", 0, TN_MOCAP_CHANNELS_MAX, &count));
    j->channelled = true;
    j->first      = r->mocap->channel_count;
    for (int i = 0; i < count; ++i) TRY(read_channel(r, j));
    r->mocap->channel_count += count;
    return TN_OK;
}

static tn_result close_joint(reader* r, tni_word w)
{
    const joint* j = &r->mocap->joints[r->current];
    if (!j->placed) return FAIL(r, w.text, "joint '%.60s' has no OFFSET", j->name);
    r->current = j->parent;
    return TN_OK;
}

// The next item inside a joint.
static tn_result read_inside(reader* r)
{
    static const char* const words[] = {"OFFSET", "CHANNELS", "JOINT", "End", "}"};
    const tni_word           w       = peek(r);
    joint*                   j       = &r->mocap->joints[r->current];
    int                      k       = 0;
    while (k < 5 && !tni_word_is(w, words[k])) ++k;
    if (k == 5)
        return FAIL(r, w.text,
                    "expected OFFSET, CHANNELS, JOINT, End Site or '}' in joint '%.60s', "
                    "found %s",
                    j->name, shown(w).text);
    if ((k == 0 && j->placed) || (k == 1 && j->channelled))
        return FAIL(r, w.text, "a second %s of joint '%.60s'", words[k], j->name);
    r->at += w.length;
    switch (k) {
    case 0: j->placed = true; return read_offset(r, &j->offset);
    case 1: return read_channels(r, j);
    case 2: return open_joint(r);
    case 3: return read_end_site(r);
    default: return close_joint(r, w);
    }
}

static tn_result read_skeleton(reader* r)
{
    TRY(expect(r, "HIERARCHY", "at the start"));
    for (;;) {
        if (r->current >= 0) {
            TRY(read_inside(r));
            continue;
        }
        const tni_word w = peek(r);
        if (tni_word_is(w, "MOTION") && r->mocap->joint_count > 0) return TN_OK;
        if (!tni_word_is(w, "ROOT"))
            return FAIL(r, w.text, "expected ROOT%s, found %s",
                        r->mocap->joint_count > 0 ? " or MOTION" : "", shown(w).text);
        r->at += w.length;
        TRY(open_joint(r));
    }
}

// ---- The motion --------------------------------------------------------------------------------

// Numbers per line, to find the first line that is not one frame.
typedef struct rhythm {
    const char* odd; ///< end of that line, or where its excess begins; NULL: none so far
    int         odd_line, odd_count;
    int         line, count; ///< the line we are in
} rhythm;                    // of the present line

static void end_line(rhythm* t, const char* at, int channels)
{
    if (t->count == 0 || t->count == channels || t->odd != NULL) return;
    t->odd       = at;
    t->odd_line  = t->line;
    t->odd_count = t->count;
}

static tn_result wrong_count(const reader* r, const rhythm* t, tni_word w, int frame, int number)
{
    const tn_mocap* m = r->mocap;
    if (t->odd != NULL && t->odd_count > m->channel_count && w.length > 0 && r->line == t->odd_line)
        return FAIL(r, t->odd, "more numbers in this line than the %d of a frame",
                    m->channel_count);
    if (t->odd != NULL)
        return fail_in(r, t->odd_line, t->odd, "%d numbers in this line; a frame has %d",
                       t->odd_count, m->channel_count);
    if (w.length > 0)
        return FAIL(r, w.text, "%s after the last of %d frames", shown(w).text, m->frame_count);
    return FAIL(r, w.text, "the text ends in frame %d of %d, after %d of its %d numbers", frame + 1,
                m->frame_count, number, m->channel_count);
}

static tn_result read_values(reader* r)
{
    tn_mocap*   m     = r->mocap;
    const char* after = r->at; // end of the last number
    rhythm      t     = {.line = r->line};
    for (int frame = 0; frame < m->frame_count; ++frame) {
        for (int i = 0; i < m->channel_count; ++i) {
            char           what[40];
            const tni_word w = peek(r);
            if (r->line != t.line) {
                end_line(&t, after, m->channel_count);
                t.line = r->line, t.count = 0;
            }
            if (w.length == 0) return wrong_count(r, &t, w, frame, i);
            snprintf(what, sizeof what, "frame %d", frame + 1);
            TRY(read_number(r, what,
                            &m->values[(size_t)frame * (size_t)m->channel_count + (size_t)i]));
            ++t.count;
            after = r->at;
        }
    }
    const tni_word w = peek(r);
    if (w.length == 0) return TN_OK;
    if (r->line == t.line && strchr("+-.0123456789", w.text[0]) != NULL) ++t.count;
    end_line(&t, r->line == t.line ? w.text : after, m->channel_count);
    return wrong_count(r, &t, w, m->frame_count, 0);
}

static tn_result read_motion(reader* r)
{
    tn_mocap* m = r->mocap;
    TRY(expect(r, "MOTION", "after the skeleton"));
    TRY(expect(r, "Frames", "after MOTION"));
    TRY(expect(r, ":", "after 'Frames'"));
    TRY(read_count(r, "Frames", 1, INT_MAX, &m->frame_count));
    TRY(expect(r, "Frame", "after the number of frames"));
    TRY(expect(r, "Time", "after 'Frame'"));
    TRY(expect(r, ":", "after 'Frame Time'"));
    const tni_word w = peek(r);
    TRY(read_number(r, "Frame Time", &m->frame_time));
    if (!(m->frame_time > 0)) return FAIL(r, w.text, "Frame Time must be > 0");
    if (!(m->frame_time * m->frame_count < 1e9)) return FAIL(r, w.text, "Frame Time is too long");
    if (m->channel_count == 0) return FAIL(r, w.text, "no joint of the skeleton has a channel");
    // A number takes two characters or more, so a text with too large a count of frames ends early:
    // it is read as far as it goes, for the message.
    const uint64_t held  = (uint64_t)(r->limit - r->at) / 2 + 1;
    const uint64_t asked = (uint64_t)m->frame_count * (uint64_t)m->channel_count;
    m->values            = TNI_TAKE(&m->arena, double, asked < held ? asked : held);
    if (m->values == NULL) return no_memory(r);
    return read_values(r);
}

// ---- Whole texts -------------------------------------------------------------------------------

static int count_openings(const char* text, size_t length)
{
    int count = 0;
    for (size_t i = 0; i < length && count < JOINTS_MAX - 1; ++i) count += text[i] == '{';
    return count;
}

static tn_result read_all(reader* r)
{
    tn_mocap* m = r->mocap;
    m->room = 1 + count_openings(r->at, (size_t)(r->limit - r->at)); // the last '{' may be missing
    m->joints = TNI_TAKE(&m->arena, joint, m->room);
    m->ends   = TNI_TAKE(&m->arena, end_site, m->room);
    if (m->joints == NULL || m->ends == NULL) return no_memory(r);
    TRY(read_skeleton(r));
    return read_motion(r);
}

tn_result tn_mocap_read(const tn_host* host, const char* text, size_t length, tn_mocap** mocap,
                        tn_why* why)
{
    const tn_host given = tni_host_or_default(host);
    *mocap              = NULL;
    if (length >= INT_MAX) return tni_fail(why, TN_ERR_PARSE, "text of 2 GiB or more");
    if (length == 0) text = ""; // NULL is allowed for an empty text
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        length -= 3;
    }
    tn_mocap* m = tni_host_take(&given, sizeof *m);
    if (m == NULL) return tni_fail(why, TN_ERR_MEMORY, "out of memory while reading a motion");
    m->arena               = tni_arena_make(&given);
    reader          r      = {.mocap   = m,
                              .start   = text,
                              .at      = text,
                              .limit   = text + length,
                              .line    = 1,
                              .current = -1,
                              .why     = why};
    const tn_result result = read_all(&r);
    if (result == TN_OK) *mocap = m;
    else tn_mocap_free(m);
    return result;
}

void tn_mocap_free(tn_mocap* mocap)
{
    if (mocap == NULL) return;
    const tn_host host = mocap->arena.host;
    tni_arena_free(&mocap->arena);
    tni_host_give(&host, mocap, sizeof *mocap);
}

tn_result tn_mocap_read_file(const tn_host* host, const char* path, tn_mocap** mocap, tn_why* why)
{
    const tn_host given = tni_host_or_default(host);
    tni_file_text text  = {0};
    *mocap              = NULL;
    tn_result result    = tni_read_file(&given, path, &text, why);
    if (result == TN_OK) result = tn_mocap_read(&given, text.bytes, text.count, mocap, why);
    tni_host_give(&given, text.bytes, text.room);
    return result;
}

// ---- Queries -----------------------------------------------------------------------------------

int tn_mocap_joint_count(const tn_mocap* mocap)
{
    return mocap->joint_count;
}

int tn_mocap_frame_count(const tn_mocap* mocap)
{
    return mocap->frame_count;
}

double tn_mocap_frame_time(const tn_mocap* mocap)
{
    return mocap->frame_time;
}

double tn_mocap_duration(const tn_mocap* mocap)
{
    return mocap->frame_time * (mocap->frame_count - 1);
}

static const joint* joint_at(const tn_mocap* mocap, int index)
{
    TN_ASSERT(index >= 0 && index < mocap->joint_count);
    return &mocap->joints[index];
}

const char* tn_mocap_joint_name(const tn_mocap* mocap, int index)
{
    return joint_at(mocap, index)->name;
}

int tn_mocap_joint_parent(const tn_mocap* mocap, int index)
{
    return joint_at(mocap, index)->parent;
}

tn_vec3 tn_mocap_joint_offset(const tn_mocap* mocap, int index)
{
    return joint_at(mocap, index)->offset;
}

int tn_mocap_joint_channels(const tn_mocap* mocap, int index,
                            tn_mocap_channel channels[TN_MOCAP_CHANNELS_MAX])
{
    const joint* j = joint_at(mocap, index);
    for (int i = 0; i < j->count; ++i) channels[i] = j->channels[i];
    return j->count;
}

const double* tn_mocap_values(const tn_mocap* mocap, int frame, int index)
{
    TN_ASSERT(frame >= 0 && frame < mocap->frame_count);
    return mocap->values + (size_t)frame * (size_t)mocap->channel_count +
           joint_at(mocap, index)->first;
}

int tn_mocap_end_count(const tn_mocap* mocap)
{
    return mocap->end_count;
}

int tn_mocap_end_joint(const tn_mocap* mocap, int end)
{
    TN_ASSERT(end >= 0 && end < mocap->end_count);
    return mocap->ends[end].joint;
}

tn_vec3 tn_mocap_end_offset(const tn_mocap* mocap, int end)
{
    TN_ASSERT(end >= 0 && end < mocap->end_count);
    return mocap->ends[end].offset;
}
