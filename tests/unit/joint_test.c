// joint: every row of every type between every pair of body kinds, against differences.
//
// All off the constraints: rows are exact there too. With C(t) the value along q advanced by t u,
// at time + t, u constant:  rate = dC/dt, gamma = d rate/dt, J e_j = dC along e_j. Differences are
// of fourth order: the tolerance is 1e-9, not the noise of the difference.
#include "support/random_scene.h"
#include "tenon/step.h"

enum { U_MAX = 64, ROWS_MAX = 12, STATES = 3 };

static const double step      = 1e-4;
static const double tolerance = 1e-9;

typedef struct values {
    double C[ROWS_MAX], rate[ROWS_MAX], gamma[ROWS_MAX];
    double J[ROWS_MAX * U_MAX]; ///< row_count x u_count
} values;

// The rows of constraint `index` with q moved by s d, at time + s * dt.
static values values_at(const random_mechanism* m, int index, const double* d, double s, double dt)
{
    const tn_model*       model      = m->model;
    const tni_constraint* constraint = &model->constraints[index];
    double                q[U_MAX], moved[U_MAX], blocks[4][ROWS_MAX * U_MAX], *J[4];
    tni_view              views[8];
    values                v = {.C = {0}};
    for (int i = 0; i < model->u_count; ++i) moved[i] = s * d[i];
    for (int i = 0; i < 4; ++i) J[i] = blocks[i];
    tni_advance(model, m->state->q, moved, q);
    tni_views(model, m->state->time + s * dt, q, m->state->u, views);
    const tni_rows_out out = {v.C, v.rate, v.gamma, J, NULL};
    tni_constraint_rows(model, constraint, views, m->state->time + s * dt, m->state->z, &out);
    for (int e = 0; e < constraint->edge_count; ++e) {
        const tni_body* body = &model->bodies[model->edge_body[constraint->edge_start + e]];
        for (int i = 0; i < constraint->row_count; ++i)
            for (int k = 0; k < body->dim; ++k)
                v.J[i * U_MAX + body->u_start + k] = blocks[e][i * body->dim + k];
    }
    return v;
}

static double difference(double a2, double a1, double b1, double b2) // at -2, -1, 1, 2 steps
{
    return (8 * (b1 - a1) - (b2 - a2)) / (12 * step);
}

// dC/ds and d rate/ds of every row along d.
static values slope_along(const random_mechanism* m, int index, const double* d, double dt)
{
    values       v  = {.C = {0}};
    const values a2 = values_at(m, index, d, -2 * step, dt), a1 = values_at(m, index, d, -step, dt),
                 b1 = values_at(m, index, d, step, dt), b2 = values_at(m, index, d, 2 * step, dt);
    for (int i = 0; i < ROWS_MAX; ++i) {
        v.C[i]    = difference(a2.C[i], a1.C[i], b1.C[i], b2.C[i]);
        v.rate[i] = difference(a2.rate[i], a1.rate[i], b1.rate[i], b2.rate[i]);
    }
    return v;
}

static void check_near(double a, double b, double size, const char* what, const char* label,
                       int row)
{
    test_check(fabs(a - b) <= tolerance * fmax(1, size), __FILE__, __LINE__,
               "%s, row %d: %s is %.12g, by differences %.12g", label, row, what, a, b);
}

// rate - rate at rest = J u, exactly.
static void check_linear(random_mechanism* m, int index, const char* label)
{
    const tn_model*       model       = m->model;
    const tni_constraint* constraint  = &model->constraints[index];
    const double          none[U_MAX] = {0};
    double                u[U_MAX];
    const values          moving = values_at(m, index, none, 0, 0);
    memcpy(u, m->state->u, sizeof(double) * (size_t)model->u_count);
    memset(m->state->u, 0, sizeof(double) * (size_t)model->u_count);
    const values resting = values_at(m, index, none, 0, 0);
    memcpy(m->state->u, u, sizeof(double) * (size_t)model->u_count);
    for (int i = 0; i < constraint->row_count; ++i) {
        double Ju = resting.rate[i];
        for (int j = 0; j < model->u_count; ++j) Ju += moving.J[i * U_MAX + j] * u[j];
        test_check(fabs(moving.rate[i] - Ju) < 1e-12, __FILE__, __LINE__,
                   "%s, row %d: rate %.15g, J u %.15g", label, i, moving.rate[i], Ju);
    }
}

