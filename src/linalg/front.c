// front: multifrontal LDL^T without pivoting [1], for components with loops. plan.c defines fronts;
// tile.c has the dense kernels and the storage of slabs.
//
// A front is the dense lower triangle over its own rows and its later rows,
//
//     F = [ F_11       ]   own rows, stored as slabs in the values
//         [ F_21  F_22 ]   later rows: F_21 in the same slabs, F_22, the update, on a stack
//
// 1. assemble   clear; add diagonal blocks, edges and `raise`; then the updates of the children in
//               ascending order, entry by entry: their later rows are rows of this front
// 2. eliminate  slab by slab: its triangle (pivots), the rows below it, then subtract from all
//               slabs after it and from the update  sum over k of x_ik y_jk,  y_jk = x_jk / d_k
// 3. the update stays on the stack until the parent is assembled
//
// Compared with a left-looking method, which needs no stack: each entry is moved once a front, with
// row numbers that are found once a child; and subtrees are independent, so that each may run in
// its own thread.
//
// Stored are X = L d below the diagonal, and the reciprocal pivots separately. The diagonal and the
// entries above it, in the triangle of a slab, are zero, so that solves run over whole panels.
//
//     forward   t_k = z_k / d_k,  z_i -= x_ik t_k           k ascending
//     backward  w_k = (z_k - sum over i of x_ik w_i) / d_k   k descending
//
// Solves gather the entries of x of a front into a contiguous vector and scatter them back. tile.c
// gives the order of the sums, which does not depend on the number of right-hand sides.
//
// Pivots: see tni_pivot_rule. Order of operations: every entry receives the updates of its children
// in their order, each of them summed from zero, then the products of its own front, k ascending.
//
// Measured (bench/micro/front.c, on a core shared with other work, CPU time, best of several;
// before: node by node):
//                     rows      flops   factor before -> now         solve before -> now
//     peaucellier       92    2.5e4     4.5 us -> 5.4 us             5.3 -> 1.6 us
//     scissor 10       871    5.2e5      70 us -> 65 us               72 -> 17 us
//     strandbeest 12   996    4.3e5      58 us -> 70 us               66 -> 19 us
//     tube 8 x 12    20886    9.2e7      20 ms -> 6.9 ms (13 Gflop/s) 7.6 -> 1.2 ms
//     cube 8        106758    6.7e9    0.92 s  -> 0.23 s (30 Gflop/s)  50 -> 19 ms
//     cube 17      1012662    6.8e11        -  -> 26 s   (26 Gflop/s)   -, 2.6 GB in all
// Small fronts lose by padded panels in the factorisation and gain in the solves.
//
// [1] I. Duff, J. Reid, The multifrontal solution of indefinite sparse symmetric linear equations,
//     ACM TOMS 1983.
#include "linalg/front.h"

#include "linalg/tile.h"
#include "math/simd.h"

#include <float.h>
#include <math.h>

// Lists the rows of x of each front: own rows, then later rows, without padding.
static void list_rows(const tni_plan* plan, int* row, size_t* row_at)
{
    size_t at = 0;
    for (int f = 0; f < plan->front_count; ++f) {
        const tni_front* front = &plan->front[f];
        row_at[f]              = at;
        for (int p = front->first; p < front->end; ++p) {
            for (int i = 0; i < plan->pivot[p].dim; ++i) row[at++] = plan->pivot[p].row + i;
        }
        for (int k = front->later; k < front[1].later; ++k) {
            const tni_pivot* v = &plan->pivot[plan->later[k]];
            for (int i = 0; i < v->dim; ++i) row[at++] = v->row + i;
        }
    }
    row_at[plan->front_count] = at;
}

tn_result tni_front_share(tni_arena* arena, tni_ldl* ldl)
{
    const tni_plan* plan = ldl->plan;
    const size_t    rows = (size_t)plan->front_rows_max;
    ldl->stack           = TNI_TAKE(arena, double, plan->stack_count);
    ldl->scaled          = TNI_TAKE(arena, double, rows* TNI_SLAB);
    ldl->sides           = TNI_TAKE(arena, double, rows* TNI_SIDES);
    ldl->map             = TNI_TAKE(arena, int, 2 * rows);
    return arena->failed ? TN_ERR_MEMORY : TN_OK;
}

