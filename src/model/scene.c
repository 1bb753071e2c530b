// scene: the store. Adding a part goes the same way for all kinds:
//
//     name it, check it, make room for it, copy it whole, enter it
//
// Room is made first in the list, then in the table of names, then in the arena; the part counts
// only once all three are there. So an add that fails, for whatever reason, leaves the scene as it
// was; room that was made stays for the next one. Everything a def points to is packed into one
// piece of the arena: the packing runs twice, first only to measure. Cost: O(size of the def) an
// add, amortised, whatever the number of parts.
#include "model/scene.h"

#include "math/rotation.h"
#include "model/settings.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

// ---- Packing: a def's arrays, into one block ---------------------------------------------------

typedef struct packing {
    char*            block; ///< NULL: only measure
    size_t           used;
    const tni_arena* own; ///< what lies in it already is not copied again; NULL: all is
} packing;

static void* pack(packing* p, const void* from, size_t bytes)
{
    void* to = NULL;
    if (p->own != NULL && tni_arena_holds(p->own, from)) return (void*)(uintptr_t)from;
    if (p->block != NULL && bytes > 0) to = memcpy(p->block + p->used, from, bytes);
    p->used += (bytes + 7) / 8 * 8; // doubles and pointers
    return to;
}
#define PACK(p, from, count) \
    ((from) == NULL ? NULL : pack((p), (from), sizeof *(from) * (size_t)(count)))

static const char* pack_text(packing* p, const char* text)
{
    return text == NULL ? NULL : pack(p, text, strlen(text) + 1);
}

// Orientations are stored with length 1: whoever reads the scene back may turn vectors with them.
// One that has length 1 but for rounding keeps its bits, so that a written scene reads back as it
// was. Zeros are those of frames that are not in use.
static void normalise(tn_quat* q)
{
    const double square = q->w * q->w + q->x * q->x + q->y * q->y + q->z * q->z;
    if (square > 0 && fabs(square - 1) > 16 * DBL_EPSILON) *q = tni_quat_normalised(*q);
}

static const tn_key* pack_keys(packing* p, const tn_key* from, int count)
{
    tn_key* keys = PACK(p, from, count);
    for (int i = 0; keys != NULL && i < count; ++i) normalise(&keys[i].pose.orientation);
    return keys;
}

// What another type has is left behind.
static void pack_shape(packing* p, const tn_shape_def* from, tn_shape_def* to)
{
    tn_shape_def own   = *from;
    const bool   mesh  = from->type == TN_SHAPE_MESH;
    const bool   field = from->type == TN_SHAPE_HEIGHTS;
    if (from->type != TN_SHAPE_CONVEX) own.points = NULL, own.point_count = 0;
    if (!mesh) own.vertices = NULL, own.triangles = NULL, own.file = NULL;
    if (!mesh) own.vertex_count = 0, own.triangle_count = 0, own.pieces_tolerance = TN_UNSET;
    if (!field) own.heights = NULL, own.rows = own.columns = 0, own.spacing[0] = own.spacing[1] = 0;
    own.points    = PACK(p, own.points, own.point_count);
    own.vertices  = PACK(p, own.vertices, own.vertex_count);
    own.triangles = PACK(p, own.triangles, 3 * (size_t)own.triangle_count);
    own.file      = pack_text(p, own.file);
    own.heights   = PACK(p, own.heights, (size_t)own.rows * (size_t)own.columns);
    normalise(&own.pose.orientation);
    if (to != NULL) *to = own;
}

static void pack_body(packing* p, void* item)
{
    tn_body_def*        def    = item;
    const tn_shape_def* from   = def->shapes;
    tn_shape_def*       shapes = PACK(p, from, def->shape_count);
    for (int i = 0; i < def->shape_count; ++i)
        pack_shape(p, &from[i], shapes == NULL ? NULL : &shapes[i]);
    def->shapes = shapes;
    def->keys   = pack_keys(p, def->keys, def->key_count);
    normalise(&def->pose.orientation);
    const bool user = def->kind == TN_BODY_USER;
    if (!user) def->table = NULL, def->data = NULL;
    def->user_q = user ? PACK(p, def->user_q, def->table->coordinate_count) : NULL;
    def->user_u = user ? PACK(p, def->user_u, def->table->dim) : NULL;
}

