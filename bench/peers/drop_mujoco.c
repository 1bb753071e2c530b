// drop_mujoco: a drop in MuJoCo (PyPI mujoco-core), made by its mjSpec functions: a forest of the
// joints, first come, in joint coordinates; a joint that closes a loop becomes equality
// constraints: one `connect` for a ball joint, two along the axis for a hinge, a `weld` for a
// weld. A driven hinge is an equality of the joint's angle with speed times time. Elliptic cones,
// Newton's method, implicitfast integrator; contacts and equalities are springs with the time
// constant 20 ms (the default) or so many steps; never under 2 steps, which MuJoCo sees to
// itself.
#include "drop.h"

#include <mujoco/mujoco.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct world_of_mujoco {
    const drop*  d;
    drop_options options;
    mjModel*     model;
    mjData*      data;
    int*         ids; ///< of bodies
} world_of_mujoco;

static void silent(const char* text)
{
    (void)text;
}

// Of the forest: which joint holds a body, -1: none, and who is its parent.
typedef struct forest {
    int * joint, *parent, *order;
    bool* used; ///< by joint
    int   count;
} forest;

static void grow(const drop* d, forest* f, int from)
{
    f->order[f->count++] = from;
    for (int done = f->count - 1; done < f->count; ++done) {
        for (int j = 0; j < d->joint_count; ++j) {
            const drop_joint* joint = &d->joints[j];
            const int at = f->order[done], other = joint->body1 == at ? joint->body2 : joint->body1;
            if (joint->body1 != at && joint->body2 != at) continue;
            if (f->parent[other] >= 0 || d->bodies[other].fixed) continue;
            f->parent[other] = at, f->joint[other] = j, f->used[j] = true;
            f->order[f->count++] = other;
        }
    }
}

static forest plant(const drop* d)
{
    const size_t n = (size_t)d->body_count;
    forest       f = {calloc(n, sizeof(int)), calloc(n, sizeof(int)), calloc(n, sizeof(int)),
                      calloc((size_t)d->joint_count + 1, sizeof(bool)), 0};
    for (int i = 0; i < d->body_count; ++i) f.parent[i] = f.joint[i] = -1;
    for (int i = 0; i < d->body_count; ++i)
        if (d->bodies[i].fixed) f.parent[i] = 0, grow(d, &f, i);
    for (int i = 1; i < d->body_count; ++i)
        if (f.parent[i] < 0) f.parent[i] = 0, grow(d, &f, i);
    return f;
}

static void uproot(forest* f)
{
    free(f->joint);
    free(f->parent);
    free(f->order);
    free(f->used);
}

static const char* name_of(char letter, int i, char* text)
{
    snprintf(text, 16, "%c%d", letter, i);
    return text;
}

// A point of the world at the start, as a body sees it.
static void seen(const drop_body* b, const double* point, double* out)
{
    const double from[3] = {point[0] - b->start.x[0], point[1] - b->start.x[1],
                            point[2] - b->start.x[2]};
    drop_turn_back(b->start.q, from, out);
}

static void add_joint(const drop* d, const forest* f, int i, mjsBody* body)
{
    char name[16];
    if (d->bodies[i].fixed) return;
    if (f->joint[i] < 0) {
        mjs_addFreeJoint(body)->align = mjALIGNFREE_FALSE;
        return;
    }
    const drop_joint* from = &d->joints[f->joint[i]];
    if (from->type == DROP_WELD) return;
    mjsJoint* joint = mjs_addJoint(body, NULL);
    joint->type     = from->type == DROP_BALL ? mjJNT_BALL : mjJNT_HINGE;
    seen(&d->bodies[i], from->anchor, joint->pos);
    drop_turn_back(d->bodies[i].start.q, from->axis, joint->axis);
    mjs_setName(joint->element, name_of('j', f->joint[i], name));
}

static mjsBody* add_body(const drop* d, const forest* f, int i, mjsBody* parent)
{
    const drop_body *b = &d->bodies[i], *p = &d->bodies[f->parent[i]];
    mjsBody*         body = mjs_addBody(parent, NULL);
    char             name[16];
    mjs_setName(body->element, name_of('b', i, name));
    seen(p, b->start.x, body->pos);
    drop_from(p->start.q, b->start.q, body->quat);
    if (!b->fixed) {
        memset(body->ipos, 0, sizeof body->ipos);
        memcpy(body->iquat, b->axes, sizeof b->axes);
        memcpy(body->inertia, b->moments, sizeof b->moments);
        body->mass             = b->mass;
        body->explicitinertial = 1;
    }
    add_joint(d, f, i, body);
    return body;
}

