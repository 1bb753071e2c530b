// schur: the multipliers of a saddle system through its Schur complement (T, sections 3 and 5).
//
//     A u + J^T mu = b             S mu = J A^-1 b - r,   u = A^-1 (b - J^T mu)
//     J u - E mu   = r             S = J A^-1 J^T + E     positive semidefinite
//
// With A = L d L^T by blocks and z_ia = d^-1/2 L^-1 J_ia^T for each edge between a B node i and an
// A node a,
//
//     S_ij = sum over A nodes a that i and j share of z_ia^T z_ja      (+ E_ii where i = j)
//
// so S has a graph of its own: B nodes, with an edge if they share an A node. It is factored by
// ldl.c with all nodes positive, so that every order is allowed, or by CHOLMOD.
//
// Split (node_splitting.c): an A node of n parts has z times sqrt(n) on each of them; weld w
// between two parts is a node of S with z = sqrt(n) s 1 and -sqrt(n) s 1. These welds are u_p -
// u_p+1 = 0 in coordinates where A is the unit matrix: no units are mixed, and products of welds do
// not need A. s^2, the mean of 1/d, gives them the size of the other rows. With b distributed
// equally over the parts all of them have u = A^-1 b without multipliers: the welds have a
// right-hand side of zero, and only the multipliers of B rows are returned.
//
// Cost. S of a chain has half the nodes of the saddle. But the rows at one A node are a clique: k B
// nodes of c rows cost (k c)^3 / 3; split, k / p parts of p B nodes cost k / p (p c + 2 dim)^3 / 3.
// Predicted Mflop of assembly and factorisation, thousands of numbers in the factor, and the time
// in us of one factorisation with assembly by the core and by CHOLMOD 3.0.14 with OpenBLAS 0.3.21
// (bench/micro/forms.c; gcc 12 -O3, one core of a busy machine; the core best of two runs, CHOLMOD
// of one; where nothing is split, spd and split are the same work: the better of the two):
//
//                          Mflop                numbers/1000      core              CHOLMOD
//                     rows kkt   spd  split     kkt   spd split  kkt    spd split     spd split
// peaucellier           50 .030  .024  .024     1.3    .6    .6    9      7     7      15    15
// chain 100 balls      300 .046  .063  .063     6.3   1.5   1.5   18     44    44      67    67
// spider 50x4 balls    606 .093  1.56  .193    12.7  14.5   6.0   38    193   121     817   204
// spider 50x4 hinges  1006 .173  6.36  .450    19.3  38.9  11.8   53    390   162    1140   344
// scissor 50          2505 2.99  2.59  2.59    88.6  62.0  62.0  550    525   525    1820  1810
// strandbeest 20       912  .82  17.8   .92    26.0  78.9  24.5  192    744   194    8170   642
// strandbeest 100     4512 4.07  1967  4.62     129  1694   123 1030 309000  1090  520000  4030
// tube of 8 rings    11526 84.6   137   137     762   829   829 9800  11300 11300   95800 95800
//
// So S pays where loops are narrow and nodes have few edges; where one node has many, splitting
// reduces it to the cost of the saddle, and hardly below. Splitting costs accuracy: the condition
// number of S grows with n^2, and a chain of n regularised welds is n times as compliant as one of
// them. With alpha of the welds divided by n, strandbeest 100 (two nodes of 202 parts together) has
// the same residual without refinement as unsplit, 1.2e-6; ten times that with the same alpha for
// all rows.
//
// Fails if a pivot is not positive. Redundant rows have pivots of the size of alpha, so rounding
// decides when that is below 1e-15 of S_ii; the caller then raises alpha.
//
// T: Tomcin, Sibbing, Kobbelt, Efficient Enforcement of Hard Articulation Constraints in the
// Presence of Closed Loops and Contacts, Eurographics 2014.
#include "linalg/schur.h"

#include "linalg/block.h"
#include "linalg/cholmod.h"

#include <math.h>

#define WELD_MIN  1e-14     // smallest alpha of a weld, relative to S_ii
#define PAIRS_MAX (1 << 24) // limit of pairs of ends: some GB
#define FLOPS_MAX 1e13      // limit of flops of the largest clique

// --- the graph of S -----------------------------------------------------------------------------

static bool is_weld(const tni_schur* s, int v)
{
    return s->whole->sign[s->source[v]] > 0;
}

