#include "system/system.h"

#include "force/force.h"

enum { EDGES_MAX = TNI_CONSTRAINT_BODIES_MAX };

static void set_lone_nodes(tni_system* system)
{
    for (int i = 0; i < system->split->auxiliary_count; ++i) {
        const tni_constraint* c = &system->model->constraints[system->split->auxiliary[i]];
        double*               A = tni_saddle_a(system->saddle, c->node);
        for (int k = 0; k < c->row_count; ++k) A[k * c->row_count + k] = 1;
    }
}

static tni_formulation formulation_of(const tni_split* split, const tn_model* model,
                                      const tni_impulse_matrix* impulse)
{
    const bool      core = !impulse->variant.cholmod;
    tni_formulation f    = {.backend    = core ? TNI_BACKEND_CORE : TNI_BACKEND_CHOLMOD,
                            .part_edges = impulse->settings->part_joints,
                            .by_norm    = impulse->variant.by_norm};
    const unsigned  many = 1u << TNI_FORM_SPD | 1u << TNI_FORM_SPLIT;
    switch (impulse->settings->formulation) {
    case TN_FORMULATION_KKT: f.form = TNI_FORM_KKT; break;
    case TN_FORMULATION_SPD: f.form = TNI_FORM_SPD; break;
    case TN_FORMULATION_SPLIT: f.form = TNI_FORM_SPLIT; break;
    default: // auxiliary rows need the responses that only the core backend gives
        f.form = split->auxiliary_rows > 0 || tni_has_unilaterals(model)
                     ? TNI_FORM_KKT
                     : tni_form_choose(&model->arena.host, split->plan, core ? many | 1u : many);
    }
    return f;
}

tn_result tni_system_create(tni_arena* arena, const tn_model* model, tn_loops loops,
                            const tni_impulse_matrix* impulse, tni_system** out)
{
    tni_system* system = TNI_TAKE(arena, tni_system, 1);
    if (system == NULL) return TN_ERR_MEMORY;
    const int rows = model->row_count, all = model->u_count + rows;
    system->model  = model;
    system->split  = loops == TN_LOOPS_AUXILIARY ? &model->forest : &model->core;
    system->views  = TNI_TAKE(arena, tni_view, model->body_count);
    system->C      = TNI_TAKE(arena, double, rows);
    system->rate   = TNI_TAKE(arena, double, rows);
    system->gamma  = TNI_TAKE(arena, double, rows);
    system->rhs    = TNI_TAKE(arena, double, all);
    system->answer = TNI_TAKE(arena, double, all);
    *out           = system;
    if (arena->failed) return TN_ERR_MEMORY;
    const tni_formulation f = impulse != NULL ? formulation_of(system->split, model, impulse)
                                              : (tni_formulation){.form = TNI_FORM_KKT};
    TRY(tni_saddle_create_as(arena, system->split->plan, &f, &system->saddle));
    if (impulse != NULL) { // impulse steps measure their own errors: little refinement is enough
        const tn_impulse_settings* s   = impulse->settings;
        system->saddle->regularisation = fmax(s->regularisation, 1e-5 * s->tolerance);
        system->saddle->refinement_max = 2;
        system->saddle->later          = true;
    }
    system->regularisation = system->saddle->regularisation;
    set_lone_nodes(system);
    if (tni_common_joints_create(arena, model, &system->commons) != TN_OK) return TN_ERR_MEMORY;
    TRY(tni_unilaterals_create(model, &system->unilaterals));
    return tni_auxiliary_create(model, system->split, &system->auxiliary);
}

void tni_system_scale_regularisation(tni_system* system, double factor)
{
    system->saddle->regularisation = factor * system->regularisation;
    system->saddle->damped         = factor > 1;
}

bool tni_system_regularises(const tni_system* system)
{
    return tni_system_has_loops(system) || tni_system_is_schur(system);
}

bool tni_system_is_schur(const tni_system* system)
{
    return system->saddle->schur != NULL;
}

void tni_system_free(tni_system* system)
{
    if (system == NULL) return;
    tni_auxiliary_free(&system->auxiliary);
    tni_unilaterals_free(&system->unilaterals);
    tni_saddle_release(system->saddle);
}

