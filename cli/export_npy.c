// export_npy: arrays for numpy. A .npy file is one array of float64, [frame, body, 13]: position, orientation
// (w x y z), velocity, angular velocity. A .npz file is a zip archive, nothing compressed, of time,
// poses, velocities, joint coordinates, and the names of bodies and coordinates.
//
// A zip archive tells the check sum (CRC-32) and the length of a member before the member itself: so
// members are made twice, first into nothing but their sum. Little end first on every machine.
#include "export.h"

#include <string.h>

/// Where bytes go: counted and summed always, written when there is a file.
typedef struct sink {
    FILE*    file;
    uint32_t table[256];
    uint32_t crc;
    uint64_t count;
} sink;

typedef struct archive {
    const tn_model* model;
    const tnc_film* film;
} archive;

static void fill_table(sink* s)
{
    for (uint32_t i = 0; i < 256; ++i) {
        uint32_t c = i;
        for (int k = 0; k < 8; ++k) c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
        s->table[i] = c;
    }
}

static void begin(sink* s, FILE* file)
{
    s->file  = file;
    s->crc   = 0xffffffffu;
    s->count = 0;
}

static void put_bytes(sink* s, const void* bytes, size_t count)
{
    const unsigned char* b = bytes;
    for (size_t i = 0; i < count; ++i) s->crc = s->table[(s->crc ^ b[i]) & 255] ^ s->crc >> 8;
    s->count += count;
    if (s->file) fwrite(bytes, 1, count, s->file);
}

static void put_little(sink* s, uint64_t value, int bytes)
{
    unsigned char out[8];
    for (int k = 0; k < bytes; ++k) out[k] = (unsigned char)(value >> 8 * k);
    put_bytes(s, out, (size_t)bytes);
}

static void put_double(sink* s, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_little(s, bits, 8);
}

// ---- Arrays --------------------------------------------------------------------------------------

// type: as numpy calls it. shape: "3, 4".
static void put_head(sink* s, const char* type, const char* shape)
{
    char      text[256];
    const int written =
        snprintf(text, sizeof text - 64, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
                 type, shape);
    size_t length = (size_t)written;
    while ((10 + length + 1) % 64 != 0) text[length++] = ' ';
    text[length++] = '\n';
    put_bytes(s, "\x93NUMPY\1\0", 8);
    put_little(s, length, 2);
    put_bytes(s, text, length);
}

static void put_doubles_head(sink* s, size_t rows, int columns, int depth)
{
    char shape[96];
    if (depth > 0) snprintf(shape, sizeof shape, "%zu, %d, %d", rows, columns, depth);
    else if (columns >= 0) snprintf(shape, sizeof shape, "%zu, %d", rows, columns);
    else snprintf(shape, sizeof shape, "%zu,", rows);
    put_head(s, "<f8", shape);
}

static void put_pose(sink* s, tn_frame pose)
{
    const double numbers[7] = {pose.position.x,    pose.position.y,    pose.position.z,
                               pose.orientation.w, pose.orientation.x, pose.orientation.y,
                               pose.orientation.z};
    for (int k = 0; k < 7; ++k) put_double(s, numbers[k]);
}

// parts: 1 poses, 2 velocities.
static void put_bodies(sink* s, const tnc_film* film, int parts)
{
    const int depth = (parts & 1 ? 7 : 0) + (parts & 2 ? 6 : 0);
    put_doubles_head(s, film->frame_count, film->body_count, depth);
    for (size_t f = 0; f < film->frame_count; ++f) {
        for (int i = 0; i < film->body_count; ++i) {
            if (parts & 1) put_pose(s, tnc_film_pose(film, f, i));
            const double* velocity = tnc_film_velocity(film, f, i);
            for (int k = 0; parts & 2 && k < 6; ++k) put_double(s, velocity[k]);
        }
    }
}

bool tnc_write_npy(tnc_out* out, const tnc_job* job, tnc_motion* motion, const tnc_film* film)
{
    sink s = {0};
    fill_table(&s);
    begin(&s, out->file);
    put_bodies(&s, film, 3);
    const double step = film->frame_count > 1 ? tnc_film_time(film, 1) - tnc_film_time(film, 0) : 0;
    snprintf(motion->note, sizeof motion->note, "array [%zu, %d, 13], frames %g s apart",
             film->frame_count, film->body_count, step);
    (void)job;
    return true;
}

// ---- Members of an archive -----------------------------------------------------------------------

typedef void member(sink* s, const archive* a);

static void put_time(sink* s, const archive* a)
{
    put_doubles_head(s, a->film->frame_count, -1, 0);
    for (size_t f = 0; f < a->film->frame_count; ++f) put_double(s, tnc_film_time(a->film, f));
}

static void put_poses(sink* s, const archive* a)
{
    put_bodies(s, a->film, 1);
}

static void put_velocities(sink* s, const archive* a)
{
    put_bodies(s, a->film, 2);
}

static void put_joints(sink* s, const archive* a)
{
    put_doubles_head(s, a->film->frame_count, a->film->joint_numbers, 0);
    for (size_t f = 0; f < a->film->frame_count; ++f) {
        const double* numbers = tnc_film_joints(a->film, f);
        for (int k = 0; k < a->film->joint_numbers; ++k) put_double(s, numbers[k]);
    }
}

// The next character of UTF-8 text; what is none comes byte for byte.
static uint32_t next_character(const unsigned char** at)
{
    const unsigned char* c    = *at;
    const int            more = c[0] >= 0xf0 ? 3 : c[0] >= 0xe0 ? 2 : c[0] >= 0xc0 ? 1 : 0;
    uint32_t             code = more == 0 ? c[0] : c[0] & (0x3fu >> more);
    for (int k = 1; k <= more; ++k) {
        if ((c[k] & 0xc0) != 0x80) {
            *at = c + 1;
            return c[0];
        }
        code = code << 6 | (c[k] & 0x3f);
    }
    *at = c + 1 + more;
    return code;
}

