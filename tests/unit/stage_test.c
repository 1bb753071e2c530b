// A stage: what it shows, what it obeys, and that showing changes nothing.
#include "stage/stage.h"

#include "io/json.h"
#include "scenes/scenes.h"
#include "test.h"

#include <stdlib.h>

typedef struct fake {
    double now, tick; ///< every look at the clock takes a tick
} fake;

static double look(void* user)
{
    fake* f = user;
    return f->now += f->tick;
}

static tng_stage* open_stage(const char* spec, fake* clock)
{
    tn_scene*  scene;
    tng_stage* stage = NULL;
    tn_why     why   = {0};
    CHECK_OK(tng_scene_open(NULL, spec, strlen(spec), &scene, &why));
    const tn_result result =
        tng_stage_create(NULL, spec, scene, NULL, (tng_clock){look, clock}, &stage, &why);
    test_check(result == TN_OK, __FILE__, __LINE__, "%s: %s", spec, why.text);
    return stage;
}

static void say(tng_stage* stage, const char* command)
{
    tng_stage_command(stage, command, strlen(command));
    while (strncmp(command, "step", 4) == 0 && tng_stage_wait(stage) <= 0)
        tng_stage_advance(stage, 1);
}

// Whether a message with this in it waits; all are read.
static bool told(tng_stage* stage, const char* part)
{
    size_t      length;
    bool        found = false;
    const char* message;
    while ((message = tng_stage_message(stage, &length))) {
        tni_json json;
        tn_why   why  = {0};
        tn_host  host = tn_default_host();
        found         = found || strstr(message, part);
        CHECK_OK(tni_json_read(&host, message, length, &json, &why));
        tni_json_free(&json);
    }
    return found;
}

static double f64_at(const char* frame, size_t at)
{
    double value;
    memcpy(&value, frame + at, sizeof value);
    return value;
}

static uint32_t u32_at(const char* frame, size_t at)
{
    uint32_t value;
    memcpy(&value, frame + at, sizeof value);
    return value;
}

static float f32_at(const char* frame, size_t at)
{
    float value;
    memcpy(&value, frame + at, sizeof value);
    return value;
}

TEST(every_built_in_scene_is_described_in_good_json)
{
    for (int i = 0; tns_at(i); ++i) {
        char spec[64];
        snprintf(spec, sizeof spec, "@%s", tns_at(i)->name);
        if (strcmp(spec, "@crowd") == 0) snprintf(spec, sizeof spec, "@crowd:n=2");
        if (strcmp(spec, "@ragdoll_pile") == 0) snprintf(spec, sizeof spec, "@ragdoll_pile:n=1");
        fake       clock = {0};
        tng_stage* stage = open_stage(spec, &clock);
        if (!stage) continue;
        size_t      length;
        const char* text = tng_stage_mechanism(stage, &length);
        tni_json    json;
        tn_why      why  = {0};
        tn_host     host = tn_default_host();
        CHECK(text != NULL);
        CHECK_OK(tni_json_read(&host, text, length, &json, &why));
        const tni_json_value* bodies = tni_json_member(json.values, "bodies");
        CHECK(bodies && bodies->kind == TNI_JSON_ARRAY && bodies->count > 0);
        tni_json_free(&json);
        tng_stage_free(stage);
    }
}

TEST(a_frame_has_the_poses_of_the_state_and_its_own_size)
{
    fake       clock = {0};
    tng_stage* stage = open_stage("@fourbar", &clock);
    say(stage, "show 31");
    say(stage, "step 25");
    size_t          length;
    const char*     frame = tng_stage_frame(stage, &length);
    const tn_state* state = tng_stage_state(stage);
    CHECK_INT(u32_at(frame, 0), 0x31464e54);
    CHECK_INT(u32_at(frame, 4), length);
    CHECK_INT(length % 8, 0);
    CHECK_INT(u32_at(frame, 8), 31);
    CHECK_NEAR(f64_at(frame, 16), 25, 0);
    CHECK_NEAR(f64_at(frame, 24), tn_state_time(state), 0);
    CHECK_NEAR(f64_at(frame, 32), tn_state_energy(state).kinetic, 0);
    const uint32_t bodies = u32_at(frame, 88), joints = u32_at(frame, 92);
    for (uint32_t i = 0; i < bodies; ++i) {
        const tn_frame pose = tn_state_pose(state, (tn_body_id){i + 1});
        CHECK_NEAR(f32_at(frame, 112 + 28 * i), pose.position.x, 1e-6);
        CHECK_NEAR(f32_at(frame, 112 + 28 * i + 12), pose.orientation.w, 1e-6);
    }
    const size_t words = 7 * bodies + 7 * joints + u32_at(frame, 96) + (joints + 31) / 32;
    CHECK_INT(length, (112 + 4 * words + 7) / 8 * 8);
    tng_stage_free(stage);
}

