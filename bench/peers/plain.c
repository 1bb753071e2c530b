// plain: a scene in plain numbers. See peer.h.
//
// The forest: bodies are reached from the ground, then from the first of each floating group, along
// joints as they come, breadth first. A joint that is not used closes a loop.
#include "peer.h"

#include "state/state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool peer_refuse(tn_why* why, const char* engine, const char* what)
{
    why->result = TN_ERR_MODEL;
    snprintf(why->text, sizeof why->text, "%s: no counterpart for %s", engine, what);
    return false;
}

// ---- Small algebra -------------------------------------------------------------------------------

static void put(double* to, tn_vec3 v)
{
    to[0] = v.x, to[1] = v.y, to[2] = v.z;
}

void peer_times(const double* p, const double* q, double* out)
{
    const double r[4] = {p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
                         p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
                         p[0] * q[2] + p[2] * q[0] + p[3] * q[1] - p[1] * q[3],
                         p[0] * q[3] + p[3] * q[0] + p[1] * q[2] - p[2] * q[1]};
    memcpy(out, r, sizeof r);
}

void peer_from(const double* p, const double* q, double* out)
{
    const double back[4] = {p[0], -p[1], -p[2], -p[3]};
    peer_times(back, q, out);
}

void peer_turn(const double* q, const double* v, double* out)
{
    const double t[3] = {2 * (q[2] * v[2] - q[3] * v[1]), 2 * (q[3] * v[0] - q[1] * v[2]),
                         2 * (q[1] * v[1] - q[2] * v[0])};
    const double r[3] = {v[0] + q[0] * t[0] + q[2] * t[2] - q[3] * t[1],
                         v[1] + q[0] * t[1] + q[3] * t[0] - q[1] * t[2],
                         v[2] + q[0] * t[2] + q[1] * t[1] - q[2] * t[0]};
    memcpy(out, r, sizeof r);
}

void peer_turn_back(const double* q, const double* v, double* out)
{
    const double back[4] = {q[0], -q[1], -q[2], -q[3]};
    peer_turn(back, v, out);
}

// ---- Principal axes ------------------------------------------------------------------------------

// A^T <- turn by the rotation that makes a_ij zero (Jacobi); V's columns are the axes so far.
static void annul(double A[3][3], double V[3][3], int i, int j)
{
    if (A[i][j] == 0) return;
    const double theta = (A[j][j] - A[i][i]) / (2 * A[i][j]);
    const double t     = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
    const double c = 1 / sqrt(t * t + 1), s = t * c;
    for (int k = 0; k < 3; ++k) {
        const double a = A[k][i], b = A[k][j], v = V[k][i], w = V[k][j];
        A[k][i] = c * a - s * b, A[k][j] = s * a + c * b;
        V[k][i] = c * v - s * w, V[k][j] = s * v + c * w;
    }
    for (int k = 0; k < 3; ++k) {
        const double a = A[i][k], b = A[j][k];
        A[i][k] = c * a - s * b, A[j][k] = s * a + c * b;
    }
}

// Of a rotation matrix; the largest of the four numbers is taken from the diagonal.
static void quaternion(double R[3][3], double* q)
{
    const double d[4]    = {1 + R[0][0] + R[1][1] + R[2][2], 1 + R[0][0] - R[1][1] - R[2][2],
                            1 - R[0][0] + R[1][1] - R[2][2], 1 - R[0][0] - R[1][1] + R[2][2]};
    const double v[4][4] = {{d[0], R[2][1] - R[1][2], R[0][2] - R[2][0], R[1][0] - R[0][1]},
                            {R[2][1] - R[1][2], d[1], R[1][0] + R[0][1], R[0][2] + R[2][0]},
                            {R[0][2] - R[2][0], R[1][0] + R[0][1], d[2], R[2][1] + R[1][2]},
                            {R[1][0] - R[0][1], R[0][2] + R[2][0], R[2][1] + R[1][2], d[3]}};
    int          best    = 0;
    for (int i = 1; i < 4; ++i)
        if (d[i] > d[best]) best = i;
    for (int i = 0; i < 4; ++i) q[i] = v[best][i] / (2 * sqrt(d[best]));
}