static void check_constraint(random_mechanism* m, int index, const char* label)
{
    const tn_model*       model       = m->model;
    const tni_constraint* constraint  = &model->constraints[index];
    const double          none[U_MAX] = {0};
    const values          here        = values_at(m, index, none, 0, 0);
    const values          slope       = slope_along(m, index, m->state->u, 1);
    for (int i = 0; i < constraint->row_count; ++i) {
        const double size = fabs(here.gamma[i]) + fabs(here.rate[i]);
        if (i < constraint->held_count)
            check_near(here.rate[i], slope.C[i], size, "rate", label, i);
        else CHECK(here.C[i] == 0);
        check_near(here.gamma[i], slope.rate[i], size, "gamma", label, i);
    }
    check_linear(m, index, label);
    for (int j = 0; j < model->u_count; ++j) {
        double e[U_MAX]     = {0};
        e[j]                = 1;
        const values column = slope_along(m, index, e, 0);
        for (int i = 0; i < constraint->held_count; ++i) {
            const double J = here.J[i * U_MAX + j];
            check_near(J, column.C[i], fabs(J), "J", label, i);
        }
    }
}

// ---- Every type, every pair of kinds ------------------------------------------------------------

static const char* const kind_words[RANDOM_KIND_COUNT] = {"rigid",     "planar",     "particle",
                                                          "affine",    "user point", "user scaled",
                                                          "kinematic", "static",     "ground"};

static random_mechanism* pair_of(test_random* r, random_joint_type t, random_kind kind1,
                                 random_kind kind2, bool wheel)
{
    random_mechanism* m    = random_mechanism_make();
    const bool        flat = random_kind_is_flat(kind1) && random_kind_is_flat(kind2);
    m->wheels              = wheel;
    const tn_body_id a     = random_add_body(m, r, kind1, tni_vec3(-0.5, 0, 0), flat),
                     b     = random_add_body(m, r, kind2, tni_vec3(0.5, 0.3, 0.2), flat);
    const tn_joint_def def = random_loose_joint(m, r, t, a, b, 0.6);
    (void)tn_scene_add_joint(m->scene, &def);
    return m;
}

static void label_pair(char* label, size_t size, random_joint_type t, random_kind kind1,
                       random_kind kind2)
{
    snprintf(label, size, "%s%s, %s and %s", tn_joint_type_word(t.type),
             t.of == TN_JOINT_SLIDER ? " of slider" : "", kind_words[kind1], kind_words[kind2]);
}

typedef void each_pair(random_mechanism* m, const char* label);

// Calls a function for each supported type and pair, and checks that the others are refused.
static void for_each_pair(uint64_t seed, bool wheel, each_pair* visit)
{
    test_random r     = {seed};
    int         taken = 0;
    for (int i = 0; i < RANDOM_JOINT_TYPE_COUNT; ++i) {
        const random_joint_type t = random_joint_types[i];
        for (int k = 0; k < RANDOM_KIND_COUNT * RANDOM_KIND_COUNT; ++k) {
            const random_kind kind1 = (random_kind)(k / RANDOM_KIND_COUNT),
                              kind2 = (random_kind)(k % RANDOM_KIND_COUNT);
            if (kind1 == RANDOM_GROUND && kind2 == RANDOM_GROUND) continue;
            char label[96];
            label_pair(label, sizeof label, t, kind1, kind2);
            random_mechanism* m = pair_of(&r, t, kind1, kind2, wheel);
            tn_why            why;
            const tn_result   result = tn_scene_compile(m->scene, &m->model, &why);
            const bool        wanted = random_joint_takes(t, kind1, kind2);
            test_check((result == TN_OK) == wanted, __FILE__, __LINE__, "%s: %s", label,
                       wanted ? why.text : "was taken");
            if (result == TN_OK && wanted) {
                CHECK_OK(tn_state_create(m->model, &m->state));
                for (int state = 0; state < STATES; ++state) {
                    random_disturb(m, &r, 0.3, 1);
                    visit(m, label);
                }
                ++taken;
            }
            random_mechanism_free(m);
        }
    }
    CHECK(taken > 400);
}

