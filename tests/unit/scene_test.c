#include "model/name_table.h"
#include "model/scene.h"
#include "support/failing_host.h"
#include "tenon/tenon.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>

static tn_scene* new_scene(void)
{
    tn_scene* scene = NULL;
    CHECK_OK(tn_scene_create(NULL, &scene));
    return scene;
}

static tn_body_def ball_body(const char* name)
{
    tn_body_def def = tn_default_body_def();
    def.name        = name;
    def.mass        = 1;
    for (int k = 0; k < 6; ++k) def.inertia[k] = k < 3 ? 1 : 0;
    return def;
}

static tn_key key_at(double time, double x)
{
    return (tn_key){time, {{x, 0, 0}, {1, 0, 0, 0}}};
}

// ---- A small mechanism that most tests start from ----------------------------------------------

typedef struct bench {
    tn_scene*   scene;
    tn_body_id  a, b, wall, lift;
    tn_joint_id hinge, slider, weld, ball;
} bench;

static tn_joint_id add_joint(tn_scene* scene, const char* name, tn_joint_type type,
                             tn_body_id body1, tn_body_id body2)
{
    tn_joint_def def = tn_default_joint_def(type);
    def.name         = name;
    def.body1        = body1;
    def.body2        = body2;
    return tn_scene_add_joint(scene, &def);
}

static bench new_bench(void)
{
    bench       t    = {.scene = new_scene()};
    tn_body_def body = ball_body("a");
    t.a              = tn_scene_add_body(t.scene, &body);
    body.name        = "b";
    t.b              = tn_scene_add_body(t.scene, &body);
    body             = tn_default_body_def();
    body.name        = "wall";
    body.kind        = TN_BODY_STATIC;
    t.wall           = tn_scene_add_body(t.scene, &body);
    const tn_key key = key_at(0, 0);
    body.name        = "lift";
    body.kind        = TN_BODY_KINEMATIC;
    body.keys        = &key;
    body.key_count   = 1;
    t.lift           = tn_scene_add_body(t.scene, &body);
    t.hinge          = add_joint(t.scene, "hinge", TN_JOINT_HINGE, (tn_body_id){0}, t.a);
    t.slider         = add_joint(t.scene, "slider", TN_JOINT_SLIDER, t.a, t.b);
    t.weld           = add_joint(t.scene, "weld", TN_JOINT_WELD, t.a, t.b);
    t.ball           = add_joint(t.scene, "ball", TN_JOINT_BALL, t.a, t.b);
    CHECK_OK(tn_scene_problem(t.scene, NULL));
    return t;
}

static int part_count(const tn_scene* s)
{
    return tn_scene_body_count(s) + tn_scene_joint_count(s) + tn_scene_coupling_count(s) +
           tn_scene_spring_count(s) + tn_scene_target_count(s) + tn_scene_load_count(s) +
           tn_scene_drag_count(s) + tn_scene_exclude_count(s) + tn_scene_include_count(s) +
           tn_scene_pair_count(s);
}

// The last add was refused, left the scene unchanged, and the reason is `what`.
static void check_refused(bench* t, bool refused, int line, const char* what)
{
    tn_why          why    = {0};
    const tn_result result = tn_scene_problem(t->scene, &why);
    test_check(refused && result == TN_ERR_MODEL && why.result == TN_ERR_MODEL, __FILE__, line,
               "not refused: %s", what);
    test_check(strstr(why.text, what) != NULL, __FILE__, line, "\"%s\" lacks \"%s\"", why.text,
               what);
    test_check(part_count(t->scene) == 8, __FILE__, line, "the scene has changed");
    tn_scene_free(t->scene);
}

// The statements change def; t is the small mechanism.
#define REFUSED_BODY(what, ...)                                                        \
    do {                                                                               \
        bench       t   = new_bench();                                                 \
        tn_body_def def = ball_body("it");                                             \
        __VA_ARGS__;                                                                   \
        check_refused(&t, tn_scene_add_body(t.scene, &def).bits == 0, __LINE__, what); \
    } while (0)
#define REFUSED_JOINT(type_, what, ...)                                                 \
    do {                                                                                \
        bench        t   = new_bench();                                                 \
        tn_joint_def def = tn_default_joint_def(type_);                                 \
        def.name         = "pin";                                                       \
        def.body1        = t.a;                                                         \
        def.body2        = t.b;                                                         \
        __VA_ARGS__;                                                                    \
        check_refused(&t, tn_scene_add_joint(t.scene, &def).bits == 0, __LINE__, what); \
    } while (0)