static void principal(peer_body* b)
{
    const double* I       = b->inertia;
    double        A[3][3] = {{I[0], I[3], I[4]}, {I[3], I[1], I[5]}, {I[4], I[5], I[2]}};
    double        V[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int sweep = 0; sweep < 12; ++sweep)
        annul(A, V, 0, 1), annul(A, V, 0, 2), annul(A, V, 1, 2);
    for (int i = 0; i < 3; ++i) b->moments[i] = A[i][i];
    quaternion(V, b->axes); // turns only, so its determinant is 1
}

// ---- The parts -----------------------------------------------------------------------------------

static bool take_body(peer_plain* p, int i, tn_why* why)
{
    const tni_body* from = &p->scene->model->bodies[i];
    peer_body*      b    = &p->bodies[i];
    b->fixed             = i == 0 || from->kind == TN_BODY_STATIC;
    b->start.q[0] = b->axes[0] = 1;
    if (i == 0) return true;
    if (!b->fixed && from->kind != TN_BODY_RIGID) return peer_refuse(why, "plain", from->name);
    const tn_quat o = from->start.orientation;
    put(b->start.x, from->start.position);
    b->start.q[0] = o.w, b->start.q[1] = o.x, b->start.q[2] = o.y, b->start.q[3] = o.z;
    if (b->fixed) return true;
    const tn_vec3 cx = tni_column(&from->inertia, 0), cy = tni_column(&from->inertia, 1),
                  cz  = tni_column(&from->inertia, 2);
    const double I[6] = {cx.x, cy.y, cz.z, cy.x, cz.x, cz.y};
    b->mass           = from->mass;
    memcpy(b->inertia, I, sizeof I);
    principal(b);
    return true;
}

static bool take_joint(peer_plain* p, int i, tn_why* why)
{
    const tni_joint* from = &p->scene->model->joints[i];
    peer_joint*      j    = &p->joints[i];
    const char*      word = from->type->word;
    const tni_view   v2   = tni_state_view(p->scene->start, from->body2);
    j->driven             = strcmp(word, "motor") == 0;
    if (j->driven || strcmp(word, "hinge") == 0) j->type = PEER_HINGE;
    else if (strcmp(word, "ball") == 0) j->type = PEER_BALL;
    else if (strcmp(word, "weld") == 0) j->type = PEER_WELD;
    else if (strcmp(word, "slider") == 0) j->type = PEER_SLIDER;
    else return peer_refuse(why, "plain", word);
    if (j->driven && from->type->coordinates[0] == TNI_COORDINATE_SLIDE_Z)
        return peer_refuse(why, "plain", "a driven slider");
    if (j->driven) j->speed = from->drive[0].value;
    j->body1 = from->body1, j->body2 = from->body2;
    put(j->anchor, tni_add(v2.x, tni_mul(&v2.R, from->p2)));
    put(j->axis, tni_mul(&v2.R, tni_column(&from->F2, 2)));
    return true;
}

static bool take_shape(peer_plain* p, int body, const tn_shape_def* def, tn_why* why)
{
    peer_shape*   s    = &p->shapes[p->shape_count++];
    const tn_quat o    = def->pose.orientation;
    const double  q[4] = {o.w, o.x, o.y, o.z}, size[3] = {def->radius, def->half_length, 0};
    s->type = def->type, s->body = body;
    put(s->x, tni_sub(def->pose.position, p->scene->model->bodies[body].com));
    memcpy(s->q, q, sizeof q);
    memcpy(s->size, size, sizeof size);
    if (def->type == TN_SHAPE_BOX) put(s->size, def->half_size);
    s->group = def->group, s->with = def->collides_with;
    if (def->type > TN_SHAPE_CYLINDER && def->type != TN_SHAPE_PLANE)
        return peer_refuse(why, "plain", "this shape");
    if (def->friction != p->friction || def->restitution != 0)
        return peer_refuse(why, "plain", "unequal friction, or restitution");
    return true;
}

