// cross: the null-space form against a dense system, on random trees of rigid bodies with all
// joints.
#define RANDOM_BODIES_MAX 1600
#include "support/dense_stiff.h"
#include "system/tree_form.h"

// ---- Random trees --------------------------------------------------------------------------------

typedef struct recipe {
    double stiffness; ///< of joints
    bool   loose;     ///< joints are open at the start
    bool   limits, forces, floating;
    bool   one;  ///< tree, not many
    int    only; ///< index of the only type of joint; -1: all
} recipe;

static void actuate(test_random* r, const recipe* how, tn_joint_def* def)
{
    const int count = tni_joint_type_of(def->type, def->of)->coordinate_count;
    if (count == 0 || how->stiffness < 0) return;
    def->stiffness = how->stiffness;
    def->damping   = test_random_unit(r) < 0.5 ? 0.3 : 0;
    random_numbers(r, def->rest, count, test_random_unit(r) < 0.5 ? 0.2 : 1.7);
    if (how->limits) {
        random_numbers(r, def->force, count, 2);
        if (test_random_unit(r) < 0.5) def->friction = 0.5, def->friction_speed = 0.01;
        def->limit.given = true, def->limit.stiffness = 1e4, def->limit.damping = 1;
        if (def->type == TN_JOINT_POINT_ON_PLANE || def->type == TN_JOINT_POINT_ON_LINE)
            def->limit.given = false;
        else if (def->type == TN_JOINT_BALL) def->limit.cone = 0.1;
        else def->limit.lower = -0.01, def->limit.upper = 0.01;
    }
}

static random_mechanism* random_tree(test_random* r, const recipe* how, int bodies)
{
    random_mechanism* m = random_mechanism_make();
    tn_scene_set_gravity(m->scene, random_vec3(r, 10));
    const tn_body_id fixed[3] = {random_add_body(m, r, RANDOM_STATIC, random_vec3(r, 1), false),
                                 random_add_body(m, r, RANDOM_KINEMATIC, random_vec3(r, 1), false),
                                 {0}};
    for (int i = 0; i < bodies; ++i) {
        const int        first = 3, count = m->body_count;
        const bool       hangs  = count > first && (test_random_unit(r) < 0.9 || how->one);
        const tn_body_id parent = hangs ? (tn_body_id){(uint32_t)test_random_int(
                                              r, count - 4 > first ? count - 4 : first, count - 1)}
                                        : fixed[test_random_int(r, 0, 2)];
        const tn_vec3    at     = tni_add(m->poses[hangs ? parent.bits : 0].position,
                                          tni_scale(0.8, random_direction(r)));
        const tn_body_id child  = random_add_body(m, r, RANDOM_RIGID, at, false);
        if (!hangs && how->floating) continue;
        random_joint_type t =
            random_joint_types[how->only >= 0 ? how->only
                                              : test_random_int(r, 0, RANDOM_JOINT_TYPE_COUNT - 1)];
        const bool       swap = test_random_unit(r) < 0.5;
        const tn_body_id a = swap ? child : parent, b = swap ? parent : child;
        tn_joint_def def = how->loose && t.type != TN_JOINT_DISTANCE && t.type != TN_JOINT_ROLLING
                               ? random_loose_joint(m, r, t, a, b, 0.1)
                               : random_joint(m, r, t, a, b);
        actuate(r, how, &def);
        (void)tn_scene_add_joint(m->scene, &def);
    }
    if (how->forces) {
        for (int i = 3; i < m->body_count; i += 2) {
            const tn_body_id body = {(uint32_t)i};
            tn_load_def      load = tn_default_load_def();
            load.body = body, load.force = random_vec3(r, 5), load.torque = random_vec3(r, 2);
            (void)tn_scene_add_load(m->scene, &load);
            tn_drag_def drag = tn_default_drag_def();
            drag.body = body, drag.linear = 0.5, drag.quadratic = 0.2, drag.angular = 0.1;
            (void)tn_scene_add_drag(m->scene, &drag);
            tn_spring_def spring = tn_default_spring_def();
            spring.body2 = body, spring.body1 = fixed[i % 3], spring.stiffness = 1000;
            spring.anchor1 = random_vec3(r, 2), spring.damping = 1, spring.length = 0.5;
            (void)tn_scene_add_spring(m->scene, &spring);
            tn_key        key    = {0, {random_vec3(r, 2), random_quat(r)}};
            tn_target_def target = tn_default_target_def();
            target.body = body, target.keys = &key, target.key_count = 1;
            target.stiffness = 500, target.damping = 0.5;
            target.angular_stiffness = 100, target.angular_damping = 0.1;
            (void)tn_scene_add_target(m->scene, &target);
        }
    }
    random_mechanism_build(m);
    random_disturb(m, r, how->loose ? 0.05 : 0.001, 1);
    return m;
}

