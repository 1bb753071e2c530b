// accel: one evaluation at the initial state, as JSON: bodies, joints, and points in contact.
#include "motion.h"

#include <math.h>
#include <stdlib.h>

static void put_body(tnc_out* out, const tnc_job* job, tn_body_id body)
{
    const tn_twist a = tn_stepper_acceleration(job->stepper, body);
    tnc_put_text_member(out, "{", "name", tn_model_body_name(job->model, body));
    tnc_put_vec3_member(out, ", ", "acceleration", a.linear);
    tnc_put_vec3_member(out, ", ", "angular_acceleration", a.angular);
    tnc_put(out, "}");
}

static void put_joint(tnc_out* out, const tnc_job* job, tn_joint_id joint)
{
    const tn_wrench reaction = tn_stepper_reaction(job->stepper, joint);
    tnc_put_text_member(out, "{", "name", tn_model_joint_name(job->model, joint));
    tnc_put_vec3_member(out, ", ", "force", reaction.force);
    tnc_put_vec3_member(out, ", ", "torque", reaction.torque);
    tnc_put(out, ", \"multipliers\": ");
    tnc_put_numbers(out, tn_stepper_multipliers(job->stepper, joint),
                    tn_model_joint_rows(job->model, joint));
    if (tnc_joint_is_stopped(job, joint)) {
        tnc_put_member(out, ", ", "limit_force", tn_stepper_limit_force(job->stepper, joint));
    }
    tnc_put(out, "}");
}

static void put_contact(tnc_out* out, const tnc_job* job, const tn_contact* contact)
{
    tnc_put(out, "{\"bodies\": [");
    tnc_put_text(out, tn_model_body_name(job->model, contact->body1));
    tnc_put(out, ", ");
    tnc_put_text(out, tn_model_body_name(job->model, contact->body2));
    tnc_put_vec3_member(out, "], ", "position", contact->position);
    tnc_put_vec3_member(out, ", ", "normal", contact->normal);
    tnc_put_member(out, ", ", "gap", contact->gap);
    tnc_put_vec3_member(out, ", ", "force", contact->force);
    tnc_put_member(out, ", ", "slip", contact->slip);
    tnc_put(out, "}");
}

static void put_all(tnc_out* out, const tnc_job* job, const tnc_assembly* assembly,
                    const tnc_stop* stop)
{
    // After a failure there is nothing to tell but why.
    const tn_counts counts        = stop->stopped ? (tn_counts){0} : tn_model_counts(job->model);
    int             contact_count = 0;
    tn_contact*     contacts      = stop->stopped ? NULL : tnc_job_contacts(job, &contact_count);
    tnc_put(out, "{\n");
    if (stop->stopped) tnc_put_stop(out, job->model, stop, 0, tn_state_time(job->state));
    if (assembly->open) {
        tnc_put(out, "  \"assembly\": ");
        tnc_put_assembly(out, job, assembly);
        tnc_put(out, ",\n");
    }
    tnc_put(out, "  \"bodies\": [");
    for (int i = 0; i < counts.bodies; ++i) {
        tnc_put(out, i > 0 ? ",\n    " : "\n    ");
        put_body(out, job, (tn_body_id){(uint32_t)i + 1});
    }
    tnc_put(out, "\n  ],\n  \"joints\": [");
    for (int i = 0; i < counts.joints; ++i) {
        tnc_put(out, i > 0 ? ",\n    " : "\n    ");
        put_joint(out, job, (tn_joint_id){(uint32_t)i + 1});
    }
    tnc_put(out, "\n  ],\n  \"contacts\": [");
    for (int i = 0; i < contact_count; ++i) {
        tnc_put(out, i > 0 ? ",\n    " : "\n    ");
        put_contact(out, job, &contacts[i]);
    }
    free(contacts);
    tnc_put(out, "\n  ]\n}\n");
}

// Rows that contradict each other leave a residual, and the library then gives the nearest answer.
// Nobody who asks for exact accelerations wants that one.
static bool is_met(const tnc_job* job, double residual)
{
    const double* rates = tn_stepper_accelerations(job->stepper);
    double        scale = 1;
    for (int i = 0; i < tn_state_velocity_count(job->state); ++i)
        scale = fmax(scale, fabs(rates[i]));
    return residual <= 1e-6 * scale;
}

static tnc_stop evaluate(tnc_job* job)
{
    tn_step_report  report = {0};
    tn_why          why    = {0};
    const tn_result result = tn_stepper_evaluate(job->stepper, job->state, &report, &why);
    tnc_stop        stop   = {.stopped = result != TN_OK, .result = result};
    if (result != TN_OK) {
        stop.joint = report.worst_joint;
        snprintf(stop.text, sizeof stop.text, "%s",
                 why.text[0] ? why.text : tn_result_text(result));
    } else if (!is_met(job, report.residual)) {
        stop =
            (tnc_stop){.stopped = true, .result = TN_ERR_SINGULAR, .joint = report.residual_joint};
        snprintf(stop.text, sizeof stop.text,
                 "no acceleration meets all joints: one is off by %.3g", report.residual);
    }
    return stop;
}

static int accel(tnc_job* job, const tnc_assembly* assembly, tnc_out* out)
{
    const tnc_stop stop = evaluate(job);
    put_all(out, job, assembly, &stop);
    const bool written = tnc_out_close(out);
    if (stop.stopped) tnc_complain("%s: %s", job->origin, stop.text);
    return stop.stopped || !written ? TNC_STOPPED : TNC_DONE;
}

int tnc_accel(const tnc_options* options)
{
    tnc_job      job      = {0};
    tnc_out      out      = {0};
    tnc_assembly assembly = {0};
    tn_why       why      = {0};
    int          code     = tnc_job_open(&job, options);
    if (code == TNC_DONE) {
        code = tnc_exit_code(tnc_job_assemble(&job, &assembly, &why));
        if (code != TNC_DONE) tnc_complain_why(job.origin, &why);
    }
    if (code == TNC_DONE && !tnc_out_open(&out, options->report ? options->report : "-"))
        code = TNC_WRONG;
    if (code == TNC_DONE) code = accel(&job, &assembly, &out);
    tnc_job_close(&job);
    return code;
}
