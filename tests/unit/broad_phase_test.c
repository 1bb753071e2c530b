#include "test.h"

#include "geom/broad_phase.h"
#include "support/failing_host.h"

#include <stdlib.h>

// Boxes that move, jump, rest, vanish (NaN) and become infinite, and all pairs by brute force.
enum { COUNT = 200 };

typedef struct swarm {
    test_random random;
    tn_vec3     x[COUNT], v[COUNT], half[COUNT];
    tni_aabb    now[COUNT];
} swarm;

static tn_vec3 random_vector(test_random* r, double size)
{
    const double x = test_random_between(r, -size, size), y = test_random_between(r, -size, size);
    return (tn_vec3){x, y, test_random_between(r, -size, size)};
}

static swarm swarm_make(uint64_t seed)
{
    swarm s = {.random = {seed}};
    for (int i = 0; i < COUNT; ++i) {
        s.x[i]    = random_vector(&s.random, 5);
        s.v[i]    = tni_scale(i % 3 == 0 ? 0 : 1, random_vector(&s.random, 0.1));
        s.half[i] = tni_scale(i % 17 == 0 ? 5 : 1, random_vector(&s.random, 1));
        s.half[i] = (tn_vec3){fabs(s.half[i].x), fabs(s.half[i].y), fabs(s.half[i].z)};
    }
    return s;
}

