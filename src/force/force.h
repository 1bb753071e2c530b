// force: everything that pushes bodies but the constraints. Each force adds to f (laid out as u)
// and knows its energy. A new force is a file here and a line in forces.c.
#ifndef TNI_FORCE_H
#define TNI_FORCE_H

#include "joint/joint.h"

/// Where everything is when forces are asked for. Without views, bodies are seen in the state one
/// by one.
typedef struct tni_scene_view {
    const tn_model* model;
    double          time;
    const double*   z; ///< joint coordinates a moment ago
    const tni_view* views;
    const tn_state* state;
    bool            flying; ///< turning bodies carry on by themselves: no inertial forces
    double within; ///< dampers of joints take away in this time what there is, at most; 0: any
    const tni_inputs* inputs; ///< pushed targets and handles; NULL: none
} tni_scene_view;

/// A state as it stands, bodies being seen one by one.
TNI_INLINE tni_scene_view tni_state_scene(const tn_state* state)
{
    return (tni_scene_view){.model  = state->model,
                            .time   = state->time,
                            .z      = state->z,
                            .state  = state,
                            .inputs = &state->inputs};
}

/// A body as it stands; scratch is used when no view is at hand.
TNI_INLINE const tni_view* tni_view_of(const tni_scene_view* at, int body, tni_view* scratch)
{
    if (at->views != NULL) return &at->views[body];
    *scratch = tni_state_view(at->state, body);
    return scratch;
}

typedef struct tni_prediction tni_prediction;
typedef struct tni_soft       tni_soft;
typedef void                  tni_take_soft(void* user, const tni_soft* soft);
/// A block of exact derivatives of the sum of all forces: K = -dF[row body]/dq[column body],
/// D = -dF[row body]/du[column body], dim x dim, row-major. q: tangent, as u.
typedef void tni_take_derivative(void* user, int row_body, int col_body, const double* K,
                                 const double* D);

/// A force either looks at one body at a time, so that all such forces can be asked while the body
/// is at hand, or at whatever it is between. What may be NULL: either of these; the energy, where
/// none is stored; and for implicit steps what softens (NULL: not stiff) and what derives (NULL:
/// constant, or nobody knows).
typedef struct tni_force {
    void (*add_body)(const tni_scene_view* at, int body, double* f);
    void (*add)(const tni_scene_view* at, double* f);
    double (*energy)(const tni_scene_view* at);
    void (*soften)(const tni_scene_view* at, const tni_prediction* predicted, tni_take_soft* take,
                   void* user);
    void (*derive)(const tni_scene_view* at, tni_take_derivative* take, void* user);
} tni_force;

extern const tni_force tni_force_gravity;   ///< m g
extern const tni_force tni_force_inertial;  ///< what moves on by itself: -w x I w
extern const tni_force tni_force_actuation; ///< springs, dampers, limits, friction and constant
                                            ///< forces of joints
extern const tni_force tni_force_spring;    ///< between points of bodies
extern const tni_force tni_force_target;    ///< towards keyed or pushed poses
extern const tni_force tni_force_handle;    ///< towards points that somebody moves
extern const tni_force tni_force_load;      ///< constant, for a time
extern const tni_force tni_force_drag;      ///< against motion through the air
extern const tni_force tni_force_elastic;   ///< inside affine bodies
extern const tni_force tni_force_user;      ///< what user-defined bodies say

/// f += one force, on everything.
void tni_force_add(const tni_force* force, const tni_scene_view* at, double* f);
/// f[of the body] = the forces that look at one body at a time.
void tni_body_forces(const tni_scene_view* at, int body, double* f);
/// f += all other forces.
void tni_other_forces(const tni_scene_view* at, double* f);
/// Whether any force may depend on velocities, inertial ones aside.
bool tni_forces_damp(const tn_model* model);
/// What tn_state_energy() says, where the scene is seen.
tn_energy tni_energy(const tni_scene_view* at);
/// f = sum of all forces.
void tni_forces(const tni_scene_view* at, double* f);

// ---- For implicit steps: soft.c, derive.c -------------------------------------------------------

/// How a step looks ahead from where the scene is seen. Keyed and pushed poses are those of its
/// end.
struct tni_prediction {
    double        h;    ///< how far
    double        time; ///< of its end
    const double* u;    ///< velocities expected on the way: which one-sided ends will be met; NULL:
                        ///< those of the views
};

enum { TNI_SOFT_ROWS_MAX = 12 };

/// What a soft force is: decides where its rows may stand.
typedef enum tni_soft_kind {
    TNI_SOFT_BODY,  ///< on one body alone
    TNI_SOFT_JOINT, ///< along the free coordinates of a joint (index): all of them, in order
    TNI_SOFT_TOUCH, ///< between two bodies, where they touch
    TNI_SOFT_SPRING ///< between two bodies, by a spring (index): three world axes, point 2 less 1
} tni_soft_kind;

/// A stiff force, linearised: when everything has moved by d from where it is seen, and goes at u,
/// it pushes along its rows with
///     f - K (J d) - D (J u)          K and D symmetric, not negative
/// so backward Euler needs nothing else of it. J[i] has no columns for a side that cannot be
/// pushed: what such a side does by itself until the end is known, and in f.
struct tni_soft {
    tni_soft_kind kind;
    int           index;   ///< of the joint or spring
    int           body[2]; ///< TNI_SOFT_BODY: body[1]
    int           row_count;
    unsigned      met; ///< one-sided ends that push, as bits
    double        f[TNI_SOFT_ROWS_MAX];
    double        K[TNI_SOFT_ROWS_MAX * TNI_SOFT_ROWS_MAX]; ///< row_count x row_count, row-major
    double        D[TNI_SOFT_ROWS_MAX * TNI_SOFT_ROWS_MAX];
    double        J[2][TNI_SOFT_ROWS_MAX * TNI_DIM_MAX]; ///< row_count x dim of the body, row-major
};

/// All stiff forces, in a fixed order: actuations of joints, springs, targets, handles, drag,
/// elasticity.
void tni_soften(const tni_scene_view* at, const tni_prediction* predicted, tni_take_soft* take,
                void* user);
/// One actuation's, by its number.
void tni_soften_actuation(const tni_scene_view* at, const tni_prediction* predicted, int actuation,
                          tni_soft* soft);
/// f = the sum of all forces that are not among them: gravity, loads, what user-defined bodies say.
void tni_plain_forces(const tni_scene_view* at, double* f);

/// All exact derivatives, inertial ones too unless at->flying; several may come for the same pair.
/// User-defined bodies are left out, as rows and as columns: they do not say how their points bend.
void tni_derive(const tni_scene_view* at, tni_take_derivative* take, void* user);

#endif
