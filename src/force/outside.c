// outside: what targets and handles do to their bodies in a state, read back: the force that a
// haptic device shows to the hand. The same springs as in target.c and handle.c.
#include "force/force.h"

static const tn_vec3 none = {0, 0, 0};

// Of a spring and a damper: the way there, and how fast it grows.
static tn_vec3 pull(double stiffness, double damping, tn_vec3 way, tn_vec3 rate)
{
    return tni_add_scaled(tni_scale(stiffness, way), damping, rate);
}

static void target_at(const tn_state* state, int target, tn_frame* pose, tn_twist* velocity)
{
    const tni_target* t      = &state->model->targets[target];
    const tni_pushed* pushed = &state->outside.targets[target];
    if (!pushed->given) {
        tni_keys_at(t->keys, t->key_count, state->time, pose, velocity);
        return;
    }
    const double  since = state->time - pushed->time;
    const tn_quat turn  = tni_quat_exp(tni_scale(since, pushed->velocity.angular));
    *velocity           = pushed->velocity;
    pose->position      = tni_add_scaled(pushed->pose.position, since, pushed->velocity.linear);
    pose->orientation   = tni_quat_mul(turn, pushed->pose.orientation);
}

tn_wrench tn_state_target_force(const tn_state* state, int target)
{
    tn_wrench wrench = {none, none};
    if (target < 0 || target >= state->model->target_count) return wrench;
    const tni_target* t    = &state->model->targets[target];
    const tni_view    view = tni_state_view(state, t->body);
    const tni_motion  p    = tni_point_motion(&state->model->bodies[t->body], &view, t->p);
    tn_frame          pose;
    tn_twist          velocity;
    target_at(state, target, &pose, &velocity);
    wrench.force = pull(t->stiffness, t->damping, tni_sub(pose.position, p.at),
                        tni_sub(velocity.linear, p.rate));
    if (t->angular_stiffness == 0 && t->angular_damping == 0) return wrench;
    const tni_mat3 T = tni_quat_matrix(pose.orientation), Rt = tni_transposed(&view.R),
                   left =
                       tni_mat_mul(&T, &Rt); // the turn that is left, log(R_t R^T) = -log(R R_t^T)
    wrench.torque = pull(t->angular_stiffness, t->angular_damping,
                         tni_quat_log(tni_matrix_quat(&left)), tni_sub(velocity.angular, view.w));
    return wrench;
}

tn_vec3 tn_state_handle_force(const tn_state* state, int handle)
{
    if (handle < 0 || handle >= TN_HANDLES_MAX || state->outside.handles[handle].body == 0)
        return none;
    const tni_handle* held = &state->outside.handles[handle];
    const tni_view    view = tni_state_view(state, held->body);
    const tni_motion  p    = tni_point_motion(&state->model->bodies[held->body], &view, held->p);
    const tn_vec3 far = tni_add_scaled(held->position, state->time - held->time, held->velocity);
    return pull(held->stiffness, held->damping, tni_sub(far, p.at),
                tni_sub(held->velocity, p.rate));
}
