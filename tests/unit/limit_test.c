// limit: the row of every kind of hard limit, against differences and against what it means.
//
// With C(t) the value along q advanced by t u, at time + t, u constant:  rate = dC/dt, gamma = d
// rate/dt, J e_j = dC along e_j. Differences are of fourth order: the tolerance is 1e-9, not the
// noise of the difference.
#include "force/force.h"
#include "support/random_scene.h"

enum { U_MAX = 64, STATES = 3 };

static const double step      = 1e-4;
static const double tolerance = 1e-9;
static const double pi        = 3.14159265358979323846;

typedef struct values {
    double C, rate, gamma;
    double J[U_MAX];
} values;

// The row of a limit with q moved by s d, at time + s * dt.
static values values_at(const random_mechanism* m, int index, const double* d, double s, double dt)
{
    const tn_model*  model = m->model;
    const tni_limit* limit = &model->limits[index];
    const tni_joint* joint = &model->joints[limit->joint];
    double           q[U_MAX], moved[U_MAX];
    tni_view         views[8];
    values           v = {.C = 0};
    for (int i = 0; i < model->u_count; ++i) moved[i] = s * d[i];
    tni_advance(model, m->state->q, moved, q);
    tni_views(model, m->state->time + s * dt, q, m->state->u, views);
    const tni_row row = tni_limit_row(model, limit, views, m->state->z);
    v.C = row.C, v.rate = row.rate, v.gamma = row.gamma;
    for (int side = 0; side < 2; ++side) {
        const int       at   = side == 0 ? joint->body1 : joint->body2;
        const tni_body* body = &model->bodies[at];
        if (body->dim == 0) continue;
        tni_push_row(body, &views[at], side == 0 ? joint->p1 : joint->p2,
                     side == 0 ? &joint->F1 : &joint->F2, &row.push[side], v.J + body->u_start);
    }
    return v;
}

static values slope_along(const random_mechanism* m, int index, const double* d, double dt)
{
    const values a2 = values_at(m, index, d, -2 * step, dt), a1 = values_at(m, index, d, -step, dt),
                 b1 = values_at(m, index, d, step, dt), b2 = values_at(m, index, d, 2 * step, dt);
    return (values){.C    = (8 * (b1.C - a1.C) - (b2.C - a2.C)) / (12 * step),
                    .rate = (8 * (b1.rate - a1.rate) - (b2.rate - a2.rate)) / (12 * step)};
}

static void check_near(double a, double b, double size, const char* what, const char* label)
{
    test_check(fabs(a - b) <= tolerance * fmax(1, size), __FILE__, __LINE__,
               "%s: %s is %.12g, by differences %.12g", label, what, a, b);
}

static void check_limit(random_mechanism* m, int index, const char* label)
{
    const tn_model* model       = m->model;
    const size_t    bytes       = sizeof(double) * (size_t)model->u_count;
    const double    none[U_MAX] = {0};
    double          u[U_MAX];
    const values    here = values_at(m, index, none, 0, 0),
                 slope   = slope_along(m, index, m->state->u, 1);
    const double size    = fabs(here.rate) + fabs(here.gamma);
    check_near(here.rate, slope.C, size, "rate", label);
    check_near(here.gamma, slope.rate, size, "gamma", label);
    for (int j = 0; j < model->u_count; ++j) {
        double e[U_MAX] = {0};
        e[j]            = 1;
        check_near(here.J[j], slope_along(m, index, e, 0).C, fabs(here.J[j]), "J", label);
    }
    memcpy(u, m->state->u, bytes);
    memset(m->state->u, 0, bytes);
    double Ju = values_at(m, index, none, 0, 0).rate; // of kinematic bodies
    memcpy(m->state->u, u, bytes);
    for (int j = 0; j < model->u_count; ++j) Ju += here.J[j] * u[j];
    test_check(fabs(here.rate - Ju) < 1e-12 * fmax(1, size), __FILE__, __LINE__,
               "%s: rate %.15g, J u %.15g", label, here.rate, Ju);
}

