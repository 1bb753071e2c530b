// implicit_system: chooses the form of an implicit step; what all forms share.
#include "system/implicit_system.h"

#include "force/force.h"
#include "system/blocks.h"
#include "system/compliant.h"
#include "system/tree_form.h"

static const double slip = 0.02; // relative change of the friction secant that is accepted

struct tni_implicit_system {
    const tn_model*       model;
    tni_system*           system;
    tn_implicit_form      form;
    tni_compliant*        compliant; ///< form rows, else NULL
    tni_tree_form*        nullspace; ///< form nullspace, else NULL
    tni_block_form*       blocks;    ///< forms blocks and exact, else NULL
    tni_implicit_contacts contacts;
    bool                  driven; ///< some rows are velocity-only
};

void tni_soft_impulse(const tn_model* model, const tni_soft* soft, const tni_step_scheme* scheme,
                      double* W, double* g)
{
    const int    n                        = soft->row_count;
    const double e                        = scheme->share * scheme->h;
    double       moved[TNI_SOFT_ROWS_MAX] = {0}; // J h drift
    for (int side = 0; side < 2 && scheme->drift != NULL; ++side) {
        const tni_body* body = &model->bodies[soft->body[side] < 0 ? 0 : soft->body[side]];
        if (soft->body[side] < 0 || body->node < 0) continue;
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < body->dim; ++j)
                moved[i] +=
                    scheme->h * soft->J[side][i * body->dim + j] * scheme->drift[body->u_start + j];
    }
    for (int i = 0; i < n; ++i) {
        g[i] = e * soft->f[i];
        for (int j = 0; j < n; ++j) {
            const double K = soft->K[i * n + j];
            W[i * n + j]   = e * e * K + e * soft->D[i * n + j];
            g[i] -= e * K * moved[j];
        }
    }
}

static tn_result choose(tni_implicit_system* s, tn_implicit_form form, tn_why* why)
{
    const char* why_not = NULL;
    const bool  serves  = tni_tree_form_supports(s->model, &why_not);
    if (form == TN_IMPLICIT_FORM_AUTO) form = serves ? TN_IMPLICIT_NULLSPACE : TN_IMPLICIT_ROWS;
    if (form == TN_IMPLICIT_NULLSPACE && !serves)
        return tni_fail(why, TN_ERR_UNSUPPORTED,
                        "setting 'implicit.form': nullspace does not support '%s': %s",
                        s->model->name, why_not);
    s->form = form;
    return TN_OK;
}

tn_result tni_implicit_system_create(tni_arena* arena, tni_system* system,
                                     const tn_implicit_settings* settings,
                                     tni_implicit_system** out, tn_why* why)
{
    tni_implicit_system* s = TNI_TAKE(arena, tni_implicit_system, 1);
    if (s == NULL) return TN_ERR_MEMORY;
    s->model  = system->model;
    s->system = system;
    for (int i = 0; i < s->model->constraint_count; ++i)
        s->driven =
            s->driven || s->model->constraints[i].held_count < s->model->constraints[i].row_count;
    *out = s;
    TRY(choose(s, settings->form, why));
    TRY(tni_implicit_contacts_create(s->model, settings, &s->contacts));
    if (s->form == TN_IMPLICIT_NULLSPACE) return tni_tree_form_create(arena, system, &s->nullspace);
    if (s->form != TN_IMPLICIT_ROWS)
        return tni_blocks_create(arena, system, s->form, &s->contacts, &s->blocks, why);
    return tni_compliant_create(arena, system, &s->contacts, &s->compliant);
}

void tni_implicit_system_free(tni_implicit_system* implicit)
{
    if (implicit != NULL) tni_implicit_contacts_free(&implicit->contacts);
}

bool tni_implicit_system_is_full(const tni_implicit_system* implicit)
{
    return implicit->contacts.full || implicit->contacts.woodbury.full;
}

tn_result tni_implicit_system_grow(tni_implicit_system* implicit)
{
    return tni_implicit_contacts_grow(&implicit->contacts);
}

