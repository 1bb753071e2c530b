#include "geom/convex_hull.h"
#include "geom/mass_properties.h"
#include "math/rotation.h"
#include "model/inertia.h"
#include "support/failing_host.h"
#include "test.h"

static const double pi = 3.14159265358979323846;

static tni_solid solid_of(const tn_shape_def* shape)
{
    const tn_host host = tn_default_host();
    tni_solid     solid;
    CHECK_OK(tni_shape_solid(&host, shape, &solid));
    return solid;
}

static void check_solid(const tni_solid* s, double content, tn_vec3 centre, const double inertia[6],
                        double relative)
{
    const double size = sqrt((inertia[0] + inertia[1] + inertia[2]) / content);
    CHECK_NEAR(s->content / content, 1, relative);
    CHECK_NEAR(tni_norm(tni_sub(s->centre, centre)), 0, relative * (size + tni_norm(centre)));
    for (int k = 0; k < 6; ++k)
        CHECK_NEAR(s->inertia[k], inertia[k], relative * content * size * size);
}

static tn_shape_def sphere(double radius)
{
    tn_shape_def s = tn_default_shape_def(TN_SHAPE_SPHERE);
    s.radius       = radius;
    return s;
}

static tn_shape_def box(double x, double y, double z)
{
    tn_shape_def s = tn_default_shape_def(TN_SHAPE_BOX);
    s.half_size    = tni_vec3(x, y, z);
    return s;
}

static tn_shape_def round_bar(tn_shape_type type, double radius, double half_length)
{
    tn_shape_def s = tn_default_shape_def(type);
    s.radius       = radius;
    s.half_length  = half_length;
    return s;
}

static tn_shape_def convex(const tn_vec3* points, int count)
{
    tn_shape_def s = tn_default_shape_def(TN_SHAPE_CONVEX);
    s.points       = points;
    s.point_count  = count;
    return s;
}

// ---- Closed forms ------------------------------------------------------------------------------

TEST(sphere_box_and_cylinder_have_their_textbook_moments)
{
    const tn_vec3      at = {0};
    const tn_shape_def s  = sphere(2);
    const tni_solid    a  = solid_of(&s);
    const double       V  = 32 * pi / 3;
    check_solid(&a, V, at, (const double[6]){1.6 * V, 1.6 * V, 1.6 * V, 0, 0, 0}, 1e-15);

    const tn_shape_def b = box(1, 2, 3);
    const tni_solid    c = solid_of(&b);
    check_solid(&c, 48, at, (const double[6]){48 * 13 / 3.0, 48 * 10 / 3.0, 48 * 5 / 3.0, 0, 0, 0},
                1e-15);

    const tn_shape_def d = round_bar(TN_SHAPE_CYLINDER, 0.5, 2);
    const tni_solid    e = solid_of(&d);
    const double       m = pi, across = m * (3 * 0.25 + 16) / 12; // m (3 r^2 + L^2) / 12
    check_solid(&e, m, at, (const double[6]){across, across, m * 0.125, 0, 0, 0}, 1e-15);
}

// The capsule as a pile of thin discs, Simpson's rule in z over each smooth part.
static void capsule_by_discs(double r, double l, double* volume, double* across, double* along)
{
    *volume = *across = *along = 0;
    const double ends[4]       = {-l - r, -l, l, l + r};
    for (int part = 0; part < 3; ++part) {
        const int    n = 2000;
        const double h = (ends[part + 1] - ends[part]) / n;
        for (int i = 0; i <= n; ++i) {
            const double z = ends[part] + h * i, over = fmax(fabs(z) - l, 0);
            const double r2 = fmax(r * r - over * over, 0), area = pi * r2;
            const double w = h / 3 * (i == 0 || i == n ? 1 : i % 2 == 1 ? 4 : 2);
            *volume += w * area;
            *across += w * area * (r2 / 4 + z * z);
            *along += w * area * r2 / 2;
        }
    }
}

TEST(capsule_agrees_with_a_pile_of_discs)
{
    for (int k = 1; k <= 4; ++k) {
        const double r = 0.3 * k, l = 1.0 / k;
        double       volume, across, along;
        capsule_by_discs(r, l, &volume, &across, &along);
        const tn_shape_def s = round_bar(TN_SHAPE_CAPSULE, r, l);
        const tni_solid    a = solid_of(&s);
        check_solid(&a, volume, (tn_vec3){0}, (const double[6]){across, across, along, 0, 0, 0},
                    1e-12);
    }
    const tn_shape_def flat = round_bar(TN_SHAPE_CAPSULE, 1, 1e-12), ball = sphere(1);
    const tni_solid    a = solid_of(&flat), b = solid_of(&ball);
    check_solid(&a, b.content, b.centre, b.inertia, 1e-11);
}

