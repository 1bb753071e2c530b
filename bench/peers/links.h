// links: a model as engines in joint coordinates want it, a tree of rigid bodies on ball joints with
// springs. Plain numbers, so that C++ reads them without looking into the library.
#ifndef TENON_PEER_LINKS_H
#define TENON_PEER_LINKS_H

#include "peer.h"

/// A body and the ball joint that holds it. The joint's spring is at rest at the start, k log(R) for
/// a turn R from there.
typedef struct peer_link {
    int    parent;     ///< a link before this one; -1: the ground
    double mass;       ///< [kg]
    double inertia[3]; ///< about the centre of mass, whose axes are the body's
    double place[3];   ///< of the centre of mass at the start, from that of the parent, in its axes
    double turn[4];    ///< of the body at the start against its parent, w x y z
    double pivot1[3];  ///< the joint from the parent's centre of mass, in its axes
    double pivot2[3];  ///< the joint from this centre of mass, in its axes
    double stiffness;  ///< [N m/rad]
} peer_link;

typedef struct peer_links {
    const tn_model* model;
    double          time;
    double          gravity[3];
    int             count;
    peer_link*      links; ///< link i is body i + 1 of the model
} peer_links;

/// Where a link is: centre of mass, orientation w x y z, velocity of the centre, angular velocity.
typedef struct peer_pose {
    double x[3], q[4], v[3], w[3];
} peer_pose;

/// False: *why says what is not such a tree, at rest and assembled at the start.
bool peer_links_open(peer_links* links, const char* engine, const tn_model* model,
                     const tn_state* start, tn_why* why);
void peer_links_close(peer_links* links);
void peer_links_write(const peer_links* links, int link, const peer_pose* pose, tn_state* state);

/// One line, "ENGINE: ..."; false.
bool peer_refuse(tn_why* why, const char* engine, const char* what, const char* name);

extern const peer_engine peer_mujoco_euler, peer_mujoco_rk4, peer_mujoco_implicit,
    peer_mujoco_implicitfast, peer_mujoco_discrete;
extern const peer_engine peer_bullet, peer_bullet_rk4;
extern const peer_engine peer_dart;
extern const peer_engine peer_pinocchio; ///< where PEERS_PINOCCHIO is defined

#endif
