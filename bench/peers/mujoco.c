// mujoco: a mechanism in MuJoCo (PyPI mujoco-core), made by its mjSpec functions: the forest in joint
// coordinates; a joint that closes a loop becomes equality constraints: one `connect` for a ball
// joint, two along the axis for a hinge, a `weld` for a weld. A driven hinge is an equality of the
// joint's angle with speed times time. Elliptic cones, Newton's method; contacts and equalities are
// springs with the time constant 20 ms (the default) or so many steps; never under 2 steps, which
// MuJoCo sees to itself. Where nothing is constrained the solver is off; states that look bad are
// not reset behind our back.
//     integrator  0: Euler, 1: RK4, 2: implicitfast (derivatives by velocity are implicit),
//                 3: discrete (springs are implicit too: M + h^2 K, new in 4.0)
#include "peer.h"

#include <mujoco/mujoco.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct mujoco_world {
    const peer_plain* p;
    peer_options      options;
    mjModel*          model;
    mjData*           data;
    int*              ids; ///< of bodies
} mujoco_world;

static void silent(const char* text)
{
    (void)text;
}

static const char* name_of(char letter, int i, char* text)
{
    snprintf(text, 16, "%c%d", letter, i);
    return text;
}

static void add_joint(const peer_plain* p, int i, mjsBody* body)
{
    char             name[16];
    const peer_body* b = &p->bodies[i];
    if (b->fixed) return;
    if (b->joint < 0) {
        mjs_addFreeJoint(body)->align = mjALIGNFREE_FALSE;
        return;
    }
    const peer_joint* from = &p->joints[b->joint];
    if (from->type == PEER_WELD) return;
    mjsJoint* joint = mjs_addJoint(body, NULL);
    joint->type     = from->type == PEER_BALL    ? mjJNT_BALL
                      : from->type == PEER_HINGE ? mjJNT_HINGE
                                                 : mjJNT_SLIDE;
    peer_seen(p, i, from->anchor, joint->pos);
    peer_seen_axis(p, i, from->axis, joint->axis);
    joint->stiffness[0] = from->stiffness;
    mjs_setName(joint->element, name_of('j', b->joint, name));
}

static mjsBody* add_body(const peer_plain* p, int i, mjsBody* parent)
{
    const peer_body* b    = &p->bodies[i];
    mjsBody*         body = mjs_addBody(parent, NULL);
    char             name[16];
    mjs_setName(body->element, name_of('b', i, name));
    peer_seen(p, b->parent, b->start.x, body->pos);
    peer_from(p->bodies[b->parent].start.q, b->start.q, body->quat);
    if (!b->fixed) {
        memset(body->ipos, 0, sizeof body->ipos);
        memcpy(body->iquat, b->axes, sizeof b->axes);
        memcpy(body->inertia, b->moments, sizeof b->moments);
        body->mass             = b->mass;
        body->explicitinertial = 1;
    }
    add_joint(p, i, body);
    return body;
}

static void add_shape(const peer_plain* p, const peer_shape* s, mjsBody* body)
{
    mjsGeom* geom = mjs_addGeom(body, NULL);
    memcpy(geom->pos, s->x, sizeof s->x);
    memcpy(geom->quat, s->q, sizeof s->q);
    memcpy(geom->size, s->size, sizeof s->size);
    geom->type = s->type == TN_SHAPE_SPHERE    ? mjGEOM_SPHERE
                 : s->type == TN_SHAPE_BOX     ? mjGEOM_BOX
                 : s->type == TN_SHAPE_CAPSULE ? mjGEOM_CAPSULE
                 : s->type == TN_SHAPE_PLANE   ? mjGEOM_PLANE
                                               : mjGEOM_CYLINDER;
    if (s->type == TN_SHAPE_PLANE) geom->size[0] = geom->size[1] = 0, geom->size[2] = 1;
    geom->contype     = (int)(1U << s->group);
    geom->conaffinity = (int)s->with;
    geom->friction[0] = p->friction;
    geom->mass        = 0;
}

