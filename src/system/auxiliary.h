// auxiliary: rows that are solved beside the factored ones, by their response. See auxiliary.c.
#ifndef TNI_AUXILIARY_H
#define TNI_AUXILIARY_H

#include "contact/contact.h"
#include "linalg/gauss_seidel.h"
#include "linalg/half_solve.h"
#include "linalg/least_norm.h"
#include "linalg/mixed_complementarity.h"
#include "linalg/saddle.h"

/// What a solve asks of a stop.
typedef enum tni_unilateral_rule {
    TNI_UNILATERAL_OPEN,   ///< nothing: it cannot push
    TNI_UNILATERAL_PUSHES, ///< normal row >= 0, pushing only
    TNI_UNILATERAL_HELD,   ///< normal row = 0
    TNI_UNILATERAL_STUCK,  ///< all its rows = 0
    TNI_UNILATERAL_GRIPS,  ///< pushes, and friction within the cone
    TNI_UNILATERAL_SLIDES  ///< pushes, and friction of full size against the slip
} tni_unilateral_rule;

/// What may stop a motion but not hold it: a hard limit, a rope, a point in contact.
typedef struct tni_unilateral {
    uint64_t            id;    ///< the same from step to step
    int                 limit; ///< of the model; -1: a contact
    tni_contact         touch;
    tni_unilateral_rule rule;
    int                 row_count; ///< all of them
    int     slip_count; ///< of them, after the normal: across it; spin_count, roll_count follow
    int     spin_count, roll_count;
    double  friction, restitution;
    double  spinning, rolling; ///< [m]
    tn_vec3 slip;              ///< unit, world: where it slides to; friction keeps this side of it
    bool    renewed;           ///< found anew, and not asked for yet
    bool    away;              ///< takes no part in blows
    double  start[TNI_CONTACT_ROWS];  ///< rates where the step starts
    bool    pushed;                   ///< it did so in the step's flight, or will go on to
    double  before[TNI_CONTACT_ROWS]; ///< force where the stops were last found anew
    bool    steady;                   ///< slides along slip whatever its rates
    double  lead[TNI_CONTACT_ROWS];   ///< added to the acceleration that is asked to be none
    double  gap;                      ///< at the place last looked at
    double  begun;                    ///< the gap where it was found
    double  rate[TNI_CONTACT_ROWS], gamma[TNI_CONTACT_ROWS];
    tn_vec3 across[2];                ///< directions of the tangent rows
    double  want[TNI_CONTACT_ROWS];   ///< the solve asks for J u = want, or >=
    double  slide[2];                 ///< direction of the slip along them, when it slides
    double  force[TNI_CONTACT_ROWS];  ///< of the last solve
    double  weight[TNI_CONTACT_ROWS]; ///< its own response, of the last solve
    double  left[TNI_CONTACT_ROWS];   ///< J u - want, of the last solve
} tni_unilateral;

/// Rows of one constraint, or of one stop.
typedef struct tni_unit {
    int  row_count; ///< in use
    int  first;     ///< first of its rows among all, in the order of islands
    int  edge_start, edge_count;
    int  constraint; ///< -1: a stop
    int  stop;
    bool otherwise; ///< K is not J
} tni_unit;

typedef struct tni_unit_edge {
    int    node, row, dim; ///< of the plan
    size_t at;             ///< its blocks, in j and k
} tni_unit_edge;

/// Units that push each other, and no others.
typedef struct tni_island {
    int                     unit_start, unit_count, row_count;
    int                     stop_rows; ///< of them, those of stops
    size_t                  at;        ///< its W
    bool                    far;       ///< it is too large to have one,
    double                  scale;     ///< of its residuals
    bool                    looped; ///< its responses are those of regularised loops, nearly right
    tni_gauss_seidel_island part;   ///< and is this one of `sweep`
} tni_island;

/// Up to three rows of a unit, half solved for.
typedef struct tni_strip {
    int            unit, first, count;
    tni_half_solve half;
} tni_strip;

typedef struct tni_auxiliary_report {
    int    row_count, dependent_count;
    double residual; ///< largest violation
    int    unit;     ///< that has it; -1: none
    bool   jammed;   ///< no forces meet the conditions of a stop
    int    rounds;   ///< sweeps and Newton steps in islands without W
} tni_auxiliary_report;

