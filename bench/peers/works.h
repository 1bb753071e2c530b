// works: the workloads W1 to W9, each a list of cases: a scene, how long it runs, how an engine's error
// is measured and what it may be. Scenes are made by public functions, without anything that another
// engine could not have: rigid bodies, welds, hinges, balls, sliders, springs in joints, one friction.
#ifndef TENON_PEER_WORKS_H
#define TENON_PEER_WORKS_H

#include "peer.h"

typedef enum work_kind {
    WORK_MOTION,  ///< error: farthest of any body from the converged motion, at four times [m]
    WORK_ENERGY,  ///< error: largest |E - E0| over weight times size, joints within 0.1 mm
    WORK_CONTACT, ///< error: joints apart and depth [m], a tenth of the sine by which axes tilt; the
                  ///< case's own question must be answered yes
    WORK_FORWARD  ///< one evaluation of the accelerations; nothing moves
} work_kind;

typedef struct peer_work {
    const char* workload; ///< "W1"
    const char* name;     ///< of the case
    work_kind   kind;
    double      duration; ///< [s], a power of two
    double      size;     ///< of the mechanism [m]: what energy is measured by
    double      bar;      ///< the error that is allowed
    bool        quick;    ///< part of the short table
    const char* spec;     ///< a built-in scene; NULL: build makes it
    tn_scene* (*build)(double value);
    double value;
    /// Another scene whose motion is the reference, for what is too stiff for explicit steps; NULL: none.
    tn_scene* (*rigid)(double value);
    /// Moves the start; NULL: as the scene has it.
    bool (*prepare)(peer_scene* scene, tn_why* why);
    /// Contact: was it as it should be at the end?
    bool (*stood)(const peer_plain* p, const peer_pose* end);
    double patience; ///< processor time that a run may take [s]; 0: as others
} peer_work;

extern const peer_work peer_works[];
extern const int       peer_work_count;

/// A case, ready to run. False: *why says what is wrong.
typedef struct peer_case {
    const peer_work* work;
    peer_scene       scene;
    peer_plain       plain;
} peer_case;
bool peer_case_open(peer_case* c, const peer_work* work, tn_why* why);
void peer_case_close(peer_case* c);

tn_scene* work_beast(double pairs);      ///< the walking machine, its lowest foot on the floor
tn_scene* work_scissor(double segments); ///< hanging, without its springs
tn_scene* work_rod(double unused);       ///< 7.5 t at the end of a rod that falls on a stop
tn_scene* work_stack(double boxes);
tn_scene* work_ragdolls(double count);
tn_scene* work_pile(double count);    ///< ragdolls, four to a layer
tn_scene* work_marbles(double count); ///< in a bin
tn_scene* work_floor_chain(double links);
tn_scene* work_car(double unused); ///< four wheels on wishbones, driven

#endif
