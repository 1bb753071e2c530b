// peer: other engines behind one small face, so that the same mechanism runs in each of them and is
// measured with the same ruler.
//
// An engine makes a world from a compiled model and a start state, takes steps, and writes where
// its bodies are into a tn_state. All measures are then Tenon's own: the largest violation of a
// joint's rows (anchors [m], axes [rad]) and the energy of that state. Masses, centres of mass and
// inertias are the model's, to the last bit. What an engine cannot express is refused with one line.
#ifndef TENON_PEER_H
#define TENON_PEER_H

#include "tenon/tenon.h"

/// Each engine reads what concerns it.
typedef struct peer_options {
    double erp;        ///< ODE: the part of a joint's error that a step tries to take back
    double cfm;        ///< ODE: softness of every joint row
    int    iterations; ///< ODE QuickStep: sweeps a step
    double tolerance;  ///< Tenon: joint error that a step leaves at most [m or rad]; 0: its default
} peer_options;

typedef struct peer_engine {
    const char* name;
    /// NULL on failure, and *why says what the engine cannot express.
    void* (*open)(const tn_model* model, const tn_state* start, const peer_options* options,
                  tn_why* why);
    /// False: the engine gave up, and says why.
    bool (*step)(void* world, double h, tn_why* why);
    void (*read)(const void* world, tn_state* state);
    void (*close)(void* world);
} peer_engine;

extern const peer_engine peer_ode_quick, peer_ode_direct;
extern const peer_engine peer_tenon_impulse, peer_tenon_multiplier, peer_tenon_implicit;

// ---- run.c: one engine, one scene, one step size -----------------------------------------------

/// A compiled scene and its start state, velocities made to fit the joints.
typedef struct peer_scene {
    tn_scene* scene;
    tn_model* model;
    tn_state* start;
    double    weight; ///< of all bodies [N]
} peer_scene;
/// Takes the scene over. False: *why says what is wrong.
bool peer_scene_open(peer_scene* s, tn_scene* scene, tn_why* why);
void peer_scene_close(peer_scene* s);

typedef struct peer_task {
    const peer_scene*  scene;
    const peer_engine* engine;
    peer_options       options;
    double             h, duration;
    int                steps_max; ///< stop after so many; 0: at the duration
} peer_task;

/// How a run went.
typedef struct peer_run {
    int    step_count;  ///< taken
    double seconds;     ///< processor time spent in them, measures left out
    double joint_error; ///< largest of any joint after any step [m or rad]
    double drift;       ///< largest |E - E0| over weight times one metre
    double lost_at;     ///< time at which it was lost [s]; < 0: never
    tn_why why;         ///< of an engine that could not start or gave up; empty: none
} peer_run;

/// Processor time of this process.
double   peer_seconds(void);
peer_run peer_measure(const peer_task* task);
/// The state where an engine ends, nothing measured on the way; false when it could not get there.
bool peer_end(const peer_task* task, tn_state* end, tn_why* why);

#endif
