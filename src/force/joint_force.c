// joint_force: springs, dampers, limits, friction and constant forces on the free coordinates of
// joints.
//
//     tau = force - stiffness (z - rest) - damping zdot - friction zdot/sqrt(zdot^2 + s^2)
// For angles the torque is along the gradient of the angle. A rotation vector has an orientation as
// rest position, and the spring acts along the vector of the remaining rotation, theta = log(exp(z)
// exp(-rest)): -k theta is the gradient of k |theta|^2/2, while -k (z - rest) is no gradient. A
// constant torque on it stores no energy. Friction treats its three components as one vector.
// Limits push back only: beyond a limit e,  k |z - e| - d * outward speed,  never less than zero;
// hard ones are no forces (joint/hard_limit.c). Limits of balls. Swing: the angle beta between the
// z axes against the cone's half angle, about n = z1 x z2/|.|. Twist: the angle tau of the rotation
// about z that is left when the swing is removed, 2 atan2(q_z, q_w) of the relative quaternion; its
// gradient is (z1 + z2)/(1 + z1.z2).
//
// Softened, along all free coordinates: K = k S with S = 1, sym(Jl^-1(theta)) for rotation vectors;
// D = d; each active one-sided limit along n:  k n n^T, d n n^T.  Active: at the predicted end, e =
// e0 + h edot, it is exceeded and pushes inward. Evaluating again with the velocities that result
// is Newton's method on a piecewise linear function. Friction by its secant, D =
// friction/sqrt(zdot^2 + s^2): it brakes at any step size and never reverses. The tangent s^2
// friction/(zdot^2 + s^2)^(3/2) is next to nothing when sliding, and would leave a constant force
// that does reverse.
#include "force/joint_force.h"

#include "force/soft.h"
#include "math/elementary.h"

// Force of a one-sided limit that is exceeded by `beyond` (> 0), with the outward speed `rate`.
static double one_sided_force(const tn_limit* limit, double beyond, double rate)
{
    return beyond > 0 ? fmax(0, limit->stiffness * beyond + limit->damping * rate) : 0;
}

static double one_sided_energy(const tn_limit* limit, double beyond)
{
    return beyond > 0 ? 0.5 * limit->stiffness * beyond * beyond : 0;
}

double tni_limit_force(const tn_limit* limit, double lower, double upper, double z, double rate)
{
    if (lower > upper) return 0;
    return one_sided_force(limit, lower - z, -rate) - one_sided_force(limit, z - upper, rate);
}

static double limited_energy(const tn_limit* limit, double lower, double upper, double z)
{
    return lower > upper ? 0
                         : one_sided_energy(limit, lower - z) + one_sided_energy(limit, z - upper);
}

tni_swing_twist tni_swing_twist_of(const tni_joint* joint, tni_sides sides)
{
    const tni_mat3 A   = tni_mat_mul(&sides.view1->R, &joint->F1),
                   B   = tni_mat_mul(&sides.view2->R, &joint->F2);
    const tni_mat3  At = tni_transposed(&A), relative = tni_mat_mul(&At, &B);
    const tn_quat   q  = tni_matrix_quat(&relative);
    const tn_vec3   z1 = tni_column(&A, 2), z2 = tni_column(&B, 2), across = tni_cross(z1, z2);
    const double    s = tni_norm(across), c = tni_dot(z1, z2);
    tni_swing_twist st = {.swing = tni_atan2(s, c), .twist = 2 * tni_atan2(q.z, q.w)};
    if (s > 1e-12) st.swing_axis = tni_scale(1 / s, across);
    if (1 + c > 1e-9) st.twist_axis = tni_scale(1 / (1 + c), tni_add(z1, z2));
    return st;
}

void tni_ball_limit(const tni_joint* joint, tni_sides sides, const tn_limit* limit, double* push)
{
    const tni_swing_twist st   = tni_swing_twist_of(joint, sides);
    const tn_vec3         turn = tni_sub(sides.view2->w, sides.view1->w);
    push[0]                    = 0;
    if (!isnan(limit->cone))
        push[0] = -one_sided_force(limit, st.swing - limit->cone, tni_dot(turn, st.swing_axis));
    push[1] = tni_limit_force(limit, limit->twist_lower, limit->twist_upper, st.twist,
                              tni_dot(turn, st.twist_axis));
}

