// tree_form_dense: joints of any kind in the null-space form, and roots without a joint. Dense 6 x
// 6 algebra at the centre of mass.
//
// J_a^T = Q R gives S (the remaining columns of Q) and p = Q R^-T r. Soft rows have the impulse s =
// g - W (Ja (p + S q) + Y y), Y = Ja + Jb X^-1: zero, except for the stiffness of a distance joint
// under tension, which resists rotation as a whole.
//
//     D  = S^T A S + (Ja S)^T W (Ja S),    G = S^T A + (Ja S)^T W Y
//     A' = A + Y^T W Y - G^T D^-1 G,       b' = b - A p + Y^T (g - W Ja p) - G^T q0
//     q0 = D^-1 (S^T (b - A p) + (Ja S)^T (g - W Ja p)),   q = q0 - D^-1 G y
//     J_a^T mu = b' - A' y + (Ja - Y)^T s
#include "system/geometric_stiffness.h"
#include "system/tree_form_link.h"

// a (n x n, row-major) <- L below, 1 / d on the diagonal. False when d is not positive.
static bool ldl(int n, double* a)
{
    bool good = true;
    for (int j = 0; j < n; ++j) {
        double d = a[j * n + j];
        for (int k = 0; k < j; ++k) d -= a[j * n + k] * a[j * n + k] / a[k * n + k];
        good         = good && d > 0;
        a[j * n + j] = 1 / d;
        for (int i = j + 1; i < n; ++i) {
            double x = a[i * n + j];
            for (int k = 0; k < j; ++k) x -= a[i * n + k] * a[j * n + k] / a[k * n + k];
            a[i * n + j] = x / d;
        }
    }
    return good;
}

static void ldl_solve(int n, const double* a, double* x)
{
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < i; ++k) x[i] -= a[i * n + k] * x[k];
    for (int i = n; i-- > 0;) {
        x[i] *= a[i * n + i];
        for (int k = i + 1; k < n; ++k) x[i] -= a[k * n + i] * x[k];
    }
}

// c (n x m) = a (n x k) b (k x m), all row-major; at: a is (k x n)^T.
void tni_link_multiply(int n, int k, int m, bool at, const double* a, const double* b, double* c)
{
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < m; ++j) {
            double sum = 0;
            for (int l = 0; l < k; ++l) sum += (at ? a[l * n + i] : a[i * k + l]) * b[l * m + j];
            c[i * m + j] = sum;
        }
}

// Householder QR: columns of Q (6, one after the other) and R, rows x rows, of the 6 x rows matrix
// whose columns are the rows of J. False when these are dependent.
static bool factor_rows(int rows, const double* J, double* Q, double* R)
{
    double A[36];
    bool   good = true;
    memcpy(A, J, sizeof(double) * (size_t)(6 * rows));
    for (int i = 0; i < 36; ++i) Q[i] = i % 7 == 0;
    for (int k = 0; k < rows; ++k) {
        double norm2 = 0, *a = A + 6 * k, v[6] = {0};
        double whole = tni_dot(tni_read3(J + 6 * k), tni_read3(J + 6 * k)) +
                       tni_dot(tni_read3(J + 6 * k + 3), tni_read3(J + 6 * k + 3));
        for (int i = k; i < 6; ++i) norm2 += a[i] * a[i];
        good               = good && norm2 > 1e-26 * whole;
        const double alpha = a[k] > 0 ? -sqrt(norm2) : sqrt(norm2);
        for (int i = k; i < 6; ++i) v[i] = a[i];
        v[k] -= alpha;
        const double beta = norm2 - alpha * a[k]; // |v|^2 / 2
        for (int j = 0; j < rows + 6; ++j) {      // columns of A, then Q's rows
            double *  to = j < rows ? A + 6 * j : Q + (j - rows), dot = 0;
            const int step = j < rows ? 1 : 6;
            for (int i = k; i < 6; ++i) dot += v[i] * to[i * step];
            for (int i = k; i < 6; ++i) to[i * step] -= v[i] * (dot / beta);
        }
    }
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < rows; ++j) R[i * rows + j] = i <= j ? A[6 * j + i] : 0;
    return good;
}

// ---- The joint ----------------------------------------------------------------------------------

// Converts J_b to y = X u_b, b's velocity moved by d.
static void back_to_y(int rows, tn_vec3 d, double* J)
{
    for (int i = 0; i < rows; ++i) {
        const tn_vec3 v = tni_read3(J + 6 * i), w = tni_read3(J + 6 * i + 3);
        tni_write3(J + 6 * i + 3, tni_sub(w, tni_cross(d, v)));
    }
}

static double dot6(const double* a, const double* b)
{
    double sum = 0;
    for (int k = 0; k < 6; ++k) sum += a[k] * b[k];
    return sum;
}

