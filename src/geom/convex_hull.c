// convex_hull: convex hull of points in space, by quickhull on a grid.
//
// Starts with a tetrahedron of distant points. Every other outside point is assigned to one face
// that sees it. While a face has outside points: take its farthest, p; find the faces visible from
// p, connected, starting from this one; the edges around them are the horizon; replace them by a
// fan from p over the horizon; reassign the outside points of the removed faces [1].
//
// Rounding would put points on the wrong side of thin faces and break the horizon. So sides are
// decided exactly: points are rounded once, to a grid of 2^29 steps for half the extent, and
//     side of p on the face (a, b, c):   N . (p - a),   N = (b - a) x (c - a)
// is computed in integers. N takes 62 bits; the product with p - a (31 bits) is computed in two
// halves, N = N1 2^31 + N0. Users of the hull take its triangles between the original points: the
// surface is closed in any case, and wrong by at most 2^-30 of the extent, only where points are
// that close to being coplanar.
//
// A face is visible from p if p is strictly outside. A horizon edge belongs to a visible face, so p
// is not on its line, and every triangle of the fan has an area; and the visible faces are those
// visible from a point slightly closer to the inside than p, coplanar with none, so the horizon is
// one simple loop. Flat facets of many points become several coplanar triangles; points on them
// that are not corners may be omitted.
//
// Cost: O(n log n) for common inputs, O(n^2) at worst; memory for 2 n faces. Fails with
// TN_ERR_MODEL if all points are in one plane, to SPAN_MIN grid steps.
// [1] C. Barber, D. Dobkin, H. Huhdanpaa, The Quickhull Algorithm for Convex Hulls, 1996.
#include "geom/convex_hull.h"

#include "geom/geometry.h"

enum { GRID = 1 << 29, SPAN_MIN = 4 };

// ---- The grid ----------------------------------------------------------------------------------

double tni_points_extent(const tn_vec3* points, int count, tn_vec3* middle)
{
    tni_aabb box = tni_aabb_empty();
    for (int i = 0; i < count; ++i) tni_aabb_add(&box, points[i]);
    const tn_vec3 lower = tni_scale(0.5, box.lower), upper = tni_scale(0.5, box.upper);
    *middle = tni_add(lower, upper);
    return tni_max_abs(tni_sub(upper, lower));
}

typedef struct cloud {
    const tn_vec3* points;
    int            count;
    tn_vec3        middle;
    double         size;
    /// The points on the grid, if already computed; may be NULL.
    const tni_grid_point* grid;
} cloud;

static cloud cloud_of(const tn_vec3* points, int count)
{
    cloud c = {.points = points, .count = count};
    if (count > 0) c.size = tni_points_extent(points, count, &c.middle);
    return c;
}

static int32_t snap(double x, double middle, double size)
{
    const double on_grid = floor((x - middle) / size * GRID + 0.5);
    return (int32_t)fmin(fmax(on_grid, -GRID), GRID);
}

static tni_grid_point grid_point(const cloud* c, int i)
{
    if (c->grid != NULL) return c->grid[i];
    const tn_vec3 p = c->points[i], m = c->middle;
    return (tni_grid_point){snap(p.x, m.x, c->size), snap(p.y, m.y, c->size),
                            snap(p.z, m.z, c->size)};
}

static void grid_cross(tni_grid_point a, tni_grid_point b, tni_grid_point c, int64_t normal[3])
{
    const int64_t ux = b.x - a.x, uy = b.y - a.y, uz = b.z - a.z;
    const int64_t vx = c.x - a.x, vy = c.y - a.y, vz = c.z - a.z;
    normal[0] = uy * vz - uz * vy;
    normal[1] = uz * vx - ux * vz;
    normal[2] = ux * vy - uy * vx;
}

// normal . (p - a). The sign is exact, the number rounded.
static double grid_height(const int64_t normal[3], tni_grid_point a, tni_grid_point p)
{
    const int64_t half = (int64_t)1 << 31, d[3] = {p.x - a.x, p.y - a.y, p.z - a.z};
    int64_t       high = 0, low = 0;
    for (int k = 0; k < 3; ++k) {
        high += normal[k] / half * d[k];
        low += normal[k] % half * d[k];
    }
    high += low / half;
    low %= half;
    return (double)high * (double)half + (double)low;
}

// ---- The first tetrahedron ---------------------------------------------------------------------

static tn_vec3 apart(tni_grid_point a, tni_grid_point b)
{
    return tni_vec3(b.x - a.x, b.y - a.y, b.z - a.z);
}

static int farthest_from_point(const cloud* c, tni_grid_point a, double* distance)
{
    int best  = 0;
    *distance = 0;
    for (int i = 0; i < c->count; ++i) {
        const double d = tni_norm(apart(a, grid_point(c, i)));
        if (d > *distance) *distance = d, best = i;
    }
    return best;
}

