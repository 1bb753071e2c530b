#include "geom/height_field.h"
#include "test.h"

enum { COLUMNS = 7, ROWS = 5, CELLS = (COLUMNS - 1) * (ROWS - 1) };

static double z_of(double x, double y)
{
    return sin(3 * x) + 0.3 * y * y - 0.2 * x * y;
}

static tni_height_field field(double values[COLUMNS * ROWS])
{
    tni_height_field h = {COLUMNS, ROWS, 0.5, 0.8, values, HUGE_VAL, -HUGE_VAL};
    for (int i = 0; i < COLUMNS * ROWS; ++i) {
        values[i] = z_of((i % COLUMNS - 3) * 0.5, (i / COLUMNS - 2) * 0.8);
        h.lowest  = fmin(h.lowest, values[i]);
        h.highest = fmax(h.highest, values[i]);
    }
    return h;
}

TEST(triangles_tile_the_field_and_face_up)
{
    double                 values[COLUMNS * ROWS], area = 0;
    const tni_height_field h = field(values);
    CHECK_INT(tni_height_field_triangle_count(&h), 2 * CELLS);
    for (int t = 0; t < 2 * CELLS; ++t) {
        tn_vec3 v[3];
        tni_height_field_triangle(&h, t, v);
        const tn_vec3 n = tni_cross(tni_sub(v[1], v[0]), tni_sub(v[2], v[0]));
        CHECK_NEAR(n.z, 0.4, 1e-14);
        area += n.z / 2;
        for (int k = 0; k < 3; ++k) CHECK_NEAR(v[k].z, z_of(v[k].x, v[k].y), 1e-14);
        // Cut from the lower left to the upper right: that edge is shared by the two of a cell.
        const tn_vec3 cut = t % 2 == 0 ? tni_sub(v[2], v[0]) : tni_sub(v[1], v[0]);
        CHECK_NEAR(cut.x - 0.5, 0, 1e-14);
        CHECK_NEAR(cut.y - 0.8, 0, 1e-14);
    }
    CHECK_NEAR(area, 3 * 3.2, 1e-12);
}

static bool is_same(tn_vec3 a, tn_vec3 b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

TEST(neighbours_share_an_edge_the_other_way_round)
{
    double                 values[COLUMNS * ROWS];
    const tni_height_field h       = field(values);
    int                    borders = 0;
    for (int t = 0; t < 2 * CELLS; ++t) {
        tn_vec3 v[3], w[3];
        tni_height_field_triangle(&h, t, v);
        for (int k = 0; k < 3; ++k) {
            const int other = tni_height_field_neighbour(&h, t, k);
            if (other < 0) {
                ++borders;
                continue;
            }
            bool found = false;
            tni_height_field_triangle(&h, other, w);
            for (int j = 0; j < 3; ++j)
                found = found || (is_same(w[j], v[(k + 1) % 3]) && is_same(w[(j + 1) % 3], v[k]) &&
                                  tni_height_field_neighbour(&h, other, j) == t);
            CHECK(found);
        }
    }
    CHECK_INT(borders, 2 * (COLUMNS - 1) + 2 * (ROWS - 1));
}

typedef struct visited {
    int items[2 * CELLS], count;
} visited;

static void note_visit(void* user, int triangle)
{
    visited* v           = user;
    v->items[v->count++] = triangle;
}

static visited visit_all(const tni_height_field* h, const tni_aabb* box)
{
    visited v = {.count = 0};
    tni_height_field_visit(h, box, note_visit, &v);
    return v;
}

// Brute force over every cell; ascending.
TEST(triangles_in_a_box_are_found)
{
    double                 values[COLUMNS * ROWS];
    const tni_height_field h = field(values);
    test_random            r = {3};
    for (int i = 0; i < 2000; ++i) {
        int            n     = 0;
        const tn_vec3  p     = {test_random_between(&r, -2.5, 2), test_random_between(&r, -2.5, 2),
                                test_random_between(&r, -2, 3)};
        const tn_vec3  d     = {test_random_unit(&r), test_random_unit(&r), test_random_unit(&r)};
        const tni_aabb box   = {p, tni_add(p, d)};
        const visited  found = visit_all(&h, &box);
        for (int t = 0; t < 2 * CELLS; ++t) {
            tn_vec3 v[3];
            tni_height_field_triangle(&h, t, v);
            const double left = fmin(v[0].x, fmin(v[1].x, v[2].x)), low = fmin(v[0].y, v[2].y);
            if (left > box.upper.x || left + 0.5 < box.lower.x || low > box.upper.y ||
                low + 0.8 < box.lower.y || fmax(v[0].z, fmax(v[1].z, v[2].z)) < box.lower.z)
                continue;
            CHECK(n < found.count && found.items[n] == t);
            ++n;
        }
        CHECK_INT(found.count, n);
    }
}

TEST(boxes_at_the_boundary_or_with_nan)
{
    double                 values[COLUMNS * ROWS];
    const tni_height_field h     = field(values);
    const tni_aabb         right = {{1.5, -9, -9}, {2, 9, 9}},
                   all  = {{-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}, {HUGE_VAL, HUGE_VAL, HUGE_VAL}};
    const double   nan  = (double)NAN;
    const tni_aabb none = {{nan, nan, nan}, {nan, nan, nan}}, beyond = {{1.6, -9, -9}, {2, 9, 9}};
    CHECK_INT(visit_all(&h, &right).count, 2 * (ROWS - 1));
    CHECK_INT(visit_all(&h, &all).count, 2 * CELLS);
    CHECK_INT(visit_all(&h, &none).count, 0);
    CHECK_INT(visit_all(&h, &beyond).count, 0);
}
