#include "test.h"

#include "linalg/dense.h"
#include "linalg/half_solve.h"

#include <stdlib.h>

// A matrix on a graph, as blocks and as a full matrix, its plan and its factor.
typedef struct system_case {
    tn_host     host;
    tni_arena   arena;
    tni_graph   graph;
    int *       dim, *row_node, *col_node;
    int8_t*     sign;
    uint8_t*    strong;
    double**    diagonal; // by node
    double**    block;    // by edge
    tni_plan*   plan;
    tni_ldl*    ldl;
    double*     full; // rows x rows
    test_random random;
} system_case;

static system_case* case_make(uint64_t seed, int node_cap, int edge_cap)
{
    system_case* s = calloc(1, sizeof *s);
    s->host        = tn_default_host();
    s->arena       = tni_arena_make(&s->host);
    s->random      = (test_random){seed};
    s->dim         = TNI_TAKE(&s->arena, int, node_cap);
    s->sign        = TNI_TAKE(&s->arena, int8_t, node_cap);
    s->row_node    = TNI_TAKE(&s->arena, int, edge_cap);
    s->col_node    = TNI_TAKE(&s->arena, int, edge_cap);
    s->strong      = TNI_TAKE(&s->arena, uint8_t, edge_cap);
    s->diagonal    = TNI_TAKE(&s->arena, double*, node_cap);
    s->block       = TNI_TAKE(&s->arena, double*, edge_cap);
    s->graph       = (tni_graph){.dim      = s->dim,
                                 .sign     = s->sign,
                                 .row_node = s->row_node,
                                 .col_node = s->col_node,
                                 .strong   = s->strong};
    return s;
}

static void case_free(system_case* s)
{
    tni_arena_free(&s->arena);
    free(s);
}

static int add_node(system_case* s, int sign, int dim)
{
    const int v = s->graph.count++;
    s->sign[v]  = (int8_t)sign;
    s->dim[v]   = dim;
    return v;
}

static void add_edge(system_case* s, int row, int col)
{
    const int e    = s->graph.edge_count++;
    s->row_node[e] = row;
    s->col_node[e] = col;
    s->strong[e]   = s->dim[row] <= s->dim[col];
}

// A nodes: R R^T + 1, times a weight; B nodes: minus that, times `fill`; edges: anything, but with
// a diagonal, so that square ones are not singular by chance and errors stay near rounding.
static void fill_blocks(system_case* s, double weight_range, double fill)
{
    for (int v = 0; v < s->graph.count; ++v) {
        const int n    = s->dim[v];
        double*   D    = TNI_TAKE(&s->arena, double, n* n);
        double*   R    = TNI_TAKE(&s->arena, double, n* n);
        double    size = pow(weight_range, test_random_unit(&s->random));
        if (s->sign[v] < 0) size = -fill;
        for (int i = 0; i < n * n; ++i) R[i] = test_random_between(&s->random, -1, 1);
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                double sum = i == j;
                for (int k = 0; k < n; ++k) sum += R[n * i + k] * R[n * j + k];
                D[n * i + j] = size * sum;
            }
        }
        s->diagonal[v] = D;
    }
    for (int e = 0; e < s->graph.edge_count; ++e) {
        const int n = s->dim[s->row_node[e]], m = s->dim[s->col_node[e]];
        s->block[e]     = TNI_TAKE(&s->arena, double, n* m);
        const bool same = s->sign[s->row_node[e]] == s->sign[s->col_node[e]];
        for (int i = 0; i < n * m; ++i) {
            const double share = i % m == i / m ? 3 : test_random_between(&s->random, -1, 1);
            s->block[e][i]     = share * (same ? 0.02 * fill : 1);
        }
    }
}

static void make_full(system_case* s)
{
    const size_t rows = (size_t)s->plan->row_count;
    s->full           = TNI_TAKE(&s->arena, double, rows* rows);
    for (int v = 0; v < s->graph.count; ++v) {
        const size_t at = (size_t)s->plan->row_start[v], n = (size_t)s->dim[v];
        for (size_t i = 0; i < n; ++i) {
            for (size_t j = 0; j < n; ++j)
                s->full[rows * (at + i) + at + j] = s->diagonal[v][n * i + j];
        }
    }
    for (int e = 0; e < s->graph.edge_count; ++e) {
        const size_t r = (size_t)s->plan->row_start[s->row_node[e]],
                     n = (size_t)s->dim[s->row_node[e]];
        const size_t c = (size_t)s->plan->row_start[s->col_node[e]],
                     m = (size_t)s->dim[s->col_node[e]];
        for (size_t i = 0; i < n; ++i) {
            for (size_t j = 0; j < m; ++j) {
                s->full[rows * (r + i) + c + j] = s->full[rows * (c + j) + r + i] =
                    s->block[e][m * i + j];
            }
        }
    }
}

