// batch_rig: a batch of a built-in scene beside single states of the same start, stepped one by one.
#ifndef BATCH_RIG_H
#define BATCH_RIG_H

#include "scenes/scenes.h"
#include "state/state.h"
#include "tenon/batch.h"
#include "test.h"

#include <stdlib.h>

typedef struct batch_rig {
    tn_scene*   scene;
    tn_model*   model;
    tn_settings settings;
    tn_batch*   batch;
    tn_stepper* stepper; ///< of the single ones
    int         count;
    tn_state**  singles;
    int         alone; ///< copies that left their lanes, over all steps
} batch_rig;

static inline void batch_must(tn_result result, const char* what, const tn_why* why)
{
    if (result == TN_OK) return;
    fprintf(stderr, "  %s: %s: %s\n", what, tn_result_text(result), why->text);
    abort();
}

/// settings: "method=implicit implicit.stiffen=false", one after the other; "": the scene's. The scene is the rig's.
static inline batch_rig batch_rig_of(tn_scene* scene, const char* settings, int count,
                                     const tn_host* host)
{
    batch_rig r   = {.scene = scene, .count = count};
    tn_why    why = {.text = ""};
    char      text[200];
    batch_must(tn_scene_compile(r.scene, &r.model, &why), "compile", &why);
    r.settings = tn_scene_settings(r.scene);
    snprintf(text, sizeof text, "%s", settings);
    for (char *word = text, *next; *word != '\0'; word = next) {
        char *value = strchr(word, '='), *end = strchr(word, ' ');
        next = end != NULL ? end + 1 : word + strlen(word);
        if (end != NULL) *end = '\0';
        *value++ = '\0';
        batch_must(tn_settings_set(&r.settings, word, value, &why), word, &why);
    }
    batch_must(tn_batch_create(r.model, &r.settings, count, host, &r.batch, &why), "batch", &why);
    batch_must(tn_stepper_create(r.model, &r.settings, &r.stepper, &why), "stepper", &why);
    r.singles = calloc((size_t)count + 1, sizeof *r.singles);
    for (int i = 0; i < count; ++i)
        batch_must(tn_state_create(r.model, &r.singles[i]), "state", &why);
    return r;
}

static inline batch_rig batch_rig_make(const char* spec, const char* settings, int count,
                                       const tn_host* host)
{
    tn_scene* scene;
    tn_why    why = {.text = ""};
    batch_must(tns_build(NULL, spec, &scene, &why), spec, &why);
    return batch_rig_of(scene, settings, count, host);
}

static inline void batch_rig_free(batch_rig* r)
{
    for (int i = 0; i < r->count; ++i) tn_state_free(r->singles[i]);
    free(r->singles);
    tn_batch_free(r->batch);
    tn_stepper_free(r->stepper);
    tn_model_free(r->model);
    tn_scene_free(r->scene);
}

/// Every copy another pose and motion of its joints (where they are trees), and other poses of targets.
static inline void batch_rig_scatter(batch_rig* r, uint64_t seed, double angle, double rate)
{
    test_random random = {seed};
    const int   n      = tn_model_coordinate_count(r->model);
    double*     z      = calloc((size_t)n + 1, sizeof *z);
    double*     zdot   = calloc((size_t)n + 1, sizeof *zdot);
    tn_why      why;
    for (int i = 0; i < r->count; ++i) {
        for (int k = 0; k < n; ++k) {
            z[k]    = test_random_between(&random, -angle, angle);
            zdot[k] = test_random_between(&random, -rate, rate);
        }
        if (tn_state_set_joints(r->singles[i], z, zdot, &why) != TN_OK)
            tn_state_reset(r->singles[i]); // loops: all start alike
        for (int k = 0; k < r->model->target_count && i % 3 == 1; ++k) {
            const tn_body_id body = {(uint32_t)r->model->targets[k].body};
            tn_frame         pose = tn_state_pose(r->singles[i], body);
            const tn_twist   v    = {{rate, 0, -rate}, {0, rate, 0}};
            pose.position.x += test_random_between(&random, -0.05, 0.05);
            CHECK_OK(tn_state_set_target(r->singles[i], k, &pose, i % 2 ? &v : NULL));
        }
        tn_state_copy(tn_batch_state(r->batch, i), r->singles[i]);
    }
    free(z);
    free(zdot);
}

static inline bool batch_same(const double* a, const double* b, int count)
{
    return memcmp(a, b, sizeof *a * (size_t)count) == 0;
}

/// All that a step leaves in a state.
static inline bool batch_same_state(const tn_state* a, const tn_state* b)
{
    const tn_model* m = a->model;
    return a->time == b->time && batch_same(a->q, b->q, m->q_count) &&
           batch_same(a->u, b->u, m->u_count) && batch_same(a->z, b->z, m->coordinate_count) &&
           a->history.h == b->history.h && a->history.two == b->history.two &&
           (a->history.h == 0 || batch_same(a->history.multipliers, b->history.multipliers,
                                            m->row_count + m->limit_count)) &&
           tn_state_hash(a) == tn_state_hash(b);
}

/// Of a factorisation that the impulse method finds done already (its own, of the step before) no margin is noted: so
/// that depends on who steps.
static inline bool batch_same_report(const tn_step_report* a, const tn_step_report* b)
{
    return a->h_taken == b->h_taken && a->joint_error == b->joint_error &&
           a->worst_joint.bits == b->worst_joint.bits && a->velocity_error == b->velocity_error &&
           a->iteration_count == b->iteration_count && a->substep_count == b->substep_count &&
           a->factor_count == b->factor_count && a->unclosed_count == b->unclosed_count &&
           a->contact_count == b->contact_count && a->deepest == b->deepest &&
           a->redundant_count == b->redundant_count;
}

/// One step of all copies, and of the single ones; every bit is compared. False: something differs.
static inline bool batch_rig_step(batch_rig* r, double h, const char* what)
{
    tn_batch_report report;
    tn_step_report  own, copy;
    tn_why          why;
    const tn_result result = tn_batch_step(r->batch, h, &report, &why);
    r->alone += report.alone_count;
    int  failed = 0, first = -1;
    bool good = true;
    for (int i = 0; i < r->count; ++i) {
        const tn_result single = tn_stepper_step(r->stepper, r->singles[i], h, &own, &why);
        const tn_state* state  = tn_batch_view(r->batch, i);
        if (single != TN_OK && failed++ == 0) first = i;
        const bool same = tn_batch_outcome(r->batch, i, &copy) == single &&
                          batch_same_state(state, r->singles[i]) &&
                          (single != TN_OK || batch_same_report(&copy, &own));
        test_check(same, __FILE__, __LINE__, "%s: copy %d differs at %g s", what, i,
                   tn_state_time(r->singles[i]));
        good = good && same;
    }
    CHECK_INT(report.failed_count, failed);
    CHECK_INT(report.failed_copy, first);
    CHECK_INT(report.stepped_count, r->count - failed);
    CHECK((result == TN_OK) == (failed == 0));
    return good;
}

#endif