// The constraint rows on a into Ja, their targets into r.
static void hard_rows(const tni_tree_form* ns, const tni_link* a, double* Ja, double* r)
{
    const tn_model*        model  = ns->model;
    const tni_constraint*  of     = &model->constraints[a->constraint];
    const tni_step_start*  start  = ns->start;
    const tni_step_scheme* scheme = ns->scheme;
    double                 Jb[36], C[6], rate[6], gamma[6], *J[2];
    const int              ub = a->parent >= 0 ? ns->links[a->parent].u : -1;
    for (int e = 0; e < of->edge_count; ++e)
        J[e] = model->edge_body[of->edge_start + e] == a->body ? Ja : Jb;
    tni_constraint_rows(model, of, ns->system->views, scheme->time, start->at.z,
                        &(tni_rows_out){C, rate, gamma, J, NULL});
    for (int i = 0; i < of->row_count; ++i) {
        double own   = dot6(Ja + 6 * i, start->at.u + a->u),
               drift = scheme->drift != NULL ? dot6(Ja + 6 * i, scheme->drift + a->u) : 0;
        if (ub >= 0) own += dot6(Jb + 6 * i, start->at.u + ub);
        if (ub >= 0 && scheme->drift != NULL) drift += dot6(Jb + 6 * i, scheme->drift + ub);
        r[i] =
            tni_row_target(start, scheme, i < of->held_count, C[i], rate[i] - own, drift, gamma[i]);
    }
}

// g <- the impulse of a distance joint's stiffness along the drift.
static void turn_by_drift(const tni_tree_form* ns, const tni_link* a, const tni_mat3* K,
                          const double* Ja, const double* Jb, double* g)
{
    const double *drift = ns->scheme->drift, s = -ns->e * ns->scheme->h;
    double        moved[3];
    if (drift == NULL) return;
    for (int i = 0; i < 3; ++i) {
        moved[i] = dot6(Ja + 6 * i, drift + a->u);
        if (a->parent >= 0) moved[i] += dot6(Jb + 6 * i, drift + ns->links[a->parent].u);
    }
    tni_write3(g, tni_scale(s, tni_mul(K, tni_read3(moved))));
}

// Soft rows of the joint force, or the geometric stiffness of a distance joint.
static void soft_rows_of(tni_tree_form* ns, const tni_link* a, tn_vec3 d, tni_link_soft* s)
{
    const tni_joint* joint = &ns->model->joints[a->joint];
    const tni_sides  sides = tni_sides_of(joint, ns->system->views);
    double           W[TNI_SOFT_ROWS_MAX * TNI_SOFT_ROWS_MAX], g[TNI_SOFT_ROWS_MAX] = {0};
    double           Jb[TNI_LINK_SOFT_MAX * 6] = {0};
    s->count                                   = 0;
    if (a->actuation >= 0) {
        tni_soft      soft;
        const double* Ja = tni_link_soften(ns, a, &soft, W, g);
        s->count         = soft.row_count;
        memcpy(s->Ja, Ja, sizeof(double) * (size_t)(6 * s->count));
        if (a->parent >= 0)
            memcpy(Jb, soft.J[a->form->sign < 0], sizeof(double) * (size_t)(6 * s->count));
    } else if (tni_holds_distance(joint) && ns->start->multipliers != NULL) {
        const tni_mat3 K    = tni_geometric_stiffness_between(ns->model, joint, sides,
                                                              ns->start->multipliers[a->row]);
        const tn_vec3  p    = a->form->sign > 0 ? joint->p2 : joint->p1;
        const tn_vec3  r[2] = {tni_mul(&ns->system->views[a->body].R, p),
                               tni_mul(&ns->system->views[a->other].R, a->form->anchor)};
        s->count            = 3;
        for (int i = 0; i < 9; ++i) W[i] = ns->e * ns->e * K.m[i];
        for (int i = 0; i < 3; ++i) {
            const tn_vec3 axis = {i == 0, i == 1, i == 2};
            tni_write3(s->Ja + 6 * i, axis);
            tni_write3(s->Ja + 6 * i + 3, tni_cross(r[0], axis));
            if (a->parent < 0) continue;
            tni_write3(Jb + 6 * i, tni_neg(axis));
            tni_write3(Jb + 6 * i + 3, tni_neg(tni_cross(r[1], axis)));
        }
        turn_by_drift(ns, a, &K, s->Ja, Jb, g);
    }
    memcpy(s->W, W, sizeof(double) * (size_t)(s->count * s->count));
    memcpy(s->g, g, sizeof(double) * (size_t)s->count);
    back_to_y(s->count, d, Jb);
    for (int i = 0; i < 6 * s->count; ++i) s->Y[i] = a->parent >= 0 ? s->Ja[i] + Jb[i] : 0;
}

