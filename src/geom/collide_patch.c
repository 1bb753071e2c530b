// collide_patch: contact points from a reference face and the incident feature over it.
//
// The reference is a face of a polytope or an end of a cylinder; outward normal m, in the frame of
// its shape. The incident feature of the other shape is the face that has the vertex deepest along
// -m and the most opposed normal, a rim, a side line of a cylinder, the axis of a capsule, a
// centre. The patch is the part of the incident feature over the reference:
//     polygon over polygon  clipped side by side (Sutherland, Hodgman)
//     disc over polygon     in the disc's plane: points of its rim within, sides that cross the
//                           rim, corners within; polygon over disc the other way round
//     disc over disc        points of either rim within the other, crossings of the rims
//     segment over either   clipped: two ends
// Each point has its own gap m . c - offset - r, so a tilted box has one deep point and others that
// touch later. The least of them is the distance of the shapes if the nearest features are a face
// and something over it, and nearly so (to second order in the tilt) if they are edges of faces
// that are nearly parallel: such a patch is accepted too, up to the margin, so that a box resting
// on the edge of another with four points keeps them while it trembles.
//
// A tilted rim touches as a ball of radius r / s about the point of the axis above it, s being the
// sine of the angle of axis and normal: rolling does not change its gap. A standing one (s <=
// TNI_ROLLS) has four points a quarter turn apart, fixed in the shape, and its lowest point, unless
// s < stands: then the lowest point is arbitrary, and lower by at most s times the radius.
//
// Feature ids: a vertex of shape 1 or 2, or two edges. A point within `beside` of a vertex has the
// vertex's id: stacked boxes of equal size keep theirs although edges cross near corners.
#include "geom/collide_parts.h"

enum { CANDIDATES_MAX = 256, SIDES = 96, FEATURE_MASK = (1 << TNI_FEATURE_BITS) - 1 };

static const double snap      = 1e-10; // relative to the size: tolerance of inside
static const double apart     = 1e-5;  // relative to the size: closer points are one
static const double beside    = 1e-3;
static const double facing    = 1 - 5e-5; // cosine: a face may be tilted by 0.01 from the normal
static const double stands    = 1e-10;
static const double looks     = 0.2;  // cosine above which a face counts as facing the direction
static const double round_rim = 2e-5; // sine: tilted by less, a rim is a circle to 1e-9

// Kinds of point features; the two ids that follow are those of the reference and of the other.
typedef enum feature_kind { VERTEX_1, VERTEX_2, CROSSING, RIM_1, RIM_2, RIM_SIDE } feature_kind;

typedef struct patch {
    const tni_geometry *ref, *other;
    tni_pose            pose;    // of the other in the frame of the reference
    bool                swapped; // the reference is shape 2
    double              size, reach;
    tn_vec3             m;
    double              offset;
    const tni_face*     face; // of the reference; NULL: the end of a cylinder
    int                 count;
    tni_candidate       candidates[CANDIDATES_MAX];
} patch;

uint32_t tni_feature(int kind, int a, int b)
{
    uint32_t h = (uint32_t)kind * 0x9E3779B1u;
    h          = (h ^ (uint32_t)a) * 0x85EBCA6Bu;
    h          = (h ^ h >> 13 ^ (uint32_t)b) * 0xC2B2AE35u;
    return (h ^ h >> 15) & FEATURE_MASK;
}

static uint32_t feature_of(const patch* p, feature_kind kind, int ref, int other)
{
    if (!p->swapped) return tni_feature(kind, ref, other);
    const feature_kind mirrored = kind == VERTEX_1   ? VERTEX_2
                                  : kind == VERTEX_2 ? VERTEX_1
                                  : kind == RIM_1    ? RIM_2
                                  : kind == RIM_2    ? RIM_1
                                                     : kind;
    return tni_feature(mirrored, other, ref);
}

