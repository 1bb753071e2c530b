// Joint coordinates in, joint accelerations out (Baraff 1996, section 2.2): bodies are where their
// coordinates place them, and accelerations are those of the equations of motion derived by hand:
// two-link arm, cart and pole, serial chains by Newton and Euler, ball and universal joints, and
// what holds for every tree: power, momentum, differences in time.
#include "step/stepper.h"
#include "support/failing_host.h"
#include "support/random_scene.h"
#include "support/rig.h"

enum { NUMBERS_MAX = 300, BODIES = 9 };

#ifdef TENON_TEST_LIGHT
enum { SAMPLES = 12 };
#else
enum { SAMPLES = 60 };
#endif

// ---- Random trees -------------------------------------------------------------------------------

typedef enum tree_part { // a random tree may have these besides rigid bodies and passive joints
    TREE_PLAIN     = 0,
    TREE_MOTORS    = 1,
    TREE_KINEMATIC = 2,
    TREE_FLOATS    = 4, ///< no tree is tied to the world
    TREE_FLAT      = 8, ///< planar bodies
    TREE_SIMPLE    = 16 ///< hinges, sliders, universals, balls and welds, some with springs
} tree_part;

static random_joint_type placeable_type(test_random* r, int parts)
{
    static const tn_joint_type simple[] = {TN_JOINT_HINGE, TN_JOINT_SLIDER, TN_JOINT_UNIVERSAL,
                                           TN_JOINT_BALL, TN_JOINT_WELD};
    if (parts & TREE_SIMPLE) return (random_joint_type){simple[test_random_int(r, 0, 4)], 0};
    for (;;) {
        const random_joint_type t =
            random_joint_types[test_random_int(r, 0, RANDOM_JOINT_TYPE_COUNT - 1)];
        if (t.type == TN_JOINT_DISTANCE || t.type == TN_JOINT_ROLLING || t.type == TN_JOINT_ROPE)
            continue;
        if (t.type == TN_JOINT_MOTOR && !(parts & TREE_MOTORS)) continue;
        const bool spatial =
            t.type == TN_JOINT_SCREW || t.type == TN_JOINT_CYLINDER || t.type == TN_JOINT_UNIVERSAL;
        if (!(parts & TREE_FLAT) || !spatial) return t;
    }
}

// Each body is joined to an earlier one or to the world, from either side, by frames that do not
// agree at the start. forces: on the coordinates, joint by joint; NULL: none.
static random_mechanism* random_tree(test_random* r, int body_count, int parts, tn_vec3 gravity,
                                     const double* forces)
{
    random_mechanism* m           = random_mechanism_make();
    const bool        flat        = (parts & TREE_FLAT) != 0;
    int               coordinates = 0;
    tn_scene_set_gravity(m->scene, gravity);
    const random_kind base  = parts & TREE_KINEMATIC ? RANDOM_KINEMATIC : RANDOM_STATIC;
    const tn_body_id  fixed = random_add_body(m, r, base, random_vec3(r, 1), flat);
    const random_kind kind  = flat ? RANDOM_PLANAR : RANDOM_RIGID;
    for (int i = 0; i < body_count; ++i) {
        const bool       hangs = i > 0 && test_random_unit(r) < 0.8;
        const tn_body_id parent =
            hangs ? (tn_body_id){(uint32_t)test_random_int(r, 2, m->body_count - 1)} : fixed;
        const tn_body_id        child = random_add_body(m, r, kind, random_vec3(r, 2), flat);
        const random_joint_type t     = placeable_type(r, parts);
        const bool              swap  = test_random_unit(r) < 0.5;
        if (!hangs && (parts & TREE_FLOATS)) continue;
        tn_joint_def def =
            random_loose_joint(m, r, t, swap ? child : parent, swap ? parent : child, 0.5);
        const int count = tni_joint_type_of(t.type, t.of)->coordinate_count;
        for (int k = 0; forces != NULL && k < count; ++k) def.force[k] = forces[coordinates++];
        if ((parts & TREE_SIMPLE) && t.type != TN_JOINT_WELD && test_random_unit(r) < 0.4)
            def.stiffness = 3, def.damping = 0.4;
        (void)tn_scene_add_joint(m->scene, &def);
    }
    random_mechanism_build(m);
    return m;
}

// Angles of several turns, rotation vectors shorter than pi.
static void random_coordinates(const tn_model* model, test_random* r, double* z, double* rate)
{
    for (int i = 0; i < model->joint_count; ++i) {
        const tni_joint* joint = &model->joints[i];
        for (int k = 0; k < joint->coordinate_count; ++k) {
            const int  coordinate = joint->type->coordinates[k];
            const bool angle =
                coordinate == TNI_COORDINATE_ANGLE || coordinate == TNI_COORDINATE_BEND;
            z[joint->coordinate_start + k] =
                angle ? test_random_between(r, -20, 20) : test_random_between(r, -1.7, 1.7);
        }
    }
    random_numbers(r, rate, model->coordinate_count, 2);
}

static tn_joint_id joint_id(int index)
{
    return (tn_joint_id){(uint32_t)index + 1};
}

static void read_joints(const tn_state* s, double* z, double* rate)
{
    for (int i = 0; i < s->model->joint_count; ++i) {
        const int start = s->model->joints[i].coordinate_start;
        tn_state_joint_position(s, joint_id(i), z + start);
        tn_state_joint_velocity(s, joint_id(i), rate + start);
    }
}

static tn_stepper* stepper_of(const tn_model* model)
{
    tn_stepper*       stepper  = NULL;
    tn_why            why      = {.text = ""};
    const tn_settings settings = rig_settings();
    rig_must(tn_stepper_create(model, &settings, &stepper, &why), "stepper", &why);
    return stepper;
}

static double apart(const double* a, const double* b, int count)
{
    double error = 0;
    for (int i = 0; i < count; ++i) error = fmax(error, fabs(a[i] - b[i]));
    return error;
}

static double largest_of(const double* a, int count)
{
    double size = 0;
    for (int i = 0; i < count; ++i) size = fmax(size, fabs(a[i]));
    return size;
}

// ---- Configurations
// ------------------------------------------------------------------------------

