// contact_impulse: impulses at the contact points of one island.
//
//     w = W P + b,   W = J M^-1 J^T = y y^T,   conditions of complementarity.h
// y being the half responses along the paths from links to their roots (impulse_response.c). For a
// small island W is formed and solved by Gauss-Seidel sweeps and Newton's method (friction_cone.c).
// A large one is swept over matrix-free,
//     w of a point = b + y s,   s += y dP
// each point being solved exactly with the others fixed (cone_point.c), with Anderson acceleration.
// Velocities already include P0 (link_contact.c): b = J v+ - W P0. An immovable point has no rows,
// but its P0 is subtracted all the same.
#include "adaptive/link_contact.h"

enum { SWEEPS = 200 };

static const double goal = TNI_COMPLEMENTARITY_SOLVED;
// part of the penetration beyond the slop that is corrected in a step
static const double share   = 0.2;
static const double fastest = 1; // [m/s]; largest separation velocity

// ---- The problem -------------------------------------------------------------------------------

static int rows_used(const tni_link_contacts* fs, const tni_link_contact* g)
{
    return g->immovable ? 0 : fs->normals_only ? 1 : g->rows;
}

// out += y s; s += y f: the first n rows of a point.
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
        const tni_link_contact* g = &fs->points[fs->order[i]];
        for (int c = 0; c < g->count; ++c) fs->s[fs->columns[g->column + c]] = 0;
    }
}

// The least normal velocity of a point [m/s].
static double wanted_rate(const tni_link_contacts* fs, const tni_link_contact* g, double h)
{
    if (g->gap >= -tni_link_contact_slop || !fs->normals_only)
        return g->bounce > 0 && !fs->normals_only ? g->bounce : -fmax(g->gap, 0) / h;
    return fmin(share * (-g->gap - tni_link_contact_slop) / h, fastest);
}

static void fill_rows(const tni_link_contacts* fs, const tni_link_contact* g, double h)
{
    const tni_material* m = &g->touch.material;
    const int           n = rows_used(fs, g), row = g->first;
    for (int k = 0; k < n; ++k) {
        fs->condition[row + k] = n > 1 ? TNI_TANGENT : TNI_ONE_SIDED;
        fs->mu[row + k]        = m->friction;
        fs->f[row + k]         = fs->normals_only ? 0 : g->P0[k];
        fs->b[row + k]         = g->rate[k] - (k == 0 ? wanted_rate(fs, g, h) : 0);
    }
    if (n <= 1) return;
    fs->condition[row] = TNI_NORMAL;
    for (int k = 1 + g->slip; k < n; ++k) {
        const bool spin        = k < 1 + g->slip + g->spin;
        fs->condition[row + k] = spin ? TNI_SPIN : TNI_ROLL;
        fs->mu[row + k]        = spin ? m->spinning : m->rolling;
    }
}

// ---- Matrix-free W -----------------------------------------------------------------------------

static const tni_link_contact* point_at(const tni_link_contacts* fs, int i)
{
    return &fs->points[fs->order[fs->first_of + i]];
}

static const double* block_of(const tni_link_contacts* fs, const tni_link_contact* g)
{
    return fs->block + TNI_CONTACT_ROWS * TNI_CONTACT_ROWS * (g - fs->points);
}

static int find_contacts(void* user, const tni_complementarity* p, tni_cone_point* cones)
{
    const tni_link_contacts* fs      = user;
    double                   largest = 0;
    int                      count   = 0;
    for (int i = 0; i < fs->count_of; ++i) {
        const tni_link_contact* g = point_at(fs, i);
        for (int k = 0; k < rows_used(fs, g); ++k)
            largest = fmax(largest, block_of(fs, g)[(TNI_CONTACT_ROWS + 1) * k]);
    }
    for (int i = 0; i < fs->count_of; ++i) {
        const tni_link_contact* g     = point_at(fs, i);
        const double*           block = block_of(fs, g);
        double                  diagonal[TNI_CONTACT_ROWS];
        if (rows_used(fs, g) == 0) continue;
        cones[count] = tni_cone_point_find(p->n, g->first, p->condition, NULL, NULL, p->mu);
        for (int k = 0; k < rows_used(fs, g); ++k) diagonal[k] = block[(TNI_CONTACT_ROWS + 1) * k];
        tni_cone_point_weigh(&cones[count++], diagonal, largest);
    }
    return count;
}

static void spread_all(const tni_link_contacts* fs, const double* f)
{
    tni_link_contacts_clear(fs, fs->first_of, fs->count_of);
    for (int i = 0; i < fs->count_of; ++i) {
        const tni_link_contact* g = point_at(fs, i);
        scatter(fs, g, rows_used(fs, g), f + g->first, fs->s);
    }
}

