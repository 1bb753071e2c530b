// coefficients_metric: the exact metric of accelerations of a node, in square-root form.
//
//     A(C) = sum over joints j in C of weight_j |qddot_j|^2 = |G z|^2,   z = (f; m)
//
// m is 1, or m(w) of coefficients.c for nodes that are rigid. The form f^T Psi f + f^T p + eta of
// the paper (Theorems 1 and 2) subtracts large numbers near equilibrium, |f||Psi||f| eps of noise;
// this one has (|G||f| eps)^2 of it. A joint sends fc = Kf z through itself and accelerates by
// qddot = Kq z:
//
//     Kf = [ W H, gamma ],   Kq = [ -U H, R ]           (coefficients.c)
//     G_C = the triangle of  [ G_A T_A ; G_B T_B ; sqrt(weight) Kq ]   by Householder QR
//     T_A: z_C to z_A, kept forces and m as they are, -X^T Kf added to the force `at`
//     T_B: kept forces as they are, m turned, Kf added to the force 0
//
// Rows of a child's triangle that start beyond the columns of the handle that the joint holds know
// nothing of Kf: they stay triangular and serve as pivots. So with those columns first ("lead")
// only 6 rows of each child are full, and a reflection of column j mixes one triangular row with 12
// + d full ones, instead of 27 rows with each other: 7 kflop instead of 12 for 2 + 2 -> 2 handles
// and a hinge, 1.6 us; 16 instead of 32, 3.1 us, with m(w). Rows whose column is zero all over are
// passed by: G may have fewer rows than columns, row i zero before column i.
// Reflections of the columns of forces may be kept ("turns"): they are the same for any m, so that
// of a node that is rigid but pushed only the last column is made, by them: 0.45 us.
#include "adaptive/coefficients_parts.h"

#include "math/simd.h"

enum {
    PAD    = 3, // zeros behind each row, so that columns go by fours
    STRIDE = TNI_ROOT_COLS + PAD,
    FULL   = TNI_FORCES + TNI_FORCES + 6 + TNI_QUADRATIC // rows, at most, whatever leads
};

static const double square_min = 1e-280; // what is below is 0: 1/square must be a number

// Neighbouring columns go together.
typedef tni_numbers lanes;
enum { LANES = TNI_SIMD_NARROW };

TNI_INLINE lanes* at(double* row, int k)
{
    return (lanes*)(row + LANES * k);
}

// A child's G, seen from the parent.
typedef struct child {
    const double* G;
    int           rows, force_rows, forces, cols; // forces: columns of G before m
    int           held;         // where in a row the handle that the joint holds begins
    int  to[TNI_HANDLES_MAX];   // column in the parent's order, by block of columns; -1: not kept
    bool full[TNI_HANDLES_MAX]; // rows of a block become full
    const double* turn;
} child;

typedef struct stack {
    int     n, forces, first, count; // columns; full rows first .. count - 1
    double  Kf[6][STRIDE];           // in the order of columns
    double  rows[FULL][STRIDE];
    double* turns;            // where reflections of forces' columns go; NULL: nowhere
    short top[TNI_ROOT_COLS]; // which row of A is triangular there (from 1), of B (minus), none: 0
} stack;

static int block_of(int lead, int handle)
{
    return handle == lead ? 0 : handle < lead ? handle + 1 : handle;
}

static child child_make(tni_root_form form, const tni_node* node, int at, int keep,
                        const uint8_t* kept, int first, int lead, const tni_root_join* join)
{
    const int h = node->handle_count;
    child     c = {.G          = form.G,
                   .rows       = form.rows,
                   .force_rows = form.force_rows,
                   .forces     = 6 * h,
                   .cols       = 6 * h + join->quadratic,
                   .held       = 6 * block_of(form.lead, at)};
    TN_ASSERT(form.lead >= 0 && form.lead < h);
    for (int p = 0; p < h; ++p) c.to[p] = -1;
    for (int k = 0; k < keep; ++k)
        c.to[block_of(form.lead, kept[k])] = 6 * block_of(lead, first + k);
    for (int p = 0; p < h; ++p) {
        c.full[p] = 6 * p <= c.held;
        for (int q = p + 1; q < h; ++q)
            c.full[p] = c.full[p] || (c.to[q] >= 0 && c.to[q] < c.to[p]);
    }
    return c;
}

