// cross: the sparse solver against a dense one, on random forests of all bodies and joints.
//
//     [ M  J^T ] [  a ]   [  F ]
//     [ J   0  ] [-lam] = [ -c ]       c = gamma + 2/T rate + 1/T^2 C
// is built whole, factored by LU with row exchanges, and refined with residuals in long double, so
// that the reference is good to rounding whatever the condition. A forest whose matrix is singular
// (condition beyond 1e10) has no one answer and is skipped; few may be.
#include "force/force.h"
#include "step/stepper.h"
#include "support/random_scene.h"

static const double tolerance     = 1e-10;
static const double condition_max = 1e10;

// ---- The dense system ---------------------------------------------------------------------------

typedef struct dense {
    int     u, rows, n;
    double *K, *lu, *x, *rhs;
    int*    exchange;
    double *C, *rate, *gamma, *F;
    double  condition;
} dense;

static double* numbers(int count)
{
    return calloc((size_t)count + 1, sizeof(double));
}

static void dense_free(dense* d)
{
    double* all[] = {d->K, d->lu, d->x, d->rhs, d->C, d->rate, d->gamma, d->F};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) free(all[i]);
    free(d->exchange);
}

static void put(dense* d, int row, int column, double value)
{
    d->K[(size_t)row * (size_t)d->n + (size_t)column] = value;
    d->K[(size_t)column * (size_t)d->n + (size_t)row] = value;
}

static void put_masses(dense* d, const tn_model* model, const tni_view* views)
{
    double M[64 * 64];
    for (int i = 1; i < model->body_count; ++i) {
        const tni_body* body = &model->bodies[i];
        if (body->dim == 0) continue;
        tni_mass_block(body, &views[i], M);
        for (int j = 0; j < body->dim; ++j)
            for (int k = 0; k < body->dim; ++k)
                put(d, body->u_start + j, body->u_start + k, M[j * body->dim + k]);
    }
}

static void put_rows(dense* d, const tn_model* model, const tni_view* views, const tn_state* s)
{
    for (int i = 0; i < model->constraint_count; ++i) {
        const tni_constraint* c = &model->constraints[i];
        double                blocks[8][12 * 64], *J[8];
        for (int e = 0; e < c->edge_count; ++e) J[e] = blocks[e];
        const tni_rows_out out = {d->C + c->row_start, d->rate + c->row_start,
                                  d->gamma + c->row_start, J, NULL};
        tni_constraint_rows(model, c, views, s->time, s->z, &out);
        for (int e = 0; e < c->edge_count; ++e) {
            const tni_body* body = &model->bodies[model->edge_body[c->edge_start + e]];
            for (int j = 0; j < c->row_count; ++j)
                for (int k = 0; k < body->dim; ++k)
                    put(d, d->u + c->row_start + j, body->u_start + k,
                        blocks[e][j * body->dim + k]);
        }
    }
}

// at_rest: all velocities taken as zero, as where f = m v.
static dense dense_of(const random_mechanism* m, bool at_rest)
{
    const tn_model* model = m->model;
    dense           d     = {.u = model->u_count, .rows = model->row_count};
    d.n                   = d.u + d.rows;
    d.K                   = numbers(d.n * d.n);
    d.lu                  = numbers(d.n * d.n);
    d.x = numbers(d.n), d.rhs = numbers(d.n), d.F = numbers(d.u);
    d.C = numbers(d.rows), d.rate = numbers(d.rows), d.gamma = numbers(d.rows);
    d.exchange      = calloc((size_t)d.n + 1, sizeof(int));
    tni_view* views = calloc((size_t)model->body_count, sizeof *views);
    tni_views(model, m->state->time, m->state->q, at_rest ? NULL : m->state->u, views);
    put_masses(&d, model, views);
    put_rows(&d, model, views, m->state);
    const tni_scene_view at = {
        .model = model, .time = m->state->time, .z = m->state->z, .views = views};
    tni_forces(&at, d.F);
    free(views);
    return d;
}

