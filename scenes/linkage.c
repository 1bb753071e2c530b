#include "linkage.h"

// With d = |q - p|: the point stands x = (r^2 - s^2 + d^2) / 2d along the way from p to q, and
// sqrt(r^2 - x^2) beside it.
tn_vec3 tns_meet(tn_vec3 p, double r, tn_vec3 q, double s, bool left)
{
    const double dx = q.x - p.x, dz = q.z - p.z, d = sqrt(dx * dx + dz * dz);
    const double ux = dx / d, uz = dz / d;
    const double along  = ((r - s) * (r + s) + d * d) / (2 * d);
    const double beside = sqrt((r - along) * (r + along)) * (left ? 1 : -1);
    return tns_vec(p.x + along * ux - beside * uz, p.y, p.z + along * uz + beside * ux);
}

tn_body_id tns_truss_with(tn_scene* scene, const char* name, tn_vec3 origin,
                          const tns_segment* rods, int count, double radius, double density,
                          const tn_shape_def* extra)
{
    tn_shape_def shapes[TNS_TRUSS_MAX + 1];
    for (int i = 0; i < count; ++i) {
        const tn_vec3 a = tns_sub(rods[i].a, origin), b = tns_sub(rods[i].b, origin);
        shapes[i]        = tn_default_shape_def(TN_SHAPE_CAPSULE);
        shapes[i].pose   = (tn_frame){tns_mix(a, b, 0.5), tns_turn(TNS_Z, tns_unit(tns_sub(b, a)))};
        shapes[i].radius = radius;
        shapes[i].half_length = tns_length(tns_sub(b, a)) / 2;
        shapes[i].density     = density;
        shapes[i].collide     = false;
    }
    if (extra != NULL) {
        shapes[count]               = *extra;
        shapes[count].pose.position = tns_sub(extra->pose.position, origin);
    }
    tn_body_def def = tn_default_body_def();
    def.name        = name;
    def.pose        = tns_frame(origin);
    def.shapes      = shapes;
    def.shape_count = count + (extra != NULL);
    return tn_scene_add_body(scene, &def);
}

tn_body_id tns_loaded_truss(tn_scene* scene, const char* name, tn_vec3 origin,
                            const tns_segment* rods, int count, double radius, double density,
                            tns_load load)
{
    const tn_vec3 h     = load.half_size;
    tn_shape_def  shape = tns_box_shape(h);
    shape.pose          = tns_frame(load.center);
    shape.density       = load.mass / (8 * h.x * h.y * h.z);
    shape.collide       = false;
    return tns_truss_with(scene, name, origin, rods, count, radius, density,
                          load.mass > 0 ? &shape : NULL);
}

tn_body_id tns_truss(tn_scene* scene, const char* name, tn_vec3 origin, const tns_segment* rods,
                     int count, double radius, double density)
{
    return tns_truss_with(scene, name, origin, rods, count, radius, density, NULL);
}

double tns_truss_rod_mass(double length, double radius, double density)
{
    return density * 3.14159265358979324 * radius * radius * (length + radius * 4 / 3);
}

static tn_body_id add_triangle(tn_scene* scene, const char* name, tn_vec3 a, tn_vec3 b, tn_vec3 c,
                               double radius, double density, const tn_shape_def* extra)
{
    const tns_segment sides[3] = {{a, b}, {b, c}, {c, a}};
    const tn_vec3     centroid = tns_scale(1.0 / 3, tns_add(a, tns_add(b, c)));
    return tns_truss_with(scene, name, centroid, sides, 3, radius, density, extra);
}

tn_body_id tns_triangle(tn_scene* scene, const char* name, tn_vec3 a, tn_vec3 b, tn_vec3 c,
                        double radius, double density)
{
    return add_triangle(scene, name, a, b, c, radius, density, NULL);
}

tn_body_id tns_footed_triangle(tn_scene* scene, const char* name, tn_vec3 a, tn_vec3 b, tn_vec3 c,
                               double radius, double density, double foot_radius, double friction)
{
    tn_shape_def foot  = tn_default_shape_def(TN_SHAPE_SPHERE);
    foot.pose          = tns_frame(c);
    foot.radius        = foot_radius;
    foot.friction      = friction;
    foot.group         = 1; // feet do not touch each other
    foot.collides_with = 1u << 0;
    return add_triangle(scene, name, a, b, c, radius, density, &foot);
}

tn_body_id tns_bar(tn_scene* scene, const char* name, tn_vec3 a, tn_vec3 b, double radius,
                   double per_metre)
{
    return tns_rod(scene, name, a, b, radius, per_metre * tns_length(tns_sub(b, a)));
}

tn_joint_id tns_pin(tn_scene* scene, const char* name, tn_body_id body1, tn_body_id body2,
                    tn_vec3 anchor)
{
    return tns_joint_at(scene, name, TN_JOINT_HINGE, body1, body2, anchor, TNS_Y);
}

tn_joint_id tns_drive(tn_scene* scene, const char* name, tn_body_id body1, tn_body_id body2,
                      tn_vec3 anchor, double velocity)
{
    if (velocity == 0) return tns_pin(scene, name, body1, body2, anchor);
    tn_joint_def def = tns_joint(TN_JOINT_MOTOR, body1, body2, anchor, TNS_Y);
    def.name         = name;
    def.of           = TN_JOINT_HINGE;
    def.velocity     = velocity;
    return tn_scene_add_joint(scene, &def);
}
