// Random mechanisms for tests: bodies of every kind, joints of every type, random states.
//
//     random_mechanism* m = random_mechanism_make();
//     tn_body_id a = random_add_body(m, &r, RANDOM_RIGID, place, false);
//     ... joints, forces ...
//     random_mechanism_build(m);           // compiles; m->model, m->state
//     random_disturb(m, &r, 0.3, 1);       // off the constraints, with random velocities
//     random_mechanism_free(m);
// or random_forest(&r, bodies) for all of it at once: several trees, each floating or tied to the
// world by one joint, whose rows are independent as a rule.
#ifndef RANDOM_SCENE_H
#define RANDOM_SCENE_H

#include "joint/joint.h"
#include "support/user_bodies.h"
#include "test.h"

#include <stdlib.h>

typedef enum random_kind {
    RANDOM_RIGID,
    RANDOM_PLANAR,
    RANDOM_PARTICLE,
    RANDOM_AFFINE,
    RANDOM_USER_POINT,
    RANDOM_USER_SCALED,
    RANDOM_KINEMATIC,
    RANDOM_STATIC,
    RANDOM_GROUND,
    RANDOM_KIND_COUNT
} random_kind;

#ifndef RANDOM_BODIES_MAX // before this is included: others
#define RANDOM_BODIES_MAX 80
#endif
enum { RANDOM_KEYS = 3 };

typedef struct random_mechanism {
    tn_scene*   scene;
    tn_model*   model;
    tn_state*   state;
    int         body_count; ///< the ground counted, as body 0
    random_kind kinds[RANDOM_BODIES_MAX];
    tn_frame    poses[RANDOM_BODIES_MAX]; ///< of the body frames at the start
    user_body   users[RANDOM_BODIES_MAX];
    bool        wheels; ///< rigid and planar bodies added from now on carry a disc
    bool        driven; ///< something moves by itself: keys or motors
} random_mechanism;

// ---- Numbers ------------------------------------------------------------------------------------

static inline tn_vec3 random_vec3(test_random* r, double size)
{
    const double x = test_random_between(r, -size, size), y = test_random_between(r, -size, size);
    return tni_vec3(x, y, test_random_between(r, -size, size));
}

static inline tn_vec3 random_direction(test_random* r)
{
    for (;;) {
        const tn_vec3 d = random_vec3(r, 1);
        const double  n = tni_norm(d);
        if (n > 0.1 && n < 1) return tni_scale(1 / n, d);
    }
}

static inline tn_quat random_quat(test_random* r)
{
    const tn_vec3 axis =
        random_direction(r); // drawn one by one: compilers take arguments in any order
    return tni_quat_exp(tni_scale(test_random_between(r, 0, 3), axis));
}

static inline tn_quat random_quat_about_z(test_random* r)
{
    return tni_quat_exp(tni_vec3(0, 0, test_random_between(r, -3, 3)));
}

static inline double random_log_uniform(test_random* r, double lower, double upper)
{
    return lower * exp(test_random_unit(r) * log(upper / lower));
}

static inline void random_numbers(test_random* r, double* numbers, int count, double size)
{
    for (int i = 0; i < count; ++i) numbers[i] = test_random_between(r, -size, size);
}

/// A possible inertia of the given mass, about 0.3 m across, with an extent in every direction.
static inline tni_mat3 random_inertia(test_random* r, double mass)
{
    double second[3];
    for (int k = 0; k < 3; ++k) second[k] = mass * test_random_between(r, 0.02, 0.1);
    const tni_mat3 principal = {
        {second[1] + second[2], 0, 0, 0, second[0] + second[2], 0, 0, 0, second[0] + second[1]}};
    const tni_mat3 R = tni_quat_matrix(random_quat(r));
    return tni_rotate_symmetric(&R, &principal);
}

// ---- Bodies -------------------------------------------------------------------------------------

static inline bool random_kind_moves(random_kind kind)
{
    return kind < RANDOM_KINEMATIC;
}

static inline bool random_kind_turns(random_kind kind)
{
    return kind != RANDOM_PARTICLE && kind != RANDOM_USER_POINT;
}

