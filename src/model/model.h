// model: a scene compiled into flat arrays, with the symbolic analysis of its constraint graph.
//
// Body 0 is the ground; body i is the scene's id with bits i. Bodies that can be pushed ("free")
// have velocities u[u_start ...] and are the A nodes 0, 1, ... of the graph, in order; constraints
// are the B nodes after them: joints first (constraint i is the joint with bits i + 1), then
// couplings. Row r of the constraints is global row u_count + r of the linear system.
#ifndef TNI_MODEL_H
#define TNI_MODEL_H

#include "geom/geometry.h"
#include "linalg/ldl.h"
#include "math/rotation.h"
#include "model/joint_types.h"
#include "tenon/model.h"

/// What every step reads comes first and fills two cache lines; the rest is for the start and for
/// rarer kinds.
typedef struct tni_body {
    tn_body_kind kind;
    int          dim;     ///< velocity numbers; 0: cannot be pushed
    int          q_count; ///< coordinates
    int          q_start, u_start;
    int          node; ///< -1: cannot be pushed
    double       mass;
    tni_mat3     inertia; ///< about the centre of mass, body axes. Affine: Q = int rho p p^T

    tn_vec3              com;   ///< in the body frame
    bool                 turns; ///< has an attitude, so joints with axes take it
    const char*          name;
    tn_frame             start;          ///< of the frame at the centre of mass with body axes
    tn_twist             start_velocity; ///< of the centre of mass
    double               lame_mu, lame_lambda; ///< affine, times the volume [J]
    const tn_key*        keys;                 ///< kinematic: of the frame at the centre of mass
    int                  key_count;
    const tn_body_table* table; ///< user-defined
    const void*          data;
    const double*        user_q; ///< start values
    const double*        user_u;
} tni_body;

typedef struct tni_joint {
    const tni_joint_type* type;
    int                   constraint; ///< its rows
    int                   body1, body2;
    int                   coordinate_start, coordinate_count;
    uint8_t               parts[TNI_JOINT_ROWS_MAX]; ///< which of the type's parts are rows here
    bool     wheel;  ///< rolling on the rim of a disc about body 2's frame axis, not on a sphere
    tn_vec3  p1, p2; ///< anchors from the centres of mass, body axes
    tni_mat3 F1, F2; ///< joint axes as columns, body axes
    double   size;   ///< distance: length; screw: metres per radian; rolling: radius
    const tn_value_key* drive; ///< prescribed velocity; one key: constant
    int                 drive_count;
    const char*         name;
} tni_joint;

/// Spring, damper, limits and constant force on a joint's free coordinates; only joints that have
/// some.
typedef struct tni_joint_force {
    int      joint;
    double   stiffness, damping;
    double   rest[TNI_COORDINATES_MAX], force[TNI_COORDINATES_MAX];
    double   friction, friction_speed; ///< -friction v / sqrt(v^2 + friction_speed^2)
    tn_limit limit;
} tni_joint_force;

/// A hard end of a joint's motion: one row that may only push inward.
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

/// How surfaces touch.
typedef struct tni_material {
    double friction, restitution;
    double rolling, spinning; ///< [m]
} tni_material;

/// A shape that can be touched, seen from its body's centre of mass.
typedef struct tni_shape {
    tni_geometry geometry;
    int          body;
    tn_vec3      p; ///< origin, from the centre of mass, body axes
    tni_mat3     F; ///< its axes as columns, body axes
    tni_material material;
    tn_vec3      surface; ///< its own velocity past the body, body axes
    bool         belt;    ///< which is not 0
    int          group;
    uint32_t     with;       ///< groups that it touches
    bool         continuous; ///< its body asks for it
} tni_shape;

