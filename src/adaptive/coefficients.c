// coefficients: nodes of the assembly tree, from leaves to the root and back (Featherstone 1999;
// Redon, Galoppo and Lin 2005, sections 3 and 5, but every handle has a frame of its own).
//
// A node responds to forces f on its handles with accelerations  a = Phi f + b.  Leaf:
//
//     Phi = I^-1,   b = I^-1 (f_ext - v x* I v)
//
// Joint j holds handle `at` of A and handle 0 of B (frame j, X from the link that it leads out of
// to j). With H = [ X Phi_A(at, kept), -Phi_B(0, kept) ]:
//
//     V  = ( X Phi_A(at, at) X^T + Phi_B(0, 0) )^-1       positive definite, as leaves are
//     D  = ( S^T V S + K )^-1,   U = D S^T V,   W = V - V S U
//     beta  = X b_A(at) - b_B(0) + c,   gamma = W beta + V S D Q,   R = D Q - U beta
//     Phi_C = diag(Phi_A, Phi_B)(kept, kept) - H^T W H,   b_C = (b_A; b_B)(kept) - H^T gamma
//
// and back, from f of C:   fc = W H f + gamma,   qddot = R - U H f;   fc is added to B's force 0,
// -X^T fc to A's force `at`. Root: Phi_A = 0 and X b_A is the acceleration of the world. A joint
// with all six freedoms, S = 1, K = 0, has U = 1 and W = 0, set directly.
//
// A node that moves as one rigid body, with angular velocity w of its base link: adding a constant
// velocity to all of it changes no force and no relative acceleration, so with m(w) = (wx^2, wy^2,
// wz^2, wy wz, wx wz, wx wy, 1)
//
//     b_k = B_k m(w) - (0; w_k x v_k)                     w_k, v_k: the motion of handle k
//     leaf: B = -I^-1 (Gyr; mass Cen(com)), last column 0;  Gyr m = w x J w,
//     Cen(r) m = w x (w x r)
//     beta = Beta m,  Beta = X B_A(at) - B_B(0) R2 + (0; E Cen(r) R2(to_link)),
//     m_B = R2 m = m(to_b w)
//
// the last term of Beta because the origins of the two links differ. The rest is as above, column
// by column, Q in the column of the 1. The exact acceleration metric is made in
// coefficients_metric.c. Cost, hinge, 2 + 2 -> 2 handles: factors 3.2 kflop, 0.7 us (gcc 12 -O3,
// SSE2, one EPYC core). Fails if V^-1 or D^-1 is not positive definite.
#include "adaptive/coefficients_parts.h"

// ---- Small matrices -----------------------------------------------------------------------------

// V = M^-1 of a symmetric positive definite n x n matrix, n <= 6, by Cholesky M = L L^T. False: not
// positive definite.
TNI_INLINE bool invert(int n, const double* M, double* V)
{
    double L[36], Y[36]; // L, its diagonal inverted; Y = L^-1
    for (int j = 0; j < n; ++j) {
        double pivot = M[n * j + j];
        for (int k = 0; k < j; ++k) pivot -= L[n * j + k] * L[n * j + k];
        if (!(pivot > 0 && pivot < HUGE_VAL)) return false;
        const double s = 1 / sqrt(pivot);
        L[n * j + j]   = s;
        for (int i = j + 1; i < n; ++i) {
            double sum = M[n * i + j];
            for (int k = 0; k < j; ++k) sum -= L[n * i + k] * L[n * j + k];
            L[n * i + j] = sum * s;
        }
    }
    for (int j = 0; j < n; ++j) {
        Y[n * j + j] = L[n * j + j];
        for (int i = j + 1; i < n; ++i) {
            double sum = 0;
            for (int k = j; k < i; ++k) sum += L[n * i + k] * Y[n * k + j];
            Y[n * i + j] = -sum * L[n * i + i];
        }
    }
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j <= i; ++j) {
            double sum = 0;
            for (int k = i; k < n; ++k) sum += Y[n * k + i] * Y[n * k + j];
            V[n * i + j] = V[n * j + i] = sum;
        }
    }
    return true;
}

