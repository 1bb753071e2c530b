// mass_properties: volume V, centre c, inertia I about the centre of solid shapes for density 1.
//
//     sphere    V = 4/3 pi r^3,       I = 2/5 V r^2
//     box       V = 8 a b c,          I_xx = V (b^2 + c^2) / 3
//     cylinder  V = 2 pi r^2 l,       I_zz = V r^2 / 2,   I_xx = V (r^2 / 4 + l^2 / 3)
//     capsule   a cylinder and two half balls; a half ball has its centre of mass 3/8 r from its
//               flat side, and I_xx = 2/5 V r^2 about the centre of that side
//     convex    tetrahedra from the centre of the points to the triangles (a, b, c) of the hull:
//               V = det(a, b, c) / 6,   integral of x = V (a + b + c) / 4,
//               integral of x x^T = V (s s^T + a a^T + b b^T + c c^T) / 20,   s = a + b + c
//     mesh      the same sums over its triangles, when it is closed
//
// l is half the length along z; a, b, c are half the edges of the box. The sums over triangles are
// exact up to rounding: triangles of a flat facet may be cut in any way. Points are first taken
// relative to their centre and scaled to unit size, so that distant or tiny shapes lose no digits.
// Parallel axes: moving the point of reference by d adds V (d^2 1 - d d^T); for two solids with d
// between their centres the factor is the reduced content V_1 V_2 / (V_1 + V_2). Cost: closed
// forms, a hull or a mesh. Fails only through the latter two.
#include "geom/mass_properties.h"

#include "geom/mesh.h"
#include "math/elementary.h"
#include "math/rotation.h"

// Adds w (d^2 1 - d d^T).
static void add_parallel_axes(double inertia[6], double w, tn_vec3 d)
{
    inertia[0] += w * (d.y * d.y + d.z * d.z);
    inertia[1] += w * (d.x * d.x + d.z * d.z);
    inertia[2] += w * (d.x * d.x + d.y * d.y);
    inertia[3] -= w * d.x * d.y;
    inertia[4] -= w * d.x * d.z;
    inertia[5] -= w * d.y * d.z;
}

static tni_solid centred(double volume, double xx, double yy, double zz)
{
    return (tni_solid){.content = volume, .inertia = {volume * xx, volume * yy, volume * zz}};
}

static tni_solid sphere_solid(double r)
{
    const double i = 0.4 * r * r;
    return centred(4.0 / 3.0 * TNI_PI * r * r * r, i, i, i);
}

static tni_solid box_solid(tn_vec3 a)
{
    const double x = a.x * a.x, y = a.y * a.y, z = a.z * a.z;
    return centred(8 * a.x * a.y * a.z, (y + z) / 3, (x + z) / 3, (x + y) / 3);
}

static tni_solid cylinder_solid(double r, double l)
{
    const double i = 0.25 * r * r + l * l / 3;
    return centred(2 * TNI_PI * r * r * l, i, i, 0.5 * r * r);
}

static tni_solid capsule_solid(double r, double l)
{
    const tni_solid tube = cylinder_solid(r, l), ends = sphere_solid(r);
    // A half ball about the capsule's centre: 2/5 r^2 is about the centre of its flat side, at l.
    const double across = 0.4 * r * r + l * l + 0.75 * r * l;
    tni_solid    solid  = {.content = tube.content + ends.content};
    solid.inertia[0] = solid.inertia[1] = tube.inertia[0] + ends.content * across;
    solid.inertia[2]                    = tube.inertia[2] + ends.inertia[2];
    return solid;
}

// ---- Sums over triangles -----------------------------------------------------------------------

static void to_unit_size(const tn_vec3* points, int count, tn_vec3 middle, double size,
                         tn_vec3* unit)
{
    for (int i = 0; i < count; ++i) {
        const tn_vec3 d = tni_sub(points[i], middle);
        unit[i]         = tni_vec3(d.x / size, d.y / size, d.z / size);
    }
}

// sum += w x x^T, upper triangle, in the order xx yy zz xy xz yz.
static void add_square(double sum[6], double w, tn_vec3 x)
{
    sum[0] += w * x.x * x.x;
    sum[1] += w * x.y * x.y;
    sum[2] += w * x.z * x.z;
    sum[3] += w * x.x * x.y;
    sum[4] += w * x.x * x.z;
    sum[5] += w * x.y * x.z;
}

void tni_moments_add(tni_moments* sums, tn_vec3 a, tn_vec3 b, tn_vec3 c)
{
    const tn_vec3 s = tni_add(a, tni_add(b, c));
    const double  V = tni_dot(a, tni_cross(b, c)) / 6;
    sums->volume += V;
    sums->first = tni_add_scaled(sums->first, V / 4, s);
    add_square(sums->square, V / 20, s);
    add_square(sums->square, V / 20, a);
    add_square(sums->square, V / 20, b);
    add_square(sums->square, V / 20, c);
}

