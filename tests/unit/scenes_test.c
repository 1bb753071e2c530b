#include "scenes/builtins.h"
#include "scenes/characters.h"
#include "support/failing_host.h"
#include "test.h"

static tn_scene* built(const char* spec)
{
    tn_scene* scene  = NULL;
    tn_why    why    = {0};
    const int result = (int)tns_build(NULL, spec, &scene, &why);
    test_check(result == 0, __FILE__, __LINE__, "%s: %s", spec, why.text);
    return scene;
}

// ---- Specs --------------------------------------------------------------------------------------

static void check_refused(const char* spec, const char* text)
{
    tn_scene* scene = NULL;
    tn_why    why   = {0};
    CHECK_INT(tns_build(NULL, spec, &scene, &why), TN_ERR_PARSE);
    CHECK_INT(why.result, TN_ERR_PARSE);
    CHECK(scene == NULL);
    CHECK_TEXT(why.text, text);
    tn_scene_free(scene);
}

TEST(specs_are_refused_in_one_sentence)
{
    check_refused("chian", "there is no built-in scene 'chian'; did you mean 'chain'?");
    check_refused("", "there is no built-in scene ''; tenon scene --list shows them");
    check_refused("@zzzzzzzz",
                  "there is no built-in scene 'zzzzzzzz'; tenon scene --list shows them");
    check_refused("chain:stifness=1",
                  "scene 'chain' has no parameter 'stifness'; did you mean 'stiffness'? "
                  "(it has n, joint, stiffness, tip_mass, damping, length, mass, angle)");
    check_refused("chain:n", "scene 'chain': parameter 'n' has no value; write n=...");
    check_refused("chain:n=",
                  "scene 'chain': parameter 'n' must be a whole number from 1 to 10000000, not ''");
    check_refused(
        "chain:n=0",
        "scene 'chain': parameter 'n' must be a whole number from 1 to 10000000, not '0'");
    check_refused(
        "chain:n=10000001",
        "scene 'chain': parameter 'n' must be a whole number from 1 to 10000000, not '10000001'");
    check_refused(
        "chain:n=2.5",
        "scene 'chain': parameter 'n' must be a whole number from 1 to 10000000, not '2.5'");
    check_refused(
        "chain:n=3x",
        "scene 'chain': parameter 'n' must be a whole number from 1 to 10000000, not '3x'");
    check_refused(
        "chain:n=1e999",
        "scene 'chain': parameter 'n' must be a whole number from 1 to 10000000, not '1e999'");
    check_refused(
        "chain:n=nan",
        "scene 'chain': parameter 'n' must be a whole number from 1 to 10000000, not 'nan'");
    check_refused("chain:n=3,n=4", "scene 'chain': parameter 'n' is given twice");
    check_refused(
        "chain:joint=bal",
        "scene 'chain': parameter 'joint' must be one of ball|hinge, not 'bal'; did you mean 'ball'?");
    check_refused(
        "chain:tip_mass=-1",
        "scene 'chain': parameter 'tip_mass' must be a number from 0 to 1000000000, not '-1'");
    check_refused("tree:depth=10,branching=16",
                  "scene 'tree': depth=10 with branching=16 makes more than 10000000 bodies");
    check_refused("plant:depth=9,branching=8",
                  "scene 'plant': depth=9 with branching=8 makes more than 100000 bodies");
    check_refused("hair:n=10000,strands=1001",
                  "scene 'hair': n=10000 with strands=1001 makes more than 10000000 bodies");
    check_refused("planar_web:loops=21",
                  "scene 'planar_web': parameter 'loops' must be at most 20 when joints=54");
    check_refused("cradle:balls=3,in=4",
                  "scene 'cradle': parameter 'in' must be at most 3 when balls=3");
    CHECK_INT(tns_build(NULL, "chain:n=0", &(tn_scene*){NULL}, NULL), TN_ERR_PARSE);
}

TEST(empty_parameters_are_refused)
{
    const char* specs[] = {"chain:", "chain:n=1,", "chain:,n=1", "chain::n=1", "chain:=1"};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; ++i) {
        tn_scene* scene = NULL;
        CHECK_INT(tns_build(NULL, specs[i], &scene, NULL), TN_ERR_PARSE);
        CHECK(scene == NULL);
    }
}

