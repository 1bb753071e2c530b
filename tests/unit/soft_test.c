// soft: stiff forces as f - K (J d) - D (J u): positive semidefinite, exact at the evaluated
// configuration, with exact derivatives where nothing had to be clamped, balanced, and with
// one-sided limits active at the predicted end.
#include "math/elementary.h"
#include "support/force_rig.h"

typedef struct total {
    const tni_scene_view* at;
    const double*         u;
    int                   n, count;
    double *              f, *K, *D; ///< J^T (f - D J u), J^T K J, J^T D J
} total;

static double J_of(const total* t, const tni_soft* soft, int row, int column)
{
    for (int side = soft->kind == TNI_SOFT_BODY; side < 2; ++side) {
        const tni_body* body = &t->at->model->bodies[soft->body[side]];
        const int       i    = column - body->u_start;
        if (body->dim > 0 && i >= 0 && i < body->dim) return soft->J[side][row * body->dim + i];
    }
    return 0;
}

// Smallest pivot of K + shift 1, by elimination: positive when K is not negative.
static double least_pivot(const double* K, int n, double shift)
{
    double A[TNI_SOFT_ROWS_MAX * TNI_SOFT_ROWS_MAX], least = HUGE_VAL;
    memcpy(A, K, sizeof(double) * (size_t)(n * n));
    for (int i = 0; i < n; ++i) A[i * n + i] += shift;
    for (int k = 0; k < n; ++k) {
        least = fmin(least, A[k * n + k]);
        for (int i = k + 1; i < n; ++i)
            for (int j = k + 1; j < n; ++j)
                A[i * n + j] -= A[i * n + k] * A[k * n + j] / A[k * n + k];
    }
    return least;
}

// To rounding: 1e-13 of the trace is some hundred roundings of a 9x9 elimination.
static void check_safe(const double* K, int n)
{
    double trace = 1e-300;
    for (int i = 0; i < n; ++i) trace += fabs(K[i * n + i]);
    for (int i = 0; i < n * n; ++i) CHECK_NEAR(K[i], K[i % n * n + i / n], 1e-15 * trace);
    CHECK(least_pivot(K, n, 1e-13 * trace) > 0);
}

static void gather(void* user, const tni_soft* soft)
{
    total*    t = user;
    const int n = soft->row_count;
    double    J[TNI_SOFT_ROWS_MAX][256], tau[TNI_SOFT_ROWS_MAX], rate[TNI_SOFT_ROWS_MAX] = {0};
    CHECK(t->n < 256 && n <= TNI_SOFT_ROWS_MAX);
    check_safe(soft->K, n);
    check_safe(soft->D, n);
    for (int k = 0; k < n; ++k)
        for (int i = 0; i < t->n; ++i) {
            J[k][i] = J_of(t, soft, k, i);
            rate[k] += J[k][i] * t->u[i];
        }
    for (int k = 0; k < n; ++k) {
        tau[k] = soft->f[k];
        for (int l = 0; l < n; ++l) tau[k] -= soft->D[k * n + l] * rate[l];
    }
    for (int i = 0; i < t->n; ++i)
        for (int k = 0; k < n; ++k) {
            t->f[i] += J[k][i] * tau[k];
            for (int l = 0; l < n; ++l)
                for (int j = 0; j < t->n; ++j) {
                    t->K[i * t->n + j] += J[k][i] * soft->K[k * n + l] * J[l][j];
                    t->D[i * t->n + j] += J[k][i] * soft->D[k * n + l] * J[l][j];
                }
        }
    ++t->count;
}

static void derived(void* user, int row_body, int col_body, const double* K, const double* D)
{
    total*          t   = user;
    const tni_body *row = &t->at->model->bodies[row_body], *col = &t->at->model->bodies[col_body];
    for (int i = 0; i < row->dim; ++i)
        for (int j = 0; j < col->dim; ++j) {
            const int at = (row->u_start + i) * t->n + col->u_start + j;
            t->K[at] += K[i * col->dim + j], t->D[at] += D[i * col->dim + j];
        }
}

static total total_make(const tni_scene_view* at, const force_rig* rig)
{
    const int n = rig->n;
    return (total){
        at, rig->u, n, 0, force_rig_numbers(n), force_rig_numbers(n * n), force_rig_numbers(n * n)};
}

static void total_free(total* t)
{
    free(t->f), free(t->K), free(t->D);
}

// ---- At d = 0 -----------------------------------------------------------------------------------

// A step of no length: f - D J u is the force itself. Rounding of forces of about 10.
static void check_force(const random_mechanism* m, const tni_force* force, const char* label)
{
    force_rig            rig    = force_rig_make(m);
    const tni_scene_view at     = force_rig_look(&rig, m->state->time);
    const tni_prediction ahead  = {0, m->state->time, m->state->u};
    total                t      = total_make(&at, &rig);
    double*              wanted = force_rig_numbers(rig.n);
    force->soften(&at, &ahead, gather, &t);
    tni_force_add(force, &at, wanted);
    for (int i = 0; i < rig.n; ++i)
        test_check(fabs(t.f[i] - wanted[i]) < 1e-12 * fmax(1, fabs(wanted[i])), __FILE__, __LINE__,
                   "%s: softened force %d is %.15g, not %.15g", label, i, t.f[i], wanted[i]);
    free(wanted);
    total_free(&t);
    force_rig_free(&rig);
}

