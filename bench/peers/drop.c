#include "drop.h"

#include "state/state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool drop_refuse(tn_why* why, const char* engine, const char* what)
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

void drop_times(const double* p, const double* q, double* out)
{
    const double r[4] = {p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
                         p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
                         p[0] * q[2] + p[2] * q[0] + p[3] * q[1] - p[1] * q[3],
                         p[0] * q[3] + p[3] * q[0] + p[1] * q[2] - p[2] * q[1]};
    memcpy(out, r, sizeof r);
}

void drop_from(const double* p, const double* q, double* out)
{
    const double back[4] = {p[0], -p[1], -p[2], -p[3]};
    drop_times(back, q, out);
}

void drop_turn(const double* q, const double* v, double* out)
{
    const double t[3] = {2 * (q[2] * v[2] - q[3] * v[1]), 2 * (q[3] * v[0] - q[1] * v[2]),
                         2 * (q[1] * v[1] - q[2] * v[0])};
    const double r[3] = {v[0] + q[0] * t[0] + q[2] * t[2] - q[3] * t[1],
                         v[1] + q[0] * t[1] + q[3] * t[0] - q[1] * t[2],
                         v[2] + q[0] * t[2] + q[1] * t[1] - q[2] * t[0]};
    memcpy(out, r, sizeof r);
}

