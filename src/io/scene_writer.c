// scene_writer: a scene as JSON text that reads back as the same scene, bit for bit.
//
// Values follow the tables of scene_fields.h; defaults (equal bits) and unset values are left out.
// A part is one line; shapes and keys of a body, which may be many, have lines of their own. Fields
// that a type does not use are not written, nor is a limit that limits nothing.
//
// Cost: linear in the scene, no allocation. Fails with TN_ERR_FILE if the sink does not accept the
// text, with TN_ERR_UNSUPPORTED for user-defined bodies and constraints, with TN_ERR_MODEL for a
// scene with a failed add, or a text that is not UTF-8.
#include "io/json.h"
#include "io/json_write.h"
#include "io/scene_fields.h"
#include "tenon/io.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

typedef struct writer {
    const tn_scene* scene;
    tn_sink*        sink;
    void*           user;
    bool            failed;   ///< the sink does not accept more
    const char*     bad_text; ///< a text that is not UTF-8; NULL: none
    bool            first;    ///< the next item needs no comma
    size_t          used;
    char            buffer[4096];
    tni_json_writer json; ///< into the buffer
} writer;

// ---- Bytes and JSON grammar -------------------------------------------------------------------

static void flush(writer* w)
{
    if (w->used > 0 && !w->failed) w->failed = !w->sink(w->user, w->buffer, w->used);
    w->used = 0;
}

static bool to_buffer(void* user, const char* bytes, size_t count)
{
    writer* w = user;
    for (size_t i = 0; i < count; ++i) {
        if (w->used == sizeof w->buffer) flush(w);
        w->buffer[w->used++] = bytes[i];
    }
    return true;
}

static void put(writer* w, const char* text)
{
    tni_json_bytes(&w->json, text, strlen(text));
}

static void put_comma(writer* w)
{
    if (!w->first) put(w, ", ");
    w->first = false;
}

// A comma if one is due, then a new line.
static void put_line(writer* w, const char* indent)
{
    if (!w->first) put(w, ",");
    put(w, "\n");
    put(w, indent);
    w->first = true;
}

static void open_bracket(writer* w, const char* bracket)
{
    put_comma(w);
    put(w, bracket);
    w->first = true;
}

static void close_bracket(writer* w, const char* bracket)
{
    put(w, bracket);
    w->first = false;
}

static bool is_utf8(const char* text)
{
    const char* end = text + strlen(text);
    for (int length = 1; text < end && length > 0; text += length)
        length = tni_utf8_length(text, end);
    return text == end;
}

static void put_text(writer* w, const char* text)
{
    put_comma(w);
    if (is_utf8(text)) tni_json_text(&w->json, text);
    else w->bad_text = text;
}

static void put_key(writer* w, const char* key)
{
    put_text(w, key);
    put(w, ": ");
    w->first = true;
}

static void put_number(writer* w, double value)
{
    put_comma(w);
    tni_json_number(&w->json, value);
}

static void put_numbers(writer* w, const double* values, int count)
{
    put_comma(w);
    tni_json_numbers(&w->json, values, count);
}

static void put_vector(writer* w, tn_vec3 v)
{
    put_comma(w);
    tni_json_vec3(&w->json, v);
}

static void put_quaternion(writer* w, tn_quat q)
{
    put_comma(w);
    tni_json_quat(&w->json, q);
}

static void put_groups(writer* w, uint32_t groups)
{
    open_bracket(w, "[");
    for (int i = 0; i < TNI_GROUP_COUNT; ++i) {
        if ((groups >> i & 1) != 0) put_number(w, i);
    }
    close_bracket(w, "]");
}

static void put_points(writer* w, const char* key, const tn_vec3* points, int count)
{
    put_key(w, key);
    open_bracket(w, "[");
    for (int i = 0; i < count; ++i) put_vector(w, points[i]);
    close_bracket(w, "]");
}

static void put_word(writer* w, const char* word)
{
    put_comma(w);
    put(w, word);
}

