#include "geom/mesh.h"
#include "support/failing_host.h"
#include "support/mesh_shapes.h"
#include "test.h"

static const double pi = 3.14159265358979323846;

typedef struct made {
    mesh_shape shape;
    tni_arena  arena;
    tni_mesh   mesh;
} made;

static made make(mesh_shape shape)
{
    const tn_host host = tn_default_host();
    made          m    = {.shape = shape, .arena = tni_arena_make(&host)};
    tn_why        why  = {0};
    CHECK_OK(tni_mesh_create(&m.arena, shape.vertices, shape.vertex_count, shape.triangles,
                             shape.triangle_count, &m.mesh, &why));
    return m;
}

static void unmake(made* m)
{
    tni_arena_free(&m->arena);
    mesh_shape_free(&m->shape);
}

static mesh_shape box_at(tn_vec3 m, tn_vec3 half)
{
    mesh_shape s = {0};
    mesh_add_box(&s, m, half);
    return s;
}

// Triangles that share no vertices, as in files of triangles.
static mesh_shape torn(mesh_shape s)
{
    mesh_shape t = {0};
    for (int i = 0; i < 3 * s.triangle_count; ++i) {
        const tn_vec3 v = s.vertices[s.triangles[i]];
        mesh_vertex(&t, v.x, v.y, v.z);
        if (i % 3 == 2) mesh_triangle(&t, i - 2, i - 1, i);
    }
    mesh_shape_free(&s);
    return t;
}

// ---- Mass properties ---------------------------------------------------------------------------

static void check_solid(const tni_solid* s, double V, tn_vec3 centre, tn_vec3 inertia,
                        double relative)
{
    const double size = sqrt((inertia.x + inertia.y + inertia.z) / V) + tni_norm(centre);
    CHECK_NEAR(s->content / V, 1, relative);
    CHECK_NEAR(tni_norm(tni_sub(s->centre, centre)) / size, 0, relative);
    for (int k = 0; k < 3; ++k)
        CHECK_NEAR(s->inertia[k] / (V * size * size), tni_at(inertia, k) / (V * size * size),
                   relative);
    for (int k = 3; k < 6; ++k) CHECK_NEAR(s->inertia[k] / (V * size * size), 0, relative);
}

TEST(a_box_has_the_moments_of_a_box_wherever_it_is)
{
    const tn_vec3 places[] = {{0, 0, 0}, {3, -7, 11}, {-1e6, 2e6, 1e5}};
    const tn_vec3 half     = {0.5, 1, 2};
    for (int i = 0; i < 3; ++i) {
        made            m = make(torn(box_at(places[i], half)));
        const tni_solid s = tni_mesh_solid(&m.mesh);
        CHECK(m.mesh.closed);
        CHECK_INT(m.mesh.vertex_count, 8);
        CHECK_INT(m.mesh.triangle_count, 12);
        // Far away the vertices themselves are rounded: 1e6 of size 1 leave 1e-10.
        check_solid(&s, 8, places[i], tni_vec3(8 * 5 / 3.0, 8 * 4.25 / 3, 8 * 1.25 / 3),
                    i < 2 ? 1e-14 : 1e-9);
        unmake(&m);
    }
}

TEST(inside_out_counts_as_if_it_were_not)
{
    mesh_shape s = box_at(tni_vec3(1, 2, 3), tni_vec3(0.5, 1, 2));
    for (int t = 0; t < s.triangle_count; ++t) {
        const int a            = s.triangles[3 * t];
        s.triangles[3 * t]     = s.triangles[3 * t + 1];
        s.triangles[3 * t + 1] = a;
    }
    made            m     = make(s);
    const tni_solid solid = tni_mesh_solid(&m.mesh);
    check_solid(&solid, 8, tni_vec3(1, 2, 3), tni_vec3(8 * 5 / 3.0, 8 * 4.25 / 3, 8 * 1.25 / 3),
                1e-14);
    unmake(&m);
}

// Vertices on the surface: content and inertia converge with the square of the spacing.
TEST(a_sphere_and_a_torus_converge_with_second_order)
{
    double before[4] = {0};
    for (int level = 0; level < 3; ++level) {
        const int       n      = 16 << level;
        made            ball   = make(mesh_sphere(2, n, 2 * n));
        made            ring   = make(mesh_torus(1.5, 0.4, 2 * n, n));
        const tni_solid a      = tni_mesh_solid(&ball.mesh);
        const tni_solid b      = tni_mesh_solid(&ring.mesh);
        const double    V      = 2 * pi * pi * 1.5 * 0.16;
        const double    now[4] = {1 - a.content / (4.0 / 3 * pi * 8),
                                  1 - a.inertia[0] / (1.6 * 4.0 / 3 * pi * 8), 1 - b.content / V,
                                  1 - b.inertia[2] / (V * (1.5 * 1.5 + 0.75 * 0.16))};
        CHECK(ball.mesh.closed && ring.mesh.closed);
        CHECK_NEAR(tni_norm(a.centre) + tni_norm(b.centre), 0, 1e-14);
        for (int k = 0; k < 4; ++k) {
            CHECK_LESS(0, now[k]);
            if (level > 0) CHECK_NEAR(before[k] / now[k], 4, 0.2);
            before[k] = now[k];
        }
        unmake(&ball);
        unmake(&ring);
    }
    CHECK_LESS(before[0], 2e-3);
}

