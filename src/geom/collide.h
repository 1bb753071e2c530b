// collide: where two shapes touch, as up to eight points that stay the same while they move little.
// See collide.c.
#ifndef TNI_COLLIDE_H
#define TNI_COLLIDE_H

#include "geom/geometry.h"

/// To whom the normal belongs: how the point goes on when the shapes move a little.
typedef enum tni_spot_kind {
    TNI_SPOT_FACE_1, ///< n is fixed in shape 1: its face meets a vertex, or the round, of shape 2
    TNI_SPOT_FACE_2, ///< the other way round
    TNI_SPOT_ROUND ///< n leads from c1 to c2, which are fixed in the shapes: rounds, or a round and
                   ///< an edge or a vertex
} tni_spot_kind;

/// A place where surfaces touch: gap = n . (c2 - c1) - r1 - r2.
typedef struct tni_spot {
    tni_spot_kind kind;
    uint32_t      feature; ///< TNI_FEATURE_BITS of them; of the two shapes at a place, unique
    tn_vec3       n;       ///< unit, world, from 1 to 2
    tn_vec3       c1, c2;  ///< world: points of the cores. Of a face: the point below the other
    double        r1, r2;  ///< radii around them
    double        gap;
} tni_spot;

enum {
    TNI_SPOTS_MAX    = 8, ///< of two convex shapes
    TNI_FEATURE_BITS = 23
};

#define TNI_ROLLS 0.2 ///< sine of axis and normal: above, a rim rolls; below, it stands on points

/// All places with gap <= reach, reach >= 0, the first `capacity` of them; returns how many there
/// are. Any two types but two of plane, mesh and heights together; planes belong to contact/find_contacts.c
/// and are answered with 0. Same bits wherever it is called: depends on its arguments alone.
int tni_collide(const tni_geometry* g1, const tni_pose* p1, const tni_geometry* g2,
                const tni_pose* p2, double reach, tni_spot* spots, int capacity);
/// The same, two convex shapes: at most TNI_SPOTS_MAX.
int tni_collide_convex(const tni_geometry* g1, const tni_pose* p1, const tni_geometry* g2,
                       const tni_pose* p2, double reach, tni_spot* spots);
/// collide_mesh.c: shape 1 is a mesh or a height field, shape 2 convex.
int tni_collide_surface(const tni_geometry* g1, const tni_pose* p1, const tni_geometry* g2,
                        const tni_pose* p2, double reach, tni_spot* spots, int capacity);

#endif
