// cli.h: what the commands of the program share. A command returns the program's exit code.
#ifndef TNC_CLI_H
#define TNC_CLI_H

#include "options.h"
#include "tenon/tenon.h"

#include <stdio.h>

enum {
    TNC_DONE    = 0, ///< all went well
    TNC_STOPPED = 1, ///< the simulation could not go on, or its result could not be written
    TNC_WRONG   = 2  ///< the command line or the input is wrong
};

/// A larger joint error at the start means that the mechanism is not assembled [m or rad].
#define TNC_ASSEMBLED 1e-6

int tnc_run(const tnc_options* options);
int tnc_export(const tnc_options* options);
int tnc_plot(const tnc_options* options);
int tnc_accel(const tnc_options* options);
int tnc_check(const tnc_options* options);
int tnc_view(const tnc_options* options);
int tnc_render(const tnc_options* options);
int tnc_scene(const tnc_options* options);
int tnc_bench(const tnc_options* options);

// ---- Messages and files --------------------------------------------------------------------------

/// One line on standard error, "tenon: ...", whatever the text holds.
void        tnc_complain(const char* format, ...) __attribute__((format(printf, 1, 2)));
const char* tnc_plural(int count); ///< "s", or nothing for one
/// The same for a reason that the library gave: "tenon: file.json:12:7: text".
void tnc_complain_why(const char* origin, const tn_why* why);

/// A text on its way out: a file, or standard output for "-".
typedef struct tnc_out {
    FILE*       file; ///< NULL: nothing is open
    const char* path;
    bool        page; ///< inside HTML: '<' never appears in a text
} tnc_out;

/// Opens for writing, now, so that a bad path is known before any work. Complains when it fails.
bool tnc_out_open(tnc_out* out, const char* path);
/// Closes; false, with a complaint, when not everything could be written. A closed pipe is not
/// complained about.
bool tnc_out_close(tnc_out* out);

/// Nothing when it is closed.
void tnc_put(tnc_out* out, const char* format, ...) __attribute__((format(printf, 2, 3)));
// JSON values. A number that is not finite is null.
void tnc_put_text(tnc_out* out, const char* text);
void tnc_put_number(tnc_out* out, double value);
void tnc_put_numbers(tnc_out* out, const double* values, int count);
void tnc_put_vec3(tnc_out* out, tn_vec3 v);
void tnc_put_quat(tnc_out* out, tn_quat q);
/// "key": value, with what stands between two members before it.
void tnc_put_member(tnc_out* out, const char* before, const char* key, double value);
void tnc_put_text_member(tnc_out* out, const char* before, const char* key, const char* value);
void tnc_put_vec3_member(tnc_out* out, const char* before, const char* key, tn_vec3 value);
/// Bytes in base 64.
void tnc_put_base64(tnc_out* out, const void* bytes, size_t count);

// ---- A mechanism, ready to go --------------------------------------------------------------------

/// Counts what the library takes from the host.
typedef struct tnc_meter {
    size_t   bytes, peak;
    uint64_t allocations;
} tnc_meter;

/// Everything a command needs of its scene. Zero it, open it, close it whether or not that went well.
/// It must not move in between: the host points into it.
typedef struct tnc_job {
    tnc_meter         meter;
    tn_host           host;
    tn_pool*          pool;   ///< who helps; NULL: nobody
    const char*       origin; ///< how messages call the scene
    tn_scene*         scene;
    tn_settings       settings;
    tn_model*         model;
    tn_state*         state;
    tn_stepper*       stepper;
    struct tnc_mocap* mocap; ///< NULL: nothing recorded drives it
} tnc_job;

/// Reads the scene that the options name, and its settings. Anything but TNC_DONE: already complained.
int tnc_job_load(tnc_job* job, const tnc_options* options);
/// The same, compiled and prepared.
int  tnc_job_open(tnc_job* job, const tnc_options* options);
void tnc_job_close(tnc_job* job);
/// The contacts of the last evaluation, for the caller to free. NULL, and *count 0: none, or no memory.
tn_contact* tnc_job_contacts(const tnc_job* job, int* count);
const char* tnc_job_title(const tnc_job* job); ///< the scene's name, or else where it came from

// ---- Assembly ------------------------------------------------------------------------------------

typedef struct tnc_assembly {
    bool        open;  ///< the joints did not meet at the start
    tn_joint_id joint; ///< the one that was furthest off then
    tn_assembly report;
} tnc_assembly;

/// Puts together what does not meet, within 1e-9, at the start. On failure the state is as it was.
tn_result tnc_job_assemble(tnc_job* job, tnc_assembly* assembly, tn_why* why);
/// How it went, in words, and as JSON: {"before", "after", "moved", "turned", "rounds", "body"}.
void tnc_assembly_text(const tnc_job* job, const tnc_assembly* assembly, char* text, size_t size);
void tnc_put_assembly(tnc_out* out, const tnc_job* job, const tnc_assembly* assembly);

// ---- Limits and ropes ----------------------------------------------------------------------------

const tn_joint_def* tnc_joint_def(const tnc_job* job, tn_joint_id joint); ///< NULL: user-defined
/// Whether the joint is a rope or has a hard limit.
bool tnc_joint_is_stopped(const tnc_job* job, tn_joint_id joint);
/// How far the joint is beyond its limit, hard or not, or beyond the length of the rope [rad or m].
double tnc_joint_beyond(const tnc_job* job, tn_joint_id joint);
/// Bodies that sleep where the job's state is.
int tnc_count_asleep(const tnc_job* job);
/// A body whose shapes collide by the scene, but not in this version.
bool tnc_find_unseen(const tn_scene* scene, tn_body_id* body);

// ---- Exit codes ----------------------------------------------------------------------------------

/// The exit code that a failure before the first step stands for.
int tnc_exit_code(tn_result result);

// ---- Time ----------------------------------------------------------------------------------------

double tnc_clock(void* unused); ///< seconds on a steady clock
/// From here on an interrupt (ctrl-C) does not end the program but is remembered.
void tnc_catch_interrupt(void);
bool tnc_interrupted(void);

#endif
