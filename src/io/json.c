// json: reads RFC 8259 text, strictly, in one pass and without recursion.
//
// Values go into one array in the order of the text; open arrays and objects are on a stack of
// fixed depth. Decoded strings are never longer than their quoted source, so all of them fit in one
// block of the text's length, and pointers to them stay valid.
//
// Stricter than the RFC: keys of an object must be different (each is compared with all before it,
// hence MEMBER_MAX), U+0000 is refused since strings end in NUL, numbers must be finite, nesting is
// limited to DEPTH_MAX. More lenient: a byte order mark at the start is skipped.
//
// Cost: O(length), 32 bytes a value. Fails with TN_ERR_PARSE, or TN_ERR_MEMORY.
#include "io/json.h"

#include "tenon/io.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

enum { DEPTH_MAX = 64, MEMBER_MAX = 1024 };

typedef struct parser {
    tni_json*   json;
    const char *at, *limit;
    const char* line_start;
    int         line;
    char*       text_at; ///< free part of json->texts
    int         depth;
    int         open[DEPTH_MAX]; ///< indices of the open arrays and objects
    tn_why*     why;
} parser;

static int column_of(const parser* p, const char* at)
{
    return (int)(at - p->line_start) + 1;
}

TNI_PRINTF(3, 4)
static tn_result fail_at(const parser* p, const char* at, const char* format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    tni_fail_parse(p->why, p->line, column_of(p, at), format, arguments);
    va_end(arguments);
    return TN_ERR_PARSE;
}

static void skip_space(parser* p)
{
    for (; p->at < p->limit; ++p->at) {
        if (*p->at == '\n') {
            ++p->line;
            p->line_start = p->at + 1;
        } else if (*p->at != ' ' && *p->at != '\t' && *p->at != '\r') {
            return;
        }
    }
}

static bool next_is(const parser* p, char wanted)
{
    return p->at < p->limit && *p->at == wanted;
}

// ---- Values -----------------------------------------------------------------------------------

static bool make_room(tni_json* json)
{
    if (json->count < json->room) return true;
    if (json->room > INT_MAX / 2) return false;
    const int       room   = json->room > 0 ? 2 * json->room : 64;
    tni_json_value* values = tni_host_take(&json->host, sizeof *values * (size_t)room);
    if (values == NULL) return false;
    if (json->count > 0) memcpy(values, json->values, sizeof *values * (size_t)json->count);
    tni_host_give(&json->host, json->values, sizeof *values * (size_t)json->room);
    json->values = values;
    json->room   = room;
    return true;
}

// Adds a value at the parser's position; NULL: out of memory.
static tni_json_value* add_value(parser* p, tni_json_kind kind)
{
    if (!make_room(p->json)) return NULL;
    tni_json_value* value = &p->json->values[p->json->count++];
    *value =
        (tni_json_value){.kind = kind, .line = p->line, .column = column_of(p, p->at), .size = 1};
    return value;
}

static tn_result no_memory(const parser* p)
{
    return tni_fail(p->why, TN_ERR_MEMORY, "out of memory while reading JSON");
}

// ---- Texts ------------------------------------------------------------------------------------

int tni_utf8_length(const char* at, const char* limit)
{
    const unsigned char* byte = (const unsigned char*)at;
    const ptrdiff_t      left = limit - at;
    if (left > 0 && byte[0] < 0x80) return 1;
    const int length = left > 0 && byte[0] >= 0xc2 && byte[0] <= 0xf4
                           ? 2 + (byte[0] >= 0xe0) + (byte[0] >= 0xf0)
                           : 0;
    if (length == 0 || left < length) return 0;
    for (int i = 1; i < length; ++i) {
        if ((byte[i] & 0xc0) != 0x80) return 0;
    }
    if (byte[0] == 0xe0 && byte[1] < 0xa0) return 0; // overlong
    if (byte[0] == 0xed && byte[1] > 0x9f) return 0; // half of a surrogate pair
    if (byte[0] == 0xf0 && byte[1] < 0x90) return 0; // overlong
    if (byte[0] == 0xf4 && byte[1] > 0x8f) return 0; // beyond U+10FFFF
    return length;
}

