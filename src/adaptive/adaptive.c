#include "adaptive/adaptive.h"

#include "math/elementary.h"

// ---- Creation ------------------------------------------------------------------------------------

static void take_part(tni_arena* arena, const tni_adaptive* adaptive, int n)
{
    const tni_node*  node = &adaptive->assembly->nodes[n];
    tni_subassembly* part = &adaptive->parts[n];
    const int        f    = 6 * node->handle_count;
    const bool       leaf = node->b < 0;
    part->f               = TNI_TAKE(arena, double, f);
    if (!adaptive->metrics) return;
    part->still.Phi = TNI_TAKE(arena, double, f* f);
    part->still.B   = TNI_TAKE(arena, double, f* TNI_QUADRATIC);
    part->still.G   = TNI_TAKE(arena, double, leaf ? 0 : (f + TNI_QUADRATIC) * (f + TNI_QUADRATIC));
    part->moving.b  = TNI_TAKE(arena, double, f);
    part->moving.G  = TNI_TAKE(arena, double, leaf ? 0 : (f + 1) * (f + 1));
    part->factors   = TNI_TAKE(arena, tni_factors, leaf ? 0 : 1);
    if (node->a >= 0) { // the handle that a is held by comes first
        adaptive->parts[node->a].still.lead  = node->at;
        adaptive->parts[node->a].moving.lead = node->at;
    }
}

// Nodes above what may be pushed: how they were made is kept.
static void take_turns(tni_arena* arena, const tni_adaptive* adaptive, int limb)
{
    const tni_node* nodes = adaptive->assembly->nodes;
    for (int n = nodes[adaptive->assembly->leaf[limb]].up; n >= 0; n = nodes[n].up) {
        tni_still* still = &adaptive->parts[n].still;
        if (nodes[n].a < 0 || still->turns != NULL) return;
        still->turns = TNI_TAKE(arena, double,
                                tni_turns_room(&nodes[n], &nodes[nodes[n].a], &nodes[nodes[n].b],
                                               adaptive->limbs->limbs[nodes[n].limb].freedoms));
    }
}

static int depth_of(const tni_assembly* assembly, int root)
{
    int depth = 0;
    for (int n = assembly->nodes[root].first; n <= root; ++n)
        depth = assembly->nodes[n].depth > depth ? assembly->nodes[n].depth : depth;
    return depth;
}

static tn_result take_figure(tni_arena* arena, tni_adaptive* adaptive, int tree)
{
    tni_figure*            figure = &adaptive->figures[tree];
    const tni_joint_trees* limbs  = adaptive->limbs;
    const int              root   = adaptive->assembly->root[tree];
    const int              nodes  = root + 1 - adaptive->assembly->nodes[root].first;
    const int              count  = limbs->first[tree + 1] - limbs->first[tree];
    figure->active                = TNI_TAKE(arena, int, count);
    figure->touched               = TNI_TAKE(arena, int, nodes);
    figure->list                  = TNI_TAKE(arena, int, nodes);
    figure->transient             = TNI_TAKE(arena, int, nodes);
    figure->popped                = TNI_TAKE(arena, int, nodes);
    figure->depth                 = depth_of(adaptive->assembly, root);
    figure->floats                = limbs->limbs[limbs->first[tree]].joint < 0;
    figure->scale                 = 1;
    figure->good                  = true;
    for (int i = limbs->first[tree]; i < limbs->first[tree + 1]; ++i)
        figure->joints += limbs->limbs[i].freedoms > 0 && limbs->limbs[i].joint >= 0;
    if (arena->failed) return TN_ERR_MEMORY;
    tn_result result = tni_hybrid_create(arena, limbs, adaptive->assembly, tree, &figure->now);
    if (result == TN_OK)
        result = tni_hybrid_create(arena, limbs, adaptive->assembly, tree, &figure->next);
    return result;
}

