// ode: a model as a world of the Open Dynamics Engine.
//
// ODE's bodies stand at their centres of mass and take the inertia about them in body axes, as
// tni_body has them. Its joints are placed by a world anchor and axis when they are attached, so
// the start state must be assembled. ODE measures body 1 against body 2, so a motor's speed is the
// negative of ours; but it makes the ground body 2, and turns the axes of sliders then, not those
// of hinges.
//
//     hinge  ball  weld  slider  universal  cylinder     Hinge Ball Fixed Slider Universal Piston
//     motor of a hinge or a slider                       the same, dParamVel, no bound on force
#include "peer.h"
#include "state/state.h"

#include <ode/ode.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct drive {
    dJointID         joint;
    const tni_joint* from;
} drive;

typedef struct ode_world {
    const tn_model* model;
    double          time;
    dWorldID        world;
    dBodyID*        bodies; ///< as the model's; NULL: the ground or a static body
    drive*          drives;
    int             drive_count;
} ode_world;

static void silent(int number, const char* text, va_list list)
{
    (void)number, (void)text, (void)list;
}

static bool refuse(tn_why* why, const char* what, const char* name)
{
    why->result = TN_ERR_MODEL;
    snprintf(why->text, sizeof why->text, "ODE: %s '%s' has no counterpart", what, name);
    return false;
}

// What is not a rigid body or a joint of the list above.
static bool nothing_else(const tn_model* model, tn_why* why)
{
    if (model->user_count > 0) return refuse(why, "constraint", model->users[0].name);
    if (model->coupling_count > 0) return refuse(why, "coupling", model->couplings[0].name);
    if (model->actuation_count + model->limit_count > 0) {
        return refuse(why, "a joint's spring or limit in", model->name);
    }
    if (model->spring_count + model->target_count + model->load_count + model->drag_count > 0) {
        return refuse(why, "a force in", model->name);
    }
    return true;
}

static bool assembled(const tn_state* start, tn_why* why)
{
    for (int i = 0; i < start->model->joint_count; ++i) {
        if (tn_state_joint_error(start, (tn_joint_id){(uint32_t)i + 1}) > 1e-9) {
            return refuse(why, "joint that is not assembled,", start->model->joints[i].name);
        }
    }
    return true;
}

static bool add_body(ode_world* w, int i, const tn_state* start, tn_why* why)
{
    const tni_body* body = &w->model->bodies[i];
    if (body->kind == TN_BODY_STATIC) return true;
    if (body->kind != TN_BODY_RIGID) return refuse(why, "body", body->name);
    const double* q  = start->q + body->q_start;
    const double* u  = start->u + body->u_start;
    const dBodyID id = dBodyCreate(w->world);
    dMass         mass;
    const tn_vec3 cx = tni_column(&body->inertia, 0), cy = tni_column(&body->inertia, 1),
                  cz = tni_column(&body->inertia, 2);
    dMassSetParameters(&mass, body->mass, 0, 0, 0, cx.x, cy.y, cz.z, cy.x, cz.x, cz.y);
    dBodySetMass(id, &mass);
    dBodySetPosition(id, q[0], q[1], q[2]);
    dBodySetQuaternion(id, (dQuaternion){q[3], q[4], q[5], q[6]});
    dBodySetLinearVel(id, u[0], u[1], u[2]);
    dBodySetAngularVel(id, u[3], u[4], u[5]);
    w->bodies[i] = id;
    return true;
}

// The world position of an anchor and of an axis of one of the joint's frames, at the start.
typedef struct placing {
    dJointID id;
    tn_vec3  anchor, z1, x2, z2;
} placing;

static placing place(const tni_joint* joint, const tn_state* start)
{
    const tni_view v1 = tni_state_view(start, joint->body1),
                   v2 = tni_state_view(start, joint->body2);
    return (placing){.anchor = tni_add(v2.x, tni_mul(&v2.R, joint->p2)),
                     .z1     = tni_mul(&v1.R, tni_column(&joint->F1, 2)),
                     .x2     = tni_mul(&v2.R, tni_column(&joint->F2, 0)),
                     .z2     = tni_mul(&v2.R, tni_column(&joint->F2, 2))};
}

static dJointID create(dWorldID world, const char* word, bool slides)
{
    if (strcmp(word, "motor") == 0) word = slides ? "slider" : "hinge";
    if (strcmp(word, "hinge") == 0) return dJointCreateHinge(world, 0);
    if (strcmp(word, "ball") == 0) return dJointCreateBall(world, 0);
    if (strcmp(word, "weld") == 0) return dJointCreateFixed(world, 0);
    if (strcmp(word, "slider") == 0) return dJointCreateSlider(world, 0);
    if (strcmp(word, "universal") == 0) return dJointCreateUniversal(world, 0);
    if (strcmp(word, "cylinder") == 0) return dJointCreatePiston(world, 0);
    return NULL;
}

