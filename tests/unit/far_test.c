// Matrix-free islands, against the same ones with their matrix W: stacks, chains on the floor,
// mechanisms with loops, as the stepper sees them.
#include "support/contact_rig.h"

#include "model/model.h"
#include "state/state.h"
#include "step/stepper.h"

#include <stdlib.h>

typedef struct answer {
    int                  n, unilaterals;
    double*              u;
    tni_auxiliary_report report;
    tn_result            result;
} answer;

static tni_system* system_of(const rig* r)
{
    return r->stepper->system;
}

static void answer_free(answer* x)
{
    free(x->u);
}

// Factors at the state, finds the contacts and limits within reach of it.
static void look(rig* r, double reach)
{
    tni_system*             s  = system_of(r);
    const tni_configuration at = {r->state->time, r->state->q, r->state->u, r->state->z};
    CHECK_OK(tni_system_factor(s, &at, NULL));
    while (!tni_unilaterals_find(&s->auxiliary, s->views, r->state->z, reach)) {
        CHECK_OK(tni_auxiliary_grow(&s->auxiliary));
    }
}

// The change of all velocities by random impulses and gravity, without contacts.
static void free_motion(rig* r, uint64_t seed, double push)
{
    tni_system*     s           = system_of(r);
    const tn_model* model       = r->model;
    test_random     random      = {seed};
    double*         b           = calloc((size_t)(model->u_count + model->row_count), sizeof *b);
    const int       unilaterals = s->auxiliary.unilateral_count;
    for (int i = 0; i < model->body_count; ++i) {
        const tni_body* body = &model->bodies[i];
        for (int k = 0; body->node >= 0 && k < body->dim; ++k) {
            const double* M = tni_saddle_a(s->saddle, body->node);
            b[body->u_start + k] =
                M[(body->dim + 1) * k] * (test_random_between(&random, -push, push) - (k == 2));
        }
    }
    s->auxiliary.unilateral_count = 0;
    CHECK_OK(tni_system_solve(s, b, b + model->u_count, true, NULL));
    s->auxiliary.unilateral_count = unilaterals;
    free(b);
}

// The targets of all unilaterals: do not let the free motion v continue, J (u + v) >= 0.
static void ask(rig* r, tni_unilateral_rule rule)
{
    tni_system* s = system_of(r);
    double*     v = malloc(sizeof *v * (size_t)r->model->u_count);
    memcpy(v, s->answer, sizeof *v * (size_t)r->model->u_count);
    tni_unilaterals_evaluate(&s->auxiliary, s->views, r->state->z, true);
    for (int i = 0; i < s->auxiliary.unilateral_count; ++i) {
        tni_unilateral* unilateral = &s->auxiliary.unilaterals[i];
        int             bodies[2];
        tni_unilateral_bodies(&s->auxiliary, unilateral, bodies);
        unilateral->rule = rule;
        memset(unilateral->force, 0, sizeof unilateral->force);
        for (int k = 0; k < unilateral->row_count; ++k) {
            unilateral->target[k] = 0;
            for (int side = 0; side < 2; ++side) {
                const tni_body* body = &r->model->bodies[bodies[side]];
                const double*   J    = s->auxiliary.j + s->auxiliary.block_at[2 * i + side];
                for (int m = 0; m < body->dim; ++m)
                    unilateral->target[k] -= J[k * body->dim + m] * v[body->u_start + m];
            }
        }
    }
    free(v);
}

static answer solve(rig* r, tni_unilateral_rule rule, uint64_t seed, int direct_rows, double reach)
{
    tni_system* s            = system_of(r);
    answer      x            = {.n = r->model->u_count};
    double*     r0           = calloc((size_t)r->model->row_count + 1, sizeof *r0);
    s->auxiliary.direct_rows = direct_rows;
    s->auxiliary.sweeps      = 3000;
    do {
        look(r, reach);
        free_motion(r, seed, 0.3);
        ask(r, rule);
        x.result = tni_system_solve(s, NULL, r0, true, NULL);
    } while (x.result == TN_ERR_MEMORY && tni_auxiliary_grow(&s->auxiliary) == TN_OK);
    x.u = malloc(sizeof *x.u * (size_t)x.n);
    memcpy(x.u, s->answer, sizeof *x.u * (size_t)x.n);
    x.report      = s->auxiliary.report;
    x.unilaterals = s->auxiliary.unilateral_count;
    free(r0);
    return x;
}

