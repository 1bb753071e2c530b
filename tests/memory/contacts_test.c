// Room for contacts grows between steps, and only then. A state steps to the same bits whether or
// not its stepper had to grow, and a step that finds no room for more leaves everything as it was.
#include "support/failing_host.h"
#include "support/rig.h"

enum { BOXES = 12, STEPS = 5 };

// Boxes that stand on the floor, four points each: more than a stepper begins with room for.
static rig boxes_on(const tn_host* host)
{
    rig    r   = {.settings = tn_default_settings()};
    tn_why why = {.text = ""};
    rig_must(tn_scene_create(host, &r.scene), "scene", &why);
    tn_scene_set_ground(r.scene, 0.5, 0);
    for (int i = 0; i < BOXES; ++i) {
        tn_shape_def shape = tn_default_shape_def(TN_SHAPE_BOX);
        tn_body_def  def   = tn_default_body_def();
        shape.half_size    = (tn_vec3){0.1, 0.2, 0.1};
        shape.density      = 1000;
        shape.friction     = 0.5;
        def.pose.position  = (tn_vec3){i, 0, 0.1};
        def.velocity       = (tn_twist){{0.1 * i, 0, 0}, {0, 0, 0}};
        def.shapes         = &shape;
        def.shape_count    = 1;
        tn_scene_add_body(r.scene, &def);
    }
    rig_ready(&r);
    return r;
}

// How many allocations some steps take.
static int allocations_of(rig* r, failing_host* f)
{
    const int before = f->count;
    rig_run(r, r->settings.h, STEPS);
    return f->count - before;
}

TEST(growing_changes_nothing)
{
    failing_host  f    = failing_host_make();
    const tn_host host = failing_host_of(&f);
    rig           r    = boxes_on(&host);
    CHECK(allocations_of(&r, &f) > 0); // it did grow
    CHECK_INT(r.report.contact_count, 4 * BOXES);
    CHECK_INT(allocations_of(&r, &f), 0); // and has room now
    // A fresh stepper, that must grow at once, takes the same step.
    tn_state*   twin;
    tn_stepper* fresh;
    tn_why      why;
    CHECK_OK(tn_state_create(r.model, &twin));
    tn_state_copy(twin, r.state);
    CHECK_OK(tn_stepper_create(r.model, &r.settings, &fresh, &why));
    for (int i = 0; i < 5; ++i) {
        CHECK_OK(tn_stepper_step(r.stepper, r.state, r.settings.h, NULL, &why));
        CHECK_OK(tn_stepper_step(fresh, twin, r.settings.h, NULL, &why));
        CHECK(tn_state_hash(r.state) == tn_state_hash(twin));
    }
    tn_stepper_free(fresh);
    tn_state_free(twin);
    rig_free(&r);
    CHECK_INT(f.live_blocks, 0);
    CHECK_INT(f.live_bytes, 0);
}

TEST(no_room_leaves_all_as_it_was)
{
    failing_host  f        = failing_host_make();
    const tn_host host     = failing_host_of(&f);
    rig           r        = boxes_on(&host);
    int           refusals = 0;
    for (int i = 0; i < STEPS; ++i) {
        const uint64_t before = tn_state_hash(r.state);
        tn_result      result = TN_ERR_MEMORY;
        for (int n = 1; n < 100 && result == TN_ERR_MEMORY; ++n) {
            tn_why why = {.text = ""};
            failing_host_rewind(&f, n);
            result = tn_stepper_step(r.stepper, r.state, r.settings.h, NULL, &why);
            if (result == TN_OK) break;
            ++refusals;
            CHECK_INT(result, TN_ERR_MEMORY);
            CHECK(why.text[0] != '\0');
            CHECK(tn_state_hash(r.state) == before);
        }
        failing_host_rewind(&f, 0);
        CHECK_OK(result);
    }
    CHECK(refusals > 0);
    const uint64_t end = tn_state_hash(r.state);
    rig_restart(&r);
    rig_run(&r, r.settings.h, STEPS);
    CHECK(tn_state_hash(r.state) == end);
    rig_free(&r);
    CHECK_INT(f.live_blocks, 0);
}
