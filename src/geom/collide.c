// collide: contact manifolds of two shapes.
//
// Two convex shapes are processed in a fixed order (box, convex, cylinder, capsule, sphere; of two
// alike the larger first) and in the frame of the first, so that the result depends neither on the
// order of the arguments nor on the position in the world. Then
//     spheres, capsules   closed forms of points and segments
//     sphere and others   the nearest point of box or cylinder, closed form
//     boxes               the separating axis (collide_box.c), the face across it and what is over
//                         it (collide_patch.c); if no face has the distance, crossing edges; else
//                         as all others
//     all others          distance or penetration depth and its direction (gjk.c, epa.c); then the
//                         face across it and what is over it, if that has the distance; parallel
//                         lines (edges, sides of cylinders): two ends; else the single point found
//
// The normal is that of the face. If there is none but a ball (of capsule, sphere; the side of a
// cylinder is a ball about its axis, see collide_patch.c), it points from centre to centre. Two
// edges, or a vertex and an edge, have neither: their normal is fixed in shape 1, correct to first
// order because rotating n about the line c1 c2 does not change n . (c2 - c1).
#include "geom/collide.h"

#include "geom/collide_parts.h"
#include "geom/gjk.h"

enum { NEAR_SPOT = 0, EDGES_KIND = 7 };

static const double margin_of_size = 1e-9;
static const double clear_of_size  = 1e-6; // relative to the size: normals are accurate from here
static const double parallel       = 2e-5; // sine: up to this angle cylinders are parallel
static const double leaning        = 0.1;  // the same for capsules
static const double apart          = 1e-5; // relative to the size: closer points are one

static tni_manifold_point round_point(tn_vec3 c1, double r1, tn_vec3 c2, double r2, tn_vec3 n)
{
    const double gap = tni_dot(n, tni_sub(c2, c1)) - r1 - r2;
    return (tni_manifold_point){TNI_MANIFOLD_ROUND, NEAR_SPOT, n, c1, c2, r1, r2, gap};
}

static int kept(const tni_shape_pair* pair, const tni_manifold_point* point)
{
    return point->gap <= pair->reach ? 1 : 0; // false for NaN
}

// Unit vector along d, or `instead` if d has no direction.
static tn_vec3 direction(tn_vec3 d, tn_vec3 instead)
{
    const double l = tni_norm(d);
    return l > 0 && l < HUGE_VAL ? tni_scale(1 / l, d) : instead;
}

// ---- Spheres -----------------------------------------------------------------------------------

// Shape 1 is a sphere or a capsule.
static int ball_on_line(const tni_shape_pair* pair, tni_manifold_point* manifold)
{
    const double  l = pair->g1->type == TN_SHAPE_CAPSULE ? pair->g1->half_length : 0;
    const tn_vec3 x = pair->pose.x, c = {0, 0, fmin(fmax(x.z, -l), l)};
    const tn_vec3 n = direction(tni_sub(x, c), tni_vec3(1, 0, 0));
    manifold[0]     = round_point(c, pair->g1->radius, x, pair->g2->radius, n);
    return kept(pair, manifold);
}

static int ball_on_box(const tni_shape_pair* pair, tni_manifold_point* manifold)
{
    double x[3], h[3], q[3], n[3] = {0, 0, 0};
    tni_write3(x, pair->pose.x), tni_write3(h, pair->g1->half_size);
    int out = 0, face = 0; // number of coordinates outside; the nearest face
    for (int k = 0; k < 3; ++k) {
        q[k] = fmin(fmax(x[k], -h[k]), h[k]);
        if (fabs(x[k]) > h[k]) ++out;
        if (fabs(x[k]) - h[k] > fabs(x[face]) - h[face]) face = k;
    }
    if (out <= 1) {
        n[face] = x[face] < 0 ? -1 : 1;
        q[face] = n[face] * h[face];
    }
    const tn_vec3 c   = tni_read3(q);
    const tn_vec3 dir = out <= 1 ? tni_read3(n) : direction(tni_sub(pair->pose.x, c), tni_read3(n));
    manifold[0]       = round_point(c, 0, pair->pose.x, pair->g2->radius, dir);
    if (out <= 1) manifold[0].kind = TNI_MANIFOLD_FACE_1;
    return kept(pair, manifold);
}

