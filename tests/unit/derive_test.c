// derive: exact derivatives of every force, against differences of the forces.
//
// Differences of fourth order with steps of 1e-4: what they leave out is 1e-16 times a fifth
// derivative, and rounding of forces about 10 is 10 * 1e-16/1e-4 = 1e-11, some ten of them in a
// difference. 1e-8 of the largest entry leaves room for large fifth derivatives near half a turn.
#include "math/elementary.h"
#include "support/force_rig.h"

static const double step      = 1e-4;
static const double tolerance = 1e-8;

typedef struct blocks {
    const tn_model* model;
    int             n;
    double *        K, *D;
} blocks;

static void collect(void* user, int row_body, int col_body, const double* K, const double* D)
{
    blocks*         b   = user;
    const tni_body *row = &b->model->bodies[row_body], *col = &b->model->bodies[col_body];
    for (int i = 0; i < row->dim; ++i)
        for (int j = 0; j < col->dim; ++j) {
            const int at = (row->u_start + i) * b->n + col->u_start + j;
            b->K[at] += K[i * col->dim + j];
            b->D[at] += D[i * col->dim + j];
        }
}

// force NULL: all of them
static void force_at(const tni_scene_view* at, const tni_force* force, double* f, int n)
{
    memset(f, 0, sizeof(double) * (size_t)n);
    if (force == NULL) tni_forces(at, f);
    else tni_force_add(force, at, f);
}

// -dF by differences of fourth order along one column.
static void difference(force_rig* rig, const tni_force* force, int column, bool velocity,
                       double* slope)
{
    static const double moves[4] = {-2, -1, 1, 2}, weights[4] = {-1, 8, -8, 1};
    double*             f = force_rig_numbers(rig->n);
    memset(slope, 0, sizeof(double) * (size_t)rig->n);
    for (int k = 0; k < 4; ++k) {
        const tni_scene_view at = force_rig_moved(rig, column, moves[k] * step, velocity);
        force_at(&at, force, f, rig->n);
        for (int i = 0; i < rig->n; ++i) slope[i] += weights[k] * f[i] / (12 * step);
    }
    free(f);
}

static blocks blocks_of(force_rig* rig, const tni_force* force)
{
    const tni_scene_view at = force_rig_look(rig, rig->m->state->time);
    blocks               b  = {rig->m->model, rig->n, force_rig_numbers(rig->n * rig->n),
                               force_rig_numbers(rig->n * rig->n)};
    if (force == NULL) tni_derive(&at, collect, &b);
    else force->derive(&at, collect, &b);
    return b;
}

// Returns the largest entry.
static double check_derivative(const random_mechanism* m, const tni_force* force, const char* label)
{
    force_rig rig  = force_rig_make(m);
    blocks    b    = blocks_of(&rig, force);
    double *  want = force_rig_numbers(rig.n), size = 0;
    for (int i = 0; i < rig.n * rig.n; ++i) size = fmax(size, fmax(fabs(b.K[i]), fabs(b.D[i])));
    for (int column = 0; column < 2 * rig.n; ++column) {
        const int j = column % rig.n;
        if (force_rig_is_user(&rig, j)) continue;
        difference(&rig, force, j, column >= rig.n, want);
        for (int i = 0; i < rig.n; ++i) {
            if (force_rig_is_user(&rig, i)) continue;
            const double got = (column < rig.n ? b.K : b.D)[i * rig.n + j];
            test_check(fabs(got - want[i]) <= tolerance * fmax(1, size), __FILE__, __LINE__,
                       "%s: %s[%d][%d] is %.12g, by differences %.12g", label,
                       column < rig.n ? "K" : "D", i, j, got, want[i]);
        }
    }
    free(b.K), free(b.D), free(want);
    force_rig_free(&rig);
    return size;
}

static void finish(random_mechanism* m, test_random* r)
{
    random_mechanism_build(m);
    random_disturb(m, r, 0.3, 1);
}

// ---- Forces on bodies ---------------------------------------------------------------------------

TEST(turning_bodies)
{
    test_random r = {1};
    for (int round = 0; round < 5; ++round) {
        random_mechanism* m = force_rig_crowd(&r);
        finish(m, &r);
        CHECK(check_derivative(m, &tni_force_inertial, "inertial") > 1e-4);
        random_mechanism_free(m);
    }
}