static void check_rows(random_mechanism* m, const char* label)
{
    check_constraint(m, 0, label);
}

TEST(rows_agree_with_differences)
{
    for_each_pair(1, false, check_rows);
}

TEST(rows_of_wheels_agree_with_differences)
{
    for_each_pair(2, true, check_rows);
}

// ---- Free coordinates ---------------------------------------------------------------------------

static tni_row coordinate_at(const random_mechanism* m, int k, double s, double dt)
{
    const tn_model* model = m->model;
    double          q[U_MAX], moved[U_MAX];
    tni_view        views[8];
    for (int i = 0; i < model->u_count; ++i) moved[i] = s * m->state->u[i];
    tni_advance(model, m->state->q, moved, q);
    tni_views(model, m->state->time + s * dt, q, m->state->u, views);
    return tni_joint_coordinate(model, &model->joints[0], k, tni_sides_of(&model->joints[0], views),
                                m->state->z);
}

// f.u, f being the generalised force of a unit force along the coordinate.
static double power_of(const random_mechanism* m, const tni_row* row)
{
    const tn_model* model    = m->model;
    double          f[U_MAX] = {0}, power = 0;
    tni_view        views[8];
    tni_views(model, m->state->time, m->state->q, m->state->u, views);
    tni_joint_push(model, &model->joints[0], tni_sides_of(&model->joints[0], views), row, 1, f);
    for (int i = 0; i < model->u_count; ++i) power += f[i] * m->state->u[i];
    return power;
}

static double resting_rate(random_mechanism* m, int k)
{
    double       u[U_MAX];
    const size_t size = sizeof(double) * (size_t)m->model->u_count;
    memcpy(u, m->state->u, size);
    memset(m->state->u, 0, size);
    const double rate = coordinate_at(m, k, 0, 0).rate;
    memcpy(m->state->u, u, size);
    return rate;
}

static bool has_kind(const random_mechanism* m, random_kind kind)
{
    for (int i = 0; i < m->body_count; ++i) {
        if (m->kinds[i] == kind) return true;
    }
    return false;
}

// Rotation vectors: the rate is the relative angular velocity; its image is that of the vector.
static void check_rotation(random_mechanism* m, int first, const char* label)
{
    if (has_kind(m, RANDOM_AFFINE)) return; // its nearest rotation rotates differently
    double theta[3], rate[3], slope[3];
    for (int k = 0; k < 3; ++k) {
        const tni_row here = coordinate_at(m, first + k, 0, 0),
                      a2   = coordinate_at(m, first + k, -2 * step, 1),
                      a1   = coordinate_at(m, first + k, -step, 1),
                      b1   = coordinate_at(m, first + k, step, 1),
                      b2   = coordinate_at(m, first + k, 2 * step, 1);
        theta[k] = here.C, rate[k] = here.rate;
        slope[k] = difference(a2.C, a1.C, b1.C, b2.C);
        check_near(here.gamma, difference(a2.rate, a1.rate, b1.rate, b2.rate), fabs(here.gamma),
                   "gamma of rotation", label, first + k);
        if (has_kind(m, RANDOM_USER_SCALED)) continue; // takes no torque: springs there are refused
        check_near(power_of(m, &here), here.rate - resting_rate(m, first + k), fabs(here.rate),
                   "J of rotation", label, first + k);
    }
    const tn_vec3 wanted = tni_left_jacobian_inverse(tni_read3(theta), tni_read3(rate));
    for (int k = 0; k < 3; ++k)
        check_near(tni_at(wanted, k), slope[k], 1, "rate of rotation", label, first + k);
}

