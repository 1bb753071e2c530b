// An adaptive rig: random scenes that the adaptive method supports (trees of rigid and of planar
// bodies, attached to the world or floating; joints of all kinds in both orders, springs, dampers,
// targets, loads, drag), states in their joint coordinates with some joints held, and the method's
// workspace at such a state.
//
//     random_mechanism* m = adaptive_scene(&r, 12, 4, ADAPTIVE_ALL);
//     adaptive_rig*     g = adaptive_rig_make(m->model, &settings);
//     adaptive_disturb(g, m, &r, 0.7, 1);    // m->state: displaced, moving
//     adaptive_hold(g, m, &r, 0.5, 1);       // half of its joints held, before step 1
//     adaptive_step(g, m->state, h);         // g->a: after that step. The state is unchanged
//     adaptive_rig_free(g);
#ifndef ADAPTIVE_RIG_H
#define ADAPTIVE_RIG_H

#include "adaptive/adaptive.h"
#include "support/tree_rig.h"
#include "tenon/step.h"

enum {
    ADAPTIVE_FORCES   = 1,
    ADAPTIVE_PLANAR   = 2,
    ADAPTIVE_ACTUATED = 4,
    ADAPTIVE_ALL      = 7,
    ADAPTIVE_LIMITS =
        8 ///< limits, hard and soft, and friction: implicit here, unlike in other methods
};

typedef struct adaptive_rig {
    tn_host             host;
    tni_arena           arena;
    tni_adaptive*       a;
    tni_adaptive_report report; ///< of the last step
    double * q, *v; ///< of adaptive_disturb() and adaptive_hold(), laid out as a->q, a->v
    tree_rig tree;  ///< refers to q, v and qddot of `a`
} adaptive_rig;

// ---- Scenes -------------------------------------------------------------------------------------

static inline tn_joint_def adaptive_flat_joint(random_mechanism* m, test_random* r,
                                               tn_body_id parent, tn_body_id child)
{
    static const random_joint_type types[] = {
        {TN_JOINT_HINGE, 0}, {TN_JOINT_SLIDER, 0}, {TN_JOINT_BALL, 0}, {TN_JOINT_WELD, 0}};
    const random_joint_type t    = types[test_random_int(r, 0, 3)];
    const bool              swap = test_random_unit(r) < 0.5;
    return random_joint(m, r, t, swap ? child : parent, swap ? parent : child);
}

static inline void adaptive_limit(test_random* r, tn_joint_def* def)
{
    const double chance = test_random_unit(r);
    if ((def->type != TN_JOINT_HINGE && def->type != TN_JOINT_SLIDER) || chance > 0.6) return;
    def->friction = 0.3, def->friction_speed = 0.1;
    if (chance > 0.5) return;
    def->limit.given = true, def->limit.hard = chance < 0.25;
    def->limit.lower = -0.3, def->limit.upper = 0.3;
    if (!def->limit.hard) def->limit.stiffness = 50, def->limit.damping = 1;
}

/// Several trees, compiled, at the start. spread: 1 for chains, many for bushes. what: sum of
/// ADAPTIVE_...
static inline random_mechanism* adaptive_scene(test_random* r, int count, int spread, int what)
{
    random_mechanism* m     = random_mechanism_make();
    int               first = 1;
    bool              flat  = false;
    tn_scene_set_gravity(m->scene, random_vec3(r, 10));
    for (int i = 1; i <= count; ++i) {
        if (i == 1 || test_random_unit(r) < 0.04) {
            first = i;
            flat  = (what & ADAPTIVE_PLANAR) && test_random_unit(r) < 0.2;
        }
        const int     lowest = i - spread > first ? i - spread : first;
        const int     parent = i == first ? 0 : test_random_int(r, lowest, i - 1);
        const tn_vec3 place =
            tni_add(m->poses[parent].position, tni_scale(0.8, random_direction(r)));
        const tn_body_id child =
            random_add_body(m, r, flat ? RANDOM_PLANAR : RANDOM_RIGID, place, false);
        const tn_body_id up = {(uint32_t)parent};
        if (parent == 0 && test_random_unit(r) < 0.4) continue; // floats
        tn_joint_def def =
            flat ? adaptive_flat_joint(m, r, up, child) : tree_random_joint(m, r, up, child);
        if (what & ADAPTIVE_ACTUATED) random_actuate(m, r, &def);
        if (what & ADAPTIVE_LIMITS) adaptive_limit(r, &def);
        (void)tn_scene_add_joint(m->scene, &def);
    }
    if (what & ADAPTIVE_FORCES) random_add_forces(m, r);
    random_mechanism_build(m);
    return m;
}

