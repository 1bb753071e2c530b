// epa: penetration depth: the least translation that separates two overlapping convex sets.
//
// With the differences y = b - a of gjk.c, core 2 translated along n is separated from core 1 when
// all n . y are positive. So the depth is the least over all directions of
//     -gap(n),   gap(n) = min n . y,
// which is the distance from the origin to the boundary of the Minkowski difference, from inside.
//
// Points, segments and polytopes: the difference is a polytope, and its faces have the normals of
// the faces of either, or are parallel to an edge of each. All are tried: faces first, and edges
// only when better by more than rounding. Two edges make a face if the arcs between the normals of
// their faces cross on the Gauss map [1]; pairs that fail this are skipped, as are pairs whose
// lines are closer than the best gap so far, since gap(n) can only be less. There is no iteration.
//
// Cylinders are curved. The flat faces of the difference are tried as before: caps, faces of a
// polytope, axis and edge or both axes, and from the axis through a vertex. The rest is found by
// expansion (EPA [2]): a polytope inside the set, starting with a tetrahedron of support points;
// its face nearest to the origin (possibly negative) gets the support point along its normal as a
// new vertex, until that is no farther out. The nearest face bounds the depth from below, every
// normal tried from above. The result is polished: translate core 2 out along n and slightly more,
// and take the direction of the distance (gjk.c) as n. Near a point of a surface with radius of
// curvature r, at depth d and with an extra translation p, the error of n decreases by (d + p) / (r
// + p) an iteration.
//
// The same translation gives the points: the closest ones when core 2 has been moved out along n.
// [1] D. Gregorius, The Separating Axis Test between Convex Polyhedra, GDC 2013.
// [2] G. van den Bergen, Proximity Queries and Penetration Depth Computation on 3D Game Objects,
// 2001.
#include "geom/epa.h"

/// The best direction found so far.
typedef struct search {
    const tni_cores* cores;
    tn_vec3          n;
    double           gap;
} search;

// Accepts gap(n) if it is better by more than rounding.
static void try_direction(search* s, tn_vec3 n)
{
    const double length = tni_norm(n);
    if (!(length > 0)) return;
    n                = tni_scale(1 / length, n);
    const double gap = tni_dot(n, tni_support_difference(s->cores, n).y);
    if (gap > s->gap + 1e-14 * s->cores->size) s->gap = gap, s->n = n;
}

static void try_both(search* s, tn_vec3 n)
{
    try_direction(s, n);
    try_direction(s, tni_neg(n));
}

// ---- Flat faces --------------------------------------------------------------------------------

static bool has_axis(const tni_geometry* g)
{
    return g->type == TN_SHAPE_CAPSULE || g->type == TN_SHAPE_CYLINDER;
}

static void try_faces(search* s)
{
    const tni_polytope *p1 = tni_polytope_of(s->cores->g1), *p2 = tni_polytope_of(s->cores->g2);
    const tni_mat3*     R = &s->cores->R;
    for (int f = 0; p1 != NULL && f < p1->face_count; ++f) try_direction(s, p1->faces[f].n);
    if (s->cores->g1->type == TN_SHAPE_CYLINDER) try_both(s, tni_vec3(0, 0, 1));
    for (int f = 0; p2 != NULL && f < p2->face_count; ++f)
        try_direction(s, tni_neg(tni_mul(R, p2->faces[f].n)));
    if (s->cores->g2->type == TN_SHAPE_CYLINDER) try_both(s, tni_column(R, 2));
}

// An edge of a polytope, with the normals of its faces.
typedef struct edge_at {
    tn_vec3 p, along, left, right; ///< along: the edge as a vector
} edge_at;

static edge_at edge_of(const tni_polytope* p, int e)
{
    const tni_edge* edge = &p->edges[e];
    const tn_vec3   a    = p->vertices[edge->a];
    return (edge_at){a, tni_sub(p->vertices[edge->b], a), p->faces[edge->left].n,
                     p->faces[edge->right].n};
}

