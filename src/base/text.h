// text: edit distance of words. text.c also defines tn_nearest_word() of tenon/base.h.
#ifndef TNI_TEXT_H
#define TNI_TEXT_H

#include "base/base.h"

/// Least number of insertions, deletions, replacements and swaps of neighbours; case does not
/// count.
int tni_word_distance(const char* a, const char* b);

TNI_INLINE char tni_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

#endif
