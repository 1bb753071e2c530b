#include "geom/convex_hull.h"
#include "geom/mesh.h"
#include "math/rotation.h"
#include "support/failing_host.h"
#include "support/mesh_shapes.h"
#include "test.h"

typedef struct cut {
    tni_arena         arena;
    tni_mesh          mesh;
    tni_convex_pieces pieces;
} cut;

static cut cut_up(const mesh_shape* s, double tolerance, int most)
{
    const tn_host host = tn_default_host();
    cut           c    = {.arena = tni_arena_make(&host)};
    CHECK_OK(tni_mesh_create(&c.arena, s->vertices, s->vertex_count, s->triangles,
                             s->triangle_count, &c.mesh, NULL));
    CHECK_OK(tni_mesh_convex_pieces(&c.arena, &c.mesh, tolerance, most, &c.pieces));
    return c;
}

static double volume_of(const tni_convex_pieces* p, int i)
{
    const tn_host host = tn_default_host();
    tn_shape_def  def  = tn_default_shape_def(TN_SHAPE_CONVEX);
    tni_solid     solid;
    def.points      = p->points + p->start[i];
    def.point_count = p->start[i + 1] - p->start[i];
    CHECK_OK(tni_shape_solid(&host, &def, &solid));
    return solid.content;
}

static double total_volume(const tni_convex_pieces* p)
{
    double V = 0;
    for (int i = 0; i < p->count; ++i) V += volume_of(p, i);
    return V;
}

// Rotated arbitrarily, so that no axis is special.
static void turn(mesh_shape* s)
{
    const tni_mat3 R = tni_quat_matrix(tni_quat_normalised((tn_quat){0.8, 0.3, -0.2, 0.5}));
    for (int i = 0; i < s->vertex_count; ++i)
        s->vertices[i] = tni_add(tni_mul(&R, s->vertices[i]), tni_vec3(3, -1, 2));
}

// The pieces fill the solid exactly: their volumes add up to its own.
static void check_exact(mesh_shape s, int count)
{
    for (int turned = 0; turned < 2; ++turned) {
        cut c = cut_up(&s, 1e-3, 32);
        CHECK_INT(c.pieces.count, count);
        CHECK_LESS(c.pieces.error, 2e-8);
        CHECK_NEAR(total_volume(&c.pieces) / tni_mesh_solid(&c.mesh).content, 1, 1e-8);
        tni_arena_free(&c.arena);
        turn(&s);
    }
    mesh_shape_free(&s);
}

TEST(convex_meshes_stay_whole)
{
    mesh_shape box = {0};
    mesh_add_box(&box, tni_vec3(1, 2, 3), tni_vec3(1, 0.5, 0.25));
    check_exact(box, 1);
    check_exact(mesh_sphere(1, 12, 24), 1);
}

TEST(letters_are_cut_into_their_bars)
{
    static const double L[][2] = {{0, 0}, {3, 0}, {3, 1}, {1, 1}, {1, 2}, {0, 2}};
    static const double U[][2] = {{0, 0}, {3, 0}, {3, 2}, {2, 2}, {2, 1}, {1, 1}, {1, 2}, {0, 2}};
    static const double X[][2] = {{-3, -1}, {-1, -1}, {-1, -3}, {1, -3}, {1, -1}, {3, -1},
                                  {3, 1},   {1, 1},   {1, 3},   {-1, 3}, {-1, 1}, {-3, 1}};
    check_exact(mesh_prism(L, 6, 0.4), 2);
    check_exact(mesh_prism(U, 8, 0.4), 3);
    check_exact(mesh_prism(X, 12, 0.4), 3);
}

TEST(inside_out_is_cut_the_same)
{
    static const double U[][2] = {{0, 0}, {3, 0}, {3, 2}, {2, 2}, {2, 1}, {1, 1}, {1, 2}, {0, 2}};
    mesh_shape          s      = mesh_prism(U, 8, 0.4);
    for (int t = 0; t < s.triangle_count; ++t) {
        const int a            = s.triangles[3 * t];
        s.triangles[3 * t]     = s.triangles[3 * t + 1];
        s.triangles[3 * t + 1] = a;
    }
    check_exact(s, 3);
}

