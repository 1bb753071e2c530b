// defs: where every def starts. Numbers that have no natural value are unset; see tenon/scene.h.
#include "model/scene.h"

#include <math.h>

static const tn_frame FRAME_AT_ORIGIN = {.orientation = {.w = 1}};

tn_shape_def tn_default_shape_def(tn_shape_type type)
{
    return (tn_shape_def){.type             = type,
                          .pose             = FRAME_AT_ORIGIN,
                          .friction         = 0.5,
                          .stiffness        = TN_UNSET,
                          .density          = TN_UNSET,
                          .color            = {TN_UNSET, TN_UNSET, TN_UNSET},
                          .collide          = true,
                          .collides_with    = UINT32_MAX,
                          .pieces_tolerance = TN_UNSET,
                          .cookie           = TNI_COOKIE_SHAPE};
}

tn_body_def tn_default_body_def(void)
{
    return (tn_body_def){.kind    = TN_BODY_RIGID,
                         .mass    = TN_UNSET,
                         .com     = {TN_UNSET, TN_UNSET, TN_UNSET},
                         .inertia = {TN_UNSET, TN_UNSET, TN_UNSET, TN_UNSET, TN_UNSET, TN_UNSET},
                         .pose    = FRAME_AT_ORIGIN,
                         .poisson = 0.3,
                         .volume  = TN_UNSET,
                         .cookie  = TNI_COOKIE_BODY};
}

tn_joint_def tn_default_joint_def(tn_joint_type type)
{
    const bool spans = type == TN_JOINT_DISTANCE || type == TN_JOINT_ROPE;
    return (tn_joint_def){
        .type   = type,
        .form   = spans ? TN_JOINT_BY_POINTS : TN_JOINT_BY_ANCHOR,
        .axis   = {0, 0, 1},
        .axis2  = {1, 0, 0},
        .frame1 = FRAME_AT_ORIGIN,
        .frame2 = FRAME_AT_ORIGIN,
        .length = TN_UNSET,
        .radius = TN_UNSET,
        .of     = TN_JOINT_HINGE,
        .limit  = {.lower = 1, .upper = -1, .cone = TN_UNSET, .twist_lower = 1, .twist_upper = -1},
        .friction_speed = 0.01,
        .force_low      = -HUGE_VAL,
        .force_high     = HUGE_VAL,
        .cookie         = TNI_COOKIE_JOINT};
}

tn_constraint_def tn_default_constraint_def(void)
{
    return (tn_constraint_def){.cookie = TNI_COOKIE_USER};
}

tn_coupling_def tn_default_coupling_def(tn_coupling_type type)
{
    const bool center = type == TN_COUPLING_CENTER;
    return (tn_coupling_def){.type   = type,
                             .ratio  = type == TN_COUPLING_DIFFERENTIAL ? 0.5 : 1,
                             .hold   = {center, center, center},
                             .cookie = TNI_COOKIE_COUPLING};
}

tn_spring_def tn_default_spring_def(void)
{
    return (tn_spring_def){.length = TN_UNSET, .cookie = TNI_COOKIE_SPRING};
}

tn_target_def tn_default_target_def(void)
{
    return (tn_target_def){.cookie = TNI_COOKIE_TARGET};
}

tn_load_def tn_default_load_def(void)
{
    return (tn_load_def){.until = (double)INFINITY, .cookie = TNI_COOKIE_LOAD};
}

tn_drag_def tn_default_drag_def(void)
{
    return (tn_drag_def){.cookie = TNI_COOKIE_DRAG};
}

tn_pair_def tn_default_pair_def(void)
{
    return (tn_pair_def){.friction          = TN_UNSET,
                         .restitution       = TN_UNSET,
                         .rolling_friction  = TN_UNSET,
                         .spinning_friction = TN_UNSET,
                         .stiffness         = TN_UNSET,
                         .damping           = TN_UNSET,
                         .cookie            = TNI_COOKIE_PAIR};
}

const char* tn_joint_type_word(tn_joint_type type)
{
    switch (type) {
#define JOINT_WORD(name, word) \
    case name: return word;
        TN_JOINT_LIST(JOINT_WORD)
#undef JOINT_WORD
    case TN_JOINT_TYPE_COUNT: break;
    }
    return "unknown";
}
