// robot: two arms with hands on a fixed torso, pulled by the left hand, as in Hernandez et al.
// 2011, fig. 3. Shoulders, wrists and neck are balls, elbows and fingers hinges. Its joints want
// to stay as they are.
#include "builtins.h"
#include "parts.h"

// Joint springs of light parts are as much weaker as the parts are lighter.
static const double wrist_share = 0.4, finger_share = 0.01;

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

static void add_joint(const arm* a, tns_text name, tn_joint_type type, tn_body_id body1,
                      tn_body_id body2, tn_vec3 anchor, tn_vec3 axis, double share)
{
    tn_joint_def joint = tns_joint(type, body1, body2, anchor, axis);
    joint.name         = name.text;
    joint.stiffness    = share * a->stiffness;
    joint.damping      = share * a->damping;
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
        add_joint(a, name, TN_JOINT_HINGE, last, rod, start, tns_vec(-a->y, 0, 0), finger_share);
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
    add_joint(a, tns_name("%s_shoulder", a->side), TN_JOINT_BALL, torso, upper, shoulder,
              out(a, 0, 1, 0), 1);
    add_joint(a, tns_name("%s_elbow", a->side), TN_JOINT_HINGE, upper, fore, elbow, TNS_Z, 1);
    add_joint(a, tns_name("%s_wrist", a->side), TN_JOINT_BALL, fore, hand, wrist, out(a, 0, 1, 0),
              wrist_share);
    for (int i = 0; i < 3; ++i) add_finger(a, hand, i + 1, 0.035 * (1 - i));
    return hand;
}

// Forward and up, across, and back to where it began.
static void drag(tn_scene* scene, tn_body_id hand, tn_vec3 from)
{
    const tn_key  keys[]     = {{0, tns_frame(from)},
                                {1, tns_frame(tns_add(from, tns_vec(0.3, -0.2, 0.2)))},
                                {2.5, tns_frame(tns_add(from, tns_vec(0.5, -0.6, 0.3)))},
                                {4, tns_frame(tns_add(from, tns_vec(0.2, -0.2, -0.4)))},
                                {5.5, tns_frame(from)}};
    tn_target_def target     = tn_default_target_def();
    target.name              = "haptic";
    target.body              = hand;
    target.keys              = keys;
    target.key_count         = sizeof keys / sizeof keys[0];
    target.stiffness         = 400;
    target.damping           = 20;
    target.angular_stiffness = 0;
    target.angular_damping   = 0;
    tn_scene_add_target(scene, &target);
}

static void build(tn_scene* scene, const double* values)
{
    tns_setup(scene, "robot", 0.001, 6);
    const tn_frame   middle = tns_frame(tns_vec(0, 0, 1.1));
    const tn_body_id torso  = tns_box(scene, "torso", middle, tns_vec(0.12, 0.18, 0.28), 30);
    tns_joint_at(scene, "stand", TN_JOINT_WELD, TNS_GROUND, torso, tns_vec(0, 0, 0.82), TNS_Z);
    const arm left        = {scene, "left", 1, values[0], values[1]},
              right       = {scene, "right", -1, values[0], values[1]};
    const tn_body_id head = tns_sphere(scene, "head", tns_vec(0, 0, 1.55), 0.11, 4);
    add_joint(&left, tns_name("neck"), TN_JOINT_BALL, torso, head, tns_vec(0, 0, 1.42), TNS_Z, 4);
    const tn_body_id hand = add_arm(&left, torso);
    add_arm(&right, torso);
    drag(scene, hand, tns_vec(0, 0.83, 1.3));
}

const tns_builtin tns_robot = {
    "robot",
    "a torso with head, arms, hands and fingers, pulled about by its left hand",
    {{"stiffness", "of the arm joints; wrists and fingers have a share of it [N m/rad]", 5, 0, 1e6,
      false, NULL},
     {"damping", "likewise [N m s/rad]", 0.3, 0, 1e6, false, NULL}},
    build};
