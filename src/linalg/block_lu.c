// block_lu: sparse block LU, P A = L U, row by row. There are few nodes (hundreds), and their graph
// changes from step to step, so the order is found at run time without allocating: minimum degree,
// counted in rows, on a graph kept as bit sets. Eliminating p connects all its remaining
// neighbours: each of them takes over the bits of p. The bits left at p when it is eliminated are
// its later neighbours, and thus the structure of row p of U; L has that of U^T.
//
//     row i:  for all earlier p of it, ascending:  A_ip <- A_ip U_pp^-1,  A_ij <- A_ij - A_ip U_pj
//
// Rows are exchanged within a diagonal block only: for matrices with well-conditioned diagonal
// blocks, E + R K R^T with K nearly positive.
#include "linalg/block_lu.h"

#include "linalg/dense.h"

#include <math.h>

tn_result tni_block_lu_create(tni_arena* arena, int nodes, int rows, size_t numbers,
                              tni_block_lu* lu)
{
    const size_t words = (size_t)(nodes + 63) / 64, entries = numbers / 16 + (size_t)nodes;
    *lu = (tni_block_lu){.node_capacity   = nodes,
                         .bit_capacity    = words * (size_t)nodes,
                         .entry_capacity  = entries,
                         .number_capacity = numbers,
                         .dim             = TNI_TAKE(arena, int, nodes),
                         .order           = TNI_TAKE(arena, int, nodes),
                         .place           = TNI_TAKE(arena, int, nodes),
                         .x_start         = TNI_TAKE(arena, int, nodes + 1),
                         .bits            = TNI_TAKE(arena, uint64_t, words * (size_t)nodes),
                         .row_start       = TNI_TAKE(arena, size_t, nodes + 1),
                         .column          = TNI_TAKE(arena, int, entries),
                         .at              = TNI_TAKE(arena, size_t, entries),
                         .numbers         = TNI_TAKE(arena, double, numbers),
                         .exchange        = TNI_TAKE(arena, int, rows),
                         .mark            = TNI_TAKE(arena, size_t, nodes)};
    return arena->failed ? TN_ERR_MEMORY : TN_OK;
}

bool tni_block_lu_begin(tni_block_lu* t, int count)
{
    t->count = count;
    t->words = (count + 63) / 64;
    if (count > t->node_capacity) return false;
    memset(t->bits, 0, sizeof *t->bits * (size_t)count * (size_t)t->words);
    t->x_start[0] = 0;
    for (int i = 0; i < count; ++i) t->x_start[i + 1] = t->x_start[i] + t->dim[i];
    return true;
}

static uint64_t* bits_of(const tni_block_lu* t, int i)
{
    return t->bits + (size_t)t->words * (size_t)i;
}

void tni_block_lu_couple(tni_block_lu* t, int i, int j)
{
    if (i == j) return;
    bits_of(t, i)[j / 64] |= UINT64_C(1) << j % 64;
    bits_of(t, j)[i / 64] |= UINT64_C(1) << i % 64;
}

// The next neighbour of i, at index `from` or above; count if there is none.
static int next_neighbour(const tni_block_lu* t, int i, int from)
{
    const uint64_t* bits = bits_of(t, i);
    for (int w = from / 64; w < t->words; ++w) {
        uint64_t left = bits[w];
        if (w == from / 64) left &= ~UINT64_C(0) << from % 64;
        if (left == 0) continue;
        int bit = 0;
        for (; left % 2 == 0; left /= 2) ++bit;
        return 64 * w + bit;
    }
    return t->count;
}

// Number of rows of all neighbours of i.
static int degree(const tni_block_lu* t, int i)
{
    int sum = 0;
    for (int j = next_neighbour(t, i, 0); j < t->count; j = next_neighbour(t, i, j + 1))
        sum += t->dim[j];
    return sum;
}

