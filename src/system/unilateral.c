// unilateral: limits, ropes and contact points as one concept: constraints that push and never
// pull. Finds those that are reached, evaluates gaps and rates, writes their rows.
#include "system/auxiliary.h"

#include <math.h>
#include <stdio.h>

static const uint64_t limit_ids = UINT64_C(1) << 63; // contacts have smaller ids

bool tni_has_unilaterals(const tn_model* model)
{
    return model->limit_count > 0 || model->shape_count > 1;
}

static tn_result take(tni_unilaterals* a)
{
    a->unilaterals = TNI_TAKE(&a->arena, tni_unilateral, a->unilateral_capacity);
    a->block_at    = TNI_TAKE(&a->arena, size_t, 2 * a->unilateral_capacity);
    a->watched     = TNI_TAKE(&a->arena, tni_unilateral, a->unilateral_capacity);
    a->found       = TNI_TAKE(&a->arena, tni_contact, a->unilateral_capacity);
    a->j           = TNI_TAKE(&a->arena, double, a->block_capacity);
    a->full        = false;
    tni_unilaterals_clear(a);
    return a->arena.failed ? TN_ERR_MEMORY : TN_OK;
}

tn_result tni_unilaterals_create(const tn_model* model, tni_unilaterals* a)
{
    *a = (tni_unilaterals){.model = model, .arena = tni_arena_make(&model->arena.host)};
    if (!tni_has_unilaterals(model)) return TN_OK;
    a->unilateral_capacity = TNI_FIRST_UNILATERALS;
    a->block_capacity      = TNI_CONTACT_ROWS * 2 * 6 * TNI_FIRST_UNILATERALS;
    TRY(take(a));
    return model->shape_count > 1 ? tni_finder_create(model, &a->finder) : TN_OK;
}

void tni_unilaterals_free(tni_unilaterals* a)
{
    tni_finder_free(a->finder);
    tni_arena_free(&a->arena);
}

tn_result tni_unilaterals_grow(tni_unilaterals* a)
{
    tni_unilaterals more = *a;
    more.arena           = tni_arena_make(&a->model->arena.host);
    more.unilateral_capacity *= 2;
    more.block_capacity *= 2;
    const tn_result result = take(&more);
    tni_arena_free(result == TN_OK ? &a->arena : &more.arena);
    if (result == TN_OK) *a = more;
    return result;
}

void tni_unilaterals_clear(tni_unilaterals* a)
{
    a->unilateral_count = a->watched_count = 0;
    a->block_count                         = 0;
    ++a->stamp;
}

void tni_unilateral_bodies(const tni_unilaterals* a, const tni_unilateral* unilateral,
                           int bodies[2])
{
    if (unilateral->limit < 0) {
        bodies[0] = unilateral->contact.body1;
        bodies[1] = unilateral->contact.body2;
        return;
    }
    const tni_joint* joint = &a->model->joints[a->model->limits[unilateral->limit].joint];
    bodies[0]              = joint->body1;
    bodies[1]              = joint->body2;
}

void tni_unilateral_text(const tni_unilaterals* a, const tni_unilateral* unilateral, char* text,
                         size_t size)
{
    const tn_model* model = a->model;
    int             bodies[2];
    tni_unilateral_bodies(a, unilateral, bodies);
    if (unilateral->limit >= 0) {
        const tni_joint* joint = &model->joints[model->limits[unilateral->limit].joint];
        snprintf(text, size, "joint '%s'", joint->name);
    } else {
        snprintf(text, size, "contact of '%s' on '%s'", model->bodies[bodies[1]].name,
                 model->bodies[bodies[0]].name);
    }
}

static bool add(tni_unilaterals* a, const tni_unilateral* unilateral)
{
    int    bodies[2];
    size_t need = 0;
    tni_unilateral_bodies(a, unilateral, bodies);
    for (int i = 0; i < 2; ++i)
        need += (size_t)(TNI_CONTACT_ROWS * a->model->bodies[bodies[i]].dim);
    if (a->unilateral_count == a->unilateral_capacity ||
        a->block_count + need > a->block_capacity) {
        a->full = true;
        return false;
    }
    for (int i = 0; i < 2; ++i) {
        a->block_at[2 * a->unilateral_count + i] = a->block_count;
        a->block_count += (size_t)(TNI_CONTACT_ROWS * a->model->bodies[bodies[i]].dim);
    }
    a->unilaterals[a->unilateral_count++] = *unilateral;
    ++a->stamp;
    return true;
}

