// sleep: parts at rest that nothing disturbs are excluded from the steps of the impulse method.
//
// Parts (bodies connected by joints) form islands through active contacts and springs. An island
// falls asleep at the end of a step if it touches something, has moved slower than the setting
// `sleep_speed` (sqrt(2 T / m) of each part) for as long as `sleep` says, and nothing that changes
// with time acts on it: its velocities are set to zero. Asleep it costs a flag test: it is not
// evaluated, factored, or moved; contacts between sleeping and immovable bodies are not searched
// for. The whole island wakes in the step in which something awake touches it: that step is
// restarted with the island awake from its start. Handles wake as well. Setting a pose or a
// velocity wakes everything.
//
// Who sleeps, and the rest times of the others, are part of the state: steps depend on the state
// alone. Islands are named by their first part; the order of traversal does not matter.
#include "step/stepper.h"

#include "base/groups.h"

#include <math.h>

static const double touching = 1e-9; // a gap that counts as zero [m]
// Penetration [m or rad] beyond which nothing falls asleep.
static const double penetration_max = 1e-4;

static const tni_plan* plan_of(const tn_stepper* s)
{
    return s->model->core.plan;
}

static int part_of(const tn_stepper* s, int body)
{
    return plan_of(s)->component_of[s->model->bodies[body].node];
}

// ---- Parts that may not fall asleep -------------------------------------------------------------

static void disturb(void* user, int body1, int body2)
{
    tn_stepper* s = user;
    if (body2 < 0 && s->model->bodies[body1].node >= 0) s->sleep.restless[part_of(s, body1)] = 1;
}

static void note_restless(tn_stepper* s)
{
    const tn_model* model = s->model;
    tni_external_pushed(model, disturb, s);
    for (int i = 0; i < model->constraint_count; ++i) {
        const tni_constraint* c      = &model->constraints[i];
        bool                  driven = c->kind != TNI_CONSTRAINT_JOINT || c->pushes_otherwise;
        if (c->kind == TNI_CONSTRAINT_JOINT) {
            const tni_joint* joint = &model->joints[c->index];
            driven                 = driven || joint->drive_count > 0 ||
                     model->bodies[joint->body1].kind == TN_BODY_KINEMATIC ||
                     model->bodies[joint->body2].kind == TN_BODY_KINEMATIC;
        }
        for (int k = 0; driven && k < c->edge_count; ++k)
            disturb(s, model->edge_body[c->edge_start + k], -1);
    }
    for (int i = 0; i < model->free_count; ++i) {
        const tn_body_kind kind = model->bodies[model->free_bodies[i]].kind;
        if (kind == TN_BODY_AFFINE || kind == TN_BODY_USER) disturb(s, model->free_bodies[i], -1);
    }
}

tn_result tni_sleep_create(tn_stepper* s)
{
    tni_sleep_work* work  = &s->sleep;
    const int       parts = plan_of(s)->component_count;
    work->on              = s->has_unilaterals && s->settings.impulse.sleep > 0;
    if (!work->on) return TN_OK;
    work->rest_time = TNI_TAKE(&s->arena, double, parts);
    work->restless  = TNI_TAKE(&s->arena, uint8_t, parts);
    work->asleep    = TNI_TAKE(&s->arena, uint8_t, parts);
    work->bodies    = TNI_TAKE(&s->arena, uint8_t, s->model->body_count);
    work->wake      = TNI_TAKE(&s->arena, uint8_t, parts);
    work->island    = TNI_TAKE(&s->arena, int, parts);
    work->mass      = TNI_TAKE(&s->arena, double, parts);
    work->energy    = TNI_TAKE(&s->arena, double, parts);
    if (s->arena.failed) return TN_ERR_MEMORY;
    note_restless(s);
    return TN_OK;
}

// ---- Waking -------------------------------------------------------------------------------------

// Wakes the whole island of a sleeping part.
static void wake_island(tn_stepper* s, int part)
{
    tni_sleep_work* work = &s->sleep;
    const double    name = work->rest_time[part];
    for (int c = 0; name < 0 && c < plan_of(s)->component_count; ++c) {
        if (work->rest_time[c] == name) work->rest_time[c] = 0;
    }
}

