// gauss_seidel_parts: shared by gauss_seidel.c and shock_propagation.c.
#ifndef TNI_GAUSS_SEIDEL_PARTS_H
#define TNI_GAUSS_SEIDEL_PARTS_H

#include "linalg/gauss_seidel.h"

/// s <- S Y (f - base), for the island being solved.
void tni_gauss_seidel_set_s(const tni_gauss_seidel* sweep, const double* f);
/// out[c] += y_c^T s along a path.
void tni_gauss_seidel_read_path(const tni_gauss_seidel* sweep, const tni_half_solve* half,
                                double* out);
/// s += S y df over positions first .. first + count - 1, whose numbers begin at y.
void tni_gauss_seidel_write_places(const tni_gauss_seidel* sweep, int first, int count,
                                   const double* y, int columns, const double* df);
/// B += y^T S y over the same positions, n columns; row stride of B is TNI_CONE_POINT_ROWS.
void tni_gauss_seidel_add_block(const tni_gauss_seidel* sweep, int first, int count,
                                const double* y, int n, double* B);
/// The cone point of a group whose rows begin at row `at`, with weights from its block B.
tni_cone_point tni_gauss_seidel_cone_point(const tni_row_group* group, int at,
                                           const uint8_t* condition, const double* mu,
                                           const double* B, double largest);

#endif