#define REFUSED_OTHER(thing, def_, what, ...)                                             \
    do {                                                                                  \
        bench            t   = new_bench();                                               \
        tn_##thing##_def def = def_;                                                      \
        def.name             = "it";                                                      \
        __VA_ARGS__;                                                                      \
        check_refused(&t, tn_scene_add_##thing(t.scene, &def).bits == 0, __LINE__, what); \
    } while (0)

static const double nan_value = TN_UNSET;

// ---- Names -------------------------------------------------------------------------------------

TEST(unnamed_parts_get_the_next_free_number)
{
    tn_scene*   scene = new_scene();
    tn_body_def def   = ball_body("body2");
    CHECK_INT(tn_scene_add_body(scene, &def).bits, 1);
    def.name = NULL;
    CHECK_INT(tn_scene_add_body(scene, &def).bits, 2);
    def.name = "";
    CHECK_INT(tn_scene_add_body(scene, &def).bits, 3);
    CHECK_TEXT(tn_scene_body(scene, 1)->name, "body1");
    CHECK_TEXT(tn_scene_body(scene, 2)->name, "body3");
    add_joint(scene, NULL, TN_JOINT_BALL, (tn_body_id){1}, (tn_body_id){2});
    CHECK_TEXT(tn_scene_joint(scene, 0)->name, "joint1");
    tn_spring_def spring = tn_default_spring_def();
    spring.body2         = (tn_body_id){1};
    CHECK(tn_scene_add_spring(scene, &spring).bits != 0);
    CHECK(tn_scene_add_spring(scene, &spring).bits != 0);
    CHECK(tn_scene_spring(scene, 0)->name == NULL);
    CHECK_OK(tn_scene_problem(scene, NULL));
    tn_scene_free(scene);
}

TEST(names_are_found_and_ground_is_the_null_body)
{
    bench t     = new_bench();
    bool  found = false;
    CHECK_INT(tn_scene_find_body(t.scene, "wall", &found).bits, t.wall.bits);
    CHECK(found);
    CHECK_INT(tn_scene_find_body(t.scene, "ground", &found).bits, 0);
    CHECK(found);
    CHECK_INT(tn_scene_find_body(t.scene, "nobody", &found).bits, 0);
    CHECK(!found);
    CHECK_INT(tn_scene_find_body(t.scene, "b", NULL).bits, t.b.bits);
    CHECK_INT(tn_scene_find_joint(t.scene, "weld").bits, t.weld.bits);
    CHECK_INT(tn_scene_find_joint(t.scene, "wall").bits, 0);
    tn_scene* empty = new_scene();
    CHECK_INT(tn_scene_find_joint(empty, "weld").bits, 0);
    tn_scene_free(empty);
    tn_scene_free(t.scene);
}

TEST(bad_names_are_refused)
{
    char exact[64], longer[65];
    memset(exact, 'n', 63);
    memset(longer, 'n', 64);
    exact[63] = longer[64] = 0;
    REFUSED_BODY("body 5: name is longer than 63 bytes", def.name = longer);
    REFUSED_BODY("body 5: the name 'ground'", def.name = "ground");
    REFUSED_BODY("body 'a': another body has this name", def.name = "a");
    REFUSED_BODY("body 5: name contains a control character", def.name = "a\nb");
    REFUSED_BODY("body 5: name contains a control character", def.name = "a\x7f");
    REFUSED_BODY("body 5: name contains a control character", def.name = "a\xc2\x85");
    REFUSED_BODY("body 5: name is not valid UTF-8", def.name = "\xff");
    REFUSED_BODY("body 5: name is not valid UTF-8", def.name = "\xc0\x80");
    REFUSED_BODY("body 5: name is not valid UTF-8", def.name = "\xed\xa0\x80");
    REFUSED_BODY("body 5: name is not valid UTF-8", def.name = "\xf4\x90\x80\x80");
    REFUSED_BODY("body 5: name is not valid UTF-8", def.name = "a\xe2\x82");
    REFUSED_JOINT(TN_JOINT_BALL, "joint 'weld': another joint", def.name = "weld");
    REFUSED_JOINT(TN_JOINT_BALL, "joint 5: the name 'ground'", def.name = "ground");
    bench       t   = new_bench();
    tn_body_def def = ball_body(exact);
    CHECK_INT(tn_scene_add_body(t.scene, &def).bits, 5);
    def.name = "\xe2\x82\xac \xf0\x9f\xa6\xbe"; // the euro, and a mechanical arm
    CHECK_INT(tn_scene_add_body(t.scene, &def).bits, 6);
    def.name = "weld"; // kinds do not share names
    CHECK_INT(tn_scene_add_body(t.scene, &def).bits, 7);
    tn_spring_def spring = tn_default_spring_def();
    spring.name          = "s";
    spring.body2         = t.a;
    CHECK(tn_scene_add_spring(t.scene, &spring).bits != 0);
    CHECK_INT(tn_scene_add_spring(t.scene, &spring).bits, 0);
    tn_scene_free(t.scene);
}

TEST(names_table_grows_and_finds_all)
{
    enum { COUNT = 3000 };
    static char    text[COUNT][16];
    const tn_host  host  = tn_default_host();
    tni_name_table names = {0};
    for (int i = 0; i < COUNT; ++i) {
        snprintf(text[i], sizeof text[i], "n%d", i);
        CHECK(tni_name_table_reserve(&names, &host));
        tni_name_table_put(&names, text[i], (uint32_t)i + 1);
    }
    int wrong = 0;
    for (int i = 0; i < COUNT; ++i)
        wrong += tni_name_table_find(&names, text[i]) != (uint32_t)i + 1;
    CHECK_INT(wrong, 0);
    CHECK_INT(tni_name_table_find(&names, "n3000"), 0);
    tni_name_table_free(&names, &host);
}

// ---- Refusals ----------------------------------------------------------------------------------

static int asserts;

static void count_assert(const char* expression, const char* file, int line)
{
    (void)file, (void)line;
    asserts += strstr(expression, "made by") != NULL;
}

TEST(defs_that_skip_the_defaults_are_refused)
{
    tn_set_assert_handler(count_assert);
    asserts = 0;
    REFUSED_BODY("body 5: tn_body_def was not made by tn_default_body_def()", def.cookie = 0);
    REFUSED_JOINT(TN_JOINT_BALL, "joint 5: tn_joint_def was not made by tn_default_joint_def()",
                  def.cookie = 1);
    REFUSED_OTHER(coupling, tn_default_coupling_def(TN_COUPLING_GEAR), "tn_default_coupling_def()",
                  def.cookie = 0);
    REFUSED_OTHER(spring, tn_default_spring_def(), "spring 1: tn_spring_def was not made by",
                  def.cookie = 0);
    REFUSED_OTHER(target, tn_default_target_def(), "target 1: tn_target_def was not made by",
                  def.cookie = 0);
    REFUSED_OTHER(load, tn_default_load_def(), "load 1: tn_load_def was not made by",
                  def.cookie = 0);
    REFUSED_OTHER(drag, tn_default_drag_def(), "drag 1: tn_drag_def was not made by",
                  def.cookie = 0);
    tn_shape_def bare = {.type = TN_SHAPE_SPHERE, .radius = 1};
    REFUSED_BODY("body 'it': shape 1: tn_shape_def was not made by tn_default_shape_def()",
                 def.shapes = &bare, def.shape_count = 1);
    bench             t    = new_bench();
    tn_constraint_def law  = {.name = "it"};
    tn_pair_def       pair = {.body1 = t.a, .body2 = t.b};
    tn_settings       set  = {.h = 0.001};
    tn_joint_def      pin  = {.name = "pin"};
    tn_why            why;
    check_refused(&t, tn_scene_add_constraint(t.scene, &law).bits == 0, __LINE__,
                  "joint 5: tn_constraint_def was not made by tn_default_constraint_def()");
    t = new_bench();
    check_refused(&t, tn_scene_add_pair(t.scene, &pair) == TN_ERR_MODEL, __LINE__,
                  "contact pair 1: tn_pair_def was not made by tn_default_pair_def()");
    t = new_bench();
    CHECK_INT(tn_scene_set_joint(t.scene, t.hinge, &pin, &why), TN_ERR_MODEL);
    CHECK_TEXT(why.text, "joint 'hinge': tn_joint_def was not made by tn_default_joint_def()");
    tn_scene_set_settings(t.scene, &set);
    CHECK_INT(tn_scene_problem(t.scene, &why), TN_ERR_MODEL);
    CHECK_TEXT(why.text, "tn_settings were not made by tn_default_settings()");
    tn_stepper* stepper = NULL;
    why                 = (tn_why){.text = ""};
    CHECK_INT(tn_stepper_create(NULL, &set, &stepper, &why), TN_ERR_MODEL);
    CHECK_TEXT(why.text, "tn_settings were not made by tn_default_settings()");
    const tn_mocap_options options = {.scale = 1};
    CHECK_INT(tn_mocap_drive(t.scene, NULL, &options, NULL, &why), TN_ERR_MODEL);
    CHECK_TEXT(why.text, "tn_mocap_options were not made by tn_default_mocap_options()");
    tn_scene_free(t.scene);
    tn_set_assert_handler(NULL);
#ifdef NDEBUG
    CHECK_INT(asserts, 0);
#else
    CHECK_INT(asserts, 14); // and each of them asserts, where asserts are on
#endif
}

TEST(bodies_with_bad_mass_or_inertia_are_refused)
{
    REFUSED_BODY("body 'it': mass must be positive, is -1", def.mass = -1);
    REFUSED_BODY("body 'it': mass must be positive, is 0", def.mass = 0);
    REFUSED_BODY("body 'it': mass must be finite", def.mass = (double)INFINITY);
    REFUSED_BODY("body 'body1': mass must be positive", def.name = NULL, def.mass = -1);
    REFUSED_BODY("body 'it': mass is not given", def.mass = nan_value);
    REFUSED_BODY("body 'it': inertia is not given", def.inertia[0] = nan_value);
    REFUSED_BODY("body 'it': inertia must be finite", def.inertia[4] = nan_value);
    REFUSED_BODY("body 'it': centre of mass must be finite", def.com = (tn_vec3){0, nan_value, 0});
    REFUSED_BODY("body 'it': impossible inertia", def.inertia[1] = 2.1);
    REFUSED_BODY("body 'it': impossible inertia", def.inertia[1] = 0);
    REFUSED_BODY("body 'it': impossible inertia", def.inertia[1] = -1);
    REFUSED_BODY("body 'it': impossible inertia", def.inertia[3] = 1.5);
    REFUSED_BODY("body 'it': impossible inertia", def.kind = TN_BODY_AFFINE, def.inertia[2] = 2);
    REFUSED_BODY("body 'it': inertia about z must be positive, is 0", def.kind = TN_BODY_PLANAR,
                 def.inertia[2] = 0);
    REFUSED_BODY("body 'it': mass is not given", def.kind = TN_BODY_PARTICLE, def.mass = nan_value);
    REFUSED_BODY("body 'it': unknown kind", def.kind = (tn_body_kind)99);
}

TEST(flat_planar_and_point_bodies_are_accepted)
{
    bench       t   = new_bench();
    tn_body_def def = ball_body(NULL);
    def.inertia[2]  = 2; // a flat disc: rigid may be flat
    CHECK(tn_scene_add_body(t.scene, &def).bits != 0);
    def.kind       = TN_BODY_PLANAR;
    def.inertia[0] = def.inertia[1] = 0;
    CHECK(tn_scene_add_body(t.scene, &def).bits != 0);
    def.kind       = TN_BODY_PARTICLE;
    def.inertia[0] = nan_value;
    CHECK(tn_scene_add_body(t.scene, &def).bits != 0);
    def.kind = TN_BODY_STATIC;
    def.mass = nan_value;
    CHECK(tn_scene_add_body(t.scene, &def).bits != 0);
    CHECK_OK(tn_scene_problem(t.scene, NULL));
    tn_scene_free(t.scene);
}

TEST(bodies_with_bad_motion_are_refused)
{
    REFUSED_BODY("body 'it': pose must be finite", def.pose.position.y = nan_value);
    REFUSED_BODY("body 'it': orientation of pose has zero length", def.pose.orientation.w = 0);
    REFUSED_BODY("body 'it': orientation of pose must be finite",
                 def.pose.orientation.x = (double)INFINITY);
    REFUSED_BODY("body 'it': velocity must be finite", def.velocity.linear.z = nan_value);
    REFUSED_BODY("body 'it': angular velocity must be finite", def.velocity.angular.z = nan_value);
    REFUSED_BODY("body 'it': orientation of a planar body", def.kind = TN_BODY_PLANAR,
                 def.pose.orientation.x = 1e-6);
    REFUSED_BODY("body 'it': velocity of a planar body", def.kind = TN_BODY_PLANAR,
                 def.velocity.linear.z = 1);
    REFUSED_BODY("body 'it': velocity of a planar body", def.kind = TN_BODY_PLANAR,
                 def.velocity.angular.x = 1);
    REFUSED_BODY("body 'it': a particle has no angular", def.kind = TN_BODY_PARTICLE,
                 def.velocity.angular.x = 1);
    REFUSED_BODY("body 'it': a static body has no velocity", def.kind = TN_BODY_STATIC,
                 def.velocity.linear.x = 1);
    const tn_key keys[2] = {{1, {{0, 0, 0}, {1, 0, 0, 0}}}, {1, {{0, 0, 0}, {1, 0, 0, 0}}}};
    const tn_key bad     = {0, {{0, 0, 0}, {0, 0, 0, 0}}};
    REFUSED_BODY("body 'it': needs at least one key", def.kind = TN_BODY_KINEMATIC);
    REFUSED_BODY("body 'it': key times must increase", def.kind = TN_BODY_KINEMATIC,
                 def.keys = keys, def.key_count = 2);
    REFUSED_BODY("body 'it': orientation of key 1", def.kind = TN_BODY_KINEMATIC, def.keys = &bad,
                 def.key_count = 1);
    REFUSED_BODY("body 'it': keys are for kinematic bodies", def.keys = keys, def.key_count = 1);
    REFUSED_BODY("body 'it': the keys of a kinematic body", def.kind = TN_BODY_KINEMATIC,
                 def.keys = keys, def.key_count = 1, def.velocity.linear.x = 1);
}

TEST(affine_bodies_need_valid_elasticity)
{
    REFUSED_BODY("body 'it': Young's modulus must not be negative", def.kind = TN_BODY_AFFINE,
                 def.young = -1);
    REFUSED_BODY("body 'it': Poisson's ratio", def.kind = TN_BODY_AFFINE, def.poisson = 0.5);
    REFUSED_BODY("body 'it': Poisson's ratio", def.kind = TN_BODY_AFFINE, def.poisson = -1);
    REFUSED_BODY("body 'it': volume must be positive", def.kind = TN_BODY_AFFINE, def.volume = 0);
    REFUSED_BODY("body 'it': an elastic body needs a volume", def.kind = TN_BODY_AFFINE,
                 def.young = 1);
}

TEST(bad_shapes_are_refused)
{
#define REFUSED_SHAPE(type_, what, ...)                                                            \
    REFUSED_BODY(what, tn_shape_def s = tn_default_shape_def(type_); s.radius = s.half_length = 1; \
                 s.half_size = (tn_vec3){1, 1, 1}; __VA_ARGS__; def.shapes = &s;                   \
                 def.shape_count                                           = 1)
    const tn_vec3 flat[5] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}, {2, 3, 0}};
    const tn_vec3 wild[4] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, (double)INFINITY}};
    REFUSED_SHAPE(TN_SHAPE_SPHERE, "body 'it': radius of shape 1 must be positive, is 0",
                  s.radius = 0);
    REFUSED_SHAPE(TN_SHAPE_SPHERE, "body 'it': radius of shape 1 must be finite",
                  s.radius = nan_value);
    REFUSED_SHAPE(TN_SHAPE_BOX, "body 'it': half size of shape 1 must be positive",
                  s.half_size.y = -1);
    REFUSED_SHAPE(TN_SHAPE_CAPSULE, "body 'it': half length of shape 1", s.half_length = 0);
    REFUSED_SHAPE(TN_SHAPE_CYLINDER, "body 'it': radius of shape 1", s.radius = -2);
    REFUSED_SHAPE(TN_SHAPE_CONVEX, "body 'it': shape 1: convex needs at least 4 points",
                  s.points = flat, s.point_count = 3);
    REFUSED_SHAPE(TN_SHAPE_CONVEX, "body 'it': shape 1: all points", s.points = flat,
                  s.point_count = 5);
    REFUSED_SHAPE(TN_SHAPE_CONVEX, "body 'it': shape 1: points must be finite", s.points = wild,
                  s.point_count = 4);
    REFUSED_SHAPE(TN_SHAPE_MESH, "body 'it': inertia is not given", s.file = "m.obj",
                  s.collide = false, def.inertia[0] = nan_value);
    REFUSED_SHAPE((tn_shape_type)77, "body 'it': shape 1: unknown type", s.radius = 1);
    REFUSED_SHAPE(TN_SHAPE_SPHERE, "body 'it': density of shape 1 must be positive, is 0",
                  s.density = 0);
    REFUSED_SHAPE(TN_SHAPE_SPHERE, "body 'it': friction of shape 1", s.friction = -0.1);
    REFUSED_SHAPE(TN_SHAPE_SPHERE, "body 'it': restitution of shape 1", s.restitution = 1.1);
    REFUSED_SHAPE(TN_SHAPE_SPHERE, "body 'it': color of shape 1", s.color = (tn_vec3){0, 2, 0});
    REFUSED_SHAPE(TN_SHAPE_SPHERE, "body 'it': shape 1 must be finite",
                  s.pose.position.x = nan_value);
    REFUSED_SHAPE(TN_SHAPE_SPHERE, "body 'it': orientation of shape 1 has zero length",
                  s.pose.orientation.w = 0);
    REFUSED_BODY("body 'it': shapes are missing", def.shape_count = 1);
}