static void put_body(writer* w, tn_body_id body)
{
    put_text(w, body.bits == 0 ? "ground" : tn_scene_body(w->scene, (int)body.bits - 1)->name);
}

static void put_body_pair(writer* w, tn_body_id body1, tn_body_id body2)
{
    open_bracket(w, "[");
    put_body(w, body1);
    put_body(w, body2);
    close_bracket(w, "]");
}

// ---- Fields -----------------------------------------------------------------------------------

static bool same_bits(const void* a, const void* b, size_t bytes)
{
    return memcmp(a, b, bytes) == 0;
}

static bool is_zero(const double* values, int count)
{
    static const double zeros[6];
    return same_bits(values, zeros, sizeof *values * (size_t)count);
}

static bool is_wanted(const tni_field* field, const void* value, const void* standard)
{
    switch (field->kind) {
    case TNI_FIELD_NUMBER:
        return tni_all_finite(value, 1) &&
               (field->required || !same_bits(value, standard, sizeof(double)));
    case TNI_FIELD_VECTOR:
        return tni_all_finite(value, 3) &&
               (field->required || !same_bits(value, standard, sizeof(tn_vec3)));
    case TNI_FIELD_QUATERNION: return !same_bits(value, standard, sizeof(tn_quat));
    case TNI_FIELD_FLAG: return *(const bool*)value != *(const bool*)standard;
    case TNI_FIELD_TEXT:
        return *(const char* const*)value != NULL && **(const char* const*)value != '\0';
    case TNI_FIELD_BODY: return true;
    case TNI_FIELD_ROLE: return *(const tn_role*)value != *(const tn_role*)standard;
    case TNI_FIELD_GROUP: return *(const int*)value != *(const int*)standard;
    case TNI_FIELD_GROUPS: return *(const uint32_t*)value != *(const uint32_t*)standard;
    case TNI_FIELD_NAME:
    case TNI_FIELD_CUSTOM: return false;
    }
    return false;
}

static void put_field(writer* w, const tni_field* field, const void* value)
{
    put_key(w, field->key);
    switch (field->kind) {
    case TNI_FIELD_NUMBER: put_number(w, *(const double*)value); break;
    case TNI_FIELD_VECTOR: put_vector(w, *(const tn_vec3*)value); break;
    case TNI_FIELD_QUATERNION: put_quaternion(w, *(const tn_quat*)value); break;
    case TNI_FIELD_FLAG: put_word(w, *(const bool*)value ? "true" : "false"); break;
    case TNI_FIELD_TEXT: put_text(w, *(const char* const*)value); break;
    case TNI_FIELD_BODY: put_body(w, *(const tn_body_id*)value); break;
    case TNI_FIELD_ROLE: put_text(w, tni_roles.list[*(const tn_role*)value]); break;
    case TNI_FIELD_GROUP: put_number(w, *(const int*)value); break;
    case TNI_FIELD_GROUPS: put_groups(w, *(const uint32_t*)value); break;
    case TNI_FIELD_NAME:
    case TNI_FIELD_CUSTOM: break;
    }
}

// The fields, without custom ones, that differ from those of `standard`, a default def of the type.
static void put_fields(writer* w, const tni_fields* fields, int type, const void* def,
                       const void* standard)
{
    for (int i = 0; i < fields->count; ++i) {
        const tni_field*  field = &fields->list[i];
        const char* const value = (const char*)def + field->offset;
        if (!tni_field_applies(field, type)) continue;
        if (is_wanted(field, value, (const char*)standard + field->offset))
            put_field(w, field, value);
    }
}

static bool any_field(const tni_fields* fields, const void* def, const void* standard)
{
    for (int i = 0; i < fields->count; ++i) {
        const size_t offset = fields->list[i].offset;
        if (is_wanted(&fields->list[i], (const char*)def + offset, (const char*)standard + offset))
            return true;
    }
    return false;
}

static void put_name(writer* w, const char* name)
{
    if (name == NULL || name[0] == '\0') return;
    put_key(w, "name");
    put_text(w, name);
}

