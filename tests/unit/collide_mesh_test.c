#include "geom/collide.h"
#include "geom/gjk.h"
#include "geom/height_field.h"
#include "geom/mesh.h"
#include "geom/surface.h"
#include "support/mesh_shapes.h"
#include "test.h"

enum { ROOM = 2000, KINDS = 5 };

// ---- Shapes ------------------------------------------------------------------------------------

typedef struct fixture {
    tni_arena        arena;
    tni_mesh         mesh;
    tni_height_field field;
    tni_geometry     surface; ///< of either
} fixture;

static fixture on_mesh(mesh_shape s)
{
    const tn_host host = tn_default_host();
    fixture       f    = {.arena = tni_arena_make(&host)};
    CHECK_OK(tni_mesh_create(&f.arena, s.vertices, s.vertex_count, s.triangles, s.triangle_count,
                             &f.mesh, NULL));
    f.surface.type = TN_SHAPE_MESH;
    mesh_shape_free(&s);
    return f;
}

static fixture on_heights(int columns, int rows, double d, double (*z)(double x, double y))
{
    const tn_host host   = tn_default_host();
    fixture       f      = {.arena = tni_arena_make(&host)};
    double*       values = TNI_TAKE(&f.arena, double, columns* rows);
    f.field              = (tni_height_field){columns, rows, d, d, values, HUGE_VAL, -HUGE_VAL};
    for (int i = 0; i < columns * rows; ++i) {
        const int c = i % columns, r = i / columns;
        values[i]       = z((c - 0.5 * (columns - 1)) * d, (r - 0.5 * (rows - 1)) * d);
        f.field.lowest  = fmin(f.field.lowest, values[i]);
        f.field.highest = fmax(f.field.highest, values[i]);
    }
    f.surface.type = TN_SHAPE_HEIGHTS;
    return f;
}

static const tni_geometry* surface_of(fixture* f)
{
    f->surface.mesh         = &f->mesh;
    f->surface.height_field = &f->field;
    return &f->surface;
}

static tni_polytope box_polytope, rock_polytope;
static tni_arena    shapes_arena;

// Sphere, box, capsule, cylinder, convex; all about 0.1 to 0.3 in size.
static tni_geometry shape_of_kind(int kind)
{
    static const tn_vec3 rock[] = {{0.2, 0, -0.1},   {-0.1, 0.15, -0.1}, {-0.12, -0.17, -0.08},
                                   {0.05, 0.1, 0.2}, {0.1, -0.12, 0.15}, {-0.15, 0.02, 0.13}};
    const tn_vec3        half   = {0.15, 0.1, 0.2};
    const tn_host        host   = tn_default_host();
    if (shapes_arena.bytes == 0) {
        shapes_arena = tni_arena_make(&host);
        CHECK_OK(tni_polytope_of_box(&shapes_arena, half, &box_polytope));
        CHECK_OK(tni_polytope_create(&shapes_arena, rock, 6, &rock_polytope));
    }
    switch (kind) {
    case 0: return (tni_geometry){.type = TN_SHAPE_SPHERE, .radius = 0.15};
    case 1:
        return (tni_geometry){.type = TN_SHAPE_BOX, .half_size = half, .polytope = &box_polytope};
    case 2: return (tni_geometry){.type = TN_SHAPE_CAPSULE, .radius = 0.08, .half_length = 0.2};
    case 3: return (tni_geometry){.type = TN_SHAPE_CYLINDER, .radius = 0.12, .half_length = 0.15};
    default: return (tni_geometry){.type = TN_SHAPE_CONVEX, .polytope = &rock_polytope};
    }
}

__attribute__((destructor)) static void give_back(void)
{
    if (shapes_arena.bytes > 0) tni_arena_free(&shapes_arena);
}

static tn_vec3 random_point(test_random* r, double size)
{
    const double z = test_random_between(r, -size, size), y = test_random_between(r, -size, size);
    return tni_vec3(test_random_between(r, -size, size), y, z);
}

