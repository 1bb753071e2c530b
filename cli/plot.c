// plot: measures of a motion as a drawing, one panel each, one above the other. They come from a simulation, or from
// a report that has the series of one. A measure of a joint or body is asked for where the series has
// its samples; forces by a stepper of their own, so that being looked at does not change the motion.
#include "plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum measure {
    ENERGY,
    ERROR,
    VELOCITY_ERROR,
    STEP,
    CONTACTS,
    ACTIVE,
    POSITION,
    VELOCITY,
    FORCE,
    HEIGHT,
    SPEED,
    MEASURE_COUNT
} measure;

typedef struct measure_info {
    const char* word; ///< with ':' at the end: of a joint or body
    const char* title;
    const char* unit;
    bool        logarithmic, whole;
    int         color;
} measure_info;

static const measure_info measure_list[MEASURE_COUNT] = {
    [ENERGY]         = {"energy", "energy", "J", false, false, 0},
    [ERROR]          = {"error", "joint error", "m or rad", true, false, 5},
    [VELOCITY_ERROR] = {"velocity_error", "joint velocity error", "m/s or rad/s", true, false, 5},
    [STEP]           = {"step", "wall time of a step", "&#181;s", true, false, 4},
    [CONTACTS]       = {"contacts", "points in contact", "", false, true, 3},
    [ACTIVE]         = {"active", "active joints", "", false, true, 3},
    [POSITION]       = {"position:", "position of", "m or rad", false, false, 0},
    [VELOCITY]       = {"velocity:", "velocity of", "m/s or rad/s", false, false, 0},
    [FORCE]          = {"force:", "force in", "N", false, false, 1},
    [HEIGHT]         = {"height:", "height of", "m", false, false, 3},
    [SPEED]          = {"speed:", "speed of", "m/s", false, false, 3},
};

/// What a panel shows.
typedef struct subject {
    measure     what;
    tn_joint_id joint;
    tn_body_id  body;
    char        name[128]; ///< of either
} subject;

typedef struct plotter {
    const tnc_options* options;
    tnc_audience       audience;
    tnc_out            out;
    tnc_figure*        figure;
    subject            subjects[TNC_PANELS_MAX];
    tn_stepper*        evaluator; ///< NULL: no force is asked for
} plotter;

// ---- What is asked for ---------------------------------------------------------------------------

static bool is_of_joint(measure what)
{
    return what == POSITION || what == VELOCITY || what == FORCE;
}

static bool is_of_body(measure what)
{
    return what == HEIGHT || what == SPEED;
}

static bool unknown_word(const char* word)
{
    const char* words[MEASURE_COUNT];
    for (int i = 0; i < MEASURE_COUNT; ++i) words[i] = measure_list[i].word;
    const char* near = tn_nearest_word(word, words, MEASURE_COUNT);
    if (near) tnc_complain("--of: unknown '%.100s' (did you mean '%s'?)", word, near);
    else
        tnc_complain(
            "--of: unknown '%.100s'; there are energy, error, velocity_error, step, contacts, "
            "active, position:JOINT, velocity:JOINT, force:JOINT, height:BODY, speed:BODY",
            word);
    return false;
}

static bool read_word(const char* word, subject* s)
{
    for (int i = 0; i < MEASURE_COUNT; ++i) {
        const char*  known  = measure_list[i].word;
        const size_t length = strlen(known);
        const bool   owned  = known[length - 1] == ':';
        if (owned ? strncmp(word, known, length) != 0 : strcmp(word, known) != 0) continue;
        s->what = (measure)i;
        snprintf(s->name, sizeof s->name, "%s", owned ? word + length : "");
        return true;
    }
    return unknown_word(word);
}

// The words of --of, between commas.
static bool read_words(plotter* p)
{
    const char* text = p->options->of ? p->options->of : "energy,error,step";
    while (true) {
        const size_t length = strcspn(text, ",");
        char         word[192];
        if (p->figure->panel_count == TNC_PANELS_MAX) {
            tnc_complain("--of: more than %d panels", (int)TNC_PANELS_MAX);
            return false;
        }
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word),
                 text);
        if (!read_word(word, &p->subjects[p->figure->panel_count])) return false;
        p->figure->panel_count++;
        if (!text[length]) return true;
        text += length + 1;
    }
}

