// coefficients_metric: the exact acceleration metric of a node, in square-root form.
//
//     A(C) = sum over joints j in C of weight_j |qddot_j|^2 = |G z|^2,   z = (f; m)
//
// m is 1, or m(w) of coefficients.c for rigid nodes. The form f^T Psi f + f^T p + eta of the paper
// (Theorems 1 and 2) subtracts large numbers near equilibrium, with an error of |f||Psi||f| eps;
// here the error is (|G||f| eps)^2. A joint transmits fc = Kf z and accelerates by qddot = Kq z:
//
//     Kf = [ W H, gamma ],   Kq = [ -U H, R ]           (coefficients.c)
//     G_C = the triangle of  [ G_A T_A ; G_B T_B ; sqrt(weight) Kq ]   by Householder QR
//     T_A: z_C to z_A, kept forces and m as they are, -X^T Kf added to the force `at`
//     T_B: kept forces as they are, m rotated, Kf added to the force 0
//
// Rows of a child's triangle that start beyond the columns of the handle that the joint holds do
// not involve Kf: they stay triangular and serve as pivots. With those columns first ("lead") only
// 6 rows of each child are full, and a reflection of column j mixes one triangular row with 12 + d
// full ones, instead of 27 rows with each other: 7 kflop instead of 12 for 2 + 2 -> 2 handles and a
// hinge, 1.6 us; 16 instead of 32, 3.1 us, with m(w). A column that is zero in all rows gets no
// row: G may have fewer rows than columns, row i being zero before column i.
// The reflections of force columns may be kept: they are the same for any m, so a rigid node with a
// force in it only needs its last column computed, by these reflections: 0.45 us.
#include "adaptive/coefficients_parts.h"

#include "math/simd.h"

enum {
    PAD    = 3, // zeros behind each row, so that columns go by fours
    STRIDE = TNI_METRIC_COLS + PAD,
    FULL   = TNI_FORCES + TNI_FORCES + 6 + TNI_QUADRATIC // most rows, for any lead
};

static const double square_min = 1e-280; // smaller squares are 0, so that 1/square is finite

// Neighbouring columns in one.
typedef tni_numbers lanes;
enum { LANES = TNI_SIMD_NARROW };

TNI_INLINE lanes* at(double* row, int k)
{
    return (lanes*)(row + LANES * k);
}

// A child's G with the column order of its parent.
typedef struct child {
    const double* G;
    int           rows, force_rows, forces, cols; // forces: columns of G before m
    int           held;                           // first column of the handle that the joint holds
    int  to[TNI_HANDLES_MAX];   // by block of columns: column in the parent's order; -1: not kept
    bool full[TNI_HANDLES_MAX]; // by block: its rows become full
    const double* turn;
} child;

typedef struct stack {
    int     n, forces, first, count; // columns; full rows first .. count - 1
    double  Kf[6][STRIDE];           // in the parent's column order
    double  rows[FULL][STRIDE];
    double* reflections; // where reflections of force columns go; NULL: not kept
    // triangular row of a column: i + 1: row i of A; -i - 1: of B; 0: none
    short top[TNI_METRIC_COLS];
} stack;

static int block_of(int lead, int handle)
{
    return handle == lead ? 0 : handle < lead ? handle + 1 : handle;
}

static child child_make(tni_metric_factor form, const tni_node* node, int at, int keep,
                        const uint8_t* kept, int first, int lead, const tni_metric_joint* join)
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

// Row i of a child in the parent's columns, without the force through the joint.
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

// row += e Kf, `width` columns from column c.
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

// Rows of a child with force columns: makes full ones, records triangular ones. X: for A; NULL: B.
static void stack_child(stack* s, const child* c, const tni_transform* X)
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
        tni_spatial six = tni_spatial_read(c->G + c->cols * i + c->held);
        if (X) six = tni_spatial_sub(tni_spatial_zero(), tni_transform_motion(X, six));
        tni_spatial_write(e, six);
        add_through(s, e, row);
    }
}

// Kf, and the rows of sqrt(weight) Kq.
static void stack_joint(stack* s, const tni_metric_joint* join, int lead)
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

// Applies the reflection 1 - t (v0; v)(v0; v)^T to columns of `top` and of the full rows; many
// columns at once, because sums wait for their additions.
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

// Copies column j of the full rows to v and returns the sum of its squares, by four independent
// sums.
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

// Stores a reflection: t, v0, v; t = 0: none needed; t < 0: the column has no row.
static void keep_reflection(stack* s, double t, double v0, const double* v)
{
    if (!s->reflections) return;
    *s->reflections++ = t;
    *s->reflections++ = v0;
    for (int i = 0; i < s->count - s->first; ++i) *s->reflections++ = v[i];
}

// Makes column j (v, with sum of squares `square`) of the full rows zero by a reflection of them
// and `top`.
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
    keep_reflection(s, t, v0, v);
}

// Eliminates one column and writes its row of the triangle. False: the column is zero and has no
// row.
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
    if (!(square <= square_min)) { // written so that NaN passes
        reflect(s, j, v, square, top);
    } else if (which == 0 && top[j] == 0) {
        keep_reflection(s, -1, 0, v);
        s->first--;
        return false;
    } else {
        keep_reflection(s, 0, 0, v);
    }
    for (int k = 0; k < j; ++k) out[k] = 0;
    for (int k = j; k < s->n; ++k) out[k] = top[k];
    return true;
}

