// mechanism: the mechanism as JSON: bodies and their shapes, joints, springs, targets; and the
// adjustable values. docs/protocol.md explains each key. Geometry is written with seven digits, the
// precision of float32; adjustable values in full.
#include "stage/stage.h"

#include <math.h>

enum {
    TRIANGLES_MAX = 20000
}; ///< of a mesh or height field; larger ones are shown as the box around them

static const char* const kind_words[TN_BODY_KIND_COUNT] = {
    [TN_BODY_RIGID] = "rigid",   [TN_BODY_PARTICLE] = "particle", [TN_BODY_PLANAR] = "planar",
    [TN_BODY_AFFINE] = "affine", [TN_BODY_STATIC] = "static",     [TN_BODY_KINEMATIC] = "kinematic",
    [TN_BODY_USER] = "user",
};

static const char* const shape_words[TN_SHAPE_TYPE_COUNT] = {
    [TN_SHAPE_SPHERE] = "sphere",   [TN_SHAPE_BOX] = "box",
    [TN_SHAPE_CAPSULE] = "capsule", [TN_SHAPE_CYLINDER] = "cylinder",
    [TN_SHAPE_CONVEX] = "convex",   [TN_SHAPE_MESH] = "mesh",
    [TN_SHAPE_PLANE] = "plane",     [TN_SHAPE_HEIGHTS] = "heights",
};

static void put_short(tng_text* out, const double* values, int count)
{
    tng_put(out, "[");
    for (int i = 0; i < count; ++i) {
        if (i > 0) tng_put(out, ",");
        if (isfinite(values[i])) tng_put(out, "%.7g", values[i]);
        else tng_put(out, "null");
    }
    tng_put(out, "]");
}

static void put_point(tng_text* out, tn_vec3 v)
{
    put_short(out, (const double[]){v.x, v.y, v.z}, 3);
}

// ---- Shapes ------------------------------------------------------------------------------------

static void put_points(tng_text* out, const tn_vec3* points, int count)
{
    tng_put(out, "[");
    for (int i = 0; i < count; ++i) {
        if (i > 0) tng_put(out, ",");
        put_point(out, points[i]);
    }
    tng_put(out, "]");
}

static int triangle_count(const tn_shape_def* s)
{
    if (s->type == TN_SHAPE_MESH) return s->triangle_count;
    return s->type == TN_SHAPE_HEIGHTS ? 2 * (s->rows - 1) * (s->columns - 1) : 0;
}

static int vertex_count(const tn_shape_def* s)
{
    return s->type == TN_SHAPE_MESH ? s->vertex_count : s->rows * s->columns;
}

static tn_vec3 vertex_at(const tn_shape_def* s, int i)
{
    if (s->type == TN_SHAPE_MESH) return s->vertices[i];
    const int row = i / s->columns, column = i % s->columns;
    return (tn_vec3){(column - 0.5 * (s->columns - 1)) * s->spacing[0],
                     (row - 0.5 * (s->rows - 1)) * s->spacing[1], s->heights[i]};
}

static void put_triangle(tng_text* out, const tn_shape_def* s, int i)
{
    if (s->type == TN_SHAPE_MESH) {
        const int* v = s->triangles + 3 * (size_t)i;
        tng_put(out, "[%d,%d,%d]", v[0], v[1], v[2]);
        return;
    }
    const int cell = i / 2, across = s->columns - 1; // from its lower left to its upper right
    const int low = cell / across * s->columns + cell % across, high = low + s->columns + 1;
    if (i % 2 == 0) tng_put(out, "[%d,%d,%d]", low, low + 1, high);
    else tng_put(out, "[%d,%d,%d]", low, high, high - 1);
}

static void put_triangles(tng_text* out, const tn_shape_def* s)
{
    tng_put(out, "[[");
    for (int i = 0; i < vertex_count(s); ++i) {
        if (i > 0) tng_put(out, ",");
        put_point(out, vertex_at(s, i));
    }
    tng_put(out, "],[");
    for (int i = 0; i < triangle_count(s); ++i) {
        if (i > 0) tng_put(out, ",");
        put_triangle(out, s, i);
    }
    tng_put(out, "]]");
}

