// soft_contact: contact points as stiff one-sided forces. Forces are compared with the law of a
// ball over a plane, whose gap is known in closed form; their effect with backward Euler written
// out for one body, dense, without the library's steps.
#include "contact/soft_contact.h"

#include "linalg/dense.h"
#include "support/random_scene.h"

enum { BODIES_MAX = 8, TOUCHES_MAX = 64, SOFTS_MAX = 16, U_MAX = 24 };

static const tni_contact_law law    = {1e5, 100};
static const double          h      = 1.0 / 60;
static const double          radius = 0.1;
static const double          g      = 9.81;

// ---- Scenes -------------------------------------------------------------------------------------

typedef struct seen {
    random_mechanism* m;
    tni_view          views[BODIES_MAX], end[BODIES_MAX];
    tni_contact       touches[TOUCHES_MAX];
    double            secants[TOUCHES_MAX];
    tni_contact_room  room;
    tni_finder*       finder;
    tni_soft          softs[SOFTS_MAX];
    int               count;
    double            u[U_MAX]; ///< predicted
    bool              at_end;   ///< the end of the step is evaluated
} seen;

static void take(void* user, const tni_soft* soft)
{
    seen* s = user;
    CHECK(s->count < SOFTS_MAX);
    if (s->count < SOFTS_MAX) s->softs[s->count++] = *soft;
}

static void look(seen* s)
{
    const tn_state* state = s->m->state;
    tni_views(s->m->model, state->time, state->q, state->u, s->views);
    const tni_scene_view at = {
        .model = s->m->model, .time = state->time, .z = state->z, .views = s->views};
    const tni_prediction ahead = {h, state->time + (s->at_end ? 0 : h), s->u};
    if (s->finder == NULL) CHECK_OK(tni_finder_create(s->m->model, &s->finder));
    s->room  = (tni_contact_room){.finder   = s->finder,
                                  .views    = s->end,
                                  .contacts = s->touches,
                                  .secants  = s->secants,
                                  .capacity = TOUCHES_MAX};
    s->count = 0;
    CHECK(tni_contact_soften(&at, &ahead, law, &s->room, take, s) <= TOUCHES_MAX);
    CHECK(s->room.count <= s->count); // the others have friction only
}

static seen* seen_make(void)
{
    seen* s = calloc(1, sizeof *s);
    s->m    = random_mechanism_make();
    return s;
}

static void seen_free(seen* s)
{
    tni_finder_free(s->finder);
    random_mechanism_free(s->m);
    free(s);
}

static tn_body_id add_shape(seen* s, tn_body_kind kind, tn_shape_type type, double friction,
                            tn_vec3 at, const tn_key* keys, int key_count)
{
    const double unit[6] = {0.01, 0.02, 0.03, 0, 0, 0};
    tn_shape_def shape   = tn_default_shape_def(type);
    tn_body_def  def     = tn_default_body_def();
    shape.radius = radius, shape.half_length = 0.2, shape.half_size = tni_vec3(0.2, 0.3, 0.1);
    shape.friction = friction;
    def.kind = kind, def.mass = 2, def.com = tni_vec3(0, 0, 0), def.pose.position = at;
    def.shapes = &shape, def.shape_count = 1;
    def.keys = keys, def.key_count = key_count;
    memcpy(def.inertia, unit, sizeof unit);
    s->m->body_count++;
    return tn_scene_add_body(s->m->scene, &def);
}

// A ball over the floor with a gap.
static seen* ball_over_floor(tn_body_kind kind, double friction, double gap)
{
    seen* s = seen_make();
    tn_scene_set_ground(s->m->scene, friction, 0);
    (void)add_shape(s, kind, TN_SHAPE_SPHERE, friction, tni_vec3(0, 0, radius + gap), NULL, 0);
    random_mechanism_build(s->m);
    return s;
}

// ---- The law ------------------------------------------------------------------------------------

