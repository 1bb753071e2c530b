// shapes: collision shapes, their contact properties, and pairs of bodies without contact.
//
// Shapes that collide are kept in one list, the ground plane first, then body after body in the
// scene's order; a shape is identified by its index in it. Shapes of affine and user-defined bodies
// are left out: their surfaces are not where a rigid shape would be. A mesh of a static body is one
// shape, its triangles; on any other body it is decomposed into convex pieces, which are
// consecutive shapes. Equal meshes are built and decomposed once.
//
// Two bodies have no contact if the scene excludes the pair, or if a joint, or a user-defined
// constraint of these two, connects them and the scene does not include the pair. Pairs are stored
// as keys, the lower index in the high half, sorted for binary search; so are pairs with contact
// properties of their own.
#include "geom/convex_hull.h"
#include "geom/height_field.h"
#include "geom/mesh.h"
#include "model/model.h"
#include "model/scene.h"

// tni_contact.id has 20 bits for either shape and 23 for a feature (contact/find_contacts.c).
enum { SHAPES_MAX = 1 << 20, POINTS_MAX = 1 << 20, SUBSTEPS_MAX = 256 };

static const double pieces_tolerance = 0.02; // relative to the longest edge of the mesh's box
// Lengths [m] whose sixth powers neither vanish nor overflow: contact detection multiplies them.
static const double shortest = 1e-50, longest = 1e50;

/// A mesh for contact: triangles, or convex pieces.
typedef struct made_mesh {
    const tn_shape_def* def;
    bool                moves;
    tni_mesh*           mesh; ///< NULL: of a moving body
    int                 piece_count;
    tni_polytope*       pieces;
} made_mesh;

/// Meshes in the order of shapes, and the distinct ones.
typedef struct builder {
    tn_model*       model;
    const tn_scene* scene;
    tn_why*         why;
    tni_arena       scratch;
    int             count, mesh_count; ///< shapes, and meshes among them, each counted once
    made_mesh**     meshes;            ///< by shape that is a mesh
    made_mesh*      made;              ///< the distinct ones
    int             made_count;
    /// The last box and convex, by type; reused if the next is equal.
    const tn_shape_def* last[TN_SHAPE_TYPE_COUNT];
    const tni_polytope* last_polytope[TN_SHAPE_TYPE_COUNT];
} builder;

/// A shape of the scene: which one of which body.
typedef struct place {
    int                 body, index;
    const tn_shape_def* def;
} place;

static bool can_collide(const tni_body* body, const tn_shape_def* def)
{
    return def->collide && body->kind != TN_BODY_AFFINE && body->kind != TN_BODY_USER;
}

// Advances to the next shape that collides, starting with the present one; false: there is none.
static bool next_colliding(const builder* b, place* at)
{
    for (; at->body < b->model->body_count; ++at->body, at->index = 0) {
        const tn_body_def* def = tn_scene_body(b->scene, at->body - 1);
        for (; at->index < def->shape_count; ++at->index) {
            at->def = &def->shapes[at->index];
            if (can_collide(&b->model->bodies[at->body], at->def)) return true;
        }
    }
    return false;
}

// ---- Meshes -------------------------------------------------------------------------------------

static tn_result refuse(const builder* b, const place* at, const char* what)
{
    return tni_fail(b->why, TN_ERR_MODEL, "body '%s': shape %d: %s",
                    b->model->bodies[at->body].name, at->index + 1, what);
}

static double tolerance_of(const tn_shape_def* def)
{
    tn_vec3 middle;
    if (!isnan(def->pieces_tolerance)) return def->pieces_tolerance;
    return 2 * pieces_tolerance * tni_points_extent(def->vertices, def->vertex_count, &middle);
}

static bool same_mesh(const tn_shape_def* a, const tn_shape_def* b)
{
    return a->vertex_count == b->vertex_count && a->triangle_count == b->triangle_count &&
           memcmp(a->triangles, b->triangles, 3 * sizeof(int) * (size_t)a->triangle_count) == 0 &&
           memcmp(a->vertices, b->vertices, sizeof(tn_vec3) * (size_t)a->vertex_count) == 0;
}

static made_mesh* find_made(builder* b, const tn_shape_def* def, bool moves)
{
    for (int i = 0; i < b->made_count; ++i) {
        made_mesh* made = &b->made[i];
        if (made->moves != moves || !same_mesh(made->def, def)) continue;
        if (!moves || tolerance_of(made->def) == tolerance_of(def)) return made;
    }
    return NULL;
}

