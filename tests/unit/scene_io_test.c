#include "io/scene_fields.h"
#include "model/joint_types.h"
#include "support/failing_host.h"
#include "support/scene_equal.h"
#include "tenon/io.h"
#include "test.h"

#include <stdlib.h>

typedef struct text_buffer {
    char*  bytes;
    size_t count, room, limit; ///< limit: refuses more than this; 0: never
} text_buffer;

static bool buffer_sink(void* user, const char* bytes, size_t count)
{
    text_buffer* b = user;
    if (b->limit > 0 && b->count + count > b->limit) return false;
    if (b->count + count + 1 > b->room) {
        b->room  = 2 * (b->count + count + 1);
        b->bytes = realloc(b->bytes, b->room);
    }
    memcpy(b->bytes + b->count, bytes, count);
    b->count += count;
    b->bytes[b->count] = '\0';
    return true;
}

static tn_scene* read_good(const char* text)
{
    tn_scene*       scene  = NULL;
    tn_why          why    = {0};
    const tn_result result = tn_scene_read(NULL, text, strlen(text), &scene, &why);
    test_check(result == TN_OK, __FILE__, __LINE__, "%d:%d: %s", why.line, why.column, why.text);
    return scene;
}

static void check_refused(const char* text, int line, int column, const char* fragment)
{
    tn_scene*       scene  = (tn_scene*)1;
    tn_why          why    = {0};
    const tn_result result = tn_scene_read(NULL, text, strlen(text), &scene, &why);
    test_check(result != TN_OK && scene == NULL, __FILE__, __LINE__, "was taken: %s", text);
    test_check(why.line == line && why.column == column && strstr(why.text, fragment) != NULL,
               __FILE__, __LINE__, "%d:%d: %s; wanted %d:%d %s", why.line, why.column, why.text,
               line, column, fragment);
}

// Written and read back: the same scene; written again: the same text.
static void check_round_trip(const tn_scene* scene)
{
    text_buffer first = {0}, second = {0};
    tn_why      why = {0};
    CHECK_OK(tn_scene_write(scene, buffer_sink, &first, &why));
    tn_scene*       back   = NULL;
    const tn_result result = tn_scene_read(NULL, first.bytes, first.count, &back, &why);
    test_check(result == TN_OK, __FILE__, __LINE__, "%d:%d: %s in\n%s", why.line, why.column,
               why.text, first.bytes);
    if (result == TN_OK) {
        const scene_difference d = scene_equal(scene, back);
        test_check(d.text[0] == '\0', __FILE__, __LINE__, "%s in\n%s", d.text, first.bytes);
        CHECK_OK(tn_scene_write(back, buffer_sink, &second, &why));
        CHECK_TEXT(second.bytes, first.bytes);
    }
    tn_scene_free(back);
    free(first.bytes);
    free(second.bytes);
}

// ---- Random scenes ----------------------------------------------------------------------------

static double odd(test_random* r)
{
    static const double values[] = {0.1,    -0.0, 0.0, 1e-310,        1.0 / 3, -1e300,
                                    5e-324, 1,    -7,  123456789.125, 1e30,    -1e30};
    const int           count    = (int)(sizeof values / sizeof *values);
    return test_random_int(r, 0, 1) == 0 ? values[test_random_int(r, 0, count - 1)]
                                         : test_random_between(r, -5, 5);
}

static double odd_positive(test_random* r)
{
    static const double values[] = {0.1, 1e-310, 1.0 / 3, 1e20, 1};
    return test_random_int(r, 0, 2) == 0 ? values[test_random_int(r, 0, 4)]
                                         : test_random_between(r, 0.01, 5);
}

static tn_vec3 odd_vector(test_random* r)
{
    return (tn_vec3){odd(r), odd(r), odd(r)};
}

static tn_quat odd_quaternion(test_random* r)
{
    return (tn_quat){1 + test_random_unit(r), test_random_unit(r), -0.0, test_random_unit(r)};
}

static tn_frame odd_frame(test_random* r)
{
    return (tn_frame){odd_vector(r), odd_quaternion(r)};
}

static bool coin(test_random* r)
{
    return test_random_int(r, 0, 1) == 0;
}

enum { KEYS = 3, POINTS = 5 };

static void random_keys(test_random* r, tn_key* keys)
{
    for (int i = 0; i < KEYS; ++i) keys[i] = (tn_key){i + 0.5 * test_random_unit(r), odd_frame(r)};
}

static void random_mesh(test_random* r, tn_shape_def* def)
{
    static const tn_vec3 vertices[] = {{0, 0, -0.0}, {0.1, 0, 0}, {0, 1.0 / 3, 0}, {0, 0, 1e-310}};
    static const int     sides[]    = {0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3};
    def->vertices                   = vertices;
    def->vertex_count               = test_random_int(r, 3, 4);
    def->triangles                  = sides;
    def->triangle_count             = def->vertex_count == 3 ? 1 : test_random_int(r, 1, 4);
    if (coin(r)) def->pieces_tolerance = odd_positive(r);
}

static void random_heights(test_random* r, tn_shape_def* def)
{
    static const double z[] = {0.1, -0.0, 1e-310, 1.0 / 3, -1e300, 0, 7, 1e30, 5e-324, 2, 3, 4};
    def->heights            = z;
    def->rows               = test_random_int(r, 2, 3);
    def->columns            = test_random_int(r, 2, 4);
    def->spacing[0]         = odd_positive(r);
    def->spacing[1]         = odd_positive(r);
}