// k depth1 + d (depth1 - depth0)/h, not below 0.
static double law_of(double gap, double rate)
{
    const double depth0 = fmax(0, -gap), depth1 = fmax(0, -gap - h * rate);
    const double N = law.stiffness * depth1 + law.damping * (depth1 - depth0) / h;
    return depth1 > 0 ? fmax(0, N) : 0;
}

// Force of the first soft force along row i when its bodies move with u during the step.
static double force_of(const seen* s, int i)
{
    const tni_soft* soft                    = &s->softs[0];
    const double    way                     = s->at_end ? 0 : h;
    double          rate[TNI_SOFT_ROWS_MAX] = {0};
    for (int k = 0; k < soft->row_count; ++k)
        for (int side = soft->kind == TNI_SOFT_CONTACT ? 0 : 1; side < 2; ++side) {
            const tni_body* body = &s->m->model->bodies[soft->body[side]];
            for (int j = 0; j < body->dim; ++j)
                rate[k] += soft->J[side][k * body->dim + j] * s->u[body->u_start + j];
        }
    double force = soft->f[i];
    for (int k = 0; k < soft->row_count; ++k)
        force -=
            (soft->K[i * soft->row_count + k] * way + soft->D[i * soft->row_count + k]) * rate[k];
    return force;
}

TEST(a_ball_pushes_as_the_law_says_and_never_pulls)
{
    static const double gaps[] = {-0.02, -1e-3, 0, 1e-3, 0.02};
    for (int i = 0; i < 5; ++i) {
        seen* s = ball_over_floor(TN_BODY_PARTICLE, 0, gaps[i]);
        for (int k = -200; k <= 200; ++k) {
            const double N = law_of(gaps[i], s->u[2] = 0.01 * k);
            look(s);
            CHECK(s->count == 1 || N < 1e-9);
            if (s->count == 0) continue;
            CHECK_INT(s->softs[0].kind, TNI_SOFT_BODY);
            CHECK_INT(s->softs[0].body[1], 1);
            CHECK_INT(s->softs[0].row_count, 1);
            CHECK_NEAR(force_of(s, 0), N, 1e-9); // of 1e5 N/m x 0.02 m
            CHECK_NEAR(s->softs[0].J[1][2], 1, 1e-15);
        }
        seen_free(s);
    }
}

// The law is continuous: the force at the edge between active and inactive is small.
TEST(contact_force_begins_at_zero)
{
    for (int i = 0; i < 2; ++i) {
        const double gap = i == 0 ? 0.01 : -0.01;
        seen*        s   = ball_over_floor(TN_BODY_PARTICLE, 0, gap);
        double       low = -10, high = 10; // active, inactive
        for (int round = 0; round < 60; ++round) {
            s->u[2] = 0.5 * (low + high);
            look(s);
            if (s->count > 0) low = s->u[2];
            else high = s->u[2];
        }
        s->u[2] = low;
        look(s);
        CHECK_LESS(force_of(s, 0), 1e-8);
        seen_free(s);
    }
}

TEST(contacts_push_bodies_of_all_kinds)
{
    static const tn_body_kind kinds[] = {TN_BODY_RIGID, TN_BODY_PARTICLE};
    for (int i = 0; i < 2; ++i) {
        seen* s = ball_over_floor(kinds[i], 0.5, -1e-3);
        look(s);
        CHECK_INT(s->count, 1);
        CHECK_INT(s->softs[0].row_count, 3);
        CHECK_NEAR(s->softs[0].f[0], 100, 1e-9);
        seen_free(s);
    }
    // In the plane: a wall that stands on it.
    seen*        s        = seen_make();
    tn_shape_def wall     = tn_default_shape_def(TN_SHAPE_PLANE);
    tn_body_def  def      = tn_default_body_def();
    wall.pose.orientation = tni_quat_exp(tni_vec3(0, 0.5 * 3.14159265358979323846, 0));
    wall.friction         = 1;
    def.kind = TN_BODY_STATIC, def.shapes = &wall, def.shape_count = 1;
    (void)tn_scene_add_body(s->m->scene, &def);
    (void)add_shape(s, TN_BODY_PLANAR, TN_SHAPE_SPHERE, 1, tni_vec3(radius - 1e-3, 0, 0), NULL, 0);
    random_mechanism_build(s->m);
    look(s);
    CHECK_INT(s->count, 1);
    CHECK_INT(s->softs[0].row_count, 2);
    CHECK_NEAR(s->softs[0].f[0], 100, 1e-9);
    CHECK_NEAR(s->softs[0].J[1][0], 1, 1e-14);
    seen_free(s);
}

