// suspects: what the steps of a run left that is worth a look, by kind and element.
#include "motion.h"

static bool same(const tnc_suspect* a, tn_suspect_kind kind, const tn_suspect* b)
{
    return a->kind == kind && a->joint.bits == b->joint.bits && a->body.bits == b->body.bits;
}

static void add(tnc_suspect* sum, tn_suspect_kind kind, const tn_suspect* suspect, double time)
{
    if (sum->count == 0) sum->time = time;
    if (sum->count++ > 0 && !(suspect->amount > sum->amount)) return;
    sum->kind   = kind;
    sum->joint  = suspect->joint;
    sum->body   = suspect->body;
    sum->amount = suspect->amount;
}

void tnc_suspects_add(tnc_suspects* suspects, const tn_suspect* of_step, double time)
{
    for (int kind = 0; kind < TN_SUSPECT_COUNT; ++kind) {
        int i = 0;
        if (of_step[kind].count == 0) continue;
        add(&suspects->kinds[kind], (tn_suspect_kind)kind, &of_step[kind], time);
        while (i < suspects->count &&
               !same(&suspects->list[i], (tn_suspect_kind)kind, &of_step[kind]))
            ++i;
        if (i == TNC_SUSPECT_ROOM) continue;
        if (i == suspects->count) ++suspects->count;
        add(&suspects->list[i], (tn_suspect_kind)kind, &of_step[kind], time);
    }
}

static const char* why_of(const tnc_job* job, const tnc_motion* m, tn_suspect_kind kind)
{
    const bool loose = m->assembly.open && // a loop that rounded data leave open
                       m->assembly.report.error_after > job->settings.impulse.tolerance;
    if (kind == TN_SUSPECT_OPEN && loose)
        return "the parts do not fit to within impulse.tolerance: give more digits, or a larger "
               "tolerance";
    return tn_suspect_why(kind);
}

static const char* name_of(const tnc_job* job, const tnc_suspect* s)
{
    if (s->joint.bits) return tn_model_joint_name(job->model, s->joint);
    if (s->body.bits) return tn_model_body_name(job->model, s->body);
    return "mechanism";
}

// ---- As JSON and in words --------------------------------------------------------------------------

void tnc_put_suspects(tnc_out* out, const tnc_job* job, const tnc_motion* m)
{
    tnc_put(out, "  \"suspect\": [");
    for (int i = 0; i < m->suspects.count; ++i) {
        const tnc_suspect* s = &m->suspects.list[i];
        tnc_put_text_member(out, i > 0 ? ",\n    {" : "\n    {", "what", tn_suspect_word(s->kind));
        tnc_put_text_member(out, ", ", "element", name_of(job, s));
        tnc_put_member(out, ", ", "amount", s->amount);
        tnc_put(out, ", \"count\": %lld", s->count);
        tnc_put_member(out, ", ", "time", s->time);
        tnc_put_text_member(out, ", ", "why", why_of(job, m, s->kind));
        tnc_put(out, "}");
    }
    tnc_put(out, m->suspects.count > 0 ? "\n  ],\n" : "],\n");
}

// Unit of the coordinate that a limit or rope holds.
static const char* limited_unit(const tnc_job* job, tn_joint_id joint)
{
    const tn_joint_def* def = tnc_joint_def(job, joint);
    if (!def) return "m or rad";
    switch (def->type) {
    case TN_JOINT_ROPE:
    case TN_JOINT_SLIDER: return "m";
    case TN_JOINT_HINGE:
    case TN_JOINT_BALL: return "rad";
    default: return "m or rad";
    }
}

static void print_amount(const tnc_job* job, const tnc_suspect* s)
{
    switch (s->kind) {
    case TN_SUSPECT_ENERGY: printf("energy gain of %.3g J", s->amount); break;
    case TN_SUSPECT_PENETRATION:
        printf("penetration of ");
        if (s->joint.bits) printf("%.3g %s", s->amount, limited_unit(job, s->joint));
        else if (s->amount < 0.1) printf("%.3g mm", 1e3 * s->amount);
        else printf("%.3g m", s->amount);
        break;
    case TN_SUSPECT_OPEN: printf("open by %.3g m or rad", s->amount); break;
    case TN_SUSPECT_CLAMPED: printf("damping clamped by %.3g %%", 100 * s->amount); break;
    default: printf("%s, off by %.3g m/s", tn_suspect_word(s->kind), s->amount);
    }
}

void tnc_print_suspects(const tnc_job* job, const tnc_motion* m)
{
    for (int kind = 0; kind < TN_SUSPECT_COUNT; ++kind) {
        const tnc_suspect* s = &m->suspects.kinds[kind];
        if (s->count == 0) continue;
        printf("suspect       ");
        print_amount(job, s);
        if (s->joint.bits) printf(" at joint '%s'", name_of(job, s));
        else if (s->body.bits) printf(" at body '%s'", name_of(job, s));
        printf(", first at t = %.4g s (%lld step%s): %s\n", s->time, s->count,
               s->count == 1 ? "" : "s", why_of(job, m, (tn_suspect_kind)kind));
    }
}
