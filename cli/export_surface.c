// export_surface: shapes as triangles. Round ones are profiles that turn about z, with normals; the others
// have none and are drawn with flat faces. A plane is a square, a height field the surface over its grid.
#include "export.h"

#include <math.h>
#include <stdlib.h>

enum { ROUND = 24, ARC = 6 }; ///< corners of a circle, and points along a quarter of one, less one

void tnc_surface_clear(tnc_surface* s)
{
    s->point_count  = 0;
    s->corner_count = 0;
    s->smooth       = false;
    s->open         = false;
}

void tnc_surface_free(tnc_surface* s)
{
    free(s->points);
    free(s->normals);
    free(s->corners);
    *s = (tnc_surface){0};
}

static void* grow(tnc_surface* s, void* block, int room, size_t size)
{
    void* larger = realloc(block, (size_t)room * size);
    if (!larger) s->failed = true;
    return larger ? larger : block;
}

static void add_point(tnc_surface* s, tn_vec3 point, tn_vec3 normal)
{
    if (s->point_count == s->point_room && !s->failed) {
        const int room = s->point_room > 0 ? 2 * s->point_room : 256;
        s->points      = grow(s, s->points, room, sizeof *s->points);
        s->normals     = grow(s, s->normals, room, sizeof *s->normals);
        if (!s->failed) s->point_room = room;
    }
    if (s->failed) return;
    s->points[s->point_count]    = point;
    s->normals[s->point_count++] = normal;
}

void tnc_surface_triangle(tnc_surface* s, int a, int b, int c)
{
    if (s->corner_count + 3 > s->corner_room && !s->failed) {
        const int room = s->corner_room > 0 ? 2 * s->corner_room : 768;
        s->corners     = grow(s, s->corners, room, sizeof *s->corners);
        if (!s->failed) s->corner_room = room;
    }
    if (s->failed) return;
    s->corners[s->corner_count++] = a;
    s->corners[s->corner_count++] = b;
    s->corners[s->corner_count++] = c;
}

// ---- What turns about z --------------------------------------------------------------------------

/// A point of a profile and its normal: distance from the axis, and height.
typedef struct profile {
    double r, z, normal_r, normal_z;
} profile;

// From the lowest point of the profile to the highest. Two points at one place make an edge.
static void revolve(tnc_surface* s, const profile* p, int count)
{
    s->smooth = true;
    for (int i = 0; i < count; ++i) {
        for (int k = 0; k <= ROUND; ++k) {
            const double angle = 2 * 3.14159265358979323846 * (k % ROUND) / ROUND;
            const double c = cos(angle), d = sin(angle);
            add_point(s, (tn_vec3){p[i].r * c, p[i].r * d, p[i].z},
                      (tn_vec3){p[i].normal_r * c, p[i].normal_r * d, p[i].normal_z});
        }
    }
    for (int i = 0; i + 1 < count; ++i) {
        const bool edge = p[i].r == p[i + 1].r && p[i].z == p[i + 1].z;
        for (int k = 0; k < ROUND && !edge; ++k) {
            const int low = i * (ROUND + 1) + k, high = low + ROUND + 1;
            if (p[i].r > 0) tnc_surface_triangle(s, low, low + 1, high + 1);
            if (p[i + 1].r > 0) tnc_surface_triangle(s, low, high + 1, high);
        }
    }
}

static void add_capsule(tnc_surface* s, double radius, double half_length)
{
    profile p[2 * ARC + 2];
    int     count = 0;
    for (int i = -ARC; i <= ARC; ++i) {
        const double angle = 0.5 * 3.14159265358979323846 * i / ARC;
        const double c = abs(i) == ARC ? 0 : cos(angle), d = sin(angle);
        if (i <= 0) p[count++] = (profile){radius * c, radius * d - half_length, c, d};
        if (i > 0 || (i == 0 && half_length > 0))
            p[count++] = (profile){radius * c, radius * d + half_length, c, d};
    }
    revolve(s, p, count);
}

static void add_cylinder(tnc_surface* s, double r, double h)
{
    const profile p[] = {{0, -h, 0, -1}, {r, -h, 0, -1}, {r, -h, 1, 0},
                         {r, h, 1, 0},   {r, h, 0, 1},   {0, h, 0, 1}};
    revolve(s, p, 6);
}

// ---- What has corners ----------------------------------------------------------------------------

static void add_quad(tnc_surface* s, int a, int b, int c, int d)
{
    tnc_surface_triangle(s, a, b, c);
    tnc_surface_triangle(s, a, c, d);
}

