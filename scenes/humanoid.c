// humanoid: a person as bones between points, at two levels of detail. The fine one has every
// vertebra and whole hands: 89 bodies and 95 degrees of freedom, as the characters of Redon et al.
// 2005, fig. 1.
//
//     fine:  base 6, spine 24 hinges, skull 2, jaw 1, hands 2 x 15 hinges,
//            arm: collar 2, shoulder 3, elbow 1, forearm twist 1, wrist 2; shoulder blade welded
//            leg: hip 3, knee 1, ankle 1, heel 1, big toe 1; midfoot and small toes welded
//            6 + 24 + 2 + 1 + 30 + 2 x 9 + 2 x 7 = 95,  88 joints, 6 x 88 - 89 = 439 rows
//
// Only left limbs are listed; the right ones are their mirror images in y = 0. A mirror turns the
// axis (x, y, z) of a rotation into (-x, y, -z), so the same angle is the mirrored motion. Limits
// and springs keep it in a plausible pose. Each spring is small enough against the inertia it
// moves that an explicit step of 1 ms can take it; ends that are a healthy body's own are not.
// Limp people have no springs but hard ends there, and a little damping as flesh has it.
#include "builtins.h"
#include "characters.h"

#include <string.h>

typedef struct bone {
    const char*   name;
    const char*   parent; ///< NULL: the floating base
    bool          paired; ///< and so may be the parent, which is then that of the same side
    tn_vec3       a, b;   ///< ends, standing at the origin [m]
    double        radius, mass;
    tn_joint_type type;
    tn_vec3       at;   ///< the joint
    const char*   axes; ///< "y", "-z", or two of them for a universal joint, as "yx"
    tns_feel      feel;
} bone;

// clang-format off
#define NO_FEEL {0, 0, 0, 0}

static const bone coarse[] = {
    {"pelvis", NULL, false, {0, -0.08, 0.97}, {0, 0.08, 0.97}, 0.10, 12,
     TN_JOINT_WELD, {0, 0, 0}, "", NO_FEEL},
    {"abdomen", "pelvis", false, {0, 0, 1.02}, {0, 0, 1.18}, 0.10, 9,
     TN_JOINT_BALL, {0, 0, 1.02}, "z", {100, 4, 0, 0.6}},
    {"chest", "abdomen", false, {0, 0, 1.18}, {0, 0, 1.42}, 0.13, 18,
     TN_JOINT_BALL, {0, 0, 1.18}, "z", {100, 4, 0, 0.5}},
    {"neck", "chest", false, {0, 0, 1.46}, {0, 0, 1.56}, 0.05, 1.5,
     TN_JOINT_UNIVERSAL, {0, 0, 1.46}, "yx", {20, 0.2, -0.5, 0.5}},
    {"head", "neck", false, {0, 0, 1.62}, {0, 0, 1.72}, 0.09, 4.5,
     TN_JOINT_BALL, {0, 0, 1.57}, "z", {10, 0.2, 0, 0.6}},
    {"upper_arm", "chest", true, {0, 0.19, 1.43}, {0, 0.47, 1.43}, 0.045, 2.2,
     TN_JOINT_BALL, {0, 0.19, 1.43}, "y", {10, 0.4, 0, 1.7}},
    {"forearm", "upper_arm", true, {0, 0.47, 1.43}, {0, 0.73, 1.43}, 0.035, 1.4,
     TN_JOINT_HINGE, {0, 0.47, 1.43}, "-z", {5, 0.2, -0.1, 2.4}},
    {"hand", "forearm", true, {0, 0.76, 1.43}, {0, 0.89, 1.43}, 0.03, 0.5,
     TN_JOINT_UNIVERSAL, {0, 0.73, 1.43}, "xz", {2, 0.02, -1.2, 1.2}},
    {"thigh", "pelvis", true, {0, 0.09, 0.95}, {0, 0.09, 0.52}, 0.07, 8,
     TN_JOINT_BALL, {0, 0.09, 0.95}, "z", {20, 1, 0, 1.2}},
    {"shank", "thigh", true, {0, 0.09, 0.52}, {0, 0.09, 0.10}, 0.05, 3.4,
     TN_JOINT_HINGE, {0, 0.09, 0.52}, "y", {10, 0.4, -0.05, 2.2}},
    {"foot", "shank", true, {-0.04, 0.09, 0.04}, {0.17, 0.09, 0.04}, 0.035, 1.1,
     TN_JOINT_UNIVERSAL, {0, 0.09, 0.09}, "yx", {8, 0.1, -0.6, 0.6}},
};

