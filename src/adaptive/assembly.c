// assembly: builds assembly trees. A connected set of links is cut at one of its joints, top down,
// until single links are left.
//
// Of a set C with n links, joint j cuts off B, the links of C that j carries; A is the rest. Links
// of C with a joint that leads out are its h handles; the base link is one. With s_j links and e_j
// handles of C beyond j,
//
//     |B| = s_j        h_B = e_j + [j is no handle of C]
//     |A| = n - s_j    h_A = h - e_j + [the link that j leads out of is none]
//
// and the joint taken is the one with the least
//
//     max(|A|, |B|) + 0.15 n (max(0, h_A - 2) + max(0, h_B - 2))    among h_A, h_B <= 3,
//
// ties going to the link with the smaller index. Such a joint always exists: two handles or fewer
// become at most three, wherever the cut is; of three handles, a cut on the path from the base link
// to another handle leaves one or two on its far side, so neither part gets more than three.
//
// Sets are ranges of one array of links, parents first in every range: one backward pass over a
// range finds s and e, one forward pass separates A from B. A set of m links has 2 m - 1 nodes, so
// every node knows its place in the post-order in advance. Cost: O(count depth).
// place in the post-order beforehand. Cost: O(count depth).
#include "adaptive/assembly.h"

typedef struct set {
    int start, count; // its node
    int first;        // node of it
    int up;
} set;

typedef struct builder {
    const tni_tree_link* links;
    tni_node*            nodes;                // by link: number of children in the whole tree
    int*                 children;             // links, set after set
    int*                 order;                // scratch, as long as order
    int*                 spare;                // by link: s, e, number of children within the set
    int *                size, *ends, *inside; // by link: it lies beyond the cut
    uint8_t*             beyond;               // the cut
    set*                 stack;
} builder;

// s, e of all links of a set; e of the base link is h. The parents of all other links are in the
// set.
static void measure(const builder* b, const int* links, int count)
{
    for (int i = 0; i < count; ++i)
        b->size[links[i]] = 1, b->ends[links[i]] = b->inside[links[i]] = 0;
    for (int i = count - 1; i >= 0; --i) {
        const int x = links[i], p = b->links[x].parent;
        b->ends[x] += i == 0 || b->inside[x] < b->children[x];
        if (i == 0) return;
        b->size[p] += b->size[x];
        b->ends[p] += b->ends[x];
        ++b->inside[p];
    }
}

static bool is_handle(const builder* b, const int* links, int x)
{
    return x == links[0] || b->inside[x] < b->children[x];
}

// The link whose joint is the best cut of a set of two links or more.
static int choose(const builder* b, const int* links, int count)
{
    int       best  = -1;
    int64_t   least = INT64_MAX;
    const int h     = b->ends[links[0]];
    for (int i = 1; i < count; ++i) {
        const int x = links[i], below = b->size[x];
        const int h_b = b->ends[x] + !is_handle(b, links, x);
        const int h_a = h - b->ends[x] + !is_handle(b, links, b->links[x].parent);
        if (h_a > TNI_HANDLES_MAX || h_b > TNI_HANDLES_MAX) continue;
        const int     larger = below > count - below ? below : count - below;
        const int     extra  = (h_a > 2 ? h_a - 2 : 0) + (h_b > 2 ? h_b - 2 : 0);
        const int64_t price  = 100 * (int64_t)larger + 15 * (int64_t)count * extra;
        if (price < least) least = price, best = x;
    }
    TN_ASSERT(best >= 0);
    return best;
}

// Moves A's links to the front of the range, B's behind them, each in their order. Returns the size
// of A.
static int divide(const builder* b, int* links, int count, int cut)
{
    int a = 0, rest = 0;
    for (int i = 0; i < count; ++i) {
        const int x  = links[i];
        b->beyond[x] = x == cut || (i > 0 && b->beyond[b->links[x].parent]);
        if (b->beyond[x]) b->spare[rest++] = x;
        else links[a++] = x;
    }
    memcpy(links + a, b->spare, sizeof(int) * (size_t)rest);
    return a;
}

static tni_node make_node(int a, int b, int up, int link, int first)
{
    return (tni_node){.a = a, .b = b, .up = up, .link = link, .base = link, .first = first};
}

