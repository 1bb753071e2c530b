// The least-norm solution: closed forms where legs share a load, and random problems with many
// solutions.
#include "linalg/least_norm.h"
#include "linalg/mixed_complementarity.h"
#include "test.h"

#include <math.h>

enum { MOST = 24 };

typedef struct problem {
    tni_arena           arena;
    tni_mixed*          mixed;
    tni_least_norm      least;
    double              W[MOST * MOST], b[MOST], mu[MOST], f[MOST], a[MOST];
    uint8_t             condition[MOST];
    tni_complementarity pairs;
} problem;

static void begin(problem* p, int n)
{
    const tn_host host = tn_default_host();
    *p                 = (problem){.arena = tni_arena_make(&host)};
    CHECK_OK(tni_mixed_create(&p->arena, MOST, &p->mixed));
    CHECK_OK(tni_least_norm_create(&p->arena, MOST, &p->least));
    p->pairs = (tni_complementarity){.n         = n,
                                     .symmetric = true,
                                     .W         = p->W,
                                     .b         = p->b,
                                     .condition = p->condition,
                                     .mu        = p->mu,
                                     .f         = p->f,
                                     .a         = p->a};
}

static void end(problem* p)
{
    tni_arena_free(&p->arena);
}

// W = J M^-1 J^T of unit masses.
static void fill(problem* p, int cols, const double* J)
{
    const int n = p->pairs.n;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            p->W[n * i + j] = 0;
            for (int k = 0; k < cols; ++k) p->W[n * i + j] += J[cols * i + k] * J[cols * j + k];
        }
}

static void solve(problem* p)
{
    tni_mixed_report report;
    CHECK(tni_mixed_solve(p->mixed, &p->pairs, &report));
}

// A table of unit mass and moments: height, two tilts; four legs at (+-1, +-1), the load at (x, y).
static void table(problem* p, double x, double y)
{
    static const double at[4][2] = {{1, 1}, {-1, 1}, {1, -1}, {-1, -1}};
    double              J[12];
    begin(p, 4);
    for (int i = 0; i < 4; ++i) {
        J[3 * i] = 1, J[3 * i + 1] = at[i][0], J[3 * i + 2] = at[i][1];
        p->condition[i] = TNI_ONE_SIDED;
        p->b[i]         = -(1 + x * at[i][0] + y * at[i][1]); // M^-1 times a unit force there
    }
    fill(p, 3, J);
}

TEST(four_legs_share_evenly)
{
    problem p;
    table(&p, 0, 0);
    solve(&p);
    tni_least_norm_answer(&p.least, &p.pairs);
    for (int i = 0; i < 4; ++i) CHECK_NEAR(p.f[i], 0.25, 1e-9);
    end(&p);
    // Off the middle: (1 + x + y) / 4 and so on, the part of f that W sees.
    table(&p, 0.3, -0.2);
    solve(&p);
    tni_least_norm_answer(&p.least, &p.pairs);
    CHECK_NEAR(p.f[0], 0.25 * 1.1, 1e-9);
    CHECK_NEAR(p.f[1], 0.25 * 0.5, 1e-9);
    CHECK_NEAR(p.f[2], 0.25 * 1.5, 1e-9);
    CHECK_NEAR(p.f[3], 0.25 * 0.9, 1e-9);
    end(&p);
}

TEST(bounds_stop_it_on_the_way) // the least would pull at one leg
{
    problem p;
    table(&p, 0.6, 0.6);
    solve(&p);
    tni_least_norm_answer(&p.least, &p.pairs);
    int row;
    CHECK(tni_complementarity_residual(&p.pairs, &row) <= 1e-12);
    for (int i = 0; i < 4; ++i) CHECK(p.f[i] >= 0);
    CHECK_NEAR(p.f[0] + p.f[1] + p.f[2] + p.f[3], 1, 1e-12);
    end(&p);
}