static edge_at edge_moved(const edge_at* e, const tni_mat3* R, tn_vec3 t)
{
    return (edge_at){tni_add(t, tni_mul(R, e->p)), tni_mul(R, e->along), tni_mul(R, e->left),
                     tni_mul(R, e->right)};
}

// True if both face normals are strictly on one side of the plane normal to d, up to slack.
static bool same_side(const edge_at* e, tn_vec3 d)
{
    const double a = tni_dot(e->left, d), b = tni_dot(e->right, d), slack = 1e-9 * tni_max_abs(d);
    return (a > slack && b > slack) || (a < -slack && b < -slack);
}

// An outward direction at an edge: the sum of the face normals, and of the in-plane normals of the
// edge, since the normals of faces back to back cancel.
static tn_vec3 outwards(const edge_at* e)
{
    const tn_vec3 across = tni_cross(e->along, tni_sub(e->left, e->right));
    return tni_add(across, tni_scale(tni_norm(e->along), tni_add(e->left, e->right)));
}

static void try_edges(search* s, const edge_at* e1, const edge_at* e2)
{
    if (same_side(e2, e1->along) || same_side(e1, e2->along)) return;
    tn_vec3      n      = tni_cross(e1->along, e2->along);
    const double length = tni_norm(n);
    if (!(length > 1e-12 * tni_norm(e1->along) * tni_norm(e2->along)))
        return; // parallel: faces
                // are enough
    n = tni_scale((tni_dot(n, outwards(e1)) < 0 ? -1 : 1) / length, n);
    if (tni_dot(n, tni_sub(e2->p, e1->p)) > s->gap) try_direction(s, n);
}

static void try_edge_pairs(search* s, const tni_polytope* p1, const tni_polytope* p2)
{
    for (int j = 0; j < p2->edge_count; ++j) {
        const edge_at own = edge_of(p2, j), e2 = edge_moved(&own, &s->cores->R, s->cores->t);
        for (int i = 0; i < p1->edge_count; ++i) {
            const edge_at e1 = edge_of(p1, i);
            try_edges(s, &e1, &e2);
        }
    }
}

// Directions perpendicular to an axis and the edges of a polytope.
static void try_axis_edges(search* s, tn_vec3 axis, const tni_polytope* p, const tni_mat3* R)
{
    for (int e = 0; e < p->edge_count; ++e)
        try_both(s, tni_cross(axis, tni_mul(R, edge_of(p, e).along)));
}

static void try_all_edges(search* s)
{
    const tni_geometry *g1 = s->cores->g1, *g2 = s->cores->g2;
    const tni_polytope *p1 = tni_polytope_of(g1), *p2 = tni_polytope_of(g2);
    const tni_mat3*     R   = &s->cores->R;
    const tni_mat3      one = tni_identity3();
    const tn_vec3       z1 = {0, 0, 1}, z2 = tni_column(R, 2);
    if (p1 != NULL && p2 != NULL) try_edge_pairs(s, p1, p2);
    if (has_axis(g1) && p2 != NULL) try_axis_edges(s, z1, p2, R);
    if (has_axis(g2) && p1 != NULL) try_axis_edges(s, z2, p1, &one);
    if (has_axis(g1) && has_axis(g2)) try_both(s, tni_cross(z1, z2));
}

// Cores without volume that touch: any direction perpendicular to both.
static void try_flat(search* s)
{
    const tn_vec3 z1 = {0, 0, 1}, z2 = tni_column(&s->cores->R, 2);
    if (has_axis(s->cores->g1)) try_direction(s, tni_perpendicular(z1));
    else if (has_axis(s->cores->g2)) try_direction(s, tni_perpendicular(z2));
    else try_direction(s, z1);
}

// ---- Cylinders ---------------------------------------------------------------------------------

// The direction from the axis of a cylinder (through p along z) to a point of the other core: side
// against side.
static void try_radial(search* s, tn_vec3 p, tn_vec3 z, tn_vec3 q)
{
    const tn_vec3 d = tni_sub(q, p);
    try_both(s, tni_add_scaled(d, -tni_dot(d, z), z));
}

