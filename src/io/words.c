// words: see words.h.
#include "io/words.h"

#include "base/text.h"

#include "tenon/io.h"

#include <stdio.h>
#include <string.h>

int tni_column(const char* start, const char* at)
{
    const char* line = at;
    while (line > start && line[-1] != '\n') --line;
    return (int)(at - line) + 1;
}

bool tni_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

bool tni_word_is(tni_word w, const char* wanted)
{
    if (w.length != (int)strlen(wanted)) return false;
    for (int i = 0; i < w.length; ++i)
        if (tni_lower(w.text[i]) != tni_lower(wanted[i])) return false;
    return true;
}

tni_quoted tni_word_shown(tni_word w, const char* nothing)
{
    char       text[64];
    tni_quoted none = {{0}};
    snprintf(none.text, sizeof none.text, "%s", nothing);
    snprintf(text, sizeof text, "%.*s", w.length < 60 ? w.length : 60, w.text);
    return w.length > 0 ? tni_quote(text) : none;
}

// Rewrites a number as tn_parse_number() accepts it: no plus, digits on both sides of the point, no
// leading zeros.
static int plain_number(tni_word w, char plain[TNI_NUMBER_BYTES + 8])
{
    int i = 0, n = 0;
    if (i < w.length && (w.text[i] == '-' || w.text[i] == '+')) {
        if (w.text[i++] == '-') plain[n++] = '-';
    }
    while (i + 1 < w.length && w.text[i] == '0' && w.text[i + 1] >= '0' && w.text[i + 1] <= '9')
        ++i;
    const bool bare = i + 1 < w.length && w.text[i] == '.'; // ".5", not "."
    if (bare) plain[n++] = '0';
    for (; i < w.length; ++i) {
        plain[n++]      = w.text[i];
        const char next = i + 1 < w.length ? w.text[i + 1] : 'e';
        if (w.text[i] == '.' && !bare && (next == 'e' || next == 'E')) plain[n++] = '0';
    }
    return n;
}

tni_number_end tni_word_number(tni_word w, double* value)
{
    char        plain[TNI_NUMBER_BYTES + 8];
    const char* end;
    if (w.length > TNI_NUMBER_BYTES) return TNI_NUMBER_LONG;
    const int  length = plain_number(w, plain);
    const bool good   = tn_parse_number(plain, plain + length, &end, value);
    if (length == 0 || end != plain + length) return TNI_NUMBER_NONE;
    return good ? TNI_NUMBER_READ : TNI_NUMBER_LARGE;
}
