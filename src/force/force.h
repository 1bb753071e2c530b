// force: everything that pushes bodies but the constraints. Each force adds to f (laid out as u)
// and knows its energy. A new force is a file here and a line in forces.c.
#ifndef TNI_FORCE_H
#define TNI_FORCE_H

#include "joint/joint.h"

/// Where everything is when forces are asked for. Without views, bodies are seen in the state one
/// by one.
typedef struct tni_scene_view {
    const tn_model* model;
    double          time;
    const double*   z; ///< joint coordinates a moment ago
    const tni_view* views;
    const tn_state* state;
    bool            flying; ///< turning bodies carry on by themselves: no inertial forces
} tni_scene_view;

/// A body as it stands; scratch is used when no view is at hand.
TNI_INLINE const tni_view* tni_look(const tni_scene_view* at, int body, tni_view* scratch)
{
    if (at->views != NULL) return &at->views[body];
    *scratch = tni_state_view(at->state, body);
    return scratch;
}

/// A force either looks at one body at a time, so that all such forces can be asked while the body
/// is at hand, or at whatever it is between.
typedef struct tni_force {
    void (*add_body)(const tni_scene_view* at, int body, double* f);
    void (*add)(const tni_scene_view* at, double* f);
    double (*energy)(const tni_scene_view* at); ///< NULL: none is stored
} tni_force;

extern const tni_force tni_force_gravity;  ///< m g
extern const tni_force tni_force_inertial; ///< what moves on by itself: -w x I w
extern const tni_force
    tni_force_actuation;                 ///< springs, dampers, limits and constant forces of joints
extern const tni_force tni_force_spring; ///< between points of bodies
extern const tni_force tni_force_target; ///< towards keyed poses
extern const tni_force tni_force_load;   ///< constant, for a time
extern const tni_force tni_force_drag;   ///< against motion
extern const tni_force tni_force_elastic; ///< inside affine and user-defined bodies

/// f += one force, on everything.
void tni_force_add(const tni_force* force, const tni_scene_view* at, double* f);
/// f[of the body] = the forces that look at one body at a time.
void tni_body_forces(const tni_scene_view* at, int body, double* f);
/// f += all other forces.
void tni_other_forces(const tni_scene_view* at, double* f);
/// Whether any force may depend on velocities, inertial ones aside.
bool tni_forces_damp(const tn_model* model);
/// f = sum of all forces.
void tni_forces(const tni_scene_view* at, double* f);

#endif
