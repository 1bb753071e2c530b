// batch_step: one step of all lanes, by the usual way of step/implicit.c: a linear solve whose one-sided ends are
// those that its end asks for, then rounds that close the joints. Lanes that need another way are left.
#ifndef TNI_BATCH_STEP_H
#define TNI_BATCH_STEP_H

#include "batch/batch_flight.h"
#include "step/stepper.h"

// As in implicit.c.
enum { SETS_MAX = 8, PATIENCE = 6, ROUNDS_USUAL = 6 };
static const double aim = 0.2, diverged = 1e6, share = 0.02;

/// What a step does in each lane.
typedef struct progress {
    mask left; ///< for the stepper
    vec  goal, error, velocity_error;
    mask worst;
    int  factors[LANES], rounds[LANES];
} progress;

static bool has_handles(const tn_state* state)
{
    for (int i = 0; i < TN_HANDLES_MAX; ++i)
        if (state->inputs.handles[i].body != 0) return true;
    return false;
}

// Lanes beyond the last are the first one again. Returns those that have no memory of a step before.
static mask load(herd* w, tn_state* const* states, int count, progress* p)
{
    const tn_model* m = w->plan->model;
    const double *  q[LANES], *u[LANES], *z[LANES], *lambda[LANES];
    mask            fresh = {0};
    EACH(k)
    {
        const tn_state* s = states[k < count ? k : 0];
        q[k] = s->q, u[k] = s->u, z[k] = s->z, lambda[k] = s->history.multipliers;
        fresh[k]     = s->history.h > 0 ? 0 : -1;
        p->left[k]   = has_handles(s) ? -1 : 0;
        w->inputs[k] = &s->inputs;
        w->time[k]   = s->time;
        w->end[k]    = tni_time_after(s->time, w->h);
    }
    into_lanes(w->q, q, m->q_count);
    into_lanes(w->u, u, m->u_count);
    into_lanes(w->z, z, m->coordinate_count);
    into_lanes(w->lambda, lambda, m->row_count);
    for (int i = 0; i < w->plan->count; ++i)
        w->R[i] = quat_matrix(read4(w->q + w->plan->links[i].link->q + 3));
    for (int i = 0; i < m->u_count; ++i) w->ahead[i] = w->u[i];
    return fresh;
}

static vec goal_of(const herd* w)
{
    vec far = splat(1);
    for (int i = 0; i < w->plan->model->q_count; ++i) {
        const vec size = absolute(w->q[i]);
        far            = pick(size > far, size, far);
    }
    return larger(splat(aim * w->plan->settings.tolerance), 1e-14 * far);
}

static void count_lanes(int* counts, mask which)
{
    EACH(k) counts[k] += which[k] != 0;
}

// First multipliers of lanes that have none.
static void find_multipliers(herd* w, mask fresh, progress* p)
{
    if (!any(fresh)) return;
    w->stiff = w->bend = false;
    begin(w);
    count_lanes(p->factors, fresh);
    p->left |= w->bad & fresh;
    for (int i = 0; i < w->plan->model->row_count; ++i)
        w->lambda[i] = pick(fresh, -w->mu[i] / w->h, w->lambda[i]);
}

static void solve_linear(herd* w, progress* p)
{
    mask pending = ~p->left;
    for (int round = 0; round < SETS_MAX; ++round) {
        w->bad ^= w->bad;
        begin(w);
        count_lanes(p->factors, pending);
        p->left |= w->bad;
        pending &= ~p->left;
        if (!w->plan->sided) return;
        pending &= ~ends_stand(w, w->v);
        if (!any(pending)) return;
        for (int i = 0; i < w->plan->model->u_count; ++i)
            w->ahead[i] = pick(pending, w->v[i], w->ahead[i]);
    }
}

// u^T M u / 2 at the end, in the order of implicit.c: body after body.
static vec kinetic(const herd* w, const vec* u)
{
    const tn_model* model = w->plan->model;
    vec             sum   = {0};
    for (int b = 0; b < model->free_count; ++b) {
        const tni_body* body = &model->bodies[model->free_bodies[b]];
        const vec*      v    = u + body->u_start;
        const mat3*     R    = &w->ends[w->plan->tree->link_of[model->free_bodies[b]]];
        const mat3      RS = mat_mul1(R, &body->inertia), Rt = transposed(R), I = mat_mul(&RS, &Rt);
        const vec*      m = I.m;
        const vec xy = m[3], xz = m[6], yz = m[7]; // as computed it is symmetric to rounding only
        const vec Mw[3] = {0 + m[0] * v[3] + xy * v[4] + xz * v[5],
                           0 + xy * v[3] + m[4] * v[4] + yz * v[5],
                           0 + xz * v[3] + yz * v[4] + m[8] * v[5]};
        for (int k = 0; k < 3; ++k) sum += 0.5 * (0 + body->mass * v[k]) * v[k];
        for (int k = 0; k < 3; ++k) sum += 0.5 * Mw[k] * v[3 + k];
    }
    return sum;
}

