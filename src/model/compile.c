// compile: from the scene's defs to the model's flat arrays.
//
// Body positions become those of centres of mass, joints two frames, points of forces relative to
// centres of mass. The constraint graph (model.h) is set up and passed to the symbolic analysis.
// The scene has checked each def by itself; checks that need several of them are here.
#include "math/elementary.h"
#include "model/inertia.h"
#include "model/model.h"
#include "model/scene.h"

#include <stdio.h>

static const double length_min   = 1e-12; // closer anchors coincide [m]
static const double distance_max = 1e150; // the squares of larger numbers may overflow
static const double no_limit     = 1e30;  // limits beyond this limit nothing

static const char* copy_text(tn_model* model, const char* text)
{
    const size_t size = strlen(text) + 1;
    char*        copy = TNI_TAKE(&model->arena, char, size);
    return copy != NULL ? memcpy(copy, text, size) : NULL;
}

static tn_quat unit(tn_quat q)
{
    return tni_quat_normalised(q);
}

// ---- Bodies -------------------------------------------------------------------------------------

static void size_body(tni_body* body, const tn_body_def* def)
{
    static const int dims[] = {
        [TN_BODY_RIGID] = 6, [TN_BODY_PARTICLE] = 3, [TN_BODY_PLANAR] = 3, [TN_BODY_AFFINE] = 12};
    static const int counts[] = {
        [TN_BODY_RIGID] = 7, [TN_BODY_PARTICLE] = 3, [TN_BODY_PLANAR] = 3, [TN_BODY_AFFINE] = 12};
    switch (def->kind) {
    case TN_BODY_STATIC:
    case TN_BODY_KINEMATIC: return;
    case TN_BODY_USER:
        body->dim     = def->table->dim;
        body->q_count = def->table->coordinate_count;
        return;
    default: body->dim = dims[def->kind]; body->q_count = counts[def->kind];
    }
}

static const tn_key* copy_keys(tn_model* model, const tn_key* keys, int count)
{
    tn_key* copy = TNI_TAKE(&model->arena, tn_key, count);
    for (int i = 0; copy != NULL && i < count; ++i) {
        copy[i]                  = keys[i];
        copy[i].pose.orientation = unit(keys[i].pose.orientation);
    }
    return copy;
}

static const double* copy_numbers(tn_model* model, const double* numbers, int count)
{
    double* copy = TNI_TAKE(&model->arena, double, count);
    if (copy != NULL && numbers != NULL) memcpy(copy, numbers, sizeof(double) * (size_t)count);
    return copy;
}

// Lame's constants times the volume, from Young's modulus and Poisson's ratio.
static void compile_elasticity(tni_body* body, const tn_body_def* def, double volume)
{
    const double E = def->young * volume, nu = def->poisson;
    body->lame_mu     = E / (2 * (1 + nu));
    body->lame_lambda = E * nu / ((1 + nu) * (1 - 2 * nu));
}

static tn_result compile_inertia(const tn_host* host, tni_body* body, const tn_body_def* def,
                                 tn_why* why)
{
    double I[6] = {0}, volume = 0;
    TRY(tni_body_inertia(host, def, &body->mass, &body->com, I, &volume, why));
    body->inertia = (tni_mat3){{I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2]}};
    if (def->kind == TN_BODY_AFFINE) { // Q = tr(I)/2 - I
        const double half_trace = 0.5 * (I[0] + I[1] + I[2]);
        for (int i = 0; i < 9; ++i)
            body->inertia.m[i] = (i % 4 == 0 ? half_trace : 0) - body->inertia.m[i];
        if (def->young > 0 && !(volume > 0)) {
            return tni_fail(why, TN_ERR_MODEL,
                            "body '%s': elasticity needs a volume, or shapes that have one",
                            body->name);
        }
        compile_elasticity(body, def, volume);
    }
    return TN_OK;
}

static bool is_in_range(tn_vec3 a) // written so that NaN fails
{
    return fabs(a.x) <= distance_max && fabs(a.y) <= distance_max && fabs(a.z) <= distance_max;
}

static tn_result check_start(const tni_body* body, tn_why* why)
{
    const char* what = !is_in_range(body->com)                      ? "centre of mass"
                       : !is_in_range(body->start.position)         ? "position"
                       : !is_in_range(body->start_velocity.angular) ? "angular velocity"
                       : !is_in_range(body->start_velocity.linear)  ? "velocity"
                                                                    : NULL;
    if (what == NULL) return TN_OK;
    return tni_fail(why, TN_ERR_MODEL, "body '%s': its %s is beyond %g", body->name, what,
                    distance_max);
}

