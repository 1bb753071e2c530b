#include "support/saddle_answer.h"

TEST(trees_agree_with_dense_without_refinement)
{
    for (uint64_t seed = 1; seed <= 100; ++seed) {
        saddle_case* s = saddle_tree(seed, 1);
        CHECK_OK(tni_saddle_factor(s->saddle));
        const double *rhs = saddle_random_rhs(s), *x = saddle_solve(s, rhs, true);
        CHECK_INT(s->saddle->report.loop_count, 0);
        CHECK_INT(s->saddle->report.refinement_count, 0);
        CHECK_LESS(saddle_difference(s, 0, x, saddle_dense_answer(s, rhs, false)), 1e-11);
        CHECK_LESS(s->saddle->report.residual, 1e-12);
        saddle_free(s);
    }
}

TEST(trees_with_weights_a_million_apart_agree_with_dense)
{
    for (uint64_t seed = 1; seed <= 50; ++seed) {
        saddle_case* s = saddle_tree(seed, 1e6);
        CHECK_OK(tni_saddle_factor(s->saddle));
        const double *rhs = saddle_consistent_rhs(s), *x = saddle_solve(s, rhs, true);
        CHECK_LESS(saddle_difference(s, 1, x, saddle_dense_answer(s, rhs, false)), 1e-10);
        CHECK_LESS(s->saddle->report.residual, 1e-10); // 1e-16 times the range of weights
        saddle_free(s);
    }
}

static void check_loop(saddle_case* s, double tolerance)
{
    CHECK_OK(tni_saddle_factor(s->saddle));
    const double *rhs = saddle_consistent_rhs(s), *x = saddle_solve(s, rhs, true),
                 *y = saddle_dense_answer(s, rhs, true);
    CHECK_INT(s->saddle->report.loop_count, 1);
    CHECK_LESS(saddle_difference(s, 1, x, y), tolerance); // u
    double *f = TNI_TAKE(&s->arena, double, s->plan->row_count),
           *g = TNI_TAKE(&s->arena, double, s->plan->row_count);
    tni_saddle_mul_jt(s->saddle, -1, x, f);
    tni_saddle_mul_jt(s->saddle, -1, y, g);
    CHECK_LESS(saddle_difference(s, 1, f, g), tolerance); // J^T mu, never mu
    CHECK_LESS(s->saddle->report.residual, 1e-9);
    CHECK(s->saddle->report.refinement_count > 0);
}

TEST(loops_with_redundant_rows_agree_with_dense)
{
    for (uint64_t seed = 1; seed <= 8; ++seed) {
        saddle_case* cases[] = {saddle_grid(seed, 2 + (int)seed % 4, 1),
                                saddle_scissor(seed, 2 + (int)seed % 7, 1)};
        for (int k = 0; k < 2; ++k) {
            check_loop(cases[k], 1e-9);
            saddle_free(cases[k]);
        }
    }
}

TEST(loops_with_weights_a_million_apart_agree_with_dense)
{
    for (uint64_t seed = 1; seed <= 6; ++seed) {
        saddle_case* cases[] = {saddle_grid(seed, 4, 1e6), saddle_scissor(seed, 6, 1e6)};
        for (int k = 0; k < 2; ++k) {
            CHECK_OK(tni_saddle_factor(cases[k]->saddle));
            const double *rhs = saddle_consistent_rhs(cases[k]),
                         *x   = saddle_solve(cases[k], rhs, true);
            CHECK_LESS(saddle_difference(cases[k], 1, x, saddle_dense_answer(cases[k], rhs, true)),
                       1e-8);
            saddle_free(cases[k]);
        }
    }
}

TEST(b_nodes_on_many_a_nodes_agree_with_dense)
{
    for (uint64_t seed = 1; seed <= 60; ++seed) {
        saddle_case* s    = saddle_make(seed);
        const int    size = test_random_int(&s->random, 5, 10);
        for (int i = 0; i < size; ++i) saddle_add_node(s, 1, i % 3 == 2 ? 12 : 6);
        for (int k = test_random_int(&s->random, 1, 5); k > 0; --k) {
            const int tie   = saddle_add_node(s, -1, test_random_int(&s->random, 1, 6)),
                      ends  = test_random_int(&s->random, 3, 5);
            const int first = test_random_int(&s->random, 0, size - ends);
            for (int i = first; i < first + ends; ++i) saddle_add_random_edge(s, tie, i);
        }
        saddle_finish(s);
        CHECK_OK(tni_saddle_factor(s->saddle));
        const double *rhs = saddle_random_rhs(s), *x = saddle_solve(s, rhs, true);
        CHECK_LESS(saddle_difference(s, 1, x, saddle_dense_answer(s, rhs, false)), 1e-10);
        saddle_free(s);
    }
}

