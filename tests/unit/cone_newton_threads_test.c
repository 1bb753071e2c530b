// Islands of contacts: none knows of the others, so each has the bits that it has alone, in any order, on any number of threads.
#include "linalg/cone_newton.h"
#include "test.h"

#include <string.h>

enum {
    ISLANDS  = 9,
    MOST     = 7, // bodies of an island
    LOOSE    = 3, // bodies without contacts
    DIM      = 3,
    BODIES   = ISLANDS * MOST,
    CONTACTS = 3 * BODIES,
    NODES    = 3 * BODIES + 2 * CONTACTS
};

// Island i has i % MOST + 1 bodies in a ring: joints between some neighbours, contacts between all and with what is fixed.
typedef struct world {
    tni_arena       arena;
    tni_plan*       plan;
    tni_saddle*     saddle;
    tni_cone_newton newton;
    int             nodes, edges, contacts;
    int             dim[NODES], hard[NODES], row[2 * NODES], col[2 * NODES];
    int8_t          sign[NODES];
    uint8_t         strong[2 * NODES];
    double          J[CONTACTS][2][TNI_CONE_ROWS * DIM];
    double *        rhs, *x;
} world;

static int add_node(world* w, int dim, int hard, int sign)
{
    w->dim[w->nodes] = dim, w->hard[w->nodes] = hard, w->sign[w->nodes] = (int8_t)sign;
    return w->nodes++;
}

static void add_edge(world* w, int node, int to)
{
    w->row[w->edges] = node, w->col[w->edges] = to, w->strong[w->edges++] = 1;
}

static void add_island(world* w, int first, int bodies)
{
    for (int i = 0; i < bodies; ++i) {
        const int next = first + (i + 1) % bodies, fixed = add_node(w, 3, 0, -1);
        add_edge(w, fixed, first + i);
        if (bodies < 2 || (bodies == 2 && i > 0)) continue;
        const int pair = add_node(w, 3, 0, -1);
        add_edge(w, pair, first + i), add_edge(w, pair, next);
        if (i % 3 != 0) continue;
        const int joint = add_node(w, 1, 1, -1);
        add_edge(w, joint, first + i), add_edge(w, joint, next);
    }
}

static void fill(world* w)
{
    test_random r = {3};
    for (int v = 0; v < w->nodes; ++v) {
        if (w->sign[v] < 0) continue;
        for (int k = 0; k < DIM; ++k) {
            tni_saddle_a(w->saddle, v)[k * DIM + k] = test_random_between(&r, 0.2, 5);
            w->rhs[w->plan->row_start[v] + k]       = test_random_between(&r, -3, 3);
        }
    }
    for (int e = 0; e < w->edges; ++e) {
        const int v = w->row[e];
        double    J[3 * DIM];
        for (int k = 0; k < 3 * DIM; ++k) J[k] = test_random_between(&r, -1, 1);
        if (w->dim[v] == 1) {
            memcpy(tni_saddle_j(w->saddle, e), J, sizeof *J * DIM);
            continue;
        }
        tni_cone_element* c = &w->newton.elements[w->contacts];
        if (e == 0 || w->row[e - 1] != v) {
            *c = (tni_cone_element){
                .kind = TNI_CONE_FRICTION, .node = v, .count = 3, .slip_count = 2, .friction = 0.4};
            for (int k = 0; k < 3; ++k) c->c[k] = test_random_between(&r, k > 0 ? -1 : 0.1, 1);
        }
        double* own = w->J[w->contacts][c->side_count];
        memcpy(own, J, sizeof J);
        c->side[c->side_count++] = (tni_cone_side){e, w->plan->row_start[w->col[e]], DIM, own};
        w->contacts += e + 1 == w->edges || w->row[e + 1] != v;
    }
    w->newton.count = w->contacts;
}