// Hulls of the pieces; pieces as thin as rounding are left out.
static tn_result make_hulls(builder* b, const place* at, const tni_convex_pieces* pieces,
                            made_mesh* made)
{
    tni_arena* arena = &b->model->arena;
    made->pieces     = TNI_TAKE(arena, tni_polytope, pieces->count);
    if (made->pieces == NULL) return TN_ERR_MEMORY;
    for (int i = 0; i < pieces->count; ++i) {
        const int       first = pieces->start[i], count = pieces->start[i + 1] - first;
        const tn_result result = tni_polytope_create(arena, pieces->points + first, count,
                                                     &made->pieces[made->piece_count]);
        if (result == TN_ERR_MEMORY) return result;
        if (result == TN_OK) ++made->piece_count;
    }
    return made->piece_count > 0 ? TN_OK : refuse(b, at, "its mesh encloses no volume");
}

static tn_result cut_mesh(builder* b, const place* at, const tni_mesh* mesh, made_mesh* made)
{
    const double      tolerance = tolerance_of(at->def);
    tni_convex_pieces pieces;
    if (!mesh->closed) {
        return refuse(b, at,
                      "its mesh is not closed, so it cannot be split into convex pieces, which a "
                      "moving body needs");
    }
    const tn_result result =
        tni_mesh_convex_pieces(&b->scratch, mesh, tolerance, SUBSTEPS_MAX, &pieces);
    if (result == TN_ERR_MODEL) return refuse(b, at, "its mesh encloses no volume");
    if (result != TN_OK) return result;
    if (!(pieces.error <= tolerance)) {
        return tni_fail(b->why, TN_ERR_MODEL,
                        "body '%s': shape %d: %d convex pieces approximate its mesh to %g m only; "
                        "its pieces_tolerance is %g m",
                        b->model->bodies[at->body].name, at->index + 1, pieces.count, pieces.error,
                        tolerance);
    }
    return make_hulls(b, at, &pieces, made);
}

static tn_result make_mesh(builder* b, const place* at, made_mesh* made)
{
    const tn_shape_def* def   = at->def;
    tni_arena*          arena = made->moves ? &b->scratch : &b->model->arena;
    tni_mesh*           mesh  = TNI_TAKE(arena, tni_mesh, 1);
    tn_why              why   = {0};
    if (mesh == NULL) return TN_ERR_MEMORY;
    const tn_result result = tni_mesh_create(arena, def->vertices, def->vertex_count,
                                             def->triangles, def->triangle_count, mesh, &why);
    if (result == TN_ERR_MEMORY) return result;
    if (result != TN_OK) return refuse(b, at, why.text);
    if (made->moves) return cut_mesh(b, at, mesh, made);
    made->mesh        = mesh;
    made->piece_count = 1;
    return TN_OK;
}

static tn_result make_meshes(builder* b)
{
    int count = 0;
    b->meshes = TNI_TAKE(&b->scratch, made_mesh*, b->mesh_count);
    b->made   = TNI_TAKE(&b->scratch, made_mesh, b->mesh_count);
    if (b->made == NULL) return TN_ERR_MEMORY;
    for (place at = {.body = 1}; next_colliding(b, &at); ++at.index) {
        if (at.def->type != TN_SHAPE_MESH) continue;
        const bool moves = b->model->bodies[at.body].kind != TN_BODY_STATIC;
        made_mesh* made  = find_made(b, at.def, moves);
        if (made == NULL) {
            made  = &b->made[b->made_count];
            *made = (made_mesh){.def = at.def, .moves = moves};
            TRY(make_mesh(b, &at, made));
            ++b->made_count;
        }
        b->meshes[count++] = made;
        b->count += made->piece_count - 1;
        if (b->count > SHAPES_MAX) break; // refused by count_shapes()
    }
    return TN_OK;
}

// ---- Shapes -------------------------------------------------------------------------------------

static bool is_valid_length(double length)
{
    return length >= shortest && length <= longest;
}

static bool are_valid_points(const tn_vec3* points, int count)
{
    tn_vec3      middle;
    const double extent = tni_points_extent(points, count, &middle);
    return is_valid_length(extent) && tni_max_abs(middle) <= longest;
}

