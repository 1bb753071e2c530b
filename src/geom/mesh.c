// mesh: makes a searchable surface of given triangles.
//
// 1. Vertices at the same position are merged (files of triangles often repeat corners): indices
//    are sorted by x, y, z, and equals take the first one's number. Only used vertices are kept, in
//    the order of their first use.
// 2. Triangles with two equal corners, or with a height below AREA_MIN of their longest edge, have
//    no direction and are removed. The surface is closed if every edge is used as often in one
//    direction as in the other; thin triangles still count there, so that a seam filled by one
//    stays closed.
// 3. Edges are sorted by their ends; the i-th in one direction is matched with the i-th in the
//    other.
// 4. A bounding volume hierarchy, top down: centres of the triangles' boxes are put into BINS slots
//    along each axis, and the cut between slots with the least
//        area(left) count(left) + area(right) count(right)
//    (surface area heuristic) is taken [1]; below DEPTH_EVEN levels, or if all centres are in one
//    slot, the list is halved, so that no tree is deeper than TNI_MESH_DEPTH_MAX.
//
// Mass properties by the divergence theorem: tetrahedra from the centre to each triangle, summed by
// mass_properties.c. Cost: O(n log n) to make.
// [1] I. Wald, On fast Construction of SAH-based Bounding Volume Hierarchies, 2007.
#include "geom/mesh.h"

#include "base/sort.h"
#include "geom/convex_hull.h"

enum { BINS = 12, LEAF = 4, DEPTH_EVEN = 36 };
static const double AREA_MIN = 1e-12;

// ---- Vertices ----------------------------------------------------------------------------------

static bool is_left_of(const void* user, int a, int b)
{
    const tn_vec3 p = ((const tn_vec3*)user)[a], q = ((const tn_vec3*)user)[b];
    if (p.x != q.x) return p.x < q.x;
    if (p.y != q.y) return p.y < q.y;
    return p.z < q.z;
}

// same[i]: the first vertex at the position of vertex i.
static void find_same(const tn_vec3* vertices, int count, int* same, int* order, int* spare)
{
    for (int i = 0; i < count; ++i) order[i] = i;
    tni_sort(order, spare, count, is_left_of, vertices);
    for (int i = 0; i < count; ++i) {
        const bool again = i > 0 && !is_left_of(vertices, order[i - 1], order[i]);
        same[order[i]]   = again ? same[order[i - 1]] : order[i];
    }
}

static bool is_thin(tn_vec3 a, tn_vec3 b, tn_vec3 c)
{
    const tn_vec3 u = tni_sub(b, a), v = tni_sub(c, a), w = tni_sub(c, b);
    const double  size = fmax(tni_max_abs(u), fmax(tni_max_abs(v), tni_max_abs(w)));
    const double  s    = 1 / size; // scaled: tiny and huge meshes lose no digits
    const tn_vec3 n    = tni_cross(tni_scale(s, u), tni_scale(s, v));
    return !(size > 0) || !(tni_norm(n) > AREA_MIN);
}

static tn_result check_input(const tn_vec3* vertices, int vertex_count, const int* triangles,
                             int triangle_count, tn_why* why)
{
    if (triangle_count > TNI_TRIANGLES_MAX || vertex_count > TNI_MESH_VERTEX_MAX)
        return tni_fail(why, TN_ERR_MODEL, "a mesh has %d triangles and %d vertices at most",
                        TNI_TRIANGLES_MAX, TNI_MESH_VERTEX_MAX);
    for (int i = 0; i < vertex_count; ++i) {
        const tn_vec3 v = vertices[i];
        if (!(isfinite(v.x) && isfinite(v.y) && isfinite(v.z)))
            return tni_fail(why, TN_ERR_MODEL, "vertex %d of the mesh is not finite", i);
    }
    for (int i = 0; i < 3 * triangle_count; ++i) {
        if (triangles[i] < 0 || triangles[i] >= vertex_count)
            return tni_fail(why, TN_ERR_MODEL, "triangle %d of the mesh names vertex %d of %d",
                            i / 3, triangles[i], vertex_count);
    }
    return TN_OK;
}

// ---- Edges -------------------------------------------------------------------------------------

// Edge e goes from corner e (counted over all triangles) to the next corner of its triangle.
static int edge_to(const int* triangles, int e)
{
    return triangles[e % 3 == 2 ? e - 2 : e + 1];
}

static void edge_ends(const int* triangles, int e, int* low, int* high)
{
    const int a = triangles[e], b = edge_to(triangles, e);
    *low  = a < b ? a : b;
    *high = a < b ? b : a;
}

