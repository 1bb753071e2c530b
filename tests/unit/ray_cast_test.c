#include "test.h"

#include "geom/gjk.h"
#include "geom/height_field.h"
#include "geom/mesh.h"
#include "geom/ray_cast.h"

#ifdef TENON_TEST_LIGHT
enum { RAYS = 1000, MOTIONS = 20 };
#else
enum { RAYS = 10000, MOTIONS = 200 };
#endif

static tn_vec3 random_vector(test_random* r, double size)
{
    const double x = test_random_between(r, -size, size), y = test_random_between(r, -size, size);
    return (tn_vec3){x, y, test_random_between(r, -size, size)};
}

static tni_mat3 random_turn(test_random* r)
{
    return tni_quat_matrix(tni_quat_exp(random_vector(r, 3)));
}

// ---- Shapes by what is inside ------------------------------------------------------------------

// Shapes of each convex type, of sizes about 1; the convex one is the octahedron
// |x| / 1.2 + |y| / 0.7 + |z| / 0.9 <= 1.
typedef struct shelf {
    tni_arena    arena;
    tni_polytope box, octahedron;
    tni_geometry shapes[6];
} shelf;

static const tn_vec3 octahedron_half = {1.2, 0.7, 0.9};

static void shelf_make(shelf* s)
{
    const tn_host host = tn_default_host();
    const tn_vec3 h = octahedron_half, half = {0.5, 0.8, 0.3};
    const tn_vec3 points[6] = {{h.x, 0, 0},  {-h.x, 0, 0}, {0, h.y, 0},
                               {0, -h.y, 0}, {0, 0, h.z},  {0, 0, -h.z}};
    s->arena                = tni_arena_make(&host);
    CHECK_OK(tni_polytope_of_box(&s->arena, half, &s->box));
    CHECK_OK(tni_polytope_create(&s->arena, points, 6, &s->octahedron));
    s->shapes[0] = (tni_geometry){.type = TN_SHAPE_SPHERE, .radius = 0.8};
    s->shapes[1] = (tni_geometry){.type = TN_SHAPE_BOX, .half_size = half, .polytope = &s->box};
    s->shapes[2] = (tni_geometry){.type = TN_SHAPE_CAPSULE, .radius = 0.3, .half_length = 0.7};
    s->shapes[3] = (tni_geometry){.type = TN_SHAPE_CYLINDER, .radius = 0.6, .half_length = 0.4};
    s->shapes[4] = (tni_geometry){.type = TN_SHAPE_CONVEX, .polytope = &s->octahedron};
    s->shapes[5] = (tni_geometry){.type = TN_SHAPE_PLANE};
}

// Below 0: how deep inside, more or less. In the shape's frame.
static double depth_of(const tni_geometry* g, tn_vec3 p)
{
    const tn_vec3 h = g->half_size;
    switch (g->type) {
    case TN_SHAPE_SPHERE: return tni_norm(p) - g->radius;
    case TN_SHAPE_BOX: return fmax(fabs(p.x) - h.x, fmax(fabs(p.y) - h.y, fabs(p.z) - h.z));
    case TN_SHAPE_CAPSULE:
        p.z -= fmax(-g->half_length, fmin(g->half_length, p.z));
        return tni_norm(p) - g->radius;
    case TN_SHAPE_CYLINDER: return fmax(hypot(p.x, p.y) - g->radius, fabs(p.z) - g->half_length);
    case TN_SHAPE_CONVEX:
        return fabs(p.x) / octahedron_half.x + fabs(p.y) / octahedron_half.y +
               fabs(p.z) / octahedron_half.z - 1;
    default: return p.z;
    }
}

static double depth_at(const tni_geometry* g, const tni_pose* pose, tn_vec3 p)
{
    return depth_of(g, tni_mul_t(&pose->R, tni_sub(p, pose->x)));
}

// Marches along a ray; true when some step is inside, *t: the first of them.
static bool march(const tni_geometry* g, const tni_pose* pose, tn_vec3 from, tn_vec3 d, double most,
                  double* t)
{
    for (int i = 0; i <= 200; ++i) {
        *t = most * i / 200;
        if (depth_at(g, pose, tni_add_scaled(from, *t, d)) < -1e-12) return true;
    }
    return false;
}

