// cradle: Newton's cradle. Balls in a row, each a pendulum on a hinge about y; at rest they just
// touch. The first `in` of them are held out and released together: as many leave at the far end,
// and come back. Restitution is 1, so energy is kept.
//
//     . . . . .       The impact passes from ball to ball. All being equal, each gives all its
//    /| | | |         momentum to the next: those in between stay at rest. This needs impacts to be
//   O O O O O         resolved one after the other; resolved all at once, the balls would share it.
#include "builtins.h"
#include "parts.h"

static const double radius = 0.05, length = 1, mass = 0.5;
// Held out along (-3, -4)/5 from the hinge.
static const tn_vec3 hanging = {0, 0, -1}, held = {-0.6, 0, -0.8};

static void build(tn_scene* scene, const double* values)
{
    const tns_surface surface = {0, 1};
    tn_shape_def      shape   = tn_default_shape_def(TN_SHAPE_SPHERE);
    shape.radius              = radius;
    tns_setup(scene, "cradle", 10);
    for (int i = 0; i < (int)values[0]; ++i) {
        const tn_vec3 hinge = {2 * radius * i, 0, length + radius};
        const tn_vec3 at = tns_add(hinge, tns_scale(length, i < (int)values[1] ? held : hanging));
        const tn_body_id ball = tns_solid(scene, tns_name("ball%d", i + 1).text, tns_frame(at),
                                          (tn_twist){{0, 0, 0}, {0, 0, 0}}, mass, shape, surface);
        tns_joint_at(scene, tns_name("hinge%d", i + 1).text, TN_JOINT_HINGE, TNS_GROUND, ball,
                     hinge, TNS_Y);
    }
}

const tns_builtin tns_cradle = {
    "cradle",
    "Newton's cradle: as many balls leave as come in",
    {{"balls", "in the row", 5, 2, 1000, true, NULL},
     {"in", "held out at the start and let go", 1, 0, 1000, true, NULL}},
    build};
