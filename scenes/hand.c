// hand: the skeleton of a hand, 16 bones and 15 joints with springs and soft limits, that follows a
// recorded motion through springs, as in Hernandez et al. 2011, fig. 5. Nothing else holds it.
//
// A finger starts at its knuckle and lies in the plane of `along` and `curl`; bone k points along
// cos(a_k) along + sin(a_k) curl, where a_k is what it is bent by; it bends about along x curl.
#include "builtins.h"
#include "characters.h"

typedef struct finger {
    const char* name;
    tn_vec3     knuckle;     ///< in the hand's frame, thumb at +y
    tn_vec3     along, curl; ///< made unit and orthogonal before use
    double      lengths[TNS_PHALANX_COUNT];
} finger;

static const double radius = 0.008, mass_per_length = 0.22;
static const double rest_bend = 0.015; // a relaxed finger is not straight [turns a joint]

static const finger fingers[TNS_FINGER_COUNT] = {
    {"thumb", {0.02, 0.035, -0.005}, {0.7, 0.7, -0.15}, {0.3, -0.5, -0.8}, {0.045, 0.032, 0.026}},
    {"index", {0.09, 0.03, 0}, {1, 0, 0}, {0, 0, -1}, {0.040, 0.025, 0.020}},
    {"middle", {0.09, 0.01, 0}, {1, 0, 0}, {0, 0, -1}, {0.044, 0.028, 0.022}},
    {"ring", {0.09, -0.01, 0}, {1, 0, 0}, {0, 0, -1}, {0.041, 0.026, 0.021}},
    {"little", {0.09, -0.03, 0}, {1, 0, 0}, {0, 0, -1}, {0.033, 0.020, 0.018}},
};

static finger finger_of(int index, double side)
{
    finger f = fingers[index];
    f.knuckle.y *= side;
    f.along.y *= side;
    f.curl.y *= side;
    f.along = tns_unit(f.along);
    f.curl  = tns_unit(tns_sub(f.curl, tns_scale(tns_dot(f.curl, f.along), f.along)));
    return f;
}

static tn_vec3 bone(const finger* f, int k, double bend)
{
    const tn_vec3 angle = tns_circle((k + 1) * bend);
    return tns_scale(f->lengths[k],
                     tns_add(tns_scale(angle.x, f->along), tns_scale(angle.y, f->curl)));
}

tn_vec3 tns_fingertip(int index, double side, double bend)
{
    const finger f   = finger_of(index, side);
    tn_vec3      end = f.knuckle;
    for (int k = 0; k < TNS_PHALANX_COUNT; ++k) end = tns_add(end, bone(&f, k, rest_bend + bend));
    return end;
}

double tns_fingertip_reach(int index)
{
    return fingers[index].lengths[TNS_PHALANX_COUNT - 1] / 2;
}

void tns_set_feel(tn_joint_def* joint, tns_feel feel)
{
    joint->stiffness       = feel.stiffness;
    joint->damping         = feel.damping;
    joint->limit.given     = true;
    joint->limit.stiffness = 10 * feel.stiffness;
    joint->limit.damping   = feel.damping;
    if (joint->type == TN_JOINT_BALL) {
        joint->limit.cone = feel.upper;
    } else {
        joint->limit.lower = feel.lower;
        joint->limit.upper = feel.upper;
    }
}

static tn_body_id add_finger(tn_scene* scene, const tns_hand_def* hand, tn_body_id palm, int index)
{
    const finger  f     = finger_of(index, hand->side);
    const tn_quat turn  = hand->pose.orientation;
    const tn_vec3 axis  = tns_rotate(turn, tns_cross(f.along, f.curl));
    tn_vec3       start = tns_place(hand->pose, f.knuckle);
    tn_body_id    last  = palm;
    for (int k = 0; k < TNS_PHALANX_COUNT; ++k) {
        const tn_vec3    end  = tns_add(start, tns_rotate(turn, bone(&f, k, rest_bend)));
        const tns_text   name = tns_name("%s%s%d", hand->prefix, f.name, k + 1);
        const tn_body_id rod =
            tns_rod(scene, name.text, start, end, radius, mass_per_length * f.lengths[k]);
        tn_joint_def joint =
            tns_joint(k == 0 ? hand->knuckle : TN_JOINT_HINGE, last, rod, start, axis);
        joint.name  = name.text;
        joint.axis2 = tns_rotate(turn, tns_scale(-1, f.curl)); // spreads a universal knuckle
        tns_set_feel(&joint, (tns_feel){hand->stiffness, hand->damping, -0.2, 1.6});
        tn_scene_add_joint(scene, &joint);
        start = end;
        last  = rod;
    }
    return last;
}

