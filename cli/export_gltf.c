// export_gltf: glTF 2.0, as one binary file (.glb) or as JSON with its numbers in base 64 (.gltf).
//
// A root node turns z up into y up; below it every body is a node, with a mesh of its parts, and the floor is one.
// One animation moves them: a channel for the place and one for the attitude of each body that changes either,
// straight lines between the frames, quaternions never jumping to their negative. Surfaces that are the
// same byte for byte are stored once. All numbers are float32, little end first.
//
// What glTF cannot say is left out: springs and ropes, and how affine bodies stretch.
#define _POSIX_C_SOURCE 200809L // open_memstream

#include "export.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GEOMETRY_LOOKS = 1000 }; ///< so many older surfaces are compared with a new one

/// A list that grows. Zero it to begin.
typedef struct list {
    char*  bytes;
    size_t length, room; ///< [bytes]
} list;

typedef enum accessor_kind { SCALAR, CORNERS, VEC3, VEC4 } accessor_kind;

typedef struct accessor {
    size_t        offset, count;
    accessor_kind kind;
    int           width; ///< numbers of an element
    bool          drawn; ///< points or corners of a mesh
    bool          bounded;
    float         low[3], high[3];
} accessor;

typedef struct geometry {
    uint64_t hash;
    int      points, normals, corners; ///< accessors; normals -1: none
} geometry;

typedef struct material {
    tn_vec3 color; ///< linear
    bool    open;
} material;

typedef struct primitive {
    int body, geometry, material;
} primitive;

typedef struct channel {
    int  body, output;
    bool turns;
} channel;

typedef struct gltf {
    const tnc_job*    job;
    const tnc_motion* motion;
    const tnc_film*   film;
    tnc_look          look;
    tnc_surface       surface;
    list              buffer;
    list              accessors, geometries, materials, primitives, channels;
    bool              failed; ///< no memory
} gltf;

#define AT(list_, type, index) (((type*)(void*)(list_).bytes) + (index))
#define COUNT(list_, type)     ((int)((list_).length / sizeof(type)))

// Room for so many more bytes at the end; NULL: no memory.
static void* extend(gltf* g, list* l, size_t bytes)
{
    if (l->length + bytes > l->room) {
        const size_t room =
            2 * l->room > l->length + bytes ? 2 * l->room : l->length + bytes + 1024;
        char* larger = realloc(l->bytes, room);
        if (!larger) {
            g->failed = true;
            return NULL;
        }
        l->bytes = larger;
        l->room  = room;
    }
    l->length += bytes;
    return l->bytes + l->length - bytes;
}

// Adds a copy of the item; its index among those of its size.
static int append(gltf* g, list* l, const void* item, size_t size)
{
    void* at = extend(g, l, size);
    if (!at) return 0;
    memcpy(at, item, size);
    return (int)(l->length / size) - 1;
}

// ---- The buffer ----------------------------------------------------------------------------------

static float to_float(double value)
{
    if (!isfinite(value)) return 0;
    return (float)fmax(-(double)FLT_MAX, fmin((double)FLT_MAX, value));
}

static void put_word(gltf* g, uint32_t word)
{
    unsigned char* at = extend(g, &g->buffer, 4);
    for (int k = 0; at && k < 4; ++k) at[k] = (unsigned char)(word >> 8 * k);
}

static int add_accessor(gltf* g, const accessor* a)
{
    return append(g, &g->accessors, a, sizeof *a);
}

// count * width numbers.
static int add_floats(gltf* g, const float* numbers, size_t count, int width, bool bounded,
                      bool drawn)
{
    accessor a = {.offset  = g->buffer.length,
                  .count   = count,
                  .kind    = width == 1   ? SCALAR
                             : width == 3 ? VEC3
                                          : VEC4,
                  .width   = width,
                  .drawn   = drawn,
                  .bounded = bounded};
    for (size_t i = 0; i < count * (size_t)width; ++i) {
        const size_t k = i % (size_t)width;
        uint32_t     word;
        memcpy(&word, &numbers[i], sizeof word);
        put_word(g, word);
        if (!bounded) continue;
        a.low[k]  = i == k ? numbers[i] : fminf(a.low[k], numbers[i]);
        a.high[k] = i == k ? numbers[i] : fmaxf(a.high[k], numbers[i]);
    }
    return add_accessor(g, &a);
}

