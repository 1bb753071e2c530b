// order: in which order the nodes of a block graph are eliminated.
//
// A nodes carry positive definite blocks, B nodes zero or negative ones; see ldl.c for the matrix.
// Without pivoting a B node has a usable pivot only if what was eliminated before it has given it
// one. An edge is strong if its block has full row rank: then one A node is enough.
//
// Trees. A component can be eliminated exactly, leaves first, without fill [1, sec. 7.1] when it
// has no cycle, no B node tied to three A nodes, and a root such that every other B node has a
// strong edge to its child. A B node with a single neighbour can therefore only be the root, and
// so can one without any strong edge. bad(v) counts the B nodes in the wrong if v were the root;
// moving the root over one edge changes the state of one B node, so one sweep finds bad(v) for
// all v. Among the nodes with bad(v) = 0 the root is the one nearest to the middle of the longest
// path (lowest number on ties), which makes two halves that do not wait for each other.
// Nodes are listed by distance from the root, farthest first: neighbours in that order are
// independent, and their latencies overlap.
//
// Loops. Approximate minimum degree [2] on the quotient graph: eliminated nodes are elements,
// lists of the nodes they tie together; degree = rows of neighbours; elements inside another
// one are absorbed. The lists of a node never grow, an element is read once. Ties go to the
// lowest number. Nodes with very many neighbours are left for the end, A before B, as in [2]. No
// supervariables: cost is near the number of blocks of the factor.
//
// Local rule: a B node waits until one of its A nodes is eliminated, over a strong edge and with
// room for it, or until all of them are. An A node has room for as many rows as it has itself; a
// B node of m rows uses up m of them. Without the count, a second B node leans on rows that are
// already taken: its pivots are of size eps_T although it is not redundant, and rounding grows.
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
// [2] P. Amestoy, T. Davis, I. Duff, An Approximate Minimum Degree Ordering Algorithm, SIMAX 1996.
#include "linalg/order.h"

#include <math.h>

tni_adjacency tni_adjacency_make(tni_arena* arena, const tni_graph* graph)
{
    const int     n = graph->count, m = graph->edge_count;
    tni_adjacency a = {.count = n, .dim = graph->dim, .sign = graph->sign};
    a.start         = TNI_TAKE(arena, int, n + 2);
    a.node          = TNI_TAKE(arena, int, 2 * (size_t)m);
    a.strong        = TNI_TAKE(arena, uint8_t, 2 * (size_t)m);
    if (arena->failed) return a;
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

// No cycle, and every B node tied to one or two A nodes and to nothing else.
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

// Whether B node b, its parent being p, has no child over a strong edge.
static int in_the_wrong(const tni_adjacency* graph, int b, int p)
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
        if (graph->sign[queue[i]] < 0) sum += in_the_wrong(graph, queue[i], up[queue[i]]);
    }
    bad[queue[0]] = sum;
    for (int i = 1; i < count; ++i) {
        const int v = queue[i], p = up[v];
        bad[v] = bad[p];
        if (graph->sign[v] < 0) bad[v] -= in_the_wrong(graph, v, p);
        if (graph->sign[p] < 0) bad[v] += in_the_wrong(graph, p, v);
    }
}

// Distances from root, and the farthest node, the lowest number of several.
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

// The quotient graph: a node is waiting or ready (in the heap), then an element, then absorbed.
typedef struct quotient {
    const tni_adjacency* graph;
    int*                 list; // of node v: elements[v] elements, then others[v] nodes
    int *                elements, *others;
    int*                 degree;    // rows of the neighbours, an upper bound
    uint8_t*             gone;      // eliminated, or never taken part
    uint8_t*             alive;     // an element not yet absorbed
    size_t*              member_at; // element v: members[v] nodes from pool + member_at[v]
    int *                members, *weight;
    int*                 pool;
    size_t               pool_used, pool_size;
    int *                mark, *left, *left_mark; // stamps; rows of an element outside the pivot's
    int *                heap, *where, heap_count;
    int*                 open; // A neighbours of a B node not yet eliminated
    int*                 room; // rows of an eliminated A node that no B node has used
} quotient;

