// boxes: cubes on the floor and on each other: a test of resting contact.
//
//     stack        one on the other; a mass ratio above 1 puts heavy ones on light ones
//     pyramid      each rests on two of the row below; a row has one less than that
//     wall         bricks in bond: every other row is shifted by half a brick and ends in half ones
//
// The lowest row is as short as holds n boxes in all; what is left stands on top. Boxes in a row
// stand apart by a tenth of their size.
#include "builtins.h"
#include "parts.h"

enum { STACK, PYRAMID, WALL };

static const double pitch = 1.1; ///< of boxes in a row, in sizes

static bool is_shifted(int arrangement, int row)
{
    return arrangement == WALL && row % 2 == 1;
}

static int row_count_of(int arrangement, int lowest, int row)
{
    return arrangement == PYRAMID ? lowest - row : lowest + is_shifted(arrangement, row);
}

// Boxes in the lowest row: of a pyramid all rows are counted down to one; a wall is about as high
// as it is wide.
static int lowest_row(int arrangement, int n)
{
    int lowest = arrangement == WALL ? 2 : 1;
    if (arrangement == PYRAMID)
        while (lowest * (lowest + 1) / 2 < n) ++lowest;
    if (arrangement == WALL)
        while (lowest * lowest < n) ++lowest;
    return lowest;
}

// One box of a row.
typedef struct place {
    double x, width; ///< of the middle, in sizes
} place;

static place place_of(int arrangement, int lowest, int row, int index)
{
    const int    count = row_count_of(arrangement, lowest, row);
    const double x     = pitch * (index - 0.5 * (count - 1));
    if (!is_shifted(arrangement, row) || (index > 0 && index < count - 1)) return (place){x, 1};
    const double end =
        0.5 * pitch * (lowest - 1) + 0.25; // its outer side is that of the rows below
    return (place){index == 0 ? -end : end, 0.5};
}

static void build(tn_scene* scene, const double* values)
{
    const int         n = (int)values[0], arrangement = (int)values[1];
    const int         lowest = lowest_row(arrangement, n);
    const double      size = values[2], gap = values[6];
    const tns_surface surface = {values[4], values[5]};
    double            mass    = 1000 * size * size * size;
    tns_setup(scene, "boxes", 10);
    tn_scene_set_ground(scene, surface.friction, surface.restitution);
    for (int i = 0, row = 0, index = 0; i < n; ++i) {
        const place   p      = place_of(arrangement, lowest, row, index);
        const double  z      = (row + 0.5) * size + (row + 1) * gap;
        const tn_vec3 half   = tns_scale(size / 2, tns_vec(p.width, 1, 1));
        const tn_vec3 center = tns_vec(p.x * size, 0, z);
        tns_solid(scene, tns_name("box%d", i + 1).text, tns_frame(center), TNS_AT_REST,
                  p.width * mass, tns_box_shape(half), surface);
        if (++index < row_count_of(arrangement, lowest, row)) continue;
        index = 0;
        ++row;
        mass *= values[3];
    }
}

const tns_builtin tns_boxes = {
    "boxes",
    "a stack, a pyramid or a wall of cubes that stands still",
    {{"n", "boxes in all", 20, 1, 100000, true, NULL},
     {"arrangement", "how they stand", STACK, 0, 2, true, "stack|pyramid|wall"},
     {"size", "of a box [m]; the lowest have the density of water", 0.2, 0.001, 100, false, NULL},
     {"ratio", "mass of a box over that of the row below", 1, 0.01, 100, false, NULL},
     {"friction", "of boxes and floor", 0.6, 0, 10, false, NULL},
     {"restitution", "of boxes and floor", 0, 0, 1, false, NULL},
     {"gap", "under each box at the start [m]", 0, 0, 10, false, NULL}},
    build};
