// export_look: what a body looks like where only its mechanics are known, as the viewer has it. Shapes are
// shown as they are. A body without shapes is a star of rods from its joints to their middle, one rod between
// two joints, or a ball at its centre of mass. A ball that hangs on a joint far from it gets a rod there.
// Bodies without a colour are coloured by role: names that differ only in numbers and sides share one. What
// stands still is grey.
#define _POSIX_C_SOURCE 200809L // strncasecmp

#include "export.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// ---- Joints --------------------------------------------------------------------------------------

static tn_body_id body_of(const tn_joint_def* def, int side)
{
    return side == 0 ? def->body1 : def->body2;
}

// Calls for each end of a joint on a body; pass 0 counts, pass 1 stores.
static void gather_anchors(tnc_look* l, int* fill, bool store)
{
    const int count = tn_model_counts(l->job->model).joints;
    for (int i = 0; i < count; ++i) {
        const tn_joint_id joint = {(uint32_t)i + 1};
        if (tn_scene_constraint(l->job->scene, i)) continue;
        for (int side = 0; side < 2; ++side) {
            const tn_body_id body = body_of(tn_scene_joint(l->job->scene, i), side);
            if (!body.bits) continue;
            const int at = fill[body.bits - 1]++;
            if (store)
                l->anchors[at] = tnc_unplace(tn_state_pose(l->job->state, body),
                                             tn_state_joint_anchor(l->job->state, joint, side));
        }
    }
}

static bool find_anchors(tnc_look* l)
{
    const size_t bodies = (size_t)l->body_count;
    int*         fill   = calloc(bodies + 1, sizeof *fill);
    l->starts           = calloc(bodies + 1, sizeof *l->starts);
    if (fill && l->starts) {
        gather_anchors(l, fill, false);
        for (size_t i = 0; i < bodies; ++i) l->starts[i + 1] = l->starts[i] + fill[i];
        memcpy(fill, l->starts, bodies * sizeof *fill);
        l->anchors = malloc(sizeof *l->anchors * ((size_t)l->starts[bodies] + 1));
        if (l->anchors) gather_anchors(l, fill, true);
    }
    free(fill);
    return l->anchors != NULL;
}

// ---- Size ----------------------------------------------------------------------------------------

static double farthest(const tn_vec3* points, int count)
{
    double most = 0;
    for (int i = 0; i < count; ++i) most = fmax(most, tnc_length(points[i]));
    return most;
}

static double shape_reach(const tn_shape_def* s)
{
    const double at = tnc_length(s->pose.position);
    switch (s->type) {
    case TN_SHAPE_SPHERE: return at + s->radius;
    case TN_SHAPE_BOX: return at + tnc_length(s->half_size);
    case TN_SHAPE_CAPSULE:
    case TN_SHAPE_CYLINDER: return at + s->radius + s->half_length;
    case TN_SHAPE_CONVEX: return at + farthest(s->points, s->point_count);
    case TN_SHAPE_MESH: return at + farthest(s->vertices, s->vertex_count);
    case TN_SHAPE_HEIGHTS:
        return at + 0.5 * fmax(s->columns * s->spacing[0], s->rows * s->spacing[1]);
    case TN_SHAPE_PLANE:
    case TN_SHAPE_TYPE_COUNT: break;
    }
    return at;
}

static double body_reach(const tnc_look* l, int body)
{
    const tn_body_def* def  = tn_scene_body(l->job->scene, body);
    double             most = 0;
    for (int i = 0; i < def->shape_count; ++i) most = fmax(most, shape_reach(&def->shapes[i]));
    if (def->shape_count > 0) return most;
    return farthest(l->anchors + l->starts[body], l->starts[body + 1] - l->starts[body]);
}

static void find_bounds(tnc_look* l, const tnc_film* film)
{
    enum { LOOKS = 50 };
    tn_vec3      low = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, high = tnc_scale(low, -1);
    const size_t stride = film->frame_count / LOOKS + 1;
    for (int i = 0; i < l->body_count; ++i) {
        const double r = body_reach(l, i);
        for (size_t f = 0; f < film->frame_count; f += stride) {
            const tn_vec3 p = tnc_film_pose(film, f, i).position;
            low  = (tn_vec3){fmin(low.x, p.x - r), fmin(low.y, p.y - r), fmin(low.z, p.z - r)};
            high = (tn_vec3){fmax(high.x, p.x + r), fmax(high.y, p.y + r), fmax(high.z, p.z + r)};
        }
    }
    l->centre = tnc_scale(tnc_add(low, high), 0.5);
    l->reach  = 0.5 * tnc_length(tnc_sub(high, low));
    if (l->reach > 1e-9 && isfinite(l->reach)) return;
    l->centre = (tn_vec3){0};
    l->reach  = 1;
}

// ---- Colours -------------------------------------------------------------------------------------

static bool is_gap(char c)
{
    return c == '\0' || strchr("_.- ", c) != NULL;
}

// How much of the name at c is a number or a side, which do not make a role.
static size_t passed_over(const char* name, const char* c)
{
    if (*c >= '0' && *c <= '9') return 1;
    if (strncasecmp(c, "left", 4) == 0) return 4;
    if (strncasecmp(c, "right", 5) == 0) return 5;
    const bool side = strchr("lrLR", *c) != NULL;
    return side && is_gap(c[1]) && (c == name || is_gap(c[-1]));
}