static void normalise_frames(tn_joint_def* def)
{
    normalise(&def->frame1.orientation);
    normalise(&def->frame2.orientation);
}

static void pack_joint(packing* p, void* item)
{
    tni_joint_item* joint = item;
    normalise_frames(&joint->def);
    if (joint->def.type != TN_JOINT_MOTOR) joint->def.velocity_key_count = 0;
    joint->def.velocity_keys = PACK(p, joint->def.velocity_keys, joint->def.velocity_key_count);
    if (joint->constraint == NULL) return;
    tn_constraint_def* constraint = PACK(p, joint->constraint, 1);
    const tn_body_id*  bodies = PACK(p, joint->constraint->bodies, joint->constraint->body_count);
    if (constraint != NULL) {
        constraint->bodies = bodies;
        constraint->name   = joint->def.name;
    }
    joint->constraint = constraint;
}

static void pack_coupling(packing* p, void* item)
{
    tn_coupling_def* def     = item;
    const bool       coupler = def->type == TN_COUPLING_COUPLER;
    if (def->type == TN_COUPLING_CENTER) def->joint_count = 0;
    else def->body_count = 0;
    def->joints       = PACK(p, def->joints, def->joint_count);
    def->coefficients = coupler ? PACK(p, def->coefficients, def->joint_count) : NULL;
    def->bodies       = PACK(p, def->bodies, def->body_count);
}

static void pack_target(packing* p, void* item)
{
    tn_target_def* def = item;
    def->keys          = pack_keys(p, def->keys, def->key_count);
}

static void pack_drag(packing* p, void* item)
{
    tn_drag_def* def = item;
    def->wind_keys   = PACK(p, def->wind_keys, def->wind_key_count);
}

// ---- Adding ------------------------------------------------------------------------------------

typedef struct part_kind {
    const char* word;
    size_t      size;
    void (*pack)(packing* p, void* item); ///< NULL: the def points to nothing but its name
    bool always_named;
} part_kind;

static const part_kind kinds[TNI_PART_COUNT] = {
    [TNI_PART_BODY]     = {"body", sizeof(tn_body_def), pack_body, true},
    [TNI_PART_JOINT]    = {"joint", sizeof(tni_joint_item), pack_joint, true},
    [TNI_PART_COUPLING] = {"coupling", sizeof(tn_coupling_def), pack_coupling, false},
    [TNI_PART_SPRING]   = {"spring", sizeof(tn_spring_def), NULL, false},
    [TNI_PART_TARGET]   = {"target", sizeof(tn_target_def), pack_target, false},
    [TNI_PART_LOAD]     = {"load", sizeof(tn_load_def), NULL, false},
    [TNI_PART_DRAG]     = {"drag", sizeof(tn_drag_def), pack_drag, false},
};
// enter() sets the name of every kind through a pointer to its first field.
_Static_assert(offsetof(tn_body_def, name) == 0 && offsetof(tni_joint_item, def.name) == 0 &&
                   offsetof(tn_coupling_def, name) == 0 && offsetof(tn_spring_def, name) == 0 &&
                   offsetof(tn_target_def, name) == 0 && offsetof(tn_load_def, name) == 0 &&
                   offsetof(tn_drag_def, name) == 0,
               "defs begin with their name");

// "joint 'pin'", or "joint 3" while it has no good name.
static void write_label(const tni_adding* a, char* text, size_t size)
{
    if (a->part == TNI_PART_COUNT) snprintf(text, size, "%s", a->name[0] != 0 ? a->name : "scene");
    else if (a->name[0] != 0) snprintf(text, size, "%s '%s'", kinds[a->part].word, a->name);
    else if (a->place > 0) snprintf(text, size, "%s %u", kinds[a->part].word, (unsigned)a->place);
    else snprintf(text, size, "%s %d", kinds[a->part].word, a->scene->parts[a->part].count + 1);
}

bool tni_refuse(tni_adding* a, const char* format, ...)
{
    char label[TNI_NAME_MAX + 32], text[sizeof a->why.text];
    write_label(a, label, sizeof label);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tni_fail(&a->why, TN_ERR_MODEL, "%s: %s", label, text);
    return false;
}

