// articulated_figure: one articulated body between choices: which of its nodes are touched, what is known of the rigid ones, what
// pushes it, and its accelerations.
#include "adaptive/adaptive.h"

void tni_figure_joint_force(tni_adaptive* adaptive, int limb, const double* q, const double* v)
{
    static const double  rest[TNI_TREE_LINK_FREEDOMS] = {0};
    const tni_tree_link* l                            = &adaptive->limbs->limbs[limb];
    if (l->actuation < 0 && l->limit_count == 0) return; // Q and K are 0 for ever
    const double h = v != NULL ? adaptive->figures[l->tree].h : adaptive->h;
    tni_tree_link_force(adaptive->limbs, limb, adaptive->time, adaptive->z, q + l->q,
                        v != NULL ? v + l->v : rest, adaptive->runge ? 0 : h, adaptive->Q + l->v,
                        adaptive->K + l->k);
}

tni_join tni_figure_join(const tni_adaptive* adaptive, int n)
{
    const tni_tree_link* limb = &adaptive->limbs->limbs[adaptive->assembly->nodes[n].limb];
    return (tni_join){.X = adaptive->frames[n].join,
                      .S = adaptive->S + limb->v,
                      .d = limb->freedoms,
                      .K = adaptive->limbs->actuated ? adaptive->K + limb->k : NULL};
}

// ---- Lists ---------------------------------------------------------------------------------------

int tni_figure_walk(const tni_adaptive* adaptive, int tree, int* list)
{
    const tni_node* nodes = adaptive->assembly->nodes;
    int             count = 1;
    list[0]               = adaptive->assembly->root[tree];
    for (int i = 0; i < count; ++i) {
        const tni_node* node = &nodes[list[i]];
        if (node->a >= 0 && adaptive->touched[node->a]) list[count++] = node->a;
        if (adaptive->touched[node->b]) list[count++] = node->b;
    }
    return count;
}

void tni_figure_list(tni_adaptive* adaptive, int tree)
{
    tni_figure* figure = &adaptive->figures[tree];
    for (int i = 0; i < figure->touched_count; ++i) adaptive->touched[figure->touched[i]] = 0;
    adaptive->touched[adaptive->assembly->root[tree]] = 1;
    for (int i = 0; i < figure->active_count; ++i) {
        for (int n = adaptive->assembly->joint[figure->active[i]]; !adaptive->touched[n];
             n     = adaptive->assembly->nodes[n].up)
            adaptive->touched[n] = 1;
    }
    figure->touched_count = tni_figure_walk(adaptive, tree, figure->touched);
}

// ---- What is known of rigid nodes ----------------------------------------------------------------

static void refresh_node(tni_adaptive* adaptive, int n)
{
    const tni_node*      nodes  = adaptive->assembly->nodes;
    const tni_node*      node   = &nodes[n];
    const tni_tree_link* limb   = &adaptive->limbs->limbs[node->limb];
    tni_frames*          frames = adaptive->frames;
    tni_subassembly *    part   = &adaptive->parts[n],
                    *a          = node->a < 0 ? NULL : &adaptive->parts[node->a];
    const tni_subassembly* b    = &adaptive->parts[node->b];
    tni_shift              X;
    tni_tree_link_place(limb, adaptive->q + limb->q, &X, adaptive->S + limb->v);
    tni_figure_joint_force(adaptive, node->limb, adaptive->q, NULL);
    tni_join_frames(node, a ? &frames[node->a] : NULL, &frames[node->b], &X, &frames[n]);
    part->fresh  = true;
    part->beyond = tni_six_zero();
    for (int k = 0; k < node->handle_count; ++k) part->relative[k] = tni_six_zero();
    if (!adaptive->metrics || node->a < 0) return;
    const tni_join  join   = tni_figure_join(adaptive, n);
    const tni_node* node_a = &nodes[node->a];
    if (!tni_join_factor(node, node_a, &nodes[node->b], &join, a->still.Phi, b->still.Phi,
                         part->factors, part->still.Phi)) {
        part->fresh = adaptive->figures[limb->tree].good = false;
        adaptive->figures[limb->tree].singular           = true;
        return;
    }
    tni_join_still(node, node_a, &nodes[node->b], &join, part->factors, adaptive->Q + limb->v,
                   adaptive->weight[node->limb], &frames[node->a].handle[node->at].E,
                   &frames[n].to_b.E, &a->still, &b->still, &part->still);
}

