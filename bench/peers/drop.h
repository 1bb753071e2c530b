// drop: a scene with contact in plain numbers, for engines that have contact, and their face.
// Nothing of an engine's own measures is used: it gives poses, and depth.c and Tenon's
// definitions of joint error and energy say how it did.
#ifndef TENON_PEER_DROP_H
#define TENON_PEER_DROP_H

#include "peer.h"

/// A shape that collides. size: radius (sphere); radius and half length along z (capsule,
/// cylinder); half sizes (box). A plane is z = 0 of its frame, and faces up.
typedef struct drop_shape {
    tn_shape_type type;
    int           body; ///< 0: the ground
    double        x[3]; ///< from the body's centre of mass, body axes
    double        q[4]; ///< w x y z
    double        size[3];
    int           group;
    uint32_t      with;
} drop_shape;

/// Where a body is: centre of mass, orientation w x y z, velocity of the centre, angular velocity.
typedef struct drop_pose {
    double x[3], q[4], v[3], w[3];
} drop_pose;

typedef struct drop_body {
    bool      fixed;
    double    mass;
    double    inertia[6]; ///< about the centre of mass, body axes: xx yy zz xy xz yz
    double    moments[3]; ///< the principal ones
    double    axes[4];    ///< their axes in the body, w x y z
    drop_pose start;
} drop_body;

typedef enum drop_joint_type { DROP_WELD, DROP_HINGE, DROP_BALL } drop_joint_type;

typedef struct drop_joint {
    drop_joint_type type;
    int             body1, body2;       ///< 0: the ground
    double          anchor[3], axis[3]; ///< in the world at the start
    bool            driven;             ///< a hinge, body 2 against body 1 at this speed [rad/s]
    double          speed;
} drop_joint;

typedef struct drop {
    const peer_scene* scene;
    double            gravity[3];
    double            friction;                             ///< the same everywhere; no restitution
    int               body_count, joint_count, shape_count; ///< the ground counted
    drop_body*        bodies;
    drop_joint*       joints;
    drop_shape*       shapes;
    bool*             apart; ///< body_count squared: joined or excluded
} drop;

/// False: *why says what has no counterpart in the other engines.
bool drop_open(drop* d, const peer_scene* scene, tn_why* why);
void drop_close(drop* d);
bool drop_may_touch(const drop* d, int shape1, int shape2);
void drop_write(const drop* d, const drop_pose* poses, double time, tn_state* state);
void drop_read(const drop* d, const tn_state* state, drop_pose* poses);

// Vectors and quaternions (w x y z) as arrays.
void drop_turn(const double* q, const double* v, double* out);      ///< q v q*
void drop_turn_back(const double* q, const double* v, double* out); ///< q* v q
void drop_times(const double* p, const double* q, double* out);     ///< p q
void drop_from(const double* p, const double* q, double* out);      ///< p* q

/// depth.c: how deep one shape is in the other: the shortest way to part them [m]; < 0: they do not
/// touch (no more is said then). NaN: a pair that is not in the list of depth.c.
double drop_pair_depth(const drop* d, int shape1, int shape2, const drop_pose* poses);
/// The largest of all pairs that may touch; NaN where a pose is not finite.
double drop_depth(const drop* d, const drop_pose* poses);

/// Each engine reads what concerns it.
typedef struct drop_options {
    int iterations;  ///< ODE: 0: dWorldStep; else QuickStep. Bullet: sweeps; 0: Dantzig's pivoting
    double erp, cfm; ///< ODE
    double solref; ///< MuJoCo: time constant of contacts and loops, in steps; 0: its default, 20 ms
    double tolerance; ///< Tenon: of joints; 0: its default
} drop_options;

typedef struct drop_engine {
    const char* name;
    void* (*open)(const drop* d, const drop_options* options, tn_why* why);
    bool (*step)(void* world, double h, tn_why* why);
    void (*read)(const void* world, drop_pose* poses);
    void (*close)(void* world);
} drop_engine;

extern const drop_engine drop_ode, drop_bullet, drop_mujoco, drop_tenon;

bool drop_refuse(tn_why* why, const char* engine, const char* what);

#endif
