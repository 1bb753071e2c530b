#include "state/state.h"

#include "math/elementary.h"

tn_result tn_state_create(const tn_model* model, tn_state** out)
{
    const size_t numbers =
        sizeof(double) * ((size_t)model->q_count + 3 * (size_t)model->u_count +
                          (size_t)model->coordinate_count + (size_t)model->row_count +
                          (size_t)model->limit_count + (size_t)model->core.plan->component_count);
    const size_t pressed = (size_t)tni_warm_start_capacity(model);
    const size_t free    = (size_t)model->free_count;
    const size_t bytes   = sizeof(tn_state) + numbers +
                         (sizeof(uint64_t) + TNI_WARM_START_NUMBERS * sizeof(double)) * pressed +
                         sizeof(tni_target_pose) * (size_t)model->target_count +
                         sizeof(double) * (TNI_TREE_LINK_NUMBERS + TNI_TREE_LINK_FREEDOMS) * free +
                         (size_t)model->named_count;
    tn_state* state = tni_host_take(&model->arena.host, bytes);
    *out            = state;
    if (state == NULL) return TN_ERR_MEMORY;
    state->model               = model;
    state->bytes               = bytes;
    state->q                   = (double*)(state + 1);
    state->u                   = state->q + model->q_count;
    state->z                   = state->u + model->u_count;
    state->history.multipliers = state->z + model->coordinate_count;
    state->history.mean        = state->history.multipliers + model->row_count + model->limit_count;
    state->history.momentum    = state->history.mean + model->u_count;
    state->rest_time           = state->history.momentum + model->u_count;
    state->warm_start.forces   = (double*)((char*)(state + 1) + numbers);
    state->warm_start.ids =
        (uint64_t*)(state->warm_start.forces + TNI_WARM_START_NUMBERS * pressed);
    state->inputs.targets = (tni_target_pose*)(state->warm_start.ids + pressed);
    state->reduced.q      = (double*)(state->inputs.targets + model->target_count);
    state->reduced.v      = state->reduced.q + TNI_TREE_LINK_NUMBERS * free;
    state->reduced.active = (uint8_t*)(state->reduced.v + TNI_TREE_LINK_FREEDOMS * free);
    tn_state_reset(state);
    return TN_OK;
}

void tn_state_free(tn_state* state)
{
    if (state != NULL) tni_host_give(&state->model->arena.host, state, state->bytes);
}

void tn_state_copy(tn_state* to, const tn_state* from)
{
    TN_ASSERT(to->model == from->model);
    to->time             = from->time;
    to->history.h        = from->history.h;
    to->history.two      = from->history.two;
    to->history.struck   = from->history.struck;
    to->warm_start.count = from->warm_start.count;
    to->reduced.known    = from->reduced.known;
    to->reduced.kept     = from->reduced.kept;
    to->reduced.step     = from->reduced.step;
    memcpy(to->inputs.handles, from->inputs.handles, sizeof to->inputs.handles);
    to->inputs.camera_given = from->inputs.camera_given;
    to->inputs.camera       = from->inputs.camera;
    memcpy(to + 1, from + 1, to->bytes - sizeof *to);
}

void tni_state_forget(tn_state* state)
{
    state->history.h        = 0;
    state->warm_start.count = 0;
    state->reduced.known    = false;
    for (int i = 0; i < state->model->core.plan->component_count; ++i) state->rest_time[i] = 0;
}

// Bodies of the same kinds, one by one, and equal numbers of joint coordinates and targets.
static bool is_alike(const tn_model* a, const tn_model* b)
{
    if (a->body_count != b->body_count || a->q_count != b->q_count || a->u_count != b->u_count ||
        a->coordinate_count != b->coordinate_count || a->target_count != b->target_count)
        return false;
    for (int i = 0; i < a->body_count; ++i)
        if (a->bodies[i].kind != b->bodies[i].kind || a->bodies[i].q_start != b->bodies[i].q_start)
            return false;
    return true;
}

tn_result tn_state_carry(tn_state* to, const tn_state* from)
{
    const tn_model* model = to->model;
    if (!is_alike(model, from->model)) return TN_ERR_MODEL;
    tni_target_pose* targets = to->inputs.targets;
    to->time                 = from->time;
    to->inputs               = from->inputs;
    to->inputs.targets       = targets;
    memcpy(to->q, from->q, sizeof *to->q * (size_t)model->q_count);
    memcpy(to->u, from->u, sizeof *to->u * (size_t)model->u_count);
    memcpy(to->z, from->z, sizeof *to->z * (size_t)model->coordinate_count);
    memcpy(targets, from->inputs.targets, sizeof *targets * (size_t)model->target_count);
    tni_state_forget(to);
    return TN_OK;
}