static void add_shape(const drop* d, const drop_shape* s, mjsBody* body)
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
    geom->friction[0] = d->friction;
    geom->mass        = 0;
}

static void tie(mjSpec* spec, const drop* d, const drop_joint* j, mjtEq type, double along)
{
    char         name[16];
    mjsEquality* eq = mjs_addEquality(spec, NULL);
    double       point[3];
    for (int k = 0; k < 3; ++k) point[k] = j->anchor[k] + along * j->axis[k];
    eq->type = type, eq->objtype = mjOBJ_BODY;
    mjs_setString(eq->name1, name_of('b', j->body1, name));
    mjs_setString(eq->name2, j->body2 ? name_of('b', j->body2, name) : "world");
    if (j->body1 == 0) mjs_setString(eq->name1, "world");
    seen(&d->bodies[j->body1], point, eq->data);
}

static void close_loop(mjSpec* spec, const drop* d, const drop_joint* j)
{
    if (j->type == DROP_WELD) return tie(spec, d, j, mjEQ_WELD, 0);
    if (j->type == DROP_BALL) return tie(spec, d, j, mjEQ_CONNECT, 0);
    tie(spec, d, j, mjEQ_CONNECT, -0.05);
    tie(spec, d, j, mjEQ_CONNECT, 0.05);
}

static void add_drive(mjSpec* spec, int joint)
{
    char         name[16];
    mjsEquality* eq = mjs_addEquality(spec, NULL);
    eq->type = mjEQ_JOINT, eq->objtype = mjOBJ_JOINT;
    memset(eq->data, 0, sizeof eq->data);
    mjs_setString(eq->name1, name_of('j', joint, name));
}

static void add_excludes(mjSpec* spec, const drop* d)
{
    char name[16];
    for (int i = 1; i < d->body_count; ++i) {
        for (int k = i + 1; k < d->body_count; ++k) {
            if (!d->apart[i * d->body_count + k]) continue;
            mjsExclude* exclude = mjs_addExclude(spec);
            mjs_setString(exclude->bodyname1, name_of('b', i, name));
            mjs_setString(exclude->bodyname2, name_of('b', k, name));
        }
    }
}

static bool describe(mjSpec* spec, const drop* d, tn_why* why)
{
    forest    f      = plant(d);
    mjsBody** bodies = calloc((size_t)d->body_count + 1, sizeof *bodies);
    bool      good   = true;
    bodies[0]        = mjs_findBody(spec, "world");
    for (int i = 0; i < f.count; ++i) {
        const int b = f.order[i];
        if (b > 0) bodies[b] = add_body(d, &f, b, bodies[f.parent[b]]);
    }
    for (int i = 0; i < d->shape_count; ++i) add_shape(d, &d->shapes[i], bodies[d->shapes[i].body]);
    for (int j = 0; j < d->joint_count; ++j) {
        if (!f.used[j]) close_loop(spec, d, &d->joints[j]);
        if (d->joints[j].driven && f.used[j]) add_drive(spec, j);
        else if (d->joints[j].driven) good = drop_refuse(why, "MuJoCo", "a drive in a loop");
    }
    add_excludes(spec, d);
    free(bodies);
    uproot(&f);
    return good;
}

static void close_world(void* world)
{
    world_of_mujoco* w = world;
    mj_deleteData(w->data);
    mj_deleteModel(w->model);
    free(w->ids);
    free(w);
}

// Of body i against the one that its joint ties it to: about a hinge's axis, or in the body's axes.
static void set_rate(const drop* d, int i, const drop_joint* j, double* rate)
{
    const drop_pose *me    = &d->bodies[i].start,
                    *other = &d->bodies[j->body1 == i ? j->body2 : j->body1].start;
    double w[3];
    for (int k = 0; k < 3; ++k) w[k] = me->w[k] - other->w[k];
    if (j->type == DROP_BALL) drop_turn_back(me->q, w, rate);
    else rate[0] = w[0] * j->axis[0] + w[1] * j->axis[1] + w[2] * j->axis[2];
}