size_t tni_system_bytes(const tni_system* system)
{
    return system->auxiliary.arena.bytes + system->unilaterals.arena.bytes;
}

bool tni_system_is_full(const tni_system* system)
{
    return system->auxiliary.full || system->unilaterals.full;
}

tn_result tni_system_solver(const tni_system* system, tn_solver* solver)
{
    static const tn_formulation forms[] = {TN_FORMULATION_KKT, TN_FORMULATION_SPD,
                                           TN_FORMULATION_SPLIT};
    const tni_saddle*           saddle  = system->saddle;
    const tn_host*              host    = &system->model->arena.host;
    *solver              = (tn_solver){.formulation = forms[saddle->formulation.form]};
    solver->factor_flops = tni_saddle_flops(saddle);
    return tni_saddle_numbers(saddle, host, &solver->matrix_numbers, &solver->factor_numbers);
}

double* tni_system_j(const tni_system* system, int edge)
{
    tni_system* s  = (tni_system*)system; // only its blocks are written
    const int   at = system->split->plan_edge[edge];
    return at >= 0 ? tni_saddle_j(s->saddle, at) : tni_auxiliary_j(&s->auxiliary, edge);
}

// Seconds on the host's clock; 0 without one.
static double now(const tni_system* system)
{
    return system->clock != NULL ? system->clock(system->clock_user) : 0;
}

static void evaluate(tni_system* system, const tni_configuration* at)
{
    const double start = now(system);
    for (int i = 0; i < system->model->body_count; ++i) {
        if (system->asleep == NULL || !system->asleep[i])
            tni_view_body(system->model, i, at->time, at->q, at->u, &system->views[i]);
    }
    system->phases.kinematics += now(system) - start;
}

static void fill_common_joints(tni_system* system, bool jacobians)
{
    const tni_common_joints* commons = &system->commons;
    for (const tni_common_group* g = commons->group; g < commons->group + commons->count; ++g) {
        double* block[TNI_COMMON_LANES][2];
        for (int i = 0; jacobians && i < 2 * TNI_COMMON_LANES; ++i) {
            const int edge      = g->edge[i / 2][i % 2];
            block[i / 2][i % 2] = edge >= 0 ? tni_system_j(system, edge) : NULL;
        }
        tni_common_values(system->model, commons, g, system->views, system->C, system->rate,
                          system->gamma, jacobians ? block : NULL);
    }
}

static void fill_rows(tni_system* system, const tni_configuration* at, bool jacobians)
{
    const tn_model* model = system->model;
    const bool      all   = system->asleep == NULL; // joints of sleeping bodies are done one by one
    double *        J[EDGES_MAX], *K[EDGES_MAX];
    if (all) fill_common_joints(system, jacobians);
    for (int i = 0; i < model->constraint_count; ++i) {
        const tni_constraint* constraint = &model->constraints[i];
        if (all && system->commons.in[i]) continue;
        const int  row       = constraint->row_start;
        const bool otherwise = jacobians && constraint->pushes_otherwise;
        if (tni_system_sleeps(system, constraint)) continue;
        for (int k = 0; jacobians && k < constraint->edge_count; ++k) {
            J[k] = tni_system_j(system, constraint->edge_start + k);
            if (otherwise) K[k] = tni_auxiliary_k(&system->auxiliary, constraint->edge_start + k);
        }
        const tni_rows_out out = {system->C + row, system->rate + row, system->gamma + row,
                                  jacobians ? J : NULL, otherwise ? K : NULL};
        tni_constraint_rows(model, constraint, system->views, at->time, at->z, &out);
    }
    tni_unilaterals_evaluate(&system->unilaterals, system->views, at->z, jacobians);
}

void tni_system_evaluate(tni_system* system, const tni_configuration* at)
{
    evaluate(system, at);
    const double start = now(system);
    fill_rows(system, at, false);
    system->phases.assemble += now(system) - start;
}

void tni_system_evaluate_whole(tni_system* system, const tni_configuration* at)
{
    evaluate(system, at);
    const double start = now(system);
    fill_rows(system, at, true);
    system->phases.assemble += now(system) - start;
}

