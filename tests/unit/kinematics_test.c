// kinematics: points, axes, masses and coordinates of every kind of body; poses in and out; keys.
#include "force/force.h"
#include "linalg/dense.h"
#include "support/random_scene.h"

enum { NUMBERS_MAX = 64 };

static const double step      = 1e-4;
static const double tolerance = 1e-9;

static random_mechanism* one_body(test_random* r, random_kind kind)
{
    random_mechanism* m = random_mechanism_make();
    (void)random_add_body(m, r, kind, random_vec3(r, 1), false);
    random_mechanism_build(m);
    return m;
}

static tn_vec3 slope(tn_vec3 a2, tn_vec3 a1, tn_vec3 b1, tn_vec3 b2)
{
    const tn_vec3 near = tni_sub(b1, a1), far = tni_sub(b2, a2);
    return tni_scale(1 / (12 * step), tni_sub(tni_scale(8, near), far));
}

// ---- Points and axes ----------------------------------------------------------------------------

static tni_motion motion_at(const random_mechanism* m, tn_vec3 p, bool axis, double s)
{
    double   d[NUMBERS_MAX], q[NUMBERS_MAX];
    tni_view views[2];
    for (int i = 0; i < m->model->u_count; ++i) d[i] = s * m->state->u[i];
    tni_advance(m->model, m->state->q, d, q);
    tni_views(m->model, m->state->time + s, q, m->state->u, views);
    const int body = m->model->body_count - 1;
    return (axis ? tni_axis_motion : tni_point_motion)(&m->model->bodies[body], &views[body], p);
}

static void check_motion(const random_mechanism* m, tn_vec3 p, bool axis, int kind)
{
    const tni_motion here = motion_at(m, p, axis, 0), a2 = motion_at(m, p, axis, -2 * step),
                     a1 = motion_at(m, p, axis, -step), b1 = motion_at(m, p, axis, step),
                     b2 = motion_at(m, p, axis, 2 * step);
    const tn_vec3 rate  = slope(a2.at, a1.at, b1.at, b2.at),
                  bias  = slope(a2.rate, a1.rate, b1.rate, b2.rate);
    test_check(tni_max_abs(tni_sub(rate, here.rate)) < tolerance, __FILE__, __LINE__,
               "rate of kind %d, axis %d", kind, axis);
    test_check(tni_max_abs(tni_sub(bias, here.bias)) < tolerance, __FILE__, __LINE__,
               "bias of kind %d, axis %d", kind, axis);
}

TEST(points_and_axes_agree_with_differences)
{
    test_random r = {1};
    for (int kind = 0; kind < RANDOM_KIND_COUNT; ++kind) {
        random_mechanism* m = one_body(&r, (random_kind)kind);
        for (int round = 0; round < 10; ++round) {
            random_disturb(m, &r, 0.5, 1);
            check_motion(m, random_vec3(&r, 1), false, kind);
            if (kind != RANDOM_USER_POINT) check_motion(m, random_vec3(&r, 1), true, kind);
        }
        random_mechanism_free(m);
    }
}

// A force at a point does f . v of work a second, v being the rate of the point.
TEST(forces_at_points_work_with_the_rate_of_the_point)
{
    test_random r = {2};
    for (int kind = 0; kind < RANDOM_KINEMATIC; ++kind) {
        random_mechanism* m = one_body(&r, (random_kind)kind);
        for (int round = 0; round < 10; ++round) {
            random_disturb(m, &r, 0.5, 1);
            const tn_vec3  p = random_vec3(&r, 1), force = random_vec3(&r, 1), none = {0, 0, 0};
            const tni_view view           = tni_state_view(m->state, 1);
            double         f[NUMBERS_MAX] = {0}, power = 0;
            tni_apply_wrench(&m->model->bodies[1], &view, p, force, none, f);
            for (int i = 0; i < m->model->u_count; ++i) power += f[i] * m->state->u[i];
            CHECK_NEAR(power, tni_dot(force, motion_at(m, p, false, 0).rate), 1e-14);
        }
        random_mechanism_free(m);
    }
}

// ---- Advancing ----------------------------------------------------------------------------------