TEST(bad_meshes_are_refused)
{
    const tn_vec3 corner[4] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const tn_vec3 wild[4]   = {{0, 0, 0}, {1, 0, 0}, {0, nan_value, 0}, {0, 0, 1}};
    const int     sides[12] = {0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3}, bad[6] = {0, 2, 1, 0, 4, 3};
    const int     low[3] = {0, 2, -1};
#define REFUSED_MESH(what, ...)                                                 \
    REFUSED_SHAPE(TN_SHAPE_MESH, what, s.vertices = corner, s.vertex_count = 4, \
                  s.triangles = sides, s.triangle_count = 4, __VA_ARGS__)
    REFUSED_MESH("body 'it': shape 1: mesh needs vertices and triangles",
                 s.vertex_count = s.triangle_count = 0);
    REFUSED_MESH("body 'it': shape 1: its mesh was not read: tn_mesh_read() gives",
                 s.file = "m.obj", s.vertex_count = s.triangle_count = 0);
    REFUSED_MESH("body 'it': shape 1: its mesh was not read", s.file = "m.obj", s.collide = false,
                 s.density = 1, s.vertex_count = s.triangle_count = 0);
    REFUSED_MESH("shape 1: mesh needs at least 3 vertices and a triangle", s.vertex_count = 2);
    REFUSED_MESH("shape 1: mesh needs at least 3 vertices and a triangle", s.vertices = NULL);
    REFUSED_MESH("shape 1: mesh needs at least 3 vertices and a triangle", s.triangle_count = 0);
    REFUSED_MESH("shape 1: mesh needs at least 3 vertices and a triangle", s.triangle_count = -1);
    REFUSED_MESH("shape 1: mesh needs at least 3 vertices and a triangle", s.triangles = NULL);
    REFUSED_MESH("body 'it': shape 1: vertices must be finite", s.vertices = wild);
    REFUSED_MESH("body 'it': shape 1: triangle 2 has vertex 4, but vertices are 0 to 3",
                 s.triangles = bad, s.triangle_count = 2);
    REFUSED_MESH("body 'it': shape 1: triangle 1 has vertex -1", s.triangles = low,
                 s.triangle_count = 1);
    REFUSED_MESH("body 'it': pieces tolerance of shape 1 must be positive, is 0",
                 s.pieces_tolerance = 0);
    REFUSED_MESH("pieces tolerance of shape 1", s.pieces_tolerance = (double)INFINITY);
    REFUSED_MESH("body 'it': shape 1: its mesh is not closed, so a density gives it no mass",
                 s.triangle_count = 3, s.density = 1, def.mass = nan_value);
    REFUSED_MESH("body 'it': inertia is not given", s.triangle_count = 3,
                 def.inertia[0] = nan_value);
}

TEST(bad_height_fields_are_refused)
{
    const double z[6] = {1, 2, 3, 4, 5, 6}, wild[4] = {1, 2, nan_value, 4};
#define REFUSED_HEIGHTS(what, ...)                                                              \
    REFUSED_SHAPE(TN_SHAPE_HEIGHTS, what, def.kind = TN_BODY_STATIC, s.heights = z, s.rows = 2, \
                  s.columns = 2, s.spacing[0] = s.spacing[1] = 1, __VA_ARGS__)
    REFUSED_HEIGHTS("body 'it': shape 1: heights are for static bodies only",
                    def.kind = TN_BODY_RIGID);
    REFUSED_HEIGHTS("shape 1: heights need at least 2 rows of 2 columns, have 1 of 6", s.rows = 1,
                    s.columns = 6);
    REFUSED_HEIGHTS("have 6 of 1", s.rows = 6, s.columns = 1);
    REFUSED_HEIGHTS("have 2 of 2", s.heights = NULL);
    REFUSED_HEIGHTS("shape 1: heights make more than 1048576 triangles", s.rows = 1 << 30,
                    s.columns = 1 << 30);
    REFUSED_HEIGHTS("shape 1: heights make more than 1048576 triangles", s.rows = 2,
                    s.columns = (1 << 19) + 2);
    REFUSED_HEIGHTS("body 'it': spacing of shape 1 must be positive, is 1 and 0", s.spacing[1] = 0);
    REFUSED_HEIGHTS("body 'it': spacing of shape 1", s.spacing[0] = nan_value);
    REFUSED_HEIGHTS("body 'it': shape 1: heights must be finite", s.heights = wild);
}

TEST(bad_surfaces_are_refused)
{
    REFUSED_SHAPE(TN_SHAPE_SPHERE, "body 'it': rolling friction of shape 1 must not be negative",
                  s.rolling_friction = -1);
    REFUSED_SHAPE(TN_SHAPE_SPHERE, "body 'it': spinning friction of shape 1 must not be negative",
                  s.spinning_friction = nan_value);
    REFUSED_SHAPE(TN_SHAPE_SPHERE, "body 'it': surface velocity of shape 1 must be finite",
                  s.surface_velocity.z = nan_value);
    REFUSED_SHAPE(TN_SHAPE_SPHERE, "body 'it': group of shape 1 must lie in 0..31, is 32",
                  s.group = 32);
    REFUSED_SHAPE(TN_SHAPE_SPHERE, "body 'it': group of shape 1 must lie in 0..31, is -1",
                  s.group = -1);
}

TEST(bad_contact_pairs_are_refused)
{
#define REFUSED_PAIR(what, ...)                                                                \
    do {                                                                                       \
        bench       t   = new_bench();                                                         \
        tn_pair_def def = tn_default_pair_def();                                               \
        def.body1 = t.a, def.body2 = t.b;                                                      \
        __VA_ARGS__;                                                                           \
        check_refused(&t, tn_scene_add_pair(t.scene, &def) == TN_ERR_MODEL, __LINE__, (what)); \
    } while (0)
    REFUSED_PAIR("contact pair 1: no such body", def.body2.bits = 99);
    REFUSED_PAIR("contact pair 1: both its bodies are 'a'", def.body2 = t.a);
    REFUSED_PAIR("contact pair 1: friction must not be negative, is -1", def.friction = -1);
    REFUSED_PAIR("contact pair 1: restitution must lie in 0..1, is 2", def.restitution = 2);
    REFUSED_PAIR("contact pair 1: rolling friction must be finite",
                 def.rolling_friction = (double)INFINITY);
    REFUSED_PAIR("contact pair 1: spinning friction must not be negative",
                 def.spinning_friction = -1e-9);
}

TEST(bad_joints_are_refused)
{
    REFUSED_JOINT((tn_joint_type)99, "joint 'pin': unknown type", def.name = "pin");
    REFUSED_JOINT(TN_JOINT_USER, "joint 'pin': user-defined", def.name = "pin");
    REFUSED_JOINT(TN_JOINT_BALL, "joint 'pin': no such body", def.body2.bits = 77);
    REFUSED_JOINT(TN_JOINT_BALL, "joint 'pin': both its bodies are 'a'", def.body2 = def.body1);
    REFUSED_JOINT(TN_JOINT_BALL, "joint 'pin': both its bodies are 'ground'",
                  def.body1.bits = def.body2.bits = 0);
    REFUSED_JOINT(TN_JOINT_BALL, "joint 'pin': neither of its bodies can move", def.body1 = t.wall,
                  def.body2 = t.lift);
    REFUSED_JOINT(TN_JOINT_HINGE, "joint 'pin': axis has zero length", def.axis = (tn_vec3){0});
    REFUSED_JOINT(TN_JOINT_HINGE, "joint 'pin': axis must be finite", def.axis.x = nan_value);
    REFUSED_JOINT(TN_JOINT_HINGE, "joint 'pin': axis is too long", def.axis.x = 1e200);
    REFUSED_JOINT(TN_JOINT_HINGE, "joint 'pin': anchor must be finite", def.anchor.x = nan_value);
    REFUSED_JOINT(TN_JOINT_UNIVERSAL, "joint 'pin': axis2 has zero length",
                  def.axis2 = (tn_vec3){0});
    REFUSED_JOINT(TN_JOINT_UNIVERSAL, "joint 'pin': axis2 must be perpendicular",
                  def.axis2 = (tn_vec3){1, 0, 1e-5});
    REFUSED_JOINT(TN_JOINT_HINGE, "joint 'pin': orientation of frame 2",
                  def.form = TN_JOINT_BY_FRAMES, def.frame2.orientation.w = 0);
    REFUSED_JOINT(TN_JOINT_HINGE,
                  "joint 'pin': only a distance or a rope is placed by points, not a hinge",
                  def.form = TN_JOINT_BY_POINTS);
    REFUSED_JOINT(TN_JOINT_HINGE, "joint 'pin': unknown form", def.form = (tn_joint_form)9);
    REFUSED_JOINT(TN_JOINT_DISTANCE, "joint 'pin': a distance needs a point",
                  def.form = TN_JOINT_BY_ANCHOR);
    REFUSED_JOINT(TN_JOINT_ROPE, "joint 'pin': a rope needs a point or a frame in each body",
                  def.form = TN_JOINT_BY_ANCHOR);
    REFUSED_JOINT(TN_JOINT_ROPE, "joint 'pin': length must be positive, is -1", def.length = -1);
    REFUSED_JOINT(TN_JOINT_ROPE, "joint 'pin': point 1 must be finite",
                  def.frame1.position.x = nan_value);
    REFUSED_JOINT(TN_JOINT_HINGE, "joint 'pin': unknown role", def.role = (tn_role)3);
    REFUSED_JOINT(TN_JOINT_DISTANCE, "joint 'pin': length must be positive, is 0", def.length = 0);
    REFUSED_JOINT(TN_JOINT_DISTANCE, "joint 'pin': point 2 must be finite",
                  def.frame2.position.z = nan_value);
    REFUSED_JOINT(TN_JOINT_SCREW, "joint 'pin': pitch must be finite", def.pitch = nan_value);
    REFUSED_JOINT(TN_JOINT_MOTOR, "joint 'pin': a motor drives a hinge or a slider",
                  def.of = TN_JOINT_BALL);
    REFUSED_JOINT(TN_JOINT_MOTOR, "joint 'pin': velocity must be finite", def.velocity = nan_value);
    const tn_value_key keys[2] = {{0, 1}, {0, 2}}, bad = {0, (double)INFINITY};
    REFUSED_JOINT(TN_JOINT_MOTOR, "joint 'pin': velocity key times must increase",
                  def.velocity_keys = keys, def.velocity_key_count = 2);
    REFUSED_JOINT(TN_JOINT_MOTOR, "joint 'pin': velocity key must be finite",
                  def.velocity_keys = &bad, def.velocity_key_count = 1);
    REFUSED_JOINT(TN_JOINT_ROLLING, "joint 'pin': rolling needs a radius", def.name = "pin");
    REFUSED_JOINT(TN_JOINT_ROLLING, "joint 'pin': radius must be positive, is -1", def.radius = -1);
}

