// plan: the symbolic analysis of a block graph, once a model: elimination order and tree, fill-in,
// storage of each block, predicted costs of factor and solve.
//
// Trees store one block a node and one with its parent, in elimination order.
//
// Loops are eliminated in fronts (supernodes). S(i) being the later neighbours of place i after
// fill-in, i + 1 joins the supernode of i if S(i) = {i + 1} + S(i + 1): their columns have the same
// rows, and one dense matrix holds them. Then each front, children first, is merged into its parent
// if that is predicted to be no slower (relaxed supernodes): rows that the child does not have
// become zeros in its columns, but one front less has to be assembled. A front of n own rows and r
// later ones, m = n + r, has the cost
//
//     FRONT + PANEL n m + UPDATE r r / 2 + FLOP (flops)      ns
//
// PANEL: entries cleared, loaded, and read by some solves; UPDATE: entries cleared, written, and
// added to the parent. Members of a front are made adjacent in the order, which keeps children
// before parents. The later nodes of a front are those after it to which its subtree is coupled:
// one walk up from the neighbours of each place finds them for all fronts, in ascending order.
//
// A front's update stays on a stack until its parent is assembled. Fronts of even and odd depth use
// the two ends of the stack: so a front's update is never above those of its children, and nothing
// has to be moved. Offsets in the stack are computed here.
#include "linalg/plan.h"

#include "linalg/tile.h"

#define FRONT_COST 200 // ns, see above

_Static_assert((int)TNI_DIM_MAX <= (int)TNI_SLAB && TNI_SLAB % (int)TNI_LANES == 0,
               "a node fits a slab");

static void copy_graph(tni_arena* arena, const tni_graph* graph, tni_plan* plan)
{
    const size_t n = (size_t)graph->count, m = (size_t)graph->edge_count;
    plan->count           = graph->count;
    plan->edge_count      = graph->edge_count;
    plan->dim             = TNI_TAKE(arena, int, n);
    plan->sign            = TNI_TAKE(arena, int8_t, n);
    plan->row_node        = TNI_TAKE(arena, int, m);
    plan->col_node        = TNI_TAKE(arena, int, m);
    plan->row_start       = TNI_TAKE(arena, int, n + 1);
    plan->order           = TNI_TAKE(arena, int, n);
    plan->place           = TNI_TAKE(arena, int, n);
    plan->parent          = TNI_TAKE(arena, int, n);
    plan->component_start = TNI_TAKE(arena, int, n + 1);
    plan->component_of    = TNI_TAKE(arena, int, n);
    plan->tree            = TNI_TAKE(arena, uint8_t, n);
    plan->edge_start      = TNI_TAKE(arena, int, n + 2);
    plan->edge_list       = TNI_TAKE(arena, int, m);
    plan->edge_row        = TNI_TAKE(arena, int, m);
    plan->front_edge      = TNI_TAKE(arena, int, m);
    plan->front_of        = TNI_TAKE(arena, int, n);
    plan->front_row       = TNI_TAKE(arena, int, n);
    plan->pivot           = TNI_TAKE(arena, tni_pivot, n + 1);
    if (arena->failed) return;
    for (size_t v = 0; v < n; ++v) {
        TN_ASSERT(graph->dim[v] >= 0 && graph->dim[v] <= TNI_DIM_MAX); // 0: not part of the system
        TN_ASSERT(graph->sign[v] == 1 || graph->sign[v] == -1);
        plan->dim[v]           = graph->dim[v];
        plan->sign[v]          = graph->sign[v];
        plan->row_start[v + 1] = plan->row_start[v] + graph->dim[v];
        if (plan->dim_max < graph->dim[v]) plan->dim_max = graph->dim[v];
    }
    plan->row_count = plan->row_start[n];
    for (size_t e = 0; e < m; ++e) {
        plan->row_node[e] = graph->row_node[e];
        plan->col_node[e] = graph->col_node[e];
    }
}