// out = X m for 6 x n m: columns are motions. stride: of m; out has rows of n.
TNI_INLINE void shift_columns(const tni_transform* X, int n, const double* m, int stride,
                              double* out)
{
    const double *E = X->E.m, x = X->r.x, y = X->r.y, z = X->r.z;
    for (int j = 0; j < n; ++j) {
        const double a = m[j], b = m[stride + j], c = m[2 * stride + j];
        const double u = m[3 * stride + j] - (y * c - z * b);
        const double v = m[4 * stride + j] - (z * a - x * c);
        const double w = m[5 * stride + j] - (x * b - y * a);
        out[j]         = E[0] * a + E[1] * b + E[2] * c;
        out[n + j]     = E[3] * a + E[4] * b + E[5] * c;
        out[2 * n + j] = E[6] * a + E[7] * b + E[8] * c;
        out[3 * n + j] = E[0] * u + E[1] * v + E[2] * w;
        out[4 * n + j] = E[3] * u + E[4] * v + E[5] * w;
        out[5 * n + j] = E[6] * u + E[7] * v + E[8] * w;
    }
}

// out = A B, rows x 6 times 6 x n.
TNI_INLINE void multiply(int rows, int n, const double* A, const double* B, double* out)
{
    for (int i = 0; i < rows; ++i) {
        double sum[TNI_FORCES];
        for (int j = 0; j < n; ++j) sum[j] = A[6 * i] * B[j];
        for (int k = 1; k < 6; ++k)
            for (int j = 0; j < n; ++j) sum[j] += A[6 * i + k] * B[n * k + j];
        for (int j = 0; j < n; ++j) out[n * i + j] = sum[j];
    }
}

// ---- m(w) ---------------------------------------------------------------------------------------

void tni_quadratic(tn_vec3 w, double* m)
{
    m[0] = w.x * w.x, m[1] = w.y * w.y, m[2] = w.z * w.z;
    m[3] = w.y * w.z, m[4] = w.x * w.z, m[5] = w.x * w.y, m[6] = 1;
}

void tni_quadratic_turn(const tni_mat3* E, double* R2)
{
    static const int first[6] = {0, 1, 2, 1, 0, 0}, second[6] = {0, 1, 2, 2, 2, 1};
    for (int i = 0; i < 6; ++i) {
        const double *p = E->m + 3 * first[i], *q = E->m + 3 * second[i];
        for (int j = 0; j < 3; ++j) R2[7 * i + j] = p[j] * q[j];
        for (int j = 3; j < 6; ++j)
            R2[7 * i + j] = p[first[j]] * q[second[j]] + p[second[j]] * q[first[j]];
        R2[7 * i + 6] = R2[42 + i] = 0;
    }
    R2[48] = 1;
}

// w x J w and s w x (w x r), 3 x 7 each, the first on top.
static void fill_leaf_bias(const tni_rigid_inertia* I, double* out)
{
    const tn_vec3 r        = I->moment;
    const double  bias[42] = {0,
                              I->yz,
                              -I->yz,
                              I->zz - I->yy,
                              -I->xy,
                              I->xz,
                              0, //
                              -I->xz,
                              0,
                              I->xz,
                              I->xy,
                              I->xx - I->zz,
                              -I->yz,
                              0, //
                              I->xy,
                              -I->xy,
                              0,
                              -I->xz,
                              I->yz,
                              I->yy - I->xx,
                              0, //
                              0,
                              -r.x,
                              -r.x,
                              0,
                              r.z,
                              r.y,
                              0, //
                              -r.y,
                              0,
                              -r.y,
                              r.z,
                              0,
                              r.x,
                              0, //
                              -r.z,
                              -r.z,
                              0,
                              r.y,
                              r.x,
                              0,
                              0};
    for (int i = 0; i < 42; ++i) out[i] = bias[i];
}

// ---- Leaves -------------------------------------------------------------------------------------

bool tni_leaf_position_terms(const tni_rigid_inertia* I, tni_position_terms* leaf)
{
    if (!tni_rigid_inertia_inverse(I, leaf->Phi)) return false;
    leaf->rows = leaf->force_rows = 0;
    if (!leaf->B) return true;
    double bias[42];
    fill_leaf_bias(I, bias);
    multiply(6, TNI_QUADRATIC, leaf->Phi, bias, leaf->B);
    for (int i = 0; i < 42; ++i) leaf->B[i] = -leaf->B[i];
    return true;
}

