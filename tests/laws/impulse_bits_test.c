// Contacts by the impulse method: a step depends on the state alone, whichever stepper takes it and
// in whatever order bodies were added; both solvers of contacts give the same motion; collision
// filters; continuous collision detection.
#include "support/contact_rig.h"

static const double screen = 1.0 / 60;

// ---- The state alone -----------------------------------------------------------------------------

static tn_stepper* stepper_of(const rig* r)
{
    tn_stepper* stepper = NULL;
    tn_why      why     = {.text = ""};
    rig_must(tn_stepper_create(r->model, &r->settings, &stepper, &why), "stepper", &why);
    return stepper;
}

// Each step by three steppers: one that took all before, a new one, one that skipped the others.
static void check_state_alone(const char* spec, double sleep, int before, int after)
{
    rig       r              = contact_builtin(spec);
    tn_state* copy           = NULL;
    tn_why    why            = {.text = ""};
    r.settings.impulse.sleep = sleep;
    rig_restart(&r);
    rig_must(tn_state_create(r.model, &copy), "state", &why);
    tn_stepper* used = stepper_of(&r);
    rig_run(&r, screen, before);
    for (int i = 0; i < after; ++i) {
        tn_stepper* fresh = stepper_of(&r);
        tn_state_copy(copy, r.state);
        CHECK_OK(tn_stepper_step(fresh, copy, screen, NULL, &why));
        const uint64_t by_fresh = tn_state_hash(copy);
        tn_state_copy(copy, r.state);
        if (i % 5 == 0) CHECK_OK(tn_stepper_step(used, copy, screen, NULL, &why));
        if (i % 5 == 0)
            test_check(tn_state_hash(copy) == by_fresh, __FILE__, __LINE__, "%s: step %d, used",
                       spec, before + i);
        tn_stepper_free(fresh);
        if (!rig_step(&r, screen)) break;
        test_check(tn_state_hash(r.state) == by_fresh, __FILE__, __LINE__, "%s: step %d", spec,
                   before + i);
    }
    tn_stepper_free(used);
    tn_state_free(copy);
    rig_free(&r);
}

TEST(a_step_depends_on_the_state_alone)
{
    check_state_alone("boxes:n=4,gap=0.02", 0, 0, 60);
    check_state_alone("boxes:n=6,arrangement=pyramid,gap=0.01,friction=0.3", 0.2, 0, 60);
    check_state_alone("ragdoll_pile:n=1", 0, 12, 30);
    check_state_alone("coin", 0, 0, 30);
    check_state_alone("conveyor:n=3", 0.5, 60, 30);
    check_state_alone("rod_and_block:stop=rod", 0, 0, 60);
    check_state_alone("rod_and_block:stop=block", 0, 0, 60);
    check_state_alone("bullet", 0, 0, 20);
    check_state_alone("cradle", 0, 20, 30);
    check_state_alone("marbles:n=4", 0, 0, 30);
    check_state_alone("domino:n=4", 0.5, 0, 40);
    check_state_alone("domino:n=6", 0, 20, 8); // where a fresh stepper has to grow
    check_state_alone("heap:links=6", 0, 0, 40);
    check_state_alone("strandbeest:walk=on,legs=4", 0, 0, 5);
}

// A state that was set aside half way, and the same run from there.
TEST(a_run_in_two_parts_is_one_run)
{
    const char* specs[] = {"boxes:n=5,gap=0.05,friction=0.4", "domino:n=4", "ragdoll_pile:n=1"};
    for (int i = 0; i < 3; ++i) {
        rig       r              = contact_builtin(specs[i]);
        tn_state* half           = NULL;
        tn_why    why            = {.text = ""};
        r.settings.impulse.sleep = 0.3;
        rig_restart(&r);
        rig_must(tn_state_create(r.model, &half), "state", &why);
        rig_run(&r, screen, 30);
        tn_state_copy(half, r.state);
        rig_run(&r, screen, 100);
        tn_stepper* other = stepper_of(&r);
        for (int k = 0; k < 100; ++k) CHECK_OK(tn_stepper_step(other, half, screen, NULL, &why));
        CHECK(tn_state_hash(half) == tn_state_hash(r.state));
        tn_stepper_free(other);
        tn_state_free(half);
        rig_free(&r);
    }
}

// ---- Order of adding -----------------------------------------------------------------------------

enum { PARTS = 6 };

