// hand: the skeleton of a hand, 16 bones and 15 joints with springs and limits, that follows a
// recorded motion through springs on palm and fingertips, as in Hernandez et al. 2011, fig. 5.
// Nothing else holds it.
//
// A finger starts at its knuckle and lies in the plane of `along` and `curl`; bone k points along
// cos(a_k) along + sin(a_k) curl, where a_k is what it is bent by; it bends about along x curl.
//
// Ranges are those that hand surgeons go by (American Academy of Orthopaedic Surgeons, Joint
// Motion, 1965; Eaton's Electronic Textbook of Hand Surgery), in degrees from a straight finger:
// knuckles -20..90 (backward they vary from 0 to 45), middle joints 0..100, end joints 0..80, thumb
// -10..55 and -15..80. The thumb's base moves over about 60 degrees from side to side and 45 to the
// palm, turning a little about itself: a ball with a cone of 30 degrees and a twist of 17. A
// universal joint is limited in its first angle only: sideways, where 20 degrees are usual, the
// spring alone holds.
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

typedef struct range {
    double lower, upper; ///< from a straight finger [degrees]
} range;
static const range thumb_ends[]  = {{0, 0}, {-10, 55}, {-15, 80}};
static const range finger_ends[] = {{-20, 90}, {0, 100}, {0, 80}};
static const range thumb_base    = {17, 30}; // twist either way, half angle of the cone

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

static tn_vec3 spread_axis(const finger* f, double side) // a mirror turns axes about
{
    return tns_scale(-side, f->curl);
}

