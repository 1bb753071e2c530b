#include "works.h"

#include "scenes/parts.h"
#include "scenes/scenes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double      friction = 0.5, WALK = 2.73; // [m] in 4 s: Tenon impulse, MuJoCo
static const double      CALM    = 0.3;               // [m/s]
static const tns_surface surface = {0.5, 0};

static tn_scene* start(const char* name, bool floor)
{
    tn_scene* scene = NULL;
    if (tn_scene_create(NULL, &scene) != TN_OK) exit(1);
    tn_scene_set_name(scene, name);
    if (floor) tn_scene_set_ground(scene, friction, 0);
    return scene;
}

static double speed(const peer_pose* p)
{
    return sqrt(p->v[0] * p->v[0] + p->v[1] * p->v[1] + p->v[2] * p->v[2]);
}

// ---- Chains and people ---------------------------------------------------------------------------

static tn_scene* built(const char* spec)
{
    tn_why    why   = {0};
    tn_scene* scene = NULL;
    if (tns_build(NULL, spec, &scene, &why) == TN_OK) return scene;
    fprintf(stderr, "works: %s: %s\n", spec, why.text);
    exit(1);
}

static void change_joint(tn_scene* scene, int i, const tn_joint_def* def)
{
    tn_why why = {0};
    if (tn_scene_set_joint(scene, (tn_joint_id){(uint32_t)i + 1}, def, &why) == TN_OK) return;
    fprintf(stderr, "works: %s\n", why.text);
    exit(1);
}

// Ten rods let go from the horizontal, the first joint free, all others with a spring of k: a swing
// that bends a little, however stiff it is.
static tn_scene* stiff_chain(double k)
{
    tn_scene* scene = built("chain:n=10");
    for (int i = 1; i < 10; ++i) {
        tn_joint_def def = *tn_scene_joint(scene, i);
        def.stiffness    = k;
        change_joint(scene, i, &def);
    }
    return scene;
}

// The same with welds: what it comes to as k grows. Bent by its weight it is off by 10 / k metres.
static tn_scene* welded_chain(double k)
{
    tn_scene* scene = built("chain:n=10");
    (void)k;
    for (int i = 1; i < 10; ++i) {
        tn_joint_def def = *tn_scene_joint(scene, i);
        def.type         = TN_JOINT_WELD;
        change_joint(scene, i, &def);
    }
    return scene;
}

static tn_scene* heavy_tip(double ratio)
{
    char spec[96];
    snprintf(spec, sizeof spec, "chain:n=10,angle=0.5,tip_mass=%.17g", 0.1 * (ratio - 1));
    return built(spec);
}

// 17 bodies, 7 balls and 9 hinges, floating: 36 freedoms, no springs and no limits.
static tn_scene* humanoid(double unused)
{
    tn_scene* scene = built("humanoid:held=0");
    (void)unused;
    for (int i = 0; i < tn_scene_joint_count(scene); ++i) {
        tn_joint_def def = *tn_scene_joint(scene, i);
        if (def.type == TN_JOINT_UNIVERSAL) def.type = TN_JOINT_HINGE;
        def.stiffness = def.damping = 0;
        def.limit.given             = false;
        change_joint(scene, i, &def);
    }
    return scene;
}

// Bent and moving, so that no term is zero.
static bool bend(peer_scene* s, tn_why* why)
{
    const int n         = tn_model_coordinate_count(s->model);
    double *  positions = calloc((size_t)n, sizeof(double)),
           *rates       = calloc((size_t)n, sizeof(double));
    for (int i = 0; i < n; ++i) positions[i] = 0.1 + 0.02 * (i % 7), rates[i] = 0.5 - 0.1 * (i % 5);
    const bool good = tn_state_set_joints(s->start, positions, rates, why) == TN_OK;
    free(positions);
    free(rates);
    return good;
}

// ---- Figure 1d -----------------------------------------------------------------------------------

static const double rod_radius = 0.04, stop_radius = 0.05, stop_at = 0.25;