// d + s rate(d, u) is where u leads in the time s from q + d.
TEST(tangent_rates_agree_with_velocities)
{
    test_random r = {3};
    for (int kind = 0; kind < RANDOM_KINEMATIC; ++kind) {
        random_mechanism* m = one_body(&r, (random_kind)kind);
        const int         n = m->model->u_count;
        for (int round = 0; round < 20; ++round) {
            random_disturb(m, &r, 0.5, 1);
            double d[NUMBERS_MAX], rate[NUMBERS_MAX], at[NUMBERS_MAX], a[2][NUMBERS_MAX],
                b[2][NUMBERS_MAX], moved[NUMBERS_MAX];
            random_numbers(&r, d, n, 1);
            tni_tangent_rate(m->model, d, m->state->u, rate);
            tni_advance(m->model, m->state->q, d, at);
            for (int side = 0; side < 2; ++side) {
                const double s = side == 0 ? -1e-5 : 1e-5;
                for (int i = 0; i < n; ++i) moved[i] = s * m->state->u[i];
                tni_advance(m->model, at, moved, a[side]);
                for (int i = 0; i < n; ++i) moved[i] = d[i] + s * rate[i];
                tni_advance(m->model, m->state->q, moved, b[side]);
            }
            for (int i = 0; i < m->model->q_count; ++i)
                CHECK_NEAR((a[1][i] - a[0][i]) / 2e-5, (b[1][i] - b[0][i]) / 2e-5, 1e-8);
        }
        random_mechanism_free(m);
    }
}

TEST(advancing_in_place_is_advancing)
{
    test_random r = {4};
    for (int kind = 0; kind < RANDOM_KINEMATIC; ++kind) {
        random_mechanism* m = one_body(&r, (random_kind)kind);
        double            d[NUMBERS_MAX], q[NUMBERS_MAX];
        random_disturb(m, &r, 0.5, 1);
        random_numbers(&r, d, m->model->u_count, 1);
        tni_advance(m->model, m->state->q, d, q);
        tni_advance(m->model, m->state->q, d, m->state->q);
        for (int i = 0; i < m->model->q_count; ++i) CHECK(m->state->q[i] == q[i]);
        random_mechanism_free(m);
    }
}

// ---- Mass, against a cloud of points ------------------------------------------------------------

enum { CLOUD = 12 };
typedef struct cloud {
    double  mass[CLOUD], total;
    tn_vec3 p[CLOUD], centre; ///< in the body frame
    double  inertia[6];       ///< about the centre, xx yy zz xy xz yz
} cloud;

static cloud random_cloud(test_random* r, tn_vec3 about)
{
    cloud   c   = {.total = 0};
    tn_vec3 sum = {0, 0, 0};
    for (int i = 0; i < CLOUD; ++i) {
        c.mass[i] = test_random_between(r, 0.1, 1);
        c.p[i]    = random_vec3(r, 1);
        c.total += c.mass[i];
        sum = tni_add_scaled(sum, c.mass[i], c.p[i]);
    }
    c.centre = about;
    for (int i = 0; i < CLOUD; ++i) {
        c.p[i]          = tni_add(c.p[i], tni_sub(about, tni_scale(1 / c.total, sum)));
        const double  m = c.mass[i];
        const tn_vec3 d = tni_sub(c.p[i], about);
        c.inertia[0] += m * (d.y * d.y + d.z * d.z);
        c.inertia[1] += m * (d.x * d.x + d.z * d.z);
        c.inertia[2] += m * (d.x * d.x + d.y * d.y);
        c.inertia[3] -= m * d.x * d.y;
        c.inertia[4] -= m * d.x * d.z;
        c.inertia[5] -= m * d.y * d.z;
    }
    return c;
}

