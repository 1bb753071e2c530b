#include "adaptive/adaptive.h"

#include "math/elementary.h"

// ---- Creation ----------------------------------------------------------------------------------

static void take_part(tni_arena* arena, const tni_adaptive* adaptive, int n)
{
    const tni_node*  node = &adaptive->assembly->nodes[n];
    tni_subassembly* part = &adaptive->parts[n];
    const int        f    = 6 * node->handle_count;
    const bool       leaf = node->b < 0;
    part->f               = TNI_TAKE(arena, double, f);
    if (!adaptive->metrics) return;
    part->at_position.Phi = TNI_TAKE(arena, double, f* f);
    part->at_position.B   = TNI_TAKE(arena, double, f* TNI_QUADRATIC);
    part->at_position.G =
        TNI_TAKE(arena, double, leaf ? 0 : (f + TNI_QUADRATIC) * (f + TNI_QUADRATIC));
    part->at_state.b = TNI_TAKE(arena, double, f);
    part->at_state.G = TNI_TAKE(arena, double, leaf ? 0 : (f + 1) * (f + 1));
    part->factors    = TNI_TAKE(arena, tni_factors, leaf ? 0 : 1);
    if (node->a >= 0) { // the handle that the parent holds a by comes first
        adaptive->parts[node->a].at_position.lead = node->at;
        adaptive->parts[node->a].at_state.lead    = node->at;
    }
}

