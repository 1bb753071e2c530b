// A scene at a state as forces see it, for tests of forces and their derivatives.
#ifndef FORCE_RIG_H
#define FORCE_RIG_H

#include "force/force.h"
#include "support/random_scene.h"

typedef struct force_rig {
    const random_mechanism* m;
    int                     n; ///< velocities
    tni_view*               views;
    double *                q, *u, *d;
} force_rig;

static inline double* force_rig_numbers(int count)
{
    return calloc((size_t)count + 1, sizeof(double));
}

static inline force_rig force_rig_make(const random_mechanism* m)
{
    force_rig rig = {.m = m, .n = m->model->u_count};
    rig.views     = calloc((size_t)m->model->body_count, sizeof *rig.views);
    rig.q         = force_rig_numbers(m->model->q_count);
    rig.u         = force_rig_numbers(rig.n);
    rig.d         = force_rig_numbers(rig.n);
    memcpy(rig.q, m->state->q, sizeof(double) * (size_t)m->model->q_count);
    memcpy(rig.u, m->state->u, sizeof(double) * (size_t)rig.n);
    return rig;
}

static inline void force_rig_free(force_rig* rig)
{
    free(rig->views);
    free(rig->q);
    free(rig->u);
    free(rig->d);
}

/// Where the rig's q and u are, at a time. Holds until the next look.
static inline tni_scene_view force_rig_look(force_rig* rig, double time)
{
    tni_views(rig->m->model, time, rig->q, rig->u, rig->views);
    return (tni_scene_view){.model  = rig->m->model,
                            .time   = time,
                            .z      = rig->m->state->z,
                            .views  = rig->views,
                            .inputs = &rig->m->state->inputs};
}

/// The state moved by `move` along velocity `column`, or its velocity changed by that.
static inline tni_scene_view force_rig_moved(force_rig* rig, int column, double move, bool velocity)
{
    const random_mechanism* m = rig->m;
    memset(rig->d, 0, sizeof(double) * (size_t)rig->n);
    rig->d[column] = move;
    memcpy(rig->u, m->state->u, sizeof(double) * (size_t)rig->n);
    memcpy(rig->q, m->state->q, sizeof(double) * (size_t)m->model->q_count);
    if (velocity) rig->u[column] += move;
    else tni_advance(m->model, m->state->q, rig->d, rig->q);
    return force_rig_look(rig, m->state->time);
}

/// Whether velocity i is one of a user-defined body.
static inline bool force_rig_is_user(const force_rig* rig, int i)
{
    const tn_model* model = rig->m->model;
    for (int b = 0; b < model->body_count; ++b) {
        const tni_body* body = &model->bodies[b];
        if (body->dim > 0 && i >= body->u_start && i < body->u_start + body->dim)
            return body->kind == TN_BODY_USER;
    }
    return false;
}

/// One joint between two bodies whose frames disagree by up to `apart`, at a random state.
static inline random_mechanism* force_rig_pair(test_random* r, random_joint_type t,
                                               random_kind kind1, random_kind kind2,
                                               const tn_joint_def* with, double apart)
{
    random_mechanism* m    = random_mechanism_make();
    const bool        flat = random_kind_is_flat(kind1) && random_kind_is_flat(kind2);
    const tn_body_id  a    = random_add_body(m, r, kind1, tni_vec3(-0.5, 0, 0), flat),
                     b     = random_add_body(m, r, kind2, tni_vec3(0.5, 0, 0), flat);
    tn_joint_def def       = random_loose_joint(m, r, t, a, b, apart);
    def.stiffness = with->stiffness, def.damping = with->damping, def.limit = with->limit;
    def.friction = with->friction;
    if (with->friction_speed > 0) def.friction_speed = with->friction_speed;
    memcpy(def.rest, with->rest, sizeof def.rest);
    memcpy(def.force, with->force, sizeof def.force);
    (void)tn_scene_add_joint(m->scene, &def);
    random_mechanism_build(m);
    random_disturb(m, r, 0.2, 1);
    return m;
}