static void add_box(tnc_surface* s, tn_vec3 h)
{
    static const int faces[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4},
                                    {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};
    for (int i = 0; i < 8; ++i)
        add_point(s, (tn_vec3){i & 1 ? h.x : -h.x, i & 2 ? h.y : -h.y, i & 4 ? h.z : -h.z},
                  (tn_vec3){0});
    for (int i = 0; i < 6; ++i) add_quad(s, faces[i][0], faces[i][1], faces[i][2], faces[i][3]);
}

static void add_square(tnc_surface* s, double half)
{
    for (int i = 0; i < 4; ++i)
        add_point(s, (tn_vec3){i & 1 ? half : -half, i & 2 ? half : -half, 0}, (tn_vec3){0});
    add_quad(s, 0, 1, 3, 2);
    s->open = true;
}

static void add_points(tnc_surface* s, const tn_vec3* points, int count)
{
    for (int i = 0; i < count; ++i) add_point(s, points[i], (tn_vec3){0});
}

static void add_mesh(tnc_surface* s, const tn_shape_def* d)
{
    add_points(s, d->vertices, d->vertex_count);
    for (int i = 0; i < d->triangle_count; ++i) {
        const int* t = d->triangles + 3 * (size_t)i;
        if (t[0] != t[1] && t[1] != t[2] && t[2] != t[0]) tnc_surface_triangle(s, t[0], t[1], t[2]);
    }
    s->open = true; // it may be
}

static void add_heights(tnc_surface* s, const tn_shape_def* d)
{
    for (int i = 0; i < d->rows * d->columns; ++i) {
        const double x = (i % d->columns - 0.5 * (d->columns - 1)) * d->spacing[0];
        const double y = (i / d->columns - 0.5 * (d->rows - 1)) * d->spacing[1];
        add_point(s, (tn_vec3){x, y, d->heights[i]}, (tn_vec3){0});
    }
    for (int row = 0; row + 1 < d->rows; ++row) {
        for (int column = 0; column + 1 < d->columns; ++column) {
            const int low = row * d->columns + column, high = low + d->columns;
            add_quad(s, low, low + 1, high + 1, high);
        }
    }
    s->open = true;
}

static void place_all(tnc_surface* s, tn_frame pose)
{
    for (int i = 0; i < s->point_count; ++i) {
        s->points[i]  = tnc_place(pose, s->points[i]);
        s->normals[i] = tnc_turn(pose.orientation, s->normals[i]);
    }
}

void tnc_surface_shape(tnc_surface* s, const tn_shape_def* d, double plane_size)
{
    tnc_surface_clear(s);
    switch (d->type) {
    case TN_SHAPE_SPHERE: add_capsule(s, d->radius, 0); break;
    case TN_SHAPE_BOX: add_box(s, d->half_size); break;
    case TN_SHAPE_CAPSULE: add_capsule(s, d->radius, d->half_length); break;
    case TN_SHAPE_CYLINDER: add_cylinder(s, d->radius, d->half_length); break;
    case TN_SHAPE_CONVEX:
        add_points(s, d->points, d->point_count);
        if (!s->failed) tnc_surface_hull(s);
        break;
    case TN_SHAPE_MESH: add_mesh(s, d); break;
    case TN_SHAPE_PLANE: add_square(s, plane_size); break;
    case TN_SHAPE_HEIGHTS: add_heights(s, d); break;
    case TN_SHAPE_TYPE_COUNT: break;
    }
    place_all(s, d->pose);
}

// The shortest turn that takes z to the unit vector d.
static tn_quat turn_to(tn_vec3 d)
{
    if (d.z < -0.999999) return (tn_quat){0, 1, 0, 0};
    const double w = sqrt(0.5 * (1 + d.z));
    return (tn_quat){w, -d.y / (2 * w), d.x / (2 * w), 0};
}

void tnc_surface_rod(tnc_surface* s, tn_vec3 from, tn_vec3 to, double radius)
{
    const tn_vec3 along  = tnc_sub(to, from);
    const double  length = tnc_length(along);
    const tn_vec3 d      = length > 0 ? tnc_scale(along, 1 / length) : (tn_vec3){0, 0, 1};
    tnc_surface_clear(s);
    add_capsule(s, radius, 0.5 * length);
    place_all(s, (tn_frame){tnc_scale(tnc_add(from, to), 0.5), turn_to(d)});
}