TEST(frames_give_reactions_and_coordinates)
{
    fake       clock = {0};
    tng_stage* stage = open_stage("@pendulum:n=1", &clock);
    say(stage, "show 6"); // forces and coordinates
    say(stage, "set h 0.0005");
    say(stage, "step 400");
    const tn_vec3 before = tn_state_momentum(tng_stage_state(stage)).linear;
    say(stage, "step 1");
    size_t      length;
    const char* frame = tng_stage_frame(stage, &length);
    double      z[6]  = {0};
    tn_state_joint_position(tng_stage_state(stage), (tn_joint_id){1}, z);
    CHECK_INT(u32_at(frame, 8), 6);
    const double force = (double)f32_at(frame, 112 + 28), up = (double)f32_at(frame, 112 + 28 + 8);
    const double turn[] = {(double)f32_at(frame, 112 + 28 + 12),
                           (double)f32_at(frame, 112 + 28 + 20)};
    CHECK_NEAR(f32_at(frame, 112 + 28 + 24), z[0], 1e-6);
    say(stage, "step 1"); // what is not gravity's in the change of momentum is the joint's
    const tn_vec3 after = tn_state_momentum(tng_stage_state(stage)).linear;
    const double  mass  = tn_model_body_mass(tng_stage_model(stage), (tn_body_id){1});
    CHECK_NEAR((after.x - before.x) / 0.001, force, 1e-3 * mass);
    CHECK_NEAR((after.z - before.z) / 0.001 + 9.81 * mass, up, 1e-3 * mass);
    CHECK_LESS(0.1 * mass, fabs(force));
    CHECK_NEAR(turn[0], 0, 1e-6); // in a plane there is no torque but about its normal
    CHECK_NEAR(turn[1], 0, 1e-6);
    tng_stage_free(stage);
}

// Showing, with all parts and between steps, does not touch the motion.
TEST(looking_changes_nothing)
{
    const char* const specs[] = {
        "@fourbar", "@robot",         "@boxes:n=3",   "@strandbeest:legs=2",
        "@hand",    "@pendulum:n=20", "@heap:links=4"};
    for (int i = 0; i < 7; ++i) {
        fake       clock   = {0};
        tng_stage *watched = open_stage(specs[i], &clock), *alone = open_stage(specs[i], &clock);
        say(watched, "show 31");
        for (int k = 0; k < 15; ++k) {
            size_t length;
            CHECK(tng_stage_frame(watched, &length) != NULL);
            say(watched, "step");
        }
        say(alone, "step 15");
        test_check(tn_state_hash(tng_stage_state(watched)) == tn_state_hash(tng_stage_state(alone)),
                   __FILE__, __LINE__, "%s moves otherwise when it is looked at", specs[i]);
        tng_stage_free(watched);
        tng_stage_free(alone);
    }
}

TEST(time_goes_with_the_clock_and_debts_are_forgotten)
{
    fake       clock = {0};
    tng_stage* stage = open_stage("@pendulum:n=3", &clock);
    say(stage, "set h 0.01");
    say(stage, "play");
    for (int i = 0; i < 60; ++i) {
        clock.now += 1.0 / 60;
        tng_stage_advance(stage, 1);
    }
    CHECK_NEAR(tn_state_time(tng_stage_state(stage)), 1, 0.0101);
    say(stage, "speed 0.5");
    const double before = tn_state_time(tng_stage_state(stage));
    for (int i = 0; i < 60; ++i) {
        clock.now += 1.0 / 60;
        tng_stage_advance(stage, 1);
    }
    CHECK_NEAR(tn_state_time(tng_stage_state(stage)) - before, 0.5, 0.0101);
    const double late = tn_state_time(tng_stage_state(stage));
    clock.now += 30; // the machine slept
    tng_stage_advance(stage, 1);
    CHECK_LESS(tn_state_time(tng_stage_state(stage)) - late, 0.0601);
    CHECK_LESS(0, tng_stage_wait(stage));
    CHECK_LESS(tng_stage_wait(stage), 0.0201);
    say(stage, "pause");
    CHECK(isinf(tng_stage_wait(stage)));
    tng_stage_free(stage);
}

