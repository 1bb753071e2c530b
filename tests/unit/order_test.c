#include "test.h"

#include "linalg/order.h"

#include <stdlib.h>

enum { CAP = 4096 };

// A graph by hand: nodes and edges are added one by one.
typedef struct sketch {
    tni_graph graph;
    int       dim[CAP], row_node[CAP], col_node[CAP];
    int8_t    sign[CAP];
    uint8_t   strong[CAP];
} sketch;

static sketch* sketch_make(void)
{
    sketch* s = calloc(1, sizeof *s);
    s->graph  = (tni_graph){.dim      = s->dim,
                            .sign     = s->sign,
                            .row_node = s->row_node,
                            .col_node = s->col_node,
                            .strong   = s->strong};
    return s;
}

static int add_node(sketch* s, int sign, int dim)
{
    s->sign[s->graph.count] = (int8_t)sign;
    s->dim[s->graph.count]  = dim;
    return s->graph.count++;
}

static void add_edge(sketch* s, int row, int col, bool strong)
{
    const int e    = s->graph.edge_count++;
    s->row_node[e] = row;
    s->col_node[e] = col;
    s->strong[e]   = strong;
}

// A B node between two A nodes, or on one when b is negative.
static int add_tie(sketch* s, int a, int b, bool strong_a, bool strong_b)
{
    const int tie = add_node(s, -1, 3);
    add_edge(s, tie, a, strong_a);
    if (b >= 0) add_edge(s, tie, b, strong_b);
    return tie;
}

// The root of the component of node 0, -1 if it is not a tree.
static int root_of(const sketch* s)
{
    const tn_host host  = tn_default_host();
    tni_arena     arena = tni_arena_make(&host);
    const size_t  n     = (size_t)s->graph.count;
    tni_adjacency graph = tni_adjacency_make(&arena, &s->graph);
    int *         nodes = TNI_TAKE(&arena, int, n), *start = TNI_TAKE(&arena, int, n + 1);
    int *         of = TNI_TAKE(&arena, int, n), *work = TNI_TAKE(&arena, int, 5 * n);
    for (size_t i = 0; i < n; ++i) work[i] = -1;
    tni_order_components(&graph, nodes, start, of);
    const int root = tni_order_root(&graph, nodes, start[1], work);
    for (size_t i = 0; i < n; ++i) CHECK_INT(work[i], -1);
    tni_arena_free(&arena);
    return root;
}

// A chain of n A nodes 0, 2, 4, ... with a B node between each two.
static sketch* chain(int n)
{
    sketch* s = sketch_make();
    for (int i = 0; i < n; ++i) {
        add_node(s, 1, 6);
        if (i + 1 < n) add_node(s, -1, 3);
    }
    for (int i = 0; i + 1 < n; ++i) {
        add_edge(s, 2 * i + 1, 2 * i, true);
        add_edge(s, 2 * i + 1, 2 * i + 2, true);
    }
    return s;
}

TEST(root_of_a_floating_chain_is_its_middle)
{
    for (int n = 1; n <= 40; ++n) {
        sketch* s = chain(n);
        CHECK_INT(root_of(s), n - 1); // 2n - 1 nodes in a row
        free(s);
    }
}

TEST(root_is_the_b_node_with_one_neighbour)
{
    sketch*   s      = chain(7);
    const int ground = add_tie(s, 4, -1, true, false);
    CHECK_INT(root_of(s), ground);
    free(s);
}

TEST(two_b_nodes_with_one_neighbour_are_a_loop_although_there_is_no_cycle)
{
    sketch* s = chain(7);
    add_tie(s, 4, -1, true, false);
    add_tie(s, 8, -1, true, false);
    CHECK_INT(root_of(s), -1);
    free(s);
}

TEST(a_cycle_is_a_loop)
{
    sketch* s = chain(5);
    add_tie(s, 0, 8, true, true);
    CHECK_INT(root_of(s), -1);
    free(s);
}

TEST(a_b_node_on_three_a_nodes_is_a_loop)
{
    sketch*   s = chain(1);
    const int a = add_node(s, 1, 6), b = add_node(s, 1, 6), tie = add_tie(s, 0, a, true, true);
    CHECK_INT(root_of(s), tie);
    add_edge(s, tie, b, true);
    CHECK_INT(root_of(s), -1);
    free(s);
}

TEST(lone_nodes)
{
    sketch* s = sketch_make();
    add_node(s, 1, 6);
    CHECK_INT(root_of(s), 0);
    free(s);
    s = sketch_make();
    add_node(s, -1, 6); // rows without support
    CHECK_INT(root_of(s), -1);
    free(s);
    s = sketch_make();
    add_node(s, 1, 6);
    const int b = add_tie(s, 0, -1, true, false);
    add_edge(s, add_node(s, -1, 1), b, true); // a B node on a B node
    CHECK_INT(root_of(s), -1);
    free(s);
}

