// levenberg_marquardt: zeros of all constraint rows, from distant starts (Levenberg-Marquardt).
//
// A step of the search is the answer of the regularised core without refinement:
//     M d + J^T mu = 0,   J d - E mu = -C,   E_ii = nu S_ii / g_i,   S = J M^-1 J^T
// so that d minimises  d^T M d + sum (J d + C)_i^2 / E_ii:  least squares with the weights g_i /
// S_ii, damped by the masses. nu -> 0 is Newton's step of least d^T M d. Afterwards J d + C = E mu,
// so the predicted residual is free. g is 1, but very small for rows that may stay open, and zero
// for velocity-only rows (motors, gears, rolling): they are no obstacle to assembly. M is the mass
// matrix with inertia increased by m r^2, r the longest arm to a joint of the body: otherwise thin
// rods spin instead of moving (a chain of ten in random poses: 460 rounds without, 50 with).
//
// Rows that keep axes perpendicular (joint_types.h) do not distinguish a frame from one rotated by
// half a turn, which is a zero too, and at a quarter turn such a row has no slope. Where the frames
// of a joint are rotated by more than FAR, its axis rows are replaced by rows of the rotation
// itself: theta about e_1, zero about e_2, e_3, with
//     3 axis rows   theta e_1 the rotation vector from frame 1 to frame 2; e_2, e_3 any
//     2             e_1 along z1 x z2, theta their angle; e_2 along z2 - z1
//     1, in a plane theta from axis l of frame 1 to that of frame 2, about a1_k x a1_l
// The gradient of theta^2 / 2 by the relative angular velocity is theta e_1: these are exact
// derivatives. A torque e on frame 2 is written as covectors e x a on its axes, which work for any
// kind of body.
#include "system/levenberg_marquardt.h"

#include "joint/joint.h"
#include "math/elementary.h"

#define FAR      0.3 // [rad]
#define STIFF    1e4
#define INACTIVE 1e30 // E of rows that do not count

tn_result tni_lm_create(const tn_model* model, tni_lm** lm)
{
    *lm            = NULL;
    tni_arena own  = tni_arena_make(&model->arena.host);
    tni_lm*   a    = TNI_TAKE(&own, tni_lm, 1);
    const int rows = model->row_count, count = model->constraint_count;
    if (a == NULL) return TN_ERR_MEMORY;
    a->model          = model;
    a->arm            = TNI_TAKE(&own, double, model->body_count);
    a->soft           = TNI_TAKE(&own, uint8_t, count);
    a->keeps_opposite = TNI_TAKE(&own, uint8_t, count);
    a->rotation_rows  = TNI_TAKE(&own, uint8_t, count);
    a->known          = TNI_TAKE(&own, uint8_t, model->body_count);
    a->done           = TNI_TAKE(&own, uint8_t, model->joint_count);
    a->goal           = TNI_TAKE(&own, double, rows);
    a->residual       = TNI_TAKE(&own, double, rows);
    a->size           = TNI_TAKE(&own, double, rows);
    a->compliance     = TNI_TAKE(&own, double, rows);
    a->weight         = TNI_TAKE(&own, double, rows);

    tn_result result = own.failed ? TN_ERR_MEMORY : TN_OK;
    if (result == TN_OK) result = tni_system_create(&own, model, TN_LOOPS_CORE, NULL, &a->system);
    if (result != TN_OK) {
        tni_system_free(a->system);
        tni_arena_free(&own);
        return result;
    }
    a->arena                  = own;
    a->softness               = 1;
    a->system->saddle->damped = true;
    for (int i = 0; i < model->joint_count; ++i) {
        const tni_joint* joint = &model->joints[i];
        double *         arm1 = &a->arm[joint->body1], *arm2 = &a->arm[joint->body2];
        *arm1 = fmax(*arm1, tni_norm(joint->p1));
        *arm2 = fmax(*arm2, tni_norm(joint->p2));
    }
    for (int i = 0; i < rows; ++i) a->size[i] = a->weight[i] = 1;
    *lm = a;
    return TN_OK;
}

void tni_lm_free(tni_lm* lm)
{
    if (lm == NULL) return;
    tni_system_free(lm->system);
    tni_arena arena = lm->arena; // the struct lies in its own arena
    tni_arena_free(&arena);
}

