// adaptive: trees of limbs of which only the joints that matter are simulated (Redon, Galoppo, Lin 2005).
//
// A step goes by the implicit midpoint rule, iterated three times: with the others held, accelerations v' of the
// active joints at the middle of the step (q moved on by half of it, (v + v1)/2), v1 = v + h v', q moved on by
// (v + v1)/2. Forces are those of the start, linearly implicit. Or by semi-implicit Euler: v' at (q, v), q moved on by
// v1. Or by Runge and Kutta's classical method (runge_kutta.c), forces explicit. Every `period` steps a tree first chooses
// its active joints anew: see active_joints.c.
#ifndef TNI_ADAPTIVE_H
#define TNI_ADAPTIVE_H

#include "adaptive/divide_and_conquer.h"
#include "adaptive/link_contact.h"

enum { TNI_MIDDLE_ROUNDS = 3 }; ///< of the midpoint rule's iteration

/// What a node of an assembly tree is known by. Its join, frames and still hold as long as no joint below it moves.
typedef struct tni_subassembly {
    tni_still    still;
    tni_moving   moving;
    tni_factors* factors;              ///< of this choice
    double       gamma[6], R[6];       ///< likewise
    double*      f;                    ///< on its handles
    tni_six      motion;               ///< of its base limb
    tni_six relative[TNI_HANDLES_MAX]; ///< of its handles, beyond what its base limb's motion makes
    tni_six beyond;                    ///< of b's base limb, likewise
    double  metric;                    ///< of accelerations at and below it
    double  speed;                     ///< likewise of velocities
    bool    fresh;                     ///< frames and still are those of the present positions
    uint8_t mark;                      ///< what a choice knows of it: see active_joints.c
} tni_subassembly;

/// An articulated body.
typedef struct tni_figure {
    tni_hybrid          now, next; ///< its clusters, and those of the choice that is being made
    int*                active;    ///< limbs whose joints are active
    int                 active_count;
    int*                touched; ///< nodes, each before those below it
    int                 touched_count;
    int*                list; ///< likewise: those that a choice is about
    int                 list_count;
    int*                transient; ///< likewise: touched, or looked at in this choice
    int                 transient_count;
    int*                popped; ///< nodes that were looked at in this choice
    int                 popped_count;
    bool                floats; ///< its root has no joint: always active, and not counted
    int                 keeps; ///< limb that stays where joint coordinates place a tree that floats
    int                 joints;                    ///< that could be active
    int                 depth;                     ///< of its assembly tree
    int                 first_pushed, last_pushed; ///< of its limbs in adaptive->pushed
    double              wish;  ///< part of them that it would have by its distance
    int                 quota; ///< joints that it may have active
    double              scale; ///< of its metrics beside those of others
    int                 visits;
    double              left_out, kinetic_loss;
    bool                good;     ///< the last step went well
    bool                singular; ///< it did not because of a matrix
    bool                anew;     ///< bodies were moved by others: it is to choose at once
    bool                middle;   ///< this step goes by the midpoint rule
    double              h;        ///< of the piece of the step that is being taken
    int                 pieces;   ///< that were tried
    tni_joint_trees_fit fit;      ///< as placed
} tni_figure;

/// A limb that something outside may push.
typedef struct tni_pushed_limb {
    int             limb;
    tni_seat        seat;
    bool            pushed, resisted;
    double          u[6]; ///< of its body
    tni_articulated I;    ///< what resists, about its centre of mass, world axes
} tni_pushed_limb;

typedef struct tni_heap {
    int*    nodes;
    double* keys;
    int     count;
    double  sum, most; ///< of the keys, more or less; the most that it was
} tni_heap;