void tni_system_add_joint_forces(const tni_system* system, const double* mu, double* f)
{
    const tn_model* model = system->model;
    for (int i = 0; i < model->constraint_count; ++i) {
        const tni_constraint* constraint = &model->constraints[i];
        for (int k = 0; k < constraint->edge_count; ++k) {
            const int       edge = constraint->edge_start + k;
            const tni_body* body = &model->bodies[model->edge_body[edge]];
            const double*   J    = tni_system_j(system, edge);
            for (int r = 0; r < constraint->row_count; ++r)
                for (int j = 0; j < body->dim; ++j)
                    f[body->u_start + j] -= J[r * body->dim + j] * mu[constraint->row_start + r];
        }
    }
}

void tni_system_momentum(const tni_system* system, const double* u, double* p)
{
    for (int i = 0; i < system->model->free_count; ++i) {
        const int       index = system->model->free_bodies[i];
        const tni_body* body  = &system->model->bodies[index];
        tni_mass_times(body, &system->views[index], u + body->u_start, p + body->u_start);
    }
}

tn_result tni_system_fail_at(const tni_system* system, int row, tn_why* why)
{
    const tn_model* model = system->model;
    if (row >= model->u_count) {
        const tni_constraint* constraint = tni_constraint_of_row(model, row - model->u_count);
        return tni_fail(why, TN_ERR_SINGULAR,
                        "joint '%s': its constraint rows are not finite or linearly dependent",
                        tni_constraint_name(model, constraint));
    }
    for (int i = 0; row >= 0 && i < model->free_count; ++i) {
        const tni_body* body = &model->bodies[model->free_bodies[i]];
        if (row < body->u_start || row >= body->u_start + body->dim) continue;
        return tni_fail(why, TN_ERR_SINGULAR,
                        "body '%s': its motion is no longer finite, or its mass is not positive",
                        body->name);
    }
    return tni_fail(why, TN_ERR_SINGULAR, "the motion is no longer finite");
}

// Friction jam: no forces satisfy the conditions of a unilateral.
static tn_result fail_at_unilateral(const tni_system* system, tn_why* why)
{
    const tni_auxiliary*      a    = &system->auxiliary;
    const tni_auxiliary_unit* unit = a->report.unit >= 0 ? &a->units[a->report.unit] : NULL;
    if (unit == NULL || unit->unilateral < 0)
        return tni_fail(why, TN_ERR_DIVERGED, "no forces keep all contacts and limits");
    const tni_unilateral* unilateral = &system->unilaterals.unilaterals[unit->unilateral];
    char                  text[120];
    tni_unilateral_text(&system->unilaterals, unilateral, text, sizeof text);
    if (unilateral->limit >= 0)
        return tni_fail(why, TN_ERR_DIVERGED, "%s: no force keeps it within its limit", text);
    if (unilateral->friction == 0)
        return tni_fail(why, TN_ERR_DIVERGED, "%s: no force keeps them apart", text);
    return tni_fail(why, TN_ERR_DIVERGED,
                    "%s: friction %g leaves no finite force that keeps them apart", text,
                    unilateral->friction);
}

tni_scene_view tni_system_scene(const tni_system* system, const tni_configuration* at)
{
    return (tni_scene_view){.model   = system->model,
                            .time    = at->time,
                            .z       = at->z,
                            .views   = system->views,
                            .bounded = system->bounded,
                            .inputs  = system->inputs};
}

// Everything that concerns one body, in one pass: view, mass, and the forces that act on one body
// at a time.
static void fill_bodies(tni_system* system, const tni_configuration* at)
{
    const tn_model*      model = system->model;
    const tni_scene_view scene = tni_system_scene(system, at);
    for (int i = 0; i < model->body_count; ++i) {
        const tni_body* body = &model->bodies[i];
        if (system->asleep != NULL && system->asleep[i]) continue;
        tni_view_body(model, i, at->time, at->q, at->u, &system->views[i]);
        if (body->node < 0) continue;
        double* M = tni_saddle_a(system->saddle, body->node);
        tni_mass_block(body, &system->views[i], M);
        for (int k = 0; system->stiffness != NULL && body->kind == TN_BODY_RIGID && k < 9; ++k)
            M[6 * (3 + k / 3) + 3 + k % 3] += system->stiffness[i].m[k];
        tni_body_forces(&scene, i, system->rhs);
    }
}