static void finish(random_mechanism* m, test_random* r)
{
    random_mechanism_build(m);
    random_disturb(m, r, 0.3, 1);
}

// Many bodies with every kind of force.
static random_mechanism* busy_crowd(test_random* r)
{
    random_mechanism* m = force_rig_crowd(r);
    force_rig_add_springs(m, r, 7, 2);
    for (int i = 1; i < m->body_count; ++i) {
        if (!random_kind_moves(m->kinds[i])) continue;
        tn_load_def load = tn_default_load_def();
        load.body = (tn_body_id){(uint32_t)i}, load.force = random_vec3(r, 5);
        CHECK_OK(tn_scene_add_load(m->scene, &load));
        force_rig_add_target(m, r, i);
        force_rig_add_drag(m, r, i);
    }
    finish(m, r);
    for (int i = 1, handle = 0; i < m->body_count; ++i) {
        if (!random_kind_moves(m->kinds[i])) continue;
        const tn_body_id body = {(uint32_t)i};
        CHECK_OK(tn_state_grab(m->state, handle, body, random_vec3(r, 0.5), 4, 1.5));
        CHECK_OK(tn_state_move(m->state, handle++, random_vec3(r, 1), random_vec3(r, 1)));
    }
    const tn_frame pose = {random_vec3(r, 1), random_quat(r)};
    const tn_twist go   = {random_vec3(r, 1), random_vec3(r, 1)};
    CHECK_OK(tn_state_set_target(m->state, 0, &pose, &go));
    m->state->time += 0.1;
    return m;
}

TEST(softened_forces_are_the_forces)
{
    test_random r = {1};
    for (int round = 0; round < 5; ++round) {
        random_mechanism* m = busy_crowd(&r);
        check_force(m, &tni_force_spring, "spring");
        check_force(m, &tni_force_target, "target");
        check_force(m, &tni_force_handle, "handle");
        check_force(m, &tni_force_drag, "drag");
        check_force(m, &tni_force_elastic, "elastic");
        random_mechanism_free(m);
    }
}

static tn_limit no_limit(void)
{
    return tn_default_joint_def(TN_JOINT_HINGE).limit;
}

static tn_joint_def everything(test_random* r, random_joint_type t)
{
    const tni_joint_type* type = tni_joint_type_of(t.type, t.of);
    tn_joint_def          with = {.stiffness = 4, .damping = 2, .limit = no_limit()};
    with.friction = 1.5, with.friction_speed = 0.5;
    random_numbers(r, with.rest, type->coordinate_count, 1);
    random_numbers(r, with.force, type->coordinate_count, 1);
    with.limit.given = true, with.limit.stiffness = 20, with.limit.damping = 1;
    if (type->coordinates[0] < TNI_COORDINATE_ROTATION_X) {
        with.limit.lower = test_random_unit(r) < 0.5 ? 0.3 : -0.6;
        with.limit.upper = with.limit.lower + 0.3;
    } else {
        with.limit.cone        = test_random_unit(r);
        with.limit.twist_lower = test_random_between(r, -1, 0.7);
        with.limit.twist_upper = with.limit.twist_lower + 0.3;
    }
    return with;
}

static void check_joint_force(test_random* r, random_joint_type t, random_kind kind1,
                              random_kind kind2)
{
    const tn_joint_def with = everything(r, t);
    random_mechanism*  m    = force_rig_pair(r, t, kind1, kind2, &with, 0.8);
    check_force(m, &tni_force_actuation, tn_joint_type_word(t.type));
    random_mechanism_free(m);
}

TEST(softened_joint_forces_are_the_forces)
{
    for (uint64_t seed = 2; seed < 6; ++seed) force_rig_each_joint(seed, check_joint_force);
}

TEST(plain_and_soft_forces_add_up)
{
    for (uint64_t seed = 6; seed < 12; ++seed) {
        test_random          r     = {seed};
        random_mechanism*    m     = seed % 2 ? random_forest(&r, 12) : busy_crowd(&r);
        force_rig            rig   = force_rig_make(m);
        tni_scene_view       at    = force_rig_look(&rig, m->state->time);
        const tni_prediction ahead = {0, m->state->time, NULL};
        total                t     = total_make(&at, &rig);
        double *             plain = force_rig_numbers(rig.n), *wanted = force_rig_numbers(rig.n);
        at.flying = true; // inertial forces are neither
        tni_forces(&at, wanted);
        tni_nonstiff_forces(&at, plain);
        tni_soften(&at, &ahead, gather, &t);
        CHECK(t.count > 0);
        for (int i = 0; i < rig.n; ++i)
            CHECK_NEAR(t.f[i] + plain[i], wanted[i], 1e-12 * fmax(10, fabs(wanted[i])));
        free(plain), free(wanted);
        total_free(&t);
        force_rig_free(&rig);
        random_mechanism_free(m);
    }
}

