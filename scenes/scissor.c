// scissor: a scissor lift of two sides, n crossings high, tied together by axles.
//
// Seen along y, level i has the nodes (0, i y) and (x, i y); the bars of crossing i run from each
// node of level i to the other one of level i + 1 and are pinned to each other in the middle. Bars
// are 1 m long and start with x = 0.8, y = 0.6. An axle lies along y through every node, pinned to
// the two or four bars that end there. The ground is the axle of node (0, 0). Node (x, 0) is the
// foot:
//
//     foot    node (x, 0) is                                 rows        bodies   redundant
//     slide   an axle that slides along x on the ground      50 n + 5    6 n + 1  16 n
//     axle    an axle                                        50 n        6 n + 1  16 n - 3
//     none    not tied: its two bar ends are loose           50 n - 10   6 n      16 n - 8
//
// Tomcin (2014, fig. 6a) counts 50 n. A loose axle is free to spin; apart from that the lift has
// one degree of freedom, or two when it is not held level. It must not go flat, where the rank
// drops: a spring along the foot's way holds it open. With stiffness k = 16 m g n, m being the
// whole mass, the foot travels some 0.1 m. Standing it sinks and rises; a lift that would fall over
// (axle, none) hangs.
#include "builtins.h"
#include "linkage.h"

enum { SLIDE, AXLE, NONE };

static const double width = 0.8, height = 0.6, half_depth = 0.25;
static const double bar_mass = 1, axle_mass = 0.5;

typedef struct lift {
    tn_scene* scene;
    int       foot;
    double    up; ///< 1: standing, -1: hanging
} lift;

// Node `right` of a level, on side 0 or 1; the middle of its axle is at side 0.5.
static tn_vec3 node(const lift* l, int level, int right, double side)
{
    return tns_vec(right * width, half_depth * (2 * side - 1), l->up * height * level);
}

static void add_axle_pins(const lift* l, int level, int right, tn_body_id axle,
                          tn_body_id below[2][2], tn_body_id above[2][2])
{
    for (int side = 0; side < 2; ++side) {
        const tn_vec3 at = node(l, level, right, side);
        const char*   lr = right ? "right" : "left";
        if (below != NULL) { // the bar that ends here began at the other node
            tns_pin(l->scene, tns_name("%s%d.%d.below", lr, level, side).text, axle,
                    below[side][!right], at);
        }
        if (above != NULL) {
            tns_pin(l->scene, tns_name("%s%d.%d.above", lr, level, side).text, axle,
                    above[side][right], at);
        }
    }
}

static void add_level(const lift* l, int level, tn_body_id below[2][2], tn_body_id above[2][2])
{
    for (int right = 0; right < 2; ++right) {
        const bool foot = level == 0 && right == 1;
        tn_body_id axle = TNS_GROUND;
        if (foot && l->foot == NONE) continue;
        if (level > 0 || foot) {
            axle = tns_rod(l->scene, tns_name("axle%d.%s", level, right ? "right" : "left").text,
                           node(l, level, right, 0), node(l, level, right, 1), 0.02, axle_mass);
        }
        if (foot && l->foot == SLIDE) {
            tns_joint_at(l->scene, "foot", TN_JOINT_SLIDER, TNS_GROUND, axle, node(l, 0, 1, 0.5),
                         TNS_X);
        }
        add_axle_pins(l, level, right, axle, below, above);
    }
}

// bars[side][right] begins at that node of the level.
static void add_crossing(const lift* l, int level, tn_body_id bars[2][2])
{
    for (int side = 0; side < 2; ++side) {
        for (int right = 0; right < 2; ++right) {
            bars[side][right] = tns_rod(
                l->scene, tns_name("bar%d.%d%s", level, side, right ? "b" : "a").text,
                node(l, level, right, side), node(l, level + 1, !right, side), 0.02, bar_mass);
        }
        const tn_vec3 middle = tns_mix(node(l, level, 0, side), node(l, level + 1, 1, side), 0.5);
        tns_pin(l->scene, tns_name("middle%d.%d", level, side).text, bars[side][0], bars[side][1],
                middle);
    }
}

static void add_foot_springs(const lift* l, int segments, tn_body_id bars[2][2])
{
    const double mass      = segments * (4 * bar_mass + 2 * axle_mass);
    const double stiffness = 16 * mass * 9.81 * segments;
    for (int side = 0; side < 2; ++side) {
        tn_spring_def def = tn_default_spring_def();
        def.body2         = bars[side][1];
        def.anchor1       = node(l, 0, 0, side);
        def.anchor2       = tns_vec(0, 0, -0.5); // the lower end of a bar of 1 m
        def.stiffness     = stiffness / 2;
        tn_scene_add_spring(l->scene, &def);
    }
}

static void build(tn_scene* scene, const double* values)
{
    const int  segments = (int)values[0], foot = (int)values[1];
    const lift l = {scene, foot, foot == SLIDE ? 1 : -1};
    tns_setup(scene, "scissor", 5);
    tn_body_id bars[2][2][2]; // of this crossing and the one before, in turn
    for (int level = 0; level <= segments; ++level) {
        tn_body_id(*above)[2] = level < segments ? bars[level % 2] : NULL;
        tn_body_id(*below)[2] = level > 0 ? bars[(level + 1) % 2] : NULL;
        if (above != NULL) add_crossing(&l, level, above);
        add_level(&l, level, below, above);
        if (level == 0) add_foot_springs(&l, segments, above);
    }
}

const tns_builtin tns_scissor = {
    "scissor",
    "a scissor lift with two sides, on springs",
    {{"segments", "crossings, one above the other", 10, 1, 220, true, NULL},
     {"foot", "how the lower loose ends are held", SLIDE, 0, 2, true, "slide|axle|none"}},
    build,
};
