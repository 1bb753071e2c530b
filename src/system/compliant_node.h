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

/// A spring between two bodies, along its length.
typedef struct tni_compliant_stretch {
    bool    on;     ///< it has a row
    tn_vec3 n;      ///< along it, at the start
    double  length; ///< there
    double  stiff;  ///< 1: as stiff as a joint within a step, 0: soft
    double  off;    ///< at the end: how much longer it is than the rows say
    double  asked;  ///< of that, what the rows have been told
} tni_compliant_stretch;

struct tni_compliant {
    const tn_model*        model;
    tni_system*            system;
    tni_implicit_contacts* contacts;
    tni_plan*              plan;
    tni_saddle*            saddle;
    int                    node_count;
    tni_compliant_node*    nodes; ///< constraints first, then springs on their own
    tni_compliant_place*   springs;
    tni_compliant_stretch* stretches; ///< by spring
    tni_compliant_place*   limits;
    uint8_t*               limit_on;
    double*                limit_C;
    double*                limit_mu; ///< of the step itself
    tni_mat3*              K_g;
    double *               rhs, *once, *answer; ///< of the step itself; of a solve
    double                 reach;
    bool closes; ///< corrections close springs; Newton's rounds have their forces in the residual
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
/// Row `row` of a node <- the combination v of `count` rows of a soft force from `first` on, with
/// stiffness w and impulse g.
void tni_compliant_row(tni_compliant* c, int node, int row, const tni_soft* soft, int first,
                       int count, const double* v, double w, double g);
/// The rows of a spring; what has no row stays in g.
void tni_compliant_spring(tni_compliant* c, const tni_soft* soft, const double* W, double* g);
/// What springs ask of a correction, into rhs; whole: their forces are asked for otherwise.
void tni_compliant_ask(tni_compliant* c, bool whole, double* rhs);
/// The rows of limits that are on, or are passed on the way ahead; those of others are left alone.
void tni_compliant_limits(tni_compliant* c, const tni_linear* l);

#endif
