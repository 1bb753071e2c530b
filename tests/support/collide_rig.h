// collide_rig: whether the points of two shapes are what they say, against brute_shapes.h.
#ifndef COLLIDE_RIG_H
#define COLLIDE_RIG_H

#include "geom/collide.h"
#include "support/brute_shapes.h"

typedef struct collide_answer {
    int                count;
    tni_manifold_point spots[TNI_MANIFOLD_MAX];
} collide_answer;

static inline collide_answer collide_of(const brute_shape* s1, const brute_shape* s2, double reach)
{
    collide_answer a = {0};
    a.count = tni_collide(&s1->g, &s1->pose, &s2->g, &s2->pose, reach, a.spots, TNI_MANIFOLD_MAX);
    return a;
}

static inline double collide_least(const collide_answer* a)
{
    double least = HUGE_VAL;
    for (int i = 0; i < a->count; ++i) least = fmin(least, a->spots[i].gap);
    return least;
}

static inline tn_vec3 collide_on1(const tni_manifold_point* s)
{
    return tni_add_scaled(s->c1, s->r1, s->n);
}

static inline tn_vec3 collide_on2(const tni_manifold_point* s)
{
    return tni_add_scaled(s->c2, -s->r2, s->n);
}

/// How far p is outside the shape; zero on its surface, negative inside.
static inline double collide_outside(const brute_shape* s, tn_vec3 p)
{
    if (s->g.type != TN_SHAPE_CAPSULE) return brute_outside(s, p) - brute_round(&s->g);
    const tn_vec3 u = tni_mul(&s->pose.R, tni_vec3(0, 0, s->g.half_length));
    return brute_point_segment(p, tni_add(s->pose.x, u), tni_sub(s->pose.x, u)) - s->g.radius;
}

/// The gap by trying everything; of cylinders that overlap by epa.c, whose own tests try
/// everything.
static inline double collide_gap(const brute_shape* s1, const brute_shape* s2)
{
    const tni_nearest near = tni_nearest_points(&s1->g, &s1->pose, &s2->g, &s2->pose);
    if (!near.deep || s1->g.type == TN_SHAPE_CYLINDER || s2->g.type == TN_SHAPE_CYLINDER)
        return near.gap;
    const brute_core a = brute_core_of(s1, s1->pose.x), b = brute_core_of(s2, s1->pose.x);
    if (a.face_count + b.face_count == 0) return near.gap;
    return brute_separation(&a, &b) - brute_round(&s1->g) - brute_round(&s2->g);
}

static inline bool collide_kind_fits(const tni_manifold_point* s)
{
    const tn_vec3 d = tni_sub(s->c2, s->c1);
    if (s->kind != TNI_MANIFOLD_ROUND) return true;
    return tni_norm(tni_cross(s->n, d)) <= 1e-9 && tni_dot(s->n, d) > -1e-9;
}

/// Rims that touch or overlap are found to the root of rounding (gjk.c, epa.c).
static inline double collide_rim(const brute_shape* s1, const brute_shape* s2, double tolerance)
{
    const bool rim = s1->g.type == TN_SHAPE_CYLINDER || s2->g.type == TN_SHAPE_CYLINDER;
    return rim ? 5e-6 : tolerance;
}

/// A point at a gap is on the surface. Of a capsule that leans it may be within: then its centre
/// is on the axis, a ball of the capsule's.
static inline bool collide_on_surface(const brute_shape* s, tn_vec3 c, double r, double outside,
                                      double tolerance)
{
    if (fabs(outside) < tolerance) return true;
    return s->g.type == TN_SHAPE_CAPSULE && r == s->g.radius && brute_outside(s, c) < tolerance;
}

