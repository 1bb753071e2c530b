// trajectory: writes a motion to a file, frame by frame, while it is computed. docs/trajectory.md
// has both formats: CSV for spreadsheets, and Tenon's binary format, which is exact and can be
// memory-mapped.
//
// A frame is the time and, for each body in the model's order, position and orientation (7
// doubles). Binary numbers are little endian on every machine. The frame count is not stored: an
// interrupted run leaves a valid file of fewer frames, possibly followed by part of one.
//
// Cost: one pass over the bodies a frame, no allocation after creation. After a failed write the
// file is closed; add and finish then fail with TN_ERR_FILE, naming the path.
#include "base/base.h"
#include "tenon/io.h"

#include <errno.h>
#include <stdio.h>

enum { VERSION = 1, FRAME_NUMBERS = 7, BUFFER_BYTES = 1 << 16, PATH_MAX_SHOWN = 128 };

struct tn_recorder {
    tn_host         host;
    const tn_model* model;
    FILE*           file; ///< NULL: closed after a failure
    bool            csv;
    int             body_count;
    int             error;                ///< errno of the failure
    char            path[PATH_MAX_SHOWN]; ///< for messages
    char            buffer[BUFFER_BYTES]; ///< of the file
};

static tn_result cannot_write(const char* path, int error, tn_why* why)
{
    return tni_fail(why, TN_ERR_FILE, "cannot write '%.120s': %s", path,
                    error != 0 ? strerror(error) : "the file accepts no more data");
}

static void put_bytes(tn_recorder* r, const void* bytes, size_t count)
{
    if (r->file == NULL) return;
    errno = 0;
    if (fwrite(bytes, 1, count, r->file) == count) return;
    r->error = errno;
    fclose(r->file);
    r->file = NULL;
}

static void put_text(tn_recorder* r, const char* text)
{
    put_bytes(r, text, strlen(text));
}

// ---- CSV, RFC 4180 but for its line ends ------------------------------------------------------

static void put_csv_name(tn_recorder* r, const char* name, const char* suffix)
{
    const bool quoted = strpbrk(name, ",\"\r\n") != NULL;
    put_text(r, quoted ? ",\"" : ",");
    for (const char* at = name; *at != '\0'; ++at) {
        if (*at == '"') put_text(r, "\"");
        put_bytes(r, at, 1);
    }
    put_text(r, suffix);
    if (quoted) put_text(r, "\"");
}

static void put_csv_header(tn_recorder* r)
{
    static const char* const suffixes[FRAME_NUMBERS] = {".x",  ".y",  ".z", ".qw",
                                                        ".qx", ".qy", ".qz"};
    put_text(r, "time");
    for (int i = 0; i < r->body_count; ++i) {
        const char* name = tn_model_body_name(r->model, (tn_body_id){(uint32_t)i + 1});
        for (int k = 0; k < FRAME_NUMBERS; ++k) put_csv_name(r, name, suffixes[k]);
    }
    put_text(r, "\n");
}

static void put_csv_number(tn_recorder* r, double value)
{
    char      text[32];
    const int length = tn_format_number(value, text, sizeof text);
    put_bytes(r, text, (size_t)length);
}

// ---- Binary format ----------------------------------------------------------------------------

static void put_little(tn_recorder* r, uint64_t value, int bytes)
{
    unsigned char out[8];
    for (int i = 0; i < bytes; ++i) out[i] = (unsigned char)(value >> (8 * i));
    put_bytes(r, out, (size_t)bytes);
}

static void put_double(tn_recorder* r, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_little(r, bits, 8);
}

static void put_binary_header(tn_recorder* r)
{
    size_t size = 8 + 3 * 4;
    for (int i = 0; i < r->body_count; ++i) {
        size += 4 + strlen(tn_model_body_name(r->model, (tn_body_id){(uint32_t)i + 1}));
    }
    const size_t padding = (8 - size % 8) % 8; // frames are aligned to 8 bytes
    put_text(r, "TENONTRJ");
    put_little(r, VERSION, 4);
    put_little(r, (uint64_t)r->body_count, 4);
    put_little(r, size + padding, 4);
    for (int i = 0; i < r->body_count; ++i) {
        const char* name = tn_model_body_name(r->model, (tn_body_id){(uint32_t)i + 1});
        put_little(r, strlen(name), 4);
        put_text(r, name);
    }
    put_little(r, 0, (int)padding);
}

// ---- Both formats -----------------------------------------------------------------------------

static void put_number(tn_recorder* r, double value, bool first)
{
    if (!r->csv) {
        put_double(r, value);
        return;
    }
    if (!first) put_text(r, ",");
    put_csv_number(r, value);
}

static bool ends_in_csv(const char* path)
{
    const size_t length = strlen(path);
    return length >= 4 && strcmp(path + length - 4, ".csv") == 0;
}

tn_result tn_recorder_create(const tn_host* host, const tn_model* model, const char* path,
                             tn_recorder** recorder, tn_why* why)
{
    const tn_host given = tni_host_or_default(host);
    *recorder           = NULL;
    tn_recorder* r      = tni_host_take(&given, sizeof *r);
    if (r == NULL)
        return tni_fail(why, TN_ERR_MEMORY, "out of memory while opening '%.120s'", path);
    r->host       = given;
    r->model      = model;
    r->csv        = ends_in_csv(path);
    r->body_count = tn_model_counts(model).bodies;
    snprintf(r->path, sizeof r->path, "%s", path);
    errno   = 0;
    r->file = fopen(path, "wb");
    if (r->file == NULL) {
        const int error = errno;
        tni_host_give(&given, r, sizeof *r);
        return cannot_write(path, error, why);
    }
    setvbuf(r->file, r->buffer, _IOFBF, sizeof r->buffer);
    if (r->csv) put_csv_header(r);
    else put_binary_header(r);
    *recorder = r;
    if (r->file != NULL) return TN_OK;
    *recorder = NULL;
    return tn_recorder_finish(r, why);
}

tn_result tn_recorder_add(tn_recorder* r, const tn_state* state, tn_why* why)
{
    put_number(r, tn_state_time(state), true);
    for (int i = 0; i < r->body_count && r->file != NULL; ++i) {
        const tn_frame pose                   = tn_state_pose(state, (tn_body_id){(uint32_t)i + 1});
        const tn_vec3  p                      = pose.position;
        const tn_quat  q                      = pose.orientation;
        const double   numbers[FRAME_NUMBERS] = {p.x, p.y, p.z, q.w, q.x, q.y, q.z};
        for (int k = 0; k < FRAME_NUMBERS; ++k) put_number(r, numbers[k], false);
    }
    if (r->csv) put_text(r, "\n");
    return r->file != NULL ? TN_OK : cannot_write(r->path, r->error, why);
}

tn_result tn_recorder_finish(tn_recorder* r, tn_why* why)
{
    if (r == NULL) return TN_OK;
    tn_result result = TN_OK;
    errno            = 0;
    if (r->file == NULL) result = cannot_write(r->path, r->error, why);
    else if (fclose(r->file) != 0) result = cannot_write(r->path, errno, why);
    const tn_host host = r->host;
    tni_host_give(&host, r, sizeof *r);
    return result;
}
