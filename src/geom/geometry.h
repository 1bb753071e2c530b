// geometry: shapes as point sets in their own frames; poses and boxes. See geometry.c.
//
// A convex shape is a core and a radius around it: a sphere is a point with a radius, a capsule a
// segment with one; box, cylinder and polytope have radius 0. Distances are those of the cores,
// less the radii. Planes, meshes and height fields are not convex and have no core.
#ifndef TNI_GEOMETRY_H
#define TNI_GEOMETRY_H

#include "base/base.h"
#include "math/rotation.h"
#include "tenon/scene.h"

/// Position of a frame: its point p is at x + R p.
typedef struct tni_pose {
    tn_vec3  x;
    tni_mat3 R;
} tni_pose;

typedef struct tni_aabb {
    tn_vec3 lower, upper;
} tni_aabb;

/// A flat face of a polytope: n . p <= offset inside.
typedef struct tni_face {
    tn_vec3 n;
    double  offset;
    int     first, count; ///< its corners, counter-clockwise seen from outside
} tni_face;

/// An edge from a to b; face `left` contains it in this direction, `right` in the other.
typedef struct tni_edge {
    int a, b, left, right;
} tni_edge;

/// A convex polytope. A triangle is one too: two faces, back to back.
typedef struct tni_polytope {
    int             vertex_count, face_count, corner_count, edge_count;
    const tn_vec3*  vertices;
    const tni_face* faces;
    const int*      corners; ///< vertices of the faces, face after face
    const tni_edge* edges;
    tn_vec3         middle; ///< a point inside
} tni_polytope;

struct tni_mesh;
struct tni_height_field;

/// A shape in its own frame. It does not own what it points to.
typedef struct tni_geometry {
    tn_shape_type                  type;
    double                         radius;      ///< sphere, capsule, cylinder
    double                         half_length; ///< capsule, cylinder, along z
    tn_vec3                        half_size;   ///< box
    const tni_polytope*            polytope;    ///< box and convex
    const struct tni_mesh*         mesh;
    const struct tni_height_field* height_field;
} tni_geometry;

/// polytope.c: a convex hull of points (those on the hull, unchanged and in their order; faces are
/// merged where they are flat to 1e-8 of the extent), and a box: bit k of a vertex is the positive
/// side along axis k, faces are +x, -x, +y, -y, +z, -z. Fails with TN_ERR_MEMORY, or TN_ERR_MODEL
/// if the points span no volume.
TN_NODISCARD tn_result tni_polytope_create(tni_arena* arena, const tn_vec3* points, int count,
                                           tni_polytope* polytope);
TN_NODISCARD tn_result tni_polytope_of_box(tni_arena* arena, tn_vec3 half_size,
                                           tni_polytope* polytope);

bool tni_is_convex(tn_shape_type type);  ///< has a core
bool tni_is_surface(tn_shape_type type); ///< mesh or height field: triangles, see surface.h
/// Of a box or a convex shape; NULL for other types.
const tni_polytope* tni_polytope_of(const tni_geometry* geometry);
/// A point inside a convex shape.
tn_vec3 tni_middle_of(const tni_geometry* geometry);
/// The radius around the core of spheres and capsules; otherwise 0.
double tni_round_radius(const tni_geometry* geometry);
/// Support: the point of the core that is furthest along d (any length but 0), in the shape's
/// frame; of several the first in a fixed order. *feature (may be NULL): which vertex of a box or
/// polytope, which end of a capsule (0: +z, 1: -z); 0 for others.
tn_vec3 tni_support(const tni_geometry* geometry, tn_vec3 d, int* feature);
/// Bounding box at a pose, world axes. Planes: infinite.
tni_aabb tni_bounds(const tni_geometry* geometry, const tni_pose* pose);
/// Largest distance of the shape from the origin of its frame [m]; infinite for planes.
double tni_extent(const tni_geometry* geometry);

// ---- Poses -------------------------------------------------------------------------------------

TNI_INLINE tni_pose tni_pose_home(void)
{
    return (tni_pose){{0, 0, 0}, tni_identity3()};
}

/// The pose `inner`, given relative to outer, in outer's parent frame.
tni_pose tni_pose_of(const tni_pose* outer, const tni_pose* inner);
/// `pose` relative to `from`.
tni_pose tni_pose_seen(const tni_pose* from, const tni_pose* pose);

TNI_INLINE tn_vec3 tni_pose_point(const tni_pose* pose, tn_vec3 p)
{
    return tni_add(pose->x, tni_mul(&pose->R, p));
}

// ---- Boxes -------------------------------------------------------------------------------------

TNI_INLINE tni_aabb tni_aabb_empty(void)
{
    return (tni_aabb){{HUGE_VAL, HUGE_VAL, HUGE_VAL}, {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}};
}

TNI_INLINE tni_aabb tni_aabb_grown(tni_aabb box, double by)
{
    const tn_vec3 d = {by, by, by};
    return (tni_aabb){tni_sub(box.lower, d), tni_add(box.upper, d)};
}

/// The union's bounding box; by comparisons, since fmin and fmax cost several times as much.
TNI_INLINE tni_aabb tni_aabb_united(const tni_aabb* a, const tni_aabb* b)
{
    const tn_vec3 l = a->lower, m = b->lower, u = a->upper, v = b->upper;
    return (tni_aabb){{l.x < m.x ? l.x : m.x, l.y < m.y ? l.y : m.y, l.z < m.z ? l.z : m.z},
                      {u.x > v.x ? u.x : v.x, u.y > v.y ? u.y : v.y, u.z > v.z ? u.z : v.z}};
}

/// Extends the box to contain p.
TNI_INLINE void tni_aabb_add(tni_aabb* box, tn_vec3 p)
{
    const tni_aabb at = {p, p};
    *box              = tni_aabb_united(box, &at);
}

TNI_INLINE bool tni_aabb_meet(const tni_aabb* a, const tni_aabb* b)
{
    return a->lower.x <= b->upper.x && b->lower.x <= a->upper.x && a->lower.y <= b->upper.y &&
           b->lower.y <= a->upper.y && a->lower.z <= b->upper.z && b->lower.z <= a->upper.z;
}

/// The t at which from + t d, 0 <= t <= most, enters a box, rounded so that no box is missed;
/// HUGE_VAL: it does not.
double tni_ray_enters(const tni_aabb* box, tn_vec3 from, tn_vec3 d, double most);

#endif