// Lists the nodes of S and their ends; returns the number of ends.
static int find_nodes(tni_arena* arena, tni_schur* s, const int* node_of, int count)
{
    const tni_plan* whole = s->whole;
    const int       all = count + s->parts.weld_count, b_ends = whole->edge_count;
    s->source    = TNI_TAKE(arena, int, all);
    s->end_start = TNI_TAKE(arena, int, all + 2);
    s->ends      = TNI_TAKE(arena, tni_end, b_ends + 2 * s->parts.weld_count);
    if (arena->failed) return -1;
    for (int v = 0; v < whole->count; ++v) {
        if (whole->sign[v] < 0) s->source[node_of[v]] = v;
    }
    int* fill = s->end_start + 1; // becomes end_start once filled
    for (int e = 0; e < b_ends; ++e) ++fill[node_of[whole->row_node[e]] + 1];
    for (int v = 0; v < count; ++v) fill[v + 1] += fill[v];
    for (int e = 0; e < b_ends; ++e) {
        const int v        = node_of[whole->row_node[e]];
        s->ends[fill[v]++] = (tni_end){.owner = v, .part = s->parts.of_edge[e], .edge = e};
    }
    int weld = count;
    for (int p = 0; p + 1 < s->parts.count; ++p) {
        if (s->parts.node[p] != s->parts.node[p + 1]) continue;
        const int at         = b_ends + 2 * (weld - count);
        s->source[weld]      = s->parts.node[p];
        s->ends[at]          = (tni_end){.owner = weld, .part = p, .edge = -1};
        s->ends[at + 1]      = (tni_end){.owner = weld, .part = p + 1, .edge = -2};
        s->end_start[++weld] = at + 2;
    }
    return b_ends + 2 * s->parts.weld_count;
}

// Pairs of ends on the same part, owner of the first below that of the second, ordered by the first
// owner; number: their edge of S.
typedef struct pairing {
    int *start, *list;    // ends by part
    int *seen, *met_edge; // by node of S: the last node that met it, and the edge between them
    int  edge_count, pair_count;
    int *row, *col, *number; // NULL: count only
    int (*pair)[2];
} pairing;

static void find_pairs(const tni_schur* s, int count, pairing* m)
{
    for (int v = 0; v < count; ++v) m->seen[v] = -1;
    m->edge_count = m->pair_count = 0;
    for (int v = 0; v < count; ++v) {
        for (int k = s->end_start[v]; k < s->end_start[v + 1]; ++k) {
            const int p = s->ends[k].part;
            for (int i = m->start[p]; i < m->start[p + 1]; ++i) {
                const int w = s->ends[m->list[i]].owner;
                if (w <= v) continue;
                if (m->seen[w] != v) {
                    if (m->row != NULL) m->row[m->edge_count] = v, m->col[m->edge_count] = w;
                    m->seen[w]     = v;
                    m->met_edge[w] = m->edge_count++;
                }
                if (m->row != NULL) {
                    m->number[m->pair_count]  = m->met_edge[w];
                    m->pair[m->pair_count][0] = k;
                    m->pair[m->pair_count][1] = m->list[i];
                }
                ++m->pair_count;
            }
        }
    }
}

// Lists ends by part; false if there are too many pairs of them.
static bool list_ends(const tni_schur* s, int end_count, pairing* m)
{
    double pairs = 0;
    int*   fill  = m->start + 1; // becomes start once filled
    for (int k = 0; k < end_count; ++k) ++fill[s->ends[k].part + 1];
    for (int p = 0; p < s->parts.count; ++p) {
        const double n = fill[p + 1];
        pairs += n * (n - 1) / 2;
        fill[p + 1] += fill[p];
    }
    for (int k = 0; k < end_count; ++k) m->list[fill[s->ends[k].part]++] = k;
    return pairs <= PAIRS_MAX;
}

