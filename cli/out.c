// out: messages, files and JSON values. Errors of writing are left to the stream, which remembers
// them, and are looked at once, when it is closed.
#include "cli.h"
#include "src/io/json_write.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

// One message, one line: names come from files and may hold anything.
static void make_one_line(char* text)
{
    for (char* c = text; *c; ++c)
        if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?';
}

void tnc_complain(const char* format, ...)
{
    char    text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    make_one_line(text);
    fflush(stdout);
    fprintf(stderr, "tenon: %s\n", text);
}

const char* tnc_plural(int count)
{
    return count == 1 ? "" : "s";
}

void tnc_complain_why(const char* origin, const tn_why* why)
{
    const char* text  = why->text[0] ? why->text : tn_result_text(why->result);
    const bool  named = why->result == TN_ERR_FILE && strstr(text, origin);
    if (named) tnc_complain("%s", text);
    else if (why->line > 0) tnc_complain("%s:%d:%d: %s", origin, why->line, why->column, text);
    else tnc_complain("%s: %s", origin, text);
}

bool tnc_out_open(tnc_out* out, const char* path)
{
    *out = (tnc_out){.path = path};
    if (strcmp(path, "-") == 0) {
        out->file = stdout;
        return true;
    }
    out->file = fopen(path, "wb");
    if (!out->file) tnc_complain("cannot write '%s': %s", path, strerror(errno));
    return out->file != NULL;
}

// Why a stream that has failed fails: it is asked once more, for errno.
static int reason(FILE* file)
{
    clearerr(file);
    errno = 0;
    return putc('\n', file) == EOF || fflush(file) != 0 ? errno : 0;
}

bool tnc_out_close(tnc_out* out)
{
    if (!out->file) return true;
    const bool console = out->file == stdout;
    errno              = 0;
    bool good          = !ferror(out->file) && fflush(out->file) == 0;
    int  error         = errno;
    if (!good && error == 0) error = reason(out->file);
    if (!console && fclose(out->file) != 0 && good) {
        good  = false;
        error = errno;
    }
    out->file = NULL;
    if (!good && error != EPIPE) {
        tnc_complain("%s: not written whole%s%s", console ? "standard output" : out->path,
                     error ? ": " : "", error ? strerror(error) : "");
    }
    return good;
}

void tnc_put(tnc_out* out, const char* format, ...)
{
    if (!out->file) return;
    va_list args;
    va_start(args, format);
    vfprintf(out->file, format, args);
    va_end(args);
}

static bool to_file(void* user, const char* bytes, size_t count)
{
    (void)fwrite(bytes, 1, count, user); // the stream remembers
    return true;
}

static tni_json_writer json_to(const tnc_out* out)
{
    return (tni_json_writer){to_file, out->file, .escaped = out->page ? "\x7f<" : "\x7f"};
}

void tnc_put_text(tnc_out* out, const char* text)
{
    tni_json_writer w = json_to(out);
    tni_json_text(&w, text);
}

void tnc_put_number(tnc_out* out, double value)
{
    tni_json_writer w = json_to(out);
    tni_json_number(&w, value);
}

void tnc_put_numbers(tnc_out* out, const double* values, int count)
{
    tni_json_writer w = json_to(out);
    tni_json_numbers(&w, values, count);
}

void tnc_put_vec3(tnc_out* out, tn_vec3 v)
{
    tni_json_writer w = json_to(out);
    tni_json_vec3(&w, v);
}

void tnc_put_quat(tnc_out* out, tn_quat q)
{
    tni_json_writer w = json_to(out);
    tni_json_quat(&w, q);
}

void tnc_put_member(tnc_out* out, const char* before, const char* key, double value)
{
    tnc_put(out, "%s\"%s\": ", before, key);
    tnc_put_number(out, value);
}

void tnc_put_text_member(tnc_out* out, const char* before, const char* key, const char* value)
{
    tnc_put(out, "%s\"%s\": ", before, key);
    tnc_put_text(out, value);
}

void tnc_put_vec3_member(tnc_out* out, const char* before, const char* key, tn_vec3 value)
{
    tnc_put(out, "%s\"%s\": ", before, key);
    tnc_put_vec3(out, value);
}

void tnc_put_base64(tnc_out* out, const void* bytes, size_t count)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char* b = bytes;
    for (size_t i = 0; i < count; i += 3) { // three bytes make four letters
        const int      held = count - i < 3 ? (int)(count - i) : 3;
        const uint32_t bits = (uint32_t)b[i] << 16 | (uint32_t)(held > 1 ? b[i + 1] : 0) << 8 |
                              (uint32_t)(held > 2 ? b[i + 2] : 0);
        for (int k = 0; k < 4; ++k)
            putc(k <= held ? letters[bits >> (18 - 6 * k) & 63] : '=', out->file);
    }
}
