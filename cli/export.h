// export.h: motions for other programs.
#ifndef TNC_EXPORT_H
#define TNC_EXPORT_H

#include "simulate.h"

// ---- A motion in memory --------------------------------------------------------------------------

/// Frame after frame: the time, poses of all bodies (7 numbers each), then, if wanted, their velocities
/// (6 each) and the joints' free coordinates.
typedef struct tnc_film {
    int     body_count, joint_numbers;
    bool    velocities; ///< and joint coordinates
    size_t  numbers;    ///< of a frame
    size_t  frame_count, room;
    double* values;
} tnc_film;

tnc_film tnc_film_begin(const tn_model* model, bool velocities);
bool     tnc_film_add(tnc_film* film, const tn_model* model,
                      const tn_state* state); ///< false: no memory
void     tnc_film_free(tnc_film* film);

double        tnc_film_time(const tnc_film* film, size_t frame);
tn_frame      tnc_film_pose(const tnc_film* film, size_t frame, int body);
const double* tnc_film_velocity(const tnc_film* film, size_t frame, int body); ///< 6 numbers
const double* tnc_film_joints(const tnc_film* film, size_t frame);

// ---- Formats: each writes a film into a file that is open. What it has to tell goes to motion->note ------

/// False: already complained, or the stream remembers.
typedef bool tnc_write_film(tnc_out* out, const tnc_job* job, tnc_motion* motion,
                            const tnc_film* film);

tnc_write_film tnc_write_glb, tnc_write_gltf, tnc_write_bvh, tnc_write_npy, tnc_write_npz;

// ---- Small mechanics -----------------------------------------------------------------------------

tn_vec3 tnc_add(tn_vec3 a, tn_vec3 b);
tn_vec3 tnc_sub(tn_vec3 a, tn_vec3 b);
tn_vec3 tnc_scale(tn_vec3 a, double factor);
double  tnc_dot(tn_vec3 a, tn_vec3 b);
tn_vec3 tnc_cross(tn_vec3 a, tn_vec3 b);
double  tnc_length(tn_vec3 a);
tn_vec3 tnc_turn(tn_quat q, tn_vec3 v);
tn_quat tnc_turned(tn_quat a, tn_quat b); ///< the product: first b, then a
tn_quat tnc_back(tn_quat q);              ///< the inverse
tn_vec3 tnc_place(tn_frame pose, tn_vec3 point);
tn_vec3 tnc_unplace(tn_frame pose, tn_vec3 point); ///< into the frame

// ---- Surfaces ------------------------------------------------------------------------------------

/// Triangles that grow. Zero it to begin. When memory runs out, `failed` is set.
typedef struct tnc_surface {
    tn_vec3* points;
    tn_vec3* normals; ///< used when smooth
    int*     corners; ///< three a triangle, counter-clockwise from outside
    int      point_count, point_room;
    int      corner_count, corner_room;
    bool     smooth; ///< points have normals; else triangles are flat
    bool     open;   ///< it has no inside: seen from both sides
    bool     failed;
} tnc_surface;

void tnc_surface_clear(tnc_surface* surface); ///< keeps the room
void tnc_surface_free(tnc_surface* surface);
void tnc_surface_triangle(tnc_surface* surface, int a, int b, int c);
/// A shape of a body, in the body's frame. plane_size: half the edge of the square that stands for a plane.
void tnc_surface_shape(tnc_surface* surface, const tn_shape_def* shape, double plane_size);
/// A round rod with round ends; a ball, where both ends are one point.
void tnc_surface_rod(tnc_surface* surface, tn_vec3 from, tn_vec3 to, double radius);
/// The convex hull of the surface's points becomes its triangles. Flat ones have none.
void tnc_surface_hull(tnc_surface* surface);

// ---- How bodies look: as in the viewer -------------------------------------------------------------

typedef struct tnc_look {
    const tnc_job* job;
    int            body_count;
    tn_vec3        centre;  ///< of all that moves, all the time
    double         reach;   ///< from there
    tn_vec3*       anchors; ///< of joints, in body frames, body after body
    int*           starts;  ///< body_count + 1: where those of a body begin
    tn_vec3*       colors;  ///< of each body
} tnc_look;

/// False: no memory. Free it all the same.
bool tnc_look_begin(tnc_look* look, const tnc_job* job, const tnc_film* film);
void tnc_look_free(tnc_look* look);
/// Parts of a body, body_count being the floor of the world: surfaces in its frame, each with a colour (sRGB).
int  tnc_look_part_count(const tnc_look* look, int body);
void tnc_look_part(const tnc_look* look, int body, int part, tnc_surface* surface, tn_vec3* color);

#endif
