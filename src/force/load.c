// load: a constant force at a point and a constant torque, from one time until another.
#include "force/force.h"

static void add(const tni_scene_view* at, double* f)
{
    for (int i = 0; i < at->model->load_count; ++i) {
        const tni_load* load = &at->model->loads[i];
        if (at->time < load->from || at->time >= load->until) continue;
        tni_apply_wrench(&at->model->bodies[load->body], &at->views[load->body], load->p,
                         load->force, load->torque, f);
    }
}

const tni_force tni_force_load = {.add = add};
