// libFuzzer target: any bytes as a mesh. Whatever they are, reading them ends in a mesh or in a reason.
// A mesh that was read has finite vertices and triangles between them. When it is small, it becomes the
// shape of a floor and of a body that falls on it: compiling them may refuse it with a reason; what was
// compiled takes two steps, or refuses them, and leaves nothing but finite numbers.
#include "tenon/tenon.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

#define REQUIRE(condition, text) ((condition) ? (void)0 : broken(#condition, text))

static _Noreturn void broken(const char* condition, const char* text)
{
    fprintf(stderr, "not so: %s: %s\n", condition, text);
    abort();
}

static void check_mesh(const tn_mesh* m)
{
    REQUIRE(m->vertex_count > 0 && m->triangle_count > 0, "an empty mesh");
    for (int i = 0; i < m->vertex_count; ++i) {
        const tn_vec3 v = m->vertices[i];
        REQUIRE(isfinite(v.x) && isfinite(v.y) && isfinite(v.z), "a vertex");
    }
    for (int i = 0; i < 3 * m->triangle_count; ++i)
        REQUIRE(m->triangles[i] >= 0 && m->triangles[i] < m->vertex_count, "a triangle");
}

static tn_shape_def shape_of(const tn_mesh* m)
{
    tn_shape_def shape   = tn_default_shape_def(TN_SHAPE_MESH);
    shape.vertices       = m->vertices;
    shape.vertex_count   = m->vertex_count;
    shape.triangles      = m->triangles;
    shape.triangle_count = m->triangle_count;
    shape.density        = 1;
    return shape;
}

static void add_body(tn_scene* scene, const char* name, tn_body_kind kind,
                     const tn_shape_def* shape, double z)
{
    tn_body_def def     = tn_default_body_def();
    def.name            = name;
    def.kind            = kind;
    def.pose.position.z = z;
    def.shapes          = shape;
    def.shape_count     = 1;
    (void)tn_scene_add_body(scene, &def);
}

static tn_scene* scene_of(const tn_mesh* m, bool falls)
{
    tn_scene*    scene = NULL;
    tn_shape_def mesh = shape_of(m), ball = tn_default_shape_def(TN_SHAPE_SPHERE);
    ball.radius  = 0.5;
    ball.density = 1;
    REQUIRE(tn_scene_create(NULL, &scene) == TN_OK, "no scene");
    if (falls) tn_scene_set_ground(scene, 0.5, 0);
    add_body(scene, "mesh", falls ? TN_BODY_RIGID : TN_BODY_STATIC, &mesh, 0);
    add_body(scene, "ball", TN_BODY_RIGID, &ball, 0.9);
    return scene;
}

static void check_motion(const tn_model* model, const tn_settings* settings)
{
    tn_stepper* stepper = NULL;
    tn_state*   state   = NULL;
    tn_why      why     = {0};
    REQUIRE(tn_state_create(model, &state) == TN_OK, "no state");
    REQUIRE(tn_stepper_create(model, settings, &stepper, &why) == TN_OK, why.text);
    for (int i = 0; i < 2; ++i) {
        const tn_result result = tn_stepper_step(stepper, state, 1e-3, NULL, &why);
        REQUIRE(result == TN_OK || why.text[0] != '\0', "no reason given");
        const double* q = tn_state_coordinates(state);
        for (int k = 0; k < tn_state_coordinate_count(state); ++k)
            REQUIRE(isfinite(q[k]), "position");
    }
    tn_stepper_free(stepper);
    tn_state_free(state);
}

static void check_scene(const tn_mesh* m, bool falls)
{
    tn_scene*       scene    = scene_of(m, falls);
    tn_model*       model    = NULL;
    tn_why          why      = {0};
    const tn_result result   = tn_scene_compile(scene, &model, &why);
    tn_settings     settings = tn_scene_settings(scene);
    settings.method = TN_METHOD_IMPULSE; // others may cut a step of odd shapes in thousands
    REQUIRE((result == TN_OK) == (model != NULL), why.text);
    REQUIRE(result == TN_OK || (why.result == result && why.text[0] != '\0'), "no reason given");
    if (result == TN_OK) check_motion(model, &settings);
    tn_model_free(model);
    tn_scene_free(scene);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    static const char* const names[] = {"a.stl", "a.obj"};
    for (int k = 0; k < 2; ++k) {
        tn_mesh*        m   = NULL;
        tn_why          why = {0};
        const tn_result r   = tn_mesh_parse(NULL, names[k], (const char*)data, size, &m, &why);
        REQUIRE((r == TN_OK) == (m != NULL), why.text);
        REQUIRE(r == TN_OK || (why.result == r && strstr(why.text, names[k]) != NULL), why.text);
        if (m == NULL) continue;
        check_mesh(m);
        if (m->triangle_count <= 40) {
            check_scene(m, false);
            check_scene(m, true);
        }
        tn_mesh_free(m);
        if (size >= 84) break;
    }
    return 0;
}
