// spring: pulls two points together along the line between them, -(k (|D| - length) + d |D|dot)
// D/|D|.
//
// Softened, along the three world axes of D = point 2 less point 1, with n = D/|D|:
//     K = k n n^T + max(0, k (|D| - length)/|D|) (1 - n n^T),     D = d n n^T
// The second part is the stiffness of a spring under tension against a change of direction; under
// pressure it would be negative and is left out. Points that coincide pull in no direction, except
// for length = 0. Exact derivative, with the whole pull and its damping:
//     K = k n n^T + pull/|D| (1 - n n^T) + d/|D| n ((1 - n n^T) Ddot)^T
#include "force/derive.h"
#include "force/soft.h"

typedef struct stretch {
    tn_vec3 direction; ///< from point 1 to point 2; zero where they coincide
    double  length, rate;
    tn_vec3 drift; ///< part of the rate across the direction
} stretch;

static stretch stretch_of(const tni_scene_view* at, const tni_spring* spring)
{
    const tni_body*  bodies = at->model->bodies;
    tni_view         scratch;
    const tni_motion a     = tni_point_motion(&bodies[spring->body1],
                                              tni_view_of(at, spring->body1, &scratch), spring->p1);
    const tni_motion b     = tni_point_motion(&bodies[spring->body2],
                                              tni_view_of(at, spring->body2, &scratch), spring->p2);
    const tn_vec3    D     = tni_sub(b.at, a.at);
    const tn_vec3    n     = tni_normalised(D);
    const tn_vec3    rate  = tni_sub(b.rate, a.rate);
    const double     along = tni_dot(n, rate);
    return (stretch){n, tni_norm(D), along, tni_add_scaled(rate, -along, n)};
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

// ---- Softened -----------------------------------------------------------------------------------

static void soften_pull(const tni_spring* spring, const stretch* s, tni_soft* soft)
{
    const double k = spring->stiffness, tension = k * (s->length - spring->length);
    const double across = s->length > 0 ? fmax(0, tension / s->length) : spring->length > 0 ? 0 : k;
    const double n[3]   = {s->direction.x, s->direction.y, s->direction.z};
    tni_soft_clear(soft, 3);
    if (spring->length > 0) soft->line = s->direction;
    tni_write3(soft->f, tni_scale(-tension, s->direction));
    for (int i = 0; i < 9; ++i) {
        soft->K[i] = (k - across) * n[i / 3] * n[i % 3] + (i % 4 == 0 ? across : 0);
        soft->D[i] = spring->damping * n[i / 3] * n[i % 3];
    }
}

// Prescribed motion of a kinematic body at the spring's end p, into f.
static void add_prescribed_motion(const tni_scene_view* at, const tni_prediction* predicted,
                                  int body, tn_vec3 p, double sign, tni_soft* soft)
{
    tni_prescribed_motion prescribed;
    double                J[18], d[3], rate[3];
    if (!tni_prescribed_motion_of(at, predicted, body, &prescribed)) return;
    tni_soft_point(&at->model->bodies[body], &at->views[body], p, sign, J);
    for (int k = 0; k < 3; ++k) {
        d[k]    = tni_row_dot(J + 6 * k, prescribed.d, 6);
        rate[k] = tni_row_dot(J + 6 * k, prescribed.rate, 6);
    }
    for (int k = 0; k < 3; ++k) {
        soft->f[k] -= tni_row_dot(soft->K + 3 * k, d, 3) + tni_row_dot(soft->D + 3 * k, rate, 3);
        soft->known[k] += d[k];
    }
}

static void soften(const tni_scene_view* at, const tni_prediction* predicted, tni_take_soft* take,
                   void* user)
{
    tni_soft soft;
    for (int i = 0; i < at->model->spring_count; ++i) {
        const tni_spring* spring        = &at->model->springs[i];
        const int         body[2]       = {spring->body1, spring->body2};
        const tn_vec3     p[2]          = {spring->p1, spring->p2};
        const stretch     s             = stretch_of(at, spring);
        int               movable_count = 0;
        soften_pull(spring, &s, &soft);
        soft.index   = i;
        soft.body[0] = 0;
        for (int side = 1; side >= 0; --side) { // a single movable side is side 1
            const tni_body* b    = &at->model->bodies[body[side]];
            const double    sign = side == 1 ? 1 : -1;
            if (b->dim == 0) add_prescribed_motion(at, predicted, body[side], p[side], sign, &soft);
            if (b->dim == 0) continue;
            soft.body[1 - movable_count] = body[side];
            tni_soft_point(b, &at->views[body[side]], p[side], sign, soft.J[1 - movable_count]);
            ++movable_count;
        }
        soft.kind = movable_count == 2 ? TNI_SOFT_SPRING : TNI_SOFT_BODY;
        if (movable_count > 0) take(user, &soft);
    }
}

static void derive(const tni_scene_view* at, tni_take_derivative* take, void* user)
{
    for (int i = 0; i < at->model->spring_count; ++i) {
        const tni_spring* spring = &at->model->springs[i];
        const stretch     s      = stretch_of(at, spring);
        const double      n[3]   = {s.direction.x, s.direction.y, s.direction.z},
                     drift[3]    = {s.drift.x, s.drift.y, s.drift.z};
        const double k = spring->stiffness, d = spring->damping,
                     pull     = k * (s.length - spring->length) + d * s.rate;
        const double   across = s.length > 0 ? pull / s.length : spring->length > 0 ? 0 : k;
        const double   sway   = s.length > 0 ? d / s.length : 0;
        double         K[9], D[9];
        tni_derivation der;
        for (int j = 0; j < 9; ++j) {
            K[j] = (k - across) * n[j / 3] * n[j % 3] + (j % 4 == 0 ? across : 0) +
                   sway * n[j / 3] * drift[j % 3];
            D[j] = d * n[j / 3] * n[j % 3];
        }
        tni_derivation_begin(&der, at, spring->body1, spring->body2);
        for (int j = 0; j < 3; ++j) {
            const tni_derived_row row = tni_derived_difference(spring->p1, spring->p2, j);
            tni_derivation_add(&der, &row, -pull * n[j]);
        }
        tni_derivation_end(&der, K, D, take, user);
    }
}

static bool damps(const tn_model* model)
{
    for (int i = 0; i < model->spring_count; ++i)
        if (model->springs[i].damping > 0) return true;
    return false;
}

static void pushed(const tn_model* model, tni_take_pushed* take, void* user)
{
    for (int i = 0; i < model->spring_count; ++i)
        take(user, model->springs[i].body1, model->springs[i].body2);
}

const tni_force tni_force_spring = {.place  = TNI_FORCE_EXTERNAL,
                                    .add    = add,
                                    .energy = energy,
                                    .soften = soften,
                                    .derive = derive,
                                    .damps  = damps,
                                    .pushed = pushed};
