// woodbury: stiff forces between bodies without a joint, by Woodbury's identity.
//
// Of the system
//     (A + sum J_c^T W_c J_c) u + J^T mu = b + sum J_c^T g_c,     J u = r
// A and J are factored in a pattern without room for blocks between the bodies of c (contacts,
// springs across the tree). W_c is symmetric and positive semidefinite, and may be singular. With W
// = L L^T, B = L^T J_c and g = L s (the rest of g, outside the range of W, belongs to b)
//     A u + J^T mu = b + B^T y,     y = s - B u
// S being the solution for r = 0, u = u0 + S B^T y, hence
//     (I + B S B^T) y = s - B u0
// This is Woodbury's identity for A + B^T B, written for the impulses y: they stay bounded when W
// grows, where the usual form takes the difference of large numbers. S >= 0, so the matrix is never
// near singular. It is as unsymmetric as the factored one, hence LU.
//
// Cost: a solve for each row of B, n^3 for n rows, and another solve for each answer; nothing of
// the size of the mechanism is stored per row.
//
// L by Cholesky's method with the largest pivot first. A pivot below 1e-13 of its original value is
// rounding: the rank is reached.
#include "system/woodbury.h"

#include "force/soft.h"
#include "linalg/dense.h"

#include <math.h>

static const double dependent = 1e-13;

// Number of rows of mu.
static int mu_count(const tn_model* model)
{
    return model->row_count + model->limit_count;
}

static tn_result take_room(tni_woodbury* s, int rows)
{
    const tn_model* model = s->model;
    const size_t    n     = (size_t)rows;
    s->arena              = tni_arena_make(&model->arena.host);
    s->row_capacity       = rows;
    s->entries            = TNI_TAKE(&s->arena, tni_woodbury_entry, n);
    for (int side = 0; side < 2; ++side) s->B[side] = TNI_TAKE(&s->arena, double, n* TNI_DIM_MAX);
    s->g        = TNI_TAKE(&s->arena, double, n);
    s->y        = TNI_TAKE(&s->arena, double, n);
    s->G        = TNI_TAKE(&s->arena, double, n* n);
    s->exchange = TNI_TAKE(&s->arena, int, n);
    s->b        = TNI_TAKE(&s->arena, double, model->u_count);
    s->u        = TNI_TAKE(&s->arena, double, model->u_count);
    s->mu       = TNI_TAKE(&s->arena, double, mu_count(model));
    tni_woodbury_clear(s);
    if (!s->arena.failed) return TN_OK;
    tni_arena_free(&s->arena);
    return TN_ERR_MEMORY;
}

tn_result tni_woodbury_create(const tn_model* model, int rows, tni_woodbury* woodbury)
{
    *woodbury = (tni_woodbury){.model = model};
    return take_room(woodbury, rows);
}

void tni_woodbury_free(tni_woodbury* woodbury)
{
    tni_arena_free(&woodbury->arena);
}

tn_result tni_woodbury_grow(tni_woodbury* woodbury)
{
    tni_woodbury    more   = {.model = woodbury->model};
    const tn_result result = take_room(&more, 2 * woodbury->row_capacity);
    if (result != TN_OK) return result;
    tni_arena_free(&woodbury->arena);
    *woodbury = more;
    return TN_OK;
}

void tni_woodbury_clear(tni_woodbury* woodbury)
{
    woodbury->row_count = woodbury->entry_count = 0;
    woodbury->full                              = false;
}

// ---- A force ------------------------------------------------------------------------------------

// W = L L^T, L n x rank with row stride n; returns the rank. pivot: rows in the order chosen.
static int factor_w(int n, const double* W, double* L, int* pivot)
{
    double left[TNI_SOFT_ROWS_MAX]; // remaining diagonal
    bool   done[TNI_SOFT_ROWS_MAX] = {false};
    for (int i = 0; i < n; ++i) left[i] = W[i * n + i];
    for (int k = 0; k < n; ++k) {
        int best = -1;
        for (int i = 0; i < n; ++i) {
            const bool own = !done[i] && left[i] > dependent * W[i * n + i];
            if (own && (best < 0 || left[i] > left[best])) best = i;
        }
        if (best < 0) return k;
        const double d = sqrt(left[best]);
        for (int i = 0; i < n; ++i) {
            double sum = W[i * n + best];
            for (int j = 0; j < k; ++j) sum -= L[i * n + j] * L[best * n + j];
            L[i * n + k] = done[i] ? 0 : i == best ? d : sum / d;
            left[i] -= L[i * n + k] * L[i * n + k];
        }
        done[best] = true;
        pivot[k]   = best;
    }
    return n;
}

// s with L s = g in the pivot rows; g keeps the rest.
static void split_g(int n, int rank, const double* L, const int* pivot, double* g, double* s)
{
    for (int k = 0; k < rank; ++k) {
        s[k] = g[pivot[k]] / L[pivot[k] * n + k];
        for (int i = 0; i < n; ++i) g[i] -= L[i * n + k] * s[k];
        g[pivot[k]] = 0;
    }
}

// Differences by rounding of L s are no impulse of their own.
static void drop_rounding(int n, const double* whole, double* left)
{
    double most = 0;
    for (int i = 0; i < n; ++i) most = fmax(most, fabs(whole[i]));
    for (int i = 0; i < n; ++i)
        if (fabs(left[i]) <= dependent * most) left[i] = 0;
}

