// mesh: triangles, a tree of boxes over them, and what they enclose. See mesh.c.
#ifndef TNI_MESH_H
#define TNI_MESH_H

#include "geom/geometry.h"
#include "geom/mass_properties.h"

/// A node of the tree of boxes: children first and first + 1, or `count` triangles from `first`.
typedef struct tni_mesh_node {
    tni_aabb box;
    int      first, count; ///< count 0: inner
} tni_mesh_node;

typedef struct tni_mesh {
    int                  vertex_count, triangle_count, node_count;
    const tn_vec3*       vertices;
    const int*           triangles; ///< three vertices each, counter-clockwise seen from outside
    const int*           beside;    ///< three each: triangle across edge k, k + 1; -1: none
    const int*           order;     ///< triangles as the nodes count them
    const tni_mesh_node* nodes;
    bool closed; ///< along every edge as many triangles one way as the other: it has an inside
} tni_mesh;

enum {
    TNI_TRIANGLES_MAX  = 1 << 20, ///< of a mesh or height field: a spot's feature is 8 t + k < 2^23
    TNI_MESH_DEPTH_MAX = 60,      ///< of the tree: no walk keeps more nodes in mind
    TNI_MESH_VERTEX_MAX = 3 * TNI_TRIANGLES_MAX
};

/// Vertices at the same place are made one. Triangles without area are left out. TN_ERR_MEMORY;
/// TN_ERR_MODEL with *why where an index is out of range, a number not finite, there are too many,
/// or no triangle is left.
TN_NODISCARD tn_result tni_mesh_create(tni_arena* arena, const tn_vec3* vertices, int vertex_count,
                                       const int* triangles, int triangle_count, tni_mesh* mesh,
                                       tn_why* why);
/// Content, centre, inertia of a closed mesh, density 1; content 0 when it is not closed. A mesh
/// that is inside out counts as if it were not.
tni_solid tni_mesh_solid(const tni_mesh* mesh);
/// Calls visit for each triangle whose box meets the box, in an order that depends on the mesh
/// alone.
void tni_mesh_visit(const tni_mesh* mesh, const tni_aabb*          box,
                    void (*visit)(void* user, int triangle), void* user);

/// convex_decomposition.c: a closed mesh as convex pieces, for bodies that move: hulls of parts that it is cut
/// into until none is further than `tolerance` [m] from its hull, or there are `most`, or the work
/// that a mesh of as many triangles is allowed is done. Points of
/// piece i are points[start[i]] .. points[start[i + 1] - 1]; all belong to the arena.
/// TN_ERR_MEMORY, and TN_ERR_MODEL when the mesh spans no volume.
typedef struct tni_pieces {
    int            count;
    const int*     start;
    const tn_vec3* points;
    double         error; ///< the largest distance that is left
    int64_t        work;  ///< it took, in tests of a point against a plane
} tni_pieces;
TN_NODISCARD tn_result tni_mesh_pieces(tni_arena* arena, const tni_mesh* mesh, double tolerance,
                                       int most, tni_pieces* pieces);

#endif
