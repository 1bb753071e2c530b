// cross: auxiliary constraints. Whether a constraint is auxiliary makes no difference to the
// motion; constraints on one body and on many; forces that are not along J^T. Against closed forms,
// against dense elimination, and one solver against another.
#include "support/random_web.h"
#include "support/rig.h"

#ifdef TENON_TEST_LIGHT
enum { ROLES = 60, OTHERWISE = 60, CENTERS = 30, CHECKS = 12, STEPS = 60 };
#else
enum { ROLES = 120, OTHERWISE = 200, CENTERS = 60, CHECKS = 40, STEPS = 500 };
#endif

static const double g = 9.81;

static tn_stepper* stepper_of(const tn_model* model, tn_loops loops)
{
    tn_settings settings      = rig_settings();
    settings.multiplier.loops = loops;
    tn_stepper* stepper;
    CHECK_OK(tn_stepper_create(model, &settings, &stepper, NULL));
    return stepper;
}

static bool verbose(void)
{
    return getenv("TENON_TEST_VERBOSE") != NULL;
}

// ---- Roles --------------------------------------------------------------------------------------

// The same mechanism and state, with the roles that its scene has now.
static tn_state* recompiled(const random_mechanism* m, tn_model** model)
{
    tn_state* state;
    tn_why    why = {0};
    rig_must(tn_scene_compile(m->scene, model, &why), "compile", &why);
    rig_must(tn_state_create(*model, &state), "state", &why);
    CHECK_INT((*model)->limit_count, m->model->limit_count);
    memcpy((*model)->limits, m->model->limits,
           sizeof *m->model->limits * (size_t)m->model->limit_count);
    state->time = m->state->time;
    memcpy(state->q, m->state->q, sizeof(double) * (size_t)m->model->q_count);
    memcpy(state->u, m->state->u, sizeof(double) * (size_t)m->model->u_count);
    memcpy(state->z, m->state->z, sizeof(double) * (size_t)m->model->coordinate_count);
    return state;
}

static void set_role(const random_mechanism* m, int index, tn_role role)
{
    tni_joint_item* item = random_joint_item(m, index);
    item->def.role       = role;
    if (item->constraint != NULL) ((tn_constraint_def*)item->constraint)->role = role;
}

// Where the role is forced the model says so.
static void check_roles(const random_mechanism* m, const tn_model* model)
{
    for (int i = 0; i < tn_scene_joint_count(m->scene); ++i) {
        const tni_joint_item* item  = random_joint_item(m, i);
        const tn_joint_id     joint = {(uint32_t)i + 1};
        const bool            core  = tn_model_joint_auxiliary(model, joint, TN_LOOPS_CORE),
                   auxiliary        = tn_model_joint_auxiliary(model, joint, TN_LOOPS_AUXILIARY);
        const bool rows             = tn_model_joint_rows(model, joint) > 0;
        if (item->def.role == TN_ROLE_AUXILIARY) CHECK(core && auxiliary);
        else if (rows) CHECK(!core);
    }
}

typedef struct roles_tally {
    int    run, skipped;
    double worst; ///< in units of the tolerance
} roles_tally;

// The accelerations with the scene's roles, both settings, against the dense ones.
static void compare_roles(const random_mechanism* m, const dense_system* d, uint64_t seed,
                          double allowed, roles_tally* t)
{
    tn_model* model;
    tn_state* state = recompiled(m, &model);
    check_roles(m, model);
    for (int loops = TN_LOOPS_CORE; loops <= TN_LOOPS_AUXILIARY; ++loops) {
        tn_stepper* stepper = stepper_of(model, (tn_loops)loops);
        tn_why      why     = {0};
        const bool  done    = tn_stepper_evaluate(stepper, state, NULL, &why) == TN_OK;
        test_check(done, __FILE__, __LINE__, "seed %llu, loops %d: %s", (unsigned long long)seed,
                   loops, why.text);
        if (done) {
            const dense_errors e = dense_compare(d, stepper);
            t->worst             = fmax(t->worst, e.a / allowed);
            test_check(e.a <= allowed && e.complementarity <= 1e-10, __FILE__, __LINE__,
                       "seed %llu, loops %d: a off by %.2g, allowed %.2g; complementarity %.2g",
                       (unsigned long long)seed, loops, e.a, allowed, e.complementarity);
        }
        tn_stepper_free(stepper);
    }
    tn_state_free(state);
    tn_model_free(model);
}

