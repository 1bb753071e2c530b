#include "test.h"

#include "adaptive/assembly.h"

#include <stdlib.h>

// ---- Trees given by parents alone ---------------------------------------------------------------

typedef struct wood {
    tn_host         host;
    tni_arena       arena;
    tni_joint_trees trees;
    tni_assembly*   assembly;
} wood;

static wood* wood_make(const int* parent, int count)
{
    wood* w        = calloc(1, sizeof *w);
    w->host        = tn_default_host();
    w->arena       = tni_arena_make(&w->host);
    w->trees.links = TNI_TAKE(&w->arena, tni_tree_link, count);
    w->trees.first = TNI_TAKE(&w->arena, int, count + 1);
    w->trees.count = count;
    for (int i = 0; i < count; ++i) {
        if (parent[i] < 0) w->trees.first[w->trees.tree_count++] = i;
        w->trees.links[i].parent = parent[i];
        w->trees.links[i].tree   = w->trees.tree_count - 1;
    }
    w->trees.first[w->trees.tree_count] = count;
    CHECK_OK(tni_assembly_create(&w->arena, &w->trees, &w->assembly));
    return w;
}

static void wood_free(wood* w)
{
    tni_arena_free(&w->arena);
    free(w);
}

static int most_handles(const wood* w)
{
    int most = 0;
    for (int i = 0; i < w->assembly->count; ++i)
        if (w->assembly->nodes[i].handle_count > most) most = w->assembly->nodes[i].handle_count;
    return most;
}

typedef enum shape { CHAIN, RANDOM, BINARY, STAR, CATERPILLAR, HUMAN, SHAPE_COUNT } shape;

// A trunk of 9 links, a neck and head of 4; 2 legs of 14; 2 arms of 9 with 5 fingers of 3 each; 89
// with two more on the head.
static int human_parent(int i)
{
    if (i < 13) return i - 1;
    if (i < 41) return (i - 13) % 14 == 0 ? 0 : i - 1;
    if (i < 59) return (i - 41) % 9 == 0 ? 8 : i - 1;
    if (i < 89 - 2) {
        const int k = i - 59, arm = k / 14, finger = k % 14;
        return finger % 3 == 0 ? 49 + 9 * arm : i - 1;
    }
    return 12;
}

static int parent_of(shape s, int i, test_random* r)
{
    if (i == 0) return -1;
    switch (s) {
    case CHAIN: return i - 1;
    case RANDOM: return test_random_int(r, 0, i - 1);
    case BINARY: return (i - 1) / 2;
    case STAR: return 0;
    case CATERPILLAR: return i % 2 == 1 ? i - 1 : i - 2;
    default: return human_parent(i);
    }
}

static wood* wood_of(shape s, int count, uint64_t seed)
{
    test_random r      = {seed};
    int*        parent = malloc(sizeof(int) * (size_t)count);
    for (int i = 0; i < count; ++i) parent[i] = parent_of(s, i, &r);
    wood* w = wood_make(parent, count);
    free(parent);
    return w;
}

// ---- Nodes, checked from all of their links -----------------------------------------------------

// in[link]: the link is a leaf below the node.
static int links_below(const wood* w, int node, bool* in)
{
    int count = 0;
    memset(in, 0, sizeof(bool) * (size_t)w->trees.count);
    for (int i = w->assembly->nodes[node].first; i <= node; ++i) {
        if (w->assembly->nodes[i].b >= 0) continue;
        in[w->assembly->nodes[i].link] = true;
        ++count;
    }
    return count;
}

static bool leads_out(const wood* w, const bool* in, int link)
{
    const int p = w->trees.links[link].parent;
    if (p < 0) return true;
    if (!in[p]) return true;
    for (int i = link + 1; i < w->trees.count; ++i)
        if (w->trees.links[i].parent == link && !in[i]) return true;
    return false;
}

// A node is connected, with one link whose parent is outside; handles are the links with a joint
// that leads out.
static bool set_is_right(const wood* w, int index, bool* in)
{
    const tni_node* node  = &w->assembly->nodes[index];
    const int       count = links_below(w, index, in);
    int             bases = 0, handles = 0;
    bool            good = count == node->joints + (node->up >= 0);
    for (int i = 0; i < w->trees.count; ++i) {
        if (!in[i]) continue;
        const int p = w->trees.links[i].parent;
        if (p < 0 || !in[p]) {
            good = good && node->base == i;
            ++bases;
        }
        bool listed = false;
        for (int k = 0; k < node->handle_count; ++k) listed = listed || node->handles[k] == i;
        const bool outside = node->up >= 0 && leads_out(w, in, i); // the root has no outside
        good               = good && listed == outside;
        handles += outside;
    }
    good = good && bases == 1 && handles == node->handle_count && handles <= TNI_HANDLES_MAX;
    return good && (handles == 0 || node->handles[0] == node->base);
}