tn_result tni_front_create(tni_arena* arena, tni_ldl* ldl)
{
    const tni_plan* plan   = ldl->plan;
    size_t          listed = 0;
    for (int f = 0; f < plan->front_count; ++f)
        listed += (size_t)(plan->front[f].own + plan->front[f].rows);
    ldl->tiles  = tni_tiles_of(tni_simd_width());
    ldl->row    = TNI_TAKE(arena, int, listed);
    ldl->row_at = TNI_TAKE(arena, size_t, plan->front_count + 1);
    if (tni_front_share(arena, ldl) != TN_OK) return TN_ERR_MEMORY;
    list_rows(plan, ldl->row, ldl->row_at);
    return TN_OK;
}

// --- assembly -----------------------------------------------------------------------------------

// A block of columns of a front: an own slab or a slab of the update.
typedef struct columns {
    int     row;   // first row (and column) in the front
    int     width; // number of columns
    double* at;
} columns;

static columns slab_columns(const tni_ldl* ldl, const tni_slab* slab)
{
    return (columns){slab->row, slab->width, ldl->value + slab->at};
}

// The slab of the update after `c`; the first one for c.width = 0.
static columns next_update(const tni_ldl* ldl, const tni_front* front, columns c)
{
    const int all = front->own + tni_whole_panels(front->rows);
    columns   to  = {front->own, 0, ldl->stack + front->update};
    if (c.width > 0 && c.row >= front->own) {
        to.row = c.row + TNI_SLAB;
        to.at  = c.at + (size_t)(all - c.row) * (size_t)c.width;
    }
    const int left = front->own + front->rows - to.row;
    to.width       = left < TNI_SLAB ? left : TNI_SLAB;
    return to;
}

static size_t place_in(int width, int row, int column) // index in a slab
{
    const size_t r = (size_t)row;
    return r / TNI_LANES * TNI_LANES * (size_t)width + r % TNI_LANES + TNI_LANES * (size_t)column;
}

static const tni_slab* slab_of(const tni_plan* plan, const tni_front* front, int place)
{
    const tni_slab* s = plan->slab + front->slab;
    while (place >= s->end) ++s;
    return s;
}

static void load_diagonal(tni_ldl* ldl, const tni_slab* s, int place, const tni_blocks* blocks,
                          const double* raise)
{
    const tni_plan*  plan = ldl->plan;
    const tni_pivot* v    = &plan->pivot[place];
    const double*    from = blocks->diagonal + blocks->diagonal_at[plan->order[place]];
    double*          to   = ldl->value + s->at;
    const int        row  = plan->front_row[place] - s->row;
    for (int i = 0; i < v->dim && (v->sign > 0 || !blocks->hard); ++i) {
        double* line = to + place_in(s->width, row + i, row);
        for (int j = 0; j <= i; ++j)
            line[TNI_LANES * j] = v->sign > 0 ? from[v->dim * i + j] : -from[v->dim * i + j];
    }
    for (int i = 0; raise != NULL && i < v->dim; ++i)
        to[place_in(s->width, row + i, row + i)] +=
            v->sign > 0 ? raise[v->row + i] : -raise[v->row + i];
}

static void load_edge(tni_ldl* ldl, const tni_front* front, int edge, const double* block)
{
    const tni_plan* plan = ldl->plan;
    const int       r = plan->row_node[edge], c = plan->col_node[edge];
    const int       n = plan->dim[r], m = plan->dim[c];
    const bool      turned = plan->place[r] < plan->place[c]; // transposed
    const int       place  = turned ? plan->place[r] : plan->place[c];
    const tni_slab* s      = slab_of(plan, front, place);
    const int       row = plan->edge_row[edge] - s->row, column = plan->front_row[place] - s->row;
    double*         to = ldl->value + s->at;
    for (int i = 0; !turned && i < n; ++i) {
        double* line = to + place_in(s->width, row + i, column);
        for (int j = 0; j < m; ++j) line[TNI_LANES * j] = block[m * i + j];
    }
    for (int j = 0; turned && j < m; ++j) {
        double* line = to + place_in(s->width, row + j, column);
        for (int i = 0; i < n; ++i) line[TNI_LANES * i] = block[m * i + j];
    }
}

// map[i]: the row of this front that later row i of the child is.
static void map_rows(const tni_plan* plan, const tni_front* child, int* map)
{
    for (int k = child->later; k < child[1].later; ++k) {
        const int dim = plan->pivot[plan->later[k]].dim, row = plan->later_row[k];
        for (int i = 0; i < dim; ++i) *map++ = row + i;
    }
}

