#include "support/failing_host.h"
#include "support/saddle_answer.h"

// --- cases --------------------------------------------------------------------------------------

// A hub with `limbs` chains of `length` links; hinges or balls.
static saddle_case* spider(uint64_t seed, int limbs, int length, bool hinges, double weight_range)
{
    saddle_case* s   = saddle_make(seed);
    const int    hub = saddle_add_link(s, 0, 0, 0, saddle_random_weight(s, weight_range));
    for (int i = 0; i < limbs; ++i) {
        int last = hub;
        for (int k = 0; k < length; ++k) {
            double p[3];
            saddle_random_point(s, p);
            const int next =
                saddle_add_link(s, p[0], p[1], p[2], saddle_random_weight(s, weight_range));
            (hinges ? saddle_hinge : saddle_ball)(s, next, last, p);
            last = next;
        }
    }
    saddle_finish(s);
    return s;
}

// Legs between two hubs, a frame and a crank, all in a plane: loops through both hubs, redundant
// rows in each. The order of pins differs between the crank and the frame.
static saddle_case* walker(uint64_t seed, int legs, double weight_range)
{
    saddle_case* s     = saddle_make(seed);
    const int    frame = saddle_add_link(s, 0, 0, 0, weight_range);
    const int    crank = saddle_add_link(s, 0, 1, 0, 1), first = s->graph.count;
    saddle_pin(s, frame, crank, 0, 0.5);
    for (int i = 0; i < legs; ++i) {
        const int thigh = saddle_add_link(s, i + 0.2, 0.3, 0, saddle_random_weight(s, 10)),
                  shin  = saddle_add_link(s, i + 0.3, 0.6, 0, saddle_random_weight(s, 10));
        saddle_pin(s, thigh, frame, i, 0.1);
        saddle_pin(s, shin, thigh, i + 0.4, 0.5);
    }
    for (int k = 0; k < legs; ++k) {
        const int i = 11 * k % legs, shin = first + 2 + 4 * i;
        saddle_pin(s, shin, crank, i, 0.9);
    }
    saddle_finish(s);
    return s;
}

// B nodes on three to five of the A nodes, some of them on all: couplings.
static saddle_case* coupled(uint64_t seed)
{
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
    return s;
}

static void soften(saddle_case* s)
{
    for (int v = 0; v < s->graph.count; ++v) {
        if (s->sign[v] > 0) continue;
        double*   E = tni_saddle_e(s->saddle, v);
        const int n = s->dim[v];
        for (int k = 0; k < n; ++k)
            E[(n + 1) * k] = pow(10, test_random_between(&s->random, -6, 1));
        if (n > 1) E[1] = E[n] = 0.5 * sqrt(E[0] * E[n + 1]);
    }
}

// The same system in another form.
static tni_saddle* in_form(saddle_case* s, const tni_formulation* form)
{
    tni_saddle* t;
    CHECK_OK(tni_saddle_create_as(&s->arena, s->plan, form, &t));
    for (int v = 0; v < s->graph.count; ++v) {
        const size_t size = sizeof(double) * (size_t)(s->dim[v] * s->dim[v]);
        if (s->sign[v] > 0) memcpy(tni_saddle_a(t, v), tni_saddle_a(s->saddle, v), size);
        else if (s->saddle->soft) memcpy(tni_saddle_e(t, v), tni_saddle_e(s->saddle, v), size);
    }
    for (int e = 0; e < s->graph.edge_count; ++e) {
        const size_t size =
            sizeof(double) * (size_t)(s->dim[s->row_node[e]] * s->dim[s->col_node[e]]);
        memcpy(tni_saddle_j(t, e), tni_saddle_j(s->saddle, e), size);
    }
    t->refinement_max = 20;
    return t;
}

static const tni_formulation forms[] = {{.form = TNI_FORM_KKT},
                                        {.form = TNI_FORM_SPD},
                                        {.form = TNI_FORM_SPLIT},
                                        {.form = TNI_FORM_SPLIT, .part_edges = 1},
                                        {.form = TNI_FORM_SPLIT, .part_edges = 3},
                                        {.form = TNI_FORM_KKT, .by_norm = true},
                                        {.form = TNI_FORM_SPD, .by_norm = true},
                                        {.form = TNI_FORM_SPLIT, .part_edges = 2, .by_norm = true}};
