// forms: the linear system of built-in scenes in each of its forms, by the core and by CHOLMOD:
// numbers of matrix and factor, predicted flops, time of factor and of solve, refinement.
//     forms SCENE ...
#define _POSIX_C_SOURCE 200809L
#include "linalg/saddle.h"
#include "model/model.h"
#include "scenes/scenes.h"
#include "step/stepper.h"
#include "system/system.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void copy_blocks(tni_saddle* from, tni_saddle* to)
{
    const tni_plan* plan = from->plan;
    for (int v = 0; v < plan->count; ++v) {
        const size_t size = sizeof(double) * (size_t)(plan->dim[v] * plan->dim[v]);
        if (plan->sign[v] > 0) memcpy(tni_saddle_a(to, v), tni_saddle_a(from, v), size);
        else if (from->soft) memcpy(tni_saddle_e(to, v), tni_saddle_e(from, v), size);
    }
    for (int e = 0; e < plan->edge_count; ++e) {
        const int size = plan->dim[plan->row_node[e]] * plan->dim[plan->col_node[e]];
        memcpy(tni_saddle_j(to, e), tni_saddle_j(from, e), sizeof(double) * (size_t)size);
    }
}

// Best of as many as half a second allows.
static double best_factor(tni_saddle* s)
{
    double best = HUGE_VAL;
    for (const double start = seconds(); seconds() - start < 0.5;) {
        const double t0 = seconds();
        if (tni_saddle_factor(s) != TN_OK) return HUGE_VAL;
        best = fmin(best, seconds() - t0);
    }
    return best;
}

static double best_solve(tni_saddle* s, const double* rhs, double* x, bool refine)
{
    double best = HUGE_VAL;
    for (const double start = seconds(); seconds() - start < 0.2;) {
        const double t0 = seconds();
        if (tni_saddle_solve(s, rhs, x, refine) != TN_OK) return HUGE_VAL;
        best = fmin(best, seconds() - t0);
    }
    return best;
}

// b = 1 on A rows and r = 0: u is what is left of a unit impulse on everything.
static void measure(const tn_host* host, tni_saddle* from, const tni_formulation* form,
                    const double* rhs, double* x)
{
    static const char* names[] = {"kkt", "spd", "split"};
    tni_arena          arena   = tni_arena_make(host);
    tni_saddle*        s;
    double             matrix = 0, factor = 0, t0 = seconds();
    if (tni_saddle_create_as(&arena, from->plan, form, &s) == TN_OK) {
        const double created = seconds() - t0;
        const int    welds   = s->schur != NULL ? s->schur->parts.weld_count : 0;
        copy_blocks(from, s);
        s->refinement_max   = 20;
        const double t_core = best_factor(s), t_solve = best_solve(s, rhs, x, false);
        const double left = s->report.residual;
        (void)best_solve(s, rhs, x, true);
        if (tni_saddle_numbers(s, host, &matrix, &factor) != TN_OK) matrix = 0;
        printf("  %-5s %-7s %5d %10.0f %10.0f %11.4g %8.1f ms %10.1f us %9.1f us %9.2g %2d %9.2g\n",
               names[form->form], form->backend == TNI_BACKEND_CORE ? "core" : "cholmod", welds,
               matrix, factor, 1e-6 * tni_form_flops(host, from->plan, form), 1e3 * created,
               1e6 * t_core, 1e6 * t_solve, left, s->report.refinement_count, s->report.residual);
        tni_saddle_release(s);
    }
    tni_arena_free(&arena);
}

static void run(const char* spec)
{
    tn_scene*     scene   = NULL;
    tn_model*     model   = NULL;
    tn_state*     state   = NULL;
    tn_stepper*   stepper = NULL;
    tn_why        why     = {0};
    const tn_host host    = tn_default_host();
    if (tns_build(NULL, spec, &scene, &why) == TN_OK &&
        tn_scene_compile(scene, &model, &why) == TN_OK && tn_state_create(model, &state) == TN_OK &&
        tn_stepper_create(model, NULL, &stepper, &why) == TN_OK &&
        tn_stepper_evaluate(stepper, state, NULL, &why) == TN_OK) {
        tni_saddle*  saddle = stepper->system->saddle;
        const size_t rows   = (size_t)saddle->plan->row_count;
        double *     rhs = calloc(rows, sizeof *rhs), *x = calloc(rows, sizeof *x);
        for (int i = 0; i < model->u_count; ++i) rhs[i] = 1;
        printf("%s: %d rows, chosen: %d\n", spec, model->row_count,
               (int)tni_form_choose(&host, saddle->plan, 7));
        for (int k = 0; k < 6; ++k) {
            const tni_formulation form = {.form = (tni_form)(k % 3),
                                          .backend =
                                              k < 3 ? TNI_BACKEND_CORE : TNI_BACKEND_CHOLMOD};
            measure(&host, saddle, &form, rhs, x);
        }
        free(rhs);
        free(x);
    } else {
        fprintf(stderr, "forms: %s: %s\n", spec, why.text);
    }
    tn_stepper_free(stepper);
    tn_state_free(state);
    tn_model_free(model);
    tn_scene_free(scene);
}

int main(int count, char** arguments)
{
    printf("  form  by      welds     matrix     factor       Mflop      create       factor       "
           "solve  residual its   refined\n");
    for (int i = 1; i < count; ++i) run(arguments[i]);
    return 0;
}
