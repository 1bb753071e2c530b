// A hybrid rig: random trees of links with their assembly trees, a set of active joints of the last
// tree, and the same in dense algebra: 6 x 6 transforms, Jacobians of all links, the inertia matrix
// M = sum J^T I J.
#ifndef HYBRID_RIG_H
#define HYBRID_RIG_H

#include "adaptive/hybrid.h"
#include "math/rotation.h"
#include "test.h"

#include <stdlib.h>

typedef struct hybrid_rig {
    tn_host         host;
    tni_arena       arena;
    test_random     random;
    tni_joint_trees trees;
    tni_assembly*   assembly;
    tni_frames*     frames;
    uint8_t *       active, *touched;
    int             n;             ///< number of velocities
    int             first;         ///< first link of the last tree
    double *        q, *v, *Q, *K; ///< K is symmetric and positive definite, or zero
    tni_spatial*    force;         ///< by link
    tn_vec3         gravity;
    tni_hybrid      hybrid;
    double *        X, *J;    ///< by link: 6 x 6, 6 x n
    double *        M, *bias; ///< n x n with K; n: joint forces for zero acceleration
} hybrid_rig;

static inline double hybrid_any(hybrid_rig* r)
{
    return test_random_between(&r->random, -1, 1);
}

static inline tn_vec3 hybrid_vec3(hybrid_rig* r)
{
    const double x = hybrid_any(r), y = hybrid_any(r), z = hybrid_any(r);
    return (tn_vec3){x, y, z};
}

// A few point masses: the inertia is positive definite.
static inline tni_rigid_inertia hybrid_inertia(hybrid_rig* r)
{
    tni_rigid_inertia I = {0};
    for (int k = 0; k < 6; ++k) {
        const double  m = test_random_between(&r->random, 0.1, 1);
        const tn_vec3 p = hybrid_vec3(r);
        I.mass += m;
        I.moment = tni_add_scaled(I.moment, m, p);
        I.xx += m * (p.y * p.y + p.z * p.z), I.yy += m * (p.x * p.x + p.z * p.z);
        I.zz += m * (p.x * p.x + p.y * p.y), I.xy -= m * p.x * p.y;
        I.xz -= m * p.x * p.z, I.yz -= m * p.y * p.z;
    }
    return I;
}

static inline tni_transform hybrid_shift(hybrid_rig* r)
{
    return (tni_transform){tni_quat_matrix(tni_quat_exp(tni_scale(3, hybrid_vec3(r)))),
                           hybrid_vec3(r)};
}

static const int hybrid_freedoms[] = {
    [TNI_TREE_LINK_FREE] = 6,      [TNI_TREE_LINK_WELD] = 0,    [TNI_TREE_LINK_HINGE] = 1,
    [TNI_TREE_LINK_SLIDER] = 1,    [TNI_TREE_LINK_SCREW] = 1,   [TNI_TREE_LINK_CYLINDER] = 2,
    [TNI_TREE_LINK_UNIVERSAL] = 2, [TNI_TREE_LINK_BALL] = 3,    [TNI_TREE_LINK_PLANE] = 3,
    [TNI_TREE_LINK_LINE] = 4,      [TNI_TREE_LINK_SURFACE] = 5, [TNI_TREE_LINK_DISTANCE] = 5};

