#include "links.h"

#include "state/state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool peer_refuse(tn_why* why, const char* engine, const char* what, const char* name)
{
    why->result = TN_ERR_MODEL;
    snprintf(why->text, sizeof why->text, "%s: %s '%s' has no counterpart here", engine, what,
             name);
    return false;
}

static bool plain(const char* engine, const tn_model* model, tn_why* why)
{
    if (model->user_count + model->coupling_count + model->limit_count > 0)
        return peer_refuse(why, engine, "a constraint in", model->name);
    if (model->spring_count + model->target_count + model->load_count + model->drag_count > 0)
        return peer_refuse(why, engine, "a force in", model->name);
    if (model->joint_count != model->body_count - 1)
        return peer_refuse(why, engine, "what is not a tree,", model->name);
    return true;
}

static bool plain_spring(const tni_actuation* a)
{
    bool plain = a->damping == 0 && a->friction == 0;
    for (int i = 0; i < 3; ++i) plain = plain && a->rest[i] == 0 && a->force[i] == 0;
    return plain;
}

static bool body_is_plain(const tn_state* start, const tni_body* body)
{
    const tni_mat3* I = &body->inertia;
    const tn_vec3   x = tni_column(I, 0), y = tni_column(I, 1);
    const double*   u = start->u + body->u_start;
    for (int i = 0; i < 6; ++i)
        if (u[i] != 0) return false;
    return x.y == 0 && x.z == 0 && y.z == 0;
}

static bool joint_is_plain(const tn_state* start, int i)
{
    const tn_joint_id id = {(uint32_t)i + 1};
    double            position[TNI_COORDINATES_MAX];
    if (strcmp(start->model->joints[i].type->word, "ball") != 0) return false;
    if (tn_state_joint_error(start, id) > 1e-12) return false;
    tn_state_joint_position(start, id, position);
    return fabs(position[0]) + fabs(position[1]) + fabs(position[2]) < 1e-12;
}

static void put(double* to, tn_vec3 v)
{
    to[0] = v.x, to[1] = v.y, to[2] = v.z;
}

// conj(p) q
static void relative(const double* p, const double* q, double* r)
{
    r[0] = p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3];
    r[1] = p[0] * q[1] - p[1] * q[0] - p[2] * q[3] + p[3] * q[2];
    r[2] = p[0] * q[2] - p[2] * q[0] - p[3] * q[1] + p[1] * q[3];
    r[3] = p[0] * q[3] - p[3] * q[0] - p[1] * q[2] + p[2] * q[1];
}

static void fill(peer_link* link, const tn_state* start, const tni_joint* joint)
{
    static const double upright[4] = {1, 0, 0, 0};
    const tni_body*     body       = &start->model->bodies[joint->body2];
    const tni_body*     parent     = &start->model->bodies[joint->body1];
    const tni_view      v1         = tni_state_view(start, joint->body1),
                   v2              = tni_state_view(start, joint->body2);
    const tn_vec3 apart            = tni_sub(v2.x, v1.x);
    link->parent                   = joint->body1 - 1;
    link->mass                     = body->mass;
    for (int k = 0; k < 3; ++k) {
        const tn_vec3 column = tni_column(&body->inertia, k), axis = tni_column(&v1.R, k);
        link->inertia[k] = k == 0 ? column.x : k == 1 ? column.y : column.z;
        link->place[k]   = tni_dot(axis, apart);
    }
    relative(joint->body1 == 0 ? upright : start->q + parent->q_start + 3,
             start->q + body->q_start + 3, link->turn);
    put(link->pivot1, joint->p1);
    put(link->pivot2, joint->p2);
}

static bool fill_all(peer_links* l, const char* engine, const tn_state* start, tn_why* why)
{
    const tn_model* model = l->model;
    for (int i = 0; i < l->count; ++i) {
        const tni_joint* joint = &model->joints[i];
        const tni_body*  body  = &model->bodies[i + 1];
        if (joint->body2 != i + 1 || joint->body1 > i || !joint_is_plain(start, i))
            return peer_refuse(why, engine, "joint", joint->name);
        if (body->kind != TN_BODY_RIGID || !body_is_plain(start, body))
            return peer_refuse(why, engine, "body", body->name);
        fill(&l->links[i], start, joint);
    }
    for (int i = 0; i < model->actuation_count; ++i) {
        const tni_actuation* a = &model->actuations[i];
        if (!plain_spring(a))
            return peer_refuse(why, engine, "spring", model->joints[a->joint].name);
        l->links[a->joint].stiffness = a->stiffness;
    }
    return true;
}

bool peer_links_open(peer_links* l, const char* engine, const tn_model* model,
                     const tn_state* start, tn_why* why)
{
    *l = (peer_links){.model = model, .time = start->time, .count = model->body_count - 1};
    if (!plain(engine, model, why)) return false;
    put(l->gravity, model->gravity);
    l->links = calloc((size_t)l->count + 1, sizeof *l->links);
    if (fill_all(l, engine, start, why)) return true;
    peer_links_close(l);
    return false;
}

void peer_links_close(peer_links* l)
{
    free(l->links);
    l->links = NULL;
}

void peer_links_write(const peer_links* l, int link, const peer_pose* pose, tn_state* state)
{
    const tni_body* body = &l->model->bodies[link + 1];
    memcpy(state->q + body->q_start, pose->x, sizeof pose->x);
    memcpy(state->q + body->q_start + 3, pose->q, sizeof pose->q);
    memcpy(state->u + body->u_start, pose->v, sizeof pose->v);
    memcpy(state->u + body->u_start + 3, pose->w, sizeof pose->w);
    state->time = l->time;
}
