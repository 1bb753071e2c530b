// mocap: maps a recorded motion to the bodies of a scene, as targets with keys.
//
// Poses. Joint j of the recording has the local frame (T_j, R_j): T_j is its OFFSET, or the values
// of its position channels, R_j = R_1 R_2 R_3 in the order of its rotation channels; its pose in
// the file's world is the product of these from the root. In the rest pose every R_j is the
// identity.
//
// Axes. W rotates the file's axes to the scene's: y up, z forward, x left becomes z up, x forward,
// y left; then a rotation about the vertical makes the line from right to left joints parallel to
// that of the bodies. Scale s: bone lengths of the character over those of the recording.
//
// Rotations. Body b follows joint j; b has orientation R_b(0) in the scene when the recording is in
// its rest pose, but the rest poses may differ (arms down, arms held out). D_j is the shortest
// rotation that makes the bone of the body, from its joint to that of the next driven body,
// parallel to that of the recording:
//     R_target(t) = W R_j(t) W^T D_j R_b(0)
// A body followed by several driven ones (pelvis, chest) has D = 1. The last of a chain takes D of
// the one before it, or 1, whichever brings it closer to the recording's last bone.
//
// Positions. By default only the topmost driven body has a position target, because others would
// conflict with the joints:
//     p_target(t) = s W x_j(t) + c
// where c puts the first frame over the body's position in the scene, and the lowest point of the
// whole motion as far below the body as the lowest point of the skeleton at rest is below the
// joint, so that feet on the ground in the recording are on the ground in the scene. A joint
// without position channels stays where its body is.
//
// Springs. A critically damped spring at frequency f on an inertia I has k = I w^2 and d = 2 I w, w
// = 2 pi f. I is the inertia that the body carries: its own about its joint, with all bodies beyond
// it as points, but at most LOAD_MAX times its own smallest moment, so that explicit steps up to
// 2.7 / (2 LOAD_MAX w), at 10 Hz 1.3 ms, remain stable. Likewise with masses. Cost: O(frames
// joints) time, 64 bytes a frame and driven body.
#include "model/mocap.h"

#include "math/elementary.h"
#include "math/rotation.h"
#include "model/inertia.h"
#include "model/scene.h"

#include <math.h>

#define LOAD_MAX  16.0
#define IDENTITY  ((tn_quat){1, 0, 0, 0})
#define COOKIE    0x7e4b0ca9u
#define UNIT_SIZE 1e-300 // shorter vectors have no direction

// ---- Poses of the recording --------------------------------------------------------------------

static tn_quat turn_about(int axis, double degrees)
{
    double s, c;
    tni_sincos(degrees * (TNI_PI / 360), &s, &c);
    return (tn_quat){c, axis == 0 ? s : 0, axis == 1 ? s : 0, axis == 2 ? s : 0};
}

static tn_frame local_pose(const tn_mocap* mocap, int frame, int joint)
{
    tn_mocap_channel channels[TN_MOCAP_CHANNELS_MAX];
    const int        count  = tn_mocap_joint_channels(mocap, joint, channels);
    const double*    values = tn_mocap_values(mocap, frame, joint);
    tn_frame         pose   = {tn_mocap_joint_offset(mocap, joint), IDENTITY};
    double*          place[3];
    place[0] = &pose.position.x, place[1] = &pose.position.y, place[2] = &pose.position.z;
    for (int i = 0; i < count; ++i) {
        const int k = (int)channels[i];
        if (k < 3) *place[k] = values[i];
        else pose.orientation = tni_quat_mul(pose.orientation, turn_about(k - 3, values[i]));
    }
    return pose;
}

// The pose `inner`, given in the frame `outer`, in the frame of `outer`.
static tn_frame compose(const tn_frame* outer, const tn_frame* inner)
{
    return (tn_frame){
        tni_add(outer->position, tni_rotate(outer->orientation, inner->position)),
        tni_quat_normalised(tni_quat_mul(outer->orientation, inner->orientation)),
    };
}

