// minimum_degree: approximate minimum degree [1] with regions and the support rule (order.c).
//
// Quotient graph: eliminated nodes are elements, lists of the nodes they connect; elements
// contained in another one are absorbed. Nodes with the same neighbours, including themselves,
// remain indistinguishable: one of them stands for all (a supervariable), and they are eliminated
// together. degree = rows of neighbours, an upper bound:
//
//     degree(v) <= rows(v's other neighbours) + rows(L_p \ v) + sum over v's elements e of
//                  rows(L_e \ L_p)
//
// after p has become the element L_p. The next supervariable is that of the lowest region, then of
// the lowest degree, then of the lowest number. Dense nodes, with very many neighbours, are ordered
// last, A before B, as in [1].
//
// The support rule splits supervariables: of its nodes, A nodes are eliminated first, then the B
// nodes that are allowed; the others keep the supervariable, are members of the new element, and
// wait.
//
// Memory: an element has no more members than the lists it was made of, so all live elements fit
// into the size of the graph; the pool has twice that size and is compacted when full.
//
// [1] P. Amestoy, T. Davis, I. Duff, An Approximate Minimum Degree Ordering Algorithm, SIMAX 1996.
#include "linalg/heap.h"
#include "linalg/order.h"

#include <math.h>

typedef struct quotient {
    const tni_adjacency* graph;
    const int*           region; // NULL: one region
    // Supervariables, identified by one of their nodes (possibly one already eliminated).
    int *          head, *next; // list of its nodes
    int*           named;       // by node: link towards its supervariable (union-find)
    int*           weight;      // rows of its nodes
    int*           degree;
    int*           first_region; // lowest region of its nodes
    int*           list; // from start[v]: elements[v] elements, then others[v] supervariables
    int *          elements, *others;
    uint8_t*       gone; // no node is left, or it does not take part
    int*           mark;
    tni_node_queue heap;
    int *          bucket, *chained; // hash table of supervariables
    int*           hash;
    // Elements, in order of creation.
    int      element_count;
    uint8_t* alive;
    size_t*  member_at; // its members[e] supervariables are pool[member_at[e] ...]
    int *    members, *rows;
    int *    left, *left_mark; // rows outside the newest element
    int*     pool;
    size_t   pool_used, pool_size;
    // Nodes.
    uint8_t* done;
    int*     open;           // number of A neighbours of a B node not yet eliminated
    int*     room;           // rows of an eliminated A node not yet used as support or reserved
    int *support, *reserved; // A node reserved as support of this B node, -1: none; rows reserved
} quotient;

static int64_t key_of(const quotient* q, int v)
{
    return ((int64_t)q->first_region[v] << 32) | q->degree[v];
}

static int supervariable_of(quotient* q, int v)
{
    while (q->named[v] != v) v = q->named[v] = q->named[q->named[v]];
    return v;
}

static bool quotient_take(quotient* q, tni_arena* scratch, const tni_adjacency* graph)
{
    const int   n = graph->count, ends = graph->start[n];
    int** const by_node[] = {
        &q->head,       &q->next,         &q->named,     &q->weight,  &q->degree, &q->mark,
        &q->elements,   &q->others,       &q->bucket,    &q->chained, &q->hash,   &q->members,
        &q->rows,       &q->left,         &q->left_mark, &q->open,    &q->room,   &q->heap.item,
        &q->heap.where, &q->first_region, &q->support,   &q->reserved};
    for (size_t i = 0; i < sizeof by_node / sizeof *by_node; ++i)
        *by_node[i] = TNI_TAKE(scratch, int, n);
    q->heap.key  = TNI_TAKE(scratch, int64_t, n);
    q->member_at = TNI_TAKE(scratch, size_t, n);
    q->gone      = TNI_TAKE(scratch, uint8_t, n);
    q->alive     = TNI_TAKE(scratch, uint8_t, n);
    q->done      = TNI_TAKE(scratch, uint8_t, n);
    q->list      = TNI_TAKE(scratch, int, ends);
    q->pool_size = 2 * ((size_t)ends + (size_t)n) + 1;
    q->pool      = TNI_TAKE(scratch, int, q->pool_size);
    return !scratch->failed;
}

