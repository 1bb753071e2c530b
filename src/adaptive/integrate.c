// integrate: steps of the midpoint rule and of Euler's method, tree by tree; accelerations by
// divide and conquer.
#include "adaptive/adaptive.h"

static void joint_forces(tni_adaptive* adaptive, int tree)
{
    const tni_figure* figure = &adaptive->figures[tree];
    for (int i = 0; i < figure->active_count; ++i)
        tni_figure_joint_force(adaptive, figure->active[i], adaptive->q, adaptive->v);
}

static void kick(tni_adaptive* adaptive, int tree)
{
    const tni_figure* figure = &adaptive->figures[tree];
    for (int i = 0; i < figure->active_count; ++i) {
        const tni_tree_link* link = &adaptive->trees->links[figure->active[i]];
        for (int k = link->v; k < link->v + link->freedoms; ++k) {
            adaptive->before[k] = adaptive->v[k];
            adaptive->v[k] += figure->h * adaptive->qddot[k];
        }
    }
}

static void accelerate(tni_adaptive* adaptive, int tree)
{
    tni_figure* figure = &adaptive->figures[tree];
    joint_forces(adaptive, tree);
    figure->good = tni_figure_accelerate(adaptive, tree, &figure->now);
}

void tni_figure_advance(tni_adaptive* adaptive, int tree)
{
    tni_figure*  figure  = &adaptive->figures[tree];
    const double h       = figure->h;
    const bool   halfway = adaptive->halfway && figure->uses_midpoint;
    double       nothing = 0;
    for (int i = 0; i < figure->active_count; ++i) {
        const tni_tree_link* link = &adaptive->trees->links[figure->active[i]];
        const double *       v = adaptive->v + link->v, *before = adaptive->before + link->v;
        double               mean[TNI_TREE_LINK_FREEDOMS], *q   = adaptive->q + link->q;
        for (int k = 0; k < link->freedoms; ++k) {
            mean[k] = halfway ? 0.5 * (before[k] + v[k]) : v[k];
            nothing += v[k] - v[k]; // 0, or NaN
        }
        adaptive->moved[figure->active[i]] = 1;
        tni_tree_link_advance(link, h, mean, q);
        memcpy(adaptive->middle_q + link->q, q, sizeof *q * (size_t)tni_tree_link_numbers(link));
        if (link->angle >= 0)
            adaptive->z[link->coordinate] += link->angle_sign * h * mean[link->angle];
        if (link->kind == TNI_TREE_LINK_UNIVERSAL) adaptive->z[link->coordinate + 1] += h * mean[1];
    }
    figure->good = figure->good && nothing == 0;
}

// One step in substeps: halved while the midpoint iteration does not converge fast enough; the
// shortest are Euler's. External forces stay those of the start of the step.
void tni_figure_integrate(tni_adaptive* adaptive, int tree)
{
    enum { SUBSTEPS = 64 };
    tni_figure* figure = &adaptive->figures[tree];
    int         size   = SUBSTEPS, next;
    for (int at = 0; at < SUBSTEPS && figure->good; at = next) {
        next      = at;
        figure->h = adaptive->h * size / SUBSTEPS;
        if (figure->substeps > 0) tni_hybrid_move(&figure->now, adaptive->q, adaptive->v);
        accelerate(adaptive, tree);
        figure->substeps++;
        if (figure->good && adaptive->midpoint && !figure->uses_midpoint && size > 1) {
            size /= 2;
            continue;
        }
        kick(adaptive, tree);
        tni_figure_advance(adaptive, tree);
        next = at + size;
        if (size < SUBSTEPS && next % (2 * size) == 0) size *= 2;
    }
    figure->h = adaptive->h;
}

void tni_figure_kick(tni_adaptive* adaptive, int tree)
{
    accelerate(adaptive, tree);
    kick(adaptive, tree);
}

// ---- Divide and conquer ------------------------------------------------------------------------

static void mark_loaded(tni_adaptive* adaptive, uint8_t mark)
{
    for (int i = 0; i < adaptive->loaded_count + adaptive->grabbed_count; ++i) {
        if (!adaptive->loaded[i].loaded) continue;
        for (int n = adaptive->assembly->leaf[adaptive->loaded[i].link];
             n >= 0 && adaptive->loaded_nodes[n] != mark; n = adaptive->assembly->nodes[n].up)
            adaptive->loaded_nodes[n] = mark;
    }
}

bool tni_trees_accelerate(tni_adaptive* adaptive, const double* q, const double* v, int* visits)
{
    const tni_tree_state at = {.active  = adaptive->active,
                               .touched = adaptive->touched,
                               .loaded  = adaptive->loaded_nodes,
                               .frames  = adaptive->frames,
                               .q       = q,
                               .v       = v,
                               .Q       = adaptive->Q,
                               .K       = adaptive->trees->actuated ? adaptive->K : NULL,
                               .force   = adaptive->force,
                               .gravity = adaptive->model->gravity};
    mark_loaded(adaptive, 1);
    const bool good =
        tni_tree_accelerate(adaptive->pass, adaptive->host, 0, adaptive->trees->tree_count, &at,
                            adaptive->qddot, visits);
    mark_loaded(adaptive, 0);
    return good;
}

bool tni_trees_integrate(tni_adaptive* adaptive, int* visits)
{
    const int count = adaptive->trees->tree_count;
    tni_each_tree(adaptive, 0, count, joint_forces);
    bool good = tni_trees_accelerate(adaptive, adaptive->q, adaptive->v, visits);
    for (int t = 0; t < count; ++t) adaptive->figures[t].uses_midpoint = adaptive->midpoint;
    for (int i = 0; good && adaptive->midpoint && i < TNI_MIDDLE_ROUNDS; ++i) {
        tni_each_tree(adaptive, 0, count, tni_figure_middle);
        good = tni_trees_accelerate(adaptive, adaptive->middle_q, adaptive->middle_v, visits);
    }
    tni_each_tree(adaptive, 0, count, kick);
    if (adaptive->contacts == NULL) tni_each_tree(adaptive, 0, count, tni_figure_advance);
    return good;
}
