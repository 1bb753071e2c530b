// brute_shapes: convex shapes at random, and their distance by trying everything. Shares no code
// with gjk.c and epa.c: reach along a direction and what is inside by closed forms, distance of
// polytopes over all vertices, edges and triangles, depth over all normals and pairs of edges.
//
// An answer (gap, n, c1, c2) is also its own proof: c1 and c2 are points of the cores, so the
// distance is at most |c2 - c1|; and the cores are n . (c2 - c1) apart along n, so it is at least
// that. brute_error() measures what is missing. Of cores that overlap this proves that moving by
// |gap| along n parts them; that no direction is better is left to brute_separation() and, for
// cylinders, brute_descent().
#ifndef BRUTE_SHAPES_H
#define BRUTE_SHAPES_H

#include "geom/gjk.h"
#include "test.h"

typedef struct brute_shape {
    tni_geometry g;
    tni_pose     pose;
} brute_shape;

enum { BRUTE_KINDS = 5 };
static const tn_shape_type brute_kind[BRUTE_KINDS] = {
    TN_SHAPE_SPHERE, TN_SHAPE_BOX, TN_SHAPE_CAPSULE, TN_SHAPE_CYLINDER, TN_SHAPE_CONVEX};
static const char* const brute_name[BRUTE_KINDS] = {"sphere", "box", "capsule", "cylinder",
                                                    "convex"};

// ---- At random ---------------------------------------------------------------------------------

static inline tn_vec3 brute_vector(test_random* r, double size)
{
    const double x = test_random_between(r, -size, size), y = test_random_between(r, -size, size);
    return tni_vec3(x, y, test_random_between(r, -size, size));
}

static inline tn_vec3 brute_unit(test_random* r)
{
    for (;;) {
        const tn_vec3 d = brute_vector(r, 1);
        const double  n = tni_norm(d);
        if (n > 0.1 && n < 1) return tni_scale(1 / n, d);
    }
}

static inline tni_mat3 brute_rotation(test_random* r)
{
    const tn_vec3 d = brute_vector(r, 1);
    const tn_quat q = {test_random_between(r, 0.1, 1), d.x, d.y, d.z};
    return tni_quat_matrix(tni_quat_normalised(q));
}

/// Sizes 0.2 to 1 times `size`; polytopes of 4 to `points` points. Memory from the arena.
static inline tni_geometry brute_geometry(tni_arena* arena, test_random* r, tn_shape_type type,
                                          double size, int points)
{
    tni_geometry g = {.type        = type,
                      .radius      = test_random_between(r, 0.2, 1) * size,
                      .half_length = test_random_between(r, 0.2, 1) * size};
    for (int k = 0; k < 3; ++k) ((double*)&g.half_size)[k] = test_random_between(r, 0.2, 1) * size;
    tni_polytope* p = TNI_TAKE(arena, tni_polytope, 1);
    tn_vec3       cloud[64];
    if (type == TN_SHAPE_BOX) CHECK_OK(tni_polytope_of_box(arena, g.half_size, p));
    if (type == TN_SHAPE_CONVEX) {
        const int count = test_random_int(r, 4, points);
        for (int i = 0; i < count; ++i) {
            const tn_vec3 d = brute_vector(r, 1);
            cloud[i] = tni_vec3(d.x * g.half_size.x, d.y * g.half_size.y, d.z * g.half_size.z);
        }
        CHECK_OK(tni_polytope_create(arena, cloud, count, p));
    }
    g.polytope = p;
    return g;
}

// ---- Closed forms ------------------------------------------------------------------------------

static inline bool brute_has_polytope(const tni_geometry* g)
{
    return g->type == TN_SHAPE_BOX || g->type == TN_SHAPE_CONVEX;
}

static inline double brute_round(const tni_geometry* g)
{
    return g->type == TN_SHAPE_SPHERE || g->type == TN_SHAPE_CAPSULE ? g->radius : 0;
}

/// The largest n . (p - from) over the core.
static inline double brute_reach(const brute_shape* s, tn_vec3 n, tn_vec3 from)
{
    const tn_vec3 m    = {n.x * s->pose.R.m[0] + n.y * s->pose.R.m[3] + n.z * s->pose.R.m[6],
                          n.x * s->pose.R.m[1] + n.y * s->pose.R.m[4] + n.z * s->pose.R.m[7],
                          n.x * s->pose.R.m[2] + n.y * s->pose.R.m[5] + n.z * s->pose.R.m[8]};
    const double  at   = tni_dot(n, tni_sub(s->pose.x, from));
    double        most = -HUGE_VAL;
    switch (s->g.type) {
    case TN_SHAPE_SPHERE: return at;
    case TN_SHAPE_CAPSULE: return at + fabs(m.z) * s->g.half_length;
    case TN_SHAPE_CYLINDER:
        return at + fabs(m.z) * s->g.half_length + s->g.radius * sqrt(m.x * m.x + m.y * m.y);
    case TN_SHAPE_BOX:
        return at + fabs(m.x) * s->g.half_size.x + fabs(m.y) * s->g.half_size.y +
               fabs(m.z) * s->g.half_size.z;
    default:
        for (int i = 0; i < s->g.polytope->vertex_count; ++i)
            most = fmax(most, tni_dot(m, s->g.polytope->vertices[i]));
        return at + most;
    }
}

