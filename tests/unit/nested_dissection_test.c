// Nested dissection and the choice of an order: separators separate, B nodes have support, costs
// are those of an elimination, and the cheaper order is taken.
#include "linalg/nested_dissection.h"
#include "model/model.h"
#include "scenes/scenes.h"
#include "support/failing_host.h"
#include "test.h"

// A graph under construction, its adjacency lists, and results.
typedef struct mesh {
    tn_host       host;
    tni_arena     arena;
    tni_graph     graph;
    int *         dim, *row_node, *col_node;
    int8_t*       sign;
    uint8_t *     strong, *skip;
    tni_adjacency near;
    int *         order, *place, *region, *work;
} mesh;

static mesh* mesh_make(int nodes, int edges)
{
    mesh* m     = calloc(1, sizeof *m);
    m->host     = tn_default_host();
    m->arena    = tni_arena_make(&m->host);
    m->dim      = TNI_TAKE(&m->arena, int, nodes);
    m->sign     = TNI_TAKE(&m->arena, int8_t, nodes);
    m->skip     = TNI_TAKE(&m->arena, uint8_t, nodes);
    m->order    = TNI_TAKE(&m->arena, int, nodes);
    m->place    = TNI_TAKE(&m->arena, int, nodes);
    m->region   = TNI_TAKE(&m->arena, int, nodes);
    m->work     = TNI_TAKE(&m->arena, int, 2 * nodes);
    m->row_node = TNI_TAKE(&m->arena, int, edges);
    m->col_node = TNI_TAKE(&m->arena, int, edges);
    m->strong   = TNI_TAKE(&m->arena, uint8_t, edges);
    m->graph    = (tni_graph){0, m->dim, m->sign, 0, m->row_node, m->col_node, m->strong, NULL};
    return m;
}

static void mesh_free(mesh* m)
{
    tni_arena_free(&m->arena);
    free(m);
}

static int add_node(mesh* m, int sign, int dim)
{
    m->sign[m->graph.count] = (int8_t)sign;
    m->dim[m->graph.count]  = dim;
    return m->graph.count++;
}

static void add_edge(mesh* m, int b, int a)
{
    const int e    = m->graph.edge_count++;
    m->row_node[e] = b;
    m->col_node[e] = a;
    m->strong[e]   = m->dim[b] <= m->dim[a];
}

static void add_tie(mesh* m, int a1, int a2, int rows)
{
    const int b = add_node(m, -1, rows);
    add_edge(m, b, a1);
    add_edge(m, b, a2);
}

// x by y by z A nodes of six rows, neighbours coupled by B nodes.
static void add_grid(mesh* m, int x, int y, int z, int rows)
{
    const int first = m->graph.count;
    for (int i = 0; i < x * y * z; ++i) add_node(m, 1, 6);
    for (int i = 0; i < x * y * z; ++i) {
        if (i % x + 1 < x) add_tie(m, first + i, first + i + 1, rows);
        if (i / x % y + 1 < y) add_tie(m, first + i, first + i + x, rows);
        if (i / (x * y) + 1 < z) add_tie(m, first + i, first + i + x * y, rows);
    }
}

static mesh* grid(int x, int y, int z, int rows)
{
    mesh* m = mesh_make(4 * x * y * z + 8, 8 * x * y * z + 8);
    add_grid(m, x, y, z, rows);
    m->near = tni_adjacency_make(&m->arena, &m->graph);
    return m;
}

// Random A nodes, coupled to near ones and sometimes to distant ones.
static mesh* random_mesh(uint64_t seed)
{
    test_random random = {seed};
    const int   n      = test_random_int(&random, 400, 1200);
    mesh*       m      = mesh_make(5 * n, 12 * n);
    const int   rows   = test_random_int(&random, 2, 3);
    for (int i = 0; i < n; ++i) add_node(m, 1, rows * test_random_int(&random, 1, 3));
    for (int i = test_random_int(&random, n, 3 * n); i > 0; --i) {
        const int reach = test_random_int(&random, 0, 20) > 0 ? 30 : n;
        const int a     = test_random_int(&random, 0, n - 1);
        const int other = (a + test_random_int(&random, 1, reach)) % n;
        const int b     = add_node(m, -1, rows);
        add_edge(m, b, a);
        if (other != a) add_edge(m, b, other);
        if (other != a && i % 9 == 0 && (other + 1) % n != a) add_edge(m, b, (other + 1) % n);
    }
    m->near = tni_adjacency_make(&m->arena, &m->graph);
    return m;
}

