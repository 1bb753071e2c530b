// text: the word an author probably meant, for error messages.
//
// The distance of two words is the least number of single-character insertions, deletions,
// replacements and swaps of neighbours that turn one into the other (optimal string alignment):
//
//     d(i, j) = min { d(i-1, j) + 1,  d(i, j-1) + 1,  d(i-1, j-1) + [a_i != b_j],
//                     d(i-2, j-2) + 1   when a_i = b_{j-1} and a_{i-1} = b_j }
//
// Case does not count. A word matches when at most half of its letters (one at least) are wrong:
// "mehtod" matches "method", "foo" matches nothing. The first of equally close words wins.
// Cost: O(|a| |b|) a word, three rows on the stack. Words longer than WORD_MAX match nothing.
#include "base/text.h"

enum { WORD_MAX = 63 };

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int word_length(const char* word)
{
    int length = 0;
    while (length <= WORD_MAX && word[length] != 0) ++length;
    return length;
}

int tni_word_distance(const char* a, const char* b)
{
    const int a_length = word_length(a), b_length = word_length(b);
    if (a_length > WORD_MAX || b_length > WORD_MAX) return 2 * WORD_MAX;
    int  rows[3][WORD_MAX + 1];
    int *older = rows[0], *old = rows[1], *row = rows[2];
    for (int j = 0; j <= b_length; ++j) row[j] = j;
    for (int i = 1; i <= a_length; ++i) {
        int* recycled = older;
        older         = old;
        old           = row;
        row           = recycled;
        row[0]        = i;
        for (int j = 1; j <= b_length; ++j) {
            const char x = tni_lower(a[i - 1]), y = tni_lower(b[j - 1]);
            row[j] = least(least(old[j], row[j - 1]) + 1, old[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == tni_lower(b[j - 2]) && tni_lower(a[i - 2]) == y) {
                row[j] = least(row[j], older[j - 2] + 1);
            }
        }
    }
    return row[b_length];
}

const char* tn_nearest_word(const char* word, const char* const* words, int count)
{
    const int   length = word_length(word);
    int         best   = (length < 4 ? 1 : length / 2) + 1;
    const char* found  = NULL;
    for (int i = 0; i < count; ++i) {
        const int distance = tni_word_distance(word, words[i]);
        if (distance >= best) continue;
        best  = distance;
        found = words[i];
    }
    return found;
}