static tn_result compile_body(tn_model* model, int index, const tn_body_def* def, tn_why* why)
{
    tni_body* body = &model->bodies[index];
    body->name     = copy_text(model, def->name);
    body->kind     = def->kind;
    body->node     = -1;
    size_body(body, def);
    body->turns = def->kind != TN_BODY_PARTICLE &&
                  (def->kind != TN_BODY_USER || def->table->direction != NULL);
    body->start.orientation = unit(def->pose.orientation);
    if (def->kind == TN_BODY_PARTICLE)
        body->start.orientation = (tn_quat){1, 0, 0, 0}; // it has none
    if (def->kind == TN_BODY_KINEMATIC) {
        body->keys      = copy_keys(model, def->keys, def->key_count);
        body->key_count = def->key_count;
        if (body->keys != NULL) body->start = body->keys[0].pose;
        return TN_OK;
    }
    if (def->kind == TN_BODY_USER) {
        body->table  = def->table;
        body->data   = def->data;
        body->user_q = copy_numbers(model, def->user_q, body->q_count);
        body->user_u = copy_numbers(model, def->user_u, body->dim);
    } else if (body->dim > 0) {
        TRY(compile_inertia(&model->arena.host, body, def, why));
    }
    const tn_vec3 arm    = tni_rotate(body->start.orientation, body->com);
    body->start.position = tni_add(def->pose.position, arm);
    body->start_velocity.linear =
        tni_add(def->velocity.linear, tni_cross(def->velocity.angular, arm));
    body->start_velocity.angular = def->velocity.angular;
    if (body->dim > 0) {
        body->node    = model->free_count++;
        body->q_start = model->q_count;
        body->u_start = model->u_count;
        model->q_count += body->q_count;
        model->u_count += body->dim;
    }
    return check_start(body, why);
}

static tn_result compile_bodies(tn_model* model, const tn_scene* scene, tn_why* why)
{
    const int count   = tn_scene_body_count(scene);
    model->body_count = count + 1;
    model->bodies     = TNI_TAKE(&model->arena, tni_body, count + 1);
    if (model->bodies == NULL) return TN_ERR_MEMORY;
    model->bodies[0] = (tni_body){.name  = "ground",
                                  .kind  = TN_BODY_STATIC,
                                  .node  = -1,
                                  .turns = true,
                                  .start = {{0, 0, 0}, {1, 0, 0, 0}}};
    for (int i = 0; i < count; ++i) {
        TRY(compile_body(model, i + 1, tn_scene_body(scene, i), why));
    }
    model->free_bodies = TNI_TAKE(&model->arena, int, model->free_count);
    for (int i = 1; model->free_bodies != NULL && i < model->body_count; ++i) {
        if (model->bodies[i].node >= 0) model->free_bodies[model->bodies[i].node] = i;
    }
    return TN_OK;
}

// A point of the body frame, relative to the centre of mass. User-defined bodies keep their own
// frame.
static tn_vec3 from_com(const tni_body* body, tn_vec3 point)
{
    return tni_sub(point, body->com);
}

// ---- Joints -------------------------------------------------------------------------------------

// A joint frame given in the world, in the frame of a body at its start. User-defined bodies map
// points and directions themselves; their frame is the start pose of the def.
static void frame_in_body(const tni_body* body, tn_vec3 anchor, const tni_mat3* axes, tn_vec3* p,
                          tni_mat3* F)
{
    const tni_mat3 R = tni_quat_matrix(body->start.orientation), Rt = tni_transposed(&R);
    *p = tni_mul(&Rt, tni_sub(anchor, body->start.position));
    *F = tni_mat_mul(&Rt, axes);
}

static tni_mat3 axes_at_anchor(const tn_joint_def* def, bool flat)
{
    const tn_vec3 z = tni_normalised(def->axis), up = {0, 0, 1};
    if (def->type == TN_JOINT_UNIVERSAL) {
        const tn_vec3 x = tni_normalised(def->axis2);
        return tni_columns(x, tni_cross(z, x), z);
    }
    if (flat && fabs(z.z) < 0.5) return tni_columns(tni_cross(up, z), up, z);
    const tn_vec3 x = tni_perpendicular(z);
    return tni_columns(x, tni_cross(z, x), z);
}

static void compile_frames(const tn_model* model, tni_joint* joint, const tn_joint_def* def,
                           bool flat)
{
    const tni_body *body1 = &model->bodies[joint->body1], *body2 = &model->bodies[joint->body2];
    if (def->form == TN_JOINT_BY_ANCHOR) {
        const tni_mat3 axes = axes_at_anchor(def, flat);
        frame_in_body(body1, def->anchor, &axes, &joint->p1, &joint->F1);
        frame_in_body(body2, def->anchor, &axes, &joint->p2, &joint->F2);
        return;
    }
    joint->p1 = from_com(body1, def->frame1.position);
    joint->p2 = from_com(body2, def->frame2.position);
    joint->F1 = tni_quat_matrix(unit(def->frame1.orientation));
    joint->F2 = tni_quat_matrix(unit(def->frame2.orientation));
}

static tn_vec3 anchor_at_start(const tni_body* body, tn_vec3 p)
{
    if (body->kind == TN_BODY_USER) {
        tn_vec3 at;
        body->table->point(body->data, body->user_q, body->user_u, p, &at, NULL, NULL);
        return at;
    }
    return tni_add(body->start.position, tni_rotate(body->start.orientation, p));
}

