#include "support/failing_host.h"
#include "tenon/tenon.h"
#include "test.h"

#include <stdlib.h>

static const char csv_path[] = "trajectory_test.csv", own_path[] = "trajectory_test.trj";

static tn_model* two_bodies(void)
{
    const char* text =
        "{\"tenon_scene\": 1, \"bodies\": ["
        "{\"name\": \"a, \\\"b\\\"\", \"mass\": 1, \"inertia\": [1, 1, 1], \"position\": [0.1, -0.5, 1e-310]},"
        "{\"name\": \"wall\", \"kind\": \"static\", \"position\": [1, 2, 3]}]}";
    tn_scene* scene = NULL;
    tn_model* model = NULL;
    tn_why    why   = {0};
    CHECK_OK(tn_scene_read(NULL, text, strlen(text), &scene, &why));
    CHECK_OK(tn_scene_compile(scene, &model, &why));
    tn_scene_free(scene);
    return model;
}

// Two frames of the initial state.
static tn_result record(const tn_host* host, const tn_model* model, const char* path, tn_why* why)
{
    tn_recorder* recorder = NULL;
    tn_state*    state    = NULL;
    CHECK_OK(tn_state_create(model, &state));
    tn_result result = tn_recorder_create(host, model, path, &recorder, why);
    if (result == TN_OK) result = tn_recorder_add(recorder, state, why);
    if (result == TN_OK) result = tn_recorder_add(recorder, state, why);
    const tn_result end = recorder != NULL ? tn_recorder_finish(recorder, why) : result;
    tn_state_free(state);
    return result != TN_OK ? result : end;
}

static size_t read_all(const char* path, char* bytes, size_t room)
{
    FILE* file = fopen(path, "rb");
    CHECK(file != NULL);
    const size_t count = file != NULL ? fread(bytes, 1, room - 1, file) : 0;
    bytes[count]       = '\0';
    if (file != NULL) fclose(file);
    remove(path);
    return count;
}

TEST(csv_has_names_times_and_poses)
{
    tn_model* model = two_bodies();
    char      text[2000];
    CHECK_OK(record(NULL, model, csv_path, NULL));
    read_all(csv_path, text, sizeof text);
    CHECK_TEXT(
        text,
        "time,\"a, \"\"b\"\".x\",\"a, \"\"b\"\".y\",\"a, \"\"b\"\".z\",\"a, \"\"b\"\".qw\",\"a, \"\"b\"\".qx\",\"a, \"\"b\"\".qy\","
        "\"a, \"\"b\"\".qz\",wall.x,wall.y,wall.z,wall.qw,wall.qx,wall.qy,wall.qz\n"
        "0,0.1,-0.5,1e-310,1,0,0,0,1,2,3,1,0,0,0\n"
        "0,0.1,-0.5,1e-310,1,0,0,0,1,2,3,1,0,0,0\n");
    tn_model_free(model);
}

static uint64_t little(const char* bytes, int count)
{
    uint64_t value = 0;
    for (int i = count - 1; i >= 0; --i) value = value << 8 | (unsigned char)bytes[i];
    return value;
}

TEST(binary_format_is_as_documented)
{
    tn_model* model = two_bodies();
    char      bytes[2000];
    CHECK_OK(record(NULL, model, own_path, NULL));
    const size_t count = read_all(own_path, bytes, sizeof bytes);
    CHECK(memcmp(bytes, "TENONTRJ", 8) == 0);
    CHECK_INT(little(bytes + 8, 4), 1);
    CHECK_INT(little(bytes + 12, 4), 2);
    const size_t start = (size_t)little(bytes + 16, 4);
    CHECK_INT(start % 8, 0);
    CHECK_INT(little(bytes + 20, 4), 6);
    CHECK(memcmp(bytes + 24, "a, \"b\"", 6) == 0);
    CHECK_INT(little(bytes + 30, 4), 4);
    CHECK(memcmp(bytes + 34, "wall", 4) == 0);
    CHECK_INT(start, 40);
    CHECK_INT(count, start + 2 * 8 * (1 + 7 * 2));
    const double wanted[] = {0, 0.1, -0.5, 1e-310, 1, 0, 0, 0, 1, 2, 3, 1, 0, 0, 0};
    for (int i = 0; i < 15; ++i) {
        uint64_t bits;
        memcpy(&bits, &wanted[i], 8);
        CHECK(little(bytes + start + 8 * (size_t)i, 8) == bits);
    }
    tn_model_free(model);
}

TEST(path_that_cannot_be_written_is_named)
{
    tn_model* model = two_bodies();
    tn_why    why   = {0};
    CHECK(record(NULL, model, "no/such/folder/x.csv", &why) == TN_ERR_FILE);
    CHECK(strstr(why.text, "'no/such/folder/x.csv'") != NULL);
    CHECK_OK(tn_recorder_finish(NULL, NULL));
    tn_model_free(model);
}

TEST(full_disk_is_reported_once_the_buffer_is_full_and_at_the_end)
{
    FILE* full = fopen("/dev/full", "w"); // where there is such a device, it never has room
    if (full == NULL) return;
    fclose(full);
    tn_model*    model    = two_bodies();
    tn_recorder* recorder = NULL;
    tn_state*    state    = NULL;
    tn_why       why      = {0};
    CHECK(record(NULL, model, "/dev/full", &why) ==
          TN_ERR_FILE); // so little that only closing tells
    CHECK(strstr(why.text, "'/dev/full'") != NULL);
    CHECK_OK(tn_state_create(model, &state));
    CHECK_OK(tn_recorder_create(NULL, model, "/dev/full", &recorder, &why));
    tn_result result = TN_OK;
    for (int i = 0; i < 10000 && result == TN_OK; ++i)
        result = tn_recorder_add(recorder, state, &why);
    CHECK(result == TN_ERR_FILE);
    CHECK(tn_recorder_add(recorder, state, &why) == TN_ERR_FILE);
    why = (tn_why){0};
    CHECK(tn_recorder_finish(recorder, &why) == TN_ERR_FILE);
    CHECK(strstr(why.text, "'/dev/full'") != NULL);
    tn_state_free(state);
    tn_model_free(model);
}

TEST(failing_allocation_leaves_no_file_open)
{
    tn_model*     model = two_bodies();
    failing_host  f     = failing_host_make();
    const tn_host host  = failing_host_of(&f);
    tn_why        why   = {0};
    failing_host_rewind(&f, 1);
    CHECK(record(&host, model, csv_path, &why) == TN_ERR_MEMORY);
    failing_host_rewind(&f, 0);
    CHECK_OK(record(&host, model, csv_path, &why));
    CHECK_INT(f.count, 1); // nothing is taken while recording
    CHECK_INT(f.live_blocks, 0);
    CHECK_INT(f.size_errors, 0);
    remove(csv_path);
    tn_model_free(model);
}
