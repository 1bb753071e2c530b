// mass_properties: volume, centre and second moments of solid shapes.
#ifndef TNI_MASS_PROPERTIES_H
#define TNI_MASS_PROPERTIES_H

#include "geom/convex_hull.h"
#include "tenon/scene.h"

/// Mass properties for a density chosen by the caller.
typedef struct tni_solid {
    double  content;    ///< integral of the density: the volume for density 1
    tn_vec3 centre;     ///< of the content
    double  inertia[6]; ///< about the centre: xx yy zz xy xz yz
} tni_solid;

/// Mass properties for density 1, in the shape's own frame. Planes, height fields and open meshes
/// have no content. Fails with TN_ERR_MEMORY (hulls and meshes need some), or TN_ERR_MODEL if
/// convex points span no volume or a mesh has no triangle.
tn_result tni_shape_solid(const tn_host* host, const tn_shape_def* shape, tni_solid* solid);
/// The same solid in the frame in which `pose` is given. The orientation may have any length.
tni_solid tni_solid_moved(const tni_solid* solid, const tn_frame* pose);
tni_solid tni_solid_scaled(const tni_solid* solid, double density);
/// Both together. A solid without content adds nothing.
tni_solid tni_solid_merged(const tni_solid* a, const tni_solid* b);

/// Sums over the triangles of a closed surface, see mass_properties.c.
typedef struct tni_moments {
    double  volume, square[6]; ///< xx yy zz xy xz yz
    tn_vec3 first;
} tni_moments;

/// Adds a triangle, counter-clockwise seen from outside, with corners (p - middle) / size.
void tni_moments_add(tni_moments* sums, tn_vec3 a, tn_vec3 b, tn_vec3 c);
/// The sums of a hull; its points must be scaled so already.
tni_moments tni_hull_moments(const tni_hull* hull, const tn_vec3* points);
/// The enclosed solid. A surface that is inside out is treated as if it were not.
tni_solid tni_moments_solid(const tni_moments* sums, tn_vec3 middle, double size);

#endif
