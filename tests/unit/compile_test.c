// compile: impossible mechanisms are refused by name; possible ones have the right counts.
#include "support/random_scene.h"

static tn_body_id add_body(tn_scene* scene, const char* name, tn_body_kind kind)
{
    tn_body_def def = tn_default_body_def();
    def.name        = name;
    def.kind        = kind;
    def.mass        = 1;
    for (int k = 0; k < 6; ++k) def.inertia[k] = k < 3 ? 0.1 : 0;
    def.com          = tni_vec3(0, 0, 0);
    const tn_key key = {0, {{0, 0, 0}, {1, 0, 0, 0}}};
    if (kind == TN_BODY_KINEMATIC) def.keys = &key, def.key_count = 1;
    return tn_scene_add_body(scene, &def);
}

// A user-defined point has no axes, a user-defined scaled body has.
static tn_body_id add_user_body(tn_scene* scene, const char* name, const user_body* data,
                                bool turns)
{
    static const double q[8] = {1, 2, 3, 1, 0, 0, 0, 1};
    tn_body_def         def  = tn_default_body_def();
    def.name                 = name;
    def.kind                 = TN_BODY_USER;
    def.table                = turns ? &user_scaled_table : &user_point_table;
    def.data                 = data;
    def.user_q               = q;
    return tn_scene_add_body(scene, &def);
}

static const user_body user_data = {.mass = 1, .inertia = {{1, 0, 0, 0, 1, 0, 0, 0, 1}}};

typedef struct bench {
    tn_scene*  scene;
    tn_body_id rigid, planar, planar2, particle, affine, kinematic, fixed, point, scaled;
} bench;

static bench bench_make(void)
{
    bench b;
    CHECK_OK(tn_scene_create(NULL, &b.scene));
    b.rigid     = add_body(b.scene, "Rigid", TN_BODY_RIGID);
    b.planar    = add_body(b.scene, "Planar", TN_BODY_PLANAR);
    b.planar2   = add_body(b.scene, "Planar2", TN_BODY_PLANAR);
    b.particle  = add_body(b.scene, "Particle", TN_BODY_PARTICLE);
    b.affine    = add_body(b.scene, "Affine", TN_BODY_AFFINE);
    b.kinematic = add_body(b.scene, "Kinematic", TN_BODY_KINEMATIC);
    b.fixed     = add_body(b.scene, "Fixed", TN_BODY_STATIC);
    b.point     = add_user_body(b.scene, "Point", &user_data, false);
    b.scaled    = add_user_body(b.scene, "Scaled", &user_data, true);
    CHECK_OK(tn_scene_problem(b.scene, NULL));
    return b;
}

static tn_joint_def joint_def(tn_joint_type type, tn_body_id body1, tn_body_id body2)
{
    tn_joint_def def = tn_default_joint_def(type);
    def.name         = "pin";
    def.body1 = body1, def.body2 = body2;
    return def;
}

// Compiling fails, and the reason contains each of the words.
static void expect_refusal(bench* b, const char* word1, const char* word2, int line)
{
    tn_model*       model;
    tn_why          why    = {0};
    const tn_result result = tn_scene_compile(b->scene, &model, &why);
    test_check(result == TN_ERR_MODEL && model == NULL && why.result == TN_ERR_MODEL, __FILE__,
               line, "gave result %d", (int)result);
    test_check(strstr(why.text, word1) != NULL && strstr(why.text, word2) != NULL, __FILE__, line,
               "'%s' names not '%s' and '%s'", why.text, word1, word2);
    tn_model_free(model);
    tn_scene_free(b->scene);
}

#define REFUSE_JOINT(word1, word2, def_expression)  \
    do {                                            \
        bench              b   = bench_make();      \
        const tn_joint_def def = (def_expression);  \
        (void)tn_scene_add_joint(b.scene, &def);    \
        expect_refusal(&b, word1, word2, __LINE__); \
    } while (0)

TEST(joints_with_axes_refuse_bodies_that_cannot_rotate)
{
    REFUSE_JOINT("pin", "Particle", joint_def(TN_JOINT_HINGE, b.rigid, b.particle));
    REFUSE_JOINT("pin", "Particle", joint_def(TN_JOINT_WELD, b.particle, (tn_body_id){0}));
    REFUSE_JOINT("pin", "Particle", joint_def(TN_JOINT_UNIVERSAL, b.particle, b.rigid));
    REFUSE_JOINT("pin", "Particle", joint_def(TN_JOINT_PLANE, b.fixed, b.particle));
    REFUSE_JOINT("pin", "Point", joint_def(TN_JOINT_SLIDER, b.point, b.rigid));
    REFUSE_JOINT("pin", "Point", joint_def(TN_JOINT_HINGE, b.point, b.scaled));
}