static const char* nearest_name(const tn_model* model, const char* name, bool joint, char hint[192])
{
    const tn_counts counts = tn_model_counts(model);
    const int       count  = joint ? counts.joints : counts.bodies;
    const char**    names  = malloc(sizeof *names * ((size_t)count + 1));
    hint[0]                = '\0';
    for (int i = 0; names && i < count; ++i)
        names[i] = joint ? tn_model_joint_name(model, (tn_joint_id){(uint32_t)i + 1})
                         : tn_model_body_name(model, (tn_body_id){(uint32_t)i + 1});
    const char* near = names ? tn_nearest_word(name, names, count) : NULL;
    if (near) snprintf(hint, 192, " (did you mean '%.120s'?)", near);
    free(names);
    return hint;
}

// Finds the joint or body by its name.
static bool find_subject(subject* s, const tn_model* model)
{
    char       hint[192];
    const bool joint = is_of_joint(s->what);
    if (!joint && !is_of_body(s->what)) return true;
    if (joint) s->joint = tn_model_find_joint(model, s->name);
    else s->body = tn_model_find_body(model, s->name);
    if (s->joint.bits || s->body.bits) return true;
    tnc_complain("--of: the scene has no %s '%.100s'%s", joint ? "joint" : "body", s->name,
                 nearest_name(model, s->name, joint, hint));
    return false;
}

// What the coordinates of a joint are measured in, where all are alike.
static const char* unit_of(const tnc_job* job, const subject* s)
{
    const tn_joint_def* def  = tnc_joint_def(job, s->joint);
    const tn_joint_type type = !def                          ? TN_JOINT_USER
                               : def->type == TN_JOINT_MOTOR ? def->of
                                                             : def->type;
    const bool          turns =
        type == TN_JOINT_HINGE || type == TN_JOINT_UNIVERSAL || type == TN_JOINT_BALL;
    const bool slides = type == TN_JOINT_SLIDER;
    if (s->what == POSITION) return turns ? "rad" : slides ? "m" : "m or rad";
    return turns ? "rad/s" : slides ? "m/s" : "m/s or rad/s";
}

// ---- Panels --------------------------------------------------------------------------------------

static void begin_panel(tnc_panel* panel, const subject* s)
{
    const measure_info* info = &measure_list[s->what];
    snprintf(panel->title, sizeof panel->title, "%s%s%s", info->title, s->name[0] ? " " : "",
             s->name);
    panel->unit        = info->unit;
    panel->logarithmic = info->logarithmic;
    panel->whole       = info->whole;
    panel->color       = info->color;
    panel->line_count  = 1;
    if (s->what != ENERGY) return;
    static const char* const labels[] = {"kinetic", "potential", "total"};
    for (int k = 0; k < 3; ++k)
        snprintf(panel->lines[k].label, sizeof panel->lines[k].label, "%s", labels[k]);
    panel->line_count = 3;
}

static bool begin_coordinates(tnc_panel* panel, const tnc_job* job, const subject* s)
{
    const int count = tn_model_joint_coordinates(job->model, s->joint);
    if (count == 0) {
        tnc_complain("--of: joint '%.100s' has no free coordinates", s->name);
        return false;
    }
    panel->unit       = unit_of(job, s);
    panel->line_count = count < TNC_LINES_MAX ? count : TNC_LINES_MAX;
    for (int k = 0; k < panel->line_count; ++k)
        snprintf(panel->lines[k].label, sizeof panel->lines[k].label, "coordinate %d", k + 1);
    return true;
}