// ---- The rig ------------------------------------------------------------------------------------

static inline tn_adaptive_settings adaptive_settings(void)
{
    return tn_default_settings().adaptive;
}

/// Random settings for this many joints, without a time budget.
static inline tn_adaptive_settings adaptive_random_settings(test_random* r, int count)
{
    tn_adaptive_settings s = adaptive_settings();
    s.active               = test_random_int(r, 1, count);
    s.update               = test_random_unit(r) < 0.5 ? 0 : test_random_int(r, 1, 2 * count);
    s.period               = test_random_int(r, 1, 4);
    s.choice               = (tn_choice)test_random_int(r, 0, 3);
    s.weights              = (tn_weights)test_random_int(r, 0, 2);
    s.solver               = (tn_adaptive_solver)test_random_int(r, 0, 1);
    s.bounded              = s.choice != TN_CHOICE_FIXED && test_random_unit(r) < 0.15;
    if (test_random_unit(r) < 0.3) s.pixels = 500, s.camera_x = 2;
    if (s.pixels <= 0 && s.weights == TN_WEIGHTS_PIXELS) s.weights = TN_WEIGHTS_LENGTH;
    if (test_random_unit(r) < 0.2) s.acceleration_error = random_log_uniform(r, 0.1, 30);
    if (test_random_unit(r) < 0.2) s.velocity_error = random_log_uniform(r, 1e-3, 3);
    if (s.bounded) s.active = count, s.acceleration_error = 1, s.velocity_error = 0; // small errors
    return s;
}

static inline adaptive_rig* adaptive_rig_make(const tn_model*             model,
                                              const tn_adaptive_settings* settings)
{
    adaptive_rig* g   = calloc(1, sizeof *g);
    tn_why        why = {.text = ""};
    g->host           = tn_default_host();
    g->arena          = tni_arena_make(&g->host);
    if (tni_adaptive_create(&g->arena, model, &g->host, settings, &g->a, &why) != TN_OK) {
        fprintf(stderr, "adaptive rig: %s\n", why.text);
        abort();
    }
    const tni_joint_trees* l = g->a->trees;
    g->q                     = TNI_TAKE(&g->arena, double, l->q_count);
    g->v                     = TNI_TAKE(&g->arena, double, l->v_count);
    g->tree                  = (tree_rig){.trees        = g->a->trees,
                                          .assembly     = g->a->assembly,
                                          .q            = g->a->q,
                                          .v            = g->a->v,
                                          .qddot        = g->a->qddot,
                                          .world        = TNI_TAKE(&g->arena, tni_transform, l->count),
                                          .motion       = TNI_TAKE(&g->arena, tni_spatial, l->count),
                                          .acceleration = TNI_TAKE(&g->arena, tni_spatial, l->count)};
    return g;
}

static inline void adaptive_rig_free(adaptive_rig* g)
{
    tni_arena_free(&g->arena);
    free(g);
}

// ---- States -------------------------------------------------------------------------------------

static inline void adaptive_follow(const tn_model* model, tn_state* state)
{
    tni_view* views = malloc(sizeof *views * (size_t)model->body_count);
    tni_views(model, state->time, state->q, state->u, views);
    tni_follow_coordinates(model, views, state->z);
    free(views);
}

// Writes the state's bodies from q and v of the rig.
static inline void adaptive_write(adaptive_rig* g, random_mechanism* m)
{
    tni_joint_trees_write(g->a->trees, g->q, g->v, m->state->q, m->state->u);
    adaptive_follow(m->model, m->state);
}

/// A random state: displaced by up to `position` in every freedom, random velocities, no step
/// taken.
static inline void adaptive_disturb(adaptive_rig* g, random_mechanism* m, test_random* r,
                                    double position, double velocity)
{
    const tni_joint_trees* l = g->a->trees;
    tn_state_reset(m->state);
    m->state->time = 0.5;
    tni_joint_trees_read(l, m->state->q, m->state->u, g->q, g->v);
    random_numbers(r, g->v, l->v_count, position);
    for (int i = 0; i < l->count; ++i)
        tni_tree_link_advance(&l->links[i], 1, g->v + l->links[i].v, g->q + l->links[i].q);
    random_numbers(r, g->v, l->v_count, velocity);
    adaptive_write(g, m);
}