// Largest violation of a unilateral's conditions by J u and its force, relative to the largest
// target.
static double violation(const rig* r)
{
    const tni_system* s     = system_of(r);
    double            worst = 0, scale = 0;
    for (int i = 0; i < s->auxiliary.unilateral_count; ++i) {
        const tni_unilateral* unilateral = &s->auxiliary.unilaterals[i];
        double                a[TNI_CONTACT_ROWS];
        int                   bodies[2];
        tni_unilateral_bodies(&s->auxiliary, unilateral, bodies);
        for (int k = 0; k < unilateral->row_count; ++k) {
            a[k]  = -unilateral->target[k];
            scale = fmax(scale, fabs(unilateral->target[k]));
            for (int side = 0; side < 2; ++side) {
                const tni_body* body = &r->model->bodies[bodies[side]];
                const double*   J    = s->auxiliary.j + s->auxiliary.block_at[2 * i + side];
                for (int m = 0; m < body->dim; ++m)
                    a[k] += J[k * body->dim + m] * s->answer[body->u_start + m];
            }
        }
        worst = fmax(worst,
                     fmax(-a[0], fmin(fabs(a[0]), unilateral->response[0] * unilateral->force[0])));
        if (unilateral->rule != TNI_UNILATERAL_GRIPS || unilateral->slip_count < 2) continue;
        const double slip     = hypot(a[1], a[2]),
                     friction = hypot(unilateral->force[1], unilateral->force[2]);
        const double bound    = unilateral->friction * unilateral->force[0];
        const double work =
            unilateral->force[1] * a[1] + unilateral->force[2] * a[2] + bound * slip;
        worst = fmax(worst, unilateral->response[0] * (friction - bound));
        worst = fmax(worst, bound > 0 ? fmin(work / bound, unilateral->response[1] * bound) : 0);
    }
    return worst / scale;
}

static double distance(const answer* x, const answer* y)
{
    double worst = 0, scale = 0;
    for (int i = 0; i < x->n; ++i) {
        scale = fmax(scale, fabs(x->u[i]));
        worst = fmax(worst, fabs(x->u[i] - y->u[i]));
    }
    return worst / scale;
}

// Both solvers at the same state; velocities are unique without friction.
static void compare(rig* r, double reach, int* rounds)
{
    for (uint64_t seed = 1; seed <= 3; ++seed) {
        answer near = solve(r, TNI_UNILATERAL_PUSHES, seed, 1000000, reach);
        answer far  = solve(r, TNI_UNILATERAL_PUSHES, seed, 0, reach);
        CHECK_OK(near.result);
        CHECK_OK(far.result);
        CHECK_INT(near.report.rounds, 0);
        CHECK(far.report.rounds > 0);
        CHECK_LESS(distance(&near, &far), 1e-8);
        answer_free(&far);
        far = solve(r, TNI_UNILATERAL_GRIPS, seed, 0, reach);
        CHECK_OK(far.result);
        CHECK_LESS(violation(r), 1e-8);
        *rounds = far.report.rounds > *rounds ? far.report.rounds : *rounds;
        answer_free(&near);
        answer_free(&far);
    }
}

static void compare_scene(const char* spec, double h, int steps, double reach)
{
    rig r      = rig_builtin(spec);
    int rounds = 0;
    if (steps > 0) rig_run(&r, h, steps);
    compare(&r, reach, &rounds);
    printf("far: %s: %d stops, at most %d rounds\n", spec,
           system_of(&r)->auxiliary.unilateral_count, rounds);
    rig_free(&r);
}

