// characters: hands and people, as parts of larger scenes. x is forward, y to the left, z up.
#ifndef TENON_SCENES_CHARACTERS_H
#define TENON_SCENES_CHARACTERS_H

#include "parts.h"

/// Spring and soft ends of a joint's first coordinate. The ends push back ten times as hard.
typedef struct tns_feel {
    double stiffness, damping; ///< [N m/rad], [N m s/rad]
    double lower, upper; ///< [rad], from the initial pose; ball: upper is the half angle of a cone
} tns_feel;
void tns_set_feel(tn_joint_def* joint, tns_feel feel);

enum { TNS_FINGER_COUNT = 5, TNS_PHALANX_COUNT = 3 };

/// A hand of 16 bones: palm, thumb, index, middle, ring, little, three phalanges each.
typedef struct tns_hand_def {
    const char*   prefix;  ///< of all names
    tn_frame      pose;    ///< wrist at the origin, fingers along x, back of the hand to z
    double        side;    ///< thumb at +y (1) or at -y (-1)
    tn_joint_type knuckle; ///< at the palm: hinge, or universal; the others are hinges
    double        stiffness, damping; ///< [N m/rad], [N m s/rad]
} tns_hand_def;

typedef struct tns_hand_ids {
    tn_body_id palm, tips[TNS_FINGER_COUNT];
} tns_hand_ids;

tns_hand_ids tns_add_hand(tn_scene* scene, const tns_hand_def* hand);
/// Where a finger's tip is, in the hand's frame, when every joint of it is bent by so many turns.
tn_vec3 tns_fingertip(int finger, double side, double bend);
/// From the middle of the last bone to its end [m].
double tns_fingertip_reach(int finger);

/// A person standing at a point of the ground, arms held out. detail 0: 17 bodies, 16 joints, 41
/// free coordinates with those of the floating base. detail 1: 89 bodies, 88 joints, 95.
typedef struct tns_person_def {
    const char* prefix;
    tn_vec3     place;
    int         detail;
    bool        held; ///< hung up by a spring on the chest
} tns_person_def;

/// Returns the chest.
tn_body_id tns_add_person(tn_scene* scene, const tns_person_def* person);

#endif
