// limb_force: springs, dampers, limits, friction and constant forces of a joint, on its own freedoms.
//
// The laws are those of force/actuation.c and joint/limit.c. They see two bodies only: the parent's, at rest,
// with its frame of the joint at the origin, and the limb's. With J the soft rows of these (tni_soft), E = J S
// their rates for each of the velocities v, and v' the acceleration asked for, the force at the end of h is
//     f - (h K + D) E (v + h v')
// so that    Q = E^T (f - (h K + D) E v)     and     h E^T (h K + D) E     is added inertia.
//
// A hard end whose row C would be below zero at the end of h, g being its rate for each of v, is landed on:
//     C + h g.(v + h v') = T,     T = 0, or 0.6 C where C < 0 already
// by a spring as stiff as k = 1e6 m/h^2, m the inertia of all that is beyond the joint, along g: what is left
// is a millionth of the way. The end does not throw back, and what rests on it rests: C stays below zero by
// next to nothing, so the end stays met until something pulls away. Landing on 0 from beyond would leave
// the velocity of the way back, and the end would be met and lost by turns.
//
// A hinge or slider needs none of the views.
#include "force/actuation.h"

#include "adaptive/limbs.h"
#include "math/elementary.h"

static const double two_pi    = 6.283185307179586;
static const double hard_over = 1e6; // a hard end's inertia over that of what it stops
static const double stays     = 0.6; // of what is beyond a hard end, after a step

enum { FREEDOMS = TNI_LIMB_FREEDOMS };

// ---- One coordinate -----------------------------------------------------------------------------

static bool is_plain(const tni_limb* limb)
{
    return limb->kind == TNI_LIMB_SLIDER || (limb->kind == TNI_LIMB_HINGE && limb->angle >= 0);
}

// The scene's coordinate of a hinge or slider, near the earlier one.
static double coordinate_of(const tni_limb* limb, const double* z, const double* q)
{
    const double s = limb->reversed ? -1 : 1;
    if (limb->kind == TNI_LIMB_SLIDER) return s * q[6];
    const double angle = 2 * tni_atan2(s * q[3], q[0]);
    return angle + two_pi * floor((z[limb->coordinate] - angle) / two_pi + 0.5);
}

// The push of a hard end; ahead: where its row would be.
static double landing_force(double k, double h, double C, double ahead)
{
    return -k / (h * h) * (ahead - (C < 0 ? stays * C : 0));
}

static double outboard_along(const tni_limb* limb)
{
    return limb->kind == TNI_LIMB_SLIDER ? limb->outboard.mass : limb->outboard.zz;
}

// A soft end on the side n, beyond which the coordinate is by e0. See soften_end in force/actuation.c.
static void plain_end(const tn_limit* limit, double n, double e0, double v, double h, double* f,
                      double* stiffness, double* damping)
{
    const bool   there = e0 > 0 || !(h > 0);
    const double rate = n * v, e = e0 + h * rate;
    const double k = there ? limit->stiffness : limit->stiffness + limit->damping / h;
    const double d = there ? limit->damping : 0;
    if (!(e > 0 && k * e + d * rate > 0)) return;
    *f -= k * e0 * n;
    *stiffness += k;
    *damping += d;
}

static void plain_force(const tni_limbs* limbs, const tni_limb* limb, const double* z,
                        const double* q, const double* v, double h, double* Q, double* K)
{
    const tn_model* model = limbs->model;
    const double    at    = coordinate_of(limb, z, q);
    if (limb->actuation >= 0) {
        const tni_actuation* a = &model->actuations[limb->actuation];
        double D = a->damping + tni_friction_secant(&model->joints[limb->joint], a, v, 0);
        double f = a->force[0] - a->stiffness * (at - a->rest[0]), stiffness = a->stiffness;
        if (tni_has_soft_limit(&a->limit) && a->limit.lower <= a->limit.upper) {
            plain_end(&a->limit, 1, at - a->limit.upper, v[0], h, &f, &stiffness, &D);
            plain_end(&a->limit, -1, a->limit.lower - at, v[0], h, &f, &stiffness, &D);
        }
        const double resist = h * stiffness + D;
        Q[0]                = f - resist * v[0];
        K[0]                = h * resist;
    }
    for (int i = 0; h > 0 && i < limb->limit_count; ++i) {
        const tni_limit* limit = &model->limits[limb->first_limit + i];
        const double     g     = limit->kind == TNI_LIMIT_LOWER ? 1 : -1;
        const double     C = g * (at - limit->end), ahead = C + h * (g * v[0]);
        if (!(ahead < 0)) continue;
        const double k = hard_over * outboard_along(limb);
        Q[0] += g * landing_force(k, h, C, ahead);
        K[0] += k;
    }
}