// All of the fine one but spine and hands, which follow below.
static const bone fine[] = {
    {"pelvis", NULL, false, {0, -0.08, 0.97}, {0, 0.08, 0.97}, 0.10, 11,
     TN_JOINT_WELD, {0, 0, 0}, "", NO_FEEL},
    {"skull", "C1", false, {0, 0, 1.65}, {0, 0, 1.74}, 0.09, 4.2,
     TN_JOINT_UNIVERSAL, {0, 0, 1.595}, "yz", {10, 0.2, -0.5, 0.5}},
    {"jaw", "skull", false, {0.02, 0, 1.60}, {0.08, 0, 1.59}, 0.03, 0.3,
     TN_JOINT_HINGE, {0.02, 0, 1.62}, "y", {2, 0.01, 0, 0.5}},
    {"collar", "T1", true, {0.03, 0.02, 1.45}, {0, 0.17, 1.45}, 0.02, 0.3,
     TN_JOINT_UNIVERSAL, {0.03, 0.02, 1.45}, "xz", {60, 1, -0.3, 0.3}},
    {"shoulder_blade", "collar", true, {-0.02, 0.17, 1.45}, {-0.07, 0.10, 1.33}, 0.03, 0.9,
     TN_JOINT_WELD, {-0.02, 0.17, 1.45}, "z", NO_FEEL},
    {"upper_arm", "shoulder_blade", true, {0, 0.20, 1.43}, {0, 0.47, 1.43}, 0.045, 2.1,
     TN_JOINT_BALL, {0, 0.20, 1.43}, "y", {10, 0.4, 0, 1.7}},
    {"ulna", "upper_arm", true, {-0.01, 0.47, 1.43}, {-0.01, 0.72, 1.43}, 0.02, 0.7,
     TN_JOINT_HINGE, {0, 0.47, 1.43}, "-z", {5, 0.2, -0.1, 2.4}},
    {"radius", "ulna", true, {0.02, 0.49, 1.43}, {0.01, 0.72, 1.43}, 0.02, 0.6,
     TN_JOINT_HINGE, {0.01, 0.72, 1.43}, "y", {2, 0.02, -1.4, 1.4}},
    {"thigh", "pelvis", true, {0, 0.09, 0.95}, {0, 0.09, 0.52}, 0.07, 8,
     TN_JOINT_BALL, {0, 0.09, 0.95}, "z", {20, 1, 0, 1.2}},
    {"shank", "thigh", true, {0, 0.09, 0.52}, {0, 0.09, 0.12}, 0.05, 3.2,
     TN_JOINT_HINGE, {0, 0.09, 0.52}, "y", {10, 0.4, -0.05, 2.2}},
    {"ankle", "shank", true, {0, 0.09, 0.10}, {0, 0.09, 0.06}, 0.03, 0.3,
     TN_JOINT_HINGE, {0, 0.09, 0.10}, "y", {8, 0.1, -0.6, 0.6}},
    {"heel", "ankle", true, {-0.05, 0.09, 0.03}, {0.03, 0.09, 0.045}, 0.03, 0.4,
     TN_JOINT_HINGE, {0, 0.09, 0.05}, "x", {5, 0.02, -0.3, 0.3}},
    {"midfoot", "heel", true, {0.03, 0.09, 0.045}, {0.13, 0.09, 0.02}, 0.025, 0.4,
     TN_JOINT_WELD, {0.03, 0.09, 0.045}, "z", NO_FEEL},
    {"toe1", "midfoot", true, {0.14, 0.06, 0.015}, {0.19, 0.06, 0.012}, 0.012, 0.06,
     TN_JOINT_HINGE, {0.13, 0.06, 0.015}, "y", {0.5, 0.002, -1, 0.4}},
    {"toe2", "midfoot", true, {0.14, 0.08, 0.012}, {0.185, 0.08, 0.01}, 0.009, 0.03,
     TN_JOINT_WELD, {0.13, 0.08, 0.012}, "z", NO_FEEL},
    {"toe3", "midfoot", true, {0.14, 0.10, 0.012}, {0.18, 0.10, 0.01}, 0.009, 0.03,
     TN_JOINT_WELD, {0.13, 0.10, 0.012}, "z", NO_FEEL},
    {"toe4", "midfoot", true, {0.135, 0.115, 0.012}, {0.17, 0.115, 0.01}, 0.009, 0.03,
     TN_JOINT_WELD, {0.13, 0.115, 0.012}, "z", NO_FEEL},
    {"toe5", "midfoot", true, {0.13, 0.13, 0.012}, {0.155, 0.13, 0.01}, 0.009, 0.03,
     TN_JOINT_WELD, {0.125, 0.13, 0.012}, "z", NO_FEEL},
};
// clang-format on

