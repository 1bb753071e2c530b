// soft_contact: points in contact as stiff forces, linearised for an implicit step.
//
// Depth is what the gap g is below zero. Along the normal a point pushes with
//     N1 = k depth1 + d (depth1 - depth0)/h,     but never pulls,
// depth0 where the step starts, depth1 where it ends. As a function of the velocity asked for this
// rises from zero without a jump and never falls, so that a step has exactly one answer, and no
// energy is made. It is linear while it pushes:
//     in contact already   g0 <= 0     f = -k g            K = k          D = d
//     met on the way       g0 >  0     f = -(k + d/h) g    K = k + d/h    D = 0
// g being the gap that is seen, with what kinematic bodies and the turning of corners, h^2 gamma/2,
// add to it until the end. A point counts when N1 > 0 with the velocities expected. Those shapes
// are looked at that meet at the start or where these velocities lead, and those that were looked
// at before in the same step; balls that pass each other whole within a step are not seen to. When
// the end itself is looked at, as Newton's method does, nothing moves any more; g0 = g - h gdot.
//
// Friction is Coulomb's, made smooth: across the normal, with the slip v,
//     -mu N0 v / sqrt(|v|^2 + c^2)         as  D = mu N0 / sqrt(|v0|^2 + c^2) on both directions
// N0 and v0 where the step starts: by its depth a point remembers what it pushed with. (Expected
// ones would count what the normal force is about to take away.) So friction of a blow comes one
// step after the blow, also when the point lets go then, and adds up to what it should; at rest and
// in steady sliding it is exact. D is the secant: it brings matter to rest and never turns it back.
// Where friction is to hold a force F across the normal, it does so creeping, at the speed
//     c r / sqrt(1 - r^2)       r = F / (mu N)
// With F > mu N matter breaks loose: below h F/m its speed grows by r a step. The end of a step has
// the D of its start.
//
// Restitution, spin and roll are not looked at: they are for hard contacts.
#include "contact/soft_contact.h"

#include "force/soft.h"

enum { ROWS = 3 };

static const double sink_rate = 1e5;  // stiffness by mass [1/s^2]: g divided by 0.1 mm
static const double settle    = 1e-3; // [s]

tni_contact_law tni_contact_law_of(const tn_model* model, const tn_implicit_settings* settings)
{
    tni_contact_law law  = {settings->contact_stiffness, settings->contact_damping};
    double          mass = 0;
    if (law.stiffness > 0) return law;
    for (int i = 0; i < model->free_count; ++i) mass += model->bodies[model->free_bodies[i]].mass;
    law.stiffness = sink_rate * mass;
    law.damping   = settle * law.stiffness;
    return law;
}

static double square(double x)
{
    return x * x;
}

// How long bodies go on as expected: not at all where the scene is seen at the end itself.
static double way_of(const tni_scene_view* at, const tni_prediction* predicted)
{
    return predicted->time > at->time ? predicted->h : 0;
}

// ---- Where shapes are expected to end -----------------------------------------------------------

static void move_view(const tni_view* view, tn_vec3 d, tn_vec3 turn, tni_view* moved)
{
    const tni_mat3 R = tni_quat_matrix(tni_quat_exp(turn));
    *moved           = *view;
    moved->x         = tni_add(view->x, d);
    moved->R         = tni_mat_mul(&R, &view->R);
}

static void look_ahead(const tni_scene_view* at, const tni_prediction* predicted, int body,
                       tni_view* end)
{
    const tni_view* view = &at->views[body];
    const double    h = way_of(at, predicted), *u = tni_predicted_velocity(at, predicted, body);
    tni_known       known;
    switch (at->model->bodies[body].kind) {
    case TN_BODY_RIGID:
        move_view(view, tni_scale(h, tni_read3(u)), tni_scale(h, tni_read3(u + 3)), end);
        break;
    case TN_BODY_PLANAR:
        move_view(view, tni_vec3(h * u[0], h * u[1], 0), tni_vec3(0, 0, h * u[2]), end);
        break;
    case TN_BODY_PARTICLE:
        *end   = *view;
        end->x = tni_add_scaled(view->x, h, tni_read3(u));
        break;
    case TN_BODY_KINEMATIC:
        (void)tni_known_motion(at, predicted, body, &known);
        move_view(view, tni_read3(known.d), tni_read3(known.d + 3), end);
        break;
    default: *end = *view;
    }
}

static void look_all_ahead(const tni_scene_view* at, const tni_prediction* predicted, tni_view* end)
{
    int last = -1; // shapes of a body stand together
    for (int i = 0; i < at->model->shape_count; ++i) {
        const int body = at->model->shapes[i].body;
        if (body != last) look_ahead(at, predicted, body, &end[body]);
        last = body;
    }
}