static tn_shape_def random_shape(test_random* r, tn_shape_type type, const tn_vec3* points)
{
    tn_shape_def def = tn_default_shape_def(type);
    if (coin(r)) def.pose = odd_frame(r);
    if (type == TN_SHAPE_SPHERE || type == TN_SHAPE_CAPSULE || type == TN_SHAPE_CYLINDER)
        def.radius = test_random_between(r, 0.1, 1);
    if (type == TN_SHAPE_CAPSULE || type == TN_SHAPE_CYLINDER)
        def.half_length = test_random_between(r, 0.1, 1);
    if (type == TN_SHAPE_BOX)
        def.half_size = (tn_vec3){0.1, 1.0 / 3, test_random_between(r, 0.1, 1)};
    if (type == TN_SHAPE_CONVEX) def.points = points, def.point_count = POINTS;
    if (type == TN_SHAPE_MESH) random_mesh(r, &def);
    if (type == TN_SHAPE_HEIGHTS) random_heights(r, &def);
    if (coin(r)) def.friction = odd_positive(r), def.restitution = test_random_unit(r);
    if (coin(r)) def.rolling_friction = odd_positive(r), def.spinning_friction = odd_positive(r);
    if (coin(r)) def.stiffness = odd_positive(r), def.damping = odd_positive(r);
    if (coin(r)) def.surface_velocity = odd_vector(r);
    if (coin(r)) def.group = test_random_int(r, 0, 31);
    if (coin(r)) def.collides_with = coin(r) ? 0 : (uint32_t)test_random_bits(r);
    if (coin(r)) def.density = test_random_between(r, 1, 1000);
    if (coin(r)) def.color = (tn_vec3){test_random_unit(r), 0.1, -0.0};
    if (coin(r)) def.collide = false;
    return def;
}

static void add_random_body(tn_scene* scene, test_random* r, tn_body_kind kind, int number)
{
    static const tn_vec3 points[POINTS] = {
        {0, 0, 0}, {0.1, 0, 0}, {0, 1.0 / 3, 0}, {0, 0, 1}, {1, 1, 1}};
    tn_shape_def shapes[TN_SHAPE_TYPE_COUNT];
    tn_key       keys[KEYS];
    char         name[64];
    tn_body_def  def = tn_default_body_def();
    snprintf(name, sizeof name, "%s \xe2\x82\xac\"\\%d", number % 2 == 0 ? "b" : "", number);
    if (coin(r)) def.name = name;
    def.kind = kind;
    if (kind != TN_BODY_STATIC && kind != TN_BODY_KINEMATIC) {
        def.mass            = odd_positive(r);
        const double full[] = {1.25, 1.0 / 3 + 1, 1.5, 0.1, -0.01, 1e-310},
                     main[] = {2, 2.5, 3, 0, 0, 0};
        memcpy(def.inertia, coin(r) ? full : main, sizeof def.inertia);
        if (coin(r)) def.com = odd_vector(r);
    }
    if (kind == TN_BODY_RIGID || kind == TN_BODY_AFFINE)
        def.velocity = (tn_twist){odd_vector(r), odd_vector(r)};
    if (kind == TN_BODY_PARTICLE) def.velocity.linear = odd_vector(r);
    if (kind == TN_BODY_PLANAR) def.pose.orientation = (tn_quat){0.8, 0, 0, 0.6};
    else if (coin(r)) def.pose = odd_frame(r);
    if (kind == TN_BODY_AFFINE)
        def.young = 1e5, def.poisson = 0.1, def.volume = coin(r) ? 0.1 : odd_positive(r);
    if (kind == TN_BODY_KINEMATIC) {
        random_keys(r, keys);
        def.keys      = keys;
        def.key_count = KEYS;
    }
    def.shape_count = test_random_int(r, 0, TN_SHAPE_TYPE_COUNT);
    def.shapes      = shapes;
    for (int i = 0; i < def.shape_count; ++i) {
        const int  type = (i + number) % TN_SHAPE_TYPE_COUNT;
        const bool flat = type == TN_SHAPE_HEIGHTS && kind != TN_BODY_STATIC;
        shapes[i]       = random_shape(r, flat ? TN_SHAPE_PLANE : (tn_shape_type)type, points);
    }
    def.continuous = coin(r);
    tn_scene_add_body(scene, &def);
}

static void random_limit(test_random* r, tn_joint_type type, tn_limit* limit)
{
    limit->given = true;
    if (type == TN_JOINT_BALL) {
        const int what = test_random_int(r, 1, 3);
        if (what & 1) limit->cone = test_random_between(r, 0.1, 3);
        if (what & 2) limit->twist_lower = -1.0 / 3, limit->twist_upper = 0.1;
    } else {
        limit->lower = coin(r) ? -TNI_LIMIT_FREE : test_random_between(r, -2, -1);
        limit->upper = coin(r) ? TNI_LIMIT_FREE : test_random_between(r, -1, 1);
    }
    limit->hard = coin(r); // as hard limits, cones are not near 0 or pi and twists within 3
    if (coin(r)) limit->stiffness = 1e4, limit->damping = 0.1;
}

static void add_random_joint(tn_scene* scene, test_random* r, tn_joint_type type,
                             tn_joint_form form, tn_body_id body)
{
    const int    coordinates = tni_joint_shapes[type].coordinates;
    tn_value_key keys[]      = {{-0.0, 0.1}, {1.0 / 3, -0.0}, {1, 1e-310}};
    tn_joint_def def         = tn_default_joint_def(type);
    def.form                 = form;
    def.body1                = coin(r) ? (tn_body_id){0} : (tn_body_id){body.bits + 1};
    def.body2                = body;
    if (form == TN_JOINT_BY_ANCHOR) {
        def.anchor = odd_vector(r);
        if (coin(r)) def.axis = (tn_vec3){0, test_random_between(r, 0.5, 2), -0.0};
        if (type == TN_JOINT_UNIVERSAL) def.axis2 = (tn_vec3){0.1, 0, 0};
    } else if (form == TN_JOINT_BY_FRAMES) {
        if (coin(r)) def.frame1 = odd_frame(r);
        if (coin(r)) def.frame2 = odd_frame(r);
    } else {
        def.frame1.position = odd_vector(r);
        def.frame2.position = odd_vector(r);
    }
    if ((type == TN_JOINT_DISTANCE || type == TN_JOINT_ROPE) && coin(r))
        def.length = odd_positive(r);
    if (type == TN_JOINT_SCREW) def.pitch = odd(r);
    if (type == TN_JOINT_ROLLING) def.radius = odd_positive(r);
    if (type == TN_JOINT_MOTOR) {
        if (coin(r)) def.of = TN_JOINT_SLIDER;
        if (coin(r)) def.velocity = odd(r);
        else def.velocity_keys = keys, def.velocity_key_count = 3;
    }
    if (coordinates > 0) {
        if (coin(r)) def.stiffness = odd_positive(r);
        if (coin(r)) def.damping = odd_positive(r);
        if (coin(r)) def.friction = odd_positive(r);
        if (coin(r)) def.friction_speed = odd_positive(r);
        for (int i = 0; i < coordinates; ++i)
            def.rest[i] = odd(r), def.force[i] = coin(r) ? 0 : odd(r);
        if (coin(r)) random_limit(r, type, &def.limit);
        if (type == TN_JOINT_MOTOR && coin(r))
            def.force_low = -odd_positive(r), def.force_high = odd_positive(r);
    }
    if ((type == TN_JOINT_ROPE || (def.limit.given && def.limit.hard)) && coin(r))
        def.restitution = coin(r) ? -0.0 : test_random_unit(r);
    def.role = (tn_role)test_random_int(r, 0, TN_ROLE_COUNT - 1);
    tn_scene_add_joint(scene, &def);
}

