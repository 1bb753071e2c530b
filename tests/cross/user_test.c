// cross: user-defined bodies and constraints move like the built-in ones that they copy.
#include "support/user_bodies.h"
#include "tenon/step.h"
#include "test.h"

enum { STEPS = 100 };

static const double  h       = 0.01;
static const tn_vec3 gravity = {1, 0, -9.81};

typedef struct run {
    tn_scene*   scene;
    tn_model*   model;
    tn_state*   state;
    tn_stepper* stepper;
} run;

static run run_make(void)
{
    run r = {.scene = NULL};
    CHECK_OK(tn_scene_create(NULL, &r.scene));
    tn_scene_set_gravity(r.scene, gravity);
    tn_settings settings = tn_scene_settings(r.scene);
    settings.method      = TN_METHOD_MULTIPLIER;
    tn_scene_set_settings(r.scene, &settings);
    return r;
}

static void run_start(run* r)
{
    tn_why          why    = {0};
    const tn_result result = tn_scene_compile(r->scene, &r->model, &why);
    test_check(result == TN_OK, __FILE__, __LINE__, "%s", why.text);
    CHECK_OK(tn_state_create(r->model, &r->state));
    CHECK_OK(tn_stepper_create(r->model, NULL, &r->stepper, NULL));
    CHECK_OK(tn_stepper_project(r->stepper, r->state, NULL, NULL));
}

static void run_pieces(run* r, int count)
{
    for (int i = 0; i < count; ++i) {
        tn_why          why    = {0};
        const tn_result result = tn_stepper_step(r->stepper, r->state, h / count, NULL, &why);
        test_check(result == TN_OK, __FILE__, __LINE__, "%s", why.text);
    }
}

static void run_step(run* r)
{
    run_pieces(r, 1);
}

static void run_free(run* r)
{
    tn_stepper_free(r->stepper);
    tn_state_free(r->state);
    tn_model_free(r->model);
    tn_scene_free(r->scene);
}

// Bodies of two runs, in the same order, have equal poses and velocities.
static void check_same(const run* a, const run* b, int body_count, double tolerance)
{
    for (int i = 1; i <= body_count; ++i) {
        const tn_body_id id = {(uint32_t)i};
        const tn_frame   p = tn_state_pose(a->state, id), q = tn_state_pose(b->state, id);
        const tn_twist   v = tn_state_velocity(a->state, id), w = tn_state_velocity(b->state, id);
        const tn_vec3    turn =
            tni_quat_log(tni_quat_mul(p.orientation, tni_quat_conjugate(q.orientation)));
        CHECK_LESS(tni_max_abs(tni_sub(p.position, q.position)), tolerance);
        CHECK_LESS(tni_max_abs(turn), tolerance);
        CHECK_LESS(tni_max_abs(tni_sub(v.linear, w.linear)), 10 * tolerance);
        CHECK_LESS(tni_max_abs(tni_sub(v.angular, w.angular)), 10 * tolerance);
    }
}

static double travelled(const run* r, int body)
{
    const tn_body_id id  = {(uint32_t)body};
    const tn_vec3    now = tn_state_pose(r->state, id).position;
    tn_state*        start;
    CHECK_OK(tn_state_create(r->model, &start));
    const double way = tni_norm(tni_sub(now, tn_state_pose(start, id).position));
    tn_state_free(start);
    return way;
}

static tn_body_def rigid_def(tn_vec3 position)
{
    const double inertia[6] = {0.1, 0.2, 0.25, 0.02, 0.01, -0.03};
    tn_body_def  def        = tn_default_body_def();
    def.mass                = 2;
    memcpy(def.inertia, inertia, sizeof inertia);
    def.pose.position    = position;
    def.pose.orientation = tni_quat_exp(tni_vec3(0.3, -0.2, 0.5));
    def.velocity.angular = tni_vec3(1, 2, 3);
    return def;
}

static void add_joint(run* r, tn_joint_type type, int body1, int body2, tn_vec3 anchor,
                      tn_vec3 axis)
{
    tn_joint_def def = tn_default_joint_def(type);
    def.body1 = (tn_body_id){(uint32_t)body1}, def.body2 = (tn_body_id){(uint32_t)body2};
    def.anchor = anchor;
    def.axis   = axis;
    if (type == TN_JOINT_HINGE) def.damping = 0.1;
    (void)tn_scene_add_joint(r->scene, &def);
}

