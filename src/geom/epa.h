// epa: penetration depth of two overlapping cores. See epa.c.
#ifndef TNI_EPA_H
#define TNI_EPA_H

#include "geom/gjk.h"

/// Two cores in the frame of the first: point p of the second is at t + R p.
typedef struct tni_cores {
    const tni_geometry *g1, *g2;
    tni_mat3            R;
    tn_vec3             t;
    double              size; ///< of both together: the scale of rounding
} tni_cores;

/// gjk.c: a point of the Minkowski difference of the cores.
typedef struct tni_difference {
    tn_vec3 y, a; ///< y = b - a; a in the first core, b in the second, frame of the first
    int     f1, f2;
} tni_difference;

/// The support point of the difference: the one with the least n . y.
tni_difference tni_support_difference(const tni_cores* cores, tn_vec3 n);

/// Closest points of separated cores, in the frame of the first: v = b - a is the shortest.
typedef struct tni_distance {
    tn_vec3 v, a;
    double  length;
    bool    overlap; ///< they overlap or touch, to 1e-14 of the sizes; then nothing else is set
    int     rounds;
} tni_distance;

tni_distance tni_core_distance(const tni_cores* cores);

/// The direction n (unit, frame of the first) with the largest gap = min n . y, which is not
/// positive except for rounding; a and b: points of the cores with n . (b - a) = gap.
typedef struct tni_depth {
    double  gap;
    tn_vec3 n, a, b;
    int     rounds;
} tni_depth;

tni_depth tni_core_depth(const tni_cores* cores);

#endif
