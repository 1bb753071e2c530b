// woodbury: forces outside a factored system against the whole system, dense.
//
// The base is any dense saddle matrix over the velocities and rows of a random mechanism, so that
// nothing but the sizes of its bodies is taken from it; W is of any rank, g of any direction. The
// whole matrix is formed and solved at once. Entries are of size one and condition numbers below
// 1e4, so that 1e-11 is asked for.
#include "system/woodbury.h"

#include "linalg/dense.h"
#include "support/failing_host.h"
#include "support/random_scene.h"

enum { BODIES = 6, SOFTS = 9, TRIALS = 40 };

static const double tolerance = 1e-11;

// ---- Systems ------------------------------------------------------------------------------------

typedef struct base {
    int     u_count, row_count, n;
    double *matrix, *lu; ///< n x n
    int*    exchange;
    int     solves;
} base;

// [A J^T; J 0]. skew: A not symmetric, its symmetric part positive all the same.
static base base_make(const tn_model* model, test_random* r, double skew)
{
    const int u = model->u_count, n = u + model->row_count;
    base      b = {u,
                   model->row_count,
                   n,
                   calloc((size_t)(n * n), sizeof(double)),
                   malloc(sizeof(double) * (size_t)(n * n)),
                   malloc(sizeof(int) * (size_t)n),
                   0};
    for (int i = 0; i < u; ++i) {
        for (int j = 0; j < i; ++j) {
            const double s      = test_random_between(r, -0.2, 0.2) / sqrt(u);
            const double k      = skew * test_random_between(r, -0.2, 0.2);
            b.matrix[i * n + j] = s + k, b.matrix[j * n + i] = s - k;
        }
        b.matrix[i * n + i] = test_random_between(r, 1, 3);
    }
    for (int i = u; i < n; ++i)
        for (int j = 0; j < u; ++j)
            b.matrix[i * n + j] = b.matrix[j * n + i] = test_random_between(r, -1, 1);
    memcpy(b.lu, b.matrix, sizeof(double) * (size_t)(n * n));
    CHECK_OK(tni_dense_lu(n, b.lu, b.exchange));
    return b;
}

static void base_free(base* b)
{
    free(b->matrix), free(b->lu), free(b->exchange);
}

static tn_result solve(void* user, const double* b, double* u, double* mu, tn_why* why)
{
    base*   s = user;
    double* x = calloc((size_t)s->n, sizeof *x);
    (void)why;
    ++s->solves;
    memcpy(x, b, sizeof *x * (size_t)s->u_count);
    tni_dense_lu_solve(s->n, s->lu, s->exchange, x);
    memcpy(u, x, sizeof *x * (size_t)s->u_count);
    memcpy(mu, x + s->u_count, sizeof *x * (size_t)s->row_count);
    free(x);
    return TN_OK;
}

// ---- Forces -------------------------------------------------------------------------------------

typedef struct pushing {
    tni_soft soft;
    double   W[TNI_SOFT_ROWS_MAX * TNI_SOFT_ROWS_MAX], g[TNI_SOFT_ROWS_MAX];
    int      rank;
} pushing;

// W = scale X X^T with `rank` columns. Some sides are immovable.
static void random_pushing(const tn_model* model, test_random* r, double scale, pushing* p)
{
    const int n = p->soft.row_count = test_random_int(r, 1, TNI_SOFT_ROWS_MAX);
    double    X[TNI_SOFT_ROWS_MAX * TNI_SOFT_ROWS_MAX];
    p->rank         = test_random_int(r, 0, n);
    p->soft.kind    = TNI_SOFT_CONTACT;
    const int left  = test_random_int(r, -1, model->body_count - 1);
    p->soft.body[0] = left;
    p->soft.body[1] = model->free_bodies[test_random_int(r, 0, model->free_count - 1)];
    if (p->soft.body[0] == p->soft.body[1]) p->soft.body[0] = 0;
    for (int side = 0; side < 2; ++side) {
        const int dim = p->soft.body[side] < 0 ? 0 : model->bodies[p->soft.body[side]].dim;
        random_numbers(r, p->soft.J[side], n * dim, 1);
    }
    random_numbers(r, X, n * n, 1);
    random_numbers(r, p->g, n, 1);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            double sum = 0;
            for (int k = 0; k < p->rank; ++k) sum += X[i * n + k] * X[j * n + k];
            p->W[i * n + j] = scale * sum;
        }
}

