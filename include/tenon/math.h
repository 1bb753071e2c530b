// tenon/math.h: the few plain types that positions are made of. SI units, radians, z up.
#ifndef TENON_MATH_H
#define TENON_MATH_H

typedef struct tn_vec3 {
    double x, y, z;
} tn_vec3;

/// Unit quaternion, Hamilton product; turns body axes into world axes.
typedef struct tn_quat {
    double w, x, y, z;
} tn_quat;

/// Position and orientation of a frame, in the frame that the owner names.
typedef struct tn_frame {
    tn_vec3 position;    ///< [m]
    tn_quat orientation; ///< unit; functions that take a frame bring it to length 1
} tn_frame;

/// How a frame moves: the velocity of its origin and its angular velocity, in world axes.
typedef struct tn_twist {
    tn_vec3 linear;  ///< [m/s]
    tn_vec3 angular; ///< [rad/s]
} tn_twist;

/// A force at a named point, with the torque about that point, in world axes.
typedef struct tn_wrench {
    tn_vec3 force;  ///< [N]
    tn_vec3 torque; ///< [N m]
} tn_wrench;

#endif