static bool is_edge_before(const void* user, int a, int b)
{
    int low_a, high_a, low_b, high_b;
    edge_ends(user, a, &low_a, &high_a);
    edge_ends(user, b, &low_b, &high_b);
    return low_a != low_b ? low_a < low_b : high_a < high_b;
}

// Matches the edges order[0 .. count - 1] with the same ends. True if all are matched.
static bool match(const int* triangles, const int* order, int count, int* neighbour)
{
    int forth = 0, back = 0;
    for (;; ++forth, ++back) {
        while (forth < count && triangles[order[forth]] > edge_to(triangles, order[forth])) ++forth;
        while (back < count && triangles[order[back]] < edge_to(triangles, order[back])) ++back;
        if (forth == count || back == count) return forth == back;
        if (neighbour == NULL) continue;
        neighbour[order[forth]] = order[back] / 3;
        neighbour[order[back]]  = order[forth] / 3;
    }
}

// True if the mesh is closed. neighbour may be NULL.
static bool match_edges(const int* triangles, int triangle_count, int* order, int* spare,
                        int* neighbour)
{
    const int count  = 3 * triangle_count;
    bool      closed = true;
    for (int e = 0; e < count; ++e) {
        order[e] = e;
        if (neighbour != NULL) neighbour[e] = -1;
    }
    tni_sort(order, spare, count, is_edge_before, triangles);
    for (int first = 0, last; first < count; first = last) {
        last = first + 1;
        while (last < count && !is_edge_before(triangles, order[first], order[last])) ++last;
        if (!match(triangles, order + first, last - first, neighbour)) closed = false;
    }
    return closed;
}

// ---- The tree ----------------------------------------------------------------------------------

static double half_area(const tni_aabb* box)
{
    const tn_vec3 d = tni_sub(box->upper, box->lower);
    return d.x * d.y + d.y * d.z + d.z * d.x;
}

static tni_aabb triangle_box(const tni_mesh* mesh, int t)
{
    tni_aabb box = tni_aabb_empty();
    for (int k = 0; k < 3; ++k) tni_aabb_add(&box, mesh->vertices[mesh->triangles[3 * t + k]]);
    return box;
}

typedef struct builder {
    tni_aabb*      boxes; ///< of the triangles
    tni_mesh_node* nodes;
    int *          order, *spare;
    int            node_count;
} builder;

typedef struct slots {
    int      axis;
    double   lower, scale;
    tni_aabb box[BINS];
    int      count[BINS];
} slots;

// Twice the centre of a triangle's box.
static double centre_of(const builder* b, int t, int axis)
{
    return tni_at(b->boxes[t].lower, axis) + tni_at(b->boxes[t].upper, axis);
}

static int slot_of(const builder* b, const slots* s, int t)
{
    const int slot = (int)((centre_of(b, t, s->axis) - s->lower) * s->scale);
    return slot < 0 ? 0 : slot < BINS ? slot : BINS - 1;
}

static bool fill_slots(const builder* b, int first, int count, int axis, slots* s)
{
    double lower = HUGE_VAL, upper = -HUGE_VAL;
    for (int i = first; i < first + count; ++i) {
        lower = fmin(lower, centre_of(b, b->order[i], axis));
        upper = fmax(upper, centre_of(b, b->order[i], axis));
    }
    const double width = upper - lower;
    if (!(width > 0) || !isfinite(width) || !isfinite(BINS / width)) return false;
    *s = (slots){.axis = axis, .lower = lower, .scale = BINS / width};
    for (int k = 0; k < BINS; ++k) s->box[k] = tni_aabb_empty();
    for (int i = first; i < first + count; ++i) {
        const int k = slot_of(b, s, b->order[i]);
        s->box[k]   = tni_aabb_united(&s->box[k], &b->boxes[b->order[i]]);
        ++s->count[k];
    }
    return true;
}

// The cut after slot k of this axis with the least cost; HUGE_VAL: one side is always empty.
static double best_cut(const slots* s, int* cut)
{
    double   right_cost[BINS] = {0}, best = HUGE_VAL;
    tni_aabb box = tni_aabb_empty();
    for (int k = BINS - 1, count = 0; k > 0; --k) {
        box = tni_aabb_united(&box, &s->box[k]);
        count += s->count[k];
        right_cost[k] = count > 0 ? half_area(&box) * count : HUGE_VAL;
    }
    box = tni_aabb_empty();
    for (int k = 0, count = 0; k + 1 < BINS; ++k) {
        box = tni_aabb_united(&box, &s->box[k]);
        count += s->count[k];
        const double cost = count > 0 ? half_area(&box) * count + right_cost[k + 1] : HUGE_VAL;
        if (cost < best) best = cost, *cut = k;
    }
    return best;
}