// ---- Any joint ----------------------------------------------------------------------------------

// The two bodies of a joint and nothing else.
typedef struct scene {
    tn_model      model;
    tni_body      bodies[2];
    tni_joint     joint;
    tni_actuation actuation;
    tni_view      views[2];
    double        u[6];              ///< of the limb's body
    tni_six       columns[FREEDOMS]; ///< S as velocities of its centre of mass, w and v
    int           side;              ///< the limb's
} scene;

// The parent's body, which is at rest, seen from its frame of the joint.
static tni_view parent_view(const tni_limbs* limbs, const tni_limb* limb, int body)
{
    static const double rest[6] = {0};
    const tni_mat3      F = tni_quat_matrix(limb->turn), Ft = tni_transposed(&F);
    tni_view view = {.R = Ft, .x = tni_neg(tni_mul(&Ft, limb->anchor)), .q = rest, .u = rest};
    if (limb->parent >= 0) return view;
    const tn_frame* start = &limbs->model->bodies[body].start; // the anchor is from the world
    const tni_mat3  R     = tni_quat_matrix(start->orientation);
    view.R                = tni_mat_mul(&Ft, &R);
    view.x                = tni_mul(&Ft, tni_sub(start->position, limb->anchor));
    return view;
}

static void set_limb(const tni_limb* limb, const double* q, const double* v, scene* s)
{
    const tni_mat3 R = tni_quat_matrix((tn_quat){q[0], q[1], q[2], q[3]});
    tni_six        S[FREEDOMS];
    tni_view*      view = &s->views[s->side];
    tni_limb_place(limb, q, NULL, S);
    tni_six m = tni_six_zero();
    for (int k = 0; k < limb->freedoms; ++k) {
        s->columns[k].w = tni_mul(&R, S[k].w);
        s->columns[k].v = tni_mul(&R, tni_add(S[k].v, tni_cross(S[k].w, limb->com)));
        m               = tni_six_add_scaled(m, v[k], s->columns[k]);
    }
    *view = (tni_view){.x = tni_add(tni_read3(q + 4), tni_mul(&R, limb->com)),
                       .R = tni_mat_mul(&R, &limb->axes),
                       .v = m.v,
                       .w = m.w,
                       .q = q,
                       .u = s->u};
    tni_write3(s->u, m.v);
    tni_write3(s->u + 3, m.w);
}

static void set_scene(const tni_limbs* limbs, const tni_limb* limb, const double* q,
                      const double* v, scene* s)
{
    const tn_model*  model = limbs->model;
    const tni_joint* joint = &model->joints[limb->joint];
    s->side                = limb->reversed ? 0 : 1;
    s->bodies[s->side]     = (tni_body){.kind = TN_BODY_RIGID, .dim = 6, .turns = true};
    s->bodies[1 - s->side] = (tni_body){.kind = TN_BODY_STATIC, .turns = true};
    s->joint               = *joint;
    s->joint.body1 = 0, s->joint.body2 = 1, s->joint.coordinate_start = 0;
    s->model.bodies     = s->bodies;
    s->model.joints     = &s->joint;
    s->model.actuations = &s->actuation;
    s->model.body_count = 2, s->model.joint_count = 1, s->model.actuation_count = 1;
    if (limb->actuation >= 0) s->actuation = model->actuations[limb->actuation];
    s->actuation.joint    = 0;
    s->views[1 - s->side] = parent_view(limbs, limb, limb->reversed ? joint->body2 : joint->body1);
    set_limb(limb, q, v, s);
}

// The rate of a row (v then w, as u of a body) for each velocity of the limb.
static void rates_of(const tni_limb* limb, const scene* s, const double* J, double* rate)
{
    for (int k = 0; k < limb->freedoms; ++k)
        rate[k] =
            tni_dot(tni_read3(J), s->columns[k].v) + tni_dot(tni_read3(J + 3), s->columns[k].w);
}