TEST(weak_edges_push_the_root_to_their_own_side)
{
    // The B node 2k + 1 of a chain of ten, weak towards 2k: node 2k must not be its child, so the
    // root lies at or before it; the middle being 9, it moves only when k is below.
    for (int k = 0; k < 9; ++k) {
        sketch* s        = chain(10);
        s->strong[2 * k] = 0;
        CHECK_INT(root_of(s), 2 * k + 1 < 9 ? 2 * k + 1 : 9);
        s->strong[2 * k]     = 1;
        s->strong[2 * k + 1] = 0; // weak towards 2k + 2
        CHECK_INT(root_of(s), 2 * k + 1 > 9 ? 2 * k + 1 : 9);
        free(s);
    }
}

TEST(weak_edges_can_forbid_every_root)
{
    sketch* s    = chain(10);
    s->strong[4] = 0; // B node 5 needs the root at or before it
    s->strong[9] = 0; // B node 9 needs it at or after
    CHECK_INT(root_of(s), -1);
    s->strong[4] = s->strong[9] = 1;
    s->strong[9]                = 0;
    s->strong[4 + 8]            = 0; // B nodes 9 (at or after) and 13 (at or before): 9..13 remain
    CHECK_INT(root_of(s), 9);
    const int ground = add_tie(s, 12, -1, true, false);
    CHECK_INT(root_of(s), ground);
    add_tie(s, 0, add_node(s, 1, 6), false, false); // weak on both sides: needs to be the root too
    CHECK_INT(root_of(s), -1);
    free(s);
}

TEST(a_b_node_without_strong_edge_is_the_root)
{
    sketch* s    = chain(6);
    s->strong[2] = s->strong[3] = 0;
    CHECK_INT(root_of(s), 3);
    free(s);
}

static sketch* random_loops(uint64_t seed)
{
    test_random random = {seed};
    sketch*     s      = sketch_make();
    const int   n      = test_random_int(&random, 2, 60);
    for (int i = 0; i < n; ++i) add_node(s, 1, test_random_int(&random, 1, 6));
    const int ties = test_random_int(&random, 1, 3 * n);
    for (int i = 0; i < ties; ++i) {
        const int tie = add_node(s, -1, test_random_int(&random, 1, 6));
        int       at  = test_random_int(&random, 0, n - 1);
        for (int k = test_random_int(&random, 1, 4); k > 0 && at < n; --k) {
            add_edge(s, tie, at, test_random_int(&random, 0, 3) > 0);
            at += test_random_int(&random, 1, n);
        }
    }
    return s;
}

// Every B node is after an A node with a strong edge, or after all of its A nodes.
static int rule_breakers(const sketch* s, const int* place)
{
    int breakers = 0;
    for (int b = 0; b < s->graph.count; ++b) {
        if (s->sign[b] > 0) continue;
        bool strong = false, all = true;
        for (int e = 0; e < s->graph.edge_count; ++e) {
            if (s->row_node[e] != b) continue;
            const bool earlier = place[s->col_node[e]] < place[b];
            strong |= earlier && s->strong[e];
            all &= earlier;
        }
        breakers += !strong && !all;
    }
    return breakers;
}

// B nodes that rely on an A node whose rows are all used, while another A node is still to come.
static int leaners(const sketch* s, const int* place)
{
    const int n = s->graph.count, m = s->graph.edge_count;
    int *     order = calloc((size_t)n, sizeof *order), *room = calloc((size_t)n, sizeof *room),
        count = 0;
    for (int v = 0; v < n; ++v) order[place[v]] = v;
    for (int v = 0; v < n; ++v) room[v] = s->dim[v];
    for (int p = 0; p < n; ++p) {
        const int b    = order[p];
        bool      all  = true;
        int       lean = -1;
        for (int e = 0; e < m && s->sign[b] < 0; ++e) {
            const int a = s->col_node[e];
            if (s->row_node[e] != b) continue;
            all &= place[a] < p;
            if (lean < 0 && place[a] < p && s->strong[e] && room[a] >= s->dim[b]) lean = a;
        }
        count += s->sign[b] < 0 && lean < 0 && !all;
        int rows = s->dim[b];
        for (int e = 0; e < m && s->sign[b] < 0; ++e) {
            const int a = s->col_node[e];
            if (s->row_node[e] != b || (lean >= 0 && lean != a)) continue;
            const int used = room[a] < rows ? room[a] : rows;
            room[a] -= used;
            rows -= used;
        }
    }
    free(order);
    free(room);
    return count;
}

static void check_minimum_degree(const sketch* s, int* place)
{
    const tn_host host  = tn_default_host();
    tni_arena     arena = tni_arena_make(&host);
    const int     n     = s->graph.count;
    tni_adjacency graph = tni_adjacency_make(&arena, &s->graph);
    int*          order = TNI_TAKE(&arena, int, n);
    uint8_t*      skip  = TNI_TAKE(&arena, uint8_t, n);
    CHECK_INT(tni_order_minimum_degree(&arena, &graph, skip, NULL, order), n);
    for (int i = 0; i < n; ++i) place[i] = -1;
    for (int i = 0; i < n; ++i) place[order[i]] = i;
    for (int i = 0; i < n; ++i) CHECK(place[i] >= 0);
    tni_arena_free(&arena);
}

