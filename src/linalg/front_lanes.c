// front_lanes: multifrontal LDL^T of loops with small fronts, four fronts at a time in SIMD lanes.
//
// The elimination is that of front.c, with the same bits. The kernels of front.c use panels of 8
// rows; fronts of linkages have 11 to 24 own rows and as many later ones, and most of the time goes
// into padding, index computations and calls. But a linkage has many fronts of similar size, and
// fronts that are not ancestors of each other are independent. So four of them form a group, one in
// each lane: entry (i, k) of all four is one vector, and every kernel is the plain loop over a
// dense front on vectors. There is no padding to panels, nothing moves between lanes, and the
// result in a lane does not depend on the others.
//
// Groups are found once: of the fronts all of whose children are in groups, the one farthest from
// its root [1] is taken, and three more of similar size. Smaller fronts are padded with zero rows
// and unit pivots. A front without partners is a group of one.
//
// All data movement follows index lists: entries of the blocks, updates of children, right-hand
// sides. Updates have storage of their own instead of a stack, since four subtrees are active at
// once.
//
// Right-hand sides: a front's later rows start at zero, add those of its children, subtract the
// contribution of its own rows, and are added to the parent: so sums do not depend on which fronts
// are grouped. Backward, a row subtracts one product after the other, the last row's first.
// (front.c subtracts from the rows of x themselves and sums by panels: the last bits differ.)
//
// Measured by callgrind, instructions, gcc 12 -O3, AVX2, before (front.c) -> now: a Strandbeest of
// 12 legs, whose fronts fill 98 % of all lanes: factor 1.30 -> 0.52 million, solve 219 -> 69
// thousand. A scissor of 10 segments fills 41 %; in the form of its Schur complement 26 %, where
// front.c is kept.
//
// [1] T. C. Hu, Parallel sequencing and assembly line problems, Operations Research 1961.
#include "linalg/front_lanes.h"

#include "base/sort.h"
#include "linalg/tile.h"
#include "math/simd.h"

#include <float.h>
#include <math.h>

#define SIMD_KERNELS "linalg/front_lanes_kernels.h"
#include "math/simd_each.h"

const tni_front_kernels* tni_front_kernels_of(int width)
{
    return TNI_SIMD_OF(&kernels, width);
}

enum {
    FRONTS_MAX  = 2000,    // of a plan; grouping more takes longer than it saves
    ROWS_MAX    = 96,      // of a front, own and later; larger ones fill the panels of front.c well
    NUMBERS_MAX = 1 << 21, // of values and updates, all groups together
};

// --- grouping -----------------------------------------------------------------------------------

static int own_of(const tni_plan* plan, const tni_front* front)
{
    return plan->slab[front->slab].width;
}

static double cost(int own, int rows) // multiplications of an elimination
{
    const double n = own, r = rows;
    return n * (n * n / 6 + n * r / 2 + r * r / 2);
}

static bool can_group(const tni_plan* plan)
{
    if (plan->front_count == 0 || plan->front_count > FRONTS_MAX) return false;
    for (int f = 0; f < plan->front_count; ++f) {
        const tni_front* front = &plan->front[f];
        if (front[1].slab - front->slab != 1) return false;
        if (own_of(plan, front) + front->rows > ROWS_MAX) return false;
    }
    return true;
}

typedef struct search {
    const tni_plan* plan;
    int *           waits, *depth; // by front: children not yet grouped
    double*         cost;          // by front
    int *           rank, *spare;  // by front: its turn, if no other had to wait
    int*            ready;
    int             ready_count;
} search;

static bool comes_before(const void* user, int f, int g)
{
    const search* s = user;
    if (s->depth[f] != s->depth[g]) return s->depth[f] > s->depth[g];
    return s->cost[f] != s->cost[g] ? s->cost[f] > s->cost[g] : f < g;
}

// True if the front fits into the group without enlarging it much, and is not much smaller.
static bool fits(const search* s, const tni_front_group* b, int f)
{
    const tni_front* front = &s->plan->front[f];
    const int        n = own_of(s->plan, front), r = front->rows;
    const double     alone = s->cost[f], now = cost(b->own, b->rows);
    const double     then = cost(n > b->own ? n : b->own, r > b->rows ? r : b->rows);
    return then <= 1.4 * now && alone >= 0.4 * then;
}

