// target: draws a point of a body, and its attitude, to a keyed pose.
//     force = -k (p - p_t) - d (pdot - pdot_t),   torque = -k theta - d (w - w_t),  theta = log(R R_t^T)
#include "force/force.h"

typedef struct offset {
    tn_vec3 position, velocity, turn, spin;
} offset;

static offset offset_of(const tni_scene_view* at, const tni_target* target)
{
    const tni_body* body = &at->model->bodies[target->body];
    tni_view        scratch;
    const tni_view* view = tni_look(at, target->body, &scratch);
    tn_frame        pose;
    tn_twist        velocity;
    tni_keys_at(target->keys, target->key_count, at->time, &pose, &velocity);
    const tni_motion p = tni_point_motion(body, view, target->p);
    offset           o = {.position = tni_sub(p.at, pose.position),
                          .velocity = tni_sub(p.rate, velocity.linear)};
    if (target->angular_stiffness == 0 && target->angular_damping == 0) return o;
    const tni_mat3 T = tni_quat_matrix(pose.orientation), Tt = tni_transposed(&T),
                   relative = tni_mat_mul(&view->R, &Tt);
    o.turn                  = tni_quat_log(tni_matrix_quat(&relative));
    o.spin                  = tni_sub(view->w, velocity.angular);
    return o;
}

static void add(const tni_scene_view* at, double* f)
{
    for (int i = 0; i < at->model->target_count; ++i) {
        const tni_target* t = &at->model->targets[i];
        const offset      o = offset_of(at, t);
        const tn_vec3     force =
            tni_add_scaled(tni_scale(-t->stiffness, o.position), -t->damping, o.velocity);
        const tn_vec3 torque =
            tni_add_scaled(tni_scale(-t->angular_stiffness, o.turn), -t->angular_damping, o.spin);
        tni_apply_wrench(&at->model->bodies[t->body], &at->views[t->body], t->p, force, torque, f);
    }
}

static double energy(const tni_scene_view* at)
{
    double sum = 0;
    for (int i = 0; i < at->model->target_count; ++i) {
        const tni_target* t = &at->model->targets[i];
        const offset      o = offset_of(at, t);
        sum += 0.5 * t->stiffness * tni_dot(o.position, o.position) +
               0.5 * t->angular_stiffness * tni_dot(o.turn, o.turn);
    }
    return sum;
}

const tni_force tni_force_target = {.add = add, .energy = energy};
