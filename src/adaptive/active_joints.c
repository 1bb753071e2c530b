// active_joints: chooses the joints to simulate from now on (Redon et al. 2005, section 5;
// corrected and extended).
//
// At (q, v), before an ordinary step:
//  1. The coefficients of the tree as if all its joints were free: of touched nodes, and of nodes
//  at and above external forces. All other nodes are rigid; their position terms are already known
//  (coefficients.h).
//  2. Top down with a priority queue by the acceleration metric: expanding a node gives its joint's
//  acceleration, the forces on its children and so their metrics. Ends after a number of joints or
//  when the sum left in the queue is below the error bound. The metric of a node needs nothing
//  below it.
//  3. The expanded joints and the previously active ones form the transient active region: its
//  accelerations with all other joints held, exactly.
//  4. Top down again by the velocity metric, with velocities predicted for the time of the next
//  choice: the new active joints. Mixed choice: half of them so; the others one by one, by the
//  velocity of the joint and the metric of unexpanded nodes below it.
//  5. Joints that become held lose their velocity by rigidification, which keeps the momenta of the
//  others (rigidify.c).
// The paper does 5 after the step's change of velocities; here it is done before, so the step is an
// ordinary one and energy is lost in 5 only.
// Bounded mode (section 7.3 of the paper): the step uses the accelerations of 2 as they are and
// drops velocities of joints that become held; the only error is then what is left out.
#include "adaptive/adaptive.h"

enum { LOADED = 1, LISTED = 2, EXPANDED = 4, QUEUED = 8, CHOSEN = 16, UPDATED = 32 };

static const int mixed_updates = 3, closed_updates = 2; // joints expanded in 2 for each active one

static bool is_leaf(const tni_node* node)
{
    return node->b < 0;
}

static const tni_tree_link* link_of(const tni_adaptive* adaptive, int n)
{
    return &adaptive->trees->links[adaptive->assembly->nodes[n].link];
}

// True if a node's joint counts among those that may be active.
static bool counts(const tni_tree_link* link)
{
    return link->freedoms > 0 && link->joint >= 0;
}

// ---- Priority queue ----------------------------------------------------------------------------

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
    heap->keys[i]  = key >= 0 ? key : 0; // NaN too: the step will fail because of it
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

// True if the sum of the queue exceeds bound (bound 0: if the queue is not empty). The running sum
// decides most cases; near the bound the keys are summed anew.
static bool exceeds(tni_node_queue* heap, double bound)
{
    if (heap->count == 0 || bound <= 0) return heap->count > 0;
    if (heap->sum > bound + 1e-9 * heap->most) return true;
    double sum = 0;
    for (int i = 0; i < heap->count; ++i) sum += heap->keys[i];
    heap->sum = sum;
    return sum > bound;
}

// ---- 1. As if all joints were free -------------------------------------------------------------

// Frames, joint force and relative motions of a touched node, bottom up.
static void place(tni_adaptive* adaptive, int n)
{
    const tni_node*      node   = &adaptive->assembly->nodes[n];
    const tni_tree_link* link   = link_of(adaptive, n);
    tni_frames*          frames = adaptive->frames;
    tni_subassembly *    part = &adaptive->parts[n], *b = &adaptive->parts[node->b];
    tni_transform        X = frames[n].join;
    if (adaptive->active[node->link]) {
        tni_tree_link_place(link, adaptive->q + link->q, &X, adaptive->S + link->v);
        tni_figure_joint_force(adaptive, node->link, adaptive->q, adaptive->v);
    }
    tni_join_frames(node, node->a < 0 ? NULL : &frames[node->a], &frames[node->b], &X, &frames[n]);
    tni_spatial beyond = tni_tree_link_motion(link, adaptive->S + link->v, adaptive->v + link->v);
    if (node->a >= 0) {
        const tni_subassembly* a = &adaptive->parts[node->a];
        beyond = tni_spatial_add(beyond, tni_transform_motion(&X, a->relative[node->at]));
        for (int k = 0; k < node->keep_a; ++k) part->relative[k] = a->relative[node->kept_a[k]];
    }
    part->beyond = beyond;
    for (int k = 0; k < node->keep_b; ++k) {
        const int h                      = node->kept_b[k];
        part->relative[node->keep_a + k] = tni_spatial_add(
            tni_transform_motion(&frames[node->b].handle[h], beyond), b->relative[h]);
    }
}

