// nested_dissection: nested dissection [1] of a block graph.
//
// The coarse graph ("web"): its vertices are the A nodes, with an edge ("tie") where a B node is
// coupled to both; the tie weighs as many rows as the B node has. Hubs, vertices with very many
// ties, are left out and ordered last. A separator divides the rest into two halves, neither
// heavier than BALANCE; each half is divided recursively down to LEAF vertices. Regions are
// numbered such that a separator comes after everything it separates. Inside each region minimum
// degree decides (minimum_degree.c); regions are preferences only: any numbering gives a correct
// order.
//
// A separator consists of A nodes, removed from the web, or of the B nodes that connect the halves,
// whichever weighs less. B nodes weigh their rows. A nodes weigh their rows and more: a B node
// between a region and the separator needs support by its A node in the region (order.c), or it
// waits for the separator and makes it wider; so the rows are added for which a vertex beside the
// separator has no free rows.
//
// Bisection, multilevel [2]: vertices are matched in pairs, each with the neighbour of the heaviest
// tie, and pairs become vertices of a coarser web, until it is small. There, halves are grown
// breadth first from several starts. On the way back to the finest web the halves, later the A
// nodes between them, are improved by the moves of Fiduccia and Mattheyses [3]: always the vertex
// that makes the cut lightest, even if it gets heavier, each vertex once; then back to the best
// state. A cut becomes a separator of A nodes as a minimum vertex cover of its ties; this is tried
// on several levels, with several matchings, and the lightest separator taken. Flops of the factor,
// octahedra in a cube of 17^3 and in a tube of 150 rings, A nodes only:
//     one matching    one level 9.5e11, 1.2e10    three levels 8.4e11, 9.8e9
//     two matchings             8.6e11, 9.2e9                  6.9e11, 7.3e9
//     four                      7.6e11, 8.2e9                  6.4e11, 6.8e9
// B nodes only: 1.2e12, 1.9e10. Both, two matchings, as here: 6.6e11, 7.2e9. On a grid of 16^3 with
// ties of three rows A nodes only give 2.7e10, both 3.4e9, minimum degree alone 1.3e10.
//
// Cost: O(edges log(nodes)). Memory: a few times that of the web. Deterministic: the second
// matching uses a fixed sequence instead of random numbers; node numbers break all draws.
//
// [1] A. George, Nested Dissection of a Regular Finite Element Mesh, SINUM 1973.
// [2] G. Karypis, V. Kumar, A Fast and High Quality Multilevel Scheme for Partitioning Irregular
//     Graphs, SISC 1998.
// [3] C. Fiduccia, R. Mattheyses, A Linear-Time Heuristic for Improving Network Partitions, 1982.
#include "linalg/nested_dissection.h"

#include "linalg/heap.h"

enum {
    LEAF       = 300, // a region with no more vertices is not divided
    SMALL      = 60,  // a web with no more vertices is not coarsened
    LEVELS_MAX = 40,  // coarser webs
    STARTS     = 6,   // starts for growing halves
    MATCHINGS  = 2,   // different matchings for coarsening
    PASSES     = 8,   // improvement passes
    WIDE       = 12,  // a B node with more neighbours makes no ties
    HUB_TIES   = 20,  // a hub has more ties than this
    HUB_FACTOR = 10,  // and more than this many times the mean
    BALANCE    = 60   // largest weight of one half, per cent
};

// A weighted graph. The neighbours of vertex v are node[start[v] ... start[v + 1] - 1].
typedef struct web {
    int  count;
    int *start, *node, *tie;
    int* weight;
    int* coarser; // vertex of the next coarser web
    int  total;   // weight
} web;

typedef struct dissection {
    const tni_adjacency* graph;
    web                  whole;
    int*                 vertex_of; // by node: -1 for B nodes, hubs and skipped nodes
    int*                 node_of;   // by vertex
    int*                 list;      // vertices; each region is a range of it
    int*                 local;     // by vertex: its number in the web of the region
    int*                 pool;      // memory for webs
    size_t               used, size;
    int8_t*              side;                 // of a web's vertices: 0, 1; 2: separator
    int8_t *             other, *grown, *best; // sides: coarser web's; best start's; best
    int *                mark, *moved, *log;
    int *                spare, *flow;
    uint8_t*             locked;
    tni_node_queue
        heap[2]; // candidates by side they leave; separator vertices: by side they would go to
} dissection;