// Body 2's round shape: its centre and, for discs, its axis. A given radius takes precedence.
static void compile_rolling(const tn_model* model, tni_joint* joint, const tn_joint_def* def,
                            const tn_scene* scene)
{
    joint->size               = def->radius;
    const tn_body_def*  body2 = joint->body2 > 0 ? tn_scene_body(scene, joint->body2 - 1) : NULL;
    const tn_shape_def* round = NULL;
    for (int i = 0; round == NULL && body2 != NULL && i < body2->shape_count; ++i) {
        const tn_shape_type type = body2->shapes[i].type;
        if (type == TN_SHAPE_SPHERE || type == TN_SHAPE_CYLINDER || type == TN_SHAPE_CAPSULE)
            round = &body2->shapes[i];
    }
    if (round != NULL && isnan(joint->size)) joint->size = round->radius;
    joint->wheel = round != NULL && round->type != TN_SHAPE_SPHERE;
    if (def->form != TN_JOINT_BY_ANCHOR) return;
    const tn_frame centre = round != NULL ? round->pose : (tn_frame){{0, 0, 0}, {1, 0, 0, 0}};
    joint->p2             = from_com(&model->bodies[joint->body2], centre.position);
    joint->F2             = tni_quat_matrix(unit(centre.orientation));
}

static tn_result compile_size(const tn_model* model, tni_joint* joint, const tn_joint_def* def,
                              const tn_scene* scene, tn_why* why)
{
    const tni_body *body1 = &model->bodies[joint->body1], *body2 = &model->bodies[joint->body2];
    switch (def->type) {
    case TN_JOINT_SCREW: joint->size = def->pitch / TNI_TWO_PI; break;
    case TN_JOINT_ROLLING: compile_rolling(model, joint, def, scene); break;
    case TN_JOINT_DISTANCE:
    case TN_JOINT_ROPE: {
        const tn_vec3 D =
            tni_sub(anchor_at_start(body2, joint->p2), anchor_at_start(body1, joint->p1));
        const bool rope = def->type == TN_JOINT_ROPE; // it may start slack, its ends at one point
        if (tni_norm(D) < length_min && (!rope || isnan(def->length))) {
            return tni_fail(why, TN_ERR_MODEL,
                            "joint '%s': its two points coincide, so the %s has no %s", joint->name,
                            joint->type->word, rope ? "length" : "direction");
        }
        joint->size = isnan(def->length) ? tni_norm(D) : def->length;
        break;
    }
    default: break;
    }
    return TN_OK;
}

// True if rows or coordinates use the axes of frame 1.
static bool has_axes(const tni_joint_type* type)
{
    return type->turns || type->parts[0].op == TNI_ROW_LINE;
}

// Rows that constrain no motion in the plane are left out. An axis is in the plane or normal to it.
static bool row_acts_in_plane(const tni_row_part* part, const bool upright[3])
{
    switch (part->op) {
    case TNI_ROW_POINT: return part->k != 2;
    case TNI_ROW_LINE:
    case TNI_ROW_ROLL: return !upright[part->k];
    case TNI_ROW_DOT: return upright[3 - part->k - part->l];
    default: return true;
    }
}

// Finds the axes of a joint frame that are normal to the plane at the start; false if one is
// tilted.
static bool find_upright_axes(const tni_body* body, const tni_mat3* F, bool upright[3])
{
    const tni_mat3 R     = tni_quat_matrix(body->start.orientation);
    bool           clear = true;
    for (int k = 0; k < 3; ++k) {
        const double up = fabs(tni_mul(&R, tni_column(F, k)).z);
        upright[k]      = up > 0.5;
        clear           = clear && !(up > TNI_PLANE_TOLERANCE && up < 1 - TNI_PLANE_TOLERANCE);
    }
    return clear;
}

static tn_result choose_rows(tn_model* model, tni_joint* joint, tni_constraint* constraint,
                             bool flat, bool bounded, tn_why* why)
{
    bool upright[3] = {false, false, false};
    if (flat &&
        (!find_upright_axes(&model->bodies[joint->body2], &joint->F2, upright) ||
         !find_upright_axes(&model->bodies[joint->body1], &joint->F1, upright)) &&
        has_axes(joint->type)) {
        return tni_fail(
            why, TN_ERR_MODEL,
            "joint '%s': its axes must lie in the plane of its planar bodies or be normal to it",
            joint->name);
    }
    for (int i = 0; i < joint->type->row_count; ++i) {
        const tni_row_part* part = &joint->type->parts[i];
        if (flat && !row_acts_in_plane(part, upright)) continue;
        if (flat && part->op == TNI_ROW_DRIVE &&
            upright[2] != (joint->type->coordinates[0] == TNI_COORDINATE_ANGLE)) {
            return tni_fail(why, TN_ERR_MODEL,
                            "joint '%s': planar bodies cannot move along the coordinate it drives",
                            joint->name);
        }
        if (part->op == TNI_ROW_DRIVE && bounded) continue; // see compile_bounds
        joint->parts[constraint->row_count++] = (uint8_t)i;
        constraint->held_count += !part->velocity;
    }
    if (constraint->row_count == 0) {
        return tni_fail(why, TN_ERR_MODEL, "joint '%s': it constrains no motion of planar bodies",
                        joint->name);
    }
    return TN_OK;
}

static void compile_drive(tn_model* model, tni_joint* joint, const tn_joint_def* def)
{
    const bool    keyed = def->velocity_key_count > 0;
    const int     count = keyed ? def->velocity_key_count : 1;
    tn_value_key* drive = TNI_TAKE(&model->arena, tn_value_key, count);
    if (drive == NULL) return;
    if (keyed) memcpy(drive, def->velocity_keys, sizeof *drive * (size_t)count);
    else drive[0] = (tn_value_key){0, def->velocity};
    joint->drive       = drive;
    joint->drive_count = count;
}

