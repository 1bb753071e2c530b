// auxiliary: Baraff's constraint anticipation [1, section 8]. Rows that are not in the factored
// matrix (loops beside a spanning forest, constraints whose force is not along their rows, limits,
// ropes, contacts) are solved by Schur complement: by their responses through the factored system.
//
//     M u + J^T mu = b + K f,   J u = r                  the factored, primary system
//     a = J_a u - r_a           a condition on each pair (a_i, f_i), see complementarity.h
//
//     u_0 = primary answer to (b, r)                      [1, section 8.2, step 2]
//     Y_j = primary answer to (K_j, 0)                    [step 3]: a path solve for each row
//     a = W f + J_a u_0 - r_a,  W = J_a Y            [eq. (12)], solved by mixed_complementarity.h
//     u, mu = primary answer to (b + K f, r)              [step 5]
//
// One factorisation, k + 2 solves. K_j is nonzero on the few nodes of its row and Y_j is needed at
// the nodes of other rows, so a column costs the paths from these to the root, not the tree. Where
// W is symmetric and paths share little, half of each solve and their products do (half_solve.h). W
// is block diagonal over islands: rows whose components are not connected by any row. K is J_a^T
// where forces do no work; a sliding contact pushes along J_n - mu (d . J_t), d being the direction
// of its slip, and then W is not symmetric.
//
// Where there is a step matrix (step_matrix.h), it solves for everything, and there is no W.
//
// Cost: k columns of the length of a path, k^2 products of the rows' lengths, and that of
// mixed_complementarity.h.
// [1] D. Baraff, Linear-Time Dynamics using Lagrange Multipliers, SIGGRAPH 96.
#include "system/auxiliary.h"

#include "system/islands.h"

#include "system/step_matrix.h"

#include <math.h>

#define JAM       1e-6  // a relative violation below this is no friction jam
#define JAM_LEAST 1e-9  // the same, of a row that nothing moves
#define HELD      1e-11 // a response smaller than this, relative to a free one, is rounding

enum { COLUMNS = 3 };
enum { HALVES = 4 }; // room for half solves, doubles per row of the system

// --- memory --------------------------------------------------------------------------------------

// Doubles in the blocks of the auxiliary constraints, and the number of their edges.
static size_t constraint_blocks(const tni_auxiliary* a, int* edges)
{
    size_t doubles = 0;
    *edges         = 0;
    for (int i = 0; i < a->split->auxiliary_count; ++i) {
        const tni_constraint* c = &a->model->constraints[a->split->auxiliary[i]];
        for (int k = 0; k < c->edge_count; ++k) {
            const int body = a->model->edge_body[c->edge_start + k];
            doubles += (size_t)(c->row_count * a->model->bodies[body].dim);
        }
        *edges += c->edge_count;
    }
    return doubles;
}

static void set_constraint_units(tni_auxiliary* a)
{
    size_t at     = 0;
    a->unit_count = a->edge_count = 0;
    for (int i = 0; i < a->split->auxiliary_count; ++i) {
        const tni_constraint* c   = &a->model->constraints[a->split->auxiliary[i]];
        a->units[a->unit_count++] = (tni_auxiliary_unit){.row_count      = c->row_count,
                                                         .edge_start     = a->edge_count,
                                                         .edge_count     = c->edge_count,
                                                         .constraint     = a->split->auxiliary[i],
                                                         .unilateral     = -1,
                                                         .own_directions = c->pushes_otherwise};
        for (int k = 0; k < c->edge_count; ++k) {
            const tni_body* body = &a->model->bodies[a->model->edge_body[c->edge_start + k]];
            double *        J = a->j + at, *K = c->pushes_otherwise ? a->k + at : J;
            a->edges[a->edge_count++] =
                (tni_auxiliary_edge){body->node, body->u_start, body->dim, J, K};
            at += (size_t)(c->row_count * body->dim);
        }
    }
}