static char* put_utf8(char* out, uint32_t code)
{
    if (code < 0x80) {
        *out++ = (char)code;
        return out;
    }
    if (code < 0x800) {
        *out++ = (char)(0xc0 | code >> 6);
    } else {
        if (code < 0x10000) {
            *out++ = (char)(0xe0 | code >> 12);
        } else {
            *out++ = (char)(0xf0 | code >> 18);
            *out++ = (char)(0x80 | (code >> 12 & 0x3f));
        }
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
    }
    *out++ = (char)(0x80 | (code & 0x3f));
    return out;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

// The code unit of \uXXXX at `at`; -1: not an escape of four digits.
static int32_t unit_at(const char* at, const char* limit)
{
    int32_t unit = 0;
    if (limit - at < 6 || at[0] != '\\' || at[1] != 'u') return -1;
    for (int i = 2; i < 6; ++i) {
        const int digit = hex_digit(at[i]);
        if (digit < 0) return -1;
        unit = 16 * unit + digit;
    }
    return unit;
}

static tn_result read_unicode_escape(parser* p)
{
    const int32_t first = unit_at(p->at, p->limit);
    if (first < 0) return fail_at(p, p->at, "'\\u' needs four hexadecimal digits");
    if (first == 0) return fail_at(p, p->at, "a string cannot contain the character U+0000");
    if (first < 0xd800 || first > 0xdfff) {
        p->text_at = put_utf8(p->text_at, (uint32_t)first);
        p->at += 6;
        return TN_OK;
    }
    const int32_t second = unit_at(p->at + 6, p->limit);
    if (first > 0xdbff || second < 0xdc00 || second > 0xdfff) {
        return fail_at(p, p->at, "unpaired surrogate");
    }
    p->text_at = put_utf8(p->text_at, 0x10000u + ((uint32_t)(first - 0xd800) << 10) +
                                          (uint32_t)(second - 0xdc00));
    p->at += 12;
    return TN_OK;
}

static tn_result read_escape(parser* p)
{
    static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char        name = p->at + 1 < p->limit ? p->at[1] : '\0';
    if (name == 'u') return read_unicode_escape(p);
    const char* found = name != '\0' ? strchr(names, name) : NULL;
    if (found == NULL)
        return fail_at(p, p->at, "unknown escape in a string; a backslash is written '\\\\'");
    *p->text_at++ = meanings[found - names];
    p->at += 2;
    return TN_OK;
}

static tn_result read_text(parser* p)
{
    tni_json_value* value = add_value(p, TNI_JSON_TEXT);
    if (value == NULL) return no_memory(p);
    value->text       = p->text_at;
    const char* start = p->at++;
    while (!next_is(p, '"')) {
        if (p->at == p->limit) return fail_at(p, start, "this string has no closing '\"'");
        if (*p->at == '\\') {
            TRY(read_escape(p));
            continue;
        }
        if ((unsigned char)*p->at < 0x20) {
            if (*p->at == '\n' || *p->at == '\r')
                return fail_at(p, start, "this string has no closing '\"' on its line");
            return fail_at(p, p->at, "control character 0x%02x in a string; write it as an escape",
                           *p->at);
        }
        const int length = tni_utf8_length(p->at, p->limit);
        if (length == 0) return fail_at(p, p->at, "this is not UTF-8");
        memcpy(p->text_at, p->at, (size_t)length);
        p->text_at += length;
        p->at += length;
    }
    ++p->at;
    *p->text_at++ = '\0';
    return TN_OK;
}

// ---- Numbers and words ------------------------------------------------------------------------

static bool is_word_byte(const parser* p, const char* at)
{
    return at < p->limit &&
           ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
            (*at >= '0' && *at <= '9') || *at == '_' || *at == '.' || *at == '+' || *at == '-');
}

