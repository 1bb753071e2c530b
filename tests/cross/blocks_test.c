// cross: the forms `blocks` and `exact` against a dense system, on random forests of bodies of all
// kinds with springs, and against the form `rows`.
//
// For `exact`, dF/dq and dF/du come from the derivatives of the forces one by one, and from
// differences of the forces.
#include "support/dense_stiff.h"

#include "system/blocks.h"
#include "system/compliant.h"

#ifdef TENON_TEST_LIGHT
enum { SEEDS = 15 };
#else
enum { SEEDS = 60 };
#endif

// ---- Random forests ------------------------------------------------------

static void add_spring(random_mechanism* m, test_random* r, tn_body_id a, tn_body_id b, double k)
{
    tn_spring_def spring = tn_default_spring_def();
    spring.body1 = a, spring.body2 = b;
    spring.anchor1 = random_vec3(r, 0.5), spring.anchor2 = random_vec3(r, 0.5);
    spring.stiffness = k, spring.damping = 1, spring.length = 0.5;
    (void)tn_scene_add_spring(m->scene, &spring);
}

static void add_forces(random_mechanism* m, test_random* r, tn_body_id body, double k)
{
    const random_kind kind   = m->kinds[body.bits];
    const bool        torque = kind == RANDOM_RIGID || kind == RANDOM_PLANAR;
    tn_load_def       load   = tn_default_load_def();
    load.body = body, load.force = random_vec3(r, 5);
    (void)tn_scene_add_load(m->scene, &load);
    tn_drag_def drag = tn_default_drag_def();
    drag.body = body, drag.linear = 0.5, drag.quadratic = 0.2, drag.angular = torque ? 0.1 : 0;
    (void)tn_scene_add_drag(m->scene, &drag);
    tn_key        keys[2] = {{0, {random_vec3(r, 2), random_quat(r)}},
                             {1, {random_vec3(r, 2), random_quat(r)}}};
    tn_target_def target  = tn_default_target_def();
    target.body = body, target.keys = keys, target.key_count = 2;
    target.stiffness = k, target.damping = 0.5;
    if (torque) target.angular_stiffness = 1, target.angular_damping = 0.1;
    (void)tn_scene_add_target(m->scene, &target);
}

// Trees on the ground, on kinematic bodies, or floating; springs in their joints, parallel to them,
// and between a floating tree and the one before it. derived: only kinds of bodies with
// derivatives.
static random_mechanism* forest(test_random* r, int bodies, double k, bool derived)
{
    random_mechanism* m                        = random_mechanism_make();
    bool              loose[RANDOM_BODIES_MAX] = {false};
    tn_scene_set_gravity(m->scene, random_vec3(r, 10));
    const tn_body_id fixed[3] = {random_add_body(m, r, RANDOM_STATIC, random_vec3(r, 1), true),
                                 random_add_body(m, r, RANDOM_KINEMATIC, random_vec3(r, 1), true),
                                 {0}};
    for (int i = 0; i < bodies; ++i) {
        const int        first = 3, count = m->body_count;
        const bool       hangs = count > first && test_random_unit(r) < 0.85;
        const int        near  = test_random_int(r, first > count - 4 ? first : count - 4,
                                         count > first ? count - 1 : first);
        const tn_body_id parent =
            hangs ? (tn_body_id){(uint32_t)near} : fixed[test_random_int(r, 0, 2)];
        const tn_vec3 place =
            tni_add(m->poses[hangs ? near : 0].position, tni_scale(0.8, random_direction(r)));
        random_kind kind = random_movable_kind(r);
        while (derived && (kind == RANDOM_USER_POINT || kind == RANDOM_USER_SCALED))
            kind = random_movable_kind(r);
        const tn_body_id child = random_add_body(m, r, kind, place, false);
        loose[child.bits]      = kind == RANDOM_RIGID;
        if (!hangs && test_random_unit(r) < 0.6) {
            if (count > first) add_spring(m, r, (tn_body_id){(uint32_t)count - 1}, child, k);
            continue;
        }
        random_hang(m, r, parent, child, loose);
        if (test_random_unit(r) < 0.4) add_spring(m, r, parent, child, k);
        if (test_random_unit(r) < 0.1) add_spring(m, r, child, parent, k);
        if (test_random_unit(r) < 0.3) add_forces(m, r, child, k);
    }
    random_mechanism_build(m);
    random_disturb(m, r, 0.1, 1);
    return m;
}

