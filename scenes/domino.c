// domino: a row of dominoes in a bend; the first is pushed and the others fall one by one.
#include "builtins.h"
#include "parts.h"

static const tn_vec3 half = {0.005, 0.012, 0.024}; ///< thick, wide, high
static const double  bend = 0.01;                  ///< turns from one to the next

static void build(tn_scene* scene, const double* values)
{
    const double      apart   = values[1];
    const tns_surface surface = {values[2], 0};
    const double      mass    = 8 * 700 * half.x * half.y * half.z;
    tn_vec3           at      = {0, 0, half.z};
    tns_setup(scene, "domino", 4);
    tn_scene_set_ground(scene, surface.friction, 0);
    for (int i = 0; i < (int)values[0]; ++i) {
        const double  turns = bend * i;
        const tn_vec3 ahead = tns_circle(turns);
        // About its lower edge, forward.
        const tn_vec3  spin = tns_scale(i == 0 ? values[3] : 0, tns_vec(-ahead.y, ahead.x, 0));
        const tn_vec3  edge = tns_above(tns_scale(-half.x, ahead), half.z);
        const tn_twist push = {tns_cross(spin, edge), spin};
        tns_solid(scene, tns_name("domino%d", i + 1).text,
                  (tn_frame){at, tns_turn_about(TNS_Z, turns)}, push, mass, tns_box_shape(half),
                  surface);
        at = tns_add(at, tns_scale(apart, ahead));
    }
}

const tns_builtin tns_domino = {
    "domino",
    "a row of dominoes; the first is pushed and the others fall one by one",
    {{"n", "dominoes of 24 x 48 x 10 mm", 40, 1, 10000, true, NULL},
     {"apart", "from one to the next [m]", 0.025, 0.015, 0.04, false, NULL},
     {"friction", "of dominoes and floor", 0.4, 0, 10, false, NULL},
     {"push", "turning speed of the first at the start [rad/s]", 8, 0, 100, false, NULL}},
    build};