// Rounding of numbers up to about 30 through up to eight bodies.
TEST(coordinates_that_were_set_are_read_back)
{
    test_random r = {11};
    for (int sample = 0; sample < SAMPLES; ++sample) {
        const int         parts = (sample % 2) * TREE_MOTORS + (sample % 3) * TREE_KINEMATIC;
        random_mechanism* m     = random_tree(&r, BODIES, parts, tni_vec3(0, 0, 0), NULL);
        double            z[NUMBERS_MAX], rate[NUMBERS_MAX], z2[NUMBERS_MAX], rate2[NUMBERS_MAX];
        tn_why            why = {.text = ""};
        random_coordinates(m->model, &r, z, rate);
        random_disturb(m, &r, 1, 1);
        CHECK_OK(tn_state_set_joints(m->state, z, rate, &why));
        read_joints(m->state, z2, rate2);
        CHECK_LESS(apart(z, z2, m->model->coordinate_count), 1e-13);
        CHECK_LESS(apart(rate, rate2, m->model->coordinate_count), 1e-13);
        for (int i = 0; i < m->model->joint_count; ++i) {
            CHECK_LESS(tn_state_joint_error(m->state, joint_id(i)), 1e-13);
            if (m->model->joints[i].drive == NULL)
                CHECK_LESS(tn_state_joint_velocity_error(m->state, joint_id(i)), 1e-13);
        }
        CHECK_OK(tn_state_set_joints(m->state, z, NULL, &why));
        read_joints(m->state, z2, rate2);
        CHECK_LESS(largest_of(rate2, m->model->coordinate_count), 1e-13);
        random_mechanism_free(m);
    }
}

// The same configuration whatever the poses before, to the last bit.
TEST(placement_does_not_depend_on_the_previous_state)
{
    test_random       r = {12};
    random_mechanism* m = random_tree(&r, BODIES, TREE_PLAIN, tni_vec3(0, 0, 0), NULL);
    double            z[NUMBERS_MAX], rate[NUMBERS_MAX];
    tn_why            why = {.text = ""};
    random_coordinates(m->model, &r, z, rate);
    CHECK_OK(tn_state_set_joints(m->state, z, rate, &why));
    const uint64_t hash = tn_state_hash(m->state);
    random_disturb(m, &r, 1, 1);
    m->state->time = 0;
    CHECK(hash != tn_state_hash(m->state));
    CHECK_OK(tn_state_set_joints(m->state, z, rate, &why));
    CHECK(hash == tn_state_hash(m->state));
    random_mechanism_free(m);
}

// A planar tree is in some consistent configuration; placed there by its coordinates, it is the
// same.
TEST(planar_trees_are_placed)
{
    test_random r = {13};
    for (int sample = 0; sample < SAMPLES; ++sample) {
        random_mechanism* m       = random_tree(&r, 6, TREE_FLAT, tni_vec3(0, 0, 0), NULL);
        tn_stepper*       stepper = stepper_of(m->model);
        double            z[NUMBERS_MAX], rate[NUMBERS_MAX], z2[NUMBERS_MAX], rate2[NUMBERS_MAX];
        tn_why            why   = {.text = ""};
        const int         count = m->model->coordinate_count;
        CHECK_OK(tn_stepper_project(stepper, m->state, NULL, &why)); // positions, then velocities
        random_numbers(&r, m->state->u, m->model->u_count, 1);
        CHECK_OK(tn_stepper_project(stepper, m->state, NULL, &why));
        read_joints(m->state, z, rate);
        for (int i = 0; i < m->model->q_count; ++i) m->state->q[i] += 0.3;
        const tn_result result = tn_state_set_joints(m->state, z, rate, &why);
        test_check(result == TN_OK, __FILE__, __LINE__, "%s", why.text);
        read_joints(m->state, z2, rate2);
        CHECK_LESS(apart(z, z2, count), 1e-12);
        CHECK_LESS(apart(rate, rate2, count), 1e-12);
        tn_stepper_free(stepper);
        random_mechanism_free(m);
    }
}

TEST(angles_count_turns_and_screws_advance)
{
    rig              r   = rig_make(tni_vec3(0, 0, 0));
    const tn_body_id a   = rig_add_body(&r, 1, tni_vec3(1, 1, 1), tni_vec3(1, 0, 0));
    const tn_body_id b   = rig_add_body(&r, 1, tni_vec3(1, 1, 1), tni_vec3(2, 0, 0));
    tn_joint_def     nut = tns_joint(TN_JOINT_SCREW, a, b, tni_vec3(1, 0, 0), tni_vec3(0, 0, 1));
    nut.pitch            = 0.25;
    const tn_joint_id pin =
        rig_add_joint(&r, TN_JOINT_HINGE, (tn_body_id){0}, a, tni_vec3(0, 0, 0), tni_vec3(0, 0, 1));
    (void)tn_scene_add_joint(r.scene, &nut);
    rig_ready(&r);
    const double two_pi = 6.283185307179586, z[2] = {7, 3 * two_pi}, rate[2] = {0, two_pi};
    tn_why       why = {.text = ""};
    CHECK_OK(tn_state_set_joints(r.state, z, rate, &why));
    CHECK_NEAR(rig_angle(&r, pin), 7, 1e-15);
    CHECK_NEAR(tn_state_pose(r.state, a).position.x, cos(7), 1e-15);
    CHECK_NEAR(tn_state_pose(r.state, a).position.y, sin(7), 1e-15);
    CHECK_NEAR(tn_state_pose(r.state, b).position.x, 2 * cos(7), 1e-14);
    CHECK_NEAR(tn_state_pose(r.state, b).position.z, 0.75, 1e-14); // three turns
    CHECK_NEAR(tn_state_velocity(r.state, b).linear.z, 0.25, 1e-14);
    rig_step(&r, 1e-3); // and the count goes on
    CHECK_NEAR(rig_angle(&r, pin), 7, 0.01);
    CHECK_NEAR(rig_angle(&r, (tn_joint_id){2}), (3 + 1e-3) * two_pi, 0.01);
    rig_free(&r);
}

TEST(roots_that_float_stay)
{
    test_random       r = {14};
    random_mechanism* m = random_tree(&r, BODIES, TREE_FLOATS, tni_vec3(0, 0, 0), NULL);
    double            z[NUMBERS_MAX], rate[NUMBERS_MAX];
    tn_why            why = {.text = ""};
    random_disturb(m, &r, 0.3, 1);
    random_coordinates(m->model, &r, z, rate);
    const tn_body_id root = {2};
    const tn_frame   pose = tn_state_pose(m->state, root);
    const tn_twist   move = tn_state_velocity(m->state, root);
    CHECK_OK(tn_state_set_joints(m->state, z, rate, &why));
    const tn_frame pose2 = tn_state_pose(m->state, root);
    const tn_twist move2 = tn_state_velocity(m->state, root);
    CHECK(memcmp(&pose, &pose2, sizeof pose) == 0 && memcmp(&move, &move2, sizeof move) == 0);
    random_mechanism_free(m);
}

