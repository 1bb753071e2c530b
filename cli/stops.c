// stops: what the scene says of limits and ropes, held against a state. Coordinates and anchors are
// public, so all of it can be measured here:
//     lower, upper   of the joint's first coordinate
//     cone           angle between the axes, by the rotation vector r: cos = c + (1 - c) r_z^2/|r|^2
//     twist          2 atan2(q_z, q_w), q the turn by r
//     rope           distance of the anchors
#include "cli.h"

#include <math.h>

const tn_joint_def* tnc_joint_def(const tnc_job* job, tn_joint_id joint)
{
    const int index = (int)joint.bits - 1;
    return tn_scene_constraint(job->scene, index) ? NULL : tn_scene_joint(job->scene, index);
}

bool tnc_joint_is_stopped(const tnc_job* job, tn_joint_id joint)
{
    const tn_joint_def* def = tnc_joint_def(job, joint);
    return def && (def->type == TN_JOINT_ROPE || (def->limit.given && def->limit.hard));
}

static double outside(double value, double lower, double upper)
{
    return lower <= upper ? fmax(0, fmax(lower - value, value - upper)) : 0;
}

static double outside_ball(const tn_limit* limit, const double r[3])
{
    const double angle = sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]);
    const double z     = angle > 0 ? r[2] / angle : 1; // of the direction it turns about
    const double swing = cos(angle) + (1 - cos(angle)) * z * z;
    const double twist = 2 * atan2(sin(0.5 * angle) * z, cos(0.5 * angle));
    double       most  = outside(twist, limit->twist_lower, limit->twist_upper);
    if (!isnan(limit->cone)) most = fmax(most, acos(fmax(-1, fmin(1, swing))) - limit->cone);
    return most;
}

static double rope_length(const tnc_job* job, tn_joint_id joint)
{
    const tn_vec3 a = tn_state_joint_anchor(job->state, joint, 0);
    const tn_vec3 b = tn_state_joint_anchor(job->state, joint, 1);
    const double  x = b.x - a.x, y = b.y - a.y, z = b.z - a.z;
    return sqrt(x * x + y * y + z * z);
}

double tnc_joint_beyond(const tnc_job* job, tn_joint_id joint)
{
    const tn_joint_def* def = tnc_joint_def(job, joint);
    double              position[6];
    if (!def) return 0;
    if (def->type == TN_JOINT_ROPE)
        return isnan(def->length) ? 0 : fmax(0, rope_length(job, joint) - def->length);
    if (!def->limit.given || tn_model_joint_coordinates(job->model, joint) == 0) return 0;
    tn_state_joint_position(job->state, joint, position);
    if (def->type == TN_JOINT_BALL) return outside_ball(&def->limit, position);
    return outside(position[0], def->limit.lower, def->limit.upper);
}

// ---- What passes through everything --------------------------------------------------------------

bool tnc_find_unseen(const tn_scene* scene, tn_body_id* body)
{
    for (int i = 0; i < tn_scene_body_count(scene); ++i) {
        const tn_body_def* def = tn_scene_body(scene, i);
        if (def->kind != TN_BODY_AFFINE && def->kind != TN_BODY_USER) continue;
        for (int k = 0; k < def->shape_count; ++k) {
            if (!def->shapes[k].collide) continue;
            body->bits = (uint32_t)(i + 1);
            return true;
        }
    }
    return false;
}
