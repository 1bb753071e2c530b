// ldl: block LDL^T of a symmetric quasi-definite matrix on a graph, in a given elimination order.
//
//     H x = b,   H = [ A  J^T ]   A: A nodes, positive definite
//                    [ J  -E  ]   E: B nodes, positive semidefinite, may be zero
//
// Components with loops: front.c. Trees, here: node i has one later neighbour, its parent k, and
// nodes are eliminated one at a time, right-looking [1, sec. 7.3]:
//
//     H_ii = L_i d_i L_i^T            unit lower L_i, reciprocals of d_i stored, no square root
//     X_i  = L_i^-1 H_ik              stored in place of H_ik
//     H_kk -= X_i^T d_i^-1 X_i
//     forward   z_i <- L_i^-1 z_i,  z_k -= X_i^T d_i^-1 z_i
//     backward  x_i  = L_i^-T d_i^-1 (z_i - X_i x_k)
//
// No fill-in, O(count) time, a constant number of words a node. Differs from [1]: pivots are split
// inside the blocks, and X is stored instead of H_ii^-1 H_ik, so the solve stays backward stable
// when pivots of one node differ by 1e11.
//
// No pivoting: A pivots are positive; B pivots are negative if E, or the nodes eliminated before
// (order.c), make their rows definite. A B pivot below tolerance * scale is replaced and counted.
// Values are stored in elimination order: a node's diagonal block, then its X. Factor and solve
// stream through them. A right-hand side on a few nodes needs their ancestors only (solve_path).
//
// Measured, floating chain of n A nodes of 6 rows with as many B nodes, one of them at one end;
// per link (A + B node), gcc 12 -O3, SSE2, one EPYC core shared with other work, best of many:
//     B rows  flops factor / solve   instructions   n = 1000       n = 100000 (three runs)
//        3       462 / 225           1484 / 698     160 / 100 ns   169..216 / 132..182 ns
//        5       862 / 351           2218 / 861     224 / 130 ns   255..358 / 222..265 ns
// Loading the blocks takes 44 and 55 ns more (n = 1000), 160..300 ns at n = 100000, where memory
// bandwidth is the limit. -O2 takes up to twice as long: gcc 12 does not unroll the kernels there.
// Same bits at -O2, -O3 and -O3 -mavx2. Values: 648 and 968 bytes a link; plan: 200.
//
// Fails if an A pivot is not positive, or any not finite (TN_ERR_SINGULAR, row reported).
//
// [1] D. Baraff, Linear-Time Dynamics using Lagrange Multipliers, SIGGRAPH 96.
#include "linalg/ldl.h"

#include "linalg/block.h"
#include "linalg/front.h"
#include "linalg/front_lanes.h"

#include <float.h>
#include <math.h>

// --- loading ------------------------------------------------------------------------------------

tn_result tni_ldl_create(tni_arena* arena, const tni_plan* plan, tni_ldl** ldl)
{
    *ldl          = NULL;
    tni_ldl* made = TNI_TAKE(arena, tni_ldl, 1);
    if (made == NULL) return TN_ERR_MEMORY;
    made->plan     = plan;
    made->value    = TNI_TAKE(arena, double, plan->value_count);
    made->relative = TNI_TAKE(arena, double, plan->row_count);
    made->fetched  = TNI_TAKE(arena, uint8_t, plan->count);
    made->path     = TNI_TAKE(arena, int, plan->count);
    made->segment  = TNI_TAKE(arena, int, plan->count);
    made->mark     = TNI_TAKE(arena, int, plan->count);
    if (arena->failed) return TN_ERR_MEMORY;
    for (int r = 0; r < plan->row_count; ++r) made->relative[r] = 1;
    if (tni_front_create(arena, made) != TN_OK) return TN_ERR_MEMORY;
    *ldl = made;
    return TN_OK;
}

tn_result tni_ldl_group_fronts(tni_arena* arena, tni_ldl* ldl, const size_t* diagonal_at,
                               const size_t* edge_at)
{
    return tni_front_groups_create(arena, ldl, diagonal_at, edge_at, false);
}