static double along(const double* a, const double* b, int n)
{
    double sum = 0;
    for (int k = 0; k < n; ++k) sum += a[k] * b[k];
    return sum;
}

static void add_soft(const tni_limb* limb, const scene* s, double time, const double* z,
                     const double* v, double h, double* Q, double* K)
{
    const tni_scene_view at    = {.model = &s->model, .time = time, .z = z, .views = s->views};
    const tni_ahead      ahead = {.h = h, .time = time + h};
    tni_soft             soft;
    double               E[TNI_COORDINATES_MAX][FREEDOMS], CE[TNI_COORDINATES_MAX][FREEDOMS];
    tni_soften_actuation(&at, &ahead, 0, &soft);
    const int n = soft.row_count, d = limb->freedoms;
    for (int i = 0; i < n; ++i) rates_of(limb, s, soft.J[s->side] + 6 * i, E[i]);
    for (int i = 0; i < n; ++i) {
        for (int k = 0; k < d; ++k) CE[i][k] = 0;
        for (int j = 0; j < n; ++j) {
            const double c = h * soft.K[i * n + j] + soft.D[i * n + j];
            for (int k = 0; k < d; ++k) CE[i][k] += c * E[j][k];
        }
        const double f = soft.f[i] - along(CE[i], v, d);
        for (int k = 0; k < d; ++k) Q[k] += E[i][k] * f;
        for (int k = 0; k < d; ++k)
            for (int l = 0; l < d; ++l) K[k * d + l] += h * E[i][k] * CE[i][l];
    }
}

// The inertia of what is beyond the joint against a unit rate along g, by the velocities g/|g|^2.
static double inertia_along(const tni_limb* limb, const double* q, const double* g)
{
    tni_six      S[FREEDOMS];
    const double gg = along(g, g, limb->freedoms);
    tni_limb_place(limb, q, NULL, S);
    const tni_six m = tni_limb_motion(limb, S, g);
    return gg > 0 ? tni_six_dot(m, tni_rigid_times(&limb->outboard, m)) / (gg * gg) : 0;
}

static void add_end(const tni_limb* limb, const scene* s, tni_limit limit, const double* z,
                    const double* q, const double* v, double h, double* Q, double* K)
{
    double    J[6], g[FREEDOMS];
    const int d         = limb->freedoms;
    limit.joint         = 0;
    const tni_row row   = tni_limit_row(&s->model, &limit, s->views, z);
    const bool    first = s->side == 0;
    tni_push_row(&s->bodies[s->side], &s->views[s->side], first ? s->joint.p1 : s->joint.p2,
                 first ? &s->joint.F1 : &s->joint.F2, &row.push[s->side], J);
    rates_of(limb, s, J, g);
    const double ahead = row.C + h * along(g, v, d);
    if (!(ahead < 0)) return;
    const double k = hard_over * inertia_along(limb, q, g), f = landing_force(k, h, row.C, ahead);
    for (int i = 0; i < d; ++i) {
        Q[i] += g[i] * f;
        for (int j = 0; j < d; ++j) K[i * d + j] += k * g[i] * g[j];
    }
}

bool tni_limb_force(const tni_limbs* limbs, int index, double time, const double* z,
                    const double* q, const double* v, double h, double* Q, double* K)
{
    const tni_limb* limb = &limbs->limbs[index];
    const int       d    = limb->freedoms;
    for (int k = 0; k < d; ++k) Q[k] = 0;
    for (int k = 0; k < d * d; ++k) K[k] = 0;
    if (limb->actuation < 0 && !(h > 0 && limb->limit_count > 0)) return false;
    if (is_plain(limb)) {
        plain_force(limbs, limb, z, q, v, h, Q, K);
        return true;
    }
    scene         s   = {.side = 0};
    const double* own = z + limbs->model->joints[limb->joint].coordinate_start;
    set_scene(limbs, limb, q, v, &s);
    if (limb->actuation >= 0) add_soft(limb, &s, time, own, v, h, Q, K);
    for (int i = 0; h > 0 && i < limb->limit_count; ++i)
        add_end(limb, &s, limbs->model->limits[limb->first_limit + i], own, q, v, h, Q, K);
    return true;
}