// Motions of the base links of a node's children from its own.
static void move_children(tni_adaptive* adaptive, int n, bool rigid)
{
    const tni_node*  node = &adaptive->assembly->nodes[n];
    tni_subassembly *part = &adaptive->parts[n], *b = &adaptive->parts[node->b];
    if (node->a < 0) {
        b->motion = part->beyond;
        return;
    }
    adaptive->parts[node->a].motion = part->motion;
    b->motion                       = tni_transform_motion(&adaptive->frames[n].to_b, part->motion);
    if (!rigid) b->motion = tni_spatial_add(b->motion, part->beyond);
}

// State terms of a rigid node with no force in it, or of a leaf.
static void evaluate(tni_adaptive* adaptive, int n)
{
    const tni_node*   node   = &adaptive->assembly->nodes[n];
    const tni_frames* frames = &adaptive->frames[n];
    tni_subassembly*  part   = &adaptive->parts[n];
    tni_spatial       v[TNI_HANDLES_MAX];
    if (is_leaf(node) && (part->mark & LOADED)) {
        tni_leaf_state_terms(&adaptive->trees->links[node->link].inertia, &part->at_position,
                             part->motion, adaptive->force[node->link], &part->at_state);
        return;
    }
    for (int k = 0; k < node->handle_count; ++k)
        v[k] = tni_transform_motion(&frames->handle[k], part->motion);
    tni_position_terms_at(node, &part->at_position, part->motion.w, v, &part->at_state);
}

// True if G of a rigid node with a force in it can be updated from its position terms; the nodes
// below it must have been updated, too.
static bool can_update(const tni_adaptive* adaptive, int n)
{
    const tni_node* node = &adaptive->assembly->nodes[n];
    const uint8_t   a = adaptive->parts[node->a].mark, b = adaptive->parts[node->b].mark;
    return adaptive->parts[n].fresh && adaptive->parts[n].at_position.reflections != NULL &&
           (!(a & LISTED) || (a & UPDATED)) && (!(b & LISTED) || (b & UPDATED));
}

// Factors (those of a rigid node are known), gamma, R of a node; b and G if metric.
static bool assemble(tni_adaptive* adaptive, int n, bool metric)
{
    const tni_node* nodes = adaptive->assembly->nodes;
    const tni_node *node = &nodes[n], *node_a = node->a < 0 ? NULL : &nodes[node->a],
                   *node_b    = &nodes[node->b];
    const tni_tree_link* link = link_of(adaptive, n);
    tni_subassembly *    part = &adaptive->parts[n],
                    *a        = node->a < 0 ? NULL : &adaptive->parts[node->a],
                    *b        = &adaptive->parts[node->b];
    const tni_node_joint join = tni_figure_join(adaptive, n);
    const double*        v    = adaptive->v + link->v;
    if (!part->fresh && !tni_join_factor(node, node_a, node_b, &join, a ? a->at_position.Phi : NULL,
                                         b->at_position.Phi, part->factors, part->at_position.Phi))
        return false;
    if (metric && can_update(adaptive, n)) {
        part->mark |= UPDATED;
        tni_join_update_state_terms(node, node_a, node_b, &join, part->factors,
                                    adaptive->Q + link->v, adaptive->weight[node->link],
                                    &part->at_position, &a->at_state, &b->at_state, part->gamma,
                                    part->R, &part->at_state);
        return true;
    }
    tni_spatial c = tni_spatial_zero(), world;
    if (adaptive->active[node->link]) {
        c = tni_cross_motion(b->motion, tni_tree_link_motion(link, join.S, v));
        if (!link->steady)
            c = tni_spatial_add(c, tni_tree_link_bias(link, adaptive->q + link->q, v));
    }
    if (node->a < 0)
        world = tni_transform_motion(&join.X,
                                     (tni_spatial){{0, 0, 0}, tni_neg(adaptive->model->gravity)});
    tni_join_state_terms(node, node_a, node_b, &join, part->factors, adaptive->Q + link->v,
                         adaptive->weight[node->link], c, node->a < 0 ? &world : NULL,
                         a ? &a->at_state : NULL, &b->at_state, part->gamma, part->R,
                         metric ? &part->at_state : NULL);
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
                (adaptive->touched[c] || (adaptive->parts[c].mark & LOADED)))
                figure->list[count++] = c;
        }
    }
    figure->list_count = count;
}