void tni_metric_assemble(const tni_metric_joint* join, tni_metric_factor form_a,
                         tni_metric_factor form_b, double* reflections, tni_metric_factor* out)
{
    const tni_node* node   = join->node;
    const int       forces = 6 * node->handle_count;
    stack           s; // 8 kB, not cleared
    s.n = forces + join->quadratic, s.forces = forces, s.first = s.count = 0,
    s.reflections = reflections;
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
            out->force_rows = out->rows, s.reflections = NULL;
            for (int i = b.force_rows; i < b.rows; ++i) read_row(&b, i, &s, s.rows[s.count++]);
        }
        out->rows += eliminate(&s, j, &a, &b, out->G + s.n * out->rows);
    }
}

// ---- Updating the last column ------------------------------------------------------------------

// A row without forces whose square is `rest`; returns the number of rows (0 or 1).
static int write_rest(double* row, int forces, double rest)
{
    if (rest == 0) return 0;
    for (int j = 0; j < forces; ++j) row[j] = 0;
    row[forces] = sqrt(rest);
    return 1;
}

// The last column of the stacked rows.
typedef struct last_column {
    int    first, count;
    double rows[FULL], top[TNI_FORCES], rest; // rest: sum of squares of rows without forces
    bool   has_top[TNI_FORCES];
} last_column;

// through: the force through the joint, as it acts on the child.
static void stack_last(last_column* s, const child* c, tni_spatial through)
{
    for (int i = 0; i < c->rows; ++i) {
        const double *g = c->G + c->cols * i, last = g[c->forces];
        if (i >= c->force_rows) s->rest += last * last;
        else if (c->full[i / 6])
            s->rows[s->count++] = last + tni_spatial_dot(tni_spatial_read(g + c->held), through);
        else s->top[c->to[i / 6] + i % 6] = last, s->has_top[c->to[i / 6] + i % 6] = true;
    }
}

static last_column stack_last_all(const tni_metric_joint* join, tni_metric_factor form_a,
                                  tni_metric_factor form_b, int lead)
{
    const tni_node*   node  = join->node;
    const tni_spatial gamma = tni_spatial_read(join->gamma);
    const tni_spatial back =
        tni_spatial_sub(tni_spatial_zero(), tni_transform_force(join->X, gamma));
    const child a =
        child_make(form_a, join->node_a, node->at, node->keep_a, node->kept_a, 0, lead, join);
    const child b =
        child_make(form_b, join->node_b, 0, node->keep_b, node->kept_b, node->keep_a, lead, join);
    last_column s; // only partly initialised
    s.first = s.count = 0, s.rest = 0;
    for (int j = 0; j < 6 * node->handle_count; ++j) s.has_top[j] = false;
    for (int i = 0; join->weight > 0 && i < join->factors->d; ++i)
        s.rows[s.count++] = sqrt(join->weight) * join->R[i];
    stack_last(&s, &a, back);
    stack_last(&s, &b, gamma);
    return s;
}

void tni_metric_update_last(const tni_metric_joint* join, tni_metric_factor a, tni_metric_factor b,
                            const tni_position_terms* position, tni_metric_factor* out)
{
    const int     forces = 6 * join->node->handle_count;
    last_column   s      = stack_last_all(join, a, b, position->lead);
    const double* turn   = position->reflections;
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
            G[(forces + 1) * row + k] = position->G[(forces + TNI_QUADRATIC) * row + k];
        G[(forces + 1) * row++ + forces] = top - v0 * w;
    }
    for (int i = s.first; i < s.count; ++i) s.rest += s.rows[i] * s.rows[i];
    out->force_rows = row;
    out->rows       = row + write_rest(G + (forces + 1) * row, forces, s.rest);
}

// ---- At present velocities and forces ----------------------------------------------------------

// g . m
static double times_quadratic(const double* g, const double* m)
{
    double sum = 0;
    for (int k = 0; k < TNI_QUADRATIC; ++k) sum += g[k] * m[k];
    return sum;
}

void tni_position_terms_at(const tni_node* node, const tni_position_terms* position, tn_vec3 w,
                           const tni_spatial* v, tni_state_terms* out)
{
    const int forces = 6 * node->handle_count, cols = forces + TNI_QUADRATIC;
    double    m[TNI_QUADRATIC], rest                = 0;
    tni_quadratic(w, m);
    for (int i = 0; i < forces; ++i)
        out->b[i] = times_quadratic(position->B + TNI_QUADRATIC * i, m);
    for (int k = 0; k < node->handle_count; ++k) {
        const tn_vec3 turn = tni_cross(v[k].w, v[k].v);
        double*       b    = out->b + 6 * k + 3;
        b[0] -= turn.x, b[1] -= turn.y, b[2] -= turn.z;
    }
    out->rows = out->force_rows = 0, out->lead = position->lead;
    if (!out->G) return;
    for (int i = 0; i < position->rows; ++i) {
        const double *g = position->G + cols * i, last = times_quadratic(g + forces, m);
        double*       to = out->G + (forces + 1) * i;
        if (i >= position->force_rows) {
            rest += last * last;
            continue;
        }
        for (int j = 0; j < forces; ++j) to[j] = g[j];
        to[forces] = last;
    }
    out->rows = out->force_rows = position->force_rows;
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

double tni_metric(const tni_node* node, const tni_state_terms* state, const double* f)
{
    const int forces = 6 * node->handle_count;
    double    z[TNI_FORCES + 1];
    fill_forces(node->handle_count, state->lead, f, z);
    z[forces] = 1;
    return sum_squares(state->G, state->rows, forces + 1, z);
}

double tni_position_metric(const tni_node* node, const tni_position_terms* position, tn_vec3 w,
                           const double* f)
{
    const int forces = 6 * node->handle_count;
    double    z[TNI_METRIC_COLS];
    fill_forces(node->handle_count, position->lead, f, z);
    tni_quadratic(w, z + forces);
    return sum_squares(position->G, position->rows, forces + TNI_QUADRATIC, z);
}
