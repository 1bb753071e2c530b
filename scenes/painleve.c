// painleve: a rod whose lower end is pushed along a rough floor.
//
//         /          The rod leans back by theta from the floor and slides towards its foot (-x).
//        /           With the slip to the left, friction on the foot is mu times the normal force
//    <--/ theta      N to the right, and turns the rod so that its foot is driven into the floor:
//
//     acceleration of the foot = N (1 + 3 cos theta (cos theta - mu sin theta)) / m - g
//
// for a thin rod without angular velocity. If the bracket is negative (mu = 2: theta from 0.66 to
// 1.38) no N >= 0 keeps the foot out of the floor: no acceleration is consistent (Painleve 1895).
// An impulse is needed, and occurs: the foot is stopped at once and the rod tips over it. `tenon
// run` counts such steps as jams.
#include "builtins.h"
#include "parts.h"

static const double radius = 0.001, length = 1, mass = 1, full_turn = 6.2831853071795865;

static void build(tn_scene* scene, const double* values)
{
    const tns_surface surface = {values[1], 0};
    const tn_vec3     lean    = tns_circle(values[0] / full_turn);
    const tn_vec3     foot    = {0, 0, radius};
    const tn_vec3     top     = tns_add(foot, tns_vec(length * lean.x, 0, length * lean.y));
    tns_setup(scene, "painleve", 2);
    tn_scene_set_ground(scene, surface.friction, 0);
    tns_capsule(scene, "rod", foot, top, radius, (tn_twist){{-values[2], 0, 0}, {0, 0, 0}}, mass,
                surface);
}

const tns_builtin tns_painleve = {
    "painleve",
    "a rod slides foot first where friction leaves no finite force",
    {{"angle", "from the floor [rad]", 1, 0.01, 1.57, false, NULL},
     {"friction", "of rod and floor", 2, 0, 10, false, NULL},
     {"speed", "at the start, foot first [m/s]", 3, 0, 100, false, NULL}},
    build};
