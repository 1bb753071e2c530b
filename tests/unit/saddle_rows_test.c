// Which rows the products and solves of a saddle system touch, and in which order they sum: several
// components with interleaved nodes, or A nodes first, against scalar loops.
#include "support/saddle_answer.h"

enum { RINGS = 3 };

static int size_of(saddle_case* s, int sign)
{
    static const int a[] = {6, 6, 3, 12, 4};
    return sign > 0 ? a[test_random_int(&s->random, 0, 4)] : test_random_int(&s->random, 1, 2);
}

// Rings of A nodes with B nodes between them; one ring of 6 x 6 and less only. Interleaved: node
// after node of another ring and sign, so that row ranges are short. Else: as in models.
static saddle_case* rings(uint64_t seed, bool in_turns)
{
    enum { LONG = 5 };
    saddle_case* s = saddle_make(seed);
    int          a[RINGS][LONG], b[RINGS][LONG];
    saddle_add_node(s, -1, 0); // a node without rows
    for (int i = 0; i < LONG; ++i) {
        for (int k = 0; k < RINGS; ++k) {
            a[k][i] = saddle_add_node(s, 1, k == 0 ? 6 : size_of(s, 1));
            if (in_turns) b[k][i] = saddle_add_node(s, -1, k == 0 ? i + 1 : size_of(s, -1));
        }
    }
    for (int i = 0; i < LONG && !in_turns; ++i) {
        for (int k = 0; k < RINGS; ++k)
            b[k][i] = saddle_add_node(s, -1, k == 0 ? i + 2 : size_of(s, -1));
    }
    for (int i = 0; i < LONG; ++i) {
        for (int k = 0; k < RINGS; ++k) {
            saddle_add_random_edge(s, b[k][i], a[k][i]);
            saddle_add_random_edge(s, b[k][i], a[k][(i + 1) % LONG]);
        }
    }
    saddle_finish(s);
    return s;
}

static double* filled(saddle_case* s, double with)
{
    double* x = TNI_TAKE(&s->arena, double, s->plan->row_count);
    for (int i = 0; i < s->plan->row_count; ++i) x[i] = with;
    return x;
}

// Rows of one sign and component, -1: all, start from zero.
static double* zeroed(saddle_case* s, int component, int sign)
{
    double* x = filled(s, 7);
    for (int v = 0; v < s->graph.count; ++v) {
        if (s->sign[v] != sign || (component >= 0 && s->plan->component_of[v] != component))
            continue;
        for (int i = s->plan->row_start[v]; i < s->plan->row_start[v + 1]; ++i) x[i] = 0;
    }
    return x;
}

// J u and J^T mu, edges in the order of their places; each sum by columns, or by rows, ascending.
static void plain_products(saddle_case* s, int component, const double* x, double* j, double* jt)
{
    for (int k = 0; k < s->graph.edge_count; ++k) {
        const int e = s->plan->edge_list[k], r = s->row_node[e], c = s->col_node[e];
        const int row = s->plan->row_start[r], col = s->plan->row_start[c];
        if (component >= 0 && s->plan->component_of[r] != component) continue;
        for (int i = 0; i < s->dim[r]; ++i) {
            for (int l = 0; l < s->dim[c]; ++l) {
                const double p = s->block[e][s->dim[c] * i + l] * x[col + l];
                const double q = s->block[e][s->dim[c] * i + l] * x[row + i];
                j[row + i] += p;
                jt[col + l] += q;
            }
        }
    }
}

TEST(products_touch_their_rows_only_and_add_in_the_order_of_the_plan)
{
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        saddle_case* s    = rings(seed, seed % 2 == 0);
        const size_t size = sizeof(double) * (size_t)s->plan->row_count;
        CHECK_OK(tni_saddle_factor(s->saddle));
        for (int c = -1; c < s->plan->component_count; ++c) {
            const double* x = saddle_random_rhs(s);
            double *      j = filled(s, 7), *jt = filled(s, 7), *z = filled(s, 7);
            double *      wanted_j = zeroed(s, c, -1), *wanted_jt = zeroed(s, c, 1);
            plain_products(s, c, x, wanted_j, wanted_jt);
            tni_saddle_mul_j(s->saddle, c, x, j);
            tni_saddle_mul_jt(s->saddle, c, x, jt);
            tni_saddle_solve_a(s->saddle, c, x, z);
            CHECK(memcmp(j, wanted_j, size) == 0);
            CHECK(memcmp(jt, wanted_jt, size) == 0);
            const double* touched = zeroed(s, c, 1);
            for (int i = 0; i < s->plan->row_count; ++i) CHECK((z[i] == 7) == (touched[i] == 7));
        }
        saddle_free(s);
    }
}