tn_scene* work_rod(double unused)
{
    (void)unused;
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
static bool rod_stands(const peer_plain* p, const peer_pose* end)
{
    const double *x = end[1].x, *q = end[2].q, up[3] = {0, 0, 0.5};
    double        top[3];
    (void)p;
    peer_turn(q, up, top);
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

tn_scene* work_scissor(double segments)
{
    tn_scene* scene = start("scissor", false);
    tn_scene* from  = built(tns_name("scissor:segments=%d,foot=axle", (int)segments).text);
    copy_scene(scene, from, 0);
    tn_scene_free(from);
    return scene;
}

tn_scene* work_beast(double pairs)
{
    char      spec[96];
    tn_why    why  = {0};
    tn_scene *from = NULL, *scene = start("strandbeest_drop", true);
    snprintf(spec, sizeof spec, "strandbeest:legs=%d,frame=free,motor=3", 2 * (int)pairs);
    if (tns_build(NULL, spec, &from, &why) != TN_OK) {
        fprintf(stderr, "works: %s: %s\n", spec, why.text);
        exit(1);
    }
    copy_scene(scene, from, -lowest(from));
    tn_scene_free(from);
    return scene;
}

// The frame (body 1) is level, no lower than 85 % of where it was, and has gone forward by 1.4 m for
// each turn of the crank, to a fifth: 3 rad/s over 4 s are 1.9 turns.
static bool beast_walks(const peer_plain* p, const peer_pose* end)
{
    const double *x = end[1].x, *start = p->bodies[1].start.x, z[3] = {0, 0, 1};
    double        up[3];
    peer_turn(end[1].q, z, up);
    const double way =
        sqrt((x[0] - start[0]) * (x[0] - start[0]) + (x[1] - start[1]) * (x[1] - start[1]));
    return up[2] > 0.97 && x[2] > 0.85 * start[2] && fabs(way - WALK) < 0.2 * WALK;
}

// ---- Boxes ---------------------------------------------------------------------------------------

tn_scene* work_stack(double boxes)
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
static bool stack_stands(const peer_plain* p, const peer_pose* end)
{
    for (int i = 1; i < p->body_count; ++i)
        for (int k = 0; k < 3; ++k)
            if (!(fabs(end[i].x[k] - p->bodies[i].start.x[k]) < 0.01)) return false;
    return true;
}

// ---- Chain and ragdolls --------------------------------------------------------------------------

static bool rests(const peer_plain* p, const peer_pose* end)
{
    for (int i = 1; i < p->body_count; ++i)
        if (!(speed(&end[i]) < 0.1)) return false;
    return peer_depth(p, end) < 0.01;
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
                peer_shape shapes[2] = {{TN_SHAPE_CAPSULE, 0, {0}, {1}, {0}, 0, 1},
                                        {TN_SHAPE_CAPSULE, 1, {0}, {1}, {0}, 0, 1}};
                peer_pose  poses[2];
                const int  pair[2] = {first + i, first + k};
                for (int s = 0; s < 2; ++s) {
                    const tn_body_def* def = tn_scene_body(scene, pair[s]);
                    const tn_vec3      x   = def->pose.position;
                    const tn_quat      q   = def->pose.orientation;
                    shapes[s].size[0]      = def->shapes[0].radius;
                    shapes[s].size[1]      = def->shapes[0].half_length;
                    poses[s] = (peer_pose){{x.x, x.y, x.z}, {q.w, q.x, q.y, q.z}, {0}, {0}};
                }
                const peer_plain two = {.shape_count = 2, .shapes = shapes};
                if (peer_pair_depth(&two, 0, 1, poses) < -0.005) continue;
                tn_scene_exclude_contact(scene, (tn_body_id){(uint32_t)pair[0] + 1},
                                         (tn_body_id){(uint32_t)pair[1] + 1});
            }
        }
    }
}

tn_scene* work_ragdolls(double count)
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

// ---- Crowds --------------------------------------------------------------------------------------

// Root mean square of the speeds.
static double agitation(const peer_plain* p, const peer_pose* end)
{
    double sum = 0;
    int    n   = 0;
    for (int i = 1; i < p->body_count; ++i) {
        if (p->bodies[i].fixed) continue;
        sum += speed(&end[i]) * speed(&end[i]);
        ++n;
    }
    return n > 0 ? sqrt(sum / n) : 0;
}