// The hit is on the surface, the normal leads out of it, and nothing lies before it.
static bool hit_is_right(const tni_geometry* g, const tni_pose* pose, tn_vec3 from, tn_vec3 d,
                         const tni_hit* hit)
{
    const tn_vec3 p = tni_add_scaled(from, hit->t, d);
    const double  e = 1e-6;
    double        t;
    if (fabs(depth_at(g, pose, p)) > 1e-12) return false;
    if (fabs(tni_norm(hit->n) - 1) > 1e-12 || tni_dot(hit->n, d) > 1e-9) return false;
    if (!(depth_at(g, pose, tni_add_scaled(p, e, hit->n)) > 0)) return false;
    // No random ray meets an edge within 1e-6.
    if (!(depth_at(g, pose, tni_add_scaled(p, -e, hit->n)) < 0)) return false;
    return !march(g, pose, from, d, hit->t, &t);
}

TEST(rays_meet_convex_shapes_and_planes_where_marching_does)
{
    shelf s;
    shelf_make(&s);
    for (int k = 0; k < 6; ++k) {
        test_random r     = {1 + (uint64_t)k};
        int         wrong = 0, hits = 0, inside = 0;
        for (int i = 0; i < RAYS; ++i) {
            const tni_pose pose = {random_vector(&r, 3), random_turn(&r)};
            const tn_vec3  from = tni_add(pose.x, random_vector(&r, i % 4 == 0 ? 0.5 : 3));
            const tn_vec3  goal = tni_add(pose.x, random_vector(&r, 1));
            const tn_vec3  d    = tni_scale(test_random_between(&r, 0.1, 10), tni_sub(goal, from));
            const double   most = 3;
            const bool     starts_inside = depth_at(&s.shapes[k], &pose, from) <= 0;
            tni_hit        hit;
            double         t;
            const bool     found = tni_cast_ray(&s.shapes[k], &pose, from, d, most, &hit);
            hits += found, inside += starts_inside;
            if (found) wrong += starts_inside || !hit_is_right(&s.shapes[k], &pose, from, d, &hit);
            else wrong += !starts_inside && march(&s.shapes[k], &pose, from, d, most, &t);
        }
        CHECK_INT(wrong, 0);
        CHECK(hits > RAYS / 10 && inside > RAYS / 100);
    }
    tni_arena_free(&s.arena);
}

TEST(rays_have_ends_units_and_directions)
{
    shelf          s;
    tni_hit        hit;
    const tni_pose pose = {{5, 0, 0}, tni_identity3()};
    const tn_vec3  from = {0, 0, 0}, ahead = {1, 0, 0}, none = {0, 0, 0}, bad = {NAN, 0, 0};
    shelf_make(&s);
    for (int k = 0; k < 5; ++k) {
        CHECK(tni_cast_ray(&s.shapes[k], &pose, from, ahead, HUGE_VAL, &hit));
        const double t = hit.t;
        CHECK(t > 3 && t < 5 && hit.triangle == -1);
        CHECK(tni_cast_ray(&s.shapes[k], &pose, from, ahead, t, &hit) && hit.t == t);
        CHECK(!tni_cast_ray(&s.shapes[k], &pose, from, ahead, 0.999 * t, &hit));
        CHECK(tni_cast_ray(&s.shapes[k], &pose, from, tni_scale(1e-180, ahead), 1e190, &hit));
        CHECK_NEAR(hit.t, 1e180 * t, 1e165);
        CHECK(tni_cast_ray(&s.shapes[k], &pose, from, tni_scale(1e200, ahead), 1, &hit));
        CHECK_NEAR(hit.t, 1e-200 * t, 1e-215);
        CHECK(!tni_cast_ray(&s.shapes[k], &pose, from, tni_neg(ahead), HUGE_VAL, &hit));
        CHECK(!tni_cast_ray(&s.shapes[k], &pose, from, none, HUGE_VAL, &hit));
        CHECK(!tni_cast_ray(&s.shapes[k], &pose, pose.x, none, HUGE_VAL, &hit));
        CHECK(!tni_cast_ray(&s.shapes[k], &pose, from, bad, HUGE_VAL, &hit));
        CHECK(!tni_cast_ray(&s.shapes[k], &pose, bad, ahead, HUGE_VAL, &hit));
        CHECK(!tni_cast_ray(&s.shapes[k], &pose, from, ahead, NAN, &hit));
        CHECK(!tni_cast_ray(&s.shapes[k], &pose, from, ahead, -1, &hit));
    }
    tni_arena_free(&s.arena);
}