// Row i of the soft force over all velocities.
static void spread_row(const tn_model* model, const tni_soft* soft, int i, double* row)
{
    memset(row, 0, sizeof *row * (size_t)model->u_count);
    for (int side = 0; side < 2; ++side) {
        if (soft->body[side] < 0) continue;
        const tni_body* body = &model->bodies[soft->body[side]];
        for (int k = 0; k < body->dim; ++k)
            row[body->u_start + k] = soft->J[side][i * body->dim + k];
    }
}

// matrix += J^T W J, b += J^T g
static void add_dense(const tn_model* model, const pushing* p, int n, double* matrix, double* b)
{
    const int u = model->u_count, m = p->soft.row_count;
    double*   J = malloc(sizeof *J * (size_t)(m * u));
    for (int i = 0; i < m; ++i) spread_row(model, &p->soft, i, J + i * u);
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < m; ++j)
            for (int a = 0; a < u; ++a)
                for (int c = 0; c < u; ++c)
                    matrix[a * n + c] += J[i * u + a] * p->W[i * m + j] * J[j * u + c];
    for (int i = 0; i < m; ++i)
        for (int a = 0; a < u; ++a) b[a] += J[i * u + a] * p->g[i];
    free(J);
}

// ---- Answers ------------------------------------------------------------------------------------

typedef struct answers {
    double *beside, *dense; ///< u, then mu
    int     rows, solves;
} answers;

// Both for random b and r.
static answers solve_both(const tn_model* model, base* s, test_random* r, const pushing* p,
                          bool whole)
{
    const int    n = s->n;
    tni_woodbury beside;
    double *matrix = malloc(sizeof *matrix * (size_t)(n * n)), *b = malloc(sizeof *b * (size_t)n);
    int*    order = malloc(sizeof *order * (size_t)n);
    answers a     = {calloc((size_t)n, sizeof(double)), calloc((size_t)n, sizeof(double)), 0, 0};
    memcpy(matrix, s->matrix, sizeof *matrix * (size_t)(n * n));
    random_numbers(r, b, n, 1);
    memcpy(a.dense, b, sizeof *b * (size_t)n);
    CHECK_OK(tni_woodbury_create(model, SOFTS * TNI_SOFT_ROWS_MAX, &beside));
    for (int i = 0; i < SOFTS; ++i) {
        double* none = calloc((size_t)n, sizeof *none);
        CHECK(tni_woodbury_add(&beside, &p[i].soft, p[i].W, p[i].g, whole ? b : none));
        add_dense(model, &p[i], n, matrix, whole ? a.dense : none);
        a.rows += p[i].rank;
        free(none);
    }
    CHECK_OK(tni_dense_lu(n, matrix, order));
    tni_dense_lu_solve(n, matrix, order, a.dense);
    tni_dense_lu_solve(n, s->lu, s->exchange, b);
    memcpy(a.beside, b, sizeof *b * (size_t)n);
    s->solves = 0;
    CHECK_OK(tni_woodbury_factor(&beside, solve, s, NULL));
    CHECK_OK(tni_woodbury_apply(&beside, whole, solve, s, a.beside, a.beside + s->u_count, NULL));
    CHECK_INT(beside.row_count, a.rows);
    a.solves = s->solves;
    tni_woodbury_free(&beside);
    free(matrix), free(b), free(order);
    return a;
}

static double difference(const answers* a, int n)
{
    double size = 0, error = 0;
    for (int i = 0; i < n; ++i) {
        size  = fmax(size, fabs(a->dense[i]));
        error = fmax(error, fabs(a->dense[i] - a->beside[i]));
    }
    return error / size;
}