static void make(world* w, const tn_host* host, int threads)
{
    const tn_host memory = tn_default_host();
    int           first[ISLANDS];
    memset(w, 0, sizeof *w);
    w->arena = tni_arena_make(&memory);
    for (int i = 0; i < ISLANDS; ++i) {
        first[i] = w->nodes;
        for (int k = 0; k <= i % MOST; ++k) add_node(w, DIM, 0, 1);
    }
    for (int i = 0; i < LOOSE; ++i) add_node(w, DIM, 0, 1);
    for (int i = 0; i < ISLANDS; ++i) add_island(w, first[i], i % MOST + 1);
    const tni_graph graph = {w->nodes, w->dim, w->sign,   w->edges,
                             w->row,   w->col, w->strong, w->hard};
    CHECK_OK(tni_plan_create(&w->arena, &graph, &w->plan));
    CHECK_OK(tni_saddle_create(&w->arena, w->plan, &w->saddle));
    CHECK_OK(tni_cone_newton_create(&w->arena, CONTACTS, w->plan->row_count,
                                    w->plan->component_count, &w->newton));
    if (host != NULL)
        CHECK_OK(tni_cone_newton_share(&w->arena, host, threads, w->saddle, &w->newton));
    w->rhs = TNI_TAKE(&w->arena, double, w->plan->row_count);
    w->x   = TNI_TAKE(&w->arena, double, w->plan->row_count);
    CHECK_INT(w->plan->component_count, ISLANDS + LOOSE);
    fill(w);
}

// Cold, once more with other rates, and with the active sets held.
static void solve(world* w, const uint8_t* asleep)
{
    tni_cone_options options = {
        .tolerance = 1e-9, .accepted = 1e-9, .iterations = 200, .refine = true};
    double residual;
    int    worst;
    tni_cone_newton_begin(&w->newton, w->saddle, asleep);
    for (int i = 0; i < 3; ++i) {
        options.warm = i > 0, options.frozen = i == 2;
        for (int k = 0; k < w->contacts; ++k) w->newton.elements[k].c[0] += 0.1 * i;
        CHECK_OK(tni_cone_newton_solve(&w->newton, w->rhs, &options, w->x, &residual, &worst));
        if (i < 2) CHECK_LESS(residual, 1e-8);
    }
}

// Whether rows and impulses of a component (-1: of all) are the same.
static bool are_same(const world* a, const world* b, int component)
{
    bool same = true;
    for (int v = 0; v < a->nodes; ++v) {
        if (component >= 0 && a->plan->component_of[v] != component) continue;
        const int row = a->plan->row_start[v];
        same = same && memcmp(a->x + row, b->x + row, sizeof *a->x * (size_t)a->dim[v]) == 0;
    }
    for (int i = 0; i < a->contacts; ++i) {
        const tni_cone_element *e = &a->newton.elements[i], *f = &b->newton.elements[i];
        if (component >= 0 && a->plan->component_of[e->node] != component) continue;
        same = same && memcmp(e->f, f->f, sizeof e->f) == 0 && memcmp(e->w, f->w, sizeof e->w) == 0;
    }
    return same;
}

TEST(an_island_has_the_bits_that_it_has_alone)
{
    static world together, alone;
    make(&together, NULL, 1);
    solve(&together, NULL);
    for (int c = 0; c < together.plan->component_count; ++c) {
        uint8_t asleep[ISLANDS + LOOSE];
        memset(asleep, 1, sizeof asleep);
        asleep[c] = 0;
        make(&alone, NULL, 1);
        solve(&alone, asleep);
        CHECK(are_same(&together, &alone, c));
        tni_arena_free(&alone.arena);
    }
    tni_arena_free(&together.arena);
}

static int calls; // of the host below

static void backwards(void* workers, int count, tn_task* task, void* data)
{
    (void)workers;
    ++calls;
    for (int i = count - 1; i >= 0; --i) task(data, i);
}

TEST(the_order_of_islands_does_not_matter)
{
    static world forth, back;
    tn_host      host = tn_default_host();
    host.each         = backwards;
    make(&forth, NULL, 1);
    make(&back, &host, 2);
    solve(&forth, NULL);
    calls = 0;
    solve(&back, NULL);
    CHECK_INT(calls, 3);
    CHECK(are_same(&forth, &back, -1));
    tni_arena_free(&forth.arena);
    tni_arena_free(&back.arena);
}

TEST(any_number_of_threads)
{
    static world one, many;
    make(&one, NULL, 1);
    solve(&one, NULL);
    for (int threads = 1; threads <= 5; ++threads) {
        tn_pool* pool = tn_pool_create(threads);
        tn_host  host = tn_default_host();
        host.each = tn_pool_each, host.workers = pool;
        make(&many, &host, threads);
        for (int i = 0; i < 5; ++i) { // the contacts are as they were
            many.contacts = 0;
            fill(&many);
            memset(many.x, 0, sizeof *many.x * (size_t)many.plan->row_count);
            solve(&many, NULL);
            CHECK(are_same(&one, &many, -1));
        }
        tni_arena_free(&many.arena);
        tn_pool_free(pool);
    }
}
