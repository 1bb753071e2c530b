#include "geom/collide_parts.h"
#include "geom/surface.h"
#include "support/collide_rig.h"

static const double pi = 3.14159265358979323846;

// ---- Shapes by hand ----------------------------------------------------------------------------

static tni_arena new_arena(void)
{
    const tn_host host = tn_default_host();
    return tni_arena_make(&host);
}

static brute_shape box(tni_arena* arena, double x, double y, double z)
{
    tni_polytope* p = TNI_TAKE(arena, tni_polytope, 1);
    brute_shape   s = {.g    = {.type = TN_SHAPE_BOX, .half_size = {x, y, z}, .polytope = p},
                       .pose = {{0, 0, 0}, tni_identity3()}};
    CHECK_OK(tni_polytope_of_box(arena, s.g.half_size, p));
    return s;
}

// The same as a polytope of points.
static brute_shape hull(tni_arena* arena, double x, double y, double z)
{
    tni_polytope* p = TNI_TAKE(arena, tni_polytope, 1);
    brute_shape   s = {.g    = {.type = TN_SHAPE_CONVEX, .polytope = p},
                       .pose = {{0, 0, 0}, tni_identity3()}};
    tn_vec3       v[8];
    for (int i = 0; i < 8; ++i) v[i] = tni_vec3(i & 1 ? x : -x, i & 2 ? y : -y, i & 4 ? z : -z);
    CHECK_OK(tni_polytope_create(arena, v, 8, p));
    return s;
}

static brute_shape bar(tn_shape_type type, double radius, double half_length)
{
    return (brute_shape){.g    = {.type = type, .radius = radius, .half_length = half_length},
                         .pose = {{0, 0, 0}, tni_identity3()}};
}

static tni_mat3 turn(double x, double y, double z)
{
    return tni_quat_matrix(tni_quat_exp(tni_vec3(x, y, z)));
}

static brute_shape at(brute_shape s, double x, double y, double z)
{
    s.pose.x = tni_vec3(x, y, z);
    return s;
}

static brute_shape turned(brute_shape s, double x, double y, double z)
{
    const tni_mat3 R = turn(x, y, z);
    s.pose.R         = tni_mat_mul(&R, &s.pose.R);
    return s;
}

// ---- What is expected --------------------------------------------------------------------------

// The manifold has these points (on shape 1), and no others, all with this normal and this gap.
static void check_points(const brute_shape* s1, const brute_shape* s2, double reach, tn_vec3 n,
                         double gap, const tn_vec3* points, int count, double tolerance)
{
    const collide_answer a = collide_of(s1, s2, reach);
    CHECK_INT(a.count, count);
    for (int i = 0; i < a.count; ++i) {
        const tni_manifold_point* s    = &a.spots[i];
        double                    near = HUGE_VAL;
        for (int k = 0; k < count; ++k)
            near = fmin(near, tni_norm(tni_sub(collide_on1(s), points[k])));
        CHECK_LESS(near, tolerance);
        CHECK_LESS(tni_norm(tni_sub(s->n, n)), 1e-12);
        CHECK_NEAR(s->gap, gap, 1e-13);
        for (int k = 0; k < i; ++k)
            CHECK(tni_norm(tni_sub(collide_on1(s), collide_on1(&a.spots[k]))) > 1e-3);
        const char* fault = collide_spot_fault(s1, s2, s, reach, 4e-9);
        test_check(fault == NULL, __FILE__, __LINE__, "point %d: %s", i, fault);
    }
    const collide_answer b = collide_of(s2, s1, reach);
    CHECK_INT(b.count, count);
    CHECK_NEAR(collide_least(&b), gap, 1e-13);
}

// Corners of a rectangle at height z.
static void rectangle(tn_vec3 p[4], double x0, double x1, double y0, double y1, double z)
{
    p[0] = tni_vec3(x0, y0, z), p[1] = tni_vec3(x1, y0, z);
    p[2] = tni_vec3(x1, y1, z), p[3] = tni_vec3(x0, y1, z);
}

static const tn_vec3 up     = {0, 0, 1};
static const double  gaps[] = {0, 1e-9, -1e-9, 1e-4, -1e-4, -1e-2, 1e-14, -1e-14};
enum { GAPS = 8 };

static bool has_feature(const collide_answer* a, uint32_t feature)
{
    for (int i = 0; i < a->count; ++i)
        if (a->spots[i].feature == feature) return true;
    return false;
}

static bool same_features(const collide_answer* a, const collide_answer* b)
{
    if (a->count != b->count) return false;
    for (int i = 0; i < a->count; ++i)
        if (!has_feature(b, a->spots[i].feature)) return false;
    return true;
}

// ---- Boxes on boxes ----------------------------------------------------------------------------