static void take_front(search* s, tni_front_group* b, int lane, int at)
{
    const int        f     = s->ready[at];
    const tni_front* front = &s->plan->front[f];
    const int        n     = own_of(s->plan, front);
    b->front[lane]         = f;
    if (n > b->own) b->own = n;
    if (front->rows > b->rows) b->rows = front->rows;
    s->ready[at] = s->ready[--s->ready_count];
}

static tni_front_group next_group(search* s)
{
    tni_front_group b = {.front = {-1, -1, -1, -1}};
    for (int lane = 0; lane < TNI_FRONT_GROUP; ++lane) {
        int best = -1;
        for (int i = 0; i < s->ready_count; ++i) {
            if (best >= 0 && s->rank[s->ready[i]] > s->rank[s->ready[best]]) continue;
            if (lane == 0 || fits(s, &b, s->ready[i])) best = i;
        }
        if (best < 0) break;
        take_front(s, &b, lane, best);
    }
    for (int lane = 0; lane < TNI_FRONT_GROUP && b.front[lane] >= 0; ++lane) {
        const int parent = s->plan->front[b.front[lane]].parent;
        if (parent >= 0 && --s->waits[parent] == 0) s->ready[s->ready_count++] = parent;
    }
    return b;
}

// Groups the fronts of one component; components are separate since some may be asleep.
static void group_component(search* s, int component, tni_front_groups* to)
{
    const tni_plan* plan  = s->plan;
    const int       place = plan->component_start[component];
    const int       end   = plan->component_start[component + 1];
    to->start[component]  = to->count;
    if (plan->tree[component] || place == end) return;
    const int first = plan->front_of[place], last = plan->front_of[end - 1];
    for (int f = last; f >= first; --f) {
        const tni_front* front = &plan->front[f];
        s->depth[f]            = front->parent < 0 ? 0 : s->depth[front->parent] + 1;
        if (front->parent >= 0) ++s->waits[front->parent];
    }
    for (int f = first; f <= last; ++f) {
        s->cost[f]          = cost(own_of(plan, &plan->front[f]), plan->front[f].rows);
        s->ready[f - first] = f;
    }
    tni_sort(s->ready, s->spare, last - first + 1, comes_before, s);
    for (int i = 0; i <= last - first; ++i) s->rank[s->ready[i]] = i;
    s->ready_count = 0;
    for (int f = first; f <= last; ++f) {
        if (s->waits[f] == 0) s->ready[s->ready_count++] = f;
    }
    while (s->ready_count > 0) to->group[to->count++] = next_group(s);
}

// Predicted times in ns, from measurements: fronts as in plan.c; groups by multiplications of four
// lanes and entries moved.
static bool pays(const tni_plan* plan, const tni_front_groups* to)
{
    double fronts = 0, groups = 0;
    for (int f = 0; f < plan->front_count; ++f) {
        const double n = own_of(plan, &plan->front[f]), r = plan->front[f].rows;
        fronts += 200 + 0.5 * n * (n + r) + 0.7 * r * r / 2 + 0.12 * cost((int)n, (int)r);
        groups += 0.4 * r * r / 2 + 0.2 * n * (n + r);
    }
    for (int b = 0; b < to->count; ++b)
        groups += 50 + 0.3 * cost(to->group[b].own, to->group[b].rows);
    return groups < fronts;
}

// --- index lists --------------------------------------------------------------------------------

static size_t number_at(size_t start, int high, int row, int column, int lane)
{
    return start + TNI_FRONT_GROUP * ((size_t)column * (size_t)high + (size_t)row) + (size_t)lane;
}

// Entry (row, column), row >= column, in the numbering of the plan, with padded own rows.
static int entry_at(const tni_front_groups* to, const tni_plan* plan, int f, int row, int column)
{
    const tni_front_group* b    = &to->group[to->of[f]];
    const int              fill = plan->front[f].own - b->own, own = plan->front[f].own;
    const int i = row < own ? row : row - fill, k = column < own ? column : column - fill;
    TN_ASSERT(i >= k);
    if (k < b->own) return (int)number_at(b->value, b->own + b->rows, i, k, to->lane[f]);
    return (int)number_at(b->update, b->rows, i - b->own, k - b->own, to->lane[f]);
}

