// export_bvh: a skeleton and its motion in Biovision's format (src/io/mocap_bvh.c has it on top).
//
// Every body that can move is a joint of the skeleton, at the anchor of the joint of the mechanism that leads to
// it. Which one leads is found by going through the mechanism's joints in their order: one that ties two parts
// not yet tied together joins the skeleton, one that closes a loop is left out (the motion closes it all
// the same). Ropes and distances tie nothing. Trees hang on the ground, on bodies that follow keys, or
// else on the first of their bodies. Several of them get a common root, since many programs read only one.
//
// At zero angles the skeleton stands as the mechanism does in the first frame. With W(t) the turn of a body since
// then, N(t) its anchor, and p the parent:
//
//     OFFSET = N(0) - N_p(0),   rotation = W_p^T W,   position = W_p^T (N - N_p)
//
// Positions are written for roots, and for joints whose OFFSET alone would not do: slides and the like.
// y is up: (x, y, z) of the scene is (x, z, -y) of the file. Metres, and degrees about z, x, y, which never jump.
#include "export.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUND = -1, NONE = -1, INDENT_MAX = 30 };
#define OFFSET_TOLERANCE 1e-7 ///< [m]

typedef struct bone {
    int     parent;      ///< body, or GROUND: a root
    int     first, next; ///< child, sibling
    int     tie;         ///< first of its ties, while the forest grows
    tn_vec3 anchor;      ///< in the body's frame
    bool    used, slides;
    double  angles[3]; ///< of the last frame [degrees]
} bone;

/// A joint that is part of the skeleton, as seen from one of its bodies.
typedef struct tie {
    int joint, other, side, next;
} tie;

typedef struct skeleton {
    const tnc_job*  job;
    const tnc_film* film;
    int             body_count, root_count, left_out;
    bone*           bones; ///< one a body
    int*            group; ///< of union-find; the ground is body_count
    tie*            ties;
    int             tie_count;
    int             root;  ///< the first
    int*            order; ///< bodies as they stand in the file
    int             order_count;
} skeleton;

static tn_body_id id_of(int body)
{
    return (tn_body_id){(uint32_t)body + 1};
}

static tn_body_kind kind_of(const skeleton* s, int body)
{
    return tn_model_body_kind(s->job->model, id_of(body));
}

// ---- The forest ----------------------------------------------------------------------------------

static int group_of(const skeleton* s, int body)
{
    while (s->group[body] != body) body = s->group[body] = s->group[s->group[body]];
    return body;
}

// The ground for what is part of it.
static int vertex_of(const skeleton* s, tn_body_id body)
{
    const int i = (int)body.bits - 1;
    return i < 0 || kind_of(s, i) == TN_BODY_STATIC ? s->body_count : i;
}

static void add_tie(skeleton* s, int body, int other, int joint, int side)
{
    if (body == s->body_count) return;
    s->ties[s->tie_count] = (tie){joint, other, side, s->bones[body].tie};
    s->bones[body].tie    = s->tie_count++;
}

static void tie_joints(skeleton* s)
{
    const int joints = tn_model_counts(s->job->model).joints;
    for (int i = 0; i < joints; ++i) {
        if (tn_scene_constraint(s->job->scene, i)) continue;
        const tn_joint_def* def = tn_scene_joint(s->job->scene, i);
        if (def->type == TN_JOINT_ROPE || def->type == TN_JOINT_DISTANCE) continue;
        const int a = vertex_of(s, def->body1), b = vertex_of(s, def->body2);
        const int group_a = group_of(s, a), group_b = group_of(s, b);
        s->left_out += group_a == group_b;
        if (group_a == group_b) continue;
        s->group[group_a] = group_b;
        add_tie(s, a, b, i, 0);
        add_tie(s, b, a, i, 1);
    }
}

// The child's end of the tie is its place.
static void hang(skeleton* s, int body, int parent, const tie* t, int* last)
{
    bone* b   = &s->bones[body];
    b->used   = true;
    b->parent = parent;
    b->next   = NONE;
    if (t) {
        const tn_joint_id joint = {(uint32_t)t->joint + 1};
        b->anchor               = tnc_unplace(tn_state_pose(s->job->state, id_of(body)),
                                              tn_state_joint_anchor(s->job->state, joint, t->side));
    }
    if (*last != NONE) s->bones[*last].next = body;
    else if (parent != GROUND) s->bones[parent].first = body;
    else s->root = body;
    *last = body;
}