// Trees in their exact order; the rest in the order of loops, distributed to their components.
static bool find_order(tni_plan* plan, const tni_adjacency* graph, tni_arena* scratch)
{
    const size_t n     = (size_t)plan->count;
    int*         nodes = TNI_TAKE(scratch, int, n);
    int*         work  = TNI_TAKE(scratch, int, 5 * n);
    int*         root  = TNI_TAKE(scratch, int, n);
    uint8_t*     skip  = TNI_TAKE(scratch, uint8_t, n);
    int*         next  = TNI_TAKE(scratch, int, n + 1);
    if (scratch->failed) return false;
    plan->component_count =
        tni_order_components(graph, nodes, plan->component_start, plan->component_of);
    for (size_t v = 0; v < n; ++v) work[v] = -1;
    bool loops = false;
    for (int c = 0; c < plan->component_count; ++c) {
        const int first = plan->component_start[c], size = plan->component_start[c + 1] - first;
        root[c]       = tni_order_root(graph, nodes + first, size, work);
        plan->tree[c] = root[c] >= 0;
        next[c]       = first;
        loops |= root[c] < 0;
    }
    int *up = work, *queue = work + n;
    for (int c = 0; c < plan->component_count; ++c) {
        if (!plan->tree[c]) continue;
        const int size = tni_order_breadth(graph, root[c], queue, up);
        for (int i = 0; i < size; ++i) {
            plan->order[plan->component_start[c] + size - 1 - i] = queue[i];
            skip[queue[i]]                                       = 1;
        }
    }
    if (!loops) return true;
    const int found = tni_order_loops(scratch, graph, skip, queue);
    for (int i = 0; i < found; ++i) plan->order[next[plan->component_of[queue[i]]]++] = queue[i];
    return found >= 0;
}

static void number_places(tni_plan* plan)
{
    for (int p = 0; p < plan->count; ++p) plan->place[plan->order[p]] = p;
}

// Row p of the factor: the places i < p with p in S(i) form the subtree below p spanned by p's
// neighbours. Traversing it for all p counts nodes and rows of each S(i).
static void count_later(const tni_plan* plan, const tni_adjacency* graph, int* seen, int* nodes,
                        int* rows)
{
    for (int p = 0; p < plan->count; ++p) seen[p] = -1;
    for (int p = 0; p < plan->count; ++p) {
        const int v = plan->order[p];
        seen[p]     = p;
        for (int k = graph->start[v]; k < graph->start[v + 1]; ++k) {
            for (int i = plan->place[graph->node[k]]; i < p && seen[i] != p; i = plan->parent[i]) {
                seen[i] = p;
                ++nodes[i];
                rows[i] += plan->dim[v];
            }
        }
    }
}

// --- fronts ------------------------------------------------------------------------------------

// Supernodes during merging; arrays by supernode, in ascending order of their places.
typedef struct merging {
    int  count;
    int* first;  // first place, before fronts are made contiguous
    int* of;     // by place: its supernode, -1 in trees
    int* parent; // -1: a root
    int *own, *later;
    int* front; // its front
} merging;

static double flops_of(double own, double later)
{
    const double m = own + later; // sum of 1 + q + q (q + 1) over q = m - own .. m - 1
    return m * (m + 1) * (2 * m + 1) / 6 - later * (later + 1) * (2 * later + 1) / 6;
}

static double cost_of(double front_cost, double own, double later)
{
    const double panel = 1.0, update = 1.2, flop = 0.045; // ns
    return front_cost + panel * own * (own + later) + update * later * later / 2 +
           flop * flops_of(own, later);
}

// Fundamental supernodes (without zeros).
static void find_supernodes(const tni_plan* plan, const int* nodes, const int* rows, merging* m)
{
    for (int c = 0; c < plan->component_count; ++c) {
        const int start = plan->component_start[c];
        for (int p = start; p < plan->component_start[c + 1]; ++p) {
            m->of[p] = -1;
            if (plan->tree[c]) continue;
            if (p == start || plan->parent[p - 1] != p || nodes[p - 1] != nodes[p] + 1)
                m->first[m->count++] = p;
            m->of[p] = m->count - 1;
        }
    }
    for (int p = 0; p < plan->count; ++p) {
        const int s = m->of[p];
        if (s < 0) continue;
        m->own[s] += plan->dim[plan->order[p]];
        m->later[s]  = rows[p]; // the last place's value remains
        m->parent[s] = plan->parent[p] < 0 ? -1 : m->of[plan->parent[p]];
    }
}

