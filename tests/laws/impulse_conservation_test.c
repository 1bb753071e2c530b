// Conservation in the impulse method: momentum to rounding, energy without a trend, reversibility.
#include "support/impulse_rig.h"

static const tn_vec3 origin = {0, 0, 0};

// ---- Momentum -----------------------------------------------------------------------------------

typedef enum ring_kind { RING_OPEN, RING_BALLS, RING_HINGES } ring_kind;

// Six rods in a floating ring of radius 1 in the plane z = 0 that rotates and wobbles. Open: one
// ball joint is missing. Hinges: three rows are redundant.
static rig make_ring(ring_kind kind, double tolerance)
{
    enum { RODS = 6 };
    const double  s             = 0.86602540378443865;
    const tn_vec3 corners[RODS] = {{1, 0, 0},  {0.5, s, 0},   {-0.5, s, 0},
                                   {-1, 0, 0}, {-0.5, -s, 0}, {0.5, -s, 0}};
    rig           r             = rig_make(origin);
    tn_body_id    rods[RODS];
    for (int i = 0; i < RODS; ++i)
        rods[i] = tns_rod(r.scene, NULL, corners[i], corners[(i + 1) % RODS], 0.1, 1 + 0.3 * i);
    for (int i = kind == RING_OPEN; i < RODS; ++i)
        rig_add_joint(&r, kind == RING_HINGES ? TN_JOINT_HINGE : TN_JOINT_BALL,
                      rods[(i + RODS - 1) % RODS], rods[i], corners[i], TNS_Z);
    r.settings.method            = TN_METHOD_IMPULSE;
    r.settings.impulse.tolerance = tolerance;
    rig_ready(&r);
    tn_wrench blows[RODS];
    for (int i = 0; i < RODS; ++i)
        blows[i] = (tn_wrench){{0.3 * i, 1 - 0.2 * i * i, 0.1 * i}, {0.05, -0.02 * i, 0.3}};
    CHECK_OK(tn_stepper_impulse(r.stepper, r.state, blows, NULL, NULL));
    return r;
}

// Largest change of linear and angular momentum over a thousand steps of 5 ms.
static double momentum_drift(ring_kind kind, double tolerance, double regularisation)
{
    rig r                             = make_ring(kind, tolerance);
    r.settings.impulse.regularisation = regularisation;
    tn_stepper_free(r.stepper);
    CHECK_OK(tn_stepper_create(r.model, &r.settings, &r.stepper, NULL));
    const tn_momentum start = tn_state_momentum(r.state);
    double            drift = 0;
    for (int i = 0; i < 1000 && rig_step(&r, 5e-3); ++i) {
        const tn_momentum now = tn_state_momentum(r.state);
        drift                 = fmax(drift, rig_distance(now.linear, start.linear));
        drift                 = fmax(drift, rig_distance(now.angular, start.angular));
    }
    CHECK(tns_length(start.linear) > 1 && tns_length(start.angular) > 1);
    CHECK(tn_state_energy(r.state).kinetic > 1);
    rig_free(&r);
    return drift;
}

// Equal and opposite impulses at a joint that is open by e make a couple of e p.
TEST(a_floating_mechanism_keeps_its_momentum)
{
    for (int kind = RING_OPEN; kind <= RING_BALLS; ++kind) {
        CHECK_LESS(momentum_drift((ring_kind)kind, 1e-13, 1e-11), 1e-11);
        CHECK_LESS(momentum_drift((ring_kind)kind, 1e-9, 1e-11), 1e-8);
    }
}

// Redundant rows could have any forces against each other. They do not.
TEST(redundant_rows_keep_momentum_too)
{
    CHECK_LESS(momentum_drift(RING_HINGES, 1e-13, 1e-8), 1e-11);
    CHECK_LESS(momentum_drift(RING_HINGES, 1e-13, 1e-11), 1e-11);
    CHECK_LESS(momentum_drift(RING_HINGES, 1e-9, 1e-8), 1e-8);
    CHECK_LESS(momentum_drift(RING_HINGES, 1e-9, 1e-11), 1e-8);
}

// ---- Energy -------------------------------------------------------------------------------------

// It oscillates about a value near the start's, by an amount of h^2, without a trend.
TEST(the_energy_of_swinging_loops_has_no_trend)
{
    const impulse_energy fourbar = impulse_record("fourbar", 1e-12, 0.01, 20000),
                         linkage = impulse_record("peaucellier", 1e-12, 0.02, 5000);
    CHECK_LESS(fmax(-fourbar.least, fourbar.most), 6e-3);
    CHECK_LESS(fabs(fourbar.slope), 2e-5);
    CHECK_LESS(fmax(-linkage.least, linkage.most), 4e-4);
    CHECK_LESS(fabs(linkage.slope), 2e-6);
}

// The start on the edges of the cube is at rest; 10 s are several swings.
TEST(bricards_ring_keeps_its_energy)
{
    const impulse_energy coarse = impulse_record("bricard", 1e-12, 4e-3, 2500),
                         middle = impulse_record("bricard", 1e-12, 2e-3, 5000),
                         fine   = impulse_record("bricard", 1e-12, 1e-3, 10000);
    CHECK_LESS(fmax(-fine.least, fine.most), 2e-6); // asked for: 1e-3
    CHECK_NEAR(rig_order(-coarse.least, -middle.least), 2, 0.02);
    CHECK_NEAR(rig_order(-middle.least, -fine.least), 2, 0.02);
    CHECK_LESS(fabs(fine.slope), 2e-7);
}

// ---- Reversibility ------------------------------------------------------------------------------

static void turn_round(rig* r)
{
    for (uint32_t i = 1; i <= (uint32_t)tn_model_counts(r->model).bodies; ++i) {
        tn_twist v = tn_state_velocity(r->state, (tn_body_id){i});
        v.linear   = tns_scale(-1, v.linear);
        v.angular  = tns_scale(-1, v.angular);
        CHECK_OK(tn_state_set_velocity(r->state, (tn_body_id){i}, v));
    }
}

// Kick, flight, kick is symmetric in time; the closing of the joints is, up to the tolerance.
TEST(with_reversed_velocities_a_mechanism_returns_to_its_start)
{
    static const char* const specs[] = {
        "fourbar",     "slider_crank",         "bricard",
        "peaucellier", "chain:n=3,joint=ball", "scissor:segments=1"};
    for (size_t n = 0; n < sizeof specs / sizeof specs[0]; ++n) {
        rig       r = impulse_builtin(specs[n], 1e-13);
        tn_state* start;
        CHECK_OK(tn_state_create(r.model, &start));
        rig_run(&r, 5e-3, 100);
        CHECK(impulse_difference(r.state, start).q > 0.05);
        turn_round(&r);
        rig_run(&r, 5e-3, 100);
        turn_round(&r);
        const impulse_apart apart = impulse_difference(r.state, start);
        CHECK_LESS(apart.q, 1e-10); // 200 tolerances, amplified by the motion
        CHECK_LESS(apart.u, 1e-9);
        tn_state_free(start);
        rig_free(&r);
    }
}