// LU with row exchanges; zeros below the pivot are skipped, since most are.
static bool factor(dense* d)
{
    const size_t n = (size_t)d->n;
    memcpy(d->lu, d->K, sizeof(double) * n * n);
    for (size_t j = 0; j < n; ++j) {
        size_t best = j;
        for (size_t i = j + 1; i < n; ++i) {
            if (fabs(d->lu[n * i + j]) > fabs(d->lu[n * best + j])) best = i;
        }
        d->exchange[j] = (int)best;
        if (!(fabs(d->lu[n * best + j]) > 0)) return false;
        for (size_t k = 0; best != j && k < n; ++k) {
            const double old    = d->lu[n * j + k];
            d->lu[n * j + k]    = d->lu[n * best + k];
            d->lu[n * best + k] = old;
        }
        for (size_t i = j + 1; i < n; ++i) {
            if (d->lu[n * i + j] == 0) continue;
            const double l  = d->lu[n * i + j] /= d->lu[n * j + j];
            double *     to = d->lu + n * i, *from = d->lu + n * j;
            for (size_t k = j + 1; k < n; ++k) to[k] -= l * from[k];
        }
    }
    return true;
}

static void back_solve(const dense* d, double* x)
{
    const size_t n = (size_t)d->n;
    for (size_t i = 0; i < n; ++i) {
        const double old  = x[i];
        x[i]              = x[d->exchange[i]];
        x[d->exchange[i]] = old;
    }
    for (size_t i = 0; i < n; ++i)
        for (size_t k = 0; k < i; ++k) x[i] -= d->lu[n * i + k] * x[k];
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; ++k) x[i] -= d->lu[n * i + k] * x[k];
        x[i] /= d->lu[n * i + i];
    }
}

static void solve(dense* d)
{
    const size_t n   = (size_t)d->n;
    double*      fix = numbers(d->n);
    for (size_t i = 0; i < n; ++i) d->x[i] = 0;
    for (int round = 0; round < 4; ++round) {
        for (size_t i = 0; i < n; ++i) {
            long double left = (long double)d->rhs[i];
            for (size_t k = 0; k < n; ++k)
                left -= (long double)d->K[n * i + k] * (long double)d->x[k];
            fix[i] = (double)left;
        }
        back_solve(d, fix);
        for (size_t i = 0; i < n; ++i) d->x[i] += fix[i];
    }
    free(fix);
}

// |K| |K^-1|, the latter from what it does to a few random vectors.
static double condition_of(const dense* d)
{
    test_random  r     = {99};
    const size_t n     = (size_t)d->n;
    double*      probe = numbers(d->n);
    double       norm = 0, inverse = 0;
    for (size_t i = 0; i < n; ++i) {
        double sum = 0;
        for (size_t k = 0; k < n; ++k) sum += fabs(d->K[n * i + k]);
        norm = fmax(norm, sum);
    }
    for (int round = 0; round < 3; ++round) {
        for (size_t i = 0; i < n; ++i) probe[i] = test_random_unit(&r) < 0.5 ? -1 : 1;
        back_solve(d, probe);
        for (size_t i = 0; i < n; ++i) inverse = fmax(inverse, fabs(probe[i]));
    }
    free(probe);
    return norm * inverse;
}

// ---- Comparison ---------------------------------------------------------------------------------

static double largest(const double* x, int count)
{
    double size = 0;
    for (int i = 0; i < count; ++i) size = fmax(size, fabs(x[i]));
    return size;
}

static double distance(const double* a, const double* b, int count)
{
    double size = 0;
    for (int i = 0; i < count; ++i) size = fmax(size, fabs(a[i] - b[i]));
    return size;
}

// out = J^T lambda
static void constraint_force(const dense* d, const double* lambda, double* out)
{
    for (int j = 0; j < d->u; ++j) {
        out[j] = 0;
        for (int i = 0; i < d->rows; ++i)
            out[j] += d->K[(size_t)(d->u + i) * (size_t)d->n + (size_t)j] * lambda[i];
    }
}

typedef struct errors {
    double a, force, lambda; ///< against the reference, relative
    double row, balance;     ///< of the equations themselves, relative to their terms
} errors;

