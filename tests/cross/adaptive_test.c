// The adaptive method against the multiplier method: with all joints active; with some held against
// welds in their place; and its metrics against sums of squared accelerations.
#include "support/adaptive_rig.h"

#ifdef TENON_TEST_LIGHT
enum { TREES = 100 };
#else
enum { TREES = 500 };
#endif

static random_mechanism* random_case(test_random* r, uint64_t seed)
{
    *r              = (test_random){seed};
    const int count = test_random_int(r, 1, seed % 10 == 0 ? 60 : 16);
    return adaptive_scene(r, count, test_random_int(r, 1, 5), ADAPTIVE_ALL);
}

// ---- Accelerations ------------------------------------------------------------------------------

// held: the probability that a joint is. Step 1 of a period: no choice is made.
static double error_of(uint64_t seed, double held, tn_adaptive_solver solver)
{
    test_random          r;
    random_mechanism*    m        = random_case(&r, seed);
    tn_adaptive_settings settings = adaptive_settings();
    settings.solver               = solver;
    settings.active               = held > 0 ? 1000 : 0;
    adaptive_rig* g               = adaptive_rig_make(m->model, &settings);
    adaptive_disturb(g, m, &r, 0.7, 1);
    if (held > 0) adaptive_hold(g, m, &r, held, 1);
    CHECK(adaptive_step(g, m->state, 0));
    random_mechanism* w     = adaptive_welded(g, m);
    const double      error = adaptive_against_multipliers(g, w);
    random_mechanism_free(w);
    adaptive_rig_free(g);
    random_mechanism_free(m);
    return error;
}

static void compare_all(double held, tn_adaptive_solver solver)
{
    for (uint64_t seed = 1; seed <= TREES; ++seed) {
        const double error = error_of(seed, held, solver);
        test_check(error < 1e-9, __FILE__, __LINE__, "error %.3g in case %d", error, (int)seed);
    }
}

TEST(all_joints_active_accelerate_as_by_multipliers)
{
    compare_all(0, TN_ADAPTIVE_CLUSTERS);
}

TEST(all_joints_active_by_divide_and_conquer)
{
    compare_all(0, TN_ADAPTIVE_TREE);
}

TEST(held_joints_are_welds)
{
    compare_all(0.4, TN_ADAPTIVE_CLUSTERS);
    compare_all(0.9, TN_ADAPTIVE_CLUSTERS);
}

TEST(held_joints_are_welds_by_divide_and_conquer)
{
    compare_all(0.4, TN_ADAPTIVE_TREE);
    compare_all(0.9, TN_ADAPTIVE_TREE);
}

// The first velocity of hinges, sliders, screws ... is the scene's coordinate rate.
TEST(first_coordinate_rates_change_as_by_multipliers)
{
    tn_settings multiplier = tn_default_settings();
    multiplier.method      = TN_METHOD_MULTIPLIER;
    for (uint64_t seed = 1; seed <= 100; ++seed) {
        test_random                r;
        random_mechanism*          m        = random_case(&r, seed);
        const tn_adaptive_settings settings = adaptive_settings();
        adaptive_rig*              g        = adaptive_rig_make(m->model, &settings);
        tn_stepper*                stepper;
        double                     size = 1, error = 0;
        adaptive_disturb(g, m, &r, 0.7, 1);
        CHECK(adaptive_step(g, m->state, 0));
        multiplier.multiplier.baumgarte = 0;
        CHECK_OK(tn_stepper_create(m->model, &multiplier, &stepper, NULL));
        CHECK_OK(tn_stepper_evaluate(stepper, m->state, NULL, NULL));
        for (int i = 0; i < g->a->trees->count; ++i) {
            const tni_tree_link* link = &g->a->trees->links[i];
            if (link->kind < TNI_TREE_LINK_HINGE || link->kind > TNI_TREE_LINK_UNIVERSAL) continue;
            double            wanted[6] = {0};
            const tn_joint_id joint     = {(uint32_t)link->joint + 1};
            if (m->model->joints[link->joint].type->coordinate_count == 0) continue;
            if (tn_scene_joint(m->scene, link->joint)->type == TN_JOINT_BALL) continue; // planar
            tn_stepper_joint_acceleration(stepper, joint, wanted);
            size  = fmax(size, fabs(wanted[0]));
            error = fmax(error, fabs(wanted[0] - g->a->qddot[link->v]));
        }
        CHECK_LESS(error / size, 1e-9);
        tn_stepper_free(stepper);
        adaptive_rig_free(g);
        random_mechanism_free(m);
    }
}

// ---- Metrics ------------------------------------------------------------------------------------

// Sum over the joints at and below a node, by accelerations of all joints.
static double squares_below(const tni_adaptive* a, const double* qddot, int n)
{
    double sum = 0;
    for (int k = a->assembly->nodes[n].first; k <= n; ++k) {
        if (a->assembly->nodes[k].b < 0) continue;
        const int            i    = a->assembly->nodes[k].link;
        const tni_tree_link* link = &a->trees->links[i];
        for (int j = link->v; j < link->v + link->freedoms; ++j)
            sum += a->weight[i] * qddot[j] * qddot[j];
    }
    return sum;
}