void tni_system_fill(tni_system* system, const tni_configuration* at)
{
    double start = now(system);
    fill_bodies(system, at);
    system->phases.kinematics += now(system) - start;
    start = now(system);
    fill_rows(system, at, true);
    system->phases.assemble += now(system) - start;
    ++system->auxiliary.filled;
    system->auxiliary.factored = false;
}

tn_result tni_system_factor(tni_system* system, const tni_configuration* at, tn_why* why)
{
    tni_system_fill(system, at);
    if (system->auxiliary.matrix != NULL) return TN_OK; // it factors when it solves
    const double    start  = now(system);
    const tn_result result = tni_saddle_factor(system->saddle);
    system->phases.factor += now(system) - start;
    return result == TN_OK ? TN_OK
                           : tni_system_fail_at(system, system->saddle->report.bad_row, why);
}

static tn_result solve(tni_system* system, tni_unilaterals* with, const double* b, const double* r,
                       bool exact, tn_why* why)
{
    const tn_model* model = system->model;
    const double    start = now(system);
    if (b == NULL) memset(system->rhs, 0, sizeof(double) * (size_t)model->u_count);
    else if (b != system->rhs) memcpy(system->rhs, b, sizeof(double) * (size_t)model->u_count);
    memcpy(system->rhs + model->u_count, r, sizeof(double) * (size_t)model->row_count);
    tni_auxiliary*  auxiliary = &system->auxiliary;
    const bool      none      = with == NULL || with->unilateral_count == 0;
    const bool      plain = system->split->auxiliary_rows == 0 && none && auxiliary->matrix == NULL;
    const tn_result result =
        plain ? tni_saddle_solve(system->saddle, system->rhs, system->answer, exact)
              : tni_auxiliary_solve(auxiliary, with, system->saddle, system->rhs, system->answer,
                                    exact);
    system->phases.columns += auxiliary->response_time;
    system->phases.contact += auxiliary->complementarity_time;
    system->phases.solve +=
        now(system) - start - auxiliary->response_time - auxiliary->complementarity_time;
    auxiliary->response_time = auxiliary->complementarity_time = 0;
    if (result == TN_ERR_MEMORY) return tni_fail(why, result, "no room for so many contacts");
    if (result != TN_OK) return tni_system_fail_at(system, system->saddle->report.bad_row, why);
    return !plain && auxiliary->report.jammed ? fail_at_unilateral(system, why) : TN_OK;
}

tn_result tni_system_solve(tni_system* system, const double* b, const double* r, bool exact,
                           tn_why* why)
{
    return solve(system, &system->unilaterals, b, r, exact, why);
}

tn_result tni_system_solve_joints(tni_system* system, const double* b, const double* r, bool exact,
                                  tn_why* why)
{
    return solve(system, NULL, b, r, exact, why);
}

// The forces of tni_body_forces are in rhs since the factorisation.
static void gather_forces(tni_system* system, const tni_configuration* at)
{
    const double         start = now(system);
    const tni_scene_view scene = tni_system_scene(system, at);
    tni_other_forces(&scene, system->rhs);
    for (int i = 0; system->extra != NULL && i < system->model->u_count; ++i)
        system->rhs[i] += system->extra[i];
    system->phases.assemble += now(system) - start;
}

void tni_system_forces(tni_system* system, const tni_configuration* at, bool flying, double* f)
{
    const double   start = now(system);
    tni_scene_view scene = tni_system_scene(system, at);
    scene.flying         = flying;
    scene.within         = flying ? system->within : 0;
    scene.cut            = &system->cut;
    if (system->soft != NULL) tni_nonstiff_forces(&scene, f);
    else tni_forces(&scene, f);
    for (int i = 0; system->extra != NULL && i < system->model->u_count; ++i)
        f[i] += system->extra[i];
    system->phases.assemble += now(system) - start;
}

tn_energy tni_system_energy(tni_system* system, const tni_configuration* at)
{
    const tni_scene_view scene = tni_system_scene(system, at);
    evaluate(system, at);
    return tni_energy(&scene);
}