static tni_unilateral limit_unilateral(const tn_model* model, int limit)
{
    return (tni_unilateral){.id          = limit_ids | (uint64_t)limit,
                            .limit       = limit,
                            .row_count   = 1,
                            .restitution = model->limits[limit].restitution};
}

static tni_unilateral contact_unilateral(const tni_contact* contact)
{
    const bool soft = !isnan(contact->material.stiffness);
    return (tni_unilateral){.id          = contact->id,
                            .limit       = -1,
                            .contact     = *contact,
                            .friction    = contact->material.friction,
                            .restitution = soft ? 0 : contact->material.restitution,
                            .soft        = soft,
                            .gap_before  = TN_UNSET,
                            .spinning    = contact->material.spinning,
                            .rolling     = contact->material.rolling};
}

static void set_row_counts(const tni_unilaterals* a, tni_unilateral* unilateral,
                           tni_contact_counts counts)
{
    unilateral->slip_count = counts.slip;
    unilateral->spin_count = a->spin_and_roll ? counts.spin : 0;
    unilateral->roll_count = a->spin_and_roll ? counts.roll : 0;
    unilateral->row_count =
        1 + unilateral->slip_count + unilateral->spin_count + unilateral->roll_count;
}

// Gap and rates; where J is not NULL also the rows, a block for each side.
static void evaluate(const tni_unilaterals* a, tni_unilateral* unilateral, const tni_view* views,
                     const double* z, double* const* J)
{
    static const tni_mat3 own   = {{1, 0, 0, 0, 1, 0, 0, 0, 1}};
    const tn_model*       model = a->model;
    const bool            limit = unilateral->limit >= 0;
    const tni_joint* joint = limit ? &model->joints[model->limits[unilateral->limit].joint] : NULL;
    const tni_contact* contact = &unilateral->contact;
    const tn_vec3      p[2]    = {limit ? joint->p1 : contact->p1, limit ? joint->p2 : contact->p2};
    const tni_mat3*    F[2]    = {limit ? &joint->F1 : &contact->F1, limit ? &joint->F2 : &own};
    tni_row            rows[TNI_CONTACT_ROWS];
    int                bodies[2];
    tni_unilateral_bodies(a, unilateral, bodies);
    if (limit) rows[0] = tni_limit_row(model, &model->limits[unilateral->limit], views, z);
    else set_row_counts(a, unilateral, tni_contact_rows(model, contact, views, rows));
    unilateral->gap = rows[0].C;
    for (int i = 0; i < unilateral->row_count; ++i) {
        unilateral->rate[i]  = rows[i].rate;
        unilateral->gamma[i] = rows[i].gamma;
        if (i > 0 && i <= unilateral->slip_count) unilateral->across[i - 1] = rows[i].push[1].force;
    }
    for (int side = 0; J != NULL && side < 2; ++side) {
        const tni_body* body = &model->bodies[bodies[side]];
        for (int i = 0; body->dim > 0 && i < unilateral->row_count; ++i) {
            tni_push_row(body, &views[bodies[side]], p[side], F[side], &rows[i].push[side],
                         J[side] + i * body->dim);
        }
    }
}

double tni_unilateral_soft_force(const tni_unilateral* unilateral)
{
    const tni_material* m = &unilateral->contact.material;
    if (!(unilateral->gap < 0)) return 0;
    return fmax(0, -m->stiffness * unilateral->gap - m->damping * unilateral->rate[0]);
}

void tni_unilateral_push(tni_unilateral* unilateral, double f)
{
    unilateral->compliance = 1e12;
    unilateral->target[0]  = unilateral->compliance * f;
}

double tni_unilateral_slip(const tni_unilateral* unilateral)
{
    double sum = 0;
    for (int i = 1; i <= unilateral->slip_count; ++i)
        sum += unilateral->rate[i] * unilateral->rate[i];
    return sqrt(sum);
}