// ---- Against exact derivatives ------------------------------------------------------------------

static void check_matrix(const char* label, const double* got, const double* want, int n)
{
    for (int i = 0; i < n * n; ++i)
        test_check(fabs(got[i] - want[i]) < 1e-11, __FILE__, __LINE__,
                   "%s[%d][%d] is %.15g, exactly %.15g", label, i / n, i % n, got[i], want[i]);
}

// D everywhere; K when asked. User-defined bodies have no exact one.
static void check_exact(const random_mechanism* m, const tni_force* force, bool stiffness)
{
    force_rig            rig   = force_rig_make(m);
    const tni_scene_view at    = force_rig_look(&rig, m->state->time);
    const tni_prediction ahead = {0, m->state->time, m->state->u};
    total                soft = total_make(&at, &rig), exact = total_make(&at, &rig);
    force->soften(&at, &ahead, gather, &soft);
    force->derive(&at, derived, &exact);
    for (int i = 0; i < rig.n * rig.n; ++i)
        if (force_rig_is_user(&rig, i / rig.n) || force_rig_is_user(&rig, i % rig.n))
            soft.K[i] = soft.D[i] = 0;
    check_matrix("D", soft.D, exact.D, rig.n);
    if (stiffness) check_matrix("K", soft.K, exact.K, rig.n);
    total_free(&soft), total_free(&exact);
    force_rig_free(&rig);
}

TEST(damping_is_exact)
{
    test_random r = {12};
    for (int round = 0; round < 3; ++round) {
        random_mechanism* m = busy_crowd(&r);
        check_exact(m, &tni_force_spring, false);
        check_exact(m, &tni_force_target, false);
        check_exact(m, &tni_force_handle, false);
        check_exact(m, &tni_force_drag, false);
        random_mechanism_free(m);
    }
}

// At the rest position without force: no force rotates with the rows, and S = 1.
static void check_slack_joint(test_random* r, random_joint_type t, random_kind kind1,
                              random_kind kind2)
{
    tn_joint_def      with = {.stiffness = 4, .damping = 2, .limit = no_limit()};
    random_mechanism* m    = force_rig_pair(r, t, kind1, kind2, &with, 0.8);
    m->state->time         = 10; // keys have ended
    tn_state_joint_position(m->state, (tn_joint_id){1}, m->model->actuations[0].rest);
    memset(m->state->u, 0, sizeof(double) * (size_t)m->model->u_count);
    check_exact(m, &tni_force_actuation, true);
    random_mechanism_free(m);
}

TEST(slack_joints_are_exact)
{
    for (uint64_t seed = 13; seed < 15; ++seed) force_rig_each_joint(seed, check_slack_joint);
}

// Particles without rotation, under tension: K of springs, targets and handles is exact.
TEST(particles_on_taut_springs_are_exact)
{
    test_random r = {15};
    for (int round = 0; round < 10; ++round) {
        random_mechanism* m      = random_mechanism_make();
        tn_spring_def     spring = tn_default_spring_def();
        spring.body1     = random_add_body(m, &r, RANDOM_PARTICLE, tni_vec3(0, 0, 0), false);
        spring.body2     = random_add_body(m, &r, RANDOM_PARTICLE, tni_vec3(2, 0, 0), false);
        spring.stiffness = 5, spring.length = 0.5, spring.damping = 1;
        CHECK_OK(tn_scene_add_spring(m->scene, &spring));
        spring.body1.bits = 0, spring.anchor1 = tni_vec3(-1, 1, 2);
        CHECK_OK(tn_scene_add_spring(m->scene, &spring));
        force_rig_add_target(m, &r, 1);
        finish(m, &r);
        memset(m->state->u, 0, sizeof(double) * (size_t)m->model->u_count);
        CHECK_OK(tn_state_grab(m->state, 0, spring.body2, random_vec3(&r, 0.5), 4, 1.5));
        CHECK_OK(tn_state_move(m->state, 0, random_vec3(&r, 1), random_vec3(&r, 1)));
        check_exact(m, &tni_force_spring, true);
        check_exact(m, &tni_force_target, true);
        check_exact(m, &tni_force_handle, true);
        random_mechanism_free(m);
    }
}

// Without a length, a spring pulls the same in all directions, also where its points coincide.
TEST(springs_of_no_length_are_exact)
{
    test_random       r      = {25};
    random_mechanism* m      = random_mechanism_make();
    tn_spring_def     spring = tn_default_spring_def();
    spring.body1             = random_add_body(m, &r, RANDOM_PARTICLE, tni_vec3(0, 0, 0), false);
    spring.body2             = random_add_body(m, &r, RANDOM_PARTICLE, tni_vec3(0, 0, 0), false);
    spring.anchor1           = tn_scene_body(m->scene, 0)->com;
    spring.anchor2           = tn_scene_body(m->scene, 1)->com;
    spring.stiffness = 5, spring.length = 0;
    CHECK_OK(tn_scene_add_spring(m->scene, &spring));
    random_mechanism_build(m);
    check_exact(m, &tni_force_spring, true);
    memcpy(m->state->q + 3, m->state->q, 3 * sizeof(double));
    check_exact(m, &tni_force_spring, true);
    random_mechanism_free(m);
}

