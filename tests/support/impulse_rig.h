// impulse_rig: rigs that step by the impulse method, and how far two states are apart.
#ifndef IMPULSE_RIG_H
#define IMPULSE_RIG_H

#include "support/rig.h"

/// A built-in scene, stepped by the impulse method with this tolerance.
static inline rig impulse_builtin(const char* spec, double tolerance)
{
    rig r                        = rig_builtin(spec);
    r.settings.method            = TN_METHOD_IMPULSE;
    r.settings.impulse.tolerance = tolerance;
    rig_restart(&r);
    return r;
}

/// Velocities as the joints and motors want them.
static inline void impulse_start(rig* r)
{
    CHECK_OK(tn_stepper_impulse(r->stepper, r->state, NULL, NULL, NULL));
}

static inline double impulse_most(const double* a, const double* b, int count)
{
    double most = 0;
    for (int i = 0; i < count; ++i) most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

/// Largest difference of coordinates, and of velocities.
typedef struct impulse_apart {
    double q, u;
} impulse_apart;

static inline impulse_apart impulse_difference(const tn_state* a, const tn_state* b)
{
    return (impulse_apart){
        impulse_most(tn_state_coordinates(a), tn_state_coordinates(b),
                     tn_state_coordinate_count(a)),
        impulse_most(tn_state_velocities(a), tn_state_velocities(b), tn_state_velocity_count(a))};
}

// ---- Energy over a long run ---------------------------------------------------------------------

enum { IMPULSE_WINDOWS = 10 };

/// What the energy does over a run, as a part of the largest kinetic energy.
typedef struct impulse_energy {
    double least, most; ///< against the start
    double slope;       ///< of the means of ten windows, over the whole run (least squares)
    double spread;      ///< of these means
} impulse_energy;

/// Of a rig that was made by whatever method; frees it.
static inline impulse_energy impulse_record_of(rig r, double h, int steps)
{
    const double   tolerance             = r.settings.impulse.tolerance;
    const double   E                     = rig_energy(&r);
    impulse_energy e                     = {0};
    double         mean[IMPULSE_WINDOWS] = {0}, fastest = 0, low = HUGE_VAL, high = -HUGE_VAL;
    for (int i = 0; i < steps && rig_step(&r, h); ++i) {
        const double off = rig_energy(&r) - E;
        fastest          = fmax(fastest, tn_state_energy(r.state).kinetic);
        e.least = fmin(e.least, off), e.most = fmax(e.most, off);
        mean[(long long)i * IMPULSE_WINDOWS / steps] += off * IMPULSE_WINDOWS / steps;
        CHECK_INT(r.report.unclosed_count, 0);
    }
    CHECK_LESS(r.joint_error, 1.001 * tolerance);
    CHECK(fastest > 1);
    for (int i = 0; i < IMPULSE_WINDOWS; ++i) {
        const double t = (i + 0.5) / IMPULSE_WINDOWS - 0.5; // sum of squares: (W^2 - 1) / 12 W
        e.slope += t * mean[i] * 12 * IMPULSE_WINDOWS / (IMPULSE_WINDOWS * IMPULSE_WINDOWS - 1.0);
        low = fmin(low, mean[i]), high = fmax(high, mean[i]);
    }
    rig_free(&r);
    return (impulse_energy){e.least / fastest, e.most / fastest, e.slope / fastest,
                            (high - low) / fastest};
}

static inline impulse_energy impulse_record(const char* spec, double tolerance, double h, int steps)
{
    return impulse_record_of(impulse_builtin(spec, tolerance), h, steps);
}

#endif
