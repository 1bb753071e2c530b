// collide_mesh: contact manifold of a convex shape and a mesh or height field.
//
// Each triangle near the shape is a convex set too, but it has edges that the surface has not: a
// box that slides over a tessellated floor would catch on them (internal edges). So a direction d,
// from the surface to the shape, is valid only if it is in the normal cone of the surface: the
// corner or edge of the triangle that is furthest along d must be a local maximum of d . x over the
// surface around it. The triangle's own normal n is always valid. For each triangle that faces the
// centre of the shape:
//
//     d is the separating direction of the two (collide.c); s = separation of the shape along n
//     s equals that of d           the shape rests on the triangle: points of the shape over it
//     d is valid                   the points that collide.c found
//     d is not valid               a neighbour is touched first; left are vertices of the shape
//                                  over this triangle and nearer than reach, along n. If the
//                                  shape penetrates: all points over the triangle, unless the
//                                  neighbour across a ridge faces more along d, since n would push
//                                  the long way
//
// If each triangle leaves the contact to another, the one with the largest s is used.
//
// Over a triangle these points are taken of the feature of the shape that faces it (face, rim,
// line, centre): its vertices over the triangle; its sides over ridges (convex or boundary edges of
// the surface); corners of the surface under it. Flat and concave (valley) edges are neither ridges
// nor corners and give no points: a box on a floor of a thousand triangles has the four points that
// it has on a plane.
//
// "Over" a triangle means within the prism along n. Below a valley the prisms of its two sides
// diverge; the gap between them belongs to both. A height field is solid below: what is vertically
// below a triangle, at any depth, belongs to it, and triangles are used whether or not they face
// the centre of the shape.
//
// The same point on two triangles with the same normal counts once. Cost: one convex pair a
// triangle.
#include "geom/collide_parts.h"
#include "geom/surface.h"

enum { INTERNAL_EDGE_BIT = 1 << 30 }; // flag of a feature while the list is built
enum { POLYGON = 64, RIM = 16, CANDIDATES_MAX = POLYGON + 6 * POLYGON + 3 };

static const double agree   = 1e-6; // sine: the surface may rise by this much along d
static const double beyond  = 1e-9; // relative to the sizes: outside by this much counts as inside
static const double same    = 1e-6; // relative to the size: closer points are one
static const double as_good = 1e-8; // relative to the size: equal separations
static const double bias    = 0.01; // relative to the depth: preference for faces
static const double stands  = 1e-7;
static const double looks   = 0.2; // cosine above which a face counts as facing the direction

// ---- The shape over a triangle -----------------------------------------------------------------

typedef struct facet {
    int     index;
    tn_vec3 v[3], n;
    double  size; ///< longest edge
} facet;

typedef struct query {
    const tni_geometry* s; ///< the surface
    const tni_geometry* g;
    tni_pose            pose;   ///< of the shape, in the frame of the surface, as everything below
    tn_vec3             middle; ///< centre of the shape
    double              reach, size, radius;
    tni_manifold_point* manifold;
    int                 capacity, count;
    int                 fallback; ///< the penetrated triangle with the smallest push
    double              fallback_gap;
} query;

static facet facet_of(const tni_geometry* s, int t)
{
    facet f = {.index = t};
    tni_surface_corners(s, t, f.v);
    f.n = tni_normal_of(f.v);
    for (int k = 0; k < 3; ++k) f.size = fmax(f.size, tni_norm(tni_sub(f.v[(k + 1) % 3], f.v[k])));
    return f;
}

// Distance of p outside the prism, beyond edge k.
static double outside(const tn_vec3 v[3], tn_vec3 n, int k, tn_vec3 p)
{
    const tn_vec3 e = tni_sub(v[(k + 1) % 3], v[k]);
    return tni_dot(tni_normalised(tni_cross(e, n)), tni_sub(p, v[k]));
}

// True if p is below a valley edge k, in the gap between the prisms of its sides.
static bool is_between_prisms(const query* q, const facet* f, int k, tn_vec3 p, double margin)
{
    const int other = tni_surface_neighbour(q->s, f->index, k);
    if (other < 0 || tni_bend_at(q->s, f->index, f->v, k) != TNI_VALLEY) return false;
    const facet g = facet_of(q->s, other);
    const int   j = tni_corner_at(g.v, f->v[(k + 1) % 3]);
    return j >= 0 && outside(g.v, g.n, j, p) > -margin;
}

