// shapes: what can be touched, and which bodies never touch each other.
//
// Shapes that collide are kept in one list, the world's floor first, then body after body in the
// scene's order; places in this list name the shapes. Left out: meshes, and shapes of affine and
// user-defined bodies, whose surfaces are not where a rigid shape would be.
// Two bodies never touch when a joint, or a user-defined constraint of these two, ties them
// together, or when the scene says so. Their keys, the lower number in the high half, are sorted,
// so that asking takes the logarithm of their count.
#include "model/model.h"
#include "model/scene.h"

// tni_touch.id has 22 bits for either shape and 20 for a feature (contact/find.c).
enum { SHAPES_MAX = 1 << 22, POINTS_MAX = 1 << 20 };

// ---- Shapes -------------------------------------------------------------------------------------

static bool is_touched(const tni_body* body, const tn_shape_def* def)
{
    return def->collide && def->type != TN_SHAPE_MESH && body->kind != TN_BODY_AFFINE &&
           body->kind != TN_BODY_USER;
}

static tni_shape compile_shape(tn_model* model, int body, const tn_shape_def* def)
{
    tni_shape shape = {.type        = def->type,
                       .body        = body,
                       .p           = tni_sub(def->pose.position, model->bodies[body].com),
                       .F           = tni_quat_matrix(tni_quat_normalised(def->pose.orientation)),
                       .radius      = def->radius,
                       .half_length = def->half_length,
                       .half_size   = def->half_size,
                       .friction    = def->friction,
                       .restitution = def->restitution};
    if (def->type != TN_SHAPE_CONVEX) return shape;
    tn_vec3* points   = TNI_TAKE(&model->arena, tn_vec3, def->point_count);
    shape.points      = points;
    shape.point_count = def->point_count;
    shape.radius      = 0; // as far as its points reach
    for (int i = 0; points != NULL && i < def->point_count; ++i) {
        points[i]    = def->points[i];
        shape.radius = fmax(shape.radius, tni_norm(points[i]));
    }
    return shape;
}

static tni_shape floor_of(const tn_scene* scene)
{
    return (tni_shape){.type        = TN_SHAPE_PLANE,
                       .F           = tni_identity3(),
                       .friction    = tn_scene_ground_friction(scene),
                       .restitution = tn_scene_ground_restitution(scene)};
}

static tn_result count_shapes(tn_model* model, const tn_scene* scene, tn_why* why)
{
    model->shape_count = tn_scene_has_ground(scene);
    for (int i = 1; i < model->body_count; ++i) {
        const tn_body_def* def = tn_scene_body(scene, i - 1);
        for (int k = 0; k < def->shape_count; ++k) {
            if (!is_touched(&model->bodies[i], &def->shapes[k])) continue;
            if (def->shapes[k].point_count > POINTS_MAX) {
                return tni_fail(why, TN_ERR_MODEL, "body '%s': shape %d has more than %d points",
                                model->bodies[i].name, k + 1, POINTS_MAX);
            }
            if (++model->shape_count > SHAPES_MAX)
                return tni_fail(why, TN_ERR_MODEL, "more than %d shapes collide", SHAPES_MAX);
        }
    }
    return TN_OK;
}

static tn_result list_shapes(tn_model* model, const tn_scene* scene)
{
    int count     = 0;
    model->shapes = TNI_TAKE(&model->arena, tni_shape, model->shape_count);
    if (model->shapes == NULL) return TN_ERR_MEMORY;
    if (tn_scene_has_ground(scene)) model->shapes[count++] = floor_of(scene);
    for (int i = 1; i < model->body_count; ++i) {
        const tn_body_def* def = tn_scene_body(scene, i - 1);
        for (int k = 0; k < def->shape_count; ++k) {
            if (is_touched(&model->bodies[i], &def->shapes[k]))
                model->shapes[count++] = compile_shape(model, i, &def->shapes[k]);
        }
    }
    return model->arena.failed ? TN_ERR_MEMORY : TN_OK;
}

// ---- Pairs that never touch ---------------------------------------------------------------------

static uint64_t key_of(int body1, int body2)
{
    const int lower = body1 < body2 ? body1 : body2, upper = body1 < body2 ? body2 : body1;
    return (uint64_t)lower << 32 | (uint64_t)upper;
}

// keys[i] goes down until no child is larger.
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

static tn_result list_apart(tn_model* model, const tn_scene* scene)
{
    const int excluded = tn_scene_exclude_count(scene);
    uint64_t* keys =
        TNI_TAKE(&model->arena, uint64_t, model->joint_count + model->user_count + excluded);
    if (keys == NULL) return TN_ERR_MEMORY;
    int count = 0;
    for (int i = 0; i < model->joint_count; ++i) { // what a rope ties may knock together
        const tni_joint* joint = &model->joints[i];
        if (model->constraints[joint->constraint].row_count > 0)
            keys[count++] = key_of(joint->body1, joint->body2);
    }
    for (int i = 0; i < model->user_count; ++i) {
        const tni_user_constraint* user = &model->users[i];
        if (user->body_count == 2) keys[count++] = key_of(user->bodies[0], user->bodies[1]);
    }
    for (int i = 0; i < excluded; ++i) {
        const tn_contact_pair pair = tn_scene_exclude(scene, i);
        keys[count++]              = key_of((int)pair.body1.bits, (int)pair.body2.bits);
    }
    sort_keys(keys, count);
    model->apart       = keys;
    model->apart_count = count;
    return TN_OK;
}

bool tni_may_touch(const tn_model* model, int body1, int body2)
{
    if (body1 == body2) return false;
    if (model->bodies[body1].dim == 0 && model->bodies[body2].dim == 0) return false;
    const uint64_t key   = key_of(body1, body2);
    int            lower = 0, upper = model->apart_count; // the first key >= ours lies between
    while (lower < upper) {
        const int middle = lower + (upper - lower) / 2;
        if (model->apart[middle] < key) lower = middle + 1;
        else upper = middle;
    }
    return !(lower < model->apart_count && model->apart[lower] == key);
}

tn_result tni_compile_shapes(tn_model* model, const tn_scene* scene, tn_why* why)
{
    tn_result result = count_shapes(model, scene, why);
    if (result == TN_OK && model->shape_count > 0) result = list_shapes(model, scene);
    if (result == TN_OK && model->shape_count > 0) result = list_apart(model, scene);
    return result;
}