TEST(a_line_or_plane_needs_a_body_with_axes)
{
    REFUSE_JOINT("pin", "Point", joint_def(TN_JOINT_POINT_ON_LINE, b.point, b.rigid));
    REFUSE_JOINT("pin", "Point", joint_def(TN_JOINT_POINT_ON_PLANE, b.point, b.rigid));
}

TEST(joints_need_a_movable_body)
{
    REFUSE_JOINT("pin", "", joint_def(TN_JOINT_HINGE, b.fixed, (tn_body_id){0}));
    REFUSE_JOINT("pin", "", joint_def(TN_JOINT_BALL, b.fixed, b.kinematic));
}

static tn_joint_def with_axis(tn_joint_def def, tn_vec3 axis)
{
    def.axis  = axis;
    def.axis2 = tni_perpendicular(axis);
    return def;
}

TEST(oblique_axes_between_planar_bodies_are_refused)
{
    const tn_vec3 oblique = {0.6, 0, 0.8};
    REFUSE_JOINT("pin", "plane",
                 with_axis(joint_def(TN_JOINT_HINGE, b.planar, b.planar2), oblique));
    REFUSE_JOINT("pin", "plane", with_axis(joint_def(TN_JOINT_SLIDER, b.planar, b.fixed), oblique));
    REFUSE_JOINT("pin", "plane",
                 with_axis(joint_def(TN_JOINT_UNIVERSAL, (tn_body_id){0}, b.planar), oblique));
    REFUSE_JOINT("pin", "axes",
                 with_axis(joint_def(TN_JOINT_POINT_ON_LINE, b.planar, b.planar2), oblique));
    REFUSE_JOINT("pin", "axes",
                 with_axis(joint_def(TN_JOINT_POINT_ON_PLANE, b.planar, b.planar2), oblique));
}

TEST(joints_without_rows_in_the_plane_are_refused)
{
    const tn_vec3 up = {0, 0, 1};
    REFUSE_JOINT("pin", "constrains no",
                 with_axis(joint_def(TN_JOINT_PLANE, b.planar, b.planar2), up));
    REFUSE_JOINT("pin", "constrains no",
                 with_axis(joint_def(TN_JOINT_POINT_ON_PLANE, b.fixed, b.planar), up));
}

static tn_joint_def motor(bench* b, tn_joint_type of, tn_vec3 axis)
{
    tn_joint_def def = with_axis(joint_def(TN_JOINT_MOTOR, b->planar, b->planar2), axis);
    def.of           = of;
    def.velocity     = 1;
    return def;
}

TEST(motors_that_cannot_move_planar_bodies_are_refused)
{
    REFUSE_JOINT("pin", "planar", motor(&b, TN_JOINT_HINGE, tni_vec3(1, 0, 0)));
    REFUSE_JOINT("pin", "planar", motor(&b, TN_JOINT_SLIDER, tni_vec3(0, 0, 1)));
}

static tn_joint_def with_stiffness(tn_joint_def def)
{
    def.stiffness = 1;
    return def;
}

TEST(torques_on_bodies_without_rotation_are_refused)
{
    REFUSE_JOINT("pin", "Affine", with_stiffness(joint_def(TN_JOINT_BALL, b.rigid, b.affine)));
    REFUSE_JOINT("pin", "Scaled", with_stiffness(joint_def(TN_JOINT_BALL, b.scaled, b.rigid)));
    tn_joint_def rolling = tn_default_joint_def(TN_JOINT_ROLLING);
    rolling.radius       = 0.5;
    REFUSE_JOINT("joint1", "Affine", (rolling.body2 = b.affine, rolling));
    REFUSE_JOINT("joint1", "Scaled", (rolling.body2 = b.scaled, rolling));
}

TEST(springs_on_joints_without_coordinates_are_refused)
{
    REFUSE_JOINT("pin", "Particle", with_stiffness(joint_def(TN_JOINT_BALL, b.rigid, b.particle)));
    REFUSE_JOINT("pin", "Point",
                 with_stiffness(joint_def(TN_JOINT_POINT_ON_LINE, b.rigid, b.point)));
}

