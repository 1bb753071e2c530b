// contact_paths: what one point in contact costs by path solves, against the number n of links of a
// mechanism on the ground (ball joints, k points, three rows each, spread evenly): of a chain,
// whose paths are as long as itself where leaves are eliminated first, and of a binary tree, whose
// paths grow like log n. "balanced": nodes on the paths of the same chain in the order of nested
// dissection. Microseconds of processor time a contact, medians:
//     nodes     that the paths of a contact visit, up
//     half      half solve of its rows, W of itself: all that is done to it before sweeps
//     sweep     one visit in a sweep: velocity, its cone, change of force
//     full      a solve of the whole chain for its rows, as without paths
//     contact_paths [k [repeats]]
#define _POSIX_C_SOURCE 200809L
#include "linalg/gauss_seidel.h"
#include "linalg/saddle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const int sizes[] = {30, 100, 300, 1000, 3000, 10000};
enum { SIZES = sizeof sizes / sizeof *sizes, REPEATS_MAX = 1000 };

typedef struct chain {
    tni_arena        arena;
    tni_plan*        plan;
    tni_saddle*      saddle;
    tni_gauss_seidel sweep;
    int              n;
    tni_graph        graph;
} chain;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Link i hangs at link (i - 1) / 2 in a tree, at the one before it in a chain; B nodes come last.
static tn_result open_chain(chain* c, int n, int k, bool tree)
{
    const tn_host host = tn_default_host();
    *c                 = (chain){.arena = tni_arena_make(&host), .n = n};
    const int ties     = n - 1;
    int*      dim      = TNI_TAKE(&c->arena, int, n + ties);
    int8_t*   sign     = TNI_TAKE(&c->arena, int8_t, n + ties);
    int *     row = TNI_TAKE(&c->arena, int, 2 * ties), *col = TNI_TAKE(&c->arena, int, 2 * ties);
    uint8_t*  strong = TNI_TAKE(&c->arena, uint8_t, 2 * ties);
    if (c->arena.failed) return TN_ERR_MEMORY;
    for (int i = 0; i < n + ties; ++i) dim[i] = i < n ? 6 : 3, sign[i] = i < n ? 1 : -1;
    for (int e = 0; e < 2 * ties; ++e) {
        const int link = e / 2 + 1;
        row[e]         = n + e / 2;
        col[e]         = e % 2 == 1 ? link : tree ? (link - 1) / 2 : link - 1;
        strong[e]      = 1;
    }
    c->graph       = (tni_graph){n + ties, dim, sign, 2 * ties, row, col, strong, NULL};
    tn_result made = tni_plan_create(&c->arena, &c->graph, &c->plan);
    if (made == TN_OK) made = tni_saddle_create(&c->arena, c->plan, &c->saddle);
    if (made == TN_OK)
        made = tni_gauss_seidel_create(&c->arena, c->plan, 3 * k,
                                       (size_t)k * (size_t)(30 * n + 4000), &c->sweep);
    return made;
}

static int node_of(const chain* c, int k, int i)
{
    return (int)((long long)(2 * i + 1) * c->n / (2 * k));
}

// Nodes on the path of a contact, were the order one of nested dissection.
static double balanced_nodes(chain* c, int k)
{
    const int           count = c->graph.count;
    const tni_adjacency graph = tni_adjacency_make(&c->arena, &c->graph);
    uint8_t*            skip  = TNI_TAKE(&c->arena, uint8_t, count);
    int*                order = TNI_TAKE(&c->arena, int, count);
    int*                place = TNI_TAKE(&c->arena, int, count);
    int*                up    = TNI_TAKE(&c->arena, int, count);
    int*                work  = TNI_TAKE(&c->arena, int, count);
    long long           sum   = 0;
    if (c->arena.failed || tni_order_dissected(&c->arena, &graph, skip, order) != count) return 0;
    for (int i = 0; i < count; ++i) place[order[i]] = i;
    tni_order_parents(&graph, order, place, up, work);
    for (int i = 0; i < k; ++i)
        for (int p = place[node_of(c, k, i)]; p >= 0; p = up[p]) ++sum;
    return (double)sum / k;
}

static tn_result fill_chain(chain* c)
{
    for (int i = 0; i < c->n; ++i) {
        double* A = tni_saddle_a(c->saddle, i);
        memset(A, 0, sizeof *A * 36);
        for (int k = 0; k < 6; ++k) A[7 * k] = k < 3 ? 1 : 0.1;
    }
    for (int e = 0; e < 2 * (c->n - 1); ++e) {
        const double side = e % 2 == 0 ? 1 : -1;
        double*      J    = tni_saddle_j(c->saddle, e);
        memset(J, 0, sizeof *J * 18);
        for (int k = 0; k < 3; ++k) J[7 * k] = side;
        J[6 + 5] = 0.5, J[12 + 4] = -0.5; // side * (side 0.5) along x
    }
    return tni_saddle_factor(c->saddle);
}