tn_result tni_implicit_system_solver(const tni_implicit_system* implicit, tn_solver* solver)
{
    *solver = (tn_solver){.formulation = TN_FORMULATION_KKT, .form = implicit->form};
    double unused;
    if (implicit->blocks != NULL)
        tni_blocks_flops(implicit->blocks, &solver->factor_flops, &unused);
    if (implicit->compliant == NULL) return TN_OK;
    const tni_saddle* saddle = tni_compliant_saddle(implicit->compliant);
    solver->factor_flops     = tni_saddle_flops(saddle);
    return tni_saddle_numbers(saddle, &implicit->model->arena.host, &solver->matrix_numbers,
                              &solver->factor_numbers);
}

size_t tni_implicit_system_bytes(const tni_implicit_system* implicit)
{
    return implicit->contacts.arena.bytes + implicit->contacts.woodbury.arena.bytes;
}

static tn_result solve(tni_implicit_system* s, bool whole, const double* b, const double* r,
                       double* u, double* mu, tn_why* why)
{
    return s->blocks != NULL ? tni_blocks_solve(s->blocks, whole, b, r, u, mu, why)
                             : tni_compliant_solve(s->compliant, whole, b, r, u, mu, why);
}

static double now(const tni_implicit_system* s)
{
    return s->system->clock != NULL ? s->system->clock(s->system->clock_user) : 0;
}

static tn_result begin(tni_implicit_system* s, const tni_step_start* start,
                       const tni_step_scheme* scheme, double* u, double* mu, tn_why* why)
{
    if (s->nullspace != NULL) return tni_tree_form_begin(s->nullspace, start, scheme, u, mu, why);
    TRY(s->blocks != NULL ? tni_blocks_factor(s->blocks, start, scheme, why)
                          : tni_compliant_factor(s->compliant, start, scheme, why));
    return solve(s, true, NULL, NULL, u, mu, why);
}

tn_result tni_implicit_system_begin(tni_implicit_system* s, const tni_step_start* start,
                                    const tni_step_scheme* scheme, double* u, double* mu,
                                    tn_why* why)
{
    const double    from   = now(s);
    const tn_result result = begin(s, start, scheme, u, mu, why);
    s->system->phases.factor += now(s) - from;
    return result;
}

void tni_implicit_system_report(const tni_implicit_system* s, tn_step_report* report)
{
    if (s->compliant != NULL) tni_compliant_report(s->compliant, report);
}

tn_result tni_implicit_system_correct(tni_implicit_system* s, const double* b, const double* r,
                                      double* u, double* mu, tn_why* why)
{
    const double    from   = now(s);
    const tn_result result = s->nullspace != NULL
                                 ? tni_tree_form_correct(s->nullspace, b, r, u, mu, why)
                                 : solve(s, false, b, r, u, mu, why);
    s->system->phases.solve += now(s) - from;
    return result;
}

double tni_implicit_system_rows(const tni_system* system, double h, double* r, int* worst)
{
    const tn_model* model = system->model;
    double          most  = 0;
    *worst                = -1;
    for (int i = 0; i < model->constraint_count; ++i) {
        const tni_constraint* of = &model->constraints[i];
        for (int k = 0; k < of->row_count; ++k) {
            const int    row  = of->row_start + k;
            const bool   held = k < of->held_count;
            const double e    = fabs(held ? system->C[row] : h * system->rate[row]);
            r[row]            = held ? system->C[row] : system->rate[row];
            if (e <= most) continue; // so written, a NaN counts as largest
            most   = isnan(e) ? HUGE_VAL : e;
            *worst = i;
        }
    }
    return most;
}

double tni_implicit_system_fly(tni_implicit_system* s, const tni_step_start* start,
                               const tni_step_scheme* scheme, const double* u, double* q1,
                               double* u1, double* r, int* worst)
{
    const tn_model* model = s->model;
    const double    from  = now(s);
    if (s->nullspace != NULL) {
        const double open = tni_tree_form_fly(s->nullspace, start, scheme, u, q1, u1, r, worst);
        s->system->phases.kinematics += now(s) - from;
        return open;
    }
    if (scheme->share == 1 && scheme->drift == NULL)
        tni_fly(model, NULL, scheme->h, start->at.q, u, q1, u1);
    else tni_fly_mean(model, scheme->h, scheme->share, scheme->drift, start->at.q, u, q1, u1);
    const tni_configuration at = {scheme->time, q1, u1, start->at.z};
    tni_system_evaluate(s->system, &at);
    const double open = tni_implicit_system_rows(s->system, scheme->h, r, worst);
    if (s->compliant == NULL) return open;
    int          end    = -1;
    const double limits = tni_compliant_evaluate(s->compliant, start->at.z, &end);
    if (limits > open) *worst = end;
    return fmax(fmax(open, limits), tni_compliant_springs_evaluate(s->compliant, scheme, u));
}

