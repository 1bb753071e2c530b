// integrate: steps of the midpoint rule and of Euler's, tree by tree; accelerations by divide and conquer.
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
        const tni_tree_link* limb = &adaptive->limbs->limbs[figure->active[i]];
        for (int k = limb->v; k < limb->v + limb->freedoms; ++k) {
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
    const bool   halfway = adaptive->halfway && figure->middle;
    double       nothing = 0;
    for (int i = 0; i < figure->active_count; ++i) {
        const tni_tree_link* limb = &adaptive->limbs->limbs[figure->active[i]];
        const double *       v = adaptive->v + limb->v, *before = adaptive->before + limb->v;
        double               mean[TNI_TREE_LINK_FREEDOMS], *q   = adaptive->q + limb->q;
        for (int k = 0; k < limb->freedoms; ++k) {
            mean[k] = halfway ? 0.5 * (before[k] + v[k]) : v[k];
            nothing += v[k] - v[k]; // 0, or NaN
        }
        adaptive->moved[figure->active[i]] = 1;
        tni_tree_link_advance(limb, h, mean, q);
        memcpy(adaptive->middle_q + limb->q, q, sizeof *q * (size_t)tni_tree_link_numbers(limb));
        if (limb->angle >= 0)
            adaptive->z[limb->coordinate] += limb->angle_sign * h * mean[limb->angle];
        if (limb->kind == TNI_TREE_LINK_UNIVERSAL) adaptive->z[limb->coordinate + 1] += h * mean[1];
    }
    figure->good = figure->good && nothing == 0;
}

// The step in pieces, halved as often as the midpoint rule's rounds do not come nearer fast enough; forces from outside
// stay those of its start. The shortest pieces are Euler's, if need be.
void tni_figure_integrate(tni_adaptive* adaptive, int tree)
{
    enum { PIECES = 64 };
    tni_figure* figure = &adaptive->figures[tree];
    int         size   = PIECES, next;
    for (int at = 0; at < PIECES && figure->good; at = next) {
        next      = at;
        figure->h = adaptive->h * size / PIECES;
        if (figure->pieces > 0) tni_hybrid_move(&figure->now, adaptive->q, adaptive->v);
        accelerate(adaptive, tree);
        figure->pieces++;
        if (figure->good && adaptive->midpoint && !figure->middle && size > 1) {
            size /= 2;
            continue;
        }
        kick(adaptive, tree);
        tni_figure_advance(adaptive, tree);
        next = at + size;
        if (size < PIECES && next % (2 * size) == 0) size *= 2;
    }
    figure->h = adaptive->h;
}

void tni_figure_kick(tni_adaptive* adaptive, int tree)
{
    accelerate(adaptive, tree);
    kick(adaptive, tree);
}

// ---- Divide and conquer --------------------------------------------------------------------------

static void mark_passed(tni_adaptive* adaptive, uint8_t mark)
{
    for (int i = 0; i < adaptive->pushed_count + adaptive->held_count; ++i) {
        if (!adaptive->pushed[i].pushed) continue;
        for (int n = adaptive->assembly->leaf[adaptive->pushed[i].limb];
             n >= 0 && adaptive->passed[n] != mark; n = adaptive->assembly->nodes[n].up)
            adaptive->passed[n] = mark;
    }
}

bool tni_trees_accelerate(tni_adaptive* adaptive, const double* q, const double* v, int* visits)
{
    const tni_tree_state at = {.active  = adaptive->active,
                               .touched = adaptive->touched,
                               .pushed  = adaptive->passed,
                               .frames  = adaptive->frames,
                               .q       = q,
                               .v       = v,
                               .Q       = adaptive->Q,
                               .K       = adaptive->limbs->actuated ? adaptive->K : NULL,
                               .force   = adaptive->force,
                               .gravity = adaptive->model->gravity};
    mark_passed(adaptive, 1);
    const bool good =
        tni_tree_accelerate(adaptive->pass, adaptive->host, 0, adaptive->limbs->tree_count, &at,
                            adaptive->qddot, visits);
    mark_passed(adaptive, 0);
    return good;
}

bool tni_trees_integrate(tni_adaptive* adaptive, int* visits)
{
    const int count = adaptive->limbs->tree_count;
    tni_each_tree(adaptive, 0, count, joint_forces);
    bool good = tni_trees_accelerate(adaptive, adaptive->q, adaptive->v, visits);
    for (int t = 0; t < count; ++t) adaptive->figures[t].middle = adaptive->midpoint;
    for (int i = 0; good && adaptive->midpoint && i < TNI_MIDDLE_ROUNDS; ++i) {
        tni_each_tree(adaptive, 0, count, tni_figure_middle);
        good = tni_trees_accelerate(adaptive, adaptive->middle_q, adaptive->middle_v, visits);
    }
    tni_each_tree(adaptive, 0, count, kick);
    if (adaptive->footings == NULL) tni_each_tree(adaptive, 0, count, tni_figure_advance);
    return good;
}
