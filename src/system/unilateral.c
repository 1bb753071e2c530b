// unilateral: limits, ropes and contact points as one concept: constraints that push and never
// pull. Finds those that are reached, evaluates gaps and rates, writes their rows.
#include "system/auxiliary.h"

#include <math.h>
#include <stdio.h>

static const uint64_t limit_ids = UINT64_C(1) << 63; // contacts have smaller ids

void tni_unilateral_bodies(const tni_auxiliary* a, const tni_unilateral* stop, int bodies[2])
{
    if (stop->limit < 0) {
        bodies[0] = stop->touch.body1;
        bodies[1] = stop->touch.body2;
        return;
    }
    const tni_joint* joint = &a->model->joints[a->model->limits[stop->limit].joint];
    bodies[0]              = joint->body1;
    bodies[1]              = joint->body2;
}

void tni_unilateral_text(const tni_auxiliary* a, const tni_unilateral* stop, char* text,
                         size_t size)
{
    const tn_model* model = a->model;
    int             bodies[2];
    tni_unilateral_bodies(a, stop, bodies);
    if (stop->limit >= 0) {
        const tni_joint* joint = &model->joints[model->limits[stop->limit].joint];
        snprintf(text, size, "joint '%s'", joint->name);
    } else {
        snprintf(text, size, "contact of '%s' on '%s'", model->bodies[bodies[1]].name,
                 model->bodies[bodies[0]].name);
    }
}

static bool add(tni_auxiliary* a, const tni_unilateral* stop)
{
    int    bodies[2];
    size_t need = 0;
    tni_unilateral_bodies(a, stop, bodies);
    for (int i = 0; i < 2; ++i)
        need += (size_t)(TNI_CONTACT_ROWS * a->model->bodies[bodies[i]].dim);
    if (a->stop_count == a->stop_capacity || a->block_count + need > a->block_capacity) {
        a->full = true;
        return false;
    }
    for (int i = 0; i < 2; ++i) {
        a->stop_at[2 * a->stop_count + i] = a->block_count;
        a->block_count += (size_t)(TNI_CONTACT_ROWS * a->model->bodies[bodies[i]].dim);
    }
    a->stops[a->stop_count++] = *stop;
    a->ready                  = false;
    return true;
}

static tni_unilateral limit_stop(const tn_model* model, int limit)
{
    return (tni_unilateral){.id          = limit_ids | (uint64_t)limit,
                            .limit       = limit,
                            .row_count   = 1,
                            .restitution = model->limits[limit].restitution};
}

static tni_unilateral touch_stop(const tni_contact* touch)
{
    return (tni_unilateral){.id          = touch->id,
                            .limit       = -1,
                            .touch       = *touch,
                            .friction    = touch->material.friction,
                            .restitution = touch->material.restitution,
                            .spinning    = touch->material.spinning,
                            .rolling     = touch->material.rolling};
}

static void count_rows(const tni_auxiliary* a, tni_unilateral* stop, tni_contact_counts counts)
{
    stop->slip_count = counts.slip;
    stop->spin_count = a->turns ? counts.spin : 0;
    stop->roll_count = a->turns ? counts.roll : 0;
    stop->row_count  = 1 + stop->slip_count + stop->spin_count + stop->roll_count;
}

// Gap and rates; where J is not NULL also the rows, a block for each side.
static void look_at(const tni_auxiliary* a, tni_unilateral* stop, const tni_view* views,
                    const double* z, double* const* J)
{
    static const tni_mat3 own   = {{1, 0, 0, 0, 1, 0, 0, 0, 1}};
    const tn_model*       model = a->model;
    const bool            limit = stop->limit >= 0;
    const tni_joint*      joint = limit ? &model->joints[model->limits[stop->limit].joint] : NULL;
    const tni_contact*    touch = &stop->touch;
    const tn_vec3         p[2]  = {limit ? joint->p1 : touch->p1, limit ? joint->p2 : touch->p2};
    const tni_mat3*       F[2]  = {limit ? &joint->F1 : &touch->F1, limit ? &joint->F2 : &own};
    tni_row               rows[TNI_CONTACT_ROWS];
    int                   bodies[2];
    tni_unilateral_bodies(a, stop, bodies);
    if (limit) rows[0] = tni_limit_row(model, &model->limits[stop->limit], views, z);
    else count_rows(a, stop, tni_contact_rows(model, touch, views, rows));
    stop->gap = rows[0].C;
    for (int i = 0; i < stop->row_count; ++i) {
        stop->rate[i]  = rows[i].rate;
        stop->gamma[i] = rows[i].gamma;
        if (i > 0 && i <= stop->slip_count) stop->across[i - 1] = rows[i].push[1].force;
    }
    for (int side = 0; J != NULL && side < 2; ++side) {
        const tni_body* body = &model->bodies[bodies[side]];
        for (int i = 0; body->dim > 0 && i < stop->row_count; ++i) {
            tni_push_row(body, &views[bodies[side]], p[side], F[side], &rows[i].push[side],
                         J[side] + i * body->dim);
        }
    }
}