static double worst_of(double scale, double skew, bool whole)
{
    double worst = 0;
    for (uint64_t seed = 1; seed <= TRIALS; ++seed) {
        test_random       r = {seed};
        random_mechanism* m = random_forest(&r, BODIES);
        base              s = base_make(m->model, &r, skew);
        pushing           p[SOFTS];
        for (int i = 0; i < SOFTS; ++i) random_pushing(m->model, &r, scale, &p[i]);
        answers a = solve_both(m->model, &s, &r, p, whole);
        worst     = fmax(worst, difference(&a, s.n));
        CHECK_INT(a.solves, a.rows + (a.rows > 0));
        free(a.beside), free(a.dense);
        base_free(&s);
        random_mechanism_free(m);
    }
    return worst;
}

TEST(woodbury_solutions_are_those_of_the_whole_system)
{
    CHECK_LESS(worst_of(1, 0, true), tolerance);
    CHECK_LESS(worst_of(1, 0, false), tolerance);
}

TEST(an_unsymmetric_base_is_as_good)
{
    CHECK_LESS(worst_of(1, 1, true), tolerance);
    CHECK_LESS(worst_of(1, 1, false), tolerance);
}

// The dense matrix has a condition of about the scale; impulses of ours do not grow with it.
TEST(stiff_forces_lose_no_more_than_the_dense_solution)
{
    CHECK_LESS(worst_of(1e-6, 0, true), tolerance);
    CHECK_LESS(worst_of(1e4, 0, true), 1e4 * tolerance);
}

// ---- Impulses -----------------------------------------------------------------------------------

static tn_result free_flight(void* user, const double* b, double* u, double* mu, tn_why* why)
{
    const double* mass = user;
    (void)mu, (void)why;
    for (int i = 0; i < 6; ++i) u[i] = b[i] / mass[i / 3];
    return TN_OK;
}

static random_mechanism* two_particles(void)
{
    random_mechanism* m = random_mechanism_make();
    for (int i = 0; i < 2; ++i) {
        tn_body_def def   = tn_default_body_def();
        def.kind          = TN_BODY_PARTICLE;
        def.mass          = 1;
        def.pose.position = tni_vec3(i, 0, 0);
        (void)tn_scene_add_body(m->scene, &def);
    }
    random_mechanism_build(m);
    return m;
}

static tni_soft along_x(void)
{
    tni_soft soft = {.kind = TNI_SOFT_CONTACT, .body = {1, 2}, .row_count = 1};
    soft.J[0][0] = -1, soft.J[1][0] = 1;
    return soft;
}

// Two particles, m1 and m2, that close with v and rebound off a spring as hard as can be: the gap's
// rate becomes r, and the impulse is that of the reduced mass.
TEST(a_stiff_pair_keeps_its_momentum)
{
    random_mechanism* m       = two_particles();
    double            mass[2] = {2, 3};
    const tni_soft    soft    = along_x();
    for (double w = 1; w < 1e16; w *= 1e3) {
        double       b[6] = {0}, u[6] = {1, 0.1, 0, -1, 0, 0.2}, mu[1] = {0};
        const double g = 0.25 * w, m12 = mass[0] * mass[1] / (mass[0] + mass[1]);
        tni_woodbury beside;
        CHECK_OK(tni_woodbury_create(m->model, 1, &beside));
        CHECK(tni_woodbury_add(&beside, &soft, &w, &g, b));
        CHECK_OK(tni_woodbury_factor(&beside, free_flight, mass, NULL));
        CHECK_OK(tni_woodbury_apply(&beside, true, free_flight, mass, u, mu, NULL));
        const double rate = u[3] - u[0]; // m12 (rate + 2) = g - w rate
        CHECK_NEAR(rate, (g - 2 * m12) / (w + m12), 1e-14);
        CHECK_NEAR(mass[0] * u[0] + mass[1] * u[3], mass[0] * 1 - mass[1] * 1, 1e-15);
        CHECK_NEAR(u[1], 0.1, 0);
        CHECK_NEAR(u[5], 0.2, 0);
        tni_woodbury_free(&beside);
    }
    random_mechanism_free(m);
}

// ---- Room ---------------------------------------------------------------------------------------

