// polytope: convex hulls with merged coplanar faces.
//
// The hull comes as triangles between the original points (convex_hull.c). Coplanar triangles
// become one face: starting with the largest triangle without a face, all connected triangles whose
// corners are within FLAT times the extent of its plane and that face the same side. The edges
// around them are a loop; should it not be a simple one (adversarial input), the triangles stay
// single.
//
// A point with at least three faces around it is a vertex of the polytope. One with two is on the
// edge between them, one with fewer inside a face: both are removed, unless the two faces meet at
// an angle there (plates as thin as rounding). The result is closed: every edge of a face is, in
// the other direction, one of another, and V - E + F = 2.
//
// A face's normal is Newell's, half the sum of the cross products of its corners (the area vector
// of the polygon); its offset is the mean over the corners.
#include "base/sort.h"
#include "geom/convex_hull.h"
#include "geom/geometry.h"

static const double FLAT = 1e-8; // the grid of the hull has steps of 2^-29

typedef struct builder {
    const tn_vec3* points;
    int            count;
    double         extent;
    tni_hull       hull;
    tni_arena      arena; ///< scratch
    int*           face;  ///< by triangle: its face, -1: none yet
    int*           rank;  ///< triangles, largest first
    double*        area;  ///< by triangle
    int*           queue; ///< triangles
    int*           next;  ///< by point: the next corner of the current face, -1: none
    int*           faces; ///< by point: number of faces around it
    int*           name;  ///< by point: its index as a vertex, -1: none
    tni_face*      out;
    int*           corners; ///< points
    int            out_count, corner_count;
} builder;

// ---- Triangles into faces ----------------------------------------------------------------------

static tn_vec3 triangle_area(const builder* b, int t)
{
    const int* v = b->hull.faces[t].vertex;
    return tni_scale(0.5, tni_cross(tni_sub(b->points[v[1]], b->points[v[0]]),
                                    tni_sub(b->points[v[2]], b->points[v[0]])));
}

static tn_vec3 grid_normal(const builder* b, int t)
{
    const int64_t* n = b->hull.faces[t].normal;
    return tni_normalised(tni_vec3((double)n[0], (double)n[1], (double)n[2]));
}

// Larger area first; of equal ones the lower index.
static bool is_larger(const void* user, int s, int t)
{
    const double* area = user;
    return area[s] > area[t] || (area[s] == area[t] && s < t);
}

// Sorts the triangles by area; returns how many there are.
static int rank_triangles(builder* b)
{
    int count = 0;
    for (int t = 0; t < b->hull.face_count; ++t) {
        b->face[t] = -1;
        if (!b->hull.faces[t].alive) continue;
        b->area[t]       = tni_norm(triangle_area(b, t));
        b->rank[count++] = t;
    }
    tni_sort(b->rank, b->queue, count, is_larger, b->area);
    return count;
}

static bool in_plane(const builder* b, int t, tn_vec3 n, tn_vec3 at)
{
    const int* v = b->hull.faces[t].vertex;
    for (int k = 0; k < 3; ++k)
        if (!(fabs(tni_dot(n, tni_sub(b->points[v[k]], at))) <= FLAT * b->extent)) return false;
    return tni_dot(n, grid_normal(b, t)) > 0;
}

// Assigns all triangles in the plane of `first` that are connected to it to face f. Returns how
// many.
static int flood(builder* b, int first, int f)
{
    const tn_vec3 n      = grid_normal(b, first);
    const tn_vec3 at     = b->points[b->hull.faces[first].vertex[0]];
    const tn_vec3 exact  = triangle_area(b, first);
    const tn_vec3 normal = tni_dot(exact, n) > 0.5 * tni_norm(exact) ? tni_normalised(exact) : n;
    int           count  = 0;
    b->queue[count++]    = first;
    b->face[first]       = f;
    for (int i = 0; i < count; ++i)
        for (int e = 0; e < 3; ++e) {
            const int t = b->hull.faces[b->queue[i]].neighbour[e];
            if (b->face[t] >= 0 || !in_plane(b, t, normal, at)) continue;
            b->face[t]        = f;
            b->queue[count++] = t;
        }
    return count;
}

