// Random mechanisms that do not fit a tree: loops, some of them redundant, joints given twice,
// relations between many bodies, hard limits and ropes that are just reached, or not.
//
//     random_web w = random_web_make(&r, RANDOM_WEB_MIXED, false);
//     random_reach_limits(&w, &r, true);
//     ... w.m->model, w.m->state ...
//     random_web_free(&w);
//
// MIXED: bodies and joints of all kinds, off their constraints, as rows that are independent (or
// given twice) allow. FLAT: links pinned in the plane y = 0, each loop of which has three rows too
// many. SPACE: rigid bodies tied in space, some so often that they cannot move. The last two are
// assembled, and move as their joints allow.
#ifndef RANDOM_WEB_H
#define RANDOM_WEB_H

#include "model/scene.h"
#include "support/dense_auxiliary.h"

typedef enum random_web_family {
    RANDOM_WEB_MIXED,
    RANDOM_WEB_FLAT,
    RANDOM_WEB_SPACE,
    RANDOM_WEB_FAMILIES
} random_web_family;

enum { RANDOM_WEB_ROWS = 2, RANDOM_WEB_USERS = 3 };

/// A relation of velocities, with numbers for all columns; pushes with numbers of its own.
typedef struct random_relation {
    double J[3][RANDOM_WEB_ROWS][16], K[3][RANDOM_WEB_ROWS][16];
} random_relation;

typedef struct random_web {
    random_mechanism* m;
    random_relation*  relations;
    int               relation_count;
} random_web;

// ---- Relations ----------------------------------------------------------------------------------

static inline void random_relation_rows(const void* data, double time, const tn_body_view* bodies,
                                        double* C, double* rate, double* const* J, double* gamma)
{
    const random_relation* own = data;
    (void)time;
    for (int i = 0; i < RANDOM_WEB_ROWS; ++i) {
        if (C != NULL) C[i] = 0;
        if (gamma != NULL) gamma[i] = 0;
        if (rate != NULL) rate[i] = 0;
        for (int b = 0; b < 2; ++b) {
            for (int k = 0; k < bodies[b].dim; ++k) {
                if (rate != NULL) rate[i] += own->J[b][i][k] * bodies[b].u[k];
                if (J != NULL && J[b] != NULL) J[b][i * bodies[b].dim + k] = own->J[b][i][k];
            }
        }
    }
}

static inline void random_relation_force(const void* data, double time, const tn_body_view* bodies,
                                         double* const* K)
{
    const random_relation* own = data;
    (void)time;
    for (int b = 0; b < 2; ++b)
        for (int i = 0; i < RANDOM_WEB_ROWS && K[b] != NULL; ++i)
            for (int k = 0; k < bodies[b].dim; ++k) K[b][i * bodies[b].dim + k] = own->K[b][i][k];
}

static const tn_constraint_table random_relation_table = {
    .rows = RANDOM_WEB_ROWS, .holonomic = 0, .rows_at = random_relation_rows};
static const tn_constraint_table random_otherwise_table = {.rows      = RANDOM_WEB_ROWS,
                                                           .holonomic = 0,
                                                           .rows_at   = random_relation_rows,
                                                           .force_at  = random_relation_force};

static inline tn_body_id random_movable_body(const random_mechanism* m, test_random* r)
{
    for (;;) {
        const int i = test_random_int(r, 1, m->body_count - 1);
        if (random_kind_moves(m->kinds[i])) return (tn_body_id){(uint32_t)i};
    }
}

/// Two rows between two bodies, one of which may not move. otherwise: it pushes along other
/// directions, near enough to J that W keeps its pivots.
static inline void random_add_relation(random_web* w, test_random* r, bool otherwise)
{
    random_relation* own = &w->relations[w->relation_count++];
    for (int b = 0; b < 2; ++b)
        for (int i = 0; i < RANDOM_WEB_ROWS; ++i) {
            random_numbers(r, own->J[b][i], 16, 1);
            random_numbers(r, own->K[b][i], 16, 0.4);
            for (int k = 0; k < 16; ++k) own->K[b][i][k] += own->J[b][i][k];
        }
    const tn_body_id  bodies[2] = {random_movable_body(w->m, r),
                                   {(uint32_t)test_random_int(r, 0, w->m->body_count - 1)}};
    tn_constraint_def def       = tn_default_constraint_def();
    def.bodies                  = bodies;
    def.body_count              = 2;
    def.table                   = otherwise ? &random_otherwise_table : &random_relation_table;
    def.data                    = own;
    if (bodies[0].bits != bodies[1].bits) (void)tn_scene_add_constraint(w->m->scene, &def);
}

// ---- Parts --------------------------------------------------------------------------------------

static inline tni_joint_item* random_joint_item(const random_mechanism* m, int index)
{
    return (tni_joint_item*)m->scene->parts[TNI_PART_JOINT].items + index;
}