// FNV-1a of what is left of the name, and of the first shape's type.
static uint64_t role_of(const tn_body_def* def, const char* name)
{
    uint64_t hash = 14695981039346656037u;
    for (const char* c = name; *c;) {
        const size_t count = passed_over(name, c);
        if (count == 0) hash = (hash ^ (uint64_t)tolower((unsigned char)*c)) * 1099511628211u;
        c += count > 0 ? count : 1;
    }
    return (hash ^ (def->shape_count > 0 ? (uint64_t)def->shapes[0].type : 99)) * 1099511628211u;
}

static bool find_colors(tnc_look* l)
{
    static const tn_vec3 palette[] = {{.30, .52, .84}, {.91, .58, .29}, {.33, .67, .50},
                                      {.64, .47, .79}, {.85, .41, .37}, {.31, .66, .74},
                                      {.79, .67, .32}, {.54, .59, .67}};
    static const tn_vec3 still     = {.66, .70, .75};
    static const double  shades[]  = {1, 0.93, 1.06};
    enum { PALETTE = sizeof palette / sizeof palette[0] };
    uint64_t* roles = malloc(sizeof *roles * ((size_t)l->body_count + 1));
    int       count = 0;
    l->colors       = malloc(sizeof *l->colors * ((size_t)l->body_count + 1));
    for (int i = 0; roles && l->colors && i < l->body_count; ++i) {
        const tn_body_def* def  = tn_scene_body(l->job->scene, i);
        const char*        name = tn_model_body_name(l->job->model, (tn_body_id){(uint32_t)i + 1});
        const uint64_t     role = role_of(def, name);
        int                k    = 0;
        l->colors[i]            = still;
        if (def->kind == TN_BODY_STATIC) continue;
        while (k < count && roles[k] != role) ++k;
        if (k == count) roles[count++] = role;
        l->colors[i] = tnc_scale(palette[k % PALETTE], shades[i % 3]);
    }
    for (int i = 0; count == 1 && i < l->body_count; ++i)
        if (tn_scene_body(l->job->scene, i)->kind != TN_BODY_STATIC)
            l->colors[i] = palette[i % PALETTE];
    const bool good = roles && l->colors;
    free(roles);
    return good;
}

// ---- Parts ---------------------------------------------------------------------------------------

bool tnc_look_begin(tnc_look* look, const tnc_job* job, const tnc_film* film)
{
    *look = (tnc_look){.job = job, .body_count = film->body_count};
    if (!find_anchors(look) || !find_colors(look)) return false;
    find_bounds(look, film);
    return true;
}

void tnc_look_free(tnc_look* look)
{
    free(look->anchors);
    free(look->starts);
    free(look->colors);
    *look = (tnc_look){0};
}

static bool hangs(const tn_body_def* def)
{
    return def->shape_count == 1 && def->shapes[0].type == TN_SHAPE_SPHERE;
}

int tnc_look_part_count(const tnc_look* look, int body)
{
    if (body == look->body_count) return tn_scene_has_ground(look->job->scene) ? 1 : 0;
    const tn_body_def* def   = tn_scene_body(look->job->scene, body);
    const int          count = look->starts[body + 1] - look->starts[body];
    if (hangs(def)) return 1 + count;
    if (def->shape_count > 0) return def->shape_count;
    if (def->kind == TN_BODY_STATIC) return 0;
    return count == 2 || count == 0 ? 1 : count == 1 ? 2 : count;
}

// A part of a body without shapes.
static void make_bone(const tnc_look* l, int body, int part, tnc_surface* surface)
{
    const tn_vec3* anchors = l->anchors + l->starts[body];
    const int      count   = l->starts[body + 1] - l->starts[body];
    const tn_vec3  com     = tn_model_body_com(l->job->model, (tn_body_id){(uint32_t)body + 1});
    const double   radius  = 0.012 * l->reach;
    tn_vec3        middle  = com;
    if (count > 2) {
        middle = (tn_vec3){0};
        for (int i = 0; i < count; ++i)
            middle = tnc_add(middle, tnc_scale(anchors[i], 1.0 / count));
    }
    if (count == 2) tnc_surface_rod(surface, anchors[0], anchors[1], radius);
    else if (part == count) tnc_surface_rod(surface, com, com, 1.6 * radius);
    else tnc_surface_rod(surface, anchors[part], middle, radius);
}

// The rod that a ball hangs on; nothing when the joint is within it.
static void make_string(const tnc_look* l, int body, int part, tnc_surface* surface)
{
    const tn_shape_def* ball   = &tn_scene_body(l->job->scene, body)->shapes[0];
    const tn_vec3       anchor = l->anchors[l->starts[body] + part - 1];
    const double        length = tnc_length(tnc_sub(anchor, ball->pose.position));
    if (length <= 1.2 * ball->radius) return;
    tnc_surface_rod(surface, anchor, ball->pose.position,
                    fmin(0.006 * l->reach, 0.5 * ball->radius));
}

void tnc_look_part(const tnc_look* look, int body, int part, tnc_surface* surface, tn_vec3* color)
{
    const double square = 2 * look->reach;
    tnc_surface_clear(surface);
    if (body == look->body_count) {
        tn_shape_def floor  = tn_default_shape_def(TN_SHAPE_PLANE);
        floor.pose.position = (tn_vec3){look->centre.x, look->centre.y, 0};
        *color              = (tn_vec3){.55, .57, .6};
        tnc_surface_shape(surface, &floor, square);
        return;
    }
    const tn_body_def* def = tn_scene_body(look->job->scene, body);
    *color                 = look->colors[body];
    if (def->shape_count == 0) make_bone(look, body, part, surface);
    else if (part >= def->shape_count) make_string(look, body, part, surface);
    else {
        tnc_surface_shape(surface, &def->shapes[part], square);
        if (isfinite(def->shapes[part].color.x)) *color = def->shapes[part].color;
    }
}