// A box flat on the floor has four points, tilted ones fewer.
TEST(a_box_stands_on_its_corners)
{
    seen* s = seen_make();
    tn_scene_set_ground(s->m->scene, 0, 0);
    (void)add_shape(s, TN_BODY_RIGID, TN_SHAPE_BOX, 0, tni_vec3(0, 0, 0.1 - 1e-4), NULL, 0);
    random_mechanism_build(s->m);
    look(s);
    CHECK_INT(s->count, 4);
    for (int i = 0; i < s->count; ++i) CHECK_NEAR(s->softs[i].f[0], 10, 1e-9);
    const tn_quat tilt = tni_quat_exp(tni_vec3(0.01, 0, 0)); // 0.3 m * 0.01 up or down
    s->m->state->q[3] = tilt.w, s->m->state->q[4] = tilt.x;
    look(s);
    CHECK_INT(s->count, 2);
    // Rotating down fast enough, the corners reach the floor within the step.
    s->u[3] = -0.012 / h;
    look(s);
    CHECK_INT(s->count, 2);
    CHECK(s->softs[0].f[0] < 0); // not in contact yet
    seen_free(s);
}

// ---- Friction -----------------------------------------------------------------------------------

TEST(friction_is_a_secant_of_the_smooth_law)
{
    seen*        s       = ball_over_floor(TN_BODY_RIGID, 0.5, -2e-3);
    tn_state*    state   = s->m->state;
    const double slip[2] = {0.3 - radius * 0.7, -0.2 - radius * 0.4}; // v + w x (-r z)
    state->u[0] = 0.3, state->u[1] = -0.2, state->u[2] = 0.05;
    state->u[3] = -0.4, state->u[4] = 0.7;
    memcpy(s->u, state->u, sizeof(double) * 6);
    look(s);
    const tni_soft* soft  = &s->softs[0];
    const double    N     = 1e5 * 2e-3 - 100 * 0.05;
    const double    speed = sqrt(slip[0] * slip[0] + slip[1] * slip[1] + 1e-6);
    CHECK_INT(soft->row_count, 3);
    for (int i = 1; i < 3; ++i) {
        CHECK_NEAR(soft->D[3 * i + i], 0.5 * N / speed, 1e-9);
        CHECK_NEAR(soft->D[i] + soft->D[3 * i] + fabs(soft->K[3 * i + i]), 0, 0);
        CHECK_NEAR(soft->f[i], 0, 0);
    }
    // The friction itself, back in the world: along -slip, of size mu N.
    double f[2] = {0};
    for (int i = 1; i < 3; ++i)
        for (int k = 0; k < 2; ++k) f[k] += soft->J[1][6 * i + k] * force_of(s, i);
    for (int k = 0; k < 2; ++k) CHECK_NEAR(f[k], -0.5 * N * slip[k] / speed, 1e-10);
    seen_free(s);
}