/// Moves in the plane, or not at all.
static inline bool random_kind_is_flat(random_kind kind)
{
    return kind == RANDOM_PLANAR || !random_kind_moves(kind);
}

/// Has an angular velocity of its own, so that torques mean something.
static inline bool random_kind_takes_torque(random_kind kind)
{
    return kind == RANDOM_RIGID || random_kind_is_flat(kind);
}

static inline random_mechanism* random_mechanism_make(void)
{
    random_mechanism* m = calloc(1, sizeof *m);
    m->kinds[0]         = RANDOM_GROUND;
    m->poses[0]         = (tn_frame){{0, 0, 0}, {1, 0, 0, 0}};
    m->body_count       = 1;
    if (tn_scene_create(NULL, &m->scene) != TN_OK) abort();
    return m;
}

static inline void random_mechanism_free(random_mechanism* m)
{
    tn_state_free(m->state);
    tn_model_free(m->model);
    tn_scene_free(m->scene);
    free(m);
}

/// One key a second, up to about half a metre and half a radian from a pose.
static inline void random_fill_keys(test_random* r, tn_key* keys, tn_frame about, bool flat)
{
    for (int i = 0; i < RANDOM_KEYS; ++i) {
        tn_vec3 move = random_vec3(r, 0.3), turn = random_vec3(r, 0.3);
        if (flat) move.z = turn.x = turn.y = 0;
        keys[i].time             = i;
        keys[i].pose.position    = tni_add(about.position, move);
        keys[i].pose.orientation = tni_quat_mul(tni_quat_exp(turn), about.orientation);
    }
}

/// A body of a kind somewhere near a place. flat: its attitude, and keys, keep to the plane.
static inline tn_body_id random_add_body(random_mechanism* m, test_random* r, random_kind kind,
                                         tn_vec3 place, bool flat)
{
    if (kind == RANDOM_GROUND) return (tn_body_id){0};
    static const tn_body_kind kinds[] = {
        [RANDOM_RIGID] = TN_BODY_RIGID,         [RANDOM_PLANAR] = TN_BODY_PLANAR,
        [RANDOM_PARTICLE] = TN_BODY_PARTICLE,   [RANDOM_AFFINE] = TN_BODY_AFFINE,
        [RANDOM_USER_POINT] = TN_BODY_USER,     [RANDOM_USER_SCALED] = TN_BODY_USER,
        [RANDOM_KINEMATIC] = TN_BODY_KINEMATIC, [RANDOM_STATIC] = TN_BODY_STATIC};
    const int   index     = m->body_count++;
    tn_body_def def       = tn_default_body_def();
    def.kind              = kinds[kind];
    def.mass              = random_log_uniform(r, 0.1, 10);
    const tni_mat3 I      = random_inertia(r, def.mass);
    const double   six[6] = {I.m[0], I.m[4], I.m[8], I.m[1], I.m[2], I.m[5]};
    memcpy(def.inertia, six, sizeof six);
    def.com           = random_vec3(r, 0.2);
    def.pose.position = tni_add(place, random_vec3(r, 0.2));
    if (flat || kind == RANDOM_PLANAR) def.pose.orientation = random_quat_about_z(r);
    else if (random_kind_turns(kind)) def.pose.orientation = random_quat(r);
    if (kind == RANDOM_AFFINE) def.young = 50, def.volume = 0.1;

    tn_shape_def disc = tn_default_shape_def(TN_SHAPE_CYLINDER);
    disc.radius = 0.4, disc.half_length = 0.05;
    if (m->wheels && (kind == RANDOM_RIGID || kind == RANDOM_PLANAR))
        def.shapes = &disc, def.shape_count = 1;
    tn_key keys[RANDOM_KEYS];
    if (kind == RANDOM_KINEMATIC) {
        random_fill_keys(r, keys, def.pose, flat);
        def.keys = keys, def.key_count = RANDOM_KEYS;
        def.pose  = keys[0].pose;
        m->driven = true;
    }
    const tn_quat o    = def.pose.orientation;
    const tn_vec3 x    = def.pose.position;
    const double  q[8] = {x.x, x.y, x.z, o.w, o.x, o.y, o.z, 1};
    if (def.kind == TN_BODY_USER) {
        m->users[index] = (user_body){def.mass, I, random_vec3(r, 5), 30};
        def.table       = kind == RANDOM_USER_POINT ? &user_point_table : &user_scaled_table;
        def.data        = &m->users[index];
        def.user_q      = q;
    }
    m->kinds[index] = kind;
    m->poses[index] = def.pose;
    return tn_scene_add_body(m->scene, &def);
}

