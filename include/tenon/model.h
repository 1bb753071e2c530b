// tenon/model.h: a scene, checked and compiled. Never changes; may be shared by threads.
#ifndef TENON_MODEL_H
#define TENON_MODEL_H

#include "tenon/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_model tn_model; ///< compiled from a scene; never changes; shared by threads

/// Checks the whole scene and sizes every array. On failure *model is NULL and *why names the
/// body or joint at fault. The scene may be freed afterwards.
TN_NODISCARD TN_API tn_result tn_scene_compile(const tn_scene* scene, tn_model** model,
                                               tn_why* why);
TN_API void                   tn_model_free(tn_model* model); ///< NULL is allowed

typedef struct tn_counts {
    int    bodies; ///< all of the scene's, static and kinematic ones included
    int    joints; ///< user-defined constraints included
    int    couplings;
    int    springs, targets, loads, drags;
    int    rows;     ///< constraint rows, those of couplings included
    int    freedoms; ///< degrees of freedom of all bodies, before constraints
    int    loops;    ///< independent closed loops of joints, those through the ground included
    int    parts;    ///< groups of bodies that no joint ties together
    size_t bytes;    ///< memory held by the model
} tn_counts;
TN_API tn_counts tn_model_counts(const tn_model* model);

// Ids are those of the scene. Names are valid as long as the model.

TN_API const char*  tn_model_name(const tn_model* model);
TN_API const char*  tn_model_body_name(const tn_model* model, tn_body_id body); ///< null: "ground"
TN_API const char*  tn_model_joint_name(const tn_model* model, tn_joint_id joint);
TN_API tn_body_kind tn_model_body_kind(const tn_model* model, tn_body_id body);
TN_API tn_body_id   tn_model_find_body(const tn_model* model,
                                       const char*     name); ///< null: none, or ground
TN_API tn_joint_id  tn_model_find_joint(const tn_model* model, const char* name);
/// The user_data of their defs when the model was compiled. Body null: NULL.
TN_API void* tn_model_body_user_data(const tn_model* model, tn_body_id body);
TN_API void* tn_model_joint_user_data(const tn_model* model, tn_joint_id joint);
/// Names of the other parts: NULL where they were added without one. find: the null id where there
/// is none of that name.
TN_API const char*    tn_model_coupling_name(const tn_model* model, tn_coupling_id coupling);
TN_API const char*    tn_model_spring_name(const tn_model* model, tn_spring_id spring);
TN_API const char*    tn_model_target_name(const tn_model* model, tn_target_id target);
TN_API const char*    tn_model_load_name(const tn_model* model, tn_load_id load);
TN_API const char*    tn_model_drag_name(const tn_model* model, tn_drag_id drag);
TN_API tn_coupling_id tn_model_find_coupling(const tn_model* model, const char* name);
TN_API tn_spring_id   tn_model_find_spring(const tn_model* model, const char* name);
TN_API tn_target_id   tn_model_find_target(const tn_model* model, const char* name);
TN_API tn_load_id     tn_model_find_load(const tn_model* model, const char* name);
TN_API tn_drag_id     tn_model_find_drag(const tn_model* model, const char* name);
TN_API double         tn_model_body_mass(const tn_model* model,
                                         tn_body_id      body); ///< [kg]; 0: no mass of its own
/// Centre of mass in the body frame, and inertia about it in body axes: xx yy zz xy xz yz.
TN_API tn_vec3 tn_model_body_com(const tn_model* model, tn_body_id body);
TN_API void    tn_model_body_inertia(const tn_model* model, tn_body_id body, double inertia[6]);
TN_API int     tn_model_joint_rows(const tn_model* model, tn_joint_id joint); ///< constraint rows
TN_API int     tn_model_joint_coordinates(const tn_model* model,
                                          tn_joint_id     joint);    ///< free coordinates
TN_API int     tn_model_coordinate_count(const tn_model* model); ///< free coordinates of all joints
/// Where a joint's coordinates begin among those of all joints.
TN_API int tn_model_joint_coordinate_start(const tn_model* model, tn_joint_id joint);
/// Whether the joint is solved for beside the tree (by a Schur complement) with this setting of
/// `loops`: a closed loop, a role or a kind of joint may make it so.
TN_API bool tn_model_joint_auxiliary(const tn_model* model, tn_joint_id joint, tn_loops loops);
/// What a row of a joint constrains, in words: "x of anchor", "first tilt of axis"; static.
TN_API const char* tn_model_row_text(const tn_model* model, tn_joint_id joint, int row);

#ifdef __cplusplus
}
#endif
#endif