// Adds a column of a child's slab to a column here; from and to are the starts of the slabs.
static void add_column(const columns* from, int column, int rows, const int* offset, double* to)
{
    const double* x    = from->at + TNI_LANES * column;
    const int     step = TNI_LANES * from->width;
    int           row  = column / TNI_LANES * TNI_LANES;
    x += (size_t)(row / TNI_LANES) * (size_t)step;
    for (int i = column - row; i < TNI_LANES && row + i < rows; ++i) to[offset[row + i]] += x[i];
    for (row += TNI_LANES, x += step; row + TNI_LANES <= rows; row += TNI_LANES, x += step) {
        for (int i = 0; i < TNI_LANES; ++i) to[offset[row + i]] += x[i];
    }
    for (int i = 0; row + i < rows; ++i) to[offset[row + i]] += x[i];
}

static void add_child(tni_ldl* ldl, const tni_front* front, const tni_front* child)
{
    const tni_plan* plan = ldl->plan;
    const tni_slab* slab = plan->slab + front->slab;
    int *           map = ldl->map, *offset = ldl->map + plan->front_rows_max;
    columns         to = slab_columns(ldl, slab), from = {0};
    bool            fresh = true; // offset must be computed for the slab `to`
    map_rows(plan, child, map);
    for (int j = 0; j < child->rows; ++j) {
        if (j % TNI_SLAB == 0) from = next_update(ldl, child, from);
        while (map[j] >= to.row + to.width) {
            const bool own = map[j] < front->own && slab + 1 < plan->slab + front[1].slab;
            to             = own ? slab_columns(ldl, ++slab) : next_update(ldl, front, to);
            fresh          = true;
        }
        const int start = j / TNI_SLAB * TNI_SLAB;
        for (int i = j; fresh && i < child->rows; ++i)
            offset[i] = (int)place_in(to.width, map[i] - to.row, 0);
        fresh = false;
        add_column(&from, j - start, child->rows - start, offset + start,
                   to.at + TNI_LANES * (map[j] - to.row));
    }
}

static void assemble(tni_ldl* ldl, const tni_front* front, const tni_blocks* blocks,
                     const double* raise)
{
    const tni_plan* plan = ldl->plan;
    const size_t    all  = (size_t)(front->own + tni_whole_panels(front->rows));
    for (int k = front->slab; k < front[1].slab; ++k) {
        const tni_slab* s = &plan->slab[k];
        memset(ldl->value + s->at, 0, sizeof(double) * (all - (size_t)s->row) * (size_t)s->width);
        for (int p = s->first; p < s->end; ++p) load_diagonal(ldl, s, p, blocks, raise);
    }
    for (int k = front->edge; k < front[1].edge; ++k) {
        const int e = plan->front_edge[k];
        load_edge(ldl, front, e, blocks->edge + blocks->edge_at[e]);
    }
    for (columns c = next_update(ldl, front, (columns){0}); c.width > 0;
         c         = next_update(ldl, front, c))
        memset(c.at, 0, sizeof(double) * (all - (size_t)c.row) * (size_t)c.width);
    for (int c = front->child; c >= 0; c = plan->front[c].next)
        add_child(ldl, front, &plan->front[c]);
}

// --- pivots -------------------------------------------------------------------------------------

// The triangle of a slab during its factorisation.
typedef struct triangle {
    int                   width;
    double *              X, *Y;   // entries; entries divided by their pivots
    double*               inverse; // by column
    tni_ldl*              ldl;
    const tni_pivot_rule* rule;
    tni_pivot_report*     report;
    double                scale[TNI_SLAB]; // by column, if the rule has no scale
} triangle;

// The diagonal entry j after elimination of the columns before k. Columns are processed in groups:
// the columns of k's group have not been subtracted from the panels below k's yet.
static double diagonal_at(const triangle* t, int j, int k)
{
    const int group = k / TNI_GROUP * TNI_GROUP;
    double    d     = t->X[place_in(t->width, j, j)], x[TNI_SLAB];
    if (j < group + TNI_GROUP) return d;
    for (int i = 0; i < k; ++i) {
        x[i] = t->X[place_in(t->width, j, i)];
        for (int l = 0; i >= group && j / TNI_LANES > k / TNI_LANES && l < i; ++l)
            x[i] -= x[l] * t->Y[place_in(t->width, i, l)];
        d -= x[i] * (x[i] * t->inverse[i]);
    }
    return d;
}