// Of the largest acceleration, with and without constraints. The condition of the whole system is
// below 1e10 where an answer counts as clear; up to 1e5 this is what the tree's refinement leaves.
static double allowed_for(const dense_system* d)
{
    return 1e-10 * fmax(1, 1e-5 * d->condition);
}

static void vary_roles(random_mechanism* m, test_random* r, uint64_t seed, roles_tally* t)
{
    dense_system d     = dense_of(m->model, m->state);
    const int    count = tn_scene_joint_count(m->scene);
    dense_solve(&d);
    ++t->run;
    if (!dense_is_clear(&d)) ++t->skipped;
    else {
        const double allowed = allowed_for(&d);
        for (int i = 0; i < count; ++i) { // each in turn
            set_role(m, i, TN_ROLE_AUXILIARY);
            compare_roles(m, &d, seed, allowed, t);
            set_role(m, i, TN_ROLE_AUTO);
        }
        for (int round = 0; round < 3; ++round) { // at random; in the last round all
            for (int i = 0; i < count; ++i) {
                const tn_role any = (tn_role)test_random_int(r, 0, TN_ROLE_COUNT - 1);
                set_role(m, i, round == 2 ? TN_ROLE_AUXILIARY : any);
            }
            compare_roles(m, &d, seed, allowed, t);
        }
    }
    dense_free(&d);
}

TEST(accelerations_do_not_depend_on_roles)
{
    roles_tally t = {0};
    for (uint64_t seed = 1; seed <= ROLES; ++seed) {
        test_random             r      = {seed + 7000};
        const random_web_family family = (random_web_family)(seed % RANDOM_WEB_FAMILIES);
        random_web              w      = random_web_make(&r, family, false);
        random_reach_limits(&w, &r, true);
        vary_roles(w.m, &r, seed, &t);
        random_web_free(&w);
    }
    CHECK_LESS(t.skipped, 0.15 * t.run);
    if (verbose())
        printf("roles: %d run, %d skipped, worst %.2g of what is allowed\n", t.run, t.skipped,
               t.worst);
}

// ---- Forces along other directions --------------------------------------------------------------

TEST(forces_along_other_directions_agree_with_dense)
{
    int    run = 0, skipped = 0;
    double worst = 0;
    for (uint64_t seed = 1; seed <= OTHERWISE; ++seed) {
        test_random r = {seed + 8000};
        random_web  w = random_web_make(&r, (random_web_family)(seed % 2 == 0), true);
        if (seed % 2 == 0) random_reach_limits(&w, &r, true);
        dense_system d = dense_of(w.m->model, w.m->state);
        dense_solve(&d);
        ++run;
        if (!dense_is_clear(&d)) ++skipped;
        for (int loops = 0; loops < 2 && dense_is_clear(&d); ++loops) {
            tn_stepper* stepper = stepper_of(w.m->model, (tn_loops)loops);
            CHECK_OK(tn_stepper_evaluate(stepper, w.m->state, NULL, NULL));
            const dense_errors e = dense_compare(&d, stepper);
            worst                = fmax(worst, fmax(e.a, e.force));
            test_check(e.a <= 1e-9 && e.force <= 1e-9 && e.row <= 1e-9, __FILE__, __LINE__,
                       "seed %llu, loops %d, condition %.2g: a %.2g, forces %.2g, rows %.2g",
                       (unsigned long long)seed, loops, d.condition, e.a, e.force, e.row);
            tn_stepper_free(stepper);
        }
        dense_free(&d);
        random_web_free(&w);
    }
    CHECK_LESS(skipped, 0.2 * run);
    if (verbose()) printf("otherwise: %d run, %d skipped, worst %.2g\n", run, skipped, worst);
}