// Finds the edges of S and their pairs.
static bool find_edges(tni_arena* arena, tni_arena* scratch, tni_schur* s, int count, int end_count,
                       pairing* m)
{
    *m = (pairing){.start    = TNI_TAKE(scratch, int, s->parts.count + 2),
                   .list     = TNI_TAKE(scratch, int, end_count),
                   .seen     = TNI_TAKE(scratch, int, count),
                   .met_edge = TNI_TAKE(scratch, int, count)};
    if (scratch->failed || !list_ends(s, end_count, m)) return false;
    find_pairs(s, count, m);
    const size_t edges = (size_t)m->edge_count, pairs = (size_t)m->pair_count;
    m->row        = TNI_TAKE(scratch, int, edges);
    m->col        = TNI_TAKE(scratch, int, edges);
    m->number     = TNI_TAKE(scratch, int, pairs);
    m->pair       = tni_arena_take(scratch, sizeof *m->pair * pairs);
    s->pair_start = TNI_TAKE(arena, int, edges + 2);
    s->pairs      = tni_arena_take(arena, sizeof *s->pairs * pairs);
    if (scratch->failed || arena->failed) return false;
    find_pairs(s, count, m);
    int* fill = s->pair_start + 1; // becomes pair_start once filled
    for (size_t k = 0; k < pairs; ++k) ++fill[m->number[k] + 1];
    for (size_t e = 0; e < edges; ++e) fill[e + 1] += fill[e];
    for (size_t k = 0; k < pairs; ++k)
        memcpy(s->pairs[fill[m->number[k]]++], m->pair[k], sizeof *m->pair);
    return true;
}

static bool plan_edges(tni_arena* arena, tni_arena* scratch, tni_schur* s, int count,
                       const pairing* m)
{
    int*     dim    = TNI_TAKE(scratch, int, count);
    int8_t*  sign   = TNI_TAKE(scratch, int8_t, count);
    uint8_t* strong = TNI_TAKE(scratch, uint8_t, m->edge_count);
    s->component_of = TNI_TAKE(arena, int, s->whole->component_count);
    if (scratch->failed || arena->failed) return false;
    for (int v = 0; v < count; ++v) {
        dim[v]  = s->whole->dim[s->source[v]];
        sign[v] = 1;
    }
    const tni_graph graph = {count, dim, sign, m->edge_count, m->row, m->col, strong, NULL};
    if (tni_plan_create(arena, &graph, &s->plan) != TN_OK) return false;
    for (int c = 0; c < s->whole->component_count; ++c) s->component_of[c] = -1;
    for (int v = 0; v < count; ++v)
        s->component_of[s->whole->component_of[s->source[v]]] = s->plan->component_of[v];
    return true;
}

// Flops of tni_schur_load.
static double assembly_flops(const tni_schur* s)
{
    double sum = 0;
    for (int v = 0; v < s->whole->count; ++v) {
        const double m = s->whole->dim[v];
        if (s->whole->sign[v] > 0) sum += m * (2 * m * m + 3 * m - 1) / 6;
    }
    for (int v = 0; v < s->plan->count; ++v) {
        const double n = s->plan->dim[v];
        for (int k = s->end_start[v]; k < s->end_start[v + 1]; ++k) {
            const double m = s->whole->dim[s->parts.node[s->ends[k].part]];
            sum += is_weld(s, v) ? m : m * m * n + m * n * (n + 1);
        }
    }
    for (int e = 0; e < s->plan->edge_count; ++e) {
        const int    v = s->plan->row_node[e], w = s->plan->col_node[e];
        const double n = s->plan->dim[v], k = s->plan->dim[w];
        for (int i = s->pair_start[e]; i < s->pair_start[e + 1]; ++i) {
            const double m = s->whole->dim[s->parts.node[s->ends[s->pairs[i][0]].part]];
            sum += !is_weld(s, w) ? 2 * m * n * k : !is_weld(s, v) ? m * n : m;
        }
    }
    return sum;
}

// Rows of the largest clique: those coupled by one part.
static double largest_clique(const tni_schur* s, int* rows)
{
    double most = 0;
    for (int e = 0; e < s->whole->edge_count; ++e)
        rows[s->parts.of_edge[e]] += s->whole->dim[s->whole->row_node[e]];
    for (int p = 0; p < s->parts.count; ++p) most = fmax(most, rows[p]);
    return most;
}

