// bullet: a ballistic pendulum. A ball flies into a thin plate that hangs on a hinge.
//
// Within a step of 1/60 s the ball moves five metres, and the plate is 1 cm thick: only a
// `continuous` body is stopped by it. It does not bounce. With the plate's moment of inertia I
// about the hinge and the arm L to the point of impact, the plate swings off with the angular
// velocity
//
//     w = m v L / (I + m L^2),     I = M (4 H^2 + D^2) / 3        (half height H, half thickness D)
#include "builtins.h"
#include "parts.h"

static const tn_vec3 half   = {0.005, 0.3, 0.4};
static const double  radius = 0.02, height = 2, plate_mass = 10, arm = 0.6;

static void build(tn_scene* scene, const double* values)
{
    const tns_surface surface = {0.5, 0};
    tn_shape_def      ball    = tn_default_shape_def(TN_SHAPE_SPHERE);
    ball.radius               = radius;
    ball.friction             = surface.friction;
    tns_setup(scene, "bullet", 5);
    tn_scene_set_ground(scene, surface.friction, 0);
    const tn_body_id plate = tns_solid(scene, "plate", tns_frame(tns_vec(0, 0, height - half.z)),
                                       TNS_AT_REST, plate_mass, tns_box_shape(half), surface);
    tns_joint_at(scene, "hinge", TN_JOINT_HINGE, TNS_GROUND, plate, tns_vec(0, 0, height), TNS_Y);
    tn_body_def def     = tn_default_body_def();
    def.name            = "ball";
    def.pose            = tns_frame(tns_vec(-values[3], 0, height - arm));
    def.velocity.linear = tns_vec(values[0], 0, 0);
    def.mass            = values[1];
    def.shapes          = &ball;
    def.shape_count     = 1;
    def.continuous      = values[2] == 1;
    tn_scene_add_body(scene, &def);
}

const tns_builtin tns_bullet = {
    "bullet",
    "a fast ball is stopped by a thin plate on a hinge; continuous=off flies through",
    {{"speed", "of the ball [m/s]", 300, 0, 1e4, false, NULL},
     {"mass", "of the ball [kg]", 0.05, 1e-6, 1e3, false, NULL},
     {"continuous", "whether it is looked for on the way", 1, 0, 1, true, "off|on"},
     {"from", "how far before the plate it starts [m]", 2, 0.1, 1000, false, NULL}},
    build};