static tni_mat3 random_turn(test_random* r)
{
    const tn_vec3 v = random_point(r, 1);
    return tni_quat_matrix(
        tni_quat_normalised((tn_quat){test_random_between(r, -1, 1), v.x, v.y, v.z}));
}

static const tni_pose at_home = {{0, 0, 0}, {{1, 0, 0, 0, 1, 0, 0, 0, 1}}};

static double least_gap(const tni_manifold_point* spots, int count)
{
    double least = HUGE_VAL;
    for (int i = 0; i < count; ++i) least = fmin(least, spots[i].gap);
    return least;
}

// The guarantees of collide.h for every point.
static void check_spots(const tni_manifold_point* spots, int count, double reach)
{
    for (int i = 0; i < count; ++i) {
        const tni_manifold_point* s = &spots[i];
        CHECK_NEAR(tni_norm(s->n), 1, 1e-12);
        CHECK_NEAR(tni_dot(s->n, tni_sub(s->c2, s->c1)) - s->r1 - s->r2, s->gap, 1e-9);
        CHECK(s->gap <= reach && s->feature < 1 << 23);
        for (int j = 0; j < i; ++j) CHECK(s->feature != spots[j].feature);
    }
}

static int touches(fixture* f, const tni_pose* at, const tni_geometry* g, const tni_pose* pose,
                   double reach, tni_manifold_point* spots)
{
    const int count = tni_collide(surface_of(f), at, g, pose, reach, spots, ROOM);
    CHECK(count <= ROOM);
    check_spots(spots, count, reach);
    return count;
}

// ---- Floors ------------------------------------------------------------------------------------

static double level(double x, double y)
{
    (void)x, (void)y;
    return 0;
}

// A flat floor whose inner vertices are at random places: no edge is along an axis.
static mesh_shape crooked_floor(int n, double d, test_random* r)
{
    mesh_shape s = mesh_sheet(n, n, d, level);
    for (int i = 0; i < s.vertex_count; ++i) {
        const bool border = i % n == 0 || i % n == n - 1 || i / n == 0 || i / n == n - 1;
        if (border) continue;
        s.vertices[i].x += test_random_between(r, -0.3, 0.3) * d;
        s.vertices[i].y += test_random_between(r, -0.3, 0.3) * d;
    }
    return s;
}

// A plane in the place of the floor: a large box whose top is the floor.
static tni_geometry slab(tni_arena* arena, tni_polytope* p)
{
    const tn_vec3 half = {20, 20, 20};
    CHECK_OK(tni_polytope_of_box(arena, half, p));
    return (tni_geometry){.type = TN_SHAPE_BOX, .half_size = half, .polytope = p};
}

static bool has_spot_at(const tni_manifold_point* spots, int count,
                        const tni_manifold_point* wanted)
{
    const tn_vec3 w = tni_add_scaled(wanted->c2, -wanted->r2, wanted->n);
    for (int i = 0; i < count; ++i) {
        const tn_vec3 p = tni_add_scaled(spots[i].c2, -spots[i].r2, spots[i].n);
        if (tni_norm(tni_sub(p, w)) < 1e-8 && fabs(spots[i].gap - wanted->gap) < 1e-8) return true;
    }
    return false;
}