// All that hangs on the bodies of order[from ..], in turn.
static void spread(skeleton* s, int from)
{
    for (int i = from; i < s->order_count; ++i) {
        const int body = s->order[i];
        int       last = NONE;
        for (int k = s->bones[body].tie; k != NONE; k = s->ties[k].next) {
            const int child = s->ties[k].other;
            if (child == s->body_count || s->bones[child].used) continue;
            tie back  = s->ties[k];
            back.side = 1 - back.side;
            hang(s, child, body, &back, &last);
            s->order[s->order_count++] = child;
        }
    }
}

static const tie* tie_to_ground(const skeleton* s, int body)
{
    for (int k = s->bones[body].tie; k != NONE; k = s->ties[k].next)
        if (s->ties[k].other == s->body_count) return &s->ties[k];
    return NULL;
}

// Those on the ground and on keys come first, so that the others hang on them.
static void find_roots(skeleton* s)
{
    int last = NONE;
    for (int pass = 0; pass < 2; ++pass) {
        for (int i = 0; i < s->body_count; ++i) {
            const tie* ground = tie_to_ground(s, i);
            if (s->bones[i].used || kind_of(s, i) == TN_BODY_STATIC) continue;
            if (pass == 0 && !ground && kind_of(s, i) != TN_BODY_KINEMATIC) continue;
            hang(s, i, GROUND, ground, &last);
            s->root_count++;
            s->order[s->order_count++] = i;
            if (pass == 1) spread(s, s->order_count - 1);
        }
        if (pass == 0) spread(s, 0);
    }
}

static bool grow(skeleton* s)
{
    const size_t bodies = (size_t)s->body_count + 1;
    s->bones            = calloc(bodies, sizeof *s->bones);
    s->group            = malloc(bodies * sizeof *s->group);
    s->order            = malloc(bodies * sizeof *s->order);
    s->ties = malloc(2 * bodies * sizeof *s->ties); // a forest has fewer joints than bodies
    if (!s->bones || !s->group || !s->order || !s->ties) return false;
    for (int i = 0; i <= s->body_count; ++i) {
        s->bones[i].tie = s->bones[i].first = s->bones[i].next = NONE;
        s->group[i]                                            = i;
    }
    for (int i = 0; i < s->body_count; ++i) {
        const tn_body_kind kind = kind_of(s, i);
        if (kind == TN_BODY_KINEMATIC || kind == TN_BODY_STATIC) s->group[i] = s->body_count;
    }
    tie_joints(s);
    find_roots(s);
    return true;
}

// ---- Places and turns ----------------------------------------------------------------------------

/// Where a joint of the skeleton is, and how far its body has turned since the first frame.
static tn_frame node_at(const skeleton* s, size_t frame, int body)
{
    if (body == GROUND) return (tn_frame){{0}, {1, 0, 0, 0}};
    const tn_frame now = tnc_film_pose(s->film, frame, body);
    const tn_quat  q   = tnc_film_pose(s->film, 0, body).orientation;
    return (tn_frame){tnc_place(now, s->bones[body].anchor),
                      tnc_turned(now.orientation, tnc_back(q))};
}

static tn_frame node_in_parent(const skeleton* s, size_t frame, int body)
{
    const tn_frame parent = node_at(s, frame, s->bones[body].parent);
    const tn_frame node   = node_at(s, frame, body);
    return (tn_frame){tnc_unplace(parent, node.position),
                      tnc_turned(tnc_back(parent.orientation), node.orientation)};
}

static void find_slides(skeleton* s)
{
    for (int i = 0; i < s->order_count; ++i) {
        bone*         b    = &s->bones[s->order[i]];
        const tn_vec3 rest = node_in_parent(s, 0, s->order[i]).position;
        b->slides          = b->parent == GROUND;
        for (size_t f = 1; f < s->film->frame_count && !b->slides; ++f) {
            const tn_vec3 now = node_in_parent(s, f, s->order[i]).position;
            b->slides         = !(tnc_length(tnc_sub(now, rest)) <= OFFSET_TOLERANCE);
        }
    }
}

