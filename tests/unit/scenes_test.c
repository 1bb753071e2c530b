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
    CHECK_INT(count, 40);
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
    {"spring_pendulum", 50, 50, 250, 50},
    {"spring_pendulum:n=7,link=0.2", 7, 7, 35, 7},
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
    {"rod_and_block:stop=rod", 3, 2, 10, 2},
    {"rod_and_block:stop=block", 3, 2, 10, 2},
    {"boxes", 20, 0, 0, 120},
    {"boxes:arrangement=pyramid,n=55", 55, 0, 0, 330},
    {"ragdoll_pile", 850, 800, 3050, 2050},
    {"ragdoll_pile:n=3", 51, 48, 183, 123},
    {"coin", 1, 0, 0, 6},
    {"conveyor", 10, 0, 0, 48},
    {"marbles", 49, 0, 0, 288},
    {"domino", 40, 0, 0, 240},
    {"bullet", 2, 1, 5, 7},
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
    } cases[] = {{"ladder", 2},
                 {"ladder:angle=0.5,length=10", 2},
                 {"incline", 4},
                 {"incline:angle=1.3,shape=sphere", 1},
                 {"bounce", 0},
                 {"bounce:height=0", 1},
                 {"cradle:in=0", 4},
                 {"cradle:in=5", 4},
                 {"cradle:in=2", 3},
                 {"painleve", 1},
                 {"heap", 0},
                 {"heap:height=0", 1},
                 {"chain", 0},
                 {"humanoid", 0},
                 {"boxes", 80},
                 {"boxes:arrangement=pyramid,n=55", 400},
                 {"boxes:arrangement=wall,n=16,gap=0.01", 0},
                 {"domino", 160},
                 {"marbles", 0},
                 {"coin", 1},
                 {"conveyor", 32},
                 {"bullet", 0},
                 {"gripper", 12},
                 {"car", 0},
                 {"car:drop=0", 8},
                 {"delta", 0},
                 {"ragdoll_pile", 0},
                 {"strandbeest:walk=on", 2},
                 {"strandbeest:walk=stand,drop=0.4", 0},
                 {"rod_and_block:stop=rod", 0},
                 {"rod_and_block:stop=block", 0}};
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
                           "spring_pendulum:n=9,link=0.37",
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

