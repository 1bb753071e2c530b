// scene_parser: a scene from JSON text. docs/scene.md describes the format.
//
// The text becomes values (json.h); each part of the scene is an object with keys listed in a table
// (scene_fields.h). Bodies are read before joints and joints before couplings, whatever their order
// in the text, so that names can be looked up. The scene checks the numbers; its errors are passed
// on with the position of the part in the text. Meshes may be in other files, with names relative
// to the scene's file.
//
// Cost: linear in the text. On failure *why names the part, the key, the line and the column, and
// nothing is left allocated.
#include "io/file.h"
#include "io/json.h"
#include "io/scene_fields.h"
#include "tenon/io.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

typedef struct reader {
    tn_scene*   scene;
    tni_arena   scratch; ///< temporary data of one part
    const char* folder;  ///< prefix of relative file names: ends in '/', or is empty
    tn_why*     why;
} reader;

// A part of the scene for messages: "shape 2 of body 'link'".
typedef struct part {
    const char*           what;
    int                   index; ///< from 1; 0: the only one
    const tni_json_value* value;
    const struct part*    owner; ///< NULL: the scene
} part;

typedef struct part_text {
    char text[150];
} part_text;

// ---- Messages ---------------------------------------------------------------------------------

static part_text describe(const part* p)
{
    part_text result = {""};
    size_t    used   = 0;
    for (; p != NULL && used < sizeof result.text; p = p->owner) {
        const bool            object = p->value->kind == TNI_JSON_OBJECT;
        const tni_json_value* name =
            object && p->index > 0 ? tni_json_member(p->value, "name") : NULL;
        char number[16];
        snprintf(number, sizeof number, "%d", p->index);
        const bool named = name != NULL && name->kind == TNI_JSON_TEXT && name->text[0] != '\0';
        const tni_quoted quoted = tni_quote(named ? name->text : "");
        const char*      label  = p->index == 0 ? "" : named ? quoted.text : number;
        const int        n = snprintf(result.text + used, sizeof result.text - used, "%s%s%s%s",
                               used > 0 ? " of " : "", p->what, p->index > 0 ? " " : "", label);
        used += (size_t)n;
    }
    return result;
}

TNI_PRINTF(3, 4)
static tn_result fail_at(const reader* r, const tni_json_value* at, const char* format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    tni_fail_parse(r->why, at->line, at->column, format, arguments);
    va_end(arguments);
    return TN_ERR_PARSE;
}

// "; did you mean 'hinge'?", or nothing.
static part_text suggestion(const char* word, const char* const* words, int count)
{
    part_text   result  = {""};
    const char* nearest = words != NULL ? tn_nearest_word(word, words, count) : NULL;
    if (nearest != NULL) {
        snprintf(result.text, sizeof result.text, "; did you mean %s?", tni_quote(nearest).text);
    }
    return result;
}

static tn_result no_memory(const reader* r)
{
    return tni_fail(r->why, TN_ERR_MEMORY, "out of memory while reading a scene");
}

// The result of adding a part to the scene, with the part's position in the text.
static tn_result accepted(const reader* r, const tni_json_value* at)
{
    const tn_result result = tn_scene_problem(r->scene, r->why);
    if (result != TN_OK && result != TN_ERR_MEMORY && r->why != NULL) {
        r->why->line   = at->line;
        r->why->column = at->column;
    }
    return result;
}

// ---- Single values ----------------------------------------------------------------------------

static tn_result wrong_type(const reader* r, const part* p, const char* key,
                            const tni_json_value* value, const char* wanted)
{
    return fail_at(r, value, "'%s' of %s must be %s", key, describe(p).text, wanted);
}

static tn_result need_kind(const reader* r, const part* p, const char* key,
                           const tni_json_value* value, tni_json_kind kind)
{
    static const char* const wanted[] = {"null",     "true or false", "a number",
                                         "a string", "an array",      "an object"};
    return value->kind == kind ? TN_OK : wrong_type(r, p, key, value, wanted[kind]);
}

static tn_result read_number(const reader* r, const part* p, const char* key,
                             const tni_json_value* value, double* number)
{
    TRY(need_kind(r, p, key, value, TNI_JSON_NUMBER));
    *number = value->number;
    return TN_OK;
}

// A whole number from 0 to most.
static tn_result read_whole(const reader* r, const part* p, const char* key,
                            const tni_json_value* value, int most, int* number)
{
    char wanted[60];
    snprintf(wanted, sizeof wanted, "a whole number from 0 to %d", most);
    if (value->kind != TNI_JSON_NUMBER || !(value->number >= 0 && value->number <= most) ||
        value->number != floor(value->number))
        return wrong_type(r, p, key, value, wanted);
    *number = (int)value->number;
    return TN_OK;
}

// [0, 3]: group numbers, to a bit mask.
static tn_result read_groups(const reader* r, const part* p, const char* key,
                             const tni_json_value* value, uint32_t* groups)
{
    if (value->kind != TNI_JSON_ARRAY)
        return wrong_type(r, p, key, value, "an array of group numbers");
    *groups = 0;
    for (int i = 0; i < value->count; ++i) { // each is a single value, or refused
        int group = 0;
        TRY(read_whole(r, p, key, value + 1 + i, TNI_GROUP_COUNT - 1, &group));
        *groups |= (uint32_t)1 << group;
    }
    return TN_OK;
}

// An array of exactly `count` numbers.
static tn_result read_numbers(const reader* r, const part* p, const char* key,
                              const tni_json_value* value, int count, double* numbers)
{
    char wanted[40];
    snprintf(wanted, sizeof wanted, "an array of %d number%s", count, count == 1 ? "" : "s");
    if (value->kind != TNI_JSON_ARRAY || value->count != count)
        return wrong_type(r, p, key, value, wanted);
    for (int i = 0; i < count; ++i) {
        if (value[1 + i].kind != TNI_JSON_NUMBER)
            return wrong_type(r, p, key, &value[1 + i], wanted);
        numbers[i] = value[1 + i].number;
    }
    return TN_OK;
}

static tn_result read_vector(const reader* r, const part* p, const char* key,
                             const tni_json_value* value, tn_vec3* vector)
{
    double numbers[3] = {0};
    TRY(read_numbers(r, p, key, value, 3, numbers));
    *vector = (tn_vec3){numbers[0], numbers[1], numbers[2]};
    return TN_OK;
}

