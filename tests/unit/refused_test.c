// What a method does not model is refused in one line that names the element and the method: never accepted and ignored.
#include "support/contact_rig.h"

static void upright_rows(const void* data, double time, const tn_body_view* bodies, double* C,
                         double* rate, double* const* J, double* gamma)
{
    (void)data, (void)time;
    if (C != NULL) C[0] = bodies[0].pose.position.z - 1;
    if (rate != NULL) rate[0] = bodies[0].velocity.linear.z;
    if (gamma != NULL) gamma[0] = 0;
    for (int i = 0; J != NULL && J[0] != NULL && i < 6; ++i) J[0][i] = i == 2;
}

static void thrust(const void* data, double time, const tn_body_view* bodies, double* const* K)
{
    (void)data, (void)time, (void)bodies;
    for (int i = 0; i < 6; ++i) K[0][i] = i == 2 ? 1 : i == 0 ? 0.3 : 0;
}

typedef enum what {
    PLAIN,
    ROLLING,
    SPINNING,
    PAIR_ROLLING,
    BOUNCING,
    GROUND_BOUNCES,
    PAIR_BOUNCING,
    LIMIT_BOUNCES,
    ROPE_BOUNCES,
    PUSHES_OTHERWISE,
    DAMPED,
    RUBBED,
    FIRST, ///< from here on with f = m v
    FIRST_DAMPED,
    FIRST_RUBBED,
    FIRST_SPRING_DAMPED,
    FIRST_BALL, ///< from here on with the ball
    FIRST_BOUNCING,
    FIRST_LIMIT_BOUNCES
} what;

static void add_arm(rig* r, what with)
{
    tn_joint_def def = tn_default_joint_def(with == ROPE_BOUNCES ? TN_JOINT_ROPE : TN_JOINT_HINGE);
    def.name         = "elbow";
    def.body2        = rig_add_body(r, 1, tns_vec(0.1, 0.1, 0.1), tns_vec(0, 0, 5));
    if (def.type == TN_JOINT_ROPE) def.length = 6;
    else {
        def.axis        = TNS_Y;
        def.limit.given = true, def.limit.hard = true;
        def.limit.lower = -1, def.limit.upper = 1;
    }
    if (with == LIMIT_BOUNCES || with == FIRST_LIMIT_BOUNCES || with == ROPE_BOUNCES)
        def.restitution = 0.5;
    if (with == DAMPED || with == FIRST_DAMPED) def.damping = 0.1;
    if (with == RUBBED || with == FIRST_RUBBED) def.friction = 0.1;
    CHECK(tn_scene_add_joint(r->scene, &def).bits != 0);
    tn_spring_def spring = tn_default_spring_def();
    spring.name = "coil", spring.body2 = def.body2;
    spring.anchor1   = tns_vec(1, 0, 0);
    spring.stiffness = 1, spring.damping = with == FIRST_SPRING_DAMPED ? 0.1 : 0;
    CHECK(tn_scene_add_spring(r->scene, &spring).bits != 0);
}

static void add_ball(rig* r, what with)
{
    tn_shape_def shape = rig_sphere(0.1);
    tn_body_def  def   = rig_body(1, tns_vec(0.004, 0.004, 0.004), tns_vec(0, 0, 1));
    def.name           = "ball";
    if (with == ROLLING) shape.rolling_friction = 0.01;
    if (with == SPINNING) shape.spinning_friction = 0.01;
    if (with == BOUNCING || with == FIRST_BOUNCING) shape.restitution = 0.5;
    def.shapes = &shape, def.shape_count = 1;
    const tn_body_id ball = tn_scene_add_body(r->scene, &def);
    tn_pair_def      pair = tn_default_pair_def();
    pair.body2            = ball;
    if (with == PAIR_ROLLING) pair.rolling_friction = 0.01;
    if (with == PAIR_BOUNCING) pair.restitution = 0.5;
    if (with == PAIR_ROLLING || with == PAIR_BOUNCING) CHECK_OK(tn_scene_add_pair(r->scene, &pair));
    static const tn_constraint_table table = {
        .rows = 1, .holonomic = 1, .rows_at = upright_rows, .force_at = thrust};
    tn_constraint_def rocket = tn_default_constraint_def();
    rocket.name = "rocket", rocket.table = &table;
    rocket.bodies = &ball, rocket.body_count = 1;
    if (with == PUSHES_OTHERWISE) CHECK(tn_scene_add_constraint(r->scene, &rocket).bits != 0);
}

static rig make(tn_method method, what with)
{
    rig r             = rig_make(tns_vec(0, 0, -rig_g));
    r.settings.method = method;
    if (with >= FIRST) r.settings.multiplier.dynamics = TN_DYNAMICS_FIRST;
    tn_scene_set_ground(r.scene, 0.5, with == GROUND_BOUNCES ? 0.5 : 0);
    add_arm(&r, with);
    if (with < FIRST || with >= FIRST_BALL) add_ball(&r, with);
    CHECK_OK(tn_scene_compile(r.scene, &r.model, NULL));
    return r;
}