/// A random state with joints held at random, at rest there; `step` steps taken.
static inline void adaptive_hold(adaptive_rig* g, random_mechanism* m, test_random* r,
                                 double chance, int step)
{
    const tni_joint_trees* l       = g->a->trees;
    tni_reduced*           reduced = &m->state->reduced;
    for (int i = 0; i < l->count; ++i) {
        const tni_tree_link* link = &l->links[i];
        const bool           held = link->joint >= 0 && test_random_unit(r) < chance;
        if (link->joint >= 0)
            reduced->active[m->model->joints[link->joint].constraint] = !held && link->freedoms > 0;
        for (int k = 0; k < link->freedoms && held; ++k) g->v[link->v + k] = 0;
    }
    adaptive_write(g, m);
    memcpy(reduced->q, g->q, sizeof(double) * (size_t)l->q_count);
    memcpy(reduced->v, g->v, sizeof(double) * (size_t)l->v_count);
    reduced->step  = step;
    reduced->known = reduced->kept = true;
}

/// One step of h from a state; h = 0: only accelerations (a->qddot), with explicit forces.
static inline bool adaptive_step(adaptive_rig* g, const tn_state* state, double h)
{
    tn_why why = {.text = ""};
    tni_adaptive_load(g->a, state, h);
    const tn_result result = tni_adaptive_step(g->a, state->time, &state->inputs, &g->report, &why);
    test_check(result == TN_OK, __FILE__, __LINE__, "%s", why.text);
    return result == TN_OK;
}

/// Writes the state after a step.
static inline void adaptive_keep(adaptive_rig* g, tn_state* state)
{
    (void)tni_adaptive_place(g->a, state->q, state->u);
    tni_adaptive_store(g->a, &state->reduced);
    memcpy(state->z, g->a->z, sizeof(double) * (size_t)g->a->model->coordinate_count);
}

// ---- The same with held joints welded -----------------------------------------------------------

static inline tn_frame adaptive_pose(const tn_state* state, tn_body_id body)
{
    return body.bits == 0 ? (tn_frame){{0, 0, 0}, {1, 0, 0, 0}} : tn_state_pose(state, body);
}

// Bodies are where the state has them: body 2's frame relative to body 1.
static inline tn_joint_def adaptive_weld(const tn_joint_def* joint, const tn_state* state)
{
    const tn_frame one = adaptive_pose(state, joint->body1),
                   two = adaptive_pose(state, joint->body2);
    const tn_quat back = tni_quat_conjugate(one.orientation);
    tn_joint_def  weld = tn_default_joint_def(TN_JOINT_WELD);
    weld.name          = joint->name;
    weld.body1 = joint->body1, weld.body2 = joint->body2;
    weld.form   = TN_JOINT_BY_FRAMES;
    weld.frame1 = (tn_frame){tni_rotate(back, tni_sub(two.position, one.position)),
                             tni_quat_mul(back, two.orientation)};
    weld.frame2 = (tn_frame){{0, 0, 0}, {1, 0, 0, 0}};
    return weld;
}

static inline void adaptive_copy_forces(tn_scene* to, const tn_scene* from)
{
    for (int i = 0; i < tn_scene_load_count(from); ++i)
        (void)tn_scene_add_load(to, tn_scene_load(from, i));
    for (int i = 0; i < tn_scene_spring_count(from); ++i)
        (void)tn_scene_add_spring(to, tn_scene_spring(from, i));
    for (int i = 0; i < tn_scene_target_count(from); ++i)
        (void)tn_scene_add_target(to, tn_scene_target(from, i));
    for (int i = 0; i < tn_scene_drag_count(from); ++i)
        (void)tn_scene_add_drag(to, tn_scene_drag(from, i));
}