static int farthest_from_line(const cloud* c, tni_grid_point a, tn_vec3 along, double* distance)
{
    int best  = 0;
    *distance = 0;
    for (int i = 0; i < c->count; ++i) {
        const double d = tni_norm(tni_cross(along, apart(a, grid_point(c, i))));
        if (d > *distance) *distance = d, best = i;
    }
    return best;
}

static int farthest_from_plane(const cloud* c, tni_grid_point a, const int64_t normal[3],
                               double* height)
{
    int best = 0;
    *height  = 0;
    for (int i = 0; i < c->count; ++i) {
        const double h = grid_height(normal, a, grid_point(c, i));
        if (fabs(h) > fabs(*height)) *height = h, best = i;
    }
    return best;
}

// Four points that span a volume, right-handed; false if there are none.
static bool find_corners(const cloud* c, int corners[4])
{
    double  distance;
    int64_t normal[3];
    if (c->count < 4 || !(c->size > 0)) return false;
    corners[0]             = farthest_from_point(c, grid_point(c, 0), &distance);
    const tni_grid_point a = grid_point(c, corners[0]);
    corners[1]             = farthest_from_point(c, a, &distance);
    const tni_grid_point b = grid_point(c, corners[1]);
    corners[2]             = farthest_from_line(c, a, tni_normalised(apart(a, b)), &distance);
    if (!(distance >= SPAN_MIN)) return false;
    grid_cross(a, b, grid_point(c, corners[2]), normal);
    const double area = tni_norm(tni_vec3((double)normal[0], (double)normal[1], (double)normal[2]));
    corners[3]        = farthest_from_plane(c, a, normal, &distance);
    if (!(fabs(distance) >= SPAN_MIN * area) || distance == 0) return false;
    if (distance > 0) return true;
    const int swapped = corners[1];
    corners[1]        = corners[2];
    corners[2]        = swapped;
    return true;
}

bool tni_points_span(const tn_vec3* points, int count)
{
    const cloud c = cloud_of(points, count);
    int         corners[4];
    return find_corners(&c, corners);
}

// ---- Faces and their outside points ------------------------------------------------------------

static int take_face(tni_hull* hull)
{
    int f = hull->spare;
    if (f >= 0) hull->spare = hull->faces[f].outside;
    else f = hull->face_count++;
    TN_ASSERT(f < 2 * hull->point_count); // Euler: a closed surface has 2 V - 4 triangles
    return f;
}

static void free_face(tni_hull* hull, int f)
{
    hull->faces[f] = (tni_hull_face){.alive = false, .outside = hull->spare};
    hull->spare    = f;
}

static void make_face(tni_hull* hull, int f, int a, int b, int c)
{
    hull->faces[f] = (tni_hull_face){.vertex = {a, b, c}, .outside = -1, .alive = true};
    grid_cross(hull->grid[a], hull->grid[b], hull->grid[c], hull->faces[f].normal);
}

static double height(tni_hull* hull, int f, int point)
{
    ++hull->tests;
    const tni_hull_face* face = &hull->faces[f];
    return grid_height(face->normal, hull->grid[face->vertex[0]], hull->grid[point]);
}

// Assigns point i to the first of the faces that sees it; drops it if none does.
static void keep_point(tni_hull* hull, const int* faces, int count, int i)
{
    for (int k = 0; k < count; ++k) {
        if (!(height(hull, faces[k], i) > 0)) continue;
        hull->next[i]                 = hull->faces[faces[k]].outside;
        hull->faces[faces[k]].outside = i;
        return;
    }
}

static int farthest_outside(tni_hull* hull, int f)
{
    int    best     = -1;
    double distance = 0;
    for (int i = hull->faces[f].outside; i >= 0; i = hull->next[i]) {
        const double d = height(hull, f, i);
        if (d > distance) distance = d, best = i;
    }
    return best;
}

static void start(tni_hull* hull, const int c[4])
{
    // Face k does not contain corner k.
    static const int corner[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};
    int              faces[4];
    for (int k = 0; k < 4; ++k) faces[k] = take_face(hull);
    for (int k = 0; k < 4; ++k) {
        make_face(hull, faces[k], c[corner[k][0]], c[corner[k][1]], c[corner[k][2]]);
        for (int e = 0; e < 3; ++e) { // shared with the face of the corner not in face k
            hull->faces[faces[k]].neighbour[e] =
                faces[6 - k - corner[k][e] - corner[k][(e + 1) % 3]];
        }
    }
    for (int i = 0; i < hull->point_count; ++i) keep_point(hull, faces, 4, i);
}

// ---- Adding a point ----------------------------------------------------------------------------

// Marks and lists the faces visible from p, starting with `first`. Returns how many.
static int find_visible(tni_hull* hull, int first, int p)
{
    int count                  = 0;
    hull->seen[count++]        = first;
    hull->faces[first].visible = true;
    for (int at = 0; at < count; ++at) {
        for (int e = 0; e < 3; ++e) {
            const int      g    = hull->faces[hull->seen[at]].neighbour[e];
            tni_hull_face* face = &hull->faces[g];
            if (face->visible || height(hull, g, p) <= 0) continue;
            face->visible       = true;
            hull->seen[count++] = g;
        }
    }
    return count;
}