static void quotient_load(quotient* q, const uint8_t* skip)
{
    const tni_adjacency* g           = q->graph;
    int                  taking_part = 0;
    for (int v = 0; v < g->count; ++v) taking_part += !skip[v];
    const double many = fmax(16.0, 10.0 * sqrt((double)taking_part));
    for (int v = 0; v < g->count; ++v) {
        q->heap.where[v] = q->next[v] = q->bucket[v] = q->support[v] = -1;
        q->head[v] = q->named[v] = v;
        q->weight[v]             = g->dim[v];
        q->first_region[v]       = q->region != NULL ? q->region[v] : 0;
        q->done[v]               = skip[v];
        q->gone[v]               = skip[v] || g->start[v + 1] - g->start[v] > many;
    }
    for (int v = 0; v < g->count; ++v) {
        if (q->gone[v]) continue;
        for (int k = g->start[v]; k < g->start[v + 1]; ++k) {
            const int w = g->node[k];
            q->open[v] += g->sign[w] > 0;
            if (q->gone[w]) continue;
            q->list[g->start[v] + q->others[v]++] = w;
            q->degree[v] += g->dim[w];
        }
        q->heap.key[v] = key_of(q, v);
        if (g->sign[v] > 0 || q->open[v] == 0) tni_heap_add(&q->heap, v);
    }
}

// ---- The support rule ---------------------------------------------------------------------------

// True if B node b has support: it uses rows of an A node. Otherwise it waits for its next A node.
static bool find_support(quotient* q, int b)
{
    const tni_adjacency* g    = q->graph;
    int                  rows = g->hard[b];
    if (q->support[b] >= 0) return q->done[q->support[b]];
    for (int k = g->start[b]; k < g->start[b + 1]; ++k) {
        if (!g->strong[k] || q->room[g->node[k]] < rows) continue;
        q->room[g->node[k]] -= rows;
        return true;
    }
    if (q->open[b] > 0) return false;
    for (int k = g->start[b]; k < g->start[b + 1]; ++k) {
        const int w = g->node[k], used = q->room[w] < rows ? q->room[w] : rows;
        q->room[w] -= used;
        rows -= used;
    }
    return true;
}

// The highest region among the A nodes of b.
static int last_region(const quotient* q, int b)
{
    const tni_adjacency* g    = q->graph;
    int                  last = -1;
    for (int k = g->start[b]; k < g->start[b + 1]; ++k) {
        const int a = g->node[k];
        if (g->sign[a] > 0 && q->region[a] > last) last = q->region[a];
    }
    return last;
}

// A B node that is also coupled to a later region would enlarge it if it had to wait for it: so the
// rows of A node a are reserved for the B nodes coupled to the latest regions.
static void reserve_support(quotient* q, int a)
{
    const tni_adjacency* g = q->graph;
    for (int best = 0; best >= 0;) {
        int latest = q->region[a];
        best       = -1;
        for (int k = g->start[a]; k < g->start[a + 1]; ++k) {
            const int b = g->node[k];
            if (g->sign[b] > 0 || q->support[b] >= 0 || !g->strong[k]) continue;
            if (q->region[b] != q->region[a] || q->reserved[a] + g->hard[b] > g->dim[a]) continue;
            const int last = last_region(q, b);
            if (last > latest) latest = last, best = b;
        }
        if (best < 0) return;
        q->support[best] = a;
        q->reserved[a] += g->hard[best];
    }
}

// Eliminates the nodes of p that are allowed, A nodes first; returns how many.
static int take_nodes(quotient* q, int p, int* order)
{
    const tni_adjacency* g     = q->graph;
    int                  count = 0;
    for (int sign = 1; sign >= -1; sign -= 2) {
        for (int* link = &q->head[p]; *link >= 0;) {
            const int v = *link;
            if (g->sign[v] != sign || (sign < 0 && !find_support(q, v))) {
                link = &q->next[v];
                continue;
            }
            *link          = q->next[v];
            order[count++] = v;
            q->done[v]     = 1;
            q->weight[p] -= g->dim[v];
            if (sign > 0) q->room[v] = g->dim[v] - q->reserved[v];
        }
    }
    return count;
}

// A node a was eliminated: its B nodes are candidates again.
static void release(quotient* q, int a)
{
    const tni_adjacency* g = q->graph;
    for (int k = g->start[a]; k < g->start[a + 1]; ++k) {
        const int b = g->node[k];
        if (g->sign[b] > 0) continue;
        --q->open[b];
        const int name = supervariable_of(q, b);
        if (!q->gone[name]) tni_heap_add(&q->heap, name);
    }
}

// ---- Elements -----------------------------------------------------------------------------------

