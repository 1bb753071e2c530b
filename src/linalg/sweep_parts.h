// sweep_parts: what sweep.c and sweep_shock.c share.
#ifndef TNI_SWEEP_PARTS_H
#define TNI_SWEEP_PARTS_H

#include "linalg/sweep.h"

/// Of the island being solved: s <- S Y (f - base).
void tni_sweep_set_s(const tni_sweep* sweep, const double* f);
/// out[c] += y_c^T s along a path.
void tni_sweep_read_path(const tni_sweep* sweep, const tni_half* half, double* out);
/// s += S y df over places first .. first + count - 1, whose numbers begin at y.
void tni_sweep_write_places(const tni_sweep* sweep, int first, int count, const double* y,
                            int columns, const double* df);
/// B += y^T S y over the same, n columns; rows of B are TNI_GRIP_ROWS apart.
void tni_sweep_add_block(const tni_sweep* sweep, int first, int count, const double* y, int n,
                         double* B);
/// The grip of a bundle whose rows begin at `at` of those given, with weights from its block B.
tni_grip tni_sweep_grip(const tni_bundle* bundle, int at, const uint8_t* condition,
                        const double* mu, const double* B, double largest);

#endif
