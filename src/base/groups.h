// groups: which things belong together, by union-find: up[i] leads to the root of i's group, which
// is its lowest member. To begin with, up[i] = i.
#ifndef TNI_GROUPS_H
#define TNI_GROUPS_H

#include "base/base.h"

static inline int tni_root_of(int* up, int i)
{
    while (up[i] != i) i = up[i] = up[up[i]];
    return i;
}

/// The groups of a and b become one; false: they were.
static inline bool tni_tie(int* up, int a, int b)
{
    a = tni_root_of(up, a);
    b = tni_root_of(up, b);
    if (a == b) return false;
    up[a > b ? a : b] = a > b ? b : a;
    return true;
}

#endif