// ---- One point ----------------------------------------------------------------------------------

/// A point as its rows are where the step starts.
typedef struct point {
    int     count; ///< rows
    tni_row rows[TNI_CONTACT_ROWS];
    double  moved[ROWS], carried[ROWS]; ///< by kinematic bodies until the end; its mean rate
    double  predicted[ROWS];            ///< rate by the velocities expected of the others
} point;

// What a kinematic body's matter at the point does until the end.
static void add_carried(const tni_scene_view* at, const tni_prediction* predicted,
                        const tni_contact* touch, int side, point* p)
{
    const int body = side == 0 ? touch->body1 : touch->body2;
    tni_known known;
    tn_vec3   place, normal;
    if (!tni_known_motion(at, predicted, body, &known)) return;
    tni_contact_place(at->model, touch, at->views, &place, &normal);
    const tn_vec3 arm  = tni_sub(place, at->views[body].x);
    const tn_vec3 d    = tni_add(tni_read3(known.d), tni_cross(tni_read3(known.d + 3), arm));
    const tn_vec3 rate = tni_add(tni_read3(known.rate), tni_cross(tni_read3(known.rate + 3), arm));
    for (int i = 0; i < p->count; ++i) {
        const tn_vec3 along = p->rows[i].push[1].force; // of body 2 less body 1
        p->moved[i] += (side == 0 ? -1 : 1) * tni_dot(along, d);
        p->carried[i] += (side == 0 ? -1 : 1) * tni_dot(along, rate);
    }
}

// Rows of the bodies that can be pushed into soft; a lone one is body[1].
static void look_at(const tni_scene_view* at, const tni_prediction* predicted,
                    const tni_contact* touch, point* p, tni_soft* soft)
{
    const tni_mat3  own     = tni_identity3();
    const int       body[2] = {touch->body1, touch->body2};
    const tni_body* bodies  = at->model->bodies;
    const bool      both    = bodies[body[0]].dim > 0 && bodies[body[1]].dim > 0;
    const int       swap    = !both && bodies[body[1]].dim == 0;
    *p                      = (point){.count = 0};
    p->count                = 1 + tni_contact_rows(at->model, touch, at->views, p->rows).slip;
    soft->kind              = both ? TNI_SOFT_TOUCH : TNI_SOFT_BODY;
    soft->index             = -1;
    for (int side = 0; side < 2; ++side) {
        const tni_body* of = &bodies[body[side]];
        const int       to = side ^ swap;
        soft->body[to]     = body[side];
        if (of->dim == 0) {
            add_carried(at, predicted, touch, side, p);
            continue;
        }
        const double* u = tni_predicted_velocity(at, predicted, body[side]);
        for (int i = 0; i < p->count; ++i) {
            double* row = soft->J[to] + i * of->dim;
            tni_push_row(of, &at->views[body[side]], side == 0 ? touch->p1 : touch->p2,
                         side == 0 ? &touch->F1 : &own, &p->rows[i].push[side], row);
            p->predicted[i] += tni_row_dot(row, u, of->dim);
        }
    }
}

// f, K and D of the normal row, or nothing; whether it will push.
static bool press(const tni_scene_view* at, const tni_prediction* predicted, tni_contact_law law,
                  const point* p, tni_soft* soft)
{
    const double way = way_of(at, predicted), gap = p->rows[0].C;
    const bool   met = (way > 0 ? gap : gap - predicted->h * p->rows[0].rate) > 0;
    const double K   = met ? law.stiffness + law.damping / predicted->h : law.stiffness,
                 D   = met ? 0 : law.damping;
    const double end = gap + p->moved[0] + 0.5 * way * way * p->rows[0].gamma;
    const double f   = -K * end - D * p->carried[0];
    tni_soft_clear(soft, p->count);
    if (!(f - (K * way + D) * p->predicted[0] > 0)) return false; // so written, it catches NaN too
    soft->f[0] = f;
    soft->K[0] = K;
    soft->D[0] = D;
    return true;
}

// What friction resists slip with, by the state that is seen.
static double secant_of(tni_contact_law law, double friction, const point* p)
{
    const double gap = p->rows[0].C, slip1 = p->rows[1].rate,
                 slip2 = p->count > 2 ? p->rows[2].rate : 0;
    const double N     = gap < 0 ? -law.stiffness * gap - law.damping * p->rows[0].rate : 0;
    const double speed = sqrt(square(slip1) + square(slip2) + square(TNI_CONTACT_CREEP));
    return N > 0 ? friction * N / speed : 0; // so written, it catches NaN too
}

// f and D of the rows across; whether there is friction.
static bool rub(double D, const point* p, tni_soft* soft)
{
    for (int i = 1; i < p->count; ++i) {
        soft->D[i * p->count + i] = D;
        soft->f[i]                = -D * p->carried[i];
    }
    if (!(D > 0)) soft->row_count = 1; // the normal row alone; its K and D stand first in any case
    return D > 0;
}

