// find: the points where shapes touch, or nearly so.
//
// A plane against what the other shape has to offer as lowest points:
//     sphere    its centre, a ball             capsule  two centres, balls
//     box       eight vertices                 convex   its points, also such as lie inside
//     cylinder  each end's rim, see below
// and spheres against each other. Other pairs are for a full collision detection.
//
// The rim of a cylinder. Let s be the sine of the angle between its axis and the normal. A rim that
// leans clearly (s > rolls) touches at its lowest point, which wanders over it: a disc that rolls,
// whose gap is exact while it does. As s -> 0 that point wanders ever faster, and at s = 0 there is
// none; then four vertices a quarter turn apart stand for the rim, the first of them the lowest, so
// that a standing cylinder stands and a tipping one tips over its true edge. Where even the lowest
// has no clear direction (s < stands), the first lies along the shape's x axis; then the rim is
// lower by at most s times the radius. Vertices hold for as long as the bodies move little.
//
// Bodies that keep to the plane z = constant are touched by planes that stand on it; features that
// they have twice, one above the other, count once, and spheres are discs.
//
// Cost: planes times features and pairs of spheres, a dot product each; nothing is stored, so that
// results depend on the places of the bodies only.
#include "contact/contact.h"

enum { RIM_POINTS = 4, SHAPE_BITS = 22, FEATURE_BITS = 20 };

static const double rolls           = 0.2;
static const double stands          = 1e-7;
static const double plane_tolerance = 1e-9;  // sine of the angle that a normal may lean
static const double one_above       = 1e-12; // in sizes of the shape: one point over another

// Where touches go: beyond the capacity they are only counted.
typedef struct list {
    tni_touch* touches;
    int        capacity, count;
} list;

static void add(list* out, const tni_touch* touch)
{
    if (out->count < out->capacity) out->touches[out->count] = *touch;
    ++out->count;
}

// What all touches of two shapes have in common.
static tni_touch touch_of(const tni_shape* shape1, const tni_shape* shape2)
{
    return (tni_touch){.body1       = shape1->body,
                       .body2       = shape2->body,
                       .p1          = shape1->p,
                       .p2          = shape2->p,
                       .F1          = shape1->F,
                       .friction    = sqrt(shape1->friction * shape2->friction),
                       .restitution = fmax(shape1->restitution, shape2->restitution)};
}

static uint64_t id_of(int shape1, int shape2, int feature)
{
    return ((uint64_t)shape1 << SHAPE_BITS | (uint64_t)shape2) << FEATURE_BITS | (uint64_t)feature;
}

static tn_vec3 point_of(const tni_view* view, tn_vec3 p)
{
    return tni_add(view->x, tni_mul(&view->R, p));
}

// ---- Planes -------------------------------------------------------------------------------------

// How far a shape reaches from its origin.
static double extent_of(const tni_shape* shape)
{
    switch (shape->type) {
    case TN_SHAPE_BOX: return tni_norm(shape->half_size);
    case TN_SHAPE_CAPSULE:
    case TN_SHAPE_CYLINDER: return shape->half_length + shape->radius;
    default: return shape->radius;
    }
}

static int feature_count(const tni_shape* shape)
{
    switch (shape->type) {
    case TN_SHAPE_SPHERE: return 1;
    case TN_SHAPE_CAPSULE: return 2;
    case TN_SHAPE_BOX: return 8;
    case TN_SHAPE_CYLINDER: return 2 * RIM_POINTS;
    case TN_SHAPE_CONVEX: return shape->point_count;
    default: return 0;
    }
}

// A plane and the body over it.
typedef struct over {
    tn_vec3         n, origin; ///< of the plane, in the world
    const tni_view* view;      ///< of the other body
    bool            flat;
} over;

// From the middle of an end of a cylinder to its lowest rim point, of length 1, when the axis is
// nearly along the normal. n: in the shape's axes, so that its small part across the axis keeps its
// digits.
static tn_vec3 lowest_of_rim(const tni_shape* shape, const over* o, tn_vec3 n)
{
    const double s = sqrt(n.x * n.x + n.y * n.y);
    if (s > stands) return tni_mul(&shape->F, tni_vec3(-n.x / s, -n.y / s, 0));
    if (!o->flat) return tni_column(&shape->F, 0);
    return tni_normalised(tni_mul_t(&o->view->R, tni_cross(o->n, tni_vec3(0, 0, 1))));
}

