// load: a constant force at a point and a constant torque, within an interval of time. Not stiff;
// its torque r x f changes as the arm rotates.
#include "force/derive.h"

static bool acts(const tni_load* load, double time)
{
    return time >= load->from && time < load->until;
}

static void add(const tni_scene_view* at, double* f)
{
    for (int i = 0; i < at->model->load_count; ++i) {
        const tni_load* load = &at->model->loads[i];
        if (!acts(load, at->time)) continue;
        tni_apply_wrench(&at->model->bodies[load->body], &at->views[load->body], load->p,
                         load->force, load->torque, f);
    }
}

static void derive(const tni_scene_view* at, tni_take_derivative* take, void* user)
{
    for (int i = 0; i < at->model->load_count; ++i) {
        const tni_load* load = &at->model->loads[i];
        tni_derivation  d;
        if (!acts(load, at->time)) continue;
        tni_derivation_begin(&d, at, 0, load->body);
        for (int k = 0; k < 3; ++k) {
            const tni_derived_row row = tni_derived_point(load->p, k);
            tni_derivation_add(&d, &row, tni_at(load->force, k));
        }
        tni_derivation_end(&d, NULL, NULL, take, user);
    }
}

const tni_force tni_force_load = {.add = add, .derive = derive};