static bool is_straight_below(const facet* f, tn_vec3 p, double margin)
{
    for (int k = 0; k < 3; ++k)
        if (!(outside(f->v, tni_vec3(0, 0, 1), k, p) <= margin)) return false;
    return true;
}

static bool is_over(const query* q, const facet* f, tn_vec3 p)
{
    const double margin = beyond * (f->size + q->size), height = tni_dot(f->n, tni_sub(p, f->v[0]));
    if (q->s->type == TN_SHAPE_HEIGHTS && height < 0 && is_straight_below(f, p, margin))
        return true;
    for (int k = 0; k < 3; ++k) {
        if (outside(f->v, f->n, k, p) <= margin) continue;
        if (!(height < 0) || !is_between_prisms(q, f, k, p, margin)) return false;
    }
    return true;
}

// ---- The feature of the shape that faces a direction -------------------------------------------

// The contact feature for a plane with normal n, as centres of balls: one, two (a line) or a
// polygon, counter-clockwise from above.
typedef struct feature {
    tn_vec3 p[POLYGON];
    int     count;
    int     step; ///< every step-th point is used as a point of contact
    double  radius;
    tn_vec3 m; ///< polygon: outward normal
} feature;

// The face with the lowest vertex and, of several, the most opposed normal.
static const tni_face* lowest_face(const tni_geometry* g, tn_vec3 n)
{
    const tni_polytope* own    = g->polytope;
    const double        lowest = tni_dot(n, tni_support(g, tni_neg(n), NULL));
    const double        close  = beyond * tni_extent(g);
    const tni_face*     best   = &own->faces[0];
    double              least  = HUGE_VAL;
    for (int i = 0; i < own->face_count; ++i) {
        const tni_face* face = &own->faces[i];
        const double    lean = tni_dot(n, face->n);
        if (!(lean < least)) continue;
        for (int k = 0; k < face->count; ++k) {
            if (tni_dot(n, own->vertices[own->corners[face->first + k]]) > lowest + close) continue;
            least = lean, best = face;
            break;
        }
    }
    return best;
}

static void polytope_feature(const tni_geometry* g, tn_vec3 n, feature* out)
{
    const tni_face* face = lowest_face(g, n);
    const int       step = 1 + (face->count - 1) / POLYGON;
    out->m               = face->n;
    for (int k = face->count - 1; k >= 0; k -= step)
        out->p[out->count++] = g->polytope->vertices[g->polytope->corners[face->first + k]];
}

// The rim of the end if the cylinder stands, else the side line, as balls about points above it.
static void cylinder_feature(const tni_geometry* g, tn_vec3 n, feature* out)
{
    const double  s    = sqrt(n.x * n.x + n.y * n.y);
    const tn_vec3 down = s > stands ? tni_vec3(-n.x / s, -n.y / s, 0) : tni_vec3(1, 0, 0);
    if (s > TNI_ROLLS) {
        const tn_vec3 c = tni_add_scaled(tni_scale(g->radius, down), g->radius / s, n);
        out->radius     = g->radius / s;
        out->p[0]       = tni_add(c, tni_vec3(0, 0, g->half_length));
        out->p[1]       = tni_add(c, tni_vec3(0, 0, -g->half_length));
        out->count      = 2;
        return;
    }
    static const double cosine[5] = {1, 0.92387953251128674, 0.70710678118654752,
                                     0.38268343236508977, 0};
    const double        side      = n.z > 0 ? -1 : 1;
    const tn_vec3       across    = {-down.y * -side, down.x * -side, 0};
    out->m                        = tni_vec3(0, 0, side);
    out->step                     = RIM / 4;
    for (int k = 0; k < RIM; ++k) {
        const int     quarter = k / 4, i = k % 4;
        const double  a = cosine[i], b = cosine[4 - i];
        const double  x = quarter == 0 ? a : quarter == 1 ? -b : quarter == 2 ? -a : b;
        const double  y = quarter == 0 ? b : quarter == 1 ? a : quarter == 2 ? -b : -a;
        const tn_vec3 p = tni_add(tni_scale(x * g->radius, down), tni_scale(y * g->radius, across));
        out->p[out->count++] = tni_vec3(p.x, p.y, side * g->half_length);
    }
}