// A hinged arm carries a particle at its tip by a ball joint, and that one another.
TEST(particles_hang_on_ball_joints)
{
    rig              r   = rig_make(tni_vec3(0, 0, 0));
    const tn_body_id arm = rig_add_body(&r, 1, tni_vec3(1, 1, 1), tni_vec3(1, 0, 0));
    tn_body_def      def = rig_body(1, tni_vec3(0, 0, 0), tni_vec3(2, 0, 0));
    def.kind             = TN_BODY_PARTICLE;
    const tn_body_id tip = tn_scene_add_body(r.scene, &def);
    rig_add_joint(&r, TN_JOINT_HINGE, (tn_body_id){0}, arm, tni_vec3(0, 0, 0), tni_vec3(0, 0, 1));
    rig_add_joint(&r, TN_JOINT_BALL, tip, arm, tni_vec3(2, 0, 0), tni_vec3(0, 0, 1));
    rig_ready(&r);
    const double z[1] = {0.5}, rate[1] = {3};
    tn_why       why = {.text = ""};
    CHECK_INT(r.model->coordinate_count, 1);
    CHECK_OK(tn_state_set_joints(r.state, z, rate, &why));
    CHECK_NEAR(tn_state_pose(r.state, tip).position.x, 2 * cos(0.5), 1e-15);
    CHECK_NEAR(tn_state_velocity(r.state, tip).linear.x, -6 * sin(0.5), 1e-14);
    CHECK_NEAR(tn_state_velocity(r.state, tip).linear.y, 6 * cos(0.5), 1e-14);
    rig_free(&r);
}

// ---- Refusals -----------------------------------------------------------------------------------

// Fails as it should, names what it should, and changes nothing.
static void check_refused(tn_state* state, const double* z, const double* rate, tn_result wanted,
                          const char* name)
{
    const size_t count =
        (size_t)(state->model->q_count + state->model->u_count + state->model->coordinate_count);
    double* before = malloc(sizeof(double) * (count + 1));
    tn_why  why    = {.text = ""};
    memcpy(before, state->q, sizeof(double) * count);
    CHECK_INT(tn_state_set_joints(state, z, rate, &why), wanted);
    CHECK(memcmp(before, state->q, sizeof(double) * count) == 0);
    CHECK_INT(why.result, wanted);
    test_check(strstr(why.text, name) != NULL, __FILE__, __LINE__, "'%s' does not name %s",
               why.text, name);
    CHECK_INT(tn_state_set_joints(state, z, rate, NULL), wanted);
    free(before);
}

// An arm on a hinge 'pin', and one more body 'end', joined by 'link'.
static rig two_bodies(tn_body_kind kind, tn_joint_type type)
{
    rig              r   = rig_make(tni_vec3(0, 0, 0));
    const tn_body_id arm = rig_add_body(&r, 1, tni_vec3(1, 1, 1), tni_vec3(1, 0, 0));
    tn_body_def      def = rig_body(1, tni_vec3(1, 1, 1), tni_vec3(2, 0, 0));
    def.kind = kind, def.name = "end";
    const tn_body_id end = tn_scene_add_body(r.scene, &def);
    tn_joint_def     pin =
        tns_joint(TN_JOINT_HINGE, (tn_body_id){0}, arm, tni_vec3(0, 0, 0), tni_vec3(0, 0, 1));
    tn_joint_def link = tns_joint(type, arm, end, tni_vec3(1.5, 0, 0), tni_vec3(0, 0, 1));
    pin.name = "pin", link.name = "link";
    if (type == TN_JOINT_DISTANCE || type == TN_JOINT_ROPE) {
        link.form            = TN_JOINT_BY_POINTS;
        link.frame1.position = link.frame2.position = tni_vec3(0, 0, 0);
    }
    if (type == TN_JOINT_ROLLING) link.radius = 1.5, link.anchor = tni_vec3(2, 0, -1.5);
    (void)tn_scene_add_joint(r.scene, &pin);
    (void)tn_scene_add_joint(r.scene, &link);
    return r;
}

