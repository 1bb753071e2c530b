// joint_force_derive: exact derivatives of the forces of joints. Rows are the free coordinates and,
// for balls, swing and twist; derive.c makes blocks of them.
//
//     slide    a.D                     a an axis of frame 1, D = p2 - p1
//     angle    atan2(y, x)             y, x products of an axis of each frame
//     rotation the axes of frame 1 as torques
//     swing    beta = acos(z1.z2)      dbeta/dc = -1/sin beta, d2beta/dc2 = -cos beta/sin^3 beta
//     twist    the torque (z1 + z2)/(1 + z1.z2)
// A rotation vector's spring has -dtau/de = k Jl^-1(theta), which is not symmetric.
#include "force/derive.h"
#include "force/joint_force.h"

static const double parallel_min = 1e-12; // sine of the swing below which it has no direction
static const double opposite_min = 1e-9;  // 1 + z1.z2 below which the axes are opposite

static tni_feature axis_of(const tni_joint* joint, int side, int k)
{
    return (tni_feature){side, false, tni_column(side == 0 ? &joint->F1 : &joint->F2, k)};
}

// Q += s a b^T + t 1
static void add_outer(tni_mat3* Q, double s, tn_vec3 a, tn_vec3 b, double t)
{
    const double x[3] = {a.x, a.y, a.z}, y[3] = {b.x, b.y, b.z};
    for (int i = 0; i < 9; ++i) Q->m[i] += s * x[i / 3] * y[i % 3] + (i % 4 == 0 ? t : 0);
}

static tn_vec3 axis_at(const tni_scene_view* at, const tni_joint* joint, int side, int k)
{
    const int         body = side == 0 ? joint->body1 : joint->body2;
    const tni_feature X    = axis_of(joint, side, k);
    return tni_axis_motion(&at->model->bodies[body], &at->views[body], X.local).at;
}

static tni_derived_row slide(const tni_scene_view* at, const tni_joint* joint, int k)
{
    const tni_body* bodies = at->model->bodies;
    const tn_vec3   zero = {0, 0, 0}, a = axis_at(at, joint, 0, k);
    const tn_vec3   D =
        tni_sub(tni_point_motion(&bodies[joint->body2], &at->views[joint->body2], joint->p2).at,
                tni_point_motion(&bodies[joint->body1], &at->views[joint->body1], joint->p1).at);
    tni_derived_row row = {
        .count = 3,
        .X     = {axis_of(joint, 0, k), {0, true, joint->p1}, {1, true, joint->p2}},
        .g     = {D, tni_neg(a), a},
    };
    add_outer(&row.Q[0][1], 0, zero, zero, -1);
    add_outer(&row.Q[1][0], 0, zero, zero, -1);
    add_outer(&row.Q[0][2], 0, zero, zero, 1);
    add_outer(&row.Q[2][0], 0, zero, zero, 1);
    return row;
}

// atan2(y, x),  y = a1_ky . a2_ly,  x = a1_kx . a2_lx:  four features, two of y and two of x.
static tni_derived_row angle(const tni_scene_view* at, const tni_joint* joint, int ky, int ly,
                             int kx, int lx)
{
    const tn_vec3 zero = {0, 0, 0}, sy = axis_at(at, joint, 0, ky), ty = axis_at(at, joint, 1, ly),
                  sx = axis_at(at, joint, 0, kx), tx = axis_at(at, joint, 1, lx);
    const double y = tni_dot(sy, ty), x = tni_dot(sx, tx), n = x * x + y * y;
    const double by_y = x / n, by_x = -y / n, by_yy = -2 * x * y / (n * n), by_xx = -by_yy,
                 by_xy      = (y * y - x * x) / (n * n);
    const tn_vec3   y_by[4] = {ty, sy, zero, zero}, x_by[4] = {zero, zero, tx, sx};
    tni_derived_row row = {.count = 4,
                           .X     = {axis_of(joint, 0, ky), axis_of(joint, 1, ly),
                                     axis_of(joint, 0, kx), axis_of(joint, 1, lx)}};
    for (int i = 0; i < 4; ++i) {
        row.g[i] = tni_add_scaled(tni_scale(by_y, y_by[i]), by_x, x_by[i]);
        for (int j = 0; j < 4; ++j) {
            const bool   factors = i != j && i / 2 == j / 2; // of the same product
            const double product = !factors ? 0 : i < 2 ? by_y : by_x;
            add_outer(&row.Q[i][j], by_yy, y_by[i], y_by[j], product);
            add_outer(&row.Q[i][j], by_xx, x_by[i], x_by[j], 0);
            add_outer(&row.Q[i][j], by_xy, y_by[i], x_by[j], 0);
            add_outer(&row.Q[i][j], by_xy, x_by[i], y_by[j], 0);
        }
    }
    return row;
}

