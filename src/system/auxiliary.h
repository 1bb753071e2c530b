// auxiliary: constraint rows outside the factored matrix, solved by their Schur complement. See
// auxiliary.c.
#ifndef TNI_AUXILIARY_H
#define TNI_AUXILIARY_H

#include "contact/contact.h"
#include "linalg/half_solve.h"
#include "linalg/least_norm.h"
#include "linalg/mixed_complementarity.h"
#include "linalg/saddle.h"

/// What a solve asks of a unilateral.
typedef enum tni_unilateral_rule {
    TNI_UNILATERAL_OPEN,   ///< inactive: no force
    TNI_UNILATERAL_PUSHES, ///< normal row >= 0 with a force >= 0 (complementarity)
    TNI_UNILATERAL_HELD,   ///< normal row = 0
    TNI_UNILATERAL_STUCK,  ///< all its rows = 0: held and without slip
    TNI_UNILATERAL_GRIPS,  ///< as PUSHES, with friction in its cone
    TNI_UNILATERAL_SLIDES  ///< as PUSHES, with sliding friction of full size against the slip
} tni_unilateral_rule;

/// A unilateral constraint: a hard limit, a rope, or a contact point. It pushes and never pulls.
typedef struct tni_unilateral {
    uint64_t            id;    ///< the same from step to step
    int                 limit; ///< of the model; -1: a contact
    tni_contact         contact;
    tni_unilateral_rule rule;
    int                 row_count;  ///< the normal row, then slip, spin and roll
    int                 slip_count; ///< number of tangential rows
    int                 spin_count, roll_count;
    double              friction, restitution;
    double              spinning, rolling; ///< coefficients of spinning and rolling friction [m]
    tn_vec3             slip; ///< unit direction of sliding in world axes, kept while the slip
                              ///< stays on this side
    bool   is_new;            ///< found again: its right-hand side is not set yet
    bool   skips_impacts;     ///< takes no part in impacts
    double start[TNI_CONTACT_ROWS]; ///< rates at the start of the step
    bool   was_active;              ///< it was active in the flight of this step, or is predicted
                                    ///< to be
    double force_before[TNI_CONTACT_ROWS]; ///< force at the last search for contacts
    bool   fixed_slip;                     ///< slides along `slip` whatever its rates
    /// Target of the acceleration; zero unless a slow slide is to stop at the end of the substep.
    double target_acceleration[TNI_CONTACT_ROWS];
    /// Soft contact: w + compliance f stands for w on the normal row, weights of its stiffness and damping
    /// (soft_rows.c), and the gap at the start of the step.
    bool    soft, weighed;
    double  compliance, stiff_weight, damp_weight, gap_before;
    double  bend;      ///< of the flight: its gap at the end less that of a straight line
    double  inside;    ///< the part of the step on which it touches
    double  gap;       ///< at the last evaluation [m or rad]; < 0: penetration
    double  start_gap; ///< gap where it was found
    double  rate[TNI_CONTACT_ROWS], gamma[TNI_CONTACT_ROWS];
    tn_vec3 across[2];                  ///< directions of the tangent rows
    double  target[TNI_CONTACT_ROWS];   ///< the solve asks for J u = target, or >=
    double  slide[2];                   ///< direction of sliding along `across`, when it slides
    double  force[TNI_CONTACT_ROWS];    ///< of the last solve (an impulse in velocity solves)
    double  response[TNI_CONTACT_ROWS]; ///< diagonal entry of W, of the last solve
    double  residual[TNI_CONTACT_ROWS]; ///< J u - target, of the last solve
} tni_unilateral;

/// The rows of one constraint, or of one unilateral.
typedef struct tni_auxiliary_unit {
    int  row_count; ///< in use
    int  first;     ///< first row, in the order of islands
    int  edge_start, edge_count;
    int  constraint; ///< -1: a unilateral
    int  unilateral;
    bool own_directions; ///< force directions K differ from J^T
} tni_auxiliary_unit;

typedef struct tni_auxiliary_edge {
    int     node, row, dim; ///< of the plan
    double *J, *K;          ///< its rows; the directions of their forces
} tni_auxiliary_edge;

/// Units that are coupled through the mechanism, and no others.
typedef struct tni_island {
    int    unit_start, unit_count, row_count;
    int    next; ///< row of its next unit, while they are placed
    size_t at;   ///< offset of its W
} tni_island;

/// Up to three rows of a unit with their half-solved columns (half_solve.h).
typedef struct tni_column_set {
    int            unit, first, count;
    tni_half_solve half;
} tni_column_set;

typedef struct tni_auxiliary_report {
    int    row_count, dependent_count;
    double residual; ///< largest violation of a condition
    int    unit;     ///< the unit that has it; -1: none
    bool   jammed;   ///< friction jam: no finite forces meet all conditions
    int    rounds;   ///< factorisations of the step matrix
    bool   split;    ///< some island is so large that its laws are met roughly
} tni_auxiliary_report;

