// Shapes of models: collision pairs, contact properties, meshes and their convex pieces.
#include "geom/height_field.h"
#include "geom/mesh.h"
#include "model/inertia.h"
#include "model/model.h"
#include "support/failing_host.h"
#include "test.h"

#include <stdlib.h>

// ---- Scenes -------------------------------------------------------------------------------------

static tn_scene* new_scene(void)
{
    tn_scene* scene = NULL;
    CHECK_OK(tn_scene_create(NULL, &scene));
    return scene;
}

static tn_body_id add_body(tn_scene* scene, tn_body_kind kind, const tn_shape_def* shapes,
                           int count)
{
    static const tn_key key = {.pose = {.orientation = {.w = 1}}};
    tn_body_def         def = tn_default_body_def();
    def.kind                = kind;
    def.shapes              = shapes;
    def.shape_count         = count;
    def.mass                = 1;
    for (int k = 0; k < 6; ++k) def.inertia[k] = k < 3 ? 1 : 0;
    if (kind == TN_BODY_KINEMATIC) def.keys = &key, def.key_count = 1;
    return tn_scene_add_body(scene, &def);
}

static tn_shape_def ball(double radius)
{
    tn_shape_def def = tn_default_shape_def(TN_SHAPE_SPHERE);
    def.radius       = radius;
    return def;
}

static tn_shape_def box(double x, double y, double z)
{
    tn_shape_def def = tn_default_shape_def(TN_SHAPE_BOX);
    def.half_size    = (tn_vec3){x, y, z};
    return def;
}

static tn_model* compiled(const tn_scene* scene)
{
    tn_model*       model  = NULL;
    tn_why          why    = {0};
    const tn_result result = tn_scene_compile(scene, &model, &why);
    test_check(result == TN_OK, __FILE__, __LINE__, "not compiled: %s", why.text);
    return model;
}

static void check_refused(tn_scene* scene, const char* said)
{
    tn_model* model = NULL;
    tn_why    why   = {0};
    CHECK_OK(tn_scene_problem(scene, NULL));
    CHECK_INT(tn_scene_compile(scene, &model, &why), TN_ERR_MODEL);
    test_check(model == NULL && strstr(why.text, said) != NULL, __FILE__, __LINE__,
               "said '%s', wanted '%s'", why.text, said);
    tn_scene_free(scene);
}

// ---- Meshes -------------------------------------------------------------------------------------

enum { CORNERS = 6, VERTICES = 2 * CORNERS, TRIANGLES = 4 * CORNERS - 4 };

/// An L of three unit squares, one metre high, or a box, as triangles.
typedef struct solid_mesh {
    tn_vec3 vertices[VERTICES];
    int     triangles[3 * TRIANGLES];
    int     vertex_count, triangle_count;
} solid_mesh;

static void add_triangle(solid_mesh* m, int a, int b, int c)
{
    int* to = m->triangles + 3 * m->triangle_count++;
    to[0] = a, to[1] = b, to[2] = c;
}

// A prism of height z over a polygon that is star-shaped seen from corner `eye`.
static solid_mesh prism(const double (*corners)[2], int count, int eye, double z)
{
    solid_mesh m = {.vertex_count = 2 * count};
    for (int i = 0; i < count; ++i) {
        m.vertices[i]         = (tn_vec3){corners[i][0], corners[i][1], 0};
        m.vertices[count + i] = (tn_vec3){corners[i][0], corners[i][1], z};
        const int next        = (i + 1) % count;
        add_triangle(&m, i, next, count + next);
        add_triangle(&m, i, count + next, count + i);
        if (i == eye || next == eye) continue;
        add_triangle(&m, eye, next, i);
        add_triangle(&m, count + eye, count + i, count + next);
    }
    return m;
}

static solid_mesh angle_mesh(void)
{
    static const double corners[6][2] = {{0, 0}, {2, 0}, {2, 1}, {1, 1}, {1, 2}, {0, 2}};
    return prism(corners, 6, 3, 1);
}

