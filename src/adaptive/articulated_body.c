// articulated_body: the articulated-body algorithm on clusters, O(clusters), in world axes about
// each cluster's origin.
//
// 1. Outwards: bias accelerations (alpha; a), those if no joint accelerated, and the bias force p.
// d is the offset from the parent, (wr; vr) = S v the relative motion, (bw; bv) = S' v, a the
// acceleration of the point at the origin (not the spatial one, so no w x v cancels), h mass times
// centre of mass; the world has alpha = 0, a = -gravity.
//        alpha = alpha_p + w_p x wr + bw
//        a     = a_p + alpha_p x d + w_p x (w_p x d) + 2 w_p x vr + wr x vr + bv
//        p     = (J alpha + w x J w + h x a;  m a + alpha x h + w x (w x h)) - external force
// 2. Inwards: articulated inertia and bias force of a cluster with all that hangs on it, for a
// further acceleration of its parent,
//        U = I S,   D = S^T U + K,   u = Q - S^T p
//        I_p += shifted (I - U D^-1 U^T),   p_p += shifted (p + U D^-1 u)
//    An offset d moves the blocks of I (hybrid_parts.h):
//        M' = M,   H' = H + [d] M,   A' = A + [d] H^T - H' [d]
// 3. Outwards: the further accelerations da (world: none),
//        da' = da_p moved by d,   v' = D^-1 (u - U^T da'),   da = da' + S v'
//
// Differs from the textbook: velocity products and gravity enter at step 1, so none of them are
// multiplied by an articulated inertia; clusters share the axes of the world, so inertias are
// shifted but never rotated. Cost with tni_hybrid_move: about 650 flops a hinge, 84 of them for the
// shift in step 2; 0.125 us each in a chain of 300, 0.20 us for a floating root, 0.23 us a ball
// (gcc 12 -O3, Zen 3). AVX2 gains nothing.
#include "adaptive/hybrid_parts.h"
#include "linalg/dense.h"

// ---- 1: bias accelerations and forces

// E^T I E: A = J, H = [h], M = mass.
TNI_INLINE void rigid_in_world(const tni_cluster* cluster, tni_articulated_inertia* out)
{
    const tni_rigid_inertia* I = &cluster->inertia;
    const tni_mat3*          E = &cluster->world.E;
    const tn_vec3            h = tni_mul_t(E, I->moment);
    const tn_vec3            x = tni_read3(E->m), y = tni_read3(E->m + 3), z = tni_read3(E->m + 6);
    // Rows of J E, then E^T times them.
    const tn_vec3 Jx = tni_add_scaled(tni_add_scaled(tni_scale(I->xx, x), I->xy, y), I->xz, z);
    const tn_vec3 Jy = tni_add_scaled(tni_add_scaled(tni_scale(I->xy, x), I->yy, y), I->yz, z);
    const tn_vec3 Jz = tni_add_scaled(tni_add_scaled(tni_scale(I->xz, x), I->yz, y), I->zz, z);
    *out             = (tni_articulated_inertia){
        {x.x * Jx.x + y.x * Jy.x + z.x * Jz.x, x.x * Jx.y + y.x * Jy.y + z.x * Jz.y,
                     x.x * Jx.z + y.x * Jy.z + z.x * Jz.z, x.y * Jx.y + y.y * Jy.y + z.y * Jz.y,
                     x.y * Jx.z + y.y * Jy.z + z.y * Jz.z, x.z * Jx.z + y.z * Jy.z + z.z * Jz.z},
        {0, -h.z, h.y, h.z, 0, -h.x, -h.y, h.x, 0},
        {I->mass, 0, 0, I->mass, 0, I->mass}};
}

void tni_cluster_rest(const tni_cluster* cluster, tni_cluster_work* m)
{
    rigid_in_world(cluster, &m->I);
}

