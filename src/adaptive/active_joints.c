// active_joints: which joints are simulated from now on (Redon et al. 2005, section 5; corrected and extended).
//
// At (q, v), before an ordinary step:
//  1. The body as if all its joints were free: coefficients of the nodes that are touched, and of those at and above
//     what is pushed; all others are rigid, and known by what was kept of them (coefficients.h).
//  2. Down from the root by a queue, the node with the largest metric of accelerations first: its joint's
//     acceleration, the forces on its children, hence their metrics. So many nodes, or until what is left in the queue is
//     small. Nothing below a node is looked at to know its metric.
//  3. Those joints and the ones that were active before make up the transient body: its accelerations with all other
//     joints held, exactly.
//  4. Down again by a queue with the metric of velocities, as these accelerations will have made them when the next
//     choice is due: the new set. Mixed: half of them so; the others one by one, by the velocity of the joint and the
//     accelerations below it that nobody looked at.
//  5. Joints that are left out lose their velocity by the projection that keeps the momenta of all others.
// The paper takes 5 after the step's change of velocities; before it, the step itself is one as all others, and energy
// is lost by 5 alone.
// Bounded (section 7.3 of the paper): the step is made of the accelerations of 2 as they are, and velocities of joints
// left out are dropped: then what is left out is all the error there is.
#include "adaptive/adaptive.h"

enum { FORCED = 1, LISTED = 2, POPPED = 4, QUEUED = 8, CHOSEN = 16, AGAIN = 32 };

static const int mixed_updates = 3, closed_updates = 2; // joints looked at for each active one

static bool is_leaf(const tni_node* node)
{
    return node->b < 0;
}

static const tni_tree_link* limb_of(const tni_adaptive* adaptive, int n)
{
    return &adaptive->limbs->limbs[adaptive->assembly->nodes[n].limb];
}

// Whether a node's joint counts among those that may be active.
static bool counts(const tni_tree_link* limb)
{
    return limb->freedoms > 0 && limb->joint >= 0;
}

// ---- A queue -------------------------------------------------------------------------------------

static bool before(const tni_node_queue* heap, int i, int j)
{
    if (heap->keys[i] != heap->keys[j]) return heap->keys[i] > heap->keys[j];
    return heap->nodes[i] < heap->nodes[j];
}

static void swap(tni_node_queue* heap, int i, int j)
{
    const int    n = heap->nodes[i];
    const double k = heap->keys[i];
    heap->nodes[i] = heap->nodes[j], heap->keys[i] = heap->keys[j];
    heap->nodes[j] = n, heap->keys[j] = k;
}

static void empty(tni_node_queue* heap)
{
    heap->count = 0;
    heap->sum = heap->most = 0;
}

static void queue(tni_node_queue* heap, int n, double key)
{
    int i          = heap->count++;
    heap->nodes[i] = n;
    heap->keys[i]  = key >= 0 ? key : 0; // NaN, too: the step will fail for it
    heap->sum += heap->keys[i];
    heap->most = fmax(heap->most, heap->sum);
    for (; i > 0 && before(heap, i, (i - 1) / 2); i = (i - 1) / 2) swap(heap, i, (i - 1) / 2);
}

static int pop(tni_node_queue* heap)
{
    const int n = heap->nodes[0];
    heap->count--;
    heap->sum -= heap->keys[0];
    heap->nodes[0] = heap->nodes[heap->count], heap->keys[0] = heap->keys[heap->count];
    for (int i = 0;;) {
        int best = i;
        for (int j = 2 * i + 1; j <= 2 * i + 2 && j < heap->count; ++j)
            if (before(heap, j, best)) best = j;
        if (best == i) return n;
        swap(heap, i, best);
        i = best;
    }
}

// Whether more is left in the queue than may be left out (0: nothing may). The sum that is kept is exact enough to tell
// most cases; near the bound they are added up.
static bool leaves_more(tni_node_queue* heap, double bound)
{
    if (heap->count == 0 || bound <= 0) return heap->count > 0;
    if (heap->sum > bound + 1e-9 * heap->most) return true;
    double sum = 0;
    for (int i = 0; i < heap->count; ++i) sum += heap->keys[i];
    heap->sum = sum;
    return sum > bound;
}

