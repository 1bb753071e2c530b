// chain_check: are the chains of the other engines the same mechanism? They start with the same
// energy to rounding, and as h falls their motion comes to Tenon's, at first order or better. With
// springs stiff enough to matter: without them the motion is another one.
// Not part of the test suite: it needs the engines' packages. Run by scripts/peers.
#include "links.h"
#include "scenes/scenes.h"
#include "test.h"

static const peer_options exact = {.tolerance = 1e-11};

static const peer_engine* const engines[] = {
    &peer_mujoco_euler,    &peer_mujoco_rk4, &peer_mujoco_implicit, &peer_mujoco_implicitfast,
    &peer_mujoco_discrete, &peer_bullet,     &peer_bullet_rk4,      &peer_dart,
#ifdef PEERS_PINOCCHIO
    &peer_pinocchio,
#endif
};
enum { ENGINES = sizeof engines / sizeof *engines };

// Largest distance of bodies and of their orientations, and of velocities.
static double apart(const tn_model* model, const tn_state* a, const tn_state* b)
{
    double worst = 0;
    for (int i = 1; i <= tn_model_counts(model).bodies; ++i) {
        const tn_body_id id = {(uint32_t)i};
        const tn_frame   f = tn_state_pose(a, id), g = tn_state_pose(b, id);
        const tn_twist   s = tn_state_velocity(a, id), t = tn_state_velocity(b, id);
        const tn_quat    p = f.orientation, q = g.orientation;
        const double     dot  = p.w * q.w + p.x * q.x + p.y * q.y + p.z * q.z;
        const double     d[5] = {f.position.x - g.position.x, f.position.z - g.position.z,
                                 0.1 * (s.linear.z - t.linear.z), 0.01 * (s.angular.y - t.angular.y),
                                 sqrt(fmax(0, 2 - 2 * fabs(dot)))};
        for (int k = 0; k < 5; ++k)
            if (!(fabs(d[k]) <= worst)) worst = fabs(d[k]);
    }
    return worst;
}

// Gravity aside as well, so that the joints turn about all axes.
static void make(peer_scene* s, const char* spec)
{
    tn_why    why   = {0};
    tn_scene* scene = NULL;
    CHECK_OK(tns_build(NULL, spec, &scene, &why));
    tn_scene_set_gravity(scene, (tn_vec3){1, 4, -9});
    CHECK(peer_scene_open(s, scene, &why));
}

static void converges(const char* spec, double duration)
{
    enum { LEVELS = 3 };
    peer_scene s;
    tn_why     why = {0};
    tn_state * want, *got;
    make(&s, spec);
    CHECK_OK(tn_state_create(s.model, &want));
    CHECK_OK(tn_state_create(s.model, &got));
    peer_task task = {&s, &peer_tenon_multiplier, exact, 1e-4, duration, 0};
    CHECK(peer_end(&task, want, &why));
    for (int e = 0; e < ENGINES; ++e) {
        double error[LEVELS];
        task.engine = engines[e];
        for (int i = 0; i < LEVELS; ++i) {
            task.h          = 4e-4 / (1 << i);
            const bool went = peer_end(&task, got, &why);
            test_check(went, __FILE__, __LINE__, "%s: %s", engines[e]->name, why.text);
            error[i] = apart(s.model, want, got);
        }
        printf("    %-30s %-22s apart at %g s: %.2e %.2e %.2e\n", spec, engines[e]->name, duration,
               error[0], error[1], error[2]);
        CHECK_LESS(error[2], 2e-3);
        for (int i = 1; i < LEVELS; ++i)
            CHECK_LESS(error[i], fmax(0.54 * error[i - 1], 1e-7)); // RK4 is as good as ours
    }
    tn_state_free(got);
    tn_state_free(want);
    peer_scene_close(&s);
}

TEST(a_chain_without_springs_falls_alike)
{
    converges("chain:n=4", 0.4);
}

TEST(a_chain_with_springs_swings_alike)
{
    converges("chain:n=4,stiffness=0.2", 0.4);
    converges("chain:n=3,stiffness=0.5,tip_mass=1", 0.2);
}

TEST(the_start_has_the_same_energy)
{
    peer_scene s;
    tn_why     why = {0};
    tn_state*  got;
    make(&s, "chain:n=10,stiffness=1");
    CHECK_OK(tn_state_create(s.model, &got));
    for (int e = 0; e < ENGINES; ++e) {
        void* world = engines[e]->open(s.model, s.start, &exact, &why);
        CHECK(world != NULL);
        if (world == NULL) continue;
        engines[e]->read(world, got);
        CHECK_LESS(apart(s.model, s.start, got), 1e-7); // of orientations: the root of rounding
        CHECK_LESS(fabs(tn_state_energy(got).gravity - tn_state_energy(s.start).gravity), 1e-13);
        engines[e]->close(world);
    }
    tn_state_free(got);
    peer_scene_close(&s);
}

TEST(what_has_no_counterpart_is_refused)
{
    peer_scene s;
    for (int e = 0; e < ENGINES; ++e) {
        tn_why why = {0};
        make(&s, "chain:joint=hinge");
        CHECK(engines[e]->open(s.model, s.start, &exact, &why) == NULL);
        CHECK(strstr(why.text, "joint 'j1' has no counterpart") != NULL);
        peer_scene_close(&s);
    }
}