// z of a body is held by a thrust along its own z axis.
static void hover_rows(const void* data, double time, const tn_body_view* bodies, double* C,
                       double* rate, double* const* J, double* gamma)
{
    (void)data, (void)time;
    if (C != NULL) *C = bodies[0].com.z;
    if (rate != NULL) *rate = bodies[0].u[2];
    if (gamma != NULL) *gamma = 0;
    for (int k = 0; J != NULL && k < 6; ++k) J[0][k] = k == 2;
}

static void hover_force(const void* data, double time, const tn_body_view* bodies, double* const* K)
{
    (void)data, (void)time;
    const tn_vec3 up = tni_rotate(bodies[0].pose.orientation, tni_vec3(0, 0, 1));
    for (int k = 0; k < 6; ++k) K[0][k] = k < 3 ? tni_at(up, k) : 0;
}

static const tn_constraint_table hover_table = {
    .rows = 1, .holonomic = 1, .rows_at = hover_rows, .force_at = hover_force};

// Tilted by w t, the thrust that carries m g is m g/cos(w t), and it drives sideways:
// vdot = g tan(w t), so v = -(g/w) log cos(w t).
TEST(a_body_hovers_on_a_thrust_along_its_axis)
{
    const double mass = 2.5, w = 0.9;
    rig          r          = rig_make((tn_vec3){0, 0, -g});
    tn_body_def  def        = rig_body(mass, (tn_vec3){0.1, 0.2, 0.15}, (tn_vec3){0, 0, 0});
    def.velocity.angular    = (tn_vec3){0, w, 0};
    const tn_body_id  body  = tn_scene_add_body(r.scene, &def);
    tn_constraint_def hover = tn_default_constraint_def();
    hover.bodies            = &body;
    hover.body_count        = 1;
    hover.table             = &hover_table;
    const tn_joint_id id    = tn_scene_add_constraint(r.scene, &hover);
    rig_ready(&r);
    CHECK(tn_model_joint_auxiliary(r.model, id, TN_LOOPS_CORE));
    for (int i = 0; i < 10; ++i) {
        const double t = tn_state_time(r.state);
        rig_evaluate(&r);
        CHECK_NEAR(tn_stepper_multipliers(r.stepper, id)[0], mass * g / cos(w * t), 1e-9);
        const tn_twist  a = tn_stepper_acceleration(r.stepper, body);
        const tn_wrench f = tn_stepper_reaction(r.stepper, id);
        CHECK_NEAR(a.linear.x, g * tan(w * t), 1e-9);
        CHECK_NEAR(a.linear.z, 0, 1e-12);
        CHECK_NEAR(f.force.x, mass * g * tan(w * t), 1e-9);
        CHECK_NEAR(f.force.z, mass * g, 1e-9);
        rig_run(&r, 1e-3, 100);
        const double* u = tn_state_velocities(r.state);
        CHECK_NEAR(u[0], -g / w * log(cos(w * tn_state_time(r.state))), 1e-9);
        CHECK_NEAR(tn_state_coordinates(r.state)[2], 0, 1e-12);
    }
    CHECK(tn_state_velocities(r.state)[0] > 1);
    rig_free(&r);
}

// ---- One body -----------------------------------------------------------------------------------

