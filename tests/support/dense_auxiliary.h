// The system of a mechanism, whole and dense, with all its limits, and its exact answer.
//
//     M a = F + K^T lambda + L^T f,   J a = -gamma,
//     L a + gamma_L >= 0,  f >= 0,  complementary, for limits that are reached and do not open
//
// Equations are solved by elimination with full pivoting: it finds the rank, rows that follow from
// others are left out, and rows that contradict others show. Residuals are refined in long double.
// The limits that push are found by trying all subsets of them. K is J but for constraints that
// push otherwise. Multipliers are not unique where rows depend on each other: accelerations and
// forces are.
#ifndef DENSE_AUXILIARY_H
#define DENSE_AUXILIARY_H

#include "force/force.h"
#include "step/stepper.h"
#include "support/random_scene.h"

enum { DENSE_STOPS_MAX = 8 }; ///< that are reached

static inline double* dense_numbers(int count)
{
    return calloc((size_t)count + 1, sizeof(double));
}

static inline double dense_largest(const double* x, int count)
{
    double size = 0;
    for (int i = 0; i < count; ++i) size = x[i] == x[i] ? fmax(size, fabs(x[i])) : HUGE_VAL;
    return size;
}

static inline double dense_distance(const double* a, const double* b, int count)
{
    double size = 0;
    for (int i = 0; i < count; ++i) {
        const double d = fabs(a[i] - b[i]);
        size           = d == d ? fmax(size, d) : HUGE_VAL;
    }
    return size;
}

static inline double dense_dot(const double* a, const double* b, int count)
{
    double sum = 0;
    for (int i = 0; i < count; ++i) sum += a[i] * b[i];
    return sum;
}

// ---- Elimination with full pivoting -------------------------------------------------------------

typedef struct dense_lu {
    int     n, rank;
    double *A, *lu;             ///< n x n; A is kept
    int *   row, *column;       ///< what stands at each place of lu
    double  first, last, after; ///< largest and smallest pivot, and what was left as zero
} dense_lu;

static inline dense_lu dense_lu_make(int n)
{
    dense_lu d = {.n = n, .A = dense_numbers(n * n), .lu = dense_numbers(n * n)};
    d.row      = calloc((size_t)n + 1, sizeof(int));
    d.column   = calloc((size_t)n + 1, sizeof(int));
    return d;
}

static inline void dense_lu_free(dense_lu* d)
{
    free(d->A), free(d->lu), free(d->row), free(d->column);
}

static inline void dense_swap(double* a, double* b, int count, int stride)
{
    for (int i = 0; i < count; ++i) {
        const double old = a[i * stride];
        a[i * stride]    = b[i * stride];
        b[i * stride]    = old;
    }
}

static inline void dense_swap_int(int* a, int* b)
{
    const int old = *a;
    *a            = *b;
    *b            = old;
}

// Brings the largest entry from (k, k) on to (k, k); returns its size.
static inline double dense_pivot(dense_lu* d, int k)
{
    const int n = d->n;
    int       r = k, c = k;
    double    most = 0;
    for (int i = k; i < n; ++i)
        for (int j = k; j < n; ++j) {
            const double size = fabs(d->lu[i * n + j]);
            if (size > most) most = size, r = i, c = j;
        }
    dense_swap(d->lu + k * n, d->lu + r * n, n, 1);
    dense_swap(d->lu + k, d->lu + c, n, n);
    dense_swap_int(&d->row[k], &d->row[r]);
    dense_swap_int(&d->column[k], &d->column[c]);
    return most;
}

/// Pivots below `zero` times the first one count as none.
static inline void dense_lu_factor(dense_lu* d, double zero)
{
    const int n = d->n;
    memcpy(d->lu, d->A, sizeof(double) * (size_t)(n * n));
    d->rank  = n;
    d->first = d->last = d->after = 0;
    for (int i = 0; i < n; ++i) d->row[i] = d->column[i] = i;
    for (int k = 0; k < n; ++k) {
        const double pivot = dense_pivot(d, k);
        if (k == 0) d->first = pivot;
        if (!(pivot > zero * d->first)) {
            d->rank  = k;
            d->after = pivot;
            return;
        }
        d->last = pivot;
        for (int i = k + 1; i < n; ++i) {
            double *to = d->lu + i * n, *from = d->lu + k * n;
            if (to[k] == 0) continue;
            const double l = to[k] /= from[k];
            for (int j = k + 1; j < n; ++j) to[j] -= l * from[j];
        }
    }
}

