// grandparent: block L d U of a saddle matrix on a tree with blocks between grandparents.
//
//     H x = b,   H = [ A  J^T ]   A: A nodes, with blocks G between two A nodes that share a B node
//                    [ J  -E  ]   E: B nodes, positive semidefinite, may be zero
//
// In a tree A and B nodes alternate, so the A node beyond a node's parent is its grandparent [1,
// sec. 4]; or its sibling, if the parent is a root with two A nodes. With k the parent of node i
// and g the other A node, both later in the order, eliminating i changes k, g and the block between
// them:
//
//     H_ii = L_i d_i U_i                       unit triangles, reciprocals of d_i stored
//     X = L_i^-1 H_ik   Y = L_i^-1 H_ig        V = U_i^-T H_ki^T   W = U_i^-T H_gi^T
//     H_kk -= V^T d_i^-1 X   H_gg -= W^T d_i^-1 Y   H_kg -= V^T d_i^-1 Y   H_gk -= W^T d_i^-1 X
//     forward   z_i <- L_i^-1 z_i,  z_k -= V^T d_i^-1 z_i,  z_g -= W^T d_i^-1 z_i
//     backward  x_i  = U_i^-1 d_i^-1 (z_i - X x_k - Y x_g)
//
// All of these blocks exist: H_kg is the block of k with its parent (of g with its parent, for
// siblings). So there is no fill-in, O(count) time, a constant number of words a node. Symmetric: U
// = L^T, V = X, W = Y, H_gk is not stored. [1] prints this for symmetric A only, and with H_ij^T
// for H_ji^T in the forward sweep; its springs make A non-symmetric.
//
// Symmetric: no pivoting. A pivots are positive as long as A is positive definite, B pivots
// negative as long as the rows towards the child are independent, or E is present; a pivot that has
// lost 13 digits of the diagonal before the node's elimination is taken for zero. General: if the
// symmetric part of A is definite, so is that of every reduced H_ii, and no pivot can vanish. Exact
// derivatives of forces do not guarantee that; hence scaled partial pivoting inside a node, which
// costs a few comparisons. No pivoting between nodes: that would cause fill-in.
//
// Flops a link of an A node of 6 and a B node of m rows, factor / solve, symmetric:
//     m = 3: 1149 / 378,  m = 5: 1694 / 506      without G: 465 / 234, 866 / 362
// of which m (m + 1) / 2 are for E. Factors of the general kind take 2035 and 3037.
// Measured (bench/micro/grand.c), chain of 1000 links, gcc 12 -O3, SSE2, one EPYC core shared with
// other work, best of many; for comparison ldl.c with the same springs as m' compliant rows:
//     m    symmetric      general        rows, m + m' = 6
//     3    302 / 109 ns   653 / 116 ns   298 / 138 ns
//     5    390 / 140 ns   950 / 152 ns   298 / 138 ns
// General without constant sizes: 1309 and 1853 ns.
//
// [1] F. Hernandez, C. Garre, R. Casillas, M. A. Otaduy, Linear-Time Dynamics of Characters with
//     Stiff Joints, V Ibero-American Symposium in Computer Graphics 2011.
#include "linalg/grandparent.h"

#include "linalg/block.h"

#include <float.h>
#include <math.h>

static const double lost = 1e-13; // relative to the diagonal: a B pivot below this counts as zero

_Static_assert(TNI_DIM_MAX <= 255, "an exchange fits a byte");

// --- making -------------------------------------------------------------------------------------

static bool all_trees(const tni_plan* plan)
{
    for (int c = 0; c < plan->component_count; ++c) {
        if (!plan->tree[c]) return false;
    }
    return true;
}

// Finds the other A node: the grandparent, or the later of the two children of a root.
static void find_others(tni_grandparent* grand, const uint8_t* coupled, int* last_child)
{
    const tni_plan* plan = grand->plan;
    for (int p = 0; p < plan->count; ++p) last_child[p] = -1;
    for (int p = 0; p < plan->count; ++p) {
        if (plan->parent[p] >= 0) last_child[plan->parent[p]] = p;
    }
    for (int p = 0; p < plan->count; ++p) {
        tni_grandparent_node* i = &grand->node[p];
        const int             k = i->parent;
        if (i->sign < 0 || k < 0 || grand->node[k].sign > 0) continue;
        if (coupled != NULL && !coupled[plan->order[k]]) continue;
        const int to = plan->parent[k] < 0 ? last_child[k] : plan->parent[k];
        if (to == p) continue;
        i->sibling   = plan->parent[k] < 0;
        i->other     = to;
        i->other_dim = plan->dim[plan->order[to]];
    }
}