bool tni_check_made(tni_adding* a, bool made, const char* what, int number)
{
    TN_ASSERT(made && "the def was made by its tn_default_..._def()");
    char which[32] = "";
    if (number > 0) snprintf(which, sizeof which, "%s %d: ", what, number);
    return made ||
           tni_refuse(a, "%stn_%s_def was not made by tn_default_%s_def()", which, what, what);
}

static void remember(tn_scene* scene, const tn_why* why)
{
    if (scene->problem.result == TN_OK) scene->problem = *why;
}

static bool lacks_memory(tni_adding* a)
{
    a->scene->arena.failed = false; // the next add may ask for less
    tni_refuse(a, "out of memory");
    a->why.result = TN_ERR_MEMORY;
    return false;
}

// "body<n>" with the next number whose name is free.
static void number_part(tni_adding* a)
{
    const tni_name_table* names = &a->scene->parts[a->part].names;
    do {
        snprintf(a->name, sizeof a->name, "%s%d", kinds[a->part].word, ++a->number);
    } while (tni_name_table_find(names, a->name) != 0);
}

// what: the def is a tn_<what>_def.
static bool name_part(tni_adding* a, const char* name, bool made, const char* what)
{
    const tni_name_table* names = &a->scene->parts[a->part].names;
    const char*           word  = kinds[a->part].word;
    if (!tni_check_made(a, made, what, 0)) return false;
    a->number = a->scene->parts[a->part].number;
    if (name == NULL || name[0] == 0) {
        if (kinds[a->part].always_named) number_part(a);
        return true;
    }
    if (!tni_check_name(a, name)) return false;
    memcpy(a->name, name, strlen(name) + 1);
    return tni_name_table_find(names, name) == 0 || tni_refuse(a, "another %s has this name", word);
}

static bool grow(const tn_host* host, void** items, int count, int* capacity, size_t size)
{
    if (count < *capacity) return true;
    if (count > INT_MAX / 2) return false;
    const int bigger = *capacity == 0 ? 16 : 2 * *capacity;
    void*     moved  = tni_host_take(host, size * (size_t)bigger);
    if (moved == NULL) return false;
    if (count > 0) memcpy(moved, *items, size * (size_t)count);
    tni_host_give(host, *items, size * (size_t)*capacity);
    *items    = moved;
    *capacity = bigger;
    return true;
}

// A copy of the def, and of all that it points to but what lies in `own` already.
static bool copy_whole(tni_adding* a, const void* def, const char* name, const tni_arena* own,
                       void* item)
{
    const part_kind* kind = &kinds[a->part];
    packing          p    = {.own = own};
    for (int pass = 0; pass < 2; ++pass) {
        memcpy(item, def, kind->size);
        *(const char**)item = pack_text(&p, name);
        if (kind->pack != NULL) kind->pack(&p, item);
        if (pass == 1 || p.used == 0) break;
        p = (packing){.block = tni_arena_take(&a->scene->arena, p.used), .own = own};
        if (p.block == NULL) return lacks_memory(a);
    }
    return true;
}

// Copies the def whole and enters it; nothing has changed when it returns false.
static bool enter(tni_adding* a, const void* def)
{
    tn_scene*        scene = a->scene;
    tni_part_list*   list  = &scene->parts[a->part];
    const part_kind* kind  = &kinds[a->part];
    const char*      name  = a->name[0] != 0 ? a->name : NULL;
    if (!grow(&scene->host, &list->items, list->count, &list->capacity, kind->size))
        return lacks_memory(a);
    if (name != NULL && !tni_name_table_reserve(&list->names, &scene->host)) return lacks_memory(a);

    void* item = (char*)list->items + kind->size * (size_t)list->count;
    if (!copy_whole(a, def, name, NULL, item)) return false;
    ++list->count;
    list->number = a->number;
    if (name != NULL) tni_name_table_put(&list->names, *(const char**)item, (uint32_t)list->count);
    return true;
}

static tni_adding adding(tn_scene* scene, tni_part part)
{
    return (tni_adding){.scene = scene, .part = part};
}

