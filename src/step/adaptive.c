// adaptive: steps of trees of which only some joints are simulated (src/adaptive). The state keeps
// joint coordinates and the active joints, so bodies are placed once for many steps, and a step
// depends on the state alone. With a time budget, the number of active joints follows the measured
// time: this alone depends on the clock.
#include "step/stepper.h"

#include "model/settings.h"

tn_result tni_adaptive_method_create(tn_stepper* s, tn_why* why)
{
    const tn_model* model = s->model;
    TRY(tni_settings_check(&s->settings, why));
    return tni_adaptive_create(&s->arena, model, &s->arena.host, &s->settings.adaptive,
                               &s->adaptive, why);
}

static double now(const tn_stepper* s)
{
    return s->system->clock != NULL ? s->system->clock(s->system->clock_user) : 0;
}

// Adjusts the number of active joints to the budget; at most by a factor of two either way.
static void keep_budget(tn_stepper* s, double seconds)
{
    tni_adaptive* a      = s->adaptive;
    const double  budget = 1e-6 * a->settings.budget;
    a->spent += seconds;
    if (++a->spent_steps < a->settings.period) return;
    const double mean   = a->spent / a->spent_steps;
    const double factor = fmin(fmax(0.9 * budget / mean, 0.5), 2);
    const double goal   = floor(factor * a->allowed);
    const int    most   = a->settings.active > 0 ? a->settings.active : a->trees->count;
    a->allowed          = goal < 1 ? 1 : goal > most ? most : (int)goal;
    a->spent            = 0;
    a->spent_steps      = 0;
}

static void report_step(const tni_adaptive_report* one, tn_step_report* report)
{
    report->adaptive.active_count = one->active;
    report->adaptive.visit_count += one->visits;
    report->adaptive.choice_count += one->choices;
    report->substep_count += one->substeps;
    report->adaptive.kinetic_loss += one->kinetic_loss;
    report->adaptive.left_out = one->left_out;
    report->complementarity   = one->complementarity;
    report->impact_count      = one->hits;
}

// Contacts at the end and their penetration, with the forces of the last step. False: no room.
static bool report_contacts(tn_stepper* s, double h, tn_step_report* report)
{
    static const double      lands = 1e-5; // gap up to which a contact counts [m or rad]
    tni_unilaterals*         a     = &s->system->unilaterals;
    const tni_link_contacts* fs    = s->adaptive->contacts;
    int                      k     = 0;
    tni_views(s->model, s->next.time, s->next.q, s->next.u, s->system->views);
    if (!tni_unilaterals_find(a, s->system->views, s->next.z, lands)) return false;
    report->contact_count = 0;
    for (int i = 0; i < a->unilateral_count; ++i) {
        tni_unilateral* unilateral = &a->unilaterals[i];
        report->deepest            = fmax(report->deepest, -unilateral->gap);
        report->contact_count += unilateral->limit < 0 && unilateral->gap <= tni_contact_gap;
        while (fs != NULL && k < fs->count && fs->points[k].touch.id < unilateral->id) ++k;
        const bool known = fs != NULL && k < fs->count && fs->points[k].touch.id == unilateral->id;
        for (int r = 0; r < unilateral->row_count; ++r)
            unilateral->force[r] = known && r < fs->points[k].rows ? fs->points[k].f[r] / h : 0;
    }
    return true;
}

// Errors of bodies against the joint coordinates: cheaper than all rows, and nothing else can be
// off.
static void report_errors(tn_stepper* s, const tni_joint_trees_fit* fit, tn_step_report* report)
{
    const tni_joint_trees* trees = s->adaptive->trees;
    report->joint_error          = fit->error;
    report->velocity_error       = fit->rate;
    if (fit->worst >= 0)
        report->worst_joint = tni_constraint_id(
            s->model, s->model->joints[trees->links[fit->worst].joint].constraint);
}

tn_result tni_adaptive_run(tn_stepper* s, double h, int count, int* taken, tn_step_report* report,
                           tn_why* why)
{
    tni_adaptive* a     = s->adaptive;
    const bool    timed = a->settings.budget > 0 && s->system->clock != NULL;
    double        time  = s->from->time;
    tni_adaptive_load(a, s->from, h);
    tni_copy_configuration(s->model, &s->next, &s->now);
    for (*taken = 0; *taken < count; ++*taken) {
        const double        start = timed ? now(s) : 0;
        tni_adaptive_report one;
        TRY(tni_adaptive_step(a, time, &s->from->inputs, &one, why));
        report_step(&one, report);
        time = tni_time_after(time, h);
        if (a->has_planar) (void)tni_adaptive_place(a, s->next.q, s->next.u);
        if (timed) keep_budget(s, now(s) - start);
    }
    s->next.time                  = time;
    const tni_joint_trees_fit fit = tni_adaptive_place(a, s->next.q, s->next.u);
    tni_copy_numbers(s->next.z, a->z, s->model->coordinate_count);
    s->angles_followed = true;
    report_errors(s, &fit, report);
    if (s->has_unilaterals && !report_contacts(s, h, report))
        return tni_fail(why, TN_ERR_MEMORY, "no room for so many contacts");
    return TN_OK;
}
