// energy: watches a substep of the default method for energy that comes from nowhere.
//
//     gain = change of (kinetic + gravity + elastic) - work of what may bring energy
//
// A half kick with the impulse P changes the kinetic energy by P.(u + u_after)/2, exactly. So the work of whatever
// may bring energy is known without any further solve, from the multipliers of both halves:
//
//     drives             their impulses . their mean rates; joints to moving kinematic bodies likewise
//     contacts           the same, of those with belts or with moving kinematic bodies
//     targets, handles,  - p . v, p the impulse of the spring and v the velocity of its far end along its rows
//     springs, wind      (tni_soft_work), and constant torques of joints
//     loads              h/2 f . mean velocity
//     impacts            all that changes, where something is driven
//     pushed apart       what overlapped has more weight energy afterwards; that is told as penetration
//
// Everything else can only lose. A healthy step gains, too: the energy of Verlet's method oscillates with
//
//     E1 - E0 = 1/2 |d1|^2 - 1/2 |d0|^2 + O(h^3),     d0, d1: change of velocity in both half kicks
//
// in the norm of the masses, which is known as well and allowed for. Springs that are too stiff for the step to follow
// come to rest within a few steps, up and down by a third of their energy. The rest has to be a small part of the
// kinetic energy and of the work.
#include "step/stepper.h"

static const double share    = 0.02; // of the kinetic energy and of the work
static const double swing    = 0.25; // of the kinetic energy: how far the oscillation above may go
static const double unseen   = 0.4; // of the energy of springs that oscillate too fast for the step
static const double rounding = 1e-11; // of the energies themselves

tn_result tni_energy_create(tn_stepper* s)
{
    const tn_model*   model = s->model;
    tni_energy_watch* watch = &s->impulse.energy;
    watch->bodies           = TNI_TAKE(&s->arena, double, model->body_count);
    watch->after            = TNI_TAKE(&s->arena, double, model->body_count);
    watch->before           = TNI_TAKE(&s->arena, double, model->u_count);
    watch->plus             = TNI_TAKE(&s->arena, double, model->u_count);
    watch->landing          = TNI_TAKE(&s->arena, double, model->u_count);
    watch->multipliers      = TNI_TAKE(&s->arena, double, model->row_count);
    watch->driven           = TNI_TAKE(&s->arena, uint8_t, model->constraint_count);
    watch->load     = TNI_TAKE(&s->arena, double, model->load_count > 0 ? model->u_count : 0);
    watch->velocity = TNI_TAKE(&s->arena, double, model->u_count);
    watch->hits     = TNI_TAKE(&s->arena, tni_hit_count, TNI_HITS_MAX);
    if (s->arena.failed) return TN_ERR_MEMORY;
    watch->on = model->soft_body < 0;           // what soft contact stores is in no energy
    for (int i = 0; i < model->free_count; ++i) // what their tables do is not known
        if (model->bodies[model->free_bodies[i]].kind == TN_BODY_USER) watch->on = false;
    for (int i = 0; i < model->constraint_count; ++i) {
        const tni_constraint* c = &model->constraints[i];
        watch->driven[i] =
            c->kind == TNI_CONSTRAINT_USER ||
            (c->kind == TNI_CONSTRAINT_COUPLING && model->couplings[c->index].velocity != 0);
        if (c->kind != TNI_CONSTRAINT_JOINT) continue;
        const tni_joint* joint = &model->joints[c->index];
        watch->driven[i]       = joint->drive_count > 0 ||
                           model->bodies[joint->body1].kind == TN_BODY_KINEMATIC ||
                           model->bodies[joint->body2].kind == TN_BODY_KINEMATIC;
    }
    for (int i = 0; i < model->constraint_count; ++i) watch->any_driven |= watch->driven[i];
    return TN_OK;
}

// Kinetic energy and that of weight, by body; *kinetic: their sum of the first.
static double energy_of(const tn_stepper* s, const tni_configuration_buffer* place, double* bodies,
                        double* kinetic)
{
    const tn_model*         model = s->model;
    const tni_configuration at    = tni_configuration_of(place);
    const tni_scene_view    scene = tni_system_scene(s->system, &at);
    double                  sum   = 0;
    *kinetic                      = 0;
    for (int i = 0; i < model->free_count; ++i) {
        const int       index = model->free_bodies[i];
        const tni_body* body  = &model->bodies[index];
        const tni_view* view  = &s->system->views[index];
        const double*   u     = place->u + body->u_start;
        double          Mu[TNI_DIM_MAX], own = 0;
        tni_mass_times(body, view, u, Mu);
        for (int k = 0; k < body->dim; ++k) own += 0.5 * u[k] * Mu[k];
        *kinetic += own;
        bodies[index] = own - body->mass * tni_dot(model->gravity, view->x);
        sum += bodies[index];
    }
    return sum + tni_elastic_energy(&scene);
}

// ---- Work of what may bring energy -------------------------------------------------------------------

