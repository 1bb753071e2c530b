// ode: a mechanism in the Open Dynamics Engine. Bodies stand at their centres of mass with Tenon's
// inertias. Contacts: up to 8 points a pair, the friction pyramid scaled by the normal force
// (dContactApprox1), the world's ERP and CFM. No damping, no auto-disable. Springs of joints, which
// it does not have, are torques before each step.
#include "peer.h"

#include <ode/ode.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS_MAX = 8 };

typedef struct ode_world {
    const peer_plain* p;
    peer_options      options;
    dWorldID          world;
    dSpaceID          space;
    dJointGroupID     contacts;
    dBodyID*          bodies; ///< NULL: fixed
} ode_world;

static void silent(int number, const char* text, va_list list)
{
    (void)number, (void)text, (void)list;
}

static void add_body(ode_world* w, int i)
{
    const peer_body* b = &w->p->bodies[i];
    const double *   I = b->inertia, *q = b->start.q;
    dMass            mass;
    if (b->fixed) return;
    const dBodyID id = w->bodies[i] = dBodyCreate(w->world);
    dMassSetParameters(&mass, b->mass, 0, 0, 0, I[0], I[1], I[2], I[3], I[4], I[5]);
    dBodySetMass(id, &mass);
    dBodySetPosition(id, b->start.x[0], b->start.x[1], b->start.x[2]);
    dBodySetQuaternion(id, (dQuaternion){q[0], q[1], q[2], q[3]});
    dBodySetLinearVel(id, b->start.v[0], b->start.v[1], b->start.v[2]);
    dBodySetAngularVel(id, b->start.w[0], b->start.w[1], b->start.w[2]);
}

// ODE measures body 1 against body 2, and makes the ground body 2.
static void drive(const ode_world* w, dJointID id, const peer_joint* j)
{
    dJointSetHingeParam(id, dParamVel, w->bodies[j->body1] ? -j->speed : j->speed);
    dJointSetHingeParam(id, dParamFMax, dInfinity);
}

static void add_joint(ode_world* w, const peer_joint* j)
{
    const double *p = j->anchor, *a = j->axis;
    const dBodyID body1 = w->bodies[j->body1], body2 = w->bodies[j->body2];
    dJointID      id;
    switch (j->type) {
    case PEER_HINGE:
        id = dJointCreateHinge(w->world, 0);
        dJointAttach(id, body1, body2);
        dJointSetHingeAnchor(id, p[0], p[1], p[2]);
        dJointSetHingeAxis(id, a[0], a[1], a[2]);
        if (j->driven) drive(w, id, j);
        break;
    case PEER_BALL:
        id = dJointCreateBall(w->world, 0);
        dJointAttach(id, body1, body2);
        dJointSetBallAnchor(id, p[0], p[1], p[2]);
        break;
    case PEER_SLIDER:
        id = dJointCreateSlider(w->world, 0);
        dJointAttach(id, body1, body2);
        dJointSetSliderAxis(id, a[0], a[1], a[2]);
        break;
    default:
        id = dJointCreateFixed(w->world, 0);
        dJointAttach(id, body1, body2);
        dJointSetFixed(id);
    }
}

static dGeomID geom_of(const ode_world* w, const peer_shape* s)
{
    const double* size = s->size;
    switch (s->type) {
    case TN_SHAPE_SPHERE: return dCreateSphere(w->space, size[0]);
    case TN_SHAPE_BOX: return dCreateBox(w->space, 2 * size[0], 2 * size[1], 2 * size[2]);
    case TN_SHAPE_CAPSULE: return dCreateCapsule(w->space, size[0], 2 * size[1]);
    case TN_SHAPE_CYLINDER: return dCreateCylinder(w->space, size[0], 2 * size[1]);
    default: return NULL;
    }
}

static void add_plane(const ode_world* w, int i)
{
    const peer_shape* s    = &w->p->shapes[i];
    const peer_pose*  at   = &w->p->bodies[s->body].start;
    const double      z[3] = {0, 0, 1};
    double            q[4], n[3], x[3];
    peer_times(at->q, s->q, q);
    peer_turn(q, z, n);
    peer_turn(at->q, s->x, x);
    const double offset =
        n[0] * (x[0] + at->x[0]) + n[1] * (x[1] + at->x[1]) + n[2] * (x[2] + at->x[2]);
    dGeomSetData(dCreatePlane(w->space, n[0], n[1], n[2], offset), (char*)w->p->shapes + i);
}

