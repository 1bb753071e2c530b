// target: pulls a point of a body, and its orientation, to a pose: a keyed one, or one set by the
// user, which moves on with its velocity.
//     force  = -k (p - p_t) - d (pdot - pdot_t)
//     torque = -k theta - d (w - w_t),  theta = log(R R_t^T)
// Softened, along the world axes of the point and of the rotation, with the pose at the end of the
// step: K = k and k sym(Jl^-1(theta)), D = d. Exact derivative: k Jl^-1(theta).
#include "force/derive.h"
#include "force/soft.h"

typedef struct offset {
    tn_vec3 position, velocity, turn, spin;
} offset;

static void pose_at(const tni_scene_view* at, int index, double time, tn_frame* pose,
                    tn_twist* velocity)
{
    const tni_target*      target    = &at->model->targets[index];
    const tni_target_pose* user_pose = at->inputs != NULL ? &at->inputs->targets[index] : NULL;
    if (user_pose == NULL || !user_pose->given) {
        tni_keys_at(target->keys, target->key_count, time, pose, velocity);
        return;
    }
    const double since = time - user_pose->time;
    *velocity          = user_pose->velocity;
    pose->position     = tni_add_scaled(user_pose->pose.position, since, velocity->linear);
    pose->orientation  = tni_quat_mul(tni_quat_exp(tni_scale(since, velocity->angular)),
                                      user_pose->pose.orientation);
}

static bool turns_body(const tni_target* target)
{
    return target->angular_stiffness != 0 || target->angular_damping != 0;
}

// Offset of the body, where it is evaluated, from the target's pose and velocity at a time.
static offset offset_of(const tni_scene_view* at, int index, double time, tn_twist* velocity)
{
    const tni_target* target = &at->model->targets[index];
    const tni_body*   body   = &at->model->bodies[target->body];
    tni_view          scratch;
    const tni_view*   view = tni_view_of(at, target->body, &scratch);
    tn_frame          pose;
    pose_at(at, index, time, &pose, velocity);
    const tni_motion p = tni_point_motion(body, view, target->p);
    offset           o = {.position = tni_sub(p.at, pose.position),
                          .velocity = tni_sub(p.rate, velocity->linear)};
    if (!turns_body(target)) return o;
    const tni_mat3 T = tni_quat_matrix(pose.orientation), Tt = tni_transposed(&T),
                   relative = tni_mat_mul(&view->R, &Tt);
    o.turn                  = tni_quat_log(tni_matrix_quat(&relative));
    o.spin                  = tni_sub(view->w, velocity->angular);
    return o;
}

// Force and torque on the body, at the point.
static tn_wrench wrench_of(const tni_target* t, const offset* o)
{
    return (tn_wrench){
        .force  = tni_add_scaled(tni_scale(-t->stiffness, o->position), -t->damping, o->velocity),
        .torque = tni_add_scaled(tni_scale(-t->angular_stiffness, o->turn), -t->angular_damping,
                                 o->spin)};
}

static void add(const tni_scene_view* at, double* f)
{
    for (int i = 0; i < at->model->target_count; ++i) {
        const tni_target* t = &at->model->targets[i];
        tn_twist          velocity;
        const offset      o = offset_of(at, i, at->time, &velocity);
        const tn_wrench   w = wrench_of(t, &o);
        tni_apply_wrench(&at->model->bodies[t->body], &at->views[t->body], t->p, w.force, w.torque,
                         f);
    }
}

tn_wrench tn_state_target_force(const tn_state* state, tn_target_id target)
{
    const tni_scene_view at = tni_state_scene(state);
    tn_twist             velocity;
    const int            index = (int)target.bits - 1;
    if (target.bits == 0 || target.bits > (uint32_t)state->model->target_count)
        return (tn_wrench){{0, 0, 0}, {0, 0, 0}};
    const offset o = offset_of(&at, index, at.time, &velocity);
    return wrench_of(&state->model->targets[index], &o);
}

