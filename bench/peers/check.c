// check: is the other engine's world the same mechanism? As h falls, its motion must come to
// Tenon's, at first order or better: halving h halves the distance between the bodies' final poses,
// or more where motors leave no freedom. Scenes: built-in ones, and one with a joint of every type
// that can be expressed, off-centre bodies with full inertia tensors, motors on a slider and a
// hinge, and a spinning body.
// Not part of the test suite: it needs the engines' packages. Run by scripts/peers.
#include "peer.h"
#include "scenes/scenes.h"
#include "test.h"

static const peer_options exact = {.erp = 0.1, .cfm = 1e-10, .iterations = 200, .tolerance = 1e-11};

static tn_body_id add_body(tn_scene* scene, tn_vec3 at, tn_twist velocity)
{
    tn_body_def def      = tn_default_body_def();
    def.mass             = 2;
    def.com              = (tn_vec3){0.05, -0.03, 0.02};
    def.pose.position    = at;
    def.pose.orientation = (tn_quat){0.5, 0.5, -0.5, 0.5};
    def.velocity         = velocity;
    const double I[6]    = {0.04, 0.03, 0.05, 0.006, -0.004, 0.003};
    memcpy(def.inertia, I, sizeof I);
    return tn_scene_add_body(scene, &def);
}

static tn_joint_def at(tn_joint_type type, tn_body_id body1, tn_body_id body2, tn_vec3 anchor,
                       tn_vec3 axis)
{
    tn_joint_def def = tn_default_joint_def(type);
    def.body1        = body1;
    def.body2        = body2;
    def.anchor       = anchor;
    def.axis         = axis;
    return def;
}

// ground - slider motor - A - universal - B - cylinder - C - weld - D - ball - E - motor - F; G free.
static tn_scene* every_type(bool swapped)
{
    tn_scene* scene = NULL;
    if (tn_scene_create(NULL, &scene) != TN_OK) return NULL;
    tn_body_id body[7] = {{0}};
    for (int i = 0; i < 7; ++i) {
        const tn_twist spin = {{0, 0.5, 0}, {1, 2, -1}};
        body[i] = add_body(scene, (tn_vec3){0.4 * i, 0.1, 0}, i == 6 ? spin : (tn_twist){0});
    }
    const tn_vec3 x = {1, 0, 0}, y = {0, 1, 0}, tilted = {0.6, 0, 0.8};
    tn_joint_def  joints[6] = {
        at(TN_JOINT_MOTOR, (tn_body_id){0}, body[0], (tn_vec3){0, 0, 0}, tilted),
        at(TN_JOINT_UNIVERSAL, body[0], body[1], (tn_vec3){0.2, 0, 0}, x),
        at(TN_JOINT_CYLINDER, body[1], body[2], (tn_vec3){0.6, 0, 0}, tilted),
        at(TN_JOINT_WELD, body[2], body[3], (tn_vec3){1, 0, 0}, x),
        at(TN_JOINT_BALL, body[3], body[4], (tn_vec3){1.4, 0, 0}, x),
        at(TN_JOINT_MOTOR, body[4], body[5], (tn_vec3){1.8, 0, 0}, y),
    };
    joints[0].of = TN_JOINT_SLIDER, joints[0].velocity = 0.7;
    joints[1].axis2 = y;
    joints[5].of = TN_JOINT_HINGE, joints[5].velocity = -1.5;
    for (int i = 0; i < 6; ++i) {
        const tn_body_id first = joints[i].body1;
        if (swapped && i != 1) joints[i].body1 = joints[i].body2, joints[i].body2 = first;
        tn_scene_add_joint(scene, &joints[i]);
    }
    return scene;
}