// The answer (a, lambda) against d->x, and against the equations.
static errors errors_of(const dense* d, const double* a, const double* lambda)
{
    double *wanted = numbers(d->rows), *f = numbers(d->u), *f_wanted = numbers(d->u);
    errors  e = {0};
    for (int i = 0; i < d->rows; ++i) wanted[i] = -d->x[d->u + i];
    constraint_force(d, lambda, f);
    constraint_force(d, wanted, f_wanted);
    const double a_size = largest(d->x, d->u), f_size = largest(f_wanted, d->u);
    e.a      = distance(a, d->x, d->u) / fmax(1, a_size);
    e.force  = distance(f, f_wanted, d->u) / fmax(1, f_size);
    e.lambda = distance(lambda, wanted, d->rows) / fmax(1, largest(wanted, d->rows));
    for (int i = 0; i < d->n; ++i) {
        double left = d->rhs[i], size = 1 + fabs(d->rhs[i]);
        for (int k = 0; k < d->n; ++k) {
            const double term =
                d->K[(size_t)i * (size_t)d->n + (size_t)k] * (k < d->u ? a[k] : -lambda[k - d->u]);
            left -= term;
            size += fabs(term);
        }
        if (i < d->u) e.balance = fmax(e.balance, fabs(left) / size);
        else e.row = fmax(e.row, fabs(left) / size);
    }
    free(wanted), free(f), free(f_wanted);
    return e;
}

typedef struct tally {
    int    run, skipped;
    int    refined; ///< of them, not plain trees to the solver
    errors worst;
} tally;

static void count(tally* t, errors e, uint64_t seed, double condition)
{
    const double all[] = {e.a, e.force, e.lambda, e.row, e.balance};
    bool         good  = true;
    for (int i = 0; i < 5; ++i) good = good && all[i] <= tolerance; // so written, NaN is bad
    test_check(good, __FILE__, __LINE__,
               "seed %llu, condition %.2g: a %.2g, J^T lambda %.2g, lambda %.2g, rows %.2g, "
               "balance %.2g",
               (unsigned long long)seed, condition, e.a, e.force, e.lambda, e.row, e.balance);
    t->worst.a       = fmax(t->worst.a, e.a);
    t->worst.force   = fmax(t->worst.force, e.force);
    t->worst.lambda  = fmax(t->worst.lambda, e.lambda);
    t->worst.row     = fmax(t->worst.row, e.row);
    t->worst.balance = fmax(t->worst.balance, e.balance);
}

static void print_tally(const char* name, const tally* t)
{
    if (getenv("TENON_TEST_VERBOSE") == NULL) return;
    printf("%s: %d run, %d skipped, %d refined; worst ", name, t->run, t->skipped, t->refined);
    printf("a %.2g, J^T lambda %.2g, lambda %.2g, rows %.2g, balance %.2g\n", t->worst.a,
           t->worst.force, t->worst.lambda, t->worst.row, t->worst.balance);
}

static const double* all_multipliers(const tn_stepper* stepper)
{
    return tn_stepper_multipliers(stepper, (tn_joint_id){1}); // rows lie in order, joints first
}

static tn_stepper* stepper_of(const random_mechanism* m, tn_dynamics dynamics, double baumgarte)
{
    tn_settings settings          = tn_default_settings();
    settings.method               = TN_METHOD_MULTIPLIER;
    settings.multiplier.dynamics  = dynamics;
    settings.multiplier.baumgarte = baumgarte;
    tn_stepper* stepper;
    CHECK_OK(tn_stepper_create(m->model, &settings, &stepper, NULL));
    return stepper;
}

// ---- Accelerations ------------------------------------------------------------------------------

static void fill_accelerations(dense* d, double T)
{
    memcpy(d->rhs, d->F, sizeof(double) * (size_t)d->u);
    for (int i = 0; i < d->rows; ++i) {
        double c = d->gamma[i];
        if (T > 0) c += 2 / T * d->rate[i] + d->C[i] / (T * T);
        d->rhs[d->u + i] = -c;
    }
}

static void fill_velocities(dense* d, double T)
{
    memcpy(d->rhs, d->F, sizeof(double) * (size_t)d->u);
    for (int i = 0; i < d->rows; ++i) d->rhs[d->u + i] = -d->rate[i] - (T > 0 ? d->C[i] / T : 0);
}