static random_mechanism* body_of_cloud(test_random* r, random_kind kind, cloud* c)
{
    random_mechanism* m   = random_mechanism_make();
    tn_body_def       def = tn_default_body_def();
    tn_scene_set_gravity(m->scene, tni_vec3(0, 0, 0));
    *c = random_cloud(r, kind == RANDOM_USER_SCALED ? tni_vec3(0, 0, 0) : random_vec3(r, 0.5));
    const double* I = c->inertia;
    def.mass        = c->total;
    def.com         = c->centre;
    memcpy(def.inertia, I, sizeof def.inertia);
    const double start[8] = {0.3, -0.2, 0.1, 1, 0, 0, 0, 1.2};
    def.kind              = kind == RANDOM_RIGID    ? TN_BODY_RIGID
                            : kind == RANDOM_PLANAR ? TN_BODY_PLANAR
                            : kind == RANDOM_AFFINE ? TN_BODY_AFFINE
                                                    : TN_BODY_USER;
    if (def.kind == TN_BODY_USER) {
        const tni_mat3 full = {{I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2]}};
        m->users[1]         = (user_body){c->total, full, {0, 0, 0}, 0};
        def.table = &user_scaled_table, def.data = &m->users[1], def.user_q = start;
    }
    (void)tn_scene_add_body(m->scene, &def);
    m->kinds[m->body_count++] = kind;
    random_mechanism_build(m);
    random_disturb(m, r, 0.4, 1);
    return m;
}

static tni_motion cloud_motion(const random_mechanism* m, const cloud* c, int i)
{
    const tni_body* body = &m->model->bodies[1];
    const tni_view  view = tni_state_view(m->state, 1);
    return tni_point_motion(body, &view, tni_sub(c->p[i], body->com));
}

TEST(masses_and_momenta_are_those_of_a_cloud_of_points)
{
    static const random_kind kinds[] = {RANDOM_RIGID, RANDOM_PLANAR, RANDOM_AFFINE,
                                        RANDOM_USER_SCALED};
    test_random              r       = {5};
    for (int round = 0; round < 40; ++round) {
        cloud             c;
        const random_kind kind = kinds[round % 4];
        random_mechanism* m    = body_of_cloud(&r, kind, &c);
        const tni_body*   body = &m->model->bodies[1];
        const tni_view    view = tni_state_view(m->state, 1);
        double            M[NUMBERS_MAX * NUMBERS_MAX], Mu[NUMBERS_MAX], energy = 0, wanted = 0;
        const int         n = body->dim;
        tni_mass_times(body, &view, view.u, Mu);
        for (int i = 0; i < n; ++i) energy += 0.5 * view.u[i] * Mu[i];
        tn_vec3 p = {0, 0, 0}, L = {0, 0, 0};
        for (int i = 0; i < CLOUD; ++i) {
            const tni_motion at = cloud_motion(m, &c, i);
            wanted += 0.5 * c.mass[i] * tni_dot(at.rate, at.rate);
            p = tni_add_scaled(p, c.mass[i], at.rate);
            L = tni_add_scaled(L, c.mass[i], tni_cross(at.at, at.rate));
        }
        CHECK_NEAR(energy, wanted, 1e-12);
        CHECK_NEAR(tn_state_energy(m->state).kinetic, wanted, 1e-12);
        if (kind != RANDOM_USER_SCALED) {
            const tn_momentum total = tn_state_momentum(m->state);
            CHECK_LESS(tni_max_abs(tni_sub(total.linear, p)), 1e-12);
            if (kind == RANDOM_PLANAR) CHECK_NEAR(total.angular.z, L.z, 1e-12);
            else CHECK_LESS(tni_max_abs(tni_sub(total.angular, L)), 1e-12);
        }
        tni_mass_block(body, &view, M);
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) CHECK(M[i * n + j] == M[j * n + i]);
        CHECK_OK(tni_dense_ldl(n, M));
        random_mechanism_free(m);
    }
}

