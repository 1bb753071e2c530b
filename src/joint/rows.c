// rows: the row types that all joints are made of (model/joint_types.h), and free coordinates.
//
// Everything is a scalar function of points and axes fixed in two bodies. With p, a such a point or
// axis, its rate and its second derivative at zero udot ("bias") known, each type follows by the
// product rule:
//     C = s . t:   rate = sdot.t + s.tdot,   gamma = sbias.t + 2 sdot.tdot + s.tbias
// and its J is the covector t on s and s on t. So row types do not depend on the kind of body, nor
// kinds of bodies on row types.
//     angle = atan2(y, x) of two such products:  rate = (x ydot - y xdot)/n,  n = x^2 + y^2
//     gamma = (x ybias - y xbias)/n - 2 rate (x xdot + y ydot)/n
// Rolling: c is the point of the round surface that is nearest to the plane, V the velocity of body
// 2's material there less that of body 1's; V = 0. For the row along the normal this is the rate of
// the height.
#include "joint/joint.h"

#include "math/elementary.h"

static const double two_pi = 6.283185307179586;

// The two frames of a joint.
typedef struct pair {
    const tni_body* body[2];
    const tni_view* view[2];
    const tni_mat3* F[2];
    tni_motion      p[2];
    tni_motion      D; ///< p[1] - p[0]
} pair;

// Without the anchors.
static pair frames_of(const tn_model* model, const tni_joint* joint, tni_sides sides)
{
    pair f;
    f.body[0] = &model->bodies[joint->body1], f.body[1] = &model->bodies[joint->body2];
    f.view[0] = sides.view1, f.view[1] = sides.view2;
    f.F[0] = &joint->F1, f.F[1] = &joint->F2;
    return f;
}

static pair pair_of(const tn_model* model, const tni_joint* joint, tni_sides sides)
{
    pair f = frames_of(model, joint, sides);
    f.p[0] = tni_point_motion(f.body[0], f.view[0], joint->p1);
    f.p[1] = tni_point_motion(f.body[1], f.view[1], joint->p2);
    f.D    = (tni_motion){tni_sub(f.p[1].at, f.p[0].at), tni_sub(f.p[1].rate, f.p[0].rate),
                          tni_sub(f.p[1].bias, f.p[0].bias)};
    return f;
}

static tni_motion axis_of(const pair* f, int side, int k)
{
    return tni_axis_motion(f->body[side], f->view[side], tni_column(f->F[side], k));
}

// Fills a row in place, and only what it uses: a tni_push is large and mostly unused.
static void set_row(tni_row* row, double C, double rate, double gamma)
{
    row->C = C, row->rate = rate, row->gamma = gamma;
    for (int side = 0; side < 2; ++side) {
        tni_push* push = &row->push[side];
        push->force = push->torque = tni_vec3(0, 0, 0);
        push->on_axis[0] = push->on_axis[1] = push->on_axis[2] = false;
    }
}

static void push_axis(tni_push* push, int k, double scale, tn_vec3 covector)
{
    push->axis[k] =
        tni_add_scaled(push->on_axis[k] ? push->axis[k] : tni_vec3(0, 0, 0), scale, covector);
    push->on_axis[k] = true;
}

// s . t and its first and second derivative.
typedef struct value {
    double C, rate, gamma;
} value;

static value product(const tni_motion* s, const tni_motion* t)
{
    return (value){tni_dot(s->at, t->at), tni_dot(s->rate, t->at) + tni_dot(s->at, t->rate),
                   tni_dot(s->bias, t->at) + 2 * tni_dot(s->rate, t->rate) +
                       tni_dot(s->at, t->bias)};
}

// Equal and opposite forces at the two anchors.
static void push_apart(tni_row* row, tn_vec3 direction)
{
    row->push[1].force = direction;
    row->push[0].force = tni_neg(direction);
}

static void point_row(const pair* f, int k, tni_row* row)
{
    set_row(row, tni_at(f->D.at, k), tni_at(f->D.rate, k), tni_at(f->D.bias, k));
    push_apart(row, tni_vec3(k == 0, k == 1, k == 2));
}

static void line_row(const pair* f, int k, tni_row* row)
{
    const tni_motion a = axis_of(f, 0, k);
    const value      v = product(&a, &f->D);
    set_row(row, v.C, v.rate, v.gamma);
    push_apart(row, a.at);
    push_axis(&row->push[0], k, 1, f->D.at);
}