// Where joints end in a healthy body, in degrees from standing with the arms held out (after
// American Academy of Orthopaedic Surgeons, Joint Motion, 1965). Balls: half angle of a cone, that
// of a hip about a direction 45 degrees before the leg (120 forward, 30 back), and the turn inward
// and outward. Universal joints end in their first angle only. Bones that are not listed keep their
// range. Ends push back 300 times as hard as the joint's spring.
typedef struct anatomy {
    const char* name;
    double      lower, upper; ///< of balls the twist
    double      cone, ahead;
} anatomy;

static const anatomy ends[] = {
    {"abdomen", -20, 20, 45, 0},    {"chest", -20, 20, 35, 0},  {"neck", -45, 45, 0, 0},
    {"head", -60, 60, 35, 0},       {"skull", -30, 30, 0, 0},   {"jaw", 0, 30, 0, 0},
    {"upper_arm", -90, 90, 110, 0}, {"forearm", -5, 145, 0, 0}, {"ulna", -5, 145, 0, 0},
    {"radius", -150, 15, 0, 0},     {"hand", -75, 70, 0, 0},    {"thigh", -45, 45, 75, 45},
    {"shank", -5, 135, 0, 0},       {"foot", -20, 50, 0, 0},    {"ankle", -20, 50, 0, 0},
    {"heel", -35, 20, 0, 0},        {"toe1", -70, 45, 0, 0},
};

// Bones that no joint ties together but that overlap all the same: flesh, not a collision.
static const char* const flesh[][2] = {
    {"pelvis", "chest"}, {"abdomen", "left_thigh"}, {"abdomen", "right_thigh"}, {"chest", "head"}};

// A point and a direction of a person that stands at the origin, in the world.
static tn_vec3 direction_of(const tns_person_def* person, tn_vec3 v)
{
    const tn_quat q = person->turn;
    return q.w != 0 || q.x != 0 || q.y != 0 || q.z != 0 ? tns_rotate(q, v) : v;
}
static tn_vec3 point_of(const tns_person_def* person, tn_vec3 p)
{
    return tns_add(person->place, direction_of(person, p));
}

static tn_body_id find(tn_scene* scene, const tns_person_def* person, const char* side,
                       const char* name)
{
    bool found;
    return tn_scene_find_body(scene, tns_name("%s%s%s", person->prefix, side, name).text, &found);
}

