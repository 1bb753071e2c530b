// force: all forces on bodies except those of constraints. Each force adds to f (laid out as u) and
// knows its energy. A new force is a file here and a line in TNI_FORCE_LIST.
#ifndef TNI_FORCE_H
#define TNI_FORCE_H

#include "joint/joint.h"

/// The joint damper that was clamped most: the share of it that was cut, 0: none was, and its joint.
typedef struct tni_cut_damper {
    double share;
    int    joint;
} tni_cut_damper;

/// The configuration at which forces are evaluated. Without views, bodies are evaluated from the
/// state one by one.
typedef struct tni_scene_view {
    const tn_model* model;
    double          time;
    const double*   z; ///< last joint coordinates, so that angles count full turns
    const tni_view* views;
    const tn_state* state;
    bool
        bounded; ///< dry friction of joints is a row elsewhere, and springs of joints end at their bounds
    bool   flying; ///< free flight already keeps angular momentum: no inertial forces
    double within; ///< clamp joint damping so that it cannot reverse the motion within this time
                   ///< [s]; 0: do not
    tni_cut_damper*   cut;    ///< takes the damper that this clamps most; NULL: nobody asks
    const tni_inputs* inputs; ///< target poses and handles set by the user; NULL: none
    bool forces_only; ///< of what is softened, f and active_limits are asked for and nothing else
} tni_scene_view;

/// The configuration of a state; bodies are evaluated one by one.
TNI_INLINE tni_scene_view tni_state_scene(const tn_state* state)
{
    return (tni_scene_view){.model  = state->model,
                            .time   = state->time,
                            .z      = state->z,
                            .state  = state,
                            .inputs = &state->inputs};
}

/// The view of a body; scratch is used when there are no views.
TNI_INLINE const tni_view* tni_view_of(const tni_scene_view* at, int body, tni_view* scratch)
{
    if (at->views != NULL) return &at->views[body];
    *scratch = tni_state_view(at->state, body);
    return scratch;
}

typedef struct tni_prediction tni_prediction;
typedef struct tni_soft       tni_soft;
typedef void                  tni_take_soft(void* user, const tni_soft* soft);
/// Takes a block of exact derivatives of the sum of all forces: K = -dF[row body]/dq[column body],
/// D = -dF[row body]/du[column body], dim x dim, row-major. q: tangent, laid out as u.
typedef void tni_take_derivative(void* user, int row_body, int col_body, const double* K,
                                 const double* D);

/// An element of a force (a spring, a load) and the bodies that it pushes; body2 < 0: one body only.
typedef void tni_take_pushed(void* user, int body1, int body2);

/// What a force belongs to: methods with coordinates of their own treat these apart.
typedef enum tni_force_place {
    TNI_FORCE_BODY,    ///< to every body: gravity, elasticity, what users say; methods in joint
                       ///< coordinates have gravity of their own, and refuse the others
    TNI_FORCE_MOTION,  ///< not a force at all: how a body moves on by itself
    TNI_FORCE_JOINT,   ///< to the free coordinates of joints
    TNI_FORCE_EXTERNAL ///< to some bodies, from outside or between two of them
} tni_force_place;

/// A force acts either on one body at a time (add_body), so that all such forces can be evaluated
/// together, or between bodies (add). Each member may be NULL: one of these two; energy, if none is
/// stored; for implicit steps soften (NULL: not stiff) and derive (NULL: constant or unknown); what damps (NULL: never depends on velocities); which bodies are
/// pushed (NULL: nobody knows beforehand, or it is not external).
typedef struct tni_force {
    tni_force_place place;
    void (*add_body)(const tni_scene_view* at, int body, double* f);
    void (*add)(const tni_scene_view* at, double* f);
    double (*energy)(const tni_scene_view* at);
    void (*soften)(const tni_scene_view* at, const tni_prediction* predicted, tni_take_soft* take,
                   void* user);
    void (*derive)(const tni_scene_view* at, tni_take_derivative* take, void* user);
    bool (*damps)(const tn_model* model);
    void (*pushed)(const tn_model* model, tni_take_pushed* take, void* user);
} tni_force;

// All forces there are, in the order in which they are added up. A new one: its file, and a line here.
#define TNI_FORCE_LIST(X)                                                               \
    X(gravity)   /* m g */                                                              \
    X(inertial)  /* gyroscopic torque -w x I w */                                       \
    X(actuation) /* springs, dampers, limits, friction and constant forces of joints */ \
    X(spring)    /* between points of bodies */                                         \
    X(target)    /* towards keyed poses or poses */                                     \
    X(handle)    /* towards points that the user moves */                               \
    X(load)      /* constant within an interval of time */                              \
    X(drag)      /* air */                                                              \
    X(elastic)   /* inside affine bodies */                                             \
    X(user)      /* what user-defined bodies say */

