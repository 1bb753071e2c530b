// check: is this mechanism what its author meant? Remarks (rows that say a thing twice, masses far
// apart, parts that float) leave the exit code 0, and so do joints that do not meet at the start but
// can be put together: all else is looked at once they are. Rows that contradict each other, bodies
// inside each other and hard limits beyond their ends make it 1, joints that cannot close 2.
#include "cli.h"

#include <stdlib.h>

static const char* joint_name(const tnc_job* job, tn_joint_id joint)
{
    return joint.bits ? tn_model_joint_name(job->model, joint) : "none";
}

static const double wide_mass_ratio = 1e3;
static const double narrow_margin   = 1e-6; // below: a singular position is near
static const double still_velocity  = 1e-6; // [m/s or rad/s]
enum { PLACES_SHOWN = 8 };                  // joints that have redundant rows

// "row 'axis tilt 1' of joint 'pin'"
static void row_text(const tnc_job* job, tn_row_name name, char* text, size_t size)
{
    if (name.joint.bits) {
        snprintf(text, size, "row '%s' of joint '%s'",
                 tn_model_row_text(job->model, name.joint, name.row), joint_name(job, name.joint));
        return;
    }
    const tn_coupling_def* def = tn_scene_coupling(job->scene, (int)name.coupling.bits - 1);
    if (def && def->name && def->name[0]) snprintf(text, size, "coupling '%s'", def->name);
    else snprintf(text, size, "coupling %u", (unsigned)name.coupling.bits);
}

static bool mass_ratio_is_wide(const tn_check* c)
{
    return c->mass_min > 0 && c->mass_max / c->mass_min > wide_mass_ratio;
}

static bool is_assembled(const tn_check* c)
{
    return c->assembly_error <= TNC_ASSEMBLED;
}

// A motor, a keyed body or a coupler with a speed of its own moves the mechanism, whatever its mobility.
static bool is_driven(const tn_scene* scene)
{
    for (int i = 0; i < tn_scene_joint_count(scene); ++i) {
        const tn_joint_def* def = tn_scene_constraint(scene, i) ? NULL : tn_scene_joint(scene, i);
        if (def && def->type == TN_JOINT_MOTOR) return true;
    }
    for (int i = 0; i < tn_scene_body_count(scene); ++i)
        if (tn_scene_body(scene, i)->kind == TN_BODY_KINEMATIC) return true;
    for (int i = 0; i < tn_scene_coupling_count(scene); ++i) {
        const tn_coupling_def* def = tn_scene_coupling(scene, i);
        if (def->type == TN_COUPLING_COUPLER && def->velocity != 0) return true;
    }
    return false;
}

// ---- Contacts and limits at the start ------------------------------------------------------------

typedef struct start {
    int         contact_count;
    double      deepest; ///< [m]; 0: none is inside
    tn_body_id  body1, body2;
    double      beyond, soft; ///< hard limits and ropes; limits that are springs [rad or m]
    tn_joint_id beyond_joint, soft_joint;
    tn_joint_id idle_joint;                    ///< the first with a limit that does nothing
    char        jam[sizeof((tn_why*)0)->text]; ///< why there is no acceleration; empty: there is
} start;

static void look_at_contacts(tnc_job* job, start* s)
{
    tn_why          why    = {0};
    tn_step_report  report = {0};
    const tn_result result = tn_stepper_evaluate(job->stepper, job->state, &report, &why);
    if (result == TN_ERR_DIVERGED) snprintf(s->jam, sizeof s->jam, "%s", why.text);
    tn_contact* contacts = tnc_job_contacts(job, &s->contact_count);
    for (int i = 0; i < s->contact_count; ++i) {
        if (!(-contacts[i].gap > s->deepest)) continue;
        if (result == TN_OK && -contacts[i].gap > report.deepest)
            continue; // soft: it needs some depth
        s->deepest = -contacts[i].gap;
        s->body1   = contacts[i].body1;
        s->body2   = contacts[i].body2;
    }
    free(contacts);
}

// A limit that is neither hard nor a spring or damper.
static bool has_idle_limit(const tn_joint_def* def)
{
    return def && def->limit.given && !def->limit.hard && def->limit.stiffness == 0 &&
           def->limit.damping == 0;
}