// Leaves to roots: merges a supernode into its parent if that is no slower. Returns the number of
// fronts.
static int merge(merging* m, double front_cost)
{
    int fronts = 0;
    for (int s = 0; s < m->count; ++s) {
        const int t = m->parent[s];
        m->front[s] = 0;
        if (t < 0 || front_cost < 0) continue;
        const double apart = cost_of(front_cost, m->own[s], m->later[s]) +
                             cost_of(front_cost, m->own[t], m->later[t]);
        if (cost_of(front_cost, m->own[s] + m->own[t], m->later[t]) <= apart) {
            m->own[t] += m->own[s];
            m->front[s] = -1; // merged
        }
    }
    for (int s = 0; s < m->count; ++s) {
        if (m->front[s] == 0) m->front[s] = fronts++;
    }
    for (int s = m->count - 1; s >= 0; --s) {
        if (m->front[s] < 0) m->front[s] = m->front[m->parent[s]];
    }
    return fronts;
}

// Makes the nodes of each front contiguous: fronts in the order of their last supernodes, members
// ascending. Children stay before parents.
static void gather_fronts(tni_plan* plan, const merging* m, int* next, int* order)
{
    for (int f = 0; f <= plan->front_count; ++f) next[f] = 0;
    for (int p = 0; p < plan->count; ++p) {
        plan->front_of[p] = -1;
        if (m->of[p] >= 0) ++next[m->front[m->of[p]]];
    }
    int f = 0, at = 0;
    for (int c = 0; c < plan->component_count; ++c) {
        const int end = plan->component_start[c + 1];
        at            = plan->component_start[c];
        while (!plan->tree[c] && at < end) {
            const int size = next[f];
            plan->front[f] = (tni_front){.first = at, .end = at + size, .child = -1, .next = -1};
            next[f++]      = at;
            at += size;
        }
    }
    for (int p = 0; p < plan->count; ++p) {
        const int to = m->of[p] < 0 ? p : next[m->front[m->of[p]]]++;
        order[to]    = plan->order[p];
    }
    memcpy(plan->order, order, sizeof *order * (size_t)plan->count);
}

// Sets the parents of fronts and of the places in them.
static void tie_fronts(tni_plan* plan, const merging* m)
{
    for (int f = 0; f < plan->front_count; ++f) plan->front[f].parent = -1;
    for (int s = 0; s < m->count; ++s) {
        const int f = m->front[s], t = m->parent[s];
        if (t >= 0 && m->front[t] != f) plan->front[f].parent = m->front[t];
    }
    for (int f = plan->front_count - 1; f >= 0; --f) {
        tni_front* front = &plan->front[f];
        for (int p = front->first; p < front->end; ++p) {
            plan->front_of[p] = f;
            plan->parent[p]   = p + 1;
        }
        plan->parent[front->end - 1] = -1;
        if (front->parent < 0) continue;
        tni_front* parent            = &plan->front[front->parent];
        plan->parent[front->end - 1] = parent->first;
        front->next                  = parent->child; // children in ascending order
        parent->child                = f;
    }
}

// Counts the later nodes of all fronts and, if plan->later is allocated, lists them.
static void walk_fronts(tni_plan* plan, const tni_adjacency* graph, int* seen, int* size)
{
    for (int f = 0; f < plan->front_count; ++f) seen[f] = -1, size[f] = 0;
    for (int p = 0; p < plan->count; ++p) {
        const int v = plan->order[p], own = plan->front_of[p];
        for (int k = graph->start[v]; own >= 0 && k < graph->start[v + 1]; ++k) {
            const int q = plan->place[graph->node[k]];
            int       f = q < p ? plan->front_of[q] : own;
            for (; f != own && seen[f] != p; f = plan->front[f].parent) {
                seen[f] = p;
                if (plan->later != NULL) plan->later[plan->front[f].later + size[f]] = p;
                ++size[f];
            }
        }
    }
}

// An upper bound on the number of slabs.
static size_t count_slabs(const tni_plan* plan)
{
    size_t count = 0;
    for (int f = 0; f < plan->front_count; ++f) {
        int rows = 0;
        for (int p = plan->front[f].first; p < plan->front[f].end; ++p)
            rows += plan->dim[plan->order[p]];
        count += (size_t)(1 + 2 * rows / TNI_SLAB); // any two have > TNI_SLAB columns
    }
    return count;
}

