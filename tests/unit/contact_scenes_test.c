// Contact scenes do what their comments say: closed forms of their start and, where a step has a
// closed form, of their motion.
#include "support/rig.h"

static rig made(const char* spec)
{
    rig    r   = {.settings = tn_default_settings()};
    tn_why why = {.text = ""};
    rig_must(tns_build(NULL, spec, &r.scene, &why), spec, &why);
    r.settings = tn_scene_settings(r.scene);
    rig_ready(&r);
    return r;
}

static tn_body_id body_of(const rig* r, const char* name)
{
    bool             found;
    const tn_body_id id = tn_scene_find_body(r->scene, name, &found);
    test_check(found, __FILE__, __LINE__, "no body '%s'", name);
    return id;
}

static tn_vec3 position_of(const rig* r, const char* name)
{
    return tn_state_pose(r->state, body_of(r, name)).position;
}

// ---- Boxes --------------------------------------------------------------------------------------

// Rows of boxes from below, each row centred. Every box but the lowest has its centre over the row
// below: |x| is within the half width of that.
static void check_rows(const char* spec, const int* rows, int row_count)
{
    tn_scene* scene = NULL;
    CHECK_OK(tns_build(NULL, spec, &scene, NULL));
    int    box  = 0;
    double wide = HUGE_VAL; // half width of the row below
    for (int row = 0; row < row_count; ++row) {
        double sum = 0, most = 0;
        for (int i = 0; i < rows[row]; ++i, ++box) {
            const tn_body_def* def = tn_scene_body(scene, box);
            const tn_vec3      p   = def->pose.position;
            CHECK_NEAR(p.z, 0.2 * (row + 0.5), 1e-15);
            CHECK_LESS(fabs(p.x), wide);
            sum += p.x;
            most = fmax(most, fabs(p.x) + def->shapes[0].half_size.x);
        }
        CHECK_NEAR(sum, 0, 1e-14);
        wide = most;
    }
    CHECK_INT(tn_scene_body_count(scene), box);
    tn_scene_free(scene);
}

TEST(boxes_stand_in_rows)
{
    check_rows("boxes:n=3", (int[]){1, 1, 1}, 3);
    check_rows("boxes:n=6,arrangement=pyramid", (int[]){3, 2, 1}, 3);
    check_rows("boxes:n=13,arrangement=wall", (int[]){4, 5, 4}, 3);
}

TEST(boxes_grow_heavier_by_the_ratio)
{
    const double masses[4] = {1, 3, 9, 27};
    rig          r         = made("boxes:n=4,ratio=3,size=0.1");
    for (int i = 0; i < 4; ++i) CHECK_NEAR(tn_scene_body(r.scene, i)->mass, masses[i], 1e-13);
    rig_free(&r);
}

// ---- Coin ---------------------------------------------------------------------------------------

// Of Euler's equations of a disc that rolls, turning with W about the vertical (coin.c): its middle
// goes round a circle of radius v / W in 2 pi / W, and keeps its height.
TEST(a_coin_comes_back_after_one_turn_of_its_circle)
{
    rig          r = made("coin:lean=0.3,speed=0.8");
    const double s = cos(0.3), c = sin(0.3), v = 0.8, radius = 0.05, g = 9.81, k = 0.02;
    const double A = (0.25 + k * k / 3) * s * c - 0.5 * k * s * s,
                 B = (1.5 * s + k * c) * v / radius, C = (c - k * s) * g / radius;
    const double  W = (sqrt(B * B + 4 * A * C) - B) / (2 * A), period = 6.2831853071795865 / W;
    const tn_vec3 start = position_of(&r, "coin");
    double        out = 0, rise = 0;
    for (int i = 0; i < 1000; ++i) {
        rig_step(&r, period / 1000);
        const tn_vec3 p = position_of(&r, "coin");
        out             = fmax(out, tns_length(tns_vec(p.x - start.x, p.y - start.y, 0)));
        rise            = fmax(rise, fabs(p.z - start.z));
    }
    const tn_vec3 end = position_of(&r, "coin");
    CHECK_LESS(rise, 1e-3 * radius);
    CHECK_LESS(tns_length(tns_sub(end, start)), 1e-3 * out);
    CHECK_NEAR(out, 2 * v / W, 1e-3 * out);
    rig_free(&r);
}

