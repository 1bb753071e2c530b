// Memory: none is taken within a step, a body costs the same in every size, and when the n-th
// allocation is refused, for every n, the call says so, gives everything back, and can be made
// again.
#include "support/failing_host.h"
#include "support/rig.h"

// Every built-in scene, in a size that builds quickly.
static const char* const specs[] = {
    "chain:n=20",
    "pendulum:n=20",
    "spring_pendulum:n=10",
    "tree:depth=4",
    "spider:legs=6,segments=2",
    "planar_web",
    "hand",
    "robot",
    "humanoid",
    "crowd:n=2",
    "plant:depth=3,branching=2",
    "hair:n=5,strands=2",
    "fourbar",
    "slider_crank",
    "peaucellier",
    "scissor:segments=3",
    "strandbeest:legs=2",
    "bricard",
    "octahedron",
    "octahedron_tube:rings=1,around=3",
    "octahedron_cube:n=1",
    "rod_and_block",
    "differential",
    "planetary",
    "delta",
    "car",
    "ladder",
    "incline",
    "bounce",
    "cradle",
    "painleve",
    "heap:links=4",
    "boxes:n=3",
    "ragdoll_pile:n=1",
    "gripper",
    "coin",
    "conveyor:n=1",
    "marbles:n=3",
    "domino:n=3",
    "bullet",
};
enum { SPECS = sizeof specs / sizeof specs[0] };

TEST(the_list_of_scenes_is_whole) // a new scene must be added above
{
    for (int i = 0; tns_at(i) != NULL; ++i) {
        const size_t length = strlen(tns_at(i)->name);
        bool         found  = false;
        for (int n = 0; n < SPECS; ++n) {
            const char end =
                strncmp(specs[n], tns_at(i)->name, length) == 0 ? specs[n][length] : '?';
            found = found || end == '\0' || end == ':';
        }
        test_check(found, __FILE__, __LINE__, "scene '%s' is not in the list", tns_at(i)->name);
    }
}

static rig rig_on(const tn_host* host, const char* spec)
{
    rig    r   = {.settings = tn_default_settings()};
    tn_why why = {.text = ""};
    rig_must(tns_build(host, spec, &r.scene, &why), spec, &why);
    r.settings = tn_scene_settings(r.scene);
    rig_ready(&r);
    return r;
}

// ---- None within a step -------------------------------------------------------------------------

static void use(rig* r)
{
    tn_why     why;
    const int  bodies = tn_model_counts(r->model).bodies;
    tn_wrench* blows  = calloc((size_t)bodies, sizeof *blows);
    for (int i = 0; i < bodies; ++i) blows[i].force = (tn_vec3){0.01, 0.02, -0.01};
    CHECK_OK(tn_stepper_impulse(r->stepper, r->state, blows, &r->report, &why));
    rig_run(r, r->settings.h, 5);
    rig_evaluate(r);
    CHECK_OK(tn_stepper_project(r->stepper, r->state, &r->report, &why));
    tn_state_energy(r->state);
    tn_state_momentum(r->state);
    free(blows);
}

static bool has_contacts(const rig* r)
{
    for (int i = 0; i < tn_scene_body_count(r->scene); ++i) {
        const tn_body_def* def = tn_scene_body(r->scene, i);
        for (int k = 0; k < def->shape_count; ++k)
            if (def->shapes[k].collide) return true;
    }
    return false;
}

// Room for contacts grows between steps (contacts_test.c): they are met once before nothing more may
// be asked for.
static void meet_contacts(rig* r)
{
    if (!has_contacts(r)) return;
    use(r);
    tn_state_reset(r->state);
}

// A check may borrow, and gives back; refused, it says so.
static void check_borrows_only(rig* r, failing_host* f)
{
    tn_check       check;
    const size_t   before = f->live_bytes;
    const uint64_t hash   = tn_state_hash(r->state);
    tn_result      result = TN_ERR_MEMORY;
    for (int n = 1; n < 1000 && result == TN_ERR_MEMORY; ++n) {
        tn_why why = {.text = ""};
        failing_host_rewind(f, n);
        result = tn_stepper_check(r->stepper, r->state, &check, &why);
        CHECK_INT(result, f->refused > 0 ? TN_ERR_MEMORY : TN_OK);
        CHECK(f->live_bytes == before);
    }
    CHECK_OK(result);
    CHECK(tn_state_hash(r->state) == hash);
    failing_host_rewind(f, 0);
}

TEST(nothing_is_allocated_within_a_step)
{
    for (int n = 0; n < SPECS; ++n) {
        failing_host  f    = failing_host_make();
        const tn_host host = failing_host_of(&f);
        rig           r    = rig_on(&host, specs[n]);
        for (int i = 0; i < 4; ++i) { // as the scene says, and by the multiplier method
            if (i > 0) {
                r.settings                       = rig_settings();
                r.settings.h                     = 1e-5; // some scenes are stiff
                r.settings.multiplier.integrator = (tn_integrator)(i - 1);
                rig_restart(&r);
            }
            meet_contacts(&r);
            failing_host_rewind(&f, 1); // and if it asked, it would be refused
            const size_t before = f.live_bytes;
            use(&r);
            test_check(f.count == 0, __FILE__, __LINE__, "%s: %d allocations within steps",
                       specs[n], f.count);
            CHECK(f.live_bytes == before);
            failing_host_rewind(&f, 0);
        }
        check_borrows_only(&r, &f);
        CHECK(f.live_bytes >= tn_model_counts(r.model).bytes + tn_stepper_bytes(r.stepper));
        rig_free(&r);
        CHECK_INT(f.live_blocks, 0);
        CHECK_INT(f.live_bytes, 0);
        CHECK_INT(f.size_errors, 0);
    }
}