static bool is_valid_field(const tn_shape_def* def)
{
    double steep = 0;
    for (int i = 0; i < def->rows * def->columns; ++i) steep = fmax(steep, fabs(def->heights[i]));
    return is_valid_length(def->spacing[0]) && is_valid_length(def->spacing[1]) && steep <= longest;
}

static bool has_valid_size(const tn_shape_def* def)
{
    const tn_vec3 a = def->half_size;
    switch (def->type) {
    case TN_SHAPE_SPHERE: return is_valid_length(def->radius);
    case TN_SHAPE_BOX: return is_valid_length(a.x) && is_valid_length(a.y) && is_valid_length(a.z);
    case TN_SHAPE_CAPSULE:
    case TN_SHAPE_CYLINDER:
        return is_valid_length(def->radius) && is_valid_length(def->half_length);
    case TN_SHAPE_CONVEX: return are_valid_points(def->points, def->point_count);
    case TN_SHAPE_MESH: return are_valid_points(def->vertices, def->vertex_count);
    case TN_SHAPE_HEIGHTS: return is_valid_field(def);
    default: return true;
    }
}

static tn_result check_shape(const builder* b, const place* at)
{
    const tn_shape_def* def  = at->def;
    const char*         name = b->model->bodies[at->body].name;
    const int           n    = at->index + 1;
    if (def->point_count > POINTS_MAX) {
        return tni_fail(b->why, TN_ERR_MODEL, "body '%s': shape %d has more than %d points", name,
                        n, POINTS_MAX);
    }
    if (def->triangle_count > TNI_TRIANGLES_MAX) {
        return tni_fail(b->why, TN_ERR_MODEL, "body '%s': shape %d has more than %d triangles",
                        name, n, TNI_TRIANGLES_MAX);
    }
    if (has_valid_size(def) && tni_max_abs(def->pose.position) <= longest &&
        tni_max_abs(def->surface_velocity) <= longest)
        return TN_OK;
    return tni_fail(b->why, TN_ERR_MODEL, "body '%s': shape %d: its lengths must lie in %g..%g",
                    name, n, shortest, longest);
}

static tn_result count_shapes(builder* b)
{
    b->count = tn_scene_has_ground(b->scene);
    for (place at = {.body = 1}; next_colliding(b, &at); ++at.index) {
        TRY(check_shape(b, &at));
        b->mesh_count += at.def->type == TN_SHAPE_MESH;
        if (++b->count > SHAPES_MAX) break;
    }
    if (b->mesh_count > 0 && b->count <= SHAPES_MAX) TRY(make_meshes(b));
    if (b->count <= SHAPES_MAX) return TN_OK;
    return tni_fail(b->why, TN_ERR_MODEL, "more than %d shapes collide", SHAPES_MAX);
}

static tni_shape start_shape(const builder* b, const place* at)
{
    const tn_shape_def* def   = at->def;
    const tn_vec3       v     = def->surface_velocity;
    tni_shape           shape = {.geometry = {.type        = def->type,
                                              .radius      = def->radius,
                                              .half_length = def->half_length,
                                              .half_size   = def->half_size},
                                 .body     = at->body,
                                 .p = tni_sub(def->pose.position, b->model->bodies[at->body].com),
                                 .F = tni_quat_matrix(tni_quat_normalised(def->pose.orientation)),
                                 .material = {def->friction, def->restitution, def->rolling_friction,
                                              def->spinning_friction, def->stiffness, def->damping},
                                 .belt       = v.x != 0 || v.y != 0 || v.z != 0,
                                 .group      = def->group,
                                 .with       = def->collides_with,
                                 .continuous = tn_scene_body(b->scene, at->body - 1)->continuous};
    shape.surface             = tni_mul(&shape.F, v);
    return shape;
}

static tni_shape ground_plane(const tn_scene* scene)
{
    return (tni_shape){.geometry = {.type = TN_SHAPE_PLANE},
                       .F        = tni_identity3(),
                       .material = {tn_scene_ground_friction(scene),
                                    tn_scene_ground_restitution(scene),
                                    tn_scene_ground_rolling_friction(scene),
                                    tn_scene_ground_spinning_friction(scene), TN_UNSET, 0},
                       .with     = UINT32_MAX};
}