// ---- Bullet -------------------------------------------------------------------------------------

TEST(a_bullet_gives_the_plate_its_momentum)
{
    rig          r = made("bullet");
    const double m = 0.05, v = 300, L = 0.6, M = 10, H = 0.4, D = 0.005;
    const double w = m * v * L / (M * (4 * H * H + D * D) / 3 + m * L * L);
    rig_run(&r, r.settings.h, 1);
    const tn_twist plate = tn_state_velocity(r.state, body_of(&r, "plate"));
    CHECK_NEAR(fabs(plate.angular.y), w, 0.01 * w); // the plate weighs on its hinge by then
    CHECK_LESS(position_of(&r, "ball").x, 0.1);
    rig_free(&r);
}

TEST(a_bullet_that_is_not_continuous_flies_through)
{
    rig r = made("bullet:continuous=off");
    rig_run(&r, r.settings.h, 1);
    CHECK_NEAR(position_of(&r, "ball").x, 3, 1e-12);
    CHECK_LESS(fabs(tn_state_velocity(r.state, body_of(&r, "plate")).angular.y), 1e-12);
    rig_free(&r);
}

// ---- Conveyor -----------------------------------------------------------------------------------

// Friction accelerates the box at mu g up to the belt's speed. Impulses take the exact mean of a
// constant force, so the box is late by less than the distance of one step.
TEST(a_belt_pulls_with_friction_and_then_carries)
{
    rig          r = made("conveyor:n=1,speed=1,friction=0.5");
    const double x = position_of(&r, "box1").x, pull = 0.5 * 9.81;
    const double slips = 1 / pull, way = 0.5 / pull;
    const double h = r.settings.h;
    for (int i = 1; i <= 20; ++i) {
        rig_step(&r, h);
        const double t    = i * h;
        const double want = t < slips ? 0.5 * pull * t * t : way + (t - slips);
        CHECK_NEAR(position_of(&r, "box1").x - x, want, t < slips ? 1e-6 : h * pull * h);
    }
    CHECK_NEAR(tn_state_velocity(r.state, body_of(&r, "box1")).linear.x, 1, 1e-8);
    rig_free(&r);
}

// ---- Gripper ------------------------------------------------------------------------------------

TEST(a_gripper_of_100_grams_has_one_freedom_beside_the_box)
{
    rig      r     = made("gripper");
    double   mass  = 0;
    tn_check check = {0};
    for (int i = 0; i < tn_scene_body_count(r.scene); ++i)
        if (strcmp(tn_scene_body(r.scene, i)->name, "box") != 0)
            mass += tn_scene_body(r.scene, i)->mass;
    CHECK_NEAR(mass, 0.1, 1e-15);
    CHECK_OK(tn_stepper_check(r.stepper, r.state, &check, NULL));
    CHECK_INT(check.mobility, 7);
    CHECK_INT(check.redundant_count, 6);
    CHECK_LESS(check.assembly_error, 1e-13);
    rig_free(&r);
}

// At 0.8 s the palm has been lifted for 0.3 s with 0.5 m/s^2; the box goes with it, no pad slips.
TEST(a_gripper_lifts_a_thousand_times_its_weight)
{
    rig r = made("gripper");
    rig_run(&r, r.settings.h, 48);
    const double up = 0.5 * 0.5 * 0.3 * 0.3;
    CHECK_NEAR(position_of(&r, "palm").z - tn_scene_body(r.scene, 0)->pose.position.z, up, 1e-9);
    CHECK_NEAR(position_of(&r, "box").z, 0.15 + up, 1e-6);
    CHECK_LESS(r.joint_error, 1e-9);
    rig_free(&r);
}

