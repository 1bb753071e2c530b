// mocap.h: a recorded motion that drives the scene of a job.
#ifndef TNC_MOCAP_H
#define TNC_MOCAP_H

#include "cli.h"
#include "tenon/mocap.h"

/// As typed; NULL: not given.
typedef struct tnc_mocap_choice {
    const char* path;
    const char* scale;
    const char* up;
} tnc_mocap_choice;

typedef struct tnc_mocap {
    const char*     path;
    tn_mocap*       motion;
    tn_mocap_report report;
} tnc_mocap;

/// Reads the file and gives the scene's bodies their targets. Anything but TNC_DONE: already
/// complained, and *mocap is NULL. *mocap stays NULL too when no file is given.
int  tnc_mocap_open(const tn_host* host, tn_scene* scene, const tnc_mocap_choice* choice,
                    tnc_mocap** mocap);
void tnc_mocap_close(tnc_mocap* mocap); ///< NULL is allowed

/// What follows what, in a few lines on standard output.
void tnc_mocap_print(const tnc_mocap* mocap, const tn_scene* scene);
/// {"file", "frames", "frame_time", "duration", "scale", "mapped", "unmapped", "still"}
void tnc_put_mocap(tnc_out* out, const tnc_mocap* mocap, const tn_scene* scene);

#endif
