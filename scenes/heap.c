// heap: a chain of capsules with ball joints, let go over the floor, falls into a heap.
//
// The chain starts upright as a spiral with a small lean, so that it folds up while it falls. Links
// touch the floor with the balls at their ends, and each other if asked to. Expected: nothing
// penetrates the floor, joints stay closed, energy never grows.
#include "builtins.h"
#include "parts.h"

static const double radius = 0.02, length = 0.2, mass = 0.2;

// Links are in group 1, which collides with itself only if `touching`.
static tn_body_id add_link(tn_scene* scene, const char* name, tn_vec3 a, tn_vec3 b, bool touching,
                           tns_surface surface)
{
    const tn_vec3  along = tns_sub(b, a);
    const tn_frame pose  = {tns_mix(a, b, 0.5), tns_turn(TNS_Z, tns_unit(along))};
    tn_shape_def   shape = tn_default_shape_def(TN_SHAPE_CAPSULE);
    shape.radius         = radius;
    shape.half_length    = tns_length(along) / 2;
    shape.group          = 1;
    if (!touching) shape.collides_with = ~(UINT32_C(1) << 1);
    return tns_solid(scene, name, pose, TNS_AT_REST, mass, shape, surface);
}

static void build(tn_scene* scene, const double* values)
{
    const tns_surface surface = {values[1], values[3]};
    tns_setup(scene, "heap", 3);
    tn_scene_set_ground(scene, values[1], values[3]);
    tn_body_id last  = TNS_GROUND;
    tn_vec3    start = {0, 0, radius + values[2]};
    for (int i = 0; i < (int)values[0]; ++i) {
        const tn_vec3    around = tns_circle(0.11 * i);
        const tn_vec3    along  = tns_unit(tns_vec(0.2 + 0.5 * around.x, 0.5 * around.y, 1));
        const tn_vec3    end    = tns_add(start, tns_scale(length, along));
        const tn_body_id link =
            add_link(scene, tns_name("link%d", i + 1).text, start, end, values[4] > 0, surface);
        if (i > 0)
            tns_joint_at(scene, tns_name("j%d", i + 1).text, TN_JOINT_BALL, last, link, start,
                         TNS_Z);
        start = end;
        last  = link;
    }
}

const tns_builtin tns_heap = {"heap",
                              "a chain of capsules falls onto the floor and folds up",
                              {{"links", "capsules of 0.2 m and 0.2 kg", 20, 1, 10000, true, NULL},
                               {"friction", "of links and floor", 0.5, 0, 10, false, NULL},
                               {"height", "under the lowest link [m]", 0.3, 0, 1000, false, NULL},
                               {"restitution", "of links and floor", 0, 0, 1, false, NULL},
                               {"touching", "links touch each other", 0, 0, 1, true, "no|yes"}},
                              build};