// Turns about axes as they stand in the initial pose; what is nearer to the palm carries the rest
// along.
tn_frame tns_fingertip(int index, double side, tns_bend bend)
{
    const finger  f    = finger_of(index, side);
    const tn_vec3 axis = tns_cross(f.along, f.curl);
    tn_quat       turn = TNS_UPRIGHT;
    tn_vec3       end = f.knuckle, straight = TNS_X;
    for (int k = 0; k < TNS_PHALANX_COUNT; ++k) {
        turn = tns_quat_mul(turn, tns_turn_about(axis, bend.flex[k]));
        if (k == 0) turn = tns_quat_mul(turn, tns_turn_about(spread_axis(&f, side), bend.spread));
        straight = bone(&f, k, rest_bend);
        end      = tns_add(end, tns_rotate(turn, straight));
    }
    return (tn_frame){end, tns_quat_mul(turn, tns_turn(TNS_Z, tns_unit(straight)))};
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

static void set_ends(tn_joint_def* joint, const tns_hand_def* hand, int index, int k)
{
    joint->limit.stiffness = hand->end_stiffness;
    joint->limit.damping   = 0; // a long step would feel it before it is there
    if (joint->type == TN_JOINT_BALL) {
        joint->limit.cone        = tns_radians(thumb_base.upper / 360);
        joint->limit.twist_upper = tns_radians(thumb_base.lower / 360);
        joint->limit.twist_lower = -joint->limit.twist_upper;
    } else {
        const range r      = index == 0 ? thumb_ends[k] : finger_ends[k];
        joint->limit.lower = tns_radians(r.lower / 360 - rest_bend);
        joint->limit.upper = tns_radians(r.upper / 360 - rest_bend);
    }
}

static tn_joint_type joint_type(const tns_hand_def* hand, int index, int k)
{
    if (!hand->anatomical || k > 0) return TN_JOINT_HINGE;
    return index == 0 ? TN_JOINT_BALL : TN_JOINT_UNIVERSAL;
}

static tn_body_id add_finger(tn_scene* scene, const tns_hand_def* hand, tn_body_id palm, int index)
{
    const finger  f     = finger_of(index, hand->side);
    const tn_quat turn  = hand->pose.orientation;
    const tn_vec3 axis  = tns_rotate(turn, tns_cross(f.along, f.curl));
    tn_vec3       start = tns_place(hand->pose, f.knuckle);
    tn_body_id    last  = palm;
    for (int k = 0; k < TNS_PHALANX_COUNT; ++k) {
        const tn_joint_type type = joint_type(hand, index, k);
        const tn_vec3       end  = tns_add(start, tns_rotate(turn, bone(&f, k, rest_bend)));
        const tns_text      name = tns_name("%s%s%d", hand->prefix, f.name, k + 1);
        const tn_body_id    rod =
            tns_rod(scene, name.text, start, end, radius, mass_per_length * f.lengths[k]);
        const tn_vec3 about = type == TN_JOINT_BALL ? tns_unit(tns_sub(end, start)) : axis;
        tn_joint_def  joint = tns_joint(type, last, rod, start, about);
        joint.name          = name.text;
        if (type == TN_JOINT_UNIVERSAL) joint.axis2 = tns_rotate(turn, spread_axis(&f, hand->side));
        tns_set_feel(&joint, (tns_feel){hand->stiffness, hand->damping, -0.2, 1.6});
        if (hand->anatomical) set_ends(&joint, hand, index, k);
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

// ---- The recorded motion: one finger after the other, a stretch, a fist -------------------------

enum { KEY_COUNT = 121 };
static const double key_every = 0.05; // [s]

// What each finger does at most, from the initial pose [degrees]. Alone it stays within its range;
// stretch and fist ask for more than a hand can do.
typedef struct gesture {
    double flex[TNS_PHALANX_COUNT], spread;
} gesture;

static const gesture alone[2]              = {{{15, 40, 60}, 0}, {{65, 80, 55}, 0}};
static const gesture fist[2]               = {{{32, 54, 80}, 0}, {{95, 108, 88}, 0}};
static const gesture stretch[2]            = {{{-12, -25, -30}, 0}, {{-28, -15, -15}, 0}};
static const double  fan[TNS_FINGER_COUNT] = {0, 10, 2, -6, -14};

static tns_bend bend_at(int index, double t)
{
    const int    kind   = index > 0;
    const double begin  = 0.3 + 0.7 * index;
    const double single = tns_pulse(t, begin, begin + 0.4, begin + 0.45, begin + 0.85),
                 open   = tns_pulse(t, 3.95, 4.15, 4.25, 4.45),
                 closed = tns_pulse(t, 4.5, 5, 5.4, 5.9);
    tns_bend bend       = {.spread = open * fan[index] / 360};
    for (int k = 0; k < TNS_PHALANX_COUNT; ++k) {
        const double degrees = single * alone[kind].flex[k] + open * stretch[kind].flex[k] +
                               closed * fist[kind].flex[k];
        bend.flex[k] = degrees / 360;
    }
    return bend;
}

static tn_frame wrist_at(double t)
{
    const double lift = tns_pulse(t, 0.2, 1.2, 3, 4), tilt = tns_pulse(t, 0.5, 1.5, 4, 5);
    return (tn_frame){{0, 0, 0.3 + 0.04 * lift}, tns_turn_about(TNS_X, 0.07 * tilt)};
}

static void track(tn_scene* scene, tn_target_def target, tn_key* keys)
{
    for (int k = 0; k < KEY_COUNT; ++k) keys[k].time = k * key_every;
    target.keys      = keys;
    target.key_count = KEY_COUNT;
    tn_scene_add_target(scene, &target);
}

static void track_palm(tn_scene* scene, tn_body_id palm)
{
    tn_key keys[KEY_COUNT];
    for (int k = 0; k < KEY_COUNT; ++k) keys[k].pose = wrist_at(k * key_every);
    tn_target_def target     = tn_default_target_def();
    target.name              = "palm";
    target.body              = palm;
    target.point             = tns_vec(-0.045, 0, 0); // the wrist
    target.stiffness         = 5000;
    target.damping           = 80;
    target.angular_stiffness = 20;
    target.angular_damping   = 0.1;
    track(scene, target, keys);
}

// A spring of stiffness k [N/m] on the tip, and one on its attitude as if there were two of half
// that 16 mm to either side.
static void track_tip(tn_scene* scene, tn_body_id tip, int index, double k)
{
    tn_key keys[KEY_COUNT];
    for (int i = 0; i < KEY_COUNT; ++i) {
        const tn_frame wrist = wrist_at(i * key_every),
                       end   = tns_fingertip(index, 1, bend_at(index, i * key_every));
        keys[i].pose         = (tn_frame){tns_place(wrist, end.position),
                                          tns_quat_mul(wrist.orientation, end.orientation)};
    }
    tn_target_def target     = tn_default_target_def();
    target.name              = fingers[index].name;
    target.body              = tip;
    target.point             = tns_vec(0, 0, tns_fingertip_reach(index));
    target.stiffness         = k;
    target.damping           = 5e-4 * k;
    target.angular_stiffness = 2.5e-4 * k;
    target.angular_damping   = 1e-7 * k;
    track(scene, target, keys);
}

static void build(tn_scene* scene, const double* values)
{
    // That of the paper. By auto a finger's joint opens when the hand is asked to stretch too far (t = 4 s).
    tns_setup_method(scene, "hand", TN_METHOD_IMPLICIT, (KEY_COUNT - 1) * key_every);
    const tns_hand_def hand = {.prefix        = "",
                               .pose          = wrist_at(0),
                               .side          = 1,
                               .anatomical    = true,
                               .stiffness     = values[0],
                               .damping       = values[1],
                               .end_stiffness = values[2]};
    const tns_hand_ids ids  = tns_add_hand(scene, &hand);
    track_palm(scene, ids.palm);
    for (int i = 0; i < TNS_FINGER_COUNT; ++i) track_tip(scene, ids.tips[i], i, values[3]);
}

const tns_builtin tns_hand = {
    "hand",
    "16 bones, 15 joints with limits and springs, following the motion of a hand",
    {{"stiffness", "spring in every joint [N m/rad]", 0.03, 0, 1e6, false, NULL},
     {"damping", "in every joint [N m s/rad]", 1e-4, 0, 1e6, false, NULL},
     {"limit", "stiffness of the joints' ends [N m/rad]", 1000, 0, 1e9, false, NULL},
     {"tracking", "stiffness of the springs on the fingertips [N/m]", 1000, 0, 1e9, false, NULL}},
    build};