static solid_mesh box_mesh(double x, double y, double z)
{
    const double corners[4][2] = {{0, 0}, {x, 0}, {x, y}, {0, y}};
    return prism(corners, 4, 0, z);
}

static tn_shape_def shape_of(const solid_mesh* m)
{
    tn_shape_def def   = tn_default_shape_def(TN_SHAPE_MESH);
    def.vertices       = m->vertices;
    def.vertex_count   = m->vertex_count;
    def.triangles      = m->triangles;
    def.triangle_count = m->triangle_count;
    return def;
}

typedef struct weight {
    double  mass, inertia[6], volume;
    tn_vec3 com;
} weight;

static weight weigh(const tn_shape_def* shapes, int count)
{
    const tn_host host = tn_default_host();
    tn_body_def   def  = tn_default_body_def();
    weight        w    = {0};
    tn_why        why  = {0};
    def.name           = "it";
    def.shapes         = shapes;
    def.shape_count    = count;
    const tn_result result =
        tni_body_inertia(&host, &def, &w.mass, &w.com, w.inertia, &w.volume, &why);
    test_check(result == TN_OK, __FILE__, __LINE__, "%s", why.text);
    return w;
}

static void check_weights(const weight* a, const weight* b, double tolerance)
{
    CHECK_NEAR(a->mass, b->mass, tolerance * b->mass);
    CHECK_NEAR(a->volume, b->volume, tolerance * b->volume);
    CHECK_NEAR(a->com.x, b->com.x, tolerance);
    CHECK_NEAR(a->com.y, b->com.y, tolerance);
    CHECK_NEAR(a->com.z, b->com.z, tolerance);
    for (int k = 0; k < 6; ++k) CHECK_NEAR(a->inertia[k], b->inertia[k], tolerance * b->mass);
}

// Rounding errors of numbers of size one.
TEST(meshes_have_the_mass_of_the_same_boxes)
{
    solid_mesh   angle     = angle_mesh();
    tn_shape_def mesh      = shape_of(&angle);
    tn_shape_def boxes[2]  = {box(1, 0.5, 0.5), box(0.5, 0.5, 0.5)};
    boxes[0].pose.position = (tn_vec3){1, 0.5, 0.5};
    boxes[1].pose.position = (tn_vec3){0.5, 1.5, 0.5};
    mesh.density = boxes[0].density = boxes[1].density = 7;
    weight a = weigh(&mesh, 1), b = weigh(boxes, 2);
    CHECK_NEAR(a.mass, 21, 1e-13);
    check_weights(&a, &b, 1e-14);
    for (int i = 0; i < TRIANGLES; ++i) { // inside out weighs the same
        const int first            = angle.triangles[3 * i];
        angle.triangles[3 * i]     = angle.triangles[3 * i + 1];
        angle.triangles[3 * i + 1] = first;
    }
    a = weigh(&mesh, 1);
    check_weights(&a, &b, 1e-14);
}

TEST(a_corner_has_its_textbook_moments)
{
    static const tn_vec3 vertices[] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    static const int     sides[]    = {0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3};
    tn_shape_def         mesh       = tn_default_shape_def(TN_SHAPE_MESH);
    mesh.vertices = vertices, mesh.vertex_count = 4;
    mesh.triangles = sides, mesh.triangle_count = 4;
    mesh.density   = 6; // mass 1: the integral of x^2 is 1/10, of x y 1/20, the centre at 1/4
    const weight w = weigh(&mesh, 1);
    CHECK_NEAR(w.mass, 1, 1e-15);
    CHECK_NEAR(w.com.x, 0.25, 1e-15);
    CHECK_NEAR(w.inertia[0], 2 * (0.1 - 1.0 / 16), 1e-15);
    CHECK_NEAR(w.inertia[3], -(0.05 - 1.0 / 16), 1e-15);
}