void tni_leaf_state_terms(const tni_rigid_inertia* I, const tni_position_terms* leaf, tni_spatial v,
                          tni_spatial force, tni_state_terms* out)
{
    double f[6];
    tni_spatial_write(f, tni_spatial_sub(force, tni_cross_force(v, tni_rigid_inertia_times(I, v))));
    multiply(6, 1, leaf->Phi, f, out->b);
    out->rows = out->force_rows = 0;
}

// ---- Factors ------------------------------------------------------------------------------------

static bool is_free(const tni_node_joint* join)
{
    if (join->d != 6) return false;
    bool free = true;
    for (int i = 0; i < 6; ++i) {
        double s[6];
        tni_spatial_write(s, join->S[i]);
        for (int k = 0; k < 6; ++k)
            free = free && s[k] == (i == k) && (!join->K || join->K[6 * i + k] == 0);
    }
    return free;
}

static void fill_free(const double* inverse, tni_factors* f)
{
    for (int i = 0; i < 36; ++i) {
        f->W[i] = 0;
        f->U[i] = f->VSD[i] = i % 7 == 0;
        f->D[i]             = inverse[i];
    }
}

// D, U, VSD; turns V, given in f->W, into W.
static bool fill_joint(const tni_node_joint* join, tni_factors* f)
{
    const int d = join->d;
    double *  V = f->W, S[36], VS[36], M[36]; // S: transposed, d x 6; VS: transposed, d x 6
    for (int i = 0; i < d; ++i) tni_spatial_write(S + 6 * i, join->S[i]);
    multiply(d, 6, S, V, VS);
    for (int i = 0; i < d; ++i) {
        for (int j = 0; j < d; ++j) {
            double sum = join->K ? join->K[d * i + j] : 0;
            for (int k = 0; k < 6; ++k) sum += S[6 * i + k] * VS[6 * j + k];
            M[d * i + j] = sum;
        }
    }
    if (d == 1) {
        if (!(M[0] > 0 && M[0] < HUGE_VAL)) return false;
        f->D[0] = 1 / M[0];
    } else if (!invert(d, M, f->D)) {
        return false;
    }
    for (int i = 0; i < d; ++i) {
        for (int k = 0; k < 6; ++k) {
            double sum = 0;
            for (int j = 0; j < d; ++j) sum += f->D[d * i + j] * VS[6 * j + k];
            f->U[6 * i + k] = f->VSD[d * k + i] = sum;
        }
    }
    for (int i = 0; i < 6; ++i) {
        for (int k = 0; k <= i; ++k) {
            double sum = V[6 * i + k];
            for (int j = 0; j < d; ++j) sum -= VS[6 * j + i] * f->U[6 * j + k];
            V[6 * i + k] = V[6 * k + i] = sum;
        }
    }
    return true;
}

// H: the kept columns of P = X Phi_A(at, .), then those of -Phi_B(0, .).
static void fill_across(const tni_node* node, const double* P, int cols_a, const double* Phi_b,
                        int cols_b, double* H)
{
    const int n = 6 * node->handle_count;
    for (int k = 0; k < node->keep_a; ++k)
        for (int i = 0; i < 6; ++i)
            for (int j = 0; j < 6; ++j)
                H[n * i + 6 * k + j] = P[cols_a * i + 6 * node->kept_a[k] + j];
    for (int k = 0; k < node->keep_b; ++k)
        for (int i = 0; i < 6; ++i)
            for (int j = 0; j < 6; ++j)
                H[n * i + 6 * (node->keep_a + k) + j] =
                    -Phi_b[cols_b * i + 6 * node->kept_b[k] + j];
}

// Upper blocks of the kept handles of a child's Phi, at row and column `at` of Phi.
static void fill_kept(const double* from, int cols, int count, const uint8_t* kept, double* Phi,
                      int n, int at)
{
    for (int k = 0; k < count; ++k)
        for (int l = k; l < count; ++l)
            for (int i = 0; i < 6; ++i)
                for (int j = 0; j < 6; ++j)
                    Phi[n * (at + 6 * k + i) + at + 6 * l + j] =
                        from[cols * (6 * kept[k] + i) + 6 * kept[l] + j];
}