static void feature_along(const query* q, tn_vec3 world_n, feature* out)
{
    const tni_geometry* g = q->g;
    const tn_vec3       n = tni_mul_t(&q->pose.R, world_n);
    out->count = 0, out->step = 1, out->radius = q->radius, out->m = tni_neg(n);
    switch (g->type) {
    case TN_SHAPE_BOX:
    case TN_SHAPE_CONVEX: polytope_feature(g, n, out); break;
    case TN_SHAPE_CYLINDER: cylinder_feature(g, n, out); break;
    case TN_SHAPE_CAPSULE:
        out->p[out->count++] = tni_vec3(0, 0, g->half_length);
        out->p[out->count++] = tni_vec3(0, 0, -g->half_length);
        break;
    default: out->p[out->count++] = tni_vec3(0, 0, 0);
    }
    for (int i = 0; i < out->count; ++i) out->p[i] = tni_pose_point(&q->pose, out->p[i]);
    out->m = tni_mul(&q->pose.R, out->m);
}

// ---- Points over a triangle --------------------------------------------------------------------

typedef struct candidates {
    tni_candidate at[CANDIDATES_MAX];
    double        radius;
    int           count;
    bool          apart; ///< the shape does not touch the triangle itself
} candidates;

static void add_candidate(const query* q, const facet* f, tn_vec3 c, candidates* m)
{
    const double height = tni_dot(f->n, tni_sub(c, f->v[0]));
    if (!(height - m->radius <= q->reach) || m->count == CANDIDATES_MAX) return;
    m->at[m->count++] = (tni_candidate){.c = c, .r = m->radius, .gap = height - m->radius};
}

// The shape has p behind the triangle but does not touch it: the segment from its centre to p
// passes beside the triangle. True if it goes through the surface there, not around its boundary.
static bool is_through(const query* q, const facet* f, tn_vec3 p)
{
    const double h = tni_dot(f->n, tni_sub(p, f->v[0])),
                 H = tni_dot(f->n, tni_sub(q->middle, f->v[0]));
    if (!(h < -beyond * (f->size + q->size)) || q->s->type == TN_SHAPE_HEIGHTS) return true;
    const tn_vec3 x = tni_add_scaled(p, h / (h - H), tni_sub(q->middle, p));
    for (int k = 0; k < 3; ++k)
        if (outside(f->v, f->n, k, x) > 0 && tni_bend_at(q->s, f->index, f->v, k) == TNI_RIDGE)
            return false;
    return true;
}

static void find_vertices(const query* q, const facet* f, const feature* shape, candidates* m)
{
    for (int i = 0; i < shape->count; i += shape->step) {
        const tn_vec3 p = shape->p[i];
        if (is_over(q, f, p) && (!m->apart || is_through(q, f, p))) add_candidate(q, f, p, m);
    }
}

// Points where sides of the feature cross a ridge.
static void find_ridges(const query* q, const facet* f, const feature* shape, candidates* m)
{
    const double margin = beyond * (f->size + q->size);
    const int    sides  = shape->count > 2 ? shape->count : shape->count - 1;
    for (int k = 0; k < 3; ++k) {
        if (sides < 1 || tni_bend_at(q->s, f->index, f->v, k) != TNI_RIDGE) continue;
        for (int i = 0; i < sides; ++i) {
            const tn_vec3 a = shape->p[i], b = shape->p[(i + 1) % shape->count];
            const double  x = outside(f->v, f->n, k, a), y = outside(f->v, f->n, k, b);
            if ((x > margin) == (y > margin)) continue;
            const tn_vec3 c = tni_add_scaled(a, fmin(fmax(x / (x - y), 0), 1), tni_sub(b, a));
            if (outside(f->v, f->n, (k + 1) % 3, c) <= margin &&
                outside(f->v, f->n, (k + 2) % 3, c) <= margin)
                add_candidate(q, f, c, m);
        }
    }
}

static bool is_under(const feature* shape, tn_vec3 n, tn_vec3 p, double margin)
{
    for (int i = 0; i < shape->count; ++i) {
        const tn_vec3 a = shape->p[i], e = tni_sub(shape->p[(i + 1) % shape->count], a);
        if (!(tni_dot(tni_normalised(tni_cross(e, n)), tni_sub(p, a)) <= margin)) return false;
    }
    return true;
}