enum { FORMS = sizeof forms / sizeof *forms };

// u and J^T mu against the dense answer.
static void check_form(saddle_case* s, const tni_formulation* form, const double* rhs,
                       const double* dense, double tolerance)
{
    tni_saddle* t = in_form(s, form);
    CHECK_OK(tni_saddle_factor(t));
    const double* x = saddle_solve_in(s, t, rhs, true);
    double *      f = TNI_TAKE(&s->arena, double, s->plan->row_count),
           *g       = TNI_TAKE(&s->arena, double, s->plan->row_count);
    CHECK_LESS(saddle_difference(s, 1, x, dense), tolerance);
    tni_saddle_mul_jt(t, -1, x, f);
    tni_saddle_mul_jt(t, -1, dense, g);
    CHECK_LESS(saddle_difference(s, 1, f, g), tolerance);
    CHECK_LESS(t->report.residual, 10 * tolerance);
    CHECK_INT(t->report.replaced_count, 0);
    tni_saddle_release(t);
}

static void check_forms(saddle_case* s, bool redundant, double tolerance)
{
    const double* rhs   = redundant ? saddle_consistent_rhs(s) : saddle_random_rhs(s);
    const double* dense = saddle_dense_answer(s, rhs, redundant);
    for (int k = 0; k < FORMS; ++k) check_form(s, &forms[k], rhs, dense, tolerance);
    saddle_free(s);
}

// --- the answer ---------------------------------------------------------------------------------

TEST(all_forms_agree_with_dense_on_trees)
{
    for (uint64_t seed = 1; seed <= 20; ++seed) check_forms(saddle_tree(seed, 1), false, 1e-10);
}

TEST(all_forms_agree_with_dense_on_loops_with_redundant_rows)
{
    for (uint64_t seed = 1; seed <= 4; ++seed) {
        check_forms(saddle_grid(seed, 2 + (int)seed % 3, 1), true, 1e-10);
        check_forms(saddle_scissor(seed, 2 + (int)seed, 1), true, 1e-10);
        check_forms(saddle_ring(seed, 5, 1), true, 1e-10);
    }
}

TEST(all_forms_agree_with_dense_on_hubs)
{
    for (uint64_t seed = 1; seed <= 3; ++seed) {
        check_forms(spider(seed, 14, 2, seed % 2 == 0, 1), true, 1e-10);
        check_forms(walker(seed, 9, 1), true, 1e-10);
    }
}

TEST(all_forms_agree_with_dense_where_b_nodes_have_many_a_nodes)
{
    for (uint64_t seed = 1; seed <= 20; ++seed) check_forms(coupled(seed), false, 1e-10);
}

TEST(all_forms_agree_with_dense_on_soft_rows)
{
    for (uint64_t seed = 1; seed <= 4; ++seed) {
        saddle_case* cases[] = {saddle_grid(seed, 3, 10), spider(seed, 12, 1, true, 10),
                                saddle_tree(seed, 10)};
        for (int k = 0; k < 3; ++k) {
            soften(cases[k]);
            check_forms(cases[k], false, 1e-10);
        }
    }
}

TEST(all_forms_agree_with_dense_with_weights_a_million_apart)
{
    for (uint64_t seed = 1; seed <= 4; ++seed) {
        // Dense elimination itself loses 1e-16 times the range of weights, and more on loops.
        check_forms(saddle_tree(seed, 1e6), true, 1e-9);
        check_forms(spider(seed, 16, 1, true, 1e6), true, 1e-8);
        check_forms(walker(seed, 8, 1e6), true, 1e-8);
        check_forms(saddle_grid(seed, 3, 1e6), true, 1e-8);
    }
}