static void add_random_joints(tn_scene* scene, test_random* r, tn_body_id body)
{
    for (int type = 0; type < TN_JOINT_USER; ++type) {
        if (type != TN_JOINT_DISTANCE && type != TN_JOINT_ROPE)
            add_random_joint(scene, r, (tn_joint_type)type, TN_JOINT_BY_ANCHOR, body);
        add_random_joint(scene, r, (tn_joint_type)type, TN_JOINT_BY_FRAMES, body);
    }
    add_random_joint(scene, r, TN_JOINT_DISTANCE, TN_JOINT_BY_POINTS, body);
    add_random_joint(scene, r, TN_JOINT_ROPE, TN_JOINT_BY_POINTS, body);
}

// The id of the first joint of this type.
static tn_joint_id joint_of(const tn_scene* scene, tn_joint_type type)
{
    for (int i = 0; i < tn_scene_joint_count(scene); ++i) {
        if (tn_scene_joint(scene, i)->type == type) return (tn_joint_id){(uint32_t)i + 1};
    }
    return (tn_joint_id){0};
}

static void add_random_couplings(tn_scene* scene, test_random* r)
{
    const tn_joint_id joints[] = {joint_of(scene, TN_JOINT_HINGE), joint_of(scene, TN_JOINT_SLIDER),
                                  joint_of(scene, TN_JOINT_BALL)};
    const double      coefficients[] = {0.1, -1.0 / 3, 1e-310};
    const tn_body_id  bodies[]       = {{2}, {1}, {4}, {3}}; // particle, rigid, affine, planar
    for (int type = 0; type < TN_COUPLING_TYPE_COUNT; ++type) {
        tn_coupling_def def = tn_default_coupling_def((tn_coupling_type)type);
        if (type == TN_COUPLING_CENTER) {
            const int axes = test_random_int(r, 1, 7);
            def.bodies = bodies, def.body_count = test_random_int(r, 1, 4);
            for (int k = 0; k < 3; ++k) def.hold[k] = (axes >> k) % 2 != 0;
        }
        def.role        = (tn_role)test_random_int(r, 0, TN_ROLE_COUNT - 1);
        def.joints      = joints;
        def.joint_count = type < TN_COUPLING_DIFFERENTIAL ? 2 : 3;
        if (coin(r)) def.name = tni_coupling_types.list[type];
        if (type < TN_COUPLING_COUPLER && coin(r)) def.ratio = -odd_positive(r);
        if (type == TN_COUPLING_COUPLER) def.coefficients = coefficients, def.velocity = odd(r);
        (void)tn_scene_add_coupling(scene, &def);
    }
}

static void add_random_forces(tn_scene* scene, test_random* r, tn_body_id body)
{
    tn_key        keys[KEYS];
    tn_spring_def spring = tn_default_spring_def();
    tn_target_def target = tn_default_target_def();
    tn_load_def   load   = tn_default_load_def();
    tn_drag_def   drag   = tn_default_drag_def();
    random_keys(r, keys);
    if (coin(r)) spring.name = target.name = load.name = drag.name = "named";
    spring.body2     = body;
    spring.anchor1   = odd_vector(r);
    spring.stiffness = odd_positive(r);
    if (coin(r)) spring.length = 0.1, spring.damping = 1.0 / 3;
    target.body = load.body = drag.body = body;
    target.keys                         = keys;
    target.key_count                    = KEYS;
    target.point                        = odd_vector(r);
    target.stiffness                    = odd_positive(r);
    target.damping                      = odd_positive(r);
    if (coin(r)) target.angular_stiffness = 0.1, target.angular_damping = 1e-310;
    load.force = odd_vector(r);
    if (coin(r)) load.torque = odd_vector(r), load.from = -0.0, load.until = 0.1;
    drag.linear = odd_positive(r);
    if (coin(r)) drag.quadratic = 0.1, drag.angular = odd_positive(r), drag.point = odd_vector(r);
    const tn_vector_key wind[] = {{-0.0, {0.1, -0.0, 0}}, {1.0 / 3, {1e-310, 0, -0.0}}};
    const int           how    = test_random_int(r, 0, 2);
    if (how == 1) drag.wind = odd_vector(r);
    if (how == 2) drag.wind_keys = wind, drag.wind_key_count = test_random_int(r, 1, 2);
    (void)tn_scene_add_spring(scene, &spring);
    (void)tn_scene_add_target(scene, &target);
    (void)tn_scene_add_load(scene, &load);
    (void)tn_scene_add_drag(scene, &drag);
}