static void check_same_ends(const tn_limit* a, const tn_limit* b)
{
    CHECK_INT(a->given, b->given);
    CHECK(a->lower == b->lower && a->upper == b->upper);
    CHECK(a->cone == b->cone || (isnan(a->cone) && isnan(b->cone)));
    CHECK(a->twist_lower == b->twist_lower && a->twist_upper == b->twist_upper);
    CHECK(a->stiffness == b->stiffness && a->damping == b->damping);
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
    check_same_ends(&joint->limit, &other->limit);
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

// ---- Stiff characters ---------------------------------------------------------------------------

static const double degree = 3.14159265358979324 / 180;

static const tn_body_def* body_of(tn_scene* scene, const char* name)
{
    const tn_body_id id = tn_scene_find_body(scene, name, NULL);
    test_check(id.bits > 0, __FILE__, __LINE__, "there is no body '%s'", name);
    return tn_scene_body(scene, (int)id.bits - 1);
}

static const tn_joint_def* joint_of(tn_scene* scene, const char* name)
{
    const tn_joint_id id = tn_scene_find_joint(scene, name);
    test_check(id.bits > 0, __FILE__, __LINE__, "there is no joint '%s'", name);
    return tn_scene_joint(scene, (int)id.bits - 1);
}

static double mass_of(tn_scene* scene, const char* prefix)
{
    double sum = 0;
    for (int i = 0; i < tn_scene_body_count(scene); ++i) {
        const tn_body_def* body = tn_scene_body(scene, i);
        if (strncmp(body->name, prefix, strlen(prefix)) == 0) sum += body->mass;
    }
    return sum;
}

TEST(chains_start_as_they_are_told)
{
    tn_scene* scene = built("chain:n=20,mass=0.05,tip_mass=7500,angle=1,damping=3,length=0.2");
    CHECK_NEAR(mass_of(scene, "link"), 20 * 0.05 + 7500, 1e-9);
    CHECK_NEAR(joint_of(scene, "j7")->damping, 3, 0);
    const tn_vec3 end  = tns_place(body_of(scene, "link20")->pose, tns_vec(0, 0, 0.1)),
                  want = tns_vec(4 * cos(1), 0, -4 * sin(1));
    CHECK_LESS(tns_length(tns_sub(end, want)), 1e-14);
    CHECK_NEAR(body_of(scene, "link1")->shapes[0].radius, 0.02, 1e-17);
    tn_scene_free(scene);
    scene             = built("chain:angle=1.5707963267948966");
    const tn_vec3 tip = tns_place(body_of(scene, "link10")->pose, tns_vec(0, 0, 0.05));
    CHECK(tip.x == 0 && tip.y == 0);
    CHECK_NEAR(tip.z, -1, 1e-15);
    tn_scene_free(scene);
}

// Springs are slack and targets met at the start, so nothing stiff begins with a jerk.
TEST(the_spring_pendulum_is_drawn_at_the_end_of_its_thirtieth_link) // 1/2 k d^2, and the weight
{
    tn_scene* scene = built("spring_pendulum:stiffness=80,aside=2,below=0.5");
    tn_model* model = NULL;
    tn_state* state = NULL;
    CHECK_OK(tn_scene_compile(scene, &model, NULL));
    CHECK_OK(tn_state_create(model, &state));
    const tn_energy e = tn_state_energy(state);
    CHECK_NEAR(e.elastic, 40 * (2 * 2 + 2.5 * 2.5), 1e-11);
    CHECK_NEAR(e.gravity, -9.81 * 5 * 2.5, 1e-11);
    CHECK_NEAR(tn_scene_joint(scene, 49)->damping, 0.3, 0);
    tn_state_free(state);
    tn_model_free(model);
    tn_scene_free(scene);
}

TEST(a_crowd_is_looked_at_from_before_its_first_row)
{
    tn_scene*                  scene   = built("crowd:n=9,detail=0");
    const tn_adaptive_settings s       = tn_scene_settings(scene).adaptive;
    const tn_vec3              eye     = {s.camera_x, s.camera_y, s.camera_z};
    double                     nearest = HUGE_VAL;
    int                        who     = -1;
    for (int i = 0; i < 9; ++i) { // three rows of three
        const tn_body_id id   = tn_scene_find_body(scene, tns_name("p%d_pelvis", i + 1).text, NULL);
        const tn_vec3    at   = tn_scene_body(scene, (int)id.bits - 1)->pose.position;
        const double     away = tns_length(tns_sub(at, eye));
        CHECK(away > 5);
        if (away < nearest) {
            nearest = away;
            who     = i;
        }
    }
    CHECK_INT(who, 1);
    CHECK(s.pixels > 0 && s.active == 2000);
    tn_scene_free(scene);
}

TEST(stiff_scenes_start_without_elastic_energy)
{
    const char* specs[] = {"hand",  "robot", "humanoid:joints=anatomical", "humanoid:detail=1",
                           "plant", "hair",  "hair:strands=5,curl=3",      "chain:stiffness=1e6"};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; ++i) {
        tn_scene* scene = built(specs[i]);
        tn_model* model = NULL;
        tn_state* state = NULL;
        CHECK_OK(tn_scene_compile(scene, &model, NULL));
        CHECK_OK(tn_state_create(model, &state));
        test_check(fabs(tn_state_energy(state).elastic) < 1e-24, __FILE__, __LINE__,
                   "%s: %g J at the start", specs[i], tn_state_energy(state).elastic);
        tn_state_free(state);
        tn_model_free(model);
        tn_scene_free(scene);
    }
}

// Keys start where their body is, and go on in time to no later than the end.
static void check_keys(const tn_scene* scene, const tn_key* keys, int count)
{
    CHECK(count > 1);
    CHECK(keys[0].time >= 0);
    CHECK(keys[count - 1].time <= tn_scene_settings(scene).duration + 1e-12);
    for (int k = 1; k < count; ++k) {
        CHECK(keys[k].time > keys[k - 1].time);
        const tn_quat q = keys[k].pose.orientation;
        CHECK_NEAR(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z, 1, 1e-14);
        CHECK_LESS(turn_between(keys[k - 1].pose.orientation, q), 0.5); // slerp knows the way
    }
}

