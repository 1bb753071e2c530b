// suspect: what a finished step left that is worth a look, by what the report counts already.
#include "step/stepper.h"

// Depth beyond which an overlap, or an excess over a hard limit or rope, is told [m or rad].
static const double deep = 1e-3;

static const char* const words[] = {
#define WORD(name, word, why) word,
    TN_SUSPECT_LIST(WORD)
#undef WORD
};
static const char* const reasons[] = {
#define REASON(name, word, why) why,
    TN_SUSPECT_LIST(REASON)
#undef REASON
};

const char* tn_suspect_word(tn_suspect_kind kind)
{
    return (unsigned)kind < TN_SUSPECT_COUNT ? words[kind] : "unknown";
}

const char* tn_suspect_why(tn_suspect_kind kind)
{
    return (unsigned)kind < TN_SUSPECT_COUNT ? reasons[kind] : "";
}

// The deepest of all contacts, limits and ropes: the body that is pushed out, or the joint.
static void name_deepest(const tn_stepper* s, tn_suspect* suspect)
{
    const tn_model*        model = s->model;
    const tni_unilaterals* a     = &s->system->unilaterals;
    const tni_unilateral*  worst = NULL;
    for (int i = 0; i < a->unilateral_count; ++i)
        if (worst == NULL || a->unilaterals[i].gap < worst->gap) worst = &a->unilaterals[i];
    if (worst == NULL) return;
    if (worst->limit >= 0) {
        const int joint = model->limits[worst->limit].joint;
        suspect->joint  = tni_constraint_id(model, model->joints[joint].constraint);
    } else {
        const int body     = model->bodies[worst->contact.body2].node >= 0 ? worst->contact.body2
                                                                           : worst->contact.body1;
        suspect->body.bits = (uint32_t)body;
    }
}

void tni_find_suspects(const tn_stepper* s, tn_step_report* report)
{
    const tn_method method = s->settings.method;
    const bool      hard   = method == TN_METHOD_IMPULSE || method == TN_METHOD_MULTIPLIER;
    if (hard && report->deepest > deep) { // soft contacts need some depth to push
        tn_suspect* suspect = &report->suspects[TN_SUSPECT_PENETRATION];
        *suspect            = (tn_suspect){.count = 1, .amount = report->deepest};
        name_deepest(s, suspect);
    }
    if (s->impulse.energy.count > 0) {
        const tni_energy_watch* watch = &s->impulse.energy;
        report->suspects[TN_SUSPECT_ENERGY] =
            (tn_suspect){.count = watch->count, .amount = watch->most};
        if (watch->body >= 0) report->suspects[TN_SUSPECT_ENERGY].body.bits = (uint32_t)watch->body;
    }
    if (report->unclosed_count > 0)
        report->suspects[TN_SUSPECT_OPEN] = (tn_suspect){.count  = report->unclosed_count,
                                                         .amount = report->joint_error,
                                                         .joint  = report->worst_joint};
    if (s->system->cut.share > 0) {
        const tni_joint* joint = &s->model->joints[s->system->cut.joint];
        report->suspects[TN_SUSPECT_CLAMPED] =
            (tn_suspect){.count  = 1,
                         .amount = s->system->cut.share,
                         .joint  = tni_constraint_id(s->model, joint->constraint)};
    }
    if (report->jam_count > 0)
        report->suspects[TN_SUSPECT_JAM] =
            (tn_suspect){.count = report->jam_count, .amount = report->complementarity};
}