// The edges around the visible faces, as a loop. Returns how many.
static int find_horizon(tni_hull* hull, int seen_count)
{
    int edge_count = 0, edge = -1;
    for (int k = 0; k < seen_count; ++k) {
        const int            f    = hull->seen[k];
        const tni_hull_face* face = &hull->faces[f];
        for (int e = 0; e < 3; ++e) {
            if (hull->faces[face->neighbour[e]].visible) continue;
            edge                           = 3 * f + e;
            hull->leaving[face->vertex[e]] = edge;
            ++edge_count;
        }
    }
    TN_ASSERT(edge_count >= 3 && edge_count <= hull->point_count);
    for (int k = 0; k < edge_count; ++k) {
        const tni_hull_face* face = &hull->faces[edge / 3];
        int*                 h    = hull->horizon + 3 * k;
        h[0]                      = face->vertex[edge % 3];
        h[1]                      = face->vertex[(edge % 3 + 1) % 3];
        h[2]                      = face->neighbour[edge % 3];
        edge                      = hull->leaving[h[1]];
    }
    return edge_count;
}

// Removes the visible faces and returns their outside points as one list.
static int remove_visible(tni_hull* hull, int seen_count)
{
    int chain = -1;
    for (int k = 0; k < seen_count; ++k) {
        for (int i = hull->faces[hull->seen[k]].outside; i >= 0;) {
            const int next = hull->next[i];
            hull->next[i]  = chain;
            chain          = i;
            i              = next;
        }
        free_face(hull, hull->seen[k]);
    }
    return chain;
}

static void put_neighbour(tni_hull_face* face, int from, int to, int neighbour)
{
    for (int e = 0; e < 3; ++e) {
        if (face->vertex[e] == from && face->vertex[(e + 1) % 3] == to)
            face->neighbour[e] = neighbour;
    }
}

static void put_fan(tni_hull* hull, int p, int edge_count)
{
    int* fan = hull->seen;
    for (int k = 0; k < edge_count; ++k) fan[k] = take_face(hull);
    for (int k = 0; k < edge_count; ++k) {
        const int*     h    = hull->horizon + 3 * k;
        tni_hull_face* face = &hull->faces[fan[k]];
        make_face(hull, fan[k], h[0], h[1], p);
        face->neighbour[0] = h[2];
        face->neighbour[1] = fan[(k + 1) % edge_count];
        face->neighbour[2] = fan[(k + edge_count - 1) % edge_count];
        put_neighbour(&hull->faces[h[2]], h[1], h[0], fan[k]);
    }
}

static void add_point(tni_hull* hull, int p, int face)
{
    const int seen_count = find_visible(hull, face, p);
    const int edge_count = find_horizon(hull, seen_count);
    int       chain      = remove_visible(hull, seen_count);
    put_fan(hull, p, edge_count);
    while (chain >= 0) {
        const int next = hull->next[chain];
        if (chain != p) keep_point(hull, hull->seen, edge_count, chain);
        chain = next;
    }
}

static void add_all(tni_hull* hull)
{
    for (bool again = true; again;) {
        again = false;
        for (int f = 0; f < hull->face_count; ++f) {
            if (!hull->faces[f].alive || hull->faces[f].outside < 0) continue;
            add_point(hull, farthest_outside(hull, f), f);
            again = true;
        }
    }
}

tn_result tni_hull_create(const tn_host* host, const tn_vec3* points, int count, tni_hull* hull)
{
    cloud c = cloud_of(points, count);
    int   corners[4];
    if (count < 4 || !(c.size > 0)) return TN_ERR_MODEL;
    *hull         = (tni_hull){.spare = -1, .point_count = count, .arena = tni_arena_make(host)};
    hull->faces   = TNI_TAKE(&hull->arena, tni_hull_face, 2 * (size_t)count);
    hull->grid    = TNI_TAKE(&hull->arena, tni_grid_point, count);
    hull->next    = TNI_TAKE(&hull->arena, int, count);
    hull->leaving = TNI_TAKE(&hull->arena, int, count);
    hull->seen    = TNI_TAKE(&hull->arena, int, 2 * (size_t)count);
    hull->horizon = TNI_TAKE(&hull->arena, int, 3 * (size_t)count);
    if (hull->arena.failed) {
        tni_hull_free(hull);
        return TN_ERR_MEMORY;
    }
    for (int i = 0; i < count; ++i) hull->grid[i] = grid_point(&c, i);
    c.grid = hull->grid;
    if (!find_corners(&c, corners)) {
        tni_hull_free(hull);
        return TN_ERR_MODEL;
    }
    start(hull, corners);
    add_all(hull);
    return TN_OK;
}

void tni_hull_free(tni_hull* hull)
{
    tni_arena_free(&hull->arena);
}
