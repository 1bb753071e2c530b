// tree_form_link: data shared by the files of the null-space form: a tree of links, and what a step
// computes of each. See tree_form.c for the mathematics.
#ifndef TNI_TREE_FORM_LINK_H
#define TNI_TREE_FORM_LINK_H

#include "force/force.h"
#include "system/tree_form.h"

typedef struct tni_sym {
    double xx, xy, xz, yy, yz, zz;
} tni_sym;

/// Articulated inertia of a subtree at a point, for the velocity v there and w, and the impulse on
/// it.
typedef struct tni_articulated_inertia {
    tni_sym  M;
    tni_mat3 H; ///< v^T H w
    tni_sym  I;
    tn_vec3  f, t;
} tni_articulated_inertia;

typedef enum tni_link_kind {
    TNI_LINK_TURNS,
    TNI_LINK_AXIS,
    TNI_LINK_FIXED,
    TNI_LINK_OTHER
} tni_link_kind;

/// Constants of a body and its joint; equal neighbours share one.
typedef struct tni_link_form {
    double  mass;
    tni_sym inertia, inverse; ///< body axes
    tn_vec3 ref;              ///< O from the centre of mass
    tn_vec3 anchor;           ///< on the parent, from its centre of mass
    double  sign;             ///< +1: it is body 2 of its joint
    double  stiffness, damping;
    tn_quat twist;   ///< plain springs: F2 rest^-1 F1^-1
    tn_vec3 axes[5]; ///< AXIS, FIXED: x, y of frame 1 and x, y, z of frame 2, in the axes of their
                     ///< bodies
} tni_link_form;

typedef struct tni_link {
    const tni_link_form* form;
    int                  q, u, row; ///< where its numbers begin in q, in u, and among rows
    int                  parent;    ///< parent link; -1: none that is movable
    int                  slot;      ///< slot where its children accumulate their articulated
                                    ///< inertia; -1: no children
    int parent_slot;
    int other;                   ///< body on the parent's side of the joint
    int actuation;               ///< -1: none
    int more;                    ///< index into `mores`, or into `denses` where OTHER; -1: none
    int body, joint, constraint; ///< joint -1: a root without one
    int first_force; ///< 1 + index of the first stiff force that acts on this link only;
                     ///< 0: none
    int share;       ///< 1 + index of the part that this link ends (see tni_part); 0:
                     ///< none
    uint8_t kind;
    bool    single; ///< its only child is the link before it
    bool    first;  ///< the first child: the slot is empty before
    bool    plain;  ///< its joint force consists of spring and damper only
    bool    points; ///< OTHER: its rows hold the anchors together along world axes
} tni_link;

/// What a step computes of each link.
typedef struct tni_link_work {
    tn_vec3 ref;     ///< O from the centre of mass, world axes
    tn_vec3 arm;     ///< d: where O sits on the parent, from O of that
    tn_vec3 p, f, y; ///< p of v, f', and, TURNS, w where y = 0
    // TURNS: D^-1 H^T, D = L diag(1/inv) L^T. AXIS: rows h = H s, k = I s, s of Q; inv.x = 1/D.
    tni_mat3 Q;
    tni_sym  M; ///< M'
    tn_vec3  l, inv;
} tni_link_work;

/// The same for links with a spring, or whose rotation is constrained.
typedef struct tni_link_more {
    tni_mat3 H; ///< H'
    tni_sym  I; ///< TURNS: W; else I'
    tni_mat3 T; ///< TURNS: D^-1 W. AXIS: rows n1, n2, the spring's row. FIXED: rows of turning
    tn_vec3  t, turn;    ///< t', p of w
    double   q, gram[3]; ///< AXIS: q where y = 0; of n1 and n2: 11, 12, 22 of the inverse
    double   push, grip; ///< AXIS: of the spring where q = 0, W
} tni_link_more;

enum { TNI_LINK_SOFT_MAX = 5 };

/// Soft rows between a joint's bodies: impulse g - W rate, rate = (on u_a) Ja and (on y) Y.
typedef struct tni_link_soft {
    int    count;
    double W[TNI_LINK_SOFT_MAX * TNI_LINK_SOFT_MAX], g[TNI_LINK_SOFT_MAX];
    double Ja[TNI_LINK_SOFT_MAX * 6], Y[TNI_LINK_SOFT_MAX * 6];
} tni_link_soft;