static void dot_row(const pair* f, int k, int l, tni_row* row)
{
    const tni_motion s = axis_of(f, 0, k), t = axis_of(f, 1, l);
    const value      v = product(&s, &t);
    set_row(row, v.C, v.rate, v.gamma);
    push_axis(&row->push[0], k, 1, t.at);
    push_axis(&row->push[1], l, 1, s.at);
}

static void distance_row(const pair* f, double length, tni_row* row)
{
    const double  d    = tni_norm(f->D.at);
    const tn_vec3 n    = tni_scale(1 / d, f->D.at);
    const double  rate = tni_dot(n, f->D.rate);
    set_row(row, d - length, rate,
            tni_dot(n, f->D.bias) + (tni_dot(f->D.rate, f->D.rate) - rate * rate) / d);
    push_apart(row, n);
}

// atan2(a1_ky . a2_ly, a1_kx . a2_lx), plus the full turns that bring it nearest to `near`.
static void angle_row(const pair* f, int ky, int ly, int kx, int lx, double near, tni_row* row)
{
    const tni_motion sy = axis_of(f, 0, ky), ty = axis_of(f, 1, ly);
    const tni_motion sx = axis_of(f, 0, kx), tx = axis_of(f, 1, lx);
    const value      y = product(&sy, &ty), x = product(&sx, &tx);
    const double     n = x.C * x.C + y.C * y.C, angle = tni_atan2(y.C, x.C);
    const double     rate = (x.C * y.rate - y.C * x.rate) / n;
    set_row(row, angle + two_pi * floor((near - angle) / two_pi + 0.5), rate,
            (x.C * y.gamma - y.C * x.gamma) / n - 2 * rate * (x.C * x.rate + y.C * y.rate) / n);
    push_axis(&row->push[1], ly, x.C / n, sy.at);
    push_axis(&row->push[1], lx, -y.C / n, sx.at);
    push_axis(&row->push[0], ky, x.C / n, ty.at);
    push_axis(&row->push[0], kx, -y.C / n, tx.at);
}

// The value alone.
static double angle_of(const pair* f, int ky, int ly, int kx, int lx, double near)
{
    tn_vec3 at[4];
    for (int i = 0; i < 4; ++i) {
        const int       side = i % 2, k = i == 0 ? ky : i == 1 ? ly : i == 2 ? kx : lx;
        const tni_body* body = f->body[side];
        if (i == 3 && lx == ly) at[3] = at[1];
        else if (body->kind == TN_BODY_AFFINE || body->kind == TN_BODY_USER)
            at[i] = axis_of(f, side, k).at;
        else at[i] = tni_mul(&f->view[side]->R, tni_column(f->F[side], k));
    }
    const double angle = tni_atan2(tni_dot(at[0], at[1]), tni_dot(at[2], at[3]));
    return angle + two_pi * floor((near - angle) / two_pi + 0.5);
}

// Orientation and angular velocity of any kind of body that has axes.
static void attitude(const tni_body* body, const tni_view* view, tni_mat3* R, tn_vec3* w)
{
    *R = view->R;
    *w = view->w;
    if (body->kind != TN_BODY_AFFINE && body->kind != TN_BODY_USER) return;
    *R = tni_quat_matrix(tni_view_pose(body, view).orientation);
    *w = tni_view_velocity(body, view).angular;
}

// The rotation vector from frame 1 to frame 2, in frame 1. Its `rate` is the relative angular
// velocity: the two differ by the left Jacobian, and springs and dampers need this one.
typedef struct relative_turn {
    tn_vec3  theta;
    tni_mat3 frame1;
    tn_vec3  w1, rate; ///< in world axes
} relative_turn;

static relative_turn turn_of(const pair* f)
{
    tni_mat3 R[2], frame[2];
    tn_vec3  w[2];
    for (int side = 0; side < 2; ++side) {
        attitude(f->body[side], f->view[side], &R[side], &w[side]);
        frame[side] = tni_mat_mul(&R[side], f->F[side]);
    }
    const tni_mat3 frame1_t = tni_transposed(&frame[0]);
    const tni_mat3 relative = tni_mat_mul(&frame1_t, &frame[1]);
    return (relative_turn){tni_quat_log(tni_matrix_quat(&relative)), frame[0], w[0],
                           tni_sub(w[1], w[0])};
}