static void look_at_limits(const tnc_job* job, start* s)
{
    for (int i = 1; i <= tn_model_counts(job->model).joints; ++i) {
        const tn_joint_id joint  = {(uint32_t)i};
        const bool        hard   = tnc_joint_is_stopped(job, joint);
        const double      beyond = tnc_joint_beyond(job, joint);
        if (has_idle_limit(tnc_joint_def(job, joint))) {
            if (!s->idle_joint.bits) s->idle_joint = joint;
            continue;
        }
        if (!(beyond > (hard ? s->beyond : s->soft))) continue;
        *(hard ? &s->beyond : &s->soft)             = beyond;
        *(hard ? &s->beyond_joint : &s->soft_joint) = joint;
    }
}

static bool is_clear(const start* s)
{
    return s->deepest <= TNC_ASSEMBLED && s->beyond <= TNC_ASSEMBLED;
}

// ---- In words ------------------------------------------------------------------------------------

static void tell_counts(const tnc_job* job)
{
    const tn_counts n = tn_model_counts(job->model);
    printf("%s: %d bod%s, %d joint%s, %d closed loop%s.\n", tnc_job_title(job), n.bodies,
           n.bodies == 1 ? "y" : "ies", n.joints, tnc_plural(n.joints), n.loops,
           tnc_plural(n.loops));
}

static void tell_mobility(const tnc_job* job, const tn_check* c)
{
    const tn_counts n = tn_model_counts(job->model);
    printf("Mobility %d: %d degrees of freedom less %d constraint rows", c->mobility, n.freedoms,
           n.rows);
    if (c->redundant_count > 0)
        printf(", %d of which %s redundant", c->redundant_count,
               c->redundant_count == 1 ? "is" : "are");
    printf(".\n");
    if (c->mobility < 0) { // there are more independent rows than freedoms: rounding hides some
        printf("This count is not certain: at least %d more row%s must be redundant.\n",
               -c->mobility, tnc_plural(-c->mobility));
    } else if (c->mobility == 0 && n.freedoms > 0) {
        printf("%s.\n", is_driven(job->scene) ? "All motion is prescribed by motors or keys"
                                              : "Nothing can move");
    }
}

static bool same_place(tn_row_name a, tn_row_name b)
{
    return a.joint.bits == b.joint.bits && a.coupling.bits == b.coupling.bits;
}

// Rows first..end - 1 of the list are of one joint, or of one coupling.
static void tell_place(const tnc_job* job, int first, int end)
{
    const tn_row_name name = tn_stepper_redundant_row(job->stepper, first);
    if (!name.joint.bits) {
        char text[320];
        row_text(job, name, text, sizeof text);
        printf("Redundant: %s.\n", text);
        return;
    }
    printf("Redundant: joint '%s': ", joint_name(job, name.joint));
    if (end - first == tn_model_joint_rows(job->model, name.joint)) {
        printf("all its rows.\n");
        return;
    }
    for (int i = first; i < end; ++i) {
        const tn_row_name row = tn_stepper_redundant_row(job->stepper, i);
        printf("%s%s", i > first ? ", " : "", tn_model_row_text(job->model, row.joint, row.row));
    }
    printf(".\n");
}

// One line a joint, and few of them: a large linkage has thousands of such rows.
static void tell_redundancy(const tnc_job* job, const tn_check* c)
{
    int place = 0, shown = 0;
    for (int first = 0, end; first < c->redundant_count; first = end, ++place) {
        const tn_row_name name = tn_stepper_redundant_row(job->stepper, first);
        for (end = first + 1; end < c->redundant_count; ++end)
            if (!same_place(name, tn_stepper_redundant_row(job->stepper, end))) break;
        if (place >= PLACES_SHOWN) continue;
        tell_place(job, first, end);
        shown = end;
    }
    if (place > PLACES_SHOWN) {
        const int rows = c->redundant_count - shown, places = place - PLACES_SHOWN;
        printf("Redundant: %d more row%s of %d more joint%s (--report FILE names them all).\n",
               rows, tnc_plural(rows), places, tnc_plural(places));
    }
    if (c->redundant_count > 0 && !c->contradictory)
        printf(
            "The motion is not affected; how the forces divide among such joints is arbitrary.\n");
}

static void tell_contradiction(const tnc_job* job, const tn_check* c)
{
    char text[320];
    if (!c->contradictory) return;
    row_text(job, c->contradiction, text, sizeof text);
    printf("Contradiction: %s cannot be met together with the others.\n", text);
}

// Of a mechanism that is together: rows depend on where bodies are.
static void tell_rows(const tnc_job* job, const tn_check* c)
{
    tell_mobility(job, c);
    tell_redundancy(job, c);
    tell_contradiction(job, c);
}