TEST(however_many_parts_the_answer_is_the_same)
{
    for (int k = 0; k < 2; ++k) {
        saddle_case*  s   = k == 0 ? spider(3, 30, 1, true, 1) : walker(4, 15, 1);
        const double *rhs = saddle_consistent_rhs(s), *dense = saddle_dense_answer(s, rhs, true);
        for (int size = 1; size <= 8; ++size) {
            const tni_formulation form = {.form = TNI_FORM_SPLIT, .part_edges = size};
            // The hub of the spider; frame and crank of the walker, with a tie between them.
            const int welds = k == 0 ? (29 + size) / size - 1 : 2 * ((15 + size) / size - 1);
            CHECK_INT(in_form(s, &form)->schur->parts.weld_count, welds);
            check_form(s, &form, rhs, dense, 1e-10);
        }
        saddle_free(s);
    }
}

TEST(without_refinement_the_forms_differ_by_the_regularisation_only)
{
    saddle_case*  s   = walker(5, 10, 1);
    const double *rhs = saddle_consistent_rhs(s), *dense = saddle_dense_answer(s, rhs, true);
    for (int k = 0; k < FORMS; ++k) {
        tni_saddle* t = in_form(s, &forms[k]);
        CHECK_OK(tni_saddle_factor(t));
        CHECK_LESS(saddle_difference(s, 1, saddle_solve_in(s, t, rhs, false), dense), 1e-4);
        CHECK_INT(t->report.refinement_count, 0);
    }
    saddle_free(s);
}

TEST(responses_are_those_of_solves)
{
    saddle_case* cases[] = {walker(6, 9, 1), spider(7, 16, 2, false, 1), coupled(8)};
    for (int k = 0; k < 3 * FORMS; ++k) {
        saddle_case* s = cases[k / FORMS];
        tni_saddle*  t = in_form(s, &forms[k % FORMS]);
        const int rows = s->plan->row_count, given[] = {0, 1}, wanted[] = {1, s->graph.count - 1};
        double *x = TNI_TAKE(&s->arena, double, 2 * rows), *rhs = TNI_TAKE(&s->arena, double, rows),
               *work = TNI_TAKE(&s->arena, double, 2 * rows);
        CHECK_OK(tni_saddle_factor(t));
        for (int v = 0; v < 2; ++v) {
            for (int i = s->plan->row_start[v]; i < s->plan->row_start[v + 1]; ++i)
                x[2 * i + 1] = rhs[i] = test_random_between(&s->random, -1, 1);
        }
        const double* y = saddle_solve_in(s, t, rhs, true);
        tni_saddle_respond(t, given, 2, wanted, 2, 2, x, true, work);
        for (int v = 0; v < 2; ++v) {
            const int w = wanted[v];
            for (int i = s->plan->row_start[w]; i < s->plan->row_start[w + 1]; ++i) {
                CHECK_NEAR(x[2 * i + 1], y[i], 1e-9);
                CHECK(x[2 * i] == 0);
            }
        }
        tni_saddle_respond(t, given, 0, wanted, 2, 2, x, true, work); // nothing given
        CHECK(x[2 * s->plan->row_start[1] + 1] == 0);
    }
    for (int k = 0; k < 3; ++k) saddle_free(cases[k]);
}

// Along paths, many right-hand sides at once: u on A nodes has the same bits.
TEST(responses_without_refinement_are_those_of_solves_bit_by_bit)
{
    enum { COLUMNS = 3 };
    saddle_case* cases[] = {walker(6, 9, 1), spider(7, 16, 2, false, 1), coupled(8)};
    for (int k = 0; k < 3; ++k) {
        saddle_case* s    = cases[k];
        tni_saddle*  t    = in_form(s, &forms[0]);
        const int    rows = s->plan->row_count, given[] = {0, 1};
        int          wanted[64], count                  = 0;
        double *     x = TNI_TAKE(&s->arena, double, COLUMNS* rows),
               *work   = TNI_TAKE(&s->arena, double, 2 * rows), *rhs[COLUMNS];
        CHECK_OK(tni_saddle_factor(t));
        CHECK(t->schur == NULL);
        for (int v = 0; v < s->graph.count && count < 64; ++v) // every other one, the first twice
            if (s->plan->sign[v] > 0 && v % 2 == 0) wanted[count++] = v;
        if (count < 64) wanted[count++] = wanted[0];
        for (int c = 0; c < COLUMNS; ++c) {
            rhs[c] = TNI_TAKE(&s->arena, double, rows);
            for (int v = 0; v < 2; ++v)
                for (int i = s->plan->row_start[v]; i < s->plan->row_start[v + 1]; ++i)
                    x[COLUMNS * i + c] = rhs[c][i] = test_random_between(&s->random, -1, 1);
        }
        tni_saddle_respond(t, given, 2, wanted, count, COLUMNS, x, false, work);
        for (int c = 0; c < COLUMNS; ++c) {
            const double* y = saddle_solve_in(s, t, rhs[c], false);
            for (int w = 0; w < count; ++w)
                for (int i = s->plan->row_start[wanted[w]]; i < s->plan->row_start[wanted[w] + 1];
                     ++i)
                    CHECK(x[COLUMNS * i + c] == y[i]);
        }
    }
    for (int k = 0; k < 3; ++k) saddle_free(cases[k]);
}