// Data about its children.
static bool join_is_right(const wood* w, int index)
{
    const tni_node *nodes = w->assembly->nodes, *node = &nodes[index];
    const int       p    = w->trees.links[node->link].parent;
    bool            good = nodes[node->b].up == index && nodes[node->b].base == node->link &&
                nodes[node->b].depth == node->depth + 1 && node->b == index - 1;
    good = good && node->keep_a + node->keep_b == node->handle_count;
    if (node->a >= 0) {
        const tni_node* a = &nodes[node->a];
        good = good && a->up == index && a->base == node->base && a->depth == node->depth + 1;
        good = good && a->first == node->first && nodes[node->b].first == node->a + 1;
        good = good && node->at < a->handle_count && a->handles[node->at] == p;
        for (int k = 0; k < node->keep_a; ++k)
            good = good && node->kept_a[k] < a->handle_count &&
                   a->handles[node->kept_a[k]] == node->handles[k];
    } else good = good && p < 0 && node->keep_a == 0 && nodes[node->b].first == node->first;
    for (int k = 0; k < node->keep_b; ++k)
        good = good && node->kept_b[k] < nodes[node->b].handle_count &&
               nodes[node->b].handles[node->kept_b[k]] == node->handles[node->keep_a + k];
    return good && w->assembly->joint[node->link] == index;
}

static void check_all(const wood* w, const char* what, uint64_t seed)
{
    const tni_assembly* assembly = w->assembly;
    bool*               in       = malloc(sizeof(bool) * (size_t)w->trees.count);
    int                 deepest = 0, leaves = 0;
    bool                good = assembly->count == 2 * w->trees.count;
    for (int i = 0; i < assembly->count; ++i) {
        const tni_node* node = &assembly->nodes[i];
        good                 = good && set_is_right(w, i, in);
        good                 = good && (node->up < 0) == (node->depth == 0);
        deepest              = node->depth > deepest ? node->depth : deepest;
        if (node->b >= 0) good = good && join_is_right(w, i);
        else {
            good = good && assembly->leaf[node->link] == i && node->joints == 0 && node->first == i;
            good = good && node->a < 0 && node->base == node->link;
            ++leaves;
        }
    }
    for (int t = 0; t < w->trees.tree_count; ++t)
        good = good && assembly->nodes[assembly->root[t]].up < 0 &&
               assembly->nodes[assembly->root[t]].base == w->trees.first[t];
    good = good && leaves == w->trees.count && deepest == assembly->depth;
    test_check(good, __FILE__, __LINE__, "%s, seed %llu", what, (unsigned long long)seed);
    free(in);
}

TEST(nodes_of_random_trees_are_consistent)
{
    for (uint64_t seed = 1; seed <= 400; ++seed) {
        test_random r = {seed};
        int         parent[60], count = test_random_int(&r, 1, 60), first = 0;
        const int   spread = test_random_int(&r, 1, 60); // 1: chains; many: bushes
        for (int i = 0; i < count; ++i) {
            if (i == 0 || test_random_unit(&r) < 0.05) first = i;
            const int lowest = i - spread > first ? i - spread : first;
            parent[i]        = i == first ? -1 : test_random_int(&r, lowest, i - 1);
        }
        wood* w = wood_make(parent, count);
        check_all(w, "random", seed);
        wood_free(w);
    }
}

TEST(nodes_of_regular_trees_are_consistent)
{
    for (int s = 0; s < SHAPE_COUNT; ++s) {
        wood* w = wood_of((shape)s, 89, 7);
        check_all(w, "regular", (uint64_t)s);
        wood_free(w);
    }
}

// ---- Balance ------------------------------------------------------------------------------------

static void check_seed(shape s, int count, uint64_t seed, int depth, int handles)
{
    wood* w = wood_of(s, count, seed);
    CHECK(w->assembly->depth <= depth);
    CHECK(most_handles(w) <= handles);
    wood_free(w);
}

static void check_depth(shape s, int count, int depth, int handles)
{
    check_seed(s, count, 3, depth, handles);
}

TEST(assembly_trees_have_the_expected_depth)
{
    check_depth(CHAIN, 200, 9, 2);
    check_depth(CHAIN, 256, 9, 2); // the root, and log2 of 256
    check_depth(CHAIN, 1, 1, 1);
    for (uint64_t seed = 1; seed <= 50; ++seed) check_seed(RANDOM, 200, seed, 14, 3);
    check_depth(BINARY, 255, 12, 3);
    check_depth(CATERPILLAR, 200, 9, 2);
    check_depth(HUMAN, 89, 11, 2);
    check_depth(STAR, 50, 50, 1); // a link is never split
}

TEST(depth_grows_with_the_logarithm)
{
    // log2 of 10^5 is 16.6: chains need one more, trees with branches about half as many again.
    check_depth(CHAIN, 100000, 18, 2);
    check_depth(BINARY, 100000, 26, 3);
    check_depth(CATERPILLAR, 100000, 18, 2);
    check_depth(RANDOM, 100000, 30, 3);
}

TEST(no_memory_is_an_outcome)
{
    wood* w         = wood_of(RANDOM, 40, 5);
    w->arena.failed = true;
    tni_assembly* assembly;
    CHECK_INT(tni_assembly_create(&w->arena, &w->trees, &assembly), TN_ERR_MEMORY);
    CHECK(assembly == NULL);
    wood_free(w);
}
