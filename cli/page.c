// page: a motion as one HTML file that plays by itself. The player (player/player.html) is a page with
// one line to fill in; it is compiled into the program by way of player_page.c.
//
// Poses are thinned to a number of frames and of bytes that a browser takes well, and stored as
// float32, little end first, in base 64: a millionth of a metre is more than a screen shows.
// Where not all joints are simulated, a bit a joint tells which are, in base 64 likewise.
// Joint errors are not thinned but their largest since the frame before is kept. Of a very large
// mechanism only the first bodies are shown. The page tells what was left out.
#include "motion.h"
#include "player_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FRAMES_MAX = 1500,
    BODIES_MAX = 40000,
    TRIANGLES_MAX =
        20000, ///< of a mesh or height field; larger ones are shown as the box around them
    POSE_NUMBERS   = 7,
    SERIES_NUMBERS = 5
};
static const double pose_bytes_max = 11e6; // a third more in base 64

static long long ceil_div(long long a, long long b)
{
    return (a + b - 1) / b;
}

// Of a frame.
static size_t active_bytes(const tnc_page* page)
{
    return ((size_t)page->joint_count + 7) / 8;
}

bool tnc_page_open(tnc_page* page, const char* path, const tnc_job* job, long long steps,
                   long long every)
{
    const int    all    = tn_model_counts(job->model).bodies;
    const int    bodies = all < BODIES_MAX ? all : BODIES_MAX;
    const double frame  = 4.0 * POSE_NUMBERS * (bodies > 0 ? bodies : 1);
    double       most   = pose_bytes_max / frame;
    most                = most > FRAMES_MAX ? FRAMES_MAX : most < 2 ? 2 : most;

    *page = (tnc_page){.model = job->model, .body_count = bodies, .last_step = -1};
    if (tn_stepper_method(job->stepper) == TN_METHOD_ADAPTIVE)
        page->joint_count = tn_model_counts(job->model).joints;
    const long long kept = ceil_div(steps, every);
    page->stride         = every * (kept > 0 ? ceil_div(kept, (long long)most) : 1);
    page->room           = (int)(steps / page->stride) + 2; // the start, and an odd last one
    page->poses  = malloc(sizeof(float) * POSE_NUMBERS * (size_t)page->room * (size_t)(bodies + 1));
    page->series = malloc(sizeof(double) * SERIES_NUMBERS * (size_t)page->room);
    page->active = calloc((size_t)page->room, active_bytes(page) + 1);
    if (!page->poses || !page->series || !page->active ||
        tn_state_create(job->model, &page->start) != TN_OK) {
        tnc_complain("%s: %s", path, tn_result_text(TN_ERR_MEMORY));
        return false;
    }
    return tnc_out_open(&page->out, path);
}

void tnc_page_free(tnc_page* page)
{
    if (page->out.file) tnc_out_close(&page->out);
    free(page->poses);
    free(page->series);
    free(page->active);
    tn_state_free(page->start);
    page->poses  = NULL;
    page->active = NULL;
    page->series = NULL;
    page->start  = NULL;
}

static void keep(tnc_page* page, const tn_state* state)
{
    const tn_energy e = tn_state_energy(state);
    double*         s = page->series + (size_t)page->count * SERIES_NUMBERS;
    float*          p = page->poses + (size_t)page->count * (size_t)page->body_count * POSE_NUMBERS;
    s[0]              = tn_state_time(state);
    s[1]              = e.kinetic;
    s[2]              = e.gravity;
    s[3]              = e.elastic;
    s[4]              = page->error;
    for (int i = 0; i < page->body_count; ++i, p += POSE_NUMBERS) {
        const tn_frame pose = tn_state_pose(state, (tn_body_id){(uint32_t)i + 1});
        p[0]                = (float)pose.position.x;
        p[1]                = (float)pose.position.y;
        p[2]                = (float)pose.position.z;
        p[3]                = (float)pose.orientation.w;
        p[4]                = (float)pose.orientation.x;
        p[5]                = (float)pose.orientation.y;
        p[6]                = (float)pose.orientation.z;
    }
    uint8_t* bits = page->active + (size_t)page->count * active_bytes(page);
    for (int i = 0; i < page->joint_count; ++i)
        if (tn_model_joint_rows(page->model, (tn_joint_id){(uint32_t)i + 1}) < 6 &&
            tn_state_joint_active(state, (tn_joint_id){(uint32_t)i + 1}))
            bits[i / 8] |= (uint8_t)(1 << i % 8);
    page->count++;
    page->error = 0;
}

