// tree: every rod carries `branching` smaller ones at its end, `depth` levels of them; the root
// hangs from the ground. All joints are balls. The default is the size of Baraff 1996, fig. 3: 127
// joints, 381 multipliers.
//
// Rods are numbered level by level: the children of rod i are b i + 1 ... b i + b, so the parent
// is known from the number, and its end from its pose in the scene.
#include "builtins.h"
#include "parts.h"

static const double root_length = 0.5, shrink = 0.8;

double tns_tree_bodies(const double* values)
{
    double count = 0, level = 1;
    for (int k = 0; k < (int)values[0]; ++k) {
        count += level;
        level *= values[1];
    }
    return count;
}

// The branch leans 3 : 4 against its parent; its place around it moves on by a bit every level, so
// that the tree fills space.
static tn_vec3 branch_direction(tn_quat parent, int which, int branching, int level)
{
    const tn_vec3 around = tns_circle((double)which / branching + 0.25 * (level % 4));
    return tns_rotate(parent, tns_vec(0.6 * around.x, 0.6 * around.y, 0.8));
}

static void build(tn_scene* scene, const double* values)
{
    const int count = (int)tns_tree_bodies(values), branching = (int)values[1];
    tns_setup(scene, "tree", 5);
    double  length = root_length;
    int     level = 0, level_end = 1, level_size = 1;
    tn_vec3 start = {0, 0, 0}, direction = {0, 0, -1};
    for (int i = 0; i < count; ++i) {
        if (i == level_end) {
            ++level;
            level_size *= branching;
            level_end += level_size;
            length *= shrink;
        }
        tn_body_id parent = TNS_GROUND;
        if (i > 0) {
            const int above = (i - 1) / branching;
            if (above >= tn_scene_body_count(scene)) return; // an add failed; the scene remembers
            const tn_frame pose = tn_scene_body(scene, above)->pose;
            start               = tns_place(pose, tns_vec(0, 0, length / shrink / 2));
            direction = branch_direction(pose.orientation, (i - 1) % branching, branching, level);
            parent    = (tn_body_id){(uint32_t)above + 1};
        }
        const tn_vec3    end = tns_add(start, tns_scale(length, direction));
        const tn_body_id rod =
            tns_rod(scene, tns_name("link%d", i + 1).text, start, end, length / 20, length);
        tns_joint_at(scene, tns_name("j%d", i + 1).text, TN_JOINT_BALL, parent, rod, start, TNS_Z);
    }
}

const tns_builtin tns_tree = {
    "tree",
    "a tree of rods with ball joints, hanging by its root: 127 joints unless told otherwise",
    {{"depth", "levels of rods", 7, 1, 23, true, NULL},
     {"branching", "rods at the end of a rod", 2, 1, 16, true, NULL}},
    build};