// ---- Comparing -----------------------------------------------------------------------------------

typedef struct rig {
    random_mechanism* m;
    tni_arena         arena;
    tni_system*       system;
    tni_tree_form*    ns;
    double *          drift, *momentum, *multipliers, *predicted, *u, *mu, *b, *r;
    tni_step_start    start;
    tni_step_scheme   scheme;
} rig;

static double* numbers(test_random* r, int count, double size)
{
    double* x = calloc((size_t)count + 1, sizeof(double));
    random_numbers(r, x, count, size);
    return x;
}

static rig rig_make(test_random* r, const recipe* how, int bodies)
{
    rig             g     = {.m = random_tree(r, how, bodies)};
    const tn_model* model = g.m->model;
    const tn_host   host  = tn_default_host();
    const char*     why   = NULL;
    g.arena               = tni_arena_make(&host);
    test_check(tni_tree_form_supports(model, &why), __FILE__, __LINE__, "not served: %s",
               why != NULL ? why : "");
    CHECK_OK(tni_system_create(&g.arena, model, TN_LOOPS_CORE, NULL, &g.system));
    CHECK_OK(tni_tree_form_create(&g.arena, g.system, &g.ns));
    g.drift       = numbers(r, model->u_count, 0.5);
    g.momentum    = numbers(r, model->u_count, 1);
    g.multipliers = numbers(r, model->row_count, 50);
    g.predicted   = numbers(r, model->u_count, 1);
    g.b           = numbers(r, model->u_count, 1);
    g.r           = numbers(r, model->row_count, 1);
    g.u           = numbers(r, model->u_count, 0);
    g.mu          = numbers(r, model->row_count, 0);
    g.scheme = (tni_step_scheme){.h = 1 / 60.0, .share = 1, .time = g.m->state->time + 1 / 60.0};
    g.start =
        (tni_step_start){.at = {g.m->state->time, g.m->state->q, g.m->state->u, g.m->state->z},
                         .predicted = g.predicted};
    if (test_random_unit(r) < 0.5) g.scheme.drift = g.drift, g.scheme.share = 2.0 / 3;
    if (test_random_unit(r) < 0.5) g.start.momentum = g.momentum;
    if (test_random_unit(r) < 0.7) g.start.multipliers = g.multipliers;
    g.start.second_order = test_random_unit(r) < 0.5;
    return g;
}

static void rig_free(rig* g)
{
    double* all[] = {g->drift, g->momentum, g->multipliers, g->predicted, g->u, g->mu, g->b, g->r};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) free(all[i]);
    tni_system_free(g->system);
    tni_arena_free(&g->arena);
    random_mechanism_free(g->m);
}

static void compare(test_random* r, const recipe* how, int bodies, double tolerance)
{
    rig             g     = rig_make(r, how, bodies);
    const tn_model* model = g.m->model;
    tn_why          why   = {0};
    dense_stiff     d     = dense_stiff_make(model, &g.start, &g.scheme);
    dense_stiff_soften(&d);
    dense_stiff_factor(&d);
    dense_stiff_solve(&d);
    CHECK_OK(tni_tree_form_begin(g.ns, &g.start, &g.scheme, g.u, g.mu, &why));
    CHECK_LESS(dense_stiff_off(&d, g.u, g.mu), tolerance);
    for (int with = 0; with < 2; ++with) { // corrections
        const double* b = with == 1 ? g.b : NULL;
        dense_stiff_correct(&d, b, g.r);
        CHECK_OK(tni_tree_form_correct(g.ns, b, g.r, g.u, g.mu, &why));
        CHECK_LESS(dense_stiff_off(&d, g.u, g.mu), tolerance);
    }
    dense_stiff_free(&d);
    rig_free(&g);
}