/// A joint of kind OTHER.
typedef struct tni_link_dense {
    int           rows;            ///< constraint rows; 6 - rows are free
    tn_vec3       d;               ///< from b's centre of mass to a's, on b
    double        Q[36];           ///< columns one after the other: the span of J_a^T, then S
    double        R[36];           ///< J_a^T = Q R, rows x rows, row-major
    double        G[36];           ///< free x 6
    double        D[36];           ///< free x free: L, and 1 / d on the diagonal
    double        A[36], left[36]; ///< A and A'
    double        SW[TNI_LINK_SOFT_MAX * 6]; ///< W Ja S: count x free
    double        p[6], q[6], b[6];          ///< of the current solve: q where y = 0, b'
    double        push[TNI_LINK_SOFT_MAX];   ///< impulse of the soft rows where q = y = 0
    tni_link_soft soft;
} tni_link_dense;

/// A stiff force on a single link.
typedef struct tni_link_force {
    int    link, next;  ///< 1 + index of the next one on this link
    double A[36], b[6]; ///< at the centre of mass
} tni_link_force;

/// Velocity of a link at O.
typedef struct tni_link_motion {
    tn_vec3 v, w;
} tni_link_motion;

/// Load that a link passes to its parent: force, and torque at O of that.
typedef struct tni_link_load {
    tn_vec3 f, t;
} tni_link_load;

/// Links first .. end - 1. A shared part is a whole branch, or whole trees: threads process shared
/// parts in parallel, before the rest in inward passes, after it in outward passes. The rest is
/// done by one thread. The parts depend on the model alone and all sums keep their order: same bits
/// for any number of threads.
typedef struct tni_part {
    int                     first, end;
    bool                    shared;
    tni_articulated_inertia inertia; ///< articulated inertia that a branch passes to its parent
    tni_link_load           load;    ///< the same in a correction: the load
    tni_link_motion         from;    ///< motion of the link after it, for an outward pass
    int                     bad;     ///< first link that could not be eliminated; -1: none
    double                  most;    ///< largest error
    int                     worst;
} tni_part;

// What is computed of links before the elimination, in SIMD lanes: number `field` of lane k is at
// [field][k].
enum { TNI_LANES_MAX = 4 };
enum {
    TNI_SURVEY_I   = 0,  ///< inertia at the centre of mass, with geometric stiffness
    TNI_SURVEY_F   = 6,  ///< momentum, with the impulse of gravity
    TNI_SURVEY_T   = 9,  ///< angular momentum
    TNI_SURVEY_REF = 12, ///< ref in world axes
    TNI_SURVEY_D   = 15, ///< where O sits on the parent, from O of that
    TNI_SURVEY_RB  = 18, ///< the same from its centre of mass
    TNI_SURVEY_P   = 21, ///< p of v, without drift and prescribed motion of b
    TNI_SURVEY_KB  = 24, ///< geometric stiffness on the parent
    // Where rotation is constrained:
    TNI_SURVEY_AXES  = 30, ///< x, y of frame 1, x, y, z of frame 2
    TNI_SURVEY_N     = 45, ///< n1 and n2
    TNI_SURVEY_GRAM  = 51,
    TNI_SURVEY_TURN  = 54, ///< p of w, without drift and prescribed motion of b
    TNI_SURVEY_COUNT = 57
};
typedef double tni_survey[TNI_SURVEY_COUNT][TNI_LANES_MAX];

/// Kernels that process several links at once; all sets give the same bits.
typedef struct tni_link_lanes {
    int lanes;
    /// Surveys links first, first + 1, ...
    void (*survey)(const tni_tree_form* ns, int first, tni_survey out);
    /// Free flight of links first .. end - 1 for h. r NULL: R at the end goes into ends; else the
    /// anchors' rows into r, where those of the roots hold the anchor on the fixed side before.
    void (*fly)(const tni_tree_form* ns, int first, int end, double h, const double* q,
                const double* u, double* q1, double* u1, double* r);
    /// At the end, for links last, last - 1, ... first by lane: the gap of the anchors; then, where
    /// rotation is constrained, the errors of the axes.
    void (*gaps)(const tni_tree_form* ns, int first, int last, const double* q1,
                 double gap[6][TNI_LANES_MAX]);
    /// For links last, last - 1, ... first at q, u: rates of the gap of the anchors; where rotation
    /// is constrained, those of the rotation rows, then x1.x2 and y1.x2.
    void (*rates)(const tni_tree_form* ns, int first, int last, const double* q, const double* u,
                  double out[8][TNI_LANES_MAX]);
} tni_link_lanes;

