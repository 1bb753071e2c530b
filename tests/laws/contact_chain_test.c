// A chain of capsules falls onto the floor and folds up: many impacts, many contacts, joints
// between them. There is no closed form; at every step: no penetration, joints closed, no energy
// gained. With friction it comes to rest, and the floor carries its weight.
#include "support/contact_rig.h"

#ifdef TENON_TEST_LIGHT
static const double share = 0.8; // of the time to simulate
#else
static const double share = 1;
#endif
static const double radius = 0.02, half = 0.1, link_mass = 0.2;

typedef struct fallen {
    double deepest, growth;   ///< largest over all steps; growth of the energy within one
    double lowest;            ///< gap of the lowest ball, from its position
    int    impacts, contacts; ///< contacts: the most
} fallen;

static double lowest_of(const rig* r)
{
    double lowest = HUGE_VAL;
    for (int i = 0; i < tn_scene_body_count(r->scene); ++i) {
        const tn_frame pose = tn_state_pose(r->state, (tn_body_id){(uint32_t)i + 1});
        const double   rise = fabs(tns_rotate(pose.orientation, TNS_Z).z);
        lowest              = fmin(lowest, pose.position.z - half * rise - radius);
    }
    return lowest;
}

static fallen fall(rig* r, double h, double duration)
{
    fallen f      = {.lowest = HUGE_VAL};
    double before = rig_energy(r);
    while (tn_state_time(r->state) < duration && rig_step(r, h)) {
        const double energy = rig_energy(r);
        f.growth            = fmax(f.growth, energy - before);
        f.deepest           = fmax(f.deepest, r->report.deepest);
        f.lowest            = fmin(f.lowest, lowest_of(r));
        f.impacts += r->report.impact_count;
        f.contacts = r->report.contact_count > f.contacts ? r->report.contact_count : f.contacts;
        before     = energy;
    }
    CHECK(tn_state_time(r->state) >= duration);
    return f;
}

// Between impacts RK4 keeps the energy to h^5 a step: 1.4e-7 J of 80 at h = 1 ms and 5e-5 at 4 ms
// were measured without friction, where links spin fastest; impacts and friction only dissipate.
static void check_heap(const char* spec, double h, double duration)
{
    rig          r = rig_builtin(spec);
    const fallen f = fall(&r, h, share * duration);
    CHECK_LESS(f.deepest, 1e-9);
    CHECK(f.lowest > -1e-9); // measured here, not by the library
    CHECK_LESS(r.joint_error, 1e-9);
    CHECK_LESS(r.velocity_error, 1e-9);
    CHECK_LESS(f.growth, h > 2e-3 ? 2e-4 : 2e-5);
    CHECK(f.impacts > 5);
    CHECK(f.contacts > 1);
    rig_free(&r);
}

TEST(a_falling_chain_stays_above_the_floor)
{
    check_heap("heap:friction=0", 1e-3, 0.8);
    check_heap("heap:friction=0", 4e-3, 1.2);
    check_heap("heap:friction=0,links=50", 2e-3, 0.7);
}

TEST(a_rough_chain_stays_above_the_floor)
{
    check_heap("heap:friction=0.5", 1e-3, 0.7);
    check_heap("heap:friction=0.5", 4e-3, 0.7);
    check_heap("heap:friction=0.2,links=30", 2e-3, 0.65);
}

TEST(a_bouncing_chain_stays_above_the_floor)
{
    rig          r = rig_builtin("heap:friction=0.3,restitution=0.5,links=10");
    const fallen f = fall(&r, 1e-3, 0.8);
    CHECK_LESS(f.deepest, 1e-9);
    CHECK(f.lowest > -1e-9);
    CHECK_LESS(r.joint_error, 1e-9);
    CHECK_LESS(f.growth, 1e-6);
    CHECK(f.impacts > 20);
    rig_free(&r);
}

TEST(a_rough_chain_comes_to_rest_and_the_floor_carries_it)
{
    const double steps[] = {1e-3, 4e-3};
    for (int i = 0; i < 2; ++i) {
        rig r = rig_builtin("heap:friction=0.5,links=4");
        fall(&r, steps[i], 1);
        CHECK_INT(r.report.contact_count, 8);
        CHECK_NEAR(rig_energy(&r), 4 * link_mass * rig_g * radius, 1e-9);
        rig_evaluate(&r);
        tn_vec3 sum = {0, 0, 0};
        for (uint32_t b = 1; b <= 4; ++b)
            sum = tns_add(sum, rig_contact_force(&r, TNS_GROUND, (tn_body_id){b}));
        CHECK_LESS(rig_distance(sum, tns_vec(0, 0, 4 * link_mass * rig_g)), 1e-8);
        rig_free(&r);
    }
}