static void swarm_move(swarm* s)
{
    for (int i = 0; i < COUNT; ++i) {
        const int chance = test_random_int(&s->random, 0, 999);
        s->x[i]          = tni_add(s->x[i], s->v[i]);
        if (tni_max_abs(s->x[i]) > 5) s->v[i] = tni_scale(-1, s->v[i]);
        if (chance == 0) s->x[i] = random_vector(&s->random, 5);
        if (chance == 1) s->v[i] = random_vector(&s->random, 1);
        if (chance == 2) s->v[i] = (tn_vec3){0, 0, 0};
        s->now[i] = (tni_aabb){tni_sub(s->x[i], s->half[i]), tni_add(s->x[i], s->half[i])};
        if (chance == 3) s->now[i].lower.y = NAN;
        if (chance == 4) s->now[i].upper.x = NAN;
        if (chance == 5) s->now[i].lower.z = -HUGE_VAL;
    }
    s->now[11].lower = (tn_vec3){-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}; // planes
    s->now[11].upper = (tn_vec3){HUGE_VAL, HUGE_VAL, HUGE_VAL};
    s->now[12].lower = (tn_vec3){-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
}

static bool odd_sum(const void* user, int a, int b)
{
    (void)user;
    return (a + b) % 2 == 1;
}

static void update(tni_broad_phase* boxes, const tni_aabb* now)
{
    while (!tni_broad_phase_update(boxes, now)) CHECK_OK(tni_broad_phase_grow(boxes));
}

// Marks the pairs in seen[a][b]; true if each occurs once and in order.
static bool mark(const tni_broad_phase* boxes, bool seen[COUNT][COUNT])
{
    const tni_pair* pairs = tni_broad_phase_pairs(boxes);
    memset(seen, 0, sizeof(bool[COUNT][COUNT]));
    for (int i = 0; i < tni_broad_phase_pair_count(boxes); ++i) {
        if (!(0 <= pairs[i].a && pairs[i].a < pairs[i].b && pairs[i].b < COUNT)) return false;
        if (seen[pairs[i].a][pairs[i].b]) return false;
        seen[pairs[i].a][pairs[i].b] = true;
    }
    return true;
}

// Number of overlapping pairs that are missing, or of excluded ones that are present.
static int wrong_pairs(const swarm* s, bool seen[COUNT][COUNT], bool odd)
{
    int wrong = 0;
    for (int a = 0; a < COUNT; ++a)
        for (int b = a + 1; b < COUNT; ++b) {
            const bool may = !odd || odd_sum(NULL, a, b);
            if (seen[a][b] ? !may : may && tni_aabb_meet(&s->now[a], &s->now[b])) ++wrong;
        }
    return wrong;
}

TEST(no_overlapping_pair_is_missing)
{
    static bool seen[COUNT][COUNT];
    for (int odd = 0; odd < 2; ++odd) {
        swarm            s = swarm_make(3 + (uint64_t)odd);
        tni_broad_phase* boxes;
        CHECK_OK(tni_broad_phase_create(NULL, COUNT, 0, odd ? odd_sum : NULL, NULL, &boxes));
        for (int u = 0; u < 500; ++u) { // 10^5 updates of a box
            swarm_move(&s);
            update(boxes, s.now);
            CHECK(mark(boxes, seen));
            CHECK_INT(wrong_pairs(&s, seen, odd), 0);
        }
        tni_broad_phase_free(boxes);
    }
}

// Not all pairs either: the stored ones are a few times the overlapping ones.
TEST(pairs_that_are_far_apart_are_dropped)
{
    swarm            s = swarm_make(5);
    tni_broad_phase* boxes;
    CHECK_OK(tni_broad_phase_create(NULL, COUNT, 64, NULL, NULL, &boxes));
    for (int u = 0; u < 500; ++u) {
        swarm_move(&s);
        update(boxes, s.now);
    }
    int meeting = 0;
    for (int a = 0; a < COUNT; ++a)
        for (int b = a + 1; b < COUNT; ++b) meeting += tni_aabb_meet(&s.now[a], &s.now[b]);
    CHECK(tni_broad_phase_pair_count(boxes) >= meeting && meeting > 300);
    CHECK_LESS(tni_broad_phase_pair_count(boxes), 4.0 * meeting);
    for (int i = 0; i < COUNT; ++i) s.now[i].lower.x = NAN;
    update(boxes, s.now);
    CHECK_INT(tni_broad_phase_pair_count(boxes), 0);
    tni_broad_phase_free(boxes);
}

TEST(pair_data_start_at_zero_and_persist)
{
    static double    note[COUNT][COUNT]; // what the test wrote; 0: the pair did not exist
    static bool      seen[COUNT][COUNT];
    swarm            s = swarm_make(7);
    tni_broad_phase* boxes;
    int              wrong = 0, kept = 0;
    CHECK_OK(tni_broad_phase_create(NULL, COUNT, 0, NULL, NULL, &boxes));
    for (int u = 1; u <= 300; ++u) {
        swarm_move(&s);
        update(boxes, s.now);
        CHECK(mark(boxes, seen));
        for (int i = 0; i < tni_broad_phase_pair_count(boxes); ++i) {
            const tni_pair p    = tni_broad_phase_pairs(boxes)[i];
            tn_vec3*       mine = tni_broad_phase_pair_data(boxes, i);
            wrong += mine->x != note[p.a][p.b] || mine->y != 0 || mine->z != 0;
            kept += mine->x != 0;
            mine->x = note[p.a][p.b] = 1000 * p.a + p.b + 1e-3 * u;
        }
        for (int a = 0; a < COUNT; ++a)
            for (int b = 0; b < COUNT; ++b)
                if (!seen[a][b]) note[a][b] = 0;
    }
    CHECK_INT(wrong, 0);
    CHECK(kept > 10000);
    tni_broad_phase_free(boxes);
}

// Two histories end at the same place: the overlapping pairs are the same.
TEST(overlapping_pairs_do_not_depend_on_history)
{
    static bool      seen[2][COUNT][COUNT];
    swarm            s = swarm_make(8);
    tni_broad_phase *old, *young;
    CHECK_OK(tni_broad_phase_create(NULL, COUNT, 0, NULL, NULL, &old));
    CHECK_OK(tni_broad_phase_create(NULL, COUNT, 0, NULL, NULL, &young));
    for (int u = 0; u < 100; ++u) {
        swarm_move(&s);
        update(old, s.now);
    }
    update(young, s.now);
    CHECK(mark(old, seen[0]) && mark(young, seen[1]));
    for (int a = 0; a < COUNT; ++a)
        for (int b = a + 1; b < COUNT; ++b) {
            if (!tni_aabb_meet(&s.now[a], &s.now[b])) continue;
            CHECK(seen[0][a][b] && seen[1][a][b]);
        }
    tni_broad_phase_free(old);
    tni_broad_phase_free(young);
}

static void count_visit(void* user, int index)
{
    ++((int*)user)[index];
}

TEST(a_box_query_visits_each_overlapping_box_once)
{
    swarm            s = swarm_make(9);
    tni_broad_phase* boxes;
    CHECK_OK(tni_broad_phase_create(NULL, COUNT, 4096, NULL, NULL, &boxes));
    for (int u = 0; u < 200; ++u) {
        int visits[COUNT] = {0}, wrong = 0;
        swarm_move(&s);
        update(boxes, s.now);
        const tn_vec3  x = random_vector(&s.random, 5), d = {0.5, 1, 1.5};
        const tni_aabb box = {tni_sub(x, d), tni_add(x, d)};
        tni_broad_phase_query(boxes, &box, count_visit, visits);
        for (int i = 0; i < COUNT; ++i)
            wrong += visits[i] > 1 || (visits[i] == 0 && tni_aabb_meet(&box, &s.now[i]));
        CHECK_INT(wrong, 0);
    }
    tni_broad_phase_free(boxes);
}

typedef struct ray_visits {
    int          visits[COUNT];
    int          total;
    const swarm* s;
    tn_vec3      from, d;
    double       first;
} ray_visits;

// True if from + t d is in the box for a t in 0 .. most; *t: the first. Side by side.
static bool enters(const tni_aabb* box, tn_vec3 from, tn_vec3 d, double most, double* t)
{
    double first = 0, last = most;
    for (int k = 0; k < 3; ++k) {
        const double l = tni_at(box->lower, k), u = tni_at(box->upper, k);
        const double x = tni_at(from, k), v = tni_at(d, k);
        if (v == 0 && !(l <= x && x <= u)) return false;
        if (v == 0) continue;
        first = fmax(first, fmin((l - x) / v, (u - x) / v));
        last  = fmin(last, fmax((l - x) / v, (u - x) / v));
    }
    *t = first;
    return first <= last && box->lower.y == box->lower.y && box->upper.x == box->upper.x;
}

static double visit_all(void* user, int index, double most)
{
    ray_visits* r = user;
    ++r->visits[index], ++r->total;
    return most;
}

static double visit_first(void* user, int index, double most)
{
    ray_visits* r = user;
    double      t;
    ++r->total;
    return enters(&r->s->now[index], r->from, r->d, most, &t) ? fmin(t, most) : most;
}

TEST(a_ray_query_visits_all_boxes_hit_and_finds_the_first)
{
    swarm            s = swarm_make(10);
    tni_broad_phase* boxes;
    double           all_total = 0, first_total = 0;
    CHECK_OK(tni_broad_phase_create(NULL, COUNT, 4096, NULL, NULL, &boxes));
    for (int u = 0; u < 2000; ++u) {
        if (u % 10 == 0) {
            swarm_move(&s);
            s.now[11].lower.x = NAN;
            update(boxes, s.now);
        }
        ray_visits r = {.s = &s, .from = random_vector(&s.random, 8)};
        r.d          = random_vector(&s.random, 1);
        if (u % 5 == 0) r.d.x = 0;
        if (u % 7 == 0) r.d.y = 0;
        if (u % 11 == 0) r.from = s.now[u % COUNT].lower; // along an edge, when d has a zero
        const double most  = test_random_between(&s.random, 0, 20);
        int          wrong = 0;
        double       best  = most, t;
        CHECK(tni_broad_phase_ray(boxes, r.from, r.d, most, visit_all, &r) == most);
        for (int i = 0; i < COUNT; ++i) {
            const bool hit = enters(&s.now[i], r.from, r.d, most, &t);
            wrong += r.visits[i] > 1 || (hit && r.visits[i] == 0);
            if (hit) best = fmin(best, t);
        }
        CHECK_INT(wrong, 0);
        all_total += r.total;
        r.total = 0;
        CHECK(tni_broad_phase_ray(boxes, r.from, r.d, most, visit_first, &r) == best);
        first_total += r.total;
    }
    CHECK_LESS(first_total, 0.75 * all_total); // boxes behind a hit are not visited
    tni_broad_phase_free(boxes);
}

TEST(no_boxes_one_box_and_boxes_at_one_place)
{
    tni_broad_phase* boxes;
    const tni_aabb   same[3] = {
        {{1, 1, 1}, {1, 1, 1}}, {{1, 1, 1}, {1, 1, 1}}, {{1, 1, 1}, {1, 1, 1}}};
    for (int count = 0; count < 4; ++count) {
        CHECK_OK(tni_broad_phase_create(NULL, count, 0, NULL, NULL, &boxes));
        for (int u = 0; u < 3; ++u) update(boxes, same);
        CHECK_INT(tni_broad_phase_pair_count(boxes), count * (count - 1) / 2);
        CHECK(tni_broad_phase_bytes(boxes) > 0);
        tni_broad_phase_free(boxes);
    }
    tni_broad_phase_free(NULL);
}

TEST(failed_allocations_are_reported_and_nothing_is_lost)
{
    failing_host  f    = failing_host_make();
    const tn_host host = failing_host_of(&f);
    swarm         s    = swarm_make(11);
    static bool   seen[COUNT][COUNT];
    swarm_move(&s);
    for (int n = 1;; ++n) {
        tni_broad_phase* boxes;
        failing_host_rewind(&f, n);
        tn_result result = tni_broad_phase_create(&host, COUNT, 0, NULL, NULL, &boxes);
        CHECK((result == TN_OK) == (boxes != NULL));
        if (result == TN_OK) {
            while (result == TN_OK && !tni_broad_phase_update(boxes, s.now))
                result = tni_broad_phase_grow(boxes);
            if (result != TN_OK) update(boxes, s.now); // from where it was
            const int asked = f.count;
            CHECK(tni_broad_phase_update(boxes, s.now) &&
                  f.count == asked); // updates do not allocate
            CHECK(mark(boxes, seen));
            CHECK_INT(wrong_pairs(&s, seen, false), 0);
            tni_broad_phase_free(boxes);
        }
        CHECK_INT(f.live_blocks, 0);
        CHECK_INT(f.size_errors, 0);
        CHECK(result == TN_OK || f.refused == 1);
        if (f.refused == 0) break;
    }
}