TEST(minimum_degree_keeps_the_support_rule)
{
    static int place[CAP];
    for (uint64_t seed = 1; seed <= 100; ++seed) {
        sketch* s = random_loops(seed);
        check_minimum_degree(s, place);
        CHECK_INT(rule_breakers(s, place), 0);
        CHECK_INT(leaners(s, place), 0);
        free(s);
    }
}

TEST(minimum_degree_leaves_a_hub_for_the_end)
{
    static int place[CAP];
    sketch*    s   = sketch_make();
    const int  hub = add_node(s, 1, 6);
    for (int i = 0; i < 600; ++i) {
        const int a = add_node(s, 1, 6);
        add_tie(s, hub, a, true, true);
        add_tie(s, a, -1, true, false);
    }
    check_minimum_degree(s, place);
    CHECK_INT(rule_breakers(s, place), 0);
    CHECK_INT(place[hub], s->graph.count - 1);
    free(s);
}

// Rows of the factor, by elimination on a full matrix of flags.
static long rows_filled(const sketch* s, const int* place)
{
    const size_t n    = (size_t)s->graph.count;
    uint8_t*     full = calloc(n * n, 1);
    int*         node = calloc(n, sizeof *node);
    long         rows = 0;
    for (size_t v = 0; v < n; ++v) node[place[v]] = (int)v;
    for (int e = 0; e < s->graph.edge_count; ++e) {
        const size_t p = (size_t)place[s->row_node[e]], q = (size_t)place[s->col_node[e]];
        full[n * p + q] = full[n * q + p] = 1;
    }
    for (size_t p = 0; p < n; ++p) {
        for (size_t i = p + 1; i < n; ++i) {
            if (!full[n * p + i]) continue;
            rows += (long)s->dim[node[i]] * s->dim[node[p]];
            for (size_t j = p + 1; j < n; ++j) full[n * i + j] |= full[n * p + j];
        }
    }
    free(full);
    free(node);
    return rows;
}

TEST(minimum_degree_makes_little_fill_on_a_grid)
{
    enum { SIDE = 24 };
    static int place[CAP], natural[CAP];
    sketch*    s = sketch_make();
    for (int i = 0; i < SIDE * SIDE; ++i) {
        natural[i] = i;
        add_node(s, 1, 2);
    }
    for (int i = 0; i < SIDE * SIDE; ++i) {
        if (i % SIDE + 1 < SIDE) add_edge(s, i, i + 1, true);
        if (i / SIDE + 1 < SIDE) add_edge(s, i, i + SIDE, true);
    }
    check_minimum_degree(s, place);
    CHECK_LESS((double)rows_filled(s, place), 0.45 * (double)rows_filled(s, natural));
    free(s);
}

TEST(minimum_degree_makes_no_fill_on_a_tree)
{
    static int place[CAP];
    sketch*    s = chain(300);
    check_minimum_degree(s, place);
    CHECK_INT(rows_filled(s, place), 2 * 299 * 18);
    free(s);
}

// Rows of the factor with exact minimum degree, the lowest number of several.
static long exact_minimum_degree(const sketch* s, int* place)
{
    const size_t n    = (size_t)s->graph.count;
    uint8_t*     full = calloc(n * n, 1);
    for (int e = 0; e < s->graph.edge_count; ++e) {
        const size_t p = (size_t)s->row_node[e], q = (size_t)s->col_node[e];
        full[n * p + q] = full[n * q + p] = 1;
    }
    for (size_t v = 0; v < n; ++v) place[v] = -1;
    for (size_t step = 0; step < n; ++step) {
        size_t best = n, least = n;
        for (size_t v = 0; v < n; ++v) {
            size_t degree = 0;
            for (size_t w = 0; place[v] < 0 && w < n; ++w) degree += full[n * v + w];
            if (place[v] < 0 && degree < least) best = v, least = degree;
        }
        place[best] = (int)step;
        for (size_t v = 0; v < n; ++v) {
            if (!full[n * best + v]) continue;
            for (size_t w = 0; w < n; ++w) full[n * v + w] |= full[n * best + w];
            full[n * v + v] = full[n * v + best] = 0;
        }
    }
    free(full);
    return rows_filled(s, place);
}

// Random graphs fill in soon: elements are made and absorbed until their pool is full.
TEST(minimum_degree_is_close_to_exact_minimum_degree)
{
    static int place[CAP], exact[CAP];
    long       rows = 0, exact_rows = 0;
    for (uint64_t seed = 1; seed <= 6; ++seed) {
        test_random random = {seed};
        sketch*     s      = sketch_make();
        for (int i = 0; i < 300; ++i) add_node(s, 1, 1);
        for (int i = 0; i < 300; ++i) { // a ring, and chords of all lengths
            add_edge(s, i, (i + 1) % 300, true);
            if (i < 150) add_edge(s, i, i + test_random_int(&random, 2, 149), true);
        }
        check_minimum_degree(s, place);
        rows += rows_filled(s, place);
        exact_rows += exact_minimum_degree(s, exact);
        free(s);
    }
    CHECK_LESS((double)rows, 1.05 * (double)exact_rows);
}