// Affine bodies under tension in all directions; compressed ones lose the negative stiffness.
TEST(stretched_bodies_are_exact)
{
    test_random r = {16};
    for (int round = 0; round < 10; ++round) {
        random_mechanism* m = random_mechanism_make();
        (void)random_add_body(m, &r, RANDOM_AFFINE, tni_vec3(0, 0, 0), false);
        finish(m, &r);
        const tni_mat3 R = tni_quat_matrix(random_quat(&r));
        for (int k = 0; k < 3; ++k)
            tni_write3(m->state->q + 3 + 3 * k,
                       tni_scale(test_random_between(&r, 1.1, 1.5), tni_column(&R, k)));
        check_exact(m, &tni_force_elastic, true);
        for (int k = 3; k < 12; ++k) m->state->q[k] *= 0.4;
        force_rig            rig   = force_rig_make(m);
        const tni_scene_view at    = force_rig_look(&rig, 0);
        const tni_prediction ahead = {0, 0, NULL};
        total                soft = total_make(&at, &rig), exact = total_make(&at, &rig);
        tni_force_elastic.soften(&at, &ahead, gather, &soft); // checks that it is safe
        tni_force_elastic.derive(&at, derived, &exact);
        CHECK(least_pivot(exact.K, 12, 1e-9) < 0); // which the exact one is not
        total_free(&soft), total_free(&exact);
        force_rig_free(&rig);
        random_mechanism_free(m);
    }
}

static void keep_one(void* user, const tni_soft* soft)
{
    memcpy(user, soft, sizeof *soft);
}

// The exact stiffness of a ball's body 2, k Jl^-1, has k S as its symmetric part: below half a turn
// or so nothing is lost but its skew part.
TEST(torsion_is_the_symmetric_part)
{
    test_random r = {17};
    for (int round = 0; round < 20; ++round) {
        const double      angle = round < 10 ? 0.3 * round : 3.05 + 0.008 * (round - 10);
        random_mechanism* m     = random_mechanism_make();
        tn_joint_def      def   = tn_default_joint_def(TN_JOINT_BALL);
        def.body1               = random_add_body(m, &r, RANDOM_RIGID, tni_vec3(0, 0, 0), false);
        def.body2               = random_add_body(m, &r, RANDOM_RIGID, tni_vec3(1, 0, 0), false);
        def.stiffness           = 5;
        (void)tn_scene_add_joint(m->scene, &def);
        random_mechanism_build(m);
        const tn_vec3 axis = random_direction(&r);
        tn_frame      pose = m->poses[2];
        pose.orientation   = tni_quat_mul(tni_quat_exp(tni_scale(angle, axis)), pose.orientation);
        CHECK_OK(tn_state_set_pose(m->state, def.body2, pose));
        force_rig            rig   = force_rig_make(m);
        const tni_scene_view at    = force_rig_look(&rig, 0);
        const tni_prediction ahead = {0, 0, NULL};
        total                soft = total_make(&at, &rig), exact = total_make(&at, &rig);
        tni_force_actuation.soften(&at, &ahead, gather, &soft);
        tni_force_actuation.derive(&at, derived, &exact);
        const double c    = angle == 0 ? 1 : 0.5 * angle / tan(0.5 * angle);
        const double lost = 5 * (fmax(c, 0.05) - c), a[3] = {axis.x, axis.y, axis.z};
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) {
                const int    ij = (9 + i) * rig.n + 9 + j, ji = (9 + j) * rig.n + 9 + i;
                const double want =
                    0.5 * (exact.K[ij] + exact.K[ji]) + lost * ((i == j) - a[i] * a[j]);
                CHECK_NEAR(soft.K[ij], want, 1e-12);
            }
        total_free(&soft), total_free(&exact);
        force_rig_free(&rig);
        random_mechanism_free(m);
    }
}

// ---- Balance ------------------------------------------------------------------------------------

// Total force and total torque about the origin of a force along the rows.
static void total_push(const tni_scene_view* at, const tni_soft* soft, const double* push,
                       tn_vec3* force, tn_vec3* torque)
{
    *force = *torque = tni_vec3(0, 0, 0);
    for (int k = 0; k < soft->row_count; ++k) {
        for (int side = 0; side < 2; ++side) {
            const double* row = soft->J[side] + 6 * k;
            const tn_vec3 x = at->views[soft->body[side]].x, f = tni_scale(push[k], tni_read3(row)),
                          t = tni_scale(push[k], tni_read3(row + 3));
            CHECK_INT(at->model->bodies[soft->body[side]].kind, TN_BODY_RIGID);
            *force  = tni_add(*force, f);
            *torque = tni_add(*torque, tni_add(t, tni_cross(x, f)));
        }
    }
}