static void unlink_queue(builder* b, int count)
{
    for (int i = 0; i < count; ++i)
        for (int e = 0; e < 3; ++e) b->next[b->hull.faces[b->queue[i]].vertex[e]] = -1;
}

// The corners of the face made of the triangles in the queue; false: not a simple loop.
static bool walk_around(builder* b, int f, int count)
{
    const tn_vec3 n     = grid_normal(b, b->queue[0]); // in case Newell's vanishes
    int           edges = 0, start = -1;
    unlink_queue(b, count);
    for (int i = 0; i < count; ++i) {
        const tni_hull_face* t = &b->hull.faces[b->queue[i]];
        for (int e = 0; e < 3; ++e) {
            if (b->face[t->neighbour[e]] == f) continue;
            if (b->next[t->vertex[e]] >= 0) return false;
            b->next[t->vertex[e]] = t->vertex[(e + 1) % 3];
            start                 = t->vertex[e];
            ++edges;
        }
    }
    int length = 0;
    for (int v = start; v >= 0 && length < edges; v = b->next[v]) {
        if (length > 0 && v == start) return false;
        b->corners[b->corner_count + length++] = v;
    }
    if (length < 3 || b->next[b->corners[b->corner_count + length - 1]] != start) return false;
    b->out[f] = (tni_face){.n = n, .first = b->corner_count, .count = length};
    b->corner_count += length;
    return true;
}

static void keep_single(builder* b, int t, int f)
{
    const int* v = b->hull.faces[t].vertex;
    b->face[t]   = f;
    b->out[f]    = (tni_face){.n = grid_normal(b, t), .first = b->corner_count, .count = 3};
    for (int k = 0; k < 3; ++k) b->corners[b->corner_count++] = v[k];
}

static void make_faces(builder* b)
{
    const int triangles = rank_triangles(b);
    for (int i = 0; i < triangles; ++i) {
        const int t = b->rank[i], f = b->out_count;
        if (b->face[t] >= 0) continue;
        const int count = flood(b, t, f);
        if (walk_around(b, f, count)) {
            ++b->out_count;
            continue;
        }
        for (int k = 0; k < count; ++k) keep_single(b, b->queue[k], b->out_count++);
    }
}

// ---- Vertices ----------------------------------------------------------------------------------

static bool is_straight(const builder* b, int from, int at, int to)
{
    const tn_vec3 d = tni_sub(b->points[to], b->points[from]);
    const tn_vec3 p = tni_sub(b->points[at], b->points[from]);
    return tni_norm(tni_cross(d, p)) <= 4 * FLAT * b->extent * tni_norm(d);
}

// Points with three faces, or two that meet at an angle, keep a nonzero mark in `faces`; others get
// 0. False: a face would be left with fewer than three corners.
static bool find_vertices(builder* b)
{
    for (int i = 0; i < b->corner_count; ++i) ++b->faces[b->corners[i]];
    for (int f = 0; f < b->out_count; ++f) {
        const int *c = b->corners + b->out[f].first, n = b->out[f].count;
        for (int k = 0; k < n; ++k)
            if (b->faces[c[k]] == 2) // -2: done; its other face has the same neighbours
                b->faces[c[k]] = is_straight(b, c[(k + n - 1) % n], c[k], c[(k + 1) % n]) ? 0 : -2;
    }
    for (int f = 0; f < b->out_count; ++f) {
        int left = 0;
        for (int k = 0; k < b->out[f].count; ++k)
            left += b->faces[b->corners[b->out[f].first + k]] != 0;
        if (left < 3) return false;
    }
    return true;
}

static void drop_corners(builder* b)
{
    int to = 0;
    for (int f = 0; f < b->out_count; ++f) {
        const tni_face old = b->out[f];
        b->out[f].first    = to;
        for (int k = 0; k < old.count; ++k) {
            const int v = b->corners[old.first + k];
            if (b->faces[v] != 0) b->corners[to++] = v;
        }
        b->out[f].count = to - b->out[f].first;
    }
    b->corner_count = to;
}

// ---- The polytope ------------------------------------------------------------------------------

