// impulse_soft: contacts with a stiffness and damping of their own, in the step's matrix. A point that is gap g apart pushes
// with max(0, -k g - d gdot), in both halves of the step by the rule of springs (system/soft_rows.c):
//
//     kick   p = -h/2 [ k ((1-a) min(g0, 0) + a g1) + d ((1-th) gdot0 + th gdot+) ],    g1: where the flight ends
//     land   p = -h/2 [ k (m1 + 2 a (m0 - m1)) + a h k gdot1 + d ((1-th) gdot' + th gdot1) ],   m = min(g, 0)
//
// A point that comes or leaves within the step is pushed for the part of it on which it touches, m0 in the kick and m1 on
// landing times that part: what it takes from the motion is what it gives back. And p >= 0: p = p0 - W gdot with W = h/2 (a h k + th d) is the one-sided row f >= 0, gdot + f/W - p0/W >= 0 with the
// compliance 1/W. Friction is in the cone of this force.
#include "step/stepper.h"

static const double least =
    1e-9; // W beside the mass that the point feels: a force that only depends on the start

// Of the point to its own unit force, with its bodies free.
static double response(const tn_stepper* s, int unilateral)
{
    const tni_unilaterals* a   = &s->system->unilaterals;
    const tni_unilateral*  u   = &a->unilaterals[unilateral];
    double                 sum = 0;
    for (int side = 0; side < 2; ++side) {
        const tni_body* body = &s->model->bodies[side == 0 ? u->contact.body1 : u->contact.body2];
        const double*   J    = a->j + a->block_at[2 * unilateral + side];
        double          M[TNI_DIM_MAX * TNI_DIM_MAX], x[TNI_DIM_MAX];
        if (body->node < 0) continue;
        memcpy(M, tni_saddle_a(s->system->saddle, body->node),
               sizeof *M * (size_t)(body->dim * body->dim));
        memcpy(x, J, sizeof *x * (size_t)body->dim);
        if (tni_block_factor(body->dim, M) >= 0) continue;
        tni_block_solve(body->dim, M, x);
        for (int k = 0; k < body->dim; ++k) sum += J[k] * x[k];
    }
    return sum;
}

void tni_impulse_weigh_soft(tn_stepper* s)
{
    tni_unilaterals* a = tni_stops_of(s);
    double *         k = s->impulse.contact_stiffness, *d = s->impulse.contact_damping;
    bool             any = false;
    for (int i = 0; i < a->unilateral_count; ++i)
        any = any || (a->unilaterals[i].soft && !a->unilaterals[i].weighed);
    if (!any || k == NULL) return;
    memset(k, 0, sizeof *k * (size_t)s->model->body_count);
    memset(d, 0, sizeof *d * (size_t)s->model->body_count);
    for (int i = 0; i < a->unilateral_count; ++i) {
        tni_unilateral*     u = &a->unilaterals[i];
        const tni_material* m = &u->contact.material;
        if (!u->soft) continue;
        u->response[0] = response(s, i);
        for (int side = 0; side < 2; ++side) {
            const int body = side == 0 ? u->contact.body1 : u->contact.body2;
            if (s->model->bodies[body].node < 0) continue;
            k[body] += m->stiffness * u->response[0];
            d[body] += m->damping * u->response[0];
        }
    }
    for (int i = 0; i < a->unilateral_count; ++i) {
        tni_unilateral* u = &a->unilaterals[i];
        double          z = 0, y = 0;
        if (!u->soft || u->weighed) continue;
        for (int side = 0; side < 2; ++side) {
            const int body = side == 0 ? u->contact.body1 : u->contact.body2;
            z              = fmax(z, s->impulse.frame * s->impulse.frame * k[body]);
            y              = fmax(y, s->impulse.frame * d[body]);
        }
        const double reduced = z / (1 + 0.5 * y),
                     stiff   = reduced * reduced / (reduced * reduced + 16);
        u->damp_weight       = y < 1e30 ? (1 + 0.5 * y) / (2 + 0.5 * y) : 1;
        u->stiff_weight      = reduced < 1e30 ? stiff + (1 - stiff) * y / (4 + 2 * y) : 1;
        u->weighed           = true;
    }
}

// The row of the force p0 - W gdot, from the rate now.
static void set_row(tni_unilateral* u, double h, double p0)
{
    const tni_material* m = &u->contact.material;
    const double W = 0.5 * h * (u->stiff_weight * h * m->stiffness + u->damp_weight * m->damping);
    const double floor = u->response[0] > 0 ? least / u->response[0] : least;
    u->bend            = 0;
    u->compliance      = 1 / fmax(W, floor);
    u->target[0]       = u->compliance * p0 - u->rate[0];
}

// The part of a step from a gap to another on which they touch.
static double part_inside(double from, double to)
{
    return from < 0 && to > 0 ? from / (from - to) : 1;
}

void tni_impulse_kick_soft(tni_unilateral* u, double h)
{
    const tni_material* m   = &u->contact.material;
    const double        gap = u->start_gap, a = u->stiff_weight;
    const double        rate = gap < 0 ? (1 - u->damp_weight) * m->damping * u->rate[0] : 0;
    u->inside                = part_inside(gap, gap + h * u->rate[0]);
    const double push        = m->stiffness * ((1 - a) * u->inside * fmin(gap, 0) + a * gap);
    set_row(u, h, -0.5 * h * (push + rate));
}

double tni_impulse_correct_soft(tni_unilateral* u, double h)
{
    const double k    = u->contact.material.stiffness;
    const double rate = u->start[0] + u->target[0] + u->residual[0];
    const double bend = u->gap - (u->start_gap + h * rate), change = bend - u->bend;
    const double inside = part_inside(u->start_gap, u->gap),
                 less   = (inside - u->inside) * fmin(u->start_gap, 0);
    const double a = u->stiff_weight, off = (1 - a) * less + a * change;
    u->bend   = bend;
    u->inside = inside;
    u->target[0] -= u->compliance * 0.5 * h * k * off;
    return fabs(off) * fmin(1, 0.5 * h * h * k * u->response[0]);
}

void tni_impulse_land_soft(tni_unilateral* u, double h)
{
    const tni_material* m   = &u->contact.material;
    const double        now = fmin(u->gap, 0);
    const bool          both =
        u->gap_before < 0 && u->gap < 0; // else it was met or left on the way: no look back
    const double part = u->gap_before > 0 ? part_inside(u->gap, u->gap_before) : 1;
    const double look = both ? 2 * u->stiff_weight * (u->gap_before - now) : 0;
    const double rate = u->gap < 0 ? (1 - u->damp_weight) * m->damping * u->rate[0] : 0;
    set_row(u, h, -0.5 * h * (m->stiffness * (part * now + look) + rate));
}
