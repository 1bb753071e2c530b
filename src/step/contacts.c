// contacts: what can be asked about contacts and limits after a step or an evaluation.
#include "step/stepper.h"

static bool is_contact(const tni_unilateral* stop)
{
    return stop->limit < 0 && stop->gap <= tni_contact_gap;
}

int tn_stepper_contact_count(const tn_stepper* stepper)
{
    return tn_stepper_contacts(stepper, NULL, 0);
}

static tn_contact describe(const tn_stepper* stepper, const tni_unilateral* stop)
{
    const tni_contact* touch   = &stop->contact;
    tn_contact         contact = {.body1 = {(uint32_t)touch->body1},
                                  .body2 = {(uint32_t)touch->body2},
                                  .gap   = stop->gap,
                                  .slip  = tni_unilateral_slip(stop)};
    tni_contact_place(stepper->model, touch, stepper->system->views, &contact.position,
                      &contact.normal);
    contact.force = tni_scale(stop->force[0], contact.normal);
    for (int i = 1; i <= stop->slip_count; ++i)
        contact.force = tni_add_scaled(contact.force, stop->force[i], stop->across[i - 1]);
    return contact;
}

int tn_stepper_contacts(const tn_stepper* stepper, tn_contact* contacts, int capacity)
{
    const tni_unilaterals* a     = &stepper->system->unilaterals;
    int                    count = 0;
    for (int i = 0; i < a->unilateral_count; ++i) {
        if (!is_contact(&a->unilaterals[i])) continue;
        if (count < capacity) contacts[count] = describe(stepper, &a->unilaterals[i]);
        ++count;
    }
    return count;
}

static bool is_upper(const tni_limit* limit)
{
    return limit->kind == TNI_LIMIT_UPPER || limit->kind == TNI_LIMIT_TWIST_UPPER ||
           limit->kind == TNI_LIMIT_CONE;
}

double tn_stepper_limit_force(const tn_stepper* stepper, tn_joint_id joint)
{
    const tni_unilaterals* a        = &stepper->system->unilaterals;
    const tn_model*        model    = stepper->model;
    double                 sum      = 0;
    const bool             implicit = stepper->implicit.after.h > 0; // the last step was one
    TN_ASSERT(joint.bits > 0 && (int)joint.bits <= model->named_count);
    for (int i = 0; i < (implicit ? model->limit_count : a->unilateral_count); ++i) {
        const int at = implicit ? i : a->unilaterals[i].limit;
        if (at < 0 || model->joints[model->limits[at].joint].constraint != (int)joint.bits - 1)
            continue;
        const double force = implicit ? stepper->implicit.after.multipliers[model->row_count + i]
                                      : a->unilaterals[i].force[0];
        sum += is_upper(&model->limits[at]) ? -force : force;
    }
    return sum;
}
