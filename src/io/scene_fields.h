// scene_fields: the keys of the parts of a scene file and where their values are in the defs. One
// table for both the reader and the writer.
#ifndef TNI_SCENE_FIELDS_H
#define TNI_SCENE_FIELDS_H

#include "tenon/scene.h"

typedef enum tni_field_kind {
    TNI_FIELD_NUMBER,
    TNI_FIELD_VECTOR,     ///< tn_vec3, three numbers
    TNI_FIELD_QUATERNION, ///< tn_quat, four numbers
    TNI_FIELD_FLAG,
    TNI_FIELD_TEXT,
    TNI_FIELD_NAME,   ///< a text; written first, by its own code
    TNI_FIELD_BODY,   ///< tn_body_id, by the body's name
    TNI_FIELD_ROLE,   ///< tn_role, by its word
    TNI_FIELD_GROUP,  ///< int, 0..31
    TNI_FIELD_GROUPS, ///< uint32_t bit mask; written as a list of group numbers
    TNI_FIELD_CUSTOM  ///< read and written by its own code
} tni_field_kind;

typedef struct tni_field {
    const char*    key;
    tni_field_kind kind;
    size_t         offset;   ///< in the def
    uint32_t       types;    ///< TNI_TYPE bits of the types that have the key; 0: all
    bool           required; ///< must be given; always written
} tni_field;

typedef struct tni_fields {
    const tni_field* list;
    int              count;
} tni_fields;

#define TNI_TYPE(type) ((uint32_t)1 << (type))
static inline bool tni_field_applies(const tni_field* field, int type)
{
    return field->types == 0 || (field->types & TNI_TYPE(type)) != 0;
}

extern const tni_fields tni_scene_fields, tni_contact_fields, tni_ground_fields, tni_pair_fields;
extern const tni_fields tni_body_fields, tni_shape_fields, tni_key_fields, tni_elasticity_fields;
extern const tni_fields tni_joint_fields, tni_limit_fields, tni_frame_fields;
extern const tni_fields tni_velocity_fields, tni_value_key_fields;
extern const tni_fields tni_coupling_fields, tni_spring_fields, tni_target_fields, tni_load_fields,
    tni_drag_fields, tni_wind_fields, tni_wind_key_fields;

/// Friction and restitution of the ground, as grouped in the file.
typedef struct tni_ground {
    double friction, restitution, rolling_friction, spinning_friction;
} tni_ground;

enum { TNI_GROUP_COUNT = 32 }; ///< groups of shapes: bits of tn_shape_def.collides_with

/// Values of a new scene.
extern const tn_vec3    tni_usual_gravity;
extern const tni_ground tni_usual_ground;

/// Words in files, in the order of the enums; none for user-defined bodies and joints.
typedef struct tni_words {
    const char*        what; ///< "joint type"
    const char* const* list;
    int                count;
} tni_words;
extern const tni_words tni_body_kinds, tni_shape_types, tni_joint_types, tni_coupling_types;
extern const tni_words tni_roles;

/// Properties of a joint type for the reader.
typedef struct tni_joint_shape {
    int  coordinates; ///< number of free coordinates
    bool needs_axis;  ///< if placed by an anchor
} tni_joint_shape;
extern const tni_joint_shape tni_joint_shapes[TN_JOINT_TYPE_COUNT];

/// Value of the missing end of a limit if the file gives only one.
#define TNI_LIMIT_FREE 1e30

#endif