const tni_link_lanes* tni_link_lanes_plain(void);
const tni_link_lanes* tni_link_lanes_best(void);

struct tni_tree_form {
    const tn_model*          model;
    tni_system*              system;
    const tni_link_lanes*    lanes;
    int                      count;
    tni_link*                links; ///< children before parents
    tni_link_work*           works;
    tni_link_more*           mores;
    tni_link_dense*          denses;
    tni_articulated_inertia* slots;
    tni_mat3*                ends; ///< R at the end of the last flight, by link
    int                      fixed_count;
    int*                     fixed;          ///< immovable bodies that have a joint to a link
    bool                     needs_views;    ///< needs all views of the system
    bool                     holds_rotation; ///< some joint constrains rotation
    int                      part_count, share_count;
    tni_part*                parts;  ///< in link order
    int*                     shares; ///< indices of the shared parts
    const tn_host*           host;
    int                      root_count;
    int*                     roots;   ///< links
    int*                     link_of; ///< by body
    tni_link_force*          link_forces;
    tni_mat3*                K_g; ///< by body: geometric stiffness, where a step has a drift
    int                      link_force_count;
    double*                  plain; ///< non-stiff forces; NULL: gravity only
    // Of the current step
    const tni_step_start*  start;
    const tni_step_scheme* scheme;
    double                 e;
};

/// Makes the tree: tree_form_tree.c.
tn_result tni_tree_form_build(tni_tree_form* ns, tni_arena* arena);

/// W, g and rows of a link's joint force; returns the rows on the link.
const double* tni_link_soften(const tni_tree_form* ns, const tni_link* a, tni_soft* soft, double* W,
                              double* g);
/// Geometric stiffness of the force f on a link at arm, and of -f on its parent at arm_b; world
/// axes.
void tni_link_stiffen(const tni_tree_form* ns, tn_vec3 f, tn_vec3 arm, tn_vec3 arm_b, tni_sym* I,
                      tni_sym* Ib);

// Joints of kind OTHER: tree_form_dense.c. begin takes A, b at the centre of mass and leaves A',
// b'; K: geometric stiffness on the parent.
bool tni_link_begin_other(tni_tree_form* ns, const tni_link* a, tni_articulated_inertia* B,
                          tni_sym* K);
void tni_link_pass_other(tni_tree_form* ns, const tni_link* a, const double* r, tn_vec3* f,
                         tn_vec3* t);
void tni_link_end_other(const tni_tree_form* ns, const tni_link* a, tn_vec3 v, tn_vec3 wb,
                        double* u, double* mu);
/// c (n x m) = a (n x k) b (k x m), all row-major; at: a is (k x n)^T.
void tni_link_multiply(int n, int k, int m, bool at, const double* a, const double* b, double* c);

// ---- Small algebra ------------------------------------------------------------------------------

TNI_INLINE tn_vec3 tni_sym_times(const tni_sym* A, tn_vec3 x)
{
    return tni_vec3(A->xx * x.x + A->xy * x.y + A->xz * x.z,
                    A->xy * x.x + A->yy * x.y + A->yz * x.z,
                    A->xz * x.x + A->yz * x.y + A->zz * x.z);
}

TNI_INLINE void tni_sym_add(tni_sym* A, const tni_sym* B)
{
    A->xx += B->xx, A->xy += B->xy, A->xz += B->xz;
    A->yy += B->yy, A->yz += B->yz, A->zz += B->zz;
}

/// A += s x x^T
TNI_INLINE void tni_sym_add_outer(tni_sym* A, double s, tn_vec3 x)
{
    const tn_vec3 y = tni_scale(s, x);
    A->xx += y.x * x.x, A->xy += y.x * x.y, A->xz += y.x * x.z;
    A->yy += y.y * x.y, A->yz += y.y * x.z, A->zz += y.z * x.z;
}

#endif