// ---- 1. As if all joints were free ---------------------------------------------------------------

// Joints of touched nodes where they stand, frames and relative motions of these, upward.
static void place(tni_adaptive* adaptive, int n)
{
    const tni_node*      node   = &adaptive->assembly->nodes[n];
    const tni_tree_link* limb   = limb_of(adaptive, n);
    tni_frames*          frames = adaptive->frames;
    tni_subassembly *    part = &adaptive->parts[n], *b = &adaptive->parts[node->b];
    tni_shift            X = frames[n].join;
    if (adaptive->active[node->limb]) {
        tni_tree_link_place(limb, adaptive->q + limb->q, &X, adaptive->S + limb->v);
        tni_figure_joint_force(adaptive, node->limb, adaptive->q, adaptive->v);
    }
    tni_join_frames(node, node->a < 0 ? NULL : &frames[node->a], &frames[node->b], &X, &frames[n]);
    tni_six beyond = tni_tree_link_motion(limb, adaptive->S + limb->v, adaptive->v + limb->v);
    if (node->a >= 0) {
        const tni_subassembly* a = &adaptive->parts[node->a];
        beyond                   = tni_six_add(beyond, tni_shift_motion(&X, a->relative[node->at]));
        for (int k = 0; k < node->keep_a; ++k) part->relative[k] = a->relative[node->kept_a[k]];
    }
    part->beyond = beyond;
    for (int k = 0; k < node->keep_b; ++k) {
        const int h = node->kept_b[k];
        part->relative[node->keep_a + k] =
            tni_six_add(tni_shift_motion(&frames[node->b].handle[h], beyond), b->relative[h]);
    }
}

// Motions of the base limbs of a node's children from its own.
static void move_children(tni_adaptive* adaptive, int n, bool rigid)
{
    const tni_node*  node = &adaptive->assembly->nodes[n];
    tni_subassembly *part = &adaptive->parts[n], *b = &adaptive->parts[node->b];
    if (node->a < 0) {
        b->motion = part->beyond;
        return;
    }
    adaptive->parts[node->a].motion = part->motion;
    b->motion                       = tni_shift_motion(&adaptive->frames[n].to_b, part->motion);
    if (!rigid) b->motion = tni_six_add(b->motion, part->beyond);
}

// b and G of a node that is rigid, and on which nothing pushes unless it is a leaf.
static void evaluate(tni_adaptive* adaptive, int n)
{
    const tni_node*   node   = &adaptive->assembly->nodes[n];
    const tni_frames* frames = &adaptive->frames[n];
    tni_subassembly*  part   = &adaptive->parts[n];
    tni_six           v[TNI_HANDLES_MAX];
    if (is_leaf(node) && (part->mark & FORCED)) {
        tni_leaf_moving(&adaptive->limbs->limbs[node->limb].inertia, &part->still, part->motion,
                        adaptive->force[node->limb], &part->moving);
        return;
    }
    for (int k = 0; k < node->handle_count; ++k)
        v[k] = tni_shift_motion(&frames->handle[k], part->motion);
    tni_still_at(node, &part->still, part->motion.w, v, &part->moving);
}

// Whether G of a node that is rigid but pushed can be had from what was kept: then so could those below it.
static bool can_again(const tni_adaptive* adaptive, int n)
{
    const tni_node* node = &adaptive->assembly->nodes[n];
    const uint8_t   a = adaptive->parts[node->a].mark, b = adaptive->parts[node->b].mark;
    return adaptive->parts[n].fresh && adaptive->parts[n].still.turns != NULL &&
           (!(a & LISTED) || (a & AGAIN)) && (!(b & LISTED) || (b & AGAIN));
}

