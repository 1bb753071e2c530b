// constraint: the rows of held centres of mass, against differences and momentum; the force
// directions of user-defined constraints.
#include "support/random_scene.h"

enum { BODIES = 12, U_MAX = 128 };

typedef struct values {
    double C[3], rate[3], gamma[3];
    double J[3 * U_MAX]; ///< row_count x u_count
} values;

static values values_at(const random_mechanism* m, const double* d, double s)
{
    const tn_model*       model      = m->model;
    const tni_constraint* constraint = &model->constraints[0];
    double                q[U_MAX], moved[U_MAX], blocks[BODIES][3 * 12], *J[BODIES];
    tni_view              views[BODIES + 1];
    values                v = {.C = {0}};
    for (int i = 0; i < model->u_count; ++i) moved[i] = s * d[i];
    for (int i = 0; i < BODIES; ++i) {
        J[i] = blocks[i];
        for (int k = 0; k < 3 * 12; ++k) blocks[i][k] = TN_UNSET; // all of it must be written
    }
    for (int i = 0; i < 3; ++i) v.gamma[i] = TN_UNSET;
    tni_advance(model, m->state->q, moved, q);
    tni_views(model, m->state->time, q, m->state->u, views);
    const tni_rows_out out = {v.C, v.rate, v.gamma, J, NULL};
    tni_constraint_rows(model, constraint, views, m->state->time, m->state->z, &out);
    for (int e = 0; e < constraint->edge_count; ++e) {
        const tni_body* body = &model->bodies[model->edge_body[constraint->edge_start + e]];
        for (int i = 0; i < constraint->row_count; ++i)
            for (int k = 0; k < body->dim; ++k)
                v.J[i * U_MAX + body->u_start + k] = blocks[e][i * body->dim + k];
    }
    return v;
}

// count bodies, of all kinds that have a centre of mass or of one; the first ones are held.
static random_mechanism* held(uint64_t seed, int count, bool planar, const bool hold[3])
{
    static const random_kind kinds[] = {RANDOM_RIGID, RANDOM_PLANAR, RANDOM_PARTICLE,
                                        RANDOM_AFFINE};
    test_random              r       = {seed};
    random_mechanism*        m       = random_mechanism_make();
    tn_coupling_def          def     = tn_default_coupling_def(TN_COUPLING_CENTER);
    tn_body_id               bodies[BODIES];
    for (int i = 0; i < BODIES; ++i) {
        const random_kind kind = planar ? RANDOM_PLANAR : kinds[i % 4];
        bodies[i]              = random_add_body(m, &r, kind, random_vec3(&r, 3), planar);
    }
    def.bodies = bodies, def.body_count = count;
    for (int k = 0; k < 3; ++k) def.hold[k] = hold[k];
    CHECK_OK(tn_scene_add_coupling(m->scene, &def));
    random_mechanism_build(m);
    const double none[U_MAX] = {0};
    const values start       = values_at(m, none, 0); // exactly held
    for (int i = 0; i < m->model->constraints[0].row_count; ++i) CHECK(start.C[i] == 0);
    random_disturb(m, &r, 0.5, 2);
    return m;
}

// The centre of the first count bodies, and its velocity, from the public getters.
static void centre_of(const random_mechanism* m, int count, tn_vec3* centre, tn_vec3* velocity)
{
    double mass = 0;
    *centre = *velocity = tni_vec3(0, 0, 0);
    for (int i = 1; i <= count; ++i) {
        const tn_body_id id    = {(uint32_t)i};
        const double     share = tn_model_body_mass(m->model, id);
        const tn_frame   pose  = tn_state_pose(m->state, id);
        const tni_view   view  = tni_state_view(m->state, i);
        const tni_body*  body  = &m->model->bodies[i];
        const tni_motion com   = tni_point_motion(body, &view, tni_vec3(0, 0, 0));
        if (body->kind == TN_BODY_RIGID) { // the getter's pose leads to the same place
            const tn_vec3 at = tni_add(pose.position, tni_rotate(pose.orientation, body->com));
            CHECK_LESS(tni_max_abs(tni_sub(at, com.at)), 1e-13);
        }
        *centre   = tni_add_scaled(*centre, share, com.at);
        *velocity = tni_add_scaled(*velocity, share, com.rate);
        mass += share;
    }
    *centre   = tni_scale(1 / mass, *centre);
    *velocity = tni_scale(1 / mass, *velocity);
}

