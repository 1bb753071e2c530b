// Distances and depths: every result is its own proof (brute_shapes.h), and agrees with brute
// force. gjk_slow_test.c takes many more of them.
#include "geom/surface.h"
#include "support/brute_shapes.h"

#ifdef TENON_TEST_LIGHT
enum { SHARE = 8 };
#else
enum { SHARE = 1 };
#endif

// Relative to the sizes: what is missing to a proof. Measured over 150,000 pairs: 2e-15, and 3e-14
// if a rim is nearest, where v is the limit of a sequence.
static const double exact = 1e-14, exact_rim = 1e-13;
// Depth of cylinders is the limit of a slow iteration: distance from the best direction.
static const double deep_rim = 1e-10;

static bool has_rim(const brute_pair* p)
{
    return p->one.g.type == TN_SHAPE_CYLINDER || p->two.g.type == TN_SHAPE_CYLINDER;
}

static void check_proof(const brute_pair* p, const tni_nearest* a)
{
    CHECK_LESS(brute_error(&p->one, &p->two, a) / brute_size(&p->one, &p->two),
               has_rim(p) ? exact_rim : exact);
}

static double rounds_of(const brute_pair* p)
{
    return brute_round(&p->one.g) + brute_round(&p->two.g);
}

TEST(answers_prove_themselves_for_every_pair_of_kinds)
{
    const tn_host host     = tn_default_host();
    const double  sizes[5] = {1, 1e-6, 1e6, 1e-3, 1e3};
    for (int kinds = 0; kinds < BRUTE_KINDS * BRUTE_KINDS; ++kinds) {
        test_random r = {100 + (uint64_t)kinds};
        for (int i = 0; i < 250 / SHARE; ++i) {
            tni_arena         arena = tni_arena_make(&host);
            const brute_pair  p     = brute_any_pair(&arena, &r, kinds / BRUTE_KINDS,
                                                     kinds % BRUTE_KINDS, sizes[i % 5], 40);
            const tni_nearest a     = brute_ask(&p);
            check_proof(&p, &a);
            CHECK(a.rounds < 1000);
            tni_arena_free(&arena);
        }
    }
}

TEST(gaps_agree_with_trying_everything)
{
    const tn_host host = tn_default_host();
    for (int kinds = 0; kinds < BRUTE_KINDS * BRUTE_KINDS; ++kinds) {
        const int   k1 = kinds / BRUTE_KINDS, k2 = kinds % BRUTE_KINDS;
        test_random r = {200 + (uint64_t)kinds};
        if (brute_kind[k1] == TN_SHAPE_CYLINDER || brute_kind[k2] == TN_SHAPE_CYLINDER) continue;
        for (int i = 0; i < 120 / SHARE; ++i) {
            tni_arena         arena = tni_arena_make(&host);
            const brute_pair  p     = brute_any_pair(&arena, &r, k1, k2, 1, 10);
            const tni_nearest a     = brute_ask(&p);
            const double      gap   = brute_gap(&p);
            CHECK_NEAR(a.gap + rounds_of(&p), gap, 1e-14);
            CHECK(a.deep == (gap <= 0));
            tni_arena_free(&arena);
        }
    }
}

// A search from many directions finds none that is better.
TEST(overlapping_cylinders_have_the_least_depth)
{
    const tn_host host = tn_default_host();
    for (int kind = 0; kind < BRUTE_KINDS; ++kind) {
        test_random r = {300 + (uint64_t)kind};
        for (int deep = 0; deep < 16 / SHARE;) {
            tni_arena         arena = tni_arena_make(&host);
            const brute_pair  p     = deep % 2 == 0 ? brute_any_pair(&arena, &r, 3, kind, 1, 16)
                                                    : brute_any_pair(&arena, &r, kind, 3, 1, 16);
            const tni_nearest a     = brute_ask(&p);
            if (a.deep) {
                const double best = brute_descent(&p.one, &p.two, &r, 8);
                CHECK_LESS(best - (a.gap + rounds_of(&p)), deep_rim);
                ++deep;
            }
            tni_arena_free(&arena);
        }
    }
}