TEST(what_cannot_be_placed_is_refused_by_name)
{
    const double z[8] = {0.3, 0.1, 0.2, 0.3, 0.1, 0.2};
    static const struct {
        tn_body_kind  kind;
        tn_joint_type type;
        tn_result     result;
    } cases[] = {{TN_BODY_RIGID, TN_JOINT_DISTANCE, TN_ERR_UNSUPPORTED},
                 {TN_BODY_RIGID, TN_JOINT_ROLLING, TN_ERR_UNSUPPORTED},
                 {TN_BODY_AFFINE, TN_JOINT_HINGE, TN_ERR_UNSUPPORTED},
                 {TN_BODY_PARTICLE, TN_JOINT_POINT_ON_LINE, TN_ERR_UNSUPPORTED},
                 {TN_BODY_PLANAR, TN_JOINT_BALL, TN_ERR_MODEL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        rig r = two_bodies(cases[i].kind, cases[i].type);
        rig_ready(&r);
        check_refused(r.state, z, z, cases[i].result, "'link'");
        rig_free(&r);
    }
    rig r = two_bodies(TN_BODY_PARTICLE, TN_JOINT_BALL); // a particle has no orientation
    const tn_body_id more = rig_add_body(&r, 1, tni_vec3(1, 1, 1), tni_vec3(3, 0, 0));
    tn_joint_def     bead =
        tns_joint(TN_JOINT_BALL, (tn_body_id){2}, more, tni_vec3(2, 0, 0), tni_vec3(0, 0, 1));
    bead.name = "bead";
    (void)tn_scene_add_joint(r.scene, &bead);
    rig_ready(&r);
    check_refused(r.state, z, z, TN_ERR_UNSUPPORTED, "'bead'");
    rig_free(&r);
}

TEST(loops_are_refused_by_the_joint_that_closes_them)
{
    const double z[8] = {0};
    for (int through_world = 0; through_world < 2; ++through_world) {
        rig          r    = two_bodies(TN_BODY_RIGID, TN_JOINT_HINGE);
        tn_joint_def loop = tns_joint(TN_JOINT_HINGE, (tn_body_id){through_world ? 0 : 1},
                                      (tn_body_id){2}, tni_vec3(3, 0, 0), tni_vec3(0, 0, 1));
        loop.name         = "closing";
        (void)tn_scene_add_joint(r.scene, &loop);
        rig_ready(&r);
        check_refused(r.state, z, z, TN_ERR_UNSUPPORTED, through_world ? "'link'" : "'closing'");
        rig_free(&r);
    }
}

static void no_rows(const void* data, double time, const tn_body_view* bodies, double* C,
                    double* rate, double* const* J, double* gamma)
{
    (void)data, (void)time, (void)bodies;
    if (C != NULL) C[0] = 0;
    if (rate != NULL) rate[0] = 0;
    if (gamma != NULL) gamma[0] = 0;
    for (int k = 0; J != NULL && J[0] != NULL && k < 6; ++k) J[0][k] = k == 2;
}

TEST(user_constraints_are_refused)
{
    static const tn_constraint_table table = {.rows = 1, .rows_at = no_rows};
    rig                              r     = two_bodies(TN_BODY_RIGID, TN_JOINT_HINGE);
    const tn_body_id                 body  = {2};
    tn_constraint_def                def   = tn_default_constraint_def();
    def.name                               = "own";
    def.bodies                             = &body;
    def.body_count                         = 1;
    def.table                              = &table;
    (void)tn_scene_add_constraint(r.scene, &def);
    rig_ready(&r);
    const double z[2] = {0};
    check_refused(r.state, z, z, TN_ERR_UNSUPPORTED, "'own'");
    rig_free(&r);
}

TEST(numbers_that_are_not_finite_are_refused)
{
    rig r = two_bodies(TN_BODY_RIGID, TN_JOINT_CYLINDER);
    rig_ready(&r);
    const double bad[3] = {NAN, HUGE_VAL, -HUGE_VAL};
    for (int i = 0; i < 3; ++i) {
        double good[3] = {0.1, 0.2, 0.3}, z[3] = {0.1, 0.2, 0.3}, out[3] = {0};
        z[2] = bad[i];
        check_refused(r.state, z, good, TN_ERR_MODEL, "'link': its coordinate 1 is not");
        check_refused(r.state, good, z, TN_ERR_MODEL, "'link': its coordinate 1 is not");
        const uint64_t hash = tn_state_hash(r.state);
        tn_why         why  = {.text = ""};
        CHECK_INT(tn_stepper_forward(r.stepper, r.state, good, good, z, out, &why), TN_ERR_MODEL);
        CHECK(hash == tn_state_hash(r.state) && strstr(why.text, "'link'") != NULL);
    }
    const double far[3] = {0, 1e308, 1e308};
    check_refused(r.state, far, far, TN_ERR_MODEL, "'link'"); // finite, but what follows is not
    rig_free(&r);
}

TEST(without_memory_nothing_changes)
{
    failing_host  f    = failing_host_make();
    const tn_host host = failing_host_of(&f);
    tn_scene*     scene;
    tn_model*     model;
    tn_state*     state;
    tn_why        why = {.text = ""};
    rig_must(tns_build(&host, "chain:n=20", &scene, &why), "scene", &why);
    rig_must(tn_scene_compile(scene, &model, &why), "compile", &why);
    rig_must(tn_state_create(model, &state), "state", &why);
    double z[NUMBERS_MAX];
    for (int i = 0; i < model->coordinate_count; ++i) z[i] = 0.1;
    const int live = f.live_blocks;
    for (int n = 1;; ++n) {
        const uint64_t hash = tn_state_hash(state);
        failing_host_rewind(&f, n);
        const tn_result result = tn_state_set_joints(state, z, z, &why);
        CHECK_INT(f.live_blocks, live);
        if (f.refused == 0) {
            CHECK_OK(result);
            CHECK(n > 1 && hash != tn_state_hash(state));
            break;
        }
        CHECK_INT(result, TN_ERR_MEMORY);
        CHECK(hash == tn_state_hash(state));
    }
    tn_state_free(state);
    tn_model_free(model);
    tn_scene_free(scene);
    CHECK_INT(f.live_blocks, 0);
}

// ---- Equations of motion, by hand ---------------------------------------------------------------

static void forward(rig* r, const double* z, const double* rate, const double* tau, double* out)
{
    tn_why          why    = {.text = ""};
    const tn_result result = tn_stepper_forward(r->stepper, r->state, z, rate, tau, out, &why);
    test_check(result == TN_OK, __FILE__, __LINE__, "forward: %s", why.text);
}

// Two links in the plane, angles a and b (of the second against the first), gravity along -y:
//     M11 = I1 + m1 c1^2 + I2 + m2 (l^2 + c2^2 + 2 l c2 cos b)
//     M12 = I2 + m2 (c2^2 + l c2 cos b),   M22 = I2 + m2 c2^2,   k = m2 l c2 sin b
//     M11 a'' + M12 b'' - k (2 a' b' + b'^2) + g ((m1 c1 + m2 l) cos a + m2 c2 cos(a + b)) = tau1
//     M12 a'' + M22 b'' + k a'^2 + g m2 c2 cos(a + b) = tau2
TEST(two_link_arm_has_its_closed_form)
{
    const double     g = 9.81, l = 0.9, c1 = 0.4, c2 = 0.35, m1 = 2, m2 = 1.5, I1 = 0.2, I2 = 0.1;
    rig              r   = rig_make(tni_vec3(0, -g, 0));
    const tn_body_id one = rig_add_body(&r, m1, tni_vec3(0.3, 0.3, I1), tni_vec3(c1, 0, 0));
    const tn_body_id two = rig_add_body(&r, m2, tni_vec3(0.3, 0.3, I2), tni_vec3(l + c2, 0, 0));
    rig_add_joint(&r, TN_JOINT_HINGE, (tn_body_id){0}, one, tni_vec3(0, 0, 0), tni_vec3(0, 0, 1));
    rig_add_joint(&r, TN_JOINT_HINGE, one, two, tni_vec3(l, 0, 0), tni_vec3(0, 0, 1));
    rig_ready(&r);
    test_random random = {21};
    for (int sample = 0; sample < 100; ++sample) {
        double z[2], u[2], tau[2], zdd[2] = {0};
        random_numbers(&random, z, 2, 10);
        random_numbers(&random, u, 2, 5);
        random_numbers(&random, tau, 2, 20);
        forward(&r, z, u, tau, zdd);
        const double M11 = I1 + m1 * c1 * c1 + I2 + m2 * (l * l + c2 * c2 + 2 * l * c2 * cos(z[1]));
        const double M12 = I2 + m2 * (c2 * c2 + l * c2 * cos(z[1])), M22 = I2 + m2 * c2 * c2;
        const double k = m2 * l * c2 * sin(z[1]), tip = g * m2 * c2 * cos(z[0] + z[1]);
        const double e1 =
            tau[0] + k * (2 * u[0] * u[1] + u[1] * u[1]) - g * (m1 * c1 + m2 * l) * cos(z[0]) - tip;
        const double e2 = tau[1] - k * u[0] * u[0] - tip, det = M11 * M22 - M12 * M12;
        // accelerations up to about 1000 rad/s^2
        CHECK_NEAR(zdd[0], (M22 * e1 - M12 * e2) / det, 1e-11);
        CHECK_NEAR(zdd[1], (M11 * e2 - M12 * e1) / det, 1e-11);
    }
    rig_free(&r);
}

// (M + m) x'' + m c (a'' cos a - a'^2 sin a) = F,   (I + m c^2) a'' + m c (x'' cos a + g sin a) = tau
// with the pole hanging at a = 0.
TEST(cart_and_pole_have_their_closed_form)
{
    const double     g = 9.81, M = 3, m = 0.7, c = 0.6, I = 0.08;
    rig              r    = rig_make(tni_vec3(0, -g, 0));
    const tn_body_id cart = rig_add_body(&r, M, tni_vec3(1, 1, 1), tni_vec3(0, 0, 0));
    const tn_body_id pole = rig_add_body(&r, m, tni_vec3(0.1, 0.1, I), tni_vec3(0, -c, 0));
    rig_add_joint(&r, TN_JOINT_SLIDER, (tn_body_id){0}, cart, tni_vec3(0, 0, 0), tni_vec3(1, 0, 0));
    rig_add_joint(&r, TN_JOINT_HINGE, cart, pole, tni_vec3(0, 0, 0), tni_vec3(0, 0, 1));
    rig_ready(&r);
    test_random random = {22};
    for (int sample = 0; sample < 100; ++sample) {
        double z[2], u[2], tau[2], zdd[2] = {0};
        random_numbers(&random, z, 2, 5);
        random_numbers(&random, u, 2, 5);
        random_numbers(&random, tau, 2, 20);
        forward(&r, z, u, tau, zdd);
        const double M12 = m * c * cos(z[1]), M22 = I + m * c * c;
        const double e1 = tau[0] + m * c * u[1] * u[1] * sin(z[1]);
        const double e2 = tau[1] - m * g * c * sin(z[1]), det = (M + m) * M22 - M12 * M12;
        CHECK_NEAR(zdd[0], (M22 * e1 - M12 * e2) / det, 1e-11);
        CHECK_NEAR(zdd[1], ((M + m) * e2 - M12 * e1) / det, 1e-11);
    }
    rig_free(&r);
}

// A body as Newton and Euler see it.
typedef struct newton {
    tn_vec3 x, a, w, wd; ///< origin of the body frame and its acceleration, turning
    tn_vec3 com, F, N;   ///< what must act on it: force at the centre of mass, torque
} newton;

// How a parent's acceleration goes on through a joint, side +1 where the child is body 2.
static void pass_on(const random_mechanism* m, const tni_joint* joint, const tn_joint_def* def,
                    double side, double z, double u, double zdd, const newton* parent,
                    newton* child, tn_vec3* axis, tn_vec3* anchor)
{
    const tn_joint_id id     = {(uint32_t)(joint - m->model->joints) + 1};
    const tn_frame    frame1 = tn_state_pose(m->state, def->body1);
    const tn_vec3     n =
        tni_rotate(frame1.orientation, tni_rotate(def->frame1.orientation, tni_vec3(0, 0, 1)));
    const tn_vec3 from = tn_state_joint_anchor(m->state, id, side > 0 ? 0 : 1);
    const tn_vec3 to   = tn_state_joint_anchor(m->state, id, side > 0 ? 1 : 0);
    const tn_vec3 arm = tni_sub(from, parent->x), w = parent->w, wd = parent->wd;
    tn_vec3 a = tni_add(parent->a, tni_add(tni_cross(wd, arm), tni_cross(w, tni_cross(w, arm))));
    child->w = w, child->wd = wd;
    if (def->type == TN_JOINT_HINGE) {
        child->w  = tni_add_scaled(w, side * u, n);
        child->wd = tni_add_scaled(tni_add_scaled(wd, side * zdd, n), side * u, tni_cross(w, n));
    } else { // the child's anchor is at side z n from the parent's
        const tn_vec3 slide = tni_scale(side * z, n);
        a = tni_add(a, tni_add(tni_cross(wd, slide), tni_cross(w, tni_cross(w, slide))));
        a = tni_add_scaled(tni_add_scaled(a, side * zdd, n), 2 * side * u, tni_cross(w, n));
    }
    const tn_vec3 back = tni_sub(child->x, to);
    child->a           = tni_add(
        a, tni_add(tni_cross(child->wd, back), tni_cross(child->w, tni_cross(child->w, back))));
    *axis = n, *anchor = from;
}

static void what_must_act(const tni_body* body, tn_quat o, tn_vec3 gravity, newton* b)
{
    const tni_mat3 R = tni_quat_matrix(o), I = tni_rotate_symmetric(&R, &body->inertia);
    const tn_vec3  arm = tni_mul(&R, body->com);
    const tn_vec3  a =
        tni_add(b->a, tni_add(tni_cross(b->wd, arm), tni_cross(b->w, tni_cross(b->w, arm))));
    b->com = tni_add(b->x, arm);
    b->F   = tni_scale(body->mass, tni_sub(a, gravity));
    b->N   = tni_add(tni_mul(&I, b->wd), tni_cross(b->w, tni_mul(&I, b->w)));
}

// Serial chains of hinges and sliders, joined from either side: the accelerations, put through
// Newton's and Euler's equations body by body, need exactly the given forces.
TEST(chains_need_the_forces_they_were_given)
{
    test_random r = {23};
    for (int sample = 0; sample < SAMPLES; ++sample) {
        enum { LINKS_MAX = 7 };
        random_mechanism* m       = random_mechanism_make();
        const tn_vec3     gravity = random_vec3(&r, 10);
        const int         n       = test_random_int(&r, 1, LINKS_MAX);
        tn_joint_def      defs[LINKS_MAX];
        tn_scene_set_gravity(m->scene, gravity);
        for (int i = 0; i < n; ++i) {
            const tn_body_id child =
                random_add_body(m, &r, RANDOM_RIGID, random_vec3(&r, 2), false);
            const tn_body_id        parent = {child.bits - 1};
            const bool              swap   = test_random_unit(&r) < 0.5;
            const random_joint_type t      = {
                test_random_unit(&r) < 0.6 ? TN_JOINT_HINGE : TN_JOINT_SLIDER, 0};
            defs[i] =
                random_loose_joint(m, &r, t, swap ? child : parent, swap ? parent : child, 0.5);
            (void)tn_scene_add_joint(m->scene, &defs[i]);
        }
        random_mechanism_build(m);
        tn_stepper* stepper = stepper_of(m->model);
        double      z[LINKS_MAX], u[LINKS_MAX], tau[LINKS_MAX], zdd[LINKS_MAX] = {0};
        tn_why      why = {.text = ""};
        random_coordinates(m->model, &r, z, u);
        random_numbers(&r, tau, n, 10);
        CHECK_OK(tn_stepper_forward(stepper, m->state, z, u, tau, zdd, &why));
        newton  body[LINKS_MAX + 1] = {0};
        tn_vec3 axis[LINKS_MAX], anchor[LINKS_MAX];
        for (int i = 0; i < n; ++i) {
            const tn_frame pose = tn_state_pose(m->state, (tn_body_id){(uint32_t)i + 1});
            body[i + 1].x       = pose.position;
            pass_on(m, &m->model->joints[i], &defs[i], defs[i].body1.bits == (uint32_t)i ? 1 : -1,
                    z[i], u[i], zdd[i], &body[i], &body[i + 1], &axis[i], &anchor[i]);
            what_must_act(&m->model->bodies[i + 1], pose.orientation, gravity, &body[i + 1]);
        }
        const double size = 1 + largest_of(zdd, n);
        for (int i = 0; i < n; ++i) {
            tn_vec3 F = {0, 0, 0}, N = {0, 0, 0};
            for (int j = i + 1; j <= n; ++j) {
                F = tni_add(F, body[j].F);
                N = tni_add(
                    N, tni_add(body[j].N, tni_cross(tni_sub(body[j].com, anchor[i]), body[j].F)));
            }
            const double side  = defs[i].body1.bits == (uint32_t)i ? 1 : -1;
            const double needs = side * tni_dot(axis[i], defs[i].type == TN_JOINT_HINGE ? N : F);
            CHECK_NEAR(needs, tau[i], 1e-11 * size); // bodies of up to 10 kg, arms of up to 10 m
        }
        tn_stepper_free(stepper);
        random_mechanism_free(m);
    }
}

// Bodies of two states: a quaternion and its negative are the same attitude.
static double poses_apart(const tn_state* a, const tn_state* b)
{
    double most = 0;
    for (int i = 1; i < a->model->body_count; ++i) {
        const tn_frame one = tn_state_pose(a, (tn_body_id){(uint32_t)i}),
                       two = tn_state_pose(b, (tn_body_id){(uint32_t)i});
        const tn_quat d    = tni_quat_mul(tni_quat_conjugate(one.orientation), two.orientation);
        most               = fmax(most, tni_norm(tni_sub(one.position, two.position)));
        most               = fmax(most, tni_norm(tni_vec3(d.x, d.y, d.z)));
    }
    return most;
}

// Trees in joint coordinates against multipliers: accelerations, and poses of bodies.
TEST(both_forward_dynamics_agree)
{
    test_random r = {77};
    for (int sample = 0; sample < SAMPLES; ++sample) {
        const int         parts = TREE_SIMPLE | (sample % 2 ? TREE_FLOATS : 0);
        random_mechanism* m     = random_tree(&r, BODIES, parts, random_vec3(&r, 10), NULL);
        const int         n     = m->model->coordinate_count;
        tn_stepper *      one = stepper_of(m->model), *two = NULL;
        tn_settings       reduced = tn_default_settings();
        tn_state*         other   = NULL;
        double z[NUMBERS_MAX], rate[NUMBERS_MAX], tau[NUMBERS_MAX], a[NUMBERS_MAX], b[NUMBERS_MAX];
        tn_why why     = {.text = ""};
        reduced.method = TN_METHOD_ADAPTIVE;
        rig_must(tn_stepper_create(m->model, &reduced, &two, &why), "stepper", &why);
        CHECK(two->adaptive->has_forward);
        random_disturb(m, &r, 0.3, 1);
        rig_must(tn_state_create(m->model, &other), "state", &why);
        tn_state_copy(other, m->state);
        random_coordinates(m->model, &r, z, rate);
        random_numbers(&r, tau, n, 10);
        const double* push = sample % 3 ? tau : NULL;
        const double* move = sample % 5 ? rate : NULL;
        CHECK_OK(tn_stepper_forward(one, m->state, z, move, push, a, &why));
        CHECK_OK(tn_stepper_forward(two, other, z, move, push, b, &why));
        CHECK_LESS(apart(a, b, n), 1e-9 * (1 + largest_of(a, n)));
        CHECK_LESS(poses_apart(m->state, other), 1e-12);
        CHECK_LESS(apart(m->state->u, other->u, m->model->u_count), 1e-10);
        CHECK(memcmp(m->state->z, other->z, sizeof(double) * (size_t)n) == 0);
        if (parts & TREE_FLOATS) { // the first body stays, to the bit
            CHECK(memcmp(m->state->q, other->q, 7 * sizeof(double)) == 0);
            CHECK(memcmp(m->state->u, other->u, 6 * sizeof(double)) == 0);
        }
        z[0] = NAN;
        tn_state_copy(m->state, other);
        CHECK_INT(tn_stepper_forward(two, other, z, rate, tau, b, &why), TN_ERR_MODEL);
        CHECK(strstr(why.text, "finite") != NULL &&
              tn_state_hash(m->state) == tn_state_hash(other));
        tn_state_free(other);
        tn_stepper_free(one);
        tn_stepper_free(two);
        random_mechanism_free(m);
    }
}

// One body of random inertia on a joint to the world; frames by hand. Returns I about the anchor and
// the arm to the centre of mass, in the body's frame 2.
static rig lone_body(tn_joint_type type, test_random* r, tn_vec3 gravity, tn_quat frame1, double* m,
                     tni_mat3* I, tn_vec3* arm)
{
    rig            one    = rig_make(gravity);
    tn_body_def    def    = tn_default_body_def();
    tn_joint_def   join   = tn_default_joint_def(type);
    const tni_mat3 J      = random_inertia(r, 2);
    const double   six[6] = {J.m[0], J.m[4], J.m[8], J.m[1], J.m[2], J.m[5]};
    memcpy(def.inertia, six, sizeof six);
    def.mass = *m = 2;
    def.com = *arm = random_vec3(r, 0.5);
    join.form      = TN_JOINT_BY_FRAMES;
    join.body2     = tn_scene_add_body(one.scene, &def);
    join.frame1    = (tn_frame){random_vec3(r, 1), frame1};
    join.frame2    = (tn_frame){{0, 0, 0}, {1, 0, 0, 0}};
    (void)tn_scene_add_joint(one.scene, &join);
    rig_ready(&one);
    const double c2 = tni_dot(*arm, *arm), c[3] = {arm->x, arm->y, arm->z};
    *I = J;
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k) I->m[3 * i + k] += 2 * ((i == k ? c2 : 0) - c[i] * c[k]);
    return one;
}