static tni_derived_row rotation(const tni_scene_view* at, const tni_joint* joint, int k)
{
    return (tni_derived_row){.count  = 1,
                             .X      = {axis_of(joint, 0, k)},
                             .torque = axis_at(at, joint, 0, k),
                             .T      = {tni_identity3()}};
}

static tni_derived_row coordinate(const tni_scene_view* at, const tni_joint* joint, int k)
{
    const int c = joint->type->coordinates[k];
    if (c <= TNI_COORDINATE_SLIDE_Z) return slide(at, joint, c - TNI_COORDINATE_SLIDE_X);
    if (c == TNI_COORDINATE_ANGLE) return angle(at, joint, 1, 0, 0, 0);
    if (c == TNI_COORDINATE_BEND) return angle(at, joint, 2, 1, 2, 2);
    return rotation(at, joint, c - TNI_COORDINATE_ROTATION_X);
}

static tni_derived_row swing(const tni_scene_view* at, const tni_joint* joint)
{
    const tn_vec3   z[2] = {axis_at(at, joint, 0, 2), axis_at(at, joint, 1, 2)};
    const double    c = tni_dot(z[0], z[1]), s = tni_norm(tni_cross(z[0], z[1]));
    tni_derived_row row = {.count = 2, .X = {axis_of(joint, 0, 2), axis_of(joint, 1, 2)}};
    if (!(s > parallel_min)) return row;
    for (int i = 0; i < 2; ++i) {
        row.g[i] = tni_scale(-1 / s, z[1 - i]);
        for (int j = 0; j < 2; ++j)
            add_outer(&row.Q[i][j], -c / (s * s * s), z[1 - i], z[1 - j], i != j ? -1 / s : 0);
    }
    return row;
}

static tni_derived_row twist(const tni_scene_view* at, const tni_joint* joint)
{
    const tn_vec3   z[2] = {axis_at(at, joint, 0, 2), axis_at(at, joint, 1, 2)};
    const double    n    = 1 + tni_dot(z[0], z[1]);
    tni_derived_row row  = {.count = 2, .X = {axis_of(joint, 0, 2), axis_of(joint, 1, 2)}};
    if (!(n > opposite_min)) return row;
    row.torque = tni_scale(1 / n, tni_add(z[0], z[1]));
    for (int i = 0; i < 2; ++i) add_outer(&row.T[i], -1 / n, row.torque, z[1 - i], 1 / n);
    return row;
}

// ---- The force along the rows -------------------------------------------------------------------

typedef struct push_law {
    int    count;
    double tau[TNI_DERIVED_ROWS_MAX];
    double K[TNI_DERIVED_ROWS_MAX * TNI_DERIVED_ROWS_MAX],
        D[TNI_DERIVED_ROWS_MAX * TNI_DERIVED_ROWS_MAX];
} push_law;