static void put_vertices(builder* b, tni_arena* arena, tni_polytope* polytope)
{
    int count = 0;
    for (int i = 0; i < b->count; ++i) b->name[i] = -1;
    for (int i = 0; i < b->corner_count; ++i) b->name[b->corners[i]] = 0;
    for (int i = 0; i < b->count; ++i)
        if (b->name[i] == 0) b->name[i] = count++;
    tn_vec3* vertices = TNI_TAKE(arena, tn_vec3, count);
    if (arena->failed) return;
    for (int i = 0; i < b->count; ++i)
        if (b->name[i] >= 0) vertices[b->name[i]] = b->points[i];
    for (int i = 0; i < b->corner_count; ++i) b->corners[i] = b->name[b->corners[i]];
    polytope->vertices     = vertices;
    polytope->vertex_count = count;
}

// The plane of a polygon: Newell's sum about its first corner.
static void lay_plane(const tn_vec3* vertices, const int* corners, tni_face* face)
{
    const tn_vec3 at  = vertices[corners[0]];
    tn_vec3       sum = {0, 0, 0};
    for (int k = 1; k + 1 < face->count; ++k)
        sum = tni_add(sum, tni_cross(tni_sub(vertices[corners[k]], at),
                                     tni_sub(vertices[corners[k + 1]], at)));
    if (tni_norm(sum) > 0) face->n = tni_normalised(sum); // else keep the grid normal
    double height = 0;
    for (int k = 1; k < face->count; ++k)
        height += tni_dot(face->n, tni_sub(vertices[corners[k]], at));
    face->offset = tni_dot(face->n, at) + height / face->count;
}

static void put_faces(const builder* b, tni_arena* arena, tni_polytope* polytope)
{
    tni_face* faces   = TNI_TAKE(arena, tni_face, b->out_count);
    int*      corners = TNI_TAKE(arena, int, b->corner_count);
    if (arena->failed) return;
    for (int i = 0; i < b->corner_count; ++i) corners[i] = b->corners[i];
    for (int f = 0; f < b->out_count; ++f) {
        faces[f] = b->out[f];
        lay_plane(polytope->vertices, corners + faces[f].first, &faces[f]);
    }
    polytope->faces        = faces;
    polytope->corners      = corners;
    polytope->face_count   = b->out_count;
    polytope->corner_count = b->corner_count;
}

// Half edges: by corner, the edge to the next corner of its face.
typedef struct half_edges {
    int *head, *chain; ///< by vertex the first corner there, by corner the next one there
    int *to, *owner;   ///< by corner
    int* taken;
} half_edges;

static void chain_corners(const tni_polytope* polytope, half_edges* h)
{
    for (int f = 0; f < polytope->face_count; ++f) {
        const tni_face* face = &polytope->faces[f];
        for (int k = 0; k < face->count; ++k) {
            h->to[face->first + k]    = polytope->corners[face->first + (k + 1) % face->count];
            h->owner[face->first + k] = f;
        }
    }
    for (int v = 0; v < polytope->vertex_count; ++v) h->head[v] = -1;
    for (int i = polytope->corner_count - 1; i >= 0; --i) {
        h->chain[i]                   = h->head[polytope->corners[i]];
        h->head[polytope->corners[i]] = i;
    }
}

// The corner with an unmatched edge from v to w of a face other than f; -1: none.
static int find_corner(const half_edges* h, int v, int w, int f)
{
    for (int i = h->head[v]; i >= 0; i = h->chain[i])
        if (h->to[i] == w && h->owner[i] != f && !h->taken[i]) return i;
    return -1;
}

static tn_result put_edges(tni_arena* scratch, tni_arena* arena, tni_polytope* polytope)
{
    const int  corners = polytope->corner_count;
    half_edges h       = {.head  = TNI_TAKE(scratch, int, polytope->vertex_count),
                          .chain = TNI_TAKE(scratch, int, corners),
                          .to    = TNI_TAKE(scratch, int, corners),
                          .owner = TNI_TAKE(scratch, int, corners),
                          .taken = TNI_TAKE(scratch, int, corners)};
    tni_edge*  edges   = TNI_TAKE(arena, tni_edge, corners / 2);
    int        count   = 0;
    if (scratch->failed || arena->failed) return TN_ERR_MEMORY;
    chain_corners(polytope, &h);
    for (int i = 0; i < corners; ++i) {
        const int a = polytope->corners[i], b = h.to[i];
        if (h.taken[i]) continue;
        const int j = find_corner(&h, b, a, h.owner[i]);
        TN_ASSERT(j >= 0 && 2 * count + 2 <= corners);
        h.taken[i] = h.taken[j] = 1;
        edges[count++]          = (tni_edge){a, b, h.owner[i], h.owner[j]};
    }
    polytope->edges      = edges;
    polytope->edge_count = count;
    return TN_OK;
}

