// model: a scene compiled into flat arrays, with the symbolic analysis of its constraint graph.
//
// Body 0 is the ground; body i is the scene's id with bits i. Free bodies (neither static nor
// kinematic) have velocities u[u_start ...] and are the A nodes 0, 1, ... of the graph, in order;
// constraints are the B nodes after them: joints first (constraint i is the joint with bits i + 1),
// then couplings. Constraint row r is row u_count + r of the linear system.
#ifndef TNI_MODEL_H
#define TNI_MODEL_H

#include "geom/geometry.h"
#include "linalg/ldl.h"
#include "math/rotation.h"
#include "model/joint_types.h"
#include "tenon/model.h"

/// Fields that every step reads come first, in two cache lines; then those for the start and for
/// rarer kinds.
/// How far a planar body, or the axis of one of its joints, may leave its plane, relative.
#define TNI_PLANE_TOLERANCE 1e-9

typedef struct tni_body {
    tn_body_kind kind;
    int          dim;     ///< number of velocities; 0: static or kinematic
    int          q_count; ///< number of coordinates
    int          q_start, u_start;
    int          node; ///< of the graph; -1: static or kinematic
    double       mass;
    tni_mat3     inertia; ///< about the centre of mass, body axes. Affine: Q = int rho p p^T

    tn_vec3              com;   ///< in the body frame
    bool                 turns; ///< can rotate, so joints with axes can hold it
    const char*          name;
    tn_frame             start;          ///< of the frame at the centre of mass with body axes
    tn_twist             start_velocity; ///< of the centre of mass
    double               lame_mu, lame_lambda; ///< affine, times the volume [J]
    const tn_key*        keys;                 ///< kinematic: of the frame at the centre of mass
    int                  key_count;
    const tn_body_table* table; ///< user-defined
    const void*          data;
    const double*        user_q; ///< start coordinates and velocities, user-defined
    const double*        user_u;
} tni_body;

typedef struct tni_joint {
    const tni_joint_type* type;
    int                   constraint; ///< index of its constraint, which has its rows
    int                   body1, body2;
    int                   coordinate_start, coordinate_count;
    uint8_t               parts[TNI_JOINT_ROWS_MAX]; ///< its rows, as indices of the type's parts
    /// rolls on the rim of a disc about body 2's frame axis, not on a sphere
    bool                wheel;
    tn_vec3             p1, p2; ///< anchors from the centres of mass, body axes
    tni_mat3            F1, F2; ///< joint axes as columns, body axes
    double              size;   ///< distance: length; screw: metres per radian; rolling: radius
    const tn_value_key* drive;  ///< prescribed velocity; one key: constant
    int                 drive_count;
    const char*         name;
} tni_joint;

/// Spring, damper, limits, friction and constant force on a joint's free coordinates; only for
/// joints with any of these.
typedef struct tni_joint_force {
    int      joint;
    double   stiffness, damping;
    double   rest[TNI_COORDINATES_MAX], force[TNI_COORDINATES_MAX];
    double   friction, friction_speed; ///< -friction v / sqrt(v^2 + friction_speed^2)
    bool     cut_off;                  ///< spring, damper and force together are, at these bounds
    double   force_low, force_high;
    tn_limit limit;
} tni_joint_force;

/// A force of a joint that has bounds: rows that methods solve for with joints and contacts, or that they refuse.
typedef enum tni_bound_kind {
    TNI_BOUND_FRICTION, ///< dry friction: against the motion, and as much as it takes at rest
    TNI_BOUND_MOTOR,    ///< what the prescribed velocity takes, no more than the motor can
    TNI_BOUND_SPRING    ///< spring, damper and constant force together, cut off at their bounds
} tni_bound_kind;

typedef struct tni_bound {
    tni_bound_kind kind;
    int            joint, actuation; ///< actuation: index of its tni_joint_force; -1: it has none
    int            coordinate, row_count; ///< a rotation vector has three rows and a bound for all
    double         low, high;             ///< [N m or N]
} tni_bound;

