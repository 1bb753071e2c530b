// summary: what a run came to, as a small table on standard output.
#include "motion.h"

#include <inttypes.h>

static void print_counts(const tnc_job* job, const tnc_motion* m)
{
    const tn_counts c = tn_model_counts(job->model);
    printf("scene         %s\n", tnc_job_title(job));
    printf("counts        %d bod%s, %d joint%s, %d row%s, %d loop%s\n", c.bodies,
           c.bodies == 1 ? "y" : "ies", c.joints, tnc_plural(c.joints), c.rows, tnc_plural(c.rows),
           c.loops, tnc_plural(c.loops));
    printf("mobility      %d", tnc_motion_mobility(job, m));
    if (!m->checked) printf(", redundancy unknown");
    else if (m->check.redundant_count > 0)
        printf(", %d redundant row%s", m->check.redundant_count,
               tnc_plural(m->check.redundant_count));
    printf("\n");
}

static void print_assembly(const tnc_job* job, const tnc_motion* m)
{
    char text[320];
    if (!m->assembly.open) return;
    tnc_assembly_text(job, &m->assembly, text, sizeof text);
    printf("assembled     %s\n", text);
}

static void print_time(const tnc_job* job, const tnc_motion* m)
{
    const double time = tnc_motion_time(m);
    tn_solver    solver;
    printf("method        %s", tn_method_word(job->settings.method));
    if (tn_stepper_method(job->stepper) == TN_METHOD_IMPLICIT &&
        tn_stepper_solver(job->stepper, &solver) == TN_OK)
        printf(" (%s)", tnc_form_word(solver.form));
    printf(", h = %g s\n", m->h);
    printf("steps         %lld", m->done);
    if (m->done < m->steps) printf(" of %lld", m->steps);
    printf(", %g s simulated in %.3g s", time, m->times.total);
    if (m->times.total > 0) printf(": %.3g x real time", time / m->times.total);
    printf("\n");
}

// What the one step found in it.
static void print_auto(const tnc_job* job, const tnc_motion* m)
{
    const tn_auto_report* f = &m->found;
    if (job->settings.method != TN_METHOD_AUTO) return;
    printf("auto          %d loop%s, %d stiff row%s, %d contact%s, h = %.3g ms\n", f->loop_count,
           tnc_plural(f->loop_count), f->stiff_count, tnc_plural(f->stiff_count), f->contact_count,
           tnc_plural(f->contact_count), 1e3 * m->h);
}

static void print_quality(const tnc_job* job, const tnc_motion* m)
{
    if (m->error_joint.bits) {
        printf("joint error   %.2e at most (%s), %.2e at the end\n", m->error_max,
               tn_model_joint_name(job->model, m->error_joint), m->error_now);
    }
    printf("energy        %g J at the end, at most %.2e J from its initial value\n", m->energy_last,
           m->energy_drift);
    printf("iterations    %.2f a step, %d at most\n",
           m->done > 0 ? m->iteration_sum / (double)m->done : 0, m->iteration_max);
}

// How much of it was simulated, where that is a choice.
static void print_detail(const tnc_job* job, const tnc_motion* m)
{
    const double steps = m->done > 0 ? (double)m->done : 1;
    if (tn_stepper_method(job->stepper) != TN_METHOD_ADAPTIVE) return;
    printf(
        "active        %.4g of %d joints, %.4g nodes visited a step, %lld choice%s; freezing joints "
        "cost %.3g J\n",
        m->active_sum / steps, tng_moving_joints(job->model), m->visit_sum / steps, m->choices,
        m->choices == 1 ? "" : "s", m->kinetic_loss);
}

// Steps of the impulse method that did not go smoothly. Nothing where all did.
static void print_trouble(const tnc_job* job, const tnc_motion* m)
{
    if (tn_stepper_method(job->stepper) != TN_METHOD_IMPULSE) return;
    if (m->pieces > m->done)
        printf("substeps      %.3f a step: some steps were too long and were cut\n",
               (double)m->pieces / (double)m->done);
    if (m->stiffened_max > 0)
        printf(
            "stiffened     %d bod%s at most: light bodies under heavy load, integrated implicitly, which "
            "loses energy; a smaller --h loses less\n",
            m->stiffened_max, m->stiffened_max == 1 ? "y" : "ies");
}

int tnc_count_asleep(const tnc_job* job)
{
    int count = 0;
    for (int i = 1; i <= tn_model_counts(job->model).bodies; ++i)
        count += tn_state_asleep(job->state, (tn_body_id){(uint32_t)i});
    return count;
}

// Contacts, limits and ropes. Nothing where there were none.
static void print_contacts(const tnc_job* job, const tnc_motion* m)
{
    if (m->contact_max > 0 || m->impacts > 0 || m->deepest > 0) {
        if (m->contact_max > 0)
            printf("contacts      %d point%s at most, ", m->contact_max,
                   tnc_plural(m->contact_max));
        else printf("limits        "); // and ropes
        printf("%lld impact%s, ", m->impacts, m->impacts == 1 ? "" : "s");
        if (m->deepest == 0) printf(m->contact_max > 0 ? "no penetration\n" : "none exceeded\n");
        else if (m->contact_max > 0) printf("penetration %.2e m at most\n", m->deepest);
        else printf("exceeded by %.2e m or rad at most\n", m->deepest);
    }
    const int asleep = tnc_count_asleep(job);
    if (asleep > 0)
        printf("asleep        %d bod%s at the end: at rest, not simulated until touched\n", asleep,
               asleep == 1 ? "y" : "ies");
    if (m->coarse > m->jams && job->settings.multiplier.integrator != TN_INTEGRATOR_EULER) {
        printf(
            "coarse        %lld substep%s with too many events: impulses were used, accurate to first "
            "order in --h\n",
            m->coarse - m->jams, m->coarse - m->jams == 1 ? "" : "s");
    }
}

void tnc_summary(const tnc_job* job, const tnc_motion* motion, const tnc_options* options)
{
    const char* paths[] = {options->report, options->trajectory, options->html, options->out};
    const char* head    = "written       ";
    print_counts(job, motion);
    print_assembly(job, motion);
    print_time(job, motion);
    print_auto(job, motion);
    print_quality(job, motion);
    print_detail(job, motion);
    print_trouble(job, motion);
    print_contacts(job, motion);
    tnc_print_suspects(job, motion);
    printf("hash          %016" PRIx64 "\n", tn_state_hash(job->state));
    if (motion->note[0]) printf("exported      %s\n", motion->note);
    for (int i = 0; i < 4; ++i) {
        if (!paths[i]) continue;
        printf("%s%s", head, paths[i]);
        head = ", ";
    }
    if (head[0] == ',') printf("\n");
}