static void rotation_row(const relative_turn* turn, int k, tni_row* row)
{
    const tn_vec3 a = tni_column(&turn->frame1, k);
    set_row(row, tni_at(turn->theta, k), tni_dot(a, turn->rate),
            tni_dot(tni_cross(turn->w1, a), turn->rate));
    row->push[1].torque = a;
    row->push[0].torque = tni_neg(a);
}

static void push_add_scaled(tni_push* to, double s, const tni_push* from)
{
    to->force  = tni_add_scaled(to->force, s, from->force);
    to->torque = tni_add_scaled(to->torque, s, from->torque);
    for (int k = 0; k < 3; ++k) {
        if (from->on_axis[k]) push_axis(to, k, s, from->axis[k]);
    }
}

static void screw_row(const pair* f, double advance, double near, tni_row* row)
{
    tni_row angle;
    line_row(f, 2, row);
    angle_row(f, 1, 0, 0, 0, near, &angle);
    row->C -= advance * angle.C;
    row->rate -= advance * angle.rate;
    row->gamma -= advance * angle.gamma;
    for (int i = 0; i < 2; ++i) push_add_scaled(&row->push[i], -advance, &angle.push[i]);
}

// The part of the normal perpendicular to a disc's axis determines where its rim is lowest.
void tni_rolling_arm(const tni_motion* n, const tni_motion* axis, double radius,
                     tni_rolling_contact* rolling)
{
    tn_vec3 m = n->at, mdot = n->rate;
    if (axis != NULL) {
        const value lean = product(n, axis);
        m                = tni_add_scaled(n->at, -lean.C, axis->at);
        mdot = tni_add_scaled(tni_add_scaled(n->rate, -lean.rate, axis->at), -lean.C, axis->rate);
    }
    const double  length = tni_norm(m);
    const tn_vec3 unit   = tni_scale(1 / length, m);
    rolling->arm         = tni_scale(-radius, unit);
    rolling->arm_rate =
        tni_scale(-radius / length, tni_add_scaled(mdot, -tni_dot(unit, mdot), unit));
}

void tni_rolling_row(const tni_rolling_contact* rolling, const tni_motion* a, tni_row* row)
{
    const tni_motion* D  = &rolling->D;
    const tn_vec3     w1 = rolling->w1, w2 = rolling->w2, arm = rolling->arm;
    const tn_vec3     lever = tni_add(D->at, arm), lever_rate = tni_add(D->rate, rolling->arm_rate);
    const tn_vec3     V = tni_sub(tni_add(D->rate, tni_cross(w2, arm)), tni_cross(w1, lever));
    const tn_vec3     Vbias =
        tni_sub(tni_add(D->bias, tni_cross(w2, rolling->arm_rate)), tni_cross(w1, lever_rate));
    set_row(row, 0, tni_dot(a->at, V), tni_dot(a->rate, V) + tni_dot(a->at, Vbias));
    push_apart(row, a->at);
    row->push[1].torque = tni_cross(arm, a->at);
    row->push[0].torque = tni_neg(tni_cross(lever, a->at));
}

static void roll_row(const pair* f, const tni_joint* joint, int k, tni_row* row)
{
    const tni_motion    n = axis_of(f, 0, 2), a = axis_of(f, 0, k), b = axis_of(f, 1, 2);
    tni_rolling_contact rolling = {.D = f->D, .w1 = f->view[0]->w, .w2 = f->view[1]->w};
    tni_rolling_arm(&n, joint->wheel ? &b : NULL, joint->size, &rolling);
    tni_rolling_row(&rolling, &a, row);
    if (k == 2) row->C = tni_dot(n.at, tni_add(rolling.D.at, rolling.arm));
}

static void coordinate_row(const pair* f, tni_coordinate coordinate, double near, tni_row* row)
{
    switch (coordinate) {
    case TNI_COORDINATE_SLIDE_X: line_row(f, 0, row); break;
    case TNI_COORDINATE_SLIDE_Y: line_row(f, 1, row); break;
    case TNI_COORDINATE_SLIDE_Z: line_row(f, 2, row); break;
    case TNI_COORDINATE_ANGLE: angle_row(f, 1, 0, 0, 0, near, row); break;
    case TNI_COORDINATE_BEND: angle_row(f, 2, 1, 2, 2, near, row); break;
    default: {
        const relative_turn turn = turn_of(f);
        rotation_row(&turn, (int)coordinate - TNI_COORDINATE_ROTATION_X, row);
    }
    }
}

