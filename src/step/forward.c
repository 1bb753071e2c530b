// forward: joint coordinates in, maximal coordinates inside, joint accelerations out (Baraff 1996,
// section 2.2). Each part takes O(n) for trees: placing the bodies, converting joint forces to
// forces on bodies, one evaluation, and computing joint accelerations from those of the bodies. The
// adaptive method uses joint coordinates inside, where it can (adaptive/forward.c).
#include "step/stepper.h"

#include "system/coordinates.h"

// With first-order dynamics (f = m v) an evaluation gives velocities, and so does this.
static void coordinate_rates(const tn_stepper* s, const tni_joint* joint, double* out)
{
    const tni_configuration at    = tni_configuration_of(&s->now);
    const tni_configuration drift = {at.time, at.q, s->rates, at.z};
    if (s->settings.multiplier.dynamics == TN_DYNAMICS_FIRST)
        tni_coordinate_velocities(s->model, joint, &drift, out);
    else tni_coordinate_accelerations(s->model, joint, &at, s->rates, out);
}

void tn_stepper_joint_acceleration(const tn_stepper* s, tn_joint_id id, double* acceleration)
{
    TN_ASSERT(id.bits > 0 && (int)id.bits <= s->model->named_count);
    const tni_constraint* constraint = &s->model->constraints[id.bits - 1];
    if (constraint->kind != TNI_CONSTRAINT_JOINT) return;
    coordinate_rates(s, &s->model->joints[constraint->index], acceleration);
}

static tn_result check_forces(const tn_model* model, const double* forces, tn_why* why)
{
    for (int i = 0; i < model->joint_count; ++i) {
        const tni_joint* joint = &model->joints[i];
        for (int k = 0; k < joint->coordinate_count; ++k) {
            if (isfinite(forces[joint->coordinate_start + k])) continue;
            return tni_fail(why, TN_ERR_MODEL,
                            "joint '%s': the force on its coordinate %d is not finite", joint->name,
                            k);
        }
    }
    return TN_OK;
}

tn_result tn_stepper_forward(tn_stepper* s, tn_state* state, const double* positions,
                             const double* velocities, const double* forces, double* accelerations,
                             tn_why* why)
{
    const tn_model* model  = s->model;
    tn_result       result = forces != NULL ? check_forces(model, forces, why) : TN_OK;
    if (result == TN_OK && s->adaptive != NULL && tni_has_forward(s->adaptive, state))
        return tni_forward(s->adaptive, state, positions, velocities, forces, accelerations, why);
    if (result == TN_OK) result = tn_state_set_joints(state, positions, velocities, why);
    if (result != TN_OK) return result;
    if (forces != NULL) {
        const tni_configuration at    = {state->time, state->q, state->u, state->z};
        double*                 extra = s->stage_d; // evaluations do not use it
        memset(extra, 0, sizeof(double) * (size_t)model->u_count);
        tni_coordinate_forces(model, &at, forces, extra);
        s->system->extra = extra;
    }
    result           = tn_stepper_evaluate(s, state, NULL, why);
    s->system->extra = NULL;
    for (int i = 0; result == TN_OK && i < model->joint_count; ++i)
        coordinate_rates(s, &model->joints[i], accelerations + model->joints[i].coordinate_start);
    return result;
}