// Forces along a joint's rows balance on the two sides. Along the world axes of a spring forces do;
// torques too where it acts along its line: its force, and its damping.
static void check_balance(void* user, const tni_soft* soft)
{
    const int n = soft->row_count;
    tn_vec3   force, torque;
    for (int k = 0; k < n; ++k) {
        double unit[TNI_SOFT_ROWS_MAX] = {0};
        unit[k]                        = 1;
        total_push(user, soft, unit, &force, &torque);
        CHECK_LESS(tni_max_abs(force), 1e-13);
        if (soft->kind == TNI_SOFT_JOINT) CHECK_LESS(tni_max_abs(torque), 1e-13);
        total_push(user, soft, soft->D + k * n, &force, &torque);
        CHECK_LESS(tni_max_abs(torque), 1e-12);
    }
    total_push(user, soft, soft->f, &force, &torque);
    CHECK_LESS(tni_max_abs(torque), 1e-12);
}

TEST(soft_forces_balance)
{
    test_random r = {18};
    for (int round = 0; round < 3 * RANDOM_JOINT_TYPE_COUNT; ++round) {
        const random_joint_type t = random_joint_types[round % RANDOM_JOINT_TYPE_COUNT];
        if (tni_joint_type_of(t.type, t.of)->coordinate_count == 0) continue;
        const tn_joint_def with   = everything(&r, t);
        random_mechanism*  m      = force_rig_pair(&r, t, RANDOM_RIGID, RANDOM_RIGID, &with, 0.8);
        tn_spring_def      spring = tn_default_spring_def();
        spring.body1.bits = 1, spring.body2.bits = 2, spring.stiffness = 3, spring.damping = 2;
        spring.anchor1 = random_vec3(&r, 1), spring.anchor2 = random_vec3(&r, 1);
        CHECK_OK(tn_scene_add_spring(m->scene, &spring));
        tn_state_free(m->state);
        tn_model_free(m->model);
        random_mechanism_build(m);
        random_disturb(m, &r, 0.3, 1);
        force_rig            rig   = force_rig_make(m);
        tni_scene_view       at    = force_rig_look(&rig, m->state->time);
        const tni_prediction ahead = {0.1, m->state->time + 0.1, m->state->u};
        tni_soften(&at, &ahead, check_balance, &at);
        force_rig_free(&rig);
        random_mechanism_free(m);
    }
}

// ---- Kinds
// ---------------------------------------------------------------------------------------

typedef struct census {
    const tn_model* model;
    int             springs, bodies, joints;
} census;

static void count_kinds(void* user, const tni_soft* soft)
{
    census* c = user;
    c->springs += soft->kind == TNI_SOFT_SPRING;
    c->bodies += soft->kind == TNI_SOFT_BODY;
    c->joints += soft->kind == TNI_SOFT_JOINT;
    if (soft->kind == TNI_SOFT_SPRING) {
        const tni_spring* spring = &c->model->springs[soft->index];
        CHECK_INT(soft->body[0], spring->body1);
        CHECK_INT(soft->body[1], spring->body2);
    }
    CHECK(c->model->bodies[soft->body[1]].dim > 0);
}

TEST(springs_to_immovable_bodies_act_on_one_body)
{
    test_random       r = {19};
    random_mechanism* m = force_rig_crowd(&r); // six that move; kinematic, static and ground
    force_rig_add_springs(m, &r, 7, 2);
    finish(m, &r);
    force_rig            rig   = force_rig_make(m);
    const tni_scene_view at    = force_rig_look(&rig, m->state->time);
    const tni_prediction ahead = {0.1, m->state->time + 0.1, m->state->u};
    census               c     = {.model = m->model};
    tni_force_spring.soften(&at, &ahead, count_kinds, &c);
    CHECK_INT(c.springs, 15);
    CHECK_INT(c.bodies, 18);
    force_rig_free(&rig);
    random_mechanism_free(m);
}

// ---- Prediction
// ----------------------------------------------------------------------------------

// A hinge about z between the ground and a body, at an angle and a speed.
static random_mechanism* door(double z, double rate, const tn_joint_def* with)
{
    test_random       r   = {20};
    random_mechanism* m   = random_mechanism_make();
    tn_joint_def      def = tn_default_joint_def(TN_JOINT_HINGE);
    def.body2             = random_add_body(m, &r, RANDOM_RIGID, tni_vec3(1, 0, 0), true);
    def.limit = with->limit, def.friction = with->friction;
    def.stiffness = with->stiffness;
    if (with->friction > 0) def.friction_speed = with->friction_speed;
    (void)tn_scene_add_joint(m->scene, &def);
    random_mechanism_build(m);
    CHECK_OK(tn_state_set_joints(m->state, &z, &rate, NULL));
    return m;
}