tn_result tni_ldl_share(tni_arena* arena, const tni_ldl* ldl, tni_ldl** shared)
{
    tni_ldl* made = TNI_TAKE(arena, tni_ldl, 1);
    *shared       = made;
    if (made == NULL) return TN_ERR_MEMORY;
    *made      = *ldl;
    made->path = made->segment = made->mark = NULL;
    return ldl->front_groups != NULL ? tni_front_groups_share(arena, made)
                                     : tni_front_share(arena, made);
}

const double* tni_ldl_reciprocals(const tni_ldl* ldl, int place, int* step)
{
    const tni_plan*  plan = ldl->plan;
    const tni_pivot* v    = &plan->pivot[place];
    const int        f    = plan->front_of[place];
    *step                 = f < 0 ? v->dim + 1 : 1;
    if (f < 0 || ldl->front_groups == NULL) return ldl->value + v->at;
    return tni_front_groups_reciprocals(ldl, f, plan->front_row[place], step);
}

static void load_edge(tni_ldl* ldl, int edge, const double* block, double* to)
{
    const tni_plan* plan = ldl->plan;
    const int       r = plan->row_node[edge], c = plan->col_node[edge];
    const int       n = plan->dim[r], m = plan->dim[c];
    if (plan->place[r] < plan->place[c]) {
        memcpy(to, block, sizeof(double) * (size_t)(n * m));
        return;
    }
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < m; ++j) to[n * j + i] = block[m * i + j];
    }
}

// --- factor -------------------------------------------------------------------------------------

// Sizes for which the kernels are compiled with constants: A nodes of 6, 3 and 12 rows with the
// common B nodes, in either order.
// clang-format off
#define BLOCK_PAIRS(X)                                                                      \
    X(6, 1) X(6, 2) X(6, 3) X(6, 4) X(6, 5) X(6, 6) X(1, 6) X(2, 6) X(3, 6) X(4, 6) X(5, 6) \
    X(3, 1) X(3, 2) X(3, 3) X(1, 3) X(2, 3) X(12, 3) X(3, 12)
// clang-format on
#define BLOCK_SIZES(X) X(1) X(2) X(3) X(4) X(5) X(6) X(12)
#define PAIR(n, m)     ((n) << 8 | (m))

TNI_INLINE int factor_positive(int n, double* D)
{
    for (int j = 0; j < n; ++j) {
        const double d = D[(n + 1) * j];
        if (!(d > 0 && d <= DBL_MAX)) return j;
        tni_block_column(n, j, 1 / d, D);
    }
    return -1;
}

int tni_block_factor(int n, double* D)
{
    switch (n) {
#define SIZE(n) \
    case n: return factor_positive(n, D);
        BLOCK_SIZES(SIZE)
#undef SIZE
    default: return factor_positive(n, D);
    }
}

TNI_INLINE int factor_negative(int n, double* restrict D, double* restrict relative, int row,
                               const tni_pivot_rule* rule, tni_pivot_report* report)
{
    double scale[TNI_DIM_MAX];
    for (int j = 0; j < n; ++j) {
        scale[j] = rule->scale != NULL ? rule->scale[row + j] : fabs(D[(n + 1) * j]);
    }
    for (int j = 0; j < n; ++j) {
        double d = D[(n + 1) * j];
        if (!(fabs(d) <= DBL_MAX)) return j;
        relative[row + j] = scale[j] > 0 ? -d / scale[j] : 0;
        if (relative[row + j] < report->smallest) {
            report->smallest     = relative[row + j];
            report->smallest_row = row + j;
        }
        if (!(relative[row + j] > rule->tolerance)) {
            d = -(rule->alpha != NULL ? rule->alpha[row + j] : scale[j]);
            if (d == 0) d = -1;
            ++report->replaced;
        }
        tni_block_column(n, j, 1 / d, D);
    }
    return -1;
}

static int factor_b_node(int n, double* D, double* relative, int row, const tni_pivot_rule* rule,
                         tni_pivot_report* report)
{
    switch (n) {
#define SIZE(n) \
    case n: return factor_negative(n, D, relative, row, rule, report);
        BLOCK_SIZES(SIZE)
#undef SIZE
    default: return factor_negative(n, D, relative, row, rule, report);
    }
}

