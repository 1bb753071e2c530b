// simulate.h: one loop for all commands that want the motion of a mechanism.
#ifndef TNC_SIMULATE_H
#define TNC_SIMULATE_H

#include "motion.h"

/// Those for whom a mechanism moves. `open` may set `every`, and may give the motion a series to fill.
typedef struct tnc_audience {
    void* user;
    long long
        every; ///< steps between two looks: the adaptive method need not place bodies in between
    /// Before the first step. False: already complained.
    bool (*open)(void* user, tnc_job* job, tnc_motion* motion);
    /// At the start and after every step that was looked at. Optional. What fails ends the motion.
    tn_result (*see)(void* user, tnc_job* job, tnc_motion* motion, tn_why* why);
    /// The motion is over: write. False: already complained.
    bool (*close)(void* user, tnc_job* job, tnc_motion* motion);
    void (*free)(void* user); ///< the last call, whatever went wrong before. Optional.
} tnc_audience;

/// Everything from the scene named in the options to the summary and the exit code.
int tnc_simulate(const tnc_options* options, tnc_audience* audience);

/// Nobody wants the report in place of the scene, or two results in one file. False: already complained.
bool tnc_paths_are_apart(const tnc_options* options);
bool tnc_is_console(const char* path); ///< "-"

#endif