TEST(a_distance_between_coinciding_points_is_refused)
{
    REFUSE_JOINT("pin", "coincide", joint_def(TN_JOINT_DISTANCE, b.rigid, b.planar));
}

static tn_joint_def with_length(tn_joint_def def, double length)
{
    def.length = length;
    return def;
}

TEST(a_rope_between_coinciding_points_needs_a_length)
{
    REFUSE_JOINT("pin", "the rope has no length", joint_def(TN_JOINT_ROPE, b.rigid, b.planar));
    REFUSE_JOINT("pin", "neither", joint_def(TN_JOINT_ROPE, b.fixed, (tn_body_id){0}));
    bench              b   = bench_make();
    const tn_joint_def def = with_length(joint_def(TN_JOINT_ROPE, b.rigid, b.planar), 2);
    (void)tn_scene_add_joint(b.scene, &def);
    tn_model* model;
    CHECK_OK(tn_scene_compile(b.scene, &model, NULL));
    if (model != NULL) CHECK(model->limits[0].end == 2 && model->row_count == 0);
    tn_model_free(model);
    tn_scene_free(b.scene);
}

TEST(a_rope_is_as_long_as_its_points_are_apart)
{
    bench              b   = bench_make();
    const tn_joint_def def = joint_def(TN_JOINT_ROPE, b.point, (tn_body_id){0});
    (void)tn_scene_add_joint(b.scene, &def);
    tn_model* model;
    CHECK_OK(tn_scene_compile(b.scene, &model, NULL));
    if (model != NULL) CHECK_NEAR(model->limits[0].end, sqrt(14), 1e-15);
    tn_model_free(model);
    tn_scene_free(b.scene);
}

// Hard limits on everything that the type can limit.
static tn_joint_def with_hard_limit(tn_joint_def def)
{
    def.limit.given = def.limit.hard = true;
    if (def.type == TN_JOINT_BALL) def.limit.twist_lower = -1, def.limit.twist_upper = 1;
    else def.limit.lower = -1, def.limit.upper = 1;
    return def;
}

static tn_joint_def with_hard_cone(tn_joint_def def)
{
    def.limit.given = def.limit.hard = true;
    def.limit.cone                   = 1;
    return def;
}

TEST(hard_limits_without_effect_are_refused)
{
    const tn_vec3 up = {0, 0, 1}, along = {1, 0, 0};
    REFUSE_JOINT("pin", "Affine", with_hard_limit(joint_def(TN_JOINT_BALL, b.rigid, b.affine)));
    REFUSE_JOINT("pin", "Scaled", with_hard_cone(joint_def(TN_JOINT_BALL, b.scaled, b.rigid)));
    REFUSE_JOINT("pin", "Particle",
                 with_hard_limit(joint_def(TN_JOINT_POINT_ON_LINE, b.rigid, b.particle)));
    REFUSE_JOINT("pin", "planar",
                 with_hard_limit(with_axis(joint_def(TN_JOINT_HINGE, b.planar, b.planar2), along)));
    REFUSE_JOINT("pin", "planar",
                 with_hard_limit(with_axis(joint_def(TN_JOINT_SLIDER, b.planar, b.planar2), up)));
    REFUSE_JOINT("pin", "planar",
                 with_hard_limit(with_axis(joint_def(TN_JOINT_BALL, b.planar, b.fixed), along)));
    REFUSE_JOINT("pin", "planar",
                 with_hard_cone(with_axis(joint_def(TN_JOINT_BALL, b.planar, b.fixed), up)));
}

static int limits_of(tn_joint_def (*limit)(tn_joint_def), tn_joint_type type, bool planar,
                     tn_vec3 axis)
{
    bench              b = bench_make();
    const tn_joint_def def =
        limit(with_axis(joint_def(type, b.kinematic, planar ? b.planar : b.rigid), axis));
    (void)tn_scene_add_joint(b.scene, &def);
    tn_model* model;
    CHECK_OK(tn_scene_compile(b.scene, &model, NULL));
    const int count = model != NULL ? model->limit_count : -1;
    tn_model_free(model);
    tn_scene_free(b.scene);
    return count;
}