// Factors, gamma, R of a node; b and G as well if asked for. Factors of a rigid one are known.
static bool assemble(tni_adaptive* adaptive, int n, bool metric)
{
    const tni_node* nodes = adaptive->assembly->nodes;
    const tni_node *node = &nodes[n], *node_a = node->a < 0 ? NULL : &nodes[node->a],
                   *node_b    = &nodes[node->b];
    const tni_tree_link* limb = limb_of(adaptive, n);
    tni_subassembly *    part = &adaptive->parts[n],
                    *a        = node->a < 0 ? NULL : &adaptive->parts[node->a],
                    *b        = &adaptive->parts[node->b];
    const tni_join join       = tni_figure_join(adaptive, n);
    const double*  v          = adaptive->v + limb->v;
    if (!part->fresh && !tni_join_factor(node, node_a, node_b, &join, a ? a->still.Phi : NULL,
                                         b->still.Phi, part->factors, part->still.Phi))
        return false;
    if (metric && can_again(adaptive, n)) {
        part->mark |= AGAIN;
        tni_join_moving_again(node, node_a, node_b, &join, part->factors, adaptive->Q + limb->v,
                              adaptive->weight[node->limb], &part->still, &a->moving, &b->moving,
                              part->gamma, part->R, &part->moving);
        return true;
    }
    tni_six c = tni_six_zero(), world;
    if (adaptive->active[node->limb]) {
        c = tni_cross_motion(b->motion, tni_tree_link_motion(limb, join.S, v));
        if (!limb->steady) c = tni_six_add(c, tni_tree_link_bend(limb, adaptive->q + limb->q, v));
    }
    if (node->a < 0)
        world = tni_shift_motion(&join.X, (tni_six){{0, 0, 0}, tni_neg(adaptive->model->gravity)});
    tni_join_moving(node, node_a, node_b, &join, part->factors, adaptive->Q + limb->v,
                    adaptive->weight[node->limb], c, node->a < 0 ? &world : NULL,
                    a ? &a->moving : NULL, &b->moving, part->gamma, part->R,
                    metric ? &part->moving : NULL);
    return true;
}

static void list_nodes(tni_adaptive* adaptive, int tree)
{
    tni_figure*     figure = &adaptive->figures[tree];
    const tni_node* nodes  = adaptive->assembly->nodes;
    figure->list[0]        = adaptive->assembly->root[tree];
    int count              = 1;
    for (int i = 0; i < count; ++i) {
        const tni_node* node        = &nodes[figure->list[i]];
        const int       children[2] = {node->a, node->b};
        adaptive->parts[figure->list[i]].mark |= LISTED;
        for (int k = 0; k < 2; ++k) {
            const int c = children[k];
            if (c >= 0 && !is_leaf(&nodes[c]) &&
                (adaptive->touched[c] || (adaptive->parts[c].mark & FORCED)))
                figure->list[count++] = c;
        }
    }
    figure->list_count = count;
}

static void free_all(tni_adaptive* adaptive, int tree)
{
    tni_figure*     figure = &adaptive->figures[tree];
    const tni_node* nodes  = adaptive->assembly->nodes;
    figure->popped_count   = 0;
    for (int i = figure->touched_count; i-- > 0;) place(adaptive, figure->touched[i]);
    tni_figure_mark_pushed(adaptive, tree, FORCED);
    list_nodes(adaptive, tree);
    for (int i = 0; i < figure->list_count; ++i)
        move_children(adaptive, figure->list[i], !adaptive->touched[figure->list[i]]);
    for (int i = figure->list_count; i-- > 0 && figure->good;) {
        const tni_node* node        = &nodes[figure->list[i]];
        const int       children[2] = {node->a, node->b};
        for (int k = 0; k < 2; ++k) {
            const int c = children[k];
            if (c >= 0 && !(adaptive->parts[c].mark & LISTED))
                evaluate(adaptive, c), figure->visits++;
        }
        figure->good     = assemble(adaptive, figure->list[i], true);
        figure->singular = !figure->good;
    }
    figure->visits += figure->touched_count + figure->list_count;
    tni_subassembly* root = &adaptive->parts[adaptive->assembly->root[tree]];
    if (figure->good)
        root->metric = tni_metric(&nodes[adaptive->assembly->root[tree]], &root->moving, NULL);
}

// ---- 2. Down by the metric of accelerations ------------------------------------------------------