TEST(a_small_budget_is_kept)
{
    fake       clock = {0};
    tng_stage* stage = open_stage("@pendulum:n=3", &clock);
    say(stage, "set h 0.001");
    say(stage, "play");
    clock.now += 0.1;
    clock.tick = 0.002; // a step seems to take some of these
    tng_stage_advance(stage, 0.01);
    CHECK_LESS(tn_state_time(tng_stage_state(stage)), 0.0075);
    CHECK_LESS(0, tn_state_time(tng_stage_state(stage)));
    tng_stage_free(stage);
}

TEST(steps_that_are_asked_for_do_not_hold_up_others)
{
    fake       clock = {0};
    tng_stage* stage = open_stage("@pendulum:n=3", &clock);
    clock.tick       = 0.001;
    tng_stage_command(stage, "step 1000", 9);
    CHECK_NEAR(tng_stage_wait(stage), 0, 0);
    tng_stage_advance(stage, 0.02);
    const long long some = tng_stage_summary(stage).steps;
    CHECK(some > 0 && some < 20);
    say(stage, "pause"); // no more of them
    CHECK(isinf(tng_stage_wait(stage)));
    tng_stage_advance(stage, 1);
    CHECK_INT(tng_stage_summary(stage).steps, some);
    tng_stage_free(stage);
}

TEST(bad_commands_are_answered_and_change_nothing)
{
    static const char* const bad[] = {
        "",
        "dance",
        "plya",
        "step 0",
        "step x",
        "step 1.5",
        "speed",
        "speed 0",
        "speed 1e9",
        "speed nan",
        "set",
        "set h",
        "set h -1",
        "set h 0",
        "set h abc",
        "set method magic",
        "set nothing 1",
        "gravity 1 2",
        "gravity 1 2 x",
        "joint 0 stiffness",
        "joint -1 stiffness 1",
        "joint 99 stiffness 1",
        "joint 0 colour 1",
        "joint 0 stiffness -1",
        "joint 0 rest 0 9",
        "joint 0 velocity 1 2",
        "grab 0",
        "grab 9 0 0 0 0",
        "grab 0 99 0 0 0",
        "grab 0 -1 0 0 0",
        "grab 0 0 0 0 1e999",
        "move 0 0 0 0",
        "move 3 1 1 1",
        "release 8",
        "show 32",
        "show -1",
        "camera 1 2",
        "play now",
        " play",
        "play ",
        "a b c d e f g h i j k",
        "scene {}",
        "\x01\x02\xff",
    };
    fake       clock = {0};
    tng_stage* stage = open_stage("@pendulum:n=2", &clock);
    say(stage, "step 3");
    const uint64_t hash = tn_state_hash(tng_stage_state(stage));
    told(stage, "");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        say(stage, bad[i]);
        test_check(told(stage, "\"level\":\"error\""), __FILE__, __LINE__, "'%s' was not refused",
                   bad[i]);
        test_check(tn_state_hash(tng_stage_state(stage)) == hash, __FILE__, __LINE__,
                   "'%s' changed something", bad[i]);
    }
    tng_stage_command(stage, "play\0x", 6);
    CHECK(told(stage, "NUL"));
    char long_line[2000];
    memset(long_line, 'x', sizeof long_line);
    tng_stage_command(stage, long_line, sizeof long_line);
    CHECK(told(stage, "too long"));
    say(stage, "plya");
    CHECK(told(stage, "did you mean 'play'?"));
    tng_stage_free(stage);
}

TEST(edits_act_and_the_motion_goes_on_from_where_it_is)
{
    fake       clock = {0};
    tng_stage* stage = open_stage("@pendulum:n=2", &clock);
    say(stage, "step 20");
    const uint64_t hash = tn_state_hash(tng_stage_state(stage));
    say(stage, "gravity 0 0 0");
    CHECK(told(stage, "\"gravity\":[0,0,0]"));
    CHECK(tn_state_hash(tng_stage_state(stage)) == hash);
    say(stage, "joint 1 stiffness 50");
    say(stage, "joint 1 rest 0.5");
    say(stage, "joint 1 damping 2");
    say(stage, "joint 0 damping 2");
    CHECK(told(stage, "{\"stiffness\":50,\"damping\":2,\"rest\":[0.5]"));
    CHECK(tn_state_hash(tng_stage_state(stage)) == hash);
    say(stage, "set method implicit");
    CHECK(told(stage, "\"method\":\"implicit\""));
    CHECK(tn_state_hash(tng_stage_state(stage)) == hash);
    say(stage, "set h 0.02");
    say(stage, "step 1000"); // without gravity it comes to rest at the spring's angle
    double z[6] = {0};
    tn_state_joint_position(tng_stage_state(stage), (tn_joint_id){2}, z);
    CHECK_NEAR(z[0], 0.5, 1e-3);
    const double at = tn_state_time(tng_stage_state(stage));
    CHECK_LESS(20, at);
    say(stage, "reset");
    CHECK_NEAR(tn_state_time(tng_stage_state(stage)), 0, 0);
    tng_stage_free(stage);
}