static void add_distance(run* r, int body1, int body2)
{
    tn_joint_def def = tn_default_joint_def(TN_JOINT_DISTANCE);
    def.body1 = (tn_body_id){(uint32_t)body1}, def.body2 = (tn_body_id){(uint32_t)body2};
    (void)tn_scene_add_joint(r->scene, &def);
}

static void add_spring(run* r, int body1, int body2, tn_vec3 anchor1)
{
    tn_spring_def def = tn_default_spring_def();
    def.body1 = (tn_body_id){(uint32_t)body1}, def.body2 = (tn_body_id){(uint32_t)body2};
    def.anchor1   = anchor1;
    def.stiffness = 20, def.damping = 0.5, def.length = 0.4;
    CHECK(tn_scene_add_spring(r->scene, &def).bits != 0);
}

// ---- The particle -------------------------------------------------------------------------------

static const user_body point_data = {.mass = 0.7, .gravity = {1, 0, -9.81}};

static void add_point(run* r, tn_vec3 at, bool own)
{
    const double q[3] = {at.x, at.y, at.z}, u[3] = {0.1, 0.2, -0.3};
    tn_body_def  def    = tn_default_body_def();
    def.kind            = own ? TN_BODY_USER : TN_BODY_PARTICLE;
    def.mass            = point_data.mass;
    def.pose.position   = at;
    def.velocity.linear = tni_read3(u);
    if (own) def.table = &user_point_table, def.data = &point_data, def.user_q = q, def.user_u = u;
    (void)tn_scene_add_body(r->scene, &def);
}

// A rigid arm on the ground, three points hung on it by a ball, a wire and a rod, and a spring.
static run run_of_points(bool own)
{
    run               r   = run_make();
    const tn_body_def arm = rigid_def(tni_vec3(0.5, 0, 0));
    (void)tn_scene_add_body(r.scene, &arm);
    add_point(&r, tni_vec3(1, 0.2, 0), own);
    add_point(&r, tni_vec3(1.3, 0.5, 0), own);
    add_point(&r, tni_vec3(0.2, -0.6, 0), own);
    add_joint(&r, TN_JOINT_HINGE, 0, 1, tni_vec3(0, 0, 0), tni_vec3(0, 1, 1));
    add_joint(&r, TN_JOINT_BALL, 1, 2, tni_vec3(1, 0.2, 0), tni_vec3(0, 0, 1));
    add_distance(&r, 2, 3);
    add_joint(&r, TN_JOINT_POINT_ON_LINE, 1, 4, tni_vec3(0.2, -0.6, 0), tni_vec3(1, 2, 0));
    add_spring(&r, 1, 3, tni_vec3(0.2, 0, 0.1));
    run_start(&r);
    return r;
}

TEST(a_user_defined_particle_moves_like_the_built_in_one)
{
    run a = run_of_points(false), b = run_of_points(true);
    for (int i = 0; i < STEPS; ++i) {
        run_step(&a);
        run_step(&b);
        check_same(&a, &b, 4, 1e-12);
    }
    CHECK(travelled(&a, 3) > 0.3);
    CHECK_NEAR(tn_state_energy(a.state).kinetic, tn_state_energy(b.state).kinetic, 1e-11);
    run_free(&a);
    run_free(&b);
}

// ---- The rigid body, with its scale held at one -------------------------------------------------

static const user_body rigid_data = {
    .mass    = 2,
    .inertia = {{0.1, 0.02, 0.01, 0.02, 0.2, -0.03, 0.01, -0.03, 0.25}},
    .gravity = {1, 0, -9.81}};

static void add_rigid(run* r, tn_vec3 at, bool own)
{
    tn_body_def   def  = rigid_def(at);
    const tn_quat o    = def.pose.orientation;
    const tn_vec3 w    = def.velocity.angular;
    const double  q[8] = {at.x, at.y, at.z, o.w, o.x, o.y, o.z, 1};
    const double  u[7] = {0, 0, 0, w.x, w.y, w.z, 0};
    if (own) {
        def.kind  = TN_BODY_USER;
        def.table = &user_scaled_table, def.data = &rigid_data, def.user_q = q, def.user_u = u;
    }
    (void)tn_scene_add_body(r->scene, &def);
}