double tni_unilateral_slip(const tni_unilateral* stop)
{
    double sum = 0;
    for (int i = 1; i <= stop->slip_count; ++i) sum += stop->rate[i] * stop->rate[i];
    return sqrt(sum);
}

void tni_stops_look(tni_auxiliary* a, const tni_view* views, const double* z, bool jacobians)
{
    for (int i = 0; i < a->stop_count; ++i) {
        double* J[2] = {a->j + a->stop_at[2 * i], a->j + a->stop_at[2 * i + 1]};
        look_at(a, &a->stops[i], views, z, jacobians ? J : NULL);
    }
    if (jacobians) a->ready = false;
}

double tni_stops_position_error(const tni_auxiliary* a)
{
    double error = 0;
    for (int i = 0; i < a->stop_count; ++i) {
        const tni_unilateral* stop = &a->stops[i];
        const bool held = stop->rule == TNI_UNILATERAL_HELD || stop->rule == TNI_UNILATERAL_STUCK;
        error           = fmax(error, held ? fabs(stop->gap) : -stop->gap);
    }
    return error;
}

double tni_stops_velocity_error(const tni_auxiliary* a)
{
    double error = 0;
    for (int i = 0; i < a->stop_count; ++i) {
        const tni_unilateral* stop = &a->stops[i];
        const bool held = stop->rule == TNI_UNILATERAL_HELD || stop->rule == TNI_UNILATERAL_STUCK;
        const int  rows = stop->rule == TNI_UNILATERAL_STUCK  ? stop->row_count
                          : stop->rule == TNI_UNILATERAL_OPEN ? 0
                                                              : 1;
        for (int k = 0; k < rows; ++k)
            error = fmax(error, held ? fabs(stop->rate[k]) : -stop->rate[k]);
    }
    return error;
}

// --- finding ------------------------------------------------------------------------------------

static tni_unilateral* stop_of(tni_auxiliary* a, int count, uint64_t id)
{
    for (int i = 0; i < count; ++i) {
        if (a->stops[i].id == id) return &a->stops[i];
    }
    return NULL;
}

static double limit_gap(const tni_auxiliary* a, int limit, const tni_view* views, const double* z)
{
    return tni_limit_row(a->model, &a->model->limits[limit], views, z).C;
}

// Contacts within reach into a->found; a->full if there are more than fit.
static int find(tni_auxiliary* a, const tni_view* views, double reach)
{
    if (a->finder == NULL) return 0;
    const int found = tni_find_touches(a->finder, views, reach, a->found, a->stop_capacity);
    if (found > a->stop_capacity) a->full = true;
    return found;
}

static size_t constraint_end(const tni_auxiliary* a)
{
    size_t end = 0;
    for (int i = 0; i < a->split->auxiliary_count; ++i) {
        const tni_unit* unit = &a->units[i];
        for (int k = 0; k < unit->edge_count; ++k) {
            const tni_unit_edge* edge = &a->edges[unit->edge_start + k];
            const size_t         here = edge->at + (size_t)(unit->row_count * edge->dim);
            end                       = here > end ? here : end;
        }
    }
    return end;
}

// Unilaterals are sorted by id, limits last.
static const tni_unilateral* sorted_stop_of(const tni_unilateral* stops, int count, uint64_t id)
{
    int low = 0, high = count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (stops[middle].id < id) low = middle + 1;
        else high = middle;
    }
    return low < count && stops[low].id == id ? &stops[low] : NULL;
}