// N = grip + V tan(splay) with tan = 7/24 and V = m g / 2: it holds while 0.8 N > V.
TEST(a_weak_grip_lets_go)
{
    rig r = made("gripper:grip=400");
    rig_run(&r, r.settings.h, 48);
    CHECK_NEAR(position_of(&r, "box").z, 0.15, 0.005);
    rig_free(&r);
}

// ---- Walking ------------------------------------------------------------------------------------

// What walks is its own mirror image, so that it walks straight on; it goes 1.4 m for a turn of its
// crank, whichever way that turns.
static void check_walk(const char* spec, tn_method method, double sense)
{
    rig r             = made(spec);
    r.settings.method = method;
    rig_restart(&r);
    const tn_vec3 start = position_of(&r, "frame");
    const double  turn  = 2 * 3.14159265358979324 / 3;
    rig_run(&r, r.settings.h, 60);
    const tn_vec3 end = position_of(&r, "frame");
    CHECK_NEAR(sense * (end.x - start.x), 1.42 * 60 * r.settings.h / turn, 0.1);
    CHECK_LESS(fabs(end.y - start.y), 0.05); // feet slip, and four share the weight as they like
    CHECK_LESS(fabs(end.z - start.z), 0.02);
    if (method == TN_METHOD_IMPULSE) CHECK_LESS(r.joint_error, 1e-9);
    rig_free(&r);
}

TEST(the_walking_machine_walks_straight_on)
{
    for (int i = 0; i < 2; ++i) {
        const tn_method method = i == 0 ? TN_METHOD_AUTO : TN_METHOD_IMPULSE;
        check_walk("strandbeest:walk=on", method, 1);
        check_walk("strandbeest:walk=on,motor=-3", method, -1);
    }
}

// ---- People -------------------------------------------------------------------------------------

// All persons are equal, displaced and rotated.
TEST(people_of_a_pile_are_alike)
{
    rig       r     = made("ragdoll_pile:n=9");
    const int bones = 17;
    for (int person = 1; person < 9; ++person) {
        for (int i = 0; i < bones; ++i) {
            for (int j = 0; j < i; ++j) {
                const tn_body_def *a = tn_scene_body(r.scene, i), *b = tn_scene_body(r.scene, j),
                                  *c = tn_scene_body(r.scene, bones * person + i),
                                  *d = tn_scene_body(r.scene, bones * person + j);
                CHECK_NEAR(tns_length(tns_sub(c->pose.position, d->pose.position)),
                           tns_length(tns_sub(a->pose.position, b->pose.position)), 1e-14);
            }
        }
    }
    rig_free(&r);
}

// How far a hinge exceeds its limits [rad].
static double beyond_ends(const rig* r, int joint)
{
    const tn_limit* limit = &tn_scene_joint(r->scene, joint)->limit;
    double          angle;
    if (tn_scene_joint(r->scene, joint)->type != TN_JOINT_HINGE) return 0;
    tn_state_joint_position(r->state, (tn_joint_id){(uint32_t)joint + 1}, &angle);
    return fmax(angle - limit->upper, limit->lower - angle);
}

// A person that falls alone keeps its knees and elbows within their ends.
TEST(limp_people_keep_within_their_ends)
{
    rig r = made("ragdoll_pile:n=1");
    for (int i = 0; i < 90; ++i) {
        rig_step(&r, r.settings.h);
        CHECK_LESS(r.report.deepest, 1e-6);
        for (int j = 0; j < tn_scene_joint_count(r.scene); ++j)
            CHECK_LESS(beyond_ends(&r, j), 1e-6);
    }
    CHECK_LESS(r.joint_error, 1e-9);
    rig_free(&r);
}
