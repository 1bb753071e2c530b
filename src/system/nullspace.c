// nullspace: the implicit step of trees of rigid bodies, in the velocities of their joints
// (dynamics.md 4.6). The same matrix as the other forms, eliminated in another way: no multiplier is
// an unknown, and stiff joint springs stand on a diagonal.
//
// Each body a hangs by one joint on its parent b. Velocities are taken at a point O of the body: v
// there, and w. O is the joint's anchor where the joint holds the anchors together, else the centre of
// mass. With d from O of b to where O of a sits on b, and q the free velocities of the joint,
//
//     y = (v_b + w_b x d, w_b),      u_a = y + S q + p,      J_a S = 0,   J_a p = r
//
// Such an X is exact for open joints too: rows of the anchors along world axes turn with nothing, the
// others with both bodies. Leaves first, with A, b of a and all that hangs on it, and the spring's
// impulse g - W (S' q + ...) on q (articulated-body elimination):
//
//     D = S^T A S + W,    G = S^T A,    A' = A - G^T D^-1 G,    b' = b - A p - G^T D^-1 (S^T (b - A p) + g)
//
// A' and b' at O of a are shifted by d and added to the parent's. Root first:
//
//     q = D^-1 (S^T (b - A p) + g - G y),     J_a^T mu = b' - A' y + (spring on a)
//
// Four kinds of joints:
//     TURNS   the anchors held, all turning free     S = (0, 1):  G = (H^T, I)
//     AXIS    ... but about one axis s held          S = (0, s),  s = z of frame 2
//     FIXED   all held                               S empty
//     OTHER   anything, and roots: S and p from a QR factorisation of J_a^T, dense 6 x 6 algebra
// Blocks of A: M for v, H between v and w, I for w. For TURNS the parent gets
//     M' = M - H D^-1 H^T,  H' = H D^-1 W,  I' = I D^-1 W,  f' = f - M p - H x,  t' = W x - g
// with x = D^-1 (t + g - H^T p): products only, so nothing is lost whether W is tiny or huge.
//
// Cost a link without spring: some 700 flops for a begin, 130 for a correct, 350 for a flight.
// Fails where a D is not positive: motion that is not finite, masses too far apart.
#include "system/nullspace.h"

#include "force/force.h"
#include "system/geometric.h"

typedef struct sym {
    double xx, xy, xz, yy, yz, zz;
} sym;

/// What hangs on a point: inertia against v there and w, and the impulse on it.
typedef struct bulk {
    sym      M;
    tni_mat3 H; ///< v^T H w
    sym      I;
    tn_vec3  f, t;
} bulk;

typedef enum kind { TURNS, AXIS, FIXED, OTHER } kind;

enum { SOFT_MAX = 5 };

/// Rows between a joint's bodies that push with g - W rate, rate = (on u_a) Ja and (on y) Y.
typedef struct soft_rows {
    int    count;
    double W[SOFT_MAX * SOFT_MAX], g[SOFT_MAX];
    double Ja[SOFT_MAX * 6], Y[SOFT_MAX * 6];
} soft_rows;

/// A joint of kind OTHER.
typedef struct dense {
    int       rows;  ///< hard ones; 6 - rows are free
    double    Q[36]; ///< columns one after the other: the span of J_a^T, then S
    double    R[36]; ///< J_a^T = Q R, rows x rows, row-major
    double    G[36]; ///< free x 6
    double    D[36]; ///< free x free: L, and 1 / d on the diagonal
    double    A[36]; ///< A'
    double    SW[SOFT_MAX * 6]; ///< W Ja S: count x free
    double    p[6], q[6], b[6]; ///< of the solve at hand: q where y = 0, b'
    soft_rows soft;
} dense;

/// What never changes.
typedef struct link {
    kind    kind;
    int     body, joint, constraint, row; ///< joint -1: a root without
    int     parent;                       ///< link; -1: none that can be pushed
    int     other;                        ///< body on the parent's side
    int     q, u;                         ///< where its numbers begin
    int     actuation;                    ///< -1: none
    bool    plain;                        ///< of which only spring and damper count
    int     slot;                         ///< where children put their bulk; -1: has none
    int     parent_slot;
    bool    first; ///< of the children: nothing is there yet
    double  sign;  ///< +1: it is body 2 of its joint
    double  mass;
    sym     inertia;    ///< body axes
    tn_vec3 ref;        ///< O from the centre of mass
    tn_vec3 anchor;     ///< on the parent, from its centre of mass
    tn_quat twist;      ///< plain: F2 rest^-1 F1^-1
    double  stiffness, damping;
    int     dense; ///< OTHER
} link;

/// What a step computes of a link.
typedef struct work {
    tni_mat3 R;
    tn_vec3  ref; ///< world axes
    tn_vec3  arm; ///< d
    tn_vec3  v, w; ///< of the solve at hand, at O
    sym      M; ///< M'
    tn_vec3  f; ///< f'
    tn_vec3  p;
    // TURNS: D = L diag(1/inv) L^T, V = L^-1 H^T. AXIS: rows h = H s, k = I s, s of V, inv.x = 1/D.
    tn_vec3  l, inv, y;
    tni_mat3 V;
    // With springs, and AXIS, FIXED
    tni_mat3 H; ///< H'
    sym      I; ///< W of TURNS; I' of AXIS and FIXED
    tni_mat3 T; ///< TURNS: inv L^-1 W. AXIS: rows n1, n2, the spring's row. FIXED: the rows of turning
    tn_vec3  t, turn; ///< AXIS, FIXED: t', the angular part of p
    double   q, gram[3]; ///< AXIS: q where y = 0; of n1 and n2: 11, 12, 22 of the inverse
    double   pull, grip; ///< AXIS: g and W of the spring
} work;

struct tni_nullspace {
    const tn_model* model;
    tni_system*     system;
    int             count;
    link*           links; ///< children before parents
    work*           works;
    dense*          denses;
    bulk*           slots;
    int             fixed_count;
    int*            fixed; ///< bodies that cannot be pushed and hold something
    bool            looks, bodies; ///< asks for all views; has forces on single bodies
    double *        body_A, *body_b; ///< of those, by link: 36 and 6
    double*         plain;           ///< forces, where there is more than weight
    const tni_start* start;
    const tni_lead*  lead;
    double          e;
    tni_soft        soft;
};