// ---- Every type, every pair of kinds ------------------------------------------------------------

static const char* const kind_words[RANDOM_KIND_COUNT] = {"rigid",     "planar",     "particle",
                                                          "affine",    "user point", "user scaled",
                                                          "kinematic", "static",     "ground"};

static tn_joint_def limited_joint(random_mechanism* m, test_random* r, random_joint_type t,
                                  tn_body_id body1, tn_body_id body2)
{
    tn_joint_def def = random_loose_joint(m, r, t, body1, body2, 0.6);
    def.limit.given = def.limit.hard = t.type != TN_JOINT_ROPE;
    if (t.type == TN_JOINT_BALL) {
        def.limit.cone        = test_random_between(r, 0.2, 2.5);
        def.limit.twist_lower = -1, def.limit.twist_upper = 0.5;
    } else {
        def.limit.lower = -0.4, def.limit.upper = 0.3;
    }
    return def;
}

static bool takes_limit(random_joint_type t, random_kind kind1, random_kind kind2)
{
    if (t.type == TN_JOINT_ROPE) return random_kind_moves(kind1) || random_kind_moves(kind2);
    if (!random_joint_takes(t, kind1, kind2)) return false;
    if (t.type == TN_JOINT_BALL)
        return random_kind_takes_torque(kind1) && random_kind_takes_torque(kind2);
    return random_kind_turns(kind1) && random_kind_turns(kind2);
}

// Returns the number of limits.
static int check_pair(test_random* r, random_joint_type t, random_kind kind1, random_kind kind2)
{
    random_mechanism* m    = random_mechanism_make();
    const bool        flat = random_kind_is_flat(kind1) && random_kind_is_flat(kind2);
    const tn_body_id  a    = random_add_body(m, r, kind1, tni_vec3(-0.5, 0, 0), flat),
                     b     = random_add_body(m, r, kind2, tni_vec3(0.5, 0.3, 0.2), flat);
    const tn_joint_def def = limited_joint(m, r, t, a, b);
    char               label[96];
    tn_why             why  = {0};
    int                seen = 0;
    snprintf(label, sizeof label, "%s, %s and %s", tn_joint_type_word(t.type), kind_words[kind1],
             kind_words[kind2]);
    (void)tn_scene_add_joint(m->scene, &def);
    const bool taken     = tn_scene_compile(m->scene, &m->model, &why) == TN_OK;
    const bool pointless = flat && strstr(why.text, "planar bodies cannot move along") != NULL;
    test_check(taken == takes_limit(t, kind1, kind2) || pointless, __FILE__, __LINE__, "%s: %s",
               label, taken ? "was taken" : why.text);
    if (taken) {
        CHECK_OK(tn_state_create(m->model, &m->state));
        for (int state = 0; state < STATES; ++state) {
            random_disturb(m, r, 0.3, 1);
            for (int i = 0; i < m->model->limit_count; ++i, ++seen) check_limit(m, i, label);
        }
    }
    random_mechanism_free(m);
    return seen;
}

static int check_type(uint64_t seed, random_joint_type t)
{
    test_random r    = {seed};
    int         seen = 0;
    for (int k = 0; k < RANDOM_KIND_COUNT * RANDOM_KIND_COUNT; ++k) {
        const random_kind kind1 = (random_kind)(k / RANDOM_KIND_COUNT),
                          kind2 = (random_kind)(k % RANDOM_KIND_COUNT);
        if (kind1 == RANDOM_GROUND && kind2 == RANDOM_GROUND) continue;
        seen += check_pair(&r, t, kind1, kind2);
    }
    return seen;
}