// The graph of a scene's joints.
static mesh* scene_mesh(const char* spec)
{
    tn_scene* scene;
    tn_model* model;
    tn_why    why;
    CHECK_OK(tns_build(NULL, spec, &scene, &why));
    CHECK_OK(tn_scene_compile(scene, &model, &why));
    const tni_plan* plan = model->core.plan;
    mesh*           m    = mesh_make(plan->count, plan->edge_count);
    for (int v = 0; v < plan->count; ++v) add_node(m, plan->sign[v], plan->dim[v]);
    for (int e = 0; e < plan->edge_count; ++e) add_edge(m, plan->row_node[e], plan->col_node[e]);
    m->near = tni_adjacency_make(&m->arena, &m->graph);
    tn_model_free(model);
    tn_scene_free(scene);
    return m;
}

static void find_places(mesh* m, int count)
{
    const int n = m->graph.count;
    CHECK_INT(count, n);
    for (int v = 0; v < n; ++v) m->place[v] = -1;
    for (int p = 0; p < count; ++p) m->place[m->order[p]] = p;
    int missing = 0;
    for (int v = 0; v < n; ++v) missing += m->place[v] < 0;
    CHECK_INT(missing, 0);
}

// ---- Separators ---------------------------------------------------------------------------------

// The nodes reachable from v within `inside`, removed from it; returns how many nodes.
static int flood(const mesh* m, int v, uint8_t* inside, int* queue)
{
    int count      = 0;
    queue[count++] = v;
    inside[v]      = 0;
    for (int i = 0; i < count; ++i) {
        for (int k = m->near.start[queue[i]]; k < m->near.start[queue[i] + 1]; ++k) {
            const int u = m->near.node[k];
            if (!inside[u]) continue;
            inside[u]      = 0;
            queue[count++] = u;
        }
    }
    return count;
}

static int a_nodes(const mesh* m, const int* set, int count)
{
    int sum = 0;
    for (int i = 0; i < count; ++i) sum += m->sign[set[i]] > 0;
    return sum;
}

// Removes the last region from a connected set of nodes: no remaining component may be large.
// Continues with the components; returns how many sets were divided.
static int check_parts(const mesh* m, const int* set, int count)
{
    const int all = a_nodes(m, set, count);
    if (all <= 300) return 0;
    uint8_t* inside = calloc((size_t)m->graph.count, 1);
    int*     queue  = calloc((size_t)count, sizeof *queue);
    int      last = -1, parted = 1;
    for (int i = 0; i < count; ++i) last = m->region[set[i]] > last ? m->region[set[i]] : last;
    for (int i = 0; i < count; ++i) inside[set[i]] = m->region[set[i]] < last;
    for (int i = 0; i < count; ++i) {
        if (!inside[set[i]]) continue;
        const int size = flood(m, set[i], inside, queue);
        CHECK_LESS(a_nodes(m, queue, size), 0.61 * all); // all A nodes weigh the same here
        parted += check_parts(m, queue, size);
    }
    free(inside);
    free(queue);
    return parted;
}

static int region_rows(const mesh* m, int region)
{
    int rows = 0;
    for (int v = 0; v < m->graph.count; ++v) rows += m->region[v] == region ? m->dim[v] : 0;
    return rows;
}

static int last_region(const mesh* m)
{
    int last = -1;
    for (int v = 0; v < m->graph.count; ++v) last = m->region[v] > last ? m->region[v] : last;
    return last;
}

TEST(separators_part_meshes_in_balanced_pieces)
{
    const int size[][4] = {{11, 11, 11, 3}, {40, 40, 1, 6}, {200, 5, 2, 3}, {9, 30, 7, 5}};
    for (size_t i = 0; i < sizeof size / sizeof *size; ++i) {
        mesh* m = grid(size[i][0], size[i][1], size[i][2], size[i][3]);
        CHECK(tni_nested_dissection(&m->arena, &m->near, m->skip, m->region));
        for (int v = 0; v < m->graph.count; ++v) m->work[v] = v;
        CHECK(check_parts(m, m->work, m->graph.count) >= 3);
        mesh_free(m);
    }
}