TEST(meshes_stay_triangles_on_static_bodies_and_are_pieces_on_others)
{
    const solid_mesh   angle   = angle_mesh();
    const tn_shape_def mesh    = shape_of(&angle);
    const tn_body_kind kinds[] = {TN_BODY_RIGID, TN_BODY_KINEMATIC, TN_BODY_PLANAR,
                                  TN_BODY_PARTICLE};
    tn_scene*          scene   = new_scene();
    CHECK_INT(add_body(scene, TN_BODY_STATIC, &mesh, 1).bits, 1);
    for (int i = 0; i < 4; ++i) add_body(scene, kinds[i], &mesh, 1);
    add_body(scene, TN_BODY_AFFINE, &mesh, 1); // touches nothing
    tn_model* model = compiled(scene);
    tn_scene_free(scene); // the model keeps what it needs
    if (model == NULL) return;
    CHECK_INT(model->shape_count, 1 + 4 * 2);
    const tni_geometry* g = &model->shapes[0].geometry;
    CHECK(g->type == TN_SHAPE_MESH && g->mesh != NULL && g->mesh->closed);
    CHECK_INT(g->mesh->triangle_count, TRIANGLES);
    double volume = 0;
    for (int i = 1; i < model->shape_count; ++i) {
        const tni_shape* shape = &model->shapes[i];
        CHECK_INT(shape->geometry.type, TN_SHAPE_CONVEX);
        CHECK_INT(shape->body, 2 + (i - 1) / 2);
        CHECK(shape->geometry.mesh == NULL);
        if (i > 2) { // the same mesh is cut once
            CHECK(shape->geometry.polytope == model->shapes[i - 2].geometry.polytope);
            continue;
        }
        tn_shape_def piece = tn_default_shape_def(TN_SHAPE_CONVEX);
        piece.points       = shape->geometry.polytope->vertices;
        piece.point_count  = shape->geometry.polytope->vertex_count;
        piece.density      = 1;
        CHECK_INT(piece.point_count, 8); // a prism over four corners
        CHECK(i == 1 || shape->geometry.polytope != model->shapes[1].geometry.polytope);
        volume += weigh(&piece, 1).mass;
    }
    CHECK_NEAR(volume, 3, 1e-12); // the pieces are exact, and do not overlap
    tn_model_free(model);
}

TEST(different_tolerances_are_decomposed_separately)
{
    const solid_mesh angle = angle_mesh();
    tn_shape_def     mesh  = shape_of(&angle);
    tn_scene*        scene = new_scene();
    add_body(scene, TN_BODY_RIGID, &mesh, 1);
    mesh.pieces_tolerance = 2;
    add_body(scene, TN_BODY_RIGID, &mesh, 1);
    tn_model* model = compiled(scene);
    CHECK_INT(model->shape_count, 2 + 1); // two pieces, and the hull of all
    CHECK_INT(model->shapes[2].body, 2);
    tn_model_free(model);
    tn_scene_free(scene);
}

TEST(meshes_that_cannot_be_decomposed_are_refused)
{
    solid_mesh   angle = angle_mesh();
    tn_shape_def mesh = shape_of(&angle), shapes[2] = {ball(1), mesh};
    tn_scene*    scene = new_scene();
    shapes[1].triangle_count -= 1;
    CHECK_INT(add_body(scene, TN_BODY_STATIC, shapes, 2).bits, 1); // may stay open
    tn_model_free(compiled(scene));
    add_body(scene, TN_BODY_KINEMATIC, shapes, 2);
    check_refused(scene, "body 'body2': shape 2: its mesh is not closed, so it cannot be split");

    scene = new_scene();
    for (int i = 0; i < angle.triangle_count; ++i)
        angle.triangles[3 * i] = angle.triangles[3 * i + 1];
    add_body(scene, TN_BODY_STATIC, &mesh, 1);
    check_refused(scene, "body 'body1': shape 1: the mesh has no triangle with an area");
}

// ---- Polytopes and height fields ---------------------------------------------------------------

