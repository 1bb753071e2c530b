// constraint: the rows of joints, couplings and user-defined constraints, written where the caller
// wants them. A rope has no rows: it is a unilateral constraint.
#include "joint/joint.h"

// The block of a body among those of the constraint's edges.
static double* block_of(const tn_model* model, const tni_constraint* constraint, double** blocks,
                        int body)
{
    for (int i = 0; blocks != NULL && i < constraint->edge_count; ++i) {
        if (model->edge_body[constraint->edge_start + i] == body) return blocks[i];
    }
    return NULL;
}

static void write_values(const tni_row* row, int i, const tni_rows_out* out)
{
    if (out->C != NULL) out->C[i] = row->C;
    if (out->rate != NULL) out->rate[i] = row->rate;
    if (out->gamma != NULL) out->gamma[i] = row->gamma;
}

static void joint_rows(const tn_model* model, const tni_constraint* constraint,
                       const tni_view* views, double time, const double* z, const tni_rows_out* out)
{
    const tni_joint* joint        = &model->joints[constraint->index];
    const int        side_body[2] = {joint->body1, joint->body2};
    const tn_vec3    p[2]         = {joint->p1, joint->p2};
    const tni_mat3*  F[2]         = {&joint->F1, &joint->F2};
    tni_row          rows[TNI_JOINT_ROWS_MAX];
    const int count = tni_joint_rows(model, joint, tni_sides_of(joint, views), time, z, rows);
    for (int i = 0; i < count; ++i) write_values(&rows[i], i, out);
    for (int side = 0; side < 2; ++side) {
        double* J = block_of(model, constraint, out->J, side_body[side]);
        if (J == NULL) continue;
        const tni_body* body = &model->bodies[side_body[side]];
        for (int i = 0; i < count; ++i) {
            tni_push_row(body, &views[side_body[side]], p[side], F[side], &rows[i].push[side],
                         J + i * body->dim);
        }
    }
}

static void coupling_rows(const tn_model* model, const tni_constraint* constraint,
                          const tni_view* views, const double* z, const tni_rows_out* out)
{
    const tni_coupling* coupling = &model->couplings[constraint->index];
    tni_row             sum      = {.rate = -coupling->velocity};
    for (int i = 0; out->J != NULL && i < constraint->edge_count; ++i) {
        const tni_body* body = &model->bodies[model->edge_body[constraint->edge_start + i]];
        memset(out->J[i], 0, sizeof(double) * (size_t)body->dim);
    }
    for (int i = 0; i < coupling->joint_count; ++i) {
        const tni_joint* joint = &model->joints[coupling->joints[i]];
        const double     c     = coupling->coefficients[i];
        const tni_row    row = tni_joint_coordinate(model, joint, 0, tni_sides_of(joint, views), z);
        sum.rate += c * row.rate;
        sum.gamma += c * row.gamma;
        for (int side = 0; side < 2; ++side) {
            const int index = side == 0 ? joint->body1 : joint->body2;
            double*   J     = block_of(model, constraint, out->J, index);
            double    part[64];
            if (J == NULL) continue;
            const tni_body* body = &model->bodies[index];
            tni_push_row(body, &views[index], side == 0 ? joint->p1 : joint->p2,
                         side == 0 ? &joint->F1 : &joint->F2, &row.push[side], part);
            for (int k = 0; k < body->dim; ++k) J[k] += c * part[k];
        }
    }
    write_values(&sum, 0, out);
}

// Coupling of the common centre of mass, held along some world axes:
//     C = sum s_i x_i - start,   J_i = s_i on the velocity of the centre,   gamma = 0
// with s_i the share of body i in the mass. Planar bodies have no velocity along z.
static void center_rows(const tn_model* model, const tni_constraint* constraint,
                        const tni_view* views, const tni_rows_out* out)
{
    const tni_coupling* coupling = &model->couplings[constraint->index];
    tn_vec3             moment = {0, 0, 0}, momentum = {0, 0, 0};
    double              mass = 0;
    for (int i = 0; i < coupling->body_count; ++i) {
        const double    m    = model->bodies[coupling->bodies[i]].mass;
        const tni_view* view = &views[coupling->bodies[i]];
        moment               = tni_add_scaled(moment, m, view->x);
        momentum             = tni_add_scaled(momentum, m, view->v);
        mass += m;
    }
    const tn_vec3 error = tni_sub(tni_scale(1 / mass, moment), coupling->start);
    for (int k = 0, row = 0; k < 3; ++k) {
        if (!coupling->hold[k]) continue;
        const tni_row values = {.C = tni_at(error, k), .rate = tni_at(momentum, k) / mass};
        write_values(&values, row, out);
        for (int i = 0; out->J != NULL && i < constraint->edge_count; ++i) {
            const tni_body* body = &model->bodies[model->edge_body[constraint->edge_start + i]];
            double*         J    = out->J[i] + row * body->dim;
            memset(J, 0, sizeof *J * (size_t)body->dim);
            if (k < 2 || body->kind != TN_BODY_PLANAR) J[k] = body->mass / mass;
        }
        ++row;
    }
}

void tni_user_rows(const tn_model* model, const tni_constraint* constraint,
                   const tni_view* const* views, double time, const tni_rows_out* out)
{
    const tni_user_constraint* user = &model->users[constraint->index];
    tn_body_view               bodies[8];
    double *                   J[8] = {NULL}, *K[8] = {NULL};
    for (int i = 0; i < user->body_count; ++i) {
        const tni_body* body = &model->bodies[user->bodies[i]];
        const tni_view* view = views[i];
        bodies[i]            = (tn_body_view){.pose     = tni_view_pose(body, view),
                                              .velocity = tni_view_velocity(body, view),
                                              .com      = tni_point_motion(body, view, tni_vec3(0, 0, 0)).at,
                                              .dim      = body->dim,
                                              .q        = view->q,
                                              .u        = view->u};
        J[i]                 = block_of(model, constraint, out->J, user->bodies[i]);
        K[i]                 = block_of(model, constraint, out->K, user->bodies[i]);
    }
    user->table->rows_at(user->data, time, bodies, out->C, out->rate, out->J != NULL ? J : NULL,
                         out->gamma);
    for (int i = constraint->held_count; out->C != NULL && i < constraint->row_count; ++i)
        out->C[i] = 0;
    if (out->K != NULL && user->table->force_at != NULL)
        user->table->force_at(user->data, time, bodies, K);
}

void tni_constraint_rows(const tn_model* model, const tni_constraint* constraint,
                         const tni_view* views, double time, const double* z,
                         const tni_rows_out* out)
{
    if (constraint->kind == TNI_CONSTRAINT_JOINT) {
        joint_rows(model, constraint, views, time, z, out);
    } else if (constraint->kind == TNI_CONSTRAINT_COUPLING) {
        if (model->couplings[constraint->index].body_count > 0)
            center_rows(model, constraint, views, out);
        else coupling_rows(model, constraint, views, z, out);
    } else {
        const tni_user_constraint* user = &model->users[constraint->index];
        const tni_view*            of[8];
        for (int i = 0; i < user->body_count; ++i) of[i] = &views[user->bodies[i]];
        tni_user_rows(model, constraint, of, time, out);
    }
}