TEST(separators_of_regular_meshes_are_straight)
{
    // The best has the rows of a cross section: its B nodes, which are narrower than its A nodes.
    // Allowed: 10 % more.
    const int size[][4] = {{60, 20, 1, 20}, {30, 8, 8, 64}, {12, 12, 12, 144}, {400, 2, 2, 4}};
    for (size_t i = 0; i < sizeof size / sizeof *size; ++i) {
        mesh* m = grid(size[i][0], size[i][1], size[i][2], 3);
        CHECK(tni_nested_dissection(&m->arena, &m->near, m->skip, m->region));
        CHECK_LESS(region_rows(m, last_region(m)), 1.1 * 3 * size[i][3] + 1e-9);
        mesh_free(m);
    }
}

// Every second node of a chain of squares is coupled to four: such nodes are the lighter separator.
TEST(a_nodes_separate_where_they_are_lighter)
{
    mesh* m = mesh_make(8000, 16000);
    for (int i = 0; i < 1200; ++i) add_node(m, 1, 6);
    for (int i = 0; i + 3 < 1200; i += 3) { // i: a narrow place; i + 1, i + 2: beside each other
        for (int k = 1; k <= 2; ++k) {
            add_tie(m, i, i + k, 5);
            add_tie(m, i + k, i + 3, 5);
        }
    }
    m->near = tni_adjacency_make(&m->arena, &m->graph);
    CHECK(tni_nested_dissection(&m->arena, &m->near, m->skip, m->region));
    CHECK_INT(region_rows(m, last_region(m)), 6);
    mesh_free(m);
}

TEST(b_nodes_stand_with_the_first_of_their_a_nodes_or_part_two_of_them)
{
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        mesh* m     = random_mesh(seed);
        int   wrong = 0;
        CHECK(tni_nested_dissection(&m->arena, &m->near, m->skip, m->region));
        for (int b = 0; b < m->graph.count; ++b) {
            int first = INT32_MAX, earlier = 0;
            for (int k = m->near.start[b]; k < m->near.start[b + 1]; ++k) {
                const int a = m->region[m->near.node[k]];
                first       = a < first ? a : first;
                earlier += a < m->region[b];
            }
            wrong += m->sign[b] < 0 && m->region[b] != first && earlier < 2;
            wrong += m->region[b] < 0;
        }
        CHECK_INT(wrong, 0);
        mesh_free(m);
    }
}

TEST(hubs_are_in_the_last_region)
{
    mesh* m   = mesh_make(8000, 16000);
    int   hub = add_node(m, 1, 6);
    add_grid(m, 30, 30, 1, 3);
    for (int i = 0; i < 900; i += 3) add_tie(m, hub, 1 + i, 3);
    m->near = tni_adjacency_make(&m->arena, &m->graph);
    CHECK(tni_nested_dissection(&m->arena, &m->near, m->skip, m->region));
    const int last = last_region(m);
    CHECK_INT(m->region[hub], last);
    CHECK_INT(region_rows(m, last), 6);
    mesh_free(m);
}

TEST(skipped_nodes_are_ignored)
{
    mesh* m = mesh_make(9000, 18000);
    add_grid(m, 30, 30, 1, 3);
    const int half = m->graph.count;
    add_grid(m, 30, 30, 1, 3);
    m->near = tni_adjacency_make(&m->arena, &m->graph);
    for (int v = half; v < m->graph.count; ++v) m->skip[v] = 1;
    CHECK_INT(tni_order_dissected(&m->arena, &m->near, m->skip, m->order), half);
    int strangers = 0;
    for (int i = 0; i < half; ++i) strangers += m->order[i] >= half;
    CHECK_INT(strangers, 0);
    mesh_free(m);
}

// ---- The support rule ---------------------------------------------------------------------------

// Finds support for B node b by an earlier A node, moving others if needed. seen: A nodes tried.
static bool find_room(const mesh* m, int b, int* room, int* host, uint8_t* seen)
{
    for (int k = m->near.start[b]; k < m->near.start[b + 1]; ++k) {
        const int a = m->near.node[k];
        if (m->place[a] > m->place[b] || !m->near.strong[k] || seen[a]) continue;
        seen[a] = 1;
        if (room[a] < m->dim[b]) {
            for (int l = m->near.start[a]; l < m->near.start[a + 1] && room[a] < m->dim[b]; ++l) {
                const int c = m->near.node[l];
                if (host[c] == a && find_room(m, c, room, host, seen)) room[a] += m->dim[c];
            }
        }
        if (room[a] < m->dim[b]) continue;
        room[a] -= m->dim[b];
        host[b] = a;
        return true;
    }
    return false;
}