// Takes memory for a web from the pool; false if there is not enough.
static bool web_take(dissection* d, web* w, int count, size_t ends)
{
    const size_t n = (size_t)count;
    if (d->used + 3 * n + 1 + 2 * ends > d->size) return false;
    w->count   = count;
    w->start   = d->pool + d->used;
    w->weight  = w->start + n + 1;
    w->coarser = w->weight + n;
    w->node    = w->coarser + n;
    w->tie     = w->node + ends;
    d->used += 3 * n + 1 + 2 * ends;
    return true;
}

// Returns unused memory of the web that was taken last.
static void web_fit(dissection* d, web* w)
{
    const size_t ends = (size_t)w->start[w->count];
    memmove(w->node + ends, w->tie, sizeof *w->tie * ends);
    w->tie  = w->node + ends;
    d->used = (size_t)(w->tie + ends - d->pool);
}

// ---- Bisection ----------------------------------------------------------------------------------

// The order in which vertices are matched: by number, or a fixed shuffle.
static void list_visits(int count, int matching, int* visit)
{
    uint64_t state = (uint64_t)matching;
    for (int v = 0; v < count; ++v) visit[v] = v;
    for (int i = count - 1; matching > 0 && i > 0; --i) {
        state       = state * 6364136223846793005u + 1442695040888963407u;
        const int j = (int)((state >> 33) % (uint64_t)(i + 1)), v = visit[i];
        visit[i] = visit[j];
        visit[j] = v;
    }
}

// The unmatched neighbour of v with the heaviest tie; of several the lightest, then the first in
// v's list; v itself if there is none.
static int mate(const web* w, int v, int heaviest)
{
    int best = v, tie = -1;
    for (int k = w->start[v]; k < w->start[v + 1]; ++k) {
        const int u = w->node[k];
        if (w->coarser[u] >= 0 || w->weight[u] + w->weight[v] > heaviest) continue;
        if (w->tie[k] < tie || (w->tie[k] == tie && w->weight[u] >= w->weight[best])) continue;
        best = u;
        tie  = w->tie[k];
    }
    return best;
}

// Numbers pairs and unmatched vertices by their lower vertex; returns how many.
static int match(web* w, int heaviest, int matching, int* visit)
{
    list_visits(w->count, matching, visit);
    for (int v = 0; v < w->count; ++v) w->coarser[v] = -1;
    for (int i = 0; i < w->count; ++i) {
        const int v = visit[i];
        if (w->coarser[v] >= 0) continue;
        const int u   = mate(w, v, heaviest);
        w->coarser[v] = w->coarser[u] = u < v ? u : v; // numbered below
    }
    int count = 0;
    for (int v = 0; v < w->count; ++v) {
        const int lower = w->coarser[v];
        w->coarser[v]   = lower == v ? count++ : w->coarser[lower];
    }
    return count;
}

// Adds the ties of vertex v of the finer web to vertex c of the coarser; slot[u]: index of u there.
static int merge_ties(const web* fine, web* coarse, int v, int c, int at, int* slot)
{
    for (int k = fine->start[v]; k < fine->start[v + 1]; ++k) {
        const int u = fine->coarser[fine->node[k]];
        if (u == c) continue;
        if (slot[u] >= coarse->start[c]) {
            coarse->tie[slot[u]] += fine->tie[k];
            continue;
        }
        slot[u]          = at;
        coarse->node[at] = u;
        coarse->tie[at]  = fine->tie[k];
        ++at;
    }
    return at;
}

// False if the web would not become much smaller, or the pool is full.
static bool coarsen(dissection* d, web* fine, web* coarse, int matching)
{
    const int count = match(fine, fine->total / 16 + 1, matching, d->moved);
    if (10 * count > 9 * fine->count) return false;
    if (!web_take(d, coarse, count, (size_t)fine->start[fine->count])) return false;
    coarse->total = fine->total;
    int *slot = d->moved, *second = d->mark, at = 0; // free here
    for (int c = 0; c < count; ++c) slot[c] = second[c] = -1, coarse->weight[c] = 0;
    for (int v = fine->count - 1; v >= 0; --v) { // pairs as lists: first, second
        const int c = fine->coarser[v];
        if (second[c] < 0) second[c] = v;
        coarse->weight[c] += fine->weight[v];
    }
    for (int v = 0, c = 0; v < fine->count; ++v) {
        if (fine->coarser[v] != c) continue; // the second of a pair
        coarse->start[c] = at;
        at               = merge_ties(fine, coarse, v, c, at, slot);
        if (second[c] != v) at = merge_ties(fine, coarse, second[c], c, at, slot);
        coarse->start[++c] = at;
    }
    web_fit(d, coarse);
    return true;
}