static tn_result take(tni_auxiliary* a)
{
    int          constraint_edges;
    tni_arena*   arena  = &a->arena;
    const int    all    = a->model->u_count + a->model->row_count;
    const size_t blocks = constraint_blocks(a, &constraint_edges);
    const int    units  = a->split->auxiliary_count + a->unilateral_capacity;
    const int    edges  = constraint_edges + 2 * a->unilateral_capacity;
    a->rules            = TNI_TAKE(arena, uint8_t, a->unilateral_capacity);
    a->units            = TNI_TAKE(arena, tni_auxiliary_unit, units);
    a->order            = TNI_TAKE(arena, int, units);
    a->islands          = TNI_TAKE(arena, tni_island, units);
    a->edges            = TNI_TAKE(arena, tni_auxiliary_edge, edges);
    a->nodes            = TNI_TAKE(arena, int, edges);
    a->group            = TNI_TAKE(arena, int, a->split->plan->component_count);
    a->island_of        = TNI_TAKE(arena, int, a->split->plan->component_count);
    a->j                = TNI_TAKE(arena, double, blocks);
    a->k = TNI_TAKE(arena, double, blocks + 2 * TNI_DIM_MAX * (size_t)a->unilateral_capacity);
    a->W = TNI_TAKE(arena, double, a->response_capacity);
    a->condition   = TNI_TAKE(arena, uint8_t, a->row_capacity);
    a->column_sets = TNI_TAKE(arena, tni_column_set, a->row_capacity);
    a->dependent   = TNI_TAKE(arena, uint8_t, a->row_capacity);
    a->b           = TNI_TAKE(arena, double, a->row_capacity);
    a->f           = TNI_TAKE(arena, double, a->row_capacity);
    a->a           = TNI_TAKE(arena, double, a->row_capacity);
    a->scale       = TNI_TAKE(arena, double, a->row_capacity);
    a->size        = TNI_TAKE(arena, double, a->row_capacity);
    a->mu          = TNI_TAKE(arena, double, a->row_capacity);
    a->x           = TNI_TAKE(arena, double, (COLUMNS + 2) * (size_t)all);
    if (arena->failed) return TN_ERR_MEMORY;
    set_constraint_units(a);
    a->row_count = a->island_rows = 0;
    a->response_count             = 0;
    a->full                       = false;
    a->made.count                 = -1;
    tn_result result = tni_least_norm_create(arena, a->island_rows_capacity, &a->least);
    if (result == TN_OK)
        result = tni_half_solves_create(arena, all, (size_t)HALVES * (size_t)all, &a->halves);
    return result == TN_OK ? tni_mixed_create(arena, a->island_rows_capacity, &a->mixed) : result;
}

tn_result tni_auxiliary_create(const tn_model* model, const tni_split* split, tni_auxiliary* a)
{
    *a = (tni_auxiliary){.model = model,
                         .split = split,
                         .arena = tni_arena_make(&model->arena.host),
                         .made  = {.count = -1}};
    if (split->auxiliary_rows == 0 && !tni_has_unilaterals(model)) return TN_OK;
    a->row_capacity = split->auxiliary_rows;
    if (tni_has_unilaterals(model)) {
        a->unilateral_capacity = TNI_FIRST_UNILATERALS;
        a->row_capacity += COLUMNS * TNI_FIRST_UNILATERALS;
    }
    a->island_rows_capacity = a->row_capacity;
    a->response_capacity    = (size_t)a->row_capacity * (size_t)a->row_capacity;
    return take(a);
}

void tni_auxiliary_free(tni_auxiliary* a)
{
    tni_step_matrix_free(a->matrix);
    tni_arena_free(&a->arena);
}

bool tni_auxiliary_is_tight(const tni_auxiliary* a, const tni_unilaterals* with)
{
    if (!tni_has_unilaterals(a->model)) return false;
    return a->full || with->full || 2 * with->unilateral_count > with->unilateral_capacity ||
           2 * a->row_count > a->row_capacity || 2 * a->island_rows > a->island_rows_capacity;
}

tn_result tni_auxiliary_grow(tni_auxiliary* a, tni_unilaterals* with)
{
    if (with->finder != NULL && tni_finder_is_full(with->finder)) {
        const tn_result grown = tni_finder_grow(with->finder);
        a->full = with->full = grown != TN_OK;
        return grown;
    }
    if (a->matrix != NULL) TRY(tni_step_matrix_grow(a->matrix, 2 * a->unilateral_capacity));
    TRY(tni_unilaterals_grow(with));
    tni_auxiliary more = *a;
    more.arena         = tni_arena_make(&a->model->arena.host);
    more.unilateral_capacity *= 2;
    more.row_capacity *= 2;
    // The largest island and all responses grow by need: many islands are small.
    while (2 * a->island_rows > more.island_rows_capacity) more.island_rows_capacity *= 2;
    while (2 * a->response_count > more.response_capacity) more.response_capacity *= 2;
    const tn_result result = take(&more);
    tni_arena_free(result == TN_OK ? &a->arena : &more.arena);
    if (result == TN_OK) *a = more;
    return result;
}