// Lays out the own slabs and the rows of the front's nodes. Returns the number of slabs.
static int lay_slabs(tni_plan* plan, tni_front* front)
{
    tni_slab* slab = plan->slab + front->slab;
    slab[0]        = (tni_slab){.first = front->first};
    int row        = 0;
    for (int p = front->first; p < front->end; ++p) {
        const int dim = plan->dim[plan->order[p]];
        if (slab->width + dim > TNI_SLAB) {
            slab->end = p;
            row       = slab->row + tni_whole_panels(slab->width);
            *++slab   = (tni_slab){.first = p, .row = row};
        }
        plan->front_row[p] = slab->row + slab->width;
        slab->width += dim;
    }
    slab->end  = front->end;
    front->own = slab->row + tni_whole_panels(slab->width);
    return (int)(slab - (plan->slab + front->slab)) + 1;
}

// Lays out the values (reciprocal pivots, then slabs) and adds costs.
static size_t lay_front(tni_plan* plan, tni_front* front, size_t at)
{
    const int all = front->own + tni_whole_panels(front->rows);
    front->at     = at;
    at += (size_t)front->own;
    int own = 0;
    for (tni_slab* s = plan->slab + front->slab; s < plan->slab + front[1].slab; ++s) {
        s->at = at;
        at += (size_t)(all - s->row) * (size_t)s->width;
        own += s->width;
    }
    for (int p = front->first; p < front->end; ++p)
        plan->pivot[p].at = front->at + (size_t)plan->front_row[p];
    if (plan->front_rows_max < all) plan->front_rows_max = all;
    const double n = own, r = front->rows;
    plan->factor_flops += flops_of(n, r);
    plan->solve_flops += n + 2 * n * (n - 1) + 4 * n * r + n;
    return at;
}

// Size of an update in doubles.
static size_t size_of_update(int rows)
{
    size_t    size = 0;
    const int all  = tni_whole_panels(rows);
    for (int column = 0; column < rows; column += TNI_SLAB) {
        const int width = rows - column < TNI_SLAB ? rows - column : TNI_SLAB;
        size += (size_t)(all - column) * (size_t)width;
    }
    return size;
}

// Offsets of updates on the stack: even depths from its start, odd ones from its end.
static void lay_updates(tni_plan* plan, int* depth)
{
    size_t used[2] = {0, 0};
    for (int f = plan->front_count - 1; f >= 0; --f) {
        const int parent = plan->front[f].parent;
        depth[f]         = parent < 0 ? 0 : depth[parent] + 1;
    }
    for (int f = 0; f < plan->front_count; ++f) {
        tni_front*   front = &plan->front[f];
        const int    side  = depth[f] % 2;
        const size_t size  = size_of_update(front->rows);
        front->update      = used[side];
        used[side] += size;
        if (used[0] + used[1] > plan->stack_count) plan->stack_count = used[0] + used[1];
        if (front->child >= 0) used[1 - side] = plan->front[front->child].update;
    }
    for (int f = 0; f < plan->front_count; ++f) {
        tni_front* front = &plan->front[f];
        if (depth[f] % 2 == 1)
            front->update = plan->stack_count - front->update - size_of_update(front->rows);
    }
}

// Sets the row in the parent front of each front's later nodes, and the rows of edges. row[place]:
// scratch, for later nodes of one front at a time.
static void find_rows(tni_plan* plan, int* row)
{
    for (int f = 0; f < plan->front_count; ++f) {
        const tni_front* front = &plan->front[f];
        int              at    = front->own;
        for (int p = front->first; p < front->end; ++p) row[p] = plan->front_row[p];
        for (int k = front->later; k < front[1].later; ++k) {
            row[plan->later[k]] = at;
            at += plan->dim[plan->order[plan->later[k]]];
        }
        for (int c = front->child; c >= 0; c = plan->front[c].next) {
            for (int k = plan->front[c].later; k < plan->front[c + 1].later; ++k)
                plan->later_row[k] = row[plan->later[k]];
        }
        for (int k = front->edge; k < front[1].edge; ++k) {
            const int e = plan->front_edge[k];
            const int p = plan->place[plan->row_node[e]], q = plan->place[plan->col_node[e]];
            plan->edge_row[e] = row[p > q ? p : q];
        }
    }
}