tn_frame tn_mocap_pose(const tn_mocap* mocap, int frame, int joint)
{
    tn_frame pose = {{0, 0, 0}, IDENTITY};
    for (int j = joint; j >= 0; j = tn_mocap_joint_parent(mocap, j)) {
        const tn_frame local = local_pose(mocap, frame, j);
        pose                 = compose(&local, &pose);
    }
    return pose;
}

tn_frame tn_mocap_rest_pose(const tn_mocap* mocap, int joint)
{
    tn_frame pose = {{0, 0, 0}, IDENTITY};
    for (int j = joint; j >= 0; j = tn_mocap_joint_parent(mocap, j))
        pose.position = tni_add(tn_mocap_joint_offset(mocap, j), pose.position);
    return pose;
}

// ---- Bodies ------------------------------------------------------------------------------------

// A body as part of the character. World axes, at the scene's initial pose.
typedef struct char_body {
    double  mass;
    double  inertia, least; ///< largest and smallest principal moment
    tn_vec3 com, com_local;
    // Joint towards the topmost driven body; of that one: see grounded, topmost
    tn_vec3 pivot;
    bool    grounded; ///< its pivot is a joint with the ground
    // no joint leads further up; unless grounded, its pivot is its centre of mass
    bool   topmost;
    bool   visited;
    int    parent;
    double mass_beyond; ///< mass of this body and all beyond it
    double load;        ///< inertia about the pivot, bodies beyond it as points
} char_body;

// A joint of a body: entries first[b] .. first[b + 1] - 1.
typedef struct link {
    int     other; ///< -1: the ground
    tn_vec3 anchor;
} link;

typedef struct driver {
    tn_scene*               scene;
    const tn_mocap*         mocap;
    const tn_mocap_options* options;
    tni_arena               arena;
    tn_why*                 why;
    int                     joint_count, body_count, frame_count;

    int*       body_of;    ///< by joint; -1: none
    int*       above;      ///< by joint: the nearest driving joint above it; -1: none
    int*       next_count; ///< by driving joint: number of driving joints directly below it
    int*       next;       ///< by driving joint: one of those
    char_body* bodies;     ///< by body
    int*       queue;      ///< bodies, parents before children
    int        queue_count;
    int*       first;
    link*      links;

    tn_vec3*  rest;  ///< by joint, axes of the file
    tn_frame* world; ///< by joint, at one frame
    tn_quat   axes;  ///< W
    double    scale;
    // Lowest height of the motion less the lowest at rest, along the up axis [file units]
    double   floor;
    tn_quat* align; ///< D by joint
    tn_vec3* shift; ///< c by joint
    tn_key** keys;  ///< by joint
} driver;

static tn_result no_memory(const driver* c)
{
    return tni_fail(c->why, TN_ERR_MEMORY, "out of memory while mapping a motion");
}

static tn_result set_mass(driver* c, int b)
{
    const tn_body_def* def = tn_scene_body(c->scene, b);
    char_body*         f   = &c->bodies[b];
    double             I[6], volume;
    const tn_result    result =
        tni_body_inertia(&c->scene->host, def, &f->mass, &f->com_local, I, &volume, c->why);
    const tni_mat3 matrix  = {{I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2]}};
    const tn_vec3  moments = tni_symmetric_eigen(&matrix, NULL);
    const bool     planar  = def->kind == TN_BODY_PLANAR;
    f->least               = planar ? I[2] : moments.x;
    f->inertia             = planar ? I[2] : moments.z;
    f->com    = tni_add(def->pose.position, tni_rotate(def->pose.orientation, f->com_local));
    f->pivot  = f->com;
    f->parent = -1;
    return result;
}

static bool is_fixed(const driver* c, tn_body_id body)
{
    if (body.bits == 0) return true;
    const tn_body_kind kind = tn_scene_body(c->scene, (int)body.bits - 1)->kind;
    return kind == TN_BODY_STATIC || kind == TN_BODY_KINEMATIC;
}

static bool is_link(const driver* c, int joint)
{
    const tn_joint_type type = tn_scene_joint(c->scene, joint)->type;
    return type != TN_JOINT_USER && type != TN_JOINT_DISTANCE && type != TN_JOINT_ROPE;
}