// Euler: I w' + w x I w = c x m g + tau, in the axes of frame 1.
TEST(a_body_on_a_ball_joint_obeys_euler)
{
    test_random r = {24};
    for (int sample = 0; sample < 40; ++sample) {
        const tn_vec3 gravity = random_vec3(&r, 10);
        const tn_quat frame1  = random_quat(&r);
        double        m, z[3], u[3], t[3], zdd[3] = {0};
        tni_mat3      I;
        tn_vec3       arm;
        rig           one = lone_body(TN_JOINT_BALL, &r, gravity, frame1, &m, &I, &arm);
        random_numbers(&r, z, 3, 1.7);
        random_numbers(&r, u, 3, 3);
        random_numbers(&r, t, 3, 5);
        forward(&one, z, u, t, zdd);
        const tni_mat3 E  = tni_quat_matrix(tni_quat_exp(tni_read3(z)));
        const tni_mat3 I1 = tni_rotate_symmetric(&E, &I);
        const tn_vec3  g1 = tni_rotate(tni_quat_conjugate(frame1), gravity), w = tni_read3(u);
        const tn_vec3 torque = tni_add(tni_read3(t), tni_cross(tni_mul(&E, arm), tni_scale(m, g1)));
        const tn_vec3 wd     = tni_solve3(&I1, tni_sub(torque, tni_cross(w, tni_mul(&I1, w))));
        CHECK_LESS(tni_max_abs(tni_sub(wd, tni_read3(zdd))), 1e-11);
        rig_free(&one);
    }
}

