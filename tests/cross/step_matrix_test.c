// Contacts in the matrix, compared with their dense W: stacks, chains on the floor, mechanisms with loops, as the
// stepper sees them.
#include "support/contact_rig.h"

#include "model/model.h"
#include "state/state.h"
#include "step/stepper.h"
#include "system/step_matrix.h"

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
    while (!tni_unilaterals_find(&s->unilaterals, s->views, r->state->z, reach)) {
        CHECK_OK(tni_auxiliary_grow(&s->auxiliary, &s->unilaterals));
    }
}

// Every of after random impulses and gravity, without contacts.
static void free_motion(rig* r, uint64_t seed, double push)
{
    tni_system*     s      = system_of(r);
    const tn_model* model  = r->model;
    test_random     random = {seed};
    double*         b      = calloc((size_t)(model->u_count + model->row_count), sizeof *b);
    for (int i = 0; i < model->body_count; ++i) {
        const tni_body* body = &model->bodies[i];
        for (int k = 0; body->node >= 0 && k < body->dim; ++k) {
            const double* M = tni_saddle_a(s->saddle, body->node);
            b[body->u_start + k] =
                M[(body->dim + 1) * k] * (test_random_between(&random, -push, push) - (k == 2));
        }
    }
    CHECK_OK(tni_system_solve_joints(s, b, b + model->u_count, true, NULL));
    free(b);
}

// The contacts and limits must do not let the free motion v from continuing: J (u + v) >= 0.
static void ask(rig* r, tni_unilateral_rule rule)
{
    tni_system* s = system_of(r);
    double*     v = malloc(sizeof *v * (size_t)r->model->u_count);
    memcpy(v, s->answer, sizeof *v * (size_t)r->model->u_count);
    tni_unilaterals_evaluate(&s->unilaterals, s->views, r->state->z, true);
    for (int i = 0; i < s->unilaterals.unilateral_count; ++i) {
        tni_unilateral* unilateral = &s->unilaterals.unilaterals[i];
        int             bodies[2];
        tni_unilateral_bodies(&s->unilaterals, unilateral, bodies);
        unilateral->rule = rule;
        memset(unilateral->force, 0, sizeof unilateral->force);
        for (int k = 0; k < unilateral->row_count; ++k) {
            unilateral->target[k] = 0;
            for (int side = 0; side < 2; ++side) {
                const tni_body* body = &r->model->bodies[bodies[side]];
                const double*   J    = s->unilaterals.j + s->unilaterals.block_at[2 * i + side];
                for (int m = 0; m < body->dim; ++m)
                    unilateral->target[k] -= J[k * body->dim + m] * v[body->u_start + m];
            }
        }
    }
    free(v);
}

// dense: by W, else in the matrix.
static answer solve(rig* r, tni_unilateral_rule rule, uint64_t seed, bool dense, double reach)
{
    tni_system*      s      = system_of(r);
    answer           x      = {.n = r->model->u_count};
    double*          r0     = calloc((size_t)r->model->row_count + 1, sizeof *r0);
    tni_step_matrix* matrix = s->auxiliary.matrix;
    if (dense) s->auxiliary.matrix = NULL;
    do {
        look(r, reach);
        free_motion(r, seed, 0.3);
        ask(r, rule);
        x.result = tni_system_solve(s, NULL, r0, true, NULL);
    } while (x.result == TN_ERR_MEMORY &&
             tni_auxiliary_grow(&s->auxiliary, &s->unilaterals) == TN_OK);
    s->auxiliary.matrix = matrix;
    x.u                 = malloc(sizeof *x.u * (size_t)x.n);
    memcpy(x.u, s->answer, sizeof *x.u * (size_t)x.n);
    x.report      = s->auxiliary.report;
    x.unilaterals = s->unilaterals.unilateral_count;
    free(r0);
    return x;
}

// Largest violation of the conditions by J u and its force, relative to the largest right-hand side.
static double violation(const rig* r)
{
    const tni_system* s     = system_of(r);
    double            worst = 0, scale = 0;
    for (int i = 0; i < s->unilaterals.unilateral_count; ++i) {
        const tni_unilateral* unilateral = &s->unilaterals.unilaterals[i];
        double                a[TNI_CONTACT_ROWS];
        int                   bodies[2];
        tni_unilateral_bodies(&s->unilaterals, unilateral, bodies);
        for (int k = 0; k < unilateral->row_count; ++k) {
            a[k]  = -unilateral->target[k];
            scale = fmax(scale, fabs(unilateral->target[k]));
            for (int side = 0; side < 2; ++side) {
                const tni_body* body = &r->model->bodies[bodies[side]];
                const double*   J    = s->unilaterals.j + s->unilaterals.block_at[2 * i + side];
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

// Both at the same state; velocities are unique without friction.
static void compare(rig* r, double reach, int* met)
{
    for (uint64_t seed = 1; seed <= 3; ++seed) {
        answer dense  = solve(r, TNI_UNILATERAL_PUSHES, seed, true, reach);
        answer matrix = solve(r, TNI_UNILATERAL_PUSHES, seed, false, reach);
        CHECK_OK(dense.result);
        CHECK_OK(matrix.result);
        CHECK_INT(dense.report.rounds, 0);
        CHECK(matrix.report.rounds > 0);
        CHECK_LESS(distance(&dense, &matrix), 1e-8);
        answer_free(&matrix);
        matrix = solve(r, TNI_UNILATERAL_GRIPS, seed, false, reach);
        CHECK_OK(matrix.result);
        CHECK_LESS(violation(r),
                   1e-8 + 10 * matrix.report.residual); // it tells where it is not exact
        *met += matrix.report.residual <= 1e-8;
        answer_free(&dense);
        answer_free(&matrix);
    }
}

static void compare_scene(const char* spec, double reach)
{
    rig r   = contact_builtin(spec);
    int met = 0;
    compare(&r, reach, &met);
    CHECK(met >= 2);
    rig_free(&r);
}

TEST(stacks_in_the_matrix)
{
    compare_scene("boxes:n=5", 1e-6);
    compare_scene("boxes:n=6,arrangement=pyramid", 1e-6);
    compare_scene("boxes:n=4,ratio=2", 1e-6);
}

TEST(chains_in_the_matrix)
{
    compare_scene("heap:links=4,height=0", 10); // with this reach all balls take part
    compare_scene("ragdoll_pile:n=1", 0.05);
}

// Loops: the responses are those of a regularised system, the solution is not.
TEST(loops_in_the_matrix)
{
    compare_scene("strandbeest:legs=4,walk=stand", 0.5);
}
