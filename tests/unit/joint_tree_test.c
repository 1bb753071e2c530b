// limbs: every kind of joint both ways round, against the rows, coordinates and forces of src/joint and
// src/force, and against differences of its own motion; trees and what is refused.
#include "adaptive/joint_tree.h"

#include "force/joint_force.h"
#include "support/failing_host.h"
#include "support/random_scene.h"

enum { NUMBERS = 512, CASES = 4 };

static const double step = 1e-3; // of differences of fourth order: errors of 1e-12 and of rounding

// ---- Mechanisms ---------------------------------------------------------------------------------

typedef struct setup {
    random_mechanism* m;
    tni_arena         arena;
    tni_joint_trees*  limbs;
    double            q[NUMBERS], v[NUMBERS];           // of limbs
    double            body_q[NUMBERS], body_u[NUMBERS]; // of bodies
    tni_view          views[RANDOM_BODIES_MAX];
} setup;

static void setup_build(setup* s)
{
    tn_why why = {0};
    random_mechanism_build(s->m);
    s->arena = tni_arena_make(&s->m->model->arena.host);
    if (tni_joint_trees_create(&s->arena, s->m->model, &s->limbs, &why) != TN_OK) {
        fprintf(stderr, "limbs: %s\n", why.text);
        abort();
    }
    memcpy(s->body_q, s->m->state->q, sizeof(double) * (size_t)s->m->model->q_count);
    memcpy(s->body_u, s->m->state->u, sizeof(double) * (size_t)s->m->model->u_count);
    tni_joint_trees_read(s->limbs, s->body_q, s->body_u, s->q, s->v);
}

static void setup_free(setup* s)
{
    tni_arena_free(&s->arena);
    random_mechanism_free(s->m);
}

// Bodies where the limbs say; z follows.
static void setup_write(setup* s)
{
    tni_joint_trees_write(s->limbs, s->q, s->v, s->body_q, s->body_u);
    tni_views(s->m->model, 0, s->body_q, s->body_u, s->views);
    tni_follow_coordinates(s->m->model, s->views, s->m->state->z);
}

static void setup_wander(setup* s, test_random* r, int steps, double size)
{
    for (int n = 0; n < steps; ++n) {
        random_numbers(r, s->v, s->limbs->v_count, size);
        for (int i = 0; i < s->limbs->count; ++i) {
            const tni_tree_link* limb = &s->limbs->limbs[i];
            tni_tree_link_advance(limb, 1, s->v + limb->v, s->q + limb->q);
        }
    }
    random_numbers(r, s->v, s->limbs->v_count, 1);
    setup_write(s);
}

// Two bodies in one joint. way 0, 1: from the ground, body 2 or body 1 being the limb; 2, 3: from another
// body, which floats; 4, 5: from a static body.
static setup* pair_make(test_random* r, tn_joint_type type, int way, const tn_joint_def* with)
{
    setup* s                  = calloc(1, sizeof *s);
    s->m                      = random_mechanism_make();
    const random_joint_type t = {type, 0};
    const random_kind first   = way < 2 ? RANDOM_GROUND : way < 4 ? RANDOM_RIGID : RANDOM_STATIC;
    const tn_body_id  a       = random_add_body(s->m, r, first, tni_vec3(-0.5, 0, 0), false);
    const tn_body_id  b       = random_add_body(s->m, r, RANDOM_RIGID, tni_vec3(0.5, 0, 0), false);
    tn_joint_def      def =
        way % 2 == 0 ? random_joint(s->m, r, t, a, b) : random_joint(s->m, r, t, b, a);
    if (with != NULL) {
        def.stiffness = with->stiffness, def.damping = with->damping, def.limit = with->limit;
        def.friction = with->friction, def.friction_speed = 0.1;
        memcpy(def.rest, with->rest, sizeof def.rest);
        memcpy(def.force, with->force, sizeof def.force);
    }
    (void)tn_scene_add_joint(s->m->scene, &def);
    setup_build(s);
    CHECK(s->limbs->limbs[s->limbs->count - 1].reversed == (way % 2 == 1));
    return s;
}

typedef void visit(setup* s, test_random* r, const char* word);

static void each_pair(uint64_t seed, visit* check)
{
    test_random r = {seed};
    for (int t = 0; t <= TN_JOINT_DISTANCE; ++t) {
        for (int k = 0; k < 6 * CASES; ++k) {
            setup* s = pair_make(&r, (tn_joint_type)t, k % 6, NULL);
            setup_wander(s, &r, k < 6 ? 0 : 3, 1);
            check(s, &r, s->m->model->joints[0].type->word);
            setup_free(s);
            free(s);
        }
    }
}

static const tni_tree_link* last_limb(const setup* s)
{
    return &s->limbs->limbs[s->limbs->count - 1];
}

static void near(double a, double b, double tolerance, const char* word, const char* what, int line)
{
    test_check(fabs(a - b) <= tolerance, __FILE__, line, "%s: %s is %.17g, wanted %.17g +- %.2g",
               word, what, a, b, tolerance);
}
#define NEAR(a, b, tolerance, what) near(a, b, tolerance, word, what, __LINE__)
static void near_six(tni_six a, tni_six b, double tolerance, const char* word, const char* what,
                     int line)
{
    double x[6], y[6];
    tni_six_write(x, a);
    tni_six_write(y, b);
    for (int k = 0; k < 6; ++k) near(x[k], y[k], tolerance, word, what, line);
}
#define NEAR_SIX(a, b, tolerance, what) near_six(a, b, tolerance, word, what, __LINE__)

// ---- Motion -------------------------------------------------------------------------------------

static double body_span(const setup* s)
{
    double most = 1;
    for (int i = 0; i < s->m->model->q_count; ++i) most = fmax(most, fabs(s->body_q[i]));
    return most;
}

static void check_rows(setup* s, test_random* r, const char* word)
{
    (void)r;
    const tn_model* model = s->m->model;
    const double    size  = body_span(s);
    tni_row         rows[TNI_JOINT_ROWS_MAX];
    for (int j = 0; j < model->joint_count; ++j) {
        const tni_joint* joint = &model->joints[j];
        const int        n =
            tni_joint_rows(model, joint, tni_sides_of(joint, s->views), 0, s->m->state->z, rows);
        for (int i = 0; i < n; ++i) {
            NEAR(rows[i].C, 0, 1e-14 * size, "joint error");
            NEAR(rows[i].rate, 0, 3e-14 * size, "joint velocity error");
        }
    }
}

// Rows and freedoms together are six, and the columns are independent.
static void check_count(setup* s, test_random* r, const char* word)
{
    (void)r;
    const tni_tree_link* limb = last_limb(s);
    tni_six              S[TNI_TREE_LINK_FREEDOMS];
    double               G[6][6];
    CHECK_INT(limb->freedoms + s->m->model->constraints[0].row_count, 6);
    tni_tree_link_place(limb, s->q + limb->q, NULL, S);
    for (int i = 0; i < limb->freedoms; ++i)
        for (int k = 0; k < limb->freedoms; ++k) G[i][k] = tni_six_dot(S[i], S[k]);
    for (int i = 0; i < limb->freedoms; ++i) { // Gauss
        test_check(G[i][i] > 0.05, __FILE__, __LINE__, "%s: column %d depends on others", word, i);
        for (int k = i + 1; k < limb->freedoms; ++k)
            for (int l = limb->freedoms - 1; l >= i; --l) G[k][l] -= G[k][i] / G[i][i] * G[i][l];
    }
}

TEST(limbs_stay_in_their_joints_at_every_velocity)
{
    each_pair(1, check_rows);
}

TEST(columns_are_all_that_the_joint_leaves)
{
    each_pair(2, check_count);
}

