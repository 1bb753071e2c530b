// Polytopes: faces, edges and neighbours are consistent, Euler's formula holds, and vertices and
// planes are those found by testing all triples of points.
#include "geom/convex_hull.h"
#include "support/brute_shapes.h"
#include "support/failing_host.h"

static const double golden = 1.6180339887498949;

/// Invariants of any polytope; tolerance relative to its extent.
static void check_polytope(const tni_polytope* p, double tolerance)
{
    tn_vec3      middle;
    const double flat    = tolerance * tni_points_extent(p->vertices, p->vertex_count, &middle);
    int          corners = 0;
    CHECK_INT(p->vertex_count - p->edge_count + p->face_count, 2);
    CHECK_INT(p->corner_count, 2 * p->edge_count);
    for (int f = 0; f < p->face_count; ++f) {
        const tni_face* face = &p->faces[f];
        const int*      c    = p->corners + face->first;
        CHECK_INT(face->first, corners);
        CHECK(face->count >= 3);
        CHECK_NEAR(tni_norm(face->n), 1, 4e-16);
        corners += face->count;
        for (int i = 0; i < p->vertex_count; ++i)
            CHECK(tni_dot(face->n, tni_sub(p->vertices[i], p->vertices[c[0]])) <= flat);
        for (int k = 0; k < face->count; ++k) {
            const tn_vec3 a = p->vertices[c[k]], b = p->vertices[c[(k + 1) % face->count]];
            const tn_vec3 d = p->vertices[c[(k + 2) % face->count]];
            CHECK_NEAR(tni_dot(face->n, a), face->offset, flat);
            const tn_vec3 turn = tni_cross(tni_sub(b, a), tni_sub(d, b));
            CHECK(tni_dot(face->n, turn) > -flat * tni_norm(tni_sub(b, a)));
        }
    }
    CHECK_INT(corners, p->corner_count);
}

static bool face_has(const tni_polytope* p, int f, int a, int b)
{
    const tni_face* face = &p->faces[f];
    for (int k = 0; k < face->count; ++k)
        if (p->corners[face->first + k] == a &&
            p->corners[face->first + (k + 1) % face->count] == b)
            return true;
    return false;
}

static int edges_at(const tni_polytope* p, int vertex)
{
    int count = 0;
    for (int e = 0; e < p->edge_count; ++e)
        count += p->edges[e].a == vertex || p->edges[e].b == vertex;
    return count;
}

static void check_edges(const tni_polytope* p)
{
    for (int e = 0; e < p->edge_count; ++e) {
        const tni_edge* edge = &p->edges[e];
        CHECK(face_has(p, edge->left, edge->a, edge->b));
        CHECK(face_has(p, edge->right, edge->b, edge->a));
        for (int d = 0; d < e; ++d) {
            const tni_edge* other = &p->edges[d];
            CHECK(edge->a != other->a || edge->b != other->b);
            CHECK(edge->a != other->b || edge->b != other->a);
        }
    }
    for (int f = 0; f < p->face_count; ++f)
        CHECK(tni_dot(p->faces[f].n, p->middle) < p->faces[f].offset);
}

static void check_counts(const tni_polytope* p, int vertices, int faces)
{
    CHECK_INT(p->vertex_count, vertices);
    CHECK_INT(p->face_count, faces);
}

static void check_whole(const tni_polytope* p, double tolerance)
{
    check_polytope(p, tolerance);
    check_edges(p);
}

// Rotates and moves points, so that no face is along an axis.
static void turn_points(test_random* r, tn_vec3* points, int count, double far)
{
    const tni_mat3 R = brute_rotation(r);
    const tn_vec3  x = brute_vector(r, far);
    for (int i = 0; i < count; ++i) points[i] = tni_add(x, tni_mul(&R, points[i]));
}

TEST(a_box_has_six_faces_however_many_points_lie_on_them)
{
    const tn_host host = tn_default_host();
    test_random   r    = {1};
    for (int turn = 0; turn < 40; ++turn) {
        tni_arena arena = tni_arena_make(&host);
        tn_vec3   points[125];
        for (int i = 0; i < 125; ++i)
            points[i] = tni_scale(turn % 4 == 3 ? 1e-6 : 1,
                                  tni_vec3(i % 5 - 2, i / 5 % 5 - 2, 3 * (i / 25 - 2)));
        if (turn > 0) turn_points(&r, points, 125, turn % 4 == 1 ? 100 : 0);
        tni_polytope p;
        CHECK_OK(tni_polytope_create(&arena, points, 125, &p));
        check_counts(&p, 8, 6);
        check_whole(&p, turn % 4 == 1 ? 1e-13 : 1e-14); // at 100 the points have lost two digits
        for (int i = 0; i < 8; ++i) {                   // in the order of the points
            const int k = (i & 1 ? 4 : 0) + (i & 2 ? 20 : 0) + (i & 4 ? 100 : 0);
            CHECK(tni_norm(tni_sub(p.vertices[i], points[k])) == 0);
        }
        tni_arena_free(&arena);
    }
}