TEST(planes_and_meshes_have_no_content)
{
    const tn_shape_def plane = tn_default_shape_def(TN_SHAPE_PLANE),
                       mesh  = tn_default_shape_def(TN_SHAPE_MESH);
    CHECK(solid_of(&plane).content == 0 && solid_of(&mesh).content == 0);
}

// ---- Convex ------------------------------------------------------------------------------------

enum { POINTS_MAX = 5000 };

static tn_quat random_turn(test_random* r)
{
    const tn_quat q = {test_random_between(r, -1, 1), test_random_between(r, -1, 1),
                       test_random_between(r, -1, 1), test_random_between(r, -1, 1)};
    return tni_quat_normalised(q);
}

static int cube_corners(tn_vec3* points, tn_vec3 half)
{
    for (int i = 0; i < 8; ++i) {
        points[i] =
            tni_vec3(i & 1 ? half.x : -half.x, i & 2 ? half.y : -half.y, i & 4 ? half.z : -half.z);
    }
    return 8;
}

// Points on the faces of the cube, a grid of n on an edge, every one of them twice.
static int cube_grid(tn_vec3* points, int n, tn_vec3 half)
{
    int count = 0;
    for (int i = 0; i < n * n * n; ++i) {
        const int x = i % n, y = i / n % n, z = i / n / n;
        if (x > 0 && x < n - 1 && y > 0 && y < n - 1 && z > 0 && z < n - 1) continue;
        const double s = 2.0 / (n - 1);
        points[count++] =
            tni_vec3(half.x * (s * x - 1), half.y * (s * y - 1), half.z * (s * z - 1));
        points[count] = points[count - 1];
        ++count;
    }
    return count;
}

static void move_all(tn_vec3* points, int count, const tn_frame* pose)
{
    for (int i = 0; i < count; ++i)
        points[i] = tni_add(pose->position, tni_rotate(pose->orientation, points[i]));
}

TEST(convex_cube_is_a_box)
{
    static tn_vec3     points[POINTS_MAX];
    const tn_shape_def b = box(0.5, 1, 0.25), c = convex(points, cube_corners(points, b.half_size));
    const tni_solid    want = solid_of(&b), got = solid_of(&c);
    check_solid(&got, want.content, want.centre, want.inertia, 1e-15);
}

TEST(convex_takes_duplicate_and_coplanar_points)
{
    static tn_vec3 points[POINTS_MAX];
    test_random    r = {7};
    for (int n = 2; n <= 9; ++n) {
        const tn_shape_def b    = box(0.5, 1, 0.25);
        const tni_solid    want = solid_of(&b);
        for (int turn = 0; turn < 20; ++turn) {
            const tn_frame pose  = {tni_vec3(test_random_unit(&r), 5, -2), random_turn(&r)};
            const int      count = cube_grid(points, n, b.half_size);
            move_all(points, count, &pose);
            const tn_shape_def c     = convex(points, count);
            const tni_solid    got   = solid_of(&c);
            const tni_solid    moved = tni_solid_moved(&want, &pose);
            check_solid(&got, moved.content, moved.centre, moved.inertia, 2e-14);
        }
    }
}

static int random_cloud(tn_vec3* points, int count, test_random* r)
{
    for (int i = 0; i < count; ++i) {
        points[i] = tni_vec3(test_random_between(r, -1, 1), test_random_between(r, -2, 1),
                             test_random_between(r, 0, 1));
    }
    return count;
}

static int sphere_cloud(tn_vec3* points, int count, test_random* r)
{
    for (int i = 0; i < count;) {
        const tn_vec3 p = tni_vec3(test_random_between(r, -1, 1), test_random_between(r, -1, 1),
                                   test_random_between(r, -1, 1));
        if (tni_norm(p) > 0.1 && tni_norm(p) <= 1) points[i++] = tni_normalised(p);
    }
    return count;
}