/// How far the cores are apart along n, from 1 to 2; negative: how much they overlap.
static inline double brute_apart(const brute_shape* s1, const brute_shape* s2, tn_vec3 n)
{
    return -brute_reach(s2, tni_neg(n), s1->pose.x) - brute_reach(s1, n, s1->pose.x);
}

/// How far p is outside the core, at most; 0 or less inside.
static inline double brute_outside(const brute_shape* s, tn_vec3 p)
{
    const tn_vec3 q    = tni_mul_t(&s->pose.R, tni_sub(p, s->pose.x));
    double        most = -HUGE_VAL;
    switch (s->g.type) {
    case TN_SHAPE_SPHERE: return tni_norm(q);
    case TN_SHAPE_CAPSULE: return fmax(sqrt(q.x * q.x + q.y * q.y), fabs(q.z) - s->g.half_length);
    case TN_SHAPE_CYLINDER:
        return fmax(sqrt(q.x * q.x + q.y * q.y) - s->g.radius, fabs(q.z) - s->g.half_length);
    case TN_SHAPE_BOX:
        return fmax(fabs(q.x) - s->g.half_size.x,
                    fmax(fabs(q.y) - s->g.half_size.y, fabs(q.z) - s->g.half_size.z));
    default:
        for (int f = 0; f < s->g.polytope->face_count; ++f)
            most =
                fmax(most, tni_dot(s->g.polytope->faces[f].n, q) - s->g.polytope->faces[f].offset);
        return most;
    }
}

/// Sizes and distance: what errors are measured by.
static inline double brute_size(const brute_shape* s1, const brute_shape* s2)
{
    double size = tni_norm(tni_sub(s1->pose.x, s2->pose.x));
    for (int k = 0; k < 2; ++k) {
        const brute_shape* s = k == 0 ? s1 : s2;
        const tn_vec3      x = {1, 0, 0}, y = {0, 1, 0}, z = {0, 0, 1};
        size += fmax(brute_reach(s, x, s->pose.x), brute_reach(s, tni_neg(x), s->pose.x)) +
                fmax(brute_reach(s, y, s->pose.x), brute_reach(s, tni_neg(y), s->pose.x)) +
                fmax(brute_reach(s, z, s->pose.x), brute_reach(s, tni_neg(z), s->pose.x)) +
                brute_round(&s->g);
    }
    return size;
}

/// What the answer lacks to be a proof of itself, as a length.
static inline double brute_error(const brute_shape* s1, const brute_shape* s2, const tni_nearest* a)
{
    const double  gap   = a->gap + brute_round(&s1->g) + brute_round(&s2->g);
    const tn_vec3 d     = tni_sub(a->c2, a->c1);
    double        error = fabs(tni_norm(a->n) - 1) * fabs(gap);
    error               = fmax(error, fabs(tni_dot(a->n, d) - gap));

    error             = fmax(error, brute_outside(s1, a->c1));
    error             = fmax(error, brute_outside(s2, a->c2));
    error             = fmax(error, fabs(brute_apart(s1, s2, a->n) - gap));
    const bool finite = error < HUGE_VAL && a->n.x == a->n.x && a->gap == a->gap;
    return finite ? error : HUGE_VAL;
}

// ---- Trying everything: points, segments, polytopes
// ----------------------------------------------

enum { BRUTE_POINTS = 64, BRUTE_EDGES = 192, BRUTE_FACES = 128 };

/// A core in the world, from the origin `from`.
typedef struct brute_core {
    int     count, edge_count, face_count, triangle_count;
    tn_vec3 p[BRUTE_POINTS];
    int     edges[BRUTE_EDGES][2], triangles[BRUTE_FACES][3];
    tn_vec3 normals[BRUTE_FACES];
} brute_core;