// Nodes above links that may be loaded keep the reflections of their G.
static void take_reflections(tni_arena* arena, const tni_adaptive* adaptive, int link)
{
    const tni_node* nodes = adaptive->assembly->nodes;
    for (int n = nodes[adaptive->assembly->leaf[link]].up; n >= 0; n = nodes[n].up) {
        tni_position_terms* position = &adaptive->parts[n].at_position;
        if (nodes[n].a < 0 || position->reflections != NULL) return;
        position->reflections =
            TNI_TAKE(arena, double,
                     tni_reflections_size(&nodes[n], &nodes[nodes[n].a], &nodes[nodes[n].b],
                                          adaptive->trees->links[nodes[n].link].freedoms));
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
    const tni_joint_trees* trees  = adaptive->trees;
    const int              root   = adaptive->assembly->root[tree];
    const int              nodes  = root + 1 - adaptive->assembly->nodes[root].first;
    const int              count  = trees->first[tree + 1] - trees->first[tree];
    figure->active                = TNI_TAKE(arena, int, count);
    figure->touched               = TNI_TAKE(arena, int, nodes);
    figure->list                  = TNI_TAKE(arena, int, nodes);
    figure->transient             = TNI_TAKE(arena, int, nodes);
    figure->expanded              = TNI_TAKE(arena, int, nodes);
    figure->depth                 = depth_of(adaptive->assembly, root);
    figure->floats                = trees->links[trees->first[tree]].joint < 0;
    figure->scale                 = 1;
    figure->good                  = true;
    for (int i = trees->first[tree]; i < trees->first[tree + 1]; ++i)
        figure->joints += trees->links[i].freedoms > 0 && trees->links[i].joint >= 0;
    if (arena->failed) return TN_ERR_MEMORY;
    tn_result result = tni_hybrid_create(arena, trees, adaptive->assembly, tree, &figure->now);
    if (result == TN_OK)
        result = tni_hybrid_create(arena, trees, adaptive->assembly, tree, &figure->next);
    return result;
}

static tn_result start_leaves(tni_adaptive* adaptive, tn_why* why)
{
    for (int n = 0; n < adaptive->assembly->count; ++n) {
        const tni_node* node = &adaptive->assembly->nodes[n];
        if (node->b >= 0) continue;
        const tni_tree_link* link = &adaptive->trees->links[node->link];
        tni_leaf_frames(link, &adaptive->frames[n]);
        adaptive->parts[n].fresh = true;
        if (adaptive->metrics &&
            !tni_leaf_position_terms(&link->inertia, &adaptive->parts[n].at_position))
            return tni_fail(
                why, TN_ERR_UNSUPPORTED,
                "body '%s': method adaptive needs moments of inertia about all its axes",
                adaptive->model->bodies[link->body].name);
    }
    return TN_OK;
}

static double weight_of(const tni_adaptive* adaptive, const tni_tree_link* link)
{
    if (link->joint < 0) return 0; // it always moves, and gravity would outweigh the rest
    if (adaptive->settings.weights == TN_WEIGHTS_ONE) return 1;
    if (link->kind == TNI_TREE_LINK_SLIDER) return 1;
    return link->reach * link->reach;
}

static tn_result take_all(tni_arena* arena, tni_adaptive* adaptive)
{
    const tni_joint_trees* trees = adaptive->trees;
    const int              nodes = adaptive->assembly->count;
    adaptive->parts              = TNI_TAKE(arena, tni_subassembly, nodes);
    adaptive->frames             = TNI_TAKE(arena, tni_frames, nodes);
    adaptive->figures            = TNI_TAKE(arena, tni_figure, trees->tree_count);
    adaptive->q                  = TNI_TAKE(arena, double, trees->q_count);
    adaptive->v                  = TNI_TAKE(arena, double, trees->v_count);
    adaptive->z                  = TNI_TAKE(arena, double, adaptive->model->coordinate_count);
    adaptive->Q                  = TNI_TAKE(arena, double, trees->v_count);
    adaptive->K                  = TNI_TAKE(arena, double, trees->k_count);
    adaptive->qddot              = TNI_TAKE(arena, double, trees->v_count);
    adaptive->predicted          = TNI_TAKE(arena, double, trees->v_count);
    adaptive->before             = TNI_TAKE(arena, double, trees->v_count);
    adaptive->first              = TNI_TAKE(arena, double, trees->v_count);
    adaptive->last               = TNI_TAKE(arena, double, trees->v_count);
    adaptive->middle_v           = TNI_TAKE(arena, double, trees->v_count);
    adaptive->middle_q           = TNI_TAKE(arena, double, trees->q_count);
    adaptive->read_q             = TNI_TAKE(arena, double, trees->q_count);
    adaptive->read_v             = TNI_TAKE(arena, double, trees->v_count);
    adaptive->placed_q           = TNI_TAKE(arena, double, adaptive->model->q_count);
    adaptive->placed_u           = TNI_TAKE(arena, double, adaptive->model->u_count);
    adaptive->S                  = TNI_TAKE(arena, tni_spatial, trees->v_count);
    adaptive->weight             = TNI_TAKE(arena, double, trees->count);
    adaptive->active             = TNI_TAKE(arena, uint8_t, trees->count);
    adaptive->touched            = TNI_TAKE(arena, uint8_t, nodes);
    adaptive->loaded_nodes       = TNI_TAKE(arena, uint8_t, nodes);
    adaptive->moved              = TNI_TAKE(arena, uint8_t, trees->count);
    adaptive->constraint_of      = TNI_TAKE(arena, int, trees->count);
    adaptive->heap.nodes         = TNI_TAKE(arena, int, nodes);
    adaptive->heap.keys          = TNI_TAKE(arena, double, nodes);
    if (arena->failed) return TN_ERR_MEMORY;
    for (int n = 0; n < nodes; ++n) take_part(arena, adaptive, n);
    tn_result result = TN_OK;
    for (int t = 0; t < trees->tree_count && result == TN_OK; ++t)
        result = take_figure(arena, adaptive, t);
    for (int i = 0; i < trees->count; ++i) {
        adaptive->weight[i]        = weight_of(adaptive, &trees->links[i]);
        const tni_tree_link* link  = &trees->links[i];
        const bool           moves = link->joint >= 0 && link->freedoms > 0;
        adaptive->constraint_of[i] = moves ? adaptive->model->joints[link->joint].constraint : -1;
        adaptive->has_planar       = adaptive->has_planar ||
                               adaptive->model->bodies[trees->links[i].body].kind == TN_BODY_PLANAR;
    }
    if (result == TN_OK && adaptive->settings.solver == TN_ADAPTIVE_TREE)
        result = tni_divide_and_conquer_create(arena, trees, adaptive->assembly, &adaptive->pass);
    if (result == TN_OK) result = tni_external_force_create(arena, adaptive);
    if (result == TN_OK && adaptive->model->shape_count > 1)
        result = tni_link_contacts_create(arena, adaptive);
    for (int i = 0; result == TN_OK && adaptive->metrics && i < adaptive->loaded_count; ++i)
        take_reflections(arena, adaptive, adaptive->loaded[i].link);
    return result == TN_OK && arena->failed ? TN_ERR_MEMORY : result;
}

// True if joints may ever be held.
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
            "setting 'adaptive.pixel_error' needs a camera: its focal length 'adaptive.pixels' and "
            "its position 'adaptive.camera_x' ...");
    if (s->pixels <= 0 && s->weights == TN_WEIGHTS_PIXELS)
        return tni_fail(
            why, TN_ERR_MODEL,
            "setting 'adaptive.weights': pixels need a camera: its focal length 'adaptive.pixels'");
    if (s->pixel_error > 0 && s->weights != TN_WEIGHTS_PIXELS)
        return tni_fail(why, TN_ERR_MODEL,
                        "setting 'adaptive.pixel_error' needs 'adaptive.weights' set to pixels");
    if (s->pixels <= 0 && s->detail > 0)
        return tni_fail(
            why, TN_ERR_MODEL,
            "setting 'adaptive.detail' needs a camera: its focal length 'adaptive.pixels'");
    return TN_OK;
}