static void tie(mjSpec* spec, const peer_plain* p, const peer_joint* j, mjtEq type, double along)
{
    char         name[16];
    mjsEquality* eq = mjs_addEquality(spec, NULL);
    double       point[3];
    for (int k = 0; k < 3; ++k) point[k] = j->anchor[k] + along * j->axis[k];
    eq->type = type, eq->objtype = mjOBJ_BODY;
    mjs_setString(eq->name1, name_of('b', j->body1, name));
    mjs_setString(eq->name2, j->body2 ? name_of('b', j->body2, name) : "world");
    if (j->body1 == 0) mjs_setString(eq->name1, "world");
    peer_seen(p, j->body1, point, eq->data);
}

static bool close_loop(mjSpec* spec, const peer_plain* p, const peer_joint* j, tn_why* why)
{
    if (j->type == PEER_SLIDER || j->driven || j->stiffness > 0)
        return peer_refuse(why, "MuJoCo", "a slider, drive or spring that closes a loop");
    if (j->type == PEER_WELD) return tie(spec, p, j, mjEQ_WELD, 0), true;
    if (j->type == PEER_BALL) return tie(spec, p, j, mjEQ_CONNECT, 0), true;
    tie(spec, p, j, mjEQ_CONNECT, -0.05);
    tie(spec, p, j, mjEQ_CONNECT, 0.05);
    return true;
}

static void add_drive(mjSpec* spec, int joint)
{
    char         name[16];
    mjsEquality* eq = mjs_addEquality(spec, NULL);
    eq->type = mjEQ_JOINT, eq->objtype = mjOBJ_JOINT;
    memset(eq->data, 0, sizeof eq->data);
    mjs_setString(eq->name1, name_of('j', joint, name));
}

static void add_excludes(mjSpec* spec, const peer_plain* p)
{
    char name[16];
    for (int i = 1; i < p->body_count; ++i) {
        for (int k = i + 1; k < p->body_count; ++k) {
            if (!p->apart[i * p->body_count + k]) continue;
            mjsExclude* exclude = mjs_addExclude(spec);
            mjs_setString(exclude->bodyname1, name_of('b', i, name));
            mjs_setString(exclude->bodyname2, name_of('b', k, name));
        }
    }
}

static bool describe(mjSpec* spec, const peer_plain* p, tn_why* why)
{
    mjsBody** bodies = calloc((size_t)p->body_count + 1, sizeof *bodies);
    bool      good = true, constrained = p->shape_count > 0;
    bodies[0] = mjs_findBody(spec, "world");
    for (int k = 0; k + 1 < p->body_count; ++k) {
        const int i = p->order[k];
        bodies[i]   = add_body(p, i, bodies[p->bodies[i].parent]);
    }
    for (int i = 0; i < p->shape_count; ++i) add_shape(p, &p->shapes[i], bodies[p->shapes[i].body]);
    for (int j = 0; good && j < p->joint_count; ++j) {
        if (p->joints[j].closes) good = close_loop(spec, p, &p->joints[j], why);
        else if (p->joints[j].driven) add_drive(spec, j);
        constrained = constrained || p->joints[j].closes || p->joints[j].driven;
    }
    if (p->shape_count > 0) add_excludes(spec, p);
    else spec->option.disableflags |= mjDSBL_CONTACT;
    if (!constrained) spec->option.disableflags |= mjDSBL_CONSTRAINT;
    free(bodies);
    return good;
}

static void close_world(void* world)
{
    mujoco_world* w = world;
    mj_deleteData(w->data);
    mj_deleteModel(w->model);
    free(w->ids);
    free(w);
}

// Coordinates are those of the start already.
static void set_start(mujoco_world* w)
{
    const peer_plain* p = w->p;
    const mjModel*    m = w->model;
    w->ids              = calloc((size_t)p->body_count, sizeof(int));
    for (int i = 1; i < p->body_count; ++i) {
        char name[16];
        w->ids[i]       = mj_name2id(m, mjOBJ_BODY, name_of('b', i, name));
        const int joint = m->body_jntadr[w->ids[i]];
        if (joint < 0) continue;
        double* v = w->data->qvel + m->jnt_dofadr[joint];
        peer_rates(p, i, v);
        if (m->jnt_type[joint] == mjJNT_FREE) peer_turn_back(p->bodies[i].start.q, v + 3, v + 3);
    }
}

