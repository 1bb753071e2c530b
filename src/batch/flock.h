// flock: a few copies of one model stepped in the lanes of vectors, by the implicit method. See flock.c.
#ifndef TNI_FLOCK_H
#define TNI_FLOCK_H

#include "base/base.h"
#include "tenon/step.h"

enum { TNI_FLOCK_LANES_MAX = 4 };

typedef struct tni_flock_plan tni_flock_plan; ///< what all flocks of a model share; never changes
typedef struct tni_flock      tni_flock;      ///< a workspace

/// *plan stays NULL where lanes do not serve the model, or the method with its settings (never auto).
/// TN_ERR_MEMORY.
TN_NODISCARD tn_result tni_flock_plan_create(tni_arena* arena, const tn_model* model,
                                             const tn_settings* settings, tni_flock_plan** plan);
TN_NODISCARD tn_result tni_flock_create(tni_arena* arena, const tni_flock_plan* plan,
                                        tni_flock** flock);
/// Vectors of two numbers in flocks made from now on, whatever the processor has. The same bits: for tests.
void tni_flock_narrow(tni_flock_plan* plan);
int  tni_flock_lanes(const tni_flock_plan* plan);
/// Steps count <= lanes states by h, each with the bits of tn_stepper_step, and fills their reports. Returns those,
/// as bits, that it left as they were: they need what is not done in lanes.
unsigned tni_flock_step(tni_flock* flock, tn_state* const* states, int count, double h,
                        tn_step_report* const* reports);

#endif