void tni_figure_refresh(tni_adaptive* adaptive, int tree, const int* list, int count)
{
    const tni_figure* figure = &adaptive->figures[tree];
    const tni_node*   nodes  = adaptive->assembly->nodes;
    for (int i = count; i-- > 0;) {
        if (!adaptive->touched[list[i]] && !adaptive->parts[list[i]].fresh)
            refresh_node(adaptive, list[i]);
    }
    for (int i = 0; i < figure->touched_count; ++i) { // held joints there stand still as well
        const int            n    = figure->touched[i];
        const tni_tree_link* limb = &adaptive->limbs->limbs[nodes[n].limb];
        adaptive->parts[n].fresh  = false;
        if (adaptive->active[nodes[n].limb]) continue;
        tni_tree_link_place(limb, adaptive->q + limb->q, &adaptive->frames[n].join,
                            adaptive->S + limb->v);
        tni_figure_joint_force(adaptive, nodes[n].limb, adaptive->q, NULL);
    }
}

// ---- Forces from outside -------------------------------------------------------------------------

// Limbs of a tree that may be pushed: its own, then those that hands hold.
static tni_pushed_limb* pushed_at(tni_adaptive* adaptive, int tree, int i)
{
    const tni_figure* figure = &adaptive->figures[tree];
    const int         own    = figure->last_pushed - figure->first_pushed;
    if (i < own) return &adaptive->pushed[figure->first_pushed + i];
    tni_pushed_limb* held = &adaptive->pushed[adaptive->pushed_count + i - own];
    return adaptive->limbs->limbs[held->limb].tree == tree ? held : NULL;
}

static int pushed_count(const tni_adaptive* adaptive, int tree)
{
    const tni_figure* figure = &adaptive->figures[tree];
    return figure->last_pushed - figure->first_pushed + adaptive->held_count;
}

void tni_figure_seat(tni_adaptive* adaptive, int tree, const tni_hybrid* hybrid)
{
    for (int i = 0; i < pushed_count(adaptive, tree); ++i) {
        tni_pushed_limb* pushed = pushed_at(adaptive, tree, i);
        if (pushed != NULL)
            pushed->seat =
                tni_hybrid_seat(hybrid, pushed->limb, adaptive->touched, adaptive->frames);
    }
}

void tni_figure_push(tni_adaptive* adaptive, int tree, tni_hybrid* hybrid)
{
    for (int i = 0; i < pushed_count(adaptive, tree); ++i) {
        const tni_pushed_limb* pushed = pushed_at(adaptive, tree, i);
        if (pushed != NULL && pushed->pushed)
            tni_hybrid_push(hybrid, &pushed->seat, adaptive->force[pushed->limb]);
        if (pushed == NULL || !pushed->resisted) continue;
        const tni_seat*    seat    = &pushed->seat;
        const tni_cluster* cluster = &hybrid->clusters[seat->cluster];
        const tn_vec3      com =
            tni_add(seat->way.r, tni_mul_t(&seat->way.E, adaptive->limbs->limbs[pushed->limb].com));
        hybrid->resistances[hybrid->resistance_count++] =
            (tni_resistance){seat->cluster, tni_mul_t(&cluster->world.E, com), pushed->I};
    }
}

// ---- Accelerations -------------------------------------------------------------------------------

