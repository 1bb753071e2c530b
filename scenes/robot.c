// robot: two arms with hands on a fixed torso, pulled by the left hand, as in Hernandez et al.
// 2011, fig. 3. Shoulders, elbows, wrists and neck are balls, fingers hinges. Its joints want to
// stay as they are, unless their torque is off: then nothing but the pull and dampers hold the arm.
#include "builtins.h"
#include "parts.h"

// A joint's share of the arm's stiffness and damping, and its limits: cone and twist of a ball,
// range of a hinge [rad]. Limits have no damping: a long step would feel it before reaching them.
typedef struct make {
    tn_joint_type type;
    double        share, inward, other;
} make;

static const make shoulder_make   = {TN_JOINT_BALL, 1, 1.8, 1.5},
                  elbow_make      = {TN_JOINT_BALL, 0.5, 2.4, 1.5},
                  wrist_make      = {TN_JOINT_BALL, 0.1, 1.2, 1},
                  finger_make     = {TN_JOINT_HINGE, 0.005, 1.6, 0.3},
                  neck_make       = {TN_JOINT_BALL, 2, 0.8, 1.2};
static const double end_stiffness = 1e4; // of a whole share [N m/rad]

typedef struct arm {
    tn_scene*   scene;
    const char* side;
    double      y; ///< 1: left, -1: right
    double      stiffness, damping;
} arm;

static tn_vec3 out(const arm* a, double x, double y, double z)
{
    return tns_vec(x, a->y * y, z);
}

static void add_joint(const arm* a, tns_text name, make m, tn_body_id body1, tn_body_id body2,
                      tn_vec3 anchor, tn_vec3 axis)
{
    tn_joint_def joint    = tns_joint(m.type, body1, body2, anchor, axis);
    joint.name            = name.text;
    joint.stiffness       = m.share * a->stiffness;
    joint.damping         = m.share * a->damping;
    joint.limit.given     = true;
    joint.limit.stiffness = m.share * end_stiffness;
    if (m.type == TN_JOINT_BALL) {
        joint.limit.cone        = m.inward;
        joint.limit.twist_lower = -m.other;
        joint.limit.twist_upper = m.other;
    } else {
        joint.limit.lower = -m.other;
        joint.limit.upper = m.inward;
    }
    tn_scene_add_joint(a->scene, &joint);
}

// Two bones, bending toward the palm, down: about -x at the left hand, about x at the right.
static void add_finger(const arm* a, tn_body_id hand, int number, double x)
{
    tn_body_id last = hand;
    for (int k = 0; k < 2; ++k) {
        const tn_vec3 start   = out(a, x, 0.88 + 0.05 * k, 1.3),
                      end     = out(a, x, 0.93 + 0.05 * k, 1.3);
        const tns_text   name = tns_name("%s_finger%d_%d", a->side, number, k + 1);
        const tn_body_id rod  = tns_rod(a->scene, name.text, start, end, 0.01, 0.05);
        add_joint(a, name, finger_make, last, rod, start, tns_vec(-a->y, 0, 0));
        last = rod;
    }
}

static tn_body_id add_arm(const arm* a, tn_body_id torso)
{
    const tn_vec3 shoulder = out(a, 0, 0.2, 1.3), elbow = out(a, 0, 0.5, 1.3),
                  wrist        = out(a, 0, 0.78, 1.3);
    const tns_text upper_name  = tns_name("%s_upper_arm", a->side),
                   fore_name   = tns_name("%s_forearm", a->side);
    const tns_text   hand_name = tns_name("%s_hand", a->side);
    const tn_body_id upper     = tns_rod(a->scene, upper_name.text, shoulder, elbow, 0.045, 2);
    const tn_body_id fore      = tns_rod(a->scene, fore_name.text, elbow, wrist, 0.035, 1.3);
    const tn_frame   pose      = tns_frame(out(a, 0, 0.83, 1.3));
    const tn_body_id hand = tns_box(a->scene, hand_name.text, pose, tns_vec(0.05, 0.05, 0.02), 0.5);
    add_joint(a, tns_name("%s_shoulder", a->side), shoulder_make, torso, upper, shoulder, TNS_Y);
    add_joint(a, tns_name("%s_elbow", a->side), elbow_make, upper, fore, elbow, TNS_Y);
    add_joint(a, tns_name("%s_wrist", a->side), wrist_make, fore, hand, wrist, TNS_Y);
    for (int i = 0; i < 3; ++i) add_finger(a, hand, i + 1, 0.035 * (1 - i));
    return hand;
}

// Forward and up, across, down at the side, and back to where it began; never farther from the
// shoulder than the arm reaches.
static void drag(tn_scene* scene, tn_body_id hand, tn_vec3 from)
{
    static const tn_vec3 way[] = {{0, 0, 0},         {0.2, -0.1, 0.2},  {0.4, -0.3, 0.25},
                                  {0.45, -0.6, 0.1}, {0.4, -0.4, -0.2}, {0.1, -0.25, -0.45},
                                  {0.1, -0.1, -0.2}, {0, -0.01, -0.02}};
    enum { COUNT = sizeof way / sizeof way[0] };
    tn_key keys[COUNT];
    for (int k = 0; k < COUNT; ++k)
        keys[k] = (tn_key){0.2 + 0.7 * k, tns_frame(tns_add(from, way[k]))};
    tn_target_def target     = tn_default_target_def();
    target.name              = "haptic";
    target.body              = hand;
    target.keys              = keys;
    target.key_count         = COUNT;
    target.stiffness         = 4000;
    target.damping           = 60;
    target.angular_stiffness = 0;
    target.angular_damping   = 0;
    tn_scene_add_target(scene, &target);
}

static void build(tn_scene* scene, const double* values)
{
    tns_setup(scene, "robot", 6);
    const double     stiffness = values[2] == 0 ? values[0] : 0;
    const tn_frame   middle    = tns_frame(tns_vec(0, 0, 1.1));
    const tn_body_id torso     = tns_box(scene, "torso", middle, tns_vec(0.12, 0.18, 0.28), 30);
    tns_joint_at(scene, "stand", TN_JOINT_WELD, TNS_GROUND, torso, tns_vec(0, 0, 0.82), TNS_Z);
    const arm left        = {scene, "left", 1, stiffness, values[1]},
              right       = {scene, "right", -1, stiffness, values[1]};
    const tn_body_id head = tns_sphere(scene, "head", tns_vec(0, 0, 1.55), 0.11, 4);
    add_joint(&left, tns_name("neck"), neck_make, torso, head, tns_vec(0, 0, 1.42), TNS_Z);
    const tn_body_id hand = add_arm(&left, torso);
    add_arm(&right, torso);
    drag(scene, hand, tns_vec(0, 0.83, 1.3));
}

const tns_builtin tns_robot = {
    "robot",
    "a torso with head, arms, hands and fingers, pulled about by its left hand",
    {{"stiffness", "of the shoulders; the other joints have a share of it [N m/rad]", 60, 0, 1e6,
      false, NULL},
     {"damping", "likewise [N m s/rad]", 2, 0, 1e6, false, NULL},
     {"torque", "off: joints have no springs", 0, 0, 1, true, "on|off"}},
    build};