static tn_result start_leaves(tni_adaptive* adaptive, tn_why* why)
{
    for (int n = 0; n < adaptive->assembly->count; ++n) {
        const tni_node* node = &adaptive->assembly->nodes[n];
        if (node->b >= 0) continue;
        const tni_tree_link* limb = &adaptive->limbs->limbs[node->limb];
        tni_leaf_frames(limb, &adaptive->frames[n]);
        adaptive->parts[n].fresh = true;
        if (adaptive->metrics && !tni_leaf_still(&limb->inertia, &adaptive->parts[n].still))
            return tni_fail(why, TN_ERR_UNSUPPORTED,
                            "body '%s': method adaptive needs moments about all its axes",
                            adaptive->model->bodies[limb->body].name);
    }
    return TN_OK;
}

static double weight_of(const tni_adaptive* adaptive, const tni_tree_link* limb)
{
    if (limb->joint < 0) return 0; // it always moves, and g would count more than all else
    if (adaptive->settings.weights == TN_WEIGHTS_ONE) return 1;
    if (limb->kind == TNI_TREE_LINK_SLIDER) return 1;
    return limb->reach * limb->reach;
}

static tn_result take_all(tni_arena* arena, tni_adaptive* adaptive)
{
    const tni_joint_trees* limbs = adaptive->limbs;
    const int              nodes = adaptive->assembly->count;
    adaptive->parts              = TNI_TAKE(arena, tni_subassembly, nodes);
    adaptive->frames             = TNI_TAKE(arena, tni_frames, nodes);
    adaptive->figures            = TNI_TAKE(arena, tni_figure, limbs->tree_count);
    adaptive->q                  = TNI_TAKE(arena, double, limbs->q_count);
    adaptive->v                  = TNI_TAKE(arena, double, limbs->v_count);
    adaptive->z                  = TNI_TAKE(arena, double, adaptive->model->coordinate_count);
    adaptive->Q                  = TNI_TAKE(arena, double, limbs->v_count);
    adaptive->K                  = TNI_TAKE(arena, double, limbs->k_count);
    adaptive->qddot              = TNI_TAKE(arena, double, limbs->v_count);
    adaptive->predicted          = TNI_TAKE(arena, double, limbs->v_count);
    adaptive->before             = TNI_TAKE(arena, double, limbs->v_count);
    adaptive->first              = TNI_TAKE(arena, double, limbs->v_count);
    adaptive->last               = TNI_TAKE(arena, double, limbs->v_count);
    adaptive->middle_v           = TNI_TAKE(arena, double, limbs->v_count);
    adaptive->middle_q           = TNI_TAKE(arena, double, limbs->q_count);
    adaptive->read               = TNI_TAKE(arena, double, limbs->q_count);
    adaptive->read_v             = TNI_TAKE(arena, double, limbs->v_count);
    adaptive->was_q              = TNI_TAKE(arena, double, adaptive->model->q_count);
    adaptive->was_u              = TNI_TAKE(arena, double, adaptive->model->u_count);
    adaptive->S                  = TNI_TAKE(arena, tni_six, limbs->v_count);
    adaptive->weight             = TNI_TAKE(arena, double, limbs->count);
    adaptive->active             = TNI_TAKE(arena, uint8_t, limbs->count);
    adaptive->touched            = TNI_TAKE(arena, uint8_t, nodes);
    adaptive->passed             = TNI_TAKE(arena, uint8_t, nodes);
    adaptive->moved              = TNI_TAKE(arena, uint8_t, limbs->count);
    adaptive->constraint_of      = TNI_TAKE(arena, int, limbs->count);
    adaptive->heap.nodes         = TNI_TAKE(arena, int, nodes);
    adaptive->heap.keys          = TNI_TAKE(arena, double, nodes);
    if (arena->failed) return TN_ERR_MEMORY;
    for (int n = 0; n < nodes; ++n) take_part(arena, adaptive, n);
    tn_result result = TN_OK;
    for (int t = 0; t < limbs->tree_count && result == TN_OK; ++t)
        result = take_figure(arena, adaptive, t);
    for (int i = 0; i < limbs->count; ++i) {
        adaptive->weight[i]        = weight_of(adaptive, &limbs->limbs[i]);
        const tni_tree_link* limb  = &limbs->limbs[i];
        const bool           moves = limb->joint >= 0 && limb->freedoms > 0;
        adaptive->constraint_of[i] = moves ? adaptive->model->joints[limb->joint].constraint : -1;
        adaptive->flat =
            adaptive->flat || adaptive->model->bodies[limbs->limbs[i].body].kind == TN_BODY_PLANAR;
    }
    if (result == TN_OK && adaptive->settings.solver == TN_ADAPTIVE_TREE)
        result = tni_divide_and_conquer_create(arena, limbs, adaptive->assembly, &adaptive->pass);
    if (result == TN_OK) result = tni_outside_create(arena, adaptive);
    if (result == TN_OK && adaptive->model->shape_count > 1)
        result = tni_link_contacts_create(arena, adaptive);
    for (int i = 0; result == TN_OK && adaptive->metrics && i < adaptive->pushed_count; ++i)
        take_turns(arena, adaptive, adaptive->pushed[i].limb);
    return result == TN_OK && arena->failed ? TN_ERR_MEMORY : result;
}