static void set_random_world(tn_scene* scene, test_random* r)
{
    tn_settings settings = tn_default_settings();
    if (coin(r)) tn_scene_set_name(scene, "\xc3\xa9 \"quoted\" \\ name");
    if (coin(r)) tn_scene_set_gravity(scene, odd_vector(r));
    if (coin(r)) tn_scene_set_ground(scene, odd_positive(r), test_random_unit(r));
    else if (coin(r)) tn_scene_set_ground(scene, 0.5, 0); // a floor with nothing to say about it
    if (tn_scene_has_ground(scene) && coin(r))
        tn_scene_set_ground_rolling(scene, odd_positive(r), coin(r) ? -0.0 : odd_positive(r));
    if (coin(r)) settings.method = TN_METHOD_IMPLICIT, settings.h = 1.0 / 3;
    if (coin(r))
        settings.multiplier.project = false, settings.multiplier.integrator = TN_INTEGRATOR_EULER;
    if (coin(r)) settings.duration = 0.1, settings.multiplier.tolerance = 1e-310;
    tn_scene_set_settings(scene, &settings);
}

static void add_random_pairs(tn_scene* scene, test_random* r, tn_body_id body)
{
    tn_pair_def def = tn_default_pair_def();
    if (coin(r)) (void)tn_scene_include_contact(scene, (tn_body_id){0}, body);
    if (coin(r)) (void)tn_scene_include_contact(scene, (tn_body_id){3}, body);
    for (int i = test_random_int(r, 0, 3); i < 3; ++i) {
        def.body1 = coin(r) ? body : (tn_body_id){0};
        def.body2 = (tn_body_id){(uint32_t)i + 2};
        if (coin(r)) def.friction = odd_positive(r);
        if (coin(r)) def.restitution = coin(r) ? -0.0 : 1;
        if (coin(r)) def.rolling_friction = odd_positive(r);
        if (coin(r)) def.spinning_friction = 0;
        if (coin(r)) def.stiffness = odd_positive(r);
        if (coin(r)) def.damping = odd_positive(r);
        (void)tn_scene_add_pair(scene, &def);
    }
}

static tn_scene* random_scene(uint64_t seed)
{
    test_random r     = {seed};
    tn_scene*   scene = NULL;
    if (tn_scene_create(NULL, &scene) != TN_OK) return NULL;
    set_random_world(scene, &r);
    for (int i = 0; i < 2 * TN_BODY_USER; ++i)
        add_random_body(scene, &r, (tn_body_kind)(i % TN_BODY_USER), i);
    const tn_body_id body = {1}; // rigid
    add_random_joints(scene, &r, body);
    add_random_couplings(scene, &r);
    add_random_forces(scene, &r, body);
    if (coin(&r)) (void)tn_scene_exclude_contact(scene, body, (tn_body_id){2});
    if (coin(&r)) (void)tn_scene_exclude_contact(scene, body, (tn_body_id){0});
    add_random_pairs(scene, &r, body);
    tn_why why;
    test_check(tn_scene_problem(scene, &why) == TN_OK, __FILE__, __LINE__, "seed %d: %s", (int)seed,
               why.text);
    return scene;
}

TEST(random_scenes_read_back_bit_for_bit)
{
    for (uint64_t seed = 1; seed <= 300; ++seed) {
        tn_scene* scene = random_scene(seed);
        check_round_trip(scene);
        tn_scene_free(scene);
    }
}

// ---- Contents of a file -----------------------------------------------------------------------

TEST(empty_scene_has_a_version_only)
{
    tn_scene*   scene = read_good("{\"tenon_scene\": 1}");
    tn_scene*   fresh = NULL;
    text_buffer text  = {0};
    CHECK_OK(tn_scene_create(NULL, &fresh));
    CHECK_TEXT(scene_equal(scene, fresh).text, "");
    CHECK_OK(tn_scene_write(fresh, buffer_sink, &text, NULL)); // so defaults here and there agree
    CHECK_TEXT(text.bytes, "{\n  \"tenon_scene\": 1\n}\n");
    free(text.bytes);
    tn_scene_free(scene);
    tn_scene_free(fresh);
}

TEST(sections_may_be_in_any_order)
{
    tn_scene* scene = read_good(
        "{\"contact\": {\"exclude\": [[\"a\", \"b\"]], \"ground\": {\"friction\": 0.8}},"
        " \"couplings\": [{\"type\": \"gear\", \"joints\": [\"j\", \"k\"], \"ratio\": 2}],"
        " \"joints\": [{\"name\": \"j\", \"type\": \"hinge\", \"bodies\": [\"ground\", \"a\"], \"anchor\": [0,0,0], \"axis\": [0,0,1]},"
        " {\"name\": \"k\", \"type\": \"hinge\", \"bodies\": [\"b\", \"a\"], \"anchor\": [0,0,0], \"axis\": [0,0,1]}],"
        " \"bodies\": [{\"inertia\": [1,1,1], \"mass\": 1, \"name\": \"a\"}, {\"name\": \"b\", \"mass\": 1, \"inertia\": [1,1,1]}],"
        " \"tenon_scene\": 1}");
    CHECK_INT(tn_scene_body_count(scene), 2);
    CHECK_INT(tn_scene_joint_count(scene), 2);
    CHECK_INT(tn_scene_joint(scene, 1)->body1.bits, 2);
    CHECK_INT(tn_scene_coupling(scene, 0)->joints[1].bits, 2);
    CHECK_INT(tn_scene_exclude_count(scene), 1);
    CHECK_NEAR(tn_scene_ground_friction(scene), 0.8, 0);
    CHECK_NEAR(tn_scene_ground_restitution(scene), 0, 0);
    tn_scene_free(scene);
}

TEST(comments_are_ignored_everywhere)
{
    tn_scene* scene = read_good(
        "{\"_\": 1, \"tenon_scene\": 1, \"method\": {\"_why\": [], \"h\": 0.25}, \"bodies\": [{\"_x\": null, \"mass\": 1, \"inertia\": [1,1,1],"
        " \"shapes\": [{\"_c\": {}, \"type\": \"plane\"}]}]}");
    CHECK_INT(tn_scene_body_count(scene), 1);
    CHECK_NEAR(tn_scene_settings(scene).h, 0.25, 0);
    tn_scene_free(scene);
}