double* tni_auxiliary_j(tni_auxiliary* a, int edge)
{
    return a->edges[-1 - a->split->plan_edge[edge]].J;
}

double* tni_auxiliary_k(tni_auxiliary* a, int edge)
{
    return a->edges[-1 - a->split->plan_edge[edge]].K;
}

// --- units ---------------------------------------------------------------------------------------

static int rows_in_use(const tni_unilateral* unilateral)
{
    switch (unilateral->rule) {
    case TNI_UNILATERAL_OPEN: return 0;
    case TNI_UNILATERAL_STUCK:
    case TNI_UNILATERAL_GRIPS: return unilateral->row_count;
    default: return 1;
    }
}

// The direction of sliding: that of the slip, as long as it is on the side where it began.
static void set_slide(tni_unilateral* unilateral)
{
    double start[2] = {0, 0}, slip[2] = {0, 0}, forward = 0, length = 0;
    for (int i = 0; i < unilateral->slip_count; ++i) {
        start[i] = tni_dot(unilateral->slip, unilateral->across[i]);
        slip[i]  = unilateral->rate[i + 1];
        forward += start[i] * slip[i];
    }
    const double* d = forward > 0 && !unilateral->fixed_slip ? slip : start;
    length          = sqrt(d[0] * d[0] + d[1] * d[1]);
    for (int i = 0; i < 2; ++i) unilateral->slide[i] = length > 0 ? d[i] / length : 0;
}

// K of a sliding contact: its normal row less friction along its slip.
static void set_sliding_force(const tni_unilateral* unilateral, const tni_auxiliary_edge* edge)
{
    const double* J = edge->J;
    double*       K = edge->K;
    for (int i = 0; i < edge->dim; ++i) {
        K[i] = J[i];
        for (int t = 1; t <= unilateral->slip_count; ++t)
            K[i] -= unilateral->friction * unilateral->slide[t - 1] * J[t * edge->dim + i];
    }
}

static void add_unilateral_unit(tni_auxiliary* a, tni_unilaterals* with, int index)
{
    tni_unilateral* unilateral = &with->unilaterals[index];
    const int       rows       = rows_in_use(unilateral);
    int             bodies[2], edges;
    if (rows == 0) return;
    const size_t slides = constraint_blocks(a, &edges); // their K comes after those of constraints
    tni_unilateral_bodies(with, unilateral, bodies);
    tni_auxiliary_unit* unit = &a->units[a->unit_count++];
    *unit                    = (tni_auxiliary_unit){.row_count      = rows,
                                                    .edge_start     = a->edge_count,
                                                    .constraint     = -1,
                                                    .unilateral     = index,
                                                    .own_directions = unilateral->rule == TNI_UNILATERAL_SLIDES};
    if (unit->own_directions) set_slide(unilateral);
    for (int side = 0; side < 2; ++side) {
        const tni_body* body = &a->model->bodies[bodies[side]];
        if (body->dim == 0) continue;
        double*             J    = with->j + with->block_at[2 * index + side];
        tni_auxiliary_edge* edge = &a->edges[a->edge_count++];
        *edge                    = (tni_auxiliary_edge){body->node, body->u_start, body->dim, J, J};
        if (unit->own_directions)
            edge->K = a->k + slides + (size_t)(TNI_DIM_MAX * (2 * index + side));
        ++unit->edge_count;
        if (unit->own_directions) set_sliding_force(unilateral, edge);
    }
}

// --- responses -----------------------------------------------------------------------------------

// Row of J_a times u; *size, if not NULL, grows by the absolute terms of the sum.
static double row_times(const tni_auxiliary* a, const tni_auxiliary_unit* unit, int row,
                        const double* u, int stride, double* size)
{
    double sum = 0;
    for (int i = 0; i < unit->edge_count; ++i) {
        const tni_auxiliary_edge* edge = &a->edges[unit->edge_start + i];
        const double*             J    = edge->J + row * edge->dim;
        const double*             at   = u + (size_t)edge->row * (size_t)stride;
        for (int k = 0; k < edge->dim; ++k) sum += J[k] * at[k * stride];
        for (int k = 0; size != NULL && k < edge->dim; ++k) *size += fabs(J[k] * at[k * stride]);
    }
    return sum;
}