static bool has_soft_limit(const tn_joint_def* def)
{
    return def->limit.given && !def->limit.hard;
}

static bool has_hard_limit(const tn_joint_def* def)
{
    return def->limit.given && def->limit.hard;
}

static bool is_actuated(const tn_joint_def* def)
{
    bool forced =
        def->stiffness != 0 || def->damping != 0 || def->friction != 0 || has_soft_limit(def);
    for (int i = 0; i < TNI_COORDINATES_MAX; ++i) forced = forced || def->force[i] != 0;
    return forced;
}

// True for bodies with an angular velocity that is not user-defined.
static bool supports_torque(const tni_body* body)
{
    return body->kind != TN_BODY_PARTICLE && body->kind != TN_BODY_AFFINE &&
           body->kind != TN_BODY_USER;
}

static tn_result require_torque(const tn_model* model, const tni_joint* joint, const char* what,
                                tn_why* why)
{
    const int bodies[2] = {joint->body1, joint->body2};
    for (int side = 0; side < 2; ++side) {
        const tni_body* body = &model->bodies[bodies[side]];
        if (supports_torque(body)) continue;
        return tni_fail(why, TN_ERR_MODEL, "joint '%s': body '%s' cannot take the torque of %s",
                        joint->name, body->name, what);
    }
    return TN_OK;
}

// Checks that forces along the joint's first `count` coordinates can act on its bodies.
static tn_result check_coordinates(const tn_model* model, const tni_joint* joint, int count,
                                   tn_why* why)
{
    if (joint->coordinate_count == 0) {
        const tni_body *body1 = &model->bodies[joint->body1], *body2 = &model->bodies[joint->body2];
        return tni_fail(
            why, TN_ERR_MODEL,
            "joint '%s': it has no free coordinate for a spring, damper, limit or force, "
            "because '%s' cannot rotate",
            joint->name, body1->turns ? body2->name : body1->name);
    }
    for (int i = 0; i < count; ++i) {
        if (joint->type->coordinates[i] < TNI_COORDINATE_ROTATION_X) continue;
        TRY(require_torque(model, joint, "its spring, damper, limit or force", why));
    }
    return TN_OK;
}

static void compile_actuation(tn_model* model, int index, const tn_joint_def* def)
{
    tni_joint_force* actuation = &model->actuations[model->actuation_count++];
    *actuation                 = (tni_joint_force){.joint          = index,
                                                   .stiffness      = def->stiffness,
                                                   .damping        = def->damping,
                                                   .friction       = def->friction,
                                                   .friction_speed = def->friction_speed,
                                                   .force_low      = def->force_low,
                                                   .force_high     = def->force_high,
                                                   .limit          = def->limit};
    memcpy(actuation->rest, def->rest, sizeof actuation->rest);
    memcpy(actuation->force, def->force, sizeof actuation->force);
    actuation->cut_off = tni_has_force_range(def) && def->type != TN_JOINT_MOTOR;
}

// ---- Bounded forces -----------------------------------------------------------------------------

static int rows_from(const tni_joint* joint, int k)
{
    return joint->type->coordinates[k] == TNI_COORDINATE_ROTATION_X ? 3 : 1;
}

// actuation: of this joint; -1: it has none.
static void compile_bounds(tn_model* model, int index, int actuation, const tn_joint_def* def)
{
    const tni_joint* joint = &model->joints[index];
    for (int k = 0; def->friction > 0 && k < joint->coordinate_count; k += rows_from(joint, k))
        model->bounds[model->bound_count++] =
            (tni_bound){TNI_BOUND_FRICTION,  index,          actuation,    k,
                        rows_from(joint, k), -def->friction, def->friction};
    if (!tni_has_force_range(def) || joint->coordinate_count == 0) return;
    const bool motor = def->type == TN_JOINT_MOTOR;
    if (!motor && actuation < 0) return; // nothing to bound
    model->bounds[model->bound_count++] = (tni_bound){motor ? TNI_BOUND_MOTOR : TNI_BOUND_SPRING,
                                                      index,
                                                      actuation,
                                                      0,
                                                      1,
                                                      def->force_low,
                                                      def->force_high};
}

// ---- Hard limits --------------------------------------------------------------------------------

// The hard limits of a joint, at most three, in the order of tni_limit_kind. Returns how many.
static int hard_limits_of(const tn_joint_def* def, tni_limit* ends)
{
    const tn_limit* l     = &def->limit;
    int             count = 0;
    if (def->type == TN_JOINT_ROPE) ends[count++] = (tni_limit){.kind = TNI_LIMIT_ROPE};
    if (!has_hard_limit(def)) return count;
    if (l->lower <= l->upper) {
        if (l->lower > -no_limit)
            ends[count++] = (tni_limit){.kind = TNI_LIMIT_LOWER, .end = l->lower};
        if (l->upper < no_limit)
            ends[count++] = (tni_limit){.kind = TNI_LIMIT_UPPER, .end = l->upper};
    }
    if (!isnan(l->cone)) ends[count++] = (tni_limit){.kind = TNI_LIMIT_CONE, .end = l->cone};
    if (l->twist_lower <= l->twist_upper) {
        ends[count++] = (tni_limit){.kind = TNI_LIMIT_TWIST_LOWER, .end = l->twist_lower};
        ends[count++] = (tni_limit){.kind = TNI_LIMIT_TWIST_UPPER, .end = l->twist_upper};
    }
    return count;
}