TEST(hard_limits_become_rows_and_not_forces)
{
    const tn_vec3 up = {0, 0, 1}, along = {1, 0, 0}, leaning = {0.6, 0, 0.8};
    CHECK_INT(limits_of(with_hard_limit, TN_JOINT_HINGE, true, up), 2);
    CHECK_INT(limits_of(with_hard_limit, TN_JOINT_SLIDER, true, along), 2);
    CHECK_INT(limits_of(with_hard_limit, TN_JOINT_BALL, true, up), 2);
    CHECK_INT(limits_of(with_hard_cone, TN_JOINT_BALL, true, along), 1);
    CHECK_INT(limits_of(with_hard_limit, TN_JOINT_BALL, true, leaning), 2);
    CHECK_INT(limits_of(with_hard_cone, TN_JOINT_BALL, true, leaning), 1);
    CHECK_INT(limits_of(with_hard_limit, TN_JOINT_PLANE, true, along), 2);
    CHECK_INT(limits_of(with_hard_limit, TN_JOINT_PLANE, false, leaning), 2);
    CHECK_INT(limits_of(with_hard_limit, TN_JOINT_SCREW, false, leaning), 2);
    CHECK_INT(limits_of(with_hard_limit, TN_JOINT_UNIVERSAL, false, up), 2);
    CHECK_INT(limits_of(with_hard_limit, TN_JOINT_POINT_ON_PLANE, false, up), 2);
    CHECK_INT(limits_of(with_hard_limit, TN_JOINT_MOTOR, false, up), 2);
}

TEST(a_distance_to_a_user_body_is_measured_where_the_body_is)
{
    bench              b   = bench_make();
    const tn_joint_def def = joint_def(TN_JOINT_DISTANCE, b.point, (tn_body_id){0});
    (void)tn_scene_add_joint(b.scene, &def);
    tn_spring_def spring = tn_default_spring_def();
    spring.body1         = b.scaled;
    spring.anchor1       = tni_vec3(0, 0, 1);
    CHECK(tn_scene_add_spring(b.scene, &spring).bits != 0);
    tn_model* model;
    CHECK_OK(tn_scene_compile(b.scene, &model, NULL));
    if (model != NULL) {
        CHECK_NEAR(model->joints[0].size, sqrt(14), 1e-15);
        CHECK_NEAR(model->springs[0].length, sqrt(1 + 4 + 16), 1e-15);
    }
    tn_model_free(model);
    tn_scene_free(b.scene);
}

TEST(elasticity_without_volume_is_refused)
{
    bench       b   = bench_make();
    tn_body_def def = tn_default_body_def();
    def.name = "Jelly", def.kind = TN_BODY_AFFINE, def.mass = 1, def.young = 100;
    for (int k = 0; k < 6; ++k) def.inertia[k] = k < 3 ? 0.1 : 0;
    (void)tn_scene_add_body(b.scene, &def);
    expect_refusal(&b, "Jelly", "volume", __LINE__);
}

TEST(couplings_need_free_coordinates)
{
    bench              b        = bench_make();
    const tn_joint_def hinge    = joint_def(TN_JOINT_HINGE, (tn_body_id){0}, b.rigid);
    tn_joint_def       line     = joint_def(TN_JOINT_POINT_ON_LINE, b.rigid, b.particle);
    line.name                   = "Wire";
    const tn_joint_id joints[2] = {tn_scene_add_joint(b.scene, &hinge),
                                   tn_scene_add_joint(b.scene, &line)};
    tn_coupling_def   gear      = tn_default_coupling_def(TN_COUPLING_GEAR);
    gear.joints = joints, gear.joint_count = 2;
    CHECK(tn_scene_add_coupling(b.scene, &gear).bits != 0);
    expect_refusal(&b, "Wire", "coordinate", __LINE__);
}

TEST(couplings_of_rotation_vectors_need_torque)
{
    bench              b        = bench_make();
    const tn_joint_def hinge    = joint_def(TN_JOINT_HINGE, (tn_body_id){0}, b.rigid);
    tn_joint_def       ball     = joint_def(TN_JOINT_BALL, b.rigid, b.affine);
    ball.name                   = "Knee";
    const tn_joint_id joints[2] = {tn_scene_add_joint(b.scene, &hinge),
                                   tn_scene_add_joint(b.scene, &ball)};
    tn_coupling_def   gear      = tn_default_coupling_def(TN_COUPLING_GEAR);
    gear.joints = joints, gear.joint_count = 2;
    CHECK(tn_scene_add_coupling(b.scene, &gear).bits != 0);
    expect_refusal(&b, "Knee", "Affine", __LINE__);
}

