// cords: geometric stiffness of a line. Two points that a tension T holds at a distance d resist motion across
// the line n between them like a string:
//
//     K = T/d (1 - n n^T),   on the difference of the points
//
// Light planks between taut ropes, or beads on a wire, are stiff in this sense where h^2 T / (d m) is no small
// number. Under pressure there is none.
#include "system/cords.h"

#include "force/soft.h"
#include "linalg/ldl.h"
#include "system/geometric_stiffness.h"

#include <math.h>

static bool add_cord(tni_arena* arena, tni_cords* t, tni_cord cord)
{
    for (int side = 0; side < 2; ++side) {
        const tni_body* body = &t->model->bodies[cord.body[side]];
        cord.dim[side]       = body->node >= 0 ? body->dim : 0;
        cord.J[side]         = TNI_TAKE(arena, double, 3 * (size_t)cord.dim[side]);
    }
    if (arena->failed) return false;
    if (cord.joint >= 0) t->of_joint[cord.joint] = t->count;
    else t->of_spring[cord.spring] = t->count;
    t->at[t->count++] = cord;
    return true;
}

tn_result tni_cords_create(tni_arena* arena, const tn_model* model, tni_cords* t)
{
    int count = model->spring_count;
    for (int i = 0; i < model->joint_count; ++i) {
        const tni_joint* joint = &model->joints[i];
        count += tni_holds_distance(joint) || model->constraints[joint->constraint].row_count == 0;
    }
    *t = (tni_cords){.model     = model,
                     .at        = TNI_TAKE(arena, tni_cord, count),
                     .of_joint  = TNI_TAKE(arena, int, model->joint_count),
                     .of_spring = TNI_TAKE(arena, int, model->spring_count)};
    if (arena->failed) return TN_ERR_MEMORY;
    for (int i = 0; i < model->joint_count; ++i) {
        const tni_joint* j = &model->joints[i];
        t->of_joint[i]     = -1;
        if (!tni_holds_distance(j) && model->constraints[j->constraint].row_count > 0) continue;
        const tni_cord cord = {
            .joint = i, .spring = -1, .body = {j->body1, j->body2}, .p = {j->p1, j->p2}};
        if (!add_cord(arena, t, cord)) return TN_ERR_MEMORY;
    }
    for (int i = 0; i < model->spring_count; ++i) {
        const tni_spring* s = &model->springs[i];
        t->of_spring[i]     = -1;
        const tni_cord cord = {
            .joint = -1, .spring = i, .body = {s->body1, s->body2}, .p = {s->p1, s->p2}};
        if (s->length > 0 && !add_cord(arena, t, cord)) return TN_ERR_MEMORY;
    }
    return TN_OK;
}

static tn_vec3 line_of(const tni_cords* t, const tni_cord* cord, const tni_view* views,
                       tn_vec3* drift)
{
    tn_vec3 D = {0, 0, 0};
    *drift    = D;
    for (int side = 0; side < 2; ++side) {
        const int        body = cord->body[side];
        const double     sign = side == 1 ? 1 : -1;
        const tni_motion m = tni_point_motion(&t->model->bodies[body], &views[body], cord->p[side]);
        D                  = tni_add_scaled(D, sign, m.at);
        if (cord->dim[side] == 0) *drift = tni_add_scaled(*drift, sign, m.rate);
    }
    return D;
}

void tni_cord_turn(const tni_cords* t, tni_cord* cord, const tni_view* views)
{
    static const tni_mat3 none = {{0}};
    cord->line                 = tni_normalised(line_of(t, cord, views, &cord->drift));
    for (int side = 0; side < 2; ++side) {
        const int    body = cord->body[side], dim = cord->dim[side];
        const double sign = side == 1 ? 1 : -1;
        for (int k = 0; k < 3 && dim > 0; ++k) {
            const tni_push push = {.force = {sign * (k == 0), sign * (k == 1), sign * (k == 2)}};
            tni_push_row(&t->model->bodies[body], &views[body], cord->p[side], &none, &push,
                         cord->J[side] + k * dim);
        }
    }
}

// Sum over the rows of J M^-1 J^T: no mode across the line is softer.
static double response(const tni_cords* t, const tni_cord* cord, const tni_view* views)
{
    double sum = 0;
    for (int side = 0; side < 2; ++side) {
        const int dim = cord->dim[side];
        double    M[TNI_DIM_MAX * TNI_DIM_MAX], x[TNI_DIM_MAX];
        if (dim == 0) continue;
        tni_mass_block(&t->model->bodies[cord->body[side]], &views[cord->body[side]], M);
        if (tni_block_factor(dim, M) >= 0) continue;
        for (int k = 0; k < 3; ++k) {
            memcpy(x, cord->J[side] + k * dim, sizeof *x * (size_t)dim);
            tni_block_solve(dim, M, x);
            for (int c = 0; c < dim; ++c) sum += cord->J[side][k * dim + c] * x[c];
        }
    }
    return sum;
}

double tni_cords_find(tni_cords* t, const tni_view* views, double h, const double* pull)
{
    double most = 0;
    for (int i = 0; i < t->count; ++i) {
        tni_cord*         cord = &t->at[i];
        const tni_spring* s    = cord->spring >= 0 ? &t->model->springs[cord->spring] : NULL;
        tn_vec3           drift;
        const double      d = tni_norm(line_of(t, cord, views, &drift));
        const double T = s != NULL ? h * h * s->stiffness * (d - s->length) : pull[cord->joint];
        cord->K        = d > 0 && T > 0 ? T / d : 0;
        if (!(cord->K > 0)) continue;
        tni_cord_turn(t, cord, views);
        most = fmax(most, cord->K * response(t, cord, views));
    }
    return most;
}

void tni_across(tn_vec3 n, double x[3])
{
    const double along = n.x * x[0] + n.y * x[1] + n.z * x[2];
    x[0] -= along * n.x;
    x[1] -= along * n.y;
    x[2] -= along * n.z;
}

void tni_cords_push(const tni_cords* t, const double* w, double* f)
{
    for (int i = 0; i < t->count; ++i) {
        const tni_cord* cord = &t->at[i];
        double          x[3] = {0, 0, 0};
        if (!(cord->K > 0)) continue;
        for (int side = 0; side < 2; ++side) {
            const int dim = cord->dim[side], at = t->model->bodies[cord->body[side]].u_start;
            for (int k = 0; k < 3 && dim > 0; ++k)
                x[k] += tni_row_dot(cord->J[side] + k * dim, w + at, dim);
        }
        tni_across(cord->line, x);
        for (int side = 0; side < 2; ++side) {
            const int dim = cord->dim[side], at = t->model->bodies[cord->body[side]].u_start;
            for (int k = 0; k < 3; ++k)
                for (int c = 0; c < dim; ++c)
                    f[at + c] += cord->K * x[k] * cord->J[side][k * dim + c];
        }
    }
}
