// link_force: springs, dampers, limits, friction and constant forces of a joint, on its own freedoms.
//
// The laws are those of force/joint_force.c and joint/hard_limit.c. With rows of forces f, stiffness K and damping D (tni_soft),
// their rates E v, and v' the acceleration asked for, the force at the end of h is
//     f - (h K + D) E (v + h v')
// so that    Q = E^T (f - (h K + D) E v)     and     h E^T (h K + D) E     is added inertia.
//
// Hinge, slider, universal: v are the rates of the scene's coordinates, E = 1, and these are springs side by side.
//
// Ball: said in limb axes, where E = 1 (reversed, in brackets: -1). With g the limb's quaternion, R its matrix, r that
// of the rest, k and d the spring's and damper's:
//     f        R^T force  (-force),  less k theta with exp(theta) = r^-1 g  (r g)
//     h K + D  h k S(theta) + d,     S: tni_soft_torsion
// The parent's z axis stands in the limb at p = (a, b, c). The swing between the two z axes grows by (b, -a, 0)/s . v
// with s = |(a, b)|, whichever of them is the limb's; the twist by (a, b, 1 + c)/(1 + c) . v  (the negative of it).
//
// Any other joint: two bodies in a scene that is kept for it: the parent's, at rest, with its frame of the joint at the
// origin, and the limb's.  E = J S.
//
// A hard end whose row C would be below zero at the end of h, g being its rate for each of v, is landed on:
//     C + h g.(v + h v') = T,     T = 0, or the smaller of 0.6 C and C + h (1 m/s or rad/s) where C < 0
// by a spring as stiff as k = 1e6 m/h^2, m the inertia of all that is beyond the joint, along g: what is left
// is a millionth of the way. The end does not throw back, and what rests on it rests: C stays below zero by
// next to nothing, so the end stays met until something pulls away. Landing on 0 from beyond would leave
// the velocity of the way back, and the end would be met and lost by turns.
#include "force/joint_force.h"

#include "adaptive/joint_tree.h"
#include "force/soft.h"
#include "math/elementary.h"

static const double two_pi       = 6.283185307179586;
static const double hard_over    = 1e6;  // a hard end's inertia over that of what it stops
static const double stays        = 0.6;  // of what is beyond a hard end, after a step
static const double back         = 1;    // and no faster than this back to it [m/s or rad/s]
static const double opposite_max = 1e-9; // 1 + z1.z2 of axes that are opposite

enum { FREEDOMS = TNI_TREE_LINK_FREEDOMS };

// ---- Ends ---------------------------------------------------------------------------------------

// A soft end that will be met. See soften_end in force/joint_force.c.
typedef struct met_end {
    double k, d, push;
} met_end;

// Beyond it by e0 now, going outward at `rate`.
static bool meets(const tn_limit* limit, double e0, double rate, double h, met_end* end)
{
    const bool   there = e0 > 0 || !(h > 0);
    const double e     = e0 + h * rate;
    end->k             = there ? limit->stiffness : limit->stiffness + limit->damping / h;
    end->d             = there ? limit->damping : 0;
    end->push          = end->k * e + end->d * rate;
    return e > 0 && end->push > 0;
}

// The push of a hard end; ahead: where its row would be.
static double landing_force(double k, double h, double C, double ahead)
{
    return -k / (h * h) * (ahead - (C < 0 ? fmin(stays * C, C + h * back) : 0));
}

static double along(const double* a, const double* b, int n)
{
    double sum = 0;
    for (int k = 0; k < n; ++k) sum += a[k] * b[k];
    return sum;
}

// The inertia of what is beyond the joint against a unit rate along g, by the velocities g/|g|^2.
static double inertia_along(const tni_tree_link* limb, const double* q, const double* g)
{
    tni_six      S[FREEDOMS];
    const double gg = along(g, g, limb->freedoms);
    tni_tree_link_place(limb, q, NULL, S);
    const tni_six m = tni_tree_link_motion(limb, S, g);
    return gg > 0 ? tni_six_dot(m, tni_rigid_times(&limb->outboard, m)) / (gg * gg) : 0;
}