// d'Alembert: the inertial force is minus the sum of m J^T bias over the points.
TEST(inertial_forces_are_those_of_a_cloud_of_points)
{
    static const random_kind kinds[] = {RANDOM_RIGID, RANDOM_PLANAR, RANDOM_AFFINE,
                                        RANDOM_USER_SCALED};
    test_random              r       = {6};
    for (int round = 0; round < 40; ++round) {
        cloud                c;
        random_mechanism*    m    = body_of_cloud(&r, kinds[round % 4], &c);
        const tni_body*      body = &m->model->bodies[1];
        tni_view             views[2];
        double               f[NUMBERS_MAX] = {0}, wanted[NUMBERS_MAX] = {0};
        const tn_vec3        none = {0, 0, 0};
        const tni_scene_view at   = {
              .model = m->model, .time = m->state->time, .z = m->state->z, .views = views};
        tni_views(m->model, m->state->time, m->state->q, m->state->u, views);
        tni_force_add(&tni_force_inertial, &at, f);
        if (body->kind == TN_BODY_USER) tni_force_add(&tni_force_user, &at, f);
        for (int i = 0; i < CLOUD; ++i) {
            const tn_vec3 push = tni_scale(-c.mass[i], cloud_motion(m, &c, i).bias);
            tni_apply_wrench(body, &views[1], tni_sub(c.p[i], body->com), push, none, wanted);
        }
        for (int i = 0; i < body->dim; ++i) CHECK_NEAR(f[i], wanted[i], 1e-12);
        random_mechanism_free(m);
    }
}

// ---- Poses and velocities, in and out -----------------------------------------------------------

static double frame_distance(tn_frame a, tn_frame b)
{
    const tn_vec3 turn =
        tni_quat_log(tni_quat_mul(a.orientation, tni_quat_conjugate(b.orientation)));
    return fmax(tni_max_abs(tni_sub(a.position, b.position)), tni_max_abs(turn));
}

TEST(poses_and_velocities_come_back_as_they_were_set)
{
    static const random_kind kinds[] = {RANDOM_RIGID, RANDOM_PLANAR, RANDOM_PARTICLE,
                                        RANDOM_AFFINE};
    test_random              r       = {7};
    const tn_body_id         id      = {1};
    for (int round = 0; round < 40; ++round) {
        const random_kind kind = kinds[round % 4];
        random_mechanism* m    = one_body(&r, kind);
        tn_frame          pose = {random_vec3(&r, 1), random_quat(&r)};
        tn_twist          v    = {random_vec3(&r, 1), random_vec3(&r, 1)};
        if (kind == RANDOM_PLANAR) {
            pose.position.z  = m->poses[1].position.z;
            pose.orientation = random_quat_about_z(&r);
            v.linear.z = v.angular.x = v.angular.y = 0;
        }
        if (kind == RANDOM_PARTICLE) {
            pose.orientation = (tn_quat){1, 0, 0, 0};
            v.angular        = tni_vec3(0, 0, 0);
        }
        CHECK_OK(tn_state_set_pose(m->state, id, pose));
        CHECK_OK(tn_state_set_velocity(m->state, id, v));
        const tn_twist v2 = tn_state_velocity(m->state, id);
        CHECK_LESS(frame_distance(tn_state_pose(m->state, id), pose), 1e-14);
        CHECK_LESS(tni_max_abs(tni_sub(v2.linear, v.linear)), 1e-14);
        CHECK_LESS(tni_max_abs(tni_sub(v2.angular, v.angular)), 1e-14);

        tn_state_reset(m->state);
        CHECK_LESS(frame_distance(tn_state_pose(m->state, id), m->poses[1]), 1e-14);
        random_mechanism_free(m);
    }
}