static void check_coordinate(random_mechanism* m, int k, const char* label)
{
    const tni_row here = coordinate_at(m, k, 0, 0), a2 = coordinate_at(m, k, -2 * step, 1),
                  a1 = coordinate_at(m, k, -step, 1), b1 = coordinate_at(m, k, step, 1),
                  b2  = coordinate_at(m, k, 2 * step, 1);
    const double size = fabs(here.rate) + fabs(here.gamma);
    check_near(here.rate, difference(a2.C, a1.C, b1.C, b2.C), size, "rate", label, k);
    check_near(here.gamma, difference(a2.rate, a1.rate, b1.rate, b2.rate), size, "gamma", label, k);
    check_near(power_of(m, &here), here.rate - resting_rate(m, k), size, "J", label, k);
}

static void check_coordinates(random_mechanism* m, const char* label)
{
    const tni_joint* joint = &m->model->joints[0];
    for (int k = 0; k < joint->coordinate_count; ++k) {
        if (joint->type->coordinates[k] < TNI_COORDINATE_ROTATION_X) check_coordinate(m, k, label);
        if (joint->type->coordinates[k] == TNI_COORDINATE_ROTATION_X) check_rotation(m, k, label);
    }
}

TEST(free_coordinates_agree_with_differences)
{
    for_each_pair(3, false, check_coordinates);
}

// Meaning of each coordinate: body 2 placed by the coordinates, from frames that agree.
TEST(free_coordinates_measure_their_motion)
{
    const double  a = 0.7, b = -0.4, s = 0.3, x = -0.2, y = 0.5;
    const tn_vec3 none = {0, 0, 0}, theta = {0.3, -0.5, 0.8};
    const tn_quat still = {1, 0, 0, 0}, about_z = tni_quat_exp(tni_vec3(0, 0, a)),
                  about_x = tni_quat_exp(tni_vec3(b, 0, 0)), turned = tni_quat_exp(theta);
    const struct {
        tn_joint_type type;
        tn_vec3       move;
        tn_quat       turn;
        int           count;
        double        position[5];
    } cases[] = {
        {TN_JOINT_HINGE, none, about_z, 1, {a}},
        {TN_JOINT_SLIDER, {0, 0, s}, still, 1, {s}},
        {TN_JOINT_SCREW, {0, 0, 0.1 * a / 6.283185307179586}, about_z, 1, {a}},
        {TN_JOINT_CYLINDER, {0, 0, s}, about_z, 2, {a, s}},
        {TN_JOINT_UNIVERSAL, none, tni_quat_mul(about_z, about_x), 2, {a, b}},
        {TN_JOINT_BALL, none, turned, 3, {theta.x, theta.y, theta.z}},
        {TN_JOINT_PLANE, {x, y, 0}, about_z, 3, {x, y, a}},
        {TN_JOINT_POINT_ON_LINE, {0, 0, s}, turned, 4, {s, theta.x, theta.y, theta.z}},
        {TN_JOINT_POINT_ON_PLANE, {x, y, 0}, turned, 5, {x, y, theta.x, theta.y, theta.z}},
    };
    test_random r = {10};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        random_mechanism* m    = random_mechanism_make();
        const tn_body_id  body = random_add_body(m, &r, RANDOM_RIGID, none, false);
        tn_joint_def      def  = tn_default_joint_def(cases[i].type);
        def.form = TN_JOINT_BY_FRAMES, def.body2 = body, def.pitch = 0.1;
        const tn_joint_id id = tn_scene_add_joint(m->scene, &def);
        random_mechanism_build(m);
        const tn_frame pose = {cases[i].move, cases[i].turn};
        double         position[5];
        CHECK_OK(tn_state_set_pose(m->state, body, pose));
        CHECK_INT(tn_model_joint_coordinates(m->model, id), cases[i].count);
        tn_state_joint_position(m->state, id, position);
        for (int k = 0; k < cases[i].count; ++k)
            CHECK_NEAR(position[k], cases[i].position[k], 1e-14);
        CHECK_LESS(tn_state_joint_error(m->state, id), 1e-14);
        random_mechanism_free(m);
    }
}