// The symbolic part; NULL if out of memory, or if the largest clique alone takes more than `limit`
// flops or FLOPS_MAX.
static tni_schur* analyse(tni_arena* arena, const tni_plan* whole, int part_edges, double limit)
{
    tni_arena  scratch = tni_arena_make(&arena->host);
    tni_schur* s       = TNI_TAKE(arena, tni_schur, 1);
    int*       node_of = TNI_TAKE(&scratch, int, whole->count);
    bool       good    = s != NULL && node_of != NULL;
    if (good) {
        s->whole = whole;
        tni_splitting_find(arena, &scratch, whole, part_edges, &s->parts);
        int* rows = TNI_TAKE(&scratch, int, s->parts.count);
        good      = !arena->failed && !scratch.failed;
        if (good) {
            const double n = largest_clique(s, rows);
            good           = n * n * n / 3 <= fmin(limit, FLOPS_MAX);
        }
    }
    if (good) {
        pairing m;
        int     count = 0;
        for (int v = 0; v < whole->count; ++v) node_of[v] = whole->sign[v] < 0 ? count++ : -1;
        const int ends = find_nodes(arena, s, node_of, count);
        count += s->parts.weld_count;
        good = ends >= 0 && find_edges(arena, &scratch, s, count, ends, &m) &&
               plan_edges(arena, &scratch, s, count, &m);
    }
    tni_arena_free(&scratch);
    if (!good) return NULL;
    s->flops = assembly_flops(s) + s->plan->factor_flops;
    return s;
}

static double flops_of(const tn_host* host, const tni_plan* whole, int part_edges, double limit)
{
    tni_arena        arena = tni_arena_make(host);
    const tni_schur* s     = analyse(&arena, whole, part_edges, limit);
    const double     flops = s != NULL ? s->flops : HUGE_VAL;
    tni_arena_free(&arena);
    return flops;
}

static bool splits(const tn_host* host, const tni_plan* whole, int part_edges)
{
    tni_arena     arena = tni_arena_make(host);
    tni_splitting parts;
    tni_splitting_find(&arena, &arena, whole, part_edges, &parts);
    const bool found = !arena.failed && parts.weld_count > 0;
    tni_arena_free(&arena);
    return found;
}

// The cheapest of a few part sizes and TNI_WHOLE, with its cost, if below `limit`.
static int choose_parts(const tn_host* host, const tni_plan* whole, double limit, double* flops)
{
    static const int sizes[] = {3, 2, 4, 6};
    int              best    = TNI_WHOLE;
    *flops                   = HUGE_VAL;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; ++k) {
        if (!splits(host, whole, sizes[k])) continue;
        const double found = flops_of(host, whole, sizes[k], fmin(limit, *flops));
        if (found < *flops) *flops = found, best = sizes[k];
    }
    const double found = flops_of(host, whole, TNI_WHOLE, fmin(limit, *flops));
    if (found <= *flops) *flops = found, best = TNI_WHOLE;
    return best;
}

double tni_schur_flops(const tn_host* host, const tni_plan* whole, int part_edges, double limit)
{
    double flops;
    if (part_edges != TNI_SPLITTING_CHOSEN) return flops_of(host, whole, part_edges, limit);
    (void)choose_parts(host, whole, limit, &flops);
    return flops;
}

bool tni_schur_splits(const tn_host* host, const tni_plan* whole)
{
    return splits(host, whole, 2) || splits(host, whole, 3);
}

// --- creation -----------------------------------------------------------------------------------

static void place_numbers(tni_arena* arena, tni_schur* s)
{
    const tni_plan* plan = s->plan;
    size_t          z = 0, diagonal = 0, edge = 0;
    s->diagonal_at = TNI_TAKE(arena, size_t, plan->count);
    s->edge_at     = TNI_TAKE(arena, size_t, plan->edge_count);
    s->raise       = TNI_TAKE(arena, double, plan->row_count);
    s->work        = TNI_TAKE(arena, double, plan->row_count);
    if (arena->failed) return;
    for (int p = 0; p < plan->count; ++p) {
        const int v       = plan->order[p];
        s->diagonal_at[v] = diagonal;
        diagonal += (size_t)(plan->dim[v] * plan->dim[v]);
        for (int k = s->end_start[v]; k < s->end_start[v + 1]; ++k) {
            const int m   = s->whole->dim[s->parts.node[s->ends[k].part]];
            s->ends[k].at = z;
            z += s->ends[k].edge < 0 ? 1 : (size_t)(m * plan->dim[v]);
        }
    }
    for (int k = 0; k < plan->edge_count; ++k) {
        const int e   = plan->edge_list[k];
        s->edge_at[e] = edge;
        edge += (size_t)(plan->dim[plan->row_node[e]] * plan->dim[plan->col_node[e]]);
    }
    s->z        = TNI_TAKE(arena, double, z);
    s->diagonal = TNI_TAKE(arena, double, diagonal);
    s->edge     = TNI_TAKE(arena, double, edge);
}

