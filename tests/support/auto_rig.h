// auto_rig: rigs that step by the default method without a setting, at the rate of a screen.
#ifndef AUTO_RIG_H
#define AUTO_RIG_H

#include "support/rig.h"

static const double auto_h = 1.0 / 60;

static inline tn_settings auto_settings(void)
{
    tn_settings settings = tn_default_settings();
    settings.method      = TN_METHOD_AUTO;
    return settings;
}

static inline rig auto_make(tn_vec3 gravity)
{
    rig r      = rig_make(gravity);
    r.settings = auto_settings();
    return r;
}

/// A built-in scene, whatever method and step it asks for.
static inline rig auto_builtin(const char* spec)
{
    rig r      = rig_builtin(spec);
    r.settings = auto_settings();
    rig_restart(&r);
    return r;
}

#endif