// Whether anything may ever be left out.
static bool leaves_out(const tn_adaptive_settings* s)
{
    const bool errors = s->acceleration_error > 0 || s->velocity_error > 0 || s->pixel_error > 0;
    return errors || (!s->bounded && (s->active > 0 || s->budget > 0 || s->detail > 0));
}

static tn_result check(const tn_adaptive_settings* s, tn_why* why)
{
    if (s->pixels <= 0 && s->pixel_error > 0)
        return tni_fail(
            why, TN_ERR_MODEL,
            "setting 'adaptive.pixel_error' wants a camera: its focal length 'adaptive.pixels', its "
            "place 'adaptive.camera_x' ...");
    if (s->pixels <= 0 && s->weights == TN_WEIGHTS_PIXELS)
        return tni_fail(
            why, TN_ERR_MODEL,
            "setting 'adaptive.weights': pixels want a camera: its focal length 'adaptive.pixels'");
    if (s->pixel_error > 0 && s->weights != TN_WEIGHTS_PIXELS)
        return tni_fail(why, TN_ERR_MODEL,
                        "setting 'adaptive.pixel_error' wants 'adaptive.weights' to be pixels");
    if (s->pixels <= 0 && s->detail > 0)
        return tni_fail(
            why, TN_ERR_MODEL,
            "setting 'adaptive.detail' wants a camera: its focal length 'adaptive.pixels'");
    return TN_OK;
}

// Whether springs lead from limb to limb: explicit forces, which want places to move on by the new velocities.
static bool has_pairs(const tni_adaptive* adaptive)
{
    const tn_model* model = adaptive->model;
    for (int i = 0; adaptive->limbs != NULL && i < model->spring_count; ++i)
        if (adaptive->limbs->of_body[model->springs[i].body1] >= 0 &&
            adaptive->limbs->of_body[model->springs[i].body2] >= 0)
            return true;
    return false;
}

tn_result tni_adaptive_create(tni_arena* arena, const tn_model* model, const tn_host* host,
                              const tn_adaptive_settings* settings, tni_adaptive** out, tn_why* why)
{
    tni_adaptive* adaptive = *out = TNI_TAKE(arena, tni_adaptive, 1);
    if (adaptive == NULL) return TN_ERR_MEMORY;
    adaptive->model    = model;
    adaptive->host     = host;
    adaptive->settings = *settings;
    adaptive->all      = !leaves_out(settings);
    adaptive->metrics  = !adaptive->all && settings->choice != TN_CHOICE_FIXED;
    adaptive->step     = -1;
    if (settings->bounded) adaptive->settings.period = 1;
    if (settings->bounded) adaptive->settings.active = 0; // by errors only
    tn_result result = check(settings, why);
    if (result == TN_OK) result = tni_joint_trees_create(arena, model, &adaptive->limbs, why);
    if (result == TN_OK) result = tni_assembly_create(arena, adaptive->limbs, &adaptive->assembly);
    if (result == TN_OK) result = take_all(arena, adaptive);
    if (result == TN_OK) result = start_leaves(adaptive, why);
    adaptive->midpoint = settings->integrator == TN_ADAPTIVE_MIDPOINT && !settings->bounded;
    adaptive->runge    = settings->integrator == TN_ADAPTIVE_RK4 && !settings->bounded;
    if (result == TN_OK && adaptive->runge) result = tni_runge_kutta_create(arena, adaptive, why);
    if (result == TN_OK) tni_forward_create(adaptive);
    adaptive->halfway = adaptive->midpoint && adaptive->footings == NULL && !has_pairs(adaptive);
    adaptive->allowed = adaptive->settings.active;
    if (settings->budget > 0 && settings->active == 0 && result == TN_OK)
        adaptive->allowed = 1 + adaptive->limbs->count / 10; // to begin with
    return result;
}