// A geom's data is its shape's number, as an offset.
static void add_shape(const ode_world* w, int i)
{
    const peer_shape* s = &w->p->shapes[i];
    const peer_body*  b = &w->p->bodies[s->body];
    if (s->type == TN_SHAPE_PLANE) return add_plane(w, i);
    const dGeomID     geom = geom_of(w, s);
    const dQuaternion q    = {s->q[0], s->q[1], s->q[2], s->q[3]};
    dGeomSetData(geom, (char*)w->p->shapes + i);
    dGeomSetCategoryBits(geom, 1UL << s->group);
    dGeomSetCollideBits(geom, s->with);
    if (w->bodies[s->body]) {
        dGeomSetBody(geom, w->bodies[s->body]);
        dGeomSetOffsetPosition(geom, s->x[0], s->x[1], s->x[2]);
        dGeomSetOffsetQuaternion(geom, q);
    } else {
        double x[3], turn[4];
        peer_turn(b->start.q, s->x, x);
        peer_times(b->start.q, s->q, turn);
        dGeomSetPosition(geom, b->start.x[0] + x[0], b->start.x[1] + x[1], b->start.x[2] + x[2]);
        dGeomSetQuaternion(geom, (dQuaternion){turn[0], turn[1], turn[2], turn[3]});
    }
}

static void touch(void* world, dGeomID geom1, dGeomID geom2)
{
    const ode_world* w      = world;
    const char*      base   = (const char*)w->p->shapes;
    const int        shape1 = (int)((const char*)dGeomGetData(geom1) - base),
              shape2        = (int)((const char*)dGeomGetData(geom2) - base);
    dContact points[POINTS_MAX];
    if (!peer_may_touch(w->p, shape1, shape2)) return;
    const int count = dCollide(geom1, geom2, POINTS_MAX, &points[0].geom, sizeof *points);
    for (int i = 0; i < count; ++i) {
        points[i].surface = (dSurfaceParameters){.mode = dContactApprox1, .mu = w->p->friction};
        dJointAttach(dJointCreateContact(w->world, w->contacts, &points[i]), dGeomGetBody(geom1),
                     dGeomGetBody(geom2));
    }
}

static void* open_world(const peer_plain* p, const peer_options* options, tn_why* why)
{
    ode_world* w = calloc(1, sizeof *w);
    (void)why;
    w->p       = p;
    w->options = *options;
    w->bodies  = calloc((size_t)p->body_count, sizeof(dBodyID));
    dInitODE2(0);
    dSetErrorHandler(silent);
    dSetDebugHandler(silent);
    dSetMessageHandler(silent);
    dRandSetSeed(1); // QuickStep shuffles its rows
    w->world    = dWorldCreate();
    w->space    = dHashSpaceCreate(0);
    w->contacts = dJointGroupCreate(0);
    dWorldSetGravity(w->world, p->gravity[0], p->gravity[1], p->gravity[2]);
    dWorldSetERP(w->world, options->erp);
    dWorldSetCFM(w->world, options->cfm);
    if (options->iterations > 0) dWorldSetQuickStepNumIterations(w->world, options->iterations);
    for (int i = 0; i < p->body_count; ++i) add_body(w, i);
    for (int i = 0; i < p->joint_count; ++i) add_joint(w, &p->joints[i]);
    for (int i = 0; i < p->shape_count; ++i) add_shape(w, i);
    return w;
}

static void push(const ode_world* w, const peer_joint* j)
{
    const dBodyID body1 = w->bodies[j->body1], body2 = w->bodies[j->body2];
    double        torque[3];
    if (j->stiffness == 0) return;
    peer_spring(w->p, j, body1 ? dBodyGetQuaternion(body1) : w->p->bodies[j->body1].start.q,
                body2 ? dBodyGetQuaternion(body2) : w->p->bodies[j->body2].start.q, torque);
    if (body1) dBodyAddTorque(body1, -torque[0], -torque[1], -torque[2]);
    if (body2) dBodyAddTorque(body2, torque[0], torque[1], torque[2]);
}

static bool step(void* world, double h, tn_why* why)
{
    ode_world* w = world;
    (void)why;
    for (int i = 0; i < w->p->joint_count; ++i) push(w, &w->p->joints[i]);
    if (w->p->shape_count > 0) dSpaceCollide(w->space, w, touch);
    const int good =
        w->options.iterations > 0 ? dWorldQuickStep(w->world, h) : dWorldStep(w->world, h);
    dJointGroupEmpty(w->contacts);
    return good != 0;
}

static void read_world(const void* world, tn_state* state)
{
    const ode_world* w = world;
    for (int i = 0; i < w->p->body_count; ++i) {
        const dBodyID id = w->bodies[i];
        peer_pose     pose;
        if (!id) continue;
        memcpy(pose.x, dBodyGetPosition(id), sizeof pose.x);
        memcpy(pose.q, dBodyGetQuaternion(id), sizeof pose.q);
        memcpy(pose.v, dBodyGetLinearVel(id), sizeof pose.v);
        memcpy(pose.w, dBodyGetAngularVel(id), sizeof pose.w);
        peer_put(w->p, i, &pose, state);
    }
}

static void close_world(void* world)
{
    ode_world* w = world;
    dJointGroupDestroy(w->contacts);
    dSpaceDestroy(w->space);
    dWorldDestroy(w->world);
    dCloseODE();
    free(w->bodies);
    free(w);
}

const peer_engine peer_ode = {"ODE", open_world, step, read_world, close_world, NULL};