static bool before(const quotient* q, int v, int w)
{
    return q->degree[v] < q->degree[w] || (q->degree[v] == q->degree[w] && v < w);
}

static void heap_up(quotient* q, int i)
{
    const int v = q->heap[i];
    for (int p; i > 0 && before(q, v, q->heap[p = (i - 1) / 2]); i = p) {
        q->heap[i]           = q->heap[p];
        q->where[q->heap[i]] = i;
    }
    q->heap[i]  = v;
    q->where[v] = i;
}

static void heap_down(quotient* q, int i)
{
    const int v = q->heap[i];
    for (int c; (c = 2 * i + 1) < q->heap_count; i = c) {
        if (c + 1 < q->heap_count && before(q, q->heap[c + 1], q->heap[c])) ++c;
        if (!before(q, q->heap[c], v)) break;
        q->heap[i]           = q->heap[c];
        q->where[q->heap[i]] = i;
    }
    q->heap[i]  = v;
    q->where[v] = i;
}

static void heap_add(quotient* q, int v)
{
    if (q->where[v] >= 0 || q->gone[v]) return;
    q->heap[q->heap_count] = v;
    heap_up(q, q->heap_count++);
}

static int heap_take(quotient* q)
{
    const int v = q->heap[0];
    q->where[v] = -1;
    if (--q->heap_count > 0) {
        q->heap[0] = q->heap[q->heap_count];
        heap_down(q, 0);
    }
    return v;
}

static void set_degree(quotient* q, int v, int degree)
{
    q->degree[v] = degree;
    if (q->where[v] < 0) return;
    heap_up(q, q->where[v]);
    heap_down(q, q->where[v]);
}

static bool quotient_make(quotient* q, tni_arena* scratch, const tni_adjacency* graph,
                          const uint8_t* skip)
{
    const int n = graph->count, ends = graph->start[n];
    *q           = (quotient){.graph = graph, .pool_size = 4 * (size_t)ends + 64};
    q->list      = TNI_TAKE(scratch, int, ends);
    q->elements  = TNI_TAKE(scratch, int, n);
    q->others    = TNI_TAKE(scratch, int, n);
    q->degree    = TNI_TAKE(scratch, int, n);
    q->gone      = TNI_TAKE(scratch, uint8_t, n);
    q->alive     = TNI_TAKE(scratch, uint8_t, n);
    q->member_at = TNI_TAKE(scratch, size_t, n);
    q->members   = TNI_TAKE(scratch, int, n);
    q->weight    = TNI_TAKE(scratch, int, n);
    q->pool      = TNI_TAKE(scratch, int, q->pool_size);
    q->mark      = TNI_TAKE(scratch, int, n);
    q->left      = TNI_TAKE(scratch, int, n);
    q->left_mark = TNI_TAKE(scratch, int, n);
    q->heap      = TNI_TAKE(scratch, int, n);
    q->where     = TNI_TAKE(scratch, int, n);
    q->open      = TNI_TAKE(scratch, int, n);
    q->room      = TNI_TAKE(scratch, int, n);
    if (scratch->failed) return false;
    int taking_part = 0;
    for (int v = 0; v < n; ++v) taking_part += !skip[v];
    const double many = fmax(16.0, 10.0 * sqrt((double)taking_part));
    for (int v = 0; v < n; ++v) {
        q->where[v] = -1;
        q->gone[v]  = skip[v] || graph->start[v + 1] - graph->start[v] > many;
    }
    return true;
}

