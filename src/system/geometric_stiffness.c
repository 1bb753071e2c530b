// geometric_stiffness: the stiffness of joint forces against rotation of the bodies, dJ^T lambda /
// dq.
//
// The force of rows along an axis of body 1 rotates with that body; this is left out, as are
// torques: they are not what makes a chain unstable. Two points held at a distance d by a tension T
// have the stiffness T/d (I - n n^T) between them.
#include "system/geometric_stiffness.h"

#include "force/soft.h"

bool tni_holds_distance(const tni_joint* joint)
{
    return joint->type->row_count == 1 && joint->type->parts[0].op == TNI_ROW_DISTANCE;
}

tni_mat3 tni_geometric_stiffness_between(const tn_model* model, const tni_joint* joint,
                                         tni_sides sides, double lambda)
{
    const tn_vec3 a = tni_point_motion(&model->bodies[joint->body1], sides.view1, joint->p1).at,
                  b = tni_point_motion(&model->bodies[joint->body2], sides.view2, joint->p2).at,
                  D = tni_sub(b, a);
    const double d  = tni_norm(D);
    tni_mat3     K  = {{0}};
    if (!(lambda < -1e-100) || !(d > 0)) return K;
    for (int i = 0; i < 9; i += 4) K.m[i] = -lambda / d;
    tni_soft_outer(lambda / (d * d * d), D, &K);
    return K;
}

// A force on body 2, at its anchor, and the opposite one on body 1.
static void add_force(const tn_model* model, const tni_joint* joint, tni_sides sides, tn_vec3 f,
                      tni_mat3* K)
{
    const tn_vec3 at = tni_point_motion(&model->bodies[joint->body2], sides.view2, joint->p2).at;
    tni_soft_geometric(f, tni_sub(at, sides.view2->x), &K[joint->body2]);
    tni_soft_geometric(tni_neg(f), tni_sub(at, sides.view1->x), &K[joint->body1]);
}

void tni_geometric_stiffness(const tn_model* model, const tni_view* views, double time,
                             const double* z, const double* multipliers, tni_mat3* K)
{
    memset(K, 0, sizeof *K * (size_t)model->body_count);
    for (int i = 0; i < model->joint_count; ++i) {
        const tni_joint*      joint      = &model->joints[i];
        const tni_constraint* constraint = &model->constraints[joint->constraint];
        const tni_sides       sides      = tni_sides_of(joint, views);
        if (constraint->row_count == 0) continue;
        add_force(model, joint, sides,
                  tni_joint_reaction_force(model, joint, sides, time, z,
                                           multipliers + constraint->row_start),
                  K);
    }
    for (int i = 0; i < model->limit_count; ++i) {
        const tni_joint* joint = &model->joints[model->limits[i].joint];
        const double     pull  = multipliers[model->row_count + i];
        if (model->limits[i].kind != TNI_LIMIT_ROPE || !(pull > 0)) continue;
        const tni_row row = tni_limit_row(model, &model->limits[i], views, z);
        add_force(model, joint, tni_sides_of(joint, views), tni_scale(pull, row.push[1].force), K);
    }
}