bool tni_system_has_damping(const tni_system* system)
{
    for (int i = 0; system->inputs != NULL && i < TN_HANDLES_MAX; ++i) {
        const tni_handle* handle = &system->inputs->handles[i];
        if (handle->body != 0 && handle->damping > 0) return true;
    }
    return tni_forces_have_damping(system->model);
}

int tni_system_part(const tni_system* system, int body)
{
    return system->split->plan->component_of[system->model->bodies[body].node];
}

double tni_system_kinetic(const tni_system* system, const double* u)
{
    double sum = 0;
    for (int i = 0; i < system->model->free_count; ++i) {
        const tni_body* body = &system->model->bodies[system->model->free_bodies[i]];
        const double *  M = tni_saddle_a(system->saddle, body->node), *v = u + body->u_start;
        for (int j = 0; j < body->dim; ++j)
            for (int k = 0; k < body->dim; ++k) sum += 0.5 * v[j] * M[j * body->dim + k] * v[k];
    }
    return sum;
}

void tni_system_row_rates(const tni_system* system, const tni_constraint* constraint,
                          const double* u, double* out)
{
    const tn_model* model = system->model;
    for (int i = 0; i < constraint->row_count; ++i) out[i] = 0;
    for (int k = 0; k < constraint->edge_count; ++k) {
        const int       edge = constraint->edge_start + k;
        const tni_body* body = &model->bodies[model->edge_body[edge]];
        const double*   J    = tni_system_j(system, edge);
        for (int i = 0; i < constraint->row_count; ++i)
            for (int j = 0; j < body->dim; ++j)
                out[i] += J[i * body->dim + j] * u[body->u_start + j];
    }
}

void tni_system_all_rates(const tni_system* system, const double* u, double* out)
{
    for (int i = 0; i < system->model->constraint_count; ++i) {
        const tni_constraint* constraint = &system->model->constraints[i];
        tni_system_row_rates(system, constraint, u, out + constraint->row_start);
    }
}

void tni_system_rotate_errors(const tni_system* system, const tni_view* start, double* values)
{
    const tn_model* model = system->model;
    for (int i = 0; i < model->joint_count; ++i) {
        const tni_joint*      joint      = &model->joints[i];
        const tni_constraint* constraint = &model->constraints[joint->constraint];
        if (tni_system_sleeps(system, constraint)) continue;
        tni_joint_rotate_errors(model, joint, &start[joint->body1].R,
                                &system->views[joint->body1].R, values + constraint->row_start);
    }
}

tn_result tni_system_accelerate(tni_system* system, const tni_configuration* at, double T,
                                tn_why* why)
{
    TRY(tni_system_factor(system, at, why));
    gather_forces(system, at);
    double* c = system->gamma;
    for (int i = 0; i < system->unilaterals.unilateral_count; ++i) {
        tni_unilateral* unilateral = &system->unilaterals.unilaterals[i];
        for (int k = 0; k < unilateral->row_count; ++k)
            unilateral->target[k] = -unilateral->gamma[k] - unilateral->target_acceleration[k];
        if (unilateral->soft)
            tni_unilateral_push(unilateral, tni_unilateral_soft_force(unilateral));
    }
    for (int i = 0; i < system->model->row_count; ++i) {
        if (T > 0) c[i] += 2 / T * system->rate[i] + system->C[i] / (T * T);
        c[i] = -c[i];
    }
    return tni_system_solve(system, system->rhs, c, true, why);
}

tn_result tni_system_drift(tni_system* system, const tni_configuration* at, double T, tn_why* why)
{
    const tni_configuration rest = {at->time, at->q, NULL, at->z};
    TRY(tni_system_factor(system, &rest, why));
    gather_forces(system, &rest);
    double* r = system->gamma;
    for (int i = 0; i < system->model->row_count; ++i)
        r[i] = -system->rate[i] - (T > 0 ? system->C[i] / T : 0);
    for (int i = 0; i < system->unilaterals.unilateral_count; ++i) {
        tni_unilateral* unilateral = &system->unilaterals.unilaterals[i];
        for (int k = 0; k < unilateral->row_count; ++k)
            unilateral->target[k] = -unilateral->rate[k];
    }
    return tni_system_solve(system, system->rhs, r, true, why);
}