// Grows side 0 breadth first from a vertex to half the weight; returns the last vertex reached.
static int grow(dissection* d, const web* w, int from, int8_t* side)
{
    int *queue = d->moved, head = 0, tail = 0, next = 0, weight = 0;
    for (int v = 0; v < w->count; ++v) side[v] = 1;
    for (int v = 0; v < w->count; ++v) d->mark[v] = 0;
    queue[tail++] = from;
    d->mark[from] = 1;
    while (2 * (int64_t)weight < w->total) {
        while (head == tail) { // the next connected component
            if (!d->mark[next]) queue[tail++] = next, d->mark[next] = 1;
            ++next;
        }
        const int v = queue[head++];
        side[v]     = 0;
        weight += w->weight[v];
        for (int k = w->start[v]; k < w->start[v + 1]; ++k) {
            const int u = w->node[k];
            if (!d->mark[u]) queue[tail++] = u, d->mark[u] = 1;
        }
    }
    return queue[tail - 1]; // far away
}

static int64_t cut_of(const web* w, const int8_t* side)
{
    int64_t sum = 0;
    for (int v = 0; v < w->count; ++v) {
        for (int k = w->start[v]; k < w->start[v + 1]; ++k) {
            if (side[v] + side[w->node[k]] == 1) sum += w->tie[k];
        }
    }
    return sum / 2;
}

// The increase of the cut when v moves. True if v has ties across the cut.
static bool loss_of(const web* w, const int8_t* side, int v, int64_t* loss)
{
    bool across = false;
    *loss       = 0;
    for (int k = w->start[v]; k < w->start[v + 1]; ++k) {
        const bool same = side[w->node[k]] == side[v];
        *loss += same ? w->tie[k] : -w->tie[k];
        across |= !same;
    }
    return across;
}

static void move_vertex(dissection* d, const web* w, int8_t* side, int v)
{
    tni_heap_remove(&d->heap[side[v]], v);
    d->locked[v] = 1;
    side[v]      = (int8_t)(1 - side[v]);
    for (int k = w->start[v]; k < w->start[v + 1]; ++k) {
        const int u = w->node[k];
        if (d->locked[u]) continue;
        int64_t loss;
        loss_of(w, side, u, &loss);
        tni_heap_set(&d->heap[side[u]], u, loss);
        tni_heap_add(&d->heap[side[u]], u);
    }
}

// The next vertex to move; -1: none is allowed.
static int pick(const dissection* d, const web* w, const int* weight, int most)
{
    int best = -1, from = 0;
    for (int s = 0; s < 2; ++s) {
        if (d->heap[s].count == 0) continue;
        const int v = d->heap[s].item[0];
        if (weight[1 - s] + w->weight[v] > most) continue;
        const int64_t key = d->heap[s].key[v];
        if (best >= 0 && (key > d->heap[from].key[best] ||
                          (key == d->heap[from].key[best] && weight[s] <= weight[from])))
            continue;
        best = v;
        from = s;
    }
    return best;
}

static void empty_heaps(dissection* d)
{
    for (int s = 0; s < 2; ++s) {
        for (int i = 0; i < d->heap[s].count; ++i) d->heap[s].where[d->heap[s].item[i]] = -1;
        d->heap[s].count = 0;
    }
}

