// batch_lanes: a few copies of one model stepped in the lanes of vectors, by the implicit method. See batch_lanes.c.
#ifndef TNI_BATCH_LANES_H
#define TNI_BATCH_LANES_H

#include "base/base.h"
#include "tenon/step.h"

enum { TNI_BATCH_LANES_MAX = 4 };

typedef struct tni_batch_plan  tni_batch_plan;  ///< what all flocks of a model share; never changes
typedef struct tni_batch_lanes tni_batch_lanes; ///< a workspace

/// *plan stays NULL where lanes do not serve the model, or the method with its settings (never auto).
/// TN_ERR_MEMORY.
TN_NODISCARD tn_result tni_batch_plan_create(tni_arena* arena, const tn_model* model,
                                             const tn_settings* settings, tni_batch_plan** plan);
TN_NODISCARD tn_result tni_batch_create(tni_arena* arena, const tni_batch_plan* plan,
                                        tni_batch_lanes** flock);
/// Vectors of two numbers in flocks made from now on, whatever the processor has. The same bits: for tests.
void tni_batch_narrow(tni_batch_plan* plan);
int  tni_batch_lane_count(const tni_batch_plan* plan);
/// Steps count <= lanes states by h, each with the bits of tn_stepper_step, and fills their reports. Returns those,
/// as bits, that it left as they were: they need what is not done in lanes.
unsigned tni_batch_step(tni_batch_lanes* flock, tn_state* const* states, int count, double h,
                        tn_step_report* const* reports);

#endif