static void compare(random_mechanism* m, uint64_t seed, tn_dynamics dynamics, double T, tally* t)
{
    const bool first = dynamics == TN_DYNAMICS_FIRST;
    dense      d     = dense_of(m, first);
    ++t->run;
    d.condition = factor(&d) ? condition_of(&d) : HUGE_VAL;
    if (!(d.condition < condition_max)) {
        ++t->skipped;
        dense_free(&d);
        return;
    }
    (first ? fill_velocities : fill_accelerations)(&d, T);
    solve(&d);
    tn_stepper* stepper = stepper_of(m, dynamics, T);
    tn_why      why     = {0};
    const bool  done    = tn_stepper_evaluate(stepper, m->state, NULL, &why) == TN_OK;
    test_check(done, __FILE__, __LINE__, "seed %llu: %s", (unsigned long long)seed, why.text);
    if (done) {
        const double* lambda = d.rows > 0 ? all_multipliers(stepper) : NULL;
        t->refined += stepper->system->saddle->report.loop_count > 0;
        count(t, errors_of(&d, tn_stepper_accelerations(stepper), lambda), seed, d.condition);
    }
    tn_stepper_free(stepper);
    dense_free(&d);
}

// Many small ones, some of sixty bodies.
static int random_size(test_random* r)
{
    const double u = test_random_unit(r);
    return 1 + (int)(60 * u * u);
}

TEST(accelerations_of_forests_agree_with_dense)
{
    tally t = {0};
    for (uint64_t seed = 1; seed <= 1000; ++seed) {
        test_random       r = {seed};
        random_mechanism* m = random_forest(&r, random_size(&r));
        compare(m, seed, TN_DYNAMICS_SECOND, seed % 3 == 0 ? 0.1 : 0, &t);
        random_mechanism_free(m);
    }
    CHECK_LESS(t.skipped, 0.02 * t.run);
    CHECK(t.refined > 10 && t.refined < 900); // joints that need refinement occur
    print_tally("accelerations", &t);
}

TEST(velocities_of_forests_without_inertia_agree_with_dense)
{
    tally t = {0};
    for (uint64_t seed = 2001; seed <= 2150; ++seed) {
        test_random       r = {seed};
        random_mechanism* m = random_forest(&r, test_random_int(&r, 1, 12));
        for (int i = 0; i < m->model->actuation_count; ++i) m->model->actuations[i].damping = 0;
        for (int i = 0; i < m->model->spring_count; ++i) m->model->springs[i].damping = 0;
        compare(m, seed, TN_DYNAMICS_FIRST, seed % 2 == 0 ? 0.1 : 0, &t);
        random_mechanism_free(m);
    }
    CHECK_LESS(t.skipped, 0.02 * t.run);
    print_tally("velocities", &t);
}

// A forest, and then some bodies joined once more by single rows: loops.
static random_mechanism* random_web(test_random* r, int body_count, int loop_count)
{
    random_mechanism* m = random_forest(r, body_count);
    tn_state_free(m->state);
    tn_model_free(m->model);
    for (int i = 0; i < loop_count; ++i) {
        const int a = test_random_int(r, 3, m->body_count - 1),
                  b = test_random_int(r, 0, m->body_count - 1);
        if (a == b) continue;
        const tn_joint_def def = random_joint(m, r, (random_joint_type){TN_JOINT_DISTANCE, 0},
                                              (tn_body_id){(uint32_t)a}, (tn_body_id){(uint32_t)b});
        (void)tn_scene_add_joint(m->scene, &def);
    }
    random_mechanism_build(m);
    random_disturb(m, r, 0.15, 1);
    return m;
}

TEST(accelerations_of_webs_agree_with_dense)
{
    tally t = {0};
    for (uint64_t seed = 3001; seed <= 3150; ++seed) {
        test_random       r = {seed};
        random_mechanism* m = random_web(&r, test_random_int(&r, 4, 20), test_random_int(&r, 1, 4));
        compare(m, seed, TN_DYNAMICS_SECOND, 0, &t);
        random_mechanism_free(m);
    }
    print_tally("webs", &t);
}