TEST(a_shape_of_a_scene_has_the_moments_of_its_mesh)
{
    mesh_shape    s    = box_at(tni_vec3(1, 2, 3), tni_vec3(0.5, 1, 2));
    tn_shape_def  def  = tn_default_shape_def(TN_SHAPE_MESH);
    const tn_host host = tn_default_host();
    tni_solid     solid;
    def.vertices       = s.vertices;
    def.vertex_count   = s.vertex_count;
    def.triangles      = s.triangles;
    def.triangle_count = s.triangle_count;
    CHECK_OK(tni_shape_solid(&host, &def, &solid));
    check_solid(&solid, 8, tni_vec3(1, 2, 3), tni_vec3(8 * 5 / 3.0, 8 * 4.25 / 3, 8 * 1.25 / 3),
                1e-14);
    def.triangle_count = 11;
    CHECK_OK(tni_shape_solid(&host, &def, &solid));
    CHECK(solid.content == 0);
    s.triangles[4] = 8;
    CHECK_INT(tni_shape_solid(&host, &def, &solid), TN_ERR_MODEL);
    mesh_shape_free(&s);
}

// ---- The surface -------------------------------------------------------------------------------

static bool has_edge(const tni_mesh* m, int t, int a, int b)
{
    for (int k = 0; k < 3; ++k) {
        if (m->triangles[3 * t + k] == a && m->triangles[3 * t + (k + 1) % 3] == b) return true;
    }
    return false;
}

TEST(neighbours_share_an_edge_the_other_way_round)
{
    made m = make(torn(mesh_torus(1, 0.3, 20, 11)));
    CHECK(m.mesh.closed);
    CHECK_INT(m.mesh.vertex_count, 220);
    for (int e = 0; e < 3 * m.mesh.triangle_count; ++e) {
        const int a = m.mesh.triangles[e], b = m.mesh.triangles[e % 3 == 2 ? e - 2 : e + 1];
        const int other = m.mesh.neighbour[e];
        CHECK(other >= 0 && has_edge(&m.mesh, other, b, a));
    }
    unmake(&m);
}

TEST(missing_triangles_leave_it_open)
{
    mesh_shape s = box_at(tni_vec3(0, 0, 0), tni_vec3(1, 1, 1));
    --s.triangle_count;
    made m = make(s);
    CHECK(!m.mesh.closed);
    CHECK(tni_mesh_solid(&m.mesh).content == 0);
    int borders = 0;
    for (int e = 0; e < 3 * m.mesh.triangle_count; ++e) borders += m.mesh.neighbour[e] < 0;
    CHECK_INT(borders, 3);
    unmake(&m);
    s = box_at(tni_vec3(0, 0, 0), tni_vec3(1, 1, 1));
    // One triangle reversed: there is no consistent outside.
    const int a    = s.triangles[0];
    s.triangles[0] = s.triangles[1];
    s.triangles[1] = a;
    m              = make(s);
    CHECK(!m.mesh.closed);
    unmake(&m);
}

TEST(triangles_without_area_are_left_out_and_seams_stay_closed)
{
    // The top of the box is cut at a point on the edge between vertices 4 and 5; the side is not. A
    // triangle without area fills the seam.
    mesh_shape s = box_at(tni_vec3(0, 0, 0), tni_vec3(1, 1, 1));
    const int  m = mesh_vertex(&s, 0.25, -1, 1);
    CHECK(s.triangles[3 * 2] == 4 && s.triangles[3 * 2 + 1] == 5 && s.triangles[3 * 2 + 2] == 7);
    s.triangles[3 * 2] = m; // (m, 5, 7) and (4, m, 7) in place of (4, 5, 7)
    mesh_triangle(&s, 4, m, 7);
    mesh_triangle(&s, 4, 5, m); // the seam
    mesh_triangle(&s, 3, 3, 5);
    made            made_box = make(s);
    const tni_solid solid    = tni_mesh_solid(&made_box.mesh);
    CHECK_INT(made_box.mesh.triangle_count, 13);
    CHECK(made_box.mesh.closed);
    CHECK_NEAR(solid.content, 8, 1e-14);
    unmake(&made_box);
}