// A plank slides on the floor with two boxes on it, one on the other; a ball starts to roll, a box
// falls, all along x: then it does not matter how points share forces, as it would where a box on
// four points rotates as it slides.
static void add_part(rig* r, int i)
{
    static const struct {
        const char* name;
        tn_vec3     at, half;
        double      speed, mass;
    } parts[PARTS]           = {{"plank", {0, 0, 0.05}, {0.5, 0.3, 0.05}, 2, 5},
                                {"low", {0.1, 0, 0.2}, {0.1, 0.1, 0.1}, 2, 3},
                                {"high", {0.12, 0, 0.35}, {0.08, 0.08, 0.05}, 2, 9},
                                {"roller", {0, 2, 0.1}, {0, 0, 0}, 2, 1},
                                {"falling", {0, -2, 0.3}, {0.1, 0.1, 0.1}, 1, 1},
                                {"log", {1.2, 0, 0.1}, {0.1, 0.6, 0.1}, 0, 2}};
    const tn_shape_def shape = parts[i].half.x > 0 ? rig_box(parts[i].half) : rig_sphere(0.1);
    tns_solid(r->scene, parts[i].name, tns_frame(parts[i].at),
              (tn_twist){{parts[i].speed, 0, 0}, {0, 0, 0}}, parts[i].mass, shape,
              (tns_surface){0.5, 0});
}

TEST(the_order_of_adding_bodies_does_not_matter)
{
    static const char* const names[PARTS] = {"plank", "low", "high", "roller", "falling", "log"};
    static const int         orders[3][PARTS] = {
        {0, 1, 2, 3, 4, 5}, {5, 4, 3, 2, 1, 0}, {2, 0, 4, 5, 1, 3}};
    tn_frame first[PARTS];
    for (int k = 0; k < 3; ++k) {
        rig r = contact_make(tns_vec(0, 0, -rig_g));
        tn_scene_set_ground(r.scene, 0.4, 0);
        for (int i = 0; i < PARTS; ++i) add_part(&r, orders[k][i]);
        rig_ready(&r);
        rig_run(&r, screen, 24);
        for (int i = 0; i < PARTS; ++i) {
            const tn_frame at = tn_state_pose(r.state, contact_body(&r, names[i]));
            if (k == 0) first[i] = at;
            CHECK_LESS(rig_distance(at.position, first[i].position), 1e-9);
            CHECK_LESS(rig_distance(tns_rotate(at.orientation, TNS_X),
                                    tns_rotate(first[i].orientation, TNS_X)),
                       1e-9);
        }
        rig_free(&r);
    }
}

// ---- Filters
// -------------------------------------------------------------------------------------

// Two boxes fall on each other and on the floor; where the upper one ends shows which touched.
typedef struct drop {
    rig        r;
    tn_body_id lower, upper;
} drop;

static drop make_drop(tn_shape_def low, tn_shape_def high)
{
    drop d = {.r = contact_make(tns_vec(0, 0, -rig_g))};
    tn_scene_set_ground(d.r.scene, 0.5, 0);
    const tns_surface s = {0.5, 0};
    d.lower = tns_solid(d.r.scene, "lower", tns_frame(tns_vec(0, 0, 0.1)), TNS_AT_REST, 1, low, s);
    d.upper = tns_solid(d.r.scene, "upper", tns_frame(tns_vec(0, 0, 0.4)), TNS_AT_REST, 1, high, s);
    return d;
}

static void check_drop(drop* d, double low, double high)
{
    rig_ready(&d->r);
    rig_run(&d->r, screen, 60);
    CHECK_NEAR(contact_place(&d->r, d->lower).z, low, 1e-8);
    CHECK_NEAR(contact_place(&d->r, d->upper).z, high, 1e-8);
    rig_free(&d->r);
}

TEST(groups_exclude_and_include_say_who_touches)
{
    const tn_shape_def box = rig_box(tns_vec(0.1, 0.1, 0.1));
    drop               d   = make_drop(box, box);
    check_drop(&d, 0.1, 0.3);

    tn_shape_def one = box, two = box; // both must agree
    one.group = 3, two.group = 4;
    one.collides_with = ~0u, two.collides_with = ~(1u << 3);
    d = make_drop(one, two);
    check_drop(&d, 0.1, 0.1);

    d = make_drop(box, box);
    CHECK_OK(tn_scene_exclude_contact(d.r.scene, d.lower, d.upper));
    check_drop(&d, 0.1, 0.1);

    // Connected by a rail they do not touch, unless the scene asks for it.
    for (int included = 0; included < 2; ++included) {
        d = make_drop(box, box);
        tns_joint_at(d.r.scene, "rail", TN_JOINT_SLIDER, d.lower, d.upper, tns_vec(0, 0, 0.2),
                     TNS_Z);
        if (included) CHECK_OK(tn_scene_include_contact(d.r.scene, d.lower, d.upper));
        check_drop(&d, 0.1, included ? 0.3 : 0.1);
    }
}

