// run: the motion of a mechanism with its report, its trajectory and its page.
#include "simulate.h"

typedef struct outputs {
    const tnc_options* options;
    tnc_audience*      audience;
    tnc_out            report;
    tn_recorder*       recorder;
    tnc_page           page;
} outputs;

static bool open_recorder(outputs* o, const tnc_job* job, const char* path)
{
    tn_why why = {0};
    if (tn_recorder_create(&job->host, job->model, path, &o->recorder, &why) == TN_OK) return true;
    tnc_complain_why(path, &why);
    return false;
}

static bool open_outputs(void* user, tnc_job* job, tnc_motion* m)
{
    outputs*           o       = user;
    const tnc_options* options = o->options;
    const long long    every   = o->audience->every;
    if (options->report && !tnc_out_open(&o->report, options->report)) return false;
    if (options->html && !tnc_page_open(&o->page, options->html, job, m->steps, every))
        return false;
    if (options->series && !tnc_series_create(&m->series, m->steps)) return false;
    return !options->trajectory || open_recorder(o, job, options->trajectory);
}

static tn_result record(void* user, tnc_job* job, tnc_motion* m, tn_why* why)
{
    outputs* o = user;
    tnc_page_add(&o->page, job, m);
    if (!o->recorder || m->done % o->audience->every != 0) return TN_OK;
    return tn_recorder_add(o->recorder, job->state, why);
}

static bool write_outputs(void* user, tnc_job* job, tnc_motion* m)
{
    outputs* o    = user;
    tn_why   why  = {0};
    bool     good = tn_recorder_finish(o->recorder, &why) == TN_OK;
    if (!good) tnc_complain_why(o->options->trajectory, &why);
    o->recorder = NULL;
    good        = tnc_page_close(&o->page, job, m) && good;
    if (o->report.file) tnc_report(&o->report, job, m);
    return tnc_out_close(&o->report) && good;
}

static void free_outputs(void* user)
{
    outputs* o = user;
    (void)!tn_recorder_finish(o->recorder, NULL); // only left open when nothing was simulated
    tnc_page_free(&o->page);
    if (o->report.file) tnc_out_close(&o->report);
}

int tnc_run(const tnc_options* options)
{
    tnc_audience audience = {
        .open = open_outputs, .see = record, .close = write_outputs, .free = free_outputs};
    outputs o     = {.options = options, .audience = &audience};
    audience.user = &o;
    if (options->series && !options->report) {
        tnc_complain("option '--series' needs --report FILE: that is where they go");
        return TNC_WRONG;
    }
    return tnc_simulate(options, &audience);
}