// Phi -= H^T (W H): the upper blocks; then the lower half is mirrored.
TNI_INLINE void subtract_across(int n, const double* H, const double* WH, double* Phi)
{
    for (int i = 0; i < n; ++i) {
        const int first = i - i % 6;
        for (int c = first; c < n; c += 6) {
            double sum[6];
            for (int j = 0; j < 6; ++j) sum[j] = Phi[n * i + c + j];
            for (int k = 0; k < 6; ++k)
                for (int j = 0; j < 6; ++j) sum[j] -= H[n * k + i] * WH[n * k + c + j];
            for (int j = 0; j < 6; ++j) Phi[n * i + c + j] = sum[j];
        }
    }
    for (int i = 1; i < n; ++i)
        for (int j = 0; j < i; ++j) Phi[n * i + j] = Phi[n * j + i];
}

TNI_INLINE void fill_inverse(const tni_node* node, int n, int cols_a, const double* Phi_a,
                             int cols_b, const double* Phi_b, tni_factors* f, double* Phi)
{
    multiply(6, n, f->W, f->H, f->WH);
    if (!Phi) return;
    const int at = 6 * node->keep_a;
    if (Phi_a) fill_kept(Phi_a, cols_a, node->keep_a, node->kept_a, Phi, n, 0);
    fill_kept(Phi_b, cols_b, node->keep_b, node->kept_b, Phi, n, at);
    for (int i = 0; i < at; ++i)
        for (int j = at; j < n; ++j) Phi[n * i + j] = 0;
    subtract_across(n, f->H, f->WH, Phi);
}

bool tni_join_factor(const tni_node* node, const tni_node* node_a, const tni_node* node_b,
                     const tni_node_joint* join, const double* Phi_a, const double* Phi_b,
                     tni_factors* factors, double* Phi)
{
    const int cols_a = Phi_a ? 6 * node_a->handle_count : 0, cols_b = 6 * node_b->handle_count;
    double    P[6 * TNI_FORCES], T[36], Y[36], inverse[36];
    factors->d = join->d;
    for (int i = 0; i < 6; ++i)
        for (int j = 0; j < 6; ++j) inverse[6 * i + j] = Phi_b[cols_b * i + j];
    if (Phi_a) {
        shift_columns(&join->X, cols_a, Phi_a + 6 * cols_a * node->at, cols_a, P);
        for (int i = 0; i < 6; ++i)
            for (int j = 0; j < 6; ++j) T[6 * i + j] = P[cols_a * j + 6 * node->at + i];
        shift_columns(&join->X, 6, T, 6, Y);
        for (int i = 0; i < 36; ++i) inverse[i] += Y[i];
    }
    if (is_free(join)) {
        fill_free(inverse, factors);
    } else {
        if (!invert(6, inverse, factors->W)) return false;
        if (join->d > 0 && !fill_joint(join, factors)) return false;
    }
    fill_across(node, P, cols_a, Phi_b, cols_b, factors->H);
    switch (node->handle_count) { // loops of constant size are faster
    case 0: break;
    case 1: fill_inverse(node, 6, cols_a, Phi_a, cols_b, Phi_b, factors, Phi); break;
    case 2: fill_inverse(node, 12, cols_a, Phi_a, cols_b, Phi_b, factors, Phi); break;
    default: fill_inverse(node, 18, cols_a, Phi_a, cols_b, Phi_b, factors, Phi); break;
    }
    return true;
}

// ---- Linear parts -------------------------------------------------------------------------------

// gamma = W beta + V S D Q and R = D Q - U beta, `cols` columns, Q in the last one.
TNI_INLINE void fill_linear(const tni_factors* f, int cols, const double* beta, const double* Q,
                            double* gamma, double* R)
{
    const int d = f->d;
    multiply(6, cols, f->W, beta, gamma);
    multiply(d, cols, f->U, beta, R);
    for (int i = 0; i < d * cols; ++i) R[i] = -R[i];
    if (!Q) return;
    for (int j = 0; j < d; ++j) {
        for (int i = 0; i < 6; ++i) gamma[cols * i + cols - 1] += f->VSD[d * i + j] * Q[j];
        for (int i = 0; i < d; ++i) R[cols * i + cols - 1] += f->D[d * i + j] * Q[j];
    }
}

// b -= H^T gamma, `cols` columns.
TNI_INLINE void subtract_linear(int n, int cols, const double* H, const double* gamma, double* b)
{
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < 6; ++k)
            for (int j = 0; j < cols; ++j) b[cols * i + j] -= H[n * k + i] * gamma[cols * k + j];
}