static void evaluate_free(tni_adaptive* adaptive, int tree)
{
    tni_figure*     figure = &adaptive->figures[tree];
    const tni_node* nodes  = adaptive->assembly->nodes;
    figure->expanded_count = 0;
    for (int i = figure->touched_count; i-- > 0;) place(adaptive, figure->touched[i]);
    tni_figure_mark_loaded(adaptive, tree, LOADED);
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
        root->metric = tni_metric(&nodes[adaptive->assembly->root[tree]], &root->at_state, NULL);
}

// ---- 2. Down by the metric of accelerations ----------------------------------------------------

static bool expand(tni_adaptive* adaptive, tni_figure* figure, int n, tni_node_queue* heap)
{
    const tni_node*      nodes = adaptive->assembly->nodes;
    const tni_node*      node  = &nodes[n];
    const tni_tree_link* link  = link_of(adaptive, n);
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
    const tni_node_joint join = tni_figure_join(adaptive, n);
    tni_spatial          fc;
    tni_join_back(node, a ? &nodes[node->a] : NULL, &nodes[node->b], &join, part->factors,
                  part->gamma, part->R, part->f, adaptive->qddot + link->v, a ? a->f : NULL, b->f,
                  &fc);
    part->mark |= EXPANDED;
    figure->expanded[figure->expanded_count++] = n;
    const int children[2]                      = {node->a, node->b};
    for (int k = 0; k < 2; ++k) {
        const int c = children[k];
        if (c < 0 || is_leaf(&nodes[c])) continue;
        adaptive->parts[c].metric =
            tni_metric(&nodes[c], &adaptive->parts[c].at_state, adaptive->parts[c].f);
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
        else figure->good = expand(adaptive, figure, root, heap); // a floating root always moves
    }
    int expanded = 0;
    while (expanded < updates && exceeds(heap, bound)) {
        const int            n    = pop(heap);
        const tni_tree_link* link = link_of(adaptive, n);
        expanded += counts(link);
        if (!expand(adaptive, &adaptive->figures[link->tree], n, heap))
            adaptive->figures[link->tree].good = false;
    }
    for (int t = first; t < last; ++t) adaptive->figures[t].left_out = 0;
    for (int i = 0; i < heap->count; ++i)
        adaptive->figures[link_of(adaptive, heap->nodes[i])->tree].left_out += heap->keys[i];
}

// ---- 3. The transient active region ------------------------------------------------------------

static void activate_expanded(tni_adaptive* adaptive, int tree)
{
    tni_figure* figure = &adaptive->figures[tree];
    for (int i = figure->expanded_count; i-- > 0;) { // children before their parents
        const int       n     = figure->expanded[i];
        const tni_node* node  = &adaptive->assembly->nodes[n];
        const bool      moves = adaptive->trees->links[node->link].freedoms > 0;
        if (moves || adaptive->touched[node->b] || (node->a >= 0 && adaptive->touched[node->a]))
            adaptive->touched[n] = 1;
        if (!moves || adaptive->active[node->link]) continue;
        adaptive->active[node->link]           = 1;
        figure->active[figure->active_count++] = node->link;
    }
}

static void measure_speeds(tni_adaptive* adaptive, int tree)
{
    const tni_figure* figure = &adaptive->figures[tree];
    for (int i = figure->transient_count; i-- > 0;) {
        const int            n     = figure->transient[i];
        const tni_node*      node  = &adaptive->assembly->nodes[n];
        const tni_tree_link* link  = link_of(adaptive, n);
        const double*        u     = adaptive->predicted + link->v;
        double               speed = 0;
        if (adaptive->active[node->link] && counts(link))
            for (int k = 0; k < link->freedoms; ++k) speed += u[k] * u[k];
        speed *= adaptive->weight[node->link];
        if (node->a >= 0 && adaptive->touched[node->a]) speed += adaptive->parts[node->a].speed;
        if (adaptive->touched[node->b]) speed += adaptive->parts[node->b].speed;
        adaptive->parts[n].speed = speed;
    }
}