// s - 1 = 0
static void hold_scale(const void* data, double time, const tn_body_view* bodies, double* C,
                       double* rate, double* const* J, double* gamma)
{
    (void)data, (void)time;
    if (C != NULL) *C = bodies[0].q[7] - 1;
    if (rate != NULL) *rate = bodies[0].u[6];
    if (gamma != NULL) *gamma = 0;
    for (int k = 0; J != NULL && k < 7; ++k) J[0][k] = k == 6;
}
static const tn_constraint_table scale_table = {.rows = 1, .holonomic = 1, .rows_at = hold_scale};

static run run_of_rigids(bool own)
{
    run r = run_make();
    for (int i = 0; i < 3; ++i) add_rigid(&r, tni_vec3(0.5 + i, 0.1 * i, 0), own);
    add_joint(&r, TN_JOINT_UNIVERSAL, 0, 1, tni_vec3(0, 0, 0), tni_vec3(0, 1, 0));
    add_joint(&r, TN_JOINT_HINGE, 1, 2, tni_vec3(1, 0, 0), tni_vec3(0, 1, 1));
    add_joint(&r, TN_JOINT_CYLINDER, 2, 3, tni_vec3(2, 0, 0), tni_vec3(1, 0, 1));
    add_spring(&r, 1, 3, tni_vec3(0.2, 0, 0.1));
    for (uint32_t i = 1; own && i <= 3; ++i) {
        const tn_body_id  body = {i};
        tn_constraint_def hold = tn_default_constraint_def();
        hold.bodies            = &body;
        hold.body_count        = 1;
        hold.table             = &scale_table;
        (void)tn_scene_add_constraint(r.scene, &hold);
    }
    run_start(&r);
    return r;
}

// The row that fixes the scale makes the user's mechanism a loop, whose stages are projected onto
// the constraints: the same order, another error (they differ by 1.5e-11, 9.5e-13, 6.2e-14 with 10,
// 20, 40 steps).
TEST(a_user_defined_rigid_body_moves_like_the_built_in_one)
{
    run a = run_of_rigids(false), b = run_of_rigids(true);
    for (int i = 0; i < STEPS; ++i) {
        run_pieces(&a, 40);
        run_pieces(&b, 40);
        check_same(&a, &b, 3, 1e-12);
    }
    CHECK(travelled(&a, 3) > 0.3);
    for (int i = 0; i < 3; ++i) CHECK_NEAR(tn_state_coordinates(b.state)[8 * i + 7], 1, 1e-12);
    run_free(&a);
    run_free(&b);
}

// Free in space it keeps energy and angular momentum, growing and shrinking.
TEST(a_body_that_grows_keeps_energy_and_angular_momentum)
{
    const double q[8] = {0, 0, 0, 1, 0, 0, 0, 1}, u[7] = {0, 0, 0, 1, 2, 3, 0.1};
    user_body    data = rigid_data;
    data.gravity      = tni_vec3(0, 0, 0);
    data.stiffness    = 4;
    run         r     = run_make();
    tn_body_def def   = tn_default_body_def();
    def.kind          = TN_BODY_USER;
    def.table = &user_scaled_table, def.data = &data, def.user_q = q, def.user_u = u;
    (void)tn_scene_add_body(r.scene, &def);
    run_start(&r);
    double          M[49], L0[3] = {0}, largest = 1;
    const tn_energy e0 = tn_state_energy(r.state);
    for (int i = 0; i <= 2 * STEPS; ++i) {
        const double *at = tn_state_coordinates(r.state), *v = tn_state_velocities(r.state);
        user_scaled_mass(&data, at, M);
        for (int k = 0; k < 3; ++k) {
            double L = 0;
            for (int j = 0; j < 3; ++j) L += M[7 * (3 + k) + 3 + j] * v[3 + j];
            if (i == 0) L0[k] = L;
            CHECK_NEAR(L, L0[k], 1e-7);
        }
        const tn_energy e = tn_state_energy(r.state);
        CHECK_NEAR(e.kinetic + e.elastic, e0.kinetic + e0.elastic, 1e-6);
        largest = fmax(largest, at[7]);
        run_step(&r);
    }
    CHECK(largest > 1.2);
    run_free(&r);
}

