// elastic: elastic energy of deformable bodies. Affine bodies are St. Venant-Kirchhoff: with the
// Green strain G = (A^T A - I)/2 and Lame's constants times the volume,
//     W = mu tr(G^2) + lambda/2 tr(G)^2,     dW/dA = A (2 mu G + lambda tr(G) I)
// so a rigid motion has no energy.
//
// The second derivative along dA, with the stress S = 2 mu G + lambda tr(G) I and dG = sym(A^T dA):
//     2 mu |dG|^2 + lambda tr(dG)^2 + tr(dA S dA^T)
// The first two are never negative. The last is, where S has a negative eigenvalue: in a body under
// pressure. For soften, the negative eigenvalues of S are set to zero (a 3x3 problem, not a 9x9
// one), so that K is positive semidefinite.
#include "force/soft.h"

static tni_mat3 green_strain(const tni_mat3* A)
{
    const tni_mat3 At = tni_transposed(A);
    tni_mat3       G  = tni_mat_mul(&At, A);
    for (int i = 0; i < 9; ++i) G.m[i] = 0.5 * (G.m[i] - (i % 4 == 0 ? 1 : 0));
    return G;
}

static double trace(const tni_mat3* G)
{
    return G->m[0] + G->m[4] + G->m[8];
}

static tni_mat3 stress(const tni_body* body, const tni_mat3* A)
{
    tni_mat3     S        = green_strain(A);
    const double pressure = body->lame_lambda * trace(&S);
    for (int k = 0; k < 9; ++k) S.m[k] = 2 * body->lame_mu * S.m[k] + (k % 4 == 0 ? pressure : 0);
    return S;
}

static void add_body(const tni_scene_view* at, int index, double* f)
{
    const tni_body* body  = &at->model->bodies[index];
    const tni_view* view  = &at->views[index];
    double*         force = f + body->u_start;
    if (body->kind != TN_BODY_AFFINE) return;
    const tni_mat3 S = stress(body, &view->R), P = tni_mat_mul(&view->R, &S);
    for (int k = 0; k < 3; ++k) tni_accumulate(force + 3 + 3 * k, tni_neg(tni_column(&P, k)));
}

static double energy(const tni_scene_view* at)
{
    double sum = 0;
    for (int i = 0; i < at->model->free_count; ++i) {
        const int       index = at->model->free_bodies[i];
        const tni_body* body  = &at->model->bodies[index];
        tni_view        scratch;
        if (body->kind != TN_BODY_AFFINE) continue;
        const tni_mat3 G      = green_strain(&tni_view_of(at, index, &scratch)->R);
        double         square = 0;
        for (int k = 0; k < 9; ++k) square += G.m[k] * G.m[k];
        sum += body->lame_mu * square + 0.5 * body->lame_lambda * trace(&G) * trace(&G);
    }
    return sum;
}

// Block (i, j) of the second derivative, on columns i and j of A:
//     mu (delta_ij A A^T + a_j a_i^T) + lambda a_i a_j^T + S_ij 1
static void second_derivative(const tni_body* body, const tni_mat3* A, const tni_mat3* S, double* K)
{
    const tni_mat3 At = tni_transposed(A), AAt = tni_mat_mul(A, &At);
    const double   mu = body->lame_mu, lambda = body->lame_lambda;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            for (int a = 0; a < 3; ++a)
                for (int b = 0; b < 3; ++b)
                    K[(3 * i + a) * 9 + 3 * j + b] =
                        mu * ((i == j ? AAt.m[3 * a + b] : 0) + A->m[3 * a + j] * A->m[3 * b + i]) +
                        lambda * A->m[3 * a + i] * A->m[3 * b + j] + (a == b ? S->m[3 * i + j] : 0);
}

static tni_mat3 without_pressure(const tni_mat3* S)
{
    tni_mat3      V, clamped = {{0}};
    const tn_vec3 s = tni_symmetric_eigen(S, &V);
    for (int k = 0; k < 3; ++k)
        for (int i = 0; i < 9; ++i)
            clamped.m[i] += fmax(0, tni_at(s, k)) * (V.m[3 * (i / 3) + k] * V.m[3 * (i % 3) + k]);
    return clamped;
}

static void soften(const tni_scene_view* at, const tni_prediction* predicted, tni_take_soft* take,
                   void* user)
{
    tni_soft soft;
    (void)predicted;
    soft.kind = TNI_SOFT_BODY, soft.body[0] = 0;
    for (int i = 0; i < at->model->free_count; ++i) {
        const int       index = at->model->free_bodies[i];
        const tni_body* body  = &at->model->bodies[index];
        if (body->kind != TN_BODY_AFFINE) continue;
        const tni_mat3 *A = &at->views[index].R, S = stress(body, A), P = tni_mat_mul(A, &S);
        const tni_mat3  safe = without_pressure(&S);
        soft.index = soft.body[1] = index;
        tni_soft_clear(&soft, 9);
        memset(soft.J[1], 0, sizeof(double) * 9 * 12);
        for (int k = 0; k < 9; ++k) soft.J[1][k * 12 + 3 + k] = 1;
        for (int k = 0; k < 3; ++k) tni_write3(soft.f + 3 * k, tni_neg(tni_column(&P, k)));
        second_derivative(body, A, &safe, soft.K);
        take(user, &soft);
    }
}

static void derive(const tni_scene_view* at, tni_take_derivative* take, void* user)
{
    for (int i = 0; i < at->model->free_count; ++i) {
        const int       index = at->model->free_bodies[i];
        const tni_body* body  = &at->model->bodies[index];
        double          inner[81], K[144] = {0}, D[144] = {0};
        if (body->kind != TN_BODY_AFFINE) continue;
        const tni_mat3 *A = &at->views[index].R, S = stress(body, A);
        second_derivative(body, A, &S, inner);
        for (int k = 0; k < 81; ++k) K[(3 + k / 9) * 12 + 3 + k % 9] = inner[k];
        take(user, index, index, K, D);
    }
}

const tni_force tni_force_elastic = {
    .add_body = add_body, .energy = energy, .soften = soften, .derive = derive};