/// A hard limit of a joint: one unilateral row.
typedef enum tni_limit_kind {
    TNI_LIMIT_LOWER, ///< first coordinate >= end
    TNI_LIMIT_UPPER, ///< first coordinate <= end
    TNI_LIMIT_CONE,  ///< angle between the z axes <= end
    TNI_LIMIT_TWIST_LOWER,
    TNI_LIMIT_TWIST_UPPER,
    TNI_LIMIT_ROPE ///< distance of the anchors <= end
} tni_limit_kind;

typedef struct tni_limit {
    tni_limit_kind kind;
    int            joint;
    double         end; ///< [rad or m]
    double         restitution;
} tni_limit;

/// Contact properties of a surface.
typedef struct tni_material {
    double friction, restitution;
    double rolling, spinning; ///< [m]
    double stiffness;         ///< of a point of soft contact [N/m]; NaN: hard
    double damping;           ///< [N s/m]
} tni_material;

/// A shape that collides, relative to its body's centre of mass.
typedef struct tni_shape {
    tni_geometry geometry;
    int          body;
    tn_vec3      p; ///< origin, from the centre of mass, body axes
    tni_mat3     F; ///< its axes as columns, body axes
    tni_material material;
    /// Velocity of the surface relative to the body (conveyor belt), body axes [m/s]
    tn_vec3  surface;
    bool     belt;       ///< surface is not 0
    int      group;      ///< collision group
    uint32_t with;       ///< bit mask of groups that it collides with
    bool     continuous; ///< continuous collision detection for its body
} tni_shape;

/// Contact properties of a pair of bodies; NaN: from the shapes.
typedef struct tni_pair_material {
    uint64_t     key; ///< of the bodies, as in tn_model.apart
    tni_material material;
} tni_pair_material;

typedef enum tni_constraint_kind {
    TNI_CONSTRAINT_JOINT,
    TNI_CONSTRAINT_USER,
    TNI_CONSTRAINT_COUPLING
} tni_constraint_kind;

/// A B node: rows over the bodies of its edges.
typedef struct tni_constraint {
    tni_constraint_kind kind;
    int                 index; ///< into joints, users or couplings
    int                 row_start, row_count;
    int                 held_count; ///< position rows; the first ones
    int                 edge_start, edge_count;
    int                 node; ///< of the graph; -1: no free body, nothing to solve
    tn_role             role;
    bool pushes_otherwise; ///< its force is not along J^T, so it is auxiliary in any plan
} tni_constraint;

typedef struct tni_user_constraint {
    const char*                name;
    const tn_constraint_table* table;
    const void*                data;
    int                        bodies[8];
    int                        body_count;
} tni_user_constraint;

typedef struct tni_coupling {
    const char* name;
    int         joint_count;
    int         joints[TN_COUPLING_JOINTS_MAX];
    double      coefficients[TN_COUPLING_JOINTS_MAX];
    double      velocity;
    int         body_count; ///< > 0: holds a centre of mass
    const int*  bodies;
    bool        hold[3]; ///< x, y, z: one row each
    tn_vec3     start;   ///< centre of mass at the start
} tni_coupling;

/// The constraints in the factored matrix; the rest are auxiliary. In the plan an auxiliary
/// constraint is an isolated positive node, so that rows have the same numbers in every plan.
typedef struct tni_split {
    tni_plan* plan;
    int*      plan_edge; ///< by edge: its index in the plan; -1 - n: the n-th auxiliary edge
    int       auxiliary_count, auxiliary_rows;
    int*      auxiliary; ///< constraint indices
} tni_split;

typedef struct tni_spring {
    int     body1, body2;
    tn_vec3 p1, p2; ///< from the centres of mass, body axes
    double  stiffness, damping, length;
} tni_spring;

typedef struct tni_target {
    int           body;
    const tn_key* keys;
    int           key_count;
    tn_vec3       p; ///< from the centre of mass, body axes
    double        stiffness, damping, angular_stiffness, angular_damping;
} tni_target;

typedef struct tni_load {
    int     body;
    tn_vec3 force, torque, p;
    double  from, until;
} tni_load;

typedef struct tni_drag {
    int                  body;
    tn_vec3              p;
    double               linear, quadratic, angular;
    const tn_vector_key* wind; ///< at least one key, if constant
    int                  wind_count;
} tni_drag;

