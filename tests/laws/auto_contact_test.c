// The laws of contact by the default method.
#include "support/auto_rig.h"
#include "support/contact_rig.h"

// Nobody sleeps: forces on sleeping bodies are not reported.
static rig law_make(tn_vec3 gravity)
{
    rig r                    = auto_make(gravity);
    r.settings.impulse.sleep = 0;
    return r;
}

static rig law_builtin(const char* spec)
{
    rig r                    = auto_builtin(spec);
    r.settings.impulse.sleep = 0;
    rig_restart(&r);
    return r;
}

#define law_left        1e-7
#define law_finest      2e-3
#define law_counts_rest false
#include "support/contact_laws.h"