static int ball_on_cylinder(const tni_shape_pair* pair, tni_manifold_point* manifold)
{
    const tn_vec3 x = pair->pose.x;
    const double  R = pair->g1->radius, l = pair->g1->half_length, r = pair->g2->radius;
    const double  rho = sqrt(x.x * x.x + x.y * x.y), side = rho - R, end = fabs(x.z) - l;
    const tn_vec3 across = direction(tni_vec3(x.x, x.y, 0), tni_vec3(1, 0, 0));
    const tn_vec3 up     = {0, 0, x.z < 0 ? -1 : 1};
    if (side > 0 && end > 0) {
        const tn_vec3 rim = tni_add_scaled(tni_scale(l, up), R, across);
        manifold[0]       = round_point(rim, 0, x, r, direction(tni_sub(x, rim), up));
    } else if (end >= side) {
        manifold[0]      = round_point(tni_vec3(x.x, x.y, l * up.z), 0, x, r, up);
        manifold[0].kind = TNI_MANIFOLD_FACE_1;
    } else {
        manifold[0] = round_point(tni_vec3(0, 0, x.z), R, x, r, across);
    }
    return kept(pair, manifold);
}

// ---- Capsules ----------------------------------------------------------------------------------

typedef struct lines {
    tn_vec3 a1, b1, a2, b2; // ends of the axes
    double  r1, r2;
    tn_vec3 across; // a direction for crossing axes
    double  sine;   // of the angle between the axes
} lines;

static lines lines_of(const tni_shape_pair* pair)
{
    const tn_vec3 u1 = {0, 0, 1}, u2 = tni_column(&pair->pose.R, 2), x = pair->pose.x;
    const double  l1 = pair->g1->half_length, l2 = pair->g2->half_length;
    const tn_vec3 c = tni_cross(u1, u2);
    return (lines){tni_vec3(0, 0, l1),
                   tni_vec3(0, 0, -l1),
                   tni_add_scaled(x, l2, u2),
                   tni_add_scaled(x, -l2, u2),
                   pair->g1->radius,
                   pair->g2->radius,
                   direction(c, tni_vec3(1, 0, 0)),
                   tni_norm(c)};
}

// End k (0, 1 of axis 1; 2, 3 of axis 2) and the nearest point of the other axis.
static tni_manifold_point end_point(const lines* l, int k, double* fraction)
{
    const tn_vec3 p = k == 0 ? l->a1 : k == 1 ? l->b1 : k == 2 ? l->a2 : l->b2;
    const tn_vec3 a = k < 2 ? l->a2 : l->a1, b = k < 2 ? l->b2 : l->b1;
    const tn_vec3 d = tni_sub(b, a), q = tni_between(a, b, tni_nearest_on(a, b, p));
    *fraction             = tni_dot(tni_sub(p, a), d) / tni_dot(d, d); // not clamped
    const tn_vec3      c1 = k < 2 ? p : q, c2 = k < 2 ? q : p;
    tni_manifold_point s = round_point(c1, l->r1, c2, l->r2, direction(tni_sub(c2, c1), l->across));
    s.feature            = (uint32_t)(1 + k);
    return s;
}

// The crossing point of the axes; false if it is not within both.
static bool crossing_point(const lines* l, tni_manifold_point* s)
{
    const tn_vec3 d = tni_sub(l->b1, l->a1), e = tni_sub(l->b2, l->a2), w = tni_sub(l->a2, l->a1);
    double        t, u;
    tni_cross_lines(d, e, w, &t, &u);
    if (!(l->sine > 1e-9) || !(t >= 0 && t <= 1 && u >= 0 && u <= 1)) return false;
    const tn_vec3 c1 = tni_add_scaled(l->a1, t, d), c2 = tni_add_scaled(l->a2, u, e);
    tn_vec3       n = l->across; // perpendicular to both, as c2 - c1 up to rounding
    if (tni_dot(n, tni_sub(c2, c1)) < 0) n = tni_neg(n);
    *s = round_point(c1, l->r1, c2, l->r2, n);
    return true;
}

