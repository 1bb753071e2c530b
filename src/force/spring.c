// spring: pulls two points together along the line between them, -(k (|D| - length) + d |D|dot)
// D/|D|.
#include "force/force.h"

typedef struct stretch {
    tn_vec3 direction; ///< from point 1 to point 2; zero where they coincide
    double  length, rate;
} stretch;

static stretch stretch_of(const tni_scene_view* at, const tni_spring* spring)
{
    const tni_body*  bodies = at->model->bodies;
    tni_view         scratch;
    const tni_motion a =
        tni_point_motion(&bodies[spring->body1], tni_look(at, spring->body1, &scratch), spring->p1);
    const tni_motion b =
        tni_point_motion(&bodies[spring->body2], tni_look(at, spring->body2, &scratch), spring->p2);
    const tn_vec3 D = tni_sub(b.at, a.at);
    const tn_vec3 n = tni_normalised(D);
    return (stretch){n, tni_norm(D), tni_dot(n, tni_sub(b.rate, a.rate))};
}

static void add(const tni_scene_view* at, double* f)
{
    const tn_vec3 none = {0, 0, 0};
    for (int i = 0; i < at->model->spring_count; ++i) {
        const tni_spring* spring = &at->model->springs[i];
        const tni_body*   bodies = at->model->bodies;
        const stretch     s      = stretch_of(at, spring);
        const double      pull =
            spring->stiffness * (s.length - spring->length) + spring->damping * s.rate;
        tni_apply_wrench(&bodies[spring->body1], &at->views[spring->body1], spring->p1,
                         tni_scale(pull, s.direction), none, f);
        tni_apply_wrench(&bodies[spring->body2], &at->views[spring->body2], spring->p2,
                         tni_scale(-pull, s.direction), none, f);
    }
}

static double energy(const tni_scene_view* at)
{
    double sum = 0;
    for (int i = 0; i < at->model->spring_count; ++i) {
        const double d =
            stretch_of(at, &at->model->springs[i]).length - at->model->springs[i].length;
        sum += 0.5 * at->model->springs[i].stiffness * d * d;
    }
    return sum;
}

const tni_force tni_force_spring = {.add = add, .energy = energy};