// ---- Rotation -----------------------------------------------------------------------------------

// The row type of a joint's row; NULL: not a joint's.
static const tni_row_part* part_of(const tni_lm* a, int constraint, int k)
{
    const tni_constraint* c = &a->model->constraints[constraint];
    if (c->kind != TNI_CONSTRAINT_JOINT || k >= c->row_count) return NULL;
    const tni_joint* joint = &a->model->joints[c->index];
    return &joint->type->parts[joint->parts[k]];
}

// The perpendicular axes of a universal joint fit either way round.
static bool is_axis_row(const tni_lm* a, int constraint, int k)
{
    const tni_row_part* part = part_of(a, constraint, k);
    return part != NULL && part->op == TNI_ROW_DOT && part->k != 2;
}

bool tni_lm_is_angle(const tni_lm* a, int constraint, int k)
{
    const tni_row_part* part = part_of(a, constraint, k);
    return part != NULL && part->op == TNI_ROW_DOT;
}

// Rotation between the frames of a joint: by theta about e[0].
typedef struct turn {
    int     count; ///< number of axis rows; 0: the rotation is free
    int     l;     ///< the axis that counts, unless all three do
    double  theta;
    tn_vec3 e[3];
    tn_vec3 axis[2][3]; ///< of both frames, world axes
} turn;

static void evaluate_axes(const tni_lm* a, const tni_joint* joint, turn* t)
{
    const int       bodies[2] = {joint->body1, joint->body2};
    const tni_mat3* F[2]      = {&joint->F1, &joint->F2};
    for (int side = 0; side < 2; ++side) {
        const tn_frame pose =
            tni_view_pose(&a->model->bodies[bodies[side]], &a->system->views[bodies[side]]);
        for (int k = 0; k < 3; ++k)
            t->axis[side][k] = tni_rotate(pose.orientation, tni_column(F[side], k));
    }
}

static void turn_of_frames(turn* t)
{
    tni_mat3 R1, R2;
    R1                     = tni_columns(t->axis[0][0], t->axis[0][1], t->axis[0][2]);
    R2                     = tni_columns(t->axis[1][0], t->axis[1][1], t->axis[1][2]);
    const tni_mat3 R1t     = tni_transposed(&R1);
    const tni_mat3 between = tni_mat_mul(&R2, &R1t);
    const tn_vec3  phi     = tni_quat_log(tni_matrix_quat(&between));
    t->theta               = tni_norm(phi);
    t->e[0]                = t->theta > 0 ? tni_scale(1 / t->theta, phi) : tni_vec3(1, 0, 0);
    t->e[1]                = tni_normalised(tni_perpendicular(t->e[0]));
    t->e[2]                = tni_cross(t->e[0], t->e[1]);
}

static void turn_of_axis(turn* t)
{
    const tn_vec3 z1 = t->axis[0][2], z2 = t->axis[1][2], across = tni_cross(z1, z2);
    const double  s = tni_norm(across);
    t->theta        = tni_atan2(s, tni_dot(z1, z2));
    t->e[0]         = s > 1e-12 ? tni_scale(1 / s, across) : tni_normalised(tni_perpendicular(z1));
    if (t->theta > FAR) t->e[1] = tni_normalised(tni_sub(z2, z1));
}

static void turn_in_plane(turn* t, int k)
{
    const tn_vec3 up = tni_cross(t->axis[0][k], t->axis[0][t->l]);
    const tn_vec3 x1 = t->axis[0][t->l], x2 = t->axis[1][t->l];
    t->theta = tni_atan2(tni_dot(up, tni_cross(x1, x2)), tni_dot(x1, x2));
    t->e[0]  = up;
}

// At the last evaluation.
static turn turn_at(const tni_lm* a, int constraint)
{
    const tni_constraint* c = &a->model->constraints[constraint];
    turn                  t = {.l = 2};
    int                   k = 0;
    for (int i = 0; i < c->row_count; ++i) {
        if (!is_axis_row(a, constraint, i)) continue;
        ++t.count;
        k   = part_of(a, constraint, i)->k;
        t.l = part_of(a, constraint, i)->l;
    }
    if (t.count == 0) return t;
    evaluate_axes(a, &a->model->joints[c->index], &t);
    if (t.count == 3) turn_of_frames(&t);
    else if (t.count == 2) turn_of_axis(&t);
    else turn_in_plane(&t, k);
    return t;
}