// Sorts the triangles of one side before those of the other; returns how many are on the first.
static int divide(builder* b, int first, int count, int depth)
{
    slots  chosen = {0}, s;
    double best   = HUGE_VAL;
    int    cut    = 0;
    for (int axis = 0; depth < DEPTH_EVEN && axis < 3; ++axis) {
        int here = 0;
        if (!fill_slots(b, first, count, axis, &s)) continue;
        const double cost = best_cut(&s, &here);
        if (cost < best) best = cost, cut = here, chosen = s;
    }
    if (!(best < HUGE_VAL)) return count / 2;
    int left = 0, right = 0;
    for (int i = first; i < first + count; ++i) {
        const int t = b->order[i];
        if (slot_of(b, &chosen, t) <= cut) b->order[first + left++] = t;
        else b->spare[right++] = t;
    }
    memcpy(b->order + first + left, b->spare, sizeof(int) * (size_t)right);
    return left;
}

// Nodes are created with their triangles, then divided one after the other; depth[i]: depth of node
// i.
static void build_tree(builder* b, int triangle_count, uint8_t* depth)
{
    b->nodes[0]   = (tni_mesh_node){.first = 0, .count = triangle_count};
    b->node_count = 1;
    for (int i = 0; i < b->node_count; ++i) {
        tni_mesh_node* node = &b->nodes[i];
        node->box           = tni_aabb_empty();
        for (int k = 0; k < node->count; ++k)
            node->box = tni_aabb_united(&node->box, &b->boxes[b->order[node->first + k]]);
        if (node->count <= LEAF) continue;
        const int first = node->first, count = node->count;
        const int left              = divide(b, first, count, depth[i]);
        node->first                 = b->node_count;
        node->count                 = 0;
        b->nodes[b->node_count]     = (tni_mesh_node){.first = first, .count = left};
        b->nodes[b->node_count + 1] = (tni_mesh_node){.first = first + left, .count = count - left};
        depth[b->node_count] = depth[b->node_count + 1] = (uint8_t)(depth[i] + 1);
        b->node_count += 2;
    }
}

static tn_result make_tree(tni_arena* arena, tni_arena* scratch, tni_mesh* mesh)
{
    const int n     = mesh->triangle_count;
    builder   b     = {.boxes = TNI_TAKE(scratch, tni_aabb, n),
                       .nodes = TNI_TAKE(arena, tni_mesh_node, 2 * (size_t)n),
                       .order = TNI_TAKE(arena, int, n),
                       .spare = TNI_TAKE(scratch, int, n)};
    uint8_t*  depth = TNI_TAKE(scratch, uint8_t, 2 * (size_t)n);
    if (arena->failed || scratch->failed) return TN_ERR_MEMORY;
    for (int t = 0; t < n; ++t) {
        b.boxes[t] = triangle_box(mesh, t);
        b.order[t] = t;
    }
    build_tree(&b, n, depth);
    mesh->nodes      = b.nodes;
    mesh->node_count = b.node_count;
    mesh->order      = b.order;
    return TN_OK;
}

// ---- Creation ----------------------------------------------------------------------------------

// Selects the triangles that have an area. Returns how many.
static int with_area(const tn_vec3* vertices, const int* named, int count, int* kept)
{
    int n = 0;
    for (int t = 0; t < count; ++t) {
        const int a = named[3 * t], b = named[3 * t + 1], c = named[3 * t + 2];
        if (is_thin(vertices[a], vertices[b], vertices[c])) continue;
        kept[3 * n] = a, kept[3 * n + 1] = b, kept[3 * n + 2] = c;
        ++n;
    }
    return n;
}

static int with_three_corners(const int* triangles, int count, const int* same, int* named)
{
    int n = 0;
    for (int t = 0; t < count; ++t) {
        const int a = same[triangles[3 * t]], b = same[triangles[3 * t + 1]],
                  c = same[triangles[3 * t + 2]];
        if (a == b || b == c || c == a) continue;
        named[3 * n] = a, named[3 * n + 1] = b, named[3 * n + 2] = c;
        ++n;
    }
    return n;
}