static int capsules(const tni_shape_pair* pair, tni_manifold_point* manifold)
{
    const lines        l    = lines_of(pair);
    const double       same = apart * pair->size;
    tni_manifold_point best, low = {0}, high = {0};
    bool               any = false, crossed = crossing_point(&l, &best);
    for (int k = 0; k < 4; ++k) {
        double                   f;
        const tni_manifold_point s = end_point(&l, k, &f);
        if (!crossed && (k == 0 || s.gap < best.gap)) best = s;
        if (!(fabs(f - 0.5) <= 0.5 + apart) || l.sine > leaning) continue;
        if (!any || s.c1.z < low.c1.z - same) low = s;
        if (!any || s.c1.z > high.c1.z + same) high = s;
        any = true;
    }
    int count = 0;
    if (!any || !(high.c1.z - low.c1.z > same)) {
        manifold[0]         = best;
        manifold[0].feature = NEAR_SPOT;
        return kept(pair, manifold);
    }
    const double least = fmin(low.gap, high.gap);
    if (best.gap < least - pair->margin && kept(pair, &best)) {
        best.feature      = NEAR_SPOT;
        manifold[count++] = best;
    }
    if (kept(pair, &low)) manifold[count++] = low;
    if (kept(pair, &high)) manifold[count++] = high;
    return count;
}

// ---- Parallel lines ----------------------------------------------------------------------------

// The line of a shape perpendicular to n, furthest along n: the axis of a cylinder or capsule, or
// an edge of a polytope, in the frame of the pose; false if there is none.
static bool line_of(const tni_geometry* g, const tni_pose* pose, tn_vec3 n, double size, tn_vec3* a,
                    tn_vec3* b)
{
    const tn_vec3 d = tni_mul_t(&pose->R, n);
    if (g->type == TN_SHAPE_CYLINDER || g->type == TN_SHAPE_CAPSULE) {
        *a = tni_pose_point(pose, tni_vec3(0, 0, g->half_length));
        *b = tni_pose_point(pose, tni_vec3(0, 0, -g->half_length));
        return fabs(d.z) < parallel;
    }
    if (g->type == TN_SHAPE_SPHERE) return false;
    const double most  = tni_dot(d, tni_support(g, d, NULL));
    int          count = 0;
    for (int i = 0; i < g->polytope->vertex_count; ++i) {
        const tn_vec3 v = g->polytope->vertices[i];
        if (!(tni_dot(d, v) >= most - 1e-7 * size)) continue;
        *(count == 0 ? a : b) = tni_pose_point(pose, v);
        ++count;
    }
    return count == 2;
}

static double line_radius(const tni_geometry* g)
{
    return g->type == TN_SHAPE_CYLINDER || g->type == TN_SHAPE_CAPSULE ? g->radius : 0;
}

// Two parallel lines, one of them an edge or a cylinder's, at distance `gap`: the two ends of their
// overlap.
static int parallel_lines(const tni_shape_pair* pair, tn_vec3 n, double gap,
                          tni_manifold_point* manifold)
{
    const tni_pose own = tni_pose_home();
    tn_vec3        a1, b1, a2, b2;
    if (!line_of(pair->g1, &own, n, pair->size, &a1, &b1)) return 0;
    if (!line_of(pair->g2, &pair->pose, tni_neg(n), pair->size, &a2, &b2)) return 0;
    const tn_vec3 u = tni_normalised(tni_sub(b1, a1)), v = tni_normalised(tni_sub(b2, a2));
    const double  l = tni_dot(u, tni_sub(b1, a1)), s = tni_dot(u, tni_sub(a2, a1)),
                 t       = tni_dot(u, tni_sub(b2, a1));
    const double ends[2] = {fmax(0, fmin(s, t)), fmin(l, fmax(s, t))};
    if (!(tni_norm(tni_cross(u, v)) < parallel)) return 0;
    if (!(ends[1] - ends[0] > apart * pair->size)) return 0;
    double least = HUGE_VAL;
    int    count = 0;
    for (int k = 0; k < 2; ++k) {
        const tn_vec3      c1 = tni_add_scaled(a1, ends[k], u);
        const tn_vec3      c2 = tni_between(a2, b2, (ends[k] - s) / (t - s)), d = tni_sub(c2, c1);
        const tn_vec3      m = tni_norm(d) > clear_of_size * pair->size ? tni_normalised(d) : n;
        tni_manifold_point point =
            round_point(c1, line_radius(pair->g1), c2, line_radius(pair->g2), m);
        if (point.r1 + point.r2 == 0) point.kind = TNI_MANIFOLD_FACE_1;
        point.feature = (uint32_t)(1 + k);
        least         = fmin(least, point.gap);
        if (kept(pair, &point)) manifold[count++] = point;
    }
    return fabs(least - gap) <= pair->margin ? count : 0;
}