// A rod with two ball joints to the ground rotates about the line through them like a pendulum: of
// the three rows of the second ball, one (along the line) is redundant.
TEST(a_second_joint_to_the_ground_leaves_a_pendulum)
{
    for (int loops = 0; loops < 2; ++loops) {
        const double     mass = 3, l = 0.4, J = 0.05, tilt = 0.7;
        rig              r    = rig_make((tn_vec3){0, 0, -g});
        const tn_vec3    at   = {0, l * sin(tilt), -l * cos(tilt)};
        const tn_body_id body = rig_add_body(&r, mass, (tn_vec3){J, 0.04, 0.03}, at);
        rig_add_joint(&r, TN_JOINT_BALL, TNS_GROUND, body, (tn_vec3){-0.5, 0, 0}, TNS_Z);
        rig_add_joint(&r, TN_JOINT_BALL, TNS_GROUND, body, (tn_vec3){0.8, 0, 0}, TNS_Z);
        r.settings.multiplier.loops = (tn_loops)loops;
        rig_ready(&r);
        rig_evaluate(&r);
        CHECK_INT(tn_model_joint_auxiliary(r.model, (tn_joint_id){1}, (tn_loops)loops) +
                      tn_model_joint_auxiliary(r.model, (tn_joint_id){2}, (tn_loops)loops),
                  loops);
        const double turn = -mass * g * l * sin(tilt) / (J + mass * l * l);
        CHECK_NEAR(tn_stepper_acceleration(r.stepper, body).angular.x, turn, 1e-12 * fabs(turn));
        CHECK_INT(r.report.dependent_count, loops);
        CHECK_INT(r.report.auxiliary_count, 3 * loops);
        rig_free(&r);
    }
}

// ---- Many bodies --------------------------------------------------------------------------------

// Five wheels on the ground, sum c_i w_i = const: lambda = -sum c_i T_i/I_i / sum c_i^2/I_i.
TEST(a_coupler_ties_five_wheels)
{
    enum { WHEELS = 5 };
    const double    T[WHEELS] = {1, -2, 0.5, 3, 0.25}, c[WHEELS] = {1, -0.5, 2, 0.25, -3};
    double          I[WHEELS], above = 0, below = 0;
    tn_joint_id     joints[WHEELS];
    rig             r   = rig_make((tn_vec3){0, 0, 0});
    tn_coupling_def def = tn_default_coupling_def(TN_COUPLING_COUPLER);
    for (int i = 0; i < WHEELS; ++i) {
        I[i]                  = 0.1 * (1 + i);
        const tn_vec3    at   = {i, 0, 0};
        const tn_body_id body = rig_add_body(&r, 1, (tn_vec3){I[i], 0.7 * I[i], I[i]}, at);
        tn_joint_def     pin  = tns_joint(TN_JOINT_HINGE, TNS_GROUND, body, at, TNS_Z);
        pin.force[0]          = T[i];
        joints[i]             = tn_scene_add_joint(r.scene, &pin);
        above -= c[i] * T[i] / I[i];
        below += c[i] * c[i] / I[i];
    }
    def.joints = joints, def.joint_count = WHEELS, def.coefficients = c;
    CHECK(tn_scene_add_coupling(r.scene, &def).bits != 0);
    for (int loops = 0; loops < 2; ++loops) {
        r.settings.multiplier.loops = (tn_loops)loops;
        if (loops == 0) rig_ready(&r);
        else rig_restart(&r);
        rig_evaluate(&r);
        for (int i = 0; i < WHEELS; ++i) {
            const double a =
                tn_stepper_acceleration(r.stepper, (tn_body_id){(uint32_t)i + 1}).angular.z;
            CHECK_NEAR(a, (T[i] + c[i] * above / below) / I[i], 1e-12);
        }
        CHECK_INT(r.report.auxiliary_count, loops); // one row, over five bodies: auxiliary
        rig_run(&r, 1e-2, 20);
        for (int i = 0; i < WHEELS; ++i)
            CHECK_NEAR(rig_rate(&r, joints[i]), 0.2 * (T[i] + c[i] * above / below) / I[i], 1e-10);
    }
    rig_free(&r);
}