// Velocities at the time of the next choice. Bounded mode: after this step.
static void predict(tni_adaptive* adaptive, int tree)
{
    const tni_figure* figure = &adaptive->figures[tree];
    const bool        bound  = adaptive->settings.bounded;
    const double      tau    = bound ? adaptive->h : adaptive->settings.period * adaptive->h;
    for (int i = 0; i < figure->active_count; ++i) {
        const tni_tree_link* link = &adaptive->trees->links[figure->active[i]];
        const uint8_t mark = adaptive->parts[adaptive->assembly->joint[figure->active[i]]].mark;
        for (int k = link->v; k < link->v + link->freedoms; ++k) {
            const double a         = bound && !(mark & EXPANDED) ? 0 : adaptive->qddot[k];
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
    activate_expanded(adaptive, tree);
    figure->transient_count = tni_figure_walk(adaptive, tree, figure->transient);
    next->visits            = 0;
    if (!adaptive->settings.bounded) {
        tni_hybrid_build(next, adaptive->active, adaptive->touched, adaptive->frames);
        tni_hybrid_move(next, adaptive->q, adaptive->v);
        tni_figure_locate(adaptive, tree, next);
        tni_figure_apply_forces(adaptive, tree, next);
        figure->good = tni_hybrid_accelerate(
            next, adaptive->model->gravity, adaptive->q, adaptive->v, adaptive->Q,
            adaptive->trees->actuated ? adaptive->K : NULL, adaptive->qddot);
    }
    figure->visits += next->visits;
    predict(adaptive, tree);
    measure_speeds(adaptive, tree);
}

// ---- 4. The new active joints ------------------------------------------------------------------

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
    while (exceeds(heap, bound)) {
        const tni_node*      node = &nodes[heap->nodes[0]];
        const tni_tree_link* link = link_of(adaptive, heap->nodes[0]);
        const bool moves = counts(link) && adaptive->active[node->link]; // else it is only passed
        if (moves && taken == allowed) break;
        const int n = pop(heap);
        taken += moves;
        if (moves) adaptive->parts[n].mark |= CHOSEN;
        const int children[2] = {node->a, node->b};
        for (int k = 0; k < 2; ++k)
            if (children[k] >= 0 && adaptive->touched[children[k]])
                queue(heap, children[k],
                      adaptive->figures[link->tree].scale * adaptive->parts[children[k]].speed);
    }
    return taken;
}

// The score of a single joint: its velocity, and the acceleration metric of unexpanded nodes below
// it.
static double score(const tni_adaptive* adaptive, int n)
{
    const tni_node*      node  = &adaptive->assembly->nodes[n];
    const tni_tree_link* link  = link_of(adaptive, n);
    const double*        u     = adaptive->predicted + link->v;
    const double         tau   = adaptive->settings.period * adaptive->h;
    double               speed = 0, below = 0;
    const int            children[2] = {node->a, node->b};
    for (int k = 0; k < link->freedoms; ++k) speed += u[k] * u[k];
    for (int k = 0; k < 2; ++k) {
        const tni_subassembly* c = children[k] >= 0 ? &adaptive->parts[children[k]] : NULL;
        if (c != NULL && (c->mark & QUEUED) && !(c->mark & EXPANDED)) below += c->metric;
    }
    return adaptive->weight[node->link] * speed + tau * tau * below;
}

static void choose_singly(tni_adaptive* adaptive, int first, int last, int allowed, double bound,
                          tni_node_queue* heap)
{
    empty(heap);
    for (int t = first; t < last; ++t) {
        const tni_figure* figure = &adaptive->figures[t];
        for (int i = 0; figure->good && i < figure->transient_count; ++i) {
            const int n = figure->transient[i];
            if (!(adaptive->parts[n].mark & CHOSEN) && counts(link_of(adaptive, n)) &&
                adaptive->active[adaptive->assembly->nodes[n].link])
                queue(heap, n, figure->scale * score(adaptive, n));
        }
    }
    for (int taken = 0; taken < allowed && exceeds(heap, bound); ++taken)
        adaptive->parts[pop(heap)].mark |= CHOSEN;
}

// ---- 5. Velocities of held joints --------------------------------------------------------------

static void drop_velocities(tni_adaptive* adaptive, const tni_figure* figure)
{
    for (int i = 0; i < figure->transient_count; ++i) {
        const tni_tree_link* link = link_of(adaptive, figure->transient[i]);
        if (!adaptive->active[adaptive->assembly->nodes[figure->transient[i]].link])
            for (int k = 0; k < link->freedoms; ++k) adaptive->v[link->v + k] = 0;
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

static void apply_choice(tni_adaptive* adaptive, int tree)
{
    tni_figure* figure = &adaptive->figures[tree];
    for (int i = 0; i < figure->active_count; ++i) adaptive->active[figure->active[i]] = 0;
    figure->active_count = 0;
    for (int i = 0; i < figure->transient_count; ++i) {
        const int n = figure->transient[i], link = adaptive->assembly->nodes[n].link;
        adaptive->touched[n]       = 0;
        const tni_tree_link* l     = &adaptive->trees->links[link];
        const bool           moves = (adaptive->parts[n].mark & CHOSEN) || l->joint < 0;
        if (!moves || l->freedoms == 0) continue;
        adaptive->active[link]                 = 1;
        figure->active[figure->active_count++] = link;
    }
    unmark(adaptive, figure->list, figure->list_count);
    unmark(adaptive, figure->expanded, figure->expanded_count);
    unmark(adaptive, figure->transient, figure->transient_count);
    figure->list_count = figure->touched_count;
    memcpy(figure->list, figure->touched, sizeof *figure->list * (size_t)figure->touched_count);
    figure->touched_count = 0;
    tni_figure_list(adaptive, tree);
}

static void commit(tni_adaptive* adaptive, int tree)
{
    tni_figure* figure = &adaptive->figures[tree];
    if (!figure->good) return;
    apply_choice(adaptive, tree);
    tni_figure_refresh(adaptive, tree, figure->list, figure->list_count);
    figure->now.visits = 0;
    tni_hybrid_build(&figure->now, adaptive->active, adaptive->touched, adaptive->frames);
    tni_figure_locate(adaptive, tree, &figure->now);
    figure->visits += figure->now.visits;
    figure->kinetic_loss = 0;
    if (adaptive->settings.bounded) drop_velocities(adaptive, figure);
    else
        figure->kinetic_loss =
            tni_hybrid_rigidify(&figure->next, &figure->now, adaptive->q, adaptive->v);
    figure->good = figure->good && figure->kinetic_loss < HUGE_VAL;
}

// ---- The whole choice --------------------------------------------------------------------------

// The square of the error bound. If only one of the two errors is bounded, it bounds the other over
// the period.
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

// AUTO: mixed choice if few joints are allowed compared with the depth of the assembly tree.
static bool is_mixed(const tni_adaptive* adaptive, int first, int last, int allowed)
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

// The fixed choice expands all nodes, once.
static void expand_all(tni_adaptive* adaptive, int tree)
{
    tni_figure*     figure = &adaptive->figures[tree];
    const tni_node* nodes  = adaptive->assembly->nodes;
    const int       root   = adaptive->assembly->root[tree];
    figure->expanded_count = figure->list_count = 0;
    for (int n = root; n >= nodes[root].first; --n)
        if (!is_leaf(&nodes[n])) figure->expanded[figure->expanded_count++] = n;
    for (int i = 0; i < figure->active_count; ++i)
        tni_figure_joint_force(adaptive, figure->active[i], adaptive->q, adaptive->v);
}

// Marks the joints next to the roots, level by level.
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
            taken += counts(link_of(adaptive, n));
            adaptive->parts[n].mark |= CHOSEN;
        }
    }
}