// Right-hand sides for rows first .. first + count - 1 of a unit, into a->x; its nodes into given.
static void load_columns(tni_auxiliary* a, const tni_auxiliary_unit* unit, int first, int count,
                         int* given)
{
    for (int i = 0; i < unit->edge_count; ++i) {
        const tni_auxiliary_edge* edge = &a->edges[unit->edge_start + i];
        const double*             K    = edge->K;
        given[i]                       = edge->node;
        for (int c = 0; c < count; ++c)
            for (int k = 0; k < edge->dim; ++k)
                a->x[(edge->row + k) * count + c] = K[(first + c) * edge->dim + k];
    }
}

static const tni_auxiliary_unit* unit_of(const tni_auxiliary* a, const tni_island* island, int i)
{
    return &a->units[a->order[island->unit_start + i]];
}

// Columns of W by path solves.
static void solve_columns(tni_auxiliary* a, tni_saddle* saddle, const tni_island* island,
                          int node_count, const tni_column_set* set, bool exact)
{
    int                       given[TNI_CONSTRAINT_BODIES_MAX];
    const tni_auxiliary_unit* unit = &a->units[set->unit];
    const size_t              all  = (size_t)(a->model->u_count + a->model->row_count);
    const int                 base = unit_of(a, island, 0)->first;
    load_columns(a, unit, set->first, set->count, given);
    tni_saddle_respond(saddle, given, unit->edge_count, a->nodes, node_count, set->count, a->x,
                       exact, a->x + COLUMNS * all);
    for (int i = 0; i < island->unit_count; ++i) {
        const tni_auxiliary_unit* other = unit_of(a, island, i);
        for (int r = 0; r < other->row_count; ++r) {
            double* W = a->W + island->at + (size_t)(other->first - base + r) * island->row_count +
                        unit->first - base + set->first;
            for (int c = 0; c < set->count; ++c)
                W[c] = row_times(a, other, r, a->x + c, set->count, NULL);
        }
    }
}

// All of W by products of half solves, where it is symmetric and there is room; not through loops
// whose answers are to be refined. False: does not apply.
static bool multiply_halves(tni_auxiliary* a, tni_saddle* saddle, const tni_island* island,
                            int set_count, bool exact)
{
    const int* component_of = a->split->plan->component_of;
    const int  base = unit_of(a, island, 0)->first, n = island->row_count;
    tni_half_solves_clear(&a->halves);
    for (int p = 0; p < set_count; ++p) {
        const tni_auxiliary_unit* unit = &a->units[a->column_sets[p].unit];
        int                       given[TNI_CONSTRAINT_BODIES_MAX];
        if (unit->own_directions) return false;
        load_columns(a, unit, a->column_sets[p].first, a->column_sets[p].count, given);
        for (int i = 0; i < unit->edge_count; ++i) {
            if (saddle->refined[component_of[given[i]]] && (exact || saddle->schur != NULL))
                return false;
        }
        if (!tni_half_solves_add(&a->halves, saddle->ldl, given, unit->edge_count,
                                 a->column_sets[p].count, a->x, &a->column_sets[p].half))
            return false;
    }
    for (int p = 0; p < set_count; ++p) {
        const tni_column_set* one = &a->column_sets[p];
        const int             i   = a->units[one->unit].first - base + one->first;
        for (int q = 0; q <= p; ++q) {
            const tni_column_set* two = &a->column_sets[q];
            const int             j   = a->units[two->unit].first - base + two->first;
            tni_half_solves_product(&a->halves, saddle->ldl, &one->half, &two->half,
                                    a->W + island->at + (size_t)(n * i + j), n);
        }
        for (int r = i; r < i + one->count; ++r) {
            double* W = a->W + island->at;
            for (int c = 0; c < r; ++c) W[n * c + r] = W[n * r + c];
        }
    }
    return true;
}