// ---- The ball joint -----------------------------------------------------------------------------

typedef struct ball_data {
    tn_vec3 p[2]; ///< in each body's frame
} ball_data;

// p2 - p1 = 0, for rigid bodies and the ground
static void ball_rows(const void* data, double time, const tn_body_view* bodies, double* C,
                      double* rate, double* const* J, double* gamma)
{
    const ball_data* ball = data;
    tn_vec3          at[2], v[2], a[2], r[2];
    (void)time;
    for (int i = 0; i < 2; ++i) {
        const tn_frame pose = bodies[i].pose;
        const tn_vec3  arm  = tni_rotate(pose.orientation, ball->p[i]),
                      w     = bodies[i].velocity.angular;
        at[i]               = tni_add(pose.position, arm);
        v[i]                = tni_add(bodies[i].velocity.linear, tni_cross(w, arm));
        r[i]                = tni_sub(at[i], bodies[i].com);
        a[i]                = tni_cross(w, tni_cross(w, r[i]));
    }
    if (C != NULL) tni_write3(C, tni_sub(at[1], at[0]));
    if (rate != NULL) tni_write3(rate, tni_sub(v[1], v[0]));
    if (gamma != NULL) tni_write3(gamma, tni_sub(a[1], a[0]));
    for (int i = 0; J != NULL && i < 2; ++i) {
        const double sign = i == 0 ? -1 : 1;
        if (J[i] == NULL) continue;
        for (int k = 0; k < 3; ++k) {
            const tn_vec3 e = {k == 0, k == 1, k == 2};
            tni_write3(J[i] + 6 * k, tni_scale(sign, e));
            tni_write3(J[i] + 6 * k + 3, tni_scale(sign, tni_cross(r[i], e)));
        }
    }
}
static const tn_constraint_table ball_table = {.rows = 3, .holonomic = 3, .rows_at = ball_rows};

static tn_vec3 seen_from(const tn_body_def* def, tn_vec3 anchor)
{
    return tni_rotate(tni_quat_conjugate(def->pose.orientation),
                      tni_sub(anchor, def->pose.position));
}

// Three rigid bodies with their centres of mass off their frames' origins, in a chain of balls.
static run run_of_balls(bool own, ball_data data[3])
{
    run         r      = run_make();
    tn_body_def before = {.pose = {{0, 0, 0}, {1, 0, 0, 0}}};
    for (int i = 0; i < 3; ++i) {
        tn_body_def def = rigid_def(tni_vec3(0.5 + i, 0.1 * i, 0));
        def.com         = tni_vec3(0.1, -0.2, 0.05);
        (void)tn_scene_add_body(r.scene, &def);
        const tn_vec3    anchor  = tni_vec3(i, 0, 0);
        const tn_body_id pair[2] = {{(uint32_t)i}, {(uint32_t)i + 1}};
        data[i].p[0]             = seen_from(&before, anchor);
        data[i].p[1]             = seen_from(&def, anchor);
        tn_constraint_def ball   = tn_default_constraint_def();
        ball.bodies              = pair;
        ball.body_count          = 2;
        ball.table               = &ball_table;
        ball.data                = &data[i];
        if (own) (void)tn_scene_add_constraint(r.scene, &ball);
        else add_joint(&r, TN_JOINT_BALL, i, i + 1, anchor, tni_vec3(0, 0, 1));
        before = def;
    }
    run_start(&r);
    return r;
}