// Points of the surface, sampled again: each inside some piece, none deeper than the error.
static double depth_in(const tni_convex_pieces* p, tn_vec3 x)
{
    // The depth of x in the hull of a piece, by its triangles of three points each: all pairs of
    // directions would be needed for a hull; support over many directions bounds it from above.
    double deepest = -HUGE_VAL;
    for (int i = 0; i < p->count; ++i) {
        double depth = HUGE_VAL;
        for (int k = 0; k < 2000; ++k) {
            const double  z = 1 - (2 * k + 1) / 2000.0, a = 2.399963229728653 * k;
            const double  s = sqrt(1 - z * z);
            const tn_vec3 n = {s * cos(a), s * sin(a), z};
            double        h = -HUGE_VAL;
            for (int j = p->start[i]; j < p->start[i + 1]; ++j)
                h = fmax(h, tni_dot(n, p->points[j]));
            depth = fmin(depth, h - tni_dot(n, x));
        }
        deepest = fmax(deepest, depth);
    }
    return deepest;
}

TEST(a_ring_is_cut_until_within_tolerance)
{
    mesh_shape s      = mesh_torus(1, 0.3, 24, 10);
    double     before = HUGE_VAL;
    for (int k = 0; k < 2; ++k) {
        const double tolerance = k == 0 ? 0.1 : 0.04;
        cut          c         = cut_up(&s, tolerance, 64);
        CHECK(c.pieces.error <= tolerance);
        CHECK(c.pieces.count >= 4 && c.pieces.count <= (k == 0 ? 12 : 24));
        const double excess = total_volume(&c.pieces) / tni_mesh_solid(&c.mesh).content;
        CHECK_LESS(0.999999, excess);
        CHECK_LESS(excess, k == 0 ? 1.25 : 1.2);
        CHECK_LESS(excess, before);
        before = excess;
        // Every vertex of the ring is on or in some piece, none deeper than the error. Directions
        // are 0.06 apart: that makes depths up to 0.002 of the size too large.
        for (int i = 0; i < c.mesh.vertex_count; i += 17) {
            const double depth = depth_in(&c.pieces, c.mesh.vertices[i]);
            CHECK_LESS(-1e-9, depth);
            CHECK_LESS(depth, tolerance + 5e-3);
        }
        tni_arena_free(&c.arena);
    }
    mesh_shape_free(&s);
}

// Unit cubes of a lattice, each side that has no neighbour as two triangles.
static mesh_shape cubes(int n, bool (*is_filled)(int x, int y, int z))
{
    mesh_shape s = {0};
    for (int i = 0; i < n * n * n; ++i) {
        const int at[3] = {i % n, i / n % n, i / n / n};
        for (int side = 0; is_filled(at[0], at[1], at[2]) && side < 6; ++side) {
            const int axis = side / 2, u = (axis + 1) % 3, v = (axis + 2) % 3, up = side % 2;
            int       next[3] = {at[0], at[1], at[2]};
            next[axis] += up ? 1 : -1;
            if (is_filled(next[0], next[1], next[2])) continue;
            const int first = s.vertex_count;
            for (int k = 0; k < 4; ++k) {
                double x[3] = {at[0], at[1], at[2]};
                x[axis] += up;
                x[u] += k == 1 || k == 2;
                x[v] += k >= 2;
                mesh_vertex(&s, x[0], x[1], x[2]);
            }
            if (up) mesh_quad(&s, first, first + 1, first + 2, first + 3);
            else mesh_quad(&s, first, first + 3, first + 2, first + 1);
        }
    }
    return s;
}

// A block with two tunnels that pass each other: cuts meet inside it.
static bool is_block(int x, int y, int z)
{
    if (x < 0 || y < 0 || z < 0 || x > 4 || y > 4 || z > 4) return false;
    return !(x == 1 && z == 3) && !(x == 3 && y == 1);
}

static bool is_in_piece(const tni_hull* hull, const tn_vec3* points, tn_vec3 x)
{
    for (int f = 0; f < hull->face_count; ++f) {
        if (!hull->faces[f].alive) continue;
        const int*    v = hull->faces[f].vertex;
        const tn_vec3 a = points[v[0]];
        const tn_vec3 n = tni_cross(tni_sub(points[v[1]], a), tni_sub(points[v[2]], a));
        if (tni_dot(n, tni_sub(x, a)) > 1e-9) return false;
    }
    return true;
}

