// elementary: sin, cos, atan2, asin, acos, exp, log. The C library's results differ between
// machines in the last bits; these have the same bits wherever doubles follow IEEE 754. Error below
// 1 ulp over the whole range of double; special values as in C17 Annex F. They may raise any
// floating-point flags and never set errno.
#ifndef TNI_ELEMENTARY_H
#define TNI_ELEMENTARY_H

#define TNI_PI     3.14159265358979323846
#define TNI_TWO_PI (2 * TNI_PI)

double tni_sin(double x);
double tni_cos(double x);
void   tni_sincos(double x, double* sine, double* cosine); ///< both for the cost of one

double tni_atan2(double y, double x); ///< angle of the point (x, y), in [-pi, pi]
double tni_asin(double x);            ///< NaN outside [-1, 1]
double tni_acos(double x);            ///< NaN outside [-1, 1]

/// atan(k / 16) as a pair hi, lo; for atan2 here and in batch/lanes_angle.h.
extern const double tni_atan_of_sixteenth[17][2];

double tni_exp(double x);
double tni_log(double x); ///< NaN below zero, -infinity at zero

#endif
