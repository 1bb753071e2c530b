// A step of the adaptive method depends on the state alone, bit for bit: not on the stepper and its
// history, nor on how many steps are taken in a call.
#include "step/stepper.h"
#include "support/adaptive_rig.h"

enum { CASES = 40, STEPS = 24 };

typedef struct bits_case {
    test_random          random;
    random_mechanism*    m;
    tn_adaptive_settings settings;
    tn_stepper*          stepper;
} bits_case;

static const double h = 1e-3;

static void start(bits_case* c, tn_state* state)
{
    adaptive_rig* g = adaptive_rig_make(c->m->model, &c->settings);
    adaptive_disturb(g, c->m, &c->random, 0.7, 1);
    adaptive_rig_free(g);
    tn_state_copy(state, c->m->state);
}

static bits_case case_make(uint64_t seed)
{
    bits_case  c     = {.random = {seed}};
    const bool runge = seed % 4 == 0; // rk4 does not support hard limits
    const int  n     = test_random_int(&c.random, 1, 24);
    c.m              = adaptive_scene(&c.random, n, test_random_int(&c.random, 1, 5),
                         runge ? ADAPTIVE_ALL : ADAPTIVE_ALL | ADAPTIVE_LIMITS);
    c.settings       = adaptive_random_settings(&c.random, n);
    if (runge) c.settings.integrator = TN_ADAPTIVE_RK4;
    c.stepper = adaptive_stepper(c.m->model, &c.settings);
    start(&c, c.m->state);
    return c;
}

static void case_free(bits_case* c)
{
    tn_stepper_free(c->stepper);
    random_mechanism_free(c->m);
}

TEST(one_call_of_many_steps_equals_many_calls)
{
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        bits_case      c   = case_make(seed);
        tn_state*      one = adaptive_copy(c.m->state);
        tn_step_report all, each;
        int            taken = 0, visits = 0, choices = 0;
        double         lost = 0;
        for (int count = 1; taken < 60; taken += count, count += 4) {
            visits = choices = 0, lost = 0;
            CHECK_OK(tn_stepper_run(c.stepper, c.m->state, h, count, &all, NULL));
            for (int i = 0; i < count; ++i) {
                CHECK_OK(tn_stepper_step(c.stepper, one, h, &each, NULL));
                visits += each.adaptive.visit_count, choices += each.adaptive.choice_count;
                lost += each.adaptive.kinetic_loss;
            }
            CHECK(adaptive_same(c.m->state, one));
            CHECK_INT(all.adaptive.visit_count, visits);
            CHECK_INT(all.adaptive.choice_count, choices);
            CHECK_INT(all.adaptive.active_count, each.adaptive.active_count);
            CHECK_NEAR(all.adaptive.kinetic_loss, lost, 1e-12 * (1 + lost));
            CHECK_NEAR(all.h_taken, count * h, 1e-15);
            CHECK(all.adaptive.left_out == each.adaptive.left_out);
        }
        tn_state_free(one);
        case_free(&c);
    }
}

TEST(a_new_stepper_takes_the_same_steps)
{
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        bits_case c   = case_make(seed);
        tn_state* one = adaptive_copy(c.m->state);
        for (int i = 0; i < STEPS; ++i) {
            tn_stepper* fresh = adaptive_stepper(c.m->model, &c.settings);
            adaptive_go(fresh, one, h, 1);
            adaptive_go(c.stepper, c.m->state, h, 1);
            CHECK(adaptive_same(c.m->state, one));
            tn_stepper_free(fresh);
        }
        tn_state_free(one);
        case_free(&c);
    }
}

TEST(alternating_states_are_independent)
{
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        bits_case   c   = case_make(seed);
        tn_stepper* own = adaptive_stepper(c.m->model, &c.settings);
        tn_state *  a = adaptive_copy(c.m->state), *b = adaptive_copy(c.m->state);
        start(&c, b);
        tn_state *a2 = adaptive_copy(a), *b2 = adaptive_copy(b);
        adaptive_go(own, a2, h, STEPS);
        tn_stepper_free(own);
        own = adaptive_stepper(c.m->model, &c.settings);
        adaptive_go(own, b2, h, STEPS);
        for (int left_a = STEPS, left_b = STEPS; left_a + left_b > 0;) {
            const bool first = left_b == 0 || (left_a > 0 && test_random_unit(&c.random) < 0.5);
            int*       left  = first ? &left_a : &left_b;
            const int  count = test_random_int(&c.random, 1, *left < 5 ? *left : 5);
            adaptive_go(c.stepper, first ? a : b, h, count);
            *left -= count;
            if (test_random_unit(&c.random) < 0.3) adaptive_go(c.stepper, c.m->state, 2 * h, 1);
        }
        CHECK(adaptive_same(a, a2));
        CHECK(adaptive_same(b, b2));
        tn_stepper_free(own);
        tn_state_free(a), tn_state_free(a2);
        tn_state_free(b), tn_state_free(b2);
        case_free(&c);
    }
}

