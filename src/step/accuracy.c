// accuracy: a step of the impulse method that controls its own error.
//
// A piece of dt is taken whole and in two halves. The halves are kept if they end where the whole does, to within the
// share of the accuracy that dt has in the step h:
//
//     max over bodies of (|dx| + reach |turn|, dt (|dv| + reach |dw|))  <=  accuracy size dt/h
//
// reach: of the body, by its joints and its inertia; size: of the mechanism. Otherwise the piece is cut into 2^n,
// n as the error of a method of second order says, which falls with dt^2 for equal shares, and each is tried likewise.
// The difference is about three times the error of the halves. A whole that was halved for other reasons tells
// nothing, and is cut. Impacts are dealt at the start of the piece in which they happen, whole or halved: with one, dt
// times the change of velocities must be below the accuracy, too. Nothing is remembered from step to step: a step
// depends on the state alone. Where motion is quiet it costs three pieces instead of one.
#include "step/stepper.h"

enum { DEPTH_MAX = 10 }; // a step is cut into 2^10 pieces at most, and their halves

static void find_reach(const tn_model* model, double* reach)
{
    for (int i = 0; i < model->body_count; ++i) {
        const tni_body* b = &model->bodies[i];
        reach[i]          = 0;
        for (int k = 0; k < 9 && b->kind == TN_BODY_RIGID && b->mass > 0; k += 4)
            reach[i] = fmax(reach[i], sqrt(fmax(0, b->inertia.m[k]) / b->mass));
    }
    for (int i = 0; i < model->joint_count; ++i) {
        const tni_joint* joint = &model->joints[i];
        reach[joint->body1]    = fmax(reach[joint->body1], tni_norm(joint->p1));
        reach[joint->body2]    = fmax(reach[joint->body2], tni_norm(joint->p2));
    }
}

static void include(tn_vec3 p, double reach, tn_vec3* low, tn_vec3* high)
{
    const tn_vec3 around = tni_vec3(reach, reach, reach), a = tni_sub(p, around),
                  b = tni_add(p, around);
    *low            = tni_vec3(fmin(low->x, a.x), fmin(low->y, a.y), fmin(low->z, a.z));
    *high           = tni_vec3(fmax(high->x, b.x), fmax(high->y, b.y), fmax(high->z, b.z));
}

// Of a box about all bodies that can move, with their joints, where they start; 1 m for a point.
static double size_of(const tn_model* model, const double* reach)
{
    tn_vec3 low = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, high = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
    for (int i = 0; i < model->free_count; ++i) {
        const int body = model->free_bodies[i];
        if (model->bodies[body].kind != TN_BODY_USER)
            include(model->bodies[body].start.position, reach[body], &low, &high);
    }
    for (int i = 0; i < model->joint_count; ++i) // to the ground
        if (model->joints[i].body1 == 0) include(model->joints[i].p1, 0, &low, &high);
    const tn_vec3 edges = tni_sub(high, low);
    const double  size  = edges.x >= 0 ? tni_norm(edges) : 0;
    return size > 0 && isfinite(size) ? size : 1;
}

tn_result tni_accuracy_create(tn_stepper* s)
{
    const tn_model*    model = s->model;
    tni_accuracy_work* work  = &s->impulse.accuracy;
    if (!(s->settings.accuracy > 0)) return TN_OK;
    work->reach      = TNI_TAKE(&s->arena, double, model->body_count);
    work->from.q     = TNI_TAKE(&s->arena, double, model->q_count);
    work->from.u     = TNI_TAKE(&s->arena, double, model->u_count);
    work->from.z     = TNI_TAKE(&s->arena, double, model->coordinate_count);
    work->q          = TNI_TAKE(&s->arena, double, model->q_count);
    work->u          = TNI_TAKE(&s->arena, double, model->u_count);
    work->hits       = TNI_TAKE(&s->arena, tni_hit_count, s->has_unilaterals ? TNI_HITS_MAX : 0);
    work->warm_start = tni_warm_start_take(&s->arena, model);
    if (s->arena.failed) return TN_ERR_MEMORY;
    find_reach(model, work->reach);
    work->size = size_of(model, work->reach);
    return TN_OK;
}