void tni_unilaterals_evaluate(tni_unilaterals* a, const tni_view* views, const double* z,
                              bool jacobians)
{
    for (int i = 0; i < a->unilateral_count; ++i) {
        double* J[2] = {a->j + a->block_at[2 * i], a->j + a->block_at[2 * i + 1]};
        evaluate(a, &a->unilaterals[i], views, z, jacobians ? J : NULL);
    }
    if (jacobians) ++a->stamp;
}

double tni_unilaterals_position_error(const tni_unilaterals* a)
{
    double error = 0;
    for (int i = 0; i < a->unilateral_count; ++i) {
        const tni_unilateral* unilateral = &a->unilaterals[i];
        const bool            held =
            unilateral->rule == TNI_UNILATERAL_HELD || unilateral->rule == TNI_UNILATERAL_STUCK;
        if (unilateral->soft) continue;
        error = fmax(error, held ? fabs(unilateral->gap) : -unilateral->gap);
    }
    return error;
}

double tni_unilaterals_velocity_error(const tni_unilaterals* a)
{
    double error = 0;
    for (int i = 0; i < a->unilateral_count; ++i) {
        const tni_unilateral* unilateral = &a->unilaterals[i];
        const bool            held =
            unilateral->rule == TNI_UNILATERAL_HELD || unilateral->rule == TNI_UNILATERAL_STUCK;
        if (unilateral->soft) continue;
        const int rows = unilateral->rule == TNI_UNILATERAL_STUCK  ? unilateral->row_count
                         : unilateral->rule == TNI_UNILATERAL_OPEN ? 0
                                                                   : 1;
        for (int k = 0; k < rows; ++k)
            error = fmax(error, held ? fabs(unilateral->rate[k]) : -unilateral->rate[k]);
    }
    return error;
}

// --- finding -------------------------------------------------------------------------------------

static tni_unilateral* unilateral_of(tni_unilaterals* a, int count, uint64_t id)
{
    for (int i = 0; i < count; ++i) {
        if (a->unilaterals[i].id == id) return &a->unilaterals[i];
    }
    return NULL;
}

static double limit_gap(const tni_unilaterals* a, int limit, const tni_view* views, const double* z)
{
    return tni_limit_row(a->model, &a->model->limits[limit], views, z).C;
}

// Contacts within reach into a->found; a->full if there are more than fit.
static int find(tni_unilaterals* a, const tni_view* views, double reach)
{
    if (a->finder == NULL) return 0;
    const int found = tni_find_contacts(a->finder, views, reach, a->found, a->unilateral_capacity);
    if (found > a->unilateral_capacity) a->full = true;
    return found;
}

// Unilaterals are sorted by id, limits last.
static const tni_unilateral* find_sorted(const tni_unilateral* unilaterals, int count, uint64_t id)
{
    int low = 0, high = count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (unilaterals[middle].id < id) low = middle + 1;
        else high = middle;
    }
    return low < count && unilaterals[low].id == id ? &unilaterals[low] : NULL;
}

static void sort_unilaterals(tni_unilateral* unilaterals, int count) // nearly sorted already
{
    for (int i = 1; i < count; ++i) {
        if (unilaterals[i - 1].id < unilaterals[i].id) continue;
        const tni_unilateral unilateral = unilaterals[i];
        int                  k          = i;
        for (; k > 0 && unilaterals[k - 1].id > unilateral.id; --k)
            unilaterals[k] = unilaterals[k - 1];
        unilaterals[k] = unilateral;
    }
}

// Empties the set; the previous one goes to a->watched, sorted by id.
static int begin_search(tni_unilaterals* a)
{
    const int before = a->unilateral_count;
    memcpy(a->watched, a->unilaterals, sizeof *a->unilaterals * (size_t)before);
    sort_unilaterals(a->watched, before);
    tni_unilaterals_clear(a);
    return before;
}