double tni_lm_rotation(const tni_lm* a, int constraint, tn_vec3* axis)
{
    const turn t = turn_at(a, constraint);
    *axis        = t.e[0];
    return a->keeps_opposite[constraint] ? 0 : t.theta;
}

// Replaces the axis rows of a joint by those of its rotation.
static void write_turn(const tni_lm* a, int constraint, const turn* t)
{
    const tni_constraint* c     = &a->model->constraints[constraint];
    const tni_joint*      joint = &a->model->joints[c->index];
    for (int i = 0; i < c->edge_count; ++i) {
        const int       index = a->model->edge_body[c->edge_start + i];
        const int       side  = index == joint->body2;
        const tni_body* body  = &a->model->bodies[index];
        double*         J     = tni_system_j(a->system, c->edge_start + i);
        for (int k = 0, axis = 0; k < c->row_count; ++k) {
            if (!is_axis_row(a, constraint, k)) continue;
            const tn_vec3 e    = tni_scale(side ? 1 : -1, t->e[axis++]);
            tni_push      push = {.force = {0, 0, 0}};
            for (int m = 0; m < 3; ++m) {
                push.on_axis[m] = t->count == 3 || m == t->l;
                push.axis[m] = tni_scale(t->count == 3 ? 0.5 : 1, tni_cross(e, t->axis[side][m]));
            }
            tni_push_row(body, &a->system->views[index], side ? joint->p2 : joint->p1,
                         side ? &joint->F2 : &joint->F1, &push, J + k * body->dim);
        }
    }
}

// ---- Evaluation ---------------------------------------------------------------------------------

static void evaluate_rows(tni_lm* a)
{
    for (int i = 0; i < a->model->constraint_count; ++i) {
        const tni_constraint* c = &a->model->constraints[i];
        const double*         C = a->system->C + c->row_start;
        double*               r = a->residual + c->row_start;
        for (int k = 0; k < c->row_count; ++k)
            r[k] = k < c->held_count ? C[k] - a->goal[c->row_start + k] : 0;
        if (!a->rotation_rows[i]) continue;
        double theta = turn_at(a, i).theta;
        for (int k = 0; k < c->row_count; ++k) {
            if (!is_axis_row(a, i, k)) continue;
            r[k]  = theta;
            theta = 0;
        }
    }
}

static double sum_of_squares(const tni_lm* a)
{
    double sum = 0;
    for (int i = 0; i < a->model->row_count; ++i)
        sum += a->weight[i] * a->residual[i] * a->residual[i];
    return sum;
}

double tni_lm_evaluate(tni_lm* a, const tni_configuration* at)
{
    tni_system_evaluate(a->system, at);
    evaluate_rows(a);
    return sum_of_squares(a);
}

double tni_lm_residual(const tni_lm* a, int constraint)
{
    const tni_constraint* c    = &a->model->constraints[constraint];
    double                most = 0;
    for (int k = 0; k < c->held_count; ++k) {
        const double e = fabs(a->residual[c->row_start + k]);
        if (!(e <= most)) most = isnan(e) ? HUGE_VAL : e;
    }
    const double theta = a->keeps_opposite[constraint] ? 0 : fabs(turn_at(a, constraint).theta);
    return theta > FAR ? fmax(theta, most) : most;
}

double tni_lm_gap(const tni_lm* a, int constraint, bool* angle)
{
    const tni_constraint* c     = &a->model->constraints[constraint];
    double                apart = 0, rotation_rows = 0;
    for (int k = 0; k < c->held_count; ++k) {
        const double residual = a->residual[c->row_start + k];
        *(tni_lm_is_angle(a, constraint, k) ? &rotation_rows : &apart) += residual * residual;
    }
    *angle = rotation_rows > apart;
    return sqrt(fmax(rotation_rows, apart));
}