// Connects the neighbours of p to each other and removes p from their sets.
static void eliminate(tni_block_lu* t, int p, int* degrees)
{
    const uint64_t* own = bits_of(t, p);
    for (int j = next_neighbour(t, p, 0); j < t->count; j = next_neighbour(t, p, j + 1)) {
        uint64_t* bits = bits_of(t, j);
        for (int w = 0; w < t->words; ++w) bits[w] |= own[w];
        bits[j / 64] &= ~(UINT64_C(1) << j % 64);
        bits[p / 64] &= ~(UINT64_C(1) << p % 64);
        degrees[j] = degree(t, j);
    }
}

static void choose_order(tni_block_lu* t)
{
    int* degrees = t->exchange; // by node; nodes are not more than rows
    for (int i = 0; i < t->count; ++i) degrees[i] = degree(t, i), t->place[i] = -1;
    t->flops = 0;
    for (int k = 0; k < t->count; ++k) {
        int least = -1;
        for (int i = 0; i < t->count; ++i) {
            if (t->place[i] >= 0) continue;
            if (least < 0 || degrees[i] < degrees[least]) least = i;
        }
        t->order[k]     = least;
        t->place[least] = k;
        const double n = t->dim[least], m = degrees[least];
        t->flops += n * (2 * n * n / 3 + 2 * n * m + 2 * m * m);
        eliminate(t, least, degrees);
    }
}

// Sizes of the rows: later neighbours from the bits, earlier ones by counting. False: no room.
static bool set_rows(tni_block_lu* t)
{
    size_t entries = 0, numbers = 0;
    memset(t->row_start, 0, sizeof *t->row_start * (size_t)(t->count + 1));
    for (int i = 0; i < t->count; ++i) {
        const int p = t->place[i];
        t->row_start[p + 1] += 1;
        for (int j = next_neighbour(t, i, 0); j < t->count; j = next_neighbour(t, i, j + 1)) {
            t->row_start[p + 1] += 1;
            t->row_start[t->place[j] + 1] += 1;
            numbers += 2 * (size_t)(t->dim[i] * t->dim[j]);
        }
        numbers += (size_t)(t->dim[i] * t->dim[i]);
    }
    for (int p = 0; p < t->count; ++p) {
        entries += t->row_start[p + 1];
        t->row_start[p + 1] = entries;
    }
    return entries <= t->entry_capacity && numbers <= t->number_capacity;
}

// Column indices in ascending order: position by position, each into all rows that contain it.
static void set_columns(tni_block_lu* t)
{
    size_t at = 0;
    for (int p = 0; p < t->count; ++p) t->mark[p] = t->row_start[p];
    for (int p = 0; p < t->count; ++p) {
        const int i             = t->order[p];
        t->column[t->mark[p]++] = p;
        for (int j = next_neighbour(t, i, 0); j < t->count; j = next_neighbour(t, i, j + 1))
            t->column[t->mark[t->place[j]]++] = p; // p is a column of its later neighbours' rows
    }
    // Columns right of the diagonal: the transpose, again position by position.
    for (int q = 0; q < t->count; ++q) {
        for (size_t e = t->row_start[q]; e < t->row_start[q + 1] && t->column[e] < q; ++e)
            t->column[t->mark[t->column[e]]++] = q;
    }
    for (int p = 0; p < t->count; ++p) {
        for (size_t e = t->row_start[p]; e < t->row_start[p + 1]; ++e) {
            t->at[e] = at;
            at += (size_t)(t->dim[t->order[p]] * t->dim[t->order[t->column[e]]]);
        }
    }
}

bool tni_block_lu_order(tni_block_lu* t)
{
    choose_order(t);
    if (!set_rows(t)) return false;
    set_columns(t);
    return true;
}

double* tni_block_lu_block(const tni_block_lu* t, int i, int j)
{
    const int p = t->place[i], q = t->place[j];
    size_t    low = t->row_start[p], high = t->row_start[p + 1];
    while (high - low > 1) {
        const size_t mid = (low + high) / 2;
        if (t->column[mid] <= q) low = mid;
        else high = mid;
    }
    TN_ASSERT(t->column[low] == q);
    return t->numbers + t->at[low];
}

