// tenon/scene.h: the editable description of a mechanism: bodies, joints, forces, shapes.
//
// Start a def from its tn_default_..._def(), fill it in, add it, keep the id. A def may go out of
// scope at once: everything in it is copied, names and arrays included. An add that fails returns
// the null id (or an error), leaves the scene as it was, and the scene remembers the first reason:
// ask tn_scene_problem(), or let tn_scene_compile() report it. A def that does not start from its
// defaults asserts, and is refused.
//
// Names are unique within their kind, at most 63 bytes of UTF-8. Where they are optional, NULL and
// "" mean none; bodies and joints without one are called "body<n>" and "joint<n>".
#ifndef TENON_SCENE_H
#define TENON_SCENE_H

#include "tenon/base.h"
#include "tenon/math.h"
#include "tenon/settings.h"

#include <math.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_scene tn_scene; ///< editable description: bodies, joints, forces, shapes

/// Parts of a scene, passed by value. All bits zero is the null id; a null body is the ground. Each
/// kind counts for itself: the part with index i (from 0, in the order of adding) has bits i + 1,
/// in the scene and in all models made from it.
typedef struct tn_body_id {
    uint32_t bits;
} tn_body_id;
typedef struct tn_joint_id {
    uint32_t bits;
} tn_joint_id;
typedef struct tn_coupling_id {
    uint32_t bits;
} tn_coupling_id;
typedef struct tn_spring_id {
    uint32_t bits;
} tn_spring_id;
typedef struct tn_target_id {
    uint32_t bits;
} tn_target_id;
typedef struct tn_load_id {
    uint32_t bits;
} tn_load_id;
typedef struct tn_drag_id {
    uint32_t bits;
} tn_drag_id;

/// Stands in a def for "not given" where every number would mean something. Test with isnan().
#define TN_UNSET ((double)NAN)

TN_NODISCARD TN_API tn_result tn_scene_create(const tn_host* host, tn_scene** scene);
TN_API void                   tn_scene_free(tn_scene* scene); ///< NULL is allowed
/// The first add that failed, if any: TN_OK when the scene is whole so far.
TN_API tn_result tn_scene_problem(const tn_scene* scene, tn_why* why);

TN_API void        tn_scene_set_name(tn_scene* scene, const char* name);
TN_API const char* tn_scene_name(const tn_scene* scene); ///< valid until it is set again
TN_API void        tn_scene_set_gravity(tn_scene* scene, tn_vec3 gravity); ///< [m/s^2]
TN_API tn_vec3     tn_scene_gravity(const tn_scene* scene); ///< default (0, 0, -9.81)
/// The settings that steppers of this scene get by default.
TN_API void        tn_scene_set_settings(tn_scene* scene, const tn_settings* settings);
TN_API tn_settings tn_scene_settings(const tn_scene* scene);

// ---- Bodies --------------------------------------------------------------------------------------

typedef enum tn_body_kind {
    TN_BODY_RIGID,     ///< 6 degrees of freedom
    TN_BODY_PARTICLE,  ///< 3: a point with mass
    TN_BODY_PLANAR,    ///< 3: x, y and the angle about z
    TN_BODY_AFFINE,    ///< 12: a frame that may stretch and shear, with its own elastic energy
    TN_BODY_STATIC,    ///< 0: part of the world
    TN_BODY_KINEMATIC, ///< 0: moves along keys, whatever acts on it
    TN_BODY_USER,      ///< what its tn_body_table says
    TN_BODY_KIND_COUNT
} tn_body_kind;

/// A pose at a time. Between keys positions run straight and orientations turn about one axis at a
/// constant rate (slerp); before the first and after the last key the pose rests.
typedef struct tn_key {
    double   time; ///< [s]
    tn_frame pose; ///< in the world
} tn_key;

typedef enum tn_shape_type {
    TN_SHAPE_SPHERE,
    TN_SHAPE_BOX,
    TN_SHAPE_CAPSULE,
    TN_SHAPE_CYLINDER,
    TN_SHAPE_CONVEX,
    TN_SHAPE_MESH,
    TN_SHAPE_PLANE,
    TN_SHAPE_HEIGHTS,
    TN_SHAPE_TYPE_COUNT
} tn_shape_type;

