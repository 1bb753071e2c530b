// soft_contact: contact points as stiff forces, linearised for an implicit step.
//
// Penetration is the negative part of the gap g. Along the normal a point pushes with
//     N1 = k depth1 + d (depth1 - depth0)/h,     but never pulls,
// depth0 at the start of the step, depth1 at its end. As a function of the unknown velocity this is
// continuous and never decreases, so that a step has exactly one solution and no energy is added.
// It is linear while it pushes:
//     in contact already   g0 <= 0     f = -k g            K = k          D = d
//     reached on the way   g0 >  0     f = -(k + d/h) g    K = k + d/h    D = 0
// g being the evaluated gap, plus the prescribed motion of kinematic bodies and the curvature term
// h^2 gamma/2 until the end. A point is active when N1 > 0 with the predicted velocities. Pairs are
// tested that overlap at the start or at the predicted end, and those found before in the same
// step; balls that pass each other completely within a step are missed. When the end itself is
// evaluated, as Newton's method does, nothing moves any more; g0 = g - h gdot.
//
// Friction is regularised Coulomb friction: tangential, with the slip v,
//     -mu N0 v / sqrt(|v|^2 + c^2)         as  D = mu N0 / sqrt(|v0|^2 + c^2) on both directions
// N0 and v0 at the start of the step: N0 follows from the penetration there. (Predicted ones would
// count what the normal force is about to remove.) So friction of an impact comes one step later,
// also when the point separates then, and its sum is right; at rest and in steady sliding it is
// exact. D is the secant: it stops the slip and never reverses it. Where friction has to hold a
// tangential force F, it creeps at the speed
//     c r / sqrt(1 - r^2)       r = F / (mu N)
// With F > mu N it slides: below h F/m its speed grows by r a step. An evaluation at the end of a
// step uses the D of its start.
//
// Restitution is 0: a mass m on a spring k and a damper d that never pull comes back with
//     e = s^(-2/(s - 1)) / s,    s = (zeta + sqrt(zeta^2 - 1))^2,    zeta = d / (2 sqrt(k m)) > 1
// of its speed, 0.033 at zeta = 2.5. That is what damping is chosen by, for the mass of the whole scene; smaller
// masses and more points have a larger zeta. Longer steps damp more. Spinning and rolling friction are not modelled:
// they need hard contacts.
#include "contact/soft_contact.h"

#include "force/soft.h"

enum { ROWS = 3 };

static const double sink_rate = 1e5; // stiffness by mass [1/s^2]: g divided by 0.1 mm
static const double zeta      = 2.5; // of all mass on one point: damping over critical damping

tni_contact_law tni_contact_law_of(const tn_model* model, const tn_implicit_settings* settings)
{
    tni_contact_law law  = {settings->contact_stiffness, settings->contact_damping};
    double          mass = 0;
    if (law.stiffness > 0) return law;
    for (int i = 0; i < model->free_count; ++i) mass += model->bodies[model->free_bodies[i]].mass;
    law.stiffness = sink_rate * mass;
    law.damping   = 2 * zeta * sqrt(law.stiffness * mass);
    return law;
}

static double square(double x)
{
    return x * x;
}

// Time over which bodies move as predicted: zero where the end itself is evaluated.
static double prediction_span(const tni_scene_view* at, const tni_prediction* predicted)
{
    return predicted->time > at->time ? predicted->h : 0;
}

// ---- Predicted poses of shapes ------------------------------------------------------------------

static void move_view(const tni_view* view, tn_vec3 d, tn_vec3 turn, tni_view* moved)
{
    const tni_mat3 R = tni_quat_matrix(tni_quat_exp(turn));
    *moved           = *view;
    moved->x         = tni_add(view->x, d);
    moved->R         = tni_mat_mul(&R, &view->R);
}

static void predict_view(const tni_scene_view* at, const tni_prediction* predicted, int body,
                         tni_view* end)
{
    const tni_view* view = &at->views[body];
    const double    h    = prediction_span(at, predicted),
                 *u      = tni_predicted_velocity(at, predicted, body);
    tni_prescribed_motion prescribed;
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
        (void)tni_prescribed_motion_of(at, predicted, body, &prescribed);
        move_view(view, tni_read3(prescribed.d), tni_read3(prescribed.d + 3), end);
        break;
    default: *end = *view;
    }
}

static void predict_views(const tni_scene_view* at, const tni_prediction* predicted, tni_view* end)
{
    int last = -1; // shapes of a body are contiguous
    for (int i = 0; i < at->model->shape_count; ++i) {
        const int body = at->model->shapes[i].body;
        if (body != last) predict_view(at, predicted, body, &end[body]);
        last = body;
    }
}

// ---- One point ----------------------------------------------------------------------------------

/// The rows of a contact point at the start of the step.
typedef struct point {
    int     count; ///< rows
    tni_row rows[TNI_CONTACT_ROWS];
    double  moved[ROWS], carried[ROWS]; ///< by kinematic bodies, and by belts: displacement until
                                        ///< the end, and its mean rate
    double predicted[ROWS];             ///< rate by the predicted velocities of the other bodies
} point;