static bool soften(const tni_scene_view* at, const tni_prediction* predicted, tni_contact_law law,
                   const tni_contact* touch, double* secant, tni_take_soft* take, void* user)
{
    tni_soft soft;
    point    p;
    look_at(at, predicted, touch, &p, &soft);
    if (way_of(at, predicted) > 0) *secant = secant_of(law, touch->material.friction, &p);
    const bool presses = press(at, predicted, law, &p, &soft);
    if (rub(*secant, &p, &soft) || presses) take(user, &soft);
    return presses;
}

// ---- All points ---------------------------------------------------------------------------------

// Points that are known stand by rising id.
static void learn(tni_contact_room* room, const tni_contact* touch)
{
    int low = 0, high = room->known;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (room->touches[middle].id < touch->id) low = middle + 1;
        else high = middle;
    }
    if (low < room->known && room->touches[low].id == touch->id) return;
    const size_t after = (size_t)(room->known - low);
    memmove(room->touches + low + 1, room->touches + low, sizeof *touch * after);
    memmove(room->secants + low + 1, room->secants + low, sizeof(double) * after);
    room->touches[low] = *touch;
    room->secants[low] = 0;
    ++room->known;
}

// Returns how many are known then, or would be, at most.
static int find(const tni_view* views, tni_contact_room* room)
{
    tni_contact* more     = room->touches + room->known; // read before it is written over
    const int    capacity = room->capacity - room->known;
    const int    found    = tni_find_touches(room->finder, views, 0, more, capacity);
    if (found > capacity) return room->known + found;
    for (int i = 0; i < found; ++i) {
        const tni_contact touch = more[i];
        learn(room, &touch);
    }
    return room->known;
}

static int look_again(const tni_scene_view* at, const tni_prediction* predicted,
                      tni_contact_law law, tni_contact_room* room, tni_take_soft* take, void* user)
{
    room->count = 0, room->pushing = 0;
    if (at->model->shape_count < 2) return 0;
    look_all_ahead(at, predicted, room->views);
    const int found = find(room->views, room);
    for (int i = 0; i < found && found <= room->capacity; ++i) {
        if (!soften(at, predicted, law, &room->touches[i], &room->secants[i], take, user)) continue;
        const uint64_t mixed = (room->touches[i].id + 1) * UINT64_C(0x9e3779b97f4a7c15);
        room->pushing += mixed ^ mixed >> 29;
        ++room->count;
    }
    return found;
}

int tni_contact_soften(const tni_scene_view* at, const tni_prediction* predicted,
                       tni_contact_law law, tni_contact_room* room, tni_take_soft* take, void* user)
{
    if (room->keep) return look_again(at, predicted, law, room, take, user);
    room->known     = 0;
    const int found = find(at->views, room);
    return found > room->capacity ? found : look_again(at, predicted, law, room, take, user);
}

static void take_nothing(void* user, const tni_soft* soft)
{
    (void)user, (void)soft;
}

bool tni_contact_active_set_holds(const tni_scene_view* at, const tni_prediction* predicted,
                                  tni_contact_law law, tni_contact_room* room)
{
    const uint64_t before = room->pushing;
    const int      found  = look_again(at, predicted, law, room, take_nothing, NULL);
    return room->pushing == before && found <= room->capacity;
}

// ---- Forces where the scene is seen -------------------------------------------------------------

typedef struct pushed {
    const tni_scene_view* at;
    double*               f;
} pushed;

// f += J^T (f - D J u)
static void push(void* user, const tni_soft* soft)
{
    const pushed* p          = user;
    const int     n          = soft->row_count;
    double        rate[ROWS] = {0}, force[ROWS];
    for (int side = soft->kind == TNI_SOFT_TOUCH ? 0 : 1; side < 2; ++side) {
        const tni_body* body = &p->at->model->bodies[soft->body[side]];
        for (int i = 0; i < n; ++i)
            rate[i] += tni_row_dot(soft->J[side] + i * body->dim, p->at->views[soft->body[side]].u,
                                   body->dim);
    }
    for (int i = 0; i < n; ++i) {
        force[i] = soft->f[i];
        for (int k = 0; k < n; ++k) force[i] -= soft->D[i * n + k] * rate[k];
    }
    tni_soft_push(p->at->model, soft, force, p->f);
}

int tni_contact_forces(const tni_scene_view* at, double h, tni_contact_law law,
                       tni_contact_room* room, double* f)
{
    const tni_prediction predicted = {.h = h, .time = at->time};
    pushed               p         = {at, f};
    return look_again(at, &predicted, law, room, push, &p);
}