// The blocks one after the other, as the core takes them: E positive.
static tni_blocks gather(system_case* s)
{
    const size_t n = (size_t)s->graph.count, m = (size_t)s->graph.edge_count;
    size_t       size = 0;
    for (size_t v = 0; v < n; ++v) size += (size_t)(s->dim[v] * s->dim[v]);
    for (size_t e = 0; e < m; ++e)
        size += (size_t)(s->dim[s->row_node[e]] * s->dim[s->col_node[e]]);
    double* numbers     = TNI_TAKE(&s->arena, double, size);
    size_t *diagonal_at = TNI_TAKE(&s->arena, size_t, n), *edge_at = TNI_TAKE(&s->arena, size_t, m);
    size_t  at = 0;
    for (size_t v = 0; v < n; ++v) {
        diagonal_at[v] = at;
        for (int k = 0; k < s->dim[v] * s->dim[v]; ++k)
            numbers[at++] = s->graph.sign[v] > 0 ? s->diagonal[v][k] : -s->diagonal[v][k];
    }
    for (size_t e = 0; e < m; ++e) {
        edge_at[e] = at;
        for (int k = 0; k < s->dim[s->row_node[e]] * s->dim[s->col_node[e]]; ++k)
            numbers[at++] = s->block[e][k];
    }
    return (tni_blocks){numbers, diagonal_at, numbers, edge_at, false};
}

static tn_result load_and_factor(system_case* s, tni_pivot_report* report)
{
    const tni_blocks     blocks = gather(s);
    const tni_pivot_rule rule   = {.tolerance = 1e-13};
    return tni_ldl_factor(s->ldl, -1, &blocks, NULL, &rule, report);
}

static void make_plan(system_case* s)
{
    CHECK_OK(tni_plan_create(&s->arena, &s->graph, &s->plan));
    CHECK_OK(tni_ldl_create(&s->arena, s->plan, &s->ldl));
}

// Largest difference to the dense answer, relative to it.
static double dense_error(system_case* s, const double* b, const double* x)
{
    const size_t rows     = (size_t)s->plan->row_count;
    double*      lu       = TNI_TAKE(&s->arena, double, rows* rows);
    double*      y        = TNI_TAKE(&s->arena, double, rows);
    int*         exchange = TNI_TAKE(&s->arena, int, rows);
    memcpy(lu, s->full, sizeof *lu * rows * rows);
    memcpy(y, b, sizeof *y * rows);
    CHECK_OK(tni_dense_lu((int)rows, lu, exchange));
    tni_dense_lu_solve((int)rows, lu, exchange, y);
    double size = 0, error = 0;
    for (size_t i = 0; i < rows; ++i) {
        size  = fmax(size, fabs(y[i]));
        error = fmax(error, fabs(x[i] - y[i]));
    }
    return error / size;
}

static double* random_vector(system_case* s, int count)
{
    double* x = TNI_TAKE(&s->arena, double, count);
    for (int i = 0; i < count; ++i) x[i] = test_random_between(&s->random, -1, 1);
    return x;
}

static double solve_error(system_case* s)
{
    make_full(s);
    const int rows = s->plan->row_count;
    double *  b = random_vector(s, rows), *x = TNI_TAKE(&s->arena, double, rows);
    memcpy(x, b, sizeof *x * (size_t)rows);
    tni_ldl_solve(s->ldl, -1, 1, x);
    return dense_error(s, b, x);
}

static const int a_dims[] = {6, 6, 6, 3, 12, 7, 1};

