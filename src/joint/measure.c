// measure: queries about the joints of a state. Evaluates the bodies of one joint only.
#include "joint/joint.h"

enum { USER_ROWS_MAX = 12, USER_BODIES_MAX = 8 };

static const tni_constraint* constraint_of(const tn_state* state, tn_joint_id joint)
{
    TN_ASSERT(joint.bits > 0 && (int)joint.bits <= state->model->named_count);
    return &state->model->constraints[joint.bits - 1];
}

static const tni_joint* joint_of(const tn_state* state, tn_joint_id id)
{
    const tni_constraint* constraint = constraint_of(state, id);
    return constraint->kind == TNI_CONSTRAINT_JOINT ? &state->model->joints[constraint->index]
                                                    : NULL;
}

static void rows_of(const tn_state* state, const tni_constraint* constraint, double* C,
                    double* rate)
{
    const tn_model* model = state->model;
    tni_view        views[USER_BODIES_MAX];
    if (constraint->kind == TNI_CONSTRAINT_JOINT) {
        const tni_joint* joint = &model->joints[constraint->index];
        tni_row          rows[TNI_JOINT_ROWS_MAX];
        views[0]        = tni_state_view(state, joint->body1);
        views[1]        = tni_state_view(state, joint->body2);
        const int count = tni_joint_rows(model, joint, (tni_sides){&views[0], &views[1]},
                                         state->time, state->z, rows);
        for (int i = 0; i < count; ++i) C[i] = rows[i].C, rate[i] = rows[i].rate;
        return;
    }
    const tni_user_constraint* user = &model->users[constraint->index];
    const tni_view*            of[USER_BODIES_MAX];
    for (int i = 0; i < user->body_count; ++i) {
        views[i] = tni_state_view(state, user->bodies[i]);
        of[i]    = &views[i];
    }
    tni_user_rows(model, constraint, of, state->time, &(tni_rows_out){.C = C, .rate = rate});
}

double tn_state_joint_error(const tn_state* state, tn_joint_id id)
{
    const tni_constraint* constraint = constraint_of(state, id);
    double                C[USER_ROWS_MAX], rate[USER_ROWS_MAX], error = 0;
    if (constraint->row_count == 0) { // a rope: by how much it is too long
        const tn_vec3 D =
            tni_sub(tn_state_joint_anchor(state, id, 1), tn_state_joint_anchor(state, id, 0));
        return fmax(0, tni_norm(D) - joint_of(state, id)->size);
    }
    rows_of(state, constraint, C, rate);
    for (int i = 0; i < constraint->held_count; ++i) error = fmax(error, fabs(C[i]));
    return error;
}

double tn_state_joint_velocity_error(const tn_state* state, tn_joint_id id)
{
    const tni_constraint* constraint = constraint_of(state, id);
    double                C[USER_ROWS_MAX], rate[USER_ROWS_MAX], error = 0;
    rows_of(state, constraint, C, rate);
    for (int i = 0; i < constraint->row_count; ++i) error = fmax(error, fabs(rate[i]));
    return error;
}

static void coordinates_of(const tn_state* state, tn_joint_id id, double* position,
                           double* velocity)
{
    const tni_joint* joint = joint_of(state, id);
    if (joint == NULL) return;
    const tni_view view1 = tni_state_view(state, joint->body1),
                   view2 = tni_state_view(state, joint->body2);
    for (int k = 0; k < joint->coordinate_count; ++k) {
        const tni_row row =
            tni_joint_coordinate(state->model, joint, k, (tni_sides){&view1, &view2}, state->z);
        if (position != NULL) position[k] = row.C;
        if (velocity != NULL) velocity[k] = row.rate;
    }
}

void tn_state_joint_position(const tn_state* state, tn_joint_id joint, double* position)
{
    coordinates_of(state, joint, position, NULL);
}

void tn_state_joint_velocity(const tn_state* state, tn_joint_id joint, double* velocity)
{
    coordinates_of(state, joint, NULL, velocity);
}

tn_vec3 tn_state_joint_anchor(const tn_state* state, tn_joint_id id, int side)
{
    const tni_constraint* constraint = constraint_of(state, id);
    const tni_joint*      joint      = joint_of(state, id);
    int                   body       = 0;
    tn_vec3               p          = {0, 0, 0};
    if (joint != NULL) {
        body = side == 0 ? joint->body1 : joint->body2;
        p    = side == 0 ? joint->p1 : joint->p2;
    } else {
        const tni_user_constraint* user = &state->model->users[constraint->index];
        body                            = user->bodies[side < user->body_count ? side : 0];
    }
    const tni_view view = tni_state_view(state, body);
    return tni_point_motion(&state->model->bodies[body], &view, p).at;
}