static bool same_polytope(const tn_shape_def* a, const tn_shape_def* b)
{
    if (a->type == TN_SHAPE_BOX) return memcmp(&a->half_size, &b->half_size, sizeof(tn_vec3)) == 0;
    return a->point_count == b->point_count &&
           memcmp(a->points, b->points, sizeof(tn_vec3) * (size_t)a->point_count) == 0;
}

// The polytope of a box or convex; the last one of its type is reused if equal.
static tn_result make_polytope(builder* b, const place* at, tni_geometry* geometry)
{
    const tn_shape_def* def    = at->def;
    const tn_shape_def* before = b->last[def->type];
    tni_arena*          arena  = &b->model->arena;
    geometry->polytope         = b->last_polytope[def->type];
    if (before != NULL && same_polytope(before, def)) return TN_OK;
    tni_polytope* polytope = TNI_TAKE(arena, tni_polytope, 1);
    if (polytope == NULL) return TN_ERR_MEMORY;
    const tn_result result =
        def->type == TN_SHAPE_BOX
            ? tni_polytope_of_box(arena, def->half_size, polytope)
            : tni_polytope_create(arena, def->points, def->point_count, polytope);
    geometry->polytope          = polytope;
    b->last[def->type]          = def;
    b->last_polytope[def->type] = polytope;
    return result == TN_ERR_MODEL ? refuse(b, at, "its points span no volume") : result;
}

static tn_result make_heights(const builder* b, const tn_shape_def* def, tni_geometry* geometry)
{
    const size_t      count   = (size_t)def->rows * (size_t)def->columns;
    tni_height_field* heights = TNI_TAKE(&b->model->arena, tni_height_field, 1);
    double*           z       = TNI_TAKE(&b->model->arena, double, count);
    if (z == NULL) return TN_ERR_MEMORY;
    memcpy(z, def->heights, sizeof(double) * count);
    *heights = (tni_height_field){.columns = def->columns,
                                  .rows    = def->rows,
                                  .dx      = def->spacing[0],
                                  .dy      = def->spacing[1],
                                  .z       = z,
                                  .lowest  = z[0],
                                  .highest = z[0]};
    for (size_t i = 1; i < count; ++i) {
        heights->lowest  = fmin(heights->lowest, z[i]);
        heights->highest = fmax(heights->highest, z[i]);
    }
    geometry->height_field = heights;
    return TN_OK;
}

// The shapes of a mesh, from shapes[0] on, which is the template of each.
static void put_mesh(const made_mesh* made, tni_shape* shapes)
{
    for (int i = made->piece_count - 1; i >= 0; --i) {
        shapes[i]               = shapes[0];
        shapes[i].geometry.mesh = made->mesh;
        if (!made->moves) continue;
        shapes[i].geometry.type     = TN_SHAPE_CONVEX;
        shapes[i].geometry.polytope = &made->pieces[i];
    }
}

static tn_result list_shapes(builder* b)
{
    tn_model* model = b->model;
    int       count = 0, mesh = 0;
    model->shapes = TNI_TAKE(&model->arena, tni_shape, b->count);
    if (model->shapes == NULL) return TN_ERR_MEMORY;
    if (tn_scene_has_ground(b->scene)) model->shapes[count++] = ground_plane(b->scene);
    for (place at = {.body = 1}; next_colliding(b, &at); ++at.index) {
        const tn_shape_type type   = at.def->type;
        tni_shape*          shape  = &model->shapes[count++];
        tn_result           result = TN_OK;
        *shape                     = start_shape(b, &at);
        if (type == TN_SHAPE_BOX || type == TN_SHAPE_CONVEX)
            result = make_polytope(b, &at, &shape->geometry);
        if (type == TN_SHAPE_HEIGHTS) result = make_heights(b, at.def, &shape->geometry);
        if (type == TN_SHAPE_MESH) {
            put_mesh(b->meshes[mesh], shape);
            count += b->meshes[mesh++]->piece_count - 1;
        }
        if (result != TN_OK) return result;
    }
    TN_ASSERT(count == b->count);
    model->shape_count = count;
    return TN_OK;
}

// ---- Pairs without contact ----------------------------------------------------------------------

static uint64_t key_of(int body1, int body2)
{
    const int lower = body1 < body2 ? body1 : body2, upper = body1 < body2 ? body2 : body1;
    return (uint64_t)lower << 32 | (uint64_t)upper;
}