// The impulse method in each of its formulations, with steps that are halved and given up too.
static void step_by_impulses(const char* spec, tn_formulation formulation, int* tried)
{
    failing_host  f                = failing_host_make();
    const tn_host host             = failing_host_of(&f);
    rig           r                = rig_on(&host, spec);
    r.settings.method              = TN_METHOD_IMPULSE;
    r.settings.h                   = fmin(r.settings.h, 1e-3);
    r.settings.impulse.formulation = formulation;
    tn_stepper_free(r.stepper);
    const tn_result result = tn_stepper_create(r.model, &r.settings, &r.stepper, NULL);
    if (result == TN_OK) {
        meet_contacts(&r);
        failing_host_rewind(&f, 1);
        const size_t before = f.live_bytes;
        use(&r);
        if (formulation == TN_FORMULATION_AUTO && !has_contacts(&r)) // too long: it may fail
            (void)!tn_stepper_step(r.stepper, r.state, 0.3, NULL, NULL);
        test_check(f.count == 0, __FILE__, __LINE__, "%s: %d allocations within steps", spec,
                   f.count);
        CHECK(f.live_bytes == before);
        failing_host_rewind(&f, 0);
        ++*tried;
    } else {
        CHECK_INT(result, TN_ERR_UNSUPPORTED); // contacts, or rows beside the matrix
    }
    rig_free(&r);
    CHECK_INT(f.live_blocks, 0);
    CHECK_INT(f.size_errors, 0);
}

TEST(nothing_is_allocated_within_a_step_of_the_impulse_method)
{
    int tried = 0;
    for (int n = 0; n < SPECS; ++n)
        for (int i = TN_FORMULATION_AUTO; i <= TN_FORMULATION_SPLIT; ++i)
            step_by_impulses(specs[n], (tn_formulation)i, &tried);
    CHECK(tried >= 4 * 18);
}

// ---- Linear memory ------------------------------------------------------------------------------

static double bytes_a_body(const char* joint, int n)
{
    char spec[64];
    snprintf(spec, sizeof spec, "chain:n=%d,joint=%s", n, joint);
    failing_host  f    = failing_host_make();
    const tn_host host = failing_host_of(&f);
    rig           r    = rig_on(&host, spec);
    r.settings         = rig_settings();
    rig_restart(&r);
    tn_scene_free(r.scene);
    r.scene            = NULL;
    const double bytes = (double)f.live_bytes / n;
    rig_free(&r);
    CHECK_INT(f.live_blocks, 0);
    return bytes;
}

TEST(a_body_costs_the_same_in_every_size)
{
    static const char* const joints[] = {"ball", "hinge"};
    for (int i = 0; i < 2; ++i) {
        const double small = bytes_a_body(joints[i], 1000), middle = bytes_a_body(joints[i], 10000),
                     large = bytes_a_body(joints[i], 100000);
        CHECK_NEAR(middle / small, 1, 0.05);
        CHECK_NEAR(large / small, 1, 0.05);
        CHECK_LESS(large, 10000);
    }
}

// ---- Every allocation refused once --------------------------------------------------------------

// All the way from nothing to a step; what could not be made stays NULL.
static tn_result live(const tn_host* host, const char* spec, tn_why* why)
{
    rig       r      = {.scene = NULL};
    tn_result result = tns_build(host, spec, &r.scene, why);
    CHECK((result == TN_OK) == (r.scene != NULL));
    if (result == TN_OK) {
        result = tn_scene_compile(r.scene, &r.model, why);
        CHECK((result == TN_OK) == (r.model != NULL));
    }
    if (result == TN_OK) {
        result = tn_state_create(r.model, &r.state);
        CHECK((result == TN_OK) == (r.state != NULL));
    }
    if (result == TN_OK) {
        const tn_settings settings = rig_settings();
        result                     = tn_stepper_create(r.model, &settings, &r.stepper, why);
        CHECK((result == TN_OK) == (r.stepper != NULL));
    }
    if (result == TN_OK) result = tn_stepper_step(r.stepper, r.state, 1e-3, NULL, why);
    rig_free(&r);
    return result;
}

static void refuse_each(const char* spec, bool and_all_after)
{
    failing_host  f    = failing_host_make();
    const tn_host host = failing_host_of(&f);
    f.fail_after       = and_all_after;
    tn_result result   = TN_ERR_MEMORY;
    int       n        = 0;
    while (result == TN_ERR_MEMORY && n < 100000) {
        tn_why why = {.text = ""};
        failing_host_rewind(&f, ++n);
        result = live(&host, spec, &why);
        CHECK_INT(f.live_blocks, 0);
        CHECK_INT(f.size_errors, 0);
        test_check((f.refused > 0) == (result != TN_OK), __FILE__, __LINE__,
                   "%s: allocation %d refused, result %d", spec, n, (int)result);
        if (f.refused > 0) CHECK_INT(result, TN_ERR_MEMORY);
    }
    CHECK_OK(result);
    CHECK(n > 5);
}

TEST(every_refused_allocation_is_survived)
{
    static const char* const few[] = {"fourbar",      "hand",      "planar_web:joints=9",
                                      "differential", "chain:n=3", "robot"};
    for (size_t i = 0; i < sizeof few / sizeof few[0]; ++i) {
        refuse_each(few[i], false);
        refuse_each(few[i], true);
    }
}