TEST(nodes_without_edges_and_rows_without_entries_are_harmless)
{
    saddle_case* s = saddle_make(3);
    (void)saddle_add_node(s, 1, 6);
    const int a = saddle_add_node(s, 1, 6), b = saddle_add_node(s, -1, 3),
              tie = saddle_add_node(s, -1, 4);
    saddle_add_random_edge(s, tie, a);
    for (int i = 0; i < 6; ++i) s->block[0][12 + i] = 0;
    saddle_finish(s);
    double* rhs = saddle_random_rhs(s);
    for (int i = 0; i < 3; ++i) rhs[s->plan->row_start[b] + i] = 0; // 0 = r
    rhs[s->plan->row_start[tie] + 2] = 0;
    double* first                    = NULL;
    for (int k = 0; k < FORMS; ++k) {
        tni_saddle* t = in_form(s, &forms[k]);
        CHECK_OK(tni_saddle_factor(t));
        double* x = saddle_solve_in(s, t, rhs, true);
        if (first == NULL) first = x;
        CHECK_LESS(saddle_difference(s, 1, x, first), 1e-12);
        for (int i = 0; i < 3; ++i) CHECK(x[s->plan->row_start[b] + i] == 0);
    }
    saddle_free(s);
}

TEST(a_contradiction_shows_in_the_residual_of_every_form)
{
    int          first, second;
    saddle_case* s   = saddle_twins(&first, &second);
    double*      rhs = saddle_consistent_rhs(s);
    rhs[s->plan->row_start[second] + 1] += 0.25;
    for (int k = 0; k < FORMS; ++k) {
        tni_saddle* t = in_form(s, &forms[k]);
        CHECK_OK(tni_saddle_factor(t));
        (void)saddle_solve_in(s, t, rhs, true);
        CHECK_NEAR(t->report.residual, 0.125, 1e-15 / t->regularisation); // as mu is that large
    }
    saddle_free(s);
}

TEST(what_is_not_finite_or_not_positive_is_refused_by_row_in_every_form)
{
    for (int k = 0; k < 5 * FORMS; ++k) {
        saddle_case* s    = walker(3, 6, 1);
        tni_saddle*  t    = in_form(s, &forms[k % FORMS]);
        double*      rhs  = saddle_random_rhs(s);
        const int    kind = k / FORMS;
        if (kind == 0) tni_saddle_a(t, 0)[35] = -1;
        if (kind == 1) tni_saddle_a(t, 0)[35] = (double)NAN;
        if (kind == 2) tni_saddle_j(t, 3)[0] = (double)NAN;
        if (kind == 3) tni_saddle_j(t, 3)[0] = (double)INFINITY;
        if (kind == 4) rhs[2] = (double)NAN;
        CHECK_INT(tni_saddle_factor(t), kind < 4 ? TN_ERR_SINGULAR : TN_OK);
        if (kind == 4)
            CHECK_INT(
                tni_saddle_solve(t, rhs, TNI_TAKE(&s->arena, double, s->plan->row_count), true),
                TN_ERR_SINGULAR);
        CHECK(t->report.bad_row >= 0);
        if (kind < 2) CHECK_INT(t->report.bad_row, 5);
        saddle_free(s);
    }
}