// B nodes before one of their A nodes that the A nodes before them cannot support, all being
// assigned at once. Exact if B nodes have equal rows.
static int homeless(mesh* m)
{
    const int n    = m->graph.count;
    int *     room = m->work, *host = m->work + n, count = 0;
    uint8_t*  seen = calloc((size_t)n, 1);
    for (int v = 0; v < n; ++v) room[v] = m->sign[v] > 0 ? m->dim[v] : 0, host[v] = -1;
    for (int b = 0; b < n; ++b) {
        bool all = true;
        for (int k = m->near.start[b]; k < m->near.start[b + 1]; ++k)
            all = all && m->place[m->near.node[k]] < m->place[b];
        if (m->sign[b] > 0 || all) continue;
        memset(seen, 0, (size_t)n);
        count += !find_room(m, b, room, host, seen);
    }
    free(seen);
    return count;
}

TEST(every_b_node_has_support)
{
    for (uint64_t seed = 1; seed <= 12; ++seed) {
        mesh* m = random_mesh(seed);
        find_places(m, tni_order_dissected(&m->arena, &m->near, m->skip, m->order));
        CHECK_INT(homeless(m), 0);
        find_places(m, tni_order_minimum_degree(&m->arena, &m->near, m->skip, NULL, m->order));
        CHECK_INT(homeless(m), 0);
        mesh_free(m);
    }
}

static const char* const loop_scenes[] = {"octahedron_cube:n=4",
                                          "octahedron_tube:rings=6,around=12",
                                          "scissor:segments=120", "strandbeest:legs=60"};

TEST(every_joint_of_the_scenes_has_support)
{
    for (size_t i = 0; i < sizeof loop_scenes / sizeof *loop_scenes; ++i) {
        mesh* m = scene_mesh(loop_scenes[i]);
        find_places(m, tni_order_dissected(&m->arena, &m->near, m->skip, m->order));
        CHECK_INT(homeless(m), 0);
        find_places(m, tni_order_loops(&m->arena, &m->near, m->skip, m->order));
        CHECK_INT(homeless(m), 0);
        mesh_free(m);
    }
}

// ---- Costs and the choice -----------------------------------------------------------------------

// By elimination on a full matrix of flags, one a row.
static tni_order_cost eliminate(const mesh* m)
{
    int rows = 0, *first = calloc((size_t)m->graph.count + 1, sizeof *first);
    for (int p = 0; p < m->graph.count; ++p) first[p] = rows, rows += m->dim[m->order[p]];
    first[m->graph.count] = rows;
    uint8_t*       full   = calloc((size_t)(rows * rows), 1);
    tni_order_cost cost   = {0};
    for (int e = 0; e < m->graph.edge_count; ++e) {
        const int p = m->place[m->row_node[e]], q = m->place[m->col_node[e]];
        for (int i = first[p]; i < first[p + 1]; ++i)
            for (int j = first[q]; j < first[q + 1]; ++j)
                full[i * rows + j] = full[j * rows + i] = 1;
    }
    for (int p = 0; p < m->graph.count; ++p) {
        const int d = first[p + 1] - first[p];
        int       r = 0;
        for (int i = first[p + 1]; i < rows; ++i) {
            if (!full[first[p] * rows + i]) continue;
            ++r;
            for (int j = first[p + 1]; j < rows; ++j)
                full[i * rows + j] |= full[first[p] * rows + j];
        }
        cost.numbers += d * d + d * r;
        cost.front = fmax(cost.front, d + r);
        for (int k = 0; k < d; ++k) { // LDL^T column by column: scale, then update what is behind
            const int in = d - 1 - k;
            cost.flops += 1 + in + in * (in + 1); // reciprocal, scale, update inside the block
            cost.flops += 2.0 * in * r;           // solve for the rows outside
        }
        cost.flops += (double)d * r + (double)d * r * (r + 1); // scale them, update behind
    }
    free(first);
    free(full);
    return cost;
}

TEST(predicted_costs_are_those_of_an_elimination)
{
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        test_random random = {seed};
        const int   n      = test_random_int(&random, 2, 30);
        mesh*       m      = mesh_make(200, 400);
        for (int i = 0; i < n; ++i) add_node(m, 1, test_random_int(&random, 1, 7));
        for (int i = test_random_int(&random, 1, 2 * n); i > 0; --i) {
            const int a = test_random_int(&random, 0, n - 2);
            add_tie(m, a, test_random_int(&random, a + 1, n - 1), test_random_int(&random, 1, 6));
        }
        m->near = tni_adjacency_make(&m->arena, &m->graph);
        find_places(m, tni_order_minimum_degree(&m->arena, &m->near, m->skip, NULL, m->order));
        tni_order_cost       cost;
        const tni_order_cost true_cost = eliminate(m);
        CHECK(tni_order_cost_of(&m->arena, &m->near, m->order, m->graph.count, &cost));
        CHECK_NEAR(cost.flops, true_cost.flops, 1e-12 * true_cost.flops);
        CHECK_NEAR(cost.numbers, true_cost.numbers, 0);
        CHECK_NEAR(cost.front, true_cost.front, 0);
        mesh_free(m);
    }
}