TEST(box_and_hull_of_its_corners_agree)
{
    const tn_host host  = tn_default_host();
    tni_arena     arena = tni_arena_make(&host);
    tni_polytope  box, hull;
    CHECK_OK(tni_polytope_of_box(&arena, tni_vec3(1, 2, 3), &box));
    check_counts(&box, 8, 6);
    check_whole(&box, 0);
    CHECK(tni_norm(box.middle) == 0);
    CHECK_OK(tni_polytope_create(&arena, box.vertices, 8, &hull));
    for (int i = 0; i < 8; ++i) CHECK(tni_norm(tni_sub(box.vertices[i], hull.vertices[i])) == 0);
    for (int f = 0; f < 6; ++f) {
        int same = 0;
        for (int g = 0; g < 6; ++g)
            same += tni_norm(tni_sub(box.faces[f].n, hull.faces[g].n)) == 0 &&
                    box.faces[f].offset == hull.faces[g].offset;
        CHECK_INT(same, 1);
    }
    tni_arena_free(&arena);
}

TEST(solids_with_pentagons_and_long_prisms_keep_their_faces)
{
    const tn_host host = tn_default_host();
    test_random   r    = {2};
    for (int turn = 0; turn < 30; ++turn) {
        tni_arena    arena = tni_arena_make(&host);
        tni_polytope p;
        tn_vec3      points[80];
        int          count = 0;
        for (int i = 0; i < 8; ++i) // dodecahedron
            points[count++] = tni_vec3(i & 1 ? 1 : -1, i & 2 ? 1 : -1, i & 4 ? 1 : -1);
        for (int i = 0; i < 4; ++i) {
            const double a = (i & 1 ? 1 : -1) / golden, b = (i & 2 ? 1 : -1) * golden;
            points[count++] = tni_vec3(0, a, b);
            points[count++] = tni_vec3(a, b, 0);
            points[count++] = tni_vec3(b, 0, a);
        }
        turn_points(&r, points, count, 1);
        CHECK_OK(tni_polytope_create(&arena, points, count, &p));
        check_counts(&p, 20, 12);
        check_whole(&p, 1e-14);
        const int sides = test_random_int(&r, 3, 40);
        for (int i = 0; i < 2 * sides; ++i) {
            const double angle = 6.283185307179586 * (i / 2) / sides;
            points[i]          = tni_vec3(cos(angle), sin(angle), i % 2 == 0 ? 0.01 : -0.01);
        }
        turn_points(&r, points, 2 * sides, 1);
        CHECK_OK(tni_polytope_create(&arena, points, 2 * sides, &p));
        check_counts(&p, 2 * sides, sides + 2);
        check_whole(&p, 1e-14);
        tni_arena_free(&arena);
    }
}

// True if all points are on one side of the plane through three of them.
static bool is_face(const tn_vec3* points, int count, int a, int b, int c)
{
    const tn_vec3 n =
        tni_normalised(tni_cross(tni_sub(points[b], points[a]), tni_sub(points[c], points[a])));
    bool above = false, below = false;
    for (int i = 0; i < count; ++i) {
        if (i == a || i == b || i == c) continue;
        if (tni_dot(n, tni_sub(points[i], points[a])) > 0) above = true;
        else below = true;
    }
    return !(above && below);
}

TEST(random_polytopes_have_the_faces_that_all_triples_give)
{
    const tn_host host = tn_default_host();
    test_random   r    = {3};
    for (int turn = 0; turn < 150; ++turn) {
        tni_arena    arena = tni_arena_make(&host);
        const int    count = test_random_int(&r, 4, 24);
        const double size  = turn % 3 == 0 ? 1 : turn % 3 == 1 ? 1e-6 : 1e6;
        tn_vec3      points[24];
        tni_polytope p;
        for (int i = 0; i < count; ++i) points[i] = brute_vector(&r, size);
        CHECK_OK(tni_polytope_create(&arena, points, count, &p));
        check_whole(&p, 1e-14);
        int  faces = 0, vertices = 0, next = 0;
        bool used[24] = {false};
        for (int a = 0; a < count; ++a)
            for (int b = a + 1; b < count; ++b)
                for (int c = b + 1; c < count; ++c)
                    if (is_face(points, count, a, b, c))
                        ++faces, used[a] = used[b] = used[c] = true;
        for (int i = 0; i < count; ++i) vertices += used[i];
        check_counts(&p, vertices, faces);
        for (int i = 0; i < count; ++i) // kept as they are, in their order
            if (used[i] && next < p.vertex_count)
                CHECK(tni_norm(tni_sub(p.vertices[next++], points[i])) == 0);
        tni_arena_free(&arena);
    }
}