TEST(keys_are_in_order_and_leave_no_doubt_which_way_to_turn)
{
    tn_scene* scene = built("hand");
    for (int i = 0; i < tn_scene_target_count(scene); ++i)
        check_keys(scene, tn_scene_target(scene, i)->keys, tn_scene_target(scene, i)->key_count);
    tn_scene_free(scene);
    scene = built("robot");
    check_keys(scene, tn_scene_target(scene, 0)->keys, tn_scene_target(scene, 0)->key_count);
    tn_scene_free(scene);
    scene = built("hair");
    check_keys(scene, body_of(scene, "head")->keys, body_of(scene, "head")->key_count);
    tn_scene_free(scene);
}

// Bones point along their z axes, the palm along x. What a joint is bent by at the start, and may
// be bent further, makes the angle that a physician measures.
TEST(a_hand_ends_where_physicians_say)
{
    const struct {
        const char* bones[3];
        double      lower[3], upper[3];
    } cases[]       = {{{"index1", "index2", "index3"}, {-20, 0, 0}, {90, 100, 80}},
                       {{"middle1", "middle2", "middle3"}, {-20, 0, 0}, {90, 100, 80}},
                       {{"ring1", "ring2", "ring3"}, {-20, 0, 0}, {90, 100, 80}},
                       {{"little1", "little2", "little3"}, {-20, 0, 0}, {90, 100, 80}},
                       {{NULL, "thumb2", "thumb3"}, {0, -10, -15}, {0, 55, 80}}};
    tn_scene* scene = built("hand:limit=500");
    for (int i = 0; i < TNS_FINGER_COUNT; ++i) {
        tn_vec3 last = TNS_X;
        for (int k = 0; k < 3; ++k) {
            const char*    name = cases[i].bones[k] != NULL ? cases[i].bones[k] : "thumb1";
            const tn_vec3  bone = tns_rotate(body_of(scene, name)->pose.orientation, TNS_Z);
            const double   bent = acos(tns_dot(last, bone));
            const tn_limit end  = joint_of(scene, name)->limit;
            last                = bone;
            CHECK_NEAR(end.stiffness, 500, 0);
            if (cases[i].bones[k] == NULL) continue;
            CHECK_NEAR(bent + end.lower, cases[i].lower[k] * degree, 1e-7); // acos, near 1
            CHECK_NEAR(bent + end.upper, cases[i].upper[k] * degree, 1e-7);
        }
    }
    const tn_joint_def* base = joint_of(scene, "thumb1");
    CHECK_INT(base->type, TN_JOINT_BALL);
    CHECK_NEAR(base->limit.cone, 30 * degree, 1e-15);
    CHECK_NEAR(base->limit.twist_upper, 17 * degree, 1e-15);
    CHECK_NEAR(base->limit.twist_lower, -17 * degree, 1e-15);
    tn_scene_free(scene);
}

// How far a fingertip is asked to turn inward from where it starts, at most, and backward. Added up
// from key to key, against the palm, whose keys have the same times.
static void asked_of(tn_scene* scene, int finger, double* inward, double* backward)
{
    const tn_target_def *palm = tn_scene_target(scene, 0),
                        *tip  = tn_scene_target(scene, finger + 1);
    tn_quat last              = tip->keys[0].pose.orientation;
    double  sum               = 0;
    *inward = *backward = 0;
    for (int k = 1; k < tip->key_count; ++k) {
        const tn_quat p = palm->keys[k].pose.orientation;
        const tn_quat now =
            tns_quat_mul((tn_quat){p.w, -p.x, -p.y, -p.z}, tip->keys[k].pose.orientation);
        const tn_quat turn = tns_quat_mul(now, (tn_quat){last.w, -last.x, -last.y, -last.z});
        sum += 2 * atan2(turn.y, turn.w); // fingers bend about y
        *inward   = fmax(*inward, sum);
        *backward = fmin(*backward, sum);
        last      = now;
    }
}

