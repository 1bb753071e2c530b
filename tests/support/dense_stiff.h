// dense_stiff: the linear system of an implicit step (system/implicit_system.h) as one dense matrix.
//
//     [ A    J^T  -Js^T ] [ u  ]   [ p + e F - e K_g h drift ]     A = M + e^2 K_g
//     [ J               ] [ mu ] = [ r                       ]
//     [ W Js        1   ] [ s  ]   [ g                       ]     s: what stiff forces push with
//
// is built whole from what bodies, constraints and forces say one by one, factored by LU with row
// exchanges, and refined with residuals in long double. No product of a stiffness with a Jacobian
// is formed, so it is good at k = 1e8 too. Tests may add to A and b what they like.
#ifndef DENSE_STIFF_H
#define DENSE_STIFF_H

#include "force/force.h"
#include "support/random_scene.h"
#include "system/geometric_stiffness.h"
#include "system/implicit_system.h"

typedef struct dense_stiff {
    const tn_model*        model;
    const tni_step_start*  start;
    const tni_step_scheme* scheme;
    int                    u, rows, n; ///< n grows with the soft rows
    size_t                 stride;
    double *               K, *lu, *rhs, *x;
    int*                   exchange;
    tni_view*              views; ///< where the step starts
} dense_stiff;

static inline double* dense_stiff_at(const dense_stiff* d, int i, int j)
{
    return d->K + (size_t)i * d->stride + (size_t)j;
}

static inline double dense_stiff_reach(const dense_stiff* d)
{
    return d->scheme->share * d->scheme->h;
}

static inline tni_scene_view dense_stiff_scene(const dense_stiff* d, double time)
{
    return (tni_scene_view){
        .model = d->model, .time = time, .z = d->start->at.z, .views = d->views, .flying = true};
}

// ---- Bodies and rows ----------------------------------------------------------------------------

static inline void dense_stiff_put_body(dense_stiff* d, int index, const tni_mat3* K_g)
{
    const tni_body* body = &d->model->bodies[index];
    const int       at = body->u_start, n = body->dim;
    const double    e = dense_stiff_reach(d), *drift = d->scheme->drift;
    double          M[TNI_DIM_MAX * TNI_DIM_MAX], Mu[TNI_DIM_MAX];
    tni_mass_block(body, &d->views[index], M);
    tni_mass_times(body, &d->views[index], d->start->at.u + at, Mu);
    for (int k = 0; k < n * n; ++k) *dense_stiff_at(d, at + k / n, at + k % n) += M[k];
    for (int k = 0; k < n; ++k)
        d->rhs[at + k] += d->start->momentum != NULL ? d->start->momentum[at + k] : Mu[k];
    for (int k = 0; k < 9; ++k) {
        const bool rigid = body->kind == TN_BODY_RIGID;
        const int  r = at + (rigid ? 3 + k / 3 : 2), c = at + (rigid ? 3 + k % 3 : 2);
        if (!rigid && (body->kind != TN_BODY_PLANAR || k < 8)) continue;
        *dense_stiff_at(d, r, c) += e * e * K_g->m[k];
        if (drift != NULL) d->rhs[r] -= e * d->scheme->h * K_g->m[k] * drift[c];
    }
}

static inline void dense_stiff_put_bodies(dense_stiff* d)
{
    tni_mat3* K_g = calloc((size_t)d->model->body_count, sizeof *K_g);
    if (d->start->multipliers != NULL)
        tni_geometric_stiffness(d->model, d->views, d->start->at.time, d->start->at.z,
                                d->start->multipliers, K_g);
    for (int i = 0; i < d->model->free_count; ++i)
        dense_stiff_put_body(d, d->model->free_bodies[i], &K_g[d->model->free_bodies[i]]);
    free(K_g);
}

static inline void dense_stiff_put_rows(dense_stiff* d)
{
    const tn_model* model = d->model;
    for (int i = 0; i < model->constraint_count; ++i) {
        const tni_constraint* c = &model->constraints[i];
        double blocks[2][6 * TNI_DIM_MAX], *J[2] = {blocks[0], blocks[1]}, C[6], rate[6], gamma[6];
        tni_constraint_rows(model, c, d->views, d->scheme->time, d->start->at.z,
                            &(tni_rows_out){C, rate, gamma, J, NULL});
        for (int k = 0; k < c->row_count; ++k) {
            const int row = d->u + c->row_start + k;
            double    own = 0, drift = 0;
            for (int e = 0; e < c->edge_count; ++e) {
                const tni_body* body = &model->bodies[model->edge_body[c->edge_start + e]];
                for (int j = 0; j < body->dim; ++j) {
                    const int    at             = body->u_start + j;
                    const double v              = J[e][body->dim * k + j];
                    *dense_stiff_at(d, row, at) = *dense_stiff_at(d, at, row) = v;
                    own += v * d->start->at.u[at];
                    if (d->scheme->drift != NULL) drift += v * d->scheme->drift[at];
                }
            }
            d->rhs[row] = tni_row_target(d->start, d->scheme, k < c->held_count, C[k],
                                         rate[k] - own, drift, gamma[k]);
        }
    }
}

