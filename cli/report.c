// report: the JSON that a run leaves, as the interface page promises it. Scripts read it, so keys are
// only ever added.
#include "mocap.h"
#include "motion.h"

#include <inttypes.h>

static void put_joint_name(tnc_out* out, const tn_model* model, tn_joint_id joint)
{
    if (joint.bits) tnc_put_text(out, tn_model_joint_name(model, joint));
    else tnc_put(out, "null");
}

static void put_head(tnc_out* out, const tnc_job* job, const tnc_motion* m)
{
    tnc_put(out, "{\n  \"tenon\": \"%s\", \"scene\": ", TN_VERSION);
    tnc_put_text(out, tn_model_name(job->model));
    tnc_put(out, ", \"method\": \"%s\"", tn_method_word(job->settings.method));
    tnc_put_member(out, ", ", "h", m->h);
    tnc_put(out, ", \"steps\": %lld", m->done);
    tnc_put_member(out, ", ", "time", tnc_motion_time(m));
    const tn_counts counts = tn_model_counts(job->model);
    tnc_put(out,
            ",\n  \"counts\": {\"bodies\": %d, \"joints\": %d, \"rows\": %d, \"dofs\": %d, "
            "\"redundant\": %d, \"loops\": %d},\n",
            counts.bodies, counts.joints, counts.rows, tnc_motion_mobility(job, m),
            m->checked ? m->check.redundant_count : 0, counts.loops);
    if (job->mocap) {
        tnc_put(out, "  \"mocap\": ");
        tnc_put_mocap(out, job->mocap, job->scene);
        tnc_put(out, ",\n");
    }
    if (!m->assembly.open) return;
    tnc_put(out, "  \"assembly\": ");
    tnc_put_assembly(out, job, &m->assembly);
    tnc_put(out, ",\n");
}

// What the one step found, where it ran.
static void put_auto(tnc_out* out, const tnc_job* job, const tnc_motion* m)
{
    if (job->settings.method != TN_METHOD_AUTO) return;
    tnc_put(out, "  \"auto\": {\"loops\": %d, \"stiff_rows\": %d, \"contacts\": %d},\n",
            m->found.loop_count, m->found.stiff_count, m->found.contact_count);
}

static void put_wall(tnc_out* out, tnc_motion* m)
{
    tnc_put_member(out, "  \"wall\": {", "total", m->times.total);
    tnc_put_member(out, ", ", "per_step_median", tnc_times_median(&m->times));
    tnc_put_member(out, ", ", "per_step_min", m->times.min);
    tnc_put_member(out, ", ", "per_step_max", m->times.max);
    tnc_put_member(out, ",\n           \"phases\": {", "kinematics", m->phases.kinematics);
    tnc_put_member(out, ", ", "assemble", m->phases.assemble);
    tnc_put_member(out, ", ", "factor", m->phases.factor);
    tnc_put_member(out, ", ", "solve", m->phases.solve);
    tnc_put_member(out, ", ", "collide", m->phases.collide);
    tnc_put_member(out, ", ", "columns", m->phases.columns);
    tnc_put_member(out, ", ", "contact", m->phases.contact);
    tnc_put(out, "}},\n");
}

static void put_stops(tnc_out* out, const tnc_job* job, const tnc_motion* m)
{
    tnc_put(out, "  \"contacts\": {\"max\": %d", m->contact_max);
    tnc_put_member(out, ", ", "deepest", m->deepest);
    tnc_put_member(out, ", ", "residual", m->complementarity);
    tnc_put(out, ", \"asleep\": %d", tnc_count_asleep(job));
    tnc_put(out, "}, \"impacts\": %lld, \"events\": %lld, \"coarse\": %lld, \"jams\": %lld,\n",
            m->impacts, m->events, m->coarse, m->jams);
    tnc_put(out, "  \"auxiliary\": {\"rows\": %d, \"dependent\": %d", m->auxiliary_max,
            m->dependent_max);
    tnc_put_member(out, ", ", "complementarity", m->complementarity);
    tnc_put(out, "},\n");
}

