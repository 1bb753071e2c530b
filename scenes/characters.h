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
    const char* prefix; ///< of all names
    tn_frame    pose;   ///< wrist at the origin, fingers along x, back of the hand to z
    double      side;   ///< thumb at +y (1) or at -y (-1)
    /// Universal knuckles, a ball at the thumb's base, stiff ends where those of a healthy hand
    /// are. Else every joint is a hinge with the same soft ends.
    bool   anatomical;
    double stiffness, damping; ///< [N m/rad], [N m s/rad]
    double end_stiffness;      ///< of anatomical ends
} tns_hand_def;

typedef struct tns_hand_ids {
    tn_body_id palm, tips[TNS_FINGER_COUNT];
} tns_hand_ids;

tns_hand_ids tns_add_hand(tn_scene* scene, const tns_hand_def* hand);
/// What a finger is bent by, from the initial pose [turns]: inward at each joint, and at the
/// knuckle sideways, to the thumb.
typedef struct tns_bend {
    double flex[TNS_PHALANX_COUNT], spread;
} tns_bend;
/// Where the end of a finger's last bone is, in the hand's frame, with the attitude of that bone.
tn_frame tns_fingertip(int finger, double side, tns_bend bend);
/// From the middle of the last bone to its end [m].
double tns_fingertip_reach(int finger);

/// A person standing at a point of the ground, arms held out. detail 0: 17 bodies, 16 joints, 41
/// free coordinates with those of the floating base. detail 1: 89 bodies, 88 joints, 95.
typedef struct tns_person_def {
    const char* prefix;
    tn_vec3     place;
    int         detail;
    bool        held;       ///< hung up by a spring on the chest
    bool        anatomical; ///< stiff ends where those of a healthy body are; else soft ones
    /// Detail 0 only: no springs, hard ends where those of a healthy body are, and limbs that touch
    /// what they meet, with this surface. NULL: springs, and nothing touches.
    const tns_surface* limp;
    tn_quat            turn; ///< limp: about `place`, of the whole person; all zeros: upright
} tns_person_def;

/// Returns the chest.
tn_body_id tns_add_person(tn_scene* scene, const tns_person_def* person);

#endif