TNI_INLINE tn_vec3 times_symmetric(const double* A, tn_vec3 x)
{
    return tni_vec3(A[0] * x.x + A[1] * x.y + A[2] * x.z, A[1] * x.x + A[3] * x.y + A[4] * x.z,
                    A[2] * x.x + A[4] * x.y + A[5] * x.z);
}

// Bias acceleration of the joint itself; wp: angular velocity of the parent.
static tni_spatial joint_bias(const tni_hybrid* hybrid, const tni_cluster* cluster,
                              const tni_cluster_work* m, tn_vec3 wp, const double* q,
                              const double* v)
{
    const tni_tree_link* link = &hybrid->trees->links[cluster->link];
    const tni_spatial*   S    = hybrid->work->S + m->column;
    const tni_mat3*      E    = &cluster->world.E;
    tni_spatial          r    = tni_spatial_zero(), bias;
    for (int k = 0; k < m->freedoms; ++k) r = tni_spatial_add_scaled(r, v[m->v + k], S[k]);
    const tn_vec3 w = tni_add(tni_scale(2, wp), r.w);
    bias            = (tni_spatial){tni_cross(wp, r.w), tni_cross(w, r.v)};
    if (link->steady || m->freedoms == 0) return bias;
    const tni_spatial Sv = tni_tree_link_bias(link, q + m->q, v + m->v);
    bias.w               = tni_add(bias.w, tni_mul_t(E, Sv.w));
    bias.v               = tni_add(bias.v, tni_mul_t(E, Sv.v));
    return bias;
}

TNI_INLINE void find_bias(const tni_hybrid* hybrid, tn_vec3 gravity, int i, const double* q,
                          const double* v)
{
    tni_cluster_work*  cluster_work = hybrid->work->cluster_work;
    tni_cluster_work*  m            = &cluster_work[i];
    const tni_cluster* cluster      = &hybrid->clusters[i];
    tn_vec3            wp           = {0, 0, 0};
    tni_spatial        bias         = {{0, 0, 0}, tni_neg(gravity)};
    if (m->up >= 0) {
        const tni_cluster_work* up = &cluster_work[m->up];
        wp                         = up->motion.w;
        bias                       = tni_offset_motion(m->offset, up->bias);
        bias.v                     = tni_add(bias.v, tni_cross(wp, tni_cross(wp, m->offset)));
    }
    if (m->path == TNI_PATH_HINGE) {
        const tn_vec3 spin = tni_scale(v[m->v], hybrid->work->S[m->column].w);
        bias.w             = tni_add(bias.w, tni_cross(wp, spin));
    } else if (m->path == TNI_PATH_BALL) {
        const tn_vec3 spin = tni_mul_t(&cluster->world.E, tni_read3(v + m->v));
        bias.w             = tni_add(bias.w, tni_cross(wp, spin));
    } else if (m->path == TNI_PATH_FREE) {
        bias.v = tni_add(bias.v, tni_cross(m->motion.w, m->motion.v));
    } else if (m->freedoms > 0) {
        bias = tni_spatial_add(bias, joint_bias(hybrid, cluster, m, wp, q, v));
    }
    m->bias = bias;
}

TNI_INLINE void find_force(const tni_cluster* cluster, tni_cluster_work* m)
{
    const tni_mat3* E = &cluster->world.E;
    const double*   H = m->I.H;
    const tn_vec3   h = {H[7], H[2], H[3]}, w = m->motion.w, alpha = m->bias.w, a = m->bias.v;
    const tn_vec3   spin = tni_cross(w, times_symmetric(m->I.A, w));
    const tn_vec3   turn = tni_add(times_symmetric(m->I.A, alpha), spin);
    const tn_vec3   pull = tni_add(tni_cross(alpha, h), tni_cross(w, tni_cross(w, h)));
    const tn_vec3   fw = tni_mul_t(E, cluster->force.w), fv = tni_mul_t(E, cluster->force.v);
    m->p.w = tni_sub(tni_add(turn, tni_cross(h, a)), fw);
    m->p.v = tni_sub(tni_add_scaled(pull, cluster->inertia.mass, a), fv);
}

