// Contacts in the adaptive method: what impulses do to a hybrid body, against its accelerations; friction, bounces and
// belts against closed forms; bodies of many joints that fall on a floor and come to rest there, all joints active or few.
#include "support/adaptive_rig.h"
#include "support/contact_rig.h"
#include "support/failing_host.h"

static const tn_vec3 down = {0, 0, -9.81};

static rig touch_make(void)
{
    rig r             = rig_make(down);
    r.settings.method = TN_METHOD_ADAPTIVE;
    return r;
}

static rig touch_builtin(const char* spec, int active)
{
    rig r                      = rig_builtin(spec);
    r.settings.method          = TN_METHOD_ADAPTIVE;
    r.settings.adaptive        = adaptive_settings();
    r.settings.adaptive.active = active;
    rig_restart(&r);
    return r;
}

// ---- Responses ----------------------------------------------------------------------------------

static tni_six random_six(test_random* r)
{
    return (tni_six){random_vec3(r, 1), random_vec3(r, 1)};
}

// Accelerations with a force on a cluster (world axes, about its origin), into out.
static void accelerate_pushed(adaptive_rig* g, tni_hybrid* hybrid, int at, tni_six f, double* out)
{
    const tni_adaptive* a = g->a;
    tni_hybrid_move(hybrid, a->q, a->v);
    if (at >= 0) {
        const tni_mat3* E          = &hybrid->clusters[at].world.E;
        hybrid->clusters[at].force = (tni_six){tni_mul(E, f.w), tni_mul(E, f.v)};
    }
    CHECK(tni_hybrid_accelerate(hybrid, a->model->gravity, a->q, a->v, a->Q,
                                a->limbs->actuated ? a->K : NULL, out));
}

// One impulse, one tree: its own answer, and products of two lists, against differences of accelerations.
static void check_responses(adaptive_rig* g, int tree, test_random* r)
{
    const tni_joint_trees* l      = g->a->limbs;
    tni_hybrid*            hybrid = &g->a->figures[tree].now;
    const int              n      = l->v_count;
    double *with = calloc((size_t)n, sizeof *with), *none = calloc((size_t)n, sizeof *none),
           *s = calloc((size_t)n, sizeof *s), *change = calloc((size_t)n, sizeof *change),
           *y         = calloc((size_t)(2 * n), sizeof *y);
    int*      columns = calloc((size_t)n, sizeof *columns);
    const int at[2]   = {test_random_int(r, 0, hybrid->count - 1),
                         test_random_int(r, 0, hybrid->count - 1)};
    if (hybrid->clusters[at[0]].held || hybrid->clusters[at[1]].held) goto done;
    const tni_six f[2] = {random_six(r), random_six(r)};
    accelerate_pushed(g, hybrid, -1, f[0], none);
    accelerate_pushed(g, hybrid, at[0], f[0], with);
    double size = 0, off = 0;
    tni_hybrid_move(hybrid, g->a->q, g->a->v);
    CHECK(tni_hybrid_factor(hybrid, l->actuated ? g->a->K : NULL));
    // Two rows: f[0] on the first cluster; f[0] there and f[1] on the second.
    tni_six   force[2][TNI_CONTACT_ROWS] = {{f[0], f[0]}, {tni_six_zero(), f[1]}};
    const int count                      = tni_hybrid_halve(hybrid, at, 2, force, columns, y);
    double    own = 0, product = 0;
    for (int c = 0; c < count; ++c) {
        s[columns[c]] += y[2 * c];
        own += y[2 * c] * y[2 * c];
        product += y[2 * c] * (y[2 * c + 1] - y[2 * c]);
    }
    tni_hybrid_answer(hybrid, s, change);
    for (int i = 0; i < g->a->figures[tree].active_count; ++i) {
        const tni_tree_link* limb = &l->limbs[g->a->figures[tree].active[i]];
        for (int k = limb->v; k < limb->v + limb->freedoms; ++k) {
            size = fmax(size, fabs(with[k] - none[k]) + 1e-3 * fabs(none[k]));
            off  = fmax(off, fabs(with[k] - none[k] - change[k]));
        }
    }
    test_check(off <= 1e-9 * size, __FILE__, __LINE__, "answers differ by %g of %g", off, size);
    // y.y is the work of f on what it does: motions by the change alone.
    tni_hybrid_move(hybrid, g->a->q, change);
    for (int side = 0; side < 2; ++side) {
        const tni_cluster* c = &hybrid->clusters[at[side]];
        const tni_six      m = {tni_mul_t(&c->world.E, c->v.w), tni_mul_t(&c->world.E, c->v.v)};
        CHECK_NEAR(side == 0 ? own : product, tni_six_dot(f[side], m), 1e-9 * (1 + fabs(own)));
    }
done:
    free(with), free(none), free(s), free(change), free(y), free(columns);
}

