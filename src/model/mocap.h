// mocap: shared by mocap.c (poses to targets) and mocap_names.c (joints to bodies).
#ifndef TNI_MOCAP_H
#define TNI_MOCAP_H

#include "base/base.h"
#include "tenon/mocap.h"

enum { TNI_STEM_MAX = 63 };

/// A name split into side and stem: "mixamorig:LeftUpLeg" is 'l' and "upleg".
typedef struct tni_label {
    char side; ///< 'l', 'r', or 0
    char stem[TNI_STEM_MAX + 1];
} tni_label;

tni_label tni_label_of(const char* name);
/// True if a target can rotate the body.
bool tni_can_be_driven(const tn_body_def* def);
/// body_of[joint]: index of the body that follows the joint, or -1; allocated by the caller for all
/// joints. Temporary data is allocated in the arena. Fails if a pair of the options names nothing,
/// or nothing matches.
tn_result tni_mocap_match(const tn_scene* scene, const tn_mocap* mocap,
                          const tn_mocap_options* options, tni_arena* arena, int* body_of,
                          tn_why* why);

#endif