// Lanes whose corrections took many rounds and have a good part of the motion: they may have strayed (implicit.c).
static mask may_have_strayed(herd* w, const progress* p)
{
    mask many       = {0};
    EACH(k) many[k] = p->rounds[k] > ROUNDS_USUAL ? -1 : 0;
    if (!any(many)) return many;
    for (int i = 0; i < w->plan->model->u_count; ++i) w->dv[i] = w->v[i] - w->linear[i];
    return many & (kinetic(w, w->dv) > share * kinetic(w, w->v));
}

/// How near a lane has come to closing, and how many rounds ago.
typedef struct patience {
    vec  nearest, since;
    mask begun;
} patience;

TNI_INLINE mask is_out_of_patience(patience* t, vec error)
{
    const mask better = (error < t->nearest) | ~t->begun;
    t->since          = only(~better, t->since + 1);
    t->nearest        = pick(better, error, t->nearest);
    t->begun          = ~(t->begun ^ t->begun);
    return t->since > PATIENCE;
}

static void add_where(mask m, vec* restrict to, const vec* restrict from, int count)
{
    if (all(m)) UNROLL for (int i = 0; i < count; ++i) to[i] += from[i];
    else
        for (int i = 0; i < count; ++i) to[i] = pick(m, to[i] + from[i], to[i]);
}

static void close_joints(herd* w, progress* p)
{
    const int rows = w->plan->model->row_count, n = w->plan->model->u_count;
    patience  t = {splat(HUGE_VAL), splat(0), {0}};
    for (int i = 0; i < n; ++i) w->linear[i] = w->v[i];
    for (int round = 0;; ++round) {
        const worst_of c = fly(w);
        p->error         = c.most;
        p->worst         = c.which;
        const mask open  = ~(c.most <= p->goal) & ~p->left;
        p->left |= open & (is_out_of_patience(&t, c.most) | ~(c.most < diverged));
        if (round == w->plan->settings.iterations) p->left |= open;
        const mask go = open & ~p->left;
        if (!any(go)) return;
        correct(w);
        add_where(go, w->v, w->dv, n);
        add_where(go, w->mu, w->dmu, rows);
        count_lanes(p->rounds, go);
    }
}

static vec add_nothing(vec sum, const vec* numbers, int count)
{
    UNROLL for (int i = 0; i < count; ++i) sum += numbers[i] - numbers[i]; // x - x is 0, or NaN
    return sum;
}

static mask not_finite(const herd* w)
{
    const tn_model* m = w->plan->model;
    return ~(add_nothing(add_nothing(splat(0), w->q1, m->q_count), w->u1, m->u_count) == 0);
}

// Into the states that are not left; the others go nowhere.
static void store(herd* w, tn_state* const* states, int count, unsigned left)
{
    const tn_model* m = w->plan->model;
    double *        q[LANES], *u[LANES], *z[LANES], *lambda[LANES];
    for (int i = 0; i < m->row_count; ++i) w->lambda[i] = -w->mu[i] / w->h;
    EACH(k)
    {
        q[k] = u[k] = z[k] = lambda[k] = w->spare;
        if (k >= count || (left >> k & 1) != 0) continue;
        tn_state* s = states[k];
        tni_state_forget(s);
        s->time        = w->end[k];
        s->history.h   = w->h;
        s->history.two = false;
        q[k] = s->q, u[k] = s->u, z[k] = s->z, lambda[k] = s->history.multipliers;
    }
    out_of_lanes(q, w->q1, m->q_count);
    out_of_lanes(u, w->u1, m->u_count);
    out_of_lanes(z, w->z, m->coordinate_count);
    out_of_lanes(lambda, w->lambda, m->row_count);
}

static void tell(const herd* w, const progress* p, int lane, tn_step_report* report)
{
    *report = (tn_step_report){
        .h_taken         = w->h,
        .joint_error     = p->error[lane],
        .worst_joint     = tni_constraint_id(w->plan->model, (int)p->worst[lane]),
        .velocity_error  = p->velocity_error[lane],
        .rank_margin     = 1,
        .redundant_count = -1,
        .iteration_count = p->rounds[lane],
        .substep_count   = 1,
        .factor_count    = p->factors[lane],
    };
}

static unsigned step_herd(void* work_, tn_state* const* states, int count, double h,
                          tn_step_report* const* reports)
{
    herd*      w       = work_;
    progress   p       = {.factors = {0}};
    const bool stiffen = w->plan->settings.stiffen && w->plan->model->row_count > 0;
    w->h               = h;
    const mask fresh   = load(w, states, count, &p);
    p.goal             = goal_of(w);
    look_at_forces(w);
    w->bad ^= w->bad;
    if (stiffen) find_multipliers(w, fresh, &p);
    w->stiff = stiffen;
    w->bend  = true;
    solve_linear(w, &p);
    close_joints(w, &p);
    p.velocity_error = measure(w);
    p.left |= not_finite(w) | may_have_strayed(w, &p);
    const unsigned left = (unsigned)BITS(p.left);
    store(w, states, count, left);
    for (int k = 0; k < count; ++k)
        if ((left >> k & 1) == 0) tell(w, &p, k, reports[k]);
    return left & ((1u << count) - 1);
}

static const tni_batch_kernels set = {LANES, create_herd, step_herd};

#endif