static inline void dense_lu_back(const dense_lu* d, const double* rhs, double* x)
{
    const int n = d->n;
    double*   y = dense_numbers(n);
    for (int i = 0; i < d->rank; ++i) {
        y[i] = rhs[d->row[i]];
        for (int k = 0; k < i; ++k) y[i] -= d->lu[i * n + k] * y[k];
    }
    for (int i = d->rank; i-- > 0;) {
        for (int k = i + 1; k < d->rank; ++k) y[i] -= d->lu[i * n + k] * y[k];
        y[i] /= d->lu[i * n + i];
    }
    for (int i = 0; i < n; ++i) x[d->column[i]] = i < d->rank ? y[i] : 0;
    free(y);
}

/// x with A x = rhs; unknowns beyond the rank are zero. Returns the largest residual.
static inline double dense_lu_solve(const dense_lu* d, const double* rhs, double* x)
{
    const int n    = d->n;
    double *  left = dense_numbers(n), *fix = dense_numbers(n), worst = 0;
    for (int i = 0; i < n; ++i) x[i] = 0;
    for (int round = 0; round < 4; ++round) {
        for (int i = 0; i < n; ++i) {
            long double sum = (long double)rhs[i];
            for (int k = 0; k < n; ++k) {
                if (d->A[i * n + k] != 0) sum -= (long double)d->A[i * n + k] * (long double)x[k];
            }
            left[i] = (double)sum;
        }
        worst = dense_largest(left, n);
        if (round == 3) break;
        dense_lu_back(d, left, fix);
        for (int i = 0; i < n; ++i) x[i] += fix[i];
    }
    free(left), free(fix);
    return worst;
}

// ---- The system ---------------------------------------------------------------------------------

typedef struct dense_system {
    int     u, rows, limits;
    double *M, *J, *K, *L;           ///< u x u, rows x u, rows x u, limits x u
    double *F, *C, *rate, *gamma;    ///< of the rows
    double *gap, *closing, *gamma_L; ///< of the limits: C, its rate, L' u
    // The answer.
    double *a, *force; ///< force: all that constraints and limits do, M a - F
    double* push;      ///< by limit
    double  size;      ///< the largest acceleration, with and without constraints; at least 1
    double  condition;
    double  residual; ///< of the equations
    double  first, last, after;
    int     dependent; ///< rows that follow from others
    bool    solved;    ///< the limits have an answer
} dense_system;

static inline void dense_free(dense_system* d)
{
    double* all[] = {d->M,     d->J,   d->K,       d->L,       d->F, d->C,     d->rate,
                     d->gamma, d->gap, d->closing, d->gamma_L, d->a, d->force, d->push};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) free(all[i]);
}

static inline void dense_put_masses(dense_system* d, const tn_model* model, const tni_view* views)
{
    double M[64 * 64];
    for (int i = 1; i < model->body_count; ++i) {
        const tni_body* body = &model->bodies[i];
        if (body->dim == 0) continue;
        tni_mass_block(body, &views[i], M);
        for (int j = 0; j < body->dim; ++j)
            memcpy(d->M + (body->u_start + j) * d->u + body->u_start, M + j * body->dim,
                   sizeof(double) * (size_t)body->dim);
    }
}

// What a constraint's rows say of one body goes to its columns.
static inline void dense_put_block(dense_system* d, const tni_constraint* c, const tni_body* body,
                                   const double* J, const double* K)
{
    for (int i = 0; i < c->row_count * body->dim; ++i) {
        const int row = c->row_start + i / body->dim, column = body->u_start + i % body->dim;
        d->J[row * d->u + column] = J[i];
        d->K[row * d->u + column] = K[i];
    }
}

static inline void dense_put_rows(dense_system* d, const tn_model* model, const tni_view* views,
                                  const tn_state* s)
{
    enum { BLOCK = 12 * 64, EDGES = TNI_CONSTRAINT_BODIES_MAX };
    double *blocks = dense_numbers(2 * EDGES * BLOCK), *J[EDGES], *K[EDGES];
    for (int e = 0; e < EDGES; ++e) J[e] = blocks + e * BLOCK, K[e] = blocks + (EDGES + e) * BLOCK;
    for (int i = 0; i < model->constraint_count; ++i) {
        const tni_constraint* c         = &model->constraints[i];
        const bool            otherwise = c->pushes_otherwise;
        const tni_rows_out    out       = {d->C + c->row_start, d->rate + c->row_start,
                                           d->gamma + c->row_start, J, otherwise ? K : NULL};
        tni_constraint_rows(model, c, views, s->time, s->z, &out);
        for (int e = 0; e < c->edge_count; ++e) {
            const tni_body* body = &model->bodies[model->edge_body[c->edge_start + e]];
            dense_put_block(d, c, body, J[e], otherwise ? K[e] : J[e]);
        }
    }
    free(blocks);
}