// ---- Stiff forces -------------------------------------------------------------------------------

/// The unknown s, its push on the bodies, and s + W Js u = g. user: the system.
static inline void dense_stiff_put_soft(void* user, const tni_soft* soft)
{
    dense_stiff* d     = user;
    const int    first = d->n, n = soft->row_count;
    double       W[TNI_SOFT_ROWS_MAX * TNI_SOFT_ROWS_MAX], g[TNI_SOFT_ROWS_MAX];
    tni_soft_impulse(d->model, soft, d->scheme, W, g);
    d->n += n;
    if ((size_t)d->n > d->stride) abort(); // dense_stiff_make counts too few
    for (int i = 0; i < n; ++i) {
        *dense_stiff_at(d, first + i, first + i) = 1;
        d->rhs[first + i]                        = g[i];
        for (int side = soft->kind == TNI_SOFT_BODY ? 1 : 0; side < 2; ++side) {
            const tni_body* body = &d->model->bodies[soft->body[side]];
            for (int j = 0; body->node >= 0 && j < body->dim; ++j) {
                const int    at = body->u_start + j;
                const double v  = soft->J[side][body->dim * i + j];
                *dense_stiff_at(d, at, first + i) -= v;
                for (int k = 0; k < n; ++k) *dense_stiff_at(d, first + k, at) += W[k * n + i] * v;
            }
        }
    }
}

static inline void dense_stiff_put_distances(dense_stiff* d)
{
    const tni_mat3 F = tni_identity3();
    for (int i = 0; d->start->multipliers != NULL && i < d->model->joint_count; ++i) {
        const tni_joint* joint = &d->model->joints[i];
        if (!tni_holds_distance(joint)) continue;
        const tni_sides sides = tni_sides_of(joint, d->views);
        const int       row   = d->model->constraints[joint->constraint].row_start;
        const tni_mat3  K =
            tni_geometric_stiffness_between(d->model, joint, sides, d->start->multipliers[row]);
        tni_soft soft = {
            .kind = TNI_SOFT_SPRING, .body = {joint->body1, joint->body2}, .row_count = 3};
        memcpy(soft.K, K.m, sizeof K.m);
        for (int k = 0; k < 6; ++k) {
            const tni_body* body = &d->model->bodies[soft.body[k / 3]];
            const double    sign = k < 3 ? -1 : 1;
            const tni_push  push = {
                 .force = {sign * (k % 3 == 0), sign * (k % 3 == 1), sign * (k % 3 == 2)}};
            if (body->node < 0) continue;
            tni_push_row(body, k < 3 ? sides.view1 : sides.view2, k < 3 ? joint->p1 : joint->p2, &F,
                         &push, soft.J[k / 3] + k % 3 * body->dim);
        }
        dense_stiff_put_soft(d, &soft);
    }
}

/// b += e f
static inline void dense_stiff_put_forces(dense_stiff* d, const double* f)
{
    for (int i = 0; i < d->u; ++i) d->rhs[i] += dense_stiff_reach(d) * f[i];
}

/// All forces, those that are stiff as rows.
static inline void dense_stiff_soften(dense_stiff* d)
{
    const tni_scene_view at        = dense_stiff_scene(d, d->start->at.time);
    const tni_prediction predicted = {d->scheme->h, d->scheme->time, d->start->predicted};
    double*              f         = calloc((size_t)d->u + 1, sizeof *f);
    tni_nonstiff_forces(&at, f);
    dense_stiff_put_forces(d, f);
    tni_soften(&at, &predicted, dense_stiff_put_soft, d);
    free(f);
}

// ---- Solving ------------------------------------------------------------------------------------

