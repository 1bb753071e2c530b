// coefficients: what a node of the assembly tree answers to forces on its handles, and the exact
// metric of the accelerations inside it, from those of its two children. See coefficients.c for the
// mathematics (Redon et al. 2005, in the corrected form).
//
//     a = Phi f + b                 a, f: 6 h numbers, by handle, each in its limb's frame
//     A(C) = |G (f; m)|^2           sum over its joints of qddot^T W_j qddot
// While a node moves as one rigid body, b_k = B_k m(w) - (0; w_k x v_k) with w the angular velocity
// of its base limb, in that limb's axes, and m(w) = (wx^2, wy^2, wz^2, wy wz, wx wz, wx wy, 1).
// Else m is the number 1.
#ifndef TNI_COEFFICIENTS_H
#define TNI_COEFFICIENTS_H

#include "adaptive/assembly.h"

enum {
    TNI_QUADRATIC = 7,                         ///< numbers of m(w)
    TNI_FORCES    = 6 * TNI_HANDLES_MAX,       ///< of a node, at most
    TNI_ROOT_COLS = TNI_FORCES + TNI_QUADRATIC ///< columns of G, at most
};

/// What depends on positions only: of nodes that are rigid it is kept until a joint below moves.
/// Columns of G: forces of handle `lead`, of the other handles in their order, m. Any lead is
/// right; the handle that the parent holds the node by (its at for a, 0 for b) makes the parent's G
/// in half the time.
typedef struct tni_still {
    double* Phi;        ///< 6h x 6h, row-major, symmetric
    double* B;          ///< 6h x 7; touched nodes have none
    double* G;          ///< rows x (6h + 7), upper trapezoidal, zeros stored; touched nodes: none
    int     rows;       ///< of G, at most 6h + 7
    int     force_rows; ///< those with forces in them; rows that follow have none
    int     lead;       ///< set by the caller
    double* turns;      ///< tni_turns_room numbers: how G was made; NULL: not kept
} tni_still;

/// What moves with velocities and forces.
typedef struct tni_moving {
    double* b;          ///< 6h
    double* G;          ///< rows x (6h + 1), upper trapezoidal; NULL where no metric is asked for
    int     rows;       ///< at most 6h + 1
    int     force_rows; ///< at most 6h
    int     lead;       ///< set by the caller
} tni_moving;

/// How a node's joint joins its children; the same for all that follows while nothing moves.
typedef struct tni_factors {
    double W[36];
    double U[36];              ///< d x 6
    double VSD[36];            ///< 6 x d
    double D[36];              ///< d x d
    double H[6 * TNI_FORCES];  ///< 6 x 6h: columns kept of X Phi_A(at, .), then of -Phi_B(0, .)
    double WH[6 * TNI_FORCES]; ///< 6 x 6h
    int    d;                  ///< 0: held, W = V
} tni_factors;

/// The joint of a node, where it stands.
typedef struct tni_join {
    tni_shift      X; ///< from the limb it leads out of (root: the world) to that it leads to
    const tni_six* S; ///< d columns
    int            d; ///< 0: held
    const double*  K; ///< d x d added inertia, symmetric; NULL: none
} tni_join;

/// A leaf: Phi = I^-1, B. False: I is not positive definite.
bool tni_leaf_still(const tni_rigid* I, tni_still* leaf);
/// b of a leaf with a force on it (limb coordinates); v: its motion.
void tni_leaf_moving(const tni_rigid* I, const tni_still* leaf, tni_six v, tni_six force,
                     tni_moving* out);

/// Factors and Phi of a node from Phi of its children (A: NULL for the root; then Phi, which nobody
/// asks for, may be NULL too). False: not positive definite.
bool tni_join_factor(const tni_node* node, const tni_node* node_a, const tni_node* node_b,
                     const tni_join* join, const double* Phi_a, const double* Phi_b,
                     tni_factors* factors, double* Phi);

/// B and G of a node that is rigid from those of its children. Q: constant force of its joint (d
/// numbers). weight: L with L^T L = the metric's weight of the joint is sqrt(weight) times 1.
/// to_limb: rotation from the axes of the base limb of C to those of the limb that the joint leads
/// out of; to_b: to those of b's base.
void tni_join_still(const tni_node* node, const tni_node* node_a, const tni_node* node_b,
                    const tni_join* join, const tni_factors* factors, const double* Q,
                    double weight, const tni_mat3* to_limb, const tni_mat3* to_b,
                    const tni_still* a, const tni_still* b, tni_still* out);

/// gamma (6), R (d), b and G of a node at velocities and forces as they are. c: the joint's own
/// acceleration (v x S qdot + Sdot qdot), b's base coordinates. root: acceleration of the world, in
/// b's base coordinates, NULL else. Where out->G is NULL no metric is made; out NULL: only gamma
/// and R (the root).
void tni_join_moving(const tni_node* node, const tni_node* node_a, const tni_node* node_b,
                     const tni_join* join, const tni_factors* factors, const double* Q,
                     double weight, tni_six c, const tni_six* root, const tni_moving* a,
                     const tni_moving* b, double* gamma, double* R, tni_moving* out);

/// tni_join_moving of a node that is rigid but pushed somewhere below: its joint is held, c = 0,
/// and of G only the last column is new. still: its own, with turns. Columns of forces in the
/// children's G are those of their still.G: they come from tni_still_at or from here (leaves have
/// none). Four times as fast with G.
void tni_join_moving_again(const tni_node* node, const tni_node* node_a, const tni_node* node_b,
                           const tni_join* join, const tni_factors* factors, const double* Q,
                           double weight, const tni_still* still, const tni_moving* a,
                           const tni_moving* b, double* gamma, double* R, tni_moving* out);
int  tni_turns_room(const tni_node* node, const tni_node* node_a, const tni_node* node_b, int d);

/// A node that is rigid, at its velocities: w of its base limb, and of every handle k motions v[k].
/// out->lead becomes that of still; out->G NULL: only b.
void tni_still_at(const tni_node* node, const tni_still* still, tn_vec3 w, const tni_six* v,
                  tni_moving* out);
/// A(C) at handle forces f.
double tni_metric(const tni_node* node, const tni_moving* moving, const double* f);
/// A(C) of a node that is rigid, at handle forces f: what tni_metric gives after tni_still_at,
/// without that.
double tni_still_metric(const tni_node* node, const tni_still* still, tn_vec3 w, const double* f);

/// The joint's acceleration (d numbers) and the handle forces of the children from those of the
/// node. f_a may be NULL for the root. fc: the force through the joint on b, in b's base
/// coordinates.
void tni_join_back(const tni_node* node, const tni_node* node_a, const tni_node* node_b,
                   const tni_join* join, const tni_factors* factors, const double* gamma,
                   const double* R, const double* f, double* qddot, double* f_a, double* f_b,
                   tni_six* fc);

/// m(w), and how it turns: m(E w) = R2 m(w), 7 x 7 row-major.
void tni_quadratic(tn_vec3 w, double* m);
void tni_quadratic_turn(const tni_mat3* E, double* R2);

#endif
