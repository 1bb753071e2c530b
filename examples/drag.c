// drag: takes a body of a scene by the hand, leads it about, and prints what the hand feels.
//
//     tenon scene @robot > robot.json
//     drag robot.json right_hand
//
// Each step: move the handle, step, read the force back. A haptic device does the same with its own
// position and clock, and shows the opposite of the force to the finger. Exits with 0 when all went well.
#include <tenon/tenon.h>

#include <math.h>
#include <stdio.h>

enum { HAND = 0 };                                // the handle that is used, of TN_HANDLES_MAX
static const double  stiffness = 2000;            // of the handle [N/m]
static const double  damping   = 40;              // [N s/m]
static const double  duration  = 4;               // [s]
static const tn_vec3 reach     = {0.3, 0.3, 0.1}; // how far it is led, and back [m]

typedef struct demo {
    tn_scene*   scene;
    tn_model*   model;
    tn_state*   state;
    tn_stepper* stepper;
    tn_body_id  body;
    double      work; // done by the hand so far [J]
} demo;

static tn_result open_demo(demo* d, const char* file, const char* body, tn_why* why)
{
    tn_result result = tn_scene_read_file(NULL, file, &d->scene, why);
    if (result == TN_OK) result = tn_scene_compile(d->scene, &d->model, why);
    if (result == TN_OK) result = tn_state_create(d->model, &d->state);
    if (result == TN_OK) result = tn_stepper_create(d->model, NULL, &d->stepper, why);
    if (result != TN_OK) return result;
    d->body = tn_model_find_body(d->model, body);
    result  = tn_state_grab(d->state, HAND, d->body, (tn_vec3){0, 0, 0}, stiffness, damping);
    if (result != TN_OK) snprintf(why->text, sizeof why->text, "'%s' cannot be held", body);
    return result;
}

static void close_demo(demo* d)
{
    tn_stepper_free(d->stepper);
    tn_state_free(d->state);
    tn_model_free(d->model);
    tn_scene_free(d->scene);
}

// Out and back, at rest at both ends: start + reach sin^2(pi t/T).
static void lead(double time, tn_vec3 start, tn_vec3* position, tn_vec3* velocity)
{
    const double pi = 3.14159265358979, a = pi * time / duration;
    const double way = sin(a) * sin(a), rate = pi / duration * sin(2 * a);
    *position =
        (tn_vec3){start.x + way * reach.x, start.y + way * reach.y, start.z + way * reach.z};
    *velocity = (tn_vec3){rate * reach.x, rate * reach.y, rate * reach.z};
}

static tn_result step(demo* d, tn_vec3 start, double h, tn_why* why)
{
    tn_vec3 position, velocity;
    lead(tn_state_time(d->state), start, &position, &velocity);
    tn_result result = tn_state_move(d->state, HAND, position, velocity);
    if (result == TN_OK) result = tn_stepper_step(d->stepper, d->state, h, NULL, why);
    const tn_vec3 force = tn_state_handle_force(d->state, HAND);
    d->work += h * (force.x * velocity.x + force.y * velocity.y + force.z * velocity.z);
    return result;
}

static void print(const demo* d)
{
    const tn_vec3 at = tn_state_pose(d->state, d->body).position,
                  f  = tn_state_handle_force(d->state, HAND);
    printf("%6.3f  %8.4f %8.4f %8.4f  %8.3f %8.3f %8.3f\n", tn_state_time(d->state), at.x, at.y,
           at.z, f.x, f.y, f.z);
}

int main(int count, char** words)
{
    demo      d      = {0};
    tn_why    why    = {0};
    tn_result result = TN_ERR_FILE;
    if (count < 2) {
        fprintf(stderr, "usage: drag SCENE.json [BODY]\n");
        return 2;
    }
    result = open_demo(&d, words[1], count > 2 ? words[2] : "right_hand", &why);
    if (result == TN_OK) {
        const tn_vec3 start = tn_state_pose(d.state, d.body).position;
        const double  h     = tn_scene_settings(d.scene).h;
        const int     steps = (int)(duration / h + 0.5), every = steps / 20 > 0 ? steps / 20 : 1;
        printf("  time  hand [m]                    force on it [N]\n");
        for (int i = 0; i < steps && result == TN_OK; ++i) {
            if (i % every == 0) print(&d);
            result = step(&d, start, h, &why);
        }
        print(&d);
        printf("work done by the hand: %.3f J\n", d.work);
        tn_state_release(d.state, HAND);
    }
    if (result != TN_OK) fprintf(stderr, "drag: %s: %s\n", tn_result_text(result), why.text);
    close_demo(&d);
    return result == TN_OK ? 0 : 1;
}
