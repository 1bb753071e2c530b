// coefficients: how a node of the assembly tree responds to forces on its handles, and the exact
// acceleration metric of its joints, from those of its two children. See coefficients.c for the
// mathematics (Redon et al. 2005, corrected).
//
//     a = Phi f + b                 a, f: 6 h numbers, by handle, each in its link's frame
//     A(C) = |G (f; m)|^2           sum over its joints of qddot^T W_j qddot
// While a node moves as one rigid body, b_k = B_k m(w) - (0; w_k x v_k) with w the angular velocity
// of its base link, in that link's axes, and m(w) = (wx^2, wy^2, wz^2, wy wz, wx wz, wx wy, 1).
// Else m is the number 1.
#ifndef TNI_COEFFICIENTS_H
#define TNI_COEFFICIENTS_H

#include "adaptive/assembly.h"

enum {
    TNI_QUADRATIC   = 7,                         ///< length of m(w)
    TNI_FORCES      = 6 * TNI_HANDLES_MAX,       ///< most numbers of forces on a node
    TNI_METRIC_COLS = TNI_FORCES + TNI_QUADRATIC ///< most columns of G
};

/// Terms that depend on positions only; those of a rigid node stay valid until a joint below moves.
/// Columns of G: forces of handle `lead`, of the other handles in their order, m. Any lead is
/// right; the handle that the parent's joint holds (`at` for a, 0 for b) halves the cost of the
/// parent's G.
typedef struct tni_position_terms {
    double* Phi;        ///< 6h x 6h, row-major, symmetric
    double* B;          ///< 6h x 7; rigid nodes only
    double* G;          ///< rows x (6h + 7), upper trapezoidal, zeros stored; rigid nodes only
    int     rows;       ///< of G, at most 6h + 7
    int     force_rows; ///< rows with force columns; the rows after them have none
    int     lead;       ///< set by the caller
    /// Householder reflections that made G (tni_reflections_size() numbers); NULL: not kept
    double* reflections;
} tni_position_terms;

/// Terms at the present velocities and forces.
typedef struct tni_state_terms {
    double* b;          ///< 6h
    double* G;          ///< rows x (6h + 1), upper trapezoidal; NULL: no metric wanted
    int     rows;       ///< at most 6h + 1
    int     force_rows; ///< at most 6h
    int     lead;       ///< set by the caller
} tni_state_terms;

/// Factors of a node's joint; valid while positions and the active joints stay.
typedef struct tni_factors {
    double W[36];
    double U[36];              ///< d x 6
    double VSD[36];            ///< 6 x d
    double D[36];              ///< d x d
    double H[6 * TNI_FORCES];  ///< 6 x 6h: kept columns of X Phi_A(at, .), then of -Phi_B(0, .)
    double WH[6 * TNI_FORCES]; ///< 6 x 6h
    int    d;                  ///< columns of S; 0: held, W = V
} tni_factors;

/// The joint of a node at its present position.
typedef struct tni_node_joint {
    /// From the link it leads out of (root: the world) to the one it leads to
    tni_transform      X;
    const tni_spatial* S; ///< d columns
    int                d; ///< 0: held
    const double*      K; ///< d x d added inertia, symmetric; NULL: none
} tni_node_joint;

/// Leaf: Phi = I^-1, B. False: I is not positive definite.
bool tni_leaf_position_terms(const tni_rigid_inertia* I, tni_position_terms* leaf);
/// b of a leaf. force: external, link coordinates; v: its motion.
void tni_leaf_state_terms(const tni_rigid_inertia* I, const tni_position_terms* leaf, tni_spatial v,
                          tni_spatial force, tni_state_terms* out);

/// Factors and Phi of a node from Phi of its children (Phi_a: NULL for the root; then Phi may be
/// NULL too). False: not positive definite.
bool tni_join_factor(const tni_node* node, const tni_node* node_a, const tni_node* node_b,
                     const tni_node_joint* join, const double* Phi_a, const double* Phi_b,
                     tni_factors* factors, double* Phi);

/// B and G of a rigid node from those of its children. Q: constant force of its joint (d numbers).
/// weight: the metric weight of the joint is sqrt(weight) times 1. to_link: rotation from the axes
/// of the base link of C to those of the link that the joint leads out of; to_b: to those of b's
/// base.
void tni_join_position_terms(const tni_node* node, const tni_node* node_a, const tni_node* node_b,
                             const tni_node_joint* join, const tni_factors* factors,
                             const double* Q, double weight, const tni_mat3* to_link,
                             const tni_mat3* to_b, const tni_position_terms* a,
                             const tni_position_terms* b, tni_position_terms* out);

/// gamma (6), R (d), b and G of a node at the present velocities and forces. c: the joint's bias
/// acceleration (v x S qdot + S' qdot), b's base coordinates. root: acceleration of the world, in
/// b's base coordinates; NULL unless the root. out->G NULL: no metric. out NULL: gamma and R only
/// (the root).
void tni_join_state_terms(const tni_node* node, const tni_node* node_a, const tni_node* node_b,
                          const tni_node_joint* join, const tni_factors* factors, const double* Q,
                          double weight, tni_spatial c, const tni_spatial* root,
                          const tni_state_terms* a, const tni_state_terms* b, double* gamma,
                          double* R, tni_state_terms* out);

/// The same for a rigid node with a force somewhere below: its joint is held, c = 0, and only the
/// last column of G is new. position: its own, with reflections. The force columns of the
/// children's G must be those of their position terms (tni_position_terms_at() or this function;
/// leaves have none). Four times as fast with G.
void tni_join_update_state_terms(const tni_node* node, const tni_node* node_a,
                                 const tni_node* node_b, const tni_node_joint* join,
                                 const tni_factors* factors, const double* Q, double weight,
                                 const tni_position_terms* position, const tni_state_terms* a,
                                 const tni_state_terms* b, double* gamma, double* R,
                                 tni_state_terms* out);
int  tni_reflections_size(const tni_node* node, const tni_node* node_a, const tni_node* node_b,
                          int d);

/// State terms of a rigid node without forces inside: w of its base link, v[k] the motion of handle
/// k. out->lead becomes that of position; out->G NULL: only b.
void tni_position_terms_at(const tni_node* node, const tni_position_terms* position, tn_vec3 w,
                           const tni_spatial* v, tni_state_terms* out);
/// A(C) at handle forces f.
double tni_metric(const tni_node* node, const tni_state_terms* state, const double* f);
/// A(C) of a rigid node at handle forces f: tni_metric() of tni_position_terms_at(), without making
/// the latter.
double tni_position_metric(const tni_node* node, const tni_position_terms* position, tn_vec3 w,
                           const double* f);

/// Back-substitution: the joint's acceleration (d numbers) and the handle forces of the children
/// from those of the node. f_a may be NULL for the root. fc: the force through the joint on b, in
/// b's base coordinates.
void tni_join_back(const tni_node* node, const tni_node* node_a, const tni_node* node_b,
                   const tni_node_joint* join, const tni_factors* factors, const double* gamma,
                   const double* R, const double* f, double* qddot, double* f_a, double* f_b,
                   tni_spatial* fc);

/// m(w), and how it rotates: m(E w) = R2 m(w), 7 x 7 row-major.
void tni_quadratic(tn_vec3 w, double* m);
void tni_quadratic_turn(const tni_mat3* E, double* R2);

#endif