static void apply_contacts(void* user, const double* f, double* a)
{
    const tni_link_contacts* fs = user;
    spread_all(fs, f);
    for (int i = 0; i < fs->count_of; ++i) {
        const tni_link_contact* g = point_at(fs, i);
        const int               n = rows_used(fs, g);
        for (int k = 0; k < n; ++k) a[g->first + k] = 0;
        gather(fs, g, n, fs->s, a + g->first);
    }
}

static double sweep_contacts(void* user, const tni_complementarity* p, const tni_cone_point* cones,
                             int count)
{
    const tni_link_contacts* fs  = user;
    double                   sum = 0;
    int                      at  = 0;
    (void)count;
    spread_all(fs, p->f);
    for (int i = 0; i < fs->count_of; ++i) {
        const tni_link_contact* g     = point_at(fs, i);
        const int               n     = rows_used(fs, g);
        const double*           block = block_of(fs, g);
        double*                 f     = p->f + g->first;
        double                  a[TNI_CONTACT_ROWS], F[TNI_CONTACT_ROWS], change[TNI_CONTACT_ROWS];
        if (n == 0) continue;
        for (int k = 0; k < n; ++k) a[k] = p->b[g->first + k], change[k] = -f[k];
        gather(fs, g, n, fs->s, a);
        sum += tni_cone_point_residual(&cones[at], 0, f, a, F);
        tni_cone_point_solve(&cones[at++], block, TNI_CONTACT_ROWS, f, a);
        for (int k = 0; k < n; ++k) change[k] += f[k];
        scatter(fs, g, n, change, fs->s);
    }
    return sum;
}

// ---- Solving -----------------------------------------------------------------------------------

// Forms W: scatters one row at a time, and gathers it at the points from there on.
static void write_W(const tni_link_contacts* fs, int n)
{
    double one[TNI_CONTACT_ROWS] = {0};
    for (int i = 0; i < fs->count_of; ++i) {
        const tni_link_contact* g = point_at(fs, i);
        for (int k = 0; k < rows_used(fs, g); ++k) {
            const int at  = g->first + k;
            double*   row = fs->W + n * at;
            one[k]        = 1;
            scatter(fs, g, k + 1, one, fs->s);
            one[k] = 0;
            for (int j = g->first; j < n; ++j) row[j] = 0;
            for (int j = i; j < fs->count_of; ++j) {
                const tni_link_contact* other = point_at(fs, j);
                gather(fs, other, rows_used(fs, other), fs->s, row + other->first);
            }
            for (int j = at + 1; j < n; ++j) fs->W[n * j + at] = row[j];
            for (int c = 0; c < g->count; ++c) fs->s[fs->columns[g->column + c]] = 0;
        }
    }
}

// Solves for f of the n rows; returns the residual of the conditions.
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
    (void)tni_cone_solve_operator(fs->far, &p, &op, SWEEPS, goal, &residual);
    return residual;
}

// b is w at P = 0: subtracts the effect of P0, which the velocities include.
static void subtract_P0(const tni_link_contacts* fs)
{
    double any = 0;
    tni_link_contacts_clear(fs, fs->first_of, fs->count_of);
    for (int i = 0; i < fs->count_of; ++i) {
        const tni_link_contact* g = point_at(fs, i);
        double                  minus[TNI_CONTACT_ROWS];
        for (int k = 0; k < g->rows; ++k) minus[k] = -g->P0[k], any += fabs(minus[k]);
        scatter(fs, g, g->rows, minus, fs->s);
    }
    for (int i = 0; any > 0 && i < fs->count_of; ++i) {
        const tni_link_contact* g = point_at(fs, i);
        gather(fs, g, rows_used(fs, g), fs->s, fs->b + g->first);
    }
}

void tni_link_contacts_solve(tni_link_contacts* fs, int first, int count, double h)
{
    int n        = 0;
    fs->first_of = first;
    fs->count_of = count;
    for (int i = 0; i < count; ++i) {
        tni_link_contact* g = &fs->points[fs->order[first + i]];
        g->first            = n;
        n += rows_used(fs, g);
        fill_rows(fs, g, h);
    }
    if (!fs->normals_only) subtract_P0(fs);
    const double off    = n > 0 ? solve_rows(fs, n) : 0;
    fs->complementarity = fmax(fs->complementarity, off);
    tni_link_contacts_clear(fs, first, count);
    for (int i = 0; i < count; ++i) {
        tni_link_contact* g = &fs->points[fs->order[first + i]];
        double            change[TNI_CONTACT_ROWS];
        const int         rows = rows_used(fs, g);
        for (int k = 0; k < g->rows; ++k) {
            const double f = k < rows ? fs->f[g->first + k] : 0;
            change[k]      = fs->normals_only ? f : f - g->P0[k];
            if (fs->normals_only) continue;
            g->f[k]    = f;
            g->rate[k] = k < rows ? fs->a[g->first + k] + (k == 0 ? wanted_rate(fs, g, h) : 0) : 0;
        }
        scatter(fs, g, fs->normals_only ? rows : g->rows, change, fs->s);
    }
}