static void count_blocks(void* user, int row_body, int col_body, const double* K, const double* D)
{
    (void)row_body, (void)col_body, (void)K, (void)D;
    ++*(int*)user;
}

TEST(flying_bodies_have_no_inertial_derivative)
{
    test_random       r     = {2};
    random_mechanism* m     = force_rig_crowd(&r);
    int               count = 0;
    finish(m, &r);
    force_rig      rig = force_rig_make(m);
    tni_scene_view at  = force_rig_look(&rig, m->state->time);
    tni_force_inertial.derive(&at, count_blocks, &count);
    CHECK_INT(count, 1); // the rigid one
    at.flying = true;
    tni_force_inertial.derive(&at, count_blocks, &count);
    CHECK_INT(count, 1);
    force_rig_free(&rig);
    random_mechanism_free(m);
}

TEST(springs)
{
    test_random r = {3};
    for (int round = 0; round < 5; ++round) {
        random_mechanism* m = force_rig_crowd(&r);
        force_rig_add_springs(m, &r, 7, 2);
        finish(m, &r);
        CHECK(check_derivative(m, &tni_force_spring, "spring") > 1);
        random_mechanism_free(m);
    }
}

// Without a length the force is linear in the points, also where these coincide. The differences
// step over that place evenly.
TEST(springs_without_length_where_their_points_coincide)
{
    random_mechanism* m      = random_mechanism_make();
    test_random       r      = {4};
    tn_spring_def     spring = tn_default_spring_def();
    spring.body1             = random_add_body(m, &r, RANDOM_PARTICLE, tni_vec3(0, 0, 0), false);
    spring.body2             = random_add_body(m, &r, RANDOM_PARTICLE, tni_vec3(0, 0, 0), false);
    spring.anchor1           = tn_scene_body(m->scene, 0)->com;
    spring.anchor2           = tn_scene_body(m->scene, 1)->com;
    spring.stiffness = 5, spring.length = 0;
    CHECK(tn_scene_add_spring(m->scene, &spring).bits != 0);
    random_mechanism_build(m);
    memcpy(m->state->q + 3, m->state->q, 3 * sizeof(double));
    CHECK_NEAR(tn_state_energy(m->state).elastic, 0, 0);
    CHECK_NEAR(check_derivative(m, &tni_force_spring, "spring"), 5, 1e-15);
    random_mechanism_free(m);
}

TEST(targets_pushed_targets_and_handles)
{
    test_random r = {5};
    for (int round = 0; round < 5; ++round) {
        random_mechanism* m = force_rig_crowd(&r);
        for (int i = 1; i < m->body_count; ++i)
            if (random_kind_moves(m->kinds[i])) force_rig_add_target(m, &r, i);
        finish(m, &r);
        const tn_frame pose = {random_vec3(&r, 1), random_quat(&r)};
        const tn_twist go   = {random_vec3(&r, 1), random_vec3(&r, 1)};
        CHECK_OK(tn_state_set_target(m->state, (tn_target_id){1}, &pose, &go));
        m->state->time += 0.1;
        CHECK(check_derivative(m, &tni_force_target, "target") > 1);
        for (int i = 1, handle = 0; i < m->body_count; ++i) {
            if (!random_kind_moves(m->kinds[i])) continue;
            CHECK_OK(tn_state_grab(m->state, handle, (tn_body_id){(uint32_t)i},
                                   random_vec3(&r, 0.5), 4, 1.5));
            CHECK_OK(tn_state_move(m->state, handle++, random_vec3(&r, 1), random_vec3(&r, 1)));
        }
        m->state->time += 0.1;
        CHECK(check_derivative(m, &tni_force_handle, "handle") > 1);
        random_mechanism_free(m);
    }
}