// ---- Joints -------------------------------------------------------------------------------------

/// A type of joint, motors told apart by what they drive.
typedef struct random_joint_type {
    tn_joint_type type, of;
} random_joint_type;

static const random_joint_type random_joint_types[] = {{TN_JOINT_WELD, 0},
                                                       {TN_JOINT_HINGE, 0},
                                                       {TN_JOINT_SLIDER, 0},
                                                       {TN_JOINT_SCREW, 0},
                                                       {TN_JOINT_CYLINDER, 0},
                                                       {TN_JOINT_UNIVERSAL, 0},
                                                       {TN_JOINT_BALL, 0},
                                                       {TN_JOINT_PLANE, 0},
                                                       {TN_JOINT_POINT_ON_LINE, 0},
                                                       {TN_JOINT_POINT_ON_PLANE, 0},
                                                       {TN_JOINT_DISTANCE, 0},
                                                       {TN_JOINT_MOTOR, TN_JOINT_HINGE},
                                                       {TN_JOINT_MOTOR, TN_JOINT_SLIDER},
                                                       {TN_JOINT_ROLLING, 0}};
enum { RANDOM_JOINT_TYPE_COUNT = sizeof random_joint_types / sizeof random_joint_types[0] };

static inline bool random_joint_takes(random_joint_type t, random_kind kind1, random_kind kind2)
{
    if (!random_kind_moves(kind1) && !random_kind_moves(kind2)) return false;
    switch (t.type) {
    case TN_JOINT_BALL:
    case TN_JOINT_DISTANCE: return true;
    case TN_JOINT_POINT_ON_LINE:
    case TN_JOINT_POINT_ON_PLANE: return kind1 != RANDOM_USER_POINT; // the axis is body 1's
    case TN_JOINT_ROLLING:
        return random_kind_takes_torque(kind1) && random_kind_takes_torque(kind2);
    default: return random_kind_turns(kind1) && random_kind_turns(kind2);
    }
}

/// Between flat bodies: which way the axis may point so that some row is left. Others: anywhere.
static inline tn_vec3 random_axis(test_random* r, random_joint_type t, bool flat)
{
    if (!flat) return random_direction(r);
    const double  angle = test_random_between(r, -3, 3);
    const tn_vec3 along = {cos(angle), sin(angle), 0}, up = {0, 0, 1};
    const bool    slides = t.type == TN_JOINT_PLANE || t.type == TN_JOINT_POINT_ON_PLANE ||
                        t.type == TN_JOINT_ROLLING || t.type == TN_JOINT_SLIDER ||
                        t.of == TN_JOINT_SLIDER;
    const bool turns = t.type == TN_JOINT_HINGE || t.of == TN_JOINT_HINGE;
    return slides || (!turns && test_random_unit(r) < 0.5) ? along : up;
}

/// The columns x, y, z of a joint frame about an axis. flat: y or x stands up when z lies.
static inline tn_quat random_frame_about(test_random* r, tn_vec3 z, bool flat)
{
    tn_vec3 x = tni_perpendicular(z);
    if (flat && fabs(z.z) < 0.5)
        x = test_random_unit(r) < 0.5 ? tni_vec3(0, 0, 1) : tni_cross(tni_vec3(0, 0, 1), z);
    else {
        const double  angle = test_random_between(r, -3, 3);
        const tn_vec3 y     = tni_cross(z, x);
        x                   = tni_add_scaled(tni_scale(cos(angle), x), sin(angle), y);
    }
    const tni_mat3 F = tni_columns(x, tni_cross(z, x), z);
    return tni_matrix_quat(&F);
}

