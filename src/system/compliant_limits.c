// compliant_limits: hard limits and ropes in the form `rows`: unilateral rows, active or not. The
// active set is found by the step, starting from the limits that the predicted motion exceeds.
#include "force/soft.h"
#include "system/compliant_node.h"

/// A limit at the start of a step.
typedef struct limit_rate {
    double C, prescribed; ///< C, and the part of its rate that does not depend on u
    double drift;
    double J[2][TNI_DIM_MAX];
} limit_rate;

// J u over both sides.
static double rate_of(const tni_compliant* c, int limit, const limit_rate* o, const double* u)
{
    const tni_joint* joint = &c->model->joints[c->model->limits[limit].joint];
    double           sum   = 0;
    for (int side = 0; side < 2 && u != NULL; ++side) {
        const tni_body* body = &c->model->bodies[side == 0 ? joint->body1 : joint->body2];
        if (body->node >= 0) sum += tni_row_dot(o->J[side], u + body->u_start, body->dim);
    }
    return sum;
}

static limit_rate evaluate_limit(const tni_compliant* c, int i, const tni_step_start* start,
                                 const tni_step_scheme* scheme)
{
    const tn_model*  model = c->model;
    const tni_joint* joint = &model->joints[model->limits[i].joint];
    const tni_view*  views = c->system->views;
    const tni_row    row   = tni_limit_row(model, &model->limits[i], views, start->at.z);
    const tni_body * body1 = &model->bodies[joint->body1], *body2 = &model->bodies[joint->body2];
    limit_rate       o = {.C = row.C};
    if (body1->node >= 0)
        tni_push_row(body1, &views[joint->body1], joint->p1, &joint->F1, &row.push[0], o.J[0]);
    if (body2->node >= 0)
        tni_push_row(body2, &views[joint->body2], joint->p2, &joint->F2, &row.push[1], o.J[1]);
    o.prescribed = row.rate - rate_of(c, i, &o, start->at.u);
    o.drift      = rate_of(c, i, &o, scheme->drift);
    return o;
}

// Predicted gap of limit i at the end of a step with the mean velocity u.
static double gap_after(const tni_compliant* c, int i, const limit_rate* o,
                        const tni_step_scheme* scheme, const double* u)
{
    return o->C + scheme->h * (rate_of(c, i, o, u) + o->prescribed);
}

static void set_limit(tni_compliant* c, int i, const tni_step_start* start,
                      const tni_step_scheme* scheme)
{
    const tni_joint*          joint = &c->model->joints[c->model->limits[i].joint];
    const tni_compliant_node* n     = &c->nodes[c->limits[i].node];
    const int                 row   = c->limits[i].row;
    if (n->id < 0) return;
    const limit_rate o = evaluate_limit(c, i, start, scheme);
    if (!start->keep_active_set)
        c->limit_active[i] = gap_after(c, i, &o, scheme, start->predicted) < 0;
    if (!c->limit_active[i]) return;
    for (int side = 0; side < 2; ++side) {
        const int body  = side == 0 ? joint->body1 : joint->body2;
        double*   block = tni_compliant_block(c, c->limits[i].node, body);
        const int dim   = c->model->bodies[body].dim;
        if (block != NULL) memcpy(block + row * dim, o.J[side], sizeof *block * (size_t)dim);
    }
    tni_compliant_e(c, c->limits[i].node)[row * (n->count + 1)] = 0;
    c->rhs[n->row + row] = (-o.C / scheme->h - o.drift - o.prescribed) / scheme->share;
}

void tni_compliant_limits(tni_compliant* c, const tni_linear* l)
{
    for (int i = 0; i < c->model->limit_count; ++i) set_limit(c, i, l->start, l->scheme);
}

double tni_compliant_evaluate(tni_compliant* c, const double* z, int* worst)
{
    double most = 0;
    for (int i = 0; i < c->model->limit_count; ++i) {
        c->limit_C[i] = tni_limit_row(c->model, &c->model->limits[i], c->system->views, z).C;
        if (!c->limit_active[i] || !(fabs(c->limit_C[i]) > most)) continue;
        most   = fabs(c->limit_C[i]);
        *worst = c->limits[i].node;
    }
    return most;
}

bool tni_compliant_update_active_set(tni_compliant* c, const tni_step_start* start,
                                     const tni_step_scheme* scheme, const double* u)
{
    bool changed = false;
    for (int i = 0; i < c->model->limit_count; ++i) {
        const tni_compliant_node* n = &c->nodes[c->limits[i].node];
        if (n->id < 0) continue;
        bool on = c->limit_active[i] && c->limit_mu[i] <= 0; // it pushes
        if (!c->limit_active[i]) {
            const limit_rate o = evaluate_limit(c, i, start, scheme);
            on                 = gap_after(c, i, &o, scheme, u) < 0;
        }
        changed            = changed || on != c->limit_active[i];
        c->limit_active[i] = on;
    }
    return changed;
}

bool tni_compliant_meets(const tni_compliant* c, const double* forces)
{
    for (int i = 0; i < c->model->limit_count; ++i)
        if (c->limit_active[i] && (forces == NULL || forces[i] == 0)) return true;
    return false;
}
