// The stiffness of tension against statics and finite differences: K' of a body in a loaded chain
// for a step of h, and that nothing else gets any.
#include "step/stepper.h"
#include "support/rig.h"

static const double g = 9.81;

enum { RODS = 4 };
static const double length = 0.8, rod_mass = 0.5, load_mass = 4000, radius = 0.05;

// Rods that hang straight along `down` under gravity, a load below. They stay there.
static rig make_chain(tn_vec3 down, tn_joint_type type)
{
    rig           r      = rig_make(tns_scale(g, down));
    tn_body_id    above  = TNS_GROUND;
    const tn_vec3 across = tns_unit(tns_cross(down, (tn_vec3){0.3, 0.5, -0.7}));
    for (int i = 0; i <= RODS; ++i) {
        const tn_vec3 top = tns_scale(length * i, down),
                      end = tns_add(top, tns_scale(length, down));
        const tn_body_id body =
            tns_rod(r.scene, NULL, top, end, radius, i < RODS ? rod_mass : load_mass);
        rig_add_joint(&r, type, above, body, top, across);
        above = body;
    }
    r.settings.method = TN_METHOD_IMPULSE;
    rig_ready(&r);
    return r;
}

// About an axis across the rod i, from its ends: the force above times half the length, and that
// below. It resists turning like a spring of this stiffness.
static double tension(int i)
{
    const double below = (load_mass + rod_mass * (RODS - 1 - i)) * g, above = below + rod_mass * g;
    return (above + below) * length / 2;
}

static double moment(double mass)
{
    return mass * (length * length / 12 + radius * radius / 4);
}

TEST(a_hanging_chain_is_as_stiff_as_its_load)
{
    const double  h       = 0.02;
    const tn_vec3 downs[] = {{0, 0, -1}, {0.6, 0, -0.8}, {0.36, 0.48, 0.8}};
    for (int n = 0; n < 3; ++n) {
        rig r = make_chain(downs[n], TN_JOINT_BALL);
        rig_step(&r, h);
        CHECK_INT(r.report.stiffened_count, RODS);
        for (int i = 0; i < RODS; ++i) {
            const tni_mat3* K = &r.stepper->impulse.stiffness[i + 1];
            const double    k = h * h * tension(i);
            CHECK(k > 100 * moment(rod_mass));
            // k (1 - d d^T): nothing resists a turn about the rod.
            for (int a = 0; a < 3; ++a) {
                for (int b = 0; b < 3; ++b) {
                    const double d[3]   = {downs[n].x, downs[n].y, downs[n].z};
                    const double wanted = k * ((a == b) - d[a] * d[b]);
                    CHECK_NEAR(K->m[3 * a + b], wanted, 1e-9 * k);
                }
            }
        }
        const tni_mat3* load = &r.stepper->impulse.stiffness[RODS + 1]; // it swings, slowly
        for (int a = 0; a < 9; ++a) CHECK(load->m[a] == 0);
        rig_free(&r);
    }
}

// Nor where it is switched off.
TEST(short_steps_need_no_stiffness)
{
    rig r = make_chain((tn_vec3){0, 0, -1}, TN_JOINT_BALL);
    CHECK_LESS(2e-4 * 2e-4 * tension(0) / moment(rod_mass), 0.1); // of 2
    rig_step(&r, 2e-4);
    CHECK_INT(r.report.stiffened_count, 0);
    r.settings.impulse.stiffen = false;
    rig_restart(&r);
    rig_step(&r, 0.02);
    CHECK_INT(r.report.stiffened_count, 0);
    rig_free(&r);
}

// Compressed instead of pulled, standing on its foot, it has no stiffness.
TEST(compression_is_not_stiff)
{
    rig              r    = rig_make((tn_vec3){0, 0, -g});
    const tn_body_id rod  = tns_rod(r.scene, NULL, tns_vec(0, 0, 0), tns_vec(0, 0, 1), 0.05, 1),
                     load = tns_rod(r.scene, NULL, tns_vec(0, 0, 1), tns_vec(0, 0, 2), 0.05, 5000);
    rig_add_joint(&r, TN_JOINT_BALL, TNS_GROUND, rod, (tn_vec3){0, 0, 0}, TNS_Z);
    rig_add_joint(&r, TN_JOINT_BALL, rod, load, (tn_vec3){0, 0, 1}, TNS_Z);
    r.settings.method = TN_METHOD_IMPULSE;
    rig_ready(&r);
    rig_step(&r, 0.02);
    CHECK_INT(r.report.stiffened_count, 0);
    rig_free(&r);
}

// A chain that hangs still stays still, stiff or not: what is implicit adds no force.
TEST(stiffness_adds_no_force)
{
    for (int stiffen = 0; stiffen < 2; ++stiffen) {
        rig r                      = make_chain((tn_vec3){0, 0, -1}, TN_JOINT_HINGE);
        r.settings.impulse.stiffen = stiffen;
        rig_restart(&r);
        rig_step(&r, 0.02);
        CHECK_LESS(tn_state_energy(r.state).kinetic, 1e-15 * load_mass);
        rig_free(&r);
    }
}