/// A frame of the world as a body sees it at the start.
static inline tn_frame random_seen_from(const random_mechanism* m, tn_body_id body, tn_frame f)
{
    const tn_frame* pose = &m->poses[body.bits];
    const tn_quat   back = tni_quat_conjugate(pose->orientation);
    return (tn_frame){tni_rotate(back, tni_sub(f.position, pose->position)),
                      tni_quat_mul(back, f.orientation)};
}

static inline tn_vec3 random_between_bodies(const random_mechanism* m, test_random* r,
                                            tn_body_id body1, tn_body_id body2)
{
    const tn_vec3 a = m->poses[body1.bits].position, b = m->poses[body2.bits].position;
    const tn_vec3 from = body1.bits == 0 ? b : a, to = body2.bits == 0 ? a : b;
    return tni_add(tni_scale(0.5, tni_add(from, to)), random_vec3(r, 0.3));
}

static inline void random_fill_joint(random_joint_type t, test_random* r, tn_joint_def* def)
{
    static const tn_value_key keys[] = {{0, 0.5}, {2, -1.5}};
    def->pitch                       = test_random_between(r, -1, 1);
    def->radius                      = test_random_between(r, 0.2, 0.6);
    def->of                          = t.of;
    if (t.type != TN_JOINT_MOTOR) return;
    def->velocity = test_random_between(r, -1, 1);
    if (test_random_unit(r) < 0.5) def->velocity_keys = keys, def->velocity_key_count = 2;
}

static inline bool random_pair_is_flat(const random_mechanism* m, tn_body_id a, tn_body_id b)
{
    return random_kind_is_flat(m->kinds[a.bits]) && random_kind_is_flat(m->kinds[b.bits]);
}

/// Two frames, one in each body, that disagree at the start by up to `apart` metres and radians.
static inline tn_joint_def random_loose_joint(random_mechanism* m, test_random* r,
                                              random_joint_type t, tn_body_id body1,
                                              tn_body_id body2, double apart)
{
    const bool   flat = random_pair_is_flat(m, body1, body2);
    tn_joint_def def  = tn_default_joint_def(t.type);
    random_fill_joint(t, r, &def);
    def.body1 = body1, def.body2 = body2;
    def.form            = TN_JOINT_BY_FRAMES;
    tn_frame f          = {random_between_bodies(m, r, body1, body2),
                           random_frame_about(r, random_axis(r, t, flat), flat)};
    def.frame1          = random_seen_from(m, body1, f);
    const tn_vec3 about = random_direction(r);
    tn_vec3       turn  = tni_scale(test_random_between(r, 0, apart), about);
    const tn_vec3 along = random_direction(r);
    f.position          = tni_add_scaled(f.position, test_random_between(r, 0.5, 1) * apart, along);
    if (flat) turn.x = turn.y = 0;
    f.orientation = tni_quat_mul(tni_quat_exp(turn), f.orientation);
    def.frame2    = random_seen_from(m, body2, f);
    m->driven     = m->driven || t.type == TN_JOINT_MOTOR;
    return def;
}

/// Assembled at the start, by anchor and axis; distances by points.
static inline tn_joint_def random_joint(random_mechanism* m, test_random* r, random_joint_type t,
                                        tn_body_id body1, tn_body_id body2)
{
    if (t.type == TN_JOINT_DISTANCE) {
        tn_joint_def def = random_loose_joint(m, r, t, body1, body2, 1);
        def.form         = TN_JOINT_BY_POINTS;
        return def;
    }
    tn_joint_def def = tn_default_joint_def(t.type);
    random_fill_joint(t, r, &def);
    def.body1 = body1, def.body2 = body2;
    def.anchor = random_between_bodies(m, r, body1, body2);
    def.axis   = random_axis(r, t, random_pair_is_flat(m, body1, body2));
    def.axis2  = tni_perpendicular(def.axis);
    if (t.type == TN_JOINT_ROLLING) // the plane lies one radius below the centre of body 2
        def.anchor = tni_add_scaled(m->poses[body2.bits].position, -def.radius, def.axis);
    m->driven = m->driven || t.type == TN_JOINT_MOTOR;
    return def;
}

