// One body on many feet. W has rank six for any number of feet; the solution meets the conditions,
// and problems of full rank are refused.
#include "test.h"

#include "linalg/complementarity.h"
#include "linalg/cone_velocity.h"

enum { FEET = 14, ROWS = 3 * FEET, FREEDOMS = 6 };

typedef struct problem {
    double         W[ROWS * ROWS], b[ROWS], mu[ROWS], f[ROWS], a[ROWS];
    uint8_t        condition[ROWS];
    tni_cone_point groups[FEET];
} problem;

// J u of a unit mass with unit inertia that falls, rotates and slides: columns are degrees of
// freedom.
static void make(test_random* r, double mu, double extra, problem* p)
{
    double J[ROWS][FREEDOMS], u[FREEDOMS];
    for (int k = 0; k < FREEDOMS; ++k) u[k] = test_random_between(r, -1, 1);
    for (int i = 0; i < FEET; ++i) {
        const double x = test_random_between(r, -1, 1), y = test_random_between(r, -1, 1);
        const double rows[3][FREEDOMS] = {
            {0, 0, 1, y, -x, 0}, {1, 0, 0, 0, -0.5, -y}, {0, 1, 0, 0.5, 0, x}};
        memcpy(J[3 * i], rows, sizeof rows);
    }
    for (int i = 0; i < ROWS; ++i) {
        p->b[i] = i % 3 == 0 ? -1 : 0;
        for (int k = 0; k < FREEDOMS; ++k) p->b[i] += J[i][k] * u[k];
        for (int j = 0; j < ROWS; ++j) {
            double sum = i == j ? extra : 0;
            for (int k = 0; k < FREEDOMS; ++k) sum += J[i][k] * J[j][k];
            p->W[ROWS * i + j] = sum;
        }
        p->mu[i]        = mu;
        p->f[i]         = 0;
        p->a[i]         = p->b[i];
        p->condition[i] = i % 3 == 0 ? TNI_NORMAL : TNI_TANGENT;
    }
    for (int i = 0; i < FEET; ++i) {
        double diagonal[3];
        for (int k = 0; k < 3; ++k) diagonal[k] = p->W[(ROWS + 1) * (3 * i + k)];
        p->groups[i] = tni_cone_point_find(ROWS, 3 * i, p->condition, NULL, NULL, p->mu);
        tni_cone_point_weigh(&p->groups[i], diagonal, 10);
    }
}

static tni_complementarity pairs_of(problem* p)
{
    return (tni_complementarity){.n         = ROWS,
                                 .symmetric = true,
                                 .W         = p->W,
                                 .b         = p->b,
                                 .condition = p->condition,
                                 .mu        = p->mu,
                                 .f         = p->f,
                                 .a         = p->a};
}

// It may fail to converge, and then friction_cone.c continues: four of these do, with friction
// above 0.5.
TEST(feet_of_one_body_meet_the_conditions)
{
    const tn_host     host  = tni_host_or_default(NULL);
    tni_arena         arena = tni_arena_make(&host);
    tni_cone_velocity give;
    int               arrived = 0;
    CHECK_OK(tni_cone_velocity_create(&arena, ROWS, &give));
    for (uint64_t seed = 1; seed <= 100; ++seed) {
        test_random               r = {seed};
        problem                   p;
        const double              mu = seed % 4 == 0 ? 0.05 : 0.3 * (double)(seed % 4);
        const tni_complementarity q  = pairs_of(&p);
        int                       row;
        make(&r, mu, 0, &p);
        CHECK(tni_cone_velocity_serves(p.groups, FEET));
        CHECK(tni_cone_velocity_begin(&give, &q, p.groups, FEET, 1e-12, HUGE_VAL, false));
        CHECK_INT(give.rank, FREEDOMS);
        double residual = HUGE_VAL;
        for (int k = 0; k < 8 && residual > 1e-9; ++k) {
            (void)tni_cone_velocity_solve(&give, p.f);
            tni_complementarity_apply(&q);
            residual = tni_complementarity_residual(&q, &row);
        }
        arrived += residual < 1e-9;
        CHECK(residual < 1e-9 || mu > 0.5);
    }
    CHECK(arrived >= 96);
    tni_arena_free(&arena);
}

// Each row also moves by itself: there are no fewer velocities than forces.
TEST(full_rank_problems_are_refused)
{
    const tn_host     host  = tni_host_or_default(NULL);
    tni_arena         arena = tni_arena_make(&host);
    tni_cone_velocity give;
    test_random       r = {5};
    problem           p;
    CHECK_OK(tni_cone_velocity_create(&arena, ROWS, &give));
    make(&r, 0.5, 0.3, &p);
    const tni_complementarity q = pairs_of(&p);
    CHECK(!tni_cone_velocity_begin(&give, &q, p.groups, FEET, 1e-12, HUGE_VAL, false));
    tni_arena_free(&arena);
}
