// plot_report: finds the series in a report that tenon run wrote. A small reader of JSON: values that nobody asked for are
// passed over. A file that is no report (no "tenon" among its keys) is left to the reader of scenes, which
// has better words for what is wrong with it.
#include "plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct scanner {
    const char *at, *limit;
} scanner;

static char peek(scanner* s)
{
    while (s->at < s->limit && strchr(" \t\r\n", *s->at) && *s->at) ++s->at;
    return s->at < s->limit ? *s->at : '\0';
}

static bool take(scanner* s, char c)
{
    if (peek(s) != c) return false;
    ++s->at;
    return true;
}

// A text, as much of it as there is room for; escapes other than those of quotes stay as they are.
static bool take_text(scanner* s, char* text, size_t size)
{
    size_t count = 0;
    if (!take(s, '"')) return false;
    while (s->at < s->limit && *s->at != '"') {
        if (*s->at == '\\' && s->at + 1 < s->limit && strchr("\"\\/", s->at[1])) ++s->at;
        else if (*s->at == '\\' && s->at + 1 < s->limit) {
            if (count + 1 < size) text[count++] = *s->at;
            ++s->at;
        }
        if (count + 1 < size) text[count++] = *s->at;
        ++s->at;
    }
    text[count] = '\0';
    return take(s, '"');
}

// null is not a number.
static bool take_number(scanner* s, double* value)
{
    const char* end;
    *value = (double)NAN;
    if (peek(s) == 'n') {
        s->at += 4;
        return s->at <= s->limit && memcmp(s->at - 4, "null", 4) == 0;
    }
    if (!tn_parse_number(s->at, s->limit, &end, value)) return false;
    s->at = end;
    return true;
}

// Any value: brackets are counted, texts passed over whole.
static bool skip(scanner* s)
{
    char      word[2];
    long long depth = 0;
    do {
        const char c = peek(s);
        if (c == '"') {
            if (!take_text(s, word, sizeof word)) return false;
            continue;
        }
        if (!c) return false;
        if (c == '{' || c == '[') ++depth;
        if (c == '}' || c == ']') --depth;
        if (depth == 0 && (c == ',' || c == ':')) return false; // no value at all
        if (depth > 0 || strchr("{}[]", c)) {
            ++s->at;
            continue;
        }
        while (s->at < s->limit && !strchr(",]} \t\r\n", *s->at)) ++s->at; // a number or word
    } while (depth > 0);
    return depth == 0;
}

static bool take_column(scanner* s, double* values, int* count)
{
    *count = 0;
    if (!take(s, '[')) return false;
    if (take(s, ']')) return true;
    do {
        double value;
        if (!take_number(s, &value) || *count == TNC_SERIES_ROOM) return false;
        values[(*count)++] = value;
    } while (take(s, ','));
    return take(s, ']');
}

// All columns, of one length.
static bool take_series(scanner* s, tnc_series* series)
{
    unsigned seen = 0;
    series->count = -1;
    if (!take(s, '{')) return false;
    do {
        char key[32];
        int  k = 0, count;
        if (!take_text(s, key, sizeof key) || !take(s, ':')) return false;
        while (k < TNC_SERIES_COUNT && strcmp(key, tnc_series_words[k]) != 0) ++k;
        if (k == TNC_SERIES_COUNT) {
            if (!skip(s)) return false;
            continue;
        }
        if (!take_column(s, series->values[k], &count)) return false;
        if (series->count >= 0 && count != series->count) return false;
        series->count = count;
        seen |= 1u << k;
    } while (take(s, ','));
    return take(s, '}') && seen == (1u << TNC_SERIES_COUNT) - 1;
}

static bool take_member(scanner* s, const char* key, tnc_reported* r)
{
    char version[32];
    if (strcmp(key, "tenon") == 0) r->is_report = take_text(s, version, sizeof version);
    else if (strcmp(key, "scene") == 0) return take_text(s, r->scene, sizeof r->scene);
    else if (strcmp(key, "method") == 0 && peek(s) == '"')
        return take_text(s, r->method, sizeof r->method);
    else if (strcmp(key, "h") == 0) return take_number(s, &r->h);
    else if (strcmp(key, "steps") == 0) return take_number(s, &r->steps);
    else if (strcmp(key, "series") == 0) return r->has_series = take_series(s, &r->series);
    else return skip(s);
    return r->is_report;
}

static bool scan(scanner* s, tnc_reported* r)
{
    if (!take(s, '{')) return false;
    do {
        char key[32];
        if (!take_text(s, key, sizeof key) || !take(s, ':') || !take_member(s, key, r))
            return false;
    } while (take(s, ','));
    return take(s, '}');
}

// NULL: cannot be read, or no memory.
static char* read_file(const char* path, size_t* length)
{
    size_t room = 1 << 16;
    char*  text = malloc(room);
    FILE*  file = fopen(path, "rb");
    *length     = 0;
    while (file && text) {
        *length += fread(text + *length, 1, room - *length, file);
        if (*length < room) break;
        char* larger = realloc(text, room *= 2);
        if (!larger) free(text);
        text = larger;
    }
    if (!file || ferror(file)) {
        free(text);
        text = NULL;
    }
    if (file) fclose(file);
    return text;
}

bool tnc_read_report(const char* path, tnc_reported* reported)
{
    size_t length;
    char*  text = read_file(path, &length);
    if (!text) return true; // whoever reads scenes will say so
    scanner    s     = {.at = text, .limit = text + length};
    const bool whole = scan(&s, reported);
    free(text);
    if (whole || !reported->is_report) return true;
    tnc_complain("%s: a report of tenon that was changed or cut short: its series cannot be read",
                 path);
    return false;
}