static void find_responses(tni_auxiliary* a, tni_saddle* saddle, const tni_island* island,
                           bool exact)
{
    int nodes = 0, column_sets = 0;
    for (int i = 0; i < island->unit_count; ++i) {
        const tni_auxiliary_unit* unit = unit_of(a, island, i);
        for (int k = 0; k < unit->edge_count; ++k)
            a->nodes[nodes++] = a->edges[unit->edge_start + k].node;
        for (int first = 0; first < unit->row_count; first += COLUMNS) {
            const int left = unit->row_count - first;
            a->column_sets[column_sets++] =
                (tni_column_set){.unit  = (int)(unit - a->units),
                                 .first = first,
                                 .count = left < COLUMNS ? left : COLUMNS};
        }
    }
    if (multiply_halves(a, saddle, island, column_sets, exact)) return;
    for (int p = 0; p < column_sets; ++p)
        solve_columns(a, saddle, island, nodes, &a->column_sets[p], exact);
}

// Response of a row to its own unit force with free bodies: an upper estimate of its true response.
// force: of the direction of its force, for columns of W.
static double free_response(const tni_auxiliary* a, tni_saddle* saddle,
                            const tni_auxiliary_unit* unit, int row, bool force)
{
    double sum = 0;
    for (int i = 0; i < unit->edge_count; ++i) {
        const tni_auxiliary_edge* edge = &a->edges[unit->edge_start + i];
        const double*             J    = (force ? edge->K : edge->J) + row * edge->dim;
        const double*             A    = tni_saddle_a(saddle, edge->node);
        for (int k = 0; k < edge->dim; ++k) sum += J[k] * J[k] / A[(edge->dim + 1) * k];
    }
    return sum;
}

double tni_unilateral_free_response(const tni_auxiliary* a, tni_saddle* saddle, int unilateral,
                                    int k)
{
    int low = a->split->auxiliary_count, high = a->unit_count; // unilaterals are in rising order
    while (low < high) {
        const int middle = (low + high) / 2;
        if (a->units[middle].unilateral < unilateral) low = middle + 1;
        else high = middle;
    }
    if (low == a->unit_count || a->units[low].unilateral != unilateral) return 0;
    return free_response(a, saddle, &a->units[low], k, false);
}

static bool is_symmetric(const tni_auxiliary* a, const tni_island* island)
{
    for (int i = 0; i < island->unit_count; ++i) {
        if (a->units[a->order[island->unit_start + i]].own_directions) return false;
    }
    return true;
}

// Removes rounding from W. It is symmetrised where it is symmetric up to rounding. A row that the
// primary rows hold already, J_i M^-1 = 0 under them, responds to everything with rounding only and
// would look like one that is very hard to move: its row of W is set to zero, nothing moves it.
// Where its force is along J, W_ii decides, and the column goes with the row; else the largest
// entry of each does.
static void remove_rounding(tni_auxiliary* a, tni_saddle* saddle, const tni_island* island)
{
    const int n = island->row_count, base = a->units[a->order[island->unit_start]].first;
    double *  W = a->W + island->at, *row_free = a->b + base, *column_free = a->f + base;
    uint8_t*  own_directions = a->condition + base;
    for (int i = 0; i < island->unit_count; ++i) {
        const tni_auxiliary_unit* unit = &a->units[a->order[island->unit_start + i]];
        for (int r = 0; r < unit->row_count; ++r) {
            const int at       = unit->first - base + r;
            own_directions[at] = unit->own_directions;
            row_free[at]       = sqrt(free_response(a, saddle, unit, r, false));
            column_free[at] =
                unit->own_directions ? sqrt(free_response(a, saddle, unit, r, true)) : row_free[at];
            a->scale[base + at] = row_free[at] * column_free[at];
        }
    }
    for (int i = 0; is_symmetric(a, island) && i < n; ++i) {
        for (int j = 0; j < i; ++j)
            W[n * i + j] = W[n * j + i] = 0.5 * (W[n * i + j] + W[n * j + i]);
    }
    for (int i = 0; i < n; ++i) {
        bool row    = !own_directions[i] && W[(n + 1) * i] > HELD * a->scale[base + i];
        bool column = row;
        for (int j = 0; own_directions[i] && j < n; ++j) {
            row    = row || fabs(W[n * i + j]) > HELD * row_free[i] * column_free[j];
            column = column || fabs(W[n * j + i]) > HELD * row_free[j] * column_free[i];
        }
        for (int j = 0; j < n; ++j) {
            if (!row) W[n * i + j] = 0;
            if (!column) W[n * j + i] = 0;
        }
    }
}