// gamma, R and, unless NULL, b. from: acceleration of the joint's predecessor side with bias, frame
// of b's base.
static void state_linear(const tni_node* node, const tni_factors* factors, const double* Q,
                         tni_spatial from, const double* b_a, const double* b_b, double* gamma,
                         double* R, double* b)
{
    double beta[6];
    tni_spatial_write(beta, tni_spatial_sub(from, tni_spatial_read(b_b)));
    fill_linear(factors, 1, beta, Q, gamma, R);
    if (!b) return;
    double* to = b;
    for (int k = 0; k < node->keep_a; ++k)
        for (int i = 0; i < 6; ++i) *to++ = b_a[6 * node->kept_a[k] + i];
    for (int k = 0; k < node->keep_b; ++k)
        for (int i = 0; i < 6; ++i) *to++ = b_b[6 * node->kept_b[k] + i];
    subtract_linear(6 * node->handle_count, 1, factors->H, gamma, b);
}

static tni_spatial to_joint(const tni_node* node, const tni_node_joint* join,
                            const tni_state_terms* a)
{
    return tni_transform_motion(&join->X, tni_spatial_read(a->b + 6 * node->at));
}

static tni_metric_factor factor_of(const tni_state_terms* m)
{
    return m ? (tni_metric_factor){m->G, m->rows, m->force_rows, m->lead} : (tni_metric_factor){0};
}

void tni_join_state_terms(const tni_node* node, const tni_node* node_a, const tni_node* node_b,
                          const tni_node_joint* join, const tni_factors* factors, const double* Q,
                          double weight, tni_spatial c, const tni_spatial* root,
                          const tni_state_terms* a, const tni_state_terms* b, double* gamma,
                          double* R, tni_state_terms* out)
{
    TN_ASSERT((a != NULL) != (root != NULL));
    const tni_spatial from = tni_spatial_add(root ? *root : to_joint(node, join, a), c);
    state_linear(node, factors, Q, from, a ? a->b : NULL, b->b, gamma, R, out ? out->b : NULL);
    if (!out) return;
    tni_metric_factor form = {out->G, 0, 0, out->lead};
    if (out->G) {
        const tni_metric_joint how = {node, node_a, node_b, &join->X, factors,
                                      1,    gamma,  R,      weight,   NULL};
        tni_metric_assemble(&how, factor_of(a), factor_of(b), NULL, &form);
    }
    out->rows = form.rows, out->force_rows = form.force_rows;
}

void tni_join_update_state_terms(const tni_node* node, const tni_node* node_a,
                                 const tni_node* node_b, const tni_node_joint* join,
                                 const tni_factors* factors, const double* Q, double weight,
                                 const tni_position_terms* position, const tni_state_terms* a,
                                 const tni_state_terms* b, double* gamma, double* R,
                                 tni_state_terms* out)
{
    state_linear(node, factors, Q, to_joint(node, join, a), a->b, b->b, gamma, R, out->b);
    tni_metric_factor form = {out->G, 0, 0, position->lead};
    if (out->G) {
        const tni_metric_joint how = {node, node_a, node_b, &join->X, factors,
                                      1,    gamma,  R,      weight,   NULL};
        tni_metric_update_last(&how, factor_of(a), factor_of(b), position, &form);
    }
    out->rows = form.rows, out->force_rows = form.force_rows, out->lead = position->lead;
}

int tni_reflections_size(const tni_node* node, const tni_node* node_a, const tni_node* node_b,
                         int d)
{
    return 6 * node->handle_count * (2 + 6 * node_a->handle_count + 6 * node_b->handle_count + d);
}

// out = B R2, rows x 7; R2 acts on the first six columns only.
static void turn_columns(int rows, const double* B, const double* R2, double* out)
{
    for (int i = 0; i < rows; ++i) {
        double sum[6] = {0};
        for (int k = 0; k < 6; ++k)
            for (int j = 0; j < 6; ++j) sum[j] += B[7 * i + k] * R2[7 * k + j];
        for (int j = 0; j < 6; ++j) out[7 * i + j] = sum[j];
        out[7 * i + 6] = B[7 * i + 6];
    }
}

