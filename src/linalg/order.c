// order: fill-reducing elimination orders of block graphs.
//
// A nodes have positive definite blocks, B nodes zero or negative ones; see ldl.c for the matrix.
// Without pivoting a B node has a usable pivot only if nodes eliminated before it made its block
// definite. An edge is strong if its block has full row rank: then one A node is enough.
//
// Trees. A component can be eliminated exactly, leaves first, without fill-in [1, sec. 7.1] when it
// has no cycle, no B node with three A nodes, and a root such that every other B node has a strong
// edge to its child. A B node with a single neighbour can therefore only be the root, and so can
// one without any strong edge. bad(v) counts the B nodes that violate this if v were the root;
// moving the root over one edge changes the state of one B node, so one traversal finds bad(v) for
// all v. Of the nodes with bad(v) = 0 the root is the one closest to the middle of the longest path
// (lowest number on ties), which makes two independent halves. Nodes are listed by distance from
// the root, farthest first: neighbours in that order are independent, and their latencies overlap.
//
// Loops. Minimum degree (minimum_degree.c). For large components with large fronts also nested
// dissection (nested_dissection.c) with minimum degree inside its regions. The cheaper order is
// taken; costs are counted exactly, without numeric factorisation.
//
// Support rule: a B node is eliminated after one of its A nodes, with a strong edge and enough free
// rows, or after all of them. An A node supports as many rows as it has itself; a B node of m rows
// uses m of them. Without this count a second B node relies on rows that are already used: its
// pivots have size eps_T although it is not redundant, and rounding grows.
// Measured against the rule without the count, eps_T = 1e-11, seven classes of 30 to 150 random
// systems each (refinement steps and residual after them: medians; flops: sums):
//     scissors        3 -> 1 steps, 2e-11 -> 1e-15, flops + 4 %
//     planar linkages 3 -> 1        4e-12 -> 1e-14        + 12 %
//     grids 4 x 4     2 -> 1        5e-12 -> 6e-14        + 7 %
//     closed chains   3 -> 1        2e-12 -> 4e-14        + 34 %
//     3d, few loops   1 -> 1        3e-15 -> 1e-15        + 4 %
//     grids 8 x 8     2 -> 2        6e-12 -> 1e-11        + 8 %    no gain
//     3d, many loops  2 -> 2        9e-12 -> 5e-11        + 25 %   a loss
//
// [1] D. Baraff, Linear-Time Dynamics using Lagrange Multipliers, SIGGRAPH 96.
// [2] T. Davis, Algorithm 849: A Concise Sparse Cholesky Factorization Package, TOMS 2005.
#include "linalg/order.h"

#include "linalg/nested_dissection.h"

#include <math.h>

// Nested dissection is tried on components with at least so many nodes whose factor takes at least
// so many flops a nonzero, i.e. with fronts of about so many rows on average. Scissors and walkers
// have smaller ones and gain nothing.
enum { DISSECT_NODES = 1000, DISSECT_FLOPS = 64 };

tni_adjacency tni_adjacency_make(tni_arena* arena, const tni_graph* graph)
{
    const int     n = graph->count, m = graph->edge_count;
    tni_adjacency a    = {.count = n, .dim = graph->dim, .hard = graph->dim, .sign = graph->sign};
    int8_t*       sign = graph->hard != NULL ? TNI_TAKE(arena, int8_t, n) : NULL;
    a.start            = TNI_TAKE(arena, int, n + 2);
    a.node             = TNI_TAKE(arena, int, 2 * (size_t)m);
    a.strong           = TNI_TAKE(arena, uint8_t, 2 * (size_t)m);
    if (arena->failed) return a;
    for (int v = 0; sign != NULL && v < n; ++v) sign[v] = graph->hard[v] == 0 ? 1 : graph->sign[v];
    if (sign != NULL) a.sign = sign, a.hard = graph->hard;
    int* fill = a.start + 1; // becomes start once filled
    for (int e = 0; e < m; ++e) {
        TN_ASSERT(graph->row_node[e] != graph->col_node[e]);
        ++fill[graph->row_node[e] + 1];
        ++fill[graph->col_node[e] + 1];
    }
    for (int v = 0; v < n; ++v) fill[v + 1] += fill[v];
    for (int e = 0; e < m; ++e) {
        const int r = graph->row_node[e], c = graph->col_node[e];
        a.strong[fill[r]] = a.strong[fill[c]] = graph->strong[e];
        a.node[fill[r]++]                     = c;
        a.node[fill[c]++]                     = r;
    }
    return a;
}