// All lie calmly, no farther than so many metres from the middle, and no higher.
static bool lie_within(const peer_plain* p, const peer_pose* end, double far, double high)
{
    for (int i = 1; i < p->body_count; ++i) {
        const double* x = end[i].x;
        if (!p->bodies[i].fixed && !(fabs(x[0]) < far && fabs(x[1]) < far && x[2] < high))
            return false;
    }
    return agitation(p, end) < CALM;
}

// Lying on backs and bellies in the air, four to a layer as bricks are laid, none touching another.
tn_scene* work_pile(double count)
{
    static const double apart = 2.1, layer = 0.6;
    tn_scene*           scene = start("pile", true);
    for (int i = 0; i < count; ++i) {
        const double shift  = 0.25 * apart * (i / 4 % 2 == 0 ? -1 : 1),
                     x      = apart * (i % 2 == 0 ? -0.5 : 0.5) + shift,
                     y      = apart * (i / 2 % 2 == 0 ? -0.5 : 0.5) + shift;
        const tn_quat lying = tns_quat_mul(tns_turn_about(TNS_Z, 0.6180339887498949 * i),
                                           tns_turn_about(TNS_Y, i % 3 == 0 ? 0.25 : -0.25));
        add_ragdoll(scene, i + 1, (tn_frame){tns_vec(x, y, 0.6 + layer * (i / 4)), lying});
    }
    exclude_overlaps(scene);
    return scene;
}

static bool pile_lies(const peer_plain* p, const peer_pose* end)
{
    return lie_within(p, end, 6, 3);
}

// Glass balls of 8 cm fall into a bin of 60 cm, five times five to a layer, every layer off the one below.
static const double bin = 0.3, wall = 0.1, marble = 0.04;

tn_scene* work_marbles(double count)
{
    tn_scene*    scene = start("bin", true);
    tn_shape_def ball  = tn_default_shape_def(TN_SHAPE_SPHERE);
    ball.radius        = marble;
    for (int side = 0; side < 4; ++side) {
        const double  way   = bin + wall;
        const tn_vec3 out   = side < 2 ? tns_vec(side == 0 ? way : -way, 0, 1)
                                       : tns_vec(0, side == 2 ? way : -way, 1);
        tn_shape_def  shape = tns_box_shape(side < 2 ? tns_vec(wall, bin + 2 * wall, 1)
                                                     : tns_vec(bin + 2 * wall, wall, 1));
        shape.friction = friction, shape.restitution = 0;
        tns_fixed(scene, tns_name("wall%d", side + 1).text, tns_frame(out), shape);
    }
    for (int i = 0; i < count; ++i) {
        const int    layer = i / 25;
        const double off = 0.011 * (layer % 3 - 1), pitch = 0.105;
        tns_solid(scene, tns_name("marble%d", i + 1).text,
                  tns_frame(tns_vec(off + pitch * (i % 5 - 2), pitch * (i / 5 % 5 - 2) - 0.6 * off,
                                    0.1 + pitch * layer)),
                  TNS_AT_REST, 0.7, ball, surface);
    }
    return scene;
}

static bool marbles_lie(const peer_plain* p, const peer_pose* end)
{
    return lie_within(p, end, bin, 2);
}

// Ten metres of links that touch each other, let go from the horizontal, one end held a metre above the floor.
tn_scene* work_floor_chain(double links)
{
    tn_scene*       scene = start("floor_chain", true);
    const tns_links chain = {.count    = (int)links,
                             .start    = tns_vec(0, 0, 1),
                             .step     = tns_vec(0.1, 0, 0),
                             .radius   = 0.02,
                             .mass     = 0.1,
                             .joint    = TN_JOINT_BALL,
                             .axis     = TNS_Y,
                             .touching = &surface};
    tns_add_links(scene, &chain);
    return scene;
}

static bool chain_lies(const peer_plain* p, const peer_pose* end)
{
    return lie_within(p, end, 11, 1.1);
}

// ---- A car ---------------------------------------------------------------------------------------

// Each wheel is held by two arms, which turn about axes along the car, and an upright between them: a four-bar. A
// spring stands in the hinge of the lower arm, slack at the start. Wheels are balls; all four are driven.
static const double drive = 5, wheel = 0.3; // [rad/s], [m]