TEST(bad_meshes_are_refused_with_a_reason)
{
    const tn_host host        = tn_default_host();
    tni_arena     arena       = tni_arena_make(&host);
    tn_vec3       vertices[4] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {2, 0, 0}};
    int           index[6]    = {0, 1, 2, 0, 1, 4};
    tni_mesh      mesh;
    tn_why        why = {0};
    CHECK_INT(tni_mesh_create(&arena, vertices, 4, index, 2, &mesh, &why), TN_ERR_MODEL);
    CHECK_TEXT(why.text, "triangle 1 of the mesh names vertex 4 of 4");
    index[5] = 3; // on one line
    CHECK_INT(tni_mesh_create(&arena, vertices, 4, index + 3, 1, &mesh, &why), TN_ERR_MODEL);
    CHECK_TEXT(why.text, "the mesh has no triangle with an area");
    CHECK_INT(tni_mesh_create(&arena, vertices, 4, index, 0, &mesh, &why), TN_ERR_MODEL);
    vertices[3].y = HUGE_VAL;
    CHECK_INT(tni_mesh_create(&arena, vertices, 4, index, 1, &mesh, &why), TN_ERR_MODEL);
    CHECK_TEXT(why.text, "vertex 3 of the mesh is not finite");
    tni_arena_free(&arena);
}

TEST(no_memory_is_an_error_and_leaks_nothing)
{
    failing_host  f    = failing_host_make();
    const tn_host host = failing_host_of(&f);
    mesh_shape    s    = mesh_torus(1, 0.3, 20, 11);
    for (int n = 1;; ++n) {
        failing_host_rewind(&f, n);
        tni_arena       arena = tni_arena_make(&host);
        tni_mesh        mesh;
        const tn_result result = tni_mesh_create(&arena, s.vertices, s.vertex_count, s.triangles,
                                                 s.triangle_count, &mesh, NULL);
        CHECK(result == (f.refused > 0 ? TN_ERR_MEMORY : TN_OK));
        tni_arena_free(&arena);
        CHECK_INT(f.live_blocks, 0);
        if (f.refused == 0) break;
    }
    mesh_shape_free(&s);
}

// ---- Queries -----------------------------------------------------------------------------------

static tni_aabb box_of(const tni_mesh* m, int t)
{
    tn_vec3 l = m->vertices[m->triangles[3 * t]], u = l;
    for (int k = 1; k < 3; ++k) {
        const tn_vec3 v = m->vertices[m->triangles[3 * t + k]];
        l               = tni_vec3(fmin(l.x, v.x), fmin(l.y, v.y), fmin(l.z, v.z));
        u               = tni_vec3(fmax(u.x, v.x), fmax(u.y, v.y), fmax(u.z, v.z));
    }
    return (tni_aabb){l, u};
}

// Random sizes over many decades, so that the tree is unbalanced.
static mesh_shape dust(test_random* r, int count)
{
    mesh_shape s = {0};
    for (int t = 0; t < count; ++t) {
        const double size = exp(test_random_between(r, -9, 0)),
                     at   = exp(test_random_between(r, -9, 1));
        for (int k = 0; k < 3; ++k)
            mesh_vertex(&s, at + size * test_random_unit(r), at * at + size * test_random_unit(r),
                        size * test_random_unit(r));
        mesh_triangle(&s, 3 * t, 3 * t + 1, 3 * t + 2);
    }
    return s;
}

typedef struct visited {
    uint8_t times[8000];
    int     count;
} visited;

static void count_visit(void* user, int triangle)
{
    visited* v = user;
    ++v->times[triangle];
    ++v->count;
}

TEST(the_tree_finds_what_a_look_at_every_triangle_finds)
{
    test_random r = {7};
    made        m = make(dust(&r, 3000));
    for (int i = 0; i < 300; ++i) {
        const double size    = exp(test_random_between(&r, -8, 0)),
                     at      = exp(test_random_between(&r, -9, 1));
        const tn_vec3  p     = {at, at * at, test_random_unit(&r) * size};
        const tni_aabb box   = {p, tni_add(p, tni_vec3(size, size * test_random_unit(&r), size))};
        visited        found = {.count = 0};
        tni_mesh_visit(&m.mesh, &box, count_visit, &found);
        for (int t = 0; t < m.mesh.triangle_count; ++t) {
            const tni_aabb here = box_of(&m.mesh, t);
            CHECK_INT(found.times[t], tni_aabb_meet(&here, &box));
        }
    }
    unmake(&m);
}

TEST(triangles_in_one_place_make_a_tree_that_is_not_deep)
{
    mesh_shape s = {0};
    for (int k = 0; k < 3; ++k) mesh_vertex(&s, k == 1, k == 2, 0);
    for (int t = 0; t < 5000; ++t) mesh_triangle(&s, 0, 1, 2);
    made           m     = make(s);
    const tni_aabb box   = {{0, 0, 0}, {1, 1, 1}};
    visited        found = {.count = 0};
    tni_mesh_visit(&m.mesh, &box, count_visit, &found);
    CHECK_INT(found.count, 5000);
    unmake(&m);
}
