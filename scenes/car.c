// car: a car on four double wishbones. At each corner two arms on pins along the car, an upright between them on
// balls, a track rod that holds its direction, a wheel, and a spring with its damper from the lower arm to the chassis.
//
//         top of spring .  o--------o upper arm         (behind an axle; the middle of the car is to the left)
//     chassis            \          | upright
//                         \         |===O wheel
//                     o----o--------o lower arm, track rod
//
// The track rod lies beside the lower arm and is as long: wheels do not steer as they go up. It falls onto its wheels,
// and a torque on those behind drives it off.
#include "builtins.h"
#include "parts.h"

typedef struct point {
    double y, z; ///< outwards from the middle of the car, and over the floor
} point;

static const point lower_in = {0.35, 0.22}, lower_out = {0.68, 0.20}, upper_in = {0.42, 0.44},
                   upper_out = {0.65, 0.45}, hub = {0.75, 0.30}, spring_top = {0.45, 0.65},
                   spring_low = {0.58, 0.206};
static const double arm_mass = 4, rod_mass = 1, upright_mass = 8, wheel_mass = 20; // [kg]
static const double half_base = 1.3, ahead_of_arms = 0.12, radius = 0.3, half_width = 0.1,
                    middle    = 0.55; // [m]
static const double stiffness = 60000, damping = 4000;
static const double slack =
    0.540727261909041; // an empty car stands as it is drawn: tests/machines/car.py

typedef struct corner {
    const char* name;
    double      ahead, left; ///< 1 or -1
    double      drop;
} corner;

static tn_vec3 place(const corner* c, point p, double forward)
{
    return tns_vec(c->ahead * half_base + forward, c->left * p.y, p.z + c->drop);
}

static const char* named(tns_text* text, const corner* c, const char* part)
{
    *text = tns_name("%s_%s", c->name, part);
    return text->text;
}

static tn_body_id add_wheel(tn_scene* scene, const corner* c, double friction)
{
    tns_text     name;
    tn_shape_def shape = tn_default_shape_def(TN_SHAPE_CYLINDER);
    shape.radius = radius, shape.half_length = half_width;
    shape.pose.orientation = tns_turn(TNS_Z, TNS_Y);
    return tns_solid(scene, named(&name, c, "wheel"), tns_frame(place(c, hub, 0)), TNS_AT_REST,
                     wheel_mass, shape, (tns_surface){friction, 0});
}

static void add_spring(tn_scene* scene, const corner* c, tn_body_id chassis, tn_body_id arm)
{
    tns_text      name;
    tn_spring_def def = tn_default_spring_def();
    const tn_vec3 in = place(c, lower_in, 0), out = place(c, lower_out, 0);
    const tn_vec3 low = tns_sub(place(c, spring_low, 0), tns_mix(in, out, 0.5)); // z along the arm
    const tn_quat q   = tns_turn(TNS_Z, tns_unit(tns_sub(out, in)));
    def.name          = named(&name, c, "spring");
    def.body1 = chassis, def.body2 = arm;
    def.anchor1   = tns_sub(place(c, spring_top, 0), tns_vec(0, 0, middle + c->drop));
    def.anchor2   = tns_rotate((tn_quat){q.w, -q.x, -q.y, -q.z}, low);
    def.stiffness = stiffness, def.damping = damping, def.length = slack;
    tn_scene_add_spring(scene, &def);
}

static void add_corner(tn_scene* scene, const corner* c, tn_body_id chassis, double torque,
                       double friction)
{
    const tn_vec3 li = place(c, lower_in, 0), lo = place(c, lower_out, 0),
                  ui = place(c, upper_in, 0), uo = place(c, upper_out, 0),
                  ti = place(c, lower_in, ahead_of_arms), to = place(c, lower_out, ahead_of_arms);
    tns_text         t;
    const tn_body_id lower = tns_rod(scene, named(&t, c, "lower_arm"), li, lo, 0.02, arm_mass);
    const tn_body_id upper = tns_rod(scene, named(&t, c, "upper_arm"), ui, uo, 0.02, arm_mass);
    const tn_body_id track = tns_rod(scene, named(&t, c, "track_rod"), ti, to, 0.01, rod_mass);
    const tn_body_id upright =
        tns_box(scene, named(&t, c, "upright"), tns_frame(tns_mix(lo, uo, 0.5)),
                tns_vec(0.04, 0.03, 0.15), upright_mass);
    const tn_body_id wheel = add_wheel(scene, c, friction);
    tns_joint_at(scene, named(&t, c, "lower_pin"), TN_JOINT_HINGE, chassis, lower, li, TNS_X);
    tns_joint_at(scene, named(&t, c, "upper_pin"), TN_JOINT_HINGE, chassis, upper, ui, TNS_X);
    tns_joint_at(scene, named(&t, c, "lower_ball"), TN_JOINT_BALL, lower, upright, lo, TNS_Z);
    tns_joint_at(scene, named(&t, c, "upper_ball"), TN_JOINT_BALL, upper, upright, uo, TNS_Z);
    tns_joint_at(scene, named(&t, c, "track_in"), TN_JOINT_BALL, chassis, track, ti, TNS_Z);
    tns_joint_at(scene, named(&t, c, "track_out"), TN_JOINT_BALL, track, upright, to, TNS_Z);
    tn_joint_def axle = tns_joint(TN_JOINT_HINGE, upright, wheel, place(c, hub, 0), TNS_Y);
    axle.name         = named(&t, c, "axle");
    axle.force[0]     = c->ahead < 0 ? torque : 0;
    tn_scene_add_joint(scene, &axle);
    add_spring(scene, c, chassis, lower);
}

static void build(tn_scene* scene, const double* values)
{
    const double drop      = values[2];
    const corner corners[] = {{"front_left", 1, 1, drop},
                              {"front_right", 1, -1, drop},
                              {"rear_left", -1, 1, drop},
                              {"rear_right", -1, -1, drop}};
    tns_setup(scene, "car", 6);
    tn_scene_set_ground(scene, values[3], 0);
    const tn_body_id chassis =
        tns_painted_box(scene, "chassis", tns_frame(tns_vec(0, 0, middle + drop)),
                        tns_vec(2, 0.4, 0.2), 1200 + values[1], tns_vec(0.2, 0.4, 0.7));
    for (int i = 0; i < 4; ++i) add_corner(scene, &corners[i], chassis, values[0], values[3]);
}

const tns_builtin tns_car = {
    "car",
    "a car on double wishbones falls onto its wheels and drives off",
    {{"torque", "on each wheel behind [N m]", 300, -2000, 2000, false, NULL},
     {"payload", "in its middle [kg]", 0, 0, 2000, false, NULL},
     {"drop", "height under the wheels at the start [m]", 0.1, 0, 1, false, NULL},
     {"friction", "of tyres and road", 0.9, 0, 10, false, NULL}},
    build};
