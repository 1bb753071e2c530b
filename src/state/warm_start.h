// warm_start: forces of the last step's contacts, limits and ropes, kept in the state. See
// warm_start.c.
#ifndef TNI_WARM_START_H
#define TNI_WARM_START_H

#include "model/model.h"

enum {
    TNI_WARM_START_ROWS    = 6,
    TNI_WARM_START_NUMBERS = 12
}; ///< rows of one contact; both solves of a step

/// Warm start of contacts, limits and ropes: forces of the last step, by rising id. When there is
/// no room for all, the first ones are kept.
typedef struct tni_warm_start {
    int       count;
    uint64_t* ids;
    double* forces; ///< TNI_WARM_START_ROWS of the solve at the start of the step, then as many of
                    ///< that at its end
} tni_warm_start;

/// How many contacts, limits and ropes a state of this model has room for.
int            tni_warm_start_capacity(const tn_model* model);
tni_warm_start tni_warm_start_take(tni_arena* arena, const tn_model* model);
void           tni_warm_start_copy(tni_warm_start* to, const tni_warm_start* from);
/// Forces of the contact `id` in the last step, TNI_WARM_START_NUMBERS; NULL: it had none. Ask by
/// rising id, with *at = 0 before the first.
const double* tni_warm_start_find(const tni_warm_start* warm_start, uint64_t id, int* at);
/// Appends a contact with a larger id than all before; returns its forces, which are zero. NULL: no
/// room.
double* tni_warm_start_add(tni_warm_start* warm_start, const tn_model* model, uint64_t id);

#endif
