// coordinates: generalised forces in, generalised accelerations out (Baraff 1996, section 2.2).
//
// A free coordinate z is a scalar function of two bodies, its row J_z like any joint's row. So a
// force tau along it is the force J_z^T tau on the bodies, and
//     zd = J_z u,    zdd = J_z udot + gamma_z,    gamma_z = Jdot_z u
// J_z udot is the rate of z for bodies with the velocities udot and kinematic bodies at rest: their
// acceleration is zero between keys.
#include "system/coordinates.h"

#include "joint/joint.h"

// The two bodies of a joint at a configuration.
typedef struct two_views {
    tni_view view[2];
} two_views;

static two_views evaluate_bodies(const tn_model* model, const tni_joint* joint,
                                 const tni_configuration* at, const double* u)
{
    two_views two;
    tni_view_body(model, joint->body1, at->time, at->q, u, &two.view[0]);
    tni_view_body(model, joint->body2, at->time, at->q, u, &two.view[1]);
    return two;
}

static tni_row row_of(const tn_model* model, const tni_joint* joint, int k, const two_views* two,
                      const double* z)
{
    return tni_joint_coordinate(model, joint, k, (tni_sides){&two->view[0], &two->view[1]}, z);
}

void tni_coordinate_forces(const tn_model* model, const tni_configuration* at, const double* forces,
                           double* f)
{
    for (int i = 0; i < model->joint_count; ++i) {
        const tni_joint* joint = &model->joints[i];
        const two_views  two   = evaluate_bodies(model, joint, at, at->u);
        for (int k = 0; k < joint->coordinate_count; ++k) {
            const tni_row row = row_of(model, joint, k, &two, at->z);
            tni_joint_push(model, joint, (tni_sides){&two.view[0], &two.view[1]}, &row,
                           forces[joint->coordinate_start + k], f);
        }
    }
}

void tni_coordinate_accelerations(const tn_model* model, const tni_joint* joint,
                                  const tni_configuration* at, const double* udot, double* out)
{
    const two_views now       = evaluate_bodies(model, joint, at, at->u);
    two_views       then      = evaluate_bodies(model, joint, at, udot);
    const int       bodies[2] = {joint->body1, joint->body2};
    for (int side = 0; side < 2; ++side) {
        if (model->bodies[bodies[side]].dim == 0)
            then.view[side].v = then.view[side].w = tni_vec3(0, 0, 0);
    }
    for (int k = 0; k < joint->coordinate_count; ++k) {
        const double gamma = row_of(model, joint, k, &now, at->z).gamma;
        out[k]             = row_of(model, joint, k, &then, at->z).rate + gamma;
    }
}

void tni_coordinate_velocities(const tn_model* model, const tni_joint* joint,
                               const tni_configuration* at, double* out)
{
    const two_views two = evaluate_bodies(model, joint, at, at->u);
    for (int k = 0; k < joint->coordinate_count; ++k)
        out[k] = row_of(model, joint, k, &two, at->z).rate;
}
