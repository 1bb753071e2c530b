// compliant_node: what the files of the form `rows` share: the rows of a node, and where each stands.
// See compliant.c for the mathematics.
#ifndef TNI_COMPLIANT_NODE_H
#define TNI_COMPLIANT_NODE_H

#include "system/compliant.h"
#include "system/linearise.h"

/// The rows of a B node: those of the constraint first.
typedef struct tni_compliant_node {
    int id;    ///< in the plan; -1: nothing can be pushed
    int hard;  ///< rows of the constraint
    int soft;  ///< first row of its soft coordinates, or of the stiffness of a distance
    int count; ///< all rows
    int row;   ///< first row in the plan
    int edge;  ///< first edge in the plan, of `bodies`
    int body[2];
} tni_compliant_node;

/// Where the three rows of a spring stand, or the one of a limit.
typedef struct tni_compliant_place {
    int node, row; ///< node -1: on one body, or on none
} tni_compliant_place;

struct tni_compliant {
    const tn_model*      model;
    tni_system*          system;
    tni_touching*        touching;
    tni_plan*            plan;
    tni_saddle*          saddle;
    int                  node_count;
    tni_compliant_node*  nodes; ///< constraints first, then springs on their own
    tni_compliant_place* springs;
    tni_compliant_place* limits;
    uint8_t*             limit_on;
    double*              limit_C;
    double*              limit_mu; ///< of the step itself
    tni_mat3*            K_g;
    double *             rhs, *once, *answer; ///< of the step itself; of a solve
    double               reach;
};

/// Bodies that a node pushes, as its edges stand in the plan; returns how many.
int tni_compliant_edges(const tni_compliant* c, int node, const int** bodies);
/// The block of a node over a body; NULL where that cannot be pushed.
double* tni_compliant_block(tni_compliant* c, int node, int body);
/// Its compliance, count x count.
TNI_INLINE double* tni_compliant_e(tni_compliant* c, int node)
{
    return tni_saddle_e(c->saddle, c->nodes[node].id);
}
/// The rows of limits that are on, or are passed on the way ahead; those of others are left alone.
void tni_compliant_limits(tni_compliant* c, const tni_linear* l);

#endif