// ---- General pairs -----------------------------------------------------------------------------

// Radius of the ball about the axis of a cylinder that touches along n; 0 if there is none.
static double ball_radius(const tni_geometry* g, tn_vec3 axis, tn_vec3 n)
{
    if (g->type != TN_SHAPE_CYLINDER) return 0;
    const double s = tni_norm(tni_cross(axis, n));
    return s > TNI_ROLLS ? g->radius / s : 0;
}

// The single point that gjk.c or epa.c found.
static int single(const tni_shape_pair* pair, const tni_nearest* near, tni_manifold_point* manifold)
{
    const tn_vec3 n = near->n, z1 = {0, 0, 1}, z2 = tni_column(&pair->pose.R, 2);
    const double  b1 = ball_radius(pair->g1, z1, n), b2 = ball_radius(pair->g2, z2, n);
    const double  r1 = tni_round_radius(pair->g1) + b1, r2 = tni_round_radius(pair->g2) + b2;
    const double  core = near->gap + tni_round_radius(pair->g1) + tni_round_radius(pair->g2);
    const tn_vec3 c1   = tni_add_scaled(near->c1, -b1, n);
    const tn_vec3 c2   = tni_add_scaled(near->c1, core + b2, n);
    manifold[0]        = round_point(c1, r1, c2, r2, n);
    manifold[0].gap    = near->gap;
    if (!(core + b1 + b2 > clear_of_size * pair->size)) manifold[0].kind = TNI_MANIFOLD_FACE_1;
    if (r1 + r2 > 0) return kept(pair, manifold);
    const bool end2  = pair->g2->type == TN_SHAPE_CYLINDER && pair->g1->type != TN_SHAPE_CYLINDER;
    manifold[0].kind = end2 ? TNI_MANIFOLD_FACE_2 : TNI_MANIFOLD_FACE_1;
    return kept(pair, manifold);
}

static int edges_crossed(const tni_shape_pair* pair, const tni_separating_axis* axis,
                         tni_manifold_point* manifold)
{
    if (!axis->edges) return 0;
    const tn_vec3 off = tni_add_scaled(tni_sub(axis->c2, axis->c1), -axis->s, axis->n);
    if (!(tni_norm(off) <= pair->margin)) return 0;
    manifold[0] = (tni_manifold_point){TNI_MANIFOLD_FACE_1,
                                       tni_feature(EDGES_KIND, axis->id1, axis->id2),
                                       axis->n,
                                       axis->c1,
                                       axis->c2,
                                       0,
                                       0,
                                       axis->s};
    return kept(pair, manifold);
}

static int others(const tni_shape_pair* pair, tni_manifold_point* manifold)
{
    const tni_pose    own  = tni_pose_home();
    const tni_nearest near = tni_nearest_points(pair->g1, &own, pair->g2, &pair->pose);
    if (!(near.gap <= pair->reach)) return 0;
    int count = tni_patch(pair, near.n, near.gap, manifold);
    if (count == 0) count = parallel_lines(pair, near.n, near.gap, manifold);
    return count > 0 ? count : single(pair, &near, manifold);
}

static int boxes(const tni_shape_pair* pair, tni_manifold_point* manifold)
{
    const tni_separating_axis axis = tni_box_separating_axis(pair);
    if (!(axis.s <= pair->reach)) return 0;
    int count = tni_patch(pair, axis.n, axis.s, manifold);
    if (count == 0) count = edges_crossed(pair, &axis, manifold);
    return count > 0 ? count : others(pair, manifold);
}

// ---- Selection by type -------------------------------------------------------------------------

static int rank_of(tn_shape_type type)
{
    switch (type) {
    case TN_SHAPE_BOX: return 0;
    case TN_SHAPE_CONVEX: return 1;
    case TN_SHAPE_CYLINDER: return 2;
    case TN_SHAPE_CAPSULE: return 3;
    default: return 4;
    }
}