static void put(patch* p, tn_vec3 c, double r, uint32_t feature)
{
    if (p->count == CANDIDATES_MAX) return;
    p->candidates[p->count++] = (tni_candidate){c, r, tni_dot(p->m, c) - p->offset - r, feature, 0};
}

// ---- The reference -----------------------------------------------------------------------------

// The face that faces most along n; false if there is none.
static bool choose_reference(patch* p, tn_vec3 n)
{
    const tni_geometry* g = p->ref;
    if (g->type == TN_SHAPE_CYLINDER) {
        p->m      = tni_vec3(0, 0, n.z > 0 ? 1 : -1);
        p->offset = g->half_length;
        return fabs(n.z) >= facing;
    }
    const tni_polytope* own = tni_polytope_of(g);
    if (own == NULL) return false;
    double most = -HUGE_VAL;
    for (int i = 0; i < own->face_count; ++i) {
        const double along = tni_dot(n, own->faces[i].n);
        if (along > most) most = along, p->face = &own->faces[i];
    }
    p->m      = p->face->n;
    p->offset = p->face->offset;
    return most >= facing;
}

static int corner_number(const tni_geometry* g, const tni_face* face, int k)
{
    return g->polytope->corners[face->first + k % face->count];
}

static tn_vec3 corner(const tni_geometry* g, const tni_face* face, int k)
{
    return g->polytope->vertices[corner_number(g, face, k)];
}

// Side k of the reference: its outward direction t in the face's plane; inside is t . p <= *limit.
static tn_vec3 side_of(const patch* p, int k, double* limit)
{
    const tn_vec3 a = corner(p->ref, p->face, k), b = corner(p->ref, p->face, k + 1);
    const tn_vec3 t = tni_normalised(tni_cross(tni_sub(b, a), p->m));
    *limit          = tni_dot(t, a);
    return t;
}

static bool within_sides(const patch* p, tn_vec3 q, int but)
{
    for (int k = 0; k < p->face->count; ++k) {
        double        limit;
        const tn_vec3 t = side_of(p, k, &limit);
        if (k != but && !(tni_dot(t, q) <= limit + snap * p->size)) return false;
    }
    return true;
}

static bool within_rim(const patch* p, tn_vec3 q)
{
    const double r = p->ref->radius + snap * p->size;
    return q.x * q.x + q.y * q.y <= r * r;
}

// ---- Polygons ----------------------------------------------------------------------------------

// A corner of a clipped polygon, and the side that leaves it: >= 0: side of the incident polygon;
// below: side -1 - k of the reference.
typedef struct cut {
    tn_vec3 p;
    int     vertex, leaving; // vertex of the incident shape; -1: a crossing
} cut;

typedef struct polygon {
    const tni_face* face;
    tn_vec3         n; // of the face, in the frame of the reference
    int             step;
    int             count;
    cut             cuts[CANDIDATES_MAX];
} polygon;

// Corner k, counter-clockwise about m.
static int incident_number(const patch* p, const polygon* poly, int k)
{
    const int n = poly->face->count;
    return corner_number(p->other, poly->face, 2 * n - k % n);
}

static bool has_deepest(const patch* p, const tni_face* face, tn_vec3 m, double deepest)
{
    for (int k = 0; k < face->count; ++k)
        if (tni_dot(m, corner(p->other, face, k)) <= deepest + snap * p->size) return true;
    return false;
}

static void choose_incident(const patch* p, polygon* poly)
{
    const tni_polytope* own     = p->other->polytope;
    const tn_vec3       m       = tni_mul_t(&p->pose.R, p->m);
    const bool          a_box   = p->other->type == TN_SHAPE_BOX; // of which any has it
    const double        deepest = a_box ? 0 : tni_dot(m, tni_support(p->other, tni_neg(m), NULL));
    double              least   = HUGE_VAL;
    for (int i = 0; i < own->face_count; ++i) {
        const double along = tni_dot(m, own->faces[i].n);
        if (along < least && (a_box || has_deepest(p, &own->faces[i], m, deepest)))
            least = along, poly->face = &own->faces[i];
    }
    if (poly->face == NULL) poly->face = &own->faces[0]; // for NaN
    poly->n     = tni_mul(&p->pose.R, poly->face->n);
    poly->step  = 1 + (poly->face->count - 1) / SIDES;
    poly->count = 0;
    for (int k = 0; k < poly->face->count; k += poly->step) {
        const int v               = incident_number(p, poly, k);
        poly->cuts[poly->count++] = (cut){tni_pose_point(&p->pose, own->vertices[v]), v, k};
    }
}

