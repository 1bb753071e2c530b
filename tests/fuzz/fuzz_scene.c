// libFuzzer target: any bytes as a scene file. Whatever they are, reading them ends in a scene or in
// a reason with a line. A scene that was read is written, read back and written again: the two texts
// are the same bytes. Then it is compiled, which may refuse it, but not crash.
#include "tenon/tenon.h"

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

typedef struct buffer {
    char*  bytes;
    size_t count, room;
} buffer;

static bool buffer_add(void* user, const char* bytes, size_t count)
{
    buffer* b = user;
    if (b->count + count > b->room) {
        b->room  = 2 * (b->count + count);
        b->bytes = realloc(b->bytes, b->room);
        REQUIRE(b->bytes != NULL, "out of memory");
    }
    if (count > 0) memcpy(b->bytes + b->count, bytes, count);
    b->count += count;
    return true;
}

static buffer written(const tn_scene* scene)
{
    buffer          b   = {0};
    tn_why          why = {0};
    const tn_result r   = tn_scene_write(scene, buffer_add, &b, &why);
    REQUIRE(r == TN_OK, why.text);
    REQUIRE(b.count > 0, "an empty text");
    return b;
}

static void check_round_trip(const tn_scene* scene)
{
    const buffer    first = written(scene);
    tn_scene*       again = NULL;
    tn_why          why   = {0};
    const tn_result r     = tn_scene_read(NULL, first.bytes, first.count, &again, &why);
    REQUIRE(r == TN_OK, why.text);
    const buffer second = written(again);
    REQUIRE(first.count == second.count, "read back, the scene is another one");
    REQUIRE(memcmp(first.bytes, second.bytes, first.count) == 0, "read back, it is another one");
    tn_scene_free(again);
    free(first.bytes);
    free(second.bytes);
}

static void check_compile(const tn_scene* scene)
{
    tn_model*       model = NULL;
    tn_why          why   = {0};
    const tn_result r     = tn_scene_compile(scene, &model, &why);
    REQUIRE((r == TN_OK) == (model != NULL), why.text);
    REQUIRE(r == TN_OK || why.text[0] != '\0', "a refusal without a reason");
    tn_model_free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    tn_scene*       scene = NULL;
    tn_why          why   = {0};
    const tn_result r     = tn_scene_read(NULL, (const char*)data, size, &scene, &why);
    if (r != TN_OK) {
        REQUIRE(scene == NULL, "a scene after a failure");
        REQUIRE(why.result == r && why.text[0] != '\0' && why.line > 0, why.text);
        return 0;
    }
    check_round_trip(scene);
    check_compile(scene);
    tn_scene_free(scene);
    return 0;
}
