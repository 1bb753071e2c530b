// tenon/settings.h: which method steps a model, and how.
#ifndef TENON_SETTINGS_H
#define TENON_SETTINGS_H

#include "tenon/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TN_METHOD_LIST(X)                 \
    X(TN_METHOD_AUTO, "auto")             \
    X(TN_METHOD_MULTIPLIER, "multiplier") \
    X(TN_METHOD_IMPLICIT, "implicit")     \
    X(TN_METHOD_IMPULSE, "impulse")       \
    X(TN_METHOD_ADAPTIVE, "adaptive")

typedef enum tn_method {
#define TN_METHOD_ENUM(name, word) name,
    TN_METHOD_LIST(TN_METHOD_ENUM)
#undef TN_METHOD_ENUM
        TN_METHOD_COUNT
} tn_method;

TN_API const char* tn_method_word(tn_method method);
/// What the method promises: the error at a fixed time falls like h to this power. 0: see the docs.
TN_API int tn_method_order(tn_method method);
/// The step where none is named [s]: 1/60 by auto, 0.001 by a method that is named.
TN_API double tn_method_h(tn_method method);

typedef enum tn_integrator {
    TN_INTEGRATOR_EULER,   ///< semi-implicit, first order
    TN_INTEGRATOR_RK4,     ///< classical, fourth order
    TN_INTEGRATOR_ADAPTIVE ///< Dormand-Prince 5(4), splits the step until the error estimate is met
} tn_integrator;

typedef enum tn_dynamics {
    TN_DYNAMICS_SECOND, ///< f = m a
    TN_DYNAMICS_FIRST   ///< f = m v: drag a mechanism about with no inertia
} tn_dynamics;

typedef enum tn_loops {
    TN_LOOPS_CORE,     ///< joints that close loops are part of the factored matrix
    TN_LOOPS_AUXILIARY ///< they are auxiliary: solved by their response beside a forest of joints
} tn_loops;

typedef struct tn_multiplier_settings {
    tn_integrator integrator;
    tn_dynamics   dynamics;
    tn_loops      loops;
    double        baumgarte; ///< time in which drift decays [s]; 0: no such terms
    bool          project;   ///< bring each step's end back onto the constraints
    double        tolerance; ///< joint error that the projection leaves at most [m or rad]
    double error_tolerance; ///< adaptive integrator: error a step, in q and in h times u [m or rad]
} tn_multiplier_settings;

typedef enum tn_formulation {
    TN_FORMULATION_AUTO, ///< what costs least by prediction
    TN_FORMULATION_KKT,  ///< [M J^T; J -E] on the graph of bodies and joints
    TN_FORMULATION_SPD,  ///< J M^-1 J^T, positive definite
    TN_FORMULATION_SPLIT ///< the same with bodies of many joints split into welded parts
} tn_formulation;

typedef enum tn_springs {
    TN_SPRINGS_EXPLICIT, ///< forces of both ends of the step, as in Tomcin et al. 2014
    TN_SPRINGS_IMPLICIT  ///< rows of the matrix, of any stiffness
} tn_springs;

typedef struct tn_impulse_settings {
    double tolerance;  ///< joint error that a step leaves at most [m or rad]
    int    iterations; ///< of the joint correction, at most
    double accept; ///< joint error with which a step that fails it may still be taken [m or rad]
    tn_formulation formulation;
    double         regularisation; ///< relative, of rows that loops may make redundant
    int            part_joints; ///< split: joints on a part of a body; 0: chosen by predicted cost
    bool           stiffen;     ///< treat the tension of heavily loaded light bodies implicitly
    tn_springs     springs;
    double         sleep; ///< time at rest until what touches something falls asleep [s]; 0: never
    double         sleep_speed; ///< that counts as rest [m/s]
} tn_impulse_settings;

typedef enum tn_implicit_solve {
    TN_IMPLICIT_LINEAR,    ///< one linear solve, as in Hernandez et al. 2011
    TN_IMPLICIT_CORRECTED, ///< and joints closed to the tolerance, on the same factorisation
    TN_IMPLICIT_NEWTON     ///< the equations of the step itself, to the tolerance
} tn_implicit_solve;

typedef enum tn_implicit_form {
    TN_IMPLICIT_FORM_AUTO, ///< nullspace where it serves, rows elsewhere
    TN_IMPLICIT_ROWS,      ///< stiff forces are rows with a compliance, in the node of their joint
    TN_IMPLICIT_BLOCKS,    ///< they are blocks between bodies: the grandparent factorisation
    TN_IMPLICIT_EXACT,     ///< the same with exact derivatives: not symmetric, LU
    TN_IMPLICIT_NULLSPACE  ///< trees of rigid bodies in the velocities of their joints
} tn_implicit_form;

typedef enum tn_implicit_integrator {
    TN_IMPLICIT_EULER, ///< backward Euler, first order
    TN_IMPLICIT_BDF2   ///< two-step backward differences, second order, far less damping
} tn_implicit_integrator;

