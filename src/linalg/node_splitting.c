// node_splitting: A nodes with many edges, split into parts connected by welds (T, section 5).
//
// An A node with block A and the edges of d B nodes makes these a clique in J A^-1 J^T. Split into
// n parts with A / n each, connected by n - 1 welds u_p - u_p+1 = 0, it is the same node: the parts
// move as one, with A in total. No clique then has more than the rows of d / n B nodes and two
// welds.
//
// Split are nodes of R edge rows and m rows for which n (R / n + 2 m)^3 < R^3: a dense clique costs
// the cube of its rows in flops.
//
// Assignment of edges to parts: a loop through a split node runs along the chain of its parts from
// one of its edges to the other, so edges of one limb should be on neighbouring parts; and if limbs
// connect two split nodes, both chains should have the limbs in the same order: otherwise the loops
// cross and the welds of a whole chain become one clique. Hence one common order: remove the split
// nodes, traverse each remaining component breadth first from one of its far ends, components in
// the order of their lowest node. Each chain takes its edges in that order.
//
// T: Tomcin, Sibbing, Kobbelt, Efficient Enforcement of Hard Articulation Constraints in the
// Presence of Closed Loops and Contacts, Eurographics 2014.
#include "linalg/node_splitting.h"

// Number of parts of a node by the rule above; 1: not split.
static int part_count(int edges, int edge_rows, int dim, int part_edges)
{
    if (part_edges <= 0 || edges <= part_edges) return 1;
    const int    n     = (edges + part_edges - 1) / part_edges;
    const double whole = edge_rows, part = whole / n + 2 * dim;
    return n * part * part * part < whole * whole * whole ? n : 1;
}

// rank[v]: position of node v in the traversal.
static void walk(tni_arena* scratch, const tni_plan* plan, const tni_splitting* parts, int* rank)
{
    const size_t n = (size_t)plan->count, m = (size_t)plan->edge_count;
    int *        row = TNI_TAKE(scratch, int, m), *col = TNI_TAKE(scratch, int, m), kept = 0;
    uint8_t*     strong = TNI_TAKE(scratch, uint8_t, m);
    int *        queue = TNI_TAKE(scratch, int, n), *up = TNI_TAKE(scratch, int, n);
    if (scratch->failed) return;
    for (int e = 0; e < plan->edge_count; ++e) {
        const int a = plan->col_node[e];
        if (parts->first[a + 1] - parts->first[a] > 1) continue;
        row[kept]   = plan->row_node[e];
        col[kept++] = a;
    }
    const tni_graph     graph = {plan->count, plan->dim, plan->sign, kept, row, col, strong, NULL};
    const tni_adjacency rest  = tni_adjacency_make(scratch, &graph);
    if (scratch->failed) return;
    for (int v = 0; v < plan->count; ++v) rank[v] = up[v] = -1;
    int next = 0;
    for (int v = 0; v < plan->count; ++v) {
        if (rank[v] >= 0) continue;
        const int size = tni_order_breadth(&rest, v, queue, up), far = queue[size - 1];
        for (int i = 0; i < size; ++i) up[queue[i]] = -1;
        (void)tni_order_breadth(&rest, far, queue, up);
        for (int i = 0; i < size; ++i) rank[queue[i]] = next++;
    }
}

// Counts edges and edge rows of each A node, and numbers the parts.
static void number_parts(const tni_plan* plan, int part_edges, int* edges, int* rows,
                         tni_splitting* parts)
{
    for (int e = 0; e < plan->edge_count; ++e) {
        ++edges[plan->col_node[e]];
        rows[plan->col_node[e]] += plan->dim[plan->row_node[e]];
    }
    for (int v = 0; v < plan->count; ++v) {
        const int n =
            plan->sign[v] < 0 ? 0 : part_count(edges[v], rows[v], plan->dim[v], part_edges);
        parts->first[v + 1] = parts->first[v] + n;
        parts->weld_count += n > 1 ? n - 1 : 0;
    }
    parts->count = parts->first[plan->count];
}

// Assigns the edges of each A node evenly to its parts, in the order of their B nodes.
static void hang_edges(const tni_plan* plan, const int* edges, const int* rank, int* start,
                       int* list, int* dealt, tni_splitting* parts)
{
    for (int e = 0; e < plan->edge_count; ++e) ++start[rank[plan->row_node[e]] + 1];
    for (int v = 0; v < plan->count; ++v) start[v + 1] += start[v];
    for (int e = 0; e < plan->edge_count; ++e) list[start[rank[plan->row_node[e]]]++] = e;
    for (int k = 0; k < plan->edge_count; ++k) {
        const int e = list[k], a = plan->col_node[e];
        const int n       = parts->first[a + 1] - parts->first[a];
        parts->of_edge[e] = parts->first[a] + (int)((int64_t)dealt[a]++ * n / edges[a]);
    }
}

void tni_splitting_find(tni_arena* arena, tni_arena* scratch, const tni_plan* plan, int part_edges,
                        tni_splitting* parts)
{
    const size_t n = (size_t)plan->count, m = (size_t)plan->edge_count;
    int *        edges = TNI_TAKE(scratch, int, n), *rows = TNI_TAKE(scratch, int, n),
        *rank = TNI_TAKE(scratch, int, n), *start = TNI_TAKE(scratch, int, n + 1),
        *dealt = TNI_TAKE(scratch, int, n), *list = TNI_TAKE(scratch, int, m);
    *parts =
        (tni_splitting){.first = TNI_TAKE(arena, int, n + 1), .of_edge = TNI_TAKE(arena, int, m)};
    if (arena->failed || scratch->failed) return;
    number_parts(plan, part_edges, edges, rows, parts);
    parts->node = TNI_TAKE(arena, int, parts->count);
    if (arena->failed) return;
    for (int v = 0; v < plan->count; ++v) {
        for (int p = parts->first[v]; p < parts->first[v + 1]; ++p) parts->node[p] = v;
    }
    if (parts->weld_count > 0) walk(scratch, plan, parts, rank);
    if (!scratch->failed) hang_edges(plan, edges, rank, start, list, dealt, parts);
}