static int factor_a_node(int n, double* D, double* relative, int row, const double* scale)
{
    const int bad = tni_block_factor(n, D);
    if (scale == NULL || bad >= 0) return bad;
    for (int j = 0; j < n; ++j) relative[row + j] = 1 / (D[(n + 1) * j] * scale[row + j]);
    return -1;
}

TNI_INLINE void fold(int n, int m, const double* D, double* X, double* P)
{
    tni_block_lower(n, m, D, X);
    tni_block_update(n, m, m, D, X, X, P);
}

// X, and its update of the diagonal block of the parent.
static void fold_one(int n, int m, const double* D, double* X, double* P)
{
    switch (PAIR(n, m)) {
#define SIZE(n, m) \
    case PAIR(n, m): fold(n, m, D, X, P); break;
        BLOCK_PAIRS(SIZE)
#undef SIZE
    default: fold(n, m, D, X, P);
    }
}

// Factors the diagonal block of one node; false, with report->bad_row, if a pivot is unusable.
static bool factor_node(tni_ldl* ldl, const tni_pivot* i, const tni_pivot_rule* rule,
                        tni_pivot_report* report)
{
    double*   D   = ldl->value + i->at;
    const int bad = i->sign > 0 ? factor_a_node(i->dim, D, ldl->relative, i->row, rule->scale)
                                : factor_b_node(i->dim, D, ldl->relative, i->row, rule, report);
    if (bad >= 0) report->bad_row = i->row + bad;
    return bad < 0;
}

static const tni_pivot_report clean_report = {
    .smallest = HUGE_VAL, .smallest_row = -1, .bad_row = -1};

static void fetch_diagonal(tni_ldl* ldl, int place, const tni_blocks* blocks, const double* raise)
{
    const tni_pivot* v    = &ldl->plan->pivot[place];
    const double*    from = blocks->diagonal + blocks->diagonal_at[ldl->plan->order[place]];
    double*          to   = ldl->value + v->at;
    const int        size = v->dim * v->dim;
    if (v->sign > 0) memcpy(to, from, sizeof *to * (size_t)size);
    else if (blocks->hard) memset(to, 0, sizeof *to * (size_t)size);
    else
        for (int k = 0; k < size; ++k) to[k] = -from[k];
    for (int k = 0; raise != NULL && k < v->dim; ++k)
        to[(v->dim + 1) * k] += v->sign > 0 ? raise[v->row + k] : -raise[v->row + k];
    ldl->fetched[place] = 1;
}

// One pass, each block loaded when it is needed: large trees are bound by memory bandwidth.
static tn_result factor_tree(tni_ldl* ldl, tni_range all, const tni_blocks* blocks,
                             const double* raise, const tni_pivot_rule* rule,
                             tni_pivot_report* report)
{
    const tni_plan* plan = ldl->plan;
    memset(ldl->fetched + all.first, 0, (size_t)(all.end - all.first));
    for (int p = all.first; p < all.end; ++p) {
        const tni_pivot* i = &plan->pivot[p];
        if (!ldl->fetched[p]) fetch_diagonal(ldl, p, blocks, raise);
        if (!factor_node(ldl, i, rule, report)) return TN_ERR_SINGULAR;
        if (i[1].slot == i->slot) continue; // a root
        const tni_slot* s    = &plan->slot[i->slot];
        const int       edge = plan->slot_edge[i->slot];
        load_edge(ldl, edge, blocks->edge + blocks->edge_at[edge], ldl->value + s->at);
        if (!ldl->fetched[s->place]) fetch_diagonal(ldl, s->place, blocks, raise);
        const tni_pivot* k = &plan->pivot[s->place];
        fold_one(i->dim, k->dim, ldl->value + i->at, ldl->value + s->at, ldl->value + k->at);
    }
    return TN_OK;
}