static bool is_pushed(const tni_woodbury* s, int body)
{
    return body >= 0 && s->model->bodies[body].node >= 0;
}

// B = L^T J
static void set_rows(tni_woodbury* s, const tni_woodbury_entry* entry, const tni_soft* soft,
                     const double* L)
{
    const int n = soft->row_count;
    for (int side = 0; side < 2; ++side) {
        const int dim = entry->body[side] >= 0 ? s->model->bodies[entry->body[side]].dim : 0;
        for (int r = 0; r < entry->rank; ++r) {
            double* row = s->B[side] + (size_t)(entry->first + r) * TNI_DIM_MAX;
            for (int k = 0; k < dim; ++k) {
                row[k] = 0;
                for (int i = 0; i < n; ++i) row[k] += L[i * n + r] * soft->J[side][i * dim + k];
            }
        }
    }
}

bool tni_woodbury_add(tni_woodbury* s, const tni_soft* soft, const double* W, const double* g,
                      double* b)
{
    double    L[TNI_SOFT_ROWS_MAX * TNI_SOFT_ROWS_MAX], left[TNI_SOFT_ROWS_MAX];
    int       pivot[TNI_SOFT_ROWS_MAX];
    const int n = soft->row_count, rank = factor_w(n, W, L, pivot);
    if (s->row_count + rank > s->row_capacity) {
        s->full = true;
        return false;
    }
    memcpy(left, g, sizeof *left * (size_t)n);
    split_g(n, rank, L, pivot, left, s->g + s->row_count);
    drop_rounding(n, g, left);
    tni_soft_add_force(s->model, soft, left, b);
    if (rank == 0) return true;
    tni_woodbury_entry* entry = &s->entries[s->entry_count++];
    *entry                    = (tni_woodbury_entry){.first = s->row_count, .rank = rank};
    for (int i = 0; i < 2; ++i) entry->body[i] = is_pushed(s, soft->body[i]) ? soft->body[i] : -1;
    set_rows(s, entry, soft, L);
    s->row_count += rank;
    return true;
}

// ---- All of them --------------------------------------------------------------------------------

// out = B u
static void rates_of(const tni_woodbury* s, const double* u, double* out)
{
    for (int e = 0; e < s->entry_count; ++e) {
        const tni_woodbury_entry* entry = &s->entries[e];
        for (int r = entry->first; r < entry->first + entry->rank; ++r) {
            double sum = 0;
            for (int side = 0; side < 2; ++side) {
                if (entry->body[side] < 0) continue;
                const tni_body* body = &s->model->bodies[entry->body[side]];
                const double*   row  = s->B[side] + (size_t)r * TNI_DIM_MAX;
                for (int k = 0; k < body->dim; ++k) sum += row[k] * u[body->u_start + k];
            }
            out[r] = sum;
        }
    }
}

// b += B^T y, for the rows of one entry from `first` on.
static void push_rows(const tni_woodbury* s, const tni_woodbury_entry* entry, int first, int count,
                      const double* y, double* b)
{
    for (int side = 0; side < 2; ++side) {
        if (entry->body[side] < 0) continue;
        const tni_body* body = &s->model->bodies[entry->body[side]];
        for (int r = first; r < first + count; ++r) {
            const double* row = s->B[side] + (size_t)r * TNI_DIM_MAX;
            for (int k = 0; k < body->dim; ++k) b[body->u_start + k] += y[r] * row[k];
        }
    }
}

static void clear_b(tni_woodbury* s)
{
    memset(s->b, 0, sizeof *s->b * (size_t)s->model->u_count);
}

tn_result tni_woodbury_factor(tni_woodbury* s, tni_woodbury_solve* solve, void* user, tn_why* why)
{
    const int n = s->row_count;
    for (int e = 0; e < s->entry_count; ++e) {
        const tni_woodbury_entry* entry = &s->entries[e];
        for (int r = entry->first; r < entry->first + entry->rank; ++r) {
            s->y[r] = 1;
            clear_b(s);
            push_rows(s, entry, r, 1, s->y, s->b);
            const tn_result result = solve(user, s->b, s->u, s->mu, why);
            if (result != TN_OK) return result;
            rates_of(s, s->u, s->y);
            for (int i = 0; i < n; ++i) s->G[i * n + r] = s->y[i] + (i == r ? 1 : 0);
        }
    }
    if (tni_dense_lu(n, s->G, s->exchange) == TN_OK) return TN_OK;
    return tni_fail(why, TN_ERR_SINGULAR, "forces between bodies: no finite response");
}

tn_result tni_woodbury_apply(tni_woodbury* s, bool whole, tni_woodbury_solve* solve, void* user,
                             double* u, double* mu, tn_why* why)
{
    const int n = s->row_count;
    if (n == 0) return TN_OK;
    rates_of(s, u, s->y);
    for (int i = 0; i < n; ++i) s->y[i] = (whole ? s->g[i] : 0) - s->y[i];
    tni_dense_lu_solve(n, s->G, s->exchange, s->y);
    clear_b(s);
    for (int e = 0; e < s->entry_count; ++e)
        push_rows(s, &s->entries[e], s->entries[e].first, s->entries[e].rank, s->y, s->b);
    const tn_result result = solve(user, s->b, s->u, s->mu, why);
    if (result != TN_OK) return result;
    for (int i = 0; i < s->model->u_count; ++i) u[i] += s->u[i];
    for (int i = 0; i < mu_count(s->model); ++i) mu[i] += s->mu[i];
    return TN_OK;
}
