// contact: where bodies touch. find.c looks for such points, rows.c turns one into rows.
//
// A point in contact is the lowest point of something of body 2 over a plane of body 1 (of a ball,
// of the rim of a disc; a vertex is a ball of radius 0), or where two spheres are nearest. It is
// tracked by its id: as long as both bodies move little, the same id is the same pair of features.
#ifndef TNI_CONTACT_H
#define TNI_CONTACT_H

#include "joint/joint.h"

typedef struct tni_touch {
    uint64_t id; ///< of the two shapes and the feature of the second; unique at a place, never 0
    int      body1, body2;
    bool     round; ///< sphere on sphere; else body 1 has a plane
    bool     wheel; ///< the rim of a disc about `axis`, not a ball
    tn_vec3  p1;    ///< plane's origin or sphere's centre, from the centre of mass of body 1
    tn_vec3  p2;    ///< centre of the ball or disc, from the centre of mass of body 2
    tn_vec3  axis;  ///< wheel: unit, body axes of body 2
    tni_mat3 F1;    ///< the plane's axes, body axes of body 1; z is its normal. Sphere on sphere:
                    ///< axes of body 1, x being one that lies across the normal more or less
    double radius1; ///< sphere on sphere; else 0
    double radius2; ///< of the ball or disc
    double friction, restitution; ///< of the pair
    double gap;                   ///< where it was found; negative: penetration
} tni_touch;

/// All points with gap <= reach at the views, by rising id, the first `capacity` of them. Returns
/// how many there are, which may be more. Velocities are not looked at.
int tni_find_touches(const tn_model* model, const tni_view* views, double reach, tni_touch* touches,
                     int capacity);

/// The same point at another place: rows[0] the gap along the normal, from body 1 to body 2;
/// rows[1] and rows[2] the slip along two directions across it (C is 0): the velocity of body 2's
/// matter at the point less that of body 1's. Each with rate, gamma = Jdot u and the push on either
/// side, for frames (p1, F1) and (p2, identity) in the bodies.
/// Returns 3, or 2 where neither body leaves the plane z = constant.
int tni_touch_rows(const tn_model* model, const tni_touch* touch, const tni_view* views,
                   tni_row* rows);
/// World position of the point (on body 2) and the normal from body 1 to body 2.
void tni_touch_place(const tn_model* model, const tni_touch* touch, const tni_view* views,
                     tn_vec3* position, tn_vec3* normal);

#endif