// True if planar motion can change the row of the limit.
static bool limit_acts_in_plane(const tni_joint* joint, tni_limit_kind kind, const bool upright[3])
{
    if (kind == TNI_LIMIT_ROPE) return true;
    if (kind == TNI_LIMIT_CONE) return !upright[2];
    if (kind == TNI_LIMIT_TWIST_LOWER || kind == TNI_LIMIT_TWIST_UPPER) return upright[2];
    const int first = joint->type->coordinates[0];
    return first <= TNI_COORDINATE_SLIDE_Z ? !upright[first - TNI_COORDINATE_SLIDE_X] : upright[2];
}

static tn_result compile_limits(tn_model* model, int index, const tn_joint_def* def, bool flat,
                                tn_why* why)
{
    const tni_joint* joint      = &model->joints[index];
    bool             upright[3] = {false, false, false};
    tni_limit        ends[3];
    const int        count = hard_limits_of(def, ends);
    // The frames of a ball may be tilted; every limit acts then.
    const bool straight =
        flat && find_upright_axes(&model->bodies[joint->body1], &joint->F1, upright);
    for (int i = 0; i < count; ++i) {
        if (straight && !limit_acts_in_plane(joint, ends[i].kind, upright)) {
            return tni_fail(why, TN_ERR_MODEL,
                            "joint '%s': planar bodies cannot move along the coordinate it limits",
                            joint->name);
        }
        ends[i].joint       = index;
        ends[i].restitution = def->restitution;
        if (ends[i].kind == TNI_LIMIT_ROPE) ends[i].end = joint->size;
        model->limits[model->limit_count++] = ends[i];
    }
    return TN_OK;
}

static tn_result compile_joint(tn_model* model, const tn_scene* scene, const tn_joint_def* def,
                               tni_constraint* constraint, tn_why* why)
{
    const int  index      = model->joint_count++;
    tni_joint* joint      = &model->joints[index];
    joint->name           = copy_text(model, def->name);
    joint->type           = tni_joint_type_of(def->type, def->of);
    joint->constraint     = (int)(constraint - model->constraints);
    joint->body1          = (int)def->body1.bits;
    joint->body2          = (int)def->body2.bits;
    const tni_body *body1 = &model->bodies[joint->body1], *body2 = &model->bodies[joint->body2];
    if (body1->dim == 0 && body2->dim == 0) {
        return tni_fail(why, TN_ERR_MODEL, "joint '%s': neither '%s' nor '%s' can move", def->name,
                        body1->name, body2->name);
    }
    if (joint->type->turns && !(body1->turns && body2->turns)) {
        return tni_fail(why, TN_ERR_MODEL,
                        "joint '%s': a %s needs bodies that can rotate, and '%s' cannot", def->name,
                        joint->type->word, body1->turns ? body2->name : body1->name);
    }
    if (has_axes(joint->type) && body1->kind == TN_BODY_USER && !body1->turns) {
        return tni_fail(why, TN_ERR_MODEL,
                        "joint '%s': a %s takes its axes from its first body, and '%s' has none",
                        def->name, joint->type->word, body1->name);
    }
    const bool flat = tni_is_flat(body1) && tni_is_flat(body2);
    compile_frames(model, joint, def, flat);
    if (!is_in_range(joint->p1) || !is_in_range(joint->p2))
        return tni_fail(why, TN_ERR_MODEL, "joint '%s': its position is beyond %g", def->name,
                        distance_max);
    joint->coordinate_start = model->coordinate_count;
    joint->coordinate_count = body1->turns && body2->turns ? joint->type->coordinate_count : 0;
    model->coordinate_count += joint->coordinate_count;
    *constraint = (tni_constraint){.kind = TNI_CONSTRAINT_JOINT, .index = index, .role = def->role};
    tn_result result = compile_size(model, joint, def, scene, why);
    if (result == TN_OK && def->type != TN_JOINT_ROPE) // a rope has no rows
        result = choose_rows(model, joint, constraint, flat, tni_has_force_range(def), why);
    if (result == TN_OK && def->type == TN_JOINT_ROLLING)
        result = require_torque(model, joint, "rolling", why);
    if (result == TN_OK && def->type == TN_JOINT_MOTOR) compile_drive(model, joint, def);
    if (result == TN_OK && (is_actuated(def) || has_hard_limit(def)))
        result =
            check_coordinates(model, joint, is_actuated(def) ? joint->coordinate_count : 1, why);
    if (result == TN_OK && is_actuated(def)) compile_actuation(model, index, def);
    if (result == TN_OK)
        compile_bounds(model, index, is_actuated(def) ? model->actuation_count - 1 : -1, def);
    return result == TN_OK ? compile_limits(model, index, def, flat, why) : result;
}

