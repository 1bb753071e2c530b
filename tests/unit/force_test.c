// force: forces with an energy are its negative gradient, dampers dissipate, internal forces
// balance.
#include "force/force.h"
#include "support/random_scene.h"

static const double step      = 1e-4;
static const double tolerance = 1e-8;

typedef struct workspace {
    double    f[1024], q[1024], d[1024];
    tni_view* views;
} workspace;

static workspace* workspace_of(const random_mechanism* m)
{
    workspace* w = calloc(1, sizeof *w);
    w->views     = calloc((size_t)m->model->body_count, sizeof *w->views);
    CHECK(m->model->u_count < 1024 && m->model->q_count < 1024);
    return w;
}

static void workspace_free(workspace* w)
{
    free(w->views);
    free(w);
}

static tni_scene_view scene_at(const random_mechanism* m, workspace* w, const double* q,
                               const double* u)
{
    tni_views(m->model, m->state->time, q, u, w->views);
    return (tni_scene_view){.model  = m->model,
                            .time   = m->state->time,
                            .z      = m->state->z,
                            .views  = w->views,
                            .inputs = &m->state->inputs};
}

// ---- Gradients ----------------------------------------------------------------------------------

static double energy_at(const random_mechanism* m, workspace* w, const tni_force* force, int column,
                        double move)
{
    memset(w->d, 0, sizeof w->d);
    w->d[column] = move;
    tni_advance(m->model, m->state->q, w->d, w->q);
    const tni_scene_view at = scene_at(m, w, w->q, NULL);
    return force->energy(&at);
}

// f = -dE/dq at rest; returns the largest |f|.
static double check_gradient(const random_mechanism* m, const tni_force* force, const char* label)
{
    workspace*           w    = workspace_of(m);
    const tni_scene_view at   = scene_at(m, w, m->state->q, NULL);
    double               size = 0;
    tni_force_add(force, &at, w->f);
    for (int i = 0; i < m->model->u_count; ++i) size = fmax(size, fabs(w->f[i]));
    for (int i = 0; i < m->model->u_count; ++i) {
        const double slope =
            (8 * (energy_at(m, w, force, i, step) - energy_at(m, w, force, i, -step)) -
             (energy_at(m, w, force, i, 2 * step) - energy_at(m, w, force, i, -2 * step))) /
            (12 * step);
        test_check(fabs(w->f[i] + slope) <= tolerance * fmax(1, size), __FILE__, __LINE__,
                   "%s: force %d is %.12g, by differences %.12g", label, i, w->f[i], -slope);
    }
    workspace_free(w);
    return size;
}

static random_mechanism* crowd(test_random* r) // one of each kind, apart from each other
{
    random_mechanism* m = random_mechanism_make();
    tn_scene_set_gravity(m->scene, random_vec3(r, 10));
    for (int kind = 0; kind < RANDOM_GROUND; ++kind)
        (void)random_add_body(m, r, (random_kind)kind, random_vec3(r, 2), false);
    return m;
}

static void finish(random_mechanism* m, test_random* r, double velocity)
{
    random_mechanism_build(m);
    random_disturb(m, r, 0.3, velocity);
}

TEST(gravity_is_the_gradient_of_its_energy)
{
    test_random r = {1};
    for (int round = 0; round < 10; ++round) {
        random_mechanism* m = crowd(&r);
        finish(m, &r, 1);
        CHECK(check_gradient(m, &tni_force_gravity, "gravity") > 0.01);
        random_mechanism_free(m);
    }
}

TEST(elasticity_is_the_gradient_of_its_energy)
{
    test_random r = {2};
    for (int round = 0; round < 10; ++round) {
        random_mechanism* m = crowd(&r);
        finish(m, &r, 1);
        memset(m->state->u, 0, sizeof(double) * (size_t)m->model->u_count);
        CHECK(check_gradient(m, &tni_force_elastic, "elasticity") > 0.1);
        random_mechanism_free(m);
    }
}

// Springs between all pairs of kinds.
static random_mechanism* springs(test_random* r, double stiffness, double damping)
{
    random_mechanism* m = crowd(r);
    for (int a = 0; a < m->body_count; ++a) {
        for (int b = a + 1; b < m->body_count; ++b) {
            tn_spring_def spring = tn_default_spring_def();
            spring.body1 = (tn_body_id){(uint32_t)a}, spring.body2 = (tn_body_id){(uint32_t)b};
            spring.anchor1 = random_vec3(r, 0.5), spring.anchor2 = random_vec3(r, 0.5);
            spring.stiffness = stiffness, spring.damping = damping;
            if (test_random_unit(r) < 0.5) spring.length = test_random_unit(r);
            CHECK_OK(tn_scene_add_spring(m->scene, &spring));
        }
    }
    return m;
}