static void sort_stops(tni_unilateral* stops, int count) // nearly sorted already
{
    for (int i = 1; i < count; ++i) {
        if (stops[i - 1].id < stops[i].id) continue;
        const tni_unilateral stop = stops[i];
        int                  k    = i;
        for (; k > 0 && stops[k - 1].id > stop.id; --k) stops[k] = stops[k - 1];
        stops[k] = stop;
    }
}

// Empties the set; the previous one goes to a->watched, sorted by id.
static int begin_anew(tni_auxiliary* a)
{
    const int before = a->stop_count;
    memcpy(a->watched, a->stops, sizeof *a->stops * (size_t)before);
    sort_stops(a->watched, before);
    a->stop_count    = 0;
    a->watched_count = 0;
    a->block_count   = constraint_end(a);
    a->ready         = false;
    return before;
}

static bool add_found(tni_auxiliary* a, int found)
{
    if (found > a->stop_capacity) a->full = true;
    for (int i = 0; i < found && !a->full; ++i) {
        const tni_unilateral stop = touch_stop(&a->found[i]);
        (void)add(a, &stop);
    }
    return !a->full;
}

// Warm start from the forces of those that were in the set before.
static void keep_forces(tni_auxiliary* a, int before)
{
    for (int i = 0; i < a->stop_count; ++i) {
        tni_unilateral*       stop = &a->stops[i];
        const tni_unilateral* old  = sorted_stop_of(a->watched, before, stop->id);
        if (old == NULL) continue;
        memcpy(stop->force, old->force, sizeof old->force);
        memcpy(stop->before, old->force, sizeof old->force);
        stop->pushed = old->force[0] > 0;
    }
}

bool tni_stops_find(tni_auxiliary* a, const tni_view* views, const double* z, double reach)
{
    if (a->stop_capacity == 0) return true;
    const int before = begin_anew(a);
    if (!add_found(a, find(a, views, reach))) return false;
    for (int i = 0; i < a->model->limit_count; ++i) {
        if (limit_gap(a, i, views, z) > reach) continue;
        const tni_unilateral stop = limit_stop(a->model, i);
        if (!add(a, &stop)) return false;
    }
    keep_forces(a, before);
    tni_stops_look(a, views, z, false);
    for (int i = 0; i < a->stop_count; ++i) a->stops[i].begun = a->stops[i].gap;
    return true;
}

bool tni_stops_ahead(tni_auxiliary* a, const tni_view* start, const tni_view* end, const double* z)
{
    static const double near = 1e-6; // of limits [m or rad]
    if (a->stop_capacity == 0) return true;
    const int before = begin_anew(a);
    if (a->finder != NULL &&
        !add_found(a, tni_find_ahead(a->finder, start, end, a->found, a->stop_capacity)))
        return false;
    for (int i = 0; i < a->model->limit_count; ++i) {
        if (limit_gap(a, i, start, z) > near && limit_gap(a, i, end, z) > 0) continue;
        const tni_unilateral stop = limit_stop(a->model, i);
        if (!add(a, &stop)) return false;
    }
    keep_forces(a, before);
    tni_stops_look(a, start, z, true);
    for (int i = 0; i < a->stop_count; ++i) a->stops[i].begun = a->stops[i].gap;
    return true;
}

int tni_stops_more(tni_auxiliary* a, const tni_view* views, const double* z, double reach)
{
    const int known = a->stop_count;
    const int found = find(a, views, -reach);
    int       more  = 0;
    for (int i = 0; i < found && !a->full; ++i) {
        tni_unilateral* old = stop_of(a, known, a->found[i].id);
        if (old != NULL && old->gap - a->found[i].gap <= reach) continue;
        ++more;
        if (old != NULL) { // the contact has moved to other features
            old->touch   = a->found[i];
            old->renewed = true;
            continue;
        }
        tni_unilateral stop = touch_stop(&a->found[i]);
        stop.renewed        = true;
        (void)add(a, &stop);
    }
    for (int i = 0; i < a->model->limit_count && !a->full; ++i) {
        tni_unilateral stop = limit_stop(a->model, i);
        if (limit_gap(a, i, views, z) >= -reach || stop_of(a, known, stop.id) != NULL) continue;
        stop.renewed = true;
        (void)add(a, &stop);
        ++more;
    }
    return a->full ? -1 : more;
}

