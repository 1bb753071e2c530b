// mujoco: a tree of rods as a model of MuJoCo (PyPI mujoco-core: headers and libmujoco), made by its
// mjSpec functions. Body frames stand in the centres of mass. Ball joints have their own stiffness;
// what the integrators do with it:
//     Euler, implicit, implicitfast    explicit: only derivatives by velocity are implicit
//     RK4                              explicit, fourth order
//     discrete                         implicit in position: M + h^2 K (new in 4.0)
// There are no contacts and no constraints, so their solver is off; states that look bad are not
// reset behind our back.
#include "links.h"

#include <mujoco/mujoco.h>
#include <stdlib.h>
#include <string.h>

typedef struct mujoco_world {
    peer_links links;
    mjModel*   model;
    mjData*    data;
} mujoco_world;

static void silent(const char* text)
{
    (void)text;
}

static void add_links(mjSpec* spec, const peer_links* l)
{
    mjsBody** bodies = calloc((size_t)l->count + 1, sizeof *bodies);
    bodies[0]        = mjs_findBody(spec, "world");
    for (int i = 0; i < l->count; ++i) {
        const peer_link* link  = &l->links[i];
        mjsBody*         body  = mjs_addBody(bodies[link->parent + 1], NULL);
        mjsJoint*        joint = mjs_addJoint(body, NULL);
        memcpy(body->pos, link->place, sizeof link->place);
        memcpy(body->quat, link->turn, sizeof link->turn);
        memcpy(body->inertia, link->inertia, sizeof link->inertia);
        memset(body->ipos, 0, sizeof body->ipos);
        body->mass             = link->mass;
        body->explicitinertial = 1;
        joint->type            = mjJNT_BALL;
        joint->stiffness[0]    = link->stiffness;
        memcpy(joint->pos, link->pivot2, sizeof link->pivot2);
        bodies[i + 1] = body;
    }
    free(bodies);
}

static void close_world(void* world)
{
    mujoco_world* w = world;
    peer_links_close(&w->links);
    mj_deleteData(w->data);
    mj_deleteModel(w->model);
    free(w);
}

static void* open_world(const tn_model* model, const tn_state* start, int integrator, tn_why* why)
{
    mujoco_world* w  = calloc(1, sizeof *w);
    mju_user_warning = silent;
    if (!peer_links_open(&w->links, "MuJoCo", model, start, why)) return free(w), NULL;
    mjSpec* spec            = mj_makeSpec();
    spec->option.integrator = integrator;
    spec->option.disableflags =
        mjDSBL_CONSTRAINT | mjDSBL_CONTACT | mjDSBL_SENSOR | mjDSBL_ACTUATION | mjDSBL_AUTORESET;
    memcpy(spec->option.gravity, w->links.gravity, sizeof w->links.gravity);
    add_links(spec, &w->links);
    w->model = mj_compile(spec, NULL);
    if (w->model) w->data = mj_makeData(w->model);
    if (!w->data) peer_refuse(why, "MuJoCo", mjs_getError(spec), "");
    mj_deleteSpec(spec);
    if (w->data) return w;
    close_world(w);
    return NULL;
}

static void* open_euler(const tn_model* model, const tn_state* start, const peer_options* options,
                        tn_why* why)
{
    (void)options;
    return open_world(model, start, mjINT_EULER, why);
}
static void* open_rk4(const tn_model* model, const tn_state* start, const peer_options* options,
                      tn_why* why)
{
    (void)options;
    return open_world(model, start, mjINT_RK4, why);
}
static void* open_implicit(const tn_model* model, const tn_state* start,
                           const peer_options* options, tn_why* why)
{
    (void)options;
    return open_world(model, start, mjINT_IMPLICIT, why);
}
static void* open_implicitfast(const tn_model* model, const tn_state* start,
                               const peer_options* options, tn_why* why)
{
    (void)options;
    return open_world(model, start, mjINT_IMPLICITFAST, why);
}
static void* open_discrete(const tn_model* model, const tn_state* start,
                           const peer_options* options, tn_why* why)
{
    (void)options;
    return open_world(model, start, mjINT_DISCRETE, why);
}

static bool step(void* world, double h, tn_why* why)
{
    mujoco_world* w = world;
    (void)why;
    w->model->opt.timestep = h;
    mj_step(w->model, w->data);
    w->links.time += h;
    return true;
}

// A step leaves the new coordinates but the old places.
static void read_world(const void* world, tn_state* state)
{
    const mujoco_world* w = world;
    mj_kinematics(w->model, w->data);
    mj_comPos(w->model, w->data);
    mj_comVel(w->model, w->data);
    for (int i = 0; i < w->links.count; ++i) {
        peer_pose pose;
        mjtNum    velocity[6];
        mj_objectVelocity(w->model, w->data, mjOBJ_BODY, i + 1, velocity, 0);
        memcpy(pose.x, w->data->xpos + 3 * (i + 1), sizeof pose.x);
        memcpy(pose.q, w->data->xquat + 4 * (i + 1), sizeof pose.q);
        memcpy(pose.w, velocity, sizeof pose.w);
        memcpy(pose.v, velocity + 3, sizeof pose.v);
        peer_links_write(&w->links, i, &pose, state);
    }
}

const peer_engine peer_mujoco_euler = {"MuJoCo Euler", open_euler, step, read_world, close_world};
const peer_engine peer_mujoco_rk4   = {"MuJoCo RK4", open_rk4, step, read_world, close_world};
const peer_engine peer_mujoco_implicit     = {"MuJoCo implicit", open_implicit, step, read_world,
                                              close_world};
const peer_engine peer_mujoco_implicitfast = {"MuJoCo implicitfast", open_implicitfast, step,
                                              read_world, close_world};
const peer_engine peer_mujoco_discrete     = {"MuJoCo discrete", open_discrete, step, read_world,
                                              close_world};