static int side_at(const tni_front_groups* to, const tni_plan* plan, int f, int row)
{
    const tni_front_group* b = &to->group[to->of[f]];
    const int              i = row < plan->front[f].own ? row : row - plan->front[f].own + b->own;
    return (int)number_at(b->side, 0, i, 0, to->lane[f]);
}

static void place_numbers(tni_front_groups* to, size_t* numbers, size_t* sides, int* rows)
{
    for (int i = 0; i < to->count; ++i) {
        tni_front_group* b   = &to->group[i];
        const size_t     own = (size_t)b->own, later = (size_t)b->rows;
        b->value   = *numbers;
        b->inverse = b->value + TNI_FRONT_GROUP * own * (own + later);
        b->update  = b->inverse + TNI_FRONT_GROUP * own;
        *numbers   = b->update + TNI_FRONT_GROUP * later * later;
        b->side    = *sides;
        *sides += TNI_FRONT_GROUP * (own + later);
        b->row = *rows;
        *rows += TNI_FRONT_GROUP * b->own;
        for (int lane = 0; lane < TNI_FRONT_GROUP && b->front[lane] >= 0; ++lane) {
            to->of[b->front[lane]]   = i;
            to->lane[b->front[lane]] = lane;
        }
    }
}

static void list_nodes(const tni_plan* plan, int f, tni_front_groups* to, int* own, int* a, int* e)
{
    const tni_front*       front = &plan->front[f];
    const tni_front_group* b     = &to->group[to->of[f]];
    for (int p = front->first; p < front->end; ++p) {
        const tni_pivot* v    = &plan->pivot[p];
        const size_t     from = to->diagonal_at[plan->order[p]];
        const int        row  = plan->front_row[p];
        for (int i = 0; i < v->dim; ++i) {
            to->row[b->row + TNI_FRONT_GROUP * (row + i) + to->lane[f]] =
                (tni_front_group_row){v->row + i, TNI_DIM_MAX * p + i, v->sign};
            to->own[(*own)++] = (tni_front_group_move){v->row + i, side_at(to, plan, f, row + i)};
            for (int j = 0; j <= i; ++j) {
                const tni_front_group_move move = {(int)from + v->dim * i + j,
                                                   entry_at(to, plan, f, row + i, row + j)};
                if (v->sign > 0) to->a[(*a)++] = move;
                else to->e[(*e)++] = move;
            }
        }
    }
}

static void list_edges(const tni_plan* plan, int f, tni_front_groups* to, int* count)
{
    const tni_front* front = &plan->front[f];
    for (int k = front->edge; k < front[1].edge; ++k) {
        const int  edge = plan->front_edge[k];
        const int  r = plan->row_node[edge], c = plan->col_node[edge], m = plan->dim[c];
        const bool turned = plan->place[r] < plan->place[c]; // transposed
        const int  column = plan->front_row[turned ? plan->place[r] : plan->place[c]];
        const int  row    = plan->edge_row[edge];
        for (int i = 0; i < plan->dim[r] * m; ++i) {
            const int at      = turned ? entry_at(to, plan, f, row + i % m, column + i / m)
                                       : entry_at(to, plan, f, row + i / m, column + i % m);
            to->j[(*count)++] = (tni_front_group_move){(int)to->edge_at[edge] + i, at};
        }
    }
}

// What a front receives from its children, in their order; where its later rows are own rows.
static void list_updates(const tni_plan* plan, int f, tni_front_groups* to, int* add, int* sum,
                         int* pull)
{
    int map[ROWS_MAX];
    for (int c = plan->front[f].child; c >= 0; c = plan->front[c].next) {
        const tni_front* child = &plan->front[c];
        int              rows  = 0;
        for (int k = child->later; k < child[1].later; ++k) {
            for (int i = 0; i < plan->pivot[plan->later[k]].dim; ++i)
                map[rows++] = plan->later_row[k] + i;
        }
        for (int i = 0; i < rows; ++i) {
            to->sum[(*sum)++] = (tni_front_group_move){side_at(to, plan, c, child->own + i),
                                                       side_at(to, plan, f, map[i])};
            for (int j = 0; j <= i; ++j)
                to->add[(*add)++] =
                    (tni_front_group_move){entry_at(to, plan, c, child->own + i, child->own + j),
                                           entry_at(to, plan, f, map[i], map[j])};
        }
    }
    int row = plan->front[f].own;
    for (int k = plan->front[f].later; k < plan->front[f + 1].later; ++k) {
        const int p = plan->later[k], owner = plan->front_of[p];
        for (int i = 0; i < plan->pivot[p].dim; ++i)
            to->pull[(*pull)++] = (tni_front_group_move){
                side_at(to, plan, owner, plan->front_row[p] + i), side_at(to, plan, f, row++)};
    }
}