static tn_result finish(tni_adding* a, bool good)
{
    if (!good) remember(a->scene, &a->why);
    return a->why.result;
}

// The bits of the part that was added; 0: refused.
static uint32_t finish_part(tni_adding* a, bool good)
{
    finish(a, good);
    return good ? (uint32_t)a->scene->parts[a->part].count : 0;
}

static void* item_of(tni_adding* a)
{
    return (char*)a->scene->parts[a->part].items + kinds[a->part].size * (size_t)(a->place - 1);
}

// The part with these bits, to get another def.
static tni_adding editing(tn_scene* scene, tni_part part, uint32_t bits)
{
    tni_adding a = {.scene = scene, .part = part, .place = bits};
    TN_ASSERT(bits > 0 && bits <= (uint32_t)scene->parts[part].count);
    const char* name = *(const char**)item_of(&a);
    snprintf(a.name, sizeof a.name, "%s", name != NULL ? name : "");
    return a;
}

// Puts a def in the place of the old one, whose name stays; nothing has changed when it returns false.
static bool replace(tni_adding* a, const void* def)
{
    union {
        const char*     name; // that all begin with
        tni_joint_item  joint;
        tn_coupling_def coupling;
        tn_spring_def   spring;
        tn_target_def   target;
        tn_load_def     load;
        tn_drag_def     drag;
    } fresh;
    void*       item = item_of(a);
    const char* name = *(const char**)item;
    TN_ASSERT(kinds[a->part].size <= sizeof fresh);
    if (!copy_whole(a, def, name, &a->scene->arena, &fresh)) return false;
    fresh.name = name;
    memcpy(item, &fresh, kinds[a->part].size);
    return true;
}

static tn_result finish_edit(const tni_adding* a, bool good, tn_why* why)
{
    if (!good && why != NULL) *why = a->why;
    return a->why.result;
}

tn_body_id tn_scene_add_body(tn_scene* scene, const tn_body_def* def)
{
    tni_adding a    = adding(scene, TNI_PART_BODY);
    const bool good = name_part(&a, def->name, def->cookie == TNI_COOKIE_BODY, "body") &&
                      tni_check_body(&a, def) && enter(&a, def);
    return (tn_body_id){finish_part(&a, good)};
}

tn_joint_id tn_scene_add_joint(tn_scene* scene, const tn_joint_def* def)
{
    tni_adding           a    = adding(scene, TNI_PART_JOINT);
    const tni_joint_item item = {.def = *def};
    const bool good = name_part(&a, def->name, def->cookie == TNI_COOKIE_JOINT, "joint") &&
                      tni_check_joint(&a, def) && enter(&a, &item);
    return (tn_joint_id){finish_part(&a, good)};
}

tn_result tn_scene_set_joint(tn_scene* scene, tn_joint_id joint, const tn_joint_def* def,
                             tn_why* why)
{
    tni_adding            a    = editing(scene, TNI_PART_JOINT, joint.bits);
    const tni_joint_item* old  = item_of(&a);
    const tni_joint_item  item = {.def = *def};
    const bool            good = tni_check_made(&a, def->cookie == TNI_COOKIE_JOINT, "joint", 0) &&
                      (old->constraint == NULL ||
                       tni_refuse(&a, "is defined by functions, not by a joint def")) &&
                      tni_check_joint(&a, def) && replace(&a, &item);
    return finish_edit(&a, good, why);
}

tn_joint_id tn_scene_add_constraint(tn_scene* scene, const tn_constraint_def* def)
{
    tni_adding a    = adding(scene, TNI_PART_JOINT);
    bool       good = name_part(&a, def->name, def->cookie == TNI_COOKIE_USER, "constraint") &&
                tni_check_constraint(&a, def);
    if (good) {
        tni_joint_item item = {.def = tn_default_joint_def(TN_JOINT_USER), .constraint = def};
        item.def.body1      = def->bodies[0];
        if (def->body_count > 1) item.def.body2 = def->bodies[1];
        item.def.role      = def->role;
        item.def.user_data = def->user_data;
        good               = enter(&a, &item);
    }
    return (tn_joint_id){finish_part(&a, good)};
}