// Boxes centred above each other, where libccd gives no depth or a wrong point.
TEST(centred_stacks_have_the_four_corners_at_every_gap)
{
    static const double size[][2] = {{0.5, 0.5}, {0.5, 0.3}, {0.3, 0.5}, {1e-3, 1}, {1, 50}};
    for (int i = 0; i < 5; ++i) {
        for (int kind = 0; kind < 4; ++kind) {
            tni_arena         arena = new_arena();
            const double      a = size[i][0], b = size[i][1], c = fmin(a, b);
            const brute_shape s1 = kind % 2 == 0 ? box(&arena, a, a, a) : hull(&arena, a, a, a);
            brute_shape       s2 = kind / 2 == 0 ? box(&arena, b, b, b) : hull(&arena, b, b, b);
            tn_vec3           p[4];
            rectangle(p, -c, c, -c, c, a);
            s2                         = at(s2, 0, 0, a + b);
            const collide_answer touch = collide_of(&s1, &s2, 0.01 * c);
            for (int k = 0; k < GAPS; ++k) {
                s2 = at(s2, 0, 0, a + b + c * gaps[k]);
                // rounding of a + b, whatever the gap
                const double gap = s2.pose.x.z - a - b;
                check_points(&s1, &s2, 0.01 * c, up, gap, p, 4, 1e-13);
                const collide_answer now = collide_of(&s1, &s2, 0.01 * c);
                CHECK(same_features(&touch, &now));
            }
            tni_arena_free(&arena);
        }
    }
}

TEST(overlapping_faces_have_the_corners_of_what_they_share)
{
    tni_arena         arena = new_arena();
    const brute_shape s1 = box(&arena, 1, 1, 0.5), s2 = box(&arena, 0.8, 0.7, 0.5);
    tn_vec3           p[4];
    rectangle(p, -0.1, 1, -0.4, 1, 0.5);
    for (int k = 0; k < GAPS; ++k) {
        const brute_shape t = at(s2, 0.7, 0.3, 1 + gaps[k]);
        check_points(&s1, &t, 0.01, up, gaps[k], p, 4, 1e-13);
    }
    tni_arena_free(&arena);
}

// A case in which ODE's contacts were metres off.
TEST(a_box_on_a_slab_touches_below_itself)
{
    tni_arena         arena = new_arena();
    const brute_shape slab = box(&arena, 50, 50, 0.5), s = box(&arena, 0.5, 0.4, 0.3);
    const double      x[] = {0, 12.345, -49.4}, y[] = {0, -3.21, 49.5};
    for (int i = 0; i < 3; ++i) {
        for (int k = 0; k < GAPS; ++k) {
            const brute_shape t = at(s, x[i], y[i], 0.8 + gaps[k]);
            tn_vec3           p[4];
            rectangle(p, x[i] - 0.5, x[i] + 0.5, y[i] - 0.4, y[i] + 0.4, 0.5);
            check_points(&slab, &t, 0.01, up, gaps[k], p, 4, 1e-12);
        }
        const brute_shape deep = at(s, x[i], y[i], 0.6); // 0.2 deep: still up
        tn_vec3           p[4];
        rectangle(p, x[i] - 0.5, x[i] + 0.5, y[i] - 0.4, y[i] + 0.4, 0.5);
        check_points(&slab, &deep, 0.01, up, -0.2, p, 4, 1e-12);
    }
    tni_arena_free(&arena);
}

TEST(an_edge_along_a_face_touches_at_its_ends)
{
    tni_arena    arena = new_arena();
    const double r     = sqrt(2) * 0.3;
    for (int kind = 0; kind < 2; ++kind) {
        const brute_shape s1 = box(&arena, 1, 1, 0.5);
        const brute_shape s2 = turned(
            kind == 0 ? box(&arena, 0.3, 0.4, 0.3) : hull(&arena, 0.3, 0.4, 0.3), 0, pi / 4, 0);
        const tn_vec3 p[2] = {{0.2, -0.3, 0.5}, {0.2, 0.5, 0.5}};
        for (int k = 0; k < GAPS; ++k) {
            const brute_shape t = at(s2, 0.2, 0.1, 0.5 + r + gaps[k]);
            check_points(&s1, &t, 0.005, up, gaps[k], p, 2, 1e-13);
        }
    }
    tni_arena_free(&arena);
}

TEST(a_corner_on_a_corner_is_one_point)
{
    tni_arena         arena = new_arena();
    const brute_shape s1 = box(&arena, 0.5, 0.5, 0.5), s2 = box(&arena, 0.4, 0.3, 0.2);
    const tn_vec3     p     = {0.5, 0.5, 0.5};
    const brute_shape touch = at(s2, 0.9, 0.8, 0.7);
    collide_answer    a     = collide_of(&s1, &touch, 0.01);
    CHECK_INT(a.count, 1);
    CHECK_NEAR(a.spots[0].gap, 0, 1e-15);
    CHECK_LESS(tni_norm(tni_sub(collide_on1(&a.spots[0]), p)), 1e-15);
    const double d[] = {1e-9, 1e-7, 1e-4};
    for (int k = 0; k < 3; ++k) {
        const brute_shape t = at(s2, 0.9 + d[k], 0.8 + d[k], 0.7 + d[k]);
        a                   = collide_of(&s1, &t, 0.01);
        CHECK_INT(a.count, 1);
        CHECK_NEAR(a.spots[0].gap, sqrt(3) * d[k], 1e-9);
        CHECK(collide_fault(&s1, &t, &a, 0.01, 2e-9) == NULL);
        if (d[k] < 1e-5) continue; // below the margin a face is as good
        CHECK_LESS(tni_norm(tni_sub(a.spots[0].n, tni_scale(1 / sqrt(3), tni_vec3(1, 1, 1)))),
                   1e-11);
    }
    tni_arena_free(&arena);
}