static void make_lists(const tni_plan* plan, tni_front_groups* to)
{
    int own = 0, a = 0, e = 0, j = 0, add = 0, sum = 0, pull = 0;
    for (int i = 0; i <= to->count; ++i) {
        tni_front_group* b = &to->group[i];
        b->first = own, b->a = a, b->e = e, b->j = j, b->add = add, b->sum = sum, b->pull = pull;
        for (int lane = 0; i < to->count && lane < TNI_FRONT_GROUP && b->front[lane] >= 0; ++lane) {
            list_nodes(plan, b->front[lane], to, &own, &a, &e);
            list_edges(plan, b->front[lane], to, &j);
            list_updates(plan, b->front[lane], to, &add, &sum, &pull);
        }
    }
}

static bool take_lists(tni_arena* arena, const tni_plan* plan, tni_front_groups* to, int rows)
{
    size_t a = 0, e = 0, j = 0, add = 0, later = 0;
    for (int v = 0; v < plan->count; ++v) {
        const size_t dim = (size_t)plan->dim[v];
        if (plan->sign[v] > 0) a += dim * (dim + 1) / 2;
        else e += dim * (dim + 1) / 2;
    }
    for (int i = 0; i < plan->edge_count; ++i)
        j += (size_t)(plan->dim[plan->row_node[i]] * plan->dim[plan->col_node[i]]);
    for (int f = 0; f < plan->front_count; ++f) {
        const size_t r = (size_t)plan->front[f].rows;
        later += r;
        add += r * (r + 1) / 2;
    }
    to->row  = TNI_TAKE(arena, tni_front_group_row, rows);
    to->own  = TNI_TAKE(arena, tni_front_group_move, plan->row_count);
    to->a    = TNI_TAKE(arena, tni_front_group_move, a);
    to->e    = TNI_TAKE(arena, tni_front_group_move, e);
    to->j    = TNI_TAKE(arena, tni_front_group_move, j);
    to->add  = TNI_TAKE(arena, tni_front_group_move, add);
    to->sum  = TNI_TAKE(arena, tni_front_group_move, later);
    to->pull = TNI_TAKE(arena, tni_front_group_move, later);
    for (int i = 0; !arena->failed && i < rows; ++i) to->row[i] = (tni_front_group_row){-1, 0, 0};
    return !arena->failed;
}

// Size of the largest group, in numbers.
static size_t largest_of(const tni_front_groups* to)
{
    size_t most = 0;
    for (int i = 0; i < to->count; ++i) {
        const size_t own = (size_t)to->group[i].own, rows = (size_t)to->group[i].rows;
        if (own * (own + rows) > most) most = own * (own + rows);
    }
    return TNI_FRONT_GROUP * most;
}

static bool find_groups(tni_arena* scratch, const tni_plan* plan, tni_front_groups* to)
{
    search s = {.plan  = plan,
                .waits = TNI_TAKE(scratch, int, plan->front_count),
                .depth = TNI_TAKE(scratch, int, plan->front_count),
                .cost  = TNI_TAKE(scratch, double, plan->front_count),
                .rank  = TNI_TAKE(scratch, int, plan->front_count),
                .spare = TNI_TAKE(scratch, int, plan->front_count),
                .ready = TNI_TAKE(scratch, int, plan->front_count)};
    if (scratch->failed) return false;
    for (int c = 0; c < plan->component_count; ++c) group_component(&s, c, to);
    to->start[plan->component_count] = to->count;
    return true;
}