// Largest distance between the frames' origins [m] and between their orientations (2 |dq|, [rad]).
static double apart(const tn_model* model, const tn_state* a, const tn_state* b)
{
    double worst = 0;
    for (int i = 1; i <= tn_model_counts(model).bodies; ++i) {
        const tn_body_id id = {(uint32_t)i};
        const tn_frame   f = tn_state_pose(a, id), g = tn_state_pose(b, id);
        const tn_vec3    x = f.position, y = g.position;
        const tn_quat    p = f.orientation, q = g.orientation;
        const double     d[7] = {x.x - y.x,       x.y - y.y,       x.z - y.z,      2 * (p.w - q.w),
                                 2 * (p.x - q.x), 2 * (p.y - q.y), 2 * (p.z - q.z)};
        for (int k = 0; k < 7; ++k) {
            if (!(fabs(d[k]) <= worst)) worst = fabs(d[k]);
        }
    }
    return worst;
}

static void converges(const char* name, tn_scene* scene, const peer_engine* engine, double duration)
{
    enum { LEVELS = 3 };
    tn_why     why = {0};
    peer_scene s;
    tn_state * want, *got;
    const bool open = peer_scene_open(&s, scene, &why);
    test_check(open, __FILE__, __LINE__, "%s: %s", name, why.text);
    if (!open) return;
    peer_task task = {&s, &peer_tenon_multiplier, exact, 1e-4, duration, 0};
    CHECK_OK(tn_state_create(s.model, &want));
    CHECK_OK(tn_state_create(s.model, &got));
    CHECK(peer_end(&task, want, &why));
    task.engine = engine;
    double error[LEVELS];
    for (int i = 0; i < LEVELS; ++i) {
        task.h          = 2.5e-4 / (1 << i);
        const bool went = peer_end(&task, got, &why);
        test_check(went, __FILE__, __LINE__, "%s in %s: %s", name, engine->name, why.text);
        error[i] = apart(s.model, want, got);
    }
    printf("    %-22s %-14s apart at %g s: %.2e %.2e %.2e\n", name, engine->name, duration,
           error[0], error[1], error[2]);
    CHECK_LESS(error[2], 5e-4);
    for (int i = 1; i < LEVELS; ++i) CHECK_LESS(error[i] / error[i - 1], 0.54);
    tn_state_free(got);
    tn_state_free(want);
    peer_scene_close(&s);
}

static void converges_in_both(const char* spec, double duration)
{
    const peer_engine* engines[2] = {&peer_ode_direct, &peer_ode_quick};
    for (int i = 0; i < 2; ++i) {
        tn_why    why   = {0};
        tn_scene* scene = NULL;
        CHECK_OK(tns_build(NULL, spec, &scene, &why));
        converges(spec, scene, engines[i], duration);
    }
}

TEST(one_link_falls_alike)
{
    converges_in_both("pendulum:n=1", 0.2);
}

TEST(four_bars_fall_alike)
{
    converges_in_both("fourbar", 0.2);
}

TEST(driven_loops_turn_alike)
{
    converges_in_both("fourbar:motor=3", 0.2);
    converges_in_both("slider_crank:motor=-4", 0.2);
}

TEST(every_type_of_joint_is_the_same)
{
    converges("every type", every_type(false), &peer_ode_direct, 0.2);
    converges("every type", every_type(false), &peer_ode_quick, 0.2);
    converges("swapped", every_type(true), &peer_ode_direct, 0.2);
}

TEST(what_has_no_counterpart_is_refused)
{
    tn_why     why   = {0};
    tn_scene*  scene = NULL;
    peer_scene s;
    CHECK_OK(tn_scene_create(NULL, &scene));
    const tn_body_id   a = add_body(scene, (tn_vec3){0, 0, 0}, (tn_twist){0});
    const tn_joint_def def =
        at(TN_JOINT_PLANE, (tn_body_id){0}, a, (tn_vec3){0, 0, 0}, (tn_vec3){0, 0, 1});
    tn_scene_add_joint(scene, &def);
    CHECK(peer_scene_open(&s, scene, &why));
    CHECK(peer_ode_direct.open(s.model, s.start, &exact, &why) == NULL);
    CHECK_TEXT(why.text, "ODE: plane 'joint1' has no counterpart");
    peer_scene_close(&s);
}