static void make_fixed(tni_adaptive* adaptive, int first, int last, int allowed)
{
    tni_each_tree(adaptive, first, last, expand_all);
    tni_each_tree(adaptive, first, last, accelerate_transient);
    choose_fixed(adaptive, first, last, allowed);
    tni_each_tree(adaptive, first, last, commit);
}

void tni_choose_active(tni_adaptive* adaptive, int first, int last, int allowed,
                       tni_node_queue* heap)
{
    const tn_adaptive_settings* s = &adaptive->settings;
    if (s->choice == TN_CHOICE_FIXED) {
        make_fixed(adaptive, first, last, allowed);
        return;
    }
    const bool mixed   = is_mixed(adaptive, first, last, allowed);
    double     updates = (double)allowed * (mixed ? mixed_updates : closed_updates);
    if (s->update > 0) updates = s->update * (s->active > 0 ? (double)allowed / s->active : 1);
    if (updates < 1) updates = 1;
    tni_each_tree(adaptive, first, last, evaluate_free);
    descend(adaptive, first, last, updates < 1e9 ? (int)updates : 1000000000,
            bound_of(adaptive, false), heap);
    tni_each_tree(adaptive, first, last, accelerate_transient);
    const int core  = mixed ? (allowed + 1) / 2 : allowed;
    const int taken = choose_closed(adaptive, first, last, core, bound_of(adaptive, true), heap);
    if (mixed)
        choose_singly(adaptive, first, last, allowed - taken, bound_of(adaptive, true), heap);
    tni_each_tree(adaptive, first, last, commit);
}