static void compact_pool(quotient* q)
{
    size_t used = 0;
    for (int e = 0; e < q->element_count; ++e) {
        if (!q->alive[e]) continue;
        memmove(q->pool + used, q->pool + q->member_at[e], sizeof(int) * (size_t)q->members[e]);
        q->member_at[e] = used;
        used += (size_t)q->members[e];
    }
    q->pool_used = used;
}

static size_t room_needed(const quotient* q, int p)
{
    const int* list = q->list + q->graph->start[p];
    size_t     need = (size_t)q->others[p] + 1;
    for (int k = 0; k < q->elements[p]; ++k) {
        if (q->alive[list[k]]) need += (size_t)q->members[list[k]];
    }
    return need;
}

// Makes a new element of the supervariables connected by eliminating nodes of p.
static int form_element(quotient* q, int p, int stamp)
{
    if (q->pool_used + room_needed(q, p) > q->pool_size) compact_pool(q);
    const int  element = q->element_count++;
    const int* list    = q->list + q->graph->start[p];
    int *      member = q->pool + q->pool_used, count = 0, rows = 0;
    q->mark[p] = stamp;
    if (!q->gone[p]) member[count++] = p, rows = q->weight[p];
    for (int k = 0; k < q->elements[p] + q->others[p]; ++k) {
        const int  e    = list[k];
        const bool name = k >= q->elements[p];
        if (!name && !q->alive[e]) continue;
        const int* from = name ? &list[k] : q->pool + q->member_at[e];
        for (int i = 0; i < (name ? 1 : q->members[e]); ++i) {
            const int v = from[i];
            if (q->mark[v] == stamp || q->gone[v]) continue;
            q->mark[v]      = stamp;
            member[count++] = v;
            rows += q->weight[v];
        }
        if (!name) q->alive[e] = 0;
    }
    q->elements[p] = q->others[p] = 0;
    q->alive[element]             = 1;
    q->member_at[element]         = q->pool_used;
    q->members[element]           = count;
    q->rows[element]              = rows;
    q->pool_used += (size_t)count;
    return element;
}

// Degree of v outside the new element; compacts v's lists and computes their hash.
static int renew(quotient* q, int v, int element, int stamp)
{
    const tni_adjacency* g    = q->graph;
    int *                list = q->list + g->start[v], elements = 0, others = 0, degree = 0;
    const int            old_elements = q->elements[v], end = old_elements + q->others[v];
    unsigned             hash = (unsigned)element;
    for (int k = 0; k < old_elements; ++k) {
        const int e = list[k];
        if (!q->alive[e]) continue;
        if (q->left[e] == 0) q->alive[e] = 0; // contained in the new one
        else list[elements++] = e, degree += q->left[e], hash += (unsigned)e;
    }
    // The new element takes a free entry: either its supervariable was among the others, or an
    // absorbed element was. Entries move into the gap, never over one that is still to be read.
    int hole = elements, first_kept = -1;
    for (int k = old_elements; k < end; ++k) {
        const int w = list[k];
        if (q->mark[w] == stamp || q->gone[w]) continue;
        degree += q->weight[w];
        hash += (unsigned)w;
        if (others++ == 0) {
            first_kept = w; // stored last, so that the element can take its place
            ++hole;
        } else {
            list[hole++] = w;
        }
    }
    if (others > 0) list[hole] = first_kept;
    list[elements] = element;
    q->elements[v] = elements + 1;
    q->others[v]   = others;
    q->hash[v]     = (int)(hash % (unsigned)g->count);
    return degree;
}

// True if w's lists equal the marked lists of v.
static bool same_lists(const quotient* q, int v, int w, int stamp)
{
    const int* list = q->list + q->graph->start[w];
    if (q->elements[v] != q->elements[w] || q->others[v] != q->others[w]) return false;
    for (int k = 0; k < q->elements[w]; ++k) {
        if (q->left_mark[list[k]] != stamp) return false;
    }
    for (int k = q->elements[w]; k < q->elements[w] + q->others[w]; ++k) {
        if (q->mark[list[k]] != stamp) return false;
    }
    return true;
}

// Merges supervariable w into v.
static void merge_supervariables(quotient* q, int v, int w)
{
    int* link = &q->head[v];
    while (*link >= 0) link = &q->next[*link];
    *link       = q->head[w];
    q->head[w]  = -1;
    q->named[w] = v;
    q->gone[w]  = 1;
    q->weight[v] += q->weight[w];
    if (q->first_region[w] < q->first_region[v]) q->first_region[v] = q->first_region[w];
    if (q->degree[w] < q->degree[v]) q->degree[v] = q->degree[w];
    if (q->heap.where[w] < 0) return;
    tni_heap_remove(&q->heap, w);
    tni_heap_add(&q->heap, v);
}

