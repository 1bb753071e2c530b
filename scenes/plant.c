// plant: a young tree in gusts of wind. Limbs are rods of wood on ball joints; twigs carry leaves.
//
// Every limb has a leader that goes on nearly straight and `branching` - 1 side limbs, set around it
// by the golden angle, which lean out by 40 degrees. Radii follow Leonardo's rule: what comes out of
// a fork has the cross section of what goes in. A joint bends as the wood of the rod beyond it,
//     stiffness = E I / length,   I = pi r^4 / 4,
// so it falls with the fourth power of the thickness; damping = 0.01 s times it. The wind blows
// along x with gusts that sweep over the tree; leaves (or bare twigs) have a drag of
// c A rho |v| v / 2 against it.
#include "builtins.h"
#include "parts.h"

static const double pi = 3.14159265358979324, wood_density = 800, air_density = 1.2;
static const double trunk_length = 0.8, shrink = 0.78, trunk_radius = 0.025; // [m]
static const double leaf_area = 0.02, leaf_mass = 0.006; // a bunch of them [m^2], [kg]
enum { GUST_KEYS = 81 };
static const double gust_every = 0.125; // [s]

typedef struct wood {
    double young, wind; ///< [Pa], mean speed [m/s]
    int    depth, branching;
    bool   leaves;
} wood;

double tns_plant_bodies(const double* values)
{
    double limbs = 0, level = 1;
    for (int k = 0; k < (int)values[0]; ++k) {
        limbs += level;
        level *= values[1];
    }
    return limbs + (values[3] == 0 ? level / values[1] : 0); // the last level carries leaves
}

// Side limbs have half the cross section of the leader.
static double share(int which, int branching)
{
    return which == 0 ? 2.0 / (branching + 1) : 1.0 / (branching + 1);
}

static tn_vec3 limb_direction(tn_quat parent, int which, int number)
{
    const tn_vec3 around = tns_circle(0.381966011250105 * number), lean = tns_circle(which == 0 ? 0.02 : 0.11);
    return tns_rotate(parent, tns_vec(lean.y * around.x, lean.y * around.y, lean.x));
}

// Gusts of three periods that have no common one, later where the wind arrives later; a little of
// them goes across.
static tn_vec3 wind_at(const wood* w, tn_vec3 place, double time)
{
    const double t     = time - place.x / (w->wind + 1);
    const double gusts = 0.35 * tns_circle(t / 3.7).y + 0.25 * tns_circle(t / 1.9 + 0.3).y +
                         0.15 * tns_circle(t / 0.83 + 0.7).y;
    const double begin = tns_pulse(time, 0, 1, 1e6, 2e6);
    return tns_scale(w->wind * begin, tns_vec(1 + gusts, 0.3 * tns_circle(t / 2.3).y, 0));
}

static void blow(tn_scene* scene, const wood* w, const char* name, tn_body_id body, tn_vec3 place, double area)
{
    tn_vector_key keys[GUST_KEYS];
    for (int k = 0; k < GUST_KEYS; ++k)
        keys[k] = (tn_vector_key){k * gust_every, wind_at(w, place, k * gust_every)};
    tn_drag_def drag    = tn_default_drag_def();
    drag.name           = name;
    drag.body           = body;
    drag.quadratic      = 0.5 * air_density * area; // c = 1
    drag.wind_keys      = keys;
    drag.wind_key_count = GUST_KEYS;
    tn_scene_add_drag(scene, &drag);
}

static tn_body_id grow(tn_scene* scene, const wood* w, const char* name, tn_body_id parent, tn_vec3 start,
                       tn_vec3 end, double radius)
{
    const double     length = tns_length(tns_sub(end, start)), area = pi * radius * radius;
    const tn_body_id rod    = tns_rod(scene, name, start, end, radius, wood_density * area * length);
    tn_joint_def     joint  = tns_joint(TN_JOINT_BALL, parent, rod, start, tns_unit(tns_sub(end, start)));
    joint.name              = name;
    joint.stiffness         = w->young * area * radius * radius / (4 * length);
    joint.damping           = 0.01 * joint.stiffness;
    tn_scene_add_joint(scene, &joint);
    return rod;
}

// A flat bunch at the end of a twig, on a joint a tenth as stiff as the twig's.