// w = a' z + b' x2 with x2 = (cos a, sin a, 0): Euler's equation along the two axes.
TEST(a_body_on_a_universal_joint_obeys_euler)
{
    test_random r = {25};
    for (int sample = 0; sample < 40; ++sample) {
        const tn_vec3 gravity = random_vec3(&r, 10);
        const tn_quat frame1  = random_quat(&r);
        double        m, z[2], u[2], t[2], zdd[2] = {0};
        tni_mat3      I;
        tn_vec3       arm;
        rig           one = lone_body(TN_JOINT_UNIVERSAL, &r, gravity, frame1, &m, &I, &arm);
        random_numbers(&r, z, 2, 6);
        random_numbers(&r, u, 2, 3);
        random_numbers(&r, t, 2, 5);
        forward(&one, z, u, t, zdd);
        const double   ca = cos(z[0]), sa = sin(z[0]), cb = cos(z[1]), sb = sin(z[1]);
        const tni_mat3 E    = {{ca, -sa * cb, sa * sb, sa, ca * cb, -ca * sb, 0, sb, cb}};
        const tni_mat3 I1   = tni_rotate_symmetric(&E, &I);
        const tn_vec3  g1   = tni_rotate(tni_quat_conjugate(frame1), gravity);
        const tn_vec3  s[2] = {{0, 0, 1}, {ca, sa, 0}}, s_rate = {-sa * u[0], ca * u[0], 0};
        const tn_vec3  w    = tni_add(tni_scale(u[0], s[0]), tni_scale(u[1], s[1]));
        tn_vec3        left = tni_cross(w, tni_mul(&I1, w)); // what is not linear in z''
        left                = tni_add(left, tni_mul(&I1, tni_scale(u[1], s_rate)));
        left                = tni_sub(left, tni_cross(tni_mul(&E, arm), tni_scale(m, g1)));
        double M[4], e[2];
        for (int i = 0; i < 2; ++i) {
            e[i] = t[i] - tni_dot(s[i], left);
            for (int k = 0; k < 2; ++k) M[2 * i + k] = tni_dot(s[i], tni_mul(&I1, s[k]));
        }
        const double det = M[0] * M[3] - M[1] * M[2];
        CHECK_NEAR(zdd[0], (M[3] * e[0] - M[1] * e[1]) / det, 1e-11);
        CHECK_NEAR(zdd[1], (M[0] * e[1] - M[2] * e[0]) / det, 1e-11);
        rig_free(&one);
    }
}

