// height_field: a height field: z over a grid of x and y, two triangles a cell, solid below. See
// height_field.c.
#ifndef TNI_HEIGHT_FIELD_H
#define TNI_HEIGHT_FIELD_H

#include "geom/geometry.h"

/// Heights z[row * columns + column] at ((column - (columns - 1) / 2) dx, (row - (rows - 1) / 2)
/// dy): the frame's origin is over the middle. Cells are cut from their lower left to their upper
/// right.
typedef struct tni_height_field {
    int           columns, rows; ///< at least 2 each
    double        dx, dy;        ///< [m]
    const double* z;
    double        lowest, highest;
} tni_height_field;

TNI_INLINE int tni_height_field_triangle_count(const tni_height_field* heights)
{
    return 2 * (heights->columns - 1) * (heights->rows - 1);
}

/// Corners of triangle `index` (two a cell, cells row by row), counter-clockwise seen from above.
void tni_height_field_triangle(const tni_height_field* heights, int index, tn_vec3 corner[3]);
/// The triangle across its edge from corner k to the next; -1: the field ends there.
int tni_height_field_beside(const tni_height_field* heights, int index, int k);
/// Calls visit, rising, for each triangle that has ground at or above the box's lower side, and
/// overlaps it seen from above: what is below the surface meets it, too. In the field's frame.
void tni_height_field_visit(const tni_height_field* heights, const tni_aabb* box,
                            void (*visit)(void* user, int triangle), void*   user);

#endif
