// linkage: what the scenes with closed loops share. Their pins lie where circles meet; their bodies
// are often trusses of several rods; their cranks are driven or left to swing.
#ifndef TENON_SCENES_LINKAGE_H
#define TENON_SCENES_LINKAGE_H

#include "parts.h"

enum { TNS_TRUSS_MAX = 128 };

/// In the plane of p (y is kept): the point at distance r from p and s from q, left of the way from
/// p to q as seen from -y (x to the right, z up), or right of it. The circles must meet.
tn_vec3 tns_meet(tn_vec3 p, double r, tn_vec3 q, double s, bool left);

typedef struct tns_segment {
    tn_vec3 a, b;
} tns_segment;

/// One body of up to TNS_TRUSS_MAX round rods of the same radius. Its frame stands at `origin`,
/// along the world's axes. Mass and inertia follow from the density [kg/m^3].
tn_body_id tns_truss(tn_scene* scene, const char* name, tn_vec3 origin, const tns_segment* rods,
                     int count, double radius, double density);
/// The same with a box of even density fixed to it: its centre in the world, its mass [kg], which
/// may be zero: then there is none.
typedef struct tns_load {
    tn_vec3 center, half_size;
    double  mass;
} tns_load;
tn_body_id tns_loaded_truss(tn_scene* scene, const char* name, tn_vec3 origin,
                            const tns_segment* rods, int count, double radius, double density,
                            tns_load load);
/// The same with any shape fixed to it, its pose in the world; NULL: none.
tn_body_id tns_truss_with(tn_scene* scene, const char* name, tn_vec3 origin,
                          const tns_segment* rods, int count, double radius, double density,
                          const tn_shape_def* extra);
/// The mass of one round rod of a truss, whose ends are half balls [kg].
double tns_truss_rod_mass(double length, double radius, double density);
/// The truss of a triangle's three sides, its frame at the centroid.
tn_body_id tns_triangle(tn_scene* scene, const char* name, tn_vec3 a, tn_vec3 b, tn_vec3 c,
                        double radius, double density);

/// The same with a ball of that radius about c that may touch others, without mass: a foot.
tn_body_id tns_footed_triangle(tn_scene* scene, const char* name, tn_vec3 a, tn_vec3 b, tn_vec3 c,
                               double radius, double density, double foot_radius, double friction);

/// A rod of steel or the like: its mass follows from its length [kg/m].
tn_body_id tns_bar(tn_scene* scene, const char* name, tn_vec3 a, tn_vec3 b, double radius,
                   double per_metre);

/// A hinge about y.
tn_joint_id tns_pin(tn_scene* scene, const char* name, tn_body_id body1, tn_body_id body2,
                    tn_vec3 anchor);
/// A hinge about y that turns at the given speed [rad/s]; a free one when that is zero.
tn_joint_id tns_drive(tn_scene* scene, const char* name, tn_body_id body1, tn_body_id body2,
                      tn_vec3 anchor, double velocity);

#endif