// ---- A step, and the dense system of it ----------------------------------

typedef struct bench {
    random_mechanism*     m;
    const tn_model*       model;
    tni_arena             arena;
    tni_system*           system;
    tni_implicit_contacts touching;
    tni_block_form*       form;
    tni_step_start        start;
    tni_step_scheme       scheme;
    dense_stiff           dense;
    double *              u, *mu, *momentum, *drift, *multipliers, *predicted;
    tn_why                why;
} bench;

static double* numbers(bench* b, test_random* r, int count, double size)
{
    double* x = TNI_TAKE(&b->arena, double, count);
    random_numbers(r, x, count, size);
    return x;
}

// Everything that a step may start from, on odd seeds.
static bench* bench_make(random_mechanism* m, test_random* r, bool whole)
{
    bench*            b        = calloc(1, sizeof *b);
    const tn_host     host     = tn_default_host();
    const tn_settings settings = tn_default_settings();
    const tn_model*   model    = m->model;
    b->m = m, b->model = model;
    b->arena = tni_arena_make(&host);
    CHECK_OK(tni_system_create(&b->arena, model, TN_LOOPS_CORE, NULL, &b->system));
    CHECK_OK(tni_implicit_contacts_create(model, &settings.implicit, &b->touching));
    b->u               = TNI_TAKE(&b->arena, double, model->u_count);
    b->mu              = TNI_TAKE(&b->arena, double, model->row_count);
    b->momentum        = numbers(b, r, model->u_count, 1);
    b->drift           = numbers(b, r, model->u_count, 0.3);
    b->predicted       = numbers(b, r, model->u_count, 1);
    b->multipliers     = numbers(b, r, model->row_count, 20);
    b->scheme          = (tni_step_scheme){1.0 / 60, 1, NULL, m->state->time + 1.0 / 60};
    b->start.at        = (tni_configuration){m->state->time, m->state->q, m->state->u, m->state->z};
    b->start.predicted = b->predicted;
    if (!whole) return b;
    b->start.momentum     = b->momentum;
    b->start.multipliers  = b->multipliers;
    b->start.second_order = true;
    b->scheme.share       = 2.0 / 3;
    b->scheme.drift       = b->drift;
    return b;
}

static void bench_free(bench* b)
{
    dense_stiff_free(&b->dense);
    tni_implicit_contacts_free(&b->touching);
    tni_system_free(b->system);
    tni_arena_free(&b->arena);
    random_mechanism_free(b->m);
    free(b);
}

// Into the matrix and b: what derivatives K = -dF/dq and D = -dF/du of one pair do.
static void put_derivative(void* user, int row_body, int col_body, const double* K, const double* D)
{
    bench*          b   = user;
    const tni_body *row = &b->model->bodies[row_body], *col = &b->model->bodies[col_body];
    const double    e = dense_stiff_reach(&b->dense), h = b->scheme.h;
    for (int k = 0; row->node >= 0 && col->node >= 0 && k < row->dim * col->dim; ++k) {
        const int i = row->u_start + k / col->dim, j = col->u_start + k % col->dim;
        *dense_stiff_at(&b->dense, i, j) += e * D[k] + e * e * K[k];
        b->dense.rhs[i] += e * D[k] * b->start.at.u[j];
        if (b->scheme.drift != NULL) b->dense.rhs[i] -= e * h * K[k] * b->drift[j];
    }
}

// Evaluated with prescribed motion at the end of the step.
static void forces_at(bench* b, const double* q, const double* u, double* f)
{
    tni_views(b->model, b->scheme.time, q, u, b->dense.views);
    const tni_scene_view ending = dense_stiff_scene(&b->dense, b->scheme.time);
    tni_forces(&ending, f);
}

