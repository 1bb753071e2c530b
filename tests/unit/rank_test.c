// Redundant rows: counted by dense rank, and the remaining rows must have full rank.
#include "linalg/rank.h"

#include "support/saddle_case.h"

static double* margins(saddle_case* s)
{
    double* margin = TNI_TAKE(&s->arena, double, s->plan->row_count);
    CHECK_OK(tni_saddle_factor(s->saddle));
    CHECK_OK(tni_rank_rows(s->saddle, &s->arena, margin));
    return margin;
}

static int count_dependent(const saddle_case* s, const double* margin)
{
    int count = 0;
    for (int i = 0; i < s->plan->row_count; ++i) count += margin[i] <= TNI_RANK_DEPENDENT;
    return count;
}

// Without the marked rows, the rest is independent and has full rank. Returns how many are marked.
static int check_rows(saddle_case* s)
{
    int           rows, cols, left = 0;
    const double* margin = margins(s);
    const int*    at     = saddle_dense_rows(s, &cols);
    double*       J      = saddle_dense_j(s, &rows, &cols);
    double*       copy   = TNI_TAKE(&s->arena, double, rows* cols);
    double*       kept   = TNI_TAKE(&s->arena, double, rows* cols);
    memcpy(copy, J, sizeof *J * (size_t)(rows * cols));
    const int rank      = tni_dense_rank(rows, cols, copy, 1e-9, NULL);
    const int dependent = count_dependent(s, margin);
    CHECK_INT(dependent, rows - rank);
    for (int i = 0; i < s->plan->row_count; ++i) {
        if (at[i] < cols) CHECK(margin[i] == 1);
        if (at[i] < cols || margin[i] <= TNI_RANK_DEPENDENT) continue;
        memcpy(kept + cols * left++, J + cols * (at[i] - cols), sizeof *J * (size_t)cols);
    }
    CHECK_INT(tni_dense_rank(left, cols, kept, 1e-9, NULL), rank);
    return dependent;
}

static void check_and_free(saddle_case* s)
{
    check_rows(s);
    saddle_free(s);
}

TEST(redundant_rows_are_found)
{
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        const int n = (int)seed;
        check_and_free(saddle_grid(seed, 2 + n % 5, 1));
        check_and_free(saddle_scissor(seed, 2 + n % 7, 10));
        check_and_free(saddle_linkage(seed, 1));
        check_and_free(saddle_ring(seed, 3 + n % 8, 1));
        check_and_free(saddle_spatial(seed, 6 + n % 8, 1 + n % 3, 1));
        check_and_free(saddle_spatial(seed, 6 + n % 8, 4 + n % 8, 1));
    }
}

TEST(weights_change_nothing)
{
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        const int n = (int)seed;
        check_and_free(saddle_grid(seed, 4, 1e8));
        check_and_free(saddle_scissor(seed, 7, 1e8));
        check_and_free(saddle_linkage(seed, 1e8));
        check_and_free(saddle_ring(seed, 3 + n % 8, 1e8));
        check_and_free(saddle_spatial(seed, 6 + n % 8, 4 + n % 8, 1e8));
    }
}

TEST(margins_do_not_depend_on_weights)
{
    for (uint64_t seed = 1; seed <= 4; ++seed) {
        saddle_case * even = saddle_grid(seed, 4, 1), *uneven = saddle_grid(seed, 4, 1e8);
        const double *x = margins(even), *y = margins(uneven);
        for (int i = 0; i < even->plan->row_count; ++i) CHECK_NEAR(y[i], x[i], 1e-10);
        saddle_free(even);
        saddle_free(uneven);
    }
}

// Lever arms of all links, and A with them.
static void resize(saddle_case* s, double size)
{
    for (int e = 0; e < s->graph.edge_count; ++e) {
        double* J = tni_saddle_j(s->saddle, e);
        for (int k = 0; k < 18; ++k) J[k] *= k % 6 < 3 ? 1 : size;
    }
    for (int v = 0; v < s->graph.count; ++v) {
        if (s->sign[v] < 0) continue;
        double* A = tni_saddle_a(s->saddle, v);
        for (int k = 0; k < 36; ++k) A[k] *= (k / 6 < 3 ? 1 : size) * (k % 6 < 3 ? 1 : size);
    }
}