int tni_order_breadth(const tni_adjacency* graph, int root, int* queue, int* up)
{
    int count      = 0;
    queue[count++] = root;
    for (int i = 0; i < count; ++i) {
        const int v = queue[i];
        for (int k = graph->start[v]; k < graph->start[v + 1]; ++k) {
            const int w = graph->node[k];
            if (w == root || w == up[v] || up[w] >= 0) continue;
            up[w]          = v;
            queue[count++] = w;
        }
    }
    return count;
}

int tni_order_components(const tni_adjacency* graph, int* nodes, int* start, int* component_of)
{
    int components = 0, count = 0;
    for (int v = 0; v < graph->count; ++v) component_of[v] = -1;
    for (int v = 0; v < graph->count; ++v) {
        if (component_of[v] >= 0) continue;
        component_of[v]   = components;
        start[components] = count;
        nodes[count++]    = v;
        for (int i = start[components]; i < count; ++i) {
            for (int k = graph->start[nodes[i]]; k < graph->start[nodes[i] + 1]; ++k) {
                const int w = graph->node[k];
                if (component_of[w] >= 0) continue;
                component_of[w] = components;
                nodes[count++]  = w;
            }
        }
        ++components;
    }
    start[components] = count;
    return components;
}

// No cycle, and every B node has one or two neighbours, all A nodes.
static bool tree_shaped(const tni_adjacency* graph, const int* nodes, int count)
{
    int ends = 0;
    for (int i = 0; i < count; ++i) {
        const int v = nodes[i], degree = graph->start[v + 1] - graph->start[v];
        ends += degree;
        if (graph->sign[v] > 0) continue;
        if (degree < 1 || degree > 2) return false;
        for (int k = graph->start[v]; k < graph->start[v + 1]; ++k) {
            if (graph->sign[graph->node[k]] < 0) return false;
        }
    }
    return ends == 2 * (count - 1);
}

// 1 if B node b with parent p has no child over a strong edge.
static int lacks_support(const tni_adjacency* graph, int b, int p)
{
    for (int k = graph->start[b]; k < graph->start[b + 1]; ++k) {
        if (graph->node[k] != p && graph->strong[k]) return 0;
    }
    return 1;
}

static void count_bad(const tni_adjacency* graph, const int* queue, const int* up, int count,
                      int* bad)
{
    int sum = 0;
    for (int i = 1; i < count; ++i) {
        if (graph->sign[queue[i]] < 0) sum += lacks_support(graph, queue[i], up[queue[i]]);
    }
    bad[queue[0]] = sum;
    for (int i = 1; i < count; ++i) {
        const int v = queue[i], p = up[v];
        bad[v] = bad[p];
        if (graph->sign[v] < 0) bad[v] -= lacks_support(graph, v, p);
        if (graph->sign[p] < 0) bad[v] += lacks_support(graph, p, v);
    }
}

// Distances from root; returns the farthest node, the lowest number of several.
static int measure(const tni_adjacency* graph, int root, int* queue, int* up, int* distance)
{
    const int count = tni_order_breadth(graph, root, queue, up);
    int       far   = root;
    distance[root]  = 0;
    for (int i = 1; i < count; ++i) {
        const int v = queue[i];
        distance[v] = distance[up[v]] + 1;
        if (distance[v] > distance[far] || (distance[v] == distance[far] && v < far)) far = v;
    }
    for (int i = 0; i < count; ++i) up[queue[i]] = -1;
    return far;
}

int tni_order_root(const tni_adjacency* graph, const int* nodes, int count, int* work)
{
    if (!tree_shaped(graph, nodes, count)) return -1;
    const size_t n  = (size_t)graph->count;
    int *        up = work, *queue = work + n, *bad = work + 2 * n, *near = work + 3 * n,
        *far = work + 4 * n;

    tni_order_breadth(graph, nodes[0], queue, up);
    count_bad(graph, queue, up, count, bad);
    for (int i = 0; i < count; ++i) up[queue[i]] = -1;
    const int end = measure(graph, nodes[0], queue, up, near);
    measure(graph, measure(graph, end, queue, up, near), queue, up, far);

    int root = -1, best = 0;
    for (int i = 0; i < count; ++i) {
        const int v = nodes[i], height = near[v] > far[v] ? near[v] : far[v];
        if (bad[v] > 0) continue;
        if (root >= 0 && (height > best || (height == best && v > root))) continue;
        root = v;
        best = height;
    }
    return root;
}