// Clips the polygon by side k of the reference.
static void clip(const patch* p, polygon* poly, int k)
{
    double        limit, d[CANDIDATES_MAX];
    const tn_vec3 t     = side_of(p, k, &limit);
    const double  close = snap * p->size;
    const int     count = poly->count;
    bool          all   = true;
    for (int i = 0; i < count; ++i) {
        d[i] = tni_dot(t, poly->cuts[i].p) - limit;
        all  = all && d[i] <= close;
    }
    if (all) return;
    cut old[CANDIDATES_MAX];
    memcpy(old, poly->cuts, sizeof(cut) * (size_t)count);
    poly->count = 0;
    for (int i = 0; i < count; ++i) {
        const int  j    = i + 1 < count ? i + 1 : 0;
        const bool a_in = d[i] <= close, b_in = d[j] <= close;
        if (a_in && poly->count < CANDIDATES_MAX) poly->cuts[poly->count++] = old[i];
        if (a_in == b_in || poly->count >= CANDIDATES_MAX) continue;
        const double  way         = fmin(fmax(d[i] / (d[i] - d[j]), 0), 1);
        const tn_vec3 at          = tni_between(old[i].p, old[j].p, way);
        poly->cuts[poly->count++] = (cut){at, -1, a_in ? -1 - k : old[i].leaving};
    }
}

// The vertex of the incident face within `beside` of q; -1: none.
static int vertex_beside(const patch* p, const polygon* poly, tn_vec3 q)
{
    for (int k = 0; k < poly->face->count; ++k) {
        const tn_vec3 v = tni_pose_point(&p->pose, corner(p->other, poly->face, k));
        if (tni_max_abs(tni_sub(q, v)) < beside * p->size)
            return corner_number(p->other, poly->face, k);
    }
    return -1;
}

// The feature of a corner of the clipped polygon that is reached by side `coming`.
static uint32_t cut_feature(const patch* p, const polygon* poly, const cut* c, int coming)
{
    const int vertex = c->vertex >= 0 ? c->vertex : vertex_beside(p, poly, c->p);
    if (vertex >= 0) return feature_of(p, VERTEX_2, 0, vertex);
    const int own = c->leaving >= 0 ? c->leaving : coming;
    const int ref = c->leaving >= 0 ? coming : c->leaving;
    const int at  = ref < 0 ? corner_number(p->ref, p->face, -1 - ref) : 0;
    if (own < 0) return feature_of(p, VERTEX_1, at, 0); // two sides of the reference
    return feature_of(p, CROSSING, at, incident_number(p, poly, own));
}

// Removes corners that are on the segment between their neighbours: nearly coincident sides cross
// at an arbitrary point.
static void straighten(const patch* p, polygon* poly)
{
    for (int i = 0; i < poly->count && poly->count > 2;) {
        const tn_vec3 a = poly->cuts[i > 0 ? i - 1 : poly->count - 1].p,
                      b = poly->cuts[i + 1 < poly->count ? i + 1 : 0].p, q = poly->cuts[i].p;
        const tn_vec3 on = tni_between(a, b, tni_nearest_on(a, b, q));
        if (tni_max_abs(tni_sub(q, on)) > apart * p->size) {
            ++i;
            continue;
        }
        --poly->count;
        memmove(&poly->cuts[i], &poly->cuts[i + 1], sizeof(cut) * (size_t)(poly->count - i));
    }
}