void tnc_page_add(tnc_page* page, const tn_state* state, long long step, double error)
{
    if (!page->out.file) return;
    if (error > page->error) page->error = error;
    if (step % page->stride != 0 || page->count == page->room) return;
    page->last_step = step;
    if (page->count == 0) tn_state_copy(page->start, state);
    keep(page, state);
}

// ---- What the player is told ---------------------------------------------------------------------

static const char* const shape_words[TN_SHAPE_TYPE_COUNT] = {
    [TN_SHAPE_SPHERE] = "sphere",   [TN_SHAPE_BOX] = "box",
    [TN_SHAPE_CAPSULE] = "capsule", [TN_SHAPE_CYLINDER] = "cylinder",
    [TN_SHAPE_CONVEX] = "convex",   [TN_SHAPE_MESH] = "mesh",
    [TN_SHAPE_PLANE] = "plane",     [TN_SHAPE_HEIGHTS] = "heights",
};

// Seven digits: what float32 holds.
static void put_short(tnc_out* out, const double* values, int count)
{
    for (int i = 0; i < count; ++i) {
        tnc_put(out, i > 0 ? "," : "[");
        if (isfinite(values[i])) tnc_put(out, "%.7g", values[i]);
        else tnc_put(out, "null");
    }
    tnc_put(out, "]");
}

static void put_point(tnc_out* out, tn_vec3 v)
{
    put_short(out, (const double[]){v.x, v.y, v.z}, 3);
}

static void put_points(tnc_out* out, const tn_vec3* points, int count)
{
    tnc_put(out, "[");
    for (int i = 0; i < count; ++i) {
        if (i > 0) tnc_put(out, ",");
        put_point(out, points[i]);
    }
    tnc_put(out, "]");
}

static int triangle_count(const tn_shape_def* s)
{
    if (s->type == TN_SHAPE_MESH) return s->triangle_count;
    return s->type == TN_SHAPE_HEIGHTS ? 2 * (s->rows - 1) * (s->columns - 1) : 0;
}

static int vertex_count(const tn_shape_def* s)
{
    return s->type == TN_SHAPE_MESH ? s->vertex_count : s->rows * s->columns;
}

static tn_vec3 vertex_at(const tn_shape_def* s, int i)
{
    if (s->type == TN_SHAPE_MESH) return s->vertices[i];
    const int row = i / s->columns, column = i % s->columns;
    return (tn_vec3){(column - 0.5 * (s->columns - 1)) * s->spacing[0],
                     (row - 0.5 * (s->rows - 1)) * s->spacing[1], s->heights[i]};
}

static void put_triangle(tnc_out* out, const tn_shape_def* s, int i)
{
    if (s->type == TN_SHAPE_MESH) {
        const int* v = s->triangles + 3 * (size_t)i;
        tnc_put(out, "[%d,%d,%d]", v[0], v[1], v[2]);
        return;
    }
    const int cell = i / 2, across = s->columns - 1; // from its lower left to its upper right
    const int low = cell / across * s->columns + cell % across, high = low + s->columns + 1;
    if (i % 2 == 0) tnc_put(out, "[%d,%d,%d]", low, low + 1, high);
    else tnc_put(out, "[%d,%d,%d]", low, high, high - 1);
}

static void put_triangles(tnc_out* out, const tn_shape_def* s)
{
    tnc_put(out, "[[");
    for (int i = 0; i < vertex_count(s); ++i) {
        if (i > 0) tnc_put(out, ",");
        put_point(out, vertex_at(s, i));
    }
    tnc_put(out, "],[");
    for (int i = 0; i < triangle_count(s); ++i) {
        if (i > 0) tnc_put(out, ",");
        put_triangle(out, s, i);
    }
    tnc_put(out, "]]");
}

static void put_box_around(tnc_out* out, const tn_shape_def* s)
{
    tn_vec3 corners[8], low = vertex_at(s, 0), high = low;
    for (int i = 1; i < vertex_count(s); ++i) {
        const tn_vec3 v = vertex_at(s, i);
        low             = (tn_vec3){fmin(low.x, v.x), fmin(low.y, v.y), fmin(low.z, v.z)};
        high            = (tn_vec3){fmax(high.x, v.x), fmax(high.y, v.y), fmax(high.z, v.z)};
    }
    for (int i = 0; i < 8; ++i) {
        corners[i] =
            (tn_vec3){i & 1 ? high.x : low.x, i & 2 ? high.y : low.y, i & 4 ? high.z : low.z};
    }
    put_points(out, corners, 8);
}

static void put_size(tnc_out* out, const tn_shape_def* s, bool too_large)
{
    if (s->type == TN_SHAPE_BOX) put_point(out, s->half_size);
    else if (s->type == TN_SHAPE_CONVEX) put_points(out, s->points, s->point_count);
    else if (too_large) put_box_around(out, s);
    else if (triangle_count(s) > 0) put_triangles(out, s);
    else put_short(out, (const double[]){s->radius, s->half_length}, 2);
}