void tni_adaptive_free(tni_adaptive* adaptive)
{
    if (adaptive != NULL) tni_link_contacts_free(adaptive->footings);
}

// ---- To and from a state -------------------------------------------------------------------------

static bool same(const void* a, const void* b, size_t bytes)
{
    return memcmp(a, b, bytes) == 0;
}

// Nodes above a joint whose place is another one are no longer fresh.
static void place_joint(tni_adaptive* adaptive, int limb, const double* q)
{
    const tni_tree_link* l = &adaptive->limbs->limbs[limb];
    const int            count =
        limb + 1 < adaptive->limbs->count ? l[1].q - l->q : adaptive->limbs->q_count - l->q;
    if (adaptive->step >= 0 && same(adaptive->q + l->q, q, sizeof *q * (size_t)count)) return;
    memcpy(adaptive->q + l->q, q, sizeof *q * (size_t)count);
    int n                    = adaptive->assembly->joint[limb];
    adaptive->parts[n].fresh = false; // then all above those that are not fresh are not, either
    for (n = adaptive->assembly->nodes[n].up; n >= 0 && adaptive->parts[n].fresh;
         n = adaptive->assembly->nodes[n].up)
        adaptive->parts[n].fresh = false;
}

static bool may_move(const tni_tree_link* limb)
{
    return limb->freedoms > 0;
}

static void start_figure(tni_adaptive* adaptive, int tree)
{
    tni_figure* figure   = &adaptive->figures[tree];
    const int   root     = adaptive->assembly->root[tree];
    figure->active_count = 0;
    for (int i = adaptive->limbs->first[tree]; i < adaptive->limbs->first[tree + 1]; ++i)
        if (adaptive->active[i]) figure->active[figure->active_count++] = i;
    tni_figure_list(adaptive, tree);
    int count = 0;
    for (int n = root; n >= adaptive->assembly->nodes[root].first; --n)
        if (adaptive->assembly->nodes[n].b >= 0) figure->list[count++] = n;
    tni_figure_refresh(adaptive, tree, figure->list, count);
    tni_hybrid_build(&figure->now, adaptive->active, adaptive->touched, adaptive->frames);
    tni_figure_seat(adaptive, tree, &figure->now);
}

// Whether these are the trees as they were left here.
static bool is_here(const tni_adaptive* adaptive, const tni_reduced* reduced)
{
    const tni_joint_trees* limbs = adaptive->limbs;
    if (adaptive->step < 0 || adaptive->step != reduced->step ||
        !same(adaptive->q, reduced->q, sizeof(double) * (size_t)limbs->q_count) ||
        !same(adaptive->v, reduced->v, sizeof(double) * (size_t)limbs->v_count))
        return false;
    for (int i = 0; i < limbs->count; ++i) {
        const int c = adaptive->constraint_of[i];
        if (c >= 0 && adaptive->active[i] != reduced->active[c]) return false;
    }
    return true;
}

static void forget(tni_adaptive* adaptive)
{
    adaptive->step = -1;
    for (int n = 0; n < adaptive->assembly->count; ++n) {
        if (adaptive->assembly->nodes[n].b >= 0) adaptive->parts[n].fresh = false;
        adaptive->parts[n].mark = 0;
        adaptive->touched[n]    = 0;
    }
    for (int t = 0; t < adaptive->limbs->tree_count; ++t) {
        adaptive->figures[t].touched_count = 0;
        adaptive->figures[t].good          = true;
        adaptive->figures[t].singular      = false;
        adaptive->figures[t].anew          = false;
    }
}

static void read_active(tni_adaptive* adaptive, const tni_reduced* reduced)
{
    const tni_joint_trees* limbs = adaptive->limbs;
    for (int i = 0; i < limbs->count; ++i) {
        const tni_tree_link* limb = &limbs->limbs[i];
        const bool           count =
            !adaptive->all && !adaptive->figures[limb->tree].anew && limb->joint >= 0;
        adaptive->active[i] =
            may_move(limb) &&
            (!count || reduced->active[adaptive->model->joints[limb->joint].constraint]);
    }
}

