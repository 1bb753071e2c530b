// scene: how a scene is stored. Parts of one kind lie in one list, in the order of adding.
#ifndef TNI_SCENE_H
#define TNI_SCENE_H

#include "base/base.h"
#include "geom/mesh.h"
#include "model/name_table.h"
#include "tenon/scene.h"

#include <math.h>

enum {
    TNI_NAME_MAX = 63, ///< bytes of a name
    TNI_GROUPS   = 32  ///< that shapes may be in
};

typedef enum tni_part {
    TNI_PART_BODY,
    TNI_PART_JOINT,
    TNI_PART_COUPLING,
    TNI_PART_SPRING,
    TNI_PART_TARGET,
    TNI_PART_LOAD,
    TNI_PART_DRAG,
    TNI_PART_COUNT
} tni_part;

typedef struct tni_part_list {
    void*          items; ///< defs, owned: tn_body_def, tni_joint_item, tn_coupling_def, ...
    int            count, capacity;
    tni_name_table names;
    int            number; ///< the last number given to an unnamed part
} tni_part_list;

/// Joints and user-defined constraints share one list.
typedef struct tni_joint_item {
    tn_joint_def             def;
    const tn_constraint_def* constraint; ///< NULL: a joint
} tni_joint_item;

/// What is said of two bodies; has no name.
typedef struct tni_pair_list {
    void* items;
    int   count, capacity;
} tni_pair_list;

/// Whether the force of a motor or spring has bounds.
static inline bool tni_has_force_range(const tn_joint_def* def)
{
    return def->force_low > -HUGE_VAL || def->force_high < HUGE_VAL;
}

struct tn_scene {
    tn_host       host;
    tni_arena     arena; ///< names and arrays that the defs point to
    char          name[TNI_NAME_MAX + 1];
    tn_vec3       gravity;
    tn_settings   settings;
    bool          has_ground; ///< a floor
    double        ground_friction, ground_restitution;
    double        ground_rolling, ground_spinning; ///< [m]
    tn_why        problem;                         ///< the first refusal; result TN_OK: none
    tni_part_list parts[TNI_PART_COUNT];

    tni_pair_list excludes, includes; ///< of tn_contact_pair
    tni_pair_list pairs;              ///< of tn_pair_def
};

/// Proof that a def started from its defaults.
enum {
    TNI_COOKIE_BODY     = 0x7e4b0d1e,
    TNI_COOKIE_JOINT    = 0x7e4a017e,
    TNI_COOKIE_COUPLING = 0x7e4c0be1,
    TNI_COOKIE_SPRING   = 0x7e459819,
    TNI_COOKIE_TARGET   = 0x7e47a69e,
    TNI_COOKIE_LOAD     = 0x7e410ad1,
    TNI_COOKIE_DRAG     = 0x7e4d6a97,
    TNI_COOKIE_PAIR     = 0x7e49a128,
    TNI_COOKIE_SHAPE    = 0x7e45a9e1,
    TNI_COOKIE_USER     = 0x7e405e41 ///< a user-defined constraint
};

/// A part on its way into the scene.
typedef struct tni_adding {
    tn_scene* scene;
    tni_part  part;                   ///< TNI_PART_COUNT: the scene itself
    char      name[TNI_NAME_MAX + 1]; ///< empty: unnamed. Of the scene itself: what of it
    int       number;                 ///< the part's number when it came without a name
    uint32_t  place; ///< bits of the part that gets another def; 0: a new one, behind the others
    tn_why    why;
} tni_adding;

/// Fills a->why with "joint 'pin': what is wrong" and returns false, so that `return
/// tni_refuse(...)` says it all.
bool tni_refuse(tni_adding* a, const char* format, ...) TNI_PRINTF(2, 3);

/// NULL: it has none.
const char* tni_part_name(const tn_scene* scene, tni_part part, int index);

/// Whether a tn_<what>_def was made by its tn_default_<what>_def(): asserts, and refuses where there
/// are no asserts. number: of the shape; 0: the part itself.
bool tni_check_made(tni_adding* a, bool made, const char* what, int number);

// validate.c: is the def possible? False after tni_refuse().
bool tni_check_name(tni_adding* a, const char* name);
bool tni_check_body(tni_adding* a, const tn_body_def* def);
bool tni_check_joint(tni_adding* a, const tn_joint_def* def);
bool tni_check_constraint(tni_adding* a, const tn_constraint_def* def);
bool tni_check_coupling(tni_adding* a, const tn_coupling_def* def);
bool tni_check_spring(tni_adding* a, const tn_spring_def* def);
bool tni_check_target(tni_adding* a, const tn_target_def* def);
bool tni_check_load(tni_adding* a, const tn_load_def* def);
bool tni_check_drag(tni_adding* a, const tn_drag_def* def);
bool tni_check_bodies(tni_adding* a, tn_body_id body1, tn_body_id body2); ///< there, and two
bool tni_check_pair(tni_adding* a, const tn_pair_def* def);

#endif
