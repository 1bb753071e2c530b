// auxiliary: what k rows beside a tree cost, for k = 1 .. 200, on a tree of 1,023 and a chain of 1,000
// bodies with ball joints. The rows keep k of the bodies, spread evenly, at their height over the
// ground (point_on_plane joints, role auxiliary). Microseconds of processor time (long pieces on a shared
// machine are interrupted, short ones are not), medians, all k in turns:
//     path      Y_j by path solves: from the row's node to the root, and back to the nodes of all rows
//     full      the same columns by solves of the whole tree
//     columns   all that one evaluation spends on W: path solves, islands, and the products J Y
//     k x k     the problem between the rows
// nodes: visited a column, of all nodes. The exponent is the slope of log(time) against log(k), k >= 5.
//     auxiliary [repeats]
#define _POSIX_C_SOURCE 200809L
#include "scenes/scenes.h"
#include "step/stepper.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const int sizes[] = {1, 2, 5, 10, 20, 50, 100, 200};
enum { SIZES = sizeof sizes / sizeof *sizes, REPEATS_MAX = 1000 };
enum { PATH, FULL, COLUMNS, PAIRS, KINDS };

typedef struct trial {
    tn_scene*   scene;
    tn_model*   model;
    tn_state*   state;
    tn_stepper* stepper;
    int         k, nodes;    ///< nodes: visited by all columns together
    double *    whole, *out; ///< a vector of the full solve, and of the path solve
    double*     seconds[KINDS];
} trial;

