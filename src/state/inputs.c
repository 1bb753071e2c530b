// inputs: what the user sets from outside, step after step: poses of targets, and handles.
//
// Both are springs whose far end the user moves. An input holds until the next one, and the far end
// moves on with the velocity given with it, so that it is smooth between inputs and within a step
// that evaluates forces several times:
//     position + (t - t0) v,     exp((t - t0) w) orientation
// Inputs are part of the state: copied with it, gone when it is reset. Invalid inputs are refused
// and change nothing. Inputs touch neither positions, velocities nor the history of a method.
#include "state/state.h"

static bool is_finite(tn_vec3 a)
{
    return isfinite(a.x) && isfinite(a.y) && isfinite(a.z);
}

static bool is_pose(const tn_frame* pose)
{
    const tn_quat o    = pose->orientation;
    const double  norm = sqrt(o.w * o.w + o.x * o.x + o.y * o.y + o.z * o.z);
    return is_finite(pose->position) && norm > 1e-9 && isfinite(norm);
}

tn_result tn_state_set_target(tn_state* state, int target, const tn_frame* pose,
                              const tn_twist* velocity)
{
    if (target < 0 || target >= state->model->target_count) return TN_ERR_MODEL;
    tni_target_pose target_pose = {.time = state->time};
    if (pose != NULL) {
        if (!is_pose(pose)) return TN_ERR_MODEL;
        target_pose.given            = true;
        target_pose.pose.position    = pose->position;
        target_pose.pose.orientation = tni_quat_normalised(pose->orientation);
    }
    if (pose != NULL && velocity != NULL) {
        if (!is_finite(velocity->linear) || !is_finite(velocity->angular)) return TN_ERR_MODEL;
        target_pose.velocity = *velocity;
    }
    state->inputs.targets[target] = target_pose;
    return TN_OK;
}

static bool is_handle(int handle)
{
    return handle >= 0 && handle < TN_HANDLES_MAX;
}

tn_result tn_state_grab(tn_state* state, int handle, tn_body_id id, tn_vec3 point, double stiffness,
                        double damping)
{
    if (!is_handle(handle) || id.bits >= (uint32_t)state->model->body_count) return TN_ERR_MODEL;
    const tni_body* body = &state->model->bodies[id.bits];
    if (body->dim == 0 || !is_finite(point)) return TN_ERR_MODEL;
    if (!(stiffness >= 0 && damping >= 0 && isfinite(stiffness) && isfinite(damping)))
        return TN_ERR_MODEL;
    const tni_view view           = tni_state_view(state, (int)id.bits);
    const tn_vec3  p              = tni_sub(point, body->com);
    state->inputs.handles[handle] = (tni_handle){.body      = (int)id.bits,
                                                 .p         = p,
                                                 .stiffness = stiffness,
                                                 .damping   = damping,
                                                 .time      = state->time,
                                                 .position  = tni_point_motion(body, &view, p).at};
    return TN_OK;
}

tn_result tn_state_move(tn_state* state, int handle, tn_vec3 position, tn_vec3 velocity)
{
    if (!is_handle(handle) || state->inputs.handles[handle].body == 0) return TN_ERR_MODEL;
    if (!is_finite(position) || !is_finite(velocity)) return TN_ERR_MODEL;
    tni_handle* held = &state->inputs.handles[handle];
    held->time       = state->time;
    held->position   = position;
    held->velocity   = velocity;
    return TN_OK;
}

void tn_state_release(tn_state* state, int handle)
{
    if (is_handle(handle)) state->inputs.handles[handle] = (tni_handle){0};
}