static void put_keys(writer* w, const tn_key* keys, int count)
{
    static const tn_key standard = {.pose = {.orientation = {.w = 1}}};
    put_key(w, "keys");
    open_bracket(w, "[");
    for (int i = 0; i < count; ++i) {
        put_line(w, "      ");
        open_bracket(w, "{");
        put_fields(w, &tni_key_fields, 0, &keys[i], &standard);
        close_bracket(w, "}");
    }
    close_bracket(w, "]");
}

// ---- Bodies -----------------------------------------------------------------------------------

// A mesh that came from a file is written as the file's name only.
static void put_mesh(writer* w, const tn_shape_def* def)
{
    if (def->file != NULL && def->file[0] != '\0') return;
    put_points(w, "vertices", def->vertices, def->vertex_count);
    put_key(w, "triangles");
    open_bracket(w, "[");
    for (int i = 0; i < def->triangle_count; ++i) {
        const int*   v         = def->triangles + 3 * (size_t)i;
        const double corners[] = {v[0], v[1], v[2]};
        put_numbers(w, corners, 3);
    }
    close_bracket(w, "]");
}

static void put_heights(writer* w, const tn_shape_def* def)
{
    put_key(w, "spacing");
    put_numbers(w, def->spacing, 2);
    put_key(w, "heights");
    open_bracket(w, "[");
    for (int i = 0; i < def->rows; ++i)
        put_numbers(w, def->heights + (size_t)i * (size_t)def->columns, def->columns);
    close_bracket(w, "]");
}

static void put_shape(writer* w, const tn_shape_def* def)
{
    const tn_shape_def standard = tn_default_shape_def(def->type);
    open_bracket(w, "{");
    put_key(w, "type");
    put_text(w, tni_shape_types.list[def->type]);
    put_fields(w, &tni_shape_fields, (int)def->type, def, &standard);
    if (def->type == TN_SHAPE_CONVEX) put_points(w, "points", def->points, def->point_count);
    if (def->type == TN_SHAPE_MESH) put_mesh(w, def);
    if (def->type == TN_SHAPE_HEIGHTS) put_heights(w, def);
    close_bracket(w, "}");
}

static void put_shapes(writer* w, const tn_body_def* def)
{
    put_line(w, "     ");
    put_key(w, "shapes");
    open_bracket(w, "[");
    for (int i = 0; i < def->shape_count; ++i) {
        put_line(w, "      ");
        put_shape(w, &def->shapes[i]);
    }
    close_bracket(w, "]");
}

static void put_inertia(writer* w, const double inertia[6])
{
    if (!tni_all_finite(inertia, 6)) return;
    put_key(w, "inertia");
    put_numbers(w, inertia, is_zero(inertia + 3, 3) ? 3 : 6);
}

static tn_result write_body(writer* w, int index, tn_why* why)
{
    const tn_body_def* def      = tn_scene_body(w->scene, index);
    const tn_body_def  standard = tn_default_body_def();
    if (def->kind == TN_BODY_USER) {
        return tni_fail(why, TN_ERR_UNSUPPORTED,
                        "body '%s' is user-defined and cannot be written to a file", def->name);
    }
    put_name(w, def->name);
    if (def->kind != TN_BODY_RIGID) {
        put_key(w, "kind");
        put_text(w, tni_body_kinds.list[def->kind]);
    }
    put_fields(w, &tni_body_fields, (int)def->kind, def, &standard);
    put_inertia(w, def->inertia);
    if (def->kind == TN_BODY_AFFINE && any_field(&tni_elasticity_fields, def, &standard)) {
        put_key(w, "elasticity");
        open_bracket(w, "{");
        put_fields(w, &tni_elasticity_fields, 0, def, &standard);
        close_bracket(w, "}");
    }
    if (def->kind == TN_BODY_KINEMATIC) put_keys(w, def->keys, def->key_count);
    if (def->shape_count > 0) put_shapes(w, def);
    return TN_OK;
}

// ---- Joints and couplings ---------------------------------------------------------------------

static void put_frame(writer* w, const tn_frame* frame)
{
    static const tn_frame standard = {.orientation = {.w = 1}};
    open_bracket(w, "{");
    put_fields(w, &tni_frame_fields, 0, frame, &standard);
    close_bracket(w, "}");
}