static int character_count(const char* text)
{
    int count = 0;
    for (const unsigned char* c = (const unsigned char*)text; *c; next_character(&c)) ++count;
    return count;
}

static void put_name(sink* s, const char* name, int width)
{
    const unsigned char* c = (const unsigned char*)name;
    for (int k = 0; k < width; ++k) put_little(s, *c ? next_character(&c) : 0, 4);
}

// `names` are of fixed width, as numpy wants them.
static void put_names_head(sink* s, int count, int width)
{
    char type[16], shape[24];
    snprintf(type, sizeof type, "<U%d", width);
    snprintf(shape, sizeof shape, "%d,", count);
    put_head(s, type, shape);
}

static void put_body_names(sink* s, const archive* a)
{
    int width = 1;
    for (int pass = 0; pass < 2; ++pass) {
        if (pass == 1) put_names_head(s, a->film->body_count, width);
        for (int i = 0; i < a->film->body_count; ++i) {
            const char* name  = tn_model_body_name(a->model, (tn_body_id){(uint32_t)i + 1});
            const int   count = character_count(name);
            if (pass == 1) put_name(s, name, width);
            else if (count > width) width = count;
        }
    }
}

// The joint that each coordinate belongs to.
static void put_joint_names(sink* s, const archive* a)
{
    const int joints = tn_model_counts(a->model).joints;
    int       width  = 1;
    for (int pass = 0; pass < 2; ++pass) {
        if (pass == 1) put_names_head(s, a->film->joint_numbers, width);
        for (int i = 0; i < joints; ++i) {
            const tn_joint_id joint = {(uint32_t)i + 1};
            const char*       name  = tn_model_joint_name(a->model, joint);
            const int         count = character_count(name);
            const int         times = tn_model_joint_coordinates(a->model, joint);
            if (times > 0 && count > width) width = count;
            for (int k = 0; pass == 1 && k < times; ++k) put_name(s, name, width);
        }
    }
}

static const struct {
    const char* name;
    member*     put;
} member_list[] = {
    {"time.npy", put_time},
    {"poses.npy", put_poses},
    {"velocities.npy", put_velocities},
    {"joints.npy", put_joints},
    {"body_names.npy", put_body_names},
    {"joint_names.npy", put_joint_names},
};
enum { MEMBER_COUNT = sizeof member_list / sizeof member_list[0] };

// ---- The archive ---------------------------------------------------------------------------------

typedef struct entry {
    uint32_t crc;
    uint64_t length, offset;
} entry;

// What the head of a member and its line in the directory share.
static void put_entry(sink* s, const char* name, const entry* e)
{
    put_little(s, 20, 2);         // version of the format
    put_little(s, 0, 2);          // flags
    put_little(s, 0, 2);          // not compressed
    put_little(s, 0, 2);          // midnight,
    put_little(s, 1 << 5 | 1, 2); // 1 January 1980: the same motion gives the same bytes
    put_little(s, e->crc, 4);
    put_little(s, e->length, 4);
    put_little(s, e->length, 4);
    put_little(s, strlen(name), 2);
    put_little(s, 0, 2); // nothing besides
}

static void put_directory(sink* s, const entry* entries)
{
    const uint64_t start = s->count;
    for (int i = 0; i < MEMBER_COUNT; ++i) {
        const char* name = member_list[i].name;
        put_bytes(s, "PK\1\2", 4);
        put_little(s, 20, 2);
        put_entry(s, name, &entries[i]);
        put_little(s, 0, 8); // no comment, first disk, attributes within
        put_little(s, 0, 2);
        put_little(s, entries[i].offset, 4);
        put_bytes(s, name, strlen(name));
    }
    const uint64_t length = s->count - start;
    put_bytes(s, "PK\5\6\0\0\0", 8);
    put_little(s, MEMBER_COUNT, 2);
    put_little(s, MEMBER_COUNT, 2);
    put_little(s, length, 4);
    put_little(s, start, 4);
    put_little(s, 0, 2);
}

bool tnc_write_npz(tnc_out* out, const tnc_job* job, tnc_motion* motion, const tnc_film* film)
{
    const archive a = {.model = job->model, .film = film};
    entry         entries[MEMBER_COUNT];
    sink          s   = {0};
    uint64_t      all = 0;
    fill_table(&s);
    for (int i = 0; i < MEMBER_COUNT; ++i) {
        begin(&s, NULL);
        member_list[i].put(&s, &a);
        entries[i] = (entry){.crc = ~s.crc, .length = s.count, .offset = all};
        all += 30 + strlen(member_list[i].name) + s.count;
    }
    if (all > 0xffff0000u) {
        tnc_complain(
            "%s: more than the 4 GB that a zip archive can have; a larger --every makes it "
            "smaller",
            out->path);
        return false;
    }
    begin(&s, out->file);
    for (int i = 0; i < MEMBER_COUNT; ++i) {
        put_bytes(&s, "PK\3\4", 4);
        put_entry(&s, member_list[i].name, &entries[i]);
        put_bytes(&s, member_list[i].name, strlen(member_list[i].name));
        member_list[i].put(&s, &a);
    }
    put_directory(&s, entries);
    snprintf(motion->note, sizeof motion->note, "%zu frames of %d bodies and %d joint coordinates",
             film->frame_count, film->body_count, film->joint_numbers);
    return true;
}
