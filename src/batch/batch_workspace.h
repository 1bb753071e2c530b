// batch_workspace: the workspace of a flock: numbers of all lanes, side by side. Names and meanings are those of
// system/tree_form_link.h, force/force.h and step/stepper.h, where nothing else is said.
#ifndef TNI_BATCH_WORKSPACE_H
#define TNI_BATCH_WORKSPACE_H

#include "batch/batch_plan.h"
#include "batch/lanes_angle.h"

/// tni_articulated_inertia
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

enum { CROSS_ROWS = 4, CROSS_FREE = 2 };

/// tni_link_dense of a universal joint; of a free root only D and q.
typedef struct dense {
    vec3 d;
    vec  Q[36], R[CROSS_ROWS * CROSS_ROWS], G[CROSS_FREE * 6], D[36], A[36], left[36];
    vec  SW[CROSS_FREE * CROSS_FREE], W[CROSS_FREE * CROSS_FREE];
    vec3 Ja[CROSS_FREE], Y[CROSS_FREE]; ///< turning only: the rest is zero
    vec  p[6], q[6], b[6], push[CROSS_FREE];
    bool sprung; ///< it has an actuation: W, Ja and Y are there
} dense;

enum { ENDS_MAX = 3 };

/// An actuation, as tni_soften_actuation has it: what the place says, then what a linearisation says.
typedef struct soft {
    int  count;   ///< coordinates
    vec3 J[2][3]; ///< on the turning of body 1 and 2
    vec  f[3], K[9];
    int  end_count;
    int  ends[ENDS_MAX]; ///< which, as the bits of tni_soft.met
    vec  n[ENDS_MAX][3], e0[ENDS_MAX];
    vec  swing; ///< ball
    vec3 turn;  ///< likewise: z2 x n of the cone
    mask met[ENDS_MAX];
    vec  W[9], g[3];
} soft;

/// tni_link_force
typedef struct one {
    vec A[36], b[6];
} one;

/// A parent that cannot be pushed.
typedef struct fixed {
    vec3 x;
    mat3 R, turned;
} fixed;

typedef struct herd {
    const tni_batch_plan* plan;
    double                h;
    double                time[LANES], end[LANES];
    const tni_inputs*     inputs[LANES];
    vec *                 q, *u, *z, *lambda; ///< at the start
    vec *  ahead, *v, *dv, *linear; ///< laid out as u: expected, found, corrections, found at first
    vec *  mu, *dmu, *r;            ///< by row
    vec *  q1, *u1;                 ///< at the end
    mat3 * R, *ends;                ///< by link: at the start, at the end
    fixed* fixeds;                  ///< by link
    work*  works;
    more*  mores;
    dense* denses;
    bulk*  slots;
    soft*  softs;
    one*   ones;
    double* spare; ///< what nobody wants
    bool    stiff; ///< there are multipliers that K_g is made of
    bool    bend;
    mask    bad; ///< a pivot was not positive: they are left
} herd;

static void* create_herd(tni_arena* arena, const tni_batch_plan* p)
{
    const tn_model* m = p->model;
    herd*           w = TNI_TAKE(arena, herd, 1);
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
    w->ends   = TNI_TAKE(arena, mat3, p->count);
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
    int         link; ///< -1: it cannot be pushed
} side;

/// Body 1 (k = 0) or 2 of a link's joint, its axes at the start or at the end.
TNI_INLINE side side_of(const herd* w, const mat3* R, int i, int k)
{
    const tni_batch_link* a = &w->plan->links[i];
    if ((k == 1) == a->second) return (side){&R[i], i};
    if (a->parent >= 0) return (side){&R[a->parent], a->parent};
    return (side){&w->fixeds[i].R, -1};
}

#endif