// The first axis of a list, or with skip = 1 the second.
static tn_vec3 axis_of(const char* axes, int skip)
{
    const double sign = axes[0] == '-' ? -1 : 1;
    const char   c    = axes[(sign < 0) + skip];
    return tns_scale(sign, c == 'x' ? TNS_X : c == 'y' ? TNS_Y : TNS_Z);
}

static tn_vec3 mirrored(tn_vec3 v, double side)
{
    return tns_vec(v.x, side * v.y, v.z);
}
static tn_vec3 mirrored_axis(tn_vec3 v, double side)
{
    return tns_vec(side * v.x, v.y, side * v.z);
}

static bool is_paired(const bone* bones, int count, const char* name)
{
    for (int i = 0; i < count; ++i) {
        if (strcmp(bones[i].name, name) == 0) return bones[i].paired;
    }
    return false;
}

static tn_quat inverse(tn_quat q)
{
    return (tn_quat){q.w, -q.x, -q.y, -q.z};
}

// The cone of a ball lies about a direction that is so much ahead of the bone, which hangs down:
// turned about -y. Frames then differ at the start, and the spring is slack where they do.
static void tilt_cone(const tn_scene* scene, const tns_person_def* person, tn_joint_def* joint,
                      double ahead)
{
    if (joint->body1.bits == 0 || joint->body2.bits == 0)
        return; // an add failed; the scene remembers
    const tn_body_def *one = tn_scene_body(scene, (int)joint->body1.bits - 1),
                      *two = tn_scene_body(scene, (int)joint->body2.bits - 1);
    const tn_vec3 across   = direction_of(person, TNS_Y);
    const tn_quat along    = tns_turn(TNS_Z, joint->axis),
                  turned   = tns_quat_mul(tns_turn_about(across, -ahead), along);
    const tn_quat q1 = inverse(one->pose.orientation), q2 = inverse(two->pose.orientation);
    const tn_vec3 slack = tns_scale(tns_radians(ahead), tns_rotate(inverse(along), across));
    joint->form         = TN_JOINT_BY_FRAMES;
    joint->frame1       = (tn_frame){tns_rotate(q1, tns_sub(joint->anchor, one->pose.position)),
                                     tns_quat_mul(q1, turned)};
    joint->frame2       = (tn_frame){tns_rotate(q2, tns_sub(joint->anchor, two->pose.position)),
                                     tns_quat_mul(q2, along)};
    joint->rest[0] = slack.x, joint->rest[1] = slack.y, joint->rest[2] = slack.z;
}

static void set_anatomy(const tn_scene* scene, const tns_person_def* person, tn_joint_def* joint,
                        const char* name)
{
    joint->limit.stiffness = 300 * joint->stiffness;
    joint->limit.damping   = 0;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; ++i) {
        const anatomy* a = &ends[i];
        if (strcmp(a->name, name) != 0) continue;
        const bool ball                                           = joint->type == TN_JOINT_BALL;
        *(ball ? &joint->limit.twist_lower : &joint->limit.lower) = tns_radians(a->lower / 360);
        *(ball ? &joint->limit.twist_upper : &joint->limit.upper) = tns_radians(a->upper / 360);
        if (ball) joint->limit.cone = tns_radians(a->cone / 360);
        if (a->ahead != 0) tilt_cone(scene, person, joint, a->ahead / 360);
    }
}

static void go_limp(tn_joint_def* joint)
{
    joint->stiffness       = 0;
    joint->limit.hard      = true;
    joint->limit.stiffness = 0;
}

static tn_body_id add_limb(tn_scene* scene, const tns_person_def* person, const char* name,
                           const bone* b, double y)
{
    const tn_vec3 a   = point_of(person, mirrored(b->a, y)),
                  end = point_of(person, mirrored(b->b, y));
    if (person->limp == NULL) return tns_rod(scene, name, a, end, b->radius, b->mass);
    return tns_capsule(scene, name, a, end, b->radius, TNS_AT_REST, b->mass, *person->limp);
}