// One tree: B nodes narrower than their child, at most one on a single A node. shape 0: random,
// 1: star, 2: caterpillar, 3: chain.
static void add_tree(system_case* s, int size, int shape)
{
    int first = s->graph.count, last = -1;
    for (int i = 0; i < size; ++i) {
        const int a = add_node(s, 1, a_dims[test_random_int(&s->random, 0, 6)]);
        if (i == 0) {
            first = last = a;
            continue;
        }
        int parent = first;
        if (shape == 0) {
            do parent = test_random_int(&s->random, first, a - 1);
            while (s->sign[parent] < 0);
        } else if (shape > 1) {
            parent = last;
        }
        const int widest = s->dim[a] < 6 ? s->dim[a] : 6;
        const int tie    = add_node(s, -1, test_random_int(&s->random, 1, widest));
        add_edge(s, tie, a);
        add_edge(s, tie, parent);
        if (shape == 3 || i % 2 == 0) last = a;
    }
    if (test_random_int(&s->random, 0, 1) == 0) return;
    const int tie =
        add_node(s, -1, test_random_int(&s->random, 1, s->dim[first] < 6 ? s->dim[first] : 6));
    add_edge(s, tie, first);
}

static system_case* random_forest(uint64_t seed)
{
    system_case* s = case_make(seed, 512, 512);
    for (int k = test_random_int(&s->random, 1, 4); k > 0; --k) {
        add_tree(s, test_random_int(&s->random, 1, 12), test_random_int(&s->random, 0, 3));
    }
    return s;
}

// Arbitrary: cycles, wide B nodes, edges between nodes of one sign. Every B node has E.
static system_case* random_mesh(uint64_t seed)
{
    system_case* s = case_make(seed, 512, 4096);
    const int    a = test_random_int(&s->random, 1, 16), b = test_random_int(&s->random, 0, 24);
    for (int i = 0; i < a; ++i) add_node(s, 1, a_dims[test_random_int(&s->random, 0, 6)]);
    for (int i = 0; i < b; ++i) {
        const int tie = add_node(s, -1, test_random_int(&s->random, 1, 7));
        int       at  = test_random_int(&s->random, 0, a - 1);
        for (int k = test_random_int(&s->random, 1, 5); k > 0 && at < a; --k) {
            if (test_random_int(&s->random, 0, 4) == 0) add_edge(s, at, tie);
            else add_edge(s, tie, at);
            at += test_random_int(&s->random, 1, 4);
        }
    }
    for (int i = 0; i + 3 < a; i += 3) add_edge(s, i, i + 3);
    for (int i = a; i + 5 < a + b; i += 5) add_edge(s, i, i + 5);
    return s;
}

TEST(trees_agree_with_dense_and_make_no_fill)
{
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        system_case*     s = random_forest(seed);
        tni_pivot_report report;
        make_plan(s);
        for (int c = 0; c < s->plan->component_count; ++c) CHECK(s->plan->tree[c]);
        CHECK_INT(s->plan->fill_blocks, 0);
        CHECK_INT(s->plan->front_count, 0);
        fill_blocks(s, 100, 0);
        CHECK_OK(load_and_factor(s, &report));
        CHECK_INT(report.replaced, 0);
        CHECK_LESS(solve_error(s), 1e-11);
        case_free(s);
    }
}

TEST(loops_with_filled_b_nodes_agree_with_dense)
{
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        system_case*     s = random_mesh(seed);
        tni_pivot_report report;
        make_plan(s);
        fill_blocks(s, 10, 0.5);
        CHECK_OK(load_and_factor(s, &report));
        CHECK_LESS(solve_error(s), 1e-11);
        case_free(s);
    }
}

TEST(weights_a_million_apart_on_a_tree_agree_with_dense)
{
    for (uint64_t seed = 1; seed <= 50; ++seed) {
        system_case*     s = random_forest(seed);
        tni_pivot_report report;
        make_plan(s);
        fill_blocks(s, 1e6, 0);
        CHECK_OK(load_and_factor(s, &report));
        CHECK_LESS(solve_error(s), 1e-9); // the dense answer itself is good to 1e-16 times 1e6
        case_free(s);
    }
}

TEST(widest_and_narrowest_blocks)
{
    system_case*     s = case_make(5, 8, 8);
    tni_pivot_report report;
    const int        a = add_node(s, 1, 64), b = add_node(s, -1, 64), c = add_node(s, 1, 64);
    add_edge(s, b, a);
    add_edge(s, b, c);
    add_edge(s, add_node(s, -1, 1), c);
    const int lone = add_node(s, 1, 1);
    add_edge(s, add_node(s, -1, 1), lone);
    make_plan(s);
    CHECK_INT(s->plan->component_count, 2);
    fill_blocks(s, 1, 0);
    CHECK_OK(load_and_factor(s, &report));
    CHECK_LESS(solve_error(s), 1e-10);
    case_free(s);
}