TEST(torques_of_forces_on_bodies_without_rotation_are_refused)
{
    bench       b    = bench_make();
    tn_load_def load = tn_default_load_def();
    load.body = b.particle, load.torque = tni_vec3(0, 0, 1);
    CHECK(tn_scene_add_load(b.scene, &load).bits != 0);
    expect_refusal(&b, "load", "Particle", __LINE__);

    b                = bench_make();
    tn_drag_def drag = tn_default_drag_def();
    drag.body = b.affine, drag.angular = 1;
    CHECK(tn_scene_add_drag(b.scene, &drag).bits != 0);
    expect_refusal(&b, "drag", "Affine", __LINE__);

    b                    = bench_make();
    const tn_key  key    = {0, {{0, 0, 0}, {1, 0, 0, 0}}};
    tn_target_def target = tn_default_target_def();
    target.body = b.scaled, target.keys = &key, target.key_count = 1, target.angular_damping = 1;
    CHECK(tn_scene_add_target(b.scene, &target).bits != 0);
    expect_refusal(&b, "target", "Scaled", __LINE__);
}

static void no_rows(const void* data, double time, const tn_body_view* bodies, double* C,
                    double* rate, double* const* J, double* gamma)
{
    (void)data, (void)time, (void)bodies, (void)J;
    for (int i = 0; i < 2; ++i) {
        if (C != NULL) C[i] = 0;
        if (rate != NULL) rate[i] = 0;
        if (gamma != NULL) gamma[i] = 0;
    }
}
static const tn_constraint_table no_table = {.rows = 2, .holonomic = 1, .rows_at = no_rows};

TEST(user_constraints_need_distinct_bodies_that_move)
{
    bench             b        = bench_make();
    const tn_body_id  twice[2] = {b.rigid, b.rigid};
    tn_constraint_def def      = tn_default_constraint_def();
    def.name                   = "Law";
    def.bodies                 = twice;
    def.body_count             = 2;
    def.table                  = &no_table;
    (void)tn_scene_add_constraint(b.scene, &def);
    expect_refusal(&b, "Law", "Rigid", __LINE__);

    b                         = bench_make();
    const tn_body_id fixed[2] = {b.fixed, b.kinematic};
    def.bodies                = fixed;
    (void)tn_scene_add_constraint(b.scene, &def);
    expect_refusal(&b, "Law", "", __LINE__);
}

// ---- Counts -------------------------------------------------------------------------------------

static int rows_in_plane(tn_joint_type type, tn_joint_type of, tn_vec3 axis)
{
    bench        b   = bench_make();
    tn_joint_def def = with_axis(joint_def(type, b.planar, b.planar2), axis);
    def.of           = of;
    def.radius       = 1;
    if (type == TN_JOINT_DISTANCE) def.frame1.position = tni_vec3(1, 0, 0);
    const tn_joint_id id = tn_scene_add_joint(b.scene, &def);
    tn_model*         model;
    CHECK_OK(tn_scene_compile(b.scene, &model, NULL));
    const int rows = model != NULL ? tn_model_joint_rows(model, id) : -1;
    tn_model_free(model);
    tn_scene_free(b.scene);
    return rows;
}

TEST(joints_between_planar_bodies_keep_the_rows_that_act)
{
    const tn_vec3 up = {0, 0, 1}, along = {0.6, 0.8, 0};
    CHECK_INT(rows_in_plane(TN_JOINT_HINGE, 0, up), 2);
    CHECK_INT(rows_in_plane(TN_JOINT_SLIDER, 0, along), 2);
    CHECK_INT(rows_in_plane(TN_JOINT_WELD, 0, up), 3);
    CHECK_INT(rows_in_plane(TN_JOINT_WELD, 0, along), 3);
    CHECK_INT(rows_in_plane(TN_JOINT_BALL, 0, along), 2);
    CHECK_INT(rows_in_plane(TN_JOINT_DISTANCE, 0, up), 1);
    CHECK_INT(rows_in_plane(TN_JOINT_CYLINDER, 0, up), 2);
    CHECK_INT(rows_in_plane(TN_JOINT_CYLINDER, 0, along), 2);
    CHECK_INT(rows_in_plane(TN_JOINT_PLANE, 0, along), 2);
    CHECK_INT(rows_in_plane(TN_JOINT_POINT_ON_LINE, 0, along), 1);
    CHECK_INT(rows_in_plane(TN_JOINT_POINT_ON_LINE, 0, up), 2);
    CHECK_INT(rows_in_plane(TN_JOINT_POINT_ON_PLANE, 0, along), 1);
    CHECK_INT(rows_in_plane(TN_JOINT_MOTOR, TN_JOINT_HINGE, up), 3);
    CHECK_INT(rows_in_plane(TN_JOINT_MOTOR, TN_JOINT_SLIDER, along), 3);
    CHECK_INT(rows_in_plane(TN_JOINT_ROLLING, 0, along), 2);
}