TEST(equal_boxes_share_their_faces)
{
    const tn_shape_def shapes[] = {box(1, 2, 3), ball(1), box(1, 2, 3), box(1, 2, 4)};
    tn_scene*          scene    = new_scene();
    add_body(scene, TN_BODY_RIGID, shapes, 4);
    tn_model* model = compiled(scene);
    CHECK_INT(model->shape_count, 4);
    const tni_shape* s = model->shapes;
    CHECK(s[0].geometry.polytope == s[2].geometry.polytope);
    CHECK(s[0].geometry.polytope != s[3].geometry.polytope && s[1].geometry.polytope == NULL);
    CHECK(s[3].geometry.polytope->vertices[7].z == 4);
    tn_model_free(model);
    tn_scene_free(scene);
}

TEST(equal_convex_shapes_share_their_faces)
{
    tn_vec3      points[5] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 1}};
    tn_shape_def shape     = tn_default_shape_def(TN_SHAPE_CONVEX);
    tn_scene*    scene     = new_scene();
    shape.points           = points;
    shape.point_count      = 5;
    for (int i = 0; i < 2; ++i) add_body(scene, TN_BODY_RIGID, &shape, 1);
    points[4].x = 2;
    add_body(scene, TN_BODY_RIGID, &shape, 1);
    shape.point_count = 4;
    add_body(scene, TN_BODY_RIGID, &shape, 1);
    tn_model* model = compiled(scene);
    tn_scene_free(scene);
    const tni_shape* s = model->shapes;
    CHECK(s[0].geometry.polytope == s[1].geometry.polytope);
    CHECK(s[1].geometry.polytope != s[2].geometry.polytope);
    CHECK_INT(s[2].geometry.polytope->vertex_count, 5);
    CHECK_INT(s[3].geometry.polytope->vertex_count, 4);
    CHECK(s[2].geometry.polytope->vertices[4].x == 2);
    tn_model_free(model);
}

TEST(height_fields_are_copied_with_their_bounds)
{
    const double z[] = {3, -2, 1, 0, 5, 4};
    tn_shape_def def = tn_default_shape_def(TN_SHAPE_HEIGHTS);
    def.heights = z, def.rows = 3, def.columns = 2;
    def.spacing[0] = 0.5, def.spacing[1] = 0.25;
    tn_scene* scene = new_scene();
    add_body(scene, TN_BODY_STATIC, &def, 1);
    tn_model* model = compiled(scene);
    tn_scene_free(scene);
    const tni_height_field* h = model->shapes[0].geometry.height_field;
    CHECK(h->rows == 3 && h->columns == 2 && h->dx == 0.5 && h->dy == 0.25);
    CHECK(h->lowest == -2 && h->highest == 5 && memcmp(h->z, z, sizeof z) == 0);
    CHECK_INT(model->shapes[0].geometry.type, TN_SHAPE_HEIGHTS);
    tn_model_free(model);
}

TEST(too_many_points_or_triangles_are_refused)
{
    const int    count  = (1 << 20) + 1;
    tn_vec3*     points = calloc((size_t)count, sizeof *points);
    int*         sides  = calloc(3 * (size_t)count, sizeof *sides);
    tn_shape_def convex = tn_default_shape_def(TN_SHAPE_CONVEX);
    tn_shape_def mesh   = tn_default_shape_def(TN_SHAPE_MESH);
    points[1].x = points[2].y = points[3].z = 1;
    sides[1] = 1, sides[2] = 2;
    convex.points = points, convex.point_count = count;
    mesh.vertices = points, mesh.vertex_count = 3, mesh.triangles = sides;
    mesh.triangle_count = count;
    tn_scene* scene     = new_scene();
    add_body(scene, TN_BODY_STATIC, &convex, 1);
    check_refused(scene, "body 'body1': shape 1 has more than 1048576 points");
    scene = new_scene();
    add_body(scene, TN_BODY_STATIC, &mesh, 1);
    check_refused(scene, "body 'body1': shape 1 has more than 1048576 triangles");
    free(points);
    free(sides);
}

