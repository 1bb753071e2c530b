// runge_kutta: steps of Runge and Kutta's classical method, fourth order, of the active joints of all trees together.
//
// With d the way of a joint from where it stood (joint_tree.h), stage k = 1 .. 4 is at
//     d_k = a_k h d'_(k-1)     v_k = v + a_k h v'_(k-1)     t + a_k h        a = 0, 1/2, 1/2, 1
// and the step goes by the means of the four d' and v', weighted by 1, 2, 2, 1. Ways of turns are rotation vectors, so
// d' is not v: link_motion.c. All forces are explicit, those of springs, targets and handles too: stages of all trees go
// together, since such forces may lead from tree to tree. Hard limits and contacts are not smooth, and refused.
// Cost: four times that of accelerations.
#include "adaptive/adaptive.h"

static const double at[4] = {0, 0.5, 0.5, 1}, weight[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};

tn_result tni_runge_kutta_create(tni_arena* arena, tni_adaptive* adaptive, tn_why* why)
{
    const tni_joint_trees* limbs = adaptive->limbs;
    const tn_model*        model = adaptive->model;
    if (adaptive->footings != NULL)
        return tni_fail(why, TN_ERR_UNSUPPORTED,
                        "setting 'adaptive.integrator': rk4 has no contacts; take midpoint");
    for (int i = 0; i < limbs->count; ++i)
        if (limbs->limbs[i].limit_count > 0)
            return tni_fail(
                why, TN_ERR_UNSUPPORTED,
                "joint '%s': a hard limit; 'adaptive.integrator' rk4 has soft ones only: "
                "give the limit a stiffness, or take midpoint",
                model->joints[limbs->limbs[i].joint].name);
    adaptive->way  = TNI_TAKE(arena, double, TNI_TREE_LINK_FREEDOMS * limbs->count);
    adaptive->ways = TNI_TAKE(arena, double, TNI_TREE_LINK_FREEDOMS * limbs->count);
    adaptive->gain = TNI_TAKE(arena, double, limbs->v_count);
    return arena->failed ? TN_ERR_MEMORY : TN_OK;
}

// Where a joint is `ahead` after the start by the rates of the last stage, and its rate there.
static void go_joint(tni_adaptive* adaptive, int index)
{
    const int            stage = adaptive->stage;
    const tni_tree_link* limb  = &adaptive->limbs->limbs[index];
    const double         ahead = at[stage] * adaptive->h;
    double *             q = adaptive->middle_q + limb->q, *v = adaptive->middle_v + limb->v;
    double *             rate = adaptive->way + TNI_TREE_LINK_FREEDOMS * index,
           *sum = adaptive->ways + TNI_TREE_LINK_FREEDOMS * index, way[TNI_TREE_LINK_FREEDOMS];
    for (int k = 0; k < TNI_TREE_LINK_FREEDOMS; ++k) way[k] = stage > 0 ? ahead * rate[k] : 0;
    for (int k = 0; k < limb->freedoms; ++k)
        v[k] = adaptive->v[limb->v + k] + (stage > 0 ? ahead * adaptive->qddot[limb->v + k] : 0);
    memcpy(q, adaptive->q + limb->q, sizeof *q * (size_t)tni_tree_link_numbers(limb));
    if (stage > 0) tni_tree_link_along(limb, way, q);
    tni_tree_link_way_rate(limb, way, q, v, rate);
    for (int k = 0; k < TNI_TREE_LINK_FREEDOMS; ++k)
        sum[k] = (stage > 0 ? sum[k] : 0) + weight[stage] * rate[k];
}

static void go_to_stage(tni_adaptive* adaptive, int tree)
{
    tni_figure* figure = &adaptive->figures[tree];
    for (int i = 0; i < figure->active_count; ++i) go_joint(adaptive, figure->active[i]);
    if (adaptive->stage > 0) tni_hybrid_move(&figure->now, adaptive->middle_q, adaptive->middle_v);
}