TEST(impulses_do_what_forces_do)
{
    for (uint64_t seed = 1; seed <= 120; ++seed) {
        test_random       r = {seed};
        const int         n = test_random_int(&r, 1, 16);
        random_mechanism* m = adaptive_scene(&r, n, test_random_int(&r, 1, 4), ADAPTIVE_ALL);
        const tn_adaptive_settings s = adaptive_settings();
        adaptive_rig*              g = adaptive_rig_make(m->model, &s);
        adaptive_disturb(g, m, &r, 0.7, 1);
        adaptive_hold(g, m, &r, test_random_unit(&r), 1);
        g->a->all = false; // some are held
        tni_adaptive_load(g->a, m->state, 1e-3);
        for (int t = 0; t < g->a->limbs->tree_count; ++t) {
            for (int i = 0; i < g->a->figures[t].active_count; ++i)
                tni_figure_joint_force(g->a, g->a->figures[t].active[i], g->a->q, g->a->v);
            check_responses(g, t, &r);
        }
        adaptive_rig_free(g);
        random_mechanism_free(m);
    }
}

// ---- Closed forms -------------------------------------------------------------------------------

static contact_ramp box_on_ramp(double th, double friction)
{
    tn_shape_def box           = rig_box(tns_vec(0.2, 0.15, 0.1));
    box.friction               = friction;
    const contact_ramp_def def = {.th = th, .shape = box, .height = 0.1, .lying = {1, 0, 0, 0}};
    return contact_ramp_ready(touch_make(), &def);
}

TEST(a_box_sticks_below_the_angle_of_friction_and_slides_above)
{
    const double mu = 0.5, h = 1e-3;
    for (int k = 0; k < 2; ++k) {
        const double th = atan(mu * (k == 0 ? 0.99 : 1.01));
        contact_ramp p  = box_on_ramp(th, mu);
        rig_run(&p.r, h, 500);
        const double a = k == 0 ? 0 : 9.81 * (sin(th) - mu * cos(th));
        CHECK_NEAR(contact_climbing(&p), -a * 0.5, 1e-9);
        CHECK_NEAR(contact_climbed(&p), -0.5 * a * 0.5 * (0.5 + h), 1e-9); // Euler's sum
        CHECK_NEAR(contact_strayed(&p), 0, 1e-8);
        CHECK_INT(p.r.report.contact_count, 4);
        // The plane carries it.
        const tn_vec3 f = rig_contact_force(&p.r, p.plane, p.body);
        CHECK_NEAR(tns_dot(f, p.normal), contact_ramp_mass * 9.81 * cos(th), 1e-6);
        rig_free(&p.r);
    }
}

// What pulls stiffly is felt by the floor at once: the force is weight and pull, from the first steps on, however long.
TEST(the_floor_carries_what_a_stiff_hand_pulls)
{
    static const double h[] = {1e-3, 1.0 / 60};
    for (int i = 0; i < 2; ++i) {
        contact_ramp p = box_on_ramp(0, 0.5);
        CHECK_OK(tn_state_grab(p.r.state, 0, p.body, tns_vec(0, 0, 0), 1e6, 0));
        const tn_vec3 at = tn_state_pose(p.r.state, p.body).position;
        CHECK_OK(tn_state_move(p.r.state, 0, tns_vec(at.x, at.y, at.z - 1e-3), tns_vec(0, 0, 0)));
        rig_run(&p.r, h[i], 3);
        CHECK_NEAR(rig_contact_force(&p.r, p.plane, p.body).z, 9.81 * contact_ramp_mass + 1e3,
                   0.01);
        rig_free(&p.r);
    }
}

