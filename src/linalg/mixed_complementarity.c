// mixed_complementarity: equal rows are eliminated, the rest is solved by lcp.c or friction_cone.c.
//
// E the equal rows, C the others. From a_E = 0, with W_EE factored by full_pivoting.c:
//
//     f_E = -W_EE^-1 (b_E + W_EC f_C)
//     a_C = S f_C + c,     X = W_EE^-1 W_EC,   S = W_CC - W_CE X,   c = b_C - W_CE W_EE^-1 b_E
//
// which is a problem of complementarity.h for C alone. Where W_EE is singular, W_EE^-1 is the basic
// solution: dependent rows get f = 0; W being semidefinite, W_EC is consistent with the dependency.
// If b_E is not, the equal rows contradict each other, and their a remains nonzero.
//
// A row of C that is determined by E (S_ii is rounding relative to W_ii) would look like a very
// light one. Its row and column of S are set to zero: it cannot move.
//
// Iterative refinement: with the residual a of the current f, solve the same problem for the
// correction. For the new f_C, c is a_C - S f_C and b_E is a_E; the second pass starts from the
// active set of the first. Repeated while the residual is above REFINED times its scale, at most
// PASSES times.
#include "linalg/mixed_complementarity.h"

#include "linalg/friction_cone.h"
#include "linalg/full_pivoting.h"
#include "linalg/lcp.h"

#include <math.h>

static const double REFINED = 1e-13;
enum { PASSES = 3 };

struct tni_mixed {
    int               capacity;
    tni_lcp*          lcp;
    tni_cone*         cone;
    tni_full_pivoting factor;        // of W_EE
    int *             equal, *other; // the rows of E and C
    int               equal_count, other_count;
    uint8_t*          dependent; // by row of the problem
    double *          X, *S;     // X by columns
    double *          e, *c, *f, *a, *lower, *upper, *mu, *best;
    uint8_t*          condition;
};

tn_result tni_mixed_create(tni_arena* arena, int capacity, tni_mixed** mixed)
{
    const int  n = capacity;
    tni_mixed* m = TNI_TAKE(arena, tni_mixed, 1);
    if (m == NULL) return TN_ERR_MEMORY;
    *m     = (tni_mixed){.capacity  = n,
                         .equal     = TNI_TAKE(arena, int, n),
                         .other     = TNI_TAKE(arena, int, n),
                         .dependent = TNI_TAKE(arena, uint8_t, n),
                         .X         = TNI_TAKE(arena, double, n* n / 4 + 1), // |E| |C|
                         .S         = TNI_TAKE(arena, double, n* n),
                         .e         = TNI_TAKE(arena, double, n),
                         .c         = TNI_TAKE(arena, double, n),
                         .f         = TNI_TAKE(arena, double, n),
                         .a         = TNI_TAKE(arena, double, n),
                         .lower     = TNI_TAKE(arena, double, n),
                         .upper     = TNI_TAKE(arena, double, n),
                         .mu        = TNI_TAKE(arena, double, n),
                         .best      = TNI_TAKE(arena, double, n),
                         .condition = TNI_TAKE(arena, uint8_t, n)};
    *mixed = m;
    TRY(tni_full_pivoting_create(arena, n, &m->factor));
    TRY(tni_lcp_create(arena, n, &m->lcp));
    return tni_cone_create(arena, n, &m->cone);
}

bool tni_mixed_dependent(const tni_mixed* mixed, int i)
{
    return mixed->dependent[i] != 0;
}

static double at(const tni_complementarity* p, int i, int j)
{
    return p->W[p->n * i + j];
}

// A box row without finite bounds is an equal row too.
static bool is_equal(const tni_complementarity* p, int i)
{
    if (p->condition[i] == TNI_EQUAL) return true;
    return p->condition[i] == TNI_BOX && p->lower[i] == -HUGE_VAL && p->upper[i] == HUGE_VAL;
}