static tn_vec3 outward(const tni_hull_face* f, const tn_vec3* points)
{
    const tn_vec3 a = points[f->vertex[0]], b = points[f->vertex[1]], c = points[f->vertex[2]];
    return tni_normalised(tni_cross(tni_sub(b, a), tni_sub(c, a)));
}

__extension__ typedef __int128 wide;

// Side of point i on the face, on the grid, the other way than the hull computes it: -1, 0, 1.
static int side(const tni_hull* hull, const tni_hull_face* f, int i)
{
    const tni_grid_point* g = hull->grid;
    const tni_grid_point  a = g[f->vertex[0]], b = g[f->vertex[1]], c = g[f->vertex[2]], p = g[i];
    const wide            ux = a.x - p.x, uy = a.y - p.y, uz = a.z - p.z;
    const wide            vx = b.x - p.x, vy = b.y - p.y, vz = b.z - p.z;
    const wide            wx = c.x - p.x, wy = c.y - p.y, wz = c.z - p.z;
    const wide det = ux * (vy * wz - vz * wy) + uy * (vz * wx - vx * wz) + uz * (vx * wy - vy * wx);
    return det < 0 ? 1 : det > 0 ? -1 : 0;
}

// No point outside any face, none without area, every edge shared with the neighbour that lists it,
// V - E + F = 2.
static void check_hull(const tni_hull* hull, int count)
{
    static bool used[POINTS_MAX];
    memset(used, 0, sizeof used);
    int  faces = 0, vertices = 0, outside = 0, flat = 0;
    bool mutual = true;
    for (int f = 0; f < hull->face_count; ++f) {
        const tni_hull_face* face = &hull->faces[f];
        if (!face->alive) continue;
        ++faces;
        flat += face->normal[0] == 0 && face->normal[1] == 0 && face->normal[2] == 0;
        for (int i = 0; i < count; ++i) outside += side(hull, face, i) > 0;
        for (int e = 0; e < 3; ++e) {
            const tni_hull_face* g = &hull->faces[face->neighbour[e]];
            used[face->vertex[e]]  = true;
            bool found             = false;
            for (int k = 0; k < 3; ++k) {
                found =
                    found || (g->neighbour[k] == f && g->vertex[k] == face->vertex[(e + 1) % 3] &&
                              g->vertex[(k + 1) % 3] == face->vertex[e]);
            }
            mutual = mutual && g->alive && found;
        }
    }
    for (int i = 0; i < count; ++i) vertices += used[i];
    CHECK(mutual);
    CHECK_INT(outside, 0);
    CHECK_INT(flat, 0);
    CHECK_INT(faces, 2 * vertices - 4);
}

TEST(hull_holds_all_points_and_is_closed)
{
    static tn_vec3 points[POINTS_MAX];
    const tn_host  host = tn_default_host();
    const tn_vec3  slab = {1, 0.3, 0.7};
    for (uint32_t seed = 1; seed <= 60; ++seed) {
        test_random    r     = {seed};
        const int      n     = test_random_int(&r, 4, seed % 10 == 0 ? 2000 : 100);
        const int      count = seed % 3 == 0   ? random_cloud(points, n, &r)
                               : seed % 3 == 1 ? sphere_cloud(points, n, &r)
                                               : cube_grid(points, 2 + n % 7, slab);
        const tn_frame pose  = {tni_vec3(0, 0, 0), random_turn(&r)};
        if (seed % 2 == 0) move_all(points, count, &pose);
        tni_hull hull;
        CHECK_OK(tni_hull_create(&host, points, count, &hull));
        check_hull(&hull, count);
        tni_hull_free(&hull);
    }
}

// Few points of a small lattice: most of them are coplanar or collinear with others.
TEST(hull_takes_any_part_of_a_lattice)
{
    static tn_vec3 points[POINTS_MAX];
    const tn_host  host = tn_default_host();
    for (uint32_t seed = 1; seed <= 3000; ++seed) {
        test_random r     = {seed};
        const int   count = test_random_int(&r, 4, 40), n = test_random_int(&r, 1, 4);
        for (int i = 0; i < count; ++i) {
            points[i] = tni_vec3(test_random_int(&r, 0, n), test_random_int(&r, 0, n),
                                 test_random_int(&r, 0, n));
        }
        tni_hull   hull;
        const bool spans = tni_points_span(points, count);
        CHECK_INT(tni_hull_create(&host, points, count, &hull), spans ? TN_OK : TN_ERR_MODEL);
        if (!spans) continue;
        check_hull(&hull, count);
        tni_hull_free(&hull);
    }
}

