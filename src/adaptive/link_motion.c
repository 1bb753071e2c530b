// link_motion: pose of a link relative to its parent, its motion subspace, and advancing it.
//
// R: link axes to the joint's frame on the parent; p: the link's origin there; w: angular part of S
// v. Rates of vectors a fixed in the parent, in link axes: (R^T a)' = -w x R^T a. So S' v is
//     universal   -v0 w x R^T z              reversed: v1 w x R^T x
//     line        -w x (v3 R^T z)            linear part; surface alike
//     reversed    c' x w                     c = -R^T p, c' = -(v3 z); surface: c' = -(v3 x + v4 y)
//     distance    -w x R^T g - |g|^2/size R^T b_z       g = v3 b_x + v4 b_y
// the last because b rotates with (-v4/size, v3/size, 0) of its own axes: b_z' = g/size, without
// spin about b_z.
//
// Advancing is exact for constant v, but for a universal's order of rotations, which is that of its
// angles. Free and plane: a constant motion in link axes is a screw; with half of its rotation,
//     p += h R exp(h w/2) (sinc(h |w|/2) across + along)     across, along w: parts of v
// Constrained coordinates are recomputed each time from the free ones: nothing drifts.
//
// A displacement d of a link from q has numbers that add up: rotation vectors (link axes) for
// rotations, also of a distance joint's second quaternion; positions of free and plane in the
// joint's frame on the parent; other numbers are those of v.
#include "adaptive/joint_tree.h"

#include "math/elementary.h"

static tn_quat read_quat(const double* q)
{
    return (tn_quat){q[0], q[1], q[2], q[3]};
}

static void write_quat(double* q, tn_quat a)
{
    q[0] = a.w, q[1] = a.x, q[2] = a.y, q[3] = a.z;
}

static double sign_of(const tni_tree_link* link)
{
    return link->reversed ? -1 : 1;
}

// At most a rotation about z: E = R^T before.E.
static void turn_rows(double w, double z, const tni_mat3* before, tni_mat3* E)
{
    const double *b = before->m, c = w * w - z * z, s = 2 * w * z;
    for (int j = 0; j < 3; ++j) {
        E->m[j]     = c * b[j] + s * b[3 + j];
        E->m[3 + j] = c * b[3 + j] - s * b[j];
        E->m[6 + j] = b[6 + j];
    }
}

static bool turns_any_way(tni_tree_link_kind kind)
{
    return kind == TNI_TREE_LINK_FREE || kind == TNI_TREE_LINK_BALL || kind >= TNI_TREE_LINK_LINE ||
           kind == TNI_TREE_LINK_UNIVERSAL;
}

static void place(const tni_tree_link* link, const double* q, tni_transform* X)
{
    X->r = tni_add(link->before.r, tni_mul_t(&link->before.E, tni_read3(q + 4)));
    if (turns_any_way(link->kind)) {
        const tni_mat3 R = tni_quat_matrix(read_quat(q)), Rt = tni_transposed(&R);
        X->E = tni_mat_mul(&Rt, &link->before.E);
    } else if (link->kind == TNI_TREE_LINK_SLIDER || link->kind == TNI_TREE_LINK_WELD) {
        X->E = link->before.E;
    } else {
        turn_rows(q[0], q[3], &link->before.E, &X->E);
    }
}

static tni_spatial turning(tn_vec3 w)
{
    return (tni_spatial){w, {0, 0, 0}};
}

static tni_spatial sliding(tn_vec3 v)
{
    return (tni_spatial){{0, 0, 0}, v};
}