// The reciprocal of pivot d in column k; 0 if it cannot be used.
static double judge_pivot(triangle* t, const tni_pivot* v, int k, int within, double d)
{
    const int             row      = v->row + within;
    const tni_pivot_rule* rule     = t->rule;
    double*               relative = &t->ldl->relative[row];
    if (v->sign > 0) {
        if (!(d > 0 && d <= DBL_MAX)) return 0;
        if (rule->scale != NULL) *relative = d / rule->scale[row];
        return 1 / d;
    }
    if (rule->scale == NULL && within == 0) {
        for (int j = k; j < k + v->dim; ++j) t->scale[j] = fabs(diagonal_at(t, j, k));
    }
    if (!(fabs(d) <= DBL_MAX)) return 0;
    const double scale = rule->scale != NULL ? rule->scale[row] : t->scale[k];
    *relative          = scale > 0 ? -d / scale : 0;
    if (*relative < t->report->smallest) {
        t->report->smallest     = *relative;
        t->report->smallest_row = row;
    }
    if (*relative > rule->tolerance) return 1 / d;
    d = -(rule->alpha != NULL ? rule->alpha[row] : scale);
    ++t->report->replaced;
    return d == 0 ? -1 : 1 / d;
}

// Eliminates column k within the panel of its pivot: sets Y and updates the following columns of
// its group. Then the pivot and the entries above it are cleared.
static void eliminate_column(triangle* t, int k, double inverse)
{
    const int lane = k % TNI_LANES, group = (k / TNI_GROUP + 1) * TNI_GROUP;
    const int end      = group < t->width ? group : t->width;
    double* restrict x = t->X + place_in(t->width, k - lane, k);
    double* restrict y = t->Y + place_in(t->width, k - lane, k);
    t->inverse[k]      = inverse;
    for (int i = 0; i < TNI_LANES; ++i) y[i] = x[i] * inverse;
    for (int j = k + 1; j < end; ++j) {
        double* restrict c = x + TNI_LANES * (j - k);
        const double s     = y[j % TNI_LANES];
        for (int i = 0; i < TNI_LANES; ++i) c[i] -= x[i] * s;
    }
    for (int i = 0; i < TNI_LANES; ++i) x[i] = i > lane ? x[i] : 0;
}

static bool factor_triangle(triangle* t, const tni_slab* slab)
{
    const tni_pivot* v      = &t->ldl->plan->pivot[slab->first];
    const int        panels = tni_whole_panels(t->width) / TNI_LANES;
    int              within = 0;
    for (int k = 0; k < t->width; ++k) {
        while (within == v->dim) ++v, within = 0;
        const int panel = k / TNI_LANES;
        double*   X     = t->X + (size_t)panel * (size_t)(TNI_LANES * t->width);
        double*   Y     = t->Y + (size_t)panel * (size_t)(TNI_LANES * t->width);
        if (k % TNI_GROUP == 0) t->ldl->tiles->column(t->width, k, Y, X);
        const double d       = t->X[place_in(t->width, k, k)];
        const double inverse = judge_pivot(t, v, k, within, d);
        if (inverse == 0) {
            t->report->bad_row = v->row + within;
            return false;
        }
        eliminate_column(t, k, inverse);
        ++within;
        if (k % TNI_GROUP == TNI_GROUP - 1 || k == t->width - 1)
            t->ldl->tiles->rows(t->width, k / TNI_GROUP * TNI_GROUP, k + 1, panels - panel - 1,
                                t->Y, t->inverse, X + TNI_LANES * t->width,
                                Y + TNI_LANES * t->width);
    }
    return true;
}

// --- elimination --------------------------------------------------------------------------------

static int panels_between(int row, int end)
{
    return (end - row) / TNI_LANES;
}