static tni_scene_view scene_at(const tni_implicit_system* s, const tni_configuration* at)
{
    return (tni_scene_view){.model  = s->model,
                            .time   = at->time,
                            .z      = at->z,
                            .views  = s->system->views,
                            .flying = true,
                            .inputs = s->system->inputs};
}

void tni_implicit_system_forces(tni_implicit_system* s, const tni_configuration* at, double h,
                                double* f)
{
    const tni_scene_view scene = scene_at(s, at);
    tni_system_forces(s->system, at, true, f);
    if (s->contacts.possible)
        (void)tni_contact_forces(&scene, h, s->contacts.law, &s->contacts.room, f);
}

double tni_implicit_system_penetration(tni_implicit_system* s, int* count)
{
    return tni_implicit_contacts_penetration(&s->contacts, s->system->views, count);
}

bool tni_implicit_system_measure(tni_implicit_system* s, const tni_configuration* at, double* z,
                                 double* velocity_error)
{
    int worst;
    if (s->nullspace == NULL || s->driven) return false;
    *velocity_error = tni_tree_form_measure(s->nullspace, at, z, &worst);
    return true;
}

// Whether the soft limits and frictions that are active with u are those that were active with
// start->predicted.
static bool soft_limits_hold(tni_implicit_system* s, const tni_step_start* start,
                             const tni_step_scheme* scheme, const double* u)
{
    const tn_model*      model = s->model;
    const tni_scene_view at    = scene_at(s, &start->at);
    const tni_prediction was   = {scheme->h, scheme->time, start->predicted},
                         is    = {scheme->h, scheme->time, u};
    for (int i = 0; i < model->actuation_count; ++i) {
        const tn_limit* limit = &model->actuations[i].limit;
        tni_soft        soft;
        const double    friction = model->actuations[i].friction;
        if ((!limit->given || limit->hard) && friction == 0) continue;
        tni_soften_actuation(&at, &was, i, &soft);
        const unsigned met = soft.active_limits;
        const double   D   = soft.D[0];
        tni_soften_actuation(&at, &is, i, &soft);
        if (soft.active_limits != met) return false;
        // Friction is linearised as a secant at the predicted speed.
        if (friction > 0 && fabs(soft.D[0] - D) > slip * fabs(D)) return false;
    }
    return true;
}

bool tni_implicit_system_active_set_holds(tni_implicit_system* s, const tni_step_start* start,
                                          const tni_step_scheme* scheme, const double* u)
{
    const bool limits =
        s->compliant == NULL || !tni_compliant_update_active_set(s->compliant, start, scheme, u);
    if (s->nullspace != NULL && !tni_tree_form_needs_views(s->nullspace))
        tni_views(s->model, start->at.time, start->at.q, start->at.u, s->system->views);
    const tni_scene_view scene     = scene_at(s, &start->at);
    const tni_prediction predicted = {scheme->h, scheme->time, u};
    return soft_limits_hold(s, start, scheme, u) && limits &&
           (!s->contacts.possible ||
            tni_contact_active_set_holds(&scene, &predicted, s->contacts.law, &s->contacts.room));
}

bool tni_implicit_system_meets(const tni_implicit_system* s, const double* multipliers)
{
    const double* limits = multipliers != NULL ? multipliers + s->model->row_count : NULL;
    return (s->contacts.possible && s->contacts.room.met) ||
           (s->compliant != NULL && tni_compliant_meets(s->compliant, limits));
}

bool tni_implicit_system_is_one_sided(const tn_model* model)
{
    bool one_sided = model->limit_count > 0 || model->shape_count > 1;
    for (int i = 0; i < model->actuation_count; ++i)
        one_sided = one_sided || model->actuations[i].friction > 0 ||
                    (model->actuations[i].limit.given && !model->actuations[i].limit.hard);
    return one_sided;
}