// From the series, whole.
static void fill_panel(tnc_panel* panel, measure what, const tnc_series* s)
{
    static const int columns[] = {[ERROR]          = TNC_SERIES_JOINT_ERROR,
                                  [STEP]           = TNC_SERIES_STEP_SECONDS,
                                  [CONTACTS]       = TNC_SERIES_CONTACTS,
                                  [ACTIVE]         = TNC_SERIES_ACTIVE,
                                  [VELOCITY_ERROR] = TNC_SERIES_VELOCITY_ERROR};
    const double     scale     = what == STEP ? 1e6 : 1; // microseconds
    for (int i = 0; i < s->count; ++i) {
        if (what == ENERGY) {
            const double potential =
                s->values[TNC_SERIES_GRAVITY][i] + s->values[TNC_SERIES_ELASTIC][i];
            panel->lines[0].values[i] = s->values[TNC_SERIES_KINETIC][i];
            panel->lines[1].values[i] = potential;
            panel->lines[2].values[i] = s->values[TNC_SERIES_KINETIC][i] + potential;
        } else panel->lines[0].values[i] = scale * s->values[columns[what]][i];
    }
}

static double length_of(tn_vec3 v)
{
    return sqrt(v.x * v.x + v.y * v.y + v.z * v.z);
}

// The newest sample, of the state as it is.
static void sample(tnc_panel* panel, const subject* s, const plotter* p, const tnc_job* job, int i,
                   bool evaluated)
{
    double numbers[6] = {0};
    if (s->what == POSITION) tn_state_joint_position(job->state, s->joint, numbers);
    else if (s->what == VELOCITY) tn_state_joint_velocity(job->state, s->joint, numbers);
    else if (s->what == FORCE)
        numbers[0] =
            evaluated ? length_of(tn_stepper_reaction(p->evaluator, s->joint).force) : (double)NAN;
    else if (s->what == HEIGHT) numbers[0] = tn_state_pose(job->state, s->body).position.z;
    else numbers[0] = length_of(tn_state_velocity(job->state, s->body).linear);
    for (int k = 0; k < panel->line_count; ++k) panel->lines[k].values[i] = numbers[k];
}

// ---- Simulated -----------------------------------------------------------------------------------

static bool open_evaluator(plotter* p, const tnc_job* job)
{
    tn_settings settings = job->settings;
    tn_why      why      = {0};
    settings.method =
        TN_METHOD_MULTIPLIER; // accelerations and reactions are the same for every method
    if (tn_stepper_create(job->model, &settings, &p->evaluator, &why) == TN_OK) return true;
    settings.method = TN_METHOD_AUTO; // forces with bounds
    if (tn_stepper_create(job->model, &settings, &p->evaluator, &why) == TN_OK) return true;
    tnc_complain_why(job->origin, &why);
    return false;
}

static bool open_plot(void* user, tnc_job* job, tnc_motion* m)
{
    plotter* p = user;
    for (int i = 0; i < p->figure->panel_count; ++i) {
        subject*   s     = &p->subjects[i];
        tnc_panel* panel = &p->figure->panels[i];
        begin_panel(panel, s);
        if (!find_subject(s, job->model)) return false;
        if ((s->what == POSITION || s->what == VELOCITY) && !begin_coordinates(panel, job, s))
            return false;
        if (s->what == FORCE && !p->evaluator && !open_evaluator(p, job)) return false;
    }
    if (!tnc_series_create(&m->series, m->steps)) return false;
    p->audience.every = m->series->stride;
    return tnc_out_open(&p->out, p->options->out);
}

static tn_result see(void* user, tnc_job* job, tnc_motion* m, tn_why* why)
{
    plotter* p = user;
    if (m->series->count == p->figure->sample_count) return TN_OK;
    (void)why;
    p->figure->sample_count = m->series->count;
    const bool evaluated =
        p->evaluator && tn_stepper_evaluate(p->evaluator, job->state, NULL, NULL) == TN_OK;
    for (int i = 0; i < p->figure->panel_count; ++i) {
        const subject* s = &p->subjects[i];
        if (is_of_joint(s->what) || is_of_body(s->what))
            sample(&p->figure->panels[i], s, p, job, m->series->count - 1, evaluated);
    }
    return TN_OK;
}

static bool draw(plotter* p, const tnc_series* series)
{
    tnc_figure* f   = p->figure;
    f->sample_count = series->count;
    memcpy(f->time, series->values[TNC_SERIES_TIME], sizeof f->time);
    for (int i = 0; i < f->panel_count; ++i) {
        const measure what = p->subjects[i].what;
        if (!is_of_joint(what) && !is_of_body(what)) fill_panel(&f->panels[i], what, series);
    }
    tnc_put_svg(&p->out, f);
    return tnc_out_close(&p->out);
}