// The axis by itself, since the rest would find the same without it, only later.
TEST(the_box_axis_has_the_largest_separation)
{
    tni_arena   arena = new_arena();
    test_random r     = {3};
    int         edges = 0;
    for (int i = 0; i < 500; ++i) {
        const brute_shape         s1 = box(&arena, 0.5, 0.6, 0.7), b = box(&arena, 0.3, 0.5, 0.2);
        const brute_shape         s2   = {b.g, {brute_vector(&r, 1), brute_rotation(&r)}};
        const tni_shape_pair      two  = {&s1.g, &s2.g, s2.pose, HUGE_VAL, 0.5, 1e-12};
        const tni_separating_axis axis = tni_box_separating_axis(&two);
        const brute_core c = brute_core_of(&s1, s1.pose.x), d = brute_core_of(&s2, s1.pose.x);
        CHECK_NEAR(axis.s, brute_separation(&c, &d), 2e-12);
        CHECK_NEAR(axis.s, brute_apart(&s1, &s2, axis.n), 1e-14);
        edges += axis.edges;
    }
    CHECK(edges > 50);
    tni_arena_free(&arena);
}

TEST(crossed_edges_touch_where_they_cross)
{
    tni_arena    arena = new_arena();
    const double r1 = sqrt(2) * 0.5, r2 = sqrt(2) * 0.3;
    for (int kind = 0; kind < 2; ++kind) {
        const brute_shape s1 = turned(
            kind == 0 ? box(&arena, 0.8, 0.5, 0.5) : hull(&arena, 0.8, 0.5, 0.5), pi / 4, 0, 0);
        const brute_shape s2 = turned(box(&arena, 0.3, 0.7, 0.3), 0, pi / 4, 0);
        const tn_vec3     p  = {0.1, 0, r1};
        for (int k = 0; k < GAPS; ++k) {
            const brute_shape t = at(s2, 0.1, 0.2, r1 + r2 + gaps[k]);
            check_points(&s1, &t, 0.01, up, gaps[k], &p, 1, 2e-2 * fabs(gaps[k]) + 1e-12);
            CHECK(kind == 1 || collide_of(&s1, &t, 0.01).spots[0].feature != 0); // of the edges
        }
    }
    tni_arena_free(&arena);
}

TEST(a_box_within_a_box_leaves_by_the_shortest_way)
{
    tni_arena            arena = new_arena();
    const brute_shape    s1 = box(&arena, 1, 1, 1), s2 = box(&arena, 0.2, 0.3, 0.1);
    const brute_shape    t = at(s2, 0.1, -0.6, 0.2); // ways: x 1.1, -y 0.7, z 0.9
    const collide_answer a = collide_of(&s1, &t, 0);
    CHECK_INT(a.count, 4);
    CHECK_NEAR(collide_least(&a), -0.7, 1e-15);
    CHECK_LESS(tni_norm(tni_sub(a.spots[0].n, tni_vec3(0, -1, 0))), 1e-15);
    const collide_answer same = collide_of(&s1, &s1, 0); // one in the other, concentric
    CHECK_INT(same.count, 4);
    CHECK_NEAR(collide_least(&same), -2, 1e-15);
    tni_arena_free(&arena);
}

TEST(turned_by_45_degrees_there_are_eight_points)
{
    tni_arena         arena = new_arena();
    const brute_shape s1 = box(&arena, 0.5, 0.5, 0.5), s2 = turned(s1, 0, 0, pi / 4);
    const double      a = 0.5, b = a * (sqrt(2) - 1);
    const tn_vec3     p[8] = {{a, b, a},   {b, a, a},   {-b, a, a}, {-a, b, a},
                              {-a, -b, a}, {-b, -a, a}, {b, -a, a}, {a, -b, a}};
    for (int k = 0; k < GAPS; ++k) {
        const brute_shape t = at(s2, 0, 0, 1 + gaps[k]);
        check_points(&s1, &t, 0.01, up, gaps[k], p, 8, 1e-13);
    }
    tni_arena_free(&arena);
}