tn_coupling_id tn_scene_add_coupling(tn_scene* scene, const tn_coupling_def* def)
{
    tni_adding a    = adding(scene, TNI_PART_COUPLING);
    const bool good = name_part(&a, def->name, def->cookie == TNI_COOKIE_COUPLING, "coupling") &&
                      tni_check_coupling(&a, def) && enter(&a, def);
    return (tn_coupling_id){finish_part(&a, good)};
}

tn_spring_id tn_scene_add_spring(tn_scene* scene, const tn_spring_def* def)
{
    tni_adding a    = adding(scene, TNI_PART_SPRING);
    const bool good = name_part(&a, def->name, def->cookie == TNI_COOKIE_SPRING, "spring") &&
                      tni_check_spring(&a, def) && enter(&a, def);
    return (tn_spring_id){finish_part(&a, good)};
}

tn_target_id tn_scene_add_target(tn_scene* scene, const tn_target_def* def)
{
    tni_adding a    = adding(scene, TNI_PART_TARGET);
    const bool good = name_part(&a, def->name, def->cookie == TNI_COOKIE_TARGET, "target") &&
                      tni_check_target(&a, def) && enter(&a, def);
    return (tn_target_id){finish_part(&a, good)};
}

tn_load_id tn_scene_add_load(tn_scene* scene, const tn_load_def* def)
{
    tni_adding a    = adding(scene, TNI_PART_LOAD);
    const bool good = name_part(&a, def->name, def->cookie == TNI_COOKIE_LOAD, "load") &&
                      tni_check_load(&a, def) && enter(&a, def);
    return (tn_load_id){finish_part(&a, good)};
}

tn_drag_id tn_scene_add_drag(tn_scene* scene, const tn_drag_def* def)
{
    tni_adding a    = adding(scene, TNI_PART_DRAG);
    const bool good = name_part(&a, def->name, def->cookie == TNI_COOKIE_DRAG, "drag") &&
                      tni_check_drag(&a, def) && enter(&a, def);
    return (tn_drag_id){finish_part(&a, good)};
}

tn_result tn_scene_set_coupling(tn_scene* scene, tn_coupling_id coupling,
                                const tn_coupling_def* def, tn_why* why)
{
    tni_adding a    = editing(scene, TNI_PART_COUPLING, coupling.bits);
    const bool good = tni_check_made(&a, def->cookie == TNI_COOKIE_COUPLING, "coupling", 0) &&
                      tni_check_coupling(&a, def) && replace(&a, def);
    return finish_edit(&a, good, why);
}

tn_result tn_scene_set_spring(tn_scene* scene, tn_spring_id spring, const tn_spring_def* def,
                              tn_why* why)
{
    tni_adding a    = editing(scene, TNI_PART_SPRING, spring.bits);
    const bool good = tni_check_made(&a, def->cookie == TNI_COOKIE_SPRING, "spring", 0) &&
                      tni_check_spring(&a, def) && replace(&a, def);
    return finish_edit(&a, good, why);
}

tn_result tn_scene_set_target(tn_scene* scene, tn_target_id target, const tn_target_def* def,
                              tn_why* why)
{
    tni_adding a    = editing(scene, TNI_PART_TARGET, target.bits);
    const bool good = tni_check_made(&a, def->cookie == TNI_COOKIE_TARGET, "target", 0) &&
                      tni_check_target(&a, def) && replace(&a, def);
    return finish_edit(&a, good, why);
}

tn_result tn_scene_set_load(tn_scene* scene, tn_load_id load, const tn_load_def* def, tn_why* why)
{
    tni_adding a    = editing(scene, TNI_PART_LOAD, load.bits);
    const bool good = tni_check_made(&a, def->cookie == TNI_COOKIE_LOAD, "load", 0) &&
                      tni_check_load(&a, def) && replace(&a, def);
    return finish_edit(&a, good, why);
}

tn_result tn_scene_set_drag(tn_scene* scene, tn_drag_id drag, const tn_drag_def* def, tn_why* why)
{
    tni_adding a    = editing(scene, TNI_PART_DRAG, drag.bits);
    const bool good = tni_check_made(&a, def->cookie == TNI_COOKIE_DRAG, "drag", 0) &&
                      tni_check_drag(&a, def) && replace(&a, def);
    return finish_edit(&a, good, why);
}