static tn_result read_quaternion(const reader* r, const part* p, const char* key,
                                 const tni_json_value* value, tn_quat* quaternion)
{
    double numbers[4] = {0};
    TRY(read_numbers(r, p, key, value, 4, numbers));
    *quaternion = (tn_quat){numbers[0], numbers[1], numbers[2], numbers[3]};
    return TN_OK;
}

static tn_result unknown_body(reader* r, const part* p, const char* key,
                              const tni_json_value* value)
{
    const int    count = tn_scene_body_count(r->scene);
    const char** names = TNI_TAKE(&r->scratch, const char*, count + 1);
    for (int i = 0; names != NULL && i < count; ++i) names[i] = tn_scene_body(r->scene, i)->name;
    if (names != NULL) names[count] = "ground";
    return fail_at(r, value, "'%s' of %s: there is no body %s%s", key, describe(p).text,
                   tni_quote(value->text).text, suggestion(value->text, names, count + 1).text);
}

static tn_result read_body_name(reader* r, const part* p, const char* key,
                                const tni_json_value* value, tn_body_id* body)
{
    bool found = false;
    if (value->kind != TNI_JSON_TEXT) return wrong_type(r, p, key, value, "a body name");
    *body = tn_scene_find_body(r->scene, value->text, &found);
    return found ? TN_OK : unknown_body(r, p, key, value);
}

static tn_result read_body_pair(reader* r, const part* p, const char* key,
                                const tni_json_value* value, tn_body_id* body1, tn_body_id* body2)
{
    if (value->kind != TNI_JSON_ARRAY || value->count != 2) {
        return wrong_type(r, p, key, value, "an array of 2 body names");
    }
    TRY(read_body_name(r, p, key, value + 1, body1));
    return read_body_name(r, p, key, value + 1 + value[1].size, body2);
}

static tn_result read_vector_pair(const reader* r, const part* p, const char* key,
                                  const tni_json_value* value, tn_vec3* first, tn_vec3* second)
{
    if (value->kind != TNI_JSON_ARRAY || value->count != 2)
        return wrong_type(r, p, key, value, "an array of 2 points");
    TRY(read_vector(r, p, key, value + 1, first));
    return read_vector(r, p, key, value + 1 + value[1].size, second);
}

static tn_result read_word(const reader* r, const part* p, const char* key,
                           const tni_json_value* value, const tni_words* words, int* index)
{
    TRY(need_kind(r, p, key, value, TNI_JSON_TEXT));
    for (*index = 0; *index < words->count; ++*index) {
        if (strcmp(words->list[*index], value->text) == 0) return TN_OK;
    }
    return fail_at(r, value, "'%s' of %s: %s is not a %s%s", key, describe(p).text,
                   tni_quote(value->text).text, words->what,
                   suggestion(value->text, words->list, words->count).text);
}

static tn_result read_role(const reader* r, const part* p, const char* key,
                           const tni_json_value* value, tn_role* role)
{
    int index;
    TRY(read_word(r, p, key, value, &tni_roles, &index));
    *role = (tn_role)index;
    return TN_OK;
}

// ---- Objects and their keys -------------------------------------------------------------------

static tn_result unknown_key(const reader* r, const part* p, const tni_json_value* key,
                             const tni_fields* fields, int type, const char* type_word)
{
    enum { KEYS_MAX = 32 };
    const char* known[KEYS_MAX];
    int         count = 0;
    for (int i = 0; i < fields->count; ++i) {
        if (strcmp(fields->list[i].key, key->text) == 0) { // known, but not for this type
            return fail_at(r, key, "'%s' does not belong to %s, a %s", key->text, describe(p).text,
                           type_word);
        }
        if (count < KEYS_MAX && tni_field_applies(&fields->list[i], type))
            known[count++] = fields->list[i].key;
    }
    return fail_at(r, key, "unknown key %s in %s%s", tni_quote(key->text).text, describe(p).text,
                   suggestion(key->text, known, count).text);
}

static const tni_field* find_field(const tni_fields* fields, const char* key, int type)
{
    for (int i = 0; i < fields->count; ++i) {
        const tni_field* field = &fields->list[i];
        if (strcmp(field->key, key) == 0 && tni_field_applies(field, type)) return field;
    }
    return NULL;
}

static tn_result read_field(reader* r, const part* p, const tni_field* field,
                            const tni_json_value* value, void* def)
{
    if (field->kind == TNI_FIELD_CUSTOM) return TN_OK; // def may be NULL then
    void* const to = (char*)def + field->offset;
    switch (field->kind) {
    case TNI_FIELD_NUMBER: return read_number(r, p, field->key, value, to);
    case TNI_FIELD_VECTOR: return read_vector(r, p, field->key, value, to);
    case TNI_FIELD_QUATERNION: return read_quaternion(r, p, field->key, value, to);
    case TNI_FIELD_BODY: return read_body_name(r, p, field->key, value, to);
    case TNI_FIELD_FLAG:
        TRY(need_kind(r, p, field->key, value, TNI_JSON_FLAG));
        *(bool*)to = value->flag;
        return TN_OK;
    case TNI_FIELD_ROLE: return read_role(r, p, field->key, value, to);
    case TNI_FIELD_GROUP: return read_whole(r, p, field->key, value, TNI_GROUP_COUNT - 1, to);
    case TNI_FIELD_GROUPS: return read_groups(r, p, field->key, value, to);
    case TNI_FIELD_TEXT:
    case TNI_FIELD_NAME:
        TRY(need_kind(r, p, field->key, value, TNI_JSON_TEXT));
        *(const char**)to = value->text;
        return TN_OK;
    case TNI_FIELD_CUSTOM: break;
    }
    return TN_OK;
}

static tn_result need_object(const reader* r, const part* p)
{
    return p->value->kind == TNI_JSON_OBJECT
               ? TN_OK
               : fail_at(r, p->value, "%s must be an object", describe(p).text);
}

