// adaptive: dynamics of articulated bodies of which only some joints are simulated; the others are
// held rigid (Redon, Galoppo, Lin 2005).
//
// Integrators, all with held joints taken as rigid:
// - implicit midpoint, TNI_MIDDLE_ROUNDS fixed-point iterations: joint accelerations v' at the
//   configuration h/2 ahead and the velocity (v + v1)/2; then v1 = v + h v', and q moves on at (v +
//   v1)/2. Joint forces are those of the start of the step, linearly implicit.
// - semi-implicit Euler: v' at (q, v), then q moves on by h v1.
// - the classical Runge-Kutta method (runge_kutta.c), all forces explicit.
// Every `period` steps a tree chooses its active joints anew: active_joints.c.
#ifndef TNI_ADAPTIVE_H
#define TNI_ADAPTIVE_H

#include "adaptive/divide_and_conquer.h"
#include "adaptive/link_contact.h"

enum { TNI_MIDDLE_ROUNDS = 3 }; ///< fixed-point iterations of the implicit midpoint rule

/// Per node of the assembly tree. What depends on positions stays valid as long as no joint below
/// the node moves.
typedef struct tni_subassembly {
    tni_position_terms at_position;
    tni_state_terms    at_state;
    tni_factors*       factors;                   ///< for the present set of active joints
    double             gamma[6], R[6];            ///< tni_join_state_terms(), likewise
    double*            f;                         ///< forces on its handles
    tni_spatial        motion;                    ///< of its base link, in that link's frame
    tni_spatial        relative[TNI_HANDLES_MAX]; ///< of its handles, less rigid motion
    /// of b's base link, relative to rigid motion with the node's base link
    tni_spatial beyond;
    double      metric; ///< acceleration metric of the joints in it
    double      speed;  ///< velocity metric of the joints in it
    bool        fresh;  ///< frames and position terms are up to date
    uint8_t     mark;   ///< flags used within a choice: see active_joints.c
} tni_subassembly;

/// One articulated body (one tree).
typedef struct tni_figure {
    tni_hybrid now, next; ///< hybrid body of the active joints; of a choice in progress
    int*       active;    ///< links whose joints are active
    int        active_count;
    int*       touched; ///< touched nodes, parents before children
    int        touched_count;
    int*       list; ///< nodes evaluated in a choice, parents before children
    int        list_count;
    int*       transient; ///< transient active region, parents before children
    int        transient_count;
    int*       expanded; ///< nodes expanded in this choice
    int        expanded_count;
    bool       floats;     ///< its root has no joint; always active, not counted
    int        fixed_link; ///< floating tree: link that stays when joint coordinates are set
    int        joints;     ///< number of joints that could be active
    int        depth;      ///< of its assembly tree
    int        first_loaded, last_loaded; ///< range of its links in adaptive->loaded
    double     wish;                      ///< share of its joints by its distance to the camera
    int        quota;                     ///< most joints that it may have active
    double     scale;                     ///< weight of its metrics against those of other trees
    int        visits;                    ///< nodes visited in this step
    double     left_out, kinetic_loss; ///< metric not simulated; energy lost by rigidification [J]
    bool       good;                   ///< the last step succeeded
    bool       singular;               ///< it failed because a matrix was not positive definite
    bool       reread;        ///< bodies changed from outside: all joints active, chooses at once
    bool       uses_midpoint; ///< midpoint iteration converged; else Euler's
    double     h;             ///< length of the current substep [s]
    int        substeps;      ///< substeps tried in this step
    tni_joint_trees_fit fit;  ///< joint errors as last placed
} tni_figure;

/// A link on which external forces may act.
typedef struct tni_loaded_link {
    int                     link;
    tni_link_place          place;
    bool                    loaded, resisted; ///< loaded: a force acts now. resisted: I is not zero
    double                  u[6];             ///< velocity of its body
    tni_articulated_inertia I; ///< added, of stiff forces: about its centre of mass, world axes
} tni_loaded_link;

/// Priority queue of nodes, largest key first.
typedef struct tni_node_queue {
    int*    nodes;
    double* keys;
    int     count;
    double  sum, most; ///< running sum of the keys, with rounding; its largest value so far
} tni_node_queue;