static bool take_shapes(peer_plain* p, tn_why* why)
{
    const tn_scene* scene = p->scene->scene;
    int             count = 1;
    for (int i = 0; i + 1 < p->body_count; ++i) count += tn_scene_body(scene, i)->shape_count;
    p->shapes   = calloc((size_t)count, sizeof *p->shapes);
    p->friction = TN_UNSET;
    for (int i = 0; isnan(p->friction) && i + 1 < p->body_count; ++i) {
        const tn_body_def* def = tn_scene_body(scene, i);
        for (int k = 0; k < def->shape_count; ++k)
            if (def->shapes[k].collide) p->friction = def->shapes[k].friction;
    }
    if (tn_scene_has_ground(scene)) {
        p->shapes[p->shape_count++] =
            (peer_shape){.type = TN_SHAPE_PLANE, .q = {1, 0, 0, 0}, .with = UINT32_MAX};
        if (tn_scene_ground_friction(scene) != p->friction)
            return peer_refuse(why, "plain", "unequal friction");
    }
    for (int i = 0; i + 1 < p->body_count; ++i) {
        const tn_body_def* def = tn_scene_body(scene, i);
        for (int k = 0; k < def->shape_count; ++k)
            if (def->shapes[k].collide && !take_shape(p, i + 1, &def->shapes[k], why)) return false;
    }
    return true;
}

// Springs that are slack at the start, and nothing else, act on joints.
static bool take_spring(peer_plain* p, const tni_joint_force* a, tn_why* why)
{
    peer_joint*       j  = &p->joints[a->joint];
    const tn_joint_id id = {(uint32_t)a->joint + 1};
    double            at[TNI_COORDINATES_MAX];
    bool              good = a->damping == 0 && a->friction == 0 && !a->limit.given;
    tn_state_joint_position(p->scene->start, id, at);
    for (int k = 0; k < p->scene->model->joints[a->joint].coordinate_count; ++k)
        good = good && a->force[k] == 0 && fabs(a->rest[k] - at[k]) < 1e-9;
    good         = good && (j->type == PEER_BALL || j->type == PEER_HINGE);
    j->stiffness = a->stiffness;
    return good || peer_refuse(why, "plain", "such a spring or limit of a joint");
}

// ---- The forest ----------------------------------------------------------------------------------

/// Joints by body: those of body i are list[first[i] .. first[i + 1] - 1].
typedef struct incidence {
    int *first, *list;
} incidence;

static incidence incidence_of(const peer_plain* p)
{
    incidence n = {calloc((size_t)p->body_count + 2, sizeof(int)),
                   calloc(2 * (size_t)p->joint_count + 1, sizeof(int))};
    for (int j = 0; j < p->joint_count; ++j)
        ++n.first[p->joints[j].body1 + 2], ++n.first[p->joints[j].body2 + 2];
    for (int i = 1; i <= p->body_count; ++i) n.first[i + 1] += n.first[i];
    for (int j = 0; j < p->joint_count; ++j) {
        n.list[n.first[p->joints[j].body1 + 1]++] = j;
        n.list[n.first[p->joints[j].body2 + 1]++] = j;
    }
    return n;
}

// From a body that was reached to all behind it; `count` bodies are in the order so far.
static int grow(peer_plain* p, const incidence* n, int from, int count)
{
    int at = from, done = count;
    for (;;) {
        for (int k = n->first[at]; k < n->first[at + 1]; ++k) {
            const peer_joint* j     = &p->joints[n->list[k]];
            const int         other = j->body1 == at ? j->body2 : j->body1;
            peer_body*        b     = &p->bodies[other];
            if (b->parent >= 0 || b->fixed) continue;
            b->parent = at, b->joint = n->list[k];
            p->joints[n->list[k]].closes = false;
            p->order[count++]            = other;
        }
        if (done == count) return count;
        at = p->order[done++];
    }
}

static void plant(peer_plain* p)
{
    const incidence n     = incidence_of(p);
    int             count = 0;
    p->order              = calloc((size_t)p->body_count, sizeof(int));
    for (int j = 0; j < p->joint_count; ++j) p->joints[j].closes = true;
    for (int i = 0; i < p->body_count; ++i) p->bodies[i].parent = p->bodies[i].joint = -1;
    p->bodies[0].parent = 0;
    for (int i = 1; i < p->body_count; ++i)
        if (p->bodies[i].fixed) p->bodies[i].parent = 0, p->order[count++] = i;
    for (int i = 0; i < p->body_count; ++i)
        if (p->bodies[i].fixed) count = grow(p, &n, i, count);
    for (int i = 1; i < p->body_count; ++i) {
        if (p->bodies[i].parent >= 0) continue;
        p->bodies[i].parent = 0, ++p->float_count;
        p->order[count++]   = i;
        count               = grow(p, &n, i, count);
    }
    for (int j = 0; j < p->joint_count; ++j) p->loop_count += p->joints[j].closes;
    free(n.first);
    free(n.list);
}