// Reads all but custom keys into the def; checks that all keys are known and none is missing.
static tn_result read_typed(reader* r, const part* p, const tni_fields* fields, int type,
                            const char* type_word, void* def)
{
    TRY(need_object(r, p));
    const tni_json_value* key = p->value + 1;
    for (int i = 0; i < p->value->count; ++i, key += 1 + key[1].size) {
        if (key->text[0] == '_') continue; // a comment
        const tni_field* field = find_field(fields, key->text, type);
        if (field == NULL) return unknown_key(r, p, key, fields, type, type_word);
        TRY(read_field(r, p, field, key + 1, def));
    }
    for (int i = 0; i < fields->count; ++i) {
        const tni_field* field = &fields->list[i];
        if (!field->required || !tni_field_applies(field, type)) continue;
        if (tni_json_member(p->value, field->key) == NULL) {
            return fail_at(r, p->value, "%s needs '%s'", describe(p).text, field->key);
        }
    }
    return TN_OK;
}

static tn_result read_fields(reader* r, const part* p, const tni_fields* fields, void* def)
{
    return read_typed(r, p, fields, 0, "", def);
}

// The word under `key`, on which the other keys depend.
static tn_result read_type(const reader* r, const part* p, const char* key, const tni_words* words,
                           int* type)
{
    TRY(need_object(r, p));
    const tni_json_value* value = tni_json_member(p->value, key);
    if (value == NULL) return fail_at(r, p->value, "%s needs '%s'", describe(p).text, key);
    return read_word(r, p, key, value, words, type);
}

// The elements of an array of objects under `key` of the owner.
typedef struct part_list {
    part part;
    int  count; ///< number left, including the present one
} part_list;

static tn_result list_open(const reader* r, const part* owner, const char* key, const char* what,
                           part_list* list)
{
    const tni_json_value* array = tni_json_member(owner->value, key);
    *list                       = (part_list){.part = {.what = what, .index = 1, .owner = owner}};
    if (array == NULL) return TN_OK;
    if (array->kind != TNI_JSON_ARRAY) return wrong_type(r, owner, key, array, "an array");
    list->part.value = array + 1;
    list->count      = array->count;
    return TN_OK;
}

static void list_next(part_list* list)
{
    list->part.value += list->part.value->size;
    ++list->part.index;
    --list->count;
}

static tn_result read_keys(reader* r, const part* owner, const tn_key** keys, int* count)
{
    part_list list;
    TRY(list_open(r, owner, "keys", "key", &list));
    tn_key* made = TNI_TAKE(&r->scratch, tn_key, list.count);
    if (made == NULL) return no_memory(r);
    *keys  = made;
    *count = list.count;
    for (; list.count > 0; list_next(&list), ++made) {
        made->pose.orientation.w = 1;
        TRY(read_fields(r, &list.part, &tni_key_fields, made));
    }
    return TN_OK;
}

// ---- Bodies -----------------------------------------------------------------------------------

static tn_result read_points(reader* r, const part* p, const char* key, const tn_vec3** points,
                             int* count)
{
    const tni_json_value* value = tni_json_member(p->value, key);
    TRY(need_kind(r, p, key, value, TNI_JSON_ARRAY));
    tn_vec3* made = TNI_TAKE(&r->scratch, tn_vec3, value->count);
    if (made == NULL) return no_memory(r);
    const tni_json_value* at = value + 1;
    for (int i = 0; i < value->count; ++i, at += at->size)
        TRY(read_vector(r, p, key, at, &made[i]));
    *points = made;
    *count  = value->count;
    return TN_OK;
}

static tn_result read_triangles(reader* r, const part* p, tn_shape_def* def)
{
    const tni_json_value* value = tni_json_member(p->value, "triangles");
    TRY(need_kind(r, p, "triangles", value, TNI_JSON_ARRAY));
    int* made = TNI_TAKE(&r->scratch, int, 3 * (size_t)value->count);
    if (made == NULL) return no_memory(r);
    def->triangles           = made;
    def->triangle_count      = value->count;
    const tni_json_value* at = value + 1;
    for (int i = 0; i < value->count; ++i, at += at->size, made += 3) {
        if (at->kind != TNI_JSON_ARRAY || at->count != 3)
            return wrong_type(r, p, "triangles", at, "an array of 3 vertex indices, each");
        for (int k = 0; k < 3; ++k)
            TRY(read_whole(r, p, "triangles", at + 1 + k, INT_MAX, &made[k]));
    }
    return TN_OK;
}

// A file name with the folder of the scene.
static const char* path_of(reader* r, const char* file)
{
    const size_t folder = file[0] == '/' ? 0 : strlen(r->folder), name = strlen(file) + 1;
    char*        path = TNI_TAKE(&r->scratch, char, folder + name);
    if (path == NULL) return NULL;
    memcpy(path, r->folder, folder);
    memcpy(path + folder, file, name);
    return path;
}

static tn_result bad_mesh_file(const reader* r, const part* p, const tni_json_value* value,
                               const tn_why* why)
{
    if (why->result == TN_ERR_MEMORY) return no_memory(r);
    char text[sizeof why->text];
    memcpy(text, why->text, sizeof text);
    for (char* at = text; *at != '\0'; ++at) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f) *at = '?';
    }
    (void)fail_at(r, value, "'file' of %s: %s", describe(p).text, text);
    if (r->why != NULL) r->why->result = why->result;
    return why->result;
}

static tn_result read_mesh_file(reader* r, const part* p, tn_shape_def* def)
{
    const tni_json_value* value = tni_json_member(p->value, "file");
    const char*           path  = path_of(r, def->file);
    if (path == NULL) return no_memory(r);
    tn_mesh* mesh = NULL;
    tn_why   why  = {0};
    if (tn_mesh_read(&r->scratch.host, path, &mesh, &why) != TN_OK)
        return bad_mesh_file(r, p, value, &why);
    tn_vec3* vertices  = TNI_TAKE(&r->scratch, tn_vec3, mesh->vertex_count);
    int*     triangles = TNI_TAKE(&r->scratch, int, 3 * (size_t)mesh->triangle_count);
    if (triangles != NULL) { // then vertices is not NULL either
        memcpy(vertices, mesh->vertices, sizeof(tn_vec3) * (size_t)mesh->vertex_count);
        memcpy(triangles, mesh->triangles, 3 * sizeof(int) * (size_t)mesh->triangle_count);
    }
    def->vertices       = vertices;
    def->vertex_count   = mesh->vertex_count;
    def->triangles      = triangles;
    def->triangle_count = mesh->triangle_count;
    tn_mesh_free(mesh);
    return triangles != NULL ? TN_OK : no_memory(r);
}