static void drive_row(const pair* f, const tni_joint* joint, double time, tni_row* row)
{
    double velocity, velocity_rate;
    coordinate_row(f, joint->type->coordinates[0], 0, row);
    tni_values_at(joint->drive, joint->drive_count, time, &velocity, &velocity_rate);
    row->C = 0;
    row->rate -= velocity;
    row->gamma -= velocity_rate;
}

static void part_row(const pair* f, const tni_joint* joint, const tni_row_part* part, double time,
                     double near, tni_row* row)
{
    switch (part->op) {
    case TNI_ROW_POINT: point_row(f, part->k, row); break;
    case TNI_ROW_LINE: line_row(f, part->k, row); break;
    case TNI_ROW_DOT: dot_row(f, part->k, part->l, row); break;
    case TNI_ROW_DISTANCE: distance_row(f, joint->size, row); break;
    case TNI_ROW_SCREW: screw_row(f, joint->size, near, row); break;
    case TNI_ROW_ROLL: roll_row(f, joint, part->k, row); break;
    default: drive_row(f, joint, time, row);
    }
}

int tni_joint_rows(const tn_model* model, const tni_joint* joint, tni_sides sides, double time,
                   const double* z, tni_row* rows)
{
    const tni_constraint* constraint = &model->constraints[joint->constraint];
    const pair            f          = pair_of(model, joint, sides);
    const double          near       = joint->coordinate_count > 0 ? z[joint->coordinate_start] : 0;
    for (int i = 0; i < constraint->row_count; ++i) {
        part_row(&f, joint, &joint->type->parts[joint->parts[i]], time, near, &rows[i]);
    }
    return constraint->row_count;
}

// Rows that are components of a vector in frame 1: their index by axis, and sign. -1: none.
typedef struct components {
    int    row[3];
    double sign[3];
} components;

static void turn_vector(const components* of, const tni_mat3* T, double* values)
{
    double v[3], w[3];
    for (int k = 0; k < 3; ++k) v[k] = of->row[k] >= 0 ? of->sign[k] * values[of->row[k]] : 0;
    for (int k = 0; k < 3; ++k)
        w[k] = T->m[3 * k] * v[0] + T->m[3 * k + 1] * v[1] + T->m[3 * k + 2] * v[2];
    for (int k = 0; k < 3; ++k)
        if (of->row[k] >= 0) values[of->row[k]] = of->sign[k] * w[k];
}

// A small rotation t of frame 2 against frame 1 makes a1_k . a2_l = t . (a_l x a_k).
void tni_joint_rotate_errors(const tn_model* model, const tni_joint* joint, const tni_mat3* R0,
                             const tni_mat3* R, double* values)
{
    const tni_constraint* constraint = &model->constraints[joint->constraint];
    const tn_body_kind    kind       = model->bodies[joint->body1].kind;
    components            offset = {{-1, -1, -1}, {1, 1, 1}}, tilt = {{-1, -1, -1}, {-1, 1, -1}};
    bool                  any = false;
    if (kind == TN_BODY_AFFINE || kind == TN_BODY_USER) return;
    for (int i = 0; i < constraint->held_count; ++i) {
        const tni_row_part* part = &joint->type->parts[joint->parts[i]];
        if (part->op == TNI_ROW_LINE) offset.row[part->k] = i, any = true;
        if (part->op == TNI_ROW_DOT && part->k < part->l)
            tilt.row[3 - part->k - part->l] = i, any = true;
    }
    if (!any) return;
    const tni_mat3 A0 = tni_mat_mul(R0, &joint->F1), A = tni_mat_mul(R, &joint->F1),
                   A0_t = tni_transposed(&A0), T = tni_mat_mul(&A0_t, &A);
    turn_vector(&offset, &T, values);
    turn_vector(&tilt, &T, values);
}

tni_row tni_joint_coordinate(const tn_model* model, const tni_joint* joint, int k, tni_sides sides,
                             const double* z)
{
    const pair f = pair_of(model, joint, sides);
    tni_row    row;
    coordinate_row(&f, joint->type->coordinates[k], z[joint->coordinate_start + k], &row);
    return row;
}