/// Names of parts, in the order of adding; NULL: it has none.
typedef struct tni_names {
    int          count;
    const char** of;
} tni_names;

enum { TNI_CONSTRAINT_BODIES_MAX = TN_COUPLING_BODIES_MAX };

struct tn_model {
    tni_arena   arena;
    const char* name;
    tn_vec3     gravity;
    tn_settings settings;

    int                  body_count; ///< including the ground
    tni_body*            bodies;
    int                  free_count;  ///< neither static nor kinematic
    int*                 free_bodies; ///< by A node
    int                  joint_count; ///< without user-defined constraints
    tni_joint*           joints;
    int                  actuation_count;
    tni_joint_force*     actuations;
    int                  bound_count;
    tni_bound*           bounds;
    int                  user_count;
    tni_user_constraint* users;
    int                  coupling_count;
    tni_coupling*        couplings;
    int                  constraint_count;
    tni_constraint*      constraints;
    /// Constraints that are joints in the public interface: the first ones
    int named_count;

    int         spring_count, target_count, load_count, drag_count;
    tni_spring* springs;
    tni_target* targets;
    tni_load*   loads;
    tni_drag*   drags;
    void**      body_user_data;  ///< by body, the ground first
    void**      joint_user_data; ///< by joint, user-defined constraints among them
    tni_names   coupling_names, spring_names, target_names, load_names, drag_names;

    int       q_count, u_count, coordinate_count, row_count;
    int       edge_count;
    int*      edge_body; ///< by edge of the constraint graph
    tni_split core;      ///< with loops (TN_LOOPS_CORE)
    tni_split forest;    ///< a spanning forest only (TN_LOOPS_AUXILIARY)

    int        limit_count, shape_count, apart_count;
    tni_limit* limits;
    tni_shape* shapes; ///< those that collide
    /// keys of pairs of bodies without contact (joined or excluded), sorted
    uint64_t* apart;

    int                pair_count;
    tni_pair_material* pairs; ///< sorted by key

    int soft_body; ///< the first body that touches softly; -1: none

    int loop_count, part_count, floating_count;
};

/// A planar, static or kinematic body: moves in a plane z = constant, or is not free.
TNI_INLINE bool tni_is_flat(const tni_body* body)
{
    return body->kind == TN_BODY_PLANAR || body->dim == 0;
}

/// shapes.c: compiles shapes, excluded pairs and contact properties of pairs.
tn_result tni_compile_shapes(tn_model* model, const tn_scene* scene, tn_why* why);
/// True if contact between two bodies is possible: one is free, and they are not joined or
/// excluded.
bool tni_may_touch(const tn_model* model, int body1, int body2);
/// The same for two shapes: their groups must match too, and one must be convex.
bool tni_shapes_may_touch(const tn_model* model, int shape1, int shape2);
/// Contact properties of two shapes: the geometric mean of frictions, the larger of the others,
/// unless the scene sets them for the pair.
tni_material tni_material_of(const tn_model* model, int shape1, int shape2);

/// graph.c: the last steps of compiling. Fail with TN_ERR_MEMORY only.
tn_result tni_analyse_graph(tn_model* model);
tn_result tni_count_groups(tn_model* model);
/// True if the rows of a constraint are expected to be independent on this body alone. If they are
/// not, the factorisation finds a vanishing pivot and regularises it (saddle.h).
bool tni_is_strong(const tn_model* model, const tni_constraint* constraint, int body);

const char* tni_constraint_name(const tn_model* model, const tni_constraint* constraint);
/// The constraint of constraint row `row`, counted from 0.
const tni_constraint* tni_constraint_of_row(const tn_model* model, int row);

/// Pose and velocity at a time, interpolated between keys.
void tni_keys_at(const tn_key* keys, int count, double time, tn_frame* pose, tn_twist* velocity);
/// Value and rate at a time.
/// Whether forces move the body: it is neither fixed nor keyed.
TNI_INLINE bool tni_can_push(const tn_model* model, int body)
{
    return model->bodies[body].node >= 0;
}

void tni_values_at(const tn_value_key* keys, int count, double time, double* value, double* rate);
tn_vec3 tni_vector_at(const tn_vector_key* keys, int count, double time);

#endif