TEST(lengths_that_cannot_be_multiplied_are_refused)
{
    const tn_vec3    far[4]   = {{0, 0, 0}, {1e60, 0, 0}, {0, 1e60, 0}, {0, 0, 1e60}};
    const double     steep[4] = {0, 0, 0, -1e60};
    const solid_mesh tiny     = box_mesh(1e-60, 1e-60, 1e-60);
    for (int i = 0; i < 8; ++i) {
        tn_shape_def shape = ball(i == 0 ? 1e60 : 1);
        if (i == 1) shape = box(1, 1e-60, 1);
        if (i == 2) shape.type = TN_SHAPE_CONVEX, shape.points = far, shape.point_count = 4;
        if (i == 3) shape = shape_of(&tiny);
        if (i == 4) shape.type = TN_SHAPE_HEIGHTS, shape.heights = steep;
        if (i == 4) shape.rows = shape.columns = 2, shape.spacing[0] = shape.spacing[1] = 1;
        if (i == 5) shape.type = TN_SHAPE_CAPSULE, shape.half_length = 1e-60;
        if (i == 6) shape.pose.position.y = -1e60;
        if (i == 7) shape.surface_velocity.x = 1e60;
        tn_scene* scene = new_scene();
        add_body(scene, TN_BODY_STATIC, &shape, 1);
        check_refused(scene, "body 'body1': shape 1: its lengths must lie in 1e-50..1e+50");
        scene         = new_scene();
        shape.collide = false; // to look at only
        add_body(scene, TN_BODY_STATIC, &shape, 1);
        tn_model_free(compiled(scene));
        tn_scene_free(scene);
    }
}

// ---- Surfaces ----------------------------------------------------------------------------------

TEST(surface_velocities_are_in_body_axes)
{
    tn_shape_def shape      = ball(2);
    shape.pose.position     = (tn_vec3){1, 2, 3};
    shape.pose.orientation  = (tn_quat){1, 0, 0, 1}; // a quarter turn about z
    shape.surface_velocity  = (tn_vec3){1, 0, 5};
    shape.friction          = 0.25;
    shape.restitution       = 0.75;
    shape.rolling_friction  = 0.01;
    shape.spinning_friction = 0.02;
    shape.group             = 3;
    shape.collides_with     = 9;
    tn_body_def def         = tn_default_body_def();
    def.shapes              = &shape;
    def.shape_count         = 1;
    def.mass                = 1;
    def.com                 = (tn_vec3){0, 0, 1};
    def.continuous          = true;
    tn_scene* scene         = new_scene();
    tn_scene_set_ground(scene, 0.5, 0.125);
    tn_scene_set_ground_rolling(scene, 0.3, 0.4);
    tn_scene_add_body(scene, &def);
    const tn_shape_def still = ball(1);
    add_body(scene, TN_BODY_RIGID, &still, 1);
    tn_model* model = compiled(scene);
    tn_scene_free(scene);
    const tni_shape *floor = &model->shapes[0], *s = &model->shapes[1], *t = &model->shapes[2];
    CHECK(floor->body == 0 && floor->geometry.type == TN_SHAPE_PLANE && !floor->belt);
    CHECK(floor->material.rolling == 0.3 && floor->material.spinning == 0.4);
    CHECK(floor->group == 0 && floor->with == UINT32_MAX && !floor->continuous);
    CHECK(s->continuous && s->belt && s->group == 3 && s->with == 9 && s->p.z == 2);
    CHECK(s->material.friction == 0.25 && s->material.restitution == 0.75);
    CHECK(s->material.rolling == 0.01 && s->material.spinning == 0.02);
    CHECK_NEAR(s->surface.x, 0, 1e-15);
    CHECK_NEAR(s->surface.y, 1, 1e-15);
    CHECK_NEAR(s->surface.z, 5, 0);
    CHECK(!t->continuous && !t->belt && t->with == UINT32_MAX);
    const tni_material m = tni_material_of(model, 0, 1); // mean and larger ones
    CHECK_NEAR(m.friction, sqrt(0.125), 1e-16);
    CHECK(m.restitution == 0.75 && m.rolling == 0.3 && m.spinning == 0.4);
    tn_model_free(model);
}