// ---- 2: inwards

TNI_INLINE tn_vec3 times_transposed(const double* H, tn_vec3 x)
{
    return tni_vec3(H[0] * x.x + H[3] * x.y + H[6] * x.z, H[1] * x.x + H[4] * x.y + H[7] * x.z,
                    H[2] * x.x + H[5] * x.y + H[8] * x.z);
}

TNI_INLINE tni_spatial times_articulated(const tni_articulated_inertia* I, tni_spatial m)
{
    const double* H = I->H;
    const tn_vec3 w = m.w, v = m.v;
    const tn_vec3 Hv = {H[0] * v.x + H[1] * v.y + H[2] * v.z, H[3] * v.x + H[4] * v.y + H[5] * v.z,
                        H[6] * v.x + H[7] * v.y + H[8] * v.z};
    const tn_vec3 Hw = times_transposed(H, w), Mv = times_symmetric(I->M, v);
    return (tni_spatial){tni_add(times_symmetric(I->A, w), Hv), tni_add(Hw, Mv)};
}

// I -= g U U^T
TNI_INLINE void subtract_outer(tni_articulated_inertia* I, double g, tni_spatial U)
{
    const double w[3] = {U.w.x, U.w.y, U.w.z}, v[3] = {U.v.x, U.v.y, U.v.z};
    const double gw[3] = {g * w[0], g * w[1], g * w[2]}, gv[3] = {g * v[0], g * v[1], g * v[2]};
    I->A[0] -= gw[0] * w[0], I->A[1] -= gw[0] * w[1], I->A[2] -= gw[0] * w[2];
    I->A[3] -= gw[1] * w[1], I->A[4] -= gw[1] * w[2], I->A[5] -= gw[2] * w[2];
    I->M[0] -= gv[0] * v[0], I->M[1] -= gv[0] * v[1], I->M[2] -= gv[0] * v[2];
    I->M[3] -= gv[1] * v[1], I->M[4] -= gv[1] * v[2], I->M[5] -= gv[2] * v[2];
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) I->H[3 * i + j] -= gw[i] * v[j];
}

// I, moved by the offset d.
TNI_INLINE tni_articulated_inertia offset_inertia(tn_vec3 d, const tni_articulated_inertia* I)
{
    const double *A = I->A, *M = I->M;
    const tn_vec3 x = {M[0], M[1], M[2]}, y = {M[1], M[3], M[4]}, z = {M[2], M[4], M[5]};
    const tn_vec3 dx = tni_cross(d, x), dy = tni_cross(d, y), dz = tni_cross(d, z);
    const tn_vec3 r0 = tni_read3(I->H), r1 = tni_read3(I->H + 3), r2 = tni_read3(I->H + 6);
    const tn_vec3 R0 = tni_add(r0, tni_vec3(dx.x, dy.x, dz.x)); // rows of H'
    const tn_vec3 R1 = tni_add(r1, tni_vec3(dx.y, dy.y, dz.y));
    const tn_vec3 R2 = tni_add(r2, tni_vec3(dx.z, dy.z, dz.z));
    const tn_vec3 c0 = tni_cross(d, r0), c1 = tni_cross(d, r1), c2 = tni_cross(d, r2);
    const tn_vec3 C0 = tni_cross(d, R0), C1 = tni_cross(d, R1), C2 = tni_cross(d, R2);
    return (tni_articulated_inertia){{A[0] + (c0.x + C0.x), A[1] + (c1.x + C0.y),
                                      A[2] + (c2.x + C0.z), A[3] + (c1.y + C1.y),
                                      A[4] + (c2.y + C1.z), A[5] + (c2.z + C2.z)},
                                     {R0.x, R0.y, R0.z, R1.x, R1.y, R1.z, R2.x, R2.y, R2.z},
                                     {M[0], M[1], M[2], M[3], M[4], M[5]}};
}