// The blocks of the factor, found by elimination on a full matrix of flags, by place.
static uint8_t* eliminate_flags(system_case* s)
{
    const tni_plan* plan = s->plan;
    const size_t    n    = (size_t)plan->count;
    uint8_t*        full = TNI_TAKE(&s->arena, uint8_t, n * n);
    for (int e = 0; e < plan->edge_count; ++e) {
        const size_t p  = (size_t)plan->place[plan->row_node[e]],
                     q  = (size_t)plan->place[plan->col_node[e]];
        full[n * p + q] = full[n * q + p] = 1;
    }
    for (size_t p = 0; p < n; ++p) {
        for (size_t i = p + 1; i < n; ++i) {
            for (size_t j = p + 1; full[n * p + i] && j < n; ++j)
                full[n * i + j] |= full[n * p + j];
        }
    }
    return full;
}

TEST(structure_of_the_factor_is_exact)
{
    for (uint64_t seed = 1; seed <= 100; ++seed) {
        system_case* s = seed % 4 == 0 ? random_forest(seed) : random_mesh(seed);
        make_plan(s);
        const tni_plan* plan = s->plan;
        const size_t    n    = (size_t)plan->count;
        const uint8_t*  full = eliminate_flags(s);
        for (size_t p = 0; p < n; ++p) {
            CHECK_INT(plan->place[plan->order[p]], p);
            if (plan->front_of[p] >= 0) continue;
            int parent = -1; // a tree: one later neighbour
            for (size_t i = n; i-- > p + 1;) {
                if (full[n * p + i]) parent = (int)i;
            }
            CHECK_INT(plan->parent[p], parent);
            CHECK_INT(plan->pivot[p + 1].slot - plan->pivot[p].slot, parent >= 0);
            if (parent >= 0) CHECK_INT(plan->slot[plan->pivot[p].slot].place, parent);
        }
        case_free(s);
    }
}

// A front's later nodes are those of any of its own nodes, and no others. Without merging all of
// its own nodes have all of them.
static void check_front(const tni_plan* plan, const tni_front* f, const uint8_t* full, bool merged)
{
    const size_t n = (size_t)plan->count;
    int          k = f->later, rows = 0;
    CHECK(f->first < f->end && f->end <= plan->count);
    for (size_t i = (size_t)f->end; i < n; ++i) {
        int wanted = 0;
        for (size_t p = (size_t)f->first; p < (size_t)f->end; ++p) wanted += full[n * p + i];
        if (wanted == 0) continue;
        CHECK(merged || wanted == f->end - f->first);
        CHECK(k < f[1].later && plan->later[k] == (int)i);
        if (k == f->later) CHECK_INT(plan->front_of[i], f->parent);
        rows += plan->dim[plan->order[i]];
        ++k;
    }
    CHECK_INT(k, f[1].later);
    CHECK_INT(rows, f->rows);
    for (int p = f->first; p < f->end; ++p) {
        const int last = f->parent < 0 ? -1 : plan->front[f->parent].first;
        CHECK_INT(plan->parent[p], p + 1 < f->end ? p + 1 : last);
    }
}

TEST(fronts_have_the_rows_that_elimination_makes)
{
    const double prices[] = {-1, 200, HUGE_VAL};
    for (uint64_t seed = 1; seed <= 60; ++seed) {
        system_case* s = random_mesh(seed);
        CHECK_OK(tni_plan_create_merged(&s->arena, &s->graph, prices[seed % 3], &s->plan));
        const tni_plan* plan = s->plan;
        const uint8_t*  full = eliminate_flags(s);
        int             at = 0, fill = -plan->edge_count;
        for (int f = 0; f < plan->front_count; ++f)
            check_front(plan, &plan->front[f], full, prices[seed % 3] >= 0);
        for (int p = 0; p < plan->count; ++p) { // every place of a loop is in one front
            const bool tree = plan->tree[plan->component_of[plan->order[p]]];
            CHECK((plan->front_of[p] < 0) == tree);
            if (tree) continue;
            if (p >= plan->front[at].end) ++at;
            CHECK_INT(plan->front_of[p], at);
        }
        for (int i = 0; i < plan->count; ++i) {
            for (int j = i + 1; j < plan->count; ++j) fill += full[plan->count * i + j];
        }
        if (prices[seed % 3] < 0) CHECK_INT(plan->fill_blocks, fill);
        case_free(s);
    }
}