static void set_axes(const placing* p)
{
    const tn_vec3 a = p->anchor, z1 = p->z1, x2 = p->x2, z2 = p->z2;
    switch (dJointGetType(p->id)) {
    case dJointTypeHinge:
        dJointSetHingeAnchor(p->id, a.x, a.y, a.z);
        dJointSetHingeAxis(p->id, z2.x, z2.y, z2.z);
        break;
    case dJointTypeBall: dJointSetBallAnchor(p->id, a.x, a.y, a.z); break;
    case dJointTypeSlider: dJointSetSliderAxis(p->id, z2.x, z2.y, z2.z); break;
    case dJointTypeUniversal:
        dJointSetUniversalAnchor(p->id, a.x, a.y, a.z);
        dJointSetUniversalAxis1(p->id, z1.x, z1.y, z1.z);
        dJointSetUniversalAxis2(p->id, x2.x, x2.y, x2.z);
        break;
    case dJointTypePiston:
        dJointSetPistonAnchor(p->id, a.x, a.y, a.z);
        dJointSetPistonAxis(p->id, z2.x, z2.y, z2.z);
        break;
    default: dJointSetFixed(p->id);
    }
}

static bool add_joint(ode_world* w, const tni_joint* joint, const tn_state* start, tn_why* why)
{
    const bool slides = joint->type->row_count > 0 && joint->type->coordinate_count > 0 &&
                        joint->type->coordinates[0] == TNI_COORDINATE_SLIDE_Z;
    placing p = place(joint, start);
    p.id      = create(w->world, joint->type->word, slides);
    if (p.id == NULL) return refuse(why, joint->type->word, joint->name);
    dJointAttach(p.id, w->bodies[joint->body1], w->bodies[joint->body2]);
    set_axes(&p);
    if (strcmp(joint->type->word, "motor") == 0) {
        w->drives[w->drive_count++] = (drive){p.id, joint};
    }
    return true;
}

static bool fill(ode_world* w, const tn_state* start, tn_why* why)
{
    const tn_model* model = w->model;
    if (!nothing_else(model, why) || !assembled(start, why)) return false;
    for (int i = 1; i < model->body_count; ++i) {
        if (!add_body(w, i, start, why)) return false;
    }
    for (int i = 0; i < model->joint_count; ++i) {
        if (!add_joint(w, &model->joints[i], start, why)) return false;
    }
    return true;
}

static void close_world(void* world)
{
    ode_world* w = world;
    dWorldDestroy(w->world);
    dCloseODE();
    free(w->bodies);
    free(w->drives);
    free(w);
}

static void* open_world(const tn_model* model, const tn_state* start, const peer_options* options,
                        tn_why* why)
{
    ode_world* w = calloc(1, sizeof *w);
    w->bodies    = calloc((size_t)model->body_count, sizeof *w->bodies);
    w->drives    = calloc((size_t)model->joint_count + 1, sizeof *w->drives);
    w->model     = model;
    w->time      = start->time;
    dInitODE2(0);
    dSetErrorHandler(silent);
    dSetDebugHandler(silent);
    dSetMessageHandler(silent);
    dRandSetSeed(1); // QuickStep shuffles its rows
    w->world = dWorldCreate();
    dWorldSetGravity(w->world, model->gravity.x, model->gravity.y, model->gravity.z);
    dWorldSetERP(w->world, options->erp);
    dWorldSetCFM(w->world, options->cfm);
    dWorldSetQuickStepNumIterations(w->world, options->iterations);
    if (fill(w, start, why)) return w;
    close_world(w);
    return NULL;
}

// A step's velocity is that of its end.
static void drive_motors(ode_world* w, double h)
{
    for (int i = 0; i < w->drive_count; ++i) {
        const drive* d = &w->drives[i];
        double       value, rate;
        tni_values_at(d->from->drive, d->from->drive_count, w->time + h, &value, &rate);
        if (dJointGetType(d->joint) == dJointTypeSlider) {
            dJointSetSliderParam(d->joint, dParamVel, -value);
            dJointSetSliderParam(d->joint, dParamFMax, dInfinity);
        } else {
            const bool turned = w->bodies[d->from->body1] == NULL;
            dJointSetHingeParam(d->joint, dParamVel, turned ? value : -value);
            dJointSetHingeParam(d->joint, dParamFMax, dInfinity);
        }
    }
}

static bool step_quick(void* world, double h, tn_why* why)
{
    ode_world* w = world;
    (void)why;
    drive_motors(w, h);
    const bool good = dWorldQuickStep(w->world, h) != 0;
    w->time += h;
    return good;
}

static bool step_direct(void* world, double h, tn_why* why)
{
    ode_world* w = world;
    (void)why;
    drive_motors(w, h);
    const bool good = dWorldStep(w->world, h) != 0;
    w->time += h;
    return good;
}

static void read_world(const void* world, tn_state* state)
{
    const ode_world* w = world;
    state->time        = w->time;
    for (int i = 1; i < w->model->body_count; ++i) {
        if (w->bodies[i] == NULL) continue;
        const tni_body* body = &w->model->bodies[i];
        const dReal *   x = dBodyGetPosition(w->bodies[i]), *o = dBodyGetQuaternion(w->bodies[i]);
        const dReal *   v = dBodyGetLinearVel(w->bodies[i]), *a = dBodyGetAngularVel(w->bodies[i]);
        double *        q = state->q + body->q_start, *u = state->u + body->u_start;
        for (int k = 0; k < 3; ++k) q[k] = x[k], u[k] = v[k], u[3 + k] = a[k];
        for (int k = 0; k < 4; ++k) q[3 + k] = o[k];
    }
}

const peer_engine peer_ode_quick  = {"ODE QuickStep", open_world, step_quick, read_world,
                                     close_world};
const peer_engine peer_ode_direct = {"ODE WorldStep", open_world, step_direct, read_world,
                                     close_world};
