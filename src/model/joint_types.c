#include "model/joint_types.h"

// clang-format off
#define HELD(op, k, l, text) {TNI_ROW_##op, k, l, false, text}
#define MOVING(op, k, l, text) {TNI_ROW_##op, k, l, true, text}
enum { X, Y, Z };

#define ANCHOR   HELD(POINT, X, 0, "x of anchor"), HELD(POINT, Y, 0, "y of anchor"), HELD(POINT, Z, 0, "z of anchor")
#define ON_AXIS  HELD(LINE, X, 0, "first offset from axis"), HELD(LINE, Y, 0, "second offset from axis")
#define ON_PLANE HELD(LINE, Z, 0, "height over plane")
#define AXIS     HELD(DOT, X, Z, "first tilt of axis"), HELD(DOT, Y, Z, "second tilt of axis")
#define TWIST    HELD(DOT, X, Y, "turn about axis")
#define DRIVE    MOVING(DRIVE, 0, 0, "prescribed velocity")

#define ANGLE    TNI_COORDINATE_ANGLE
#define SLIDE    TNI_COORDINATE_SLIDE_Z
#define SLIDES   TNI_COORDINATE_SLIDE_X, TNI_COORDINATE_SLIDE_Y
#define ROTATION TNI_COORDINATE_ROTATION_X, TNI_COORDINATE_ROTATION_Y, TNI_COORDINATE_ROTATION_Z

static const tni_joint_type types[TN_JOINT_TYPE_COUNT] = {
    [TN_JOINT_WELD]           = {"weld", 6, {ANCHOR, AXIS, TWIST}, 0, {0}, true},
    [TN_JOINT_HINGE]          = {"hinge", 5, {ANCHOR, AXIS}, 1, {ANGLE}, true},
    [TN_JOINT_SLIDER]         = {"slider", 5, {ON_AXIS, AXIS, TWIST}, 1, {SLIDE}, true},
    [TN_JOINT_SCREW]          = {"screw", 5, {ON_AXIS, AXIS, HELD(SCREW, 0, 0, "advance along axis")}, 1, {ANGLE}, true},
    [TN_JOINT_CYLINDER]       = {"cylinder", 4, {ON_AXIS, AXIS}, 2, {ANGLE, SLIDE}, true},
    [TN_JOINT_UNIVERSAL]      = {"universal", 4, {ANCHOR, HELD(DOT, Z, X, "right angle of axes")}, 2, {ANGLE, TNI_COORDINATE_BEND}, true},
    [TN_JOINT_BALL]           = {"ball", 3, {ANCHOR}, 3, {ROTATION}, false},
    [TN_JOINT_PLANE]          = {"plane", 3, {ON_PLANE, AXIS}, 3, {SLIDES, ANGLE}, true},
    [TN_JOINT_POINT_ON_LINE]  = {"point_on_line", 2, {ON_AXIS}, 4, {SLIDE, ROTATION}, false},
    [TN_JOINT_POINT_ON_PLANE] = {"point_on_plane", 1, {ON_PLANE}, 5, {SLIDES, ROTATION}, false},
    [TN_JOINT_DISTANCE]       = {"distance", 1, {HELD(DISTANCE, 0, 0, "distance")}, 0, {0}, false},
    [TN_JOINT_ROLLING]        = {"rolling", 3, {HELD(ROLL, Z, 0, "height over plane"), MOVING(ROLL, X, 0, "first slip"), MOVING(ROLL, Y, 0, "second slip")}, 0, {0}, true},
    [TN_JOINT_ROPE]           = {"rope", 0, {{0}}, 0, {0}, false},
    [TN_JOINT_USER]           = {"user", 0, {{0}}, 0, {0}, false},
};
static const tni_joint_type hinge_motor  = {"motor", 6, {ANCHOR, AXIS, DRIVE}, 1, {ANGLE}, true};
static const tni_joint_type slider_motor = {"motor", 6, {ON_AXIS, AXIS, TWIST, DRIVE}, 1, {SLIDE}, true};
// clang-format on

const tni_joint_type* tni_joint_type_of(tn_joint_type type, tn_joint_type motor_of)
{
    if (type == TN_JOINT_MOTOR) return motor_of == TN_JOINT_SLIDER ? &slider_motor : &hinge_motor;
    return &types[type];
}