typedef struct tni_auxiliary {
    const tn_model*  model;
    const tni_split* split;
    tni_arena        arena; ///< its own: it may grow between steps
    int              stop_count, stop_capacity;
    int              row_count, row_capacity;
    int              wide, wide_capacity;         ///< rows of the largest island
    size_t           block_count, block_capacity; ///< doubles, likewise
    size_t           response_count, response_capacity;
    size_t           sweep_capacity; ///< numbers for islands without W
    int              direct_rows;    ///< rows of stops in an island that has a W, at most
    int              sweeps;         ///< sweeps and Newton steps for one that has none, at most
    bool             shock;          ///< after these, from the ground up: see auxiliary.c
    bool             sweep_full;     ///< that did not fit
    bool             full;           ///< something did not fit: grow, and try again
    double enough; ///< what conditions of stops may be off by, relative; 0: as little as can be
    bool   turns;  ///< spin and roll are resisted
    bool   quiet;  ///< a projection: forces of stops stay those of the motion
    bool   off;    ///< a little off the joints: what nothing moves is not asked for
    bool   ready;  ///< responses belong to the factorisation and the rules

    tni_unilateral*  stops;
    size_t*          stop_at; ///< two blocks of each stop, in j and k
    tni_unilateral*  watched; ///< what ended a piece of time
    int              watched_count;
    tni_contact*     found;  ///< scratch, stop_capacity of them
    tni_finder*      finder; ///< NULL: nothing touches anything
    int              unit_count, edge_count, island_count;
    tni_unit*        units; ///< constraints first
    tni_unit_edge*   edges;
    int*             order; ///< units by island
    tni_island*      islands;
    int*             group;     ///< by component of the plan
    int*             island_of; ///< likewise
    int*             nodes;     ///< of an island
    double *         j, *k;     ///< blocks row_count x dim
    double*          W;
    uint8_t*         condition;
    uint8_t*         dependent;
    double *         b, *f, *a, *mu; ///< by row, in the order of islands
    double*          scale;          ///< by row: what it would do freely
    double*          size;           ///< by row: what a was added up from
    double*          x;              ///< responses, three columns over all rows of the plan
    tni_half_solves  halves;
    tni_strip*       strips; ///< row_capacity of them
    tni_gauss_seidel sweep;
    double*          pushed; ///< by row: of f, what is in the right-hand side
    double*          extra;  ///< by row: of a shock, pushed at the upper side alone
    tni_mixed*       mixed;
    tni_least_norm   least;

    tni_auxiliary_report report; ///< of the last solve
    double (*clock)(void* user);
    void*  clock_user;
    double columns_time, pairs_time; ///< [s]: responses, and the problem between the rows
} tni_auxiliary;

/// Whether a model has anything that may stop a motion.
bool tni_may_stop(const tn_model* model);

TN_NODISCARD tn_result tni_auxiliary_create(const tn_model* model, const tni_split* split,
                                            tni_auxiliary* a);
void                   tni_auxiliary_free(tni_auxiliary* a);
/// Makes room for what did not fit, or nearly. Not within a step.
TN_NODISCARD tn_result tni_auxiliary_grow(tni_auxiliary* a);
bool                   tni_auxiliary_is_tight(const tni_auxiliary* a);

/// Where the block of an edge of an auxiliary constraint goes; k: the directions of its force.
double* tni_auxiliary_j(tni_auxiliary* a, int edge);
double* tni_auxiliary_k(tni_auxiliary* a, int edge);

/// Gaps and rates of the stops, and, with jacobians, their rows.
void tni_stops_look(tni_auxiliary* a, const tni_view* views, const double* z, bool jacobians);
/// All stops that are reached: gap <= reach. What was a stop before keeps its force. False: full.
bool tni_stops_find(tni_auxiliary* a, const tni_view* views, const double* z, double reach);
/// All stops that matter on the way from one place to another (tni_find_ahead); gaps, rates and
/// rows are those at the start. Else as above.
bool tni_stops_ahead(tni_auxiliary* a, const tni_view* start, const tni_view* end, const double* z);
/// Adds those that are further than reach beyond their gap at a place and not stops yet. Returns
/// how many, -1: full.
int tni_stops_more(tni_auxiliary* a, const tni_view* views, const double* z, double reach);
/// The same stops as another. False: full.
bool tni_stops_copy(tni_auxiliary* a, const tni_auxiliary* from);
/// Looks for what the stops do not keep from being passed: others, or open ones, that are further
/// than reach beyond their gap, and those that slide against their slip by more than reach. They
/// are watched from now on. False: full.
bool tni_stops_watch(tni_auxiliary* a, const tni_view* views, const double* z, double reach);
/// Points in contact as they are at the views now: that of a rim wanders over it.
void tni_stops_renew(tni_auxiliary* a, const tni_view* views, const double* z);
/// The deepest that anything is beyond a stop, known or not; 0: nothing is.
double tni_stops_deepest(tni_auxiliary* a, const tni_view* views, const double* z);
/// The least gap, or slip, of what is watched.
double tni_stops_watched(const tni_auxiliary* a, const tni_view* views, const double* z);
void   tni_unilateral_bodies(const tni_auxiliary* a, const tni_unilateral* stop, int bodies[2]);
/// How far the stops, by their rules, are from what a projection asks of them: held ones are off
/// by their gap or rate, others by what is negative of it.
double tni_stops_position_error(const tni_auxiliary* a);
double tni_stops_velocity_error(const tni_auxiliary* a);
/// What row k of a stop would do if nothing but its own masses were in the way, about.
double tni_unilateral_free_response(const tni_auxiliary* a, tni_saddle* saddle, int stop, int k);
/// A stop in words: "joint 'door'", "contact of 'box' on 'ground'".
void tni_unilateral_text(const tni_auxiliary* a, const tni_unilateral* stop, char* text,
                         size_t size);
/// Speed of the slip.
double tni_unilateral_slip(const tni_unilateral* stop);

/// Seconds on the clock, 0 without one.
TNI_INLINE double tni_auxiliary_now(const tni_auxiliary* a)
{
    return a->clock != NULL ? a->clock(a->clock_user) : 0;
}

/// Solves with what is factored: rhs is b and r of all rows; x comes back with u, mu, and -f on the
/// rows of auxiliary constraints. rhs is changed. TN_ERR_MEMORY: full.
TN_NODISCARD tn_result tni_auxiliary_solve(tni_auxiliary* a, tni_saddle* saddle, double* rhs,
                                           double* x, bool exact);

#endif
