// link_force: springs, dampers, limits, friction and constant forces of a joint, on its own
// freedoms.
//
// Forces are those of force/joint_force.c and joint/hard_limit.c. With rows of forces f, stiffness
// K and damping D (tni_soft), their rates E v, and v' the acceleration, the force at the end of h
// is
//     f - (h K + D) E (v + h v')
// so that    Q = E^T (f - (h K + D) E v)     and     h E^T (h K + D) E     is added inertia.
//
// Hinge, slider, universal: v are the rates of the scene's coordinates, E = 1, and each coordinate
// has an independent spring.
//
// Ball: in link axes, where E = 1 (reversed, in brackets: -1). With g the link's quaternion, R its
// matrix, r that of the rest position, k and d of the spring and damper:
//     f        R^T force  (-force),  less k theta with exp(theta) = r^-1 g  (r g)
//     h K + D  h k S(theta) + d,     S: tni_soft_torsion
// The parent's z axis in link axes is p = (a, b, c). The swing between the two z axes grows by (b,
// -a, 0)/s . v with s = |(a, b)|, for either being the link's; the twist by (a, b, 1 + c)/(1 + c) .
// v  (the negative of it).
//
// Any other joint: a two-body scene made for it: the parent's body, at rest, with its frame of the
// joint at the origin, and the link's.  E = J S.
//
// A hard limit whose row C would be below zero at the end of h, g being its rate for each of v, is
// aimed at a target T:
//     C + h g.(v + h v') = T,     T = 0;  C < 0: the smaller of 0.6 C and C + h (1 m/s or rad/s)
// by a spring of stiffness k = 1e6 m/h^2, m the inertia of all links beyond the joint, along g: the
// error is a millionth of the way. The limit does not bounce, and a resting joint stays at rest: C
// remains slightly below zero, so the limit stays active until something pulls away. With T = 0
// from beyond, the velocity of the way back would remain, and the limit would be active in every
// other step only.
#include "force/joint_force.h"

#include "adaptive/joint_tree.h"
#include "force/soft.h"
#include "math/elementary.h"

static const double hard_over = 1e6; // inertia of a hard limit over that beyond the joint
static const double stays     = 0.6; // part of the excess at a hard limit left after a step
static const double back      = 1;   // [m/s or rad/s]; largest speed of its correction

enum { FREEDOMS = TNI_TREE_LINK_FREEDOMS };

// ---- Limits -------------------------------------------------------------------------------------

// A soft limit that is or will be exceeded. See soften_end() in force/joint_force.c.
typedef struct met_end {
    double k, d, push;
} met_end;

// True if the limit acts: exceeded by e0 now, growing at `rate`.
static bool meets(const tn_limit* limit, double e0, double rate, double h, met_end* end)
{
    const bool   there = e0 > 0 || !(h > 0);
    const double e     = e0 + h * rate;
    end->k             = there ? limit->stiffness : limit->stiffness + limit->damping / h;
    end->d             = there ? limit->damping : 0;
    end->push          = end->k * e + end->d * rate;
    return e > 0 && end->push > 0;
}

// Force of a hard limit; ahead: its row at the end of the step.
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

// Inertia of the links beyond the joint for a unit rate along g, at velocities g/|g|^2.
static double inertia_along(const tni_tree_link* link, const double* q, const double* g)
{
    tni_spatial  S[FREEDOMS];
    const double gg = along(g, g, link->freedoms);
    tni_tree_link_place(link, q, NULL, S);
    const tni_spatial m = tni_tree_link_motion(link, S, g);
    return gg > 0 ? tni_spatial_dot(m, tni_rigid_inertia_times(&link->outboard, m)) / (gg * gg) : 0;
}