static void put_place(writer* w, const tn_joint_def* def)
{
    const tn_joint_def standard = tn_default_joint_def(def->type);
    if (def->form == TN_JOINT_BY_FRAMES) {
        put_key(w, "frames");
        open_bracket(w, "[");
        put_frame(w, &def->frame1);
        put_frame(w, &def->frame2);
        close_bracket(w, "]");
        return;
    }
    if (def->form == TN_JOINT_BY_POINTS) {
        put_key(w, "anchors");
        open_bracket(w, "[");
        put_vector(w, def->frame1.position);
        put_vector(w, def->frame2.position);
        close_bracket(w, "]");
        return;
    }
    put_key(w, "anchor");
    put_vector(w, def->anchor);
    if (tni_joint_shapes[def->type].needs_axis ||
        !same_bits(&def->axis, &standard.axis, sizeof def->axis)) {
        put_key(w, "axis");
        put_vector(w, def->axis);
    }
    if (def->type == TN_JOINT_UNIVERSAL) {
        put_key(w, "axis2");
        put_vector(w, def->axis2);
    }
}

static void put_coordinates(writer* w, const char* key, tn_joint_type type, const double* values)
{
    const int count = tni_joint_shapes[type].coordinates;
    if (is_zero(values, count)) return;
    put_key(w, key);
    if (count == 1) put_number(w, values[0]);
    else put_numbers(w, values, count);
}

static void put_force_range(writer* w, const tn_joint_def* def)
{
    const double ends[2] = {fmax(def->force_low, -TNI_LIMIT_FREE),
                            fmin(def->force_high, TNI_LIMIT_FREE)};
    if (!(def->force_low > -HUGE_VAL) && !(def->force_high < HUGE_VAL)) return;
    put_key(w, "force_range");
    put_numbers(w, ends, 2);
}

static void put_limit(writer* w, const tn_joint_def* def)
{
    const tn_joint_def standard = tn_default_joint_def(def->type);
    const tn_limit*    limit    = &def->limit;
    const bool         both     = limit->lower <= limit->upper;
    const bool         upper    = both && limit->upper != TNI_LIMIT_FREE;
    const bool         lower    = both && (limit->lower != -TNI_LIMIT_FREE || !upper);
    const bool         twist    = limit->twist_lower <= limit->twist_upper;
    if (!limit->given || (!lower && !upper && !twist && isnan(limit->cone))) return;
    put_key(w, "limit");
    open_bracket(w, "{");
    if (lower) put_key(w, "lower"), put_number(w, limit->lower);
    if (upper) put_key(w, "upper"), put_number(w, limit->upper);
    if (twist) {
        const double ends[] = {limit->twist_lower, limit->twist_upper};
        put_key(w, "twist");
        put_numbers(w, ends, 2);
    }
    put_fields(w, &tni_limit_fields, 0, limit, &standard.limit);
    close_bracket(w, "}");
}

// {"keys": [...]}, for keys with required fields only.
static void put_keyed(writer* w, const tni_fields* fields, const void* keys, size_t size, int count)
{
    open_bracket(w, "{");
    put_key(w, "keys");
    open_bracket(w, "[");
    for (int i = 0; i < count; ++i) {
        const void* key = (const char*)keys + size * (size_t)i;
        open_bracket(w, "{");
        put_fields(w, fields, 0, key, key);
        close_bracket(w, "}");
    }
    close_bracket(w, "]");
    close_bracket(w, "}");
}

static void put_motor(writer* w, const tn_joint_def* def)
{
    put_key(w, "of");
    put_text(w, tn_joint_type_word(def->of));
    put_key(w, "velocity");
    if (def->velocity_key_count == 0) {
        put_number(w, def->velocity);
        return;
    }
    put_keyed(w, &tni_value_key_fields, def->velocity_keys, sizeof(tn_value_key),
              def->velocity_key_count);
}

