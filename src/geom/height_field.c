// height_field: the triangles of a height field, computed from their indices.
//
//     D---C     cell (row, column) has triangle 2 c = (A, B, C) and 2 c + 1 = (A, C, D),
//     | / |     c = row (columns - 1) + column. Neighbours of the first: the cell below, the
//     A---B     right one, the second; of the second: the first, the cell above, the left one.
//
// The ground is solid: everything below the surface is inside. So a box meets every triangle above
// it. Only the heights are stored: cells are found by division, with a margin of 1e-9 of a cell for
// rounding. Cost: the cells under the box.
#include "geom/height_field.h"

static const double margin = 1e-9;

static tn_vec3 grid_vertex(const tni_height_field* h, int column, int row)
{
    return tni_vec3((column - 0.5 * (h->columns - 1)) * h->dx, (row - 0.5 * (h->rows - 1)) * h->dy,
                    h->z[(size_t)row * (size_t)h->columns + (size_t)column]);
}

void tni_height_field_triangle(const tni_height_field* field, int index, tn_vec3 corner[3])
{
    const int cell = index / 2, column = cell % (field->columns - 1),
              row     = cell / (field->columns - 1);
    const bool second = index % 2 != 0;
    corner[0]         = grid_vertex(field, column, row);
    corner[1]         = grid_vertex(field, column + 1, second ? row + 1 : row);
    corner[2]         = grid_vertex(field, second ? column : column + 1, row + 1);
}

int tni_height_field_neighbour(const tni_height_field* field, int index, int k)
{
    const int width = field->columns - 1, height = field->rows - 1;
    const int column = index / 2 % width, row = index / 2 / width;
    if (index % 2 == 0) {
        if (k == 0) return row > 0 ? index - 2 * width + 1 : -1;
        if (k == 1) return column + 1 < width ? index + 3 : -1;
        return index + 1;
    }
    if (k == 0) return index - 1;
    if (k == 1) return row + 1 < height ? index + 2 * width - 1 : -1;
    return column > 0 ? index - 3 : -1;
}

// Range of the `count` centred cells of this spacing that overlap lower .. upper; false: none.
static bool cells_between(double lower, double upper, double spacing, int count, int* first,
                          int* last)
{
    const double a = lower / spacing + 0.5 * count - margin, b = upper / spacing + 0.5 * count;
    if (!(a <= count) || !(b + margin >= 0)) return false;
    *first = (int)fmax(floor(a), 0);
    *last  = (int)fmin(floor(b + margin), count - 1);
    return *first <= *last;
}

void tni_height_field_visit(const tni_height_field* field, const tni_aabb* box,
                            void (*visit)(void* user, int triangle), void* user)
{
    int       left, right, low, high;
    const int width = field->columns - 1;
    if (!(box->lower.z <= field->highest)) return;
    if (!cells_between(box->lower.x, box->upper.x, field->dx, width, &left, &right)) return;
    if (!cells_between(box->lower.y, box->upper.y, field->dy, field->rows - 1, &low, &high)) return;
    for (int row = low; row <= high; ++row) {
        for (int t = 2 * (row * width + left); t <= 2 * (row * width + right) + 1; ++t) {
            tn_vec3 c[3];
            tni_height_field_triangle(field, t, c);
            if (fmax(c[0].z, fmax(c[1].z, c[2].z)) >= box->lower.z) visit(user, t);
        }
    }
}