static void check_center(random_mechanism* m, int count, const bool hold[3])
{
    const tn_model*       model       = m->model;
    const tni_constraint* constraint  = &model->constraints[0];
    const double          none[U_MAX] = {0};
    const values          here        = values_at(m, none, 0);
    tn_vec3               centre, velocity, start, rest;
    centre_of(m, count, &centre, &velocity);
    tn_state* state = m->state;
    CHECK_OK(tn_state_create(model, &m->state));
    centre_of(m, count, &start, &rest);
    tn_state_free(m->state);
    m->state = state;
    for (int k = 0, row = 0; k < 3; ++k) {
        if (!hold[k]) continue;
        CHECK_NEAR(here.C[row], tni_at(centre, k) - tni_at(start, k), 1e-14);
        CHECK_NEAR(here.rate[row], tni_at(velocity, k), 1e-14);
        CHECK(here.gamma[row] == 0);
        double Ju = 0;
        for (int j = 0; j < model->u_count; ++j) Ju += here.J[row * U_MAX + j] * m->state->u[j];
        CHECK_NEAR(Ju, here.rate[row], 1e-14);
        ++row;
    }
    for (int j = 0; j < model->u_count; ++j) { // C is linear: any step will do
        double e[U_MAX] = {0};
        e[j]            = 1;
        const values b = values_at(m, e, 0.5), a = values_at(m, e, -0.5);
        for (int i = 0; i < constraint->row_count; ++i)
            CHECK_NEAR(b.C[i] - a.C[i], here.J[i * U_MAX + j], 1e-14);
    }
}

TEST(centers_agree_with_differences)
{
    for (int axes = 1; axes < 8; ++axes)
        for (int count = 1; count <= BODIES; ++count) {
            const bool            hold[3] = {axes % 2 != 0, axes / 2 % 2 != 0, axes / 4 != 0};
            random_mechanism*     m       = held((uint64_t)(8 * count + axes), count, false, hold);
            const tni_constraint* constraint = &m->model->constraints[0];
            CHECK_INT(constraint->row_count, hold[0] + hold[1] + hold[2]);
            CHECK_INT(constraint->held_count, constraint->row_count);
            CHECK_INT(constraint->edge_count, count);
            check_center(m, count, hold);
            random_mechanism_free(m);
        }
}

TEST(centers_of_planar_bodies_need_no_row_for_z)
{
    const bool        all[3] = {true, true, true}, flat[3] = {true, true, false};
    random_mechanism* m = held(3, BODIES, true, all);
    CHECK_INT(m->model->constraints[0].row_count, 2);
    check_center(m, BODIES, flat);
    random_mechanism_free(m);
}

TEST(centers_and_ropes_are_no_loops)
{
    const bool        all[3]   = {true, true, true};
    test_random       r        = {5};
    tn_joint_def      rope     = tn_default_joint_def(TN_JOINT_ROPE);
    tn_joint_def      ball     = tn_default_joint_def(TN_JOINT_BALL);
    random_mechanism* m        = random_mechanism_make();
    const tn_body_id  a        = random_add_body(m, &r, RANDOM_RIGID, tni_vec3(1, 0, 0), false),
                     b         = random_add_body(m, &r, RANDOM_RIGID, tni_vec3(2, 0, 0), false);
    tn_coupling_def  center    = tn_default_coupling_def(TN_COUPLING_CENTER);
    const tn_body_id bodies[2] = {a, b};
    center.bodies = bodies, center.body_count = 2;
    memcpy(center.hold, all, sizeof all);
    rope.length = 5;
    ball.body2  = a;
    ball.role   = TN_ROLE_PRIMARY;
    center.role = TN_ROLE_AUXILIARY;
    (void)tn_scene_add_joint(m->scene, &ball);
    rope.body1 = a, rope.body2 = b;
    for (int i = 0; i < 3; ++i) (void)tn_scene_add_joint(m->scene, &rope);
    rope.body1.bits = 0;
    (void)tn_scene_add_joint(m->scene, &rope);
    CHECK_OK(tn_scene_add_coupling(m->scene, &center));
    random_mechanism_build(m);
    const tn_counts counts = tn_model_counts(m->model);
    CHECK_INT(counts.loops, 0);
    CHECK_INT(counts.parts, 2);
    CHECK_INT(counts.joints, 5);
    CHECK_INT(counts.couplings, 1);
    CHECK_INT(counts.rows, 6);
    CHECK_INT(m->model->limit_count, 4);
    CHECK(m->model->constraints[0].role == TN_ROLE_PRIMARY);
    CHECK(m->model->constraints[1].role == TN_ROLE_AUTO);
    CHECK(m->model->constraints[5].role == TN_ROLE_AUXILIARY);
    random_mechanism_free(m);
}

// ---- User-defined constraints with force directions of their own
// ---------------------------------

