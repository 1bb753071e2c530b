// Hard limits that carry contacts: forces of contacts between two bodies are not in the matrix that
// has the limit, and have to reach it.
//
// Two balls slide on a vertical line: one of 1 kg, which may not go below 0, and one that touches
// it, from above or from below. All is at rest in the end, so the limit carries what is left of
// weights and forces.
#include "support/contact_rig.h"

static const double radius = 0.1, g = 10;

typedef struct pair {
    rig         r;
    tn_body_id  held;
    tn_joint_id limit;
} pair;

static tn_body_id add_ball(pair* p, double mass, double height, double push, bool held)
{
    static const tn_vec3 up    = {0, 0, 1};
    const double         size  = 0.4 * mass * radius * radius;
    const tn_vec3        at    = {0, 0, height};
    const tn_shape_def   shape = rig_sphere(radius);
    tn_body_def          def   = rig_body(mass, (tn_vec3){size, size, size}, at);
    def.shapes = &shape, def.shape_count = 1;
    const tn_body_id ball  = tn_scene_add_body(p->r.scene, &def);
    tn_joint_def     joint = tns_joint(TN_JOINT_SLIDER, (tn_body_id){0}, ball, at, up);
    joint.force[0]         = push;
    joint.limit.given = joint.limit.hard = held;
    if (held) joint.limit.lower = 0, joint.limit.upper = 1;
    const tn_joint_id id = tn_scene_add_joint(p->r.scene, &joint);
    if (held) p->limit = id;
    return ball;
}

// other: mass of the second ball, its height, and the force along z on it.
static pair pair_make(double mass, double height, double push, tn_implicit_solve solve)
{
    pair p                        = {.r = rig_make((tn_vec3){0, 0, -g})};
    p.r.settings.method           = TN_METHOD_IMPLICIT;
    p.r.settings.implicit.solve   = solve;
    p.r.settings.implicit.stiffen = false;
    p.held                        = add_ball(&p, 1, 0, 0, true);
    (void)add_ball(&p, mass, height, push, false);
    rig_ready(&p.r);
    return p;
}

static void check_held(double mass, double height, double push, double force)
{
    for (int solve = TN_IMPLICIT_LINEAR; solve <= TN_IMPLICIT_NEWTON; ++solve) {
        pair p = pair_make(mass, height, push, (tn_implicit_solve)solve);
        rig_run(&p.r, 1.0 / 60, 120);
        CHECK_INT(p.r.report.contact_count, 1);
        if (solve != TN_IMPLICIT_NEWTON)
            CHECK_INT(p.r.report.factor_count, 2); // without the limit, then with it: this active
                                                   // set holds
        CHECK_NEAR(tn_state_pose(p.r.state, p.held).position.z, 0, 1e-9);
        CHECK_NEAR(tn_stepper_limit_force(p.r.stepper, p.limit), force, 1e-6 * force);
        rig_free(&p.r);
    }
}

TEST(a_limit_carries_the_load_on_its_body)
{
    check_held(2, 2 * radius, 0, (1 + 2) * g);
}

// The contact alone would make the limit pull, the weight makes it push: both together count.
TEST(a_limit_holds_a_body_lifted_by_less_than_its_weight)
{
    check_held(2, -2 * radius, 2 * g + 6, g - 6);
}

// More than its weight: the limit releases, and 3 kg rise with the remaining force, 3 N up to
// rounding.
TEST(a_limit_releases_a_lifted_body)
{
    pair p = pair_make(2, -2 * radius, 3 * g + 3, TN_IMPLICIT_CORRECTED);
    rig_run(&p.r, 1.0 / 60, 30);
    CHECK_NEAR(tn_state_velocity(p.r.state, p.held).linear.z, 3.0 / 3 * 30 / 60, 1e-3);
    CHECK_NEAR(tn_stepper_limit_force(p.r.stepper, p.limit), 0, 0);
    rig_free(&p.r);
}