static bool look_at(tni_adaptive* adaptive, tni_figure* figure, int n, tni_node_queue* heap)
{
    const tni_node*      nodes = adaptive->assembly->nodes;
    const tni_node*      node  = &nodes[n];
    const tni_tree_link* limb  = limb_of(adaptive, n);
    tni_subassembly *    part  = &adaptive->parts[n],
                    *a         = node->a < 0 ? NULL : &adaptive->parts[node->a],
                    *b         = &adaptive->parts[node->b];
    figure->visits++;
    if (!(part->mark & LISTED)) {
        move_children(adaptive, n, true);
        evaluate(adaptive, node->a);
        evaluate(adaptive, node->b);
        figure->visits += 2;
        if (!assemble(adaptive, n, false)) return false;
    }
    const tni_join join = tni_figure_join(adaptive, n);
    tni_six        fc;
    tni_join_back(node, a ? &nodes[node->a] : NULL, &nodes[node->b], &join, part->factors,
                  part->gamma, part->R, part->f, adaptive->qddot + limb->v, a ? a->f : NULL, b->f,
                  &fc);
    part->mark |= POPPED;
    figure->popped[figure->popped_count++] = n;
    const int children[2]                  = {node->a, node->b};
    for (int k = 0; k < 2; ++k) {
        const int c = children[k];
        if (c < 0 || is_leaf(&nodes[c])) continue;
        adaptive->parts[c].metric =
            tni_metric(&nodes[c], &adaptive->parts[c].moving, adaptive->parts[c].f);
        adaptive->parts[c].mark |= QUEUED;
        queue(heap, c, figure->scale * adaptive->parts[c].metric);
    }
    return true;
}

static void descend(tni_adaptive* adaptive, int first, int last, int updates, double bound,
                    tni_node_queue* heap)
{
    empty(heap);
    for (int t = first; t < last; ++t) {
        const int   root   = adaptive->assembly->root[t];
        tni_figure* figure = &adaptive->figures[t];
        if (!figure->good) continue;
        if (!figure->floats) queue(heap, root, figure->scale * adaptive->parts[root].metric);
        else figure->good = look_at(adaptive, figure, root, heap); // it always moves
    }
    int looked = 0;
    while (looked < updates && leaves_more(heap, bound)) {
        const int            n    = pop(heap);
        const tni_tree_link* limb = limb_of(adaptive, n);
        looked += counts(limb);
        if (!look_at(adaptive, &adaptive->figures[limb->tree], n, heap))
            adaptive->figures[limb->tree].good = false;
    }
    for (int t = first; t < last; ++t) adaptive->figures[t].left_out = 0;
    for (int i = 0; i < heap->count; ++i)
        adaptive->figures[limb_of(adaptive, heap->nodes[i])->tree].left_out += heap->keys[i];
}

// ---- 3. The transient body -----------------------------------------------------------------------

static void take_popped(tni_adaptive* adaptive, int tree)
{
    tni_figure* figure = &adaptive->figures[tree];
    for (int i = figure->popped_count; i-- > 0;) { // children before their parents
        const int       n     = figure->popped[i];
        const tni_node* node  = &adaptive->assembly->nodes[n];
        const bool      moves = adaptive->limbs->limbs[node->limb].freedoms > 0;
        if (moves || adaptive->touched[node->b] || (node->a >= 0 && adaptive->touched[node->a]))
            adaptive->touched[n] = 1;
        if (!moves || adaptive->active[node->limb]) continue;
        adaptive->active[node->limb]           = 1;
        figure->active[figure->active_count++] = node->limb;
    }
}

static void measure_speeds(tni_adaptive* adaptive, int tree)
{
    const tni_figure* figure = &adaptive->figures[tree];
    for (int i = figure->transient_count; i-- > 0;) {
        const int            n     = figure->transient[i];
        const tni_node*      node  = &adaptive->assembly->nodes[n];
        const tni_tree_link* limb  = limb_of(adaptive, n);
        const double*        u     = adaptive->predicted + limb->v;
        double               speed = 0;
        if (adaptive->active[node->limb] && counts(limb))
            for (int k = 0; k < limb->freedoms; ++k) speed += u[k] * u[k];
        speed *= adaptive->weight[node->limb];
        if (node->a >= 0 && adaptive->touched[node->a]) speed += adaptive->parts[node->a].speed;
        if (adaptive->touched[node->b]) speed += adaptive->parts[node->b].speed;
        adaptive->parts[n].speed = speed;
    }
}