// At 1e-9 within the silhouette a ray hits, at 1e-9 outside it does not; along a face as well.
TEST(rays_that_graze)
{
    shelf          s;
    tni_hit        hit;
    test_random    r    = {3};
    const tni_pose pose = {{0, 0, 0}, tni_identity3()};
    shelf_make(&s);
    for (int i = 0; i < 1000; ++i) { // tangents of the sphere
        const tn_vec3 n = tni_normalised(random_vector(&r, 1)), u = tni_perpendicular(n);
        for (int side = -1; side <= 1; side += 2) {
            const tn_vec3 from = tni_add_scaled(tni_scale(0.8 + side * 1e-9, n), -5, u);
            CHECK(tni_cast_ray(&s.shapes[0], &pose, from, u, 10, &hit) == (side < 0));
            if (side < 0) CHECK_NEAR(hit.t, 5, sqrt(2 * 0.8 * 1.1e-9)); // half the chord
        }
    }
    const tn_vec3 x = {1, 0, 0};
    for (int side = -1; side <= 1; side += 2) { // along faces of box, cylinder, capsule, octahedron
        const double e = side * 1e-12;
        CHECK(tni_cast_ray(&s.shapes[1], &pose, tni_vec3(-5, 0, 0.3 + e), x, 9, &hit) ==
              (side < 0));
        if (side < 0) CHECK_NEAR(hit.t, 4.5, 1e-15);
        CHECK(tni_cast_ray(&s.shapes[3], &pose, tni_vec3(-5, 0, 0.4 + e), x, 9, &hit) ==
              (side < 0));
        if (side < 0) CHECK_NEAR(hit.t, 4.4, 1e-15);
        const tn_vec3 z = {0, 0, 1};
        CHECK(tni_cast_ray(&s.shapes[3], &pose, tni_vec3(0.6 + e, 0, -2), z, 9, &hit) ==
              (side < 0));
        if (side < 0) CHECK_NEAR(hit.t, 1.6, 1e-15);
        CHECK(tni_cast_ray(&s.shapes[2], &pose, tni_vec3(0.3 + e, 0, -2), z, 9, &hit) ==
              (side < 0));
        CHECK(tni_cast_ray(&s.shapes[4], &pose, tni_vec3(-5, 0.7 + e, 0), x, 9, &hit) ==
              (side < 0));
        CHECK(tni_cast_ray(&s.shapes[5], &pose, tni_vec3(-5, 0, e), x, 9, &hit) == false);
    }
    CHECK(tni_cast_ray(&s.shapes[5], &pose, tni_vec3(0, 0, 0), tni_vec3(1, 0, -1), 9, &hit));
    CHECK(hit.t == 0 && hit.n.z == 1); // from the surface inwards, at once
    CHECK(!tni_cast_ray(&s.shapes[5], &pose, tni_vec3(0, 0, 0), tni_vec3(1, 0, 1), 9, &hit));
    tni_arena_free(&s.arena);
}

// ---- Triangles ---------------------------------------------------------------------------------

enum { RINGS = 12, SPOKES = 16, BUMPS = (RINGS - 1) * SPOKES + 2 };

// A ball with bumps, not convex: latitudes and longitudes.
typedef struct bumpy {
    tn_vec3 vertices[BUMPS];
    int     triangles[6 * (RINGS - 1) * SPOKES], count;
} bumpy;

static void add_triangle(bumpy* b, int i, int j, int k)
{
    int* t = &b->triangles[3 * b->count++];
    t[0] = i, t[1] = j, t[2] = k;
}

