// bounded_rows: dry friction of joints, motors and springs with a bound on their force, as rows of the step's
// matrix (linalg/cone_newton.h, TNI_CONE_BOUNDED).
//
// A row asks for a rate and pushes with what that takes, between its bounds: friction for 0, which is sticking; a
// motor for its velocity. In each half of a step the impulse is h/2 times the force at most. In the kick
//
//     w = J u+ + h/2 gamma - goal      and where the flight has led, w = (z' - z)/h - goal
//
// so that what sticks does not creep, and a motor's angle is the integral of its velocity; rotation vectors take the
// mean rate of both ends. On landing w = J' u_end - goal'. A spring, damper and constant force with a bound is the
// soft row p = p0 - W J du (soft_rows.c), cut off: w = J du - p0 / W with the compliance 1 / W.
#include "system/bounded_rows.h"

#include "force/soft.h"

#include <math.h>

tn_result tni_bounded_rows_create(tni_arena* arena, const tn_model* model,
                                  const tni_soft_rows* soft, tni_bounded_rows* s)
{
    *s = (tni_bounded_rows){.model   = model,
                            .count   = model->bound_count,
                            .rows    = TNI_TAKE(arena, tni_bounded, model->bound_count),
                            .rows_of = TNI_TAKE(arena, int, model->constraint_count)};
    if (arena->failed) return TN_ERR_MEMORY;
    for (int i = 0; i < s->count; ++i) {
        tni_bounded* b = &s->rows[i];
        b->of          = &model->bounds[i];
        b->constraint  = model->joints[b->of->joint].constraint;
        b->first       = model->constraints[b->constraint].row_count +
                   tni_soft_rows_of(soft, b->constraint) + s->rows_of[b->constraint];
        s->rows_of[b->constraint] += b->of->row_count;
    }
    return TN_OK;
}

uint64_t tni_bounded_id(int index)
{
    return UINT64_C(3) << 62 | (uint64_t)index;
}

// Coordinates of the joint, and of a bound's rows J. Returns those rows.
static const tni_row* look(const tni_bounded_rows* s, tni_bounded* b, const tni_scene_view* at,
                           tni_row rows[TNI_COORDINATES_MAX])
{
    const tn_model*  model    = s->model;
    const tni_joint* joint    = &model->joints[b->of->joint];
    const tni_sides  sides    = tni_sides_of(joint, at->views);
    const int        bodies[] = {joint->body1, joint->body2};
    const tn_vec3    p[]      = {joint->p1, joint->p2};
    const tni_mat3*  F[]      = {&joint->F1, &joint->F2};
    tni_joint_coordinates(model, joint, sides, at->z, rows);
    const tni_row* own = &rows[b->of->coordinate];
    for (int side = 0; side < 2; ++side) {
        const tni_body* body = &model->bodies[bodies[side]];
        for (int i = 0; body->node >= 0 && i < b->of->row_count; ++i)
            tni_push_row(body, &at->views[bodies[side]], p[side], F[side], &own[i].push[side],
                         b->J[side] + i * body->dim);
    }
    return own;
}

static double goal_at(const tni_bounded_rows* s, const tni_bounded* b, double time)
{
    const tni_joint* joint = &s->model->joints[b->of->joint];
    double           velocity, rate;
    if (b->of->kind != TNI_BOUND_MOTOR) return 0;
    tni_values_at(joint->drive, joint->drive_count, time, &velocity, &rate);
    return velocity;
}

static void begin(tni_bounded* b, double h)
{
    b->low     = 0.5 * h * b->of->low;
    b->high    = 0.5 * h * b->of->high;
    b->is_open = false;
}

void tni_bounded_kick(tni_bounded_rows* s, const tni_scene_view* at, double h)
{
    for (int i = 0; i < s->count; ++i) {
        tni_bounded*   b = &s->rows[i];
        tni_row        rows[TNI_COORDINATES_MAX];
        const tni_row* own = look(s, b, at, rows);
        begin(b, h);
        b->start = own->C;
        b->goal  = 0.5 * (goal_at(s, b, at->time) + goal_at(s, b, at->time + h));
        for (int k = 0; k < b->of->row_count; ++k) {
            b->rate[k] = own[k].rate;
            b->c[k]    = own[k].rate + 0.5 * h * own[k].gamma - b->goal;
        }
    }
}