// The nodes of a tree without their handles. first: its first link.
static void build_tree(const builder* b, int first, int count)
{
    const int root = 2 * (first + count) - 1;
    b->nodes[root] = make_node(-1, root - 1, -1, first, 2 * first);
    int pending    = 0;

    b->stack[pending++] = (set){first, count, 2 * first, root};
    while (pending > 0) {
        const set s     = b->stack[--pending];
        int*      links = b->order + s.start;
        const int index = s.first + 2 * s.count - 2;
        tni_node* node  = &b->nodes[index];
        *node           = make_node(-1, -1, s.up, links[0], s.first);
        if (s.count == 1) continue;
        measure(b, links, s.count);
        node->link  = choose(b, links, s.count);
        const int a = divide(b, links, s.count, node->link);
        node->a     = s.first + 2 * a - 2;
        node->b     = index - 1;

        b->stack[pending++] = (set){s.start, a, s.first, index};
        b->stack[pending++] = (set){s.start + a, s.count - a, node->a + 1, index};
    }
}

static void keep(tni_node* node, const tni_node* child, const int* open, uint8_t* count,
                 uint8_t* kept)
{
    for (int k = 0; k < child->handle_count; ++k) {
        if (open[child->handles[k]] == 0) continue;
        kept[(*count)++]                    = (uint8_t)k;
        node->handles[node->handle_count++] = child->handles[k];
    }
}

// Handles of a node from its children's. open: by link, joints that are not yet inside a node.
static void join_handles(const builder* b, tni_node* node, int* open)
{
    if (node->b < 0) {
        node->handles[node->handle_count++] = node->link;
        return;
    }
    const tni_node* beyond = &b->nodes[node->b];
    node->joints           = beyond->joints + 1;
    --open[node->link];
    if (node->a >= 0) {
        const tni_node* a      = &b->nodes[node->a];
        const int       parent = b->links[node->link].parent;
        --open[parent];
        node->joints += a->joints;
        while (a->handles[node->at] != parent) ++node->at;
        keep(node, a, open, &node->keep_a, node->kept_a);
    }
    keep(node, beyond, open, &node->keep_b, node->kept_b);
}

// Handles bottom up, depths top down.
static void finish(const builder* b, int link_count, tni_assembly* out)
{
    int* open = b->inside;
    for (int i = 0; i < link_count; ++i) open[i] = b->children[i] + 1;
    for (int i = 0; i < out->count; ++i) {
        tni_node* node = &b->nodes[i];
        join_handles(b, node, open);
        (node->b < 0 ? out->leaf : out->joint)[node->link] = i;
    }
    for (int i = out->count - 1; i >= 0; --i) {
        tni_node* node = &b->nodes[i];
        if (node->up >= 0) node->depth = b->nodes[node->up].depth + 1;
        if (node->depth > out->depth) out->depth = node->depth;
    }
}

tn_result tni_assembly_create(tni_arena* arena, const tni_joint_trees* trees,
                              tni_assembly** assembly)
{
    const int     count   = trees->count;
    tni_arena     scratch = tni_arena_make(&arena->host);
    tni_assembly* out     = TNI_TAKE(arena, tni_assembly, 1);
    tni_node*     nodes   = TNI_TAKE(arena, tni_node, 2 * count);
    int *root = TNI_TAKE(arena, int, trees->tree_count), *leaf = TNI_TAKE(arena, int, count),
        *joint      = TNI_TAKE(arena, int, count);
    const builder b = {.links    = trees->links,
                       .nodes    = nodes,
                       .children = TNI_TAKE(&scratch, int, count),
                       .order    = TNI_TAKE(&scratch, int, count),
                       .spare    = TNI_TAKE(&scratch, int, count),
                       .size     = TNI_TAKE(&scratch, int, count),
                       .ends     = TNI_TAKE(&scratch, int, count),
                       .inside   = TNI_TAKE(&scratch, int, count),
                       .beyond   = TNI_TAKE(&scratch, uint8_t, count),
                       .stack    = TNI_TAKE(&scratch, set, count + 1)};
    *assembly       = NULL;
    if (arena->failed || scratch.failed) {
        tni_arena_free(&scratch);
        return TN_ERR_MEMORY;
    }
    *out = (tni_assembly){
        .count = 2 * count, .nodes = nodes, .root = root, .leaf = leaf, .joint = joint};
    for (int i = 0; i < count; ++i) {
        b.order[i] = i;
        if (trees->links[i].parent >= 0) ++b.children[trees->links[i].parent];
    }
    for (int t = 0; t < trees->tree_count; ++t) {
        const int first = trees->first[t], end = trees->first[t + 1];
        root[t] = 2 * end - 1;
        build_tree(&b, first, end - first);
    }
    finish(&b, count, out);
    tni_arena_free(&scratch);
    *assembly = out;
    return TN_OK;
}