void tni_sleep_begin(tn_stepper* s, const tn_state* state)
{
    tni_sleep_work* work = &s->sleep;
    const int       n    = plan_of(s)->component_count;
    if (!work->on) return;
    tni_copy_numbers(work->rest_time, state->rest_time, n);
    for (int c = 0; c < n; ++c) {
        if (work->wake[c]) wake_island(s, c);
    }
    for (int i = 0; i < TN_HANDLES_MAX; ++i) {
        const int body = state->inputs.handles[i].body;
        if (body > 0 && s->model->bodies[body].node >= 0) wake_island(s, part_of(s, body));
    }
    const bool any = work->any;
    work->any      = false;
    bool changed   = false;
    for (int c = 0; c < n; ++c) {
        const bool asleep = work->rest_time[c] < 0;
        changed           = changed || asleep != work->asleep[c];
        work->asleep[c]   = asleep;
        work->any         = work->any || asleep;
    }
    for (int i = 0; i < s->model->free_count; ++i)
        work->bodies[s->model->free_bodies[i]] = work->asleep[part_of(s, s->model->free_bodies[i])];
    if (changed) s->now_factored = false;
    s->system->asleep           = NULL;
    s->system->saddle->asleep   = NULL;
    s->system->auxiliary.asleep = NULL;
    tni_finder_exclude(s->system->unilaterals.finder, NULL);
    if (!work->any) return;
    const tni_configuration at = tni_configuration_of(&s->now);
    if (!s->now_factored || !any)
        tni_system_evaluate(s->system, &at); // for the bodies that will not be evaluated again
    s->system->asleep           = work->bodies;
    s->system->saddle->asleep   = work->asleep;
    s->system->auxiliary.asleep = work->bodies;
    tni_finder_exclude(s->system->unilaterals.finder, work->bodies);
}

bool tni_sleep_disturbed(tn_stepper* s)
{
    tni_sleep_work*  work = &s->sleep;
    tni_unilaterals* a    = &s->system->unilaterals;
    bool             any  = false;
    int              kept = 0;
    if (!work->any) return false;
    for (int i = 0; i < a->unilateral_count; ++i) {
        int bodies[2];
        tni_unilateral_bodies(a, &a->unilaterals[i], bodies);
        const bool one = work->bodies[bodies[0]], two = work->bodies[bodies[1]];
        if (!one && !two) {
            if (kept < i) {
                a->unilaterals[kept]      = a->unilaterals[i];
                a->block_at[2 * kept]     = a->block_at[2 * i];
                a->block_at[2 * kept + 1] = a->block_at[2 * i + 1];
            }
            ++kept;
            continue;
        }
        tni_row rows[TNI_CONTACT_ROWS];
        if (a->unilaterals[i].limit >= 0) continue;
        (void)tni_contact_rows(s->model, &a->unilaterals[i].contact, s->system->views, rows);
        if (!(rows[0].C <= touching)) continue;
        work->wake[part_of(s, bodies[one ? 0 : 1])] = 1;
        any                                         = true;
    }
    a->unilateral_count = kept;
    return any;
}

void tni_sleep_accept(tn_stepper* s)
{
    if (s->sleep.on) memset(s->sleep.wake, 0, (size_t)plan_of(s)->component_count);
}

// ---- Falling asleep -----------------------------------------------------------------------------

static void measure_speeds(tn_stepper* s, double h)
{
    tni_sleep_work* work  = &s->sleep;
    const double    most  = s->settings.impulse.sleep_speed;
    const tn_model* model = s->model;
    const int       n     = plan_of(s)->component_count;
    memset(work->mass, 0, sizeof(double) * (size_t)n);
    memset(work->energy, 0, sizeof(double) * (size_t)n);
    for (int i = 0; i < model->free_count; ++i) {
        const int       index = model->free_bodies[i], c = part_of(s, index);
        const tni_body* body = &model->bodies[index];
        const double*   u    = s->next.u + body->u_start;
        double          Mu[TNI_DIM_MAX];
        if (work->asleep[c] || work->restless[c]) continue;
        tni_mass_times(body, &s->system->views[index], u, Mu);
        for (int k = 0; k < body->dim; ++k) work->energy[c] += u[k] * Mu[k];
        work->mass[c] += body->mass;
    }
    for (int c = 0; c < n; ++c) {
        if (work->asleep[c]) continue;
        const bool still   = work->mass[c] > 0 && work->energy[c] <= most * most * work->mass[c];
        work->rest_time[c] = still ? work->rest_time[c] + h : 0;
        work->island[c]    = c;
    }
}