TEST(ends_of_coordinates_agree_with_differences)
{
    for (int i = 0; i < RANDOM_JOINT_TYPE_COUNT; ++i) {
        const random_joint_type t = random_joint_types[i];
        if (tni_joint_type_of(t.type, t.of)->coordinate_count == 0 || t.type == TN_JOINT_BALL)
            continue;
        CHECK(check_type((uint64_t)i + 1, t) >= 100);
    }
}

TEST(cones_and_twists_agree_with_differences)
{
    const random_joint_type ball = {TN_JOINT_BALL, 0};
    int                     seen = 0;
    for (uint64_t seed = 20; seed < 24; ++seed) seen += check_type(seed, ball);
    CHECK(seen >= 100);
}

TEST(ropes_agree_with_differences)
{
    CHECK(check_type(30, (random_joint_type){TN_JOINT_ROPE, 0}) >= 150);
}

// ---- What they mean -----------------------------------------------------------------------------

// A body on the ground by a joint whose frames are the body's own and the world's.
static random_mechanism* one_body(tn_joint_def* def, tn_joint_id* id)
{
    test_random       r = {40};
    random_mechanism* m = random_mechanism_make();
    def->body2          = random_add_body(m, &r, RANDOM_RIGID, tni_vec3(0, 0, 0), false);
    *id                 = tn_scene_add_joint(m->scene, def);
    random_mechanism_build(m);
    return m;
}

static double gap_at(random_mechanism* m, int index, tn_frame pose)
{
    tni_view views[2];
    CHECK_OK(tn_state_set_pose(m->state, (tn_body_id){1}, pose));
    tni_views(m->model, 0, m->state->q, m->state->u, views);
    return tni_limit_row(m->model, &m->model->limits[index], views, m->state->z).C;
}

static tn_joint_def hard_joint(tn_joint_type type)
{
    tn_joint_def def = tn_default_joint_def(type);
    def.form         = TN_JOINT_BY_FRAMES;
    def.limit.given = def.limit.hard = true;
    return def;
}

TEST(a_gap_is_what_is_left_of_a_coordinate)
{
    tn_joint_id  id;
    tn_joint_def def = hard_joint(TN_JOINT_SLIDER);
    def.limit.lower = -0.5, def.limit.upper = 2;
    random_mechanism* m = one_body(&def, &id);
    CHECK_INT(m->model->limit_count, 2);
    for (int i = 0; i < 20; ++i) {
        const double   s    = -2 + 0.3 * i;
        const tn_frame pose = {{0, 0, s}, {1, 0, 0, 0}};
        CHECK_NEAR(gap_at(m, 0, pose), s + 0.5, 1e-15);
        CHECK_NEAR(gap_at(m, 1, pose), 2 - s, 1e-15);
    }
    random_mechanism_free(m);
}

// Rotate first about z by tau, then swing by beta about an axis across z.
static tn_frame swung(double beta, double about, double tau)
{
    const tn_quat swing = tni_quat_exp(tni_vec3(beta * cos(about), beta * sin(about), 0));
    return (tn_frame){{0, 0, 0}, tni_quat_mul(swing, tni_quat_exp(tni_vec3(0, 0, tau)))};
}

TEST(a_cone_ends_at_its_half_angle)
{
    const double ends[] = {0.001, 0.1, 0.7, 0.5 * pi, 2.5, pi - 0.001};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; ++i) {
        tn_joint_id  id;
        tn_joint_def def    = hard_joint(TN_JOINT_BALL);
        const double end    = ends[i];
        def.limit.cone      = end;
        random_mechanism* m = one_body(&def, &id);
        CHECK_INT(m->model->limit_count, 1);
        for (int k = 0; k < 12; ++k) {
            const double about = 0.5 * k, tau = 0.4 * k - 2;
            // Rounding of z1.z2 is divided by sin(end): 1e-16/1e-3, and more for the attitude.
            CHECK_NEAR(gap_at(m, 0, swung(end, about, tau)), 0, 1e-12);
            for (double off = 1e-5; off < 1; off *= 10) { // sign, and radians near the end
                const double inside = gap_at(m, 0, swung(end - off, about, tau)),
                             beyond = gap_at(m, 0, swung(end + off, about, tau));
                if (off < end) CHECK(inside > 0);
                if (end + off < pi) CHECK(beyond < 0);
                const double bend = off * off / fabs(tan(end)) + off * off * off;
                CHECK_NEAR(inside, off, bend + 1e-12);
                CHECK_NEAR(beyond, -off, bend + 1e-12);
            }
        }
        random_mechanism_free(m);
    }
}