/// Links from `kinds` and `parents` (-1: a new tree begins) with random frames, at zero
/// configuration.
static inline hybrid_rig* hybrid_rig_make(uint64_t seed, int count, const tni_tree_link_kind* kinds,
                                          const int* parents)
{
    hybrid_rig* r      = calloc(1, sizeof *r);
    r->host            = tn_default_host();
    r->arena           = tni_arena_make(&r->host);
    r->random          = (test_random){seed};
    tni_joint_trees* l = &r->trees;
    l->count           = count;
    l->links           = TNI_TAKE(&r->arena, tni_tree_link, count);
    l->first           = TNI_TAKE(&r->arena, int, count + 1);
    for (int i = 0; i < count; ++i) {
        const tni_tree_link_kind kind = kinds[i];
        const int                d    = hybrid_freedoms[kind];
        if (parents[i] < 0) l->first[l->tree_count++] = r->first = i;
        l->links[i]          = (tni_tree_link){.body     = i,
                                               .parent   = parents[i],
                                               .joint    = kind == TNI_TREE_LINK_FREE ? -1 : i,
                                               .tree     = l->tree_count - 1,
                                               .kind     = kind,
                                               .freedoms = d,
                                               .q        = l->q_count,
                                               .v        = l->v_count,
                                               .k        = l->k_count,
                                               .size     = test_random_between(&r->random, 0.3, 1),
                                               .before   = hybrid_shift(r),
                                               .attitude = {1, 0, 0, 0},
                                               .inertia  = hybrid_inertia(r)};
        l->links[i].steady   = kind != TNI_TREE_LINK_UNIVERSAL && kind <= TNI_TREE_LINK_PLANE;
        l->links[i].reversed = kind != TNI_TREE_LINK_FREE && test_random_int(&r->random, 0, 2) == 0;
        if (kind == TNI_TREE_LINK_FREE) l->links[i].before = tni_transform_identity();
        l->q_count += 11, l->v_count += d, l->k_count += d * d;
    }
    l->first[l->tree_count] = count;
    const int n = r->n = l->v_count;
    CHECK_OK(tni_assembly_create(&r->arena, l, &r->assembly));
    r->frames  = TNI_TAKE(&r->arena, tni_frames, r->assembly->count);
    r->touched = TNI_TAKE(&r->arena, uint8_t, r->assembly->count);
    r->active  = TNI_TAKE(&r->arena, uint8_t, count);
    r->force   = TNI_TAKE(&r->arena, tni_spatial, count);
    r->q       = TNI_TAKE(&r->arena, double, l->q_count);
    r->v       = TNI_TAKE(&r->arena, double, n);
    r->Q       = TNI_TAKE(&r->arena, double, n);
    r->K       = TNI_TAKE(&r->arena, double, l->k_count);
    r->X       = TNI_TAKE(&r->arena, double, 36 * count);
    r->J       = TNI_TAKE(&r->arena, double, 6 * n * count);
    r->M       = TNI_TAKE(&r->arena, double, n* n);
    r->bias    = TNI_TAKE(&r->arena, double, n);
    CHECK_OK(tni_hybrid_create(&r->arena, l, r->assembly, l->tree_count - 1, &r->hybrid));
    for (int i = 0; i < count; ++i) r->q[11 * i] = r->q[11 * i + 7] = 1;
    return r;
}

static inline void hybrid_rig_free(hybrid_rig* r)
{
    tni_arena_free(&r->arena);
    free(r);
}

/// Random configurations and velocities.
static inline void hybrid_rig_bend(hybrid_rig* r)
{
    for (int i = 0; i < r->trees.count; ++i) {
        const tni_tree_link* link = &r->trees.links[i];
        double               by[6];
        for (int k = 0; k < link->freedoms; ++k) by[k] = 2 * hybrid_any(r);
        tni_tree_link_advance(link, 1, by, r->q + link->q);
    }
}

static inline void hybrid_rig_touch(const tni_assembly* assembly, const uint8_t* active,
                                    uint8_t* touched)
{
    for (int i = 0; i < assembly->count; ++i) {
        const tni_node* node = &assembly->nodes[i];
        const bool      leaf = node->b < 0;
        touched[i] =
            !leaf && (active[node->link] || touched[node->b] || node->a < 0 || touched[node->a]);
    }
}

/// Sets the rig to `active`: frames of all nodes, touched nodes, clusters; velocities of held
/// joints are zero.
static inline void hybrid_rig_hold(hybrid_rig* r)
{
    for (int i = 0; i < r->assembly->count; ++i) {
        const tni_node*      node = &r->assembly->nodes[i];
        const tni_tree_link* link = &r->trees.links[node->link];
        tni_transform        X;
        tni_spatial          S[6];
        tni_tree_link_place(link, r->q + link->q, &X, S);
        if (node->b < 0) tni_leaf_frames(link, &r->frames[i]);
        else
            tni_join_frames(node, node->a < 0 ? NULL : &r->frames[node->a], &r->frames[node->b], &X,
                            &r->frames[i]);
    }
    hybrid_rig_touch(r->assembly, r->active, r->touched);
    for (int i = 0; i < r->trees.count; ++i) {
        const tni_tree_link* link = &r->trees.links[i];
        for (int k = 0; k < link->freedoms && !r->active[i]; ++k) r->v[link->v + k] = 0;
    }
    tni_hybrid_build(&r->hybrid, r->active, r->touched, r->frames);
}

// ---- dense

static inline void hybrid_matrix(const tni_transform* X, double* M)
{
    const double *e = X->E.m, rx[9] = {0, -X->r.z, X->r.y, X->r.z, 0, -X->r.x, -X->r.y, X->r.x, 0};
    memset(M, 0, 36 * sizeof *M);
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            M[6 * i + j] = M[6 * (3 + i) + 3 + j] = e[3 * i + j];
            for (int k = 0; k < 3; ++k) M[6 * (3 + i) + j] -= e[3 * i + k] * rx[3 * k + j];
        }
    }
}