typedef struct tn_implicit_settings {
    tn_implicit_solve      solve;
    tn_implicit_form       form;
    tn_implicit_integrator integrator;
    double                 tolerance;  ///< joint error that a step leaves at most [m or rad]
    int                    iterations; ///< of the correction, or of Newton's method, at most
    bool                   stiffen;    ///< geometric stiffness: joint forces turn with the bodies
    double                 contact_stiffness; ///< of contacts, which are soft in this method [N/m]
    double                 contact_damping;   ///< [N s/m]
} tn_implicit_settings;

typedef enum tn_choice {
    TN_CHOICE_AUTO, ///< mixed where few joints are active beside the depth of the tree, else closed
    TN_CHOICE_CLOSED, ///< a joint is active only with those above it in the assembly tree
    TN_CHOICE_MIXED,  ///< half of them so, the others one by one
    TN_CHOICE_FIXED   ///< the same ones for ever: those next to the root of the assembly tree
} tn_choice;

typedef enum tn_weights {
    TN_WEIGHTS_ONE,    ///< every joint counts alike
    TN_WEIGHTS_LENGTH, ///< by the square of how far reaches what it moves [m]
    TN_WEIGHTS_PIXELS  ///< likewise, seen by the camera [pixels]
} tn_weights;

typedef enum tn_adaptive_solver {
    TN_ADAPTIVE_CLUSTERS, ///< held joints make rigid clusters: the articulated-body algorithm on these
    TN_ADAPTIVE_TREE      ///< divide and conquer over the assembly tree, as in Redon et al. 2005
} tn_adaptive_solver;

typedef enum tn_adaptive_integrator {
    TN_ADAPTIVE_MIDPOINT, ///< implicit midpoint by iteration: second order, energy is kept well
    TN_ADAPTIVE_EULER,    ///< semi-implicit, first order: a quarter of the cost, for damped motion
    TN_ADAPTIVE_RK4       ///< Runge-Kutta, fourth order, explicit: for free motion at long steps
} tn_adaptive_integrator;

typedef struct tn_adaptive_settings {
    int active; ///< joints simulated, over all articulated bodies; 0: no such bound
    int update; ///< joints whose acceleration is looked at when they are chosen; 0: twice `active`
    int period; ///< steps between choices
    double
        acceleration_error; ///< that may be left out: root of the summed squares; 0: no such bound
    double velocity_error;  ///< likewise
    double pixel_error; ///< likewise in pixels over a period, by `weights` pixels; 0: no such bound
    double budget;      ///< time a step may take, over all bodies [us]; needs a clock. 0: none
    bool   bounded; ///< choose in every step, leave out and nothing else: section 7.3 of the paper
    tn_adaptive_integrator integrator;
    tn_choice              choice;
    tn_weights             weights;
    tn_adaptive_solver     solver;
    double
        pixels; ///< focal length of the camera [pixels]; 0: there is no camera, all bodies count alike
    double camera_x, camera_y, camera_z; ///< its place, until tn_state_set_camera
    double detail;  ///< distance within which all joints of a body may be simulated [m]; 0: any
    double falloff; ///< farther away their number falls with this power of the distance
} tn_adaptive_settings;

typedef struct tn_settings {
    tn_method method;
    double    h;        ///< step [s]
    double    duration; ///< [s]
    double    accuracy; ///< error that a step may make, relative to the size of the
                        ///< mechanism; 0: not controlled. auto and impulse only
    tn_multiplier_settings multiplier;
    tn_impulse_settings    impulse;
    tn_implicit_settings   implicit;
    tn_adaptive_settings   adaptive;
    uint32_t               cookie; ///< proof that the defaults were taken; do not set
} tn_settings;

TN_API tn_settings tn_default_settings(void);

/// One setting by its name as in files and on the command line ("h", "multiplier.integrator"), its
/// value as text. Bad names and values are refused with the nearest good one, settings untouched.
/// A "method" brings its own h (tn_method_h) unless another h than the former method's own is set.
TN_NODISCARD TN_API tn_result tn_settings_set(tn_settings* settings, const char* key,
                                              const char* value, tn_why* why);
/// The same, read back: text that tn_settings_set takes, bit for bit. Returns the text's length.
TN_API int tn_settings_get(const tn_settings* settings, const char* key, char* text, size_t size);

/// The list of all settings, for help pages and writers. NULL key past the end.
typedef struct tn_setting_info {
    const char* key;    ///< "multiplier.tolerance"
    const char* values; ///< "a number > 0", "euler | rk4 | adaptive"
    const char* help;
    bool        number; ///< the value is a number (else a word)
    bool
        variant; ///< chooses a variant of a paper's method, to compare it; else an everyday setting
} tn_setting_info;
TN_API tn_setting_info tn_setting_at(int index);

#ifdef __cplusplus
}
#endif
#endif