// A point that separates has pushed until now, and keeps the friction of that for one step.
TEST(friction_lasts_one_step_after_separation)
{
    seen* s = ball_over_floor(TN_BODY_RIGID, 0.5, -1e-3);
    s->u[2] = 1;
    look(s);
    CHECK_INT(s->room.count, 0);
    CHECK_INT(s->count, 1);
    CHECK_INT(s->softs[0].row_count, 3);
    CHECK_NEAR(fabs(s->softs[0].f[0]) + s->softs[0].K[0] + s->softs[0].D[0], 0, 0);
    CHECK_NEAR(s->softs[0].D[4], 0.5 * 100 / 1e-3, 1e-6);
    seen_free(s);
}

TEST(no_friction_before_contact)
{
    seen* s = ball_over_floor(TN_BODY_RIGID, 0.5, 1e-3);
    s->u[0] = 1, s->u[2] = -1;
    look(s);
    CHECK_INT(s->count, 1);
    CHECK_INT(s->softs[0].row_count, 1);
    seen_free(s);
}

// ---- Moving floors ------------------------------------------------------------------------------

// A plane that rises with v and slides with w under a ball at rest.
TEST(a_kinematic_plane_pushes_and_drags)
{
    const double rise = 0.6, slide = 1.5;
    const tn_key keys[] = {{0, {{0, 0, 0}, {1, 0, 0, 0}}}, {1, {{slide, 0, rise}, {1, 0, 0, 0}}}};
    seen*        s      = seen_make();
    (void)add_shape(s, TN_BODY_KINEMATIC, TN_SHAPE_PLANE, 0.5, tni_vec3(0, 0, 0), keys, 2);
    (void)add_shape(s, TN_BODY_RIGID, TN_SHAPE_SPHERE, 0.5, tni_vec3(0, 0, radius - 1e-3), NULL, 0);
    random_mechanism_build(s->m);
    look(s);
    CHECK_INT(s->count, 1);
    CHECK_NEAR(s->softs[0].f[0], law_of(-1e-3, -rise), 1e-9);
    const double D = 0.5 * (100 + 100 * rise) / sqrt(slide * slide + 1e-6);
    double       f = 0; // along x
    for (int i = 1; i < 3; ++i) f += s->softs[0].J[1][6 * i] * s->softs[0].f[i];
    CHECK_NEAR(f, D * slide, 1e-9);
    // Above it, out of reach and within.
    s->m->state->q[2] = radius + rise * h + 1e-6;
    look(s);
    CHECK_INT(s->count, 0);
    s->m->state->q[2] = radius + 1e-3;
    look(s);
    CHECK_INT(s->count, 1);
    CHECK_NEAR(s->softs[0].f[0], law_of(1e-3, -rise), 1e-9);
    seen_free(s);
}

// ---- Two bodies ---------------------------------------------------------------------------------

// Forces of a pair of free rigid bodies and their torques about the origin add up to nothing.
static void check_balance(const seen* s)
{
    for (int i = 0; i < s->count; ++i) {
        const tni_soft* soft = &s->softs[i];
        CHECK_INT(soft->kind, TNI_SOFT_CONTACT);
        for (int row = 0; row < soft->row_count; ++row) {
            tn_vec3 force = {0, 0, 0}, torque = {0, 0, 0};
            for (int side = 0; side < 2; ++side) {
                const double* J = soft->J[side] + 6 * row;
                const tn_vec3 f = tni_read3(J);
                force           = tni_add(force, f);
                torque          = tni_add(torque, tni_read3(J + 3));
                torque          = tni_add(torque, tni_cross(s->views[soft->body[side]].x, f));
            }
            CHECK_LESS(tni_norm(force), 1e-14);
            CHECK_LESS(tni_norm(torque), 1e-14);
        }
    }
}