// ---- Collision pairs ---------------------------------------------------------------------------

// Groups must match both ways.
TEST(groups_decide_which_shapes_collide)
{
    test_random  r = {7};
    tn_shape_def shapes[40];
    tn_scene*    scene = new_scene();
    for (int i = 0; i < 40; ++i) {
        shapes[i]               = ball(1);
        shapes[i].group         = test_random_int(&r, 0, 31);
        shapes[i].collides_with = (uint32_t)test_random_bits(&r) | (uint32_t)test_random_bits(&r);
        add_body(scene, TN_BODY_RIGID, &shapes[i], 1);
    }
    tn_model* model = compiled(scene);
    int       yes   = 0;
    for (int i = 0; i < 40; ++i) {
        for (int j = 0; j < 40; ++j) {
            bool with = i != j;
            for (int bit = 0; bit < 32; ++bit) {
                if (bit == shapes[j].group && shapes[i].collides_with / (1u << bit) % 2 == 0)
                    with = false;
                if (bit == shapes[i].group && shapes[j].collides_with / (1u << bit) % 2 == 0)
                    with = false;
            }
            CHECK_INT(tni_shapes_may_touch(model, i, j), with);
            yes += with;
        }
    }
    CHECK(yes > 300 && yes < 1300);
    tn_model_free(model);
    tn_scene_free(scene);
}

TEST(surfaces_do_not_collide_with_each_other_nor_static_bodies)
{
    const double     z[]    = {0, 0, 0, 0};
    const solid_mesh block  = box_mesh(1, 1, 1);
    tn_shape_def     mesh   = shape_of(&block);
    tn_shape_def     field  = tn_default_shape_def(TN_SHAPE_HEIGHTS);
    tn_shape_def     plane  = tn_default_shape_def(TN_SHAPE_PLANE);
    tn_shape_def     two[2] = {ball(1), ball(1)};
    field.heights = z, field.rows = field.columns = 2, field.spacing[0] = field.spacing[1] = 1;
    tn_scene* scene = new_scene();
    tn_scene_set_ground(scene, 1, 0);
    add_body(scene, TN_BODY_STATIC, &mesh, 1);
    add_body(scene, TN_BODY_STATIC, &field, 1);
    add_body(scene, TN_BODY_RIGID, &plane, 1);
    add_body(scene, TN_BODY_RIGID, two, 2);
    add_body(scene, TN_BODY_STATIC, two, 1);
    tn_model* model = compiled(scene);
    CHECK_INT(model->shape_count, 7); // floor, mesh, field, plane, two balls, a fixed one
    static const char* const want[7] = {"....yy.", "....yy.", "....yy.", "....yyy",
                                        "yyyy..y", "yyyy..y", "...yyy."};
    for (int i = 0; i < 7; ++i) {
        for (int j = 0; j < 7; ++j) CHECK_INT(tni_shapes_may_touch(model, i, j), want[i][j] == 'y');
    }
    tn_model_free(model);
    tn_scene_free(scene);
}