TEST(swapped_and_moved_together_the_answer_is_the_same)
{
    const tn_host host = tn_default_host();
    for (int kinds = 0; kinds < BRUTE_KINDS * BRUTE_KINDS; ++kinds) {
        test_random r = {400 + (uint64_t)kinds};
        for (int i = 0; i < 100 / SHARE; ++i) {
            tni_arena        arena = tni_arena_make(&host);
            const brute_pair p =
                brute_any_pair(&arena, &r, kinds / BRUTE_KINDS, kinds % BRUTE_KINDS, 1, 20);
            const tni_pose   move = {brute_vector(&r, 10), brute_rotation(&r)};
            const brute_pair q    = {p.two, p.one};
            brute_pair       m    = p;
            m.one.pose            = tni_pose_of(&move, &p.one.pose);
            m.two.pose            = tni_pose_of(&move, &p.two.pose);
            const tni_nearest a = brute_ask(&p), b = brute_ask(&q), c = brute_ask(&m);
            const double same = a.deep && has_rim(&p) ? deep_rim : 1e-12; // a place at 10: 1e-14
            CHECK_NEAR(a.gap, b.gap, same);
            CHECK_NEAR(a.gap, c.gap, same);
            CHECK(a.deep == b.deep && a.deep == c.deep);
            if (!a.deep && a.gap + rounds_of(&p) > 0.01) { // the normal is unique
                // On rims the points are where the gap is flat: root of rounding.
                CHECK_LESS(tni_norm(tni_add(a.n, b.n)), 1e-5);
                CHECK_LESS(tni_norm(tni_sub(tni_mul(&move.R, a.n), c.n)), 1e-5);
            }
            tni_arena_free(&arena);
        }
    }
}

TEST(far_from_the_origin_only_the_digits_of_the_place_are_lost)
{
    const tn_host host = tn_default_host();
    test_random   r    = {7};
    for (int i = 0; i < 500 / SHARE; ++i) {
        tni_arena     arena = tni_arena_make(&host);
        brute_pair    p     = brute_any_pair(&arena, &r, i % 5, i / 5 % 5, 1, 20);
        const double  near  = brute_ask(&p).gap;
        const tn_vec3 far   = {1048576, -2097152, 4194304}; // places are kept to 1e-9
        p.one.pose.x        = tni_add(p.one.pose.x, far);
        p.two.pose.x        = tni_add(p.two.pose.x, far);
        CHECK_NEAR(brute_ask(&p).gap, near, 2e-9);
        tni_arena_free(&arena);
    }
}

// ---- Degenerate places --------------------------------------------------------------------------

typedef struct thing {
    const char* name;
    brute_shape s;
    double      top; ///< of the core, along z
} thing;

enum { THINGS = 7 };
static void make_things(tni_arena* arena, thing out[THINGS])
{
    static const tn_vec3 half[3] = {{1, 1, 1}, {100, 100, 1}, {0.25, 0.5, 2}};
    const tni_pose       here    = {{0, 0, 0}, tni_identity3()};
    const tn_vec3 pyramid[5]     = {{1, 1, -1}, {-1, 1, -1}, {-1, -1, -1}, {1, -1, -1}, {0, 0, 1}};
    for (int i = 0; i < 4; ++i) {
        tni_polytope* p = TNI_TAKE(arena, tni_polytope, 1);
        if (i < 3) CHECK_OK(tni_polytope_of_box(arena, half[i], p));
        else CHECK_OK(tni_polytope_create(arena, pyramid, 5, p));
        out[i].s.g = (tni_geometry){.type = i < 3 ? TN_SHAPE_BOX : TN_SHAPE_CONVEX, .polytope = p};
        if (i < 3) out[i].s.g.half_size = half[i];
    }
    out[4].s.g = (tni_geometry){.type = TN_SHAPE_CYLINDER, .radius = 1, .half_length = 1};
    out[5].s.g = (tni_geometry){.type = TN_SHAPE_CAPSULE, .radius = 0.5, .half_length = 1};
    out[6].s.g = (tni_geometry){.type = TN_SHAPE_SPHERE, .radius = 0.5};
    for (int i = 0; i < THINGS; ++i) {
        out[i].s.pose = here;
        out[i].top    = i == 2 ? 2 : i == 6 ? 0 : 1;
    }
}

static const double gaps[] = {0,     1e-15,  -1e-15, 1e-14, -1e-14, 1e-13, -1e-13, 1e-12, -1e-12,
                              1e-10, -1e-10, 1e-9,   -1e-9, 1e-6,   -1e-6, 1e-3,   -1e-3};
enum { GAPS = sizeof gaps / sizeof gaps[0] };