bool tn_state_asleep(const tn_state* state, tn_body_id id)
{
    const int node = state->model->bodies[id.bits].node;
    return node >= 0 && state->rest_time[state->model->core.plan->component_of[node]] < 0;
}

void tn_state_wake(tn_state* state, tn_body_id id)
{
    const tn_model* model = state->model;
    const int       node  = model->bodies[id.bits].node;
    if (node < 0) return;
    const double name = state->rest_time[model->core.plan->component_of[node]];
    for (int i = 0; name < 0 && i < model->core.plan->component_count; ++i) {
        if (state->rest_time[i] == name) state->rest_time[i] = 0;
    }
}

bool tn_state_joint_active(const tn_state* state, tn_joint_id joint)
{
    TN_ASSERT(joint.bits > 0);
    return !state->reduced.known || state->reduced.active[joint.bits - 1] != 0;
}

const tn_model* tn_state_model(const tn_state* state)
{
    return state->model;
}

double tn_state_time(const tn_state* state)
{
    return state->time;
}

static void set_pose(const tni_body* body, tn_frame com_pose, double* q)
{
    const tn_quat o = com_pose.orientation;
    switch (body->kind) {
    case TN_BODY_RIGID:
        tni_write3(q, com_pose.position);
        q[3] = o.w, q[4] = o.x, q[5] = o.y, q[6] = o.z;
        break;
    case TN_BODY_PARTICLE: tni_write3(q, com_pose.position); break;
    case TN_BODY_PLANAR:
        q[0] = com_pose.position.x, q[1] = com_pose.position.y;
        q[2] = tni_quat_log(o).z;
        break;
    case TN_BODY_AFFINE: {
        const tni_mat3 R = tni_quat_matrix(o);
        tni_write3(q, com_pose.position);
        for (int k = 0; k < 3; ++k) tni_write3(q + 3 + 3 * k, tni_column(&R, k));
        break;
    }
    default: break;
    }
}

// velocity of the centre of mass
static void set_velocity(const tni_body* body, tn_twist velocity, const double* q, double* u)
{
    tni_write3(u, velocity.linear);
    if (body->kind == TN_BODY_RIGID) tni_write3(u + 3, velocity.angular);
    if (body->kind == TN_BODY_PLANAR) u[2] = velocity.angular.z;
    if (body->kind == TN_BODY_AFFINE) {
        for (int k = 0; k < 3; ++k)
            tni_write3(u + 3 + 3 * k, tni_cross(velocity.angular, tni_read3(q + 3 + 3 * k)));
    }
}

void tn_state_reset(tn_state* state)
{
    const tn_model* model = state->model;
    state->time           = 0;
    tni_state_forget(state);
    memset(state->inputs.handles, 0, sizeof state->inputs.handles);
    state->inputs.camera_given = false;
    state->reduced.kept        = false;
    memset(state + 1, 0, state->bytes - sizeof *state);
    for (int i = 0; i < model->free_count; ++i) {
        const tni_body* body = &model->bodies[model->free_bodies[i]];
        double *        q = state->q + body->q_start, *u = state->u + body->u_start;
        if (body->kind == TN_BODY_USER) {
            memcpy(q, body->user_q, sizeof *q * (size_t)body->q_count);
            memcpy(u, body->user_u, sizeof *u * (size_t)body->dim);
            continue;
        }
        set_pose(body, body->start, q);
        set_velocity(body, body->start_velocity, q, u);
    }
}

tn_frame tn_state_pose(const tn_state* state, tn_body_id id)
{
    const tni_view view = tni_state_view(state, (int)id.bits);
    return tni_view_pose(&state->model->bodies[id.bits], &view);
}

tn_twist tn_state_velocity(const tn_state* state, tn_body_id id)
{
    const tni_view view = tni_state_view(state, (int)id.bits);
    return tni_view_velocity(&state->model->bodies[id.bits], &view);
}

tn_result tn_state_set_camera(tn_state* state, const tn_vec3* position)
{
    if (position != NULL && !tni_is_finite(*position)) return TN_ERR_MODEL;
    state->inputs.camera_given = position != NULL;
    if (position != NULL) state->inputs.camera = *position;
    return TN_OK;
}

static bool can_be_set(const tni_body* body)
{
    return body->dim > 0 && body->kind != TN_BODY_USER;
}