static tn_result read_number(parser* p)
{
    const char* end;
    double      number = 0;
    const bool  good   = tn_parse_number(p->at, p->limit, &end, &number);
    if (end == p->at || is_word_byte(p, end)) return fail_at(p, p->at, "malformed number");
    if (!good) return fail_at(p, p->at, "number is too large");
    tni_json_value* value = add_value(p, TNI_JSON_NUMBER);
    if (value == NULL) return no_memory(p);
    value->number = number;
    p->at         = end;
    return TN_OK;
}

static tn_result read_word(parser* p)
{
    static const struct {
        const char*   word;
        tni_json_kind kind;
        bool          flag;
    } words[]       = {{"null", TNI_JSON_NULL, false},
                       {"false", TNI_JSON_FLAG, false},
                       {"true", TNI_JSON_FLAG, true}};
    const char* end = p->at;
    while (is_word_byte(p, end)) ++end;
    const int length = (int)(end - p->at);
    for (int i = 0; i < 3; ++i) {
        if (length != (int)strlen(words[i].word) ||
            memcmp(p->at, words[i].word, (size_t)length) != 0)
            continue;
        tni_json_value* value = add_value(p, words[i].kind);
        if (value == NULL) return no_memory(p);
        if (value->kind == TNI_JSON_FLAG) value->flag = words[i].flag;
        p->at = end;
        return TN_OK;
    }
    if (length == 0) return fail_at(p, p->at, "expected a value");
    return fail_at(p, p->at, "expected a value, found '%.*s'", length < 40 ? length : 40, p->at);
}

// ---- Arrays and objects -----------------------------------------------------------------------

static tni_json_value* innermost(const parser* p)
{
    return p->depth > 0 ? &p->json->values[p->open[p->depth - 1]] : NULL;
}

static tn_result read_opening(parser* p)
{
    if (p->depth == DEPTH_MAX) return fail_at(p, p->at, "nested deeper than %d levels", DEPTH_MAX);
    const int index = p->json->count;
    if (add_value(p, *p->at == '{' ? TNI_JSON_OBJECT : TNI_JSON_ARRAY) == NULL) return no_memory(p);
    p->open[p->depth++] = index;
    ++p->at;
    return TN_OK;
}

static void close_innermost(parser* p)
{
    const int index             = p->open[--p->depth];
    p->json->values[index].size = p->json->count - index;
    ++p->at;
}

static tn_result check_new_key(const parser* p, const tni_json_value* object,
                               const tni_json_value* key)
{
    tn_result             result = TN_OK;
    const tni_json_value* other  = object + 1;
    for (int i = 0; i < object->count; ++i) {
        if (strcmp(other->text, key->text) == 0) {
            result = fail_at(p, p->at, "duplicate key %s; first given in line %d",
                             tni_quote(key->text).text, other->line);
            break;
        }
        other += 1 + other[1].size;
    }
    if (result == TN_OK && object->count == MEMBER_MAX) {
        result = fail_at(p, p->at, "an object of more than %d members", MEMBER_MAX);
    }
    if (result != TN_OK && p->why != NULL) p->why->column = key->column;
    return result;
}

static tn_result read_key(parser* p)
{
    if (!next_is(p, '"')) return fail_at(p, p->at, "expected a key in double quotes");
    const int index = p->json->count;
    TRY(read_text(p));
    tni_json_value* object = innermost(p);
    TRY(check_new_key(p, object, &p->json->values[index]));
    ++object->count;
    skip_space(p);
    if (!next_is(p, ':')) return fail_at(p, p->at, "expected ':' after the key");
    ++p->at;
    return TN_OK;
}