static void find_corners(const query* q, const facet* f, const feature* shape, candidates* m)
{
    const double along = tni_dot(shape->m, f->n), margin = beyond * (f->size + q->size);
    if (shape->count < 3 || !(along < -looks)) return;
    for (int k = 0; k < 3; ++k) {
        const tn_vec3 v = f->v[k];
        if (!is_under(shape, f->n, v, margin) || !tni_is_corner(q->s, f->index, k)) continue;
        const double height = tni_dot(shape->m, tni_sub(shape->p[0], v)) / along;
        add_candidate(q, f, tni_add_scaled(v, height, f->n), m);
    }
}

// ---- The list of points ------------------------------------------------------------------------

static tn_vec3 position_of(const tni_manifold_point* s)
{
    return tni_add_scaled(s->c2, -s->r2, s->n);
}

static bool is_same_point(const query* q, const tni_manifold_point* a, const tni_manifold_point* b)
{
    return tni_dot(a->n, b->n) > 1 - same &&
           tni_max_abs(tni_sub(position_of(a), position_of(b))) <= same * q->size;
}

// Of equal points the deepest is kept; if equally deep, the one with the least feature, so that the
// order of the search does not matter.
static void add_point(query* q, const tni_manifold_point* s)
{
    const int stored = q->count < q->capacity ? q->count : q->capacity;
    for (int i = 0; i < stored; ++i) {
        tni_manifold_point* old = &q->manifold[i];
        if (!is_same_point(q, old, s)) continue;
        const double close = same * q->size;
        const bool   takes =
            s->gap < old->gap - close || (s->gap <= old->gap + close && s->feature < old->feature);
        if (takes) *old = *s;
        return;
    }
    if (q->count < q->capacity) q->manifold[q->count] = *s;
    ++q->count;
}

static void add_candidates(query* q, const facet* f, candidates* m)
{
    m->count = tni_keep_extremes(m->at, m->count, beyond * q->size * q->size);
    for (int i = 0; i < m->count; ++i) {
        const tni_candidate*     at = &m->at[i];
        const tni_manifold_point s  = {.kind    = TNI_MANIFOLD_FACE_1,
                                       .feature = (uint32_t)(8 * f->index + i),
                                       .n       = f->n,
                                       .c1      = tni_add_scaled(at->c, -(at->gap + at->r), f->n),
                                       .c2      = at->c,
                                       .r2      = at->r,
                                       .gap     = at->gap};
        add_point(q, &s);
    }
}

static void add_points_on_face(query* q, const facet* f, bool rests_on_it, bool apart)
{
    feature    shape;
    candidates m;
    feature_along(q, f->n, &shape);
    m.count = 0, m.radius = shape.radius, m.apart = apart;
    find_vertices(q, f, &shape, &m);
    if (rests_on_it) {
        find_ridges(q, f, &shape, &m);
        find_corners(q, f, &shape, &m);
    }
    add_candidates(q, f, &m);
}

// ---- Points off the face -----------------------------------------------------------------------

// The corners of a triangle that are furthest along d, as bits.
static int furthest(const facet* f, tn_vec3 d)
{
    double at[3], most = -HUGE_VAL;
    for (int k = 0; k < 3; ++k) {
        at[k] = tni_dot(d, tni_sub(f->v[k], f->v[0]));
        most  = fmax(most, at[k]);
    }
    int bits = 0;
    for (int k = 0; k < 3; ++k) bits |= (at[k] >= most - agree * f->size) << k;
    return bits;
}

// True if d is the triangle's normal within rounding.
static bool is_along(const facet* f, tn_vec3 d)
{
    if (!(tni_dot(d, f->n) > 0)) return false;
    return furthest(f, d) == 7 || tni_norm(tni_cross(d, f->n)) < TNI_BEND_MIN;
}

static bool is_edge(int bits, int k)
{
    return bits == (1 << k | 1 << (k + 1) % 3);
}