// Where the W of each island is. False: no room.
static bool place_responses(tni_auxiliary* a)
{
    a->response_count = 0;
    a->island_rows    = 0;
    for (int i = 0; i < a->island_count; ++i) {
        tni_island* island = &a->islands[i];
        island->at         = a->response_count;
        a->response_count += (size_t)island->row_count * (size_t)island->row_count;
        a->island_rows = island->row_count > a->island_rows ? island->row_count : a->island_rows;
    }
    return a->island_rows <= a->island_rows_capacity && a->response_count <= a->response_capacity;
}

static tni_made_for made_for(const tni_auxiliary* a, const tni_unilaterals* with, bool exact)
{
    return (tni_made_for){.count   = with->unilateral_count,
                          .found   = with->stamp,
                          .filled  = a->filled,
                          .begun   = a->matrix != NULL ? tni_step_matrix_begun(a->matrix) : 0,
                          .softens = a->softens,
                          .exact   = exact && a->matrix == NULL};
}

// Whether what was made last still holds for these: the same set, matrix and rules; exact serves for any.
static bool is_made(const tni_auxiliary* a, const tni_unilaterals* with, bool exact)
{
    const tni_made_for now = made_for(a, with, exact), *was = &a->made;
    if (was->count != now.count || (now.count > 0 && was->found != now.found) ||
        was->filled != now.filled || was->begun != now.begun || was->softens != now.softens ||
        (now.exact && !was->exact))
        return false;
    for (int i = 0; i < now.count; ++i)
        if (a->rules[i] != (uint8_t)with->unilaterals[i].rule) return false;
    return true;
}

static void note_made(tni_auxiliary* a, const tni_unilaterals* with, bool exact)
{
    a->made = made_for(a, with, exact);
    for (int i = 0; i < with->unilateral_count; ++i)
        a->rules[i] = (uint8_t)with->unilaterals[i].rule;
}

static tn_result prepare(tni_auxiliary* a, tni_unilaterals* with, tni_saddle* saddle, bool exact)
{
    if (is_made(a, with, exact)) return TN_OK;
    const double start = tni_auxiliary_now(a);
    int          edges;
    (void)constraint_blocks(a, &edges);
    a->made.count = -1;
    a->unit_count = a->split->auxiliary_count;
    a->edge_count = edges;
    for (int i = 0; i < with->unilateral_count; ++i) add_unilateral_unit(a, with, i);
    if (!tni_islands_set(a) || !place_responses(a)) {
        a->full = true;
        return TN_ERR_MEMORY;
    }
    for (int i = 0; i < a->island_count; ++i) {
        find_responses(a, saddle, &a->islands[i], exact);
        remove_rounding(a, saddle, &a->islands[i]);
    }
    note_made(a, with, exact);
    a->response_time += tni_auxiliary_now(a) - start;
    return TN_OK;
}

// --- solve ---------------------------------------------------------------------------------------

static tni_condition condition_of(const tni_unilateral* unilateral, int i)
{
    if (unilateral == NULL || unilateral->rule == TNI_UNILATERAL_HELD ||
        unilateral->rule == TNI_UNILATERAL_STUCK)
        return TNI_EQUAL;
    if (i == 0)
        return unilateral->rule == TNI_UNILATERAL_GRIPS && unilateral->row_count > 1
                   ? TNI_NORMAL
                   : TNI_ONE_SIDED;
    if (i <= unilateral->slip_count) return TNI_TANGENT;
    return i <= unilateral->slip_count + unilateral->spin_count ? TNI_SPIN : TNI_ROLL;
}

static void set_conditions(tni_auxiliary* a, const tni_unilaterals* with,
                           const tni_auxiliary_unit* unit)
{
    const tni_unilateral* unilateral =
        unit->unilateral >= 0 ? &with->unilaterals[unit->unilateral] : NULL;
    for (int i = 0; i < unit->row_count; ++i) {
        const int           row  = unit->first + i;
        const tni_condition kind = condition_of(unilateral, i);
        a->condition[row]        = (uint8_t)kind;
        a->mu[row]               = unilateral == NULL ? 0
                                   : kind == TNI_SPIN ? unilateral->spinning
                                   : kind == TNI_ROLL ? unilateral->rolling
                                                      : unilateral->friction;
        a->f[row]                = unilateral != NULL && !a->keep_forces ? unilateral->force[i] : 0;
    }
}

