// cone_law: f(w) = P_K(p - (w + s n)/R), its derivative and the residual of the law, of one element. The formulas are
// those at the top of cone_newton.c.
#include "linalg/cone_law.h"

static const double TURNED = 0.98; // cosine of slip directions that count as one
static const double BENT   = 1.5;  // ratio of stiffnesses across the slip that count as one

// Active sets.
enum {
    SLIP_STICK = 1,
    SLIP_SLIDE = 2,
    PUSHES     = 4,
    SPIN_STICK = 8,
    ROLL_STICK = 16,
    ROLL_SLIDE = 32
};

// Bounded rows: y, and f = P(y) = y * what is returned, or an end of the interval.
static double bounded_force(const tni_cone_element* e, double R, const double* p, const double* w,
                            double* y, double* f)
{
    for (int i = 0; i < e->count; ++i) f[i] = y[i] = (R * p[i] - w[i]) / (R + e->compliance);
    if (e->count == 1) {
        f[0] = fmin(fmax(y[0], e->low), e->high);
        return f[0] == y[0] ? 1 : 0;
    }
    const double size = tni_cone_length(y, e->count), scale = size > e->high ? e->high / size : 1;
    for (int i = 0; i < e->count; ++i) f[i] *= scale;
    return scale;
}

// f = P(p - (w + s n)/R); returns the active set.
uint8_t tni_cone_force(const tni_cone_element* e, double kappa, const double* w, double* f)
{
    const double R    = kappa * e->weight[0];
    uint8_t      mode = 0;
    for (int i = 0; i < e->count; ++i) f[i] = 0;
    if (e->kind == TNI_CONE_OPEN || !(R > 0)) return 0;
    if (e->kind == TNI_CONE_EQUAL) {
        for (int i = 0; i < e->count; ++i) {
            const double Ri = kappa * (e->W[i] > 0 ? e->W[i] : e->weight[0]);
            f[i]            = e->p[i] - w[i] / Ri;
        }
        return PUSHES | SLIP_STICK;
    }
    if (e->kind == TNI_CONE_BOUNDED) {
        double y[TNI_CONE_ROWS];
        return bounded_force(e, R, e->p, w, y, f) == 1 ? SLIP_STICK : SLIP_SLIDE;
    }
    const double soft = R + e->compliance, rho = R / soft;
    const double yn = e->compliance > 0 ? (R * e->p[0] - w[0] - e->shift) / soft
                                        : e->p[0] - (w[0] + e->shift) / R;
    if (e->kind == TNI_CONE_ONE_SIDED) {
        f[0] = fmax(yn, 0);
        return yn > 0 ? PUSHES : 0;
    }
    double       y[2] = {0, 0};
    const double mu   = e->friction;
    for (int i = 0; i < e->slip_count; ++i) y[i] = e->p[1 + i] - w[1 + i] / R;
    const double yt = tni_cone_length(y, e->slip_count);
    if (yt <= mu * yn) {
        if (!(yn > 0)) return 0;
        f[0] = yn;
        for (int i = 0; i < e->slip_count; ++i) f[1 + i] = y[i];
        mode = PUSHES | SLIP_STICK;
    } else if (rho * mu * yt <= -yn) {
        return 0;
    } else {
        const double fn = (yn + rho * mu * yt) / (1 + rho * mu * mu);
        f[0]            = fn;
        for (int i = 0; i < e->slip_count; ++i) f[1 + i] = mu * fn * y[i] / yt;
        mode = PUSHES | (e->slip_count > 0 && mu > 0 ? SLIP_SLIDE : 0);
    }
    if (e->spin_count > 0) {
        const int    i     = tni_cone_spin_row(e);
        const double bound = e->spinning * e->radius, R1 = kappa * e->weight[1];
        const double s = R1 > 0 ? e->p[i] - w[i] / R1 : 0;
        f[i]           = fmax(-bound, fmin(bound, s));
        if (R1 > 0 && fabs(s) < bound) mode |= SPIN_STICK;
    }
    if (e->roll_count > 0) {
        const int    i     = tni_cone_roll_row(e);
        const double bound = e->rolling * e->radius, R2 = kappa * e->weight[2];
        double       s[2] = {0, 0};
        for (int k = 0; k < e->roll_count && R2 > 0; ++k) s[k] = e->p[i + k] - w[i + k] / R2;
        const double size  = tni_cone_length(s, e->roll_count),
                     scale = size > bound ? bound / size : 1;
        for (int k = 0; k < e->roll_count; ++k) f[i + k] = scale * s[k];
        if (R2 > 0 && bound > 0) mode |= size > bound ? ROLL_SLIDE : ROLL_STICK;
    }
    return mode;
}