TEST(a_twist_ends_at_its_angle_whatever_the_swing)
{
    tn_joint_id  id;
    tn_joint_def def      = hard_joint(TN_JOINT_BALL);
    def.limit.twist_lower = -2, def.limit.twist_upper = 3;
    random_mechanism* m = one_body(&def, &id);
    CHECK_INT(m->model->limit_count, 2);
    for (int i = 0; i <= 30; ++i)
        for (int k = 0; k <= 30; ++k) {
            const double   beta = 0.1 * i, tau = -3 + 0.2 * k;
            const tn_frame pose = swung(beta, 0.7 * i, tau);
            CHECK_NEAR(gap_at(m, 0, pose), tau + 2, 1e-13);
            CHECK_NEAR(gap_at(m, 1, pose), 3 - tau, 1e-13);
        }
    random_mechanism_free(m);
}

TEST(a_rope_is_slack_until_its_length)
{
    tn_joint_id  id;
    tn_joint_def def    = tn_default_joint_def(TN_JOINT_ROPE);
    def.frame1.position = tni_vec3(0, 0, 3);
    def.length          = 2;
    def.restitution     = 0.25;
    random_mechanism* m = one_body(&def, &id);
    CHECK_INT(m->model->limit_count, 1);
    CHECK_INT(tn_model_joint_rows(m->model, id), 0);
    CHECK_INT(tn_model_joint_coordinates(m->model, id), 0);
    CHECK(m->model->limits[0].kind == TNI_LIMIT_ROPE && m->model->limits[0].restitution == 0.25);
    for (double down = 0; down < 4; down += 0.5) {
        CHECK_NEAR(gap_at(m, 0, (tn_frame){{0, 0, 3 - down}, {1, 0, 0, 0}}), 2 - down, 1e-14);
        CHECK_NEAR(tn_state_joint_error(m->state, id), fmax(0, down - 2), 1e-14);
        CHECK(tn_state_joint_velocity_error(m->state, id) == 0);
    }
    random_mechanism_free(m);
}

// A row without a direction has no force, and is finite.
static void check_idle(random_mechanism* m, tn_frame pose)
{
    const double none[U_MAX] = {0};
    for (int i = 0; i < m->model->u_count; ++i) m->state->u[i] = 1 + i;
    CHECK_OK(tn_state_set_pose(m->state, (tn_body_id){1}, pose));
    const values v = values_at(m, 0, none, 0, 0);
    CHECK(isfinite(v.C) && v.rate == 0 && v.gamma == 0);
    for (int i = 0; i < m->model->u_count; ++i) CHECK(v.J[i] == 0);
}

TEST(rows_without_a_direction_have_no_force)
{
    tn_joint_id  id;
    tn_joint_def rope   = tn_default_joint_def(TN_JOINT_ROPE);
    rope.length         = 1;
    random_mechanism* m = one_body(&rope, &id);
    check_idle(m, (tn_frame){{0, 0, 0}, {1, 0, 0, 0}});
    random_mechanism_free(m);
    tn_joint_def ball      = hard_joint(TN_JOINT_BALL);
    ball.limit.twist_lower = -1, ball.limit.twist_upper = 1;
    m = one_body(&ball, &id);
    check_idle(m, (tn_frame){{0, 0, 0}, {0, 1, 0, 0}}); // upside down: z1 = -z2
    random_mechanism_free(m);
}

// ---- Their order in the model
// --------------------------------------------------------------------