static inline void hybrid_apply(const double* M, const double* x, double* y)
{
    for (int i = 0; i < 6; ++i) {
        y[i] = 0;
        for (int j = 0; j < 6; ++j) y[i] += M[6 * i + j] * x[j];
    }
}

// [v x] on motions, 6 x 6; on forces it is minus its transpose.
static inline void hybrid_cross(const double* v, double* C)
{
    const double w[9] = {0, -v[2], v[1], v[2], 0, -v[0], -v[1], v[0], 0};
    const double u[9] = {0, -v[5], v[4], v[5], 0, -v[3], -v[4], v[3], 0};
    memset(C, 0, 36 * sizeof *C);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            C[6 * i + j] = C[6 * (3 + i) + 3 + j] = w[3 * i + j];
            C[6 * (3 + i) + j]                    = u[3 * i + j];
        }
}

/// X and J of all links, M, bias, from q, v, force, gravity.
static inline void hybrid_rig_dense(hybrid_rig* r)
{
    const int n = r->n, count = r->trees.count;
    double*   v = calloc((size_t)count * 12, sizeof *v);
    double*   a = v + 6 * count;
    memset(r->M, 0, (size_t)(n * n) * sizeof *r->M);
    memset(r->bias, 0, (size_t)n * sizeof *r->bias);
    memset(r->J, 0, (size_t)(6 * n * count) * sizeof *r->J);
    for (int i = 0; i < count; ++i) {
        const tni_tree_link* link = &r->trees.links[i];
        double *      X = r->X + 36 * i, *J = r->J + 6 * n * i, *vi = v + 6 * i, *ai = a + 6 * i;
        double        own[6], bend[6], C[36], I[36], Iv[6], Ia[6], f[6], columns[36];
        const double  fall[6] = {0, 0, 0, -r->gravity.x, -r->gravity.y, -r->gravity.z};
        tni_transform shift;
        tni_spatial   S[6], own_motion = tni_spatial_zero();
        tni_tree_link_place(link, r->q + link->q, &shift, S);
        hybrid_matrix(&shift, X);
        for (int k = 0; k < link->freedoms; ++k) {
            tni_spatial_write(columns + 6 * k, S[k]);
            own_motion = tni_spatial_add_scaled(own_motion, r->v[link->v + k], S[k]);
        }
        if (link->parent >= 0) {
            hybrid_apply(X, v + 6 * link->parent, vi);
            hybrid_apply(X, a + 6 * link->parent, ai);
            for (int row = 0; row < 6; ++row)
                for (int k = 0; k < 6; ++k)
                    for (int j = 0; j < n; ++j)
                        J[n * row + j] += X[6 * row + k] * r->J[6 * n * link->parent + n * k + j];
        } else {
            hybrid_apply(X, fall, ai);
        }
        for (int k = 0; k < link->freedoms; ++k)
            for (int row = 0; row < 6; ++row) J[n * row + link->v + k] = columns[6 * k + row];
        tni_spatial_write(own, own_motion);
        for (int row = 0; row < 6; ++row) vi[row] += own[row];
        hybrid_cross(vi, C);
        hybrid_apply(C, own, f);
        tni_spatial_write(bend, tni_tree_link_bias(link, r->q + link->q, r->v + link->v));
        for (int row = 0; row < 6; ++row) ai[row] += f[row] + bend[row];
        tni_rigid_inertia_matrix(&link->inertia, I);
        hybrid_apply(I, vi, Iv);
        hybrid_apply(I, ai, Ia);
        tni_spatial_write(f, r->force[i]);
        for (int row = 0; row < 6; ++row) {
            f[row] = Ia[row] - f[row];
            for (int k = 0; k < 6; ++k) f[row] -= C[6 * k + row] * Iv[k];
        }
        for (int j = 0; j < n; ++j) {
            double IJ[6], column[6];
            for (int row = 0; row < 6; ++row) column[row] = J[n * row + j];
            hybrid_apply(I, column, IJ);
            for (int row = 0; row < 6; ++row) {
                r->bias[j] += column[row] * f[row];
                for (int k = 0; k < n; ++k) r->M[n * k + j] += J[n * row + k] * IJ[row];
            }
        }
        for (int k = 0; k < link->freedoms; ++k)
            for (int j = 0; j < link->freedoms; ++j)
                r->M[n * (link->v + k) + link->v + j] += r->K[link->k + link->freedoms * k + j];
    }
    free(v);
}

