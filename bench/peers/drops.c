#include "drops.h"

#include "scenes/parts.h"
#include "scenes/scenes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double      friction = 0.5;
static const tns_surface surface  = {0.5, 0};

static tn_scene* start(const char* name, bool floor)
{
    tn_scene* scene = NULL;
    if (tn_scene_create(NULL, &scene) != TN_OK) exit(1);
    tn_scene_set_name(scene, name);
    if (floor) tn_scene_set_ground(scene, friction, 0);
    return scene;
}

static double speed(const drop_pose* p)
{
    return sqrt(p->v[0] * p->v[0] + p->v[1] * p->v[1] + p->v[2] * p->v[2]);
}

// ---- Figure 1d -----------------------------------------------------------------------------------

static const double rod_radius = 0.04, stop_radius = 0.05, stop_at = 0.25;

tn_scene* drops_rod(void)
{
    const tn_twist   rest  = {{0, 0, 0}, {0, 0, 0}};
    const tn_vec3    end   = {cos(0.3), 0, sin(0.3)};
    const tn_frame   mid   = tns_frame(tns_add(end, tns_vec(0, 0, -0.5)));
    tn_scene*        scene = start("rod_on_stop", false);
    const tn_body_id rod =
        tns_capsule(scene, "rod", tns_vec(0, 0, 0), end, rod_radius, rest, 50, surface);
    const tn_body_id block = tns_box(scene, "block", mid, tns_vec(0.5, 0.5, 0.5), 7500);
    tn_shape_def     shape = tn_default_shape_def(TN_SHAPE_CAPSULE);
    shape.radius = stop_radius, shape.half_length = 0.2;
    shape.friction = friction, shape.restitution = 0;
    tn_body_def stop = tn_default_body_def();
    stop.name        = "stop";
    stop.kind        = TN_BODY_STATIC;
    stop.pose        = (tn_frame){{stop_at, 0, -rod_radius - stop_radius}, tns_turn(TNS_Z, TNS_Y)};
    stop.shapes      = &shape;
    stop.shape_count = 1;
    tn_scene_add_body(scene, &stop);
    tns_joint_at(scene, "hinge", TN_JOINT_HINGE, TNS_GROUND, rod, tns_vec(0, 0, 0), TNS_Y);
    tns_joint_at(scene, "hook", TN_JOINT_HINGE, rod, block, end, TNS_Y);
    return scene;
}

// The rod lies on the stop, the block hangs from its end, to a centimetre.
bool drops_rod_stands(const drop* d, const drop_pose* end)
{
    const double *x = end[1].x, *q = end[2].q, up[3] = {0, 0, 0.5};
    double        top[3];
    (void)d;
    drop_turn(q, up, top);
    for (int k = 0; k < 3; ++k) top[k] += end[2].x[k];
    return fabs(x[0] - 0.5) < 0.01 && fabs(x[2]) < 0.01 && fabs(top[0] - 1) < 0.01 &&
           fabs(top[2]) < 0.01;
}

// ---- The walking machine -------------------------------------------------------------------------

// All that is in a scene of rigid bodies and joints, moved up; shapes that were asked for touch
// the floor.
static void copy_scene(tn_scene* to, const tn_scene* from, double up)
{
    for (int i = 0; i < tn_scene_body_count(from); ++i) {
        tn_body_def   def    = *tn_scene_body(from, i);
        const size_t  bytes  = (size_t)def.shape_count * sizeof(tn_shape_def);
        tn_shape_def* shapes = malloc(bytes + 1);
        memcpy(shapes, def.shapes, bytes);
        const bool touches = strstr(def.name, ".lower") || strcmp(def.name, "frame") == 0;
        for (int k = 0; k < def.shape_count; ++k) {
            shapes[k].collide  = touches && shapes[k].type == TN_SHAPE_CAPSULE;
            shapes[k].friction = friction, shapes[k].restitution = 0;
            shapes[k].group = 1, shapes[k].collides_with = 1;
        }
        def.shapes = shapes;
        def.pose.position.z += up;
        tn_scene_add_body(to, &def);
        free(shapes);
    }
    for (int i = 0; i < tn_scene_joint_count(from); ++i) {
        tn_joint_def def = *tn_scene_joint(from, i);
        def.anchor.z += up;
        tn_scene_add_joint(to, &def);
    }
}