// One pass; true if the cut became lighter, or as light and better balanced.
static bool improve(dissection* d, const web* w, int8_t* side)
{
    int       weight[2] = {0, 0}, count = 0, kept = 0;
    const int most = (int)((int64_t)w->total * BALANCE / 100), patience = 50 + w->count / 50;
    for (int v = 0; v < w->count; ++v) {
        int64_t loss;
        d->locked[v] = 0;
        weight[side[v]] += w->weight[v];
        if (!loss_of(w, side, v, &loss)) continue;
        d->heap[side[v]].key[v] = loss;
        tni_heap_add(&d->heap[side[v]], v);
    }
    int64_t   cut = 0, least = 0; // relative to the start
    const int apart       = weight[0] > weight[1] ? weight[0] - weight[1] : weight[1] - weight[0];
    int       least_apart = apart;
    for (int v; count - kept < patience && (v = pick(d, w, weight, most)) >= 0;) {
        cut += d->heap[side[v]].key[v];
        weight[side[v]] -= w->weight[v];
        move_vertex(d, w, side, v);
        weight[side[v]] += w->weight[v];
        d->moved[count++] = v;
        const int now     = weight[0] > weight[1] ? weight[0] - weight[1] : weight[1] - weight[0];
        if (cut > least || (cut == least && now >= least_apart)) continue;
        least       = cut;
        least_apart = now;
        kept        = count;
    }
    while (count > kept) {
        const int v = d->moved[--count];
        side[v]     = (int8_t)(1 - side[v]);
    }
    empty_heaps(d);
    return least < 0 || least_apart < apart;
}

static void refine(dissection* d, const web* w, int8_t* side)
{
    for (int pass = 0; pass < PASSES && improve(d, w, side); ++pass) {}
}

// ---- Separators ---------------------------------------------------------------------------------

// The minimum-weight vertex cover of the ties across the cut, by Koenig's theorem: a maximum flow
// along these ties from side 0 to side 1, limited by the weights of the vertices; the cover are the
// vertices of side 1 that can be reached in the residual graph from a source with capacity left,
// and those of side 0 that cannot.
//     spare: capacity left of a vertex
//     flow: by tie of side 0
//     from: predecessor of a vertex; -1: not reached, itself: a source
typedef struct cover {
    int *spare, *flow, *from, *queue;
} cover;

static bool has_across(const dissection* d, const web* w, int v)
{
    for (int k = w->start[v]; k < w->start[v + 1]; ++k) {
        if (d->side[w->node[k]] != d->side[v]) return true;
    }
    return false;
}

static int tie_to(const web* w, int v, int u)
{
    int k = w->start[v];
    while (w->node[k] != u) ++k;
    return k;
}

// A vertex of side 1 reached with capacity left; -1: none.
static int reach(const dissection* d, const web* w, const cover* c)
{
    int tail = 0;
    for (int v = 0; v < w->count; ++v) {
        c->from[v] = -1;
        if (d->side[v] == 0 && c->spare[v] > 0) c->from[v] = v, c->queue[tail++] = v;
    }
    for (int head = 0; head < tail; ++head) {
        const int v = c->queue[head];
        if (d->side[v] == 1 && c->spare[v] > 0) return v;
        for (int k = w->start[v]; k < w->start[v + 1]; ++k) {
            const int u = w->node[k];
            if (d->side[u] == d->side[v] || c->from[u] >= 0) continue;
            if (d->side[v] == 1 && c->flow[tie_to(w, u, v)] == 0) continue;
            c->from[u]       = v;
            c->queue[tail++] = u;
        }
    }
    return -1;
}

static void push(const dissection* d, const web* w, const cover* c, int end)
{
    int most = c->spare[end], v = end;
    for (; c->from[v] != v; v = c->from[v]) {
        if (d->side[v] == 1) continue;
        const int back = c->flow[tie_to(w, v, c->from[v])];
        most           = back < most ? back : most;
    }
    most = c->spare[v] < most ? c->spare[v] : most;
    c->spare[v] -= most;
    c->spare[end] -= most;
    for (v = end; c->from[v] != v; v = c->from[v]) {
        if (d->side[v] == 1) c->flow[tie_to(w, c->from[v], v)] += most;
        else c->flow[tie_to(w, v, c->from[v])] -= most;
    }
}

// Marks the separator as side 2.
static void separate(dissection* d, const web* w)
{
    const size_t n = (size_t)w->count;
    const cover  c = {d->spare, d->flow, d->mark, d->moved};
    memcpy(c.spare, w->weight, sizeof *c.spare * n);
    memset(c.flow, 0, sizeof *c.flow * (size_t)w->start[n]);
    for (int v = 0; v < w->count; ++v) { // greedy flow along single ties
        if (!has_across(d, w, v)) c.spare[v] = 0;
        for (int k = w->start[v]; k < w->start[v + 1]; ++k) {
            const int u = w->node[k];
            if (d->side[v] != 0 || d->side[u] != 1) continue;
            const int most = c.spare[u] < c.spare[v] ? c.spare[u] : c.spare[v];
            c.flow[k] += most;
            c.spare[v] -= most;
            c.spare[u] -= most;
        }
    }
    for (int end; (end = reach(d, w, &c)) >= 0;) push(d, w, &c, end);
    for (int v = 0; v < w->count; ++v) {
        d->other[v] = has_across(d, w, v) && (d->side[v] == 1) == (c.from[v] >= 0) ? 2 : d->side[v];
    }
    memcpy(d->side, d->other, n);
}