static void polygon_over_polygon(patch* p, polygon* poly)
{
    for (int k = 0; k < p->face->count && poly->count > 0; ++k) clip(p, poly, k);
    straighten(p, poly);
    for (int i = 0; i < poly->count; ++i) {
        const int coming = poly->cuts[i > 0 ? i - 1 : poly->count - 1].leaving;
        put(p, poly->cuts[i].p, 0, cut_feature(p, poly, &poly->cuts[i], coming));
    }
}

// ---- Discs -------------------------------------------------------------------------------------

typedef struct disc {
    tn_vec3 c, u;        // centre; unit outward normal
    tn_vec3 e1, e2, low; // unit, in its plane; low: towards the lowest point
    double  r;
    int     count; // points that represent the rim: 4, or 5 with the lowest
} disc;

// Sets the direction down along `up` in the plane of the disc, if it is tilted.
static void set_lowest(disc* d, tn_vec3 up)
{
    d->low   = tni_add_scaled(tni_neg(up), tni_dot(up, d->u), d->u);
    d->count = tni_norm(d->low) > stands ? 5 : 4;
    d->low   = tni_normalised(d->low);
}

static tn_vec3 rim_point(const disc* d, int k)
{
    const tn_vec3 e = k == 4 ? d->low : k % 2 == 0 ? d->e1 : d->e2;
    return tni_add_scaled(d->c, k == 2 || k == 3 ? -d->r : d->r, e);
}

// The end of the incident cylinder that faces the reference.
static disc incident_disc(const patch* p)
{
    const tn_vec3 z    = tni_column(&p->pose.R, 2);
    const double  side = tni_dot(z, p->m) > 0 ? -1 : 1;
    disc          d    = {.u = tni_scale(side, z), .r = p->other->radius};
    d.c                = tni_add_scaled(p->pose.x, p->other->half_length, d.u);
    d.e1 = tni_column(&p->pose.R, 0), d.e2 = tni_column(&p->pose.R, 1);
    set_lowest(&d, p->m);
    return d;
}

// The end of the reference; the incident feature is tilted as n.
static disc reference_disc(const patch* p, tn_vec3 n)
{
    disc d = {.c  = tni_scale(p->offset, p->m),
              .u  = p->m,
              .e1 = {1, 0, 0},
              .e2 = {0, 1, 0},
              .r  = p->ref->radius};
    set_lowest(&d, n);
    return d;
}

// q moved along the normal of the reference into the plane through c with normal n.
static tn_vec3 lifted(const patch* p, tn_vec3 q, tn_vec3 c, tn_vec3 n)
{
    return tni_add_scaled(q, tni_dot(n, tni_sub(c, q)) / tni_dot(n, p->m), p->m);
}

static void disc_over_polygon(patch* p)
{
    const disc d = incident_disc(p);
    for (int k = 0; k < d.count; ++k)
        if (within_sides(p, rim_point(&d, k), -1))
            put(p, rim_point(&d, k), 0, feature_of(p, RIM_2, 0, k));
    for (int k = 0; k < p->face->count; ++k) {
        double        limit;
        const tn_vec3 t  = side_of(p, k, &limit);
        const double  t1 = tni_dot(t, d.e1), t2 = tni_dot(t, d.e2), l = sqrt(t1 * t1 + t2 * t2);
        const double  h  = (limit - tni_dot(t, d.c)) / l; // distance of the side from the centre
        const int     v  = corner_number(p->ref, p->face, k);
        const tn_vec3 on = lifted(p, corner(p->ref, p->face, k), d.c, d.u);
        if (tni_norm(tni_sub(on, d.c)) <= d.r) put(p, on, 0, feature_of(p, VERTEX_1, v, 0));
        if (!(fabs(h) < d.r)) continue;
        const double w = sqrt(d.r * d.r - h * h);
        for (int side = -1; side <= 1; side += 2) {
            const double  x = (h * t1 - side * w * t2) / l, y = (h * t2 + side * w * t1) / l;
            const tn_vec3 q = tni_add_scaled(tni_add_scaled(d.c, x, d.e1), y, d.e2);
            if (within_sides(p, q, k)) put(p, q, 0, feature_of(p, RIM_SIDE, v, 2 + side));
        }
    }
}

