// convex_hull: the triangles around the convex hull of points.
#ifndef TNI_CONVEX_HULL_H
#define TNI_CONVEX_HULL_H

#include "base/base.h"
#include "tenon/math.h"

/// A point on the grid used for exact orientation tests: |x|, |y|, |z| <= 2^29.
typedef struct tni_grid_point {
    int32_t x, y, z;
} tni_grid_point;

typedef struct tni_hull_face {
    int     vertex[3];    ///< counter-clockwise seen from outside
    int     neighbour[3]; ///< the face across the edge vertex[k], vertex[k + 1]
    int64_t normal[3];    ///< outward, on the grid
    int     outside;      ///< first outside point assigned to this face, -1: none
    bool    alive;        ///< false: free, in the list of spare faces
    bool    visible;
} tni_hull_face;

typedef struct tni_hull {
    tni_hull_face*  faces;
    int             face_count; ///< including spare ones
    int             spare;      ///< first spare face, linked by `outside`
    int             point_count;
    tni_grid_point* grid;    ///< the points
    int*            next;    ///< by point: the next one of the same face
    int*            leaving; ///< by vertex: the horizon edge that starts there, 3 face + edge
    int*            seen;    ///< visible faces
    int*            horizon; ///< edges in a loop, 3 numbers each: from, to, face beyond
    int64_t         tests;   ///< work done: tests of a point against a face
    tni_arena       arena;
} tni_hull;

/// Fails with TN_ERR_MEMORY, or TN_ERR_MODEL if the points span no volume; then there is nothing to
/// free.
tn_result tni_hull_create(const tn_host* host, const tn_vec3* points, int count, tni_hull* hull);
void      tni_hull_free(tni_hull* hull);

/// True if the points are not in one plane, i.e. tni_hull_create() will find a hull.
bool tni_points_span(const tn_vec3* points, int count);

/// The centre of the bounding box of the points; returns its largest half edge.
double tni_points_extent(const tn_vec3* points, int count, tn_vec3* middle);

#endif
