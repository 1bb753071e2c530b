// coefficients_parts: functions of coefficients_metric.c for coefficients.c.
#ifndef TNI_COEFFICIENTS_PARTS_H
#define TNI_COEFFICIENTS_PARTS_H

#include "adaptive/coefficients.h"

/// G of a node (tni_position_terms or tni_state_terms).
typedef struct tni_metric_factor {
    double* G;
    int     rows, force_rows, lead;
} tni_metric_factor;

/// What G needs of a joint: fc = W H f + gamma m, qddot = -U H f + R m.
typedef struct tni_metric_joint {
    const tni_node *     node, *node_a, *node_b; ///< node_a: NULL for the root
    const tni_transform* X;
    const tni_factors*   factors;
    int                  quadratic; ///< length of m: 1 or 7
    const double*        gamma;     ///< 6 x quadratic
    const double*        R;         ///< d x quadratic
    double               weight;
    const double*        turn; ///< quadratic = 7: m of b = turn m; else NULL
} tni_metric_joint;

/// G of a node and its number of rows; out->lead is given. out->G may not be that of a child.
/// reflections: as in tni_position_terms.
void tni_metric_assemble(const tni_metric_joint* join, tni_metric_factor a, tni_metric_factor b,
                         double* reflections, tni_metric_factor* out);
/// The same with one number of m; the force columns are those of `position`.
void tni_metric_update_last(const tni_metric_joint* join, tni_metric_factor a, tni_metric_factor b,
                            const tni_position_terms* position, tni_metric_factor* out);

#endif