static int front_of_edge(const tni_plan* plan, int edge)
{
    const int p = plan->place[plan->row_node[edge]], q = plan->place[plan->col_node[edge]];
    return plan->front_of[p < q ? p : q];
}

static void sort_front_edges(tni_plan* plan, int* next)
{
    for (int f = 0; f <= plan->front_count; ++f) next[f] = 0;
    for (int e = 0; e < plan->edge_count; ++e) {
        if (front_of_edge(plan, e) >= 0) ++next[front_of_edge(plan, e) + 1];
    }
    for (int f = 0; f < plan->front_count; ++f) next[f + 1] += next[f];
    for (int f = 0; f <= plan->front_count; ++f) plan->front[f].edge = next[f];
    for (int e = 0; e < plan->edge_count; ++e) {
        if (front_of_edge(plan, e) >= 0) plan->front_edge[next[front_of_edge(plan, e)]++] = e;
    }
}

// Merges supernodes into fronts and makes their nodes contiguous in the order.
static void make_fronts(tni_plan* plan, const int* nodes, const int* rows, double front_cost,
                        merging* m, tni_arena* arena, tni_arena* scratch)
{
    const size_t n = (size_t)plan->count;
    *m             = (merging){.first  = TNI_TAKE(scratch, int, n),
                               .of     = TNI_TAKE(scratch, int, n),
                               .parent = TNI_TAKE(scratch, int, n),
                               .own    = TNI_TAKE(scratch, int, n),
                               .later  = TNI_TAKE(scratch, int, n),
                               .front  = TNI_TAKE(scratch, int, n)};
    int* next      = TNI_TAKE(scratch, int, n + 1);
    int* order     = TNI_TAKE(scratch, int, n);
    if (scratch->failed) return;
    find_supernodes(plan, nodes, rows, m);
    plan->front_count = merge(m, front_cost);
    plan->front       = TNI_TAKE(arena, tni_front, plan->front_count + 1);
    if (arena->failed) return;
    gather_fronts(plan, m, next, order);
    number_places(plan);
    tie_fronts(plan, m);
}

static void lay_fronts(tni_plan* plan, const tni_adjacency* graph, tni_arena* arena, int* work)
{
    const size_t n    = (size_t)plan->count;
    int *        seen = work, *size = work + n;
    walk_fronts(plan, graph, seen, size);
    int later = 0;
    for (int f = 0; f < plan->front_count; ++f) {
        plan->front[f].later = later;
        later += size[f];
    }
    plan->front[plan->front_count].later = later;
    plan->later                          = TNI_TAKE(arena, int, later);
    plan->later_row                      = TNI_TAKE(arena, int, later);
    plan->slab                           = TNI_TAKE(arena, tni_slab, count_slabs(plan));
    if (arena->failed) return;
    walk_fronts(plan, graph, seen, size);
    int slab = 0;
    for (int f = 0; f < plan->front_count; ++f) {
        tni_front* front = &plan->front[f];
        front->slab      = slab;
        for (int k = front->later; k < front[1].later; ++k)
            front->rows += plan->dim[plan->order[plan->later[k]]];
        slab += lay_slabs(plan, front);
    }
    plan->front[plan->front_count].slab = slab;
    sort_front_edges(plan, work);
    find_rows(plan, work);
    lay_updates(plan, work);
}

// --- the whole plan ----------------------------------------------------------------------------

static void lay_pivots(tni_plan* plan)
{
    int slot = 0;
    for (int p = 0; p < plan->count; ++p) {
        const int v    = plan->order[p];
        plan->pivot[p] = (tni_pivot){
            .row = plan->row_start[v], .dim = plan->dim[v], .sign = plan->sign[v], .slot = slot};
        slot += plan->front_of[p] < 0 && plan->parent[p] >= 0;
    }
    plan->pivot[plan->count] = (tni_pivot){.slot = slot};
}

static size_t lay_tree_node(tni_plan* plan, int p, size_t at)
{
    tni_pivot*   i    = &plan->pivot[p];
    const size_t n    = (size_t)i->dim;
    const double d    = (double)n;
    double       rows = 0;
    i->at             = at;
    at += n * n;
    if (plan->parent[p] >= 0) {
        const size_t m      = (size_t)plan->pivot[plan->parent[p]].dim;
        plan->slot[i->slot] = (tni_slot){plan->parent[p], at};
        at += n * m;
        rows = (double)m;
    }
    plan->factor_flops +=
        d * (2 * d * d + 3 * d - 1) / 6 + d * (d - 1) * rows + d * rows + d * rows * (rows + 1);
    plan->solve_flops += 2 * d * (d - 1) + d + 4 * d * rows;
    return at;
}