TEST(long_specs_are_refused)
{
    char spec[4000] = "chain:";
    for (size_t i = 6; i < sizeof spec - 1; ++i) spec[i] = (char)('a' + i % 26);
    tn_scene* scene = NULL;
    tn_why    why   = {0};
    CHECK_INT(tns_build(NULL, spec, &scene, &why), TN_ERR_PARSE);
    spec[5] = 'x';
    CHECK_INT(tns_build(NULL, spec, &scene, &why), TN_ERR_PARSE);
    CHECK(strlen(why.text) < sizeof why.text);
}

TEST(specs_set_what_they_name)
{
    tn_scene* scene = built("@chain:n=3,joint=hinge,stiffness=2.5,tip_mass=1e2");
    CHECK_INT(tn_scene_body_count(scene), 3);
    CHECK_INT(tn_scene_joint(scene, 0)->type, TN_JOINT_HINGE);
    CHECK_NEAR(tn_scene_joint(scene, 2)->stiffness, 2.5, 0);
    CHECK_NEAR(tn_scene_body(scene, 1)->mass, 0.1, 0);
    CHECK_NEAR(tn_scene_body(scene, 2)->mass, 100.1, 1e-13);
    CHECK_TEXT(tn_scene_name(scene), "chain");
    CHECK_TEXT(tn_scene_body(scene, 2)->name, "link3");
    CHECK_TEXT(tn_scene_joint(scene, 2)->name, "j3");
    tn_scene_free(scene);
}

TEST(every_scene_is_listed_well)
{
    int count = 0;
    for (const tns_builtin* b; (b = tns_at(count)) != NULL; ++count) {
        CHECK(b->help != NULL && strlen(b->help) < 100);
        for (int i = 0; i < TNS_PARAM_MAX && b->params[i].name != NULL; ++i) {
            const tns_param* p = &b->params[i];
            CHECK(p->help != NULL);
            CHECK(p->value >= p->lower && p->value <= p->upper);
            CHECK(!p->whole || p->value == floor(p->value));
        }
        CHECK(b->params[TNS_PARAM_MAX].name == NULL);
        for (int j = 0; j < count; ++j) CHECK(strcmp(b->name, tns_at(j)->name) != 0);
    }
    CHECK_INT(count, 28);
    CHECK(tns_at(-1) == NULL);
}

// ---- Sizes --------------------------------------------------------------------------------------

static int body_dim(tn_body_kind kind)
{
    return kind == TN_BODY_RIGID ? 6 : kind == TN_BODY_PLANAR ? 3 : 0;
}

static int joint_rows(tn_joint_type type, bool planar)
{
    switch (type) {
    case TN_JOINT_WELD:
    case TN_JOINT_MOTOR: return 6;
    case TN_JOINT_HINGE: return planar ? 2 : 5;
    case TN_JOINT_UNIVERSAL: return 4;
    case TN_JOINT_BALL: return 3;
    default: return 1000; // not in these scenes
    }
}

typedef struct size_case {
    const char* spec;
    int         bodies, joints, rows, freedoms; ///< rows without couplings; freedoms: mobility
} size_case;