// A floating tree of rigid, affine and point bodies, springs between them, weight and loads.
static random_mechanism* floating_tree(test_random* r, bool held)
{
    static const random_kind kinds[] = {RANDOM_RIGID, RANDOM_RIGID, RANDOM_PARTICLE, RANDOM_AFFINE};
    static const random_joint_type types[] = {
        {TN_JOINT_BALL, 0}, {TN_JOINT_DISTANCE, 0}, {TN_JOINT_HINGE, 0}, {TN_JOINT_UNIVERSAL, 0}};
    random_mechanism* m    = random_mechanism_make();
    const int         size = test_random_int(r, 2, 12);
    tn_body_id        bodies[12];
    tn_scene_set_gravity(m->scene, random_vec3(r, 10));
    for (int i = 0; i < size; ++i) {
        const random_kind kind = i == 0 ? RANDOM_RIGID : kinds[test_random_int(r, 0, 3)];
        bodies[i]              = random_add_body(m, r, kind, random_vec3(r, 1), false);
        tn_load_def load       = tn_default_load_def();
        load.body = bodies[i], load.force = random_vec3(r, 5);
        CHECK(tn_scene_add_load(m->scene, &load).bits != 0);
        if (i == 0) continue;
        const tn_body_id  to   = bodies[test_random_int(r, 0, i - 1)];
        random_joint_type t    = types[test_random_int(r, 0, 3)];
        tn_spring_def     pull = tn_default_spring_def();
        pull.body1 = to, pull.body2 = bodies[i], pull.stiffness = 20, pull.damping = 1;
        pull.length = 0.3;
        CHECK(tn_scene_add_spring(m->scene, &pull).bits != 0);
        if (!random_joint_takes(t, m->kinds[to.bits], kind)) t = types[test_random_int(r, 0, 1)];
        const tn_joint_def def = random_joint(m, r, t, to, bodies[i]);
        (void)tn_scene_add_joint(m->scene, &def);
    }
    tn_coupling_def def = tn_default_coupling_def(TN_COUPLING_CENTER);
    def.bodies = bodies, def.body_count = size;
    if (held) CHECK(tn_scene_add_coupling(m->scene, &def).bits != 0);
    random_mechanism_build(m);
    random_disturb(m, r, 0.15, 1);
    return m;
}

// m times the acceleration of the centre of mass of everything.
static tn_vec3 pull_on(const tn_model* model, const double* a)
{
    tn_vec3 sum = {0, 0, 0};
    for (int i = 1; i < model->body_count; ++i)
        sum = tni_add_scaled(sum, model->bodies[i].mass, tni_read3(a + model->bodies[i].u_start));
    return sum;
}

TEST(a_held_centre_of_mass_carries_all_forces)
{
    for (uint64_t seed = 1; seed <= CENTERS; ++seed) {
        test_random       r1 = {seed}, r2 = {seed};
        random_mechanism *loose = floating_tree(&r1, false), *held = floating_tree(&r2, true);
        tn_stepper*       of_loose = stepper_of(loose->model, TN_LOOPS_CORE);
        CHECK_OK(tn_stepper_evaluate(of_loose, loose->state, NULL, NULL));
        const tn_vec3 pull = pull_on(loose->model, tn_stepper_accelerations(of_loose));
        const int     row  = held->model->constraints[held->model->named_count].row_start;
        CHECK(tni_norm(pull) > 0.1);
        for (int loops = 0; loops < 2; ++loops) {
            tn_stepper* stepper = stepper_of(held->model, (tn_loops)loops);
            CHECK_OK(tn_stepper_evaluate(stepper, held->state, NULL, NULL));
            const tn_vec3 left   = pull_on(held->model, tn_stepper_accelerations(stepper));
            const tn_vec3 lambda = tni_read3(stepper->multipliers + row);
            // The forces are what is summed here, so they are what rounding is measured by.
            const double size = 1 + dense_largest(stepper->multipliers, held->model->row_count);
            CHECK_LESS(tni_max_abs(left), 1e-11 * size);
            CHECK_LESS(tni_max_abs(tni_add(lambda, pull)), 1e-11 * size);
            tn_stepper_free(stepper);
        }
        tn_stepper_free(of_loose);
        random_mechanism_free(loose);
        random_mechanism_free(held);
    }
}

// ---- Time ---------------------------------------------------------------------------------------

// The cells of a web are squares of equal rods: within 0.3 s some fold flat, and from there two
// motions are possible, chosen by rounding: they are compared before.
static const struct {
    const char* spec;
    int         steps;
} linkages[] = {{"fourbar", 500},     {"slider_crank", 500},
                {"peaucellier", 500}, {"planar_web:loops=3", 100},
                {"bricard", 500},     {"scissor:segments=2", 500}};