TEST(turned_by_a_tiny_angle_there_are_four_points)
{
    static const double  angle[] = {1e-9, -1e-9, 1e-12, -1e-7};
    tni_arena            arena   = new_arena();
    const brute_shape    s1      = box(&arena, 0.5, 0.5, 0.5);
    const brute_shape    level   = at(s1, 0, 0, 1);
    const collide_answer flat    = collide_of(&s1, &level, 0.01);
    tn_vec3              p[4];
    rectangle(p, -0.5, 0.5, -0.5, 0.5, 0.5);
    for (int i = 0; i < 4; ++i) {
        const brute_shape s2 = turned(s1, 0, 0, angle[i]);
        for (int k = 0; k < GAPS; ++k) {
            const brute_shape t = at(s2, 0, 0, 1 + gaps[k]);
            check_points(&s1, &t, 0.01, up, gaps[k], p, 4, 1e-9 + fabs(angle[i]));
            const collide_answer now = collide_of(&s1, &t, 0.01);
            CHECK(same_features(&flat, &now));
        }
    }
    tni_arena_free(&arena);
}

// A tilt of 1e-5 opens gaps, in closed form, and keeps the four points, also over an overhang,
// where edges are nearest.
TEST(a_slightly_tilted_box_keeps_its_four_points)
{
    tni_arena         arena = new_arena();
    const brute_shape s1 = box(&arena, 1, 1, 0.5), s2 = box(&arena, 0.5, 0.5, 0.5);
    const double      tilt = 1e-5;
    for (int k = 0; k < GAPS; ++k) {
        const brute_shape    t = at(turned(s2, 0, tilt, 0), 0, 0, 1 + gaps[k]);
        const collide_answer a = collide_of(&s1, &t, 0.01);
        CHECK_INT(a.count, 4);
        CHECK(collide_fault(&s1, &t, &a, 0.01, 2e-9) == NULL);
        for (int i = 0; i < a.count; ++i) { // the bottom of t at x
            const double x = collide_on2(&a.spots[i]).x;
            CHECK_NEAR(a.spots[i].gap, gaps[k] + 0.5 * (1 - cos(tilt)) - tilt * x, 1e-10);
        }
        const brute_shape    o = at(turned(s2, tilt, tilt, 0.3), 0.9, 0.1, 1 + gaps[k]);
        const collide_answer b = collide_of(&s1, &o, 0.01);
        CHECK(b.count >= 4);
        CHECK(collide_fault(&s1, &o, &b, 0.01, 2e-9) == NULL);
    }
    tni_arena_free(&arena);
}

TEST(far_from_the_origin_boxes_touch_as_they_do_at_it)
{
    tni_arena            arena = new_arena();
    const brute_shape    s = box(&arena, 0.5, 0.5, 0.5), s1 = at(s, 65536, -65536, 65536);
    const brute_shape    s2 = at(s, 65536.25, -65536.5, 65537);
    const collide_answer a  = collide_of(&s1, &s2, 0.01);
    CHECK_INT(a.count, 4);
    CHECK_NEAR(collide_least(&a), 0, 1e-15);
    tni_arena_free(&arena);
}

// A prism of 24 sides has 24 corners on the floor; the eight that are kept are spread around it.
// When it tilts the deepest is kept.
TEST(many_points_are_reduced_to_eight_that_span_the_patch)
{
    tni_arena         arena = new_arena();
    const brute_shape slab  = box(&arena, 50, 50, 0.5);
    tni_polytope      p;
    tn_vec3           v[48];
    for (int i = 0; i < 48; ++i)
        v[i] = tni_vec3(cos(pi / 12 * (i / 2)), sin(pi / 12 * (i / 2)), i % 2 == 0 ? -0.5 : 0.5);
    CHECK_OK(tni_polytope_create(&arena, v, 48, &p));
    const brute_shape    s = {{.type = TN_SHAPE_CONVEX, .polytope = &p},
                              {{3, 4, 1 + 1e-6}, turn(0, 0, 0.1)}};
    const collide_answer a = collide_of(&slab, &s, 0.01);
    CHECK_INT(a.count, 8);
    for (int i = 0; i < 360; ++i) { // nowhere is the patch cut back by more than two corners
        const tn_vec3 d    = {cos(pi / 180 * i), sin(pi / 180 * i), 0};
        double        most = -HUGE_VAL;
        for (int k = 0; k < a.count; ++k)
            most = fmax(most, tni_dot(d, tni_sub(a.spots[k].c2, s.pose.x)));
        CHECK(most > cos(pi / 6) - 1e-9);
    }
    for (int i = 0; i < 48; ++i) v[i].y *= 0.2; // now long: the deepest is not what is furthest
    CHECK_OK(tni_polytope_create(&arena, v, 48, &p));
    for (int i = 0; i < 24; ++i) {
        const double         x = cos(pi / 12 * i + 0.05), y = sin(pi / 12 * i + 0.05);
        const brute_shape    tilted = turned(s, 2e-3 * x, 2e-3 * y, 0);
        const collide_answer b      = collide_of(&slab, &tilted, 0.01);
        CHECK_INT(b.count, 8);
        CHECK(collide_fault(&slab, &tilted, &b, 0.01, 2e-9) == NULL);
    }
    tni_arena_free(&arena);
}

TEST(equal_cylinders_end_to_end_share_their_rim_points)
{
    const brute_shape s1 = bar(TN_SHAPE_CYLINDER, 0.5, 1), s2 = at(s1, 0, 0, 2);
    const tn_vec3     p[4] = {{0.5, 0, 1}, {0, 0.5, 1}, {-0.5, 0, 1}, {0, -0.5, 1}};
    check_points(&s1, &s2, 0.01, up, 0, p, 4, 1e-13);
}

