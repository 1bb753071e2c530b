// link_motion: where a limb is against its parent, how it may move, and moving it.
//
// R: limb axes to the parent's frame of the joint; p: the limb's origin there; w: angular part of S v.
// Rates of what is fixed in the parent, seen from the limb: (R^T a)' = -w x R^T a. So S' v is
//     universal   -v0 w x R^T z              reversed: v1 w x R^T x
//     line        -w x (v3 R^T z)            linear part; surface alike
//     reversed    c' x w                     c = -R^T p, c' = -(v3 z); surface: c' = -(v3 x + v4 y)
//     distance    -w x R^T g - |g|^2/size R^T b_z       g = v3 b_x + v4 b_y
// the last because b turns with (-v4/size, v3/size, 0) of its own axes: b_z' = g/size, and b does not spin
// about b_z.
//
// Moving is exact along constant v but for a universal's order of turns, which is that of its angles. Free
// and plane: a constant motion in limb axes is a screw; half of its turn on the way,
//     p += h R exp(h w/2) (sinc(h |w|/2) across + along)       across, along: parts of the velocity to w
// What a joint holds is written anew each time, from what it leaves free: nothing drifts.
//
// A way is where a limb has gone from q, as numbers that add up: rotation vectors (limb axes) for turns, of a distance
// joint's second quaternion too; places of free and plane in the parent's frame of the joint; all others are those of v.
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

static double sign_of(const tni_tree_link* limb)
{
    return limb->reversed ? -1 : 1;
}

// Turned about z at most: E = R^T before, two of its rows mixed.
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

static void place(const tni_tree_link* limb, const double* q, tni_shift* X)
{
    X->r = tni_add(limb->before.r, tni_mul_t(&limb->before.E, tni_read3(q + 4)));
    if (turns_any_way(limb->kind)) {
        const tni_mat3 R = tni_quat_matrix(read_quat(q)), Rt = tni_transposed(&R);
        X->E = tni_mat_mul(&Rt, &limb->before.E);
    } else if (limb->kind == TNI_TREE_LINK_SLIDER || limb->kind == TNI_TREE_LINK_WELD) {
        X->E = limb->before.E;
    } else {
        turn_rows(q[0], q[3], &limb->before.E, &X->E);
    }
}

static tni_six turning(tn_vec3 w)
{
    return (tni_six){w, {0, 0, 0}};
}

static tni_six sliding(tn_vec3 v)
{
    return (tni_six){{0, 0, 0}, v};
}

