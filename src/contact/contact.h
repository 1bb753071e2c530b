// contact: contact points between bodies. find_contacts.c and planes.c find them, rows.c turns one
// into constraint rows.
//
// A contact point is the lowest point of a feature of body 2 over a plane of body 1 (a ball, the
// rim of a disc; a vertex is a ball of radius 0; the plane may be that of a face), or where two
// balls are nearest. It is tracked by its id: as long as both bodies move little, the same id is
// the same pair of features.
#ifndef TNI_CONTACT_H
#define TNI_CONTACT_H

#include "joint/joint.h"

/// Rows of a point: normal; slip, one or two; spin about the normal; roll, one or two.
enum { TNI_CONTACT_ROWS = TNI_WARM_START_ROWS };

typedef struct tni_contact {
    uint64_t id; ///< of the two shapes and their features; unique at a configuration, never 0
    int      body1, body2;
    bool     round; ///< ball on ball; else body 1 has a plane
    bool     wheel; ///< rim of a disc about `axis`, not a ball
    tn_vec3  p1;   ///< a point of the plane or the ball's centre, from the centre of mass of body 1
    tn_vec3  p2;   ///< centre of the ball or disc, from the centre of mass of body 2
    tn_vec3  axis; ///< wheel: unit, body axes of body 2
    tni_mat3 F1;   ///< the plane's axes, in body axes of body 1; z is its normal. Ball on ball:
                   ///< axes of body 1, x roughly perpendicular to the normal
    double       radius1; ///< ball on ball; else 0
    double       radius2; ///< of the ball or disc
    tni_material material;
    tn_vec3      surface1, surface2; ///< belt velocities of the surfaces relative to their bodies,
                                     ///< body axes [m/s]
    double gap;                      ///< where it was found [m]; negative: penetration
} tni_contact;

/// Pose of a shape, from the view of its body.
TNI_INLINE tni_pose tni_shape_pose(const tni_shape* shape, const tni_view* view)
{
    const tni_pose at = {view->x, view->R}, inner = {shape->p, shape->F};
    return tni_pose_of(&at, &inner);
}

/// Collision detection. Its caches make it faster and do not change its results.
typedef struct tni_finder tni_finder;

/// TN_ERR_MEMORY only. Room for pairs of nearby shapes grows between steps: a search that returns
/// TNI_FINDER_FULL found nothing; call tni_finder_grow and repeat it.
TN_NODISCARD tn_result tni_finder_create(const tn_model* model, tni_finder** finder);
void                   tni_finder_free(tni_finder* finder); ///< NULL is allowed
TN_NODISCARD tn_result tni_finder_grow(tni_finder* finder);
bool                   tni_finder_is_full(const tni_finder* finder);

/// Bodies that need no tests among themselves and against immovable ones, and that have not moved
/// since the last search (by body; NULL: none). Used for sleeping bodies.
void tni_finder_exclude(tni_finder* finder, const uint8_t* bodies);

#define TNI_FINDER_FULL (INT32_MAX / 2)

/// All contact points with gap <= reach [m], by rising id, the first `capacity` of them. Returns
/// how many there are, which may be more. Velocities of the views are not used.
int tni_find_contacts(tni_finder* finder, const tni_view* views, double reach,
                      tni_contact* contacts, int capacity);
/// Contact points that matter on the way from one configuration to another: those with a gap near
/// zero at the start, and, for shapes apart, those where they first touch, if they overlap at the
/// end or if one of them is continuous. Gaps are those at the start; otherwise as above.
int tni_find_ahead(tni_finder* finder, const tni_view* start, const tni_view* end,
                   tni_contact* contacts, int capacity);

/// Number of rows of each kind that follow the normal row.
typedef struct tni_contact_counts {
    int slip, spin, roll;
} tni_contact_counts;

/// The rows of a contact point at any configuration: rows[0] the gap along the normal, from body 1
/// to body 2; then the slip along one or two tangents (C is 0): the velocity of body 2's surface at
/// the point less that of body 1's; then the spin about the normal and the roll about one or two
/// tangents, where the material resists them. Each with rate, gamma = Jdot u and the generalised
/// force on either side, for frames (p1, F1) and (p2, identity) in the bodies. Planar bodies have
/// one tangent and no spin.
tni_contact_counts tni_contact_rows(const tn_model* model, const tni_contact* contact,
                                    const tni_view* views, tni_row* rows);
/// World position of the point (on body 2) and the normal from body 1 to body 2.
void tni_contact_place(const tn_model* model, const tni_contact* contact, const tni_view* views,
                       tn_vec3* position, tn_vec3* normal);
/// Angular velocity with which the normal turns; nothing about itself.
tn_vec3 tni_contact_turn(const tn_model* model, const tni_contact* contact, const tni_view* views);

#endif