static double energy(const tni_scene_view* at)
{
    double sum = 0;
    for (int i = 0; i < at->model->target_count; ++i) {
        const tni_target* t = &at->model->targets[i];
        tn_twist          velocity;
        const offset      o = offset_of(at, i, at->time, &velocity);
        sum += 0.5 * t->stiffness * tni_dot(o.position, o.position) +
               0.5 * t->angular_stiffness * tni_dot(o.turn, o.turn);
    }
    return sum;
}

// How the pose moves until the step's end, along the rows.
static void note_motion(const tni_scene_view* at, int index, double time, tni_soft* soft)
{
    tn_frame now, then;
    tn_twist velocity;
    if (!(time > at->time)) return;
    pose_at(at, index, at->time, &now, &velocity);
    pose_at(at, index, time, &then, &velocity);
    tni_write3(soft->known, tni_sub(now.position, then.position));
    if (soft->row_count < 6 || !turns_body(&at->model->targets[index])) return;
    tni_write3(soft->known + 3,
               tni_quat_log(tni_quat_mul(now.orientation, tni_quat_conjugate(then.orientation))));
}

static void soften(const tni_scene_view* at, const tni_prediction* predicted, tni_take_soft* take,
                   void* user)
{
    const tni_mat3 one = tni_identity3();
    tni_soft       soft;
    for (int i = 0; i < at->model->target_count; ++i) {
        const tni_target* t = &at->model->targets[i];
        tn_twist          go;
        const offset      o = offset_of(at, i, predicted->time, &go);
        soft.index          = i;
        tni_soft_point_spring(
            at, t->body, t->p,
            tni_add_scaled(tni_scale(-t->stiffness, o.position), t->damping, go.linear),
            t->stiffness, t->damping, turns_body(t), &soft);
        if (turns_body(t)) {
            const tni_mat3 S = tni_soft_torsion(o.turn);
            tni_write3(soft.f + 3, tni_add_scaled(tni_scale(-t->angular_stiffness, o.turn),
                                                  t->angular_damping, go.angular));
            tni_soft_block(soft.K, 6, 3, t->angular_stiffness, &S);
            tni_soft_block(soft.D, 6, 3, t->angular_damping, &one);
        }
        note_motion(at, i, predicted->time, &soft);
        take(user, &soft);
    }
}

static void derive(const tni_scene_view* at, tni_take_derivative* take, void* user)
{
    for (int i = 0; i < at->model->target_count; ++i) {
        const tni_target* t = &at->model->targets[i];
        tn_twist          go;
        const offset      o     = offset_of(at, i, at->time, &go);
        const tn_vec3     force = wrench_of(t, &o).force;
        double            K[36] = {0}, D[36] = {0};
        tni_derivation    d;
        tni_derivation_begin(&d, at, 0, t->body);
        for (int k = 0; k < 6; ++k) {
            const tn_vec3         e = {k == 3, k == 4, k == 5};
            const tni_derived_row row =
                k < 3 ? tni_derived_point(t->p, k) : tni_derived_rotation(k - 3);
            tni_derivation_add(&d, &row, k < 3 ? tni_at(force, k) : 0);
            K[7 * k] = t->stiffness, D[7 * k] = k < 3 ? t->damping : t->angular_damping;
            const tn_vec3 column = tni_left_jacobian_inverse(o.turn, e);
            for (int j = 3; k >= 3 && j < 6; ++j)
                K[6 * j + k] = t->angular_stiffness * tni_at(column, j - 3);
        }
        tni_derivation_end(&d, K, D, take, user);
    }
}

static bool damps(const tn_model* model)
{
    for (int i = 0; i < model->target_count; ++i)
        if (model->targets[i].damping > 0 || model->targets[i].angular_damping > 0) return true;
    return false;
}

static void pushed(const tn_model* model, tni_take_pushed* take, void* user)
{
    for (int i = 0; i < model->target_count; ++i) take(user, model->targets[i].body, -1);
}

const tni_force tni_force_target = {.place  = TNI_FORCE_EXTERNAL,
                                    .add    = add,
                                    .energy = energy,
                                    .soften = soften,
                                    .derive = derive,
                                    .damps  = damps,
                                    .pushed = pushed};