TEST(contact_forces_of_two_free_bodies_balance)
{
    for (int plane = 0; plane < 2; ++plane) {
        for (uint64_t seed = 1; seed <= 20; ++seed) {
            test_random r = {seed};
            seen*       s = seen_make();
            (void)add_shape(s, TN_BODY_RIGID, plane ? TN_SHAPE_PLANE : TN_SHAPE_SPHERE, 0.5,
                            tni_vec3(0, 0, 0), NULL, 0);
            (void)add_shape(s, TN_BODY_RIGID, plane ? TN_SHAPE_CYLINDER : TN_SHAPE_SPHERE, 0.5,
                            tni_scale(plane ? 0.1 : 0.15, random_direction(&r)), NULL, 0);
            random_mechanism_build(s->m);
            random_numbers(&r, s->m->state->u, 12, 0.1);
            memcpy(s->u, s->m->state->u, sizeof(double) * 12);
            look(s);
            CHECK(s->count > 0);
            check_balance(s);
            seen_free(s);
        }
    }
}

// The movable body is the second one, whichever of the two it was.
TEST(a_ball_on_a_fixed_ball_is_pushed_away)
{
    for (int last = 0; last < 2; ++last) {
        seen* s = seen_make();
        for (int i = 0; i < 2; ++i)
            (void)add_shape(s, i == last ? TN_BODY_RIGID : TN_BODY_STATIC, TN_SHAPE_SPHERE, 0.5,
                            tni_vec3(0.19 * i, 0, 0), NULL, 0);
        random_mechanism_build(s->m);
        look(s);
        CHECK_INT(s->count, 1);
        CHECK_INT(s->softs[0].kind, TNI_SOFT_BODY);
        CHECK_INT(s->softs[0].body[1], 1 + last);
        CHECK_NEAR(s->softs[0].f[0] * s->softs[0].J[1][0], last ? 1e3 : -1e3, 1e-9);
        seen_free(s);
    }
}

// ---- Backward Euler, by hand --------------------------------------------------------------------

// (M + h^2 J^T K J + h J^T D J) u = M u + h (force + J^T f) for the first free body, rigid,
// rotating slowly; repeated until the active set is the predicted one.
static void euler(seen* s, tn_vec3 force, tn_vec3 torque)
{
    tn_state* state = s->m->state;
    memcpy(s->u, state->u, sizeof(double) * 6);
    for (int round = 0; round < 8; ++round) {
        const uint64_t before = s->room.pushing;
        double         A[36]  = {0}, b[6];
        int            exchange[6];
        look(s);
        if (round > 0 && s->room.pushing == before) break;
        const tni_body* body = &s->m->model->bodies[s->m->model->free_bodies[0]];
        tni_mass_block(body, &s->views[s->m->model->free_bodies[0]], A);
        for (int i = 0; i < 6; ++i) {
            b[i] = h * (i < 3 ? tni_at(force, i) : tni_at(torque, i - 3));
            for (int k = 0; k < 6; ++k) b[i] += A[6 * i + k] * state->u[k];
        }
        for (int c = 0; c < s->count; ++c) {
            const tni_soft* soft = &s->softs[c];
            const int       n    = soft->row_count;
            for (int row = 0; row < n; ++row)
                for (int col = 0; col < n; ++col)
                    for (int i = 0; i < 36; ++i)
                        A[i] += soft->J[1][6 * row + i / 6] * soft->J[1][6 * col + i % 6] *
                                (h * h * soft->K[row * n + col] + h * soft->D[row * n + col]);
            for (int row = 0; row < n; ++row)
                for (int i = 0; i < 6; ++i) b[i] += h * soft->f[row] * soft->J[1][6 * row + i];
        }
        CHECK_OK(tni_dense_lu(6, A, exchange));
        tni_dense_lu_solve(6, A, exchange, b);
        memcpy(s->u, b, sizeof b);
    }
    double d[6], q[7];
    for (int i = 0; i < 6; ++i) d[i] = h * s->u[i];
    memcpy(q, state->q, sizeof q);
    tni_advance(s->m->model, q, d, state->q);
    memcpy(state->u, s->u, sizeof(double) * 6);
}