static tn_vec3 anchor_of(const driver* c, const tn_joint_def* def)
{
    if (def->form == TN_JOINT_BY_ANCHOR) return def->anchor;
    if (def->body1.bits == 0) return def->frame1.position;
    const tn_frame pose = tn_scene_body(c->scene, (int)def->body1.bits - 1)->pose;
    return tni_add(pose.position, tni_rotate(pose.orientation, def->frame1.position));
}

// Counts the links of each body; once `links` is allocated, fills it.
static void visit_links(driver* c, int* used)
{
    const int count = tn_scene_joint_count(c->scene);
    for (int i = 0; i < count; ++i) {
        const tn_joint_def* def = tn_scene_joint(c->scene, i);
        if (!is_link(c, i)) continue;
        for (int end = 0; end < 2; ++end) {
            const tn_body_id here  = end == 0 ? def->body1 : def->body2;
            const tn_body_id other = end == 0 ? def->body2 : def->body1;
            if (is_fixed(c, here)) continue;
            const int b = (int)here.bits - 1, at = used[b]++;
            if (c->links == NULL) continue;
            c->links[c->first[b] + at] =
                (link){is_fixed(c, other) ? -1 : (int)other.bits - 1, anchor_of(c, def)};
        }
    }
}

static tn_result link_bodies(driver* c)
{
    int* used = TNI_TAKE(&c->arena, int, c->body_count);
    c->first  = TNI_TAKE(&c->arena, int, c->body_count + 1);
    if (c->arena.failed) return no_memory(c);
    visit_links(c, used);
    for (int b = 0; b < c->body_count; ++b) {
        c->first[b + 1] = c->first[b] + used[b];
        used[b]         = 0;
    }
    c->links = TNI_TAKE(&c->arena, link, c->first[c->body_count]);
    if (c->links == NULL) return no_memory(c);
    visit_links(c, used);
    return TN_OK;
}

// Breadth first over the joints from a topmost body.
static void walk_from(driver* c, int top)
{
    int at = c->queue_count;
    if (c->bodies[top].visited) return;
    c->bodies[top].visited = c->bodies[top].topmost = true;
    c->queue[c->queue_count++]                      = top;
    for (; at < c->queue_count; ++at) {
        const int b = c->queue[at];
        for (int i = c->first[b]; i < c->first[b + 1]; ++i) {
            const link* l = &c->links[i];
            if (l->other < 0 && b == top && !c->bodies[top].grounded) {
                c->bodies[top].grounded = true;
                c->bodies[top].pivot    = l->anchor;
            }
            if (l->other < 0 || c->bodies[l->other].visited) continue;
            char_body* f               = &c->bodies[l->other];
            f->visited                 = true;
            f->parent                  = b;
            f->pivot                   = l->anchor;
            c->queue[c->queue_count++] = l->other;
        }
    }
}

static double squared_distance(tn_vec3 a, tn_vec3 b)
{
    const tn_vec3 d = tni_sub(a, b);
    return tni_dot(d, d);
}

static tn_result measure_bodies(driver* c)
{
    TRY(link_bodies(c));
    for (int b = 0; b < c->body_count; ++b) TRY(set_mass(c, b));
    for (int j = 0; j < c->joint_count; ++j) {
        if (c->body_of[j] >= 0) walk_from(c, c->body_of[j]);
    }
    for (int i = c->queue_count - 1; i >= 0; --i) {
        char_body* f = &c->bodies[c->queue[i]];
        f->mass_beyond += f->mass;
        f->load += f->inertia + f->mass * squared_distance(f->com, f->pivot);
        if (f->parent < 0) continue;
        char_body* p = &c->bodies[f->parent];
        p->mass_beyond += f->mass_beyond;
        p->load += f->mass_beyond * squared_distance(f->pivot, p->pivot);
    }
    return TN_OK;
}

// ---- Axes and scale ----------------------------------------------------------------------------

static char_body* body_at(const driver* c, int joint)
{
    return &c->bodies[c->body_of[joint]];
}

