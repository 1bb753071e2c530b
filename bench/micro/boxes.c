// boxes: microseconds of processor time an update of the broad phase, the tree of src/geom/broad_phase.c
// beside sweep and prune: boxes sorted by their lower ends along the axis where they spread most,
// the order kept from one update to the next (insertion sort), each box tested against those that
// begin before it ends.
//     boxes [repeats]
#define _POSIX_C_SOURCE 200809L
#include "geom/broad_phase.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); // others may be at work
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double number(uint64_t* state) // in (-1, 1), the same for every run
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int32_t)(*state >> 32) * 0x1p-31;
}

// ---- Sweep and prune ---------------------------------------------------------------------------

typedef struct sweep {
    int       count;
    int*      order;
    double*   key; // lower end of the box at this place in the order
    tni_aabb* sorted;
} sweep;

static double lower_end(const tni_aabb* b, int axis)
{
    return tni_at(b->lower, axis);
}

static int compare_on(const tni_aabb* a, const tni_aabb* b, int axis)
{
    const double x = lower_end(a, axis), y = lower_end(b, axis);
    return (x > y) - (x < y);
}

static const tni_aabb* sort_boxes; // of qsort, first update only
static int             sort_axis;

static int by_lower(const void* a, const void* b)
{
    return compare_on(&sort_boxes[*(const int*)a], &sort_boxes[*(const int*)b], sort_axis);
}

static void sweep_sort(sweep* s, const tni_aabb* now, int axis)
{
    for (int i = 0; i < s->count; ++i) {
        const int    item = s->order[i];
        const double k    = lower_end(&now[item], axis);
        int          j    = i;
        for (; j > 0 && s->key[j - 1] > k; --j) {
            s->key[j]   = s->key[j - 1];
            s->order[j] = s->order[j - 1];
        }
        s->key[j]   = k;
        s->order[j] = item;
    }
}

static int sweep_update(sweep* s, const tni_aabb* now, int axis)
{
    int pairs = 0;
    sweep_sort(s, now, axis);
    for (int i = 0; i < s->count; ++i) s->sorted[i] = now[s->order[i]];
    for (int i = 0; i < s->count; ++i) {
        const double end = tni_at(s->sorted[i].upper, axis);
        for (int j = i + 1; j < s->count && s->key[j] <= end; ++j)
            pairs += tni_aabb_meet(&s->sorted[i], &s->sorted[j]);
    }
    return pairs;
}

// ---- Scenes ------------------------------------------------------------------------------------

typedef enum motion { REST, SHAKE, FALL, WALK } motion;

typedef struct scene {
    const char* name;
    int         count;
    double      half[3]; // of the region where the middles are
    motion      motion;
    int         axis; // where they spread most
} scene;

static const scene scenes[] = {
    {"2,000 at rest", 2000, {10, 10, 4}, REST, 0},
    {"2,000 in a pile, all shake", 2000, {7, 7, 5}, SHAKE, 0},
    {"2,000 falling", 2000, {20, 20, 20}, FALL, 0},
    {"10,000 spread wide", 10000, {500, 500, 2}, WALK, 0},
    {"20,000 of a crowd", 20000, {90, 90, 0.1}, WALK, 0},
    {"20,000 in a pile, all shake", 20000, {15, 15, 11}, SHAKE, 0},
    {"20,000, ten of them move", 20000, {90, 90, 0.1}, REST, 0},
};

static void place(const scene* c, tn_vec3* x, tn_vec3* v)
{
    uint64_t seed = 7;
    for (int i = 0; i < c->count; ++i) {
        x[i] = tni_vec3(c->half[0] * number(&seed), c->half[1] * number(&seed),
                        c->half[2] * number(&seed));
        v[i] = tni_vec3(number(&seed), number(&seed), 0);
    }
}