// Computes the change of the separator's weight when v moves to each side: its neighbours on the
// other side join the separator.
static void weigh(dissection* d, const web* w, int v)
{
    int64_t gain[2] = {-w->weight[v], -w->weight[v]};
    for (int k = w->start[v]; k < w->start[v + 1]; ++k) {
        const int u = w->node[k];
        if (d->side[u] < 2) gain[1 - d->side[u]] += w->weight[u];
    }
    for (int s = 0; s < 2; ++s) {
        tni_heap_set(&d->heap[s], v, gain[s]);
        tni_heap_add(&d->heap[s], v);
    }
}

// Changes the gains of the separator vertices around v for moving to side s.
static void shift_around(dissection* d, const web* w, int v, int s, int by)
{
    for (int k = w->start[v]; k < w->start[v + 1]; ++k) {
        const int u = w->node[k];
        if (d->side[u] == 2 && !d->locked[u]) tni_heap_set(&d->heap[s], u, d->heap[s].key[u] + by);
    }
}

// Moves v out of the separator; logs (vertex, old side) pairs and returns the length of the log.
static int leave(dissection* d, const web* w, int v, int s, int* weight, int* log, int count)
{
    for (int i = 0; i < 2; ++i) tni_heap_remove(&d->heap[i], v);
    d->locked[v] = 1;
    d->side[v]   = (int8_t)s;
    weight[2] -= w->weight[v];
    weight[s] += w->weight[v];
    log[count++] = 3 * v + 2;
    shift_around(d, w, v, 1 - s, w->weight[v]);
    for (int k = w->start[v]; k < w->start[v + 1]; ++k) {
        const int u = w->node[k];
        if (d->side[u] != 1 - s) continue;
        log[count++] = 3 * u + d->side[u];
        d->side[u]   = 2;
        weight[1 - s] -= w->weight[u];
        weight[2] += w->weight[u];
        shift_around(d, w, u, s, -w->weight[u]);
        if (!d->locked[u]) weigh(d, w, u);
    }
    return count;
}

static int pick_leaver(const dissection* d, const web* w, const int* weight, int most, int* to)
{
    int best = -1;
    for (int s = 0; s < 2; ++s) {
        if (d->heap[s].count == 0) continue;
        const int v = d->heap[s].item[0];
        if (weight[s] + w->weight[v] > most) continue;
        if (best >= 0 &&
            (d->heap[s].key[v] > d->heap[*to].key[best] ||
             (d->heap[s].key[v] == d->heap[*to].key[best] && weight[s] >= weight[*to])))
            continue;
        best = v;
        *to  = s;
    }
    return best;
}

static int apart(const int* weight)
{
    return weight[0] > weight[1] ? weight[0] - weight[1] : weight[1] - weight[0];
}

static bool thin(dissection* d, const web* w)
{
    int       weight[3] = {0, 0, 0}, count = 0, kept = 0, moves = 0, best_move = 0;
    const int most = (int)((int64_t)w->total * BALANCE / 100), patience = 50 + w->count / 50;
    int*      log = d->log;
    for (int v = 0; v < w->count; ++v) {
        d->locked[v] = 0;
        weight[d->side[v]] += w->weight[v];
    }
    for (int v = 0; v < w->count; ++v) {
        if (d->side[v] == 2) weigh(d, w, v);
    }
    const int first = weight[2], first_apart = apart(weight);
    int       least = first, least_apart = first_apart;
    for (int v, to = 0;
         moves - best_move < patience && (v = pick_leaver(d, w, weight, most, &to)) >= 0;) {
        count = leave(d, w, v, to, weight, log, count);
        ++moves;
        if (weight[2] > least || (weight[2] == least && apart(weight) >= least_apart)) continue;
        least       = weight[2];
        least_apart = apart(weight);
        kept        = count;
        best_move   = moves;
    }
    while (count > kept) {
        --count;
        d->side[log[count] / 3] = (int8_t)(log[count] % 3);
    }
    empty_heaps(d);
    return least < first || least_apart < first_apart;
}