TEST(every_method_takes_over_from_every_other)
{
    static const char* const methods[] = {"multiplier", "implicit", "impulse", "adaptive"};
    for (int i = 0; i < 16; ++i) {
        fake       clock = {0};
        tng_stage* stage = open_stage("@pendulum:n=5", &clock);
        char       line[64];
        snprintf(line, sizeof line, "set method %s", methods[i / 4]);
        say(stage, line);
        say(stage, "set h 0.002");
        say(stage, "step 50");
        snprintf(line, sizeof line, "set method %s", methods[i % 4]);
        const double before = tn_state_energy(tng_stage_state(stage)).kinetic;
        say(stage, line);
        say(stage, "step");
        const double after = tn_state_energy(tng_stage_state(stage)).kinetic;
        CHECK(!told(stage, "stopped"));
        CHECK_NEAR(after, before, 0.15 * before + 0.1);
        tng_stage_free(stage);
    }
}

TEST(a_method_that_cannot_is_refused_and_the_old_one_stays)
{
    fake       clock = {0};
    tng_stage* stage = open_stage("@fourbar", &clock);
    say(stage, "set method adaptive"); // loops
    size_t length;
    CHECK(told(stage, "\"level\":\"error\""));
    CHECK(strstr(tng_stage_mechanism(stage, &length), "\"method\":\"adaptive\"") == NULL);
    say(stage, "step 5");
    CHECK(!told(stage, "stopped"));
    tng_stage_free(stage);
}

// The end of a chain follows the hand, whatever steps it, however light it is, and however long the step.
TEST(a_drag_moves_the_body_and_its_force_shows)
{
    static const char* const methods[] = {"multiplier", "implicit", "impulse", "adaptive", "auto"};
    for (int i = 0; i < 5; ++i) {
        fake       clock = {0};
        tng_stage* stage = open_stage("@chain:n=6,mass=0.5", &clock);
        char       line[64];
        size_t     length;
        snprintf(line, sizeof line, "set method %s", methods[i]);
        say(stage, line);
        say(stage, i == 0 ? "set h 0.004" : "set h 0.01");
        say(stage, "grab 2 5 0 0 0");
        CHECK(!told(stage, "\"level\":\"error\""));
        tn_handle held;
        CHECK(tn_state_handle(tng_stage_state(stage), 2, &held));
        CHECK_INT(held.body.bits, 6);
        const tn_vec3 from = held.point;
        char          move[96];
        snprintf(move, sizeof move, "move 2 %.6f %.6f %.6f", from.x, from.y + 0.3, from.z);
        say(stage, move);
        const char* frame = tng_stage_frame(stage, &length);
        CHECK_INT(u32_at(frame, 104), 1);
        CHECK(tn_state_handle(tng_stage_state(stage), 2, &held));
        CHECK_LESS(1, held.force.y);
        say(stage, i == 0 ? "step 1000" : "step 400");
        test_check(!told(stage, "stopped"), __FILE__, __LINE__, "%s stopped", methods[i]);
        CHECK(tn_state_handle(tng_stage_state(stage), 2, &held));
        test_check(held.point.y - from.y > 0.1, __FILE__, __LINE__, "%s moved it by %g only",
                   methods[i], held.point.y - from.y);
        test_check(tn_state_energy(tng_stage_state(stage)).kinetic < 50, __FILE__, __LINE__,
                   "%s: the hand puts in %g J", methods[i],
                   tn_state_energy(tng_stage_state(stage)).kinetic);
        say(stage, "release 2");
        CHECK(!tn_state_handle(tng_stage_state(stage), 2, &held));
        tng_stage_free(stage);
    }
}

