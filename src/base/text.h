// text: edit distance of words. text.c also defines tn_nearest_word() of tenon/base.h.
#ifndef TNI_TEXT_H
#define TNI_TEXT_H

#include "tenon/base.h"

/// Least number of insertions, deletions, replacements and swaps of neighbours; case does not
/// count.
int tni_word_distance(const char* a, const char* b);

#endif