// A screw's turns are counted in z: they say how far it is out.
static void seat_screws(tni_adaptive* adaptive)
{
    for (int i = 0; i < adaptive->limbs->count; ++i) {
        const tni_tree_link* limb = &adaptive->limbs->limbs[i];
        double*              q    = adaptive->read + limb->q;
        if (limb->kind != TNI_TREE_LINK_SCREW) continue;
        tni_tree_link_follow(limb, q, adaptive->z);
        q[6] = (limb->reversed ? -1 : 1) * limb->size * adaptive->z[limb->coordinate];
    }
}

// Bodies were moved by others, but perhaps not those of all trees: the others go on. Those that were are read anew, with
// all joints active.
static void read_trees(tni_adaptive* adaptive, const tn_state* state)
{
    const tni_joint_trees* limbs = adaptive->limbs;
    const tn_model*        model = adaptive->model;
    memcpy(adaptive->was_q, state->q, sizeof(double) * (size_t)model->q_count);
    memcpy(adaptive->was_u, state->u, sizeof(double) * (size_t)model->u_count);
    if (state->reduced.kept)
        tni_joint_trees_write(limbs, state->reduced.q, state->reduced.v, adaptive->was_q,
                              adaptive->was_u);
    tni_joint_trees_read(limbs, state->q, state->u, adaptive->read, adaptive->read_v);
    seat_screws(adaptive);
    for (int t = 0; t < limbs->tree_count; ++t) {
        bool here = state->reduced.kept;
        for (int i = limbs->first[t]; i < limbs->first[t + 1] && here; ++i) {
            const tni_body* body = &model->bodies[limbs->limbs[i].body];
            here                 = same(adaptive->was_q + body->q_start, state->q + body->q_start,
                                        sizeof(double) * (size_t)body->q_count) &&
                   same(adaptive->was_u + body->u_start, state->u + body->u_start,
                        sizeof(double) * (size_t)body->dim);
        }
        adaptive->figures[t].anew = !here;
        if (!here) continue;
        const tni_tree_link *first = &limbs->limbs[limbs->first[t]],
                            *end   = &limbs->limbs[limbs->first[t + 1] - 1];
        memcpy(adaptive->read + first->q, state->reduced.q + first->q,
               sizeof(double) * (size_t)(end->q + tni_tree_link_numbers(end) - first->q));
        memcpy(adaptive->read_v + first->v, state->reduced.v + first->v,
               sizeof(double) * (size_t)(end->v + end->freedoms - first->v));
    }
}

void tni_adaptive_load(tni_adaptive* adaptive, const tn_state* state, double h)
{
    const tni_joint_trees* limbs   = adaptive->limbs;
    const tni_reduced*     reduced = &state->reduced;
    adaptive->time                 = state->time;
    memcpy(adaptive->z, state->z, sizeof *adaptive->z * (size_t)adaptive->model->coordinate_count);
    if (adaptive->footings != NULL) tni_link_contacts_load(adaptive->footings, &state->warm_start);
    if (adaptive->h != h && limbs->actuated) forget(adaptive); // added inertia is another one
    adaptive->h = h;
    if (reduced->known && is_here(adaptive, reduced)) return;
    for (int t = 0; t < limbs->tree_count; ++t) adaptive->figures[t].anew = false;
    if (!reduced->known) read_trees(adaptive, state);
    const double *q = reduced->known ? reduced->q : adaptive->read,
                 *v = reduced->known ? reduced->v : adaptive->read_v;
    memcpy(adaptive->v, v, sizeof *v * (size_t)limbs->v_count);
    for (int i = 0; i < limbs->count; ++i) place_joint(adaptive, i, q + limbs->limbs[i].q);
    memcpy(adaptive->middle_q, adaptive->q, sizeof *adaptive->q * (size_t)limbs->q_count);
    read_active(adaptive, reduced);
    adaptive->step = reduced->kept ? reduced->step : 0;
    for (int t = 0; t < limbs->tree_count; ++t)
        adaptive->figures[t].good = true, adaptive->figures[t].singular = false;
    tni_each_tree(adaptive, 0, limbs->tree_count, start_figure);
}

