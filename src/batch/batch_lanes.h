// batch_lanes: a few copies of one model stepped in the lanes of vectors, by the implicit method.
// See batch_lanes.c.
#ifndef TNI_BATCH_LANES_H
#define TNI_BATCH_LANES_H

#include "base/base.h"
#include "tenon/step.h"

enum { TNI_BATCH_LANES_MAX = 4 };

typedef struct tni_batch_plan  tni_batch_plan;  ///< shared by all lanes of a model; never changes
typedef struct tni_batch_lanes tni_batch_lanes; ///< a workspace

/// *plan stays NULL if the model, or the method with its settings (never auto), is not supported in
/// lanes. Fails with TN_ERR_MEMORY only.
TN_NODISCARD tn_result tni_batch_plan_create(tni_arena* arena, const tn_model* model,
                                             const tn_settings* settings, tni_batch_plan** plan);
TN_NODISCARD tn_result tni_batch_create(tni_arena* arena, const tni_batch_plan* plan,
                                        tni_batch_lanes** lanes);
/// Lanes made from now on use vectors of two numbers, whatever the processor has; the bits are the
/// same. For tests.
void tni_batch_narrow(tni_batch_plan* plan);
int  tni_batch_lane_count(const tni_batch_plan* plan);
/// Steps count <= tni_batch_lane_count() states by h, each with the bits of tn_stepper_step(), and
/// fills their reports. Returns as bits the states that it rejected and left unchanged.
unsigned tni_batch_step(tni_batch_lanes* lanes, tn_state* const* states, int count, double h,
                        tn_step_report* const* reports);

#endif