static tn_result factor_fronts(tni_ldl* ldl, tni_range all, const tni_blocks* blocks,
                               const double* raise, const tni_pivot_rule* rule,
                               tni_pivot_report* report)
{
    const tni_plan* plan = ldl->plan;
    if (ldl->front_groups != NULL) {
        if (all.first == all.end) return TN_OK;
        const int component = plan->component_of[plan->order[all.first]];
        return tni_front_groups_factor(ldl, component, blocks, raise, rule, report)
                   ? TN_OK
                   : TN_ERR_SINGULAR;
    }
    for (int p = all.first; p < all.end; p = plan->front[plan->front_of[p]].end) {
        if (!tni_front_factor(ldl, plan->front_of[p], blocks, raise, rule, report))
            return TN_ERR_SINGULAR;
    }
    return TN_OK;
}

tn_result tni_ldl_factor(tni_ldl* ldl, int component, const tni_blocks* blocks, const double* raise,
                         const tni_pivot_rule* rule, tni_pivot_report* report)
{
    const tni_plan* plan  = ldl->plan;
    const int       first = component < 0 ? 0 : component;
    const int       end   = component < 0 ? plan->component_count : component + 1;
    *report               = clean_report;
    for (int c = first; c < end; ++c) {
        const tni_range at = tni_plan_places(plan, c);
        TRY((plan->tree[c] ? factor_tree : factor_fronts)(ldl, at, blocks, raise, rule, report));
    }
    return TN_OK;
}

// --- solve --------------------------------------------------------------------------------------

TNI_INLINE void forward(int n, int m, int count, const double* D, const double* X, double* w,
                        double* z)
{
    tni_block_lower(n, count, D, w);
    tni_block_push(n, m, count, D, X, w, z);
}

TNI_INLINE void backward(int n, int m, int count, const double* D, const double* X, double* w,
                         const double* z)
{
    tni_block_pull(n, m, count, X, z, w);
    tni_block_scale(n, count, D, w);
    tni_block_upper(n, count, D, w);
}

static void forward_one(int n, int m, const double* D, const double* X, double* w, double* z)
{
    switch (PAIR(n, m)) {
#define SIZE(n, m) \
    case PAIR(n, m): forward(n, m, 1, D, X, w, z); break;
        BLOCK_PAIRS(SIZE)
#undef SIZE
    default: forward(n, m, 1, D, X, w, z);
    }
}

static void backward_one(int n, int m, const double* D, const double* X, double* w, const double* z)
{
    switch (PAIR(n, m)) {
#define SIZE(n, m) \
    case PAIR(n, m): backward(n, m, 1, D, X, w, z); break;
        BLOCK_PAIRS(SIZE)
#undef SIZE
    default: backward(n, m, 1, D, X, w, z);
    }
}

static void forward_node(const tni_ldl* ldl, int place, int count, double* x)
{
    const tni_plan*  plan = ldl->plan;
    const tni_pivot* i    = &plan->pivot[place];
    const double*    D    = ldl->value + i->at;
    double*          w    = x + (size_t)i->row * (size_t)count;
    const tni_slot*  s    = &plan->slot[i->slot];
    if (i[1].slot == i->slot) {
        tni_block_lower(i->dim, count, D, w);
        return;
    }
    const tni_pivot* k = &plan->pivot[s->place];
    double*          z = x + (size_t)k->row * (size_t)count;
    if (count == 1) forward_one(i->dim, k->dim, D, ldl->value + s->at, w, z);
    else forward(i->dim, k->dim, count, D, ldl->value + s->at, w, z);
}

static void backward_node(const tni_ldl* ldl, int place, int count, double* x)
{
    const tni_plan*  plan = ldl->plan;
    const tni_pivot* i    = &plan->pivot[place];
    const double*    D    = ldl->value + i->at;
    double*          w    = x + (size_t)i->row * (size_t)count;
    const tni_slot*  s    = &plan->slot[i->slot];
    if (i[1].slot == i->slot) {
        tni_block_scale(i->dim, count, D, w);
        tni_block_upper(i->dim, count, D, w);
        return;
    }
    const tni_pivot* k = &plan->pivot[s->place];
    const double*    z = x + (size_t)k->row * (size_t)count;
    if (count == 1) backward_one(i->dim, k->dim, D, ldl->value + s->at, w, z);
    else backward(i->dim, k->dim, count, D, ldl->value + s->at, w, z);
}