TEST(a_hand_is_asked_for_more_than_it_can_do)
{
    tn_scene*   scene    = built("hand");
    const char* names[5] = {"thumb", "index", "middle", "ring", "little"};
    for (int i = 1; i < TNS_FINGER_COUNT; ++i) {
        double upper = 0, lower = 0, inward, backward;
        for (int k = 1; k <= 3; ++k) {
            const tn_limit end = joint_of(scene, tns_name("%s%d", names[i], k).text)->limit;
            upper += end.upper;
            lower += end.lower;
        }
        asked_of(scene, i, &inward, &backward);
        CHECK(inward > upper + 10 * degree && inward < upper + 60 * degree);
        CHECK(backward < lower - 10 * degree && backward > lower - 40 * degree);
    }
    tn_scene_free(scene);
}

static tn_quat turn_about_y(double angle)
{
    return (tn_quat){cos(angle / 2), 0, sin(angle / 2), 0};
}

// Where the axes of a hip's frames point, the leg turned about y: the angle between them is what
// the cone holds.
TEST(hips_bend_120_degrees_forward_and_30_back)
{
    tn_scene*   scene   = built("humanoid:joints=anatomical");
    const char* hips[2] = {"left_thigh", "right_thigh"};
    for (int i = 0; i < 2; ++i) {
        const tn_joint_def* hip = joint_of(scene, hips[i]);
        const tn_quat       p   = body_of(scene, "pelvis")->pose.orientation,
                      q         = body_of(scene, hips[i])->pose.orientation;
        const tn_vec3 z1        = tns_rotate(tns_quat_mul(p, hip->frame1.orientation), TNS_Z);
        for (double angle = -120; angle <= 30; angle += 150) { // about y: forward is negative
            const tn_quat leg = tns_quat_mul(turn_about_y(angle * degree), q);
            const tn_vec3 z2  = tns_rotate(tns_quat_mul(leg, hip->frame2.orientation), TNS_Z);
            CHECK_NEAR(acos(tns_dot(z1, z2)), hip->limit.cone, 1e-14);
        }
    }
    CHECK_NEAR(joint_of(scene, "left_shank")->limit.upper, 135 * degree, 1e-15);
    CHECK_NEAR(joint_of(scene, "right_forearm")->limit.upper, 145 * degree, 1e-15);
    CHECK_NEAR(joint_of(scene, "left_foot")->limit.lower, -20 * degree, 1e-15);
    tn_scene_free(scene);
}

TEST(a_robot_is_dragged_within_its_reach_with_torque_or_without)
{
    tn_scene *on = built("robot:stiffness=80"), *off = built("robot:stiffness=80,torque=off");
    const tn_target_def* target   = tn_scene_target(on, 0);
    const tn_vec3        shoulder = joint_of(on, "left_shoulder")->anchor;
    CHECK_TEXT(body_name(on, target->body), "left_hand");
    for (int k = 0; k < target->key_count; ++k)
        CHECK_LESS(tns_length(tns_sub(target->keys[k].pose.position, shoulder)), 0.63 + 1e-9);
    for (int i = 0; i < tn_scene_joint_count(on); ++i) {
        const tn_joint_def *with = tn_scene_joint(on, i), *without = tn_scene_joint(off, i);
        CHECK((with->stiffness > 0) == (with->type != TN_JOINT_WELD));
        CHECK_NEAR(without->stiffness, 0, 0);
        CHECK_NEAR(with->damping, without->damping, 0);
    }
    CHECK_NEAR(joint_of(on, "left_shoulder")->stiffness, 80, 0);
    CHECK_INT(joint_of(on, "right_elbow")->type, TN_JOINT_BALL);
    CHECK_INT(joint_of(on, "right_wrist")->type, TN_JOINT_BALL);
    tn_scene_free(on);
    tn_scene_free(off);
}

