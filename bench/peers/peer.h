// peer: other engines behind one small face, so that the same mechanism runs in each of them and is
// measured with the same ruler.
//
// A scene is compiled by Tenon and put into plain numbers, so that C++ reads them without looking
// into the library: bodies at their centres of mass with Tenon's inertias to the last bit, joints
// placed in the world at the start, shapes, and a forest of the joints for engines in joint
// coordinates. An engine makes a world of it, takes steps, and writes where its bodies are into a
// tn_state. All measures are then Tenon's own definitions. What an engine cannot express is refused
// with one line.
#ifndef TENON_PEER_H
#define TENON_PEER_H

#include "tenon/tenon.h"

// ---- plain.c: a mechanism in plain numbers -------------------------------------------------------

/// A compiled scene and its start state, velocities made to fit the joints.
typedef struct peer_scene {
    tn_scene* scene;
    tn_model* model;
    tn_state* start;
    double    weight; ///< of all bodies [N]
} peer_scene;
/// Takes the scene over. False: *why says what is wrong.
bool peer_scene_open(peer_scene* s, tn_scene* scene, tn_why* why);
void peer_scene_close(peer_scene* s);

/// A shape that collides. size: radius (sphere); radius and half length along z (capsule,
/// cylinder); half sizes (box). A plane is z = 0 of its frame, and faces up.
typedef struct peer_shape {
    tn_shape_type type;
    int           body; ///< 0: the ground
    double        x[3]; ///< from the body's centre of mass, body axes
    double        q[4]; ///< w x y z
    double        size[3];
    int           group;
    uint32_t      with;
} peer_shape;

/// Where a body is: centre of mass, orientation w x y z, velocity of the centre, angular velocity.
typedef struct peer_pose {
    double x[3], q[4], v[3], w[3];
} peer_pose;

typedef struct peer_body {
    bool      fixed;
    double    mass;
    double    inertia[6]; ///< about the centre of mass, body axes: xx yy zz xy xz yz
    double    moments[3]; ///< the principal ones
    double    axes[4];    ///< their axes in the body, w x y z
    peer_pose start;
    int       parent; ///< in the forest; 0: the ground
    int       joint;  ///< that ties it to its parent; -1: none, it floats
} peer_body;

typedef enum peer_joint_type { PEER_WELD, PEER_HINGE, PEER_BALL, PEER_SLIDER } peer_joint_type;

typedef struct peer_joint {
    peer_joint_type type;
    int             body1, body2;       ///< 0: the ground
    double          anchor[3], axis[3]; ///< in the world at the start
    double          stiffness; ///< of the free coordinates, slack at the start [N m/rad, N/m]
    bool            driven;    ///< a hinge, body 2 against body 1 at this speed [rad/s]
    double          speed;
    bool            closes; ///< a loop: it is not in the forest
} peer_joint;

typedef struct peer_plain {
    const peer_scene* scene;
    double            gravity[3];
    double            friction;                             ///< the same everywhere; no restitution
    int               body_count, joint_count, shape_count; ///< the ground counted
    peer_body*        bodies;
    peer_joint*       joints;
    peer_shape*       shapes;
    bool*             apart; ///< body_count squared: joined or excluded; NULL where nothing touches
    int*              order; ///< all bodies but the ground, parents first
    int               loop_count;  ///< joints that close loops
    int               float_count; ///< bodies that float
} peer_plain;

/// False: *why says what has no counterpart in the other engines.
bool peer_plain_open(peer_plain* p, const peer_scene* scene, tn_why* why);
void peer_plain_close(peer_plain* p);
bool peer_may_touch(const peer_plain* p, int shape1, int shape2);
void peer_put(const peer_plain* p, int body, const peer_pose* pose, tn_state* state);
/// Of all bodies, fixed ones too.
void peer_get(const peer_plain* p, const tn_state* state, peer_pose* poses);

/// A point and a direction of the world at the start, as a body sees them.
void peer_seen(const peer_plain* p, int body, const double* point, double* out);
void peer_seen_axis(const peer_plain* p, int body, const double* axis, double* out);
/// Rates of a body's joint in the forest, child against parent: of a hinge or slider along its axis;
/// of a ball, in the child's axes; of one that floats, the velocity and the turning, in the world.
void peer_rates(const peer_plain* p, int body, double* rates);
/// The torque, in the world, of a joint's spring on body 2, for engines that have none: of balls and
/// hinges, from the orientations.
void peer_spring(const peer_plain* p, const peer_joint* j, const double* q1, const double* q2,
                 double* torque);

// Vectors and quaternions (w x y z) as arrays.
void peer_turn(const double* q, const double* v, double* out);      ///< q v q*
void peer_turn_back(const double* q, const double* v, double* out); ///< q* v q
void peer_times(const double* p, const double* q, double* out);     ///< p q
void peer_from(const double* p, const double* q, double* out);      ///< p* q

/// depth.c: how deep one shape is in the other: the shortest way to part them [m]; < 0: they do not
/// touch (no more is said then). NaN: a pair that is not in the list of depth.c.
double peer_pair_depth(const peer_plain* p, int shape1, int shape2, const peer_pose* poses);
/// The largest of all pairs that may touch; NaN where a pose is not finite.
double peer_depth(const peer_plain* p, const peer_pose* poses);

// ---- Engines -------------------------------------------------------------------------------------

/// Each engine reads what concerns it.
typedef struct peer_options {
    const char* settings;   ///< Tenon: "method=impulse impulse.tolerance=1e-9"
    int         iterations; ///< ODE: 0: dWorldStep, else QuickStep. Bullet: sweeps; 0: Dantzig
    double      erp, cfm;   ///< ODE
    double      solref; ///< MuJoCo: time constant of contacts and loops, in steps; 0: its default
    int         integrator; ///< which of the engine's own; listed in its file
} peer_options;

typedef struct peer_engine {
    const char* name;
    /// NULL on failure, and *why says what the engine cannot express.
    void* (*open)(const peer_plain* p, const peer_options* options, tn_why* why);
    /// False: the engine gave up, and says why.
    bool (*step)(void* world, double h, tn_why* why);
    void (*read)(const void* world, tn_state* state);
    void (*close)(void* world);
    /// Accelerations at the present state, nothing moves; NULL: the engine has no such call. a: NULL,
    /// or 6 numbers a body (the ground counted): of the centre of mass and of turning, in the world.
    bool (*evaluate)(void* world, double* a, tn_why* why);
} peer_engine;

extern const peer_engine peer_tenon, peer_tenon_forward, peer_ode, peer_bullet, peer_bullet_tree,
    peer_mujoco, peer_dart, peer_simbody, peer_pinocchio;

bool peer_refuse(tn_why* why, const char* engine, const char* what); ///< false

/// An engine with its options, by a name for the tables.
typedef struct peer_setup {
    const char*        family; ///< a column of the score table
    const char*        name;
    const peer_engine* engine;
    peer_options       options;
    int                bodies_max; ///< more make no sense, `limit` says why; 0: any number
    const char*        limit;
    bool               forward; ///< only for evaluations
} peer_setup;
extern const peer_setup peer_setups[];
extern const int        peer_setup_count;

#endif
