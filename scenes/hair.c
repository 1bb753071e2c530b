// hair: strands on a head that turns and nods. A strand is a lock of some 50 hairs: 0.3 m long, 0.1
// g, of rods on ball joints, whose springs bend and twist as a fibre of the bending stiffness B
// would:
//     joint stiffness = B / length of a rod,   damping 0.02 s times it
// whatever the number of rods. One hair has B = E pi r^4 / 4 = 8e-9 N m^2 (4 GPa, r = 40 um). With
// curl, the slack strand is a helix of that many windings; its own weight draws it out. Air slows a
// strand down within a third of a second.
#include "builtins.h"
#include "parts.h"

static const double  strand_length = 0.3, strand_mass = 1e-4, strand_radius = 0.001;
static const double  damping_time = 0.02, drag_time = 0.3;   // [s]
static const double  head_radius = 0.1, winding_lean = 0.11; // [m], [turns]
static const tn_vec3 head_center = {0, 0, 1.6};

static const tn_vec3 brown = {0.4, 0.25, 0.13}, skin = {0.9, 0.75, 0.65};

enum { KEY_COUNT = 121 };

// Turns to the left, to the right, and nods.
static tn_frame head_at(double t)
{
    const double turn = 0.17 * tns_pulse(t, 0.8, 1.2, 1.5, 2.1) -
                        0.17 * tns_pulse(t, 1.5, 2.1, 2.6, 3),
                 nod = 0.08 * tns_pulse(t, 3.5, 3.8, 4, 4.3);
    return (tn_frame){head_center,
                      tns_quat_mul(tns_turn_about(TNS_Z, turn), tns_turn_about(TNS_Y, nod))};
}

static tn_body_id add_head(tn_scene* scene)
{
    tn_key keys[KEY_COUNT];
    for (int k = 0; k < KEY_COUNT; ++k) keys[k] = (tn_key){k * 0.05, head_at(k * 0.05)};
    tn_shape_def shape = tn_default_shape_def(TN_SHAPE_SPHERE);
    shape.radius       = head_radius;
    shape.color        = skin;
    shape.collide      = false;
    tn_body_def def    = tn_default_body_def();
    def.name           = "head";
    def.kind           = TN_BODY_KINEMATIC;
    def.pose           = head_at(0);
    def.keys           = keys;
    def.key_count      = KEY_COUNT;
    def.shapes         = &shape;
    def.shape_count    = 1;
    return tn_scene_add_body(scene, &def);
}

typedef struct lock {
    tn_scene* scene;
    int       number, rods;
    double    bending, windings;
    tn_vec3   root, direction;
} lock;

// The direction of a rod: along the strand, or leaning from it all around.
static tn_vec3 rod_direction(const lock* l, int index)
{
    if (l->windings == 0) return l->direction;
    const tn_vec3 around = tns_circle(l->windings * (index + 0.5) / l->rods),
                  lean   = tns_circle(winding_lean);
    const tn_vec3 d      = tns_vec(lean.y * around.x, lean.y * around.y, lean.x);
    return tns_rotate(tns_turn(TNS_Z, l->direction), d);
}

static void slow_down(const lock* l, const char* name, tn_body_id rod)
{
    tn_drag_def drag = tn_default_drag_def();
    drag.name        = name;
    drag.body        = rod;
    drag.linear      = strand_mass / l->rods / drag_time;
    tn_scene_add_drag(l->scene, &drag);
}

static void add_lock(const lock* l, tn_body_id head)
{
    const double length = strand_length / l->rods;
    tn_body_id   last   = head;
    tn_vec3      start  = l->root;
    for (int i = 0; i < l->rods; ++i) {
        const tns_text name      = tns_name("strand%d_%d", l->number, i + 1);
        const tn_vec3  direction = rod_direction(l, i),
                      end        = tns_add(start, tns_scale(length, direction));
        const tn_body_id rod     = tns_painted_rod(l->scene, name.text, start, end, strand_radius,
                                                   strand_mass / l->rods, brown);
        tn_joint_def     joint   = tns_joint(TN_JOINT_BALL, last, rod, start, direction);
        joint.name               = name.text;
        joint.stiffness          = l->bending / length;
        joint.damping            = damping_time * joint.stiffness;
        tn_scene_add_joint(l->scene, &joint);
        slow_down(l, name.text, rod);
        start = end;
        last  = rod;
    }
}

// From ear to ear around the back, which is at -x; a single one in the middle. They grow outward
// and down.
static void build(tn_scene* scene, const double* values)
{
    const int strands = (int)values[1];
    tns_setup(scene, "hair", 6);
    const tn_body_id head = add_head(scene);
    for (int i = 0; i < strands; ++i) {
        const tn_vec3 around = tns_circle(0.5 + 0.55 * ((i + 0.5) / strands - 0.5));
        const lock    l      = {.scene     = scene,
                                .number    = i + 1,
                                .rods      = (int)values[0],
                                .bending   = values[2],
                                .windings  = values[3],
                                .root      = tns_add(head_center, tns_scale(head_radius, around)),
                                .direction = tns_vec(0.6 * around.x, 0.6 * around.y, -0.8)};
        add_lock(&l, head);
    }
}

const tns_builtin tns_hair = {
    "hair",
    "strands of hair on a head that turns and nods",
    {{"n", "rods of a strand", 20, 1, 10000, true, NULL},
     {"strands", "around the back of the head", 1, 1, 10000, true, NULL},
     {"stiffness", "of a strand in bending [N m^2]", 4e-7, 0, 1, false, NULL},
     {"curl", "windings of a slack strand", 0, 0, 100, false, NULL}},
    build};
