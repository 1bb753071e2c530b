// Painleve's rod: a rod that leans at th, one end sliding on a rough floor.
//
// Even thin rod of length 2 l, mass m; its foot at (-l c, -l s) from the centre, c, s of th; slip
// towards -x ("pushed", dir = 1) or +x ("dragged", dir = -1), at rest otherwise. A normal force N
// brings friction dir mu N along x, and the foot's acceleration upwards is
//     a_n = N B / m - g,     B = 1 + 3 c (c - dir mu s)
// B > 0: N = m g / B. B < 0 (pushed, mu > 4/3, th in between): no N >= 0 has a_n >= 0.
#include "support/contact_rig.h"

static const double mass = 1, l = 0.5, radius = 1e-6;

typedef struct sliding {
    rig        r;
    tn_body_id rod;
    double     B;
} sliding;

static sliding make_rod(double th, double mu, double dir, double speed, bool planar)
{
    const double  c = cos(th), s = sin(th), I = mass * l * l / 3;
    const tn_vec3 up = planar ? TNS_Y : TNS_Z;
    sliding       p  = {.r = rig_make(tns_scale(-rig_g, up)), .B = 1 + 3 * c * (c - dir * mu * s)};
    tns_wall(p.r.scene, "table", tns_vec(0, 0, 0), up, (tns_surface){mu, 0});
    tn_shape_def shape = tn_default_shape_def(TN_SHAPE_CAPSULE);
    shape.radius       = radius;
    shape.half_length  = l;
    shape.friction     = mu;
    if (planar) shape.pose.orientation = tns_turn(TNS_Z, TNS_X);
    const tn_vec3 along   = tns_add(tns_vec(c, 0, 0), tns_scale(s, up));
    const tn_vec3 centre  = tns_add(tns_scale(l, along), tns_scale(radius, up));
    tn_body_def   def     = rig_body(mass, tns_vec(I, I, planar ? I : I / 100), centre);
    def.name              = "rod";
    def.kind              = planar ? TN_BODY_PLANAR : TN_BODY_RIGID;
    def.pose.orientation  = tns_turn(planar ? TNS_X : TNS_Z, along);
    def.velocity.linear.x = -dir * speed;
    def.shapes            = &shape;
    def.shape_count       = 1;
    p.rod                 = tn_scene_add_body(p.r.scene, &def);
    rig_ready(&p.r);
    return p;
}

// radius / l = 2e-6 is what the formula leaves out.
TEST(the_force_on_a_sliding_rod_is_that_of_the_closed_form)
{
    const double mus[] = {0, 0.5, 1.2, 2};
    for (int i = 0; i < 16; ++i) {
        const double mu = mus[i % 4], dir = i / 4 % 2 ? 1 : -1;
        for (double th = 0.2; th < 1.5; th += 0.2) {
            sliding   p      = make_rod(th, mu, dir, 3, i / 8);
            tn_why    why    = {.text = ""};
            tn_result result = tn_stepper_evaluate(p.r.stepper, p.r.state, &p.r.report, &why);
            CHECK_INT(result, p.B > 0 ? TN_OK : TN_ERR_DIVERGED);
            if (result == TN_OK) {
                const tn_vec3 force = rig_contact_force(&p.r, (tn_body_id){1}, p.rod);
                const double  N     = i / 8 ? force.y : force.z;
                CHECK_NEAR(N * p.B / (mass * rig_g), 1, 1e-4);
                CHECK_NEAR(force.x, dir * mu * N, 1e-12 * N);
            }
            rig_free(&p.r);
        }
    }
}

TEST(no_finite_force_is_reported_by_name)
{
    for (int planar = 0; planar < 2; ++planar) {
        sliding p   = make_rod(1, 2, 1, 3, planar);
        tn_why  why = {.text = ""};
        CHECK_LESS(p.B, -0.8); // -0.852; docs/theory/contact.md 3
        CHECK_INT(tn_stepper_evaluate(p.r.stepper, p.r.state, &p.r.report, &why), TN_ERR_DIVERGED);
        CHECK_INT(why.result, TN_ERR_DIVERGED);
        CHECK_TEXT(why.text, "contact of 'rod' on 'table': friction 2 leaves no finite force that "
                             "keeps them apart");
        rig_free(&p.r);
    }
}

// The step continues: an impulse stops the foot, up to w^2 l h by the rotation of the rod. Energy
// is only lost, and the pushed rod tips over its foot.
TEST(a_jammed_rod_continues_by_an_impulse)
{
    const double steps[] = {1e-4, 1e-3, 1.0 / 120};
    for (int i = 0; i < 6; ++i) {
        const double h = steps[i % 3], end = h < 1e-3 ? 0.3 : 1.5;
        sliding      p    = make_rod(1, 2, 1, 3, i / 3);
        rig_fall     fall = rig_fall_begin(&p.r);
        CHECK(rig_step(&p.r, h));
        CHECK_INT(p.r.report.jam_count, 1);
        int         count;
        tn_contact* contacts = rig_contacts(p.r.stepper, &count);
        for (int k = 0; k < count; ++k) CHECK_LESS(contacts[k].slip, 10 * h);
        free(contacts);
        // All speed of the foot is gone, the centre goes on over it: it turns towards -x.
        CHECK(tn_state_velocity(p.r.state, p.rod).linear.x < -0.5);
        while (tn_state_time(p.r.state) < end && rig_step(&p.r, h)) {
            rig_fall_note(&p.r, &fall);
            CHECK_LESS(p.r.report.deepest, 1e-5);
            CHECK(isfinite(rig_energy(&p.r)));
        }
        CHECK_LESS(fall.growth, 1e-6);
        CHECK(tn_state_time(p.r.state) >= end);
        rig_free(&p.r);
    }
}

TEST(the_built_in_rod_runs_to_its_end)
{
    const char* specs[] = {"painleve", "painleve:angle=0.6,friction=3", "painleve:angle=1.5",
                           "painleve:friction=0.5"};
    for (int i = 0; i < 4; ++i) {
        rig      r    = rig_builtin(specs[i]);
        rig_fall fall = rig_fall_begin(&r);
        int      jams = 0;
        while (tn_state_time(r.state) < 2 && rig_step(&r, 2e-3)) {
            jams += r.report.jam_count;
            rig_fall_note(&r, &fall);
        }
        CHECK((jams > 0) == (i < 2));
        CHECK_LESS(fall.growth, 1e-6);
        rig_free(&r);
    }
}