// Velocities as they will be at the next choice. Bounded: as they are after this step.
static void predict(tni_adaptive* adaptive, int tree)
{
    const tni_figure* figure = &adaptive->figures[tree];
    const bool        bound  = adaptive->settings.bounded;
    const double      tau    = bound ? adaptive->h : adaptive->settings.period * adaptive->h;
    for (int i = 0; i < figure->active_count; ++i) {
        const tni_tree_link* limb = &adaptive->limbs->limbs[figure->active[i]];
        const uint8_t mark = adaptive->parts[adaptive->assembly->joint[figure->active[i]]].mark;
        for (int k = limb->v; k < limb->v + limb->freedoms; ++k) {
            const double a         = bound && !(mark & POPPED) ? 0 : adaptive->qddot[k];
            adaptive->predicted[k] = adaptive->v[k] + tau * a;
            if (bound) adaptive->v[k] = adaptive->predicted[k];
        }
    }
}

static void accelerate_transient(tni_adaptive* adaptive, int tree)
{
    tni_figure* figure = &adaptive->figures[tree];
    tni_hybrid* next   = &figure->next;
    if (!figure->good) return;
    take_popped(adaptive, tree);
    figure->transient_count = tni_figure_walk(adaptive, tree, figure->transient);
    next->visits            = 0;
    if (!adaptive->settings.bounded) {
        tni_hybrid_build(next, adaptive->active, adaptive->touched, adaptive->frames);
        tni_hybrid_move(next, adaptive->q, adaptive->v);
        tni_figure_seat(adaptive, tree, next);
        tni_figure_push(adaptive, tree, next);
        figure->good = tni_hybrid_accelerate(
            next, adaptive->model->gravity, adaptive->q, adaptive->v, adaptive->Q,
            adaptive->limbs->actuated ? adaptive->K : NULL, adaptive->qddot);
    }
    figure->visits += next->visits;
    predict(adaptive, tree);
    measure_speeds(adaptive, tree);
}

// ---- 4. The new set ------------------------------------------------------------------------------

static int choose_closed(tni_adaptive* adaptive, int first, int last, int allowed, double bound,
                         tni_node_queue* heap)
{
    const tni_node* nodes = adaptive->assembly->nodes;
    int             taken = 0;
    empty(heap);
    for (int t = first; t < last; ++t) {
        const int root = adaptive->assembly->root[t];
        if (adaptive->figures[t].good)
            queue(heap, root, adaptive->figures[t].scale * adaptive->parts[root].speed);
    }
    while (leaves_more(heap, bound)) {
        const tni_node*      node = &nodes[heap->nodes[0]];
        const tni_tree_link* limb = limb_of(adaptive, heap->nodes[0]);
        const bool           moves =
            counts(limb) && adaptive->active[node->limb]; // else it is passed through
        if (moves && taken == allowed) break;
        const int n = pop(heap);
        taken += moves;
        if (moves) adaptive->parts[n].mark |= CHOSEN;
        const int children[2] = {node->a, node->b};
        for (int k = 0; k < 2; ++k)
            if (children[k] >= 0 && adaptive->touched[children[k]])
                queue(heap, children[k],
                      adaptive->figures[limb->tree].scale * adaptive->parts[children[k]].speed);
    }
    return taken;
}

// The score of a joint by itself: its velocity, and what below it nobody looked at.
static double score(const tni_adaptive* adaptive, int n)
{
    const tni_node*      node  = &adaptive->assembly->nodes[n];
    const tni_tree_link* limb  = limb_of(adaptive, n);
    const double*        u     = adaptive->predicted + limb->v;
    const double         tau   = adaptive->settings.period * adaptive->h;
    double               speed = 0, below = 0;
    const int            children[2] = {node->a, node->b};
    for (int k = 0; k < limb->freedoms; ++k) speed += u[k] * u[k];
    for (int k = 0; k < 2; ++k) {
        const tni_subassembly* c = children[k] >= 0 ? &adaptive->parts[children[k]] : NULL;
        if (c != NULL && (c->mark & QUEUED) && !(c->mark & POPPED)) below += c->metric;
    }
    return adaptive->weight[node->limb] * speed + tau * tau * below;
}