// Adds the prescribed motion of a kinematic body at the point.
static void add_carried(const tni_scene_view* at, const tni_prediction* predicted,
                        const tni_contact* contact, int side, point* p)
{
    const int             body = side == 0 ? contact->body1 : contact->body2;
    tni_prescribed_motion prescribed;
    tn_vec3               place, normal;
    if (!tni_prescribed_motion_of(at, predicted, body, &prescribed)) return;
    tni_contact_place(at->model, contact, at->views, &place, &normal);
    const tn_vec3 arm = tni_sub(place, at->views[body].x);
    const tn_vec3 d = tni_add(tni_read3(prescribed.d), tni_cross(tni_read3(prescribed.d + 3), arm));
    const tn_vec3 rate =
        tni_add(tni_read3(prescribed.rate), tni_cross(tni_read3(prescribed.rate + 3), arm));
    for (int i = 0; i < p->count; ++i) {
        const tn_vec3 along = p->rows[i].push[1].force; // of body 2 less body 1
        p->moved[i] += (side == 0 ? -1 : 1) * tni_dot(along, d);
        p->carried[i] += (side == 0 ? -1 : 1) * tni_dot(along, rate);
    }
}

// Adds the belts of the surfaces, which no body's velocity contains: along the tangents.
static void add_belts(const tni_scene_view* at, const tni_contact* contact, point* p)
{
    const tn_vec3 v = tni_sub(tni_mul(&at->views[contact->body2].R, contact->surface2),
                              tni_mul(&at->views[contact->body1].R, contact->surface1));
    for (int i = 1; i < p->count; ++i) p->carried[i] += tni_dot(p->rows[i].push[1].force, v);
}

// Rows of the movable bodies into soft; a single one is body[1].
static void evaluate_point(const tni_scene_view* at, const tni_prediction* predicted,
                           const tni_contact* contact, point* p, tni_soft* soft)
{
    const tni_mat3  own     = tni_identity3();
    const int       body[2] = {contact->body1, contact->body2};
    const tni_body* bodies  = at->model->bodies;
    const bool      both    = bodies[body[0]].dim > 0 && bodies[body[1]].dim > 0;
    const int       swap    = !both && bodies[body[1]].dim == 0;
    *p                      = (point){.count = 0};
    p->count                = 1 + tni_contact_rows(at->model, contact, at->views, p->rows).slip;
    soft->kind              = both ? TNI_SOFT_CONTACT : TNI_SOFT_BODY;
    soft->index             = -1;
    for (int side = 0; side < 2; ++side) {
        const tni_body* of = &bodies[body[side]];
        const int       to = side ^ swap;
        soft->body[to]     = body[side];
        if (of->dim == 0) {
            add_carried(at, predicted, contact, side, p);
            continue;
        }
        const double* u = tni_predicted_velocity(at, predicted, body[side]);
        for (int i = 0; i < p->count; ++i) {
            double* row = soft->J[to] + i * of->dim;
            tni_push_row(of, &at->views[body[side]], side == 0 ? contact->p1 : contact->p2,
                         side == 0 ? &contact->F1 : &own, &p->rows[i].push[side], row);
            p->predicted[i] += tni_row_dot(row, u, of->dim);
        }
    }
    add_belts(at, contact, p);
}

// f, K and D of the normal row; false if it will not push.
static bool set_normal_row(const tni_scene_view* at, const tni_prediction* predicted,
                           tni_contact_law law, const point* p, tni_soft* soft)
{
    const double span = prediction_span(at, predicted), gap = p->rows[0].C;
    const bool   met = (span > 0 ? gap : gap - predicted->h * p->rows[0].rate) > 0;
    const double K   = met ? law.stiffness + law.damping / predicted->h : law.stiffness,
                 D   = met ? 0 : law.damping;
    const double end = gap + p->moved[0] + 0.5 * span * span * p->rows[0].gamma;
    const double f   = -K * end - D * p->carried[0];
    tni_soft_clear(soft, p->count);
    if (!(f - (K * span + D) * p->predicted[0] > 0)) return false; // so written, it catches NaN too
    soft->f[0] = f;
    soft->K[0] = K;
    soft->D[0] = D;
    return true;
}

// D of the friction, from the evaluated state.
static double secant_of(tni_contact_law law, double friction, const point* p)
{
    const double gap = p->rows[0].C, slip1 = p->rows[1].rate,
                 slip2 = p->count > 2 ? p->rows[2].rate : 0;
    const double N     = gap < 0 ? -law.stiffness * gap - law.damping * p->rows[0].rate : 0;
    const double speed = sqrt(square(slip1) + square(slip2) + square(TNI_CONTACT_CREEP));
    return N > 0 ? friction * N / speed : 0; // so written, it catches NaN too
}

// f and D of the tangential rows; whether there is friction.
static bool set_friction_rows(double D, const point* p, tni_soft* soft)
{
    for (int i = 1; i < p->count; ++i) {
        soft->D[i * p->count + i] = D;
        soft->f[i]                = -D * p->carried[i];
    }
    if (!(D > 0)) soft->row_count = 1; // the normal row alone; its K and D come first in any case
    return D > 0;
}