TNI_INLINE void add_inertia(tni_articulated_inertia* sum, const tni_articulated_inertia* I)
{
    for (int n = 0; n < 6; ++n) sum->A[n] += I->A[n];
    for (int n = 0; n < 9; ++n) sum->H[n] += I->H[n];
    for (int n = 0; n < 6; ++n) sum->M[n] += I->M[n];
}

// I is moved before U U^T / D is subtracted: the two can run in parallel.
static bool inward_hinge(const struct tni_hybrid_work* work, tni_cluster_work* m, const double* Q,
                         const double* K)
{
    const tn_vec3     s = work->S[m->column].w;
    const tni_spatial U = {times_symmetric(m->I.A, s), times_transposed(m->I.H, s)};
    const double      D = tni_dot(s, U.w) + (K != NULL ? K[m->k] : 0), g = 1 / D;
    m->D               = g;
    m->u               = (Q != NULL ? Q[m->v] : 0) - tni_dot(s, m->p.w);
    work->U[m->column] = U;
    if (m->up >= 0) {
        tni_cluster_work* up      = &work->cluster_work[m->up];
        const tni_spatial Ud      = tni_offset_force(m->offset, U),
                          pd      = tni_offset_force(m->offset, m->p);
        tni_articulated_inertia I = offset_inertia(m->offset, &m->I);
        subtract_outer(&I, g, Ud);
        add_inertia(&up->I, &I);
        up->p = tni_spatial_add(up->p, tni_spatial_add_scaled(pd, g * m->u, Ud));
    }
    return D > 0;
}

// Inverse of a symmetric 3 x 3 matrix, stored as in hybrid_parts.h. False: not positive definite.
static bool invert3(const double* D, double* inverse)
{
    const double a = D[0], ga = 1 / a, l = D[1] * ga, m = D[2] * ga;
    const double b = D[3] - l * D[1], gb = 1 / b, e = D[4] - l * D[2], n = e * gb;
    const double c = D[5] - m * D[2] - n * e, gc = 1 / c, o = l * n - m; // L^-1 = (1; -l 1; o -n 1)
    inverse[0] = ga + l * l * gb + o * o * gc;
    inverse[1] = -l * gb - o * n * gc;
    inverse[2] = o * gc;
    inverse[3] = gb + n * n * gc;
    inverse[4] = -n * gc;
    inverse[5] = gc;
    return a > 0 && b > 0 && c > 0;
}

// I - U D^-1 U^T of a ball, with G = D^-1: A - A G A, H - A G H, M - H^T G H.
TNI_INLINE tni_articulated_inertia without_ball(const tni_articulated_inertia* I, const double* G)
{
    const double *A = I->A, *H = I->H;
    const tn_vec3 x = {A[0], A[1], A[2]}, y = {A[1], A[3], A[4]}, z = {A[2], A[4], A[5]};
    const tn_vec3 hx = {H[0], H[3], H[6]}, hy = {H[1], H[4], H[7]}, hz = {H[2], H[5], H[8]};
    const tn_vec3 Gx = times_symmetric(G, x), Gy = times_symmetric(G, y),
                  Gz  = times_symmetric(G, z);
    const tn_vec3 Ghx = times_symmetric(G, hx), Ghy = times_symmetric(G, hy),
                  Ghz           = times_symmetric(G, hz);
    tni_articulated_inertia out = *I;
    out.A[0] -= tni_dot(x, Gx), out.A[1] -= tni_dot(x, Gy), out.A[2] -= tni_dot(x, Gz);
    out.A[3] -= tni_dot(y, Gy), out.A[4] -= tni_dot(y, Gz), out.A[5] -= tni_dot(z, Gz);
    out.H[0] -= tni_dot(x, Ghx), out.H[1] -= tni_dot(x, Ghy), out.H[2] -= tni_dot(x, Ghz);
    out.H[3] -= tni_dot(y, Ghx), out.H[4] -= tni_dot(y, Ghy), out.H[5] -= tni_dot(y, Ghz);
    out.H[6] -= tni_dot(z, Ghx), out.H[7] -= tni_dot(z, Ghy), out.H[8] -= tni_dot(z, Ghz);
    out.M[0] -= tni_dot(hx, Ghx), out.M[1] -= tni_dot(hx, Ghy), out.M[2] -= tni_dot(hx, Ghz);
    out.M[3] -= tni_dot(hy, Ghy), out.M[4] -= tni_dot(hy, Ghz), out.M[5] -= tni_dot(hz, Ghz);
    return out;
}

