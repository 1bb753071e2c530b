// impulse_response: the effect of impulses on clusters on the velocities of active joints.
//
// With the articulated inertias of all clusters known (articulated_body.c), an impulse f on one of
// them is propagated inwards to the root, over the clusters of its path alone,
//     u = S^T f,   f_p = shifted (f - U D^-1 u),   D = L L^T:   y = L^-1 u
// and y of all joints on the path is half of the response: with M including the added inertia K of
// joints,
//     e^T M^-1 f = y(e) . y(f)
// so an impulse is a short list of numbers by velocity, and the contact problem is made of products
// of such lists; it needs no matrix of joints, and no outward pass until the impulses are known.
// Then s = sum of y f is propagated outwards, once:
//     a' = a_p moved,   v' = L^-T s - D^-1 U^T a',   a = a' + S v'
// For a ball G = D^-1 is stored: G = L L^T there, y = L^T u.
#include "adaptive/link_contact.h"

#include "adaptive/hybrid_parts.h"
#include "linalg/dense.h"

bool tni_hybrid_factor(tni_hybrid* hybrid, const double* K)
{
    for (int i = 0; i < hybrid->count; ++i) {
        if (hybrid->clusters[i].held) continue;
        tni_cluster_rest(&hybrid->clusters[i], &hybrid->work->cluster_work[i]);
        hybrid->work->cluster_work[i].p = tni_spatial_zero();
    }
    tni_hybrid_add_resistances(hybrid, NULL);
    return tni_hybrid_inward_pass(hybrid, NULL, K);
}

// ---- Factors computed on the fly ---------------------------------------------------------------

// G = L L^T, both stored as xx, xy, xz, yy, yz, zz (of L^T, its upper half).
static void cholesky3(const double* G, double* L)
{
    L[0] = sqrt(G[0]), L[1] = G[1] / L[0], L[2] = G[2] / L[0];
    L[3] = sqrt(G[3] - L[1] * L[1]), L[4] = (G[4] - L[1] * L[2]) / L[3];
    L[5] = sqrt(G[5] - L[2] * L[2] - L[4] * L[4]);
}

// Cholesky factor of a floating root's inertia, lower half.
static void cholesky6(const tni_articulated_inertia* I, double L[36])
{
    const double *A = I->A, *H = I->H, *M = I->M;
    const double  D[36] = {A[0], 0,    0,    0,    0,    0, A[1], A[3], 0,    0,    0,    0,
                           A[2], A[4], A[5], 0,    0,    0, H[0], H[3], H[6], M[0], 0,    0,
                           H[1], H[4], H[7], M[1], M[3], 0, H[2], H[5], H[8], M[2], M[4], M[5]};
    memcpy(L, D, sizeof D);
    (void)tni_dense_cholesky(6, L); // the root was reduced: it is positive definite
}

// ---- Inwards -----------------------------------------------------------------------------------

TNI_INLINE tni_spatial subtract_scaled(tni_spatial f, double s, tni_spatial U)
{
    return (tni_spatial){tni_add_scaled(f.w, -s, U.w), tni_add_scaled(f.v, -s, U.v)};
}

TNI_INLINE tn_vec3 times_symmetric(const double* A, tn_vec3 x)
{
    return tni_vec3(A[0] * x.x + A[1] * x.y + A[2] * x.z, A[1] * x.x + A[3] * x.y + A[4] * x.z,
                    A[2] * x.x + A[4] * x.y + A[5] * x.z);
}

static void half_hinge(const struct tni_hybrid_work* work, const tni_cluster_work* m, int rows,
                       tni_spatial* f, double* y)
{
    const tn_vec3 s    = work->S[m->column].w;
    const double  root = sqrt(m->D);
    for (int k = 0; k < rows; ++k) {
        const double u = tni_dot(s, f[k].w);
        y[k]           = root * u;
        f[k]           = subtract_scaled(f[k], m->D * u, work->U[m->column]);
    }
}

static void half_ball(const struct tni_hybrid_work* work, const tni_cluster_work* m, int rows,
                      tni_spatial* f, double* y)
{
    const double *G = work->D + m->square, *H = m->I.H;
    double        L[6];
    cholesky3(G, L);
    for (int k = 0; k < rows; ++k) {
        const tn_vec3 u = f[k].w, z = times_symmetric(G, u);
        y[k]            = L[0] * u.x + L[1] * u.y + L[2] * u.z;
        y[rows + k]     = L[3] * u.y + L[4] * u.z;
        y[2 * rows + k] = L[5] * u.z;
        f[k].w          = tni_sub(f[k].w, times_symmetric(m->I.A, z));
        f[k].v          = tni_sub(f[k].v, tni_vec3(H[0] * z.x + H[3] * z.y + H[6] * z.z,
                                                   H[1] * z.x + H[4] * z.y + H[7] * z.z,
                                                   H[2] * z.x + H[5] * z.y + H[8] * z.z));
    }
}