static void quotient_load(quotient* q)
{
    const tni_adjacency* g = q->graph;
    for (int v = 0; v < g->count; ++v) {
        if (q->gone[v]) continue;
        for (int k = g->start[v]; k < g->start[v + 1]; ++k) {
            const int w = g->node[k];
            q->open[v] += g->sign[w] > 0;
            if (q->gone[w]) continue;
            q->list[g->start[v] + q->others[v]++] = w;
            q->degree[v] += g->dim[w];
        }
        if (g->sign[v] > 0 || q->open[v] == 0) heap_add(q, v);
    }
}

// The nodes tied together by eliminating p go to the end of the pool; returns their rows or -1.
static int form_element(quotient* q, tni_arena* scratch, int p, int stamp)
{
    const int* list = q->list + q->graph->start[p];
    size_t     need = (size_t)q->others[p];
    for (int k = 0; k < q->elements[p]; ++k) {
        if (q->alive[list[k]]) need += (size_t)q->members[list[k]];
    }
    if (q->pool_used + need > q->pool_size) {
        const size_t size = 2 * (q->pool_used + need);
        int*         pool = TNI_TAKE(scratch, int, size);
        if (scratch->failed) return -1;
        memcpy(pool, q->pool, q->pool_used * sizeof *pool);
        q->pool      = pool;
        q->pool_size = size;
    }
    int *member = q->pool + q->pool_used, count = 0, weight = 0;
    q->mark[p] = stamp;
    for (int k = 0; k < q->elements[p] + q->others[p]; ++k) {
        const int  e    = list[k];
        const bool node = k >= q->elements[p];
        if (!node && !q->alive[e]) continue;
        const int* from = node ? &list[k] : q->pool + q->member_at[e];
        for (int i = 0; i < (node ? 1 : q->members[e]); ++i) {
            const int v = from[i];
            if (q->mark[v] == stamp || q->gone[v]) continue;
            q->mark[v]      = stamp;
            member[count++] = v;
            weight += q->graph->dim[v];
        }
        if (!node) q->alive[e] = 0;
    }
    q->alive[p]     = 1;
    q->member_at[p] = q->pool_used;
    q->members[p]   = count;
    q->weight[p]    = weight;
    q->pool_used += (size_t)count;
    return weight;
}

// Rows of v's neighbours, after p has become an element that holds v; tidies v's lists.
static int renew(quotient* q, int v, int p, int stamp)
{
    const tni_adjacency* g    = q->graph;
    int *                list = q->list + g->start[v], elements = 0, others = 0, degree = 0;
    const int            old_elements = q->elements[v], end = old_elements + q->others[v];
    for (int k = 0; k < old_elements; ++k) {
        const int e = list[k];
        if (!q->alive[e]) continue;
        if (q->left[e] == 0) q->alive[e] = 0; // inside p
        else list[elements++] = e, degree += q->left[e];
    }
    // p takes a free entry: either p itself stood among the nodes, or an element of p is gone.
    // Nodes move through a hole, never over one that is still to be read.
    int hole = elements, first_kept = -1;
    for (int k = old_elements; k < end; ++k) {
        const int w = list[k];
        if (q->mark[w] == stamp || q->gone[w]) continue;
        degree += g->dim[w];
        if (others++ == 0) {
            first_kept = w; // put down last, so that p may have its place
            ++hole;
        } else {
            list[hole++] = w;
        }
    }
    if (others > 0) list[hole] = first_kept;
    list[elements] = p;
    q->elements[v] = elements + 1;
    q->others[v]   = others;
    return degree;
}

static void eliminate(quotient* q, int p, int stamp, int remaining)
{
    const tni_adjacency* g      = q->graph;
    const int*           member = q->pool + q->member_at[p];
    for (int i = 0; i < q->members[p]; ++i) {
        const int v = member[i];
        for (int k = g->start[v]; k < g->start[v] + q->elements[v]; ++k) {
            const int e = q->list[k];
            if (!q->alive[e]) continue;
            if (q->left_mark[e] != stamp) q->left[e] = q->weight[e];
            q->left_mark[e] = stamp;
            q->left[e] -= g->dim[v];
        }
    }
    for (int i = 0; i < q->members[p]; ++i) {
        const int v = member[i], gain = q->weight[p] - g->dim[v];
        int       degree = renew(q, v, p, stamp) + gain;
        if (degree > q->degree[v] + gain) degree = q->degree[v] + gain;
        if (degree > remaining - g->dim[v]) degree = remaining - g->dim[v];
        set_degree(q, v, degree);
    }
}