// Rows of a point under link `node`: up, and across.
static void load(double* x, int row)
{
    static const double J[3][6] = {{0, 0, 1, 0, 0, 0}, {1, 0, 0, 0, -0.1, 0}, {0, 1, 0, 0.1, 0, 0}};
    for (int i = 0; i < 6; ++i)
        for (int c = 0; c < 3; ++c) x[(row + i) * 3 + c] = J[c][i];
}

static int compare(const void* a, const void* b)
{
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static double median(double* values, int count)
{
    qsort(values, (size_t)count, sizeof(double), compare);
    return values[count / 2];
}

typedef struct times {
    double nodes, half, sweep, full;
} times;

static bool add_contacts(chain* c, int k, double* x, tni_gauss_seidel_island* island)
{
    bool good = true;
    tni_gauss_seidel_clear(&c->sweep, c->saddle->ldl);
    for (int i = 0; good && i < k; ++i) {
        const int node = node_of(c, k, i);
        load(x, c->plan->row_start[node]);
        good = tni_gauss_seidel_add(&c->sweep, &node, 1, 3, x);
    }
    *island = (tni_gauss_seidel_island){.group_count = k, .row_count = 3 * k};
    return good;
}

static bool measure(chain* c, int k, int repeats, times* t)
{
    double *x = calloc((size_t)c->plan->row_count * 3, sizeof *x), *time[3];
    double *b = calloc(15 * (size_t)k, sizeof *b), sum = 0;
    bool    good = true;
    for (int i = 0; i < 3; ++i) time[i] = calloc((size_t)repeats, sizeof(double));
    uint8_t* condition = calloc(3 * (size_t)k, 1);
    for (int i = 0; i < 3 * k; ++i) {
        condition[i] = i % 3 == 0 ? TNI_NORMAL : TNI_TANGENT;
        b[i]         = i % 3 == 0 ? -1 : 0.3;
        b[3 * k + i] = 0.5; // mu
    }
    for (int turn = -1; good && turn < repeats; ++turn) {
        enum { SWEEPS = 10 };
        tni_gauss_seidel_island island;
        tni_gauss_seidel_report report;
        const double            t0 = seconds();
        good                       = add_contacts(c, k, x, &island);
        const double t1            = seconds();
        memset(b + 6 * k, 0, sizeof *b * 3 * (size_t)k);
        const tni_gauss_seidel_rows rows = {b, condition, b + 3 * k, b + 6 * k, b + 9 * k, NULL, 0};
        (void)tni_gauss_seidel_solve(&c->sweep, &island, &rows, SWEEPS, 0, 0, &report);
        const double t2 = seconds();
        for (int i = 0; i < k && turn % 10 == 0; ++i) {
            memset(x, 0, sizeof *x * 3 * (size_t)c->plan->row_count);
            load(x, c->plan->row_start[node_of(c, k, i)]);
            tni_ldl_solve(c->saddle->ldl, -1, 3, x);
            sum += x[0];
        }
        const double t3 = seconds();
        if (turn < 0) continue;
        time[0][turn]      = (t1 - t0) / k;
        time[1][turn]      = (t2 - t1) / (k * (double)SWEEPS);
        time[2][turn / 10] = turn % 10 == 0 ? (t3 - t2) / k : time[2][turn / 10];
    }
    t->nodes = (double)c->sweep.paths.place_count / k;
    t->half  = 1e6 * median(time[0], repeats);
    t->sweep = 1e6 * median(time[1], repeats);
    t->full  = 1e6 * median(time[2], (repeats + 9) / 10) + (sum == 0.123 ? 1 : 0);
    for (int i = 0; i < 3; ++i) free(time[i]);
    free(condition);
    free(b);
    free(x);
    return good;
}

int main(int count, char** arguments)
{
    const int k       = count > 1 ? atoi(arguments[1]) : 20,
              repeats = count > 2 ? atoi(arguments[2]) : 50;
    if (k < 1 || repeats < 1 || repeats > REPEATS_MAX) return 2;
    for (int tree = 0; tree < 2; ++tree) {
        printf("%s of n links, %d points on the ground\n%7s %8s %9s %10s %10s %10s %8s\n",
               tree ? "binary tree" : "chain", k, "n", "nodes", "balanced", "half", "sweep", "full",
               "ratio");
        for (int i = 0; i < SIZES; ++i) {
            chain c;
            times t;
            if (sizes[i] < k) continue;
            if (open_chain(&c, sizes[i], k, tree) != TN_OK || fill_chain(&c) != TN_OK ||
                !measure(&c, k, repeats, &t))
                return 1;
            printf("%7d %8.1f %9.1f %10.2f %10.2f %10.2f %8.1f\n", sizes[i], t.nodes,
                   balanced_nodes(&c, k), t.half, t.sweep, t.full, t.full / (t.half + t.sweep));
            fflush(stdout);
            tni_arena_free(&c.arena);
        }
        printf("\n");
    }
    return 0;
}
