// mobility: counts degrees of freedom and redundant rows at a state, and checks whether redundant
// rows contradict each other.
#include "system/mobility.h"

#include "linalg/rank.h"

static tn_row_name name_of_row(const tn_model* model, int row)
{
    const tni_constraint* constraint = tni_constraint_of_row(model, row);
    const int             index      = (int)(constraint - model->constraints);
    const tn_joint_id     joint      = tni_constraint_id(model, index);
    const tn_coupling_id  coupling = {joint.bits ? 0 : (uint32_t)(index - model->named_count) + 1};
    return (tn_row_name){joint, coupling, row - constraint->row_start};
}

static void compare_masses(const tn_model* model, tn_check* check)
{
    for (int i = 1; i < model->body_count; ++i) {
        const tni_body* body = &model->bodies[i];
        if (body->dim == 0 || !(body->mass > 0)) continue;
        if (check->mass_min_body.bits == 0 || body->mass < check->mass_min) {
            check->mass_min      = body->mass;
            check->mass_min_body = (tn_body_id){(uint32_t)i};
        }
        if (check->mass_max_body.bits == 0 || body->mass > check->mass_max) {
            check->mass_max      = body->mass;
            check->mass_max_body = (tn_body_id){(uint32_t)i};
        }
    }
}

// Dependent rows with contradicting targets leave a residual that no answer removes.
static tn_result find_contradiction(tni_system* system, const double* wanted, double scale,
                                    tn_check* check, tn_why* why)
{
    double* r    = system->gamma;
    double  size = 0;
    for (int i = 0; i < system->model->row_count; ++i) {
        r[i] = -wanted[i];
        size = fmax(size, fabs(wanted[i]));
    }
    TRY(tni_system_solve_joints(system, NULL, r, true, why));
    int          row;
    const double residual = tni_system_residual(system, &row);
    if (!check->contradictory && residual > 1e-9 * scale && residual > 0.01 * size) {
        check->contradictory = true;
        check->contradiction = name_of_row(system->model, row - system->model->u_count);
    }
    return TN_OK;
}

// Redundant auxiliary rows, found by their responses.
static tn_result find_dependent(tni_system* system, tn_check* check, tn_row_name* redundant,
                                tn_why* why)
{
    const tni_auxiliary* a = &system->auxiliary;
    if (system->split->auxiliary_rows == 0) return TN_OK;
    memset(system->gamma, 0, sizeof(double) * (size_t)system->model->row_count);
    const tn_result result = tni_system_solve_joints(system, NULL, system->gamma, true, why);
    for (int i = 0; result == TN_OK && i < system->split->auxiliary_count; ++i) {
        const tni_auxiliary_unit* unit  = &a->units[i];
        const int                 first = system->model->constraints[unit->constraint].row_start;
        for (int k = 0; k < unit->row_count; ++k) {
            if (a->dependent[unit->first + k])
                redundant[check->redundant_count++] = name_of_row(system->model, first + k);
        }
    }
    return result;
}

static tn_result find_redundant(tni_system* system, tn_check* check, tn_row_name* redundant,
                                tn_why* why)
{
    const tn_model* model   = system->model;
    tni_arena       scratch = tni_arena_make(&model->arena.host);
    double*         margin  = TNI_TAKE(&scratch, double, model->u_count + model->row_count);
    tn_result       result =
        margin == NULL ? TN_ERR_MEMORY : tni_rank_rows(system->saddle, &scratch, margin);
    for (int i = 0; result == TN_OK && i < model->row_count; ++i) {
        const double m = margin[model->u_count + i];
        if (m <= TNI_RANK_DEPENDENT) {
            redundant[check->redundant_count++] = name_of_row(model, i);
        } else if (m < check->rank_margin) {
            check->rank_margin = m;
            check->rank_joint  = name_of_row(model, i).joint;
        }
    }
    tni_arena_free(&scratch);
    if (result == TN_ERR_MEMORY)
        return tni_fail(why, result, "out of memory while looking for redundant rows");
    return result == TN_OK ? TN_OK : tni_fail(why, result, "a mass is not positive");
}

static tn_result check_joints(tni_system* system, const tni_configuration* at, tn_check* check,
                              tn_row_name* redundant, tn_why* why)
{
    const tn_model* model = system->model;
    tni_unilaterals_clear(&system->unilaterals);
    *check = (tn_check){
        .rank_margin = 1, .part_count = model->part_count, .floating_count = model->floating_count};
    compare_masses(model, check);
    TRY(tni_system_factor(system, at, why));
    TRY(find_redundant(system, check, redundant, why));
    TRY(find_dependent(system, check, redundant, why));
    check->mobility = model->u_count - model->row_count + check->redundant_count;
    int worst;
    check->assembly_error = tni_system_position_error(system, &worst);
    check->assembly_joint = tni_constraint_id(model, worst);
    check->velocity_error = tni_system_velocity_error(system, &worst);
    check->velocity_joint = tni_constraint_id(model, worst);
    double speed          = 1;
    for (int i = 0; i < model->u_count; ++i) speed = fmax(speed, fabs(at->u[i]));
    TRY(find_contradiction(system, system->rate, speed, check, why));
    return find_contradiction(system, system->C, 1e3, check, why);
}

// The joints alone, in their own matrix, whatever solves the steps.
tn_result tni_system_check(tni_system* system, const tni_configuration* at, tn_check* check,
                           tn_row_name* redundant, tn_why* why)
{
    struct tni_step_matrix* const matrix = system->auxiliary.matrix;
    system->auxiliary.matrix             = NULL;
    const tn_result result               = check_joints(system, at, check, redundant, why);
    system->auxiliary.matrix             = matrix;
    return result;
}