TEST(components_stand_together_in_the_order)
{
    for (uint64_t seed = 1; seed <= 50; ++seed) {
        system_case* s = random_mesh(seed);
        make_plan(s);
        for (int c = 0; c < s->plan->component_count; ++c) {
            for (int p = s->plan->component_start[c]; p < s->plan->component_start[c + 1]; ++p) {
                CHECK_INT(s->plan->component_of[s->plan->order[p]], c);
            }
            for (int k = s->plan->edge_start[c]; k < s->plan->edge_start[c + 1]; ++k) {
                CHECK_INT(s->plan->component_of[s->plan->row_node[s->plan->edge_list[k]]], c);
            }
        }
        CHECK_INT(s->plan->component_start[s->plan->component_count], s->plan->count);
        CHECK_INT(s->plan->edge_start[s->plan->component_count], s->plan->edge_count);
        case_free(s);
    }
}

TEST(several_right_hand_sides_give_the_bits_of_one_by_one)
{
    for (uint64_t seed = 1; seed <= 40; ++seed) {
        system_case*     s = seed % 2 == 0 ? random_forest(seed) : random_mesh(seed);
        tni_pivot_report report;
        make_plan(s);
        fill_blocks(s, 10, seed % 2 == 0 ? 0 : 0.5);
        CHECK_OK(load_and_factor(s, &report));
        const int rows = s->plan->row_count, count = test_random_int(&s->random, 2, 7);
        double *  many = random_vector(s, rows * count),
               *one    = TNI_TAKE(&s->arena, double, rows* count);
        for (int k = 0; k < count; ++k) {
            for (int i = 0; i < rows; ++i) one[rows * k + i] = many[count * i + k];
            tni_ldl_solve(s->ldl, -1, 1, one + rows * k);
        }
        tni_ldl_solve(s->ldl, -1, count, many);
        for (int k = 0; k < count; ++k) {
            for (int i = 0; i < rows; ++i) CHECK(one[rows * k + i] == many[count * i + k]);
        }
        case_free(s);
    }
}

TEST(one_component_is_solved_alone)
{
    system_case*     s = case_make(3, 64, 64);
    tni_pivot_report report;
    add_tree(s, 6, 0);
    add_tree(s, 5, 3);
    make_plan(s);
    fill_blocks(s, 10, 0);
    CHECK_OK(load_and_factor(s, &report));
    const int rows = s->plan->row_count;
    double *  x = random_vector(s, rows), *y = TNI_TAKE(&s->arena, double, rows),
           *b = TNI_TAKE(&s->arena, double, rows);
    memcpy(y, x, sizeof *y * (size_t)rows);
    memcpy(b, x, sizeof *b * (size_t)rows);
    tni_ldl_solve(s->ldl, -1, 1, x);
    tni_ldl_solve(s->ldl, 1, 1, y);
    for (int v = 0; v < s->plan->count; ++v) {
        for (int i = s->plan->row_start[v]; i < s->plan->row_start[v + 1]; ++i) {
            CHECK(y[i] == (s->plan->component_of[v] == 1 ? x[i] : b[i]));
        }
    }
    case_free(s);
}

static int count_ancestors(const tni_plan* plan, const int* nodes, int count) // whole fronts
{
    uint8_t* seen = calloc((size_t)plan->count, 1);
    int      sum  = 0;
    for (int i = 0; i < count; ++i) {
        const int f = plan->front_of[plan->place[nodes[i]]];
        for (int p = f < 0 ? plan->place[nodes[i]] : plan->front[f].first; p >= 0;
             p     = plan->parent[p]) {
            sum += !seen[p];
            seen[p] = 1;
        }
    }
    free(seen);
    return sum;
}

