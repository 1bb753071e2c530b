// settings: checks a whole tn_settings.
#ifndef TNI_SETTINGS_H
#define TNI_SETTINGS_H

#include "tenon/settings.h"

/// Checks settings filled in without tn_settings_set(). TN_ERR_MODEL: *why names the bad one.
tn_result tni_settings_check(const tn_settings* settings, tn_why* why);
/// Only whether they started from tn_default_settings(): asserts, and TN_ERR_MODEL without asserts.
tn_result tni_settings_made(const tn_settings* settings, tn_why* why);

#endif
