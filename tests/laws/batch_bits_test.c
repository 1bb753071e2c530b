// A copy in a batch moves as it would alone, bit for bit: whatever its neighbours, its place among them and their
// number.
#include "support/batch_rig.h"

#ifdef TENON_TEST_LIGHT
enum { STEPS = 4 };
#else
enum { STEPS = 25 };
#endif

static void run(const char* spec, const char* settings, int count, double angle, double rate,
                double h)
{
    batch_rig r = batch_rig_make(spec, settings, count, NULL);
    batch_rig_scatter(&r, 7, angle, rate);
    for (int i = 0; i < STEPS && batch_rig_step(&r, h, spec); ++i) {}
    batch_rig_free(&r);
}

TEST(every_method_serves)
{
    run("chain:n=5", "method=multiplier", 5, 0.4, 1, 0.002);
    run("chain:n=5", "method=impulse", 5, 0.4, 1, 0.01);
    run("pendulum:n=12", "method=adaptive adaptive.active=4", 5, 0.4, 1, 0.002);
    run("humanoid", "method=implicit implicit.form=rows", 3, 0.2, 1, 1 / 60.0);
    run("humanoid", "method=implicit implicit.integrator=bdf2", 3, 0.2, 1, 1 / 60.0);
    run("fourbar", "method=impulse", 3, 0, 0, 0.01);
    run("ragdoll_pile:n=2", "method=impulse", 3, 0, 0, 0.01);
    run("heap:links=5", "method=multiplier", 2, 0, 0, 0.002);
}

TEST(any_number_of_copies)
{
    for (int count = 0; count <= 18; ++count)
        run("humanoid", "method=implicit", count, 0.3, 2, 1 / 60.0);
}

TEST(characters)
{
    run("humanoid", "method=implicit", 37, 0.8, 4, 1 / 60.0);
    run("humanoid:joints=anatomical", "", 37, 0.8, 4, 1 / 60.0);
    run("humanoid:held=0,joints=anatomical", "", 21, 0.5, 4, 1 / 30.0);
    run("hand", "", 13, 0.5, 3, 1 / 60.0);
    run("robot", "", 13, 0.3, 1, 1 / 60.0);
    run("humanoid:detail=1", "method=implicit", 5, 0.1, 1, 1 / 60.0);
}

TEST(trees)
{
    run("chain:n=9", "method=implicit", 11, 1, 3, 0.02);
    run("chain:n=9,joint=hinge,stiffness=20,damping=0.1", "method=implicit", 11, 1, 3, 0.02);
    run("chain:n=9,stiffness=20,damping=0.1", "method=implicit", 11, 1, 3, 0.02);
    run("tree:depth=4", "method=implicit", 6, 1, 3, 0.02);
    run("plant:depth=3,branching=2", "", 6, 0.3, 1, 0.02);
    run("hair:n=6,strands=2,curl=3", "", 6, 0.3, 1, 0.02);
    run("chain:n=20,mass=0.05,tip_mass=7500,angle=1", "method=implicit", 6, 0, 0, 0.02);
    run("spider:fixed=0", "method=implicit", 6, 0.3, 1, 0.02);
}

// Steps that are too long for what happens: pieces, rescues, failures.
TEST(wild_copies)
{
    run("humanoid:joints=anatomical", "", 21, 2.5, 40, 1 / 30.0);
    run("chain:n=9", "method=implicit", 21, 3, 60, 0.05);
    run("chain:n=9,joint=hinge,stiffness=1e4", "method=implicit", 21, 3, 60, 0.05);
}

TEST(steps_of_other_lengths_and_settings)
{
    batch_rig r = batch_rig_make("humanoid", "method=implicit implicit.stiffen=false", 9, NULL);
    batch_rig_scatter(&r, 3, 0.3, 2);
    for (int i = 0; i < STEPS; ++i)
        batch_rig_step(&r, i % 2 ? 1 / 60.0 : 1 / 90.0, "not stiffened");
    batch_rig_free(&r);
    run("humanoid", "method=implicit implicit.solve=linear", 9, 0.3, 2, 1 / 60.0);
    run("humanoid", "method=implicit implicit.solve=newton", 5, 0.3, 2, 1 / 60.0);
    run("humanoid", "method=implicit implicit.iterations=1", 9, 0.3, 2, 1 / 60.0);
    run("humanoid", "method=implicit implicit.tolerance=1e-13", 9, 0.3, 2, 1 / 60.0);
}

// Some copies are at the start of their memory, or held by a hand, while their neighbours go on; and each has a time
// of its own.
TEST(copies_that_are_interfered_with)
{
    batch_rig r = batch_rig_make("humanoid", "method=implicit", 11, NULL);
    batch_rig_scatter(&r, 5, 0.3, 2);
    const tn_body_id hand = tn_model_find_body(r.model, "left_hand");
    for (int i = 0; i < 2 * STEPS; ++i) {
        const int    copy  = (5 * i) % r.count;
        tn_state*    to[2] = {r.singles[copy], tn_batch_state(r.batch, copy)};
        const double h     = 1 / 60.0;
        for (int k = 0; k < 2; ++k) {
            if (i % 4 == 0) tn_state_reset(to[k]);
            if (i % 4 == 1) CHECK_OK(tn_state_grab(to[k], 0, hand, (tn_vec3){0, 0, 0}, 100, 1));
            if (i % 4 == 2)
                CHECK_OK(tn_state_set_velocity(to[k], hand, tn_state_velocity(to[k], hand)));
            if (i % 4 == 3) tn_state_release(to[k], 0);
        }
        batch_rig_step(&r, h, "interfered with");
    }
    CHECK(tn_state_time(r.singles[0]) != tn_state_time(r.singles[1]));
    batch_rig_free(&r);
}