typedef struct tni_adaptive {
    const tn_model*         model;
    const tn_host*          host;
    tn_adaptive_settings    settings;
    tni_joint_trees*        trees;
    tni_assembly*           assembly;
    tni_divide_and_conquer* pass;
    tni_subassembly*        parts;   ///< by node
    tni_figure*             figures; ///< by tree
    double *                q, *v;   ///< of all links; laid out by tni_tree_link.q and .v
    double*                 z;     ///< all joint coordinates of the scene; angles count full turns
    double *                Q, *K; ///< joint forces and their added inertia (tni_tree_link_force)
    double*                 qddot;
    tni_spatial*            S;                ///< by velocity
    double*                 weight;           ///< by link: weight of its joint in the metrics
    uint8_t *               active, *touched; ///< by link; by node
    uint8_t*                loaded_nodes;     ///< by node: a force acts at or below it
    uint8_t*                moved;            ///< by link: moved since its angle was tracked
    int*                    constraint_of;    ///< by link: constraint of its joint; -1: never held
    tni_frames*             frames;           ///< by node
    double*                 predicted;        ///< velocities expected at the next choice
    double*                 before;           ///< active joints' velocities before the substep
    double *                first, *last;     ///< accelerations: Euler's; last iteration's
    double *     middle_q, *middle_v; ///< configurations and velocities at the middle of the step
    double *     stage_rate, *mean_rate, *mean_qddot; ///< Runge-Kutta stages: see runge_kutta.c
    double *     read_q, *read_v;     ///< scratch: configurations and velocities read from bodies
    double *     body_q, *body_u;     ///< output arrays of tni_adaptive_place()
    double *     placed_q, *placed_u; ///< bodies as placed by joint coordinates
    tni_spatial* force;               ///< by link: external force, link coordinates
    tni_loaded_link*
        /// Links that springs, loads, ... may act on, by tree; then the grabbed ones
                   loaded;
    int            loaded_count, grabbed_count;
    int*           loaded_of; ///< by link: index in `loaded`; -1: none
    tni_view*      views;     ///< by body: those of loaded links and of static and kinematic bodies
    bool           has_kinematic; ///< some bodies are kinematic (moved by keyframes)
    double*        f;             ///< external force on bodies, laid out as u
    tni_node_queue heap;          ///< capacity: all nodes
    int            step;          ///< steps since the trees were read; -1: not read
    double         h;             ///< step size [s]; added inertia depends on it
    double         time;
    bool           metrics;  ///< active joints are chosen by the metrics
    bool           midpoint; ///< integrator: midpoint; else Euler, or Runge-Kutta
    /// midpoint rule with positions at the middle of the step, too; not with contacts
    bool               halfway;
    bool               rk4;         ///< integrator: Runge-Kutta; all forces explicit
    int                stage;       ///< Runge-Kutta stage, 0 .. 3
    bool               all;         ///< all joints are always active
    bool               has_forward; ///< tni_forward() is available
    bool               has_planar;  ///< some bodies are planar: their angles are tracked every step
    int                allowed;     ///< most joints active over all trees; 0: no limit
    double             spent;       ///< time spent since the budget was last checked [s]
    int                spent_steps;
    tn_vec3            camera;
    tni_link_contacts* contacts; ///< NULL: no contacts in this scene
} tni_adaptive;

/// What a step reports.
typedef struct tni_adaptive_report {
    int    active, visits, choices;
    int    substeps; ///< substeps, the most of any tree
    double left_out, kinetic_loss;
    int    hits;            ///< impacts
    double complementarity; ///< largest residual of the contact conditions
} tni_adaptive_report;

/// host must outlive the result.
TN_NODISCARD tn_result tni_adaptive_create(tni_arena* arena, const tn_model* model,
                                           const tn_host*              host,
                                           const tn_adaptive_settings* settings, tni_adaptive** out,
                                           tn_why* why);
/// Frees what is not in the arena. NULL is allowed.
void tni_adaptive_free(tni_adaptive* adaptive);
/// Takes over a state for steps of h. Trees whose joint coordinates the state does not have are
/// read from its bodies.
void tni_adaptive_load(tni_adaptive* adaptive, const tn_state* state, double h);
/// Writes bodies from joint coordinates and returns the joint errors; tracks the angles of joints
/// moved since the last call in z.
tni_joint_trees_fit tni_adaptive_place(tni_adaptive* adaptive, double* body_q, double* body_u);
/// Writes joint coordinates and active joints.
void tni_adaptive_store(const tni_adaptive* adaptive, tni_reduced* reduced);
/// One step from `time`. On failure load the state again; TN_ERR_MEMORY: call
/// tni_link_contacts_grow() first.
TN_NODISCARD tn_result tni_adaptive_step(tni_adaptive* adaptive, double time,
                                         const tni_inputs* inputs, tni_adaptive_report* report,
                                         tn_why* why);