// True if a spring joins two links. Its force is explicit, and stable only if positions move on by
// the new velocities.
typedef struct pairing {
    const int* limb_of; ///< by body
    bool       found;
} pairing;

static void find_pair(void* user, int body1, int body2)
{
    pairing* p = user;
    p->found   = p->found || (body2 >= 0 && p->limb_of[body1] >= 0 && p->limb_of[body2] >= 0);
}

static bool has_pairs(const tni_adaptive* adaptive)
{
    if (adaptive->trees == NULL) return false;
    pairing p = {adaptive->trees->of_body, false};
    tni_external_pushed(adaptive->model, find_pair, &p);
    return p.found;
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
    if (result == TN_OK) result = tni_joint_trees_create(arena, model, &adaptive->trees, why);
    if (result == TN_OK) result = tni_assembly_create(arena, adaptive->trees, &adaptive->assembly);
    if (result == TN_OK) result = take_all(arena, adaptive);
    if (result == TN_OK) result = start_leaves(adaptive, why);
    adaptive->midpoint = settings->integrator == TN_ADAPTIVE_MIDPOINT && !settings->bounded;
    adaptive->rk4      = settings->integrator == TN_ADAPTIVE_RK4 && !settings->bounded;
    if (result == TN_OK && adaptive->rk4) result = tni_runge_kutta_create(arena, adaptive, why);
    if (result == TN_OK) tni_forward_create(adaptive);
    adaptive->halfway = adaptive->midpoint && adaptive->contacts == NULL && !has_pairs(adaptive);
    adaptive->allowed = adaptive->settings.active;
    if (settings->budget > 0 && settings->active == 0 && result == TN_OK)
        adaptive->allowed = 1 + adaptive->trees->count / 10; // initial value
    return result;
}

void tni_adaptive_free(tni_adaptive* adaptive)
{
    if (adaptive != NULL) tni_link_contacts_free(adaptive->contacts);
}

// ---- To and from a state -----------------------------------------------------------------------

static bool same(const void* a, const void* b, size_t bytes)
{
    return memcmp(a, b, bytes) == 0;
}

// Sets a link's configuration; if it changes, nodes above its joint are no longer fresh.
static void place_joint(tni_adaptive* adaptive, int link, const double* q)
{
    const tni_tree_link* l = &adaptive->trees->links[link];
    const int            count =
        link + 1 < adaptive->trees->count ? l[1].q - l->q : adaptive->trees->q_count - l->q;
    if (adaptive->step >= 0 && same(adaptive->q + l->q, q, sizeof *q * (size_t)count)) return;
    memcpy(adaptive->q + l->q, q, sizeof *q * (size_t)count);
    int n                    = adaptive->assembly->joint[link];
    adaptive->parts[n].fresh = false; // nodes above one that is not fresh are not fresh either
    for (n = adaptive->assembly->nodes[n].up; n >= 0 && adaptive->parts[n].fresh;
         n = adaptive->assembly->nodes[n].up)
        adaptive->parts[n].fresh = false;
}