bool tni_front_factor(tni_ldl* ldl, int f, const tni_blocks* blocks, const double* raise,
                      const tni_pivot_rule* rule, tni_pivot_report* report)
{
    const tni_plan*  plan  = ldl->plan;
    const tni_front* front = &plan->front[f];
    const tni_slab * s = plan->slab + front->slab, *end = plan->slab + front[1].slab;
    const int        all = front->own + tni_whole_panels(front->rows);
    assemble(ldl, front, blocks, raise);
    for (; s < end; ++s) {
        const int    width = s->width, below = s->row + tni_whole_panels(width);
        const size_t depth = (size_t)width;
        double *     X = ldl->value + s->at, *Y = ldl->scaled;
        triangle     t = {.width   = width,
                          .X       = X,
                          .Y       = Y,
                          .inverse = ldl->value + front->at + s->row,
                          .ldl     = ldl,
                          .rule    = rule,
                          .report  = report};
        if (!factor_triangle(&t, s)) return false;
        const size_t skip = (size_t)(below - s->row) * depth;
        ldl->tiles->rows(width, 0, width, panels_between(below, all), Y, t.inverse, X + skip,
                         Y + skip);
        columns c = {0};
        for (const tni_slab* to = s + 1; c.row < all; ++to) {
            c = to < end ? slab_columns(ldl, to) : next_update(ldl, front, c);
            if (c.width <= 0 && c.row >= front->own) break;
            const size_t at = (size_t)(c.row - s->row) * depth;
            ldl->tiles->update(width, c.width, panels_between(c.row, all), X + at, Y + at, c.at);
        }
    }
    return true;
}

// --- solve --------------------------------------------------------------------------------------

// Gathers n rows of x into z, padded with zeros; z has `stride` entries a right-hand side.
static void gather(int n, const int* row, int sides, int stride, int count, const double* x,
                   double* restrict z)
{
    const int end = tni_whole_panels(n);
    for (int c = 0; c < sides; ++c, z += stride, ++x) {
        if (count == 1) {
            for (int i = 0; i < n; ++i) z[i] = x[row[i]];
        } else {
            for (int i = 0; i < n; ++i) z[i] = x[(size_t)row[i] * (size_t)count];
        }
        for (int i = n; i < end; ++i) z[i] = 0;
    }
}

static void scatter(int n, const int* row, int sides, int stride, int count,
                    const double* restrict z, double* x)
{
    for (int c = 0; c < sides; ++c, z += stride, ++x) {
        if (count == 1) {
            for (int i = 0; i < n; ++i) x[row[i]] = z[i];
        } else {
            for (int i = 0; i < n; ++i) x[(size_t)row[i] * (size_t)count] = z[i];
        }
    }
}

void tni_front_forward(const tni_ldl* ldl, int f, int count, double* x)
{
    const tni_plan*  plan  = ldl->plan;
    const tni_front* front = &plan->front[f];
    const int*       row   = ldl->row + ldl->row_at[f];
    const int        all   = front->own + tni_whole_panels(front->rows);
    double*          z     = ldl->sides;
    for (int first = 0; first < count; first += TNI_SIDES) {
        const int  sides = count - first < TNI_SIDES ? count - first : TNI_SIDES;
        const int* own   = row;
        for (int k = front->slab; k < front[1].slab; ++k) {
            const tni_slab* s = &plan->slab[k];
            gather(s->width, own, sides, all, count, x + first, z + s->row);
            own += s->width;
        }
        gather(front->rows, own, sides, all, count, x + first, z + front->own);
        own = row;
        for (int k = front->slab; k < front[1].slab; ++k) {
            const tni_slab* s = &plan->slab[k];
            ldl->tiles->forward(s->width, panels_between(s->row, all), sides, all,
                                ldl->value + s->at, ldl->value + front->at + s->row, z + s->row);
            scatter(s->width, own, sides, all, count, z + s->row, x + first);
            own += s->width;
        }
        scatter(front->rows, own, sides, all, count, z + front->own, x + first);
    }
}

void tni_front_backward(const tni_ldl* ldl, int f, int count, double* x)
{
    const tni_plan*  plan  = ldl->plan;
    const tni_front* front = &plan->front[f];
    const int*       later = ldl->row + ldl->row_at[f + 1] - front->rows;
    const int        all   = front->own + tni_whole_panels(front->rows);
    double*          z     = ldl->sides;
    for (int first = 0; first < count; first += TNI_SIDES) {
        const int  sides = count - first < TNI_SIDES ? count - first : TNI_SIDES;
        const int* own   = later;
        gather(front->rows, later, sides, all, count, x + first, z + front->own);
        for (int k = front[1].slab - 1; k >= front->slab; --k) {
            const tni_slab* s = &plan->slab[k];
            own -= s->width;
            gather(s->width, own, sides, all, count, x + first, z + s->row);
            ldl->tiles->backward(s->width, panels_between(s->row, all), sides, all,
                                 ldl->value + s->at, ldl->value + front->at + s->row, z + s->row);
            scatter(s->width, own, sides, all, count, z + s->row, x + first);
        }
    }
}