typedef struct tni_adaptive {
    const tn_model*         model;
    const tn_host*          host;
    tn_adaptive_settings    settings;
    tni_joint_trees*        limbs;
    tni_assembly*           assembly;
    tni_divide_and_conquer* pass;
    tni_subassembly*        parts;   ///< by node
    tni_figure*             figures; ///< by tree
    double *                q, *v;   ///< of all limbs
    double*                 z;       ///< coordinates of all joints, angles being counted on
    double *                Q, *K;   ///< forces of joints
    double*                 qddot;
    tni_six*                S;                ///< by velocity
    double*                 weight;           ///< by limb: of its joint in the metrics
    uint8_t *               active, *touched; ///< by limb, by node
    uint8_t*                passed;           ///< by node: a force at or below it
    uint8_t*                moved;            ///< by limb: since angles were followed
    int*                    constraint_of; ///< by limb: of its joint; -1: none that could be held
    tni_frames*             frames;        ///< by node
    double*                 predicted;     ///< velocities of a choice
    double*                 before;        ///< velocities of active joints when the step began
    double *                first, *last;  ///< accelerations of Euler's step, of the round before
    double * middle_q, *middle_v; ///< configurations and velocities at the middle of the step
    double * way, *ways, *gain;   ///< stages of a step: see runge_kutta.c
    double * read, *read_v;       ///< configurations, laid out as q
    double * body_q, *body_u;     ///< where bodies are being placed
    double * was_q, *was_u;       ///< bodies as a state's trees place them
    tni_six* force;               ///< by limb, from outside
    tni_pushed_limb*
              pushed; ///< those that springs, loads ... may push, by tree; then those that are held
    int       pushed_count, held_count;
    int*      pushed_of; ///< by limb: which of them it is; -1
    tni_view* views;     ///< by body: of those that are pushed
    bool      keyed;     ///< some bodies move by keys
    double*   f;         ///< laid out as u
    tni_heap  heap;      ///< room for all nodes
    int       step;      ///< taken since the trees were read
    double    h;         ///< of the step; added inertia depends on it
    double    time;
    bool      metrics;  ///< choices are made by them
    bool      midpoint; ///< accelerations at the velocities of the middle of the step; else Euler's
    bool      halfway;  ///< and at its places: not with contacts
    bool      runge;    ///< four stages; all forces explicit
    int       stage;    ///< of these, from 0
    bool      all;      ///< all joints are active, always
    bool      forwards; ///< see forward.c
    bool      flat;     ///< some bodies are planar: their angles are followed step by step
    int       allowed;  ///< joints that may be active, over all; 0: any
    double    spent;    ///< by steps since the budget was looked at [s]
    int       spent_steps;
    tn_vec3   camera;
    tni_link_contacts* footings; ///< NULL: nothing touches anything
} tni_adaptive;

/// What a step reports.
typedef struct tni_adaptive_report {
    int    active, visits, choices;
    int    pieces; ///< of the step, the most of any body
    double left_out, kinetic_loss;
    int    hits;            ///< points that came flying
    double complementarity; ///< of contacts
} tni_adaptive_report;

/// host: must outlive it.
TN_NODISCARD tn_result tni_adaptive_create(tni_arena* arena, const tn_model* model,
                                           const tn_host*              host,
                                           const tn_adaptive_settings* settings, tni_adaptive** out,
                                           tn_why* why);
/// What is not in the arena. NULL is allowed.
void tni_adaptive_free(tni_adaptive* adaptive);
/// Takes over a state (its bodies, where the trees are not known) for steps of h.
void tni_adaptive_load(tni_adaptive* adaptive, const tn_state* state, double h);
/// Bodies as they are now, and how well joints fit; angles of joints that have moved since the last call, into z.
tni_joint_trees_fit tni_adaptive_place(tni_adaptive* adaptive, double* body_q, double* body_u);
/// Trees as they are now.
void tni_adaptive_store(const tni_adaptive* adaptive, tni_reduced* reduced);
/// One step from `time`. After a failure it must be loaded anew; TN_ERR_MEMORY: the footings want room.
TN_NODISCARD tn_result tni_adaptive_step(tni_adaptive* adaptive, double time,
                                         const tni_inputs* inputs, tni_adaptive_report* report,
                                         tn_why* why);