static void spread(const tni_articulated_inertia* B, double* A)
{
    const double*  H = B->H.m;
    const tni_sym *M = &B->M, *I = &B->I;
    const double   m[9] = {M->xx, M->xy, M->xz, M->xy, M->yy, M->yz, M->xz, M->yz, M->zz},
                 w[9]   = {I->xx, I->xy, I->xz, I->xy, I->yy, I->yz, I->xz, I->yz, I->zz};
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            A[6 * i + j] = m[3 * i + j], A[6 * (3 + i) + 3 + j] = w[3 * i + j];
            A[6 * i + 3 + j] = H[3 * i + j], A[6 * (3 + j) + i] = H[3 * i + j];
        }
}

// D, G, A' of a joint whose Q and soft rows are set.
static bool reduce_other(tni_link_dense* o)
{
    const int            n = 6 - o->rows, m = o->soft.count;
    const double*        S           = o->Q + 6 * o->rows; // n x 6, rows are directions
    const tni_link_soft* s           = &o->soft;
    double SJ[TNI_LINK_SOFT_MAX * 6] = {0}, WY[TNI_LINK_SOFT_MAX * 6], add[36], AS[36], DG[36];
    tni_link_multiply(n, 6, 6, false, S, o->A, o->G);
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) SJ[i * n + j] = dot6(s->Ja + 6 * i, S + 6 * j);
    tni_link_multiply(m, m, n, false, s->W, SJ, o->SW);
    tni_link_multiply(m, m, 6, false, s->W, s->Y, WY);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) o->D[i * n + j] = dot6(o->G + 6 * i, S + 6 * j);
    tni_link_multiply(n, m, n, true, SJ, o->SW, add);
    for (int i = 0; i < n * n; ++i) o->D[i] += add[i];
    tni_link_multiply(n, m, 6, true, o->SW, s->Y, add);
    for (int i = 0; i < n * 6; ++i) o->G[i] += add[i];
    const bool good = ldl(n, o->D);
    for (int j = 0; j < 6; ++j) {
        double x[6];
        for (int i = 0; i < n; ++i) x[i] = o->G[6 * i + j];
        ldl_solve(n, o->D, x);
        for (int i = 0; i < n; ++i) DG[6 * i + j] = x[i];
    }
    tni_link_multiply(6, n, 6, true, o->G, DG, AS);
    tni_link_multiply(6, m, 6, true, s->Y, WY, add);
    for (int i = 0; i < 36; ++i) o->left[i] = o->A[i] + add[i] - AS[i];
    return good;
}

// p from the targets of the constraint rows: R^T z = r.
static void p_other(tni_link_dense* o, const double* r)
{
    double z[6];
    for (int k = 0; k < 6; ++k) o->p[k] = 0;
    for (int i = 0; i < o->rows; ++i) {
        z[i] = r[i];
        for (int k = 0; k < i; ++k) z[i] -= o->R[k * o->rows + i] * z[k];
        z[i] /= o->R[i * o->rows + i];
        for (int k = 0; k < 6; ++k) o->p[k] += z[i] * o->Q[6 * i + k];
    }
}

// g: of the soft rows; NULL: zero. b <- b'.
static void pass_other(tni_link_dense* o, const double* g, double* b)
{
    const int            n = 6 - o->rows, m = o->soft.count;
    const double*        S = o->Q + 6 * o->rows;
    const tni_link_soft* s = &o->soft;
    for (int i = 0; i < m; ++i) { // impulse of the soft rows where q = y = 0
        o->push[i] = g != NULL ? g[i] : 0;
        for (int k = 0; k < m; ++k) o->push[i] -= s->W[i * m + k] * dot6(s->Ja + 6 * k, o->p);
    }
    for (int k = 0; k < 6; ++k) o->b[k] = b[k] - dot6(o->A + 6 * k, o->p);
    for (int j = 0; j < n; ++j) {
        o->q[j] = dot6(S + 6 * j, o->b);
        for (int i = 0; i < m; ++i) o->q[j] += dot6(s->Ja + 6 * i, S + 6 * j) * o->push[i];
    }
    ldl_solve(n, o->D, o->q);
    for (int k = 0; k < 6; ++k) {
        for (int i = 0; i < m; ++i) o->b[k] += s->Y[6 * i + k] * o->push[i];
        for (int j = 0; j < n; ++j) o->b[k] -= o->G[6 * j + k] * o->q[j];
        b[k] = o->b[k];
    }
}