TEST(a_ball_comes_to_rest_at_its_weight_over_the_stiffness)
{
    seen* s = ball_over_floor(TN_BODY_RIGID, 0.5, 0.5);
    for (int i = 0; i < 600; ++i) euler(s, tni_vec3(0, 0, -2 * g), tni_vec3(0, 0, 0));
    CHECK_NEAR(s->m->state->q[2], radius - 2 * g / law.stiffness, 1e-12);
    CHECK_NEAR(s->m->state->u[2], 0, 1e-12);
    seen_free(s);
}

// Friction that holds the fraction r of its limit creeps at c r / sqrt(1 - r^2).
TEST(sticking_creeps_at_the_predicted_speed)
{
    for (double share = 0.1; share < 0.95; share += 0.2) {
        seen*        s    = seen_make();
        const double side = 0.5 * share * 2 * g;
        tn_scene_set_ground(s->m->scene, 0.5, 0);
        (void)add_shape(s, TN_BODY_RIGID, TN_SHAPE_BOX, 0.5, tni_vec3(0, 0, 0.1), NULL, 0);
        random_mechanism_build(s->m);
        // The pull is at the floor, so that the box does not tip and all corners carry alike.
        for (int i = 0; i < 600; ++i)
            euler(s, tni_vec3(side, 0, -2 * g), tni_vec3(0, -0.1 * side, 0));
        const double speed = TNI_CONTACT_CREEP * share / sqrt(1 - share * share);
        CHECK_NEAR(s->m->state->u[0], speed, 0.03 * speed);
        CHECK_NEAR(s->m->state->u[1], 0, 1e-9);
        seen_free(s);
    }
}

TEST(beyond_what_friction_holds_it_slides)
{
    seen*        s    = ball_over_floor(TN_BODY_RIGID, 0.5, 0);
    const double mass = 2, pull = 2 * 0.5 * mass * g; // twice the friction
    s->m->state->u[0] = 1;
    for (int i = 0; i < 60; ++i) euler(s, tni_vec3(0, 0, -mass * g), tni_vec3(0, 0, 0)); // rolls
    const double before = s->m->state->u[0];
    s->m->state->u[3] = s->m->state->u[4] = s->m->state->u[5] = 0; // slides
    s->m->state->u[0]                                         = 50;
    for (int i = 0; i < 6; ++i) euler(s, tni_vec3(pull, 0, -mass * g), tni_vec3(0, 0, 0));
    CHECK(before > 0);
    const double gained = s->m->state->u[0] - 50, wanted = 6 * h * (pull / mass - 0.5 * g);
    CHECK_NEAR(gained, wanted, 0.01 * wanted); // the secant is off by what the slip changes
    seen_free(s);
}

// Evaluated at its end, a step has the normal forces that it was taken with: to rounding for a
// ball, whose gap is linear.
TEST(the_end_agrees_with_the_start)
{
    static const double gaps[] = {0.01, 0, -0.003};
    for (int i = 0; i < 3; ++i) {
        seen* s           = ball_over_floor(TN_BODY_RIGID, 0, gaps[i]);
        s->m->state->u[2] = -2;
        s->at_end         = false;
        euler(s, tni_vec3(0, 0, -2 * g), tni_vec3(0, 0, 0));
        const double N = force_of(s, 0);
        CHECK_INT(s->count, 1);
        CHECK(N > 0);
        s->at_end = true;
        s->m->state->time += h;
        look(s);
        CHECK_INT(s->count, 1);
        CHECK_NEAR(force_of(s, 0), N, 1e-10 * N);
        const tni_scene_view at       = {.model = s->m->model, .time = h, .views = s->views};
        double               f[U_MAX] = {0};
        CHECK_INT(tni_contact_forces(&at, h, law, &s->room, f), 1);
        CHECK_NEAR(f[2], N, 1e-10 * N);
        seen_free(s);
    }
}