TEST(springs_are_the_gradient_of_their_energy)
{
    test_random r = {3};
    for (int round = 0; round < 10; ++round) {
        random_mechanism* m = springs(&r, 7, 0);
        finish(m, &r, 1);
        CHECK(check_gradient(m, &tni_force_spring, "spring") > 0.1);
        random_mechanism_free(m);
    }
}

static random_mechanism* targets(test_random* r, double stiffness, double damping, bool moving)
{
    random_mechanism* m = crowd(r);
    for (int i = 1; i < m->body_count; ++i) {
        if (!random_kind_moves(m->kinds[i])) continue;
        tn_key        keys[2] = {{0, {random_vec3(r, 1), random_quat(r)}},
                                 {3, {random_vec3(r, 1), random_quat(r)}}};
        tn_target_def target  = tn_default_target_def();
        target.body = (tn_body_id){(uint32_t)i}, target.keys = keys;
        target.key_count = moving ? 2 : 1;
        target.point     = random_vec3(r, 0.5);
        target.stiffness = 3 * stiffness, target.damping = damping;
        if (m->kinds[i] == RANDOM_RIGID || m->kinds[i] == RANDOM_PLANAR)
            target.angular_stiffness = 2 * stiffness, target.angular_damping = damping;
        if (m->kinds[i] == RANDOM_PLANAR)
            keys[0].pose.orientation = keys[1].pose.orientation = random_quat_about_z(r);
        CHECK_OK(tn_scene_add_target(m->scene, &target));
    }
    return m;
}

TEST(targets_are_the_gradient_of_their_energy)
{
    test_random r = {4};
    for (int round = 0; round < 10; ++round) {
        random_mechanism* m = targets(&r, 1, 0, true);
        finish(m, &r, 1);
        CHECK(check_gradient(m, &tni_force_target, "target") > 0.1);
        random_mechanism_free(m);
    }
}

// A target set by the user, and a handle on every body.
static void take_hold(random_mechanism* m, test_random* r, double stiffness, double damping)
{
    const tn_frame pose = {random_vec3(r, 1), random_quat(r)};
    const tn_twist go   = {random_vec3(r, 1), random_vec3(r, 1)};
    CHECK_OK(tn_state_set_target(m->state, 0, &pose, &go));
    for (int i = 1, handle = 0; i < m->body_count; ++i) {
        if (!random_kind_moves(m->kinds[i])) continue;
        const tn_body_id body = {(uint32_t)i};
        CHECK_OK(tn_state_grab(m->state, handle, body, random_vec3(r, 0.5), stiffness, damping));
        CHECK_OK(tn_state_move(m->state, handle++, random_vec3(r, 1), random_vec3(r, 1)));
    }
    m->state->time += 0.1;
}

TEST(user_set_targets_and_handles_are_the_gradient_of_their_energy)
{
    test_random r = {26};
    for (int round = 0; round < 10; ++round) {
        random_mechanism* m = targets(&r, 1, 0, true);
        finish(m, &r, 1);
        take_hold(m, &r, 4, 0);
        CHECK(check_gradient(m, &tni_force_target, "target") > 0.1);
        CHECK(check_gradient(m, &tni_force_handle, "handle") > 0.1);
        random_mechanism_free(m);
    }
}

// ---- Joints -------------------------------------------------------------------------------------

static bool is_rotation(const tni_joint_type* type, int k)
{
    return type->coordinates[k] >= TNI_COORDINATE_ROTATION_X;
}

static random_mechanism* joint_pair(test_random* r, random_joint_type t, random_kind kind1,
                                    random_kind kind2, const tn_joint_def* with, double apart)
{
    random_mechanism* m    = random_mechanism_make();
    const bool        flat = random_kind_is_flat(kind1) && random_kind_is_flat(kind2);
    const tn_body_id  a    = random_add_body(m, r, kind1, tni_vec3(-0.5, 0, 0), flat),
                     b     = random_add_body(m, r, kind2, tni_vec3(0.5, 0, 0), flat);
    tn_joint_def def       = random_loose_joint(m, r, t, a, b, apart);
    def.stiffness = with->stiffness, def.damping = with->damping, def.limit = with->limit;
    def.friction = with->friction;
    memcpy(def.rest, with->rest, sizeof def.rest);
    memcpy(def.force, with->force, sizeof def.force);
    (void)tn_scene_add_joint(m->scene, &def);
    random_mechanism_build(m);
    random_disturb(m, r, 0.2, 1);
    return m;
}

