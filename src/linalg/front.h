// front: LDL^T of components with loops, one front (supernode) at a time. See front.c.
#ifndef TNI_FRONT_H
#define TNI_FRONT_H

#include "linalg/ldl.h"

/// Allocates the workspace of all fronts of a plan.
TN_NODISCARD tn_result tni_front_create(tni_arena* arena, tni_ldl* ldl);

/// Gives a copy of an ldl scratch of its own for them.
TN_NODISCARD tn_result tni_front_share(tni_arena* arena, tni_ldl* ldl);

/// Call for children before parents. False if a pivot cannot be used; report->bad_row is its row.
bool tni_front_factor(tni_ldl* ldl, int front, const tni_blocks* blocks, const double* raise,
                      const tni_pivot_rule* rule, tni_pivot_report* report);

/// Forward for children before parents, backward for parents before children; x[row * count + k].
void tni_front_forward(const tni_ldl* ldl, int front, int count, double* x);
void tni_front_backward(const tni_ldl* ldl, int front, int count, double* x);

#endif