static int add_vectors(gltf* g, const tn_vec3* v, int count, bool bounded)
{
    float* numbers = malloc(sizeof(float) * 3 * (size_t)count);
    if (!numbers) {
        g->failed = true;
        return 0;
    }
    for (int i = 0; i < count; ++i) {
        numbers[3 * i]     = to_float(v[i].x);
        numbers[3 * i + 1] = to_float(v[i].y);
        numbers[3 * i + 2] = to_float(v[i].z);
    }
    const int index = add_floats(g, numbers, (size_t)count, 3, bounded, true);
    free(numbers);
    return index;
}

// ---- Meshes --------------------------------------------------------------------------------------

static uint64_t hash_bytes(const char* bytes, size_t count)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < count; ++i) hash = (hash ^ (unsigned char)bytes[i]) * 1099511628211u;
    return hash;
}

// Where an equal surface lies among those stored; -1: nowhere. `start`: of the new one's bytes, at the end.
static int find_geometry(const gltf* g, const geometry* new_one, size_t start)
{
    const int    count  = COUNT(g->geometries, geometry);
    const size_t length = g->buffer.length - start;
    for (int i = count - 1; i >= 0 && i >= count - GEOMETRY_LOOKS; --i) {
        const geometry* old = AT(g->geometries, geometry, i);
        const size_t    at  = AT(g->accessors, accessor, old->points)->offset;
        if (old->hash != new_one->hash || (old->normals < 0) != (new_one->normals < 0)) continue;
        if (AT(g->accessors, accessor, old->points)->count ==
                AT(g->accessors, accessor, new_one->points)->count &&
            start - at >= length &&
            memcmp(g->buffer.bytes + at, g->buffer.bytes + start, length) == 0)
            return i;
    }
    return -1;
}

// The surface at hand; an equal one that is there already takes its place.
static int add_geometry(gltf* g)
{
    const tnc_surface* s             = &g->surface;
    const size_t       start         = g->buffer.length;
    const size_t       old_accessors = g->accessors.length;
    geometry           new_one       = {.normals = -1};
    new_one.points                   = add_vectors(g, s->points, s->point_count, true);
    if (s->smooth) new_one.normals = add_vectors(g, s->normals, s->point_count, false);
    const accessor corners = {.offset = g->buffer.length,
                              .count  = (size_t)s->corner_count,
                              .kind   = CORNERS,
                              .width  = 1,
                              .drawn  = true};
    for (int i = 0; i < s->corner_count; ++i) put_word(g, (uint32_t)s->corners[i]);
    new_one.corners = add_accessor(g, &corners);
    if (g->failed) return 0;
    new_one.hash  = hash_bytes(g->buffer.bytes + start, g->buffer.length - start);
    const int old = find_geometry(g, &new_one, start);
    if (old < 0) return append(g, &g->geometries, &new_one, sizeof new_one);
    g->buffer.length    = start;
    g->accessors.length = old_accessors;
    return old;
}