// True if q, in the plane of the incident face, is inside it.
static bool within_incident(const patch* p, const polygon* poly, tn_vec3 q)
{
    for (int k = 0; k < poly->count; ++k) {
        const tn_vec3 a = poly->cuts[k].p, b = poly->cuts[(k + 1) % poly->count].p;
        const tn_vec3 t = tni_normalised(tni_cross(poly->n, tni_sub(b, a)));
        if (!(tni_dot(t, tni_sub(q, a)) <= snap * p->size)) return false;
    }
    return true;
}

// Where a + t (b - a) enters and leaves the rim of the reference; false: nowhere.
static bool through_rim(const patch* p, tn_vec3 a, tn_vec3 b, double t[2])
{
    const double x = b.x - a.x, y = b.y - a.y, l = x * x + y * y, r = p->ref->radius;
    if (!(l > 0)) return t[0] = 0, t[1] = 1, within_rim(p, a);
    const double middle = -(a.x * x + a.y * y) / l;
    const double u = a.x + middle * x, v = a.y + middle * y, rest = r * r - u * u - v * v;
    if (!(rest >= 0)) return false;
    const double half = sqrt(rest / l);
    return t[0] = middle - half, t[1] = middle + half, true;
}

static void polygon_over_disc(patch* p, const polygon* poly)
{
    for (int k = 0; k < poly->count; ++k) {
        const tn_vec3 a = poly->cuts[k].p, b = poly->cuts[(k + 1) % poly->count].p;
        const int     v = poly->cuts[k].vertex;
        if (within_rim(p, a)) put(p, a, 0, feature_of(p, VERTEX_2, 0, v));
        double t[2];
        if (!through_rim(p, a, b, t)) continue;
        for (int i = 0; i < 2; ++i)
            if (t[i] > 0 && t[i] < 1)
                put(p, tni_between(a, b, t[i]), 0, feature_of(p, RIM_SIDE, 1 + i, v));
    }
    if (!(tni_dot(poly->n, p->m) < -looks)) return;
    const disc d = reference_disc(p, poly->n);
    for (int k = 0; k < d.count; ++k) {
        const tn_vec3 q = lifted(p, rim_point(&d, k), poly->cuts[0].p, poly->n);
        if (within_incident(p, poly, q)) put(p, q, 0, feature_of(p, RIM_1, k, 0));
    }
}

static void disc_over_disc(patch* p)
{
    const disc d = incident_disc(p), e = reference_disc(p, d.u);
    for (int k = 0; k < d.count; ++k) { // both are tilted alike
        const tn_vec3 q = rim_point(&d, k), o = lifted(p, rim_point(&e, k), d.c, d.u);
        if (within_rim(p, q)) put(p, q, 0, feature_of(p, RIM_2, 0, k));
        if (tni_norm(tni_sub(o, d.c)) <= d.r) put(p, o, 0, feature_of(p, RIM_1, k, 0));
    }
    const double x = d.c.x, y = d.c.y, l = sqrt(x * x + y * y);
    if (!(tni_norm(tni_cross(d.u, p->m)) < round_rim) || !(l > 0)) return;
    const double h = 0.5 * (l + (e.r - d.r) * (e.r + d.r) / l), rest = e.r * e.r - h * h;
    if (!(rest > 0)) return;
    const double w = sqrt(rest) / l;
    for (int side = -1; side <= 1; side += 2) {
        const tn_vec3 q = tni_vec3(h * x / l - side * w * y, h * y / l + side * w * x, e.c.z);
        put(p, lifted(p, q, d.c, d.u), 0, feature_of(p, RIM_SIDE, 2 + side, 0));
    }
}

// ---- Segments ----------------------------------------------------------------------------------