typedef struct metric_errors {
    double metric, acceleration, left_out;
    int    nodes;
} metric_errors;

// The metrics that a choice computed, against the same state with all joints active.
static void compare_choice(const adaptive_rig* g, const adaptive_rig* full, metric_errors* worst)
{
    const tni_adaptive* a    = g->a;
    const tni_node*     node = a->assembly->nodes;
    for (int t = 0; t < a->trees->tree_count; ++t) {
        const tni_figure* figure = &a->figures[t];
        const double      root   = squares_below(a, full->a->qddot, a->assembly->root[t]);
        double            size = 1, left = root;
        for (int i = a->trees->first[t]; i < a->trees->first[t + 1]; ++i)
            for (int k = 0; k < a->trees->links[i].freedoms; ++k)
                size = fmax(size, fabs(full->a->qddot[a->trees->links[i].v + k]));
        for (int i = 0; i < figure->expanded_count; ++i) {
            const int            n           = figure->expanded[i];
            const tni_tree_link* link        = &a->trees->links[node[n].link];
            const int            children[3] = {n, node[n].a, node[n].b};
            for (int k = 0; k < 3; ++k) {
                if (children[k] < 0 || node[children[k]].b < 0) continue;
                const double sum = squares_below(a, full->a->qddot, children[k]);
                worst->metric =
                    fmax(worst->metric, fabs(a->parts[children[k]].metric - sum) / (root + 1e-6));
                worst->nodes++;
            }
            for (int k = link->v; k < link->v + link->freedoms; ++k) {
                const double own    = full->a->qddot[k];
                worst->acceleration = fmax(worst->acceleration, fabs(a->qddot[k] - own) / size);
                left -= a->weight[node[n].link] * own * own;
            }
        }
        worst->left_out =
            fmax(worst->left_out, fabs(figure->left_out / figure->scale - left) / (root + 1e-6));
    }
}

// Bounded mode leaves the accelerations of the descent in qddot. updates: joints expanded, 0: all.
static void look(uint64_t seed, tn_weights weights, double held, int updates, metric_errors* worst)
{
    test_random          r;
    random_mechanism*    m        = random_case(&r, seed);
    tn_adaptive_settings settings = adaptive_settings();
    adaptive_rig*        full     = adaptive_rig_make(m->model, &settings);
    settings.acceleration_error   = 1e-150; // expands everything
    settings.update               = updates > 0 ? updates : 1000;
    settings.bounded              = true;
    settings.weights              = weights;
    settings.pixels               = weights == TN_WEIGHTS_PIXELS ? 800 : 0;
    adaptive_rig* g               = adaptive_rig_make(m->model, &settings);
    adaptive_disturb(g, m, &r, 0.7, 1);
    if (held > 0) adaptive_hold(g, m, &r, held, 1);
    CHECK(adaptive_step(g, m->state, 0));
    memset(m->state->reduced.active, 1,
           (size_t)m->model->named_count); // the same state, all active
    CHECK(adaptive_step(full, m->state, 0));
    compare_choice(g, full, worst);
    adaptive_rig_free(g);
    adaptive_rig_free(full);
    random_mechanism_free(m);
}

static void check_metrics(tn_weights weights, double held, int updates)
{
    metric_errors worst = {0};
    for (uint64_t seed = 1; seed <= TREES / 2; ++seed) look(seed, weights, held, updates, &worst);
    CHECK_LESS(worst.metric, 1e-9);
    CHECK_LESS(worst.acceleration, 1e-9);
    CHECK_LESS(worst.left_out, 1e-9);
    CHECK(worst.nodes > TREES);
}

TEST(metrics_are_summed_squares_with_all_joints_active)
{
    check_metrics(TN_WEIGHTS_ONE, 0, 0);
    check_metrics(TN_WEIGHTS_LENGTH, 0, 0);
}

TEST(metrics_are_summed_squares_with_some_joints_held)
{
    check_metrics(TN_WEIGHTS_ONE, 0.6, 0);
    check_metrics(TN_WEIGHTS_LENGTH, 0.6, 0);
    check_metrics(TN_WEIGHTS_PIXELS, 0.6, 0);
}

TEST(metrics_are_summed_squares_with_all_joints_held)
{
    check_metrics(TN_WEIGHTS_ONE, 1, 0);
    check_metrics(TN_WEIGHTS_LENGTH, 1, 0);
}

// The metric of a node needs nothing below it.
TEST(metrics_of_unexpanded_nodes_are_summed_squares)
{
    for (int updates = 1; updates <= 7; updates += 2) {
        check_metrics(TN_WEIGHTS_ONE, 0.8, updates);
        check_metrics(TN_WEIGHTS_LENGTH, 0, updates);
    }
}
