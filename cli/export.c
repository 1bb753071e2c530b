// export: the motion of a mechanism as a file for another program. The ending of its name says which format.
//
// All but CSV need the whole motion before they can be written (counts stand first, or channels body by
// body), so frames are kept in memory: 56 bytes a body, 104 with velocities.
#include "export.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct format {
    const char*     ending;
    bool            film;       ///< for the eye: about 60 frames a second do
    bool            velocities; ///< and joint coordinates
    bool            even;       ///< frames have equal distances: an odd last one is left out
    tnc_write_film* write;      ///< NULL: the library's own recorder
} format;

static const format format_list[] = {
    {".glb", true, false, false, tnc_write_glb}, {".gltf", true, false, false, tnc_write_gltf},
    {".bvh", true, false, true, tnc_write_bvh},  {".csv", false, false, true, NULL},
    {".npy", false, true, true, tnc_write_npy},  {".npz", false, true, true, tnc_write_npz},
};
enum { FORMAT_COUNT = sizeof format_list / sizeof format_list[0] };

typedef struct exporter {
    const tnc_options* options;
    tnc_audience       audience;
    const format*      format;
    tnc_out            out;
    tn_recorder*       recorder;
    tnc_film           film;
    long long          last; ///< step of the newest frame
} exporter;

static const format* find_format(const char* path)
{
    const char* dot = strrchr(path, '.');
    for (int i = 0; dot && i < FORMAT_COUNT; ++i)
        if (strcmp(dot, format_list[i].ending) == 0) return &format_list[i];
    tnc_complain("--out: '%.200s' should end in .glb, .gltf, .bvh, .csv, .npy or .npz", path);
    return NULL;
}

// Steps from frame to frame: so many that a second has about 60.
static long long film_every(double h)
{
    const double every = floor(1 / (60 * h) + 0.5);
    return every > 1 ? (long long)fmin(every, 1e15) : 1;
}

static bool open_file(void* user, tnc_job* job, tnc_motion* m)
{
    exporter*   e    = user;
    const char* path = e->options->out;
    tn_why      why  = {0};
    if (e->format->film && e->options->every == 0) e->audience.every = film_every(m->h);
    e->film = tnc_film_begin(job->model, e->format->velocities);
    if (e->format->write) return tnc_out_open(&e->out, path);
    if (tn_recorder_create(&job->host, job->model, path, &e->recorder, &why) == TN_OK) return true;
    tnc_complain_why(path, &why);
    return false;
}

static tn_result add_frame(exporter* e, const tnc_job* job, const tnc_motion* m, tn_why* why)
{
    e->last = m->done;
    if (e->recorder) return tn_recorder_add(e->recorder, job->state, why);
    return tnc_film_add(&e->film, job->model, job->state) ? TN_OK : TN_ERR_MEMORY;
}

static tn_result see(void* user, tnc_job* job, tnc_motion* m, tn_why* why)
{
    exporter* e = user;
    return m->done % e->audience.every == 0 ? add_frame(e, job, m, why) : TN_OK;
}

static bool write_file(void* user, tnc_job* job, tnc_motion* m)
{
    exporter* e   = user;
    tn_why    why = {0};
    if (!e->format->write) {
        const bool good = tn_recorder_finish(e->recorder, &why) == TN_OK;
        if (!good) tnc_complain_why(e->options->out, &why);
        e->recorder = NULL;
        return good;
    }
    if (!e->format->even && e->last != m->done && !m->stop.stopped)
        (void)!add_frame(e, job, m, &why); // without memory the motion ends a frame earlier
    const bool good = e->film.frame_count == 0 || e->format->write(&e->out, job, m, &e->film);
    return tnc_out_close(&e->out) && good;
}

static void free_file(void* user)
{
    exporter* e = user;
    (void)!tn_recorder_finish(e->recorder, NULL); // only left open when nothing was simulated
    if (e->out.file) tnc_out_close(&e->out);
    tnc_film_free(&e->film);
}

int tnc_export(const tnc_options* options)
{
    exporter e = {
        .options  = options,
        .audience = {.open = open_file, .see = see, .close = write_file, .free = free_file}};
    e.audience.user = &e;
    if (!options->out) {
        tnc_complain(
            "tenon export needs --out FILE, ending in .glb, .gltf, .bvh, .csv, .npy or .npz");
        return TNC_WRONG;
    }
    if (!tnc_is_console(options->out) && !(e.format = find_format(options->out))) return TNC_WRONG;
    return tnc_simulate(options, &e.audience); // which does not take '-'
}

// ---- Films ---------------------------------------------------------------------------------------

tnc_film tnc_film_begin(const tn_model* model, bool velocities)
{
    tnc_film f      = {.body_count = tn_model_counts(model).bodies, .velocities = velocities};
    f.joint_numbers = velocities ? tn_model_coordinate_count(model) : 0;
    f.numbers       = 1 + (size_t)f.body_count * (velocities ? 13 : 7) + (size_t)f.joint_numbers;
    return f;
}

void tnc_film_free(tnc_film* film)
{
    free(film->values);
    *film = (tnc_film){0};
}

static bool make_room(tnc_film* f)
{
    if (f->frame_count < f->room) return true;
    const size_t room   = f->room > 0 ? 2 * f->room : 64;
    double*      values = NULL;
    if (room <= SIZE_MAX / sizeof(double) / f->numbers)
        values = realloc(f->values, room * f->numbers * sizeof(double));
    if (!values) return false;
    f->values = values;
    f->room   = room;
    return true;
}

bool tnc_film_add(tnc_film* f, const tn_model* model, const tn_state* state)
{
    if (!make_room(f)) return false;
    double* at = f->values + f->frame_count++ * f->numbers;
    *at++      = tn_state_time(state);
    for (int i = 0; i < f->body_count; ++i, at += 7) {
        const tn_frame pose = tn_state_pose(state, (tn_body_id){(uint32_t)i + 1});
        memcpy(at, &pose, sizeof pose);
    }
    for (int i = 0; f->velocities && i < f->body_count; ++i, at += 6) {
        const tn_twist velocity = tn_state_velocity(state, (tn_body_id){(uint32_t)i + 1});
        memcpy(at, &velocity, sizeof velocity);
    }
    const int joints = f->velocities ? tn_model_counts(model).joints : 0;
    for (int i = 0; i < joints; ++i) {
        const tn_joint_id joint = {(uint32_t)i + 1};
        tn_state_joint_position(state, joint, at + tn_model_joint_coordinate_start(model, joint));
    }
    return true;
}

static const double* frame_at(const tnc_film* f, size_t frame)
{
    return f->values + frame * f->numbers;
}

double tnc_film_time(const tnc_film* f, size_t frame)
{
    return frame_at(f, frame)[0];
}

tn_frame tnc_film_pose(const tnc_film* f, size_t frame, int body)
{
    tn_frame pose;
    memcpy(&pose, frame_at(f, frame) + 1 + 7 * (size_t)body, sizeof pose);
    return pose;
}

const double* tnc_film_velocity(const tnc_film* f, size_t frame, int body)
{
    return frame_at(f, frame) + 1 + 7 * (size_t)f->body_count + 6 * (size_t)body;
}

const double* tnc_film_joints(const tnc_film* f, size_t frame)
{
    return frame_at(f, frame) + f->numbers - f->joint_numbers;
}

_Static_assert(sizeof(tn_frame) == 7 * sizeof(double), "a pose is seven numbers");
_Static_assert(sizeof(tn_twist) == 6 * sizeof(double), "a velocity is six numbers");