tn_result tni_schur_create(tni_arena* arena, const tni_plan* whole, int part_edges, bool cholmod,
                           tni_schur** schur)
{
    *schur = NULL;
    double flops;
    if (part_edges == TNI_SPLITTING_CHOSEN)
        part_edges = choose_parts(&arena->host, whole, HUGE_VAL, &flops);
    tni_schur* s = analyse(arena, whole, part_edges, HUGE_VAL);
    if (s == NULL) return TN_ERR_MEMORY;
    place_numbers(arena, s);
    if (arena->failed) return TN_ERR_MEMORY;
    tn_result result = cholmod ? tni_cholmod_create(arena, s->plan, &s->cholmod)
                               : tni_ldl_create(arena, s->plan, &s->ldl);
    if (result == TN_OK && !cholmod)
        result = tni_ldl_group_fronts(arena, s->ldl, s->diagonal_at, s->edge_at);
    if (result == TN_OK) *schur = s;
    return result;
}

void tni_schur_free(tni_schur* schur)
{
    if (schur != NULL) tni_cholmod_free(schur->cholmod);
}

// --- numbers ------------------------------------------------------------------------------------

static void find_z(tni_schur* s, const tni_end* end, int n, const tni_schur_blocks* blocks)
{
    const int     a = s->parts.node[end->part], m = s->whole->dim[a];
    const double  parts = s->parts.first[a + 1] - s->parts.first[a];
    const double* D     = blocks->a_factor + blocks->diagonal_at[a];
    double*       z     = s->z + end->at;
    if (end->edge < 0) {
        double sum = 0;
        for (int r = 0; r < m; ++r) sum += D[(m + 1) * r];
        *z = (end->edge == -1 ? 1 : -1) * sqrt(parts * sum / m);
        return;
    }
    const double* J = blocks->j + blocks->j_at[end->edge];
    for (int r = 0; r < m; ++r) {
        for (int i = 0; i < n; ++i) z[n * r + i] = J[m * i + r];
    }
    if (m == 6) tni_block_lower(6, n, D, z);
    else tni_block_lower(m, n, D, z);
    for (int r = 0; r < m; ++r) {
        const double root = sqrt(parts * D[(m + 1) * r]);
        for (int i = 0; i < n; ++i) z[n * r + i] *= root;
    }
}

// P <- P + x^T y, x being m x n and y m x k.
TNI_INLINE void add_product(int m, int n, int k, const double* restrict x, const double* restrict y,
                            double* restrict P)
{
    for (int i = 0; i < n; ++i) {
        double row[TNI_DIM_MAX]; // stays in registers
        for (int j = 0; j < k; ++j) row[j] = P[k * i + j];
        for (int r = 0; r < m; ++r) {
            const double factor = x[n * r + i];
            for (int j = 0; j < k; ++j) row[j] += factor * y[k * r + j];
        }
        for (int j = 0; j < k; ++j) P[k * i + j] = row[j];
    }
}

// Adds the product of two ends on the same part, of m rows, to the block P of their owners.
static void add_pair(const tni_schur* s, const tni_end* one, const tni_end* other, double* P)
{
    const int     m = s->whole->dim[s->parts.node[one->part]];
    const int     n = s->plan->dim[one->owner], k = s->plan->dim[other->owner];
    const double *x = s->z + one->at, *y = s->z + other->at;
    if (one->edge < 0) {
        for (int r = 0; r < m; ++r) P[(m + 1) * r] += *x * *y;
    } else if (other->edge < 0) {
        for (int i = 0; i < n; ++i) {
            for (int r = 0; r < m; ++r) P[m * i + r] += x[n * r + i] * *y;
        }
    } else if (m == 6 && k == 3) {
        add_product(6, n, 3, x, y, P);
    } else if (m == 6 && k == 5) {
        add_product(6, n, 5, x, y, P);
    } else {
        add_product(m, n, k, x, y, P);
    }
}

// The diagonal block of node v; for a B node also scale on its rows, then E added.
static void load_node(tni_schur* s, int v, const tni_schur_blocks* blocks, double* scale)
{
    const int n    = s->plan->dim[v];
    double*   P    = s->diagonal + s->diagonal_at[v];
    const int from = s->source[v];
    memset(P, 0, sizeof *P * (size_t)(n * n));
    for (int k = s->end_start[v]; k < s->end_start[v + 1]; ++k) {
        find_z(s, &s->ends[k], n, blocks);
        add_pair(s, &s->ends[k], &s->ends[k], P);
    }
    if (is_weld(s, v)) return;
    for (int i = 0; i < n; ++i) scale[s->whole->row_start[from] + i] = P[(n + 1) * i];
    if (blocks->diagonal == NULL) return;
    const double* E = blocks->diagonal + blocks->diagonal_at[from];
    for (int i = 0; i < n * n; ++i) P[i] += E[i];
}