// Of a target's torsion at known angles: its stiffness is that of Jl^-1, up to half a turn.
TEST(targets_at_1_90_and_170_degrees)
{
    static const double degrees[4] = {1, 90, 170, 179};
    test_random         r          = {6};
    for (int k = 0; k < 4; ++k) {
        random_mechanism* m      = random_mechanism_make();
        const tn_body_id  body   = random_add_body(m, &r, RANDOM_RIGID, random_vec3(&r, 1), false);
        const double      angle  = degrees[k] * 3.141592653589793 / 180;
        const tn_quat     turn   = tni_quat_exp(tni_scale(angle, random_direction(&r)));
        const tn_key      key    = {0, {{0, 0, 0}, tni_quat_mul(turn, m->poses[1].orientation)}};
        tn_target_def     target = tn_default_target_def();
        target.body = body, target.keys = &key, target.key_count = 1, target.angular_stiffness = 8;
        CHECK(tn_scene_add_target(m->scene, &target).bits != 0);
        random_mechanism_build(m);
        CHECK_NEAR(tn_state_energy(m->state).elastic, 4 * angle * angle, 1e-12);
        CHECK(check_derivative(m, &tni_force_target, "torsion") > 7);
        random_mechanism_free(m);
    }
}

TEST(drag_in_wind_and_loads)
{
    test_random r = {7};
    for (int round = 0; round < 5; ++round) {
        random_mechanism* m = force_rig_crowd(&r);
        for (int i = 1; i < m->body_count; ++i) {
            tn_load_def load = tn_default_load_def();
            if (!random_kind_moves(m->kinds[i])) continue;
            force_rig_add_drag(m, &r, i);
            load.body = (tn_body_id){(uint32_t)i}, load.force = random_vec3(&r, 5);
            load.point = random_vec3(&r, 0.5);
            if (m->kinds[i] == RANDOM_RIGID) load.torque = random_vec3(&r, 1);
            CHECK(tn_scene_add_load(m->scene, &load).bits != 0);
        }
        finish(m, &r);
        CHECK(check_derivative(m, &tni_force_drag, "drag") > 1);
        CHECK(check_derivative(m, &tni_force_load, "load") > 0.1);
        random_mechanism_free(m);
    }
}

TEST(elasticity)
{
    test_random r = {8};
    for (int round = 0; round < 10; ++round) {
        random_mechanism* m = force_rig_crowd(&r);
        finish(m, &r);
        CHECK(check_derivative(m, &tni_force_elastic, "elasticity") > 1);
        random_mechanism_free(m);
    }
}

// ---- Joints -------------------------------------------------------------------------------------

static bool is_rotation(const tni_joint_type* type, int k)
{
    return type->coordinates[k] >= TNI_COORDINATE_ROTATION_X;
}

static tn_limit no_limit(void)
{
    return tn_default_joint_def(TN_JOINT_HINGE).limit;
}

// Everything a joint can have, with an end that pushes in about half of the cases.
static void check_joint(test_random* r, random_joint_type t, random_kind kind1, random_kind kind2)
{
    const tni_joint_type* type = tni_joint_type_of(t.type, t.of);
    tn_joint_def          with = {.stiffness = 4, .damping = 2, .limit = no_limit()};
    with.friction = 1.5, with.friction_speed = 0.5;
    random_numbers(r, with.rest, type->coordinate_count, 1);
    random_numbers(r, with.force, type->coordinate_count, 1);
    if (!is_rotation(type, 0)) {
        with.limit.given = true, with.limit.stiffness = 20, with.limit.damping = 1;
        with.limit.lower = test_random_unit(r) < 0.5 ? 0.3 : -0.6;
        with.limit.upper = with.limit.lower + 0.3;
    }
    random_mechanism* m = force_rig_pair(r, t, kind1, kind2, &with, 0.6);
    (void)check_derivative(m, &tni_force_actuation, type->word);
    random_mechanism_free(m);
}

TEST(joints_of_every_type)
{
    for (uint64_t seed = 9; seed < 12; ++seed) force_rig_each_joint(seed, check_joint);
}

TEST(ball_limits)
{
    test_random r      = {12};
    int         pushed = 0;
    for (int round = 0; round < 60; ++round) {
        const random_kind other = round % 4 == 0 ? RANDOM_KINEMATIC : RANDOM_RIGID;
        tn_joint_def      with  = {.limit = no_limit()};
        with.limit.given = true, with.limit.stiffness = 20, with.limit.damping = 2;
        if (round % 3 != 1) with.limit.cone = test_random_between(&r, 0.3, 2);
        if (round % 3 != 0) {
            with.limit.twist_lower = test_random_between(&r, -1.5, 1);
            with.limit.twist_upper = with.limit.twist_lower + test_random_between(&r, 0, 0.3);
        }
        random_mechanism* m = force_rig_pair(&r, (random_joint_type){TN_JOINT_BALL, 0},
                                             RANDOM_RIGID, other, &with, 2);
        pushed += check_derivative(m, &tni_force_actuation, "ball limit") > 0;
        random_mechanism_free(m);
    }
    CHECK(pushed > 30);
}