static tn_result create(tni_arena* arena, const tni_plan* plan, bool always, tni_front_groups** out)
{
    tni_arena         scratch = tni_arena_make(&arena->host);
    tni_front_groups* to      = TNI_TAKE(arena, tni_front_groups, 1);
    const size_t      fronts  = (size_t)plan->front_count;
    if (to == NULL) return TN_ERR_MEMORY;
    to->group        = TNI_TAKE(arena, tni_front_group, fronts + 1);
    to->start        = TNI_TAKE(arena, int, plan->component_count + 1);
    to->of           = TNI_TAKE(arena, int, fronts);
    to->lane         = TNI_TAKE(arena, int, fronts);
    const bool found = !arena->failed && find_groups(&scratch, plan, to);
    tni_arena_free(&scratch);
    if (!found) return TN_ERR_MEMORY;
    if (always || pays(plan, to)) *out = to;
    return TN_OK;
}

tn_result tni_front_groups_create(tni_arena* arena, tni_ldl* ldl, const size_t* diagonal_at,
                                  const size_t* edge_at, bool always)
{
    const tni_plan*   plan = ldl->plan;
    tni_front_groups* to   = NULL;
    if (!can_group(plan)) return TN_OK;
    if (create(arena, plan, always, &to) != TN_OK) return TN_ERR_MEMORY;
    if (to == NULL) return TN_OK;
    size_t numbers = 0, sides = 0;
    int    rows = 0;
    place_numbers(to, &numbers, &sides, &rows);
    if (numbers > NUMBERS_MAX) return TN_OK;
    to->set         = tni_front_kernels_of(tni_simd_width());
    to->diagonal_at = diagonal_at;
    to->edge_at     = edge_at;
    to->number      = TNI_TAKE(arena, double, numbers);
    to->scaled      = TNI_TAKE(arena, double, largest_of(to));
    to->z           = TNI_TAKE(arena, double, sides);
    to->sides       = TNI_TAKE(arena, double, TNI_FRONT_GROUP_SIDES* sides);
    if (!take_lists(arena, plan, to, rows)) return TN_ERR_MEMORY;
    make_lists(plan, to);
    for (int i = 0; i < to->count; ++i) { // padded pivots stay 1
        const tni_front_group* b = &to->group[i];
        for (int k = 0; k < TNI_FRONT_GROUP * b->own; ++k) to->number[b->inverse + (size_t)k] = 1;
    }
    ldl->front_groups = to;
    return TN_OK;
}

tn_result tni_front_groups_share(tni_arena* arena, tni_ldl* ldl)
{
    tni_front_groups* made = TNI_TAKE(arena, tni_front_groups, 1);
    if (made == NULL) return TN_ERR_MEMORY;
    *made             = *ldl->front_groups;
    made->scaled      = TNI_TAKE(arena, double, largest_of(made));
    ldl->front_groups = made;
    return arena->failed ? TN_ERR_MEMORY : TN_OK;
}

// --- factor -------------------------------------------------------------------------------------

// Clears columns of `high` entries from the diagonal on; entries above it are never used.
static void clear(int columns, int high, double* X)
{
    for (int k = 0; k < columns; ++k) {
        const size_t at = TNI_FRONT_GROUP * ((size_t)k * (size_t)high + (size_t)k);
        memset(X + at, 0, sizeof *X * TNI_FRONT_GROUP * (size_t)(high - k));
    }
}

static void copy_all(const tni_front_group_move* move, const tni_front_group_move* end,
                     const double* from, double* to)
{
    for (; move < end; ++move) to[move->to] = from[move->from];
}

static void add_all(const tni_front_group_move* move, const tni_front_group_move* end,
                    const double* from, double* to)
{
    for (; move < end; ++move) to[move->to] += from[move->from];
}

// Without children the update is zero; it is not cleared but overwritten.
static bool has_children(const tni_front_group* b)
{
    return b->add < b[1].add;
}

