// force: all forces on bodies except those of constraints. Each force adds to f (laid out as u) and
// knows its energy. A new force is a file here and a line in forces.c.
#ifndef TNI_FORCE_H
#define TNI_FORCE_H

#include "joint/joint.h"

/// The configuration at which forces are evaluated. Without views, bodies are evaluated from the
/// state one by one.
typedef struct tni_scene_view {
    const tn_model* model;
    double          time;
    const double*   z; ///< last joint coordinates, so that angles count full turns
    const tni_view* views;
    const tn_state* state;
    bool            flying; ///< free flight already keeps angular momentum: no inertial forces
    double within; ///< clamp joint damping so that it cannot reverse the motion within this time
                   ///< [s]; 0: do not
    const tni_inputs* inputs; ///< target poses and handles set by the user; NULL: none
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

/// A force acts either on one body at a time (add_body), so that all such forces can be evaluated
/// together, or between bodies (add). Each member may be NULL: one of these two; energy, if none is
/// stored; for implicit steps soften (NULL: not stiff) and derive (NULL: constant or unknown).
typedef struct tni_force {
    void (*add_body)(const tni_scene_view* at, int body, double* f);
    void (*add)(const tni_scene_view* at, double* f);
    double (*energy)(const tni_scene_view* at);
    void (*soften)(const tni_scene_view* at, const tni_prediction* predicted, tni_take_soft* take,
                   void* user);
    void (*derive)(const tni_scene_view* at, tni_take_derivative* take, void* user);
} tni_force;

extern const tni_force tni_force_gravity;   ///< m g
extern const tni_force tni_force_inertial;  ///< gyroscopic torque -w x I w
extern const tni_force tni_force_actuation; ///< springs, dampers, limits, friction and constant
                                            ///< forces of joints
extern const tni_force tni_force_spring;    ///< between points of bodies
extern const tni_force tni_force_target;    ///< towards keyed poses or poses set by the user
extern const tni_force tni_force_handle;    ///< towards points that the user moves
extern const tni_force tni_force_load;      ///< constant within an interval of time
extern const tni_force tni_force_drag;      ///< air resistance
extern const tni_force tni_force_elastic;   ///< inside affine bodies
extern const tni_force tni_force_user;      ///< of user-defined bodies

/// f += one force, on everything.
void tni_force_add(const tni_force* force, const tni_scene_view* at, double* f);
/// f[of the body] = the forces that act on one body at a time.
void tni_body_forces(const tni_scene_view* at, int body, double* f);
/// f += all other forces.
void tni_other_forces(const tni_scene_view* at, double* f);
/// Whether any force depends on velocities, inertial ones aside.
bool tni_forces_have_damping(const tn_model* model);
/// The energies that tn_state_energy() reports.
tn_energy tni_energy(const tni_scene_view* at);
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
    double        f[TNI_SOFT_ROWS_MAX];
    double        K[TNI_SOFT_ROWS_MAX * TNI_SOFT_ROWS_MAX]; ///< row_count x row_count, row-major
    double        D[TNI_SOFT_ROWS_MAX * TNI_SOFT_ROWS_MAX];
    double        J[2][TNI_SOFT_ROWS_MAX * TNI_DIM_MAX]; ///< row_count x dim of the body, row-major
};

/// All stiff forces, in a fixed order: joint forces, springs, targets, handles, drag, elasticity.
void tni_soften(const tni_scene_view* at, const tni_prediction* predicted, tni_take_soft* take,
                void* user);
/// That of one joint force, by its index.
void tni_soften_actuation(const tni_scene_view* at, const tni_prediction* predicted, int actuation,
                          tni_soft* soft);
/// f = the sum of all other forces: gravity, loads, forces of user-defined bodies.
void tni_nonstiff_forces(const tni_scene_view* at, double* f);

/// All exact derivatives, inertial ones included unless at->flying; the same pair may come several
/// times. User-defined bodies are left out, as rows and as columns: their second derivatives are
/// unknown.
void tni_derive(const tni_scene_view* at, tni_take_derivative* take, void* user);

#endif