// Where the robot's hand is in the end that is drawn 0.2 m forward and 0.2 m up, and the pull on it.
static tn_handle drag_robot(const char* method)
{
    fake       clock = {0};
    tng_stage* stage = open_stage("@robot", &clock);
    tn_handle  held  = {0};
    int        hand  = 0;
    char       line[96];
    while (strcmp(tn_model_body_name(tng_stage_model(stage), (tn_body_id){(uint32_t)hand + 1}),
                  "right_hand") != 0)
        ++hand;
    snprintf(line, sizeof line, "set method %s", method);
    say(stage, line);
    say(stage, "set h 0.0166667");
    snprintf(line, sizeof line, "grab 0 %d 0 0 0", hand);
    say(stage, line);
    CHECK(tn_state_handle(tng_stage_state(stage), 0, &held));
    snprintf(line, sizeof line, "move 0 %.6f %.6f %.6f", held.point.x, held.point.y + 0.2,
             held.point.z + 0.2);
    say(stage, line);
    say(stage, "step 300");
    CHECK(!told(stage, "stopped"));
    CHECK(tn_state_handle(tng_stage_state(stage), 0, &held));
    tng_stage_free(stage);
    return held;
}

// Statics knows no method: whoever steps with implicit springs has the spring that moves the whole robot.
TEST(auto_drags_as_far_as_the_implicit_method)
{
    const tn_handle a = drag_robot("auto"), b = drag_robot("implicit");
    CHECK_NEAR(a.point.x, b.point.x, 1e-4);
    CHECK_NEAR(a.point.y, b.point.y, 1e-4);
    CHECK_NEAR(a.point.z, b.point.z, 1e-4);
    CHECK_NEAR(a.force.y, b.force.y, 0.1);
    CHECK_NEAR(a.force.z, b.force.z, 0.1);
}

// A spring that could lift the load would throw a light link about: it is as stiff as the step bears.
TEST(a_light_link_of_a_heavy_mechanism_can_be_held)
{
    fake       clock = {0};
    tng_stage* stage = open_stage("@chain:n=3,mass=0.02,tip_mass=50", &clock);
    tn_handle  held;
    char       move[96];
    say(stage, "set method impulse");
    say(stage, "set h 0.0166667");
    say(stage, "gravity 0 0 0");
    say(stage, "grab 0 0 0 0 0");
    CHECK(tn_state_handle(tng_stage_state(stage), 0, &held));
    snprintf(move, sizeof move, "move 0 %.6f %.6f %.6f", held.point.x, held.point.y + 0.01,
             held.point.z);
    say(stage, move);
    double most = 0;
    for (int i = 0; i < 120; ++i) {
        say(stage, "step");
        most = fmax(most, tn_state_energy(tng_stage_state(stage)).kinetic);
    }
    CHECK(!told(stage, "stopped"));
    CHECK(tn_state_handle(tng_stage_state(stage), 0, &held));
    // No more than what the hand has put in at first.
    const double put_in = 0.5 * 0.01 * 0.01 * 50 * (2 * 3.1416 * 1.5) * (2 * 3.1416 * 1.5);
    CHECK_LESS(most, put_in);
    tng_stage_free(stage);
}

TEST(what_cannot_go_on_stops_with_a_reason_and_can_be_reset)
{
    fake       clock = {0};
    tng_stage* stage = open_stage("@chain:n=5,stiffness=1000000", &clock);
    say(stage, "set method multiplier");
    say(stage, "set multiplier.integrator euler");
    say(stage, "set h 0.5"); // far too long for it
    told(stage, "");
    say(stage, "play");
    for (int i = 0; i < 400; ++i) {
        clock.now += 0.5;
        tng_stage_advance(stage, 10);
    }
    CHECK(told(stage, "\"type\":\"stopped\""));
    size_t      length;
    const char* frame = tng_stage_frame(stage, &length);
    CHECK_INT(u32_at(frame, 12), 2);
    CHECK(isfinite(f64_at(frame, 32)));
    say(stage, "play");
    CHECK(told(stage, "cannot go on"));
    say(stage, "reset");
    say(stage, "set h 0.0001");
    say(stage, "step 3");
    CHECK(!told(stage, "\"type\":\"stopped\""));
    tng_stage_free(stage);
}

TEST(scenes_that_are_wrong_say_where)
{
    static const char text[] = "{\"tenon_scene\": 1,\n  \"bodeis\": []}";
    tn_scene*         scene;
    tn_why            why = {0};
    CHECK(tng_scene_open(NULL, text, sizeof text - 1, &scene, &why) != TN_OK);
    CHECK_INT(why.line, 2);
    CHECK_INT(why.column, 3);
    CHECK(strstr(why.text, "bodies"));
    CHECK(tng_scene_open(NULL, "@nosuch", 7, &scene, &why) != TN_OK);
    CHECK(scene == NULL);
}