typedef void each_joint(test_random* r, random_joint_type t, random_kind kind1, random_kind kind2);

// Types that have free coordinates, between kinds that take their torques.
static void for_each_joint(uint64_t seed, each_joint* visit)
{
    static const random_kind kinds[] = {RANDOM_RIGID,  RANDOM_PLANAR, RANDOM_KINEMATIC,
                                        RANDOM_GROUND, RANDOM_AFFINE, RANDOM_USER_SCALED};
    test_random              r       = {seed};
    for (int i = 0; i < RANDOM_JOINT_TYPE_COUNT; ++i) {
        const random_joint_type t    = random_joint_types[i];
        const tni_joint_type*   type = tni_joint_type_of(t.type, t.of);
        if (type->coordinate_count == 0) continue;
        for (int k = 0; k < 36; ++k) {
            const random_kind kind1 = kinds[k / 6], kind2 = kinds[k % 6];
            if (!random_joint_takes(t, kind1, kind2)) continue;
            const bool rotates = is_rotation(type, type->coordinate_count - 1);
            if (rotates && !(random_kind_takes_torque(kind1) && random_kind_takes_torque(kind2)))
                continue;
            visit(&r, t, kind1, kind2);
        }
    }
}

// Rotation vectors may rest anywhere; a constant torque on them has no energy.
static void check_joint_spring(test_random* r, random_joint_type t, random_kind kind1,
                               random_kind kind2)
{
    const tni_joint_type* type = tni_joint_type_of(t.type, t.of);
    tn_joint_def          with = {.stiffness = 4};
    for (int k = 0; k < type->coordinate_count; ++k) {
        with.rest[k] = test_random_between(r, -1, 1);
        if (!is_rotation(type, k)) with.force[k] = test_random_between(r, -1, 1);
    }
    random_mechanism* m = joint_pair(r, t, kind1, kind2, &with, 0.6);
    (void)check_gradient(m, &tni_force_actuation, type->word);
    random_mechanism_free(m);
}

TEST(joint_springs_are_the_gradient_of_their_energy)
{
    for_each_joint(5, check_joint_spring);
}

static tn_limit no_limit(void)
{
    return tn_default_joint_def(TN_JOINT_HINGE).limit;
}

static void check_limit(test_random* r, random_joint_type t, random_kind kind1, random_kind kind2)
{
    const tni_joint_type* type = tni_joint_type_of(t.type, t.of);
    tn_joint_def          with = {.limit = no_limit()};
    with.limit.given = true, with.limit.stiffness = 20;
    if (t.type == TN_JOINT_BALL) {
        with.limit.cone        = 0.1;
        with.limit.twist_lower = test_random_unit(r) < 0.5 ? 0.1 : -0.3;
        with.limit.twist_upper = with.limit.twist_lower + 0.2;
    } else if (is_rotation(type, 0)) return;
    else {
        with.limit.lower = test_random_unit(r) < 0.5 ? 0.3 : -0.6;
        with.limit.upper = with.limit.lower + 0.3;
    }
    random_mechanism* m = joint_pair(r, t, kind1, kind2, &with, 0.6);
    (void)check_gradient(m, &tni_force_actuation, type->word);
    random_mechanism_free(m);
}

TEST(limits_are_the_gradient_of_their_energy)
{
    for (uint64_t seed = 6; seed < 10; ++seed) for_each_joint(seed, check_limit);
}

// Far from agreeing frames too: large cones, twists near half a turn.
TEST(ball_limits_are_gradients_at_large_angles)
{
    test_random r      = {11};
    int         active = 0;
    for (int round = 0; round < 200; ++round) {
        tn_joint_def with = {.limit = no_limit()};
        with.limit.given = true, with.limit.stiffness = 20;
        if (round % 3 != 1) with.limit.cone = test_random_between(&r, 0.5, 2.5);
        if (round % 3 != 0) {
            with.limit.twist_lower = test_random_between(&r, -2.5, 2);
            with.limit.twist_upper = with.limit.twist_lower + test_random_between(&r, 0, 0.5);
        }
        random_mechanism* m = joint_pair(&r, (random_joint_type){TN_JOINT_BALL, 0}, RANDOM_RIGID,
                                         RANDOM_RIGID, &with, 2.5);
        active += check_gradient(m, &tni_force_actuation, "ball limit") > 0;
        random_mechanism_free(m);
    }
    CHECK(active > 100 && active < 200);
}