// For anything on it, a floor of triangles is a plane: normals, gaps and points.
static void check_floor(fixture* floor, int rounds, uint64_t seed)
{
    test_random               r     = {seed};
    const tni_pose            down  = {{0, 0, -20}, {{1, 0, 0, 0, 1, 0, 0, 0, 1}}};
    const tn_host             host  = tn_default_host();
    tni_arena                 arena = tni_arena_make(&host);
    tni_polytope              polytope;
    const tni_geometry        plane = slab(&arena, &polytope);
    static tni_manifold_point spots[ROOM], wanted[TNI_MANIFOLD_MAX];
    for (int i = 0; i < rounds; ++i) {
        const tni_geometry g     = shape_of_kind(i % KINDS);
        const double       reach = 0.01;
        tni_pose           pose  = {random_point(&r, 1), random_turn(&r)};
        if (i / KINDS % 3 == 0) { // nearly flat
            const tn_vec3  axis = random_point(&r, 1);
            const tn_vec3  turn = tni_scale(exp(test_random_between(&r, -30, -3)), axis);
            const double   a    = test_random_between(&r, -3, 3);
            const tni_mat3 yaw  = tni_quat_matrix(tni_quat_exp(tni_vec3(0, 0, a)));
            const tni_mat3 tip  = tni_quat_matrix(tni_quat_exp(turn));
            pose.R              = tni_mat_mul(&tip, &yaw);
        }
        pose.x.z           = 0;
        const tni_aabb box = tni_bounds(&g, &pose);
        pose.x.z           = -box.lower.z + test_random_between(&r, -0.03, 0.009);
        const int count    = touches(floor, &at_home, &g, &pose, reach, spots);
        const int more     = tni_collide_convex(&plane, &down, &g, &pose, reach, wanted);
        for (int k = 0; k < count; ++k) CHECK(spots[k].n.z > 1 - 1e-14);
        // The rims of standing cylinders have four points, the first in a fixed place when tilted
        // by less than 1e-7.
        const double close = g.type == TN_SHAPE_CYLINDER ? 3e-8 : 1e-9;
        CHECK_NEAR(least_gap(spots, count), least_gap(wanted, more), close);
        if (g.type == TN_SHAPE_CYLINDER) continue;
        CHECK_INT(count, more);
        for (int k = 0; k < more; ++k) CHECK(has_spot_at(spots, count, &wanted[k]));
    }
    tni_arena_free(&arena);
}

TEST(a_floor_of_triangles_is_a_plane)
{
    test_random r = {3};
    fixture     f = on_mesh(crooked_floor(27, 0.15, &r));
    check_floor(&f, 1500, 1);
    tni_arena_free(&f.arena);
    f = on_mesh(mesh_sheet(3, 3, 4, level));
    check_floor(&f, 500, 2);
    tni_arena_free(&f.arena);
}

TEST(a_level_height_field_is_a_plane)
{
    fixture f = on_heights(27, 27, 0.15, level);
    check_floor(&f, 700, 4);
    tni_arena_free(&f.arena);
}

// ---- Solids ------------------------------------------------------------------------------------

// A box of many triangles against the same box as a convex shape.
static mesh_shape fine_box(double half, int n)
{
    mesh_shape s = {0};
    for (int side = 0; side < 6; ++side) {
        const int axis = side / 2, u = (axis + 1) % 3, v = (axis + 2) % 3, first = s.vertex_count;
        for (int i = 0; i <= n; ++i) {
            for (int j = 0; j <= n; ++j) {
                double x[3];
                x[axis] = side % 2 == 0 ? half : -half;
                x[u]    = half * (2.0 * i / n - 1);
                x[v]    = half * (2.0 * j / n - 1);
                mesh_vertex(&s, x[0], x[1], x[2]);
            }
        }
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                const int a = first + i * (n + 1) + j, b = a + n + 1;
                if (side % 2 == 0) mesh_quad(&s, a, b, b + 1, a + 1);
                else mesh_quad(&s, a, a + 1, b + 1, b);
            }
        }
    }
    return s;
}