static inline void dense_put_limits(dense_system* d, const tn_model* model, const tni_view* views,
                                    const tn_state* s)
{
    for (int i = 0; i < d->limits; ++i) {
        const tni_joint* joint  = &model->joints[model->limits[i].joint];
        const tni_row    row    = tni_limit_row(model, &model->limits[i], views, s->z);
        const int        ends[] = {joint->body1, joint->body2};
        d->gap[i] = row.C, d->closing[i] = row.rate, d->gamma_L[i] = row.gamma;
        for (int side = 0; side < 2; ++side) {
            const tni_body* body = &model->bodies[ends[side]];
            if (body->dim == 0) continue;
            tni_push_row(body, &views[ends[side]], side == 0 ? joint->p1 : joint->p2,
                         side == 0 ? &joint->F1 : &joint->F2, &row.push[side],
                         d->L + i * d->u + body->u_start);
        }
    }
}

static inline dense_system dense_of(const tn_model* model, const tn_state* s)
{
    const int    u = model->u_count, rows = model->row_count, limits = model->limit_count;
    dense_system d = {.u = u, .rows = rows, .limits = limits};
    d.M            = dense_numbers(u * u);
    d.J = dense_numbers(rows * u), d.K = dense_numbers(rows * u), d.L = dense_numbers(limits * u);
    d.F = dense_numbers(u), d.a = dense_numbers(u), d.force = dense_numbers(u);
    d.C = dense_numbers(rows), d.rate = dense_numbers(rows), d.gamma = dense_numbers(rows);
    d.gap = dense_numbers(limits), d.closing = dense_numbers(limits);
    d.gamma_L = dense_numbers(limits), d.push = dense_numbers(limits);
    tni_view* views = calloc((size_t)model->body_count, sizeof *views);
    tni_views(model, s->time, s->q, s->u, views);
    dense_put_masses(&d, model, views);
    dense_put_rows(&d, model, views, s);
    dense_put_limits(&d, model, views, s);
    const tni_scene_view at = {.model = model, .time = s->time, .z = s->z, .views = views};
    tni_forces(&at, d.F);
    free(views);
    return d;
}

// ---- Its answer ---------------------------------------------------------------------------------

// The matrix with some limits as equations, factored. Unknowns: a, -lambda, -f.
static inline dense_lu dense_factor(const dense_system* d, const int* active, int count)
{
    const int u = d->u, n = u + d->rows + count;
    dense_lu  lu = dense_lu_make(n);
    for (int i = 0; i < u; ++i) memcpy(lu.A + i * n, d->M + i * u, sizeof(double) * (size_t)u);
    for (int i = 0; i < d->rows + count; ++i) {
        const bool    limit = i >= d->rows;
        const double* J     = limit ? d->L + active[i - d->rows] * u : d->J + i * u;
        const double* K     = limit ? J : d->K + i * u;
        for (int k = 0; k < u; ++k) lu.A[(u + i) * n + k] = J[k], lu.A[k * n + u + i] = K[k];
    }
    dense_lu_factor(&lu, 1e-11);
    return lu;
}

/// Limits that are reached and do not open: those that may push. Returns how many.
static inline int dense_reached(const dense_system* d, int* reached)
{
    int count = 0;
    for (int i = 0; i < d->limits; ++i) {
        if (d->gap[i] <= 1e-9 && d->closing[i] <= 1e-9 && count < DENSE_STOPS_MAX)
            reached[count++] = i;
    }
    return count;
}

// How well a subset of limits does when it pushes and the others do not: the least of all f and a.
static inline double dense_score(const double* W, const double* b, int n, unsigned set)
{
    int    at[DENSE_STOPS_MAX], count = 0;
    double rhs[DENSE_STOPS_MAX], f[DENSE_STOPS_MAX], least = 0, size = 0;
    for (int i = 0; i < n; ++i) {
        size = fmax(size, W[i * n + i]);
        if (set >> i & 1) at[count++] = i;
    }
    dense_lu lu = dense_lu_make(count);
    for (int i = 0; i < count; ++i) {
        rhs[i] = -b[at[i]];
        for (int k = 0; k < count; ++k) lu.A[i * count + k] = W[at[i] * n + at[k]];
    }
    dense_lu_factor(&lu, 0);
    const bool good = count == 0 || lu.last > 1e-9 * size;
    if (good) dense_lu_solve(&lu, rhs, f);
    dense_lu_free(&lu);
    if (!good) return -HUGE_VAL;
    for (int i = 0; i < n; ++i) {
        double a = b[i];
        for (int k = 0; k < count; ++k) a += W[i * n + at[k]] * f[k];
        if (!(set >> i & 1)) least = fmin(least, a);
    }
    for (int k = 0; k < count; ++k) least = fmin(least, f[k]);
    return least;
}