typedef struct tn_shape_def {
    tn_shape_type  type;
    tn_frame       pose;        ///< in the body's frame
    double         radius;      ///< sphere, capsule, cylinder [m]
    double         half_length; ///< capsule, cylinder, along z [m]
    tn_vec3        half_size;   ///< box [m]
    const tn_vec3* points;      ///< convex: the shape is their hull, shape's frame [m]
    int            point_count;
    const tn_vec3* vertices; ///< mesh, in the shape's frame [m]
    int            vertex_count;
    const int*     triangles; ///< mesh: three vertices each, counter-clockwise seen from outside
    int            triangle_count;
    const char*    file; ///< mesh: path it was read from, written to files instead of the triangles
    double         pieces_tolerance; ///< mesh that moves: error of its convex decomposition [m];
                                     ///< TN_UNSET: 2 % of its size
    const double* heights;           ///< height field: z over a grid, row after row (along x) [m]
    int           rows, columns;
    double        spacing[2];        ///< height field: of the grid, in x and y [m]
    double        friction;          ///< Coulomb's coefficient
    double        restitution;       ///< 0..1
    double        rolling_friction;  ///< resisting torque per normal force [m]
    double        spinning_friction; ///< the same about the normal [m]
    double        stiffness; ///< of each point of contact [N/m]: soft contact; TN_UNSET: hard
    double        damping;   ///< of soft contact [N s/m]
    tn_vec3       surface_velocity; ///< conveyor belt: of the surface, in the shape's frame [m/s]
    int           group;            ///< 0..31
    uint32_t      collides_with;    ///< bit g: touches shapes of group g whose bits say so, too
    double        density;          ///< [kg/m^3]; TN_UNSET: none given
    tn_vec3       color;            ///< red, green, blue in 0..1; x unset: the viewer's choice
    bool          collide;          ///< false: it has mass and is drawn, but touches nothing
    uint32_t      cookie;           ///< proof that the defaults were taken; do not set
} tn_shape_def;

typedef struct tn_body_table tn_body_table;

typedef struct tn_body_def {
    const char*  name; ///< unique among bodies; NULL or empty: "body<n>"
    tn_body_kind kind;
    double       mass; ///< [kg]; TN_UNSET: from the shapes' densities
    tn_vec3      com;  ///< centre of mass in the body frame [m]; x unset: from the shapes, or 0
    double       inertia[6]; ///< about the centre of mass, body axes: xx yy zz xy xz yz [kg m^2];
                             ///< inertia[0] unset: from the shapes
    tn_frame pose;           ///< of the body frame, in the world
    tn_twist velocity;       ///< of the body frame's origin, world axes

    const tn_shape_def* shapes;
    int                 shape_count;
    const tn_key*       keys; ///< kinematic
    int                 key_count;
    bool continuous; ///< continuous collision detection: nothing is tunnelled through

    double young;   ///< affine: Young's modulus [Pa]; 0: no elastic energy
    double poisson; ///< affine: Poisson's ratio, -1 < nu < 0.5
    double volume;  ///< affine [m^3]; TN_UNSET: that of the shapes

    const tn_body_table* table; ///< user-defined; must outlive every model made from it
    const void*          data;  ///< user-defined; likewise
    const double* user_q; ///< user-defined: table->coordinate_count start values; joints given by
                          ///< anchor take the body to be at `pose` then
    const double* user_u; ///< user-defined: table->dim start velocities; NULL: at rest
    void*         user_data; ///< yours: the library only keeps it; not written to files
    uint32_t      cookie;    ///< proof that the defaults were taken; do not set
} tn_body_def;

TN_API tn_shape_def tn_default_shape_def(tn_shape_type type);
/// Rigid, at the origin, at rest, mass and inertia from shapes.
TN_API tn_body_def tn_default_body_def(void);
TN_API tn_body_id  tn_scene_add_body(tn_scene* scene, const tn_body_def* def);
/// Changes the user_data of a body, as after reading a file; not of the null body.
TN_API void tn_scene_set_body_user_data(tn_scene* scene, tn_body_id body, void* user_data);

