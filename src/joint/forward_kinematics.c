// forward_kinematics: poses of the bodies of trees from joint coordinates (Baraff 1996, section
// 2.2).
//
// A joint's coordinates determine frame 2 in frame 1 and its relative velocity. With angle a, bend
// b, rotation vector theta (each zero where the joint has none) and the slides d,
//     E = Rz(a) Rx(b) exp(theta)          axes of frame 2 in frame 1
//     w = a' z + b' Rz(a) x + theta'      angular velocity of frame 2 against frame 1, its axes
// (theta' is this angular velocity itself, as everywhere for rotation coordinates). With A the axes
// of frame 1 in the world, p its origin, W its angular velocity, frame 2 follows (or frame 1 from
// 2):
//     A2 = A E,   p2 = p + A d,   W2 = W + A w,   p2' = p' + W x A d + A d'
// Each body follows from a neighbour, outward from immovable bodies and from one body of every
// floating tree: O(n).
#include "joint/joint.h"

#include "math/elementary.h"

enum { COORDINATES = TNI_COORDINATE_ROTATION_Z + 1 }; // kinds of coordinates

// Distance from its plane that a planar body may have, relative.
static const double plane_tolerance = 1e-9;

// ---- Checks -------------------------------------------------------------------------------------

static bool is_finite(double x)
{
    return x - x == 0;
}

// Whether position rows and coordinates together determine all six relative motions.
static bool determines_pose(const tni_joint_type* type)
{
    int count = type->coordinate_count;
    for (int i = 0; i < type->row_count; ++i) count += !type->parts[i].velocity;
    return count == 6;
}

static tn_result check_joint(const tn_model* model, const tni_joint* joint, const double* positions,
                             const double* velocities, tn_why* why)
{
    const int bodies[2] = {joint->body1, joint->body2};
    if (!determines_pose(joint->type)) {
        return tni_fail(
            why, TN_ERR_UNSUPPORTED,
            "joint '%s': the coordinates of a %s do not determine the poses of its bodies",
            joint->name, joint->type->word);
    }
    for (int side = 0; side < 2; ++side) {
        const tni_body* body = &model->bodies[bodies[side]];
        if (body->kind != TN_BODY_AFFINE && body->kind != TN_BODY_USER) continue;
        return tni_fail(why, TN_ERR_UNSUPPORTED,
                        "joint '%s': joint coordinates cannot place '%s', a body that deforms",
                        joint->name, body->name);
    }
    for (int k = 0; k < joint->coordinate_count; ++k) {
        const int i = joint->coordinate_start + k;
        if (is_finite(positions[i]) && (velocities == NULL || is_finite(velocities[i]))) continue;
        return tni_fail(why, TN_ERR_MODEL, "joint '%s': its coordinate %d is not a finite number",
                        joint->name, k);
    }
    return TN_OK;
}

tn_result tni_check_coordinates(const tn_model* model, const double* positions,
                                const double* velocities, tn_why* why)
{
    if (model->user_count > 0) {
        return tni_fail(
            why, TN_ERR_UNSUPPORTED,
            "joint '%s': a user-defined constraint has no coordinates to place bodies by",
            model->users[0].name);
    }
    for (int i = 0; i < model->joint_count; ++i) {
        const tn_result result = check_joint(model, &model->joints[i], positions, velocities, why);
        if (result != TN_OK) return result;
    }
    return TN_OK;
}

// ---- One joint ----------------------------------------------------------------------------------

// Frame 2 in frame 1, in the axes of frame 1.
typedef struct relative {
    tni_mat3 E;
    tn_vec3  w;
    tn_vec3  d, d_rate;
} relative;