// Points nearly, but not quite, on the faces: every comparison is close.
TEST(hull_survives_noise_of_every_size)
{
    static tn_vec3 points[POINTS_MAX];
    const tn_host  host = tn_default_host();
    const tn_vec3  half = {1, 1, 1};
    for (int k = 1; k <= 16; ++k) {
        const double noise = pow(10, -k);
        for (uint32_t seed = 1; seed <= 20; ++seed) {
            test_random r     = {seed};
            const int   count = cube_grid(points, 3 + (int)(seed % 5), half);
            for (int i = 0; i < count; ++i) {
                points[i].x += noise * test_random_between(&r, -1, 1);
                points[i].y += noise * test_random_between(&r, -1, 1);
                points[i].z += noise * test_random_between(&r, -1, 1);
            }
            tni_hull hull;
            CHECK_OK(tni_hull_create(&host, points, count, &hull));
            check_hull(&hull, count);
            tni_hull_free(&hull);
            const tn_shape_def shape = convex(points, count);
            CHECK_NEAR(solid_of(&shape).content, 8, 25 * noise + 1e-9);
        }
    }
}

TEST(convex_agrees_with_monte_carlo)
{
    static tn_vec3 points[POINTS_MAX];
    const tn_host  host = tn_default_host();
    test_random    r    = {11};
    const int      n    = random_cloud(points, 30, &r);
    tni_hull       hull;
    CHECK_OK(tni_hull_create(&host, points, n, &hull));
    double    inside = 0, square[6] = {0};
    tn_vec3   sum   = {0};
    const int tries = 400000;
    for (int i = 0; i < tries; ++i) {
        tn_vec3 p;
        random_cloud(&p, 1, &r);
        bool in = true;
        for (int f = 0; f < hull.face_count && in; ++f) {
            in = !hull.faces[f].alive || tni_dot(outward(&hull.faces[f], points),
                                                 tni_sub(p, points[hull.faces[f].vertex[0]])) <= 0;
        }
        if (!in) continue;
        ++inside;
        sum               = tni_add(sum, p);
        const double s[6] = {p.x * p.x, p.y * p.y, p.z * p.z, p.x * p.y, p.x * p.z, p.y * p.z};
        for (int k = 0; k < 6; ++k) square[k] += s[k];
    }
    tni_hull_free(&hull);
    const tn_shape_def shape = convex(points, n);
    const tni_solid    got   = solid_of(&shape);
    const double       V     = 6.0 / tries; // the cloud's box has 2 x 3 x 1
    const tn_vec3      c     = tni_scale(1 / inside, sum);
    const double       xx = square[0] / inside - c.x * c.x, yy = square[1] / inside - c.y * c.y,
                 zz      = square[2] / inside - c.z * c.z;
    const double want[6] = {yy + zz,
                            xx + zz,
                            xx + yy,
                            -(square[3] / inside - c.x * c.y),
                            -(square[4] / inside - c.x * c.z),
                            -(square[5] / inside - c.y * c.z)};
    CHECK_NEAR(got.content / (inside * V), 1, 0.01);
    CHECK_LESS(tni_norm(tni_sub(got.centre, c)), 0.01);
    for (int k = 0; k < 6; ++k) CHECK_NEAR(got.inertia[k] / got.content, want[k], 0.01);
}

TEST(convex_does_not_care_where_it_is_how_it_is_turned_or_how_large)
{
    static tn_vec3 points[POINTS_MAX], moved[POINTS_MAX];
    for (uint32_t seed = 1; seed <= 30; ++seed) {
        test_random        r     = {seed};
        const int          count = random_cloud(points, test_random_int(&r, 4, 200), &r);
        const tn_shape_def shape = convex(points, count);
        const tni_solid    solid = solid_of(&shape);
        const tn_frame     pose  = {tni_vec3(100, -20, 3), random_turn(&r)};
        const tni_solid    want  = tni_solid_moved(&solid, &pose);
        memcpy(moved, points, sizeof moved);
        move_all(moved, count, &pose);
        const tn_shape_def there = convex(moved, count);
        const tni_solid    got   = solid_of(&there);
        check_solid(&got, want.content, want.centre, want.inertia, 1e-12);

        for (int i = 0; i < count; ++i) moved[i] = tni_scale(0x1p-40, points[i]);
        const tni_solid tiny = solid_of(&there);
        CHECK(tiny.content == 0x1p-120 * solid.content);
        CHECK(tiny.centre.x == 0x1p-40 * solid.centre.x &&
              tiny.inertia[4] == 0x1p-200 * solid.inertia[4]);
    }
}

