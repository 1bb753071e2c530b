// articulated_figure: one tree between choices: its touched nodes, frames and position terms of the
// rigid ones, external forces, accelerations.
#include "adaptive/adaptive.h"

void tni_figure_joint_force(tni_adaptive* adaptive, int link, const double* q, const double* v)
{
    static const double  rest[TNI_TREE_LINK_FREEDOMS] = {0};
    const tni_tree_link* l                            = &adaptive->trees->links[link];
    if (l->actuation < 0 && l->limit_count == 0) return; // Q and K stay 0
    const double h = v != NULL ? adaptive->figures[l->tree].h : adaptive->h;
    tni_tree_link_force(adaptive->trees, link, adaptive->time, adaptive->z, q + l->q,
                        v != NULL ? v + l->v : rest, adaptive->rk4 ? 0 : h, adaptive->Q + l->v,
                        adaptive->K + l->k);
}

tni_node_joint tni_figure_join(const tni_adaptive* adaptive, int n)
{
    const tni_tree_link* link = &adaptive->trees->links[adaptive->assembly->nodes[n].link];
    return (tni_node_joint){.X = adaptive->frames[n].join,
                            .S = adaptive->S + link->v,
                            .d = link->freedoms,
                            .K = adaptive->trees->actuated ? adaptive->K + link->k : NULL};
}

// ---- Lists -------------------------------------------------------------------------------------

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

// ---- Rigid nodes -------------------------------------------------------------------------------

static void refresh_node(tni_adaptive* adaptive, int n)
{
    const tni_node*      nodes  = adaptive->assembly->nodes;
    const tni_node*      node   = &nodes[n];
    const tni_tree_link* link   = &adaptive->trees->links[node->link];
    tni_frames*          frames = adaptive->frames;
    tni_subassembly *    part   = &adaptive->parts[n],
                    *a          = node->a < 0 ? NULL : &adaptive->parts[node->a];
    const tni_subassembly* b    = &adaptive->parts[node->b];
    tni_transform          X;
    tni_tree_link_place(link, adaptive->q + link->q, &X, adaptive->S + link->v);
    tni_figure_joint_force(adaptive, node->link, adaptive->q, NULL);
    tni_join_frames(node, a ? &frames[node->a] : NULL, &frames[node->b], &X, &frames[n]);
    part->fresh  = true;
    part->beyond = tni_spatial_zero();
    for (int k = 0; k < node->handle_count; ++k) part->relative[k] = tni_spatial_zero();
    if (!adaptive->metrics || node->a < 0) return;
    const tni_node_joint join   = tni_figure_join(adaptive, n);
    const tni_node*      node_a = &nodes[node->a];
    if (!tni_join_factor(node, node_a, &nodes[node->b], &join, a->at_position.Phi,
                         b->at_position.Phi, part->factors, part->at_position.Phi)) {
        part->fresh = adaptive->figures[link->tree].good = false;
        adaptive->figures[link->tree].singular           = true;
        return;
    }
    tni_join_position_terms(node, node_a, &nodes[node->b], &join, part->factors,
                            adaptive->Q + link->v, adaptive->weight[node->link],
                            &frames[node->a].handle[node->at].E, &frames[n].to_b.E, &a->at_position,
                            &b->at_position, &part->at_position);
}

void tni_figure_refresh(tni_adaptive* adaptive, int tree, const int* list, int count)
{
    const tni_figure* figure = &adaptive->figures[tree];
    const tni_node*   nodes  = adaptive->assembly->nodes;
    for (int i = count; i-- > 0;) {
        if (!adaptive->touched[list[i]] && !adaptive->parts[list[i]].fresh)
            refresh_node(adaptive, list[i]);
    }
    for (int i = 0; i < figure->touched_count;
         ++i) { // held joints of touched nodes do not move either
        const int            n    = figure->touched[i];
        const tni_tree_link* link = &adaptive->trees->links[nodes[n].link];
        adaptive->parts[n].fresh  = false;
        if (adaptive->active[nodes[n].link]) continue;
        tni_tree_link_place(link, adaptive->q + link->q, &adaptive->frames[n].join,
                            adaptive->S + link->v);
        tni_figure_joint_force(adaptive, nodes[n].link, adaptive->q, NULL);
    }
}

// ---- External forces ---------------------------------------------------------------------------

// i-th loaded link of a tree: its own, then grabbed ones (NULL: of another tree).
static tni_loaded_link* loaded_at(tni_adaptive* adaptive, int tree, int i)
{
    const tni_figure* figure = &adaptive->figures[tree];
    const int         own    = figure->last_loaded - figure->first_loaded;
    if (i < own) return &adaptive->loaded[figure->first_loaded + i];
    tni_loaded_link* held = &adaptive->loaded[adaptive->loaded_count + i - own];
    return adaptive->trees->links[held->link].tree == tree ? held : NULL;
}

static int loaded_count(const tni_adaptive* adaptive, int tree)
{
    const tni_figure* figure = &adaptive->figures[tree];
    return figure->last_loaded - figure->first_loaded + adaptive->grabbed_count;
}

void tni_figure_locate(tni_adaptive* adaptive, int tree, const tni_hybrid* hybrid)
{
    for (int i = 0; i < loaded_count(adaptive, tree); ++i) {
        tni_loaded_link* loaded = loaded_at(adaptive, tree, i);
        if (loaded != NULL)
            loaded->place =
                tni_hybrid_locate(hybrid, loaded->link, adaptive->touched, adaptive->frames);
    }
}

