// Sparse block LU against dense elimination: random structures, and structures of known fill-in.
#include "linalg/block_lu.h"

#include "linalg/dense.h"
#include "support/failing_host.h"
#include "test.h"

#include <stdlib.h>

enum { NODES = 90, ROWS = 400 };

typedef struct problem {
    tni_arena    arena;
    tni_block_lu t;
    double *     dense, *x, *y;
    int          exchange[ROWS];
} problem;

static void begin(problem* p, size_t numbers)
{
    const tn_host host = tn_default_host();
    *p                 = (problem){.arena = tni_arena_make(&host)};
    CHECK_OK(tni_block_lu_create(&p->arena, NODES, ROWS, numbers, &p->t));
    p->dense = TNI_TAKE(&p->arena, double, ROWS* ROWS);
    p->x     = TNI_TAKE(&p->arena, double, ROWS);
    p->y     = TNI_TAKE(&p->arena, double, ROWS);
}

static void end(problem* p)
{
    tni_arena_free(&p->arena);
}

// Random numbers in the blocks of coupled nodes, both ways, and in the dense matrix. The large ones
// are off the diagonal: rows must be exchanged.
static void fill(problem* p, test_random* random, const uint8_t* tied)
{
    const int n = p->t.x_start[p->t.count];
    tni_block_lu_clear(&p->t);
    memset(p->dense, 0, sizeof *p->dense * (size_t)(n * n));
    for (int i = 0; i < n; ++i) p->dense[(n + 1) * i] = 1;
    for (int i = 0; i < p->t.count; ++i) {
        for (int j = 0; j < p->t.count; ++j) {
            if (i != j && !tied[p->t.count * i + j]) continue;
            double* B = tni_block_lu_block(&p->t, i, j);
            for (int r = 0; r < p->t.dim[i]; ++r) {
                for (int c = 0; c < p->t.dim[j]; ++c) {
                    const double more =
                        test_random_between(random, -1, 1) +
                        (i == j && (r + 1) % p->t.dim[i] == c ? 5 * p->t.dim[i] : 0);
                    B[p->t.dim[j] * r + c] += more;
                    p->dense[n * (p->t.x_start[i] + r) + p->t.x_start[j] + c] += more;
                }
            }
        }
    }
}

static void compare(problem* p, test_random* random)
{
    const int n    = p->t.x_start[p->t.count];
    double    size = 0;
    for (int i = 0; i < n; ++i) p->x[i] = p->y[i] = test_random_between(random, -1, 1);
    CHECK(tni_block_lu_factor(&p->t));
    tni_block_lu_solve(&p->t, p->x);
    CHECK_OK(tni_dense_lu(n, p->dense, p->exchange));
    tni_dense_lu_solve(n, p->dense, p->exchange, p->y);
    for (int i = 0; i < n; ++i) size = fmax(size, fabs(p->y[i]));
    for (int i = 0; i < n; ++i) CHECK_NEAR(p->x[i], p->y[i], 1e-11 * size); // condition below 1e4
}

TEST(random_matrices_agree_with_dense_elimination)
{
    for (uint64_t seed = 1; seed <= 60; ++seed) {
        test_random random = {seed};
        problem     p;
        begin(&p, ROWS * ROWS);
        const int count = test_random_int(&random, 1, seed % 10 == 0 ? NODES : 20);
        const int ties  = test_random_int(&random, 0, 3 * count);
        uint8_t*  tied  = TNI_TAKE(&p.arena, uint8_t, count * count);
        for (int i = 0; i < count; ++i)
            p.t.dim[i] = test_random_int(&random, 1, seed % 10 == 0 ? 4 : 12);
        CHECK(tni_block_lu_begin(&p.t, count));
        for (int k = 0; k < ties; ++k) {
            const int i = test_random_int(&random, 0, count - 1),
                      j = test_random_int(&random, 0, count - 1);
            tni_block_lu_couple(&p.t, i, j);
            tied[count * i + j] = tied[count * j + i] = i != j;
        }
        CHECK(tni_block_lu_order(&p.t));
        for (int again = 0; again < 2; ++again) {
            fill(&p, &random, tied);
            compare(&p, &random);
        }
        end(&p);
    }
}

// A chain, in an order that would cause fill-in, has none: 2 blocks an edge, 1 a node.
TEST(trees_have_no_fill_in)
{
    problem p;
    begin(&p, ROWS * ROWS);
    for (int i = 0; i < NODES; ++i) p.t.dim[i] = 3;
    CHECK(tni_block_lu_begin(&p.t, NODES));
    for (int i = 0; i + 1 < NODES; ++i)
        tni_block_lu_couple(&p.t, i * 37 % NODES, (i + 1) * 37 % NODES);
    CHECK(tni_block_lu_order(&p.t));
    CHECK_INT(p.t.row_start[NODES], 3 * NODES - 2);
    CHECK_NEAR(p.t.flops, (NODES - 1) * 3 * (6 + 18 + 18) + 3 * 6, 1e-9);
    end(&p);
}

TEST(lack_of_capacity_and_singular_matrices_are_reported)
{
    problem p;
    begin(&p, 60);
    p.t.dim[0] = 5, p.t.dim[1] = 5;
    CHECK(tni_block_lu_begin(&p.t, 2));
    CHECK(tni_block_lu_order(&p.t)); // 50 numbers are too few only with an edge
    CHECK(tni_block_lu_begin(&p.t, 2));
    tni_block_lu_couple(&p.t, 0, 1);
    CHECK(!tni_block_lu_order(&p.t));
    CHECK(!tni_block_lu_begin(&p.t, NODES + 1));
    p.t.dim[0] = 2;
    CHECK(tni_block_lu_begin(&p.t, 1) && tni_block_lu_order(&p.t));
    tni_block_lu_clear(&p.t);
    memset(tni_block_lu_block(&p.t, 0, 0), 0, sizeof(double) * 4);
    CHECK(!tni_block_lu_factor(&p.t));
    CHECK(tni_block_lu_begin(&p.t, 0) && tni_block_lu_order(&p.t));
    tni_block_lu_clear(&p.t);
    CHECK(tni_block_lu_factor(&p.t));
    end(&p);
}

TEST(lack_of_memory_is_reported)
{
    failing_host f = failing_host_make();
    for (int n = 1;; ++n) {
        failing_host_rewind(&f, n);
        const tn_host   host  = failing_host_of(&f);
        tni_arena       arena = tni_arena_make(&host);
        tni_block_lu    t;
        const tn_result result = tni_block_lu_create(&arena, 100, 600, 100000, &t);
        CHECK_INT(result, f.refused > 0 ? TN_ERR_MEMORY : TN_OK);
        tni_arena_free(&arena);
        CHECK_INT(f.live_blocks, 0);
        if (f.refused == 0) break;
    }
}