// ---- Opening and closing -------------------------------------------------------------------------

static void part(peer_plain* p, int body1, int body2)
{
    p->apart[body1 * p->body_count + body2] = p->apart[body2 * p->body_count + body1] = true;
}

static void part_all(peer_plain* p)
{
    const tn_scene* scene = p->scene->scene;
    p->apart              = calloc((size_t)p->body_count * (size_t)p->body_count, sizeof *p->apart);
    for (int i = 0; i < p->joint_count; ++i) part(p, p->joints[i].body1, p->joints[i].body2);
    for (int i = 0; i < tn_scene_exclude_count(scene); ++i) {
        const tn_contact_pair pair = tn_scene_exclude(scene, i);
        part(p, (int)pair.body1.bits, (int)pair.body2.bits);
    }
}

static bool plain(const tn_model* m)
{
    return m->user_count + m->coupling_count + m->limit_count + m->spring_count + m->target_count +
               m->load_count + m->drag_count ==
           0;
}

bool peer_plain_open(peer_plain* p, const peer_scene* scene, tn_why* why)
{
    const tn_model* m = scene->model;
    *p = (peer_plain){.scene = scene, .body_count = m->body_count, .joint_count = m->joint_count};
    put(p->gravity, m->gravity);
    p->bodies = calloc((size_t)p->body_count, sizeof *p->bodies);
    p->joints = calloc((size_t)p->joint_count + 1, sizeof *p->joints);
    bool good = plain(m) || peer_refuse(why, "plain", "forces, limits or couplings");
    for (int i = 0; good && i < p->body_count; ++i) good = take_body(p, i, why);
    for (int i = 0; good && i < p->joint_count; ++i) good = take_joint(p, i, why);
    for (int i = 0; good && i < m->actuation_count; ++i)
        good = take_spring(p, &m->actuations[i], why);
    good = good && take_shapes(p, why);
    if (!good) return peer_plain_close(p), false;
    peer_pose* start = calloc((size_t)p->body_count, sizeof *start);
    peer_get(p, scene->start, start);
    for (int i = 0; i < p->body_count; ++i) p->bodies[i].start = start[i];
    free(start);
    plant(p);
    if (p->shape_count > 0) part_all(p);
    return true;
}

void peer_plain_close(peer_plain* p)
{
    free(p->bodies);
    free(p->joints);
    free(p->shapes);
    free(p->apart);
    free(p->order);
    *p = (peer_plain){0};
}

bool peer_may_touch(const peer_plain* p, int shape1, int shape2)
{
    const peer_shape *a = &p->shapes[shape1], *b = &p->shapes[shape2];
    if (a->body == b->body || (p->bodies[a->body].fixed && p->bodies[b->body].fixed)) return false;
    return (a->with >> b->group & 1) && (b->with >> a->group & 1) &&
           !p->apart[a->body * p->body_count + b->body];
}

void peer_put(const peer_plain* p, int i, const peer_pose* pose, tn_state* state)
{
    if (p->bodies[i].fixed) return;
    const tni_body* body = &p->scene->model->bodies[i];
    double *        q = state->q + body->q_start, *u = state->u + body->u_start;
    memcpy(q, pose->x, sizeof pose->x);
    memcpy(q + 3, pose->q, sizeof pose->q);
    memcpy(u, pose->v, sizeof pose->v);
    memcpy(u + 3, pose->w, sizeof pose->w);
}

void peer_get(const peer_plain* p, const tn_state* state, peer_pose* poses)
{
    for (int i = 0; i < p->body_count; ++i) {
        poses[i] = p->bodies[i].start;
        if (p->bodies[i].fixed) continue;
        const tni_body* body = &p->scene->model->bodies[i];
        const double *  q = state->q + body->q_start, *u = state->u + body->u_start;
        memcpy(poses[i].x, q, sizeof poses[i].x);
        memcpy(poses[i].q, q + 3, sizeof poses[i].q);
        memcpy(poses[i].v, u, sizeof poses[i].v);
        memcpy(poses[i].w, u + 3, sizeof poses[i].w);
    }
}