static relative relative_at(const tni_joint* joint, const double* positions,
                            const double* velocities)
{
    double z[COORDINATES] = {0}, rate[COORDINATES] = {0};
    for (int k = 0; k < joint->coordinate_count; ++k) {
        const int coordinate = joint->type->coordinates[k];
        z[coordinate]        = positions[joint->coordinate_start + k];
        if (velocities != NULL) rate[coordinate] = velocities[joint->coordinate_start + k];
    }
    if (joint->type == tni_joint_type_of(TN_JOINT_SCREW, TN_JOINT_HINGE)) {
        z[TNI_COORDINATE_SLIDE_Z]    = joint->size * z[TNI_COORDINATE_ANGLE];
        rate[TNI_COORDINATE_SLIDE_Z] = joint->size * rate[TNI_COORDINATE_ANGLE];
    }
    const tn_quat  turn = tni_quat_exp(tni_vec3(0, 0, z[TNI_COORDINATE_ANGLE]));
    const tn_quat  bend = tni_quat_exp(tni_vec3(z[TNI_COORDINATE_BEND], 0, 0));
    const tn_quat  any  = tni_quat_exp(tni_read3(z + TNI_COORDINATE_ROTATION_X));
    const tni_mat3 Rz   = tni_quat_matrix(turn);
    relative       m;
    m.E = tni_quat_matrix(tni_quat_mul(tni_quat_mul(turn, bend), any));
    m.w = tni_add_scaled(tni_read3(rate + TNI_COORDINATE_ROTATION_X), rate[TNI_COORDINATE_BEND],
                         tni_column(&Rz, 0));
    m.w.z += rate[TNI_COORDINATE_ANGLE];
    m.d      = tni_read3(z + TNI_COORDINATE_SLIDE_X);
    m.d_rate = tni_read3(rate + TNI_COORDINATE_SLIDE_X);
    return m;
}

// A joint frame in world axes, and its velocity.
typedef struct frame {
    tni_mat3 A;
    tn_vec3  p, p_rate, w;
} frame;

static frame frame_on(const tni_view* view, tn_vec3 p, const tni_mat3* F)
{
    const tn_vec3 arm = tni_mul(&view->R, p);
    return (frame){tni_mat_mul(&view->R, F), tni_add(view->x, arm),
                   tni_add(view->v, tni_cross(view->w, arm)), view->w};
}

static frame frame2_from(const frame* f, const relative* m)
{
    const tn_vec3 d = tni_mul(&f->A, m->d);
    return (frame){tni_mat_mul(&f->A, &m->E), tni_add(f->p, d),
                   tni_add(tni_add(f->p_rate, tni_cross(f->w, d)), tni_mul(&f->A, m->d_rate)),
                   tni_add(f->w, tni_mul(&f->A, m->w))};
}

static frame frame1_from(const frame* f, const relative* m)
{
    const tni_mat3 Et = tni_transposed(&m->E), A = tni_mat_mul(&f->A, &Et);
    const tn_vec3  d = tni_mul(&A, m->d), w = tni_sub(f->w, tni_mul(&A, m->w));
    return (frame){A, tni_sub(f->p, d),
                   tni_sub(tni_sub(f->p_rate, tni_cross(w, d)), tni_mul(&A, m->d_rate)), w};
}

// The body whose frame (p, F) is at f.
static tni_view body_under(const frame* f, tn_vec3 p, const tni_mat3* F)
{
    const tni_mat3 Ft   = tni_transposed(F);
    tni_view       view = {.R = tni_mat_mul(&f->A, &Ft), .w = f->w};
    const tn_vec3  arm  = tni_mul(&view.R, p);
    view.x              = tni_sub(f->p, arm);
    view.v              = tni_sub(f->p_rate, tni_cross(f->w, arm));
    return view;
}

static void write_body(const tni_body* body, const tni_view* view, double* q, double* u)
{
    const tn_quat o = tni_matrix_quat(&view->R);
    q += body->q_start;
    u += body->u_start;
    if (body->kind == TN_BODY_PLANAR) {
        q[0] = view->x.x, q[1] = view->x.y, q[2] = 2 * tni_atan2(o.z, o.w);
        u[0] = view->v.x, u[1] = view->v.y, u[2] = view->w.z;
        return;
    }
    tni_write3(q, view->x);
    tni_write3(u, view->v);
    if (body->kind != TN_BODY_RIGID) return;
    q[3] = o.w, q[4] = o.x, q[5] = o.y, q[6] = o.z;
    tni_write3(u + 3, view->w);
}

// ---- Traversal ----------------------------------------------------------------------------------

typedef struct traversal {
    const tn_model* model;
    double          time;
    const double *  positions, *velocities;
    double *        q, *u; ///< results
    int * first, *joints;  ///< joints of body i: joints[first[i]] ... joints[first[i + 1] - 1]
    int*  queue;           ///< bodies in the order they were placed
    int   queue_count;
    bool *known, *used; ///< by body, by joint
} traversal;

static bool near(double a, double b)
{
    return fabs(a - b) <= plane_tolerance * (1 + fabs(b));
}