// Its heights fall by e^2; a step of h is up to h v early: 0.5 mm here.
TEST(a_ball_bounces_by_its_restitution)
{
    const double      e = 0.8, h = 1e-4, radius = 0.1;
    rig               r       = touch_make();
    const tns_surface surface = {0, e};
    tns_wall(r.scene, "floor", tns_vec(0, 0, 0), TNS_Z, surface);
    const tn_body_id ball = tns_solid(r.scene, "ball", (tn_frame){{0, 0, 1 + radius}, {1, 0, 0, 0}},
                                      RIG_REST, 1, rig_sphere(radius), surface);
    rig_ready(&r);
    double height = 1, top = 0, before = 0, energy = rig_energy(&r);
    int    bounces = 0;
    for (int i = 0; i < 30000 && bounces < 5; ++i) {
        rig_step(&r, h);
        const double z = contact_place(&r, ball).z - radius,
                     v = contact_velocity(&r, ball).linear.z;
        top            = fmax(top, z);
        if (before > 0 && v <= 0) {
            CHECK_NEAR(top, e * e * height, 2e-3);
            height = top;
            ++bounces;
        }
        CHECK_INT(r.report.impact_count, v > 0 && before <= 0);
        if (v > 0 && before <= 0) top = 0;
        before = v;
        CHECK(z > -1e-9);
        CHECK(rig_energy(&r) <= energy + 1e-12);
        energy = rig_energy(&r) +
                 9.81 * 9.81 * h * h; // a step of semi-implicit Euler may swing by so much
    }
    CHECK_INT(bounces, 5);
    rig_free(&r);
}

TEST(a_belt_takes_a_box_along)
{
    const double v = 0.7, mu = 0.4, h = 1e-3;
    rig          r          = touch_make();
    tn_shape_def belt       = tns_box_shape(tns_vec(3, 0.5, 0.1));
    belt.friction           = mu;
    belt.surface_velocity   = tns_vec(v, 0, 0);
    const tns_surface rough = {mu, 0};
    tns_fixed(r.scene, "belt", (tn_frame){{0, 0, -0.1}, {1, 0, 0, 0}}, belt);
    const tn_body_id box = tns_solid(r.scene, "box", (tn_frame){{-1, 0, 0.1}, {1, 0, 0, 0}},
                                     RIG_REST, 1, rig_box(tns_vec(0.1, 0.1, 0.1)), rough);
    rig_ready(&r);
    const int half = (int)(v / (mu * 9.81) / h / 2);
    rig_run(&r, h, half);
    CHECK_NEAR(contact_velocity(&r, box).linear.x, mu * 9.81 * h * half, 1e-9);
    rig_run(&r, h, 2 * half);
    CHECK_NEAR(contact_velocity(&r, box).linear.x, v, 1e-9);
    rig_free(&r);
}

// What starts inside something else leaves it, and does not learn of it.
TEST(what_is_inside_is_pushed_out_and_does_not_pop)
{
    rig               r       = touch_make();
    const tns_surface surface = {0.5, 0.5};
    tns_wall(r.scene, "floor", tns_vec(0, 0, 0), TNS_Z, surface);
    const tn_body_id box = tns_solid(r.scene, "box", (tn_frame){{0, 0, 0.098}, {1, 0, 0, 0}},
                                     RIG_REST, 1, rig_box(tns_vec(0.1, 0.1, 0.1)), surface);
    rig_ready(&r);
    for (int i = 0; i < 100; ++i) {
        rig_step(&r, 1e-3);
        CHECK_LESS(tns_length(contact_velocity(&r, box).linear), 1e-9);
        CHECK_LESS(contact_place(&r, box).z, 0.1);
    }
    CHECK_NEAR(contact_place(&r, box).z, 0.1, 1.1e-6);
    rig_free(&r);
}

// A ball that rolls without slipping: its way is that of a hoop with its moment; it neither sinks nor leaves.
TEST(a_ball_rolls_down)
{
    const double th = 0.4, h = 1e-3;
    tn_shape_def ball          = rig_sphere(0.1);
    ball.friction              = 0.8;
    const contact_ramp_def def = {.th = th, .shape = ball, .height = 0.1, .lying = {1, 0, 0, 0}};
    contact_ramp           p   = contact_ramp_ready(touch_make(), &def);
    for (int i = 0; i < 500; ++i) {
        rig_step(&p.r, h);
        const tn_vec3 d = tns_sub(contact_place(&p.r, p.body), p.start);
        CHECK_NEAR(tns_dot(d, p.normal), 0, 1e-6);
    }
    const double a = 9.81 * sin(th) / 1.4;
    CHECK_NEAR(contact_climbed(&p) / (-0.5 * a * 0.25), 1, 1e-2);
    rig_free(&p.r);
}

// Three boxes: each carries those above it, in one problem.
TEST(a_stack_stands)
{
    rig          r      = touch_builtin("boxes:n=3", 0);
    const double energy = rig_energy(&r);
    rig_run(&r, 2e-3, 200);
    CHECK_NEAR(rig_energy(&r), energy, 1e-9 * energy);
    CHECK_LESS(r.report.deepest, 1e-6);
    CHECK_INT(r.report.contact_count, 12);
    rig_free(&r);
}