// True if d is in the normal cone of the surface at the feature of the triangle furthest along d.
static bool is_in_normal_cone(const query* q, const facet* f, tn_vec3 d)
{
    const int bits = furthest(f, d);
    if (!(tni_dot(d, f->n) >= -agree)) return false;
    for (int k = 0; k < 3; ++k) {
        if (!is_edge(bits, k)) continue;
        const int other = tni_surface_neighbour(q->s, f->index, k);
        if (other < 0) return true;
        const facet g = facet_of(q->s, other);
        for (int j = 0; j < 3; ++j)
            if (tni_dot(d, tni_sub(g.v[j], f->v[k])) > agree * fmax(g.size, f->size)) return false;
    }
    for (int k = 0; k < 3; ++k) {
        if (bits != 1 << k) continue;
        tni_fan_edge edges[TNI_FAN_MAX];
        const int    count = tni_fan_of(q->s, f->index, k, edges);
        for (int i = 0; i < count; ++i)
            if (tni_dot(d, edges[i].d) > agree * tni_norm(edges[i].d)) return false;
    }
    return true;
}

// True if a neighbour across a ridge faces more along d.
static bool neighbour_faces_more(const query* q, const facet* f, tn_vec3 d)
{
    const int bits = furthest(f, d);
    for (int k = 0; k < 3; ++k) {
        const bool part = is_edge(bits, k) || bits == 1 << k || bits == 1 << (k + 1) % 3;
        if (!part || tni_bend_at(q->s, f->index, f->v, k) != TNI_RIDGE) continue;
        const int other = tni_surface_neighbour(q->s, f->index, k);
        if (other < 0) continue;
        const facet g = facet_of(q->s, other);
        if (tni_dot(d, g.n) > tni_dot(d, f->n) + looks) return true;
    }
    return false;
}

// True if p is on an edge that is not a ridge, or on a corner that is not one of the surface.
static bool is_on_internal_edge(const query* q, const facet* f, tn_vec3 p)
{
    const double margin = same * f->size;
    for (int k = 0; k < 3; ++k)
        if (tni_max_abs(tni_sub(p, f->v[k])) <= margin) return !tni_is_corner(q->s, f->index, k);
    for (int k = 0; k < 3; ++k)
        if (fabs(outside(f->v, f->n, k, p)) <= margin)
            return tni_bend_at(q->s, f->index, f->v, k) != TNI_RIDGE;
    return false;
}

static void add_points_off_face(query* q, const facet* f, const tni_manifold_point* found,
                                int count)
{
    for (int i = 0; i < count; ++i) {
        tni_manifold_point s = found[i];
        s.feature            = (uint32_t)(8 * f->index + i);
        if (is_on_internal_edge(q, f, s.c1)) s.feature |= INTERNAL_EDGE_BIT;
        add_point(q, &s);
    }
}

// Removes points on internal edges if two others have the same normal: they are between these, or
// will be once the shape moves on.
static void drop_internal_edges(query* q)
{
    const int stored = q->count < q->capacity ? q->count : q->capacity;
    int       kept   = 0;
    for (int i = 0; i < stored; ++i) {
        int others = 0;
        for (int k = 0; (q->manifold[i].feature & INTERNAL_EDGE_BIT) != 0 && k < stored; ++k)
            others += (q->manifold[k].feature & INTERNAL_EDGE_BIT) == 0 &&
                      tni_dot(q->manifold[k].n, q->manifold[i].n) > 1 - same;
        if (others >= 2) q->manifold[i].feature = UINT32_MAX;
    }
    for (int i = 0; i < stored; ++i) {
        if (q->manifold[i].feature == UINT32_MAX) continue;
        q->manifold[kept] = q->manifold[i];
        q->manifold[kept++].feature &= ~(uint32_t)INTERNAL_EDGE_BIT;
    }
    q->count -= stored - kept;
}

// ---- One triangle ------------------------------------------------------------------------------

// The triangle as a convex shape in a frame at its first corner.
static int touch_triangle(const query* q, const facet* f,
                          tni_manifold_point manifold[TNI_MANIFOLD_MAX])
{
    const tni_pose     at = {f->v[0], tni_identity3()};
    tni_triangle_shape shape;
    for (int k = 0; k < 3; ++k) shape.vertices[k] = tni_sub(f->v[k], f->v[0]);
    tni_triangle_shape_make(&shape, f->n);
    return tni_collide_convex(&shape.geometry, &at, q->g, &q->pose, q->reach, manifold);
}

