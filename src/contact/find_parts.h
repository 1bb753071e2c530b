// find_parts: what find_contacts.c and planes.c share.
#ifndef TNI_FIND_PARTS_H
#define TNI_FIND_PARTS_H

#include "contact/contact.h"
#include "geom/collide.h"

enum { TNI_SHAPE_BITS = 20 };

#define TNI_LEANS_MAX \
    1e-9 ///< for planar bodies: largest sine of the angle between a normal and their plane

/// Output of a search: points beyond the capacity are only counted.
typedef struct tni_contact_list {
    tni_contact* contacts;
    int          capacity, count;
} tni_contact_list;

TNI_INLINE void tni_contact_add(tni_contact_list* out, const tni_contact* contact)
{
    if (out->count < out->capacity) out->contacts[out->count] = *contact;
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

/// find_contacts.c: the fields that all contact points of two shapes share; body 1 is that of
/// `first`.
tni_contact tni_contact_of(const tn_model* model, int first, int second);

/// planes.c: whether a shape of radius `extent` about its origin may be within reach of a plane;
/// false if that is NaN.
bool tni_is_over(const tn_model* model, const tni_view* views, int plane, int other, double extent,
                 double reach);
/// Points of a shape within reach of a plane.
void tni_over_plane(const tn_model* model, const tni_view* views, int plane, int other,
                    double reach, tni_contact_list* out);
/// Those that are below it at the end, or nearer than `near` at the start, by rising id.
void tni_towards_plane(const tn_model* model, const tni_view* start, const tni_view* end, int plane,
                       int other, double near, tni_contact_list* out);

#endif