// The swing is the angle between the axes, the twist what turns about the axis before it.
TEST(ball_limits_measure_swing_and_twist)
{
    const double swing = 0.7, twist = 0.4, k = 10;
    for (int round = 0; round < 2; ++round) {
        random_mechanism* m    = random_mechanism_make();
        test_random       r    = {12};
        const tn_body_id  body = random_add_body(m, &r, RANDOM_RIGID, tni_vec3(0, 0, 0), false);
        tn_joint_def      def  = tn_default_joint_def(TN_JOINT_BALL);
        def.body2              = body;
        def.limit.given = true, def.limit.stiffness = k;
        if (round == 0) def.limit.cone = 0.5;
        else def.limit.twist_lower = -0.3, def.limit.twist_upper = 0.3;
        (void)tn_scene_add_joint(m->scene, &def);
        random_mechanism_build(m);
        const tn_quat turn = tni_quat_mul(tni_quat_exp(tni_vec3(swing * 0.6, swing * 0.8, 0)),
                                          tni_quat_exp(tni_vec3(0, 0, twist)));
        tn_frame      pose = m->poses[1];
        pose.orientation   = tni_quat_mul(turn, pose.orientation);
        CHECK_OK(tn_state_set_pose(m->state, body, pose));
        const double beyond = round == 0 ? swing - 0.5 : twist - 0.3;
        CHECK_NEAR(tn_state_energy(m->state).elastic, 0.5 * k * beyond * beyond, 1e-12);
        random_mechanism_free(m);
    }
}

// ---- Power --------------------------------------------------------------------------------------

// Power of the part of a force that depends on velocity.
static double damping_power(const random_mechanism* m, const tni_force* force)
{
    workspace*     w     = workspace_of(m);
    double*        still = calloc((size_t)m->model->u_count + 1, sizeof(double));
    tni_scene_view at    = scene_at(m, w, m->state->q, NULL);
    tni_force_add(force, &at, still);
    at = scene_at(m, w, m->state->q, m->state->u);
    tni_force_add(force, &at, w->f);
    double power = 0;
    for (int i = 0; i < m->model->u_count; ++i) power += (w->f[i] - still[i]) * m->state->u[i];
    free(still);
    workspace_free(w);
    return power;
}

static void check_damping(test_random* r, random_joint_type t, random_kind kind1, random_kind kind2)
{
    tn_joint_def with = {.damping = 2, .stiffness = 1, .friction = 1, .limit = no_limit()};
    if (test_random_unit(r) < 0.5) with.damping = 0;                    // friction alone
    if (kind1 == RANDOM_KINEMATIC || kind2 == RANDOM_KINEMATIC) return; // may be dragged along
    if (t.type != TN_JOINT_BALL && !is_rotation(tni_joint_type_of(t.type, t.of), 0)) {
        with.limit.given = true, with.limit.stiffness = 5, with.limit.damping = 3;
        with.limit.lower = 0.1, with.limit.upper = 0.2;
    }
    if (t.type == TN_JOINT_BALL) {
        with.limit.given = true, with.limit.stiffness = 5, with.limit.damping = 3;
        with.limit.cone = 0.1, with.limit.twist_lower = 0, with.limit.twist_upper = 0.1;
    }
    random_mechanism* m     = joint_pair(r, t, kind1, kind2, &with, 0.6);
    const double      power = damping_power(m, &tni_force_actuation);
    const bool still = random_kind_is_flat(kind1) && random_kind_is_flat(kind2); // may not move it
    test_check(power < (still ? 1e-15 : 0), __FILE__, __LINE__, "%s: power %g",
               tn_joint_type_word(t.type), power);
    random_mechanism_free(m);
}

TEST(joint_dampers_dissipate)
{
    for (uint64_t seed = 13; seed < 17; ++seed) for_each_joint(seed, check_damping);
}