void drop_turn_back(const double* q, const double* v, double* out)
{
    const double back[4] = {q[0], -q[1], -q[2], -q[3]};
    drop_turn(back, v, out);
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

static void principal(drop_body* b)
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

static bool take_body(drop* d, int i, tn_why* why)
{
    const tni_body* from = &d->scene->model->bodies[i];
    drop_body*      b    = &d->bodies[i];
    b->fixed             = i == 0 || from->kind == TN_BODY_STATIC;
    b->start.q[0] = b->axes[0] = 1;
    if (i == 0) return true;
    if (!b->fixed && from->kind != TN_BODY_RIGID) return drop_refuse(why, "drop", from->name);
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

static bool take_joint(drop* d, int i, tn_why* why)
{
    const tni_joint* from = &d->scene->model->joints[i];
    drop_joint*      j    = &d->joints[i];
    const char*      word = from->type->word;
    const tni_view   v2   = tni_state_view(d->scene->start, from->body2);
    j->driven             = strcmp(word, "motor") == 0;
    if (j->driven || strcmp(word, "hinge") == 0) j->type = DROP_HINGE;
    else if (strcmp(word, "ball") == 0) j->type = DROP_BALL;
    else if (strcmp(word, "weld") == 0) j->type = DROP_WELD;
    else return drop_refuse(why, "drop", word);
    if (j->driven && from->type->coordinates[0] == TNI_COORDINATE_SLIDE_Z)
        return drop_refuse(why, "drop", "a driven slider");
    if (j->driven) j->speed = from->drive[0].value;
    j->body1 = from->body1, j->body2 = from->body2;
    put(j->anchor, tni_add(v2.x, tni_mul(&v2.R, from->p2)));
    put(j->axis, tni_mul(&v2.R, tni_column(&from->F2, 2)));
    return true;
}

static bool take_shape(drop* d, int body, const tn_shape_def* def, tn_why* why)
{
    drop_shape*   s    = &d->shapes[d->shape_count++];
    const tn_quat o    = def->pose.orientation;
    const double  q[4] = {o.w, o.x, o.y, o.z}, size[3] = {def->radius, def->half_length, 0};
    s->type = def->type, s->body = body;
    put(s->x, tni_sub(def->pose.position, d->scene->model->bodies[body].com));
    memcpy(s->q, q, sizeof q);
    memcpy(s->size, size, sizeof size);
    if (def->type == TN_SHAPE_BOX) put(s->size, def->half_size);
    s->group = def->group, s->with = def->collides_with;
    if (def->type > TN_SHAPE_CYLINDER && def->type != TN_SHAPE_PLANE)
        return drop_refuse(why, "drop", "this shape");
    if (def->friction != d->friction || def->restitution != 0)
        return drop_refuse(why, "drop", "unequal friction, or restitution");
    return true;
}

static bool take_shapes(drop* d, tn_why* why)
{
    const tn_scene* scene = d->scene->scene;
    int             count = 1;
    for (int i = 0; i + 1 < d->body_count; ++i) count += tn_scene_body(scene, i)->shape_count;
    d->shapes   = calloc((size_t)count, sizeof *d->shapes);
    d->friction = TN_UNSET;
    for (int i = 0; isnan(d->friction) && i + 1 < d->body_count; ++i) {
        const tn_body_def* def = tn_scene_body(scene, i);
        for (int k = 0; k < def->shape_count; ++k)
            if (def->shapes[k].collide) d->friction = def->shapes[k].friction;
    }
    if (tn_scene_has_ground(scene)) {
        d->shapes[d->shape_count++] =
            (drop_shape){.type = TN_SHAPE_PLANE, .q = {1, 0, 0, 0}, .with = UINT32_MAX};
        if (tn_scene_ground_friction(scene) != d->friction)
            return drop_refuse(why, "drop", "unequal friction");
    }
    for (int i = 0; i + 1 < d->body_count; ++i) {
        const tn_body_def* def = tn_scene_body(scene, i);
        for (int k = 0; k < def->shape_count; ++k)
            if (def->shapes[k].collide && !take_shape(d, i + 1, &def->shapes[k], why)) return false;
    }
    return true;
}

static void part(drop* d, int body1, int body2)
{
    d->apart[body1 * d->body_count + body2] = d->apart[body2 * d->body_count + body1] = true;
}

static bool plain(const tn_model* m)
{
    return m->user_count + m->coupling_count + m->actuation_count + m->limit_count +
               m->spring_count + m->target_count + m->load_count + m->drag_count ==
           0;
}

bool drop_open(drop* d, const peer_scene* scene, tn_why* why)
{
    const tn_model* m = scene->model;
    *d = (drop){.scene = scene, .body_count = m->body_count, .joint_count = m->joint_count};
    put(d->gravity, m->gravity);
    d->bodies = calloc((size_t)d->body_count, sizeof *d->bodies);
    d->joints = calloc((size_t)d->joint_count + 1, sizeof *d->joints);
    d->apart  = calloc((size_t)d->body_count * (size_t)d->body_count, sizeof *d->apart);
    bool good = plain(m) || drop_refuse(why, "drop", "forces, limits or couplings");
    for (int i = 0; good && i < d->body_count; ++i) good = take_body(d, i, why);
    for (int i = 0; good && i < d->joint_count; ++i) good = take_joint(d, i, why);
    good = good && take_shapes(d, why);
    if (!good) return drop_close(d), false;
    drop_pose* start = calloc((size_t)d->body_count, sizeof *start);
    for (int i = 0; i < d->body_count; ++i) start[i] = d->bodies[i].start;
    drop_read(d, scene->start, start);
    for (int i = 0; i < d->body_count; ++i) d->bodies[i].start = start[i];
    free(start);
    for (int i = 0; i < d->joint_count; ++i) part(d, d->joints[i].body1, d->joints[i].body2);
    for (int i = 0; i < tn_scene_exclude_count(scene->scene); ++i) {
        const tn_contact_pair pair = tn_scene_exclude(scene->scene, i);
        part(d, (int)pair.body1.bits, (int)pair.body2.bits);
    }
    return true;
}

void drop_close(drop* d)
{
    free(d->bodies);
    free(d->joints);
    free(d->shapes);
    free(d->apart);
    *d = (drop){0};
}

bool drop_may_touch(const drop* d, int shape1, int shape2)
{
    const drop_shape *a = &d->shapes[shape1], *b = &d->shapes[shape2];
    if (a->body == b->body || (d->bodies[a->body].fixed && d->bodies[b->body].fixed)) return false;
    return (a->with >> b->group & 1) && (b->with >> a->group & 1) &&
           !d->apart[a->body * d->body_count + b->body];
}

void drop_write(const drop* d, const drop_pose* poses, double time, tn_state* state)
{
    state->time = time;
    for (int i = 1; i < d->body_count; ++i) {
        if (d->bodies[i].fixed) continue;
        const tni_body* body = &d->scene->model->bodies[i];
        double *        q = state->q + body->q_start, *u = state->u + body->u_start;
        memcpy(q, poses[i].x, sizeof poses[i].x);
        memcpy(q + 3, poses[i].q, sizeof poses[i].q);
        memcpy(u, poses[i].v, sizeof poses[i].v);
        memcpy(u + 3, poses[i].w, sizeof poses[i].w);
    }
}

void drop_read(const drop* d, const tn_state* state, drop_pose* poses)
{
    for (int i = 1; i < d->body_count; ++i) {
        if (d->bodies[i].fixed) continue;
        const tni_body* body = &d->scene->model->bodies[i];
        const double *  q = state->q + body->q_start, *u = state->u + body->u_start;
        memcpy(poses[i].x, q, sizeof poses[i].x);
        memcpy(poses[i].q, q + 3, sizeof poses[i].q);
        memcpy(poses[i].v, u, sizeof poses[i].v);
        memcpy(poses[i].w, u + 3, sizeof poses[i].w);
    }
}