TEST(soft_rows_in_loops_agree_with_dense)
{
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        saddle_case* s = saddle_grid(seed, 3, 10);
        for (int v = 0; v < s->graph.count; ++v) { // every row soft, by very different amounts
            if (s->sign[v] > 0) continue;
            double* E = tni_saddle_e(s->saddle, v);
            for (int k = 0; k < 5; ++k) E[6 * k] = pow(10, test_random_between(&s->random, -6, 2));
            E[1] = E[5] = 0.5 * sqrt(E[0] * E[6]);
        }
        CHECK_OK(tni_saddle_factor(s->saddle));
        const double *rhs = saddle_random_rhs(s), *x = saddle_solve(s, rhs, true);
        CHECK_LESS(saddle_difference(s, 0, x, saddle_dense_answer(s, rhs, false)), 1e-9);
        saddle_free(s);
    }
}

TEST(soft_rows_below_the_regularisation_are_refined_to_their_own_softness)
{
    for (uint64_t seed = 1; seed <= 6; ++seed) {
        saddle_case* s            = saddle_grid(seed, 3, 1);
        s->saddle->regularisation = 1e-3;
        s->saddle->refinement_max = 400;
        for (int v = 0; v < s->graph.count; ++v) {
            if (s->sign[v] > 0) continue;
            for (int k = 0; k < 5; ++k)
                tni_saddle_e(s->saddle, v)[6 * k] = test_random_between(&s->random, 1e-4, 1e-3);
        }
        CHECK_OK(tni_saddle_factor(s->saddle));
        const double *rhs = saddle_random_rhs(s), *x = saddle_solve(s, rhs, true);
        CHECK(s->saddle->report.refinement_count > 1);
        CHECK_LESS(s->saddle->report.refinement_count, 60);
        CHECK_LESS(saddle_difference(s, 1, x, saddle_dense_answer(s, rhs, false)), 1e-9);
        saddle_free(s);
    }
}

TEST(refinement_removes_what_regularisation_leaves)
{
    saddle_case* s            = saddle_scissor(3, 8, 100);
    s->saddle->regularisation = 1e-8;
    CHECK_OK(tni_saddle_factor(s->saddle));
    const double *rhs = saddle_consistent_rhs(s), *y = saddle_dense_answer(s, rhs, true);
    const double  plain = saddle_difference(s, 1, saddle_solve(s, rhs, false), y);
    CHECK_INT(s->saddle->report.refinement_count, 0);
    const double refined = saddle_difference(s, 1, saddle_solve(s, rhs, true), y);
    CHECK(plain > 1e-8);
    CHECK_LESS(refined, 1e-4 * plain);
    saddle_free(s);
}

TEST(a_tree_with_a_row_twice_is_treated_as_a_loop)
{
    saddle_case* s = saddle_make(4);
    const int    a = saddle_add_node(s, 1, 6), b = saddle_add_node(s, 1, 6),
              tie = saddle_add_node(s, -1, 4), ground = saddle_add_node(s, -1, 3);
    saddle_add_random_edge(s, tie, a);
    saddle_add_random_edge(s, tie, b);
    saddle_add_random_edge(s, ground, a);
    for (int e = 0; e < 2; ++e) { // row 2 of the tie is minus row 1
        for (int k = 0; k < 6; ++k) s->block[e][12 + k] = -s->block[e][6 + k];
    }
    saddle_finish(s);
    CHECK(s->plan->tree[0]);
    CHECK_OK(tni_saddle_factor(s->saddle));
    CHECK_INT(s->saddle->report.loop_count, 1);
    CHECK_INT(s->saddle->report.pivot_row, -1); // only trees report pivots
    const double *rhs = saddle_consistent_rhs(s), *x = saddle_solve(s, rhs, true);
    CHECK_LESS(saddle_difference(s, 1, x, saddle_dense_answer(s, rhs, true)), 1e-10);
    saddle_free(s);
}

TEST(a_contradiction_is_no_failure_but_shows_in_the_residual)
{
    int          first, second;
    saddle_case* s = saddle_twins(&first, &second);
    CHECK_OK(tni_saddle_factor(s->saddle));
    double* rhs = saddle_consistent_rhs(s);
    rhs[s->plan->row_start[second] + 1] += 0.25; // two rows disagree by that much: half each
    saddle_solve(s, rhs, true);
    // mu is residual / alpha, so u carries rounding of 1e-16 / eps_T.
    CHECK_NEAR(s->saddle->report.residual, 0.125, 1e-16 / s->saddle->regularisation);
    const int row = s->saddle->report.residual_row;
    CHECK(row == s->plan->row_start[first] + 1 || row == s->plan->row_start[second] + 1);
    saddle_free(s);
}

TEST(an_empty_row_is_harmless)
{
    saddle_case* s = saddle_grid(2, 3, 1);
    for (int k = 0; k < s->graph.edge_count; ++k) {
        if (s->row_node[k] != s->row_node[0]) continue;
        for (int i = 18; i < 24; ++i) tni_saddle_j(s->saddle, k)[i] = 0;
    }
    check_loop(s, 1e-9);
    saddle_free(s);
}

