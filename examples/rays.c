// rays: a falling box looks down, and keeps an eye on a post.
#include <tenon/tenon.h>

#include <stdio.h>
#include <string.h>

static const char text[] =
    "{\"tenon_scene\": 1, \"contact\": {\"ground\": {}}, \"bodies\": ["
    "  {\"name\": \"box\", \"position\": [0, 0, 3], \"mass\": 1,"
    "   \"shapes\": [{\"type\": \"box\", \"half_size\": [0.2, 0.2, 0.2]}]},"
    "  {\"name\": \"post\", \"kind\": \"static\", \"position\": [1, 0, 0],"
    "   \"shapes\": [{\"type\": \"capsule\", \"radius\": 0.1, \"half_length\": 2}]}]}";

int main(void)
{
    tn_why      why     = {0};
    tn_scene*   scene   = NULL;
    tn_model*   model   = NULL;
    tn_state*   state   = NULL;
    tn_stepper* stepper = NULL;
    tn_query*   query   = NULL;
    tn_result   result  = tn_scene_read(NULL, text, strlen(text), &scene, &why);
    if (result == TN_OK) result = tn_scene_compile(scene, &model, &why);
    if (result == TN_OK) result = tn_state_create(model, &state);
    if (result == TN_OK) result = tn_query_create(model, &query);
    if (result == TN_OK) result = tn_stepper_create(model, NULL, &stepper, &why);

    const tn_body_id box = {1}, post = {2}; // in the scene's order
    tn_query_filter  others = tn_default_query_filter();
    others.skip = &box, others.skip_count = 1;
    for (int i = 0; i <= 50 && result == TN_OK; ++i) {
        const tn_vec3 down = {0, 0, -1}, middle = tn_state_pose(state, box).position;
        tn_ray_hit    hit;
        tn_closest    near;
        tn_query_update(query, state);
        result = tn_query_closest(query, box, post, &near, &why);
        if (i % 10 == 0 && tn_query_ray(query, middle, down, 100, &others, &hit))
            printf("%.2f s: %.4f m above %s, %.4f m from the post\n", tn_state_time(state),
                   hit.distance, tn_model_body_name(model, hit.body), near.distance);
        if (result == TN_OK) result = tn_stepper_step(stepper, state, 0.01, NULL, &why);
    }
    if (result != TN_OK) fprintf(stderr, "%s: %s\n", tn_result_text(result), why.text);

    tn_query_free(query);
    tn_stepper_free(stepper);
    tn_state_free(state);
    tn_model_free(model);
    tn_scene_free(scene);
    return result == TN_OK ? 0 : 1;
}