// Joined, included, excluded, in all eight combinations, with each other and with the ground.
TEST(exclude_overrides_include_overrides_a_joint)
{
    for (int way = 0; way < 16; ++way) {
        const bool joined = way & 1, included = way & 2, excluded = way & 4, ground = way & 8;
        tn_scene*  scene = new_scene();
        tn_scene_set_ground(scene, 1, 0);
        const tn_shape_def shape = ball(1);
        const tn_body_id   a     = add_body(scene, TN_BODY_RIGID, &shape, 1);
        tn_body_id         b     = add_body(scene, TN_BODY_RIGID, &shape, 1);
        const tn_body_id   c     = add_body(scene, TN_BODY_RIGID, &shape, 1);
        if (ground) b = (tn_body_id){0};
        tn_joint_def joint = tn_default_joint_def(TN_JOINT_HINGE);
        joint.body1 = a, joint.body2 = b;
        if (joined) tn_scene_add_joint(scene, &joint);
        joint.body2 = c; // another, which nothing is said of
        tn_scene_add_joint(scene, &joint);
        if (included) CHECK_OK(tn_scene_include_contact(scene, b, a));
        if (excluded) CHECK_OK(tn_scene_exclude_contact(scene, a, b));
        tn_model* model = compiled(scene);
        CHECK_INT(tni_may_touch(model, 1, (int)b.bits), !excluded && (!joined || included));
        CHECK_INT(tni_may_touch(model, (int)b.bits, 1), !excluded && (!joined || included));
        CHECK(!tni_may_touch(model, 1, 3) && tni_may_touch(model, 2, 3));
        tn_model_free(model);
        tn_scene_free(scene);
    }
}

static double pick(double given, double otherwise)
{
    return given == given ? given : otherwise;
}

// Against a linear search.
TEST(pairs_have_contact_properties_of_their_own)
{
    enum { BODIES = 30 };
    test_random r     = {11};
    tn_scene*   scene = new_scene();
    tn_pair_def said[BODIES][BODIES];
    int         count = 0;
    for (int i = 0; i < BODIES; ++i) {
        tn_shape_def shape     = ball(1);
        shape.friction         = test_random_unit(&r);
        shape.restitution      = test_random_unit(&r);
        shape.rolling_friction = test_random_unit(&r);
        add_body(scene, TN_BODY_RIGID, &shape, 1);
    }
    for (int i = 0; i < BODIES; ++i) {
        for (int j = 0; j < i; ++j) {
            tn_pair_def def  = tn_default_pair_def();
            const bool  swap = test_random_int(&r, 0, 1) == 0;
            def.body1.bits   = (uint32_t)(swap ? i : j) + 1;
            def.body2.bits   = (uint32_t)(swap ? j : i) + 1;
            if (test_random_int(&r, 0, 1) == 0) def.friction = test_random_unit(&r);
            if (test_random_int(&r, 0, 1) == 0) def.restitution = test_random_unit(&r);
            if (test_random_int(&r, 0, 1) == 0) def.rolling_friction = test_random_unit(&r);
            if (test_random_int(&r, 0, 1) == 0) def.spinning_friction = test_random_unit(&r);
            said[i][j] = said[j][i] = tn_default_pair_def();
            if (test_random_int(&r, 0, 2) > 0) continue;
            said[i][j] = said[j][i] = def;
            CHECK_OK(tn_scene_add_pair(scene, &def));
            ++count;
        }
    }
    tn_model* model = compiled(scene);
    CHECK_INT(model->pair_count, count);
    for (int i = 0; i < BODIES; ++i) {
        for (int j = 0; j < BODIES; ++j) {
            if (i == j) continue;
            const tni_material  m = tni_material_of(model, i, j);
            const tni_material *a = &model->shapes[i].material, *b = &model->shapes[j].material;
            const tn_pair_def*  p = &said[i][j];
            CHECK(m.friction == pick(p->friction, sqrt(a->friction * b->friction)));
            CHECK(m.restitution == pick(p->restitution, fmax(a->restitution, b->restitution)));
            CHECK(m.rolling == pick(p->rolling_friction, fmax(a->rolling, b->rolling)));
            CHECK(m.spinning == pick(p->spinning_friction, 0));
        }
    }
    tn_model_free(model);
    tn_scene_free(scene);
}

