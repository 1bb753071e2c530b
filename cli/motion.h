// motion.h: what a run gathers, for the report, the summary and the page.
#ifndef TNC_MOTION_H
#define TNC_MOTION_H

#include "cli.h"

#include "shots.h"
#include "stage/stage.h"

enum { TNC_TIMES_ROOM = 1 << 15 };

/// Wall times of steps, thinned evenly when there are very many.
typedef struct tnc_times {
    double    seconds[TNC_TIMES_ROOM];
    int       count;
    long long stride, seen;
    double    total, min, max; ///< of all
} tnc_times;

void   tnc_times_clear(tnc_times* times);
void   tnc_times_add(tnc_times* times, double seconds);
double tnc_times_median(tnc_times* times); ///< sorts; 0 when there are none

/// Why and where a motion ended early.
typedef struct tnc_stop {
    bool        stopped;
    tn_result   result; ///< TN_OK: the user interrupted
    tn_joint_id joint;  ///< null: no joint in particular
    char        text[sizeof((tn_why*)0)->text];
} tnc_stop;

/// Measures of a run over its time, in the order in which reports have them.
enum {
    TNC_SERIES_TIME,
    TNC_SERIES_KINETIC,
    TNC_SERIES_GRAVITY,
    TNC_SERIES_ELASTIC,
    TNC_SERIES_JOINT_ERROR,
    TNC_SERIES_VELOCITY_ERROR,
    TNC_SERIES_STEP_SECONDS,
    TNC_SERIES_CONTACTS,
    TNC_SERIES_ACTIVE,
    TNC_SERIES_COUNT,
    TNC_SERIES_ROOM = 1000 ///< samples, at most
};
extern const char* const tnc_series_words[TNC_SERIES_COUNT]; ///< as reports call them

typedef struct tnc_series {
    double    values[TNC_SERIES_COUNT][TNC_SERIES_ROOM];
    int       count;
    double    now[TNC_SERIES_COUNT]; ///< the sample in the making
    long long stride, next;          ///< steps between samples, and to the next one
    long long last, seen;            ///< steps at the newest sample, and looked at so far
} tnc_series;

typedef struct tnc_motion tnc_motion;

/// False: already complained.
bool tnc_series_create(tnc_series** series, long long steps);
void tnc_series_free(tnc_series* series); ///< NULL is allowed
/// At the start and after every step. NULL: nothing is kept.
void tnc_series_add(tnc_series* series, const tn_state* state, const tnc_motion* motion);

/// What is worth a look, of one kind at one element.
typedef struct tnc_suspect {
    tn_suspect_kind kind;
    tn_joint_id     joint;  ///< null: the body
    tn_body_id      body;   ///< both null: the whole mechanism
    double          amount; ///< the largest, as in tn_suspect
    long long       count;  ///< steps that had it
    double          time;   ///< at the end of the first [s]
} tnc_suspect;

enum { TNC_SUSPECT_ROOM = 200 }; ///< elements listed, over all kinds

typedef struct tnc_suspects {
    tnc_suspect list[TNC_SUSPECT_ROOM]; ///< by kind and element, in the order of their first step
    int         count;
    tnc_suspect kinds[TN_SUSPECT_COUNT]; ///< by kind; the element is that of the largest amount
} tnc_suspects;

/// Those of one step, by kind, which ended at this time.
void tnc_suspects_add(tnc_suspects* suspects, const tn_suspect* of_step, double time);