static void check_box(int n, int rounds)
{
    const double  half  = 0.6;
    fixture       f     = on_mesh(fine_box(half, n));
    test_random   r     = {(uint64_t)n};
    const tn_host host  = tn_default_host();
    tni_arena     arena = tni_arena_make(&host);
    tni_polytope  polytope;
    const tn_vec3 size = {half, half, half};
    CHECK_OK(tni_polytope_of_box(&arena, size, &polytope));
    const tni_geometry whole = {.type = TN_SHAPE_BOX, .half_size = size, .polytope = &polytope};
    static tni_manifold_point spots[ROOM], wanted[TNI_MANIFOLD_MAX];
    int                       met = 0;
    CHECK(f.mesh.closed);
    for (int i = 0; i < rounds; ++i) {
        const tni_geometry g     = shape_of_kind(i % KINDS);
        const tni_pose     at    = {random_point(&r, 1), random_turn(&r)};
        tni_pose           pose  = {tni_add(at.x, random_point(&r, 1)), random_turn(&r)};
        const double       reach = 0.05;
        const int          more  = tni_collide_convex(&whole, &at, &g, &pose, reach, wanted);
        if (more == 0) { // apart
            CHECK_INT(touches(&f, &at, &g, &pose, reach, spots), 0);
            continue;
        }
        // Lifted until it is no deeper than 0.02.
        const double gap = least_gap(wanted, more);
        if (gap < -0.02) pose.x = tni_add_scaled(pose.x, -0.02 - gap, wanted[0].n);
        const int again = tni_collide_convex(&whole, &at, &g, &pose, reach, wanted);
        const int count = touches(&f, &at, &g, &pose, reach, spots);
        // Separated, the same. A shape through an edge of the box may be pushed along another side,
        // or only as far as the nearby triangles know.
        const double expected = least_gap(wanted, again), here = least_gap(spots, count);
        CHECK(again > 0 && count > 0);
        if (expected > 1e-3) CHECK_NEAR(here, expected, 1e-7);
        else
            CHECK(here < 0.5 * fmin(expected, 0) + fmax(expected, 0) + 1e-7 &&
                  here > 3 * fmin(expected, 0) - 0.01);
        ++met;
    }
    CHECK(met > rounds / 5);
    tni_arena_free(&arena);
    tni_arena_free(&f.arena);
}

TEST(a_box_of_triangles_is_a_box)
{
    check_box(1, 1500);
    check_box(5, 500);
}

// The distance from every triangle, by gjk.
static double brute_distance(const tni_mesh* mesh, const tni_geometry* g, const tni_pose* pose,
                             double reach, bool* apart)
{
    double         least = HUGE_VAL;
    const tn_vec3  more  = {reach, reach, reach};
    const tni_aabb box   = tni_bounds(g, pose),
                   wide  = {tni_sub(box.lower, more), tni_add(box.upper, more)};
    *apart               = true;
    for (int t = 0; t < mesh->triangle_count; ++t) {
        tn_vec3 v[3];
        for (int k = 0; k < 3; ++k) v[k] = mesh->vertices[mesh->triangles[3 * t + k]];
        const tni_aabb here = {
            tni_vec3(fmin(v[0].x, fmin(v[1].x, v[2].x)), fmin(v[0].y, fmin(v[1].y, v[2].y)),
                     fmin(v[0].z, fmin(v[1].z, v[2].z))),
            tni_vec3(fmax(v[0].x, fmax(v[1].x, v[2].x)), fmax(v[0].y, fmax(v[1].y, v[2].y)),
                     fmax(v[0].z, fmax(v[1].z, v[2].z)))};
        if (!tni_aabb_meet(&here, &wide)) continue; // further than reach
        tni_triangle_shape leaf = {.vertices = {v[0], v[1], v[2]}};
        tni_triangle_shape_make(&leaf, tni_normal_of(v));
        const tni_nearest near = tni_nearest_points(&leaf.geometry, &at_home, g, pose);
        least                  = fmin(least, near.gap);
        *apart                 = *apart && !near.deep;
    }
    return least;
}

