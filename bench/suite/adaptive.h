// adaptive.h: figures 5 and 6 of the adaptive method (adaptive_figures.c).
#ifndef TNB_ADAPTIVE_H
#define TNB_ADAPTIVE_H

#include "mechanism.h"

bool tnb_pendulum(tnb_run* run); ///< figure 5
bool tnb_spring(tnb_run* run);   ///< figure 6

#endif