// A file, or vertices and triangles.
static tn_result read_mesh(reader* r, const part* p, tn_shape_def* def)
{
    const tni_json_value* file      = tni_json_member(p->value, "file");
    const tni_json_value* vertices  = tni_json_member(p->value, "vertices");
    const tni_json_value* triangles = tni_json_member(p->value, "triangles");
    if (file != NULL && (vertices != NULL || triangles != NULL)) {
        return fail_at(r, vertices != NULL ? vertices : triangles,
                       "%s has both a 'file' and triangles of its own", describe(p).text);
    }
    if (file != NULL) return read_mesh_file(r, p, def);
    if (vertices == NULL || triangles == NULL) {
        return fail_at(r, p->value, "%s needs a 'file', or 'vertices' and 'triangles'",
                       describe(p).text);
    }
    TRY(read_points(r, p, "vertices", &def->vertices, &def->vertex_count));
    return read_triangles(r, p, def);
}

// [[...], [...]]: rows of equal length.
static tn_result read_heights(reader* r, const part* p, tn_shape_def* def)
{
    const tni_json_value* value = tni_json_member(p->value, "heights");
    TRY(read_numbers(r, p, "spacing", tni_json_member(p->value, "spacing"), 2, def->spacing));
    if (value->kind != TNI_JSON_ARRAY || value->count == 0 || value[1].kind != TNI_JSON_ARRAY)
        return wrong_type(r, p, "heights", value, "an array of rows of numbers");
    const int rows = value->count, columns = value[1].count;
    if ((double)rows * columns > value->size) { // ensures that the product fits an int
        return fail_at(r, value, "rows in 'heights' of %s are not of the same length",
                       describe(p).text);
    }
    double* heights = TNI_TAKE(&r->scratch, double, rows* columns);
    if (heights == NULL) return no_memory(r);
    const tni_json_value* row = value + 1;
    for (int i = 0; i < rows; ++i, row += row->size)
        TRY(read_numbers(r, p, "heights", row, columns, heights + (size_t)i * (size_t)columns));
    def->heights = heights;
    def->rows    = rows;
    def->columns = columns;
    return TN_OK;
}

static tn_result read_shapes(reader* r, const part* body, tn_body_def* def)
{
    part_list list;
    TRY(list_open(r, body, "shapes", "shape", &list));
    tn_shape_def* shapes = TNI_TAKE(&r->scratch, tn_shape_def, list.count);
    if (shapes == NULL) return no_memory(r);
    def->shapes      = shapes;
    def->shape_count = list.count;
    for (; list.count > 0; list_next(&list), ++shapes) {
        int type;
        TRY(read_type(r, &list.part, "type", &tni_shape_types, &type));
        *shapes = tn_default_shape_def((tn_shape_type)type);
        TRY(read_typed(r, &list.part, &tni_shape_fields, type, tni_shape_types.list[type], shapes));
        if (type == TN_SHAPE_CONVEX)
            TRY(read_points(r, &list.part, "points", &shapes->points, &shapes->point_count));
        if (type == TN_SHAPE_MESH) TRY(read_mesh(r, &list.part, shapes));
        if (type == TN_SHAPE_HEIGHTS) TRY(read_heights(r, &list.part, shapes));
    }
    return TN_OK;
}

static tn_result read_inertia(const reader* r, const part* p, tn_body_def* def)
{
    const tni_json_value* value = tni_json_member(p->value, "inertia");
    if (value == NULL) return TN_OK;
    if (value->kind != TNI_JSON_ARRAY || (value->count != 3 && value->count != 6)) {
        return wrong_type(r, p, "inertia", value, "an array of 3 or 6 numbers");
    }
    memset(def->inertia, 0, sizeof def->inertia);
    return read_numbers(r, p, "inertia", value, value->count, def->inertia);
}

static tn_result read_elasticity(reader* r, const part* p, tn_body_def* def)
{
    const tni_json_value* value = tni_json_member(p->value, "elasticity");
    if (value == NULL) return TN_OK;
    const part elasticity = {.what = "elasticity", .value = value, .owner = p};
    return read_fields(r, &elasticity, &tni_elasticity_fields, def);
}

static tn_result read_body(reader* r, const part* p)
{
    tn_body_def def  = tn_default_body_def();
    int         kind = TN_BODY_RIGID;
    TRY(need_object(r, p));
    const tni_json_value* word = tni_json_member(p->value, "kind");
    if (word != NULL) TRY(read_word(r, p, "kind", word, &tni_body_kinds, &kind));
    def.kind = (tn_body_kind)kind;
    TRY(read_typed(r, p, &tni_body_fields, kind, tni_body_kinds.list[kind], &def));
    TRY(read_inertia(r, p, &def));
    TRY(read_elasticity(r, p, &def));
    TRY(read_keys(r, p, &def.keys, &def.key_count));
    TRY(read_shapes(r, p, &def));
    tn_scene_add_body(r->scene, &def);
    return accepted(r, p->value);
}

// ---- Joints -----------------------------------------------------------------------------------

// Bodies whose motion is planar or given; a hinge between them needs no axis.
static bool is_flat(const reader* r, tn_body_id body)
{
    if (body.bits == 0) return true;
    const tn_body_kind kind = tn_scene_body(r->scene, (int)body.bits - 1)->kind;
    return kind == TN_BODY_PLANAR || kind == TN_BODY_STATIC || kind == TN_BODY_KINEMATIC;
}