// Rows of the rings are independent: fewer than columns, and random.
TEST(loops_in_turns_agree_with_dense)
{
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        saddle_case* s = rings(seed, seed % 2 == 0);
        CHECK_OK(tni_saddle_factor(s->saddle));
        CHECK_INT(s->saddle->report.loop_count, RINGS + 1); // and the node without rows
        const double *rhs = saddle_consistent_rhs(s), *x = saddle_solve(s, rhs, true);
        CHECK_LESS(saddle_difference(s, 1, x, saddle_dense_answer(s, rhs, true)), 1e-9);
        CHECK_LESS(s->saddle->report.residual, 1e-9);
        saddle_free(s);
    }
}

// Soft rows in one ring, hard ones in the others: E is added only there.
TEST(soft_rows_of_one_loop_in_turns_agree_with_dense)
{
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        saddle_case* s = rings(seed, seed % 2 == 0);
        for (int v = 0; v < s->graph.count; ++v) {
            if (s->sign[v] > 0 || s->plan->component_of[v] != (int)seed % RINGS) continue;
            double* E = tni_saddle_e(s->saddle, v);
            for (int i = 0; i < s->dim[v]; ++i)
                E[(s->dim[v] + 1) * i] = test_random_between(&s->random, 0.1, 1);
        }
        CHECK_OK(tni_saddle_factor(s->saddle));
        const double *rhs = saddle_consistent_rhs(s), *x = saddle_solve(s, rhs, true);
        CHECK_LESS(saddle_difference(s, 1, x, saddle_dense_answer(s, rhs, true)), 1e-9);
        saddle_free(s);
    }
}

// One step of conjugate gradients minimises along its direction: the remainder of B rows is
// orthogonal to it, in each component.
TEST(a_refinement_step_takes_sums_over_all_rows_of_its_component)
{
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        saddle_case*  s               = rings(seed, seed % 2 == 0);
        const double* rhs             = saddle_consistent_rhs(s);
        double        left[RINGS + 1] = {0}, before[RINGS + 1] = {0};
        s->saddle->regularisation = 1e-3;
        s->saddle->refinement_max = 1;
        CHECK_OK(tni_saddle_factor(s->saddle));
        const double *x = saddle_solve(s, rhs, false), *y = saddle_solve(s, rhs, true);
        double *      j = zeroed(s, -1, -1), *k = zeroed(s, -1, -1), *unused = filled(s, 0);
        plain_products(s, -1, x, j, unused);
        plain_products(s, -1, y, k, unused);
        for (int v = 0; v < s->graph.count; ++v) {
            const int c = s->plan->component_of[v];
            for (int i = s->plan->row_start[v]; s->sign[v] < 0 && i < s->plan->row_start[v + 1];
                 ++i) {
                before[c] += (j[i] - rhs[i]) * (y[i] - x[i]);
                left[c] += (k[i] - rhs[i]) * (y[i] - x[i]);
            }
        }
        for (int c = 0; c <= RINGS; ++c) // 1e-16, some of it times what |u| is over the residual
            CHECK_LESS(fabs(left[c]), 1e-9 * fabs(before[c]) + 1e-300);
        saddle_free(s);
    }
}

// The row of the largest residual is reported, in any component.
TEST(the_largest_residual_is_found_in_any_component)
{
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        saddle_case*  s           = rings(seed, seed % 2 == 0);
        const double* rhs         = saddle_random_rhs(s);
        s->saddle->regularisation = 1e-3; // so that an unrefined solution has a residual
        CHECK_OK(tni_saddle_factor(s->saddle));
        const double* x = saddle_solve(s, rhs, false);
        double *      j = zeroed(s, -1, -1), *unused = filled(s, 0), most = -1;
        int           row = -1;
        plain_products(s, -1, x, j, unused);
        for (int v = 0; v < s->graph.count; ++v) {
            for (int i = s->plan->row_start[v]; i < s->plan->row_start[v + 1]; ++i) {
                if (s->sign[v] > 0 || !(fabs(j[i] - rhs[i]) > most)) continue;
                most = fabs(j[i] - rhs[i]);
                row  = i;
            }
        }
        CHECK(s->saddle->report.residual == most);
        CHECK_INT(s->saddle->report.residual_row, row);
        s->saddle->later = true; // the same when deferred, once
        (void)saddle_solve(s, rhs, false);
        CHECK(s->saddle->report.residual == 0);
        CHECK(tni_saddle_judge(s->saddle)->residual == most);
        CHECK_INT(tni_saddle_judge(s->saddle)->residual_row, row);
        CHECK_OK(tni_saddle_factor(s->saddle)); // discards the deferred one
        CHECK(tni_saddle_judge(s->saddle)->residual == 0);
        saddle_free(s);
    }
}
