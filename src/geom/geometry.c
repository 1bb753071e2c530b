// geometry: support mapping, bounding box and extent of shapes.
//
// The support of a convex set C along d is a point of C with the largest d . p: all that distance
// algorithms need (gjk.c). With the support s(d) of a shape in its own frame, its bounding box at x
// + R p extends along the world axis e to
//     e . x + s(R^T e) . (R^T e) + radius,
// which is exact for everything but meshes and height fields: there the rotated local box is used.
//
// Polytopes are searched from the first vertex to the last, without hill climbing: exact also where
// faces are flat only up to rounding, where a walk could stop early.
#include "geom/geometry.h"

#include "geom/height_field.h"
#include "geom/mesh.h"

bool tni_is_convex(tn_shape_type type)
{
    return type == TN_SHAPE_SPHERE || type == TN_SHAPE_BOX || type == TN_SHAPE_CAPSULE ||
           type == TN_SHAPE_CYLINDER || type == TN_SHAPE_CONVEX;
}

bool tni_is_surface(tn_shape_type type)
{
    return type == TN_SHAPE_MESH || type == TN_SHAPE_HEIGHTS;
}

const tni_polytope* tni_polytope_of(const tni_geometry* g)
{
    return g->type == TN_SHAPE_BOX || g->type == TN_SHAPE_CONVEX ? g->polytope : NULL;
}

tn_vec3 tni_middle_of(const tni_geometry* g)
{
    return g->type == TN_SHAPE_CONVEX ? g->polytope->middle : tni_vec3(0, 0, 0);
}

double tni_round_radius(const tni_geometry* geometry)
{
    const bool is_round = geometry->type == TN_SHAPE_SPHERE || geometry->type == TN_SHAPE_CAPSULE;
    return is_round ? geometry->radius : 0;
}

// ---- Support -----------------------------------------------------------------------------------

// On a rim the point along d; on a cap its centre.
static tn_vec3 cylinder_support(const tni_geometry* g, tn_vec3 d)
{
    const double size = fmax(fabs(d.x), fabs(d.y));
    const double z    = d.z >= 0 ? g->half_length : -g->half_length;
    if (!(size > 0)) return tni_vec3(0, 0, z);
    const double x = d.x / size, y = d.y / size; // squares neither underflow nor overflow
    const double s = g->radius / sqrt(x * x + y * y);
    return tni_vec3(s * x, s * y, z);
}

static tn_vec3 polytope_support(const tni_polytope* polytope, tn_vec3 d, int* feature)
{
    int    best = 0;
    double most = tni_dot(d, polytope->vertices[0]);
    for (int i = 1; i < polytope->vertex_count; ++i) {
        const double at = tni_dot(d, polytope->vertices[i]);
        if (at > most) most = at, best = i;
    }
    *feature = best;
    return polytope->vertices[best];
}

tn_vec3 tni_support(const tni_geometry* g, tn_vec3 d, int* feature)
{
    tn_vec3       p     = {0, 0, 0};
    const tn_vec3 s     = g->half_size;
    int           which = 0;
    switch (g->type) {
    case TN_SHAPE_BOX: // bit k of a vertex: the positive side along axis k
        p     = tni_vec3(d.x > 0 ? s.x : -s.x, d.y > 0 ? s.y : -s.y, d.z > 0 ? s.z : -s.z);
        which = (d.x > 0) | (d.y > 0) << 1 | (d.z > 0) << 2;
        break;
    case TN_SHAPE_CAPSULE:
        which = !(d.z >= 0);
        p     = tni_vec3(0, 0, which == 0 ? g->half_length : -g->half_length);
        break;
    case TN_SHAPE_CYLINDER: p = cylinder_support(g, d); break;
    case TN_SHAPE_CONVEX: p = polytope_support(g->polytope, d, &which); break;
    default: TN_ASSERT(g->type == TN_SHAPE_SPHERE); break;
    }
    if (feature != NULL) *feature = which;
    return p;
}

// ---- Boxes -------------------------------------------------------------------------------------

static tni_aabb cloud_box(const tni_polytope* polytope, const tni_pose* pose)
{
    tni_aabb box = tni_aabb_empty();
    for (int i = 0; i < polytope->vertex_count; ++i)
        tni_aabb_add(&box, tni_mul(&pose->R, polytope->vertices[i]));
    return (tni_aabb){tni_add(pose->x, box.lower), tni_add(pose->x, box.upper)};
}

// Bounding box of a box in the shape's frame.
static tni_aabb turned_box(tn_vec3 middle, tn_vec3 half, const tni_pose* pose)
{
    const double* m = pose->R.m;
    const tn_vec3 c = tni_pose_point(pose, middle);
    const tn_vec3 u = tni_vec3(fabs(m[0]) * half.x + fabs(m[1]) * half.y + fabs(m[2]) * half.z,
                               fabs(m[3]) * half.x + fabs(m[4]) * half.y + fabs(m[5]) * half.z,
                               fabs(m[6]) * half.x + fabs(m[7]) * half.y + fabs(m[8]) * half.z);
    return (tni_aabb){tni_sub(c, u), tni_add(c, u)};
}

static tni_aabb turned_aabb(const tni_aabb* own, const tni_pose* pose)
{
    const tn_vec3 half = tni_scale(0.5, tni_sub(own->upper, own->lower));
    return turned_box(tni_add(own->lower, half), half, pose);
}

