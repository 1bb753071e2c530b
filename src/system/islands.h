// islands: auxiliary units that see each other, sorted. See islands.c.
#ifndef TNI_ISLANDS_H
#define TNI_ISLANDS_H

#include "system/auxiliary.h"

/// Sorts the units by island and gives them their rows: islands, order, row_count, first of each
/// unit. False: more rows than there is room for.
bool tni_islands_set(tni_auxiliary* a);

#endif