// The corner of a box that rotates by 0.05 in the step: its gap at the end is predicted to second
// order, 4e-4 m here, so the tolerance is 2e-5 m.
TEST(the_gap_of_a_rotating_corner_is_predicted_to_second_order)
{
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        test_random r = {seed};
        seen*       s = seen_make();
        double      q[7], d[6];
        tn_scene_set_ground(s->m->scene, 0, 0);
        (void)add_shape(s, TN_BODY_RIGID, TN_SHAPE_BOX, 0, tni_vec3(0, 0, 0.15), NULL, 0);
        random_mechanism_build(s->m);
        tn_state* state = s->m->state;
        random_disturb(s->m, &r, 0, 0);
        tni_write3(state->u + 3, tni_scale(0.05 / h, random_direction(&r)));
        const tn_quat turn = random_quat(&r);
        state->q[3] = turn.w, state->q[4] = turn.x, state->q[5] = turn.y, state->q[6] = turn.z;
        for (int i = 0; i < 6; ++i) d[i] = h * (s->u[i] = state->u[i]);
        look(s);
        memcpy(q, state->q, sizeof q);
        tni_advance(s->m->model, q, d, state->q);
        tni_views(s->m->model, state->time, state->q, state->u, s->views);
        tni_contact ends[8];
        const int   found = tni_find_contacts(s->finder, s->views, 0, ends, 8);
        CHECK(found > 0);
        double deepest = 0, foreseen = 0;
        for (int i = 0; i < found; ++i) deepest = fmax(deepest, -ends[i].gap);
        for (; s->count > 0; s->softs[0] = s->softs[--s->count]) {
            const double D   = s->softs[0].D[0]; // not the damper
            s->softs[0].D[0] = 0;
            if (D > 0) foreseen = fmax(foreseen, force_of(s, 0) / s->softs[0].K[0]);
        }
        CHECK_NEAR(foreseen, deepest, 2e-5);
        seen_free(s);
    }
}

// ---- Capacity, and the law's defaults
// ------------------------------------------------------------

// Friction of a step is the same evaluated at either end, however penetration and slip have
// changed.
TEST(friction_at_the_end_is_that_of_the_start)
{
    seen* s           = ball_over_floor(TN_BODY_RIGID, 0.5, -1e-3);
    s->m->state->u[0] = 1;
    s->u[0]           = 1;
    look(s);
    const double         D  = s->softs[0].D[4];
    const tni_scene_view at = {.model = s->m->model, .time = h, .views = s->views};
    const tni_prediction to = {h, h, s->u};
    s->m->state->u[0]       = 0.2, s->m->state->q[2] -= 1e-3;
    tni_views(s->m->model, h, s->m->state->q, s->m->state->u, s->views);
    s->room.keep = true;
    s->count     = 0;
    CHECK_INT(tni_contact_soften(&at, &to, law, &s->room, take, s), 1);
    CHECK_NEAR(D, 0.5 * 100 / sqrt(1 + 1e-6), 1e-9);
    CHECK_NEAR(s->softs[0].D[4], D, 0);
    double f[U_MAX] = {0};
    CHECK_INT(tni_contact_forces(&at, h, law, &s->room, f), 1);
    CHECK_NEAR(f[0], -0.2 * D, 1e-10);
    CHECK_NEAR(f[2], 200, 1e-9);
    seen_free(s);
}