static bumpy bumpy_make(test_random* r)
{
    const double pi = acos(-1.0);
    bumpy        b  = {.count = 0};
    for (int i = 1; i < RINGS; ++i)
        for (int j = 0; j < SPOKES; ++j) {
            const double a = pi * i / RINGS, c = 2 * pi * j / SPOKES;
            const double size = test_random_between(r, 0.5, 1);
            b.vertices[(i - 1) * SPOKES + j] =
                (tn_vec3){size * sin(a) * cos(c), size * sin(a) * sin(c), size * cos(a)};
        }
    b.vertices[BUMPS - 2] = (tn_vec3){0, 0, 1}, b.vertices[BUMPS - 1] = (tn_vec3){0, 0, -1};
    for (int j = 0; j < SPOKES; ++j) {
        const int next = (j + 1) % SPOKES, low = (RINGS - 2) * SPOKES;
        add_triangle(&b, BUMPS - 2, j, next);
        add_triangle(&b, BUMPS - 1, low + next, low + j);
        for (int i = 0; i < RINGS - 2; ++i) {
            const int top = i * SPOKES, under = top + SPOKES;
            add_triangle(&b, top + j, under + j, under + next);
            add_triangle(&b, top + j, under + next, top + next);
        }
    }
    return b;
}

// Cramer's rule: from + t d = c0 + a e1 + b e2. Returns t, or HUGE_VAL; fronts only.
static double plain_triangle(const tn_vec3 c[3], tn_vec3 from, tn_vec3 d, double slack)
{
    const tn_vec3  e1 = tni_sub(c[1], c[0]), e2 = tni_sub(c[2], c[0]), o = tni_sub(from, c[0]);
    const tni_mat3 M   = tni_columns(e1, e2, tni_neg(d));
    const double   det = tni_det(&M);
    if (!(det > 0)) return HUGE_VAL; // det = -d . (e1 x e2)
    const tn_vec3 x  = tni_solve3(&M, o);
    const bool    in = x.x >= -slack && x.y >= -slack && x.x + x.y <= 1 + slack && x.z >= 0;
    return in ? x.z : HUGE_VAL;
}

TEST(rays_meet_a_mesh_where_trying_all_triangles_does)
{
    const tn_host host  = tn_default_host();
    tni_arena     arena = tni_arena_make(&host);
    test_random   r     = {5};
    const bumpy   b     = bumpy_make(&r);
    tni_mesh      mesh;
    CHECK_OK(tni_mesh_create(&arena, b.vertices, BUMPS, b.triangles, b.count, &mesh, NULL));
    CHECK(mesh.closed);
    const tni_geometry g     = {.type = TN_SHAPE_MESH, .mesh = &mesh};
    int                wrong = 0, hits = 0;
    for (int i = 0; i < RAYS; ++i) {
        const tni_pose pose = {random_vector(&r, 3), random_turn(&r)};
        const tn_vec3  o = random_vector(&r, i % 4 == 0 ? 0.4 : 2), goal = random_vector(&r, 1);
        const tn_vec3  from = tni_pose_point(&pose, o);
        const tn_vec3  d    = tni_mul(&pose.R, tni_sub(goal, o));
        double         best = HUGE_VAL;
        tni_hit        hit  = {0};
        for (int k = 0; k < b.count; ++k) {
            const int*    v    = &b.triangles[3 * k];
            const tn_vec3 c[3] = {b.vertices[v[0]], b.vertices[v[1]], b.vertices[v[2]]};
            best               = fmin(best, plain_triangle(c, o, tni_sub(goal, o), 0));
        }
        const bool found = tni_cast_ray(&g, &pose, from, d, 5, &hit);
        hits += found;
        wrong += found != (best <= 5) || (found && fabs(hit.t - best) > 1e-11);
        wrong += found && !(tni_dot(hit.n, d) < 0 && hit.triangle >= 0);
    }
    CHECK_INT(wrong, 0);
    CHECK(hits > RAYS / 3);
    tni_arena_free(&arena);
}