// With f = m v, forces give velocities: an arm that rotates about z, a bead that slides along it at
// the distance d, (I + m c^2 + I2 + m2 d^2) a' = tau, m2 d' = F. Earlier velocities do not matter.
TEST(where_force_is_mass_times_velocity_velocities_come_out)
{
    rig              r    = rig_make(tni_vec3(0, 0, 0));
    const tn_body_id arm  = rig_add_body(&r, 2, tni_vec3(1, 1, 0.3), tni_vec3(0.5, 0, 0));
    const tn_body_id bead = rig_add_body(&r, 1, tni_vec3(1, 1, 0.2), tni_vec3(1, 0, 0));
    rig_add_joint(&r, TN_JOINT_HINGE, (tn_body_id){0}, arm, tni_vec3(0, 0, 0), tni_vec3(0, 0, 1));
    rig_add_joint(&r, TN_JOINT_SLIDER, arm, bead, tni_vec3(1, 0, 0), tni_vec3(1, 0, 0));
    r.settings.multiplier.dynamics = TN_DYNAMICS_FIRST;
    rig_ready(&r);
    const double z[2] = {1, 0.5}, u[2] = {4, -3}, tau[2] = {6.5, 3};
    double       out[2] = {0};
    forward(&r, z, u, tau, out);
    CHECK_NEAR(out[0], 2, 1e-13);
    CHECK_NEAR(out[1], 3, 1e-13);
    rig_free(&r);
}

// ---- What holds for every tree ------------------------------------------------------------------

typedef struct sample {
    random_mechanism* m;
    tn_stepper*       stepper;
    double            z[NUMBERS_MAX], u[NUMBERS_MAX], tau[NUMBERS_MAX], zdd[NUMBERS_MAX];
} sample;

// A random tree at random coordinates, under random forces; in_scene: these are the scene's own.
static void take_sample(test_random* r, int parts, tn_vec3 gravity, bool in_scene, sample* s)
{
    tn_why why = {.text = ""};
    random_numbers(r, s->tau, NUMBERS_MAX, 3);
    s->m       = random_tree(r, BODIES, parts, gravity, in_scene ? s->tau : NULL);
    s->stepper = stepper_of(s->m->model);
    random_disturb(s->m, r, 0.3, 1); // the floating roots
    random_coordinates(s->m->model, r, s->z, s->u);
    const tn_result result = tn_stepper_forward(s->stepper, s->m->state, s->z, s->u,
                                                in_scene ? NULL : s->tau, s->zdd, &why);
    test_check(result == TN_OK, __FILE__, __LINE__, "forward: %s", why.text);
}

static void free_sample(sample* s)
{
    tn_stepper_free(s->stepper);
    random_mechanism_free(s->m);
}

static int parts_of(int i)
{
    return (i % 2) * TREE_FLOATS + (i / 2 % 2) * TREE_KINEMATIC + (i / 4 % 2) * TREE_MOTORS;
}