void tn_scene_set_body_user_data(tn_scene* scene, tn_body_id body, void* user_data)
{
    tni_adding a                           = editing(scene, TNI_PART_BODY, body.bits);
    ((tn_body_def*)item_of(&a))->user_data = user_data;
}

void tn_scene_set_joint_user_data(tn_scene* scene, tn_joint_id joint, void* user_data)
{
    tni_adding      a    = editing(scene, TNI_PART_JOINT, joint.bits);
    tni_joint_item* item = item_of(&a);
    item->def.user_data  = user_data;
    if (item->constraint != NULL) ((tn_constraint_def*)item->constraint)->user_data = user_data;
}

// ---- Pairs of bodies ---------------------------------------------------------------------------

static tni_adding adding_pair(tn_scene* scene, const char* what, const tni_pair_list* list)
{
    tni_adding a = adding(scene, TNI_PART_COUNT);
    snprintf(a.name, sizeof a.name, "%s %d", what, list->count + 1);
    return a;
}

static bool enter_pair(tni_adding* a, tni_pair_list* list, const void* def, size_t size)
{
    if (!grow(&a->scene->host, &list->items, list->count, &list->capacity, size))
        return lacks_memory(a);
    memcpy((char*)list->items + size * (size_t)list->count++, def, size);
    return true;
}

tn_result tn_scene_exclude_contact(tn_scene* scene, tn_body_id body1, tn_body_id body2)
{
    const tn_contact_pair pair = {body1, body2};
    tni_adding            a    = adding_pair(scene, "contact exclusion", &scene->excludes);
    return finish(&a, tni_check_bodies(&a, body1, body2) &&
                          enter_pair(&a, &scene->excludes, &pair, sizeof pair));
}

tn_result tn_scene_include_contact(tn_scene* scene, tn_body_id body1, tn_body_id body2)
{
    const tn_contact_pair pair = {body1, body2};
    tni_adding            a    = adding_pair(scene, "contact inclusion", &scene->includes);
    return finish(&a, tni_check_bodies(&a, body1, body2) &&
                          enter_pair(&a, &scene->includes, &pair, sizeof pair));
}

tn_result tn_scene_add_pair(tn_scene* scene, const tn_pair_def* def)
{
    tni_adding a = adding_pair(scene, "contact pair", &scene->pairs);
    return finish(&a, tni_check_pair(&a, def) && enter_pair(&a, &scene->pairs, def, sizeof *def));
}

// ---- The scene itself --------------------------------------------------------------------------

tn_result tn_scene_create(const tn_host* host, tn_scene** scene)
{
    const tn_host own = tni_host_or_default(host);
    *scene            = tni_host_take(&own, sizeof **scene);
    if (*scene == NULL) return TN_ERR_MEMORY;
    **scene = (tn_scene){.host            = own,
                         .arena           = tni_arena_make(&own),
                         .gravity         = {0, 0, -9.81},
                         .settings        = tn_default_settings(),
                         .ground_friction = 0.5};
    return TN_OK;
}

void tn_scene_free(tn_scene* scene)
{
    if (scene == NULL) return;
    const tn_host host = scene->host;
    for (int part = 0; part < TNI_PART_COUNT; ++part) {
        tni_part_list* list = &scene->parts[part];
        tni_host_give(&host, list->items, kinds[part].size * (size_t)list->capacity);
        tni_name_table_free(&list->names, &host);
    }
    const size_t size = sizeof(tn_contact_pair);
    tni_host_give(&host, scene->excludes.items, size * (size_t)scene->excludes.capacity);
    tni_host_give(&host, scene->includes.items, size * (size_t)scene->includes.capacity);
    tni_host_give(&host, scene->pairs.items, sizeof(tn_pair_def) * (size_t)scene->pairs.capacity);
    tni_arena_free(&scene->arena);
    tni_host_give(&host, scene, sizeof *scene);
}

tn_result tn_scene_problem(const tn_scene* scene, tn_why* why)
{
    if (why != NULL) *why = scene->problem;
    return scene->problem.result;
}