TEST(what_does_not_fit_is_refused_and_fits_after_growing)
{
    random_mechanism* m       = two_particles();
    double            mass[2] = {1, 1}, b[6] = {0}, none[6] = {0};
    const tni_soft    soft = along_x();
    const double      w = 1, g = 1;
    tni_woodbury      beside;
    CHECK_OK(tni_woodbury_create(m->model, 1, &beside));
    CHECK(tni_woodbury_add(&beside, &soft, &w, &g, b));
    CHECK(!beside.full);
    CHECK(!tni_woodbury_add(&beside, &soft, &w, &g, b));
    CHECK(beside.full);
    CHECK_INT(beside.row_count, 1);
    CHECK_INT(memcmp(b, none, sizeof b), 0);
    CHECK_OK(tni_woodbury_grow(&beside));
    CHECK(!beside.full);
    for (int i = 0; i < 2; ++i) CHECK(tni_woodbury_add(&beside, &soft, &w, &g, b));
    CHECK_INT(beside.row_count, 2);
    double u[6] = {0}, mu[1] = {0};
    CHECK_OK(tni_woodbury_factor(&beside, free_flight, mass, NULL));
    CHECK_OK(tni_woodbury_apply(&beside, true, free_flight, mass, u, mu, NULL));
    CHECK_NEAR(u[3], (2 - 0) / (1 + 2 * 2.0), 1e-15); // u = 2 (1 - 2 u): a spring twice as stiff
    tni_woodbury_free(&beside);
    random_mechanism_free(m);
}

TEST(a_force_without_stiffness_takes_no_room)
{
    random_mechanism* m    = two_particles();
    const tni_soft    soft = along_x();
    const double      w = 0, g = 3;
    double            b[6] = {0};
    tni_woodbury      beside;
    CHECK_OK(tni_woodbury_create(m->model, 0, &beside));
    CHECK(tni_woodbury_add(&beside, &soft, &w, &g, b));
    CHECK_INT(beside.row_count, 0);
    CHECK_NEAR(b[0], -3, 0);
    CHECK_NEAR(b[3], 3, 0);
    tni_woodbury_free(&beside);
    random_mechanism_free(m);
}

TEST(a_response_that_is_no_number_is_refused)
{
    random_mechanism* m       = two_particles();
    double            mass[2] = {(double)NAN, 1}, b[6] = {0};
    const tni_soft    soft = along_x();
    const double      w = 1, g = 1;
    tni_woodbury      beside;
    tn_why            why = {.text = ""};
    CHECK_OK(tni_woodbury_create(m->model, 1, &beside));
    CHECK(tni_woodbury_add(&beside, &soft, &w, &g, b));
    CHECK_INT(tni_woodbury_factor(&beside, free_flight, mass, &why), TN_ERR_SINGULAR);
    CHECK(why.text[0] != 0);
    tni_woodbury_free(&beside);
    random_mechanism_free(m);
}

TEST(memory_may_run_out_at_any_point)
{
    failing_host  f    = failing_host_make();
    const tn_host host = failing_host_of(&f);
    tn_scene*     scene;
    tn_model*     model;
    tni_woodbury  beside;
    CHECK_OK(tn_scene_create(&host, &scene));
    tn_body_def def = tn_default_body_def();
    def.kind = TN_BODY_PARTICLE, def.mass = 1;
    (void)tn_scene_add_body(scene, &def);
    CHECK_OK(tn_scene_compile(scene, &model, NULL));
    const int before = f.live_blocks;
    for (int n = 1;; ++n) {
        failing_host_rewind(&f, n);
        const tn_result made = tni_woodbury_create(model, 200, &beside);
        if (made != TN_OK) {
            CHECK_INT(made, TN_ERR_MEMORY);
            CHECK_INT(f.live_blocks, before);
            continue;
        }
        const tn_result grown = tni_woodbury_grow(&beside);
        CHECK_INT(grown, f.refused > 0 ? TN_ERR_MEMORY : TN_OK);
        CHECK_INT(beside.row_capacity, grown == TN_OK ? 400 : 200);
        tni_woodbury_free(&beside);
        CHECK_INT(f.live_blocks, before);
        if (f.refused == 0) break;
    }
    failing_host_rewind(&f, 0);
    tn_model_free(model);
    tn_scene_free(scene);
    CHECK_INT(f.live_blocks, 0);
}