// Row i holds coordinate i of body 0; its force acts on body i, with numbers that identify each
// block.
static void rows_at(const void* data, double time, const tn_body_view* bodies, double* C,
                    double* rate, double* const* J, double* gamma)
{
    (void)data, (void)time, (void)bodies;
    for (int i = 0; i < 2; ++i) {
        if (C != NULL) C[i] = i + 1;
        if (rate != NULL) rate[i] = i + 3;
        if (gamma != NULL) gamma[i] = i + 5;
    }
    for (int b = 0; J != NULL && b < 3; ++b) {
        for (int k = 0; J[b] != NULL && k < 2 * bodies[b].dim; ++k) J[b][k] = 100 * b + k;
    }
}

static void force_at(const void* data, double time, const tn_body_view* bodies, double* const* K)
{
    (void)data, (void)time;
    CHECK(K[1] == NULL); // the ground
    for (int b = 0; b < 3; ++b) {
        for (int k = 0; K[b] != NULL && k < 2 * bodies[b].dim; ++k) K[b][k] = -100 * b - k - 1;
    }
}

static void check_pushes(bool otherwise)
{
    const tn_constraint_table table = {
        .rows = 2, .holonomic = 2, .rows_at = rows_at, .force_at = otherwise ? force_at : NULL};
    test_random       r         = {7};
    random_mechanism* m         = random_mechanism_make();
    const tn_body_id  a         = random_add_body(m, &r, RANDOM_RIGID, tni_vec3(1, 0, 0), false),
                     b          = random_add_body(m, &r, RANDOM_PARTICLE, tni_vec3(2, 0, 0), false);
    const tn_body_id  bodies[3] = {b, {0}, a};
    tn_constraint_def def       = {.bodies = bodies, .body_count = 3, .table = &table};
    def.role                    = TN_ROLE_PRIMARY;
    CHECK_INT(tn_scene_add_constraint(m->scene, &def).bits, 1);
    random_mechanism_build(m);
    const tni_constraint* constraint = &m->model->constraints[0];
    tni_view              views[3];
    double                J0[12] = {0}, J1[12] = {0}, K0[12] = {0}, K1[12] = {0};
    double *              J[2] = {J0, J1}, *K[2] = {K0, K1}, C[2];
    CHECK(constraint->role == TN_ROLE_PRIMARY && constraint->pushes_otherwise == otherwise);
    CHECK_INT(constraint->edge_count, 2);
    tni_views(m->model, 0, m->state->q, m->state->u, views);
    tni_constraint_rows(m->model, constraint, views, 0, m->state->z,
                        &(tni_rows_out){.C = C, .J = J, .K = K});
    for (int e = 0; e < 2; ++e) {
        const int body = m->model->edge_body[constraint->edge_start + e];
        const int its  = body == (int)a.bits ? 2 : 0;
        for (int k = 0; k < 2 * m->model->bodies[body].dim; ++k) {
            CHECK(J[e][k] == 100 * its + k);
            CHECK(K[e][k] == (otherwise ? -100 * its - k - 1 : 0));
        }
    }
    random_mechanism_free(m);
}

TEST(forces_of_user_constraints_act_on_their_bodies)
{
    check_pushes(true);
    check_pushes(false);
}

// ---- Coordinates of all joints ------------------------------------------------------------------

TEST(coordinates_of_joints_are_contiguous)
{
    static const tn_joint_type types[]  = {TN_JOINT_BALL,     TN_JOINT_USER, TN_JOINT_WELD,
                                           TN_JOINT_CYLINDER, TN_JOINT_ROPE, TN_JOINT_USER};
    static const int           starts[] = {0, 3, 3, 3, 5, 5};
    const tn_constraint_table  table    = {.rows = 2, .holonomic = 2, .rows_at = rows_at};
    test_random                r        = {9};
    random_mechanism*          m        = random_mechanism_make();
    for (int i = 0; i < 6; ++i) {
        const tn_body_id  body = random_add_body(m, &r, RANDOM_RIGID, tni_vec3(i, 1, 0), false);
        tn_joint_def      def  = tn_default_joint_def(types[i]);
        tn_constraint_def user = {.bodies = &body, .body_count = 1, .table = &table};
        def.body2              = body;
        if (types[i] == TN_JOINT_USER) (void)tn_scene_add_constraint(m->scene, &user);
        else (void)tn_scene_add_joint(m->scene, &def);
    }
    random_mechanism_build(m);
    CHECK_INT(tn_model_coordinate_count(m->model), 5);
    for (uint32_t i = 0; i < 6; ++i)
        CHECK_INT(tn_model_joint_coordinate_start(m->model, (tn_joint_id){i + 1}), starts[i]);
    random_mechanism_free(m);
}