// ---- Triangles ---------------------------------------------------------------------------------

// As in a mesh: two faces, back to back.
static brute_shape triangle(const tn_vec3 v[3], tni_triangle_shape* leaf)
{
    for (int k = 0; k < 3; ++k) leaf->vertices[k] = v[k];
    tni_triangle_shape_make(leaf, tni_normal_of(v));
    return (brute_shape){.g = leaf->geometry, .pose = tni_pose_home()};
}

TEST(triangles_are_thin_polytopes)
{
    const tn_vec3 wide[3]  = {{-9, -9, 0}, {9, -9, 0}, {0, 9, 0}},
                  small[3] = {{0, 0, 0}, {0.2, 0, 0}, {0, 0.3, 0}};
    tni_triangle_shape p, q;
    tni_arena          arena = new_arena();
    const brute_shape  t = triangle(wide, &p), u = triangle(small, &q),
                      s = box(&arena, 0.5, 0.5, 0.5);
    tn_vec3 corners[4];
    rectangle(corners, -0.5, 0.5, -0.5, 0.5, 0);
    for (int k = 0; k < GAPS; ++k) {
        const brute_shape o = at(s, 0, 0, 0.5 + gaps[k]);
        check_points(&t, &o, 0.01, up, gaps[k], corners, 4, 1e-13);
        check_points(&u, &o, 0.01, up, gaps[k], small, 3, 1e-13);
    }
    tni_arena_free(&arena);
}

// ---- Rounds ------------------------------------------------------------------------------------

TEST(spheres_touch_along_the_line_of_centres)
{
    const brute_shape s1 = at(bar(TN_SHAPE_SPHERE, 0.5, 0), 1, 2, 3),
                      s2 = at(bar(TN_SHAPE_SPHERE, 0.25, 0), 1.3, 2, 3.4);
    const tn_vec3 p = {1.3, 2, 3.4}, n = {0.6, 0, 0.8};
    check_points(&s1, &s2, 0, n, -0.25, &p, 1, 1e-12);
    const collide_answer a = collide_of(&s1, &s1, 0); // concentric: any direction, but one
    CHECK_INT(a.count, 1);
    CHECK_NEAR(a.spots[0].gap, -1, 0);
    CHECK_NEAR(tni_norm(a.spots[0].n), 1, 1e-15);
}

TEST(a_sphere_meets_faces_edges_corners_and_insides_of_a_box)
{
    tni_arena         arena = new_arena();
    const brute_shape s1 = box(&arena, 1, 1, 1), s2 = bar(TN_SHAPE_SPHERE, 0.5, 0);
    const struct {
        tn_vec3           x, n, p;
        double            gap;
        tni_manifold_kind kind;
    } c[] = {
        {{0.3, 0.2, 1.4}, {0, 0, 1}, {0.3, 0.2, 1}, -0.1, TNI_MANIFOLD_FACE_1},
        {{1.3, 0.2, 1.4}, {0.6, 0, 0.8}, {1, 0.2, 1}, 0, TNI_MANIFOLD_ROUND},
        {{1.2, -1.2, 1.1}, {2 / 3.0, -2 / 3.0, 1 / 3.0}, {1, -1, 1}, -0.2, TNI_MANIFOLD_ROUND},
        {{0.2, -0.7, 0.1}, {0, -1, 0}, {0.2, -1, 0.1}, -0.8, TNI_MANIFOLD_FACE_1},
    };
    for (int i = 0; i < 4; ++i) {
        const brute_shape t = at(s2, c[i].x.x, c[i].x.y, c[i].x.z);
        check_points(&s1, &t, 0.1, c[i].n, c[i].gap, &c[i].p, 1, 1e-14);
        CHECK_INT(collide_of(&s1, &t, 0.1).spots[0].kind, c[i].kind);
    }
    tni_arena_free(&arena);
}

TEST(a_sphere_meets_end_side_and_rim_of_a_cylinder)
{
    const brute_shape s1 = bar(TN_SHAPE_CYLINDER, 1, 2), s2 = bar(TN_SHAPE_SPHERE, 0.5, 0);
    const struct {
        tn_vec3           x, n, p;
        double            gap;
        tni_manifold_kind kind;
    } c[] = {
        {{0.3, 0.2, 2.4}, {0, 0, 1}, {0.3, 0.2, 2}, -0.1, TNI_MANIFOLD_FACE_1},
        {{0, -1.4, 0.7}, {0, -1, 0}, {0, -1, 0.7}, -0.1, TNI_MANIFOLD_ROUND},
        {{1.3, 0, -2.4}, {0.6, 0, -0.8}, {1, 0, -2}, 0, TNI_MANIFOLD_ROUND},
        {{0.1, 0, 1.8}, {0, 0, 1}, {0.1, 0, 2}, -0.7, TNI_MANIFOLD_FACE_1},
        {{0.9, 0, 1.8}, {1, 0, 0}, {1, 0, 1.8}, -0.6, TNI_MANIFOLD_ROUND},
    };
    for (int i = 0; i < 5; ++i) {
        const brute_shape t = at(s2, c[i].x.x, c[i].x.y, c[i].x.z);
        check_points(&s1, &t, 0.1, c[i].n, c[i].gap, &c[i].p, 1, 1e-14);
        CHECK_INT(collide_of(&s1, &t, 0.1).spots[0].kind, c[i].kind);
    }
}

