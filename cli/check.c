// check: is this mechanism what its author meant? Remarks (rows that say a thing twice, masses far
// apart, parts that float) leave the exit code 0; rows that contradict each other, or joints that do
// not meet at the start, make it 1.
#include "cli.h"

static const double wide_mass_ratio = 1e3;
static const double narrow_margin   = 1e-6; // below: a singular position is near
static const double still_velocity  = 1e-6; // [m/s or rad/s]
enum { ROWS_SHOWN = 20 };

static const char* plural(int count)
{
    return count == 1 ? "" : "s";
}
static const char* joint_name(const tnc_job* job, tn_joint_id joint)
{
    return joint.bits ? tn_model_joint_name(job->model, joint) : "none";
}

// "row 'axis tilt 1' of joint 'pin'"
static void row_text(const tnc_job* job, tn_row_name name, char* text, size_t size)
{
    if (name.joint.bits) {
        snprintf(text, size, "row '%s' of joint '%s'",
                 tn_model_row_text(job->model, name.joint, name.row), joint_name(job, name.joint));
        return;
    }
    const tn_coupling_def* def = tn_scene_coupling(job->scene, name.coupling);
    if (def && def->name && def->name[0]) snprintf(text, size, "coupling '%s'", def->name);
    else snprintf(text, size, "coupling %d", name.coupling + 1);
}

static bool mass_ratio_is_wide(const tn_check* c)
{
    return c->mass_min > 0 && c->mass_max / c->mass_min > wide_mass_ratio;
}

static bool is_assembled(const tn_check* c)
{
    return c->assembly_error <= TNC_ASSEMBLED;
}

// ---- In words --------------------------------------------------------------------------------------

static void tell_mobility(const tnc_job* job, const tn_check* c)
{
    const tn_counts n = tn_model_counts(job->model);
    printf("%s: %d bod%s, %d joint%s, %d closed loop%s.\n", tnc_job_title(job), n.bodies,
           n.bodies == 1 ? "y" : "ies", n.joints, plural(n.joints), n.loops, plural(n.loops));
    printf("Mobility %d: %d freedoms less %d rows", c->mobility, n.freedoms, n.rows);
    if (c->redundant_count > 0) printf(", of which %d say nothing new", c->redundant_count);
    printf(".\n");
    if (c->mobility == 0) printf("Nothing can move.\n");
}

static void tell_redundancy(const tnc_job* job, const tn_check* c)
{
    char text[320];
    for (int i = 0; i < c->redundant_count && i < ROWS_SHOWN; ++i) {
        row_text(job, tn_stepper_redundant_row(job->stepper, i), text, sizeof text);
        printf("Redundant: %s.\n", text);
    }
    if (c->redundant_count > ROWS_SHOWN)
        printf("Redundant: %d more.\n", c->redundant_count - ROWS_SHOWN);
    if (!c->contradictory) return;
    row_text(job, c->contradiction, text, sizeof text);
    printf("Contradiction: %s cannot be met together with the others.\n", text);
}

static void tell_assembly(const tnc_job* job, const tn_check* c)
{
    const char* worst = joint_name(job, c->assembly_joint);
    if (is_assembled(c)) printf("The joints meet: error %.2e at most", c->assembly_error);
    else printf("The joints do not meet: joint '%s' is off by %.3g", worst, c->assembly_error);
    if (is_assembled(c) && c->assembly_joint.bits) printf(" (joint '%s')", worst);
    printf(".\n");
    if (c->velocity_error > still_velocity) {
        printf("The velocities break the joints: joint '%s' by %.3g.\n",
               joint_name(job, c->velocity_joint), c->velocity_error);
    }
}

static void tell_remarks(const tnc_job* job, const tn_check* c)
{
    if (mass_ratio_is_wide(c)) {
        printf("The masses are far apart: '%s' has %g kg, '%s' %g kg, ratio %.2g.\n",
               tn_model_body_name(job->model, c->mass_max_body), c->mass_max,
               tn_model_body_name(job->model, c->mass_min_body), c->mass_min,
               c->mass_max / c->mass_min);
    }
    if (c->part_count > 1)
        printf("There are %d parts that no joint ties together.\n", c->part_count);
    if (c->floating_count > 0) {
        printf("%d part%s not tied to the ground.\n", c->floating_count,
               c->floating_count == 1 ? " is" : "s are");
    }
    if (c->rank_joint.bits && c->rank_margin < narrow_margin) {
        printf("A singular position is near: rank margin %.2e at joint '%s'.\n", c->rank_margin,
               joint_name(job, c->rank_joint));
    }
}

// ---- As JSON ---------------------------------------------------------------------------------------

static void put_key(tnc_out* out, const char* key)
{
    tnc_put(out, ",\n  \"%s\": ", key);
}