static double flops_of(mesh* m, bool dissected)
{
    tni_order_cost cost;
    find_places(m, dissected
                       ? tni_order_dissected(&m->arena, &m->near, m->skip, m->order)
                       : tni_order_minimum_degree(&m->arena, &m->near, m->skip, NULL, m->order));
    CHECK(tni_order_cost_of(&m->arena, &m->near, m->order, m->graph.count, &cost));
    return cost.flops;
}

TEST(the_cheaper_order_is_taken)
{
    mesh* meshes[]  = {grid(10, 10, 10, 3), grid(40, 6, 6, 5), grid(200, 3, 1, 3),
                       scene_mesh("octahedron_tube:rings=12,around=20"),
                       scene_mesh("octahedron_cube:n=5")};
    int   dissected = 0;
    for (size_t i = 0; i < sizeof meshes / sizeof *meshes; ++i) {
        mesh*            m     = meshes[i];
        const double     plain = flops_of(m, false), cut = flops_of(m, true);
        tni_order_choice choice;
        tni_order_cost   cost;
        find_places(m, tni_order_choose(&m->arena, &m->near, m->skip, m->order, &choice));
        CHECK(tni_order_cost_of(&m->arena, &m->near, m->order, m->graph.count, &cost));
        CHECK_NEAR(choice.cost.flops, cost.flops, 1e-12 * cost.flops);
        CHECK_NEAR(choice.cost.numbers, cost.numbers, 0);
        CHECK_NEAR(cost.flops, choice.dissected > 0 ? cut : plain, 0);
        CHECK(choice.dissected == 0 || choice.dissected == m->graph.count);
        dissected += choice.dissected > 0;
        mesh_free(m);
    }
    CHECK(dissected >= 1 && dissected <= 4);
}

TEST(each_component_gets_its_own_order)
{
    mesh* m = mesh_make(40000, 80000);
    add_grid(m, 10, 10, 10, 3);
    const int large = m->graph.count;
    add_grid(m, 6, 6, 1, 3);
    m->near = tni_adjacency_make(&m->arena, &m->graph);
    tni_order_choice choice;
    find_places(m, tni_order_choose(&m->arena, &m->near, m->skip, m->order, &choice));
    CHECK_INT(choice.dissected, large);
    mesh_free(m);
}

TEST(dissection_halves_the_cost_of_three_dimensional_meshes)
{
    for (int rows = 1; rows <= 5; rows += 2) {
        mesh* m = grid(12, 12, 12, rows); // measured: 0.39, 0.38, 0.25
        CHECK_LESS(flops_of(m, true), 0.5 * flops_of(m, false));
        mesh_free(m);
    }
}

TEST(orders_are_the_same_on_every_run)
{
    mesh *one = random_mesh(7), *two = random_mesh(7);
    for (int again = 0; again < 2; ++again) {
        CHECK(tni_order_dissected(&one->arena, &one->near, one->skip, one->order) > 0);
        CHECK(tni_order_dissected(&two->arena, &two->near, two->skip, two->order) > 0);
        CHECK_INT(memcmp(one->order, two->order, sizeof(int) * (size_t)one->graph.count), 0);
        memset(one->order, 0, sizeof(int) * (size_t)one->graph.count);
    }
    mesh_free(one);
    mesh_free(two);
}

TEST(running_out_of_memory_is_noticed)
{
    mesh*         m    = grid(10, 10, 10, 3);
    failing_host  f    = failing_host_make();
    const tn_host host = failing_host_of(&f);
    int           n    = 0;
    do {
        failing_host_rewind(&f, ++n);
        tni_arena arena = tni_arena_make(&host);
        const int count = tni_order_loops(&arena, &m->near, m->skip, m->order);
        CHECK_INT(count, f.refused > 0 ? -1 : m->graph.count);
        tni_arena_free(&arena);
    } while (f.refused > 0 && n < 500);
    CHECK(n > 20 && n < 500);
    CHECK_INT(f.live_blocks, 0);
    mesh_free(m);
}
