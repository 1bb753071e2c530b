// Mechanisms in contact, by the impulse method with long steps: contacts act on the whole mechanism
// behind them, joints stay closed, nothing penetrates.
#include "support/contact_rig.h"

// ---- A heavy block on a light rod, that hits a floor or a peg (Tomcin et al. 2014, fig. 1d)
// ------

enum { PLACES = 8 };
static const double apart = 0.25; ///< [s], between the compared configurations

typedef struct falling {
    tn_vec3 block[PLACES];
    double  joint_error, deepest,
        highest; ///< highest: most kinetic and gravity energy above the start
} falling;

static falling let_fall(const char* spec, tn_method method, double h)
{
    falling f         = {.deepest = 0};
    rig     r         = contact_builtin(spec);
    r.settings.method = method;
    rig_restart(&r);
    const tn_body_id block = contact_body(&r, "block");
    const int        each  = (int)floor(apart / h + 0.5);
    const double     E     = rig_energy(&r);
    for (int i = 0; i < PLACES; ++i) {
        for (int k = 0; k < each && rig_step(&r, apart / each); ++k) {
            f.deepest = fmax(f.deepest, r.report.deepest);
            f.highest = fmax(f.highest, rig_energy(&r) - E);
        }
        f.block[i] = contact_place(&r, block);
    }
    f.joint_error = r.joint_error;
    rig_free(&r);
    return f;
}

static double fall_error(const falling* a, const falling* b)
{
    double most = 0;
    for (int i = 0; i < PLACES; ++i) most = fmax(most, rig_distance(a->block[i], b->block[i]));
    return most;
}

// Against the multiplier method, which finds the time of the impact, with steps of 0.2 ms. An
// impact is applied up to h before its time: first order.
static void check_fall(const char* spec, double per_step, double longest)
{
    const double  steps[] = {2e-3, 5e-3, 0.01, 1.0 / 60, 0.05, 0.125, 0.25};
    const falling fine    = let_fall(spec, TN_METHOD_MULTIPLIER, 2e-4);
    for (int i = 0; i < 7; ++i) {
        const falling f     = let_fall(spec, TN_METHOD_IMPULSE, steps[i]);
        const double  error = fall_error(&f, &fine);
        if (contact_tells())
            printf("%s h %.4g: off by %.3g, joints %.3g, passed %.3g, energy %.3g\n", spec,
                   steps[i], error, f.joint_error, f.deepest, f.highest);
        CHECK_LESS(error, fmin(per_step * steps[i], longest));
        CHECK_LESS(f.joint_error, 1e-9);
        CHECK_LESS(f.deepest, 1e-6);
        CHECK_LESS(f.highest, 1e-6 * 7500 * rig_g);
    }
}

TEST(a_block_on_a_rod_meets_the_floor)
{
    check_fall("rod_and_block:stop=block", 0.03, 4e-3);
}

TEST(a_rod_with_a_block_meets_a_peg)
{
    check_fall("rod_and_block:stop=rod", 6, 0.25);
}

// ---- Limp people ---------------------------------------------------------------------------------

TEST(limp_people_fall_on_each_other)
{
    rig          r    = contact_builtin("ragdoll_pile:n=2");
    double       deep = 0;
    const double E    = rig_energy(&r);
    rig_fall     fall = rig_fall_begin(&r);
    for (int i = 0; i < 120 && rig_step(&r, 1.0 / 60); ++i) {
        deep = fmax(deep, r.report.deepest);
        rig_fall_note(&r, &fall);
    }
    if (contact_tells())
        printf("people: passed %.3g, energy %.3g of %.3g, joints %.3g\n", deep, fall.growth, E,
               r.joint_error);
    CHECK_LESS(deep, 1e-6);
    CHECK_LESS(fall.growth, 1e-9 * E);
    CHECK_LESS(r.joint_error, 1e-9);
    rig_free(&r);
}

// ---- A walking machine ---------------------------------------------------------------------------

TEST(a_machine_walks_its_first_steps)
{
    rig              r     = contact_builtin("strandbeest:walk=on");
    const tn_body_id frame = contact_body(&r, "frame");
    const tn_vec3    start = contact_place(&r, frame);
    for (int i = 0; i < 60 && rig_step(&r, 1.0 / 60); ++i) {
        CHECK_LESS(r.report.deepest, 1e-6);
        CHECK_NEAR(rig_axis(&r, frame, TNS_Z).z, 1, 0.02);
    }
    const tn_vec3 way = tns_sub(contact_place(&r, frame), start);
    if (contact_tells()) printf("walked %g %g %g\n", way.x, way.y, way.z);
    CHECK(fabs(way.x) > 0.1);
    CHECK_LESS(r.joint_error, 1e-6);
    rig_free(&r);
}