static void measure_joints(driver* c)
{
    for (int j = 0; j < c->joint_count; ++j) {
        const int parent = tn_mocap_joint_parent(c->mocap, j);
        c->rest[j]       = tn_mocap_joint_offset(c->mocap, j);
        if (parent >= 0) c->rest[j] = tni_add(c->rest[parent], c->rest[j]);
        c->above[j] = parent < 0 ? -1 : c->body_of[parent] >= 0 ? parent : c->above[parent];
        if (c->body_of[j] < 0 || c->above[j] < 0) continue;
        c->next_count[c->above[j]]++;
        c->next[c->above[j]] = j;
    }
}

// The rotation about z from the horizontal part of a to that of b.
static tn_quat heading(tn_vec3 a, tn_vec3 b)
{
    const double n = sqrt((a.x * a.x + a.y * a.y) * (b.x * b.x + b.y * b.y));
    if (!(n > UNIT_SIZE && n < HUGE_VAL)) return IDENTITY;
    const double c = (a.x * b.x + a.y * b.y) / n, s = (a.x * b.y - a.y * b.x) / n;
    // Half the angle, by the one of 1 + c and 1 - c that does not cancel.
    const double larger = sqrt(0.5 * (1 + fabs(c))), smaller = 0.5 * s / larger;
    return tni_quat_normalised((tn_quat){c < 0 ? smaller : larger, 0, 0, c < 0 ? larger : smaller});
}

static void find_axes(driver* c)
{
    const bool y_up   = c->options->up == TN_MOCAP_UP_Y;
    tn_vec3    across = {0}, body_across = {0}; // from right to left
    c->axes = y_up ? (tn_quat){0.5, 0.5, 0.5, 0.5} : IDENTITY;
    for (int j = 0; j < c->joint_count; ++j) {
        if (c->body_of[j] < 0) continue;
        const char   side = tni_label_of(tn_mocap_joint_name(c->mocap, j)).side;
        const double sign = side == 'l' ? 1 : side == 'r' ? -1 : 0;
        across            = tni_add_scaled(across, sign, c->rest[j]);
        body_across       = tni_add_scaled(body_across, sign, body_at(c, j)->pivot);
    }
    const tn_quat turn = heading(tni_rotate(c->axes, across), body_across);
    c->axes            = tni_quat_normalised(tni_quat_mul(turn, c->axes));
}

typedef struct box {
    tn_vec3 lower, upper;
    bool    filled;
} box;

static void box_add(box* b, tn_vec3 p)
{
    if (!b->filled) *b = (box){p, p, true};
    b->lower = tni_vec3(fmin(b->lower.x, p.x), fmin(b->lower.y, p.y), fmin(b->lower.z, p.z));
    b->upper = tni_vec3(fmax(b->upper.x, p.x), fmax(b->upper.y, p.y), fmax(b->upper.z, p.z));
}

// If no bone has a counterpart: ratio of the overall sizes.
static double scale_by_extent(const driver* c)
{
    box skeleton = {0}, bodies = {0};
    for (int j = 0; j < c->joint_count; ++j) {
        box_add(&skeleton, c->rest[j]);
        if (c->body_of[j] < 0) continue;
        box_add(&bodies, body_at(c, j)->pivot);
        box_add(&bodies, body_at(c, j)->com);
    }
    for (int e = 0; e < tn_mocap_end_count(c->mocap); ++e)
        box_add(&skeleton, tni_add(c->rest[tn_mocap_end_joint(c->mocap, e)],
                                   tn_mocap_end_offset(c->mocap, e)));
    const double body_bone  = tni_norm(tni_sub(bodies.upper, bodies.lower)),
                 mocap_bone = tni_norm(tni_sub(skeleton.upper, skeleton.lower));
    return body_bone > 0 && mocap_bone > 0 && isfinite(body_bone / mocap_bone)
               ? body_bone / mocap_bone
               : 1;
}

static double scale_by_bones(const driver* c)
{
    double body_bone = 0, mocap_bone = 0;
    for (int j = 0; j < c->joint_count; ++j) {
        if (c->body_of[j] < 0 || c->above[j] < 0) continue;
        const char_body *f = body_at(c, j), *p = body_at(c, c->above[j]);
        if (p->topmost && !p->grounded) continue; // its pivot is no joint
        body_bone += tni_norm(tni_sub(f->pivot, p->pivot));
        mocap_bone += tni_norm(tni_sub(c->rest[j], c->rest[c->above[j]]));
    }
    return body_bone > 0 && mocap_bone > 0 && isfinite(body_bone / mocap_bone)
               ? body_bone / mocap_bone
               : scale_by_extent(c);
}