/// How far a solve in the matrix goes with the laws of unilaterals.
typedef enum tni_cone_effort {
    TNI_CONES_MET,     ///< as far as it can
    TNI_CONES_FURTHER, ///< a few steps from where the last solve has left them
    TNI_CONES_FROZEN   ///< active sets stay as the last solve has left them: a linear solve
} tni_cone_effort;

enum { TNI_FIRST_UNILATERALS = 16 }; ///< that there is room for at first

/// What was found: limits, ropes and contact points, with their rows. What answers them (tni_auxiliary) takes it as an
/// argument, and writes forces, rates and responses into it.
typedef struct tni_unilaterals {
    const tn_model* model;
    tni_arena       arena; ///< its own: it may grow between steps
    int             unilateral_count, unilateral_capacity;
    size_t          block_count, block_capacity; ///< doubles in j
    bool            full;                        ///< too small: grow, and try again
    bool            spin_and_roll;               ///< spinning and rolling friction have rows
    unsigned        stamp;                       ///< another one when the set or its rows change
    tni_unilateral* unilaterals;
    size_t*         block_at; ///< offsets of the two blocks of each, in j
    double*         j;        ///< blocks, row_count x dim
    tni_unilateral* watched;  ///< events: what ended the last substep
    int             watched_count;
    tni_contact*    found;  ///< scratch, unilateral_capacity of them
    tni_finder*     finder; ///< NULL: the model has no shapes that may touch
} tni_unilaterals;

/// What responses, or the step matrix, were made for: where all of it is the same, they still hold.
typedef struct tni_made_for {
    int      count; ///< of unilaterals, whose rules are in `rules`; -1: nothing
    unsigned found, filled,
        begun; ///< stamps: of the set, of the matrix, of the step and its soft rows
    bool softens, exact;
} tni_made_for;

typedef struct tni_auxiliary {
    const tn_model*  model;
    const tni_split* split;
    tni_arena        arena; ///< its own: it may grow between steps
    int              unilateral_capacity;
    int              row_count, row_capacity;
    int              island_rows, island_rows_capacity; ///< rows of the largest island
    size_t           response_count, response_capacity;
    bool             full;      ///< some capacity was too small: grow, and try again
    double           tolerance; ///< residual of the laws of contacts in the step matrix, relative
    bool keep_forces; ///< solving for a projection: stored forces stay those of the motion
    bool off_joints;  ///< velocities may not fit the joints: rows that nothing can move are ignored

    unsigned            filled; ///< counts the matrices that A, J and E were written for
    tni_made_for        made;
    uint8_t*            rules; ///< by unilateral, of `made`
    int                 unit_count, edge_count, island_count;
    tni_auxiliary_unit* units; ///< constraints first
    tni_auxiliary_edge* edges;
    int*                order; ///< units, sorted by island
    tni_island*         islands;
    int*                group;     ///< union-find forest over components of the plan
    int*                island_of; ///< by component of the plan
    int*                nodes;     ///< scratch: nodes of an island
    double *            j, *k;     ///< blocks of constraints, row_count x dim; k: of slides, too
    double*             W;
    uint8_t*            condition;
    uint8_t*            dependent;
    double *            b, *f, *a, *mu; ///< by row, in the order of islands
    double*             scale;          ///< by row: response if only its own bodies were in the way
    double*             size;           ///< by row: sum of absolute terms of a, for rounding
    double*             x;              ///< responses: three columns over all rows of the plan
    tni_half_solves     halves;
    tni_column_set*     column_sets; ///< row_capacity of them
    tni_mixed*          mixed;
    tni_least_norm      least;

    struct tni_step_matrix* matrix;   ///< solves for everything where it can; NULL: there is none
    bool                    loops;    ///< rows may be redundant: it solves for them too
    bool                    factored; ///< the matrix of the joints alone has its factor
    const uint8_t*          asleep;   ///< by body, for it; NULL: none
    bool                    crowded;  ///< there are so many unilaterals that laws are met roughly
    bool                    softens;  ///< its soft rows take part
    bool                    binds;    ///< its bounded rows take part
    tni_cone_effort         effort;   ///< of its solves
    tni_auxiliary_report    report;   ///< of the last solve
    double (*clock)(void* user);
    void*  clock_user;
    double response_time,
        complementarity_time; ///< [s]: building W; solving the complementarity problem
} tni_auxiliary;

/// Whether a model has limits, ropes, or shapes that may touch.
bool tni_has_unilaterals(const tn_model* model);

TN_NODISCARD tn_result tni_auxiliary_create(const tn_model* model, const tni_split* split,
                                            tni_auxiliary* a);