static int rows_in_space(tn_joint_type type, tn_joint_type of)
{
    bench        b   = bench_make();
    tn_joint_def def = with_axis(joint_def(type, b.rigid, b.planar), tni_vec3(0.6, 0, 0.8));
    def.of           = of;
    def.radius       = 1;
    if (type == TN_JOINT_DISTANCE) def.frame1.position = tni_vec3(1, 0, 0);
    const tn_joint_id id = tn_scene_add_joint(b.scene, &def);
    tn_model*         model;
    CHECK_OK(tn_scene_compile(b.scene, &model, NULL));
    const int rows = model != NULL ? tn_model_joint_rows(model, id) : -1;
    for (int i = 0; i < rows; ++i) CHECK(strlen(tn_model_row_text(model, id, i)) > 3);
    tn_model_free(model);
    tn_scene_free(b.scene);
    return rows;
}

TEST(joints_in_space_have_all_their_rows)
{
    static const int rows[RANDOM_JOINT_TYPE_COUNT] = {6, 5, 5, 5, 4, 4, 3, 3, 2, 1, 1, 6, 6, 3};
    for (int i = 0; i < RANDOM_JOINT_TYPE_COUNT; ++i)
        CHECK_INT(rows_in_space(random_joint_types[i].type, random_joint_types[i].of), rows[i]);
}

static void add_ball(tn_scene* scene, tn_body_id body1, tn_body_id body2)
{
    tn_joint_def def = tn_default_joint_def(TN_JOINT_BALL);
    def.body1 = body1, def.body2 = body2;
    (void)tn_scene_add_joint(scene, &def);
}

TEST(rows_loops_and_parts_are_counted)
{
    tn_scene* scene;
    tn_model* model;
    CHECK_OK(tn_scene_create(NULL, &scene));
    tn_body_id bodies[9];
    for (int i = 0; i < 8; ++i) bodies[i] = add_body(scene, NULL, TN_BODY_RIGID);
    bodies[8]              = add_body(scene, NULL, TN_BODY_STATIC);
    const tn_body_id world = {0};
    add_ball(scene, world, bodies[0]); // a chain of three, tied at both ends: one loop
    add_ball(scene, bodies[0], bodies[1]);
    add_ball(scene, bodies[1], bodies[2]);
    add_ball(scene, bodies[2], bodies[8]);
    add_ball(scene, bodies[3], bodies[4]); // a floating triangle: one loop
    add_ball(scene, bodies[4], bodies[5]);
    add_ball(scene, bodies[5], bodies[3]);
    add_ball(scene, bodies[8], bodies[6]); // tied; bodies[7] is alone
    CHECK_OK(tn_scene_compile(scene, &model, NULL));
    const tn_counts counts = tn_model_counts(model);
    CHECK_INT(counts.bodies, 9);
    CHECK_INT(counts.joints, 8);
    CHECK_INT(counts.rows, 24);
    CHECK_INT(counts.freedoms, 48);
    CHECK_INT(counts.loops, 2);
    CHECK_INT(counts.parts, 4);
    CHECK_INT(model->floating_count, 2);
    CHECK(counts.bytes > 1000);
    tn_model_free(model);
    tn_scene_free(scene);
}

