// broad_phase: which of many boxes overlap, kept up to date while they move little. See broad_phase.c.
//
// The answer is a set that holds every pair that overlaps; it may hold more. What comes of it must
// not depend on which, nor on their order.
#ifndef TNI_BROAD_PHASE_H
#define TNI_BROAD_PHASE_H

#include "geom/geometry.h"

typedef struct tni_pair {
    int a, b; ///< a < b
} tni_pair;

typedef struct tni_broad_phase tni_broad_phase;

/// For `count` boxes, none of them placed yet, and room for `pairs` pairs. may_meet: asked once for
/// each new pair; NULL: all may. Memory of its own from the host, so that it may grow between
/// steps.
TN_NODISCARD tn_result tni_broad_phase_create(const tn_host* host, int count, int pairs,
                                              bool (*may_meet)(const void* user, int a, int b),
                                              const void* user, tni_broad_phase** boxes);
void                   tni_broad_phase_free(tni_broad_phase* boxes); ///< NULL is allowed
/// Makes room for more pairs. Not within a step.
TN_NODISCARD tn_result tni_broad_phase_grow(tni_broad_phase* boxes);
size_t                 tni_broad_phase_bytes(const tni_broad_phase* boxes);

/// Where all boxes are now. Infinite ones are allowed; a box with a NaN meets nothing. False: no
/// room for the pairs; grow and call again. Nothing is allocated.
bool tni_broad_phase_update(tni_broad_phase* boxes, const tni_aabb* now);
/// Of the last update. Each pair once, in no order that means anything.
int             tni_broad_phase_pair_count(const tni_broad_phase* boxes);
const tni_pair* tni_broad_phase_pairs(const tni_broad_phase* boxes);
/// A word of memory for each pair, zero when it is new, kept while it stays: for warm starts.
tn_vec3* tni_broad_phase_note(tni_broad_phase* boxes, int pair);

/// Boxes that a box, or a ray from `from` along `d` over lengths 0 .. most (in units of d), meets,
/// and perhaps others: visit is called for each, in no order that means anything; what it returns
/// is the new `most`.
void   tni_broad_phase_query(const tni_broad_phase* boxes, const tni_aabb* box,
                             void (*visit)(void* user, int index), void*   user);
double tni_broad_phase_ray(const tni_broad_phase* boxes, tn_vec3 from, tn_vec3 d, double most,
                           double (*visit)(void* user, int index, double most), void* user);

#endif