TEST(poses_that_a_body_cannot_take_are_refused)
{
    test_random              r      = {8};
    const tn_frame           tilted = {{0, 0, 0}, {0.8, 0.6, 0, 0}};
    const tn_frame           zero   = {{0, 0, 0}, {0, 0, 0, 0}};
    const tn_frame           broken = {{(double)NAN, 0, 0}, {1, 0, 0, 0}};
    const tn_twist           still  = {{0, 0, 0}, {0, 0, 0}};
    const tn_twist           wild   = {{0, (double)INFINITY, 0}, {0, 0, 0}};
    static const random_kind none[] = {RANDOM_STATIC, RANDOM_KINEMATIC, RANDOM_USER_SCALED,
                                       RANDOM_USER_POINT};
    for (int i = 0; i < 4; ++i) {
        random_mechanism* m = one_body(&r, none[i]);
        CHECK_INT(tn_state_set_pose(m->state, (tn_body_id){1}, tilted), TN_ERR_MODEL);
        CHECK_INT(tn_state_set_velocity(m->state, (tn_body_id){1}, still), TN_ERR_MODEL);
        CHECK_INT(tn_state_set_pose(m->state, (tn_body_id){0}, tilted), TN_ERR_MODEL);
        random_mechanism_free(m);
    }
    for (int kind = RANDOM_RIGID; kind <= RANDOM_AFFINE; ++kind) {
        random_mechanism* m    = one_body(&r, (random_kind)kind);
        const uint64_t    hash = tn_state_hash(m->state);
        CHECK_INT(tn_state_set_pose(m->state, (tn_body_id){1}, zero), TN_ERR_MODEL);
        CHECK_INT(tn_state_set_pose(m->state, (tn_body_id){1}, broken), TN_ERR_MODEL);
        CHECK_INT(tn_state_set_velocity(m->state, (tn_body_id){1}, wild), TN_ERR_MODEL);
        const tn_twist up = {{0, 0, 1}, {0, 0, 0}}, roll = {{0, 0, 0}, {1, 0, 0}};
        tn_frame       above = m->poses[1];
        above.position.z += 1;
        if (kind == RANDOM_PLANAR) {
            CHECK_INT(tn_state_set_pose(m->state, (tn_body_id){1}, tilted), TN_ERR_MODEL);
            CHECK_INT(tn_state_set_pose(m->state, (tn_body_id){1}, above), TN_ERR_MODEL);
            CHECK_INT(tn_state_set_velocity(m->state, (tn_body_id){1}, up), TN_ERR_MODEL);
        }
        if (kind == RANDOM_PLANAR || kind == RANDOM_PARTICLE)
            CHECK_INT(tn_state_set_velocity(m->state, (tn_body_id){1}, roll), TN_ERR_MODEL);
        CHECK(tn_state_hash(m->state) == hash);
        random_mechanism_free(m);
    }
}

// A pose may have an orientation, from a file or a mouse; anchors and the origin ignore it.
TEST(a_particle_has_no_attitude)
{
    random_mechanism* m   = random_mechanism_make();
    tn_body_def       def = tn_default_body_def();
    def.kind = TN_BODY_PARTICLE, def.mass = 1, def.com = tni_vec3(0.1, 0.2, 0.3);
    def.pose             = (tn_frame){{1, 2, 3}, {0.6, 0.8, 0, 0}};
    tn_joint_def ball    = tn_default_joint_def(TN_JOINT_BALL);
    ball.body2           = tn_scene_add_body(m->scene, &def);
    ball.anchor          = tni_vec3(2, 2, 2);
    const tn_joint_id id = tn_scene_add_joint(m->scene, &ball);
    random_mechanism_build(m);
    CHECK_LESS(tn_state_joint_error(m->state, id), 1e-15);
    for (int round = 0; round < 2; ++round) {
        const tn_vec3 at = tn_state_pose(m->state, ball.body2).position;
        CHECK_LESS(tni_max_abs(tni_sub(at, def.pose.position)), 1e-15);
        CHECK_OK(tn_state_set_pose(m->state, ball.body2, def.pose));
    }
    random_mechanism_free(m);
}

TEST(an_affine_body_shows_its_nearest_rotation)
{
    test_random r = {9};
    for (int round = 0; round < 20; ++round) {
        random_mechanism* m = one_body(&r, RANDOM_AFFINE);
        const tn_quat     o = random_quat(&r);
        const tni_mat3    R = tni_quat_matrix(o), B = tni_quat_matrix(random_quat(&r));
        const tni_mat3    stretch = {{test_random_between(&r, 0.5, 2), 0, 0, 0,
                                      test_random_between(&r, 0.5, 2), 0, 0, 0,
                                      test_random_between(&r, 0.5, 2)}};
        const tni_mat3    S = tni_rotate_symmetric(&B, &stretch), A = tni_mat_mul(&R, &S);
        for (int k = 0; k < 3; ++k) tni_write3(m->state->q + 3 + 3 * k, tni_column(&A, k));
        const tn_frame pose = tn_state_pose(m->state, (tn_body_id){1});
        CHECK_LESS(frame_distance(pose, (tn_frame){pose.position, o}), 1e-14);
        // the origin of the body frame stretches along
        const tn_vec3 com  = m->model->bodies[1].com;
        const tn_vec3 want = tni_sub(tni_read3(m->state->q), tni_mul(&A, com));
        CHECK_LESS(tni_max_abs(tni_sub(pose.position, want)), 1e-14);
        random_mechanism_free(m);
    }
}