static double seconds(void* unused)
{
    struct timespec t;
    (void)unused;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void hold(tn_scene* scene, int k)
{
    const int bodies = tn_scene_body_count(scene);
    for (int i = 0; i < k; ++i) {
        const int    body = (int)((long long)(2 * i + 1) * bodies / (2 * k));
        tn_joint_def def  = tn_default_joint_def(TN_JOINT_POINT_ON_PLANE);
        def.body2         = (tn_body_id){(uint32_t)body + 1};
        def.anchor        = tn_scene_body(scene, body)->pose.position;
        def.axis          = (tn_vec3){0, 0, 1};
        def.role          = TN_ROLE_AUXILIARY;
        tn_scene_add_joint(scene, &def);
    }
}

static bool open_trial(trial* t, const char* spec, int k)
{
    tn_why why = {0};
    t->k       = k;
    if (tns_build(NULL, spec, &t->scene, &why) == TN_OK) {
        hold(t->scene, k);
        if (tn_scene_compile(t->scene, &t->model, &why) == TN_OK &&
            tn_state_create(t->model, &t->state) == TN_OK &&
            tn_stepper_create(t->model, NULL, &t->stepper, &why) == TN_OK) {
            const size_t all = (size_t)(t->model->u_count + t->model->row_count);
            t->whole         = calloc(all, sizeof(double));
            t->out           = calloc(all, sizeof(double));
            for (int i = 0; i < KINDS; ++i) t->seconds[i] = calloc(REPEATS_MAX, sizeof(double));
            tn_stepper_set_clock(t->stepper, seconds, NULL);
            return t->whole && t->out && t->seconds[KINDS - 1];
        }
    }
    fprintf(stderr, "auxiliary: %s: %s\n", spec, why.text);
    return false;
}

static void close_trial(trial* t)
{
    for (int i = 0; i < KINDS; ++i) free(t->seconds[i]);
    free(t->whole);
    free(t->out);
    tn_stepper_free(t->stepper);
    tn_state_free(t->state);
    tn_model_free(t->model);
    tn_scene_free(t->scene);
}

static const tni_auxiliary_edge* edge_of(const trial* t, int unit)
{
    const tni_auxiliary* a = &t->stepper->system->auxiliary;
    return &a->edges[a->units[unit].edge_start];
}

// All columns by path solves, as the engine does it. Returns the time.
static double solve_paths(trial* t, double* sum)
{
    tni_auxiliary* a = &t->stepper->system->auxiliary;
    tni_ldl*       l = t->stepper->system->saddle->ldl;
    t->nodes         = 0;
    const double t0  = seconds(NULL);
    for (int j = 0; j < t->k; ++j) {
        const tni_auxiliary_edge* e = edge_of(t, j);
        for (int i = 0; i < e->dim; ++i) t->out[e->row + i] = e->J[i];
        t->nodes += tni_ldl_solve_path(l, &e->node, 1, a->nodes, t->k, 1, t->out);
        for (int i = 0; i < e->dim; ++i) *sum += t->out[e->row + i];
    }
    return seconds(NULL) - t0;
}

static double solve_whole(trial* t, double* sum)
{
    const tni_ldl* l   = t->stepper->system->saddle->ldl;
    const size_t   all = (size_t)(t->model->u_count + t->model->row_count);
    const double   t0  = seconds(NULL);
    for (int j = 0; j < t->k; ++j) {
        const tni_auxiliary_edge* e = edge_of(t, j);
        memset(t->whole, 0, all * sizeof(double));
        for (int i = 0; i < e->dim; ++i) t->whole[e->row + i] = e->J[i];
        tni_ldl_solve(l, -1, 1, t->whole);
        for (int i = 0; i < e->dim; ++i) *sum += t->whole[e->row + i];
    }
    return seconds(NULL) - t0;
}

static bool take_turn(trial* t, int turn)
{
    tn_step_report report = {0};
    tn_why         why    = {0};
    if (tn_stepper_evaluate(t->stepper, t->state, &report, &why) != TN_OK) {
        fprintf(stderr, "auxiliary: k = %d: %s\n", t->k, why.text);
        return false;
    }
    if (report.auxiliary_count != t->k || report.dependent_count != 0) return false;
    double       one = 0, two = 0;
    const double path = solve_paths(t, &one), full = solve_whole(t, &two);
    if (one != two) return false; // the same bits, or it is not the same solve
    if (turn < 0) return true;
    t->seconds[PATH][turn]    = path;
    t->seconds[FULL][turn]    = full;
    t->seconds[COLUMNS][turn] = report.phases.columns;
    t->seconds[PAIRS][turn]   = report.phases.contact;
    return true;
}

static int compare(const void* a, const void* b)
{
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static double median(double* values, int count)
{
    qsort(values, (size_t)count, sizeof(double), compare);
    return values[count / 2];
}

// Slope of log(time) over log(k).
static double exponent(const double time[SIZES])
{
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (int i = 2; i < SIZES; ++i) {
        const double u = log(sizes[i]), v = log(time[i]);
        n += 1, x += u, y += v, xx += u * u, xy += u * v;
    }
    return (n * xy - x * y) / (n * xx - x * x);
}

static void tell(const char* spec, trial* trials, int repeats)
{
    double time[KINDS][SIZES];
    printf("%s, %d bodies\n%5s %10s %10s %7s %7s %10s %10s %10s\n", spec,
           tn_model_counts(trials[0].model).bodies, "k", "path", "full", "ratio", "nodes", "of",
           "columns", "k x k");
    for (int i = 0; i < SIZES; ++i) {
        trial* t = &trials[i];
        for (int kind = 0; kind < KINDS; ++kind)
            time[kind][i] = 1e6 * median(t->seconds[kind], repeats);
        printf("%5d %10.2f %10.2f %7.2f %7.0f %10d %10.2f %10.2f\n", t->k, time[PATH][i],
               time[FULL][i], time[FULL][i] / time[PATH][i], (double)t->nodes / t->k,
               t->model->core.plan->count, time[COLUMNS][i], time[PAIRS][i]);
    }
    printf("exponent: path %.2f, full %.2f, columns %.2f, k x k %.2f\n\n", exponent(time[PATH]),
           exponent(time[FULL]), exponent(time[COLUMNS]), exponent(time[PAIRS]));
}

static bool measure(const char* spec, int repeats)
{
    trial trials[SIZES] = {0};
    bool  good          = true;
    for (int i = 0; good && i < SIZES; ++i) good = open_trial(&trials[i], spec, sizes[i]);
    for (int turn = -2; good && turn < repeats; ++turn)
        for (int i = 0; good && i < SIZES; ++i) good = take_turn(&trials[i], turn);
    if (good) tell(spec, trials, repeats);
    for (int i = 0; i < SIZES; ++i) close_trial(&trials[i]);
    return good;
}

int main(int count, char** arguments)
{
    const int repeats = count > 1 ? atoi(arguments[1]) : 50;
    if (repeats < 1 || repeats > REPEATS_MAX) return 2;
    return measure("tree:depth=10", repeats) && measure("chain:n=1000", repeats) ? 0 : 1;
}
