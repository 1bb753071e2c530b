// differential: the bevel gears that let two driven wheels turn at different speeds.
//
// A motor turns the drive shaft (about x); its pinion turns the cage (about y) at 1/3 of that; the
// planet gear sits in the cage and meshes with the gears of both half shafts:
//
//     w_drive = 3 w_cage,   w_cage = (w_left + w_right) / 2,   w_planet = -3 (w_left - w_right) / 4
//
// the planet's speed being that in the cage. Its radius is 2/3 of theirs; it is above the axis, so
// at the tooth that it shares with the left gear w_left y x z = w_planet z x y, hence the sign.
// Both wheels get the same torque. The drag of each wheel is c w with its own c, so in steady state
// c_left w_left = c_right w_right.
#include "builtins.h"
#include "parts.h"

static const double final_drive = 3, side_to_planet = 1.5, planet_radius = 0.04;

static void couple(tn_scene* scene, const char* name, tn_coupling_type type,
                   const tn_joint_id* joints, int count, double ratio, const double* coefficients)
{
    tn_coupling_def def = tn_default_coupling_def(type);
    def.name            = name;
    def.joints          = joints;
    def.joint_count     = count;
    def.ratio           = ratio;
    def.coefficients    = coefficients;
    tn_scene_add_coupling(scene, &def);
}

static tn_joint_id add_wheel(tn_scene* scene, const char* name, double y, double drag)
{
    const tn_vec3    center = {0, y, 0};
    const tn_body_id wheel  = tns_wheel(scene, name, center, TNS_Y, 0.3, 0.1, 10);
    tn_drag_def      def    = tn_default_drag_def();
    def.name                = name;
    def.body                = wheel;
    def.linear              = 0;
    def.quadratic           = 0;
    def.angular             = drag;
    tn_scene_add_drag(scene, &def);
    return tns_joint_at(scene, name, TN_JOINT_HINGE, TNS_GROUND, wheel, center, TNS_Y);
}

static tn_joint_id add_drive(tn_scene* scene, double speed)
{
    const tn_vec3    rear = {0.15, 0, 0}, front = {0.75, 0, 0};
    const tn_body_id shaft = tns_rod(scene, "drive_shaft", rear, front, 0.03, 5);
    tn_joint_def     motor = tns_joint(TN_JOINT_MOTOR, TNS_GROUND, shaft, front, TNS_X);
    // From rest to full speed in one second.
    const tn_value_key ramp[] = {{0, 0}, {1, speed}};
    motor.name                = "drive";
    motor.of                  = TN_JOINT_HINGE;
    motor.velocity            = speed;
    motor.velocity_keys       = ramp;
    motor.velocity_key_count  = 2;
    return tn_scene_add_joint(scene, &motor);
}

static void build(tn_scene* scene, const double* values)
{
    tns_setup(scene, "differential", 5);
    const tn_joint_id drive = add_drive(scene, values[0]);
    const tn_body_id  cage  = tns_wheel(scene, "cage", tns_vec(0, 0, 0), TNS_Y, 0.14, 0.02, 8);
    const tn_joint_id turn =
        tns_joint_at(scene, "cage", TN_JOINT_HINGE, TNS_GROUND, cage, tns_vec(0, 0, 0), TNS_Y);
    const tn_vec3     above  = {0, 0, side_to_planet * planet_radius};
    const tn_body_id  planet = tns_wheel(scene, "planet", above, TNS_Z, planet_radius, 0.02, 0.5);
    const tn_joint_id spin =
        tns_joint_at(scene, "planet", TN_JOINT_HINGE, cage, planet, above, TNS_Z);
    const tn_joint_id left  = add_wheel(scene, "left", 0.6, values[1]),
                      right = add_wheel(scene, "right", -0.6, values[2]);
    couple(scene, "pinion", TN_COUPLING_GEAR, (tn_joint_id[]){drive, turn}, 2, final_drive, NULL);
    couple(scene, "middle", TN_COUPLING_DIFFERENTIAL, (tn_joint_id[]){turn, left, right}, 3, 0.5,
           NULL);
    couple(scene, "bevel", TN_COUPLING_COUPLER, (tn_joint_id[]){spin, left, right}, 3, 1,
           (double[]){1, side_to_planet / 2, -side_to_planet / 2});
}

const tns_builtin tns_differential = {
    "differential",
    "a motor drives two wheels of unequal drag through a bevel-gear differential",
    {{"speed", "of the drive shaft, reached after 1 s [rad/s]", 30, -1000, 1000, false, NULL},
     {"left_drag", "of the left wheel [N m s/rad]", 0.5, 0, 1e6, false, NULL},
     {"right_drag", "of the right wheel [N m s/rad]", 2, 0, 1e6, false, NULL}},
    build};
