// planes: contact points of shapes over a plane, their lowest points:
//     sphere    its centre, a ball             capsule  two centres, balls
//     box       eight vertices                 convex   its vertices
//     cylinder  each end's rim
//
// The rim of a cylinder. Let s be the sine of the angle between its axis and the normal. A rim that
// is clearly inclined (s > TNI_ROLLS) touches at its lowest point, which moves along it: a rolling
// disc, whose gap is exact while it rolls. As s -> 0 that point moves ever faster, and at s = 0
// there is none; then four vertices a quarter turn apart replace the rim, the first of them the
// lowest, so that a standing cylinder stands and a tipping one tips over its true edge. Where even
// the lowest has no clear direction (s < stands), the first lies along the shape's x axis; the true
// rim is then lower by at most s times the radius. Vertices are valid as long as the bodies move
// little.
#include "contact/find_parts.h"

enum { RIM_POINTS = 4 };

static const double stands = 1e-7;
// Relative to the size of the shape: tolerance for one point above another.
static const double one_above = 1e-12;

static int feature_count(const tni_shape* shape)
{
    switch (shape->geometry.type) {
    case TN_SHAPE_SPHERE: return 1;
    case TN_SHAPE_CAPSULE: return 2;
    case TN_SHAPE_BOX: return 8;
    case TN_SHAPE_CYLINDER: return 2 * RIM_POINTS;
    case TN_SHAPE_CONVEX: return shape->geometry.polytope->vertex_count;
    default: return 0;
    }
}

// A plane and the body over it.
typedef struct over {
    tn_vec3         n, origin; ///< of the plane, world axes
    const tni_view* view;      ///< of the other body
    bool            flat;
} over;

// Unit vector from the centre of an end of a cylinder to its lowest rim point, when the axis is
// nearly along the normal. n: in the shape's axes, so that its small part across the axis keeps its
// digits.
static tn_vec3 lowest_of_rim(const tni_shape* shape, const over* o, tn_vec3 n)
{
    const double s = sqrt(n.x * n.x + n.y * n.y);
    if (s > stands) return tni_mul(&shape->F, tni_vec3(-n.x / s, -n.y / s, 0));
    if (!o->flat) return tni_column(&shape->F, 0);
    return tni_normalised(tni_mul_t(&o->view->R, tni_cross(o->n, tni_vec3(0, 0, 1))));
}

static bool place_rim(const tni_shape* shape, const over* o, int feature, tni_contact* contact)
{
    const tn_vec3 n    = tni_mul_t(&shape->F, tni_mul_t(&o->view->R, o->n));
    const tn_vec3 axis = tni_column(&shape->F, 2);
    const double  side =
        feature < RIM_POINTS ? shape->geometry.half_length : -shape->geometry.half_length;
    const int corner = feature % RIM_POINTS;
    contact->p2      = tni_add_scaled(shape->p, side, axis);
    contact->axis    = axis;
    contact->wheel   = n.x * n.x + n.y * n.y > TNI_ROLLS * TNI_ROLLS;
    if (contact->wheel) {
        contact->radius2 = shape->geometry.radius;
        return corner == 0;
    }
    const tn_vec3 low = lowest_of_rim(shape, o, n);
    const tn_vec3 d   = corner % 2 == 0 ? low : tni_cross(axis, low);
    contact->p2       = tni_add_scaled(contact->p2,
                                 corner < 2 ? shape->geometry.radius : -shape->geometry.radius, d);
    return true;
}

// Sets p2, radius2, wheel and axis of a feature; false when the feature does not exist in this
// configuration.
static bool place_feature(const tni_shape* shape, const over* o, int feature, tni_contact* contact)
{
    tn_vec3 d = {0, 0, 0}; // in the shape's axes
    switch (shape->geometry.type) {
    case TN_SHAPE_CYLINDER: return place_rim(shape, o, feature, contact);
    case TN_SHAPE_CAPSULE:
        d.z = feature == 0 ? shape->geometry.half_length : -shape->geometry.half_length;
        break;
    case TN_SHAPE_BOX:
        d.x = feature & 1 ? -shape->geometry.half_size.x : shape->geometry.half_size.x;
        d.y = feature & 2 ? -shape->geometry.half_size.y : shape->geometry.half_size.y;
        d.z = feature & 4 ? -shape->geometry.half_size.z : shape->geometry.half_size.z;
        break;
    case TN_SHAPE_CONVEX: d = shape->geometry.polytope->vertices[feature]; break;
    default: break;
    }
    contact->p2 = tni_add(shape->p, tni_mul(&shape->F, d));
    contact->radius2 =
        shape->geometry.type == TN_SHAPE_BOX || shape->geometry.type == TN_SHAPE_CONVEX
            ? 0
            : shape->geometry.radius;
    return true;
}

