// batch_workspace: the workspace of the lanes: numbers of all lanes, side by side. Unless noted,
// names and meanings are those of system/tree_form_link.h, force/force.h and step/stepper.h.
#ifndef TNI_BATCH_WORKSPACE_H
#define TNI_BATCH_WORKSPACE_H

#include "batch/batch_plan.h"
#include "batch/lanes_angle.h"

/// tni_link_inertia
typedef struct bulk {
    sym  M;
    mat3 H;
    sym  I;
    vec3 f, t;
} bulk;

/// tni_link_work
typedef struct work {
    vec3 ref, arm, p, f, y;
    mat3 Q;
    sym  M;
    vec3 l, inv;
} work;

/// tni_link_more
typedef struct more {
    mat3 H;
    sym  I;
    mat3 T;
    vec3 t, turn;
    vec  q, gram[3], push, grip;
} more;

enum { UNIVERSAL_ROWS = 4, UNIVERSAL_FREE = 2 };

/// tni_link_dense of a universal joint; of a floating root only D and q.
typedef struct dense {
    vec3 d;
    vec  Q[36], R[UNIVERSAL_ROWS * UNIVERSAL_ROWS], G[UNIVERSAL_FREE * 6], D[36], A[36], left[36];
    vec  SW[UNIVERSAL_FREE * UNIVERSAL_FREE], W[UNIVERSAL_FREE * UNIVERSAL_FREE];
    vec3 Ja[UNIVERSAL_FREE], Y[UNIVERSAL_FREE]; ///< angular parts; the rest is zero
    vec  p[6], q[6], b[6], push[UNIVERSAL_FREE];
    bool sprung; ///< it has a joint force: W, Ja and Y are set
} dense;

enum { LIMITS_MAX = 3 };

/// A joint force, as by tni_soften_actuation(). First what depends on positions: once a step; then
/// active, W, g: by each linearisation.
typedef struct soft {
    int  count;   ///< coordinates
    vec3 J[2][3]; ///< on the angular velocities of body 1 and 2
    vec  f[3], K[9];
    int  limit_count;
    int  limits[LIMITS_MAX]; ///< their bit numbers in tni_soft.met
    vec  n[LIMITS_MAX][3], e0[LIMITS_MAX];
    vec  swing; ///< ball: swing angle
    vec3 turn;  ///< ball: z2 x n of the cone
    mask active[LIMITS_MAX];
    vec  W[9], g[3];
} soft;

/// tni_link_force
typedef struct one {
    vec A[36], b[6];
} one;

/// Pose of a static body that a joint is attached to.
typedef struct fixed {
    vec3 x;
    mat3 R, turned;
} fixed;

typedef struct workspace {
    const tni_batch_plan* plan;
    double                h;
    double                time[LANES], end[LANES];
    const tni_inputs*     inputs[LANES];
    vec *                 q, *u, *z, *lambda; ///< at the start of the step
    vec *   ahead, *v, *dv, *linear;          ///< by velocity: expected, found, correction, linear
    vec *   mu, *dmu, *r;                     ///< by row
    vec *   q1, *u1;                          ///< at the end of the step
    mat3 *  R, *R1;                           ///< attitudes by link: at the start, at the end
    fixed*  fixeds;                           ///< by link
    work*   works;
    more*   mores;
    dense*  denses;
    bulk*   slots;
    soft*   softs;
    one*    ones;
    double* spare; ///< scratch output of rejected lanes
    bool    stiff; ///< K_g is included, from lambda
    bool    bend;  ///< velocity-dependent (gamma) terms are included
    mask    bad;   ///< lanes with a pivot that is not positive
} workspace;

static void* create_workspace(tni_arena* arena, const tni_batch_plan* p)
{
    const tn_model* m = p->model;
    workspace*      w = TNI_TAKE(arena, workspace, 1);
    if (w == NULL) return NULL;
    w->plan   = p;
    w->q      = TNI_TAKE(arena, vec, m->q_count);
    w->u      = TNI_TAKE(arena, vec, m->u_count);
    w->z      = TNI_TAKE(arena, vec, m->coordinate_count);
    w->lambda = TNI_TAKE(arena, vec, m->row_count);
    w->ahead  = TNI_TAKE(arena, vec, m->u_count);
    w->v      = TNI_TAKE(arena, vec, m->u_count);
    w->dv     = TNI_TAKE(arena, vec, m->u_count);
    w->linear = TNI_TAKE(arena, vec, m->u_count);
    w->mu     = TNI_TAKE(arena, vec, m->row_count);
    w->dmu    = TNI_TAKE(arena, vec, m->row_count);
    w->r      = TNI_TAKE(arena, vec, m->row_count);
    w->q1     = TNI_TAKE(arena, vec, m->q_count);
    w->u1     = TNI_TAKE(arena, vec, m->u_count);
    w->spare  = TNI_TAKE(arena, double, m->q_count + m->coordinate_count + m->row_count);
    w->R      = TNI_TAKE(arena, mat3, p->count);
    w->R1     = TNI_TAKE(arena, mat3, p->count);
    w->fixeds = TNI_TAKE(arena, fixed, p->count);
    w->works  = TNI_TAKE(arena, work, p->count);
    w->mores  = TNI_TAKE(arena, more, p->more_count);
    w->denses = TNI_TAKE(arena, dense, p->dense_count);
    w->slots  = TNI_TAKE(arena, bulk, p->slot_count);
    w->softs  = TNI_TAKE(arena, soft, p->soft_count);
    w->ones   = TNI_TAKE(arena, one, p->target_count);
    if (arena->failed) return NULL;
    for (int i = 0; i < p->count; ++i) {
        w->fixeds[i].x      = splat3(p->links[i].x);
        w->fixeds[i].R      = splat33(&p->links[i].R);
        w->fixeds[i].turned = splat33(&p->links[i].turned);
    }
    return w;
}

/// One side of a link's joint.
typedef struct side {
    const mat3* R;
    int         link; ///< -1: static or kinematic
} side;

/// Body 1 (k = 0) or 2 of a link's joint; R: attitudes at the start or at the end.
TNI_INLINE side side_of(const workspace* w, const mat3* R, int i, int k)
{
    const tni_batch_link* a = &w->plan->links[i];
    if ((k == 1) == a->second) return (side){&R[i], i};
    if (a->parent >= 0) return (side){&R[a->parent], a->parent};
    return (side){&w->fixeds[i].R, -1};
}

#endif