void tn_scene_set_name(tn_scene* scene, const char* name)
{
    tni_adding a = {.scene = scene, .part = TNI_PART_COUNT};
    if (name == NULL) name = "";
    if (name[0] != 0 && strcmp(name, "ground") != 0 && !tni_check_name(&a, name))
        remember(scene, &a.why);
    else snprintf(scene->name, sizeof scene->name, "%s", name);
}

void tn_scene_set_gravity(tn_scene* scene, tn_vec3 gravity)
{
    tni_adding a = {.scene = scene, .part = TNI_PART_COUNT};
    if (isfinite(gravity.x) && isfinite(gravity.y) && isfinite(gravity.z)) {
        scene->gravity = gravity;
    } else {
        tni_refuse(&a, "gravity must be finite");
        remember(scene, &a.why);
    }
}

void tn_scene_set_settings(tn_scene* scene, const tn_settings* settings)
{
    tn_why why;
    if (tni_settings_check(settings, &why) == TN_OK) scene->settings = *settings;
    else remember(scene, &why);
}

void tn_scene_set_ground(tn_scene* scene, double friction, double restitution)
{
    tn_why why;
    if (friction >= 0 && isfinite(friction) && restitution >= 0 && restitution <= 1) {
        scene->has_ground         = true;
        scene->ground_friction    = friction;
        scene->ground_restitution = restitution;
    } else {
        tni_fail(&why, TN_ERR_MODEL,
                 "ground: friction must be >= 0 and restitution in 0..1, are %g and %g", friction,
                 restitution);
        remember(scene, &why);
    }
}

void tn_scene_set_ground_rolling(tn_scene* scene, double rolling_friction, double spinning_friction)
{
    tn_why why;
    if (!scene->has_ground) {
        tni_fail(&why, TN_ERR_MODEL,
                 "ground: there is none yet: tn_scene_set_ground() comes first");
        remember(scene, &why);
    } else if (rolling_friction >= 0 && isfinite(rolling_friction) && spinning_friction >= 0 &&
               isfinite(spinning_friction)) {
        scene->ground_rolling  = rolling_friction;
        scene->ground_spinning = spinning_friction;
    } else {
        tni_fail(&why, TN_ERR_MODEL,
                 "ground: rolling and spinning friction must be >= 0, are %g and %g",
                 rolling_friction, spinning_friction);
        remember(scene, &why);
    }
}

// ---- Reading back ------------------------------------------------------------------------------

const char* tn_scene_name(const tn_scene* scene)
{
    return scene->name;
}

tn_vec3 tn_scene_gravity(const tn_scene* scene)
{
    return scene->gravity;
}

tn_settings tn_scene_settings(const tn_scene* scene)
{
    return scene->settings;
}

bool tn_scene_has_ground(const tn_scene* scene)
{
    return scene->has_ground;
}

double tn_scene_ground_friction(const tn_scene* scene)
{
    return scene->ground_friction;
}

double tn_scene_ground_restitution(const tn_scene* scene)
{
    return scene->ground_restitution;
}

double tn_scene_ground_rolling_friction(const tn_scene* scene)
{
    return scene->ground_rolling;
}

double tn_scene_ground_spinning_friction(const tn_scene* scene)
{
    return scene->ground_spinning;
}

int tn_scene_body_count(const tn_scene* scene)
{
    return scene->parts[TNI_PART_BODY].count;
}

int tn_scene_joint_count(const tn_scene* scene)
{
    return scene->parts[TNI_PART_JOINT].count;
}

int tn_scene_coupling_count(const tn_scene* scene)
{
    return scene->parts[TNI_PART_COUPLING].count;
}

int tn_scene_spring_count(const tn_scene* scene)
{
    return scene->parts[TNI_PART_SPRING].count;
}

int tn_scene_target_count(const tn_scene* scene)
{
    return scene->parts[TNI_PART_TARGET].count;
}

int tn_scene_load_count(const tn_scene* scene)
{
    return scene->parts[TNI_PART_LOAD].count;
}

int tn_scene_drag_count(const tn_scene* scene)
{
    return scene->parts[TNI_PART_DRAG].count;
}

int tn_scene_exclude_count(const tn_scene* scene)
{
    return scene->excludes.count;
}