double tni_lm_largest(const tni_lm* a, int* worst)
{
    double most = 0;
    *worst      = -1;
    for (int i = 0; i < a->model->constraint_count; ++i) {
        const double residual = a->soft[i] ? 0 : tni_lm_residual(a, i);
        if (residual <= most) continue;
        most   = residual;
        *worst = i;
    }
    return most;
}

// ---- Steps --------------------------------------------------------------------------------------

static bool is_auxiliary(const tni_lm* a, const tni_constraint* c)
{
    return a->system->split->plan->sign[c->node] > 0;
}

// Rows that may stay open have equal weights in all directions, so that the remaining gap is the
// shortest one.
static double mean_size(const tni_lm* a, int constraint, bool turns)
{
    const tni_constraint* c   = &a->model->constraints[constraint];
    double                sum = 0;
    int                   n   = 0;
    for (int k = 0; k < c->held_count; ++k) {
        if (tni_lm_is_angle(a, constraint, k) != turns) continue;
        sum += a->size[c->row_start + k];
        ++n;
    }
    return n > 0 ? sum / n : 1;
}

static void set_compliance(tni_lm* a, double nu)
{
    for (int i = 0; i < a->model->constraint_count; ++i) {
        const tni_constraint* c = &a->model->constraints[i];
        if (is_auxiliary(a, c)) continue;
        double* E = tni_saddle_e(a->system->saddle, c->node);
        for (int k = 0; k < c->row_count; ++k) {
            double*      compliance = &E[(c->row_count + 1) * k];
            const double size       = mean_size(a, i, tni_lm_is_angle(a, i, k));
            *compliance             = 0;
            if (a->soft[i]) *compliance = nu / a->softness * size;
            if (k >= c->held_count) *compliance = INACTIVE;
        }
    }
}

// Auxiliary rows are not damped; velocity-only ones are removed.
static void clear_auxiliary(tni_lm* a)
{
    for (int i = 0; i < a->system->split->auxiliary_count; ++i) {
        const tni_constraint* c = &a->model->constraints[a->system->split->auxiliary[i]];
        for (int k = 0; k < c->edge_count; ++k) {
            const int dim = a->model->bodies[a->model->edge_body[c->edge_start + k]].dim;
            double*   J   = tni_system_j(a->system, c->edge_start + k);
            for (int j = c->held_count * dim; j < c->row_count * dim; ++j) J[j] = 0;
        }
    }
}

static void set_weights(tni_lm* a, double nu)
{
    const int     first = a->model->u_count;
    const double* alpha = a->system->saddle->alpha;
    double        most  = 0;
    for (int i = 0; i < a->model->constraint_count; ++i) {
        const tni_constraint* c = &a->model->constraints[i];
        for (int k = 0; k < c->row_count && !is_auxiliary(a, c); ++k) {
            const int     row  = c->row_start + k;
            const double* E    = tni_saddle_e(a->system->saddle, c->node);
            a->size[row]       = alpha[first + row] / nu;
            a->compliance[row] = fmax(E[(c->row_count + 1) * k], alpha[first + row]);
            a->weight[row]     = nu / a->compliance[row];
            most               = fmax(most, a->weight[row]);
        }
    }
    for (int i = 0; i < a->model->row_count; ++i) {
        if (a->compliance[i] == 0) a->weight[i] = most > 0 ? most : 1;
    }
}

// Stretching or shearing a body costs STIFF times what rotating it costs: M += g g^T per strain
//     e_ij = a_i . da_j + a_j . da_i      of its columns a
static void add_strains(const tni_view* view, double add, double* M)
{
    for (int i = 0; i < 3; ++i) {
        for (int j = i; j < 3; ++j) {
            double g[12] = {0};
            tni_accumulate(g + 3 + 3 * j, tni_column(&view->R, i));
            tni_accumulate(g + 3 + 3 * i, tni_column(&view->R, j));
            for (int k = 3; k < 12; ++k)
                for (int l = 3; l < 12; ++l) M[12 * k + l] += STIFF * add * g[k] * g[l];
        }
    }
    for (int k = 3; k < 12; ++k) M[13 * k] += add;
}

