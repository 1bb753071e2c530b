// model: queries on a compiled model.
#include "model/model.h"

tn_counts tn_model_counts(const tn_model* model)
{
    return (tn_counts){.bodies    = model->body_count - 1,
                       .joints    = model->named_count,
                       .couplings = model->coupling_count,
                       .springs   = model->spring_count,
                       .targets   = model->target_count,
                       .loads     = model->load_count,
                       .drags     = model->drag_count,
                       .rows      = model->row_count,
                       .freedoms  = model->u_count,
                       .loops     = model->loop_count,
                       .parts     = model->part_count,
                       .bytes     = model->arena.bytes};
}

const char* tn_model_name(const tn_model* model)
{
    return model->name;
}

const char* tn_model_body_name(const tn_model* model, tn_body_id body)
{
    return model->bodies[body.bits].name;
}

const char* tni_constraint_name(const tn_model* model, const tni_constraint* constraint)
{
    switch (constraint->kind) {
    case TNI_CONSTRAINT_JOINT: return model->joints[constraint->index].name;
    case TNI_CONSTRAINT_USER: return model->users[constraint->index].name;
    default: return model->couplings[constraint->index].name;
    }
}

static const tni_constraint* named(const tn_model* model, tn_joint_id joint)
{
    TN_ASSERT(joint.bits > 0 && (int)joint.bits <= model->named_count);
    return &model->constraints[joint.bits - 1];
}

const char* tn_model_joint_name(const tn_model* model, tn_joint_id joint)
{
    return tni_constraint_name(model, named(model, joint));
}

tn_body_kind tn_model_body_kind(const tn_model* model, tn_body_id body)
{
    return model->bodies[body.bits].kind;
}

tn_vec3 tn_model_body_com(const tn_model* model, tn_body_id body)
{
    return model->bodies[body.bits].com;
}

void tn_model_body_inertia(const tn_model* model, tn_body_id body, double inertia[6])
{
    const double* m    = model->bodies[body.bits].inertia.m;
    const double  i[6] = {m[0], m[4], m[8], m[1], m[2], m[5]};
    memcpy(inertia, i, sizeof i);
}

double tn_model_body_mass(const tn_model* model, tn_body_id body)
{
    return model->bodies[body.bits].mass;
}

tn_body_id tn_model_find_body(const tn_model* model, const char* name)
{
    for (int i = 1; i < model->body_count; ++i) {
        if (strcmp(model->bodies[i].name, name) == 0) return (tn_body_id){(uint32_t)i};
    }
    return (tn_body_id){0};
}

tn_joint_id tn_model_find_joint(const tn_model* model, const char* name)
{
    for (int i = 0; i < model->named_count; ++i) {
        if (strcmp(tni_constraint_name(model, &model->constraints[i]), name) == 0)
            return (tn_joint_id){(uint32_t)i + 1};
    }
    return (tn_joint_id){0};
}

void* tn_model_body_user_data(const tn_model* model, tn_body_id body)
{
    TN_ASSERT(body.bits < (uint32_t)model->body_count);
    return model->body_user_data[body.bits];
}

void* tn_model_joint_user_data(const tn_model* model, tn_joint_id joint)
{
    TN_ASSERT(joint.bits > 0 && (int)joint.bits <= model->named_count);
    return model->joint_user_data[joint.bits - 1];
}

static const char* name_at(const tni_names* names, uint32_t bits)
{
    TN_ASSERT(bits > 0 && bits <= (uint32_t)names->count);
    return names->of[bits - 1];
}

static uint32_t find_name(const tni_names* names, const char* name)
{
    for (int i = 0; i < names->count; ++i) {
        if (names->of[i] != NULL && strcmp(names->of[i], name) == 0) return (uint32_t)i + 1;
    }
    return 0;
}

const char* tn_model_coupling_name(const tn_model* model, tn_coupling_id coupling)
{
    return name_at(&model->coupling_names, coupling.bits);
}

tn_coupling_id tn_model_find_coupling(const tn_model* model, const char* name)
{
    return (tn_coupling_id){find_name(&model->coupling_names, name)};
}

const char* tn_model_spring_name(const tn_model* model, tn_spring_id spring)
{
    return name_at(&model->spring_names, spring.bits);
}

tn_spring_id tn_model_find_spring(const tn_model* model, const char* name)
{
    return (tn_spring_id){find_name(&model->spring_names, name)};
}

const char* tn_model_target_name(const tn_model* model, tn_target_id target)
{
    return name_at(&model->target_names, target.bits);
}

tn_target_id tn_model_find_target(const tn_model* model, const char* name)
{
    return (tn_target_id){find_name(&model->target_names, name)};
}

const char* tn_model_load_name(const tn_model* model, tn_load_id load)
{
    return name_at(&model->load_names, load.bits);
}

tn_load_id tn_model_find_load(const tn_model* model, const char* name)
{
    return (tn_load_id){find_name(&model->load_names, name)};
}

const char* tn_model_drag_name(const tn_model* model, tn_drag_id drag)
{
    return name_at(&model->drag_names, drag.bits);
}

tn_drag_id tn_model_find_drag(const tn_model* model, const char* name)
{
    return (tn_drag_id){find_name(&model->drag_names, name)};
}

int tn_model_joint_rows(const tn_model* model, tn_joint_id joint)
{
    return named(model, joint)->row_count;
}

int tn_model_joint_coordinates(const tn_model* model, tn_joint_id joint)
{
    const tni_constraint* constraint = named(model, joint);
    return constraint->kind == TNI_CONSTRAINT_JOINT
               ? model->joints[constraint->index].coordinate_count
               : 0;
}

int tn_model_coordinate_count(const tn_model* model)
{
    return model->coordinate_count;
}

int tn_model_joint_coordinate_start(const tn_model* model, tn_joint_id joint)
{
    const tni_constraint* const end = model->constraints + model->named_count;
    for (const tni_constraint* at = named(model, joint); at < end;
         ++at) { // user-defined constraints have none
        if (at->kind == TNI_CONSTRAINT_JOINT) return model->joints[at->index].coordinate_start;
    }
    return model->coordinate_count;
}

const char* tn_model_row_text(const tn_model* model, tn_joint_id id, int row)
{
    const tni_constraint* constraint = named(model, id);
    TN_ASSERT(row >= 0 && row < constraint->row_count);
    if (constraint->kind != TNI_CONSTRAINT_JOINT) return "user-defined row";
    const tni_joint* joint = &model->joints[constraint->index];
    return joint->type->parts[joint->parts[row]].text;
}

const tni_constraint* tni_constraint_of_row(const tn_model* model, int row)
{
    int lower = 0,
        upper = model->constraint_count; // row_start of lower <= row < row_start of upper
    while (upper - lower > 1) {
        const int middle = lower + (upper - lower) / 2;
        if (model->constraints[middle].row_start <= row) lower = middle;
        else upper = middle;
    }
    return &model->constraints[lower];
}