static bool place_rim(const tni_shape* shape, const over* o, int feature, tni_touch* touch)
{
    const tn_vec3 n      = tni_mul_t(&shape->F, tni_mul_t(&o->view->R, o->n));
    const tn_vec3 axis   = tni_column(&shape->F, 2);
    const double  side   = feature < RIM_POINTS ? shape->half_length : -shape->half_length;
    const int     corner = feature % RIM_POINTS;
    touch->p2            = tni_add_scaled(shape->p, side, axis);
    touch->axis          = axis;
    touch->wheel         = n.x * n.x + n.y * n.y > rolls * rolls;
    if (touch->wheel) {
        touch->radius2 = shape->radius;
        return corner == 0;
    }
    const tn_vec3 low = lowest_of_rim(shape, o, n);
    const tn_vec3 d   = corner % 2 == 0 ? low : tni_cross(axis, low);
    touch->p2         = tni_add_scaled(touch->p2, corner < 2 ? shape->radius : -shape->radius, d);
    return true;
}

// p2, radius2, wheel and axis of a feature; false when there is no such feature as things stand.
static bool place_feature(const tni_shape* shape, const over* o, int feature, tni_touch* touch)
{
    tn_vec3 d = {0, 0, 0}; // in the shape's axes
    switch (shape->type) {
    case TN_SHAPE_CYLINDER: return place_rim(shape, o, feature, touch);
    case TN_SHAPE_CAPSULE: d.z = feature == 0 ? shape->half_length : -shape->half_length; break;
    case TN_SHAPE_BOX:
        d.x = feature & 1 ? -shape->half_size.x : shape->half_size.x;
        d.y = feature & 2 ? -shape->half_size.y : shape->half_size.y;
        d.z = feature & 4 ? -shape->half_size.z : shape->half_size.z;
        break;
    case TN_SHAPE_CONVEX: d = shape->points[feature]; break;
    default: break;
    }
    touch->p2 = tni_add(shape->p, tni_mul(&shape->F, d));
    touch->radius2 =
        shape->type == TN_SHAPE_BOX || shape->type == TN_SHAPE_CONVEX ? 0 : shape->radius;
    return true;
}

static double gap_of(const over* o, const tni_touch* touch)
{
    double height = tni_dot(o->n, tni_sub(point_of(o->view, touch->p2), o->origin));
    if (!touch->wheel) return height - touch->radius2;
    const tn_vec3 b = tni_mul(&o->view->R, touch->axis);
    return height - touch->radius2 * tni_norm(tni_add_scaled(o->n, -tni_dot(o->n, b), b));
}

// In the plane: whether an earlier feature lies straight above or below.
static bool is_doubled(const tni_shape* shape, const over* o, int feature, const tni_touch* touch)
{
    const tn_vec3 here   = tni_mul(&o->view->R, touch->p2);
    const double  margin = one_above * (extent_of(shape) + tni_norm(shape->p));
    tni_touch     other  = *touch;
    for (int i = 0; i < feature; ++i) {
        if (!place_feature(shape, o, i, &other)) continue;
        const tn_vec3 there = tni_mul(&o->view->R, other.p2);
        if (fabs(here.x - there.x) <= margin && fabs(here.y - there.y) <= margin) return true;
    }
    return false;
}