static void thin_all(dissection* d, const web* w)
{
    for (int pass = 0; pass < PASSES && thin(d, w); ++pass) {}
}

// Rows of a separator: its own, and those coupled to it without free rows beside it.
static int64_t separator_weight(const dissection* d, const web* w)
{
    int64_t sum = 0;
    for (int v = 0; v < w->count; ++v) {
        int rows = 0;
        for (int k = w->start[v]; k < w->start[v + 1]; ++k)
            rows += d->side[w->node[k]] == 2 ? w->tie[k] : 0;
        if (d->side[v] == 2) sum += w->weight[v];
        else if (rows > w->weight[v]) sum += rows - w->weight[v];
    }
    return sum;
}

// ---- Multilevel bisection -----------------------------------------------------------------------

// Sides in a small web, the best of several starts; with or without a separator.
static void first_sides(dissection* d, const web* w, bool separated)
{
    int64_t least = INT64_MAX;
    int     far   = 0;
    for (int i = 0; i < STARTS; ++i) {
        const int from = i < 3 ? far : (int)((int64_t)w->count * (i - 2) / (STARTS - 2));
        far            = grow(d, w, from, d->side);
        refine(d, w, d->side);
        if (separated) {
            separate(d, w);
            thin_all(d, w);
        }
        const int64_t weight = separated ? separator_weight(d, w) : cut_of(w, d->side);
        if (weight >= least) continue;
        least = weight;
        memcpy(d->grown, d->side, (size_t)w->count);
    }
    memcpy(d->side, d->grown, (size_t)w->count);
}

// From the coarsest web to the finest; a separator is made at the given level and refined below.
static void descend(dissection* d, const web* level, int top, int separated_from)
{
    bool separated = top <= separated_from;
    first_sides(d, &level[top], separated);
    for (int l = top - 1; l >= 0; --l) {
        const web* fine = &level[l];
        memcpy(d->other, d->side, (size_t)level[l + 1].count);
        for (int v = 0; v < fine->count; ++v) d->side[v] = d->other[fine->coarser[v]];
        if (!separated) refine(d, fine, d->side);
        if (!separated && l <= separated_from) {
            separate(d, fine);
            separated = true;
        }
        if (separated) thin_all(d, fine);
    }
}

// Sets d->side of each vertex to the lightest separator of all tries.
static void part_web(dissection* d, const web* w)
{
    static const int separated_from[] = {-1, 2, 4, LEVELS_MAX}; // -1: separator of B nodes
    web              level[LEVELS_MAX];
    const size_t     before = d->used;
    int64_t          least  = INT64_MAX;
    level[0]                = *w;
    for (int matching = 0; matching < MATCHINGS; ++matching) {
        int top = 0;
        while (top + 1 < LEVELS_MAX && level[top].count > SMALL &&
               coarsen(d, &level[top], &level[top + 1], matching))
            ++top;
        for (int i = 0; i < 4; ++i) {
            descend(d, level, top, separated_from[i]);
            const int64_t weight = cut_of(w, d->side) + separator_weight(d, w);
            if (weight >= least) continue;
            least = weight;
            memcpy(d->best, d->side, (size_t)w->count);
        }
        d->used = before;
    }
    memcpy(d->side, d->best, (size_t)w->count);
}

// ---- Regions ------------------------------------------------------------------------------------

// The web of list[first ... end - 1]; d->local keeps the numbering.
static void cut_out(dissection* d, int first, int end, web* w)
{
    const web* whole = &d->whole;
    size_t     ends  = 0;
    for (int i = first; i < end; ++i) {
        const int v = d->list[i];
        d->local[v] = i - first;
        ends += (size_t)(whole->start[v + 1] - whole->start[v]);
    }
    const bool taken = web_take(d, w, end - first, ends); // the pool is larger than the whole web
    TN_ASSERT(taken);
    (void)taken;
    int at   = 0;
    w->total = 0;
    for (int i = first; i < end; ++i) {
        const int v                      = d->list[i];
        w->start[i - first]              = at;
        w->total += w->weight[i - first] = whole->weight[v];
        for (int k = whole->start[v]; k < whole->start[v + 1]; ++k) {
            const int u = d->local[whole->node[k]];
            if (u < 0) continue;
            w->node[at]  = u;
            w->tie[at++] = whole->tie[k];
        }
    }
    w->start[end - first] = at;
    web_fit(d, w);
}