// ---- Differences of the rest poses -------------------------------------------------------------

static bool unit(tn_vec3* v)
{
    const double n = tni_norm(*v);
    if (!(n > UNIT_SIZE && n < HUGE_VAL)) return false;
    *v = tni_scale(1 / n, *v);
    return true;
}

// The shortest rotation from unit vector a to unit vector b.
static tn_quat shortest_turn(tn_vec3 a, tn_vec3 b)
{
    const double  c = tni_dot(a, b);
    const tn_vec3 s = tni_cross(a, b);
    if (c >= 0) return tni_quat_normalised((tn_quat){1 + c, s.x, s.y, s.z});
    const double  n = tni_norm(s), sine = sqrt(0.5 * (1 - c)); // of half the angle
    const tn_vec3 axis =
        n > 1e-12 ? tni_scale(1 / n, s) : tni_perpendicular(a); // opposite vectors: any axis
    return tni_quat_normalised(
        (tn_quat){0.5 * n / sine, sine * axis.x, sine * axis.y, sine * axis.z});
}

// From the joint to the mean of its children and ends.
static tn_vec3 last_bone(const driver* c, int joint)
{
    tn_vec3 sum = {0};
    for (int j = joint + 1; j < c->joint_count; ++j) {
        if (tn_mocap_joint_parent(c->mocap, j) == joint)
            sum = tni_add(sum, tn_mocap_joint_offset(c->mocap, j));
    }
    for (int e = 0; e < tn_mocap_end_count(c->mocap); ++e) {
        if (tn_mocap_end_joint(c->mocap, e) == joint)
            sum = tni_add(sum, tn_mocap_end_offset(c->mocap, e));
    }
    return sum;
}

static void align_joint(driver* c, int j)
{
    const char_body* f   = body_at(c, j);
    const int        end = c->next_count[j] == 1 ? c->next[j] : -1;
    c->align[j]          = IDENTITY;
    if (c->next_count[j] > 1) return;
    tn_vec3 body_bone  = tni_sub(end >= 0 ? body_at(c, end)->pivot : f->com, f->pivot);
    tn_vec3 mocap_bone = end >= 0 ? tni_sub(c->rest[end], c->rest[j]) : last_bone(c, j);
    mocap_bone         = tni_rotate(c->axes, mocap_bone);
    if (!unit(&body_bone) || !unit(&mocap_bone)) {
        if (c->above[j] >= 0) c->align[j] = c->align[c->above[j]];
    } else if (end >= 0) {
        c->align[j] = shortest_turn(body_bone, mocap_bone);
    } else if (c->above[j] >= 0) {
        const tn_quat D = c->align[c->above[j]];
        if (tni_dot(tni_rotate(D, body_bone), mocap_bone) > tni_dot(body_bone, mocap_bone))
            c->align[j] = D;
    }
}

// ---- Along the motion --------------------------------------------------------------------------

static void pose_all(driver* c, int frame)
{
    for (int j = 0; j < c->joint_count; ++j) {
        const int parent = tn_mocap_joint_parent(c->mocap, j);
        c->world[j]      = local_pose(c->mocap, frame, j);
        if (parent >= 0) c->world[j] = compose(&c->world[parent], &c->world[j]);
    }
}

static double height(const driver* c, tn_vec3 p)
{
    return tni_rotate(c->axes, p).z;
}

static double lowest(const driver* c)
{
    double low = HUGE_VAL;
    for (int j = 0; j < c->joint_count; ++j) low = fmin(low, height(c, c->world[j].position));
    for (int e = 0; e < tn_mocap_end_count(c->mocap); ++e) {
        const tn_frame* at  = &c->world[tn_mocap_end_joint(c->mocap, e)];
        const tn_vec3   end = tni_rotate(at->orientation, tn_mocap_end_offset(c->mocap, e));
        low                 = fmin(low, height(c, tni_add(at->position, end)));
    }
    return low;
}