static const tn_vec3 unit[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

// Of the joints whose point lies in the parent (c = 0: in the limb), three turns about it.
static void turns_about(tn_vec3 c, tni_six* S)
{
    for (int k = 0; k < 3; ++k) S[k] = (tni_six){unit[k], tni_cross(c, unit[k])};
}

// The columns that depend on where the limb is.
static void bent_columns(const tni_tree_link* limb, const double* q, tni_six* S)
{
    const tni_mat3 R = tni_quat_matrix(read_quat(q));
    const tn_vec3  c = tni_neg(tni_mul_t(&R, tni_read3(q + 4)));
    if (limb->kind == TNI_TREE_LINK_UNIVERSAL) {
        S[0] = turning(limb->reversed ? tni_neg(unit[2]) : tni_mul_t(&R, unit[2]));
        S[1] = turning(limb->reversed ? tni_neg(tni_mul_t(&R, unit[0])) : unit[0]);
        return;
    }
    if (limb->kind == TNI_TREE_LINK_DISTANCE) {
        const tni_mat3 b = tni_quat_matrix(read_quat(q + 7));
        turns_about(tni_vec3(0, 0, 0), S);
        for (int k = 0; k < 2; ++k) S[3 + k] = sliding(tni_mul_t(&R, tni_column(&b, k)));
        return;
    }
    const int first =
        limb->kind == TNI_TREE_LINK_LINE ? 2 : 0; // which axes of frame 1 it slides along
    turns_about(limb->reversed ? c : tni_vec3(0, 0, 0), S);
    for (int k = 3; k < limb->freedoms; ++k) {
        const tn_vec3 a = unit[first + k - 3];
        S[k]            = sliding(limb->reversed ? a : tni_mul_t(&R, a));
    }
}

static void columns(const tni_tree_link* limb, const double* q, tni_six* S)
{
    const double  s = sign_of(limb);
    const tn_vec3 z = {0, 0, s};
    switch (limb->kind) {
    case TNI_TREE_LINK_WELD: break;
    case TNI_TREE_LINK_HINGE: S[0] = turning(z); break;
    case TNI_TREE_LINK_SLIDER: S[0] = sliding(z); break;
    case TNI_TREE_LINK_SCREW: S[0] = (tni_six){z, tni_vec3(0, 0, s * limb->size)}; break;
    case TNI_TREE_LINK_CYLINDER: S[0] = turning(z), S[1] = sliding(z); break;
    case TNI_TREE_LINK_BALL: turns_about(tni_vec3(0, 0, 0), S); break;
    case TNI_TREE_LINK_PLANE:
        S[0] = sliding(unit[0]), S[1] = sliding(unit[1]), S[2] = turning(unit[2]);
        break;
    case TNI_TREE_LINK_FREE:
        for (int k = 0; k < 3; ++k) S[k] = turning(unit[k]), S[3 + k] = sliding(unit[k]);
        break;
    default: bent_columns(limb, q, S);
    }
}

void tni_tree_link_place(const tni_tree_link* limb, const double* q, tni_shift* X, tni_six* S)
{
    if (X != NULL) place(limb, q, X);
    if (S != NULL) columns(limb, q, S);
}

tni_six tni_tree_link_motion(const tni_tree_link* limb, const tni_six* S, const double* v)
{
    tni_six sum = tni_six_zero();
    for (int k = 0; k < limb->freedoms; ++k) sum = tni_six_add_scaled(sum, v[k], S[k]);
    return sum;
}

tni_six tni_tree_link_bend(const tni_tree_link* limb, const double* q, const double* v)
{
    if (limb->steady) return tni_six_zero();
    const tni_mat3 R = tni_quat_matrix(read_quat(q));
    if (limb->kind == TNI_TREE_LINK_UNIVERSAL) {
        tni_six S[2];
        columns(limb, q, S);
        const int     k = limb->reversed ? 1 : 0; // the column that is fixed in the parent
        const tn_vec3 w = tni_tree_link_motion(limb, S, v).w;
        return turning(tni_cross(tni_scale(v[k], S[k].w), w));
    }
    const tn_vec3 w = tni_read3(v);
    tn_vec3       g;
    double        beside = 0;
    if (limb->kind == TNI_TREE_LINK_LINE) g = tni_vec3(0, 0, v[3]);
    else g = tni_vec3(v[3], v[4], 0);
    if (limb->kind == TNI_TREE_LINK_DISTANCE) {
        const tni_mat3 b = tni_quat_matrix(read_quat(q + 7));
        beside           = -tni_dot(g, g) / limb->size;
        const tn_vec3 Rb = tni_mul_t(&R, tni_column(&b, 2));
        g                = tni_mul_t(&R, tni_mul(&b, g));
        return sliding(tni_add_scaled(tni_cross(g, w), beside, Rb));
    }
    if (limb->reversed) return sliding(tni_cross(w, g)); // c' x w, c' = -g
    return sliding(tni_cross(tni_mul_t(&R, g), w));
}

// ---- Moving -------------------------------------------------------------------------------------

// q exp(d), or exp(d) q, of turns about z alone; x and y stay 0.
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

// The nearest product of a turn about z and one about x: (w x; z y) has rank one. e is its determinant,
// whose gradient has length 1.
static tn_quat nearest_universal(tn_quat q, bool reversed)
{
    if (reversed) q = tni_quat_conjugate(q);
    const double e = q.w * q.y - q.x * q.z;
    q = tni_quat_normalised((tn_quat){q.w - e * q.y, q.x + e * q.z, q.y - e * q.w, q.z + e * q.x});
    return reversed ? tni_quat_conjugate(q) : q;
}

static void advance_universal(const tni_tree_link* limb, double h, const double* v, double* q)
{
    const tn_quat about_z = tni_quat_exp(tni_vec3(0, 0, h * v[0])),
                  about_x = tni_quat_exp(tni_vec3(h * v[1], 0, 0));
    tn_quat a             = read_quat(q);
    if (limb->reversed) a = tni_quat_conjugate(a);
    a = tni_quat_mul(tni_quat_mul(about_z, a), about_x);
    if (limb->reversed) a = tni_quat_conjugate(a);
    write_quat(q, nearest_universal(a, limb->reversed));
}

// A constant motion in limb axes, for h.
static void advance_screwing(double h, tn_vec3 w, tn_vec3 v, double* q)
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

// The turn that has this place, of those that the quaternion leaves open; then the place of that turn.
static void seat_screw(double size, double* q)
{
    const double angle = 2 * tni_atan2(q[3], q[0]);
    const double turns = size != 0 ? floor((q[6] / size - angle) / TNI_TWO_PI + 0.5) : 0;
    q[6]               = size * (angle + TNI_TWO_PI * turns);
}

// Places of line and surface by their free coordinates; of distance by its second quaternion.
static void advance_point(const tni_tree_link* limb, double h, const double* v, double* q)
{
    const int first = limb->kind == TNI_TREE_LINK_LINE ? 2 : 0;
    double    c[3]  = {0, 0, 0}; // the point, in the frame with the line or surface
    tni_mat3  R     = tni_quat_matrix(read_quat(q));
    tn_vec3   p     = tni_read3(q + 4);
    if (limb->reversed) p = tni_neg(tni_mul_t(&R, p));
    for (int k = 3; k < limb->freedoms; ++k)
        c[first + k - 3] = tni_at(p, first + k - 3) + (limb->reversed ? -h : h) * v[k];
    turn(tni_scale(h, tni_read3(v)), q);
    p = tni_read3(c);
    if (limb->reversed) {
        R = tni_quat_matrix(read_quat(q));
        p = tni_neg(tni_mul(&R, p));
    }
    tni_write3(q + 4, p);
}

static void seat_distance(double size, double* q)
{
    const tn_quat b = read_quat(q + 7);
    tni_write3(q + 4, tni_scale(size, tni_rotate(b, unit[2])));
}

static void advance_distance(const tni_tree_link* limb, double h, const double* v, double* q)
{
    turn(tni_scale(h, tni_read3(v)), q);
    turn(tni_scale(h / limb->size, tni_vec3(-v[4], v[3], 0)), q + 7);
    seat_distance(limb->size, q);
}

void tni_tree_link_advance(const tni_tree_link* limb, double h, const double* v, double* q)
{
    const double s = sign_of(limb) * h;
    switch (limb->kind) {
    case TNI_TREE_LINK_WELD: break;
    case TNI_TREE_LINK_HINGE: turn_about_z(s * v[0], q); break;
    case TNI_TREE_LINK_SLIDER: q[6] += s * v[0]; break;
    case TNI_TREE_LINK_SCREW:
        turn_about_z(s * v[0], q);
        q[6] += s * v[0] * limb->size;
        seat_screw(limb->size, q);
        break;
    case TNI_TREE_LINK_CYLINDER: turn_about_z(s * v[0], q), q[6] += s * v[1]; break;
    case TNI_TREE_LINK_UNIVERSAL: advance_universal(limb, h, v, q); break;
    case TNI_TREE_LINK_BALL: turn(tni_scale(h, tni_read3(v)), q); break;
    case TNI_TREE_LINK_PLANE: advance_plane(h, v, q); break;
    case TNI_TREE_LINK_FREE: advance_screwing(h, tni_read3(v), tni_read3(v + 3), q); break;
    case TNI_TREE_LINK_DISTANCE: advance_distance(limb, h, v, q); break;
    default: advance_point(limb, h, v, q);
    }
}

// ---- Ways: fourth-order steps --------------------------------------------------------------------

// d' of a turn q exp(d) that goes on at w, limb axes: w + d x w / 2 + d x (d x w) / 12, the next term being of fourth order.
static tn_vec3 turn_rate(tn_vec3 d, tn_vec3 w)
{
    const tn_vec3 dw = tni_cross(d, w);
    return tni_add_scaled(tni_add_scaled(w, 0.5, dw), 1.0 / 12, tni_cross(d, dw));
}

void tni_tree_link_way_rate(const tni_tree_link* limb, const double* way, const double* q,
                            const double* v, double* rate)
{
    const tni_tree_link_kind kind = limb->kind;
    for (int k = 0; k < limb->freedoms; ++k) rate[k] = v[k];
    if (kind == TNI_TREE_LINK_PLANE) {
        const double c = q[0] * q[0] - q[3] * q[3], s = 2 * (q[0] * q[3]);
        rate[0] = c * v[0] - s * v[1], rate[1] = s * v[0] + c * v[1];
    }
    if (kind == TNI_TREE_LINK_UNIVERSAL || !turns_any_way(kind)) return;
    tni_write3(rate, turn_rate(tni_read3(way), tni_read3(v)));
    if (kind == TNI_TREE_LINK_FREE)
        tni_write3(rate + 3, tni_rotate(read_quat(q), tni_read3(v + 3)));
    if (kind == TNI_TREE_LINK_DISTANCE)
        tni_write3(rate + 3, turn_rate(tni_read3(way + 3),
                                       tni_vec3(-v[4] / limb->size, v[3] / limb->size, 0)));
}

void tni_tree_link_along(const tni_tree_link* limb, const double* way, double* q)
{
    switch (limb->kind) {
    case TNI_TREE_LINK_PLANE:
        q[4] += way[0], q[5] += way[1];
        turn_about_z(way[2], q);
        break;
    case TNI_TREE_LINK_FREE:
        turn(tni_read3(way), q);
        q[4] += way[3], q[5] += way[4], q[6] += way[5];
        break;
    case TNI_TREE_LINK_DISTANCE:
        turn(tni_read3(way), q);
        turn(tni_read3(way + 3), q + 7);
        seat_distance(limb->size, q);
        break;
    default: tni_tree_link_advance(limb, 1, way, q);
    }
}

// ---- The nearest that the joint allows ----------------------------------------------------------

// About z only; a limb that hangs upside down has no nearest turn, and takes none.
static void nearest_about_z(double* q)
{
    const double n     = sqrt(q[0] * q[0] + q[3] * q[3]);
    const bool   clear = n > 0;
    q[0] = clear ? q[0] / n : 1, q[3] = clear ? q[3] / n : 0;
    q[1] = q[2] = 0;
}

static void nearest_distance(const tni_tree_link* limb, double* q)
{
    const tn_vec3  p = tni_read3(q + 4), n = tni_norm(p) > 0 ? tni_normalised(p) : unit[2];
    const tn_vec3  x = tni_perpendicular(n);
    const tni_mat3 b = tni_columns(x, tni_cross(n, x), n);
    write_quat(q + 7, tni_matrix_quat(&b));
    seat_distance(limb->size, q);
}

void tni_tree_link_settle(const tni_tree_link* limb, double* q)
{
    const double             none[TNI_TREE_LINK_FREEDOMS] = {0};
    const tni_tree_link_kind kind                         = limb->kind;
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
    case TNI_TREE_LINK_SCREW: q[4] = q[5] = 0, seat_screw(limb->size, q); break;
    case TNI_TREE_LINK_PLANE: q[6] = 0; break;
    case TNI_TREE_LINK_UNIVERSAL:
        q[4] = q[5] = q[6] = 0;
        for (int i = 0; i < 12; ++i) // each squares the error; the last finds nothing left
            write_quat(q, nearest_universal(read_quat(q), limb->reversed));
        break;
    case TNI_TREE_LINK_DISTANCE: nearest_distance(limb, q); break;
    default: advance_point(limb, 0, none, q);
    }
}
