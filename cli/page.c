// page: a motion as one HTML file that plays by itself: the viewer (web/), with the mechanism and its frames in
// base 64 within it (docs/protocol.md).
//
// Frames are thinned to a number and to a size that a browser takes well, and then, where the mechanism is large, leave out
// forces, coordinates and joint errors, in this order. Joint errors of the whole mechanism are not thinned but their largest
// since the frame before is kept. The page tells what was left out.
//
// A page that makes pictures has only the parts that they show, and besides frames by the stride the steps right before and
// after each of its moments, so that what it interpolates lies within one step. Of very large mechanisms it has fewer.
#include "motion.h"
#include "viewer_page.h"

#include <stdlib.h>

enum { FRAMES_MAX = 1500, FRAMES_WANTED = 400, HEAD_BYTES = 112 };
static const double bytes_max       = 16e6;  // a third more in base 64
static const double shots_bytes_max = 128e6; // likewise: it goes no further than the next program

static long long ceil_div(long long a, long long b)
{
    return (a + b - 1) / b;
}

// Of a frame, contacts aside.
static double frame_bytes(const tn_model* model, int parts)
{
    const tn_counts counts = tn_model_counts(model);
    const int       bodies = counts.bodies < TNG_BODIES_MAX ? counts.bodies : TNG_BODIES_MAX;
    double          bytes  = HEAD_BYTES + 28.0 * bodies;
    if (parts & TNG_ERRORS) bytes += 4.0 * counts.joints;
    if (parts & TNG_FORCES) bytes += 24.0 * counts.joints;
    if (parts & TNG_COORDINATES) bytes += 4.0 * tn_model_coordinate_count(model);
    if (parts & TNG_ACTIVE) bytes += counts.joints / 8.0 + 4;
    return bytes;
}

// What frames can have, so that there is room for as many as are wanted.
static int choose_parts(const tnc_job* job)
{
    static const int last_first[] = {TNG_FORCES, TNG_COORDINATES, TNG_ERRORS};
    int              parts        = TNG_ALL;
    if (tn_stepper_method(job->stepper) != TN_METHOD_ADAPTIVE) parts &= ~TNG_ACTIVE;
    for (int i = 0; i < 3; ++i)
        if (frame_bytes(job->model, parts) * FRAMES_WANTED > bytes_max) parts &= ~last_first[i];
    return parts;
}

static bool has_viewer(const char* who)
{
    if (!tnc_page_head[0])
        tnc_complain("%s: this program was built without its viewer; build it where node and npm "
                     "are, with -DTENON_PAGE=ON",
                     who);
    return tnc_page_head[0] != NULL;
}

// Steps from frame to frame, so that there are no more frames than `most`, and some.
static long long choose_stride(long long steps, long long every, double most)
{
    const long long kept = ceil_div(steps, every), room = most < 2 ? 2 : (long long)most;
    return every * (kept > 0 ? ceil_div(kept, room) : 1);
}

static double frames_max(double bytes, const tnc_job* job, int parts)
{
    const double most = bytes / frame_bytes(job->model, parts);
    return most < FRAMES_MAX ? most : FRAMES_MAX;
}

bool tnc_page_open(tnc_page* page, const char* path, const tnc_job* job, long long steps,
                   long long every)
{
    *page = (tnc_page){.parts = choose_parts(job), .last_step = -1};
    if (!has_viewer("--html")) return false;
    page->stride = choose_stride(steps, every, frames_max(bytes_max, job, page->parts));
    return tnc_out_open(&page->out, path);
}

bool tnc_page_open_shots(tnc_page* page, FILE* file, const tnc_job* job, long long steps,
                         tnc_shots* shots)
{
    *page = (tnc_page){.parts = shots->parts, .last_step = -1, .shots = shots};
    if (!has_viewer("tenon render")) return false;
    if (tn_stepper_method(job->stepper) != TN_METHOD_ADAPTIVE) page->parts &= ~TNG_ACTIVE;
    const double bytes = frame_bytes(job->model, page->parts), most = shots_bytes_max / bytes;
    page->around = 2.0 * shots->count <= 0.5 * most;
    page->stride = choose_stride(
        steps, 1, page->around ? frames_max(0.5 * shots_bytes_max, job, page->parts) : most);
    page->out = (tnc_out){.file = file, .path = "the page"};
    return true;
}

void tnc_page_free(tnc_page* page)
{
    if (page->out.file) tnc_out_close(&page->out);
    tng_text_free(&page->frames);
}

