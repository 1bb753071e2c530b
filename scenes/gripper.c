// gripper: tongs of 0.1 kg in all lift a box of 100 kg by friction alone.
//
//          A--B  palm  B--A        Each finger is a parallelogram: two cranks hang from the palm,
//         /  /          \  \       splayed by asin(7/25), and carry a pad that stays upright. A
//        D--C            C--D      torque on the inner crank presses the pad to the box. The
//           | [   box  ] |         weight V that hangs from a pad pulls its cranks upright and so
//           | [        ] |         presses, too:  N = grip + V tan(splay).
//
// Both fingers are geared to move alike. The palm waits for half a second, then is lifted
// by 0.375 m and holds. The box hangs as long as friction times N exceeds half its weight, at the default 0.8
// with a grip of 470 N; the linkage carries ten thousand times its own weight.
#include "builtins.h"
#include "linkage.h"

static const double length = 0.2, sine = 0.28, cosine = 0.96; ///< of a crank, and of the splay
static const double bar = 0.06, clearance = 0.04, thick = 0.01, rod_radius = 0.006;
static const double crank_mass = 0.01, pad_mass = 0.02, palm_mass = 0.02;

typedef struct finger {
    tn_vec3 A, B, C, D;
} finger;

// side: 1 to the right (+x), -1 to the left. Pads stand against a box with half size s.
static finger place_finger(double side, double s)
{
    const double  x = s + thick, z = 2 * s + clearance;
    const tn_vec3 up = tns_vec(-length * sine, 0, length * cosine);
    finger        f;
    f.C = tns_vec(x, 0, z);
    f.D = tns_vec(x + bar, 0, z);
    f.B = tns_add(f.C, up);
    f.A = tns_add(f.D, up);
    f.A.x *= side, f.B.x *= side, f.C.x *= side, f.D.x *= side;
    return f;
}

static tn_shape_def drawn_bar(tn_vec3 a, tn_vec3 b)
{
    tn_shape_def shape = tn_default_shape_def(TN_SHAPE_CAPSULE);
    shape.pose         = (tn_frame){tns_mix(a, b, 0.5), tns_turn(TNS_Z, tns_unit(tns_sub(b, a)))};
    shape.radius       = rod_radius;
    shape.half_length  = tns_length(tns_sub(b, a)) / 2;
    shape.collide      = false;
    return shape;
}

// A plate beside the box, a stem up to C, and the bar from there to D; only the plate touches.
static tn_body_id add_pad(tn_scene* scene, const char* name, const finger* f, double s,
                          double friction)
{
    const tn_vec3      middle = tns_vec(f->C.x, 0, s);
    const tn_vec3      C = tns_sub(f->C, middle), D = tns_sub(f->D, middle);
    const tn_shape_def plate     = tns_box_shape(tns_vec(thick, 0.6 * s, 0.6 * s));
    tn_shape_def       shapes[3] = {plate, drawn_bar(tns_vec(0, 0, 0), C), drawn_bar(C, D)};
    shapes[0].friction           = friction;
    shapes[0].density = shapes[2].density = 1; // the stem is light
    tn_body_def def                       = tn_default_body_def();
    def.name                              = name;
    def.pose                              = tns_frame(middle);
    def.mass                              = pad_mass;
    def.shapes                            = shapes;
    def.shape_count                       = 3;
    return tn_scene_add_body(scene, &def);
}

// Returns the hinge that closes the finger.
static tn_joint_id add_finger(tn_scene* scene, const char* name, tn_body_id palm, double side,
                              const double* values)
{
    const double     s     = values[1] / 2;
    const finger     f     = place_finger(side, s);
    const tn_body_id pad   = add_pad(scene, tns_name("%s.pad", name).text, &f, s, values[3]);
    const tn_body_id inner = tns_rod(scene, tns_name("%s.inner", name).text, f.B, f.C, rod_radius,
                                     crank_mass),
                     outer = tns_rod(scene, tns_name("%s.outer", name).text, f.A, f.D, rod_radius,
                                     crank_mass);
    const tns_text text    = tns_name("%s.B", name);
    tn_joint_def   drive   = tns_joint(TN_JOINT_HINGE, palm, inner, f.B, TNS_Y);
    drive.name             = text.text;
    drive.force[0]         = side * values[2] * length * cosine;
    const tn_joint_id B    = tn_scene_add_joint(scene, &drive);
    tns_pin(scene, tns_name("%s.A", name).text, palm, outer, f.A);
    tns_pin(scene, tns_name("%s.C", name).text, inner, pad, f.C);
    tns_pin(scene, tns_name("%s.D", name).text, outer, pad, f.D);
    return B;
}

static tn_body_id add_palm(tn_scene* scene, double s, double lift)
{
    const tn_value_key up[] = {{0.5, 0}, {1, lift}, {2, lift}, {2.5, 0}};
    const finger       l = place_finger(-1, s), r = place_finger(1, s);
    const tn_body_id   palm = tns_rod(scene, "palm", l.A, r.A, rod_radius, palm_mass);
    tn_joint_def hoist = tns_joint(TN_JOINT_MOTOR, TNS_GROUND, palm, tns_mix(l.A, r.A, 0.5), TNS_Z);
    hoist.name         = "hoist";
    hoist.of           = TN_JOINT_SLIDER;
    hoist.velocity_keys      = up;
    hoist.velocity_key_count = sizeof up / sizeof up[0];
    tn_scene_add_joint(scene, &hoist);
    return palm;
}

static void build(tn_scene* scene, const double* values)
{
    const double      s       = values[1] / 2;
    const tns_surface surface = {values[3], 0};
    tns_setup(scene, "gripper", 10);
    tn_scene_set_ground(scene, 0.5, 0);
    const tn_body_id palm = add_palm(scene, s, values[4]);
    tn_joint_id      hinges[2];
    hinges[0] = add_finger(scene, "left", palm, -1, values);
    hinges[1] = add_finger(scene, "right", palm, 1, values);
    tns_solid(scene, "box", tns_frame(tns_vec(0, 0, s)), TNS_AT_REST, values[0],
              tns_box_shape(tns_vec(s, s, s)), surface);
    tn_coupling_def gear = tn_default_coupling_def(TN_COUPLING_GEAR);
    gear.name            = "gear";
    gear.joints          = hinges;
    gear.joint_count     = 2;
    gear.ratio           = -1;
    tn_scene_add_coupling(scene, &gear);
}

const tns_builtin tns_gripper = {
    "gripper",
    "tongs of 0.1 kg in all lift a box of 100 kg by friction",
    {{"mass", "of the box [kg]", 100, 1e-3, 1e6, false, NULL},
     {"size", "of the box [m]", 0.3, 0.15, 10, false, NULL},
     {"grip", "force of either pad, before the weight adds to it [N]", 1000, 0, 1e9, false, NULL},
     {"friction", "of pads and box", 0.8, 0, 10, false, NULL},
     {"lift", "speed of the palm from 1 s to 2 s [m/s]", 0.25, 0, 10, false, NULL}},
    build};