/// What is wrong with a point, in words, or NULL.
static inline const char* collide_spot_fault(const brute_shape* s1, const brute_shape* s2,
                                             const tni_manifold_point* s, double reach,
                                             double tolerance)
{
    const tn_vec3 p = collide_on1(s), q = collide_on2(s), d = tni_sub(q, p);
    const double  out1 = collide_outside(s1, p), out2 = collide_outside(s2, q);
    const double  away = s->gap < tolerance ? collide_rim(s1, s2, tolerance) : tolerance;
    if (!(fabs(tni_norm(s->n) - 1) < 1e-13)) return "n is no unit";
    if (!(fabs(tni_dot(s->n, tni_sub(s->c2, s->c1)) - s->r1 - s->r2 - s->gap) < tolerance))
        return "gap is not that of the points";
    if (!(tni_norm(tni_sub(d, tni_scale(s->gap, s->n))) < tolerance))
        return "points are not across";
    if (!(s->gap <= reach)) return "beyond reach";
    if (!(out1 < away && out2 < away)) return "outside a shape";
    if (s->gap > tolerance && !(collide_on_surface(s1, s->c1, s->r1, out1, tolerance) &&
                                collide_on_surface(s2, s->c2, s->r2, out2, tolerance)))
        return "inside a shape";
    if (!collide_kind_fits(s)) return "n does not lead from centre to centre";
    return s->feature < 1u << 23 ? NULL : "feature is too large";
}

static inline const char* collide_fault(const brute_shape* s1, const brute_shape* s2,
                                        const collide_answer* a, double reach, double tolerance)
{
    const double gap  = collide_gap(s1, s2);
    const double near = fabs(gap) < 5e-6 ? collide_rim(s1, s2, tolerance) : tolerance;
    if (a->count == 0) return gap > reach - tolerance ? NULL : "nothing found";
    if (a->count > TNI_MANIFOLD_MAX) return "too many";
    if (!(fabs(collide_least(a) - gap) < near)) return "least gap is wrong";
    for (int i = 0; i < a->count; ++i) {
        const char* fault = collide_spot_fault(s1, s2, &a->spots[i], reach, tolerance);
        if (fault != NULL) return fault;
        for (int k = 0; k < i; ++k)
            if (a->spots[k].feature == a->spots[i].feature) return "features are alike";
    }
    return NULL;
}