TEST(bad_joint_springs_and_limits_are_refused)
{
    REFUSED_JOINT(TN_JOINT_HINGE, "joint 'pin': stiffness must not be negative, is -1",
                  def.stiffness = -1);
    REFUSED_JOINT(TN_JOINT_HINGE, "joint 'pin': damping must not be negative", def.damping = -1);
    REFUSED_JOINT(TN_JOINT_HINGE, "joint 'pin': friction must not be negative, is -1",
                  def.friction = -1);
    REFUSED_JOINT(TN_JOINT_HINGE, "joint 'pin': friction must be finite", def.friction = nan_value);
    REFUSED_JOINT(TN_JOINT_HINGE, "joint 'pin': friction speed must be positive, is 0",
                  def.friction_speed = 0);
    REFUSED_JOINT(TN_JOINT_HINGE, "joint 'pin': friction speed must be finite",
                  def.friction_speed = nan_value);
    REFUSED_JOINT(TN_JOINT_HINGE, "joint 'pin': rest must be finite", def.rest[0] = nan_value);
    REFUSED_JOINT(TN_JOINT_HINGE, "joint 'pin': force must be finite", def.force[0] = nan_value);
    REFUSED_JOINT(TN_JOINT_HINGE, "joint 'pin': a hinge has no free coordinate 2 for a force",
                  def.force[1] = 1);
    REFUSED_JOINT(TN_JOINT_HINGE, "joint 'pin': a hinge has no free coordinate 2 for a rest",
                  def.rest[1] = 1);
    const tn_joint_type stiff[] = {TN_JOINT_WELD, TN_JOINT_DISTANCE, TN_JOINT_ROLLING,
                                   TN_JOINT_ROPE};
    for (int i = 0; i < 4; ++i) {
        REFUSED_JOINT(stiff[i], "has no free coordinate for a stiffness", def.radius = 1,
                      def.stiffness = 1);
        REFUSED_JOINT(stiff[i], "has no free coordinate for a damping", def.radius = 1,
                      def.damping = 1);
        REFUSED_JOINT(stiff[i], "has no free coordinate for a friction", def.radius = 1,
                      def.friction = 1);
        REFUSED_JOINT(stiff[i], "has no free coordinate 1 for a force", def.radius = 1,
                      def.force[0] = 1);
        REFUSED_JOINT(stiff[i], "has no free coordinate to limit", def.radius = 1,
                      def.limit.given = true);
    }
    REFUSED_JOINT(TN_JOINT_HINGE, "joint 'pin': lower limit must be finite", def.limit.given = true,
                  def.limit.lower = nan_value);
    REFUSED_JOINT(TN_JOINT_HINGE, "joint 'pin': limit stiffness must not", def.limit.given = true,
                  def.limit.stiffness = -1);
    REFUSED_JOINT(TN_JOINT_HINGE, "joint 'pin': limit damping must not", def.limit.given = true,
                  def.limit.damping = -1);
    REFUSED_JOINT(TN_JOINT_HINGE, "joint 'pin': cone and twist limit a ball, not a hinge",
                  def.limit.given = true, def.limit.cone = 1);
    REFUSED_JOINT(TN_JOINT_BALL, "joint 'pin': cone must lie between 0 and pi, is 0",
                  def.limit.given = true, def.limit.cone = 0);
    REFUSED_JOINT(TN_JOINT_BALL, "joint 'pin': cone must lie", def.limit.given = true,
                  def.limit.cone = 3.2);
    REFUSED_JOINT(TN_JOINT_BALL, "joint 'pin': twist must be finite", def.limit.given = true,
                  def.limit.twist_upper = nan_value);
    REFUSED_JOINT(TN_JOINT_BALL, "joint 'pin': a ball is limited", def.limit.given = true,
                  def.limit.lower = -1, def.limit.upper = 1);
}

TEST(bad_hard_limits_are_refused)
{
    REFUSED_JOINT(TN_JOINT_BALL, "joint 'pin': a hard cone must lie between 0.001 and pi - 0.001",
                  def.limit.given = def.limit.hard = true, def.limit.cone = 1e-4);
    REFUSED_JOINT(TN_JOINT_BALL, "joint 'pin': a hard cone must lie between 0.001 and pi - 0.001",
                  def.limit.given = def.limit.hard = true, def.limit.cone = 3.1415);
    REFUSED_JOINT(TN_JOINT_BALL, "joint 'pin': a hard twist must lie within -3..3 rad, not -4..1",
                  def.limit.given = def.limit.hard = true, def.limit.twist_lower = -4,
                  def.limit.twist_upper = 1);
    REFUSED_JOINT(TN_JOINT_BALL, "joint 'pin': a hard twist must lie within -3..3 rad, not 0..3.1",
                  def.limit.given = def.limit.hard = true, def.limit.twist_lower = 0,
                  def.limit.twist_upper = 3.1);
    REFUSED_JOINT(TN_JOINT_HINGE, "joint 'pin': restitution needs a hard limit or a rope",
                  def.restitution = 0.5);
    REFUSED_JOINT(TN_JOINT_HINGE, "joint 'pin': restitution needs a hard limit or a rope",
                  def.limit.given = true, def.limit.upper = 2, def.restitution = 0.5);
    REFUSED_JOINT(TN_JOINT_ROPE, "joint 'pin': restitution must lie in 0..1, is 1.5",
                  def.restitution = 1.5);
    REFUSED_JOINT(TN_JOINT_ROPE, "joint 'pin': restitution must lie in 0..1, is -0.5",
                  def.restitution = -0.5);
    REFUSED_JOINT(TN_JOINT_ROPE, "joint 'pin': restitution must lie in 0..1",
                  def.restitution = nan_value);
}

TEST(hard_limits_need_no_stiffness)
{
    bench        t        = new_bench();
    tn_joint_def def      = tn_default_joint_def(TN_JOINT_BALL);
    def.body2             = t.a;
    def.limit.given       = true;
    def.limit.hard        = true;
    def.limit.cone        = 1;
    def.limit.twist_upper = 3, def.limit.twist_lower = -3;
    def.restitution = 1;
    def.role        = TN_ROLE_AUXILIARY;
    CHECK_INT(tn_scene_add_joint(t.scene, &def).bits, 5);
    CHECK_INT(tn_scene_joint(t.scene, 4)->role, TN_ROLE_AUXILIARY);
    CHECK(tn_scene_joint(t.scene, 4)->restitution == 1 && tn_scene_joint(t.scene, 4)->limit.hard);
    CHECK_OK(tn_scene_problem(t.scene, NULL));
    tn_scene_free(t.scene);
}

TEST(every_joint_type_is_accepted_with_its_defaults)
{
    bench t = new_bench();
    for (int type = 0; type < TN_JOINT_USER; ++type) {
        tn_joint_def def = tn_default_joint_def((tn_joint_type)type);
        def.body2        = t.a;
        def.radius       = type == TN_JOINT_ROLLING ? 0.5 : nan_value;
        CHECK(tn_scene_add_joint(t.scene, &def).bits != 0);
        CHECK_INT(tn_scene_joint(t.scene, tn_scene_joint_count(t.scene) - 1)->type, type);
    }
    tn_shape_def wheel  = tn_default_shape_def(TN_SHAPE_CYLINDER);
    wheel.radius        = 0.4;
    wheel.half_length   = 0.1;
    tn_body_def body    = ball_body("wheel");
    body.shapes         = &wheel;
    body.shape_count    = 1;
    const tn_body_id id = tn_scene_add_body(t.scene, &body);
    CHECK(add_joint(t.scene, "roll", TN_JOINT_ROLLING, (tn_body_id){0}, id).bits != 0);
    CHECK_OK(tn_scene_problem(t.scene, NULL));
    CHECK_TEXT(tn_joint_type_word(TN_JOINT_POINT_ON_LINE), "point_on_line");
    CHECK_TEXT(tn_joint_type_word((tn_joint_type)99), "unknown");
    tn_scene_free(t.scene);
}

TEST(bad_couplings_are_refused)
{
#define REFUSED_COUPLING(type_, what, ...)                                          \
    REFUSED_OTHER(coupling, tn_default_coupling_def(type_), what,                   \
                  const tn_joint_id js[] = __VA_ARGS__;                             \
                  def.joints = js; def.joint_count = (int)(sizeof js / sizeof *js); \
                  def.coefficients = weights; def.ratio = ratio)
    const double  good[4] = {1, 2, 3, 4}, zero[4] = {1, 0, 1, 1}, wild[4] = {1, nan_value, 1, 1};
    const double* weights = good;
    double        ratio   = 2;
    REFUSED_COUPLING(TN_COUPLING_GEAR, "coupling 'it': a gear couples 2 joints, not 1", {t.hinge});
    REFUSED_COUPLING(TN_COUPLING_GEAR, "coupling 'it': a gear couples 2 joints, not 3",
                     {t.hinge, t.slider, t.ball});
    REFUSED_COUPLING(TN_COUPLING_DIFFERENTIAL, "coupling 'it': a differential couples 3",
                     {t.hinge, t.slider});
    REFUSED_COUPLING(TN_COUPLING_GEAR, "coupling 'it': no such joint", {t.hinge, {0}});
    REFUSED_COUPLING(TN_COUPLING_GEAR, "coupling 'it': no such joint", {t.hinge, {99}});
    REFUSED_COUPLING(TN_COUPLING_GEAR, "coupling 'it': joint 'hinge' is listed twice",
                     {t.hinge, t.hinge});
    REFUSED_COUPLING(TN_COUPLING_GEAR, "coupling 'it': joint 'weld' has no free coordinate",
                     {t.hinge, t.weld});
    REFUSED_COUPLING(TN_COUPLING_RACK, "coupling 'it': a rack couples a hinge and a slider",
                     {t.hinge, t.ball});
    REFUSED_COUPLING((tn_coupling_type)9, "coupling 'it': unknown type", {t.hinge, t.slider});
    ratio = 0;
    REFUSED_COUPLING(TN_COUPLING_GEAR, "coupling 'it': ratio must not be zero",
                     {t.hinge, t.slider});
    ratio = nan_value;
    REFUSED_COUPLING(TN_COUPLING_RACK, "coupling 'it': ratio must be finite", {t.hinge, t.slider});
    weights = zero;
    REFUSED_COUPLING(TN_COUPLING_COUPLER, "coupling 'it': coefficient 2 must not be zero",
                     {t.hinge, t.slider});
    weights = wild;
    REFUSED_COUPLING(TN_COUPLING_COUPLER, "coupling 'it': coefficient must be finite",
                     {t.hinge, t.slider});
    weights = NULL;
    REFUSED_COUPLING(TN_COUPLING_COUPLER, "coupling 'it': a coupler needs coefficients",
                     {t.hinge, t.slider});
    REFUSED_OTHER(coupling, tn_default_coupling_def(TN_COUPLING_COUPLER),
                  "a coupler couples 1 to 16 joints, not 0", def.joint_count = 0);
    REFUSED_OTHER(coupling, tn_default_coupling_def(TN_COUPLING_GEAR), "unknown role",
                  def.role = (tn_role)-1);
}