// Which limits push, by trying all subsets. Returns how many; -1: no subset will do.
static inline int dense_choose(const dense_system* d, int* active)
{
    int       reached[DENSE_STOPS_MAX];
    const int count = dense_reached(d, reached), n = d->u + d->rows;
    double    W[DENSE_STOPS_MAX * DENSE_STOPS_MAX], b[DENSE_STOPS_MAX], best = -HUGE_VAL;
    unsigned  chosen = 0;
    double *  rhs = dense_numbers(n), *x = dense_numbers(n);
    dense_lu  lu = dense_factor(d, NULL, 0);
    for (int c = -1; c < count; ++c) {
        memset(rhs, 0, sizeof(double) * (size_t)n);
        memcpy(rhs, c < 0 ? d->F : d->L + reached[c] * d->u, sizeof(double) * (size_t)d->u);
        for (int i = 0; i < d->rows && c < 0; ++i) rhs[d->u + i] = -d->gamma[i];
        dense_lu_solve(&lu, rhs, x);
        for (int i = 0; i < count; ++i) {
            const double along = dense_dot(d->L + reached[i] * d->u, x, d->u);
            if (c < 0) b[i] = along + d->gamma_L[reached[i]];
            else W[i * count + c] = along;
        }
    }
    for (unsigned set = 0; set < 1u << count; ++set) {
        const double score = dense_score(W, b, count, set);
        if (score > best) best = score, chosen = set;
    }
    dense_lu_free(&lu);
    free(rhs), free(x);
    if (!(best > -1e-8 * fmax(1, dense_largest(b, count)))) return -1;
    int kept = 0;
    for (int i = 0; i < count; ++i) {
        if (chosen >> i & 1) active[kept++] = reached[i];
    }
    return kept;
}

// |A| |A^-1|, the latter from what it does to a few random vectors, on the independent rows.
static inline double dense_condition(const dense_lu* lu)
{
    test_random r     = {99};
    double *    probe = dense_numbers(lu->n), *x = dense_numbers(lu->n), norm = 0, inverse = 0;
    for (int i = 0; i < lu->n; ++i) {
        double sum = 0;
        for (int k = 0; k < lu->n; ++k) sum += fabs(lu->A[i * lu->n + k]);
        norm = fmax(norm, sum);
    }
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < lu->n; ++i) probe[i] = test_random_unit(&r) < 0.5 ? -1 : 1;
        dense_lu_back(lu, probe, x);
        inverse = fmax(inverse, dense_largest(x, lu->n));
    }
    free(probe), free(x);
    return norm * inverse;
}

// The largest acceleration with and without constraints: what rounding is measured by.
static inline double dense_size(const dense_system* d)
{
    dense_lu M = dense_lu_make(d->u);
    double*  x = dense_numbers(d->u);
    memcpy(M.A, d->M, sizeof(double) * (size_t)(d->u * d->u));
    dense_lu_factor(&M, 0);
    dense_lu_back(&M, d->F, x);
    const double size = fmax(1, fmax(dense_largest(x, d->u), dense_largest(d->a, d->u)));
    dense_lu_free(&M);
    free(x);
    return size;
}

static inline void dense_solve(dense_system* d)
{
    int       active[DENSE_STOPS_MAX];
    const int count = dense_choose(d, active), n = d->u + d->rows + (count > 0 ? count : 0);
    d->solved = count >= 0;
    if (!d->solved) return;
    dense_lu lu  = dense_factor(d, active, count);
    double * rhs = dense_numbers(n), *x = dense_numbers(n);
    memcpy(rhs, d->F, sizeof(double) * (size_t)d->u);
    for (int i = 0; i < d->rows; ++i) rhs[d->u + i] = -d->gamma[i];
    for (int i = 0; i < count; ++i) rhs[d->u + d->rows + i] = -d->gamma_L[active[i]];
    d->residual  = dense_lu_solve(&lu, rhs, x);
    d->dependent = n - lu.rank;
    d->first = lu.first, d->last = lu.last, d->after = lu.after;
    memcpy(d->a, x, sizeof(double) * (size_t)d->u);
    for (int i = 0; i < d->u; ++i) d->force[i] = dense_dot(d->M + i * d->u, d->a, d->u) - d->F[i];
    for (int i = 0; i < count; ++i) d->push[active[i]] = -x[d->u + d->rows + i];
    d->condition = dense_condition(&lu);
    d->size      = dense_size(d);
    dense_lu_free(&lu);
    free(rhs), free(x);
}

