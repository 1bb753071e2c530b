// derive: exact derivatives of forces along rows, by q moved in world axes (tni_advance), u fixed.
//
//     F = sum over rows of tau J^T,   tau = tau(e, rate),   de = J dq,   rate = J u
//     -dF/dq = J^T (K J + D R) - sum of tau dJ^T/dq,        R = drate/dq
//     -dF/du = J^T D J                                      K = -dtau/de,  D = -dtau/drate
//
// A row is a function of points and axes X ("features") of its two bodies. With its derivatives g
// and Q by them, B = dX/dq, and r the arm of X from the centre of mass (X itself if it is an axis),
//
//     J^T     = sum B^T g
//     dJ^T/dq = sum over X, Y of B_X^T Q_XY B_Y  +  sum over X of [g]x[r]x on the rotation
//     R       = sum over X, Y of Xdot^T Q_XY B_Y - sum over X of (r x (w x g))^T on the rotation
//
// the last ones since rotating bodies move their points by d x r, and d x r rotates too. Affine
// bodies move points linearly and have none. Rows that are torques t(X), T = dt/dX, and not the
// gradient of a function:
//
//     J^T = +-t on the rotation,  dJ^T/dq = +-T B,   R = (w1 - w0)^T T B
//
// So each force supplies only its tau, K and D, and its rows.
#include "force/derive.h"

tni_derived_row tni_derived_difference(tn_vec3 p0, tn_vec3 p1, int k)
{
    const tn_vec3 e = {k == 0, k == 1, k == 2};
    return (tni_derived_row){.count = 2, .X = {{0, true, p0}, {1, true, p1}}, .g = {tni_neg(e), e}};
}

tni_derived_row tni_derived_point(tn_vec3 p, int k)
{
    return (tni_derived_row){.count = 1, .X = {{1, true, p}}, .g = {{k == 0, k == 1, k == 2}}};
}

tni_derived_row tni_derived_rotation(int k)
{
    return (tni_derived_row){.torque = {k == 0, k == 1, k == 2}};
}

void tni_derivation_begin(tni_derivation* d, const tni_scene_view* at, int body0, int body1)
{
    d->at = at, d->row_count = 0;
    d->body[0] = body0, d->body[1] = body1;
    for (int side = 0; side < 2; ++side) {
        const tni_body* body = &at->model->bodies[d->body[side]];
        d->dim[side]         = body->kind == TN_BODY_USER ? 0 : body->dim;
    }
    memset(d->G, 0, sizeof d->G);
}

// A feature at the evaluated configuration: B has dim columns.
typedef struct evaluated_feature {
    tn_vec3 rate, arm;
    double  B[3 * TNI_DERIVED_DIM_MAX];
} evaluated_feature;

static evaluated_feature evaluate_feature(const tni_derivation* d, const tni_feature* X)
{
    const tni_body*  body = &d->at->model->bodies[d->body[X->side]];
    const tni_view*  view = &d->at->views[d->body[X->side]];
    const tni_motion motion =
        X->point ? tni_point_motion(body, view, X->local) : tni_axis_motion(body, view, X->local);
    const tn_vec3     none = {0, 0, 0};
    const tni_mat3    F    = tni_columns(X->local, none, none);
    evaluated_feature s    = {.rate = motion.rate, .arm = tni_mul(&view->R, X->local)};
    for (int k = 0; k < 3 && d->dim[X->side] > 0; ++k) {
        const tn_vec3 e    = {k == 0, k == 1, k == 2};
        tni_push      push = {.on_axis = {!X->point, false, false}};
        if (X->point) push.force = e;
        else push.axis[0] = e;
        tni_push_row(body, view, X->local, &F, &push, s.B + k * d->dim[X->side]);
    }
    return s;
}

static bool is_zero(const tni_mat3* Q)
{
    for (int i = 0; i < 9; ++i) {
        if (Q->m[i] != 0) return false;
    }
    return true;
}

// row += v^T B,  B being 3 x dim
static void add_row(tn_vec3 v, const double* B, int dim, double* row)
{
    for (int j = 0; j < dim; ++j) row[j] += v.x * B[j] + v.y * B[dim + j] + v.z * B[2 * dim + j];
}

// G += tau A^T M B
static void add_product(double tau, const double* A, int rows, const tni_mat3* M, const double* B,
                        int columns, double* G)
{
    for (int i = 0; i < rows; ++i) {
        const tn_vec3 a = {tau * A[i], tau * A[rows + i], tau * A[2 * rows + i]};
        add_row(tni_mul_t(M, a), B, columns, G + i * columns);
    }
}

// Terms of a feature on a rotating body: the rotation of its arm.
static void add_rotation(tni_derivation* d, int side, tn_vec3 g, tn_vec3 r, double tau, double* R)
{
    const tni_body* body = &d->at->model->bodies[d->body[side]];
    const tn_vec3   w    = d->at->views[d->body[side]].w;
    const tn_vec3   rate = tni_neg(tni_cross(r, tni_cross(w, g)));
    double*         G    = d->G[side][side];
    if (body->kind == TN_BODY_PLANAR && d->dim[side] > 0) {
        R[2] += rate.z;
        G[8] += tau * (r.z * g.z - tni_dot(g, r));
    }
    if (body->kind != TN_BODY_RIGID || d->dim[side] == 0) return;
    const double a[3] = {r.x, r.y, r.z}, b[3] = {g.x, g.y, g.z}, gr = tni_dot(g, r);
    tni_accumulate(R + 3, rate);
    for (int i = 0; i < 3; ++i) // [g]x[r]x = r g^T - (g.r) 1
        for (int j = 0; j < 3; ++j)
            G[(3 + i) * 6 + 3 + j] += tau * (a[i] * b[j] - (i == j ? gr : 0));
}