static bool add_found(tni_unilaterals* a, int found)
{
    if (found > a->unilateral_capacity) a->full = true;
    for (int i = 0; i < found && !a->full; ++i) {
        const tni_unilateral unilateral = contact_unilateral(&a->found[i]);
        (void)add(a, &unilateral);
    }
    return !a->full;
}

// Warm start from the forces of those that were in the set before.
static void keep_old_forces(tni_unilaterals* a, int before)
{
    for (int i = 0; i < a->unilateral_count; ++i) {
        tni_unilateral*       unilateral = &a->unilaterals[i];
        const tni_unilateral* old        = find_sorted(a->watched, before, unilateral->id);
        if (old == NULL) continue;
        memcpy(unilateral->force, old->force, sizeof old->force);
        memcpy(unilateral->force_before, old->force, sizeof old->force);
        unilateral->was_active   = old->force[0] > 0;
        unilateral->weighed      = old->weighed;
        unilateral->stiff_weight = old->stiff_weight;
        unilateral->damp_weight  = old->damp_weight;
        unilateral->gap_before   = old->start_gap;
    }
}

bool tni_unilaterals_find(tni_unilaterals* a, const tni_view* views, const double* z, double reach)
{
    if (a->unilateral_capacity == 0) return true;
    const int before = begin_search(a);
    if (!add_found(a, find(a, views, reach))) return false;
    for (int i = 0; i < a->model->limit_count; ++i) {
        if (limit_gap(a, i, views, z) > reach) continue;
        const tni_unilateral unilateral = limit_unilateral(a->model, i);
        if (!add(a, &unilateral)) return false;
    }
    keep_old_forces(a, before);
    tni_unilaterals_evaluate(a, views, z, false);
    for (int i = 0; i < a->unilateral_count; ++i)
        a->unilaterals[i].start_gap = a->unilaterals[i].gap;
    return true;
}

bool tni_unilaterals_find_ahead(tni_unilaterals* a, const tni_view* start, const tni_view* end,
                                const double* z)
{
    static const double near = 5e-3; // of limits and ropes: others may make them taut [m or rad]
    if (a->unilateral_capacity == 0) return true;
    tni_unilaterals_clear(a);
    if (a->finder != NULL &&
        !add_found(a, tni_find_ahead(a->finder, start, end, a->found, a->unilateral_capacity)))
        return false;
    for (int i = 0; i < a->model->limit_count; ++i) {
        if (limit_gap(a, i, start, z) > near && limit_gap(a, i, end, z) > 0) continue;
        const tni_unilateral unilateral = limit_unilateral(a->model, i);
        if (!add(a, &unilateral)) return false;
    }
    tni_unilaterals_evaluate(a, start, z, true);
    for (int i = 0; i < a->unilateral_count; ++i)
        a->unilaterals[i].start_gap = a->unilaterals[i].gap;
    return true;
}

int tni_unilaterals_find_more(tni_unilaterals* a, const tni_view* views, const double* z,
                              double reach)
{
    const int known = a->unilateral_count;
    const int found = find(a, views, -reach);
    int       more  = 0;
    for (int i = 0; i < found && !a->full; ++i) {
        tni_unilateral* old = unilateral_of(a, known, a->found[i].id);
        if (old != NULL && old->gap - a->found[i].gap <= reach) continue;
        ++more;
        if (old != NULL) { // the contact has moved to other features
            old->contact = a->found[i];
            old->is_new  = true;
            continue;
        }
        tni_unilateral unilateral = contact_unilateral(&a->found[i]);
        unilateral.is_new         = true;
        (void)add(a, &unilateral);
    }
    for (int i = 0; i < a->model->limit_count && !a->full; ++i) {
        tni_unilateral unilateral = limit_unilateral(a->model, i);
        if (limit_gap(a, i, views, z) >= -reach || unilateral_of(a, known, unilateral.id) != NULL)
            continue;
        unilateral.is_new = true;
        (void)add(a, &unilateral);
        ++more;
    }
    return a->full ? -1 : more;
}

bool tni_unilaterals_copy(tni_unilaterals* a, const tni_unilaterals* from)
{
    tni_unilaterals_clear(a);
    for (int i = 0; i < from->unilateral_count; ++i) {
        if (!add(a, &from->unilaterals[i])) return false;
    }
    return true;
}