// X and S v, moved on by t.
static void moved(const setup* s, double t, tni_shift* X, tni_six* motion)
{
    const tni_tree_link* limb = last_limb(s);
    double               q[TNI_TREE_LINK_NUMBERS];
    tni_six              S[TNI_TREE_LINK_FREEDOMS];
    memcpy(q, s->q + limb->q, sizeof q);
    tni_tree_link_advance(limb, t, s->v + limb->v, q);
    tni_tree_link_place(limb, q, X, S);
    *motion = tni_tree_link_motion(limb, S, s->v + limb->v);
}

static double slope(double a2, double a1, double b1, double b2)
{
    return (8 * (b1 - a1) - (b2 - a2)) / (12 * step);
}

static tn_vec3 slope3(const tn_vec3 a[4])
{
    return tni_vec3(slope(a[0].x, a[1].x, a[2].x, a[3].x), slope(a[0].y, a[1].y, a[2].y, a[3].y),
                    slope(a[0].z, a[1].z, a[2].z, a[3].z));
}

static void check_motion(setup* s, test_random* r, const char* word)
{
    (void)r;
    static const double  t[4] = {-2, -1, 1, 2};
    const tni_tree_link* limb = last_limb(s);
    tni_shift            X[4], here;
    tni_six              m[4], now;
    for (int i = 0; i < 4; ++i) moved(s, t[i] * step, &X[i], &m[i]);
    moved(s, 0, &here, &now);
    tni_mat3 rate;
    for (int k = 0; k < 9; ++k)
        rate.m[k] = slope(X[0].E.m[k], X[1].E.m[k], X[2].E.m[k], X[3].E.m[k]);
    const tni_mat3 Et = tni_transposed(&here.E), W = tni_mat_mul(&rate, &Et); // -[w]
    const tn_vec3  p[4]           = {X[0].r, X[1].r, X[2].r, X[3].r};
    const tni_six  by_differences = {tni_vec3(W.m[5], W.m[6], W.m[1]), tni_mul(&here.E, slope3(p))};
    NEAR_SIX(by_differences, now, 1e-10, "S v");

    const tn_vec3 w[4] = {m[0].w, m[1].w, m[2].w, m[3].w}, v[4] = {m[0].v, m[1].v, m[2].v, m[3].v};
    const tni_six bend = tni_tree_link_bend(limb, s->q + limb->q, s->v + limb->v);
    NEAR_SIX(((tni_six){slope3(w), slope3(v)}), bend, 1e-10, "rate of S, times v");
    if (limb->steady) CHECK(tni_six_dot(bend, bend) == 0);
}

TEST(moving_on_goes_the_way_of_the_columns)
{
    each_pair(3, check_motion);
}

static void check_exact(setup* s, test_random* r, const char* word)
{
    for (int i = 0; i < s->limbs->count; ++i) {
        const tni_tree_link* limb    = &s->limbs->limbs[i];
        const int            numbers = limb->kind == TNI_TREE_LINK_DISTANCE ? 11 : 7;
        const double         h       = test_random_between(r, -2, 2);
        double               once[TNI_TREE_LINK_NUMBERS], often[TNI_TREE_LINK_NUMBERS];
        memcpy(once, s->q + limb->q, sizeof(double) * (size_t)numbers);
        memcpy(often, once, sizeof(double) * (size_t)numbers);
        tni_tree_link_advance(limb, h, s->v + limb->v, once);
        for (int k = 0; k < 7; ++k) tni_tree_link_advance(limb, h / 7, s->v + limb->v, often);
        for (int k = 0; k < numbers; ++k)
            NEAR(often[k], once[k], 2e-14 * body_span(s), "seven small steps against a large one");
    }
}

TEST(one_step_is_as_good_as_many_at_constant_velocity)
{
    each_pair(4, check_exact);
}

TEST(joints_hold_for_ever) // rounding does not add up
{
    test_random r = {5};
    for (int t = 0; t <= TN_JOINT_DISTANCE; ++t) {
        for (int way = 0; way < 2; ++way) {
            setup* s = pair_make(&r, (tn_joint_type)t, way, NULL);
            setup_wander(s, &r, 2000, 0.1);
            check_rows(s, &r, s->m->model->joints[0].type->word);
            setup_free(s);
            free(s);
        }
    }
}

// After a million roundings what a joint holds is as good as after one.
TEST(what_is_held_does_not_drift)
{
    static const tn_joint_type types[] = {TN_JOINT_SCREW, TN_JOINT_UNIVERSAL, TN_JOINT_BALL};
    const double               two_pi  = 6.283185307179586;
    test_random                r       = {24};
    for (int n = 0; n < 6; ++n) {
        setup*               s    = pair_make(&r, types[n / 2], n % 2, NULL);
        const tni_tree_link* limb = last_limb(s);
        const double*        q    = s->q;
        for (int t = 0; t < 50000; ++t) {
            random_numbers(&r, s->v, limb->freedoms, 1);
            tni_tree_link_advance(limb, 0.1, s->v, s->q);
        }
        CHECK_NEAR(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3], 1, 1e-15);
        if (limb->kind == TNI_TREE_LINK_UNIVERSAL) // z1.x2/2
            CHECK_NEAR(q[1] * q[3] - (limb->reversed ? -1 : 1) * q[0] * q[2], 0, 2e-16);
        const double turns = (q[6] / limb->size - 2 * atan2(q[3], q[0])) / two_pi;
        if (limb->kind == TNI_TREE_LINK_SCREW)
            CHECK_NEAR(limb->size * two_pi * (turns - floor(turns + 0.5)), 0,
                       4e-16 * (1 + fabs(q[6])));
        setup_free(s);
        free(s);
    }
}

TEST(a_hinge_keeps_its_zeros_and_a_slider_its_axis)
{
    test_random r = {6};
    setup *a = pair_make(&r, TN_JOINT_HINGE, 0, NULL), *b = pair_make(&r, TN_JOINT_SLIDER, 1, NULL);
    setup_wander(a, &r, 100, 1);
    setup_wander(b, &r, 100, 1);
    for (int k = 1; k < 7; ++k) CHECK(k == 3 || a->q[k] == 0);
    CHECK(b->q[0] == 1);
    for (int k = 1; k < 6; ++k) CHECK(b->q[k] == 0);
    setup_free(a), setup_free(b);
    free(a), free(b);
}

// The second rates of the rows vanish: J udot + gamma = 0 for any v', with what tni_tree_link_bend says.
static void check_acceleration(setup* s, test_random* r, const char* word)
{
    const tni_tree_link* limb  = last_limb(s);
    const tn_model*      model = s->m->model;
    if (limb->parent >= 0) return; // the ground is at rest
    const tni_body* body = &model->bodies[limb->body];
    tni_shift       X;
    tni_six         S[TNI_TREE_LINK_FREEDOMS];
    double          push[TNI_TREE_LINK_FREEDOMS], J[6];
    random_numbers(r, push, limb->freedoms, 3);
    tni_tree_link_place(limb, s->q + limb->q, &X, S);
    const tni_six    v      = tni_tree_link_motion(limb, S, s->v + limb->v);
    const tni_six    a      = tni_six_add(tni_tree_link_motion(limb, S, push),
                                          tni_tree_link_bend(limb, s->q + limb->q, s->v + limb->v));
    const tn_vec3    c      = limb->com;
    const tn_vec3    com    = tni_add(tni_add(a.v, tni_cross(v.w, v.v)),
                                      tni_add(tni_cross(a.w, c), tni_cross(v.w, tni_cross(v.w, c))));
    const tn_vec3    linear = tni_mul_t(&X.E, com), angular = tni_mul_t(&X.E, a.w);
    const tni_joint* joint = &model->joints[0];
    tni_row          rows[TNI_JOINT_ROWS_MAX];
    const int        n =
        tni_joint_rows(model, joint, tni_sides_of(joint, s->views), 0, s->m->state->z, rows);
    for (int i = 0; i < n; ++i) {
        const int side = limb->reversed ? 0 : 1;
        tni_push_row(body, &s->views[limb->body], side == 0 ? joint->p1 : joint->p2,
                     side == 0 ? &joint->F1 : &joint->F2, &rows[i].push[side], J);
        NEAR(tni_dot(tni_read3(J), linear) + tni_dot(tni_read3(J + 3), angular) + rows[i].gamma, 0,
             2e-13 * body_span(s), "acceleration of a row");
    }
}