typedef void force_rig_visit(test_random* r, random_joint_type t, random_kind kind1,
                             random_kind kind2);

/// Types that have free coordinates, between all kinds that take their torques.
static inline void force_rig_each_joint(uint64_t seed, force_rig_visit* visit)
{
    static const random_kind kinds[] = {RANDOM_RIGID,  RANDOM_PLANAR, RANDOM_KINEMATIC,
                                        RANDOM_GROUND, RANDOM_AFFINE, RANDOM_USER_SCALED};
    test_random              r       = {seed};
    for (int i = 0; i < RANDOM_JOINT_TYPE_COUNT; ++i) {
        const random_joint_type t    = random_joint_types[i];
        const tni_joint_type*   type = tni_joint_type_of(t.type, t.of);
        const int               n    = type->coordinate_count;
        for (int k = 0; n > 0 && k < 36; ++k) {
            const random_kind kind1 = kinds[k / 6], kind2 = kinds[k % 6];
            if (!random_joint_takes(t, kind1, kind2)) continue;
            if (type->coordinates[n - 1] >= TNI_COORDINATE_ROTATION_X &&
                !(random_kind_takes_torque(kind1) && random_kind_takes_torque(kind2)))
                continue;
            visit(&r, t, kind1, kind2);
        }
    }
}

/// One body of each kind, apart from each other.
static inline random_mechanism* force_rig_crowd(test_random* r)
{
    random_mechanism* m = random_mechanism_make();
    tn_scene_set_gravity(m->scene, random_vec3(r, 10));
    for (int kind = 0; kind < RANDOM_GROUND; ++kind)
        (void)random_add_body(m, r, (random_kind)kind, random_vec3(r, 2), false);
    return m;
}

/// Springs between all pairs of a crowd.
static inline void force_rig_add_springs(random_mechanism* m, test_random* r, double stiffness,
                                         double damping)
{
    for (int a = 0; a < m->body_count; ++a) {
        for (int b = a + 1; b < m->body_count; ++b) {
            tn_spring_def spring = tn_default_spring_def();
            spring.body1 = (tn_body_id){(uint32_t)a}, spring.body2 = (tn_body_id){(uint32_t)b};
            if (test_random_unit(r) < 0.5)
                spring.body1.bits = (uint32_t)b, spring.body2.bits = (uint32_t)a;
            spring.anchor1 = random_vec3(r, 0.5), spring.anchor2 = random_vec3(r, 0.5);
            spring.stiffness = stiffness, spring.damping = damping;
            spring.length = 2 * test_random_unit(r);
            CHECK_OK(tn_scene_add_spring(m->scene, &spring));
        }
    }
}

static inline void force_rig_add_target(random_mechanism* m, test_random* r, int body)
{
    const bool    flat = m->kinds[body] == RANDOM_PLANAR;
    tn_key        keys[2];
    tn_target_def target = tn_default_target_def();
    for (int i = 0; i < 2; ++i)
        keys[i] =
            (tn_key){3 * i, {random_vec3(r, 1), flat ? random_quat_about_z(r) : random_quat(r)}};
    target.body = (tn_body_id){(uint32_t)body}, target.point = random_vec3(r, 0.5);
    target.keys = keys, target.key_count = 2;
    target.stiffness = 5, target.damping = 2;
    if (m->kinds[body] == RANDOM_RIGID || flat)
        target.angular_stiffness = 3, target.angular_damping = 1;
    CHECK_OK(tn_scene_add_target(m->scene, &target));
}

static inline void force_rig_add_drag(random_mechanism* m, test_random* r, int body)
{
    tn_drag_def drag = tn_default_drag_def();
    drag.body = (tn_body_id){(uint32_t)body}, drag.point = random_vec3(r, 0.5);
    drag.linear = 1, drag.quadratic = 0.5, drag.wind = random_vec3(r, 2);
    drag.angular = m->kinds[body] == RANDOM_RIGID || m->kinds[body] == RANDOM_PLANAR ? 0.7 : 0;
    CHECK_OK(tn_scene_add_drag(m->scene, &drag));
}

#endif