TEST(what_is_not_finite_or_not_positive_is_refused_by_row)
{
    for (int kind = 0; kind < 10; ++kind) {
        saddle_case* s       = kind < 5 ? saddle_grid(1, 3, 1) : saddle_tree(6, 1);
        const double evils[] = {(double)NAN, (double)INFINITY};
        const int    last    = s->dim[0] - 1;
        double*      rhs     = NULL;
        switch (kind % 5) {
        case 0: tni_saddle_a(s->saddle, 0)[(s->dim[0] + 1) * last] = -1; break;
        case 1: tni_saddle_a(s->saddle, 0)[(s->dim[0] + 1) * last] = evils[0]; break;
        case 2: tni_saddle_j(s->saddle, 0)[0] = evils[0]; break;
        case 3: tni_saddle_j(s->saddle, 0)[0] = evils[1]; break;
        default: rhs = saddle_random_rhs(s); rhs[s->plan->row_count / 2] = evils[0];
        }
        if (rhs == NULL) {
            CHECK_INT(tni_saddle_factor(s->saddle), TN_ERR_SINGULAR);
        } else {
            CHECK_OK(tni_saddle_factor(s->saddle));
            CHECK_INT(tni_saddle_solve(s->saddle, rhs,
                                       TNI_TAKE(&s->arena, double, s->plan->row_count), true),
                      TN_ERR_SINGULAR);
        }
        CHECK(s->saddle->report.bad_row >= 0);
        if (kind % 5 < 2) CHECK_INT(s->saddle->report.bad_row, last);
        saddle_free(s);
    }
}

TEST(products_fit_together)
{
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        saddle_case* s = seed % 2 == 0 ? saddle_grid(seed, 3, 10) : saddle_tree(seed, 10);
        CHECK_OK(tni_saddle_factor(s->saddle));
        const int rows = s->plan->row_count;
        double *  x = saddle_random_rhs(s), *y = TNI_TAKE(&s->arena, double, rows),
               *z = TNI_TAKE(&s->arena, double, rows);
        tni_saddle_mul_j(s->saddle, -1, x, y);
        tni_saddle_mul_jt(s->saddle, -1, x, y);
        double sum = 0; // mu . J u = u . J^T mu
        for (int v = 0; v < s->graph.count; ++v) {
            for (int i = s->plan->row_start[v]; i < s->plan->row_start[v + 1]; ++i)
                sum += s->sign[v] * x[i] * y[i];
        }
        CHECK_NEAR(sum, 0, 1e-12);
        tni_saddle_solve_a(s->saddle, -1, x, z);
        for (int v = 0; v < s->graph.count; ++v) { // A z = x
            const int n = s->dim[v], at = s->plan->row_start[v];
            for (int i = 0; s->sign[v] > 0 && i < n; ++i) {
                double back = -x[at + i];
                for (int j = 0; j < n; ++j)
                    back += tni_saddle_a(s->saddle, v)[n * i + j] * z[at + j];
                CHECK_NEAR(back, 0, 1e-12);
            }
        }
        saddle_free(s);
    }
}

TEST(same_input_same_bits)
{
    saddle_case* s   = saddle_grid(7, 5, 100);
    double*      rhs = saddle_consistent_rhs(s);
    CHECK_OK(tni_saddle_factor(s->saddle));
    const double* first = saddle_solve(s, rhs, true);
    CHECK_OK(tni_saddle_factor(s->saddle));
    const double* second = saddle_solve(s, rhs, true);
    CHECK(memcmp(first, second, sizeof(double) * (size_t)s->plan->row_count) == 0);
    saddle_free(s);
}

TEST(components_do_not_disturb_each_other)
{
    saddle_case* s = saddle_make(12); // a loop and a tree: the tree stays exact
    for (int i = 0; i < 4; ++i) saddle_add_link(s, i % 2, i / 2, 0, 1);
    saddle_pin(s, 0, 1, 0.5, 0);
    saddle_pin(s, 1, 3, 1, 0.5);
    saddle_pin(s, 3, 2, 0.5, 1);
    saddle_pin(s, 2, 0, 0, 0.5);
    const int a = saddle_add_node(s, 1, 6), tie = saddle_add_node(s, -1, 5);
    saddle_add_random_edge(s, tie, a);
    saddle_finish(s);
    CHECK_OK(tni_saddle_factor(s->saddle));
    CHECK_INT(s->saddle->report.loop_count, 1);
    const double *rhs = saddle_consistent_rhs(s), *x = saddle_solve(s, rhs, true);
    CHECK_LESS(saddle_difference(s, 1, x, saddle_dense_answer(s, rhs, true)), 1e-10);
    saddle_free(s);
}