TEST(accelerations_keep_the_joint)
{
    each_pair(7, check_acceleration);
}

static void check_angle(setup* s, test_random* r, const char* word)
{
    (void)r;
    const tni_tree_link* limb  = last_limb(s);
    const tn_model*      model = s->m->model;
    for (int k = 0; k < model->joints[0].coordinate_count; ++k) {
        const tni_row row = tni_joint_coordinate(
            model, &model->joints[0], k, tni_sides_of(&model->joints[0], s->views), s->m->state->z);
        const bool first =
            k == 0 && limb->kind >= TNI_TREE_LINK_HINGE && limb->kind <= TNI_TREE_LINK_UNIVERSAL;
        if (first) NEAR(row.rate, s->v[limb->v], 1e-13, "first velocity");
        if (limb->angle >= 0 && model->joints[0].coordinate_start + k == limb->coordinate)
            NEAR(row.rate, limb->angle_sign * s->v[limb->v + limb->angle], 1e-13,
                 "rate of the angle");
    }
    const bool turns = limb->kind == TNI_TREE_LINK_HINGE || limb->kind == TNI_TREE_LINK_SCREW ||
                       limb->kind == TNI_TREE_LINK_CYLINDER ||
                       limb->kind == TNI_TREE_LINK_UNIVERSAL || limb->kind == TNI_TREE_LINK_PLANE;
    CHECK(turns == (limb->angle >= 0));
}

TEST(velocities_are_rates_of_the_scenes_coordinates)
{
    each_pair(8, check_angle);
}

// A body that is thrown: constant momentum in the world, by the midpoint rule, twice as good at half the step.
static double flight_error(double h)
{
    test_random r = {9};
    setup*      s = calloc(1, sizeof *s);
    s->m          = random_mechanism_make();
    (void)random_add_body(s->m, &r, RANDOM_RIGID, tni_vec3(0.3, 0.2, 0.1), false);
    setup_build(s);
    const tni_tree_link* limb = last_limb(s);
    double               M[36], w[6];
    tni_six              first = tni_six_zero(), last = first;
    CHECK(limb->kind == TNI_TREE_LINK_FREE && tni_rigid_inverse(&limb->inertia, M));
    random_numbers(&r, s->v, 6, 2);
    for (double t = 0; t < 1 + 0.5 * h; t += h) {
        tni_shift X;
        tni_six   f;
        tni_tree_link_place(limb, s->q, &X, NULL);
        last = tni_shift_force(&X, tni_rigid_times(&limb->inertia, tni_six_read(s->v)));
        if (t == 0) first = last;
        double half[6];
        memcpy(half, s->v, sizeof half);
        for (int stage = 0; stage < 2; ++stage) {
            const tni_six m = tni_six_read(stage == 0 ? s->v : half);
            f               = tni_cross_force(m, tni_rigid_times(&limb->inertia, m));
            tni_six_write(w, f);
            for (int k = 0; k < 6; ++k) {
                double sum = 0;
                for (int l = 0; l < 6; ++l) sum -= M[6 * k + l] * w[l];
                if (stage == 0) half[k] = s->v[k] + 0.5 * h * sum;
                else s->v[k] += h * sum;
            }
        }
        tni_tree_link_advance(limb, h, half, s->q);
    }
    const tni_six d = tni_six_sub(last, first);
    setup_free(s);
    free(s);
    return sqrt(tni_six_dot(d, d));
}

TEST(a_thrown_body_keeps_its_momentum)
{
    const double coarse = flight_error(1.0 / 128), fine = flight_error(1.0 / 256);
    CHECK_LESS(fine, 1e-3);
    CHECK_NEAR(log2(coarse / fine), 2, 0.2);
}

// ---- Trees --------------------------------------------------------------------------------------

static setup* random_tree(test_random* r, int count, bool flat)
{
    static const tn_joint_type in_plane[] = {TN_JOINT_HINGE, TN_JOINT_BALL, TN_JOINT_SLIDER,
                                             TN_JOINT_WELD};
    setup*                     s          = calloc(1, sizeof *s);
    s->m                                  = random_mechanism_make();
    for (int i = 0; i < count; ++i) {
        const tn_body_id body = random_add_body(s->m, r, flat ? RANDOM_PLANAR : RANDOM_RIGID,
                                                tni_vec3(0.7 * i, 0, 0), flat);
        const int        to   = test_random_int(r, 0, i);
        if (to == 0 && test_random_unit(r) < 0.5) continue; // floats
        random_joint_type t = {(tn_joint_type)test_random_int(r, 0, TN_JOINT_DISTANCE), 0};
        if (flat) t.type = in_plane[test_random_int(r, 0, 3)];
        const tn_body_id other = {(uint32_t)to};
        const bool       way   = test_random_unit(r) < 0.5;
        tn_joint_def     def =
            way ? random_joint(s->m, r, t, other, body) : random_joint(s->m, r, t, body, other);
        (void)tn_scene_add_joint(s->m->scene, &def);
    }
    setup_build(s);
    return s;
}

static void check_same_bodies(const setup* s, const double* q, const double* u, double tolerance)
{
    const tn_model* model = s->m->model;
    const char*     word  = "tree";
    for (int i = 0; i < model->free_count; ++i) {
        const tni_body* body = &model->bodies[model->free_bodies[i]];
        const double *  a = q + body->q_start, *b = s->body_q + body->q_start;
        double          sign = 1;
        if (body->kind == TN_BODY_RIGID)
            sign = a[3] * b[3] + a[4] * b[4] + a[5] * b[5] + a[6] * b[6] < 0 ? -1 : 1;
        for (int k = 0; k < body->q_count; ++k)
            NEAR((k >= 3 ? sign : 1) * b[k], a[k], tolerance, "place");
        for (int k = 0; k < body->dim; ++k)
            NEAR(s->body_u[body->u_start + k], u[body->u_start + k], tolerance, "velocity");
    }
}

TEST(bodies_come_back_from_limbs)
{
    test_random r = {10};
    for (int n = 0; n < 60; ++n) {
        setup* s = random_tree(&r, 12, n % 3 == 2);
        double q[NUMBERS], u[NUMBERS], lq[NUMBERS], lv[NUMBERS];
        // At the start, at rest, as the scene says.
        memcpy(q, s->body_q, sizeof q), memcpy(u, s->body_u, sizeof u);
        setup_write(s);
        check_same_bodies(s, q, u, 1e-13 * body_span(s));
        // Anywhere.
        setup_wander(s, &r, 2, 1);
        check_rows(s, &r, "tree");
        memcpy(q, s->body_q, sizeof q), memcpy(u, s->body_u, sizeof u);
        memcpy(lq, s->q, sizeof q), memcpy(lv, s->v, sizeof u);
        tni_joint_trees_read(s->limbs, s->body_q, s->body_u, s->q, s->v);
        for (int i = 0; i < s->limbs->count; ++i) {
            const tni_tree_link* limb = &s->limbs->limbs[i];
            const double *       a = lq + limb->q, *b = s->q + limb->q,
                         sign = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] < 0 ? -1 : 1;
            const char* word  = "limb";
            for (int k = 0; k < 7; ++k)
                NEAR((k < 4 ? sign : 1) * b[k], a[k], 1e-13 * body_span(s), "configuration");
            for (int k = 0; k < limb->freedoms && limb->kind != TNI_TREE_LINK_DISTANCE; ++k)
                NEAR(s->v[limb->v + k], lv[limb->v + k], 1e-12 * body_span(s),
                     "velocity"); // sums of many
        }
        setup_write(s);
        check_same_bodies(s, q, u, 1e-12 * body_span(s));
        setup_free(s);
        free(s);
    }
}