/// A user-defined kind of body (TN_BODY_USER), by functions: q are its coordinate_count
/// coordinates, u its dim velocities, data that of its def. All functions but the optional ones
/// must be given.
struct tn_body_table {
    int coordinate_count;
    int dim; ///< 1..64
    /// M, dim x dim, row-major, symmetric positive definite.
    void (*mass)(const void* data, const double* q, double* M);
    /// Velocity-dependent inertial and own elastic forces, dim numbers. Optional: none.
    void (*force)(const void* data, const double* q, const double* u, double* f);
    /// q_out = q moved by the tangent vector d (dim numbers); d = h u to first order.
    void (*advance)(const void* data, const double* q, const double* d, double* q_out);
    /// Rate of d when the body, moved by d from q, has velocity u. Optional: the rate is u.
    void (*tangent_rate)(const void* data, const double* d, const double* u, double* d_rate);
    /// World position of the point p given in the body's frame, its Jacobian (3 x dim, row-major),
    /// and its acceleration at zero udot. jacobian and bias may be NULL when not wanted.
    void (*point)(const void* data, const double* q, const double* u, tn_vec3 p, tn_vec3* position,
                  double* jacobian, tn_vec3* bias);
    /// The same for a direction fixed in the body. Optional: then joints with axes refuse this
    /// body.
    void (*direction)(const void* data, const double* q, const double* u, tn_vec3 d,
                      tn_vec3* direction, double* jacobian, tn_vec3* bias);
    /// Elastic energy, apart from gravity [J]. Optional: 0.
    double (*energy)(const void* data, const double* q);
};

// ---- Joints --------------------------------------------------------------------------------------

// name, word in files
#define TN_JOINT_LIST(X)                         \
    X(TN_JOINT_WELD, "weld")                     \
    X(TN_JOINT_HINGE, "hinge")                   \
    X(TN_JOINT_SLIDER, "slider")                 \
    X(TN_JOINT_SCREW, "screw")                   \
    X(TN_JOINT_CYLINDER, "cylinder")             \
    X(TN_JOINT_UNIVERSAL, "universal")           \
    X(TN_JOINT_BALL, "ball")                     \
    X(TN_JOINT_PLANE, "plane")                   \
    X(TN_JOINT_POINT_ON_LINE, "point_on_line")   \
    X(TN_JOINT_POINT_ON_PLANE, "point_on_plane") \
    X(TN_JOINT_DISTANCE, "distance")             \
    X(TN_JOINT_MOTOR, "motor")                   \
    X(TN_JOINT_ROLLING, "rolling")               \
    X(TN_JOINT_ROPE, "rope")                     \
    X(TN_JOINT_USER, "user")

typedef enum tn_joint_type {
#define TN_JOINT_ENUM(name, word) name,
    TN_JOINT_LIST(TN_JOINT_ENUM)
#undef TN_JOINT_ENUM
        TN_JOINT_TYPE_COUNT
} tn_joint_type;

/// How a joint's place is given.
typedef enum tn_joint_form {
    TN_JOINT_BY_ANCHOR, ///< anchor, axis, axis2 in the world at the initial configuration
    TN_JOINT_BY_FRAMES, ///< a frame in each body; z is the axis, x the second one
    TN_JOINT_BY_POINTS  ///< distance and rope: a point in each body's frame
} tn_joint_form;

/// How a constraint is solved for: which are in the factored matrix. The motion does not depend on
/// it.
typedef enum tn_role {
    TN_ROLE_AUTO,      ///< by the compiler: a forest of the joints with the most rows is primary
    TN_ROLE_PRIMARY,   ///< part of the forest, unless it would close a loop of such joints
    TN_ROLE_AUXILIARY, ///< by a Schur complement on that forest
    TN_ROLE_COUNT
} tn_role;