// a->a <- J_a u - r_a, a->size <- the sum of its absolute terms.
static void evaluate_rows(tni_auxiliary* a, const tni_unilaterals* with, const double* u,
                          const double* r)
{
    for (int i = 0; i < a->unit_count; ++i) {
        const tni_auxiliary_unit* unit = &a->units[i];
        for (int k = 0; k < unit->row_count; ++k) {
            const int    row  = unit->first + k;
            const double want = unit->unilateral >= 0
                                    ? with->unilaterals[unit->unilateral].target[k]
                                    : r[a->model->constraints[unit->constraint].row_start + k];
            a->size[row]      = fabs(want);
            a->a[row]         = row_times(a, unit, k, u, 1, &a->size[row]) - want;
        }
    }
}

// Where W says that nothing moves a row, its target is dropped if it is rounding, or if velocities
// do not fit the joints.
static void drop_fixed_row(tni_auxiliary* a, int row, double own)
{
    if (own == 0 && (a->off_joints || fabs(a->b[row]) <= JAM_LEAST * fmax(1, a->size[row])))
        a->b[row] = 0;
}

static void note_island(tni_auxiliary* a, const tni_island* island, int first, bool solved,
                        const tni_mixed_report* report)
{
    double size = 1;
    for (int i = 0; i < island->row_count; ++i) {
        size                    = fmax(size, a->size[first + i]);
        a->dependent[first + i] = tni_mixed_dependent(a->mixed, i);
    }
    a->report.dependent_count += report->dependent_count;
    if (report->residual_row < 0) return;
    const bool unilateral = a->condition[first + report->residual_row] != TNI_EQUAL;
    a->report.jammed =
        a->report.jammed || (!solved && unilateral && !(report->residual <= JAM * size));
    if (!(report->residual >= a->report.residual)) return;
    a->report.residual = report->residual;
    for (int i = 0; i < island->unit_count; ++i) {
        const int unit = a->order[island->unit_start + i];
        if (first + report->residual_row >= a->units[unit].first) a->report.unit = unit;
    }
}

static void solve_dense(tni_auxiliary* a, tni_unilaterals* with, const tni_island* island)
{
    const int                 first = a->units[a->order[island->unit_start]].first;
    const tni_complementarity pairs = {.n         = island->row_count,
                                       .symmetric = is_symmetric(a, island),
                                       .W         = a->W + island->at,
                                       .b         = a->b + first,
                                       .scale     = a->scale + first,
                                       .condition = a->condition + first,
                                       .mu        = a->mu + first,
                                       .f         = a->f + first,
                                       .a         = a->a + first};
    for (int i = 0; i < pairs.n; ++i) drop_fixed_row(a, first + i, pairs.W[(pairs.n + 1) * i]);
    for (int i = 0; i < island->unit_count; ++i) {
        const tni_auxiliary_unit* unit = &a->units[a->order[island->unit_start + i]];
        for (int r = 0; unit->unilateral >= 0 && r < unit->row_count; ++r)
            with->unilaterals[unit->unilateral].response[r] =
                pairs.W[(island->row_count + 1) * (unit->first - first + r)];
    }
    tni_mixed_report report;
    const bool       solved = tni_mixed_solve(a->mixed, &pairs, &report);
    if (solved && !a->keep_forces) tni_least_norm_answer(&a->least, &pairs);
    note_island(a, island, first, solved, &report);
}

// b <- b + K f; stores forces and residuals in the unilaterals.
static void apply_forces(tni_auxiliary* a, tni_unilaterals* with, const tni_auxiliary_unit* unit,
                         double* b)
{
    for (int i = 0; i < unit->edge_count; ++i) {
        const tni_auxiliary_edge* edge = &a->edges[unit->edge_start + i];
        const double*             K    = edge->K;
        for (int r = 0; r < unit->row_count; ++r)
            for (int k = 0; k < edge->dim; ++k)
                b[edge->row + k] += K[r * edge->dim + k] * a->f[unit->first + r];
    }
    if (unit->unilateral < 0 || a->keep_forces) return;
    tni_unilateral* unilateral = &with->unilaterals[unit->unilateral];
    for (int r = 0; r < unit->row_count; ++r) {
        unilateral->force[r]    = a->f[unit->first + r];
        unilateral->residual[r] = a->a[unit->first + r];
    }
    for (int t = 1; t <= unilateral->slip_count && unit->own_directions; ++t)
        unilateral->force[t] =
            -unilateral->friction * unilateral->slide[t - 1] * unilateral->force[0];
}