static const size_case sizes[] = {
    {"chain", 10, 10, 30, 30},
    {"chain:n=1000,joint=hinge", 1000, 1000, 5000, 1000},
    {"pendulum", 300, 300, 1500, 300},
    {"tree", 127, 127, 381, 381},
    {"tree:depth=4,branching=3", 40, 40, 120, 120},
    {"tree:depth=16", 65535, 65535, 196605, 196605},
    {"spider", 25, 25, 78, 72},
    {"spider:legs=50,segments=4,joint=hinge,fixed=0", 201, 200, 1000, 206},
    {"planar_web", 54, 54, 108, 54},
    {"planar_web:joints=48,loops=6", 48, 54, 108, 36},
    {"planar_web:loops=20", 54, 74, 148, 14},
    {"hand", 16, 15, 69, 27},
    {"robot", 20, 20, 87, 33},
    {"humanoid", 17, 16, 61, 41},
    {"humanoid:joints=anatomical", 17, 16, 61, 41},
    {"humanoid:detail=1", 89, 88, 439, 95},
    {"crowd", 17800, 17600, 87800, 19000},
    {"crowd:n=3,detail=0", 51, 48, 183, 123},
    {"humanoid:detail=1,joints=anatomical", 89, 88, 439, 95},
    {"plant", 202, 202, 606, 606},
    {"plant:depth=4,branching=2,leaves=off", 15, 15, 45, 45},
    {"hair", 21, 20, 60, 60},
    {"hair:n=7,strands=3,curl=2", 22, 21, 63, 63},
    {"differential", 5, 5, 26, 4},
    {"rod_and_block", 2, 2, 10, 2},
    {"rod_and_block:rods=5,rod_mass=1,joint=ball", 6, 6, 18, 18},
    {"ladder", 2, 0, 0, 6},
    {"incline", 2, 0, 0, 6},
    {"bounce", 1, 0, 0, 6},
    {"cradle", 5, 5, 25, 5},
    {"cradle:balls=3,in=2", 3, 3, 15, 3},
    {"painleve", 1, 0, 0, 6},
    {"heap", 20, 19, 57, 63},
};
enum { SIZE_COUNT = sizeof sizes / sizeof sizes[0] };

TEST(sizes_are_as_documented)
{
    for (int i = 0; i < SIZE_COUNT; ++i) {
        tn_scene* scene = built(sizes[i].spec);
        int       dims = 0, rows = 0;
        for (int b = 0; b < tn_scene_body_count(scene); ++b)
            dims += body_dim(tn_scene_body(scene, b)->kind);
        const bool planar = tn_scene_body(scene, 0)->kind == TN_BODY_PLANAR;
        for (int j = 0; j < tn_scene_joint_count(scene); ++j)
            rows += joint_rows(tn_scene_joint(scene, j)->type, planar);
        CHECK_INT(tn_scene_body_count(scene), sizes[i].bodies);
        CHECK_INT(tn_scene_joint_count(scene), sizes[i].joints);
        CHECK_INT(rows, sizes[i].rows);
        CHECK_INT(dims - rows, sizes[i].freedoms);
        tn_scene_free(scene);
    }
}

TEST(compiled_sizes_are_as_documented)
{
    for (int i = 0; i < SIZE_COUNT; ++i) {
        tn_scene* scene  = built(sizes[i].spec);
        tn_model* model  = NULL;
        tn_why    why    = {0};
        const int result = (int)tn_scene_compile(scene, &model, &why);
        test_check(result == 0, __FILE__, __LINE__, "%s: %s", sizes[i].spec, why.text);
        if (model != NULL) {
            const tn_counts counts        = tn_model_counts(model);
            const int       row_couplings = counts.couplings; // one row each
            CHECK_INT(counts.bodies, sizes[i].bodies);
            CHECK_INT(counts.joints, sizes[i].joints);
            CHECK_INT(counts.rows - row_couplings, sizes[i].rows);
            CHECK_INT(counts.freedoms - counts.rows + row_couplings, sizes[i].freedoms);
        }
        tn_model_free(model);
        tn_scene_free(scene);
    }
}

TEST(scenes_start_assembled_and_as_mobile_as_documented)
{
    for (int i = 0; i < SIZE_COUNT; ++i) {
        if (sizes[i].bodies > 500) continue;
        tn_scene*   scene   = built(sizes[i].spec);
        tn_model*   model   = NULL;
        tn_state*   state   = NULL;
        tn_stepper* stepper = NULL;
        tn_check    check   = {0};
        CHECK_OK(tn_scene_compile(scene, &model, NULL));
        CHECK_OK(tn_state_create(model, &state));
        CHECK_OK(tn_stepper_create(model, NULL, &stepper, NULL));
        CHECK_OK(tn_stepper_check(stepper, state, &check, NULL));
        CHECK_INT(check.mobility, sizes[i].freedoms - tn_scene_coupling_count(scene));
        CHECK_INT(check.redundant_count, 0);
        CHECK_LESS(check.assembly_error, 1e-13);
        CHECK_LESS(check.velocity_error, 1e-13);
        tn_stepper_free(stepper);
        tn_state_free(state);
        tn_model_free(model);
        tn_scene_free(scene);
    }
}