static void put_box_around(tng_text* out, const tn_shape_def* s)
{
    tn_vec3 corners[8], low = vertex_at(s, 0), high = low;
    for (int i = 1; i < vertex_count(s); ++i) {
        const tn_vec3 v = vertex_at(s, i);
        low             = (tn_vec3){fmin(low.x, v.x), fmin(low.y, v.y), fmin(low.z, v.z)};
        high            = (tn_vec3){fmax(high.x, v.x), fmax(high.y, v.y), fmax(high.z, v.z)};
    }
    for (int i = 0; i < 8; ++i) {
        corners[i] =
            (tn_vec3){i & 1 ? high.x : low.x, i & 2 ? high.y : low.y, i & 4 ? high.z : low.z};
    }
    put_points(out, corners, 8);
}

static void put_size(tng_text* out, const tn_shape_def* s, bool too_large)
{
    switch (s->type) {
    case TN_SHAPE_BOX: put_point(out, s->half_size); break;
    case TN_SHAPE_CONVEX: put_points(out, s->points, s->point_count); break;
    case TN_SHAPE_MESH:
    case TN_SHAPE_HEIGHTS: (too_large ? put_box_around : put_triangles)(out, s); break;
    case TN_SHAPE_PLANE: tng_put(out, "[]"); break;
    case TN_SHAPE_SPHERE: put_short(out, &s->radius, 1); break;
    default: put_short(out, (const double[]){s->radius, s->half_length}, 2); break;
    }
}

static void put_shape(tng_text* out, const tn_shape_def* s)
{
    const tn_quat q         = s->pose.orientation;
    const bool    too_large = triangle_count(s) > TRIANGLES_MAX;
    tng_put(out,
            "{\"type\":\"%s\",\"position\":", shape_words[too_large ? TN_SHAPE_CONVEX : s->type]);
    put_point(out, s->pose.position);
    tng_put(out, ",\"orientation\":");
    put_short(out, (const double[]){q.w, q.x, q.y, q.z}, 4);
    tng_put(out, ",\"size\":");
    put_size(out, s, too_large);
    if (isfinite(s->color.x)) {
        tng_put(out, ",\"color\":");
        put_point(out, s->color);
    }
    tng_put(out, "}");
}

static void put_body(tng_text* out, const tng_cast* cast, int index)
{
    const tn_body_id   body = {(uint32_t)index + 1};
    const tn_body_def* def  = tn_scene_body(cast->scene, index);
    tng_put(out, "{\"name\":");
    tng_put_text(out, tn_model_body_name(cast->model, body));
    tng_put(out, ",\"kind\":\"%s\",\"mass\":%.7g,\"com\":",
            kind_words[tn_model_body_kind(cast->model, body)],
            tn_model_body_mass(cast->model, body));
    put_point(out, tn_model_body_com(cast->model, body));
    tng_put(out, ",\"shapes\":[");
    for (int i = 0; i < def->shape_count; ++i) {
        if (i > 0) tng_put(out, ",");
        put_shape(out, &def->shapes[i]);
    }
    tng_put(out, "]}");
}

// ---- Joints ------------------------------------------------------------------------------------

static int shown_bodies(const tng_cast* cast)
{
    const int count = tn_model_counts(cast->model).bodies;
    return count < TNG_BODIES_MAX ? count : TNG_BODIES_MAX;
}

// v rotated by q.
static tn_vec3 turn(tn_quat q, tn_vec3 v)
{
    const tn_vec3 t = {2 * (q.y * v.z - q.z * v.y), 2 * (q.z * v.x - q.x * v.z),
                       2 * (q.x * v.y - q.y * v.x)};
    return (tn_vec3){v.x + q.w * t.x + (q.y * t.z - q.z * t.y),
                     v.y + q.w * t.y + (q.z * t.x - q.x * t.z),
                     v.z + q.w * t.z + (q.x * t.y - q.y * t.x)};
}

static tn_quat back(tn_quat q)
{
    return (tn_quat){q.w, -q.x, -q.y, -q.z};
}

// The anchor on one side, in the frame of its body; for the ground, in the world.
static tn_vec3 local_anchor(const tng_cast* cast, tn_joint_id joint, int side, tn_body_id body)
{
    const tn_vec3 at = tn_state_joint_anchor(cast->state, joint, side);
    if (body.bits == 0) return at;
    const tn_frame pose = tn_state_pose(cast->state, body);
    const tn_vec3  d    = {at.x - pose.position.x, at.y - pose.position.y, at.z - pose.position.z};
    return turn(back(pose.orientation), d);
}