static void find_floor(driver* c)
{
    double motion = HUGE_VAL;
    for (int frame = 0; frame < c->frame_count; ++frame) {
        pose_all(c, frame);
        motion = fmin(motion, lowest(c));
    }
    for (int j = 0; j < c->joint_count; ++j) c->world[j] = (tn_frame){c->rest[j], IDENTITY};
    c->floor = motion - lowest(c);
}

// True if the joint or one above it has position channels.
static bool has_translation(const driver* c, int joint)
{
    tn_mocap_channel channels[TN_MOCAP_CHANNELS_MAX];
    for (int j = joint; j >= 0; j = tn_mocap_joint_parent(c->mocap, j)) {
        const int count = tn_mocap_joint_channels(c->mocap, j, channels);
        for (int i = 0; i < count; ++i) {
            if ((int)channels[i] < 3) return true;
        }
    }
    return false;
}

// c of each joint; `world` must be the first frame's.
static void find_shifts(driver* c)
{
    for (int j = 0; j < c->joint_count; ++j) {
        if (c->body_of[j] < 0) continue;
        if (c->above[j] >= 0) {
            c->shift[j] = c->shift[c->above[j]];
            continue;
        }
        const char_body* f  = body_at(c, j);
        tn_vec3          at = tni_rotate(c->axes, c->world[j].position);
        if (!f->grounded && has_translation(c, j)) at.z = c->floor + height(c, c->rest[j]);
        c->shift[j] = tni_add_scaled(f->pivot, -c->scale, at);
    }
}

static tn_frame target_pose(const driver* c, int j)
{
    const tn_quat R0 = tn_scene_body(c->scene, c->body_of[j])->pose.orientation;
    const tn_quat WRW =
        tni_quat_mul(tni_quat_mul(c->axes, c->world[j].orientation), tni_quat_conjugate(c->axes));
    return (tn_frame){
        tni_add_scaled(c->shift[j], c->scale, tni_rotate(c->axes, c->world[j].position)),
        tni_quat_normalised(tni_quat_mul(WRW, tni_quat_mul(c->align[j], R0))),
    };
}

// Interpolates from the pose in the scene to the target's, by a weight that rises smoothly from 0
// to 1.
static tn_frame blended(const driver* c, int j, tn_frame target, double elapsed)
{
    if (!(elapsed < c->options->blend)) return target;
    const double  s = elapsed / c->options->blend, share = s * s * (3 - 2 * s);
    const tn_vec3 p0   = body_at(c, j)->pivot;
    const tn_quat R0   = tn_scene_body(c->scene, c->body_of[j])->pose.orientation;
    const tn_vec3 turn = tni_quat_log(tni_quat_mul(target.orientation, tni_quat_conjugate(R0)));
    return (tn_frame){
        tni_add_scaled(p0, share, tni_sub(target.position, p0)),
        tni_quat_normalised(tni_quat_mul(tni_quat_exp(tni_scale(share, turn)), R0)),
    };
}

static tn_result make_keys(driver* c)
{
    const double step = tn_mocap_frame_time(c->mocap);
    for (int j = 0; j < c->joint_count; ++j) {
        if (c->body_of[j] >= 0) c->keys[j] = TNI_TAKE(&c->arena, tn_key, c->frame_count);
    }
    if (c->arena.failed) return no_memory(c);
    for (int frame = 0; frame < c->frame_count; ++frame) {
        const double elapsed = frame * step;
        pose_all(c, frame);
        if (frame == 0) find_shifts(c);
        for (int j = 0; j < c->joint_count; ++j) {
            if (c->body_of[j] < 0) continue;
            c->keys[j][frame] =
                (tn_key){c->options->start + elapsed, blended(c, j, target_pose(c, j), elapsed)};
        }
    }
    return TN_OK;
}

// ---- Targets -----------------------------------------------------------------------------------