TEST(loops_are_as_documented)
{
    const struct {
        const char* spec;
        int         loops, parts;
    } cases[] = {{"tree", 0, 1},
                 {"planar_web", 0, 1},
                 {"planar_web:joints=48,loops=6", 6, 1},
                 {"hand", 0, 1},
                 {"crowd:n=3", 0, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        tn_scene* scene = built(cases[i].spec);
        tn_model* model = NULL;
        CHECK_OK(tn_scene_compile(scene, &model, NULL));
        if (model != NULL) {
            CHECK_INT(tn_model_counts(model).loops, cases[i].loops);
            CHECK_INT(tn_model_counts(model).parts, cases[i].parts);
        }
        tn_model_free(model);
        tn_scene_free(scene);
    }
}

// How far the nearest contact is: found, or else not nearer than 1 um.
static int contacts_of(const char* spec, double* deepest)
{
    tn_scene*      scene   = built(spec);
    tn_model*      model   = NULL;
    tn_state*      state   = NULL;
    tn_stepper*    stepper = NULL;
    tn_step_report report  = {.deepest = HUGE_VAL};
    CHECK_OK(tn_scene_compile(scene, &model, NULL));
    CHECK_OK(tn_state_create(model, &state));
    CHECK_OK(tn_stepper_create(model, NULL, &stepper, NULL));
    CHECK_OK(tn_stepper_project(stepper, state, &report, NULL));
    const int count = report.contact_count;
    *deepest        = report.deepest;
    tn_stepper_free(stepper);
    tn_state_free(state);
    tn_model_free(model);
    tn_scene_free(scene);
    return count;
}

TEST(scenes_that_touch_start_in_touch_and_no_deeper)
{
    const struct {
        const char* spec;
        int         contacts;
    } cases[] = {{"ladder", 2},      {"ladder:angle=0.5,length=10", 2},
                 {"incline", 4},     {"incline:angle=1.3,shape=sphere", 1},
                 {"bounce", 0},      {"bounce:height=0", 1},
                 {"cradle:in=0", 4}, {"cradle:in=5", 4},
                 {"cradle:in=2", 3}, {"painleve", 1},
                 {"heap", 0},        {"heap:height=0", 1},
                 {"chain", 0},       {"humanoid", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        double    deepest;
        const int count = contacts_of(cases[i].spec, &deepest);
        test_check(count == cases[i].contacts, __FILE__, __LINE__, "%s: %d contacts, wanted %d",
                   cases[i].spec, count, cases[i].contacts);
        CHECK_LESS(deepest, 1e-15);
    }
}

// ---- Shapes of things ---------------------------------------------------------------------------

static double off_a_capsule(const tn_shape_def* shape, tn_vec3 p) // from the nearer end
{
    const double side = tns_length(tns_vec(p.x, p.y, 0));
    return tns_length(tns_vec(side, fabs(p.z) - shape->half_length, 0));
}

static double off_a_box(const tn_shape_def* shape, tn_vec3 p) // from its surface
{
    const tn_vec3 h = shape->half_size;
    return fabs(fmax(fmax(fabs(p.x) - h.x, fabs(p.y) - h.y), fabs(p.z) - h.z));
}

// How far p is from where the body's first shape may carry a joint.
static double off_the_body(const tn_body_def* body, tn_vec3 p)
{
    const tn_shape_def* shape = &body->shapes[0];
    const tn_quat       q     = tns_quat_mul(body->pose.orientation, shape->pose.orientation);
    const tn_vec3       local =
        tns_rotate((tn_quat){q.w, -q.x, -q.y, -q.z}, tns_sub(p, body->pose.position));
    if (shape->type == TN_SHAPE_CAPSULE) return off_a_capsule(shape, local);
    if (shape->type == TN_SHAPE_BOX) return off_a_box(shape, local);
    return fabs(tns_length(tns_vec(local.x, local.y, 0)) - shape->radius); // the rim of a wheel
}

TEST(joints_sit_where_rods_end)
{
    const char* specs[] = {"chain:n=100",
                           "pendulum",
                           "tree",
                           "tree:branching=3,depth=5",
                           "planar_web:loops=20",
                           "spider:fixed=0",
                           "plant",
                           "hair:n=9,strands=4,curl=3",
                           "chain:n=7,length=0.37,angle=1.1",
                           "rod_and_block:rods=5"};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; ++i) {
        tn_scene* scene = built(specs[i]);
        for (int j = 0; j < tn_scene_joint_count(scene); ++j) {
            const tn_joint_def* joint = tn_scene_joint(scene, j);
            const tn_vec3       at    = joint->anchor;
            const int           one = (int)joint->body1.bits - 1, two = (int)joint->body2.bits - 1;
            CHECK_LESS(off_the_body(tn_scene_body(scene, two), at), 1e-13);
            if (one >= 0) CHECK_LESS(off_the_body(tn_scene_body(scene, one), at), 1e-13);
        }
        tn_scene_free(scene);
    }
}

// The vector part of the turn from p to q: twice its length is the angle, while that is small.
static double turn_between(tn_quat p, tn_quat q)
{
    const tn_quat d = tns_quat_mul((tn_quat){p.w, -p.x, -p.y, -p.z}, q);
    return tns_length(tns_vec(d.x, d.y, d.z));
}

TEST(fingertips_are_where_the_last_bones_end)
{
    tn_scene*   scene   = built("hand");
    const char* tips[5] = {"thumb3", "index3", "middle3", "ring3", "little3"};
    for (int i = 0; i < TNS_FINGER_COUNT; ++i) {
        const tn_body_id   id   = tn_scene_find_body(scene, tips[i], NULL);
        const tn_body_def* body = tn_scene_body(scene, (int)id.bits - 1);
        const tn_frame     tip  = tns_fingertip(i, 1, (tns_bend){.spread = 0});
        const tn_vec3      want = tns_add(tns_vec(0, 0, 0.3), tip.position);
        const tn_vec3      end  = tns_place(body->pose, tns_vec(0, 0, tns_fingertip_reach(i)));
        CHECK_LESS(tns_length(tns_sub(end, want)), 1e-15);
        CHECK_LESS(turn_between(tip.orientation, body->pose.orientation), 1e-15);
        const tn_target_def* target = tn_scene_target(scene, i + 1);
        CHECK_INT(target->body.bits, id.bits);
        CHECK_LESS(tns_length(tns_sub(target->keys[0].pose.position, want)), 1e-15);
        CHECK_NEAR(tns_length(tns_sub(target->point, tns_vec(0, 0, tns_fingertip_reach(i)))), 0, 0);
    }
    CHECK_INT(tn_scene_target_count(scene), 6);
    tn_scene_free(scene);
}

// "left_thigh" to "right_thigh"; names without a side stay.
static tns_text other_side(const char* name)
{
    const bool left = strncmp(name, "left_", 5) == 0;
    return left ? tns_name("right_%s", name + 5) : tns_name("%s", name);
}

static void check_mirrored_body(tn_scene* scene, const tn_body_def* body)
{
    const tn_body_id id = tn_scene_find_body(scene, other_side(body->name).text, NULL);
    CHECK(id.bits > 0);
    if (id.bits == 0) return;
    const tn_body_def* other = tn_scene_body(scene, (int)id.bits - 1);
    const tn_vec3      p = body->pose.position, q = other->pose.position;
    CHECK_LESS(tns_length(tns_sub(p, tns_vec(q.x, -q.y, q.z))), 1e-15);
    CHECK(p.y > 0);
    CHECK_NEAR(body->mass, other->mass, 0);
}

static const char* body_name(tn_scene* scene, tn_body_id id)
{
    return id.bits == 0 ? "ground" : tn_scene_body(scene, (int)id.bits - 1)->name;
}

static void check_mirrored_joint(tn_scene* scene, const tn_joint_def* joint)
{
    const tn_joint_id id = tn_scene_find_joint(scene, other_side(joint->name).text);
    CHECK(id.bits > 0);
    if (id.bits == 0) return;
    const tn_joint_def* other = tn_scene_joint(scene, (int)id.bits - 1);
    const tn_vec3       p = joint->anchor, q = other->anchor, a = joint->axis, b = other->axis;
    CHECK_LESS(tns_length(tns_sub(p, tns_vec(q.x, -q.y, q.z))), 1e-15);
    CHECK_LESS(tns_length(tns_sub(a, tns_vec(-b.x, b.y, -b.z))), 1e-15);
    CHECK_NEAR(joint->stiffness, other->stiffness, 0);
    CHECK_NEAR(joint->damping, other->damping, 0);
    CHECK(memcmp(&joint->limit, &other->limit, sizeof joint->limit) == 0);
    CHECK_TEXT(other_side(body_name(scene, joint->body1)).text, body_name(scene, other->body1));
    CHECK_TEXT(other_side(body_name(scene, joint->body2)).text, body_name(scene, other->body2));
    if (joint->type != TN_JOINT_UNIVERSAL) return;
    const tn_vec3 c = joint->axis2, d = other->axis2;
    CHECK_LESS(tns_length(tns_sub(c, tns_vec(-d.x, d.y, -d.z))), 1e-15);
    CHECK_NEAR(tns_dot(a, c), 0, 1e-15);
}

TEST(people_are_mirror_images_of_themselves)
{
    const struct {
        const char* spec;
        int         pairs;
    } cases[] = {{"humanoid", 6},
                 {"humanoid:detail=1", 31},
                 {"humanoid:joints=anatomical", 6},
                 {"humanoid:detail=1,joints=anatomical", 31},
                 {"robot", 9},
                 {"robot:torque=off", 9}};
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; ++n) {
        tn_scene* scene = built(cases[n].spec);
        int       pairs = 0;
        for (int i = 0; i < tn_scene_body_count(scene); ++i) {
            const tn_body_def* body = tn_scene_body(scene, i);
            if (strncmp(body->name, "left_", 5) != 0) continue;
            check_mirrored_body(scene, body);
            ++pairs;
        }
        CHECK_INT(pairs, cases[n].pairs);
        for (int i = 0; i < tn_scene_joint_count(scene); ++i) {
            const tn_joint_def* joint = tn_scene_joint(scene, i);
            if (strncmp(joint->name, "left_", 5) == 0) check_mirrored_joint(scene, joint);
        }
        tn_scene_free(scene);
    }
}

