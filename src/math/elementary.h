// elementary: sin, cos, atan2, asin, acos, exp, log of our own. libm differs from machine to
// machine in the last bits; these give the same bits wherever IEEE double arithmetic is kept.
// Error below 1 ulp over the whole range of double; special values as in C17 Annex F. They
// raise floating-point flags as they please and never set errno.
#ifndef TNI_ELEMENTARY_H
#define TNI_ELEMENTARY_H

#define TNI_PI     3.14159265358979323846
#define TNI_TWO_PI (2 * TNI_PI)

double tni_sin(double x);
double tni_cos(double x);
void   tni_sincos(double x, double* sine, double* cosine); ///< both at the price of one

double tni_atan2(double y, double x); ///< angle of the point (x, y), in [-pi, pi]
double tni_asin(double x);            ///< NaN outside [-1, 1]
double tni_acos(double x);            ///< NaN outside [-1, 1]

/// atan(k / 16), in two parts: for atan2 and for the same in lanes (batch/lanes_angle.h).
extern const double tni_atan_of_sixteenth[17][2];

double tni_exp(double x);
double tni_log(double x); ///< NaN below zero, -infinity at zero

#endif
