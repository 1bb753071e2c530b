// ladder: an even rod leans between a wall (x = 0) and the floor and slides down.
//
//     |\              The rod is a capsule: the balls at its ends touch wall and floor, so their
//     | \             centres, L apart, run along lines parallel to them.
//     |  \    (theta is measured from the floor)
//     |___\ theta     Without friction, let go from rest at theta_0, with the inertia I and
//                     A = m g L / (m L^2 / 2 + 2 I):
//
//     theta'^2 = 2 A (sin theta_0 - sin theta)
//     force of the wall = m (L/2) A cos theta (3 sin theta - 2 sin theta_0)
//
// so it leaves the wall where sin theta = 2/3 sin theta_0, whatever I is, and goes on with its foot
// on the floor. With enough friction it stays where it leans.
#include "builtins.h"
#include "parts.h"

static const double radius = 0.01, full_turn = 6.2831853071795865;

static void build(tn_scene* scene, const double* values)
{
    const double      mass = values[1], length = values[2];
    const tns_surface surface   = {values[3], 0};
    const tn_vec3     direction = tns_circle(values[0] / full_turn);
    const tn_vec3     foot      = {radius + length * direction.x, 0, radius};
    const tn_vec3     top       = {radius, 0, radius + length * direction.y};
    tns_setup(scene, "ladder", 2);
    tn_scene_set_ground(scene, values[3], 0);
    tns_wall(scene, "wall", tns_vec(0, 0, 0), TNS_X, surface);
    tns_capsule(scene, "ladder", foot, top, radius, (tn_twist){{0, 0, 0}, {0, 0, 0}}, mass,
                surface);
}

const tns_builtin tns_ladder = {
    "ladder",
    "a ladder slides down a wall and leaves it at two thirds of its height",
    {{"angle", "from the floor [rad]", 1.2, 0.01, 1.57, false, NULL},
     {"mass", "[kg]", 10, 1e-6, 1e9, false, NULL},
     {"length", "between the balls at its ends [m]", 3, 0.1, 100, false, NULL},
     {"friction", "at wall and floor", 0, 0, 10, false, NULL}},
    build};