void tni_figure_middle(tni_adaptive* adaptive, int tree)
{
    const tni_figure* figure = &adaptive->figures[tree];
    const double      half   = 0.5 * figure->h;
    for (int i = 0; i < figure->active_count; ++i) {
        const tni_tree_link* limb = &adaptive->limbs->limbs[figure->active[i]];
        double *             q = adaptive->middle_q + limb->q, *v = adaptive->middle_v + limb->v;
        for (int k = 0; k < limb->freedoms; ++k)
            v[k] = adaptive->v[limb->v + k] + half * adaptive->qddot[limb->v + k];
        if (!adaptive->halfway) continue;
        memcpy(q, adaptive->q + limb->q, sizeof *q * (size_t)tni_tree_link_numbers(limb));
        tni_tree_link_advance(limb, half, v, q);
    }
}

// How far accelerations are from the last ones, which these become.
static double change_of(tni_adaptive* adaptive, const tni_figure* figure)
{
    double sum = 0;
    for (int i = 0; i < figure->active_count; ++i) {
        const tni_tree_link* limb = &adaptive->limbs->limbs[figure->active[i]];
        for (int k = limb->v; k < limb->v + limb->freedoms; ++k) {
            const double d    = adaptive->qddot[k] - adaptive->last[k];
            adaptive->last[k] = adaptive->qddot[k];
            sum += d * d;
        }
    }
    return sum;
}

// Each round is to come four times as near: else the step is too long for it, and is one of Euler's.
bool tni_figure_accelerate(tni_adaptive* adaptive, int tree, tni_hybrid* hybrid)
{
    tni_figure*   figure = &adaptive->figures[tree];
    const double* K      = adaptive->limbs->actuated ? adaptive->K : NULL;
    double        before = HUGE_VAL;
    tni_figure_push(adaptive, tree, hybrid);
    bool good = tni_hybrid_accelerate(hybrid, adaptive->model->gravity, adaptive->q, adaptive->v,
                                      adaptive->Q, K, adaptive->qddot);
    figure->middle = adaptive->midpoint;
    if (!good || !figure->middle) return good;
    for (int i = 0; i < figure->active_count; ++i) {
        const tni_tree_link* limb = &adaptive->limbs->limbs[figure->active[i]];
        const size_t         size = sizeof(double) * (size_t)limb->freedoms;
        memcpy(adaptive->first + limb->v, adaptive->qddot + limb->v, size);
        memcpy(adaptive->last + limb->v, adaptive->qddot + limb->v, size);
    }
    for (int i = 0; good && figure->middle && i < TNI_MIDDLE_ROUNDS; ++i) {
        tni_figure_middle(adaptive, tree);
        tni_hybrid_move(hybrid, adaptive->middle_q, adaptive->middle_v);
        tni_figure_push(adaptive, tree, hybrid);
        good = tni_hybrid_accelerate(hybrid, adaptive->model->gravity, adaptive->middle_q,
                                     adaptive->middle_v, adaptive->Q, K, adaptive->qddot);
        const double change = change_of(adaptive, figure);
        figure->middle      = change <= 0.0625 * before;
        before              = change;
    }
    if (good && figure->middle) return true;
    for (int i = 0; i < figure->active_count; ++i) {
        const tni_tree_link* limb = &adaptive->limbs->limbs[figure->active[i]];
        memcpy(adaptive->qddot + limb->v, adaptive->first + limb->v,
               sizeof(double) * (size_t)limb->freedoms);
    }
    figure->middle = false;
    return true;
}

void tni_figure_mark_pushed(tni_adaptive* adaptive, int tree, uint8_t mark)
{
    for (int i = 0; i < pushed_count(adaptive, tree); ++i) {
        const tni_pushed_limb* pushed = pushed_at(adaptive, tree, i);
        if (pushed == NULL || !pushed->pushed) continue;
        for (int n = adaptive->assembly->leaf[pushed->limb];
             n >= 0 && !(adaptive->parts[n].mark & mark); n = adaptive->assembly->nodes[n].up)
            adaptive->parts[n].mark |= mark;
    }
}