static tn_result compile_user_constraint(tn_model* model, const tn_constraint_def* def,
                                         tni_constraint* constraint, tn_why* why)
{
    tni_user_constraint* user = &model->users[model->user_count];
    user->name                = copy_text(model, def->name);
    user->table               = def->table;
    user->data                = def->data;
    user->body_count          = def->body_count;
    int dim                   = 0;
    for (int i = 0; i < def->body_count; ++i) {
        user->bodies[i] = (int)def->bodies[i].bits;
        for (int j = 0; j < i; ++j) {
            if (user->bodies[i] != user->bodies[j]) continue;
            return tni_fail(why, TN_ERR_MODEL, "constraint '%s': body '%s' is listed twice",
                            def->name, model->bodies[user->bodies[i]].name);
        }
        dim += model->bodies[user->bodies[i]].dim;
    }
    if (dim == 0)
        return tni_fail(why, TN_ERR_MODEL, "constraint '%s': none of its bodies can move",
                        def->name);
    *constraint = (tni_constraint){.kind             = TNI_CONSTRAINT_USER,
                                   .index            = model->user_count++,
                                   .row_count        = def->table->rows,
                                   .held_count       = def->table->holonomic,
                                   .role             = def->role,
                                   .pushes_otherwise = def->table->force_at != NULL};
    return TN_OK;
}

static void compile_coupled_joints(tn_model* model, const tn_scene* scene,
                                   const tn_coupling_def* def, tni_coupling* coupling)
{
    coupling->joint_count = def->joint_count;
    for (int i = 0; i < def->joint_count; ++i) {
        const int named           = (int)def->joints[i].bits - 1;
        coupling->joints[i]       = model->constraints[named].index;
        coupling->coefficients[i] = i == 0 ? 1 : -def->ratio; // gear, differential
        if (def->type == TN_COUPLING_COUPLER) coupling->coefficients[i] = def->coefficients[i];
        if (def->type == TN_COUPLING_RACK) {
            const tn_joint_def* joint  = tn_scene_joint(scene, named);
            const bool          slides = joint->type == TN_JOINT_SLIDER ||
                                (joint->type == TN_JOINT_MOTOR && joint->of == TN_JOINT_SLIDER);
            coupling->coefficients[i] = slides ? 1 : -def->ratio;
        }
    }
    coupling->velocity = def->type == TN_COUPLING_COUPLER ? def->velocity : 0;
}

// Holds a centre of mass. If all its bodies are planar, z needs no row.
static void compile_center(tn_model* model, const tn_coupling_def* def, tni_coupling* coupling)
{
    int*    bodies     = TNI_TAKE(&model->arena, int, def->body_count);
    tn_vec3 moment     = {0, 0, 0};
    double  mass       = 0;
    bool    moves_in_z = false;
    for (int i = 0; bodies != NULL && i < def->body_count; ++i) {
        bodies[i]            = (int)def->bodies[i].bits;
        const tni_body* body = &model->bodies[bodies[i]];
        moment               = tni_add_scaled(moment, body->mass, body->start.position);
        mass += body->mass;
        moves_in_z = moves_in_z || body->kind != TN_BODY_PLANAR;
    }
    coupling->bodies     = bodies;
    coupling->body_count = def->body_count;
    coupling->start      = tni_scale(1 / mass, moment);
    for (int k = 0; k < 3; ++k) coupling->hold[k] = def->hold[k] && (k < 2 || moves_in_z);
}

static void compile_coupling(tn_model* model, const tn_scene* scene, int index)
{
    const tn_coupling_def* def        = tn_scene_coupling(scene, index);
    tni_coupling*          coupling   = &model->couplings[index];
    tni_constraint*        constraint = &model->constraints[model->named_count + index];
    char                   name[32];
    snprintf(name, sizeof name, "coupling%d", index + 1);
    coupling->name = copy_text(model, def->name != NULL && def->name[0] != 0 ? def->name : name);
    *constraint    = (tni_constraint){
           .kind = TNI_CONSTRAINT_COUPLING, .index = index, .row_count = 1, .role = def->role};
    if (def->type == TN_COUPLING_CENTER) {
        compile_center(model, def, coupling);
        constraint->row_count  = coupling->hold[0] + coupling->hold[1] + coupling->hold[2];
        constraint->held_count = constraint->row_count;
    } else {
        compile_coupled_joints(model, scene, def, coupling);
    }
}

// Each joint of a coupling must have a coordinate.
static tn_result check_coupled_joints(const tn_model* model, const tn_coupling_def* def, int index,
                                      tn_why* why)
{
    for (int j = 0; j < def->joint_count; ++j) {
        const tni_constraint* named = &model->constraints[def->joints[j].bits - 1];
        if (named->kind != TNI_CONSTRAINT_JOINT ||
            model->joints[named->index].coordinate_count == 0) {
            return tni_fail(why, TN_ERR_MODEL,
                            "coupling %d: joint '%s' has no free coordinate to couple", index + 1,
                            tni_constraint_name(model, named));
        }
        const tni_joint* joint = &model->joints[named->index];
        if (joint->type->coordinates[0] < TNI_COORDINATE_ROTATION_X) continue;
        TRY(require_torque(model, joint, "its coupling", why));
    }
    return TN_OK;
}

