// plant: a young tree in gusts of wind. Branches are rods of wood on ball joints; the last ones are
// twigs with leaves.
//
// Every branch but a twig has a leader that continues nearly straight and side branches that lean
// out by 40 degrees, set around it one after the other by the golden angle. Radii follow Leonardo's
// rule: the cross sections after a fork sum to that before it, the leader having twice as much as a
// side branch. A joint has the bending stiffness of the rod beyond it,
//     stiffness = E I / length,   I = pi r^4 / 4,
// so it falls with the fourth power of the thickness; damping is 0.01 s times it. The leaf area of
// a twig is 600 times its cross section. Leaves, and bare twigs, have a drag of A rho |v| v / 2
// against the wind, which blows along x in gusts that sweep over the tree.
#include "builtins.h"
#include "parts.h"

static const double  pi = 3.14159265358979324, golden_angle = 0.381966011250105; // [turns]
static const double  wood_density = 800, air_density = 1.2;                      // [kg/m^3]
static const double  trunk_length = 0.8, trunk_radius = 0.025, shrink = 0.78;    // [m], a level
static const double  leaf_share = 600, leaf_mass = 0.2;                          // [kg/m^2]
static const tn_vec3 bark = {0.45, 0.33, 0.22}, green = {0.36, 0.58, 0.22};

typedef struct wood {
    tn_scene* scene;
    int       depth, branching;
    double    wind, young; ///< mean speed [m/s], Young's modulus [Pa]
    bool      leaves;
    int       branch_count, twig_count; ///< so far
} wood;

typedef struct branch {
    tn_body_id parent;
    tn_vec3    start, direction;
    double     length, radius;
    int        level;
} branch;

double tns_plant_bodies(const double* values)
{
    double branches = 0, level = 1;
    for (int k = 0; k < (int)values[0]; ++k) {
        branches += level;
        if (k + 1 < (int)values[0]) level *= values[1];
    }
    return branches + (values[3] == 0 ? level : 0);
}

// Gusts of three incommensurate periods, delayed with the distance along the wind; a small part of
// it blows across. It rises within the first second.
static tn_vec3 wind_at(const wood* w, tn_vec3 place, double time)
{
    const double t     = time - place.x / (w->wind + 1);
    const double gusts = 0.35 * tns_circle(t / 3.7).y + 0.25 * tns_circle(t / 1.9 + 0.3).y +
                         0.15 * tns_circle(t / 0.83 + 0.7).y;
    const tn_vec3 wind = tns_vec(1 + gusts, 0.3 * tns_circle(t / 2.3).y, 0);
    return tns_scale(w->wind * tns_pulse(time, 0, 1, 1e6, 2e6), wind);
}

enum { GUST_KEYS = 97 };

static void blow(const wood* w, const char* name, tn_body_id body, tn_vec3 place, double area)
{
    tn_vector_key keys[GUST_KEYS];
    for (int k = 0; k < GUST_KEYS; ++k)
        keys[k] = (tn_vector_key){k / 8.0, wind_at(w, place, k / 8.0)};
    tn_drag_def drag    = tn_default_drag_def();
    drag.name           = name;
    drag.body           = body;
    drag.quadratic      = air_density * area / 2;
    drag.wind_keys      = keys;
    drag.wind_key_count = GUST_KEYS;
    tn_scene_add_drag(w->scene, &drag);
}

static void join(const wood* w, const char* name, tn_body_id parent, tn_body_id child,
                 const branch* l, tn_vec3 anchor, double part)
{
    const double square = l->radius * l->radius;
    tn_joint_def joint  = tns_joint(TN_JOINT_BALL, parent, child, anchor, l->direction);
    joint.name          = name;
    joint.stiffness     = part * w->young * pi * square * square / (4 * l->length);
    joint.damping       = 0.01 * joint.stiffness;
    tn_scene_add_joint(w->scene, &joint);
}

// A bunch of leaves as one flat square beyond the twig's end, on a joint a tenth as stiff as that
// of the twig.
static void add_leaves(wood* w, tn_body_id twig, const branch* l, tn_vec3 end)
{
    const tns_text name = tns_name("leaves%d", ++w->twig_count);
    const double   area = leaf_share * pi * l->radius * l->radius, half = sqrt(area) / 2;
    const tn_frame pose = {tns_add(end, tns_scale(half, l->direction)),
                           tns_turn(TNS_X, l->direction)};
    if (!w->leaves) {
        blow(w, name.text, twig, end, area / 20);
        return;
    }
    const tn_body_id leaves = tns_painted_box(
        w->scene, name.text, pose, tns_vec(half, half, half / 20), leaf_mass * area, green);
    join(w, name.text, twig, leaves, l, end, 0.1);
    blow(w, name.text, leaves, pose.position, area);
}

static branch side_branch(const wood* w, const branch* l, tn_body_id rod, tn_vec3 end, int which)
{
    const tn_vec3 around  = tns_circle(golden_angle * (w->branch_count + which)),
                  lean    = tns_circle(which == 0 ? 0.02 : 0.11);
    const tn_vec3 upright = tns_vec(lean.y * around.x, lean.y * around.y, lean.x);
    const double  section = (which == 0 ? 2.0 : 1.0) / (w->branching + 1);
    return (branch){.parent    = rod,
                    .start     = end,
                    .direction = tns_rotate(tns_turn(TNS_Z, l->direction), upright),
                    .length    = shrink * l->length,
                    .radius    = sqrt(section) * l->radius,
                    .level     = l->level + 1};
}

static void grow(wood* w, branch l)
{
    const tns_text   name = tns_name("limb%d", ++w->branch_count);
    const tn_vec3    end  = tns_add(l.start, tns_scale(l.length, l.direction));
    const double     mass = wood_density * pi * l.radius * l.radius * l.length;
    const tn_body_id rod = tns_painted_rod(w->scene, name.text, l.start, end, l.radius, mass, bark);
    join(w, name.text, l.parent, rod, &l, l.start, 1);
    if (l.level == w->depth) add_leaves(w, rod, &l, end);
    else
        for (int i = 0; i < w->branching; ++i) grow(w, side_branch(w, &l, rod, end, i));
}

static void build(tn_scene* scene, const double* values)
{
    wood w = {.scene     = scene,
              .depth     = (int)values[0],
              .branching = (int)values[1],
              .wind      = values[2],
              .leaves    = values[3] == 0,
              .young     = values[4]};
    tns_setup(scene, "plant", 12);
    grow(&w, (branch){TNS_GROUND, {0, 0, 0}, {0, 0, 1}, trunk_length, trunk_radius, 1});
}

const tns_builtin tns_plant = {
    "plant",
    "a young tree with leaves in gusts of wind",
    {{"depth", "limbs from the ground to a twig", 5, 1, 12, true, NULL},
     {"branching", "limbs at the end of a limb", 3, 1, 8, true, NULL},
     {"wind", "mean speed of the wind [m/s]", 8, 0, 60, false, NULL},
     {"leaves", "off: bare twigs", 0, 0, 1, true, "on|off"},
     {"young", "Young's modulus of the wood [Pa]", 6e9, 0, 1e15, false, NULL}},
    build};
