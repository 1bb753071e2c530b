// drops: scenes with contact, made by the public functions, without anything that another engine
// could not have: rigid bodies, balls, hinges, one friction, no springs and no limits.
#ifndef TENON_PEER_DROPS_H
#define TENON_PEER_DROPS_H

#include "drop.h"

/// Figure 1d of Tomcin et al. 2014: a 7.5 t block hangs by a hinge on a 50 kg rod of 1 m, hinged to
/// the world, that falls from 0.3 rad onto a fixed round bar at a quarter of its length.
tn_scene* drops_rod(void);
bool      drops_rod_stands(const drop* d, const drop_pose* end);

/// scenes/strandbeest.c, free, its crank driven at 3 rad/s, its lowest foot 0.4 m over the floor, k
/// times its mass on the frame. Lower triangles and frame touch the floor, and nothing else.
tn_scene* drops_beast(int pairs, double k);
bool      drops_beast_stands(const drop* d, const drop_pose* end);

tn_scene* drops_stack(int boxes); ///< cubes of 0.2 m and 8 kg, each exactly on the other
bool      drops_stack_stands(const drop* d, const drop_pose* end);

/// Capsules of 0.1 m and 0.1 kg on ball joints, a sloping line with a wave, let go over the floor.
tn_scene* drops_chain(int links);
/// Ragdolls of 14 capsules and 73 kg, balls and hinges, lying in the air one over the other.
tn_scene* drops_pile(int count);
/// Of these two: nothing is faster than 0.1 m/s, or deeper in something than 1 cm.
bool drops_rests(const drop* d, const drop_pose* end);

#endif
