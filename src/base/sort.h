// sort: a stable merge sort of indices.
#ifndef TNI_SORT_H
#define TNI_SORT_H

#include "base/base.h"

/// Whether a comes before b.
typedef bool tni_before(const void* user, int a, int b);

/// Sorts items by `before`; equal items keep their order. spare: scratch for count ints.
void tni_sort(int* items, int* spare, int count, tni_before* before, const void* user);

#endif