TEST(trees_of_each_joint_agree_with_dense)
{
    test_random r = {11};
    for (int type = 0; type < RANDOM_JOINT_TYPE_COUNT; ++type)
        for (int i = 0; i < 8; ++i) {
            const recipe how = {.stiffness = i % 4 < 2 ? -1 : 30,
                                .loose     = i % 2 == 1,
                                .only      = type,
                                .floating  = i >= 4};
            compare(&r, &how, 5, 1e-12);
        }
}

TEST(trees_of_all_joints_and_forces_agree_with_dense)
{
    test_random r = {12};
    for (int i = 0; i < 30; ++i) {
        const recipe how = {.stiffness = i % 3 == 0 ? 0 : 5,
                            .loose     = true,
                            .only      = -1,
                            .limits    = i % 2 == 1,
                            .forces    = i % 5 == 4,
                            .floating  = i % 4 == 0};
        compare(&r, &how, 14, 1e-12);
    }
}

TEST(stiff_springs)
{
    test_random  r           = {13};
    const double stiffness[] = {1e2, 1e4, 1e6, 1e8};
    const double tolerance[] = {1e-12, 1e-12, 1e-12, 1e-11};
    for (int i = 0; i < 16; ++i) {
        const recipe how = {
            .stiffness = stiffness[i % 4], .loose = i < 8, .only = i % 2 == 0 ? 6 : 1};
        compare(&r, &how, 10, tolerance[i % 4]);
    }
}

// Rates and angles at a configuration.
static void compare_measure(rig* g, const double* q, const double* u, const tni_view* views)
{
    const tn_model* model = g->m->model;
    double *        z1    = calloc((size_t)model->coordinate_count + 1, sizeof(double)),
           *z2            = calloc((size_t)model->coordinate_count + 1, sizeof(double));
    double most           = 0, C[6], rate[6];
    int    worst = -2, most_at = -1;
    for (int i = 0; i < model->coordinate_count; ++i) z1[i] = z2[i] = g->m->state->z[i] + 6;
    for (int i = 0; i < model->constraint_count; ++i) {
        const tni_constraint* c = &model->constraints[i];
        tni_constraint_rows(model, c, views, g->scheme.time, z1,
                            &(tni_rows_out){.C = C, .rate = rate});
        for (int k = 0; k < c->row_count; ++k)
            if (fabs(rate[k]) > most) most = fabs(rate[k]), most_at = i;
    }
    tni_follow_coordinates(model, views, z1);
    const tni_configuration at    = {g->scheme.time, q, u, z2};
    const double            error = tni_tree_form_measure(g->ns, &at, z2, &worst);
    CHECK_NEAR(error, most, 1e-13 * most);
    CHECK_INT(worst, most_at);
    CHECK_LESS(dense_stiff_difference(z2, z1, model->coordinate_count), 1e-14);
    free(z1), free(z2);
}