static void add_corner(tn_scene* scene, tn_body_id frame, int corner)
{
    const double  x = corner < 2 ? 1.2 : -1.2, side = corner % 2 == 0 ? 1 : -1;
    const tn_vec3 low = tns_vec(x, 0.4 * side, 0.34), low_end = tns_vec(x, 0.75 * side, 0.28),
                  high = tns_vec(x, 0.45 * side, 0.56), high_end = tns_vec(x, 0.72 * side, 0.54),
                  hub     = tns_vec(x, 0.85 * side, wheel);
    tn_shape_def     ball = tn_default_shape_def(TN_SHAPE_SPHERE);
    const tn_body_id lower =
                         tns_rod(scene, tns_name("lower%d", corner).text, low, low_end, 0.02, 4),
                     upper =
                         tns_rod(scene, tns_name("upper%d", corner).text, high, high_end, 0.02, 3),
                     upright = tns_rod(scene, tns_name("upright%d", corner).text, low_end, high_end,
                                       0.03, 8);
    ball.radius              = wheel;
    const tn_body_id rolls   = tns_solid(scene, tns_name("wheel%d", corner).text, tns_frame(hub),
                                         TNS_AT_REST, 15, ball, surface);
    tn_joint_def     spring  = tns_joint(TN_JOINT_HINGE, frame, lower, low, TNS_X);
    tn_joint_def     motor   = tns_joint(TN_JOINT_MOTOR, upright, rolls, hub, TNS_Y);
    spring.name              = tns_name("spring%d", corner).text;
    spring.stiffness         = 4000;
    tn_scene_add_joint(scene, &spring);
    tns_joint_at(scene, tns_name("high%d", corner).text, TN_JOINT_HINGE, frame, upper, high, TNS_X);
    tns_joint_at(scene, tns_name("foot%d", corner).text, TN_JOINT_HINGE, lower, upright, low_end,
                 TNS_X);
    tns_joint_at(scene, tns_name("head%d", corner).text, TN_JOINT_HINGE, upper, upright, high_end,
                 TNS_X);
    motor.name     = tns_name("drive%d", corner).text;
    motor.of       = TN_JOINT_HINGE;
    motor.velocity = drive;
    tn_scene_add_joint(scene, &motor);
}

tn_scene* work_car(double unused)
{
    tn_scene* scene = start("car", true);
    (void)unused;
    const tn_body_id frame =
        tns_box(scene, "frame", tns_frame(tns_vec(0, 0, 0.5)), tns_vec(1.5, 0.35, 0.15), 400);
    for (int corner = 0; corner < 4; ++corner) add_corner(scene, frame, corner);
    return scene;
}

// It has gone straight on as its wheels turn, to a fifth, and its frame is level and no lower than 0.4 m.
static bool car_drives(const peer_plain* p, const peer_pose* end)
{
    const double z[3] = {0, 0, 1}, way = 4 * drive * wheel;
    double       up[3];
    peer_turn(end[1].q, z, up);
    return up[2] > 0.97 && end[1].x[2] > 0.4 && fabs(end[1].x[1]) < 0.2 &&
           fabs(end[1].x[0] - p->bodies[1].start.x[0] - way) < 0.2 * way;
}

// ---- The list ------------------------------------------------------------------------------------