// met: set if the point pushes and did not touch at the start.
static bool soften(const tni_scene_view* at, const tni_prediction* predicted, tni_contact_law law,
                   const tni_contact* contact, double* secant, bool* met, tni_take_soft* take,
                   void* user)
{
    tni_soft soft;
    point    p;
    evaluate_point(at, predicted, contact, &p, &soft);
    if (prediction_span(at, predicted) > 0)
        *secant = secant_of(law, contact->material.friction, &p);
    const bool presses = set_normal_row(at, predicted, law, &p, &soft);
    if (set_friction_rows(*secant, &p, &soft) || presses) take(user, &soft);
    *met = *met || (presses && p.rows[0].C > 0);
    return presses;
}

// ---- All points ---------------------------------------------------------------------------------

// Adds a point to the known ones, which are sorted by id.
static void add_known(tni_contact_room* room, const tni_contact* contact)
{
    int low = 0, high = room->known;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (room->contacts[middle].id < contact->id) low = middle + 1;
        else high = middle;
    }
    if (low < room->known && room->contacts[low].id == contact->id) return;
    const size_t after = (size_t)(room->known - low);
    memmove(room->contacts + low + 1, room->contacts + low, sizeof *contact * after);
    memmove(room->secants + low + 1, room->secants + low, sizeof(double) * after);
    room->contacts[low] = *contact;
    room->secants[low]  = 0;
    ++room->known;
}

// Returns the number of known points; more than the capacity if they do not fit.
static int find(const tni_view* views, tni_contact_room* room)
{
    tni_contact* more     = room->contacts + room->known; // read before it is written over
    const int    capacity = room->capacity - room->known;
    const int    found    = tni_find_contacts(room->finder, views, 0, more, capacity);
    if (found > capacity) return room->known + found;
    for (int i = 0; i < found; ++i) {
        const tni_contact contact = more[i];
        add_known(room, &contact);
    }
    return room->known;
}

static int evaluate_points(const tni_scene_view* at, const tni_prediction* predicted,
                           tni_contact_law law, tni_contact_room* room, tni_take_soft* take,
                           void* user)
{
    room->count = 0, room->pushing = 0, room->met = false;
    if (at->model->shape_count < 2) return 0;
    predict_views(at, predicted, room->views);
    const int found = find(room->views, room);
    for (int i = 0; i < found && found <= room->capacity; ++i) {
        if (!soften(at, predicted, law, &room->contacts[i], &room->secants[i], &room->met, take,
                    user))
            continue;
        const uint64_t mixed = (room->contacts[i].id + 1) * UINT64_C(0x9e3779b97f4a7c15);
        room->pushing += mixed ^ mixed >> 29;
        ++room->count;
    }
    return found;
}

int tni_contact_soften(const tni_scene_view* at, const tni_prediction* predicted,
                       tni_contact_law law, tni_contact_room* room, tni_take_soft* take, void* user)
{
    if (room->keep) return evaluate_points(at, predicted, law, room, take, user);
    room->known     = 0;
    const int found = find(at->views, room);
    return found > room->capacity ? found : evaluate_points(at, predicted, law, room, take, user);
}

static void take_nothing(void* user, const tni_soft* soft)
{
    (void)user, (void)soft;
}

bool tni_contact_active_set_holds(const tni_scene_view* at, const tni_prediction* predicted,
                                  tni_contact_law law, tni_contact_room* room)
{
    const uint64_t before = room->pushing;
    const int      found  = evaluate_points(at, predicted, law, room, take_nothing, NULL);
    return room->pushing == before && found <= room->capacity;
}

// ---- Forces at the evaluated configuration ------------------------------------------------------

typedef struct force_sum {
    const tni_scene_view* at;
    double*               f;
} force_sum;

// f += J^T (f - D J u)
static void add_force(void* user, const tni_soft* soft)
{
    const force_sum* p          = user;
    const int        n          = soft->row_count;
    double           rate[ROWS] = {0}, force[ROWS];
    for (int side = soft->kind == TNI_SOFT_CONTACT ? 0 : 1; side < 2; ++side) {
        const tni_body* body = &p->at->model->bodies[soft->body[side]];
        for (int i = 0; i < n; ++i)
            rate[i] += tni_row_dot(soft->J[side] + i * body->dim, p->at->views[soft->body[side]].u,
                                   body->dim);
    }
    for (int i = 0; i < n; ++i) {
        force[i] = soft->f[i];
        for (int k = 0; k < n; ++k) force[i] -= soft->D[i * n + k] * rate[k];
    }
    tni_soft_add_force(p->at->model, soft, force, p->f);
}

int tni_contact_forces(const tni_scene_view* at, double h, tni_contact_law law,
                       tni_contact_room* room, double* f)
{
    const tni_prediction predicted = {.h = h, .time = at->time};
    force_sum            p         = {at, f};
    return evaluate_points(at, &predicted, law, room, add_force, &p);
}