static void assemble(tni_front_groups* s, const tni_front_group* b, const tni_blocks* blocks,
                     const double* raise)
{
    const int all = b->own + b->rows;
    clear(b->own, all, s->number + b->value);
    if (has_children(b)) clear(b->rows, b->rows, s->number + b->update);
    copy_all(s->a + b->a, s->a + b[1].a, blocks->diagonal, s->number);
    for (int k = b->e; !blocks->hard && k < b[1].e; ++k)
        s->number[s->e[k].to] = -blocks->diagonal[s->e[k].from];
    for (int k = 0; raise != NULL && k < TNI_FRONT_GROUP * b->own; ++k) {
        const tni_front_group_row* r = &s->row[b->row + k];
        double*                    d =
            &s->number[number_at(b->value, all + 1, 0, k / TNI_FRONT_GROUP, k % TNI_FRONT_GROUP)];
        if (r->row >= 0) *d += r->sign > 0 ? raise[r->row] : -raise[r->row];
    }
    copy_all(s->j + b->j, s->j + b[1].j, blocks->edge, s->number);
    add_all(s->add + b->add, s->add + b[1].add, s->number, s->number);
}

// Pivot results with their position in the elimination order: groups are in another order.
typedef struct verdict {
    const tni_pivot_rule* rule;
    tni_pivot_report*     report;
    int                   smallest_turn, bad_turn;
} verdict;

// The reciprocal of pivot d; same rule as front.c. With an unusable pivot the factorisation goes
// on; report->bad_row is the unusable row that is first in the elimination order, as in front.c.
static double judge_pivot(tni_ldl* ldl, verdict* v, const tni_front_group_row* r, double d)
{
    const tni_pivot_rule* rule   = v->rule;
    tni_pivot_report*     report = v->report;
    const bool            usable = r->sign > 0 ? d > 0 && d <= DBL_MAX : fabs(d) <= DBL_MAX;
    if (!usable) {
        if (report->bad_row < 0 || r->turn < v->bad_turn) {
            report->bad_row = r->row;
            v->bad_turn     = r->turn;
        }
        return 0;
    }
    const double scale = rule->scale != NULL ? rule->scale[r->row] : d;
    if (r->sign > 0) {
        ldl->relative[r->row] = d / scale;
        return 1 / d;
    }
    TN_ASSERT(rule->scale != NULL);
    const double relative = scale > 0 ? -d / scale : 0;
    ldl->relative[r->row] = relative;
    if (relative < report->smallest ||
        (relative == report->smallest && r->turn < v->smallest_turn)) {
        report->smallest     = relative;
        report->smallest_row = r->row;
        v->smallest_turn     = r->turn;
    }
    if (relative > rule->tolerance) return 1 / d;
    d = -(rule->alpha != NULL ? rule->alpha[r->row] : scale);
    ++report->replaced;
    return d == 0 ? -1 : 1 / d;
}

// Factors the diagonal block of `width` columns from `first` on.
static void factor_triangle(tni_ldl* ldl, const tni_front_group* b, int first, int width,
                            verdict* v, double* X, double* Y)
{
    const tni_front_groups* s       = ldl->front_groups;
    const size_t            step    = TNI_FRONT_GROUP * (size_t)(b->own + b->rows);
    double*                 inverse = s->number + b->inverse + TNI_FRONT_GROUP * (size_t)first;
    X += (step + TNI_FRONT_GROUP) * (size_t)first;
    Y += (step + TNI_FRONT_GROUP) * (size_t)first;
    for (int k = 0; k < width; ++k) {
        double *                   x = X + step * (size_t)k, *y = Y + step * (size_t)k;
        const tni_front_group_row* row = &s->row[b->row + TNI_FRONT_GROUP * (first + k)];
        for (int l = 0; l < TNI_FRONT_GROUP; ++l) {
            if (row[l].row >= 0)
                inverse[TNI_FRONT_GROUP * k + l] =
                    judge_pivot(ldl, v, &row[l], x[TNI_FRONT_GROUP * k + l]);
        }
        for (int i = k + 1; i < width; ++i) {
            for (int l = 0; l < TNI_FRONT_GROUP; ++l)
                y[TNI_FRONT_GROUP * i + l] =
                    x[TNI_FRONT_GROUP * i + l] * inverse[TNI_FRONT_GROUP * k + l];
        }
        for (int j = k + 1; j < width; ++j) {
            double* to = X + step * (size_t)j;
            for (int i = j; i < width; ++i) {
                for (int l = 0; l < TNI_FRONT_GROUP; ++l)
                    to[TNI_FRONT_GROUP * i + l] -=
                        x[TNI_FRONT_GROUP * i + l] * y[TNI_FRONT_GROUP * j + l];
            }
        }
    }
}