void tni_joint_coordinates(const tn_model* model, const tni_joint* joint, tni_sides sides,
                           const double* z, tni_row* rows)
{
    const pair     f           = pair_of(model, joint, sides);
    const uint8_t* coordinates = joint->type->coordinates;
    for (int k = 0; k < joint->coordinate_count; ++k) {
        if (coordinates[k] < TNI_COORDINATE_ROTATION_X) {
            coordinate_row(&f, coordinates[k], z[joint->coordinate_start + k], &rows[k]);
            continue;
        }
        const relative_turn turn = turn_of(&f); // for all three
        for (int i = 0; i < 3; ++i) rotation_row(&turn, i, &rows[k + i]);
        k += 2;
    }
}

void tni_follow_coordinates(const tn_model* model, const tni_view* views, double* z)
{
    for (int i = 0; i < model->joint_count; ++i) {
        const tni_joint* joint = &model->joints[i];
        for (int k = 0; k < joint->coordinate_count; ++k) {
            const uint8_t coordinate = joint->type->coordinates[k];
            const pair    f          = frames_of(model, joint, tni_sides_of(joint, views));
            double*       known      = &z[joint->coordinate_start + k];
            if (coordinate == TNI_COORDINATE_ANGLE) *known = angle_of(&f, 1, 0, 0, 0, *known);
            if (coordinate == TNI_COORDINATE_BEND) *known = angle_of(&f, 2, 1, 2, 2, *known);
        }
    }
}

void tni_joint_push(const tn_model* model, const tni_joint* joint, tni_sides sides,
                    const tni_row* row, double tau, double* f)
{
    const tni_body *body1 = &model->bodies[joint->body1], *body2 = &model->bodies[joint->body2];
    tni_push_add(body1, sides.view1, joint->p1, &joint->F1, &row->push[0], tau, f);
    tni_push_add(body2, sides.view2, joint->p2, &joint->F2, &row->push[1], tau, f);
}

static tn_wrench row_wrench(const pair* f, const tni_row* row, double lambda)
{
    const tni_push* push = &row->push[1];
    tn_vec3         turn = push->torque;
    for (int k = 0; k < 3; ++k) {
        if (push->on_axis[k]) turn = tni_add(turn, tni_cross(axis_of(f, 1, k).at, push->axis[k]));
    }
    return (tn_wrench){tni_scale(lambda, push->force), tni_scale(lambda, turn)};
}

tn_wrench tni_row_wrench(const tn_model* model, const tni_joint* joint, tni_sides sides,
                         const tni_row* row, double lambda)
{
    const pair f = pair_of(model, joint, sides);
    return row_wrench(&f, row, lambda);
}

tn_wrench tni_joint_reaction(const tn_model* model, const tni_joint* joint, tni_sides sides,
                             double time, const double* z, const double* lambda)
{
    tni_row    rows[TNI_JOINT_ROWS_MAX];
    const int  count = tni_joint_rows(model, joint, sides, time, z, rows);
    const pair f     = pair_of(model, joint, sides);
    tn_wrench  sum   = {{0, 0, 0}, {0, 0, 0}};
    for (int i = 0; i < count; ++i) {
        const tn_wrench part = row_wrench(&f, &rows[i], lambda[i]);
        sum.force            = tni_add(sum.force, part.force);
        sum.torque           = tni_add(sum.torque, part.torque);
    }
    return sum;
}

tn_vec3 tni_joint_reaction_force(const tn_model* model, const tni_joint* joint, tni_sides sides,
                                 double time, const double* z, const double* lambda)
{
    const int count = model->constraints[joint->constraint].row_count;
    tn_vec3   sum   = {0, 0, 0};
    for (int i = 0; i < count; ++i) {
        const tni_row_part* part = &joint->type->parts[joint->parts[i]];
        if (part->op != TNI_ROW_POINT && part->op != TNI_ROW_DOT)
            return tni_joint_reaction(model, joint, sides, time, z, lambda).force;
        const bool point = part->op == TNI_ROW_POINT;
        sum =
            tni_add(sum, tni_scale(lambda[i], tni_vec3(point && part->k == 0, point && part->k == 1,
                                                       point && part->k == 2)));
    }
    return sum;
}
