// sort: indices in order.
#ifndef TNI_SORT_H
#define TNI_SORT_H

#include "base/base.h"

/// Whether a comes before b.
typedef bool tni_before(const void* user, int a, int b);

/// Sorts by merging; those of which neither comes before the other keep their order. spare: room
/// for as many.
void tni_sort(int* items, int* spare, int count, tni_before* before, const void* user);

#endif
