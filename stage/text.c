// text: growing byte buffers with JSON values. Running out of memory sets `failed`, so that writers
// need not check every call.
#include "src/io/json_write.h"
#include "stage/stage.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tng_text_free(tng_text* text)
{
    free(text->bytes);
    *text = (tng_text){0};
}

void tng_text_clear(tng_text* text)
{
    text->length = 0;
    text->failed = false;
}

// Makes room for `count` more bytes and a NUL.
static bool reserve(tng_text* text, size_t count)
{
    if (text->failed) return false;
    if (count < text->room - text->length) return true;
    size_t room = text->room ? text->room : 256;
    while (room && room - text->length <= count) room = room <= SIZE_MAX / 2 ? 2 * room : 0;
    char* larger = room ? realloc(text->bytes, room) : NULL;
    text->failed = larger == NULL;
    if (text->failed) return false;
    text->bytes = larger;
    text->room  = room;
    return true;
}

void tng_put_bytes(tng_text* text, const void* bytes, size_t count)
{
    if (!reserve(text, count)) return;
    if (count > 0) memcpy(text->bytes + text->length, bytes, count);
    text->length += count;
    text->bytes[text->length] = '\0';
}

void tng_put(tng_text* text, const char* format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int count = vsnprintf(NULL, 0, format, args);
    if (count < 0) text->failed = true;
    else if (reserve(text, (size_t)count)) {
        vsnprintf(text->bytes + text->length, (size_t)count + 1, format, again);
        text->length += (size_t)count;
    }
    va_end(again);
    va_end(args);
}

static bool to_text(void* user, const char* bytes, size_t count)
{
    tng_put_bytes(user, bytes, count);
    return true;
}

static tni_json_writer json_to(tng_text* text)
{
    return (tni_json_writer){to_text, text, .escaped = "\x7f<", .compact = true};
}

void tng_put_text(tng_text* text, const char* value)
{
    tni_json_writer w = json_to(text);
    tni_json_text(&w, value);
}

void tng_put_number(tng_text* text, double value)
{
    tni_json_writer w = json_to(text);
    tni_json_number(&w, value);
}

void tng_put_vec3(tng_text* text, tn_vec3 value)
{
    tni_json_writer w = json_to(text);
    tni_json_vec3(&w, value);
}