static double slip_along(const tni_unilateral* unilateral)
{
    double sum = 0;
    for (int i = 1; i <= unilateral->slip_count; ++i)
        sum += unilateral->rate[i] * tni_dot(unilateral->slip, unilateral->across[i - 1]);
    return sum;
}

static bool watch(tni_unilaterals* a, const tni_unilateral* unilateral)
{
    if (a->watched_count == a->unilateral_capacity) a->full = true;
    else a->watched[a->watched_count++] = *unilateral;
    return !a->full;
}

// Watches a unilateral that is penetrated, unless it is active or started no better.
static bool watch_beyond(tni_unilaterals* a, tni_unilateral* unilateral, double gap, double reach)
{
    const tni_unilateral* known = unilateral_of(a, a->unilateral_count, unilateral->id);
    if (known != NULL && known->rule != TNI_UNILATERAL_OPEN) return true;
    if (known != NULL) unilateral->start_gap = fmin(known->start_gap, 0);
    return gap - unilateral->start_gap < -reach ? watch(a, unilateral) : true;
}

bool tni_unilaterals_watch(tni_unilaterals* a, const tni_view* views, const double* z, double reach)
{
    a->watched_count = 0;
    for (int i = 0; i < a->model->limit_count && !a->full; ++i) {
        tni_unilateral unilateral = limit_unilateral(a->model, i);
        const double   gap        = limit_gap(a, i, views, z);
        if (gap < -reach) (void)watch_beyond(a, &unilateral, gap, reach);
    }
    const int found = find(a, views, -reach);
    for (int i = 0; i < found && !a->full; ++i) {
        tni_unilateral unilateral = contact_unilateral(&a->found[i]);
        (void)watch_beyond(a, &unilateral, a->found[i].gap, reach);
    }
    for (int i = 0; i < a->unilateral_count && !a->full; ++i) {
        const tni_unilateral* unilateral = &a->unilaterals[i];
        if (unilateral->rule == TNI_UNILATERAL_SLIDES && slip_along(unilateral) < -reach)
            (void)watch(a, unilateral);
    }
    return !a->full;
}

double tni_unilaterals_event(const tni_unilaterals* a, const tni_view* views, const double* z)
{
    double least = HUGE_VAL;
    for (int i = 0; i < a->watched_count; ++i) {
        tni_unilateral unilateral = a->watched[i];
        evaluate(a, &unilateral, views, z, NULL);
        least = fmin(least, unilateral.rule == TNI_UNILATERAL_SLIDES
                                ? slip_along(&unilateral)
                                : unilateral.gap - unilateral.start_gap);
    }
    return least;
}

static int find_some(tni_unilaterals* a, const tni_view* views, double reach)
{
    if (a->finder == NULL) return 0;
    const int found = tni_find_contacts(a->finder, views, reach, a->found, a->unilateral_capacity);
    if (found == TNI_FINDER_FULL) return 0;
    return found < a->unilateral_capacity ? found : a->unilateral_capacity;
}

void tni_unilaterals_renew(tni_unilaterals* a, const tni_view* views, const double* z)
{
    static const double reach = 1e-6;
    const int           found = a->unilateral_count > 0 ? find_some(a, views, reach) : 0;
    if (found == 0) return;
    for (int i = 0; i < a->unilateral_count; ++i) {
        for (int k = 0; k < found; ++k) {
            if (a->found[k].id == a->unilaterals[i].id) a->unilaterals[i].contact = a->found[k];
        }
    }
    tni_unilaterals_evaluate(a, views, z, true);
}

double tni_unilaterals_penetration(tni_unilaterals* a, const tni_view* views, const double* z)
{
    double    deepest = 0;
    const int found   = a->unilateral_capacity > 0 ? find_some(a, views, 0) : 0;
    for (int i = 0; i < found; ++i)
        if (isnan(a->found[i].material.stiffness)) deepest = fmax(deepest, -a->found[i].gap);
    for (int i = 0; i < a->model->limit_count; ++i)
        deepest = fmax(deepest, -limit_gap(a, i, views, z));
    return deepest;
}