// A point that is reached within the step has no friction in that step, and takes none from points
// behind it in the list.
TEST(a_new_contact_does_not_take_the_friction_of_another)
{
    seen* s = seen_make();
    tn_scene_set_ground(s->m->scene, 0.5, 0);
    for (int i = 0; i < 2; ++i)
        (void)add_shape(s, TN_BODY_RIGID, TN_SHAPE_SPHERE, 0.5,
                        tni_vec3(i, 0, radius + (i == 0 ? 0.1 : -1e-3)), NULL, 0);
    random_mechanism_build(s->m);
    s->m->state->u[6] = s->u[6] = 1; // the second one slides
    look(s);
    CHECK_INT(s->count, 1);
    const double         D  = s->softs[0].D[4];
    const tni_scene_view at = {.model = s->m->model, .time = h, .views = s->views};
    const tni_prediction to = {h, h, s->u};
    s->m->state->q[2]       = radius - 1e-3; // the first one has come down
    tni_views(s->m->model, h, s->m->state->q, s->m->state->u, s->views);
    s->room.keep = true;
    s->count     = 0;
    CHECK_INT(tni_contact_soften(&at, &to, law, &s->room, take, s), 2);
    CHECK_INT(s->count, 2);
    CHECK_INT(s->softs[0].body[1], 1);
    CHECK_INT(s->softs[0].row_count, 1);
    CHECK_INT(s->softs[1].body[1], 2);
    CHECK_NEAR(D, 0.5 * 100 / sqrt(1 + 1e-6), 1e-9);
    CHECK_NEAR(s->softs[1].D[4], D, 0);
    seen_free(s);
}

TEST(too_little_capacity_is_reported_and_nothing_taken)
{
    seen* s = seen_make();
    tn_scene_set_ground(s->m->scene, 0, 0);
    (void)add_shape(s, TN_BODY_RIGID, TN_SHAPE_BOX, 0, tni_vec3(0, 0, 0.09), NULL, 0);
    random_mechanism_build(s->m);
    look(s);
    CHECK_INT(s->count, 4);
    const tni_scene_view at    = {.model = s->m->model, .time = 0, .views = s->views};
    const tni_prediction ahead = {h, h, s->u};
    s->room.capacity           = 3;
    s->count                   = 0;
    CHECK(tni_contact_soften(&at, &ahead, law, &s->room, take, s) > 3);
    CHECK_INT(s->count, 0);
    seen_free(s);
}

TEST(the_active_set_holds_until_another_point_pushes)
{
    seen* s = ball_over_floor(TN_BODY_RIGID, 0, 1e-3);
    look(s);
    CHECK_INT(s->count, 0);
    const tni_scene_view at    = {.model = s->m->model, .time = 0, .views = s->views};
    const tni_prediction ahead = {h, h, s->u};
    CHECK(tni_contact_active_set_holds(&at, &ahead, law, &s->room));
    s->u[2] = -1;
    CHECK(!tni_contact_active_set_holds(&at, &ahead, law, &s->room));
    CHECK(tni_contact_active_set_holds(&at, &ahead, law, &s->room));
    CHECK_INT(s->room.known, 1);
    // In the same step it stays known when it would not be reached any more, in another it does
    // not.
    s->u[2]      = 5;
    s->room.keep = true;
    CHECK_INT(tni_contact_soften(&at, &ahead, law, &s->room, take, s), 1);
    CHECK_INT(s->room.count, 0);
    s->room.keep = false;
    CHECK_INT(tni_contact_soften(&at, &ahead, law, &s->room, take, s), 0);
    seen_free(s);
}

TEST(without_a_setting_the_stiffness_follows_the_mass)
{
    seen*                s        = ball_over_floor(TN_BODY_RIGID, 0, 1);
    tn_implicit_settings settings = tn_default_settings().implicit;
    settings.contact_stiffness = 7e4, settings.contact_damping = 30;
    tni_contact_law own = tni_contact_law_of(s->m->model, &settings);
    CHECK_NEAR(own.stiffness, 7e4, 0);
    CHECK_NEAR(own.damping, 30, 0);
    settings.contact_stiffness = 0;
    own                        = tni_contact_law_of(s->m->model, &settings);
    CHECK_NEAR(own.stiffness, 2e5, 1e-9);
    CHECK_NEAR(own.damping, 2 * 2.5 * sqrt(2e5 * 2), 1e-9); // 2.5 times critical for 2 kg
    seen_free(s);
}
