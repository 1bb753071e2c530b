// nullspace: the implicit step of a chain in the velocities of its joints, ns a link: begin (looks,
// linearises, factors, solves), fly, correct, and a whole step of one begin, two flights, one
// correction.
//     nullspace [ball|hinge [stiffness [links ...]]]
#define _POSIX_C_SOURCE 200809L
#include "scenes/scenes.h"
#include "state/state.h"
#include "system/tree_form.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct bench {
    tn_model*      model;
    tn_state*      state;
    tni_system*    system;
    tni_tree_form* ns;
    double *       u, *mu, *q1, *u1, *r, *du, *dmu, *multipliers;
    double         begin, fly, correct, whole; ///< least [s]
} bench;

static void keep_least(double* least, double time)
{
    if (time < *least) *least = time;
}

// One step of h; times go into the least ones.
static bool step(bench* b, double h)
{
    const tn_model*       model  = b->model;
    const tni_step_start  start  = {.at = {b->state->time, b->state->q, b->state->u, b->state->z},
                                    .multipliers  = b->multipliers,
                                    .predicted    = b->state->u,
                                    .second_order = true};
    const tni_step_scheme scheme = {.h = h, .share = 1, .time = b->state->time + h};
    int                   worst;
    const double          t0 = seconds();
    if (tni_tree_form_begin(b->ns, &start, &scheme, b->u, b->mu, NULL) != TN_OK) return false;
    const double t1 = seconds();
    (void)tni_tree_form_fly(b->ns, &start, &scheme, b->u, b->q1, b->u1, b->r, &worst);
    const double t2 = seconds();
    for (int i = 0; i < model->row_count; ++i) b->r[i] = -b->r[i] / h;
    const double t3 = seconds();
    if (tni_tree_form_correct(b->ns, NULL, b->r, b->du, b->dmu, NULL) != TN_OK) return false;
    const double t4 = seconds();
    for (int i = 0; i < model->u_count; ++i) b->u[i] += b->du[i];
    for (int i = 0; i < model->row_count; ++i) b->mu[i] += b->dmu[i];
    (void)tni_tree_form_fly(b->ns, &start, &scheme, b->u, b->q1, b->u1, b->r, &worst);
    memcpy(b->state->q, b->q1, sizeof(double) * (size_t)model->q_count);
    memcpy(b->state->u, b->u1, sizeof(double) * (size_t)model->u_count);
    for (int i = 0; i < model->row_count; ++i) b->multipliers[i] = -b->mu[i] / h;
    b->state->time += h;
    keep_least(&b->whole, seconds() - t0);
    keep_least(&b->begin, t1 - t0);
    keep_least(&b->fly, t2 - t1);
    keep_least(&b->correct, t4 - t3);
    return true;
}

static bool run(const char* joint, double stiffness, int links)
{
    char          spec[120];
    tn_scene*     scene;
    bench         b = {.begin = HUGE_VAL, .fly = HUGE_VAL, .correct = HUGE_VAL, .whole = HUGE_VAL};
    const tn_host host  = tn_default_host();
    tni_arena     arena = tni_arena_make(&host);
    snprintf(spec, sizeof spec, "chain:n=%d,joint=%s,stiffness=%g", links, joint, stiffness);
    if (tns_build(NULL, spec, &scene, NULL) != TN_OK ||
        tn_scene_compile(scene, &b.model, NULL) != TN_OK ||
        tn_state_create(b.model, &b.state) != TN_OK ||
        tni_system_create(&arena, b.model, TN_LOOPS_CORE, NULL, &b.system) != TN_OK ||
        tni_tree_form_create(&arena, b.system, &b.ns) != TN_OK)
        return false;
    b.u           = TNI_TAKE(&arena, double, b.model->u_count),
    b.mu          = TNI_TAKE(&arena, double, b.model->row_count);
    b.q1          = TNI_TAKE(&arena, double, b.model->q_count),
    b.u1          = TNI_TAKE(&arena, double, b.model->u_count);
    b.r           = TNI_TAKE(&arena, double, b.model->row_count),
    b.du          = TNI_TAKE(&arena, double, b.model->u_count);
    b.dmu         = TNI_TAKE(&arena, double, b.model->row_count);
    b.multipliers = TNI_TAKE(&arena, double, b.model->row_count);
    // Some turning out of the plane: else gyroscopic terms vanish.
    for (int i = 0; i < b.model->free_count; ++i) b.state->u[6 * i + 3] = b.state->u[6 * i + 5] = 1;
    const int steps = 2000000 / links < 20 ? 20 : 2000000 / links > 2000 ? 2000 : 2000000 / links;
    bool      good  = !arena.failed;
    for (int i = 0; good && i < steps; ++i) good = step(&b, 1 / 60.0);
    const double a = 1e9 / links;
    printf("%-6s k %-7g %8d links: begin %6.1f  fly %6.1f  correct %6.1f  step %6.1f ns a link\n",
           joint, stiffness, links, a * b.begin, a * b.fly, a * b.correct, a * b.whole);
    tni_system_free(b.system);
    tn_state_free(b.state);
    tn_model_free(b.model);
    tn_scene_free(scene);
    tni_arena_free(&arena);
    return good;
}

int main(int count, char** arguments)
{
    const char*  joint     = count > 1 ? arguments[1] : "ball";
    const double stiffness = count > 2 ? atof(arguments[2]) : 0;
    bool         good      = true;
    for (int i = 3; i < count; ++i) good = run(joint, stiffness, atoi(arguments[i])) && good;
    for (int n = 10; count <= 3 && n <= 100000; n *= 10) good = run(joint, stiffness, n) && good;
    return good ? 0 : 1;
}