double* tni_cone_add_basis(tni_cone_element* e, double stiffness)
{
    double* v = e->basis[e->basis_count];
    for (int i = 0; i < e->count; ++i) v[i] = 0;
    e->stiffness[e->basis_count++] = stiffness;
    return v;
}

// Directions across a slide y of a disc of rows from `row` on whose force has the size f.
static void add_slide(tni_cone_element* e, int row, const double* y, int count, double f, double R)
{
    const double size = tni_cone_length(y, count);
    if (count < 2 || !(size > 0) || !(f > 0)) return;
    double* v  = tni_cone_add_basis(e, f / (R * size));
    v[row]     = -y[1] / size;
    v[row + 1] = y[0] / size;
}

// Bounded rows that slip: across their direction only, f (1 - y y^T)/(R |y|).
static void linearise_slipping(tni_cone_element* e, double R)
{
    double       y[TNI_CONE_ROWS], f[TNI_CONE_ROWS];
    const double scale = bounded_force(e, R, e->p, e->w, y, f), size = tni_cone_length(y, e->count);
    if (e->count == 1 || !(scale > 0)) return;
    for (int i = 0; i < e->count; ++i) y[i] /= size;
    for (int i = 0; i < e->count && e->basis_count < e->count - 1; ++i) { // Gram and Schmidt
        double v[TNI_CONE_ROWS] = {0};
        v[i]                    = 1;
        for (int b = -1; b < e->basis_count; ++b) {
            const double* from = b < 0 ? y : e->basis[b];
            double        dot  = 0;
            for (int k = 0; k < e->count; ++k) dot += from[k] * v[k];
            for (int k = 0; k < e->count; ++k) v[k] -= dot * from[k];
        }
        const double left = tni_cone_length(v, e->count);
        if (!(left > 0.5)) continue; // of three axes at least two have that much across y
        double* to = tni_cone_add_basis(e, scale / (R + e->compliance));
        for (int k = 0; k < e->count; ++k) to[k] = v[k] / left;
    }
}

// G at w, as basis and stiffness.
void tni_cone_linearise(tni_cone_element* e, double kappa)
{
    double       f[TNI_CONE_ROWS];
    const double R = kappa * e->weight[0], mu = e->friction;
    e->mode        = tni_cone_force(e, kappa, e->w, f);
    e->basis_count = 0;
    if (e->kind == TNI_CONE_EQUAL) {
        for (int i = 0; i < e->count && R > 0; ++i)
            tni_cone_add_basis(e, 1 / (kappa * (e->W[i] > 0 ? e->W[i] : e->weight[0])))[i] = 1;
        return;
    }
    if (e->kind == TNI_CONE_BOUNDED) {
        for (int i = 0; i < e->count && (e->mode & SLIP_STICK) != 0; ++i)
            tni_cone_add_basis(e, 1 / (R + e->compliance))[i] = 1;
        if ((e->mode & SLIP_SLIDE) != 0) linearise_slipping(e, R);
        return;
    }
    const double soft = R + e->compliance;
    if ((e->mode & SLIP_SLIDE) != 0) {
        double y[2] = {0, 0};
        for (int i = 0; i < e->slip_count; ++i) y[i] = e->p[1 + i] - e->w[1 + i] / R;
        const double yt = tni_cone_length(y, e->slip_count), norm = 1 / sqrt(1 + mu * mu);
        double*      v =
            tni_cone_add_basis(e, e->compliance > 0 ? (1 + mu * mu) / (soft + mu * mu * R) : 1 / R);
        v[0] = norm;
        for (int i = 0; i < e->slip_count; ++i) v[1 + i] = norm * mu * y[i] / yt;
        add_slide(e, 1, y, e->slip_count, mu * f[0], R);
    } else if ((e->mode & PUSHES) != 0) {
        tni_cone_add_basis(e, 1 / soft)[0] = 1;
        for (int i = 0; i < e->slip_count && (e->mode & SLIP_STICK) != 0; ++i)
            tni_cone_add_basis(e, 1 / R)[1 + i] = 1;
    }
    if ((e->mode & SPIN_STICK) != 0)
        tni_cone_add_basis(e, 1 / (kappa * e->weight[1]))[tni_cone_spin_row(e)] = 1;
    const int i = tni_cone_roll_row(e);
    for (int k = 0; k < e->roll_count && (e->mode & ROLL_STICK) != 0; ++k)
        tni_cone_add_basis(e, 1 / (kappa * e->weight[2]))[i + k] = 1;
    if ((e->mode & ROLL_SLIDE) != 0) {
        double       s[2] = {0, 0};
        const double R2   = kappa * e->weight[2];
        for (int k = 0; k < e->roll_count; ++k) s[k] = e->p[i + k] - e->w[i + k] / R2;
        add_slide(e, i, s, e->roll_count, e->rolling * e->radius, R2);
    }
}