// The same by differences of the forces, over all bodies at once.
static void put_differences(bench* b)
{
    const int    n = b->model->u_count;
    const double e = dense_stiff_reach(&b->dense), d = 1e-6;
    double *q = TNI_TAKE(&b->arena, double, b->model->q_count), *u = TNI_TAKE(&b->arena, double, n),
           *step = TNI_TAKE(&b->arena, double, n),
           *f[2] = {TNI_TAKE(&b->arena, double, n), TNI_TAKE(&b->arena, double, n)};
    for (int j = 0; j < 2 * n; ++j) {
        const bool moves = j < n;
        const int  col   = j % n;
        for (int side = 0; side < 2; ++side) {
            memcpy(u, b->start.at.u, sizeof *u * (size_t)n);
            step[col] = moves ? (side == 0 ? d : -d) : 0;
            tni_advance(b->model, b->start.at.q, step, q);
            if (!moves) u[col] += side == 0 ? d : -d;
            forces_at(b, q, u, f[side]);
        }
        step[col] = 0;
        for (int i = 0; i < n; ++i) {
            const double rate = (f[1][i] - f[0][i]) / (2 * d); // -dF
            *dense_stiff_at(&b->dense, i, col) += (moves ? e * e : e) * rate;
            if (!moves) b->dense.rhs[i] += e * rate * b->start.at.u[col];
            else if (b->scheme.drift != NULL)
                b->dense.rhs[i] -= e * b->scheme.h * rate * b->drift[col];
        }
    }
}

typedef enum reference { SOFT, DERIVED, DIFFERENCES } reference;

static void dense_make(bench* b, reference kind)
{
    double* f = TNI_TAKE(&b->arena, double, b->model->u_count);
    b->dense  = dense_stiff_make(b->model, &b->start, &b->scheme);
    if (kind == SOFT) {
        dense_stiff_soften(&b->dense);
    } else {
        forces_at(b, b->start.at.q, b->start.at.u, f);
        dense_stiff_put_forces(&b->dense, f);
        const tni_scene_view ending = dense_stiff_scene(&b->dense, b->scheme.time);
        if (kind == DERIVED) tni_derive(&ending, put_derivative, b);
        else put_differences(b);
    }
    dense_stiff_factor(&b->dense);
}

// ---- Agreement ------------------------------------------------------------

// Sometimes no body can eliminate all rows of a joint: then the model is no tree to other solvers
// either.
static bool create(bench* b, tn_implicit_form form)
{
    const tni_plan* plan  = b->model->core.plan;
    bool            trees = true;
    for (int c = 0; c < plan->component_count; ++c) trees = trees && plan->tree[c];
    const tn_result result =
        tni_blocks_create(&b->arena, b->system, form, &b->touching, &b->form, &b->why);
    CHECK_INT(result, trees ? TN_OK : TN_ERR_UNSUPPORTED);
    return result == TN_OK;
}

static void check_step(uint64_t seed, tn_implicit_form form, reference kind, double k,
                       double tolerance)
{
    test_random       r = {seed};
    random_mechanism* m = forest(&r, test_random_int(&r, 2, 14), k, form == TN_IMPLICIT_EXACT);
    bench*            b = bench_make(m, &r, seed % 2 == 1);
    if (!create(b, form)) {
        bench_free(b);
        return;
    }
    const tni_step_scheme other = {0.1, 1, NULL, b->scheme.time}; // leaves nothing behind
    CHECK_OK(tni_blocks_factor(b->form, &b->start, &other, &b->why));
    CHECK_OK(tni_blocks_factor(b->form, &b->start, &b->scheme, &b->why));
    CHECK_OK(tni_blocks_solve(b->form, true, NULL, NULL, b->u, b->mu, &b->why));
    dense_make(b, kind);
    dense_stiff_solve(&b->dense);
    CHECK_LESS(dense_stiff_off(&b->dense, b->u, b->mu), tolerance);
    for (int given = 0; given < 2; ++given) { // corrections re-use the factor
        const double *push = numbers(b, &r, b->model->u_count, 1),
                     *rows = numbers(b, &r, b->model->row_count, 1);
        if (given == 0) push = NULL;
        CHECK_OK(tni_blocks_solve(b->form, false, push, rows, b->u, b->mu, &b->why));
        dense_stiff_correct(&b->dense, push, rows);
        CHECK_LESS(dense_stiff_off(&b->dense, b->u, b->mu), tolerance);
    }
    bench_free(b);
}