static void over_plane(const tn_model* model, const tni_view* views, int plane, int other,
                       double reach, list* out)
{
    const tni_shape *shape1 = &model->shapes[plane], *shape2 = &model->shapes[other];
    const tni_view * view1 = &views[shape1->body], *view2 = &views[shape2->body];
    const over       o      = {.n      = tni_mul(&view1->R, tni_column(&shape1->F, 2)),
                               .origin = point_of(view1, shape1->p),
                               .view   = view2,
                               .flat   = tni_is_flat(&model->bodies[shape1->body]) &&
                                       tni_is_flat(&model->bodies[shape2->body])};
    const double     middle = tni_dot(o.n, tni_sub(point_of(view2, shape2->p), o.origin));
    if (!(middle - extent_of(shape2) <= reach)) return; // so written, it catches NaN too
    if (!tni_may_touch(model, shape1->body, shape2->body)) return;
    if (o.flat && fabs(o.n.z) > plane_tolerance) return;
    tni_touch touch = touch_of(shape1, shape2);
    for (int i = 0; i < feature_count(shape2); ++i) {
        if (!place_feature(shape2, &o, i, &touch)) continue;
        touch.gap = gap_of(&o, &touch);
        if (!(touch.gap <= reach) || (o.flat && is_doubled(shape2, &o, i, &touch))) continue;
        touch.id = id_of(plane, other, i);
        add(out, &touch);
    }
}

// ---- Spheres ------------------------------------------------------------------------------------

// The axis of a frame that is most across d comes first.
static tni_mat3 most_across_first(const tni_mat3* F, tn_vec3 d)
{
    const double x = fabs(tni_dot(tni_column(F, 0), d)), y = fabs(tni_dot(tni_column(F, 1), d)),
                 z = fabs(tni_dot(tni_column(F, 2), d));
    const int k    = x <= y && x <= z ? 0 : y <= z ? 1 : 2;
    return tni_columns(tni_column(F, k), tni_column(F, (k + 1) % 3), tni_column(F, (k + 2) % 3));
}

// How far a sphere may be from its body's centre of mass along any axis, its radius counted.
static double size_of(const tni_shape* shape)
{
    return shape->radius + fabs(shape->p.x) + fabs(shape->p.y) + fabs(shape->p.z);
}

// A look that costs little and sends most pairs away. In x and y, where discs count too.
static bool are_near(const tn_model* model, const tni_view* views, int first, int second,
                     double reach)
{
    const tni_shape *shape1 = &model->shapes[first], *shape2 = &model->shapes[second];
    const tn_vec3    x1 = views[shape1->body].x, x2 = views[shape2->body].x;
    const double     most = 1.001 * (size_of(shape1) + size_of(shape2)) + reach; // for rounding
    return fabs(x2.x - x1.x) <= most && fabs(x2.y - x1.y) <= most;
}

static void on_sphere(const tn_model* model, const tni_view* views, int first, int second,
                      double reach, list* out)
{
    const tni_shape *shape1 = &model->shapes[first], *shape2 = &model->shapes[second];
    const tni_view * view1 = &views[shape1->body], *view2 = &views[shape2->body];
    tn_vec3          D = tni_sub(point_of(view2, shape2->p), point_of(view1, shape1->p));
    if (tni_is_flat(&model->bodies[shape1->body]) && tni_is_flat(&model->bodies[shape2->body]))
        D.z = 0;
    const double gap = tni_norm(D) - shape1->radius - shape2->radius;
    if (!(gap <= reach) || !tni_may_touch(model, shape1->body, shape2->body)) return;
    tni_touch touch = touch_of(shape1, shape2);
    touch.id        = id_of(first, second, 0);
    touch.round     = true;
    touch.F1        = most_across_first(&shape1->F, tni_mul_t(&view1->R, D));
    touch.radius1   = shape1->radius;
    touch.radius2   = shape2->radius;
    touch.gap       = gap;
    add(out, &touch);
}

int tni_find_touches(const tn_model* model, const tni_view* views, double reach, tni_touch* touches,
                     int capacity)
{
    list out = {.touches = touches, .capacity = capacity};
    for (int i = 0; i < model->shape_count; ++i) {
        const tn_shape_type type = model->shapes[i].type;
        for (int j = 0; type == TN_SHAPE_PLANE && j < model->shape_count; ++j) {
            if (model->shapes[j].type != TN_SHAPE_PLANE)
                over_plane(model, views, i, j, reach, &out);
        }
        for (int j = i + 1; type == TN_SHAPE_SPHERE && j < model->shape_count; ++j) {
            if (model->shapes[j].type == TN_SHAPE_SPHERE && are_near(model, views, i, j, reach))
                on_sphere(model, views, i, j, reach, &out);
        }
    }
    return out.count;
}
