// joint_types: the rows and free coordinates of each joint type. A joint type is a list of row
// parts between two frames, one in each body, and a list of free coordinates. A new type is a new
// line in joint_types.c.
//
// Frame 1 is fixed in body 1, frame 2 in body 2; p1, p2 their origins, x y z (0 1 2) their axes, D
// = p2 - p1. Parts and their values, zero when satisfied:
//     POINT k       e_k . D                 e_k a world axis
//     LINE k        a1_k . D                a1_k an axis of frame 1
//     DOT k, l      a1_k . a2_l
//     DISTANCE      |D| - length
//     SCREW         slide - pitch/(2 pi) angle
//     ROLL k        height of the round shape over the plane (k = 2); slip along axis k of frame 1
//     DRIVE         the rate of the first free coordinate, less the prescribed one
// A rope has no row, only a limit (joint/hard_limit.c).
#ifndef TNI_JOINT_TYPES_H
#define TNI_JOINT_TYPES_H

#include "tenon/scene.h"

enum { TNI_JOINT_ROWS_MAX = 6, TNI_COORDINATES_MAX = 5 };

typedef enum tni_row_op {
    TNI_ROW_POINT,
    TNI_ROW_LINE,
    TNI_ROW_DOT,
    TNI_ROW_DISTANCE,
    TNI_ROW_SCREW,
    TNI_ROW_ROLL,
    TNI_ROW_DRIVE
} tni_row_op;

typedef struct tni_row_part {
    uint8_t     op, k, l;
    bool        velocity; ///< a velocity constraint: it has no position error
    const char* text;     ///< what the row constrains, for messages
} tni_row_part;

/// A free coordinate: zero when the frames coincide.
typedef enum tni_coordinate {
    TNI_COORDINATE_SLIDE_X, ///< a1_x . D
    TNI_COORDINATE_SLIDE_Y,
    TNI_COORDINATE_SLIDE_Z,
    TNI_COORDINATE_ANGLE,      ///< of x2 about z1
    TNI_COORDINATE_BEND,       ///< second angle of a universal joint, about x2
    TNI_COORDINATE_ROTATION_X, ///< rotation vector from frame 1 to frame 2, in frame 1
    TNI_COORDINATE_ROTATION_Y,
    TNI_COORDINATE_ROTATION_Z
} tni_coordinate;

typedef struct tni_joint_type {
    const char*  word;
    int          row_count; ///< position rows come first
    tni_row_part parts[TNI_JOINT_ROWS_MAX];
    int          coordinate_count;
    uint8_t      coordinates[TNI_COORDINATES_MAX];
    bool         turns; ///< needs bodies that can rotate
} tni_joint_type;

/// motor_of: the joint that a motor drives.
const tni_joint_type* tni_joint_type_of(tn_joint_type type, tn_joint_type motor_of);

#endif