static inline bool random_has_coordinate(const random_mechanism* m, const tni_joint_item* item)
{
    const tn_joint_def* def = &item->def;
    if (item->constraint != NULL) return false;
    if (!random_kind_takes_torque(m->kinds[def->body1.bits])) return false;
    if (!random_kind_takes_torque(m->kinds[def->body2.bits])) return false;
    if (def->type == TN_JOINT_HINGE || def->type == TN_JOINT_SLIDER) return true;
    return !random_pair_is_flat(m, def->body1, def->body2) &&
           (def->type == TN_JOINT_BALL || def->type == TN_JOINT_SCREW ||
            def->type == TN_JOINT_CYLINDER || def->type == TN_JOINT_UNIVERSAL);
}

// Hard ends for some joints; where they are is settled when the state is known.
static inline void random_add_limits(random_mechanism* m, test_random* r, double share)
{
    for (int i = 0; i < tn_scene_joint_count(m->scene); ++i) {
        tni_joint_item* item = random_joint_item(m, i);
        if (!random_has_coordinate(m, item) || test_random_unit(r) > share) continue;
        tn_limit* limit = &item->def.limit;
        limit->given = limit->hard = true;
        if (item->def.type != TN_JOINT_BALL) {
            limit->lower = -50, limit->upper = 50;
            continue;
        }
        if (test_random_unit(r) < 0.7) limit->cone = 3;
        else limit->twist_lower = -3, limit->twist_upper = 3;
    }
}

static inline void random_add_ropes(random_mechanism* m, test_random* r, int count)
{
    for (int i = 0; i < count; ++i) {
        const tn_body_id a = random_movable_body(m, r),
                         b = {(uint32_t)test_random_int(r, 0, m->body_count - 1)};
        if (a.bits == b.bits) continue;
        tn_joint_def def =
            random_loose_joint(m, r, (random_joint_type){TN_JOINT_DISTANCE, 0}, a, b, 1);
        def.type   = TN_JOINT_ROPE;
        def.form   = TN_JOINT_BY_POINTS;
        def.length = 50;
        (void)tn_scene_add_joint(m->scene, &def);
    }
}

static inline void random_close(random_mechanism* m, test_random* r, random_joint_type t)
{
    const tn_body_id a = random_movable_body(m, r),
                     b = {(uint32_t)test_random_int(r, 0, m->body_count - 1)};
    if (a.bits == b.bits || !random_joint_takes(t, m->kinds[a.bits], m->kinds[b.bits])) return;
    const tn_joint_def def = random_joint(m, r, t, a, b);
    (void)tn_scene_add_joint(m->scene, &def);
}

static inline void random_repeat_joint(random_mechanism* m, test_random* r)
{
    const int count = tn_scene_joint_count(m->scene);
    if (count == 0) return;
    const tni_joint_item* item = random_joint_item(m, test_random_int(r, 0, count - 1));
    if (item->constraint != NULL || item->def.type == TN_JOINT_ROPE) return;
    tn_joint_def def = item->def;
    def.name         = NULL;
    (void)tn_scene_add_joint(m->scene, &def);
}

static inline void random_add_coupler(random_mechanism* m, test_random* r, int most)
{
    tn_joint_id     joints[5];
    double          coefficients[5];
    tn_coupling_def def = tn_default_coupling_def(TN_COUPLING_COUPLER);
    for (int i = 0; i < tn_scene_joint_count(m->scene) && def.joint_count < most; ++i) {
        const tni_joint_item* item = random_joint_item(m, i);
        if (!random_has_coordinate(m, item) || item->def.type == TN_JOINT_BALL) continue;
        coefficients[def.joint_count] = test_random_between(r, -2, 2);
        joints[def.joint_count++]     = (tn_joint_id){(uint32_t)i + 1};
    }
    def.joints = joints, def.coefficients = coefficients, def.velocity = 0.3;
    if (def.joint_count >= 2) (void)tn_scene_add_coupling(m->scene, &def);
}

static inline void random_add_center(random_mechanism* m, test_random* r)
{
    tn_body_id      bodies[5];
    tn_coupling_def def   = tn_default_coupling_def(TN_COUPLING_CENTER);
    bool            rises = false;
    for (int i = 1; i < m->body_count && def.body_count < 5; ++i) {
        if (m->kinds[i] > RANDOM_AFFINE || test_random_unit(r) < 0.4) continue;
        bodies[def.body_count++] = (tn_body_id){(uint32_t)i};
        rises                    = rises || m->kinds[i] != RANDOM_PLANAR;
    }
    def.bodies = bodies;
    if (def.body_count >= 2 && rises) (void)tn_scene_add_coupling(m->scene, &def);
}

// ---- Mechanisms ---------------------------------------------------------------------------------

static inline void random_fill_mixed(random_web* w, test_random* r)
{
    static const random_joint_type closing[] = {{TN_JOINT_DISTANCE, 0},
                                                {TN_JOINT_POINT_ON_PLANE, 0},
                                                {TN_JOINT_DISTANCE, 0},
                                                {TN_JOINT_BALL, 0},
                                                {TN_JOINT_POINT_ON_LINE, 0}};
    w->m                                     = random_forest(r, test_random_int(r, 2, 8));
    tn_state_free(w->m->state);
    tn_model_free(w->m->model);
    for (int i = test_random_int(r, 0, 3); i > 0; --i)
        random_close(w->m, r, closing[test_random_int(r, 0, 4)]);
    if (test_random_unit(r) < 0.4) random_repeat_joint(w->m, r);
    if (test_random_unit(r) < 0.3) random_add_relation(w, r, false);
    if (test_random_unit(r) < 0.3) random_add_coupler(w->m, r, 5);
    if (test_random_unit(r) < 0.2) random_add_center(w->m, r);
}