static void tell_joints(const tnc_job* job, const tn_check* c)
{
    const char* worst = joint_name(job, c->assembly_joint);
    const bool  none  = tn_model_counts(job->model).joints == 0 && is_assembled(c);
    if (none) printf("There are no joints");
    else if (is_assembled(c)) printf("The joints meet: error %.2e at most", c->assembly_error);
    else printf("The joints do not meet: joint '%s' is off by %.3g", worst, c->assembly_error);
    if (is_assembled(c) && c->assembly_joint.bits) printf(" (joint '%s')", worst);
    printf(".\n");
}

static void tell_assembly(const tnc_job* job, const tn_check* c, const tnc_assembly* a,
                          const tn_why* why)
{
    char text[320];
    if (!a->open) tell_joints(job, c);
    else {
        tnc_assembly_text(job, a, text, sizeof text);
        printf("The joints do not meet at the start: joint '%s' is off by %.3g. ",
               joint_name(job, a->joint), a->report.error_before);
        if (why->result == TN_OK) printf("A run begins by assembling them: %s.\n", text);
        else printf("They cannot be assembled: %s.\n", why->text);
    }
    if (c->velocity_error > still_velocity) {
        printf("The velocities do not fit joint '%s': off by %.3g.%s\n",
               joint_name(job, c->velocity_joint), c->velocity_error,
               c->contradictory ? "" : " A run begins by correcting them.");
    }
}

// Joints that are solved beside the factored forest, under the settings as they are.
static bool is_auxiliary(const tnc_job* job, tn_joint_id joint)
{
    const tn_loops loops = job->settings.multiplier.loops;
    return tn_model_joint_rows(job->model, joint) > 0 &&
           tn_model_joint_auxiliary(job->model, joint, loops);
}

static void tell_auxiliary(const tnc_job* job)
{
    int shown = 0, rows = 0, count = 0;
    for (int i = 1; i <= tn_model_counts(job->model).joints; ++i) {
        const tn_joint_id joint = {(uint32_t)i};
        if (!is_auxiliary(job, joint)) continue;
        rows += tn_model_joint_rows(job->model, joint);
        if (count++ >= PLACES_SHOWN) continue;
        printf("%s'%s'", shown++ > 0 ? ", " : "Auxiliary, solved outside the factored tree: ",
               joint_name(job, joint));
    }
    if (count > shown) printf(" and %d more", count - shown);
    if (count > 0) printf(" (%d row%s).\n", rows, tnc_plural(rows));
}

static void tell_contacts(const tnc_job* job, const start* s)
{
    if (s->contact_count > 0) {
        printf("%d point%s in contact at the start", s->contact_count,
               s->contact_count == 1 ? " is" : "s are");
        if (s->deepest > TNC_ASSEMBLED) {
            printf(", '%s' %.3g m inside '%s'. A run begins by pushing them apart",
                   tn_model_body_name(job->model, s->body2), s->deepest,
                   tn_model_body_name(job->model, s->body1));
        }
        printf(".\n");
    }
    tn_body_id body;
    if (tnc_find_unseen(job->scene, &body)) {
        printf("'%s' passes through everything: shapes of affine and user-defined bodies do not "
               "collide.\n",
               tn_model_body_name(job->model, body));
    }
    if (s->jam[0]) printf("No acceleration exists at the start: %s.\n", s->jam);
}