static void count_flops(tni_grandparent* grand, const tni_grandparent_node* i)
{
    const double n = i->dim, r = i->parent_dim + i->other_dim;
    if (grand->kind == TNI_GRANDPARENT_SYMMETRIC)
        grand->factor_flops += n * (2 * n * n + 3 * n + 1) / 6 + n * n * r + n * r * (r + 1);
    else grand->factor_flops += n * (2 * n * n + 1) / 3 + n * (2 * n - 1) * r + 2 * n * r * r;
    grand->solve_flops += 2 * n * n + 4 * n * r;
}

static void lay_out(tni_grandparent* grand, size_t* values)
{
    const size_t sides = grand->kind == TNI_GRANDPARENT_GENERAL ? 2 : 1;
    for (int p = 0; p < grand->plan->count; ++p) {
        tni_grandparent_node* i = &grand->node[p];
        const size_t n = (size_t)i->dim, m = (size_t)i->parent_dim, g = (size_t)i->other_dim;
        i->at    = *values;
        i->given = grand->given_count;
        *values += n * n + sides * n * (m + g);
        grand->given_count += sides * n * g;
        count_flops(grand, i);
    }
}

static void tie(tni_grandparent* grand)
{
    const tni_plan* plan = grand->plan;
    for (int p = 0; p < plan->count; ++p) {
        const tni_pivot* v = &plan->pivot[p];
        const int        k = plan->parent[p];
        grand->node[p]     = (tni_grandparent_node){
                .row = v->row, .dim = v->dim, .sign = v->sign, .parent = k, .other = -1};
        if (k < 0) continue;
        grand->node[p].parent_dim = plan->pivot[k].dim;
        grand->edge[p]            = plan->slot_edge[v->slot];
    }
}

tn_result tni_grandparent_create(tni_arena* arena, const tni_plan* plan, const uint8_t* coupled,
                                 tni_grandparent_kind kind, tni_grandparent** out)
{
    *out = NULL;
    if (!all_trees(plan)) return TN_ERR_UNSUPPORTED;
    tni_grandparent* grand = TNI_TAKE(arena, tni_grandparent, 1);
    if (grand == NULL) return TN_ERR_MEMORY;
    *grand         = (tni_grandparent){.plan     = plan,
                                       .kind     = kind,
                                       .node     = TNI_TAKE(arena, tni_grandparent_node, plan->count),
                                       .edge     = TNI_TAKE(arena, int, plan->count),
                                       .fetched  = TNI_TAKE(arena, uint8_t, plan->count),
                                       .exchange = TNI_TAKE(arena, uint8_t, plan->row_count)};
    size_t values  = 0;
    int*   scratch = TNI_TAKE(arena, int, plan->count);
    if (arena->failed) return TN_ERR_MEMORY;
    tie(grand);
    find_others(grand, coupled, scratch);
    lay_out(grand, &values);
    grand->value = TNI_TAKE(arena, double, values);
    grand->given = TNI_TAKE(arena, double, grand->given_count);
    if (arena->failed) return TN_ERR_MEMORY;
    *out = grand;
    return TN_OK;
}

double* tni_grandparent_between(tni_grandparent* grand, int row, int col)
{
    const int                   p = grand->plan->place[row], q = grand->plan->place[col];
    const tni_grandparent_node *i = &grand->node[p], *g = &grand->node[q];
    if (i->other == q) return grand->given + i->given;
    if (g->other == p && grand->kind == TNI_GRANDPARENT_GENERAL)
        return grand->given + g->given + i->dim * g->dim;
    return NULL;
}

void tni_grandparent_clear(tni_grandparent* grand)
{
    memset(grand->given, 0, sizeof(double) * grand->given_count);
}

// --- loading ------------------------------------------------------------------------------------

// to <- from^T, from being n x m.
static void transpose(int n, int m, const double* from, double* to)
{
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < m; ++j) to[n * j + i] = from[m * i + j];
    }
}