// side: "" on the middle line, else "left_" or "right_"; parent_side likewise.
static void add_bone(tn_scene* scene, const tns_person_def* person, const bone* b, const char* side,
                     const char* parent_side)
{
    const double     y    = side[0] == 'r' ? -1 : 1;
    const tns_text   name = tns_name("%s%s%s", person->prefix, side, b->name);
    const tn_body_id body = add_limb(scene, person, name.text, b, y);
    if (b->parent == NULL) return;
    const tn_body_id parent = find(scene, person, parent_side, b->parent);
    const tn_vec3    at     = point_of(person, mirrored(b->at, y));
    const tn_vec3    axis   = mirrored_axis(axis_of(b->axes, 0), y);
    tn_joint_def     joint  = tns_joint(b->type, parent, body, at, direction_of(person, axis));
    joint.name              = name.text;
    if (b->type == TN_JOINT_UNIVERSAL)
        joint.axis2 = direction_of(person, mirrored_axis(axis_of(b->axes, 1), y));
    if (b->type != TN_JOINT_WELD) tns_set_feel(&joint, b->feel);
    if (b->type != TN_JOINT_WELD && (person->anatomical || person->limp != NULL))
        set_anatomy(scene, person, &joint, b->name);
    if (person->limp != NULL) go_limp(&joint);
    tn_scene_add_joint(scene, &joint);
}

static void add_bones(tn_scene* scene, const tns_person_def* person, const bone* bones, int first,
                      int count)
{
    for (int i = first; i < count; ++i) {
        const bone* b = &bones[i];
        if (!b->paired) {
            add_bone(scene, person, b, "", "");
            continue;
        }
        const bool both = is_paired(bones, count, b->parent);
        add_bone(scene, person, b, "left_", both ? "left_" : "");
        add_bone(scene, person, b, "right_", both ? "right_" : "");
    }
}

// A stretch of the spine: vertebrae from below upward, numbered from above downward as anatomists
// do.
typedef struct stretch {
    char     letter;
    int      count;
    double   height;    ///< of one vertebra [m]
    tn_vec3  half_size; ///< of the slice of the body that goes with it; z unused
    double   mass;
    tns_feel feel;
} stretch;

static const stretch spine[] = {
    {'L', 5, 0.036, {0.085, 0.12, 0}, 1.7, {60, 1, -0.25, 0.25}},
    {'T', 12, 0.024, {0.095, 0.14, 0}, 1.5, {60, 1, -0.12, 0.12}},
    {'C', 7, 0.017, {0.035, 0.045, 0}, 0.3, {10, 0.03, -0.25, 0.25}},
};

// Hinges bend in turn forward, sideways, and about the spine itself.
static void add_spine(tn_scene* scene, const tns_person_def* person)
{
    static const tn_vec3 axes[3] = {{0, 1, 0}, {1, 0, 0}, {0, 0, 1}};
    tn_body_id           below   = find(scene, person, "", "pelvis");
    double               z       = 1.02;
    int                  number  = 0;
    for (size_t s = 0; s < sizeof spine / sizeof spine[0]; ++s) {
        const stretch* part = &spine[s];
        for (int i = part->count; i > 0; --i) {
            const tns_text   name = tns_name("%s%c%d", person->prefix, part->letter, i);
            const tn_vec3    foot = tns_above(person->place, z);
            const tn_vec3    half = {part->half_size.x, part->half_size.y, part->height / 2};
            const tn_frame   pose = tns_frame(tns_above(foot, half.z));
            const tn_body_id body = tns_box(scene, name.text, pose, half, part->mass);
            tn_joint_def joint = tns_joint(TN_JOINT_HINGE, below, body, foot, axes[number++ % 3]);
            joint.name         = name.text;
            tns_set_feel(&joint, part->feel);
            if (person->anatomical) set_anatomy(scene, person, &joint, "");
            tn_scene_add_joint(scene, &joint);
            below = body;
            z += part->height;
        }
    }
}