// A sixtieth of a second. Boxes of half a metre.
static void move(const scene* c, int update, tn_vec3* x, const tn_vec3* v, tni_aabb* now)
{
    static uint64_t seed = 1;
    const double    h    = 1.0 / 60;
    for (int i = 0; i < c->count; ++i) {
        switch (c->motion) {
        case SHAKE:
            x[i] =
                tni_add_scaled(x[i], 1e-3, tni_vec3(number(&seed), number(&seed), number(&seed)));
            break;
        case FALL: x[i].z -= h * (update + 0.5) * h * 9.81; break;
        case WALK: x[i] = tni_add_scaled(x[i], 1.4 * h, v[i]); break;
        default:
            if (c->count == 20000 && i < 10) x[i] = tni_add_scaled(x[i], 1.4 * h, v[i]);
        }
        const tn_vec3 half = {0.25, 0.25, 0.25};
        now[i]             = (tni_aabb){tni_sub(x[i], half), tni_add(x[i], half)};
    }
}

typedef struct figures {
    double first, mean;
    int    pairs;
} figures;

enum { UPDATES = 120 };

static figures run_tree(const scene* c, tn_vec3* x, tn_vec3* v, tni_aabb* now)
{
    figures          f = {0};
    tni_broad_phase* boxes;
    place(c, x, v);
    for (int u = 0; u <= UPDATES; ++u) {
        move(c, u, x, v, now);
        const double t = seconds();
        if (u == 0 && tni_broad_phase_create(NULL, c->count, c->count, NULL, NULL, &boxes) != TN_OK)
            exit(1);
        while (!tni_broad_phase_update(boxes, now))
            if (tni_broad_phase_grow(boxes) != TN_OK) exit(1);
        *(u == 0 ? &f.first : &f.mean) += seconds() - t;
    }
    f.pairs = tni_broad_phase_pair_count(boxes);
    tni_broad_phase_free(boxes);
    f.mean /= UPDATES;
    return f;
}

static figures run_sweep(const scene* c, tn_vec3* x, tn_vec3* v, tni_aabb* now)
{
    figures f = {0};
    sweep   s = {c->count, malloc(sizeof(int) * (size_t)c->count),
                 malloc(sizeof(double) * (size_t)c->count),
                 malloc(sizeof(tni_aabb) * (size_t)c->count)};
    if (s.order == NULL || s.key == NULL || s.sorted == NULL) exit(1);
    place(c, x, v);
    for (int u = 0; u <= UPDATES; ++u) {
        move(c, u, x, v, now);
        const double t = seconds();
        if (u == 0) {
            for (int i = 0; i < c->count; ++i) s.order[i] = i;
            sort_boxes = now, sort_axis = c->axis;
            qsort(s.order, (size_t)c->count, sizeof(int), by_lower);
        }
        f.pairs = sweep_update(&s, now, c->axis);
        *(u == 0 ? &f.first : &f.mean) += seconds() - t;
    }
    free(s.order), free(s.key), free(s.sorted);
    f.mean /= UPDATES;
    return f;
}

int main(int count, char** arguments)
{
    const int repeats = count > 1 ? atoi(arguments[1]) : 5;
    tn_vec3*  x       = malloc(20000 * sizeof *x);
    tn_vec3*  v       = malloc(20000 * sizeof *v);
    tni_aabb* now     = malloc(20000 * sizeof *now);
    if (x == NULL || v == NULL || now == NULL || repeats < 1) return 1;
    printf("%-30s %21s %27s\n", "", "tree: first update us", "sweep: first update us");
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; ++i) {
        figures tree = {HUGE_VAL, HUGE_VAL, 0}, sap = tree;
        for (int k = 0; k < repeats; ++k) {
            const figures a = run_tree(&scenes[i], x, v, now), b = run_sweep(&scenes[i], x, v, now);
            tree = (figures){fmin(tree.first, a.first), fmin(tree.mean, a.mean), a.pairs};
            sap  = (figures){fmin(sap.first, b.first), fmin(sap.mean, b.mean), b.pairs};
        }
        printf("%-30s %9.0f %9.1f (%6d) %9.0f %9.1f (%6d)\n", scenes[i].name, 1e6 * tree.first,
               1e6 * tree.mean, tree.pairs, 1e6 * sap.first, 1e6 * sap.mean, sap.pairs);
    }
    free(x), free(v), free(now);
    return 0;
}
