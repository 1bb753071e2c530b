// impulse_response: what impulses on clusters do to the velocities of active joints.
//
// With the articulated inertias of all clusters known (articulated_body.c), an impulse f on one of them goes inwards to the
// root, over the clusters of its path alone,
//     u = S^T f,   f_p = shifted (f - U D^-1 u),   D = L L^T:   y = L^-1 u
// and y of all joints on the path is half of the answer: M^-1, with the added inertia K of joints in M, is
//     e^T M^-1 f = y(e) . y(f)
// so an impulse is a short list of numbers by velocity, and the problem between contacts is made of products of such
// lists; no matrix of joints, and no pass outwards, is needed before impulses are known. Then s = sum of y f goes
// outwards, once:
//     a' = a_p moved,   v' = L^-T s - D^-1 U^T a',   a = a' + S v'
// For a ball G = D^-1 is what is kept: G = L L^T there, y = L^T u.
#include "adaptive/link_contact.h"

#include "adaptive/hybrid_parts.h"
#include "linalg/dense.h"

bool tni_hybrid_factor(tni_hybrid* hybrid, const double* K)
{
    for (int i = 0; i < hybrid->count; ++i) {
        if (hybrid->clusters[i].held) continue;
        tni_mover_rest(&hybrid->clusters[i], &hybrid->work->movers[i]);
        hybrid->work->movers[i].p = tni_six_zero();
    }
    tni_movers_stiffen(hybrid, NULL);
    return tni_movers_reduce(hybrid, NULL, K);
}

// ---- Factors that are not kept -------------------------------------------------------------------

// G = L L^T, both as xx, xy, xz, yy, yz, zz (L: its transpose's upper half).
static void root3(const double* G, double* L)
{
    L[0] = sqrt(G[0]), L[1] = G[1] / L[0], L[2] = G[2] / L[0];
    L[3] = sqrt(G[3] - L[1] * L[1]), L[4] = (G[4] - L[1] * L[2]) / L[3];
    L[5] = sqrt(G[5] - L[2] * L[2] - L[4] * L[4]);
}

// The lower half of a root's inertia = L L^T.
static void root6(const tni_articulated* I, double L[36])
{
    const double *A = I->A, *H = I->H, *M = I->M;
    const double  D[36] = {A[0], 0,    0,    0,    0,    0, A[1], A[3], 0,    0,    0,    0,
                           A[2], A[4], A[5], 0,    0,    0, H[0], H[3], H[6], M[0], 0,    0,
                           H[1], H[4], H[7], M[1], M[3], 0, H[2], H[5], H[8], M[2], M[4], M[5]};
    memcpy(L, D, sizeof D);
    (void)tni_dense_cholesky(6, L); // the root was reduced: it is positive definite
}

// ---- Inwards -------------------------------------------------------------------------------------

TNI_INLINE tni_six less(tni_six f, double s, tni_six U)
{
    return (tni_six){tni_add_scaled(f.w, -s, U.w), tni_add_scaled(f.v, -s, U.v)};
}

TNI_INLINE tn_vec3 times6(const double* A, tn_vec3 x)
{
    return tni_vec3(A[0] * x.x + A[1] * x.y + A[2] * x.z, A[1] * x.x + A[3] * x.y + A[4] * x.z,
                    A[2] * x.x + A[4] * x.y + A[5] * x.z);
}

static void halve_hinge(const struct tni_hybrid_work* work, const tni_mover* m, int rows,
                        tni_six* f, double* y)
{
    const tn_vec3 s    = work->S[m->column].w;
    const double  root = sqrt(m->D);
    for (int k = 0; k < rows; ++k) {
        const double u = tni_dot(s, f[k].w);
        y[k]           = root * u;
        f[k]           = less(f[k], m->D * u, work->U[m->column]);
    }
}

static void halve_ball(const struct tni_hybrid_work* work, const tni_mover* m, int rows, tni_six* f,
                       double* y)
{
    const double *G = work->D + m->square, *H = m->I.H;
    double        L[6];
    root3(G, L);
    for (int k = 0; k < rows; ++k) {
        const tn_vec3 u = f[k].w, z = times6(G, u);
        y[k]            = L[0] * u.x + L[1] * u.y + L[2] * u.z;
        y[rows + k]     = L[3] * u.y + L[4] * u.z;
        y[2 * rows + k] = L[5] * u.z;
        f[k].w          = tni_sub(f[k].w, times6(m->I.A, z));
        f[k].v          = tni_sub(f[k].v, tni_vec3(H[0] * z.x + H[3] * z.y + H[6] * z.z,
                                                   H[1] * z.x + H[4] * z.y + H[7] * z.z,
                                                   H[2] * z.x + H[5] * z.y + H[8] * z.z));
    }
}

