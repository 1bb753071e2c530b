// contact_rig: what tests of contact ask a rig for.
#ifndef CONTACT_RIG_H
#define CONTACT_RIG_H

#include "support/rig.h"

static const double rig_g = 9.81;

#define RIG_REST ((tn_twist){{0, 0, 0}, {0, 0, 0}})

/// Sum of the forces on `body` at its contacts with `other`, after the last step or evaluation.
static inline tn_vec3 rig_contact_force(const rig* r, tn_body_id other, tn_body_id body)
{
    tn_vec3 sum = {0, 0, 0};
    for (int i = 0; i < tn_stepper_contact_count(r->stepper); ++i) {
        const tn_contact c = tn_stepper_contact(r->stepper, i);
        if (c.body1.bits == other.bits && c.body2.bits == body.bits) sum = tns_add(sum, c.force);
        if (c.body2.bits == other.bits && c.body1.bits == body.bits) sum = tns_sub(sum, c.force);
    }
    return sum;
}

static inline int rig_contacts_between(const rig* r, tn_body_id one, tn_body_id two)
{
    int count = 0;
    for (int i = 0; i < tn_stepper_contact_count(r->stepper); ++i) {
        const tn_contact c = tn_stepper_contact(r->stepper, i);
        count += (c.body1.bits == one.bits && c.body2.bits == two.bits) ||
                 (c.body1.bits == two.bits && c.body2.bits == one.bits);
    }
    return count;
}

static inline tn_shape_def rig_sphere(double radius)
{
    tn_shape_def shape = tn_default_shape_def(TN_SHAPE_SPHERE);
    shape.radius       = radius;
    return shape;
}

static inline tn_shape_def rig_box(tn_vec3 half_size)
{
    tn_shape_def shape = tn_default_shape_def(TN_SHAPE_BOX);
    shape.half_size    = half_size;
    return shape;
}

/// Energy now, and how far it was above its least value so far: 0 where it never grew.
typedef struct rig_fall {
    double least, growth;
} rig_fall;
static inline rig_fall rig_fall_begin(const rig* r)
{
    return (rig_fall){.least = rig_energy(r)};
}
static inline void rig_fall_note(const rig* r, rig_fall* fall)
{
    const double energy = rig_energy(r);
    fall->growth        = fmax(fall->growth, energy - fall->least);
    fall->least         = fmin(fall->least, energy);
}

#endif