// The prescribed velocity is that of the free coordinate.
static void check_drive(random_mechanism* m, const char* label)
{
    const tni_joint* joint = &m->model->joints[0];
    if (joint->drive_count == 0) return;
    const double none[U_MAX] = {0};
    const int    last        = m->model->constraints[0].row_count - 1;
    double       velocity, rate;
    tni_values_at(joint->drive, joint->drive_count, m->state->time, &velocity, &rate);
    const double wanted = coordinate_at(m, 0, 0, 0).rate - velocity;
    check_near(values_at(m, 0, none, 0, 0).rate[last], wanted, 1, "drive", label, last);
}

TEST(motors_prescribe_the_rate_of_their_coordinate)
{
    for_each_pair(4, false, check_drive);
}

// Rolling from first principles: the two bodies' material at the contact point, along frame 1.
static void check_slip(random_mechanism* m, const char* label)
{
    const tni_joint* joint = &m->model->joints[0];
    if (strcmp(joint->type->word, "rolling") != 0) return;
    tni_view views[8];
    tni_views(m->model, m->state->time, m->state->q, m->state->u, views);
    const tni_view *v1 = &views[joint->body1], *v2 = &views[joint->body2];
    const tni_mat3  F = tni_mat_mul(&v1->R, &joint->F1), G = tni_mat_mul(&v2->R, &joint->F2);
    const tn_vec3   n = tni_column(&F, 2), b = tni_column(&G, 2);
    const tn_vec3 down = joint->wheel ? tni_normalised(tni_cross(b, tni_cross(b, n))) : tni_neg(n);
    const tn_vec3 c = tni_add_scaled(tni_add(v2->x, tni_mul(&v2->R, joint->p2)), joint->size, down);
    const tn_vec3 slip        = tni_sub(tni_add(v2->v, tni_cross(v2->w, tni_sub(c, v2->x))),
                                        tni_add(v1->v, tni_cross(v1->w, tni_sub(c, v1->x))));
    const double  none[U_MAX] = {0};
    const values  here        = values_at(m, 0, none, 0, 0);
    for (int i = 0; i < m->model->constraints[0].row_count; ++i) {
        const int k = joint->type->parts[joint->parts[i]].k;
        check_near(here.rate[i], tni_dot(tni_column(&F, k), slip), 1, "slip", label, i);
    }
    const tn_vec3 on_plane = tni_add(v1->x, tni_mul(&v1->R, joint->p1));
    check_near(here.C[0], tni_dot(n, tni_sub(c, on_plane)), 1, "height", label, 0);
}

TEST(rolling_bodies_do_not_slip_where_they_touch)
{
    for_each_pair(5, false, check_slip);
    for_each_pair(6, true, check_slip);
}

// ---- Couplings ----------------------------------------------------------------------------------

typedef struct coupled {
    random_mechanism* m;
    tn_joint_id       joints[3];
} coupled;

// Three bodies and three joints that have one coordinate at least, then one coupling.
static coupled three_joints(test_random* r, random_kind kind, const random_joint_type types[3])
{
    coupled    c      = {.m = random_mechanism_make()};
    tn_body_id before = {0};
    for (int i = 0; i < 3; ++i) {
        const tn_body_id body =
            random_add_body(c.m, r, i == 1 ? kind : RANDOM_RIGID, tni_vec3(i, 0, 0), false);
        const tn_joint_def def = random_loose_joint(c.m, r, types[i], before, body, 0.5);
        c.joints[i]            = tn_scene_add_joint(c.m->scene, &def);
        before                 = body;
    }
    return c;
}