// ---- For engines in joint coordinates ------------------------------------------------------------

void peer_seen(const peer_plain* p, int body, const double* point, double* out)
{
    const peer_pose* at      = &p->bodies[body].start;
    const double     from[3] = {point[0] - at->x[0], point[1] - at->x[1], point[2] - at->x[2]};
    peer_turn_back(at->q, from, out);
}

void peer_seen_axis(const peer_plain* p, int body, const double* axis, double* out)
{
    peer_turn_back(p->bodies[body].start.q, axis, out);
}

void peer_rates(const peer_plain* p, int body, double* rates)
{
    const peer_body *b = &p->bodies[body], *up = &p->bodies[b->parent];
    const peer_pose *me = &b->start, *other = &up->start;
    if (b->joint < 0) {
        for (int k = 0; k < 3; ++k) rates[k] = me->v[k], rates[3 + k] = me->w[k];
        return;
    }
    const peer_joint* j = &p->joints[b->joint];
    double            w[3], v[3], r[3];
    for (int k = 0; k < 3; ++k) w[k] = me->w[k] - other->w[k], r[k] = me->x[k] - other->x[k];
    for (int k = 0; k < 3; ++k) {
        const int a = (k + 1) % 3, c = (k + 2) % 3;
        v[k] = me->v[k] - other->v[k] - (other->w[a] * r[c] - other->w[c] * r[a]);
    }
    const double* from = j->type == PEER_SLIDER ? v : w;
    if (j->type == PEER_BALL) peer_turn_back(me->q, w, rates);
    else rates[0] = from[0] * j->axis[0] + from[1] * j->axis[1] + from[2] * j->axis[2];
}

// -k times the rotation vector of body 2 against body 1 from the start, which lies in the world as
// body 1 has turned; about a hinge its axis alone is left.
void peer_spring(const peer_plain* p, const peer_joint* j, const double* q1, const double* q2,
                 double* torque)
{
    const double *a = p->bodies[j->body1].start.q, *b = p->bodies[j->body2].start.q;
    double        now[4], slack[4], back[4], turn[4];
    peer_from(q1, q2, now);
    peer_from(a, b, slack);
    for (int k = 0; k < 4; ++k) back[k] = k ? -slack[k] : slack[k];
    peer_times(now, back, turn); // in the axes of body 1
    const double length = sqrt(turn[1] * turn[1] + turn[2] * turn[2] + turn[3] * turn[3]);
    const double angle  = 2 * atan2(turn[0] < 0 ? -length : length, fabs(turn[0]));
    const double scale  = length > 0 ? -j->stiffness * angle / length : 0;
    const double v[3]   = {scale * turn[1], scale * turn[2], scale * turn[3]};
    peer_turn(q1, v, torque);
}

// ---- Scenes --------------------------------------------------------------------------------------

static double weight(const tn_scene* scene, const tn_model* model)
{
    const tn_vec3 g    = tn_scene_gravity(scene);
    double        mass = 0;
    for (int i = 1; i <= tn_model_counts(model).bodies; ++i)
        mass += tn_model_body_mass(model, (tn_body_id){(uint32_t)i});
    return mass * sqrt(g.x * g.x + g.y * g.y + g.z * g.z);
}

bool peer_scene_open(peer_scene* s, tn_scene* scene, tn_why* why)
{
    tn_settings settings = tn_default_settings();
    tn_stepper* stepper  = NULL;
    *s                   = (peer_scene){.scene = scene};
    settings.method      = TN_METHOD_MULTIPLIER; // closes joints furthest
    const bool good      = tn_scene_compile(scene, &s->model, why) == TN_OK &&
                      tn_state_create(s->model, &s->start) == TN_OK &&
                      tn_stepper_create(s->model, &settings, &stepper, why) == TN_OK &&
                      tn_stepper_project(stepper, s->start, NULL, why) == TN_OK;
    tn_stepper_free(stepper);
    if (good) s->weight = weight(scene, s->model);
    else peer_scene_close(s);
    return good;
}

void peer_scene_close(peer_scene* s)
{
    tn_state_free(s->start);
    tn_model_free(s->model);
    tn_scene_free(s->scene);
    *s = (peer_scene){0};
}