// Advances to the value of the next element or member of the innermost array or object, or past its
// closing bracket. *value: a value is next.
static tn_result read_inside(parser* p, bool* value)
{
    tni_json_value* inside = innermost(p);
    const bool      object = inside->kind == TNI_JSON_OBJECT;
    const char      close  = object ? '}' : ']';
    skip_space(p);
    if (next_is(p, close)) {
        close_innermost(p);
        *value = false;
        return TN_OK;
    }
    if (inside->count > 0) {
        if (!next_is(p, ',')) {
            return fail_at(p, p->at, "expected ',' or '%c' after %s", close,
                           object ? "a member" : "an element");
        }
        ++p->at;
        skip_space(p);
        if (next_is(p, close)) return fail_at(p, p->at, "no ',' allowed before '%c'", close);
    }
    *value = true;
    if (object) return read_key(p);
    ++inside->count;
    return TN_OK;
}

static tn_result read_value(parser* p)
{
    skip_space(p);
    if (p->at == p->limit) return fail_at(p, p->at, "the text ends where a value is expected");
    if (*p->at == '{' || *p->at == '[') return read_opening(p);
    if (*p->at == '"') return read_text(p);
    if (*p->at == '-' || (*p->at >= '0' && *p->at <= '9')) return read_number(p);
    return read_word(p);
}

static tn_result read_all(parser* p)
{
    skip_space(p);
    if (p->at == p->limit) return fail_at(p, p->at, "the text is empty");
    TRY(read_value(p));
    while (p->depth > 0) {
        bool value = false;
        TRY(read_inside(p, &value));
        if (value) TRY(read_value(p));
    }
    skip_space(p);
    if (p->at < p->limit) return fail_at(p, p->at, "more text after the end of the value");
    return TN_OK;
}

tn_result tni_json_read(const tn_host* host, const char* text, size_t length, tni_json* json,
                        tn_why* why)
{
    *json = (tni_json){.host = tni_host_or_default(host)};
    if (length >= INT_MAX) return tni_fail(why, TN_ERR_PARSE, "text of 2 GiB or more");
    if (length == 0) text = ""; // NULL is allowed for an empty text
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        length -= 3;
    }
    json->text_room = length;
    json->texts     = tni_host_take(&json->host, length);
    if (json->texts == NULL)
        return tni_fail(why, TN_ERR_MEMORY, "out of memory while reading JSON");
    parser          p      = {.json       = json,
                              .at         = text,
                              .limit      = text + length,
                              .line_start = text,
                              .line       = 1,
                              .text_at    = json->texts,
                              .why        = why};
    const tn_result result = read_all(&p);
    if (result != TN_OK) tni_json_free(json);
    return result;
}

void tni_json_free(tni_json* json)
{
    tni_host_give(&json->host, json->values, sizeof *json->values * (size_t)json->room);
    tni_host_give(&json->host, json->texts, json->text_room);
    *json = (tni_json){.host = json->host};
}

const tni_json_value* tni_json_member(const tni_json_value* object, const char* key)
{
    const tni_json_value* at = object + 1;
    for (int i = 0; i < object->count; ++i) {
        if (strcmp(at->text, key) == 0) return at + 1;
        at += 1 + at[1].size;
    }
    return NULL;
}

tni_quoted tni_quote(const char* text)
{
    tni_quoted  quoted = {"'"};
    char*       out    = quoted.text + 1;
    const char* end    = text + strlen(text);
    while (text < end && out - quoted.text < (ptrdiff_t)sizeof quoted.text - 8) {
        const int length = tni_utf8_length(text, end);
        if (length == 0 || (unsigned char)*text < 0x20 || *text == 0x7f) {
            *out++ = '?';
            ++text;
            continue;
        }
        memcpy(out, text, (size_t)length);
        out += length;
        text += length;
    }
    memcpy(out, text < end ? "...'" : "'", text < end ? 5 : 2);
    return quoted;
}