static tn_result write_joint(writer* w, int index, tn_why* why)
{
    const tn_constraint_def* own = tn_scene_constraint(w->scene, index);
    if (own != NULL) {
        return tni_fail(why, TN_ERR_UNSUPPORTED,
                        "constraint '%s' is user-defined and cannot be written to a file",
                        own->name);
    }
    const tn_joint_def* def      = tn_scene_joint(w->scene, index);
    const tn_joint_def  standard = tn_default_joint_def(def->type);
    put_name(w, def->name);
    put_key(w, "type");
    put_text(w, tn_joint_type_word(def->type));
    put_key(w, "bodies");
    put_body_pair(w, def->body1, def->body2);
    put_place(w, def);
    if (def->type == TN_JOINT_MOTOR) put_motor(w, def);
    put_fields(w, &tni_joint_fields, (int)def->type, def, &standard);
    put_coordinates(w, "rest", def->type, def->rest);
    put_coordinates(w, "force", def->type, def->force);
    put_force_range(w, def);
    put_limit(w, def);
    return TN_OK;
}

static void put_center(writer* w, const tn_coupling_def* def)
{
    char hold[4] = "";
    int  length  = 0;
    put_key(w, "bodies");
    open_bracket(w, "[");
    for (int i = 0; i < def->body_count; ++i) put_body(w, def->bodies[i]);
    close_bracket(w, "]");
    for (int k = 0; k < 3; ++k) {
        if (def->hold[k]) hold[length++] = "xyz"[k];
    }
    if (length == 3) return;
    put_key(w, "hold");
    put_text(w, hold);
}

static tn_result write_coupling(writer* w, int index, tn_why* why)
{
    const tn_coupling_def* def      = tn_scene_coupling(w->scene, index);
    const tn_coupling_def  standard = tn_default_coupling_def(def->type);
    (void)why;
    put_name(w, def->name);
    put_key(w, "type");
    put_text(w, tni_coupling_types.list[def->type]);
    put_fields(w, &tni_coupling_fields, (int)def->type, def, &standard);
    if (def->type == TN_COUPLING_CENTER) {
        put_center(w, def);
        return TN_OK;
    }
    put_key(w, "joints");
    open_bracket(w, "[");
    for (int i = 0; i < def->joint_count; ++i) {
        put_text(w, tn_scene_joint(w->scene, (int)def->joints[i].bits - 1)->name);
    }
    close_bracket(w, "]");
    if (def->type == TN_COUPLING_COUPLER) {
        put_key(w, "coefficients");
        put_numbers(w, def->coefficients, def->joint_count);
    }
    return TN_OK;
}

// ---- Forces -----------------------------------------------------------------------------------

static tn_result write_spring(writer* w, int index, tn_why* why)
{
    const tn_spring_def* def      = tn_scene_spring(w->scene, index);
    const tn_spring_def  standard = tn_default_spring_def();
    (void)why;
    put_name(w, def->name);
    put_key(w, "bodies");
    put_body_pair(w, def->body1, def->body2);
    put_key(w, "anchors");
    open_bracket(w, "[");
    put_vector(w, def->anchor1);
    put_vector(w, def->anchor2);
    close_bracket(w, "]");
    put_fields(w, &tni_spring_fields, 0, def, &standard);
    return TN_OK;
}

static tn_result write_target(writer* w, int index, tn_why* why)
{
    const tn_target_def* def      = tn_scene_target(w->scene, index);
    const tn_target_def  standard = tn_default_target_def();
    (void)why;
    put_name(w, def->name);
    put_fields(w, &tni_target_fields, 0, def, &standard);
    put_keys(w, def->keys, def->key_count);
    return TN_OK;
}

static tn_result write_load(writer* w, int index, tn_why* why)
{
    const tn_load_def* def      = tn_scene_load(w->scene, index);
    const tn_load_def  standard = tn_default_load_def();
    (void)why;
    put_name(w, def->name);
    put_fields(w, &tni_load_fields, 0, def, &standard);
    return TN_OK;
}

