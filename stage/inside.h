// inside.h: a stage, as its own files see it.
#ifndef TENON_STAGE_INSIDE_H
#define TENON_STAGE_INSIDE_H

#include "stage/stage.h"

/// A mechanism that can move. All of it is made anew when the scene was changed.
typedef struct tng_machine {
    tn_model*   model;
    tn_state*   state;
    tn_state*   before; ///< the state before a step, should that go wrong
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
    double speed;      ///< simulated over wall time, wanted
    double seen;       ///< wall time up to which `owed` is reckoned
    double owed;       ///< simulated time that is due
    double step_guess; ///< wall time of a step, to be on time
    int    asked;      ///< steps that are to be taken while it is paused

    tng_measures now;        ///< since the last frame
    long long    steps;      ///< since the start
    double       stepping;   ///< wall time of the steps since the last frame
    int          step_count; ///< how many these were
    double       error_max;
    double       window_wall, window_time; ///< begin of the second over which real time is measured
    double       played_wall, played_time; ///< in all
    bool         fresh;                    ///< something to show that no frame has shown
    int          parts;

    tng_text waiting; ///< messages, each with its NUL
    size_t   read;    ///< of them
    tng_text mechanism, frame;
};

tng_cast tng_cast_of(const tng_stage* stage);
/// Model, state and stepper of the scene as it is, with the motion carried over; on failure nothing changes.
tn_result tng_rebuild(tng_stage* stage, tn_why* why);
/// Another stepper for the settings; on failure nothing changes, not even these.
tn_result tng_restep(tng_stage* stage, const tn_settings* settings, tn_why* why);
/// Back to the start, put together.
tn_result tng_restart(tng_stage* stage, tn_why* why);
/// One step; false: the stage has stopped and said so.
bool tng_step(tng_stage* stage, int count);
void tng_set_playing(tng_stage* stage, bool playing);

/// Messages that wait to be sent.
void tng_say_settings(tng_stage* stage, bool joints);
void tng_say_notice(tng_stage* stage, const char* level, const tn_why* why);

/// Takes hold of a point of a body with a spring that the method's step can bear.
tn_result tng_grab(tng_stage* stage, int handle, tn_body_id body, tn_vec3 point);

#endif