static bool is_second(const tni_geometry* g1, const tni_geometry* g2)
{
    if (g1->type != g2->type) return rank_of(g1->type) > rank_of(g2->type);
    const double a[] = {g1->half_size.x, g1->half_size.y, g1->half_size.z, g1->radius,
                        g1->half_length};
    const double b[] = {g2->half_size.x, g2->half_size.y, g2->half_size.z, g2->radius,
                        g2->half_length};
    for (int k = 0; k < 5; ++k)
        if (a[k] != b[k]) return a[k] < b[k];
    if (g1->type != TN_SHAPE_CONVEX) return false;
    return g1->polytope->vertex_count < g2->polytope->vertex_count;
}

static int collide_ordered(const tni_shape_pair* pair, tni_manifold_point* manifold)
{
    const tn_shape_type t1 = pair->g1->type, t2 = pair->g2->type;
    if (t2 == TN_SHAPE_SPHERE) {
        if (t1 == TN_SHAPE_SPHERE || t1 == TN_SHAPE_CAPSULE) return ball_on_line(pair, manifold);
        if (t1 == TN_SHAPE_BOX) return ball_on_box(pair, manifold);
        if (t1 == TN_SHAPE_CYLINDER) return ball_on_cylinder(pair, manifold);
    }
    if (t1 == TN_SHAPE_CAPSULE) return capsules(pair, manifold);
    return t1 == TN_SHAPE_BOX && t2 == TN_SHAPE_BOX ? boxes(pair, manifold)
                                                    : others(pair, manifold);
}

static tni_manifold_point swapped(tni_manifold_point s)
{
    const tni_manifold_kind kind = s.kind == TNI_MANIFOLD_FACE_1   ? TNI_MANIFOLD_FACE_2
                                   : s.kind == TNI_MANIFOLD_FACE_2 ? TNI_MANIFOLD_FACE_1
                                                                   : TNI_MANIFOLD_ROUND;
    return (tni_manifold_point){kind, s.feature, tni_neg(s.n), s.c2, s.c1, s.r2, s.r1, s.gap};
}

static bool is_number(const tni_pose* pose)
{
    double sum = fabs(pose->x.x) + fabs(pose->x.y) + fabs(pose->x.z);
    for (int k = 0; k < 9; ++k) sum += fabs(pose->R.m[k]);
    return sum < HUGE_VAL;
}

int tni_collide_convex(const tni_geometry* g1, const tni_pose* p1, const tni_geometry* g2,
                       const tni_pose* p2, double reach, tni_manifold_point* manifold)
{
    const bool      second = is_second(g1, g2);
    const tni_pose *a = second ? p2 : p1, *b = second ? p1 : p2;
    const double    e1 = tni_extent(g1), e2 = tni_extent(g2);
    tni_shape_pair  pair = {.g1    = second ? g2 : g1,
                            .g2    = second ? g1 : g2,
                            .pose  = tni_pose_seen(a, b),
                            .reach = reach,
                            .size  = fmin(e1, e2)};
    pair.margin          = margin_of_size * pair.size + 1e-14 * fmax(e1, e2);
    if (!is_number(&pair.pose)) return 0;
    const int count = collide_ordered(&pair, manifold);
    for (int i = 0; i < count; ++i) {
        tni_manifold_point* s = &manifold[i];
        s->n                  = tni_mul(&a->R, s->n);
        s->c1 = tni_pose_point(a, s->c1), s->c2 = tni_pose_point(a, s->c2);
        if (second) *s = swapped(*s);
    }
    return count;
}

int tni_collide(const tni_geometry* g1, const tni_pose* p1, const tni_geometry* g2,
                const tni_pose* p2, double reach, tni_manifold_point* manifold, int capacity)
{
    if (tni_is_surface(g1->type) && tni_is_convex(g2->type))
        return tni_collide_surface(g1, p1, g2, p2, reach, manifold, capacity);
    if (tni_is_surface(g2->type) && tni_is_convex(g1->type)) {
        const int count = tni_collide_surface(g2, p2, g1, p1, reach, manifold, capacity);
        for (int i = 0; i < count && i < capacity; ++i) manifold[i] = swapped(manifold[i]);
        return count;
    }
    if (!tni_is_convex(g1->type) || !tni_is_convex(g2->type)) return 0;
    tni_manifold_point all[TNI_MANIFOLD_MAX];
    const int          count = tni_collide_convex(g1, p1, g2, p2, reach, all);
    for (int i = 0; i < count && i < capacity; ++i) manifold[i] = all[i];
    return count;
}