// Of a tree, with the angles of joints that have moved.
static void place_tree(tni_adaptive* adaptive, int tree)
{
    const tni_joint_trees* limbs = adaptive->limbs;
    adaptive->figures[tree].fit  = tni_joint_trees_place(limbs, tree, adaptive->q, adaptive->v,
                                                         adaptive->body_q, adaptive->body_u);
    for (int i = limbs->first[tree]; i < limbs->first[tree + 1]; ++i) {
        if (!adaptive->moved[i]) continue;
        adaptive->moved[i] = 0;
        tni_tree_link_follow(&limbs->limbs[i], adaptive->q + limbs->limbs[i].q, adaptive->z);
    }
}

tni_joint_trees_fit tni_adaptive_place(tni_adaptive* adaptive, double* body_q, double* body_u)
{
    tni_joint_trees_fit all = {.worst = -1};
    adaptive->body_q = body_q, adaptive->body_u = body_u;
    tni_each_tree(adaptive, 0, adaptive->limbs->tree_count, place_tree);
    for (int t = 0; t < adaptive->limbs->tree_count; ++t) {
        const tni_joint_trees_fit* fit = &adaptive->figures[t].fit;
        if (fit->error > all.error) all.error = fit->error, all.worst = fit->worst;
        all.rate = fmax(all.rate, fit->rate);
    }
    return all;
}

void tni_adaptive_store(const tni_adaptive* adaptive, tni_reduced* reduced)
{
    const tni_joint_trees* limbs = adaptive->limbs;
    memcpy(reduced->q, adaptive->q, sizeof *reduced->q * (size_t)limbs->q_count);
    memcpy(reduced->v, adaptive->v, sizeof *reduced->v * (size_t)limbs->v_count);
    memset(reduced->active, 1, (size_t)adaptive->model->named_count); // welds, too
    for (int i = 0; i < limbs->count; ++i)
        if (adaptive->constraint_of[i] >= 0)
            reduced->active[adaptive->constraint_of[i]] = adaptive->active[i];
    reduced->step  = adaptive->step;
    reduced->known = reduced->kept = true;
}

// ---- Who may have how many -----------------------------------------------------------------------

static const double near = 0.1; // [m]; nothing is seen from nearer

static double distance(const tni_adaptive* adaptive, int tree)
{
    const tn_vec3 at = adaptive->figures[tree].now.clusters[0].world.r;
    return fmax(tni_norm(tni_sub(at, adaptive->camera)), near);
}

// What part of its joints a body at this distance may have, beside others.
static double wish_of(const tni_adaptive* adaptive, int tree)
{
    const tn_adaptive_settings* s   = &adaptive->settings;
    const double                far = distance(adaptive, tree) / (s->detail > 0 ? s->detail : 1);
    return s->detail > 0 && far <= 1 ? 1 : tni_exp(-s->falloff * tni_log(far));
}

// Joints of a body when those of all are lambda times what they wish for: none has less than one.
static int share(const tni_figure* figure, double lambda)
{
    const double n = floor(lambda * figure->wish * figure->joints);
    return n >= figure->joints ? figure->joints : n >= 1 ? (int)n : figure->joints < 1 ? 0 : 1;
}

static long long shares(tni_adaptive* adaptive, double lambda)
{
    long long sum = 0;
    for (int t = 0; t < adaptive->limbs->tree_count; ++t)
        sum += adaptive->figures[t].quota = share(&adaptive->figures[t], lambda);
    return sum;
}

// The largest lambda that all shares together allow.
static void share_out(tni_adaptive* adaptive)
{
    for (int t = 0; t < adaptive->limbs->tree_count; ++t)
        adaptive->figures[t].wish = wish_of(adaptive, t);
    if (adaptive->allowed <= 0) {
        shares(adaptive, adaptive->settings.detail > 0 ? 1 : HUGE_VAL);
        return;
    }
    double lower = 0, upper = 1;
    if (adaptive->settings.detail > 0) {
        if (shares(adaptive, 1) <= adaptive->allowed) return;
    } else {
        while (upper < 1e12 && shares(adaptive, upper) <= adaptive->allowed)
            lower = upper, upper *= 2;
    }
    for (int i = 0; i < 40; ++i) {
        const double middle = (lower + upper) / 2;
        if (shares(adaptive, middle) <= adaptive->allowed) lower = middle;
        else upper = middle;
    }
    shares(adaptive, lower);
}