// Changes one thing in a state: 0 a velocity, 1 a position, 2 the number of steps, 3 an active
// joint.
static bool change(const bits_case* c, tn_state* state, int what)
{
    const tni_joint_trees* trees   = c->stepper->adaptive->trees;
    tni_reduced*           reduced = &state->reduced;
    if (what == 2) reduced->step += 1;
    for (int i = trees->count - 1; what != 2 && i >= 0; --i) {
        const tni_tree_link* link = &trees->links[i];
        if (link->freedoms == 0 || link->joint < 0) continue;
        uint8_t* active = &reduced->active[c->m->model->joints[link->joint].constraint];
        double   v[TNI_TREE_LINK_FREEDOMS] = {0.1};
        if ((what == 0 && !*active) || (what == 3 && *active)) continue;
        if (what == 0) reduced->v[link->v] += 0.1;
        if (what == 1) tni_tree_link_advance(link, 1, v, reduced->q + link->q);
        if (what == 3) *active = 1;
        break;
    }
    tni_joint_trees_write(trees, reduced->q, reduced->v, state->q, state->u);
    return !adaptive_same(state, c->m->state);
}

TEST(any_difference_of_a_state_is_noticed)
{
    int changed = 0;
    for (uint64_t seed = 1; seed <= 4 * CASES; ++seed) {
        bits_case c = case_make(seed);
        adaptive_go(c.stepper, c.m->state, h, 5);
        tn_state *one = adaptive_copy(c.m->state), *two;
        changed += change(&c, one, (int)(seed % 4));
        two               = adaptive_copy(one);
        tn_stepper* fresh = adaptive_stepper(c.m->model, &c.settings);
        adaptive_go(c.stepper, one, h, 6);
        adaptive_go(fresh, two, h, 6);
        CHECK(adaptive_same(one, two));
        tn_state_free(one);
        tn_state_free(two);
        tn_stepper_free(fresh);
        case_free(&c);
    }
    CHECK(changed > 2 * CASES);
}

// After bodies are moved, a used and a new stepper give the same; handles too.
TEST(moved_bodies_and_handles_act_alike_for_all_steppers)
{
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        bits_case        c    = case_make(seed);
        const tn_body_id body = {(uint32_t)test_random_int(&c.random, 1, c.m->body_count - 1)};
        const tn_vec3    far  = {1, 2, 3};
        adaptive_go(c.stepper, c.m->state, h, 7);
        tn_twist v = tn_state_velocity(c.m->state, body);
        v.linear.x += 0.1;
        CHECK_OK(tn_state_set_velocity(c.m->state, body, v));
        CHECK(tn_state_joint_active(c.m->state, (tn_joint_id){1}) ||
              tn_scene_joint_count(c.m->scene) == 0); // no step was taken since
        tn_state* one = adaptive_copy(c.m->state);
        for (int i = 0; i < STEPS; ++i) {
            if (i == 5) {
                CHECK_OK(tn_state_grab(c.m->state, 0, body, (tn_vec3){0, 0, 0}, 50, 1));
                CHECK_OK(tn_state_grab(one, 0, body, (tn_vec3){0, 0, 0}, 50, 1));
                CHECK_OK(tn_state_move(c.m->state, 0, far, (tn_vec3){0, 0, 0}));
                CHECK_OK(tn_state_move(one, 0, far, (tn_vec3){0, 0, 0}));
            }
            if (i == 15) tn_state_release(c.m->state, 0), tn_state_release(one, 0);
            tn_stepper* fresh = adaptive_stepper(c.m->model, &c.settings);
            adaptive_go(fresh, one, h, 1);
            adaptive_go(c.stepper, c.m->state, h, 1);
            CHECK(adaptive_same(c.m->state, one));
            tn_stepper_free(fresh);
        }
        tn_state_free(one);
        case_free(&c);
    }
}

// Choosing all joints and having no bound give the same active joints and the same bits, for every
// choice.
TEST(choosing_all_joints_equals_no_choice)
{
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        bits_case            c      = case_make(seed);
        tn_adaptive_settings all    = adaptive_settings();
        tn_adaptive_settings chosen = adaptive_settings();
        chosen.active               = tn_scene_joint_count(c.m->scene) + 1;
        chosen.period               = 3;
        chosen.choice               = (tn_choice)(seed % 4);
        tn_stepper *one             = adaptive_stepper(c.m->model, &all),
                   *two             = adaptive_stepper(c.m->model, &chosen);
        tn_state* other             = adaptive_copy(c.m->state);
        adaptive_go(one, c.m->state, h, STEPS);
        adaptive_go(two, other, h, STEPS);
        CHECK(tn_state_hash(c.m->state) == tn_state_hash(other));
        CHECK(adaptive_same(c.m->state, other));
        tn_state_free(other);
        tn_stepper_free(one);
        tn_stepper_free(two);
        case_free(&c);
    }
}

// Joints held by another stepper become active where nothing may be held.
TEST(held_joints_become_active_without_choices)
{
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        bits_case            c    = case_make(seed);
        tn_adaptive_settings few  = adaptive_settings();
        tn_adaptive_settings full = adaptive_settings();
        few.active                = 1;
        tn_stepper *one           = adaptive_stepper(c.m->model, &few),
                   *two           = adaptive_stepper(c.m->model, &full);
        adaptive_go(one, c.m->state, h, 3);
        adaptive_go(two, c.m->state, h, 2);
        for (int i = 0; i < tn_scene_joint_count(c.m->scene); ++i)
            CHECK(tn_state_joint_active(c.m->state, (tn_joint_id){(uint32_t)i + 1}));
        tn_stepper_free(one);
        tn_stepper_free(two);
        case_free(&c);
    }
}
