// tenon/query.h: rays, overlaps and closest points of the shapes that collide.
#ifndef TENON_QUERY_H
#define TENON_QUERY_H

#include "tenon/state.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_query tn_query; ///< the shapes of a model at a state

/// For the shapes of this model; call tn_query_update() before the first question. The model must
/// outlive it.
TN_NODISCARD TN_API tn_result tn_query_create(const tn_model* model, tn_query** query);
TN_API void                   tn_query_free(tn_query* query); ///< NULL is allowed
/// Takes the poses of all bodies from this state, of the same model. Allocates nothing. Questions
/// only read, so several threads may ask at once; the answers depend on the last state alone.
TN_API void tn_query_update(tn_query* query, const tn_state* state);

/// Which shapes count. Start from tn_default_query_filter().
typedef struct tn_query_filter {
    uint32_t          groups; ///< bit g: shapes of group g; the world's floor is in group 0
    const tn_body_id* skip;   ///< bodies to ignore
    int               skip_count;
    uint32_t          cookie; ///< proof that the defaults were taken; do not set
} tn_query_filter;

TN_API tn_query_filter tn_default_query_filter(void); ///< all groups, all bodies

typedef struct tn_ray_hit {
    tn_body_id body; ///< null: the world's floor
    int shape; ///< which of the body's shapes that collide, from 0, in the scene's order; a mesh
               ///< that moves counts as many as it has convex pieces
    tn_vec3 position; ///< in the world
    tn_vec3 normal;   ///< of the surface, outwards, unit
    double  distance; ///< from the start of the ray [m]
} tn_ray_hit;

/// The first shape that a ray enters within `length` [m] (HUGE_VAL: anywhere); false: none, and
/// *hit is untouched. Solid shapes are entered from outside only; height fields from above; open
/// meshes from both sides. direction: of any length but 0. filter NULL: all. Of two at the same
/// distance: the one added earlier.
TN_API bool tn_query_ray(const tn_query* query, tn_vec3 from, tn_vec3 direction, double length,
                         const tn_query_filter* filter, tn_ray_hit* hit);
/// Every shape that the ray enters, where it first does, by rising distance. visit returns false to
/// stop; *hit is valid within that call. Returns how often visit was called.
TN_API int tn_query_ray_all(const tn_query* query, tn_vec3 from, tn_vec3 direction, double length,
                            const tn_query_filter* filter,
                            bool (*visit)(void* user, const tn_ray_hit* hit), void* user);

/// Every shape that overlaps or touches a box or a sphere, in the scene's order. Meshes count by
/// their triangles, planes and height fields by all that is below them. visit returns false to
/// stop. Returns how often visit was called.
TN_API int tn_query_box(const tn_query* query, tn_frame pose, tn_vec3 half_size,
                        const tn_query_filter* filter,
                        bool (*visit)(void* user, tn_body_id body, int shape), void* user);
TN_API int tn_query_sphere(const tn_query* query, tn_vec3 centre, double radius,
                           const tn_query_filter* filter,
                           bool (*visit)(void* user, tn_body_id body, int shape), void* user);

typedef struct tn_closest {
    double  distance;       ///< of the surfaces [m]; negative: penetration
    tn_vec3 point1, point2; ///< on body 1 and body 2, in the world
    tn_vec3 normal;         ///< unit, from body 1 to body 2
    int     shape1, shape2; ///< as in tn_ray_hit
} tn_closest;

/// Where two bodies are nearest, or overlap most, whether or not contact between them counts. A
/// closed mesh has a positive distance to what lies within it. TN_ERR_MODEL: a body has no shape
/// that collides, or they are the same; TN_ERR_UNSUPPORTED: no pair of their shapes has a convex
/// one (planes, meshes and height fields are not).
TN_NODISCARD TN_API tn_result tn_query_closest(const tn_query* query, tn_body_id body1,
                                               tn_body_id body2, tn_closest* closest, tn_why* why);

#ifdef __cplusplus
}
#endif
#endif