static void put_wind(writer* w, const tn_drag_def* def)
{
    const tn_drag_def standard = tn_default_drag_def();
    if (def->wind_key_count > 0) {
        put_key(w, "wind");
        put_keyed(w, &tni_wind_key_fields, def->wind_keys, sizeof(tn_vector_key),
                  def->wind_key_count);
    } else if (!same_bits(&def->wind, &standard.wind, sizeof def->wind)) {
        put_key(w, "wind");
        put_vector(w, def->wind);
    }
}

static tn_result write_drag(writer* w, int index, tn_why* why)
{
    const tn_drag_def* def      = tn_scene_drag(w->scene, index);
    const tn_drag_def  standard = tn_default_drag_def();
    (void)why;
    put_name(w, def->name);
    put_fields(w, &tni_drag_fields, 0, def, &standard);
    put_wind(w, def);
    return TN_OK;
}

// ---- The whole scene --------------------------------------------------------------------------

typedef tn_result write_part(writer* w, int index, tn_why* why);

static tn_result write_section(writer* w, const char* key, int count, write_part* write,
                               tn_why* why)
{
    if (count == 0) return TN_OK;
    put_line(w, "  ");
    put_key(w, key);
    open_bracket(w, "[");
    for (int i = 0; i < count && !w->failed; ++i) {
        put_line(w, "    ");
        open_bracket(w, "{");
        TRY(write(w, i, why));
        close_bracket(w, "}");
    }
    put(w, "\n  ");
    close_bracket(w, "]");
    return TN_OK;
}

// A setting is a number, true or false, or a word in quotes.
static void put_setting(writer* w, const tn_setting_info* info, const char* text)
{
    put_key(w, strcmp(info->key, "method") == 0 ? "name" : info->key);
    if (info->number || strcmp(text, "true") == 0 || strcmp(text, "false") == 0) put_word(w, text);
    else put_text(w, text);
}

static void write_method(writer* w)
{
    const tn_settings settings = tn_scene_settings(w->scene);
    tn_settings       standard = tn_default_settings();
    bool              open     = false;
    standard.h                 = tn_method_h(settings.method);
    for (int i = 0; tn_setting_at(i).key != NULL; ++i) {
        const tn_setting_info info = tn_setting_at(i);
        char                  text[64], usual[64];
        tn_settings_get(&settings, info.key, text, sizeof text);
        tn_settings_get(&standard, info.key, usual, sizeof usual);
        if (strcmp(text, usual) == 0) continue;
        if (!open) {
            put_line(w, "  ");
            put_key(w, "method");
            open_bracket(w, "{");
            open = true;
        }
        put_setting(w, &info, text);
    }
    if (open) close_bracket(w, "}");
}

static void write_head(writer* w)
{
    const tn_vec3 gravity = tn_scene_gravity(w->scene);
    const char*   name    = tn_scene_name(w->scene);
    put_line(w, "  ");
    put_key(w, "tenon_scene");
    put_number(w, 1);
    if (name != NULL && name[0] != '\0') {
        put_line(w, "  ");
        put_name(w, name);
    }
    if (!same_bits(&gravity, &tni_usual_gravity, sizeof gravity)) {
        put_line(w, "  ");
        put_key(w, "gravity");
        put_vector(w, gravity);
    }
    write_method(w);
}

static void put_ground(writer* w)
{
    const tni_ground ground = {
        tn_scene_ground_friction(w->scene), tn_scene_ground_restitution(w->scene),
        tn_scene_ground_rolling_friction(w->scene), tn_scene_ground_spinning_friction(w->scene)};
    put_key(w, "ground");
    open_bracket(w, "{");
    put_fields(w, &tni_ground_fields, 0, &ground, &tni_usual_ground);
    close_bracket(w, "}");
}

static void put_body_pairs(writer* w, const char* key, int count,
                           tn_contact_pair (*at)(const tn_scene*, int))
{
    if (count == 0) return;
    put_key(w, key);
    open_bracket(w, "[");
    for (int i = 0; i < count; ++i) {
        const tn_contact_pair pair = at(w->scene, i);
        put_body_pair(w, pair.body1, pair.body2);
    }
    close_bracket(w, "]");
}

