// hard_limit: hard limits of a joint's motion, each as a row: C >= 0 is the distance to the limit.
//
//     LOWER, UPPER   +-(z - end)                  z the joint's first coordinate
//     CONE           (z1.z2 - cos end)/sin end    z1, z2 the axes; beta the angle between them
//     TWIST          +-(tau - end)                tau = 2 atan2(q_z, q_w), q from frame 1 to 2
//     ROPE           length - |D|                 D from anchor to anchor
//
// The cone's row is end - beta to first order at the limit, so it is in radians where it counts,
// and its sign is right everywhere. A product of axes is smooth also where the axes agree; beta is
// not. Rounding is divided by sin end: the scene keeps hard cones away from 0 and pi.
//
// Twist: what is left of the rotation about z when the swing from z1 to z2 is removed. Its rate is
//     w.(w2 - w1),   w = (z1 + z2)/(1 + z1.z2)
// so gamma = wdot.(w2 - w1), with the rates of z1 and z2 in wdot. It jumps at +-pi, hence hard
// twists stay within +-3, and it has no direction where z1 = -z2: there the row has no force. The
// same holds for a rope of zero distance.
#include "joint/joint.h"

#include "math/elementary.h"

static const double length_min   = 1e-12; // anchors closer than this have no direction [m]
static const double opposite_max = 1e-9;  // 1 + z1.z2 of axes that are opposite

static tni_row empty_row(double C)
{
    return (tni_row){.C = C};
}

static tni_row reversed(tni_row row)
{
    row.C = -row.C, row.rate = -row.rate, row.gamma = -row.gamma;
    for (int side = 0; side < 2; ++side) {
        tni_push* push = &row.push[side];
        push->force    = tni_neg(push->force);
        push->torque   = tni_neg(push->torque);
        for (int k = 0; k < 3; ++k) {
            if (push->on_axis[k]) push->axis[k] = tni_neg(push->axis[k]);
        }
    }
    return row;
}

// A joint's z axes and relative angular velocity.
typedef struct axes {
    tni_motion z1, z2;
    tn_vec3    turn; ///< w2 - w1
} axes;

static axes axes_of(const tn_model* model, const tni_joint* joint, tni_sides sides)
{
    const tn_vec3 z1 = tni_column(&joint->F1, 2), z2 = tni_column(&joint->F2, 2);
    return (axes){tni_axis_motion(&model->bodies[joint->body1], sides.view1, z1),
                  tni_axis_motion(&model->bodies[joint->body2], sides.view2, z2),
                  tni_sub(sides.view2->w, sides.view1->w)};
}

static tni_row cone_row(const axes* a, double end)
{
    double s, c;
    tni_sincos(end, &s, &c);
    tni_row row = empty_row((tni_dot(a->z1.at, a->z2.at) - c) / s);
    row.rate    = (tni_dot(a->z1.rate, a->z2.at) + tni_dot(a->z1.at, a->z2.rate)) / s;
    row.gamma   = (tni_dot(a->z1.bias, a->z2.at) + 2 * tni_dot(a->z1.rate, a->z2.rate) +
                 tni_dot(a->z1.at, a->z2.bias)) /
                s;
    row.push[0].on_axis[2] = row.push[1].on_axis[2] = true;
    row.push[0].axis[2]                             = tni_scale(1 / s, a->z2.at);
    row.push[1].axis[2]                             = tni_scale(1 / s, a->z1.at);
    return row;
}

static double twist_of(const tni_joint* joint, tni_sides sides)
{
    const tni_mat3 A  = tni_mat_mul(&sides.view1->R, &joint->F1),
                   B  = tni_mat_mul(&sides.view2->R, &joint->F2);
    const tni_mat3 At = tni_transposed(&A), relative = tni_mat_mul(&At, &B);
    const tn_quat  q = tni_matrix_quat(&relative);
    return q.w < 0 ? 2 * tni_atan2(-q.z, -q.w) : 2 * tni_atan2(q.z, q.w);
}

static tni_row twist_row(const axes* a, double twist, double end)
{
    tni_row      row = empty_row(twist - end);
    const double n   = 1 + tni_dot(a->z1.at, a->z2.at);
    if (!(n > opposite_max)) return row;
    const double  n_rate = tni_dot(a->z1.rate, a->z2.at) + tni_dot(a->z1.at, a->z2.rate);
    const tn_vec3 w      = tni_scale(1 / n, tni_add(a->z1.at, a->z2.at));
    const tn_vec3 w_rate =
        tni_scale(1 / n, tni_add_scaled(tni_add(a->z1.rate, a->z2.rate), -n_rate, w));
    row.rate           = tni_dot(w, a->turn);
    row.gamma          = tni_dot(w_rate, a->turn);
    row.push[1].torque = w;
    row.push[0].torque = tni_neg(w);
    return row;
}

static tni_row rope_row(const tn_model* model, const tni_joint* joint, tni_sides sides,
                        double length)
{
    const tni_motion p1 = tni_point_motion(&model->bodies[joint->body1], sides.view1, joint->p1),
                     p2 = tni_point_motion(&model->bodies[joint->body2], sides.view2, joint->p2);
    const tn_vec3 D = tni_sub(p2.at, p1.at), D_rate = tni_sub(p2.rate, p1.rate),
                  D_bias = tni_sub(p2.bias, p1.bias);
    const double d       = tni_norm(D);
    tni_row      row     = empty_row(length - d);
    if (!(d > length_min)) return row;
    const tn_vec3 n   = tni_scale(1 / d, D);
    row.rate          = -tni_dot(n, D_rate);
    row.gamma         = -(tni_dot(n, D_bias) + (tni_dot(D_rate, D_rate) - row.rate * row.rate) / d);
    row.push[1].force = tni_neg(n);
    row.push[0].force = n;
    return row;
}

tni_row tni_limit_row(const tn_model* model, const tni_limit* limit, const tni_view* views,
                      const double* z)
{
    const tni_joint* joint = &model->joints[limit->joint];
    const tni_sides  sides = tni_sides_of(joint, views);
    if (limit->kind == TNI_LIMIT_ROPE) return rope_row(model, joint, sides, limit->end);
    if (limit->kind == TNI_LIMIT_LOWER || limit->kind == TNI_LIMIT_UPPER) {
        tni_row row = tni_joint_coordinate(model, joint, 0, sides, z);
        row.C -= limit->end;
        return limit->kind == TNI_LIMIT_LOWER ? row : reversed(row);
    }
    const axes a = axes_of(model, joint, sides);
    if (limit->kind == TNI_LIMIT_CONE) return cone_row(&a, limit->end);
    const tni_row row = twist_row(&a, twist_of(joint, sides), limit->end);
    return limit->kind == TNI_LIMIT_TWIST_LOWER ? row : reversed(row);
}
