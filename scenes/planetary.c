// planetary: a planetary gear. The sun is driven by a torque, the ring is held, the carrier drives a brake.
//
// Seen from the carrier, sun and planets turn against each other, planets and ring with each other; with Z teeth
//
//     Z_s (w_s - w_c) + Z_p w_p = 0       Z_r (w_r - w_c) - Z_p w_p = 0       w_p: in the carrier
//
// so w_s = (1 + Z_r / Z_s) w_c where the ring is held. Three planets close loops that follow from each other.
// Wheels lie over each other to be seen: ring, carrier, then sun and planets.
#include "builtins.h"
#include "parts.h"

enum { SUN = 20, PLANET = 25, RING = 70, PLANETS = 3 }; // teeth

static const double module = 0.002; // diameter over teeth [m]
static const double thick  = 0.006;

static tn_body_id add_disc(tn_scene* scene, const char* name, double mass, int teeth, double x,
                           double y, double z)
{
    return tns_wheel(scene, name, tns_vec(x, y, z), TNS_Z, 0.5 * module * teeth, 0.5 * thick, mass);
}

static void mesh(tn_scene* scene, const char* name, tn_joint_id wheel, tn_joint_id output,
                 tn_joint_id pin, double teeth, double planet)
{
    tn_coupling_def def = tn_default_coupling_def(TN_COUPLING_COUPLER);
    def.name            = name;
    def.joints          = (tn_joint_id[]){wheel, output, pin};
    def.joint_count     = 3;
    def.coefficients    = (double[]){teeth, -teeth, planet};
    tn_scene_add_coupling(scene, &def);
}

static void build(tn_scene* scene, const double* values)
{
    const double  torque = values[0], brake = values[1], mass = values[2];
    const tn_vec3 middle = {0, 0, 0};
    tns_setup(scene, "planetary", 5);
    const tn_body_id ring    = add_disc(scene, "ring", 3 * mass, RING, 0, 0, -4 * thick);
    const tn_body_id carrier = add_disc(scene, "carrier", mass, SUN + PLANET, 0, 0, -2 * thick);
    const tn_body_id sun     = add_disc(scene, "sun", mass, SUN, 0, 0, 0);
    tn_joint_def     shaft   = tns_joint(TN_JOINT_HINGE, TNS_GROUND, sun, middle, TNS_Z);
    tn_joint_def     mount   = tns_joint(TN_JOINT_MOTOR, TNS_GROUND, ring, middle, TNS_Z);
    tn_joint_def     output  = tns_joint(TN_JOINT_HINGE, TNS_GROUND, carrier, middle, TNS_Z);
    shaft.name = "sun_shaft", shaft.force[0] = torque;
    mount.name = "ring_mount", mount.of = TN_JOINT_HINGE, mount.velocity = 0;
    output.name = "output", output.damping = brake;
    const tn_joint_id in   = tn_scene_add_joint(scene, &shaft),
                      held = tn_scene_add_joint(scene, &mount),
                      out  = tn_scene_add_joint(scene, &output);
    for (int i = 0; i < PLANETS; ++i) {
        const tn_vec3 at =
            tns_scale(0.5 * module * (SUN + PLANET), tns_circle((double)i / PLANETS));
        const tn_body_id planet =
            add_disc(scene, tns_name("planet%d", i).text, mass, PLANET, at.x, at.y, 0);
        const tn_joint_id pin = tns_joint_at(scene, tns_name("pin%d", i).text, TN_JOINT_HINGE,
                                             carrier, planet, at, TNS_Z);
        mesh(scene, tns_name("sun_mesh%d", i).text, in, out, pin, SUN, PLANET);
        mesh(scene, tns_name("ring_mesh%d", i).text, held, out, pin, RING, -PLANET);
    }
}

const tns_builtin tns_planetary = {
    "planetary",
    "a planetary gear between a torque and a brake",
    {{"torque", "on the sun [N m]", 1, -1e6, 1e6, false, NULL},
     {"brake", "on the carrier [N m s/rad]", 1, 1e-3, 1e9, false, NULL},
     {"mass", "of sun, carrier and each planet; the ring has three times that [kg]", 0.2, 1e-3, 1e6,
      false, NULL}},
    build};
