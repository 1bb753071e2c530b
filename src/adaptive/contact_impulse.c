// contact_impulse: impulses between points in contact of one island.
//
//     w = W P + b,   W = J M^-1 J^T = y y^T,   conditions of complementarity.h
// y being the lists along paths from limbs to their roots (impulse_response.c). A small island has W written
// down and is solved by sweeps and Newton (friction_cone.c). A large one is swept over by the lists alone,
//     w of a point = b + y s,   s += y dP
// each point being solved for exactly, others fixed (cone_point.c), with Anderson's acceleration.
// Velocities have P0 in them already (link_contact.c): b = J v+ - W P0; a point that nothing can move has
// no rows, but its P0 is taken out all the same.
#include "adaptive/link_contact.h"

enum { SWEEPS = 200 };

static const double goal    = TNI_COMPLEMENTARITY_SOLVED;
static const double share   = 0.2; // of what is deeper than the slop, taken away in a step
static const double fastest = 1;   // [m/s], at most

// ---- The problem ---------------------------------------------------------------------------------

static int used(const tni_link_contacts* fs, const tni_link_contact* g)
{
    return g->out ? 0 : fs->quiet ? 1 : g->rows;
}

// out += y s, s += y f: of the first n rows.
static void gather(const tni_link_contacts* fs, const tni_link_contact* g, int n, const double* s,
                   double* out)
{
    const int*    columns = fs->columns + g->column;
    const double* y       = fs->y + g->y;
    for (int c = 0; c < g->count; ++c, y += g->rows)
        for (int k = 0; k < n; ++k) out[k] += y[k] * s[columns[c]];
}

static void scatter(const tni_link_contacts* fs, const tni_link_contact* g, int n, const double* f,
                    double* s)
{
    const int*    columns = fs->columns + g->column;
    const double* y       = fs->y + g->y;
    for (int c = 0; c < g->count; ++c, y += g->rows)
        for (int k = 0; k < n; ++k) s[columns[c]] += y[k] * f[k];
}

void tni_link_contacts_clear(const tni_link_contacts* fs, int first, int count)
{
    for (int i = first; i < first + count; ++i) {
        const tni_link_contact* g = &fs->footings[fs->order[i]];
        for (int c = 0; c < g->count; ++c) fs->s[fs->columns[g->column + c]] = 0;
    }
}

// The normal rate that it must have at least.
static double want_of(const tni_link_contacts* fs, const tni_link_contact* g, double h)
{
    if (g->gap >= -tni_link_contact_slop || !fs->quiet)
        return g->bounce > 0 && !fs->quiet ? g->bounce : -fmax(g->gap, 0) / h;
    return fmin(share * (-g->gap - tni_link_contact_slop) / h, fastest);
}

static void state_rows(const tni_link_contacts* fs, const tni_link_contact* g, double h)
{
    const tni_material* m = &g->touch.material;
    const int           n = used(fs, g), row = g->first;
    for (int k = 0; k < n; ++k) {
        fs->condition[row + k] = n > 1 ? TNI_TANGENT : TNI_ONE_SIDED;
        fs->mu[row + k]        = m->friction;
        fs->f[row + k]         = fs->quiet ? 0 : g->before[k];
        fs->b[row + k]         = g->rate[k] - (k == 0 ? want_of(fs, g, h) : 0);
    }
    if (n <= 1) return;
    fs->condition[row] = TNI_NORMAL;
    for (int k = 1 + g->slip; k < n; ++k) {
        const bool spin        = k < 1 + g->slip + g->spin;
        fs->condition[row + k] = spin ? TNI_SPIN : TNI_ROLL;
        fs->mu[row + k]        = spin ? m->spinning : m->rolling;
    }
}

// ---- W that is not written down ------------------------------------------------------------------

static const tni_link_contact* footing_at(const tni_link_contacts* fs, int i)
{
    return &fs->footings[fs->order[fs->first_of + i]];
}

static const double* block_of(const tni_link_contacts* fs, const tni_link_contact* g)
{
    return fs->block + TNI_CONTACT_ROWS * TNI_CONTACT_ROWS * (g - fs->footings);
}

static int find_contacts(void* user, const tni_complementarity* p, tni_cone_point* grips)
{
    const tni_link_contacts* fs      = user;
    double                   largest = 0;
    int                      count   = 0;
    for (int i = 0; i < fs->count_of; ++i) {
        const tni_link_contact* g = footing_at(fs, i);
        for (int k = 0; k < used(fs, g); ++k)
            largest = fmax(largest, block_of(fs, g)[(TNI_CONTACT_ROWS + 1) * k]);
    }
    for (int i = 0; i < fs->count_of; ++i) {
        const tni_link_contact* g     = footing_at(fs, i);
        const double*           block = block_of(fs, g);
        double                  diagonal[TNI_CONTACT_ROWS];
        if (used(fs, g) == 0) continue;
        grips[count] = tni_cone_point_find(p->n, g->first, p->condition, NULL, NULL, p->mu);
        for (int k = 0; k < used(fs, g); ++k) diagonal[k] = block[(TNI_CONTACT_ROWS + 1) * k];
        tni_cone_point_weigh(&grips[count++], diagonal, largest);
    }
    return count;
}

static void spread_all(const tni_link_contacts* fs, const double* f)
{
    tni_link_contacts_clear(fs, fs->first_of, fs->count_of);
    for (int i = 0; i < fs->count_of; ++i) {
        const tni_link_contact* g = footing_at(fs, i);
        scatter(fs, g, used(fs, g), f + g->first, fs->s);
    }
}

