// assembly: joints that do not meet at the start are put together before anything else is done.
#include "cli.h"

#include <math.h>

static const double meets = 1e-9; // [m or rad]

static void find_worst(const tnc_job* job, tnc_assembly* a)
{
    for (int i = 1; i <= tn_model_counts(job->model).joints; ++i) {
        const tn_joint_id joint = {(uint32_t)i};
        if (tn_model_joint_rows(job->model, joint) == 0) continue; // a rope
        const double error = tn_state_joint_error(job->state, joint);
        if (!(error > a->report.error_before)) continue;
        a->report.error_before = error;
        a->joint               = joint;
    }
}

tn_result tnc_job_assemble(tnc_job* job, tnc_assembly* assembly, tn_why* why)
{
    *assembly = (tnc_assembly){0};
    find_worst(job, assembly);
    if (!(assembly->report.error_before > meets)) return TN_OK;
    assembly->open = true;
    return tn_stepper_assemble(job->stepper, job->state, &assembly->report, why);
}

void tnc_assembly_text(const tnc_job* job, const tnc_assembly* assembly, char* text, size_t size)
{
    const tn_assembly* a = &assembly->report;
    snprintf(text, size,
             "joint error %.2g -> %.1e, bodies moved by at most %.3g m (%s) and turned by %.3g rad",
             a->error_before, a->error_after, a->moved,
             tn_model_body_name(job->model, a->moved_body), a->turned);
}

void tnc_put_assembly(tnc_out* out, const tnc_job* job, const tnc_assembly* assembly)
{
    const tn_assembly* a        = &assembly->report;
    const char* const  keys[]   = {"before", "after", "moved", "turned"};
    const double       values[] = {a->error_before, a->error_after, a->moved, a->turned};
    tnc_put(out, "{");
    for (int i = 0; i < 4; ++i) {
        tnc_put(out, "\"%s\": ", keys[i]);
        tnc_put_number(out, values[i]);
        tnc_put(out, ", ");
    }
    tnc_put(out, "\"rounds\": %d, \"body\": ", a->round_count);
    tnc_put_text(out, tn_model_body_name(job->model, a->moved_body));
    tnc_put(out, "}");
}
