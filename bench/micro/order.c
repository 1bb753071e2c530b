// order: orders of elimination for the joints of a scene: how long they take to find, and what the
// factor costs. Beside them, where the libraries are found, AMD and METIS on the same graph: AMD on
// its rows, METIS on its nodes weighted by rows. They do not know the support rule
// (src/linalg/order.c), so ours is also shown without it ("free": minimum degree with all nodes
// positive definite).
//     order [scene ...]
#define _POSIX_C_SOURCE 200809L
#include "linalg/order.h"
#include "model/joint_types.h"
#include "model/scene.h"
#include "scenes/scenes.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef BENCH_AMD
#include <amd.h>
#endif
#ifdef BENCH_METIS
#include <metis.h>
#endif

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct graph_case {
    tni_arena     arena;
    int*          dim;
    int8_t*       sign;
    tni_adjacency near;
    uint8_t*      skip;
    int*          order;
    int           rows;
} graph_case;

// Bodies and joints of the scene, as model/graph.c makes them; planar rows and couplings aside.
static void load(graph_case* g, const tn_scene* scene)
{
    static const int      dims[] = {6, 3, 3, 12, 0, 0, 6}; // by kind
    const tni_part_list*  parts  = scene->parts;
    const tn_body_def*    bodies = parts[TNI_PART_BODY].items;
    const tni_joint_item* joints = parts[TNI_PART_JOINT].items;
    const int body_count = parts[TNI_PART_BODY].count, joint_count = parts[TNI_PART_JOINT].count;
    int*      node   = TNI_TAKE(&g->arena, int, body_count + 1);
    int*      row    = TNI_TAKE(&g->arena, int, 2 * joint_count);
    int*      col    = TNI_TAKE(&g->arena, int, 2 * joint_count);
    uint8_t*  strong = TNI_TAKE(&g->arena, uint8_t, 2 * joint_count);
    tni_graph graph  = {.row_node = row, .col_node = col, .strong = strong, NULL};
    g->dim           = TNI_TAKE(&g->arena, int, body_count + joint_count);
    g->sign          = TNI_TAKE(&g->arena, int8_t, body_count + joint_count);
    graph.dim        = g->dim;
    graph.sign       = g->sign;
    node[0]          = -1;
    for (int i = 0; i < body_count; ++i) {
        const int dim = dims[bodies[i].kind];
        node[i + 1]   = dim > 0 ? graph.count : -1;
        if (dim > 0) g->dim[graph.count] = dim, g->sign[graph.count++] = 1;
    }
    for (int i = 0; i < joint_count; ++i) {
        const tn_joint_def* def = &joints[i].def;
        if (joints[i].constraint != NULL) continue;
        const int rows = tni_joint_type_of(def->type, def->of)->row_count;
        const int b = graph.count, ends[2] = {node[def->body1.bits], node[def->body2.bits]};
        if (rows == 0) continue;
        g->dim[b]              = rows;
        g->sign[graph.count++] = -1;
        for (int k = 0; k < 2; ++k) {
            if (ends[k] < 0) continue;
            row[graph.edge_count]      = b;
            col[graph.edge_count]      = ends[k];
            strong[graph.edge_count++] = rows <= g->dim[ends[k]];
        }
    }
    g->near  = tni_adjacency_make(&g->arena, &graph);
    g->skip  = TNI_TAKE(&g->arena, uint8_t, graph.count);
    g->order = TNI_TAKE(&g->arena, int, graph.count);
    for (int v = 0; v < graph.count; ++v) g->rows += g->dim[v];
}

static void show(graph_case* g, const char* name, double time)
{
    tni_order_cost cost;
    if (!tni_order_cost_of(&g->arena, &g->near, g->order, g->near.count, &cost)) exit(1);
    printf("    %-22s %10.4f s %10.3e flops %10.3e numbers   front %6.0f\n", name, time, cost.flops,
           cost.numbers, cost.front);
    fflush(stdout);
}