// Bending a hinge by +90 degrees carries the bone beyond it to where a person can bend it.
TEST(knees_bend_backward_elbows_forward_fingers_inward)
{
    const struct {
        const char *spec, *joint;
        tn_vec3     along, bent;
    } cases[] = {{"humanoid:detail=1", "left_shank", {0, 0, -1}, {-1, 0, 0}},
                 {"humanoid:detail=1", "right_shank", {0, 0, -1}, {-1, 0, 0}},
                 {"humanoid:detail=1", "left_ulna", {0, 1, 0}, {1, 0, 0}},
                 {"humanoid:detail=1", "right_ulna", {0, -1, 0}, {1, 0, 0}},
                 {"humanoid:detail=1", "left_index2", {0, 1, 0}, {0, 0, -1}},
                 {"humanoid:detail=1", "right_index2", {0, -1, 0}, {0, 0, -1}},
                 {"humanoid:detail=1", "jaw", {1, 0, 0}, {0, 0, -1}},
                 {"robot", "left_finger1_1", {0, 1, 0}, {0, 0, -1}},
                 {"robot", "right_finger3_2", {0, -1, 0}, {0, 0, -1}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        tn_scene*           scene = built(cases[i].spec);
        const tn_joint_id   id    = tn_scene_find_joint(scene, cases[i].joint);
        const tn_joint_def* joint = tn_scene_joint(scene, (int)id.bits - 1);
        CHECK(!joint->limit.given || joint->limit.upper > -joint->limit.lower);
        const tn_vec3 bent = tns_rotate(tns_turn_about(joint->axis, 0.25), cases[i].along);
        CHECK_LESS(tns_length(tns_sub(bent, cases[i].bent)), 1e-15);
        tn_scene_free(scene);
    }
}

// With the cage at rest and the wheels turning at 1 and -1, planet and left gear share a tooth.
TEST(bevel_gears_mesh)
{
    tn_scene*              scene  = built("differential");
    const tn_coupling_def* bevel  = tn_scene_coupling(scene, 2);
    const tn_body_def*     planet = tn_scene_body(scene, 2);
    CHECK_TEXT(bevel->name, "bevel");
    CHECK_TEXT(planet->name, "planet");
    const double* c     = bevel->coefficients;
    const double  spin  = -(c[1] * 1 + c[2] * -1) / c[0];
    const tn_vec3 arm   = tns_vec(0, planet->shapes[0].radius, 0);
    const tn_vec3 tooth = tns_add(planet->pose.position, arm);
    const tn_vec3 slip  = tns_sub(tns_cross(tns_scale(spin, TNS_Z), arm), tns_cross(TNS_Y, tooth));
    CHECK_LESS(tns_length(slip), 1e-16);
    tn_scene_free(scene);
}

static double speed_of(const tn_model* model, const tn_state* state, const char* joint)
{
    double speed = 0;
    tn_state_joint_velocity(state, tn_model_find_joint(model, joint), &speed);
    return speed;
}

// The drags are 0.5 and 2, so the wheels run steadily at 16 and 4 rad/s when the cage does at 10. What
// is missing decays like exp(-t (c_left + c_right) / 2 I), I = 0.45 a wheel: 2e-4 of it is left at
// 4 s, three after the end of the ramp.
TEST(differential_gives_both_wheels_the_same_torque)
{
    tn_scene*   scene   = built("differential");
    tn_model*   model   = NULL;
    tn_state*   state   = NULL;
    tn_stepper* stepper = NULL;
    CHECK_OK(tn_scene_compile(scene, &model, NULL));
    CHECK_OK(tn_state_create(model, &state));
    CHECK_OK(tn_stepper_create(model, NULL, &stepper, NULL));
    for (int i = 0; i < 1000; ++i) CHECK_OK(tn_stepper_step(stepper, state, 0.004, NULL, NULL));
    const double left = speed_of(model, state, "left"), right = speed_of(model, state, "right");
    CHECK_NEAR(speed_of(model, state, "drive"), 30, 1e-9);
    CHECK_NEAR(speed_of(model, state, "cage"), 10, 1e-9);
    CHECK_NEAR(left + right, 20, 1e-9);
    CHECK_NEAR(speed_of(model, state, "planet"), -0.75 * (left - right), 1e-9);
    CHECK_NEAR(left, 16, 2e-2);
    CHECK_NEAR(right, 4, 2e-2);
    tn_stepper_free(stepper);
    tn_state_free(state);
    tn_model_free(model);
    tn_scene_free(scene);
}

// ---- Parts --------------------------------------------------------------------------------------

TEST(circle_agrees_with_libm)
{
    for (int i = -300; i <= 300; ++i) {
        const double  turns = i / 97.0;
        const tn_vec3 p     = tns_circle(turns);
        CHECK_NEAR(p.x, cos(2 * 3.14159265358979323846 * turns), 4e-15);
        CHECK_NEAR(p.y, sin(2 * 3.14159265358979323846 * turns), 4e-15);
        CHECK_NEAR(p.x * p.x + p.y * p.y, 1, 4e-16);
    }
    for (int i = -8; i <= 8; ++i) {
        const tn_vec3 p = tns_circle(i / 4.0);
        CHECK(fabs(p.x) + fabs(p.y) == 1);
        CHECK(p.x * p.y == 0);
    }
}

// Rounding in a + b turns into an angle divided by |a + b|.
TEST(turn_takes_one_direction_to_the_other)
{
    test_random r = {1};
    for (int i = 0; i < 200; ++i) {
        const tn_vec3 a =
            tns_unit(tns_vec(test_random_between(&r, -1, 1), test_random_between(&r, -1, 1), 0.1));
        const tn_vec3 other =
            tns_unit(tns_vec(test_random_between(&r, -1, 1), 0.2, test_random_between(&r, -1, 1)));
        const tn_vec3 b   = i % 4 == 0 ? tns_scale(-1, a) : other;
        const double  sum = tns_length(tns_add(a, b));
        const tn_quat q   = tns_turn(a, b);
        CHECK_LESS(tns_length(tns_sub(tns_rotate(q, a), b)), 2e-15 / (sum > 0 ? sum : 1));
        CHECK_NEAR(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z, 1, 1e-15);
    }
}

TEST(boxes_and_wheels_have_the_inertia_of_solids)
{
    tn_scene* scene = NULL;
    CHECK_OK(tn_scene_create(NULL, &scene));
    tns_box(scene, "box", tns_frame(tns_vec(1, 2, 3)), tns_vec(0.1, 0.2, 0.3), 6);
    tns_wheel(scene, "wheel", tns_vec(1, 2, 3), TNS_Y, 0.3, 0.1, 10);
    const double* box = tn_scene_body(scene, 0)->inertia;
    CHECK_NEAR(box[0], 6 * (0.16 + 0.36) / 12, 1e-15);
    CHECK_NEAR(box[1], 6 * (0.04 + 0.36) / 12, 1e-15);
    CHECK_NEAR(box[2], 6 * (0.04 + 0.16) / 12, 1e-15);
    const double* wheel = tn_scene_body(scene, 1)->inertia;
    CHECK_NEAR(wheel[0], 10 * (3 * 0.09 + 0.04) / 12, 1e-15);
    CHECK_NEAR(wheel[2], 10 * 0.09 / 2, 1e-15);
    tn_scene_free(scene);
}

TEST(same_spec_same_bits)
{
    for (int s = 0; tns_at(s) != NULL; ++s) {
        tn_scene *one = built(tns_at(s)->name), *two = built(tns_at(s)->name);
        for (int b = 0; b < tn_scene_body_count(one); ++b) {
            const tn_frame p = tn_scene_body(one, b)->pose, q = tn_scene_body(two, b)->pose;
            CHECK(memcmp(&p, &q, sizeof p) == 0);
        }
        CHECK_TEXT(tn_scene_name(one), tns_at(s)->name);
        const bool stiff = tn_scene_settings(one).method == TN_METHOD_IMPLICIT;
        CHECK(tn_scene_settings(one).h <= (stiff ? 1.0 / 60 : 0.002));
        CHECK(tn_scene_settings(one).duration >= 1);
        tn_scene_free(one);
        tn_scene_free(two);
    }
}

// ---- Memory that runs out ---------------------------------------------------------------------

// Once refused and then lent again, and refused for good.
static void check_every_failure(const char* spec, bool for_good)
{
    failing_host  f      = failing_host_make();
    const tn_host host   = failing_host_of(&f);
    tn_result     result = TN_ERR_MEMORY;
    f.fail_after         = for_good;
    for (int n = 1; result != TN_OK && n < 100000; ++n) {
        tn_scene* scene = NULL;
        failing_host_rewind(&f, n);
        result = tns_build(&host, spec, &scene, NULL);
        CHECK_INT(result, f.refused > 0 ? TN_ERR_MEMORY : TN_OK);
        CHECK((scene == NULL) == (result != TN_OK));
        tn_scene_free(scene);
        CHECK_INT(f.live_blocks, 0);
    }
    CHECK_INT(result, TN_OK);
    CHECK_INT(f.size_errors, 0);
}

TEST(scenes_survive_every_failing_allocation)
{
    const char* specs[] = {"chain:n=300",  "tree",
                           "hand",         "planar_web:loops=4",
                           "differential", "humanoid:detail=1",
                           "crowd:n=2",    "strandbeest:legs=2,load=1",
                           "ladder",       "cradle",
                           "heap",         "plant:depth=2",
                           "hair:n=3",     "humanoid:joints=anatomical"};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; ++i) {
        check_every_failure(specs[i], false);
        check_every_failure(specs[i], true);
    }
}