TEST(values_are_read_into_their_fields)
{
    tn_scene* scene = read_good(
        "{\"tenon_scene\": 1, \"name\": \"n\", \"gravity\": [1,2,3],"
        " \"method\": {\"name\": \"multiplier\", \"multiplier.integrator\": \"euler\", \"multiplier.project\": false},"
        " \"bodies\": [{\"name\": \"a\", \"mass\": 2, \"com\": [1,2,3], \"inertia\": [1,1,1,0.1,0.2,0.3], \"position\": [4,5,6],"
        " \"orientation\": [0.5,0.5,0.5,0.5], \"velocity\": [7,8,9], \"angular_velocity\": [10,11,12]}],"
        " \"joints\": [{\"type\": \"ball\", \"bodies\": [\"ground\", \"a\"], \"anchor\": [1,0,0], \"rest\": [1,2,3], \"force\": 0,"
        " \"limit\": {\"cone\": 0.5, \"twist\": [-1, 2], \"hard\": true}},"
        " {\"type\": \"hinge\", \"bodies\": [\"ground\", \"a\"], \"anchor\": [1,0,0], \"axis\": [0,1,0], \"force\": 5, \"limit\": {\"upper\": 1},"
        " \"friction\": 0.3, \"friction_speed\": 0.02}],"
        " \"loads\": [{\"body\": \"a\", \"force\": [1,2,3], \"until\": 4}], \"drag\": [{\"body\": \"a\", \"quadratic\": 0.5},"
        " {\"body\": \"a\", \"wind\": [1,2,3]},"
        " {\"body\": \"a\", \"wind\": {\"keys\": [{\"time\": 0, \"velocity\": [4,5,6]}, {\"velocity\": [7,8,9], \"time\": 2}]}}]}");
    const tn_body_def*  body = tn_scene_body(scene, 0);
    const tn_joint_def *ball = tn_scene_joint(scene, 0), *hinge = tn_scene_joint(scene, 1);
    const tn_settings   s = tn_scene_settings(scene);
    CHECK_TEXT(tn_scene_name(scene), "n");
    CHECK(tn_scene_gravity(scene).z == 3 && body->com.y == 2 && body->inertia[5] == 0.3 &&
          body->pose.position.x == 4);
    CHECK(body->pose.orientation.w == 0.5 && body->velocity.linear.z == 9 &&
          body->velocity.angular.x == 10);
    CHECK(s.method == TN_METHOD_MULTIPLIER && s.multiplier.integrator == TN_INTEGRATOR_EULER &&
          !s.multiplier.project);
    CHECK(ball->rest[2] == 3 && ball->force[0] == 0 && ball->limit.cone == 0.5 &&
          ball->limit.twist_upper == 2 && ball->limit.hard);
    CHECK(ball->limit.lower > ball->limit.upper);
    CHECK(hinge->force[0] == 5 && hinge->limit.given && hinge->limit.upper == 1 &&
          hinge->limit.lower == -TNI_LIMIT_FREE);
    CHECK(tn_scene_load(scene, 0)->until == 4 && tn_scene_load(scene, 0)->from == 0 &&
          tn_scene_drag(scene, 0)->quadratic == 0.5);
    CHECK(ball->friction == 0 && ball->friction_speed == 0.01 && hinge->friction == 0.3 &&
          hinge->friction_speed == 0.02);
    const tn_drag_def *still = tn_scene_drag(scene, 0), *steady = tn_scene_drag(scene, 1),
                      *gusty = tn_scene_drag(scene, 2);
    CHECK(still->wind.x == 0 && still->wind_key_count == 0);
    CHECK(steady->wind.x == 1 && steady->wind.z == 3 && steady->wind_key_count == 0);
    CHECK_INT(gusty->wind_key_count, 2);
    CHECK(gusty->wind_keys[0].value.y == 5 && gusty->wind_keys[1].time == 2 &&
          gusty->wind_keys[1].value.z == 9);
    check_round_trip(scene);
    tn_scene_free(scene);
}

TEST(ropes_centers_roles_and_the_ground_are_read)
{
    tn_scene* scene = read_good(
        "{\"tenon_scene\": 1, \"bodies\": [{\"name\": \"a\", \"mass\": 1, \"inertia\": [1,1,1]},"
        " {\"name\": \"b\", \"kind\": \"particle\", \"mass\": 1}],"
        " \"joints\": [{\"type\": \"rope\", \"bodies\": [\"a\", \"b\"], \"anchors\": [[1,0,0],[0,2,0]], \"length\": 3,"
        " \"restitution\": 0.25, \"role\": \"primary\"},"
        " {\"type\": \"rope\", \"bodies\": [\"a\", \"b\"], \"frames\": [{}, {\"position\": [0,0,4]}], \"role\": \"auto\"},"
        " {\"type\": \"hinge\", \"bodies\": [\"ground\", \"a\"], \"anchor\": [0,0,0], \"axis\": [0,1,0], \"role\": \"auxiliary\","
        " \"limit\": {\"lower\": -1, \"hard\": true}, \"restitution\": 1}],"
        " \"couplings\": [{\"type\": \"center\", \"bodies\": [\"b\", \"a\"], \"hold\": \"zx\", \"role\": \"auxiliary\"},"
        " {\"type\": \"center\", \"bodies\": [\"a\"]}],"
        " \"contact\": {\"ground\": {}}}");
    const tn_joint_def*    rope   = tn_scene_joint(scene, 0);
    const tn_joint_def*    loose  = tn_scene_joint(scene, 1);
    const tn_joint_def*    hinge  = tn_scene_joint(scene, 2);
    const tn_coupling_def* center = tn_scene_coupling(scene, 0);
    CHECK(rope->type == TN_JOINT_ROPE && rope->form == TN_JOINT_BY_POINTS && rope->length == 3);
    CHECK(rope->frame2.position.y == 2 && rope->restitution == 0.25);
    CHECK(rope->role == TN_ROLE_PRIMARY && loose->role == TN_ROLE_AUTO);
    CHECK(loose->form == TN_JOINT_BY_FRAMES && isnan(loose->length));
    CHECK(hinge->role == TN_ROLE_AUXILIARY && hinge->limit.hard && hinge->restitution == 1);
    CHECK_INT(center->body_count, 2);
    CHECK(center->bodies[0].bits == 2 && center->bodies[1].bits == 1);
    CHECK(center->hold[0] && !center->hold[1] && center->hold[2]);
    CHECK(center->role == TN_ROLE_AUXILIARY && tn_scene_coupling(scene, 1)->hold[1]);
    CHECK(tn_scene_has_ground(scene) && tn_scene_ground_friction(scene) == 0.5);
    check_round_trip(scene);
    tn_scene_free(scene);
    scene = read_good("{\"tenon_scene\": 1, \"contact\": {\"exclude\": []}}");
    CHECK(!tn_scene_has_ground(scene));
    tn_scene_free(scene);
}

