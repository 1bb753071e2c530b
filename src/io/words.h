// words: words of text files, compared, quoted in messages, and read as numbers.
#ifndef TNI_WORDS_H
#define TNI_WORDS_H

#include "io/json.h"

typedef struct tni_word {
    const char* text;
    int         length; ///< 0: no word
} tni_word;

/// Column of a place in its line, from 1; the text begins at start.
int  tni_column(const char* start, const char* at);
bool tni_is_blank(char c); ///< space within a line
/// Equal, ignoring case.
bool tni_word_is(tni_word w, const char* wanted);
/// Quoted for a message, shortened, with control characters replaced; `nothing` if there is no
/// word.
tni_quoted tni_word_shown(tni_word w, const char* nothing);

enum { TNI_NUMBER_BYTES = 120 };

typedef enum tni_number_end {
    TNI_NUMBER_READ,
    TNI_NUMBER_LONG, ///< more than TNI_NUMBER_BYTES characters
    TNI_NUMBER_NONE,
    TNI_NUMBER_LARGE
} tni_number_end;

/// Reads a number, also "+1", ".5", "1.", "007".
tni_number_end tni_word_number(tni_word w, double* value);

#endif