static double gap_of(const over* o, const tni_contact* contact)
{
    double height = tni_dot(o->n, tni_sub(tni_view_point(o->view, contact->p2), o->origin));
    if (!contact->wheel) return height - contact->radius2;
    const tn_vec3 b = tni_mul(&o->view->R, contact->axis);
    return height - contact->radius2 * tni_norm(tni_add_scaled(o->n, -tni_dot(o->n, b), b));
}

// For planar bodies: whether an earlier feature is straight above or below.
static bool is_doubled(const tni_shape* shape, const over* o, int feature,
                       const tni_contact* contact)
{
    const tn_vec3 here   = tni_mul(&o->view->R, contact->p2);
    const double  margin = one_above * (tni_extent(&shape->geometry) + tni_norm(shape->p));
    tni_contact   other  = *contact;
    for (int i = 0; i < feature; ++i) {
        if (!place_feature(shape, o, i, &other)) continue;
        const tn_vec3 there = tni_mul(&o->view->R, other.p2);
        if (fabs(here.x - there.x) <= margin && fabs(here.y - there.y) <= margin) return true;
    }
    return false;
}

void tni_over_plane(const tn_model* model, const tni_view* views, int plane, int other,
                    double reach, tni_contact_list* out)
{
    const tni_shape *shape1 = &model->shapes[plane], *shape2 = &model->shapes[other];
    const tni_view * view1 = &views[shape1->body], *view2 = &views[shape2->body];
    const over       o = {.n      = tni_mul(&view1->R, tni_column(&shape1->F, 2)),
                          .origin = tni_view_point(view1, shape1->p),
                          .view   = view2,
                          .flat   = tni_is_flat(&model->bodies[shape1->body]) &&
                                  tni_is_flat(&model->bodies[shape2->body])};
    if (o.flat && fabs(o.n.z) > TNI_LEANS_MAX) return;
    tni_contact contact = tni_contact_of(model, plane, other);
    for (int i = 0; i < feature_count(shape2); ++i) {
        if (!place_feature(shape2, &o, i, &contact)) continue;
        contact.gap = gap_of(&o, &contact);
        if (!(contact.gap <= reach) || (o.flat && is_doubled(shape2, &o, i, &contact))) continue;
        contact.id = tni_contact_id(tni_contact_key(plane, other), i);
        tni_contact_add(out, &contact);
    }
}

bool tni_is_over(const tn_model* model, const tni_view* views, int plane, int other, double extent,
                 double reach)
{
    const tni_shape *shape1 = &model->shapes[plane], *shape2 = &model->shapes[other];
    const tni_view * view1 = &views[shape1->body], *view2 = &views[shape2->body];
    const tn_vec3    n = tni_mul(&view1->R, tni_column(&shape1->F, 2));
    const double     middle =
        tni_dot(n, tni_sub(tni_view_point(view2, shape2->p), tni_view_point(view1, shape1->p)));
    return middle - extent <= reach;
}

void tni_towards_plane(const tn_model* model, const tni_view* start, const tni_view* end, int plane,
                       int other, double near, tni_contact_list* out)
{
    const int begun = out->count;
    tni_over_plane(model, start, plane, other, near, out);
    const int known = out->count;
    tni_over_plane(model, end, plane, other, 0, out);
    if (out->count > out->capacity) return;
    int kept = known;
    for (int i = known; i < out->count; ++i) { // points found at both ends are those of the start
        bool twice = false;
        for (int k = begun; k < known; ++k)
            twice = twice || out->contacts[k].id == out->contacts[i].id;
        if (!twice) out->contacts[kept++] = out->contacts[i];
    }
    out->count = kept;
    for (int i = begun + 1; i < kept; ++i) { // by rising id
        const tni_contact contact = out->contacts[i];
        int               k       = i;
        for (; k > begun && out->contacts[k - 1].id > contact.id; --k)
            out->contacts[k] = out->contacts[k - 1];
        out->contacts[k] = contact;
    }
}