TEST(blocks_agree_with_dense)
{
    for (uint64_t seed = 1; seed <= SEEDS; ++seed)
        check_step(seed, TN_IMPLICIT_BLOCKS, SOFT, seed % 3 == 0 ? 1e4 : 10, 1e-10);
}

TEST(exact_agrees_with_dense)
{
    for (uint64_t seed = 1; seed <= SEEDS; ++seed)
        check_step(seed, TN_IMPLICIT_EXACT, DERIVED, seed % 3 == 0 ? 1e4 : 10, 1e-10);
}

// Central differences of forces of size 10 over 1e-6 are good to 1e-8 or so.
TEST(exact_agrees_with_differences_of_the_forces)
{
    for (uint64_t seed = 1; seed <= SEEDS / 3; ++seed)
        check_step(seed, TN_IMPLICIT_EXACT, DIFFERENCES, 10, 1e-7);
}

// The same answer in two ways: compliant rows and blocks.
static double off_from_rows(bench* b)
{
    tni_compliant* rows = NULL;
    double *       u    = numbers(b, &(test_random){1}, b->model->u_count, 1),
           *mu          = numbers(b, &(test_random){1}, b->model->row_count, 1);
    CHECK_OK(tni_compliant_create(&b->arena, b->system, &b->touching, &rows));
    CHECK_OK(tni_compliant_factor(rows, &b->start, &b->scheme, &b->why));
    CHECK_OK(tni_compliant_solve(rows, true, NULL, NULL, u, mu, &b->why));
    return fmax(dense_stiff_difference(b->u, u, b->model->u_count),
                dense_stiff_difference(b->mu, mu, b->model->row_count));
}

TEST(blocks_agree_with_rows)
{
    for (uint64_t seed = 1; seed <= SEEDS; ++seed) {
        test_random       r = {seed};
        random_mechanism* m = forest(&r, test_random_int(&r, 2, 14), 1e3, false);
        bench*            b = bench_make(m, &r, seed % 2 == 1);
        if (create(b, TN_IMPLICIT_BLOCKS)) {
            CHECK_OK(tni_blocks_factor(b->form, &b->start, &b->scheme, &b->why));
            CHECK_OK(tni_blocks_solve(b->form, true, NULL, NULL, b->u, b->mu, &b->why));
            CHECK_LESS(off_from_rows(b), 1e-9);
        }
        bench_free(b);
    }
}

static tn_body_id add_ball(random_mechanism* m, tn_vec3 at)
{
    tn_body_def  def   = tn_default_body_def();
    tn_shape_def shape = tn_default_shape_def(TN_SHAPE_SPHERE);
    shape.radius       = 0.1;
    def.mass           = 1;
    def.pose.position  = at;
    def.shapes = &shape, def.shape_count = 1;
    for (int i = 0; i < 6; ++i) def.inertia[i] = i < 3 ? 0.01 : 0;
    def.com                   = (tn_vec3){0, 0, 0};
    m->kinds[m->body_count]   = RANDOM_RIGID;
    m->poses[m->body_count++] = def.pose;
    return tn_scene_add_body(m->scene, &def);
}