// Heap: moves keys[i] down until no child is larger.
static void sift(uint64_t* keys, int i, int count)
{
    const uint64_t key = keys[i];
    for (int child = 2 * i + 1; child < count; child = 2 * i + 1) {
        if (child + 1 < count && keys[child + 1] > keys[child]) ++child;
        if (keys[child] <= key) break;
        keys[i] = keys[child];
        i       = child;
    }
    keys[i] = key;
}

static void sort_keys(uint64_t* keys, int count) // heapsort
{
    for (int i = count / 2 - 1; i >= 0; --i) sift(keys, i, count);
    for (int last = count - 1; last > 0; --last) {
        const uint64_t largest = keys[0];
        keys[0]                = keys[last];
        keys[last]             = largest;
        sift(keys, 0, last);
    }
}

// The first of sorted keys that is >= key.
static int first_from(const uint64_t* keys, int count, uint64_t key)
{
    int lower = 0, upper = count; // bounds of the result
    while (lower < upper) {
        const int middle = lower + (upper - lower) / 2;
        if (keys[middle] < key) lower = middle + 1;
        else upper = middle;
    }
    return lower;
}

static bool contains(const uint64_t* keys, int count, uint64_t key)
{
    const int at = first_from(keys, count, key);
    return at < count && keys[at] == key;
}

static uint64_t key_of_pair(tn_contact_pair pair)
{
    return key_of((int)pair.body1.bits, (int)pair.body2.bits);
}

// Pairs of bodies connected by constraints; returns how many.
static int list_joined(const tn_model* model, uint64_t* keys)
{
    int count = 0;
    for (int i = 0; i < model->joint_count; ++i) { // bodies connected by a rope may collide
        const tni_joint* joint = &model->joints[i];
        if (model->constraints[joint->constraint].row_count > 0)
            keys[count++] = key_of(joint->body1, joint->body2);
    }
    for (int i = 0; i < model->user_count; ++i) {
        const tni_user_constraint* user = &model->users[i];
        if (user->body_count == 2) keys[count++] = key_of(user->bodies[0], user->bodies[1]);
    }
    return count;
}

static tn_result list_excluded(builder* b)
{
    tn_model* model    = b->model;
    const int excludes = tn_scene_exclude_count(b->scene);
    const int includes = tn_scene_include_count(b->scene);
    const int most     = model->joint_count + model->user_count + excludes;
    uint64_t* keys     = TNI_TAKE(&model->arena, uint64_t, most);
    uint64_t* included = TNI_TAKE(&b->scratch, uint64_t, includes);
    if (keys == NULL || included == NULL) return TN_ERR_MEMORY;
    for (int i = 0; i < includes; ++i) included[i] = key_of_pair(tn_scene_include(b->scene, i));
    sort_keys(included, includes);
    const int joined = list_joined(model, keys);
    int       count  = 0;
    for (int i = 0; i < joined; ++i) {
        if (!contains(included, includes, keys[i])) keys[count++] = keys[i];
    }
    for (int i = 0; i < excludes; ++i) keys[count++] = key_of_pair(tn_scene_exclude(b->scene, i));
    sort_keys(keys, count);
    model->apart       = keys;
    model->apart_count = count;
    return TN_OK;
}

bool tni_may_touch(const tn_model* model, int body1, int body2)
{
    if (body1 == body2) return false;
    if (model->bodies[body1].dim == 0 && model->bodies[body2].dim == 0) return false;
    return !contains(model->apart, model->apart_count, key_of(body1, body2));
}

bool tni_shapes_may_touch(const tn_model* model, int shape1, int shape2)
{
    const tni_shape *a = &model->shapes[shape1], *b = &model->shapes[shape2];
    if (!tni_is_convex(a->geometry.type) && !tni_is_convex(b->geometry.type)) return false;
    return (a->with >> b->group & 1) != 0 && (b->with >> a->group & 1) != 0 &&
           tni_may_touch(model, a->body, b->body);
}

// ---- Materials ----------------------------------------------------------------------------------

static void note_soft(tn_model* model, int body, int other)
{
    if (model->soft_body < 0) model->soft_body = body != 0 ? body : other;
}