TEST(spring_target_and_drag_dampers_dissipate)
{
    test_random r = {17};
    for (int round = 0; round < 20; ++round) {
        random_mechanism* m = springs(&r, 5, 2);
        finish(m, &r, 1);
        m->state->time = 10; // keys have ended: no prescribed motion
        CHECK(damping_power(m, &tni_force_spring) < 0);
        random_mechanism_free(m);

        m = targets(&r, 3, 2, false);
        finish(m, &r, 1);
        CHECK(damping_power(m, &tni_force_target) < 0);
        random_mechanism_free(m);

        m = crowd(&r);
        for (int i = 1; i < m->body_count; ++i) {
            if (!random_kind_moves(m->kinds[i])) continue;
            tn_drag_def drag = tn_default_drag_def();
            drag.body = (tn_body_id){(uint32_t)i}, drag.point = random_vec3(&r, 0.5);
            drag.linear = 1, drag.quadratic = 0.5;
            drag.angular = m->kinds[i] == RANDOM_RIGID || m->kinds[i] == RANDOM_PLANAR ? 0.7 : 0;
            CHECK_OK(tn_scene_add_drag(m->scene, &drag));
        }
        finish(m, &r, 1);
        CHECK(damping_power(m, &tni_force_drag) < 0);
        random_mechanism_free(m);
    }
}

// A limit pushes back only: leaving fast, it has no force, and never pulls.
TEST(limits_never_pull)
{
    test_random r      = {18};
    int         pushed = 0;
    for (int round = 0; round < 200; ++round) {
        tn_joint_def with = {.limit = no_limit()};
        with.limit.given = true, with.limit.stiffness = 1, with.limit.damping = 5;
        with.limit.lower = -2, with.limit.upper = 0.1;
        random_mechanism* m = joint_pair(&r, (random_joint_type){TN_JOINT_HINGE, 0}, RANDOM_GROUND,
                                         RANDOM_RIGID, &with, 0.6);
        double            position, velocity;
        tn_state_joint_position(m->state, (tn_joint_id){1}, &position);
        tn_state_joint_velocity(m->state, (tn_joint_id){1}, &velocity);
        workspace*           w  = workspace_of(m);
        const tni_scene_view at = scene_at(m, w, m->state->q, m->state->u);
        tni_force_add(&tni_force_actuation, &at, w->f);
        const double  tau = -fmax(0, position - 0.1 + 5 * velocity) * (position > 0.1);
        const tni_row row =
            tni_joint_coordinate(m->model, &m->model->joints[0], 0,
                                 tni_sides_of(&m->model->joints[0], w->views), m->state->z);
        double wanted[6] = {0};
        tni_joint_push(m->model, &m->model->joints[0], tni_sides_of(&m->model->joints[0], w->views),
                       &row, tau, wanted);
        for (int i = 0; i < 6; ++i) CHECK_NEAR(w->f[i], wanted[i], 1e-13);
        pushed += tau < 0;
        workspace_free(w);
        random_mechanism_free(m);
    }
    CHECK(pushed > 20 && pushed < 180);
}

// ---- Balance ------------------------------------------------------------------------------------

// Largest of total force and total torque about the origin.
static double imbalance(const random_mechanism* m, const double* f)
{
    tn_vec3 force = {0, 0, 0}, torque = {0, 0, 0};
    for (int i = 1; i < m->model->body_count; ++i) {
        const tni_body* body = &m->model->bodies[i];
        const double *  part = f + body->u_start, *q = m->state->q + body->q_start;
        if (body->dim == 0) continue;
        force  = tni_add(force, tni_read3(part));
        torque = tni_add(torque, tni_cross(tni_read3(q), tni_read3(part)));
        if (body->kind == TN_BODY_RIGID || body->dim == 7)
            torque = tni_add(torque, tni_read3(part + 3));
        for (int k = 3; body->kind == TN_BODY_AFFINE && k < 12; k += 3)
            torque = tni_add(torque, tni_cross(tni_read3(q + k), tni_read3(part + k)));
    }
    return fmax(tni_max_abs(force), tni_max_abs(torque));
}

static void check_balance(const random_mechanism* m, const tni_force* force, const char* label)
{
    workspace*           w  = workspace_of(m);
    const tni_scene_view at = scene_at(m, w, m->state->q, m->state->u);
    tni_force_add(force, &at, w->f);
    const double left = imbalance(m, w->f);
    test_check(left < 1e-12, __FILE__, __LINE__, "%s: %.3g is left", label, left);
    workspace_free(w);
}