static tn_target_def target_for(const driver* c, int j)
{
    const tn_mocap_options* o     = c->options;
    const char_body*        f     = body_at(c, j);
    const tn_frame          pose  = tn_scene_body(c->scene, c->body_of[j])->pose;
    const double            w     = 2 * TNI_PI * o->frequency;
    const double            I     = fmin(f->load, LOAD_MAX * f->least);
    const double            m     = fmin(f->mass_beyond, LOAD_MAX * f->mass);
    const bool              loose = c->above[j] < 0 && !f->grounded;
    const bool              has_position =
        o->places == TN_MOCAP_PLACE_ALL || (o->places == TN_MOCAP_PLACE_ROOT && loose);
    tn_target_def t = tn_default_target_def();
    t.body          = (tn_body_id){(uint32_t)c->body_of[j] + 1};
    t.keys          = c->keys[j];
    t.key_count     = c->frame_count;
    t.point = tni_rotate(tni_quat_conjugate(pose.orientation), tni_sub(f->pivot, pose.position));
    t.stiffness         = has_position ? tni_given_or(o->stiffness, m * w * w) : 0;
    t.damping           = has_position ? tni_given_or(o->damping, 2 * m * w) : 0;
    t.angular_stiffness = tni_given_or(o->angular_stiffness, I * w * w);
    t.angular_damping   = tni_given_or(o->angular_damping, 2 * I * w);
    return t;
}

// The last `count` targets are new. A body that already has a target gets the new one in its place,
// under the old name; its further targets are set to zero.
static void replace_targets(driver* c, int count)
{
    tni_part_list* list  = &c->scene->parts[TNI_PART_TARGET];
    tn_target_def* items = list->items;
    const int      old   = list->count - count;
    int            kept  = old;
    for (int i = old; i < old + count; ++i) {
        bool placed = false;
        for (int k = 0; k < old; ++k) {
            tn_target_def* t = &items[k];
            if (t->body.bits != items[i].body.bits) continue;
            const char* name = t->name;
            if (!placed) *t = items[i], t->name = name;
            else t->stiffness = t->damping = t->angular_stiffness = t->angular_damping = 0;
            placed = true;
        }
        if (!placed) items[kept++] = items[i];
    }
    list->count = kept;
}

static tn_result add_targets(driver* c)
{
    const tn_why   problem = c->scene->problem;
    tni_part_list* list    = &c->scene->parts[TNI_PART_TARGET];
    const int      old     = list->count;
    tn_result      result  = TN_OK;
    c->scene->problem      = (tn_why){.result = TN_OK};
    for (int j = 0; j < c->joint_count && result == TN_OK; ++j) {
        if (c->body_of[j] < 0) continue;
        const tn_target_def target = target_for(c, j);
        if (tn_scene_add_target(c->scene, &target).bits != 0) continue;
        result                  = c->scene->problem.result;
        const tn_body_def* body = tn_scene_body(c->scene, c->body_of[j]);
        tni_fail(c->why, result, "joint '%.60s' cannot drive body '%.60s': %.100s",
                 tn_mocap_joint_name(c->mocap, j), body->name, c->scene->problem.text);
    }
    c->scene->problem = problem;
    if (result == TN_OK) replace_targets(c, list->count - old);
    else list->count = old;
    return result;
}

// ---- Driving a scene ---------------------------------------------------------------------------

tn_mocap_options tn_default_mocap_options(void)
{
    return (tn_mocap_options){.scale             = TN_UNSET,
                              .blend             = 0.5,
                              .frequency         = 10,
                              .stiffness         = TN_UNSET,
                              .damping           = TN_UNSET,
                              .angular_stiffness = TN_UNSET,
                              .angular_damping   = TN_UNSET,
                              .cookie            = COOKIE};
}

static bool unset_or(double value, bool zero)
{
    return isnan(value) || (isfinite(value) && (value > 0 || (zero && value == 0)));
}