static tni_soft soft_door(const random_mechanism* m, double h)
{
    tni_soft             soft;
    force_rig            rig   = force_rig_make(m);
    const tni_scene_view at    = force_rig_look(&rig, m->state->time);
    const tni_prediction ahead = {h, m->state->time + h, m->state->u};
    tni_soften_actuation(&at, &ahead, 0, &soft);
    CHECK_INT(soft.kind, TNI_SOFT_JOINT);
    CHECK_INT(soft.row_count, 1);
    force_rig_free(&rig);
    return soft;
}

TEST(limits_are_active_at_the_predicted_end)
{
    tn_joint_def with = {.limit = no_limit()};
    with.limit.given = true, with.limit.lower = -0.2, with.limit.upper = 0.1;
    with.limit.stiffness = 50, with.limit.damping = 3;
    const struct {
        double z, rate, h;
        int    met; ///< +1: the upper end, -1: the lower
    } cases[] = {
        {0.05, 1, 0.01, 0},   {0.05, 1, 0.1, 1},    {0.05, -1, 0.1, 0},    {0.2, 0, 0.01, 1},
        {0.2, -1.2, 0.01, 1}, {0.2, -1.7, 0.01, 0}, {0.2, -1, 0.2, 0},     {-0.15, -1, 0.1, -1},
        {-0.15, 1, 0.1, 0},   {-0.3, 0, 0.1, -1},   {-0.3, 1.2, 0.01, -1}, {-0.3, 1.7, 0.01, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        random_mechanism* m    = door(cases[i].z, cases[i].rate, &with);
        const tni_soft    soft = soft_door(m, cases[i].h);
        const double      end  = cases[i].met > 0 ? 0.1 : -0.2;
        // Reached within the step it damps only the exceeding part, d e/h: no jump where it is
        // reached.
        const bool   there = cases[i].met * (cases[i].z - end) > 0;
        const double k     = there ? 50 : 50 + 3 / cases[i].h;
        CHECK_NEAR(soft.K[0], cases[i].met != 0 ? k : 0, 1e-12 * k);
        CHECK_NEAR(soft.D[0], cases[i].met != 0 && there ? 3 : 0, 0);
        CHECK_NEAR(soft.f[0], cases[i].met != 0 ? -k * (cases[i].z - end) : 0, 1e-12);
        random_mechanism_free(m);
    }
}

// Backward Euler of a door that runs into its limit, softened again with the resulting velocity: in
// a few rounds it satisfies I (w - w0) = h tau(z0 + h w) to rounding.
TEST(softening_again_is_newtons_method)
{
    tn_joint_def with = {.limit = no_limit()};
    with.limit.given = true, with.limit.lower = -0.2, with.limit.upper = 0.1;
    with.limit.stiffness = 500, with.limit.damping = 3;
    for (int round = 0; round < 20; ++round) {
        const double      w0 = 0.5 * round - 5, z0 = 0.05, h = 0.05, inertia = 2;
        random_mechanism* m = door(z0, w0, &with);
        double            w = w0;
        for (int k = 0; k < 4; ++k) {
            CHECK_OK(tn_state_set_joints(m->state, &z0, &w, NULL));
            const tni_soft soft = soft_door(m, h);
            w = (inertia * w0 + h * soft.f[0]) / (inertia + h * soft.D[0] + h * h * soft.K[0]);
        }
        const double z     = z0 + h * w;
        const double upper = fmax(0, (500 + 3 / h) * (z - 0.1)),
                     lower = fmax(0, (500 + 3 / h) * (-0.2 - z));
        CHECK_NEAR(inertia * (w - w0), h * (lower - upper), 1e-12);
        random_mechanism_free(m);
    }
}

// Friction is continuous through zero, and never reverses a motion, however long the step.
TEST(friction_passes_through_zero)
{
    const tn_joint_def with = {.friction = 7, .friction_speed = 0.01, .limit = no_limit()};
    for (int k = -20; k <= 20; ++k) {
        const double      v = 0.002 * k, slope = 7 / sqrt(v * v + 1e-4);
        random_mechanism* m    = door(0.3, v, &with);
        const tni_soft    soft = soft_door(m, 100);
        CHECK_NEAR(soft.f[0], 0, 0);
        CHECK_NEAR(soft.D[0], slope, 1e-12 * slope);
        CHECK_NEAR(soft.K[0], 0, 0);
        CHECK(fabs(soft.D[0] * v) < 7);
        const double after = v / (1 + 100 * soft.D[0]);
        CHECK(v * after >= 0 && fabs(after) <= fabs(v));
        CHECK(tni_forces_have_damping(m->model));
        random_mechanism_free(m);
    }
}

// Of a ball, friction is along the angular velocity and at most its size.
TEST(friction_of_balls_is_one_vector)
{
    test_random        r    = {21};
    const tn_joint_def with = {.friction = 7, .friction_speed = 0.01, .limit = no_limit()};
    for (int round = 0; round < 20; ++round) {
        random_mechanism*    m    = force_rig_pair(&r, (random_joint_type){TN_JOINT_BALL, 0},
                                                   RANDOM_RIGID, RANDOM_RIGID, &with, 1);
        force_rig            rig  = force_rig_make(m);
        const tni_scene_view at   = force_rig_look(&rig, m->state->time);
        double*              f    = force_rig_numbers(rig.n);
        const tn_vec3        turn = tni_sub(rig.views[2].w, rig.views[1].w);
        tni_force_add(&tni_force_actuation, &at, f);
        const double want = 7 / sqrt(tni_dot(turn, turn) + 1e-4);
        CHECK_LESS(tni_max_abs(tni_add(tni_read3(f + 9), tni_scale(want, turn))), 1e-13);
        CHECK_LESS(tni_max_abs(tni_sub(tni_read3(f + 3), tni_scale(want, turn))), 1e-13);
        free(f);
        force_rig_free(&rig);
        random_mechanism_free(m);
    }
}

// ---- Kinematic bodies
// ----------------------------------------------------------------------------

static double coordinate_at(force_rig* rig, double time)
{
    const tni_scene_view at    = force_rig_look(rig, time);
    const tni_joint*     joint = &rig->m->model->joints[0];
    return tni_joint_coordinate(rig->m->model, joint, 0, tni_sides_of(joint, at.views), at.z).C;
}

// The spring's end on a kinematic body follows the keys: along the row, f - K J d is the force at
// the step's end up to h^2. Without the prescribed part it would be off by k h zdot.
TEST(prescribed_motion_moves_the_end_of_a_spring)
{
    static const random_joint_type types[] = {{TN_JOINT_HINGE, 0}, {TN_JOINT_SLIDER, 0}};
    test_random                    r       = {22};
    const double                   h       = 1e-5;
    for (int round = 0; round < 20; ++round) {
        tn_joint_def      with   = {.stiffness = 10, .limit = no_limit()};
        const random_kind first  = round % 4 < 2 ? RANDOM_KINEMATIC : RANDOM_RIGID,
                          second = round % 4 < 2 ? RANDOM_RIGID : RANDOM_KINEMATIC;
        random_mechanism*    m   = force_rig_pair(&r, types[round % 2], first, second, &with, 0.3);
        force_rig            rig = force_rig_make(m);
        tni_soft             soft;
        const double         t     = m->state->time;
        tni_scene_view       at    = force_rig_look(&rig, t);
        const tni_prediction ahead = {h, t + h, m->state->u};
        tni_soften_actuation(&at, &ahead, 0, &soft);
        double force = soft.f[0];
        for (int i = 0; i < 6; ++i) {
            rig.d[i] = h * m->state->u[i];
            force -= soft.K[0] * soft.J[second == RANDOM_RIGID][i] * rig.d[i];
        }
        tni_advance(m->model, m->state->q, rig.d, rig.q);
        CHECK_NEAR(force, -10 * coordinate_at(&rig, t + h), 1e-8); // 10 h^2 |zddot|
        force_rig_free(&rig);
        random_mechanism_free(m);
    }
}

// A limit against a kinematic body that comes near is active too.
TEST(approaching_limits_of_kinematic_bodies_are_active)
{
    random_mechanism* m   = random_mechanism_make();
    tn_body_def       car = tn_default_body_def(), box = tn_default_body_def();
    const tn_key      keys[2] = {{0, {{0, 0, 0}, {1, 0, 0, 0}}}, {10, {{10, 0, 0}, {1, 0, 0, 0}}}};
    tn_joint_def      def     = tn_default_joint_def(TN_JOINT_SLIDER);
    tni_soft          soft;
    car.kind = TN_BODY_KINEMATIC, car.keys = keys, car.key_count = 2;
    box.mass = 1;
    for (int k = 0; k < 6; ++k) box.inertia[k] = k < 3;
    def.body1 = tn_scene_add_body(m->scene, &car), def.body2 = tn_scene_add_body(m->scene, &box);
    def.axis        = tni_vec3(1, 0, 0);
    def.limit.given = true, def.limit.lower = -0.05, def.limit.upper = 1;
    def.limit.stiffness = 30, def.limit.damping = 2;
    (void)tn_scene_add_joint(m->scene, &def);
    random_mechanism_build(m);
    force_rig            rig   = force_rig_make(m);
    const tni_scene_view at    = force_rig_look(&rig, 0);
    tni_prediction       ahead = {0.04, 0.04, NULL}; // the box rests, the car goes at 1 m/s
    tni_soften_actuation(&at, &ahead, 0, &soft);
    CHECK_NEAR(soft.K[0], 0, 0);
    ahead = (tni_prediction){0.1, 0.1, NULL};
    tni_soften_actuation(&at, &ahead, 0, &soft);
    CHECK_NEAR(soft.K[0], 30 + 2 / 0.1, 1e-12);
    CHECK_NEAR(soft.f[0], (30 + 2 / 0.1) * 0.05, 1e-12); // (k + d/h) (h v - gap)
    force_rig_free(&rig);
    random_mechanism_free(m);
}

// Targets, keyed and set by the user, handles and wind are those of the step's end.
TEST(target_poses_are_those_of_the_step_s_end)
{
    test_random       r       = {23};
    random_mechanism* m       = random_mechanism_make();
    const tn_body_id  body    = random_add_body(m, &r, RANDOM_PARTICLE, tni_vec3(0, 0, 0), false);
    tn_key            keys[2] = {{0, {{0, 0, 0}, {1, 0, 0, 0}}}, {1, {{2, 0, 0}, {1, 0, 0, 0}}}};
    tn_target_def     target  = tn_default_target_def();
    target.body = body, target.keys = keys, target.key_count = 2;
    target.point = tn_scene_body(m->scene, 0)->com, target.stiffness = 3, target.damping = 0.5;
    CHECK_OK(tn_scene_add_target(m->scene, &target));
    random_mechanism_build(m);
    force_rig            rig = force_rig_make(m);
    const tni_scene_view at  = force_rig_look(&rig, 0);
    const tn_vec3        x = rig.views[1].x, none = {0, 0, 0};
    const tni_prediction ahead = {0.25, 0.25, NULL};
    tni_soft             soft;
    tni_force_target.soften(&at, &ahead, keep_one, &soft);
    tn_vec3 want =
        tni_add_scaled(tni_scale(-3, tni_sub(x, tni_vec3(0.5, 0, 0))), 1, tni_vec3(1, 0, 0));
    CHECK_LESS(tni_max_abs(tni_sub(tni_read3(soft.f), want)), 1e-14);
    CHECK_INT(soft.row_count, 3);

    const tn_frame pose = {{1, 2, 3}, {1, 0, 0, 0}};
    const tn_twist go   = {{0, 0, 4}, none};
    CHECK_OK(tn_state_set_target(m->state, 0, &pose, &go));
    tni_force_target.soften(&at, &ahead, keep_one, &soft);
    want = tni_add_scaled(tni_scale(-3, tni_sub(x, tni_vec3(1, 2, 4))), 0.5, tni_vec3(0, 0, 4));
    CHECK_LESS(tni_max_abs(tni_sub(tni_read3(soft.f), want)), 1e-14);
    const tn_vec3 from = tni_sub(x, tni_vec3(1, 2, 3));
    CHECK_NEAR(tn_state_energy(m->state).elastic, 1.5 * tni_dot(from, from), 1e-13);
    CHECK_OK(tn_state_set_target(m->state, 0, NULL, NULL));

    CHECK_OK(tn_state_grab(m->state, 1, body, target.point, 6, 0.25));
    CHECK_OK(tn_state_move(m->state, 1, tni_vec3(3, 2, 1), tni_vec3(4, 0, 0)));
    tni_force_handle.soften(&at, &ahead, keep_one, &soft);
    want = tni_add_scaled(tni_scale(-6, tni_sub(x, tni_vec3(4, 2, 1))), 0.25, tni_vec3(4, 0, 0));
    CHECK_LESS(tni_max_abs(tni_sub(tni_read3(soft.f), want)), 1e-13);
    const tn_vec3 arm = tni_sub(x, tni_vec3(3, 2, 1));
    CHECK_NEAR(tn_state_energy(m->state).elastic, 1.5 * tni_dot(x, x) + 3 * tni_dot(arm, arm),
               1e-13);
    tn_state_release(m->state, 1);
    soft.row_count = -1;
    tni_force_handle.soften(&at, &ahead, keep_one, &soft);
    CHECK_INT(soft.row_count, -1); // a free handle is no force
    force_rig_free(&rig);
    random_mechanism_free(m);
}

// Linear drag only feels the wind less its own speed; keyed wind at the step's end.
TEST(drag_follows_the_wind)
{
    test_random         r       = {24};
    random_mechanism*   m       = random_mechanism_make();
    const tn_vector_key wind[2] = {{0, {0, 0, 0}}, {1, {0, 8, 0}}};
    tn_drag_def         drag    = tn_default_drag_def();
    drag.body                   = random_add_body(m, &r, RANDOM_PARTICLE, tni_vec3(0, 0, 0), false);
    drag.linear = 0.5, drag.wind_keys = wind, drag.wind_key_count = 2;
    CHECK_OK(tn_scene_add_drag(m->scene, &drag));
    finish(m, &r);
    force_rig            rig   = force_rig_make(m);
    const tni_scene_view at    = force_rig_look(&rig, 0.25);
    const tni_prediction ahead = {0.25, 0.5, m->state->u};
    tni_soft             soft;
    double               f[3] = {0, 0, 0};
    tni_force_drag.soften(&at, &ahead, keep_one, &soft);
    CHECK_LESS(tni_max_abs(tni_sub(tni_read3(soft.f), tni_vec3(0, 0.5 * 4, 0))), 1e-14);
    tni_force_add(&tni_force_drag, &at, f);
    const tn_vec3 v = tni_read3(m->state->u);
    CHECK_LESS(tni_max_abs(tni_sub(tni_read3(f), tni_scale(-0.5, tni_sub(v, tni_vec3(0, 2, 0))))),
               1e-14);
    force_rig_free(&rig);
    random_mechanism_free(m);
}