static void tell_limits(const tnc_job* job, const start* s)
{
    if (s->beyond > TNC_ASSEMBLED) {
        const bool rope = tnc_joint_def(job, s->beyond_joint)->type == TN_JOINT_ROPE;
        printf("%s '%s' is %.3g beyond its %s. A run begins by bringing it back.\n",
               rope ? "Rope" : "Joint", joint_name(job, s->beyond_joint), s->beyond,
               rope ? "length" : "hard limit");
    }
    if (s->idle_joint.bits) {
        printf("The limit of joint '%s' does nothing: it has no stiffness and is not \"hard\".\n",
               joint_name(job, s->idle_joint));
    }
    if (s->soft > TNC_ASSEMBLED) {
        printf("Joint '%s' is %.3g beyond its limit: it is pushed back from the start.\n",
               joint_name(job, s->soft_joint), s->soft);
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
    if (c->part_count > 1) printf("There are %d parts that no joint connects.\n", c->part_count);
    if (c->floating_count > 0) {
        printf("%d part%s not connected to the ground.\n", c->floating_count,
               c->floating_count == 1 ? " is" : "s are");
    }
    if (c->rank_joint.bits && c->rank_margin < narrow_margin) {
        printf("A singular position is near: rank margin %.2e at joint '%s'.\n", c->rank_margin,
               joint_name(job, c->rank_joint));
    }
}

// ---- As JSON -------------------------------------------------------------------------------------

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
    tnc_put_member(out, "{", "min", c->mass_min);
    tnc_put_text_member(out, ", ", "min_body", tn_model_body_name(job->model, c->mass_min_body));
    tnc_put_member(out, ", ", "max", c->mass_max);
    tnc_put_text_member(out, ", ", "max_body", tn_model_body_name(job->model, c->mass_max_body));
    tnc_put_member(out, ", ", "ratio", c->mass_min > 0 ? c->mass_max / c->mass_min : 1);
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

static void put_auxiliary(tnc_out* out, const tnc_job* job)
{
    const char* before = "";
    put_key(out, "auxiliary");
    tnc_put(out, "{\"joints\": [");
    for (int i = 1; i <= tn_model_counts(job->model).joints; ++i) {
        const tn_joint_id joint = {(uint32_t)i};
        if (!is_auxiliary(job, joint)) continue;
        tnc_put(out, "%s", before);
        tnc_put_text(out, joint_name(job, joint));
        before = ", ";
    }
    tnc_put(out, "]}");
}

static void put_start(tnc_out* out, const tnc_job* job, const start* s)
{
    put_key(out, "contacts");
    tnc_put(out, "{\"count\": %d, \"deepest\": ", s->contact_count);
    tnc_put_number(out, s->deepest);
    tnc_put(out, ", \"bodies\": ");
    if (s->deepest > 0) {
        tnc_put(out, "[");
        tnc_put_text(out, tn_model_body_name(job->model, s->body1));
        tnc_put(out, ", ");
        tnc_put_text(out, tn_model_body_name(job->model, s->body2));
        tnc_put(out, "]");
    } else tnc_put(out, "null");
    tnc_put(out, ", \"jam\": ");
    if (s->jam[0]) tnc_put_text(out, s->jam);
    else tnc_put(out, "null");
    tnc_put(out, "}");
    put_key(out, "limits");
    put_worst(out, job, "beyond", s->beyond, s->beyond_joint);
}

// Put together, or not: then with the joint that cannot close.
static void put_assembly(tnc_out* out, const tnc_job* job, const tnc_assembly* a, const tn_why* why)
{
    if (!a->open) tnc_put(out, "null");
    else if (why->result == TN_OK) tnc_put_assembly(out, job, a);
    else {
        tnc_put_member(out, "{", "before", a->report.error_before);
        tnc_put_text_member(out, ", ", "joint", joint_name(job, a->report.worst_joint));
        tnc_put_text_member(out, ", ", "why", why->text);
        tnc_put(out, "}");
    }
}

static void put_all(tnc_out* out, const tnc_job* job, const tn_check* c, const start* s,
                    const tnc_assembly* a, const tn_why* why)
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
    put_auxiliary(out, job);
    put_start(out, job, s);
    put_key(out, "assembly");
    put_assembly(out, job, a, why);
    put_key(out, "assembled");
    tnc_put(out, "%s", is_assembled(c) ? "true" : "false");
    put_key(out, "contradictory");
    tnc_put(out, "%s\n}\n", c->contradictory ? "true" : "false");
}

// ---- The command ---------------------------------------------------------------------------------

static int check(tnc_job* job, tnc_out* out, bool quiet)
{
    tn_check        c;
    tnc_assembly    a;
    tn_why          why = {0}, open = {0};
    const tn_result put = tnc_job_assemble(job, &a, &open);
    if (tn_stepper_check(job->stepper, job->state, &c, &why) != TN_OK) {
        tnc_complain_why(job->origin, &why);
        return TNC_STOPPED;
    }
    start s = {0};
    look_at_contacts(job, &s);
    look_at_limits(job, &s);
    if (out->file) put_all(out, job, &c, &s, &a, &open);
    const bool console = out->file == stdout;
    const bool written = tnc_out_close(out);
    if (!console && !quiet) {
        tell_counts(job);
        if (put == TN_OK) tell_rows(job, &c);
        tell_assembly(job, &c, &a, &open);
        tell_remarks(job, &c);
        tell_auxiliary(job);
        tell_contacts(job, &s);
        tell_limits(job, &s);
    }
    if (put != TN_OK) {
        tnc_complain_why(job->origin, &open);
        return tnc_exit_code(put);
    }
    const bool good = is_assembled(&c) && is_clear(&s) && !c.contradictory;
    return written && good ? TNC_DONE : TNC_STOPPED;
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