void tni_block_lu_clear(tni_block_lu* t)
{
    const size_t entries = t->row_start[t->count];
    if (t->count == 0) return;
    const int last = t->column[entries - 1];
    memset(t->numbers, 0,
           sizeof *t->numbers * (t->at[entries - 1] + (size_t)(t->dim[t->order[t->count - 1]] *
                                                               t->dim[t->order[last]])));
    for (int i = 0; i < t->count; ++i) {
        double* D = tni_block_lu_block(t, i, i);
        for (int k = 0; k < t->dim[i]; ++k) D[(t->dim[i] + 1) * k] = 1;
    }
}

static double* diagonal_of(const tni_block_lu* t, int place)
{
    return tni_block_lu_block(t, t->order[place], t->order[place]);
}

// X <- X D^-1 with D factored: each row x of X solves D^T y = x.
static void divide(int rows, int n, const double* D, const int* exchange, double* X)
{
    for (int r = 0; r < rows; ++r) {
        double* x = X + n * r;
        for (int i = 0; i < n; ++i) { // U^T
            for (int k = 0; k < i; ++k) x[i] -= D[n * k + i] * x[k];
            x[i] /= D[(n + 1) * i];
        }
        for (int i = n - 1; i >= 0; --i) // L^T, unit
            for (int k = i + 1; k < n; ++k) x[i] -= D[n * k + i] * x[k];
        for (int i = n - 1; i >= 0; --i) {
            const double y = x[i];
            x[i]           = x[exchange[i]];
            x[exchange[i]] = y;
        }
    }
}

// Z -= X Y, X being l x n, Y n x m.
static void subtract_product(int l, int n, int m, const double* restrict X,
                             const double* restrict Y, double* restrict Z)
{
    for (int i = 0; i < l; ++i) {
        for (int k = 0; k < n; ++k) {
            const double x = X[n * i + k];
            for (int j = 0; j < m; ++j) Z[m * i + j] -= x * Y[m * k + j];
        }
    }
}

static size_t after_diagonal(const tni_block_lu* t, int p)
{
    size_t e = t->row_start[p];
    while (t->column[e] <= p)
        if (++e == t->row_start[p + 1]) break;
    return e;
}

bool tni_block_lu_factor(tni_block_lu* t)
{
    for (int q = 0; q < t->count; ++q) {
        const int i = t->order[q];
        size_t    e = t->row_start[q];
        for (size_t k = e; k < t->row_start[q + 1]; ++k) t->mark[t->column[k]] = t->at[k];
        for (; t->column[e] < q; ++e) {
            const int p = t->column[e], j = t->order[p];
            double*   X = t->numbers + t->at[e];
            divide(t->dim[i], t->dim[j], diagonal_of(t, p), t->exchange + t->x_start[j], X);
            for (size_t k = after_diagonal(t, p); k < t->row_start[p + 1]; ++k)
                subtract_product(t->dim[i], t->dim[j], t->dim[t->order[t->column[k]]], X,
                                 t->numbers + t->at[k], t->numbers + t->mark[t->column[k]]);
        }
        if (tni_dense_lu(t->dim[i], t->numbers + t->at[e], t->exchange + t->x_start[i]) != TN_OK)
            return false;
    }
    return true;
}

static void subtract_mul(int n, int m, const double* X, const double* x, double* y)
{
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < m; ++k) y[i] -= X[m * i + k] * x[k];
}

void tni_block_lu_solve(const tni_block_lu* t, double* x)
{
    for (int q = 0; q < t->count; ++q) {
        const int i = t->order[q];
        for (size_t e = t->row_start[q]; t->column[e] < q; ++e) {
            const int j = t->order[t->column[e]];
            subtract_mul(t->dim[i], t->dim[j], t->numbers + t->at[e], x + t->x_start[j],
                         x + t->x_start[i]);
        }
    }
    for (int p = t->count - 1; p >= 0; --p) {
        const int i = t->order[p];
        for (size_t e = after_diagonal(t, p); e < t->row_start[p + 1]; ++e) {
            const int j = t->order[t->column[e]];
            subtract_mul(t->dim[i], t->dim[j], t->numbers + t->at[e], x + t->x_start[j],
                         x + t->x_start[i]);
        }
        tni_dense_lu_solve(t->dim[i], diagonal_of(t, p), t->exchange + t->x_start[i],
                           x + t->x_start[i]);
    }
}