// The axis on one side, in the frame of its body, as in the scene.
static tn_vec3 local_axis(const tng_cast* cast, const tn_joint_def* def, int side, tn_body_id body)
{
    const tn_vec3 z = {0, 0, 1};
    if (def->form == TN_JOINT_BY_POINTS) return z;
    if (def->form == TN_JOINT_BY_FRAMES) {
        const tn_vec3 x      = {1, 0, 0};
        const bool    second = def->type == TN_JOINT_UNIVERSAL && side == 1;
        return turn(side == 0 ? def->frame1.orientation : def->frame2.orientation, second ? x : z);
    }
    const bool    second = def->type == TN_JOINT_UNIVERSAL && side == 1;
    const tn_vec3 axis   = second ? def->axis2 : def->axis;
    if (body.bits == 0) return axis;
    return turn(back(tn_scene_body(cast->scene, (int)body.bits - 1)->pose.orientation), axis);
}

// Writes null and returns false if one of the bodies is not shown.
static bool put_pair(tng_text* out, const tng_cast* cast, tn_body_id body1, tn_body_id body2)
{
    const uint32_t shown = (uint32_t)shown_bodies(cast);
    if (body1.bits > shown || body2.bits > shown) {
        tng_put(out, "null");
        return false;
    }
    tng_put(out, "{\"bodies\":[%d,%d],\"anchors\":[", (int)body1.bits - 1, (int)body2.bits - 1);
    return true;
}

// Length of a distance or rope; if not given, that at the start of the scene.
static double joint_length(const tng_cast* cast, const tn_joint_def* def, tn_joint_id joint)
{
    const tn_vec3 a = tn_state_joint_anchor(cast->state, joint, 0);
    const tn_vec3 b = tn_state_joint_anchor(cast->state, joint, 1);
    const double  x = b.x - a.x, y = b.y - a.y, z = b.z - a.z;
    return isfinite(def->length) ? def->length : sqrt(x * x + y * y + z * z);
}

static void put_extent(tng_text* out, const tng_cast* cast, const tn_joint_def* def,
                       tn_joint_id joint)
{
    if (def->type == TN_JOINT_ROPE || def->type == TN_JOINT_DISTANCE)
        tng_put(out, ",\"length\":%.7g", joint_length(cast, def, joint));
    if (def->limit.given && def->limit.lower <= def->limit.upper) {
        tng_put(out, ",\"limit\":");
        put_short(out, (const double[]){def->limit.lower, def->limit.upper}, 2);
    }
}

static void put_joint(tng_text* out, const tng_cast* cast, int index)
{
    const tn_joint_id   joint = {(uint32_t)index + 1};
    const tn_joint_def* def   = tn_scene_joint(cast->scene, index);
    if (tn_scene_constraint(cast->scene, index)) {
        tng_put(out, "null");
        return;
    }
    if (!put_pair(out, cast, def->body1, def->body2)) return;
    put_point(out, local_anchor(cast, joint, 0, def->body1));
    tng_put(out, ",");
    put_point(out, local_anchor(cast, joint, 1, def->body2));
    tng_put(out, "],\"axes\":[");
    put_point(out, local_axis(cast, def, 0, def->body1));
    tng_put(out, ",");
    put_point(out, local_axis(cast, def, 1, def->body2));
    tng_put(out, "],\"type\":\"%s\",\"name\":", tn_joint_type_word(def->type));
    tng_put_text(out, tn_model_joint_name(cast->model, joint));
    tng_put(out, ",\"coordinates\":%d,\"start\":%d", tn_model_joint_coordinates(cast->model, joint),
            tn_model_joint_coordinate_start(cast->model, joint));
    put_extent(out, cast, def, joint);
    tng_put(out, "}");
}

static void put_spring(tng_text* out, const tng_cast* cast, int index)
{
    const tn_spring_def* def = tn_scene_spring(cast->scene, index);
    if (!put_pair(out, cast, def->body1, def->body2)) return;
    put_point(out, def->anchor1);
    tng_put(out, ",");
    put_point(out, def->anchor2);
    tng_put(out, "]}");
}

static void put_target(tng_text* out, const tng_cast* cast, int index)
{
    const tn_target_def* def = tn_scene_target(cast->scene, index);
    tng_put(out, "{\"body\":%d,\"point\":", (int)def->body.bits - 1);
    put_point(out, def->point);
    tng_put(out, "}");
}

// "name":[item,item...]
static void put_list(tng_text* out, const tng_cast* cast, const char* name, int count,
                     void (*put_item)(tng_text* out, const tng_cast* cast, int index))
{
    tng_put(out, ",\n\"%s\":[", name);
    for (int i = 0; i < count; ++i) {
        tng_put(out, i > 0 ? ",\n" : "\n");
        put_item(out, cast, i);
    }
    tng_put(out, "]");
}

// ---- Adjustable values -------------------------------------------------------------------------