static bool has_cones(const tni_complementarity* p)
{
    for (int i = 0; i < p->n; ++i) {
        if (p->condition[i] >= TNI_TANGENT) return true; // or spin, or roll
    }
    return false;
}

// Solves a problem without equal rows.
static bool solve_unequal(tni_mixed* m, const tni_complementarity* p, int* count)
{
    *count = 0;
    if (p->n == 0) return true;
    return has_cones(p) ? tni_cone_solve(m->cone, p, count) : tni_lcp_solve(m->lcp, p, count);
}

static void split(tni_mixed* m, const tni_complementarity* p)
{
    m->equal_count = m->other_count = 0;
    for (int i = 0; i < p->n; ++i) {
        m->dependent[i] = 0;
        if (is_equal(p, i)) m->equal[m->equal_count++] = i;
        else m->other[m->other_count++] = i;
    }
}

static void factor_equal(tni_mixed* m, const tni_complementarity* p)
{
    const int n = m->equal_count;
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) m->factor.W[n * i + j] = at(p, m->equal[i], m->equal[j]);
    }
    for (int i = 0; p->scale != NULL && i < n; ++i) m->e[i] = p->scale[m->equal[i]];
    tni_full_pivoting_factor(&m->factor, n, p->symmetric, p->scale != NULL ? m->e : NULL);
    for (int i = 0; i < n; ++i) m->dependent[m->equal[i]] = m->factor.dependent[i];
}

// Zeroes rows and columns of S that are rounding relative to those of W.
static void drop_rounding(tni_mixed* m, const tni_complementarity* p)
{
    const int nc = m->other_count;
    for (int i = 0; i < nc; ++i) {
        double row = 0, col = 0, row_left = 0, col_left = 0;
        for (int j = 0; j < p->n; ++j) {
            row = fmax(row, fabs(at(p, m->other[i], j)));
            col = fmax(col, fabs(at(p, j, m->other[i])));
        }
        for (int j = 0; j < nc; ++j) {
            row_left = fmax(row_left, fabs(m->S[nc * i + j]));
            col_left = fmax(col_left, fabs(m->S[nc * j + i]));
        }
        if (p->symmetric) { // semidefinite: the diagonal suffices
            row = col = fabs(at(p, m->other[i], m->other[i]));
            row_left = col_left = m->S[(nc + 1) * i];
        }
        for (int j = 0; j < nc; ++j) {
            if (!(row_left > TNI_FULL_PIVOTING_DEPENDENT * row)) m->S[nc * i + j] = 0;
            if (!(col_left > TNI_FULL_PIVOTING_DEPENDENT * col)) m->S[nc * j + i] = 0;
        }
    }
}

// X and S.
static void reduce(tni_mixed* m, const tni_complementarity* p)
{
    const int ne = m->equal_count, nc = m->other_count;
    for (int j = 0; j < nc; ++j) {
        double* X = m->X + ne * j;
        for (int i = 0; i < ne; ++i) X[i] = at(p, m->equal[i], m->other[j]);
        tni_full_pivoting_solve(&m->factor, X);
        for (int i = 0; i < nc; ++i) {
            double sum = at(p, m->other[i], m->other[j]);
            for (int k = 0; k < ne; ++k) sum -= at(p, m->other[i], m->equal[k]) * X[k];
            m->S[nc * i + j] = sum;
        }
    }
    drop_rounding(m, p);
}

// The problem for C, except c.
static tni_complementarity gather(tni_mixed* m, const tni_complementarity* p)
{
    for (int i = 0; i < m->other_count; ++i) {
        const int from  = m->other[i];
        m->condition[i] = p->condition[from];
        m->f[i]         = p->f[from];
        if (p->lower != NULL) m->lower[i] = p->lower[from];
        if (p->upper != NULL) m->upper[i] = p->upper[from];
        if (p->mu != NULL) m->mu[i] = p->mu[from];
    }
    return (tni_complementarity){.n         = m->other_count,
                                 .symmetric = p->symmetric,
                                 .W         = m->S,
                                 .b         = m->c,
                                 .condition = m->condition,
                                 .lower     = m->lower,
                                 .upper     = m->upper,
                                 .mu        = m->mu,
                                 .f         = m->f,
                                 .a         = m->a};
}