// Stores each pair at the position of its key among the sorted ones.
static tn_result list_pairs(builder* b)
{
    tn_model*          model = b->model;
    const int          count = tn_scene_pair_count(b->scene);
    uint64_t*          keys  = TNI_TAKE(&b->scratch, uint64_t, count);
    tni_pair_material* pairs = TNI_TAKE(&model->arena, tni_pair_material, count);
    if (keys == NULL || pairs == NULL) return TN_ERR_MEMORY;
    for (int i = 0; i < count; ++i) {
        const tn_pair_def* def = tn_scene_pair(b->scene, i);
        keys[i]                = key_of((int)def->body1.bits, (int)def->body2.bits);
    }
    sort_keys(keys, count);
    for (int i = 0; i < count; ++i) {
        const tn_pair_def*       def = tn_scene_pair(b->scene, i);
        const uint64_t           key = key_of((int)def->body1.bits, (int)def->body2.bits);
        tni_pair_material* const to  = &pairs[first_from(keys, count, key)];
        if (to->key == key) {
            return tni_fail(b->why, TN_ERR_MODEL, "contact: there are two pairs of '%s' and '%s'",
                            model->bodies[def->body1.bits].name,
                            model->bodies[def->body2.bits].name);
        }
        *to = (tni_pair_material){key,
                                  {def->friction, def->restitution, def->rolling_friction,
                                   def->spinning_friction, def->stiffness, def->damping}};
        if (!isnan(def->stiffness)) note_soft(model, (int)def->body2.bits, (int)def->body1.bits);
    }
    model->pairs      = pairs;
    model->pair_count = count;
    return TN_OK;
}

static const tni_material* material_of_pair(const tn_model* model, int body1, int body2)
{
    const uint64_t key   = key_of(body1, body2);
    int            lower = 0, upper = model->pair_count;
    while (lower < upper) {
        const int middle = lower + (upper - lower) / 2;
        if (model->pairs[middle].key < key) lower = middle + 1;
        else upper = middle;
    }
    if (lower == model->pair_count || model->pairs[lower].key != key) return NULL;
    return &model->pairs[lower].material;
}

// sqrt(a b), without overflow of a b.
static double geometric_mean(double a, double b)
{
    return isfinite(a * b) ? sqrt(a * b) : sqrt(a) * sqrt(b);
}

// Two springs in a row; NaN is rigid.
static double one_after_the_other(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : a / (1 + a / b);
}

tni_material tni_material_of(const tn_model* model, int shape1, int shape2)
{
    const tni_shape *   s1 = &model->shapes[shape1], *s2 = &model->shapes[shape2];
    const tni_material *a = &s1->material, *b = &s2->material;
    tni_material        m = {.friction    = geometric_mean(a->friction, b->friction),
                             .restitution = fmax(a->restitution, b->restitution),
                             .rolling     = fmax(a->rolling, b->rolling),
                             .spinning    = fmax(a->spinning, b->spinning),
                             .stiffness   = one_after_the_other(a->stiffness, b->stiffness),
                             .damping     = fmax(a->damping, b->damping)};
    const tni_material* own =
        model->pair_count > 0 ? material_of_pair(model, s1->body, s2->body) : NULL;
    if (own == NULL) return m;
    return (tni_material){.friction    = tni_given_or(own->friction, m.friction),
                          .restitution = tni_given_or(own->restitution, m.restitution),
                          .rolling     = tni_given_or(own->rolling, m.rolling),
                          .spinning    = tni_given_or(own->spinning, m.spinning),
                          .stiffness   = tni_given_or(own->stiffness, m.stiffness),
                          .damping     = tni_given_or(own->damping, m.damping)};
}

tn_result tni_compile_shapes(tn_model* model, const tn_scene* scene, tn_why* why)
{
    builder b = {
        .model = model, .scene = scene, .why = why, .scratch = tni_arena_make(&model->arena.host)};
    tn_result result = count_shapes(&b);
    model->soft_body = -1;
    if (result == TN_OK && b.count > 0) {
        result = list_shapes(&b);
        for (int i = 0; result == TN_OK && i < model->shape_count; ++i)
            if (!isnan(model->shapes[i].material.stiffness))
                note_soft(model, model->shapes[i].body, 0);
        if (result == TN_OK) result = list_excluded(&b);
        if (result == TN_OK && tn_scene_pair_count(scene) > 0) result = list_pairs(&b);
    }
    tni_arena_free(&b.scratch);
    return result;
}
