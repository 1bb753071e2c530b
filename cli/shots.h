// shots.h: the pictures that are wanted of a motion: how many, of which moments, how they look.
#ifndef TNC_SHOTS_H
#define TNC_SHOTS_H

#include "cli.h"

#include "stage/stage.h"

enum { TNC_AT_MAX = 32, TNC_SHOTS_MAX = 100000 };

typedef enum tnc_shots_kind {
    TNC_SHOTS_PNG, ///< one picture; several moments stand side by side
    TNC_SHOTS_MP4, ///< a film
    TNC_SHOTS_GIF  ///< likewise
} tnc_shots_kind;

typedef struct tnc_shots {
    tnc_shots_kind kind;
    int            width, height; ///< of each picture [px]
    double         fps, speed;    ///< of a film: pictures and simulated seconds, a second of it
    double         at[TNC_AT_MAX];
    int            at_count; ///< 0: the end
    bool           turned;   ///< `from` was given
    double         from[2];  ///< azimuth and elevation of the camera [rad]
    const char*    overlays; ///< words between commas; NULL: none
    const char*    trails;   ///< names of joints, likewise
    const char*    theme;
    int            parts; ///< of frames, as the overlays need them
    int            count; ///< of pictures; known once the motion's length is
} tnc_shots;

/// What the options ask for. False: already complained.
bool tnc_shots_read(tnc_shots* shots, const tnc_options* options);
/// How many there are in a motion of that many seconds, and whether the mechanism has the joints. False: already complained.
bool tnc_shots_plan(tnc_shots* shots, const tn_model* model, double seconds);
/// The motion has ended at this time, perhaps early: later moments are left out.
void   tnc_shots_trim(tnc_shots* shots, double end);
double tnc_shots_time(const tnc_shots* shots, int index); ///< simulated time of a picture [s]
/// Whether a picture is wanted of a moment less than h before or after a time.
bool tnc_shots_near(const tnc_shots* shots, double time, double h);
/// As the page takes them: {"width", "height", "times", ...}
void tnc_put_shots(tng_text* text, const tnc_shots* shots);

#endif