TEST(a_pivot_lost_to_rounding_is_regularised_more)
{
    for (int k = 1; k <= 3; ++k) { // SPD, split
        saddle_case* s    = saddle_grid(2, 5, 1);
        tni_saddle*  t    = in_form(s, &forms[k]);
        t->regularisation = 1e-20; // far below rounding
        CHECK_OK(tni_saddle_factor(t));
        CHECK(t->report.replaced_count > 0);
        const double *rhs = saddle_consistent_rhs(s), *dense = saddle_dense_answer(s, rhs, true);
        CHECK_LESS(saddle_difference(s, 1, saddle_solve_in(s, t, rhs, true), dense), 1e-8);
        saddle_free(s);
    }
}

// --- regularisation by norm ---------------------------------------------------------------------

TEST(by_norm_every_row_has_the_same_alpha_near_the_norm)
{
    for (uint64_t seed = 1; seed <= 6; ++seed) {
        saddle_case* s = saddle_grid(seed, 3, 10);
        int          rows, cols;
        double*      J = saddle_dense_j(s, &rows, &cols); // S = J A^-1 J^T by columns
        double *     u = TNI_TAKE(&s->arena, double, s->plan->row_count), norm = 0;
        const int*   at = saddle_dense_rows(s, &cols);
        CHECK_OK(tni_saddle_factor(s->saddle));
        for (int i = 0; i < rows; ++i) {
            for (int r = 0; r < s->plan->row_count; ++r)
                u[r] = at[r] < cols ? J[cols * i + at[r]] : 0;
            tni_saddle_solve_a(s->saddle, -1, u, u);
            tni_saddle_mul_j(s->saddle, -1, u, u);
            double sum = 0;
            for (int r = 0; r < s->plan->row_count; ++r) sum += at[r] < cols ? 0 : fabs(u[r]);
            norm = fmax(norm, sum);
        }
        tni_saddle* t = in_form(s, &forms[5 + seed % 3]);
        CHECK_OK(tni_saddle_factor(t));
        const double alpha = t->alpha[s->plan->row_start[s->graph.count - 1]] / t->regularisation;
        for (int r = 0; r < s->plan->row_count; ++r)
            CHECK(at[r] < cols || t->alpha[r] == alpha * t->regularisation);
        CHECK(alpha >= norm * (1 - 1e-12)); // an upper bound, not far above
        CHECK_LESS(alpha, 2 * norm);
        saddle_free(s);
    }
}

// --- cost ---------------------------------------------------------------------------------------

static double flops_of(const saddle_case* s, tni_form form, int part_edges)
{
    const tni_formulation f = {.form = form, .part_edges = part_edges};
    return tni_form_flops(&s->host, s->plan, &f);
}

TEST(a_hub_costs_its_cube_whole_and_its_number_of_limbs_split)
{
    double cost[3][3];
    for (int k = 0; k < 3; ++k) {
        saddle_case* s = spider(1, 80 << k, 1, true, 1);
        for (int form = 0; form < 3; ++form) cost[form][k] = flops_of(s, (tni_form)form, 0);
        saddle_free(s);
    }
    for (int k = 0; k < 2; ++k) {
        CHECK_NEAR(cost[TNI_FORM_KKT][k + 1] / cost[TNI_FORM_KKT][k], 2, 0.05);
        CHECK_NEAR(cost[TNI_FORM_SPD][k + 1] / cost[TNI_FORM_SPD][k], 8, 1);
        CHECK_NEAR(cost[TNI_FORM_SPLIT][k + 1] / cost[TNI_FORM_SPLIT][k], 2, 0.05);
    }
}

TEST(loops_through_two_hubs_stay_linear_when_split)
{
    double cost[3][2];
    for (int k = 0; k < 2; ++k) {
        saddle_case* s = walker(1, 40 << k, 1);
        for (int form = 0; form < 3; ++form) cost[form][k] = flops_of(s, (tni_form)form, 0);
        saddle_free(s);
    }
    CHECK(cost[TNI_FORM_SPD][1] / cost[TNI_FORM_SPD][0] > 6.5);
    CHECK_NEAR(cost[TNI_FORM_SPLIT][1] / cost[TNI_FORM_SPLIT][0], 2, 0.3);
}