// What was simulated of all joints, where that is a choice.
static void put_adaptive(tnc_out* out, const tnc_job* job, const tnc_motion* m)
{
    const double steps = m->done > 0 ? (double)m->done : 1;
    if (tn_stepper_method(job->stepper) != TN_METHOD_ADAPTIVE) return;
    tnc_put_member(out, "  \"adaptive\": {\"active\": {", "mean", m->active_sum / steps);
    tnc_put(out, ", \"max\": %d, \"final\": %d}", m->active_max, m->active_now);
    tnc_put_member(out, ", \"visits\": {", "mean", m->visit_sum / steps);
    tnc_put(out, ", \"max\": %d}, \"choices\": %lld", m->visit_max, m->choices);
    tnc_put_member(out, ", ", "left_out", m->left_out);
    tnc_put_member(out, ", ", "kinetic_loss", m->kinetic_loss);
    tnc_put(out, "},\n");
}

const char* tnc_form_word(tn_implicit_form form)
{
    static const char* const words[] = {"auto", "rows", "blocks", "exact", "nullspace"};
    return words[form];
}

static void put_solver(tnc_out* out, const tnc_job* job, const tnc_motion* m)
{
    static const char* const forms[] = {"auto", "kkt", "spd", "split"};
    tn_solver                solver;
    if (tn_stepper_solver(job->stepper, &solver) != TN_OK) return;
    tnc_put(out, "  \"solver\": {\"formulation\": \"%s\", \"backend\": \"core\"",
            forms[solver.formulation]);
    if (tn_stepper_method(job->stepper) == TN_METHOD_IMPLICIT)
        tnc_put(out, ", \"form\": \"%s\", \"factorisations\": %lld", tnc_form_word(solver.form),
                m->factors);
    tnc_put_member(out, ", ", "flops", solver.factor_flops);
    tnc_put_member(out, ", ", "matrix", solver.matrix_numbers);
    tnc_put_member(out, ", ", "factor", solver.factor_numbers);
    tnc_put(out, ", \"refinements\": %d},\n", m->refinement_max);
}

static void put_quality(tnc_out* out, const tnc_job* job, const tnc_motion* m)
{
    tnc_put_member(out, "  \"joint_error\": {", "max", m->error_max);
    tnc_put_member(out, ", ", "final", m->error_now);
    tnc_put(out, ", \"joint\": ");
    put_joint_name(out, job->model, m->error_joint);
    tnc_put_member(out, "},\n  \"velocity_error\": {", "max", m->velocity_error_max);
    tnc_put_member(out, "},\n  \"energy\": {", "initial", m->energy_first);
    tnc_put_member(out, ", ", "final", m->energy_last);
    tnc_put_member(out, ", ", "max_drift", m->energy_drift);
    const double mean = m->done > 0 ? m->iteration_sum / (double)m->done : 0;
    tnc_put_member(out, "},\n  \"iterations\": {", "mean", mean);
    tnc_put(out, ", \"max\": %d}, \"pieces\": %lld, \"unclosed\": %lld, \"stiffened\": %d,\n",
            m->iteration_max, m->pieces, m->unclosed, m->stiffened_max);
    put_solver(out, job, m);
    put_adaptive(out, job, m);
    put_stops(out, job, m);
    tnc_put(out, "  \"memory\": {\"bytes\": %zu, \"allocations_in_steps\": %" PRIu64 "},\n",
            job->meter.peak, m->allocations_in_steps);
    tnc_put(out, "  \"hash\": \"%016" PRIx64 "\",\n", tn_state_hash(job->state));
}