// Fronts in lanes with several right-hand sides: blocks of them go through all fronts at once.
static int sides_from(int first, int count)
{
    return count - first < TNI_FRONT_GROUP_SIDES ? count - first : TNI_FRONT_GROUP_SIDES;
}

static void backward_groups(const tni_ldl* ldl, int f, int count, double* x)
{
    for (int k = 0; k < count; k += TNI_FRONT_GROUP_SIDES)
        tni_front_groups_backward(ldl, f, k, sides_from(k, count), count, x);
}

static void solve_groups(const tni_ldl* ldl, int first, int last, int count, double* x)
{
    for (int k = 0; k < count; k += TNI_FRONT_GROUP_SIDES) {
        for (int f = first; f <= last; ++f)
            tni_front_groups_forward(ldl, f, k, sides_from(k, count), count, NULL, 0, x);
    }
    for (int f = last; f >= first; --f) backward_groups(ldl, f, count, x);
}

static void solve_component(const tni_ldl* ldl, int component, int count, double* x)
{
    const tni_plan* plan = ldl->plan;
    const tni_range all  = tni_plan_places(plan, component);
    if (plan->tree[component]) {
        for (int p = all.first; p < all.end; ++p) forward_node(ldl, p, count, x);
        for (int p = all.end - 1; p >= all.first; --p) backward_node(ldl, p, count, x);
    } else if (all.first < all.end && ldl->front_groups != NULL && count == 1) {
        tni_front_groups_solve(ldl, component, x);
    } else if (all.first < all.end) {
        const int first = plan->front_of[all.first], last = plan->front_of[all.end - 1];
        if (ldl->front_groups != NULL) {
            solve_groups(ldl, first, last, count, x);
            return;
        }
        for (int f = first; f <= last; ++f) tni_front_forward(ldl, f, count, x);
        for (int f = last; f >= first; --f) tni_front_backward(ldl, f, count, x);
    }
}

void tni_ldl_solve(const tni_ldl* ldl, int component, int count, double* x)
{
    const int first = component < 0 ? 0 : component;
    const int end   = component < 0 ? ldl->plan->component_count : component + 1;
    for (int c = first; c < end; ++c) solve_component(ldl, c, count, x);
}

// Each sum uses the most recently computed entry last: the shortest dependency chain.
TNI_INLINE void solve_block(int n, const double* restrict D, double* restrict x)
{
    double w[TNI_DIM_MAX]; // stays in registers
    for (int i = 0; i < n; ++i) {
        w[i] = x[i];
        for (int k = 0; k < i; ++k) w[i] -= D[n * i + k] * w[k];
    }
    for (int i = 0; i < n; ++i) w[i] *= D[(n + 1) * i];
    for (int i = n - 1; i >= 0; --i) {
        for (int k = n - 1; k > i; --k) w[i] -= D[n * k + i] * w[k];
        x[i] = w[i];
    }
}

void tni_block_solve(int n, const double* D, double* x)
{
    switch (n) {
#define SIZE(n) \
    case n: solve_block(n, D, x); break;
        BLOCK_SIZES(SIZE)
#undef SIZE
    default: solve_block(n, D, x);
    }
}

// --- solves on a few nodes ----------------------------------------------------------------------

// One position of a tree; in loops the whole front, at its first position.
static void forward_place(const tni_ldl* ldl, int place, int count, double* x)
{
    const int f = ldl->plan->front_of[place];
    if (f < 0) forward_node(ldl, place, count, x);
    else if (ldl->front_groups == NULL && ldl->plan->front[f].first == place)
        tni_front_forward(ldl, f, count, x);
}

static void backward_place(const tni_ldl* ldl, int place, int count, double* x)
{
    const int f = ldl->plan->front_of[place];
    if (f < 0) backward_node(ldl, place, count, x);
    else if (ldl->plan->front[f].first != place) return;
    else if (ldl->front_groups != NULL) backward_groups(ldl, f, count, x);
    else tni_front_backward(ldl, f, count, x);
}

