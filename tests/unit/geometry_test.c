// Supports, boxes and extents against closed forms (brute_shapes.h) and random points.
#include "geom/height_field.h"
#include "geom/mesh.h"
#include "support/brute_shapes.h"

static brute_shape any_shape(tni_arena* arena, test_random* r, int kind, double size)
{
    brute_shape s = {.g = brute_geometry(arena, r, brute_kind[kind], size, 40)};
    s.pose        = (tni_pose){brute_vector(r, 3 * size), brute_rotation(r)};
    return s;
}

TEST(support_is_a_point_of_the_core_and_none_is_further)
{
    const tn_host host     = tn_default_host();
    tni_arena     arena    = tni_arena_make(&host);
    test_random   r        = {1};
    const double  sizes[3] = {1e-6, 1, 1e6};
    for (int i = 0; i < 3000; ++i) {
        const double  size = sizes[i % 3];
        brute_shape   s    = any_shape(&arena, &r, i % BRUTE_KINDS, size);
        const tn_vec3 d = brute_unit(&r), zero = {0, 0, 0};
        s.pose                = (tni_pose){zero, tni_identity3()};
        int           feature = -1;
        const tn_vec3 p =
            tni_support(&s.g, tni_scale(test_random_between(&r, 0, 1e3), d), &feature);
        CHECK_LESS(brute_outside(&s, p), 1e-15 * size + 1e-300);
        CHECK_NEAR(tni_dot(d, p), brute_reach(&s, d, zero), 1e-15 * size); // a few roundings
        if (!brute_has_polytope(&s.g)) continue;
        const tn_vec3 v = s.g.polytope->vertices[feature];
        CHECK(v.x == p.x && v.y == p.y && v.z == p.z);
    }
    tni_arena_free(&arena);
}

TEST(of_several_furthest_points_the_first_is_the_support)
{
    const tn_host host  = tn_default_host();
    tni_arena     arena = tni_arena_make(&host);
    tni_polytope  cube;
    CHECK_OK(tni_polytope_of_box(&arena, tni_vec3(1, 2, 3), &cube));
    tni_geometry box    = {.type = TN_SHAPE_BOX, .half_size = {1, 2, 3}, .polytope = &cube};
    tni_geometry convex = {.type = TN_SHAPE_CONVEX, .polytope = &cube};
    tni_geometry bar    = {.type = TN_SHAPE_CAPSULE, .radius = 1, .half_length = 2};
    tni_geometry drum   = {.type = TN_SHAPE_CYLINDER, .radius = 1, .half_length = 2};
    for (int i = 0; i < 26; ++i) { // all directions of -1, 0, 1
        const int     k = i < 13 ? i : i + 1;
        const tn_vec3 d = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
        int           of_box, of_convex, end;
        (void)tni_support(&box, d, &of_box);
        (void)tni_support(&convex, d, &of_convex);
        CHECK_INT(of_box, of_convex);
        CHECK_NEAR(tni_support(&bar, d, &end).z, d.z >= 0 ? 2 : -2, 0);
        CHECK_INT(end, d.z >= 0 ? 0 : 1);
    }
    const tn_vec3 cap = tni_support(&drum, tni_vec3(0, 0, -3), NULL);
    CHECK(cap.x == 0 && cap.y == 0 && cap.z == -2);
    const tn_vec3 tiny = tni_support(&drum, tni_vec3(3e-200, 4e-200, 0), NULL);
    CHECK_NEAR(tiny.x, 0.6, 1e-15);
    CHECK_NEAR(tiny.y, 0.8, 1e-15);
    tni_arena_free(&arena);
}

TEST(bounds_touch_the_shape_on_all_six_sides)
{
    const tn_host host  = tn_default_host();
    tni_arena     arena = tni_arena_make(&host);
    test_random   r     = {2};
    for (int i = 0; i < 1000; ++i) {
        const brute_shape s    = any_shape(&arena, &r, i % BRUTE_KINDS, 1);
        const tni_aabb    box  = tni_bounds(&s.g, &s.pose);
        const tn_vec3     zero = {0, 0, 0};
        for (int k = 0; k < 3; ++k) {
            double e[3]        = {0, 0, 0};
            e[k]               = 1;
            const double round = brute_round(&s.g), tight = 4e-15; // at places up to 5
            CHECK_NEAR(tni_at(box.upper, k), brute_reach(&s, tni_read3(e), zero) + round, tight);
            CHECK_NEAR(tni_at(box.lower, k), -brute_reach(&s, tni_neg(tni_read3(e)), zero) - round,
                       tight);
        }
        CHECK(tni_aabb_meet(&box, &box));
    }
    tni_arena_free(&arena);
}