TEST(path_solve_gives_the_bits_of_the_full_solve_and_visits_ancestors_only)
{
    for (uint64_t seed = 1; seed <= 100; ++seed) {
        system_case*     s = seed % 2 == 0 ? random_forest(seed) : random_mesh(seed);
        tni_pivot_report report;
        make_plan(s);
        fill_blocks(s, 10, seed % 2 == 0 ? 0 : 0.5);
        CHECK_OK(load_and_factor(s, &report));
        const tni_plan* plan = s->plan;
        for (int trial = 0; trial < 4; ++trial) {
            const int count = test_random_int(&s->random, 1, 3), rows = plan->row_count;
            int       nodes[8]; // the first four are given, the last four wanted
            for (int i = 0; i < 8; ++i) nodes[i] = test_random_int(&s->random, 0, plan->count - 1);
            double *full   = TNI_TAKE(&s->arena, double, rows* count),
                   *path   = random_vector(s, rows * count);
            double* before = TNI_TAKE(&s->arena, double, rows* count);
            memcpy(before, path, sizeof *path * (size_t)(rows * count));
            for (int i = 0; i < 4; ++i) {
                const int at = plan->row_start[nodes[i]] * count;
                memcpy(full + at, path + at, sizeof *path * (size_t)(plan->dim[nodes[i]] * count));
            }
            tni_ldl_solve(s->ldl, -1, count, full);
            const int visited = tni_ldl_solve_path(s->ldl, nodes, 4, nodes + 4, 4, count, path);
            CHECK_INT(visited, count_ancestors(plan, nodes, 8));
            for (int i = 4; i < 8; ++i) {
                const int at = plan->row_start[nodes[i]] * count;
                for (int k = at; k < at + plan->dim[nodes[i]] * count; ++k)
                    CHECK(full[k] == path[k]);
            }
            int untouched = 0;
            for (int v = 0; v < plan->count; ++v) {
                const int at = plan->row_start[v] * count;
                untouched += memcmp(path + at, before + at,
                                    sizeof *path * (size_t)(plan->dim[v] * count)) == 0;
            }
            CHECK(untouched >= plan->count - visited);
        }
        case_free(s);
    }
}

// Columns on one or two random nodes, in a vector of their own.
static double* random_columns(system_case* s, int count, int* nodes, int* node_count)
{
    const tni_plan* plan = s->plan;
    double*         x    = TNI_TAKE(&s->arena, double, plan->row_count* count);
    *node_count          = test_random_int(&s->random, 1, 2);
    for (int i = 0; i < *node_count; ++i) {
        nodes[i] = test_random_int(&s->random, 0, plan->count - 1);
        for (int k = 0; k < plan->dim[nodes[i]] * count; ++k)
            x[plan->row_start[nodes[i]] * count + k] = test_random_between(&s->random, -1, 1);
    }
    return x;
}

TEST(half_solve_products_agree_with_solves)
{
    enum { PARTS = 6 };
    for (uint64_t seed = 1; seed <= 100; ++seed) {
        system_case*     s = seed % 2 == 0 ? random_forest(seed) : random_mesh(seed);
        tni_pivot_report report;
        make_plan(s);
        fill_blocks(s, 10, seed % 2 == 0 ? 0 : 0.5);
        CHECK_OK(load_and_factor(s, &report));
        const int       rows = s->plan->row_count;
        tni_half_solves halves;
        tni_half_solve  half[PARTS];
        double *        x[PARTS], *y[PARTS];
        CHECK_OK(tni_half_solves_create(&s->arena, PARTS * s->plan->count,
                                        (size_t)(3 * PARTS * rows), &halves));
        for (int i = 0; i < PARTS; ++i) {
            int       nodes[2], node_count;
            const int count = 1 + i % 3;
            x[i]            = random_columns(s, count, nodes, &node_count);
            y[i]            = TNI_TAKE(&s->arena, double, rows* count);
            double* scratch = TNI_TAKE(&s->arena, double, rows* count);
            memcpy(y[i], x[i], sizeof(double) * (size_t)(rows * count));
            memcpy(scratch, x[i], sizeof(double) * (size_t)(rows * count));
            tni_ldl_solve(s->ldl, -1, count, y[i]);
            CHECK(
                tni_half_solves_add(&halves, s->ldl, nodes, node_count, count, scratch, &half[i]));
        }
        for (int i = 0; i < PARTS; ++i) {
            for (int j = 0; j < PARTS; ++j) {
                double out[3 * 4];
                tni_half_solves_product(&halves, s->ldl, &half[i], &half[j], out, 4);
                for (int k = 0; k < half[i].columns; ++k) {
                    for (int l = 0; l < half[j].columns; ++l) {
                        double sum = 0, size = 0;
                        for (int r = 0; r < rows; ++r) {
                            const double term =
                                x[i][r * half[i].columns + k] * y[j][r * half[j].columns + l];
                            sum += term;
                            size += fabs(term);
                        }
                        CHECK_NEAR(out[4 * k + l], sum, 1e-11 * (1 + size));
                    }
                }
            }
        }
        case_free(s);
    }
}