static void put_shape(tnc_out* out, const tn_shape_def* s)
{
    const tn_quat q         = s->pose.orientation;
    const bool    too_large = triangle_count(s) > TRIANGLES_MAX;
    const char*   word      = shape_words[too_large ? TN_SHAPE_CONVEX : s->type];
    tnc_put(out, "{\"type\":\"%s\",\"position\":", word);
    put_point(out, s->pose.position);
    tnc_put(out, ",\"orientation\":");
    put_short(out, (const double[]){q.w, q.x, q.y, q.z}, 4);
    tnc_put(out,
            ",\"size\":"); // radius and half length, half sizes, corners, or [corners, triangles]
    put_size(out, s, too_large);
    if (isfinite(s->color.x)) {
        tnc_put(out, ",\"color\":");
        put_point(out, s->color);
    }
    tnc_put(out, "}");
}

static void put_body(tnc_out* out, const tn_model* model, const tn_body_def* def, tn_body_id body)
{
    tnc_put(out, "{\"name\":");
    tnc_put_text(out, tn_model_body_name(model, body));
    tnc_put(out, ",\"kind\":%d,\"com\":", (int)tn_model_body_kind(model, body));
    put_point(out, def->com);
    tnc_put(out, ",\"shapes\":[");
    for (int i = 0; i < def->shape_count; ++i) {
        if (i > 0) tnc_put(out, ",");
        put_shape(out, &def->shapes[i]);
    }
    tnc_put(out, "]}");
}

// False for what ties to a body that is not shown.
static bool put_bodies(tnc_out* out, const tnc_page* page, tn_body_id body1, tn_body_id body2)
{
    const uint32_t shown = (uint32_t)page->body_count;
    if (body1.bits > shown || body2.bits > shown) {
        tnc_put(out, "null");
        return false;
    }
    tnc_put(out, "{\"bodies\":[%d,%d],\"anchors\":[", (int)body1.bits - 1, (int)body2.bits - 1);
    return true;
}

// Without a length of its own a rope is as long as the scene has it.
static double rope_length(const tn_joint_def* def, const tn_state* scene, tn_joint_id joint)
{
    const tn_vec3 a = tn_state_joint_anchor(scene, joint, 0);
    const tn_vec3 b = tn_state_joint_anchor(scene, joint, 1);
    const double  x = b.x - a.x, y = b.y - a.y, z = b.z - a.z;
    return isfinite(def->length) ? def->length : sqrt(x * x + y * y + z * z);
}

// Anchors in the world in the first frame: the player has the poses of that time, too.
static void put_joint(tnc_page* page, const tnc_job* job, const tn_state* scene, tn_joint_id joint)
{
    tnc_out*                 out = &page->out;
    const int                i   = (int)joint.bits - 1;
    const tn_constraint_def* own = tn_scene_constraint(job->scene, i);
    if (own) {
        tnc_put(out, "null");
        return;
    }
    const tn_joint_def* def = tn_scene_joint(job->scene, i);
    if (!put_bodies(out, page, def->body1, def->body2)) return;
    put_point(out, tn_state_joint_anchor(page->start, joint, 0));
    tnc_put(out, ",");
    put_point(out, tn_state_joint_anchor(page->start, joint, 1));
    tnc_put(out, "],\"type\":\"%s\",\"name\":", tn_joint_type_word(def->type));
    tnc_put_text(out, tn_model_joint_name(job->model, joint));
    if (def->type == TN_JOINT_ROPE) {
        tnc_put(out, ",\"length\":");
        tnc_put_number(out, rope_length(def, scene, joint));
    }
    tnc_put(out, "}");
}

static void put_spring(tnc_page* page, const tn_spring_def* def)
{
    tnc_out* out = &page->out;
    if (!put_bodies(out, page, def->body1, def->body2)) return;
    put_point(out, def->anchor1);
    tnc_put(out, ",");
    put_point(out, def->anchor2);
    tnc_put(out, "]}");
}

static void put_mechanism(tnc_page* page, const tnc_job* job, const tn_state* scene)
{
    tnc_out*  out         = &page->out;
    const int joint_count = scene ? tn_model_counts(job->model).joints : 0;
    tnc_put(out, ",\n\"ground\":%s", tn_scene_has_ground(job->scene) ? "true" : "false");
    tnc_put(out, ",\n\"bodies\":[");
    for (int i = 0; i < page->body_count; ++i) {
        tnc_put(out, i > 0 ? ",\n" : "\n");
        put_body(out, job->model, tn_scene_body(job->scene, i), (tn_body_id){(uint32_t)i + 1});
    }
    tnc_put(out, "],\n\"joints\":[");
    for (int i = 0; i < joint_count; ++i) {
        tnc_put(out, i > 0 ? ",\n" : "\n");
        put_joint(page, job, scene, (tn_joint_id){(uint32_t)i + 1});
    }
    tnc_put(out, "],\n\"springs\":[");
    for (int i = 0; i < tn_scene_spring_count(job->scene); ++i) {
        tnc_put(out, i > 0 ? ",\n" : "\n");
        put_spring(page, tn_scene_spring(job->scene, i));
    }
    tnc_put(out, "]");
}

