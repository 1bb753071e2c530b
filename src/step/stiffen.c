// stiffen: the tension in light bodies under heavy load.
//
// A joint force f on a body at the arm r turns with neither, so its torque r x f resists turning
// when the joint pulls: the geometric stiffness
//
//     K = sum over the body's joints of (f.r) 1 - (f r^T + r f^T) / 2
//
// Rods of 1 kg that carry 7.5 t are stiff in this sense: an explicit step diverges where h^2 k > 4
// for a mode k of K against what has to move with it. Hence modes of a body with h^2 k > 2 are
// taken implicitly, the others not at all, so that what needs no damping gets none:
//
//     K v = k I v,   v^T I v = 1,   K' = sum over stiff v of k (I v)(I v)^T
//
// I is the body's own inertia; the mode is stiff when h^2 k (I v)^T W (I v) > 2, W being the turning
// by a torque with all joints in place. (A single rod that hangs between the ground and 7.5 t is
// not: it moves with its load. Judged by its own inertia alone it would be damped for nothing, and
// loses a tenth of the energy in 2 s at h = 10 ms.) h^2 K' is added to the body's inertia in the
// kick (impulse.c). Forces are those of the step's start, by the solve that predicts its
// velocities. Only bodies that could be concerned, by a bound from their multipliers, cost more
// than a few flops.
#include "step/stepper.h"

static const double threshold = 2; // h^2 k

void tni_stiffen_prepare(tn_stepper* s)
{
    for (int i = 0; i < s->model->body_count; ++i) {
        const tni_body* body        = &s->model->bodies[i];
        s->impulse.inertia_least[i] = body->kind == TN_BODY_RIGID && body->node >= 0
                                          ? tni_symmetric_eigen(&body->inertia, NULL).x
                                          : HUGE_VAL;
    }
}

// An upper bound of h^2 times the largest eigenvalue of K, by body. Returns whether any may pass.
// The answer's mu are impulses over h / 2.
static bool bound_loads(tn_stepper* s, double h, double* load)
{
    const tn_model* model = s->model;
    bool            any   = false;
    for (int i = 0; i < model->body_count; ++i) load[i] = 0;
    for (int i = 0; i < model->joint_count; ++i) {
        const tni_joint*      joint      = &model->joints[i];
        const tni_constraint* constraint = &model->constraints[joint->constraint];
        const double*         mu  = s->system->answer + model->u_count + constraint->row_start;
        double                sum = 0;
        for (int k = 0; k < constraint->row_count; ++k) sum += fabs(mu[k]);
        load[joint->body1] += 2 * h * sum * tni_norm(joint->p1);
        load[joint->body2] += 2 * h * sum * tni_norm(joint->p2);
    }
    for (int i = 0; i < model->body_count; ++i)
        any = any || load[i] > threshold * s->impulse.inertia_least[i];
    return any;
}

static void add_joint(tni_mat3* K, tn_vec3 f, tn_vec3 r)
{
    const double a[3] = {f.x, f.y, f.z}, b[3] = {r.x, r.y, r.z}, fr = tni_dot(f, r);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            K->m[3 * i + j] += (i == j ? fr : 0) - 0.5 * (a[i] * b[j] + b[i] * a[j]);
}

// K <- its part that is too stiff. Returns whether there is any.
static bool keep_stiff(tn_stepper* s, int body, tni_mat3* K)
{
    const tni_mat3 I =
        tni_rotate_symmetric(&s->system->views[body].R, &s->model->bodies[body].inertia);
    tni_mat3 V;
    // I^(1/2) and its inverse make an ordinary eigenproblem of it.
    const tn_vec3  moments = tni_symmetric_eigen(&I, &V);
    const tni_mat3 root = {{sqrt(moments.x), 0, 0, 0, sqrt(moments.y), 0, 0, 0, sqrt(moments.z)}},
                   inverse = {{1 / root.m[0], 0, 0, 0, 1 / root.m[4], 0, 0, 0, 1 / root.m[8]}};
    const tni_mat3 half    = tni_rotate_symmetric(&V, &root),
                   over = tni_rotate_symmetric(&V, &inverse), B = tni_rotate_symmetric(&over, K);
    const tn_vec3 k = tni_symmetric_eigen(&B, &V);
    tn_vec3       torques[3], turning[3];
    double        size[3];
    int           count = 0;
    bool          any   = false;
    for (int n = 0; n < 3; ++n) {
        if (!(tni_at(k, n) > threshold)) continue;
        size[count]      = tni_at(k, n);
        torques[count++] = tni_mul(&half, tni_column(&V, n));
    }
    *K = (tni_mat3){{0}};
    if (count == 0) return false;
    tni_system_turning(s->system, body, count, torques, turning, s->impulse.response);
    for (int n = 0; n < count; ++n) {
        const double own = size[n] * tni_dot(torques[n], turning[n]);
        if (!(own > threshold || s->impulse.careful)) continue;
        const double a[3] = {torques[n].x, torques[n].y, torques[n].z};
        for (int i = 0; i < 9; ++i) K->m[i] += size[n] * a[i / 3] * a[i % 3];
        any = true;
    }
    return any;
}

// The system is looked at and solved at s->now.
int tni_stiffen(tn_stepper* s, double h)
{
    const tn_model* model = s->model;
    tni_mat3*       K     = s->impulse.stiffness;
    int             count = 0;
    if (!bound_loads(s, h, s->impulse.load)) return 0;
    memset(K, 0, sizeof *K * (size_t)model->body_count);
    const tni_place at = tni_place_of(&s->now);
    tni_system_reactions(s->system, &at, s->reactions);
    for (int i = 0; i < model->joint_count; ++i) {
        const tni_joint* joint = &model->joints[i];
        const tn_vec3    f     = tni_scale(2 * h, s->reactions[joint->constraint].force);
        const tni_view * one   = &s->system->views[joint->body1],
                       *two    = &s->system->views[joint->body2];
        add_joint(&K[joint->body1], tni_neg(f), tni_mul(&one->R, joint->p1));
        add_joint(&K[joint->body2], f, tni_mul(&two->R, joint->p2));
    }
    for (int i = 0; i < model->body_count; ++i) {
        const bool may = s->impulse.load[i] > threshold * s->impulse.inertia_least[i];
        if (may) count += keep_stiff(s, i, &K[i]);
        else K[i] = (tni_mat3){{0}};
    }
    return count;
}
