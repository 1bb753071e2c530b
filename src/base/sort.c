// sort: bottom-up merge sort with runs of 1, 2, 4, ...: O(n log n) comparisons in every case.
#include "base/sort.h"

static void merge(const int* from, int* to, int first, int middle, int last, tni_before* before,
                  const void* user)
{
    int a = first, b = middle;
    for (int k = first; k < last; ++k) {
        const bool second = b < last && (a >= middle || before(user, from[b], from[a]));
        to[k]             = second ? from[b++] : from[a++];
    }
}

void tni_sort(int* items, int* spare, int count, tni_before* before, const void* user)
{
    int *from = items, *to = spare;
    for (int width = 1; width < count; width *= 2) {
        for (int first = 0; first < count; first += 2 * width) {
            const int middle = first + width < count ? first + width : count;
            const int last   = middle + width < count ? middle + width : count;
            merge(from, to, first, middle, last, before, user);
        }
        int* const swapped = from;
        from               = to;
        to                 = swapped;
    }
    if (from != items && count > 0) memcpy(items, from, sizeof(int) * (size_t)count);
}
