// collide_parts: what the files of collide.c share.
#ifndef TNI_COLLIDE_PARTS_H
#define TNI_COLLIDE_PARTS_H

#include "geom/collide.h"

/// Two convex shapes in the frame of the first.
typedef struct tni_two {
    const tni_geometry *g1, *g2;
    tni_pose            pose; ///< of shape 2
    double              reach;
    double              size;   ///< how far the smaller one extends
    double              margin; ///< gaps this close are the same gap
} tni_two;

/// How far two shapes are apart along a direction.
typedef struct tni_axis {
    double  s; ///< negative: they overlap
    tn_vec3 n; ///< unit, from 1 to 2
    bool    edges;
    tn_vec3 c1, c2;   ///< edges: where they cross
    int     id1, id2; ///< edges: which
} tni_axis;

/// collide_patch.c: the points of a flat of either shape that faces along n and what lies over it,
/// when the least of their gaps is `gap`, within the margin; 0 when that is not so.
int tni_patch(const tni_two* two, tn_vec3 n, double gap, tni_spot* spots);
/// A point of a patch, before it is a spot.
typedef struct tni_mark {
    tn_vec3  c; ///< centre of the round of the other shape
    double   r, gap;
    uint32_t feature;
    double   far; ///< while some are chosen: from those that are
} tni_mark;

/// Of more than TNI_SPOTS_MAX, that many: the deepest first, then always the one that is furthest
/// from those there are; of two whose squared distances differ by less than slack, the first.
/// Returns how many are left.
int tni_keep_extremes(tni_mark* marks, int count, double slack);
/// A number of TNI_FEATURE_BITS for features a and b of shapes 1 and 2.
uint32_t tni_feature(int kind, int a, int b);

/// collide_box.c: the direction that parts two boxes most, or least if they overlap, faces before
/// edges. Ends early when s > reach.
tni_axis tni_box_axis(const tni_two* two);

/// The segment's point nearest to p, as a fraction of the way from a to b.
TNI_INLINE double tni_nearest_on(tn_vec3 a, tn_vec3 b, tn_vec3 p)
{
    const tn_vec3 d = tni_sub(b, a);
    const double  l = tni_dot(d, d);
    return l > 0 ? fmin(fmax(tni_dot(tni_sub(p, a), d) / l, 0), 1) : 0;
}

/// Where the lines a + t d and a + w + u e are nearest.
TNI_INLINE void tni_cross_lines(tn_vec3 d, tn_vec3 e, tn_vec3 w, double* t, double* u)
{
    const double dd = tni_dot(d, d), ee = tni_dot(e, e), de = tni_dot(d, e);
    const double dw = tni_dot(d, w), ew = tni_dot(e, w), det = dd * ee - de * de;
    *t = (ee * dw - de * ew) / det, *u = (de * dw - dd * ew) / det;
}

TNI_INLINE tn_vec3 tni_between(tn_vec3 a, tn_vec3 b, double t)
{
    return tni_add_scaled(a, t, tni_sub(b, a));
}

#endif
