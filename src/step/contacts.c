// contacts: queries about contacts and limits after a step or an evaluation.
#include "step/stepper.h"

static bool is_contact(const tni_unilateral* unilateral)
{
    return unilateral->limit < 0 && unilateral->gap <= tni_contact_gap;
}

int tn_stepper_contact_count(const tn_stepper* stepper)
{
    const tni_auxiliary* a     = &stepper->system->auxiliary;
    int                  count = 0;
    for (int i = 0; i < a->unilateral_count; ++i) count += is_contact(&a->unilaterals[i]);
    return count;
}

tn_contact tn_stepper_contact(const tn_stepper* stepper, int index)
{
    const tni_auxiliary* a  = &stepper->system->auxiliary;
    int                  at = 0;
    while (at < a->unilateral_count && (!is_contact(&a->unilaterals[at]) || index-- > 0)) ++at;
    TN_ASSERT(at < a->unilateral_count);
    const tni_unilateral* unilateral = &a->unilaterals[at];
    const tni_contact*    point      = &unilateral->contact;
    tn_contact            contact    = {.body1 = {(uint32_t)point->body1},
                                        .body2 = {(uint32_t)point->body2},
                                        .gap   = unilateral->gap,
                                        .slip  = tni_unilateral_slip(unilateral)};
    tni_contact_place(stepper->model, point, stepper->system->views, &contact.position,
                      &contact.normal);
    contact.force = tni_scale(unilateral->force[0], contact.normal);
    for (int i = 1; i <= unilateral->slip_count; ++i)
        contact.force =
            tni_add_scaled(contact.force, unilateral->force[i], unilateral->across[i - 1]);
    return contact;
}

static bool is_upper(const tni_limit* limit)
{
    return limit->kind == TNI_LIMIT_UPPER || limit->kind == TNI_LIMIT_TWIST_UPPER ||
           limit->kind == TNI_LIMIT_CONE;
}

double tn_stepper_limit_force(const tn_stepper* stepper, tn_joint_id joint)
{
    const tni_auxiliary* a        = &stepper->system->auxiliary;
    const tn_model*      model    = stepper->model;
    double               sum      = 0;
    const bool           implicit = stepper->implicit.after.h > 0; // the last step was an implicit
                                                                   // one
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