static double largest(const tni_system* system, const double* values, bool held, int* worst)
{
    double error = 0;
    *worst       = -1;
    for (int i = 0; i < system->model->constraint_count; ++i) {
        const tni_constraint* constraint = &system->model->constraints[i];
        const int             count      = held ? constraint->held_count : constraint->row_count;
        for (int k = 0; k < count; ++k) {
            const double e = fabs(values[constraint->row_start + k]);
            if (e <= error) continue; // so written, a NaN counts as largest
            error  = isnan(e) ? HUGE_VAL : e;
            *worst = i;
        }
    }
    return error;
}

double tni_system_position_error(const tni_system* system, int* worst)
{
    return largest(system, system->C, true, worst);
}

double tni_system_velocity_error(const tni_system* system, int* worst)
{
    return largest(system, system->rate, false, worst);
}

void tni_system_follow(const tni_system* system, double* z)
{
    tni_follow_coordinates(system->model, system->views, z);
}

bool tni_system_has_loops(const tni_system* system)
{
    const tni_plan* plan = system->split->plan;
    if (system->split->auxiliary_rows > 0) return true;
    for (int i = 0; i < plan->component_count; ++i) {
        if (!plan->tree[i]) return true;
    }
    return false;
}

tn_joint_id tni_constraint_id(const tn_model* model, int constraint)
{
    return (tn_joint_id){
        constraint >= 0 && constraint < model->named_count ? (uint32_t)constraint + 1 : 0};
}

// The wrench of a user-defined constraint on its second body (its only one, if there is just one)
// is J^T lambda.
static tn_wrench user_reaction(const tni_system* system, const tni_constraint* constraint,
                               const double* lambda)
{
    const tn_model*            model   = system->model;
    const tni_user_constraint* user    = &model->users[constraint->index];
    const int                  body    = user->bodies[user->body_count > 1 ? 1 : 0];
    double                     sum[64] = {0};
    const tn_body_kind         kind    = model->bodies[body].kind;
    for (int k = 0; k < constraint->edge_count; ++k) {
        if (model->edge_body[constraint->edge_start + k] != body) continue;
        const int     edge = constraint->edge_start + k, dim = model->bodies[body].dim;
        const double* J = constraint->pushes_otherwise
                              ? tni_auxiliary_k((tni_auxiliary*)&system->auxiliary, edge)
                              : tni_system_j(system, edge);
        for (int i = 0; i < constraint->row_count; ++i)
            for (int j = 0; j < dim; ++j) sum[j] += lambda[i] * J[i * dim + j];
    }
    if (kind == TN_BODY_PLANAR) return (tn_wrench){{sum[0], sum[1], 0}, {0, 0, sum[2]}};
    if (kind == TN_BODY_RIGID) return (tn_wrench){tni_read3(sum), tni_read3(sum + 3)};
    return (tn_wrench){kind == TN_BODY_USER ? tni_vec3(0, 0, 0) : tni_read3(sum), {0, 0, 0}};
}

void tni_system_reactions(const tni_system* system, const tni_configuration* at,
                          tn_wrench* reactions)
{
    const tn_model* model = system->model;
    for (int i = 0; i < model->named_count; ++i) {
        const tni_constraint* constraint = &model->constraints[i];
        const double*         mu         = system->answer + model->u_count + constraint->row_start;
        double                lambda[12];
        for (int k = 0; k < constraint->row_count; ++k) lambda[k] = -mu[k];
        if (constraint->kind == TNI_CONSTRAINT_USER) {
            reactions[i] = user_reaction(system, constraint, lambda);
            continue;
        }
        const tni_joint* joint = &model->joints[constraint->index];
        reactions[i] = tni_joint_reaction(model, joint, tni_sides_of(joint, system->views),
                                          at->time, at->z, lambda);
    }
    for (int i = 0; i < system->unilaterals.unilateral_count; ++i) { // hard limits and ropes
        const tni_unilateral* unilateral = &system->unilaterals.unilaterals[i];
        if (unilateral->limit < 0) continue;
        const tni_limit* limit = &model->limits[unilateral->limit];
        const tni_joint* joint = &model->joints[limit->joint];
        const tni_row    row   = tni_limit_row(model, limit, system->views, at->z);
        const tn_wrench  part  = tni_row_wrench(model, joint, tni_sides_of(joint, system->views),
                                                &row, unilateral->force[0]);
        tn_wrench*       sum   = &reactions[joint->constraint];
        sum->force             = tni_add(sum->force, part.force);
        sum->torque            = tni_add(sum->torque, part.torque);
    }
}