// A hard end whose row is C and changes by g.
static void land(const tni_tree_link* limb, const double* q, const double* v, double h, double C,
                 const double* g, double* Q, double* K)
{
    const int    d     = limb->freedoms;
    const double ahead = C + h * along(g, v, d);
    if (!(ahead < 0)) return;
    const double k = hard_over * inertia_along(limb, q, g), f = landing_force(k, h, C, ahead);
    for (int i = 0; i < d; ++i) {
        Q[i] += g[i] * f;
        for (int j = 0; j < d; ++j) K[i * d + j] += k * g[i] * g[j];
    }
}

// ---- Dampers ------------------------------------------------------------------------------------

static double damping_of(const tn_model* model, const tni_joint_force* a, const double* v, int k)
{
    if (!(a->friction > 0)) return a->damping;
    return a->damping + tni_friction_secant(&model->joints[a->joint], a, v, k);
}

// ---- Coordinates side by side --------------------------------------------------------------------

// One of a joint, where it stands, moving at its own rate.
typedef struct spring {
    double f, stiffness, damping;
} spring;

static double angle_near(double angle, double near)
{
    return angle + two_pi * floor((near - angle) / two_pi + 0.5);
}

static void plain_end(const tn_limit* limit, double n, double e0, double v, double h, spring* s)
{
    met_end end;
    if (!meets(limit, e0, n * v, h, &end)) return;
    s->f -= end.k * e0 * n;
    s->stiffness += end.k;
    s->damping += end.d;
}

static spring spring_of(const tn_model* model, const tni_joint_force* a, int k, double at,
                        const double* v, double h)
{
    spring s = {.f         = a->force[k] - a->stiffness * (at - a->rest[k]),
                .stiffness = a->stiffness,
                .damping   = damping_of(model, a, v, k)};
    if (k > 0 || !tni_has_soft_limit(&a->limit) || a->limit.lower > a->limit.upper) return s;
    plain_end(&a->limit, 1, at - a->limit.upper, v[0], h, &s);
    plain_end(&a->limit, -1, a->limit.lower - at, v[0], h, &s);
    return s;
}

static bool is_plain(const tni_tree_link* limb)
{
    return limb->kind == TNI_TREE_LINK_SLIDER ||
           (limb->kind == TNI_TREE_LINK_HINGE && limb->angle >= 0);
}

// The scene's coordinate of a hinge or slider, near the earlier one.
static double coordinate_of(const tni_tree_link* limb, const double* z, const double* q)
{
    const double s = limb->reversed ? -1 : 1;
    if (limb->kind == TNI_TREE_LINK_SLIDER) return s * q[6];
    return angle_near(2 * tni_atan2(s * q[3], q[0]), z[limb->coordinate]);
}

static double outboard_along(const tni_tree_link* limb)
{
    return limb->kind == TNI_TREE_LINK_SLIDER ? limb->outboard.mass : limb->outboard.zz;
}