static void add_spring(const tni_joint* joint, const tni_joint_force* a, const double* stretch,
                       push_law* law)
{
    for (int k = 0; k < joint->coordinate_count; ++k) {
        law->tau[k] = a->force[k] - a->stiffness * stretch[k];
        if (!tni_is_rotation(joint, k)) {
            law->K[k * law->count + k] = a->stiffness;
            continue;
        }
        const int     x      = k + TNI_COORDINATE_ROTATION_X - joint->type->coordinates[k];
        const tn_vec3 e      = {x == k, x + 1 == k, x + 2 == k},
                      column = tni_left_jacobian_inverse(tni_read3(stretch + x), e);
        for (int i = 0; i < 3; ++i)
            law->K[(x + i) * law->count + k] = a->stiffness * tni_at(column, i);
    }
}

// Friction: the derivative is c 1 - c/size^2 v v^T with the secant c = friction/size.
static void add_damping(const tni_joint* joint, const tni_joint_force* a, const double* rate,
                        push_law* law)
{
    for (int k = 0; k < joint->coordinate_count; ++k) {
        const double c = tni_friction_secant(joint, a, rate, k);
        law->tau[k] -= (a->damping + c) * rate[k];
        law->D[k * law->count + k] += a->damping + c;
        if (!(c > 0)) continue;
        const double over  = c * (c / a->friction) * (c / a->friction); // c/size^2
        const bool   turns = tni_is_rotation(joint, k);
        const int    x = turns ? k + TNI_COORDINATE_ROTATION_X - joint->type->coordinates[k] : k;
        for (int l = x; l < x + (turns ? 3 : 1); ++l)
            law->D[k * law->count + l] -= over * rate[k] * rate[l];
    }
}

// Adds a one-sided limit on row k with the force tau.
static void add_end(const tn_limit* limit, int k, double tau, push_law* law)
{
    law->tau[k] += tau;
    if (tau == 0) return;
    law->K[k * law->count + k] += limit->stiffness;
    law->D[k * law->count + k] += limit->damping;
}

static void derive(const tni_scene_view* at, const tni_joint_force* a, tni_take_derivative* take,
                   void* user)
{
    const tni_joint* joint = &at->model->joints[a->joint];
    const tni_sides  sides = tni_sides_of(joint, at->views);
    const int        n     = joint->coordinate_count;
    const bool       ball  = tni_has_ball_limit(joint, &a->limit);
    tni_row          rows[TNI_COORDINATES_MAX];
    double           stretch[TNI_COORDINATES_MAX], rate[TNI_COORDINATES_MAX];
    tni_derivation   d;
    push_law         law = {.count = ball ? n + 2 : n};
    tni_actuated_coordinates(at, a, sides, rows, stretch);
    for (int k = 0; k < n; ++k) rate[k] = rows[k].rate;
    add_spring(joint, a, stretch, &law);
    add_damping(joint, a, rate, &law);
    if (ball) {
        double ends[2];
        tni_ball_limit(joint, sides, &a->limit, ends);
        for (int k = 0; k < 2; ++k) add_end(&a->limit, n + k, ends[k], &law);
    } else if (tni_has_soft_limit(&a->limit) && n > 0) {
        add_end(&a->limit, 0,
                tni_limit_force(&a->limit, a->limit.lower, a->limit.upper, rows[0].C, rate[0]),
                &law);
    }
    tni_derivation_begin(&d, at, joint->body1, joint->body2);
    for (int k = 0; k < law.count; ++k) {
        const tni_derived_row row = k < n    ? coordinate(at, joint, k)
                                    : k == n ? swing(at, joint)
                                             : twist(at, joint);
        tni_derivation_add(&d, &row, law.tau[k]);
    }
    tni_derivation_end(&d, law.K, law.D, take, user);
}

void tni_derive_actuations(const tni_scene_view* at, tni_take_derivative* take, void* user)
{
    for (int i = 0; i < at->model->actuation_count; ++i)
        derive(at, &at->model->actuations[i], take, user);
}
