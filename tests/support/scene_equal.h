// Are two scenes the same, bit for bit? Compared through the public getters, field by field; NaN
// (unset) equals NaN. What differs is named in the text.
#ifndef SCENE_EQUAL_H
#define SCENE_EQUAL_H

#include "tenon/scene.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct scene_difference {
    char text[200]; ///< empty: none
} scene_difference;

static inline bool equal_numbers(const double* a, const double* b, int count)
{
    for (int i = 0; i < count; ++i) {
        if (isnan(a[i]) && isnan(b[i])) continue;
        if (memcmp(&a[i], &b[i], sizeof a[i]) != 0) return false;
    }
    return true;
}

static inline bool equal_texts(const char* a, const char* b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

#define DIFFER(what, index)                                                                  \
    do {                                                                                     \
        snprintf(d.text, sizeof d.text, "%s %d differs (line %d)", what, (index), __LINE__); \
        return d;                                                                            \
    } while (0)
#define SAME_NUMBERS(field, count)                                                   \
    if (!equal_numbers((const double*)&a->field, (const double*)&b->field, (count))) \
    DIFFER(#field " of part", i)
#define SAME_TEXT(field) \
    if (!equal_texts(a->field, b->field)) DIFFER(#field " of part", i)
#define SAME(field) \
    if (a->field != b->field) DIFFER(#field " of part", i)

static inline scene_difference keys_difference(const tn_key* a, const tn_key* b, int count)
{
    scene_difference d = {""};
    for (int i = 0; i < count; ++i, ++a, ++b) {
        SAME_NUMBERS(time, 1);
        SAME_NUMBERS(pose, 7);
    }
    return d;
}

static inline scene_difference shapes_difference(const tn_body_def* body_a,
                                                 const tn_body_def* body_b)
{
    scene_difference d = {""};
    for (int i = 0; i < body_a->shape_count; ++i) {
        const tn_shape_def *a = &body_a->shapes[i], *b = &body_b->shapes[i];
        SAME(type);
        SAME_NUMBERS(pose, 7);
        SAME_NUMBERS(radius, 1);
        SAME_NUMBERS(half_length, 1);
        SAME_NUMBERS(half_size, 3);
        SAME(point_count);
        if (!equal_numbers((const double*)a->points, (const double*)b->points, 3 * a->point_count))
            DIFFER("points of shape", i);
        SAME(vertex_count);
        if (!equal_numbers((const double*)a->vertices, (const double*)b->vertices,
                           3 * a->vertex_count))
            DIFFER("vertices of shape", i);
        SAME(triangle_count);
        for (int k = 0; k < 3 * a->triangle_count; ++k) SAME(triangles[k]);
        SAME_TEXT(file);
        SAME_NUMBERS(pieces_tolerance, 1);
        SAME(rows);
        SAME(columns);
        if (!equal_numbers(a->heights, b->heights, a->rows * a->columns))
            DIFFER("heights of shape", i);
        SAME_NUMBERS(spacing, 2);
        SAME_NUMBERS(friction, 1);
        SAME_NUMBERS(restitution, 1);
        SAME_NUMBERS(rolling_friction, 1);
        SAME_NUMBERS(spinning_friction, 1);
        SAME_NUMBERS(stiffness, 1);
        SAME_NUMBERS(damping, 1);
        SAME_NUMBERS(surface_velocity, 3);
        SAME(group);
        SAME(collides_with);
        SAME_NUMBERS(density, 1);
        SAME_NUMBERS(color, 3);
        SAME(collide);
    }
    return d;
}

static inline scene_difference body_difference(const tn_body_def* a, const tn_body_def* b, int i)
{
    scene_difference d = {""};
    SAME_TEXT(name);
    SAME(kind);
    SAME_NUMBERS(mass, 1);
    SAME_NUMBERS(com, 3);
    SAME_NUMBERS(inertia, 6);
    SAME_NUMBERS(pose, 7);
    SAME_NUMBERS(velocity, 6);
    SAME(shape_count);
    SAME(continuous);
    SAME(key_count);
    SAME_NUMBERS(young, 1);
    SAME_NUMBERS(poisson, 1);
    SAME_NUMBERS(volume, 1);
    d = keys_difference(a->keys, b->keys, a->key_count);
    return d.text[0] != '\0' ? d : shapes_difference(a, b);
}

static inline scene_difference joint_difference(const tn_joint_def* a, const tn_joint_def* b, int i)
{
    scene_difference d = {""};
    SAME_TEXT(name);
    SAME(type);
    SAME(body1.bits);
    SAME(body2.bits);
    SAME(form);
    SAME_NUMBERS(anchor, 3);
    SAME_NUMBERS(axis, 3);
    SAME_NUMBERS(axis2, 3);
    SAME_NUMBERS(frame1, 7);
    SAME_NUMBERS(frame2, 7);
    SAME_NUMBERS(length, 1);
    SAME_NUMBERS(pitch, 1);
    SAME_NUMBERS(radius, 1);
    SAME(of);
    SAME_NUMBERS(velocity, 1);
    SAME(velocity_key_count);
    if (!equal_numbers((const double*)a->velocity_keys, (const double*)b->velocity_keys,
                       2 * a->velocity_key_count)) {
        DIFFER("velocity keys of joint", i);
    }
    SAME_NUMBERS(stiffness, 1);
    SAME_NUMBERS(damping, 1);
    SAME_NUMBERS(friction, 1);
    SAME_NUMBERS(friction_speed, 1);
    SAME_NUMBERS(force_low, 1);
    SAME_NUMBERS(force_high, 1);
    SAME_NUMBERS(rest, 6);
    SAME_NUMBERS(force, 6);
    SAME(limit.given);
    SAME(limit.hard);
    SAME_NUMBERS(limit.lower,
                 7); // lower, upper, cone, twist_lower, twist_upper, stiffness, damping
    SAME_NUMBERS(restitution, 1);
    SAME(role);
    return d;
}

static inline scene_difference coupling_difference(const tn_coupling_def* a,
                                                   const tn_coupling_def* b, int i)
{
    scene_difference d = {""};
    SAME_TEXT(name);
    SAME(type);
    SAME(joint_count);
    for (int k = 0; k < a->joint_count; ++k) SAME(joints[k].bits);
    SAME_NUMBERS(ratio, 1);
    SAME_NUMBERS(velocity, 1);
    SAME(body_count);
    for (int k = 0; k < a->body_count; ++k) SAME(bodies[k].bits);
    for (int k = 0; k < 3; ++k) SAME(hold[k]);
    SAME(role);
    if (a->type == TN_COUPLING_COUPLER &&
        !equal_numbers(a->coefficients, b->coefficients, a->joint_count)) {
        DIFFER("coefficients of coupling", i);
    }
    return d;
}

static inline scene_difference spring_difference(const tn_spring_def* a, const tn_spring_def* b,
                                                 int i)
{
    scene_difference d = {""};
    SAME_TEXT(name);
    SAME(body1.bits);
    SAME(body2.bits);
    SAME_NUMBERS(anchor1, 3);
    SAME_NUMBERS(anchor2, 3);
    SAME_NUMBERS(stiffness, 1);
    SAME_NUMBERS(damping, 1);
    SAME_NUMBERS(length, 1);
    return d;
}

static inline scene_difference target_difference(const tn_target_def* a, const tn_target_def* b,
                                                 int i)
{
    scene_difference d = {""};
    SAME_TEXT(name);
    SAME(body.bits);
    SAME(key_count);
    SAME_NUMBERS(point, 3);
    SAME_NUMBERS(stiffness, 1);
    SAME_NUMBERS(damping, 1);
    SAME_NUMBERS(angular_stiffness, 1);
    SAME_NUMBERS(angular_damping, 1);
    return keys_difference(a->keys, b->keys, a->key_count);
}

static inline scene_difference load_difference(const tn_load_def* a, const tn_load_def* b, int i)
{
    scene_difference d = {""};
    SAME_TEXT(name);
    SAME(body.bits);
    SAME_NUMBERS(force, 3);
    SAME_NUMBERS(torque, 3);
    SAME_NUMBERS(point, 3);
    SAME_NUMBERS(from, 1);
    SAME_NUMBERS(until, 1);
    return d;
}

static inline scene_difference drag_difference(const tn_drag_def* a, const tn_drag_def* b, int i)
{
    scene_difference d = {""};
    SAME_TEXT(name);
    SAME(body.bits);
    SAME_NUMBERS(point, 3);
    SAME_NUMBERS(linear, 1);
    SAME_NUMBERS(quadratic, 1);
    SAME_NUMBERS(angular, 1);
    SAME_NUMBERS(wind, 3);
    SAME(wind_key_count);
    if (!equal_numbers((const double*)a->wind_keys, (const double*)b->wind_keys,
                       4 * a->wind_key_count)) {
        DIFFER("wind keys of drag", i);
    }
    return d;
}

static inline scene_difference exclude_difference(tn_contact_pair p, tn_contact_pair q, int i)
{
    scene_difference d = {""};
    if (p.body1.bits != q.body1.bits || p.body2.bits != q.body2.bits) DIFFER("bodies of pair", i);
    return d;
}
#define include_difference exclude_difference

static inline scene_difference pair_difference(const tn_pair_def* a, const tn_pair_def* b, int i)
{
    scene_difference d = {""};
    SAME(body1.bits);
    SAME(body2.bits);
    SAME_NUMBERS(friction, 4); // friction, restitution, rolling_friction, spinning_friction
    SAME_NUMBERS(stiffness, 1);
    SAME_NUMBERS(damping, 1);
    return d;
}

static inline scene_difference settings_difference(const tn_settings* a, const tn_settings* b)
{
    scene_difference d = {""};
    for (int i = 0; tn_setting_at(i).key != NULL; ++i) {
        char text_a[64], text_b[64];
        tn_settings_get(a, tn_setting_at(i).key, text_a, sizeof text_a);
        tn_settings_get(b, tn_setting_at(i).key, text_b, sizeof text_b);
        if (strcmp(text_a, text_b) != 0) DIFFER(tn_setting_at(i).key, i);
    }
    return d;
}

#define SAME_PARTS(part)                                                            \
    do {                                                                            \
        if (tn_scene_##part##_count(a) != tn_scene_##part##_count(b))               \
            DIFFER("count of " #part, -1);                                          \
        for (int i = 0; i < tn_scene_##part##_count(a); ++i) {                      \
            const scene_difference found =                                          \
                part##_difference(tn_scene_##part(a, i), tn_scene_##part(b, i), i); \
            if (found.text[0] == '\0') continue;                                    \
            snprintf(d.text, sizeof d.text, #part " %d: %.150s", i, found.text);    \
            return d;                                                               \
        }                                                                           \
    } while (0)

static inline scene_difference scene_equal(const tn_scene* a, const tn_scene* b)
{
    scene_difference  d   = {""};
    const tn_vec3     g_a = tn_scene_gravity(a), g_b = tn_scene_gravity(b);
    const double      world_a[] = {g_a.x,
                                   g_a.y,
                                   g_a.z,
                                   tn_scene_ground_friction(a),
                                   tn_scene_ground_restitution(a),
                                   tn_scene_ground_rolling_friction(a),
                                   tn_scene_ground_spinning_friction(a)};
    const double      world_b[] = {g_b.x,
                                   g_b.y,
                                   g_b.z,
                                   tn_scene_ground_friction(b),
                                   tn_scene_ground_restitution(b),
                                   tn_scene_ground_rolling_friction(b),
                                   tn_scene_ground_spinning_friction(b)};
    const tn_settings s_a = tn_scene_settings(a), s_b = tn_scene_settings(b);
    if (!equal_texts(tn_scene_name(a), tn_scene_name(b))) DIFFER("name", -1);
    if (!equal_numbers(world_a, world_b, 7)) DIFFER("gravity or ground", -1);
    if (tn_scene_has_ground(a) != tn_scene_has_ground(b)) DIFFER("floor", -1);
    d = settings_difference(&s_a, &s_b);
    if (d.text[0] != '\0') return d;
    SAME_PARTS(body);
    SAME_PARTS(joint);
    SAME_PARTS(coupling);
    SAME_PARTS(spring);
    SAME_PARTS(target);
    SAME_PARTS(load);
    SAME_PARTS(drag);
    SAME_PARTS(exclude);
    SAME_PARTS(include);
    SAME_PARTS(pair);
    return d;
}

#undef DIFFER
#undef SAME_NUMBERS
#undef SAME_TEXT
#undef SAME
#undef SAME_PARTS
#undef include_difference

#endif
