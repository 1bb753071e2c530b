// stage.h: an interactive simulation for viewers: the mechanism, as JSON; each moment, as a frame;
// user actions, as commands. docs/protocol.md has all three. The live server, the page's
// WebAssembly and recordings use it; it uses no sockets and no files.
#ifndef TENON_STAGE_H
#define TENON_STAGE_H

#include "tenon/tenon.h"

// ---- Growing byte buffers ----------------------------------------------------------------------

/// Starts as all zeros. If memory runs out, `failed` is set and nothing more is added.
typedef struct tng_text {
    char*  bytes; ///< followed by a NUL
    size_t length, room;
    bool   failed;
} tng_text;

void tng_text_free(tng_text* text);
void tng_text_clear(tng_text* text); ///< keeps the memory
void tng_put_bytes(tng_text* text, const void* bytes, size_t count);
void tng_put(tng_text* text, const char* format, ...) __attribute__((format(printf, 2, 3)));
// JSON values. A number that is not finite is null; '<' is escaped, so a text may be embedded in
// HTML.
void tng_put_text(tng_text* text, const char* value);
void tng_put_number(tng_text* text, double value);
void tng_put_vec3(tng_text* text, tn_vec3 value);

// ---- The mechanism and a frame -----------------------------------------------------------------

/// At most this many bodies are shown.
enum { TNG_BODIES_MAX = 40000 };

/// Optional parts of a frame.
enum {
    TNG_ERRORS      = 1,
    TNG_FORCES      = 2, ///< needs an evaluation of forces
    TNG_COORDINATES = 4,
    TNG_ACTIVE      = 8,
    TNG_CONTACTS    = 16,
    TNG_ALL         = 31
};

/// A mechanism with its present state. Pointers are borrowed from the caller.
typedef struct tng_cast {
    const char*        origin; ///< source of the scene
    const tn_scene*    scene;
    const tn_model*    model;
    const tn_settings* settings;
    tn_stepper*        stepper;
    const tn_state*    state;
    int                dofs; ///< degrees of freedom; -1: unknown, estimated without redundant rows
} tng_cast;

/// Results of the steps since the last frame.
typedef struct tng_measures {
    double step;        ///< number of steps
    double joint_error; ///< largest joint error [m or rad]
    double velocity_error;
    double step_seconds; ///< mean wall time of a step [s]; 0: unknown
    double real_time;    ///< simulated over wall time; 0: unknown
    int    active;       ///< active joints of an adaptive step
    bool   playing, stopped;
} tng_measures;

int tng_moving_joints(const tn_model* model); ///< number of joints that are not welds
/// {"type": "mechanism", ...}
void tng_put_mechanism(tng_text* text, const tng_cast* cast, double speed, bool playing);
/// {"type": "settings", ...}; joints: include the adjustable values of each joint.
void tng_put_settings(tng_text* text, const tng_cast* cast, double speed, bool playing,
                      bool joints);
/// {"type": "notice", ...}; level: error or info.
void tng_put_notice(tng_text* text, const char* level, const tn_why* why);
/// One frame. parts: the optional parts wanted; forces are left out if they cannot be computed.
void tng_put_frame(tng_text* text, const tng_cast* cast, const tng_measures* measures, int parts);

// ---- An interactive simulation -----------------------------------------------------------------

typedef struct tng_stage tng_stage;

/// A steady clock [s] with its argument.
typedef struct tng_clock {
    double (*now)(void* user);
    void* user;
} tng_clock;

/// Opens a built-in scene, "@name:params", or the text of a scene file. *why has line and column if
/// known.
TN_NODISCARD tn_result tng_scene_open(const tn_host* host, const char* text, size_t length,
                                      tn_scene** scene, tn_why* why);
/// Assembles the mechanism and makes velocities consistent, as `tenon run` does at the start. Takes
/// ownership of the scene, also on failure. settings NULL: those of the scene. It starts paused.
TN_NODISCARD tn_result tng_stage_create(const tn_host* host, const char* origin, tn_scene* scene,
                                        const tn_settings* settings, tng_clock clock,
                                        tng_stage** stage, tn_why* why);
void                   tng_stage_free(tng_stage* stage); ///< NULL is allowed

/// Executes one command of `length` bytes. Replies (settings, notices) are queued as messages.
void tng_stage_command(tng_stage* stage, const char* line, size_t length);
/// Queues a notice.
void tng_stage_complain(tng_stage* stage, const tn_why* why);
/// Steps until simulated time has caught up with wall time, or as many steps as the command `step`
/// asked for, working for about `budget` seconds at most. True: there is something to show since
/// the last frame.
bool tng_stage_advance(tng_stage* stage, double budget);
/// Seconds until the next step is due; infinity while paused, unless steps are pending.
double tng_stage_wait(const tng_stage* stage);

/// The next queued message, JSON; NULL: none. Valid until the next call of any function of the
/// stage.
const char* tng_stage_message(tng_stage* stage, size_t* length);
/// The present mechanism, for a new viewer; valid likewise. NULL: out of memory.
const char* tng_stage_mechanism(tng_stage* stage, size_t* length);
/// The present frame; likewise.
const char* tng_stage_frame(tng_stage* stage, size_t* length);

/// Results so far.
typedef struct tng_summary {
    long long steps;
    double    time;        ///< simulated [s]
    double    joint_error; ///< largest of any step [m or rad]
    double    real_time;   ///< simulated over wall time while it played
    bool      playing;
} tng_summary;
tng_summary     tng_stage_summary(const tng_stage* stage);
const tn_state* tng_stage_state(const tng_stage* stage); ///< valid until the next command
const tn_model* tng_stage_model(const tng_stage* stage); ///< likewise

#endif