TEST(limits_are_in_the_order_of_the_joints)
{
    static const tni_limit_kind kinds[] = {
        TNI_LIMIT_UPPER,       TNI_LIMIT_ROPE,  TNI_LIMIT_CONE, TNI_LIMIT_TWIST_LOWER,
        TNI_LIMIT_TWIST_UPPER, TNI_LIMIT_LOWER, TNI_LIMIT_UPPER};
    static const int  joints[] = {0, 1, 3, 3, 3, 4, 4};
    test_random       r        = {50};
    random_mechanism* m        = random_mechanism_make();
    tn_joint_def      defs[5]  = {hard_joint(TN_JOINT_HINGE), tn_default_joint_def(TN_JOINT_ROPE),
                                  hard_joint(TN_JOINT_HINGE), hard_joint(TN_JOINT_BALL),
                                  hard_joint(TN_JOINT_UNIVERSAL)};
    defs[0].limit.lower = -1e30, defs[0].limit.upper = 1; // as files say "no lower end"
    defs[0].restitution = 0.5;
    defs[1].length      = 1;
    defs[2].limit.hard  = false; // soft: a force
    defs[2].limit.lower = -1, defs[2].limit.upper = 1;
    defs[3].limit.cone = 1, defs[3].limit.twist_lower = -1, defs[3].limit.twist_upper = 2;
    defs[4].limit.lower = -1, defs[4].limit.upper = 1;
    for (int i = 0; i < 5; ++i) {
        defs[i].body2 = random_add_body(m, &r, RANDOM_RIGID, tni_vec3(i, 0, 0), false);
        (void)tn_scene_add_joint(m->scene, &defs[i]);
    }
    random_mechanism_build(m);
    CHECK_INT(m->model->limit_count, 7);
    for (int i = 0; i < 7 && m->model->limit_count == 7; ++i) {
        CHECK_INT(m->model->limits[i].kind, kinds[i]);
        CHECK_INT(m->model->limits[i].joint, joints[i]);
        CHECK(m->model->limits[i].restitution == (i == 0 ? 0.5 : 0));
    }
    CHECK_INT(m->model->actuation_count, 1);
    random_mechanism_free(m);
}

// Beyond a hard limit there is no force but that of the spring.
TEST(hard_limits_are_no_forces)
{
    for (int hard = 0; hard < 2; ++hard)
        for (int ball = 0; ball < 2; ++ball) {
            tn_joint_id  id;
            tn_joint_def def = hard_joint(ball ? TN_JOINT_BALL : TN_JOINT_HINGE);
            if (ball) def.limit.cone = 0.5, def.limit.twist_lower = -0.1, def.limit.twist_upper = 0;
            else def.limit.lower = -1, def.limit.upper = 0.2;
            def.limit.hard         = hard;
            def.limit.stiffness    = 100;
            def.stiffness          = 2;
            random_mechanism* m    = one_body(&def, &id);
            const tn_vec3     turn = {ball ? 0.6 : 0, 0, ball ? 0 : 0.6};
            CHECK_OK(
                tn_state_set_pose(m->state, def.body2, (tn_frame){{0, 0, 0}, tni_quat_exp(turn)}));
            tni_view views[2];
            double   f[6] = {0};
            tni_views(m->model, 0, m->state->q, m->state->u, views);
            const tni_scene_view at = {
                .model = m->model, .z = m->state->z, .views = views, .state = m->state};
            tni_force_add(&tni_force_actuation, &at, f);
            const double beyond = ball ? 0.1 : 0.4, spring = 2 * 0.6;
            CHECK_NEAR(ball ? f[3] : f[5], -spring - (hard ? 0 : 100 * beyond), 1e-12);
            CHECK_NEAR(tni_force_actuation.energy(&at),
                       0.5 * spring * 0.6 + (hard ? 0 : 50 * beyond * beyond), 1e-12);
            random_mechanism_free(m);
        }
}