static bool may_move(const tni_tree_link* link)
{
    return link->freedoms > 0;
}

static void start_figure(tni_adaptive* adaptive, int tree)
{
    tni_figure* figure   = &adaptive->figures[tree];
    const int   root     = adaptive->assembly->root[tree];
    figure->active_count = 0;
    for (int i = adaptive->trees->first[tree]; i < adaptive->trees->first[tree + 1]; ++i)
        if (adaptive->active[i]) figure->active[figure->active_count++] = i;
    tni_figure_list(adaptive, tree);
    int count = 0;
    for (int n = root; n >= adaptive->assembly->nodes[root].first; --n)
        if (adaptive->assembly->nodes[n].b >= 0) figure->list[count++] = n;
    tni_figure_refresh(adaptive, tree, figure->list, count);
    tni_hybrid_build(&figure->now, adaptive->active, adaptive->touched, adaptive->frames);
    tni_figure_locate(adaptive, tree, &figure->now);
}

// True if the state's trees are those last stored from here.
static bool is_current(const tni_adaptive* adaptive, const tni_reduced* reduced)
{
    const tni_joint_trees* trees = adaptive->trees;
    if (adaptive->step < 0 || adaptive->step != reduced->step ||
        !same(adaptive->q, reduced->q, sizeof(double) * (size_t)trees->q_count) ||
        !same(adaptive->v, reduced->v, sizeof(double) * (size_t)trees->v_count))
        return false;
    for (int i = 0; i < trees->count; ++i) {
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
    for (int t = 0; t < adaptive->trees->tree_count; ++t) {
        adaptive->figures[t].touched_count = 0;
        adaptive->figures[t].good          = true;
        adaptive->figures[t].singular      = false;
        adaptive->figures[t].reread        = false;
    }
}

static void read_active(tni_adaptive* adaptive, const tni_reduced* reduced)
{
    const tni_joint_trees* trees = adaptive->trees;
    for (int i = 0; i < trees->count; ++i) {
        const tni_tree_link* link = &trees->links[i];
        const bool           count =
            !adaptive->all && !adaptive->figures[link->tree].reread && link->joint >= 0;
        adaptive->active[i] =
            may_move(link) &&
            (!count || reduced->active[adaptive->model->joints[link->joint].constraint]);
    }
}

// The position along a screw follows from its angle with full turns, which z has.
static void fit_screws(tni_adaptive* adaptive)
{
    for (int i = 0; i < adaptive->trees->count; ++i) {
        const tni_tree_link* link = &adaptive->trees->links[i];
        double*              q    = adaptive->read_q + link->q;
        if (link->kind != TNI_TREE_LINK_SCREW) continue;
        tni_tree_link_track_angle(link, q, adaptive->z);
        q[6] = (link->reversed ? -1 : 1) * link->size * adaptive->z[link->coordinate];
    }
}

// The state's bodies were changed from outside. Trees whose bodies were not keep their joint
// coordinates; the others are read from the bodies and start with all joints active.
static void read_trees(tni_adaptive* adaptive, const tn_state* state)
{
    const tni_joint_trees* trees = adaptive->trees;
    const tn_model*        model = adaptive->model;
    memcpy(adaptive->placed_q, state->q, sizeof(double) * (size_t)model->q_count);
    memcpy(adaptive->placed_u, state->u, sizeof(double) * (size_t)model->u_count);
    if (state->reduced.kept)
        tni_joint_trees_write(trees, state->reduced.q, state->reduced.v, adaptive->placed_q,
                              adaptive->placed_u);
    tni_joint_trees_read(trees, state->q, state->u, adaptive->read_q, adaptive->read_v);
    fit_screws(adaptive);
    for (int t = 0; t < trees->tree_count; ++t) {
        bool here = state->reduced.kept;
        for (int i = trees->first[t]; i < trees->first[t + 1] && here; ++i) {
            const tni_body* body = &model->bodies[trees->links[i].body];
            here = same(adaptive->placed_q + body->q_start, state->q + body->q_start,
                        sizeof(double) * (size_t)body->q_count) &&
                   same(adaptive->placed_u + body->u_start, state->u + body->u_start,
                        sizeof(double) * (size_t)body->dim);
        }
        adaptive->figures[t].reread = !here;
        if (!here) continue;
        const tni_tree_link *first = &trees->links[trees->first[t]],
                            *end   = &trees->links[trees->first[t + 1] - 1];
        memcpy(adaptive->read_q + first->q, state->reduced.q + first->q,
               sizeof(double) * (size_t)(end->q + tni_tree_link_numbers(end) - first->q));
        memcpy(adaptive->read_v + first->v, state->reduced.v + first->v,
               sizeof(double) * (size_t)(end->v + end->freedoms - first->v));
    }
}

void tni_adaptive_load(tni_adaptive* adaptive, const tn_state* state, double h)
{
    const tni_joint_trees* trees   = adaptive->trees;
    const tni_reduced*     reduced = &state->reduced;
    adaptive->time                 = state->time;
    memcpy(adaptive->z, state->z, sizeof *adaptive->z * (size_t)adaptive->model->coordinate_count);
    if (adaptive->contacts != NULL) tni_link_contacts_load(adaptive->contacts, &state->warm_start);
    if (adaptive->h != h && trees->actuated) forget(adaptive); // added inertia changes with h
    adaptive->h = h;
    if (reduced->known && is_current(adaptive, reduced)) return;
    for (int t = 0; t < trees->tree_count; ++t) adaptive->figures[t].reread = false;
    if (!reduced->known) read_trees(adaptive, state);
    const double *q = reduced->known ? reduced->q : adaptive->read_q,
                 *v = reduced->known ? reduced->v : adaptive->read_v;
    memcpy(adaptive->v, v, sizeof *v * (size_t)trees->v_count);
    for (int i = 0; i < trees->count; ++i) place_joint(adaptive, i, q + trees->links[i].q);
    memcpy(adaptive->middle_q, adaptive->q, sizeof *adaptive->q * (size_t)trees->q_count);
    read_active(adaptive, reduced);
    adaptive->step = reduced->kept ? reduced->step : 0;
    for (int t = 0; t < trees->tree_count; ++t)
        adaptive->figures[t].good = true, adaptive->figures[t].singular = false;
    tni_each_tree(adaptive, 0, trees->tree_count, start_figure);
}

// Writes a tree's bodies, and the angles of links that have moved.
static void place_tree(tni_adaptive* adaptive, int tree)
{
    const tni_joint_trees* trees = adaptive->trees;
    adaptive->figures[tree].fit  = tni_joint_trees_place(trees, tree, adaptive->q, adaptive->v,
                                                         adaptive->body_q, adaptive->body_u);
    for (int i = trees->first[tree]; i < trees->first[tree + 1]; ++i) {
        if (!adaptive->moved[i]) continue;
        adaptive->moved[i] = 0;
        tni_tree_link_track_angle(&trees->links[i], adaptive->q + trees->links[i].q, adaptive->z);
    }
}

tni_joint_trees_fit tni_adaptive_place(tni_adaptive* adaptive, double* body_q, double* body_u)
{
    tni_joint_trees_fit all = {.worst = -1};
    adaptive->body_q = body_q, adaptive->body_u = body_u;
    tni_each_tree(adaptive, 0, adaptive->trees->tree_count, place_tree);
    for (int t = 0; t < adaptive->trees->tree_count; ++t) {
        const tni_joint_trees_fit* fit = &adaptive->figures[t].fit;
        if (fit->error > all.error) all.error = fit->error, all.worst = fit->worst;
        all.rate = fmax(all.rate, fit->rate);
    }
    return all;
}

void tni_adaptive_store(const tni_adaptive* adaptive, tni_reduced* reduced)
{
    const tni_joint_trees* trees = adaptive->trees;
    memcpy(reduced->q, adaptive->q, sizeof *reduced->q * (size_t)trees->q_count);
    memcpy(reduced->v, adaptive->v, sizeof *reduced->v * (size_t)trees->v_count);
    memset(reduced->active, 1, (size_t)adaptive->model->named_count); // welds, too
    for (int i = 0; i < trees->count; ++i)
        if (adaptive->constraint_of[i] >= 0)
            reduced->active[adaptive->constraint_of[i]] = adaptive->active[i];
    reduced->step  = adaptive->step;
    reduced->known = reduced->kept = true;
}

// ---- Quotas of active joints -------------------------------------------------------------------

static const double near = 0.1; // [m]; distances to the camera count as at least this

static double distance(const tni_adaptive* adaptive, int tree)
{
    const tn_vec3 at = adaptive->figures[tree].now.clusters[0].world.r;
    return fmax(tni_norm(tni_sub(at, adaptive->camera)), near);
}

// Share of its joints that a tree is entitled to at its distance to the camera.
static double wish_of(const tni_adaptive* adaptive, int tree)
{
    const tn_adaptive_settings* s   = &adaptive->settings;
    const double                far = distance(adaptive, tree) / (s->detail > 0 ? s->detail : 1);
    return s->detail > 0 && far <= 1 ? 1 : tni_exp(-s->falloff * tni_log(far));
}

// Joints of a tree when all quotas are lambda times the wishes; at least one.
static int share(const tni_figure* figure, double lambda)
{
    const double n = floor(lambda * figure->wish * figure->joints);
    return n >= figure->joints ? figure->joints : n >= 1 ? (int)n : figure->joints < 1 ? 0 : 1;
}

static long long shares(tni_adaptive* adaptive, double lambda)
{
    long long sum = 0;
    for (int t = 0; t < adaptive->trees->tree_count; ++t)
        sum += adaptive->figures[t].quota = share(&adaptive->figures[t], lambda);
    return sum;
}

// Quotas for the largest lambda whose sum is allowed.
static void set_quotas(tni_adaptive* adaptive)
{
    for (int t = 0; t < adaptive->trees->tree_count; ++t)
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

// True if all trees share one priority queue; else each has a quota by its distance to the camera.
static bool one_queue(const tni_adaptive* adaptive)
{
    return adaptive->settings.pixels <= 0;
}

static bool chooses(const tni_adaptive* adaptive, int tree)
{
    if (adaptive->all) return false;
    if (adaptive->figures[tree].reread) return true;
    if (adaptive->settings.choice == TN_CHOICE_FIXED) return adaptive->step == 0;
    const int phase =
        one_queue(adaptive) ? 0 : tree; // else choices of trees are spread over the period
    return adaptive->step == 0 || (adaptive->step + phase) % adaptive->settings.period == 0;
}

// Trees choose at different times: those choosing now share what the others leave, at least one
// joint each.
static void limit_quotas(tni_adaptive* adaptive)
{
    long long left = adaptive->allowed;
    if (adaptive->allowed <= 0) return;
    for (int t = 0; t < adaptive->trees->tree_count; ++t) {
        const tni_figure* figure = &adaptive->figures[t];
        left -= chooses(adaptive, t) ? figure->quota > 0 : figure->active_count - figure->floats;
    }
    for (int t = 0; t < adaptive->trees->tree_count; ++t) {
        tni_figure* figure = &adaptive->figures[t];
        if (!chooses(adaptive, t) || figure->quota < 2) continue;
        if (figure->quota - 1 > left) figure->quota = 1 + (left > 0 ? (int)left : 0);
        left -= figure->quota - 1;
    }
}

static void read_camera(tni_adaptive* adaptive, const tni_inputs* outside)
{
    const tn_adaptive_settings* s = &adaptive->settings;
    if (s->pixels <= 0) return;
    adaptive->camera =
        outside->camera_given ? outside->camera : tni_vec3(s->camera_x, s->camera_y, s->camera_z);
    for (int t = 0; t < adaptive->trees->tree_count && s->weights == TN_WEIGHTS_PIXELS; ++t) {
        const double scale         = s->pixels / distance(adaptive, t);
        adaptive->figures[t].scale = scale * scale;
    }
    set_quotas(adaptive);
    limit_quotas(adaptive);
}

// ---- A step ------------------------------------------------------------------------------------

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
    figure->substeps     = 0;
    figure->kinetic_loss = 0;
}

// With contacts, positions move on after these are solved. Runge-Kutta stages are taken by all
// trees together.
static void advance(tni_adaptive* adaptive, int tree)
{
    if (adaptive->rk4) return;
    if (adaptive->contacts == NULL) tni_figure_integrate(adaptive, tree);
    else tni_figure_kick(adaptive, tree);
}

// After a choice the clusters are new. Bounded: velocities are already those of the end.
static void advance_after_choice(tni_adaptive* adaptive, int tree)
{
    if (!adaptive->figures[tree].good) return;
    if (adaptive->settings.bounded) {
        if (adaptive->contacts == NULL) tni_figure_advance(adaptive, tree);
        return;
    }
    tni_hybrid_move(&adaptive->figures[tree].now, adaptive->q, adaptive->v);
    advance(adaptive, tree);
}

static void step_one(tni_adaptive* adaptive, int tree)
{
    tni_figure*    figure = &adaptive->figures[tree];
    const int      first  = adaptive->assembly->nodes[adaptive->assembly->root[tree]].first;
    tni_node_queue heap   = {.nodes = adaptive->heap.nodes + first,
                             .keys  = adaptive->heap.keys + first};
    if (chooses(adaptive, tree)) {
        tni_choose_active(adaptive, tree, tree + 1, figure->quota, &heap);
        advance_after_choice(adaptive, tree);
    } else {
        advance(adaptive, tree);
    }
}

static tn_result finish(tni_adaptive* adaptive, tni_adaptive_report* report, tn_why* why)
{
    for (int t = 0; t < adaptive->trees->tree_count; ++t) {
        tni_figure* figure = &adaptive->figures[t];
        report->active += figure->active_count - figure->floats;
        report->visits += figure->visits;
        if (figure->substeps > report->substeps) report->substeps = figure->substeps;
        report->choices += chooses(adaptive, t);
        adaptive->figures[t].reread = false;
        report->kinetic_loss += figure->kinetic_loss;
        report->left_out +=
            figure->scale > 0 && figure->scale < HUGE_VAL ? figure->left_out / figure->scale : 0;
        if (figure->good) continue;
        const int  body     = adaptive->trees->links[adaptive->trees->first[t]].body;
        const bool singular = figure->singular;
        forget(adaptive);
        if (singular)
            return tni_fail(why, TN_ERR_SINGULAR,
                            "the articulated body of '%s' is too long for exact metrics: "
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
    const int count = adaptive->trees->tree_count;
    bool      any   = false;
    int       nodes = 0;
    adaptive->time  = time;
    *report         = (tni_adaptive_report){0};
    tni_each_tree(adaptive, 0, count, move);
    tni_external_force_apply(adaptive, outside);
    if (adaptive->contacts != NULL && !tni_link_contacts_find(adaptive))
        return fail_full(adaptive, why);
    read_camera(adaptive, outside);
    for (int t = 0; t < count; ++t) any = any || chooses(adaptive, t);
    if (any && one_queue(adaptive)) {
        const int allowed = adaptive->allowed > 0 ? adaptive->allowed : adaptive->trees->count;
        tni_choose_active(adaptive, 0, count, allowed, &adaptive->heap);
        tni_each_tree(adaptive, 0, count, advance_after_choice);
    } else if (!any && adaptive->pass != NULL && !adaptive->rk4) {
        if (!tni_trees_integrate(adaptive, &nodes) && count > 0) adaptive->figures[0].good = false;
    } else {
        tni_each_tree(adaptive, 0, count, step_one);
    }
    if (adaptive->rk4)
        tni_runge_kutta_step(adaptive, outside, !any && adaptive->pass != NULL, &nodes);
    report->visits = nodes;
    if (adaptive->contacts != NULL) {
        if (!tni_link_contacts_apply(adaptive)) return fail_full(adaptive, why);
        tni_each_tree(adaptive, 0, count, tni_figure_advance);
        tni_link_contacts_finish(adaptive);
        report->complementarity = adaptive->contacts->complementarity;
        report->hits            = adaptive->contacts->hits;
    }
    return finish(adaptive, report, why);
}