TEST(stacks_solved_matrix_free)
{
    compare_scene("boxes:n=20", 0, 0, 1e-6);
    compare_scene("boxes:n=15,arrangement=pyramid", 0, 0, 1e-6);
    compare_scene("boxes:n=8,ratio=2", 0, 0, 1e-6);
}

TEST(chains_solved_matrix_free)
{
    compare_scene("heap:links=12,height=0", 0, 0, 10); // with this reach all balls take part
    compare_scene("ragdoll_pile:n=2", 0, 0, 0.5);
}

// Loops: responses are those of a regularised system, the answer is not.
TEST(loops_solved_matrix_free)
{
    compare_scene("strandbeest:legs=4,walk=stand", 0, 0, 0.5);
}

// Capacity grows as needed, and small islands keep their W.
TEST(only_large_islands_are_matrix_free)
{
    rig    r   = rig_builtin("boxes:n=12");
    answer few = solve(&r, TNI_UNILATERAL_GRIPS, 1, 12 * 12, 1e-6);
    CHECK_INT(few.report.rounds, 0);
    answer more = solve(&r, TNI_UNILATERAL_GRIPS, 1, 12 * 12 - 1, 1e-6);
    CHECK(more.report.rounds > 0);
    answer_free(&few);
    answer_free(&more);
    rig_free(&r);
}

// Largest remaining approach speed, relative to the targets.
static double sinking(const rig* r)
{
    const tni_system* s     = system_of(r);
    double            worst = 0, scale = 0;
    for (int i = 0; i < s->auxiliary.unilateral_count; ++i) {
        const tni_unilateral* unilateral = &s->auxiliary.unilaterals[i];
        int                   bodies[2];
        double                a = -unilateral->target[0];
        tni_unilateral_bodies(&s->auxiliary, unilateral, bodies);
        for (int side = 0; side < 2; ++side) {
            const tni_body* body = &r->model->bodies[bodies[side]];
            const double*   J    = s->auxiliary.j + s->auxiliary.block_at[2 * i + side];
            for (int m = 0; m < body->dim; ++m) a += J[m] * s->answer[body->u_start + m];
        }
        scale = fmax(scale, fabs(unilateral->target[0]));
        worst = fmax(worst, -a);
    }
    return worst / scale;
}

static double sink(rig* r, int sweeps, bool shock)
{
    tni_system* s            = system_of(r);
    double*     r0           = calloc((size_t)r->model->row_count + 1, sizeof *r0);
    s->auxiliary.direct_rows = 0;
    tn_result result;
    do {
        s->auxiliary.sweeps = sweeps;
        s->auxiliary.shock  = shock;
        look(r, 1e-6);
        free_motion(r, 1, 0);
        ask(r, TNI_UNILATERAL_GRIPS);
        result = tni_system_solve(s, NULL, r0, true, NULL);
    } while (result == TN_ERR_MEMORY && tni_auxiliary_grow(&s->auxiliary) == TN_OK);
    CHECK_OK(result);
    free(r0);
    return sinking(r);
}

// Ten sweeps do not carry twenty boxes; with shock propagation after them nothing sinks. Where
// sweeps converge, shock propagation changes nothing.
TEST(shock_propagation_carries_a_stack)
{
    rig          r     = rig_builtin("boxes:n=20");
    const double plain = sink(&r, 10, false), shock = sink(&r, 10, true);
    CHECK(plain > 0.1);
    CHECK_LESS(shock, 1e-3);
    printf("far: stack of 20, ten sweeps: sinks by %.2g, by %.2g after a shock\n", plain, shock);
    CHECK_LESS(sink(&r, 1000, true), 1e-8);
    const int n = r.model->u_count;
    double*   u = malloc(sizeof *u * (size_t)n);
    memcpy(u, system_of(&r)->answer, sizeof *u * (size_t)n);
    (void)sink(&r, 1000, false);
    for (int i = 0; i < n; ++i) CHECK_NEAR(u[i], system_of(&r)->answer[i], 1e-7);
    free(u);
    rig_free(&r);
}