// From far outside at its vertices and at points of its edges: never through.
TEST(no_ray_slips_between_triangles)
{
    const tn_host host  = tn_default_host();
    tni_arena     arena = tni_arena_make(&host);
    test_random   r     = {6};
    const bumpy   b     = bumpy_make(&r);
    tni_mesh      mesh;
    CHECK_OK(tni_mesh_create(&arena, b.vertices, BUMPS, b.triangles, b.count, &mesh, NULL));
    const tni_geometry g      = {.type = TN_SHAPE_MESH, .mesh = &mesh};
    const tni_pose     pose   = {{0, 0, 0}, tni_identity3()};
    int                missed = 0;
    for (int i = 0; i < RAYS; ++i) {
        const int     k = test_random_int(&r, 0, b.count - 1), e = i % 3;
        const tn_vec3 a     = b.vertices[b.triangles[3 * k + e]],
                      c     = b.vertices[b.triangles[3 * k + (e + 1) % 3]];
        const double  share = i % 2 == 0 ? 0 : test_random_unit(&r);
        const tn_vec3 goal  = tni_add_scaled(tni_scale(1 - share, a), share, c);
        const tn_vec3 from  = tni_scale(3, goal); // straight towards the middle, on and inside
        tni_hit       hit;
        missed += !tni_cast_ray(&g, &pose, from, tni_sub(goal, from), 1.4, &hit);
    }
    CHECK_INT(missed, 0);
    tni_arena_free(&arena);
}

TEST(an_open_mesh_is_met_from_both_sides_and_a_closed_one_only_from_outside)
{
    const tn_host  host  = tn_default_host();
    tni_arena      arena = tni_arena_make(&host);
    const tn_vec3  v[4]  = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const int      t[12] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
    const tni_pose pose  = {{0, 0, 0}, tni_identity3()};
    const tn_vec3  up = {0, 0, 1}, down = {0, 0, -1};
    tni_mesh       mesh;
    tni_hit        hit;
    tni_geometry   g = {.type = TN_SHAPE_MESH, .mesh = &mesh};
    CHECK_OK(tni_mesh_create(&arena, v, 4, t, 1, &mesh, NULL)); // one triangle, facing down
    CHECK(tni_cast_ray(&g, &pose, tni_vec3(0.2, 0.2, -1), up, 2, &hit) && hit.n.z == -1);
    CHECK(tni_cast_ray(&g, &pose, tni_vec3(0.2, 0.2, 1), down, 2, &hit) && hit.n.z == 1);
    CHECK_OK(tni_mesh_create(&arena, v, 4, t, 4, &mesh, NULL)); // a tetrahedron
    CHECK(tni_cast_ray(&g, &pose, tni_vec3(0.2, 0.2, -1), up, 2, &hit) && hit.t == 1);
    CHECK(!tni_cast_ray(&g, &pose, tni_vec3(0.2, 0.2, 0.1), up, 2, &hit));
    CHECK(!tni_cast_ray(&g, &pose, tni_vec3(0.2, 0.2, 0.1), down, 2, &hit));
    CHECK(tni_cast_ray(&g, &pose, tni_vec3(0.2, 0.2, 2), down, 2, &hit));
    CHECK_NEAR(hit.t, 1.4, 1e-15);
    tni_arena_free(&arena);
}

enum { COLUMNS = 9, ROWS = 7 };

static tni_height_field hills(test_random* r, double* z)
{
    tni_height_field f = {COLUMNS, ROWS, 0.5, 0.7, z, HUGE_VAL, -HUGE_VAL};
    for (int i = 0; i < COLUMNS * ROWS; ++i) {
        z[i]      = test_random_between(r, -0.5, 0.5);
        f.lowest  = fmin(f.lowest, z[i]);
        f.highest = fmax(f.highest, z[i]);
    }
    return f;
}

