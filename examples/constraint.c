// constraint: a constraint of one's own: a bead on a wire bent to the parabola z = x^2.
//
// A constraint is a function that gives C, its rate, J and gamma = Jdot u (docs/theory/joints.md).
// Here two rows on a particle, whose velocity is its u:
//
//     C = y              rate = vy              J = (0, 1, 0)        gamma = 0
//     C = z - x^2        rate = vz - 2 x vx     J = (-2 x, 0, 1)     gamma = -2 vx^2
#include <tenon/tenon.h>

#include <math.h>
#include <stdio.h>

static void wire_rows(const void* data, double time, const tn_body_view* bodies, double* C,
                      double* rate, double* const* J, double* gamma)
{
    const tn_vec3 p = bodies[0].pose.position, v = bodies[0].velocity.linear;
    (void)data, (void)time;
    if (C) C[0] = p.y, C[1] = p.z - p.x * p.x;
    if (rate) rate[0] = v.y, rate[1] = v.z - 2 * p.x * v.x;
    if (gamma) gamma[0] = 0, gamma[1] = -2 * v.x * v.x;
    if (J && J[0]) {
        const double rows[6] = {0, 1, 0, -2 * p.x, 0, 1};
        for (int k = 0; k < 6; ++k) J[0][k] = rows[k];
    }
}

int main(void)
{
    static const tn_constraint_table wire = {.rows = 2, .holonomic = 2, .rows_at = wire_rows};

    tn_scene*   scene   = NULL;
    tn_model*   model   = NULL;
    tn_state*   state   = NULL;
    tn_stepper* stepper = NULL;
    tn_why      why     = {0};
    if (tn_scene_create(NULL, &scene) != TN_OK) return 1;

    tn_body_def def       = tn_default_body_def();
    def.name              = "bead";
    def.kind              = TN_BODY_PARTICLE;
    def.mass              = 0.1;
    def.pose.position     = (tn_vec3){1, 0, 1}; // on the wire
    const tn_body_id bead = tn_scene_add_body(scene, &def);

    tn_constraint_def on = tn_default_constraint_def();
    on.name              = "wire";
    on.bodies            = &bead;
    on.body_count        = 1;
    on.table             = &wire;
    const tn_joint_id id = tn_scene_add_constraint(scene, &on);

    tn_settings settings = tn_default_settings();
    settings.method      = TN_METHOD_MULTIPLIER; // exact to many digits by milliseconds

    tn_result result = tn_scene_compile(scene, &model, &why);
    if (result == TN_OK) result = tn_state_create(model, &state);
    if (result == TN_OK) result = tn_stepper_create(model, &settings, &stepper, &why);
    for (int i = 0; i <= 2000 && result == TN_OK; ++i) {
        const tn_vec3   p = tn_state_pose(state, bead).position;
        const tn_energy E = tn_state_energy(state);
        if (i % 200 == 0)
            printf("t = %.1f s: x = %8.5f m, z = %.5f m, off the wire by %.0e m, energy %.9f J\n",
                   tn_state_time(state), p.x, p.z, tn_state_joint_error(state, id),
                   E.kinetic + E.gravity);
        result = tn_stepper_step(stepper, state, 0.001, NULL, &why);
    }
    if (result != TN_OK) fprintf(stderr, "constraint: %s: %s\n", tn_result_text(result), why.text);

    tn_stepper_free(stepper);
    tn_state_free(state);
    tn_model_free(model);
    tn_scene_free(scene);
    return result == TN_OK ? 0 : 1;
}
