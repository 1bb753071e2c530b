// As gjk_test.c, with 10,000 pairs of each two kinds, and a million calls. TENON_TEST_VERBOSE
// prints the accuracy that was reached.
#include "support/brute_shapes.h"

#include <stdlib.h>

static bool tell(void)
{
    return getenv("TENON_TEST_VERBOSE") != NULL;
}

typedef struct tally {
    int    deep, most_rounds;
    double rounds, error, off; ///< off: from what trying everything gives
} tally;

static void try_pair(tally* t, const brute_pair* p, test_random* r)
{
    const tni_nearest a     = brute_ask(p);
    const double      size  = brute_size(&p->one, &p->two);
    const double      gap   = a.gap + brute_round(&p->one.g) + brute_round(&p->two.g);
    const double      error = brute_error(&p->one, &p->two, &a) / size;
    const bool rim = p->one.g.type == TN_SHAPE_CYLINDER || p->two.g.type == TN_SHAPE_CYLINDER;
    double     off = 0;
    t->deep += a.deep;
    t->rounds += a.rounds;
    if (!a.deep && a.rounds > t->most_rounds) t->most_rounds = a.rounds;
    t->error = fmax(t->error, error);
    if (!rim) off = fabs(brute_gap(p) - gap) / size;
    else if (a.deep && test_random_int(r, 0, 19) == 0)
        off = fmax(0, brute_descent(&p->one, &p->two, r, 4) - gap) / size;
    t->off = fmax(t->off, off);
    CHECK_LESS(error, rim ? 1e-13 : 1e-14);
    CHECK_LESS(off, rim ? 1e-10 : 1e-14);
    CHECK(a.deep || a.rounds < 128); // never cut short
}

TEST(ten_thousand_pairs_of_each_two_kinds)
{
    const tn_host host = tn_default_host();
    for (int k1 = 0; k1 < BRUTE_KINDS; ++k1)
        for (int k2 = k1; k2 < BRUTE_KINDS; ++k2) {
            test_random r = {1000 + (uint64_t)(BRUTE_KINDS * k1 + k2)};
            tally       t = {.deep = 0};
            for (int i = 0; i < 10000; ++i) {
                tni_arena arena = tni_arena_make(&host);
                // Mostly few points: all pairs of edges are tried.
                const int  points = i % 20 == 0 ? 40 : 12;
                brute_pair p      = brute_any_pair(&arena, &r, k1, k2, 1, points);
                if (i % 2 == 1) { // the other way round
                    const brute_shape s = p.one;
                    p.one = p.two, p.two = s;
                }
                try_pair(&t, &p, &r);
                tni_arena_free(&arena);
            }
            if (tell())
                printf("%-8s %-8s deep %4d  rounds %5.1f, most apart %2d  error %.1e  off %.1e\n",
                       brute_name[k1], brute_name[k2], t.deep, t.rounds / 10000, t.most_rounds,
                       t.error, t.off);
        }
}

TEST(a_million_calls_without_a_nan_or_a_cut)
{
    enum { POOL = 200 };
    const tn_host host  = tn_default_host();
    tni_arena     arena = tni_arena_make(&host);
    test_random   r     = {9};
    tni_geometry  pool[POOL];
    double        rounds = 0;
    int           most = 0, deep = 0, bad = 0;
    for (int i = 0; i < POOL; ++i)
        pool[i] =
            brute_geometry(&arena, &r, brute_kind[i % BRUTE_KINDS], i % 3 == 0 ? 0.01 : 1, 40);
    for (int i = 0; i < 1000000; ++i) {
        brute_pair p = {
            {pool[test_random_int(&r, 0, POOL - 1)], {{0, 0, 0}, tni_identity3()}},
            {pool[test_random_int(&r, 0, POOL - 1)], {brute_vector(&r, 2), tni_identity3()}}};
        if (i % 4 != 0) p.two.pose.R = brute_rotation(&r);
        if (i % 8 == 0) p.two.pose.x.x = p.two.pose.x.y = 0; // squarely
        const tni_nearest a   = brute_ask(&p);
        const double      sum = a.gap + a.n.x + a.c1.x + a.c1.y + a.c1.z + a.c2.x + a.c2.y + a.c2.z;
        bad += !(fabs(sum) < 100) || !(fabs(tni_norm(a.n) - 1) < 1e-14);
        deep += a.deep;
        if (a.deep) continue;
        rounds += a.rounds;
        most = a.rounds > most ? a.rounds : most;
    }
    CHECK_INT(bad, 0);
    CHECK(most < 128);
    if (tell())
        printf("apart %d, rounds %.2f, most %d; deep %d\n", 1000000 - deep,
               rounds / (1000000 - deep), most, deep);
    tni_arena_free(&arena);
}
