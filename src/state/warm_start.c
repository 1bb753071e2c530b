// warm_start: where the iteration for contact forces begins: at those of the last step.
//
// A contact, limit or rope has an id that stays from step to step (contact: shapes and features).
// Both the last step's list and the new one are sorted by id, so they are matched in one pass. The
// list is part of the state: a step depends on the state alone, and a copied state goes on with the
// same bits.
#include "state/warm_start.h"

int tni_warm_start_capacity(const tn_model* model)
{
    const int contacts = model->shape_count > 1 || model->limit_count > 0
                             ? 64 + 8 * model->shape_count + model->limit_count
                             : 0;
    return contacts + model->bound_count;
}

tni_warm_start tni_warm_start_take(tni_arena* arena, const tn_model* model)
{
    const size_t capacity = (size_t)tni_warm_start_capacity(model);
    return (tni_warm_start){.ids    = TNI_TAKE(arena, uint64_t, capacity),
                            .forces = TNI_TAKE(arena, double, TNI_WARM_START_NUMBERS* capacity)};
}

void tni_warm_start_copy(tni_warm_start* to, const tni_warm_start* from)
{
    const size_t count = (size_t)from->count;
    to->count          = from->count;
    memcpy(to->ids, from->ids, sizeof *to->ids * count);
    memcpy(to->forces, from->forces, sizeof *to->forces * TNI_WARM_START_NUMBERS * count);
}

const double* tni_warm_start_find(const tni_warm_start* warm_start, uint64_t id, int* at)
{
    while (*at < warm_start->count && warm_start->ids[*at] < id) ++*at;
    const bool found = *at < warm_start->count && warm_start->ids[*at] == id;
    return found ? warm_start->forces + TNI_WARM_START_NUMBERS * *at : NULL;
}

double* tni_warm_start_add(tni_warm_start* warm_start, const tn_model* model, uint64_t id)
{
    if (warm_start->count >= tni_warm_start_capacity(model)) return NULL;
    double* forces = warm_start->forces + TNI_WARM_START_NUMBERS * warm_start->count;
    memset(forces, 0, sizeof *forces * TNI_WARM_START_NUMBERS);
    warm_start->ids[warm_start->count++] = id;
    return forces;
}