static void put_pairs(writer* w, int count)
{
    const tn_pair_def standard = tn_default_pair_def();
    if (count == 0) return;
    put_key(w, "pairs");
    open_bracket(w, "[");
    for (int i = 0; i < count; ++i) {
        const tn_pair_def* def = tn_scene_pair(w->scene, i);
        put_line(w, "    ");
        open_bracket(w, "{");
        put_key(w, "bodies");
        put_body_pair(w, def->body1, def->body2);
        put_fields(w, &tni_pair_fields, 0, def, &standard);
        close_bracket(w, "}");
    }
    close_bracket(w, "]");
}

static void write_contact(writer* w)
{
    const int  excludes = tn_scene_exclude_count(w->scene);
    const int  includes = tn_scene_include_count(w->scene);
    const int  pairs    = tn_scene_pair_count(w->scene);
    const bool floor    = tn_scene_has_ground(w->scene); // even if all its values are defaults
    if (excludes == 0 && includes == 0 && pairs == 0 && !floor) return;
    put_line(w, "  ");
    put_key(w, "contact");
    open_bracket(w, "{");
    if (floor) put_ground(w);
    put_body_pairs(w, "exclude", excludes, tn_scene_exclude);
    put_body_pairs(w, "include", includes, tn_scene_include);
    put_pairs(w, pairs);
    close_bracket(w, "}");
}

static tn_result write_scene(writer* w, tn_why* why)
{
    const tn_scene* scene = w->scene;
    open_bracket(w, "{");
    write_head(w);
    TRY(write_section(w, "bodies", tn_scene_body_count(scene), write_body, why));
    TRY(write_section(w, "joints", tn_scene_joint_count(scene), write_joint, why));
    TRY(write_section(w, "couplings", tn_scene_coupling_count(scene), write_coupling, why));
    TRY(write_section(w, "springs", tn_scene_spring_count(scene), write_spring, why));
    TRY(write_section(w, "targets", tn_scene_target_count(scene), write_target, why));
    TRY(write_section(w, "loads", tn_scene_load_count(scene), write_load, why));
    TRY(write_section(w, "drag", tn_scene_drag_count(scene), write_drag, why));
    write_contact(w);
    put(w, "\n}\n");
    flush(w);
    if (w->bad_text != NULL) {
        return tni_fail(why, TN_ERR_MODEL, "the text %s of the scene is not UTF-8",
                        tni_quote(w->bad_text).text);
    }
    if (w->failed) return tni_fail(why, TN_ERR_FILE, "the scene was not written completely");
    return TN_OK;
}

tn_result tn_scene_write(const tn_scene* scene, tn_sink* sink, void* user, tn_why* why)
{
    TRY(tn_scene_problem(scene, why));
    writer w = {.scene = scene, .sink = sink, .user = user, .first = true};
    w.json   = (tni_json_writer){.sink = to_buffer, .user = &w};
    return write_scene(&w, why);
}

// ---- Files ------------------------------------------------------------------------------------

static bool no_sink(void* user, const char* bytes, size_t count)
{
    (void)user, (void)bytes, (void)count;
    return true;
}

static bool file_sink(void* user, const char* bytes, size_t count)
{
    return fwrite(bytes, 1, count, user) == count;
}

tn_result tn_scene_write_file(const tn_scene* scene, const char* path, tn_why* why)
{
    TRY(tn_scene_write(scene, no_sink, NULL,
                       // Checks first, so that a scene that cannot be written overwrites no file
                       why));
    errno      = 0;
    FILE* file = fopen(path, "wb");
    if (file == NULL)
        return tni_fail(why, TN_ERR_FILE, "cannot write '%s': %s", path, strerror(errno));
    const tn_result result = tn_scene_write(scene, file_sink, file, why);
    const int       error  = errno;
    const bool      closed = fclose(file) == 0;
    if (result == TN_OK && closed) return TN_OK;
    return tni_fail(why, TN_ERR_FILE, "cannot write '%s': %s", path,
                    strerror(closed ? error : errno));
}