TEST(a_user_defined_ball_joint_holds_like_the_built_in_one)
{
    ball_data data[2][3];
    run       a = run_of_balls(false, data[0]), b = run_of_balls(true, data[1]);
    for (int i = 0; i < STEPS; ++i) {
        run_step(&a);
        run_step(&b);
        check_same(&a, &b, 3, 1e-12);
    }
    CHECK(travelled(&a, 3) > 0.3);
    CHECK_OK(tn_stepper_evaluate(a.stepper, a.state, NULL, NULL));
    CHECK_OK(tn_stepper_evaluate(b.stepper, b.state, NULL, NULL));
    for (uint32_t i = 1; i <= 3; ++i) {
        const tn_vec3 f = tn_stepper_reaction(a.stepper, (tn_joint_id){i}).force,
                      g = tn_stepper_reaction(b.stepper, (tn_joint_id){i}).force;
        CHECK(tni_norm(f) > 1);
        CHECK_LESS(tni_max_abs(tni_sub(f, g)), 1e-10 * tni_norm(f));
        CHECK_LESS(tn_state_joint_error(b.state, (tn_joint_id){i}), 1e-10);
    }
    run_free(&a);
    run_free(&b);
}

// ---- One body, moved by a law of time -----------------------------------------------------------

// z - sin(3 t)/4 = 0 for the centre of mass of a rigid body
static void wave_rows(const void* data, double time, const tn_body_view* bodies, double* C,
                      double* rate, double* const* J, double* gamma)
{
    (void)data;
    if (C != NULL) *C = bodies[0].com.z - sin(3 * time) / 4;
    if (rate != NULL) *rate = bodies[0].u[2] - 3 * cos(3 * time) / 4;
    if (gamma != NULL) *gamma = 9 * sin(3 * time) / 4;
    for (int k = 0; J != NULL && k < 6; ++k) J[0][k] = k == 2;
}
static const tn_constraint_table wave_table = {.rows = 1, .holonomic = 1, .rows_at = wave_rows};

TEST(a_constraint_on_one_body_follows_its_law)
{
    run               r    = run_make();
    const tn_body_def def  = rigid_def(tni_vec3(0, 0, 0));
    const tn_body_id  body = tn_scene_add_body(r.scene, &def);
    tn_constraint_def wave = tn_default_constraint_def();
    wave.bodies            = &body;
    wave.body_count        = 1;
    wave.table             = &wave_table;
    (void)tn_scene_add_constraint(r.scene, &wave);
    run_start(&r);
    for (int i = 0; i < STEPS; ++i) {
        run_step(&r);
        const double t = tn_state_time(r.state);
        CHECK_NEAR(tn_state_coordinates(r.state)[2], sin(3 * t) / 4, 1e-10);
        CHECK_NEAR(tn_state_velocities(r.state)[2], 3 * cos(3 * t) / 4, 1e-10);
        CHECK_NEAR(tn_state_velocities(r.state)[0], t, 1e-10); // gravity along x is not hindered
    }
    run_free(&r);
}

// ---- One body, a velocity only ------------------------------------------------------------------

// A blade along the body's x: no velocity across, v . y = 0.
static void blade_rows(const void* data, double time, const tn_body_view* bodies, double* C,
                       double* rate, double* const* J, double* gamma)
{
    (void)data, (void)time;
    const tn_vec3 y = tni_rotate(bodies[0].pose.orientation, tni_vec3(0, 1, 0)),
                  v = tni_read3(bodies[0].u), w = tni_read3(bodies[0].u + 3);
    if (C != NULL) *C = 123; // a velocity-only row has no position: this must not be used
    if (rate != NULL) *rate = tni_dot(y, v);
    if (gamma != NULL) *gamma = tni_dot(tni_cross(w, y), v);
    for (int k = 0; J != NULL && k < 6; ++k) J[0][k] = k < 3 ? tni_at(y, k) : 0;
}
static const tn_constraint_table blade_table = {.rows = 1, .holonomic = 0, .rows_at = blade_rows};

