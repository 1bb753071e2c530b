// gjk: distance of two convex shapes and the points that have it; penetration by epa.c. See gjk.c.
#ifndef TNI_GJK_H
#define TNI_GJK_H

#include "geom/geometry.h"

/// What is nearest. Where the cores are apart this is exact to rounding: n is the direction between
/// the nearest points of the cores, also when the shapes overlap by less than their radii. Where
/// cores overlap, n is the direction of the least translation that parts them (epa.c), gap its
/// length, negative, less the radii. On rims of cylinders n and the points are those of a gap that
/// is exact to rounding: good to about 1e-7, the root of it.
typedef struct tni_nearest {
    double  gap;    ///< of the surfaces; negative: penetration
    tn_vec3 n;      ///< unit, from shape 1 to shape 2, world
    tn_vec3 c1, c2; ///< the points of the cores, world: gap = n . (c2 - c1) - radii
    bool    deep;   ///< the cores overlap, or touch to 1e-14 of the sizes
    int     rounds;
} tni_nearest;

/// Both shapes convex. Depends on its arguments alone, in every bit.
tni_nearest tni_nearest_points(const tni_geometry* g1, const tni_pose* p1, const tni_geometry* g2,
                               const tni_pose* p2);

/// A warm start that changes no result: a direction along which the shapes were apart the last
/// time. True when it shows that the gap is larger than reach (by 1e-9 of the sizes at least, so
/// that tni_nearest_points would agree). axis: unit, world, from 1 to 2; all zero: nothing known.
bool tni_known_apart(const tni_geometry* g1, const tni_pose* p1, const tni_geometry* g2,
                     const tni_pose* p2, double reach, tn_vec3 axis);

#endif
