// mesh: a triangle mesh with adjacency, a bounding volume hierarchy and its mass properties. See
// mesh.c.
#ifndef TNI_MESH_H
#define TNI_MESH_H

#include "geom/geometry.h"
#include "geom/mass_properties.h"

/// A node of the hierarchy: children first and first + 1, or `count` triangles from `first` on.
typedef struct tni_mesh_node {
    tni_aabb box;
    int      first, count; ///< count 0: inner
} tni_mesh_node;

typedef struct tni_mesh {
    int                  vertex_count, triangle_count, node_count;
    const tn_vec3*       vertices;
    const int*           triangles; ///< three vertices each, counter-clockwise seen from outside
    const int*           neighbour; ///< three each: triangle across edge k, k + 1; -1: boundary
    const int*           order;     ///< triangles in the order of the leaves
    const tni_mesh_node* nodes;
    bool closed; ///< every edge has equally many triangles in both directions: there is an inside
} tni_mesh;

enum {
    TNI_TRIANGLES_MAX   = 1 << 20, ///< of a mesh or height field: a feature is 8 t + k < 2^23
    TNI_MESH_DEPTH_MAX  = 60,      ///< limit of the tree's depth: stacks are sized by it
    TNI_MESH_VERTEX_MAX = 3 * TNI_TRIANGLES_MAX
};

/// Merges vertices at the same position and removes triangles without area. Fails with
/// TN_ERR_MEMORY, or TN_ERR_MODEL with *why if an index is out of range, a number not finite, there
/// are too many, or no triangle is left.
TN_NODISCARD tn_result tni_mesh_create(tni_arena* arena, const tn_vec3* vertices, int vertex_count,
                                       const int* triangles, int triangle_count, tni_mesh* mesh,
                                       tn_why* why);
/// Mass properties of a closed mesh for density 1; content 0 if it is open. A mesh that is inside
/// out is treated as if it were not.
tni_solid tni_mesh_solid(const tni_mesh* mesh);
/// Calls visit for each triangle whose bounding box overlaps the box, in an order that depends on
/// the mesh only.
void tni_mesh_visit(const tni_mesh* mesh, const tni_aabb*          box,
                    void (*visit)(void* user, int triangle), void* user);

/// convex_decomposition.c: decomposes a closed mesh into convex pieces, for moving bodies: parts
/// are cut until none is further than `tolerance` [m] from its hull, or there are `most`, or the
/// limit of work for its number of triangles is reached. Points of piece i are points[start[i]] ..
/// points[start[i + 1] - 1]; all belong to the arena. Fails with TN_ERR_MEMORY, or TN_ERR_MODEL if
/// the mesh spans no volume.
typedef struct tni_convex_pieces {
    int            count;
    const int*     start;
    const tn_vec3* points;
    double         error; ///< the largest remaining distance [m]
    int64_t        work;  ///< work done, in tests of a point against a plane
} tni_convex_pieces;
TN_NODISCARD tn_result tni_mesh_convex_pieces(tni_arena* arena, const tni_mesh* mesh,
                                              double tolerance, int most,
                                              tni_convex_pieces* pieces);

#endif