static void put_row(tnc_out* out, const tnc_job* job, tn_row_name name)
{
    char text[320];
    row_text(job, name, text, sizeof text);
    tnc_put(out, "{\"joint\": ");
    if (name.joint.bits) tnc_put_text(out, joint_name(job, name.joint));
    else tnc_put(out, "null");
    tnc_put(out, ", \"row\": %d, \"text\": ", name.row);
    tnc_put_text(out, text);
    tnc_put(out, "}");
}

static void put_worst(tnc_out* out, const tnc_job* job, const char* key, double value,
                      tn_joint_id joint)
{
    tnc_put(out, "{\"%s\": ", key);
    tnc_put_number(out, value);
    tnc_put(out, ", \"joint\": ");
    if (joint.bits) tnc_put_text(out, joint_name(job, joint));
    else tnc_put(out, "null");
    tnc_put(out, "}");
}

static void put_mass(tnc_out* out, const tnc_job* job, const tn_check* c)
{
    tnc_put(out, "{\"min\": ");
    tnc_put_number(out, c->mass_min);
    tnc_put(out, ", \"min_body\": ");
    tnc_put_text(out, tn_model_body_name(job->model, c->mass_min_body));
    tnc_put(out, ", \"max\": ");
    tnc_put_number(out, c->mass_max);
    tnc_put(out, ", \"max_body\": ");
    tnc_put_text(out, tn_model_body_name(job->model, c->mass_max_body));
    tnc_put(out, ", \"ratio\": ");
    tnc_put_number(out, c->mass_min > 0 ? c->mass_max / c->mass_min : 1);
    tnc_put(out, "}");
}

static void put_rows(tnc_out* out, const tnc_job* job, const tn_check* c)
{
    put_key(out, "redundant_rows");
    tnc_put(out, "[");
    for (int i = 0; i < c->redundant_count; ++i) {
        tnc_put(out, i > 0 ? ",\n    " : "\n    ");
        put_row(out, job, tn_stepper_redundant_row(job->stepper, i));
    }
    tnc_put(out, "]");
    put_key(out, "contradiction");
    if (c->contradictory) put_row(out, job, c->contradiction);
    else tnc_put(out, "null");
}

static void put_all(tnc_out* out, const tnc_job* job, const tn_check* c)
{
    const tn_counts n = tn_model_counts(job->model);
    tnc_put(out, "{\n  \"tenon\": \"%s\"", TN_VERSION);
    put_key(out, "scene");
    tnc_put_text(out, tn_model_name(job->model));
    put_key(out, "counts");
    tnc_put(out,
            "{\"bodies\": %d, \"joints\": %d, \"rows\": %d, \"dofs\": %d, \"redundant\": %d, "
            "\"loops\": %d}",
            n.bodies, n.joints, n.rows, c->mobility, c->redundant_count, n.loops);
    put_key(out, "mobility");
    tnc_put(out, "%d", c->mobility);
    put_rows(out, job, c);
    put_key(out, "joint_error");
    put_worst(out, job, "max", c->assembly_error, c->assembly_joint);
    put_key(out, "velocity_error");
    put_worst(out, job, "max", c->velocity_error, c->velocity_joint);
    put_key(out, "rank_margin");
    put_worst(out, job, "min", c->rank_margin, c->rank_joint);
    put_key(out, "mass");
    put_mass(out, job, c);
    put_key(out, "parts");
    tnc_put(out, "{\"count\": %d, \"floating\": %d}", c->part_count, c->floating_count);
    put_key(out, "assembled");
    tnc_put(out, "%s", is_assembled(c) ? "true" : "false");
    put_key(out, "contradictory");
    tnc_put(out, "%s\n}\n", c->contradictory ? "true" : "false");
}

// ---- The command -----------------------------------------------------------------------------------

static int check(tnc_job* job, tnc_out* out, bool quiet)
{
    tn_check c;
    tn_why   why = {0};
    if (tn_stepper_check(job->stepper, job->state, &c, &why) != TN_OK) {
        tnc_complain_why(job->origin, &why);
        return TNC_STOPPED;
    }
    if (out->file) put_all(out, job, &c);
    const bool console = out->file == stdout;
    const bool written = tnc_out_close(out);
    if (!console && !quiet) {
        tell_mobility(job, &c);
        tell_redundancy(job, &c);
        tell_assembly(job, &c);
        tell_remarks(job, &c);
    }
    return written && is_assembled(&c) && !c.contradictory ? TNC_DONE : TNC_STOPPED;
}

int tnc_check(const tnc_options* options)
{
    tnc_job job  = {0};
    tnc_out out  = {0};
    int     code = tnc_job_open(&job, options);
    if (code == TNC_DONE && options->report && !tnc_out_open(&out, options->report))
        code = TNC_WRONG;
    if (code == TNC_DONE) code = check(&job, &out, options->quiet);
    tnc_job_close(&job);
    return code;
}