// ---- Many joints --------------------------------------------------------------------------------

static double deepest_contact(const rig* r)
{
    double most = 0;
    for (int i = 0; i < tn_stepper_contact_count(r->stepper); ++i)
        most = fmax(most, -tn_stepper_contact(r->stepper, i).gap);
    return most;
}

static double fastest_body(const rig* r)
{
    double most = 0;
    for (int i = 1; i <= tn_model_counts(r->model).bodies; ++i) {
        const tn_body_id id = {(uint32_t)i};
        most                = fmax(most, tns_length(tn_state_velocity(r->state, id).linear));
    }
    return most;
}

// Runs; neither may it sink by more than 0.1 mm, nor its energy rise by more than it takes to lift it out of that.
static void fall(rig* r, double h, int steps, double weight)
{
    double energy = rig_energy(r);
    for (int i = 0; i < steps; ++i) {
        if (!rig_step(r, h)) return;
        CHECK_LESS(deepest_contact(r), 1e-4);
        CHECK_LESS(rig_energy(r) - energy, weight * 1e-5);
        energy = fmin(energy, rig_energy(r));
        CHECK_LESS(r->report.complementarity, 1e-4); // [m/s]
    }
}

static bool adaptive_limb(const tn_model* model, int body)
{
    return model->bodies[body].kind == TN_BODY_RIGID;
}

TEST(a_ragdoll_comes_to_rest_on_the_floor)
{
    rig r = touch_builtin("ragdoll_pile:n=1", 0);
    fall(&r, 1e-3, 1500, 800);
    CHECK_LESS(fastest_body(&r), 1e-6);
    CHECK_LESS(deepest_contact(&r), 2e-6);
    // The floor carries all of it.
    tn_vec3 sum = {0, 0, 0};
    for (int i = 0; i < tn_stepper_contact_count(r.stepper); ++i) {
        const tn_contact c = tn_stepper_contact(r.stepper, i);
        if (c.body1.bits == 0 || strcmp(tn_model_body_name(r.model, c.body1), "ground") == 0)
            sum = tns_add(sum, c.force);
    }
    double mass = 0;
    for (int i = 0; i < r.model->body_count; ++i)
        mass += adaptive_limb(r.model, i) ? r.model->bodies[i].mass : 0;
    CHECK_NEAR(sum.z, 9.81 * mass, 1e-3);
    CHECK_NEAR(sum.x, 0, 1e-3);
    CHECK_NEAR(sum.y, 0, 1e-3);
    rig_free(&r);
}

TEST(a_ragdoll_of_which_few_joints_move_comes_down_too)
{
    rig full = touch_builtin("ragdoll_pile:n=1", 0), few = touch_builtin("ragdoll_pile:n=1", 8);
    rig_run(&full, 1e-3, 1200);
    fall(&few, 1e-3, 1200, 800);
    CHECK_LESS(fastest_body(&few), 0.1);
    CHECK(few.report.active_count <= 8);
    // It lies as low as the whole one, about: a rigid one would stand.
    CHECK_NEAR(rig_energy(&few), rig_energy(&full), 20);
    rig_free(&full);
    rig_free(&few);
}

enum { LINKS = 20 };

// Capsules in a row, hinged about y, from a point above the floor.
static rig hanging_row(tn_method method, int links, double height, double friction)
{
    rig               r       = touch_make();
    const tns_surface surface = {friction, 0};
    const double      length  = 0.1;
    tn_body_id        before  = {0};
    r.settings.method         = method;
    r.settings.impulse.sleep  = 0;
    tns_wall(r.scene, "floor", tns_vec(0, 0, 0), TNS_Z, surface);
    for (int i = 0; i < links; ++i) {
        const tn_vec3    a = {length * i, 0, height}, b = {length * (i + 1), 0, height};
        const tn_body_id link  = tns_capsule(r.scene, NULL, a, b, 0.01, RIG_REST, 0.1, surface);
        tn_joint_def     hinge = tns_joint(TN_JOINT_HINGE, before, link, a, (tn_vec3){0, 1, 0});
        hinge.damping          = method == TN_METHOD_ADAPTIVE && links > 4 ? 2e-3 : 0;
        tn_scene_add_joint(r.scene, &hinge);
        before = link;
    }
    rig_ready(&r);
    return r;
}