static tn_result check_options(const tn_mocap_options* o, tn_why* why)
{
    TN_ASSERT(o->cookie == COOKIE && "the options were made by tn_default_mocap_options()");
    if (o->cookie != COOKIE)
        return tni_fail(why, TN_ERR_MODEL,
                        "tn_mocap_options were not made by tn_default_mocap_options()");
    if ((unsigned)o->up > TN_MOCAP_UP_Z || (unsigned)o->places > TN_MOCAP_PLACE_ALL)
        return tni_fail(why, TN_ERR_MODEL, "mocap: unknown up axis or places");
    if (!unset_or(o->scale, false)) return tni_fail(why, TN_ERR_MODEL, "mocap: scale must be > 0");
    if (!isfinite(o->start) || !(o->blend >= 0) || !isfinite(o->blend))
        return tni_fail(why, TN_ERR_MODEL, "mocap: start must be finite and blend >= 0");
    if (!(o->frequency > 0) || !isfinite(o->frequency))
        return tni_fail(why, TN_ERR_MODEL, "mocap: frequency must be > 0");
    if (!unset_or(o->stiffness, true) || !unset_or(o->damping, true) ||
        !unset_or(o->angular_stiffness, true) || !unset_or(o->angular_damping, true))
        return tni_fail(why, TN_ERR_MODEL, "mocap: stiffness and damping must be >= 0");
    return TN_OK;
}

static bool take_all(driver* c)
{
    const int joints = c->joint_count, body_count = c->body_count;
    c->body_of    = TNI_TAKE(&c->arena, int, joints);
    c->above      = TNI_TAKE(&c->arena, int, joints);
    c->next_count = TNI_TAKE(&c->arena, int, joints);
    c->next       = TNI_TAKE(&c->arena, int, joints);
    c->rest       = TNI_TAKE(&c->arena, tn_vec3, joints);
    c->world      = TNI_TAKE(&c->arena, tn_frame, joints);
    c->align      = TNI_TAKE(&c->arena, tn_quat, joints);
    c->shift      = TNI_TAKE(&c->arena, tn_vec3, joints);
    c->keys       = TNI_TAKE(&c->arena, tn_key*, joints);
    c->bodies     = TNI_TAKE(&c->arena, char_body, body_count);
    c->queue      = TNI_TAKE(&c->arena, int, body_count);
    return !c->arena.failed;
}

static tn_result drive(driver* c)
{
    if (!take_all(c)) return no_memory(c);
    TRY(tni_mocap_match(c->scene, c->mocap, c->options, &c->arena, c->body_of, c->why));
    TRY(measure_bodies(c));
    measure_joints(c);
    find_axes(c);
    c->scale = tni_given_or(c->options->scale, scale_by_bones(c));
    for (int j = 0; j < c->joint_count; ++j) {
        if (c->body_of[j] >= 0) align_joint(c, j);
    }
    find_floor(c);
    TRY(make_keys(c));
    return add_targets(c);
}

static void fill_report(const driver* c, tn_mocap_report* report)
{
    const char* prefix   = c->options->prefix != NULL ? c->options->prefix : "";
    report->scale        = c->scale;
    report->driven_count = 0;
    report->still_count  = 0;
    for (int j = 0; j < c->joint_count; ++j) {
        report->driven_count += c->body_of[j] >= 0;
        if (report->bodies != NULL) report->bodies[j] = (tn_body_id){(uint32_t)(c->body_of[j] + 1)};
    }
    for (int b = 0; b < c->body_count; ++b) {
        const tn_body_def* def = tn_scene_body(c->scene, b);
        report->still_count +=
            tni_can_be_driven(def) && strncmp(def->name, prefix, strlen(prefix)) == 0;
    }
    report->still_count -= report->driven_count;
}

tn_result tn_mocap_drive(tn_scene* scene, const tn_mocap* mocap, const tn_mocap_options* options,
                         tn_mocap_report* report, tn_why* why)
{
    TRY(check_options(options, why));
    driver    c      = {.scene       = scene,
                        .mocap       = mocap,
                        .options     = options,
                        .arena       = tni_arena_make(&scene->host),
                        .why         = why,
                        .joint_count = tn_mocap_joint_count(mocap),
                        .body_count  = tn_scene_body_count(scene),
                        .frame_count = tn_mocap_frame_count(mocap)};
    tn_result result = drive(&c);
    if (result == TN_OK && report != NULL) fill_report(&c, report);
    tni_arena_free(&c.arena);
    return result;
}