static tni_aabb height_field_box(const struct tni_height_field* field)
{
    const double x = 0.5 * (field->columns - 1) * field->dx,
                 y = 0.5 * (field->rows - 1) * field->dy;
    return (tni_aabb){{-x, -y, field->lowest}, {x, y, field->highest}};
}

// A cylinder extends along e by half_length |e_z| + radius sqrt(1 - e_z^2).
static tni_aabb cylinder_box(const tni_geometry* g, const tni_pose* pose)
{
    double reach[3];
    for (int k = 0; k < 3; ++k) {
        const double x = pose->R.m[3 * k], y = pose->R.m[3 * k + 1], z = pose->R.m[3 * k + 2];
        reach[k] = g->half_length * fabs(z) + g->radius * sqrt(x * x + y * y);
    }
    const tn_vec3 u = tni_read3(reach);
    return (tni_aabb){tni_sub(pose->x, u), tni_add(pose->x, u)};
}

// A height field is solid below, without limit.
static tni_aabb height_field_bounds(const tni_height_field* field, const tni_pose* pose)
{
    const tni_aabb own = height_field_box(field);
    const tn_vec3  up  = tni_column(&pose->R, 2);
    tni_aabb       box = turned_aabb(&own, pose);
    if (up.x > 0) box.lower.x = -HUGE_VAL;
    if (up.y > 0) box.lower.y = -HUGE_VAL;
    if (up.z > 0) box.lower.z = -HUGE_VAL;
    if (up.x < 0) box.upper.x = HUGE_VAL;
    if (up.y < 0) box.upper.y = HUGE_VAL;
    if (up.z < 0) box.upper.z = HUGE_VAL;
    return box;
}

tni_aabb tni_bounds(const tni_geometry* g, const tni_pose* pose)
{
    const tn_vec3 zero = {0, 0, 0};
    switch (g->type) {
    case TN_SHAPE_SPHERE: return tni_aabb_grown((tni_aabb){pose->x, pose->x}, g->radius);
    case TN_SHAPE_BOX: return turned_box(zero, g->half_size, pose);
    case TN_SHAPE_CAPSULE:
        return tni_aabb_grown(turned_box(zero, tni_vec3(0, 0, g->half_length), pose), g->radius);
    case TN_SHAPE_CYLINDER: return cylinder_box(g, pose);
    case TN_SHAPE_CONVEX: return cloud_box(g->polytope, pose);
    case TN_SHAPE_MESH: return turned_aabb(&g->mesh->nodes[0].box, pose);
    case TN_SHAPE_HEIGHTS: return height_field_bounds(g->height_field, pose);
    default: return (tni_aabb){{-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}, {HUGE_VAL, HUGE_VAL, HUGE_VAL}};
    }
}

// Clips the range first .. last of a ray by a slab. Two roundings may shift either by 2^-52 of
// itself; the factors cover more. Comparisons are such that a NaN keeps the box.
static bool cut(double from, double d, double lower, double upper, double* first, double* last)
{
    if (fabs(d) < 1e-290) return !(from < lower) && !(from > upper);
    const double a = (lower - from) / d, b = (upper - from) / d;
    const double in  = (d > 0 ? a : b) * (1 - 0x1p-50);
    const double out = (d > 0 ? b : a) * (1 + 0x1p-50);
    if (in > *first) *first = in;
    if (out < *last) *last = out;
    return !(*first > *last);
}

double tni_ray_enters(const tni_aabb* box, tn_vec3 from, tn_vec3 d, double most)
{
    double first = 0, last = most;
    return cut(from.x, d.x, box->lower.x, box->upper.x, &first, &last) &&
                   cut(from.y, d.y, box->lower.y, box->upper.y, &first, &last) &&
                   cut(from.z, d.z, box->lower.z, box->upper.z, &first, &last)
               ? first
               : HUGE_VAL;
}

static double furthest(const tn_vec3* points, int count)
{
    double most = 0;
    for (int i = 0; i < count; ++i) most = fmax(most, tni_norm(points[i]));
    return most;
}

double tni_extent(const tni_geometry* g)
{
    tni_aabb box;
    switch (g->type) {
    case TN_SHAPE_SPHERE: return g->radius;
    case TN_SHAPE_BOX: return tni_norm(g->half_size);
    case TN_SHAPE_CAPSULE: return g->half_length + g->radius;
    case TN_SHAPE_CYLINDER: return tni_norm(tni_vec3(g->radius, 0, g->half_length));
    case TN_SHAPE_CONVEX: return furthest(g->polytope->vertices, g->polytope->vertex_count);
    case TN_SHAPE_MESH: return furthest(g->mesh->vertices, g->mesh->vertex_count);
    case TN_SHAPE_HEIGHTS:
        box = height_field_box(g->height_field);
        return tni_norm(
            tni_vec3(box.upper.x, box.upper.y, fmax(fabs(box.lower.z), fabs(box.upper.z))));
    default: return HUGE_VAL;
    }
}

tni_pose tni_pose_of(const tni_pose* outer, const tni_pose* inner)
{
    return (tni_pose){tni_pose_point(outer, inner->x), tni_mat_mul(&outer->R, &inner->R)};
}

tni_pose tni_pose_seen(const tni_pose* from, const tni_pose* pose)
{
    const tni_mat3 Rt = tni_transposed(&from->R);
    return (tni_pose){tni_mul(&Rt, tni_sub(pose->x, from->x)), tni_mat_mul(&Rt, &pose->R)};
}