/// Limits of a joint's motion: one-sided springs and dampers, or hard.
typedef struct tn_limit {
    bool   given;                    ///< false: no limits, whatever the rest says
    double lower, upper;             ///< first coordinate [rad or m]; lower > upper: free
    double cone;                     ///< ball: half angle about the axis [rad]; TN_UNSET: free
    double twist_lower, twist_upper; ///< ball: about the axis [rad]; lower > upper: free
    double stiffness, damping;       ///< beyond the end [N m/rad, N m s/rad or N/m, N s/m]
    bool   hard;                     ///< cannot be exceeded, and needs no stiffness
} tn_limit;

/// A number at a time; linear between keys, constant before the first and after the last.
typedef struct tn_value_key {
    double time;  ///< [s]
    double value; ///< in the unit of what it drives
} tn_value_key;

typedef struct tn_joint_def {
    const char*   name; ///< unique among joints; NULL or empty: "joint<n>"
    tn_joint_type type;
    tn_body_id    body1, body2; ///< null: the ground
    tn_joint_form form;
    tn_vec3       anchor, axis; ///< by anchor: in the world, at the initial configuration [m]
    tn_vec3       axis2;        ///< universal: the axis that is fixed in body 2
    tn_frame frame1, frame2;    ///< by frames: in each body's frame. By points: the positions only

    double              length;        ///< distance, rope [m]; TN_UNSET: the initial one
    double              pitch;         ///< screw [m per full turn]
    double              radius;        ///< rolling [m]; TN_UNSET: that of body 2's round shape
    tn_joint_type       of;            ///< motor: TN_JOINT_HINGE or TN_JOINT_SLIDER
    double              velocity;      ///< motor [rad/s or m/s]
    const tn_value_key* velocity_keys; ///< motor; when given, instead of velocity
    int                 velocity_key_count;

    double   stiffness, damping; ///< of every free coordinate [N m/rad, N m s/rad or N/m, N s/m]
    double   rest[6];            ///< free coordinates at which the spring is slack [rad or m]
    double   force[6];           ///< constant generalized force on each free coordinate [N m or N]
    tn_limit limit;
    double   friction; ///< dry, on every free coordinate [N m or N]; smoothed about zero speed
    double   friction_speed; ///< speed at which 71 % of it is reached [rad/s or m/s]
    double   force_low,
        force_high;       ///< what a motor can exert, or a spring and damper together on one
                          ///< free coordinate [N m or N]; infinite: no bound
    double   restitution; ///< 0..1, of impacts on hard limits and of ropes that become taut
    tn_role  role;
    void*    user_data; ///< yours: the library only keeps it; not written to files
    uint32_t cookie;    ///< proof that the defaults were taken; do not set
} tn_joint_def;

TN_API tn_joint_def tn_default_joint_def(tn_joint_type type); ///< by anchor, axis z
TN_API tn_joint_id  tn_scene_add_joint(tn_scene* scene, const tn_joint_def* def);
/// Replaces a joint's def; its name stays, and models that were compiled before stay as they are.
/// Arrays that tn_scene_joint() gave are not copied again. On failure the scene is as it was.
TN_NODISCARD TN_API tn_result tn_scene_set_joint(tn_scene* scene, tn_joint_id joint,
                                                 const tn_joint_def* def, tn_why* why);
TN_API const char*            tn_joint_type_word(tn_joint_type type); ///< "hinge"; static

/// A body as a user-defined constraint sees it; valid within the call.
typedef struct tn_body_view {
    tn_frame      pose;     ///< of the body frame (affine: nearest rotation)
    tn_twist      velocity; ///< of the body frame's origin
    tn_vec3       com;      ///< world position of the centre of mass: Jacobian columns refer to it
    int           dim; ///< columns of this body's Jacobian block; 0: static, kinematic or ground
    const double* q;   ///< the body's coordinates, as in tn_state_coordinates()
    const double* u;   ///< its dim velocities
} tn_body_view;

