// What a user's first program looks like: it finds the headers, links, and runs.
#include <tenon/tenon.h>

#include <stdio.h>

int main(void)
{
    tn_scene*       scene  = NULL;
    const tn_result result = tn_scene_create(NULL, &scene);
    printf("tenon %s: %s\n", tn_version(), tn_result_text(result));
    tn_scene_free(scene);
    return result == TN_OK ? 0 : 1;
}