static tn_body_id add_kind(tn_scene* scene, tn_body_kind kind)
{
    tn_body_def def = ball_body(NULL);
    def.kind        = kind;
    return tn_scene_add_body(scene, &def);
}

TEST(bad_centers_are_refused)
{
#define REFUSED_CENTER(what, ...)                                              \
    REFUSED_OTHER(coupling, tn_default_coupling_def(TN_COUPLING_CENTER), what, \
                  tn_body_id bodies[TN_COUPLING_BODIES_MAX + 1] = {t.a, t.b};  \
                  def.bodies = bodies; def.body_count = 2; __VA_ARGS__)
    REFUSED_CENTER("coupling 'it': a center has 1 to 256 bodies, not 0", def.bodies = NULL);
    REFUSED_CENTER("coupling 'it': a center has 1 to 256 bodies, not 0", def.body_count = 0);
    REFUSED_CENTER("coupling 'it': a center has 1 to 256 bodies, not 257", def.body_count = 257);
    REFUSED_CENTER("coupling 'it': no such body", bodies[1].bits = 99);
    REFUSED_CENTER("coupling 'it': body 'a' is listed twice", bodies[1] = t.a);
    REFUSED_CENTER("coupling 'it': body 'ground' has no centre", bodies[1].bits = 0);
    REFUSED_CENTER("coupling 'it': body 'wall' has no centre", bodies[1] = t.wall);
    REFUSED_CENTER("coupling 'it': body 'lift' has no centre", bodies[0] = t.lift);
    REFUSED_CENTER("coupling 'it': a center holds x, y or z",
                   def.hold[0] = def.hold[1] = def.hold[2] = false);
    REFUSED_CENTER("coupling 'it': unknown role", def.role = TN_ROLE_COUNT);
}

TEST(centers_of_planar_bodies_hold_x_or_y)
{
    bench           t         = new_bench();
    tn_body_id      bodies[2] = {add_kind(t.scene, TN_BODY_PLANAR), t.a};
    tn_coupling_def def       = tn_default_coupling_def(TN_COUPLING_CENTER);
    tn_why          why;
    def.bodies = bodies, def.body_count = 1;
    CHECK(tn_scene_add_coupling(t.scene, &def).bits != 0); // all: z holds by itself
    def.hold[0] = def.hold[1] = false;
    def.body_count            = 2;
    CHECK(tn_scene_add_coupling(t.scene, &def).bits != 0); // a rigid one can rise
    def.body_count = 1;
    CHECK_INT(tn_scene_add_coupling(t.scene, &def).bits, 0);
    CHECK_INT(tn_scene_problem(t.scene, &why), TN_ERR_MODEL);
    CHECK_TEXT(why.text, "coupling 3: its bodies are planar and cannot move along z");
    tn_scene_free(t.scene);
}

TEST(centers_are_copied_whole)
{
    bench            t     = new_bench();
    const tn_body_id first = {(uint32_t)tn_scene_body_count(t.scene) + 1};
    tn_body_id       bodies[TN_COUPLING_BODIES_MAX];
    tn_coupling_def  def = tn_default_coupling_def(TN_COUPLING_CENTER);
    for (int i = 0; i < TN_COUPLING_BODIES_MAX; ++i)
        bodies[i] = add_kind(t.scene, i % 2 == 0 ? TN_BODY_PARTICLE : TN_BODY_AFFINE);
    CHECK(def.hold[0] && def.hold[1] && def.hold[2] && def.role == TN_ROLE_AUTO);
    def.bodies = bodies, def.body_count = TN_COUPLING_BODIES_MAX;
    def.hold[1] = false;
    def.role    = TN_ROLE_PRIMARY;
    def.joints = &t.hinge, def.joint_count = 1; // not a center's: not kept
    CHECK(tn_scene_add_coupling(t.scene, &def).bits != 0);
    memset(bodies, 0, sizeof bodies);
    const tn_coupling_def* got = tn_scene_coupling(t.scene, 0);
    CHECK_INT(got->body_count, TN_COUPLING_BODIES_MAX);
    for (uint32_t i = 0; i < TN_COUPLING_BODIES_MAX; ++i)
        CHECK_INT(got->bodies[i].bits, first.bits + i);
    CHECK(got->hold[0] && !got->hold[1] && got->hold[2] && got->role == TN_ROLE_PRIMARY);
    CHECK(got->joints == NULL && got->joint_count == 0);
    tn_scene_free(t.scene);
}

TEST(good_couplings_are_accepted)
{
    bench             t       = new_bench();
    const tn_joint_id js[]    = {t.slider, t.hinge, t.ball};
    const double      c[]     = {1, -2, 0.5};
    const int         count[] = {2, 2, 3, 3};
    for (int type = 0; type < TN_COUPLING_CENTER; ++type) {
        tn_coupling_def def = tn_default_coupling_def((tn_coupling_type)type);
        def.joints          = js;
        def.joint_count     = count[type];
        def.coefficients    = c;
        def.bodies = &t.a, def.body_count = 1; // a center's: not kept
        CHECK(tn_scene_add_coupling(t.scene, &def).bits != 0);
        CHECK(tn_scene_coupling(t.scene, type)->bodies == NULL);
        CHECK_INT(tn_scene_coupling(t.scene, type)->body_count, 0);
    }
    CHECK(tn_scene_coupling(t.scene, TN_COUPLING_DIFFERENTIAL)->ratio == 0.5);
    tn_scene_free(t.scene);
}

TEST(bad_forces_are_refused)
{
    const tn_key key = key_at(0, 0);
#define REFUSED_SPRING(what, ...)                                                          \
    REFUSED_OTHER(spring, tn_default_spring_def(), what, def.body1 = t.a; def.body2 = t.b; \
                  __VA_ARGS__)
#define REFUSED_TARGET(what, ...)                                                         \
    REFUSED_OTHER(target, tn_default_target_def(), what, def.body = t.a; def.keys = &key; \
                  def.key_count = 1; __VA_ARGS__)
#define REFUSED_LOAD(what, ...) \
    REFUSED_OTHER(load, tn_default_load_def(), what, def.body = t.a; __VA_ARGS__)
#define REFUSED_DRAG(what, ...) \
    REFUSED_OTHER(drag, tn_default_drag_def(), what, def.body = t.a; __VA_ARGS__)
    REFUSED_SPRING("spring 'it': both its bodies are 'a'", def.body2 = t.a);
    REFUSED_SPRING("spring 'it': no such body", def.body2.bits = 50);
    REFUSED_SPRING("spring 'it': anchor 2 must be finite", def.anchor2.x = nan_value);
    REFUSED_SPRING("spring 'it': stiffness must not be negative", def.stiffness = -1);
    REFUSED_SPRING("spring 'it': damping must not be negative", def.damping = -1);
    REFUSED_SPRING("spring 'it': length must not be negative", def.length = -1);
    REFUSED_SPRING("spring 'it': length must be finite", def.length = (double)INFINITY);
    REFUSED_SPRING("spring 1: stiffness", def.name = NULL, def.stiffness = -1);
    REFUSED_TARGET("target 'it': body 'ground' cannot be moved", def.body.bits = 0);
    REFUSED_TARGET("target 'it': body 'wall' cannot be moved", def.body = t.wall);
    REFUSED_TARGET("target 'it': no such body", def.body.bits = 50);
    REFUSED_TARGET("target 'it': needs at least one key", def.key_count = 0);
    REFUSED_TARGET("target 'it': point must be finite", def.point.z = nan_value);
    REFUSED_TARGET("target 'it': stiffness must not be negative", def.stiffness = -1);
    REFUSED_TARGET("target 'it': damping must be finite", def.damping = nan_value);
    REFUSED_TARGET("target 'it': angular stiffness", def.angular_stiffness = -1);
    REFUSED_TARGET("target 'it': angular damping", def.angular_damping = -1);
    REFUSED_LOAD("load 'it': body 'lift' cannot be moved", def.body = t.lift);
    REFUSED_LOAD("load 'it': force must be finite", def.force.x = nan_value);
    REFUSED_LOAD("load 'it': torque must be finite", def.torque.x = nan_value);
    REFUSED_LOAD("load 'it': point must be finite", def.point.x = nan_value);
    REFUSED_LOAD("load 'it': from must be finite", def.from = -(double)INFINITY);
    REFUSED_LOAD("load 'it': until must be later than from: from 1 until 1",
                 def.from = def.until = 1);
    REFUSED_LOAD("load 'it': until must be later than from", def.until = nan_value);
    REFUSED_DRAG("drag 'it': body 'ground' cannot be moved", def.body.bits = 0);
    REFUSED_DRAG("drag 'it': linear must not be negative", def.linear = -1);
    REFUSED_DRAG("drag 'it': quadratic must not be negative", def.quadratic = -1);
    REFUSED_DRAG("drag 'it': angular must not be negative", def.angular = -1);
    REFUSED_DRAG("drag 'it': point must be finite", def.point.x = nan_value);
    REFUSED_DRAG("drag 'it': wind must be finite", def.wind.y = nan_value);
    const tn_vector_key gusts[2] = {{1, {0, 0, 0}}, {1, {1, 0, 0}}};
    const tn_vector_key late = {nan_value, {0, 0, 0}}, storm = {0, {0, 0, (double)INFINITY}};
    REFUSED_DRAG("drag 'it': wind key times must increase, but 1 follows 1", def.wind_keys = gusts,
                 def.wind_key_count = 2);
    REFUSED_DRAG("drag 'it': wind key time must be finite", def.wind_keys = &late,
                 def.wind_key_count = 1);
    REFUSED_DRAG("drag 'it': wind key must be finite", def.wind_keys = &storm,
                 def.wind_key_count = 1);
    REFUSED_DRAG("drag 'it': needs at least one wind key", def.wind_keys = gusts,
                 def.wind_key_count = -1);
    REFUSED_DRAG("drag 'it': needs at least one wind key", def.wind_key_count = 1);
}

// ---- User-defined ------------------------------------------------------------------------------

