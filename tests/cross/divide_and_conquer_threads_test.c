// Workers share the accelerations of trees: the bits are the same for any number of them.
#include "support/tree_rig.h"

enum { COUNT = 600 };

static int parent_of(int shape, int i, test_random* r)
{
    switch (shape) {
    case 0: return i - 1;                                      // a chain
    case 1: return i == 0 ? -1 : test_random_int(r, 0, i - 1); // a tree
    case 2: return i % 17 == 0 ? -1 : i - 1;                   // many short chains
    default: return i < 300 ? i - 1 : i == 300 ? -1 : test_random_int(r, 300, i - 1);
    }
}

// Hinges, ball joints and floating roots.
static tn_model* model_of(int shape, test_random* r)
{
    tn_scene* scene;
    tn_model* model;
    CHECK_OK(tn_scene_create(NULL, &scene));
    for (int i = 0; i < COUNT; ++i) {
        const int    parent = parent_of(shape, i, r);
        tn_body_def  body   = tn_default_body_def();
        tn_joint_def joint =
            tn_default_joint_def(test_random_unit(r) < 0.7 ? TN_JOINT_HINGE : TN_JOINT_BALL);
        body.mass             = test_random_between(r, 0.5, 2);
        const tni_mat3 I      = random_inertia(r, body.mass);
        const double   six[6] = {I.m[0], I.m[4], I.m[8], I.m[1], I.m[2], I.m[5]};
        memcpy(body.inertia, six, sizeof six);
        body.com           = random_vec3(r, 0.1);
        body.pose.position = random_vec3(r, 1);
        joint.body2        = tn_scene_add_body(scene, &body);
        joint.body1        = (tn_body_id){(uint32_t)(parent + 1)};
        joint.anchor       = random_vec3(r, 1);
        joint.axis         = random_direction(r);
        if (parent >= 0 || test_random_unit(r) < 0.5) (void)tn_scene_add_joint(scene, &joint);
    }
    CHECK_OK(tn_scene_compile(scene, &model, NULL));
    tn_scene_free(scene);
    return model;
}

typedef struct outcome {
    int          visits;
    double*      qddot;
    tni_spatial* forces;
} outcome;

static outcome outcome_of(tree_rig* t, const tn_host* host)
{
    const tni_joint_trees* l = t->trees;
    outcome                o = {0, calloc((size_t)l->v_count, sizeof(double)),
                                calloc((size_t)l->count, sizeof(tni_spatial))};
    CHECK(tni_tree_accelerate(t->pass, host, 0, l->tree_count, &t->at, o.qddot, &o.visits));
    for (int i = 0; i < l->count; ++i)
        if (t->touched[t->assembly->joint[i]]) o.forces[i] = tni_tree_reaction(t->pass, i);
    return o;
}

static bool same(const tree_rig* t, const outcome* a, const outcome* b)
{
    const size_t v = sizeof(double) * (size_t)t->trees->v_count,
                 f = sizeof(tni_spatial) * (size_t)t->trees->count;
    return a->visits == b->visits && memcmp(a->qddot, b->qddot, v) == 0 &&
           memcmp(a->forces, b->forces, f) == 0;
}

static void outcome_free(outcome* o)
{
    free(o->qddot);
    free(o->forces);
}

static void push_some(tree_rig* t, test_random* r)
{
    for (int i = 0; i < t->trees->count; i += 5) {
        t->force[i]                     = (tni_spatial){random_vec3(r, 2), random_vec3(r, 5)};
        t->loaded[t->assembly->leaf[i]] = 1;
    }
}

typedef void use(tree_rig* t, test_random* r);

static void with_all(use* what)
{
    for (int i = 0; i < 12; ++i) {
        test_random r     = {(uint64_t)(40 + i)};
        tn_model*   model = model_of(i % 4, &r);
        tn_state*   state;
        CHECK_OK(tn_state_create(model, &state));
        tree_rig* t = tree_rig_make(model);
        tree_rig_disturb(t, state, &r, 1, 1);
        push_some(t, &r);
        tree_rig_hold(t, NULL, &r, i < 4 ? 0 : i < 8 ? 0.5 : 0.95, i % 2 == 0);
        what(t, &r);
        tree_rig_free(t);
        tn_state_free(state);
        tn_model_free(model);
    }
}

// ---- Any number of workers ----------------------------------------------------------------------

static void by_several(tree_rig* t, test_random* r)
{
    static const int threads[] = {1, 2, 3, 5};

    outcome alone = outcome_of(t, NULL);
    (void)r;
    for (int k = 0; k < 4; ++k) {
        tn_pool* pool = tn_pool_create(threads[k]);
        tn_host  host = tn_default_host();
        host.each = tn_pool_each, host.workers = pool;
        for (int round = 0; round < 2; ++round) {
            outcome o = outcome_of(t, &host);
            CHECK(same(t, &alone, &o));
            outcome_free(&o);
        }
        tn_pool_free(pool);
    }
    outcome_free(&alone);
}

TEST(any_number_of_workers_gives_the_same_bits)
{
    with_all(by_several);
}

// Backwards and one by one: tasks are independent.
static void backwards(void* workers, int count, tn_task* task, void* data)
{
    int* most = workers;
    if (count > *most) *most = count;
    for (int i = count - 1; i >= 0; --i) task(data, i);
}

static void in_other_order(tree_rig* t, test_random* r)
{
    int     most  = 0;
    tn_host host  = tn_default_host();
    outcome alone = outcome_of(t, NULL);
    host.each = backwards, host.workers = &most;
    outcome o       = outcome_of(t, &host);
    int     touched = 0;
    (void)r;
    for (int i = 0; i < t->assembly->count; ++i) touched += t->touched[i];
    CHECK(same(t, &alone, &o));
    CHECK(touched < 400 || most >= 16); // enough jobs
    outcome_free(&o);
    outcome_free(&alone);
}

TEST(any_order_of_tasks_gives_the_same_bits)
{
    with_all(in_other_order);
}

// ---- Trees in parallel --------------------------------------------------------------------------

typedef struct crowd {
    tree_rig* t;
    double*   qddot;
    int       visits[COUNT];
    bool      good[COUNT];
} crowd;

static void one_tree(void* data, int tree)
{
    crowd* c      = data;
    c->good[tree] = tni_tree_accelerate(c->t->pass, NULL, tree, tree + 1, &c->t->at, c->qddot,
                                        &c->visits[tree]);
}

static void tree_by_tree(tree_rig* t, test_random* r)
{
    outcome  alone  = outcome_of(t, NULL);
    tn_pool* pool   = tn_pool_create(3);
    crowd*   c      = calloc(1, sizeof *c);
    int      visits = 0;
    (void)r;
    *c = (crowd){.t = t, .qddot = calloc((size_t)t->trees->v_count, sizeof(double))};
    tn_pool_each(pool, t->trees->tree_count, one_tree, c);
    for (int i = 0; i < t->trees->tree_count; ++i) {
        CHECK(c->good[i]);
        visits += c->visits[i];
    }
    CHECK_INT(visits, alone.visits);
    CHECK(memcmp(c->qddot, alone.qddot, sizeof(double) * (size_t)t->trees->v_count) == 0);
    free(c->qddot);
    free(c);
    tn_pool_free(pool);
    outcome_free(&alone);
}

TEST(trees_may_be_accelerated_in_parallel)
{
    with_all(tree_by_tree);
}