// Every level of limbs has the cross section of the trunk, so its mass is that of one rod.
TEST(plants_keep_their_cross_section_and_bend_by_the_fourth_power)
{
    const double pi = 3.14159265358979324, section = pi * 0.025 * 0.025;
    for (int branching = 1; branching <= 4; ++branching) {
        tn_scene*    scene  = built(tns_name("plant:depth=4,branching=%d", branching).text);
        const double length = 0.8 * (1 + 0.78 * (1 + 0.78 * (1 + 0.78)));
        CHECK_NEAR(mass_of(scene, "limb") / (800 * section * length), 1, 1e-13);
        CHECK_NEAR(mass_of(scene, "leaves") / (0.2 * 600 * section), 1, 1e-13);
        double drag = 0;
        for (int i = 0; i < tn_scene_drag_count(scene); ++i)
            drag += tn_scene_drag(scene, i)->quadratic;
        CHECK_NEAR(drag / (0.5 * 1.2 * 600 * section), 1, 1e-13);
        for (int i = 0; i < tn_scene_joint_count(scene); ++i) {
            const tn_joint_def* joint = tn_scene_joint(scene, i);
            const tn_shape_def* rod   = body_of(scene, joint->name)->shapes;
            if (rod->type != TN_SHAPE_CAPSULE) continue;
            const double moment = pi * pow(rod->radius, 4) / 4;
            CHECK_NEAR(joint->stiffness * 2 * rod->half_length / (6e9 * moment), 1, 1e-13);
        }
        tn_scene_free(scene);
    }
}

TEST(wind_rises_from_nothing_and_blows_one_way)
{
    tn_scene* scene = built("plant:wind=10,depth=3");
    double    sum = 0, count = 0;
    for (int i = 0; i < tn_scene_drag_count(scene); ++i) {
        const tn_drag_def* drag = tn_scene_drag(scene, i);
        CHECK(drag->wind_key_count > 1);
        CHECK_NEAR(drag->wind_keys[0].time, 0, 0);
        CHECK_NEAR(tns_length(drag->wind_keys[0].value), 0, 0);
        CHECK_NEAR(drag->wind_keys[drag->wind_key_count - 1].time, 12, 0);
        for (int k = 1; k < drag->wind_key_count; ++k) {
            const tn_vec3 v = drag->wind_keys[k].value;
            CHECK(v.x > 0 && v.x <= 17.5 && fabs(v.y) <= 3 && v.z == 0);
            CHECK(drag->wind_keys[k].time > drag->wind_keys[k - 1].time);
            sum += v.x;
            ++count;
        }
    }
    CHECK_NEAR(sum / count, 10, 1);
    tn_scene_free(scene);
}

// However many rods: the same mass, length and bending stiffness; with curl, the same way around.
TEST(hair_does_not_depend_on_how_it_is_cut_into_rods)
{
    const int rods[] = {1, 5, 40};
    for (int i = 0; i < 3; ++i) {
        tn_scene* scene =
            built(tns_name("hair:n=%d,strands=2,stiffness=3e-7,curl=2", rods[i]).text);
        double length = 0, mass = 0;
        for (int k = 1; k <= rods[i]; ++k) {
            const tns_text     name = tns_name("strand2_%d", k);
            const tn_body_def* rod  = body_of(scene, name.text);
            length += 2 * rod->shapes[0].half_length;
            mass += rod->mass;
            CHECK_NEAR(joint_of(scene, name.text)->stiffness * 0.3 / rods[i], 3e-7, 1e-21);
        }
        CHECK_NEAR(length, 0.3, 1e-14);
        CHECK_NEAR(mass, 1e-4, 1e-18);
        tn_scene_free(scene);
    }
}

// A helix of two windings: rods half a winding apart lean to opposite sides by the same angle. Rods
// are 7.5 mm long and 1.5 m from the origin, so directions are known to 1.5 / 0.0075 eps.
TEST(curls_lean_all_around)
{
    tn_scene*     scene = built("hair:n=40,curl=2");
    const tn_vec3 along = tns_vec(-0.6, 0, -0.8);
    for (int k = 1; k <= 30; ++k) {
        const tn_vec3 a = tns_rotate(
                          body_of(scene, tns_name("strand1_%d", k).text)->pose.orientation, TNS_Z),
                      b = tns_rotate(
                          body_of(scene, tns_name("strand1_%d", k + 10).text)->pose.orientation,
                          TNS_Z);
        CHECK_NEAR(tns_dot(a, along), cos(2 * 180 * degree * 0.11), 1e-13);
        CHECK_LESS(tns_length(tns_sub(tns_add(a, b), tns_scale(2 * tns_dot(a, along), along))),
                   1e-13);
    }
    tn_scene_free(scene);
}

// ---- Stiff characters in motion -----------------------------------------------------------------

typedef struct film {
    tn_scene*   scene;
    tn_model*   model;
    tn_state*   state;
    tn_stepper* stepper;
    double      joint_error; ///< largest so far
} film;

