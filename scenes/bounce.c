// bounce: a ball falls onto the floor and bounces until it rests.
//
// From the height H below the ball, with restitution e: it lands at t_1 = sqrt(2 H / g), rises to
// e^2 H, e^4 H, ..., each flight lasting e times the one before, and comes to rest after endlessly
// many bounces at the finite time t_1 (1 + e) / (1 - e).
#include "builtins.h"
#include "parts.h"

static void build(tn_scene* scene, const double* values)
{
    const double      radius  = values[2];
    const tns_surface surface = {0.5, values[1]};
    tn_shape_def      shape   = tn_default_shape_def(TN_SHAPE_SPHERE);
    shape.radius              = radius;
    tns_setup(scene, "bounce", 5);
    tn_scene_set_ground(scene, surface.friction, 0);
    tns_solid(scene, "ball", tns_frame(tns_vec(0, 0, values[0] + radius)),
              (tn_twist){{0, 0, 0}, {0, 0, 0}}, 1, shape, surface);
}

const tns_builtin tns_bounce = {
    "bounce",
    "a ball bounces on the floor until it rests",
    {{"height", "under the ball at the start [m]", 1, 0, 1000, false, NULL},
     {"restitution", "of ball and floor", 0.8, 0, 1, false, NULL},
     {"radius", "[m]", 0.1, 0.001, 10, false, NULL}},
    build};