TEST(parallel_capsules_touch_at_two_points_and_crossed_ones_at_one)
{
    const brute_shape s1 = bar(TN_SHAPE_CAPSULE, 0.3, 1), s2 = bar(TN_SHAPE_CAPSULE, 0.2, 1);
    const tn_vec3     x = {1, 0, 0}, two[2] = {{0.3, 0, -0.5}, {0.3, 0, 1}};
    for (int k = 0; k < GAPS; ++k) {
        const brute_shape t = at(s2, 0.5 + gaps[k], 0, 0.5);
        check_points(&s1, &t, 0.01, x, gaps[k], two, 2, 1e-12);
        const brute_shape    u = turned(t, 1e-3, 0, 0); // still two, and the least is right
        const collide_answer a = collide_of(&s1, &u, 0.01);
        CHECK(a.count >= 2);
        CHECK(collide_fault(&s1, &u, &a, 0.01, 2e-9) == NULL);
        const brute_shape c   = at(turned(s2, pi / 2, 0, 0), 0.5 + gaps[k], 0.3, 0.5);
        const tn_vec3     one = {0.3, 0, 0.5};
        check_points(&s1, &c, 0.01, x, gaps[k], &one, 1, 1e-12);
    }
}

TEST(a_capsule_on_a_face_touches_at_both_ends_of_what_lies_on_it)
{
    tni_arena arena = new_arena();
    for (int kind = 0; kind < 2; ++kind) {
        const brute_shape s1    = kind == 0 ? box(&arena, 1, 1, 0.5) : hull(&arena, 1, 1, 0.5);
        const brute_shape s2    = turned(bar(TN_SHAPE_CAPSULE, 0.25, 0.75), 0, pi / 2, 0);
        const tn_vec3     on[2] = {{-0.75, 0.2, 0.5}, {0.75, 0.2, 0.5}},
                      over[2] = {{-0.25, 0.2, 0.5}, {1, 0.2, 0.5}}, edge = {1, 0.2, 0.5};
        for (int k = 0; k < GAPS; ++k) {
            const brute_shape t = at(s2, 0, 0.2, 0.75 + gaps[k]);
            check_points(&s1, &t, 0.01, up, gaps[k], on, 2, 1e-13);
            const brute_shape u = at(s2, 0.5, 0.2, 0.75 + gaps[k]);
            check_points(&s1, &u, 0.01, up, gaps[k], over, 2, 1e-13);
        }
        const brute_shape v = at(turned(bar(TN_SHAPE_CAPSULE, 0.25, 2), 0, 3 * pi / 4, 0),
                                 1 + 0.25 * sqrt(0.5), 0.2, 0.5 + 0.25 * sqrt(0.5));
        const tn_vec3     n = {sqrt(0.5), 0, sqrt(0.5)}; // leans across the edge
        check_points(&s1, &v, 0.01, n, 0, &edge, 1, 1e-12);
        CHECK_INT(collide_of(&s1, &v, 0.01).spots[0].kind, TNI_MANIFOLD_ROUND);
    }
    tni_arena_free(&arena);
}

// ---- Cylinders ---------------------------------------------------------------------------------

TEST(a_standing_cylinder_has_four_points_of_its_rim_or_the_corners_below)
{
    tni_arena     arena    = new_arena();
    const tn_vec3 rim[4]   = {{0.7, 0.1, 0.5}, {0.2, 0.6, 0.5}, {-0.3, 0.1, 0.5}, {0.2, -0.4, 0.5}};
    const tn_vec3 inner[4] = {
        {0.2, 0.1, 0.5}, {-0.2, 0.1, 0.5}, {-0.2, -0.1, 0.5}, {0.2, -0.1, 0.5}};
    for (int kind = 0; kind < 2; ++kind) {
        const brute_shape s1 = kind == 0 ? box(&arena, 1, 1, 0.5) : hull(&arena, 1, 1, 0.5);
        const brute_shape post =
            kind == 0 ? box(&arena, 0.2, 0.1, 0.5) : hull(&arena, 0.2, 0.1, 0.5);
        const brute_shape s2 = bar(TN_SHAPE_CYLINDER, 0.5, 0.3);
        for (int k = 0; k < GAPS; ++k) {
            const brute_shape t = at(s2, 0.2, 0.1, 0.8 + gaps[k]);
            check_points(&s1, &t, 0.01, up, gaps[k], rim, 4, 1e-13);
            const brute_shape u = at(s2, 0, 0, 0.8 + gaps[k]);
            check_points(&post, &u, 0.01, up, gaps[k], inner, 4, 1e-13);
        }
    }
    tni_arena_free(&arena);
}

