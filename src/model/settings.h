// settings: the check that a whole tn_settings is within its ranges.
#ifndef TNI_SETTINGS_H
#define TNI_SETTINGS_H

#include "tenon/settings.h"

/// Settings may be filled in by hand, past tn_settings_set(): TN_ERR_MODEL names the bad one.
tn_result tni_settings_check(const tn_settings* settings, tn_why* why);
/// Only whether they started from tn_default_settings(): asserts, and TN_ERR_MODEL without asserts.
tn_result tni_settings_made(const tn_settings* settings, tn_why* why);

#endif