static void user_mass(const void* data, const double* q, double* M)
{
    (void)data, (void)q, (void)M;
}
static void user_advance(const void* data, const double* q, const double* d, double* q_out)
{
    (void)data, (void)q, (void)d, (void)q_out;
}
static void user_point(const void* data, const double* q, const double* u, tn_vec3 p,
                       tn_vec3* position, double* jacobian, tn_vec3* bias)
{
    (void)data, (void)q, (void)u, (void)p, (void)position, (void)jacobian, (void)bias;
}
static void user_rows(const void* data, double time, const tn_body_view* bodies, double* C,
                      double* rate, double* const* J, double* gamma)
{
    (void)data, (void)time, (void)bodies, (void)C, (void)rate, (void)J, (void)gamma;
}

TEST(user_defined_bodies_are_checked_and_copied)
{
    const tn_body_table good = {.coordinate_count = 3,
                                .dim              = 2,
                                .mass             = user_mass,
                                .advance          = user_advance,
                                .point            = user_point};
    double              q[3] = {1, 2, 3}, u[2] = {4, 5}, wild[3] = {1, nan_value, 1};
#define REFUSED_USER(what, ...)                                                               \
    REFUSED_BODY(what, def = tn_default_body_def(); def.name = "it"; def.kind = TN_BODY_USER; \
                 tn_body_table table = good; def.table = &table; def.user_q = q; __VA_ARGS__)
    REFUSED_USER("body 'it': a user-defined body needs a table", (void)table, def.table = NULL);
    REFUSED_USER("body 'it': table's dim must lie in 1..64, is 65", table.dim = 65);
    REFUSED_USER("body 'it': table's dim must lie in 1..64, is 0", table.dim = 0);
    REFUSED_USER("body 'it': table's coordinate count", table.coordinate_count = 0);
    REFUSED_USER("body 'it': table must set mass", table.mass = NULL);
    REFUSED_USER("body 'it': table must set mass", table.advance = NULL);
    REFUSED_USER("body 'it': table must set mass", table.point = NULL);
    REFUSED_USER("body 'it': a user-defined body needs its start values", def.user_q = NULL);
    REFUSED_USER("body 'it': start values must be finite", def.user_q = wild);
    REFUSED_USER("body 'it': start velocities must be finite", def.user_u = wild);

    tn_scene*   scene = new_scene();
    tn_body_def def   = tn_default_body_def();
    def.kind          = TN_BODY_USER;
    def.table         = &good;
    def.user_q        = q;
    def.user_u        = u;
    CHECK_INT(tn_scene_add_body(scene, &def).bits, 1);
    q[0] = u[1] = 99;
    CHECK(tn_scene_body(scene, 0)->user_q[0] == 1 && tn_scene_body(scene, 0)->user_u[1] == 5);
    CHECK(tn_scene_body(scene, 0)->table == &good);
    tn_scene_free(scene);
}

TEST(user_defined_constraints_share_ids_and_names_with_joints)
{
    const tn_constraint_table good = {.rows = 2, .holonomic = 1, .rows_at = user_rows};
#define REFUSED_CONSTRAINT(what, ...)                                                        \
    do {                                                                                     \
        bench               t        = new_bench();                                          \
        tn_constraint_table table    = good;                                                 \
        tn_body_id          bodies[] = {t.a, t.b, {0}};                                      \
        tn_constraint_def   def      = tn_default_constraint_def();                          \
        def.name                     = "it";                                                 \
        def.bodies                   = bodies;                                               \
        def.body_count               = 3;                                                    \
        def.table                    = &table;                                               \
        __VA_ARGS__;                                                                         \
        check_refused(&t, tn_scene_add_constraint(t.scene, &def).bits == 0, __LINE__, what); \
    } while (0)
    REFUSED_CONSTRAINT("joint 'it': a user-defined constraint needs a table", def.table = NULL);
    REFUSED_CONSTRAINT("joint 'it': a user-defined constraint needs a table", table.rows_at = NULL);
    REFUSED_CONSTRAINT("joint 'it': table's rows must lie in 1..12, are 13", table.rows = 13);
    REFUSED_CONSTRAINT("joint 'it': 3 of 2 rows cannot be holonomic", table.holonomic = 3);
    REFUSED_CONSTRAINT("joint 'it': a user-defined constraint has 1..8 bodies, not 9",
                       def.body_count = 9);
    REFUSED_CONSTRAINT("joint 'it': no such body", bodies[1].bits = 66);
    REFUSED_CONSTRAINT("joint 'it': both its bodies are 'a'", bodies[1] = t.a);
    REFUSED_CONSTRAINT("joint 'it': none of its bodies can move", bodies[0] = t.wall,
                       bodies[1] = t.lift);
    REFUSED_CONSTRAINT("joint 'hinge': another joint", def.name = "hinge");
    REFUSED_CONSTRAINT("joint 'it': unknown role", def.role = (tn_role)9);

    bench             t        = new_bench();
    tn_body_id        bodies[] = {t.b, {0}};
    char              name[]   = "mine";
    tn_constraint_def def      = tn_default_constraint_def();
    def.name                   = name;
    def.bodies                 = bodies;
    def.body_count             = 2;
    def.table                  = &good;
    def.role                   = TN_ROLE_PRIMARY;
    const tn_joint_id id       = tn_scene_add_constraint(t.scene, &def);
    name[0] = 'x', bodies[0].bits = 77;
    CHECK_INT(id.bits, 5);
    CHECK_INT(tn_scene_find_joint(t.scene, "mine").bits, 5);
    CHECK_INT(tn_scene_joint(t.scene, 4)->type, TN_JOINT_USER);
    CHECK_INT(tn_scene_joint(t.scene, 4)->body1.bits, t.b.bits);
    CHECK_TEXT(tn_scene_joint(t.scene, 4)->name, "mine");
    CHECK_TEXT(tn_scene_constraint(t.scene, 4)->name, "mine");
    CHECK_INT(tn_scene_constraint(t.scene, 4)->bodies[0].bits, t.b.bits);
    CHECK(tn_scene_constraint(t.scene, 4)->table == &good);
    CHECK_INT(tn_scene_constraint(t.scene, 4)->role, TN_ROLE_PRIMARY);
    CHECK_INT(tn_scene_joint(t.scene, 4)->role, TN_ROLE_PRIMARY);
    CHECK(tn_scene_constraint(t.scene, 3) == NULL);
    tn_scene_free(t.scene);
}

// ---- Copies ------------------------------------------------------------------------------------

TEST(bodies_are_copied_whole)
{
    tn_scene*    scene  = new_scene();
    char         name[] = "link", file[] = "part.obj";
    tn_vec3      points[4] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, vertices[4];
    int          sides[12] = {0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3};
    double       z[6]      = {1, 2, 3, 4, 5, 6};
    tn_shape_def shapes[2] = {tn_default_shape_def(TN_SHAPE_CONVEX),
                              tn_default_shape_def(TN_SHAPE_MESH)};
    memcpy(vertices, points, sizeof vertices);
    shapes[0].points         = points;
    shapes[0].point_count    = 4;
    shapes[0].density        = 5;
    shapes[0].file           = file;
    shapes[0].vertices       = vertices; // of no use to a convex: left behind
    shapes[0].vertex_count   = 4;
    shapes[1].file           = file;
    shapes[1].vertices       = vertices;
    shapes[1].vertex_count   = 4;
    shapes[1].triangles      = sides;
    shapes[1].triangle_count = 4;
    tn_body_def def          = tn_default_body_def();
    def.name                 = name;
    def.shapes               = shapes;
    def.shape_count          = 2;
    CHECK_INT(tn_scene_add_body(scene, &def).bits, 1);
    tn_key      keys[2] = {key_at(0, 1), key_at(1, 2)};
    tn_body_def moving  = tn_default_body_def();
    moving.kind         = TN_BODY_KINEMATIC;
    moving.keys         = keys;
    moving.key_count    = 2;
    CHECK_INT(tn_scene_add_body(scene, &moving).bits, 2);
    tn_body_def  land  = tn_default_body_def();
    tn_shape_def field = tn_default_shape_def(TN_SHAPE_HEIGHTS);
    field.heights      = z;
    field.rows         = 2;
    field.columns      = 3;
    field.spacing[0] = field.spacing[1] = 1;
    land.kind                           = TN_BODY_STATIC;
    land.shapes                         = &field;
    land.shape_count                    = 1;
    CHECK_INT(tn_scene_add_body(scene, &land).bits, 3);
    memset(vertices, 0, sizeof vertices);
    memset(sides, 0, sizeof sides);
    memset(z, 0, sizeof z);
    memset(name, 'x', 4);
    memset(file, 'x', 4);
    memset(points, 0, sizeof points);
    memset(shapes, 0, sizeof shapes);
    memset(keys, 0, sizeof keys);
    const tn_body_def* got = tn_scene_body(scene, 0);
    CHECK_TEXT(got->name, "link");
    CHECK_INT(got->shape_count, 2);
    CHECK_INT(got->shapes[0].type, TN_SHAPE_CONVEX);
    CHECK_INT(got->shapes[0].point_count, 4);
    CHECK(got->shapes[0].points[3].z == 1 && got->shapes[0].density == 5);
    CHECK(got->shapes[0].vertices == NULL && got->shapes[0].vertex_count == 0);
    CHECK(got->shapes[0].file == NULL);
    CHECK_TEXT(got->shapes[1].file, "part.obj");
    CHECK(got->shapes[1].vertices[3].z == 1 && got->shapes[1].triangles[11] == 3);
    CHECK(tn_scene_body(scene, 2)->shapes[0].heights[5] == 6);
    CHECK(tn_scene_body(scene, 1)->keys[1].pose.position.x == 2);
    CHECK(isnan(got->mass) && got->pose.orientation.w == 1);
    tn_scene_free(scene);
}

static double off_unit(tn_quat q)
{
    return fabs(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z - 1);
}