// A ball between two bodies, turned by an angle about an axis in frame 1, which is the world's.
static random_mechanism* turned_ball(test_random* r, double angle, tn_vec3 axis, double stiffness)
{
    random_mechanism* m = random_mechanism_make();
    const tn_body_id  a = random_add_body(m, r, RANDOM_RIGID, tni_vec3(0, 0, 0), false),
                     b  = random_add_body(m, r, RANDOM_RIGID, tni_vec3(1, 0, 0), false);
    tn_joint_def def    = tn_default_joint_def(TN_JOINT_BALL);
    def.body1 = a, def.body2 = b, def.stiffness = stiffness;
    (void)tn_scene_add_joint(m->scene, &def);
    random_mechanism_build(m);
    tn_frame pose    = m->poses[2];
    pose.orientation = tni_quat_mul(tni_quat_exp(tni_scale(angle, axis)), pose.orientation);
    CHECK_OK(tn_state_set_pose(m->state, b, pose));
    return m;
}

TEST(balls_at_1_90_and_170_degrees)
{
    static const double degrees[4] = {1, 90, 170, 179};
    test_random         r          = {13};
    for (int k = 0; k < 4; ++k) {
        const double      angle = degrees[k] * 3.141592653589793 / 180;
        random_mechanism* m     = turned_ball(&r, angle, random_direction(&r), 5);
        CHECK_NEAR(tn_state_energy(m->state).elastic, 2.5 * angle * angle, 1e-12);
        random_numbers(&r, m->state->u, m->model->u_count, 1);
        CHECK(check_derivative(m, &tni_force_actuation, "ball") > 4);
        random_mechanism_free(m);
    }
}

// Equation (7) of Hernandez et al. 2011, phi/(2 sin phi) (R^T + 1), is right across the axis u and
// too stiff along it, by phi/sin phi: the step that takes [u]x off loses what lies along u. What is
// derived here has u^T K u = k at any angle.
TEST(equation_7_is_wrong_along_the_axis)
{
    static const double angles[3] = {0.5236, 1.5708, 2.9671};
    const double        k         = 3;
    test_random         r         = {14};
    for (int round = 0; round < 3; ++round) {
        const double      phi = angles[round];
        const tn_vec3     u   = random_direction(&r);
        random_mechanism* m   = turned_ball(&r, phi, u, k);
        force_rig         rig = force_rig_make(m);
        blocks            b   = blocks_of(&rig, &tni_force_actuation);
        const tni_mat3    R   = tni_quat_matrix(tni_quat_exp(tni_scale(phi, u)));
        tni_mat3          got, printed;
        for (int i = 0; i < 9; ++i) {
            const int row = i / 3, col = i % 3;
            got.m[i]     = b.K[(9 + row) * rig.n + 9 + col];
            printed.m[i] = k * phi / (2 * sin(phi)) * (R.m[3 * col + row] + (row == col));
        }
        const tn_vec3 v = tni_perpendicular(u);
        CHECK_LESS(tni_max_abs(tni_sub(tni_mul(&got, v), tni_mul(&printed, v))), 1e-12);
        CHECK_NEAR(tni_dot(u, tni_mul(&got, u)), k, 1e-12);
        CHECK_NEAR(tni_dot(u, tni_mul(&printed, u)), k * phi / sin(phi), 1e-10);
        free(b.K), free(b.D);
        force_rig_free(&rig);
        random_mechanism_free(m);
    }
}

// ---- All together -------------------------------------------------------------------------------

TEST(whole_scenes)
{
    for (uint64_t seed = 15; seed < 19; ++seed) {
        test_random       r = {seed};
        random_mechanism* m = random_forest(&r, 12);
        (void)check_derivative(m, NULL, "forest");
        random_mechanism_free(m);
    }
}