/// A user-defined constraint, by functions. J[i] is the block of body i, rows x dim(i),
/// row-major; rigid bodies have the columns (velocity of the centre of mass, angular velocity).
/// J[i] is NULL for bodies that cannot be pushed.
typedef struct tn_constraint_table {
    int rows;      ///< 1..12
    int holonomic; ///< the first so many rows constrain positions; the others only velocities
    /// C (0 for velocity rows), its rate, J, and gamma = Jdot u. Any output may be NULL.
    void (*rows_at)(const void* data, double time, const tn_body_view* bodies, double* C,
                    double* rate, double* const* J, double* gamma);
    /// Optional: directions of the constraint's forces, K[i] laid out as J[i]: multipliers lambda
    /// act on body i with K[i]^T lambda. NULL: J itself, which does no work. With it the constraint
    /// is auxiliary.
    void (*force_at)(const void* data, double time, const tn_body_view* bodies, double* const* K);
} tn_constraint_table;

typedef struct tn_constraint_def {
    const char*                name;       ///< unique among joints and constraints
    const tn_body_id*          bodies;     ///< each once
    int                        body_count; ///< 1..8
    const tn_constraint_table* table;      ///< must outlive every model made from it
    const void*                data;       ///< likewise
    tn_role                    role;
    void*                      user_data; ///< yours: the library only keeps it
    uint32_t                   cookie;    ///< proof that the defaults were taken; do not set
} tn_constraint_def;

TN_API tn_constraint_def tn_default_constraint_def(void); ///< no bodies, no table
/// Shares names and ids with the joints.
TN_API tn_joint_id tn_scene_add_constraint(tn_scene* scene, const tn_constraint_def* def);
/// Changes the user_data of a joint or user-defined constraint.
TN_API void tn_scene_set_joint_user_data(tn_scene* scene, tn_joint_id joint, void* user_data);

// ---- Couplings: a linear relation between joint speeds, or a fixed centre of mass ----------------

typedef enum tn_coupling_type {
    TN_COUPLING_GEAR,         ///< speed(0) = ratio * speed(1)
    TN_COUPLING_RACK,         ///< speed(slider) = ratio * speed(hinge), in either order
    TN_COUPLING_DIFFERENTIAL, ///< speed(0) = ratio * (speed(1) + speed(2)); default ratio 1/2
    TN_COUPLING_COUPLER,      ///< sum of coefficients[i] * speed(i) = velocity
    TN_COUPLING_CENTER,       ///< the centre of mass of bodies stays where it starts
    TN_COUPLING_TYPE_COUNT
} tn_coupling_type;

enum { TN_COUPLING_JOINTS_MAX = 16, TN_COUPLING_BODIES_MAX = 256 };

typedef struct tn_coupling_def {
    const char*        name; ///< optional
    tn_coupling_type   type;
    const tn_joint_id* joints; ///< the first free coordinate of each is coupled
    int                joint_count;
    double             ratio;        ///< gear, rack [m/rad], differential
    const double*      coefficients; ///< coupler, joint_count of them
    double             velocity;     ///< coupler: the right-hand side [rad/s or m/s]
    const tn_body_id*  bodies;       ///< center: rigid, planar, particle or affine; each once
    int                body_count;
    bool               hold[3]; ///< center: along world x, y, z; default all
    tn_role            role;
    uint32_t           cookie; ///< proof that the defaults were taken; do not set
} tn_coupling_def;

TN_API tn_coupling_def tn_default_coupling_def(tn_coupling_type type);
TN_API tn_coupling_id  tn_scene_add_coupling(tn_scene* scene, const tn_coupling_def* def);
/// Replaces a coupling's def, as tn_scene_set_joint() does.
TN_NODISCARD TN_API tn_result tn_scene_set_coupling(tn_scene* scene, tn_coupling_id coupling,
                                                    const tn_coupling_def* def, tn_why* why);

// ---- Forces --------------------------------------------------------------------------------------

/// Spring and damper between two points, along the line between them.
typedef struct tn_spring_def {
    const char* name; ///< optional
    tn_body_id  body1, body2;
    tn_vec3     anchor1, anchor2; ///< in each body's frame [m]
    double      stiffness;        ///< [N/m]
    double      damping;          ///< [N s/m]
    double      length;           ///< rest length [m]; TN_UNSET: the initial one
    uint32_t    cookie;           ///< proof that the defaults were taken; do not set
} tn_spring_def;