// render, export and the page turn vectors with what the scene says: lengths must be 1 there.
TEST(orientations_of_any_length_are_stored_with_length_one)
{
    bench         t        = new_bench();
    const tn_quat half     = {1, 0, 1, 0}; // a quarter of a turn about y
    tn_shape_def  shape    = tn_default_shape_def(TN_SHAPE_CAPSULE);
    tn_key        keys[2]  = {key_at(0, 1), key_at(1, 2)};
    tn_body_def   body     = ball_body("rod");
    tn_joint_def  weld     = tn_default_joint_def(TN_JOINT_WELD);
    tn_target_def target   = tn_default_target_def();
    shape.radius           = 0.1;
    shape.half_length      = 1;
    shape.pose.orientation = body.pose.orientation = keys[1].pose.orientation = half;
    weld.frame1.orientation = weld.frame2.orientation = half;
    body.shapes                                       = &shape;
    body.shape_count                                  = 1;
    const tn_body_id rod                              = tn_scene_add_body(t.scene, &body);
    weld.name = "seam", weld.form = TN_JOINT_BY_FRAMES, weld.body1 = t.a, weld.body2 = rod;
    const tn_joint_id seam = tn_scene_add_joint(t.scene, &weld);
    target.body = rod, target.keys = keys, target.key_count = 2;
    CHECK(tn_scene_add_target(t.scene, &target).bits != 0);
    body.name = "lift2", body.kind = TN_BODY_KINEMATIC, body.keys = keys, body.key_count = 2;
    const tn_body_id lift = tn_scene_add_body(t.scene, &body);

    const tn_body_def* got = tn_scene_body(t.scene, (int)rod.bits - 1);
    CHECK_LESS(off_unit(got->shapes[0].pose.orientation), 1e-15);
    CHECK_LESS(off_unit(got->pose.orientation), 1e-15);
    CHECK_LESS(off_unit(tn_scene_body(t.scene, (int)lift.bits - 1)->keys[1].pose.orientation),
               1e-15);
    CHECK_LESS(off_unit(tn_scene_target(t.scene, 0)->keys[1].pose.orientation), 1e-15);
    const tn_joint_def* joint = tn_scene_joint(t.scene, (int)seam.bits - 1);
    CHECK_LESS(off_unit(joint->frame1.orientation), 1e-15);
    CHECK_LESS(off_unit(joint->frame2.orientation), 1e-15);

    // Taken from the scene and given again, they keep their bits.
    tn_joint_def again = *joint;
    CHECK_OK(tn_scene_set_joint(t.scene, seam, &again, NULL));
    CHECK(memcmp(&again.frame1, &tn_scene_joint(t.scene, (int)seam.bits - 1)->frame1,
                 sizeof again.frame1) == 0);
    again.frame2.orientation = half;
    CHECK_OK(tn_scene_set_joint(t.scene, seam, &again, NULL));
    CHECK_LESS(off_unit(tn_scene_joint(t.scene, (int)seam.bits - 1)->frame2.orientation), 1e-15);
    tn_scene_free(t.scene);
}

TEST(other_parts_are_copied_whole)
{
    bench        t           = new_bench();
    tn_value_key values[2]   = {{0, 5}, {1, 6}};
    tn_joint_def motor       = tn_default_joint_def(TN_JOINT_MOTOR);
    motor.body1              = t.a;
    motor.body2              = t.b;
    motor.velocity_keys      = values;
    motor.velocity_key_count = 2;
    CHECK(tn_scene_add_joint(t.scene, &motor).bits != 0);
    tn_joint_id     joints[2] = {t.hinge, t.slider};
    double          c[2]      = {3, 4};
    tn_coupling_def coupling  = tn_default_coupling_def(TN_COUPLING_COUPLER);
    coupling.joints           = joints;
    coupling.joint_count      = 2;
    coupling.coefficients     = c;
    CHECK(tn_scene_add_coupling(t.scene, &coupling).bits != 0);
    tn_key        keys[1] = {key_at(0, 7)};
    tn_target_def target  = tn_default_target_def();
    target.body           = t.a;
    target.keys           = keys;
    target.key_count      = 1;
    CHECK(tn_scene_add_target(t.scene, &target).bits != 0);
    char        name[] = "push";
    tn_load_def load   = tn_default_load_def();
    load.name          = name;
    load.body          = t.b;
    CHECK(tn_scene_add_load(t.scene, &load).bits != 0);
    tn_vector_key wind[2] = {{0, {1, 2, 3}}, {1, {4, 5, 6}}};
    tn_drag_def   drag    = tn_default_drag_def();
    drag.body             = t.b;
    drag.linear           = 2;
    drag.wind_keys        = wind;
    drag.wind_key_count   = 2;
    CHECK(tn_scene_add_drag(t.scene, &drag).bits != 0);
    CHECK_OK(tn_scene_exclude_contact(t.scene, t.a, (tn_body_id){0}));
    name[0] = 'x', values[1].value = 0, joints[1].bits = 0, c[1] = 0, keys[0].pose.position.x = 0;
    wind[1].value.z = 0;
    CHECK(tn_scene_joint(t.scene, 4)->velocity_keys[1].value == 6);
    CHECK_INT(tn_scene_coupling(t.scene, 0)->joints[1].bits, t.slider.bits);
    CHECK(tn_scene_coupling(t.scene, 0)->coefficients[1] == 4);
    CHECK(tn_scene_target(t.scene, 0)->keys[0].pose.position.x == 7);
    CHECK_TEXT(tn_scene_load(t.scene, 0)->name, "push");
    CHECK(isinf(tn_scene_load(t.scene, 0)->until));
    CHECK(tn_scene_drag(t.scene, 0)->linear == 2);
    CHECK(tn_scene_drag(t.scene, 0)->wind_keys[1].value.z == 6);
    CHECK_INT(tn_scene_exclude_count(t.scene), 1);
    CHECK_INT(tn_scene_exclude(t.scene, 0).body1.bits, t.a.bits);
    tn_scene_free(t.scene);
}

// ---- The scene itself --------------------------------------------------------------------------

TEST(a_joint_gets_another_def_or_stays_unchanged)
{
    bench              t   = new_bench();
    tn_joint_def       def = *tn_scene_joint(t.scene, 0);
    const tn_value_key key = {0, 2};
    tn_why             why = {0};
    def.stiffness          = 7;
    def.name               = "another";
    CHECK_OK(tn_scene_set_joint(t.scene, t.hinge, &def, &why));
    CHECK_NEAR(tn_scene_joint(t.scene, 0)->stiffness, 7, 0);
    CHECK_TEXT(tn_scene_joint(t.scene, 0)->name, "hinge"); // its name stays
    CHECK(tn_scene_find_joint(t.scene, "hinge").bits == t.hinge.bits);
    def.stiffness = -1;
    CHECK_INT(tn_scene_set_joint(t.scene, t.hinge, &def, &why), TN_ERR_MODEL);
    CHECK(strstr(why.text, "joint 'hinge'") && strstr(why.text, "stiffness"));
    CHECK_NEAR(tn_scene_joint(t.scene, 0)->stiffness, 7, 0);
    def.stiffness          = 0;
    def                    = tn_default_joint_def(TN_JOINT_MOTOR);
    def.of                 = TN_JOINT_HINGE;
    def.body2              = t.a;
    def.velocity_keys      = &key;
    def.velocity_key_count = 1;
    CHECK_OK(tn_scene_set_joint(t.scene, t.hinge, &def, &why));
    CHECK(tn_scene_joint(t.scene, 0)->velocity_keys != &key); // copied
    CHECK_NEAR(tn_scene_joint(t.scene, 0)->velocity_keys[0].value, 2, 0);
    const tn_value_key* own = tn_scene_joint(t.scene, 0)->velocity_keys;
    def                     = *tn_scene_joint(t.scene, 0);
    def.damping             = 0.5;
    CHECK_OK(tn_scene_set_joint(t.scene, t.hinge, &def, &why));
    CHECK(tn_scene_joint(t.scene, 0)->velocity_keys == own);
    CHECK_OK(tn_scene_problem(t.scene, NULL)); // refusals of edits spoil nothing
    tn_scene_free(t.scene);
}