// Loads a node and its edges, when it is first needed.
static void fetch(tni_grandparent* grand, int place, const tni_blocks* blocks)
{
    if (grand->fetched[place]) return;
    grand->fetched[place]            = 1;
    const tni_plan*             plan = grand->plan;
    const tni_grandparent_node* i    = &grand->node[place];
    const int                   n = i->dim, m = i->parent_dim, size = n * i->other_dim;
    double *                    D = grand->value + i->at, *X = D + n * n, *Y = X + n * m;
    const double*               from  = blocks->diagonal + blocks->diagonal_at[plan->order[place]];
    const double*               given = grand->given + i->given;
    for (int k = 0; k < n * n; ++k) D[k] = i->sign > 0 ? from[k] : blocks->hard ? 0 : -from[k];
    if (i->parent >= 0) {
        const int     edge  = grand->edge[place];
        const double* J     = blocks->edge + blocks->edge_at[edge];
        const bool    is_up = plan->row_node[edge] == plan->order[place];
        if (is_up) memcpy(X, J, sizeof *X * (size_t)(n * m));
        else transpose(m, n, J, X);
    }
    memcpy(Y, given, sizeof *Y * (size_t)size);
    if (grand->kind == TNI_GRANDPARENT_SYMMETRIC) return;
    memcpy(Y + size, X, sizeof *X * (size_t)(n * m));
    transpose(i->other_dim, n, given + size, Y + size + n * m);
}

// --- factor -------------------------------------------------------------------------------------

// Dimensions of a node, its parent and the other A node with kernels of constant size.
#define LINKS(X)      X(6, 3, 6) X(6, 5, 6) X(6, 3, 0) X(6, 5, 0) X(3, 6, 0) X(5, 6, 0)
#define LINK(n, m, g) ((n) << 16 | (m) << 8 | (g))

// X <- U^-T X and X <- U^-1 X, X being n x m, the unit triangle U above the diagonal of D.
TNI_INLINE void upper_transposed(int n, int m, const double* restrict D, double* restrict X)
{
    for (int i = 1; i < n; ++i) {
        for (int k = 0; k < i; ++k) {
            const double u = D[n * k + i];
            for (int c = 0; c < m; ++c) X[m * i + c] -= u * X[m * k + c];
        }
    }
}
TNI_INLINE void upper(int n, int m, const double* restrict D, double* restrict X)
{
    for (int i = n - 2; i >= 0; --i) {
        for (int k = i + 1; k < n; ++k) {
            const double u = D[n * i + k];
            for (int c = 0; c < m; ++c) X[m * i + c] -= u * X[m * k + c];
        }
    }
}

TNI_INLINE void swap_rows(int m, int i, int j, double* X)
{
    for (int c = 0; c < m && i != j; ++c) {
        const double old = X[m * i + c];
        X[m * i + c]     = X[m * j + c];
        X[m * j + c]     = old;
    }
}

TNI_INLINE void exchange_rows(int n, int m, const uint8_t* exchange, double* X)
{
    for (int j = 0; j < n; ++j) swap_rows(m, j, exchange[j], X);
}

static void note(tni_pivot_report* report, int sign, int row, double relative)
{
    if (sign > 0 || !(relative < report->smallest)) return;
    report->smallest     = relative;
    report->smallest_row = row;
}

// D = L d L^T. Returns -1, or the row of an unusable pivot.
TNI_INLINE int factor_symmetric(int n, int sign, int row, double* D, tni_pivot_report* report)
{
    double scale[TNI_DIM_MAX];
    for (int j = 0; j < n; ++j) scale[j] = fabs(D[(n + 1) * j]);
    for (int j = 0; j < n; ++j) {
        const double d = D[(n + 1) * j], size = sign > 0 ? d : -d;
        if (!(size > 0 && size <= DBL_MAX)) return row + j;
        if (sign < 0) note(report, sign, row + j, size / scale[j]);
        if (sign < 0 && !(size > lost * scale[j])) return row + j;
        tni_block_column(n, j, 1 / d, D);
    }
    return -1;
}

