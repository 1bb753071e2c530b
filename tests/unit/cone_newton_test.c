// Contacts in the matrix: whatever the solver says must satisfy the equations and Coulomb's law, both computed here from the
// blocks themselves.
#include "linalg/cone_newton.h"
#include "test.h"

#include <math.h>
#include <string.h>

enum {
    BODIES     = 4,
    DIM        = 6,
    JOINTS     = 3,
    JOINT_ROWS = 3,
    CONTACTS   = 8,
    NODES      = BODIES + JOINTS + CONTACTS
};
enum { EDGES = 2 * (JOINTS + CONTACTS) };

// Bodies in a row, tied by joints; contacts between bodies and with what is fixed.
typedef struct problem {
    tni_arena       arena;
    tni_plan*       plan;
    tni_saddle*     saddle;
    tni_cone_newton newton;
    int             contacts;
    int             dim[NODES], hard[NODES], row[EDGES], col[EDGES], edges;
    int8_t          sign[NODES];
    uint8_t         strong[EDGES];
    double          J[CONTACTS][2][TNI_CONE_ROWS * DIM];
    double*         rhs;
    double*         x;
} problem;

static void add_edge(problem* p, int node, int to)
{
    p->row[p->edges] = node, p->col[p->edges] = to, p->strong[p->edges++] = 1;
}

static void make(problem* p, test_random* r, int contacts, double friction, bool loops)
{
    memset(p, 0, sizeof *p);
    const tn_host host = tn_default_host();
    p->arena           = tni_arena_make(&host);
    p->contacts        = contacts;
    for (int i = 0; i < BODIES; ++i) p->dim[i] = DIM, p->sign[i] = 1;
    for (int i = 0; i < JOINTS; ++i) {
        const int v = BODIES + i;
        p->dim[v] = p->hard[v] = JOINT_ROWS, p->sign[v] = -1;
        add_edge(p, v, i), add_edge(p, v, i + 1);
    }
    for (int i = 0; i < contacts; ++i) {
        const int v = BODIES + JOINTS + i, a = i % BODIES;
        p->dim[v] = 3, p->sign[v] = -1;
        add_edge(p, v, a);
        if (loops && i % 3 == 0) add_edge(p, v, (a + 2) % BODIES);
    }
    const tni_graph graph = {
        BODIES + JOINTS + contacts, p->dim, p->sign, p->edges, p->row, p->col, p->strong, p->hard};
    CHECK_OK(tni_plan_create(&p->arena, &graph, &p->plan));
    CHECK_OK(tni_saddle_create(&p->arena, p->plan, &p->saddle));
    CHECK_OK(tni_cone_newton_create(&p->arena, contacts, p->plan->row_count,
                                    p->plan->component_count, &p->newton));
    p->rhs = TNI_TAKE(&p->arena, double, p->plan->row_count);
    p->x   = TNI_TAKE(&p->arena, double, p->plan->row_count);
    for (int i = 0; i < BODIES; ++i) {
        double* A = tni_saddle_a(p->saddle, i);
        for (int k = 0; k < DIM; ++k) A[k * DIM + k] = test_random_between(r, 0.2, 5);
        for (int k = 0; k < DIM; ++k)
            p->rhs[p->plan->row_start[i] + k] = test_random_between(r, -3, 3);
    }
    for (int e = 0; e < 2 * JOINTS; ++e) {
        double* J = tni_saddle_j(p->saddle, e);
        for (int k = 0; k < JOINT_ROWS * DIM; ++k) J[k] = test_random_between(r, -1, 1);
    }
    p->newton.count = contacts;
    int edge        = 2 * JOINTS;
    for (int i = 0; i < contacts; ++i) {
        tni_cone_element* e = &p->newton.elements[i];
        *e                  = (tni_cone_element){.kind       = TNI_CONE_FRICTION,
                                                 .node       = BODIES + JOINTS + i,
                                                 .count      = 3,
                                                 .slip_count = 2,
                                                 .friction   = friction};
        for (; edge < p->edges && p->row[edge] == e->node; ++edge) {
            double* J = p->J[i][e->side_count];
            for (int k = 0; k < 3 * DIM; ++k) J[k] = test_random_between(r, -1, 1);
            e->side[e->side_count++] =
                (tni_cone_side){edge, p->plan->row_start[p->col[edge]], DIM, J};
        }
        for (int k = 0; k < 3; ++k) e->c[k] = test_random_between(r, -1, 1);
    }
    tni_cone_newton_begin(&p->newton, p->saddle, NULL);
}