/// external_force.c: finds the links that external forces may act on; sums those forces, in link
/// coordinates, into `force`.
TN_NODISCARD tn_result tni_external_force_create(tni_arena* arena, tni_adaptive* adaptive);
void                   tni_external_force_apply(tni_adaptive* adaptive, const tni_inputs* inputs);

/// articulated_figure.c: one tree. Derives `touched` from `active`.
void tni_figure_list(tni_adaptive* adaptive, int tree);
/// Lists the nodes marked touched, parents before children; returns how many.
int tni_figure_walk(const tni_adaptive* adaptive, int tree, int* list);
/// Brings up to date: frames and position terms of the rigid nodes in a list (parents before
/// children), and frames of held joints of touched nodes.
void tni_figure_refresh(tni_adaptive* adaptive, int tree, const int* list, int count);
/// Finds the clusters of loaded links; applies `force` to the clusters.
void tni_figure_locate(tni_adaptive* adaptive, int tree, const tni_hybrid* hybrid);
void tni_figure_apply_forces(tni_adaptive* adaptive, int tree, tni_hybrid* hybrid);
/// Sets a mark on all nodes at and above a link with a force on it.
void tni_figure_mark_loaded(tni_adaptive* adaptive, int tree, uint8_t mark);
/// Accelerations of a tree's active joints; the hybrid body has been moved to (q, v). With the
/// midpoint rule, iterates. False: not positive definite.
bool tni_figure_accelerate(tni_adaptive* adaptive, int tree, tni_hybrid* hybrid);
/// Configurations and velocities of active joints at the middle of the step.
void tni_figure_middle(tni_adaptive* adaptive, int tree);
/// Force and added inertia of a link's joint at (q, v), into Q and K; v NULL: at rest. q, v: arrays
/// of all links.
void tni_figure_joint_force(tni_adaptive* adaptive, int link, const double* q, const double* v);
/// The joint of node n with its present transform, motion subspace and added inertia.
tni_node_joint tni_figure_join(const tni_adaptive* adaptive, int n);

/// integrate.c: a step of one tree, in substeps if need be. With contacts it is split: kick changes
/// velocities, advance moves positions.
void tni_figure_integrate(tni_adaptive* adaptive, int tree);
void tni_figure_kick(tni_adaptive* adaptive, int tree);
void tni_figure_advance(tni_adaptive* adaptive, int tree);
/// The same for all trees by divide and conquer, and its accelerations at (q, v) with the joint
/// forces in Q and K. False: not positive definite.
bool tni_trees_integrate(tni_adaptive* adaptive, int* visits);
bool tni_trees_accelerate(tni_adaptive* adaptive, const double* q, const double* v, int* visits);

/// runge_kutta.c. Create fails if the model has hard limits or contacts. A step takes all trees, by
/// divide and conquer or by the hybrid bodies, which have been moved to (q, v).
TN_NODISCARD tn_result tni_runge_kutta_create(tni_arena* arena, tni_adaptive* adaptive,
                                              tn_why* why);
void tni_runge_kutta_step(tni_adaptive* adaptive, const tni_inputs* inputs, bool divide,
                          int* visits);

/// forward.c: joint accelerations from joint coordinates alone; places the state's bodies. Create
/// decides if the model allows it. Leaves the trees' other data alone.
void                   tni_forward_create(tni_adaptive* adaptive);
bool                   tni_has_forward(const tni_adaptive* adaptive, const tn_state* state);
TN_NODISCARD tn_result tni_forward(tni_adaptive* adaptive, tn_state* state, const double* positions,
                                   const double* velocities, const double* forces,
                                   double* accelerations, tn_why* why);

/// active_joints.c: chooses the active joints of trees first .. last - 1, at most `allowed` in all,
/// and sets their velocities. The hybrid bodies have been moved to (q, v). heap: capacity for all
/// their nodes.
void tni_choose_active(tni_adaptive* adaptive, int first, int last, int allowed,
                       tni_node_queue* heap);

/// Runs task(adaptive, tree) for each tree, shared among the host's workers.
void tni_each_tree(tni_adaptive* adaptive, int first, int last, void (*task)(tni_adaptive*, int));

#endif
