// implicit_rig: rigs that step by the implicit method, and what their energy and joints do.
#ifndef IMPLICIT_RIG_H
#define IMPLICIT_RIG_H

#include "support/impulse_rig.h"

/// A built-in scene, stepped by the implicit method; `set` changes the settings (NULL: defaults).
static inline rig implicit_builtin(const char* spec, void (*set)(tn_implicit_settings* settings))
{
    rig r               = rig_builtin(spec);
    r.settings.method   = TN_METHOD_IMPLICIT;
    r.settings.implicit = tn_default_settings().implicit;
    if (set != NULL) set(&r.settings.implicit);
    rig_restart(&r);
    return r;
}

/// What happened over a run.
typedef struct implicit_run {
    int    steps;       ///< that were made
    double rise;        ///< largest growth of the energy in one step [J]
    double above;       ///< most over the energy of the start [J]
    double scale;       ///< of energies: the largest difference from the start, or kinetic energy
    double joint_error; ///< largest
    int    pieces_most; ///< of a step
    int    rounds;      ///< in all
    bool   finite;
} implicit_run;

static inline implicit_run implicit_go(rig* r, double h, int steps)
{
    implicit_run run    = {.finite = true};
    const double start  = rig_energy(r);
    double       before = start;
    tn_why       why;
    for (int i = 0; i < steps; ++i) {
        if (tn_stepper_step(r->stepper, r->state, h, &r->report, &why) != TN_OK) return run;
        const double E = rig_energy(r), kinetic = tn_state_energy(r->state).kinetic;
        ++run.steps;
        run.finite = run.finite && isfinite(E);
        run.rise = fmax(run.rise, E - before), run.above = fmax(run.above, E - start);
        run.scale       = fmax(run.scale, fmax(kinetic, fabs(E - start)));
        run.joint_error = fmax(run.joint_error, r->report.joint_error);
        run.rounds += r->report.iteration_count;
        if (r->report.substep_count > run.pieces_most) run.pieces_most = r->report.substep_count;
        before = E;
    }
    return run;
}

#endif