void tnc_put_stop(tnc_out* out, const tn_model* model, const tnc_stop* stop, long long step,
                  double time)
{
    tnc_put(out, "  \"error\": {\"step\": %lld", step);
    tnc_put_member(out, ", ", "time", time);
    tnc_put(out, ", \"joint\": ");
    put_joint_name(out, model, stop->joint);
    tnc_put_text_member(out, ", ", "why", stop->text);
    tnc_put(out, "},\n");
}

static void put_body(tnc_out* out, const tnc_job* job, tn_body_id body)
{
    const tn_frame pose     = tn_state_pose(job->state, body);
    const tn_twist velocity = tn_state_velocity(job->state, body);
    tnc_put_text_member(out, "{", "name", tn_model_body_name(job->model, body));
    tnc_put_vec3_member(out, ", ", "position", pose.position);
    tnc_put(out, ", \"orientation\": ");
    tnc_put_quat(out, pose.orientation);
    tnc_put_vec3_member(out, ", ", "velocity", velocity.linear);
    tnc_put_vec3_member(out, ", ", "angular_velocity", velocity.angular);
    tnc_put(out, "}");
}

static void put_reaction(tnc_out* out, const tnc_job* job, tn_joint_id joint, bool known)
{
    if (!known) {
        tnc_put(out, ", \"force\": null, \"torque\": null");
        return;
    }
    const tn_wrench reaction = tn_stepper_reaction(job->stepper, joint);
    tnc_put_vec3_member(out, ", ", "force", reaction.force);
    tnc_put_vec3_member(out, ", ", "torque", reaction.torque);
}

static void put_joint(tnc_out* out, const tnc_job* job, tn_joint_id joint, bool evaluated)
{
    double    position[6], velocity[6];
    const int count = tn_model_joint_coordinates(job->model, joint);
    tn_state_joint_position(job->state, joint, position);
    tn_state_joint_velocity(job->state, joint, velocity);
    tnc_put_text_member(out, "{", "name", tn_model_joint_name(job->model, joint));
    tnc_put_member(out, ", ", "error", tn_state_joint_error(job->state, joint));
    put_reaction(out, job, joint, evaluated);
    tnc_put(out, ", \"position\": ");
    tnc_put_numbers(out, position, count);
    tnc_put(out, ", \"velocity\": ");
    tnc_put_numbers(out, velocity, count);
    tnc_put(out, "}");
}

static void put_series(tnc_out* out, const tnc_series* series)
{
    if (!series) return;
    tnc_put(out, "  \"series\": {");
    for (int k = 0; k < TNC_SERIES_COUNT; ++k) {
        tnc_put(out, "%s\n    \"%s\": ", k > 0 ? "," : "", tnc_series_words[k]);
        tnc_put_numbers(out, series->values[k], series->count);
    }
    tnc_put(out, "\n  },\n");
}

void tnc_report(tnc_out* out, const tnc_job* job, tnc_motion* motion)
{
    const tn_counts counts = tn_model_counts(job->model);
    put_head(out, job, motion);
    put_auto(out, job, motion);
    tnc_put_suspects(out, job, motion);
    put_wall(out, motion);
    put_quality(out, job, motion);
    if (motion->stop.stopped)
        tnc_put_stop(out, job->model, &motion->stop, motion->done + 1, tnc_motion_time(motion));
    put_series(out, motion->series);
    tnc_put(out, "  \"bodies\": [");
    for (int i = 0; i < counts.bodies; ++i) {
        tnc_put(out, i > 0 ? ",\n    " : "\n    ");
        put_body(out, job, (tn_body_id){(uint32_t)i + 1});
    }
    tnc_put(out, "\n  ],\n  \"joints\": [");
    for (int i = 0; i < counts.joints; ++i) {
        tnc_put(out, i > 0 ? ",\n    " : "\n    ");
        put_joint(out, job, (tn_joint_id){(uint32_t)i + 1}, motion->evaluated);
    }
    tnc_put(out, "\n  ]\n}\n");
}