// Element i of c; zero if it is rounding and the row cannot move.
static double reduced_b(const tni_mixed* m, const tni_complementarity* p, int i)
{
    const int     nc = m->other_count;
    const double *W = p->W + p->n * m->other[i], *S = m->S + nc * i;
    double        sum = p->a[m->other[i]], size = fabs(p->b[m->other[i]]) + fabs(sum);
    for (int k = 0; k < m->equal_count; ++k) {
        const double term = W[m->equal[k]] * m->e[k];
        sum += term;
        size += fabs(term) + fabs(W[m->equal[k]] * p->f[m->equal[k]]);
    }
    for (int j = 0; j < nc; ++j) sum -= S[j] * p->f[m->other[j]];
    return S[i] == 0 && fabs(sum) <= 1e-13 * size ? 0 : sum;
}

// Improves p->f, whose residual is in p->a. m->f: guess for f_C. False: no f_C was found, repeating
// is useless.
static bool correct(tni_mixed* m, const tni_complementarity* p, const tni_complementarity* part,
                    int* count)
{
    const int ne = m->equal_count, nc = m->other_count;
    int       spent = 0;
    for (int i = 0; i < ne; ++i) m->e[i] = -p->a[m->equal[i]];
    tni_full_pivoting_solve(&m->factor, m->e);
    for (int i = 0; i < nc; ++i) m->c[i] = reduced_b(m, p, i);
    const bool solved = solve_unequal(m, part, &spent);
    *count += spent;
    for (int j = 0; j < nc; ++j) {
        const double df = m->f[j] - p->f[m->other[j]];
        for (int i = 0; i < ne; ++i) m->e[i] -= m->X[ne * j + i] * df;
        p->f[m->other[j]] = m->f[j];
    }
    for (int i = 0; i < ne; ++i) p->f[m->equal[i]] += m->e[i];
    return solved;
}

static double largest(int n, const double* x)
{
    double size = 0;
    for (int i = 0; i < n; ++i) size = fmax(size, fabs(x[i]));
    return size;
}

static bool solve_with_equal(tni_mixed* m, const tni_complementarity* p, tni_mixed_report* report)
{
    double scale = 0;
    factor_equal(m, p);
    reduce(m, p);
    const tni_complementarity part = gather(m, p);
    report->dependent_count        = m->equal_count - m->factor.rank;
    report->residual               = HUGE_VAL;
    for (int i = 0; i < p->n; ++i) m->best[i] = p->f[i] = 0;
    for (int pass = 0; pass < PASSES; ++pass) {
        int row;
        tni_complementarity_apply(p);
        const bool solved = correct(m, p, &part, &report->pivot_count);
        tni_complementarity_apply(p);
        const double residual = tni_complementarity_residual(p, &row);
        if (!(residual < report->residual)) break;
        report->residual = residual;
        memcpy(m->best, p->f, sizeof *p->f * (size_t)p->n);
        scale = fmax(tni_complementarity_scale(p), largest(m->other_count, m->c));
        if (residual <= REFINED * scale || !solved) break;
    }
    memcpy(p->f, m->best, sizeof *p->f * (size_t)p->n);
    tni_complementarity_apply(p);
    report->residual = tni_complementarity_residual(p, &report->residual_row);
    return report->residual <= TNI_COMPLEMENTARITY_SOLVED * scale;
}

bool tni_mixed_solve(tni_mixed* m, const tni_complementarity* p, tni_mixed_report* report)
{
    TN_ASSERT(p->n <= m->capacity);
    *report = (tni_mixed_report){.residual_row = -1};
    split(m, p);
    if (m->equal_count > 0) return solve_with_equal(m, p, report);
    const bool solved = solve_unequal(m, p, &report->pivot_count);
    report->residual  = tni_complementarity_residual(p, &report->residual_row);
    return solved;
}