static film film_of(const char* spec)
{
    film f = {.scene = built(spec)};
    CHECK_OK(tn_scene_compile(f.scene, &f.model, NULL));
    CHECK_OK(tn_state_create(f.model, &f.state));
    CHECK_OK(tn_stepper_create(f.model, NULL, &f.stepper, NULL));
    return f;
}

static void film_free(film* f)
{
    CHECK_LESS(f->joint_error, 1e-8);
    tn_stepper_free(f->stepper);
    tn_state_free(f->state);
    tn_model_free(f->model);
    tn_scene_free(f->scene);
}

static bool next_frame(film* f)
{
    tn_step_report    report = {.h_taken = 0};
    tn_why            why    = {.text = ""};
    const tn_settings how    = tn_scene_settings(f->scene);
    if (tn_state_time(f->state) > how.duration - how.h / 2) return false;
    const tn_result result = tn_stepper_step(f->stepper, f->state, how.h, &report, &why);
    test_check(result == TN_OK, __FILE__, __LINE__, "step at t = %g: %s", tn_state_time(f->state),
               why.text);
    f->joint_error = fmax(f->joint_error, report.joint_error);
    return result == TN_OK;
}

static tn_frame pose_of(const film* f, const char* body)
{
    return tn_state_pose(f->state, tn_scene_find_body(f->scene, body, NULL));
}

// How far a joint is beyond its ends; of a ball beyond its cone, by where its bone points.
static double beyond_ends(const film* f, int index)
{
    const tn_joint_def* joint = tn_scene_joint(f->scene, index);
    const tn_limit*     end   = &joint->limit;
    if (joint->type != TN_JOINT_BALL) {
        double z[6];
        tn_state_joint_position(f->state, (tn_joint_id){(uint32_t)index + 1}, z);
        return fmax(end->lower - z[0], z[0] - end->upper);
    }
    const tn_quat q    = pose_of(f, body_name(f->scene, joint->body1)).orientation;
    const tn_vec3 bone = tns_rotate(pose_of(f, joint->name).orientation, TNS_Z);
    const tn_vec3 seen = tns_rotate((tn_quat){q.w, -q.x, -q.y, -q.z}, bone);
    return acos(tns_dot(seen, joint->axis)) - end->cone; // its parent stands upright at the start
}

// Between keys, as targets go.
static tn_vec3 asked_place(const tn_target_def* target, double time)
{
    const tn_key* k = target->keys;
    int           i = 1;
    while (i < target->key_count - 1 && k[i].time < time) ++i;
    const double s = fmin(1, fmax(0, (time - k[i - 1].time) / (k[i].time - k[i - 1].time)));
    return tns_mix(k[i - 1].pose.position, k[i].pose.position, s);
}

static double off_target(const film* f, int index)
{
    const tn_target_def* target = tn_scene_target(f->scene, index);
    const tn_frame       pose   = tn_state_pose(f->state, target->body);
    const tn_vec3        asked  = asked_place(target, tn_state_time(f->state));
    return tns_length(tns_sub(tns_place(pose, target->point), asked));
}

// Fingers alone are followed to 1.2 mm. The fist asks for 10 degrees more than some joints can:
// tips are off by 6 mm or more then, and the ends, 1000 N m/rad, hold to 4e-4 rad.
TEST(the_hand_follows_and_keeps_within_its_ends)
{
    film   f     = film_of("hand");
    double alone = 0, fist = 0, beyond = -1, aside = 0;
    while (next_frame(&f)) {
        const double time = tn_state_time(f.state);
        for (int i = 1; i <= TNS_FINGER_COUNT; ++i) {
            const double off = off_target(&f, i);
            if (time < 3.9) alone = fmax(alone, off);
            else fist = fmax(fist, off);
        }
        for (int i = 0; i < tn_scene_joint_count(f.scene); ++i) {
            double z[6];
            beyond = fmax(beyond, beyond_ends(&f, i));
            if (tn_scene_joint(f.scene, i)->type != TN_JOINT_UNIVERSAL) continue;
            tn_state_joint_position(f.state, (tn_joint_id){(uint32_t)i + 1}, z);
            aside = fmax(aside, fabs(z[1]));
        }
    }
    CHECK_LESS(alone, 2e-3);
    CHECK(fist > 5e-3 && fist < 15e-3);
    CHECK(beyond > 1e-4); // ends were met
    CHECK_LESS(beyond, 1e-3);
    CHECK_LESS(aside, 20 * degree);
    film_free(&f);
}