// Largest difference of the numbers of a body that is not rigid.
static double apart(const double* a, const double* b, int from, int count)
{
    double most = 0;
    for (int i = from; i < from + count; ++i) most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

static double distance(const double* a, const double* b)
{
    return tni_norm(tni_sub(tni_read3(a), tni_read3(b)));
}

// Between s->next and another end of the piece: positions, and dt times the velocities [m]. q NULL: velocities alone.
static double difference(const tn_stepper* s, const double* end_q, const double* end_u, double dt)
{
    const tni_accuracy_work* work = &s->impulse.accuracy;
    double                   most = 0;
    for (int i = 0; i < s->model->free_count; ++i) {
        const int       index = s->model->free_bodies[i];
        const tni_body* body  = &s->model->bodies[index];
        const double *  q = s->next.q + body->q_start, *u = s->next.u + body->u_start,
                     *p = end_q != NULL ? end_q + body->q_start : q, *v = end_u + body->u_start;
        const double reach = work->reach[index];
        double       moved, gone;
        if (body->kind == TN_BODY_RIGID) {
            const tn_quat a = {q[3], q[4], q[5], q[6]}, b = {p[3], p[4], p[5], p[6]},
                          turn = tni_quat_mul(tni_quat_conjugate(a), b);
            moved = distance(q, p) + 2 * reach * tni_norm(tni_vec3(turn.x, turn.y, turn.z));
            gone  = distance(u, v) + reach * distance(u + 3, v + 3);
        } else if (body->kind == TN_BODY_PARTICLE) {
            moved = distance(q, p), gone = distance(u, v);
        } else if (body->kind == TN_BODY_PLANAR) {
            moved = apart(q, p, 0, 2) + reach * apart(q, p, 2, 1);
            gone  = apart(u, v, 0, 2) + reach * apart(u, v, 2, 1);
        } else { // affine: its axes reach as far as its joints; user-defined: its own coordinates
            moved = apart(q, p, 0, body->q_count) * fmax(1, reach);
            gone  = apart(u, v, 0, body->dim) * fmax(1, reach);
        }
        const double error = fmax(moved, dt * gone);
        if (!(error <= most)) most = isnan(error) ? HUGE_VAL : error;
    }
    return most;
}

static void keep_start(tn_stepper* s)
{
    tni_accuracy_work* work = &s->impulse.accuracy;
    tni_copy_configuration(s->model, &work->from, &s->now);
    tni_warm_start_copy(&work->warm_start, &s->impulse.warm_start);
    work->hit_count    = s->hit_count;
    work->energy_count = s->impulse.energy.count;
    work->energy_most  = s->impulse.energy.most;
    work->energy_body  = s->impulse.energy.body;
    if (s->hit_count > 0) memcpy(work->hits, s->hits, sizeof *s->hits * (size_t)s->hit_count);
}

// Nothing of a try remains but what it has cost.
static void go_back(tn_stepper* s, const tn_step_report* found, tn_step_report* report)
{
    const tni_accuracy_work* work = &s->impulse.accuracy;
    tni_copy_configuration(s->model, &s->now, &work->from);
    tni_warm_start_copy(&s->impulse.warm_start, &work->warm_start);
    s->now_factored         = false;
    s->hit_count            = work->hit_count;
    s->impulse.energy.count = work->energy_count;
    s->impulse.energy.most  = work->energy_most;
    s->impulse.energy.body  = work->energy_body;
    if (s->hit_count > 0) memcpy(s->hits, work->hits, sizeof *s->hits * (size_t)s->hit_count);
    report->unclosed_count = found->unclosed_count;
    report->impact_count   = found->impact_count;
    report->jam_count      = found->jam_count;
    report->energy_gain    = found->energy_gain;
}

static bool is_fatal(tn_result result)
{
    return result != TN_OK && result != TN_ERR_DIVERGED && result != TN_ERR_SINGULAR;
}

static tn_result halves(tn_stepper* s, double dt, tn_step_report* report, tn_why* why)
{
    s->impulse.frame = 0.5 * dt;
    TRY(tni_impulse_substep(s, 0.5 * dt, report, why));
    tni_accept_substep(s);
    return tni_impulse_substep(s, 0.5 * dt, report, why);
}

static tn_result piece(tn_stepper* s, double dt, double h, int depth, tn_step_report* report,
                       tn_why* why)
{
    tni_accuracy_work*   work    = &s->impulse.accuracy;
    const double         allowed = s->settings.accuracy * work->size * dt / h;
    const tn_step_report found   = *report;
    double               error   = HUGE_VAL;
    keep_start(s);
    s->impulse.frame       = dt;
    const tn_result result = tni_impulse_substep(s, dt, report, why);
    if (is_fatal(result)) return result;
    const bool alone = result == TN_OK && report->substep_count == found.substep_count + 1;
    bool       hit   = report->impact_count > found.impact_count;
    tni_copy_numbers(work->q, s->next.q, s->model->q_count);
    tni_copy_numbers(work->u, s->next.u, s->model->u_count);
    go_back(s, &found, report);
    const tn_result halved = halves(s, dt, report, why);
    if (is_fatal(halved)) return halved;
    hit = hit || report->impact_count > found.impact_count;
    if (alone && halved == TN_OK) error = difference(s, work->q, work->u, dt);
    if (hit && halved == TN_OK &&
        difference(s, NULL, work->from.u, dt) > s->settings.accuracy * work->size)
        error = HUGE_VAL;
    if (error <= allowed || depth >= DEPTH_MAX) return halved;
    go_back(s, &found, report);
    int parts = 2, cuts = 1;
    for (; depth + cuts < DEPTH_MAX && error < HUGE_VAL &&
           error > allowed * (double)parts * (double)parts;
         ++cuts)
        parts *= 2;
    for (int i = 0; i < parts; ++i) {
        if (i > 0) tni_accept_substep(s);
        TRY(piece(s, dt / parts, h, depth + cuts, report, why));
    }
    return TN_OK;
}

tn_result tni_accurate_substep(tn_stepper* s, double dt, double h, tn_step_report* report,
                               tn_why* why)
{
    const tn_result result = piece(s, dt, h, 0, report, why);
    s->impulse.frame       = h;
    return result;
}
