// mass_properties: volume, centre and second moments of solid shapes.
#ifndef TNI_MASS_PROPERTIES_H
#define TNI_MASS_PROPERTIES_H

#include "geom/convex_hull.h"
#include "tenon/scene.h"

/// What a solid is made of, for a density that the maker names.
typedef struct tni_solid {
    double  content;    ///< integral of the density: the volume for density 1
    tn_vec3 centre;     ///< of the content
    double  inertia[6]; ///< about the centre: xx yy zz xy xz yz
} tni_solid;

/// Of density 1, in the shape's own frame. Planes, height fields and meshes that are not closed
/// have no content. Fails with TN_ERR_MEMORY (hulls and meshes need some), and with TN_ERR_MODEL
/// when convex points span no volume or a mesh is none.
tn_result tni_shape_solid(const tn_host* host, const tn_shape_def* shape, tni_solid* solid);
/// The same content seen from the frame in which `pose` is given. The orientation may have any
/// length.
tni_solid tni_solid_moved(const tni_solid* solid, const tn_frame* pose);
tni_solid tni_solid_scaled(const tni_solid* solid, double density);
/// Both together (parallel axes). A solid without content adds nothing.
tni_solid tni_solid_merged(const tni_solid* a, const tni_solid* b);

/// Sums over the triangles of a closed surface, see mass_properties.c.
typedef struct tni_moments {
    double  volume, square[6]; ///< xx yy zz xy xz yz
    tn_vec3 first;
} tni_moments;

/// A triangle, counter-clockwise seen from outside, its corners being (p - middle) / size.
void tni_moments_add(tni_moments* sums, tn_vec3 a, tn_vec3 b, tn_vec3 c);
/// Those of a hull, its points being so already.
tni_moments tni_hull_moments(const tni_hull* hull, const tn_vec3* points);
/// What they enclose. Inside out counts as if it were not.
tni_solid tni_moments_solid(const tni_moments* sums, tn_vec3 middle, double size);

#endif