static void check_coupling(test_random* r, coupled* c, const tn_coupling_def* def,
                           const double* coefficients, const char* label)
{
    CHECK_OK(tn_scene_add_coupling(c->m->scene, def));
    random_mechanism_build(c->m);
    const double none[U_MAX] = {0};
    for (int state = 0; state < STATES; ++state) {
        random_disturb(c->m, r, 0.3, 1);
        check_constraint(c->m, 3, label);
        double sum = def->type == TN_COUPLING_COUPLER ? -def->velocity : 0;
        for (int i = 0; i < def->joint_count; ++i) {
            double velocity[5];
            tn_state_joint_velocity(c->m->state, def->joints[i], velocity);
            sum += coefficients[i] * velocity[0];
        }
        CHECK_NEAR(values_at(c->m, 3, none, 0, 0).rate[0], sum, 1e-13);
    }
    random_mechanism_free(c->m);
}

TEST(couplings_agree_with_differences)
{
    static const random_kind       kinds[]   = {RANDOM_RIGID, RANDOM_AFFINE, RANDOM_USER_SCALED};
    static const random_joint_type hinges[3] = {{TN_JOINT_HINGE, 0},
                                                {TN_JOINT_SCREW, 0},
                                                {TN_JOINT_CYLINDER, 0}},
                                   rack[3]   = {{TN_JOINT_HINGE, 0},
                                                {TN_JOINT_SLIDER, 0},
                                                {TN_JOINT_WELD, 0}};
    test_random r                            = {7};
    for (int k = 0; k < 3; ++k) {
        coupled         c    = three_joints(&r, kinds[k], hinges);
        tn_coupling_def gear = tn_default_coupling_def(TN_COUPLING_GEAR);
        gear.joints = c.joints + 1, gear.joint_count = 2, gear.ratio = -2.5;
        check_coupling(&r, &c, &gear, (double[]){1, 2.5}, "gear");

        c                      = three_joints(&r, kinds[k], rack);
        tn_coupling_def pinion = tn_default_coupling_def(TN_COUPLING_RACK);
        pinion.joints = c.joints, pinion.joint_count = 2, pinion.ratio = 0.3;
        check_coupling(&r, &c, &pinion, (double[]){-0.3, 1}, "rack");

        c                    = three_joints(&r, kinds[k], hinges);
        tn_coupling_def cage = tn_default_coupling_def(TN_COUPLING_DIFFERENTIAL);
        cage.joints = c.joints, cage.joint_count = 3;
        check_coupling(&r, &c, &cage, (double[]){1, -0.5, -0.5}, "differential");

        const double coefficients[3] = {1.5, -0.7, 2};
        c                            = three_joints(&r, kinds[k], hinges);
        tn_coupling_def coupler      = tn_default_coupling_def(TN_COUPLING_COUPLER);
        coupler.joints = c.joints, coupler.joint_count = 3;
        coupler.coefficients = coefficients, coupler.velocity = 0.4;
        check_coupling(&r, &c, &coupler, coefficients, "coupler");
    }
}

// ---- Action and reaction ------------------------------------------------------------------------

// Total force and torque about a point of J^T lambda on the rigid bodies.
static double imbalance(const random_mechanism* m, const double* f, tn_vec3 about)
{
    tn_vec3 force = {0, 0, 0}, torque = {0, 0, 0};
    for (int i = 1; i < m->model->body_count; ++i) {
        const tni_body* body = &m->model->bodies[i];
        const double*   part = f + body->u_start;
        const tn_vec3   x    = tni_read3(m->state->q + body->q_start);
        force                = tni_add(force, tni_read3(part));
        torque               = tni_add(torque, tni_read3(part + 3));
        torque               = tni_add(torque, tni_cross(tni_sub(x, about), tni_read3(part)));
    }
    return fmax(tni_max_abs(force), tni_max_abs(torque));
}