static void put_middle(tni_polytope* polytope)
{
    tn_vec3 sum = {0, 0, 0};
    for (int i = 0; i < polytope->vertex_count; ++i)
        sum = tni_add_scaled(sum, 1.0 / polytope->vertex_count, polytope->vertices[i]);
    polytope->middle = sum;
}

static void take_scratch(builder* b)
{
    const int triangles = b->hull.face_count, points = b->count;
    b->face    = TNI_TAKE(&b->arena, int, triangles);
    b->rank    = TNI_TAKE(&b->arena, int, triangles);
    b->area    = TNI_TAKE(&b->arena, double, triangles);
    b->queue   = TNI_TAKE(&b->arena, int, triangles);
    b->next    = TNI_TAKE(&b->arena, int, points);
    b->faces   = TNI_TAKE(&b->arena, int, points);
    b->name    = TNI_TAKE(&b->arena, int, points);
    b->out     = TNI_TAKE(&b->arena, tni_face, triangles);
    b->corners = TNI_TAKE(&b->arena, int, 3 * (size_t)triangles);
}

static tn_result build(builder* b, tni_arena* arena, tni_polytope* polytope)
{
    take_scratch(b);
    if (b->arena.failed) return TN_ERR_MEMORY;
    make_faces(b);
    if (find_vertices(b)) drop_corners(b);
    put_vertices(b, arena, polytope);
    if (!arena->failed) put_faces(b, arena, polytope);
    if (arena->failed) return TN_ERR_MEMORY;
    TRY(put_edges(&b->arena, arena, polytope));
    put_middle(polytope);
    return TN_OK;
}

tn_result tni_polytope_create(tni_arena* arena, const tn_vec3* points, int count,
                              tni_polytope* polytope)
{
    *polytope = (tni_polytope){0};
    builder b = {.points = points, .count = count, .arena = tni_arena_make(&arena->host)};
    tn_vec3 middle;
    TRY(tni_hull_create(&arena->host, points, count, &b.hull));
    b.extent               = tni_points_extent(points, count, &middle);
    const tn_result result = build(&b, arena, polytope);
    tni_arena_free(&b.arena);
    tni_hull_free(&b.hull);
    return result;
}

tn_result tni_polytope_of_box(tni_arena* arena, tn_vec3 half_size, tni_polytope* polytope)
{
    // Bit k of a vertex: the positive side along axis k. Faces +x, -x, +y, -y, +z, -z.
    static const int corner[24] = {1, 3, 7, 5, 0, 4, 6, 2, 2, 6, 7, 3,
                                   0, 1, 5, 4, 4, 5, 7, 6, 0, 2, 3, 1};
    *polytope          = (tni_polytope){.vertex_count = 8, .face_count = 6, .corner_count = 24};
    tn_vec3*  vertices = TNI_TAKE(arena, tn_vec3, 8);
    tni_face* faces    = TNI_TAKE(arena, tni_face, 6);
    int*      corners  = TNI_TAKE(arena, int, 24);
    if (arena->failed) return TN_ERR_MEMORY;
    const double s[3] = {half_size.x, half_size.y, half_size.z};
    for (int i = 0; i < 8; ++i)
        vertices[i] = tni_vec3(i & 1 ? s[0] : -s[0], i & 2 ? s[1] : -s[1], i & 4 ? s[2] : -s[2]);
    for (int i = 0; i < 24; ++i) corners[i] = corner[i];
    for (int f = 0; f < 6; ++f) {
        double n[3] = {0, 0, 0};
        n[f / 2]    = f % 2 == 0 ? 1 : -1;
        faces[f]    = (tni_face){tni_read3(n), s[f / 2], 4 * f, 4};
    }
    polytope->vertices      = vertices;
    polytope->faces         = faces;
    polytope->corners       = corners;
    tni_arena       scratch = tni_arena_make(&arena->host);
    const tn_result result  = put_edges(&scratch, arena, polytope);
    tni_arena_free(&scratch);
    return result;
}
