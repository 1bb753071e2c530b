// inside.h: the stage's internals, for its own files.
#ifndef TENON_STAGE_INSIDE_H
#define TENON_STAGE_INSIDE_H

#include "stage/stage.h"

/// A mechanism that can move. Made anew when the scene changes.
typedef struct tng_machine {
    tn_model*   model;
    tn_state*   state;
    tn_state*   before; ///< copy of the state before a step, restored if it fails
    tn_stepper* stepper;
    int         dofs;
} tng_machine;

struct tng_stage {
    tn_host     host;
    tng_clock   clock;
    char*       origin;
    tn_scene*   scene;
    tn_settings settings;
    tng_machine machine;

    bool   playing, stopped;
    double speed;      ///< simulated over wall time, as requested
    double seen;       ///< wall time up to which `owed` is computed [s]
    double owed;       ///< simulated time that is due [s]
    double step_guess; ///< expected wall time of a step [s]
    int    asked;      ///< pending single steps while paused

    tng_measures now;        ///< since the last frame
    long long    steps;      ///< since the start
    double       stepping;   ///< wall time of the steps since the last frame [s]
    int          step_count; ///< number of these steps
    double       error_max;
    double window_wall, window_time; ///< start of the interval over which real time is measured
    double played_wall, played_time; ///< totals [s]
    bool   fresh;                    ///< something changed since the last frame
    int    parts;

    tng_text waiting; ///< queued messages, each with its NUL
    size_t   read;    ///< bytes of it that were read
    tng_text mechanism, frame;
};

tng_cast tng_cast_of(const tng_stage* stage);
/// New model, state and stepper for the present scene, keeping the motion; on failure nothing
/// changes.
tn_result tng_rebuild(tng_stage* stage, tn_why* why);
/// New stepper for the settings; on failure nothing changes, including the settings.
tn_result tng_restep(tng_stage* stage, const tn_settings* settings, tn_why* why);
/// Back to the start of the scene, assembled.
tn_result tng_restart(tng_stage* stage, tn_why* why);
/// `count` steps; false: failed, the stage is stopped and a message queued.
bool tng_step(tng_stage* stage, int count);
void tng_set_playing(tng_stage* stage, bool playing);

/// Queue a message.
void tng_say_settings(tng_stage* stage, bool joints);
void tng_say_notice(tng_stage* stage, const char* level, const tn_why* why);

/// Attaches a handle to a point of a body, with a spring that is stable for the method and step.
tn_result tng_grab(tng_stage* stage, int handle, tn_body_id body, tn_vec3 point);

#endif