// Balls in contact have no block between them: they are solved by Woodbury's identity, as in rows.
TEST(contacts_agree_with_rows)
{
    test_random       r = {6};
    random_mechanism* m = random_mechanism_make();
    const tn_body_id  a = add_ball(m, (tn_vec3){0, 0, 0}), b = add_ball(m, (tn_vec3){0.4, 0, 0}),
                     c = add_ball(m, (tn_vec3){0.58, 0.05, 0});
    tn_joint_def def   = tn_default_joint_def(TN_JOINT_BALL);
    def.body1 = a, def.body2 = b, def.anchor = (tn_vec3){0.2, 0, 0}, def.stiffness = 50;
    (void)tn_scene_add_joint(m->scene, &def);
    random_mechanism_build(m);
    bench* s           = bench_make(m, &r, false);
    s->start.predicted = s->start.at.u;
    for (int form = TN_IMPLICIT_BLOCKS; form <= TN_IMPLICIT_EXACT; ++form) {
        CHECK_OK(tni_blocks_create(&s->arena, s->system, (tn_implicit_form)form, &s->touching,
                                   &s->form, &s->why));
        CHECK_OK(tni_blocks_factor(s->form, &s->start, &s->scheme, &s->why));
        CHECK_OK(tni_blocks_solve(s->form, true, NULL, NULL, s->u, s->mu, &s->why));
        CHECK(s->touching.woodbury.row_count > 0);
        CHECK(s->u[m->model->bodies[c.bits].u_start] > 0.01); // pushed away
        CHECK_LESS(off_from_rows(s),
                   1e-10); // at rest and unbent, exact derivatives are the soft ones
    }
    bench_free(s);
}

// A wheel on a hinge with a spring and a damper, turned by phi out of its rest: backward Euler is
// w1 = (w0 - h k phi / I) / (1 + h^2 k / I + h d / I).
TEST(a_wheel_takes_the_step_of_backward_euler)
{
    const double h = 1.0 / 60, k = 300, d = 2, phi = 0.4, w0 = 1.5, I = 0.01;
    for (int form = TN_IMPLICIT_BLOCKS; form <= TN_IMPLICIT_EXACT; ++form) {
        test_random       r    = {7};
        random_mechanism* m    = random_mechanism_make();
        const tn_body_id  body = add_ball(m, (tn_vec3){1, 0, 0});
        tn_joint_def      def  = tn_default_joint_def(TN_JOINT_HINGE);
        def.body2 = body, def.anchor = (tn_vec3){1, 0, 0}, def.axis = (tn_vec3){0, 0, 1};
        def.stiffness = k, def.damping = d, def.rest[0] = -phi;
        (void)tn_scene_add_joint(m->scene, &def);
        random_mechanism_build(m);
        const int wz    = m->model->bodies[body.bits].u_start + 5;
        m->state->u[wz] = w0;
        bench* b        = bench_make(m, &r, false);
        CHECK_OK(tni_blocks_create(&b->arena, b->system, (tn_implicit_form)form, &b->touching,
                                   &b->form, &b->why));
        CHECK_OK(tni_blocks_factor(b->form, &b->start, &b->scheme, &b->why));
        CHECK_OK(tni_blocks_solve(b->form, true, NULL, NULL, b->u, b->mu, &b->why));
        CHECK_NEAR(b->u[wz], (w0 - h * k / I * phi) / (1 + h * h * k / I + h * d / I), 1e-12);
        bench_free(b);
    }
}

// ---- What is refused ------------------------------------------------------

static tn_result create_on(random_mechanism* m, test_random* r, tn_why* why)
{
    random_mechanism_build(m);
    bench*          b      = bench_make(m, r, false);
    const tn_result result = tni_blocks_create(&b->arena, b->system, TN_IMPLICIT_BLOCKS,
                                               &b->touching, &b->form, &b->why);
    *why                   = b->why;
    bench_free(b);
    return result;
}

// A chain of balls joined to the ground, its bodies being 1, 2, ...
static random_mechanism* chain(test_random* r, int count)
{
    static const random_joint_type ball = {.type = TN_JOINT_BALL};
    random_mechanism*              m    = random_mechanism_make();
    tn_body_id                     last = {0};
    for (int i = 0; i < count; ++i) {
        const tn_body_id body =
            random_add_body(m, r, RANDOM_RIGID, (tn_vec3){0.5 * i, 0, 0}, false);
        const tn_joint_def def = random_joint(m, r, ball, last, body);
        (void)tn_scene_add_joint(m->scene, &def);
        last = body;
    }
    return m;
}