// On a ramp with enough friction for all others, the pair with the ramp has less.
TEST(a_pair_has_its_own_friction)
{
    const double th = 0.4, mu = 0.1, a = rig_g * (sin(th) - mu * cos(th));
    rig          r = contact_make(tns_vec(-rig_g * sin(th), 0, -rig_g * cos(th)));
    tn_scene_set_ground(r.scene, 1, 0);
    tn_body_id box[2];
    for (int i = 0; i < 2; ++i)
        box[i] = tns_solid(r.scene, tns_name("box%d", i).text, tns_frame(tns_vec(0, i, 0.1)),
                           TNS_AT_REST, 1, rig_box(tns_vec(0.1, 0.1, 0.1)), (tns_surface){1, 0});
    tn_pair_def pair = tn_default_pair_def();
    pair.body1       = box[1];
    pair.friction    = mu;
    CHECK_OK(tn_scene_add_pair(r.scene, &pair));
    rig_ready(&r);
    rig_run(&r, screen, 60);
    CHECK_NEAR(contact_place(&r, box[0]).x, 0, 1e-9);
    CHECK_NEAR(contact_place(&r, box[1]).x, -a / 2, 1e-9);
    rig_free(&r);
}

// ---- Continuous collision
// ------------------------------------------------------------------------

TEST(continuous_bodies_do_not_tunnel)
{
    for (int on = 0; on < 2; ++on) {
        rig          r      = contact_make(tns_vec(0, 0, 0));
        tn_shape_def wall   = rig_box(tns_vec(0.005, 1, 1));
        tn_shape_def bullet = rig_sphere(0.02);
        tns_fixed(r.scene, "wall", tns_frame(tns_vec(0, 0, 0)), wall);
        tn_body_def def     = tn_default_body_def();
        def.pose            = tns_frame(tns_vec(-7.3, 0.1, 0));
        def.velocity.linear = tns_vec(300, 0, 0);
        def.mass            = 0.05;
        def.shapes          = &bullet;
        def.shape_count     = 1;
        def.continuous      = on;
        const tn_body_id id = tn_scene_add_body(r.scene, &def);
        rig_ready(&r);
        rig_run(&r, screen, 6);
        if (on) {
            CHECK_NEAR(contact_place(&r, id).x, -0.025, 1e-6);
            CHECK_LESS(fabs(contact_velocity(&r, id).linear.x), 1e-9);
        } else {
            CHECK_NEAR(contact_place(&r, id).x, -7.3 + 300 * 0.1, 1e-9);
        }
        rig_free(&r);
    }
}

// The ballistic pendulum: angular momentum about the hinge is that of the bullet before, and w = m
// v L / (I + m L^2) at the impact; then the plate rotates on for the rest of the step.
TEST(a_ballistic_pendulum_takes_up_the_bullet)
{
    const double m = 0.05, v = 300, M = 10, H = 0.4, D = 0.005, L = 0.6,
                 I           = M * (4 * H * H + D * D) / 3;
    rig               r      = contact_make(tns_vec(0, 0, 0));
    tn_shape_def      bullet = rig_sphere(0.02);
    const tn_body_id  plate = tns_solid(r.scene, "plate", tns_frame(tns_vec(0, 0, -H)), TNS_AT_REST,
                                        M, rig_box(tns_vec(D, 0.3, H)), (tns_surface){0.5, 0});
    const tn_joint_id hinge =
        tns_joint_at(r.scene, "hinge", TN_JOINT_HINGE, TNS_GROUND, plate, tns_vec(0, 0, 0), TNS_Y);
    tn_body_def def     = rig_body(m, tns_vec(8e-6, 8e-6, 8e-6), tns_vec(-12, 0, -L));
    def.velocity.linear = tns_vec(v, 0, 0);
    def.shapes          = &bullet;
    def.shape_count     = 1;
    def.continuous      = true;
    const tn_body_id id = tn_scene_add_body(r.scene, &def);
    rig_ready(&r);
    const double w = m * v * L / (I + m * L * L);
    for (int n = 0; n < 6 && rig_step(&r, screen); ++n) {
        const tn_vec3  at   = contact_place(&r, id);
        const tn_twist u    = contact_velocity(&r, id);
        const double   rate = rig_rate(&r, hinge);
        const double   spin = tns_cross(at, u.linear).y * m + 8e-6 * u.angular.y + I * rate;
        CHECK_NEAR(spin, -m * v * L, 1e-8);
        if (n >= 2) CHECK_NEAR(rate, -w, 0.02 * w);
    }
    rig_free(&r);
}