TEST(a_cylinder_that_stands_over_an_edge_is_held_where_rim_and_edge_cross)
{
    tni_arena         arena = new_arena();
    const brute_shape s1    = box(&arena, 1, 1, 0.5);
    const brute_shape s2    = at(bar(TN_SHAPE_CYLINDER, 0.5, 0.3), 0.7, 0, 0.8);
    const tn_vec3     p[5]  = {
        {0.7, 0.5, 0.5}, {0.2, 0, 0.5}, {0.7, -0.5, 0.5}, {1, 0.4, 0.5}, {1, -0.4, 0.5}};
    check_points(&s1, &s2, 0.01, up, 0, p, 5, 1e-13);
    tni_arena_free(&arena);
}

TEST(a_lying_cylinder_touches_along_a_line_and_rolls)
{
    tni_arena         arena = new_arena();
    const brute_shape s1    = box(&arena, 1, 1, 0.5);
    const brute_shape s2    = turned(bar(TN_SHAPE_CYLINDER, 0.25, 0.75), 0, pi / 2, 0);
    const tn_vec3     on[2] = {{-0.75, 0.2, 0.5}, {0.75, 0.2, 0.5}};
    for (int k = 0; k < GAPS; ++k) {
        const brute_shape t = at(s2, 0, 0.2, 0.75 + gaps[k]);
        check_points(&s1, &t, 0.01, up, gaps[k], on, 2, 1e-13);
        const collide_answer a = collide_of(&s1, &t, 0.01);
        CHECK_INT(a.spots[0].kind, TNI_MANIFOLD_FACE_1);
        CHECK_NEAR(a.spots[0].r2, 0.25, 1e-15);
    }
    tni_arena_free(&arena);
}

// A tilted coin that rolls about its axis stays in place: so does the ball that represents its rim.
TEST(the_centre_of_a_leaning_rim_lies_on_the_axis)
{
    tni_arena            arena = new_arena();
    const brute_shape    s1    = box(&arena, 1, 1, 0.5);
    const brute_shape    s2 = at(turned(bar(TN_SHAPE_CYLINDER, 0.3, 0.01), 0, 0.5, 0), 0, 0, 0.7);
    const collide_answer a  = collide_of(&s1, &s2, 0.05);
    CHECK(a.count >= 1);
    CHECK_NEAR(collide_least(&a), 0.2 - 0.3 * sin(0.5) - 0.01 * cos(0.5), 1e-12);
    const tn_vec3 d = tni_sub(a.spots[0].c2, s2.pose.x), u = tni_column(&s2.pose.R, 2);
    CHECK_LESS(tni_norm(tni_cross(d, u)), 1e-12);
    CHECK(collide_fault(&s1, &s2, &a, 0.05, 2e-9) == NULL);
    tni_arena_free(&arena);
}

TEST(cylinders_touch_end_to_end_side_by_side_and_crossed)
{
    const brute_shape s1 = bar(TN_SHAPE_CYLINDER, 0.5, 1), s2 = bar(TN_SHAPE_CYLINDER, 0.3, 1);
    const brute_shape c = bar(TN_SHAPE_CAPSULE, 0.3, 1);
    const tn_vec3     x = {1, 0, 0}, line[2] = {{0.5, 0, -0.5}, {0.5, 0, 1}}, one = {0.5, 0, 0.2};
    const tn_vec3     rim[4] = {{0.4, 0, 1}, {0.1, 0.3, 1}, {-0.2, 0, 1}, {0.1, -0.3, 1}};
    const double      w      = sqrt(0.25 - 0.34 * 0.34); // circles of 0.5 and 0.3 about 0 and 0.5
    const tn_vec3     lens[] = {{0.5, 0, 1},
                                {0.2, 0, 1},
                                {0.41, sqrt(0.25 - 0.41 * 0.41), 1},
                                {0.41, -sqrt(0.25 - 0.41 * 0.41), 1}};
    CHECK(w > 0);
    for (int k = 0; k < GAPS; ++k) {
        const brute_shape end = at(s2, 0.1, 0, 2 + gaps[k]);
        check_points(&s1, &end, 0.01, up, gaps[k], rim, 4, 1e-13);
        const brute_shape aside = at(s2, 0.5, 0, 2 + gaps[k]);
        check_points(&s1, &aside, 0.01, up, gaps[k], lens, 4, 1e-13);
        const brute_shape side = at(s2, 0.8 + gaps[k], 0, 0.5);
        check_points(&s1, &side, 0.01, x, gaps[k], line, 2, 1e-12);
        const brute_shape round = at(c, 0.8 + gaps[k], 0, 0.5);
        check_points(&s1, &round, 0.01, x, gaps[k], line, 2, 1e-12);
        const brute_shape    crossed = at(turned(s2, pi / 2, 0, 0), 0.8 + gaps[k], 0.1, 0.2);
        const collide_answer a       = collide_of(&s1, &crossed, 0.01);
        CHECK_INT(a.count, 1);
        CHECK_NEAR(collide_least(&a), gaps[k], 1e-12);
        CHECK_LESS(tni_norm(tni_sub(collide_on1(&a.spots[0]), one)), 1e-6);
        CHECK_INT(a.spots[0].kind, TNI_MANIFOLD_ROUND); // rolls on either side
        CHECK_NEAR(a.spots[0].r1, 0.5, 1e-9);
        CHECK_NEAR(a.spots[0].r2, 0.3, 1e-9);
    }
}