static void halve_any(const struct tni_hybrid_work* work, const tni_mover* m, int rows, tni_six* f,
                      double* y)
{
    const int      n = m->freedoms;
    const tni_six *S = work->S + m->column, *U = work->U + m->column; // U L^-T
    const double*  L = work->D + m->square;
    for (int k = 0; k < rows; ++k) {
        const tni_six all = f[k];
        for (int j = 0; j < n; ++j) {
            double u = tni_six_dot(S[j], all);
            for (int i = 0; i < j; ++i) u -= L[n * j + i] * y[rows * i + k];
            y[rows * j + k] = u / L[n * j + j];
            f[k]            = less(f[k], y[rows * j + k], U[j]);
        }
    }
}

static void halve_free(const tni_mover* m, int rows, const tni_six* f, double* y)
{
    double L[36], x[6];
    root6(&m->I, L);
    for (int k = 0; k < rows; ++k) {
        tni_six_write(x, f[k]);
        for (int j = 0; j < 6; ++j) {
            for (int i = 0; i < j; ++i) x[j] -= L[6 * j + i] * x[i];
            x[j] /= L[7 * j];
            y[rows * j + k] = x[j];
        }
    }
}

// One cluster: f becomes what is left for the parent, about its origin.
static void halve(const tni_hybrid* hybrid, int at, int rows, tni_six* f, double* y)
{
    const struct tni_hybrid_work* work = hybrid->work;
    const tni_mover*              m    = &work->movers[at];
    switch (m->path) {
    case TNI_PATH_HINGE: halve_hinge(work, m, rows, f, y); break;
    case TNI_PATH_BALL: halve_ball(work, m, rows, f, y); break;
    case TNI_PATH_FREE: halve_free(m, rows, f, y); break;
    default: halve_any(work, m, rows, f, y);
    }
    for (int k = 0; m->up >= 0 && k < rows; ++k) f[k] = tni_offset_force(m->offset, f[k]);
}

int tni_hybrid_halve(const tni_hybrid* hybrid, const int cluster[2], int rows,
                     tni_six force[2][TNI_CONTACT_ROWS], int* columns, double* y)
{
    int at[2] = {cluster[0], cluster[1]}, count = 0;
    while (at[0] >= 0 || at[1] >= 0) {
        if (at[0] == at[1]) {
            for (int k = 0; k < rows; ++k) force[0][k] = tni_six_add(force[0][k], force[1][k]);
            at[1] = -1;
        }
        const int        side = at[1] > at[0];
        const tni_mover* m    = &hybrid->work->movers[at[side]];
        halve(hybrid, at[side], rows, force[side], y + rows * count);
        for (int k = 0; k < m->freedoms; ++k) columns[count++] = m->v + k;
        at[side] = m->up;
    }
    return count;
}

// ---- Outwards ------------------------------------------------------------------------------------

void tni_hybrid_answer(tni_hybrid* hybrid, const double* s, double* change)
{
    const struct tni_hybrid_work* work = hybrid->work;
    for (int i = 0; i < hybrid->count; ++i) {
        tni_mover*    m = &work->movers[i];
        const double* x = s + m->v;
        double        L[36];
        if (m->path == TNI_PATH_HINGE) {
            m->u = x[0] / sqrt(m->D);
        } else if (m->path == TNI_PATH_BALL) {
            root3(work->D + m->square, L);
            m->a.w = tni_vec3(L[0] * x[0], L[1] * x[0] + L[3] * x[1],
                              L[2] * x[0] + L[4] * x[1] + L[5] * x[2]);
        } else if (m->path == TNI_PATH_FREE) {
            double a[6];
            root6(&m->I, L);
            for (int j = 5; j >= 0; --j) {
                a[j] = x[j];
                for (int k = j + 1; k < 6; ++k) a[j] -= L[6 * k + j] * a[k];
                a[j] /= L[7 * j];
            }
            m->a = tni_six_read(a);
        } else {
            for (int k = 0; k < m->freedoms; ++k) work->u[m->column + k] = x[k];
        }
    }
    tni_movers_spread(hybrid, change);
}