// A ball has S = (1; 0) in world axes too, if its rates are rotated there: U = (A; H^T) is part of
// I. Keeps D^-1, and D^-1 u in m->a.
static bool inward_ball(const struct tni_hybrid_work* work, const tni_cluster* cluster,
                        tni_cluster_work* m, const double* Q, const double* K)
{
    const tni_mat3* E = &cluster->world.E;
    double *        G = work->D + m->square, D[6];
    tn_vec3         u = tni_neg(m->p.w);
    for (int n = 0; n < 6; ++n) D[n] = m->I.A[n];
    if (K != NULL) {
        const tni_mat3 Et = tni_transposed(E);
        tni_mat3       k;
        for (int n = 0; n < 9; ++n) k.m[n] = K[m->k + n];
        k = tni_rotate_symmetric(&Et, &k);
        D[0] += k.m[0], D[1] += k.m[1], D[2] += k.m[2];
        D[3] += k.m[4], D[4] += k.m[5], D[5] += k.m[8];
    }
    if (!invert3(D, G)) return false;
    if (Q != NULL) u = tni_add(u, tni_mul_t(E, tni_read3(Q + m->v)));
    m->a.w = times_symmetric(G, u);
    if (m->up < 0) return true;
    tni_cluster_work*             up   = &work->cluster_work[m->up];
    const tni_articulated_inertia left = without_ball(&m->I, G),
                                  I    = offset_inertia(m->offset, &left);
    const tni_spatial Uu = {times_symmetric(m->I.A, m->a.w), times_transposed(m->I.H, m->a.w)};
    add_inertia(&up->I, &I);
    up->p = tni_spatial_add(up->p, tni_offset_force(m->offset, tni_spatial_add(m->p, Uu)));
    return true;
}

// x <- D^-1 x by D = L diag L^T, from the lower half of D, which is overwritten.
static bool solve6(double* D, double* x)
{
    double inverse[6];
    for (int j = 0; j < 6; ++j) {
        if (!(D[7 * j] > 0)) return false;
        inverse[j] = 1 / D[7 * j];
        for (int i = j + 1; i < 6; ++i) {
            const double l = D[6 * i + j] * inverse[j];
            for (int k = i; k < 6; ++k) D[6 * k + i] -= l * D[6 * k + j];
            x[i] -= l * x[j];
        }
    }
    for (int i = 5; i >= 0; --i) {
        for (int k = i + 1; k < 6; ++k) x[i] -= D[6 * k + i] * x[k];
        x[i] *= inverse[i];
    }
    return true;
}

// Several freedoms: D = L L^T; keeps U L^-T in place of U, and L^-1 u in place of u.
static bool inward_any(const struct tni_hybrid_work* work, tni_cluster_work* m, const double* Q,
                       const double* K)
{
    const int          n = m->freedoms;
    const tni_spatial* S = work->S + m->column;
    tni_spatial*       U = work->U + m->column;
    double *           D = work->D + m->square, *u = work->u + m->column;
    for (int j = 0; j < n; ++j) {
        U[j] = times_articulated(&m->I, S[j]);
        u[j] = (Q != NULL ? Q[m->v + j] : 0) - tni_spatial_dot(S[j], m->p);
        for (int i = j; i < n; ++i) // lower half
            D[n * i + j] = tni_spatial_dot(S[i], U[j]) + (K != NULL ? K[m->k + n * i + j] : 0);
    }
    if (!tni_dense_cholesky(n, D)) return false;
    tni_articulated_inertia I = m->I;
    tni_spatial             p = m->p;
    for (int j = 0; j < n; ++j) {
        for (int k = 0; k < j; ++k) {
            U[j] = tni_spatial_add_scaled(U[j], -D[n * j + k], U[k]);
            u[j] -= D[n * j + k] * u[k];
        }
        const double l = 1 / D[n * j + j];
        U[j]           = (tni_spatial){tni_scale(l, U[j].w), tni_scale(l, U[j].v)};
        u[j] *= l;
        if (m->up < 0) continue;
        subtract_outer(&I, 1, U[j]);
        p = tni_spatial_add_scaled(p, u[j], U[j]);
    }
    if (m->up >= 0) {
        tni_cluster_work* up = &work->cluster_work[m->up];
        I                    = offset_inertia(m->offset, &I);
        add_inertia(&up->I, &I);
        up->p = tni_spatial_add(up->p, tni_offset_force(m->offset, p));
    }
    return true;
}

