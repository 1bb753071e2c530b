// peaucellier: figure 3 of Tomcin et al. 2014. The linkage swings nearly into its singular position;
// how many iterations of the joint correction does a step take, by the relative regularisation eps_T,
// and how ill-conditioned is S = J M^-1 J^T there?
//     peaucellier [seconds [speed]]         CSV on standard output; h = 0.03 s, tolerance 1e-9
// A line is a step: the time at its start; the condition number, which is the ratio of the largest to the
// smallest nonzero eigenvalue of S there (41 of 50; nine rows are redundant), of the motion of the last
// column; then for each way of solving the iterations, and how far the tip is from its straight line at
// the end of the step [m]. spd_norm: S + eps_T |S|_1, as in the paper. kkt_rows: the saddle system, each row
// regularised by its own size, as this library does.
//
// Eigenvalues: cyclic Jacobi. A rotation in the plane (p, q) makes S_pq zero,
//     theta = (S_qq - S_pp) / 2 S_pq,  t = sign(theta) / (|theta| + sqrt(theta^2 + 1)),
//     c = 1 / sqrt(t^2 + 1),  s = t c
// and sweeps over all planes converge quadratically. Errors are some 1e-16 of the largest eigenvalue: ratios
// to 1e12 or so mean something.
#include "linalg/saddle.h"
#include "scenes/scenes.h"
#include "step/stepper.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 50, RANK = 41, SWEEPS_MAX = 30, RUNS = 10 };

static const double step_size = 0.03;
static const double line      = 4 - 5 / 1.8; // height of the tip: (l^2 - s^2) / 2r below O

// ---- Eigenvalues ---------------------------------------------------------------------------------

static void rotate(double S[ROWS][ROWS], int p, int q)
{
    const double theta = 0.5 * (S[q][q] - S[p][p]) / S[p][q];
    const double t     = copysign(1, theta) / (fabs(theta) + sqrt(theta * theta + 1));
    const double c = 1 / sqrt(t * t + 1), s = t * c;
    for (int i = 0; i < ROWS; ++i) {
        const double a = S[i][p], b = S[i][q];
        S[i][p] = c * a - s * b;
        S[i][q] = s * a + c * b;
    }
    for (int i = 0; i < ROWS; ++i) {
        const double a = S[p][i], b = S[q][i];
        S[p][i] = c * a - s * b;
        S[q][i] = s * a + c * b;
    }
}

// What is left beside the diagonal, squared.
static double off_diagonal(double S[ROWS][ROWS])
{
    double sum = 0;
    for (int i = 0; i < ROWS; ++i)
        for (int j = 0; j < i; ++j) sum += S[i][j] * S[i][j];
    return sum;
}

static int largest_first(const void* a, const void* b)
{
    const double x = *(const double*)a, y = *(const double*)b;
    return (x < y) - (x > y);
}

static void eigenvalues(double S[ROWS][ROWS], double values[ROWS])
{
    double trace = 0;
    for (int i = 0; i < ROWS; ++i) trace += S[i][i];
    const double enough = 1e-34 * trace * trace;
    for (int sweep = 0; sweep < SWEEPS_MAX && off_diagonal(S) > enough; ++sweep)
        for (int p = 0; p < ROWS; ++p)
            for (int q = p + 1; q < ROWS; ++q)
                if (S[p][q] != 0) rotate(S, p, q);
    for (int i = 0; i < ROWS; ++i) values[i] = S[i][i];
    qsort(values, ROWS, sizeof *values, largest_first);
}

// ---- The mechanism -------------------------------------------------------------------------------

typedef struct run {
    char        name[32];
    tn_stepper* stepper;
    tn_state*   state;
    long long   iterations;
    int         most;
    double      tip; ///< the farthest from its line [m]
} run;

typedef struct mechanism {
    tn_scene*   scene;
    tn_model*   model;
    tn_joint_id tip;
    run         runs[RUNS];
} mechanism;

static bool open_run(mechanism* m, run* r, bool ours, double eps, tn_why* why)
{
    tn_settings settings            = tn_default_settings();
    settings.method                 = TN_METHOD_IMPULSE;
    settings.h                      = step_size;
    settings.impulse.tolerance      = 1e-9;
    settings.impulse.iterations     = 500;
    settings.impulse.regularisation = eps;
    settings.impulse.formulation    = ours ? TN_FORMULATION_KKT : TN_FORMULATION_SPD;
    snprintf(r->name, sizeof r->name, "%s_%.0e", ours ? "kkt_rows" : "spd_norm", eps);
    return tni_stepper_create_variant(m->model, &settings, (tni_impulse_variant){.by_norm = !ours},
                                      &r->stepper, why) == TN_OK &&
           tn_state_create(m->model, &r->state) == TN_OK;
}

