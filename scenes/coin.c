// coin: a disc on its rim rolls in a circle, or spins.
//
// Leaning by a from the upright, its middle goes round a circle with speed v when it turns about the
// vertical with the W that solves (radius r, half a thickness k r; s = cos a, c = sin a)
//
//     ((1/4 + k^2/3) s c - 1/2 k s^2) W^2 + (3/2 s + k c) (v / r) W - (c - k s) (g / r) = 0
//
// Its angular velocity is then v / r - k W s about its own axis and W s along its plane, upward; the
// point that touches is at rest. `spin` is added about the vertical: an upright coin with speed 0
// spins on its rim until it has fallen over.
#include "builtins.h"
#include "parts.h"

static const double radius = 0.05, half_width = 0.001, mass = 0.05, gravity = 9.81;

static double steady_turn(double speed, double s, double c)
{
    const double k = half_width / radius;
    const double A = (0.25 + k * k / 3) * s * c - 0.5 * k * s * s,
                 B = (1.5 * s + k * c) * speed / radius, C = (c - k * s) * gravity / radius;
    if (!(B > 0) || !(C > 0)) return 0;
    return 2 * C / (B + sqrt(fmax(B * B + 4 * A * C, 0)));
}

// It rolls along +x and leans to +y. Its axis is u, and w lies in its plane, upward.
static void build(tn_scene* scene, const double* values)
{
    const tn_vec3     lean = tns_circle(tns_turns(values[0]));
    const double      s = lean.x, c = lean.y, speed = values[1];
    const tn_vec3     u = tns_vec(0, s, -c), w = tns_vec(0, c, s);
    const tns_surface surface = {values[3], 0};
    const double      W       = steady_turn(speed, s, c);
    const tn_vec3     omega =
        tns_add(tns_add(tns_scale((speed - half_width * W * s) / radius, u), tns_scale(W * s, w)),
                tns_vec(0, 0, values[2]));
    // From where its rim touches to its middle.
    const tn_vec3 rise  = tns_add(tns_scale(radius, w), tns_scale(c > 0 ? -half_width : 0, u));
    tn_shape_def  shape = tn_default_shape_def(TN_SHAPE_CYLINDER);
    shape.radius        = radius;
    shape.half_length   = half_width;
    tns_setup(scene, "coin", 5);
    tn_scene_set_ground(scene, surface.friction, 0);
    tns_solid(scene, "coin", (tn_frame){rise, tns_turn(TNS_Z, u)},
              (tn_twist){tns_cross(omega, rise), omega}, mass, shape, surface);
}

const tns_builtin tns_coin = {
    "coin",
    "a coin on its rim that rolls in a circle; speed=0,spin=40 spins until it has fallen over",
    {{"lean", "from the upright [rad]", 0.3, 0, 1.4, false, NULL},
     {"speed", "of its middle [m/s]", 0.8, 0, 100, false, NULL},
     {"spin", "about the vertical, added [rad/s]", 0, -1000, 1000, false, NULL},
     {"friction", "of coin and floor", 0.6, 0, 10, false, NULL}},
    build};