// Every body hangs on an earlier one or on the ground, by one of some types; then more of the same.
static inline void random_fill_assembled(random_web* w, test_random* r, bool flat)
{
    static const random_joint_type types[] = {
        {TN_JOINT_HINGE, 0}, {TN_JOINT_BALL, 0}, {TN_JOINT_UNIVERSAL, 0}, {TN_JOINT_CYLINDER, 0}};
    const int size = test_random_int(r, 3, 7), extra = test_random_int(r, 1, flat ? 3 : 4);
    w->m = random_mechanism_make();
    for (int i = 0; i < size; ++i) {
        tn_vec3 place = random_vec3(r, 1);
        if (flat) place.y = 0;
        (void)random_add_body(w->m, r, RANDOM_RIGID, place, false);
    }
    for (int i = 1; i <= size + extra; ++i) {
        const int a = i <= size ? i : test_random_int(r, 1, size);
        const int b =
            i <= size ? test_random_int(r, i > 2 ? i - 2 : 0, i - 1) : test_random_int(r, 0, size);
        if (a == b) continue;
        const random_joint_type t = types[flat ? 0 : test_random_int(r, 0, 3)];
        tn_joint_def            def =
            random_joint(w->m, r, t, (tn_body_id){(uint32_t)b}, (tn_body_id){(uint32_t)a});
        if (flat) def.anchor.y = 0, def.axis = tni_vec3(0, 1, 0);
        (void)tn_scene_add_joint(w->m->scene, &def);
    }
    random_add_forces(w->m, r);
}

/// otherwise: with relations that do not push along their rows, and then without limits.
static inline random_web random_web_make(test_random* r, random_web_family family, bool otherwise)
{
    random_web w = {.relations = calloc(RANDOM_WEB_USERS, sizeof(random_relation))};
    if (family == RANDOM_WEB_MIXED) random_fill_mixed(&w, r);
    else random_fill_assembled(&w, r, family == RANDOM_WEB_FLAT);
    for (int i = otherwise ? test_random_int(r, 1, 2) : 0; i > 0; --i)
        random_add_relation(&w, r, true);
    if (!otherwise) {
        random_add_limits(w.m, r, test_random_unit(r));
        random_add_ropes(w.m, r, test_random_int(r, 0, 3));
    }
    random_mechanism_build(w.m);
    if (family == RANDOM_WEB_MIXED) random_disturb(w.m, r, 0.15, 1);
    else random_numbers(r, w.m->state->u, w.m->model->u_count, 1);
    return w;
}

static inline void random_web_free(random_web* w)
{
    random_mechanism_free(w->m);
    free(w->relations);
}

// ---- Limits at their ends -----------------------------------------------------------------------

// Moves the end of a limit so that `gap` is left.
static inline void random_set_gap(tni_limit* limit, double now, double gap)
{
    switch (limit->kind) {
    case TNI_LIMIT_LOWER:
    case TNI_LIMIT_TWIST_LOWER: limit->end += now - gap; break;
    case TNI_LIMIT_CONE:
        limit->end = acos(fmin(1, now * sin(limit->end) + cos(limit->end))) + gap;
        break;
    default: limit->end += gap - now;
    }
}

// A cone may not end where its axes agree, as they do at the start.
static inline bool random_may_end(const tni_limit* limit, double now)
{
    tni_limit placed = *limit;
    random_set_gap(&placed, now, 0);
    return placed.kind != TNI_LIMIT_CONE || placed.end > 0.1;
}

/// Each limit is far, or just reached and resting, or just reached and opening; the velocities
/// follow. joints: they obey the joints too. Only rests are asked for: what opens, opens by chance,
/// so that nothing is asked for that the joints do not allow.
static inline void random_reach_limits(random_web* w, test_random* r, bool joints)
{
    tn_model*    model = w->m->model;
    dense_system d     = dense_of(model, w->m->state);
    double*      rates = dense_numbers(d.limits);
    int          shut  = 0;
    for (int i = 0; i < d.limits; ++i) {
        const bool rests = test_random_unit(r) < 0.5 && shut < DENSE_STOPS_MAX &&
                           random_may_end(&model->limits[i], d.gap[i]);
        rates[i] = rests ? 0 : TN_UNSET;
        shut += rests;
    }
    dense_set_rates(model, w->m->state, joints, rates);
    dense_free(&d);
    d = dense_of(model, w->m->state);
    for (int i = 0; i < d.limits; ++i) {
        const bool opens = d.closing[i] > 0.01 && test_random_unit(r) < 0.5 &&
                           random_may_end(&model->limits[i], d.gap[i]);
        random_set_gap(&model->limits[i], d.gap[i], opens || rates[i] == 0 ? 0 : 0.4);
    }
    dense_free(&d);
    free(rates);
}

#endif