static void put_joint_settings(tng_text* out, const tng_cast* cast, int index)
{
    const tn_joint_def* def = tn_scene_joint(cast->scene, index);
    const int  count = tn_model_joint_coordinates(cast->model, (tn_joint_id){(uint32_t)index + 1});
    const bool motor = def->type == TN_JOINT_MOTOR;
    if (tn_scene_constraint(cast->scene, index) || (count == 0 && !motor)) {
        tng_put(out, "null");
        return;
    }
    tng_put(out, "{\"stiffness\":");
    tng_put_number(out, def->stiffness);
    tng_put(out, ",\"damping\":");
    tng_put_number(out, def->damping);
    tng_put(out, ",\"rest\":[");
    for (int i = 0; i < count && i < 6; ++i) {
        if (i > 0) tng_put(out, ",");
        tng_put_number(out, def->rest[i]);
    }
    tng_put(out, "],\"velocity\":");
    tng_put_number(out, motor && def->velocity_key_count == 0 ? def->velocity : TN_UNSET);
    tng_put(out, "}");
}

void tng_put_settings(tng_text* text, const tng_cast* cast, double speed, bool playing, bool joints)
{
    tng_put(text, "{\"type\":\"settings\",\"method\":\"%s\",\"h\":",
            tn_method_word(cast->settings->method));
    tng_put_number(text, cast->settings->h);
    tng_put(text, ",\"gravity\":");
    tng_put_vec3(text, tn_scene_gravity(cast->scene));
    tng_put(text, ",\"speed\":");
    tng_put_number(text, speed);
    tng_put(text, ",\"playing\":%s,\"values\":{", playing ? "true" : "false");
    for (int i = 0; tn_setting_at(i).key; ++i) {
        char value[64];
        tn_settings_get(cast->settings, tn_setting_at(i).key, value, sizeof value);
        tng_put(text, "%s\"%s\":", i > 0 ? "," : "", tn_setting_at(i).key);
        tng_put_text(text, value);
    }
    tng_put(text, "}");
    if (joints)
        put_list(text, cast, "joints", tn_model_counts(cast->model).joints, put_joint_settings);
    tng_put(text, "}");
}

int tng_moving_joints(const tn_model* model)
{
    int       count = 0;
    const int all   = tn_model_counts(model).joints;
    for (int i = 0; i < all; ++i)
        count += tn_model_joint_rows(model, (tn_joint_id){(uint32_t)i + 1}) < 6;
    return count;
}

static void put_parts(tng_text* text, const tng_cast* cast)
{
    put_list(text, cast, "bodies", shown_bodies(cast), put_body);
    put_list(text, cast, "joints", tn_model_counts(cast->model).joints, put_joint);
    put_list(text, cast, "springs", tn_scene_spring_count(cast->scene), put_spring);
    put_list(text, cast, "targets", tn_scene_target_count(cast->scene), put_target);
}

void tng_put_mechanism(tng_text* text, const tng_cast* cast, double speed, bool playing)
{
    const tn_counts counts  = tn_model_counts(cast->model);
    const char*     name    = tn_model_name(cast->model);
    tng_cast        written = *cast; // at the start of the scene, for lengths that are not given
    tn_state*       start   = NULL;
    if (tn_state_create(cast->model, &start) != TN_OK) {
        text->failed = true;
        return;
    }
    written.state = start;
    tng_put(text, "{\"type\":\"mechanism\",\"tenon\":\"%s\",\"scene\":", TN_VERSION);
    tng_put_text(text, name && name[0] ? name : cast->origin);
    tng_put(text, ",\"origin\":");
    tng_put_text(text, cast->origin);
    tng_put(text, ",\"duration\":");
    tng_put_number(text, cast->settings->duration);
    tng_put(text, ",\"ground\":%s", tn_scene_has_ground(cast->scene) ? "true" : "false");
    tng_put(text,
            ",\"counts\":{\"bodies\":%d,\"joints\":%d,\"rows\":%d,\"dofs\":%d,\"loops\":%d,"
            "\"moving\":%d,\"coordinates\":%d}",
            counts.bodies, counts.joints, counts.rows,
            cast->dofs >= 0 ? cast->dofs : counts.freedoms - counts.rows, counts.loops,
            tng_moving_joints(cast->model), tn_model_coordinate_count(cast->model));
    put_parts(text, &written);
    tn_state_free(start);
    tng_put(text, ",\n\"settings\":");
    tng_put_settings(text, cast, speed, playing, true);
    tng_put(text, "}");
}
