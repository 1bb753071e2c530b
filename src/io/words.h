// words: pieces of text files, compared, shown, and read as numbers.
#ifndef TNI_WORDS_H
#define TNI_WORDS_H

#include "io/json.h"

typedef struct tni_word {
    const char* text;
    int         length; ///< 0: there is none
} tni_word;

/// Column of a place in its line, from 1; the text begins at start.
int  tni_column(const char* start, const char* at);
bool tni_is_blank(char c); ///< within a line
/// In capitals or not.
bool tni_word_is(tni_word w, const char* wanted);
/// As messages show it, cut and cleaned; nothing: what stands for none.
tni_quoted tni_word_shown(tni_word w, const char* nothing);

enum { TNI_NUMBER_BYTES = 120 };

typedef enum tni_number_end {
    TNI_NUMBER_READ,
    TNI_NUMBER_LONG, ///< more than TNI_NUMBER_BYTES characters
    TNI_NUMBER_NONE,
    TNI_NUMBER_LARGE
} tni_number_end;

/// As people and programs write them: "+1", ".5", "1.", "007" too.
tni_number_end tni_word_number(tni_word w, double* value);

#endif
