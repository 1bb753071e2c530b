// Long runs at 1/60 s by the default method, without a setting: the energy of frictionless mechanisms
// oscillates within bounds, without a trend, as well as the impulse method keeps it.
#include "support/auto_rig.h"
#include "support/impulse_rig.h"

static void check_energy(const char* spec, int steps, double bound, double slope, double spread)
{
    const impulse_energy e = impulse_record_of(auto_builtin(spec), auto_h, steps);
    test_check(fmax(-e.least, e.most) < bound && fabs(e.slope) < slope && e.spread < spread,
               __FILE__, __LINE__, "%s: energy %.4g .. %.4g, slope %.3g, spread %.3g", spec,
               e.least, e.most, e.slope, e.spread);
}

// The impulse method has -1.351e-3, 1.1e-7 and 1.1e-6.
TEST(a_pendulum_swings_for_a_hundred_thousand_steps)
{
    check_energy("chain:n=1,joint=hinge,length=1,mass=2", 100000, 1.36e-3, 2e-7, 2e-6);
}

// -1.466e-2, 4e-6 and 4e-5 in 20,000 steps.
TEST(a_fourbar_swings_for_a_hundred_thousand_steps)
{
    check_energy("fourbar", 100000, 1.5e-2, 5e-6, 4e-5);
}

// -5.8e-4, 3.6e-4 and 3.3e-4: the default method has less of a trend.
TEST(bricards_ring_moves_for_twenty_thousand_steps)
{
    check_energy("bricard", 20000, 2.5e-4, 1e-6, 5e-6);
}

// -1.97e-4, 1.3e-7 and 2.2e-6.
TEST(peaucelliers_linkage_swings_for_twenty_thousand_steps)
{
    check_energy("peaucellier", 20000, 2.1e-4, 3e-7, 3e-6);
}