static inline brute_core brute_core_of(const brute_shape* s, tn_vec3 from)
{
    brute_core          c = {.count = 1};
    const tni_polytope* p = s->g.polytope;
    const tn_vec3       x = tni_sub(s->pose.x, from);
    c.p[0]                = x;
    if (s->g.type == TN_SHAPE_CAPSULE) {
        const tn_vec3 up = tni_mul(&s->pose.R, tni_vec3(0, 0, s->g.half_length));
        c.p[0] = tni_add(x, up), c.p[1] = tni_sub(x, up);
        c.count = 2, c.edge_count = 1, c.edges[0][1] = 1;
    }
    if (!brute_has_polytope(&s->g)) return c;
    c.count = p->vertex_count, c.edge_count = p->edge_count, c.face_count = p->face_count;
    for (int i = 0; i < c.count; ++i) c.p[i] = tni_add(x, tni_mul(&s->pose.R, p->vertices[i]));
    for (int i = 0; i < c.edge_count; ++i)
        c.edges[i][0] = p->edges[i].a, c.edges[i][1] = p->edges[i].b;
    for (int f = 0; f < c.face_count; ++f) {
        const int* v = p->corners + p->faces[f].first;
        c.normals[f] = tni_mul(&s->pose.R, p->faces[f].n);
        for (int k = 1; k + 1 < p->faces[f].count; ++k) {
            int* t = c.triangles[c.triangle_count++];
            t[0] = v[0], t[1] = v[k], t[2] = v[k + 1];
        }
    }
    return c;
}

static inline double brute_point_segment(tn_vec3 p, tn_vec3 a, tn_vec3 b)
{
    const tn_vec3 e = tni_sub(b, a), d = tni_sub(p, a);
    const double  ee = tni_dot(e, e), t = ee > 0 ? fmin(fmax(tni_dot(d, e) / ee, 0), 1) : 0;
    return tni_norm(tni_sub(d, tni_scale(t, e)));
}

/// Distance over the inside of both only: HUGE_VAL where it is not there.
static inline double brute_lines(tn_vec3 a, tn_vec3 b, tn_vec3 c, tn_vec3 d)
{
    const tn_vec3 u = tni_sub(b, a), v = tni_sub(d, c), n = tni_cross(u, v), w = tni_sub(c, a);
    const double  nn = tni_dot(n, n);
    if (!(nn > 1e-20 * tni_dot(u, u) * tni_dot(v, v))) return HUGE_VAL;
    const double s = tni_dot(n, tni_cross(w, v)) / nn, t = tni_dot(n, tni_cross(w, u)) / nn;
    return s >= 0 && s <= 1 && t >= 0 && t <= 1 ? fabs(tni_dot(n, w)) / sqrt(nn) : HUGE_VAL;
}

static inline double brute_point_triangle(tn_vec3 p, tn_vec3 a, tn_vec3 b, tn_vec3 c)
{
    const tn_vec3 n  = tni_cross(tni_sub(b, a), tni_sub(c, a));
    const double  nn = tni_norm(n);
    const double  ab = tni_dot(n, tni_cross(tni_sub(b, a), tni_sub(p, a)));
    const double  bc = tni_dot(n, tni_cross(tni_sub(c, b), tni_sub(p, b)));
    const double  ca = tni_dot(n, tni_cross(tni_sub(a, c), tni_sub(p, c)));
    if (ab < 0 || bc < 0 || ca < 0 || nn == 0) return HUGE_VAL;
    return fabs(tni_dot(n, tni_sub(p, a))) / nn;
}

static inline double brute_one_way(const brute_core* a, const brute_core* b)
{
    double least = HUGE_VAL;
    for (int i = 0; i < a->count; ++i) {
        for (int k = 0; k < b->count; ++k) least = fmin(least, tni_norm(tni_sub(a->p[i], b->p[k])));
        for (int k = 0; k < b->edge_count; ++k)
            least = fmin(least,
                         brute_point_segment(a->p[i], b->p[b->edges[k][0]], b->p[b->edges[k][1]]));
        for (int k = 0; k < b->triangle_count; ++k) {
            const int* t = b->triangles[k];
            least = fmin(least, brute_point_triangle(a->p[i], b->p[t[0]], b->p[t[1]], b->p[t[2]]));
        }
    }
    return least;
}

/// Of two cores that are apart.
static inline double brute_distance(const brute_core* a, const brute_core* b)
{
    double least = fmin(brute_one_way(a, b), brute_one_way(b, a));
    for (int i = 0; i < a->edge_count; ++i)
        for (int k = 0; k < b->edge_count; ++k)
            least = fmin(least, brute_lines(a->p[a->edges[i][0]], a->p[a->edges[i][1]],
                                            b->p[b->edges[k][0]], b->p[b->edges[k][1]]));
    return least;
}