static size_t align(size_t at) // to a cache line
{
    return (at + TNI_LANES - 1) / TNI_LANES * TNI_LANES;
}

static void place_values(tni_plan* plan)
{
    size_t at = 0;
    int    f  = 0;
    for (int p = 0; p < plan->count; ++p) {
        if (plan->front_of[p] < 0) at = lay_tree_node(plan, p, at);
        else if (p == plan->front[f].first) at = lay_front(plan, &plan->front[f++], align(at));
    }
    plan->pivot[plan->count].at = plan->value_count = at;
}

static void list_edges(tni_plan* plan, int* next)
{
    int* start = plan->edge_start;
    for (int p = 0; p <= plan->count; ++p) next[p] = 0;
    for (int e = 0; e < plan->edge_count; ++e) {
        const int p = plan->place[plan->row_node[e]], q = plan->place[plan->col_node[e]];
        if (plan->front_of[p] < 0) plan->slot_edge[plan->pivot[p < q ? p : q].slot] = e;
        ++next[p + 1];
        ++start[plan->component_of[plan->row_node[e]] + 1];
    }
    for (int p = 0; p < plan->count; ++p) next[p + 1] += next[p];
    for (int c = 0; c < plan->component_count; ++c) start[c + 1] += start[c];
    for (int e = 0; e < plan->edge_count; ++e) {
        plan->edge_list[next[plan->place[plan->row_node[e]]]++] = e;
    }
}

static void analyse(tni_plan* plan, const tni_adjacency* graph, double front_cost, tni_arena* arena,
                    tni_arena* scratch)
{
    const size_t n     = (size_t)plan->count;
    int*         nodes = TNI_TAKE(scratch, int, n);
    int*         rows  = TNI_TAKE(scratch, int, n);
    int*         work  = TNI_TAKE(scratch, int, 4 * n + 1);
    merging      m;
    if (scratch->failed || !find_order(plan, graph, scratch)) return;
    number_places(plan);
    tni_order_parents(graph, plan->order, plan->place, plan->parent, work);
    for (int c = 0; c < plan->component_count; ++c) {
        if (plan->tree[c]) continue;
        tni_order_postorder(plan->component_start[c], plan->component_start[c + 1], plan->order,
                            plan->parent, work);
    }
    number_places(plan);
    count_later(plan, graph, work, nodes, rows);
    plan->fill_blocks = -plan->edge_count;
    for (int p = 0; p < plan->count; ++p) plan->fill_blocks += nodes[p];
    make_fronts(plan, nodes, rows, front_cost, &m, arena, scratch);
    if (arena->failed || scratch->failed) return;
    lay_fronts(plan, graph, arena, work);
    if (arena->failed) return;
    lay_pivots(plan);
    plan->slot      = TNI_TAKE(arena, tni_slot, plan->pivot[n].slot);
    plan->slot_edge = TNI_TAKE(arena, int, plan->pivot[n].slot);
    if (arena->failed) return;
    place_values(plan);
    list_edges(plan, work);
}

tn_result tni_plan_create_merged(tni_arena* arena, const tni_graph* graph, double front_cost,
                                 tni_plan** plan)
{
    *plan             = NULL;
    tni_arena scratch = tni_arena_make(&arena->host);
    tni_plan* made    = TNI_TAKE(arena, tni_plan, 1);
    if (made != NULL) copy_graph(arena, graph, made);
    if (!arena->failed) {
        const tni_adjacency adjacency = tni_adjacency_make(&scratch, graph);
        if (!scratch.failed) analyse(made, &adjacency, front_cost, arena, &scratch);
    }
    const bool failed = arena->failed || scratch.failed;
    tni_arena_free(&scratch);
    if (failed) return TN_ERR_MEMORY;
    *plan = made;
    return TN_OK;
}

tn_result tni_plan_create(tni_arena* arena, const tni_graph* graph, tni_plan** plan)
{
    return tni_plan_create_merged(arena, graph, FRONT_COST, plan);
}