// Walks from a node, or from the first of its front, up to the first position already visited, into
// ldl->segment; returns the length. Positions whose mark is not `old` have no right-hand side:
// their part of x is set to zero, and *fresh counts them.
static int walk_up(tni_ldl* ldl, int node, int old, int count, double* x, int* fresh)
{
    const tni_plan* plan = ldl->plan;
    const int       f    = plan->front_of[plan->place[node]];
    int             size = 0, p = f < 0 ? plan->place[node] : plan->front[f].first;
    for (; p >= 0 && ldl->mark[p] != ldl->stamp; p = plan->parent[p]) {
        if (ldl->mark[p] != old) {
            const tni_pivot* v = &plan->pivot[p];
            memset(x + (size_t)v->row * (size_t)count, 0, sizeof *x * (size_t)(v->dim * count));
            ++*fresh;
        }
        ldl->mark[p]         = ldl->stamp;
        ldl->segment[size++] = p;
    }
    return size;
}

// The nodes and their ancestors as ascending positions in ldl->path; returns how many. Each walk is
// ascending; it is merged from the back. So sums run in the order of a full solve.
static int gather_up(tni_ldl* ldl, const int* nodes, int node_count, int count, double* x)
{
    int *     path = ldl->path, length = 0, fresh = 0;
    const int old = ldl->stamp++;
    for (int i = 0; i < node_count; ++i) {
        int size = walk_up(ldl, nodes[i], old, count, x, &fresh);
        int from = length - 1, to = length + size - 1;
        length += size;
        while (size > 0) {
            const bool older = from >= 0 && path[from] > ldl->segment[size - 1];
            path[to--]       = older ? path[from--] : ldl->segment[--size];
        }
    }
    return length;
}

// The same with parents before children: walk after walk, each from its top.
static int gather_down(tni_ldl* ldl, const int* nodes, int node_count, int count, double* x,
                       int* fresh)
{
    int       length = 0;
    const int old    = ldl->stamp++;
    for (int i = 0; i < node_count; ++i) {
        int size = walk_up(ldl, nodes[i], old, count, x, fresh);
        while (size > 0) ldl->path[length++] = ldl->segment[--size];
    }
    return length;
}

// Forward solve from the given nodes; returns the length of ldl->path.
static int go_up(tni_ldl* ldl, const int* given, int given_count, int count, double* x)
{
    const tni_plan* plan = ldl->plan;
    if (ldl->stamp > INT32_MAX - 4) {
        ldl->stamp = 0;
        memset(ldl->mark, 0, sizeof *ldl->mark * (size_t)plan->count);
    }
    ++ldl->stamp;
    for (int i = 0; i < given_count; ++i) ldl->mark[plan->place[given[i]]] = ldl->stamp;
    const int up = gather_up(ldl, given, given_count, count, x);
    for (int k = 0; k < up; ++k) forward_place(ldl, ldl->path[k], count, x);
    for (int first = 0; ldl->front_groups != NULL && first < count;
         first += TNI_FRONT_GROUP_SIDES) {
        for (int k = 0; k < up; ++k) {
            const int f = plan->front_of[ldl->path[k]];
            if (f >= 0 && plan->front[f].first == ldl->path[k])
                tni_front_groups_forward(ldl, f, first, sides_from(first, count), count, ldl->mark,
                                         ldl->stamp, x);
        }
    }
    return up;
}

int tni_ldl_half_solve(tni_ldl* ldl, const int* given, int given_count, int count, double* x,
                       const int** places)
{
    *places = ldl->path;
    return go_up(ldl, given, given_count, count, x);
}

int tni_ldl_solve_path(tni_ldl* ldl, const int* given, int given_count, const int* wanted,
                       int wanted_count, int count, double* x)
{
    const int up    = go_up(ldl, given, given_count, count, x);
    int       fresh = 0;
    const int down  = gather_down(ldl, wanted, wanted_count, count, x, &fresh);
    for (int k = 0; k < down; ++k) backward_place(ldl, ldl->path[k], count, x);
    return up + fresh;
}