static void stiffen_other(const tni_tree_form* ns, const tni_link* a, tni_articulated_inertia* B,
                          tni_sym* K)
{
    const tni_joint* joint = &ns->model->joints[a->joint];
    const tni_view*  views = ns->system->views;
    const tni_sides  sides = tni_sides_of(joint, views);
    tn_vec3 f = tni_joint_reaction(ns->model, joint, sides, ns->start->at.time, ns->start->at.z,
                                   ns->start->multipliers + a->row)
                    .force;
    const tn_vec3 at = tni_add(sides.view2->x, tni_mul(&sides.view2->R, joint->p2));
    tni_link_stiffen(ns, tni_scale(a->form->sign, f), tni_sub(at, views[a->body].x),
                     tni_sub(at, views[a->other].x), &B->I, K);
}

bool tni_link_begin_other(tni_tree_form* ns, const tni_link* a, tni_articulated_inertia* B,
                          tni_sym* K)
{
    tni_link_dense* o     = &ns->denses[a->more];
    const tni_view* views = ns->system->views;
    double          Ja[36], r[6] = {0}, b[6];
    tn_vec3         d    = {0, 0, 0};
    bool            good = true;
    o->rows = o->soft.count = 0;
    if (a->joint >= 0) {
        const tni_joint* joint = &ns->model->joints[a->joint];
        o->rows                = ns->model->constraints[a->constraint].row_count;
        const tni_view *va = &views[a->body], *vb = &views[a->other];
        d = tni_sub(va->x, vb->x);
        if (a->points)
            d = tni_sub(tni_mul(&vb->R, a->form->anchor),
                        tni_mul(&va->R, a->form->sign > 0 ? joint->p2 : joint->p1));
        if (ns->start->multipliers != NULL) stiffen_other(ns, a, B, K);
        hard_rows(ns, a, Ja, r);
        soft_rows_of(ns, a, d, &o->soft);
    }
    o->d = d;
    good = factor_rows(o->rows, Ja, o->Q, o->R) && good;
    spread(B, o->A);
    good = reduce_other(o) && good;
    p_other(o, r);
    tni_write3(b, B->f), tni_write3(b + 3, B->t);
    pass_other(o, o->soft.g, b);
    const double* A = o->left;
    *B              = (tni_articulated_inertia){
                     .M = {A[0], A[6], A[12], A[7], A[13], A[14]},
                     .H = {{A[3], A[4], A[5], A[9], A[10], A[11], A[15], A[16], A[17]}},
                     .I = {A[21], A[27], A[33], A[28], A[34], A[35]},
                     .f = tni_read3(b),
                     .t = tni_read3(b + 3)};
    return good;
}

void tni_link_pass_other(tni_tree_form* ns, const tni_link* a, const double* r, tn_vec3* f,
                         tn_vec3* t)
{
    tni_link_dense* o    = &ns->denses[a->more];
    double          b[6] = {f->x, f->y, f->z, t->x, t->y, t->z};
    p_other(o, r);
    pass_other(o, NULL, b);
    *f = tni_read3(b), *t = tni_read3(b + 3);
}

void tni_link_end_other(const tni_tree_form* ns, const tni_link* a, tn_vec3 v, tn_vec3 wb,
                        double* u, double* mu)
{
    const tni_link_dense* o = &ns->denses[a->more];
    const int             n = 6 - o->rows, m = o->soft.count;
    const double *        S = o->Q + 6 * o->rows, y[6] = {v.x, v.y, v.z, wb.x, wb.y, wb.z};
    const tni_link_soft*  s = &o->soft;
    double                Gy[6], f[6];
    tni_link_multiply(n, 6, 1, false, o->G, y, Gy);
    ldl_solve(n, o->D, Gy);
    for (int k = 0; k < 6; ++k) u[k] = y[k] + o->p[k];
    for (int j = 0; j < n; ++j)
        for (int k = 0; k < 6; ++k) u[k] += S[6 * j + k] * (o->q[j] - Gy[j]);
    for (int k = 0; k < 6; ++k) f[k] = o->b[k] - dot6(o->left + 6 * k, y);
    for (int i = 0; i < m; ++i) {
        double push = o->push[i];
        for (int j = 0; j < n; ++j) push -= o->SW[i * n + j] * (o->q[j] - Gy[j]);
        for (int k = 0; k < m; ++k) push -= s->W[i * m + k] * dot6(s->Y + 6 * k, y);
        for (int k = 0; k < 6; ++k) f[k] += (s->Ja[6 * i + k] - s->Y[6 * i + k]) * push;
    }
    for (int i = o->rows; i-- > 0;) { // R mu = Q^T f
        mu[i] = dot6(o->Q + 6 * i, f);
        for (int k = i + 1; k < o->rows; ++k) mu[i] -= o->R[i * o->rows + k] * mu[k];
        mu[i] /= o->R[i * o->rows + i];
    }
}
