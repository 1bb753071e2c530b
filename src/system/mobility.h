#ifndef TNI_MOBILITY_H
#define TNI_MOBILITY_H

#include "system/system.h"

/// redundant has room for all rows of the model.
TN_NODISCARD tn_result tni_system_check(tni_system* system, const tni_configuration* at,
                                        tn_check* check, tn_row_name* redundant, tn_why* why);

#endif