static void apply_contacts(void* user, const double* f, double* a)
{
    const tni_link_contacts* fs = user;
    spread_all(fs, f);
    for (int i = 0; i < fs->count_of; ++i) {
        const tni_link_contact* g = footing_at(fs, i);
        const int               n = used(fs, g);
        for (int k = 0; k < n; ++k) a[g->first + k] = 0;
        gather(fs, g, n, fs->s, a + g->first);
    }
}

static double sweep_contacts(void* user, const tni_complementarity* p, const tni_cone_point* grips,
                             int count)
{
    const tni_link_contacts* fs  = user;
    double                   sum = 0;
    int                      at  = 0;
    (void)count;
    spread_all(fs, p->f);
    for (int i = 0; i < fs->count_of; ++i) {
        const tni_link_contact* g     = footing_at(fs, i);
        const int               n     = used(fs, g);
        const double*           block = block_of(fs, g);
        double*                 f     = p->f + g->first;
        double                  a[TNI_CONTACT_ROWS], F[TNI_CONTACT_ROWS], change[TNI_CONTACT_ROWS];
        if (n == 0) continue;
        for (int k = 0; k < n; ++k) a[k] = p->b[g->first + k], change[k] = -f[k];
        gather(fs, g, n, fs->s, a);
        sum += tni_cone_point_residual(&grips[at], 0, f, a, F);
        tni_cone_point_solve(&grips[at++], block, TNI_CONTACT_ROWS, f, a);
        for (int k = 0; k < n; ++k) change[k] += f[k];
        scatter(fs, g, n, change, fs->s);
    }
    return sum;
}

// ---- Solving -------------------------------------------------------------------------------------

// W of the island: one row at a time is spread, and seen by those that follow.
static void write_W(const tni_link_contacts* fs, int n)
{
    double one[TNI_CONTACT_ROWS] = {0};
    for (int i = 0; i < fs->count_of; ++i) {
        const tni_link_contact* g = footing_at(fs, i);
        for (int k = 0; k < used(fs, g); ++k) {
            const int at  = g->first + k;
            double*   row = fs->W + n * at;
            one[k]        = 1;
            scatter(fs, g, k + 1, one, fs->s);
            one[k] = 0;
            for (int j = g->first; j < n; ++j) row[j] = 0;
            for (int j = i; j < fs->count_of; ++j) {
                const tni_link_contact* other = footing_at(fs, j);
                gather(fs, other, used(fs, other), fs->s, row + other->first);
            }
            for (int j = at + 1; j < n; ++j) fs->W[n * j + at] = row[j];
            for (int c = 0; c < g->count; ++c) fs->s[fs->columns[g->column + c]] = 0;
        }
    }
}

// f of the n rows; returns what the conditions are off by.
static double solve_rows(tni_link_contacts* fs, int n)
{
    const tni_complementarity p = {.n         = n,
                                   .symmetric = true,
                                   .W         = fs->W,
                                   .b         = fs->b,
                                   .condition = fs->condition,
                                   .mu        = fs->mu,
                                   .f         = fs->f,
                                   .a         = fs->a};
    int                       rounds, row;
    double                    residual;
    if (n <= TNI_LINK_CONTACT_DIRECT) {
        tni_link_contacts_clear(fs, fs->first_of, fs->count_of);
        write_W(fs, n);
        (void)tni_cone_solve(fs->cone, &p, &rounds);
        return tni_complementarity_residual(&p, &row);
    }
    const tni_operator op = {
        .user = fs, .find = find_contacts, .apply = apply_contacts, .sweep = sweep_contacts};
    (void)tni_cone_solve_operator(fs->far, &p, &op, 0, SWEEPS, goal, 0, &rounds, &residual, &row);
    return residual;
}

// b is w at P = 0: what is in the velocities by P0 is taken out of it.
static void take_out_before(const tni_link_contacts* fs)
{
    double any = 0;
    tni_link_contacts_clear(fs, fs->first_of, fs->count_of);
    for (int i = 0; i < fs->count_of; ++i) {
        const tni_link_contact* g = footing_at(fs, i);
        double                  minus[TNI_CONTACT_ROWS];
        for (int k = 0; k < g->rows; ++k) minus[k] = -g->before[k], any += fabs(minus[k]);
        scatter(fs, g, g->rows, minus, fs->s);
    }
    for (int i = 0; any > 0 && i < fs->count_of; ++i) {
        const tni_link_contact* g = footing_at(fs, i);
        gather(fs, g, used(fs, g), fs->s, fs->b + g->first);
    }
}

void tni_link_contacts_solve(tni_link_contacts* fs, int first, int count, double h)
{
    int n        = 0;
    fs->first_of = first;
    fs->count_of = count;
    for (int i = 0; i < count; ++i) {
        tni_link_contact* g = &fs->footings[fs->order[first + i]];
        g->first            = n;
        n += used(fs, g);
        state_rows(fs, g, h);
    }
    if (!fs->quiet) take_out_before(fs);
    const double off    = n > 0 ? solve_rows(fs, n) : 0;
    fs->complementarity = fmax(fs->complementarity, off);
    tni_link_contacts_clear(fs, first, count);
    for (int i = 0; i < count; ++i) {
        tni_link_contact* g = &fs->footings[fs->order[first + i]];
        double            change[TNI_CONTACT_ROWS];
        const int         rows = used(fs, g);
        for (int k = 0; k < g->rows; ++k) {
            const double f = k < rows ? fs->f[g->first + k] : 0;
            change[k]      = fs->quiet ? f : f - g->before[k];
            if (fs->quiet) continue;
            g->f[k]    = f;
            g->rate[k] = k < rows ? fs->a[g->first + k] + (k == 0 ? want_of(fs, g, h) : 0) : 0;
        }
        scatter(fs, g, fs->quiet ? rows : g->rows, change, fs->s);
    }
}