TEST(ten_thousand_pairs_have_the_distance_of_all_triangles)
{
    fixture                   f = on_mesh(mesh_torus(1, 0.35, 12, 7));
    test_random               r = {11};
    static tni_manifold_point spots[ROOM];
    int                       met = 0, through = 0, checked = 0;
    for (int i = 0; i < 10000; ++i) {
        const tni_geometry g     = shape_of_kind(i % KINDS);
        const double       reach = 0.1, a = test_random_between(&r, -4, 4);
        tni_pose           pose = {random_point(&r, 0.65), random_turn(&r)};
        pose.x                  = tni_add(pose.x, tni_vec3(cos(a), sin(a), 0));
        const double round      = sqrt(pose.x.x * pose.x.x + pose.x.y * pose.x.y) - 1;
        if (round * round + pose.x.z * pose.x.z < 0.36 * 0.36) continue; // its middle is inside
        bool         apart;
        const int    count    = touches(&f, &at_home, &g, &pose, reach, spots);
        const double least    = least_gap(spots, count);
        const double expected = brute_distance(&f.mesh, &g, &pose, reach, &apart);
        ++checked;
        if (!apart) {
            CHECK(count > 0 && least < tni_round_radius(&g));
            ++through;
        } else if (expected <= reach) {
            CHECK_NEAR(least, expected, 1e-8);
            ++met;
        } else {
            CHECK_INT(count, 0);
        }
    }
    CHECK(met > 1500 && through > 500 && checked > 6000);
    tni_arena_free(&f.arena);
}

// ---- Edges -------------------------------------------------------------------------------------

static double valley(double x, double y)
{
    (void)y;
    return fabs(x);
}

static double hollow(double x, double y)
{
    (void)y;
    return 0.3 * fabs(x);
}

static double ridge(double x, double y)
{
    (void)y;
    return -fabs(x);
}

TEST(a_ball_in_a_valley_touches_both_sides_and_one_on_a_ridge_once)
{
    const tni_geometry        ball  = {.type = TN_SHAPE_SPHERE, .radius = 0.15};
    const double              slope = sqrt(0.5);
    static tni_manifold_point spots[ROOM];
    for (int field = 0; field < 2; ++field) {
        fixture v =
            field ? on_heights(9, 9, 0.25, valley) : on_mesh(mesh_sheet(9, 9, 0.25, valley));
        fixture  w = field ? on_heights(9, 9, 0.25, ridge) : on_mesh(mesh_sheet(9, 9, 0.25, ridge));
        tni_pose pose = {{0, 0.1, 0.15 / slope - 0.001}, {{1, 0, 0, 0, 1, 0, 0, 0, 1}}};
        CHECK_INT(touches(&v, &at_home, &ball, &pose, 0.01, spots), 2);
        for (int i = 0; i < 2; ++i) {
            CHECK_NEAR(spots[i].gap, -0.001 * slope, 1e-12);
            CHECK_NEAR(spots[i].n.z, slope, 1e-12);
        }
        pose.x.z = 0.149;
        CHECK_INT(touches(&w, &at_home, &ball, &pose, 0.01, spots), 1);
        CHECK_NEAR(spots[0].gap, -0.001, 1e-12);
        CHECK_NEAR(spots[0].n.z, 1, 1e-12);
        tni_arena_free(&v.arena);
        tni_arena_free(&w.arena);
    }
}