void tni_figure_apply_forces(tni_adaptive* adaptive, int tree, tni_hybrid* hybrid)
{
    for (int i = 0; i < loaded_count(adaptive, tree); ++i) {
        const tni_loaded_link* loaded = loaded_at(adaptive, tree, i);
        if (loaded != NULL && loaded->loaded)
            tni_hybrid_add_force(hybrid, &loaded->place, adaptive->force[loaded->link]);
        if (loaded == NULL || !loaded->resisted) continue;
        const tni_link_place* place   = &loaded->place;
        const tni_cluster*    cluster = &hybrid->clusters[place->cluster];
        const tn_vec3         com =
            tni_add(place->to_link.r,
                    tni_mul_t(&place->to_link.E, adaptive->trees->links[loaded->link].com));
        hybrid->resistances[hybrid->resistance_count++] =
            (tni_resistance){place->cluster, tni_mul_t(&cluster->world.E, com), loaded->I};
    }
}

// ---- Accelerations -----------------------------------------------------------------------------

void tni_figure_middle(tni_adaptive* adaptive, int tree)
{
    const tni_figure* figure = &adaptive->figures[tree];
    const double      half   = 0.5 * figure->h;
    for (int i = 0; i < figure->active_count; ++i) {
        const tni_tree_link* link = &adaptive->trees->links[figure->active[i]];
        double *             q = adaptive->middle_q + link->q, *v = adaptive->middle_v + link->v;
        for (int k = 0; k < link->freedoms; ++k)
            v[k] = adaptive->v[link->v + k] + half * adaptive->qddot[link->v + k];
        if (!adaptive->halfway) continue;
        memcpy(q, adaptive->q + link->q, sizeof *q * (size_t)tni_tree_link_numbers(link));
        tni_tree_link_advance(link, half, v, q);
    }
}

// Square of the change from the last accelerations, which are then replaced.
static double change_of(tni_adaptive* adaptive, const tni_figure* figure)
{
    double sum = 0;
    for (int i = 0; i < figure->active_count; ++i) {
        const tni_tree_link* link = &adaptive->trees->links[figure->active[i]];
        for (int k = link->v; k < link->v + link->freedoms; ++k) {
            const double d    = adaptive->qddot[k] - adaptive->last[k];
            adaptive->last[k] = adaptive->qddot[k];
            sum += d * d;
        }
    }
    return sum;
}

// Midpoint iteration. The change must shrink by a factor of 4 each time; else the step is too long
// for it, and is Euler's.
bool tni_figure_accelerate(tni_adaptive* adaptive, int tree, tni_hybrid* hybrid)
{
    tni_figure*   figure = &adaptive->figures[tree];
    const double* K      = adaptive->trees->actuated ? adaptive->K : NULL;
    double        before = HUGE_VAL;
    tni_figure_apply_forces(adaptive, tree, hybrid);
    bool good = tni_hybrid_accelerate(hybrid, adaptive->model->gravity, adaptive->q, adaptive->v,
                                      adaptive->Q, K, adaptive->qddot);
    figure->uses_midpoint = adaptive->midpoint;
    if (!good || !figure->uses_midpoint) return good;
    for (int i = 0; i < figure->active_count; ++i) {
        const tni_tree_link* link = &adaptive->trees->links[figure->active[i]];
        const size_t         size = sizeof(double) * (size_t)link->freedoms;
        memcpy(adaptive->first + link->v, adaptive->qddot + link->v, size);
        memcpy(adaptive->last + link->v, adaptive->qddot + link->v, size);
    }
    for (int i = 0; good && figure->uses_midpoint && i < TNI_MIDDLE_ROUNDS; ++i) {
        tni_figure_middle(adaptive, tree);
        tni_hybrid_move(hybrid, adaptive->middle_q, adaptive->middle_v);
        tni_figure_apply_forces(adaptive, tree, hybrid);
        good = tni_hybrid_accelerate(hybrid, adaptive->model->gravity, adaptive->middle_q,
                                     adaptive->middle_v, adaptive->Q, K, adaptive->qddot);
        const double change   = change_of(adaptive, figure);
        figure->uses_midpoint = change <= 0.0625 * before;
        before                = change;
    }
    if (good && figure->uses_midpoint) return true;
    for (int i = 0; i < figure->active_count; ++i) {
        const tni_tree_link* link = &adaptive->trees->links[figure->active[i]];
        memcpy(adaptive->qddot + link->v, adaptive->first + link->v,
               sizeof(double) * (size_t)link->freedoms);
    }
    figure->uses_midpoint = false;
    return true;
}

void tni_figure_mark_loaded(tni_adaptive* adaptive, int tree, uint8_t mark)
{
    for (int i = 0; i < loaded_count(adaptive, tree); ++i) {
        const tni_loaded_link* loaded = loaded_at(adaptive, tree, i);
        if (loaded == NULL || !loaded->loaded) continue;
        for (int n = adaptive->assembly->leaf[loaded->link];
             n >= 0 && !(adaptive->parts[n].mark & mark); n = adaptive->assembly->nodes[n].up)
            adaptive->parts[n].mark |= mark;
    }
}
