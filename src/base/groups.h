// groups: disjoint sets (union-find). up[i] leads to the root of i's set, which is its lowest
// member. Initially up[i] = i.
#ifndef TNI_GROUPS_H
#define TNI_GROUPS_H

#include "base/base.h"

static inline int tni_root_of(int* up, int i)
{
    while (up[i] != i) i = up[i] = up[up[i]];
    return i;
}

/// Unites the sets of a and b. False if they were one set already.
static inline bool tni_tie(int* up, int a, int b)
{
    a = tni_root_of(up, a);
    b = tni_root_of(up, b);
    if (a == b) return false;
    up[a > b ? a : b] = a > b ? b : a;
    return true;
}

#endif
