// A rig: a scene that a test builds, then runs.
//
//     rig r = rig_make((tn_vec3){0, 0, -9.81});
//     const tn_body_id rod = tn_scene_add_body(r.scene, &def);
//     rig_ready(&r);           // compiles; the state is at the start
//     rig_run(&r, 1e-3, 500);  // any failure is a failed check that says why
//     rig_free(&r);
//
// What cannot be built at all ends the program: the rest of the test would mean nothing.
#ifndef RIG_H
#define RIG_H

#include "scenes/parts.h"
#include "scenes/scenes.h"
#include "test.h"

#include <stdlib.h>

typedef struct rig {
    tn_scene*      scene;
    tn_model*      model;
    tn_state*      state;
    tn_stepper*    stepper;
    tn_settings    settings; ///< may be changed before rig_ready, or with rig_restart
    tn_step_report report;   ///< of the last step
    double         joint_error, velocity_error; ///< largest over all steps so far
} rig;

static inline void rig_must(tn_result result, const char* what, const tn_why* why)
{
    if (result == TN_OK) return;
    fprintf(stderr, "  %s: %s: %s\n", what, tn_result_text(result), why->text);
    abort();
}

/// The multiplier method by milliseconds: what tests ask about laws was written for it.
static inline tn_settings rig_settings(void)
{
    tn_settings settings = tn_default_settings();
    settings.method      = TN_METHOD_MULTIPLIER;
    settings.h           = 1e-3;
    return settings;
}

static inline rig rig_make(tn_vec3 gravity)
{
    rig    r   = {.settings = rig_settings()};
    tn_why why = {.text = ""};
    rig_must(tn_scene_create(NULL, &r.scene), "scene", &why);
    tn_scene_set_gravity(r.scene, gravity);
    return r;
}

static inline void rig_ready(rig* r)
{
    tn_why why = {.text = ""};
    rig_must(tn_scene_compile(r->scene, &r->model, &why), "compile", &why);
    rig_must(tn_state_create(r->model, &r->state), "state", &why);
    rig_must(tn_stepper_create(r->model, &r->settings, &r->stepper, &why), "stepper", &why);
}

/// A built-in scene, ready: by the multiplier method, unless the scene names the impulse or the adaptive one.
static inline rig rig_builtin(const char* spec)
{
    rig    r   = {.settings = tn_default_settings()};
    tn_why why = {.text = ""};
    rig_must(tns_build(NULL, spec, &r.scene, &why), spec, &why);
    r.settings = tn_scene_settings(r.scene);
    if (r.settings.method == TN_METHOD_AUTO || r.settings.method == TN_METHOD_IMPLICIT) {
        r.settings.method = TN_METHOD_MULTIPLIER;
        r.settings.h      = 1e-3;
    }
    rig_ready(&r);
    return r;
}

/// Back to the start, with a stepper of r->settings.
static inline void rig_restart(rig* r)
{
    tn_why why = {.text = ""};
    tn_stepper_free(r->stepper);
    rig_must(tn_stepper_create(r->model, &r->settings, &r->stepper, &why), "stepper", &why);
    tn_state_reset(r->state);
    r->joint_error = r->velocity_error = 0;
}

/// The same as rig_builtin, by the multiplier method, whatever the scene's own is.
static inline rig rig_multiplier(const char* spec)
{
    rig r = rig_builtin(spec);
    if (r.settings.method == TN_METHOD_MULTIPLIER) return r;
    r.settings = rig_settings();
    rig_restart(&r);
    return r;
}

static inline void rig_free(rig* r)
{
    tn_stepper_free(r->stepper);
    tn_state_free(r->state);
    tn_model_free(r->model);
    tn_scene_free(r->scene);
}

/// False when the step failed.
static inline bool rig_step(rig* r, double h)
{
    tn_why          why    = {.text = ""};
    const tn_result result = tn_stepper_step(r->stepper, r->state, h, &r->report, &why);
    test_check(result == TN_OK, __FILE__, __LINE__, "step at t = %g: %s: %s",
               tn_state_time(r->state), tn_result_text(result), why.text);
    r->joint_error    = fmax(r->joint_error, r->report.joint_error);
    r->velocity_error = fmax(r->velocity_error, r->report.velocity_error);
    return result == TN_OK;
}

static inline void rig_run(rig* r, double h, int steps)
{
    for (int i = 0; i < steps; ++i) {
        if (!rig_step(r, h)) return;
    }
}

static inline void rig_evaluate(rig* r)
{
    tn_why why = {.text = ""};
    CHECK_OK(tn_stepper_evaluate(r->stepper, r->state, &r->report, &why));
}

// ---- Parts --------------------------------------------------------------------------------------

/// A rigid body along the world's axes, its frame at its centre of mass.
static inline tn_body_def rig_body(double mass, tn_vec3 inertia, tn_vec3 position)
{
    tn_body_def def   = tn_default_body_def();
    def.mass          = mass;
    def.com           = (tn_vec3){0, 0, 0};
    def.pose.position = position;
    def.inertia[0] = inertia.x, def.inertia[1] = inertia.y, def.inertia[2] = inertia.z;
    for (int i = 3; i < 6; ++i) def.inertia[i] = 0;
    return def;
}

static inline tn_body_id rig_add_body(rig* r, double mass, tn_vec3 inertia, tn_vec3 position)
{
    const tn_body_def def = rig_body(mass, inertia, position);
    return tn_scene_add_body(r->scene, &def);
}

static inline tn_joint_id rig_add_joint(rig* r, tn_joint_type type, tn_body_id body1,
                                        tn_body_id body2, tn_vec3 anchor, tn_vec3 axis)
{
    const tn_joint_def def = tns_joint(type, body1, body2, anchor, axis);
    return tn_scene_add_joint(r->scene, &def);
}

static inline tn_joint_def rig_motor(tn_joint_type of, tn_body_id body1, tn_body_id body2,
                                     tn_vec3 anchor, tn_vec3 axis, double velocity)
{
    tn_joint_def def = tns_joint(TN_JOINT_MOTOR, body1, body2, anchor, axis);
    def.of           = of;
    def.velocity     = velocity;
    return def;
}

// ---- Measures -----------------------------------------------------------------------------------

/// The first free coordinate of a joint, and its rate.
static inline double rig_angle(const rig* r, tn_joint_id joint)
{
    double z[6] = {0};
    tn_state_joint_position(r->state, joint, z);
    return z[0];
}

static inline double rig_rate(const rig* r, tn_joint_id joint)
{
    double z[6] = {0};
    tn_state_joint_velocity(r->state, joint, z);
    return z[0];
}

static inline double rig_energy(const rig* r)
{
    const tn_energy e = tn_state_energy(r->state);
    return e.kinetic + e.gravity + e.elastic;
}

static inline tn_vec3 rig_axis(const rig* r, tn_body_id body, tn_vec3 axis)
{
    return tns_rotate(tn_state_pose(r->state, body).orientation, axis);
}

static inline double rig_distance(tn_vec3 a, tn_vec3 b)
{
    return tns_length(tns_sub(a, b));
}

/// log2 of an error over the error at half the step.
static inline double rig_order(double coarse, double fine)
{
    return log2(coarse / fine);
}

#endif
