// marbles: balls fall into a bowl, which is a height field: z = (x^2 + y^2) / 2R on a grid.
#include "builtins.h"
#include "parts.h"

enum { GRID = 25, ACROSS = 4 };

static const double radius = 0.04, spacing = 0.06, curve = 0.6; ///< curve: R

static void add_bowl(tn_scene* scene, tns_surface surface)
{
    double heights[GRID * GRID];
    for (int i = 0; i < GRID * GRID; ++i) {
        const double x = spacing * (i % GRID - GRID / 2), y = spacing * (i / GRID - GRID / 2);
        heights[i] = (x * x + y * y) / (2 * curve);
    }
    tn_shape_def shape = tn_default_shape_def(TN_SHAPE_HEIGHTS);
    shape.heights      = heights;
    shape.rows         = GRID;
    shape.columns      = GRID;
    shape.spacing[0]   = spacing;
    shape.spacing[1]   = spacing;
    shape.friction     = surface.friction;
    shape.restitution  = surface.restitution;
    tns_fixed(scene, "bowl", tns_frame(tns_vec(0, 0, 0)), shape);
}

// Layers of four times four, each a little off the one below, over one side of the bowl.
static tn_vec3 marble_at(int i)
{
    const int    layer = i / (ACROSS * ACROSS);
    const double off = 0.01 * (layer % 3 - 1), pitch = 2.4 * radius;
    return tns_vec(0.25 + off + pitch * (i % ACROSS - 0.5 * (ACROSS - 1)),
                   0.7 * off + pitch * (i / ACROSS % ACROSS - 0.5 * (ACROSS - 1)),
                   0.45 + pitch * layer);
}

static void build(tn_scene* scene, const double* values)
{
    const tns_surface surface = {values[1], values[2]};
    tn_shape_def      shape   = tn_default_shape_def(TN_SHAPE_SPHERE);
    shape.radius              = radius;
    tns_setup(scene, "marbles", 5);
    add_bowl(scene, surface);
    for (int i = 0; i < (int)values[0]; ++i)
        tns_solid(scene, tns_name("ball%d", i + 1).text, tns_frame(marble_at(i)), TNS_AT_REST, 0.7,
                  shape, surface);
}

const tns_builtin tns_marbles = {
    "marbles",
    "balls fall into a bowl, which is a height field, and roll to rest",
    {{"n", "balls of 8 cm", 48, 1, 10000, true, NULL},
     {"friction", "of balls and bowl", 0.3, 0, 10, false, NULL},
     {"restitution", "of balls and bowl", 0.2, 0, 1, false, NULL}},
    build};