TEST(rays_meet_a_height_field_where_trying_all_triangles_does)
{
    test_random            r = {7};
    double                 z[COLUMNS * ROWS];
    const tni_height_field f     = hills(&r, z);
    const tni_geometry     g     = {.type = TN_SHAPE_HEIGHTS, .height_field = &f};
    int                    wrong = 0, hits = 0;
    for (int i = 0; i < RAYS; ++i) {
        const tni_pose pose = {random_vector(&r, 3), random_turn(&r)};
        tn_vec3        o = random_vector(&r, 3), goal = random_vector(&r, 2);
        if (i % 5 == 0) o.z = goal.z = test_random_between(&r, -0.5, 0.5); // level
        if (i % 7 == 0) o.x = goal.x;                                      // along the grid
        if (i % 11 == 0) o.y = goal.y; // and at times straight up or down
        const tn_vec3 from = tni_pose_point(&pose, o);
        const tn_vec3 d    = tni_mul(&pose.R, tni_sub(goal, o));
        double        best = HUGE_VAL;
        tni_hit       hit  = {0};
        for (int k = 0; k < tni_height_field_triangle_count(&f); ++k) {
            tn_vec3 c[3];
            tni_height_field_triangle(&f, k, c);
            best = fmin(best, plain_triangle(c, o, tni_sub(goal, o), 0));
        }
        const double most  = i % 2 == 0 ? 1.5 : HUGE_VAL;
        const bool   found = tni_cast_ray(&g, &pose, from, d, most, &hit);
        hits += found;
        wrong += found != (best <= most && best < HUGE_VAL) ||
                 (found && fabs(hit.t - best) > 1e-10 * fmax(1, best));
    }
    CHECK_INT(wrong, 0);
    CHECK(hits > RAYS / 4);
}

// Straight down and aslant onto vertices and edges of the grid; on the border, where rounding may
// lead past it, only onto vertices straight down.
TEST(no_ray_slips_through_a_height_field)
{
    test_random            r = {8};
    double                 z[COLUMNS * ROWS];
    const tni_height_field f      = hills(&r, z);
    const tni_geometry     g      = {.type = TN_SHAPE_HEIGHTS, .height_field = &f};
    const tni_pose         pose   = {{0, 0, 0}, tni_identity3()};
    int                    missed = 0;
    for (int i = 0; i < RAYS; ++i) {
        tn_vec3 c[3];
        tni_height_field_triangle(
            &f, test_random_int(&r, 0, tni_height_field_triangle_count(&f) - 1), c);
        const double  share = i % 2 == 0 ? 0 : test_random_unit(&r);
        const tn_vec3 goal  = tni_add_scaled(tni_scale(1 - share, c[0]), share, c[1 + i % 4 / 2]);
        tn_vec3       from  = {goal.x, goal.y, 2};
        tni_hit       hit;
        const bool    border = fabs(goal.x) > 1.9999 || fabs(goal.y) > 2.0999;
        if (border && (i % 3 == 0 || share > 0)) continue;
        if (i % 3 == 0) from.x *= 0.9, from.y *= 0.9; // steeper than any hill
        missed += !tni_cast_ray(&g, &pose, from, tni_sub(goal, from), 1 + 1e-12, &hit);
    }
    CHECK_INT(missed, 0);
    tni_hit hit;
    CHECK(!tni_cast_ray(&g, &pose, tni_vec3(0.1, 0.1, -2), tni_vec3(0, 0, 1), 9, &hit)); // below
    CHECK(!tni_cast_ray(&g, &pose, tni_vec3(9, 0.1, 2), tni_vec3(0, 0, -1), 9, &hit));   // beside
}

// ---- First touch -------------------------------------------------------------------------------

static double gap_at(const tni_geometry* g1, const tni_rigid_motion* m1, const tni_geometry* g2,
                     const tni_rigid_motion* m2, double t)
{
    const tni_pose p1 = tni_rigid_motion_at(m1, t), p2 = tni_rigid_motion_at(m2, t);
    if (g1->type != TN_SHAPE_PLANE) return tni_nearest_points(g1, &p1, g2, &p2).gap;
    const tn_vec3 n   = tni_column(&p1.R, 2);
    const tn_vec3 low = tni_support(g2, tni_mul_t(&p2.R, tni_neg(n)), NULL);
    return tni_dot(n, tni_sub(tni_pose_point(&p2, low), p1.x)) - tni_round_radius(g2);
}

static tni_rigid_motion random_motion(test_random* r, tn_vec3 at, double speed, double turn)
{
    return (tni_rigid_motion){{at, random_turn(r)},
                              random_vector(r, 0.2),
                              random_vector(r, speed),
                              random_vector(r, turn)};
}