// With torque the free arm stays up, without it hangs. The hand is where it is pulled, but for what
// weight and springs draw from 4000 N/m.
TEST(the_robot_is_dragged)
{
    for (int off = 0; off < 2; ++off) {
        film   f     = film_of(off ? "robot:torque=off" : "robot");
        double apart = 0;
        while (next_frame(&f)) apart = fmax(apart, off_target(&f, 0));
        CHECK_LESS(apart, 0.05);
        const double height = pose_of(&f, "right_hand").position.z;
        if (off) CHECK_LESS(height, 0.8);
        else CHECK_LESS(0.9, height);
        film_free(&f);
    }
}

// The crown goes with the wind, by as much as the strength of the wind asks, and comes back between
// gusts; without wind it hardly moves.
TEST(the_plant_sways)
{
    const double wind[] = {0, 4, 8};
    double       sway[3];
    for (int i = 0; i < 3; ++i) {
        film   f    = film_of(tns_name("plant:depth=4,wind=%g", wind[i]).text);
        double from = 0, most = -1, least = 1;
        for (int k = 1; k <= 27; ++k)
            from += pose_of(&f, tns_name("leaves%d", k).text).position.x / 27;
        while (next_frame(&f)) {
            double mean = -from;
            for (int k = 1; k <= 27; ++k)
                mean += pose_of(&f, tns_name("leaves%d", k).text).position.x / 27;
            if (tn_state_time(f.state) < 2) continue;
            most  = fmax(most, mean);
            least = fmin(least, mean);
        }
        sway[i] = most;
        CHECK_LESS(fabs(least), most + 1e-3);
        film_free(&f);
    }
    CHECK_LESS(fabs(sway[0]), 0.01);
    CHECK(sway[1] > 0.01 && sway[2] > 2 * sway[1] && sway[2] < 0.8);
}

// Thrown about while the head turns, at rest when it has rested: straight hair hangs straight but
// for its root, curls are shorter.
TEST(hair_flies_and_falls)
{
    double reach[2];
    for (int curly = 0; curly < 2; ++curly) {
        film             f       = film_of(curly ? "hair:curl=4" : "hair");
        const tn_vec3    root    = tn_scene_joint(f.scene, 0)->anchor;
        const tn_body_id tip     = tn_scene_find_body(f.scene, "strand1_20", NULL);
        double           fastest = 0, farthest = 0;
        while (next_frame(&f)) {
            fastest = fmax(fastest, tns_length(tn_state_velocity(f.state, tip).linear));
            farthest =
                fmax(farthest, tns_length(tns_sub(tn_state_pose(f.state, tip).position, root)));
        }
        CHECK(fastest > 0.5);
        CHECK(farthest < 0.3 + 0.2);
        CHECK_LESS(tns_length(tn_state_velocity(f.state, tip).linear), 0.05);
        reach[curly] = root.z - tn_state_pose(f.state, tip).position.z;
        film_free(&f);
    }
    CHECK(reach[0] > 0.26 && reach[0] < 0.3);
    CHECK(reach[1] > 0.15 && reach[1] < reach[0] - 0.01);
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
        static const char* const shows[] = {"spring_pendulum", "hand", "crowd", "rod_and_block",
                                            "ragdoll_pile"}; // a method; others name none
        bool                     named   = false;
        for (int k = 0; k < 5; ++k) named = named || strcmp(shows[k], tns_at(s)->name) == 0;
        CHECK((tn_scene_settings(one).method != TN_METHOD_AUTO) == named);
        CHECK(tn_scene_settings(one).h ==
              (strcmp(tns_at(s)->name, "spring_pendulum") == 0 ? 0.002 : 1.0 / 60));
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
                           "hair:n=3",     "humanoid:joints=anatomical",
                           "gripper",      "ragdoll_pile:n=1",
                           "marbles:n=2",  "strandbeest:legs=2,walk=stand,drop=1",
                           "car",          "delta",
                           "planetary"};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; ++i) {
        check_every_failure(specs[i], false);
        check_every_failure(specs[i], true);
    }
}