TEST(points_on_a_sphere_stay_apart_and_merge_nothing)
{
    const tn_host host  = tn_default_host();
    tni_arena     arena = tni_arena_make(&host);
    test_random   r     = {4};
    tn_vec3       points[600];
    tni_polytope  p;
    for (int i = 0; i < 600; ++i) points[i] = brute_unit(&r);
    CHECK_OK(tni_polytope_create(&arena, points, 600, &p));
    check_counts(&p, 600, 2 * 600 - 4);
    check_whole(&p, 2e-9); // the hull's grid
    tni_arena_free(&arena);
}

TEST(plates_needles_and_clusters_stay_closed)
{
    const tn_host host = tn_default_host();
    test_random   r    = {5};
    for (int turn = 0; turn < 200; ++turn) {
        tni_arena    arena = tni_arena_make(&host);
        tn_vec3      points[40];
        const int    count   = test_random_int(&r, 6, 40);
        const double thin[4] = {1e-3, 1e-6, 3e-8, 1e-8};
        tni_polytope p;
        for (int i = 0; i < count; ++i) {
            const tn_vec3 d = brute_vector(&r, 1);
            const double  t = thin[turn % 4];
            points[i]       = tni_vec3(d.x, turn % 8 < 4 ? d.y : t * d.y, t * d.z);
            if (turn % 5 == 0 && i % 2 == 1) // a second one nearby
                points[i] = tni_add(points[i - 1], tni_scale(3e-9, d));
        }
        turn_points(&r, points, count, 1);
        const tn_result result = tni_polytope_create(&arena, points, count, &p);
        CHECK(result == TN_OK || result == TN_ERR_MODEL);
        if (result == TN_OK) {
            CHECK_INT(p.vertex_count - p.edge_count + p.face_count, 2);
            CHECK_INT(p.corner_count, 2 * p.edge_count);
            for (int f = 0; f < p.face_count; ++f) CHECK_NEAR(tni_norm(p.faces[f].n), 1, 1e-15);
            for (int i = 0; i < p.vertex_count; ++i) CHECK(edges_at(&p, i) >= 2);
        }
        tni_arena_free(&arena);
    }
}

TEST(a_plate_as_thin_as_the_tolerance_has_two_sides)
{
    const tn_host host  = tn_default_host();
    tni_arena     arena = tni_arena_make(&host);
    tn_vec3       points[8];
    tni_polytope  p;
    int           up = 0, down = 0;
    for (int i = 0; i < 8; ++i)
        points[i] = tni_vec3(i & 1 ? 1 : -1, i & 2 ? 1 : -1, i & 4 ? 4.7e-9 : -4.7e-9);
    CHECK_OK(tni_polytope_create(&arena, points, 8, &p));
    for (int f = 0; f < p.face_count; ++f) {
        up += p.faces[f].n.z > 0.99;
        down += p.faces[f].n.z < -0.99;
    }
    CHECK_INT(up, 1);
    CHECK_INT(down, 1);
    check_counts(&p, 8, 6);
    check_edges(&p);
    tni_arena_free(&arena);
}

TEST(flat_points_and_lack_of_memory_are_reported)
{
    test_random  r = {6};
    tn_vec3      points[30];
    tni_polytope p;
    for (int i = 0; i < 30; ++i) points[i] = brute_vector(&r, 1);
    for (int n = 1;; ++n) {
        failing_host f       = failing_host_make();
        f.fail_at            = n;
        const tn_host host   = failing_host_of(&f);
        tni_arena     arena  = tni_arena_make(&host);
        tn_result     result = tni_polytope_create(&arena, points, 30, &p);
        if (result == TN_OK) result = tni_polytope_of_box(&arena, tni_vec3(1, 1, 1), &p);
        CHECK_INT(result, f.refused > 0 ? TN_ERR_MEMORY : TN_OK);
        tni_arena_free(&arena);
        CHECK_INT(f.live_blocks, 0);
        if (f.refused == 0) break;
    }
    const tn_host host  = tn_default_host();
    tni_arena     arena = tni_arena_make(&host);
    for (int i = 0; i < 30; ++i) points[i].z = 0;
    CHECK_INT(tni_polytope_create(&arena, points, 30, &p), TN_ERR_MODEL);
    CHECK_INT(tni_polytope_create(&arena, points, 3, &p), TN_ERR_MODEL);
    tni_arena_free(&arena);
}
