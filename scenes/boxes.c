// boxes: cubes on the floor, on each other: what a solver of contacts must hold still.
//
//     stack        one on the other; a mass ratio above 1 puts heavy ones on light ones
//     pyramid      each rests on two of the row below; a row has one less than that
//     wall         bricks in bond: every other row is shifted by half a brick
//
// The lowest row is as short as holds n boxes in all; what is left stands on top. Boxes in a row
// stand apart by a tenth of their size.
#include "builtins.h"
#include "parts.h"

enum { STACK, PYRAMID, WALL };

typedef struct place {
    int    row;
    double x; ///< of the middle, in sizes
} place;

static const double pitch = 1.1; ///< of boxes in a row, in sizes

static int row_count_of(int arrangement, int lowest, int row)
{
    return arrangement == STACK ? 1 : arrangement == PYRAMID ? lowest - row : lowest - row % 2;
}

// Boxes in the lowest row: of a pyramid all rows are counted down to one; a wall is about as high
// as it is wide.
static int lowest_row(int arrangement, int n)
{
    int lowest = 1;
    if (arrangement == PYRAMID)
        while (lowest * (lowest + 1) / 2 < n) ++lowest;
    if (arrangement == WALL) {
        lowest = 2;
        while (lowest * lowest < n) ++lowest;
    }
    return lowest;
}

static place next_place(int arrangement, int lowest, place at)
{
    const double half = 0.5 * pitch * (row_count_of(arrangement, lowest, at.row) - 1);
    if (at.x + 0.5 * pitch < half) return (place){at.row, at.x + pitch};
    const int above = row_count_of(arrangement, lowest, at.row + 1);
    return (place){at.row + 1, -0.5 * pitch * (above - 1)};
}

static void build(tn_scene* scene, const double* values)
{
    const int          n = (int)values[0], arrangement = (int)values[1];
    const int          lowest = lowest_row(arrangement, n);
    const double       size = values[2], gap = values[6];
    const tns_surface  surface = {values[4], values[5]};
    const tn_shape_def shape   = tns_box_shape(tns_vec(size / 2, size / 2, size / 2));
    double             mass    = 1000 * size * size * size;
    place              at      = {0, -0.5 * pitch * (row_count_of(arrangement, lowest, 0) - 1)};
    tns_setup_contact(scene, "boxes", 10);
    tn_scene_set_ground(scene, surface.friction, surface.restitution);
    for (int i = 0; i < n; ++i) {
        const double  z      = (at.row + 0.5) * size + (at.row + 1) * gap;
        const tn_vec3 center = tns_vec(at.x * size, 0, z);
        tns_solid(scene, tns_name("box%d", i + 1).text, tns_frame(center), TNS_AT_REST, mass, shape,
                  surface);
        const place next = next_place(arrangement, lowest, at);
        if (next.row != at.row) mass *= values[3];
        at = next;
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