// ---- States -------------------------------------------------------------------------------------

static inline void random_mechanism_build(random_mechanism* m)
{
    tn_why why = {0};
    if (tn_scene_compile(m->scene, &m->model, &why) != TN_OK ||
        tn_state_create(m->model, &m->state) != TN_OK) {
        fprintf(stderr, "random mechanism: %s\n", why.text);
        abort();
    }
}

/// Every body moved a little from its start, with a random velocity; a random time between keys.
static inline void random_disturb(random_mechanism* m, test_random* r, double position,
                                  double velocity)
{
    tn_state*       s     = m->state;
    const tn_model* model = m->model;
    double*         d     = malloc(sizeof(double) * (size_t)(model->u_count + 1));
    tn_state_reset(s);
    random_numbers(r, d, model->u_count, position);
    double* q = malloc(sizeof(double) * (size_t)(model->q_count + 1));
    memcpy(q, s->q, sizeof(double) * (size_t)model->q_count);
    tni_advance(model, q, d, s->q);
    random_numbers(r, s->u, model->u_count, velocity);
    const int second = test_random_int(r, 0, 1);
    s->time          = second + test_random_between(r, 0.2, 0.8);
    tni_view* views  = malloc(sizeof *views * (size_t)model->body_count);
    tni_views(model, s->time, s->q, s->u, views);
    tni_follow_coordinates(model, views, s->z);
    free(views);
    free(q);
    free(d);
}

// ---- Forests ------------------------------------------------------------------------------------

static inline void random_add_forces(random_mechanism* m, test_random* r)
{
    for (int i = 1; i < m->body_count; ++i) {
        const tn_body_id  body = {(uint32_t)i};
        const random_kind kind = m->kinds[i];
        if (!random_kind_moves(kind)) continue;
        const bool torque = kind == RANDOM_RIGID || kind == RANDOM_PLANAR;
        if (test_random_unit(r) < 0.3) {
            tn_load_def load = tn_default_load_def();
            load.body = body, load.force = random_vec3(r, 5), load.point = random_vec3(r, 0.5);
            if (torque) load.torque = random_vec3(r, 2);
            (void)tn_scene_add_load(m->scene, &load);
        }
        if (test_random_unit(r) < 0.2) {
            tn_drag_def drag = tn_default_drag_def();
            drag.body = body, drag.linear = 0.5, drag.quadratic = 0.2;
            drag.angular = torque ? 0.1 : 0;
            (void)tn_scene_add_drag(m->scene, &drag);
        }
        const tn_body_id other = {(uint32_t)test_random_int(r, 0, m->body_count - 1)};
        if (test_random_unit(r) < 0.3 && other.bits != body.bits) {
            tn_spring_def spring = tn_default_spring_def();
            spring.body1 = other, spring.body2 = body;
            spring.anchor1 = random_vec3(r, 0.5), spring.anchor2 = random_vec3(r, 0.5);
            spring.stiffness = 10, spring.damping = 1, spring.length = 0.5;
            (void)tn_scene_add_spring(m->scene, &spring);
        }
        if (test_random_unit(r) < 0.1) {
            tn_key        key    = {0, {random_vec3(r, 2), random_quat(r)}};
            tn_target_def target = tn_default_target_def();
            target.body = body, target.keys = &key, target.key_count = 1;
            target.stiffness = 5, target.damping = 0.5;
            if (torque) target.angular_stiffness = 1, target.angular_damping = 0.1;
            (void)tn_scene_add_target(m->scene, &target);
        }
    }
}

static inline void random_actuate(random_mechanism* m, test_random* r, tn_joint_def* def)
{
    const random_kind kind1 = m->kinds[def->body1.bits], kind2 = m->kinds[def->body2.bits];
    const int         count = tni_joint_type_of(def->type, def->of)->coordinate_count;
    if (test_random_unit(r) < 0.6 || count == 0) return;
    if (!random_kind_takes_torque(kind1) || !random_kind_takes_torque(kind2)) return;
    def->stiffness = 3, def->damping = 0.3;
    random_numbers(r, def->rest, count, 0.3);
    random_numbers(r, def->force, count, 2);
}