// The lowest point of a lower triangle.
static double lowest(const tn_scene* scene)
{
    double least = HUGE_VAL;
    for (int i = 0; i < tn_scene_body_count(scene); ++i) {
        const tn_body_def* def = tn_scene_body(scene, i);
        for (int k = 0; strstr(def->name, ".lower") && k < def->shape_count; ++k) {
            const tn_shape_def* s = &def->shapes[k];
            const tn_vec3       z = tns_rotate(s->pose.orientation, TNS_Z);
            least                 = fmin(least, def->pose.position.z + s->pose.position.z -
                                                    fabs(z.z) * s->half_length - s->radius);
        }
    }
    return least;
}

tn_scene* drops_beast(int pairs, double k)
{
    char      spec[96];
    tn_why    why  = {0};
    tn_scene *from = NULL, *scene = start("strandbeest_drop", true);
    snprintf(spec, sizeof spec, "strandbeest:legs=%d,frame=free,motor=3,load=%g", 2 * pairs, k);
    if (tns_build(NULL, spec, &from, &why) != TN_OK) {
        fprintf(stderr, "drops: %s: %s\n", spec, why.text);
        exit(1);
    }
    copy_scene(scene, from, 0.4 - lowest(from));
    tn_scene_free(from);
    return scene;
}

// The frame (body 1) is level and no lower than 85 % of where it was over the feet.
bool drops_beast_stands(const drop* d, const drop_pose* end)
{
    const double z[3] = {0, 0, 1};
    double       up[3];
    drop_turn(end[1].q, z, up);
    return up[2] > 0.97 && end[1].x[2] > 0.85 * (d->bodies[1].start.x[2] - 0.4);
}

// ---- Boxes ---------------------------------------------------------------------------------------

tn_scene* drops_stack(int boxes)
{
    const tn_twist rest  = {{0, 0, 0}, {0, 0, 0}};
    tn_scene*      scene = start("stack", true);
    tn_shape_def   shape = tn_default_shape_def(TN_SHAPE_BOX);
    shape.half_size      = tns_vec(0.1, 0.1, 0.1);
    for (int i = 0; i < boxes; ++i)
        tns_solid(scene, tns_name("box%d", i + 1).text, tns_frame(tns_vec(0, 0, 0.1 + 0.2 * i)),
                  rest, 8, shape, surface);
    return scene;
}

// No box is more than a centimetre from where it was.
bool drops_stack_stands(const drop* d, const drop_pose* end)
{
    for (int i = 1; i < d->body_count; ++i)
        for (int k = 0; k < 3; ++k)
            if (!(fabs(end[i].x[k] - d->bodies[i].start.x[k]) < 0.01)) return false;
    return true;
}

// ---- Chain and ragdolls --------------------------------------------------------------------------

bool drops_rests(const drop* d, const drop_pose* end)
{
    for (int i = 1; i < d->body_count; ++i)
        if (!(speed(&end[i]) < 0.1)) return false;
    return drop_depth(d, end) < 0.01;
}

tn_scene* drops_chain(int links)
{
    const tn_twist rest  = {{0, 0, 0}, {0, 0, 0}};
    tn_scene*      scene = start("chain_drop", true);
    tn_body_id     last  = TNS_GROUND;
    tn_vec3        a     = {0, 0, 0.5};
    for (int i = 0; i < links; ++i) {
        const tn_vec3    along = tns_unit(tns_vec(1, 0.5 * tns_circle(i / 25.0).x, 0.2));
        const tn_vec3    b     = tns_add(a, tns_scale(0.1, along));
        const tn_body_id link =
            tns_capsule(scene, tns_name("link%d", i + 1).text, a, b, 0.02, rest, 0.1, surface);
        if (i > 0)
            tns_joint_at(scene, tns_name("j%d", i + 1).text, TN_JOINT_BALL, last, link, a, TNS_Z);
        last = link, a = b;
    }
    return scene;
}

typedef struct limb {
    const char* name;
    int         parent; ///< in this list
    tn_vec3     a, b;   ///< standing; the joint is at a
    double      radius, mass;
    bool        hinge; ///< about y, across the figure
} limb;

