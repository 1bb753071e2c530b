// convex_hull: the triangles around the convex hull of points.
#ifndef TNI_CONVEX_HULL_H
#define TNI_CONVEX_HULL_H

#include "base/base.h"
#include "tenon/math.h"

/// A point on the grid that decides which side is which: |x|, |y|, |z| <= 2^29.
typedef struct tni_grid_point {
    int32_t x, y, z;
} tni_grid_point;

typedef struct tni_hull_face {
    int     vertex[3]; ///< counter-clockwise seen from outside
    int     beside[3]; ///< the face across the edge vertex[k], vertex[k + 1]
    int64_t normal[3]; ///< outwards, on the grid
    int     outside;   ///< first of the points outside that this face keeps, -1: none
    bool    alive;     ///< others are spare
    bool    visible;
} tni_hull_face;

typedef struct tni_hull {
    tni_hull_face*  faces;
    int             face_count; ///< alive and spare ones
    int             spare;      ///< first of the spare faces, chained by `outside`
    int             point_count;
    tni_grid_point* grid;    ///< the points
    int*            next;    ///< of each point: the next one that the same face keeps
    int*            leaving; ///< of each vertex: the horizon edge that leaves it, 3 face + edge
    int*            seen;    ///< faces
    int*            horizon; ///< edges in a loop, 3 numbers each: from, to, face beyond
    int64_t         tests;   ///< of a point against a face: the work it took
    tni_arena       arena;
} tni_hull;

/// Fails with TN_ERR_MEMORY, and with TN_ERR_MODEL when the points span no volume; then there is
/// nothing to free.
tn_result tni_hull_create(const tn_host* host, const tn_vec3* points, int count, tni_hull* hull);
void      tni_hull_free(tni_hull* hull);

/// True when the points do not lie in one plane: tni_hull_create() will find a hull.
bool tni_points_span(const tn_vec3* points, int count);

/// Middle of the box around the points; returns its largest half edge.
double tni_points_extent(const tn_vec3* points, int count, tn_vec3* middle);

#endif