// The same for all five: ids count from 1, names are looked up, and another def takes the place of one.
// field: a number of the def, that must not be negative.
#define CHECK_IDS(thing, made, field)                                                           \
    do {                                                                                        \
        bench                 t      = new_bench();                                             \
        tn_why                why    = {.text = ""};                                            \
        tn_##thing##_def      def    = made;                                                    \
        const tn_##thing##_id first  = tn_scene_add_##thing(t.scene, &def);                     \
        def.name                     = "it";                                                    \
        const tn_##thing##_id second = tn_scene_add_##thing(t.scene, &def);                     \
        CHECK_INT(first.bits, 1);                                                               \
        CHECK_INT(second.bits, 2);                                                              \
        CHECK_INT(tn_scene_add_##thing(t.scene, &def).bits, 0); /* the name is taken */         \
        CHECK_INT(tn_scene_problem(t.scene, &why), TN_ERR_MODEL);                               \
        CHECK_INT(tn_scene_##thing##_count(t.scene), 2);                                        \
        CHECK_INT(tn_scene_find_##thing(t.scene, "it").bits, 2);                                \
        CHECK_INT(tn_scene_find_##thing(t.scene, "other").bits, 0);                             \
        def.field = 7;                                                                          \
        def.name  = "other";                                                                    \
        CHECK_OK(tn_scene_set_##thing(t.scene, second, &def, &why));                            \
        CHECK(tn_scene_##thing(t.scene, 1)->field == 7);                                        \
        CHECK_TEXT(tn_scene_##thing(t.scene, 1)->name, "it"); /* stays */                       \
        def.field = nan_value;                                                                  \
        CHECK_INT(tn_scene_set_##thing(t.scene, first, &def, &why), TN_ERR_MODEL);              \
        CHECK(strstr(why.text, #thing " 1: ") == why.text);                                     \
        CHECK_INT(tn_scene_set_##thing(t.scene, second, &def, NULL), TN_ERR_MODEL);             \
        CHECK(tn_scene_##thing(t.scene, 1)->field == 7);                                        \
        def.field = 8;                                                                          \
        CHECK_OK(tn_scene_set_##thing(t.scene, first, &def, NULL));                             \
        CHECK(tn_scene_##thing(t.scene, 0)->field == 8 && !tn_scene_##thing(t.scene, 0)->name); \
        tn_model* model  = NULL;                                                                \
        t.scene->problem = (tn_why){.result = TN_OK};                                           \
        CHECK_OK(tn_scene_compile(t.scene, &model, &why));                                      \
        CHECK_INT(tn_model_counts(model).thing##s, 2);                                          \
        CHECK(tn_model_##thing##_name(model, first) == NULL);                                   \
        CHECK_TEXT(tn_model_##thing##_name(model, second), "it");                               \
        CHECK_INT(tn_model_find_##thing(model, "it").bits, 2);                                  \
        CHECK_INT(tn_model_find_##thing(model, "").bits, 0);                                    \
        tn_model_free(model);                                                                   \
        tn_scene_free(t.scene);                                                                 \
    } while (0)

TEST(forces_and_couplings_have_ids_like_bodies)
{
    const tn_joint_id   gears[2] = {{1}, {2}};
    const double        both[2]  = {1, 2};
    const tn_key        key      = key_at(0, 0);
    const tn_vector_key wind     = {0, {1, 0, 0}};
    tn_coupling_def     coupling = tn_default_coupling_def(TN_COUPLING_COUPLER);
    coupling.joints = gears, coupling.joint_count = 2, coupling.coefficients = both;
    tn_spring_def spring = tn_default_spring_def();
    spring.body2         = (tn_body_id){1};
    tn_target_def target = tn_default_target_def();
    target.body = (tn_body_id){1}, target.keys = &key, target.key_count = 1;
    tn_load_def load = tn_default_load_def();
    load.body        = (tn_body_id){1};
    tn_drag_def drag = tn_default_drag_def();
    drag.body = (tn_body_id){1}, drag.wind_keys = &wind, drag.wind_key_count = 1;
    CHECK_IDS(coupling, coupling, velocity);
    CHECK_IDS(spring, spring, stiffness);
    CHECK_IDS(target, target, stiffness);
    CHECK_IDS(load, load, force.x);
    CHECK_IDS(drag, drag, linear);
}

// A slider that sets a def a thousand times must not fill memory with copies of its keys.
TEST(a_def_that_is_set_again_keeps_what_the_scene_has)
{
    bench         t   = new_bench();
    const tn_key  key = key_at(0, 0), other = key_at(0, 5);
    tn_target_def target = tn_default_target_def();
    target.name          = "hand";
    target.body = t.a, target.keys = &key, target.key_count = 1;
    const tn_target_id id   = tn_scene_add_target(t.scene, &target);
    const tn_key*      keys = tn_scene_target(t.scene, 0)->keys;
    for (int i = 0; i < 1000; ++i) {
        tn_target_def def = *tn_scene_target(t.scene, 0);
        def.stiffness     = i;
        CHECK_OK(tn_scene_set_target(t.scene, id, &def, NULL));
        CHECK(tn_scene_target(t.scene, 0)->keys == keys);
    }
    const size_t bytes = t.scene->arena.bytes;
    target.keys        = &other;
    CHECK_OK(tn_scene_set_target(t.scene, id, &target, NULL));
    keys = tn_scene_target(t.scene, 0)->keys;
    CHECK(keys != &other && keys->pose.position.x == other.pose.position.x); // copied
    CHECK_INT(t.scene->arena.bytes, bytes);                                  // a key has room
    tn_scene_free(t.scene);
}

TEST(the_first_problem_is_remembered_and_adding_goes_on)
{
    bench       t   = new_bench();
    tn_body_def def = ball_body("first");
    def.mass        = -1;
    CHECK_INT(tn_scene_add_body(t.scene, &def).bits, 0);
    def.name = "second";
    CHECK_INT(tn_scene_add_body(t.scene, &def).bits, 0);
    def.mass = 1;
    CHECK_INT(tn_scene_add_body(t.scene, &def).bits, 5);
    tn_why why = {0};
    CHECK_INT(tn_scene_problem(t.scene, &why), TN_ERR_MODEL);
    CHECK_TEXT(why.text, "body 'first': mass must be positive, is -1");
    tn_scene_free(t.scene);
    tn_scene_free(NULL);
}

TEST(the_scene_keeps_its_own_values)
{
    tn_scene* scene = new_scene();
    CHECK_TEXT(tn_scene_name(scene), "");
    CHECK(tn_scene_gravity(scene).z == -9.81);
    CHECK_INT(tn_scene_settings(scene).method, TN_METHOD_AUTO);
    tn_scene_set_name(scene, "ground");
    CHECK_TEXT(tn_scene_name(scene), "ground");
    tn_scene_set_name(scene, NULL);
    CHECK_TEXT(tn_scene_name(scene), "");
    tn_scene_set_gravity(scene, (tn_vec3){1, 2, 3});
    tn_settings settings = tn_default_settings();
    settings.h           = 0.25;
    tn_scene_set_settings(scene, &settings);
    CHECK(!tn_scene_has_ground(scene));
    tn_scene_set_ground(scene, 0.8, 0.1);
    CHECK(tn_scene_has_ground(scene));
    CHECK_OK(tn_scene_problem(scene, NULL));
    CHECK(tn_scene_gravity(scene).y == 2 && tn_scene_settings(scene).h == 0.25);
    CHECK(tn_scene_ground_friction(scene) == 0.8 && tn_scene_ground_restitution(scene) == 0.1);
    CHECK(tn_scene_ground_rolling_friction(scene) == 0);
    tn_scene_set_ground_rolling(scene, 0.01, 0.02);
    CHECK_OK(tn_scene_problem(scene, NULL));
    CHECK(tn_scene_ground_rolling_friction(scene) == 0.01);
    CHECK(tn_scene_ground_spinning_friction(scene) == 0.02);
    tn_scene_free(scene);
}

TEST(bad_values_of_the_scene_are_refused)
{
    const char* said[] = {"scene: gravity must be finite",
                          "setting 'h'",
                          "ground: friction",
                          "ground: friction",
                          "scene: name is not valid UTF-8",
                          "contact exclusion 1: no such body",
                          "contact exclusion 1: both its bodies are 'a'",
                          "contact inclusion 1: no such body",
                          "contact inclusion 1: both its bodies are 'ground'",
                          "ground: there is none yet",
                          "ground: rolling and spinning friction must be >= 0, are 1 and -1"};
    for (int i = 0; i < 11; ++i) {
        bench       t        = new_bench();
        tn_settings settings = tn_default_settings();
        settings.h           = 0;
        if (i == 0) tn_scene_set_gravity(t.scene, (tn_vec3){0, nan_value, 0});
        if (i == 1) tn_scene_set_settings(t.scene, &settings);
        if (i == 2) tn_scene_set_ground(t.scene, -1, 0);
        if (i == 3) tn_scene_set_ground(t.scene, 0, 2);
        if (i == 4) tn_scene_set_name(t.scene, "\xff");
        if (i == 5)
            CHECK_INT(tn_scene_exclude_contact(t.scene, t.a, (tn_body_id){99}), TN_ERR_MODEL);
        if (i == 6) CHECK_INT(tn_scene_exclude_contact(t.scene, t.a, t.a), TN_ERR_MODEL);
        const tn_body_id ground = {0}, none = {99};
        if (i == 7) CHECK_INT(tn_scene_include_contact(t.scene, none, t.a), TN_ERR_MODEL);
        if (i == 8) CHECK_INT(tn_scene_include_contact(t.scene, ground, ground), TN_ERR_MODEL);
        if (i == 9) tn_scene_set_ground_rolling(t.scene, 1, 1);
        if (i == 10) tn_scene_set_ground(t.scene, 0.5, 0);
        if (i == 10) tn_scene_set_ground_rolling(t.scene, 1, -1);
        CHECK(tn_scene_ground_rolling_friction(t.scene) == 0);
        CHECK(tn_scene_gravity(t.scene).z == -9.81 && tn_scene_settings(t.scene).h == 1.0 / 60);
        CHECK(tn_scene_ground_friction(t.scene) == 0.5 && tn_scene_name(t.scene)[0] == 0);
        check_refused(&t, true, __LINE__, said[i]);
    }
}

static void add_many(tn_scene* scene, int count, bool named)
{
    tn_shape_def shape = tn_default_shape_def(TN_SHAPE_SPHERE);
    shape.radius       = 0.1;
    shape.density      = 1000;
    tn_body_def  def   = tn_default_body_def();
    tn_joint_def joint = tn_default_joint_def(TN_JOINT_BALL);
    char         name[32];
    def.shapes      = &shape;
    def.shape_count = 1;
    for (int i = 0; i < count; ++i) {
        snprintf(name, sizeof name, "link %d", i);
        def.name    = named ? name : NULL;
        joint.body2 = tn_scene_add_body(scene, &def);
        tn_scene_add_joint(scene, &joint);
        joint.body1 = joint.body2;
    }
}

// Searches or lists that are not O(1) would take minutes here.
TEST(two_hundred_thousand_bodies_are_added_and_found)
{
    const int count = 200000;
    tn_scene* scene = new_scene();
    add_many(scene, count / 2, true);
    add_many(scene, count / 2, false);
    CHECK_OK(tn_scene_problem(scene, NULL));
    CHECK_INT(tn_scene_body_count(scene), count);
    CHECK_INT(tn_scene_find_body(scene, "link 1234", NULL).bits, 1235);
    tn_scene_free(scene);
}

// ---- Memory ------------------------------------------------------------------------------------

// Everything at once; returns the first result that is not TN_OK.
static tn_result build_all(const tn_host* host, tn_scene** scene)
{
    const tn_vec3 points[5] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 1}};
    if (tn_scene_create(host, scene) != TN_OK) return TN_ERR_MEMORY;
    tn_shape_def shape = tn_default_shape_def(TN_SHAPE_CONVEX);
    shape.points       = points;
    shape.point_count  = 5;
    shape.density      = 10;
    tn_body_def body   = tn_default_body_def();
    body.shapes        = &shape;
    body.shape_count   = 1;
    for (int i = 0; i < 40; ++i) tn_scene_add_body(*scene, &body);
    const tn_body_id  a = {1}, b = {2};
    const tn_joint_id joints[2] = {add_joint(*scene, NULL, TN_JOINT_HINGE, a, b),
                                   add_joint(*scene, NULL, TN_JOINT_SLIDER, a, b)};
    if (tn_scene_problem(*scene, NULL) != TN_OK) return tn_scene_problem(*scene, NULL);
    tn_coupling_def coupling = tn_default_coupling_def(TN_COUPLING_GEAR);
    coupling.joints          = joints;
    coupling.joint_count     = 2;
    tn_spring_def spring     = tn_default_spring_def();
    spring.name              = "s";
    spring.body1             = a;
    const tn_key  key        = key_at(0, 0);
    tn_target_def target     = tn_default_target_def();
    target.body              = a;
    target.keys              = &key;
    target.key_count         = 1;
    tn_load_def load         = tn_default_load_def();
    load.body                = a;
    tn_drag_def drag         = tn_default_drag_def();
    drag.body                = a;
    tn_pair_def pair         = tn_default_pair_def();
    pair.body1               = a;
    tn_scene_add_coupling(*scene, &coupling);
    tn_scene_add_spring(*scene, &spring);
    tn_scene_add_target(*scene, &target);
    tn_scene_add_load(*scene, &load);
    tn_scene_add_drag(*scene, &drag);
    const tn_result results[] = {
        tn_scene_problem(*scene, NULL), tn_scene_exclude_contact(*scene, a, b),
        tn_scene_include_contact(*scene, a, b), tn_scene_add_pair(*scene, &pair)};
    for (int i = 0; i < 4; ++i) {
        if (results[i] != TN_OK) return results[i];
    }
    return TN_OK;
}

TEST(every_failing_allocation_is_reported_and_leaks_nothing)
{
    failing_host  f    = failing_host_make();
    const tn_host host = failing_host_of(&f);
    for (int n = 1;; ++n) {
        failing_host_rewind(&f, n);
        tn_scene*       scene   = NULL;
        const tn_result result  = build_all(&host, &scene);
        const bool      refused = f.refused > 0;
        CHECK_INT(result, refused ? TN_ERR_MEMORY : TN_OK);
        if (scene != NULL && refused) {
            tn_why why;
            CHECK_INT(tn_scene_problem(scene, &why), TN_ERR_MEMORY);
            CHECK(strstr(why.text, "out of memory") != NULL);
            tn_body_def body = ball_body("after"); // and the next add works
            CHECK(tn_scene_add_body(scene, &body).bits != 0);
        }
        tn_scene_free(scene);
        CHECK_INT(f.live_blocks, 0);
        CHECK_INT(f.live_bytes, 0);
        CHECK_INT(f.size_errors, 0);
        if (!refused) {
            CHECK_LESS(20, n);
            break;
        }
    }
}