static void* open_world(const peer_plain* p, const peer_options* options, tn_why* why)
{
    static const int integrators[] = {mjINT_EULER, mjINT_RK4, mjINT_IMPLICITFAST, mjINT_DISCRETE};
    mujoco_world*    w             = calloc(1, sizeof *w);
    mjSpec*          spec          = mj_makeSpec();
    mju_user_warning               = silent;
    w->p                           = p;
    w->options                     = *options;
    spec->option.integrator        = integrators[options->integrator];
    spec->option.cone              = mjCONE_ELLIPTIC;
    spec->option.disableflags      = mjDSBL_AUTORESET | mjDSBL_SENSOR | mjDSBL_ACTUATION;
    if (p->shape_count > 0) spec->memory = (mjtSize)1 << 30;
    memcpy(spec->option.gravity, p->gravity, sizeof p->gravity);
    if (describe(spec, p, why)) {
        w->model = mj_compile(spec, NULL);
        if (w->model) w->data = mj_makeData(w->model);
        if (!w->data) peer_refuse(why, "MuJoCo", mjs_getError(spec));
    }
    mj_deleteSpec(spec);
    if (w->data) return set_start(w), w;
    close_world(w);
    return NULL;
}

// The joint's angle is that of the child; body 2 is the child where its parent is body 1.
static void drive(mujoco_world* w, double h)
{
    for (int e = 0; e < w->model->neq; ++e) {
        if (w->model->eq_type[e] != mjEQ_JOINT) continue;
        const int         id             = w->model->eq_obj1id[e];
        const char*       name           = mj_id2name(w->model, mjOBJ_JOINT, id);
        const peer_joint* joint          = &w->p->joints[atoi(name + 1)];
        const bool        child2         = w->model->jnt_bodyid[id] == w->ids[joint->body2];
        w->model->eq_data[e * mjNEQDATA] = (child2 ? 1 : -1) * joint->speed * (w->data->time + h);
    }
}

static void stiffen(mujoco_world* w, double time)
{
    mjModel* m = w->model;
    for (int i = 0; i < (int)m->ngeom; ++i) m->geom_solref[mjNREF * i] = time;
    for (int i = 0; i < (int)m->neq; ++i) m->eq_solref[mjNREF * i] = time;
}

static bool step(void* world, double h, tn_why* why)
{
    mujoco_world* w = world;
    (void)why;
    w->model->opt.timestep = h;
    if (w->options.solref > 0) stiffen(w, w->options.solref * h);
    drive(w, h);
    mj_step(w->model, w->data);
    return true;
}

// Gravity is in its accelerations, as a sensor would feel it.
static bool evaluate(void* world, double* a, tn_why* why)
{
    mujoco_world* w = world;
    (void)why;
    mj_forward(w->model, w->data);
    if (!a) return true;
    mj_rnePostConstraint(w->model, w->data);
    for (int i = 1; i < w->p->body_count; ++i) {
        mjtNum both[6];
        mj_objectAcceleration(w->model, w->data, mjOBJ_BODY, w->ids[i], both, 0);
        for (int k = 0; k < 3; ++k) {
            a[6 * i + k]     = both[3 + k] + w->p->gravity[k];
            a[6 * i + 3 + k] = both[k];
        }
    }
    return true;
}

// A step leaves the new coordinates but the old places.
static void read_world(const void* world, tn_state* state)
{
    const mujoco_world* w = world;
    mj_kinematics(w->model, w->data);
    mj_comPos(w->model, w->data);
    mj_comVel(w->model, w->data);
    for (int i = 1; i < w->p->body_count; ++i) {
        mjtNum    velocity[6];
        peer_pose pose;
        mj_objectVelocity(w->model, w->data, mjOBJ_XBODY, w->ids[i], velocity, 0);
        memcpy(pose.x, w->data->xpos + 3 * w->ids[i], sizeof pose.x);
        memcpy(pose.q, w->data->xquat + 4 * w->ids[i], sizeof pose.q);
        memcpy(pose.w, velocity, sizeof pose.w);
        memcpy(pose.v, velocity + 3, sizeof pose.v);
        peer_put(w->p, i, &pose, state);
    }
}

const peer_engine peer_mujoco = {"MuJoCo", open_world, step, read_world, close_world, evaluate};