TEST(half_solves_without_capacity_are_refused_and_change_nothing)
{
    system_case*     s = random_forest(2);
    tni_pivot_report report;
    make_plan(s);
    fill_blocks(s, 10, 0);
    CHECK_OK(load_and_factor(s, &report));
    tni_half_solves halves;
    tni_half_solve  half;
    int             nodes[2], node_count;
    CHECK_OK(tni_half_solves_create(&s->arena, s->plan->count, 1, &halves));
    double* x = random_columns(s, 2, nodes, &node_count);
    CHECK(!tni_half_solves_add(&halves, s->ldl, nodes, node_count, 2, x, &half));
    CHECK(halves.place_count == 0 && halves.number_count == 0);
    case_free(s);
}

TEST(a_lost_pivot_is_replaced_and_its_row_named)
{
    for (int twin = 1; twin < 5; ++twin) { // row `twin` of the B node repeats row 0
        system_case*     s = case_make(9, 4, 4);
        tni_pivot_report report;
        const int        a = add_node(s, 1, 6), b = add_node(s, -1, 5);
        add_edge(s, b, a);
        make_plan(s);
        fill_blocks(s, 1, 0);
        for (int k = 0; k < 6; ++k) s->block[0][6 * twin + k] = -2 * s->block[0][k];
        CHECK_OK(load_and_factor(s, &report));
        CHECK_INT(report.replaced, 1);
        CHECK_INT(report.smallest_row, s->plan->row_start[b] + twin);
        CHECK_LESS(fabs(s->ldl->relative[s->plan->row_start[b] + twin]), 1e-13);
        CHECK(s->ldl->relative[s->plan->row_start[b]] == 1);
        case_free(s);
    }
}

TEST(a_block_that_is_not_positive_or_not_finite_is_refused_by_row)
{
    for (int kind = 0; kind < 4; ++kind) {
        system_case*     s = case_make(11, 64, 64);
        tni_pivot_report report;
        add_tree(s, 8, 3);
        make_plan(s);
        fill_blocks(s, 1, 0);
        const int v = 0, row = s->dim[v] - 1;
        double*   last = &s->diagonal[v][s->dim[v] * s->dim[v] - 1];
        if (kind == 0) *last = -1;
        if (kind == 1) *last = (double)NAN;
        if (kind == 2) *last = (double)INFINITY;
        if (kind == 3) s->block[0][0] = (double)NAN;
        CHECK_INT(load_and_factor(s, &report), TN_ERR_SINGULAR);
        if (kind < 3) CHECK_INT(report.bad_row, s->plan->row_start[v] + row);
        CHECK(report.bad_row >= 0);
        case_free(s);
    }
}

TEST(a_root_that_is_not_finite_is_refused)
{
    system_case*     s = case_make(2, 4, 4);
    tni_pivot_report report;
    const int        a = add_node(s, 1, 6), b = add_node(s, -1, 3);
    add_edge(s, b, a);
    make_plan(s);
    fill_blocks(s, 1, 0);
    s->block[0][6] = (double)NAN;
    CHECK_INT(load_and_factor(s, &report), TN_ERR_SINGULAR);
    CHECK_INT(report.bad_row, s->plan->row_start[b] + 1);
    case_free(s);
}

TEST(same_input_same_bits)
{
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        double*      x[2];
        system_case* s[2];
        for (int k = 0; k < 2; ++k) {
            tni_pivot_report report;
            s[k] = random_mesh(seed);
            make_plan(s[k]);
            fill_blocks(s[k], 10, 0.5);
            CHECK_OK(load_and_factor(s[k], &report));
            CHECK_OK(load_and_factor(s[k], &report)); // a second time over the first
            x[k] = random_vector(s[k], s[k]->plan->row_count);
            tni_ldl_solve(s[k]->ldl, -1, 1, x[k]);
        }
        CHECK(memcmp(x[0], x[1], sizeof(double) * (size_t)s[0]->plan->row_count) == 0);
        case_free(s[0]);
        case_free(s[1]);
    }
}