TEST(surfaces_groups_and_pairs_are_read)
{
    tn_scene* scene = read_good(
        "{\"tenon_scene\": 1, \"bodies\": ["
        " {\"name\": \"a\", \"continuous\": true, \"mass\": 1, \"inertia\": [1,1,1], \"shapes\": ["
        "  {\"type\": \"sphere\", \"radius\": 1, \"rolling_friction\": 0.01, \"spinning_friction\": 0.02,"
        "   \"group\": 31, \"collides_with\": [0, 31, 5, 5]},"
        "  {\"type\": \"mesh\", \"vertices\": [[0,0,0],[1,0,0],[0,1,0],[0,0,2]],"
        "   \"triangles\": [[0,2,1],[0,1,3],[1,2,3],[2,0,3]], \"pieces_tolerance\": 0.25, \"collides_with\": []}]},"
        " {\"name\": \"b\", \"kind\": \"static\", \"shapes\": [{\"type\": \"heights\", \"spacing\": [1, 2],"
        "   \"heights\": [[1, 2, 3], [4, 5, 6]], \"surface_velocity\": [1, 2, 3]}]}],"
        " \"contact\": {\"ground\": {\"rolling_friction\": 0.5, \"spinning_friction\": 0.25},"
        "  \"include\": [[\"a\", \"ground\"]], \"exclude\": [[\"b\", \"a\"]],"
        "  \"pairs\": [{\"bodies\": [\"a\", \"b\"], \"friction\": 2, \"restitution\": 0.5},"
        "   {\"bodies\": [\"ground\", \"a\"], \"rolling_friction\": 3, \"spinning_friction\": 4}]}}");
    const tn_body_def *a = tn_scene_body(scene, 0), *b = tn_scene_body(scene, 1);
    CHECK(a->continuous && !b->continuous);
    CHECK(a->shapes[0].rolling_friction == 0.01 && a->shapes[0].spinning_friction == 0.02);
    CHECK(a->shapes[0].group == 31 && a->shapes[0].collides_with == 0x80000021);
    const tn_shape_def *mesh = &a->shapes[1], *field = &b->shapes[0];
    CHECK(mesh->vertex_count == 4 && mesh->vertices[3].z == 2 && mesh->collides_with == 0);
    CHECK(mesh->triangle_count == 4 && mesh->triangles[1] == 2 && mesh->triangles[11] == 3);
    CHECK(mesh->pieces_tolerance == 0.25 && mesh->file == NULL && mesh->group == 0);
    CHECK(field->rows == 2 && field->columns == 3 && field->heights[3] == 4);
    CHECK(field->spacing[0] == 1 && field->spacing[1] == 2 && field->surface_velocity.z == 3);
    CHECK(field->collides_with == UINT32_MAX);
    CHECK(tn_scene_ground_rolling_friction(scene) == 0.5);
    CHECK(tn_scene_ground_spinning_friction(scene) == 0.25);
    CHECK_INT(tn_scene_include(scene, 0).body1.bits, 1);
    CHECK_INT(tn_scene_include(scene, 0).body2.bits, 0);
    CHECK_INT(tn_scene_exclude(scene, 0).body1.bits, 2);
    CHECK_INT(tn_scene_pair_count(scene), 2);
    const tn_pair_def *p = tn_scene_pair(scene, 0), *q = tn_scene_pair(scene, 1);
    CHECK(p->body1.bits == 1 && p->body2.bits == 2 && p->friction == 2 && p->restitution == 0.5);
    CHECK(isnan(p->rolling_friction) && isnan(p->spinning_friction) && isnan(q->friction));
    CHECK(q->body1.bits == 0 && q->rolling_friction == 3 && q->spinning_friction == 4);
    check_round_trip(scene);
    tn_scene_free(scene);
}

// The file's name is kept and written; its triangles are read from it. Names are relative to the
// scene's file.
TEST(meshes_are_read_relative_to_the_scene_file)
{
    static const char text[] =
        "{\"tenon_scene\": 1, \"bodies\": [{\"shapes\": [{\"type\": \"mesh\", \"file\": \"%s\","
        " \"density\": 6}]}]}";
    char inside[300], beside[300];
    snprintf(inside, sizeof inside, text, "tests/support/corner.obj");
    snprintf(beside, sizeof beside, text, "corner.obj");
    tn_scene* scene = read_good(inside); // from the working directory
    if (scene == NULL) return;
    const tn_shape_def* mesh = &tn_scene_body(scene, 0)->shapes[0];
    CHECK_TEXT(mesh->file, "tests/support/corner.obj");
    CHECK(mesh->vertex_count == 4 && mesh->triangle_count == 4 && mesh->triangles[1] == 2);
    check_round_trip(scene);
    tn_scene* other = NULL;
    tn_why    why   = {0};
    CHECK(tn_scene_read(NULL, beside, strlen(beside), &other, &why) == TN_ERR_FILE);
    CHECK(other == NULL && why.line == 1);
    CHECK_INT(why.column, strstr(beside, "\"corner") - beside + 1);
    CHECK(strstr(why.text, "'file' of shape 1 of body 1: ") != NULL);
    CHECK(strstr(why.text, "'corner.obj'") != NULL);
    CHECK_OK(tn_scene_read_file(NULL, "tests/support/corner.json", &other, &why));
    if (other != NULL) {
        CHECK_TEXT(tn_scene_body(other, 0)->shapes[0].file, "corner.obj");
        CHECK_INT(tn_scene_body(other, 0)->shapes[0].triangle_count, 4);
    }
    tn_scene_free(other);
    tn_scene_free(scene);
}

