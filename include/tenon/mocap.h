// tenon/mocap.h: recorded motions of people and animals (BVH files), and characters that follow
// them.
//
//     tn_mocap* motion;
//     if (tn_mocap_read_file(NULL, "walk.bvh", &motion, &why) == TN_OK) {
//         const tn_mocap_options options = tn_default_mocap_options();
//         result = tn_mocap_drive(scene, motion, &options, NULL, &why);
//         tn_mocap_free(motion); // the scene keeps what it needs
//     }
//
// docs/mocap.md tells how joints find their bodies, and what happens when the two do not fit.
#ifndef TENON_MOCAP_H
#define TENON_MOCAP_H

#include "tenon/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A skeleton and its recorded motion, in the units and axes of the file; never changes.
typedef struct tn_mocap tn_mocap;

typedef enum tn_mocap_channel {
    TN_MOCAP_X_POSITION, ///< in units of the file
    TN_MOCAP_Y_POSITION,
    TN_MOCAP_Z_POSITION,
    TN_MOCAP_X_ROTATION, ///< [degrees]
    TN_MOCAP_Y_ROTATION,
    TN_MOCAP_Z_ROTATION
} tn_mocap_channel;

enum { TN_MOCAP_CHANNELS_MAX = 6 }; ///< of one joint

/// Reads BVH text. On failure *mocap is NULL and *why has line, column and the culprit.
TN_NODISCARD TN_API tn_result tn_mocap_read(const tn_host* host, const char* text, size_t length,
                                            tn_mocap** mocap, tn_why* why);
TN_NODISCARD TN_API tn_result tn_mocap_read_file(const tn_host* host, const char* path,
                                                 tn_mocap** mocap, tn_why* why);
TN_API void                   tn_mocap_free(tn_mocap* mocap); ///< NULL is allowed

TN_API int    tn_mocap_joint_count(const tn_mocap* mocap); ///< roots included
TN_API int    tn_mocap_frame_count(const tn_mocap* mocap); ///< at least 1
TN_API double tn_mocap_frame_time(const tn_mocap* mocap);  ///< from frame to frame [s]
TN_API double tn_mocap_duration(const tn_mocap* mocap);    ///< from the first to the last frame [s]

/// Joints come after their parents, in the order of the file. The name is valid as long as the
/// motion.
TN_API const char* tn_mocap_joint_name(const tn_mocap* mocap, int joint);
TN_API int         tn_mocap_joint_parent(const tn_mocap* mocap, int joint); ///< -1: a root
TN_API tn_vec3     tn_mocap_joint_offset(const tn_mocap* mocap,
                                         int             joint); ///< from its parent
/// Which numbers a frame has for the joint, in their order; returns how many.
TN_API int tn_mocap_joint_channels(const tn_mocap* mocap, int joint,
                                   tn_mocap_channel channels[TN_MOCAP_CHANNELS_MAX]);
/// Those numbers; valid as long as the motion.
TN_API const double* tn_mocap_values(const tn_mocap* mocap, int frame, int joint);
/// Ends of the last bones ("End Site"): the joint each belongs to, and where it is from there.
TN_API int     tn_mocap_end_count(const tn_mocap* mocap);
TN_API int     tn_mocap_end_joint(const tn_mocap* mocap, int end);
TN_API tn_vec3 tn_mocap_end_offset(const tn_mocap* mocap, int end);

/// Where a joint is, in the file's world. Rotations multiply from left to right as they stand in
/// CHANNELS; a position channel takes the place of that part of OFFSET.
TN_API tn_frame tn_mocap_pose(const tn_mocap* mocap, int frame, int joint);
/// The same when all rotations are zero and every joint is at its OFFSET.
TN_API tn_frame tn_mocap_rest_pose(const tn_mocap* mocap, int joint);

// ---- Driving a character -------------------------------------------------------------------------

typedef enum tn_mocap_up {
    TN_MOCAP_UP_Y, ///< the usual one: y up, z forward, x to the left
    TN_MOCAP_UP_Z  ///< as scenes are
} tn_mocap_up;

typedef enum tn_mocap_places {
    TN_MOCAP_PLACE_ROOT, ///< positions for the topmost driven body, orientations for all
    TN_MOCAP_PLACE_NONE, ///< orientations only
    TN_MOCAP_PLACE_ALL ///< positions for every body: pulls limbs apart where the proportions differ
} tn_mocap_places;

/// A joint of the file and the body that it drives, whatever their names.
typedef struct tn_mocap_pair {
    const char* joint;
    const char* body;
} tn_mocap_pair;

typedef struct tn_mocap_options {
    tn_mocap_up     up;
    double          scale; ///< [m per unit of the file]; TN_UNSET: so that the bones fit
    tn_mocap_places places;
    const char*
        prefix; ///< only bodies whose names begin with it; names match without it. NULL: all
    const tn_mocap_pair* pairs; ///< take precedence over matching names
    int                  pair_count;
    double               start; ///< time of the first frame [s]
    double   blend;     ///< time in which targets go from the scene's pose to the motion [s]
    double   frequency; ///< of the springs, critically damped [Hz]; where the four below are unset
    double   stiffness, damping; ///< [N/m], [N s/m]; TN_UNSET: by mass and frequency
    double   angular_stiffness, angular_damping; ///< [N m/rad], [N m s/rad]; unset: by inertia
    uint32_t cookie;                             ///< proof that the defaults were taken; do not set
} tn_mocap_options;

/// y up, scale unset, PLACE_ROOT, any body, blend 0.5 s, 10 Hz.
TN_API tn_mocap_options tn_default_mocap_options(void);

typedef struct tn_mocap_report {
    double scale;        ///< [m per unit of the file]
    int    driven_count; ///< bodies that follow a joint
    int    still_count;  ///< bodies with that prefix that could follow one, and do not
    /// Filled in when the caller gives room for one id a joint: the body that follows it, or null.
    tn_body_id* bodies;
} tn_mocap_report;

/// Gives every body that a joint of the motion can drive a target along that joint's motion. A
/// target that the body had is replaced. Call it once the scene has its bodies and joints. Fails,
/// and leaves the scene as it was, when no joint drives a body, or an option is impossible.
TN_NODISCARD TN_API tn_result tn_mocap_drive(tn_scene* scene, const tn_mocap* mocap,
                                             const tn_mocap_options* options,
                                             tn_mocap_report* report, tn_why* why);

#ifdef __cplusplus
}
#endif
#endif