static tn_vec3 y_up(tn_vec3 v)
{
    return (tn_vec3){v.x, v.z, -v.y};
}

// The nearest angle to `near` that is the same but for whole turns.
static double unwind(double angle, double near)
{
    return angle - 360 * floor((angle - near) / 360 + 0.5);
}

// R = Rz(a) Rx(b) Ry(c), in degrees, near the angles that were.
static void find_angles(tn_quat q, double angles[3])
{
    const double degree = 57.295779513082320877;
    const double norm   = q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z;
    const double k      = norm > 0 ? 2 / norm : 0;
    const double x = q.x, y = q.z, z = -q.y, w = q.w; // y up
    const double r00 = 1 - k * (y * y + z * z), r01 = k * (x * y - w * z);
    const double r10 = k * (x * y + w * z), r11 = 1 - k * (x * x + z * z);
    const double r20 = k * (x * z - w * y), r21 = k * (y * z + w * x),
                 r22  = 1 - k * (x * x + y * y);
    const double flat = hypot(r01, r11);
    double a[3] = {atan2(-r01, r11) * degree, atan2(r21, flat) * degree, atan2(-r20, r22) * degree};
    if (flat < 1e-9) { // z and y are one axis: the latter stays
        a[2] = angles[2];
        a[0] = atan2(r10, r00) * degree - (r21 > 0 ? a[2] : -a[2]);
    }
    const double b[3]  = {a[0] + 180, 180 - a[1], a[2] + 180}; // the same turn
    double       far_a = 0, far_b = 0, near_a[3], near_b[3];
    for (int i = 0; i < 3; ++i) {
        near_a[i] = unwind(a[i], angles[i]);
        near_b[i] = unwind(b[i], angles[i]);
        far_a += fabs(near_a[i] - angles[i]);
        far_b += fabs(near_b[i] - angles[i]);
    }
    memcpy(angles, far_a <= far_b ? near_a : near_b, sizeof near_a);
}

// ---- Text ----------------------------------------------------------------------------------------

static void put_line(tnc_out* out, int depth, const char* text)
{
    const int shown = depth < INDENT_MAX ? depth : INDENT_MAX;
    tnc_put(out, "%*s%s", 2 * shown, "", text);
}

// Thousandths of a millionth are noise.
static double rounded(double value)
{
    return fabs(value) < 1e6 ? floor(value * 1e9 + 0.5) / 1e9 + 0.0 : value;
}

static void put_three(tnc_out* out, const char* before, double a, double b, double c)
{
    tnc_put(out, "%s%.12g %.12g %.12g", before, rounded(a), rounded(b), rounded(c));
}

static void put_offset(tnc_out* out, int depth, tn_vec3 scene)
{
    const tn_vec3 v = y_up(scene);
    put_line(out, depth, "OFFSET");
    put_three(out, " ", v.x, v.y, v.z);
    tnc_put(out, "\n");
}

// Programs end a name at a blank: names with blanks get underscores, and a number that keeps them apart.
static void put_name(const skeleton* s, tnc_out* out, int body)
{
    const char* name    = tn_model_body_name(s->job->model, id_of(body));
    bool        changed = false;
    for (const unsigned char* c = (const unsigned char*)name; *c; ++c) {
        const bool bad = *c <= ' ' || *c == 0x7f || *c == '{' || *c == '}';
        putc(bad ? '_' : *c, out->file);
        changed = changed || bad;
    }
    if (changed) tnc_put(out, "_%d", body + 1);
    tnc_put(out, "\n");
}

static void put_end(const skeleton* s, tnc_out* out, int depth, int body)
{
    const tn_frame pose = tnc_film_pose(s->film, 0, body);
    const tn_vec3  com  = tn_model_body_com(s->job->model, id_of(body));
    tn_vec3 tip = tnc_turn(pose.orientation, tnc_scale(tnc_sub(com, s->bones[body].anchor), 2));
    if (!(tnc_length(tip) > 1e-4)) tip = (tn_vec3){0, 0, 0.05};
    put_line(out, depth, "End Site\n");
    put_line(out, depth, "{\n");
    put_offset(out, depth + 1, tip);
    put_line(out, depth, "}\n");
}