TEST(springs_that_close_loops_are_refused_by_name)
{
    test_random       r   = {1};
    tn_why            why = {.text = ""};
    random_mechanism* m   = chain(&r, 4);
    add_spring(m, &r, (tn_body_id){2}, (tn_body_id){3}, 10);
    add_spring(m, &r, (tn_body_id){1}, (tn_body_id){0}, 10);
    add_spring(m, &r, (tn_body_id){1}, (tn_body_id){3}, 10); // over a body
    CHECK_INT(create_on(m, &r, &why), TN_ERR_UNSUPPORTED);
    CHECK(strstr(why.text, "spring 2") != NULL);
}

TEST(springs_between_trees_on_the_ground_are_refused)
{
    test_random        r    = {2};
    tn_why             why  = {.text = ""};
    random_mechanism*  m    = chain(&r, 3);
    const tn_body_id   body = random_add_body(m, &r, RANDOM_RIGID, (tn_vec3){0, 1, 0}, false);
    const tn_joint_def def =
        random_joint(m, &r, (random_joint_type){.type = TN_JOINT_BALL}, (tn_body_id){0}, body);
    (void)tn_scene_add_joint(m->scene, &def);
    add_spring(m, &r, (tn_body_id){2}, body, 10);
    CHECK_INT(create_on(m, &r, &why), TN_ERR_UNSUPPORTED);
    CHECK(strstr(why.text, "spring 0") != NULL);
}

TEST(loops_of_joints_are_refused)
{
    test_random        r   = {3};
    tn_why             why = {.text = ""};
    random_mechanism*  m   = chain(&r, 3);
    const tn_joint_def def = random_joint(m, &r, (random_joint_type){.type = TN_JOINT_BALL},
                                          (tn_body_id){0}, (tn_body_id){3});
    (void)tn_scene_add_joint(m->scene, &def);
    CHECK_INT(create_on(m, &r, &why), TN_ERR_UNSUPPORTED);
    CHECK(strstr(why.text, "loops") != NULL);
}

TEST(hard_limits_are_refused)
{
    test_random       r    = {4};
    tn_why            why  = {.text = ""};
    random_mechanism* m    = random_mechanism_make();
    const tn_body_id  body = random_add_body(m, &r, RANDOM_RIGID, (tn_vec3){0, 1, 0}, false);
    tn_joint_def      def =
        random_joint(m, &r, (random_joint_type){.type = TN_JOINT_HINGE}, (tn_body_id){0}, body);
    def.limit.given = def.limit.hard = true;
    def.limit.lower = -1, def.limit.upper = 1;
    (void)tn_scene_add_joint(m->scene, &def);
    CHECK_INT(create_on(m, &r, &why), TN_ERR_UNSUPPORTED);
    CHECK(strstr(why.text, "limits") != NULL);
}

// ---- Cost -----------------------------------------------------------------

static void chain_flops(int links, double* factor, double* solve)
{
    test_random       r = {5};
    random_mechanism* m = chain(&r, links);
    for (int i = 1; i < links; ++i)
        add_spring(m, &r, (tn_body_id){(uint32_t)i}, (tn_body_id){(uint32_t)i + 1}, 10);
    random_mechanism_build(m);
    bench* b = bench_make(m, &r, false);
    CHECK_OK(tni_blocks_create(&b->arena, b->system, TN_IMPLICIT_BLOCKS, &b->touching, &b->form,
                               &b->why));
    tni_blocks_flops(b->form, factor, solve);
    bench_free(b);
}

// 1143 and 378 by the design's count, which leaves out six sums with zero.
TEST(a_link_of_a_chain_costs_what_the_design_says)
{
    double factor[2], solve[2];
    for (int i = 0; i < 2; ++i) chain_flops(20 + i, &factor[i], &solve[i]);
    CHECK_NEAR(factor[1] - factor[0], 1149, 1e-9);
    CHECK_NEAR(solve[1] - solve[0], 378, 1e-9);
}