// A planar body takes only the part of a pose that its plane allows. True if that satisfies the
// joint.
static bool fits_plane(const traversal* w, const tni_joint* joint, const tni_view* wanted)
{
    tni_view views[2];
    tni_row  rows[TNI_JOINT_ROWS_MAX];
    bool     fits =
        fabs(wanted->R.m[2]) + fabs(wanted->R.m[5]) <= plane_tolerance && wanted->R.m[8] > 0;
    const int held = w->model->constraints[joint->constraint].held_count;
    tni_view_body(w->model, joint->body1, w->time, w->q, w->u, &views[0]);
    tni_view_body(w->model, joint->body2, w->time, w->q, w->u, &views[1]);
    const tni_sides sides = {&views[0], &views[1]};
    tni_joint_rows(w->model, joint, sides, w->time, w->positions, rows);
    for (int i = 0; i < held; ++i) fits = fits && near(rows[i].C, 0) && near(rows[i].rate, 0);
    for (int k = 0; k < joint->coordinate_count; ++k) {
        const int     i     = joint->coordinate_start + k;
        const tni_row row   = tni_joint_coordinate(w->model, joint, k, sides, w->positions);
        const bool    turns = joint->type->coordinates[k] >= TNI_COORDINATE_ROTATION_X;
        fits = fits && (turns || near(row.C, w->positions[i])); // a rotation vector may wrap
        fits = fits && near(row.rate, w->velocities != NULL ? w->velocities[i] : 0);
    }
    return fits;
}

// A particle has no orientation: only a ball joint can place it, and it can place nothing but
// particles.
static tn_result place_without_axes(const traversal* w, const tni_joint* joint, const frame* anchor,
                                    bool forward, tn_why* why)
{
    const tni_body* body = &w->model->bodies[forward ? joint->body2 : joint->body1];
    if (body->turns || joint->type != tni_joint_type_of(TN_JOINT_BALL, TN_JOINT_HINGE)) {
        return tni_fail(why, TN_ERR_UNSUPPORTED,
                        "joint '%s': it has no coordinates that determine the pose of '%s'",
                        joint->name, body->name);
    }
    const tni_view view = {.x = tni_sub(anchor->p, forward ? joint->p2 : joint->p1),
                           .v = anchor->p_rate,
                           .R = tni_identity3()};
    write_body(body, &view, w->q, w->u);
    return TN_OK;
}

// Places the body at the other end of a joint, from the known one.
static tn_result place(const traversal* w, const tni_joint* joint, int known, tn_why* why)
{
    const bool      forward = joint->body1 == known;
    const int       index   = forward ? joint->body2 : joint->body1;
    const tni_body* body    = &w->model->bodies[index];
    tni_view        from;
    tni_view_body(w->model, known, w->time, w->q, w->u, &from);
    const frame f =
        forward ? frame_on(&from, joint->p1, &joint->F1) : frame_on(&from, joint->p2, &joint->F2);
    if (joint->coordinate_count < joint->type->coordinate_count)
        return place_without_axes(w, joint, &f, forward, why);
    const relative m  = relative_at(joint, w->positions, w->velocities);
    const frame    to = forward ? frame2_from(&f, &m) : frame1_from(&f, &m);
    const tni_view view =
        forward ? body_under(&to, joint->p2, &joint->F2) : body_under(&to, joint->p1, &joint->F1);
    write_body(body, &view, w->q, w->u);
    bool finite = true;
    for (int k = 0; k < body->q_count; ++k) finite = finite && is_finite(w->q[body->q_start + k]);
    for (int k = 0; k < body->dim; ++k) finite = finite && is_finite(w->u[body->u_start + k]);
    if (!finite) {
        return tni_fail(why, TN_ERR_MODEL,
                        "joint '%s': its coordinates give '%s' a pose that is not finite",
                        joint->name, body->name);
    }
    if (body->kind == TN_BODY_PLANAR && !fits_plane(w, joint, &view)) {
        return tni_fail(why, TN_ERR_MODEL, "joint '%s': its coordinates take '%s' out of its plane",
                        joint->name, body->name);
    }
    return TN_OK;
}