// Points of a fine grid are in some piece if they are in the block, in none if they are not.
TEST(corners_where_cuts_meet_inside_are_kept)
{
    mesh_shape    s    = cubes(5, is_block);
    cut           c    = cut_up(&s, 1e-3, 64);
    const tn_host host = tn_default_host();
    static bool   in[8000];
    memset(in, 0, sizeof in);
    CHECK_NEAR(tni_mesh_solid(&c.mesh).content, 125 - 5 - 5, 1e-12);
    CHECK_LESS(c.pieces.error, 1e-7);
    for (int p = 0; p < c.pieces.count; ++p) {
        const tn_vec3* points = c.pieces.points + c.pieces.start[p];
        tni_hull       hull;
        CHECK_OK(tni_hull_create(&host, points, c.pieces.start[p + 1] - c.pieces.start[p], &hull));
        for (int i = 0; i < 8000; ++i) {
            const tn_vec3 x = {(i % 20 + 0.5) / 4, (i / 20 % 20 + 0.4) / 4, (i / 400 + 0.7) / 4};
            in[i]           = in[i] || is_in_piece(&hull, points, x);
        }
        tni_hull_free(&hull);
    }
    for (int i = 0; i < 8000; ++i)
        CHECK(in[i] == is_block(i % 20 / 4, i / 20 % 20 / 4, i / 400 / 4));
    tni_arena_free(&c.arena);
    mesh_shape_free(&s);
}

TEST(no_more_pieces_than_asked_for)
{
    mesh_shape s = mesh_torus(1, 0.3, 24, 10);
    cut        c = cut_up(&s, 1e-3, 5);
    CHECK(c.pieces.count <= 5);
    CHECK_LESS(1e-3, c.pieces.error);
    tni_arena_free(&c.arena);
    c = cut_up(&s, 1e-3, 0);
    CHECK_INT(c.pieces.count, 1);
    CHECK_NEAR(c.pieces.error, 0.7, 0.02); // the middle of the hole is as far from the surface
    tni_arena_free(&c.arena);
    mesh_shape_free(&s);
}

// Eight triangles through each other: no number of pieces is close. Unlimited, it is 1e9 tests.
TEST(a_surface_that_crosses_itself_takes_bounded_work)
{
    static const double at[6][3] = {{0.17, 0.6, -0.72},   {-0.38, -0.15, -0.2},
                                    {0.59, -0.1, 0.78},   {0.59, 0.32, -0.24},
                                    {0.41, -0.002, -0.6}, {0.92, -0.23, -0.26}};
    static const int    of[8][3] = {{0, 2, 4}, {2, 1, 4}, {1, 3, 4}, {3, 0, 4},
                                    {2, 0, 5}, {1, 2, 5}, {3, 1, 5}, {0, 3, 5}};
    mesh_shape          s        = {0};
    for (int i = 0; i < 6; ++i) mesh_vertex(&s, at[i][0], at[i][1], at[i][2]);
    for (int i = 0; i < 8; ++i) mesh_triangle(&s, of[i][0], of[i][1], of[i][2]);
    cut c = cut_up(&s, 0.03, 256);
    CHECK(c.mesh.closed);
    CHECK_LESS(0.03, c.pieces.error);
    CHECK_LESS((double)c.pieces.work, 7e7); // 5e7, and the last step's excess
    tni_arena_free(&c.arena);
    mesh_shape_free(&s);
}

TEST(no_memory_is_an_error_and_leaks_nothing)
{
    static const double L[][2] = {{0, 0}, {3, 0}, {3, 1}, {1, 1}, {1, 2}, {0, 2}};
    failing_host        f      = failing_host_make();
    const tn_host       host   = failing_host_of(&f);
    mesh_shape          s      = mesh_prism(L, 6, 0.4);
    for (int n = 1;; n += 1 + n / 8) {
        tni_arena         arena = tni_arena_make(&host);
        tni_mesh          mesh;
        tni_convex_pieces pieces;
        failing_host_rewind(&f, 0);
        CHECK_OK(tni_mesh_create(&arena, s.vertices, s.vertex_count, s.triangles, s.triangle_count,
                                 &mesh, NULL));
        failing_host_rewind(&f, n);
        const tn_result result = tni_mesh_convex_pieces(&arena, &mesh, 1e-3, 8, &pieces);
        CHECK(result == (f.refused > 0 ? TN_ERR_MEMORY : TN_OK));
        tni_arena_free(&arena);
        CHECK_INT(f.live_blocks, 0);
        if (f.refused == 0) break;
    }
    mesh_shape_free(&s);
}
