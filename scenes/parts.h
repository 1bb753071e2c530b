// parts: what the built-in scenes are made of. Rods, boxes, balls and wheels with the inertia of a
// solid of even density, joints placed in the world, and the little vector algebra that placing
// needs. Directions come from square roots alone, never from sin and cos: a scene has the same
// bits everywhere. Shapes are there to be drawn: linkages overlap where they are pinned, so
// nothing here collides but what tns_solid and tns_wall make.
#ifndef TENON_SCENES_PARTS_H
#define TENON_SCENES_PARTS_H

#include "tenon/scene.h"

#include <math.h>

#define TNS_GROUND  ((tn_body_id){0})
#define TNS_X       ((tn_vec3){1, 0, 0})
#define TNS_Y       ((tn_vec3){0, 1, 0})
#define TNS_Z       ((tn_vec3){0, 0, 1})
#define TNS_UPRIGHT ((tn_quat){1, 0, 0, 0})
#define TNS_AT_REST ((tn_twist){{0, 0, 0}, {0, 0, 0}})

static inline tn_vec3 tns_vec(double x, double y, double z)
{
    return (tn_vec3){x, y, z};
}
static inline tn_vec3 tns_add(tn_vec3 a, tn_vec3 b)
{
    return tns_vec(a.x + b.x, a.y + b.y, a.z + b.z);
}
static inline tn_vec3 tns_sub(tn_vec3 a, tn_vec3 b)
{
    return tns_vec(a.x - b.x, a.y - b.y, a.z - b.z);
}
static inline tn_vec3 tns_scale(double s, tn_vec3 a)
{
    return tns_vec(s * a.x, s * a.y, s * a.z);
}
static inline double tns_dot(tn_vec3 a, tn_vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static inline double tns_length(tn_vec3 a)
{
    return sqrt(tns_dot(a, a));
}
static inline tn_vec3 tns_unit(tn_vec3 a)
{
    return tns_scale(1 / tns_length(a), a);
} ///< a not zero
static inline tn_vec3 tns_cross(tn_vec3 a, tn_vec3 b)
{
    return tns_vec(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
/// a + t (b - a)
static inline tn_vec3 tns_mix(tn_vec3 a, tn_vec3 b, double t)
{
    return tns_add(a, tns_scale(t, tns_sub(b, a)));
}
/// Straight up from a, or down when height < 0.
static inline tn_vec3 tns_above(tn_vec3 a, double height)
{
    return tns_vec(a.x, a.y, a.z + height);
}

/// The shortest turn that takes unit vector a to unit vector b. Opposite ones: half a turn about
/// any normal of a.
tn_quat tns_turn(tn_vec3 a, tn_vec3 b);
tn_vec3 tns_rotate(tn_quat q, tn_vec3 v);
tn_quat tns_quat_mul(tn_quat a, tn_quat b); ///< b first, then a
/// The frame's origin and attitude seen from the world: world = pose(local).
tn_vec3                tns_place(tn_frame pose, tn_vec3 local);
static inline tn_frame tns_frame(tn_vec3 position)
{
    return (tn_frame){position, TNS_UPRIGHT};
}

/// (cos, sin, 0) of an angle in full turns, by series: quarter turns are exact.
tn_vec3              tns_circle(double turns);
tn_quat              tns_turn_about(tn_vec3 unit_axis, double turns);
static inline double tns_radians(double turns)
{
    return 6.2831853071795865 * turns;
}
static inline double tns_turns(double radians)
{
    return radians / 6.2831853071795865;
}
/// 0 up to time a, 1 from b to c, 0 from d on; between them it rises and falls smoothly (3 s^2 - 2
/// s^3).
double tns_pulse(double time, double a, double b, double c, double d);

/// A short text made by printf, held by value: tns_name("link%d", i).text
typedef struct tns_text {
    char text[48];
} tns_text;
tns_text tns_name(const char* format, ...) __attribute__((format(printf, 1, 2)));

/// Name and duration [s] of the scene; method and step stay the defaults.
void tns_setup(tn_scene* scene, const char* name, double duration);
/// The same for scenes that show a paper's method: by it, at the rate of a screen.
void tns_setup_method(tn_scene* scene, const char* name, tn_method method, double duration);

/// A rod from a to b, drawn as a capsule with round ends about a and b. Body frame in the middle,
/// z from a to b. Inertia of the solid cylinder between a and b.
tn_body_id tns_rod(tn_scene* scene, const char* name, tn_vec3 a, tn_vec3 b, double radius,
                   double mass);
/// That rod on the move. The ends' velocities must leave their distance as it is.
tn_body_id tns_moving_rod(tn_scene* scene, const char* name, tn_vec3 a, tn_vec3 b,
                          tn_vec3 velocity_a, tn_vec3 velocity_b, double radius, double mass);
/// tns_rod as a planar body: a and b in the plane z = 0, body x from a to b.
tn_body_id tns_planar_rod(tn_scene* scene, const char* name, tn_vec3 a, tn_vec3 b, double radius,
                          double mass);
tn_body_id tns_box(tn_scene* scene, const char* name, tn_frame pose, tn_vec3 half_size,
                   double mass);
/// A rod and a box in a colour: red, green, blue in 0..1.
tn_body_id tns_painted_rod(tn_scene* scene, const char* name, tn_vec3 a, tn_vec3 b, double radius,
                           double mass, tn_vec3 color);
tn_body_id tns_painted_box(tn_scene* scene, const char* name, tn_frame pose, tn_vec3 half_size,
                           double mass, tn_vec3 color);
tn_body_id tns_sphere(tn_scene* scene, const char* name, tn_vec3 center, double radius,
                      double mass);
/// A solid cylinder; body z along the axis (a unit vector).
tn_body_id tns_wheel(tn_scene* scene, const char* name, tn_vec3 center, tn_vec3 axis, double radius,
                     double half_width, double mass);

/// What a surface is like. The friction of a pair is the geometric mean of the two, its restitution
/// the larger one.
typedef struct tns_surface {
    double friction, restitution;
} tns_surface;
/// A rigid body that collides: a shape of even density with its centre at the body frame.
tn_body_id tns_solid(tn_scene* scene, const char* name, tn_frame pose, tn_twist velocity,
                     double mass, tn_shape_def shape, tns_surface surface);
/// A body that nothing moves and others may touch; the shape says what its surface is like.
tn_body_id tns_fixed(tn_scene* scene, const char* name, tn_frame pose, tn_shape_def shape);
/// A box shape, to be given to one of them.
tn_shape_def tns_box_shape(tn_vec3 half_size);
/// A capsule whose ends are balls about a and b. Body frame in the middle, z from a to b.
tn_body_id tns_capsule(tn_scene* scene, const char* name, tn_vec3 a, tn_vec3 b, double radius,
                       tn_twist velocity, double mass, tns_surface surface);
/// A plane that nothing moves; what collides stays on the side of its unit normal. The body's x
/// axis lies in the plane.
tn_body_id tns_wall(tn_scene* scene, const char* name, tn_vec3 point, tn_vec3 normal,
                    tns_surface surface);

/// A joint at a point of the world, about or along a direction of the world, still to be named and
/// added.
tn_joint_def tns_joint(tn_joint_type type, tn_body_id body1, tn_body_id body2, tn_vec3 anchor,
                       tn_vec3 axis);
/// The same, added at once.
tn_joint_id tns_joint_at(tn_scene* scene, const char* name, tn_joint_type type, tn_body_id body1,
                         tn_body_id body2, tn_vec3 anchor, tn_vec3 axis);

/// Rods in a straight line, one after the other: "link1" by joint "j1" to the ground at start,
/// "link2" by "j2" to link1, and so on.
typedef struct tns_links {
    int                count;
    tn_vec3            start, step;  ///< from the start of a rod to its end [m]
    double             radius, mass; ///< of one rod [m], [kg]
    double             tip_mass;     ///< added to the mass of the last rod [kg]
    tn_joint_type      joint;
    tn_vec3            axis;
    double             stiffness, damping; ///< [N m/rad], [N m s/rad]
    const tns_surface* touching;           ///< NULL: drawn only
} tns_links;
/// Returns the last rod.
tn_body_id tns_add_links(tn_scene* scene, const tns_links* links);
tn_vec3    tns_links_end(const tns_links* links);

#endif