// Coordinates are those of the start already.
static void set_start(world_of_mujoco* w)
{
    const drop*    d = w->d;
    const mjModel* m = w->model;
    w->ids           = calloc((size_t)d->body_count, sizeof(int));
    for (int i = 1; i < d->body_count; ++i) {
        char name[16];
        w->ids[i]       = mj_name2id(m, mjOBJ_BODY, name_of('b', i, name));
        const int joint = m->body_jntadr[w->ids[i]];
        if (joint < 0) continue;
        double* v = w->data->qvel + m->jnt_dofadr[joint];
        if (m->jnt_type[joint] != mjJNT_FREE) {
            set_rate(d, i, &d->joints[atoi(mj_id2name(m, mjOBJ_JOINT, joint) + 1)], v);
        } else {
            memcpy(v, d->bodies[i].start.v, sizeof d->bodies[i].start.v);
            drop_turn_back(d->bodies[i].start.q, d->bodies[i].start.w, v + 3);
        }
    }
}

static void* open_world(const drop* d, const drop_options* options, tn_why* why)
{
    world_of_mujoco* w        = calloc(1, sizeof *w);
    mjSpec*          spec     = mj_makeSpec();
    mju_user_warning          = silent;
    w->d                      = d;
    w->options                = *options;
    spec->option.integrator   = mjINT_IMPLICITFAST;
    spec->option.cone         = mjCONE_ELLIPTIC;
    spec->option.disableflags = mjDSBL_AUTORESET;
    spec->memory              = (mjtSize)1 << 30;
    memcpy(spec->option.gravity, d->gravity, sizeof d->gravity);
    if (describe(spec, d, why)) {
        w->model = mj_compile(spec, NULL);
        if (w->model) w->data = mj_makeData(w->model);
        if (!w->data) drop_refuse(why, "MuJoCo", mjs_getError(spec));
    }
    mj_deleteSpec(spec);
    if (w->data) return set_start(w), w;
    close_world(w);
    return NULL;
}

// The joint's angle is that of the child; body 2 is the child where its parent is body 1.
static void drive(world_of_mujoco* w, double h)
{
    for (int e = 0; e < w->model->neq; ++e) {
        if (w->model->eq_type[e] != mjEQ_JOINT) continue;
        const int         id             = w->model->eq_obj1id[e];
        const char*       name           = mj_id2name(w->model, mjOBJ_JOINT, id);
        const drop_joint* joint          = &w->d->joints[atoi(name + 1)];
        const bool        child2         = w->model->jnt_bodyid[id] == w->ids[joint->body2];
        w->model->eq_data[e * mjNEQDATA] = (child2 ? 1 : -1) * joint->speed * (w->data->time + h);
    }
}

static void stiffen(world_of_mujoco* w, double time)
{
    mjModel* m = w->model;
    for (int i = 0; i < (int)m->ngeom; ++i) m->geom_solref[mjNREF * i] = time;
    for (int i = 0; i < (int)m->neq; ++i) m->eq_solref[mjNREF * i] = time;
}

static bool step(void* world, double h, tn_why* why)
{
    world_of_mujoco* w = world;
    (void)why;
    w->model->opt.timestep = h;
    if (w->options.solref > 0) stiffen(w, w->options.solref * h);
    drive(w, h);
    mj_step(w->model, w->data);
    return true;
}

// A step leaves the new coordinates but the old places.
static void read_world(const void* world, drop_pose* poses)
{
    const world_of_mujoco* w = world;
    mj_kinematics(w->model, w->data);
    mj_comPos(w->model, w->data);
    mj_comVel(w->model, w->data);
    for (int i = 1; i < w->d->body_count; ++i) {
        mjtNum velocity[6];
        if (w->d->bodies[i].fixed) continue;
        mj_objectVelocity(w->model, w->data, mjOBJ_XBODY, w->ids[i], velocity, 0);
        memcpy(poses[i].x, w->data->xpos + 3 * w->ids[i], sizeof poses[i].x);
        memcpy(poses[i].q, w->data->xquat + 4 * w->ids[i], sizeof poses[i].q);
        memcpy(poses[i].w, velocity, sizeof poses[i].w);
        memcpy(poses[i].v, velocity + 3, sizeof poses[i].v);
    }
}

const drop_engine drop_mujoco = {"MuJoCo", open_world, step, read_world, close_world};