TEST(extent_is_the_furthest_point_from_the_origin_of_the_frame)
{
    const tn_host host  = tn_default_host();
    tni_arena     arena = tni_arena_make(&host);
    test_random   r     = {3};
    for (int i = 0; i < 60; ++i) {
        const brute_shape s      = any_shape(&arena, &r, i % BRUTE_KINDS, 1);
        const double      extent = tni_extent(&s.g), round = brute_round(&s.g);
        double            most = 0;
        for (int k = 0; k < 300; ++k) { // the reach along d is at most the extent, and somewhere so
            const tn_vec3 d = brute_unit(&r);
            const tn_vec3 p = tni_support(&s.g, d, NULL);
            most            = fmax(most, tni_norm(p) + round);
            CHECK(brute_reach(&s, d, s.pose.x) + round <= extent + 1e-15);
        }
        CHECK_NEAR(most, extent, 1e-15);
    }
    tni_arena_free(&arena);
}

TEST(bounds_of_meshes_and_height_fields_hold_their_corners)
{
    const tn_vec3          corners[4] = {{0, 0, 0}, {1, 0, 0}, {0, 2, 0}, {0, 0, 3}};
    const tni_mesh_node    root       = {.box = {{0, 0, 0}, {1, 2, 3}}};
    const tni_mesh         mesh       = {.vertex_count = 4, .vertices = corners, .nodes = &root};
    const double           z[6]       = {0, 1, -2, 0.5, 3, 1};
    const tni_height_field field      = {3, 2, 2, 5, z, -2, 3};
    const tni_geometry     g1         = {.type = TN_SHAPE_MESH, .mesh = &mesh};
    const tni_geometry     g2         = {.type = TN_SHAPE_HEIGHTS, .height_field = &field};
    test_random            r          = {4};
    for (int i = 0; i < 100; ++i) {
        const tni_pose pose = {brute_vector(&r, 5), i == 0 ? tni_identity3() : brute_rotation(&r)};
        const tni_aabb a = tni_bounds(&g1, &pose), b = tni_bounds(&g2, &pose);
        const tni_aabb slack = {tni_vec3(-1e-14, -1e-14, -1e-14), tni_vec3(1e-14, 1e-14, 1e-14)};
        for (int k = 0; k < 10; ++k) {
            const int     n = k - 4;
            const tn_vec3 p =
                k < 4 ? corners[k] : tni_vec3(2 * (n % 3 - 1), 5 * (n / 3 - 0.5), z[n]);
            const tn_vec3  q  = tni_pose_point(&pose, p);
            const tni_aabb at = {tni_add(q, slack.lower), tni_add(q, slack.upper)};
            CHECK(tni_aabb_meet(&at, k < 4 ? &a : &b));
            CHECK(tni_norm(p) <= tni_extent(k < 4 ? &g1 : &g2) + 1e-15);
        }
        if (i > 0) continue; // not turned: exact
        CHECK_NEAR(a.upper.z - a.lower.z, 3, 1e-14);
        CHECK_NEAR(b.upper.x - b.lower.x, 4, 1e-14);
        CHECK_NEAR(b.upper.y - b.lower.y, 5, 1e-14);
        CHECK_NEAR(b.upper.z, pose.x.z + 3, 1e-14);
        CHECK(b.lower.z == -HUGE_VAL); // solid below
    }
    CHECK_NEAR(tni_extent(&g1), 3, 0);
}

TEST(planes_are_infinite_and_only_five_kinds_are_convex)
{
    const tni_geometry plane = {.type = TN_SHAPE_PLANE};
    const tni_pose     pose  = {{1, 2, 3}, tni_identity3()};
    const tni_aabb     box   = tni_bounds(&plane, &pose);
    CHECK(box.lower.x == -HUGE_VAL && box.upper.z == HUGE_VAL);
    CHECK(tni_extent(&plane) == HUGE_VAL);
    int count = 0;
    for (int t = 0; t < TN_SHAPE_TYPE_COUNT; ++t) count += tni_is_convex((tn_shape_type)t);
    CHECK_INT(count, 5);
    CHECK(!tni_is_convex(TN_SHAPE_PLANE) && !tni_is_convex(TN_SHAPE_MESH));
    CHECK(!tni_is_convex(TN_SHAPE_HEIGHTS));
}

TEST(a_pose_in_a_pose_takes_points_through_both)
{
    test_random r = {5};
    for (int i = 0; i < 100; ++i) {
        const tni_pose a = {brute_vector(&r, 2), brute_rotation(&r)};
        const tni_pose b = {brute_vector(&r, 2), brute_rotation(&r)}, ab = tni_pose_of(&a, &b);
        const tn_vec3  p = brute_vector(&r, 2);
        const tn_vec3  q = tni_pose_point(&a, tni_pose_point(&b, p));
        CHECK_LESS(tni_norm(tni_sub(q, tni_pose_point(&ab, p))), 1e-14);
    }
}