void tni_schur_load(tni_schur* s, int component, const tni_schur_blocks* blocks, double* scale)
{
    const tni_plan* plan = s->plan;
    const int       c    = s->component_of[component];
    if (c < 0) return;
    for (int p = plan->component_start[c]; p < plan->component_start[c + 1]; ++p)
        load_node(s, plan->order[p], blocks, scale);
    for (int k = plan->edge_start[c]; k < plan->edge_start[c + 1]; ++k) {
        const int e = plan->edge_list[k];
        const int n = plan->dim[plan->row_node[e]] * plan->dim[plan->col_node[e]];
        double*   P = s->edge + s->edge_at[e];
        memset(P, 0, sizeof *P * (size_t)n);
        for (int i = s->pair_start[e]; i < s->pair_start[e + 1]; ++i)
            add_pair(s, &s->ends[s->pairs[i][0]], &s->ends[s->pairs[i][1]], P);
    }
}

static int source_row(const tni_schur* s, int component, int row)
{
    for (int p = s->plan->component_start[component]; p < s->plan->component_start[component + 1];
         ++p) {
        const int v = s->plan->order[p], k = row - s->plan->row_start[v];
        if (k >= 0 && k < s->plan->dim[v]) return s->whole->row_start[s->source[v]] + k;
    }
    return -1;
}

// A chain of n welds is n times as compliant as one of them: alpha is divided by n.
static void raise_node(tni_schur* s, int v, const double* raise, double eps, double same)
{
    const int     from = s->source[v], n = s->plan->dim[v];
    const double* S     = s->diagonal + s->diagonal_at[v];
    const double  parts = s->parts.first[from + 1] - s->parts.first[from];
    double*       to    = s->raise + s->plan->row_start[v];
    if (!is_weld(s, v)) memcpy(to, raise + s->whole->row_start[from], sizeof *to * (size_t)n);
    for (int k = 0; is_weld(s, v) && k < n; ++k)
        to[k] = same > 0 ? same : fmax(eps / parts, fmin(eps, WELD_MIN)) * S[(n + 1) * k];
}

tn_result tni_schur_factor(tni_schur* s, int component, const double* raise, double eps,
                           double same, tni_pivot_report* report)
{
    const tni_plan* plan = s->plan;
    const int       c    = s->component_of[component];
    *report = (tni_pivot_report){.smallest = HUGE_VAL, .smallest_row = -1, .bad_row = -1};
    if (c < 0) return TN_OK;
    for (int p = plan->component_start[c]; p < plan->component_start[c + 1]; ++p)
        raise_node(s, plan->order[p], raise, eps, same);
    const tni_blocks     blocks = {s->diagonal, s->diagonal_at, s->edge, s->edge_at, false};
    const tni_pivot_rule rule   = {.tolerance = 0};
    tn_result            result;
    if (s->ldl != NULL) result = tni_ldl_factor(s->ldl, c, &blocks, s->raise, &rule, report);
    else result = tni_cholmod_factor(s->cholmod, c, &blocks, s->raise, report);
    if (report->bad_row >= 0) report->bad_row = source_row(s, c, report->bad_row);
    return result;
}

void tni_schur_solve(tni_schur* s, int component, double* x)
{
    const tni_plan* plan = s->plan;
    const int       c    = s->component_of[component];
    if (c < 0) return;
    for (int p = plan->component_start[c]; p < plan->component_start[c + 1]; ++p) {
        const int     v    = plan->order[p];
        double*       to   = s->work + plan->row_start[v];
        const double* from = x + s->whole->row_start[s->source[v]];
        for (int k = 0; k < plan->dim[v]; ++k) to[k] = is_weld(s, v) ? 0 : from[k];
    }
    if (s->ldl != NULL) tni_ldl_solve(s->ldl, c, 1, s->work);
    else tni_cholmod_solve(s->cholmod, c, s->work);
    for (int p = plan->component_start[c]; p < plan->component_start[c + 1]; ++p) {
        const int v = plan->order[p];
        if (is_weld(s, v)) continue;
        memcpy(x + s->whole->row_start[s->source[v]], s->work + plan->row_start[v],
               sizeof *x * (size_t)plan->dim[v]);
    }
}