// A floating root: I a = Q - p in world axes; a goes to m->a, and the outward pass has nothing to
// add.
static bool inward_free(const tni_cluster* cluster, tni_cluster_work* m, const double* Q)
{
    const tni_mat3* E = &cluster->world.E;
    const double *  A = m->I.A, *H = m->I.H, *M = m->I.M;
    double          D[36] = {A[0], 0,    0,    0,    0,    0, A[1], A[3], 0,    0,    0,    0,
                             A[2], A[4], A[5], 0,    0,    0, H[0], H[3], H[6], M[0], 0,    0,
                             H[1], H[4], H[7], M[1], M[3], 0, H[2], H[5], H[8], M[2], M[4], M[5]};
    tni_spatial     f     = {tni_neg(m->p.w), tni_neg(m->p.v)};
    double          x[6];
    if (Q != NULL) {
        f.w = tni_add(f.w, tni_mul_t(E, tni_read3(Q + m->v)));
        f.v = tni_add(f.v, tni_mul_t(E, tni_read3(Q + m->v + 3)));
    }
    tni_spatial_write(x, f);
    if (!solve6(D, x)) return false;
    m->a = tni_spatial_read(x);
    return true;
}

bool tni_hybrid_inward_pass(tni_hybrid* hybrid, const double* Q, const double* K)
{
    const struct tni_hybrid_work* work = hybrid->work;
    bool                          good = true;
    for (int i = hybrid->count - 1; i >= 0; --i) {
        const tni_cluster* cluster = &hybrid->clusters[i];
        tni_cluster_work*  m       = &work->cluster_work[i];
        switch (m->path) {
        case TNI_PATH_HINGE: good &= inward_hinge(work, m, Q, K); break;
        case TNI_PATH_BALL: good &= inward_ball(work, cluster, m, Q, K); break;
        case TNI_PATH_FREE: good &= inward_free(cluster, m, Q); break;
        default: good &= cluster->held || inward_any(work, m, Q, K);
        }
    }
    return good;
}

// ---- 3: outwards

static void outward_any(const struct tni_hybrid_work* work, tni_cluster_work* m,
                        tni_spatial from_parent, double* rate)
{
    const int          n = m->freedoms;
    const tni_spatial *S = work->S + m->column, *U = work->U + m->column;
    const double *     L = work->D + m->square, *u = work->u + m->column;
    m->a = from_parent;
    for (int j = n - 1; j >= 0; --j) {
        double sum = u[j] - tni_spatial_dot(U[j], from_parent);
        for (int i = j + 1; i < n; ++i) sum -= L[n * i + j] * rate[i];
        rate[j] = sum / L[n * j + j];
        m->a    = tni_spatial_add_scaled(m->a, rate[j], S[j]);
    }
}