// Row i of a child in the parent's columns, nothing passing through the joint.
static void read_row(const child* c, int i, const stack* s, double* row)
{
    const double* g = c->G + c->cols * i;
    for (int j = 0; j < s->n + PAD; ++j) row[j] = 0;
    for (int p = i / 6; 6 * p < c->forces; ++p)
        for (int j = 0; j < 6 && c->to[p] >= 0; ++j) row[c->to[p] + j] = g[6 * p + j];
    const double* m  = g + c->forces;
    double*       to = row + s->forces;
    if (c->turn) {
        for (int k = 0; k < 6; ++k)
            for (int j = 0; j < 6; ++j) to[j] += m[k] * c->turn[7 * k + j];
        to[6] = m[6];
    } else {
        for (int j = 0; j < c->cols - c->forces; ++j) to[j] = m[j];
    }
}

// row += e Kf, some columns of it.
TNI_INLINE void add_columns(int width, const double* e, double (*Kf)[STRIDE], int c, double* row)
{
    lanes sum[8 / LANES];
    for (int j = 0; j < width / LANES; ++j) sum[j] = *at(row + c, j);
    for (int k = 0; k < 6; ++k)
        for (int j = 0; j < width / LANES; ++j) sum[j] += e[k] * *at(Kf[k] + c, j);
    for (int j = 0; j < width / LANES; ++j) *at(row + c, j) = sum[j];
}

static void add_through(stack* s, const double* e, double* row)
{
    int c = 0;
    for (; s->n - c > 4; c += 8) add_columns(8, e, s->Kf, c, row);
    if (s->n > c) add_columns(4, e, s->Kf, c, row);
}

// Rows of a child with forces in them: full ones are made, triangular ones remembered. X: of A;
// NULL: B.
static void stack_child(stack* s, const child* c, const tni_shift* X)
{
    for (int i = 0; i < c->force_rows; ++i) {
        const int p = i / 6;
        if (!c->full[p]) {
            s->top[c->to[p] + i % 6] = (short)(X ? i + 1 : -i - 1);
            continue;
        }
        double* row = s->rows[s->count++];
        double  e[6];
        read_row(c, i, s, row);
        tni_six six = tni_six_read(c->G + c->cols * i + c->held);
        if (X) six = tni_six_sub(tni_six_zero(), tni_shift_motion(X, six));
        tni_six_write(e, six);
        add_through(s, e, row);
    }
}

// Columns of Kf, and rows of sqrt(weight) Kq.
static void stack_joint(stack* s, const tni_root_join* join, int lead)
{
    const tni_factors* f    = join->factors;
    const int          cols = join->quadratic, d = f->d;
    for (int k = 0; k < 6; ++k) {
        for (int h = 0; 6 * h < s->forces; ++h)
            for (int j = 0; j < 6; ++j)
                s->Kf[k][6 * block_of(lead, h) + j] = f->WH[s->forces * k + 6 * h + j];
        for (int j = 0; j < cols; ++j) s->Kf[k][s->forces + j] = join->gamma[cols * k + j];
        for (int j = 0; j < PAD; ++j) s->Kf[k][s->n + j] = 0;
    }
    if (!(join->weight > 0)) return;
    const double root = sqrt(join->weight);
    for (int i = 0; i < d; ++i) {
        double* row = s->rows[s->count++];
        for (int h = 0; 6 * h < s->forces; ++h) {
            double sum[6] = {0};
            for (int k = 0; k < 6; ++k)
                for (int j = 0; j < 6; ++j)
                    sum[j] += f->U[6 * i + k] * f->H[s->forces * k + 6 * h + j];
            for (int j = 0; j < 6; ++j) row[6 * block_of(lead, h) + j] = -root * sum[j];
        }
        for (int j = 0; j < cols; ++j) row[s->forces + j] = root * join->R[cols * i + j];
        for (int j = 0; j < PAD; ++j) row[s->n + j] = 0;
    }
}