static void collide_triangle(void* user, int t)
{
    query*       q      = user;
    const facet  f      = facet_of(q->s, t);
    const bool   solid  = q->s->type == TN_SHAPE_HEIGHTS;
    const double facing = tni_dot(f.n, tni_sub(q->middle, f.v[0]));
    if (!(facing > 0) && !solid) return;
    const tn_vec3 low = tni_support(q->g, tni_mul_t(&q->pose.R, tni_neg(f.n)), NULL);
    const double  s   = tni_dot(f.n, tni_sub(tni_pose_point(&q->pose, low), f.v[0])) - q->radius;
    if (!(s <= q->reach)) return;
    tni_manifold_point found[TNI_MANIFOLD_MAX];
    const int          count   = touch_triangle(q, &f, found);
    int                deepest = 0;
    if (count == 0 && !(solid && s < 0)) return;
    for (int i = 1; i < count; ++i)
        if (found[i].gap < found[deepest].gap) deepest = i;
    const double  gap  = count > 0 ? found[deepest].gap : s;
    const tn_vec3 d    = count > 0 ? found[deepest].n : f.n;
    const double  core = gap + q->radius; // negative: the cores overlap
    const double  slop = as_good * fmin(f.size, q->size) + (core < 0 ? -bias * core : 0);
    if (count > 0 && core < 0 && s > q->fallback_gap) q->fallback = t, q->fallback_gap = s;
    if (s >= gap - slop || is_along(&f, d)) add_points_on_face(q, &f, true, false);
    else if (is_in_normal_cone(q, &f, d)) add_points_off_face(q, &f, found, count);
    else if (!(core < 0)) add_points_on_face(q, &f, false, true);
    else if (!neighbour_faces_more(q, &f, d)) add_points_on_face(q, &f, true, false);
}

// A triangle that is not touched as a face has at most seven points, so one number is free.
static uint32_t unused_feature(const query* q, int t)
{
    int used = 0;
    for (int i = 0; i < q->count && i < q->capacity; ++i) {
        const uint32_t id = q->manifold[i].feature & ~(uint32_t)INTERNAL_EDGE_BIT;
        if ((int)(id / 8) == t) used |= 1 << id % 8;
    }
    int k = 7;
    while (k > 0 && (used >> k & 1) != 0) --k;
    return (uint32_t)(8 * t + k);
}

static bool is_touched(const query* q)
{
    for (int i = 0; i < q->count && i < q->capacity; ++i)
        if (q->manifold[i].gap < 0) return true;
    return false;
}

// The shape penetrates some triangles, each of which left it to another: uses the least push along
// their normals.
static void fallback(query* q)
{
    const facet              f   = facet_of(q->s, q->fallback);
    const tn_vec3            low = tni_support(q->g, tni_mul_t(&q->pose.R, tni_neg(f.n)), NULL);
    const tn_vec3            c   = tni_pose_point(&q->pose, low);
    const tni_manifold_point s   = {.kind    = TNI_MANIFOLD_FACE_1,
                                    .feature = unused_feature(q, f.index),
                                    .n       = f.n,
                                    .c1      = tni_add_scaled(c, -(q->fallback_gap + q->radius), f.n),
                                    .c2      = c,
                                    .r2      = q->radius,
                                    .gap     = q->fallback_gap};
    add_point(q, &s);
}

// ---- Entry -------------------------------------------------------------------------------------

int tni_collide_surface(const tni_geometry* g1, const tni_pose* p1, const tni_geometry* g2,
                        const tni_pose* p2, double reach, tni_manifold_point* manifold,
                        int capacity)
{
    query q             = {.s            = g1,
                           .g            = g2,
                           .pose         = tni_pose_seen(p1, p2),
                           .reach        = reach,
                           .size         = tni_extent(g2),
                           .radius       = tni_round_radius(g2),
                           .manifold     = manifold,
                           .capacity     = capacity,
                           .fallback     = -1,
                           .fallback_gap = -HUGE_VAL};
    q.middle            = tni_pose_point(&q.pose, tni_middle_of(g2));
    const double   more = reach + same * q.size; // for rounding
    const tni_aabb box  = tni_aabb_grown(tni_bounds(g2, &q.pose), more);
    tni_surface_visit(g1, &box, collide_triangle, &q);
    if (q.fallback >= 0 && !is_touched(&q)) fallback(&q);
    drop_internal_edges(&q);
    for (int i = 0; i < q.count && i < capacity; ++i) {
        manifold[i].n  = tni_mul(&p1->R, manifold[i].n);
        manifold[i].c1 = tni_pose_point(p1, manifold[i].c1);
        manifold[i].c2 = tni_pose_point(p1, manifold[i].c2);
    }
    return q.count;
}