TEST(millimetres_and_kilometres_are_judged_alike)
{
    static const double sizes[] = {1e-3, 1e-2, 1e2, 1e3};
    for (uint64_t seed = 1; seed <= 40; ++seed) {
        for (int k = 0; k < 4; ++k) {
            const int    n       = (int)seed;
            saddle_case* cases[] = {saddle_linkage(seed, 1), saddle_grid(seed, 2 + n % 3, 1),
                                    saddle_spatial(seed, 6 + n % 5, 4 + n % 5, 1)};
            for (int c = 0; c < 3; ++c) {
                resize(cases[c], sizes[k]);
                check_and_free(cases[c]);
            }
        }
    }
}

TEST(margins_shrink_no_faster_than_lengths)
{
    for (int k = -1; k <= 1; k += 2) {
        saddle_case* s = saddle_grid(1, 4, 1);
        resize(s, pow(10, 3 * k));
        const double* margin   = margins(s);
        double        smallest = 1;
        for (int i = 0; i < s->plan->row_count; ++i) {
            if (margin[i] > TNI_RANK_DEPENDENT) smallest = fmin(smallest, margin[i]);
        }
        CHECK(smallest > 3e-5); // the square would be below 1e-6
        saddle_free(s);
    }
}

// A pivot is a squared length: one of 1e-8 is lost in the rounding of such systems.
TEST(nearly_redundant_rows_are_kept)
{
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        saddle_case* s      = saddle_spatial(seed, 12, 8, 1);
        const int    before = check_rows(s), tie = s->row_node[s->graph.edge_count - 1];
        for (int k = 0; k < s->graph.edge_count; ++k) { // two rows of a tie nearly the same
            double* J = tni_saddle_j(s->saddle, k);
            for (int i = 0; s->row_node[k] == tie && i < 6; ++i) J[6 + i] = J[i] + 1e-3 * J[6 + i];
        }
        CHECK_INT(check_rows(s), before);
        saddle_free(s);
    }
}

TEST(remainders_that_are_alike_count_once)
{
    saddle_case* s = saddle_make(3); // three rows within 1e-3 of each other in a plane: rank 2
    const int    a = saddle_add_node(s, 1, 6), b = saddle_add_node(s, 1, 6);
    for (int i = 0; i < 3; ++i) {
        const int tie = saddle_add_node(s, -1, 1);
        for (int side = 0; side < 2; ++side) {
            double* J = saddle_add_edge(s, tie, side == 0 ? a : b);
            J[0]      = side == 0 ? 1 : -1;
            J[1]      = side == 0 ? 1e-3 * i : 0;
        }
    }
    saddle_finish(s);
    CHECK_INT(check_rows(s), 1);
    saddle_free(s);
}

TEST(soft_rows_are_never_redundant)
{
    for (uint64_t seed = 1; seed <= 4; ++seed) {
        saddle_case* s      = saddle_grid(seed, 3, 1);
        const int    before = check_rows(s);
        for (int v = 0; v < s->graph.count; ++v) {
            if (s->sign[v] > 0) continue;
            for (int k = 0; k < 5; ++k) tni_saddle_e(s->saddle, v)[6 * k] = 1e-9;
        }
        CHECK(before > 0);
        CHECK_INT(count_dependent(s, margins(s)), 0);
        saddle_free(s);
    }
}

