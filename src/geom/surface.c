// surface: common access to meshes and height fields: triangles and their neighbours.
//
// An edge is flat, a ridge or a valley if the opposite corner of the neighbour is in, below or
// above the plane of the triangle, at an angle whose sine is at least TNI_BEND_MIN. A boundary
// edge, or one to a triangle folded back, is a ridge. A vertex is a corner of the surface unless
// the edges around it that are not flat are none, or two in a line.
#include "geom/surface.h"

#include "geom/height_field.h"
#include "geom/mesh.h"

void tni_surface_corners(const tni_geometry* s, int t, tn_vec3 corner[3])
{
    if (s->type == TN_SHAPE_HEIGHTS) {
        tni_height_field_triangle(s->height_field, t, corner);
        return;
    }
    for (int k = 0; k < 3; ++k) corner[k] = s->mesh->vertices[s->mesh->triangles[3 * t + k]];
}

int tni_surface_neighbour(const tni_geometry* s, int t, int k)
{
    return s->type == TN_SHAPE_HEIGHTS ? tni_height_field_neighbour(s->height_field, t, k)
                                       : s->mesh->neighbour[3 * t + k];
}

void tni_surface_visit(const tni_geometry* s, const tni_aabb*         box,
                       void (*visit)(void* user, int triangle), void* user)
{
    if (s->type == TN_SHAPE_HEIGHTS) tni_height_field_visit(s->height_field, box, visit, user);
    else tni_mesh_visit(s->mesh, box, visit, user);
}

tn_vec3 tni_normal_of(const tn_vec3 v[3])
{
    const tn_vec3 u = tni_sub(v[1], v[0]), w = tni_sub(v[2], v[0]);
    const double  s = 1 / fmax(tni_max_abs(u), tni_max_abs(w));
    return tni_normalised(tni_cross(tni_scale(s, u), tni_scale(s, w)));
}

static bool is_same_point(tn_vec3 a, tn_vec3 b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

int tni_corner_at(const tn_vec3 v[3], tn_vec3 p)
{
    for (int k = 0; k < 3; ++k)
        if (is_same_point(v[k], p)) return k;
    return -1;
}

tni_bend tni_bend_at(const tni_geometry* s, int t, const tn_vec3 v[3], int k)
{
    const int other = tni_surface_neighbour(s, t, k);
    if (other < 0) return TNI_RIDGE;
    const tn_vec3 a = v[k], b = v[(k + 1) % 3], n = tni_normal_of(v);
    tn_vec3       w[3];
    tni_surface_corners(s, other, w);
    const tn_vec3 along = tni_normalised(tni_sub(b, a));
    for (int j = 0; j < 3; ++j) {
        if (is_same_point(w[j], a) || is_same_point(w[j], b)) continue;
        const tn_vec3 d    = tni_sub(w[j], a);
        const double  rise = tni_dot(n, d), reach = tni_norm(tni_cross(along, d));
        if (rise > TNI_BEND_MIN * reach) return TNI_VALLEY;
        return rise < -TNI_BEND_MIN * reach || tni_dot(n, tni_normal_of(w)) < 0 ? TNI_RIDGE
                                                                                : TNI_FLAT;
    }
    return TNI_RIDGE; // both triangles have the same corners
}

// ---- Around a corner ---------------------------------------------------------------------------

// Walks around the corner in one direction, then in the other.
int tni_fan_of(const tni_geometry* s, int t, int k, tni_fan_edge edges[TNI_FAN_MAX])
{
    int     count = 0;
    tn_vec3 v[3];
    tni_surface_corners(s, t, v);
    const tn_vec3 p = v[k];
    for (int way = 0; way < 2; ++way) {
        int at = t;
        while (count < TNI_FAN_MAX) {
            tni_surface_corners(s, at, v);
            const int corner = tni_corner_at(v, p);
            if (corner < 0) break; // not a manifold around this corner
            const int edge = way == 0 ? corner : (corner + 2) % 3;
            const int end  = way == 0 ? (corner + 1) % 3 : edge;
            edges[count++] = (tni_fan_edge){tni_sub(v[end], p), tni_bend_at(s, at, v, edge)};
            at             = tni_surface_neighbour(s, at, edge);
            if (at == t) return count; // full circle
            if (at < 0) break;
        }
    }
    return count;
}

bool tni_is_corner(const tni_geometry* s, int t, int k)
{
    tni_fan_edge edges[TNI_FAN_MAX];
    const int    count   = tni_fan_of(s, t, k, edges);
    int          creases = 0;
    tn_vec3      d[2]    = {{0, 0, 0}, {0, 0, 0}};
    for (int i = 0; i < count; ++i) {
        if (edges[i].bend == TNI_FLAT) continue;
        if (creases < 2) d[creases] = tni_normalised(edges[i].d);
        ++creases;
    }
    const bool straight = tni_dot(d[0], d[1]) < 0 && tni_norm(tni_cross(d[0], d[1])) < TNI_BEND_MIN;
    return !(creases == 0 || (creases == 2 && straight));
}

// ---- Triangles as convex shapes ----------------------------------------------------------------

void tni_triangle_shape_make(tni_triangle_shape* shape, tn_vec3 n)
{
    static const int      corners[6] = {0, 1, 2, 0, 2, 1};
    static const tni_edge edges[3]   = {{0, 1, 0, 1}, {1, 2, 0, 1}, {2, 0, 0, 1}};
    const tn_vec3*        v          = shape->vertices;
    const double          offset     = tni_dot(n, v[0]) + 0.0; // not -0
    shape->faces[0]                  = (tni_face){n, offset, 0, 3};
    shape->faces[1]                  = (tni_face){tni_neg(n), -offset + 0.0, 3, 3};
    shape->polytope =
        (tni_polytope){.vertex_count = 3,
                       .face_count   = 2,
                       .corner_count = 6,
                       .edge_count   = 3,
                       .vertices     = v,
                       .faces        = shape->faces,
                       .corners      = corners,
                       .edges        = edges,
                       .middle       = tni_scale(1.0 / 3, tni_add(v[0], tni_add(v[1], v[2])))};
    shape->geometry = (tni_geometry){.type = TN_SHAPE_CONVEX, .polytope = &shape->polytope};
}