// Columns of `top` and of full rows, reflected: 1 - t (v0; v)(v0; v)^T. Many columns at once, as
// sums wait for their additions.
TNI_INLINE void reflect_columns(int width, int count, double t, double v0, const double* v,
                                double* top, double* rows)
{
    lanes w[12 / LANES];
    for (int k = 0; k < width / LANES; ++k) w[k] = v0 * *at(top, k);
    for (int i = 0; i < count; ++i)
        for (int k = 0; k < width / LANES; ++k) w[k] += v[i] * *at(rows + STRIDE * i, k);
    for (int k = 0; k < width / LANES; ++k) w[k] *= t, *at(top, k) -= v0 * w[k];
    for (int i = 0; i < count; ++i)
        for (int k = 0; k < width / LANES; ++k) *at(rows + STRIDE * i, k) -= v[i] * w[k];
}

// Column j of the full rows, and the sum of its squares, in four sums that do not wait for each
// other.
static double read_column(const stack* s, int j, double* v)
{
    double    sum[4] = {0};
    const int count  = s->count - s->first;
    for (int i = 0; i < count; ++i) v[i] = s->rows[s->first + i][j];
    int i = 0;
    for (; i + 4 <= count; i += 4)
        for (int k = 0; k < 4; ++k) sum[k] += v[i + k] * v[i + k];
    for (; i < count; ++i) sum[0] += v[i] * v[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// Reflections as they are kept: t, v0, v of each column that has rows; t < 0: it had no row.
static void keep_turn(stack* s, double t, double v0, const double* v)
{
    if (!s->turns) return;
    *s->turns++ = t;
    *s->turns++ = v0;
    for (int i = 0; i < s->count - s->first; ++i) *s->turns++ = v[i];
}

// Makes column j of the full rows, v, zero by a reflection of them and `top`. square: of v.
static void reflect(stack* s, int j, const double* v, double square, double* top)
{
    const int    count = s->count - s->first;
    const double size = sqrt(top[j] * top[j] + square), v0 = top[j] + (top[j] > 0 ? size : -size);
    const double t    = 1 / (size * fabs(v0));
    double*      rows = s->rows[s->first];
    int          c    = j + 1;
    top[j]            = top[j] > 0 ? -size : size;
    for (; s->n - c > 8; c += 12) reflect_columns(12, count, t, v0, v, top + c, rows + c);
    if (s->n - c > 4) reflect_columns(8, count, t, v0, v, top + c, rows + c);
    else if (s->n > c) reflect_columns(4, count, t, v0, v, top + c, rows + c);
    keep_turn(s, t, v0, v);
}

// One column: writes the row of the triangle. False: the column is zero and has no row.
static bool eliminate(stack* s, int j, const child* a, const child* b, double* out)
{
    const int which = s->top[j];
    double    own[STRIDE], v[FULL], *top = own;
    if (which != 0) {
        read_row(which > 0 ? a : b, which > 0 ? which - 1 : -which - 1, s, own);
    } else {
        if (s->first == s->count) return false;
        top = s->rows[s->first++];
    }
    const double square = read_column(s, j, v);
    if (!(square <= square_min)) { // so written, it lets NaN through
        reflect(s, j, v, square, top);
    } else if (which == 0 && top[j] == 0) {
        keep_turn(s, -1, 0, v);
        s->first--;
        return false;
    } else {
        keep_turn(s, 0, 0, v);
    }
    for (int k = 0; k < j; ++k) out[k] = 0;
    for (int k = j; k < s->n; ++k) out[k] = top[k];
    return true;
}

void tni_root_assemble(const tni_root_join* join, tni_root_form form_a, tni_root_form form_b,
                       double* turns, tni_root_form* out)
{
    const tni_node* node   = join->node;
    const int       forces = 6 * node->handle_count;
    stack           s; // 8 kB that are not cleared
    s.n = forces + join->quadratic, s.forces = forces, s.first = s.count = 0, s.turns = turns;
    for (int j = 0; j < s.n; ++j) s.top[j] = 0;
    stack_joint(&s, join, out->lead);
    child a = {0};
    if (join->node_a) {
        a = child_make(form_a, join->node_a, node->at, node->keep_a, node->kept_a, 0, out->lead,
                       join);
        stack_child(&s, &a, join->X);
        for (int i = a.force_rows; i < a.rows; ++i)
            s.top[forces + i - a.force_rows] = (short)(i + 1);
    }
    child b = child_make(form_b, join->node_b, 0, node->keep_b, node->kept_b, node->keep_a,
                         out->lead, join);
    b.turn  = join->turn;
    stack_child(&s, &b, NULL);
    out->rows = 0;
    for (int j = 0; j < s.n; ++j) {
        if (j == forces) {
            out->force_rows = out->rows, s.turns = NULL;
            for (int i = b.force_rows; i < b.rows; ++i) read_row(&b, i, &s, s.rows[s.count++]);
        }
        out->rows += eliminate(&s, j, &a, &b, out->G + s.n * out->rows);
    }
}

// ---- The last column again ----------------------------------------------------------------------

// A row without forces whose square is `rest`; returns how many rows that makes.
static int write_rest(double* row, int forces, double rest)
{
    if (rest == 0) return 0;
    for (int j = 0; j < forces; ++j) row[j] = 0;
    row[forces] = sqrt(rest);
    return 1;
}

// The last column of what is stacked.
typedef struct last_column {
    int    first, count;
    double rows[FULL], top[TNI_FORCES], rest; // rest: squares of rows without forces
    bool   has_top[TNI_FORCES];
} last_column;

// through: what one of the child's rows times it adds, of the force through the joint.
static void stack_last(last_column* s, const child* c, tni_six through)
{
    for (int i = 0; i < c->rows; ++i) {
        const double *g = c->G + c->cols * i, last = g[c->forces];
        if (i >= c->force_rows) s->rest += last * last;
        else if (c->full[i / 6])
            s->rows[s->count++] = last + tni_six_dot(tni_six_read(g + c->held), through);
        else s->top[c->to[i / 6] + i % 6] = last, s->has_top[c->to[i / 6] + i % 6] = true;
    }
}

static last_column stack_last_all(const tni_root_join* join, tni_root_form form_a,
                                  tni_root_form form_b, int lead)
{
    const tni_node* node  = join->node;
    const tni_six   gamma = tni_six_read(join->gamma);
    const tni_six   back  = tni_six_sub(tni_six_zero(), tni_shift_force(join->X, gamma));
    const child     a =
        child_make(form_a, join->node_a, node->at, node->keep_a, node->kept_a, 0, lead, join);
    const child b =
        child_make(form_b, join->node_b, 0, node->keep_b, node->kept_b, node->keep_a, lead, join);
    last_column s; // not cleared where nobody looks
    s.first = s.count = 0, s.rest = 0;
    for (int j = 0; j < 6 * node->handle_count; ++j) s.has_top[j] = false;
    for (int i = 0; join->weight > 0 && i < join->factors->d; ++i)
        s.rows[s.count++] = sqrt(join->weight) * join->R[i];
    stack_last(&s, &a, back);
    stack_last(&s, &b, gamma);
    return s;
}

void tni_root_again(const tni_root_join* join, tni_root_form a, tni_root_form b,
                    const tni_still* still, tni_root_form* out)
{
    const int     forces = 6 * join->node->handle_count;
    last_column   s      = stack_last_all(join, a, b, still->lead);
    const double* turn   = still->turns;
    double*       G      = out->G;
    int           row    = 0;
    for (int j = 0; j < forces; ++j) {
        if (!s.has_top[j] && s.first == s.count) continue;
        double       top = s.has_top[j] ? s.top[j] : s.rows[s.first++];
        const double t = turn[0], v0 = turn[1];
        double       w = v0 * top;
        turn += 2;
        for (int i = s.first; i < s.count; ++i) w += turn[i - s.first] * s.rows[i];
        w *= t;
        for (int i = s.first; i < s.count && t > 0; ++i) s.rows[i] -= turn[i - s.first] * w;
        turn += s.count - s.first;
        if (t < 0) {
            s.first--;
            continue;
        }
        for (int k = 0; k < forces; ++k)
            G[(forces + 1) * row + k] = still->G[(forces + TNI_QUADRATIC) * row + k];
        G[(forces + 1) * row++ + forces] = top - v0 * w;
    }
    for (int i = s.first; i < s.count; ++i) s.rest += s.rows[i] * s.rows[i];
    out->force_rows = row;
    out->rows       = row + write_rest(G + (forces + 1) * row, forces, s.rest);
}

// ---- At velocities and forces -------------------------------------------------------------------

// g . m
static double times_quadratic(const double* g, const double* m)
{
    double sum = 0;
    for (int k = 0; k < TNI_QUADRATIC; ++k) sum += g[k] * m[k];
    return sum;
}

void tni_still_at(const tni_node* node, const tni_still* still, tn_vec3 w, const tni_six* v,
                  tni_moving* out)
{
    const int forces = 6 * node->handle_count, cols = forces + TNI_QUADRATIC;
    double    m[TNI_QUADRATIC], rest                = 0;
    tni_quadratic(w, m);
    for (int i = 0; i < forces; ++i) out->b[i] = times_quadratic(still->B + TNI_QUADRATIC * i, m);
    for (int k = 0; k < node->handle_count; ++k) {
        const tn_vec3 turn = tni_cross(v[k].w, v[k].v);
        double*       b    = out->b + 6 * k + 3;
        b[0] -= turn.x, b[1] -= turn.y, b[2] -= turn.z;
    }
    out->rows = out->force_rows = 0, out->lead = still->lead;
    if (!out->G) return;
    for (int i = 0; i < still->rows; ++i) {
        const double *g = still->G + cols * i, last = times_quadratic(g + forces, m);
        double*       to = out->G + (forces + 1) * i;
        if (i >= still->force_rows) {
            rest += last * last;
            continue;
        }
        for (int j = 0; j < forces; ++j) to[j] = g[j];
        to[forces] = last;
    }
    out->rows = out->force_rows = still->force_rows;
    out->rows += write_rest(out->G + (forces + 1) * out->rows, forces, rest);
}

// Forces in the order of columns.
static void fill_forces(int count, int lead, const double* f, double* z)
{
    for (int k = 0; k < count; ++k)
        for (int i = 0; i < 6; ++i) z[6 * block_of(lead, k) + i] = f[6 * k + i];
}

static double sum_squares(const double* G, int rows, int cols, const double* z)
{
    double metric = 0;
    for (int i = 0; i < rows; ++i) {
        double sum = 0;
        for (int j = i; j < cols; ++j) sum += G[cols * i + j] * z[j];
        metric += sum * sum;
    }
    return metric;
}

double tni_metric(const tni_node* node, const tni_moving* moving, const double* f)
{
    const int forces = 6 * node->handle_count;
    double    z[TNI_FORCES + 1];
    fill_forces(node->handle_count, moving->lead, f, z);
    z[forces] = 1;
    return sum_squares(moving->G, moving->rows, forces + 1, z);
}

double tni_still_metric(const tni_node* node, const tni_still* still, tn_vec3 w, const double* f)
{
    const int forces = 6 * node->handle_count;
    double    z[TNI_ROOT_COLS];
    fill_forces(node->handle_count, still->lead, f, z);
    tni_quadratic(w, z + forces);
    return sum_squares(still->G, still->rows, forces + TNI_QUADRATIC, z);
}