static void eliminate(tni_ldl* ldl, const tni_front_group* b, verdict* v)
{
    const tni_front_groups* s   = ldl->front_groups;
    const int               all = b->own + b->rows;
    double *                X = s->number + b->value, *Y = s->scaled;
    for (int first = 0; first < b->own; first += TNI_FRONT_GROUP_BLOCK) {
        const int left  = b->own - first,
                  width = left < TNI_FRONT_GROUP_BLOCK ? left : TNI_FRONT_GROUP_BLOCK;
        s->set->apply(all, first, width, first, first + width, X, Y);
        factor_triangle(ldl, b, first, width, v, X, Y);
        s->set->finish(all, first, width, first + width, all, X, Y, s->number + b->inverse);
    }
    s->set->update(b->own, b->rows, !has_children(b), X, Y, s->number + b->update);
}

bool tni_front_groups_factor(tni_ldl* ldl, int component, const tni_blocks* blocks,
                             const double* raise, const tni_pivot_rule* rule,
                             tni_pivot_report* report)
{
    tni_front_groups* s = ldl->front_groups;
    verdict           v = {rule, report, 0, 0};
    TN_ASSERT(blocks->diagonal_at == s->diagonal_at && blocks->edge_at == s->edge_at);
    for (int i = s->start[component]; i < s->start[component + 1]; ++i) {
        assemble(s, &s->group[i], blocks, raise);
        eliminate(ldl, &s->group[i], &v);
    }
    return report->bad_row < 0;
}

const double* tni_front_groups_reciprocals(const tni_ldl* ldl, int front, int row, int* step)
{
    const tni_front_groups* s = ldl->front_groups;
    const tni_front_group*  b = &s->group[s->of[front]];
    *step                     = TNI_FRONT_GROUP;
    return s->number + number_at(b->inverse, 0, row, 0, s->lane[front]);
}

// --- solve --------------------------------------------------------------------------------------

void tni_front_groups_solve(const tni_ldl* ldl, int component, double* x)
{
    const tni_front_groups* s     = ldl->front_groups;
    const tni_front_group * first = s->group + s->start[component], *b;
    const tni_front_group*  end   = s->group + s->start[component + 1];
    for (b = first; b < end; ++b) {
        double* z = s->z + b->side;
        memset(z, 0, sizeof *z * TNI_FRONT_GROUP * (size_t)(b->own + b->rows));
        copy_all(s->own + b->first, s->own + b[1].first, x, s->z);
        add_all(s->sum + b->sum, s->sum + b[1].sum, s->z, s->z);
        s->set->forward(b->own, b->own + b->rows, s->number + b->value, s->number + b->inverse, z);
    }
    for (b = end - 1; b >= first; --b) {
        double* z = s->z + b->side;
        copy_all(s->pull + b->pull, s->pull + b[1].pull, s->z, s->z);
        s->set->backward(b->own, b->own + b->rows, s->number + b->value, s->number + b->inverse, z);
        for (const tni_front_group_move* move = s->own + b->first; move < s->own + b[1].first;
             ++move)
            x[move->from] = s->z[move->to];
    }
}

// --- one front, several right-hand sides --------------------------------------------------------

// One front in its lane: entries are TNI_FRONT_GROUP numbers apart, right-hand sides contiguous.
typedef struct lone {
    const tni_front_group* group;
    int                    own, rows; // of the front; later rows start at group->own
    const double *         X, *inverse;
    double*                z;
} lone;

static lone lone_front(const tni_ldl* ldl, int f)
{
    const tni_front_groups* s    = ldl->front_groups;
    const tni_front_group*  b    = &s->group[s->of[f]];
    const size_t            lane = (size_t)s->lane[f];
    return (lone){b,
                  own_of(ldl->plan, &ldl->plan->front[f]),
                  ldl->plan->front[f].rows,
                  s->number + b->value + lane,
                  s->number + b->inverse + lane,
                  s->sides + TNI_FRONT_GROUP_SIDES * (b->side + lane)};
}

static double* side_of(const lone* v, int row)
{
    return v->z + (size_t)TNI_FRONT_GROUP_SIDES * TNI_FRONT_GROUP * (size_t)row;
}

