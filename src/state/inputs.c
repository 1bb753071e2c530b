// inputs: what is done to a state by somebody else, step after step: poses of targets, and handles.
//
// Both are springs whose far end somebody moves. What was said last holds until something else is
// said, and the far end moves on with the velocity that was given with it, so that between two words,
// and within a step that asks for forces several times, it runs smoothly:
//     position + (t - t0) v,     exp((t - t0) w) orientation
// All of it lies in the state: copied with it, gone when it is reset. Words that make no sense are
// refused, and nothing changes. Nothing here touches positions, velocities or the memory of a method.
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

tn_result tn_state_set_target(tn_state* state, tn_target_id target, const tn_frame* pose,
                              const tn_twist* velocity)
{
    if (target.bits == 0 || target.bits > (uint32_t)state->model->target_count) return TN_ERR_MODEL;
    tni_pushed pushed = {.time = state->time};
    if (pose != NULL) {
        if (!is_pose(pose)) return TN_ERR_MODEL;
        pushed.given            = true;
        pushed.pose.position    = pose->position;
        pushed.pose.orientation = tni_quat_normalised(pose->orientation);
    }
    if (pose != NULL && velocity != NULL) {
        if (!is_finite(velocity->linear) || !is_finite(velocity->angular)) return TN_ERR_MODEL;
        pushed.velocity = *velocity;
    }
    state->outside.targets[target.bits - 1] = pushed;
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
    const tni_view view            = tni_state_view(state, (int)id.bits);
    const tn_vec3  p               = tni_sub(point, body->com);
    state->outside.handles[handle] = (tni_handle){.body      = (int)id.bits,
                                                  .p         = p,
                                                  .stiffness = stiffness,
                                                  .damping   = damping,
                                                  .time      = state->time,
                                                  .position  = tni_point_motion(body, &view, p).at};
    return TN_OK;
}

tn_result tn_state_move(tn_state* state, int handle, tn_vec3 position, tn_vec3 velocity)
{
    if (!is_handle(handle) || state->outside.handles[handle].body == 0) return TN_ERR_MODEL;
    if (!is_finite(position) || !is_finite(velocity)) return TN_ERR_MODEL;
    tni_handle* held = &state->outside.handles[handle];
    held->time       = state->time;
    held->position   = position;
    held->velocity   = velocity;
    return TN_OK;
}

void tn_state_release(tn_state* state, int handle)
{
    if (is_handle(handle)) state->outside.handles[handle] = (tni_handle){0};
}