tn_result tn_state_set_pose(tn_state* state, tn_body_id id, tn_frame pose)
{
    const tni_body* body = &state->model->bodies[id.bits];
    const tn_quat   o    = pose.orientation;
    const double    norm = sqrt(o.w * o.w + o.x * o.x + o.y * o.y + o.z * o.z);
    if (!can_be_set(body) || !tni_is_finite(pose.position) || !(norm > 1e-9) || !isfinite(norm))
        return TN_ERR_MODEL;
    if (body->kind == TN_BODY_PLANAR && !(fabs(o.x) + fabs(o.y) < TNI_PLANE_TOLERANCE * norm))
        return TN_ERR_MODEL;
    pose.orientation = tni_quat_normalised(o);
    if (body->kind == TN_BODY_PARTICLE) pose.orientation = body->start.orientation; // it has none
    pose.position = tni_add(pose.position, tni_rotate(pose.orientation, body->com));
    if (body->kind == TN_BODY_PLANAR &&
        !(fabs(pose.position.z - body->start.position.z) < TNI_PLANE_TOLERANCE))
        return TN_ERR_MODEL;
    set_pose(body, pose, state->q + body->q_start);
    tni_state_forget(state);
    return TN_OK;
}

// Whether the kind of body can have this velocity.
static bool fits(const tni_body* body, tn_twist velocity)
{
    const tn_vec3 v = velocity.linear, w = velocity.angular;
    if (body->kind == TN_BODY_PARTICLE) return tni_max_abs(w) == 0;
    if (body->kind != TN_BODY_PLANAR) return true;
    return fmax(fabs(v.z), fmax(fabs(w.x), fabs(w.y))) < TNI_PLANE_TOLERANCE;
}

tn_result tn_state_set_velocity(tn_state* state, tn_body_id id, tn_twist velocity)
{
    const tni_body* body = &state->model->bodies[id.bits];
    if (!can_be_set(body) || !tni_is_finite(velocity.linear) || !tni_is_finite(velocity.angular) ||
        !fits(body, velocity))
        return TN_ERR_MODEL;
    const tni_view view = tni_state_view(state, (int)id.bits);
    const tn_vec3  arm  = tni_mul(&view.R, body->com);
    velocity.linear     = tni_add(velocity.linear, tni_cross(velocity.angular, arm));
    set_velocity(body, velocity, state->q + body->q_start, state->u + body->u_start);
    tni_state_forget(state);
    return TN_OK;
}

int tn_state_coordinate_count(const tn_state* state)
{
    return state->model->q_count;
}

int tn_state_velocity_count(const tn_state* state)
{
    return state->model->u_count;
}

const double* tn_state_coordinates(const tn_state* state)
{
    return state->q;
}

const double* tn_state_velocities(const tn_state* state)
{
    return state->u;
}

// FNV-1a over 64-bit words: independent of byte order, and every bit counts.
static uint64_t hash_numbers(uint64_t hash, const double* numbers, int count)
{
    for (int i = 0; i < count; ++i) {
        uint64_t bits;
        memcpy(&bits, &numbers[i], sizeof bits);
        hash = (hash ^ bits) * 0x100000001b3u;
        hash ^= hash >> 32;
    }
    return hash;
}

uint64_t tn_state_hash(const tn_state* state)
{
    uint64_t hash = hash_numbers(0xcbf29ce484222325u, &state->time, 1);
    hash          = hash_numbers(hash, state->q, state->model->q_count);
    return hash_numbers(hash, state->u, state->model->u_count);
}

tn_momentum tn_state_momentum(const tn_state* state)
{
    tn_momentum total = {{0, 0, 0}, {0, 0, 0}};
    for (int i = 0; i < state->model->free_count; ++i) {
        const int       index = state->model->free_bodies[i];
        const tni_body* body  = &state->model->bodies[index];
        const tni_view  view  = tni_state_view(state, index);
        if (body->kind == TN_BODY_USER)
            continue; // the momentum of user-defined bodies is not
                      // known
        const tn_vec3 p = tni_scale(body->mass, view.v);
        double        Mu[12];
        tni_mass_times(body, &view, view.u, Mu);
        tn_vec3 spin = {0, 0, 0};
        if (body->kind == TN_BODY_RIGID) spin = tni_read3(Mu + 3);
        if (body->kind == TN_BODY_PLANAR) spin.z = Mu[2];
        if (body->kind == TN_BODY_AFFINE) { // sum over columns of a_k x (Q Adot)_k
            for (int k = 0; k < 3; ++k)
                spin = tni_add(spin, tni_cross(tni_column(&view.R, k), tni_read3(Mu + 3 + 3 * k)));
        }
        total.linear  = tni_add(total.linear, p);
        total.angular = tni_add(total.angular, tni_add(spin, tni_cross(view.x, p)));
    }
    return total;
}