// Rows e1, e1 + d e2, e1 - d e2 on each of many A nodes, and e1 + d e3 on some: all but the first
// are in doubt, and are tested in groups; two of the first three are independent, the last is too.
TEST(rows_in_doubt_are_tested_in_groups)
{
    enum { NODES = 12 };
    const double tilt[4][3] = {{1, 0, 0}, {1, 1e-4, 0}, {1, -1e-4, 0}, {1, 0, 1e-4}};
    saddle_case* s          = saddle_make(9);
    int          count      = 0;
    for (int i = 0; i < NODES; ++i) {
        const int a = saddle_add_node(s, 1, 6);
        for (int k = 0; k < 3 + i % 2; ++k) {
            double* J = saddle_add_edge(s, saddle_add_node(s, -1, 1), a);
            memcpy(J, tilt[k], sizeof tilt[k]);
        }
        ++count; // of every three, one depends on the two others
    }
    saddle_finish(s);
    CHECK_INT(count_dependent(s, margins(s)), count);
    saddle_free(s);
}

TEST(a_hard_row_is_independent_of_a_soft_one)
{
    int          first, second;
    saddle_case* s = saddle_twins(&first, &second);
    CHECK_INT(count_dependent(s, margins(s)), 3);
    tni_saddle_e(s->saddle, first)[0] = 0.1; // soft: row 0 of second is independent
    CHECK_INT(count_dependent(s, margins(s)), 2);
    saddle_free(s);
}

TEST(contradicting_rows_are_redundant) // right-hand sides do not matter
{
    int          first, second;
    saddle_case* s = saddle_twins(&first, &second);
    CHECK_INT(check_rows(s), 3);
    double rhs[12]                  = {0}, x[12];
    rhs[s->plan->row_start[second]] = 1;
    CHECK_OK(tni_saddle_solve(s->saddle, rhs, x, true));
    CHECK(s->saddle->report.residual > 0.1);
    CHECK_INT(check_rows(s), 3);
    saddle_free(s);
}

TEST(an_empty_row_is_redundant)
{
    saddle_case* s = saddle_grid(2, 3, 1);
    for (int k = 0; k < s->graph.edge_count; ++k) {
        if (s->row_node[k] != s->row_node[0]) continue;
        for (int i = 0; i < 6; ++i) tni_saddle_j(s->saddle, k)[i] = 0;
    }
    CHECK(margins(s)[s->plan->row_start[s->row_node[0]]] == 0);
    check_and_free(s);
}

TEST(a_tree_has_no_redundant_rows_unless_a_pivot_is_lost)
{
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        saddle_case* s = saddle_tree(seed, 1e6);
        CHECK_INT(check_rows(s), 0);
        saddle_free(s);
    }
    saddle_case* s = saddle_make(4);
    const int    a = saddle_add_node(s, 1, 6), b = saddle_add_node(s, 1, 6),
              tie = saddle_add_node(s, -1, 4);
    saddle_add_random_edge(s, tie, a);
    saddle_add_random_edge(s, tie, b);
    for (int e = 0; e < 2; ++e) { // row 2 of the tie is minus row 1
        for (int k = 0; k < 6; ++k) s->block[e][12 + k] = -s->block[e][6 + k];
    }
    saddle_finish(s);
    CHECK_INT(check_rows(s), 1);
    CHECK(margins(s)[s->plan->row_start[tie] + 2] <= TNI_RANK_DEPENDENT);
    saddle_free(s);
}

TEST(the_factor_is_kept)
{
    saddle_case* s = saddle_spatial(5, 10, 8, 1e4);
    const size_t n = (size_t)s->plan->row_count;
    double *     x = TNI_TAKE(&s->arena, double, n), *y = TNI_TAKE(&s->arena, double, n);
    double*      rhs = TNI_TAKE(&s->arena, double, n);
    for (size_t i = 0; i < n; ++i) rhs[i] = test_random_between(&s->random, -1, 1);
    CHECK_OK(tni_saddle_factor(s->saddle));
    CHECK_OK(tni_saddle_solve(s->saddle, rhs, x, true));
    double* margin = TNI_TAKE(&s->arena, double, n);
    CHECK_OK(tni_rank_rows(s->saddle, &s->arena, margin));
    CHECK_OK(tni_saddle_solve(s->saddle, rhs, y, true));
    CHECK(memcmp(x, y, sizeof *x * n) == 0);
    saddle_free(s);
}