static void plain_force(const tn_model* model, const tni_tree_link* limb, const double* z,
                        const double* q, const double* v, double h, double* Q, double* K)
{
    const double at = coordinate_of(limb, z, q);
    if (limb->actuation >= 0) {
        const spring s      = spring_of(model, &model->actuations[limb->actuation], 0, at, v, h);
        const double resist = h * s.stiffness + s.damping;
        Q[0]                = s.f - resist * v[0];
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

// ---- Universal ----------------------------------------------------------------------------------

// With alpha about z1 and then beta about x2, half angles A and B, the quaternion from frame 1 to 2 is
//     w = cos A cos B     x = cos A sin B     y = sin A sin B     z = sin A cos B
// so two of these have each angle, up to a turn; of the pairs the larger one.
static void universal_angles(const tni_tree_link* limb, const double* z, const double* q,
                             double* at)
{
    const double s = limb->reversed ? -1 : 1, w = q[0], x = s * q[1], y = s * q[2], t = s * q[3];
    const double A = w * w + t * t >= x * x + y * y ? tni_atan2(t, w) : tni_atan2(y, x);
    const double B = w * w + x * x >= t * t + y * y ? tni_atan2(x, w) : tni_atan2(y, t);
    at[0]          = angle_near(2 * A, z[0]);
    at[1]          = angle_near(2 * B, z[1]);
}

// z: of the joint
static void universal_force(const tn_model* model, const tni_tree_link* limb, const double* z,
                            const double* q, const double* v, double h, double* Q, double* K)
{
    double at[2];
    universal_angles(limb, z, q, at);
    for (int k = 0; k < 2 && limb->actuation >= 0; ++k) {
        const spring s      = spring_of(model, &model->actuations[limb->actuation], k, at[k], v, h);
        const double resist = h * s.stiffness + s.damping;
        Q[k]                = s.f - resist * v[k];
        K[3 * k]            = h * resist;
    }
    for (int i = 0; h > 0 && i < limb->limit_count; ++i) {
        const tni_limit* limit = &model->limits[limb->first_limit + i];
        const double     g[2]  = {limit->kind == TNI_LIMIT_LOWER ? 1 : -1, 0};
        land(limb, q, v, h, g[0] * (at[0] - limit->end), g, Q, K);
    }
}

// ---- Ball ---------------------------------------------------------------------------------------

// What a ball is pushed by, in limb axes: f - C v.
typedef struct ball {
    const tni_tree_link* limb;
    tn_quat              g; ///< of the limb, w >= 0
    tn_vec3              p; ///< the parent's z axis
    tn_vec3              v, f;
    tni_mat3             C;
    double               h;
} ball;

static tn_quat upper_half(tn_quat g)
{
    return g.w < 0 ? (tn_quat){-g.w, -g.x, -g.y, -g.z} : g;
}

static ball ball_at(const tni_tree_link* limb, const double* q, const double* v, double h)
{
    const tn_quat g = upper_half((tn_quat){q[0], q[1], q[2], q[3]});
    return (ball){.limb = limb,
                  .g    = g,
                  .p    = {2 * (g.x * g.z - g.w * g.y), 2 * (g.y * g.z + g.w * g.x),
                           1 - 2 * (g.x * g.x + g.y * g.y)},
                  .v    = tni_read3(v),
                  .h    = h};
}

static bool is_zero(tn_vec3 a)
{
    return a.x == 0 && a.y == 0 && a.z == 0;
}

static void ball_spring(const tn_model* model, const tni_joint_force* a, ball* b)
{
    const double  s = b->limb->reversed ? -1 : 1, rate[3] = {b->v.x, b->v.y, b->v.z};
    const tn_vec3 rest = tni_read3(a->rest), force = tni_read3(a->force);
    const double  D = damping_of(model, a, rate, 0);
    if (!is_zero(force))
        b->f = s < 0 ? tni_neg(force) : tni_rotate(tni_quat_conjugate(b->g), force);
    if (a->stiffness != 0) {
        tn_quat g = b->g;
        if (!is_zero(rest)) g = tni_quat_mul(tni_quat_exp(tni_scale(-s, rest)), g);
        const tn_vec3  theta = tni_quat_log(g);
        const tni_mat3 S     = tni_soft_torsion(theta);
        b->f                 = tni_add_scaled(b->f, -a->stiffness, theta);
        for (int i = 0; i < 9; ++i) b->C.m[i] = b->h * a->stiffness * S.m[i];
    }
    for (int i = 0; i < 9; i += 4) b->C.m[i] += D;
}

// Twist of the joint, and the velocities that it grows with.
static double twist_of(const ball* b, tn_vec3* grows)
{
    const double s = b->limb->reversed ? -1 : 1, n = 1 + b->p.z;
    *grows = n > opposite_max ? tni_scale(s / n, tni_vec3(b->p.x, b->p.y, n)) : tni_vec3(0, 0, 0);
    return s * 2 * tni_atan2(b->g.z, b->g.w);
}

// A soft end, e0 beyond which it is along n. Returns the push expected.
static double ball_end(const tn_limit* limit, tn_vec3 n, double e0, ball* b)
{
    met_end end;
    if (!meets(limit, e0, tni_dot(n, b->v), b->h, &end)) return 0;
    b->f = tni_add_scaled(b->f, -end.k * e0, n);
    tni_soft_outer(b->h * end.k + end.d, n, &b->C);
    return end.push;
}

static void ball_cone(const tn_limit* limit, ball* b)
{
    const tn_vec3 p = b->p, z2 = b->limb->reversed ? p : tni_vec3(0, 0, 1);
    const double  s = sqrt(p.x * p.x + p.y * p.y), c = p.z;
    const tn_vec3 n    = s > 1e-12 ? tni_vec3(p.y / s, -p.x / s, 0) : tni_vec3(0, 0, 0);
    const double  push = ball_end(limit, n, tni_atan2(s, c) - limit->cone, b);
    if (push > 0 && c > 0 && s > 1e-3) // see soften_ball_limit in force/joint_force.c
        tni_soft_outer(b->h * push * c / s, tni_cross(z2, n), &b->C);
}

static void ball_soft_ends(const tn_limit* limit, ball* b)
{
    if (!isnan(limit->cone)) ball_cone(limit, b);
    if (limit->twist_lower > limit->twist_upper) return;
    tn_vec3      n;
    const double twist = twist_of(b, &n);
    (void)ball_end(limit, n, twist - limit->twist_upper, b);
    (void)ball_end(limit, tni_neg(n), limit->twist_lower - twist, b);
}

// A hard end as joint/hard_limit.c has it.
static double ball_hard_end(const tni_limit* limit, const ball* b, double* g)
{
    tn_vec3 n;
    if (limit->kind == TNI_LIMIT_CONE) {
        double s, c;
        tni_sincos(limit->end, &s, &c);
        tni_write3(g, tni_vec3(-b->p.y / s, b->p.x / s, 0));
        return (b->p.z - c) / s;
    }
    const double s = limit->kind == TNI_LIMIT_TWIST_LOWER ? 1 : -1, twist = twist_of(b, &n);
    tni_write3(g, tni_scale(s, n));
    return s * (twist - limit->end);
}

static void ball_force(const tn_model* model, const tni_tree_link* limb, const double* q,
                       const double* v, double h, double* Q, double* K)
{
    ball b = ball_at(limb, q, v, h);
    if (limb->actuation >= 0) {
        const tni_joint_force* a = &model->actuations[limb->actuation];
        ball_spring(model, a, &b);
        if (tni_has_soft_limit(&a->limit)) ball_soft_ends(&a->limit, &b);
        tni_write3(Q, tni_sub(b.f, tni_mul(&b.C, b.v)));
        for (int i = 0; i < 9; ++i) K[i] = h * b.C.m[i];
    }
    for (int i = 0; h > 0 && i < limb->limit_count; ++i) {
        double       g[3];
        const double C = ball_hard_end(&model->limits[limb->first_limit + i], &b, g);
        land(limb, q, v, h, C, g, Q, K);
    }
}

// ---- Any joint ----------------------------------------------------------------------------------

static bool has_closed_form(const tni_tree_link* limb)
{
    return is_plain(limb) || limb->kind == TNI_TREE_LINK_UNIVERSAL ||
           limb->kind == TNI_TREE_LINK_BALL;
}

// The two bodies of a joint and nothing else.
struct tni_tree_link_scene {
    tn_model        model;
    tni_body        bodies[2];
    tni_joint       joint;
    tni_joint_force actuation;
    tni_view        views[2];
    double          u[6];              ///< of the limb's body
    tni_six         columns[FREEDOMS]; ///< S as velocities of its centre of mass, w and v
    int             side;              ///< the limb's
};
typedef struct tni_tree_link_scene scene;

// The parent's body, which is at rest, seen from its frame of the joint.
static tni_view parent_view(const tni_joint_trees* limbs, const tni_tree_link* limb, int body)
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

static void set_limb(const tni_tree_link* limb, const double* q, const double* v, scene* s)
{
    const tni_mat3 R = tni_quat_matrix((tn_quat){q[0], q[1], q[2], q[3]});
    tni_six        S[FREEDOMS];
    tni_view*      view = &s->views[s->side];
    tni_tree_link_place(limb, q, NULL, S);
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

static void start_scene(const tni_joint_trees* limbs, const tni_tree_link* limb, scene* s)
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
}

tn_result tni_tree_link_scenes_create(tni_arena* arena, tni_joint_trees* limbs)
{
    int count = 0;
    for (int i = 0; i < limbs->count; ++i) {
        tni_tree_link* limb = &limbs->limbs[i];
        limb->scene         = -1;
        if ((limb->actuation >= 0 || limb->limit_count > 0) && !has_closed_form(limb))
            limb->scene = count++;
    }
    limbs->scenes = TNI_TAKE(arena, scene, count);
    if (arena->failed) return TN_ERR_MEMORY;
    for (int i = 0; i < limbs->count; ++i)
        if (limbs->limbs[i].scene >= 0)
            start_scene(limbs, &limbs->limbs[i], &limbs->scenes[limbs->limbs[i].scene]);
    return TN_OK;
}

// The rate of a row (v then w, as u of a body) for each velocity of the limb.
static void rates_of(const tni_tree_link* limb, const scene* s, const double* J, double* rate)
{
    for (int k = 0; k < limb->freedoms; ++k)
        rate[k] =
            tni_dot(tni_read3(J), s->columns[k].v) + tni_dot(tni_read3(J + 3), s->columns[k].w);
}

static void add_soft(const tni_tree_link* limb, const scene* s, double time, const double* z,
                     const double* v, double h, double* Q, double* K)
{
    const tni_scene_view at    = {.model = &s->model, .time = time, .z = z, .views = s->views};
    const tni_prediction ahead = {.h = h, .time = time + h};
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

static void add_end(const tni_tree_link* limb, const scene* s, tni_limit limit, const double* z,
                    const double* q, const double* v, double h, double* Q, double* K)
{
    double J[6], g[FREEDOMS];
    limit.joint         = 0;
    const tni_row row   = tni_limit_row(&s->model, &limit, s->views, z);
    const bool    first = s->side == 0;
    tni_push_row(&s->bodies[s->side], &s->views[s->side], first ? s->joint.p1 : s->joint.p2,
                 first ? &s->joint.F1 : &s->joint.F2, &row.push[s->side], J);
    rates_of(limb, s, J, g);
    land(limb, q, v, h, row.C, g, Q, K);
}

static void any_force(const tni_joint_trees* limbs, const tni_tree_link* limb, double time,
                      const double* z, const double* q, const double* v, double h, double* Q,
                      double* K)
{
    scene* s = &limbs->scenes[limb->scene];
    set_limb(limb, q, v, s);
    if (limb->actuation >= 0) add_soft(limb, s, time, z, v, h, Q, K);
    for (int i = 0; h > 0 && i < limb->limit_count; ++i)
        add_end(limb, s, limbs->model->limits[limb->first_limit + i], z, q, v, h, Q, K);
}

bool tni_tree_link_force(const tni_joint_trees* limbs, int index, double time, const double* z,
                         const double* q, const double* v, double h, double* Q, double* K)
{
    const tni_tree_link* limb  = &limbs->limbs[index];
    const tn_model*      model = limbs->model;
    const int            d     = limb->freedoms;
    for (int k = 0; k < d; ++k) Q[k] = 0;
    for (int k = 0; k < d * d; ++k) K[k] = 0;
    if (limb->actuation < 0 && !(h > 0 && limb->limit_count > 0)) return false;
    const double* own = z + model->joints[limb->joint].coordinate_start;
    if (is_plain(limb)) plain_force(model, limb, z, q, v, h, Q, K);
    else if (limb->kind == TNI_TREE_LINK_UNIVERSAL)
        universal_force(model, limb, own, q, v, h, Q, K);
    else if (limb->kind == TNI_TREE_LINK_BALL) ball_force(model, limb, q, v, h, Q, K);
    else any_force(limbs, limb, time, own, q, v, h, Q, K);
    return true;
}