TEST(a_pendulum_lies_down_on_the_floor)
{
    rig r = hanging_row(TN_METHOD_ADAPTIVE, LINKS, 0.3, 0.5);
    fall(&r, 1e-3, 2000, LINKS * 0.981);
    CHECK_LESS(fastest_body(&r), 1e-3);
    // All but the first few lie: their axes are one radius up.
    for (int i = 8; i < LINKS; ++i) {
        const tn_body_id id = {(uint32_t)(i + 2)};
        CHECK_NEAR(contact_place(&r, id).z, 0.01, 1e-4);
    }
    rig_free(&r);
}

// Two links without friction fall on a floor and slide there, by two methods that share nothing but the finder.
TEST(the_impulse_method_moves_alike)
{
    rig one = hanging_row(TN_METHOD_ADAPTIVE, 2, 0.12, 0),
        two = hanging_row(TN_METHOD_IMPULSE, 2, 0.12, 0);
    for (int i = 0; i < 20; ++i) {
        rig_run(&one, 1e-4, 100);
        rig_run(&two, 1e-4, 100);
        for (int k = 2; k <= 3; ++k) {
            const tn_body_id id = {(uint32_t)k};
            CHECK_LESS(rig_distance(contact_place(&one, id), contact_place(&two, id)), 1e-3);
        }
    }
    rig_free(&one);
    rig_free(&two);
}

// A row that lies on the floor stays there by itself: with forces of contacts among the forces on limbs, a choice that
// looks at three joints knows that the others would do next to nothing. Without, each would fall: g / length.
TEST(choices_feel_contacts)
{
    rig r                      = hanging_row(TN_METHOD_ADAPTIVE, LINKS, 0.01, 0.5);
    r.settings.adaptive.active = LINKS;
    r.settings.adaptive.update = 3;
    r.settings.adaptive.period = 5;
    rig_restart(&r);
    rig_run(&r, 1e-3, 21);
    CHECK_INT(r.report.choice_count, 1);
    CHECK_LESS(r.report.left_out, 1e-6 * 9.81 / 0.1);
    CHECK_LESS(fastest_body(&r), 1e-9);
    rig_free(&r);
}

// However few joints move, what lies stays: contacts of what is held are shared out in some way that carries it.
TEST(what_lies_stays_with_any_number_of_joints)
{
    for (int active = 1; active <= 9; active += 4) {
        rig r                      = hanging_row(TN_METHOD_ADAPTIVE, LINKS, 0.01, 0.5);
        r.settings.adaptive.active = active;
        r.settings.adaptive.period = 3;
        rig_restart(&r);
        const tn_vec3 start = contact_place(&r, (tn_body_id){LINKS + 1});
        rig_run(&r, 1e-3, 100);
        CHECK_LESS(rig_distance(start, contact_place(&r, (tn_body_id){LINKS + 1})), 1e-9);
        CHECK_LESS(fastest_body(&r), 1e-9);
        rig_free(&r);
    }
}

// ---- The same everywhere ------------------------------------------------------------------------

static void same_bits(const char* spec, tn_adaptive_settings s, double h, int before)
{
    rig       r         = touch_builtin(spec, 0);
    tn_state* copy      = NULL;
    tn_why    why       = {.text = ""};
    r.settings.adaptive = s;
    rig_restart(&r);
    rig_must(tn_state_create(r.model, &copy), "state", &why);
    CHECK_OK(tn_stepper_run(r.stepper, r.state, h, before, NULL, NULL));
    for (int i = 0; i < 12; ++i) {
        tn_stepper* fresh = NULL;
        tn_state_copy(copy, r.state);
        rig_must(tn_stepper_create(r.model, &r.settings, &fresh, &why), "stepper", &why);
        for (int k = 0; k < 5; ++k) CHECK_OK(tn_stepper_step(fresh, copy, h, NULL, NULL));
        CHECK_OK(tn_stepper_run(r.stepper, r.state, h, 5, NULL, NULL));
        CHECK(adaptive_same(copy, r.state));
        CHECK_INT(copy->warm_start.count, r.state->warm_start.count);
        tn_stepper_free(fresh);
    }
    tn_state_free(copy);
    rig_free(&r);
}