bool tni_stops_copy(tni_auxiliary* a, const tni_auxiliary* from)
{
    a->stop_count  = 0;
    a->block_count = constraint_end(a);
    for (int i = 0; i < from->stop_count; ++i) {
        if (!add(a, &from->stops[i])) return false;
    }
    return true;
}

static double slip_along(const tni_unilateral* stop)
{
    double sum = 0;
    for (int i = 1; i <= stop->slip_count; ++i)
        sum += stop->rate[i] * tni_dot(stop->slip, stop->across[i - 1]);
    return sum;
}

static bool watch(tni_auxiliary* a, const tni_unilateral* stop)
{
    if (a->watched_count == a->stop_capacity) a->full = true;
    else a->watched[a->watched_count++] = *stop;
    return !a->full;
}

// Watches a unilateral that is penetrated, unless it is active or started no better.
static bool watch_beyond(tni_auxiliary* a, tni_unilateral* stop, double gap, double reach)
{
    const tni_unilateral* known = stop_of(a, a->stop_count, stop->id);
    if (known != NULL && known->rule != TNI_UNILATERAL_OPEN) return true;
    if (known != NULL) stop->begun = fmin(known->begun, 0);
    return gap - stop->begun < -reach ? watch(a, stop) : true;
}

bool tni_stops_watch(tni_auxiliary* a, const tni_view* views, const double* z, double reach)
{
    a->watched_count = 0;
    for (int i = 0; i < a->model->limit_count && !a->full; ++i) {
        tni_unilateral stop = limit_stop(a->model, i);
        const double   gap  = limit_gap(a, i, views, z);
        if (gap < -reach) (void)watch_beyond(a, &stop, gap, reach);
    }
    const int found = find(a, views, -reach);
    for (int i = 0; i < found && !a->full; ++i) {
        tni_unilateral stop = touch_stop(&a->found[i]);
        (void)watch_beyond(a, &stop, a->found[i].gap, reach);
    }
    for (int i = 0; i < a->stop_count && !a->full; ++i) {
        const tni_unilateral* stop = &a->stops[i];
        if (stop->rule == TNI_UNILATERAL_SLIDES && slip_along(stop) < -reach) (void)watch(a, stop);
    }
    return !a->full;
}

double tni_stops_watched(const tni_auxiliary* a, const tni_view* views, const double* z)
{
    double least = HUGE_VAL;
    for (int i = 0; i < a->watched_count; ++i) {
        tni_unilateral stop = a->watched[i];
        look_at(a, &stop, views, z, NULL);
        least = fmin(least, stop.rule == TNI_UNILATERAL_SLIDES ? slip_along(&stop)
                                                               : stop.gap - stop.begun);
    }
    return least;
}

static int find_some(tni_auxiliary* a, const tni_view* views, double reach)
{
    if (a->finder == NULL) return 0;
    const int found = tni_find_touches(a->finder, views, reach, a->found, a->stop_capacity);
    if (found == TNI_FINDER_FULL) return 0;
    return found < a->stop_capacity ? found : a->stop_capacity;
}

void tni_stops_renew(tni_auxiliary* a, const tni_view* views, const double* z)
{
    static const double reach = 1e-6;
    const int           found = a->stop_count > 0 ? find_some(a, views, reach) : 0;
    if (found == 0) return;
    for (int i = 0; i < a->stop_count; ++i) {
        for (int k = 0; k < found; ++k) {
            if (a->found[k].id == a->stops[i].id) a->stops[i].touch = a->found[k];
        }
    }
    tni_stops_look(a, views, z, true);
}

double tni_stops_deepest(tni_auxiliary* a, const tni_view* views, const double* z)
{
    double    deepest = 0;
    const int found   = a->stop_capacity > 0 ? find_some(a, views, 0) : 0;
    for (int i = 0; i < found; ++i) deepest = fmax(deepest, -a->found[i].gap);
    for (int i = 0; i < a->model->limit_count; ++i)
        deepest = fmax(deepest, -limit_gap(a, i, views, z));
    return deepest;
}