// Renumbers the vertices in the order of their first use.
static void keep_used(const tn_vec3* vertices, int* triangles, tni_mesh* mesh, tn_vec3* kept,
                      int* number, int vertex_count)
{
    for (int i = 0; i < vertex_count; ++i) number[i] = -1;
    for (int i = 0; i < 3 * mesh->triangle_count; ++i) {
        const int v = triangles[i];
        if (number[v] < 0) {
            number[v]         = mesh->vertex_count++;
            kept[number[v]].x = vertices[v].x + 0.0; // -0 becomes 0
            kept[number[v]].y = vertices[v].y + 0.0;
            kept[number[v]].z = vertices[v].z + 0.0;
        }
        triangles[i] = number[v];
    }
}

static tn_result make_surface(tni_arena* arena, tni_arena* scratch, const tn_vec3* vertices,
                              int vertex_count, const int* triangles, int triangle_count,
                              tni_mesh* mesh, tn_why* why)
{
    const size_t edges = 3 * (size_t)triangle_count;
    const size_t room  = edges > (size_t)vertex_count ? edges : (size_t)vertex_count;
    int *        same = TNI_TAKE(scratch, int, vertex_count), *order = TNI_TAKE(scratch, int, room);
    int *        spare = TNI_TAKE(scratch, int, room), *named = TNI_TAKE(scratch, int, edges);
    int *        kept = TNI_TAKE(arena, int, edges), *neighbour = TNI_TAKE(arena, int, edges);
    tn_vec3*     used = TNI_TAKE(arena, tn_vec3, vertex_count);
    if (arena->failed || scratch->failed) return TN_ERR_MEMORY;
    find_same(vertices, vertex_count, same, order, spare);
    const int distinct   = with_three_corners(triangles, triangle_count, same, named);
    mesh->triangle_count = with_area(vertices, named, distinct, kept);
    if (mesh->triangle_count == 0)
        return tni_fail(why, TN_ERR_MODEL, "the mesh has no triangle with an area");
    mesh->closed = match_edges(named, distinct, order, spare, NULL);
    keep_used(vertices, kept, mesh, used, same, vertex_count);
    (void)match_edges(kept, mesh->triangle_count, order, spare, neighbour);
    mesh->vertices  = used;
    mesh->triangles = kept;
    mesh->neighbour = neighbour;
    return TN_OK;
}

tn_result tni_mesh_create(tni_arena* arena, const tn_vec3* vertices, int vertex_count,
                          const int* triangles, int triangle_count, tni_mesh* mesh, tn_why* why)
{
    *mesh = (tni_mesh){0};
    TRY(check_input(vertices, vertex_count, triangles, triangle_count, why));
    tni_arena scratch = tni_arena_make(&arena->host);
    tn_result result =
        make_surface(arena, &scratch, vertices, vertex_count, triangles, triangle_count, mesh, why);
    if (result == TN_OK) result = make_tree(arena, &scratch, mesh);
    tni_arena_free(&scratch);
    if (result == TN_ERR_MEMORY) return tni_fail(why, result, "out of memory for a mesh");
    return result;
}

tni_solid tni_mesh_solid(const tni_mesh* mesh)
{
    if (!mesh->closed) return (tni_solid){0};
    tn_vec3      middle;
    const double size = tni_points_extent(mesh->vertices, mesh->vertex_count, &middle);
    tni_moments  sums = {0};
    for (int t = 0; t < mesh->triangle_count; ++t) {
        tn_vec3 corner[3];
        for (int k = 0; k < 3; ++k) {
            const tn_vec3 d = tni_sub(mesh->vertices[mesh->triangles[3 * t + k]], middle);
            corner[k]       = tni_vec3(d.x / size, d.y / size, d.z / size);
        }
        tni_moments_add(&sums, corner[0], corner[1], corner[2]);
    }
    return tni_moments_solid(&sums, middle, size);
}

// ---- Searching ---------------------------------------------------------------------------------

void tni_mesh_visit(const tni_mesh* mesh, const tni_aabb*          box,
                    void (*visit)(void* user, int triangle), void* user)
{
    int stack[TNI_MESH_DEPTH_MAX + 4], count = 0;
    stack[count++] = 0;
    while (count > 0) {
        const tni_mesh_node* node = &mesh->nodes[stack[--count]];
        if (!tni_aabb_meet(&node->box, box)) continue;
        if (node->count == 0) {
            TN_ASSERT(count + 2 <= TNI_MESH_DEPTH_MAX + 4);
            stack[count++] = node->first + 1;
            stack[count++] = node->first;
        }
        for (int k = 0; k < node->count; ++k) {
            const int      t    = mesh->order[node->first + k];
            const tni_aabb here = triangle_box(mesh, t);
            if (tni_aabb_meet(&here, box)) visit(user, t);
        }
    }
}