// 1: says something wrong of these two. By looking at 300 times.
static int touch_is_wrong(const tni_geometry* g1, const tni_rigid_motion* m1,
                          const tni_geometry* g2, const tni_rigid_motion* m2, double reach,
                          bool* found)
{
    double t = 0;
    *found   = tni_first_touch(g1, m1, g2, m2, reach, &t);
    if (*found && t > 0) {
        const double gap = gap_at(g1, m1, g2, m2, t);
        if (!(gap >= 0.9 * reach && gap <= reach)) return 1;
    }
    if (*found && t == 0) return !(gap_at(g1, m1, g2, m2, 0) <= reach);
    for (int i = 0; i < 300; ++i)
        if (gap_at(g1, m1, g2, m2, (*found ? t : 1) * i / 300) < 0.9 * reach) return 1;
    return 0;
}

TEST(first_touch_is_the_first_of_many_times_looked_at)
{
    shelf s;
    shelf_make(&s);
    for (int k = 0; k < 30; ++k) { // every type, planes as the first one, against every convex one
        const tni_geometry *g1 = &s.shapes[5 - k / 5], *g2 = &s.shapes[k % 5];
        test_random         r     = {20 + (uint64_t)k};
        int                 wrong = 0, hits = 0;
        for (int i = 0; i < MOTIONS / 10; ++i) {
            const double           reach = i % 2 == 0 ? 1e-3 : 0.05, turn = i % 3 == 0 ? 0 : 2;
            const tni_rigid_motion m1 = random_motion(&r, tni_vec3(0, 0, 0), 1, turn);
            tni_rigid_motion       m2 = random_motion(&r, random_vector(&r, 4), 1, turn);
            m2.move = tni_add_scaled(m2.move, -1, m2.start.x); // towards the other
            bool found;
            wrong += touch_is_wrong(g1, &m1, g2, &m2, reach, &found);
            hits += found;
        }
        CHECK_INT(wrong, 0);
        CHECK(hits > MOTIONS / 40);
    }
    tni_arena_free(&s.arena);
}

static tni_rigid_motion still(tn_vec3 at)
{
    return (tni_rigid_motion){.start = {at, tni_identity3()}};
}

// A ball of 1 mm at 1000 m/s over a sixtieth of a second through a plate of 1 cm: closed form.
TEST(a_bullet_does_not_pass_a_plate)
{
    const tn_host host  = tn_default_host();
    tni_arena     arena = tni_arena_make(&host);
    const tn_vec3 half  = {1, 1, 0.005};
    tni_polytope  box;
    CHECK_OK(tni_polytope_of_box(&arena, half, &box));
    const tni_geometry plate  = {.type = TN_SHAPE_BOX, .half_size = half, .polytope = &box};
    const tni_geometry bullet = {.type = TN_SHAPE_SPHERE, .radius = 0.0005};
    const double       way = 1000.0 / 60, reach = 1e-5;
    for (int i = 0; i < 100; ++i) {
        const double     high     = 0.01 + 0.16 * i;
        tni_rigid_motion m2       = still(tni_vec3(0.3, 0.2, high));
        double           t        = -1;
        m2.move                   = tni_vec3(0, 0, -way);
        m2.turn                   = tni_vec3(300, 200, 100); // a ball may spin as it likes
        const tni_rigid_motion m1 = still(tni_vec3(0, 0, 0));
        CHECK(tni_first_touch(&plate, &m1, &bullet, &m2, reach, &t));
        CHECK_NEAR(way * t, high - 0.0055 - reach, 0.1 * reach);
        CHECK(tni_first_touch(&bullet, &m2, &plate, &m1, reach, &t)); // the other way round
        CHECK_NEAR(way * t, high - 0.0055 - reach, 0.1 * reach);
        m2.move.z = way; // away
        CHECK(!tni_first_touch(&plate, &m1, &bullet, &m2, reach, &t));
    }
    tni_arena_free(&arena);
}

