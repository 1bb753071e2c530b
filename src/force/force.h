// force: everything that pushes bodies but the constraints. Each force adds to f (laid out as u)
// and knows its energy. A new force is a file here and a line in TNI_FORCE_LIST.
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
    const tni_outside* outside; ///< pushed targets and handles; NULL: none
} tni_scene_view;

/// A state as it stands, bodies being seen one by one.
TNI_INLINE tni_scene_view tni_state_scene(const tn_state* state)
{
    return (tni_scene_view){.model   = state->model,
                            .time    = state->time,
                            .z       = state->z,
                            .state   = state,
                            .outside = &state->outside};
}

/// A body as it stands; scratch is used when no view is at hand.
TNI_INLINE const tni_view* tni_view_of(const tni_scene_view* at, int body, tni_view* scratch)
{
    if (at->views != NULL) return &at->views[body];
    *scratch = tni_state_view(at->state, body);
    return scratch;
}

typedef struct tni_ahead tni_ahead;
typedef struct tni_soft  tni_soft;
typedef void             tni_take_soft(void* user, const tni_soft* soft);
/// A block of exact derivatives of the sum of all forces: K = -dF[row body]/dq[column body],
/// D = -dF[row body]/du[column body], dim x dim, row-major. q: tangent, as u.
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

/// A force either looks at one body at a time, so that all such forces can be asked while the body
/// is at hand, or at whatever it is between. What may be NULL: either of these; the energy, where
/// none is stored; for implicit steps what softens (NULL: not stiff) and what derives (NULL:
/// constant, or nobody knows); what damps (NULL: never depends on velocities); which bodies are
/// pushed (NULL: nobody knows beforehand, or it is not external).
typedef struct tni_force {
    tni_force_place place;
    void (*add_body)(const tni_scene_view* at, int body, double* f);
    void (*add)(const tni_scene_view* at, double* f);
    double (*energy)(const tni_scene_view* at);
    void (*soften)(const tni_scene_view* at, const tni_ahead* ahead, tni_take_soft* take,
                   void* user);
    void (*derive)(const tni_scene_view* at, tni_take_derivative* take, void* user);
    bool (*damps)(const tn_model* model);
    void (*pushed)(const tn_model* model, tni_take_pushed* take, void* user);
} tni_force;

// All forces there are, in the order in which they are added up. A new one: its file, and a line here.
#define TNI_FORCE_LIST(X)                                                               \
    X(gravity)   /* m g */                                                              \
    X(inertial)  /* what moves on by itself: -w x I w */                                \
    X(actuation) /* springs, dampers, limits, friction and constant forces of joints */ \
    X(spring)    /* between points of bodies */                                         \
    X(target)    /* towards keyed or pushed poses */                                    \
    X(handle)    /* towards points that somebody moves */                               \
    X(load)      /* constant, for a time */                                             \
    X(drag)      /* against motion through the air */                                   \
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
struct tni_ahead {
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
void tni_soften(const tni_scene_view* at, const tni_ahead* ahead, tni_take_soft* take, void* user);
/// One actuation's, by its number.
void tni_soften_actuation(const tni_scene_view* at, const tni_ahead* ahead, int actuation,
                          tni_soft* soft);
/// f = the sum of all forces that are not among them: gravity, loads, what user-defined bodies say.
void tni_plain_forces(const tni_scene_view* at, double* f);

// ---- External forces alone ----------------------------------------------------------------------

/// f += those that are stiff, or those that are not.
void tni_external_forces(const tni_scene_view* at, bool stiff, double* f);
/// Those that are stiff.
void tni_soften_external(const tni_scene_view* at, const tni_ahead* ahead, tni_take_soft* take,
                         void* user);
/// Their elements; handles are not among them: nobody knows which body they will hold.
void tni_external_pushed(const tn_model* model, tni_take_pushed* take, void* user);
/// How many of these there are, stiff or not.
int tni_external_count(const tn_model* model, bool stiff);

/// All exact derivatives, inertial ones too unless at->flying; several may come for the same pair.
/// User-defined bodies are left out, as rows and as columns: they do not say how their points bend.
void tni_derive(const tni_scene_view* at, tni_take_derivative* take, void* user);

#endif