static inline random_kind random_movable_kind(test_random* r)
{
    static const random_kind deck[] = {
        RANDOM_RIGID,    RANDOM_RIGID,  RANDOM_RIGID,      RANDOM_RIGID,      RANDOM_RIGID,
        RANDOM_RIGID,    RANDOM_PLANAR, RANDOM_PLANAR,     RANDOM_PLANAR,     RANDOM_PARTICLE,
        RANDOM_PARTICLE, RANDOM_AFFINE, RANDOM_USER_POINT, RANDOM_USER_SCALED};
    return deck[test_random_int(r, 0, sizeof deck / sizeof deck[0] - 1)];
}

/// Hangs a child on a parent (any body), by a type whose rows are independent on the child alone.
/// A planar child of a parent that leaves the plane takes one row, or a ball where the parent is
/// free to follow (`loose`): then no body alone can answer for the joint.
static inline void random_hang(random_mechanism* m, test_random* r, tn_body_id parent,
                               tn_body_id child, bool* loose)
{
    const random_kind kind1 = m->kinds[parent.bits], kind2 = m->kinds[child.bits];
    const bool        out_of_plane = kind2 == RANDOM_PLANAR && !random_kind_is_flat(kind1);
    random_joint_type t;
    bool              swap;
    for (;;) {
        t    = random_joint_types[test_random_int(r, 0, RANDOM_JOINT_TYPE_COUNT - 1)];
        swap = test_random_unit(r) < 0.5;
        if (!(swap ? random_joint_takes(t, kind2, kind1) : random_joint_takes(t, kind1, kind2)))
            continue;
        if (!out_of_plane || t.type == TN_JOINT_DISTANCE || t.type == TN_JOINT_POINT_ON_PLANE)
            break;
        if (t.type == TN_JOINT_BALL && loose[parent.bits]) break;
    }
    loose[child.bits] = kind2 == RANDOM_RIGID && t.type == TN_JOINT_BALL;
    if (out_of_plane) loose[parent.bits] = false;
    tn_joint_def def =
        swap ? random_joint(m, r, t, child, parent) : random_joint(m, r, t, parent, child);
    random_actuate(m, r, &def);
    (void)tn_scene_add_joint(m->scene, &def);
}

/// Compiled, and disturbed. body_count movable bodies.
static inline random_mechanism* random_forest(test_random* r, int body_count)
{
    random_mechanism* m                        = random_mechanism_make();
    bool              loose[RANDOM_BODIES_MAX] = {false};
    tn_scene_set_gravity(m->scene, random_vec3(r, 10));
    const tn_body_id fixed[3] = {random_add_body(m, r, RANDOM_STATIC, random_vec3(r, 1), true),
                                 random_add_body(m, r, RANDOM_KINEMATIC, random_vec3(r, 1), true),
                                 {0}};
    m->driven                 = false;
    for (int i = 0; i < body_count; ++i) {
        const int  first = 3; // bodies before are the ground and the fixed ones
        const bool hangs = m->body_count > first && test_random_unit(r) < 0.85;
        const int  near  = test_random_int(r, first > m->body_count - 4 ? first : m->body_count - 4,
                                         m->body_count > first ? m->body_count - 1 : first);
        const tn_body_id parent =
            hangs ? (tn_body_id){(uint32_t)near} : fixed[test_random_int(r, 0, 2)];
        const tn_vec3 place =
            tni_add(m->poses[hangs ? near : 0].position, tni_scale(0.8, random_direction(r)));
        const tn_body_id child = random_add_body(m, r, random_movable_kind(r), place, false);
        loose[child.bits]      = m->kinds[child.bits] == RANDOM_RIGID;
        if (!hangs && test_random_unit(r) < 0.4) continue; // floating
        random_hang(m, r, parent, child, loose);
        m->driven = m->driven || m->kinds[parent.bits] == RANDOM_KINEMATIC;
    }
    random_add_forces(m, r);
    random_mechanism_build(m);
    random_disturb(m, r, 0.15, 1);
    return m;
}

#endif
