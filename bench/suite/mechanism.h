// mechanism.h: scenes that benchmarks compile and step.
//     tnb_trial      a scene with a stepper of its own: what differs may be in the scene
//     tnb_machine    a scene compiled once, for
//     tnb_runner     one of several ways to step it
// Zero one, open it, close it whether or not that went well. It must not move in between: the library holds
// pointers into it. Functions that return false have written why on standard error, unless it says otherwise.
#ifndef TNB_MECHANISM_H
#define TNB_MECHANISM_H

#include "suite.h"

static const double tnb_frame = 1.0 / 60; ///< the step where speed counts [s]

/// Memory of the library, refused beyond a limit: so a form that needs too much is reported, not fatal.
typedef struct tnb_purse {
    size_t bytes, peak, limit;
} tnb_purse;

// ---- Trials --------------------------------------------------------------------------------------

/// Load it, change scene and settings, make it ready.
typedef struct tnb_trial {
    const char* spec;
    tnb_purse   purse;
    tn_host     host;
    tn_scene*   scene;
    tn_settings settings; ///< from the scene
    tn_model*   model;
    tn_counts   counts;
    tn_stepper* stepper;
    tn_state*   state;
    tnc_times*  times;           ///< of what tnb_trial_go did, seconds a step
    double      own;             ///< processor time of the thread that calls, sum of them [s]
    long long   steps;           ///< in all
    double      visits, choices; ///< sums over all steps
    double      kinetic_loss;    ///< likewise [J]
    int         active;          ///< in the last step
} tnb_trial;

/// A method with its own step, unless the settings have another than auto's.
static inline void tnb_set_method(tn_settings* settings, tn_method method)
{
    (void)!tn_settings_set(settings, "method", tn_method_word(method), NULL);
}

/// pool: who helps; NULL: nobody.
bool tnb_trial_load(tnb_trial* trial, const char* spec, tn_pool* pool);
/// The same with an empty scene, for the caller to fill.
bool tnb_trial_create(tnb_trial* trial, const char* name);
bool tnb_trial_ready(tnb_trial* trial);
bool tnb_trial_go(tnb_trial* trial, int steps);
bool tnb_trial_warm(tnb_trial* trial, int steps); ///< the same, but nothing of it is counted
void tnb_trial_close(tnb_trial* trial);

// ---- Machines and runners ------------------------------------------------------------------------

typedef struct tnb_machine {
    char      spec[96];
    tnb_purse purse;
    tn_host   host;
    tn_scene* scene;
    tn_model* model;
    tn_counts counts;
    double    compile_seconds;
} tnb_machine;

bool tnb_machine_open(tnb_machine* machine, const char* spec);
void tnb_machine_close(tnb_machine* machine);

/// Ways to solve for the impulses.
enum {
    TNB_FORM_KKT,
    TNB_FORM_SPD,
    TNB_FORM_SPLIT,
    TNB_FORM_SPD_CHOLMOD,
    TNB_FORM_SPLIT_CHOLMOD,
    TNB_FORM_AUTO,
    TNB_FORM_COUNT
};
extern const char* const tnb_form_words[TNB_FORM_COUNT];

/// What no setting of the library says: see inside.c.
typedef struct tnb_variant {
    bool cholmod; ///< CHOLMOD factors the matrix
    bool by_norm; ///< redundant rows are regularised by the norm of the matrix
} tnb_variant;

/// A machine stepped in one way, with what came out so far.
typedef struct tnb_runner {
    const tnb_machine* machine;
    tn_settings        settings;
    tn_stepper*        stepper; ///< NULL: this way is not possible; see why
    tn_state*          state;
    tn_solver          solver;
    tn_why             why;
    double             create_seconds;
    tnc_times *        factor, *solve, *step;
    int                steps;
    double             time; ///< simulated [s]
    long long          iterations, refinements;
    int                iterations_max;
    long long          pieces, unclosed;
    double             error; ///< of joints, the largest [m or rad]
} tnb_runner;

/// The settings of the scene, with the impulse method, this form and this step.
tn_settings tnb_runner_settings(const tnb_machine* machine, int form, double h);
/// False when it cannot be done, runner->why having the reason; nothing is written.
bool tnb_runner_open(tnb_runner* runner, const tnb_machine* machine, const tn_settings* settings,
                     tnb_variant variant);
/// The same in a form.
bool tnb_runner_open_form(tnb_runner* runner, const tnb_machine* machine, int form, double h);
void tnb_runner_close(tnb_runner* runner);
void tnb_runner_clear(tnb_runner* runner); ///< what came out so far
/// One step of settings.h, timed.
bool tnb_runner_step(tnb_runner* runner);
/// One factorisation and one exact solve at the initial state, timed.
bool tnb_runner_evaluate(tnb_runner* runner);

/// A stepper of a variant.
tn_result tnb_stepper_create(const tn_model* model, const tn_settings* settings,
                             tnb_variant variant, tn_stepper** stepper, tn_why* why);

#endif