static const tn_vec3 unit[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

// Three rotations about the point c.
static void turns_about(tn_vec3 c, tni_spatial* S)
{
    for (int k = 0; k < 3; ++k) S[k] = (tni_spatial){unit[k], tni_cross(c, unit[k])};
}

// S of the kinds where it varies.
static void varying_columns(const tni_tree_link* link, const double* q, tni_spatial* S)
{
    const tni_mat3 R = tni_quat_matrix(read_quat(q));
    const tn_vec3  c = tni_neg(tni_mul_t(&R, tni_read3(q + 4)));
    if (link->kind == TNI_TREE_LINK_UNIVERSAL) {
        S[0] = turning(link->reversed ? tni_neg(unit[2]) : tni_mul_t(&R, unit[2]));
        S[1] = turning(link->reversed ? tni_neg(tni_mul_t(&R, unit[0])) : unit[0]);
        return;
    }
    if (link->kind == TNI_TREE_LINK_DISTANCE) {
        const tni_mat3 b = tni_quat_matrix(read_quat(q + 7));
        turns_about(tni_vec3(0, 0, 0), S);
        for (int k = 0; k < 2; ++k) S[3 + k] = sliding(tni_mul_t(&R, tni_column(&b, k)));
        return;
    }
    const int first =                             // which axes of frame 1 it slides along
        link->kind == TNI_TREE_LINK_LINE ? 2 : 0; // which axes of frame 1 it slides along
    turns_about(link->reversed ? c : tni_vec3(0, 0, 0), S);
    for (int k = 3; k < link->freedoms; ++k) {
        const tn_vec3 a = unit[first + k - 3];
        S[k]            = sliding(link->reversed ? a : tni_mul_t(&R, a));
    }
}

static void columns(const tni_tree_link* link, const double* q, tni_spatial* S)
{
    const double  s = sign_of(link);
    const tn_vec3 z = {0, 0, s};
    switch (link->kind) {
    case TNI_TREE_LINK_WELD: break;
    case TNI_TREE_LINK_HINGE: S[0] = turning(z); break;
    case TNI_TREE_LINK_SLIDER: S[0] = sliding(z); break;
    case TNI_TREE_LINK_SCREW: S[0] = (tni_spatial){z, tni_vec3(0, 0, s * link->size)}; break;
    case TNI_TREE_LINK_CYLINDER: S[0] = turning(z), S[1] = sliding(z); break;
    case TNI_TREE_LINK_BALL: turns_about(tni_vec3(0, 0, 0), S); break;
    case TNI_TREE_LINK_PLANE:
        S[0] = sliding(unit[0]), S[1] = sliding(unit[1]), S[2] = turning(unit[2]);
        break;
    case TNI_TREE_LINK_FREE:
        for (int k = 0; k < 3; ++k) S[k] = turning(unit[k]), S[3 + k] = sliding(unit[k]);
        break;
    default: varying_columns(link, q, S);
    }
}

void tni_tree_link_place(const tni_tree_link* link, const double* q, tni_transform* X,
                         tni_spatial* S)
{
    if (X != NULL) place(link, q, X);
    if (S != NULL) columns(link, q, S);
}

tni_spatial tni_tree_link_motion(const tni_tree_link* link, const tni_spatial* S, const double* v)
{
    tni_spatial sum = tni_spatial_zero();
    for (int k = 0; k < link->freedoms; ++k) sum = tni_spatial_add_scaled(sum, v[k], S[k]);
    return sum;
}

tni_spatial tni_tree_link_bias(const tni_tree_link* link, const double* q, const double* v)
{
    if (link->steady) return tni_spatial_zero();
    const tni_mat3 R = tni_quat_matrix(read_quat(q));
    if (link->kind == TNI_TREE_LINK_UNIVERSAL) {
        tni_spatial S[2];
        columns(link, q, S);
        const int     k = link->reversed ? 1 : 0; // the column that is fixed in the parent
        const tn_vec3 w = tni_tree_link_motion(link, S, v).w;
        return turning(tni_cross(tni_scale(v[k], S[k].w), w));
    }
    const tn_vec3 w = tni_read3(v);
    tn_vec3       g;
    double        beside = 0;
    if (link->kind == TNI_TREE_LINK_LINE) g = tni_vec3(0, 0, v[3]);
    else g = tni_vec3(v[3], v[4], 0);
    if (link->kind == TNI_TREE_LINK_DISTANCE) {
        const tni_mat3 b = tni_quat_matrix(read_quat(q + 7));
        beside           = -tni_dot(g, g) / link->size;
        const tn_vec3 Rb = tni_mul_t(&R, tni_column(&b, 2));
        g                = tni_mul_t(&R, tni_mul(&b, g));
        return sliding(tni_add_scaled(tni_cross(g, w), beside, Rb));
    }
    if (link->reversed) return sliding(tni_cross(w, g)); // c' x w, c' = -g
    return sliding(tni_cross(tni_mul_t(&R, g), w));
}

// ---- Advancing ----------------------------------------------------------------------------------

// q exp(d) = exp(d) q for rotations about z alone; x and y stay 0.
static void turn_about_z(double angle, double* q)
{
    const tn_quat e = tni_quat_exp(tni_vec3(0, 0, angle));
    write_quat(q,
               tni_quat_trimmed((tn_quat){q[0] * e.w - q[3] * e.z, 0, 0, q[0] * e.z + q[3] * e.w}));
}

static void turn(tn_vec3 d, double* q)
{
    write_quat(q, tni_quat_trimmed(tni_quat_mul(read_quat(q), tni_quat_exp(d))));
}

// The nearest product of a rotation about z and one about x: (w x; z y) has rank one. e is its
// determinant, whose gradient has length 1.
static tn_quat nearest_universal(tn_quat q, bool reversed)
{
    if (reversed) q = tni_quat_conjugate(q);
    const double e = q.w * q.y - q.x * q.z;
    q = tni_quat_normalised((tn_quat){q.w - e * q.y, q.x + e * q.z, q.y - e * q.w, q.z + e * q.x});
    return reversed ? tni_quat_conjugate(q) : q;
}

static void advance_universal(const tni_tree_link* link, double h, const double* v, double* q)
{
    const tn_quat about_z = tni_quat_exp(tni_vec3(0, 0, h * v[0])),
                  about_x = tni_quat_exp(tni_vec3(h * v[1], 0, 0));
    tn_quat a             = read_quat(q);
    if (link->reversed) a = tni_quat_conjugate(a);
    a = tni_quat_mul(tni_quat_mul(about_z, a), about_x);
    if (link->reversed) a = tni_quat_conjugate(a);
    write_quat(q, nearest_universal(a, link->reversed));
}

// A constant motion in link axes, for h.
static void advance_free(double h, tn_vec3 w, tn_vec3 v, double* q)
{
    const double  speed = tni_norm(w), angle = h * speed;
    const tn_quat half = tni_quat_exp(tni_scale(0.5 * h, w)), from = read_quat(q);
    if (speed > 0 && angle != 0) {
        const tn_vec3 n    = tni_scale(1 / speed, w);
        const double  sinc = tni_sin(0.5 * angle) / (0.5 * angle);
        v                  = tni_add_scaled(tni_scale(sinc, v), (1 - sinc) * tni_dot(n, v), n);
    }
    const tn_quat midway = tni_quat_mul(from, half);
    const tn_vec3 d      = tni_rotate(midway, v);
    q[4] += h * d.x, q[5] += h * d.y, q[6] += h * d.z;
    write_quat(q, tni_quat_trimmed(tni_quat_mul(midway, half)));
}

static void advance_plane(double h, const double* v, double* q)
{
    const double  half = 0.5 * h * v[2];
    const double  sinc = half != 0 ? tni_sin(half) / half : 1;
    const tn_quat e    = tni_quat_exp(tni_vec3(0, 0, half));
    const double  w = q[0] * e.w - q[3] * e.z, z = q[0] * e.z + q[3] * e.w; // half way
    const double  c = w * w - z * z, s = 2 * w * z;
    q[4] += h * sinc * (c * v[0] - s * v[1]);
    q[5] += h * sinc * (s * v[0] + c * v[1]);
    turn_about_z(2 * half, q);
}

// Sets the position of a screw from its angle, with the number of turns nearest to the given
// position.
static void fit_screw(double size, double* q)
{
    const double angle = 2 * tni_atan2(q[3], q[0]);
    const double turns = size != 0 ? floor((q[6] / size - angle) / TNI_TWO_PI + 0.5) : 0;
    q[6]               = size * (angle + TNI_TWO_PI * turns);
}

// Positions of line and surface joints from their free coordinates.
static void advance_point(const tni_tree_link* link, double h, const double* v, double* q)
{
    const int first = link->kind == TNI_TREE_LINK_LINE ? 2 : 0;
    double    c[3]  = {0, 0, 0}; // the point, in the frame with the line or surface
    tni_mat3  R     = tni_quat_matrix(read_quat(q));
    tn_vec3   p     = tni_read3(q + 4);
    if (link->reversed) p = tni_neg(tni_mul_t(&R, p));
    for (int k = 3; k < link->freedoms; ++k)
        c[first + k - 3] = tni_at(p, first + k - 3) + (link->reversed ? -h : h) * v[k];
    turn(tni_scale(h, tni_read3(v)), q);
    p = tni_read3(c);
    if (link->reversed) {
        R = tni_quat_matrix(read_quat(q));
        p = tni_neg(tni_mul(&R, p));
    }
    tni_write3(q + 4, p);
}

static void fit_distance(double size, double* q)
{
    const tn_quat b = read_quat(q + 7);
    tni_write3(q + 4, tni_scale(size, tni_rotate(b, unit[2])));
}

static void advance_distance(const tni_tree_link* link, double h, const double* v, double* q)
{
    turn(tni_scale(h, tni_read3(v)), q);
    turn(tni_scale(h / link->size, tni_vec3(-v[4], v[3], 0)), q + 7);
    fit_distance(link->size, q);
}

void tni_tree_link_advance(const tni_tree_link* link, double h, const double* v, double* q)
{
    const double s = sign_of(link) * h;
    switch (link->kind) {
    case TNI_TREE_LINK_WELD: break;
    case TNI_TREE_LINK_HINGE: turn_about_z(s * v[0], q); break;
    case TNI_TREE_LINK_SLIDER: q[6] += s * v[0]; break;
    case TNI_TREE_LINK_SCREW:
        turn_about_z(s * v[0], q);
        q[6] += s * v[0] * link->size;
        fit_screw(link->size, q);
        break;
    case TNI_TREE_LINK_CYLINDER: turn_about_z(s * v[0], q), q[6] += s * v[1]; break;
    case TNI_TREE_LINK_UNIVERSAL: advance_universal(link, h, v, q); break;
    case TNI_TREE_LINK_BALL: turn(tni_scale(h, tni_read3(v)), q); break;
    case TNI_TREE_LINK_PLANE: advance_plane(h, v, q); break;
    case TNI_TREE_LINK_FREE: advance_free(h, tni_read3(v), tni_read3(v + 3), q); break;
    case TNI_TREE_LINK_DISTANCE: advance_distance(link, h, v, q); break;
    default: advance_point(link, h, v, q);
    }
}

// ---- Displacements: for Runge-Kutta -------------------------------------------------------------

// d' of a rotation q exp(d) at angular velocity w, link axes: w + d x w / 2 + d x (d x w) / 12; the
// next term is of fourth order.
static tn_vec3 turn_rate(tn_vec3 d, tn_vec3 w)
{
    const tn_vec3 dw = tni_cross(d, w);
    return tni_add_scaled(tni_add_scaled(w, 0.5, dw), 1.0 / 12, tni_cross(d, dw));
}

void tni_tree_link_displacement_rate(const tni_tree_link* link, const double* d, const double* q,
                                     const double* v, double* rate)
{
    const tni_tree_link_kind kind = link->kind;
    for (int k = 0; k < link->freedoms; ++k) rate[k] = v[k];
    if (kind == TNI_TREE_LINK_PLANE) {
        const double c = q[0] * q[0] - q[3] * q[3], s = 2 * (q[0] * q[3]);
        rate[0] = c * v[0] - s * v[1], rate[1] = s * v[0] + c * v[1];
    }
    if (kind == TNI_TREE_LINK_UNIVERSAL || !turns_any_way(kind)) return;
    tni_write3(rate, turn_rate(tni_read3(d), tni_read3(v)));
    if (kind == TNI_TREE_LINK_FREE)
        tni_write3(rate + 3, tni_rotate(read_quat(q), tni_read3(v + 3)));
    if (kind == TNI_TREE_LINK_DISTANCE)
        tni_write3(rate + 3,
                   turn_rate(tni_read3(d + 3), tni_vec3(-v[4] / link->size, v[3] / link->size, 0)));
}

void tni_tree_link_displace(const tni_tree_link* link, const double* d, double* q)
{
    switch (link->kind) {
    case TNI_TREE_LINK_PLANE:
        q[4] += d[0], q[5] += d[1];
        turn_about_z(d[2], q);
        break;
    case TNI_TREE_LINK_FREE:
        turn(tni_read3(d), q);
        q[4] += d[3], q[5] += d[4], q[6] += d[5];
        break;
    case TNI_TREE_LINK_DISTANCE:
        turn(tni_read3(d), q);
        turn(tni_read3(d + 3), q + 7);
        fit_distance(link->size, q);
        break;
    default: tni_tree_link_advance(link, 1, d, q);
    }
}

// ---- Projection to what the joint allows --------------------------------------------------------

// Nearest rotation about z; identity if there is none (upside down).
static void nearest_about_z(double* q)
{
    const double n     = sqrt(q[0] * q[0] + q[3] * q[3]);
    const bool   clear = n > 0;
    q[0] = clear ? q[0] / n : 1, q[3] = clear ? q[3] / n : 0;
    q[1] = q[2] = 0;
}

static void nearest_distance(const tni_tree_link* link, double* q)
{
    const tn_vec3  p = tni_read3(q + 4), n = tni_norm(p) > 0 ? tni_normalised(p) : unit[2];
    const tn_vec3  x = tni_perpendicular(n);
    const tni_mat3 b = tni_columns(x, tni_cross(n, x), n);
    write_quat(q + 7, tni_matrix_quat(&b));
    fit_distance(link->size, q);
}

void tni_tree_link_project(const tni_tree_link* link, double* q)
{
    const double             none[TNI_TREE_LINK_FREEDOMS] = {0};
    const tni_tree_link_kind kind                         = link->kind;
    if (kind == TNI_TREE_LINK_SLIDER || kind == TNI_TREE_LINK_WELD)
        write_quat(q, (tn_quat){1, 0, 0, 0});
    else if (!turns_any_way(kind)) nearest_about_z(q);
    else write_quat(q, tni_quat_normalised(read_quat(q)));
    switch (kind) {
    case TNI_TREE_LINK_FREE: break;
    case TNI_TREE_LINK_WELD:
    case TNI_TREE_LINK_HINGE:
    case TNI_TREE_LINK_BALL: q[4] = q[5] = q[6] = 0; break;
    case TNI_TREE_LINK_SLIDER:
    case TNI_TREE_LINK_CYLINDER: q[4] = q[5] = 0; break;
    case TNI_TREE_LINK_SCREW: q[4] = q[5] = 0, fit_screw(link->size, q); break;
    case TNI_TREE_LINK_PLANE: q[6] = 0; break;
    case TNI_TREE_LINK_UNIVERSAL:
        q[4] = q[5] = q[6] = 0;
        for (int i = 0; i < 12; ++i) // converges quadratically; 12 are more than enough
            write_quat(q, nearest_universal(read_quat(q), link->reversed));
        break;
    case TNI_TREE_LINK_DISTANCE: nearest_distance(link, q); break;
    default: advance_point(link, 0, none, q);
    }
}