// An anchor anywhere, but at the mass itself where the body cannot rotate and so takes no torque.
static tn_vec3 balanced_anchor(const random_mechanism* m, test_random* r, tn_body_id body)
{
    const random_kind kind = m->kinds[body.bits];
    if (kind == RANDOM_PARTICLE) return tn_scene_body(m->scene, (int)body.bits - 1)->com;
    return kind == RANDOM_USER_POINT ? tni_vec3(0, 0, 0) : random_vec3(r, 1);
}

TEST(springs_balance)
{
    static const random_kind kinds[] = {RANDOM_RIGID, RANDOM_PARTICLE, RANDOM_AFFINE,
                                        RANDOM_USER_POINT, RANDOM_USER_SCALED};
    test_random              r       = {19};
    for (int a = 0; a < 5; ++a) {
        for (int b = 0; b < 5; ++b) {
            random_mechanism* m      = random_mechanism_make();
            tn_spring_def     spring = tn_default_spring_def();
            spring.body1             = random_add_body(m, &r, kinds[a], random_vec3(&r, 1), false);
            spring.body2             = random_add_body(m, &r, kinds[b], random_vec3(&r, 1), false);
            spring.anchor1           = balanced_anchor(m, &r, spring.body1);
            spring.anchor2           = balanced_anchor(m, &r, spring.body2);
            spring.stiffness = 3, spring.damping = 1, spring.length = 0.2;
            CHECK_OK(tn_scene_add_spring(m->scene, &spring));
            finish(m, &r, 1);
            check_balance(m, &tni_force_spring, "spring");
            random_mechanism_free(m);
        }
    }
}

static void check_joint_balance(test_random* r, random_joint_type t, random_kind kind1,
                                random_kind kind2)
{
    tn_joint_def with = {.stiffness = 2, .damping = 1, .limit = no_limit()};
    if (kind1 == RANDOM_PLANAR || kind2 == RANDOM_PLANAR) return; // the plane takes its part
    if (!random_kind_moves(kind1) || !random_kind_moves(kind2)) return;
    const tni_joint_type* type = tni_joint_type_of(t.type, t.of);
    random_numbers(r, with.rest, type->coordinate_count, 1);
    random_numbers(r, with.force, type->coordinate_count, 1);
    if (t.type == TN_JOINT_BALL) {
        with.limit.given = true, with.limit.stiffness = 5;
        with.limit.cone = 0.1, with.limit.twist_lower = 0, with.limit.twist_upper = 0.1;
    }
    random_mechanism* m = joint_pair(r, t, kind1, kind2, &with, 0.6);
    check_balance(m, &tni_force_actuation, type->word);
    random_mechanism_free(m);
}

TEST(joint_springs_balance)
{
    for (uint64_t seed = 20; seed < 24; ++seed) for_each_joint(seed, check_joint_balance);
}

// ---- Loads --------------------------------------------------------------------------------------

TEST(loads_act_at_their_point_and_in_their_time)
{
    test_random       r    = {25};
    random_mechanism* m    = random_mechanism_make();
    tn_load_def       load = tn_default_load_def();
    load.body              = random_add_body(m, &r, RANDOM_RIGID, tni_vec3(1, 2, 3), false);
    load.force = tni_vec3(1, -2, 3), load.torque = tni_vec3(0.5, 0.1, -0.2);
    load.point = tni_vec3(0.3, 0.2, 0.1), load.from = 1, load.until = 2;
    CHECK_OK(tn_scene_add_load(m->scene, &load));
    finish(m, &r, 1);
    const double times[4] = {0.999, 1, 1.999, 2};
    for (int i = 0; i < 4; ++i) {
        workspace* w            = workspace_of(m);
        m->state->time          = times[i];
        const tni_scene_view at = scene_at(m, w, m->state->q, m->state->u);
        tni_force_add(&tni_force_load, &at, w->f);
        const tn_frame pose  = tn_state_pose(m->state, load.body);
        const tn_vec3  p     = tni_add(pose.position, tni_rotate(pose.orientation, load.point)),
                      arm    = tni_sub(p, tni_read3(m->state->q)),
                      torque = tni_add(tni_cross(arm, load.force), load.torque);
        const double on      = i == 1 || i == 2;
        CHECK_LESS(tni_max_abs(tni_sub(tni_read3(w->f), tni_scale(on, load.force))), 1e-14);
        CHECK_LESS(tni_max_abs(tni_sub(tni_read3(w->f + 3), tni_scale(on, torque))), 1e-14);
        workspace_free(w);
    }
    random_mechanism_free(m);
}