static void fill_masses(tni_lm* a)
{
    for (int i = 0; i < a->model->body_count; ++i) {
        const tni_body* body = &a->model->bodies[i];
        if (body->node < 0) continue;
        const double add = body->mass * a->arm[i] * a->arm[i];
        double*      M   = tni_saddle_a(a->system->saddle, body->node);
        tni_mass_block(body, &a->system->views[i], M);
        if (body->kind == TN_BODY_PLANAR) M[8] += add;
        for (int k = 3; body->kind == TN_BODY_RIGID && k < 6; ++k) M[7 * k] += add;
        if (body->kind == TN_BODY_AFFINE) add_strains(&a->system->views[i], add, M);
        for (int k = 0; a->equal_masses && body->mass > 0 && k < body->dim * body->dim; ++k)
            M[k] /= body->mass;
    }
}

static void fill_rows(tni_lm* a, const tni_configuration* at)
{
    double *J[TNI_CONSTRAINT_BODIES_MAX], *K[TNI_CONSTRAINT_BODIES_MAX];
    for (int i = 0; i < a->model->constraint_count; ++i) {
        const tni_constraint* c = &a->model->constraints[i];
        for (int k = 0; k < c->edge_count; ++k) {
            J[k] = tni_system_j(a->system, c->edge_start + k);
            if (c->pushes_otherwise)
                K[k] = tni_auxiliary_k(&a->system->auxiliary, c->edge_start + k);
        }
        const tni_rows_out out = {.J = J, .K = c->pushes_otherwise ? K : NULL};
        tni_constraint_rows(a->model, c, a->system->views, at->time, at->z, &out);
        const turn t        = a->keeps_opposite[i] ? (turn){.theta = 0} : turn_at(a, i);
        a->rotation_rows[i] = fabs(t.theta) > FAR ? (uint8_t)t.count : 0;
        if (a->rotation_rows[i]) write_turn(a, i, &t);
    }
}

tn_result tni_lm_factor(tni_lm* a, const tni_configuration* at, double nu)
{
    tni_system* system             = a->system;
    system->saddle->regularisation = nu;
    ++system->auxiliary.filled;
    tni_system_evaluate(system, at);
    fill_masses(a);
    fill_rows(a, at);
    clear_auxiliary(a);
    set_compliance(a, nu);
    TRY(tni_saddle_factor(system->saddle));
    set_weights(a, nu);
    evaluate_rows(a);
    return TN_OK;
}

tn_result tni_lm_solve(tni_lm* a)
{
    double* r = a->system->gamma;
    for (int i = 0; i < a->model->row_count; ++i) r[i] = -a->residual[i];
    return tni_system_solve_joints(a->system, NULL, r, false, NULL);
}

double tni_lm_predicted(const tni_lm* a, double share)
{
    const double* mu  = a->system->answer + a->model->u_count;
    double        sum = 0;
    for (int i = 0; i < a->model->row_count; ++i) {
        const double residual = (1 - share) * a->residual[i] + share * a->compliance[i] * mu[i];
        sum += a->compliance[i] < INACTIVE ? a->weight[i] * residual * residual : 0;
    }
    return sum;
}

// A <- exp([w]x) (A + dA - [w]x A), w the rotation in dA: no second-order stretch.
static void move_affine(const tni_body* body, const tni_view* view, const double* d, double* q)
{
    tni_view moving  = *view;
    moving.u         = d;
    const tn_vec3 w  = tni_view_velocity(body, &moving).angular;
    const tn_quat by = tni_quat_exp(w);
    for (int k = 1; k < 4; ++k) {
        const tn_vec3 a    = tni_column(&view->R, k - 1);
        const tn_vec3 rest = tni_sub(tni_read3(d + 3 * k), tni_cross(w, a));
        tni_write3(q + 3 * k, tni_rotate(by, tni_add(a, rest)));
    }
}

void tni_lm_move(const tni_lm* a, const double* d, const double* q, double* q_out)
{
    tni_advance(a->model, q, d, q_out);
    for (int i = 0; i < a->model->free_count; ++i) {
        const int       index = a->model->free_bodies[i];
        const tni_body* body  = &a->model->bodies[index];
        tni_view        view;
        if (body->kind != TN_BODY_AFFINE) continue;
        tni_view_body(a->model, index, 0, q, NULL, &view);
        move_affine(body, &view, d + body->u_start, q_out + body->q_start);
    }
}
