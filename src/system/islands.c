// islands: auxiliary units (a joint, a limit, a rope, a contact) that see each other.
//
// The response of one unit at another is zero unless a path leads from one to the other: over the
// factored mechanism (a component of the elimination plan), or over a third unit that acts on two
// components. So components are joined by union-find wherever a unit acts on several of them; a
// group of components with its units is an island, and has a problem a = W f + b of its own.
// Contacts of heaps that do not touch are never in the same W.
//
// Order: units by island, islands by their first unit; it depends on the units alone.
// Cost: O(units and their edges).
#include "system/islands.h"

#include "base/groups.h"

static int group_of(tni_auxiliary* a, const tni_auxiliary_unit* unit)
{
    return tni_root_of(a->group, a->split->plan->component_of[a->edges[unit->edge_start].node]);
}

static void count_islands(tni_auxiliary* a)
{
    a->island_count = 0;
    for (int i = 0; i < a->unit_count; ++i) {
        const tni_auxiliary_unit* unit = &a->units[i];
        if (unit->row_count == 0) continue;
        int* at = &a->island_of[group_of(a, unit)];
        if (*at < 0) {
            *at             = a->island_count++;
            a->islands[*at] = (tni_island){0};
        }
        tni_island* island = &a->islands[*at];
        island->unit_count += 1;
        island->row_count += unit->row_count;
    }
}

static void set_order(tni_auxiliary* a)
{
    int units = 0;
    count_islands(a);
    a->row_count = 0;
    for (int i = 0; i < a->island_count; ++i) {
        tni_island* island = &a->islands[i];
        island->unit_start = units;
        island->next       = a->row_count;
        units += island->unit_count;
        a->row_count += island->row_count;
        island->unit_count = 0;
    }
    for (int i = 0; i < a->unit_count; ++i) {
        tni_auxiliary_unit* unit = &a->units[i];
        if (unit->row_count == 0) continue;
        tni_island* island = &a->islands[a->island_of[group_of(a, unit)]];
        unit->first        = island->next;
        island->next += unit->row_count;
        a->order[island->unit_start + island->unit_count++] = i;
    }
}

bool tni_islands_set(tni_auxiliary* a)
{
    const int* component_of = a->split->plan->component_of;
    for (int i = 0; i < a->edge_count; ++i) {
        const int c     = component_of[a->edges[i].node];
        a->group[c]     = c;
        a->island_of[c] = -1;
    }
    for (int i = 0; i < a->unit_count; ++i) {
        const tni_auxiliary_unit* unit = &a->units[i];
        for (int k = 1; k < unit->edge_count && unit->row_count > 0; ++k) {
            const tni_auxiliary_edge* edges = &a->edges[unit->edge_start];
            (void)tni_tie(a->group, component_of[edges[0].node], component_of[edges[k].node]);
        }
    }
    set_order(a);
    return a->row_count <= a->row_capacity;
}