static const limb limbs[] = {{"pelvis", -1, {0, -0.07, 0.95}, {0, 0.07, 0.95}, 0.1, 12, false},
                             {"abdomen", 0, {0, 0, 1.02}, {0, 0, 1.15}, 0.1, 9, false},
                             {"chest", 1, {0, 0, 1.2}, {0, 0, 1.38}, 0.13, 18, false},
                             {"head", 2, {0, 0, 1.56}, {0, 0, 1.7}, 0.09, 6, false},
                             {"arm.l", 2, {0, 0.2, 1.42}, {0, 0.48, 1.42}, 0.045, 2.2, false},
                             {"fore.l", 4, {0, 0.48, 1.42}, {0, 0.75, 1.42}, 0.035, 1.8, false},
                             {"arm.r", 2, {0, -0.2, 1.42}, {0, -0.48, 1.42}, 0.045, 2.2, false},
                             {"fore.r", 6, {0, -0.48, 1.42}, {0, -0.75, 1.42}, 0.035, 1.8, false},
                             {"thigh.l", 0, {0, 0.11, 0.88}, {0, 0.13, 0.5}, 0.07, 8, false},
                             {"shin.l", 8, {0, 0.13, 0.5}, {0, 0.13, 0.12}, 0.05, 3.5, true},
                             {"foot.l", 9, {0, 0.13, 0.08}, {0.15, 0.13, 0.05}, 0.04, 1, true},
                             {"thigh.r", 0, {0, -0.11, 0.88}, {0, -0.13, 0.5}, 0.07, 8, false},
                             {"shin.r", 11, {0, -0.13, 0.5}, {0, -0.13, 0.12}, 0.05, 3.5, true},
                             {"foot.r", 12, {0, -0.13, 0.08}, {0.15, -0.13, 0.05}, 0.04, 1, true}};
enum { LIMBS = sizeof limbs / sizeof *limbs };

static void add_ragdoll(tn_scene* scene, int number, tn_frame at)
{
    const tn_twist rest = {{0, 0, 0}, {0, 0, 0}};
    tn_body_id     ids[LIMBS];
    for (int i = 0; i < LIMBS; ++i) {
        const limb*   l     = &limbs[i];
        const tn_vec3 down  = {0, 0, -1};
        const tn_vec3 a     = tns_place(at, tns_add(l->a, down)),
                      b     = tns_place(at, tns_add(l->b, down));
        const tns_text name = tns_name("%d.%s", number, l->name);
        ids[i] = tns_capsule(scene, name.text, a, b, l->radius, rest, l->mass, surface);
        if (l->parent < 0) continue;
        tns_joint_at(scene, name.text, l->hinge ? TN_JOINT_HINGE : TN_JOINT_BALL, ids[l->parent],
                     ids[i], a, tns_rotate(at.orientation, TNS_Y));
    }
}

// What overlaps, or nearly so, as it is drawn does not touch: shoulders and neck.
static void exclude_overlaps(tn_scene* scene)
{
    for (int first = 0; first + LIMBS <= tn_scene_body_count(scene); first += LIMBS) {
        for (int i = 0; i < LIMBS; ++i) {
            for (int k = i + 1; k < LIMBS; ++k) {
                drop_shape shapes[2] = {{TN_SHAPE_CAPSULE, 0, {0}, {1}, {0}, 0, 1},
                                        {TN_SHAPE_CAPSULE, 1, {0}, {1}, {0}, 0, 1}};
                drop_pose  poses[2];
                const int  pair[2] = {first + i, first + k};
                for (int s = 0; s < 2; ++s) {
                    const tn_body_def* def = tn_scene_body(scene, pair[s]);
                    const tn_vec3      x   = def->pose.position;
                    const tn_quat      q   = def->pose.orientation;
                    shapes[s].size[0]      = def->shapes[0].radius;
                    shapes[s].size[1]      = def->shapes[0].half_length;
                    poses[s] = (drop_pose){{x.x, x.y, x.z}, {q.w, q.x, q.y, q.z}, {0}, {0}};
                }
                const drop two = {.shape_count = 2, .shapes = shapes};
                if (drop_pair_depth(&two, 0, 1, poses) < -0.005) continue;
                tn_scene_exclude_contact(scene, (tn_body_id){(uint32_t)pair[0] + 1},
                                         (tn_body_id){(uint32_t)pair[1] + 1});
            }
        }
    }
}

tn_scene* drops_pile(int count)
{
    tn_scene* scene = start("ragdoll_drop", true);
    for (int i = 0; i < count; ++i) {
        const tn_quat lying = tns_quat_mul(tns_turn_about(TNS_Z, 0.381966 * i),
                                           tns_turn_about(TNS_Y, i % 2 ? 0.25 : -0.25));
        add_ragdoll(scene, i + 1, (tn_frame){tns_vec(0, 0, 0.6 + 0.5 * i), lying});
    }
    exclude_overlaps(scene);
    return scene;
}