static void choose_singly(tni_adaptive* adaptive, int first, int last, int allowed, double bound,
                          tni_node_queue* heap)
{
    empty(heap);
    for (int t = first; t < last; ++t) {
        const tni_figure* figure = &adaptive->figures[t];
        for (int i = 0; figure->good && i < figure->transient_count; ++i) {
            const int n = figure->transient[i];
            if (!(adaptive->parts[n].mark & CHOSEN) && counts(limb_of(adaptive, n)) &&
                adaptive->active[adaptive->assembly->nodes[n].limb])
                queue(heap, n, figure->scale * score(adaptive, n));
        }
    }
    for (int taken = 0; taken < allowed && leaves_more(heap, bound); ++taken)
        adaptive->parts[pop(heap)].mark |= CHOSEN;
}

// ---- 5. The others lose their velocity -----------------------------------------------------------

static void drop_velocities(tni_adaptive* adaptive, const tni_figure* figure)
{
    for (int i = 0; i < figure->transient_count; ++i) {
        const tni_tree_link* limb = limb_of(adaptive, figure->transient[i]);
        if (!adaptive->active[adaptive->assembly->nodes[figure->transient[i]].limb])
            for (int k = 0; k < limb->freedoms; ++k) adaptive->v[limb->v + k] = 0;
    }
}

static void unmark(tni_adaptive* adaptive, const int* list, int count)
{
    for (int i = 0; i < count; ++i) {
        const tni_node* node          = &adaptive->assembly->nodes[list[i]];
        adaptive->parts[list[i]].mark = adaptive->parts[node->b].mark = 0;
        if (node->a >= 0) adaptive->parts[node->a].mark = 0;
    }
}

static void take_choice(tni_adaptive* adaptive, int tree)
{
    tni_figure* figure = &adaptive->figures[tree];
    for (int i = 0; i < figure->active_count; ++i) adaptive->active[figure->active[i]] = 0;
    figure->active_count = 0;
    for (int i = 0; i < figure->transient_count; ++i) {
        const int n = figure->transient[i], limb = adaptive->assembly->nodes[n].limb;
        adaptive->touched[n]       = 0;
        const tni_tree_link* l     = &adaptive->limbs->limbs[limb];
        const bool           moves = (adaptive->parts[n].mark & CHOSEN) || l->joint < 0;
        if (!moves || l->freedoms == 0) continue;
        adaptive->active[limb]                 = 1;
        figure->active[figure->active_count++] = limb;
    }
    unmark(adaptive, figure->list, figure->list_count);
    unmark(adaptive, figure->popped, figure->popped_count);
    unmark(adaptive, figure->transient, figure->transient_count);
    figure->list_count = figure->touched_count;
    memcpy(figure->list, figure->touched, sizeof *figure->list * (size_t)figure->touched_count);
    figure->touched_count = 0;
    tni_figure_list(adaptive, tree);
}

static void hold(tni_adaptive* adaptive, int tree)
{
    tni_figure* figure = &adaptive->figures[tree];
    if (!figure->good) return;
    take_choice(adaptive, tree);
    tni_figure_refresh(adaptive, tree, figure->list, figure->list_count);
    figure->now.visits = 0;
    tni_hybrid_build(&figure->now, adaptive->active, adaptive->touched, adaptive->frames);
    tni_figure_seat(adaptive, tree, &figure->now);
    figure->visits += figure->now.visits;
    figure->kinetic_loss = 0;
    if (adaptive->settings.bounded) drop_velocities(adaptive, figure);
    else
        figure->kinetic_loss =
            tni_hybrid_rigidify(&figure->next, &figure->now, adaptive->q, adaptive->v);
    figure->good = figure->good && figure->kinetic_loss < HUGE_VAL;
}

// ---- All of it -----------------------------------------------------------------------------------