// Whether a row is at a bound: what it asks for does not matter then.
static bool is_at_bound(const tni_bounded* b)
{
    return b->of->row_count == 1 && (b->force[0] >= b->high || b->force[0] <= b->low);
}

double tni_bounded_correct(tni_bounded_rows* s, const tni_scene_view* at, double h)
{
    double error = 0;
    for (int i = 0; i < s->count; ++i) {
        tni_bounded* b = &s->rows[i];
        tni_row      rows[TNI_COORDINATES_MAX];
        if (b->of->kind == TNI_BOUND_SPRING) continue;
        const tni_joint* joint = &s->model->joints[b->of->joint];
        tni_joint_coordinates(s->model, joint, tni_sides_of(joint, at->views), at->z, rows);
        const tni_row* own = &rows[b->of->coordinate];
        for (int k = 0; k < b->of->row_count; ++k) {
            const double first = b->rate[k] + b->w[k] - b->c[k],
                         mean  = b->of->row_count == 1 ? (own->C - b->start) / h
                                                       : 0.5 * (first + own[k].rate),
                         off   = mean - b->goal - b->w[k];
            b->c[k] += off;
            if (!is_at_bound(b)) error = fmax(error, h * fabs(off));
        }
    }
    return error;
}

void tni_bounded_land(tni_bounded_rows* s, const tni_scene_view* at, double h)
{
    for (int i = 0; i < s->count; ++i) {
        tni_bounded*   b = &s->rows[i];
        tni_row        rows[TNI_COORDINATES_MAX];
        const tni_row* own = look(s, b, at, rows);
        begin(b, h);
        memcpy(b->force_before, b->force, sizeof b->force);
        b->goal = goal_at(s, b, at->time);
        for (int k = 0; k < b->of->row_count; ++k) b->c[k] = own[k].rate - b->goal;
    }
}

void tni_bounded_accelerate(tni_bounded_rows* s, const tni_scene_view* at)
{
    static const double still = 1e-6; // a rate that counts as none [rad/s or m/s]
    static const double far   = 1e12; // beyond any acceleration: the force is at its bound
    for (int i = 0; i < s->count; ++i) {
        tni_bounded*     b     = &s->rows[i];
        const tni_joint* joint = &s->model->joints[b->of->joint];
        tni_row          rows[TNI_COORDINATES_MAX];
        const tni_row*   own  = look(s, b, at, rows);
        double           goal = 0, change = 0, v[3] = {0, 0, 0};
        begin(b, 2);
        memset(b->force, 0, sizeof b->force);
        b->is_open    = b->of->kind == TNI_BOUND_SPRING;
        b->compliance = 0;
        if (b->of->kind == TNI_BOUND_MOTOR)
            tni_values_at(joint->drive, joint->drive_count, at->time, &goal, &change);
        for (int k = 0; k < b->of->row_count; ++k) v[k] = own[k].rate - goal;
        const double speed = tni_norm(tni_read3(v));
        for (int k = 0; k < b->of->row_count; ++k)
            b->c[k] = own[k].gamma - change + (speed > still ? far * v[k] / speed : 0);
    }
}

void tni_bounded_add_reactions(const tni_bounded_rows* s, const tni_scene_view* at,
                               tn_wrench* reactions)
{
    for (int i = 0; i < s->count; ++i) {
        const tni_bounded* b     = &s->rows[i];
        const tni_joint*   joint = &s->model->joints[b->of->joint];
        const tni_sides    sides = tni_sides_of(joint, at->views);
        tni_row            rows[TNI_COORDINATES_MAX];
        if (b->of->kind != TNI_BOUND_MOTOR)
            continue; // friction and springs are not counted as reactions
        tni_joint_coordinates(s->model, joint, sides, at->z, rows);
        for (int k = 0; k < b->of->row_count; ++k) {
            const tn_wrench part =
                tni_row_wrench(s->model, joint, sides, &rows[b->of->coordinate + k], b->force[k]);
            tn_wrench* sum = &reactions[b->constraint];
            sum->force     = tni_add(sum->force, part.force);
            sum->torque    = tni_add(sum->torque, part.torque);
        }
    }
}

void tni_bounded_take_springs(tni_bounded_rows* s, const tni_soft_rows* soft)
{
    for (int i = 0; i < s->count; ++i) {
        tni_bounded* b = &s->rows[i];
        if (b->of->kind != TNI_BOUND_SPRING || b->is_open) continue;
        tni_soft_first_row(soft, b->of->actuation, &b->compliance, &b->c[0]);
    }
}