static tn_result read_anchor_form(const reader* r, const part* p, tn_joint_def* def)
{
    const tni_json_value* anchor = tni_json_member(p->value, "anchor");
    const tni_json_value* axis   = tni_json_member(p->value, "axis");
    const tni_json_value* axis2  = tni_json_member(p->value, "axis2");
    const char*           word   = tn_joint_type_word(def->type);
    if (def->type == TN_JOINT_DISTANCE || def->type == TN_JOINT_ROPE) {
        return fail_at(r, p->value, "%s needs 'anchors' (a point in each body's frame) or 'frames'",
                       describe(p).text);
    }
    if (anchor == NULL)
        return fail_at(r, p->value, "%s needs 'anchor' or 'frames'", describe(p).text);
    const bool turns =
        def->type == TN_JOINT_HINGE || (def->type == TN_JOINT_MOTOR && def->of == TN_JOINT_HINGE);
    const bool flat = turns && is_flat(r, def->body1) && is_flat(r, def->body2);
    if (axis == NULL && tni_joint_shapes[def->type].needs_axis && !flat) {
        return fail_at(r, p->value, "%s, a %s, needs 'axis'", describe(p).text, word);
    }
    if (axis2 == NULL && def->type == TN_JOINT_UNIVERSAL) {
        return fail_at(r, p->value, "%s, a %s, needs 'axis2'", describe(p).text, word);
    }
    TRY(read_vector(r, p, "anchor", anchor, &def->anchor));
    if (axis != NULL) TRY(read_vector(r, p, "axis", axis, &def->axis));
    if (axis2 != NULL) TRY(read_vector(r, p, "axis2", axis2, &def->axis2));
    return TN_OK;
}

static tn_result read_frames(reader* r, const part* p, tn_joint_def* def)
{
    part_list list;
    TRY(list_open(r, p, "frames", "frame", &list));
    if (list.count != 2) {
        return wrong_type(r, p, "frames", tni_json_member(p->value, "frames"),
                          "an array of 2 frames");
    }
    def->form   = TN_JOINT_BY_FRAMES;
    def->frame1 = def->frame2 = (tn_frame){.orientation = {.w = 1}};
    TRY(read_fields(r, &list.part, &tni_frame_fields, &def->frame1));
    list_next(&list);
    return read_fields(r, &list.part, &tni_frame_fields, &def->frame2);
}

static tn_result read_place(reader* r, const part* p, tn_joint_def* def)
{
    static const char* const anchor_keys[] = {"anchor", "axis", "axis2"};
    const tni_json_value*    anchors       = tni_json_member(p->value, "anchors");
    const tni_json_value*    frames        = tni_json_member(p->value, "frames");
    for (int i = 0; i < 3 && (anchors != NULL || frames != NULL); ++i) {
        if (tni_json_member(p->value, anchor_keys[i]) == NULL) continue;
        return fail_at(r, p->value, "%s has both '%s' and '%s'; give its position in one way only",
                       describe(p).text, anchor_keys[i], frames != NULL ? "frames" : "anchors");
    }
    if (frames != NULL && anchors != NULL) {
        return fail_at(r, p->value,
                       "%s has both 'anchors' and 'frames'; give its position in one "
                       "way only",
                       describe(p).text);
    }
    if (frames != NULL) return read_frames(r, p, def);
    if (anchors == NULL) return read_anchor_form(r, p, def);
    def->form = TN_JOINT_BY_POINTS;
    return read_vector_pair(r, p, "anchors", anchors, &def->frame1.position, &def->frame2.position);
}

// `rest` and `force`: one number for each free coordinate; a plain number if there is only one.
static tn_result read_coordinates(const reader* r, const part* p, const char* key,
                                  tn_joint_type type, double values[6])
{
    const tni_json_value* value = tni_json_member(p->value, key);
    const int             count = tni_joint_shapes[type].coordinates;
    if (value == NULL) return TN_OK;
    if (value->kind != TNI_JSON_NUMBER) return read_numbers(r, p, key, value, count, values);
    if (count != 1 && value->number != 0) {
        return fail_at(
            r, value,
            "'%s' of %s must be an array of %d numbers, one for each free coordinate of a %s", key,
            describe(p).text, count, tn_joint_type_word(type));
    }
    if (count > 0) values[0] = value->number;
    return TN_OK;
}

static tn_result read_force_range(const reader* r, const part* p, tn_joint_def* def)
{
    const tni_json_value* value   = tni_json_member(p->value, "force_range");
    double                ends[2] = {0, 0};
    if (value == NULL) return TN_OK;
    TRY(read_numbers(r, p, "force_range", value, 2, ends));
    def->force_low  = ends[0];
    def->force_high = ends[1];
    return TN_OK;
}

static tn_result read_twist(const reader* r, const part* p, tn_limit* limit)
{
    const tni_json_value* value   = tni_json_member(p->value, "twist");
    double                ends[2] = {0, 0};
    if (value == NULL) return TN_OK;
    TRY(read_numbers(r, p, "twist", value, 2, ends));
    if (ends[0] > ends[1])
        return fail_at(r, value, "'twist' of %s: its lower limit is above the upper",
                       describe(p).text);
    limit->twist_lower = ends[0];
    limit->twist_upper = ends[1];
    return TN_OK;
}

static tn_result read_limit(reader* r, const part* joint, tn_limit* limit)
{
    const tni_json_value* value = tni_json_member(joint->value, "limit");
    if (value == NULL) return TN_OK;
    const part p = {.what = "limit", .value = value, .owner = joint};
    TRY(read_fields(r, &p, &tni_limit_fields, limit));
    TRY(read_twist(r, &p, limit));
    const tni_json_value* lower = tni_json_member(value, "lower");
    const tni_json_value* upper = tni_json_member(value, "upper");
    limit->given                = true;
    if (lower == NULL && upper == NULL) {
        if (!isnan(limit->cone) || tni_json_member(value, "twist") != NULL) return TN_OK;
        return fail_at(r, value, "%s needs one of 'lower', 'upper', 'cone', 'twist'",
                       describe(&p).text);
    }
    limit->lower = -TNI_LIMIT_FREE;
    limit->upper = TNI_LIMIT_FREE;
    if (lower != NULL) TRY(read_number(r, &p, "lower", lower, &limit->lower));
    if (upper != NULL) TRY(read_number(r, &p, "upper", upper, &limit->upper));
    if (limit->lower > limit->upper)
        return fail_at(r, value, "'lower' is above 'upper' in %s", describe(&p).text);
    return TN_OK;
}

static tn_result read_velocity(reader* r, const part* p, tn_joint_def* def)
{
    const tni_json_value* value = tni_json_member(p->value, "velocity");
    if (value->kind == TNI_JSON_NUMBER) {
        def->velocity = value->number;
        return TN_OK;
    }
    if (value->kind != TNI_JSON_OBJECT)
        return wrong_type(r, p, "velocity", value, "a number or {\"keys\": [...]}");
    const part velocity = {.what = "velocity", .value = value, .owner = p};
    part_list  list;
    TRY(read_fields(r, &velocity, &tni_velocity_fields, NULL));
    TRY(list_open(r, &velocity, "keys", "key", &list));
    tn_value_key* keys = TNI_TAKE(&r->scratch, tn_value_key, list.count);
    if (keys == NULL) return no_memory(r);
    if (list.count == 0)
        return fail_at(r, value, "%s needs at least one key", describe(&velocity).text);
    def->velocity_keys      = keys;
    def->velocity_key_count = list.count;
    for (; list.count > 0; list_next(&list), ++keys)
        TRY(read_fields(r, &list.part, &tni_value_key_fields, keys));
    return TN_OK;
}