// Bytes on their way into base 64: three make four letters.
typedef struct base64 {
    FILE*    file;
    uint32_t bits;
    int      held;
} base64;

static void put_letters(base64* b, int bytes)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint32_t bits = b->bits << 8 * (3 - bytes);
    for (int k = 0; k < 4; ++k)
        putc(k <= bytes ? letters[bits >> (18 - 6 * k) & 63] : '=', b->file);
    b->bits = 0;
    b->held = 0;
}

static void put_byte(base64* b, uint32_t byte)
{
    b->bits = b->bits << 8 | byte;
    if (++b->held == 3) put_letters(b, 3);
}

static void put_floats(tnc_out* out, const float* numbers, size_t count)
{
    base64 b = {.file = out->file};
    for (size_t i = 0; i < count; ++i) {
        uint32_t word;
        memcpy(&word, &numbers[i], sizeof word);
        for (int k = 0; k < 32; k += 8) put_byte(&b, word >> k & 255);
    }
    if (b.held > 0) put_letters(&b, b.held);
}

static void put_bits(tnc_out* out, const uint8_t* bytes, size_t count)
{
    base64 b = {.file = out->file};
    for (size_t i = 0; i < count; ++i) put_byte(&b, bytes[i]);
    if (b.held > 0) put_letters(&b, b.held);
}

static void put_frames(tnc_page* page)
{
    tnc_out* out = &page->out;
    tnc_put(out, ",\n\"frames\":%d,\"stride\":%lld,\"series\":[", page->count, page->stride);
    for (int i = 0; i < page->count; ++i) {
        tnc_put(out, i > 0 ? ",\n" : "\n");
        tnc_put_numbers(out, page->series + (size_t)i * SERIES_NUMBERS, SERIES_NUMBERS);
    }
    tnc_put(out, "],\n\"poses\":\"");
    put_floats(out, page->poses, (size_t)page->count * (size_t)page->body_count * POSE_NUMBERS);
    tnc_put(out, "\"");
    if (page->joint_count == 0) return;
    tnc_put(out, ",\n\"moving\":%d,\"active\":\"", tnc_moving_joints(page->model));
    put_bits(out, page->active, (size_t)page->count * active_bytes(page));
    tnc_put(out, "\"");
}

static void put_motion(tnc_page* page, const tnc_job* job, const tnc_motion* motion)
{
    tnc_out*        out    = &page->out;
    const tn_counts counts = tn_model_counts(job->model);
    tnc_put(out, "{\"tenon\":\"%s\",\"scene\":", TN_VERSION);
    tnc_put_text(out, tnc_job_title(job));
    tnc_put(out, ",\"method\":\"%s\",\"h\":", tn_method_word(tn_stepper_method(job->stepper)));
    tnc_put_number(out, motion->h);
    tnc_put(out, ",\"steps\":%lld,\"counts\":{\"bodies\":%d,\"joints\":%d,\"rows\":%d,\"dofs\":%d}",
            motion->done, counts.bodies, counts.joints, counts.rows,
            tnc_motion_mobility(job, motion));
    tnc_put(out, ",\"stopped\":");
    if (motion->stop.stopped) tnc_put_text(out, motion->stop.text);
    else tnc_put(out, "null");
    put_frames(page);
    tn_state* scene = NULL; // as it was written; without memory for it, the page shows no joints
    if (tn_state_create(job->model, &scene) != TN_OK) scene = NULL;
    put_mechanism(page, job, scene);
    tn_state_free(scene);
    tnc_put(out, "}\n");
}

bool tnc_page_close(tnc_page* page, const tnc_job* job, const tnc_motion* motion)
{
    if (!page->out.file) return true;
    if (page->last_step != motion->done && page->count < page->room) keep(page, job->state);
    for (int i = 0; tnc_player_page[i]; ++i) {
        if (strcmp(tnc_player_page[i], TNC_PLAYER_SLOT) != 0) {
            fputs(tnc_player_page[i], page->out.file);
            continue;
        }
        page->out.page = true;
        put_motion(page, job, motion);
    }
    return tnc_out_close(&page->out);
}