static void joint_forces(tni_adaptive* adaptive, int tree)
{
    const tni_figure* figure = &adaptive->figures[tree];
    for (int i = 0; i < figure->active_count; ++i)
        tni_figure_joint_force(adaptive, figure->active[i], adaptive->middle_q, adaptive->middle_v);
}

static void accelerate(tni_adaptive* adaptive, int tree)
{
    tni_figure* figure = &adaptive->figures[tree];
    joint_forces(adaptive, tree);
    tni_figure_push(adaptive, tree, &figure->now);
    figure->good =
        figure->good &&
        tni_hybrid_accelerate(&figure->now, adaptive->model->gravity, adaptive->middle_q,
                              adaptive->middle_v, adaptive->limbs->actuated ? adaptive->Q : NULL,
                              NULL, adaptive->qddot);
}

static void gain(tni_adaptive* adaptive, int tree)
{
    const int         stage  = adaptive->stage;
    const tni_figure* figure = &adaptive->figures[tree];
    for (int i = 0; i < figure->active_count; ++i) {
        const tni_tree_link* limb = &adaptive->limbs->limbs[figure->active[i]];
        for (int k = limb->v; k < limb->v + limb->freedoms; ++k)
            adaptive->gain[k] =
                (stage > 0 ? adaptive->gain[k] : 0) + weight[stage] * adaptive->qddot[k];
    }
}

static void finish(tni_adaptive* adaptive, int tree)
{
    tni_figure*  figure  = &adaptive->figures[tree];
    const double h       = adaptive->h;
    double       nothing = 0;
    for (int i = 0; i < figure->active_count; ++i) {
        const int            index = figure->active[i];
        const tni_tree_link* limb  = &adaptive->limbs->limbs[index];
        double *             q     = adaptive->q + limb->q, way[TNI_TREE_LINK_FREEDOMS];
        for (int k = 0; k < TNI_TREE_LINK_FREEDOMS; ++k)
            way[k] = h * adaptive->ways[TNI_TREE_LINK_FREEDOMS * index + k];
        for (int k = limb->v; k < limb->v + limb->freedoms; ++k) {
            adaptive->v[k] += h * adaptive->gain[k];
            nothing += adaptive->v[k] - adaptive->v[k]; // 0, or NaN
        }
        tni_tree_link_along(limb, way, q);
        memcpy(adaptive->middle_q + limb->q, q, sizeof *q * (size_t)tni_tree_link_numbers(limb));
        adaptive->moved[index] = 1;
        if (limb->angle >= 0) adaptive->z[limb->coordinate] += limb->angle_sign * way[limb->angle];
        if (limb->kind == TNI_TREE_LINK_UNIVERSAL) adaptive->z[limb->coordinate + 1] += way[1];
    }
    figure->pieces = 1;
    figure->good   = figure->good && nothing == 0;
}

void tni_runge_kutta_step(tni_adaptive* adaptive, const tni_inputs* inputs, bool divide,
                          int* visits)
{
    const int    count = adaptive->limbs->tree_count;
    const double start = adaptive->time;
    for (int k = 0; k < 4; ++k) {
        adaptive->stage = k;
        adaptive->time  = start + at[k] * adaptive->h;
        tni_each_tree(adaptive, 0, count, go_to_stage);
        if (k > 0) tni_outside_push(adaptive, inputs);
        if (divide) {
            tni_each_tree(adaptive, 0, count, joint_forces);
            if (!tni_trees_accelerate(adaptive, adaptive->middle_q, adaptive->middle_v, visits) &&
                count > 0)
                adaptive->figures[0].good = false;
        } else {
            tni_each_tree(adaptive, 0, count, accelerate);
        }
        tni_each_tree(adaptive, 0, count, gain);
    }
    adaptive->time = start;
    tni_each_tree(adaptive, 0, count, finish);
}