// D = L d U with row exchanges. Returns -1, or the row of an unusable pivot.
TNI_INLINE int factor_general(int n, int sign, int row, double* D, uint8_t* exchange,
                              tni_pivot_report* report)
{
    double inverse[TNI_DIM_MAX]; // 1 / largest entry, by row
    for (int i = 0; i < n; ++i) {
        double largest = 0;
        for (int k = 0; k < n; ++k) largest = fmax(largest, fabs(D[n * i + k]));
        inverse[i] = largest > 0 ? 1 / largest : 0;
    }
    for (int j = 0; j < n; ++j) {
        int best = j;
        for (int i = j + 1; i < n; ++i) {
            if (fabs(D[n * i + j]) * inverse[i] > fabs(D[n * best + j]) * inverse[best]) best = i;
        }
        const double d = D[n * best + j], relative = fabs(d) * inverse[best];
        note(report, sign, row + j, relative);
        if (!(relative > (sign > 0 ? 0 : lost))) return row + j; // NaN if not finite
        swap_rows(n, j, best, D);
        inverse[best]           = inverse[j];
        exchange[j]             = (uint8_t)best;
        const double reciprocal = 1 / d;
        for (int i = j + 1; i < n; ++i) {
            const double l = D[n * i + j] * reciprocal;
            for (int k = j + 1; k < n; ++k) D[n * i + k] -= l * D[n * j + k];
            D[n * i + j] = l;
        }
        for (int k = j + 1; k < n; ++k) D[n * j + k] *= reciprocal;
        D[n * j + j] = reciprocal;
    }
    return -1;
}

// Blocks changed by an elimination: the diagonal blocks of the later two, and between them P =
// H_kg, Q = H_gk^T; for siblings P = H_gk, Q = H_kg^T.
typedef struct later_blocks {
    double *Dk, *Dg, *P, *Q;
} later_blocks;

TNI_INLINE void fold_symmetric(int n, int m, int g, bool sibling, const double* D, double* X,
                               const later_blocks* to)
{
    double* Y = X + n * m;
    tni_block_lower(n, m, D, X);
    tni_block_update(n, m, m, D, X, X, to->Dk);
    if (g == 0) return;
    tni_block_lower(n, g, D, Y);
    tni_block_update(n, g, g, D, Y, Y, to->Dg);
    if (sibling) tni_block_update(n, g, m, D, Y, X, to->P);
    else tni_block_update(n, m, g, D, X, Y, to->P);
}

TNI_INLINE void fold_general(int n, int m, int g, bool sibling, const double* D,
                             const uint8_t* exchange, double* X, const later_blocks* to)
{
    double *Y = X + n * m, *V = Y + n * g, *W = V + n * m;
    exchange_rows(n, m, exchange, X);
    tni_block_lower(n, m, D, X);
    upper_transposed(n, m, D, V);
    tni_block_update(n, m, m, D, V, X, to->Dk);
    if (g == 0) return;
    exchange_rows(n, g, exchange, Y);
    tni_block_lower(n, g, D, Y);
    upper_transposed(n, g, D, W);
    tni_block_update(n, g, g, D, W, Y, to->Dg);
    if (sibling) {
        tni_block_update(n, g, m, D, W, X, to->P);
        tni_block_update(n, g, m, D, Y, V, to->Q);
    } else {
        tni_block_update(n, m, g, D, V, Y, to->P);
        tni_block_update(n, m, g, D, X, W, to->Q);
    }
}

TNI_INLINE int eliminate(int n, int m, int g, bool sibling, tni_grandparent* grand,
                         const tni_grandparent_node* i, const later_blocks* to)
{
    double*    D        = grand->value + i->at;
    uint8_t*   exchange = grand->exchange + i->row;
    const bool general  = grand->kind == TNI_GRANDPARENT_GENERAL;
    const int  bad      = general ? factor_general(n, i->sign, i->row, D, exchange, &grand->report)
                                  : factor_symmetric(n, i->sign, i->row, D, &grand->report);
    if (bad >= 0 || i->parent < 0) return bad;
    if (general) fold_general(n, m, g, sibling, D, exchange, D + n * n, to);
    else fold_symmetric(n, m, g, sibling, D, D + n * n, to);
    return -1;
}

static int eliminate_node(tni_grandparent* grand, const tni_grandparent_node* i,
                          const later_blocks* to)
{
    const int n = i->dim, m = i->parent_dim, g = i->other_dim;
    if (i->sibling) return eliminate(n, m, g, true, grand, i, to); // at most one in a tree
    switch (LINK(n, m, g)) {
#define SIZE(n, m, g) \
    case LINK(n, m, g): return eliminate(n, m, g, false, grand, i, to);
        LINKS(SIZE)
#undef SIZE
    default: return eliminate(n, m, g, false, grand, i, to);
    }
}