TEST(chosen_parts_are_the_cheapest_tried_and_none_where_none_helps)
{
    saddle_case* s = walker(2, 30, 1);
    for (int size = 2; size <= 4; ++size)
        CHECK(flops_of(s, TNI_FORM_SPLIT, 0) <= flops_of(s, TNI_FORM_SPLIT, size));
    saddle_free(s);
    s                          = saddle_grid(2, 6, 1);
    const tni_formulation form = {.form = TNI_FORM_SPLIT};
    CHECK_INT(in_form(s, &form)->schur->parts.weld_count, 0);
    CHECK(tni_saddle_flops(in_form(s, &form)) == flops_of(s, TNI_FORM_SPLIT, 0));
    CHECK(tni_saddle_flops(s->saddle) == flops_of(s, TNI_FORM_KKT, 0));
    CHECK(flops_of(s, TNI_FORM_SPLIT, 0) == flops_of(s, TNI_FORM_SPD, 0));
    saddle_free(s);
}

TEST(the_cheapest_form_is_chosen_and_trees_stay_as_they_are)
{
    for (uint64_t seed = 1; seed <= 12; ++seed) {
        saddle_case* s =
            seed % 3 == 0 ? walker(seed, 4 + (int)seed, 1)
                          : (seed % 3 == 1 ? saddle_scissor : saddle_ring)(seed, 2 + (int)seed, 1);
        for (unsigned allowed = 1; allowed < 8; ++allowed) {
            const tni_form form = tni_form_choose(&s->host, s->plan, allowed);
            CHECK((allowed & 1U << form) != 0);
            for (int other = 0; other < 3; ++other) {
                if ((allowed & 1U << other) == 0) continue;
                CHECK(flops_of(s, form, 0) <= flops_of(s, (tni_form)other, 0));
            }
        }
        saddle_free(s);
    }
    saddle_case* s = spider(1, 30, 3, false, 1);
    CHECK_INT(tni_form_choose(&s->host, s->plan, 7), TNI_FORM_KKT);
    saddle_free(s);
}

// Scalar entries of the factor, one triangle, by elimination of the block graph as a full table.
static double count_factor(saddle_case* s, const tni_plan* plan, double* matrix)
{
    const int n   = plan->count;
    uint8_t*  tie = TNI_TAKE(&s->arena, uint8_t, n * n);
    double    sum = 0;
    *matrix       = 0;
    for (int e = 0; e < plan->edge_count; ++e) {
        const int p = plan->place[plan->row_node[e]], q = plan->place[plan->col_node[e]];
        tie[n * p + q] = tie[n * q + p] = 1;
        *matrix += plan->dim[plan->row_node[e]] * plan->dim[plan->col_node[e]];
    }
    for (int p = 0; p < n; ++p) {
        const int d = plan->dim[plan->order[p]];
        sum += d * (d + 1) / 2;
        *matrix += d * (d + 1) / 2;
        for (int q = p + 1; q < n; ++q) {
            if (!tie[n * p + q]) continue;
            sum += d * plan->dim[plan->order[q]];
            for (int r = q + 1; r < n; ++r)
                if (tie[n * p + r]) tie[n * q + r] = tie[n * r + q] = 1;
        }
    }
    return sum;
}

TEST(numbers_are_those_of_an_elimination_by_hand)
{
    for (int k = 0; k < 3; ++k) {
        saddle_case* s = walker(3, 12, 1);
        tni_saddle*  t = in_form(s, &forms[k]);
        double       matrix, factor, wanted;
        CHECK_OK(tni_saddle_numbers(t, &s->host, &matrix, &factor));
        const double by_hand = count_factor(s, k > 0 ? t->schur->plan : t->plan, &wanted);
        CHECK(matrix == wanted);
        CHECK(factor == by_hand);
        saddle_free(s);
    }
}

// --- limits -------------------------------------------------------------------------------------