int tn_scene_include_count(const tn_scene* scene)
{
    return scene->includes.count;
}

int tn_scene_pair_count(const tn_scene* scene)
{
    return scene->pairs.count;
}

static const void* item_at(const tn_scene* scene, tni_part part, int index)
{
    const tni_part_list* list = &scene->parts[part];
    TN_ASSERT(index >= 0 && index < list->count);
    return (const char*)list->items + kinds[part].size * (size_t)index;
}

const char* tni_part_name(const tn_scene* scene, tni_part part, int index)
{
    return *(const char* const*)item_at(scene, part, index);
}

const tn_body_def* tn_scene_body(const tn_scene* scene, int index)
{
    return item_at(scene, TNI_PART_BODY, index);
}

const tn_joint_def* tn_scene_joint(const tn_scene* scene, int index)
{
    return &((const tni_joint_item*)item_at(scene, TNI_PART_JOINT, index))->def;
}

const tn_constraint_def* tn_scene_constraint(const tn_scene* scene, int index)
{
    return ((const tni_joint_item*)item_at(scene, TNI_PART_JOINT, index))->constraint;
}

const tn_coupling_def* tn_scene_coupling(const tn_scene* scene, int index)
{
    return item_at(scene, TNI_PART_COUPLING, index);
}

const tn_spring_def* tn_scene_spring(const tn_scene* scene, int index)
{
    return item_at(scene, TNI_PART_SPRING, index);
}

const tn_target_def* tn_scene_target(const tn_scene* scene, int index)
{
    return item_at(scene, TNI_PART_TARGET, index);
}

const tn_load_def* tn_scene_load(const tn_scene* scene, int index)
{
    return item_at(scene, TNI_PART_LOAD, index);
}

const tn_drag_def* tn_scene_drag(const tn_scene* scene, int index)
{
    return item_at(scene, TNI_PART_DRAG, index);
}

tn_contact_pair tn_scene_exclude(const tn_scene* scene, int index)
{
    TN_ASSERT(index >= 0 && index < scene->excludes.count);
    return ((const tn_contact_pair*)scene->excludes.items)[index];
}

tn_contact_pair tn_scene_include(const tn_scene* scene, int index)
{
    TN_ASSERT(index >= 0 && index < scene->includes.count);
    return ((const tn_contact_pair*)scene->includes.items)[index];
}

const tn_pair_def* tn_scene_pair(const tn_scene* scene, int index)
{
    TN_ASSERT(index >= 0 && index < scene->pairs.count);
    return (const tn_pair_def*)scene->pairs.items + index;
}

tn_body_id tn_scene_find_body(const tn_scene* scene, const char* name, bool* found)
{
    const tn_body_id id = {tni_name_table_find(&scene->parts[TNI_PART_BODY].names, name)};
    if (found != NULL) *found = id.bits != 0 || strcmp(name, "ground") == 0;
    return id;
}

tn_joint_id tn_scene_find_joint(const tn_scene* scene, const char* name)
{
    return (tn_joint_id){tni_name_table_find(&scene->parts[TNI_PART_JOINT].names, name)};
}

tn_coupling_id tn_scene_find_coupling(const tn_scene* scene, const char* name)
{
    return (tn_coupling_id){tni_name_table_find(&scene->parts[TNI_PART_COUPLING].names, name)};
}

tn_spring_id tn_scene_find_spring(const tn_scene* scene, const char* name)
{
    return (tn_spring_id){tni_name_table_find(&scene->parts[TNI_PART_SPRING].names, name)};
}

tn_target_id tn_scene_find_target(const tn_scene* scene, const char* name)
{
    return (tn_target_id){tni_name_table_find(&scene->parts[TNI_PART_TARGET].names, name)};
}

tn_load_id tn_scene_find_load(const tn_scene* scene, const char* name)
{
    return (tn_load_id){tni_name_table_find(&scene->parts[TNI_PART_LOAD].names, name)};
}

tn_drag_id tn_scene_find_drag(const tn_scene* scene, const char* name)
{
    return (tn_drag_id){tni_name_table_find(&scene->parts[TNI_PART_DRAG].names, name)};
}
