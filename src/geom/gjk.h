// gjk: distance of two convex shapes and closest points; penetration by epa.c. See gjk.c.
#ifndef TNI_GJK_H
#define TNI_GJK_H

#include "geom/geometry.h"

/// Closest points. If the cores are separated this is exact to rounding: n is the direction between
/// the closest points of the cores, also when the shapes overlap by less than their radii. If the
/// cores overlap, n is the direction of least penetration (epa.c), gap minus the depth, less the
/// radii. On rims of cylinders n and the points are accurate to about 1e-7, the square root of the
/// accuracy of the gap.
typedef struct tni_nearest {
    double  gap;    ///< of the surfaces [m]; negative: penetration
    tn_vec3 n;      ///< unit, from shape 1 to shape 2, world
    tn_vec3 c1, c2; ///< points of the cores, world: gap = n . (c2 - c1) - radii
    bool    deep;   ///< the cores overlap, or touch to 1e-14 of the sizes
    int     rounds;
} tni_nearest;

/// Both shapes must be convex. A pure function of its arguments, bit for bit.
tni_nearest tni_nearest_points(const tni_geometry* g1, const tni_pose* p1, const tni_geometry* g2,
                               const tni_pose* p2);

/// A warm start that changes no result. axis: a direction along which the shapes were separated
/// before; unit, world, from 1 to 2; all zero: none. True if it proves that the gap is larger than
/// reach (by 1e-9 of the sizes at least, so that tni_nearest_points would agree).
bool tni_known_apart(const tni_geometry* g1, const tni_pose* p1, const tni_geometry* g2,
                     const tni_pose* p2, double reach, tn_vec3 axis);

#endif