// Hands at the ends of the radii, fingers outward, thumbs forward, backs up.
static void add_hands(tn_scene* scene, const tns_person_def* person)
{
    for (int i = 0; i < 2; ++i) {
        const double       y      = i == 0 ? 1 : -1;
        const tns_text     prefix = tns_name("%s%s", person->prefix, i == 0 ? "left_" : "right_");
        const tn_vec3      wrist  = tns_add(person->place, tns_vec(0.01, 0.73 * y, 1.43));
        const tns_hand_def hand   = {.prefix    = prefix.text,
                                     .pose      = {wrist, tns_turn_about(TNS_Z, 0.25 * y)},
                                     .side      = -y,
                                     .stiffness = 0.03,
                                     .damping   = 1e-4};
        const tn_body_id   palm   = tns_add_hand(scene, &hand).palm;
        const tn_body_id   radius = find(scene, person, i == 0 ? "left_" : "right_", "radius");
        const tns_text     name   = tns_name("%swrist", prefix.text);
        tn_joint_def joint = tns_joint(TN_JOINT_UNIVERSAL, radius, palm, wrist, tns_vec(y, 0, 0));
        joint.name         = name.text;
        joint.axis2        = tns_vec(0, 0, y);
        tns_set_feel(&joint, (tns_feel){2, 0.02, -1.2, 1.2});
        tn_scene_add_joint(scene, &joint);
    }
}

// A spring from the chest to where it is, strong enough for the whole weight: what a crane's hook
// is to a puppet.
static void hold(tn_scene* scene, const tns_person_def* person, tn_body_id chest, double height)
{
    const tn_key   key       = {0, tns_frame(tns_above(person->place, height))};
    const tns_text name      = tns_name("%shold", person->prefix);
    tn_target_def  target    = tn_default_target_def();
    target.name              = name.text;
    target.body              = chest;
    target.keys              = &key;
    target.key_count         = 1;
    target.stiffness         = 8000;
    target.damping           = 400;
    target.angular_stiffness = 200;
    target.angular_damping   = 4;
    tn_scene_add_target(scene, &target);
}

tn_body_id tns_add_person(tn_scene* scene, const tns_person_def* person)
{
    if (person->detail == 0) {
        add_bones(scene, person, coarse, 0, sizeof coarse / sizeof coarse[0]);
        for (size_t i = 0; person->limp != NULL && i < sizeof flesh / sizeof flesh[0]; ++i)
            tn_scene_exclude_contact(scene, find(scene, person, "", flesh[i][0]),
                                     find(scene, person, "", flesh[i][1]));
        const tn_body_id chest = find(scene, person, "", "chest");
        if (person->held) hold(scene, person, chest, (1.18 + 1.42) / 2);
        return chest;
    }
    add_bones(scene, person, fine, 0, 1);
    add_spine(scene, person);
    add_bones(scene, person, fine, 1, sizeof fine / sizeof fine[0]);
    add_hands(scene, person);
    const tn_body_id chest = find(scene, person, "", "T6");
    if (person->held) hold(scene, person, chest, 1.02 + 5 * 0.036 + 6.5 * 0.024);
    return chest;
}

static void build(tn_scene* scene, const double* values)
{
    const bool anatomical = values[2] == 1;
    tns_setup(scene, "humanoid", 5);
    const tns_person_def person = {
        .prefix = "", .detail = (int)values[0], .held = values[1] != 0, .anatomical = anatomical};
    tns_add_person(scene, &person);
}

const tns_builtin tns_humanoid = {
    "humanoid",
    "a person with springs and limits in the joints, hung up by the chest",
    {{"detail", "0: 17 bodies; 1: 89 bodies, every vertebra and whole hands", 0, 0, 1, true, NULL},
     {"held", "1: a spring holds the chest, 0: it falls", 1, 0, 1, true, NULL},
     {"joints", "anatomical: they end where those of a healthy body do", 0, 0, 1, true,
      "soft|anatomical"}},
    build};
