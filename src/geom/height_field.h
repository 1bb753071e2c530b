// height_field: z over a regular grid of x and y, two triangles a cell, solid below. See
// height_field.c.
#ifndef TNI_HEIGHT_FIELD_H
#define TNI_HEIGHT_FIELD_H

#include "geom/geometry.h"

/// Heights z[row * columns + column] at ((column - (columns - 1) / 2) dx, (row - (rows - 1) / 2)
/// dy): the origin is in the middle. The diagonal of a cell goes from its lower left to its upper
/// right.
typedef struct tni_height_field {
    int           columns, rows; ///< at least 2 each
    double        dx, dy;        ///< [m]
    const double* z;
    double        lowest, highest;
} tni_height_field;

TNI_INLINE int tni_height_field_triangle_count(const tni_height_field* field)
{
    return 2 * (field->columns - 1) * (field->rows - 1);
}

/// Corners of triangle `index` (two a cell, cells row by row), counter-clockwise seen from above.
void tni_height_field_triangle(const tni_height_field* field, int index, tn_vec3 corner[3]);
/// The triangle across the edge from corner k to the next; -1: boundary.
int tni_height_field_neighbour(const tni_height_field* field, int index, int k);
/// Calls visit, in ascending order, for each triangle whose cell overlaps the box in x and y and
/// that is not entirely below the box: the solid below the surface counts. In the field's frame.
void tni_height_field_visit(const tni_height_field* field, const tni_aabb* box,
                            void (*visit)(void* user, int triangle), void* user);

#endif
