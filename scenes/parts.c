#include "parts.h"

#include <stdarg.h>
#include <stdio.h>

// The quaternion of twice the turn from a to their half vector: (1 + a.b, a x b), made unit.
tn_quat tns_turn(tn_vec3 a, tn_vec3 b)
{
    const double  w = 1 + tns_dot(a, b);
    const tn_vec3 v = tns_cross(a, b);
    const double  n = sqrt(w * w + tns_dot(v, v));
    if (n > 1e-12) return (tn_quat){w / n, v.x / n, v.y / n, v.z / n};
    const tn_vec3 other  = fabs(a.x) < 0.5 ? TNS_X : TNS_Y;
    const tn_vec3 normal = tns_unit(tns_cross(a, other));
    return (tn_quat){0, normal.x, normal.y, normal.z};
}

tn_vec3 tns_rotate(tn_quat q, tn_vec3 v)
{
    const tn_vec3 u = tns_vec(q.x, q.y, q.z);
    const tn_vec3 t = tns_scale(2, tns_cross(u, v));
    return tns_add(v, tns_add(tns_scale(q.w, t), tns_cross(u, t)));
}

tn_quat tns_quat_mul(tn_quat a, tn_quat b)
{
    return (tn_quat){a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
                     a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                     a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                     a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}

tn_vec3 tns_place(tn_frame pose, tn_vec3 local)
{
    return tns_add(pose.position, tns_rotate(pose.orientation, local));
}

// cos and sin of x, |x| <= pi/4: Taylor's series, cut where the next term is below one part in
// 2^56.
static tn_vec3 small_circle(double x)
{
    const double y = x * x;
    double       c = 1, s = 1;
    for (int k = 16; k >= 2; k -= 2) {
        c = 1 - y * c / (k * (k - 1));
        s = 1 - y * s / (k * (k + 1));
    }
    return tns_vec(c, x * s, 0);
}

tn_vec3 tns_circle(double turns)
{
    const double  quarter = floor(4 * turns + 0.5);
    const tn_vec3 p       = small_circle(6.2831853071795865 * (turns - quarter / 4));
    switch ((int)(quarter - 4 * floor(quarter / 4))) {
    case 0: return p;
    case 1: return tns_vec(-p.y, p.x, 0);
    case 2: return tns_vec(-p.x, -p.y, 0);
    default: return tns_vec(p.y, -p.x, 0);
    }
}

tn_quat tns_turn_about(tn_vec3 unit_axis, double turns)
{
    const tn_vec3 half = tns_circle(turns / 2);
    return (tn_quat){half.x, half.y * unit_axis.x, half.y * unit_axis.y, half.y * unit_axis.z};
}

static double smooth(double s)
{
    return s <= 0 ? 0 : s >= 1 ? 1 : s * s * (3 - 2 * s);
}

double tns_pulse(double time, double a, double b, double c, double d)
{
    return smooth((time - a) / (b - a)) - smooth((time - c) / (d - c));
}

tns_text tns_name(const char* format, ...)
{
    tns_text name;
    va_list  arguments;
    va_start(arguments, format);
    vsnprintf(name.text, sizeof name.text, format, arguments);
    va_end(arguments);
    return name;
}

void tns_setup(tn_scene* scene, const char* name, double duration)
{
    tn_settings settings = tn_default_settings();
    settings.duration    = duration;
    tn_scene_set_name(scene, name);
    tn_scene_set_settings(scene, &settings);
}

void tns_setup_method(tn_scene* scene, const char* name, tn_method method, double duration)
{
    tns_setup(scene, name, duration);
    tn_settings settings = tn_scene_settings(scene);
    settings.method      = method;
    tn_scene_set_settings(scene, &settings);
}

static const tn_twist rest = {{0, 0, 0}, {0, 0, 0}};

static tn_body_id add_body(tn_scene* scene, const char* name, tn_body_kind kind, tn_frame pose,
                           tn_twist velocity, double mass, tn_vec3 inertia, tn_shape_def* shape)
{
    shape->collide  = false;
    tn_body_def def = tn_default_body_def();
    def.name        = name;
    def.kind        = kind;
    def.pose        = pose;
    def.velocity    = velocity;
    def.mass        = mass;
    def.com         = tns_vec(0, 0, 0);
    def.inertia[0]  = inertia.x;
    def.inertia[1]  = inertia.y;
    def.inertia[2]  = inertia.z;
    for (int i = 3; i < 6; ++i) def.inertia[i] = 0;
    def.shapes      = shape;
    def.shape_count = 1;
    return tn_scene_add_body(scene, &def);
}

// Of a solid cylinder of the given length: across the axis, and about it.
static double across(double mass, double radius, double length)
{
    return mass * (3 * radius * radius + length * length) / 12;
}
static double about(double mass, double radius)
{
    return mass * radius * radius / 2;
}

// color: NULL for the viewer's choice.
static tn_body_id add_rod(tn_scene* scene, const char* name, tn_vec3 a, tn_vec3 b,
                          tn_twist velocity, double radius, double mass, const tn_vec3* color)
{
    const double   length = tns_length(tns_sub(b, a)), side = across(mass, radius, length);
    const tn_frame pose  = {tns_mix(a, b, 0.5), tns_turn(TNS_Z, tns_unit(tns_sub(b, a)))};
    tn_shape_def   shape = tn_default_shape_def(TN_SHAPE_CAPSULE);
    shape.radius         = radius;
    shape.half_length    = length / 2;
    if (color != NULL) shape.color = *color;
    return add_body(scene, name, TN_BODY_RIGID, pose, velocity, mass,
                    tns_vec(side, side, about(mass, radius)), &shape);
}

tn_body_id tns_rod(tn_scene* scene, const char* name, tn_vec3 a, tn_vec3 b, double radius,
                   double mass)
{
    return add_rod(scene, name, a, b, rest, radius, mass, NULL);
}

tn_body_id tns_painted_rod(tn_scene* scene, const char* name, tn_vec3 a, tn_vec3 b, double radius,
                           double mass, tn_vec3 color)
{
    return add_rod(scene, name, a, b, rest, radius, mass, &color);
}

// The ends move as those of one body: with r from a to b, the difference of their velocities is
// d = w x r, and the w that does not spin the rod about itself is (r x d) / r^2. Rest is added so
// that no zero has a minus.
tn_body_id tns_moving_rod(tn_scene* scene, const char* name, tn_vec3 a, tn_vec3 b,
                          tn_vec3 velocity_a, tn_vec3 velocity_b, double radius, double mass)
{
    const tn_vec3  r = tns_sub(b, a), d = tns_sub(velocity_b, velocity_a);
    const tn_vec3  w        = tns_scale(1 / tns_dot(r, r), tns_cross(r, d));
    const tn_twist velocity = {tns_add(rest.linear, tns_mix(velocity_a, velocity_b, 0.5)),
                               tns_add(rest.angular, w)};
    return add_rod(scene, name, a, b, velocity, radius, mass, NULL);
}

tn_body_id tns_planar_rod(tn_scene* scene, const char* name, tn_vec3 a, tn_vec3 b, double radius,
                          double mass)
{
    const double  length = tns_length(tns_sub(b, a)), side = across(mass, radius, length);
    const tn_vec3 along = tns_unit(tns_sub(b, a));
    // Opposite to x the shortest turn may leave the plane: say half a turn about z.
    const tn_quat  turn  = along.x < -1 + 1e-12 ? (tn_quat){0, 0, 0, 1} : tns_turn(TNS_X, along);
    const tn_frame pose  = {tns_mix(a, b, 0.5), turn};
    tn_shape_def   shape = tn_default_shape_def(TN_SHAPE_CAPSULE);
    shape.radius         = radius;
    shape.half_length    = length / 2;
    shape.pose           = (tn_frame){{0, 0, 0}, tns_turn(TNS_Z, TNS_X)};
    return add_body(scene, name, TN_BODY_PLANAR, pose, rest, mass,
                    tns_vec(about(mass, radius), side, side), &shape);
}

static tn_body_id add_box(tn_scene* scene, const char* name, tn_frame pose, tn_vec3 half_size,
                          double mass, const tn_vec3* color)
{
    const double x = half_size.x * half_size.x, y = half_size.y * half_size.y,
                 z        = half_size.z * half_size.z;
    const tn_vec3 inertia = tns_scale(mass / 3, tns_vec(y + z, x + z, x + y));
    tn_shape_def  shape   = tn_default_shape_def(TN_SHAPE_BOX);
    shape.half_size       = half_size;
    if (color != NULL) shape.color = *color;
    return add_body(scene, name, TN_BODY_RIGID, pose, rest, mass, inertia, &shape);
}

tn_body_id tns_box(tn_scene* scene, const char* name, tn_frame pose, tn_vec3 half_size, double mass)
{
    return add_box(scene, name, pose, half_size, mass, NULL);
}

tn_body_id tns_painted_box(tn_scene* scene, const char* name, tn_frame pose, tn_vec3 half_size,
                           double mass, tn_vec3 color)
{
    return add_box(scene, name, pose, half_size, mass, &color);
}

tn_body_id tns_sphere(tn_scene* scene, const char* name, tn_vec3 center, double radius, double mass)
{
    const double i     = 0.4 * mass * radius * radius;
    tn_shape_def shape = tn_default_shape_def(TN_SHAPE_SPHERE);
    shape.radius       = radius;
    return add_body(scene, name, TN_BODY_RIGID, tns_frame(center), rest, mass, tns_vec(i, i, i),
                    &shape);
}

tn_body_id tns_wheel(tn_scene* scene, const char* name, tn_vec3 center, tn_vec3 axis, double radius,
                     double half_width, double mass)
{
    const double   side  = across(mass, radius, 2 * half_width);
    const tn_frame pose  = {center, tns_turn(TNS_Z, axis)};
    tn_shape_def   shape = tn_default_shape_def(TN_SHAPE_CYLINDER);
    shape.radius         = radius;
    shape.half_length    = half_width;
    return add_body(scene, name, TN_BODY_RIGID, pose, rest, mass,
                    tns_vec(side, side, about(mass, radius)), &shape);
}

tn_body_id tns_solid(tn_scene* scene, const char* name, tn_frame pose, tn_twist velocity,
                     double mass, tn_shape_def shape, tns_surface surface)
{
    shape.friction    = surface.friction;
    shape.restitution = surface.restitution;
    tn_body_def def   = tn_default_body_def();
    def.name          = name;
    def.pose          = pose;
    def.velocity      = velocity;
    def.mass          = mass;
    def.shapes        = &shape;
    def.shape_count   = 1;
    return tn_scene_add_body(scene, &def);
}

tn_body_id tns_capsule(tn_scene* scene, const char* name, tn_vec3 a, tn_vec3 b, double radius,
                       tn_twist velocity, double mass, tns_surface surface)
{
    const tn_vec3  along = tns_sub(b, a);
    const tn_frame pose  = {tns_mix(a, b, 0.5), tns_turn(TNS_Z, tns_unit(along))};
    tn_shape_def   shape = tn_default_shape_def(TN_SHAPE_CAPSULE);
    shape.radius         = radius;
    shape.half_length    = tns_length(along) / 2;
    return tns_solid(scene, name, pose, velocity, mass, shape, surface);
}

tn_body_id tns_fixed(tn_scene* scene, const char* name, tn_frame pose, tn_shape_def shape)
{
    tn_body_def def = tn_default_body_def();
    def.name        = name;
    def.kind        = TN_BODY_STATIC;
    def.pose        = pose;
    def.shapes      = &shape;
    def.shape_count = 1;
    return tn_scene_add_body(scene, &def);
}

tn_shape_def tns_box_shape(tn_vec3 half_size)
{
    tn_shape_def shape = tn_default_shape_def(TN_SHAPE_BOX);
    shape.half_size    = half_size;
    return shape;
}

tn_body_id tns_wall(tn_scene* scene, const char* name, tn_vec3 point, tn_vec3 normal,
                    tns_surface surface)
{
    tn_shape_def shape = tn_default_shape_def(TN_SHAPE_PLANE);
    shape.friction     = surface.friction;
    shape.restitution  = surface.restitution;
    return tns_fixed(scene, name, (tn_frame){point, tns_turn(TNS_Z, normal)}, shape);
}

tn_joint_def tns_joint(tn_joint_type type, tn_body_id body1, tn_body_id body2, tn_vec3 anchor,
                       tn_vec3 axis)
{
    tn_joint_def def = tn_default_joint_def(type);
    def.body1        = body1;
    def.body2        = body2;
    def.anchor       = anchor;
    def.axis         = axis;
    return def;
}

tn_joint_id tns_joint_at(tn_scene* scene, const char* name, tn_joint_type type, tn_body_id body1,
                         tn_body_id body2, tn_vec3 anchor, tn_vec3 axis)
{
    tn_joint_def def = tns_joint(type, body1, body2, anchor, axis);
    def.name         = name;
    return tn_scene_add_joint(scene, &def);
}

// Each point from its own index: rounding does not add up along the line.
static tn_vec3 link_start(const tns_links* links, int index)
{
    return tns_add(links->start, tns_scale(index, links->step));
}

tn_vec3 tns_links_end(const tns_links* links)
{
    return link_start(links, links->count);
}

tn_body_id tns_add_links(tn_scene* scene, const tns_links* links)
{
    tn_body_id last = TNS_GROUND;
    for (int i = 0; i < links->count; ++i) {
        const tn_vec3    a = link_start(links, i), b = link_start(links, i + 1);
        const double     mass = links->mass + (i + 1 == links->count ? links->tip_mass : 0);
        const tns_text   body = tns_name("link%d", i + 1), name = tns_name("j%d", i + 1);
        const tn_body_id rod   = links->touching == NULL
                                     ? tns_rod(scene, body.text, a, b, links->radius, mass)
                                     : tns_capsule(scene, body.text, a, b, links->radius, TNS_AT_REST,
                                                   mass, *links->touching);
        tn_joint_def     joint = tns_joint(links->joint, last, rod, a, links->axis);
        joint.name             = name.text;
        joint.stiffness        = links->stiffness;
        joint.damping          = links->damping;
        tn_scene_add_joint(scene, &joint);
        last = rod;
    }
    return last;
}