static tn_result allocate_constraints(tn_model* model, const tn_scene* scene)
{
    tni_arena* arena        = &model->arena;
    model->named_count      = tn_scene_joint_count(scene);
    model->coupling_count   = tn_scene_coupling_count(scene);
    model->constraint_count = model->named_count + model->coupling_count;
    int user_count = 0, actuated_count = 0, limit_count = 0, bound_count = 0;
    for (int i = 0; i < model->named_count; ++i) {
        const tn_joint_def* def  = tn_scene_joint(scene, i);
        const bool          user = tn_scene_constraint(scene, i) != NULL;
        tni_limit           ends[3];
        user_count += user;
        actuated_count += !user && is_actuated(def);
        if (!user && def->friction > 0) bound_count += TNI_COORDINATES_MAX;
        bound_count += !user && tni_has_force_range(def);
        limit_count += user ? 0 : hard_limits_of(def, ends);
    }
    model->joints      = TNI_TAKE(arena, tni_joint, model->named_count - user_count);
    model->users       = TNI_TAKE(arena, tni_user_constraint, user_count);
    model->actuations  = TNI_TAKE(arena, tni_joint_force, actuated_count);
    model->bounds      = TNI_TAKE(arena, tni_bound, bound_count);
    model->limits      = TNI_TAKE(arena, tni_limit, limit_count);
    model->couplings   = TNI_TAKE(arena, tni_coupling, model->coupling_count);
    model->constraints = TNI_TAKE(arena, tni_constraint, model->constraint_count);
    return arena->failed ? TN_ERR_MEMORY : TN_OK;
}

static tn_result compile_constraints(tn_model* model, const tn_scene* scene, tn_why* why)
{
    tn_result result = allocate_constraints(model, scene);
    for (int i = 0; result == TN_OK && i < model->named_count; ++i) {
        const tn_constraint_def* user = tn_scene_constraint(scene, i);
        result = user != NULL ? compile_user_constraint(model, user, &model->constraints[i], why)
                              : compile_joint(model, scene, tn_scene_joint(scene, i),
                                              &model->constraints[i], why);
    }
    for (int i = 0; result == TN_OK && i < model->coupling_count; ++i) {
        result = check_coupled_joints(model, tn_scene_coupling(scene, i), i, why);
        if (result == TN_OK) compile_coupling(model, scene, i);
    }
    for (int i = 0; result == TN_OK && i < model->constraint_count; ++i) {
        model->constraints[i].node      = model->free_count + i;
        model->constraints[i].row_start = model->row_count;
        model->row_count += model->constraints[i].row_count;
    }
    return result;
}

// ---- Forces -------------------------------------------------------------------------------------

static tn_vec3 compile_point(const tn_model* model, tn_body_id body, tn_vec3 point)
{
    return from_com(&model->bodies[body.bits], point);
}

static tn_result check_torque(const tn_model* model, tn_body_id body, bool torque, const char* what,
                              tn_why* why)
{
    const tni_body* b = &model->bodies[body.bits];
    if (!torque || b->kind == TN_BODY_RIGID || b->kind == TN_BODY_PLANAR) return TN_OK;
    return tni_fail(why, TN_ERR_MODEL, "%s: body '%s' cannot take a torque", what, b->name);
}

// The wind of a drag as keys; a constant is one key.
static void compile_wind(tn_model* model, tni_drag* drag, const tn_drag_def* def)
{
    const bool     keyed = def->wind_key_count > 0;
    const int      count = keyed ? def->wind_key_count : 1;
    tn_vector_key* wind  = TNI_TAKE(&model->arena, tn_vector_key, count);
    if (wind == NULL) return;
    if (keyed) memcpy(wind, def->wind_keys, sizeof *wind * (size_t)count);
    else wind[0] = (tn_vector_key){0, def->wind};
    drag->wind       = wind;
    drag->wind_count = count;
}