TEST(a_velocity_constraint_leaves_the_place_free)
{
    run         r   = run_make();
    tn_body_def def = rigid_def(tni_vec3(0, 0, 0));
    tn_scene_set_gravity(r.scene, tni_vec3(0, 0, 0));
    def.pose.orientation = (tn_quat){1, 0, 0, 0};
    for (int k = 0; k < 6; ++k) def.inertia[k] = k < 3 ? 0.2 : 0;
    def.velocity = (tn_twist){{1, 0, 0}, {0, 0, 2}}; // a skate on ice runs in a circle of 1/2 m
    const tn_body_id  body   = tn_scene_add_body(r.scene, &def);
    tn_constraint_def blade  = tn_default_constraint_def();
    blade.bodies             = &body;
    blade.body_count         = 1;
    blade.table              = &blade_table;
    const tn_joint_id id     = tn_scene_add_constraint(r.scene, &blade);
    tn_settings       set    = tn_scene_settings(r.scene);
    set.multiplier.baumgarte = 0.1; // pulls towards C = 0 where there is a C
    tn_scene_set_settings(r.scene, &set);
    run_start(&r);
    for (int i = 0; i < 2 * STEPS; ++i) {
        run_step(&r);
        const double t = tn_state_time(r.state);
        CHECK_NEAR(tn_state_coordinates(r.state)[0], sin(2 * t) / 2, 1e-7);
        CHECK_NEAR(tn_state_coordinates(r.state)[1], (1 - cos(2 * t)) / 2, 1e-7);
        CHECK_LESS(tn_state_joint_velocity_error(r.state, id), 1e-10);
        CHECK(tn_state_joint_error(r.state, id) == 0);
    }
    run_free(&r);
}

// ---- Three bodies -------------------------------------------------------------------------------

// The centre of mass of three bodies of equal mass stays at the origin. A particle, a rigid and a
// user-defined body all have the velocity of their centre in the first three columns.
static void centre_rows(const void* data, double time, const tn_body_view* bodies, double* C,
                        double* rate, double* const* J, double* gamma)
{
    (void)data, (void)time;
    tn_vec3 x = {0, 0, 0}, v = {0, 0, 0};
    for (int i = 0; i < 3; ++i) {
        x = tni_add(x, bodies[i].com);
        v = tni_add(v, tni_read3(bodies[i].u));
        for (int k = 0; J != NULL && k < 3; ++k)
            for (int j = 0; j < bodies[i].dim; ++j) J[i][k * bodies[i].dim + j] = j == k;
    }
    if (C != NULL) tni_write3(C, x);
    if (rate != NULL) tni_write3(rate, v);
    if (gamma != NULL) tni_write3(gamma, tni_vec3(0, 0, 0));
}
static const tn_constraint_table centre_table = {.rows = 3, .holonomic = 3, .rows_at = centre_rows};

TEST(a_constraint_on_three_bodies_holds)
{
    run          r    = run_make();
    user_body    data = rigid_data;
    const double q[8] = {-1, 0.1, 0, 1, 0, 0, 0, 1};
    data.stiffness    = 10;
    tn_body_def def   = rigid_def(tni_vec3(1, 0, 0));
    (void)tn_scene_add_body(r.scene, &def);
    def               = tn_default_body_def();
    def.kind          = TN_BODY_PARTICLE;
    def.mass          = 2;
    def.pose.position = tni_vec3(0, 1, 0);
    (void)tn_scene_add_body(r.scene, &def);
    def       = tn_default_body_def();
    def.kind  = TN_BODY_USER;
    def.table = &user_scaled_table, def.data = &data, def.user_q = q;
    (void)tn_scene_add_body(r.scene, &def);
    const tn_body_id  bodies[3] = {{1}, {2}, {3}};
    tn_constraint_def centre    = tn_default_constraint_def();
    centre.bodies               = bodies;
    centre.body_count           = 3;
    centre.table                = &centre_table;
    const tn_joint_id id        = tn_scene_add_constraint(r.scene, &centre);
    add_spring(&r, 1, 2, tni_vec3(0.2, 0, 0.1));
    add_spring(&r, 3, 1, tni_vec3(0.2, 0, 0.1));
    run_start(&r);
    for (int i = 0; i < STEPS; ++i) {
        run_step(&r);
        CHECK_LESS(tn_state_joint_error(r.state, id), 1e-10);
        CHECK_LESS(tn_state_joint_velocity_error(r.state, id), 1e-10);
    }
    CHECK(travelled(&r, 2) > 0.1);
    // it carries the weight of all three, a third each
    CHECK_OK(tn_stepper_evaluate(r.stepper, r.state, NULL, NULL));
    const double* lambda = tn_stepper_multipliers(r.stepper, id);
    const tn_vec3 weight = tni_scale(-2, gravity);
    CHECK_LESS(tni_max_abs(tni_sub(tni_read3(lambda), weight)), 1e-9);
    run_free(&r);
}
