// plan: the symbolic analysis of a block graph, once a model: elimination order and tree, where fill
// comes, where each block lies, what factor and solve will cost.
#include "linalg/plan.h"

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
    plan->edge_slot       = TNI_TAKE(arena, int, m);
    plan->pivot           = TNI_TAKE(arena, tni_pivot, n + 1);
    if (arena->failed) return;
    for (size_t v = 0; v < n; ++v) {
        TN_ASSERT(graph->dim[v] >= 0 && graph->dim[v] <= TNI_DIM_MAX); // 0: takes no part
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

// Trees from their roots; the rest in the order of loops, spread over their components.
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

// Row p of the factor: the places i < p with p in S(i) are the subtree below p that hangs on p's
// neighbours. Walking it for p = 0, 1, ... yields each S(i) in rising order.
static void walk_rows(tni_plan* plan, const tni_adjacency* graph, int* seen, int* size)
{
    for (int p = 0; p < plan->count; ++p) seen[p] = -1;
    for (int p = 0; p < plan->count; ++p) {
        const int v = plan->order[p];
        seen[p]     = p;
        for (int k = graph->start[v]; k < graph->start[v + 1]; ++k) {
            for (int i = plan->place[graph->node[k]]; i < p && seen[i] != p; i = plan->parent[i]) {
                seen[i] = p;
                if (plan->slot != NULL) plan->slot[plan->pivot[i].slot + size[i]].place = p;
                ++size[i];
            }
        }
    }
}

static void lay_pivots(tni_plan* plan, const int* size)
{
    size_t target = 0;
    int    slot   = 0;
    for (int p = 0; p < plan->count; ++p) {
        const int    v = plan->order[p];
        const size_t s = (size_t)size[p];
        plan->pivot[p] = (tni_pivot){.row    = plan->row_start[v],
                                     .dim    = plan->dim[v],
                                     .sign   = plan->sign[v],
                                     .slot   = slot,
                                     .target = target};
        slot += size[p];
        target += s > 0 ? s * (s - 1) / 2 : 0;
    }
    plan->pivot[plan->count] = (tni_pivot){.slot = slot, .target = target};
}

static void place_values(tni_plan* plan)
{
    size_t at = 0;
    for (int p = 0; p < plan->count; ++p) {
        tni_pivot*   i = &plan->pivot[p];
        const size_t n = (size_t)i->dim;
        i->at          = at;
        at += n * n;
        double rows = 0;
        for (int s = i->slot; s < i[1].slot; ++s) {
            const size_t m   = (size_t)plan->pivot[plan->slot[s].place].dim;
            plan->slot[s].at = at;
            at += n * m;
            rows += (double)m;
        }
        const double d = (double)n;
        plan->factor_flops +=
            d * (2 * d * d + 3 * d - 1) / 6 + d * (d - 1) * rows + d * rows + d * rows * (rows + 1);
        plan->solve_flops += 2 * d * (d - 1) + d + 4 * d * rows;
    }
    plan->pivot[plan->count].at = plan->value_count = at;
}

static int find_slot(const tni_plan* plan, int earlier, int later)
{
    int lower = plan->pivot[earlier].slot, upper = plan->pivot[earlier + 1].slot - 1;
    while (lower < upper) {
        const int middle = lower + (upper - lower) / 2;
        if (plan->slot[middle].place < later) lower = middle + 1;
        else upper = middle;
    }
    TN_ASSERT(plan->slot[lower].place == later);
    return lower;
}

static void find_targets(tni_plan* plan)
{
    for (int p = 0; p < plan->count; ++p) {
        int*      target = plan->target + plan->pivot[p].target;
        const int end    = plan->pivot[p + 1].slot;
        for (int k = plan->pivot[p].slot; k < end; ++k) {
            int s = plan->pivot[plan->slot[k].place].slot; // S(i) beyond k lies inside S(k)
            for (int l = k + 1; l < end; ++l) {
                while (plan->slot[s].place != plan->slot[l].place) ++s;
                *target++ = s;
            }
        }
    }
}

static void list_edges(tni_plan* plan, int* next)
{
    int* start = plan->edge_start;
    for (int p = 0; p <= plan->count; ++p) next[p] = 0;
    for (int k = 0; k < plan->pivot[plan->count].slot; ++k) plan->slot_edge[k] = -1;
    for (int e = 0; e < plan->edge_count; ++e) {
        const int p = plan->place[plan->row_node[e]], q = plan->place[plan->col_node[e]];
        plan->edge_slot[e]                  = p < q ? find_slot(plan, p, q) : find_slot(plan, q, p);
        plan->slot_edge[plan->edge_slot[e]] = e;
        ++next[p + 1];
        ++start[plan->component_of[plan->row_node[e]] + 1];
    }
    for (int p = 0; p < plan->count; ++p) next[p + 1] += next[p];
    for (int c = 0; c < plan->component_count; ++c) start[c + 1] += start[c];
    for (int e = 0; e < plan->edge_count; ++e) {
        plan->edge_list[next[plan->place[plan->row_node[e]]]++] = e;
    }
}

static void analyse(tni_plan* plan, const tni_adjacency* graph, tni_arena* arena,
                    tni_arena* scratch)
{
    const size_t n    = (size_t)plan->count;
    int*         size = TNI_TAKE(scratch, int, n);
    int*         work = TNI_TAKE(scratch, int, 4 * n + 1);
    if (scratch->failed || !find_order(plan, graph, scratch)) return;
    number_places(plan);
    tni_order_parents(graph, plan->order, plan->place, plan->parent, work);
    for (int c = 0; c < plan->component_count; ++c) {
        if (plan->tree[c]) continue;
        tni_order_postorder(plan->component_start[c], plan->component_start[c + 1], plan->order,
                            plan->parent, work);
    }
    number_places(plan);
    walk_rows(plan, graph, work, size);
    lay_pivots(plan, size);
    plan->slot      = TNI_TAKE(arena, tni_slot, plan->pivot[n].slot);
    plan->slot_edge = TNI_TAKE(arena, int, plan->pivot[n].slot);
    plan->target    = TNI_TAKE(arena, int, plan->pivot[n].target);
    if (arena->failed) return;
    memset(size, 0, sizeof *size * n);
    walk_rows(plan, graph, work, size);
    place_values(plan);
    find_targets(plan);
    list_edges(plan, work);
    plan->fill_blocks = plan->pivot[n].slot - plan->edge_count;
}

tn_result tni_plan_create(tni_arena* arena, const tni_graph* graph, tni_plan** plan)
{
    *plan             = NULL;
    tni_arena scratch = tni_arena_make(&arena->host);
    tni_plan* made    = TNI_TAKE(arena, tni_plan, 1);
    if (made != NULL) copy_graph(arena, graph, made);
    if (!arena->failed) {
        const tni_adjacency adjacency = tni_adjacency_make(&scratch, graph);
        if (!scratch.failed) analyse(made, &adjacency, arena, &scratch);
    }
    const bool failed = arena->failed || scratch.failed;
    tni_arena_free(&scratch);
    if (failed) return TN_ERR_MEMORY;
    *plan = made;
    return TN_OK;
}