static tn_result read_motor(reader* r, const part* p, tn_joint_def* def)
{
    static const char* const words[] = {"hinge", "slider"};
    const tni_words          driven  = {"joint that a motor can drive", words, 2};
    int                      of;
    TRY(read_word(r, p, "of", tni_json_member(p->value, "of"), &driven, &of));
    def->of = of == 0 ? TN_JOINT_HINGE : TN_JOINT_SLIDER;
    return read_velocity(r, p, def);
}

static tn_result read_joint(reader* r, const part* p)
{
    int type;
    TRY(read_type(r, p, "type", &tni_joint_types, &type));
    tn_joint_def def = tn_default_joint_def((tn_joint_type)type);
    TRY(read_typed(r, p, &tni_joint_fields, type, tni_joint_types.list[type], &def));
    TRY(read_body_pair(r, p, "bodies", tni_json_member(p->value, "bodies"), &def.body1,
                       &def.body2));
    if (type == TN_JOINT_MOTOR) TRY(read_motor(r, p, &def));
    TRY(read_place(r, p, &def));
    TRY(read_coordinates(r, p, "rest", def.type, def.rest));
    TRY(read_coordinates(r, p, "force", def.type, def.force));
    TRY(read_force_range(r, p, &def));
    TRY(read_limit(r, p, &def.limit));
    tn_scene_add_joint(r->scene, &def);
    return accepted(r, p->value);
}

// ---- Couplings --------------------------------------------------------------------------------

static tn_result unknown_joint(reader* r, const part* p, const tni_json_value* value)
{
    const int    count = tn_scene_joint_count(r->scene);
    const char** names = TNI_TAKE(&r->scratch, const char*, count);
    for (int i = 0; names != NULL && i < count; ++i) names[i] = tn_scene_joint(r->scene, i)->name;
    return fail_at(r, value, "'joints' of %s: there is no joint %s%s", describe(p).text,
                   tni_quote(value->text).text, suggestion(value->text, names, count).text);
}

static tn_result read_coupled_joints(reader* r, const part* p, tn_coupling_def* def)
{
    const tni_json_value* value = tni_json_member(p->value, "joints");
    TRY(need_kind(r, p, "joints", value, TNI_JSON_ARRAY));
    tn_joint_id* joints = TNI_TAKE(&r->scratch, tn_joint_id, value->count);
    if (joints == NULL) return no_memory(r);
    for (int i = 0; i < value->count; ++i) {
        const tni_json_value* name = value + 1 + i; // the values before it are texts, of size 1
        if (name->kind != TNI_JSON_TEXT)
            return wrong_type(r, p, "joints", name, "an array of joint names");
        joints[i] = tn_scene_find_joint(r->scene, name->text);
        if (joints[i].bits == 0) return unknown_joint(r, p, name);
    }
    def->joints      = joints;
    def->joint_count = value->count;
    return TN_OK;
}

static tn_result read_coefficients(reader* r, const part* p, tn_coupling_def* def)
{
    double* coefficients = TNI_TAKE(&r->scratch, double, def->joint_count);
    if (coefficients == NULL) return no_memory(r);
    def->coefficients = coefficients;
    return read_numbers(r, p, "coefficients", tni_json_member(p->value, "coefficients"),
                        def->joint_count, coefficients);
}

static tn_result read_held_bodies(reader* r, const part* p, tn_coupling_def* def)
{
    const tni_json_value* value = tni_json_member(p->value, "bodies");
    TRY(need_kind(r, p, "bodies", value, TNI_JSON_ARRAY));
    tn_body_id* bodies = TNI_TAKE(&r->scratch, tn_body_id, value->count);
    if (bodies == NULL) return no_memory(r);
    for (int i = 0; i < value->count; ++i) // the values before it are texts, of size 1
        TRY(read_body_name(r, p, "bodies", value + 1 + i, &bodies[i]));
    def->bodies     = bodies;
    def->body_count = value->count;
    return TN_OK;
}

// "xz": the axes along which a centre of mass is held, each once.
static tn_result read_hold(const reader* r, const part* p, tn_coupling_def* def)
{
    const tni_json_value* value = tni_json_member(p->value, "hold");
    if (value == NULL) return TN_OK;
    TRY(need_kind(r, p, "hold", value, TNI_JSON_TEXT));
    memset(def->hold, 0, sizeof def->hold);
    for (const char* at = value->text; *at != '\0'; ++at) {
        const int axis = *at - 'x';
        if (axis < 0 || axis > 2 || def->hold[axis])
            return wrong_type(r, p, "hold", value, "some of the letters of \"xyz\", each once");
        def->hold[axis] = true;
    }
    return TN_OK;
}

static tn_result read_coupling(reader* r, const part* p)
{
    int type;
    TRY(read_type(r, p, "type", &tni_coupling_types, &type));
    tn_coupling_def def = tn_default_coupling_def((tn_coupling_type)type);
    TRY(read_typed(r, p, &tni_coupling_fields, type, tni_coupling_types.list[type], &def));
    if (type == TN_COUPLING_CENTER) {
        TRY(read_held_bodies(r, p, &def));
        TRY(read_hold(r, p, &def));
    } else {
        TRY(read_coupled_joints(r, p, &def));
    }
    if (type == TN_COUPLING_COUPLER) TRY(read_coefficients(r, p, &def));
    (void)tn_scene_add_coupling(r->scene, &def);
    return accepted(r, p->value);
}

// ---- Forces -----------------------------------------------------------------------------------