static void check_reaction(random_mechanism* m, test_random* r, const char* label)
{
    double       lambda[ROWS_MAX], f[U_MAX] = {0};
    const double none[U_MAX] = {0};
    const values here        = values_at(m, 0, none, 0, 0);
    random_numbers(r, lambda, ROWS_MAX, 1);
    for (int i = 0; i < m->model->constraints[0].row_count; ++i)
        for (int j = 0; j < 12; ++j) f[j] += here.J[i * U_MAX + j] * lambda[i];
    const double left = imbalance(m, f, random_vec3(r, 2));
    test_check(left < 1e-12, __FILE__, __LINE__, "%s: %.3g is left", label, left);

    const tni_joint* joint = &m->model->joints[0];
    const tni_view   view1 = tni_state_view(m->state, 1), view2 = tni_state_view(m->state, 2);
    const tn_wrench  wrench = tni_joint_reaction(m->model, joint, (tni_sides){&view1, &view2},
                                                 m->state->time, m->state->z, lambda);
    const tn_vec3    force  = tni_read3(f + 6),
                  torque =
                      tni_sub(tni_read3(f + 9), tni_cross(tni_mul(&view2.R, joint->p2), force));
    const double off = fmax(tni_max_abs(tni_sub(wrench.force, force)),
                            tni_max_abs(tni_sub(wrench.torque, torque)));
    test_check(off < 1e-13, __FILE__, __LINE__, "%s: reaction is off by %.3g", label, off);
}

TEST(joint_forces_on_both_bodies_balance)
{
    test_random r = {8};
    for (int i = 0; i < RANDOM_JOINT_TYPE_COUNT; ++i) {
        const random_joint_type t = random_joint_types[i];
        for (int round = 0; round < 8; ++round) {
            random_mechanism* m = random_mechanism_make();
            m->wheels           = round % 2 == 0;
            const tn_body_id a  = random_add_body(m, &r, RANDOM_RIGID, tni_vec3(-0.5, 0, 0), false),
                             b  = random_add_body(m, &r, RANDOM_RIGID, tni_vec3(0.5, 0, 0), false);
            // Rows along world axes balance where the anchors agree, others everywhere.
            const bool world = tni_joint_type_of(t.type, t.of)->parts[0].op == TNI_ROW_POINT;
            const tn_joint_def def =
                world ? random_joint(m, &r, t, a, b) : random_loose_joint(m, &r, t, a, b, 0.6);
            (void)tn_scene_add_joint(m->scene, &def);
            random_mechanism_build(m);
            random_disturb(m, &r, world ? 0 : 0.3, 1);
            check_reaction(m, &r, tn_joint_type_word(t.type));
            random_mechanism_free(m);
        }
    }
}