enum { LINKAGES = sizeof linkages / sizeof linkages[0] };

static void step_both_ways(const char* spec, int steps)
{
    rig       core = rig_builtin(spec), beside = rig_builtin(spec);
    const int q = tn_state_coordinate_count(core.state), u = tn_state_velocity_count(core.state);
    double    apart = 0, fastest = 0;
    beside.settings.multiplier.loops = TN_LOOPS_AUXILIARY;
    rig_restart(&beside);
    for (int i = 0; i < steps && rig_step(&core, 2e-3) && rig_step(&beside, 2e-3); ++i) {
        const double *a = tn_state_velocities(core.state), *b = tn_state_velocities(beside.state);
        apart   = fmax(apart, dense_distance(a, b, u));
        apart   = fmax(apart, dense_distance(tn_state_coordinates(core.state),
                                             tn_state_coordinates(beside.state), q));
        fastest = fmax(fastest, dense_largest(a, u));
    }
    CHECK_INT(core.report.auxiliary_count, 0);
    CHECK(beside.report.auxiliary_count > 0);
    CHECK(fastest > 0.05);
    test_check(apart < 1e-9, __FILE__, __LINE__, "%s: apart by %.2g", spec, apart);
    if (verbose()) {
        printf("%s: apart by %.2g; %.2g fast; %d rows beside, %d dependent\n", spec, apart, fastest,
               beside.report.auxiliary_count, beside.report.dependent_count);
    }
    rig_free(&core);
    rig_free(&beside);
}

TEST(steps_do_not_depend_on_how_loops_are_solved)
{
    for (int n = 0; n < LINKAGES; ++n)
        step_both_ways(linkages[n].spec, linkages[n].steps < STEPS ? linkages[n].steps : STEPS);
}

TEST(a_check_finds_the_same_with_loops_solved_either_way)
{
    for (int n = 0; n < LINKAGES; ++n) {
        rig r = rig_builtin(linkages[n].spec);
        for (int moved = 0; moved < 2; ++moved) {
            tn_check check[2];
            for (int loops = 0; loops < 2; ++loops) {
                tn_stepper* stepper = stepper_of(r.model, (tn_loops)loops);
                CHECK_OK(tn_stepper_check(stepper, r.state, &check[loops], NULL));
                tn_stepper_free(stepper);
            }
            test_check(check[0].redundant_count == check[1].redundant_count &&
                           check[0].mobility == check[1].mobility,
                       __FILE__, __LINE__,
                       "%s: %d redundant, mobility %d; beside the forest %d, %d", linkages[n].spec,
                       check[0].redundant_count, check[0].mobility, check[1].redundant_count,
                       check[1].mobility);
            CHECK(!check[0].contradictory && !check[1].contradictory);
            CHECK_INT(tn_model_counts(r.model).freedoms - tn_model_counts(r.model).rows +
                          check[1].redundant_count,
                      check[1].mobility);
            rig_run(&r, 2e-3, STEPS / 10);
        }
        rig_free(&r);
    }
}

// The redundant count of random linkages, against the rank of a dense J.
TEST(a_check_counts_what_dense_elimination_counts)
{
    for (uint64_t seed = 1; seed <= CHECKS; ++seed) {
        test_random r = {seed + 9000};
        random_web  w = random_web_make(&r, RANDOM_WEB_FLAT, false);
        random_reach_limits(&w, &r, true);
        dense_system d  = dense_of(w.m->model, w.m->state);
        dense_lu     lu = dense_factor(&d, NULL, 0);
        for (int loops = 0; loops < 2 && lu.last > 1e-6 * lu.first; ++loops) {
            tn_check    check;
            tn_stepper* stepper = stepper_of(w.m->model, (tn_loops)loops);
            CHECK_OK(tn_stepper_check(stepper, w.m->state, &check, NULL));
            CHECK_INT(check.redundant_count, lu.n - lu.rank);
            tn_stepper_free(stepper);
        }
        dense_lu_free(&lu);
        dense_free(&d);
        random_web_free(&w);
    }
}