TEST(an_unread_mesh_is_written_by_its_file_name)
{
    tn_scene*    scene = NULL;
    tn_body_def  def   = tn_default_body_def();
    tn_shape_def mesh  = tn_default_shape_def(TN_SHAPE_MESH);
    text_buffer  text  = {0};
    CHECK_OK(tn_scene_create(NULL, &scene));
    mesh.file       = "parts/\xc3\xa9 \"q\" \\ \n.obj";
    mesh.collide    = false;
    def.kind        = TN_BODY_STATIC;
    def.shapes      = &mesh;
    def.shape_count = 1;
    tn_scene_add_body(scene, &def);
    CHECK_OK(tn_scene_write(scene, buffer_sink, &text, NULL));
    CHECK(strstr(text.bytes, "\"file\": \"parts/\xc3\xa9 \\\"q\\\" \\\\ \\u000a.obj\"") != NULL);
    CHECK(strstr(text.bytes, "vertices") == NULL);
    tn_scene* back = NULL;
    tn_why    why  = {0}; // and is read then, which there is nothing to do here
    CHECK(tn_scene_read(NULL, text.bytes, text.count, &back, &why) == TN_ERR_FILE);
    CHECK(why.line == 6 && strchr(why.text, '\n') == NULL);
    free(text.bytes);
    tn_scene_free(scene);
}

TEST(free_coordinates_agree_with_the_joint_types)
{
    for (int type = 0; type < TN_JOINT_USER; ++type) {
        CHECK_INT(tni_joint_shapes[type].coordinates,
                  tni_joint_type_of((tn_joint_type)type, TN_JOINT_HINGE)->coordinate_count);
    }
}

TEST(byte_order_mark_does_not_matter)
{
    tn_scene_free(read_good("\xef\xbb\xbf{\"tenon_scene\": 1}"));
}

// Every JSON block of the user documentation is a whole scene.
TEST(examples_of_the_documentation_are_scenes)
{
    static char text[100000];
    FILE*       file  = fopen("docs/scene.md", "rb");
    int         count = 0;
    CHECK(file != NULL);
    if (file == NULL) return;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    for (char* at = strstr(text, "```json\n"); at != NULL; at = strstr(at, "```json\n")) {
        char* end       = strstr(at + 8, "```");
        *end            = '\0';
        tn_scene* scene = read_good(at + 8);
        if (scene != NULL) check_round_trip(scene);
        tn_scene_free(scene);
        at = end + 3;
        ++count;
    }
    CHECK(count >= 7);
}

// ---- Refusals ---------------------------------------------------------------------------------

// tests/malformed: files with their expected messages. Run from the root of the repository.
TEST(malformed_files_are_refused_with_position_and_reason)
{
    FILE* list = fopen("tests/malformed/expected.txt", "r");
    char  line[400];
    int   count = 0;
    CHECK(list != NULL);
    while (list != NULL && fgets(line, sizeof line, list) != NULL) {
        char  path[200];
        char* name  = strtok(line, "\t");
        char* place = strtok(NULL, "\t");
        char* text  = strtok(NULL, "\n");
        snprintf(path, sizeof path, "tests/malformed/%s", name);
        tn_scene*       scene  = (tn_scene*)1;
        tn_why          why    = {0};
        const tn_result result = tn_scene_read_file(NULL, path, &scene, &why);
        char            found[32];
        snprintf(found, sizeof found, "%d:%d", why.line, why.column);
        test_check(result != TN_OK && result == why.result && scene == NULL, __FILE__, __LINE__,
                   "%s was taken", name);
        test_check(strcmp(found, place) == 0 && strstr(why.text, text) != NULL, __FILE__, __LINE__,
                   "%s: %s: %s; wanted %s: %s", name, found, why.text, place, text);
        ++count;
    }
    if (list != NULL) fclose(list);
    CHECK(count >= 60);
}

TEST(messages_stay_on_one_line_whatever_the_names)
{
    check_refused("{\"tenon_scene\": 1, \"a\\nb\": 1}", 1, 20, "unknown key 'a?b'");
    char text[1200] = "{\"tenon_scene\": 1, \"bodies\": [{\"name\": \"";
    for (int i = 0; i < 500; ++i) strcat(text, "\xc3\xa9");
    strcat(text, "\", \"mass\": []}]}");
    check_refused(text, 1, (int)(strstr(text, "[]") - text) + 1, "...' must be a number");
}

TEST(why_may_be_null)
{
    tn_scene* scene = NULL;
    CHECK(tn_scene_read(NULL, "{", 1, &scene, NULL) == TN_ERR_PARSE);
    CHECK(tn_scene_read(NULL, "{\"tenon_scene\": 1, \"x\": 1}", 26, &scene, NULL) == TN_ERR_PARSE);
    CHECK(tn_scene_read(NULL, "{\"tenon_scene\": 1, \"bodies\": [{}]}", 34, &scene, NULL) ==
          TN_ERR_MODEL);
    CHECK(tn_scene_read(NULL, NULL, 0, &scene, NULL) == TN_ERR_PARSE);
    CHECK(scene == NULL);
}

TEST(files_that_cannot_be_read_or_written_are_named)
{
    tn_scene* scene = NULL;
    tn_why    why   = {0};
    CHECK(tn_scene_read_file(NULL, "no/such/file.json", &scene, &why) == TN_ERR_FILE);
    CHECK(strstr(why.text, "'no/such/file.json'") != NULL);
    CHECK(tn_scene_read_file(NULL, ".", &scene, &why) == TN_ERR_FILE);
    CHECK_OK(tn_scene_create(NULL, &scene));
    CHECK(tn_scene_write_file(scene, "no/such/file.json", &why) == TN_ERR_FILE);
    CHECK(strstr(why.text, "'no/such/file.json'") != NULL);
    FILE* full = fopen("/dev/full", "w"); // where there is such a device, it never has room
    if (full != NULL) {
        fclose(full);
        CHECK(tn_scene_write_file(scene, "/dev/full", &why) == TN_ERR_FILE);
        CHECK(strstr(why.text, "'/dev/full'") != NULL);
    }
    tn_scene_free(scene);
}