// Places everything that is connected to the bodies in the queue from `next` on.
static tn_result place_neighbours(traversal* w, int next, tn_why* why)
{
    for (; next < w->queue_count; ++next) {
        const int body = w->queue[next];
        for (int k = w->first[body]; k < w->first[body + 1]; ++k) {
            const tni_joint* joint = &w->model->joints[w->joints[k]];
            const int        other = joint->body1 == body ? joint->body2 : joint->body1;
            if (w->used[w->joints[k]]) continue;
            w->used[w->joints[k]] = true;
            if (w->known[other]) {
                return tni_fail(
                    why, TN_ERR_UNSUPPORTED,
                    "joint '%s': it closes a loop; joint coordinates can place trees only",
                    joint->name);
            }
            const tn_result result = place(w, joint, body, why);
            if (result != TN_OK) return result;
            w->known[other]            = true;
            w->queue[w->queue_count++] = other;
        }
    }
    return TN_OK;
}

static tn_result place_all(traversal* w, tn_why* why)
{
    const tn_model* model = w->model;
    for (int i = 0; i < model->body_count; ++i) {
        w->known[i] = model->bodies[i].dim == 0;
        if (w->known[i]) w->queue[w->queue_count++] = i;
    }
    tn_result result = place_neighbours(w, 0, why);
    for (int i = 0; result == TN_OK && i < model->body_count; ++i) {
        if (w->known[i]) continue;
        w->known[i]                = true; // a floating tree: this body stays
        w->queue[w->queue_count++] = i;
        result                     = place_neighbours(w, w->queue_count - 1, why);
    }
    return result;
}

static void list_joints(traversal* w)
{
    const tn_model* model = w->model;
    for (int i = 0; i < model->joint_count; ++i) {
        ++w->first[model->joints[i].body1 + 1];
        ++w->first[model->joints[i].body2 + 1];
    }
    for (int i = 0; i < model->body_count; ++i) w->first[i + 1] += w->first[i];
    for (int i = model->joint_count - 1; i >= 0;
         --i) { // first[i + 1] is the end, then the beginning
        w->joints[--w->first[model->joints[i].body1 + 1]] = i;
        w->joints[--w->first[model->joints[i].body2 + 1]] = i;
    }
    // Each entry is now the beginning of the body before: shift by one.
    for (int i = 0; i < model->body_count; ++i) w->first[i] = w->first[i + 1];
    w->first[model->body_count] = 2 * model->joint_count;
}

static tn_result create_traversal(tni_arena* arena, const tn_state* state, traversal* w)
{
    const tn_model* model = state->model;
    w->model              = model;
    w->time               = state->time;
    w->q                  = TNI_TAKE(arena, double, model->q_count);
    w->u                  = TNI_TAKE(arena, double, model->u_count);
    w->first              = TNI_TAKE(arena, int, model->body_count + 1);
    w->joints             = TNI_TAKE(arena, int, 2 * model->joint_count);
    w->queue              = TNI_TAKE(arena, int, model->body_count);
    w->known              = TNI_TAKE(arena, bool, model->body_count);
    w->used               = TNI_TAKE(arena, bool, model->joint_count);
    if (arena->failed) return TN_ERR_MEMORY;
    memcpy(w->q, state->q, sizeof(double) * (size_t)model->q_count);
    memcpy(w->u, state->u, sizeof(double) * (size_t)model->u_count);
    list_joints(w);
    return TN_OK;
}

static void commit(const traversal* w, tn_state* state)
{
    const tn_model* model = w->model;
    tni_state_forget(state);
    memcpy(state->q, w->q, sizeof(double) * (size_t)model->q_count);
    memcpy(state->u, w->u, sizeof(double) * (size_t)model->u_count);
    for (int i = 0; i < model->joint_count; ++i) {
        const tni_joint* joint = &model->joints[i];
        for (int k = 0; k < joint->coordinate_count; ++k) {
            const uint8_t coordinate = joint->type->coordinates[k];
            const int     at         = joint->coordinate_start + k;
            if (coordinate == TNI_COORDINATE_ANGLE || coordinate == TNI_COORDINATE_BEND)
                state->z[at] = w->positions[at]; // from here on angles count full turns
        }
    }
}

tn_result tn_state_set_joints(tn_state* state, const double* positions, const double* velocities,
                              tn_why* why)
{
    tn_result result = tni_check_coordinates(state->model, positions, velocities, why);
    if (result != TN_OK) return result;
    tni_arena arena = tni_arena_make(&state->model->arena.host);
    traversal w     = {.positions = positions, .velocities = velocities};
    result          = create_traversal(&arena, state, &w);
    if (result == TN_OK) {
        result = place_all(&w, why);
        if (result == TN_OK) commit(&w, state);
    } else {
        (void)tni_fail(why, result, "out of memory for placing '%s'", state->model->name);
    }
    tni_arena_free(&arena);
    return result;
}