// Puts B nodes that connect both halves into the region, unless they are in a later one.
static void mark_ties(const dissection* d, int first, int end, int number, int* region)
{
    const tni_adjacency* g = d->graph;
    for (int i = first; i < end; ++i) {
        const int a = d->node_of[d->list[i]];
        if (d->side[i - first] != 0) continue;
        for (int k = g->start[a]; k < g->start[a + 1]; ++k) {
            const int b = g->node[k];
            if (g->sign[b] > 0 || region[b] >= 0) continue;
            for (int l = g->start[b]; l < g->start[b + 1]; ++l) {
                const int u = d->vertex_of[g->node[l]];
                if (u >= 0 && d->local[u] >= 0 && d->side[d->local[u]] == 1) region[b] = number;
            }
        }
    }
}

// Sorts list by side 0, 1, separator; returns the ends.
static void sort_sides(dissection* d, int first, int end, int* ends)
{
    int at = 0;
    for (int s = 0; s < 3; ++s) {
        for (int i = first; i < end; ++i) {
            if (d->side[i - first] == s) d->moved[at++] = d->list[i];
        }
        ends[s] = first + at;
    }
    memcpy(d->list + first, d->moved, sizeof *d->moved * (size_t)at);
}

// Numbers regions from last to first: a separator, then one side of it, then the other.
static bool part_regions(dissection* d, tni_arena* scratch, int last, int* region)
{
    const int count = d->whole.count;
    int *     stack = TNI_TAKE(scratch, int, 2 * (size_t)count + 4), top = 0; // ranges
    if (scratch->failed) return false;
    stack[top++] = 0;
    stack[top++] = count;
    while (top > 0) {
        const int end = stack[--top], first = stack[--top];
        int       ends[3] = {first, first, end};
        web       w       = {0};
        d->used           = 0;
        if (end - first > LEAF) {
            cut_out(d, first, end, &w);
            part_web(d, &w);
            mark_ties(d, first, end, last, region);
            for (int i = first; i < end; ++i) d->local[d->list[i]] = -1;
            sort_sides(d, first, end, ends);
        }
        const bool parted = ends[0] > first && ends[1] > ends[0];
        for (int i = parted ? ends[1] : first; i < end; ++i) region[d->node_of[d->list[i]]] = last;
        --last;
        if (!parted) continue;
        stack[top++] = first;
        stack[top++] = ends[0];
        stack[top++] = ends[0];
        stack[top++] = ends[1];
    }
    return true;
}

// ---- The web of a graph -------------------------------------------------------------------------

// The ties of vertex v: A nodes that share a B node with it, or are its neighbours.
static int list_ties(dissection* d, int v, int* node, int* tie, int* slot)
{
    const tni_adjacency* g     = d->graph;
    const int            a     = d->node_of[v];
    int                  count = 0;
    for (int k = g->start[a]; k < g->start[a + 1]; ++k) {
        const int  b = g->node[k], degree = g->start[b + 1] - g->start[b];
        const bool direct = g->sign[b] > 0;
        if (!direct && degree > WIDE) continue;
        for (int l = direct ? k : g->start[b]; l < (direct ? k + 1 : g->start[b + 1]); ++l) {
            const int u = d->vertex_of[g->node[l]];
            if (u < 0 || u == v) continue;
            if (slot[u] < 0) {
                slot[u]     = count;
                node[count] = u;
                tie[count]  = 0;
                ++count;
            }
            tie[slot[u]] += g->dim[b];
        }
    }
    for (int i = 0; i < count; ++i) slot[node[i]] = -1;
    return count;
}

static size_t ends_of(const tni_adjacency* g, int a) // an upper bound
{
    size_t ends = 0;
    for (int k = g->start[a]; k < g->start[a + 1]; ++k) {
        const int b = g->node[k], degree = g->start[b + 1] - g->start[b];
        if (g->sign[b] > 0) ++ends;
        else if (degree <= WIDE) ends += (size_t)(degree - 1);
    }
    return ends;
}

