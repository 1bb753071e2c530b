// spring_pendulum: a hanging chain that a spring pulls aside, as in Redon et al. 2005, fig. 6. It
// comes to rest in a curve that few joints can only approximate, which shows whether the best
// joints are active.
#include "builtins.h"
#include "parts.h"

enum { N, LINK, ASIDE, BELOW, STIFFNESS, DAMPING };

// From the end of a link three fifths down the chain to a point beside the pivot; slack when it has
// no length.
static void add_spring(tn_scene* scene, const double* values)
{
    const int     n      = (int)values[N];
    const int     at     = (3 * n + 2) / 5;
    tn_spring_def spring = tn_default_spring_def();
    spring.name          = "spring";
    spring.body1         = TNS_GROUND;
    spring.body2         = tn_scene_find_body(scene, tns_name("link%d", at).text, NULL);
    spring.anchor1       = tns_vec(values[ASIDE], 0, -values[BELOW]);
    spring.anchor2       = tns_vec(0, 0, 0.5 * values[LINK]);
    spring.stiffness     = values[STIFFNESS];
    spring.length        = 0;
    tn_scene_add_spring(scene, &spring);
}

static void build(tn_scene* scene, const double* values)
{
    const tns_links links = {.count   = (int)values[N],
                             .step    = {0, 0, -values[LINK]},
                             .radius  = 0.1 * values[LINK],
                             .mass    = 0.1,
                             .joint   = TN_JOINT_HINGE,
                             .axis    = TNS_Y,
                             .damping = values[DAMPING]};
    tns_setup(scene, "spring_pendulum", 60);
    tn_settings settings     = tn_scene_settings(scene);
    settings.method          = TN_METHOD_ADAPTIVE; // the damping is too much for explicit steps
    settings.h               = 0.002;
    settings.adaptive.active = 10;
    tn_scene_set_settings(scene, &settings);
    tns_add_links(scene, &links);
    add_spring(scene, values);
}

const tns_builtin tns_spring_pendulum = {
    "spring_pendulum",
    "a hanging chain of hinges that a spring draws aside",
    {{"n", "hinges, and rods", 50, 1, 10000000, true, NULL},
     {"link", "length of a rod [m]", 0.1, 1e-4, 1000, false, NULL},
     {"aside", "of the pivot is the spring's fixed end [m]", 2.2, -1e6, 1e6, false, NULL},
     {"below", "the pivot is that end [m]", 0.6, -1e6, 1e6, false, NULL},
     {"stiffness", "of the spring [N/m]", 100, 0, 1e9, false, NULL},
     {"damping", "of every joint [N m s/rad]", 0.3, 0, 1e9, false, NULL}},
    build};