// The gap along z is the answer while the tops are flat and overlap by more than it.
TEST(one_squarely_on_the_other_touching_or_nearly)
{
    const tn_host host  = tn_default_host();
    tni_arena     arena = tni_arena_make(&host);
    test_random   r     = {8};
    thing         things[THINGS];
    make_things(&arena, things);
    for (int at = 0; at < THINGS * THINGS * GAPS * 4; ++at) {
        const int  i = at % THINGS, j = at / THINGS % THINGS, k = at / THINGS / THINGS % GAPS;
        const int  way  = at / THINGS / THINGS / GAPS; // 1, 3: not centred; 2, 3: turned
        tni_pose   turn = {{0, 0, 0}, tni_identity3()};
        brute_pair p    = {things[i].s, things[j].s};
        p.two.pose.x =
            tni_vec3(way % 2 * 0.125, way % 2 * 0.0625, things[i].top + things[j].top + gaps[k]);
        if (way >= 2) turn = (tni_pose){brute_vector(&r, 3), brute_rotation(&r)};
        p.one.pose          = tni_pose_of(&turn, &p.one.pose);
        p.two.pose          = tni_pose_of(&turn, &p.two.pose);
        const tni_nearest a = brute_ask(&p);
        check_proof(&p, &a);
        const bool pointed = way % 2 == 1 && i >= 5; // nothing flat at the top
        if (pointed || i == 3 || (i >= 5 && j >= 5)) continue;
        CHECK_NEAR(a.gap + rounds_of(&p), gaps[k], 1e-15 * brute_size(&p.one, &p.two));
        CHECK_NEAR(tni_mul_t(&turn.R, a.n).z, 1, 1e-13);
    }
    tni_arena_free(&arena);
}

TEST(concentric_crossed_and_one_within_the_other)
{
    const tn_host host  = tn_default_host();
    tni_arena     arena = tni_arena_make(&host);
    test_random   r     = {9};
    thing         things[THINGS];
    make_things(&arena, things);
    for (int at = 0; at < THINGS * THINGS * 4; ++at) {
        const int      i = at % THINGS, j = at / THINGS % THINGS, way = at / THINGS / THINGS;
        brute_pair     p = {things[i].s, things[j].s};
        const tni_mat3 crossed =
            tni_columns(tni_vec3(0, 1, 0), tni_vec3(0, 0, 1), tni_vec3(1, 0, 0));
        if (way == 1) p.two.pose.R = crossed;
        if (way == 2) p.one.pose.R = p.two.pose.R = brute_rotation(&r);
        if (way == 3) p.two.pose.R = brute_rotation(&r);
        const tni_nearest a = brute_ask(&p);
        check_proof(&p, &a);
        CHECK(a.deep);
        if (i == 4 || j == 4) {
            CHECK_LESS(brute_descent(&p.one, &p.two, &r, 4) - a.gap - rounds_of(&p), deep_rim);
        } else if (i < 5 || j < 5) {
            CHECK_NEAR(a.gap + rounds_of(&p), brute_gap(&p), 1e-13); // slabs of 100
        }
    }
    // Closed forms: cubes take 2 to part, a cube in the middle of a slab too, spheres their radii.
    brute_pair p = {things[0].s, things[0].s};
    CHECK_NEAR(brute_ask(&p).gap, -2, 0);
    p.two = things[1].s;
    CHECK_NEAR(brute_ask(&p).gap, -2, 0);
    CHECK_NEAR(fabs(brute_ask(&p).n.z), 1, 0);
    p = (brute_pair){things[6].s, things[6].s};
    CHECK_NEAR(brute_ask(&p).gap, -1, 0);
    CHECK_NEAR(tni_norm(brute_ask(&p).n), 1, 0);
    tni_arena_free(&arena);
}

TEST(edges_across_along_and_corner_to_corner)
{
    const tn_host host  = tn_default_host();
    tni_arena     arena = tni_arena_make(&host);
    thing         things[THINGS];
    make_things(&arena, things);
    const double   s   = sqrt(0.5);
    const tni_mat3 x45 = tni_columns(tni_vec3(1, 0, 0), tni_vec3(0, s, s), tni_vec3(0, -s, s));
    const tni_mat3 y45 = tni_columns(tni_vec3(s, 0, -s), tni_vec3(0, 1, 0), tni_vec3(s, 0, s));
    for (int k = 0; k < GAPS; ++k) {
        brute_pair p = {things[0].s, things[0].s}; // cubes on edge, the edges across each other
        p.one.pose.R = x45, p.two.pose.R = y45;
        p.two.pose.x  = tni_vec3(0.25, -0.125, 2 * sqrt(2.0) + gaps[k]);
        tni_nearest a = brute_ask(&p);
        check_proof(&p, &a);
        CHECK_NEAR(a.gap, gaps[k], 4e-15);
        CHECK_NEAR(a.n.z, 1, 1e-14);
        p.two.pose.R = x45; // along each other
        a            = brute_ask(&p);
        check_proof(&p, &a);
        p.one.pose.R = p.two.pose.R = tni_identity3(); // corner to corner along the diagonal
        const double d              = 2 + gaps[k] / sqrt(3.0);
        p.two.pose.x                = tni_vec3(d, d, d);
        a                           = brute_ask(&p);
        check_proof(&p, &a);
        CHECK_NEAR(a.gap, gaps[k] > 0 ? gaps[k] : gaps[k] / sqrt(3.0), 1e-14); // TOUCH
    }
    tni_arena_free(&arena);
}