tns_hand_ids tns_add_hand(tn_scene* scene, const tns_hand_def* hand)
{
    const tn_frame pose = {tns_place(hand->pose, tns_vec(0.045, 0, 0)), hand->pose.orientation};
    tns_hand_ids   ids;
    ids.palm = tns_box(scene, tns_name("%spalm", hand->prefix).text, pose,
                       tns_vec(0.045, 0.04, 0.012), 0.35);
    for (int i = 0; i < TNS_FINGER_COUNT; ++i) ids.tips[i] = add_finger(scene, hand, ids.palm, i);
    return ids;
}

// The recorded motion: a wave, and a fist.
enum { KEY_COUNT = 6 };

static void record(tn_frame wrist[KEY_COUNT], double bend[KEY_COUNT])
{
    static const double lift[KEY_COUNT] = {0, 0.05, 0.05, 0.02, 0, 0},
                        tilt[KEY_COUNT] = {0, 0.08, -0.08, 0.04, 0, 0};
    static const double fist[KEY_COUNT] = {0, 0, 0.03, 0.12, 0.12, 0};
    for (int k = 0; k < KEY_COUNT; ++k) {
        wrist[k] = (tn_frame){{0, 0, 0.3 + lift[k]}, tns_turn_about(TNS_X, tilt[k])};
        bend[k]  = fist[k];
    }
}

static void track_palm(tn_scene* scene, tn_body_id palm, const tn_frame* wrist)
{
    tn_key keys[KEY_COUNT];
    for (int k = 0; k < KEY_COUNT; ++k) keys[k] = (tn_key){k, wrist[k]};
    tn_target_def target     = tn_default_target_def();
    target.name              = "palm";
    target.body              = palm;
    target.keys              = keys;
    target.key_count         = KEY_COUNT;
    target.point             = tns_vec(-0.045, 0, 0); // the wrist
    target.stiffness         = 500;
    target.damping           = 20;
    target.angular_stiffness = 5;
    target.angular_damping   = 0.05;
    tn_scene_add_target(scene, &target);
}

static void track_tip(tn_scene* scene, tn_body_id tip, int index, const tn_frame* wrist,
                      const double* bend)
{
    tn_key keys[KEY_COUNT];
    for (int k = 0; k < KEY_COUNT; ++k) {
        keys[k] = (tn_key){k, tns_frame(tns_place(wrist[k], tns_fingertip(index, 1, bend[k])))};
    }
    const tns_text name      = tns_name("%s", fingers[index].name);
    tn_target_def  target    = tn_default_target_def();
    target.name              = name.text;
    target.body              = tip;
    target.keys              = keys;
    target.key_count         = KEY_COUNT;
    target.point             = tns_vec(0, 0, tns_fingertip_reach(index));
    target.stiffness         = 20;
    target.damping           = 0.1;
    target.angular_stiffness = 0;
    target.angular_damping   = 0;
    tn_scene_add_target(scene, &target);
}

static void build(tn_scene* scene, const double* values)
{
    tn_frame wrist[KEY_COUNT];
    double   bend[KEY_COUNT];
    tns_setup(scene, "hand", 0.001, KEY_COUNT - 1);
    record(wrist, bend);
    const tns_hand_def hand = {.prefix    = "",
                               .pose      = wrist[0],
                               .side      = 1,
                               .knuckle   = TN_JOINT_UNIVERSAL,
                               .stiffness = values[0],
                               .damping   = values[1]};
    const tns_hand_ids ids  = tns_add_hand(scene, &hand);
    track_palm(scene, ids.palm, wrist);
    for (int i = 0; i < TNS_FINGER_COUNT; ++i) track_tip(scene, ids.tips[i], i, wrist, bend);
}

const tns_builtin tns_hand = {
    "hand",
    "16 bones, 15 joints with limits and springs, following a recorded motion",
    {{"stiffness", "spring in every joint [N m/rad]", 0.03, 0, 1e6, false, NULL},
     {"damping", "in every joint [N m s/rad]", 1e-4, 0, 1e6, false, NULL}},
    build};
