#include "support/collide_rig.h"

// Every kind of pair, 10,000 of each: gaps, points on both surfaces, order, common motion.
TEST(random_pairs_of_every_kind_touch_where_they_are_nearest)
{
    for (int i = 0; i < BRUTE_KINDS; ++i) {
        for (int k = 0; k <= i; ++k) {
            const collide_tally t = collide_many(i, k, 10000);
            printf("    %s on %s: %d touching, %.2f points each, %d otherwise when moved\n",
                   brute_name[i], brute_name[k], t.touching, (double)t.points / fmax(t.touching, 1),
                   t.moved_differently);
            CHECK(t.touching > 3000);
            CHECK(t.moved_differently < 200); // ties, and normals of rims to 1e-6
        }
    }
}
