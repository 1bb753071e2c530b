// collide: contact manifolds: up to eight points of contact of two shapes, with ids that persist
// while they move a little. See collide.c.
#ifndef TNI_COLLIDE_H
#define TNI_COLLIDE_H

#include "geom/geometry.h"

/// Which shape carries the normal: how the point moves when the shapes move a little.
typedef enum tni_manifold_kind {
    TNI_MANIFOLD_FACE_1, ///< n is fixed in shape 1: its face touches a vertex or ball of shape 2
    TNI_MANIFOLD_FACE_2, ///< the same with the shapes exchanged
    TNI_MANIFOLD_ROUND ///< n points from c1 to c2, fixed in the shapes: ball on ball, edge, vertex
} tni_manifold_kind;

/// A point of contact: gap = n . (c2 - c1) - r1 - r2.
typedef struct tni_manifold_point {
    tni_manifold_kind kind;
    uint32_t          feature; ///< id of TNI_FEATURE_BITS bits; unique among the points of a pair
    tn_vec3           n;       ///< unit, world, from 1 to 2
    tn_vec3 c1, c2; ///< points of the cores, world. On a face: the projection of the other
    double  r1, r2; ///< radii around them
    double  gap;
} tni_manifold_point;

enum {
    TNI_MANIFOLD_MAX = 8, ///< of two convex shapes
    TNI_FEATURE_BITS = 23
};

/// Sine of the angle of axis and normal: above it a rim rolls, below it rests on points.
#define TNI_ROLLS 0.2

/// All points with gap <= reach (reach >= 0), the first `capacity` of them; returns how many there
/// are. Any pair of types except two of plane, mesh and height field; planes are handled by
/// contact/find_contacts.c, 0 here. A pure function of its arguments, bit for bit.
int tni_collide(const tni_geometry* g1, const tni_pose* p1, const tni_geometry* g2,
                const tni_pose* p2, double reach, tni_manifold_point* manifold, int capacity);
/// The same for two convex shapes: at most TNI_MANIFOLD_MAX.
int tni_collide_convex(const tni_geometry* g1, const tni_pose* p1, const tni_geometry* g2,
                       const tni_pose* p2, double reach, tni_manifold_point* manifold);
/// collide_mesh.c: shape 1 is a mesh or a height field, shape 2 convex.
int tni_collide_surface(const tni_geometry* g1, const tni_pose* p1, const tni_geometry* g2,
                        const tni_pose* p2, double reach, tni_manifold_point* manifold,
                        int capacity);

#endif