// Nothing touches and nothing is soft: the matrix of bodies and joints, whose factor lasts from the landing of a
// step to the kick of the next. Not where rows are redundant: there rounds take out what regularisation leaves.
static tn_result solve_joints(tni_auxiliary* a, tni_saddle* saddle, const double* rhs, double* x,
                              bool exact)
{
    const double start  = tni_auxiliary_now(a);
    tn_result    result = a->factored ? TN_OK : tni_saddle_factor(saddle);
    a->response_time += tni_auxiliary_now(a) - start;
    a->factored = result == TN_OK;
    return a->factored ? tni_saddle_solve(saddle, rhs, x, exact) : result;
}

bool tni_auxiliary_is_idle(const tni_auxiliary* a, const tni_unilaterals* with)
{
    return a->matrix != NULL && !a->loops && tni_step_matrix_is_idle(a->matrix, a, with);
}

static tn_result solve_in_matrix(tni_auxiliary* a, tni_unilaterals* with, tni_saddle* saddle,
                                 const double* rhs, double* x, bool exact)
{
    const double start  = tni_auxiliary_now(a);
    tn_result    result = TN_OK;
    if (tni_auxiliary_is_idle(a, with)) return solve_joints(a, saddle, rhs, x, exact);
    if (!is_made(a, with, exact)) {
        a->made.count = -1;
        result        = tni_step_matrix_begin(a->matrix, a, with, saddle, a->asleep);
        a->response_time += tni_auxiliary_now(a) - start;
        if (result == TN_OK) note_made(a, with, exact);
    }
    a->full = a->full || result == TN_ERR_MEMORY;
    if (result != TN_OK) return result;
    const double begun = tni_auxiliary_now(a);
    result             = tni_step_matrix_solve(a->matrix, a, with, rhs, x, exact);
    a->complementarity_time += tni_auxiliary_now(a) - begun;
    return result;
}

tn_result tni_auxiliary_solve(tni_auxiliary* a, tni_unilaterals* with, tni_saddle* saddle,
                              double* rhs, double* x, bool exact)
{
    const tn_model* model = a->model;
    const double*   r     = rhs + model->u_count;
    tni_unilaterals none  = {.model = model};
    if (with == NULL) with = &none;
    a->report = (tni_auxiliary_report){.unit = -1};
    if (a->matrix != NULL) return solve_in_matrix(a, with, saddle, rhs, x, exact);
    TRY(prepare(a, with, saddle, exact));
    TRY(tni_saddle_solve(saddle, rhs, x, exact));
    a->report.row_count = a->row_count;
    for (int i = 0; i < with->unilateral_count; ++i) {
        tni_unilateral* unilateral = &with->unilaterals[i];
        if (unilateral->rule == TNI_UNILATERAL_OPEN && !a->keep_forces)
            memset(unilateral->force, 0, sizeof unilateral->force);
    }
    if (a->row_count == 0) return TN_OK;
    for (int i = 0; i < a->unit_count; ++i) set_conditions(a, with, &a->units[i]);
    evaluate_rows(a, with, x, r);
    memcpy(a->b, a->a, sizeof *a->b * (size_t)a->row_count);
    const double start = tni_auxiliary_now(a);
    for (int i = 0; i < a->island_count; ++i) solve_dense(a, with, &a->islands[i]);
    a->complementarity_time += tni_auxiliary_now(a) - start;
    for (int i = 0; i < a->unit_count; ++i) apply_forces(a, with, &a->units[i], rhs);
    const tn_result result = tni_saddle_solve(saddle, rhs, x, exact);
    for (int i = 0; i < a->split->auxiliary_count; ++i) {
        const tni_auxiliary_unit* unit = &a->units[i];
        double* mu = x + model->u_count + model->constraints[unit->constraint].row_start;
        for (int k = 0; k < unit->row_count; ++k) mu[k] = -a->f[unit->first + k];
    }
    return result;
}