// Legs with friction: nothing pushes sideways, so no foot should.
TEST(feet_at_rest_do_not_push_apart)
{
    static const double at[4][2]  = {{1, 1}, {-1, 1}, {1, -1}, {-1, -1}};
    double              J[12 * 6] = {0};
    problem             p;
    begin(&p, 12);
    for (int i = 0; i < 4; ++i) {
        double* n = J + 18 * i;
        n[2] = 1, n[3] = at[i][1], n[4] = -at[i][0];   // up: z, turns about x and y
        n[6] = 1, n[6 + 5] = -at[i][1], n[6 + 4] = -1; // along x, at the feet
        n[13] = 1, n[12 + 5] = at[i][0], n[12 + 3] = 1;
        p.condition[3 * i]     = TNI_NORMAL;
        p.condition[3 * i + 1] = p.condition[3 * i + 2] = TNI_TANGENT;
        p.mu[3 * i]                                     = 0.5;
        p.b[3 * i]                                      = -1;
    }
    fill(&p, 6, J);
    solve(&p);
    tni_least_norm_answer(&p.least, &p.pairs);
    for (int i = 0; i < 4; ++i) {
        CHECK_NEAR(p.f[3 * i], 0.25, 1e-9);
        CHECK_NEAR(p.f[3 * i + 1], 0, 1e-9);
        CHECK_NEAR(p.f[3 * i + 2], 0, 1e-9);
    }
    end(&p);
}

// For any guess, one solution, which meets the conditions and is not longer than the guess.
TEST(the_answer_does_not_depend_on_the_guess)
{
    test_random r = {7};
    for (int round = 0; round < 200; ++round) {
        problem   p;
        double    J[MOST * 6], first[MOST];
        const int n = test_random_int(&r, 4, 12), cols = 3;
        begin(&p, n);
        for (int i = 0; i < n * cols; ++i)
            J[i] = i % cols == 0 ? 1 : test_random_between(&r, -1, 1);
        for (int i = 0; i < n; ++i) {
            p.condition[i] = TNI_ONE_SIDED;
            p.b[i]         = -J[cols * i];
        }
        fill(&p, cols, J);
        for (int guess = 0; guess < 3; ++guess) {
            for (int i = 0; i < n; ++i) p.f[i] = guess > 0 ? test_random_between(&r, 0, 1) : 0;
            solve(&p);
            double before = 0, after = 0;
            for (int i = 0; i < n; ++i) before += p.W[(n + 1) * i] * p.f[i] * p.f[i];
            tni_least_norm_answer(&p.least, &p.pairs);
            bool inside = true; // then no bound was active
            int  row;
            CHECK(tni_complementarity_residual(&p.pairs, &row) <= 1e-11);
            for (int i = 0; i < n; ++i) {
                after += p.W[(n + 1) * i] * p.f[i] * p.f[i];
                inside = inside && (p.f[i] > 1e-9 || p.a[i] > 1e-9);
            }
            CHECK(after <= before * (1 + 1e-9));
            for (int i = 0; i < n && guess > 0 && inside; ++i) CHECK_NEAR(p.f[i], first[i], 1e-6);
            if (guess == 0) memcpy(first, p.f, sizeof first);
            if (!inside) break;
        }
        end(&p);
    }
}

// Two balls side by side under one load, each with a roll row: the least-norm solution shares the
// load and the torque evenly, and stays within the smaller disc.
TEST(roll_rows_are_shared_too)
{
    const double J[16] = {1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0};
    problem      p;
    begin(&p, 4);
    for (int i = 0; i < 4; ++i) p.condition[i] = i % 2 == 0 ? TNI_NORMAL : TNI_ROLL;
    fill(&p, 4, J);
    p.b[0] = p.b[2] = -2, p.b[1] = p.b[3] = 0.2;
    p.mu[1] = p.mu[3] = 0.15;
    p.f[0] = 2, p.f[1] = -0.2; // all on the first: a guess that meets the conditions
    solve(&p);
    tni_least_norm_answer(&p.least, &p.pairs);
    CHECK_NEAR(p.f[0], 1, 1e-9);
    CHECK_NEAR(p.f[2], 1, 1e-9);
    CHECK_NEAR(p.f[1], -0.1, 1e-9);
    p.mu[1] = 0.15, p.mu[3] = 0.05; // the second may take half as much
    p.f[0] = 2, p.f[1] = -0.2, p.f[2] = p.f[3] = 0;
    solve(&p);
    tni_least_norm_answer(&p.least, &p.pairs);
    CHECK(fabs(p.f[3]) <= 0.05 * p.f[2] * (1 + 1e-9));
    CHECK_NEAR(p.f[1] + p.f[3], -0.2, 1e-9);
    CHECK_NEAR(p.f[0] + p.f[2], 2, 1e-9);
    end(&p);
}
