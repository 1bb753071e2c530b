// json: a strict JSON text as a flat array of values, each with its line and column.
#ifndef TNI_JSON_H
#define TNI_JSON_H

#include "base/base.h"

typedef enum tni_json_kind {
    TNI_JSON_NULL,
    TNI_JSON_FLAG,
    TNI_JSON_NUMBER,
    TNI_JSON_TEXT,
    TNI_JSON_ARRAY,
    TNI_JSON_OBJECT
} tni_json_kind;

/// Elements and members follow their array or object; a member is its key (a text), then its value.
/// So the first one is value + 1, and the next after any value is value + value->size.
typedef struct tni_json_value {
    tni_json_kind kind;
    int           line, column; ///< from 1; columns in bytes
    int           count;        ///< number of elements or members
    int           size;         ///< number of values in this one, including itself
    union {
        bool        flag;
        double      number;
        const char* text; ///< UTF-8, no NUL inside
    };
} tni_json_value;

typedef struct tni_json {
    tn_host         host;
    tni_json_value* values; ///< the first is the root
    int             count, room;
    char*           texts;
    size_t          text_room;
} tni_json;

/// On failure *json is empty and *why has line and column.
tn_result tni_json_read(const tn_host* host, const char* text, size_t length, tni_json* json,
                        tn_why* why);
void      tni_json_free(tni_json* json);

/// The member's value, or NULL.
const tni_json_value* tni_json_member(const tni_json_value* object, const char* key);
/// Length of the UTF-8 character at `at`, before limit; 0: invalid.
int tni_utf8_length(const char* at, const char* limit);

/// A text in single quotes for a message: shortened if long, control characters as '?'.
typedef struct tni_quoted {
    char text[80];
} tni_quoted;
tni_quoted tni_quote(const char* text);

#endif