static void tie_awake(void* user, int body1, int body2)
{
    tn_stepper*     s     = user;
    tni_sleep_work* work  = &s->sleep;
    const tn_model* model = s->model;
    if (body2 < 0 || model->bodies[body1].node < 0 || model->bodies[body2].node < 0) return;
    if (!work->bodies[body1] && !work->bodies[body2])
        (void)tni_tie(work->island, part_of(s, body1), part_of(s, body2));
}

// Islands of awake parts. Afterwards the `energy` of a root is the least rest time of its parts,
// and its `mass` the number of its active contacts.
static void find_islands(tn_stepper* s)
{
    tni_sleep_work*        work  = &s->sleep;
    const tn_model*        model = s->model;
    const tni_unilaterals* a     = &s->system->unilaterals;
    const int              n     = plan_of(s)->component_count;
    tni_external_pushed(model, tie_awake, s);
    for (int i = 0; i < a->unilateral_count; ++i) {
        int bodies[2];
        tni_unilateral_bodies(a, &a->unilaterals[i], bodies);
        const bool free1 = model->bodies[bodies[0]].node >= 0,
                   free2 = model->bodies[bodies[1]].node >= 0;
        if (free1 && free2 && a->unilaterals[i].force[0] > 0)
            (void)tni_tie(work->island, part_of(s, bodies[0]), part_of(s, bodies[1]));
    }
    for (int c = 0; c < n; ++c) work->energy[c] = HUGE_VAL, work->mass[c] = 0;
    for (int c = 0; c < n; ++c) {
        if (work->asleep[c]) continue;
        double* least = &work->energy[tni_root_of(work->island, c)];
        *least        = fmin(*least, work->restless[c] ? 0 : work->rest_time[c]);
    }
    for (int i = 0; i < a->unilateral_count; ++i) {
        const tni_unilateral* unilateral = &a->unilaterals[i];
        int                   bodies[2];
        tni_unilateral_bodies(a, unilateral, bodies);
        const bool passed = unilateral->gap < -penetration_max;
        for (int side = 0; side < 2 && passed; ++side) {
            if (model->bodies[bodies[side]].node >= 0)
                work->energy[tni_root_of(work->island, part_of(s, bodies[side]))] = 0;
        }
        for (int side = 0; side < 2 && unilateral->limit < 0 && unilateral->force[0] > 0; ++side) {
            const tni_body *own   = &model->bodies[bodies[side]],
                           *other = &model->bodies[bodies[1 - side]];
            if (own->node < 0) continue;
            const int root = tni_root_of(work->island, part_of(s, bodies[side]));
            work->mass[root] += 1;
            if (other->kind == TN_BODY_KINEMATIC || tni_max_abs(unilateral->contact.surface1) > 0 ||
                tni_max_abs(unilateral->contact.surface2) > 0)
                work->energy[root] = 0;
        }
    }
}

void tni_sleep_end(tn_stepper* s, double h)
{
    tni_sleep_work* work  = &s->sleep;
    const tn_model* model = s->model;
    if (!work->on) return;
    measure_speeds(s, h);
    find_islands(s);
    for (int c = 0; c < plan_of(s)->component_count; ++c) {
        if (work->asleep[c]) continue;
        const int root = tni_root_of(work->island, c);
        if (work->mass[root] > 0 && work->energy[root] >= s->settings.impulse.sleep)
            work->rest_time[c] = -1 - root;
    }
    for (int i = 0; i < model->free_count; ++i) {
        const tni_body* body = &model->bodies[model->free_bodies[i]];
        const int       c    = part_of(s, model->free_bodies[i]);
        if (work->asleep[c] || !(work->rest_time[c] < 0)) continue;
        memset(s->next.u + body->u_start, 0, sizeof(double) * (size_t)body->dim);
    }
}