// Bounded rows: whether the factored matrix still has what stands across the slip.
static bool slips_alike(const tni_cone_element* e, double R)
{
    double       y[TNI_CONE_ROWS], f[TNI_CONE_ROWS], along = 0;
    const double scale = bounded_force(e, R, e->p, e->w, y, f), size = tni_cone_length(y, e->count);
    if (e->count == 1 || e->basis_count == 0) return true;
    for (int b = 0; b < e->basis_count; ++b) {
        double dot = 0;
        for (int k = 0; k < e->count; ++k) dot += e->basis[b][k] * y[k];
        along += dot * dot;
    }
    const double g = scale / (R + e->compliance), was = e->stiffness[0];
    return along <= (1 - TURNED * TURNED) * size * size && g <= BENT * was && was <= BENT * g;
}

// Whether the factored matrix still has G at w, nearly.
bool tni_cone_stands(const tni_cone_element* e, double kappa)
{
    double        f[TNI_CONE_ROWS];
    const uint8_t mode = tni_cone_force(e, kappa, e->w, f);
    if (mode != e->mode) return false;
    const double R = kappa * e->weight[0];
    if (e->kind == TNI_CONE_BOUNDED) return mode == SLIP_STICK || slips_alike(e, R);
    if ((mode & SLIP_SLIDE) == 0 || e->slip_count < 2) return true;
    double y[2];
    for (int i = 0; i < 2; ++i) y[i] = e->p[1 + i] - e->w[1 + i] / R;
    const double yt = tni_cone_length(y, 2), c = tni_cone_length(&e->basis[0][1], 2);
    if (!(e->basis[0][1] * y[0] + e->basis[0][2] * y[1] >= TURNED * c * yt)) return false;
    const double g = e->friction * f[0] / (R * yt), was = e->basis_count > 1 ? e->stiffness[1] : 0;
    return g <= BENT * was && was <= BENT * g;
}

// The natural residual of the exact law, in units of w.
double tni_cone_residual(const tni_cone_element* e)
{
    const double W = e->weight[0];
    if (e->kind == TNI_CONE_OPEN) return 0;
    double most = 0;
    if (e->kind == TNI_CONE_EQUAL) {
        for (int i = 0; i < e->count; ++i) most = fmax(most, fabs(e->w[i]));
        return most;
    }
    if (e->kind == TNI_CONE_BOUNDED) {
        double y[TNI_CONE_ROWS], f[TNI_CONE_ROWS];
        (void)bounded_force(e, e->weight[1], e->f, e->w, y, f);
        for (int i = 0; i < e->count; ++i) most = fmax(most, e->weight[1] * fabs(e->f[i] - f[i]));
        return most;
    }
    if (e->compliance > 0)
        most = W * fabs(e->f[0] - fmax(0, (W * e->f[0] - e->w[0]) / (W + e->compliance)));
    else most = fabs(fmin(e->w[0], W * e->f[0]));
    if (e->kind == TNI_CONE_ONE_SIDED) return most;
    const double fn       = fmax(e->f[0], 0);
    const double disc[3]  = {e->friction * fn, e->spinning * fn, e->rolling * fn};
    const int    row[3]   = {1, tni_cone_spin_row(e), tni_cone_roll_row(e)};
    const int    count[3] = {e->slip_count, e->spin_count, e->roll_count};
    const double lever[3] = {1, e->spinning, e->rolling};
    for (int k = 0; k < 3; ++k) {
        double       y[2] = {0, 0}, left[2] = {0, 0};
        const double Wk = e->weight[k];
        for (int i = 0; i < count[k] && Wk > 0; ++i)
            y[i] = e->f[row[k] + i] - e->w[row[k] + i] / Wk;
        const double size  = tni_cone_length(y, count[k]),
                     scale = size > disc[k] ? disc[k] / size : 1;
        for (int i = 0; i < count[k]; ++i) left[i] = e->f[row[k] + i] - scale * y[i];
        most = fmax(most, lever[k] * Wk * tni_cone_length(left, count[k]));
    }
    return most;
}