// The flight and the rows at its end against state/flight.c and the joints themselves. speed: of
// turning.
static void compare_flight(test_random* r, const recipe* how, double speed, double tolerance)
{
    rig                    g      = rig_make(r, how, 11);
    const tn_model*        model  = g.m->model;
    const tni_step_scheme* scheme = &g.scheme;
    tn_why                 why    = {0};
    double *               q1 = numbers(r, model->q_count, 0), *u1 = numbers(r, model->u_count, 0),
           *q2 = numbers(r, model->q_count, 0), *u2 = numbers(r, model->u_count, 0),
           *C = numbers(r, model->row_count, 0), *D = numbers(r, model->row_count, 0);
    double* u = numbers(r, model->u_count, speed);
    for (int i = 0; i < model->u_count; i += 6) // neighbours in a lane need not be alike
        for (int k = 0; k < 6; ++k) u[i + k] *= i % 4 == 0 ? 1 : 0.03;
    int    worst = -2, most_at = -1;
    double most = 0;
    CHECK_OK(tni_tree_form_begin(g.ns, &g.start, scheme, g.u, g.mu, &why));
    const double error = tni_tree_form_fly(g.ns, &g.start, scheme, u, q1, u1, C, &worst);
    if (scheme->drift == NULL) tni_fly(model, NULL, scheme->h, g.start.at.q, u, q2, u2);
    else tni_fly_mean(model, scheme->h, scheme->share, scheme->drift, g.start.at.q, u, q2, u2);
    tni_view* views = calloc((size_t)model->body_count, sizeof *views);
    tni_views(model, scheme->time, q2, u2, views);
    for (int i = 0; i < model->constraint_count; ++i) {
        const tni_constraint* c = &model->constraints[i];
        double                rate[6];
        tni_constraint_rows(model, c, views, scheme->time, g.start.at.z,
                            &(tni_rows_out){.C = D + c->row_start, .rate = rate});
        for (int k = 0; k < c->row_count; ++k) {
            if (k >= c->held_count) D[c->row_start + k] = rate[k];
            const double e = fabs(D[c->row_start + k]) * (k < c->held_count ? 1 : scheme->h);
            if (e > most) most = e, most_at = i;
        }
    }
    CHECK_LESS(dense_stiff_difference(q1, q2, model->q_count), tolerance);
    CHECK_LESS(dense_stiff_difference(u1, u2, model->u_count), tolerance);
    CHECK_LESS(dense_stiff_difference(C, D, model->row_count), tolerance);
    CHECK_NEAR(error, most, tolerance * most);
    CHECK_INT(worst, most_at);
    compare_measure(&g, q2, u2, views);
    tni_tree_form_use_baseline(g.ns); // the same bits
    (void)tni_tree_form_fly(g.ns, &g.start, scheme, u, q2, u2, D, &worst);
    CHECK(memcmp(q1, q2, sizeof(double) * (size_t)model->q_count) == 0);
    CHECK(memcmp(u1, u2, sizeof(double) * (size_t)model->u_count) == 0);
    CHECK(memcmp(C, D, sizeof(double) * (size_t)model->row_count) == 0);
    free(q1), free(u1), free(q2), free(u2), free(C), free(D), free(u), free(views);
    rig_free(&g);
}

TEST(flight)
{
    test_random r = {14};
    // Rotations by up to 0.003, 0.03, 0.9 and 3 rad; the last ones are beyond the SIMD kernels.
    // All, balls, hinges and welds alone.
    const double speed[] = {0.1, 1, 30, 100};
    const int    only[]  = {-1, 6, 1, 0};
    for (int i = 0; i < 80; ++i) {
        const recipe how = {
            .stiffness = -1, .loose = i % 3 == 0, .only = only[i / 4 % 4], .floating = i % 5 == 0};
        compare_flight(&r, &how, speed[i % 4], 1e-12);
    }
}

// ---- Sharing between threads
// -----------------------------------------------------------------------

/// All that a step asks for.
typedef struct answer {
    double *u, *mu, *u2, *mu2, *q1, *u1, *C, *z;
    double  error, rate;
    int     worst, fastest;
} answer;

static answer answer_of(rig* g, test_random* r)
{
    const tn_model* model = g->m->model;
    tn_why          why   = {0};
    answer          a     = {.u   = numbers(r, model->u_count, 0),
                             .mu  = numbers(r, model->row_count, 0),
                             .u2  = numbers(r, model->u_count, 0),
                             .mu2 = numbers(r, model->row_count, 0),
                             .q1  = numbers(r, model->q_count, 0),
                             .u1  = numbers(r, model->u_count, 0),
                             .C   = numbers(r, model->row_count, 0),
                             .z   = numbers(r, model->coordinate_count, 0)};
    CHECK_OK(tni_tree_form_begin(g->ns, &g->start, &g->scheme, a.u, a.mu, &why));
    CHECK_OK(tni_tree_form_correct(g->ns, g->b, g->r, a.u2, a.mu2, &why));
    a.error = tni_tree_form_fly(g->ns, &g->start, &g->scheme, a.u, a.q1, a.u1, a.C, &a.worst);
    const tni_configuration at = {g->scheme.time, a.q1, a.u1, a.z};
    a.rate                     = tni_tree_form_measure(g->ns, &at, a.z, &a.fastest);
    return a;
}

