// surface: triangles and adjacency of a mesh or a height field. See surface.c.
#ifndef TNI_SURFACE_H
#define TNI_SURFACE_H

#include "geom/geometry.h"

/// Corners of a triangle, counter-clockwise seen from outside.
void tni_surface_corners(const tni_geometry* surface, int triangle, tn_vec3 corner[3]);
/// The triangle across the edge from corner k to the next; -1: boundary.
int tni_surface_neighbour(const tni_geometry* surface, int triangle, int k);
/// Calls visit for each triangle at the box: see tni_mesh_visit, tni_height_field_visit.
void tni_surface_visit(const tni_geometry* surface, const tni_aabb*   box,
                       void (*visit)(void* user, int triangle), void* user);

/// Unit outward normal; accurate also for tiny and huge triangles.
tn_vec3 tni_normal_of(const tn_vec3 corner[3]);
/// The corner of a triangle that equals p bit for bit; -1: none.
int tni_corner_at(const tn_vec3 corner[3], tn_vec3 p);

typedef enum tni_bend { TNI_FLAT, TNI_RIDGE, TNI_VALLEY } tni_bend;

/// Kind of edge k of a triangle with corners v. Boundary edges are ridges.
tni_bend tni_bend_at(const tni_geometry* surface, int triangle, const tn_vec3 v[3], int k);

enum { TNI_FAN_MAX = 64 };
#define TNI_BEND_MIN 1e-5 ///< sine of the angle at an edge below which it counts as flat

typedef struct tni_fan_edge {
    tn_vec3  d; ///< from the corner
    tni_bend bend;
} tni_fan_edge;

/// The edges around corner k of a triangle, the first TNI_FAN_MAX. Returns how many.
int tni_fan_of(const tni_geometry* surface, int triangle, int k, tni_fan_edge edges[TNI_FAN_MAX]);
/// True if corner k is a corner of the surface: not flat around, and not on a straight crease.
bool tni_is_corner(const tni_geometry* surface, int triangle, int k);

/// A triangle as a convex shape: a polytope with two faces, back to back.
typedef struct tni_triangle_shape {
    tn_vec3      vertices[3];
    tni_face     faces[2];
    tni_polytope polytope;
    tni_geometry geometry;
} tni_triangle_shape;

/// Fills in the rest from leaf->vertices; n: their normal. Pointers refer to *leaf itself.
void tni_triangle_shape_make(tni_triangle_shape* shape, tn_vec3 n);

#endif