TEST(a_planar_body_shows_the_turn_about_z)
{
    test_random       r = {10};
    random_mechanism* m = one_body(&r, RANDOM_PLANAR);
    for (double angle = -9; angle < 9; angle += 0.37) {
        m->state->q[2]      = angle;
        const tn_frame pose = tn_state_pose(m->state, (tn_body_id){1});
        const tn_vec3  x    = tni_rotate(pose.orientation, tni_vec3(1, 0, 0));
        CHECK_NEAR(x.x, cos(angle), 1e-14);
        CHECK_NEAR(x.y, sin(angle), 1e-14);
    }
    random_mechanism_free(m);
}

// ---- Keys ---------------------------------------------------------------------------------------

TEST(poses_along_keys_run_straight_and_turn_evenly)
{
    test_random r = {11};
    for (int round = 0; round < 20; ++round) {
        const tn_quat start = random_quat(&r);
        const tn_vec3 turn  = tni_scale(test_random_between(&r, 0.1, 3), random_direction(&r));
        tn_quat       end   = tni_quat_mul(tni_quat_exp(turn), start);
        if (round % 2 == 0) end = (tn_quat){-end.w, -end.x, -end.y, -end.z}; // the same attitude
        const tn_vec3 a = random_vec3(&r, 1), b = random_vec3(&r, 1);
        const tn_key  keys[3] = {{1, {a, start}}, {3, {b, end}}, {4, {a, start}}};
        tn_frame      pose;
        tn_twist      v;
        for (double t = 1; t < 3; t += 0.23) {
            const double   s    = (t - 1) / 2;
            const tn_frame want = {tni_add_scaled(tni_scale(1 - s, a), s, b),
                                   tni_quat_mul(tni_quat_exp(tni_scale(s, turn)), start)};
            tni_keys_at(keys, 3, t, &pose, &v);
            CHECK_LESS(frame_distance(pose, want), 1e-13);
            CHECK_LESS(tni_max_abs(tni_sub(v.linear, tni_scale(0.5, tni_sub(b, a)))), 1e-14);
            CHECK_LESS(tni_max_abs(tni_sub(v.angular, tni_scale(0.5, turn))), 1e-13);
        }
        for (int i = 0; i < 3; ++i) {
            tni_keys_at(keys, 3, keys[i].time, &pose, &v);
            CHECK_LESS(frame_distance(pose, keys[i].pose), 1e-14);
        }
        tni_keys_at(keys, 3, 0.5, &pose, &v); // at rest before and after
        CHECK(memcmp(&pose, &keys[0].pose, sizeof pose) == 0 && tni_norm(v.linear) == 0);
        tni_keys_at(keys, 3, 4.5, &pose, &v);
        CHECK(memcmp(&pose, &keys[2].pose, sizeof pose) == 0 && tni_norm(v.angular) == 0);
    }
}

TEST(values_along_keys_run_straight)
{
    const tn_value_key keys[3]     = {{1, 5}, {2, 7}, {4, -1}};
    const double       wanted[][3] = {{0, 5, 0},    {1, 5, 2},  {1.25, 5.5, 2}, {2, 7, -4},
                                      {3.5, 1, -4}, {4, -1, 0}, {9, -1, 0}};
    for (int i = 0; i < 7; ++i) {
        double value, rate;
        tni_values_at(keys, 3, wanted[i][0], &value, &rate);
        CHECK_NEAR(value, wanted[i][1], 1e-15);
        CHECK_NEAR(rate, wanted[i][2], 1e-15);
    }
    double value, rate;
    tni_values_at(keys, 1, 7, &value, &rate);
    CHECK(value == 5 && rate == 0);
}
