// json_write: JSON values on their way to a sink: for scenes, reports of the program and messages of the stage. Commas
// between values, and lines, are the caller's business. Public headers only, no state: cli and stage include it, too.
#ifndef TNI_JSON_WRITE_H
#define TNI_JSON_WRITE_H

#include "tenon/io.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct tni_json_writer {
    tn_sink*    sink;
    void*       user;
    const char* escaped; ///< letters that are escaped although JSON would allow them; NULL: none
    bool        compact; ///< no space behind a comma
    bool        failed;  ///< the sink would not take more
} tni_json_writer;

static inline void tni_json_bytes(tni_json_writer* w, const char* bytes, size_t count)
{
    if (count > 0 && !w->failed) w->failed = !w->sink(w->user, bytes, count);
}

static inline bool tni_json_is_plain(const tni_json_writer* w, char c)
{
    return (unsigned char)c >= ' ' && c != '"' && c != '\\' &&
           (w->escaped == NULL || strchr(w->escaped, c) == NULL);
}

/// With its quotes; text is UTF-8.
static inline void tni_json_text(tni_json_writer* w, const char* text)
{
    tni_json_bytes(w, "\"", 1);
    while (*text != '\0') {
        size_t plain = 0;
        while (text[plain] != '\0' && tni_json_is_plain(w, text[plain])) ++plain;
        tni_json_bytes(w, text, plain);
        text += plain;
        if (*text == '\0') break;
        char      escape[8];
        const int length = snprintf(escape, sizeof escape,
                                    *text == '"' || *text == '\\' ? "\\%c" : "\\u%04x", *text);
        tni_json_bytes(w, escape, (size_t)length);
        ++text;
    }
    tni_json_bytes(w, "\"", 1);
}

/// The shortest text that reads back as the same bits; null where it is not finite.
static inline void tni_json_number(tni_json_writer* w, double value)
{
    char number[40] = "null";
    if (isfinite(value)) (void)tn_format_number(value, number, sizeof number);
    tni_json_bytes(w, number, strlen(number));
}

static inline void tni_json_numbers(tni_json_writer* w, const double* values, int count)
{
    tni_json_bytes(w, "[", 1);
    for (int i = 0; i < count; ++i) {
        if (i > 0) tni_json_bytes(w, ", ", w->compact ? 1 : 2);
        tni_json_number(w, values[i]);
    }
    tni_json_bytes(w, "]", 1);
}

static inline void tni_json_vec3(tni_json_writer* w, tn_vec3 v)
{
    const double numbers[] = {v.x, v.y, v.z};
    tni_json_numbers(w, numbers, 3);
}

static inline void tni_json_quat(tni_json_writer* w, tn_quat q)
{
    const double numbers[] = {q.w, q.x, q.y, q.z};
    tni_json_numbers(w, numbers, 4);
}

#endif