// clang-format off
#define CHAIN(n, seconds, quick) \
    {"W1", "n=" #n, WORK_MOTION, seconds, 0.1 * n, 1e-3, quick, "chain:n=" #n, NULL, 0, NULL, NULL, NULL, 0}
#define STIFF(k, rigid, quick) \
    {"W2", "k=" #k, WORK_MOTION, 2, 1, 1e-2, quick, NULL, stiff_chain, k, rigid, NULL, NULL, 0}
#define MASS(ratio, quick) \
    {"W5", "ratio=" #ratio, WORK_MOTION, 1, 1, 1e-3, quick, NULL, heavy_tip, ratio, NULL, NULL, NULL, 0}
#define SPEC(work, name, seconds, size, bar, quick, spec) \
    {work, name, WORK_MOTION, seconds, size, bar, quick, spec, NULL, 0, NULL, NULL, NULL, 0}
#define TOUCH(name, seconds, bar, quick, build, value, stood) \
    {"W8", name, WORK_CONTACT, seconds, 1, bar, quick, NULL, build, value, NULL, NULL, stood, 0}
#define CROWD(name, seconds, bar, build, value, stood) \
    {"W8", name, WORK_CONTACT, seconds, 1, bar, false, NULL, build, value, NULL, NULL, stood, 20}

const peer_work peer_works[] = {
    CHAIN(10, 0.5, true), CHAIN(30, 0.5, false), CHAIN(100, 0.5, true), CHAIN(300, 0.5, false),
    CHAIN(1000, 0.25, true), CHAIN(3000, 0.125, false), CHAIN(10000, 0.125, false),
    STIFF(1, NULL, false), STIFF(100, NULL, true), STIFF(1e4, welded_chain, false), STIFF(1e6, welded_chain, true),
    STIFF(1e8, welded_chain, false),
    SPEC("W3", "127 balls", 0.5, 1, 1e-3, true, "tree"),
    SPEC("W4", "300 hinges", 0.5, 30, 1e-3, true, "pendulum"),
    MASS(1, false), MASS(1e2, true), MASS(1e4, false), MASS(1e6, true),
    SPEC("W6", "four-bar", 2, 1, 1e-3, true, "fourbar"),
    {"W6", "scissor 10", WORK_MOTION, 1, 1, 1e-3, true, NULL, work_scissor, 10, NULL, NULL, NULL, 0},
    {"W6", "scissor 50", WORK_MOTION, 1, 1, 1e-3, false, NULL, work_scissor, 50, NULL, NULL, NULL, 0},
    {"W6", "scissor 200", WORK_MOTION, 0.5, 1, 1e-3, false, NULL, work_scissor, 200, NULL, NULL, NULL, 0},
    SPEC("W6", "strandbeest", 2, 1, 1e-3, true, "strandbeest:motor=0"),
    {"W7", "36-dof humanoid", WORK_FORWARD, 0, 1, 1e-9, true, NULL, humanoid, 0, NULL, bend, NULL, 0},
    {"W7", "falling humanoid", WORK_MOTION, 2, 1, 1e-3, true, NULL, humanoid, 0, NULL, bend, NULL, 0},
    TOUCH("rod on stop", 4, 5e-3, true, work_rod, 0, rod_stands),
    TOUCH("strandbeest walks", 4, 5e-3, true, work_beast, 6, beast_walks),
    TOUCH("20 boxes", 4, 5e-3, true, work_stack, 20, stack_stands),
    TOUCH("ragdoll", 4, 5e-3, true, work_ragdolls, 1, rests),
    CROWD("pile of 20", 4, 5e-3, work_pile, 20, pile_lies),
    CROWD("pile of 50", 4, 5e-3, work_pile, 50, pile_lies),
    CROWD("200 marbles", 4, 5e-3, work_marbles, 200, marbles_lie),
    TOUCH("car", 4, 5e-3, true, work_car, 0, car_drives),
    CROWD("chain on floor", 4, 5e-3, work_floor_chain, 100, chain_lies),
    {"W9", "3 hinges", WORK_ENERGY, 32, 0.3, 1e-2, true, "chain:n=3,joint=hinge", NULL, 0, NULL, NULL, NULL, 0},
    {"W9", "four-bar", WORK_ENERGY, 32, 1, 1e-2, true, "fourbar", NULL, 0, NULL, NULL, NULL, 0},
};
// clang-format on
const int peer_work_count = sizeof peer_works / sizeof *peer_works;

bool peer_case_open(peer_case* c, const peer_work* work, tn_why* why)
{
    tn_scene* scene = work->spec ? built(work->spec) : work->build(work->value);
    *c              = (peer_case){.work = work};
    if (!peer_scene_open(&c->scene, scene, why)) return false;
    if ((!work->prepare || work->prepare(&c->scene, why)) &&
        peer_plain_open(&c->plain, &c->scene, why))
        return true;
    peer_scene_close(&c->scene);
    return false;
}

void peer_case_close(peer_case* c)
{
    peer_plain_close(&c->plain);
    peer_scene_close(&c->scene);
}