// Merges the supervariables of a bucket that are indistinguishable; uses stamps above *stamp.
static void join_bucket(quotient* q, int v, int* stamp)
{
    for (; v >= 0; v = q->chained[v]) {
        if (q->gone[v] || q->chained[v] < 0) continue;
        const int* list = q->list + q->graph->start[v];
        ++*stamp;
        for (int k = 0; k < q->elements[v]; ++k) q->left_mark[list[k]] = *stamp;
        for (int k = q->elements[v]; k < q->elements[v] + q->others[v]; ++k)
            q->mark[list[k]] = *stamp;
        for (int w = q->chained[v]; w >= 0; w = q->chained[w]) {
            if (!q->gone[w] && same_lists(q, v, w, *stamp)) merge_supervariables(q, v, w);
        }
    }
}

static void join_members(quotient* q, const int* member, int count, int* stamp)
{
    for (int i = count - 1; i >= 0; --i) {
        const int v           = member[i];
        q->chained[v]         = q->bucket[q->hash[v]];
        q->bucket[q->hash[v]] = v;
    }
    for (int i = 0; i < count; ++i) {
        const int hash = q->hash[member[i]];
        if (q->bucket[hash] < 0) continue;
        join_bucket(q, q->bucket[hash], stamp);
        q->bucket[hash] = -1;
    }
}

// Updates the degrees of the members of the new element; remaining: rows not yet eliminated.
static void renew_members(quotient* q, int element, int* stamp, int remaining)
{
    const tni_adjacency* g      = q->graph;
    int*                 member = q->pool + q->member_at[element];
    for (int i = 0; i < q->members[element]; ++i) {
        const int v = member[i];
        for (int k = g->start[v]; k < g->start[v] + q->elements[v]; ++k) {
            const int e = q->list[k];
            if (!q->alive[e]) continue;
            if (q->left_mark[e] != *stamp) q->left[e] = q->rows[e];
            q->left_mark[e] = *stamp;
            q->left[e] -= q->weight[v];
        }
    }
    for (int i = 0; i < q->members[element]; ++i) {
        const int v = member[i], outside = renew(q, v, element, *stamp);
        if (outside < q->degree[v]) q->degree[v] = outside;
    }
    join_members(q, member, q->members[element], stamp);
    int count = 0;
    for (int i = 0; i < q->members[element]; ++i) {
        const int v = member[i];
        if (q->gone[v]) continue;
        member[count++] = v;
        int degree      = q->degree[v] + q->rows[element] - q->weight[v];
        if (degree > remaining - q->weight[v]) degree = remaining - q->weight[v];
        q->degree[v] = degree;
        tni_heap_set(&q->heap, v, key_of(q, v));
    }
    q->members[element] = count;
}

// ---- The order ----------------------------------------------------------------------------------

int tni_order_minimum_degree(tni_arena* scratch, const tni_adjacency* graph, const uint8_t* skip,
                             const int* region, int* order)
{
    quotient q = {.graph = graph, .region = region};
    if (!quotient_take(&q, scratch, graph)) return -1;
    quotient_load(&q, skip);
    for (int v = 0; region != NULL && v < graph->count; ++v) {
        if (graph->sign[v] > 0 && !q.gone[v]) reserve_support(&q, v);
    }
    int count = 0, stamp = 0, remaining = 0;
    for (int v = 0; v < graph->count; ++v) remaining += q.gone[v] ? 0 : graph->dim[v];
    while (q.heap.count > 0) {
        const int p = q.heap.item[0], rows = q.weight[p];
        tni_heap_remove(&q.heap, p);
        const int taken = take_nodes(&q, p, order + count);
        if (taken == 0) continue;
        q.gone[p] = q.head[p] < 0;
        remaining -= rows - q.weight[p];
        ++stamp;
        renew_members(&q, form_element(&q, p, stamp), &stamp, remaining);
        for (int i = 0; i < taken; ++i) {
            if (graph->sign[order[count + i]] > 0) release(&q, order[count + i]);
        }
        count += taken;
    }
    // The rest: dense nodes, and B nodes that wait for them.
    for (int sign = 1; sign >= -1; sign -= 2) {
        for (int v = 0; v < graph->count; ++v) {
            if (!q.done[v] && graph->sign[v] == sign) order[count++] = v;
        }
    }
    return count;
}