// ---- Impulses -----------------------------------------------------------------------------------

static void fill_impulses(dense* d, const random_mechanism* m, const tn_wrench* impulses)
{
    for (int i = 1; i < m->model->body_count; ++i) {
        const tni_body* body = &m->model->bodies[i];
        const tni_view  view = tni_state_view(m->state, i);
        const tn_wrench p    = impulses[i - 1];
        if (body->dim > 0)
            tni_apply_wrench(body, &view, tni_neg(body->com), p.force, p.torque, d->rhs);
    }
    for (int i = 0; i < d->rows; ++i) d->rhs[d->u + i] = -d->rate[i];
}

TEST(impulses_on_forests_agree_with_dense)
{
    tally t = {0};
    for (uint64_t seed = 4001; seed <= 4150; ++seed) {
        test_random       r = {seed};
        random_mechanism* m = random_forest(&r, test_random_int(&r, 1, 12));
        dense             d = dense_of(m, false);
        tn_wrench         impulses[RANDOM_BODIES_MAX];
        for (int i = 0; i < RANDOM_BODIES_MAX; ++i)
            impulses[i] = (tn_wrench){random_vec3(&r, 1), random_vec3(&r, 1)};
        ++t.run;
        d.condition = factor(&d) ? condition_of(&d) : HUGE_VAL;
        if (d.condition < condition_max) {
            fill_impulses(&d, m, impulses);
            solve(&d);
            double* before = numbers(d.u);
            memcpy(before, m->state->u, sizeof(double) * (size_t)d.u);
            tn_stepper*    stepper = stepper_of(m, TN_DYNAMICS_SECOND, 0);
            tn_step_report report;
            CHECK_OK(tn_stepper_impulse(stepper, m->state, impulses, &report, NULL));
            double change = 0;
            for (int i = 0; i < d.u; ++i)
                change = fmax(change, fabs(m->state->u[i] - before[i] - d.x[i]));
            CHECK_LESS(change, tolerance * fmax(1, largest(d.x, d.u)));
            CHECK_LESS(report.velocity_error, tolerance * fmax(1, largest(m->state->u, d.u)));
            tn_stepper_free(stepper);
            free(before);
        } else ++t.skipped;
        dense_free(&d);
        random_mechanism_free(m);
    }
    CHECK_LESS(t.skipped, 0.02 * t.run);
    print_tally("impulses", &t);
}

// ---- Work ---------------------------------------------------------------------------------------

// With velocities that the joints allow, and nothing driven, u . (M a - F) = 0.
TEST(constraint_forces_do_no_work)
{
    int run = 0;
    for (uint64_t seed = 5001; seed <= 5400; ++seed) {
        test_random       r = {seed};
        random_mechanism* m = random_forest(&r, test_random_int(&r, 1, 15));
        if (!m->driven && m->model->row_count > 0) {
            tn_stepper* stepper = stepper_of(m, TN_DYNAMICS_SECOND, 0);
            CHECK_OK(tn_stepper_impulse(stepper, m->state, NULL, NULL, NULL));
            CHECK_OK(tn_stepper_evaluate(stepper, m->state, NULL, NULL));
            dense   d = dense_of(m, false);
            double *f = numbers(d.u), power = 0, size = 1;
            constraint_force(&d, all_multipliers(stepper), f);
            for (int i = 0; i < d.u; ++i) {
                power += f[i] * m->state->u[i];
                size += fabs(f[i] * m->state->u[i]);
            }
            test_check(fabs(power) < tolerance * size, __FILE__, __LINE__,
                       "seed %llu: power %.3g of %.3g", (unsigned long long)seed, power, size);
            ++run;
            free(f);
            dense_free(&d);
            tn_stepper_free(stepper);
        }
        random_mechanism_free(m);
    }
    CHECK(run > 100);
}

// ---- The rows themselves, once more -------------------------------------------------------------

