// Contacts with W as an operator, against a dense W: free links, chains and loops, with random
// contacts or stacked.
#include "linalg/gauss_seidel.h"

#include "linalg/mixed_complementarity.h"
#include "support/failing_host.h"
#include "support/saddle_case.h"

enum { MOST = 420 }; // rows

typedef struct problem {
    saddle_case*            s;
    tni_gauss_seidel        sweep;
    tni_gauss_seidel_island island;
    int                     n, groups;
    int                     node[MOST][2], count[MOST]; ///< by group: links, rows
    int                     first[MOST];
    double                  J[MOST][12];
    double                  b[MOST], mu[MOST], f[MOST], a[MOST];
    uint8_t                 condition[MOST];
    double*                 W;
} problem;

static problem* problem_of(saddle_case* s)
{
    problem* p = calloc(1, sizeof *p);
    p->s       = s;
    CHECK_OK(tni_saddle_factor(s->saddle));
    return p;
}

static void problem_free(problem* p)
{
    saddle_free(p->s);
    free(p->W);
    free(p);
}

static void cross(const double* a, const double* b, double* c)
{
    for (int k = 0; k < 3; ++k)
        c[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

// Velocity of a point along d, or rotation about it: of link two minus that of link one (-1:
// ground).
static void add_row(problem* p, tni_condition condition, int one, int two, const double* point,
                    const double* d, bool turns)
{
    double* J          = p->J[p->n];
    p->condition[p->n] = (uint8_t)condition;
    const int links[2] = {one, two};
    for (int side = 0; side < 2; ++side) {
        double arm[3], moment[3];
        if (links[side] < 0) continue;
        for (int k = 0; k < 3; ++k) arm[k] = point[k] - p->s->place[links[side]][k];
        cross(arm, d, moment);
        for (int k = 0; k < 3; ++k) {
            J[6 * side + k]     = (side == 0 ? -1 : 1) * (turns ? 0 : d[k]);
            J[6 * side + 3 + k] = (side == 0 ? -1 : 1) * (turns ? d[k] : moment[k]);
        }
    }
    ++p->n;
}

static void begin_group(problem* p, int one, int two)
{
    p->node[p->groups][0] = one;
    p->node[p->groups][1] = two;
    p->first[p->groups]   = p->n;
}

static void end_group(problem* p)
{
    p->count[p->groups] = p->n - p->first[p->groups];
    ++p->groups;
}

static void add_contact(problem* p, int one, int two, const double* point, const double* n,
                        double mu, bool turns)
{
    double aside[3] = {fabs(n[0]) < 0.6, fabs(n[0]) >= 0.6, 0}, t[2][3], length = 0;
    cross(aside, n, t[0]);
    for (int k = 0; k < 3; ++k) length += t[0][k] * t[0][k];
    for (int k = 0; k < 3; ++k) t[0][k] /= sqrt(length);
    cross(n, t[0], t[1]);
    begin_group(p, one, two);
    p->mu[p->n] = mu;
    add_row(p, mu > 0 || turns ? TNI_NORMAL : TNI_ONE_SIDED, one, two, point, n, false);
    for (int k = 0; k < 2 && mu > 0; ++k) add_row(p, TNI_TANGENT, one, two, point, t[k], false);
    if (turns) {
        p->mu[p->n] = 0.01;
        add_row(p, TNI_SPIN, one, two, point, n, true);
        p->mu[p->n] = 0.02;
        add_row(p, TNI_ROLL, one, two, point, t[0], true);
        add_row(p, TNI_ROLL, one, two, point, t[1], true);
    }
    end_group(p);
}

// All groups are one island.
static void join(problem* p)
{
    double*   x   = calloc(6 * (size_t)p->s->plan->row_count, sizeof *x);
    const int row = MOST;
    CHECK_OK(tni_gauss_seidel_create(&p->s->arena, p->s->plan, row, 120000, &p->sweep));
    tni_gauss_seidel_clear(&p->sweep, p->s->saddle->ldl);
    for (int i = 0; i < p->groups; ++i) {
        int       given[2], count = 0;
        const int n = p->count[i];
        for (int side = 0; side < 2; ++side) {
            const int link = p->node[i][side];
            if (link < 0) continue;
            given[count++] = link;
            for (int k = 0; k < 6; ++k)
                for (int c = 0; c < n; ++c)
                    x[(p->s->plan->row_start[link] + k) * n + c] =
                        p->J[p->first[i] + c][6 * side + k];
        }
        CHECK(tni_gauss_seidel_add(&p->sweep, given, count, n, x));
    }
    CHECK(tni_gauss_seidel_close(&p->sweep, &p->island));
    CHECK_INT(p->island.row_count, p->n);
    free(x);
}

static double row_times(const problem* p, int group, int row, const double* u)
{
    double sum = 0;
    for (int side = 0; side < 2; ++side) {
        const int link = p->node[group][side];
        for (int k = 0; link >= 0 && k < 6; ++k)
            sum += p->J[row][6 * side + k] * u[p->s->plan->row_start[link] + k];
    }
    return sum;
}

// W by full solves, and b = J u of random forces and weight.
static void write_down(problem* p, double push)
{
    const int all = p->s->plan->row_count;
    double *  rhs = calloc(2 * (size_t)all, sizeof *rhs), *x = rhs + all;
    p->W = calloc((size_t)(p->n * p->n), sizeof *p->W);
    for (int j = 0; j < p->groups; ++j) {
        for (int c = p->first[j]; c < p->first[j] + p->count[j]; ++c) {
            memset(rhs, 0, sizeof *rhs * (size_t)all);
            for (int side = 0; side < 2; ++side)
                for (int k = 0; p->node[j][side] >= 0 && k < 6; ++k)
                    rhs[p->s->plan->row_start[p->node[j][side]] + k] += p->J[c][6 * side + k];
            CHECK_OK(tni_saddle_solve(p->s->saddle, rhs, x, true));
            for (int i = 0; i < p->groups; ++i)
                for (int r = p->first[i]; r < p->first[i] + p->count[i]; ++r)
                    p->W[p->n * r + c] = row_times(p, i, r, x);
        }
    }
    memset(rhs, 0, sizeof *rhs * (size_t)all);
    for (int v = 0; v < p->s->graph.count; ++v) {
        for (int k = 0; p->s->sign[v] > 0 && k < 6; ++k) {
            const double any                  = test_random_between(&p->s->random, -push, push);
            rhs[p->s->plan->row_start[v] + k] = p->s->weight[v] * (any - (k == 2));
        }
    }
    CHECK_OK(tni_saddle_solve(p->s->saddle, rhs, x, true));
    for (int i = 0; i < p->groups; ++i)
        for (int r = p->first[i]; r < p->first[i] + p->count[i]; ++r)
            p->b[r] = row_times(p, i, r, x);
    free(rhs);
}

static tni_complementarity pairs_of(const problem* p, double* f, double* a)
{
    return (tni_complementarity){.n         = p->n,
                                 .symmetric = true,
                                 .W         = p->W,
                                 .b         = p->b,
                                 .condition = p->condition,
                                 .mu        = p->mu,
                                 .f         = f,
                                 .a         = a};
}

static bool solve(problem* p, int limit, tni_gauss_seidel_report* report)
{
    const tni_gauss_seidel_rows rows = {p->b, p->condition, p->mu, p->f, p->a, NULL, 0};
    return tni_gauss_seidel_solve(&p->sweep, &p->island, &rows, limit, 1e-9, 0, report);
}

// The conditions with the dense W; a is recomputed.
static double violation(const problem* p)
{
    double                    a[MOST];
    int                       row;
    const tni_complementarity q = pairs_of(p, (double*)p->f, a);
    tni_complementarity_apply(&q);
    return tni_complementarity_residual(&q, &row) / tni_complementarity_scale(&q);
}

// ---- Scenes -------------------------------------------------------------------------------------

static void random_direction(saddle_case* s, double* n, bool up)
{
    double length = 0;
    saddle_random_point(s, n);
    if (up) n[2] = fabs(n[2]) + 0.5;
    for (int k = 0; k < 3; ++k) length += n[k] * n[k];
    for (int k = 0; k < 3; ++k) n[k] /= sqrt(length);
}

enum { LOOSE, CHAINS, LOOPS, KINDS };

// Links in groups of `size` (chains by ball joints, rings), at random heights.
static saddle_case* links_of(uint64_t seed, int kind, int groups, int size)
{
    saddle_case* s = saddle_make(seed);
    for (int g = 0; g < groups; ++g) {
        for (int i = 0; i < size; ++i) {
            const double x = test_random_between(&s->random, -0.2, 0.2);
            const int    a = saddle_add_link(s, i + x, g % 3 + x, g, saddle_random_weight(s, 10));
            const double p[3] = {i - 0.5, g % 3, g};
            if (kind != LOOSE && i > 0) saddle_ball(s, a, a - 2 + (i == 1), p);
        }
    }
    saddle_finish(s);
    return s;
}

// Links of a group do not have consecutive numbers if joints are between them: by place in the
// list.
static int links_in(const saddle_case* s, int* links)
{
    int count = 0;
    for (int v = 0; v < s->graph.count; ++v)
        if (s->sign[v] > 0) links[count++] = v;
    return count;
}

static problem* random_problem(uint64_t seed, int kind, int contacts, double mu, bool turns)
{
    saddle_case* s = links_of(seed, kind, kind == LOOSE ? 12 : 4, kind == LOOSE ? 1 : 5);
    problem*     p = problem_of(s);
    int          links[SADDLE_CAP];
    const int    count = links_in(s, links);
    for (int i = 0; i < contacts; ++i) {
        double    n[3], at[3];
        const int two = test_random_int(&s->random, 0, count - 1);
        const int one =
            i % 3 == 0 || two == 0 ? -1 : links[test_random_int(&s->random, 0, two - 1)];
        random_direction(s, n, one < 0);
        for (int k = 0; k < 3; ++k)
            at[k] = s->place[links[two]][k] + test_random_between(&s->random, -0.5, 0.5);
        add_contact(p, one, links[two], at, n, mu, turns && i % 4 == 0);
    }
    join(p);
    write_down(p, 0.5);
    return p;
}

// ---- Tests --------------------------------------------------------------------------------------

TEST(sweeps_see_the_same_w)
{
    for (int kind = 0; kind < LOOPS; ++kind) {
        problem* p = random_problem(3, kind, 30, 0.4, true);
        double   a[MOST];
        for (int i = 0; i < p->n; ++i) p->f[i] = test_random_between(&p->s->random, -1, 1);
        tni_gauss_seidel_apply(&p->sweep, &p->island, p->f, a);
        for (int i = 0; i < p->n; ++i) {
            double sum = 0, size = 0;
            for (int j = 0; j < p->n; ++j) {
                sum += p->W[p->n * i + j] * p->f[j];
                size += fabs(p->W[p->n * i + j] * p->f[j]);
            }
            CHECK_NEAR(a[i], sum, 1e-12 * size);
        }
        problem_free(p);
    }
}

TEST(sweeps_meet_the_conditions_of_dense_w)
{
    int most = 0;
    for (uint64_t seed = 1; seed <= 12; ++seed) {
        const int kind = (int)(seed % LOOPS);
        problem*  p =
            random_problem(seed, kind, 40 + (int)seed, 0.1 * (double)(seed % 8), seed % 3 == 0);
        tni_gauss_seidel_report report;
        CHECK(p->island.newton);
        CHECK(solve(p, 2000, &report));
        CHECK_LESS(violation(p), 1e-8);
        most = report.rounds > most ? report.rounds : most;
        problem_free(p);
    }
    printf("sweep: at most %d rounds\n", most);
}

// a is unique without friction.
TEST(sweeps_agree_with_the_direct_solver)
{
    for (uint64_t seed = 1; seed <= 6; ++seed) {
        problem*                  p       = random_problem(seed, (int)(seed % LOOPS), 60, 0, false);
        double                    f[MOST] = {0}, a[MOST], scale = 0;
        tni_mixed*                mixed;
        tni_mixed_report          report;
        tni_gauss_seidel_report   done;
        const tni_complementarity q = pairs_of(p, f, a);
        CHECK_OK(tni_mixed_create(&p->s->arena, p->n, &mixed));
        CHECK(tni_mixed_solve(mixed, &q, &report));
        for (int newton = 0; newton < 2; ++newton) {
            p->island.newton = newton == 1;
            memset(p->f, 0, sizeof p->f);
            CHECK(solve(p, 20000, &done));
            for (int i = 0; i < p->n; ++i) scale = fmax(scale, fabs(p->b[i]));
            for (int i = 0; i < p->n; ++i) CHECK_NEAR(p->a[i], a[i], 1e-8 * scale);
        }
        problem_free(p);
    }
}

// A stack of cubes carries its weight: four corners each. Returns the rounds.
static problem* stack_of(int count, double ratio)
{
    saddle_case* s    = saddle_make(1);
    double       mass = 1;
    for (int i = 0; i < count; ++i, mass *= ratio) saddle_add_link(s, 0, 0, i + 0.5, mass);
    saddle_finish(s);
    for (int i = 0; i < count; ++i) {
        double* A = tni_saddle_a(s->saddle, i);
        memset(A, 0, 36 * sizeof *A);
        for (int k = 0; k < 6; ++k) A[7 * k] = s->weight[i] / (k < 3 ? 1 : 6);
    }
    problem* p = problem_of(s);
    for (int i = 0; i < count; ++i) {
        for (int k = 0; k < 4; ++k) {
            const double at[3] = {k % 2 - 0.5, k / 2 - 0.5, i}, up[3] = {0, 0, 1};
            add_contact(p, i - 1, i, at, up, 0.5, false);
        }
    }
    join(p);
    for (int i = 0; i < p->n; ++i) p->b[i] = i == 0 || (i < 12 && i % 3 == 0) ? -1 : 0;
    return p;
}

TEST(stacks_carry_their_weight_in_a_few_rounds)
{
    const double ratios[] = {1, 1.3, 1 / 1.3};
    for (int r = 0; r < 3; ++r) {
        const int               count = 20;
        problem*                p     = stack_of(count, ratios[r]);
        double                  above = 0;
        tni_gauss_seidel_report cold, warm;
        CHECK(solve(p, 400, &cold));
        for (int i = count - 1; i >= 0; --i) {
            double sum = 0;
            above += p->s->weight[i];
            for (int k = 0; k < 4; ++k) sum += p->f[12 * i + 3 * k];
            CHECK_NEAR(sum / above, 1,
                       1e-7); // 20 masses on each other: the residual's 1e-9, summed
        }
        for (int i = 0; i < 12; i += 3) p->b[i] *= 1.001;
        CHECK(solve(p, 400, &warm));
        printf("sweep: stack of %d, masses x%.2f: %d rounds cold, %d warm\n", count, ratios[r],
               cold.rounds, warm.rounds);
        CHECK(cold.rounds < 120 && warm.rounds < 60);
        problem_free(p);
    }
}

// Equal rows besides contacts: against the elimination of mixed_complementarity.c.
TEST(equal_rows_among_contacts)
{
    for (uint64_t seed = 1; seed <= 5; ++seed) {
        saddle_case* s = links_of(seed, CHAINS, 4, 5);
        problem*     p = problem_of(s);
        int          links[SADDLE_CAP];
        const int    count = links_in(s, links);
        for (int i = 0; i < 50; ++i) {
            double    n[3], at[3];
            const int two = test_random_int(&s->random, 0, count - 1);
            random_direction(s, n, true);
            for (int k = 0; k < 3; ++k)
                at[k] = s->place[links[two]][k] + test_random_between(&s->random, -0.5, 0.5);
            if (i % 25 == 0) { // a ball joint between distant links; the second time, of one
                begin_group(p, links[i / 25], links[count - 1]);
                for (int k = 0; k < 3; ++k) {
                    const double d[3] = {k == 0, k == 1, k == 2};
                    add_row(p, TNI_EQUAL, links[i / 25], links[count - 1], at, d, false);
                }
                end_group(p);
            } else {
                add_contact(p, -1, links[two], at, n, 0, false);
            }
        }
        join(p);
        write_down(p, 0.5);
        double                    f[MOST] = {0}, a[MOST], scale = 0;
        tni_mixed*                mixed;
        tni_mixed_report          report;
        tni_gauss_seidel_report   done;
        const tni_complementarity q = pairs_of(p, f, a);
        CHECK_OK(tni_mixed_create(&s->arena, p->n, &mixed));
        CHECK(tni_mixed_solve(mixed, &q, &report));
        CHECK(solve(p, 2000, &done));
        for (int i = 0; i < p->n; ++i) scale = fmax(scale, fabs(p->b[i]));
        for (int i = 0; i < p->n; ++i) CHECK_NEAR(p->a[i], a[i], 1e-8 * scale);
        problem_free(p);
    }
}

TEST(sweeps_keep_to_their_limit_and_to_the_bounds)
{
    for (int limit = 0; limit <= 8; limit += 2) {
        problem*                p = stack_of(20, 1);
        tni_gauss_seidel_report report;
        CHECK(!solve(p, limit, &report));
        CHECK(report.rounds <= limit && report.residual > 0 && report.row >= 0);
        for (int i = 0; i < p->n; i += 3) {
            CHECK(p->f[i] >= 0);
            CHECK(hypot(p->f[i + 1], p->f[i + 2]) <= 0.5 * p->f[i] * (1 + 1e-12));
        }
        problem_free(p);
    }
}

// A fixed row does not move and has no effect; islands are independent; what is dropped leaves no
// trace.
TEST(sweeps_of_several_islands)
{
    problem *               p = stack_of(10, 1), *q = stack_of(10, 1);
    tni_gauss_seidel        both;
    tni_gauss_seidel_island island[2];
    tni_gauss_seidel_report report;
    double                  x[60 * 6];
    CHECK(solve(p, 400, &report));
    CHECK_OK(tni_gauss_seidel_create(&q->s->arena, q->s->plan, MOST, 100000, &both));
    tni_gauss_seidel_clear(&both, q->s->saddle->ldl);
    for (int part = 0; part < 3; ++part) { // 5 cubes; an island to drop; the others, as on ground
        const int from = part == 2 ? 20 : 0;
        for (int i = from; i < from + 20; ++i) {
            int given[2], count = 0;
            for (int side = 0; side < 2; ++side) {
                const int link = q->node[i][side];
                if (link < 0 || (part == 2 && link < 5)) continue;
                given[count++] = link;
                for (int k = 0; k < 6; ++k)
                    for (int c = 0; c < 3; ++c)
                        x[(q->s->plan->row_start[link] + k) * 3 + c] =
                            q->J[q->first[i] + c][6 * side + k];
            }
            CHECK(tni_gauss_seidel_add(&both, given, count, 3, x));
        }
        if (part == 1) tni_gauss_seidel_drop(&both);
        else CHECK(tni_gauss_seidel_close(&both, &island[part / 2]));
    }
    CHECK_INT(island[1].row, 60);
    for (int part = 0; part < 2; ++part) {
        double                      f[60] = {0}, a[60], b[60];
        const tni_gauss_seidel_rows rows  = {b, q->condition, q->mu, f, a, NULL, 0};
        memcpy(b, q->b, sizeof b);
        CHECK(tni_gauss_seidel_solve(&both, &island[part], &rows, 400, 1e-9, 0, &report));
        for (int i = 0; i < 5; ++i) {
            double sum = 0;
            for (int k = 0; k < 4; ++k) sum += f[12 * i + 3 * k];
            CHECK_NEAR(sum, 5 - i, 1e-7);
        }
    }
    problem_free(p);
    problem_free(q);
}

TEST(fixed_rows_do_not_move)
{
    problem* p = stack_of(3, 1);
    double   a[MOST];
    tni_gauss_seidel_hold(&p->sweep, 1, 1);
    for (int i = 0; i < p->n; ++i) p->f[i] = 1;
    tni_gauss_seidel_apply(&p->sweep, &p->island, p->f, a);
    CHECK_NEAR(a[4], 0, 0);
    CHECK_NEAR(tni_gauss_seidel_block(&p->sweep, 1)[TNI_CONE_POINT_ROWS + 1], 0, 0);
    CHECK(tni_gauss_seidel_block(&p->sweep, 1)[0] > 0);
    memset(p->f, 0, sizeof p->f);
    p->f[4] = 5;
    tni_gauss_seidel_apply(&p->sweep, &p->island, p->f, a);
    for (int i = 0; i < p->n; ++i) CHECK_NEAR(a[i], 0, 0);
    problem_free(p);
}

TEST(sweeps_report_lack_of_memory_and_of_room)
{
    problem*     p = stack_of(3, 1);
    failing_host f = failing_host_make();
    for (int n = 1;; ++n) {
        failing_host_rewind(&f, n);
        const tn_host    host  = failing_host_of(&f);
        tni_arena        arena = tni_arena_make(&host);
        tni_gauss_seidel sweep;
        const tn_result  result = tni_gauss_seidel_create(&arena, p->s->plan, 300, 100000, &sweep);
        CHECK_INT(result, f.refused > 0 ? TN_ERR_MEMORY : TN_OK);
        tni_arena_free(&arena);
        CHECK_INT(f.live_blocks, 0);
        if (f.refused == 0) break;
    }
    tni_gauss_seidel few;
    double           x[18 * 6] = {0};
    int              given[1] = {0}, added = 0;
    CHECK_OK(tni_gauss_seidel_create(&p->s->arena, p->s->plan, 300, 100, &few));
    tni_gauss_seidel_clear(&few, p->s->saddle->ldl);
    while (added < 100 && tni_gauss_seidel_add(&few, given, 1, 3, x)) ++added;
    CHECK_INT(added, 5); // 18 numbers each
    problem_free(p);
}

TEST(sweeps_give_the_same_bits_again)
{
    problem *p = random_problem(5, CHAINS, 60, 0.4, true),
            *q = random_problem(5, CHAINS, 60, 0.4, true);
    tni_gauss_seidel_report one, two;
    CHECK(solve(p, 2000, &one) && solve(q, 2000, &two));
    CHECK(memcmp(p->f, q->f, sizeof p->f) == 0);
    memset(p->f, 0, sizeof p->f);
    CHECK(solve(p, 2000, &two)); // the same workspace, used before
    CHECK(memcmp(p->f, q->f, sizeof p->f) == 0);
    CHECK_INT(one.rounds, two.rounds);
    problem_free(p);
    problem_free(q);
}