static void try_sides(search* s, const tni_geometry* round, tn_vec3 p, tn_vec3 z,
                      const tni_geometry* g, const tni_mat3* R, tn_vec3 t)
{
    if (round->type != TN_SHAPE_CYLINDER) return;
    const tni_polytope* polytope = tni_polytope_of(g);
    for (int i = 0; polytope != NULL && i < polytope->vertex_count; ++i)
        try_radial(s, p, z, tni_add(t, tni_mul(R, polytope->vertices[i])));
    if (polytope != NULL) return;
    const tn_vec3 up = tni_scale(g->type == TN_SHAPE_SPHERE ? 0 : g->half_length, tni_column(R, 2));
    try_radial(s, p, z, tni_add(t, up));
    try_radial(s, p, z, tni_sub(t, up));
}

enum { VERTICES_MAX = 192, FACES_MAX = 2 * VERTICES_MAX };

typedef struct hull_face {
    int     v[3];
    tn_vec3 m; ///< outward, unit
    double  offset;
} hull_face;

typedef struct hull {
    int       vertex_count, face_count, edge_count;
    tn_vec3   y[VERTICES_MAX];
    hull_face faces[FACES_MAX];
    int       edges[FACES_MAX][2]; ///< horizon of a new vertex
} hull;

static bool put_face(hull* h, int a, int b, int c)
{
    if (h->face_count == FACES_MAX) return false;
    const tn_vec3 ab = tni_sub(h->y[b], h->y[a]), ac = tni_sub(h->y[c], h->y[a]);
    const tn_vec3 m    = tni_cross(ab, ac);
    const double  area = tni_norm(m);
    if (!(area > 1e-12 * tni_norm(ab) * tni_norm(ac))) return false;
    hull_face* face = &h->faces[h->face_count++];
    *face           = (hull_face){{a, b, c}, tni_scale(1 / area, m), 0};
    face->offset    = tni_dot(face->m, h->y[a]);
    return true;
}

static tn_vec3 furthest(const search* s, tn_vec3 m)
{
    return tni_support_difference(s->cores, tni_neg(m)).y;
}

// Of the support points along m and -m, the one farther from the plane through p.
static tn_vec3 further(const search* s, tn_vec3 m, tn_vec3 p)
{
    const tn_vec3 a = furthest(s, m), b = furthest(s, tni_neg(m));
    return tni_dot(m, tni_sub(a, p)) >= tni_dot(m, tni_sub(p, b)) ? a : b;
}

static bool start_hull(const search* s, hull* h)
{
    tn_vec3* y      = h->y;
    y[0]            = furthest(s, tni_vec3(1, 0, 0));
    y[1]            = furthest(s, tni_vec3(-1, 0, 0));
    y[2]            = further(s, tni_perpendicular(tni_sub(y[1], y[0])), y[0]);
    const tn_vec3 m = tni_cross(tni_sub(y[1], y[0]), tni_sub(y[2], y[0]));
    y[3]            = further(s, m, y[0]);
    h->vertex_count = 4;
    h->face_count   = 0;
    const bool above =
        tni_dot(m, tni_sub(y[3], y[0])) > 0; // then y[0], y[1], y[2] faces away from y[3]
    const int b = above ? 2 : 1, c = 3 - b;
    return put_face(h, 0, b, c) && put_face(h, 0, c, 3) && put_face(h, c, b, 3) &&
           put_face(h, b, 0, 3);
}

// Adds an edge of the horizon; an edge of two removed faces cancels.
static bool put_edge(hull* h, int a, int b)
{
    for (int i = 0; i < h->edge_count; ++i) {
        if (h->edges[i][0] != b || h->edges[i][1] != a) continue;
        --h->edge_count;
        h->edges[i][0] = h->edges[h->edge_count][0];
        h->edges[i][1] = h->edges[h->edge_count][1];
        return true;
    }
    if (h->edge_count == FACES_MAX) return false;
    h->edges[h->edge_count][0]   = a;
    h->edges[h->edge_count++][1] = b;
    return true;
}