void                   tni_auxiliary_free(tni_auxiliary* a);
/// Makes room for what did not fit or nearly did not. Not within a step.
TN_NODISCARD tn_result tni_auxiliary_grow(tni_auxiliary* a, tni_unilaterals* with);
bool                   tni_auxiliary_is_tight(const tni_auxiliary* a, const tni_unilaterals* with);

TN_NODISCARD tn_result tni_unilaterals_create(const tn_model* model, tni_unilaterals* a);
void                   tni_unilaterals_free(tni_unilaterals* a);
/// Twice the room; empties it. Not within a step.
TN_NODISCARD tn_result tni_unilaterals_grow(tni_unilaterals* a);
/// As if nothing had ever been found.
void tni_unilaterals_clear(tni_unilaterals* a);

/// Where the block of an edge of an auxiliary constraint goes; k: the directions of its force.
double* tni_auxiliary_j(tni_auxiliary* a, int edge);
double* tni_auxiliary_k(tni_auxiliary* a, int edge);

/// Evaluates gaps and rates of all unilaterals and, with jacobians, their rows.
void tni_unilaterals_evaluate(tni_unilaterals* a, const tni_view* views, const double* z,
                              bool jacobians);
/// Collects all with gap <= reach [m or rad]. Those that were in the set before keep their force.
/// False: full.
bool tni_unilaterals_find(tni_unilaterals* a, const tni_view* views, const double* z, double reach);
/// Collects all that matter on the way from one configuration to another (tni_find_ahead); gaps,
/// rates and rows are those at the start. Nothing is known of those that were in the set before.
bool tni_unilaterals_find_ahead(tni_unilaterals* a, const tni_view* start, const tni_view* end,
                                const double* z);
/// Adds those that are penetrated by more than reach and not in the set yet. Returns how many; -1:
/// full.
int tni_unilaterals_find_more(tni_unilaterals* a, const tni_view* views, const double* z,
                              double reach);
/// Takes the set of another. False: full.
bool tni_unilaterals_copy(tni_unilaterals* a, const tni_unilaterals* from);
/// Event detection: finds what the active set does not prevent: unilaterals that are penetrated by
/// more than reach, and sliding ones whose slip has reversed by more than reach. They are watched
/// from now on. False: full.
bool tni_unilaterals_watch(tni_unilaterals* a, const tni_view* views, const double* z,
                           double reach);
/// Renews the contact points at the current views: the point of a rim moves along it.
void tni_unilaterals_renew(tni_unilaterals* a, const tni_view* views, const double* z);
/// Largest penetration, of unilaterals in the set or not [m or rad]; 0: none.
double tni_unilaterals_penetration(tni_unilaterals* a, const tni_view* views, const double* z);
/// The smallest gap, or slip, of what is watched: an event function.
double tni_unilaterals_event(const tni_unilaterals* a, const tni_view* views, const double* z);
void   tni_unilateral_bodies(const tni_unilaterals* a, const tni_unilateral* unilateral,
                             int bodies[2]);
/// Largest violation at a projection: held unilaterals by |gap| or |rate|, others by the negative
/// part of it.
double tni_unilaterals_position_error(const tni_unilaterals* a);
double tni_unilaterals_velocity_error(const tni_unilaterals* a);
/// Approximate response of row k of a unilateral to its own unit force: with free bodies, no
/// joints.
double tni_unilateral_free_response(const tni_auxiliary* a, tni_saddle* saddle, int unilateral,
                                    int k);
/// Its name for messages: "joint 'door'", "contact of 'box' on 'ground'".
void tni_unilateral_text(const tni_unilaterals* a, const tni_unilateral* unilateral, char* text,
                         size_t size);
/// Force of a soft contact at its gap and rate.
double tni_unilateral_soft_force(const tni_unilateral* unilateral);
/// A soft contact is to push with f, whatever moves.
void tni_unilateral_push(tni_unilateral* unilateral, double f);
/// Slip speed [m/s].
double tni_unilateral_slip(const tni_unilateral* unilateral);

/// Seconds on the host's clock; 0 without one.
TNI_INLINE double tni_auxiliary_now(const tni_auxiliary* a)
{
    return a->clock != NULL ? a->clock(a->clock_user) : 0;
}

/// Whether nothing touches and nothing is soft in a mechanism without loops: solves need the matrix of the joints only.
bool tni_auxiliary_is_idle(const tni_auxiliary* a, const tni_unilaterals* with);
/// Solves with the factored system, and with these unilaterals (NULL: none): rhs is b and r of all rows; x receives u,
/// mu, and -f on the rows of auxiliary constraints. rhs is overwritten. TN_ERR_MEMORY: full.
TN_NODISCARD tn_result tni_auxiliary_solve(tni_auxiliary* a, tni_unilaterals* with,
                                           tni_saddle* saddle, double* rhs, double* x, bool exact);

#endif
