// coefficients_parts: what coefficients.c asks of coefficients_metric.c.
#ifndef TNI_COEFFICIENTS_PARTS_H
#define TNI_COEFFICIENTS_PARTS_H

#include "adaptive/coefficients.h"

/// G of a node as it is read and written.
typedef struct tni_root_form {
    double* G;
    int     rows, force_rows, lead;
} tni_root_form;

/// A joint, by what G needs of it: fc = W H f + gamma m, qddot = -U H f + R m.
typedef struct tni_root_join {
    const tni_node *   node, *node_a, *node_b; ///< node_a: NULL for the root
    const tni_shift*   X;
    const tni_factors* factors;
    int                quadratic; ///< numbers of m: 1 or 7
    const double*      gamma;     ///< 6 x quadratic
    const double*      R;         ///< d x quadratic
    double             weight;
    const double*      turn; ///< quadratic = 7: m of b = turn m; else NULL
} tni_root_join;

/// G of a node, with the number of its rows, out->lead being given. G of the children is not that
/// of the node. turns: as in tni_still.
void tni_root_assemble(const tni_root_join* join, tni_root_form a, tni_root_form b, double* turns,
                       tni_root_form* out);
/// The same with one number of m, columns of forces being those of still.
void tni_root_again(const tni_root_join* join, tni_root_form a, tni_root_form b,
                    const tni_still* still, tni_root_form* out);

#endif