void tni_system_accelerations(const tni_system* system, tn_twist* accelerations)
{
    const tn_model* model = system->model;
    for (int i = 0; i < model->body_count; ++i) {
        const tni_body* body = &model->bodies[i];
        const double*   a    = system->answer + body->u_start;
        tni_view        view = system->views[i];
        tn_twist*       out  = &accelerations[i];
        *out                 = (tn_twist){{0, 0, 0}, {0, 0, 0}};
        out->linear          = tni_point_motion(body, &view, tni_neg(body->com)).bias;
        if (body->dim == 0) continue;
        // The rest is linear in udot, as a velocity is in u
        view.u              = a;
        view.v              = body->kind == TN_BODY_PLANAR ? tni_vec3(a[0], a[1], 0) : tni_read3(a);
        view.w              = body->kind == TN_BODY_RIGID    ? tni_read3(a + 3)
                              : body->kind == TN_BODY_PLANAR ? tni_vec3(0, 0, a[2])
                                                             : tni_vec3(0, 0, 0);
        const tn_twist rate = tni_view_velocity(body, &view);
        out->linear         = tni_add(out->linear, rate.linear);
        out->angular        = rate.angular;
    }
}

void tni_system_add_impulses(const tni_system* system, const tn_wrench* impulses, double* b)
{
    const tn_model* model = system->model;
    for (int i = 1; i < model->body_count; ++i) {
        const tni_body* body = &model->bodies[i];
        if (body->dim == 0) continue;
        tni_apply_wrench(body, &system->views[i], tni_neg(body->com), impulses[i - 1].force,
                         impulses[i - 1].torque, b);
    }
}

// Of a row of the linear system; null if it is no joint's.
static tn_joint_id joint_of_row(const tn_model* model, int row)
{
    if (row < model->u_count) return (tn_joint_id){0};
    const tni_constraint* constraint = tni_constraint_of_row(model, row - model->u_count);
    return tni_constraint_id(model, (int)(constraint - model->constraints));
}

double tni_system_free_response(const tni_system* system, int unilateral, int k)
{
    return tni_unilateral_free_response(&system->auxiliary, system->saddle, unilateral, k);
}

double tni_system_residual(const tni_system* system, int* row)
{
    const tni_saddle_report*    s    = tni_saddle_judge(system->saddle);
    const tni_auxiliary_report* a    = &system->auxiliary.report;
    const tni_auxiliary_unit*   unit = a->unit >= 0 ? &system->auxiliary.units[a->unit] : NULL;
    *row                             = s->residual_row;
    if (unit == NULL || unit->constraint < 0 || !(a->residual > s->residual)) return s->residual;
    *row = system->model->u_count + system->model->constraints[unit->constraint].row_start;
    return a->residual;
}

void tni_system_report(const tni_system* system, tn_step_report* report)
{
    const tni_saddle_report* s      = &system->saddle->report;
    const tn_model*          model  = system->model;
    const double             margin = fmin(1, s->pivot_min);
    if (margin < report->rank_margin || report->rank_joint.bits == 0) {
        report->rank_margin = margin;
        report->rank_joint  = joint_of_row(model, s->pivot_row);
    }
    report->regularised_count = s->replaced_count > report->regularised_count
                                    ? s->replaced_count
                                    : report->regularised_count;
    report->refinement_count  = s->refinement_count > report->refinement_count
                                    ? s->refinement_count
                                    : report->refinement_count;
    int          row;
    const double residual = tni_system_residual(system, &row);
    if (residual > report->residual) {
        report->residual       = residual;
        report->residual_joint = joint_of_row(model, row);
    }
    const tni_auxiliary_report* a = &system->auxiliary.report;
    if (a->row_count > report->auxiliary_count) report->auxiliary_count = a->row_count;
    if (a->dependent_count > report->dependent_count) report->dependent_count = a->dependent_count;
    report->complementarity = fmax(report->complementarity, a->residual);
}