// The part of the segment over the reference: fractions of the way, and the side that cuts each end
// (-1: none).
static bool segment_over(const patch* p, tn_vec3 a, tn_vec3 b, double t[2], int by[2])
{
    t[0] = 0, t[1] = 1, by[0] = by[1] = -1;
    if (p->face == NULL) {
        double cuts[2];
        if (!through_rim(p, a, b, cuts)) return false;
        if (cuts[0] > 0) t[0] = cuts[0], by[0] = 0;
        if (cuts[1] < 1) t[1] = cuts[1], by[1] = 0;
        return t[0] <= t[1];
    }
    for (int k = 0; k < p->face->count; ++k) {
        double        limit;
        const tn_vec3 n  = side_of(p, k, &limit);
        const double  da = tni_dot(n, a) - limit, db = tni_dot(n, b) - limit;
        const double  close = snap * p->size;
        if (da > close && db > close) return false;
        if (!(da > close) && !(db > close)) continue;
        const double at = da / (da - db);
        if (da > db && at > t[0]) t[0] = at, by[0] = k;
        if (da <= db && at < t[1]) t[1] = at, by[1] = k;
    }
    return t[0] <= t[1];
}

// r: radius of the ball; lift: from the line to its centre.
static void put_segment(patch* p, tn_vec3 a, tn_vec3 b, double r, double lift)
{
    double t[2];
    int    by[2];
    if (!segment_over(p, a, b, t, by)) return;
    const double end = beside * p->size / fmax(tni_norm(tni_sub(b, a)), p->size);
    for (int i = 0; i < 2; ++i) {
        if (fabs(t[i] - i) < end) by[i] = -1; // practically uncut
        const int side = by[i] >= 0 && p->face != NULL ? corner_number(p->ref, p->face, by[i]) : 0;
        const uint32_t feature =
            by[i] < 0 ? feature_of(p, VERTEX_2, 0, i) : feature_of(p, CROSSING, side, i);
        put(p, tni_add_scaled(tni_between(a, b, t[i]), lift, p->m), r, feature);
    }
}

static void incident_cylinder(patch* p)
{
    const tn_vec3 z = tni_column(&p->pose.R, 2);
    const double  s = tni_norm(tni_cross(z, p->m));
    if (s <= TNI_ROLLS) {
        if (p->face != NULL) disc_over_polygon(p);
        else disc_over_disc(p);
        return;
    }
    const double  r = p->other->radius, l = p->other->half_length;
    const tn_vec3 down = tni_scale(1 / s, tni_add_scaled(tni_neg(p->m), tni_dot(z, p->m), z));
    const tn_vec3 line = tni_add_scaled(p->pose.x, r, down);
    put_segment(p, tni_add_scaled(line, l, z), tni_add_scaled(line, -l, z), r / s, r / s);
}

static void gather(patch* p)
{
    const tn_vec3 z = tni_scale(p->other->half_length, tni_column(&p->pose.R, 2));
    polygon       poly;
    switch (p->other->type) {
    case TN_SHAPE_SPHERE:
        if (p->face != NULL ? within_sides(p, p->pose.x, -1) : within_rim(p, p->pose.x))
            put(p, p->pose.x, p->other->radius, feature_of(p, VERTEX_2, 0, 0));
        break;
    case TN_SHAPE_CAPSULE:
        put_segment(p, tni_add(p->pose.x, z), tni_sub(p->pose.x, z), p->other->radius, 0);
        break;
    case TN_SHAPE_CYLINDER: incident_cylinder(p); break;
    default:
        poly.face = NULL;
        choose_incident(p, &poly);
        if (p->face != NULL) polygon_over_polygon(p, &poly);
        else polygon_over_disc(p, &poly);
    }
}

// ---- Reduction of points -----------------------------------------------------------------------