static inline double brute_core_apart(const brute_core* a, const brute_core* b, tn_vec3 n)
{
    double reach = -HUGE_VAL, from = HUGE_VAL;
    for (int i = 0; i < a->count; ++i) reach = fmax(reach, tni_dot(n, a->p[i]));
    for (int i = 0; i < b->count; ++i) from = fmin(from, tni_dot(n, b->p[i]));
    return from - reach;
}

/// The largest that the cores are apart along any direction of a face of their difference: -depth
/// where they overlap. At least one of them must have faces.
static inline double brute_separation(const brute_core* a, const brute_core* b)
{
    double most = -HUGE_VAL;
    for (int f = 0; f < a->face_count; ++f)
        most = fmax(most, brute_core_apart(a, b, a->normals[f]));
    for (int f = 0; f < b->face_count; ++f)
        most = fmax(most, brute_core_apart(a, b, tni_neg(b->normals[f])));
    for (int i = 0; i < a->edge_count; ++i) {
        const tn_vec3 u = tni_normalised(tni_sub(a->p[a->edges[i][1]], a->p[a->edges[i][0]]));
        for (int k = 0; k < b->edge_count; ++k) {
            const tn_vec3 v = tni_normalised(tni_sub(b->p[b->edges[k][1]], b->p[b->edges[k][0]]));
            const tn_vec3 n = tni_cross(u, v);
            if (!(tni_norm(n) > 1e-9)) continue;
            const tn_vec3 m = tni_normalised(n);
            most            = fmax(most, brute_core_apart(a, b, m));
            most            = fmax(most, brute_core_apart(a, b, tni_neg(m)));
        }
    }
    return most;
}

// ---- Cylinders that overlap
// ----------------------------------------------------------------------

/// The best direction that a search from n finds: steps along the sphere, halved when none helps.
static inline double brute_climb(const brute_shape* s1, const brute_shape* s2, tn_vec3 n)
{
    double best = brute_apart(s1, s2, n);
    for (double step = 0.1; step > 1e-11; step *= 0.5) {
        bool moved = true;
        for (int i = 0; i < 40 && moved; ++i) { // along a ridge it would creep
            const tn_vec3 u = tni_perpendicular(n), v = tni_cross(n, u), old = n;
            moved = false;
            for (int k = 0; k < 16; ++k) {
                const double  angle = 0.39269908169872414 * k;
                const tn_vec3 d     = tni_add(tni_scale(cos(angle), u), tni_scale(sin(angle), v));
                const tn_vec3 m     = tni_normalised(tni_add_scaled(old, step, d));
                const double  at    = brute_apart(s1, s2, m);
                if (at > best + 1e-15) best = at, n = m, moved = true;
            }
        }
    }
    return best;
}

/// The best of `starts` such searches, from directions at random.
static inline double brute_descent(const brute_shape* s1, const brute_shape* s2, test_random* r,
                                   int starts)
{
    double best = -HUGE_VAL;
    for (int i = 0; i < starts; ++i) best = fmax(best, brute_climb(s1, s2, brute_unit(r)));
    return best;
}

// ---- Pairs
// ---------------------------------------------------------------------------------------

typedef struct brute_pair {
    brute_shape one, two;
} brute_pair;

static inline tni_nearest brute_ask(const brute_pair* p)
{
    return tni_nearest_points(&p->one.g, &p->one.pose, &p->two.g, &p->two.pose);
}

/// Two kinds at random places, a third of them far, a third near, a third deep in each other.
static inline brute_pair brute_any_pair(tni_arena* arena, test_random* r, int kind1, int kind2,
                                        double size, int points)
{
    static const double far[3] = {2.5, 1.2, 0.4};
    brute_pair          p;
    p.one.g    = brute_geometry(arena, r, brute_kind[kind1], size, points);
    p.two.g    = brute_geometry(arena, r, brute_kind[kind2], size, points);
    p.one.pose = (tni_pose){brute_vector(r, size), brute_rotation(r)};
    p.two.pose =
        (tni_pose){brute_vector(r, far[test_random_int(r, 0, 2)] * size), brute_rotation(r)};
    p.two.pose.x = tni_add(p.two.pose.x, p.one.pose.x);
    return p;
}

/// The gap of the cores by trying everything; not of cylinders.
static inline double brute_gap(const brute_pair* p)
{
    const brute_core a = brute_core_of(&p->one, p->one.pose.x);
    const brute_core b = brute_core_of(&p->two, p->one.pose.x);
    if (a.face_count + b.face_count > 0) {
        const double separation = brute_separation(&a, &b);
        if (separation <= 0) return separation;
    }
    return brute_distance(&a, &b);
}

#endif