static double value_of(const lone* v, int row, int column)
{
    return v->X[number_at(0, v->group->own + v->group->rows, row, column, 0)];
}

static void exchange_own(const tni_ldl* ldl, int f, const lone* v, int first, int sides, int count,
                         bool back, double* x)
{
    const tni_front_groups* s = ldl->front_groups;
    for (int i = 0; i < v->own; ++i) {
        const int row = s->row[v->group->row + TNI_FRONT_GROUP * i + s->lane[f]].row;
        double *  own = side_of(v, i), *at = x + (size_t)row * (size_t)count + first;
        for (int c = 0; c < sides; ++c) {
            if (back) at[c] = own[c];
            else own[c] = at[c];
        }
    }
}

static void add_child(const tni_ldl* ldl, int f, int child, int sides)
{
    const tni_plan*         plan = ldl->plan;
    const tni_front_groups* s    = ldl->front_groups;
    int                     from = plan->front[child].own;
    for (int k = plan->front[child].later; k < plan->front[child + 1].later; ++k) {
        for (int i = 0; i < plan->pivot[plan->later[k]].dim; ++i, ++from) {
            const double* z = s->sides + TNI_FRONT_GROUP_SIDES * side_at(s, plan, child, from);
            double*       to =
                s->sides + TNI_FRONT_GROUP_SIDES * side_at(s, plan, f, plan->later_row[k] + i);
            for (int c = 0; c < sides; ++c) to[c] += z[c];
        }
    }
}

void tni_front_groups_forward(const tni_ldl* ldl, int front, int first, int sides, int count,
                              const int* mark, int stamp, double* x)
{
    const tni_plan* plan = ldl->plan;
    const lone      v    = lone_front(ldl, front);
    const int       own = v.group->own, end = own + v.rows;
    for (int i = own; i < end; ++i) memset(side_of(&v, i), 0, sizeof *x * TNI_FRONT_GROUP_SIDES);
    exchange_own(ldl, front, &v, first, sides, count, false, x);
    for (int c = plan->front[front].child; c >= 0; c = plan->front[c].next) {
        if (mark == NULL || mark[plan->front[c].first] == stamp) add_child(ldl, front, c, sides);
    }
    for (int k = 0; k < v.own; ++k) {
        const double *z = side_of(&v, k), inverse = v.inverse[TNI_FRONT_GROUP * k];
        double        t[TNI_FRONT_GROUP_SIDES];
        for (int c = 0; c < sides; ++c) t[c] = z[c] * inverse;
        for (int i = k + 1; i < end; ++i) {
            if (i == v.own) i = own;
            if (i >= end) break;
            const double entry = value_of(&v, i, k);
            double*      to    = side_of(&v, i);
            for (int c = 0; c < sides; ++c) to[c] -= entry * t[c];
        }
    }
    exchange_own(ldl, front, &v, first, sides, count, true, x);
}

void tni_front_groups_backward(const tni_ldl* ldl, int front, int first, int sides, int count,
                               double* x)
{
    const tni_plan* plan = ldl->plan;
    const lone      v    = lone_front(ldl, front);
    int             row  = v.group->own;
    for (int k = plan->front[front].later; k < plan->front[front + 1].later; ++k) {
        const tni_pivot* p = &plan->pivot[plan->later[k]];
        for (int i = 0; i < p->dim; ++i, ++row) {
            const double* from = x + (size_t)(p->row + i) * (size_t)count + first;
            for (int c = 0; c < sides; ++c) side_of(&v, row)[c] = from[c];
        }
    }
    exchange_own(ldl, front, &v, first, sides, count, false, x);
    for (int k = v.own - 1; k >= 0; --k) {
        double* z = side_of(&v, k);
        for (int i = v.group->own + v.rows - 1; i > k; --i) {
            if (i == v.group->own - 1) i = v.own - 1;
            if (i <= k) break;
            const double entry = value_of(&v, i, k), *w = side_of(&v, i);
            for (int c = 0; c < sides; ++c) z[c] -= entry * w[c];
        }
        for (int c = 0; c < sides; ++c) z[c] *= v.inverse[TNI_FRONT_GROUP * k];
    }
    exchange_own(ldl, front, &v, first, sides, count, true, x);
}
