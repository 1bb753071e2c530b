// compliant_springs: springs between bodies in the form `rows`.
//
// Three rows: along the spring with its stiffness, and two across it with its tension over its
// length. A spring as stiff as a rod must be treated as a rod: when its bodies rotate, the linear
// prediction of its length is too long by (h w)^2 L/2, and this stretch would add energy. So
// corrections (step/implicit.c) close it as they close a joint: with `off` the length at the end
// less the predicted one, the row along it asks for
//
//     J du - E dmu = -(off - corrected) / e      corrected <- off
#include "system/compliant_node.h"

static tn_vec3 line_of(const tni_compliant* c, int spring)
{
    const tni_spring* s      = &c->model->springs[spring];
    const tni_body*   bodies = c->model->bodies;
    const tni_view*   views  = c->system->views;
    return tni_sub(tni_point_motion(&bodies[s->body2], &views[s->body2], s->p2).at,
                   tni_point_motion(&bodies[s->body1], &views[s->body1], s->p1).at);
}

static double mass_of(const tni_body* body)
{
    return body->kind == TN_BODY_USER ? 0 : body->mass;
}

void tni_compliant_spring(tni_compliant* c, const tni_soft* soft, const double* W, double* g)
{
    const tni_compliant_place* at   = &c->springs[soft->index];
    const tni_spring*          s    = &c->model->springs[soft->index];
    const tn_vec3              line = line_of(c, soft->index), n = tni_normalised(line);
    const tn_vec3              a =
        tni_normalised(tni_cross(n, fabs(n.x) < 0.6 ? tni_vec3(1, 0, 0) : tni_vec3(0, 1, 0)));
    const tn_vec3          axes[3] = {n, a, tni_cross(n, a)};
    tni_compliant_stretch* stretch = &c->stretches[soft->index];
    *stretch                       = (tni_compliant_stretch){.n = n, .length = tni_norm(line)};
    if (!(stretch->length > 0)) return; // no direction: its force, if any, is an ordinary one
    tn_vec3 left = {0, 0, 0};
    for (int k = 0; k < 3; ++k) {
        const tn_vec3 e    = axes[k];
        const double  v[3] = {e.x, e.y, e.z};
        double        w = 0, push = 0;
        for (int i = 0; i < 9; ++i) w += v[i / 3] * W[i] * v[i % 3];
        for (int i = 0; i < 3; ++i) push += v[i] * g[i];
        if (w > 1e-100) tni_compliant_row(c, at->node, at->row + k, soft, 0, 3, v, w, push);
        else left = tni_add_scaled(left, push, e);
        if (k == 0) stretch->on = c->closes && w > 1e-100;
    }
    tni_write3(g, left);
    const double m =
        fmin(mass_of(&c->model->bodies[s->body1]), mass_of(&c->model->bodies[s->body2]));
    stretch->stiff = fmin(1, c->reach * c->reach * s->stiffness / fmax(m, 1e-100));
}

// J u of the row along a spring.
static double along(tni_compliant* c, int spring, const double* u)
{
    const tni_compliant_place* at        = &c->springs[spring];
    const tni_spring*          s         = &c->model->springs[spring];
    const int                  bodies[2] = {s->body1, s->body2};
    double                     sum       = 0;
    for (int side = 0; side < 2; ++side) {
        const tni_body* body = &c->model->bodies[bodies[side]];
        const double*   J    = tni_compliant_block(c, at->node, bodies[side]) + at->row * body->dim;
        for (int k = 0; k < body->dim; ++k) sum += J[k] * u[body->u_start + k];
    }
    return sum;
}

double tni_compliant_springs_evaluate(tni_compliant* c, const tni_step_scheme* scheme,
                                      const double* u)
{
    double most = 0;
    for (int i = 0; i < c->model->spring_count; ++i) {
        tni_compliant_stretch* s = &c->stretches[i];
        if (c->springs[i].node < 0 || !s->on) continue;
        double moved = c->reach * along(c, i, u);
        if (scheme->drift != NULL) moved += scheme->h * along(c, i, scheme->drift);
        s->off = tni_norm(line_of(c, i)) - (s->length + moved);
        most   = fmax(most, s->stiff * fabs(s->off - s->corrected));
    }
    return most;
}

void tni_compliant_set_targets(tni_compliant* c, bool whole, double* rhs)
{
    for (int i = 0; i < c->model->spring_count; ++i) {
        tni_compliant_stretch* s = &c->stretches[i];
        if (c->springs[i].node < 0 || !s->on) continue;
        const int row = c->nodes[c->springs[i].node].row + c->springs[i].row;
        if (!whole) rhs[row] = -(s->off - s->corrected) / c->reach;
        s->corrected = s->off;
    }
}
