// inside: the one file of the suite that looks inside the library, for what it does on request of benchmarks alone.
#include "mechanism.h"

#include "step/stepper.h"

tn_result tnb_stepper_create(const tn_model* model, const tn_settings* settings,
                             tnb_variant variant, tn_stepper** stepper, tn_why* why)
{
    const tni_impulse_variant inner = {.cholmod = variant.cholmod, .by_norm = variant.by_norm};
    return tni_stepper_create_variant(model, settings, inner, stepper, why);
}