// Beta += (0; E Cen(r) R2(to_link))
static void add_centripetal(const tni_transform* X, const tni_mat3* to_link, double* beta)
{
    const tn_vec3           r    = X->r;
    const tni_rigid_inertia at_r = {0, r, 0, 0, 0, 0, 0, 0};
    double                  Cen[42], turned[42], R2[49];
    fill_leaf_bias(&at_r, Cen);
    tni_quadratic_turn(to_link, R2);
    turn_columns(3, Cen + 21, R2, turned);
    for (int j = 0; j < 6; ++j) {
        const tn_vec3 e = tni_mul(&X->E, tni_vec3(turned[j], turned[7 + j], turned[14 + j]));
        beta[21 + j] += e.x, beta[28 + j] += e.y, beta[35 + j] += e.z;
    }
}

void tni_join_position_terms(const tni_node* node, const tni_node* node_a, const tni_node* node_b,
                             const tni_node_joint* join, const tni_factors* factors,
                             const double* Q, double weight, const tni_mat3* to_link,
                             const tni_mat3* to_b, const tni_position_terms* a,
                             const tni_position_terms* b, tni_position_terms* out)
{
    double beta[42], gamma[42], R[42], R2[49], turned[7 * TNI_FORCES];
    tni_quadratic_turn(to_b, R2);
    turn_columns(6 * node_b->handle_count, b->B, R2, turned);
    shift_columns(&join->X, 7, a->B + 42 * node->at, 7, beta);
    for (int i = 0; i < 42; ++i) beta[i] -= turned[i];
    add_centripetal(&join->X, to_link, beta);
    fill_linear(factors, 7, beta, Q, gamma, R);
    double* to = out->B;
    for (int k = 0; k < node->keep_a; ++k)
        for (int i = 0; i < 42; ++i) *to++ = a->B[42 * node->kept_a[k] + i];
    for (int k = 0; k < node->keep_b; ++k)
        for (int i = 0; i < 42; ++i) *to++ = turned[42 * node->kept_b[k] + i];
    subtract_linear(6 * node->handle_count, 7, factors->H, gamma, out->B);
    tni_metric_factor form = {out->G, 0, 0, out->lead};
    if (out->G) {
        const tni_metric_joint how = {node, node_a, node_b, &join->X, factors,
                                      7,    gamma,  R,      weight,   R2};
        tni_metric_assemble(&how, (tni_metric_factor){a->G, a->rows, a->force_rows, a->lead},
                            (tni_metric_factor){b->G, b->rows, b->force_rows, b->lead},
                            out->reflections, &form);
    }
    out->rows = form.rows, out->force_rows = form.force_rows;
}

// ---- Back-substitution --------------------------------------------------------------------------

void tni_join_back(const tni_node* node, const tni_node* node_a, const tni_node* node_b,
                   const tni_node_joint* join, const tni_factors* factors, const double* gamma,
                   const double* R, const double* f, double* qddot, double* f_a, double* f_b,
                   tni_spatial* fc)
{
    const int n = 6 * node->handle_count, d = factors->d;
    double    x[6], force[6];
    for (int k = 0; k < 6; ++k) {
        double sum = 0, through = gamma[k];
        for (int j = 0; j < n; ++j) sum += factors->H[n * k + j] * f[j];
        for (int j = 0; j < n; ++j) through += factors->WH[n * k + j] * f[j];
        x[k] = sum, force[k] = through;
    }
    for (int i = 0; i < d; ++i) {
        double sum = R[i];
        for (int k = 0; k < 6; ++k) sum -= factors->U[6 * i + k] * x[k];
        qddot[i] = sum;
    }
    *fc = tni_spatial_read(force);
    for (int i = 0; i < 6 * node_b->handle_count; ++i) f_b[i] = 0;
    for (int k = 0; k < node->keep_b; ++k)
        for (int i = 0; i < 6; ++i) f_b[6 * node->kept_b[k] + i] = f[6 * (node->keep_a + k) + i];
    for (int i = 0; i < 6; ++i) f_b[i] += force[i];
    if (!f_a) return;
    for (int i = 0; i < 6 * node_a->handle_count; ++i) f_a[i] = 0;
    for (int k = 0; k < node->keep_a; ++k)
        for (int i = 0; i < 6; ++i) f_a[6 * node->kept_a[k] + i] = f[6 * k + i];
    double*           at   = f_a + 6 * node->at;
    const tni_spatial back = tni_transform_force(&join->X, *fc);
    tni_spatial_write(at, tni_spatial_sub(tni_spatial_read(at), back));
}