TEST(parallel_capsules_side_by_side_have_a_normal_across_them)
{
    // A former bug: they overlapped by 1e-9 along their length, and n was tilted by as much.
    const tni_geometry bar = {.type = TN_SHAPE_CAPSULE, .radius = 0.5, .half_length = 1};
    for (int k = 0; k < GAPS; ++k) {
        const brute_pair  p = {{bar, {{0, 0, 0}, tni_identity3()}},
                               {bar, {{0.3, 0.2, 2 + gaps[k]}, tni_identity3()}}};
        const tni_nearest a = brute_ask(&p);
        check_proof(&p, &a);
        CHECK_NEAR(a.n.z, gaps[k] > 0 ? gaps[k] / tni_norm(p.two.pose.x) : 0,
                   fabs(gaps[k]) * 3 + 1e-14);
        if (gaps[k] < 0) CHECK_NEAR(a.n.z, 0, 1e-14);
    }
}

// A triangle is a polytope with two faces, back to back.
TEST(triangles_agree_with_trying_everything)
{
    const tn_host host = tn_default_host();
    test_random   r    = {10};
    for (int i = 0; i < 1000 / SHARE; ++i) {
        tni_arena arena = tni_arena_make(&host);
        tn_vec3   v[3]  = {brute_vector(&r, 1), brute_vector(&r, 1), brute_vector(&r, 1)};
        if (i % 3 == 0) v[0].z = v[1].z = v[2].z = 0.125; // along the box
        tni_triangle_shape leaf = {.vertices = {v[0], v[1], v[2]}};
        tni_triangle_shape_make(&leaf, tni_normal_of(v));
        brute_pair p     = brute_any_pair(&arena, &r, 4, i % BRUTE_KINDS, 1, 10);
        p.one.g.polytope = &leaf.polytope;
        if (i % 3 == 0) p.one.pose.R = p.two.pose.R = tni_identity3();
        const brute_pair  q = {p.two, p.one};
        const tni_nearest a = brute_ask(&p), b = brute_ask(&q);
        CHECK_NEAR(brute_apart(&p.one, &p.two, a.n), a.gap + rounds_of(&p), 1e-13);
        CHECK_NEAR(a.gap, b.gap, has_rim(&p) ? deep_rim : 1e-14);
        CHECK_LESS(brute_outside(&p.two, a.c2), 1e-13);
        if (!has_rim(&p)) CHECK_NEAR(a.gap + rounds_of(&p), brute_gap(&p), 1e-14);
        tni_arena_free(&arena);
    }
}

// ---- Known separating axes ----------------------------------------------------------------------

TEST(known_apart_is_never_wrong)
{
    const tn_host host  = tn_default_host();
    int           known = 0;
    for (int kinds = 0; kinds < BRUTE_KINDS * BRUTE_KINDS; ++kinds) {
        test_random r = {500 + (uint64_t)kinds};
        for (int i = 0; i < 200 / SHARE; ++i) {
            tni_arena        arena = tni_arena_make(&host);
            const brute_pair p =
                brute_any_pair(&arena, &r, kinds / BRUTE_KINDS, kinds % BRUTE_KINDS, 1, 20);
            const tni_nearest   a     = brute_ask(&p);
            const double        reach = test_random_between(&r, 0, 0.2);
            const tni_geometry *g1 = &p.one.g, *g2 = &p.two.g;
            const tni_pose *    p1 = &p.one.pose, *p2 = &p.two.pose;
            // Its own normal is the best axis: it decides all but what is within 1e-9 of the reach.
            CHECK(tni_known_apart(g1, p1, g2, p2, reach, a.n) == (a.gap > reach + 1e-7) ||
                  fabs(a.gap - reach) < 1e-7);
            for (int k = 0; k < 4; ++k) {
                const tn_vec3 axis = tni_normalised(tni_add_scaled(a.n, 0.5 * k, brute_unit(&r)));
                if (!tni_known_apart(g1, p1, g2, p2, reach, axis)) continue;
                CHECK(a.gap > reach);
                ++known;
            }
            CHECK(!tni_known_apart(g1, p1, g2, p2, reach, tni_vec3(0, 0, 0)));
            CHECK(!tni_known_apart(g1, p1, g2, p2, reach, tni_vec3((double)NAN, 0, 1)));
            tni_arena_free(&arena);
        }
    }
    CHECK(known > 1000 / SHARE);
}

TEST(nan_poses_terminate)
{
    const tn_host host  = tn_default_host();
    tni_arena     arena = tni_arena_make(&host);
    test_random   r     = {11};
    for (int i = 0; i < 100; ++i) {
        brute_pair p   = brute_any_pair(&arena, &r, i % 5, i / 5 % 5, 1, 10);
        p.two.pose.x.y = i % 2 == 0 ? (double)NAN : HUGE_VAL;
        CHECK(brute_ask(&p).rounds < 1000);
    }
    tni_arena_free(&arena);
}