struct tnc_motion {
    long long   steps; ///< wanted
    long long   done;
    double      h;
    tn_check    check; ///< at the start; see `checked`
    bool        checked;
    tnc_times   times;
    tn_phases   phases;
    double      error_now, error_max; ///< joint position error [m or rad]
    tn_joint_id error_joint;          ///< the joint that had error_max
    double      velocity_error_now, velocity_error_max;
    double      seconds_now; ///< wall time of the last step
    double      energy_first, energy_last, energy_drift;
    double      iteration_sum;
    int         iteration_max;
    long long   pieces;          ///< of steps
    long long   factors;         ///< implicit: factorisations
    long long   unclosed;        ///< of them taken although a joint did not close
    int         stiffened_max;   ///< bodies whose tension was treated implicitly, the most
    int         refinement_max;  ///< of the linear solves
    int         contact_now;     ///< points, after the last step
    int         contact_max;     ///< the most after any step
    double      deepest;         ///< of contacts, limits and ropes, after any step [m or rad]
    long long   impacts, events; ///< impacts; times at which a step was split
    long long   coarse;          ///< pieces of steps taken with impulses over their whole length
    long long   jams;            ///< of them by friction
    int         auxiliary_max;   ///< rows beside the tree, the most of any solve
    int         dependent_max;   ///< likewise
    double      complementarity; ///< largest violation
    int active_now, active_max;  ///< adaptive: joints simulated, in the last step, the most in any
    double    active_sum, visit_sum; ///< over all steps; visit: nodes of assembly trees
    int       visit_max;
    long long choices;      ///< of active joints, over all articulated bodies
    double    left_out;     ///< accelerations not looked at, the most of any step
    double    kinetic_loss; ///< by holding joints, in all [J]
    uint64_t  allocations_in_steps;
    bool      evaluated; ///< reactions at the final state are known
    tnc_stop  stop;

    tnc_assembly assembly;  ///< before the start
    tnc_series*  series;    ///< NULL: not wanted
    char         note[160]; ///< for the summary: what was written; empty: nothing to tell

    tn_auto_report found; ///< by method auto, the most of any step
    tnc_suspects   suspects;
};

double tnc_motion_time(const tnc_motion* motion); ///< simulated so far [s]
double tnc_energy(const tn_state* state);         ///< kinetic, gravity and elastic [J]
/// Degrees of freedom left; without the redundant rows when those are not known.
int tnc_motion_mobility(const tnc_job* job, const tnc_motion* motion);

/// The whole JSON report.
void tnc_report(tnc_out* out, const tnc_job* job, tnc_motion* motion);
/// Suspects as a JSON member, and in words, a line for each kind.
void tnc_put_suspects(tnc_out* out, const tnc_job* job, const tnc_motion* motion);
void tnc_print_suspects(const tnc_job* job, const tnc_motion* motion);
/// A form of the implicit method as files have it.
const char* tnc_form_word(tn_implicit_form form);
/// {"step", "time", "joint", "why"}
void tnc_put_stop(tnc_out* out, const tn_model* model, const tnc_stop* stop, long long step,
                  double time);
/// The table at the end of a run, on standard output.
void tnc_summary(const tnc_job* job, const tnc_motion* motion, const tnc_options* options);

// ---- Progress ------------------------------------------------------------------------------------

typedef struct tnc_progress {
    bool   shown; ///< standard error is a terminal
    double begun, next;
} tnc_progress;

tnc_progress tnc_progress_begin(bool quiet);
void         tnc_progress_show(tnc_progress* progress, const tnc_motion* motion);
/// The same for things that are made one after the other: "12 of 300 pictures".
void tnc_progress_count(tnc_progress* progress, int done, int count, const char* things);
void tnc_progress_end(tnc_progress* progress);

// ---- The page ------------------------------------------------------------------------------------

/// Frames of the motion, few enough for one page.
typedef struct tnc_page {
    tnc_out      out;
    tnc_shots*   shots;     ///< that the page makes by itself, and sends away; NULL: it plays
    bool         around;    ///< frames around their moments are kept
    int          parts;     ///< that frames have
    long long    stride;    ///< steps from frame to frame
    long long    last_step; ///< of the newest frame
    double       spent;     ///< wall time of all steps up to it [s]
    tng_measures now;       ///< since then
    tng_text     frames;
} tnc_page;

/// Opens the file. False: already complained.
bool tnc_page_open(tnc_page* page, const char* path, const tnc_job* job, long long steps,
                   long long every);
/// The same for a page that makes pictures: it has frames around every one of them, too. The file is closed with the page.
bool tnc_page_open_shots(tnc_page* page, FILE* file, const tnc_job* job, long long steps,
                         tnc_shots* shots);
/// After a step, or at the start. Keeps what falls on its stride.
void tnc_page_add(tnc_page* page, const tnc_job* job, const tnc_motion* motion);
/// Adds the last state, writes and closes. False: already complained.
bool tnc_page_close(tnc_page* page, const tnc_job* job, const tnc_motion* motion);
void tnc_page_free(tnc_page* page);

#endif
