// Restitution 0 in implicit steps: what lands, is caught by a rope or meets a hard limit stays there, at every step
// and by either integrator. Bounces are measured as the largest speed away after the first touch, of that before.
#include "support/contact_rig.h"

static const double hs[]   = {1.0 / 30, 1.0 / 60, 1.0 / 240, 1e-3, 2.5e-4};
static const double fall_v = 2; // speed of the impact [m/s]

typedef rig (*make)(tn_body_id* falls);

static rig open(tn_vec3 gravity)
{
    rig r             = rig_make(gravity);
    r.settings.method = TN_METHOD_IMPLICIT;
    return r;
}

static tn_body_id add(rig* r, double mass, tn_shape_def shape, tn_vec3 at, double down)
{
    const double size     = 0.4 * mass * 0.01;
    tn_body_def  def      = rig_body(mass, (tn_vec3){size, size, size}, at);
    def.velocity.linear.z = -down;
    def.shapes = &shape, def.shape_count = 1;
    return tn_scene_add_body(r->scene, &def);
}

static rig ball_on_floor(tn_body_id* ball)
{
    rig r = open(tns_vec(0, 0, -rig_g));
    tn_scene_set_ground(r.scene, 0.5, 0);
    *ball = add(&r, 1, rig_sphere(0.1), tns_vec(0, 0, 0.11), fall_v);
    return r;
}

static rig box_on_floor(tn_body_id* box)
{
    rig r = open(tns_vec(0, 0, -rig_g));
    tn_scene_set_ground(r.scene, 0.5, 0);
    *box = add(&r, 3, rig_box((tn_vec3){0.1, 0.1, 0.1}), tns_vec(0, 0, 0.11), fall_v);
    return r;
}

// A light one, in a scene with a heavy one elsewhere.
static rig feather_on_floor(tn_body_id* ball)
{
    rig r = ball_on_floor(ball);
    *ball = add(&r, 1e-3, rig_sphere(0.1), tns_vec(1, 0, 0.11), fall_v);
    return r;
}

// In free space, onto a ball at rest: how fast they part is what counts.
static rig ball_on_ball(tn_body_id* ball)
{
    rig r = open(tns_vec(0, 0, 0));
    add(&r, 1, rig_sphere(0.1), tns_vec(0, 0, 0), 0);
    *ball = add(&r, 2, rig_sphere(0.1), tns_vec(0, 0, 0.21), fall_v);
    return r;
}

static rig slider_on_limit(tn_body_id* body)
{
    rig          r   = open(tns_vec(0, 0, -rig_g));
    tn_body_def  def = rig_body(1, tns_vec(0.1, 0.1, 0.1), tns_vec(0, 0, 0.01));
    tn_joint_def rail;
    def.velocity.linear.z = -fall_v;
    *body                 = tn_scene_add_body(r.scene, &def);
    rail                  = tns_joint(TN_JOINT_SLIDER, TNS_GROUND, *body, tns_vec(0, 0, 0), TNS_Z);
    rail.limit.given = rail.limit.hard = true;
    rail.limit.lower = -0.01, rail.limit.upper = 1;
    tn_scene_add_joint(r.scene, &rail);
    return r;
}

static rig bob_on_rope(tn_body_id* bob)
{
    rig          r        = open(tns_vec(0, 0, -rig_g));
    tn_body_def  def      = rig_body(1, tns_vec(0.1, 0.1, 0.1), tns_vec(0, 0, -0.99));
    tn_joint_def rope     = tn_default_joint_def(TN_JOINT_ROPE);
    def.velocity.linear.z = -fall_v;
    *bob                  = tn_scene_add_body(r.scene, &def);
    rope.body2 = *bob, rope.length = 1;
    tn_scene_add_joint(r.scene, &rope);
    return r;
}

static double velocity(const rig* r, tn_body_id body)
{
    return tn_state_velocity(r->state, body).linear.z;
}

// other: the null id unless something else is hit that moves.
static double bounce(make what, double h, tn_implicit_integrator integrator, bool moves)
{
    tn_body_id falls;
    rig        r                   = what(&falls);
    r.settings.implicit.integrator = integrator;
    const tn_body_id other         = moves ? (tn_body_id){1} : (tn_body_id){0};
    double           most          = 0;
    rig_ready(&r);
    for (int i = 0; i * h < 0.3 && rig_step(&r, h); ++i)
        most = fmax(most, velocity(&r, falls) - (moves ? velocity(&r, other) : 0));
    rig_free(&r);
    return most / fall_v;
}

static void check(const char* name, make what, bool moves)
{
    for (size_t i = 0; i < sizeof hs / sizeof hs[0]; ++i)
        for (int k = 0; k < 2; ++k) {
            const double e = bounce(what, hs[i], (tn_implicit_integrator)k, moves);
            test_check(e < 0.05, __FILE__, __LINE__, "%s, h = %g, integrator %d: e = %.3g", name,
                       hs[i], k, e);
        }
}

TEST(what_lands_without_restitution_stays)
{
    check("ball", ball_on_floor, false);
    check("box", box_on_floor, false);
    check("feather", feather_on_floor, false);
}

TEST(balls_without_restitution_do_not_part)
{
    check("balls", ball_on_ball, true);
}

TEST(a_hard_limit_without_restitution_stops_what_meets_it)
{
    check("limit", slider_on_limit, false);
}

TEST(a_rope_without_restitution_catches_what_falls)
{
    check("rope", bob_on_rope, false);
}

// That velocities have jumped is part of the state: a copy made at any step of the landing goes on as its origin.
TEST(a_copied_state_lands_as_its_origin)
{
    enum { LANDED = 20 };
    for (int at = 0; at < LANDED; ++at) {
        tn_body_id body;
        tn_state*  copy;
        rig        r                   = slider_on_limit(&body);
        r.settings.implicit.integrator = TN_IMPLICIT_BDF2;
        rig_ready(&r);
        CHECK_OK(tn_state_create(r.model, &copy));
        rig_run(&r, 1e-3, at);
        tn_state_copy(copy, r.state);
        rig_run(&r, 1e-3, LANDED);
        for (int i = 0; i < LANDED; ++i)
            CHECK_OK(tn_stepper_step(r.stepper, copy, 1e-3, NULL, NULL));
        CHECK(tn_state_hash(copy) == tn_state_hash(r.state));
        tn_state_free(copy);
        rig_free(&r);
    }
}
