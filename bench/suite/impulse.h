// impulse.h: figures 5 and 6 of the impulse method (impulse_figures.c).
#ifndef TNB_IMPULSE_H
#define TNB_IMPULSE_H

#include "mechanism.h"

bool tnb_figure5(tnb_run* run);
bool tnb_figure6(tnb_run* run);

#endif