// All bodies by one queue, or each with a share of its own by its distance to the camera.
static bool one_queue(const tni_adaptive* adaptive)
{
    return adaptive->settings.pixels <= 0;
}

static bool chooses(const tni_adaptive* adaptive, int tree)
{
    if (adaptive->all) return false;
    if (adaptive->figures[tree].anew) return true;
    if (adaptive->settings.choice == TN_CHOICE_FIXED) return adaptive->step == 0;
    const int phase = one_queue(adaptive) ? 0 : tree; // else spread over the period
    return adaptive->step == 0 || (adaptive->step + phase) % adaptive->settings.period == 0;
}

// Bodies choose at different times: those that do now have what the others leave, but at least a joint.
static void keep_within(tni_adaptive* adaptive)
{
    long long left = adaptive->allowed;
    if (adaptive->allowed <= 0) return;
    for (int t = 0; t < adaptive->limbs->tree_count; ++t) {
        const tni_figure* figure = &adaptive->figures[t];
        left -= chooses(adaptive, t) ? figure->quota > 0 : figure->active_count - figure->floats;
    }
    for (int t = 0; t < adaptive->limbs->tree_count; ++t) {
        tni_figure* figure = &adaptive->figures[t];
        if (!chooses(adaptive, t) || figure->quota < 2) continue;
        if (figure->quota - 1 > left) figure->quota = 1 + (left > 0 ? (int)left : 0);
        left -= figure->quota - 1;
    }
}

static void look_from_camera(tni_adaptive* adaptive, const tni_inputs* outside)
{
    const tn_adaptive_settings* s = &adaptive->settings;
    if (s->pixels <= 0) return;
    adaptive->camera =
        outside->camera_given ? outside->camera : tni_vec3(s->camera_x, s->camera_y, s->camera_z);
    for (int t = 0; t < adaptive->limbs->tree_count && s->weights == TN_WEIGHTS_PIXELS; ++t) {
        const double scale         = s->pixels / distance(adaptive, t);
        adaptive->figures[t].scale = scale * scale;
    }
    share_out(adaptive);
    keep_within(adaptive);
}

// ---- A step --------------------------------------------------------------------------------------

typedef struct tree_job {
    tni_adaptive* adaptive;
    int           first;
    void (*task)(tni_adaptive*, int);
} tree_job;

static void run_job(void* data, int index)
{
    const tree_job* job = data;
    job->task(job->adaptive, job->first + index);
}

void tni_each_tree(tni_adaptive* adaptive, int first, int last, void (*task)(tni_adaptive*, int))
{
    tree_job job = {adaptive, first, task};
    if (last - first > 1 && adaptive->host->each != NULL)
        adaptive->host->each(adaptive->host->workers, last - first, run_job, &job);
    else
        for (int t = first; t < last; ++t) task(adaptive, t);
}

static void move(tni_adaptive* adaptive, int tree)
{
    tni_figure* figure = &adaptive->figures[tree];
    tni_hybrid_move(&figure->now, adaptive->q, adaptive->v);
    figure->visits       = figure->now.count;
    figure->h            = adaptive->h;
    figure->pieces       = 0;
    figure->kinetic_loss = 0;
}

// With contacts, places move on when these are solved. Stages of Runge and Kutta's are taken by all trees together.
static void go_on(tni_adaptive* adaptive, int tree)
{
    if (adaptive->runge) return;
    if (adaptive->footings == NULL) tni_figure_integrate(adaptive, tree);
    else tni_figure_kick(adaptive, tree);
}

// After a choice: clusters are others. Bounded: velocities are those of the end already.
static void go_on_anew(tni_adaptive* adaptive, int tree)
{
    if (!adaptive->figures[tree].good) return;
    if (adaptive->settings.bounded) {
        if (adaptive->footings == NULL) tni_figure_advance(adaptive, tree);
        return;
    }
    tni_hybrid_move(&adaptive->figures[tree].now, adaptive->q, adaptive->v);
    go_on(adaptive, tree);
}

