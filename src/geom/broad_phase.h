// broad_phase: pairs of overlapping boxes, updated as they move. See broad_phase.c.
//
// The result contains every pair that overlaps and possibly others. Nothing that is derived from it
// may depend on the extra pairs or on the order.
#ifndef TNI_BROAD_PHASE_H
#define TNI_BROAD_PHASE_H

#include "geom/geometry.h"

typedef struct tni_pair {
    int a, b; ///< a < b
} tni_pair;

typedef struct tni_broad_phase tni_broad_phase;

/// For `count` boxes, initially all empty, with capacity for `pairs` pairs. may_meet: called once
/// for each new pair; NULL: all pairs. Has its own memory from the host, so that it can grow
/// between steps.
TN_NODISCARD tn_result tni_broad_phase_create(const tn_host* host, int count, int pairs,
                                              bool (*may_meet)(const void* user, int a, int b),
                                              const void* user, tni_broad_phase** boxes);
void                   tni_broad_phase_free(tni_broad_phase* boxes); ///< NULL is allowed
/// Increases the capacity for pairs. Not to be called within a step.
TN_NODISCARD tn_result tni_broad_phase_grow(tni_broad_phase* boxes);
size_t                 tni_broad_phase_bytes(const tni_broad_phase* boxes);

/// Sets the boxes. Infinite ones are allowed; a box with a NaN overlaps nothing. False: out of
/// capacity for pairs; grow and call again. Does not allocate.
bool tni_broad_phase_update(tni_broad_phase* boxes, const tni_aabb* now);
/// Result of the last update; each pair once, in no particular order.
int             tni_broad_phase_pair_count(const tni_broad_phase* boxes);
const tni_pair* tni_broad_phase_pairs(const tni_broad_phase* boxes);
/// Data of a pair, zero when it is new, kept while it exists: for warm starts.
tn_vec3* tni_broad_phase_pair_data(tni_broad_phase* boxes, int pair);

/// Calls visit for each box that overlaps a box, or is hit by the ray from + t d, 0 <= t <= most,
/// and possibly others, in no particular order. For rays, visit returns the new `most`.
void   tni_broad_phase_query(const tni_broad_phase* boxes, const tni_aabb* box,
                             void (*visit)(void* user, int index), void*   user);
double tni_broad_phase_ray(const tni_broad_phase* boxes, tn_vec3 from, tn_vec3 d, double most,
                           double (*visit)(void* user, int index, double most), void* user);

#endif