// Largest violation of A u + J^T mu - J_c^T f = b, J u = 0 and of the law, all from the blocks.
static double violation(const problem* p)
{
    double most = 0, left[BODIES * DIM], rate[JOINTS * JOINT_ROWS] = {0};
    for (int i = 0; i < BODIES; ++i) {
        const double* A = tni_saddle_a(p->saddle, i);
        for (int k = 0; k < DIM; ++k) {
            const int row     = p->plan->row_start[i] + k;
            left[DIM * i + k] = A[k * DIM + k] * p->x[row] - p->rhs[row];
        }
    }
    for (int e = 0; e < 2 * JOINTS; ++e) {
        const double* J = tni_saddle_j(p->saddle, e);
        const int     b = p->col[e], j = p->row[e] - BODIES;
        for (int i = 0; i < JOINT_ROWS; ++i)
            for (int k = 0; k < DIM; ++k) {
                left[DIM * b + k] += J[i * DIM + k] * p->x[p->plan->row_start[p->row[e]] + i];
                rate[JOINT_ROWS * j + i] += J[i * DIM + k] * p->x[p->plan->row_start[b] + k];
            }
    }
    for (int i = 0; i < p->contacts; ++i) {
        const tni_cone_element* e    = &p->newton.elements[i];
        double                  w[3] = {e->c[0], e->c[1], e->c[2]};
        for (int s = 0; s < e->side_count; ++s) {
            const int b = p->col[e->side[s].edge];
            for (int r = 0; r < 3; ++r)
                for (int k = 0; k < DIM; ++k) {
                    left[DIM * b + k] -= p->J[i][s][r * DIM + k] * e->f[r];
                    w[r] += p->J[i][s][r * DIM + k] * p->x[p->plan->row_start[b] + k];
                }
        }
        const double ft = hypot(e->f[1], e->f[2]), wt = hypot(w[1], w[2]), mu = e->friction;
        most = fmax(most, fmax(-w[0], -e->f[0])); // apart, pushing
        most = fmax(most, fabs(e->f[0] * w[0]));  // not both
        most = fmax(most, ft - mu * e->f[0]);     // within the cone
        most = fmax(most,
                    fabs(e->f[1] * w[1] + e->f[2] * w[2] + mu * e->f[0] * wt)); // against the slip
    }
    for (int i = 0; i < BODIES * DIM; ++i) most = fmax(most, fabs(left[i]));
    for (int i = 0; i < JOINTS * JOINT_ROWS; ++i) most = fmax(most, fabs(rate[i]));
    return most;
}

static void solve(problem* p, bool warm)
{
    const tni_cone_options options = {
        .tolerance = 1e-9, .accepted = 1e-9, .iterations = 200, .refine = true, .warm = warm};
    double residual;
    int    worst;
    CHECK_OK(tni_cone_newton_solve(&p->newton, p->rhs, &options, p->x, &residual, &worst));
    CHECK_LESS(residual, 1e-8);
}

TEST(coulombs_law_and_the_equations_are_met)
{
    test_random r = {11};
    for (int i = 0; i < 60; ++i) {
        problem p;
        make(&p, &r, 1 + i % CONTACTS, 0.1 * (i % 7), i % 2 == 1);
        solve(&p, false);
        CHECK_LESS(violation(&p), 1e-7);
        tni_arena_free(&p.arena);
    }
}

TEST(a_solve_that_differs_little_takes_few_steps)
{
    test_random r = {5};
    problem     p;
    make(&p, &r, CONTACTS, 0.5, true);
    solve(&p, false);
    for (int i = 0; i < CONTACTS; ++i) p.newton.elements[i].c[0] += 1e-6;
    solve(&p, true);
    CHECK_LESS(violation(&p), 1e-7);
    CHECK_LESS(p.newton.factor_count, 4);
    tni_arena_free(&p.arena);
}

TEST(kinds_without_friction)
{
    test_random r = {3};
    problem     p;
    make(&p, &r, 3, 0.5, false);
    p.newton.elements[0].kind = TNI_CONE_OPEN;
    p.newton.elements[1].kind = TNI_CONE_ONE_SIDED;
    p.newton.elements[2].kind = TNI_CONE_EQUAL;
    solve(&p, false);
    const tni_cone_element* e = p.newton.elements;
    CHECK(e[0].f[0] == 0 && e[0].f[1] == 0 && e[0].f[2] == 0);
    CHECK(e[1].f[1] == 0 && e[1].f[2] == 0 && e[1].f[0] >= 0);
    CHECK_LESS(fabs(e[1].f[0] * e[1].w[0]), 1e-8);
    for (int k = 0; k < 3; ++k) CHECK_LESS(fabs(e[2].w[k]), 1e-8);
    tni_arena_free(&p.arena);
}

// A limit on the tilt of what does not tilt has no direction: its row is rounding, and so is what it could push.
TEST(a_row_without_a_direction_pushes_nothing)
{
    test_random r = {5};
    problem     p;
    make(&p, &r, 3, 0.5, false);
    tni_cone_element* e = &p.newton.elements[1];
    e->kind             = TNI_CONE_ONE_SIDED;
    for (int side = 0; side < e->side_count; ++side)
        for (int k = 0; k < DIM; ++k) p.J[1][side][k] *= 1e-13;
    e->c[0] = -1; // it would have to move
    tni_cone_newton_begin(&p.newton, p.saddle, NULL);
    solve(&p, false);
    CHECK(e->f[0] == 0);
    tni_arena_free(&p.arena);
}