// A corner that points straight down, sinking into a valley: both sides push it all the way.
TEST(a_corner_in_a_valley_is_never_lost)
{
    static tni_manifold_point spots[ROOM];
    const tni_geometry        rock = shape_of_kind(1);
    const tn_vec3             half = rock.half_size;
    const tn_vec3 z = tni_normalised(half), x = tni_perpendicular(z), y = tni_cross(z, x);
    for (int field = 0; field < 2; ++field) {
        fixture v =
            field ? on_heights(9, 9, 0.25, hollow) : on_mesh(mesh_sheet(9, 9, 0.25, hollow));
        for (int i = 0; i <= 40; ++i) {
            const double depth = 0.0005 * (i - 5);
            tni_pose     pose  = {{0, 0.1, tni_norm(half) - depth}, tni_columns(x, y, z)};
            pose.R             = tni_transposed(&pose.R);
            const tn_vec3 tip  = tni_pose_point(&pose, tni_neg(half));
            CHECK_NEAR(tip.z, -depth, 1e-12);
            CHECK(touches(&v, &at_home, &rock, &pose, 0.005, spots) >= 2);
            bool left = false, right = false;
            for (int k = 0; spots[k].gap <= 0.005 && k < 2; ++k) {
                CHECK_NEAR(spots[k].gap, -depth / sqrt(1.09), 1e-9);
                left  = left || spots[k].n.x > 0.28;
                right = right || spots[k].n.x < -0.28;
            }
            CHECK(left && right);
        }
        tni_arena_free(&v.arena);
    }
}

// A box that hangs over the edge of a table touches where the edges cross.
TEST(a_box_over_the_edge_of_a_table_touches_along_it)
{
    static tni_manifold_point spots[ROOM];
    fixture                   open  = on_mesh(mesh_sheet(9, 9, 0.25, level)); // ends at x = 1
    fixture                   whole = on_mesh(fine_box(1, 7));                // top at z = 1
    const tni_geometry        g     = shape_of_kind(1);
    const tni_pose            low   = {{0, 0, -1}, {{1, 0, 0, 0, 1, 0, 0, 0, 1}}};
    for (int i = 0; i < 20; ++i) {
        const double   x = 0.86 + 0.013 * i, z = 0.2 - 0.0001;
        const tni_pose pose = {{x, 0.123, z}, {{1, 0, 0, 0, 1, 0, 0, 0, 1}}};
        for (int k = 0; k < 2; ++k) {
            const int count =
                touches(k ? &whole : &open, k ? &low : &at_home, &g, &pose, 1e-3, spots);
            double lower = HUGE_VAL, upper = -HUGE_VAL;
            CHECK_INT(count, 4);
            for (int j = 0; j < count; ++j) {
                CHECK_NEAR(spots[j].n.z, 1, 1e-12);
                CHECK_NEAR(spots[j].gap, -0.0001, 1e-12);
                lower = fmin(lower, spots[j].c2.x), upper = fmax(upper, spots[j].c2.x);
            }
            CHECK_NEAR(lower, x - 0.15, 1e-12);
            CHECK_NEAR(upper, 1, 1e-9);
        }
    }
    tni_arena_free(&open.arena);
    tni_arena_free(&whole.arena);
}

// A box on a table that is smaller than its face touches at the table's corners.
TEST(a_small_table_touches_with_its_corners)
{
    static tni_manifold_point spots[ROOM];
    const tni_geometry        g = shape_of_kind(1);
    for (int n = 1; n < 5; ++n) {
        fixture        table = on_mesh(fine_box(0.05, n));
        const tni_pose pose  = {{0.02, -0.01, 0.2499}, {{1, 0, 0, 0, 1, 0, 0, 0, 1}}};
        CHECK_INT(touches(&table, &at_home, &g, &pose, 1e-3, spots), 4);
        for (int k = 0; k < 4; ++k) {
            CHECK_NEAR(spots[k].gap, -0.0001, 1e-12);
            CHECK_NEAR(fabs(spots[k].c1.x), 0.05, 1e-12);
            CHECK_NEAR(fabs(spots[k].c1.y), 0.05, 1e-12);
        }
        tni_arena_free(&table.arena);
    }
}

// ---- Height fields -----------------------------------------------------------------------------

static double hills(double x, double y)
{
    return 0.2 * sin(3 * x) * cos(2.5 * y) + 0.1 * x;
}