TEST(flat_and_few_points_span_no_volume)
{
    const tn_host host   = tn_default_host();
    tn_vec3       flat[] = {{0, 0, 1}, {1, 0, 1}, {0, 1, 1}, {1, 1, 1}, {0.3, 0.2, 1}};
    tn_shape_def  shape  = convex(flat, 5);
    tni_solid     solid;
    CHECK(!tni_points_span(flat, 5));
    CHECK_INT(tni_shape_solid(&host, &shape, &solid), TN_ERR_MODEL);
    flat[4].z = 1 + 1e-6;
    CHECK(tni_points_span(flat, 5));
    CHECK_OK(tni_shape_solid(&host, &shape, &solid));
    CHECK_LESS(0, solid.content);
    CHECK(!tni_points_span(flat, 3));
    const tn_vec3 one[] = {{1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {1, 2, 3}};
    CHECK(!tni_points_span(one, 4));
    const tn_vec3 line[] = {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {3, 3, 3}, {5, 5, 5}};
    CHECK(!tni_points_span(line, 5));
}

TEST(hull_without_memory_fails_and_leaks_nothing)
{
    static tn_vec3     points[POINTS_MAX];
    test_random        r     = {3};
    const tn_shape_def shape = convex(points, sphere_cloud(points, 500, &r));
    failing_host       f     = failing_host_make();
    const tn_host      host  = failing_host_of(&f);
    for (int n = 1;; ++n) {
        tni_solid solid;
        failing_host_rewind(&f, n);
        const tn_result result = tni_shape_solid(&host, &shape, &solid);
        CHECK_INT(f.live_blocks, 0);
        CHECK_INT(f.size_errors, 0);
        if (f.refused == 0) {
            CHECK_INT(result, TN_OK);
            CHECK_LESS(1, n);
            break;
        }
        CHECK_INT(result, TN_ERR_MEMORY);
    }
}

// ---- Merging, and the rules of a body ----------------------------------------------------------

TEST(two_halves_make_the_whole)
{
    const tn_shape_def whole = box(1, 2, 3), half = box(0.5, 2, 3);
    const tni_solid    want = solid_of(&whole), h = solid_of(&half);
    const tn_frame     left = {{-0.5, 0, 0}, {1, 0, 0, 0}}, right = {{0.5, 0, 0}, {0, 0, 0, 3}};
    const tni_solid    a = tni_solid_moved(&h, &left), b = tni_solid_moved(&h, &right), none = {0};
    tni_solid          got = tni_solid_merged(&a, &b);
    check_solid(&got, want.content, want.centre, want.inertia, 1e-15);
    got = tni_solid_merged(&none, &got);
    got = tni_solid_merged(&got, &none);
    check_solid(&got, want.content, want.centre, want.inertia, 1e-15);
}

typedef struct whole_body {
    double  mass, volume, inertia[6];
    tn_vec3 com;
    tn_why  why;
} whole_body;

static whole_body weigh(const tn_body_def* def, tn_result expected)
{
    const tn_host host = tn_default_host();
    whole_body    w    = {0};
    CHECK_INT(tni_body_inertia(&host, def, &w.mass, &w.com, w.inertia, &w.volume, &w.why),
              expected);
    return w;
}

TEST(mass_and_inertia_come_from_densities)
{
    tn_shape_def shapes[2]  = {box(1, 1, 1), box(1, 1, 1)};
    shapes[0].density       = 2;
    shapes[1].density       = 6;
    shapes[1].pose.position = tni_vec3(4, 0, 0);
    tn_body_def def         = tn_default_body_def();
    def.name                = "pair";
    def.shapes              = shapes;
    def.shape_count         = 2;
    whole_body w            = weigh(&def, TN_OK);
    CHECK_NEAR(w.mass, 64, 1e-13);
    CHECK_NEAR(w.volume, 16, 1e-14);
    CHECK_NEAR(w.com.x, 3, 1e-15);
    CHECK_NEAR(w.inertia[0], 64 * 2.0 / 3, 1e-12);
    CHECK_NEAR(w.inertia[1], 64 * 2.0 / 3 + 16 * 9 + 48, 1e-12);

    def.mass = 128; // scaled to the mass
    w        = weigh(&def, TN_OK);
    CHECK_NEAR(w.mass, 128, 0);
    CHECK_NEAR(w.inertia[0], 128 * 2.0 / 3, 1e-12);

    shapes[1].density = TN_UNSET; // a shape without density has no mass beside one with it
    w                 = weigh(&def, TN_OK);
    CHECK_NEAR(w.com.x, 0, 0);
    CHECK_NEAR(w.inertia[1], 128 * 2.0 / 3, 1e-12);
    CHECK_NEAR(w.volume, 16, 1e-14);

    shapes[0].density = TN_UNSET; // none has one: all count alike
    w                 = weigh(&def, TN_OK);
    CHECK_NEAR(w.com.x, 2, 1e-15);
    CHECK_NEAR(w.inertia[1], 128 * (2.0 / 3 + 4), 1e-12);

    def.com = tni_vec3(0, 0, 7); // a given centre changes the inertia
    w       = weigh(&def, TN_OK);
    CHECK_NEAR(w.com.z, 7, 0);
    CHECK_NEAR(w.inertia[1], 128 * (2.0 / 3 + 4), 1e-12);

    def.mass = TN_UNSET;
    w        = weigh(&def, TN_ERR_MODEL);
    CHECK(strstr(w.why.text, "body 'pair': mass") != NULL);
}

TEST(given_inertia_stays_and_its_centre_is_the_origin)
{
    tn_shape_def shape  = sphere(1);
    shape.density       = 3;
    shape.pose.position = tni_vec3(1, 2, 3);
    tn_body_def def     = tn_default_body_def();
    def.name            = "b";
    def.mass            = 2;
    def.shapes          = &shape;
    def.shape_count     = 1;
    for (int k = 0; k < 6; ++k) def.inertia[k] = k < 3 ? 1 + 0.1 * k : 0.01 * k;
    const whole_body w = weigh(&def, TN_OK);
    CHECK(w.com.x == 0 && w.com.y == 0 && w.com.z == 0 && w.mass == 2);
    for (int k = 0; k < 6; ++k) CHECK_NEAR(w.inertia[k], def.inertia[k], 0);

    def.inertia[0]  = TN_UNSET;
    def.shape_count = 0;
    CHECK(strstr(weigh(&def, TN_ERR_MODEL).why.text, "body 'b': inertia") != NULL);
    def.kind = TN_BODY_PARTICLE;
    CHECK_NEAR(weigh(&def, TN_OK).mass, 2, 0);
    def.kind = TN_BODY_STATIC;
    def.mass = TN_UNSET;
    CHECK_NEAR(weigh(&def, TN_OK).mass, 0, 0);
}

TEST(possible_inertias_are_told_from_impossible_ones)
{
    test_random r = {5};
    for (int i = 0; i < 200; ++i) {
        // Second moments a, b, c along random axes: I = diag(b + c, a + c, a + b) there.
        const double   a = test_random_unit(&r) + 1e-3, b = test_random_unit(&r) + 1e-3;
        const double   c    = i % 2 == 0 ? test_random_unit(&r) + 1e-3 : i % 4 == 1 ? 0 : -1e-6;
        const tni_mat3 D    = {{b + c, 0, 0, 0, a + c, 0, 0, 0, a + b}},
                       R    = tni_quat_matrix(random_turn(&r));
        const tni_mat3 S    = tni_rotate_symmetric(&R, &D);
        const double   I[6] = {S.m[0], S.m[4], S.m[8], S.m[1], S.m[2], S.m[5]};
        CHECK(tni_inertia_is_possible(I, false) == (c >= 0));
        if (c != 0) CHECK(tni_inertia_is_possible(I, true) == (c > 0));
    }
    CHECK(!tni_inertia_is_possible((const double[6]){0, 1, 1, 0, 0, 0}, false));
    CHECK(!tni_inertia_is_possible((const double[6]){0, 0, 0, 0, 0, 0}, false));
    CHECK(!tni_inertia_is_possible((const double[6]){1, 1, 1, 2, 0, 0}, false));
    CHECK(tni_inertia_is_possible((const double[6]){1, 1, 2, 0, 0, 0}, false));
    CHECK(!tni_inertia_is_possible((const double[6]){1, 1, 2, 0, 0, 0}, true));
}