static tn_result read_spring(reader* r, const part* p)
{
    tn_spring_def def = tn_default_spring_def();
    TRY(read_fields(r, p, &tni_spring_fields, &def));
    TRY(read_body_pair(r, p, "bodies", tni_json_member(p->value, "bodies"), &def.body1,
                       &def.body2));
    TRY(read_vector_pair(r, p, "anchors", tni_json_member(p->value, "anchors"), &def.anchor1,
                         &def.anchor2));
    (void)tn_scene_add_spring(r->scene, &def);
    return accepted(r, p->value);
}

static tn_result read_target(reader* r, const part* p)
{
    tn_target_def def = tn_default_target_def();
    TRY(read_fields(r, p, &tni_target_fields, &def));
    TRY(read_keys(r, p, &def.keys, &def.key_count));
    (void)tn_scene_add_target(r->scene, &def);
    return accepted(r, p->value);
}

static tn_result read_load(reader* r, const part* p)
{
    tn_load_def def = tn_default_load_def();
    TRY(read_fields(r, p, &tni_load_fields, &def));
    (void)tn_scene_add_load(r->scene, &def);
    return accepted(r, p->value);
}

// A vector, or {"keys": [...]}.
static tn_result read_wind(reader* r, const part* p, tn_drag_def* def)
{
    const tni_json_value* value = tni_json_member(p->value, "wind");
    if (value == NULL) return TN_OK;
    if (value->kind == TNI_JSON_ARRAY) return read_vector(r, p, "wind", value, &def->wind);
    if (value->kind != TNI_JSON_OBJECT)
        return wrong_type(r, p, "wind", value, "an array of 3 numbers or {\"keys\": [...]}");
    const part wind = {.what = "wind", .value = value, .owner = p};
    part_list  list;
    TRY(read_fields(r, &wind, &tni_wind_fields, NULL));
    TRY(list_open(r, &wind, "keys", "key", &list));
    tn_vector_key* keys = TNI_TAKE(&r->scratch, tn_vector_key, list.count);
    if (keys == NULL) return no_memory(r);
    if (list.count == 0)
        return fail_at(r, value, "%s needs at least one key", describe(&wind).text);
    def->wind_keys      = keys;
    def->wind_key_count = list.count;
    for (; list.count > 0; list_next(&list), ++keys)
        TRY(read_fields(r, &list.part, &tni_wind_key_fields, keys));
    return TN_OK;
}

static tn_result read_drag(reader* r, const part* p)
{
    tn_drag_def def = tn_default_drag_def();
    TRY(read_fields(r, p, &tni_drag_fields, &def));
    TRY(read_wind(r, p, &def));
    (void)tn_scene_add_drag(r->scene, &def);
    return accepted(r, p->value);
}

// ---- Contact ----------------------------------------------------------------------------------

static tn_result read_body_pairs(reader* r, const part* contact, const char* key,
                                 tn_result (*add)(tn_scene*, tn_body_id, tn_body_id))
{
    const tni_json_value* value = tni_json_member(contact->value, key);
    if (value == NULL) return TN_OK;
    TRY(need_kind(r, contact, key, value, TNI_JSON_ARRAY));
    const tni_json_value* pair = value + 1;
    for (int i = 0; i < value->count; ++i, pair += pair->size) {
        tn_body_id body1, body2;
        TRY(read_body_pair(r, contact, key, pair, &body1, &body2));
        (void)add(r->scene, body1, body2);
        TRY(accepted(r, pair));
    }
    return TN_OK;
}

static tn_result read_pairs(reader* r, const part* contact)
{
    part_list list;
    TRY(list_open(r, contact, "pairs", "pair", &list));
    for (; list.count > 0; list_next(&list)) {
        const part* p   = &list.part;
        tn_pair_def def = tn_default_pair_def();
        TRY(read_fields(r, p, &tni_pair_fields, &def));
        TRY(read_body_pair(r, p, "bodies", tni_json_member(p->value, "bodies"), &def.body1,
                           &def.body2));
        (void)tn_scene_add_pair(r->scene, &def);
        TRY(accepted(r, p->value));
    }
    return TN_OK;
}

static tn_result read_ground(reader* r, const part* contact)
{
    const part p = {
        .what = "ground", .value = tni_json_member(contact->value, "ground"), .owner = contact};
    if (p.value == NULL) return TN_OK;
    tni_ground ground = tni_usual_ground;
    TRY(read_fields(r, &p, &tni_ground_fields, &ground));
    tn_scene_set_ground(r->scene, ground.friction, ground.restitution);
    tn_scene_set_ground_rolling(r->scene, ground.rolling_friction, ground.spinning_friction);
    return accepted(r, p.value);
}

static tn_result read_contact(reader* r, const tni_json_value* root)
{
    const part p = {.what = "contact", .value = tni_json_member(root, "contact")};
    if (p.value == NULL) return TN_OK;
    TRY(read_fields(r, &p, &tni_contact_fields, NULL));
    TRY(read_body_pairs(r, &p, "exclude", tn_scene_exclude_contact));
    TRY(read_body_pairs(r, &p, "include", tn_scene_include_contact));
    TRY(read_pairs(r, &p));
    return read_ground(r, &p);
}

// ---- Method -----------------------------------------------------------------------------------

enum { SETTINGS_MAX = 128 };

// The setting of a key of "method"; its key is NULL if there is none.
static tn_setting_info find_setting(const char* key)
{
    if (strcmp(key, "method") == 0) return (tn_setting_info){.key = NULL};
    if (strcmp(key, "name") == 0) key = "method";
    for (int i = 0;; ++i) {
        const tn_setting_info info = tn_setting_at(i);
        if (info.key == NULL || strcmp(info.key, key) == 0) return info;
    }
}

static tn_result unknown_setting(const reader* r, const tni_json_value* key)
{
    const char* known[SETTINGS_MAX] = {"name"};
    int         count               = 1;
    for (int i = 0; tn_setting_at(i).key != NULL && count < SETTINGS_MAX; ++i) {
        if (strcmp(tn_setting_at(i).key, "method") != 0) known[count++] = tn_setting_at(i).key;
    }
    return fail_at(r, key, "unknown key %s in method%s", tni_quote(key->text).text,
                   suggestion(key->text, known, count).text);
}

