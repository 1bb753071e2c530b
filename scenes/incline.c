// incline: a box or a ball on a ramp that rises along +x.
//
// With the slope theta and friction mu, up the ramp counted positive:
//     box, at rest        stays where it is while mu >= tan theta, and slides with
//                         -g (sin theta - mu cos theta) else
//     box, pushed uphill  stops after v^2 / (2 g (sin theta + mu cos theta)); then the same
//     ball                rolls with -5/7 g sin theta while mu >= 2/7 tan theta; pushed without
//                         spin it slides first
// The ramp is an endless plane through the origin, where the body starts.
#include "builtins.h"
#include "parts.h"

enum { BOX, BALL };

static const double  full_turn = 6.2831853071795865, mass = 2;
static const tn_vec3 half   = {0.3, 0.2, 0.1};
static const double  radius = 0.2;

static void build(tn_scene* scene, const double* values)
{
    const bool        box     = values[2] == BOX;
    const tns_surface surface = {values[1], 0};
    const tn_vec3     c       = tns_circle(values[0] / full_turn);
    const tn_vec3     uphill = tns_vec(c.x, 0, c.y), normal = tns_vec(-c.y, 0, c.x);
    const tn_quat     turn     = tns_turn(TNS_Z, normal);
    const tn_twist    velocity = {tns_scale(values[3], uphill), {0, 0, 0}};
    tn_shape_def      shape    = tn_default_shape_def(box ? TN_SHAPE_BOX : TN_SHAPE_SPHERE);
    shape.half_size            = half;
    shape.radius               = radius;
    tns_setup(scene, "incline", 3);
    tns_wall(scene, "ramp", tns_vec(0, 0, 0), normal, surface);
    tns_solid(scene, box ? "box" : "ball",
              (tn_frame){tns_scale(box ? half.z : radius, normal), turn}, velocity, mass, shape,
              surface);
}

const tns_builtin tns_incline = {
    "incline",
    "a box or a ball on a ramp: it sticks below tan(angle) = friction, and slides above",
    {{"angle", "slope of the ramp [rad]", 0.5, 0, 1.5, false, NULL},
     {"friction", "of the pair", 0.4, 0, 10, false, NULL},
     {"shape", "what lies on it, 2 kg", BOX, 0, 1, true, "box|sphere"},
     {"speed", "at the start, uphill [m/s]", 0, -100, 100, false, NULL}},
    build};