#define TNI_FORCE_DECLARE(name) extern const tni_force tni_force_##name;
TNI_FORCE_LIST(TNI_FORCE_DECLARE)
#undef TNI_FORCE_DECLARE

/// The sum over all free bodies, for energies.
double tni_sum_bodies(const tni_scene_view* at,
                      double (*one)(const tni_scene_view* at, const tni_body* body,
                                    const tni_view* view));
/// f += one force, on everything.
void tni_force_add(const tni_force* force, const tni_scene_view* at, double* f);
/// f[of the body] = the forces that act on one body at a time.
void tni_body_forces(const tni_scene_view* at, int body, double* f);
/// f += all other forces.
void tni_other_forces(const tni_scene_view* at, double* f);
/// Whether any force depends on velocities, inertial ones aside.
bool tni_forces_have_damping(const tn_model* model);
/// The energies that tn_state_energy() reports; the elastic one alone.
tn_energy tni_energy(const tni_scene_view* at);
double    tni_elastic_energy(const tni_scene_view* at);
/// f = sum of all forces.
void tni_forces(const tni_scene_view* at, double* f);

// ---- For implicit steps: soft.c, derive.c -------------------------------------------------------

/// What a step expects of the motion ahead. Keyed and user-set poses are evaluated at its end.
struct tni_prediction {
    double        h;    ///< length of the step [s]
    double        time; ///< of its end [s]
    const double* u;    ///< predicted mean velocities: they decide which one-sided limits are
                        ///< active; NULL: those of the views
};

enum { TNI_SOFT_ROWS_MAX = 12 };

/// Kind of a soft force: decides where its rows may go in the system.
typedef enum tni_soft_kind {
    TNI_SOFT_BODY,    ///< on one body alone
    TNI_SOFT_JOINT,   ///< along the free coordinates of a joint (index): all of them, in order
    TNI_SOFT_CONTACT, ///< between two bodies in contact
    TNI_SOFT_SPRING   ///< between two bodies, by a spring (index): three world axes, point 2 less 1
} tni_soft_kind;

/// A stiff force, linearised. After a displacement d from the evaluated configuration, at the
/// velocity u, it acts along its rows with
///     f - K (J d) - D (J u)          K and D symmetric, positive semidefinite
/// which is all that backward Euler needs. J[i] has no columns for an immovable side: its
/// prescribed motion until the end of the step is known, and included in f.
struct tni_soft {
    tni_soft_kind kind;
    int           index;   ///< of the joint or spring
    int           body[2]; ///< TNI_SOFT_BODY: body[1]
    int           row_count;
    unsigned      active_limits; ///< active one-sided limits, as bits
    tn_vec3       line;          ///< springs with a length: unit vector that f is along; else 0
    double        f[TNI_SOFT_ROWS_MAX];
    double        known
        [TNI_SOFT_ROWS_MAX]; ///< prescribed displacement along the rows until the end of the step
    double drive[TNI_SOFT_ROWS_MAX]; ///< part of f whose work no energy accounts for
    double K[TNI_SOFT_ROWS_MAX * TNI_SOFT_ROWS_MAX]; ///< row_count x row_count, row-major
    double D[TNI_SOFT_ROWS_MAX * TNI_SOFT_ROWS_MAX];
    double J[2][TNI_SOFT_ROWS_MAX * TNI_DIM_MAX]; ///< row_count x dim of the body, row-major
};

/// All stiff forces, in a fixed order: joint forces, springs, targets, handles, drag, elasticity.
void tni_soften(const tni_scene_view* at, const tni_prediction* predicted, tni_take_soft* take,
                void* user);
/// That of one joint force, by its index.
void tni_soften_actuation(const tni_scene_view* at, const tni_prediction* predicted, int actuation,
                          tni_soft* soft);
/// f = the sum of all other forces: gravity, loads, forces of user-defined bodies.
void tni_nonstiff_forces(const tni_scene_view* at, double* f);

// ---- External forces alone ----------------------------------------------------------------------

/// f += those that are stiff, or those that are not.
void tni_external_forces(const tni_scene_view* at, bool stiff, double* f);
/// Those that are stiff.
void tni_soften_external(const tni_scene_view* at, const tni_prediction* ahead, tni_take_soft* take,
                         void* user);
/// Their elements; handles are not among them: nobody knows which body they will hold.
void tni_external_pushed(const tn_model* model, tni_take_pushed* take, void* user);
/// How many of these there are, stiff or not.
int tni_external_count(const tn_model* model, bool stiff);

/// All exact derivatives, inertial ones included unless at->flying; the same pair may come several
/// times. User-defined bodies are left out, as rows and as columns: their second derivatives are
/// unknown.
void tni_derive(const tni_scene_view* at, tni_take_derivative* take, void* user);

#endif