static void check(tn_method method, what with, const char* why_not)
{
    rig             r      = make(method, with);
    tn_stepper*     s      = NULL;
    tn_why          why    = {.text = ""};
    const tn_result result = tn_stepper_create(r.model, &r.settings, &s, &why);
    test_check(result == (why_not == NULL ? TN_OK : TN_ERR_UNSUPPORTED) &&
                   strcmp(why.text, why_not == NULL ? "" : why_not) == 0,
               __FILE__, __LINE__, "%s, case %d: %d '%s'", tn_method_word(method), with, result,
               why.text);
    tn_stepper_free(s);
    rig_free(&r);
}

TEST(rolling_and_spinning_friction_need_a_method_that_has_them)
{
    check(TN_METHOD_MULTIPLIER, ROLLING,
          "body 'ball': the multiplier method has no rolling friction: that needs auto");
    check(TN_METHOD_IMPLICIT, ROLLING,
          "body 'ball': the implicit method has no rolling friction: that needs auto");
    check(TN_METHOD_MULTIPLIER, SPINNING,
          "body 'ball': the multiplier method has no spinning friction: that needs auto");
    check(TN_METHOD_IMPLICIT, PAIR_ROLLING,
          "body 'ball': the implicit method has no rolling friction: that needs auto");
    const tn_method have[] = {TN_METHOD_AUTO, TN_METHOD_IMPULSE, TN_METHOD_ADAPTIVE};
    for (int i = 0; i < 3; ++i)
        for (what k = ROLLING; k <= PAIR_ROLLING; ++k) check(have[i], k, NULL);
}

TEST(restitution_needs_a_method_that_has_it)
{
    check(TN_METHOD_IMPLICIT, BOUNCING,
          "body 'ball': the implicit method has no restitution: that needs auto");
    check(TN_METHOD_IMPLICIT, GROUND_BOUNCES,
          "body 'ground': the implicit method has no restitution: that needs auto");
    check(TN_METHOD_IMPLICIT, PAIR_BOUNCING,
          "body 'ball': the implicit method has no restitution: that needs auto");
    check(
        TN_METHOD_IMPLICIT, LIMIT_BOUNCES,
        "joint 'elbow': the implicit method has no restitution of limits and ropes: that needs auto");
    check(
        TN_METHOD_IMPLICIT, ROPE_BOUNCES,
        "joint 'elbow': the implicit method has no restitution of limits and ropes: that needs auto");
    check(
        TN_METHOD_ADAPTIVE, LIMIT_BOUNCES,
        "joint 'elbow': the adaptive method has no restitution of limits and ropes: that needs auto");
    for (what k = BOUNCING; k <= PAIR_BOUNCING; ++k) check(TN_METHOD_ADAPTIVE, k, NULL);
    const tn_method have[] = {TN_METHOD_AUTO, TN_METHOD_IMPULSE, TN_METHOD_MULTIPLIER};
    for (int i = 0; i < 3; ++i)
        for (what k = BOUNCING; k <= ROPE_BOUNCES; ++k) check(have[i], k, NULL);
}

TEST(a_constraint_that_pushes_otherwise_is_refused_by_the_implicit_method)
{
    check(TN_METHOD_IMPLICIT, PUSHES_OTHERWISE,
          "constraint 'rocket': the implicit method pushes along J^T only: force_at needs auto");
    const tn_method have[] = {TN_METHOD_AUTO, TN_METHOD_IMPULSE, TN_METHOD_MULTIPLIER};
    for (int i = 0; i < 3; ++i) check(have[i], PUSHES_OTHERWISE, NULL);
}

TEST(where_force_is_mass_times_velocity_there_is_one_method_and_nothing_to_damp)
{
    static const tn_method others[] = {TN_METHOD_AUTO, TN_METHOD_IMPULSE, TN_METHOD_IMPLICIT,
                                       TN_METHOD_ADAPTIVE};
    for (int i = 0; i < 4; ++i) {
        char text[200];
        snprintf(text, sizeof text,
                 "setting 'multiplier.dynamics': method %s supports second-order dynamics "
                 "(f = m a) only",
                 tn_method_word(others[i]));
        check(others[i], FIRST, text);
        check(others[i], PLAIN, NULL);
        check(others[i], DAMPED, NULL);
        check(others[i], RUBBED, NULL);
    }
    check(TN_METHOD_MULTIPLIER, FIRST, NULL);
    check(TN_METHOD_MULTIPLIER, FIRST_DAMPED,
          "joint 'elbow': damping has no effect where f = m v (setting 'multiplier.dynamics')");
    check(TN_METHOD_MULTIPLIER, FIRST_RUBBED,
          "joint 'elbow': friction has no effect where f = m v (setting 'multiplier.dynamics')");
    check(TN_METHOD_MULTIPLIER, FIRST_SPRING_DAMPED,
          "spring 1 'coil': damping has no effect where f = m v (setting 'multiplier.dynamics')");
    check(TN_METHOD_MULTIPLIER, FIRST_BALL, NULL);
    check(TN_METHOD_MULTIPLIER, FIRST_BOUNCING,
          "body 'ball': the multiplier method with f = m v has no restitution: that needs auto");
    check(
        TN_METHOD_MULTIPLIER, FIRST_LIMIT_BOUNCES,
        "joint 'elbow': the multiplier method with f = m v has no restitution of limits and ropes: that needs auto");
}