// Replaces the faces visible from y by a fan. False: no capacity, or the faces are too thin.
static bool put_vertex(hull* h, tn_vec3 y, double slack)
{
    if (h->vertex_count == VERTICES_MAX) return false;
    h->edge_count = 0;
    for (int f = 0; f < h->face_count;) {
        const hull_face face = h->faces[f];
        if (!(tni_dot(face.m, y) > face.offset + slack)) {
            ++f;
            continue;
        }
        h->faces[f] = h->faces[--h->face_count];
        for (int k = 0; k < 3; ++k)
            if (!put_edge(h, face.v[k], face.v[(k + 1) % 3])) return false;
    }
    h->y[h->vertex_count] = y;
    for (int i = 0; i < h->edge_count; ++i)
        if (!put_face(h, h->edges[i][0], h->edges[i][1], h->vertex_count)) return false;
    ++h->vertex_count;
    return h->face_count > 0;
}

static int nearest_face(const hull* h)
{
    int best = 0;
    for (int f = 1; f < h->face_count; ++f)
        if (h->faces[f].offset < h->faces[best].offset) best = f;
    return best;
}

static void expand(search* s, int* rounds)
{
    hull         h;
    const double slack = 1e-14 * s->cores->size, enough = 1e-9 * s->cores->size;
    if (!start_hull(s, &h)) return;
    for (;; ++*rounds) {
        const hull_face near = h.faces[nearest_face(&h)];
        if (near.offset >= -s->gap - enough) return; // no direction can be better
        const tn_vec3 y     = furthest(s, near.m);
        const double  depth = tni_dot(near.m, y);
        if (-depth > s->gap) s->gap = -depth, s->n = tni_neg(near.m);
        if (!(depth > near.offset + slack) || !put_vertex(&h, y, slack)) return;
    }
}

// ---- Closest points, polish --------------------------------------------------------------------

// Translates core 2 along n until separated by p: the closest points, b translated back. Returns
// the direction between them.
static tn_vec3 push_out(const search* s, double p, tni_depth* out)
{
    tni_cores c = *s->cores;
    c.t         = tni_add_scaled(c.t, p - s->gap, s->n);
    c.size += p;
    const tni_distance d = tni_core_distance(&c);
    out->rounds += d.rounds;
    out->a = d.a;
    out->b = tni_add_scaled(tni_add(d.a, d.v), s->gap - p, s->n);
    return d.overlap ? s->n : tni_scale(1 / d.length, d.v);
}

// Iterates until rounding is reached; an exact normal is kept.
static void polish(search* s, tni_depth* out)
{
    for (int i = 0; i < 24; ++i) {
        const tn_vec3 n   = push_out(s, 0.1 * s->cores->size, out);
        const double  gap = tni_dot(n, tni_support_difference(s->cores, n).y);
        if (!(gap > s->gap + 1e-15 * s->cores->size)) return;
        s->gap = gap, s->n = n;
    }
}

static bool is_flat(const tni_geometry* g)
{
    return g->type == TN_SHAPE_SPHERE || g->type == TN_SHAPE_CAPSULE;
}

tni_depth tni_core_depth(const tni_cores* c)
{
    const tn_vec3  zero = {0, 0, 0};
    const tni_mat3 one  = tni_identity3();
    search         s    = {.cores = c, .n = {0, 0, 1}, .gap = -HUGE_VAL};
    tni_depth      out  = {.rounds = 0};
    try_faces(&s);
    try_all_edges(&s);
    if (is_flat(c->g1) && is_flat(c->g2)) try_flat(&s);
    try_sides(&s, c->g1, zero, tni_vec3(0, 0, 1), c->g2, &c->R, c->t);
    try_sides(&s, c->g2, c->t, tni_column(&c->R, 2), c->g1, &one, zero);
    if (c->g1->type == TN_SHAPE_CYLINDER || c->g2->type == TN_SHAPE_CYLINDER) {
        expand(&s, &out.rounds);
        polish(&s, &out);
    } else {
        (void)push_out(&s, c->size, &out);
    }
    out.n   = s.n;
    out.gap = s.gap;
    return out;
}