// n A nodes of 3 rows, a B node of one row between each two and one at the end; returns bytes.
static size_t long_chain(int n, double* worst)
{
    system_case* s = case_make(1, 2 * n, 2 * n);
    for (int i = 0; i < n; ++i) {
        add_node(s, 1, 3);
        add_node(s, -1, 1);
        add_edge(s, 2 * i + 1, 2 * i);
        if (i > 0) add_edge(s, 2 * i - 1, 2 * i);
    }
    const size_t before = s->arena.bytes;
    make_plan(s);
    const size_t bytes = s->arena.bytes - before;
    CHECK(s->plan->tree[0] && s->plan->fill_blocks == 0);
    const double J[3] = {1, 0.5, 0.25}, K[3] = {-0.5, 0.5, 1};
    const double numbers[16] = {2, 0, 0, 0, 2, 0, 0, 0, 2, 0, J[0], J[1], J[2], K[0], K[1], K[2]};
    size_t *     diagonal_at = TNI_TAKE(&s->arena, size_t, 2 * n),
           *edge_at          = TNI_TAKE(&s->arena, size_t, 2 * n);
    for (int v = 0; v < 2 * n; ++v) diagonal_at[v] = v % 2 == 0 ? 0 : 9;
    for (int e = 0; e < s->graph.edge_count; ++e)
        edge_at[e] = s->row_node[e] > s->col_node[e] ? 10 : 13;
    const tni_blocks     blocks = {numbers, diagonal_at, numbers, edge_at, false};
    const tni_pivot_rule rule   = {.tolerance = 1e-13};
    tni_pivot_report     report;
    CHECK_OK(tni_ldl_factor(s->ldl, -1, &blocks, NULL, &rule, &report));
    const int rows = s->plan->row_count;
    double*   x    = TNI_TAKE(&s->arena, double, rows);
    for (int i = 0; i < rows; ++i) x[i] = 1;
    tni_ldl_solve(s->ldl, -1, 1, x);
    *worst = 0;
    for (int i = 0; i < n; ++i) { // A rows: 2 u + J^T mu = 1
        const double own = x[4 * i + 3], previous = i > 0 ? x[4 * i - 1] : 0;
        for (int k = 0; k < 3; ++k) {
            *worst = fmax(*worst, fabs(2 * x[4 * i + k] + J[k] * own + K[k] * previous - 1));
        }
    }
    case_free(s);
    return bytes;
}

TEST(a_chain_of_a_million_nodes_takes_constant_memory_a_node)
{
    double       small_error, large_error;
    const double small = (double)long_chain(100000, &small_error),
                 large = (double)long_chain(1000000, &large_error);
    CHECK_LESS(large_error, 1e-12);
    CHECK_LESS(small_error, 1e-12);
    CHECK_LESS(large / 1e6, 1.1 * small / 1e5);
    CHECK_LESS(large / 1e6, 500);
}

// A host whose allocations fail from the n-th on, and which counts what is not released.
typedef struct stingy {
    int allowed, out;
} stingy;

static void* stingy_allocate(void* user, size_t bytes)
{
    stingy* s = user;
    if (s->allowed-- <= 0) return NULL;
    ++s->out;
    return malloc(bytes);
}

static void stingy_release(void* user, void* block, size_t bytes)
{
    (void)bytes;
    --((stingy*)user)->out;
    free(block);
}

TEST(every_failed_allocation_is_reported_and_nothing_leaks)
{
    system_case* s = random_mesh(7);
    for (int allowed = 0;; ++allowed) {
        stingy        user = {.allowed = allowed};
        const tn_host host = {
            .allocate = stingy_allocate, .release = stingy_release, .user = &user};
        tni_arena arena = tni_arena_make(&host);
        tni_plan* plan;
        tni_ldl*  ldl;
        tn_result result = tni_plan_create(&arena, &s->graph, &plan);
        CHECK((result == TN_OK) == (plan != NULL));
        if (result == TN_OK) result = tni_ldl_create(&arena, plan, &ldl);
        tni_arena_free(&arena);
        CHECK_INT(user.out, 0);
        CHECK(allowed < 100);
        if (result == TN_OK || allowed >= 100) break;
        CHECK_INT(result, TN_ERR_MEMORY);
    }
    case_free(s);
}
