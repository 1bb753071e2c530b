// rod_and_block: a heavy block on a light rod, as in Tomcin et al. 2014, fig. 1d. The tension in
// the rod dominates its motion: methods that solve joints by iteration stretch it.
//
// With an obstacle the contact also carries the load of the block, through the joints:
//     rod     the first rod falls onto a peg, a quarter of its length from the hinge, when it has
//             turned by 0.64 rad; then the block swings on below it
//     block   the block falls onto the floor, half a metre below where it started
#include "builtins.h"
#include "parts.h"

enum { STOP_OFF, STOP_ROD, STOP_BLOCK };

static const double      radius = 0.04, peg_radius = 0.05, peg_at = 0.25, drop = 0.5;
static const tn_vec3     half    = {0.5, 0.5, 0.5};
static const tns_surface surface = {0.5, 0};
// How the rod lies on the peg: along (4, -3) / 5, the peg on this side of it.
static const tn_vec3 slope = {0.8, 0, -0.6}, below = {-0.6, 0, -0.8};

static void add_peg(tn_scene* scene)
{
    const tn_vec3 at    = tns_add(tns_scale(peg_at, slope), tns_scale(radius + peg_radius, below));
    tn_shape_def  shape = tn_default_shape_def(TN_SHAPE_CAPSULE);
    shape.radius        = peg_radius;
    shape.half_length   = 0.3;
    shape.friction      = surface.friction;
    tns_fixed(scene, "peg", (tn_frame){at, tns_turn(TNS_Z, TNS_Y)}, shape);
}

static tn_body_id add_block(tn_scene* scene, tn_vec3 middle, double mass, bool touches)
{
    if (!touches) return tns_box(scene, "block", tns_frame(middle), half, mass);
    return tns_solid(scene, "block", tns_frame(middle), TNS_AT_REST, mass, tns_box_shape(half),
                     surface);
}

static void build(tn_scene* scene, const double* values)
{
    const int           stop  = (int)values[4];
    const tn_joint_type type  = values[3] == 0 ? TN_JOINT_BALL : TN_JOINT_HINGE;
    const tns_links     links = {.count    = (int)values[0],
                                 .start    = {0, 0, 0},
                                 .step     = {1, 0, 0},
                                 .radius   = radius,
                                 .mass     = values[1],
                                 .joint    = type,
                                 .axis     = TNS_Y,
                                 .touching = stop == STOP_ROD ? &surface : NULL};
    tns_setup_method(scene, "rod_and_block", TN_METHOD_IMPULSE, stop == STOP_OFF ? 5 : 10);
    const tn_body_id last  = tns_add_links(scene, &links);
    const tn_vec3    end   = tns_links_end(&links);
    const tn_vec3    mid   = tns_add(end, tns_vec(half.x, 0, 0));
    const tn_body_id block = add_block(scene, mid, values[2], stop == STOP_BLOCK);
    tns_joint_at(scene, "hook", type, last, block, end, TNS_Y);
    if (stop == STOP_ROD) add_peg(scene);
    if (stop == STOP_BLOCK) tns_wall(scene, "floor", tns_vec(0, 0, -half.z - drop), TNS_Z, surface);
}

const tns_builtin tns_rod_and_block = {
    "rod_and_block",
    "a 7.5 t block on a 50 kg rod, let go from the horizontal; rods=5,rod_mass=1 is the hard one",
    {{"rods", "rods of 1 m between the ground and the block", 1, 1, 10000, true, NULL},
     {"rod_mass", "of each rod [kg]", 50, 1e-6, 1e9, false, NULL},
     {"block_mass", "a cube of 1 m [kg]", 7500, 1e-6, 1e12, false, NULL},
     {"joint", "type of every joint; hinges turn about y", 1, 0, 1, true, "ball|hinge"},
     {"stop", "what meets a stop on its way: a rod a peg, or the block the floor", 0, 0, 2, true,
      "off|rod|block"}},
    build};