// The local rule: the eliminated A node on which B node b can lean, or -1.
static int support(const quotient* q, int b)
{
    const tni_adjacency* g = q->graph;
    for (int k = g->start[b]; k < g->start[b + 1]; ++k) {
        if (g->strong[k] && q->room[g->node[k]] >= g->dim[b]) return g->node[k];
    }
    return -1;
}

// A node p is eliminated: its B nodes may try again.
static void release(quotient* q, int p)
{
    const tni_adjacency* g = q->graph;
    q->room[p]             = g->dim[p];
    for (int k = g->start[p]; k < g->start[p + 1]; ++k) {
        const int b = g->node[k];
        if (g->sign[b] > 0) continue;
        --q->open[b];
        heap_add(q, b);
    }
}

// B node b is due. It uses up its rows of an A node, or waits for the next of its A nodes.
static bool lean(quotient* q, int b)
{
    const tni_adjacency* g = q->graph;
    const int            a = support(q, b);
    if (a < 0 && q->open[b] > 0) return false;
    int rows = g->dim[b];
    for (int k = g->start[b]; a < 0 && k < g->start[b + 1]; ++k) {
        const int w = g->node[k], used = q->room[w] < rows ? q->room[w] : rows;
        q->room[w] -= used;
        rows -= used;
    }
    if (a >= 0) q->room[a] -= rows;
    return true;
}

int tni_order_minimum_degree(tni_arena* scratch, const tni_adjacency* graph, const uint8_t* skip,
                             int* order)
{
    quotient q;
    if (!quotient_make(&q, scratch, graph, skip)) return -1;
    quotient_load(&q);
    int count = 0, remaining = 0;
    for (int v = 0; v < graph->count; ++v) remaining += q.gone[v] ? 0 : graph->dim[v];
    while (q.heap_count > 0) {
        const int p = heap_take(&q);
        if (graph->sign[p] < 0 && !lean(&q, p)) continue;
        order[count++] = p;
        if (form_element(&q, scratch, p, count) < 0) return -1;
        q.gone[p] = 1;
        remaining -= graph->dim[p];
        eliminate(&q, p, count, remaining);
        if (graph->sign[p] > 0) release(&q, p);
    }
    // What is left: nodes with too many neighbours, and B nodes that wait for them.
    for (int i = 0; i < count; ++i) q.where[order[i]] = 0;
    for (int sign = 1; sign >= -1; sign -= 2) {
        for (int v = 0; v < graph->count; ++v) {
            if (!skip[v] && q.where[v] < 0 && graph->sign[v] == sign) order[count++] = v;
        }
    }
    return count;
}

int tni_order_loops(tni_arena* scratch, const tni_adjacency* graph, const uint8_t* skip, int* order)
{
    return tni_order_minimum_degree(scratch, graph, skip, order);
}

void tni_order_parents(const tni_adjacency* graph, const int* order, const int* place, int* parent,
                       int* work)
{
    int* ancestor = work; // as far up as known, paths compressed [Liu 1986]
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
    for (int i = 0; i < count; ++i) { // child, sibling: free to hold the new order and parents
        const int p = parent[first + old[i]];
        child[i]    = order[first + old[i]];
        sibling[i]  = p < 0 ? -1 : first + renumbered[p - first];
    }
    memcpy(order + first, child, sizeof *order * (size_t)count);
    memcpy(parent + first, sibling, sizeof *parent * (size_t)count);
}