static tn_result compile_forces(tn_model* model, const tn_scene* scene, tn_why* why)
{
    tni_arena* arena    = &model->arena;
    model->spring_count = tn_scene_spring_count(scene);
    model->target_count = tn_scene_target_count(scene);
    model->load_count   = tn_scene_load_count(scene);
    model->drag_count   = tn_scene_drag_count(scene);
    model->springs      = TNI_TAKE(arena, tni_spring, model->spring_count);
    model->targets      = TNI_TAKE(arena, tni_target, model->target_count);
    model->loads        = TNI_TAKE(arena, tni_load, model->load_count);
    model->drags        = TNI_TAKE(arena, tni_drag, model->drag_count);
    if (arena->failed) return TN_ERR_MEMORY;
    tn_result result = TN_OK;
    for (int i = 0; i < model->spring_count; ++i) {
        const tn_spring_def* def    = tn_scene_spring(scene, i);
        tni_spring*          spring = &model->springs[i];
        *spring                     = (tni_spring){.body1     = (int)def->body1.bits,
                                                   .body2     = (int)def->body2.bits,
                                                   .p1        = compile_point(model, def->body1, def->anchor1),
                                                   .p2        = compile_point(model, def->body2, def->anchor2),
                                                   .stiffness = def->stiffness,
                                                   .damping   = def->damping,
                                                   .length    = def->length};
        if (!isnan(def->length)) continue;
        spring->length =
            tni_norm(tni_sub(anchor_at_start(&model->bodies[spring->body2], spring->p2),
                             anchor_at_start(&model->bodies[spring->body1], spring->p1)));
    }
    for (int i = 0; i < model->target_count && result == TN_OK; ++i) {
        const tn_target_def* def = tn_scene_target(scene, i);
        model->targets[i]        = (tni_target){.body      = (int)def->body.bits,
                                                .keys      = copy_keys(model, def->keys, def->key_count),
                                                .key_count = def->key_count,
                                                .p         = compile_point(model, def->body, def->point),
                                                .stiffness = def->stiffness,
                                                .damping   = def->damping,
                                                .angular_stiffness = def->angular_stiffness,
                                                .angular_damping   = def->angular_damping};
        result =
            check_torque(model, def->body, def->angular_stiffness != 0 || def->angular_damping != 0,
                         "target", why);
    }
    for (int i = 0; i < model->load_count && result == TN_OK; ++i) {
        const tn_load_def* def = tn_scene_load(scene, i);
        model->loads[i]        = (tni_load){.body   = (int)def->body.bits,
                                            .force  = def->force,
                                            .torque = def->torque,
                                            .p      = compile_point(model, def->body, def->point),
                                            .from   = def->from,
                                            .until  = def->until};
        result = check_torque(model, def->body, tni_max_abs(def->torque) > 0, "load", why);
    }
    for (int i = 0; i < model->drag_count && result == TN_OK; ++i) {
        const tn_drag_def* def = tn_scene_drag(scene, i);
        model->drags[i]        = (tni_drag){.body      = (int)def->body.bits,
                                            .p         = compile_point(model, def->body, def->point),
                                            .linear    = def->linear,
                                            .quadratic = def->quadratic,
                                            .angular   = def->angular};
        compile_wind(model, &model->drags[i], def);
        result = check_torque(model, def->body, def->angular != 0, "drag", why);
    }
    return result;
}

static tni_names copy_names(tn_model* model, const tn_scene* scene, tni_part part)
{
    const int count = scene->parts[part].count;
    tni_names names = {.count = count, .of = TNI_TAKE(&model->arena, const char*, count)};
    for (int i = 0; names.of != NULL && i < count; ++i) {
        const char* name = tni_part_name(scene, part, i);
        names.of[i]      = name != NULL ? copy_text(model, name) : NULL;
    }
    return names;
}

static void copy_all_names(tn_model* model, const tn_scene* scene)
{
    model->coupling_names = copy_names(model, scene, TNI_PART_COUPLING);
    model->spring_names   = copy_names(model, scene, TNI_PART_SPRING);
    model->target_names   = copy_names(model, scene, TNI_PART_TARGET);
    model->load_names     = copy_names(model, scene, TNI_PART_LOAD);
    model->drag_names     = copy_names(model, scene, TNI_PART_DRAG);
}

static void copy_user_data(tn_model* model, const tn_scene* scene)
{
    model->body_user_data  = TNI_TAKE(&model->arena, void*, model->body_count);
    model->joint_user_data = TNI_TAKE(&model->arena, void*, model->named_count);
    if (model->arena.failed) return;
    for (int i = 1; i < model->body_count; ++i)
        model->body_user_data[i] = tn_scene_body(scene, i - 1)->user_data;
    for (int i = 0; i < model->named_count; ++i)
        model->joint_user_data[i] = tn_scene_joint(scene, i)->user_data;
}

// ---- Compiling ----------------------------------------------------------------------------------

static tn_result compile(tn_model* model, const tn_scene* scene, tn_why* why)
{
    model->name     = copy_text(model, tn_scene_name(scene));
    model->gravity  = tn_scene_gravity(scene);
    model->settings = tn_scene_settings(scene);
    TRY(compile_bodies(model, scene, why));
    TRY(compile_constraints(model, scene, why));
    TRY(compile_forces(model, scene, why));
    copy_all_names(model, scene);
    copy_user_data(model, scene);
    TRY(tni_compile_shapes(model, scene, why));
    TRY(tni_analyse_graph(model));
    TRY(tni_count_groups(model));
    return model->arena.failed ? TN_ERR_MEMORY : TN_OK;
}

tn_result tn_scene_compile(const tn_scene* scene, tn_model** out, tn_why* why)
{
    *out = NULL;
    TRY(tn_scene_problem(scene, why));

    tni_arena arena = tni_arena_make(&scene->host);
    tn_model* model = TNI_TAKE(&arena, tn_model, 1);
    if (model == NULL) return tni_fail(why, TN_ERR_MEMORY, "out of memory");
    model->arena           = arena;
    const tn_result result = compile(model, scene, why);
    if (result == TN_OK) {
        *out = model;
        return TN_OK;
    }
    if (result == TN_ERR_MEMORY)
        tni_fail(why, result, "out of memory while compiling '%s'", tn_scene_name(scene));
    tn_model_free(model);
    return result;
}

void tn_model_free(tn_model* model)
{
    if (model == NULL) return;
    tni_arena arena = model->arena; // the model is in its own arena
    tni_arena_free(&arena);
}