TEST(couplings_and_user_constraints_are_counted)
{
    bench              b        = bench_make();
    const tn_joint_def hinge    = joint_def(TN_JOINT_HINGE, (tn_body_id){0}, b.rigid);
    tn_joint_def       second   = joint_def(TN_JOINT_HINGE, b.rigid, b.scaled);
    second.name                 = "second";
    const tn_joint_id joints[2] = {tn_scene_add_joint(b.scene, &hinge),
                                   tn_scene_add_joint(b.scene, &second)};
    tn_coupling_def   gear      = tn_default_coupling_def(TN_COUPLING_GEAR);
    gear.joints = joints, gear.joint_count = 2;
    CHECK(tn_scene_add_coupling(b.scene, &gear).bits != 0);
    const tn_body_id  pair[2] = {b.affine, b.particle};
    tn_constraint_def law     = tn_default_constraint_def();
    law.name                  = "Law";
    law.bodies                = pair;
    law.body_count            = 2;
    law.table                 = &no_table;
    const tn_joint_id id      = tn_scene_add_constraint(b.scene, &law);
    tn_model*         model;
    CHECK_OK(tn_scene_compile(b.scene, &model, NULL));
    const tn_counts counts = tn_model_counts(model);
    CHECK_INT(counts.bodies, 9);
    CHECK_INT(counts.joints, 3);
    CHECK_INT(counts.couplings, 1);
    CHECK_INT(counts.rows, 5 + 5 + 2 + 1);
    CHECK_INT(counts.freedoms, 6 + 3 + 3 + 3 + 12 + 3 + 7);
    CHECK_INT(counts.loops, 0);
    CHECK_INT(counts.parts, 5); // rigid and scaled, affine and particle, planar, planar2, point
    CHECK_INT(model->floating_count, 4);
    CHECK_INT(tn_model_joint_rows(model, id), 2);
    CHECK_INT(tn_model_joint_coordinates(model, id), 0);
    CHECK_TEXT(tn_model_joint_name(model, id), "Law");
    CHECK_INT(tn_model_find_joint(model, "second").bits, joints[1].bits);
    tn_model_free(model);
    tn_scene_free(b.scene);
}

// Pointers of the user go with their defs: into the model, and into a copy of the scene; not into files.
TEST(user_data_is_kept_and_read_back)
{
    bench             b = bench_make();
    int               things[4];
    tn_scene*         copy  = NULL;
    tn_body_def       body  = *tn_scene_body(b.scene, 0);
    tn_joint_def      joint = tn_default_joint_def(TN_JOINT_BALL);
    tn_constraint_def law   = tn_default_constraint_def();
    body.name = "marked", body.user_data = &things[0];
    const tn_body_id marked = tn_scene_add_body(b.scene, &body);
    joint.name = "pin", joint.body2 = marked, joint.user_data = &things[1];
    const tn_joint_id pin = tn_scene_add_joint(b.scene, &joint);
    law.bodies = &marked, law.body_count = 1, law.table = &no_table, law.user_data = &things[2];
    const tn_joint_id own = tn_scene_add_constraint(b.scene, &law);
    CHECK_OK(tn_scene_create(NULL, &copy));
    for (int i = 0; i < tn_scene_body_count(b.scene); ++i)
        tn_scene_add_body(copy, tn_scene_body(b.scene, i));
    const tn_joint_id pin2 = tn_scene_add_joint(copy, tn_scene_joint(b.scene, (int)pin.bits - 1));
    for (int k = 0; k < 2; ++k) {
        tn_model* model = NULL;
        CHECK_OK(tn_scene_compile(k == 0 ? b.scene : copy, &model, NULL));
        CHECK(tn_model_body_user_data(model, marked) == &things[0]);
        CHECK(tn_model_body_user_data(model, b.rigid) == NULL);
        CHECK(tn_model_body_user_data(model, (tn_body_id){0}) == NULL);
        CHECK(tn_model_joint_user_data(model, k == 0 ? pin : pin2) == &things[1]);
        if (k == 0) CHECK(tn_model_joint_user_data(model, own) == &things[2]);
        tn_state* state = NULL;
        CHECK_OK(tn_state_create(model, &state));
        CHECK(tn_state_model(state) == model);
        tn_state_free(state);
        tn_model_free(model);
    }
    tn_scene_set_joint_user_data(b.scene, own, &things[3]);
    CHECK(tn_scene_joint(b.scene, (int)own.bits - 1)->user_data == &things[3]);
    CHECK(tn_scene_constraint(b.scene, (int)own.bits - 1)->user_data == &things[3]);
    tn_scene_set_body_user_data(copy, marked, &things[3]);
    tn_scene_set_joint_user_data(copy, pin2, NULL);
    tn_model* model = NULL;
    CHECK_OK(tn_scene_compile(copy, &model, NULL));
    CHECK(tn_model_body_user_data(model, marked) == &things[3]);
    CHECK(tn_model_joint_user_data(model, pin2) == NULL);
    tn_model_free(model);
    tn_scene_free(copy);
    tn_scene_free(b.scene);
}