/// Whether there is one clear answer: the rank is beyond doubt and the rows agree.
static inline bool dense_is_clear(const dense_system* d)
{
    return d->solved && d->last > 1e-8 * d->first && d->after < 1e-12 * d->first &&
           d->residual < 1e-11 * fmax(1, dense_largest(d->a, d->u));
}

// ---- Velocities ---------------------------------------------------------------------------------

/// The smallest change of u after which rows (joints: to zero) and limits (to `wanted`; NaN: free)
/// have their rates.
static inline void dense_set_rates(const tn_model* model, tn_state* s, bool joints,
                                   const double* wanted)
{
    dense_system d = dense_of(model, s);
    const int    u = d.u, most = u + d.rows + d.limits;
    double *     rhs = dense_numbers(most), *x = dense_numbers(most);
    int          count = 0;
    double*      A     = dense_numbers((d.rows + d.limits) * u);
    for (int i = 0; i < d.rows && joints; ++i, ++count) {
        memcpy(A + count * u, d.J + i * u, sizeof(double) * (size_t)u);
        rhs[u + count] = -d.rate[i];
    }
    for (int i = 0; i < d.limits; ++i) {
        if (isnan(wanted[i])) continue;
        memcpy(A + count * u, d.L + i * u, sizeof(double) * (size_t)u);
        rhs[u + count++] = wanted[i] - d.closing[i];
    }
    const int n  = u + count;
    dense_lu  lu = dense_lu_make(n);
    for (int i = 0; i < u; ++i) lu.A[i * n + i] = 1;
    for (int i = 0; i < count; ++i)
        for (int k = 0; k < u; ++k) lu.A[(u + i) * n + k] = lu.A[k * n + u + i] = A[i * u + k];
    dense_lu_factor(&lu, 1e-11);
    dense_lu_solve(&lu, rhs, x);
    for (int i = 0; i < u; ++i) s->u[i] += x[i];
    dense_lu_free(&lu);
    dense_free(&d);
    free(rhs), free(x), free(A);
}

// ---- An answer of a stepper against it ----------------------------------------------------------

typedef struct dense_errors {
    double a, force;        ///< relative to the largest, with and without constraints
    double row;             ///< of J a = -gamma, relative to the largest acceleration
    double complementarity; ///< of limits: what a lacks, what f lacks, their product; relative
    int    pushing;         ///< limits with a force
} dense_errors;

static inline double dense_unilateral_force(const tn_stepper* stepper, int limit)
{
    const tni_unilaterals* a = &stepper->system->unilaterals;
    for (int i = 0; i < a->unilateral_count; ++i) {
        if (a->unilaterals[i].limit == limit) return a->unilaterals[i].force[0];
    }
    return 0;
}

static inline dense_errors dense_compare(const dense_system* d, const tn_stepper* stepper)
{
    const double* a     = tn_stepper_accelerations(stepper);
    double*       force = dense_numbers(d->u);
    const double  size = d->size, pushed = fmax(1, dense_largest(d->force, d->u));
    dense_errors  e = {.a = dense_distance(a, d->a, d->u) / size};
    for (int i = 0; i < d->rows; ++i) {
        const double row = fabs(dense_dot(d->J + i * d->u, a, d->u) + d->gamma[i]) / size;
        e.row            = row == row ? fmax(e.row, row) : HUGE_VAL;
        for (int k = 0; k < d->u; ++k) force[k] += d->K[i * d->u + k] * stepper->multipliers[i];
    }
    for (int i = 0; i < d->limits; ++i) {
        const double f    = dense_unilateral_force(stepper, i);
        const double g    = dense_dot(d->L + i * d->u, a, d->u) + d->gamma_L[i];
        const bool   shut = d->gap[i] <= 1e-9 && d->closing[i] <= 1e-9;
        double       bad  = shut ? fmax(-g / size, fmax(-f, g * f) / (size * pushed)) : fabs(f);
        if (!(bad == bad)) bad = HUGE_VAL;
        e.complementarity = fmax(e.complementarity, bad);
        e.pushing += f > 0;
        for (int k = 0; k < d->u; ++k) force[k] += d->L[i * d->u + k] * f;
    }
    e.force = dense_distance(force, d->force, d->u) / pushed;
    free(force);
    return e;
}

#endif