TEST(nearest_place_is_found_when_bodies_are_off)
{
    test_random r = {11};
    for (int n = 0; n < 30; ++n) {
        setup* s = random_tree(&r, 8, n % 3 == 2);
        double d[NUMBERS], q[NUMBERS], u[NUMBERS];
        setup_wander(s, &r, 1, 1);
        random_numbers(&r, d, s->m->model->u_count, 1e-9);
        memcpy(q, s->body_q, sizeof q);
        tni_advance(s->m->model, q, d, s->body_q);
        memcpy(q, s->body_q, sizeof q), memcpy(u, s->body_u, sizeof u);
        tni_joint_trees_read(s->limbs, s->body_q, s->body_u, s->q, s->v);
        setup_write(s);
        check_rows(s, &r, "tree");
        check_same_bodies(s, q, u, 2e-7 * body_span(s)); // lever arms, a chain of 8
        setup_free(s);
        free(s);
    }
}

TEST(views_are_those_of_the_bodies)
{
    test_random r = {12};
    for (int n = 0; n < 20; ++n) {
        setup*      s = random_tree(&r, 8, n % 3 == 2);
        tni_shift   world[RANDOM_BODIES_MAX];
        tni_six     motion[RANDOM_BODIES_MAX];
        const char* word = "view";
        setup_wander(s, &r, 1, 1);
        for (int i = 0; i < s->limbs->count; ++i) {
            const tni_tree_link* limb = &s->limbs->limbs[i];
            tni_six              S[TNI_TREE_LINK_FREEDOMS];
            tni_view             view;
            tni_tree_link_place(limb, s->q + limb->q, &world[i], S);
            motion[i] = tni_tree_link_motion(limb, S, s->v + limb->v);
            if (limb->parent >= 0) {
                motion[i] =
                    tni_six_add(motion[i], tni_shift_motion(&world[i], motion[limb->parent]));
                world[i] = tni_shift_then(&world[limb->parent], &world[i]);
            }
            tni_tree_link_view(s->limbs, i, &world[i], motion[i], &view);
            const tni_view* wanted    = &s->views[limb->body];
            const double    tolerance = 1e-13 * body_span(s);
            NEAR_SIX(((tni_six){view.x, view.v}), ((tni_six){wanted->x, wanted->v}), tolerance,
                     "centre");
            NEAR_SIX(((tni_six){view.w, view.w}), ((tni_six){wanted->w, wanted->w}), tolerance,
                     "turning");
            for (int k = 0; k < 9; ++k) NEAR(view.R.m[k], wanted->R.m[k], tolerance, "axes");
            // Kinetic energy, by the limb and by the body.
            double          M[36], sum = 0;
            const tni_body* body = &s->m->model->bodies[limb->body];
            const double*   u    = s->body_u + body->u_start;
            tni_mass_block(body, wanted, M);
            for (int k = 0; k < body->dim * body->dim; ++k)
                sum += M[k] * u[k / body->dim] * u[k % body->dim];
            NEAR(tni_six_dot(motion[i], tni_rigid_times(&limb->inertia, motion[i])), sum,
                 1e-12 * (1 + sum), "energy");
        }
        setup_free(s);
        free(s);
    }
}

// A chain of `count` bodies along x, 1 m apart, hinged half way.
static setup* chain(int count, bool fixed)
{
    setup* s = calloc(1, sizeof *s);
    s->m     = random_mechanism_make();
    for (int i = 0; i < count; ++i) {
        tn_body_def def   = tn_default_body_def();
        def.mass          = 1;
        def.com           = tni_vec3(0, 0, 0);
        def.pose.position = tni_vec3(i + 0.5, 0, 0);
        for (int k = 0; k < 6; ++k) def.inertia[k] = k < 3 ? 0.1 : 0;
        const tn_body_id body  = tn_scene_add_body(s->m->scene, &def);
        tn_joint_def     joint = tn_default_joint_def(TN_JOINT_HINGE);
        joint.body1 = (tn_body_id){body.bits - 1}, joint.body2 = body;
        joint.anchor = tni_vec3(i, 0, 0), joint.axis = tni_vec3(0, 1, 0);
        if (i > 0 || fixed) (void)tn_scene_add_joint(s->m->scene, &joint);
    }
    setup_build(s);
    return s;
}

TEST(a_floating_tree_has_its_root_in_the_middle)
{
    static const int roots[] = {0, 1, 1, 2, 2, 3, 3, 4};
    for (int count = 1; count < 8; ++count) {
        setup* s = chain(count, false);
        CHECK_INT(s->limbs->limbs[0].body, roots[count]);
        CHECK_INT(s->limbs->tree_count, 1);
        CHECK_INT(s->limbs->v_count, count + 5);
        setup_free(s);
        free(s);
    }
}

TEST(a_fixed_chain_is_numbered_outward_and_measured)
{
    enum { COUNT = 5 };
    setup* s = chain(COUNT, true);
    for (int i = 0; i < COUNT; ++i) {
        const tni_tree_link* limb = &s->limbs->limbs[i];
        const int            n    = COUNT - i; // beyond it, itself counted
        double               zz   = 0;
        CHECK_INT(limb->body, i + 1);
        CHECK_INT(limb->parent, i - 1);
        CHECK_NEAR(limb->length, 1, 1e-14);
        CHECK_NEAR(limb->reach, n - 0.5, 1e-13);
        CHECK_NEAR(limb->outboard.mass, n, 1e-14);
        for (int k = 0; k < n; ++k) zz += 0.1 + (k + 0.5) * (k + 0.5);
        CHECK_NEAR(limb->outboard.zz, zz, 1e-12);
    }
    setup_free(s);
    free(s);
}

TEST(limbs_are_laid_out_tree_by_tree)
{
    test_random r = {13};
    for (int n = 0; n < 40; ++n) {
        setup*                 s = random_tree(&r, 20, n % 2 == 1);
        const tni_joint_trees* l = s->limbs;
        int                    q = 0, v = 0, k = 0, before = 0;
        CHECK_INT(l->count, 20);
        CHECK_INT(l->first[0], 0);
        CHECK_INT(l->first[l->tree_count], 20);
        for (int t = 0; t < l->tree_count; ++t) {
            int smallest = 1000;
            for (int i = l->first[t]; i < l->first[t + 1]; ++i) {
                const tni_tree_link* limb = &l->limbs[i];
                CHECK(limb->tree == t && l->of_body[limb->body] == i);
                CHECK(limb->q == q && limb->v == v && limb->k == k);
                CHECK(i == l->first[t] ? limb->parent == -1
                                       : limb->parent >= l->first[t] && limb->parent < i);
                q += limb->kind == TNI_TREE_LINK_DISTANCE ? 11 : 7;
                v += limb->freedoms, k += limb->freedoms * limb->freedoms;
                if (n % 2 == 1) { // in one plane
                    const double z = s->m->model->bodies[limb->body].start.position.z;
                    CHECK(limb->anchor.z == (limb->parent < 0 ? z : 0));
                    CHECK_NEAR(tni_mul_t(&limb->axes, limb->com).z, 0, 1e-15);
                }
                smallest = limb->body < smallest ? limb->body : smallest;
                // Children by their body's number: the one before it among its siblings has a lower one.
                for (int j = l->first[t]; j < i; ++j)
                    CHECK(l->limbs[j].parent != limb->parent || l->limbs[j].body < limb->body);
                if (i == l->first[t]) continue;
                const tni_joint* joint = &s->m->model->joints[limb->joint];
                const int        up    = l->limbs[limb->parent].body;
                CHECK((joint->body1 == up && joint->body2 == limb->body && !limb->reversed) ||
                      (joint->body2 == up && joint->body1 == limb->body && limb->reversed));
            }
            CHECK(smallest > before);
            before = smallest;
        }
        CHECK(l->q_count == q && l->v_count == v && l->k_count == k && l->of_body[0] == -1);
        setup_free(s);
        free(s);
    }
}