/// Springs that pull a body to a pose, given by keys or by tn_state_set_target(): motion capture,
/// haptics.
typedef struct tn_target_def {
    const char*   name; ///< optional
    tn_body_id    body;
    const tn_key* keys;
    int           key_count;
    tn_vec3       point;              ///< in the body's frame [m]; is pulled to the pose's position
    double        stiffness, damping; ///< [N/m], [N s/m]
    double        angular_stiffness, angular_damping; ///< [N m/rad], [N m s/rad]
    uint32_t      cookie; ///< proof that the defaults were taken; do not set
} tn_target_def;

/// A constant force and torque on a body, world axes, while from <= t < until.
typedef struct tn_load_def {
    const char* name; ///< optional
    tn_body_id  body;
    tn_vec3     force, torque; ///< [N], [N m]
    tn_vec3     point;         ///< where the force acts, in the body's frame [m]
    double      from, until;   ///< [s]
    uint32_t    cookie;        ///< proof that the defaults were taken; do not set
} tn_load_def;

/// A vector at a time; linear between keys, constant before the first and after the last.
typedef struct tn_vector_key {
    double  time;  ///< [s]
    tn_vec3 value; ///< in the unit of what it drives
} tn_vector_key;

/// F = -(linear + quadratic |v|) v at a point, T = -angular w; v: velocity relative to the wind.
typedef struct tn_drag_def {
    const char*          name; ///< optional
    tn_body_id           body;
    tn_vec3              point;     ///< in the body's frame [m]
    double               linear;    ///< [N s/m]
    double               quadratic; ///< [N s^2/m^2]
    double               angular;   ///< [N m s/rad]
    tn_vec3              wind;      ///< velocity of the air there [m/s]
    const tn_vector_key* wind_keys; ///< when given, instead of wind
    int                  wind_key_count;
    uint32_t             cookie; ///< proof that the defaults were taken; do not set
} tn_drag_def;

TN_API tn_spring_def tn_default_spring_def(void);
TN_API tn_target_def tn_default_target_def(void);
TN_API tn_load_def   tn_default_load_def(void);
TN_API tn_drag_def   tn_default_drag_def(void);
TN_API tn_spring_id  tn_scene_add_spring(tn_scene* scene, const tn_spring_def* def);
TN_API tn_target_id  tn_scene_add_target(tn_scene* scene, const tn_target_def* def);
TN_API tn_load_id    tn_scene_add_load(tn_scene* scene, const tn_load_def* def);
TN_API tn_drag_id    tn_scene_add_drag(tn_scene* scene, const tn_drag_def* def);
/// Replace the def of a force, as tn_scene_set_joint() does.
TN_NODISCARD TN_API tn_result tn_scene_set_spring(tn_scene* scene, tn_spring_id spring,
                                                  const tn_spring_def* def, tn_why* why);
TN_NODISCARD TN_API tn_result tn_scene_set_target(tn_scene* scene, tn_target_id target,
                                                  const tn_target_def* def, tn_why* why);
TN_NODISCARD TN_API tn_result tn_scene_set_load(tn_scene* scene, tn_load_id load,
                                                const tn_load_def* def, tn_why* why);
TN_NODISCARD TN_API tn_result tn_scene_set_drag(tn_scene* scene, tn_drag_id drag,
                                                const tn_drag_def* def, tn_why* why);

// ---- Contact: which bodies, and how; tenon/step.h tells what touches ------------------------------

typedef struct tn_contact_pair {
    tn_body_id body1, body2;
} tn_contact_pair;

/// Material of the contacts of two bodies, instead of that of their shapes. TN_UNSET: as the shapes
/// say.
typedef struct tn_pair_def {
    tn_body_id body1, body2;
    double     friction;                            ///< Coulomb's coefficient
    double     restitution;                         ///< 0..1
    double     rolling_friction, spinning_friction; ///< resisting torque per normal force [m]
    double     stiffness, damping;                  ///< of each point: soft contact [N/m, N s/m]
    uint32_t   cookie; ///< proof that the defaults were taken; do not set
} tn_pair_def;