static void name_figure(tnc_figure* f, const char* scene, const char* method, double h,
                        double steps)
{
    snprintf(f->title, sizeof f->title, "%s", scene);
    snprintf(f->subtitle, sizeof f->subtitle, "%s, h = %g s, %.0f steps", method, h, steps);
}

static bool close_plot(void* user, tnc_job* job, tnc_motion* m)
{
    plotter* p = user;
    name_figure(p->figure, tnc_job_title(job), tn_method_word(job->settings.method), m->h,
                (double)m->done);
    return draw(p, m->series);
}

static void free_plot(void* user)
{
    plotter* p = user;
    if (p->out.file) tnc_out_close(&p->out);
    tn_stepper_free(p->evaluator);
    p->evaluator = NULL;
}

// ---- From a report -------------------------------------------------------------------------------

static int plot_report(plotter* p, const tnc_reported* r)
{
    const tnc_options* options = p->options;
    if (!r->has_series) {
        tnc_complain(
            "%s: this report has no series: tenon run SCENE --report FILE --series writes them",
            options->argument);
        return TNC_WRONG;
    }
    if (options->setting_count > 0 || options->mocap) {
        tnc_complain("%s: it is a report: nothing is simulated, and no setting changes that",
                     options->argument);
        return TNC_WRONG;
    }
    for (int i = 0; i < p->figure->panel_count; ++i) {
        const measure what = p->subjects[i].what;
        if (is_of_joint(what) || is_of_body(what)) {
            tnc_complain("--of: a report does not have '%s%.100s'; plot the scene instead",
                         measure_list[what].word, p->subjects[i].name);
            return TNC_WRONG;
        }
        begin_panel(&p->figure->panels[i], &p->subjects[i]);
    }
    if (!tnc_out_open(&p->out, options->out)) return TNC_WRONG;
    name_figure(p->figure, r->scene, r->method, r->h, r->steps);
    return draw(p, &r->series) ? TNC_DONE : TNC_STOPPED;
}

// ---- The command ---------------------------------------------------------------------------------

static bool choose_size(tnc_figure* f, const tnc_options* options)
{
    enum { PIXELS_MIN = 100, PIXELS_MAX = 20000 };
    const long long width  = options->width > 0 ? options->width : 800;
    const long long height = options->height > 0 ? options->height : 90 + 190 * f->panel_count;
    if (width < PIXELS_MIN || width > PIXELS_MAX || height < PIXELS_MIN || height > PIXELS_MAX) {
        tnc_complain("--width and --height are %d to %d", (int)PIXELS_MIN, (int)PIXELS_MAX);
        return false;
    }
    f->width  = (double)width;
    f->height = (double)height;
    return true;
}

static bool ends_in_svg(const char* path)
{
    const size_t length = path ? strlen(path) : 0;
    if (length >= 4 && strcmp(path + length - 4, ".svg") == 0) return true;
    if (path) tnc_complain("--out: '%.200s' should end in .svg", path);
    else tnc_complain("tenon plot needs --out FILE.svg");
    return false;
}

static int plot(plotter* p, tnc_reported* reported)
{
    const char* path = p->options->argument;
    if (path && path[0] != '@' && !tnc_is_console(path) && !tnc_read_report(path, reported))
        return TNC_WRONG;
    if (reported->is_report) return plot_report(p, reported);
    return tnc_simulate(p->options, &p->audience);
}

int tnc_plot(const tnc_options* options)
{
    plotter p = {
        .options  = options,
        .audience = {.open = open_plot, .see = see, .close = close_plot, .free = free_plot}};
    tnc_reported* reported = calloc(1, sizeof *reported);
    int           code     = TNC_STOPPED;
    p.audience.user        = &p;
    p.figure               = calloc(1, sizeof *p.figure);
    if (!p.figure || !reported) tnc_complain("%s", tn_result_text(TN_ERR_MEMORY));
    else if (!ends_in_svg(options->out) || !tnc_paths_are_apart(options) || !read_words(&p) ||
             !choose_size(p.figure, options))
        code = TNC_WRONG;
    else code = plot(&p, reported);
    free(p.figure);
    free(reported);
    return code;
}