static tn_result read_setting(const reader* r, const part* p, const tni_json_value* key,
                              tn_settings* settings)
{
    const tn_setting_info info  = find_setting(key->text);
    const tni_json_value* value = key + 1;
    if (info.key == NULL) return unknown_setting(r, key);
    if (info.number) TRY(need_kind(r, p, key->text, value, TNI_JSON_NUMBER));
    char        number[32];
    const char* text = value->text;
    if (value->kind == TNI_JSON_FLAG) {
        text = value->flag ? "true" : "false";
    } else if (value->kind == TNI_JSON_NUMBER) {
        tn_format_number(value->number, number, sizeof number);
        text = number;
    } else if (value->kind != TNI_JSON_TEXT) {
        return wrong_type(r, p, key->text, value, "a number, a string, or true or false");
    }
    const tn_result result = tn_settings_set(settings, info.key, text, r->why);
    if (result != TN_OK && r->why != NULL) {
        r->why->line   = value->line;
        r->why->column = value->column;
    }
    return result;
}

static tn_result read_method(reader* r, const tni_json_value* root)
{
    const part p = {.what = "method", .value = tni_json_member(root, "method")};
    if (p.value == NULL) return TN_OK;
    TRY(need_object(r, &p));
    tn_settings           settings = tn_scene_settings(r->scene);
    const tni_json_value* name     = tni_json_member(p.value, "name");
    const tni_json_value* key      = p.value + 1;
    if (name != NULL) TRY(read_setting(r, &p, name - 1, &settings)); // first: h may follow from it
    for (int i = 0; i < p.value->count; ++i, key += 1 + key[1].size) {
        if (key->text[0] != '_' && key + 1 != name) TRY(read_setting(r, &p, key, &settings));
    }
    tn_scene_set_settings(r->scene, &settings);
    return accepted(r, p.value);
}

// ---- The whole scene --------------------------------------------------------------------------

static tn_result read_version(const reader* r, const tni_json_value* root)
{
    if (root->kind != TNI_JSON_OBJECT)
        return fail_at(r, root, "a scene must be an object: {\"tenon_scene\": 1, ...}");
    const tni_json_value* version = tni_json_member(root, "tenon_scene");
    if (version == NULL) return fail_at(r, root, "the scene needs '\"tenon_scene\": 1'");
    if (version->kind != TNI_JSON_NUMBER || version->number != 1) {
        return fail_at(r, version, "'tenon_scene' must be 1, the supported version of the format");
    }
    return TN_OK;
}

static tn_result read_name_and_gravity(reader* r, const part* scene)
{
    const tni_json_value* name    = tni_json_member(scene->value, "name");
    const tni_json_value* gravity = tni_json_member(scene->value, "gravity");
    if (name != NULL) {
        TRY(need_kind(r, scene, "name", name, TNI_JSON_TEXT));
        tn_scene_set_name(r->scene, name->text);
        TRY(accepted(r, name));
    }
    if (gravity == NULL) return TN_OK;
    tn_vec3 vector;
    TRY(read_vector(r, scene, "gravity", gravity, &vector));
    tn_scene_set_gravity(r->scene, vector);
    return accepted(r, gravity);
}

static tn_result read_parts(reader* r, const part* scene)
{
    static const struct {
        const char *key, *what;
        tn_result (*read)(reader* r, const part* p);
    } sections[] = {{"bodies", "body", read_body},
                    {"joints", "joint", read_joint},
                    {"couplings", "coupling", read_coupling},
                    {"springs", "spring", read_spring},
                    {"targets", "target", read_target},
                    {"loads", "load", read_load},
                    {"drag", "drag", read_drag}};
    for (size_t i = 0; i < sizeof sections / sizeof *sections; ++i) {
        part_list list;
        TRY(list_open(r, scene, sections[i].key, sections[i].what, &list));
        list.part.owner = NULL; // messages say "body 'link'" only
        for (; list.count > 0; list_next(&list)) {
            TRY(sections[i].read(r, &list.part));
            tni_arena_free(&r->scratch);
        }
    }
    return TN_OK;
}

static tn_result read_scene(reader* r, const tni_json_value* root)
{
    const part scene = {.what = "the scene", .value = root};
    TRY(read_version(r, root));
    TRY(read_fields(r, &scene, &tni_scene_fields, NULL));
    TRY(read_name_and_gravity(r, &scene));
    TRY(read_method(r, root));
    TRY(read_parts(r, &scene));
    return read_contact(r, root);
}

// folder: as in reader.
static tn_result read_text(const tn_host* host, const char* text, size_t length, const char* folder,
                           tn_scene** scene, tn_why* why)
{
    const tn_host given = tni_host_or_default(host);
    tni_json      json;
    *scene = NULL;
    TRY(tni_json_read(&given, text, length, &json, why));
    reader    r      = {.scratch = tni_arena_make(&given), .folder = folder, .why = why};
    tn_result result = tn_scene_create(&given, &r.scene);
    if (result == TN_OK) result = read_scene(&r, json.values);
    else tni_fail(why, result, "out of memory while reading a scene");
    tni_arena_free(&r.scratch);
    tni_json_free(&json);
    if (result == TN_OK) *scene = r.scene;
    else tn_scene_free(r.scene);
    return result;
}

tn_result tn_scene_read(const tn_host* host, const char* text, size_t length, tn_scene** scene,
                        tn_why* why)
{
    return read_text(host, text, length, "", scene, why);
}

// ---- Files ------------------------------------------------------------------------------------

// The path up to its last '/', inclusive; *length + 1 bytes, to be returned to the host.
static char* folder_of(const tn_host* host, const char* path, size_t* length)
{
    const char* last = strrchr(path, '/');
    *length          = last != NULL ? (size_t)(last - path) + 1 : 0;
    char* folder     = tni_host_take(host, *length + 1);
    return folder != NULL ? memcpy(folder, path, *length) : NULL;
}

tn_result tn_scene_read_file(const tn_host* host, const char* path, tn_scene** scene, tn_why* why)
{
    const tn_host given = tni_host_or_default(host);
    tni_file_text text  = {0};
    *scene              = NULL;
    tn_result result    = tni_read_file(&given, path, &text, why);
    if (result == TN_OK) {
        size_t length;
        char*  folder = folder_of(&given, path, &length);
        if (folder != NULL) result = read_text(&given, text.bytes, text.count, folder, scene, why);
        else result = tni_fail(why, TN_ERR_MEMORY, "out of memory while reading '%s'", path);
        tni_host_give(&given, folder, length + 1);
    }
    tni_host_give(&given, text.bytes, text.room);
    return result;
}