/// Solves M_aa x_a = b_a for active velocities a; the others are 0.
static inline void hybrid_dense_solve(int n, const double* M, const uint8_t* active,
                                      const double* b, double* x)
{
    const int width = n + 1;
    double*   T     = calloc((size_t)(n * width), sizeof *T);
    int*      at    = calloc((size_t)n + 1, sizeof *at);
    int       m     = 0;
    for (int i = 0; i < n; ++i)
        if (active[i]) at[m++] = i;
    for (int i = 0; i < m; ++i) {
        for (int j = 0; j < m; ++j) T[width * i + j] = M[n * at[i] + at[j]];
        T[width * i + n] = b[at[i]];
    }
    for (int k = 0; k < m; ++k) {
        int best = k;
        for (int i = k + 1; i < m; ++i)
            if (fabs(T[width * i + k]) > fabs(T[width * best + k])) best = i;
        for (int j = 0; j < width; ++j) {
            const double t      = T[width * k + j];
            T[width * k + j]    = T[width * best + j];
            T[width * best + j] = t;
        }
        for (int i = 0; i < m; ++i) {
            const double s = T[width * i + k] / T[width * k + k];
            for (int j = k; j < width && i != k; ++j) T[width * i + j] -= s * T[width * k + j];
        }
    }
    for (int i = 0; i < n; ++i) x[i] = 0;
    for (int i = 0; i < m; ++i) x[at[i]] = T[width * i + n] / T[width * i + i];
    free(T), free(at);
}

/// By velocity: its joint is active.
static inline void hybrid_rig_mask(const hybrid_rig* r, const uint8_t* active, uint8_t* mask)
{
    for (int i = 0; i < r->trees.count; ++i)
        for (int k = 0; k < r->trees.links[i].freedoms; ++k)
            mask[r->trees.links[i].v + k] = active[i];
}

// ---- random trees

enum { HYBRID_LIMBS_MAX = 24 }; ///< of a random tree

/// A tree of up to `cap` links, from chain to bush; the base held, floating or in a joint. Other
/// trees may precede it, all held.
static inline hybrid_rig* hybrid_rig_random(uint64_t seed, int cap)
{
    static const tni_tree_link_kind some[] = {
        TNI_TREE_LINK_HINGE, TNI_TREE_LINK_HINGE,   TNI_TREE_LINK_SLIDER,    TNI_TREE_LINK_CYLINDER,
        TNI_TREE_LINK_BALL,  TNI_TREE_LINK_SCREW,   TNI_TREE_LINK_UNIVERSAL, TNI_TREE_LINK_PLANE,
        TNI_TREE_LINK_LINE,  TNI_TREE_LINK_SURFACE, TNI_TREE_LINK_DISTANCE};
    test_random t     = {seed};
    const int   first = test_random_int(&t, 0, 2), count = first + test_random_int(&t, 1, cap);
    const int   reach                                = test_random_int(&t, 1, 6);
    const bool  hinges                               = test_random_int(&t, 0, 2) == 0;
    tni_tree_link_kind kinds[HYBRID_LIMBS_MAX + 2]   = {0};
    int                parents[HYBRID_LIMBS_MAX + 2] = {0};
    for (int i = 0; i < count; ++i) {
        const int nearest = i - reach > first ? i - reach : first;
        kinds[i]          = hinges ? TNI_TREE_LINK_HINGE : some[test_random_int(&t, 0, 10)];
        parents[i]        = i <= first ? -1 : test_random_int(&t, nearest, i - 1);
    }
    if (test_random_int(&t, 0, 1) == 1) kinds[first] = TNI_TREE_LINK_FREE;
    hybrid_rig*  r       = hybrid_rig_make(seed * 77 + 1, count, kinds, parents);
    const double density = test_random_unit(&t);
    for (int i = first; i < count; ++i)
        r->active[i] = kinds[i] == TNI_TREE_LINK_FREE || test_random_unit(&t) < density;
    for (int i = 0; i < r->n; ++i) r->v[i] = 2 * hybrid_any(r), r->Q[i] = 3 * hybrid_any(r);
    for (int i = 0; i < count; ++i)
        if (test_random_int(&t, 0, 2) == 0)
            r->force[i] = (tni_spatial){tni_scale(5, hybrid_vec3(r)), tni_scale(5, hybrid_vec3(r))};
    for (int i = 0; i < count; ++i) {
        const tni_tree_link* link = &r->trees.links[i];
        const int            d    = link->freedoms;
        double               F[36];
        if (link->kind == TNI_TREE_LINK_FREE || test_random_int(&t, 0, 1) == 0) continue;
        for (int k = 0; k < d * d; ++k) F[k] = hybrid_any(r);
        for (int k = 0; k < d; ++k)
            for (int j = 0; j < d; ++j)
                for (int s = 0; s < d; ++s)
                    r->K[link->k + d * k + j] += 0.5 * F[d * k + s] * F[d * j + s];
    }
    r->gravity = tni_scale(10, hybrid_vec3(r));
    hybrid_rig_bend(r);
    hybrid_rig_hold(r);
    return r;
}

#endif
