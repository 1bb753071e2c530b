// ray_cast: ray casts, time of first contact, closest triangle. See ray_cast.c.
#ifndef TNI_RAY_CAST_H
#define TNI_RAY_CAST_H

#include "geom/gjk.h"

typedef struct tni_hit {
    double  t;        ///< in units of d
    tn_vec3 n;        ///< outward normal of the surface, world
    int     triangle; ///< of a mesh or height field; otherwise -1
} tni_hit;

/// The first point where from + t d, 0 <= t <= most, enters the shape from outside: a ray that
/// starts inside a solid shape hits it only if it leaves it and comes back. Any type. Height fields
/// are hit from above, open meshes from both sides. Zero direction or NaN: no hit.
bool tni_cast_ray(const tni_geometry* geometry, const tni_pose* pose, tn_vec3 from, tn_vec3 d,
                  double most, tni_hit* hit);

/// A rigid motion over 0 <= t <= 1: the point `centre` of the shape's frame moves in a straight
/// line by `move`, the shape rotates about it by the rotation vector `turn` at a constant rate.
typedef struct tni_rigid_motion {
    tni_pose start; ///< of the shape
    tn_vec3  centre, move, turn;
} tni_rigid_motion;

tni_pose tni_rigid_motion_at(const tni_rigid_motion* motion, double t);

/// Conservative advancement: the first t up to 1 at which the gap is <= reach (reach > 0, to 10 %
/// of it, never below half of it). False: no contact. 0 if they start nearer. Any pair of types
/// that tni_collide takes, and planes against convex shapes.
bool tni_first_touch(const tni_geometry* g1, const tni_rigid_motion* m1, const tni_geometry* g2,
                     const tni_rigid_motion* m2, double reach, double* t);

/// Closest points of a mesh or height field (1) and a convex shape (2), from its triangles only: a
/// shape inside has a positive gap. A negative gap is that of an intersected triangle.
tni_nearest tni_nearest_of_surface(const tni_geometry* g1, const tni_pose* p1,
                                   const tni_geometry* g2, const tni_pose* p2);

#endif