TEST(an_edge_along_a_line_of_a_cylinder_touches_at_its_ends)
{
    tni_arena         arena = new_arena();
    const double      r     = sqrt(2) * 0.5;
    const brute_shape s1    = turned(box(&arena, 0.5, 1, 0.5), 0, pi / 4, 0);
    const brute_shape s2    = turned(bar(TN_SHAPE_CYLINDER, 0.25, 0.5), pi / 2, 0, 0);
    const tn_vec3     p[2]  = {{0, -0.5, r}, {0, 0.5, r}};
    const brute_shape t     = at(s2, 0, 0, r + 0.25 + 1e-4);
    check_points(&s1, &t, 0.01, up, 1e-4, p, 2, 1e-7);
    tni_arena_free(&arena);
}

// ---- Feature ids, and NaN ----------------------------------------------------------------------

// Of all points present before and after a motion of 1e-6, at least the fraction `share` has kept
// its id.
static void check_persistence(brute_shape s1, brute_shape s2, int count, double share)
{
    test_random          r      = {7};
    const collide_answer before = collide_of(&s1, &s2, 0.01);
    int                  kept = 0, all = 0;
    CHECK_INT(before.count, count);
    for (int i = 0; i < 500; ++i) {
        brute_shape    t       = s2;
        const tni_mat3 R       = tni_quat_matrix(tni_quat_exp(brute_vector(&r, 1e-6)));
        t.pose.x               = tni_add(t.pose.x, brute_vector(&r, 1e-6));
        t.pose.R               = tni_mat_mul(&R, &t.pose.R);
        const collide_answer a = collide_of(&s1, &t, 0.01);
        CHECK(collide_fault(&s1, &t, &a, 0.01, 4e-9) == NULL);
        for (int k = 0; k < a.count; ++k) kept += has_feature(&before, a.spots[k].feature);
        all += a.count > before.count ? a.count : before.count;
    }
    test_check(kept >= share * all, __FILE__, __LINE__, "%d of %d, %d at first", kept, all,
               before.count);
}

TEST(ids_stay_while_shapes_tremble)
{
    tni_arena         arena = new_arena();
    const brute_shape b = box(&arena, 0.5, 0.5, 0.5), h = hull(&arena, 0.5, 0.5, 0.5),
                      c = bar(TN_SHAPE_CYLINDER, 0.4, 0.5), k = bar(TN_SHAPE_CAPSULE, 0.4, 0.5);
    check_persistence(b, at(b, 0, 0, 1), 4, 0.999); // corner above corner
    check_persistence(b, at(h, 0, 0, 1), 4, 0.999);
    check_persistence(b, at(b, 0.3, 0.2, 1), 4, 0.999);
    check_persistence(b, at(turned(b, 0, 0, pi / 4), 0, 0, 1), 8, 0.999);
    check_persistence(b, at(turned(b, 0, 0, 0.3), 0.4, 0.1, 1), 6, 0.999);
    check_persistence(b, at(k, 0, 0, 1.4), 1, 0.999);
    check_persistence(b, at(turned(k, 0, pi / 2, 0), 0, 0, 0.9), 2, 0.999);
    check_persistence(b, at(turned(c, 0, pi / 2, 0), 0, 0, 0.9), 2, 0.999);
    check_persistence(b, at(turned(c, 1e-5, 2e-5, 0), 0, 0, 1), 5, 0.999);
    check_persistence(k, at(k, 0.8, 0, 0.1), 2, 0.9);
    tni_arena_free(&arena);
}

TEST(nan_poses_have_no_contacts)
{
    tni_arena         arena = new_arena();
    const brute_shape all[] = {box(&arena, 1, 1, 1), hull(&arena, 1, 1, 1),
                               bar(TN_SHAPE_CYLINDER, 1, 1), bar(TN_SHAPE_CAPSULE, 1, 1),
                               bar(TN_SHAPE_SPHERE, 1, 0)};
    for (int i = 0; i < 5; ++i) {
        for (int k = 0; k < 5; ++k) {
            const brute_shape lost = at(all[k], 0, (double)NAN, 0);
            CHECK_INT(collide_of(&all[i], &lost, 0.1).count, 0);
        }
    }
    tni_arena_free(&arena);
}

TEST(random_pairs_touch_where_they_are_nearest)
{
    for (int i = 0; i < BRUTE_KINDS; ++i)
        for (int k = 0; k <= i; ++k) CHECK(collide_many(i, k, 160).touching > 48);
}
