// A hundred thousand steps of frictionless loops by the impulse method: the energy oscillates
// within the bounds of its first seconds, without a trend.
#include "support/impulse_rig.h"

TEST(a_fourbar_swings_for_a_hundred_thousand_steps)
{
    const impulse_energy e = impulse_record("fourbar", 1e-10, 5e-3, 100000);
    CHECK_LESS(fmax(-e.least, e.most), 1.5e-3);
    CHECK_LESS(fabs(e.slope), 2e-6);
    CHECK_LESS(e.spread, 5e-6);
}

TEST(peaucelliers_linkage_swings_for_a_hundred_thousand_steps)
{
    const impulse_energy e = impulse_record("peaucellier", 1e-10, 0.01, 100000);
    CHECK_LESS(fmax(-e.least, e.most), 1e-4);
    CHECK_LESS(fabs(e.slope), 5e-7);
    CHECK_LESS(e.spread, 1e-6);
}