tni_solid tni_moments_solid(const tni_moments* sums, tn_vec3 middle, double size)
{
    const double side = sums->volume < 0 ? -1 : 1, V = size * size * size;
    if (!(fabs(sums->volume) > 0)) return (tni_solid){0};
    const tn_vec3 centre = tni_scale(1 / sums->volume, sums->first);
    double        square[6];
    memcpy(square, sums->square, sizeof square);
    add_square(square, -sums->volume, centre);
    tni_solid solid  = {.content = side * sums->volume * V,
                        .centre  = tni_add_scaled(middle, size, centre)};
    solid.inertia[0] = square[1] + square[2];
    solid.inertia[1] = square[0] + square[2];
    solid.inertia[2] = square[0] + square[1];
    for (int k = 3; k < 6; ++k) solid.inertia[k] = -square[k];
    for (int k = 0; k < 6; ++k) solid.inertia[k] *= side * (V * size * size);
    return solid;
}

tni_moments tni_hull_moments(const tni_hull* hull, const tn_vec3* points)
{
    tni_moments sums = {0};
    for (int f = 0; f < hull->face_count; ++f) {
        const int* v = hull->faces[f].vertex;
        if (hull->faces[f].alive) tni_moments_add(&sums, points[v[0]], points[v[1]], points[v[2]]);
    }
    return sums;
}

static tn_result convex_solid(const tn_host* host, const tn_vec3* points, int count,
                              tni_solid* solid)
{
    if (count < 4) return TN_ERR_MODEL;
    tn_vec3      middle;
    const double size = tni_points_extent(points, count, &middle);
    if (!(size > 0)) return TN_ERR_MODEL;
    const size_t bytes = sizeof(tn_vec3) * (size_t)count;
    tn_vec3*     unit  = tni_host_take(host, bytes);
    if (unit == NULL) return TN_ERR_MEMORY;
    to_unit_size(points, count, middle, size, unit);
    tni_hull        hull;
    const tn_result result = tni_hull_create(host, unit, count, &hull);
    if (result == TN_OK) {
        const tni_moments sums = tni_hull_moments(&hull, unit);
        *solid                 = tni_moments_solid(&sums, middle, size);
        tni_hull_free(&hull);
    }
    tni_host_give(host, unit, bytes);
    return result;
}

static tn_result mesh_solid(const tn_host* host, const tn_shape_def* shape, tni_solid* solid)
{
    if (shape->triangle_count < 1) return TN_OK;
    tni_arena       arena = tni_arena_make(host);
    tni_mesh        mesh;
    const tn_result result = tni_mesh_create(&arena, shape->vertices, shape->vertex_count,
                                             shape->triangles, shape->triangle_count, &mesh, NULL);
    if (result == TN_OK) *solid = tni_mesh_solid(&mesh);
    tni_arena_free(&arena);
    return result;
}

// ---- By shape type -----------------------------------------------------------------------------

tn_result tni_shape_solid(const tn_host* host, const tn_shape_def* shape, tni_solid* solid)
{
    *solid = (tni_solid){0};
    switch (shape->type) {
    case TN_SHAPE_SPHERE: *solid = sphere_solid(shape->radius); break;
    case TN_SHAPE_BOX: *solid = box_solid(shape->half_size); break;
    case TN_SHAPE_CAPSULE: *solid = capsule_solid(shape->radius, shape->half_length); break;
    case TN_SHAPE_CYLINDER: *solid = cylinder_solid(shape->radius, shape->half_length); break;
    case TN_SHAPE_CONVEX: return convex_solid(host, shape->points, shape->point_count, solid);
    case TN_SHAPE_MESH: return mesh_solid(host, shape, solid);
    case TN_SHAPE_PLANE:
    case TN_SHAPE_HEIGHTS:
    case TN_SHAPE_TYPE_COUNT: break;
    }
    return TN_OK;
}

tni_solid tni_solid_moved(const tni_solid* solid, const tn_frame* pose)
{
    const double*  i      = solid->inertia;
    const tni_mat3 I      = {{i[0], i[3], i[4], i[3], i[1], i[5], i[4], i[5], i[2]}};
    const tn_quat  turn   = tni_quat_normalised(pose->orientation);
    const tni_mat3 R      = tni_quat_matrix(turn);
    const tni_mat3 turned = tni_rotate_symmetric(&R, &I);
    const double*  t      = turned.m;
    return (tni_solid){.content = solid->content,
                       .centre  = tni_add(pose->position, tni_mul(&R, solid->centre)),
                       .inertia = {t[0], t[4], t[8], t[1], t[2], t[5]}};
}

tni_solid tni_solid_scaled(const tni_solid* solid, double density)
{
    tni_solid scaled = *solid;
    scaled.content *= density;
    for (int k = 0; k < 6; ++k) scaled.inertia[k] *= density;
    return scaled;
}

tni_solid tni_solid_merged(const tni_solid* a, const tni_solid* b)
{
    if (!(a->content > 0)) return *b;
    if (!(b->content > 0)) return *a;
    const double  content = a->content + b->content;
    const tn_vec3 apart   = tni_sub(b->centre, a->centre);
    const double  share   = b->content / content;
    tni_solid     merged  = {.content = content, .centre = tni_add_scaled(a->centre, share, apart)};
    for (int k = 0; k < 6; ++k) merged.inertia[k] = a->inertia[k] + b->inertia[k];
    add_parallel_axes(merged.inertia, a->content * share, apart);
    return merged;
}