// ---- Axes that are opposite ---------------------------------------------------------------------

TEST(frames_that_agree_the_other_way_round_are_kept)
{
    static const tn_joint_type types[] = {TN_JOINT_WELD,     TN_JOINT_HINGE, TN_JOINT_SLIDER,
                                          TN_JOINT_CYLINDER, TN_JOINT_PLANE, TN_JOINT_SCREW};
    static const tn_quat       turns[] = {{0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
    test_random                r       = {14};
    for (int n = 0; n < 36; ++n) {
        setup*      s      = calloc(1, sizeof *s);
        const char* word   = "turned";
        s->m               = random_mechanism_make();
        const tn_body_id a = random_add_body(s->m, &r, RANDOM_RIGID, tni_vec3(-0.5, 0, 0), false),
                         b = random_add_body(s->m, &r, RANDOM_RIGID, tni_vec3(0.5, 0, 0), false);
        const tn_frame f   = {random_vec3(&r, 1), random_quat(&r)};
        tn_joint_def   def = tn_default_joint_def(types[n / 6]);
        def.form           = TN_JOINT_BY_FRAMES;
        def.pitch          = 0.5;
        def.body1 = n % 2 ? b : a, def.body2 = n % 2 ? a : b;
        const tn_frame g = {f.position, tni_quat_mul(f.orientation, turns[n / 2 % 3])};
        def.frame1       = random_seen_from(s->m, def.body1, f);
        def.frame2       = random_seen_from(s->m, def.body2, g);
        if (types[n / 6] == TN_JOINT_SCREW) def.frame2 = random_seen_from(s->m, def.body2, f);
        (void)tn_scene_add_joint(s->m->scene, &def);
        setup_build(s);
        double q[NUMBERS], u[NUMBERS];
        memcpy(q, s->body_q, sizeof q), memcpy(u, s->body_u, sizeof u);
        setup_write(s);
        check_same_bodies(s, q, u, 1e-13);
        setup_wander(s, &r, 3, 1);
        check_rows(s, &r, word);
        check_angle(s, &r, word);
        check_motion(s, &r, word);
        setup_free(s);
        free(s);
    }
}

// ---- Forces -------------------------------------------------------------------------------------

static tn_joint_def random_actuation(test_random* r, int what)
{
    tn_joint_def def = tn_default_joint_def(TN_JOINT_HINGE);
    def.stiffness    = test_random_between(r, 1, 5);
    if (what >= 1) def.damping = test_random_between(r, 0.1, 2);
    if (what >= 2)
        random_numbers(r, def.rest, TNI_COORDINATES_MAX, 0.3),
            random_numbers(r, def.force, TNI_COORDINATES_MAX, 1);
    if (what >= 3) def.friction = 0.5;
    if (what < 4) return def;
    def.limit.given = true, def.limit.hard = false;
    def.limit.lower = -0.2, def.limit.upper = 0.1, def.limit.cone = 0.3;
    def.limit.twist_lower = -0.1, def.limit.twist_upper = 0.2;
    def.limit.stiffness = 50, def.limit.damping = 3;
    return def;
}

// Coordinates of types that take a spring, with unused numbers at rest.
static setup* actuated_pair(test_random* r, tn_joint_type type, int way, int what)
{
    tn_joint_def with  = random_actuation(r, what);
    const int    count = tni_joint_type_of(type, TN_JOINT_HINGE)->coordinate_count;
    const bool   ball =
        tni_joint_type_of(type, TN_JOINT_HINGE)->coordinates[0] >= TNI_COORDINATE_ROTATION_X;
    for (int k = count; k < TNI_COORDINATES_MAX; ++k) with.rest[k] = with.force[k] = 0;
    if (ball) with.limit.lower = 1, with.limit.upper = -1;
    else with.limit.cone = NAN, with.limit.twist_lower = 1, with.limit.twist_upper = -1;
    setup* s = pair_make(r, type, way, &with);
    setup_wander(s, r, 3, 0.4);
    return s;
}

typedef void visit_actuated(setup* s, test_random* r, const char* word);

static void each_actuated(uint64_t seed, visit_actuated* check)
{
    test_random r = {seed};
    for (int t = TN_JOINT_HINGE; t < TN_JOINT_DISTANCE; ++t) {
        for (int k = 0; k < 60; ++k) {
            setup* s = actuated_pair(&r, (tn_joint_type)t, k % 6, k / 6 % 5);
            check(s, &r, s->m->model->joints[0].type->word);
            setup_free(s);
            free(s);
        }
    }
}

// Velocities of all bodies when the limbs move with v.
static void velocities(setup* s, const double* v, double* u)
{
    double q[NUMBERS];
    memcpy(q, s->body_q, sizeof q);
    tni_joint_trees_write(s->limbs, s->q, v, q, u);
}

static void check_power(setup* s, test_random* r, const char* word)
{
    const tni_tree_link* limb       = last_limb(s);
    const tn_model*      model      = s->m->model;
    const tni_scene_view at         = {.model = model, .z = s->m->state->z, .views = s->views};
    double               f[NUMBERS] = {0}, Q[6], K[36], v[NUMBERS], u[NUMBERS], power = 0, own = 0;
    tni_force_actuation.add(&at, f);
    CHECK(tni_tree_link_force(s->limbs, s->limbs->count - 1, 0, s->m->state->z, s->q + limb->q,
                              s->v + limb->v, 0, Q, K));
    random_numbers(r, v, s->limbs->v_count, 1);
    velocities(s, v, u);
    for (int i = 0; i < model->u_count; ++i) power += f[i] * u[i];
    for (int k = 0; k < limb->freedoms; ++k) own += Q[k] * v[limb->v + k];
    NEAR(own, power, 1e-12 * body_span(s) * (1 + fabs(power)), "power");
    for (int k = 0; k < limb->freedoms * limb->freedoms; ++k) CHECK(K[k] == 0);
}

TEST(forces_have_the_power_of_those_on_the_bodies)
{
    each_actuated(15, check_power);
}

// The implicit ones, from the rows that implicit methods use on the bodies themselves.
static void check_implicit(setup* s, test_random* r, const char* word)
{
    const tni_tree_link* limb  = last_limb(s);
    const tn_model*      model = s->m->model;
    const int            d     = limb->freedoms;
    const double         h     = test_random_between(r, 0.001, 0.1);
    const tni_scene_view at    = {.model = model, .z = s->m->state->z, .views = s->views};
    const tni_prediction ahead = {.h = h, .time = h};
    tni_soft             soft;
    double Q[6], K[36], E[TNI_COORDINATES_MAX][6] = {{0}}, e[NUMBERS] = {0}, u[NUMBERS];
    tni_soften_actuation(&at, &ahead, 0, &soft);
    const int n = soft.row_count;
    for (int k = 0; k < d; ++k) {
        memset(e, 0, sizeof e);
        memset(u, 0, sizeof u);
        e[limb->v + k] = 1;
        velocities(s, e, u);
        for (int side = 0; side < 2; ++side) {
            const tni_body* body = &model->bodies[soft.body[side]];
            for (int i = 0; i < n; ++i)
                for (int j = 0; j < body->dim; ++j)
                    E[i][k] += soft.J[side][i * body->dim + j] * u[body->u_start + j];
        }
    }
    CHECK(tni_tree_link_force(s->limbs, s->limbs->count - 1, 0, s->m->state->z, s->q + limb->q,
                              s->v + limb->v, h, Q, K));
    for (int k = 0; k < d; ++k) {
        double force = 0;
        for (int i = 0; i < n; ++i) {
            double f = soft.f[i];
            for (int j = 0; j < n; ++j)
                for (int l = 0; l < d; ++l)
                    f -= (h * soft.K[i * n + j] + soft.D[i * n + j]) * E[j][l] * s->v[limb->v + l];
            force += E[i][k] * f;
        }
        NEAR(Q[k], force, 2e-12 * body_span(s) * (1 + fabs(force)), "force");
        for (int l = 0; l < d; ++l) {
            double added = 0;
            for (int i = 0; i < n; ++i)
                for (int j = 0; j < n; ++j)
                    added += h * E[i][k] * (h * soft.K[i * n + j] + soft.D[i * n + j]) * E[j][l];
            NEAR(K[k * d + l], added, 1e-13 * body_span(s) * (1 + fabs(added)), "added inertia");
        }
    }
}

TEST(implicit_forces_are_those_of_the_other_methods)
{
    each_actuated(16, check_implicit);
}

// A universal joint bent by pi, after a turn by twice the angle.
static void fold_over(setup* s, double angle)
{
    const tni_tree_link* limb = last_limb(s);
    const double         sign = limb->reversed ? -1 : 1;
    double*              q    = s->q + limb->q;
    q[0] = q[3] = 0, q[1] = sign * cos(angle), q[2] = sign * sin(angle);
    setup_write(s);
}

// Joints with several freedoms, anywhere, some of their angles after many turns.
TEST(wide_turns_have_the_same_forces)
{
    test_random r = {26};
    for (int n = 0; n < 240; ++n) {
        const bool universal = n % 2 == 0;
        setup*     s = actuated_pair(&r, universal ? TN_JOINT_UNIVERSAL : TN_JOINT_BALL, n / 2 % 6,
                                     n / 12 % 5);
        double*    z = s->m->state->z + s->m->model->joints[0].coordinate_start;
        setup_wander(s, &r, 3, 2);
        if (n % 10 == 0) fold_over(s, test_random_between(&r, -1.5, 1.5));
        for (int k = 0; k < 2 && universal; ++k)
            z[k] += 6.283185307179586 * test_random_int(&r, -3, 3);
        check_power(s, &r, "wide");
        check_implicit(s, &r, "wide");
        setup_free(s);
        free(s);
    }
}

TEST(planar_joints_have_their_forces)
{
    static const tn_joint_type types[] = {TN_JOINT_HINGE, TN_JOINT_SLIDER, TN_JOINT_BALL};
    test_random                r       = {17};
    for (int n = 0; n < 48; ++n) {
        setup* s           = calloc(1, sizeof *s);
        s->m               = random_mechanism_make();
        const tn_body_id a = n % 4 < 2 ? (tn_body_id){0}
                                       : random_add_body(s->m, &r, RANDOM_PLANAR, tni_vec3(0, 0, 0),
                                                         true),
                         b = random_add_body(s->m, &r, RANDOM_PLANAR, tni_vec3(1, 0, 0), true);
        const random_joint_type t = {types[n % 3], 0};
        tn_joint_def            def =
            n % 2 ? random_joint(s->m, &r, t, b, a) : random_joint(s->m, &r, t, a, b);
        def.stiffness = 3, def.damping = 0.5, def.rest[0] = t.type == TN_JOINT_BALL ? 0 : 0.3,
        def.force[0] = t.type == TN_JOINT_BALL ? 0 : 0.7;
        if (n % 5 == 0 && t.type != TN_JOINT_BALL)
            def.limit = (tn_limit){.given       = true,
                                   .lower       = -0.1,
                                   .upper       = 0.1,
                                   .stiffness   = 20,
                                   .damping     = 1,
                                   .cone        = NAN,
                                   .twist_lower = 1,
                                   .twist_upper = -1};
        (void)tn_scene_add_joint(s->m->scene, &def);
        setup_build(s);
        setup_wander(s, &r, 3, 0.4);
        check_power(s, &r, "planar");
        check_implicit(s, &r, "planar");
        setup_free(s);
        free(s);
    }
}

// ---- Hard ends ----------------------------------------------------------------------------------

// Accelerations of the last limb alone, anchored to the ground: (S^T I S + K) v' = Q - S^T (bias).
static void accelerate(const setup* s, const double* Q, const double* K, double* rate)
{
    const tni_tree_link* limb = last_limb(s);
    const int            d    = limb->freedoms;
    tni_six              S[TNI_TREE_LINK_FREEDOMS];
    double               A[36];
    tni_tree_link_place(limb, s->q + limb->q, NULL, S);
    const tni_six v    = tni_tree_link_motion(limb, S, s->v + limb->v);
    const tni_six bend = tni_tree_link_bend(limb, s->q + limb->q, s->v + limb->v);
    const tni_six f    = tni_six_add(tni_rigid_times(&limb->inertia, bend),
                                     tni_cross_force(v, tni_rigid_times(&limb->inertia, v)));
    for (int i = 0; i < d; ++i) {
        rate[i] = Q[i] - tni_six_dot(S[i], f);
        for (int k = 0; k < d; ++k)
            A[i * d + k] = K[i * d + k] + tni_six_dot(S[i], tni_rigid_times(&limb->inertia, S[k]));
    }
    for (int i = 0; i < d; ++i) { // Gauss, positive definite
        for (int k = i + 1; k < d; ++k) {
            const double l = A[k * d + i] / A[i * d + i];
            for (int j = i; j < d; ++j) A[k * d + j] -= l * A[i * d + j];
            rate[k] -= l * rate[i];
        }
    }
    for (int i = d - 1; i >= 0; --i) {
        for (int k = i + 1; k < d; ++k) rate[i] -= A[i * d + k] * rate[k];
        rate[i] /= A[i * d + i];
    }
}

// The rate of a row when the limb moves with v, its parent being at rest.
static double row_rate(setup* s, const tni_row* row, const double* v)
{
    const tn_model*  model      = s->m->model;
    const tni_joint* joint      = &model->joints[0];
    double           e[NUMBERS] = {0}, u[NUMBERS] = {0}, J[6], sum = 0;
    memcpy(e + last_limb(s)->v, v, sizeof(double) * (size_t)last_limb(s)->freedoms);
    velocities(s, e, u);
    for (int side = 0; side < 2; ++side) {
        const int       index = side == 0 ? joint->body1 : joint->body2;
        const tni_body* body  = &model->bodies[index];
        tni_push_row(body, &s->views[index], side == 0 ? joint->p1 : joint->p2,
                     side == 0 ? &joint->F1 : &joint->F2, &row->push[side], J);
        for (int k = 0; k < body->dim; ++k) sum += J[k] * u[body->u_start + k];
    }
    return sum;
}

// Twice the kinetic energy of the limb's body at velocities v.
static double body_energy(setup* s, const double* v)
{
    const int       index      = last_limb(s)->body;
    const tni_body* body       = &s->m->model->bodies[index];
    double          e[NUMBERS] = {0}, u[NUMBERS] = {0}, M[36], sum = 0;
    memcpy(e + last_limb(s)->v, v, sizeof(double) * (size_t)last_limb(s)->freedoms);
    velocities(s, e, u);
    tni_mass_block(body, &s->views[index], M);
    for (int k = 0; k < 36; ++k) sum += M[k] * u[body->u_start + k / 6] * u[body->u_start + k % 6];
    return sum;
}

// Q and K of a hard end, from its row on the bodies.
static bool add_landing(setup* s, const tni_limit* limit, double h, double* Q, double* K)
{
    const tni_tree_link* limb = last_limb(s);
    const int            d    = limb->freedoms;
    const tni_row        row  = tni_limit_row(s->m->model, limit, s->views, s->m->state->z);
    double               g[6], unit[6], gg = 0, ahead = row.C;
    for (int k = 0; k < d; ++k) {
        memset(unit, 0, sizeof unit);
        unit[k] = 1;
        g[k]    = row_rate(s, &row, unit);
        gg += g[k] * g[k];
        ahead += h * g[k] * s->v[limb->v + k];
    }
    if (!(ahead < 0)) return false;
    for (int k = 0; k < d; ++k) unit[k] = g[k] / gg;
    const double m = 1e6 * body_energy(s, unit);
    for (int k = 0; k < d; ++k) {
        Q[k] -= g[k] * m / (h * h) * (ahead - (row.C < 0 ? fmin(0.6 * row.C, row.C + h) : 0));
        for (int l = 0; l < d; ++l) K[k * d + l] += m * g[k] * g[l];
    }
    return true;
}

TEST(hard_ends_push_along_their_rows)
{
    static const tn_joint_type types[] = {TN_JOINT_HINGE, TN_JOINT_SLIDER, TN_JOINT_CYLINDER,
                                          TN_JOINT_UNIVERSAL, TN_JOINT_BALL};
    const double               h       = 0.01;
    test_random                r       = {27};
    int                        met     = 0;
    for (int n = 0; n < 300; ++n) {
        const bool   ball = types[n % 5] == TN_JOINT_BALL;
        tn_joint_def with = tn_default_joint_def(types[n % 5]);
        with.limit.given = with.limit.hard = true;
        if (ball)
            with.limit.cone = 0.5, with.limit.twist_lower = -0.3, with.limit.twist_upper = 0.4;
        else with.limit.lower = -0.5, with.limit.upper = 0.4;
        setup* s = pair_make(&r, types[n % 5], n / 5 % 6, &with);
        setup_wander(s, &r, 2, 0.8);
        const tni_tree_link* limb  = last_limb(s);
        const tn_model*      model = s->m->model;
        const char*          word  = model->joints[0].type->word;
        const int            d     = limb->freedoms;
        double               Q[6], K[36], force[6] = {0}, added[36] = {0}, size = 1;
        for (int i = 0; i < model->limit_count; ++i)
            met += add_landing(s, &model->limits[i], h, force, added);
        for (int k = 0; k < d * d; ++k) size = fmax(size, fabs(added[k]));
        CHECK(tni_tree_link_force(s->limbs, s->limbs->count - 1, 0, s->m->state->z, s->q + limb->q,
                                  s->v + limb->v, h, Q, K));
        for (int k = 0; k < d * d; ++k) NEAR(K[k], added[k], 1e-13 * size, "added inertia");
        // The row is right to rounding, and 1e6 m/h^2 of that is seen.
        for (int k = 0; k < d; ++k) NEAR(Q[k], force[k], 1e-13 * size / (h * h), "force");
        setup_free(s);
        free(s);
    }
    CHECK(met > 200);
}

TEST(hard_ends_are_landed_on)
{
    static const tn_joint_type types[] = {TN_JOINT_HINGE, TN_JOINT_SLIDER, TN_JOINT_CYLINDER,
                                          TN_JOINT_UNIVERSAL, TN_JOINT_BALL};
    const double               h       = 1e-3;
    test_random                r       = {18};
    int                        met     = 0;
    for (int n = 0; n < 80; ++n) {
        const bool   ball = types[n % 5] == TN_JOINT_BALL;
        tn_joint_def with = tn_default_joint_def(types[n % 5]);
        with.limit.given = with.limit.hard = true;
        if (ball)
            with.limit.cone = 0.5, with.limit.twist_lower = -0.3, with.limit.twist_upper = 0.4;
        else with.limit.lower = -0.5, with.limit.upper = 0.4;
        if (n % 2) with.stiffness = 2, with.damping = 0.1;
        setup*               s    = pair_make(&r, types[n % 5], n / 5 % 2, &with);
        const tni_tree_link* limb = last_limb(s);
        random_numbers(&r, s->v, limb->freedoms, 3);
        for (int t = 0; t < 2000; ++t) {
            const tn_model* model = s->m->model;
            const char*     word  = model->joints[0].type->word;
            double          Q[6], K[36], rate[6], ahead[3], wanted[3];
            setup_write(s);
            for (int i = 0; i < model->limit_count; ++i) {
                const tni_row row =
                    tni_limit_row(model, &model->limits[i], s->views, s->m->state->z);
                ahead[i]  = row.C + h * row.rate;
                wanted[i] = row.C < 0 ? fmin(0.6 * row.C, row.C + h) : 0;
            }
            CHECK(tni_tree_link_force(s->limbs, 0, 0, s->m->state->z, s->q, s->v, h, Q, K));
            accelerate(s, Q, K, rate);
            for (int k = 0; k < limb->freedoms; ++k) s->v[k] += h * rate[k];
            tni_tree_link_advance(limb, h, s->v, s->q);
            setup_write(s);
            for (int i = 0; i < model->limit_count; ++i) {
                const double C =
                    tni_limit_row(model, &model->limits[i], s->views, s->m->state->z).C;
                // Coordinates are linear in v: a millionth of the way is left, below 3 h. Cone and
                // twist bend by (h v)^2/2 on the way. Ends that nobody saw coming: h^2 v', large
                // where a blow at the other end throws it there.
                met += ahead[i] < 0;
                if (ahead[i] < 0) NEAR(C, wanted[i], ball ? 5e-5 : 1e-8, "where it lands");
                else NEAR(fmin(C, 0), 0, ball ? 1e-3 : 5e-5, "beyond an end that was not in sight");
            }
        }
        setup_free(s);
        free(s);
    }
    CHECK(met > 1000);
}

// A push onto an end comes to rest there; a pull away is not held.
TEST(what_is_pushed_onto_a_hard_end_rests_and_leaves)
{
    static const tn_joint_type types[] = {TN_JOINT_HINGE, TN_JOINT_SLIDER, TN_JOINT_CYLINDER,
                                          TN_JOINT_UNIVERSAL};
    const double               h       = 1e-3;
    for (int n = 0; n < 8; ++n) {
        test_random  r    = {25};
        tn_joint_def with = tn_default_joint_def(types[n / 2]);
        with.limit.given = with.limit.hard = true;
        with.limit.lower = 0, with.limit.upper = 1;
        with.damping               = 1e-3;
        setup*               s     = pair_make(&r, types[n / 2], n % 2, &with);
        const tni_tree_link* limb  = last_limb(s);
        const tn_model*      model = s->m->model;
        for (int t = 0; t < 220; ++t) {
            double Q[6], K[36], rate[6];
            setup_write(s);
            CHECK(tni_tree_link_force(s->limbs, 0, 0, s->m->state->z, s->q, s->v, h, Q, K));
            Q[0] += t < 200 ? -5 : 5;
            accelerate(s, Q, K, rate);
            for (int k = 0; k < limb->freedoms; ++k) s->v[k] += h * rate[k];
            tni_tree_link_advance(limb, h, s->v, s->q);
            setup_write(s);
            const double C = tni_limit_row(model, &model->limits[0], s->views, s->m->state->z).C;
            if (t > 150 && t < 200) {
                CHECK(C <= 0 && C > -1e-9);
                CHECK_LESS(fabs(s->v[0]), 1e-8); // a millionth of what a step of the push gives
            }
            if (t == 219) CHECK(C > 1e-4 && s->v[0] > 0.01);
        }
        setup_free(s);
        free(s);
    }
}

TEST(joints_without_forces_say_so)
{
    test_random r    = {19};
    setup*      s    = pair_make(&r, TN_JOINT_BALL, 0, NULL);
    double      Q[3] = {1, 1, 1}, K[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    CHECK(!tni_tree_link_force(s->limbs, 0, 0, s->m->state->z, s->q, s->v, 0.01, Q, K));
    CHECK(Q[0] == 0 && Q[2] == 0 && K[0] == 0 && K[8] == 0 && !s->limbs->actuated);
    setup_free(s);
    free(s);
}

// ---- Refusals -----------------------------------------------------------------------------------

static void check_refused(random_mechanism* m, const char* words)
{
    tn_why           why   = {0};
    tni_joint_trees* limbs = NULL;
    random_mechanism_build(m);
    tni_arena arena = tni_arena_make(&m->model->arena.host);
    CHECK_INT(tni_joint_trees_create(&arena, m->model, &limbs, &why), TN_ERR_UNSUPPORTED);
    CHECK(limbs == NULL);
    test_check(strstr(why.text, words) != NULL && strstr(why.text, "adaptive") != NULL &&
                   strstr(why.text, "the multiplier and impulse methods take this") != NULL,
               __FILE__, __LINE__, "'%s' does not say '%s'", why.text, words);
    tni_arena_free(&arena);
    random_mechanism_free(m);
}

static void add_named(random_mechanism* m, test_random* r, random_joint_type t, uint32_t a,
                      uint32_t b, const char* name)
{
    tn_joint_def def = random_joint(m, r, t, (tn_body_id){a}, (tn_body_id){b});
    def.name         = name;
    (void)tn_scene_add_joint(m->scene, &def);
}

TEST(what_is_no_tree_of_rigid_bodies_is_refused_by_name)
{
    static const random_joint_type hinge = {TN_JOINT_HINGE, 0};
    static const struct {
        random_kind       kind;
        random_joint_type type;
        const char*       words;
    } cases[] = {
        {RANDOM_KINEMATIC, {TN_JOINT_HINGE, 0}, "joint 'odd': it is held by a body that moves"},
        {RANDOM_RIGID, {TN_JOINT_MOTOR, TN_JOINT_HINGE}, "joint 'odd': a motor"},
        {RANDOM_RIGID, {TN_JOINT_ROLLING, 0}, "joint 'odd': a rolling"},
        {RANDOM_PLANAR, {TN_JOINT_HINGE, 0}, "joint 'odd': it joins a planar body to a rigid one"},
        {RANDOM_PARTICLE, {TN_JOINT_BALL, 0}, "body"},
        {RANDOM_AFFINE, {TN_JOINT_BALL, 0}, "body"},
        {RANDOM_USER_POINT, {TN_JOINT_BALL, 0}, "body"}};
    test_random r = {20};
    for (int i = 0; i < 7; ++i) {
        random_mechanism* m = random_mechanism_make();
        (void)random_add_body(m, &r, RANDOM_RIGID, tni_vec3(0, 0, 0), false);
        (void)random_add_body(m, &r, cases[i].kind, tni_vec3(1, 0, 0), false);
        add_named(m, &r, cases[i].type, 1, 2, "odd");
        check_refused(m, cases[i].words);
    }
    for (int i = 0; i < 2;
         ++i) { // a loop of bodies; two ways to the world, by the ground and a static body
        random_mechanism* m = random_mechanism_make();
        for (int k = 0; k < 3; ++k)
            (void)random_add_body(m, &r, i == 1 && k == 2 ? RANDOM_STATIC : RANDOM_RIGID,
                                  tni_vec3(k, 0, 0), false);
        add_named(m, &r, hinge, 1, 2, "a");
        add_named(m, &r, hinge, i == 1 ? 0 : 3, i == 1 ? 1 : 2, "b");
        add_named(m, &r, hinge, 3, i == 1 ? 2 : 1, "closing");
        check_refused(m, "joint 'closing': it closes a loop");
    }
    random_mechanism* m = random_mechanism_make();
    (void)random_add_body(m, &r, RANDOM_PLANAR, tni_vec3(0, 0, 0), true);
    add_named(m, &r, (random_joint_type){TN_JOINT_POINT_ON_PLANE, 0}, 0, 1, "odd");
    check_refused(m, "joint 'odd': of planar bodies");
}

static void no_rows(const void* data, double time, const tn_body_view* bodies, double* C,
                    double* rate, double* const* J, double* gamma)
{
    (void)data, (void)time, (void)bodies, (void)C, (void)rate, (void)J, (void)gamma;
}

TEST(couplings_ropes_and_user_constraints_are_refused)
{
    static const random_joint_type hinge = {TN_JOINT_HINGE, 0};
    test_random                    r     = {21};
    random_mechanism*              m     = random_mechanism_make();
    for (int k = 0; k < 2; ++k) {
        (void)random_add_body(m, &r, RANDOM_RIGID, tni_vec3(k, 0, 0), false);
        add_named(m, &r, hinge, 0, (uint32_t)k + 1, k == 0 ? "a" : "b");
    }
    tn_coupling_def   gear      = tn_default_coupling_def(TN_COUPLING_GEAR);
    const tn_joint_id turned[2] = {{1}, {2}};
    gear.joints                 = turned;
    gear.joint_count = 2, gear.ratio = 2, gear.name = "teeth";
    CHECK_OK(tn_scene_add_coupling(m->scene, &gear));
    check_refused(m, "'teeth'");

    m = random_mechanism_make();
    (void)random_add_body(m, &r, RANDOM_RIGID, tni_vec3(0, 0, 0), false);
    tn_joint_def rope = tn_default_joint_def(TN_JOINT_ROPE);
    rope.form = TN_JOINT_BY_POINTS, rope.body2 = (tn_body_id){1}, rope.name = "odd",
    rope.length = 3;
    (void)tn_scene_add_joint(m->scene, &rope);
    check_refused(m, "joint 'odd': a rope");

    static const tn_constraint_table table   = {.rows = 1, .holonomic = 1, .rows_at = no_rows};
    const tn_body_id                 pair[2] = {{1}, {2}};
    const tn_constraint_def law = {.name = "law", .bodies = pair, .body_count = 2, .table = &table};
    m                           = random_mechanism_make();
    for (int k = 0; k < 2; ++k)
        (void)random_add_body(m, &r, RANDOM_RIGID, tni_vec3(k, 0, 0), false);
    (void)tn_scene_add_constraint(m->scene, &law);
    check_refused(m, "constraint 'law': it is user-defined");
}

TEST(statics_and_kinematic_bodies_beside_trees_are_no_trouble)
{
    test_random r = {22};
    setup*      s = calloc(1, sizeof *s);
    s->m          = random_mechanism_make();
    (void)random_add_body(s->m, &r, RANDOM_KINEMATIC, tni_vec3(0, 0, 0), false);
    (void)random_add_body(s->m, &r, RANDOM_STATIC, tni_vec3(0, 1, 0), false);
    (void)random_add_body(s->m, &r, RANDOM_RIGID, tni_vec3(1, 0, 0), false);
    (void)random_add_body(s->m, &r, RANDOM_PLANAR, tni_vec3(1, 3, 0), false);
    add_named(s->m, &r, (random_joint_type){TN_JOINT_UNIVERSAL, 0}, 3, 2, "to the static body");
    setup_build(s);
    CHECK_INT(s->limbs->count, 2);
    CHECK_INT(s->limbs->tree_count, 2);
    CHECK(s->limbs->limbs[0].parent == -1 && s->limbs->limbs[0].joint == 0 &&
          s->limbs->limbs[0].reversed);
    CHECK(s->limbs->limbs[1].kind == TNI_TREE_LINK_PLANE && s->limbs->limbs[1].joint == -1);
    setup_wander(s, &r, 3, 1);
    check_rows(s, &r, "static");
    setup_free(s);
    free(s);
}

TEST(every_allocation_may_fail)
{
    test_random  r = {23};
    setup*       s = random_tree(&r, 30, false);
    failing_host f = failing_host_make();
    for (int n = 1;; ++n) {
        const tn_host    host  = failing_host_of(&f);
        tn_why           why   = {0};
        tni_joint_trees* limbs = NULL;
        tni_arena        arena = tni_arena_make(&host);
        failing_host_rewind(&f, n);
        const tn_result result = tni_joint_trees_create(&arena, s->m->model, &limbs, &why);
        tni_arena_free(&arena);
        CHECK_INT(f.live_blocks, 0);
        CHECK_INT(result, f.refused > 0 ? TN_ERR_MEMORY : TN_OK);
        CHECK((limbs == NULL) == (f.refused > 0) && (result == TN_OK) == (why.text[0] == 0));
        if (f.refused == 0) break;
    }
    setup_free(s);
    free(s);
}