// Removes points beyond reach, and of coincident points all but the deepest.
static void merge_points(patch* p)
{
    int count = 0;
    for (int i = 0; i < p->count; ++i) {
        const tni_candidate m = p->candidates[i];
        int                 k = 0;
        if (!(m.gap <= p->reach)) continue;
        while (k < count && tni_max_abs(tni_sub(p->candidates[k].c, m.c)) > apart * p->size) ++k;
        if (k == count) p->candidates[count++] = m;
        else if (m.gap < p->candidates[k].gap) p->candidates[k] = m;
    }
    p->count = count;
}

int tni_keep_extremes(tni_candidate* candidates, int count, double slack)
{
    if (count <= TNI_MANIFOLD_MAX) return count;
    for (int i = 0; i < count; ++i) candidates[i].far = -candidates[i].gap;
    for (int k = 0; k < TNI_MANIFOLD_MAX; ++k) {
        int best = k;
        for (int i = k + 1; i < count; ++i)
            if (candidates[i].far > candidates[best].far + slack) best = i;
        const tni_candidate m = candidates[best];
        candidates[best] = candidates[k], candidates[k] = m;
        for (int i = k + 1; i < count; ++i) {
            const tn_vec3 d   = tni_sub(candidates[i].c, m.c);
            const double  to  = tni_dot(d, d);
            candidates[i].far = k == 0 ? to : fmin(candidates[i].far, to);
        }
    }
    return TNI_MANIFOLD_MAX;
}

// Makes ids unique: a repeated id is replaced by the next one that is free.
static void make_features_unique(patch* p)
{
    for (int i = 1; i < p->count; ++i) {
        for (int k = 0; k < i; ++k) {
            if (p->candidates[k].feature != p->candidates[i].feature) continue;
            p->candidates[i].feature = (p->candidates[i].feature + 1) & FEATURE_MASK;
            k                        = -1;
        }
    }
}

static tni_manifold_point point_of(const patch* p, const tni_pose* pose, const tni_candidate* m)
{
    const tn_vec3 n = tni_mul(&pose->R, p->m), c = tni_pose_point(pose, m->c);
    const tn_vec3 below = tni_pose_point(pose, tni_add_scaled(m->c, -(m->gap + m->r), p->m));
    if (p->swapped)
        return (tni_manifold_point){
            TNI_MANIFOLD_FACE_2, m->feature, tni_neg(n), c, below, m->r, 0, m->gap};
    return (tni_manifold_point){TNI_MANIFOLD_FACE_1, m->feature, n, below, c, 0, m->r, m->gap};
}

static int over_face(const tni_shape_pair* pair, bool swapped, tn_vec3 n, double gap,
                     tni_manifold_point* manifold)
{
    const tni_pose* pose = &pair->pose;
    const tni_pose  home = tni_pose_home();
    patch           p;
    p.ref = swapped ? pair->g2 : pair->g1, p.other = swapped ? pair->g1 : pair->g2;
    p.swapped = swapped, p.size = pair->size, p.reach = pair->reach, p.face = NULL, p.count = 0;
    p.pose = *pose;
    if (swapped)
        p.pose = (tni_pose){tni_neg(tni_mul_t(&pose->R, pose->x)), tni_transposed(&pose->R)};
    if (!choose_reference(&p, swapped ? tni_neg(tni_mul_t(&pose->R, n)) : n)) return 0;
    gather(&p);
    double least = HUGE_VAL;
    for (int i = 0; i < p.count; ++i) least = fmin(least, p.candidates[i].gap);
    if (!(fabs(least - gap) <= pair->margin)) return 0;
    merge_points(&p);
    p.count = tni_keep_extremes(p.candidates, p.count, snap * p.size * p.size);
    make_features_unique(&p);
    for (int i = 0; i < p.count; ++i)
        manifold[i] = point_of(&p, swapped ? pose : &home, &p.candidates[i]);
    return p.count;
}

int tni_patch(const tni_shape_pair* pair, tn_vec3 n, double gap, tni_manifold_point* manifold)
{
    const int count = over_face(pair, false, n, gap, manifold);
    return count > 0 ? count : over_face(pair, true, n, gap, manifold);
}