// Forces given to the call act like those of the scene, and are gone afterwards.
TEST(forces_act_as_those_of_the_scene)
{
    for (int i = 0; i < SAMPLES; ++i) {
        test_random   r = {(uint64_t)(300 + i)}, same = r;
        sample        a, b;
        const tn_vec3 gravity = {1, -3, -9};
        take_sample(&r, parts_of(i), gravity, false, &a);
        take_sample(&same, parts_of(i), gravity, true, &b);
        const int    count = a.m->model->u_count;
        const double size  = 1 + largest_of(tn_stepper_accelerations(b.stepper), count);
        CHECK_LESS(
            apart(tn_stepper_accelerations(a.stepper), tn_stepper_accelerations(b.stepper), count),
            1e-12 * size);
        CHECK_LESS(apart(a.zdd, b.zdd, a.m->model->coordinate_count), 1e-12 * size);
        tn_stepper* fresh = stepper_of(a.m->model);
        CHECK_OK(tn_stepper_evaluate(a.stepper, a.m->state, NULL, NULL));
        CHECK_OK(tn_stepper_evaluate(fresh, a.m->state, NULL, NULL));
        CHECK(memcmp(tn_stepper_accelerations(a.stepper), tn_stepper_accelerations(fresh),
                     sizeof(double) * (size_t)count) == 0);
        tn_stepper_free(fresh);
        free_sample(&a);
        free_sample(&b);
    }
}

// d/dt of the kinetic energy, from the accelerations of the bodies, is what forces and weights do.
TEST(power_is_that_of_forces_and_weights)
{
    test_random r = {26};
    sample      s;
    for (int i = 0; i < SAMPLES; ++i) {
        const tn_vec3 gravity = random_vec3(&r, 10);
        take_sample(&r, i % 2 * TREE_FLOATS, gravity, false, &s);
        const tn_model* model = s.m->model;
        const double*   udot  = tn_stepper_accelerations(s.stepper);
        double          power = 0, given = 0, size = 1;
        for (int k = 0; k < model->free_count; ++k) {
            const tni_body* body = &model->bodies[model->free_bodies[k]];
            const tni_view  view = tni_state_view(s.m->state, model->free_bodies[k]);
            double          Mu[6];
            tni_mass_times(body, &view, view.u, Mu);
            for (int j = 0; j < 6; ++j) {
                power += Mu[j] * udot[body->u_start + j];
                size += fabs(Mu[j] * udot[body->u_start + j]);
            }
            given += body->mass * tni_dot(gravity, view.v);
        }
        for (int k = 0; k < model->coordinate_count; ++k) given += s.tau[k] * s.u[k];
        CHECK_NEAR(power, given, 1e-12 * size);
        free_sample(&s);
    }
}

// Internal forces of a floating tree do not change its momentum.
TEST(forces_inside_do_not_change_momentum)
{
    test_random r = {27};
    sample      s;
    for (int i = 0; i < SAMPLES; ++i) {
        take_sample(&r, TREE_FLOATS, tni_vec3(0, 0, 0), false, &s);
        const tn_model* model = s.m->model;
        const double*   udot  = tn_stepper_accelerations(s.stepper);
        tn_vec3         P = {0, 0, 0}, L = {0, 0, 0};
        double          size = 1;
        for (int k = 0; k < model->free_count; ++k) {
            const tni_body* body = &model->bodies[model->free_bodies[k]];
            const tni_view  view = tni_state_view(s.m->state, model->free_bodies[k]);
            double          Ma[6], Mu[6];
            tni_mass_times(body, &view, udot + body->u_start, Ma);
            tni_mass_times(body, &view, view.u, Mu);
            const tn_vec3 spin = tni_add(tni_read3(Ma + 3), tni_cross(view.w, tni_read3(Mu + 3)));
            P                  = tni_add(P, tni_read3(Ma));
            L                  = tni_add(L, tni_add(spin, tni_cross(view.x, tni_read3(Ma))));
            size = fmax(size, (1 + tni_norm(view.x)) * (largest_of(Ma, 6) + tni_max_abs(spin)));
        }
        CHECK_LESS(tni_max_abs(P), 1e-12 * size);
        CHECK_LESS(tni_max_abs(L), 1e-12 * size);
        free_sample(&s);
    }
}

// (-11 f0 + 18 f1 - 9 f2 + 2 f3) / 6 h: the rate at the start, error h^3 f''''/4.
static void difference_rates(tn_stepper* stepper, tn_state* state, double h, double* rates)
{
    static const double weights[4] = {-11, 18, -9, 2};
    double              z[NUMBERS_MAX], u[NUMBERS_MAX];
    memset(rates, 0, sizeof(double) * (size_t)state->model->coordinate_count);
    for (int k = 0; k < 4; ++k) {
        tn_why why = {.text = ""};
        if (k > 0) CHECK_OK(tn_stepper_step(stepper, state, h, NULL, &why));
        read_joints(state, z, u);
        for (int i = 0; i < state->model->coordinate_count; ++i)
            rates[i] += weights[k] * u[i] / (6 * h);
    }
}

TEST(accelerations_are_the_rates_of_joint_velocities)
{
    test_random r = {28};
    sample      s;
    for (int i = 0; i < SAMPLES; ++i) {
        take_sample(&r, parts_of(i) & ~TREE_MOTORS, random_vec3(&r, 10), true, &s);
        double    rates[NUMBERS_MAX];
        const int count = s.m->model->coordinate_count;
        difference_rates(s.stepper, s.m->state, 2e-5, rates);
        const double size = 1 + largest_of(s.zdd, count);
        CHECK_LESS(apart(rates, s.zdd, count), 1e-8 * size * size);
        free_sample(&s);
    }
}

// Joint accelerations can be read wherever there are joints: loops too.
TEST(loops_have_joint_accelerations)
{
    const char* specs[] = {"fourbar", "peaucellier"};
    for (int i = 0; i < 2; ++i) {
        rig    r                = rig_builtin(specs[i]);
        double zdd[NUMBERS_MAX] = {0}, rates[NUMBERS_MAX];
        rig_run(&r, 1e-3, 50);
        rig_evaluate(&r);
        for (int k = 0; k < r.model->joint_count; ++k)
            tn_stepper_joint_acceleration(r.stepper, joint_id(k),
                                          zdd + r.model->joints[k].coordinate_start);
        difference_rates(r.stepper, r.state, 1e-4, rates);
        const int count = r.model->coordinate_count;
        CHECK_LESS(apart(rates, zdd, count), 1e-8 * (1 + largest_of(zdd, count)));
        CHECK(largest_of(zdd, count) > 0.1);
        rig_free(&r);
    }
}

TEST(ropes_are_refused)
{
    const double z[2] = {0};
    rig          r    = two_bodies(TN_BODY_RIGID, TN_JOINT_ROPE);
    rig_ready(&r);
    check_refused(r.state, z, z, TN_ERR_UNSUPPORTED, "'link'");
    rig_free(&r);
}