TEST(stepper_reaction_is_the_force_on_the_second_body)
{
    test_random r = {9};
    for (int round = 0; round < 30; ++round) {
        random_mechanism* m = random_mechanism_make();
        const tn_body_id  a = random_add_body(m, &r, RANDOM_RIGID, tni_vec3(-0.5, 0, 0), false),
                         b  = random_add_body(m, &r, RANDOM_RIGID, tni_vec3(0.5, 0, 0), false);
        const random_joint_type t =
            random_joint_types[test_random_int(&r, 0, RANDOM_JOINT_TYPE_COUNT - 1)];
        const tn_joint_def def = random_loose_joint(m, &r, t, a, b, 0.3);
        const tn_joint_id  id  = tn_scene_add_joint(m->scene, &def);
        random_mechanism_build(m);
        random_disturb(m, &r, 0.2, 1);
        tn_stepper* stepper;
        CHECK_OK(tn_stepper_create(m->model, NULL, &stepper, NULL));
        CHECK_OK(tn_stepper_evaluate(stepper, m->state, NULL, NULL));
        const double* lambda      = tn_stepper_multipliers(stepper, id);
        const double  none[U_MAX] = {0};
        const values  here        = values_at(m, 0, none, 0, 0);
        double        f[6] = {0}, size = 1;
        for (int i = 0; i < m->model->constraints[0].row_count; ++i) {
            size = fmax(size, fabs(lambda[i]));
            for (int j = 0; j < 6; ++j) f[j] += here.J[i * U_MAX + 6 + j] * lambda[i];
        }
        const tn_wrench wrench = tn_stepper_reaction(stepper, id);
        const tn_vec3   arm    = tni_sub(tn_state_joint_anchor(m->state, id, 1),
                                         tni_read3(m->state->q + 7)); // from the centre of mass
        const tn_vec3   torque = tni_sub(tni_read3(f + 3), tni_cross(arm, tni_read3(f)));
        CHECK_LESS(tni_max_abs(tni_sub(wrench.force, tni_read3(f))), 1e-13 * size);
        CHECK_LESS(tni_max_abs(tni_sub(wrench.torque, torque)), 1e-13 * size);
        tn_stepper_free(stepper);
        random_mechanism_free(m);
    }
}

// ---- Turns --------------------------------------------------------------------------------------

static void spin(tn_joint_type type, double* position)
{
    tn_scene*   scene;
    tn_model*   model;
    tn_state*   state;
    tn_stepper* stepper;
    CHECK_OK(tn_scene_create(NULL, &scene));
    tn_scene_set_gravity(scene, tni_vec3(0, 0, 0));
    tn_body_def body = tn_default_body_def();
    body.mass        = 1;
    for (int k = 0; k < 6; ++k) body.inertia[k] = k < 3 ? 0.1 : 0;
    tn_joint_def joint   = tn_default_joint_def(type);
    joint.body2          = tn_scene_add_body(scene, &body);
    joint.axis           = tni_vec3(1, 2, -1);
    joint.velocity       = 6.283185307179586;
    joint.pitch          = 0.1;
    const tn_joint_id id = tn_scene_add_joint(scene, &joint);
    CHECK_OK(tn_scene_compile(scene, &model, NULL));
    CHECK_OK(tn_state_create(model, &state));
    CHECK_OK(tn_stepper_create(model, NULL, &stepper, NULL));
    if (type != TN_JOINT_MOTOR) { // rotates freely, once a second
        const tn_vec3  w = tni_scale(6.283185307179586, tni_normalised(joint.axis));
        const tn_twist v = {tni_scale(0.1, tni_normalised(joint.axis)), w};
        CHECK_OK(tn_state_set_velocity(state, joint.body2, v));
    }
    CHECK_OK(tn_stepper_project(stepper, state, NULL, NULL));
    for (int i = 0; i < 50; ++i) CHECK_OK(tn_stepper_step(stepper, state, 0.1, NULL, NULL));
    tn_state_joint_position(state, id, position);
    tn_stepper_free(stepper);
    tn_state_free(state);
    tn_model_free(model);
    tn_scene_free(scene);
}

TEST(angles_count_turns)
{
    const double five_turns = 5 * 6.283185307179586;
    double       position[2];
    spin(TN_JOINT_MOTOR, position);
    CHECK_NEAR(position[0], five_turns, 1e-9);
    spin(TN_JOINT_HINGE, position);
    CHECK_NEAR(position[0], five_turns, 1e-9);
    spin(TN_JOINT_SCREW, position); // held at the advance of five turns, not of none
    CHECK_NEAR(position[0], five_turns, 1e-9);
    spin(TN_JOINT_CYLINDER, position);
    CHECK_NEAR(position[0], five_turns, 1e-9);
    CHECK_NEAR(position[1], 0.5, 1e-9);
}