// Adds up the cost of an order by component. Row p of the factor: the positions i < p that have p
// among their later neighbours form the subtree below p spanned by p's neighbours; traversing it
// also finds parents [2].
static bool add_costs(tni_arena* scratch, const tni_adjacency* graph, const int* order, int count,
                      const int* component_of, tni_order_cost* costs)
{
    const size_t n     = (size_t)graph->count;
    int *        place = TNI_TAKE(scratch, int, n), *parent = TNI_TAKE(scratch, int, n),
        *seen = TNI_TAKE(scratch, int, n), *rows = TNI_TAKE(scratch, int, n);
    if (scratch->failed) return false;
    for (size_t v = 0; v < n; ++v) place[v] = graph->count; // not in the order
    for (int p = 0; p < count; ++p) place[order[p]] = p, parent[p] = seen[p] = -1;
    for (int p = 0; p < count; ++p) {
        const int v = order[p];
        for (int k = graph->start[v]; k < graph->start[v + 1]; ++k) {
            for (int i = place[graph->node[k]]; i < p && seen[i] != p; i = parent[i]) {
                if (parent[i] < 0) parent[i] = p;
                seen[i] = p;
                rows[i] += graph->dim[v];
            }
        }
    }
    for (int p = 0; p < count; ++p) {
        const double    d = graph->dim[order[p]], r = rows[p];
        tni_order_cost* cost = &costs[component_of != NULL ? component_of[order[p]] : 0];
        cost->flops += d * (2 * d * d + 3 * d + 1) / 6 + d * (d - 1) * r + d * r + d * r * (r + 1);
        cost->numbers += d * d + d * r;
        cost->front = r + d > cost->front ? r + d : cost->front;
    }
    return true;
}

bool tni_order_cost_of(tni_arena* scratch, const tni_adjacency* graph, const int* order, int count,
                       tni_order_cost* cost)
{
    *cost = (tni_order_cost){0};
    return add_costs(scratch, graph, order, count, NULL, cost);
}

int tni_order_dissected(tni_arena* scratch, const tni_adjacency* graph, const uint8_t* skip,
                        int* order)
{
    int* region = TNI_TAKE(scratch, int, graph->count);
    if (scratch->failed || !tni_nested_dissection(scratch, graph, skip, region)) return -1;
    return tni_order_minimum_degree(scratch, graph, skip, region, order);
}

// Flops of one factorisation and about ten solves of four flops a nonzero.
static double price(const tni_order_cost* cost)
{
    return cost->flops + 40 * cost->numbers;
}

// A candidate order and its costs by component.
typedef struct candidate {
    int             count;
    int*            order;
    tni_order_cost* costs;
} candidate;

static bool make_candidate(tni_arena* scratch, const tni_adjacency* graph, const uint8_t* skip,
                           bool dissected, const int* component_of, candidate* o)
{
    o->order = TNI_TAKE(scratch, int, graph->count);
    o->costs = TNI_TAKE(scratch, tni_order_cost, graph->count);
    if (scratch->failed) return false;
    o->count = dissected ? tni_order_dissected(scratch, graph, skip, o->order)
                         : tni_order_minimum_degree(scratch, graph, skip, NULL, o->order);
    return o->count >= 0 && add_costs(scratch, graph, o->order, o->count, component_of, o->costs);
}

// Excludes components that are skipped, small, or have small fronts; returns the nodes left.
static int exclude_small(const uint8_t* skip, int count, const int* start, const int* component_of,
                         const tni_order_cost* costs, uint8_t* out)
{
    int left = 0;
    for (int v = 0; v < count; ++v) {
        const int c = component_of[v];
        out[v]      = skip[v] || start[c + 1] - start[c] < DISSECT_NODES ||
                 costs[c].flops < DISSECT_FLOPS * costs[c].numbers;
        left += !out[v];
    }
    return left;
}