// A rod of length 2 about its middle sweeps over a ball on its circle: touch at the angle where the
// ball's centre is r1 + r2 from the rod's axis, asin((r1 + r2 + reach) / distance) before it.
TEST(a_spinning_rod_strikes_a_ball_beside_it)
{
    const tni_geometry rod  = {.type = TN_SHAPE_CAPSULE, .radius = 0.01, .half_length = 1};
    const tni_geometry ball = {.type = TN_SHAPE_SPHERE, .radius = 0.02};
    for (int i = 0; i < 100; ++i) {
        const double     reach = 1e-4, at = 0.1 + 3 * i / 100.0, far = 0.5;
        tni_rigid_motion m1       = still(tni_vec3(0, 0, 0));
        double           t        = -1;
        m1.turn                   = tni_vec3(0, 40, 0); // turns z towards x, six turns and more
        const tni_rigid_motion m2 = still(tni_vec3(far * sin(at), 0, far * cos(at)));
        CHECK(tni_first_touch(&rod, &m1, &ball, &m2, reach, &t));
        CHECK_NEAR(40 * t, at - asin((0.03 + reach) / far), 0.1 * reach / far * 1.01);
    }
}

// A mesh of a box and the box, a level height field and a plane: the same times.
TEST(first_touch_of_triangles_is_that_of_what_they_are)
{
    const tn_host host      = tn_default_host();
    tni_arena     arena     = tni_arena_make(&host);
    const tn_vec3 half      = {0.5, 0.8, 0.3};
    const int     t12[36]   = {0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4,
                               2, 6, 7, 2, 7, 3, 0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5};
    const double  level[16] = {0};
    tn_vec3       v[8];
    tni_polytope  polytope;
    tni_mesh      mesh;
    for (int i = 0; i < 8; ++i)
        v[i] =
            tni_vec3(i & 1 ? half.x : -half.x, i & 2 ? half.y : -half.y, i & 4 ? half.z : -half.z);
    CHECK_OK(tni_polytope_of_box(&arena, half, &polytope));
    CHECK_OK(tni_mesh_create(&arena, v, 8, t12, 12, &mesh, NULL));
    const tni_height_field field = {4, 4, 3, 3, level, 0, 0};
    const tni_geometry     box   = {.type = TN_SHAPE_BOX, .half_size = half, .polytope = &polytope};
    const tni_geometry     shell = {.type = TN_SHAPE_MESH, .mesh = &mesh};
    const tni_geometry     ground = {.type = TN_SHAPE_HEIGHTS, .height_field = &field};
    const tni_geometry     plane  = {.type = TN_SHAPE_PLANE};
    const tni_geometry     rod    = {.type = TN_SHAPE_CAPSULE, .radius = 0.1, .half_length = 0.4};
    test_random            r      = {40};
    int                    hits   = 0;
    for (int i = 0; i < MOTIONS; ++i) {
        const double           reach = 1e-3;
        const tni_rigid_motion m1    = random_motion(&r, tni_vec3(0, 0, 0), 0.2, i % 2);
        tni_rigid_motion       m2    = random_motion(&r, random_vector(&r, 3), 1, 3);
        double                 a = 1, b = 1;
        m2.move                = tni_add_scaled(m2.move, -1, m2.start.x);
        const bool touches_box = tni_first_touch(&box, &m1, &rod, &m2, reach, &a) && a > 0;
        if (tni_nearest_points(&box, &m1.start, &rod, &m2.start).gap > reach) {
            CHECK(touches_box == tni_first_touch(&shell, &m1, &rod, &m2, reach, &b));
            // Both within the tenth of the reach that is allowed; rates here are of order 1.
            if (touches_box) CHECK_LESS(gap_at(&box, &m1, &rod, &m2, b), 1.0001 * reach);
            if (touches_box) CHECK_LESS(0.9 * reach, gap_at(&box, &m1, &rod, &m2, b));
            hits += touches_box;
        }
        const tni_rigid_motion rest = still(tni_vec3(0, 0, 0));
        m2.start.x.z                = 1.5;
        m2.move.z                   = -1;
        if (tni_first_touch(&plane, &rest, &rod, &m2, reach, &a)) {
            CHECK(tni_first_touch(&rod, &m2, &ground, &rest, reach, &b));
            CHECK_LESS(gap_at(&plane, &rest, &rod, &m2, b), 1.0001 * reach);
            CHECK_LESS(0.9 * reach, gap_at(&plane, &rest, &rod, &m2, b));
        } else {
            CHECK(!tni_first_touch(&rod, &m2, &ground, &rest, reach, &b));
        }
    }
    CHECK(hits > MOTIONS / 4);
    tni_arena_free(&arena);
}