/// external_force.c: finds limbs that may be pushed from outside; what pushes them, in limb coordinates, into `force`.
TN_NODISCARD tn_result tni_outside_create(tni_arena* arena, tni_adaptive* adaptive);
void                   tni_outside_push(tni_adaptive* adaptive, const tni_inputs* inputs);

/// articulated_figure.c: one tree. `touched` follows from `active`; frames and coefficients of rigid nodes among a list
/// (each before those below it) that are not fresh are computed, and held joints of touched nodes placed.
void tni_figure_list(tni_adaptive* adaptive, int tree);
/// All nodes that `touched` marks, each before those below it; returns how many.
int  tni_figure_walk(const tni_adaptive* adaptive, int tree, int* list);
void tni_figure_refresh(tni_adaptive* adaptive, int tree, const int* list, int count);
/// Where the limbs are that are pushed; clusters pushed by what `force` says.
void tni_figure_seat(tni_adaptive* adaptive, int tree, const tni_hybrid* hybrid);
void tni_figure_push(tni_adaptive* adaptive, int tree, tni_hybrid* hybrid);
/// Marks all nodes at and above a limb that is pushed.
void tni_figure_mark_pushed(tni_adaptive* adaptive, int tree, uint8_t mark);
/// Accelerations of a tree's active joints by a hybrid body that has been moved to (q, v): there, or at the middle of the
/// step. False: not positive definite.
bool tni_figure_accelerate(tni_adaptive* adaptive, int tree, tni_hybrid* hybrid);
/// Where active joints would be at the middle of the step.
void tni_figure_middle(tni_adaptive* adaptive, int tree);
/// Forces of a joint at (q, v), of all limbs, into Q and K; v NULL: at rest.
void tni_figure_joint_force(tni_adaptive* adaptive, int limb, const double* q, const double* v);
/// Node n's joint as it stands.
tni_join tni_figure_join(const tni_adaptive* adaptive, int n);

/// integrate.c: a step of a tree, in pieces if need be; with contacts, of its velocities alone, and its places later.
void tni_figure_integrate(tni_adaptive* adaptive, int tree);
void tni_figure_kick(tni_adaptive* adaptive, int tree);
void tni_figure_advance(tni_adaptive* adaptive, int tree);
/// The same, and accelerations at (q, v) by the joint forces in Q and K, of all trees by divide and conquer. False: not
/// positive definite.
bool tni_trees_integrate(tni_adaptive* adaptive, int* visits);
bool tni_trees_accelerate(tni_adaptive* adaptive, const double* q, const double* v, int* visits);

/// runge_kutta.c: refuses what it cannot have; a step of all trees, by divide and conquer or by clusters, which have been
/// moved to (q, v).
TN_NODISCARD tn_result tni_runge_kutta_create(tni_arena* arena, tni_adaptive* adaptive,
                                              tn_why* why);
void tni_runge_kutta_step(tni_adaptive* adaptive, const tni_inputs* inputs, bool divide,
                          int* visits);

/// forward.c: at creation; whether joint accelerations can be had without leaving joint coordinates; these, with the
/// state placed by the joints. Other work of the trees is not disturbed.
void                   tni_forward_create(tni_adaptive* adaptive);
bool                   tni_has_forward(const tni_adaptive* adaptive, const tn_state* state);
TN_NODISCARD tn_result tni_forward(tni_adaptive* adaptive, tn_state* state, const double* positions,
                                   const double* velocities, const double* forces,
                                   double* accelerations, tn_why* why);

/// active_joints.c: new velocities, and new active joints, of trees first .. last - 1, which share `allowed` joints.
/// Clusters have been moved. heap: room for all their nodes.
void tni_choose_active(tni_adaptive* adaptive, int first, int last, int allowed, tni_heap* heap);

/// task(adaptive, tree) for each of them, by work shared.
void tni_each_tree(tni_adaptive* adaptive, int first, int last, void (*task)(tni_adaptive*, int));

#endif
