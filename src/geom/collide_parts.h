// collide_parts: shared by the files of collide.c.
#ifndef TNI_COLLIDE_PARTS_H
#define TNI_COLLIDE_PARTS_H

#include "geom/collide.h"

/// Two convex shapes in the frame of the first.
typedef struct tni_shape_pair {
    const tni_geometry *g1, *g2;
    tni_pose            pose; ///< of shape 2
    double              reach;
    double              size;   ///< extent of the smaller shape
    double              margin; ///< gaps that differ by less are equal
} tni_shape_pair;

/// Separation of two shapes along a direction.
typedef struct tni_separating_axis {
    double  s; ///< separation; negative: they overlap
    tn_vec3 n; ///< unit, from 1 to 2
    bool    edges;
    tn_vec3 c1, c2;   ///< edges: closest points
    int     id1, id2; ///< edges: their ids
} tni_separating_axis;

/// collide_patch.c: points of contact from a face of either shape along n and what is over it, if
/// their least gap equals `gap` within the margin; otherwise 0.
int tni_patch(const tni_shape_pair* pair, tn_vec3 n, double gap, tni_manifold_point* manifold);
/// A candidate point of a manifold.
typedef struct tni_candidate {
    tn_vec3  c; ///< centre of the ball of the other shape
    double   r, gap;
    uint32_t feature;
    double   far; ///< while selecting: squared distance from the points chosen
} tni_candidate;

/// Reduces more than TNI_MANIFOLD_MAX points to that many: the deepest first, then always the one
/// furthest from those chosen; if squared distances differ by less than slack, the first. Returns
/// how many are left.
int tni_keep_extremes(tni_candidate* candidates, int count, double slack);
/// Hash of features a and b of shapes 1 and 2, of TNI_FEATURE_BITS bits.
uint32_t tni_feature(int kind, int a, int b);

/// collide_box.c: the axis of largest separation of two boxes, faces preferred to edges. Stops
/// early when s > reach.
tni_separating_axis tni_box_separating_axis(const tni_shape_pair* pair);

/// The point of the segment nearest to p, as a fraction of the way from a to b.
TNI_INLINE double tni_nearest_on(tn_vec3 a, tn_vec3 b, tn_vec3 p)
{
    const tn_vec3 d = tni_sub(b, a);
    const double  l = tni_dot(d, d);
    return l > 0 ? fmin(fmax(tni_dot(tni_sub(p, a), d) / l, 0), 1) : 0;
}

/// Closest points of the lines a + t d and a + w + u e.
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