// D^-1 (u - U^T a) with D^-1 u in m->a; from_parent is zero if no parent moves.
static void outward_ball(const struct tni_hybrid_work* work, const tni_mat3* E, tni_cluster_work* m,
                         tni_spatial from_parent, double* rate)
{
    const double* H = m->I.H;
    const tn_vec3 w = from_parent.w, v = from_parent.v;
    const tn_vec3 Hv = {H[0] * v.x + H[1] * v.y + H[2] * v.z, H[3] * v.x + H[4] * v.y + H[5] * v.z,
                        H[6] * v.x + H[7] * v.y + H[8] * v.z};
    const tn_vec3 Ua = tni_add(times_symmetric(m->I.A, w), Hv);
    const tn_vec3 x  = tni_sub(m->a.w, times_symmetric(work->D + m->square, Ua));
    tni_write3(rate, tni_mul(E, x));
    m->a = (tni_spatial){tni_add(w, x), v};
}

static void outward_free(const tni_mat3* E, const tni_cluster_work* m, double* rate)
{
    tni_write3(rate, tni_mul(E, m->a.w));
    tni_write3(rate + 3, tni_mul(E, m->a.v));
}

static void outward_hinge(const struct tni_hybrid_work* work, tni_cluster_work* m,
                          tni_spatial from_parent, double* rate)
{
    const double r = (m->u - tni_spatial_dot(work->U[m->column], from_parent)) * m->D;
    *rate          = r;
    m->a = (tni_spatial){tni_add_scaled(from_parent.w, r, work->S[m->column].w), from_parent.v};
}

void tni_hybrid_outward_pass(tni_hybrid* hybrid, double* rate)
{
    const struct tni_hybrid_work* work = hybrid->work;
    for (int i = 0; i < hybrid->count; ++i) {
        tni_cluster_work* m           = &work->cluster_work[i];
        const tni_mat3*   E           = &hybrid->clusters[i].world.E;
        tni_spatial       from_parent = tni_spatial_zero();
        if (m->up >= 0) from_parent = tni_offset_motion(m->offset, work->cluster_work[m->up].a);
        switch (m->path) {
        case TNI_PATH_HINGE: outward_hinge(work, m, from_parent, rate + m->v); break;
        case TNI_PATH_BALL: outward_ball(work, E, m, from_parent, rate + m->v); break;
        case TNI_PATH_FREE: outward_free(E, m, rate + m->v); break;
        default: outward_any(work, m, from_parent, rate + m->v);
        }
    }
}

// The force of a resistance is -I (alpha; acceleration of its point), with true accelerations; bias
// accelerations are relative to free fall.
void tni_hybrid_add_resistances(tni_hybrid* hybrid, const tn_vec3* gravity)
{
    for (int i = 0; i < hybrid->resistance_count; ++i) {
        const tni_resistance* r = &hybrid->resistances[i];
        tni_cluster_work*     m = &hybrid->work->cluster_work[r->cluster];
        const tn_vec3         d = r->offset, w = m->motion.w;
        if (hybrid->clusters[r->cluster].held) continue;
        const tni_articulated_inertia I = offset_inertia(d, &r->I);
        add_inertia(&m->I, &I);
        if (gravity == NULL) continue;
        tni_spatial a = tni_offset_motion(d, m->bias);
        a.v           = tni_add(tni_add(a.v, *gravity), tni_cross(w, tni_cross(w, d)));
        m->p          = tni_spatial_add(m->p, tni_offset_force(d, times_articulated(&r->I, a)));
    }
}

bool tni_hybrid_accelerate(tni_hybrid* hybrid, tn_vec3 gravity, const double* q, const double* v,
                           const double* Q, const double* K, double* qddot)
{
    for (int i = 0; i < hybrid->count; ++i) {
        const tni_cluster* cluster = &hybrid->clusters[i];
        tni_cluster_work*  m       = &hybrid->work->cluster_work[i];
        if (cluster->held) continue;
        find_bias(hybrid, gravity, i, q, v);
        rigid_in_world(cluster, &m->I);
        find_force(cluster, m);
    }
    tni_hybrid_add_resistances(hybrid, &gravity);
    if (!tni_hybrid_inward_pass(hybrid, Q, K)) return false;
    tni_hybrid_outward_pass(hybrid, qddot);
    return true;
}