TEST(two_pairs_of_the_same_bodies_are_refused)
{
    const tn_shape_def shape = ball(1);
    tn_scene*          scene = new_scene();
    tn_pair_def        def   = tn_default_pair_def();
    def.body1                = add_body(scene, TN_BODY_RIGID, &shape, 1);
    CHECK_OK(tn_scene_add_pair(scene, &def)); // with the ground
    def.body2 = add_body(scene, TN_BODY_RIGID, &shape, 1);
    CHECK_OK(tn_scene_add_pair(scene, &def));
    tn_model_free(compiled(scene));
    def.body2 = def.body1, def.body1 = (tn_body_id){2};
    CHECK_OK(tn_scene_add_pair(scene, &def));
    check_refused(scene, "contact: there are two pairs of 'body2' and 'body1'");
}

// ---- Memory ------------------------------------------------------------------------------------

TEST(models_without_shapes_allocate_none)
{
    size_t bytes[2];
    for (int i = 0; i < 2; ++i) {
        tn_scene*        scene = new_scene();
        const tn_body_id a     = add_body(scene, TN_BODY_RIGID, NULL, 0);
        const tn_body_id b     = add_body(scene, TN_BODY_RIGID, NULL, 0);
        tn_pair_def      def   = tn_default_pair_def();
        def.body1 = a, def.body2 = b;
        if (i == 1) {
            CHECK_OK(tn_scene_exclude_contact(scene, a, b));
            CHECK_OK(tn_scene_include_contact(scene, a, b));
            CHECK_OK(tn_scene_add_pair(scene, &def));
        }
        tn_model* model = compiled(scene);
        CHECK(model->shapes == NULL && model->apart == NULL && model->pairs == NULL);
        CHECK_INT(model->shape_count + model->apart_count + model->pair_count, 0);
        bytes[i] = model->arena.bytes;
        tn_model_free(model);
        tn_scene_free(scene);
    }
    CHECK_INT(bytes[0], bytes[1]);
}

static tn_result build_all(const tn_host* host, tn_scene** scene, tn_model** model, tn_why* why)
{
    static const tn_vec3 points[]  = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 1}};
    static const double  z[]       = {0, 1, 2, 3};
    const solid_mesh     angle     = angle_mesh();
    tn_shape_def         still[2]  = {tn_default_shape_def(TN_SHAPE_HEIGHTS), shape_of(&angle)};
    tn_shape_def         moving[3] = {tn_default_shape_def(TN_SHAPE_CONVEX), box(1, 1, 1),
                                      shape_of(&angle)};
    still[0].heights = z, still[0].rows = still[0].columns = 2;
    still[0].spacing[0] = still[0].spacing[1] = 1;
    moving[0].points = points, moving[0].point_count = 5;
    *scene = NULL, *model = NULL;
    if (tn_scene_create(host, scene) != TN_OK) return TN_ERR_MEMORY;
    const tn_body_id a   = add_body(*scene, TN_BODY_STATIC, still, 2);
    const tn_body_id b   = add_body(*scene, TN_BODY_RIGID, moving, 3);
    tn_pair_def      def = tn_default_pair_def();
    def.body1 = a, def.body2 = b;
    if (b.bits != 0) (void)tn_scene_add_pair(*scene, &def);
    if (b.bits != 0) (void)tn_scene_include_contact(*scene, a, b);
    return tn_scene_compile(*scene, model, why);
}

TEST(every_failing_allocation_is_reported_and_leaks_nothing)
{
    failing_host  f    = failing_host_make();
    const tn_host host = failing_host_of(&f);
    for (int n = 1;; ++n) {
        tn_scene* scene;
        tn_model* model;
        tn_why    why = {0};
        failing_host_rewind(&f, n);
        const tn_result result = build_all(&host, &scene, &model, &why);
        test_check(result == (f.refused > 0 ? TN_ERR_MEMORY : TN_OK), __FILE__, __LINE__,
                   "allocation %d: result %d, %s", n, (int)result, why.text);
        CHECK((model != NULL) == (result == TN_OK));
        tn_model_free(model);
        tn_scene_free(scene);
        CHECK_INT(f.live_blocks, 0);
        CHECK_INT(f.size_errors, 0);
        if (f.refused == 0) {
            CHECK_LESS(30, n);
            break;
        }
    }
}