static void open_bone(const skeleton* s, tnc_out* out, int depth, int body)
{
    const bone* b = &s->bones[body];
    put_line(out, depth, depth == 0 ? "ROOT " : "JOINT ");
    put_name(s, out, body);
    put_line(out, depth, "{\n");
    put_offset(out, depth + 1, node_in_parent(s, 0, body).position);
    put_line(out, depth + 1,
             b->slides ? "CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\n"
                       : "CHANNELS 3 Zrotation Xrotation Yrotation\n");
    if (b->first == NONE) put_end(s, out, depth + 1, body);
}

// Without recursion: a chain may have very many links. `order` becomes that of the file.
static void put_hierarchy(skeleton* s, tnc_out* out)
{
    const bool common = s->root_count > 1;
    int        depth = common, body = s->root;
    s->order_count = 0;
    tnc_put(out, "HIERARCHY\n");
    if (common)
        tnc_put(out,
                "ROOT %s\n{\n  OFFSET 0 0 0\n"
                "  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\n",
                tn_model_find_body(s->job->model, "scene").bits ? "scene_root" : "scene");
    while (body != GROUND) {
        open_bone(s, out, depth, body);
        s->order[s->order_count++] = body;
        if (s->bones[body].first != NONE) {
            body = s->bones[body].first;
            ++depth;
            continue;
        }
        put_line(out, depth, "}\n");
        while (body != GROUND && s->bones[body].next == NONE) {
            body = s->bones[body].parent;
            if (body != GROUND) put_line(out, --depth, "}\n");
        }
        if (body != GROUND) body = s->bones[body].next;
    }
    if (common) tnc_put(out, "}\n");
}

static void put_frame(skeleton* s, tnc_out* out, size_t frame)
{
    const char* before = "";
    if (s->root_count > 1) tnc_put(out, "0 0 0 0 0 0");
    if (s->root_count > 1) before = " ";
    for (int i = 0; i < s->order_count; ++i) {
        bone*          b     = &s->bones[s->order[i]];
        const tn_frame local = node_in_parent(s, frame, s->order[i]);
        const tn_vec3  p     = y_up(local.position);
        if (b->slides) put_three(out, before, p.x, p.y, p.z);
        if (b->slides) before = " ";
        find_angles(local.orientation, b->angles);
        put_three(out, before, b->angles[0], b->angles[1], b->angles[2]);
        before = " ";
    }
    tnc_put(out, "\n");
}

static void put_motion(skeleton* s, tnc_out* out, double frame_time)
{
    tnc_put(out, "MOTION\nFrames: %zu\nFrame Time: %.12g\n", s->film->frame_count, frame_time);
    for (size_t f = 0; f < s->film->frame_count; ++f) put_frame(s, out, f);
}

bool tnc_write_bvh(tnc_out* out, const tnc_job* job, tnc_motion* motion, const tnc_film* film)
{
    skeleton s    = {.job = job, .film = film, .body_count = film->body_count, .root = GROUND};
    bool     good = grow(&s);
    if (!good) tnc_complain("%s: %s", out->path, tn_result_text(TN_ERR_MEMORY));
    if (good && s.root_count == 0) {
        tnc_complain("%s: nothing in the scene can move: there is no skeleton", out->path);
        good = false;
    }
    if (good) {
        const double step =
            film->frame_count > 1 ? tnc_film_time(film, 1) - tnc_film_time(film, 0) : motion->h;
        find_slides(&s);
        put_hierarchy(&s, out);
        put_motion(&s, out, step);
        snprintf(
            motion->note, sizeof motion->note,
            "%zu frames, a skeleton of %d bod%s, %d root%s, %d joint%s that close%s loops left out",
            film->frame_count, s.order_count, s.order_count == 1 ? "y" : "ies", s.root_count,
            tnc_plural(s.root_count), s.left_out, tnc_plural(s.left_out),
            s.left_out == 1 ? "s" : "");
    }
    free(s.bones);
    free(s.group);
    free(s.order);
    free(s.ties);
    return good;
}