static inline bool collide_same_bits(tn_vec3 a, tn_vec3 b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

/// b is the answer to the same question the other way round, bit by bit.
static inline bool collide_is_swapped(const collide_answer* a, const collide_answer* b)
{
    static const tni_manifold_kind other[] = {TNI_MANIFOLD_FACE_2, TNI_MANIFOLD_FACE_1,
                                              TNI_MANIFOLD_ROUND};
    if (a->count != b->count) return false;
    for (int i = 0; i < a->count; ++i) {
        const tni_manifold_point *s = &a->spots[i], *t = &b->spots[i];
        if (s->kind != other[t->kind] || s->feature != t->feature || s->gap != t->gap) return false;
        if (s->r1 != t->r2 || s->r2 != t->r1 || !collide_same_bits(s->n, tni_neg(t->n)))
            return false;
        if (!collide_same_bits(s->c1, t->c2) || !collide_same_bits(s->c2, t->c1)) return false;
    }
    return true;
}

/// Every point of a, moved, is one of b.
static inline bool collide_is_moved(const collide_answer* a, const collide_answer* b,
                                    const tni_pose* by, double tolerance)
{
    if (a->count != b->count) return false;
    for (int i = 0; i < a->count; ++i) {
        bool found = false;
        for (int k = 0; k < b->count && !found; ++k) {
            const tni_manifold_point *s = &a->spots[i], *t = &b->spots[k];
            const tn_vec3 d = tni_sub(tni_pose_point(by, collide_on1(s)), collide_on1(t));
            const tn_vec3 e = tni_sub(tni_mul(&by->R, s->n), t->n);
            found = s->feature == t->feature && tni_norm(d) < tolerance && tni_norm(e) < tolerance;
        }
        if (!found) return false;
    }
    return true;
}

// ---- At random ---------------------------------------------------------------------------------

/// Half of the pairs anywhere; of the rest axes agree, or the second is moved along the normal to
/// a gap that is next to nothing, or both.
static inline void collide_place(test_random* r, brute_shape* s1, brute_shape* s2)
{
    static const double gaps[] = {0, 1e-9, -1e-9, 1e-4, -1e-4, 0.03};
    const int           how    = test_random_int(r, 0, 5);
    s1->pose                   = (tni_pose){brute_vector(r, 3), brute_rotation(r)};
    s2->pose                   = (tni_pose){brute_vector(r, 1.5), brute_rotation(r)};
    if (how == 3 || how == 4) {
        const double   angle   = how == 3 ? test_random_between(r, -4, 4) : 0;
        const tni_mat3 turn    = tni_quat_matrix(tni_quat_exp(tni_vec3(0, 0, angle))),
                       quarter = {{0, 0, 1, 1, 0, 0, 0, 1, 0}};
        s2->pose.R             = tni_mat_mul(&s1->pose.R, &turn);
        if (test_random_int(r, 0, 1) == 1) s2->pose.R = tni_mat_mul(&s2->pose.R, &quarter);
    }
    s2->pose.x = tni_add(s1->pose.x, s2->pose.x);
    if (how < 2) return;
    const tni_nearest near = tni_nearest_points(&s1->g, &s1->pose, &s2->g, &s2->pose);
    const double      by   = gaps[test_random_int(r, 0, 5)] - near.gap;
    s2->pose.x             = tni_add_scaled(s2->pose.x, by, near.n);
}

typedef struct collide_tally {
    int pairs, touching, points, moved_differently;
} collide_tally;

static inline void collide_check(const brute_shape* s1, const brute_shape* s2, test_random* r,
                                 collide_tally* tally, const char* name)
{
    const double         reach = 0.1, tolerance = 4e-9;
    const collide_answer a = collide_of(s1, s2, reach), b = collide_of(s2, s1, reach);
    const char*          fault = collide_fault(s1, s2, &a, reach, tolerance);
    test_check(fault == NULL, __FILE__, __LINE__, "%s, pair %d: %s", name, tally->pairs, fault);
    test_check(collide_is_swapped(&a, &b), __FILE__, __LINE__, "%s, pair %d: swapped it differs",
               name, tally->pairs);
    const tni_pose    by   = {brute_vector(r, 2), brute_rotation(r)};
    const brute_shape t1   = {s1->g, tni_pose_of(&by, &s1->pose)},
                      t2   = {s2->g, tni_pose_of(&by, &s2->pose)};
    const collide_answer c = collide_of(&t1, &t2, reach);
    fault                  = collide_fault(&t1, &t2, &c, reach, tolerance);
    test_check(fault == NULL, __FILE__, __LINE__, "%s, pair %d, moved: %s", name, tally->pairs,
               fault);
    tally->moved_differently += !collide_is_moved(&a, &c, &by, 1e-6);
    tally->touching += a.count > 0;
    tally->points += a.count;
    ++tally->pairs;
}

/// `count` pairs of kinds i and k; each polytope serves for 16 of them.
static inline collide_tally collide_many(int i, int k, int count)
{
    test_random   r     = {(uint64_t)(1 + 8 * i + k)};
    collide_tally tally = {0};
    const tn_host host  = tn_default_host();
    char          name[48];
    snprintf(name, sizeof name, "%s on %s", brute_name[i], brute_name[k]);
    while (tally.pairs < count) {
        tni_arena   arena = tni_arena_make(&host);
        brute_shape s1    = {.g = brute_geometry(&arena, &r, brute_kind[i], 1, 24)};
        brute_shape s2    = {.g = brute_geometry(&arena, &r, brute_kind[k], 1, 24)};
        for (int j = 0; j < 16; ++j) {
            collide_place(&r, &s1, &s2);
            collide_check(&s1, &s2, &r, &tally, name);
        }
        tni_arena_free(&arena);
    }
    return tally;
}

#endif