/// No contact between these two, whatever else is said of them.
TN_API tn_result tn_scene_exclude_contact(tn_scene* scene, tn_body_id body1, tn_body_id body2);
/// Contact between these two although a joint connects them.
TN_API tn_result   tn_scene_include_contact(tn_scene* scene, tn_body_id body1, tn_body_id body2);
TN_API tn_pair_def tn_default_pair_def(void); ///< all unset
/// At most one for each pair of bodies.
TN_API tn_result tn_scene_add_pair(tn_scene* scene, const tn_pair_def* def);
/// Gives the world a floor, the plane z = 0 facing up, with this friction and restitution. Scenes
/// have none at first; static bodies with shapes make others.
TN_API void tn_scene_set_ground(tn_scene* scene, double friction, double restitution);
/// Rolling and spinning friction of that floor: resisting torque per normal force [m]; 0 at first.
TN_API void   tn_scene_set_ground_rolling(tn_scene* scene, double rolling_friction,
                                          double spinning_friction);
TN_API bool   tn_scene_has_ground(const tn_scene* scene);
TN_API double tn_scene_ground_friction(const tn_scene* scene);
TN_API double tn_scene_ground_restitution(const tn_scene* scene);
TN_API double tn_scene_ground_rolling_friction(const tn_scene* scene);
TN_API double tn_scene_ground_spinning_friction(const tn_scene* scene);

// ---- Reading a scene back: defs by index (bits - 1), in the order of adding ----------------------
//
// A def is valid until the next part of its kind is added, names and arrays in it as long as the
// scene. Copy it before you add it to the same scene.

TN_API int tn_scene_body_count(const tn_scene* scene);
TN_API int tn_scene_joint_count(const tn_scene* scene); ///< user-defined constraints included
TN_API int tn_scene_coupling_count(const tn_scene* scene);
TN_API int tn_scene_spring_count(const tn_scene* scene);
TN_API int tn_scene_target_count(const tn_scene* scene);
TN_API int tn_scene_load_count(const tn_scene* scene);
TN_API int tn_scene_drag_count(const tn_scene* scene);
TN_API int tn_scene_exclude_count(const tn_scene* scene);
TN_API int tn_scene_include_count(const tn_scene* scene);
TN_API int tn_scene_pair_count(const tn_scene* scene);

TN_API const tn_body_def*  tn_scene_body(const tn_scene* scene, int index);
TN_API const tn_joint_def* tn_scene_joint(const tn_scene* scene, int index);
/// The user-defined constraint with the index of a joint; NULL: that one is a joint.
TN_API const tn_constraint_def* tn_scene_constraint(const tn_scene* scene, int index);
TN_API const tn_coupling_def*   tn_scene_coupling(const tn_scene* scene, int index);
TN_API const tn_spring_def*     tn_scene_spring(const tn_scene* scene, int index);
TN_API const tn_target_def*     tn_scene_target(const tn_scene* scene, int index);
TN_API const tn_load_def*       tn_scene_load(const tn_scene* scene, int index);
TN_API const tn_drag_def*       tn_scene_drag(const tn_scene* scene, int index);
TN_API tn_contact_pair          tn_scene_exclude(const tn_scene* scene, int index);
TN_API tn_contact_pair          tn_scene_include(const tn_scene* scene, int index);
TN_API const tn_pair_def*       tn_scene_pair(const tn_scene* scene, int index);

/// The null id when there is none of that name. "ground" is the null body, and *found (may be NULL)
/// is true.
TN_API tn_body_id     tn_scene_find_body(const tn_scene* scene, const char* name, bool* found);
TN_API tn_joint_id    tn_scene_find_joint(const tn_scene* scene, const char* name);
TN_API tn_coupling_id tn_scene_find_coupling(const tn_scene* scene, const char* name);
TN_API tn_spring_id   tn_scene_find_spring(const tn_scene* scene, const char* name);
TN_API tn_target_id   tn_scene_find_target(const tn_scene* scene, const char* name);
TN_API tn_load_id     tn_scene_find_load(const tn_scene* scene, const char* name);
TN_API tn_drag_id     tn_scene_find_drag(const tn_scene* scene, const char* name);

#ifdef __cplusplus
}
#endif
#endif
