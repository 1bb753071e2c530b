// contact_rig: what tests of contact ask a rig for.
#ifndef CONTACT_RIG_H
#define CONTACT_RIG_H

#include "support/rig.h"

static const double rig_g = 9.81;

#define RIG_REST ((tn_twist){{0, 0, 0}, {0, 0, 0}})

/// The contacts of the last step or evaluation, for the caller to free.
static inline tn_contact* rig_contacts(const tn_stepper* stepper, int* count)
{
    *count               = tn_stepper_contacts(stepper, NULL, 0);
    tn_contact* contacts = calloc((size_t)*count + 1, sizeof *contacts);
    CHECK_INT(tn_stepper_contacts(stepper, contacts, *count), *count);
    return contacts;
}

/// Sum of the forces on `body` at its contacts with `other`, after the last step or evaluation.
static inline tn_vec3 rig_contact_force(const rig* r, tn_body_id other, tn_body_id body)
{
    int         count;
    tn_contact* contacts = rig_contacts(r->stepper, &count);
    tn_vec3     sum      = {0, 0, 0};
    for (int i = 0; i < count; ++i) {
        const tn_contact c = contacts[i];
        if (c.body1.bits == other.bits && c.body2.bits == body.bits) sum = tns_add(sum, c.force);
        if (c.body2.bits == other.bits && c.body1.bits == body.bits) sum = tns_sub(sum, c.force);
    }
    free(contacts);
    return sum;
}

static inline int rig_contacts_between(const rig* r, tn_body_id one, tn_body_id two)
{
    int         all, count = 0;
    tn_contact* contacts = rig_contacts(r->stepper, &all);
    for (int i = 0; i < all; ++i) {
        const tn_contact c = contacts[i];
        count += (c.body1.bits == one.bits && c.body2.bits == two.bits) ||
                 (c.body1.bits == two.bits && c.body2.bits == one.bits);
    }
    free(contacts);
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

// ---- By the impulse method -----------------------------------------------------------------------

/// A rig to be built and stepped by the impulse method, nobody sleeping.
static inline rig contact_make(tn_vec3 gravity)
{
    rig r                    = rig_make(gravity);
    r.settings.method        = TN_METHOD_IMPULSE;
    r.settings.impulse.sleep = 0;
    return r;
}

/// A built-in scene, likewise.
static inline rig contact_builtin(const char* spec)
{
    rig r                    = rig_builtin(spec);
    r.settings.method        = TN_METHOD_IMPULSE;
    r.settings.impulse.sleep = 0;
    rig_restart(&r);
    return r;
}

static inline tn_body_id contact_body(const rig* r, const char* name)
{
    const tn_body_id id = tn_model_find_body(r->model, name);
    test_check(id.bits != 0, __FILE__, __LINE__, "there is no body '%s'", name);
    return id;
}

static inline tn_vec3 contact_place(const rig* r, tn_body_id body)
{
    return tn_state_pose(r->state, body).position;
}

static inline tn_twist contact_velocity(const rig* r, tn_body_id body)
{
    return tn_state_velocity(r->state, body);
}

/// Whether tables are to be printed.
static inline bool contact_tells(void)
{
    return getenv("TENON_TEST_VERBOSE") != NULL;
}

// ---- A ramp --------------------------------------------------------------------------------------

/// Plane through the origin, slope th along +x, with a body of 2 kg on it.
typedef struct contact_ramp {
    rig        r;
    tn_body_id plane, body;
    tn_vec3    uphill, normal, start;
} contact_ramp;

typedef struct contact_ramp_def {
    double       th;       ///< [rad]
    tn_shape_def shape;    ///< its friction and restitution are those of the plane, too
    double       height;   ///< of its middle over the plane
    tn_quat      lying;    ///< of the shape on a level plane
    tn_vec3      velocity; ///< along uphill, across, normal
    tn_vec3      spin;     ///< likewise
} contact_ramp_def;

static const double contact_ramp_mass = 2;

static inline contact_ramp contact_ramp_ready(rig r, const contact_ramp_def* def)
{
    const double      c = cos(def->th), s = sin(def->th);
    contact_ramp      p       = {.r = r, .uphill = {c, 0, s}, .normal = {-s, 0, c}};
    const tn_quat     turn    = tns_turn(TNS_Z, p.normal);
    const tns_surface surface = {def->shape.friction, def->shape.restitution};
    p.start                   = tns_scale(def->height, p.normal);
    p.plane                   = tns_wall(p.r.scene, "plane", tns_vec(0, 0, 0), p.normal, surface);
    p.body = tns_solid(p.r.scene, "body", (tn_frame){p.start, tns_quat_mul(turn, def->lying)},
                       (tn_twist){tns_rotate(turn, def->velocity), tns_rotate(turn, def->spin)},
                       contact_ramp_mass, def->shape, surface);
    rig_ready(&p.r);
    return p;
}

static inline double contact_climbed(const contact_ramp* p)
{
    return tns_dot(p->uphill, tns_sub(contact_place(&p->r, p->body), p->start));
}
static inline double contact_climbing(const contact_ramp* p)
{
    return tns_dot(p->uphill, contact_velocity(&p->r, p->body).linear);
}
/// How far the body is off the plane, across the slope, or turned from where it lay.
static inline double contact_strayed(const contact_ramp* p)
{
    const tn_vec3 d = tns_sub(contact_place(&p->r, p->body), p->start);
    const tn_vec3 z = rig_axis(&p->r, p->body, TNS_Z), x = rig_axis(&p->r, p->body, TNS_X);
    return fmax(fmax(fabs(d.y), fabs(tns_dot(d, p->normal))),
                fmax(rig_distance(z, p->normal), rig_distance(x, p->uphill)));
}

#endif