#ifdef BENCH_AMD
// On the graph of all rows. Blocks stay together: a node comes where its first row does.
static void try_amd(graph_case* g)
{
    const tni_adjacency* n     = &g->near;
    int64_t*             first = TNI_TAKE(&g->arena, int64_t, n->count + 1);
    int64_t              ends  = 0;
    for (int v = 0; v < n->count; ++v) {
        int64_t wide = g->dim[v];
        for (int k = n->start[v]; k < n->start[v + 1]; ++k) wide += g->dim[n->node[k]];
        first[v + 1] = first[v] + g->dim[v];
        ends += wide * g->dim[v];
    }
    int *start = TNI_TAKE(&g->arena, int, g->rows + 1), *list = TNI_TAKE(&g->arena, int, ends),
        *found = TNI_TAKE(&g->arena, int, g->rows), *of = TNI_TAKE(&g->arena, int, g->rows), at = 0;
    for (int v = 0; v < n->count; ++v) {
        for (int i = 0; i < g->dim[v]; ++i) {
            start[first[v] + i] = at;
            of[first[v] + i]    = v;
            for (int j = 0; j < g->dim[v]; ++j) list[at++] = (int)first[v] + j;
            for (int k = n->start[v]; k < n->start[v + 1]; ++k)
                for (int j = 0; j < g->dim[n->node[k]]; ++j)
                    list[at++] = (int)first[n->node[k]] + j;
        }
    }
    start[g->rows]  = at;
    const double t0 = seconds();
    if (amd_order(g->rows, start, list, found, NULL, NULL) < 0) exit(1);
    const double time = seconds() - t0;
    uint8_t*     seen = TNI_TAKE(&g->arena, uint8_t, n->count);
    for (int i = 0, count = 0; i < g->rows; ++i) {
        if (!seen[of[found[i]]]) g->order[count++] = of[found[i]];
        seen[of[found[i]]] = 1;
    }
    show(g, "AMD, no rule", time);
}
#endif

#ifdef BENCH_METIS
static void try_metis(graph_case* g)
{
    const tni_adjacency* n     = &g->near;
    idx_t                count = n->count;
    idx_t *              start = TNI_TAKE(&g->arena, idx_t, count + 1),
          *weight              = TNI_TAKE(&g->arena, idx_t, count),
          *list                = TNI_TAKE(&g->arena, idx_t, n->start[count]),
          *perm = TNI_TAKE(&g->arena, idx_t, count), *place = TNI_TAKE(&g->arena, idx_t, count);
    for (int v = 0; v <= n->count; ++v) start[v] = n->start[v];
    for (int v = 0; v < n->count; ++v) weight[v] = g->dim[v];
    for (int k = 0; k < n->start[n->count]; ++k) list[k] = n->node[k];
    const double t0 = seconds();
    if (METIS_NodeND(&count, start, list, weight, NULL, perm, place) != METIS_OK) exit(1);
    const double time = seconds() - t0;
    for (int v = 0; v < n->count; ++v) g->order[v] = (int)perm[v];
    show(g, "METIS, no rule", time);
}
#endif

static void run(const char* spec)
{
    const tn_host    host = tn_default_host();
    tn_scene*        scene;
    tn_why           why;
    tni_order_choice choice;
    if (tns_build(&host, spec, &scene, &why) != TN_OK) {
        fprintf(stderr, "%s\n", why.text);
        exit(2);
    }
    graph_case g = {.arena = tni_arena_make(&host)};
    load(&g, scene);
    printf("%s: %d nodes, %d rows\n", spec, g.near.count, g.rows);
    double t0 = seconds();
    if (tni_order_minimum_degree(&g.arena, &g.near, g.skip, NULL, g.order) < 0) exit(1);
    show(&g, "minimum degree", seconds() - t0);
    t0 = seconds();
    if (tni_order_dissected(&g.arena, &g.near, g.skip, g.order) < 0) exit(1);
    show(&g, "dissection", seconds() - t0);
    t0 = seconds();
    if (tni_order_choose(&g.arena, &g.near, g.skip, g.order, &choice) < 0) exit(1);
    show(&g, choice.dissected > 0 ? "chosen: dissection" : "chosen: minimum degree",
         seconds() - t0);
    for (int v = 0; v < g.near.count; ++v) g.sign[v] = 1;
    t0 = seconds();
    if (tni_order_minimum_degree(&g.arena, &g.near, g.skip, NULL, g.order) < 0) exit(1);
    show(&g, "free", seconds() - t0);
#ifdef BENCH_AMD
    try_amd(&g);
#endif
#ifdef BENCH_METIS
    try_metis(&g);
#endif
    tni_arena_free(&g.arena);
    tn_scene_free(scene);
}

int main(int count, char** arguments)
{
    static const char* const usual[] = {"peaucellier",
                                        "scissor:segments=50",
                                        "scissor:segments=220",
                                        "strandbeest:legs=12",
                                        "strandbeest:legs=100",
                                        "octahedron_tube:rings=8,around=20",
                                        "octahedron_tube:rings=150,around=20",
                                        "octahedron_cube:n=4",
                                        "octahedron_cube:n=8",
                                        "octahedron_cube:n=17"};
    for (int i = 1; i < count; ++i) run(arguments[i]);
    for (size_t i = 0; count < 2 && i < sizeof usual / sizeof *usual; ++i) run(usual[i]);
    return 0;
}