// Loads the later nodes and returns the blocks to update.
static later_blocks reach(tni_grandparent* grand, const tni_grandparent_node* i,
                          const tni_blocks* blocks)
{
    later_blocks to = {NULL, NULL, NULL, NULL};
    if (i->parent < 0) return to;
    fetch(grand, i->parent, blocks);
    to.Dk = grand->value + grand->node[i->parent].at;
    if (i->other < 0) return to;
    fetch(grand, i->other, blocks);
    to.Dg = grand->value + grand->node[i->other].at;
    // The block of the earlier of the two with its own parent, which is the later one.
    const tni_grandparent_node* k = &grand->node[i->sibling ? i->other : i->parent];
    to.P                          = grand->value + k->at + k->dim * k->dim;
    to.Q                          = to.P + k->dim * (k->parent_dim + k->other_dim);
    return to;
}

tn_result tni_grandparent_factor(tni_grandparent* grand, const tni_blocks* blocks)
{
    grand->report = (tni_pivot_report){.smallest = HUGE_VAL, .smallest_row = -1, .bad_row = -1};
    memset(grand->fetched, 0, (size_t)grand->plan->count);
    for (int p = 0; p < grand->plan->count; ++p) {
        const tni_grandparent_node* i = &grand->node[p];
        fetch(grand, p, blocks);
        const later_blocks to  = reach(grand, i, blocks);
        const int          bad = eliminate_node(grand, i, &to);
        if (bad < 0) continue;
        grand->report.bad_row = bad;
        return TN_ERR_SINGULAR;
    }
    return TN_OK;
}

// --- solve --------------------------------------------------------------------------------------

TNI_INLINE void forward(int n, int m, int g, int count, const tni_grandparent* grand,
                        const tni_grandparent_node* i, double* x)
{
    const bool    general = grand->kind == TNI_GRANDPARENT_GENERAL;
    const double *D = grand->value + i->at, *V = D + n * n + (general ? n * (m + g) : 0);
    double*       w = x + (size_t)i->row * (size_t)count;
    if (general) exchange_rows(n, count, grand->exchange + i->row, w);
    tni_block_lower(n, count, D, w);
    if (m > 0)
        tni_block_push(n, m, count, D, V, w,
                       x + (size_t)grand->node[i->parent].row * (size_t)count);
    if (g > 0)
        tni_block_push(n, g, count, D, V + n * m, w,
                       x + (size_t)grand->node[i->other].row * (size_t)count);
}

TNI_INLINE void backward(int n, int m, int g, int count, const tni_grandparent* grand,
                         const tni_grandparent_node* i, double* x)
{
    const double *D = grand->value + i->at, *X = D + n * n;
    double*       w = x + (size_t)i->row * (size_t)count;
    if (m > 0)
        tni_block_pull(n, m, count, X, x + (size_t)grand->node[i->parent].row * (size_t)count, w);
    if (g > 0)
        tni_block_pull(n, g, count, X + n * m,
                       x + (size_t)grand->node[i->other].row * (size_t)count, w);
    tni_block_scale(n, count, D, w);
    if (grand->kind == TNI_GRANDPARENT_GENERAL) upper(n, count, D, w);
    else tni_block_upper(n, count, D, w);
}

static void forward_one(const tni_grandparent* grand, const tni_grandparent_node* i, double* x)
{
    switch (LINK(i->dim, i->parent_dim, i->other_dim)) {
#define SIZE(n, m, g) \
    case LINK(n, m, g): forward(n, m, g, 1, grand, i, x); break;
        LINKS(SIZE)
#undef SIZE
    default: forward(i->dim, i->parent_dim, i->other_dim, 1, grand, i, x);
    }
}

static void backward_one(const tni_grandparent* grand, const tni_grandparent_node* i, double* x)
{
    switch (LINK(i->dim, i->parent_dim, i->other_dim)) {
#define SIZE(n, m, g) \
    case LINK(n, m, g): backward(n, m, g, 1, grand, i, x); break;
        LINKS(SIZE)
#undef SIZE
    default: backward(i->dim, i->parent_dim, i->other_dim, 1, grand, i, x);
    }
}

void tni_grandparent_solve(const tni_grandparent* grand, int count, double* x)
{
    TN_ASSERT(count <= TNI_DIM_MAX);
    const tni_grandparent_node* node = grand->node;
    for (int p = 0; p < grand->plan->count; ++p) {
        const tni_grandparent_node* i = &node[p];
        if (count == 1) forward_one(grand, i, x);
        else forward(i->dim, i->parent_dim, i->other_dim, count, grand, i, x);
    }
    for (int p = grand->plan->count - 1; p >= 0; --p) {
        const tni_grandparent_node* i = &node[p];
        if (count == 1) backward_one(grand, i, x);
        else backward(i->dim, i->parent_dim, i->other_dim, count, grand, i, x);
    }
}