/// The same state with joints that m->state holds replaced by welds.
static inline random_mechanism* adaptive_welded(const adaptive_rig* g, const random_mechanism* m)
{
    random_mechanism* w = random_mechanism_make();
    tn_scene_set_gravity(w->scene, tn_scene_gravity(m->scene));
    for (int i = 1; i < m->body_count; ++i)
        (void)tn_scene_add_body(w->scene, tn_scene_body(m->scene, i - 1));
    adaptive_copy_forces(w->scene, m->scene);
    for (int i = 0; i < g->a->trees->count; ++i) {
        const int joint = g->a->trees->links[i].joint;
        if (joint < 0) continue;
        const tn_joint_def* def  = tn_scene_joint(m->scene, joint);
        const tn_joint_def  held = adaptive_weld(def, m->state);
        const bool          on   = !m->state->reduced.known || m->state->reduced.active[joint];
        (void)tn_scene_add_joint(w->scene, on ? def : &held);
    }
    random_mechanism_build(w);
    memcpy(w->state->q, m->state->q, sizeof(double) * (size_t)m->model->q_count);
    memcpy(w->state->u, m->state->u, sizeof(double) * (size_t)m->model->u_count);
    w->state->time = m->state->time;
    adaptive_follow(w->model, w->state);
    return w;
}

/// Accelerations of bodies by the multiplier method against the rig's: the largest difference,
/// relative to the largest acceleration.
static inline double adaptive_against_multipliers(adaptive_rig* g, const random_mechanism* m)
{
    tn_settings settings = tn_default_settings();
    tn_stepper* stepper;
    tn_why      why   = {.text = ""};
    double      error = 0, size = 1;
    settings.method               = TN_METHOD_MULTIPLIER;
    settings.multiplier.baumgarte = 0;
    CHECK_OK(tn_stepper_create(m->model, &settings, &stepper, &why));
    CHECK_OK(tn_stepper_evaluate(stepper, m->state, NULL, &why));
    tree_rig_follow(&g->tree);
    for (int i = 0; i < g->a->trees->count; ++i) {
        const tn_body_id body = {(uint32_t)g->a->trees->links[i].body};
        const tn_twist   a    = tn_stepper_acceleration(stepper, body),
                       b      = tree_rig_acceleration(&g->tree, i);
        size                  = fmax(size, fmax(tni_norm(a.linear), tni_norm(a.angular)));
        error                 = fmax(error, fmax(tni_norm(tni_sub(a.linear, b.linear)),
                                                 tni_norm(tni_sub(a.angular, b.angular))));
        if (!(error < HUGE_VAL)) break;
    }
    tn_stepper_free(stepper);
    return error / size;
}

// ---- Scripted inputs ----------------------------------------------------------------------------

static inline tn_stepper* adaptive_stepper(const tn_model* model, const tn_adaptive_settings* with)
{
    tn_settings settings = tn_default_settings();
    tn_stepper* stepper  = NULL;
    tn_why      why      = {.text = ""};
    settings.method      = TN_METHOD_ADAPTIVE;
    settings.adaptive    = *with;
    if (tn_stepper_create(model, &settings, &stepper, &why) != TN_OK) {
        fprintf(stderr, "adaptive stepper: %s\n", why.text);
        abort();
    }
    return stepper;
}

static inline tn_state* adaptive_copy(const tn_state* state)
{
    tn_state* copy = NULL;
    if (tn_state_create(state->model, &copy) != TN_OK) abort();
    tn_state_copy(copy, state);
    return copy;
}

/// Bodies, joint coordinates, angles and active joints, bit for bit.
static inline bool adaptive_same(const tn_state* a, const tn_state* b)
{
    const tn_model*    model = a->model;
    const size_t       free  = (size_t)model->free_count;
    const tni_reduced *one = &a->reduced, *two = &b->reduced;
    const bool         same = tn_state_hash(a) == tn_state_hash(b) && one->known == two->known;
    return same && one->step == two->step &&
           memcmp(a->z, b->z, sizeof(double) * (size_t)model->coordinate_count) == 0 &&
           memcmp(one->q, two->q, sizeof(double) * TNI_TREE_LINK_NUMBERS * free) == 0 &&
           memcmp(one->v, two->v, sizeof(double) * TNI_TREE_LINK_FREEDOMS * free) == 0 &&
           memcmp(one->active, two->active, (size_t)model->named_count) == 0;
}

static inline bool adaptive_go(tn_stepper* stepper, tn_state* state, double h, int count)
{
    tn_why          why    = {.text = ""};
    const tn_result result = tn_stepper_run(stepper, state, h, count, NULL, &why);
    test_check(result == TN_OK, __FILE__, __LINE__, "%s", why.text);
    return result == TN_OK;
}

#endif
