// actuation: springs, dampers, limits and constant forces on the free coordinates of joints.
//
//     tau = force - stiffness (z - rest) - damping zdot
// For angles the torque is along the gradient of the angle. A rotation vector is at rest in an
// attitude, and the spring pulls along the vector of the turn that is left, theta = log(exp(z)
// exp(-rest)): -k theta is the gradient of k |theta|^2/2, which -k (z - rest) is of nothing. A
// constant torque on it stores no energy. Limits push back only: beyond an end e,  k |z - e| - d *
// outward speed,  never less than zero; hard ones are no forces (joint/limit.c). Ball limits.
// Swing: the angle beta between the z axes against the cone's half angle, about n = z1 x z2/|.|.
// Twist: the angle tau of the turn about z that is left when the swing is taken off, 2 atan2(q_z,
// q_w) of the relative quaternion; its gradient is (z1 + z2)/(1 + z1.z2).
#include "force/force.h"

#include "math/elementary.h"

// The push of a one-sided end `beyond` (> 0: outside) that moves outward at `rate`.
static double stop_force(const tn_limit* limit, double beyond, double rate)
{
    return beyond > 0 ? fmax(0, limit->stiffness * beyond + limit->damping * rate) : 0;
}

static double stop_energy(const tn_limit* limit, double beyond)
{
    return beyond > 0 ? 0.5 * limit->stiffness * beyond * beyond : 0;
}

static double limited(const tn_limit* limit, double lower, double upper, double z, double rate)
{
    if (lower > upper) return 0;
    return stop_force(limit, lower - z, -rate) - stop_force(limit, z - upper, rate);
}

static double limited_energy(const tn_limit* limit, double lower, double upper, double z)
{
    return lower > upper ? 0 : stop_energy(limit, lower - z) + stop_energy(limit, z - upper);
}

// Swing and twist of frame 2 in frame 1, with the directions that they grow in.
typedef struct swing_twist {
    double  swing, twist;
    tn_vec3 swing_axis, twist_axis;
} swing_twist;

static swing_twist swing_twist_of(const tni_joint* joint, tni_sides sides)
{
    const tni_mat3 A  = tni_mat_mul(&sides.view1->R, &joint->F1),
                   B  = tni_mat_mul(&sides.view2->R, &joint->F2);
    const tni_mat3 At = tni_transposed(&A), relative = tni_mat_mul(&At, &B);
    const tn_quat  q  = tni_matrix_quat(&relative);
    const tn_vec3  z1 = tni_column(&A, 2), z2 = tni_column(&B, 2), across = tni_cross(z1, z2);
    const double   s = tni_norm(across), c = tni_dot(z1, z2);
    swing_twist    st = {.swing = tni_atan2(s, c), .twist = 2 * tni_atan2(q.z, q.w)};
    if (s > 1e-12) st.swing_axis = tni_scale(1 / s, across);
    if (1 + c > 1e-9) st.twist_axis = tni_scale(1 / (1 + c), tni_add(z1, z2));
    return st;
}

static bool has_soft_limit(const tn_limit* limit)
{
    return limit->given && !limit->hard;
}

static bool has_ball_limit(const tni_joint* joint, const tn_limit* limit)
{
    return has_soft_limit(limit) && joint->coordinate_count > 0 &&
           joint->type->coordinates[0] == TNI_COORDINATE_ROTATION_X;
}

static void add_ball_limit(const tn_model* model, const tni_joint* joint, tni_sides sides,
                           const tn_limit* limit, double* f)
{
    const swing_twist st     = swing_twist_of(joint, sides);
    const tn_vec3     turn   = tni_sub(sides.view2->w, sides.view1->w);
    tni_row           row    = {0};
    tn_vec3           torque = {0, 0, 0};
    if (!isnan(limit->cone)) {
        torque = tni_scale(-stop_force(limit, st.swing - limit->cone, tni_dot(turn, st.swing_axis)),
                           st.swing_axis);
    }
    const double twist = limited(limit, limit->twist_lower, limit->twist_upper, st.twist,
                                 tni_dot(turn, st.twist_axis));
    row.push[1].torque = tni_add_scaled(torque, twist, st.twist_axis);
    row.push[0].torque = tni_neg(row.push[1].torque);
    tni_joint_push(model, joint, sides, &row, 1, f);
}