// The cheaper order of each component.
static int choose(const candidate candidates[2], int components, const int* component_of,
                  uint8_t* won, int* order, tni_order_choice* choice)
{
    *choice   = (tni_order_choice){0};
    int count = 0;
    for (int c = 0; c < components; ++c) {
        won[c] = candidates[1].count > 0 && candidates[1].costs[c].flops > 0 &&
                 price(&candidates[1].costs[c]) < price(&candidates[0].costs[c]);
        const tni_order_cost* cost = &candidates[won[c]].costs[c];
        choice->cost.flops += cost->flops;
        choice->cost.numbers += cost->numbers;
        choice->cost.front = fmax(choice->cost.front, cost->front);
    }
    for (int k = 0; k < 2; ++k) {
        for (int i = 0; i < candidates[k].count; ++i) {
            const int v = candidates[k].order[i];
            if (won[component_of[v]] == k) order[count++] = v;
        }
        if (k == 0) choice->dissected = -count;
    }
    choice->dissected += count;
    return count;
}

int tni_order_choose(tni_arena* scratch, const tni_adjacency* graph, const uint8_t* skip,
                     int* order, tni_order_choice* choice)
{
    const size_t n  = (size_t)graph->count;
    int *        of = TNI_TAKE(scratch, int, n), *start = TNI_TAKE(scratch, int, n + 1);
    uint8_t *    out = TNI_TAKE(scratch, uint8_t, n), *won = TNI_TAKE(scratch, uint8_t, n);
    candidate    candidates[2] = {{0}};
    if (scratch->failed) return -1;
    const int components = tni_order_components(graph, order, start, of); // order: scratch
    if (!make_candidate(scratch, graph, skip, false, of, &candidates[0])) return -1;
    if (exclude_small(skip, graph->count, start, of, candidates[0].costs, out) > 0 &&
        !make_candidate(scratch, graph, out, true, of, &candidates[1]))
        return -1;
    return choose(candidates, components, of, won, order, choice);
}

int tni_order_loops(tni_arena* scratch, const tni_adjacency* graph, const uint8_t* skip, int* order)
{
    tni_order_choice choice;
    return tni_order_choose(scratch, graph, skip, order, &choice);
}

void tni_order_parents(const tni_adjacency* graph, const int* order, const int* place, int* parent,
                       int* work)
{
    int* ancestor = work; // path compression [Liu 1986]
    for (int p = 0; p < graph->count; ++p) {
        const int v = order[p];
        parent[p] = ancestor[p] = -1;
        for (int k = graph->start[v]; k < graph->start[v + 1]; ++k) {
            for (int i = place[graph->node[k]]; i >= 0 && i < p;) {
                const int next = ancestor[i];
                ancestor[i]    = p;
                if (next < 0) parent[i] = p;
                i = next;
            }
        }
    }
}

void tni_order_postorder(int first, int end, int* order, int* parent, int* work)
{
    const int count = end - first;
    int *     child = work, *sibling = work + count, *renumbered = work + 2 * (size_t)count,
        *old = work + 3 * (size_t)count;
    for (int i = 0; i < count; ++i) child[i] = sibling[i] = -1;
    for (int i = count - 1; i >= 0; --i) { // lowest child first
        const int p = parent[first + i] - first;
        if (parent[first + i] < 0) continue;
        sibling[i] = child[p];
        child[p]   = i;
    }
    int next = 0;
    for (int root = 0; root < count; ++root) {
        if (parent[first + root] >= 0) continue;
        for (int v = root;;) {
            while (child[v] >= 0) v = child[v];
            for (;;) {
                old[next]     = v;
                renumbered[v] = next++;
                if (v == root) break;
                if (sibling[v] >= 0) break;
                v = parent[first + v] - first;
            }
            if (v == root) break;
            v = sibling[v];
        }
    }
    for (int i = 0; i < count; ++i) { // reuse child and sibling for the new order and parents
        const int p = parent[first + old[i]];
        child[i]    = order[first + old[i]];
        sibling[i]  = p < 0 ? -1 : first + renumbered[p - first];
    }
    memcpy(order + first, child, sizeof *order * (size_t)count);
    memcpy(parent + first, sibling, sizeof *parent * (size_t)count);
}