static void user_rows(const void* data, double time, const tn_body_view* bodies, double* C,
                      double* rate, double* const* J, double* gamma)
{
    (void)data, (void)time, (void)bodies, (void)C, (void)rate, (void)J, (void)gamma;
}

TEST(user_defined_constraints_cannot_be_written)
{
    const tn_constraint_table table = {.rows = 1, .holonomic = 1, .rows_at = user_rows};
    tn_scene*                 scene =
        read_good("{\"tenon_scene\": 1, \"bodies\": [{\"mass\": 1, \"inertia\": [1,1,1]}]}");
    const tn_body_id  body = {1};
    tn_constraint_def def  = tn_default_constraint_def();
    def.name               = "mine";
    def.bodies             = &body;
    def.body_count         = 1;
    def.table              = &table;
    tn_why      why        = {0};
    text_buffer text       = {0};
    tn_scene_add_constraint(scene, &def);
    CHECK(tn_scene_write(scene, buffer_sink, &text, &why) == TN_ERR_UNSUPPORTED);
    CHECK(strstr(why.text, "'mine'") != NULL);
    free(text.bytes);
    tn_scene_free(scene);
}

TEST(scene_with_a_failed_add_is_not_written)
{
    tn_scene*   scene = NULL;
    tn_body_def def   = tn_default_body_def();
    tn_why      why   = {0};
    text_buffer text  = {0};
    CHECK_OK(tn_scene_create(NULL, &scene));
    def.name = "bad";
    def.mass = -1;
    tn_scene_add_body(scene, &def);
    CHECK(tn_scene_write(scene, buffer_sink, &text, &why) == TN_ERR_MODEL);
    CHECK(strstr(why.text, "'bad'") != NULL && text.count == 0);
    tn_scene_free(scene);
}

TEST(text_that_is_not_utf8_is_not_written)
{
    tn_scene*    scene = NULL;
    tn_body_def  def   = tn_default_body_def();
    tn_shape_def mesh  = tn_default_shape_def(TN_SHAPE_MESH);
    tn_why       why   = {0};
    text_buffer  text  = {0};
    CHECK_OK(tn_scene_create(NULL, &scene));
    mesh.file       = "a\xff.obj";
    mesh.collide    = false;
    def.kind        = TN_BODY_STATIC;
    def.shapes      = &mesh;
    def.shape_count = 1;
    tn_scene_add_body(scene, &def);
    CHECK_OK(tn_scene_problem(scene, NULL));
    CHECK(tn_scene_write(scene, buffer_sink, &text, &why) == TN_ERR_MODEL);
    CHECK(strstr(why.text, "'a?.obj'") != NULL);
    free(text.bytes);
    tn_scene_free(scene);
}

TEST(failing_sink_is_a_file_error)
{
    tn_scene*   scene = random_scene(5);
    text_buffer text  = {.limit = 5000};
    tn_why      why   = {0};
    CHECK(tn_scene_write(scene, buffer_sink, &text, &why) == TN_ERR_FILE);
    CHECK(why.text[0] != '\0');
    free(text.bytes);
    tn_scene_free(scene);
}

TEST(files_of_meshes_survive_every_failing_allocation)
{
    failing_host  f    = failing_host_make();
    const tn_host host = failing_host_of(&f);
    bool          done = false;
    for (int n = 1; !done && n < 200; ++n) {
        tn_scene* scene = NULL;
        tn_why    why   = {0};
        failing_host_rewind(&f, n);
        const tn_result result =
            tn_scene_read_file(&host, "tests/support/corner.json", &scene, &why);
        done = f.refused == 0;
        test_check(result == (done ? TN_OK : TN_ERR_MEMORY) && why.result == result, __FILE__,
                   __LINE__, "allocation %d: result %d, %s", n, (int)result, why.text);
        tn_scene_free(scene);
        CHECK_INT(f.live_blocks, 0);
        CHECK_INT(f.size_errors, 0);
    }
    CHECK(done);
}

TEST(every_failing_allocation_is_survived)
{
    tn_scene*   source = random_scene(7);
    text_buffer text   = {0};
    CHECK_OK(tn_scene_write(source, buffer_sink, &text, NULL));
    failing_host  f    = failing_host_make();
    const tn_host host = failing_host_of(&f);
    bool          done = false;
    for (int n = 1; !done && n < 2000; ++n) {
        tn_scene* scene = NULL;
        tn_why    why   = {0};
        failing_host_rewind(&f, n);
        const tn_result result = tn_scene_read(&host, text.bytes, text.count, &scene, &why);
        done                   = f.refused == 0;
        if (done) CHECK_OK(result);
        else
            test_check(result == TN_ERR_MEMORY && why.result == TN_ERR_MEMORY && scene == NULL &&
                           why.text[0] != '\0',
                       __FILE__, __LINE__, "allocation %d: result %d, %s", n, (int)result,
                       why.text);
        tn_scene_free(scene);
        CHECK_INT(f.live_blocks, 0);
        CHECK_INT(f.size_errors, 0);
    }
    CHECK(done);
    free(text.bytes);
    tn_scene_free(source);
}

TEST(refused_scenes_leak_nothing)
{
    failing_host  f     = failing_host_make();
    const tn_host host  = failing_host_of(&f);
    tn_scene*     scene = NULL;
    CHECK(tn_scene_read_file(&host, "tests/malformed/expected.txt", &scene, NULL) == TN_ERR_PARSE);
    CHECK(tn_scene_read_file(&host, "tests/malformed/80-limit-order.json", &scene, NULL) ==
          TN_ERR_PARSE);
    CHECK_INT(f.live_blocks, 0);
}