static bool is_rotation(const tni_joint* joint, int k)
{
    return joint->type->coordinates[k] >= TNI_COORDINATE_ROTATION_X;
}

// How far the coordinates are from rest.
static void stretches(const tni_joint* joint, const tni_actuation* a, const tni_row* rows,
                      double* stretch)
{
    for (int k = 0; k < joint->coordinate_count; ++k) {
        stretch[k] = rows[k].C - a->rest[k];
        if (joint->type->coordinates[k] != TNI_COORDINATE_ROTATION_Z) continue;
        const tn_vec3 z    = {rows[k - 2].C, rows[k - 1].C, rows[k].C};
        const tn_quat back = tni_quat_exp(tni_neg(tni_read3(a->rest + k - 2)));
        tni_write3(stretch + k - 2, tni_quat_log(tni_quat_mul(tni_quat_exp(z), back)));
    }
}

static void coordinates_of(const tni_scene_view* at, const tni_joint* joint, tni_sides sides,
                           tni_row* rows)
{
    for (int k = 0; k < joint->coordinate_count; ++k)
        rows[k] = tni_joint_coordinate(at->model, joint, k, sides, at->z);
}

static void add(const tni_scene_view* at, double* f)
{
    for (int i = 0; i < at->model->actuation_count; ++i) {
        const tni_actuation* a     = &at->model->actuations[i];
        const tni_joint*     joint = &at->model->joints[a->joint];
        const tni_sides      sides = tni_sides_of(joint, at->views);
        tni_row              rows[TNI_COORDINATES_MAX];
        double               stretch[TNI_COORDINATES_MAX];
        coordinates_of(at, joint, sides, rows);
        stretches(joint, a, rows, stretch);
        for (int k = 0; k < joint->coordinate_count; ++k) {
            double tau = a->force[k] - a->stiffness * stretch[k] - a->damping * rows[k].rate;
            if (k == 0 && has_soft_limit(&a->limit) && !is_rotation(joint, k)) {
                tau += limited(&a->limit, a->limit.lower, a->limit.upper, rows[k].C, rows[k].rate);
            }
            if (tau != 0) tni_joint_push(at->model, joint, sides, &rows[k], tau, f);
        }
        if (has_ball_limit(joint, &a->limit)) add_ball_limit(at->model, joint, sides, &a->limit, f);
    }
}

static double energy(const tni_scene_view* at)
{
    double sum = 0;
    for (int i = 0; i < at->model->actuation_count; ++i) {
        const tni_actuation* a     = &at->model->actuations[i];
        const tni_joint*     joint = &at->model->joints[a->joint];
        tni_view             scratch[2];
        const tni_sides      sides = {tni_look(at, joint->body1, &scratch[0]),
                                      tni_look(at, joint->body2, &scratch[1])};
        tni_row              rows[TNI_COORDINATES_MAX];
        double               stretch[TNI_COORDINATES_MAX];
        coordinates_of(at, joint, sides, rows);
        stretches(joint, a, rows, stretch);
        for (int k = 0; k < joint->coordinate_count; ++k) {
            sum += 0.5 * a->stiffness * stretch[k] * stretch[k];
            if (!is_rotation(joint, k)) sum -= a->force[k] * rows[k].C;
            if (k == 0 && has_soft_limit(&a->limit) && !is_rotation(joint, k)) {
                sum += limited_energy(&a->limit, a->limit.lower, a->limit.upper, rows[k].C);
            }
        }
        if (!has_ball_limit(joint, &a->limit)) continue;
        const swing_twist st = swing_twist_of(joint, sides);
        if (!isnan(a->limit.cone)) sum += stop_energy(&a->limit, st.swing - a->limit.cone);
        sum += limited_energy(&a->limit, a->limit.twist_lower, a->limit.twist_upper, st.twist);
    }
    return sum;
}

const tni_force tni_force_actuation = {.add = add, .energy = energy};
