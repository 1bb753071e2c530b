// batch: a hundred people hang by the chest, half of them drawn aside.
#include <tenon/tenon.h>

#include <stdio.h>
#include <stdlib.h>

enum { COPIES = 100, STEPS = 120 };

int main(int count, char** arguments)
{
    tn_why    why   = {0};
    tn_scene* scene = NULL;
    tn_model* model = NULL;
    tn_batch* batch = NULL;
    tn_pool*  pool  = tn_pool_create(tn_processor_count());
    tn_host   host  = tn_default_host();
    host.each = tn_pool_each, host.workers = pool;
    tn_settings settings = tn_default_settings();
    settings.method      = TN_METHOD_IMPLICIT; // trees of it are stepped four at a time
    tn_result result =
        tn_scene_read_file(NULL, count > 1 ? arguments[1] : "humanoid.json", &scene, &why);
    if (result == TN_OK) result = tn_scene_compile(scene, &model, &why);
    if (result == TN_OK) result = tn_batch_create(model, &settings, COPIES, &host, &batch, &why);
    if (result != TN_OK) {
        fprintf(stderr, "%s: %s\n", tn_result_text(result), why.text);
        return 1;
    }

    // Every joint a little bent, in every copy otherwise.
    const int n = tn_model_coordinate_count(model);
    double*   z = malloc(sizeof *z * (size_t)(COPIES * n));
    for (int i = 0; i < COPIES * n; ++i) z[i] = 0.001 * (i % 211) - 0.1;
    result = tn_batch_set_joints(batch, z, NULL, &why);

    // The chests of the second half are wanted a metre aside.
    const tn_frame     aside = {{1, 0, 1.3}, {1, 0, 0, 0}};
    const tn_target_id hold  = tn_model_find_target(model, "hold");
    for (int i = COPIES / 2; i < COPIES && result == TN_OK; ++i)
        result = tn_state_set_target(tn_batch_state(batch, i), hold, &aside, NULL);

    tn_state*   alone   = NULL; // the last copy, beside the batch
    tn_stepper* stepper = NULL;
    if (result == TN_OK) result = tn_state_create(model, &alone);
    if (result == TN_OK) result = tn_stepper_create(model, &settings, &stepper, &why);
    if (result == TN_OK) tn_state_copy(alone, tn_batch_view(batch, COPIES - 1));

    tn_batch_report report = {0};
    double          error  = 0;
    for (int i = 0; i < STEPS && result == TN_OK; ++i) {
        result = tn_batch_step(batch, 1 / 60.0, &report, &why);
        if (report.joint_error > error) error = report.joint_error;
        if (result == TN_OK) result = tn_stepper_step(stepper, alone, 1 / 60.0, NULL, &why);
    }
    if (result != TN_OK) fprintf(stderr, "%s: %s\n", tn_result_text(result), why.text);

    // All poses at once, as a renderer wants them.
    const int bodies = tn_model_counts(model).bodies;
    double*   poses  = malloc(sizeof *poses * (size_t)(COPIES * bodies * TN_BATCH_POSE));
    tn_batch_poses(batch, poses);
    const int chest = (int)tn_model_find_body(model, "chest").bits - 1;
    for (int i = 0; i < COPIES; i += COPIES / 4)
        printf("copy %d: chest at x = %.2f m\n", i, poses[(i * bodies + chest) * TN_BATCH_POSE]);
    printf("joints closed to %s\n", error < 1e-8 ? "1e-8" : "less than they should");
    printf("the last copy %s\n",
           tn_state_hash(alone) == tn_state_hash(tn_batch_view(batch, COPIES - 1))
               ? "is where it would be alone"
               : "is elsewhere");
    free(poses);
    free(z);
    tn_stepper_free(stepper);
    tn_state_free(alone);
    tn_batch_free(batch);
    tn_pool_free(pool);
    tn_model_free(model);
    tn_scene_free(scene);
    return result != TN_OK;
}
