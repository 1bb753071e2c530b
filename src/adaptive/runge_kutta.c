// runge_kutta: the classical fourth-order Runge-Kutta method for the active joints of all trees
// together.
//
// With d the displacement of a joint since the start (link_motion.c), stage k = 1 .. 4 is at
//     d_k = a_k h d'_(k-1)     v_k = v + a_k h v'_(k-1)     t + a_k h        a = 0, 1/2, 1/2, 1
// and the step takes the means of the four d' and v', weighted by 1, 2, 2, 1. Displacements of
// rotations are rotation vectors, so d' is not v. All forces are explicit, those of springs,
// targets and handles too; stages of all trees are taken together, since such forces may join two
// trees. Hard limits and contacts are not smooth, and unsupported. Cost: four times that of
// accelerations.
#include "adaptive/adaptive.h"

static const double at[4] = {0, 0.5, 0.5, 1}, weight[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};

tn_result tni_runge_kutta_create(tni_arena* arena, tni_adaptive* adaptive, tn_why* why)
{
    const tni_joint_trees* trees = adaptive->trees;
    const tn_model*        model = adaptive->model;
    if (adaptive->contacts != NULL)
        return tni_fail(
            why, TN_ERR_UNSUPPORTED,
            "setting 'adaptive.integrator': rk4 does not support contacts; use midpoint");
    for (int i = 0; i < trees->count; ++i)
        if (trees->links[i].limit_count > 0)
            return tni_fail(
                why, TN_ERR_UNSUPPORTED,
                "joint '%s': a hard limit; 'adaptive.integrator' rk4 supports soft limits only: "
                "give the limit a stiffness, or use midpoint",
                model->joints[trees->links[i].joint].name);
    adaptive->stage_rate = TNI_TAKE(arena, double, TNI_TREE_LINK_FREEDOMS * trees->count);
    adaptive->mean_rate  = TNI_TAKE(arena, double, TNI_TREE_LINK_FREEDOMS * trees->count);
    adaptive->mean_qddot = TNI_TAKE(arena, double, trees->v_count);
    return arena->failed ? TN_ERR_MEMORY : TN_OK;
}

// Configuration and velocities of a joint at this stage, and its d' there.
static void move_joint(tni_adaptive* adaptive, int index)
{
    const int            stage = adaptive->stage;
    const tni_tree_link* link  = &adaptive->trees->links[index];
    const double         ahead = at[stage] * adaptive->h;
    double *             q = adaptive->middle_q + link->q, *v = adaptive->middle_v + link->v;
    double *             rate = adaptive->stage_rate + TNI_TREE_LINK_FREEDOMS * index,
           *sum = adaptive->mean_rate + TNI_TREE_LINK_FREEDOMS * index, d[TNI_TREE_LINK_FREEDOMS];
    for (int k = 0; k < TNI_TREE_LINK_FREEDOMS; ++k) d[k] = stage > 0 ? ahead * rate[k] : 0;
    for (int k = 0; k < link->freedoms; ++k)
        v[k] = adaptive->v[link->v + k] + (stage > 0 ? ahead * adaptive->qddot[link->v + k] : 0);
    memcpy(q, adaptive->q + link->q, sizeof *q * (size_t)tni_tree_link_numbers(link));
    if (stage > 0) tni_tree_link_displace(link, d, q);
    tni_tree_link_displacement_rate(link, d, q, v, rate);
    for (int k = 0; k < TNI_TREE_LINK_FREEDOMS; ++k)
        sum[k] = (stage > 0 ? sum[k] : 0) + weight[stage] * rate[k];
}

static void move_to_stage(tni_adaptive* adaptive, int tree)
{
    tni_figure* figure = &adaptive->figures[tree];
    for (int i = 0; i < figure->active_count; ++i) move_joint(adaptive, figure->active[i]);
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
    tni_figure_apply_forces(adaptive, tree, &figure->now);
    figure->good =
        figure->good &&
        tni_hybrid_accelerate(&figure->now, adaptive->model->gravity, adaptive->middle_q,
                              adaptive->middle_v, adaptive->trees->actuated ? adaptive->Q : NULL,
                              NULL, adaptive->qddot);
}

static void add_to_mean(tni_adaptive* adaptive, int tree)
{
    const int         stage  = adaptive->stage;
    const tni_figure* figure = &adaptive->figures[tree];
    for (int i = 0; i < figure->active_count; ++i) {
        const tni_tree_link* link = &adaptive->trees->links[figure->active[i]];
        for (int k = link->v; k < link->v + link->freedoms; ++k)
            adaptive->mean_qddot[k] =
                (stage > 0 ? adaptive->mean_qddot[k] : 0) + weight[stage] * adaptive->qddot[k];
    }
}

static void finish(tni_adaptive* adaptive, int tree)
{
    tni_figure*  figure  = &adaptive->figures[tree];
    const double h       = adaptive->h;
    double       nothing = 0;
    for (int i = 0; i < figure->active_count; ++i) {
        const int            index = figure->active[i];
        const tni_tree_link* link  = &adaptive->trees->links[index];
        double *             q     = adaptive->q + link->q, d[TNI_TREE_LINK_FREEDOMS];
        for (int k = 0; k < TNI_TREE_LINK_FREEDOMS; ++k)
            d[k] = h * adaptive->mean_rate[TNI_TREE_LINK_FREEDOMS * index + k];
        for (int k = link->v; k < link->v + link->freedoms; ++k) {
            adaptive->v[k] += h * adaptive->mean_qddot[k];
            nothing += adaptive->v[k] - adaptive->v[k]; // 0, or NaN
        }
        tni_tree_link_displace(link, d, q);
        memcpy(adaptive->middle_q + link->q, q, sizeof *q * (size_t)tni_tree_link_numbers(link));
        adaptive->moved[index] = 1;
        if (link->angle >= 0) adaptive->z[link->coordinate] += link->angle_sign * d[link->angle];
        if (link->kind == TNI_TREE_LINK_UNIVERSAL) adaptive->z[link->coordinate + 1] += d[1];
    }
    figure->substeps = 1;
    figure->good     = figure->good && nothing == 0;
}

void tni_runge_kutta_step(tni_adaptive* adaptive, const tni_inputs* inputs, bool divide,
                          int* visits)
{
    const int    count = adaptive->trees->tree_count;
    const double start = adaptive->time;
    for (int k = 0; k < 4; ++k) {
        adaptive->stage = k;
        adaptive->time  = start + at[k] * adaptive->h;
        tni_each_tree(adaptive, 0, count, move_to_stage);
        if (k > 0) tni_external_force_apply(adaptive, inputs);
        if (divide) {
            tni_each_tree(adaptive, 0, count, joint_forces);
            if (!tni_trees_accelerate(adaptive, adaptive->middle_q, adaptive->middle_v, visits) &&
                count > 0)
                adaptive->figures[0].good = false;
        } else {
            tni_each_tree(adaptive, 0, count, accelerate);
        }
        tni_each_tree(adaptive, 0, count, add_to_mean);
    }
    adaptive->time = start;
    tni_each_tree(adaptive, 0, count, finish);
}