// One A node with n of its own, hinged to it.
static tni_plan* star(tni_arena* arena, int n)
{
    int *dim = TNI_TAKE(arena, int, 2 * n + 1), *row = TNI_TAKE(arena, int, 2 * n),
        *col        = TNI_TAKE(arena, int, 2 * n);
    int8_t*  sign   = TNI_TAKE(arena, int8_t, 2 * n + 1);
    uint8_t* strong = TNI_TAKE(arena, uint8_t, 2 * n);
    for (int i = 0; i <= n; ++i) dim[i] = 6, sign[i] = 1;
    for (int i = 0; i < n; ++i) {
        dim[n + 1 + i] = 5, sign[n + 1 + i] = -1;
        row[2 * i] = row[2 * i + 1] = n + 1 + i;
        col[2 * i] = 0, col[2 * i + 1] = 1 + i;
        strong[2 * i] = strong[2 * i + 1] = 1;
    }
    const tni_graph graph = {2 * n + 1, dim, sign, 2 * n, row, col, strong, NULL};
    tni_plan*       plan;
    CHECK_OK(tni_plan_create(arena, &graph, &plan));
    return plan;
}

TEST(a_clique_of_thousands_is_refused_at_once_and_its_split_is_not)
{
    tn_host         host  = tn_default_host();
    tni_arena       arena = tni_arena_make(&host);
    const tni_plan* plan  = star(&arena, 10000);
    tni_saddle*     s;
    CHECK_INT(tni_saddle_create_as(&arena, plan, &forms[1], &s), TN_ERR_MEMORY);
    CHECK(s == NULL);
    CHECK(tni_form_flops(&host, plan, &forms[1]) == HUGE_VAL);
    CHECK_LESS(tni_form_flops(&host, plan, &forms[4]), 1e4 * 1e4);
    CHECK_INT(tni_form_choose(&host, plan, 6), TNI_FORM_SPLIT);
    tni_arena_free(&arena);
}

TEST(every_failed_allocation_is_reported)
{
    saddle_case* s = walker(3, 8, 1);
    for (int k = 0; k < FORMS; ++k) {
        failing_host  f    = failing_host_make();
        const tn_host host = failing_host_of(&f);
        for (int n = 1;; ++n) {
            failing_host_rewind(&f, n);
            tni_arena       arena = tni_arena_make(&host);
            tni_saddle*     t;
            const tn_result result = tni_saddle_create_as(&arena, s->plan, &forms[k], &t);
            // Choosing parts may give a lesser result if there is no memory to try one.
            CHECK(result == TN_ERR_MEMORY || result == TN_OK);
            CHECK((t != NULL) == (result == TN_OK));
            CHECK(f.refused == 0 || result == TN_ERR_MEMORY || forms[k].part_edges == 0);
            tni_arena_free(&arena);
            CHECK_INT(f.live_blocks, 0);
            if (f.refused == 0) break;
        }
    }
    saddle_free(s);
}

// --- CHOLMOD ------------------------------------------------------------------------------------

TEST(cholmod_agrees_where_it_is_built_in_and_is_refused_where_not)
{
    const tni_formulation kkt    = {.form = TNI_FORM_KKT, .backend = TNI_BACKEND_CHOLMOD},
                          some[] = {{.form = TNI_FORM_SPD, .backend = TNI_BACKEND_CHOLMOD},
                                    {.form = TNI_FORM_SPLIT, .backend = TNI_BACKEND_CHOLMOD}};
    for (uint64_t seed = 1; seed <= 4; ++seed) {
        saddle_case* s = seed < 3 ? walker(seed, 15, 1) : saddle_tree(seed, 1);
        tni_saddle*  t;
        CHECK_INT(tni_saddle_create_as(&s->arena, s->plan, &kkt, &t), TN_ERR_UNSUPPORTED);
        const tn_result result = tni_saddle_create_as(&s->arena, s->plan, &some[0], &t);
        CHECK(result == TN_OK || result == TN_ERR_UNSUPPORTED);
        tni_saddle_release(t);
        const double *rhs = saddle_consistent_rhs(s), *dense = saddle_dense_answer(s, rhs, true);
        for (int k = 0; result == TN_OK && k < 2; ++k) {
            check_form(s, &some[k], rhs, dense, 1e-10);
            double matrix, factor;
            t = in_form(s, &some[k]);
            CHECK_OK(tni_saddle_numbers(t, &s->host, &matrix, &factor));
            CHECK(factor >= matrix);
            tni_saddle_j(t, 0)[0] = (double)NAN;
            CHECK_INT(tni_saddle_factor(t), TN_ERR_SINGULAR);
            tni_saddle_release(t);
        }
        saddle_free(s);
    }
}
