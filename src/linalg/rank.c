// rank: which B rows of a saddle system follow from others.
//
// The pivots of the saddle's own factorisation cannot tell: there a B node may come up before all of its A nodes,
// and a row that only waits for an A node has a vanishing pivot as well. So the loops are ordered and
// factored once more, every B node after all of its A nodes. What is then factored is
//
//     S = J A^-1 J^T,  positive semidefinite
//
// and by its rows in order: a pivot vanishes exactly where a row depends on those before it. Such a pivot is made
// infinite, which leaves its row out of all that follows. Rounding grows where independent pivots are small; measured
// (largest dependent, smallest independent pivot, relative to S_ii): linkages 1e-12, 1e-5; cubes of 2, 3, 4
// octahedra a side 1e-10, 1e-9, 2e-9 against 1e-5, 2e-7, 1e-7; tubes of up to 4 x 12 octahedra 2e-9, 2e-7. In a tube
// of 8 x 20 (19,206 rows) the two meet at 8e-8, and the count is off by 3 %.
//
// Cost: that of S's factor, which can be much more than the saddle's (a node with m neighbours makes a clique
// of all of their rows), so this is for once a model, not for steps. Memory comes and goes with the call.
#include "linalg/rank.h"

#include <math.h>

#define INFINITE 1e200

// The nodes and edges of loops, numbered among themselves.
typedef struct loops {
    int     count, edge_count;
    int *   node, *edge; ///< theirs
    int*    index;       ///< of each node of the whole, -1: in a tree
    int *   row_node, *col_node, *dim;
    int8_t* sign;
} loops;

static loops loops_of(tni_arena* arena, const tni_saddle* s)
{
    const tni_plan* plan = s->plan;
    const size_t    n = (size_t)plan->count, m = (size_t)plan->edge_count;
    loops           l = {.node     = TNI_TAKE(arena, int, n),
                         .edge     = TNI_TAKE(arena, int, m),
                         .index    = TNI_TAKE(arena, int, n),
                         .row_node = TNI_TAKE(arena, int, m),
                         .col_node = TNI_TAKE(arena, int, m),
                         .dim      = TNI_TAKE(arena, int, n),
                         .sign     = TNI_TAKE(arena, int8_t, n)};
    if (arena->failed) return l;
    for (int v = 0; v < plan->count; ++v) {
        l.index[v] = -1;
        if (!s->refined[plan->component_of[v]]) continue;
        l.index[v]        = l.count;
        l.node[l.count]   = v;
        l.dim[l.count]    = plan->dim[v];
        l.sign[l.count++] = plan->sign[v];
    }
    for (int e = 0; e < plan->edge_count; ++e) {
        if (l.index[plan->row_node[e]] < 0) continue;
        l.edge[l.edge_count]       = e;
        l.row_node[l.edge_count]   = l.index[plan->row_node[e]];
        l.col_node[l.edge_count++] = l.index[plan->col_node[e]];
    }
    return l;
}

static void load(tni_ldl* ldl, tni_saddle* s, const loops* l)
{
    tni_ldl_clear(ldl, -1);
    for (int v = 0; v < l->count; ++v) {
        const int     node = l->node[v], n = l->dim[v];
        const double  sign = l->sign[v];
        double*       to   = ldl->value + ldl->plan->pivot[ldl->plan->place[v]].at;
        const double* from = s->diagonal + s->diagonal_at[node];
        for (int k = 0; k < n * n; ++k) to[k] = sign * from[k];
    }
    for (int e = 0; e < l->edge_count; ++e) tni_ldl_load_edge(ldl, e, tni_saddle_j(s, l->edge[e]));
}

static tn_result factor(tni_arena* arena, tni_saddle* s, const loops* l, double* margin)
{
    const uint8_t* weak =
        TNI_TAKE(arena, uint8_t, l->edge_count); // none is strong: B after all of its A
    const tni_graph graph = {l->count,    l->dim,      l->sign, l->edge_count,
                             l->row_node, l->col_node, weak};
    tni_plan*       plan;
    tni_ldl*        ldl;
    if (arena->failed || tni_plan_create(arena, &graph, &plan) != TN_OK) return TN_ERR_MEMORY;
    double* scale = TNI_TAKE(arena, double, plan->row_count);
    double* alpha = TNI_TAKE(arena, double, plan->row_count);
    if (arena->failed || tni_ldl_create(arena, plan, &ldl) != TN_OK) return TN_ERR_MEMORY;
    for (int v = 0; v < l->count; ++v) {
        for (int k = 0; k < l->dim[v]; ++k) {
            scale[plan->row_start[v] + k] = s->scale[s->plan->row_start[l->node[v]] + k];
            alpha[plan->row_start[v] + k] = INFINITE;
        }
    }
    load(ldl, s, l);
    const tni_pivot_rule rule = {.scale = scale, .alpha = alpha, .tolerance = TNI_RANK_DEPENDENT};
    tni_pivot_report     report;
    if (tni_ldl_factor(ldl, -1, &rule, &report) != TN_OK) return TN_ERR_SINGULAR;
    for (int v = 0; v < l->count; ++v) {
        for (int k = 0; l->sign[v] < 0 && k < l->dim[v]; ++k) {
            margin[s->plan->row_start[l->node[v]] + k] = ldl->relative[plan->row_start[v] + k];
        }
    }
    return TN_OK;
}

tn_result tni_rank_rows(tni_saddle* s, tni_arena* scratch, double* margin)
{
    for (int i = 0; i < s->plan->row_count; ++i) margin[i] = 1;
    const loops l = loops_of(scratch, s);
    return scratch->failed ? TN_ERR_MEMORY : factor(scratch, s, &l, margin);
}