static bool same(const double* a, const double* b, int count)
{
    return memcmp(a, b, sizeof(double) * (size_t)count) == 0;
}

static void answer_free(answer* a)
{
    free(a->u), free(a->mu), free(a->u2), free(a->mu2);
    free(a->q1), free(a->u1), free(a->C), free(a->z);
}

TEST(sharing_between_threads_changes_no_bit)
{
    test_random r = {31};
    for (int i = 0; i < 8; ++i) {
        const recipe    how   = {.stiffness = i % 2 ? 100 : -1,
                                 .limits    = i % 3 == 0,
                                 .forces    = i % 4 == 1,
                                 .floating  = i % 4 == 2,
                                 .one       = i > 3,
                                 .only      = i % 4 == 3 ? 6 : -1};
        rig             g     = rig_make(&r, &how, 1500);
        const tn_model* model = g.m->model;
        CHECK(tni_tree_form_shared_parts(g.ns) > (how.one ? 0 : 3));
        answer one = answer_of(&g, &r);
        tni_tree_form_do_not_share(g.ns);
        answer two = answer_of(&g, &r);
        CHECK(same(one.u, two.u, model->u_count) && same(one.mu, two.mu, model->row_count));
        CHECK(same(one.u2, two.u2, model->u_count) && same(one.mu2, two.mu2, model->row_count));
        CHECK(same(one.q1, two.q1, model->q_count) && same(one.u1, two.u1, model->u_count));
        CHECK(same(one.C, two.C, model->row_count) && same(one.z, two.z, model->coordinate_count));
        CHECK(one.error == two.error && one.worst == two.worst);
        CHECK(one.rate == two.rate && one.fastest == two.fastest);
        answer_free(&one);
        answer_free(&two);
        rig_free(&g);
    }
}

// ---- Supported models
// ------------------------------------------------------------------------------

static void add_spring(random_mechanism* m, uint32_t body1, uint32_t body2)
{
    tn_spring_def spring = tn_default_spring_def();
    spring.body1.bits = body1, spring.body2.bits = body2, spring.stiffness = 1;
    spring.anchor2 = tni_vec3(1, 0, 0);
    (void)tn_scene_add_spring(m->scene, &spring);
}

// what: 0 a tree, 1 a loop, 2 a planar body, 3 a spring between bodies, 4 a spring to the ground.
static const char* refused(test_random* r, int what)
{
    random_mechanism* m    = random_mechanism_make();
    const char*       why  = NULL;
    const random_kind kind = what == 2 ? RANDOM_PLANAR : RANDOM_RIGID;
    const tn_body_id  a    = random_add_body(m, r, RANDOM_RIGID, tni_vec3(0, 0, 0), false),
                     b     = random_add_body(m, r, kind, tni_vec3(1, 0, 0), false);
    for (int i = 0; i < (what == 1 ? 2 : 1); ++i) {
        const tn_joint_def def = random_joint(m, r, random_joint_types[6], a, b);
        (void)tn_scene_add_joint(m->scene, &def);
    }
    if (what >= 3) add_spring(m, what == 3 ? a.bits : 0, b.bits);
    random_mechanism_build(m);
    CHECK(tni_tree_form_supports(m->model, &why) == (why == NULL));
    random_mechanism_free(m);
    return why != NULL ? why : "";
}

TEST(serves)
{
    test_random r = {15};
    CHECK_TEXT(refused(&r, 0), "");
    CHECK_TEXT(refused(&r, 1), "joints close loops");
    CHECK_TEXT(refused(&r, 2), "there are bodies that are not rigid");
    CHECK_TEXT(refused(&r, 3), "there are springs between bodies");
    CHECK_TEXT(refused(&r, 4), "");
}