static void add_ball_limit(const tn_model* model, const tni_joint* joint, tni_sides sides,
                           const tn_limit* limit, double* f)
{
    const tni_swing_twist st  = tni_swing_twist_of(joint, sides);
    tni_row               row = {0};
    double                push[2];
    tni_ball_limit(joint, sides, limit, push);
    row.push[1].torque = tni_add_scaled(tni_scale(push[0], st.swing_axis), push[1], st.twist_axis);
    row.push[0].torque = tni_neg(row.push[1].torque);
    tni_joint_push(model, joint, sides, &row, 1, f);
}

// Distances of the coordinates from the rest position.
static void set_stretches(const tni_joint* joint, const tni_joint_force* a, const tni_row* rows,
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

void tni_actuated_coordinates(const tni_scene_view* at, const tni_joint_force* a, tni_sides sides,
                              tni_row* rows, double* stretch)
{
    const tni_joint* joint = &at->model->joints[a->joint];
    tni_joint_coordinates(at->model, joint, sides, at->z, rows);
    set_stretches(joint, a, rows, stretch);
}

double tni_friction_secant(const tni_joint* joint, const tni_joint_force* a, const double* rate,
                           int k)
{
    double speed2 = rate[k] * rate[k];
    if (tni_is_rotation(joint, k)) {
        const int x = k + TNI_COORDINATE_ROTATION_X - joint->type->coordinates[k];
        speed2      = tni_dot(tni_read3(rate + x), tni_read3(rate + x));
    }
    const double size = sqrt(speed2 + a->friction_speed * a->friction_speed);
    return a->friction > 0 && size > 0 ? a->friction / size : 0;
}

// Response of a coordinate to its own unit force, with the joint's two bodies free.
static double response(const tni_scene_view* at, const tni_joint* joint, tni_sides sides,
                       const tni_row* row)
{
    const int       bodies[2] = {joint->body1, joint->body2};
    const tni_view* views[2]  = {sides.view1, sides.view2};
    double          sum       = 0;
    for (int i = 0; i < 2; ++i) {
        const tni_body* body = &at->model->bodies[bodies[i]];
        double          J[TNI_DIM_MAX];
        if (body->kind != TN_BODY_RIGID) continue;
        tni_push_row(body, views[i], i == 0 ? joint->p1 : joint->p2,
                     i == 0 ? &joint->F1 : &joint->F2, &row->push[i], J);
        const tn_vec3 f = tni_read3(J), t = tni_mul_t(&views[i]->R, tni_read3(J + 3));
        sum += tni_dot(f, f) / body->mass + tni_dot(t, tni_solve3(&body->inertia, t));
    }
    return sum;
}

static void note_cut(tni_cut_damper* cut, double share, int joint)
{
    if (cut != NULL && share > cut->share) *cut = (tni_cut_damper){share, joint};
}

// Clamps explicit damping: if it removes more than twice the velocity within a step, it adds
// energy. Friction that is clamped still stops what it rubs on: that is not noted.
static double clamped_damping(const tni_scene_view* at, const tni_joint_force* a, tni_sides sides,
                              const tni_row* row, double damping)
{
    static const double share = 1.25; // two dampers on a body are common
    if (!(at->within > 0 && damping > 0)) return damping;
    const tni_joint* joint = &at->model->joints[a->joint];
    const double     most  = 1 / (share * at->within * response(at, joint, sides, row));
    if (most < a->damping) note_cut(at->cut, 1 - most / a->damping, a->joint);
    return damping > most ? most : damping; // so written, an infinite bound is no bound
}

static void add_coordinates(const tni_scene_view* at, const tni_joint_force* a, tni_sides sides,
                            double* f)
{
    const tni_joint* joint = &at->model->joints[a->joint];
    tni_row          rows[TNI_COORDINATES_MAX];
    double           stretch[TNI_COORDINATES_MAX], rate[TNI_COORDINATES_MAX];
    tni_actuated_coordinates(at, a, sides, rows, stretch);
    for (int k = 0; k < joint->coordinate_count; ++k) rate[k] = rows[k].rate;
    for (int k = 0; k < joint->coordinate_count; ++k) {
        double tau = a->force[k] - a->stiffness * stretch[k], damping = a->damping;
        if (a->friction > 0 && !at->bounded) damping += tni_friction_secant(joint, a, rate, k);
        if (damping > 0) tau -= clamped_damping(at, a, sides, &rows[k], damping) * rate[k];
        if (k == 0 && tni_has_soft_limit(&a->limit) && !tni_is_rotation(joint, k))
            tau += tni_limit_force(&a->limit, a->limit.lower, a->limit.upper, rows[k].C, rate[k]);
        if (a->cut_off && at->bounded) tau = fmin(fmax(tau, a->force_low), a->force_high);
        if (tau != 0) tni_joint_push(at->model, joint, sides, &rows[k], tau, f);
    }
}

static void add(const tni_scene_view* at, double* f)
{
    for (int i = 0; i < at->model->actuation_count; ++i) {
        const tni_joint_force* a     = &at->model->actuations[i];
        const tni_joint*       joint = &at->model->joints[a->joint];
        const tni_sides        sides = tni_sides_of(joint, at->views);
        add_coordinates(at, a, sides, f);
        if (tni_has_ball_limit(joint, &a->limit))
            add_ball_limit(at->model, joint, sides, &a->limit, f);
    }
}

// Of a spring that is cut off, beside a constant force: beyond the stretch `end` its force grows no more.
static double cut_energy(const tni_joint_force* a, double stretch, double z)
{
    const double tau   = a->force[0] - a->stiffness * stretch,
                 bound = fmin(fmax(tau, a->force_low), a->force_high);
    if (a->stiffness == 0) return (a->force[0] - bound) * z;
    const double end = tau == bound ? stretch : (a->force[0] - bound) / a->stiffness;
    return a->stiffness * end * (stretch - 0.5 * end);
}

static double energy(const tni_scene_view* at)
{
    double sum = 0;
    for (int i = 0; i < at->model->actuation_count; ++i) {
        const tni_joint_force* a     = &at->model->actuations[i];
        const tni_joint*       joint = &at->model->joints[a->joint];
        tni_view               scratch[2];
        const tni_sides        sides = {tni_view_of(at, joint->body1, &scratch[0]),
                                        tni_view_of(at, joint->body2, &scratch[1])};
        tni_row                rows[TNI_COORDINATES_MAX];
        double                 stretch[TNI_COORDINATES_MAX];
        tni_actuated_coordinates(at, a, sides, rows, stretch);
        for (int k = 0; k < joint->coordinate_count; ++k) {
            sum += a->cut_off ? cut_energy(a, stretch[k], rows[k].C)
                              : 0.5 * a->stiffness * stretch[k] * stretch[k];
            if (!tni_is_rotation(joint, k)) sum -= a->force[k] * rows[k].C;
            if (k == 0 && tni_has_soft_limit(&a->limit) && !tni_is_rotation(joint, k)) {
                sum += limited_energy(&a->limit, a->limit.lower, a->limit.upper, rows[k].C);
            }
        }
        if (!tni_has_ball_limit(joint, &a->limit)) continue;
        const tni_swing_twist st = tni_swing_twist_of(joint, sides);
        if (!isnan(a->limit.cone)) sum += one_sided_energy(&a->limit, st.swing - a->limit.cone);
        sum += limited_energy(&a->limit, a->limit.twist_lower, a->limit.twist_upper, st.twist);
    }
    return sum;
}

// ---- Softened -----------------------------------------------------------------------------------

// Predicted motion of the coordinates.
typedef struct predicted_motion {
    double d[TNI_COORDINATES_MAX], rate[TNI_COORDINATES_MAX]; ///< displacement until the end of the
                                                              ///< step, and mean rate
    double known_d[TNI_COORDINATES_MAX],
        known_rate[TNI_COORDINATES_MAX]; ///< the part of these that comes from the prescribed
                                         ///< motion of kinematic bodies
    double h;
} predicted_motion;

// Fills J of the movable sides, and predicts the motion along the rows from both sides.
static void predict_motion(const tni_scene_view* at, const tni_prediction* predicted,
                           const tni_joint* joint, const tni_row* rows, tni_soft* soft,
                           predicted_motion* motion)
{
    const tn_vec3   p[2] = {joint->p1, joint->p2};
    const tni_mat3* F[2] = {&joint->F1, &joint->F2};
    *motion              = (predicted_motion){.h = predicted->h};
    for (int side = 0; side < 2; ++side) {
        const int             index = soft->body[side];
        const tni_body*       body  = &at->model->bodies[index];
        tni_prescribed_motion prescribed;
        double                own[6];
        const double* u = body->dim > 0 ? tni_predicted_velocity(at, predicted, index) : NULL;
        if (u == NULL && !tni_prescribed_motion_of(at, predicted, index, &prescribed)) continue;
        for (int k = 0; k < soft->row_count; ++k) {
            double* J = u != NULL ? soft->J[side] + k * body->dim : own;
            tni_push_row(body, &at->views[index], p[side], F[side], &rows[k].push[side], J);
            if (u != NULL) {
                const double rate = tni_row_dot(J, u, body->dim);
                motion->rate[k] += rate, motion->d[k] += predicted->h * rate;
            } else {
                motion->known_d[k]    = tni_row_dot(J, prescribed.d, 6);
                motion->known_rate[k] = tni_row_dot(J, prescribed.rate, 6);
            }
        }
    }
    for (int k = 0; k < soft->row_count; ++k)
        motion->d[k] += motion->known_d[k], motion->rate[k] += motion->known_rate[k];
}

// A one-sided limit in the direction n of the coordinates, exceeded by e0 now. Returns the
// predicted force. If it is reached within the step, its damping acts on the exceeding part only: k
// e + d e/h, without a jump at e = 0; with a jump there might be no consistent active set.
static double soften_limit(const tn_limit* limit, const double* n, double e0, unsigned which,
                           const predicted_motion* motion, tni_soft* soft)
{
    const int    count = soft->row_count;
    const bool   there = e0 > 0 || !(motion->h > 0);
    const double rate  = tni_row_dot(n, motion->rate, count),
                 e     = e0 + tni_row_dot(n, motion->d, count);
    const double k     = there ? limit->stiffness : limit->stiffness + limit->damping / motion->h,
                 d = there ? limit->damping : 0, push = k * e + d * rate;
    if (!(e > 0 && push > 0)) return 0;
    soft->active_limits |= 1u << which;
    for (int i = 0; i < count; ++i) {
        soft->f[i] -= k * e0 * n[i];
        for (int j = 0; j < count; ++j) {
            soft->K[i * count + j] += k * n[i] * n[j];
            soft->D[i * count + j] += d * n[i] * n[j];
        }
    }
    return push;
}

static void soften_limits(const tn_limit* limit, const double* n, double lower, double upper,
                          double z, const predicted_motion* motion, tni_soft* soft)
{
    double back[TNI_COORDINATES_MAX];
    if (lower > upper) return;
    for (int k = 0; k < soft->row_count; ++k) back[k] = -n[k];
    (void)soften_limit(limit, n, z - upper, 1, motion, soft);
    (void)soften_limit(limit, back, lower - z, 2, motion, soft);
}

// The rows of a ball are the axes of frame 1.
static void soften_ball_limit(const tni_joint* joint, tni_sides sides, const tn_limit* limit,
                              const predicted_motion* motion, tni_soft* soft)
{
    const tni_swing_twist st      = tni_swing_twist_of(joint, sides);
    const tni_mat3        A       = tni_mat_mul(&sides.view1->R, &joint->F1),
                   B              = tni_mat_mul(&sides.view2->R, &joint->F2);
    double n[TNI_COORDINATES_MAX] = {0};
    tni_write3(n, tni_mul_t(&A, st.swing_axis));
    if (!isnan(limit->cone)) {
        // Across the swing the force rotates with its axis: stiffness tau cot(swing), where that is
        // positive.
        const double  push = soften_limit(limit, n, st.swing - limit->cone, 0, motion, soft);
        const tn_vec3 z2   = tni_mul_t(&A, tni_column(&B, 2));
        const double  c = tni_cos(st.swing), s = tni_sin(st.swing);
        tni_mat3      K = {{0}};
        if (push > 0 && c > 0 && s > 1e-3)
            tni_soft_outer(push * c / s, tni_cross(z2, tni_read3(n)), &K);
        tni_soft_block(soft->K, soft->row_count, 0, 1, &K);
    }
    tni_write3(n, tni_mul_t(&A, st.twist_axis));
    soften_limits(limit, n, limit->twist_lower, limit->twist_upper, st.twist, motion, soft);
}

static void soften_spring(const tni_joint* joint, const tni_joint_force* a, const double* stretch,
                          tni_soft* soft)
{
    const int n = soft->row_count;
    for (int k = 0; k < n; ++k) {
        soft->f[k] = a->force[k] - a->stiffness * stretch[k];
        if (!tni_is_rotation(joint, k)) soft->K[k * n + k] = a->stiffness;
        if (joint->type->coordinates[k] != TNI_COORDINATE_ROTATION_X || a->stiffness == 0) continue;
        const tni_mat3 S = tni_soft_torsion(tni_read3(stretch + k));
        tni_soft_block(soft->K, n, k, a->stiffness, &S);
    }
}

// Its force depends on where the bodies are, and on nothing else.
static bool is_spring_alone(const tn_model* model, const tni_joint* joint, const tni_joint_force* a)
{
    return a->damping == 0 && a->friction == 0 && !a->limit.given &&
           model->bodies[joint->body1].kind != TN_BODY_KINEMATIC &&
           model->bodies[joint->body2].kind != TN_BODY_KINEMATIC;
}

void tni_soften_actuation(const tni_scene_view* at, const tni_prediction* predicted, int actuation,
                          tni_soft* soft)
{
    const tni_joint_force* a     = &at->model->actuations[actuation];
    const tni_joint*       joint = &at->model->joints[a->joint];
    const tni_sides        sides = tni_sides_of(joint, at->views);
    const int              n     = joint->coordinate_count;
    tni_row                rows[TNI_COORDINATES_MAX];
    double                 stretch[TNI_COORDINATES_MAX];
    predicted_motion       motion;
    soft->kind = TNI_SOFT_JOINT, soft->index = a->joint;
    soft->body[0] = joint->body1, soft->body[1] = joint->body2;
    tni_soft_clear(soft, n);
    tni_actuated_coordinates(at, a, sides, rows, stretch);
    if (at->forces_only && is_spring_alone(at->model, joint, a)) {
        for (int k = 0; k < n; ++k) soft->f[k] = a->force[k] - a->stiffness * stretch[k];
        return;
    }
    predict_motion(at, predicted, joint, rows, soft, &motion);
    soften_spring(joint, a, stretch, soft);
    for (int k = 0; k < n; ++k)
        soft->D[k * n + k] =
            a->damping + (at->bounded ? 0 : tni_friction_secant(joint, a, motion.rate, k));
    if (tni_has_ball_limit(joint, &a->limit)) {
        soften_ball_limit(joint, sides, &a->limit, &motion, soft);
    } else if (tni_has_soft_limit(&a->limit) && n > 0) {
        const double first[TNI_COORDINATES_MAX] = {1};
        soften_limits(&a->limit, first, a->limit.lower, a->limit.upper, rows[0].C, &motion, soft);
    }
    for (int k = 0; k < n; ++k) {
        soft->f[k] -= tni_row_dot(soft->K + k * n, motion.known_d, n) +
                      tni_row_dot(soft->D + k * n, motion.known_rate, n);
        soft->known[k] = motion.known_d[k];
        soft->drive[k] = tni_is_rotation(joint, k) ? a->force[k] : 0;
    }
}

static void soften(const tni_scene_view* at, const tni_prediction* predicted, tni_take_soft* take,
                   void* user)
{
    tni_soft soft;
    for (int i = 0; i < at->model->actuation_count; ++i) {
        tni_soften_actuation(at, predicted, i, &soft);
        take(user, &soft);
    }
}

static bool damps(const tn_model* model)
{
    for (int i = 0; i < model->actuation_count; ++i) {
        const tni_joint_force* a = &model->actuations[i];
        if (a->damping > 0 || a->friction > 0 || a->limit.damping > 0) return true;
    }
    return false;
}

const tni_force tni_force_actuation = {.place  = TNI_FORCE_JOINT,
                                       .add    = add,
                                       .energy = energy,
                                       .soften = soften,
                                       .derive = tni_derive_actuations,
                                       .damps  = damps};