// Adds a hard limit with row C and gradient g.
static void land(const tni_tree_link* link, const double* q, const double* v, double h, double C,
                 const double* g, double* Q, double* K)
{
    const int    d     = link->freedoms;
    const double ahead = C + h * along(g, v, d);
    if (!(ahead < 0)) return;
    const double k = hard_over * inertia_along(link, q, g), f = landing_force(k, h, C, ahead);
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

// ---- Independent coordinates -------------------------------------------------------------------

// Force of one coordinate: f at rest, stiffness and damping.
typedef struct spring {
    double f, stiffness, damping;
} spring;

static double angle_near(double angle, double near)
{
    return angle + TNI_TWO_PI * floor((near - angle) / TNI_TWO_PI + 0.5);
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

static bool is_plain(const tni_tree_link* link)
{
    return link->kind == TNI_TREE_LINK_SLIDER ||
           (link->kind == TNI_TREE_LINK_HINGE && link->angle >= 0);
}

// The scene's coordinate of a hinge or slider; an angle near its last value in z.
static double coordinate_of(const tni_tree_link* link, const double* z, const double* q)
{
    const double s = link->reversed ? -1 : 1;
    if (link->kind == TNI_TREE_LINK_SLIDER) return s * q[6];
    return angle_near(2 * tni_atan2(s * q[3], q[0]), z[link->coordinate]);
}

static double outboard_along(const tni_tree_link* link)
{
    return link->kind == TNI_TREE_LINK_SLIDER ? link->outboard.mass : link->outboard.zz;
}

static void plain_force(const tn_model* model, const tni_tree_link* link, const double* z,
                        const double* q, const double* v, double h, double* Q, double* K)
{
    const double at = coordinate_of(link, z, q);
    if (link->actuation >= 0) {
        const spring s      = spring_of(model, &model->actuations[link->actuation], 0, at, v, h);
        const double resist = h * s.stiffness + s.damping;
        Q[0]                = s.f - resist * v[0];
        K[0]                = h * resist;
    }
    for (int i = 0; h > 0 && i < link->limit_count; ++i) {
        const tni_limit* limit = &model->limits[link->first_limit + i];
        const double     g     = limit->kind == TNI_LIMIT_LOWER ? 1 : -1;
        const double     C = g * (at - limit->end), ahead = C + h * (g * v[0]);
        if (!(ahead < 0)) continue;
        const double k = hard_over * outboard_along(link);
        Q[0] += g * landing_force(k, h, C, ahead);
        K[0] += k;
    }
}

// ---- Universal ----------------------------------------------------------------------------------

// With alpha about z1 and then beta about x2, half angles A and B, the quaternion from frame 1 to 2
// is
//     w = cos A cos B     x = cos A sin B     y = sin A sin B     z = sin A cos B
// so two pairs give each angle, up to a full turn; takes the larger pair.
static void universal_angles(const tni_tree_link* link, const double* z, const double* q,
                             double* at)
{
    const double s = link->reversed ? -1 : 1, w = q[0], x = s * q[1], y = s * q[2], t = s * q[3];
    const double A = w * w + t * t >= x * x + y * y ? tni_atan2(t, w) : tni_atan2(y, x);
    const double B = w * w + x * x >= t * t + y * y ? tni_atan2(x, w) : tni_atan2(y, t);
    at[0]          = angle_near(2 * A, z[0]);
    at[1]          = angle_near(2 * B, z[1]);
}

// z: of the joint.
static void universal_force(const tn_model* model, const tni_tree_link* link, const double* z,
                            const double* q, const double* v, double h, double* Q, double* K)
{
    double at[2];
    universal_angles(link, z, q, at);
    for (int k = 0; k < 2 && link->actuation >= 0; ++k) {
        const spring s      = spring_of(model, &model->actuations[link->actuation], k, at[k], v, h);
        const double resist = h * s.stiffness + s.damping;
        Q[k]                = s.f - resist * v[k];
        K[3 * k]            = h * resist;
    }
    for (int i = 0; h > 0 && i < link->limit_count; ++i) {
        const tni_limit* limit = &model->limits[link->first_limit + i];
        const double     g[2]  = {limit->kind == TNI_LIMIT_LOWER ? 1 : -1, 0};
        land(link, q, v, h, g[0] * (at[0] - limit->end), g, Q, K);
    }
}

// ---- Ball ---------------------------------------------------------------------------------------

// Force on a ball in link axes: f - C v.
typedef struct ball {
    const tni_tree_link* link;
    tn_quat              g; ///< attitude of the link, w >= 0
    tn_vec3              p; ///< the parent's z axis
    tn_vec3              v, f;
    tni_mat3             C;
    double               h;
} ball;

static tn_quat upper_half(tn_quat g)
{
    return g.w < 0 ? (tn_quat){-g.w, -g.x, -g.y, -g.z} : g;
}

static ball ball_at(const tni_tree_link* link, const double* q, const double* v, double h)
{
    const tn_quat g = upper_half((tn_quat){q[0], q[1], q[2], q[3]});
    return (ball){.link = link,
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
    const double  s = b->link->reversed ? -1 : 1, rate[3] = {b->v.x, b->v.y, b->v.z};
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

// Twist of the joint, and its gradient for v.
static double twist_of(const ball* b, tn_vec3* grows)
{
    const double s = b->link->reversed ? -1 : 1, n = 1 + b->p.z;
    *grows =
        n > TNI_OPPOSITE_MAX ? tni_scale(s / n, tni_vec3(b->p.x, b->p.y, n)) : tni_vec3(0, 0, 0);
    return s * 2 * tni_atan2(b->g.z, b->g.w);
}

// Adds a soft limit exceeded by e0 along n. Returns the expected force.
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
    const tn_vec3 p = b->p, z2 = b->link->reversed ? p : tni_vec3(0, 0, 1);
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

// Row and gradient of a hard limit as in joint/hard_limit.c.
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

static void ball_force(const tn_model* model, const tni_tree_link* link, const double* q,
                       const double* v, double h, double* Q, double* K)
{
    ball b = ball_at(link, q, v, h);
    if (link->actuation >= 0) {
        const tni_joint_force* a = &model->actuations[link->actuation];
        ball_spring(model, a, &b);
        if (tni_has_soft_limit(&a->limit)) ball_soft_ends(&a->limit, &b);
        tni_write3(Q, tni_sub(b.f, tni_mul(&b.C, b.v)));
        for (int i = 0; i < 9; ++i) K[i] = h * b.C.m[i];
    }
    for (int i = 0; h > 0 && i < link->limit_count; ++i) {
        double       g[3];
        const double C = ball_hard_end(&model->limits[link->first_limit + i], &b, g);
        land(link, q, v, h, C, g, Q, K);
    }
}

// ---- Other joints -------------------------------------------------------------------------------

static bool has_closed_form(const tni_tree_link* link)
{
    return is_plain(link) || link->kind == TNI_TREE_LINK_UNIVERSAL ||
           link->kind == TNI_TREE_LINK_BALL;
}

// The two bodies of a joint and nothing else.
struct tni_tree_link_scene {
    tn_model        model;
    tni_body        bodies[2];
    tni_joint       joint;
    tni_joint_force actuation;
    tni_view        views[2];
    double          u[6];              ///< of the link's body
    tni_spatial     columns[FREEDOMS]; ///< S as velocities of its centre of mass, w and v
    int             side;              ///< which body is the link's
};
typedef struct tni_tree_link_scene scene;

// The parent's body, at rest, seen from the joint's frame on it.
static tni_view parent_view(const tni_joint_trees* trees, const tni_tree_link* link, int body)
{
    static const double rest[6] = {0};
    const tni_mat3      F = tni_quat_matrix(link->turn), Ft = tni_transposed(&F);
    tni_view view = {.R = Ft, .x = tni_neg(tni_mul(&Ft, link->anchor)), .q = rest, .u = rest};
    if (link->parent >= 0) return view;
    const tn_frame* start =
        &trees->model->bodies[body].start; // here the anchor is from the world's origin
    const tni_mat3 R = tni_quat_matrix(start->orientation);
    view.R           = tni_mat_mul(&Ft, &R);
    view.x           = tni_mul(&Ft, tni_sub(start->position, link->anchor));
    return view;
}

static void set_link(const tni_tree_link* link, const double* q, const double* v, scene* s)
{
    const tni_mat3 R = tni_quat_matrix((tn_quat){q[0], q[1], q[2], q[3]});
    tni_spatial    S[FREEDOMS];
    tni_view*      view = &s->views[s->side];
    tni_tree_link_place(link, q, NULL, S);
    tni_spatial m = tni_spatial_zero();
    for (int k = 0; k < link->freedoms; ++k) {
        s->columns[k].w = tni_mul(&R, S[k].w);
        s->columns[k].v = tni_mul(&R, tni_add(S[k].v, tni_cross(S[k].w, link->com)));
        m               = tni_spatial_add_scaled(m, v[k], s->columns[k]);
    }
    *view = (tni_view){.x = tni_add(tni_read3(q + 4), tni_mul(&R, link->com)),
                       .R = tni_mat_mul(&R, &link->axes),
                       .v = m.v,
                       .w = m.w,
                       .q = q,
                       .u = s->u};
    tni_write3(s->u, m.v);
    tni_write3(s->u + 3, m.w);
}

static void start_scene(const tni_joint_trees* trees, const tni_tree_link* link, scene* s)
{
    const tn_model*  model = trees->model;
    const tni_joint* joint = &model->joints[link->joint];
    s->side                = link->reversed ? 0 : 1;
    s->bodies[s->side]     = (tni_body){.kind = TN_BODY_RIGID, .dim = 6, .turns = true};
    s->bodies[1 - s->side] = (tni_body){.kind = TN_BODY_STATIC, .turns = true};
    s->joint               = *joint;
    s->joint.body1 = 0, s->joint.body2 = 1, s->joint.coordinate_start = 0;
    s->model.bodies     = s->bodies;
    s->model.joints     = &s->joint;
    s->model.actuations = &s->actuation;
    s->model.body_count = 2, s->model.joint_count = 1, s->model.actuation_count = 1;
    if (link->actuation >= 0) s->actuation = model->actuations[link->actuation];
    s->actuation.joint    = 0;
    s->views[1 - s->side] = parent_view(trees, link, link->reversed ? joint->body2 : joint->body1);
}

tn_result tni_tree_link_scenes_create(tni_arena* arena, tni_joint_trees* trees)
{
    int count = 0;
    for (int i = 0; i < trees->count; ++i) {
        tni_tree_link* link = &trees->links[i];
        link->scene         = -1;
        if ((link->actuation >= 0 || link->limit_count > 0) && !has_closed_form(link))
            link->scene = count++;
    }
    trees->scenes = TNI_TAKE(arena, scene, count);
    if (arena->failed) return TN_ERR_MEMORY;
    for (int i = 0; i < trees->count; ++i)
        if (trees->links[i].scene >= 0)
            start_scene(trees, &trees->links[i], &trees->scenes[trees->links[i].scene]);
    return TN_OK;
}

// Rate of a row (v then w, as u of a body) for each velocity of the link.
static void rates_of(const tni_tree_link* link, const scene* s, const double* J, double* rate)
{
    for (int k = 0; k < link->freedoms; ++k)
        rate[k] =
            tni_dot(tni_read3(J), s->columns[k].v) + tni_dot(tni_read3(J + 3), s->columns[k].w);
}

static void add_soft(const tni_tree_link* link, const scene* s, double time, const double* z,
                     const double* v, double h, double* Q, double* K)
{
    const tni_scene_view at    = {.model = &s->model, .time = time, .z = z, .views = s->views};
    const tni_prediction ahead = {.h = h, .time = time + h};
    tni_soft             soft;
    double               E[TNI_COORDINATES_MAX][FREEDOMS], CE[TNI_COORDINATES_MAX][FREEDOMS];
    tni_soften_actuation(&at, &ahead, 0, &soft);
    const int n = soft.row_count, d = link->freedoms;
    for (int i = 0; i < n; ++i) rates_of(link, s, soft.J[s->side] + 6 * i, E[i]);
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

static void add_end(const tni_tree_link* link, const scene* s, tni_limit limit, const double* z,
                    const double* q, const double* v, double h, double* Q, double* K)
{
    double J[6], g[FREEDOMS];
    limit.joint         = 0;
    const tni_row row   = tni_limit_row(&s->model, &limit, s->views, z);
    const bool    first = s->side == 0;
    tni_push_row(&s->bodies[s->side], &s->views[s->side], first ? s->joint.p1 : s->joint.p2,
                 first ? &s->joint.F1 : &s->joint.F2, &row.push[s->side], J);
    rates_of(link, s, J, g);
    land(link, q, v, h, row.C, g, Q, K);
}

static void any_force(const tni_joint_trees* trees, const tni_tree_link* link, double time,
                      const double* z, const double* q, const double* v, double h, double* Q,
                      double* K)
{
    scene* s = &trees->scenes[link->scene];
    set_link(link, q, v, s);
    if (link->actuation >= 0) add_soft(link, s, time, z, v, h, Q, K);
    for (int i = 0; h > 0 && i < link->limit_count; ++i)
        add_end(link, s, trees->model->limits[link->first_limit + i], z, q, v, h, Q, K);
}

bool tni_tree_link_force(const tni_joint_trees* trees, int index, double time, const double* z,
                         const double* q, const double* v, double h, double* Q, double* K)
{
    const tni_tree_link* link  = &trees->links[index];
    const tn_model*      model = trees->model;
    const int            d     = link->freedoms;
    for (int k = 0; k < d; ++k) Q[k] = 0;
    for (int k = 0; k < d * d; ++k) K[k] = 0;
    if (link->actuation < 0 && !(h > 0 && link->limit_count > 0)) return false;
    const double* own = z + model->joints[link->joint].coordinate_start;
    if (is_plain(link)) plain_force(model, link, z, q, v, h, Q, K);
    else if (link->kind == TNI_TREE_LINK_UNIVERSAL)
        universal_force(model, link, own, q, v, h, Q, K);
    else if (link->kind == TNI_TREE_LINK_BALL) ball_force(model, link, q, v, h, Q, K);
    else any_force(trees, link, time, own, q, v, h, Q, K);
    return true;
}