// Numbers the vertices without hubs; returns a bound on the number of tie ends.
static size_t number_vertices(dissection* d, const uint8_t* skip)
{
    const tni_adjacency* g    = d->graph;
    size_t               ends = 0;
    int                  n    = 0;
    for (int v = 0; v < g->count; ++v) {
        if (skip[v] || g->sign[v] < 0) continue;
        ends += ends_of(g, v);
        ++n;
    }
    const size_t many = HUB_FACTOR * (n > 0 ? ends / (size_t)n : 0);
    ends              = 0;
    for (int v = 0; v < g->count; ++v) {
        d->vertex_of[v] = -1;
        if (skip[v] || g->sign[v] < 0) continue;
        const size_t own = ends_of(g, v);
        if (own > many && own > HUB_TIES) continue;
        d->node_of[d->whole.count] = v;
        d->vertex_of[v]            = d->whole.count++;
        ends += own;
    }
    return ends;
}

static bool make_web(dissection* d, tni_arena* scratch, size_t ends)
{
    web*         w = &d->whole;
    const size_t n = (size_t)w->count;
    w->start       = TNI_TAKE(scratch, int, n + 1);
    w->weight      = TNI_TAKE(scratch, int, n);
    w->node        = TNI_TAKE(scratch, int, ends);
    w->tie         = TNI_TAKE(scratch, int, ends);
    d->list        = TNI_TAKE(scratch, int, n);
    d->local       = TNI_TAKE(scratch, int, n);
    d->mark        = TNI_TAKE(scratch, int, n);
    d->moved       = TNI_TAKE(scratch, int, n);
    d->spare       = TNI_TAKE(scratch, int, n);
    d->flow        = TNI_TAKE(scratch, int, ends);
    d->log         = TNI_TAKE(scratch, int, 3 * n); // a vertex may leave, enter, leave
    d->locked      = TNI_TAKE(scratch, uint8_t, n);
    d->side        = TNI_TAKE(scratch, int8_t, n);
    d->grown       = TNI_TAKE(scratch, int8_t, n);
    d->best        = TNI_TAKE(scratch, int8_t, n);
    d->other       = TNI_TAKE(scratch, int8_t, n);
    d->size        = 4 * (2 * ends + 3 * n + 1);
    d->pool        = TNI_TAKE(scratch, int, d->size);
    for (int s = 0; s < 2; ++s) {
        d->heap[s].item  = TNI_TAKE(scratch, int, n);
        d->heap[s].where = TNI_TAKE(scratch, int, n);
        d->heap[s].key   = TNI_TAKE(scratch, int64_t, n);
    }
    if (scratch->failed) return false;
    for (int v = 0; v < w->count; ++v) d->local[v] = d->heap[0].where[v] = d->heap[1].where[v] = -1;
    int at = 0;
    for (int v = 0; v < w->count; ++v) {
        w->start[v]  = at;
        w->weight[v] = d->graph->dim[d->node_of[v]];
        d->list[v]   = v;
        at += list_ties(d, v, w->node + at, w->tie + at, d->local);
    }
    w->start[w->count] = at;
    return true;
}

bool tni_nested_dissection(tni_arena* scratch, const tni_adjacency* graph, const uint8_t* skip,
                           int* region)
{
    const int  n = graph->count;
    dissection d = {.graph = graph};
    d.vertex_of  = TNI_TAKE(scratch, int, n);
    d.node_of    = TNI_TAKE(scratch, int, n);
    if (scratch->failed || !make_web(&d, scratch, number_vertices(&d, skip))) return false;
    const int last = 2 * n; // region of hubs
    for (int v = 0; v < n; ++v)
        region[v] = graph->sign[v] > 0 && d.vertex_of[v] < 0 && !skip[v] ? last : -1;
    if (d.whole.count > 0 && !part_regions(&d, scratch, last - 1, region)) return false;
    for (int b = 0; b < n; ++b) { // other B nodes: in the first region of their A nodes
        if (graph->sign[b] > 0 || region[b] >= 0) continue;
        region[b] = last;
        for (int k = graph->start[b]; k < graph->start[b + 1]; ++k) {
            const int a = graph->node[k];
            if (graph->sign[a] > 0 && region[a] < region[b]) region[b] = region[a];
        }
    }
    return true;
}