static bool drives(const tn_model* model, const tni_unilateral* unilateral, const int bodies[2])
{
    const tn_vec3 a = unilateral->contact.surface1, b = unilateral->contact.surface2;
    const bool    belt = unilateral->limit < 0 && tni_dot(a, a) + tni_dot(b, b) > 0;
    return belt || model->bodies[bodies[0]].kind == TN_BODY_KINEMATIC ||
           model->bodies[bodies[1]].kind == TN_BODY_KINEMATIC;
}

// Of the contacts and limits of the last solve, between the velocities u0 and u1.
static double contact_work(const tn_stepper* s, const double* u0, const double* u1)
{
    const tn_model*        model = s->model;
    const tni_unilaterals* a     = &s->system->unilaterals;
    double                 sum   = 0;
    for (int i = 0; i < a->unilateral_count; ++i) {
        const tni_unilateral* unilateral = &a->unilaterals[i];
        int                   bodies[2];
        tni_unilateral_bodies(a, unilateral, bodies);
        if (!(unilateral->force[0] > 0) || !drives(model, unilateral, bodies)) continue;
        for (int side = 0; side < 2; ++side) {
            const tni_body* body = &model->bodies[bodies[side]];
            const double*   J    = a->j + a->block_at[2 * i + side];
            for (int r = 0; r < unilateral->row_count && body->node >= 0; ++r)
                for (int k = 0; k < body->dim; ++k)
                    sum += 0.5 * unilateral->force[r] * J[r * body->dim + k] *
                           (u0[body->u_start + k] + u1[body->u_start + k]);
        }
    }
    return sum;
}

// Of drives, with the multipliers of the half kick that went from u0 to u1. Where rows are redundant, parts of the
// multipliers may cancel over rows, and so does their work: what drives and other joints take from each other is none.
static double drive_work(const tn_stepper* s, const double* mu, const double* u0, const double* u1)
{
    const tn_model* model = s->model;
    double          drive = 0, rest = 0;
    for (int i = 0; i < model->constraint_count && s->impulse.energy.any_driven; ++i) {
        const tni_constraint* c      = &model->constraints[i];
        const bool            driven = s->impulse.energy.driven[i];
        double                before[TNI_DIM_MAX], after[TNI_DIM_MAX], work = 0;
        if ((!driven && !s->impulse.loops) || tni_system_sleeps(s->system, c)) continue;
        tni_system_row_rates(s->system, c, u0, before);
        tni_system_row_rates(s->system, c, u1, after);
        for (int k = 0; k < c->row_count; ++k)
            work -= 0.5 * mu[c->row_start + k] * (before[k] + after[k]);
        if (driven) drive += work;
        else rest += work;
    }
    const bool cancel = drive * rest < 0 && fabs(drive + rest) < 0.5 * fabs(drive);
    return cancel ? drive + rest : drive;
}

static void find_loads(tn_stepper* s, const tni_configuration_buffer* place)
{
    const tni_configuration at    = tni_configuration_of(place);
    const tni_scene_view    scene = tni_system_scene(s->system, &at);
    if (s->model->load_count == 0) return;
    memset(s->impulse.energy.load, 0, sizeof(double) * (size_t)s->model->u_count);
    tni_force_add(&tni_force_load, &scene, s->impulse.energy.load);
}

static double load_work(const tn_stepper* s, double h, const double* u0, const double* u1)
{
    double sum = 0;
    for (int i = 0; i < s->model->u_count && s->model->load_count > 0; ++i)
        sum += 0.25 * h * s->impulse.energy.load[i] * (u0[i] + u1[i]);
    return sum;
}

// A half kick of h/2 from u0 to u1.
static void add_half(tn_stepper* s, double h, const double* mu, const double* u0, const double* u1)
{
    tni_energy_watch* watch    = &s->impulse.energy;
    const double      parts[4] = {drive_work(s, mu, u0, u1), contact_work(s, u0, u1),
                                  load_work(s, h, u0, u1), tni_soft_work(s->impulse.soft, u0, u1)};
    for (int i = 0; i < 4; ++i) watch->work += parts[i], watch->moved += fabs(parts[i]);
}

// 1/2 |b - a|^2
static double kinetic_between(const tn_stepper* s, const tni_view* views, const double* a,
                              const double* b)
{
    double sum = 0;
    for (int i = 0; i < s->model->free_count; ++i) {
        const int       index = s->model->free_bodies[i];
        const tni_body* body  = &s->model->bodies[index];
        double          d[TNI_DIM_MAX], Md[TNI_DIM_MAX];
        for (int k = 0; k < body->dim; ++k) d[k] = b[body->u_start + k] - a[body->u_start + k];
        tni_mass_times(body, &views[index], d, Md);
        for (int k = 0; k < body->dim; ++k) sum += 0.5 * d[k] * Md[k];
    }
    return sum;
}

// Energies that the user may change between two steps.
static bool has_inputs(const tn_stepper* s)
{
    bool any = s->model->target_count > 0;
    for (int i = 0; s->system->inputs != NULL && i < TN_HANDLES_MAX; ++i)
        any = any || s->system->inputs->handles[i].body != 0;
    return any;
}

// ---- A substep ---------------------------------------------------------------------------------------