/// A material for two bodies; NaN: what the shapes say.
typedef struct tni_pair_material {
    uint64_t     key; ///< of the bodies, as in apart
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
    int                 held_count; ///< rows that hold a position; the first ones
    int                 edge_start, edge_count;
    int                 node; ///< -1: no body here can be pushed, so there is nothing to solve
    tn_role             role;
    bool                pushes_otherwise; ///< its force is not along J^T: auxiliary in any case
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
    int         body_count; ///< a centre of mass, when > 0
    const int*  bodies;
    bool        hold[3]; ///< a row each
    tn_vec3     start;   ///< the centre at the start
} tni_coupling;

/// Which constraints the factored matrix has; the rest are auxiliary. In the plan an auxiliary
/// constraint is a lone positive node, so that rows have the same numbers everywhere.
typedef struct tni_split {
    tni_plan* plan;
    int*      plan_edge; ///< by edge: its number in the plan; -1 - n: the n-th auxiliary edge
    int       auxiliary_count, auxiliary_rows;
    int*      auxiliary; ///< constraints
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
    const tn_vector_key* wind; ///< at least one key: a constant
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

    int                  body_count; ///< the ground counted
    tni_body*            bodies;
    int                  free_count;  ///< bodies that can be pushed
    int*                 free_bodies; ///< of each A node
    int                  joint_count; ///< without user-defined constraints
    tni_joint*           joints;
    int                  actuation_count;
    tni_joint_force*     actuations;
    int                  user_count;
    tni_user_constraint* users;
    int                  coupling_count;
    tni_coupling*        couplings;
    int                  constraint_count;
    tni_constraint*      constraints;
    int                  named_count; ///< constraints that are joints to the user: the first ones

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
    int*      edge_body; ///< of each edge of the constraint graph
    tni_split core;      ///< loops in the matrix (TN_LOOPS_CORE)
    tni_split forest;    ///< a spanning forest only (TN_LOOPS_AUXILIARY)

    int        limit_count, shape_count, apart_count;
    tni_limit* limits;
    tni_shape* shapes; ///< those that collide
    uint64_t*  apart;  ///< pairs of bodies that never touch: joined or excluded; sorted

    int                pair_count;
    tni_pair_material* pairs; ///< by rising key

    int loop_count, part_count, floating_count;
};

/// Moves in a plane z = constant, or not at all.
TNI_INLINE bool tni_is_flat(const tni_body* body)
{
    return body->kind == TN_BODY_PLANAR || body->dim == 0;
}

/// shapes.c: limits come with the joints; shapes and the pairs that never touch come here.
tn_result tni_compile_shapes(tn_model* model, const tn_scene* scene, tn_why* why);
/// Whether contact between two bodies counts: one can be pushed, they are not joined or excluded.
bool tni_may_touch(const tn_model* model, int body1, int body2);
/// The same of two shapes: their groups agree, too, and one of them is not a plane or surface.
bool tni_shapes_may_touch(const tn_model* model, int shape1, int shape2);
/// Of two shapes: friction the geometric mean, the rest the larger, unless the scene says otherwise.
tni_material tni_material_of(const tn_model* model, int shape1, int shape2);

/// graph.c: the last steps of compiling. Fail with TN_ERR_MEMORY only.
tn_result tni_analyse_graph(tn_model* model);
tn_result tni_count_groups(tn_model* model);
/// Whether the rows of a constraint are independent on this body alone. Where this is too hopeful the
/// factorisation finds a vanishing pivot and regularises (saddle.h).
bool tni_is_strong(const tn_model* model, const tni_constraint* constraint, int body);

const char* tni_constraint_name(const tn_model* model, const tni_constraint* constraint);
/// The constraint that global constraint row `row` (from 0) belongs to.
const tni_constraint* tni_constraint_of_row(const tn_model* model, int row);

/// The pose and its velocity at a time, along keys (of a frame that is fixed in the keyed thing).
void tni_keys_at(const tn_key* keys, int count, double time, tn_frame* pose, tn_twist* velocity);
/// The value and its rate at a time.
void tni_values_at(const tn_value_key* keys, int count, double time, double* value, double* rate);
tn_vec3 tni_vector_at(const tn_vector_key* keys, int count, double time);

#endif