/// Bodies, rows and distances of a step; forces are still to be put in.
static inline dense_stiff dense_stiff_make(const tn_model* model, const tni_step_start* start,
                                           const tni_step_scheme* scheme)
{
    const int soft = model->actuation_count + model->spring_count + model->target_count +
                     model->drag_count + model->joint_count + model->body_count;
    dense_stiff d = {.model  = model,
                     .start  = start,
                     .scheme = scheme,
                     .u      = model->u_count,
                     .rows   = model->row_count};
    d.n           = d.u + d.rows;
    d.stride      = (size_t)(d.n + TNI_SOFT_ROWS_MAX * soft);
    d.K           = calloc(d.stride * d.stride, sizeof(double));
    d.lu          = calloc(d.stride * d.stride, sizeof(double));
    d.rhs         = calloc(d.stride, sizeof(double));
    d.x           = calloc(d.stride, sizeof(double));
    d.exchange    = calloc(d.stride, sizeof(int));
    d.views       = calloc((size_t)model->body_count, sizeof *d.views);
    tni_views(model, start->at.time, start->at.q, start->at.u, d.views);
    dense_stiff_put_bodies(&d);
    dense_stiff_put_rows(&d);
    dense_stiff_put_distances(&d);
    return d;
}

static inline void dense_stiff_free(dense_stiff* d)
{
    free(d->K), free(d->lu), free(d->rhs), free(d->x), free(d->exchange), free(d->views);
}

static inline void dense_stiff_factor(dense_stiff* d)
{
    const size_t n = (size_t)d->n, s = d->stride;
    double*      lu = d->lu;
    memcpy(lu, d->K, sizeof *lu * s * n);
    for (size_t j = 0; j < n; ++j) {
        size_t best = j;
        for (size_t i = j + 1; i < n; ++i)
            if (fabs(lu[i * s + j]) > fabs(lu[best * s + j])) best = i;
        d->exchange[j] = (int)best;
        for (size_t k = 0; best != j && k < n; ++k) {
            const double old = lu[j * s + k];
            lu[j * s + k]    = lu[best * s + k];
            lu[best * s + k] = old;
        }
        for (size_t i = j + 1; i < n; ++i) {
            if (lu[i * s + j] == 0) continue;
            const double l = lu[i * s + j] /= lu[j * s + j];
            for (size_t k = j + 1; k < n; ++k) lu[i * s + k] -= l * lu[j * s + k];
        }
    }
}

static inline void dense_stiff_substitute(const dense_stiff* d, double* x)
{
    const size_t n = (size_t)d->n, s = d->stride;
    for (size_t i = 0; i < n; ++i) {
        const double old  = x[i];
        x[i]              = x[d->exchange[i]];
        x[d->exchange[i]] = old;
    }
    for (size_t i = 0; i < n; ++i)
        for (size_t k = 0; k < i; ++k) x[i] -= d->lu[i * s + k] * x[k];
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; ++k) x[i] -= d->lu[i * s + k] * x[k];
        x[i] /= d->lu[i * s + i];
    }
}

/// x = K^-1 rhs, after dense_stiff_factor.
static inline void dense_stiff_solve(dense_stiff* d)
{
    const int n   = d->n;
    double*   fix = calloc((size_t)n + 1, sizeof *fix);
    memset(d->x, 0, sizeof *d->x * (size_t)n);
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < n; ++i) {
            long double left = (long double)d->rhs[i];
            for (int k = 0; k < n; ++k)
                left -= (long double)*dense_stiff_at(d, i, k) * (long double)d->x[k];
            fix[i] = (double)left;
        }
        dense_stiff_substitute(d, fix);
        for (int i = 0; i < n; ++i) d->x[i] += fix[i];
    }
    free(fix);
}

/// The same for other right-hand sides, b NULL: zero. Soft rows stay, their g does not.
static inline void dense_stiff_correct(dense_stiff* d, const double* b, const double* r)
{
    memset(d->rhs, 0, sizeof *d->rhs * (size_t)d->n);
    if (b != NULL) memcpy(d->rhs, b, sizeof *b * (size_t)d->u);
    memcpy(d->rhs + d->u, r, sizeof *r * (size_t)d->rows);
    dense_stiff_solve(d);
}

/// Largest difference, over the largest number.
static inline double dense_stiff_difference(const double* a, const double* b, int count)
{
    double most = 0, size = 1e-300;
    for (int i = 0; i < count; ++i) {
        const double off = fabs(a[i] - b[i]);
        if (!(off <= most)) most = isnan(off) ? HUGE_VAL : off;
        size = fmax(size, fabs(b[i]));
    }
    return most / size;
}

/// How far u and mu are from the last solution.
static inline double dense_stiff_off(const dense_stiff* d, const double* u, const double* mu)
{
    return fmax(dense_stiff_difference(u, d->x, d->u),
                dense_stiff_difference(mu, d->x + d->u, d->rows));
}

#endif