TEST(a_height_field_is_the_mesh_of_its_triangles)
{
    fixture field = on_heights(17, 17, 0.2, hills), mesh = on_mesh(mesh_sheet(17, 17, 0.2, hills));
    test_random               r = {5};
    static tni_manifold_point a[ROOM], b[ROOM];
    int                       met = 0;
    for (int i = 0; i < 1000; ++i) {
        const tni_geometry g    = shape_of_kind(i % KINDS);
        tni_pose           pose = {random_point(&r, 1.2), random_turn(&r)};
        pose.x.z = hills(pose.x.x, pose.x.y) + tni_extent(&g) * test_random_between(&r, 0.6, 1.1);
        const int first  = touches(&mesh, &at_home, &g, &pose, 0.02, a);
        const int second = touches(&field, &at_home, &g, &pose, 0.02, b);
        CHECK((first > 0) == (second > 0));
        if (first == 0) continue;
        ++met;
        if (least_gap(a, first) > 0) CHECK_NEAR(least_gap(a, first), least_gap(b, second), 1e-12);
        else CHECK(least_gap(b, second) < 0);
    }
    CHECK(met > 300);
    tni_arena_free(&field.arena);
    tni_arena_free(&mesh.arena);
}

TEST(deep_shapes_are_pushed_up)
{
    fixture     flat = on_heights(17, 17, 0.2, level), rough = on_heights(17, 17, 0.2, hills);
    test_random r = {9};
    static tni_manifold_point spots[ROOM];
    for (int i = 0; i < 1000; ++i) {
        const tni_geometry g    = shape_of_kind(i % KINDS);
        tni_pose           pose = {random_point(&r, 1), random_turn(&r)};
        pose.x.z                = 0;
        const double low        = tni_bounds(&g, &pose).lower.z;
        pose.x.z                = -exp(test_random_between(&r, -5, 3));
        int count               = touches(&flat, &at_home, &g, &pose, 0.01, spots);
        CHECK(count > 0);
        for (int k = 0; k < count; ++k) CHECK(spots[k].n.z > 1 - 1e-14);
        CHECK_NEAR(least_gap(spots, count), pose.x.z + low, 1e-9);
        count = touches(&rough, &at_home, &g, &pose, 0.01, spots);
        if (pose.x.z > -0.6) continue;
        CHECK(count > 0 && least_gap(spots, count) < 0);
        for (int k = 0; k < count; ++k) CHECK_LESS(0, spots[k].n.z);
    }
    tni_arena_free(&flat.arena);
    tni_arena_free(&rough.arena);
}

// ---- Capacity ----------------------------------------------------------------------------------

TEST(too_small_a_capacity_still_counts_all_points)
{
    fixture            f = on_mesh(mesh_torus(1, 0.35, 14, 9));
    const tni_geometry g = shape_of_kind(1);
    test_random        r = {21};
    tni_manifold_point all[64], few[64];
    for (int i = 0; i < 200; ++i) {
        const double   a    = test_random_between(&r, -4, 4);
        const tni_pose pose = {{cos(a), sin(a), 0.5}, random_turn(&r)};
        const int      n    = tni_collide(surface_of(&f), &at_home, &g, &pose, 0.05, all, 64);
        const int      m    = tni_collide(surface_of(&f), &at_home, &g, &pose, 0.05, few, 64);
        CHECK_INT(n, m);
        CHECK(memcmp(all, few, sizeof(tni_manifold_point) * (size_t)n) == 0);
        CHECK(tni_collide(surface_of(&f), &at_home, &g, &pose, 0.05, few, 1) >= n);
        CHECK(n == 0 || few[0].feature <= all[0].feature + 8 * 300);
        // Exchanged: the same points seen from the other side.
        const int other = tni_collide(&g, &pose, surface_of(&f), &at_home, 0.05, few, 64);
        CHECK_INT(other, n);
        for (int k = 0; k < n; ++k) CHECK(few[k].gap == all[k].gap && few[k].n.x == -all[k].n.x);
    }
    tni_arena_free(&f.arena);
}