void tni_energy_begin(tn_stepper* s, bool continued)
{
    tni_energy_watch* watch = &s->impulse.energy;
    if (!watch->on) return;
    watch->work = watch->moved = 0;
    if (continued && watch->known && !has_inputs(s)) { // it is where the last substep ended
        double* bodies = watch->bodies;
        watch->bodies  = watch->after;
        watch->after   = bodies;
        watch->start   = watch->end;
        watch->kinetic = watch->end_kinetic;
    } else {
        watch->start = energy_of(s, &s->now, watch->bodies, &watch->kinetic);
    }
    watch->known = false;
    find_loads(s, &s->now);
    watch->hit_count = s->hit_count;
    memcpy(watch->hits, s->hits, sizeof *s->hits * (size_t)s->hit_count);
    tni_copy_numbers(watch->velocity, s->now.u, s->model->u_count);
}

void tni_energy_back(tn_stepper* s)
{
    const tni_energy_watch* watch = &s->impulse.energy;
    s->hit_count                  = watch->hit_count;
    memcpy(s->hits, watch->hits, sizeof *s->hits * (size_t)s->hit_count);
    tni_copy_numbers(s->now.u, watch->velocity, s->model->u_count);
}

void tni_energy_keep(tn_stepper* s)
{
    if (s->impulse.energy.on)
        tni_copy_numbers(s->impulse.energy.multipliers, s->system->answer + s->model->u_count,
                         s->model->row_count);
}

bool tni_energy_may_come(const tn_stepper* s)
{
    const tni_unilaterals* a      = &s->system->unilaterals;
    bool                   driven = s->impulse.energy.any_driven;
    for (int i = 0; i < a->unilateral_count && !driven; ++i) {
        int bodies[2];
        tni_unilateral_bodies(a, &a->unilaterals[i], bodies);
        driven = drives(s->model, &a->unilaterals[i], bodies);
    }
    return driven;
}

double tni_energy_of_impact(tn_stepper* s)
{
    const bool counts = s->impulse.energy.on && tni_energy_may_come(s);
    return counts ? tni_system_kinetic(s->system, s->now.u) : 0;
}

double tni_energy_of_place(const tn_stepper* s)
{
    const tni_configuration at     = tni_configuration_of(&s->next);
    const tni_scene_view    scene  = tni_system_scene(s->system, &at);
    const tn_energy         energy = tni_energy(&scene);
    return s->impulse.energy.on ? energy.gravity + energy.elastic : 0;
}

void tni_energy_brought(tn_stepper* s, double work)
{
    s->impulse.energy.work += work;
    s->impulse.energy.moved += fabs(work);
}

void tni_energy_kicked(tn_stepper* s, double h)
{
    tni_energy_watch* watch = &s->impulse.energy;
    if (!watch->on) return;
    add_half(s, h, watch->multipliers, s->now.u, s->impulse.plus);
    tni_copy_numbers(watch->plus, s->impulse.plus, s->model->u_count);
    tni_copy_numbers(watch->before, s->now.u, s->model->u_count);
}

void tni_energy_landed(tn_stepper* s, double h)
{
    tni_energy_watch* watch = &s->impulse.energy;
    if (!watch->on) return;
    watch->fast = tni_soft_fast_energy(s->impulse.soft);
    find_loads(s, &s->next);
    add_half(s, h, s->system->answer + s->model->u_count, s->impulse.plus, s->next.u);
    tni_copy_numbers(watch->landing, s->impulse.plus, s->model->u_count);
}

double tni_energy_gain(tn_stepper* s, double depth, double* excess)
{
    tni_energy_watch* watch = &s->impulse.energy;
    const tn_model*   model = s->model;
    double            most = 0, weight = 0;
    *excess = 0;
    if (!watch->on) return 0;
    watch->end           = energy_of(s, &s->next, watch->after, &watch->end_kinetic);
    watch->known         = !has_inputs(s);
    const double gain    = watch->end - watch->start - watch->work,
                 kinetic = fmax(watch->kinetic, watch->end_kinetic);
    for (int i = 0; i < model->free_count; ++i)
        weight += fabs(model->bodies[model->free_bodies[i]].mass) * tni_norm(model->gravity);
    double allowed = share * (kinetic + watch->moved) + unseen * watch->fast +
                     rounding * (fabs(watch->start) + fabs(watch->end)) + depth * weight;
    if (gain > allowed) {
        const double first  = kinetic_between(s, s->impulse.views, watch->before, watch->plus),
                     second = kinetic_between(s, s->system->views, watch->landing, s->next.u);
        allowed += fmin(fabs(second - first), swing * kinetic);
    }
    *excess       = gain - allowed;
    watch->gainer = -1;
    for (int i = 0; i<model->free_count&& * excess> 0; ++i) {
        const int    body = model->free_bodies[i];
        const double own  = watch->after[body] - watch->bodies[body];
        if (!(own > most)) continue;
        most          = own;
        watch->gainer = body;
    }
    return gain;
}

void tni_energy_tell(tn_stepper* s, double gain)
{
    tni_energy_watch* watch = &s->impulse.energy;
    if (watch->count++ > 0 && !(gain > watch->most)) return;
    watch->most = gain;
    watch->body = watch->gainer;
}