static void add_function(tni_derivation* d, const tni_derived_row* row, const evaluated_feature* s,
                         double tau, double* const J[2], double* const R[2])
{
    for (int x = 0; x < row->count; ++x) {
        const int side = row->X[x].side, dim = d->dim[side];
        add_row(row->g[x], s[x].B, dim, J[side]);
        add_rotation(d, side, row->g[x], s[x].arm, tau, R[side]);
        for (int y = 0; y < row->count; ++y) {
            const tni_mat3* Q     = &row->Q[x][y];
            const int       other = row->X[y].side;
            if (is_zero(Q)) continue;
            add_row(tni_mul_t(Q, s[x].rate), s[y].B, d->dim[other], R[other]);
            add_product(tau, s[x].B, dim, Q, s[y].B, d->dim[other], d->G[side][other]);
        }
    }
}

static void add_torque(tni_derivation* d, const tni_derived_row* row, const evaluated_feature* s,
                       double tau, double* const J[2], double* const R[2])
{
    const tni_view* views = d->at->views;
    const tn_vec3   turn  = tni_sub(views[d->body[1]].w, views[d->body[0]].w);
    const tni_mat3  none  = {{0}};
    for (int y = 0; y < row->count; ++y)
        add_row(tni_mul_t(&row->T[y], turn), s[y].B, d->dim[row->X[y].side], R[row->X[y].side]);
    for (int side = 0; side < 2; ++side) {
        const tni_body* body = &d->at->model->bodies[d->body[side]];
        const double    sign = side == 1 ? 1 : -1;
        double          W[3 * TNI_DERIVED_DIM_MAX]; // of the angular velocity
        if (d->dim[side] == 0) continue;
        for (int k = 0; k < 3; ++k) {
            const tni_push push = {.torque = {sign * (k == 0), sign * (k == 1), sign * (k == 2)}};
            tni_push_row(body, &views[d->body[side]], tni_vec3(0, 0, 0), &none, &push,
                         W + k * d->dim[side]);
        }
        add_row(row->torque, W, d->dim[side], J[side]);
        for (int y = 0; y < row->count; ++y) {
            const int other = row->X[y].side;
            add_product(tau, W, d->dim[side], &row->T[y], s[y].B, d->dim[other], d->G[side][other]);
        }
    }
}

void tni_derivation_add(tni_derivation* d, const tni_derived_row* row, double tau)
{
    evaluated_feature s[TNI_FEATURES_MAX];
    double *          J[2], *R[2];
    TN_ASSERT(d->row_count < TNI_DERIVED_ROWS_MAX);
    for (int side = 0; side < 2; ++side) {
        J[side] = d->J[side] + d->row_count * d->dim[side];
        R[side] = d->R[side] + d->row_count * d->dim[side];
        memset(J[side], 0, sizeof(double) * (size_t)d->dim[side]);
        memset(R[side], 0, sizeof(double) * (size_t)d->dim[side]);
    }
    for (int x = 0; x < row->count; ++x) s[x] = evaluate_feature(d, &row->X[x]);
    add_function(d, row, s, tau, J, R);
    add_torque(d, row, s, tau, J, R);
    ++d->row_count;
}

// out += J_b^T C X_c
static void add_between(const tni_derivation* d, int b, const double* C, const double* X, int c,
                        double* out)
{
    const int n = d->row_count;
    for (int k = 0; C != NULL && k < n; ++k) {
        double row[TNI_DERIVED_DIM_MAX] = {0};
        for (int l = 0; l < n; ++l)
            for (int j = 0; j < d->dim[c]; ++j) row[j] += C[k * n + l] * X[l * d->dim[c] + j];
        for (int i = 0; i < d->dim[b]; ++i)
            for (int j = 0; j < d->dim[c]; ++j)
                out[i * d->dim[c] + j] += d->J[b][k * d->dim[b] + i] * row[j];
    }
}

void tni_derivation_end(const tni_derivation* d, const double* K, const double* D,
                        tni_take_derivative* take, void* user)
{
    double dq[TNI_DERIVED_DIM_MAX * TNI_DERIVED_DIM_MAX], du[sizeof dq / sizeof dq[0]];
    for (int b = 0; b < 2; ++b) {
        for (int c = 0; c < 2; ++c) {
            const int size = d->dim[b] * d->dim[c];
            if (size == 0) continue;
            for (int i = 0; i < size; ++i) dq[i] = -d->G[b][c][i], du[i] = 0;
            add_between(d, b, K, d->J[c], c, dq);
            add_between(d, b, D, d->R[c], c, dq);
            add_between(d, b, D, d->J[c], c, du);
            take(user, d->body[b], d->body[c], dq, du);
        }
    }
}
