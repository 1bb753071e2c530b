// stage.h: a mechanism that is shown while it moves: what there is to see, as JSON; each moment, as a frame;
// and hands on it, as commands. docs/protocol.md has all three. The live server, the page's WebAssembly and
// recordings use it; it knows no sockets and no files.
#ifndef TENON_STAGE_H
#define TENON_STAGE_H

#include "tenon/tenon.h"

// ---- Bytes that grow -----------------------------------------------------------------------------

/// Zero it to begin. When memory runs out, `failed` is set and nothing more is added.
typedef struct tng_text {
    char*  bytes; ///< a NUL stands behind the last one
    size_t length, room;
    bool   failed;
} tng_text;

void tng_text_free(tng_text* text);
void tng_text_clear(tng_text* text); ///< keeps the room
void tng_put_bytes(tng_text* text, const void* bytes, size_t count);
void tng_put(tng_text* text, const char* format, ...) __attribute__((format(printf, 2, 3)));
// JSON values. A number that is not finite is null; '<' never stands in a text, so it may stand in HTML.
void tng_put_text(tng_text* text, const char* value);
void tng_put_number(tng_text* text, double value);
void tng_put_vec3(tng_text* text, tn_vec3 value);

// ---- What there is to see, and a moment of it ----------------------------------------------------

/// Of very large mechanisms only so many bodies are shown.
enum { TNG_BODIES_MAX = 40000 };

/// What a frame may have beside poses and handles.
enum {
    TNG_ERRORS      = 1,
    TNG_FORCES      = 2, ///< costs an evaluation
    TNG_COORDINATES = 4,
    TNG_ACTIVE      = 8,
    TNG_CONTACTS    = 16,
    TNG_ALL         = 31
};

/// A mechanism and where it is. Borrowed from whoever runs it.
typedef struct tng_cast {
    const char*        origin; ///< where the scene came from
    const tn_scene*    scene;
    const tn_model*    model;
    const tn_settings* settings;
    tn_stepper*        stepper;
    const tn_state*    state;
    int dofs; ///< degrees of freedom left; -1: not known, counted without redundant rows
} tng_cast;

/// What steps told since the last frame.
typedef struct tng_measures {
    double step;        ///< how many were taken
    double joint_error; ///< the largest
    double velocity_error;
    double step_seconds; ///< mean wall time of a step; 0: not known
    double real_time;    ///< simulated over wall time; 0: not known
    int    active;       ///< joints simulated, of an adaptive step
    bool   playing, stopped;
} tng_measures;

int tng_moving_joints(const tn_model* model); ///< joints that are no welds
/// {"type": "mechanism", ...}
void tng_put_mechanism(tng_text* text, const tng_cast* cast, double speed, bool playing);
/// {"type": "settings", ...}; joints: with what can be set of each joint.
void tng_put_settings(tng_text* text, const tng_cast* cast, double speed, bool playing,
                      bool joints);
/// {"type": "notice", ...}; level: error or info.
void tng_put_notice(tng_text* text, const char* level, const tn_why* why);
/// One frame. parts: those wanted; forces are left out where they cannot be had.
void tng_put_frame(tng_text* text, const tng_cast* cast, const tng_measures* measures, int parts);

// ---- A simulation that is watched ----------------------------------------------------------------

typedef struct tng_stage tng_stage;

/// Seconds on any steady clock, and what it is asked with.
typedef struct tng_clock {
    double (*now)(void* user);
    void* user;
} tng_clock;

/// A built-in scene, "@name:params", or the text of a scene file. *why has line and column where there is one.
TN_NODISCARD tn_result tng_scene_open(const tn_host* host, const char* text, size_t length,
                                      tn_scene** scene, tn_why* why);
/// Puts the mechanism together and makes velocities fit, as `tenon run` does before the clock starts. The scene belongs to the
/// stage from here on, whatever comes out. settings NULL: those of the scene. It begins paused.
TN_NODISCARD tn_result tng_stage_create(const tn_host* host, const char* origin, tn_scene* scene,
                                        const tn_settings* settings, tng_clock clock,
                                        tng_stage** stage, tn_why* why);
void                   tng_stage_free(tng_stage* stage); ///< NULL is allowed

/// Obeys one command, `length` bytes. What there is to say (settings, notices) is waiting then.
void tng_stage_command(tng_stage* stage, const char* line, size_t length);
/// A notice to be sent, as if the stage had one.
void tng_stage_complain(tng_stage* stage, const tn_why* why);
/// Steps until simulated time has caught up with wall time, or as the command `step` asked, working for about `budget` seconds at most. True: something
/// moved or changed since the last frame, so that a new one is worth sending.
bool tng_stage_advance(tng_stage* stage, double budget);
/// Seconds until the next step is due; infinity while paused, unless steps were asked for.
double tng_stage_wait(const tng_stage* stage);

/// The next waiting message, JSON; NULL: none. It holds until the next call of any function of the stage.
const char* tng_stage_message(tng_stage* stage, size_t* length);
/// For somebody who has just come: the mechanism as it is now. NULL: no memory.
const char* tng_stage_mechanism(tng_stage* stage, size_t* length);
/// The frame of now; likewise.
const char* tng_stage_frame(tng_stage* stage, size_t* length);

/// How it went so far.
typedef struct tng_summary {
    long long steps;
    double    time;        ///< simulated [s]
    double    joint_error; ///< largest of any step
    double    real_time;   ///< simulated over wall time, while it played
    bool      playing;
} tng_summary;
tng_summary     tng_stage_summary(const tng_stage* stage);
const tn_state* tng_stage_state(const tng_stage* stage); ///< until the next command
const tn_model* tng_stage_model(const tng_stage* stage); ///< likewise

#endif