static tng_cast cast_of(const tnc_job* job, int dofs)
{
    return (tng_cast){.origin   = job->origin,
                      .scene    = job->scene,
                      .model    = job->model,
                      .settings = &job->settings,
                      .stepper  = job->stepper,
                      .state    = job->state,
                      .dofs     = dofs};
}

static void keep(tnc_page* page, const tnc_job* job, const tnc_motion* m)
{
    const tng_cast cast    = cast_of(job, -1);
    const double   spent   = m->times.total - page->spent;
    const double   count   = (double)(m->done - page->last_step);
    page->now.step         = (double)m->done;
    page->now.step_seconds = m->done > 0 && count > 0 ? spent / count : 0;
    page->now.active = page->parts & TNG_ACTIVE ? m->active_now : tng_moving_joints(job->model);
    tng_put_frame(&page->frames, &cast, &page->now, page->parts);
    page->now       = (tng_measures){0};
    page->spent     = m->times.total;
    page->last_step = m->done;
}

void tnc_page_add(tnc_page* page, const tnc_job* job, const tnc_motion* m)
{
    if (!page->out.file) return;
    if (m->error_now > page->now.joint_error) page->now.joint_error = m->error_now;
    if (m->velocity_error_now > page->now.velocity_error)
        page->now.velocity_error = m->velocity_error_now;
    const bool near = page->around && tnc_shots_near(page->shots, tnc_motion_time(m), m->h);
    if (near || m->done % page->stride == 0) keep(page, job, m);
}

// ---- The data of the page ------------------------------------------------------------------------

static void put_stopped(tng_text* text, const tnc_job* job, const tnc_motion* m)
{
    if (!m->stop.stopped) return;
    tng_put(text, ",\n\"stopped\":{\"type\":\"stopped\",\"step\":%lld,\"time\":", m->done + 1);
    tng_put_number(text, tnc_motion_time(m));
    tng_put(text, ",\"joint\":");
    tng_put_text(text, m->stop.joint.bits ? tn_model_joint_name(job->model, m->stop.joint) : "");
    tng_put(text, ",\"text\":");
    tng_put_text(text, m->stop.text);
    tng_put(text, "}");
}

static void put_note(tng_text* text, const tnc_page* page, const tnc_job* job)
{
    const int bodies = tn_model_counts(job->model).bodies;
    char      note[200];
    int       n = 0;
    if (page->stride > 1)
        n += snprintf(note, sizeof note, "One step in %lld is shown. ", page->stride);
    if (bodies > TNG_BODIES_MAX)
        n += snprintf(note + n, sizeof note - (size_t)n, "%d of %d bodies are shown. ",
                      (int)TNG_BODIES_MAX, bodies);
    if (!(page->parts & TNG_FORCES))
        n += snprintf(note + n, sizeof note - (size_t)n,
                      "Forces of joints were left out: there are too many. ");
    if (n == 0) return;
    note[n - 1] = '\0'; // the space
    tng_put(text, ",\n\"note\":");
    tng_put_text(text, note);
}

// False: there was no memory for it.
static bool put_data(tnc_page* page, const tnc_job* job, const tnc_motion* m)
{
    const tng_cast cast = cast_of(job, tnc_motion_mobility(job, m));
    tng_text       text = {0};
    tng_put(&text, "{\"source\":\"tape\"");
    put_stopped(&text, job, m);
    put_note(&text, page, job);
    if (page->shots) {
        tnc_shots_trim(page->shots, tnc_motion_time(m));
        tng_put(&text, ",\n\"render\":");
        tnc_put_shots(&text, page->shots);
    }
    tng_put(&text, ",\n\"mechanism\":");
    tng_put_mechanism(&text, &cast, 1, false);
    tng_put(&text, ",\n\"frames\":\"");
    const bool good = !text.failed && !page->frames.failed;
    if (good) fwrite(text.bytes, 1, text.length, page->out.file);
    tng_text_free(&text);
    if (!good) return false;
    tnc_put_base64(&page->out, page->frames.bytes, page->frames.length);
    fputs("\"}", page->out.file);
    return true;
}

static void put_texts(FILE* file, const char* const* texts)
{
    for (int i = 0; texts[i]; ++i) fputs(texts[i], file);
}

bool tnc_page_close(tnc_page* page, const tnc_job* job, const tnc_motion* motion)
{
    if (!page->out.file) return true;
    if (page->last_step != motion->done) keep(page, job, motion);
    put_texts(page->out.file, tnc_page_head);
    const bool good = put_data(page, job, motion);
    if (!good) tnc_complain("%s: %s", page->out.path, tn_result_text(TN_ERR_MEMORY));
    put_texts(page->out.file, tnc_page_tail);
    return tnc_out_close(&page->out) && good;
}
