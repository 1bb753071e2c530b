// find_parts: what find_contacts.c and planes.c share.
#ifndef TNI_FIND_PARTS_H
#define TNI_FIND_PARTS_H

#include "contact/contact.h"
#include "geom/collide.h"

enum { TNI_SHAPE_BITS = 20 };

#define TNI_LEANS_MAX \
    1e-9 ///< of bodies that keep to the plane: sine of the angle of a normal to it

/// Where touches go: beyond the capacity they are only counted.
typedef struct tni_contact_list {
    tni_contact* touches;
    int          capacity, count;
} tni_contact_list;

TNI_INLINE void tni_contact_add(tni_contact_list* out, const tni_contact* touch)
{
    if (out->count < out->capacity) out->touches[out->count] = *touch;
    ++out->count;
}

TNI_INLINE uint64_t tni_contact_key(int shape1, int shape2)
{
    return (uint64_t)shape1 << TNI_SHAPE_BITS | (uint64_t)shape2;
}

TNI_INLINE uint64_t tni_contact_id(uint64_t key, int feature)
{
    return key << TNI_FEATURE_BITS | (uint64_t)feature;
}

TNI_INLINE tn_vec3 tni_view_point(const tni_view* view, tn_vec3 p)
{
    return tni_add(view->x, tni_mul(&view->R, p));
}

/// find_contacts.c: what all touches of two shapes have in common, the first one's body being the first.
tni_contact tni_contact_of(const tn_model* model, int first, int second);

/// planes.c: whether what reaches as far as `extent` from a shape's origin may be within reach of a
/// plane; no if that is not a number.
bool tni_is_over(const tn_model* model, const tni_view* views, int plane, int other, double extent,
                 double reach);
/// Points of a shape that are within reach of a plane.
void tni_over_plane(const tn_model* model, const tni_view* views, int plane, int other,
                    double reach, tni_contact_list* out);
/// Those that are below it at the end, or at the start nearer than `near`, by rising id.
void tni_towards_plane(const tn_model* model, const tni_view* start, const tni_view* end, int plane,
                       int other, double near, tni_contact_list* out);

#endif