// The square of what may be left out: where only one of the two is bounded, so is the other over the period.
static double bound_of(const tni_adaptive* adaptive, bool velocity)
{
    const tn_adaptive_settings* s     = &adaptive->settings;
    const double                tau   = s->period * adaptive->h;
    double                      error = velocity ? s->velocity_error : s->acceleration_error;
    if (error <= 0) error = velocity ? s->acceleration_error * tau : s->velocity_error / tau;
    double bound = error * error;
    if (s->pixel_error > 0) {
        const double pixels = s->pixel_error / tau * (velocity ? 1 : 2 / tau);
        bound               = bound > 0 ? fmin(bound, pixels * pixels) : pixels * pixels;
    }
    return bound;
}

// Where there are fewer than could be, and few beside the depth of the tree.
static bool mixes(const tni_adaptive* adaptive, int first, int last, int allowed)
{
    int depth = 0, joints = 0;
    for (int t = first; t < last; ++t) {
        depth += adaptive->figures[t].depth;
        joints += adaptive->figures[t].joints;
    }
    if (adaptive->settings.bounded || allowed >= joints) return false;
    if (adaptive->settings.choice == TN_CHOICE_AUTO) return allowed < 1.4 * depth;
    return adaptive->settings.choice == TN_CHOICE_MIXED;
}

// The fixed choice looks at everything, once.
static void free_nothing(tni_adaptive* adaptive, int tree)
{
    tni_figure*     figure = &adaptive->figures[tree];
    const tni_node* nodes  = adaptive->assembly->nodes;
    const int       root   = adaptive->assembly->root[tree];
    figure->popped_count = figure->list_count = 0;
    for (int n = root; n >= nodes[root].first; --n)
        if (!is_leaf(&nodes[n])) figure->popped[figure->popped_count++] = n;
    for (int i = 0; i < figure->active_count; ++i)
        tni_figure_joint_force(adaptive, figure->active[i], adaptive->q, adaptive->v);
}

// Those next to the roots, level by level.
static void choose_fixed(tni_adaptive* adaptive, int first, int last, int allowed)
{
    bool more = true;
    for (int i = 0, taken = 0; more && taken < allowed; ++i) {
        more = false;
        for (int t = first; t < last && taken < allowed; ++t) {
            const tni_figure* figure = &adaptive->figures[t];
            if (i >= figure->transient_count) continue;
            more        = true;
            const int n = figure->transient[i];
            taken += counts(limb_of(adaptive, n));
            adaptive->parts[n].mark |= CHOSEN;
        }
    }
}

static void make_fixed(tni_adaptive* adaptive, int first, int last, int allowed)
{
    tni_each_tree(adaptive, first, last, free_nothing);
    tni_each_tree(adaptive, first, last, accelerate_transient);
    choose_fixed(adaptive, first, last, allowed);
    tni_each_tree(adaptive, first, last, hold);
}

void tni_choose_active(tni_adaptive* adaptive, int first, int last, int allowed,
                       tni_node_queue* heap)
{
    const tn_adaptive_settings* s = &adaptive->settings;
    if (s->choice == TN_CHOICE_FIXED) {
        make_fixed(adaptive, first, last, allowed);
        return;
    }
    const bool mixed   = mixes(adaptive, first, last, allowed);
    double     updates = (double)allowed * (mixed ? mixed_updates : closed_updates);
    if (s->update > 0) updates = s->update * (s->active > 0 ? (double)allowed / s->active : 1);
    if (updates < 1) updates = 1;
    tni_each_tree(adaptive, first, last, free_all);
    descend(adaptive, first, last, updates < 1e9 ? (int)updates : 1000000000,
            bound_of(adaptive, false), heap);
    tni_each_tree(adaptive, first, last, accelerate_transient);
    const int core  = mixed ? (allowed + 1) / 2 : allowed;
    const int taken = choose_closed(adaptive, first, last, core, bound_of(adaptive, true), heap);
    if (mixed)
        choose_singly(adaptive, first, last, allowed - taken, bound_of(adaptive, true), heap);
    tni_each_tree(adaptive, first, last, hold);
}
