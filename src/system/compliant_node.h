// compliant_node: data shared by the files of the form `rows`: the rows of a node and their places.
// See compliant.c for the mathematics.
#ifndef TNI_COMPLIANT_NODE_H
#define TNI_COMPLIANT_NODE_H

#include "system/compliant.h"
#include "system/linearise.h"

/// The rows of a constraint node (B node): those of the constraint first.
typedef struct tni_compliant_node {
    int id;    ///< in the plan; -1: no movable body
    int hard;  ///< number of rows of the constraint
    int soft;  ///< first row of its soft coordinates, or of a distance joint's stiffness
    int count; ///< all rows
    int row;   ///< first row in the plan
    int edge;  ///< first edge in the plan, of `bodies`
    int body[2];
} tni_compliant_node;

/// Place of the three rows of a spring, or of the one of a limit.
typedef struct tni_compliant_place {
    int node, row; ///< node -1: on one body, or on none
} tni_compliant_place;

/// A spring between two bodies.
typedef struct tni_compliant_stretch {
    bool    on;        ///< it has a row along its length
    tn_vec3 n;         ///< its direction at the start
    double  length;    ///< its length at the start
    double  stiff;     ///< 1: as stiff as a joint within a step, 0: soft
    double  off;       ///< its length at the end less that predicted by the linear rows
    double  corrected; ///< the part of `off` that is in the right-hand sides already
} tni_compliant_stretch;

struct tni_compliant {
    const tn_model*        model;
    tni_system*            system;
    tni_implicit_contacts* contacts;
    tni_plan*              plan;
    tni_saddle*            saddle;
    int                    node_count;
    tni_compliant_node*    nodes; ///< constraints first, then springs without a joint
    tni_compliant_place*   springs;
    tni_compliant_stretch* stretches; ///< by spring
    tni_compliant_place*   limits;
    uint8_t*               limit_active;
    double*                limit_C;
    double*                limit_mu; ///< multipliers of the step itself
    tni_mat3*              K_g;
    double *               rhs, *once, *answer; ///< rhs: of the step itself; once, answer: of a
                                                ///< solve
    double reach;
    bool   closes; ///< true: corrections close springs; false: in Newton's rounds the residual has
                   ///< their forces
};

/// Bodies of a node, in the order of its edges in the plan; returns how many.
int tni_compliant_edges(const tni_compliant* c, int node, const int** bodies);
/// The block of a node for a body; NULL where that is immovable.
double* tni_compliant_block(tni_compliant* c, int node, int body);
/// Its compliance, count x count.
TNI_INLINE double* tni_compliant_e(tni_compliant* c, int node)
{
    return tni_saddle_e(c->saddle, c->nodes[node].id);
}
/// Row `row` of a node <- the combination v of `count` rows of a soft force from `first` on, with
/// stiffness w and impulse g.
void tni_compliant_row(tni_compliant* c, int node, int row, const tni_soft* soft, int first,
                       int count, const double* v, double w, double g);
/// Sets the rows of a spring; the impulse of directions without a row stays in g.
void tni_compliant_spring(tni_compliant* c, const tni_soft* soft, const double* W, double* g);
/// What springs ask of a correction, into rhs. whole: nothing, but their errors count as corrected.
void tni_compliant_set_targets(tni_compliant* c, bool whole, double* rhs);
/// Sets the rows of limits that are active, or exceeded by the predicted motion.
void tni_compliant_limits(tni_compliant* c, const tni_linear* l);

#endif