TEST(a_step_depends_on_the_state_alone)
{
    tn_adaptive_settings s = adaptive_settings();
    same_bits("ragdoll_pile:n=2", s, 2e-3, 150);
    s.active = 7, s.period = 3;
    same_bits("ragdoll_pile:n=2", s, 2e-3, 150);
    s.solver = TN_ADAPTIVE_TREE;
    same_bits("ragdoll_pile:n=1", s, 2e-3, 150);
    s.pixels = 500;
    same_bits("ragdoll_pile:n=2", s, 2e-3, 160);
    same_bits("boxes:n=3", adaptive_settings(), 2e-3, 10);
}

TEST(threads_change_nothing)
{
    uint64_t hash[2];
    for (int k = 0; k < 2; ++k) {
        tn_pool* pool = k == 0 ? NULL : tn_pool_create(3);
        tn_host  host = tn_default_host();
        rig      r    = {.settings = tn_default_settings()};
        tn_why   why  = {.text = ""};
        if (pool != NULL) host.each = tn_pool_each, host.workers = pool;
        rig_must(tns_build(&host, "ragdoll_pile:n=3", &r.scene, &why), "scene", &why);
        r.settings.method          = TN_METHOD_ADAPTIVE;
        r.settings.adaptive.active = 25;
        rig_ready(&r);
        CHECK_OK(tn_stepper_run(r.stepper, r.state, 2e-3, 200, &r.report, &why));
        CHECK(r.report.contact_count > 0);
        hash[k] = tn_state_hash(r.state);
        rig_free(&r);
        tn_pool_free(pool);
    }
    CHECK(hash[0] == hash[1]);
}

// Room is found while things fall; after that none is asked for.
TEST(nothing_is_allocated_within_a_step)
{
    failing_host  f    = failing_host_make();
    const tn_host host = failing_host_of(&f);
    rig           r    = {.settings = tn_default_settings()};
    tn_why        why  = {.text = ""};
    rig_must(tns_build(&host, "ragdoll_pile:n=2", &r.scene, &why), "scene", &why);
    r.settings                 = tn_scene_settings(r.scene);
    r.settings.method          = TN_METHOD_ADAPTIVE;
    r.settings.adaptive.active = 20;
    rig_ready(&r);
    rig_run(&r, 2e-3, 250);
    tn_state_reset(r.state);
    failing_host_rewind(&f, 1);
    f.fail_after = true;
    rig_run(&r, 2e-3, 250);
    CHECK_INT(f.count, 0);
    rig_free(&r);
    CHECK_INT(f.live_blocks, 0);
}

// Where room is refused, the step says so, and may be taken again.
TEST(refused_room_is_survived)
{
    failing_host  f    = failing_host_make();
    const tn_host host = failing_host_of(&f);
    rig           r    = {.settings = tn_default_settings()};
    tn_why        why  = {.text = ""};
    rig_must(tns_build(&host, "ragdoll_pile:n=4", &r.scene, &why), "scene", &why);
    r.settings        = tn_scene_settings(r.scene);
    r.settings.method = TN_METHOD_ADAPTIVE;
    rig_ready(&r);
    int refused = 0;
    for (int i = 0; i < 200; ++i) {
        failing_host_rewind(&f, 1);
        const uint64_t  hash   = tn_state_hash(r.state);
        const tn_result result = tn_stepper_step(r.stepper, r.state, 2e-3, NULL, &why);
        CHECK_INT(result, f.refused > 0 ? TN_ERR_MEMORY : TN_OK);
        if (result == TN_OK) continue;
        ++refused;
        CHECK(tn_state_hash(r.state) == hash);
        failing_host_rewind(&f, 0);
        CHECK_OK(tn_stepper_step(r.stepper, r.state, 2e-3, NULL, &why));
    }
    CHECK(refused > 0);
    rig_free(&r);
    CHECK_INT(f.live_blocks, 0);
}

// Divide and conquer gives the same accelerations, hence nearly the same contacts.
TEST(both_solvers_meet_the_floor_alike)
{
    rig one = touch_builtin("ragdoll_pile:n=1", 0), two = touch_builtin("ragdoll_pile:n=1", 0);
    two.settings.adaptive.solver = TN_ADAPTIVE_TREE;
    rig_restart(&two);
    for (int i = 0; i < 350; ++i) {
        rig_step(&one, 1e-3);
        rig_step(&two, 1e-3);
    }
    CHECK(one.report.contact_count > 0);
    for (int i = 1; i <= tn_model_counts(one.model).bodies; ++i) {
        const tn_body_id id = {(uint32_t)i};
        CHECK_LESS(rig_distance(contact_place(&one, id), contact_place(&two, id)), 1e-7);
    }
    rig_free(&one);
    rig_free(&two);
}