static bool open_mechanism(mechanism* m, double speed)
{
    static const double eps[RUNS / 2] = {1e-8, 1e-10, 1e-12, 1e-14, 1e-16};
    tn_why              why           = {0};
    char                spec[64];
    snprintf(spec, sizeof spec, "peaucellier:speed=%.10g", speed);
    bool good = tns_build(NULL, spec, &m->scene, &why) == TN_OK &&
                tn_scene_compile(m->scene, &m->model, &why) == TN_OK;
    if (good) m->tip = tn_model_find_joint(m->model, "tip");
    for (int i = 0; good && i < RUNS; ++i)
        good = open_run(m, &m->runs[i], i >= RUNS / 2, eps[i % (RUNS / 2)], &why);
    if (!good) fprintf(stderr, "peaucellier: %s\n", why.text);
    return good;
}

static void close_mechanism(mechanism* m)
{
    for (int i = 0; i < RUNS; ++i) {
        tn_stepper_free(m->runs[i].stepper);
        tn_state_free(m->runs[i].state);
    }
    tn_model_free(m->model);
    tn_scene_free(m->scene);
}

// Column by column of S, from the blocks that the stepper has at this state.
static double condition(const run* r)
{
    static double S[ROWS][ROWS];
    tni_saddle*   saddle = r->stepper->system->saddle;
    const int     all = saddle->plan->row_count, u = all - ROWS;
    double        values[ROWS], *x                 = calloc((size_t)all, sizeof *x);
    tn_why        why = {0};
    if (!x || tn_stepper_evaluate(r->stepper, r->state, NULL, &why) != TN_OK) {
        free(x);
        return NAN;
    }
    for (int j = 0; j < ROWS; ++j) {
        memset(x, 0, (size_t)all * sizeof *x);
        x[u + j] = 1;
        tni_saddle_mul_jt(saddle, -1, x, x);
        tni_saddle_solve_a(saddle, -1, x, x);
        tni_saddle_mul_j(saddle, -1, x, x);
        for (int i = 0; i < ROWS; ++i) S[i][j] = x[u + i];
    }
    free(x);
    eigenvalues(S, values);
    return values[0] / values[RANK - 1];
}

// ---- The figure ----------------------------------------------------------------------------------

static bool take_step(const mechanism* m, run* r)
{
    tn_step_report report = {0};
    tn_why         why    = {0};
    if (tn_stepper_step(r->stepper, r->state, step_size, &report, &why) != TN_OK) {
        fprintf(stderr, "peaucellier: %s: %s\n", r->name, why.text);
        return false;
    }
    const double off = fabs(tn_state_joint_anchor(r->state, m->tip, 1).z - line);
    r->iterations += report.iteration_count;
    if (report.iteration_count > r->most) r->most = report.iteration_count;
    r->tip = fmax(r->tip, off);
    printf(",%d,%.3e", report.iteration_count, off);
    return true;
}

static bool swing(mechanism* m, double duration)
{
    const int count = (int)(duration / step_size + 0.5);
    printf("time,condition");
    for (int i = 0; i < RUNS; ++i)
        printf(",iterations:%s,tip:%s", m->runs[i].name, m->runs[i].name);
    printf("\n");
    for (int n = 0; n < count; ++n) {
        printf("%.2f,%.6e", n * step_size, condition(&m->runs[RUNS - 1]));
        for (int i = 0; i < RUNS; ++i)
            if (!take_step(m, &m->runs[i])) return false;
        printf("\n");
    }
    for (int i = 0; i < RUNS; ++i) {
        const run* r = &m->runs[i];
        fprintf(stderr, "%-16s iterations %7.2f a step, %5d at most, tip %.1e m off its line\n",
                r->name, (double)r->iterations / count, r->most, r->tip);
    }
    return true;
}

int main(int count, char** arguments)
{
    const double duration = count > 1 ? atof(arguments[1]) : 12;
    const double speed    = count > 2 ? atof(arguments[2]) : 2.2678;
    mechanism    m        = {0};
    if (!(duration > 0)) return 2;
    const bool good = open_mechanism(&m, speed) && swing(&m, duration);
    close_mechanism(&m);
    return good ? 0 : 1;
}