static void step_one(tni_adaptive* adaptive, int tree)
{
    tni_figure* figure = &adaptive->figures[tree];
    const int   first  = adaptive->assembly->nodes[adaptive->assembly->root[tree]].first;
    tni_heap    heap = {.nodes = adaptive->heap.nodes + first, .keys = adaptive->heap.keys + first};
    if (chooses(adaptive, tree)) {
        tni_choose_active(adaptive, tree, tree + 1, figure->quota, &heap);
        go_on_anew(adaptive, tree);
    } else {
        go_on(adaptive, tree);
    }
}

static tn_result finish(tni_adaptive* adaptive, tni_adaptive_report* report, tn_why* why)
{
    for (int t = 0; t < adaptive->limbs->tree_count; ++t) {
        tni_figure* figure = &adaptive->figures[t];
        report->active += figure->active_count - figure->floats;
        report->visits += figure->visits;
        if (figure->pieces > report->pieces) report->pieces = figure->pieces;
        report->choices += chooses(adaptive, t);
        adaptive->figures[t].anew = false;
        report->kinetic_loss += figure->kinetic_loss;
        report->left_out +=
            figure->scale > 0 && figure->scale < HUGE_VAL ? figure->left_out / figure->scale : 0;
        if (figure->good) continue;
        const int  body     = adaptive->limbs->limbs[adaptive->limbs->first[t]].body;
        const bool singular = figure->singular;
        forget(adaptive);
        if (singular)
            return tni_fail(
                why, TN_ERR_SINGULAR,
                "the articulated body of '%s' is too long for the exact metrics of its parts: "
                "simulate all joints (no adaptive.active) or take method multiplier",
                adaptive->model->bodies[body].name);
        return tni_fail(why, TN_ERR_DIVERGED,
                        "the articulated body of '%s' is not finite any more: take a smaller step",
                        adaptive->model->bodies[body].name);
    }
    report->left_out = sqrt(report->left_out);
    const int period = adaptive->settings.period, most = 1 << 30;
    if (++adaptive->step >= most) adaptive->step -= (most / period - 1) * period;
    return TN_OK;
}

static tn_result fail_full(tni_adaptive* adaptive, tn_why* why)
{
    forget(adaptive);
    return tni_fail(why, TN_ERR_MEMORY, "no room for so many contacts");
}

tn_result tni_adaptive_step(tni_adaptive* adaptive, double time, const tni_inputs* outside,
                            tni_adaptive_report* report, tn_why* why)
{
    const int count = adaptive->limbs->tree_count;
    bool      any   = false;
    int       nodes = 0;
    adaptive->time  = time;
    *report         = (tni_adaptive_report){0};
    tni_each_tree(adaptive, 0, count, move);
    tni_outside_push(adaptive, outside);
    if (adaptive->footings != NULL && !tni_link_contacts_find(adaptive))
        return fail_full(adaptive, why);
    look_from_camera(adaptive, outside);
    for (int t = 0; t < count; ++t) any = any || chooses(adaptive, t);
    if (any && one_queue(adaptive)) {
        const int allowed = adaptive->allowed > 0 ? adaptive->allowed : adaptive->limbs->count;
        tni_choose_active(adaptive, 0, count, allowed, &adaptive->heap);
        tni_each_tree(adaptive, 0, count, go_on_anew);
    } else if (!any && adaptive->pass != NULL && !adaptive->runge) {
        if (!tni_trees_integrate(adaptive, &nodes) && count > 0) adaptive->figures[0].good = false;
    } else {
        tni_each_tree(adaptive, 0, count, step_one);
    }
    if (adaptive->runge)
        tni_runge_kutta_step(adaptive, outside, !any && adaptive->pass != NULL, &nodes);
    report->visits = nodes;
    if (adaptive->footings != NULL) {
        if (!tni_link_contacts_meet(adaptive)) return fail_full(adaptive, why);
        tni_each_tree(adaptive, 0, count, tni_figure_advance);
        tni_link_contacts_part(adaptive);
        report->complementarity = adaptive->footings->complementarity;
        report->hits            = adaptive->footings->hits;
    }
    return finish(adaptive, report, why);
}
