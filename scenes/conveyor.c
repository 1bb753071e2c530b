// conveyor: boxes on a belt that carries them to a second belt across it, which carries them to the
// floor.
//
// A belt is a static box with a moving surface: an object on it slips at first, is accelerated by
// friction times g, and after speed^2 / (2 friction g) moves with it.
#include "builtins.h"
#include "parts.h"

static const tn_vec3 half  = {0.12, 0.1, 0.08};
static const double  apart = 0.4, wide = 0.3, thick = 0.05; ///< belts: half a width and thickness
static const double  upper = 0.8, lower = 0.5,
                    across = 1.5; ///< heights; half of the second's length

// top: the middle of its upper side. surface: its velocity.
static void add_belt(tn_scene* scene, const char* name, tn_vec3 top, tn_vec3 half_size,
                     tn_vec3 surface, double friction)
{
    tn_shape_def shape     = tns_box_shape(half_size);
    shape.friction         = friction;
    shape.surface_velocity = surface;
    tns_fixed(scene, name, tns_frame(tns_above(top, -half_size.z)), shape);
}

// The first belt ends at x = 0; the second one is beyond it and runs along y.
static void build(tn_scene* scene, const double* values)
{
    const int         n     = (int)values[0];
    const double      speed = values[1], friction = values[2], along = apart * (n + 1) / 2;
    const tns_surface surface = {friction, 0};
    tns_setup(scene, "conveyor", 10);
    tn_scene_set_ground(scene, friction, 0);
    add_belt(scene, "belt1", tns_vec(-along, 0, upper), tns_vec(along, wide, thick),
             tns_vec(speed, 0, 0), friction);
    add_belt(scene, "belt2", tns_vec(wide, across - wide, lower), tns_vec(wide, across, thick),
             tns_vec(0, speed, 0), friction);
    for (int i = 0; i < n; ++i) {
        const tn_vec3 at = tns_vec(-apart * (i + 1), 0.03 * (i % 3 - 1), upper + half.z);
        tns_solid(scene, tns_name("box%d", i + 1).text, tns_frame(at), TNS_AT_REST, 4,
                  tns_box_shape(half), surface);
    }
}

const tns_builtin tns_conveyor = {
    "conveyor",
    "boxes ride on a belt to a second one across it, and pile up on the floor",
    {{"n", "boxes of 4 kg", 8, 1, 10000, true, NULL},
     {"speed", "of the belts [m/s]", 1, -10, 10, false, NULL},
     {"friction", "of boxes, belts and floor", 0.5, 0, 10, false, NULL}},
    build};