// Colours of scenes are as screens have them (sRGB), those of glTF are amounts of light.
static double to_light(double c)
{
    c = fmax(0, fmin(1, c));
    return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

static int add_material(gltf* g, tn_vec3 c, bool open)
{
    const material m = {.color = {to_light(c.x), to_light(c.y), to_light(c.z)}, .open = open};
    for (int i = 0; i < COUNT(g->materials, material); ++i) {
        const material* old = AT(g->materials, material, i);
        if (old->open == m.open && tnc_length(tnc_sub(old->color, m.color)) == 0) return i;
    }
    return append(g, &g->materials, &m, sizeof m);
}

static void add_parts(gltf* g, int body)
{
    const int count = tnc_look_part_count(&g->look, body);
    for (int i = 0; i < count && !g->failed; ++i) {
        tn_vec3 color = {0};
        tnc_look_part(&g->look, body, i, &g->surface, &color);
        g->failed = g->failed || g->surface.failed;
        if (g->failed || g->surface.corner_count == 0) continue;
        const primitive p = {.body     = body,
                             .geometry = add_geometry(g),
                             .material = add_material(g, color, g->surface.open)};
        append(g, &g->primitives, &p, sizeof p);
    }
}

// ---- Animation -----------------------------------------------------------------------------------

// The unit quaternion as glTF has it (x y z w), on the same side as the one before.
static void put_turn(tn_quat q, const float* before, float out[4])
{
    const double size = sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
    double       s    = size > 0 ? 1 / size : 0;
    const double n[4] = {q.x, q.y, q.z, size > 0 ? q.w : 1};
    double       same = 0;
    for (int k = 0; before && k < 4; ++k) same += n[k] * (double)before[k];
    if (s == 0) s = 1;
    for (int k = 0; k < 4; ++k) out[k] = to_float(same < 0 ? -s * n[k] : s * n[k]);
}

static bool is_constant(const float* numbers, size_t count, int width)
{
    for (size_t i = (size_t)width; i < count * (size_t)width; ++i)
        if (numbers[i] != numbers[i % (size_t)width]) return false;
    return true;
}

// frames: those that are shown.
static void add_channel(gltf* g, int body, bool turns, const size_t* frames, size_t count,
                        float* numbers)
{
    const int width = turns ? 4 : 3;
    for (size_t f = 0; f < count; ++f) {
        const tn_frame pose = tnc_film_pose(g->film, frames[f], body);
        float*         at   = numbers + f * (size_t)width;
        if (turns) {
            put_turn(pose.orientation, f > 0 ? at - 4 : NULL, at);
            continue;
        }
        at[0] = to_float(pose.position.x);
        at[1] = to_float(pose.position.y);
        at[2] = to_float(pose.position.z);
    }
    if (is_constant(numbers, count, width)) return;
    const channel c = {
        .body = body, .turns = turns, .output = add_floats(g, numbers, count, width, false, false)};
    append(g, &g->channels, &c, sizeof c);
}

// Those whose times are apart as float32; the times themselves into `times`.
static size_t choose_frames(const tnc_film* film, size_t* frames, float* times)
{
    size_t count = 0;
    for (size_t f = 0; f < film->frame_count; ++f) {
        const float time = to_float(tnc_film_time(film, f));
        if (count > 0 && time <= times[count - 1]) continue;
        frames[count]  = f;
        times[count++] = time;
    }
    return count;
}

// The times are the first accessor, where there is a channel at all.
static void add_animation(gltf* g)
{
    const size_t all     = g->film->frame_count;
    size_t*      frames  = malloc(sizeof *frames * all);
    float*       numbers = malloc(sizeof *numbers * 4 * all);
    if (frames && numbers) {
        const size_t count = choose_frames(g->film, frames, numbers);
        add_floats(g, numbers, count, 1, true, false);
        for (int i = 0; i < g->film->body_count && !g->failed; ++i) {
            add_channel(g, i, false, frames, count, numbers);
            add_channel(g, i, true, frames, count, numbers);
        }
    } else g->failed = true;
    free(frames);
    free(numbers);
    if (g->channels.length > 0) return;
    g->accessors.length = 0;
    g->buffer.length    = 0;
}

// ---- JSON ----------------------------------------------------------------------------------------

static void put_short(tnc_out* out, const float* numbers, int count)
{
    for (int i = 0; i < count; ++i) {
        tnc_put(out, i > 0 ? "," : "[");
        tnc_put_number(out, (double)numbers[i]);
    }
    tnc_put(out, "]");
}

static void put_head(const gltf* g, tnc_out* out)
{
    tnc_put(out, "{\"asset\":{\"version\":\"2.0\",\"generator\":\"tenon %s\"},\n", TN_VERSION);
    tnc_put(out, "\"scene\":0,\"scenes\":[{\"nodes\":[0],\"name\":");
    tnc_put_text(out, tnc_job_title(g->job));
    tnc_put(out, ",\"extras\":{\"units\":\"m, s\",\"method\":\"%s\",\"h\":",
            tn_method_word(g->job->settings.method));
    tnc_put_number(out, g->motion->h);
    tnc_put(out, ",\"steps\":%lld,\"joint_error\":", g->motion->done);
    tnc_put_number(out, g->motion->error_max);
    tnc_put(out, "}}],\n");
}

static void put_node(const gltf* g, tnc_out* out, int body, int mesh)
{
    float            turn[4], place[3];
    const tn_body_id id   = {(uint32_t)body + 1};
    const bool       real = body < g->film->body_count;
    tnc_put(out, ",\n{\"name\":");
    tnc_put_text(out, real ? tn_model_body_name(g->job->model, id) : "ground");
    if (mesh >= 0) tnc_put(out, ",\"mesh\":%d", mesh);
    if (real) {
        const tn_frame pose = tnc_film_pose(g->film, 0, body);
        put_turn(pose.orientation, NULL, turn);
        place[0] = to_float(pose.position.x);
        place[1] = to_float(pose.position.y);
        place[2] = to_float(pose.position.z);
        tnc_put(out, ",\"translation\":");
        put_short(out, place, 3);
        tnc_put(out, ",\"rotation\":");
        put_short(out, turn, 4);
    }
    tnc_put(out, "}");
}

// The root, then the bodies, then the floor. Meshes are counted in the order of the bodies that have one.
static void put_nodes(const gltf* g, tnc_out* out)
{
    const int bodies = g->film->body_count, count = COUNT(g->primitives, primitive);
    const int all = bodies + tn_scene_has_ground(g->job->scene);
    tnc_put(
        out,
        "\"nodes\":[{\"name\":\"z up\",\"rotation\":[-0.7071067811865476,0,0,0.7071067811865476]");
    for (int i = 0; i < all; ++i) tnc_put(out, "%s%d", i > 0 ? "," : ",\"children\":[", i + 1);
    tnc_put(out, all > 0 ? "]}" : "}");
    for (int i = 0, at = 0, mesh = 0; i < all; ++i) {
        const bool seen = at < count && AT(g->primitives, primitive, at)->body == i;
        put_node(g, out, i, seen ? mesh++ : -1);
        while (at < count && AT(g->primitives, primitive, at)->body == i) ++at;
    }
    tnc_put(out, "]");
}

static void put_meshes(const gltf* g, tnc_out* out)
{
    const int count = COUNT(g->primitives, primitive);
    if (count == 0) return;
    tnc_put(out, ",\n\"meshes\":[");
    for (int i = 0; i < count; ++i) {
        const primitive* p     = AT(g->primitives, primitive, i);
        const geometry*  s     = AT(g->geometries, geometry, p->geometry);
        const bool       first = i == 0 || p[-1].body != p->body;
        if (first) tnc_put(out, "%s\n{\"primitives\":[", i > 0 ? "]}," : "");
        tnc_put(out, "%s{\"attributes\":{\"POSITION\":%d", first ? "" : ",", s->points);
        if (s->normals >= 0) tnc_put(out, ",\"NORMAL\":%d", s->normals);
        tnc_put(out, "},\"indices\":%d,\"material\":%d}", s->corners, p->material);
    }
    tnc_put(out, "]}],\n\"materials\":[");
    for (int i = 0; i < COUNT(g->materials, material); ++i) {
        const material* m = AT(g->materials, material, i);
        tnc_put(out,
                "%s\n{\"pbrMetallicRoughness\":{\"baseColorFactor\":[%.4f,%.4f,%.4f,1],"
                "\"metallicFactor\":0,\"roughnessFactor\":0.6}%s}",
                i > 0 ? "," : "", m->color.x, m->color.y, m->color.z,
                m->open ? ",\"doubleSided\":true" : "");
    }
    tnc_put(out, "]");
}

static void put_animation(const gltf* g, tnc_out* out)
{
    const int count = COUNT(g->channels, channel);
    if (count == 0) return;
    tnc_put(out, ",\n\"animations\":[{\"name\":\"motion\",\"channels\":[");
    for (int i = 0; i < count; ++i) {
        const channel* c = AT(g->channels, channel, i);
        tnc_put(out, "%s\n{\"sampler\":%d,\"target\":{\"node\":%d,\"path\":\"%s\"}}",
                i > 0 ? "," : "", i, c->body + 1, c->turns ? "rotation" : "translation");
    }
    tnc_put(out, "],\n\"samplers\":[");
    for (int i = 0; i < count; ++i)
        tnc_put(out, "%s{\"input\":0,\"output\":%d}", i > 0 ? ",\n" : "\n",
                AT(g->channels, channel, i)->output);
    tnc_put(out, "]}]");
}

static void put_accessors(const gltf* g, tnc_out* out)
{
    static const char* const words[] = {"SCALAR", "SCALAR", "VEC3", "VEC4"};
    const int                count   = COUNT(g->accessors, accessor);
    if (count == 0) return;
    tnc_put(out, ",\n\"accessors\":[");
    for (int i = 0; i < count; ++i) {
        const accessor* a = AT(g->accessors, accessor, i);
        tnc_put(out, "%s\n{\"bufferView\":%d,\"componentType\":%d,\"count\":%zu,\"type\":\"%s\"",
                i > 0 ? "," : "", i, a->kind == CORNERS ? 5125 : 5126, a->count, words[a->kind]);
        if (a->bounded) {
            tnc_put(out, ",\"min\":");
            put_short(out, a->low, a->width);
            tnc_put(out, ",\"max\":");
            put_short(out, a->high, a->width);
        }
        tnc_put(out, "}");
    }
    tnc_put(out, "],\n\"bufferViews\":[");
    for (int i = 0; i < count; ++i) {
        const accessor* a = AT(g->accessors, accessor, i);
        tnc_put(out, "%s\n{\"buffer\":0,\"byteOffset\":%zu,\"byteLength\":%zu", i > 0 ? "," : "",
                a->offset, 4 * a->count * (size_t)a->width);
        if (a->drawn) tnc_put(out, ",\"target\":%d", a->kind == CORNERS ? 34963 : 34962);
        tnc_put(out, "}");
    }
    tnc_put(out, "]");
}

// within: the numbers stand in the JSON, too.
static void put_json(const gltf* g, tnc_out* out, bool within)
{
    put_head(g, out);
    put_nodes(g, out);
    put_meshes(g, out);
    put_animation(g, out);
    put_accessors(g, out);
    if (g->buffer.length > 0) {
        tnc_put(out, ",\n\"buffers\":[{\"byteLength\":%zu", g->buffer.length);
        if (within) {
            tnc_put(out, ",\"uri\":\"data:application/octet-stream;base64,");
            tnc_put_base64(out, g->buffer.bytes, g->buffer.length);
            tnc_put(out, "\"");
        }
        tnc_put(out, "}]");
    }
    tnc_put(out, "}\n");
}

// ---- Files ---------------------------------------------------------------------------------------

static void put_little(tnc_out* out, size_t value)
{
    for (int k = 0; k < 4; ++k) putc((int)(value >> 8 * k & 255), out->file);
}

static size_t whole_words(size_t bytes)
{
    return (bytes + 3) / 4 * 4;
}

static void put_chunk(tnc_out* out, const char* type, const char* bytes, size_t length, char fill)
{
    put_little(out, whole_words(length));
    fwrite(type, 1, 4, out->file);
    fwrite(bytes, 1, length, out->file);
    for (size_t i = length; i % 4 != 0; ++i) putc(fill, out->file);
}

// False: already complained.
static bool put_binary(const gltf* g, tnc_out* out)
{
    char*   text   = NULL;
    size_t  length = 0;
    tnc_out json   = {.file = open_memstream(&text, &length)};
    if (json.file) put_json(g, &json, false);
    bool good = json.file && fclose(json.file) == 0;
    if (!good) tnc_complain("%s: %s", out->path, tn_result_text(TN_ERR_MEMORY));
    const size_t binary = g->buffer.length > 0 ? 8 + g->buffer.length : 0;
    const size_t bytes  = 12 + 8 + whole_words(length) + binary;
    if (good && bytes > UINT32_MAX) {
        tnc_complain(
            "%s: more than the 4 GB that a .glb file can have; a larger --every makes it smaller",
            out->path);
        good = false;
    }
    if (good) {
        fwrite("glTF\2\0\0\0", 1, 8, out->file);
        put_little(out, bytes);
        put_chunk(out, "JSON", text, length, ' ');
        if (binary > 0) put_chunk(out, "BIN", g->buffer.bytes, g->buffer.length, 0);
    }
    free(text);
    return good;
}

static bool fill(gltf* g)
{
    if (!tnc_look_begin(&g->look, g->job, g->film)) return false;
    add_animation(g);
    for (int i = 0; i <= g->film->body_count && !g->failed; ++i) add_parts(g, i);
    return !g->failed;
}

static bool write(tnc_out* out, const tnc_job* job, tnc_motion* m, const tnc_film* film,
                  bool binary)
{
    gltf g    = {.job = job, .motion = m, .film = film};
    bool good = fill(&g);
    if (!good) tnc_complain("%s: %s", out->path, tn_result_text(TN_ERR_MEMORY));
    else if (binary) good = put_binary(&g, out);
    else put_json(&g, out, true);
    snprintf(m->note, sizeof m->note, "%zu frames, %d channels, %d surfaces", film->frame_count,
             COUNT(g.channels, channel), COUNT(g.geometries, geometry));
    list* lists[] = {&g.buffer,    &g.accessors,  &g.geometries,
                     &g.materials, &g.primitives, &g.channels};
    for (int i = 0; i < 6; ++i) free(lists[i]->bytes);
    tnc_surface_free(&g.surface);
    tnc_look_free(&g.look);
    return good;
}

bool tnc_write_glb(tnc_out* out, const tnc_job* job, tnc_motion* motion, const tnc_film* film)
{
    return write(out, job, motion, film, true);
}

bool tnc_write_gltf(tnc_out* out, const tnc_job* job, tnc_motion* motion, const tnc_film* film)
{
    return write(out, job, motion, film, false);
}