static void positions_at(const random_mechanism* m, int column, double move, double* C)
{
    const tn_model* model = m->model;
    double *        d = numbers(model->u_count), *q = numbers(model->q_count);
    tni_view*       views = calloc((size_t)model->body_count, sizeof *views);
    d[column]             = move;
    tni_advance(model, m->state->q, d, q);
    tni_views(model, m->state->time, q, NULL, views);
    for (int i = 0; i < model->constraint_count; ++i) {
        const tni_constraint* c   = &model->constraints[i];
        const tni_rows_out    out = {.C = C + c->row_start};
        tni_constraint_rows(model, c, views, m->state->time, m->state->z, &out);
    }
    free(d), free(q), free(views);
}

TEST(jacobians_of_forests_agree_with_differences)
{
    const double h = 1e-5;
    for (uint64_t seed = 6001; seed <= 6050; ++seed) {
        test_random       r = {seed};
        random_mechanism* m = random_forest(&r, test_random_int(&r, 1, 10));
        dense             d = dense_of(m, false);
        double *          a = numbers(d.rows), *b = numbers(d.rows);
        for (int j = 0; j < d.u; ++j) {
            positions_at(m, j, -h, a);
            positions_at(m, j, h, b);
            for (int i = 0; i < m->model->constraint_count; ++i) {
                const tni_constraint* c = &m->model->constraints[i];
                for (int k = c->row_start; k < c->row_start + c->held_count; ++k) {
                    const double J = d.K[(size_t)(d.u + k) * (size_t)d.n + (size_t)j];
                    CHECK_NEAR((b[k] - a[k]) / (2 * h), J, 1e-8 * fmax(1, fabs(J)));
                }
            }
        }
        free(a), free(b);
        dense_free(&d);
        random_mechanism_free(m);
    }
}

// ---- Accelerations of body frames ---------------------------------------------------------------

// (4 v(h/2) - 3 v(0) - v(h)) / h
static tn_vec3 slope(tn_vec3 now, tn_vec3 half, tn_vec3 whole, double h)
{
    const tn_vec3 sum = tni_sub(tni_sub(tni_scale(4, half), tni_scale(3, now)), whole);
    return tni_scale(1 / h, sum);
}

static void check_frame(const tn_stepper* stepper, tn_state* const states[3], tn_body_id body,
                        double h)
{
    const tn_twist a = tn_stepper_acceleration(stepper, body);
    tn_twist       v[3];
    for (int i = 0; i < 3; ++i) v[i] = tn_state_velocity(states[i], body);
    const double  size    = 1 + tni_norm(a.linear) + tni_norm(a.angular);
    const tn_vec3 linear  = slope(v[0].linear, v[1].linear, v[2].linear, h),
                  angular = slope(v[0].angular, v[1].angular, v[2].angular, h);
    CHECK_LESS(tni_max_abs(tni_sub(linear, a.linear)), 1e-5 * size * size);
    if (tn_model_body_kind(stepper->model, body) != TN_BODY_AFFINE) // which has no w of its own
        CHECK_LESS(tni_max_abs(tni_sub(angular, a.angular)), 1e-5 * size * size);
}

TEST(reported_accelerations_are_those_of_the_body_frame)
{
    const double h   = 1e-4;
    test_random  all = {7};
    for (int round = 0; round < 40; ++round) {
        test_random       r = {test_random_bits(&all)};
        random_mechanism* m = random_forest(&r, test_random_int(&r, 1, 8));
        tn_settings       s = tn_default_settings();
        tn_stepper*       stepper;
        tn_state*         states[3];
        s.method             = TN_METHOD_MULTIPLIER;
        s.multiplier.project = false;
        CHECK_OK(tn_stepper_create(m->model, &s, &stepper, NULL));
        for (int i = 0; i < 3; ++i) {
            CHECK_OK(tn_state_create(m->model, &states[i]));
            tn_state_copy(states[i], m->state);
            if (i > 0) CHECK_OK(tn_stepper_step(stepper, states[i], 0.5 * i * h, NULL, NULL));
        }
        CHECK_OK(tn_stepper_evaluate(stepper, m->state, NULL, NULL));
        for (int i = 1; i < m->model->body_count; ++i)
            check_frame(stepper, states, (tn_body_id){(uint32_t)i}, h);
        for (int i = 0; i < 3; ++i) tn_state_free(states[i]);
        tn_stepper_free(stepper);
        random_mechanism_free(m);
    }
}