static void half_any(const struct tni_hybrid_work* work, const tni_cluster_work* m, int rows,
                     tni_spatial* f, double* y)
{
    const int          n = m->freedoms;
    const tni_spatial *S = work->S + m->column, *U = work->U + m->column; // U L^-T
    const double*      L = work->D + m->square;
    for (int k = 0; k < rows; ++k) {
        const tni_spatial all = f[k];
        for (int j = 0; j < n; ++j) {
            double u = tni_spatial_dot(S[j], all);
            for (int i = 0; i < j; ++i) u -= L[n * j + i] * y[rows * i + k];
            y[rows * j + k] = u / L[n * j + j];
            f[k]            = subtract_scaled(f[k], y[rows * j + k], U[j]);
        }
    }
}

static void half_free(const tni_cluster_work* m, int rows, const tni_spatial* f, double* y)
{
    double L[36], x[6];
    cholesky6(&m->I, L);
    for (int k = 0; k < rows; ++k) {
        tni_spatial_write(x, f[k]);
        for (int j = 0; j < 6; ++j) {
            for (int i = 0; i < j; ++i) x[j] -= L[6 * j + i] * x[i];
            x[j] /= L[7 * j];
            y[rows * j + k] = x[j];
        }
    }
}

// One cluster; f becomes the rest for its parent, about the parent's origin.
static void half_response(const tni_hybrid* hybrid, int at, int rows, tni_spatial* f, double* y)
{
    const struct tni_hybrid_work* work = hybrid->work;
    const tni_cluster_work*       m    = &work->cluster_work[at];
    switch (m->path) {
    case TNI_PATH_HINGE: half_hinge(work, m, rows, f, y); break;
    case TNI_PATH_BALL: half_ball(work, m, rows, f, y); break;
    case TNI_PATH_FREE: half_free(m, rows, f, y); break;
    default: half_any(work, m, rows, f, y);
    }
    for (int k = 0; m->up >= 0 && k < rows; ++k) f[k] = tni_offset_force(m->offset, f[k]);
}

int tni_hybrid_half_response(const tni_hybrid* hybrid, const int cluster[2], int rows,
                             tni_spatial force[2][TNI_CONTACT_ROWS], int* columns, double* y)
{
    int at[2] = {cluster[0], cluster[1]}, count = 0;
    while (at[0] >= 0 || at[1] >= 0) {
        if (at[0] == at[1]) {
            for (int k = 0; k < rows; ++k) force[0][k] = tni_spatial_add(force[0][k], force[1][k]);
            at[1] = -1;
        }
        const int               side = at[1] > at[0];
        const tni_cluster_work* m    = &hybrid->work->cluster_work[at[side]];
        half_response(hybrid, at[side], rows, force[side], y + rows * count);
        for (int k = 0; k < m->freedoms; ++k) columns[count++] = m->v + k;
        at[side] = m->up;
    }
    return count;
}

// ---- Outwards ----------------------------------------------------------------------------------

void tni_hybrid_velocity_change(tni_hybrid* hybrid, const double* s, double* change)
{
    const struct tni_hybrid_work* work = hybrid->work;
    for (int i = 0; i < hybrid->count; ++i) {
        tni_cluster_work* m = &work->cluster_work[i];
        const double*     x = s + m->v;
        double            L[36];
        if (m->path == TNI_PATH_HINGE) {
            m->u = x[0] / sqrt(m->D);
        } else if (m->path == TNI_PATH_BALL) {
            cholesky3(work->D + m->square, L);
            m->a.w = tni_vec3(L[0] * x[0], L[1] * x[0] + L[3] * x[1],
                              L[2] * x[0] + L[4] * x[1] + L[5] * x[2]);
        } else if (m->path == TNI_PATH_FREE) {
            double a[6];
            cholesky6(&m->I, L);
            for (int j = 5; j >= 0; --j) {
                a[j] = x[j];
                for (int k = j + 1; k < 6; ++k) a[j] -= L[6 * k + j] * a[k];
                a[j] /= L[7 * j];
            }
            m->a = tni_spatial_read(a);
        } else {
            for (int k = 0; k < m->freedoms; ++k) work->u[m->column + k] = x[k];
        }
    }
    tni_hybrid_outward_pass(hybrid, change);
}
