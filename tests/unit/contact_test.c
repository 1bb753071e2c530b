// contact: the points where shapes touch, and their rows.
//
// Rows are compared with differences along the motion, far from contact: they are exact there too.
// Points are compared with closed forms: the extent of a shape along a direction, the corners of a
// box. Differences are of fourth order: the tolerance is 1e-9.
#include "contact/contact.h"
#include "support/failing_host.h"
#include "support/random_scene.h"

enum { U_MAX = 16, BODIES_MAX = 8, TOUCHES_MAX = 64 };

static const double step      = 1e-4;
static const double tolerance = 1e-9;
static const double anywhere  = 1e3; // a reach that finds everything

// ---- Scenes -------------------------------------------------------------------------------------

static const tn_vec3 tetrahedron[] = {
    {0.3, 0.1, -0.2}, {-0.25, 0.2, -0.1}, {0.05, -0.35, -0.15}, {0.1, 0.02, 0.4}};

static tn_shape_def shape_of(tn_shape_type type)
{
    tn_shape_def shape = tn_default_shape_def(type);
    shape.radius = 0.2, shape.half_length = 0.35, shape.half_size = tni_vec3(0.1, 0.2, 0.3);
    if (type == TN_SHAPE_CONVEX) shape.points = tetrahedron, shape.point_count = 4;
    return shape;
}

static tn_body_def body_of(tn_body_kind kind, const tn_shape_def* shapes, int count)
{
    tn_body_def  def     = tn_default_body_def();
    const double unit[6] = {1, 1, 1, 0, 0, 0};
    def.kind = kind, def.mass = 1, def.shapes = shapes, def.shape_count = count;
    def.com = tni_vec3(0, 0, 0);
    memcpy(def.inertia, unit, sizeof unit);
    return def;
}

static tn_body_id add_body(random_mechanism* m, const tn_body_def* def)
{
    ++m->body_count;
    return tn_scene_add_body(m->scene, def);
}

/// A body with one shape, at a configuration.
static tn_body_id add_shape(random_mechanism* m, tn_body_kind kind, tn_shape_type type, tn_vec3 at)
{
    const tn_shape_def shape = shape_of(type);
    tn_body_def        def   = body_of(kind, &shape, 1);
    def.pose.position        = at;
    return add_body(m, &def);
}

// With a new finder.
static int touches_at(const tn_model* model, const tni_view* views, double reach,
                      tni_contact* touches, int capacity)
{
    tni_finder* finder;
    CHECK_OK(tni_finder_create(model, &finder));
    int found = tni_find_contacts(finder, views, reach, touches, capacity);
    while (found == TNI_FINDER_FULL) {
        CHECK_OK(tni_finder_grow(finder));
        found = tni_find_contacts(finder, views, reach, touches, capacity);
    }
    tni_finder_free(finder);
    return found;
}

static int find(const random_mechanism* m, double reach, tni_contact* touches, int capacity)
{
    tni_view views[BODIES_MAX];
    tni_views(m->model, m->state->time, m->state->q, m->state->u, views);
    return touches_at(m->model, views, reach, touches, capacity);
}

static void place_of(const random_mechanism* m, const tni_contact* touch, tn_vec3* position,
                     tn_vec3* normal)
{
    tni_view views[BODIES_MAX];
    tni_views(m->model, m->state->time, m->state->q, m->state->u, views);
    tni_contact_place(m->model, touch, views, position, normal);
}

// ---- Rows ---------------------------------------------------------------------------------------

typedef struct values {
    int     count;
    tni_row rows[TNI_CONTACT_ROWS];
    double  J[3][U_MAX];
    tn_vec3 apart; ///< from the material of body 1 that is at the point at first to that of body 2
} values;

// With q moved by s d, at time + s * dt. a1, a2: material points of the bodies, from the centres of
// mass.
static values values_at(const random_mechanism* m, const tni_contact* touch, const tn_vec3 a[2],
                        const double* d, double s, double dt)
{
    const tn_model* model = m->model;
    const tni_mat3  I     = tni_identity3();
    double          q[2 * U_MAX], moved[U_MAX];
    tni_view        views[BODIES_MAX];
    values          v = {.count = 0};
    for (int i = 0; i < model->u_count; ++i) moved[i] = s * d[i];
    tni_advance(model, m->state->q, moved, q);
    tni_views(model, m->state->time + s * dt, q, m->state->u, views);
    const tni_body *body1 = &model->bodies[touch->body1], *body2 = &model->bodies[touch->body2];
    const tni_view *view1 = &views[touch->body1], *view2 = &views[touch->body2];
    v.count = 1 + tni_contact_rows(model, touch, views, v.rows).slip;
    for (int k = 0; k < v.count; ++k) {
        if (body1->dim > 0)
            tni_push_row(body1, view1, touch->p1, &touch->F1, &v.rows[k].push[0],
                         &v.J[k][body1->u_start]);
        if (body2->dim > 0)
            tni_push_row(body2, view2, touch->p2, &I, &v.rows[k].push[1], &v.J[k][body2->u_start]);
    }
    v.apart = tni_sub(tni_add(view2->x, tni_mul(&view2->R, a[1])),
                      tni_add(view1->x, tni_mul(&view1->R, a[0])));
    return v;
}

static double difference(const double f[4]) // at -2, -1, 1, 2 steps
{
    return (8 * (f[2] - f[1]) - (f[3] - f[0])) / (12 * step);
}

// d/ds of C and rate of every row, and of the matter's distance.
typedef struct slopes {
    double  C[3], rate[3];
    tn_vec3 apart;
} slopes;

static slopes slopes_along(const random_mechanism* m, const tni_contact* touch, const tn_vec3 a[2],
                           const double* d, double dt)
{
    static const double at[4] = {-2, -1, 1, 2};
    double              C[3][4], rate[3][4], x[3][4];
    slopes              out;
    for (int i = 0; i < 4; ++i) {
        const values v = values_at(m, touch, a, d, at[i] * step, dt);
        for (int k = 0; k < 3; ++k) {
            C[k][i]    = k < v.count ? v.rows[k].C : 0;
            rate[k][i] = k < v.count ? v.rows[k].rate : 0;
            x[k][i]    = tni_at(v.apart, k);
        }
    }
    for (int k = 0; k < 3; ++k) out.C[k] = difference(C[k]), out.rate[k] = difference(rate[k]);
    out.apart = tni_vec3(difference(x[0]), difference(x[1]), difference(x[2]));
    return out;
}

static void check_near(double a, double b, double size, const char* what, const char* label, int k)
{
    test_check(fabs(a - b) <= tolerance * fmax(1, size), __FILE__, __LINE__,
               "%s, row %d: %s is %.12g, by differences %.12g", label, k, what, a, b);
}

// The material points of the bodies at the contact point.
static void matter_at(const random_mechanism* m, const tni_contact* touch, tn_vec3 a[2])
{
    tn_vec3 position, normal;
    place_of(m, touch, &position, &normal);
    const tni_view view1 = tni_state_view(m->state, touch->body1),
                   view2 = tni_state_view(m->state, touch->body2);
    a[0]                 = tni_mul_t(&view1.R, tni_sub(position, view1.x));
    a[1]                 = tni_mul_t(&view2.R, tni_sub(position, view2.x));
}

// Unit, right-handed directions: normal, then tangents, along which body 2 is pushed.
static void check_directions(const values* v, const char* label)
{
    for (int i = 0; i < v->count; ++i) {
        for (int j = 0; j < v->count; ++j) {
            const double d = tni_dot(v->rows[i].push[1].force, v->rows[j].push[1].force);
            check_near(d, i == j, 1, "length or angle of directions", label, i);
        }
        const tn_vec3 sum = tni_add(v->rows[i].push[0].force, v->rows[i].push[1].force);
        CHECK(tni_max_abs(sum) == 0);
        if (v->count == 2) CHECK_NEAR(v->rows[i].push[1].force.z, 0, 1e-15); // in the plane
    }
}

static void check_touch(random_mechanism* m, const tni_contact* touch, const char* label)
{
    const int    n           = m->model->u_count;
    const double none[U_MAX] = {0};
    double       u[U_MAX];
    tn_vec3      a[2];
    matter_at(m, touch, a);
    const values here = values_at(m, touch, a, none, 0, 0);
    const slopes s    = slopes_along(m, touch, a, m->state->u, 1);
    memcpy(u, m->state->u, sizeof(double) * (size_t)n);
    memset(m->state->u, 0, sizeof(double) * (size_t)n);
    const values resting = values_at(m, touch, a, none, 0, 0);
    memcpy(m->state->u, u, sizeof(double) * (size_t)n);
    check_directions(&here, label);
    CHECK_NEAR(here.rows[0].C, touch->gap, 1e-14);
    check_near(here.rows[0].rate, s.C[0], 1, "rate of the gap", label, 0);
    for (int k = 0; k < here.count; ++k) {
        const tni_row* row = &here.rows[k];
        CHECK(k == 0 || row->C == 0);
        check_near(row->rate, tni_dot(row->push[1].force, s.apart), 1, "slip", label, k);
        check_near(row->gamma, s.rate[k], fabs(row->gamma), "gamma", label, k);
        double Ju = resting.rows[k].rate;
        for (int j = 0; j < n; ++j) Ju += here.J[k][j] * u[j];
        test_check(fabs(row->rate - Ju) < 1e-13, __FILE__, __LINE__,
                   "%s, row %d: rate %.15g, J u %.15g", label, k, row->rate, Ju);
    }
    for (int j = 0; j < n; ++j) {
        double e[U_MAX] = {0};
        e[j]            = 1;
        check_near(here.J[0][j], slopes_along(m, touch, a, e, 0).C[0], 1, "J", label, 0);
    }
}

// Random position, orientation and centre of mass. Flat: rotated about z only, with vertical
// planes.
static void add_random_body(random_mechanism* m, test_random* r, tn_body_kind kind,
                            tn_shape_def shape, tn_vec3 place, bool flat)
{
    tn_key keys[RANDOM_KEYS];
    shape.pose = (tn_frame){random_vec3(r, 0.3), random_quat(r)};
    if (flat && shape.type == TN_SHAPE_PLANE) {
        const tn_quat stood = tni_quat_exp(tni_vec3(1.5707963267948966, 0, 0));
        shape.pose.orientation =
            tni_quat_mul(random_quat_about_z(r), tni_quat_mul(stood, random_quat_about_z(r)));
    }
    tn_body_def def      = body_of(kind, &shape, 1);
    def.com              = random_vec3(r, 0.2);
    def.pose.position    = tni_add(place, random_vec3(r, 0.2));
    def.pose.orientation = flat || kind == TN_BODY_PLANAR ? random_quat_about_z(r) : random_quat(r);
    if (kind == TN_BODY_PARTICLE) def.pose.orientation = (tn_quat){1, 0, 0, 0};
    if (kind == TN_BODY_KINEMATIC) {
        random_fill_keys(r, keys, def.pose, flat);
        def.keys = keys, def.key_count = RANDOM_KEYS;
    }
    (void)add_body(m, &def);
}

// How many features a shape shows a plane, in space.
static int feature_count(tn_shape_type type, const tni_contact* touch)
{
    switch (type) {
    case TN_SHAPE_BOX: return 8;
    case TN_SHAPE_CAPSULE: return 2;
    case TN_SHAPE_CYLINDER: return touch->wheel ? 2 : 8;
    case TN_SHAPE_CONVEX: return 4;
    default: return 1;
    }
}

static const tn_body_kind kinds[] = {TN_BODY_RIGID, TN_BODY_PLANAR, TN_BODY_PARTICLE,
                                     TN_BODY_KINEMATIC, TN_BODY_STATIC};
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

static bool kind_is_flat(tn_body_kind kind)
{
    return kind == TN_BODY_PLANAR || kind == TN_BODY_KINEMATIC || kind == TN_BODY_STATIC;
}

static void check_pair(test_random* r, tn_shape_type type1, tn_shape_type type2, int kind1,
                       int kind2)
{
    const bool flat = kind_is_flat(kinds[kind1]) && kind_is_flat(kinds[kind2]);
    char       label[64];
    snprintf(label, sizeof label, "shapes %d and %d, kinds %d and %d", type1, type2, kind1, kind2);
    random_mechanism* m = random_mechanism_make();
    add_random_body(m, r, kinds[kind1], shape_of(type1), tni_vec3(0, 0, 0), flat);
    add_random_body(m, r, kinds[kind2], shape_of(type2), tni_vec3(0.6, 0.5, 0.7), flat);
    random_mechanism_build(m);
    random_disturb(m, r, 0.3, 1);
    tni_contact touches[TOUCHES_MAX];
    const int   count = find(m, anywhere, touches, TOUCHES_MAX);
    tni_row     rows[TNI_CONTACT_ROWS];
    tni_view    views[BODIES_MAX];
    if (count > 0) {
        tni_views(m->model, m->state->time, m->state->q, m->state->u, views);
        CHECK_INT(1 + tni_contact_rows(m->model, &touches[0], views, rows).slip, flat ? 2 : 3);
        if (!flat) CHECK_INT(count, feature_count(type2, &touches[0]));
    }
    CHECK((count > 0) == (kind1 < 3 || kind2 < 3)); // one can be pushed
    for (int i = 0; i < count; ++i) check_touch(m, &touches[i], label);
    random_mechanism_free(m);
}

TEST(rows_over_planes_agree_with_differences)
{
    static const tn_shape_type types[] = {TN_SHAPE_SPHERE, TN_SHAPE_BOX, TN_SHAPE_CAPSULE,
                                          TN_SHAPE_CYLINDER, TN_SHAPE_CONVEX};
    test_random                r       = {1};
    for (int t = 0; t < 5; ++t)
        for (int k = 0; k < KIND_COUNT * KIND_COUNT; ++k)
            for (int state = 0; state < 3; ++state)
                check_pair(&r, TN_SHAPE_PLANE, types[t], k / KIND_COUNT, k % KIND_COUNT);
}

TEST(rows_of_spheres_agree_with_differences)
{
    test_random r = {2};
    for (int k = 0; k < KIND_COUNT * KIND_COUNT; ++k)
        for (int state = 0; state < 6; ++state)
            check_pair(&r, TN_SHAPE_SPHERE, TN_SHAPE_SPHERE, k / KIND_COUNT, k % KIND_COUNT);
}

// ---- Which points
// --------------------------------------------------------------------------------

// Extent of a shape of shape_of() along d, from its origin.
static double reach_of(tn_shape_type type, tn_vec3 d)
{
    const tn_shape_def s    = shape_of(type);
    double             most = -HUGE_VAL;
    switch (type) {
    case TN_SHAPE_SPHERE: return s.radius;
    case TN_SHAPE_CAPSULE: return s.half_length * fabs(d.z) + s.radius;
    case TN_SHAPE_CYLINDER: return s.half_length * fabs(d.z) + s.radius * hypot(d.x, d.y);
    case TN_SHAPE_BOX:
        return s.half_size.x * fabs(d.x) + s.half_size.y * fabs(d.y) + s.half_size.z * fabs(d.z);
    default:
        for (int i = 0; i < 4; ++i) most = fmax(most, tni_dot(tetrahedron[i], d));
        return most;
    }
}

static double least_gap(const tni_contact* touches, int count)
{
    double least = HUGE_VAL;
    for (int i = 0; i < count; ++i) least = fmin(least, touches[i].gap);
    return least;
}

// All orientations: the height of a body on a floor is its extent downwards.
TEST(the_least_gap_is_that_of_the_shape)
{
    test_random r = {3};
    for (int type = TN_SHAPE_SPHERE; type <= TN_SHAPE_CONVEX; ++type) {
        random_mechanism* m = random_mechanism_make();
        tn_scene_set_ground(m->scene, 0.5, 0);
        const tn_body_id id =
            add_shape(m, TN_BODY_RIGID, (tn_shape_type)type, tni_vec3(0.1, 0.2, 1));
        random_mechanism_build(m);
        for (int i = 0; i < 200; ++i) {
            const double   lean = i % 2 ? 3 : pow(10, -test_random_between(&r, 0, 9)); // nearly up
            const tn_quat  turn = tni_quat_exp(tni_scale(lean, random_direction(&r)));
            const tn_frame pose = {tni_vec3(0.1, 0.2, 1), turn};
            const tn_vec3  down = tni_rotate(tni_quat_conjugate(turn), tni_vec3(0, 0, -1));
            tni_contact    touches[TOUCHES_MAX];
            CHECK_OK(tn_state_set_pose(m->state, id, pose));
            const int count = find(m, anywhere, touches, TOUCHES_MAX);
            // A cylinder that leans less than 1e-7 is as one that stands.
            CHECK_NEAR(least_gap(touches, count), 1 - reach_of((tn_shape_type)type, down),
                       type == TN_SHAPE_CYLINDER && lean < 1e-6 ? 2e-8 : 1e-14);
        }
        random_mechanism_free(m);
    }
}

// A body of one shape over the floor, with its lowest point just touching.
static int count_on_floor(tn_shape_type type, double height, tn_quat turn, tni_contact* touches)
{
    random_mechanism* m = random_mechanism_make();
    tn_scene_set_ground(m->scene, 0.5, 0);
    const tn_body_id id = add_shape(m, TN_BODY_RIGID, type, tni_vec3(0, 0, 0));
    random_mechanism_build(m);
    CHECK_OK(tn_state_set_pose(m->state, id, (tn_frame){{0, 0, height}, turn}));
    const int count = find(m, 1e-9, touches, TOUCHES_MAX);
    for (int i = 0; i < count; ++i) {
        tn_vec3 position, normal;
        place_of(m, &touches[i], &position, &normal);
        CHECK_NEAR(touches[i].gap, 0, 1e-15);
        CHECK_NEAR(position.z, 0, 1e-15);
        CHECK(normal.x == 0 && normal.y == 0 && normal.z == 1);
        CHECK(touches[i].body1 == 0 && touches[i].body2 == 1);
        touches[i].p2 = position; // for the caller
    }
    random_mechanism_free(m);
    return count;
}

TEST(shapes_stand_on_all_their_points)
{
    const tn_quat upright = {1, 0, 0, 0};
    const tn_quat lying   = tni_quat_exp(tni_vec3(0, 1.5707963267948966, 0));
    const tn_quat leaning = tni_quat_exp(tni_vec3(0, 0.7, 0));
    tni_contact   t[TOUCHES_MAX];
    CHECK_INT(count_on_floor(TN_SHAPE_SPHERE, 0.2, leaning, t), 1);
    CHECK_INT(count_on_floor(TN_SHAPE_CAPSULE, 0.55, upright, t), 1);
    CHECK_INT(count_on_floor(TN_SHAPE_CAPSULE, 0.2, lying, t), 2);
    CHECK_NEAR(fabs(t[0].p2.x), 0.35, 1e-15);
    CHECK_NEAR(t[0].p2.x + t[1].p2.x, 0, 1e-15);
    CHECK_INT(count_on_floor(TN_SHAPE_BOX, 0.3, upright, t), 4);
    for (int i = 0; i < 4; ++i) {
        CHECK_NEAR(fabs(t[i].p2.x), 0.1, 1e-15);
        CHECK_NEAR(fabs(t[i].p2.y), 0.2, 1e-15);
        for (int j = 0; j < i; ++j) CHECK(tni_norm(tni_sub(t[i].p2, t[j].p2)) > 0.19);
    }
    CHECK_INT(count_on_floor(TN_SHAPE_BOX, 0.1 * sin(0.7) + 0.3 * cos(0.7), leaning, t), 2);
    CHECK_INT(count_on_floor(TN_SHAPE_CYLINDER, 0.35, upright, t), 4);
    for (int i = 0; i < 4; ++i) {
        CHECK_NEAR(hypot(t[i].p2.x, t[i].p2.y), 0.2, 1e-15);
        for (int j = 0; j < i; ++j) CHECK(tni_norm(tni_sub(t[i].p2, t[j].p2)) > 0.28);
    }
    CHECK_INT(count_on_floor(TN_SHAPE_CYLINDER, 0.2, lying, t), 2);
    CHECK_NEAR(fabs(t[0].p2.x), 0.35, 1e-15);
    CHECK_NEAR(t[0].p2.x + t[1].p2.x, 0, 1e-15);
    CHECK_INT(count_on_floor(TN_SHAPE_CYLINDER, 0.2 * sin(0.7) + 0.35 * cos(0.7), leaning, t), 1);
}

// The lowest point of a lying cylinder moves along it; a vertex would go up with it.
TEST(a_cylinder_rolls_without_leaving_the_floor)
{
    random_mechanism* m = random_mechanism_make();
    tn_scene_set_ground(m->scene, 0.5, 0);
    const tn_body_id id = add_shape(m, TN_BODY_RIGID, TN_SHAPE_CYLINDER, tni_vec3(0, 0, 0.2));
    random_mechanism_build(m);
    const tn_quat lying = tni_quat_exp(tni_vec3(0, 1.5707963267948966, 0));
    tni_contact   touches[2];
    tni_row       rows[TNI_CONTACT_ROWS];
    tni_view      views[BODIES_MAX];
    CHECK_OK(tn_state_set_pose(m->state, id, (tn_frame){{0, 0, 0.2}, lying}));
    CHECK_OK(tn_state_set_velocity(m->state, id, (tn_twist){{0, -0.6, 0}, {3, 0, 0}}));
    CHECK_INT(find(m, 1e-9, touches, 2), 2);
    for (int i = 0; i < 8; ++i) {
        const tn_quat turned = tni_quat_mul(tni_quat_exp(tni_vec3(0.4 * i, 0, 0)), lying);
        CHECK_OK(tn_state_set_pose(m->state, id, (tn_frame){{0, -0.08 * i, 0.2}, turned}));
        tni_views(m->model, 0, m->state->q, m->state->u, views);
        for (int k = 0; k < 2; ++k) {
            CHECK_INT(1 + tni_contact_rows(m->model, &touches[k], views, rows).slip, 3);
            CHECK_NEAR(rows[0].C, 0, 1e-15);
            for (int j = 0; j < 3; ++j) CHECK_NEAR(rows[j].rate, 0, 1e-15);
            for (int j = 0; j < 3; ++j) CHECK_NEAR(rows[j].gamma, 0, 1e-14);
        }
    }
    random_mechanism_free(m);
}

TEST(spheres_touch_between_their_centres)
{
    random_mechanism* m = random_mechanism_make();
    (void)add_shape(m, TN_BODY_STATIC, TN_SHAPE_SPHERE, tni_vec3(1, 2, 3));
    (void)add_shape(m, TN_BODY_RIGID, TN_SHAPE_SPHERE, tni_vec3(1, 2.3, 3.4)); // 0.5 apart
    (void)add_shape(m, TN_BODY_PARTICLE, TN_SHAPE_SPHERE, tni_vec3(1, 2.3, 3.4));
    random_mechanism_build(m);
    tni_contact touches[4];
    tni_row     rows[TNI_CONTACT_ROWS];
    tni_view    views[BODIES_MAX];
    tn_vec3     position, normal;
    CHECK_INT(find(m, 0.11, touches, 4), 3);
    CHECK_INT(find(m, 0.09, touches, 4), 1); // the other two have one centre
    CHECK_NEAR(touches[0].gap, -0.4, 1e-15);
    tni_views(m->model, 0, m->state->q, m->state->u, views);
    CHECK_INT(1 + tni_contact_rows(m->model, &touches[0], views, rows).slip, 3);
    CHECK_NEAR(rows[0].C, -0.4, 1e-15);
    CHECK_NEAR(tni_norm(rows[0].push[1].force), 1, 1e-15);
    CHECK_INT(find(m, 0.11, touches, 4), 3);
    CHECK_INT(touches[0].body1, 1);
    CHECK_INT(touches[0].body2, 2);
    CHECK_NEAR(touches[0].gap, 0.1, 1e-15);
    place_of(m, &touches[0], &position, &normal);
    CHECK_NEAR(tni_norm(tni_sub(normal, tni_vec3(0, 0.6, 0.8))), 0, 1e-14);
    CHECK_NEAR(tni_norm(tni_sub(position, tni_vec3(1, 2.18, 3.24))), 0, 1e-14);
    random_mechanism_free(m);
}

TEST(spheres_touch_far_from_their_bodies)
{
    random_mechanism* m        = random_mechanism_make();
    tn_shape_def      shape[2] = {shape_of(TN_SHAPE_SPHERE), shape_of(TN_SHAPE_SPHERE)};
    shape[0].pose.position     = tni_vec3(3, 4, 0);
    shape[1].pose.position     = tni_vec3(-2.7, -4, 0);
    for (int i = 0; i < 2; ++i) {
        tn_body_def def   = body_of(TN_BODY_RIGID, &shape[i], 1);
        def.pose.position = tni_vec3(6 * i, 8 * i, 0);
        (void)add_body(m, &def);
    }
    random_mechanism_build(m);
    tni_contact touches[1];
    CHECK_INT(find(m, 0, touches, 1), 1);
    CHECK_NEAR(touches[0].gap, -0.1, 1e-14);
    random_mechanism_free(m);
}

// Planes of moving bodies are tested against resting bodies, too.
TEST(planes_of_moving_bodies_touch)
{
    random_mechanism* m = random_mechanism_make();
    (void)add_shape(m, TN_BODY_STATIC, TN_SHAPE_SPHERE, tni_vec3(0, 0, 0.15));
    (void)add_shape(m, TN_BODY_RIGID, TN_SHAPE_PLANE, tni_vec3(0, 0, 0));
    random_mechanism_build(m);
    tni_contact touches[4];
    CHECK_INT(find(m, 0, touches, 4), 1);
    CHECK_INT(touches[0].body1, 2);
    CHECK_INT(touches[0].body2, 1);
    CHECK_NEAR(touches[0].gap, -0.05, 1e-15);
    random_mechanism_free(m);
}

TEST(a_contact_with_nan_is_none)
{
    random_mechanism* m = random_mechanism_make();
    tn_scene_set_ground(m->scene, 0.5, 0);
    (void)add_shape(m, TN_BODY_RIGID, TN_SHAPE_BOX, tni_vec3(0, 0, 0));
    (void)add_shape(m, TN_BODY_RIGID, TN_SHAPE_SPHERE, tni_vec3(0, 0, 0));
    (void)add_shape(m, TN_BODY_RIGID, TN_SHAPE_SPHERE, tni_vec3(0, 0, 0));
    random_mechanism_build(m);
    tni_contact touches[16];
    CHECK_INT(find(m, 0, touches, 16), 4 + 1 + 1 + 1 + 2);
    m->state->q[2] = m->state->q[9] = TN_UNSET; // NaN
    CHECK_INT(find(m, 0, touches, 16), 1);
    random_mechanism_free(m);
}

// ---- The list -----------------------------------------------------------------------------------

static random_mechanism* heap(test_random* r)
{
    random_mechanism* m = random_mechanism_make();
    tn_scene_set_ground(m->scene, 0.5, 0);
    for (int i = 0; i < 6; ++i)
        add_random_body(m, r, TN_BODY_RIGID, shape_of(i < 5 ? (tn_shape_type)i : TN_SHAPE_SPHERE),
                        tni_vec3(0, 0, 0.2), false);
    add_random_body(m, r, TN_BODY_STATIC, shape_of(TN_SHAPE_PLANE), tni_vec3(0, 0, 0), false);
    random_mechanism_build(m);
    random_disturb(m, r, 0.3, 1);
    return m;
}

TEST(contacts_are_counted_beyond_the_capacity)
{
    test_random       r = {4};
    random_mechanism* m = heap(&r);
    tni_contact       all[TOUCHES_MAX], some[TOUCHES_MAX];
    memset(all, 0, sizeof all); // padding, for memcmp
    memset(some, 0, sizeof some);
    const int count = find(m, anywhere, all, TOUCHES_MAX);
    CHECK(count > 36 && count < TOUCHES_MAX);
    CHECK_INT(find(m, anywhere, NULL, 0), count);
    for (int capacity = 0; capacity <= count; capacity += 5) {
        memset(some, 0, sizeof some);
        CHECK_INT(find(m, anywhere, some, capacity), count);
        for (int i = 0; i < capacity; ++i) CHECK(some[i].id == all[i].id);
        CHECK(some[capacity].id == 0); // nothing beyond
    }
    random_mechanism_free(m);
}

// Points within reach are those of the whole list, in its order, sorted by id.
TEST(contacts_are_sorted_by_id_and_within_reach)
{
    test_random       r = {5};
    random_mechanism* m = heap(&r);
    tni_contact       all[TOUCHES_MAX], near[TOUCHES_MAX];
    for (int state = 0; state < 20; ++state) {
        random_disturb(m, &r, 0.3, 1);
        const double reach = test_random_between(&r, -0.2, 0.3);
        const int    count = find(m, anywhere, all, TOUCHES_MAX);
        const int    here  = find(m, reach, near, TOUCHES_MAX);
        int          k     = 0;
        for (int i = 0; i < count; ++i) {
            CHECK(i == 0 || all[i].id > all[i - 1].id);
            if (!(all[i].gap <= reach)) continue;
            CHECK(k < here && near[k].id == all[i].id && near[k].gap == all[i].gap);
            ++k;
        }
        CHECK_INT(k, here);
    }
    random_mechanism_free(m);
}

// A little motion leaves ids and features unchanged, except for rims that begin to roll.
TEST(contact_ids_follow_their_points)
{
    test_random       r = {6};
    random_mechanism* m = heap(&r);
    tni_contact       before[TOUCHES_MAX], after[TOUCHES_MAX];
    const int         count = find(m, anywhere, before, TOUCHES_MAX);
    double            q[64], d[64];
    memcpy(q, m->state->q, sizeof(double) * (size_t)m->model->q_count);
    random_numbers(&r, d, m->model->u_count, 1e-6);
    tni_advance(m->model, q, d, m->state->q);
    CHECK_INT(find(m, anywhere, after, TOUCHES_MAX), count);
    for (int i = 0; i < count; ++i) {
        CHECK(before[i].id == after[i].id);
        CHECK_LESS(tni_norm(tni_sub(before[i].p2, after[i].p2)), 1e-5);
        CHECK_LESS(fabs(before[i].gap - after[i].gap), 1e-5);
    }
    random_mechanism_free(m);
}

TEST(pairs_combine_friction_and_restitution)
{
    random_mechanism* m        = random_mechanism_make();
    tn_shape_def      shape[2] = {shape_of(TN_SHAPE_SPHERE), shape_of(TN_SHAPE_SPHERE)};
    shape[0].friction = 0.9, shape[0].restitution = 0.25;
    shape[1].friction = 0.1, shape[1].restitution = 0.75;
    tn_scene_set_ground(m->scene, 0.4, 0.5);
    for (int i = 0; i < 2; ++i) {
        const tn_body_def def = body_of(TN_BODY_RIGID, &shape[i], 1);
        (void)add_body(m, &def);
    }
    random_mechanism_build(m);
    tni_contact t[4];
    CHECK_INT(find(m, anywhere, t, 4), 3);
    CHECK_NEAR(t[0].material.friction, 0.6, 1e-15);
    CHECK_NEAR(t[0].material.restitution, 0.5, 0);
    CHECK_NEAR(t[1].material.friction, 0.2, 1e-15);
    CHECK_NEAR(t[1].material.restitution, 0.75, 0);
    CHECK_NEAR(t[2].material.friction, 0.3, 1e-15);
    CHECK_NEAR(t[2].material.restitution, 0.75, 0);
    random_mechanism_free(m);
}

// ---- Planar bodies
// -------------------------------------------------------------------------------

// A planar body over a wall that faces y, its origin at height 0.3.
static int count_on_wall(tn_shape_type type, tn_quat turn, double gap)
{
    random_mechanism* m    = random_mechanism_make();
    tn_shape_def      wall = shape_of(TN_SHAPE_PLANE), shape = shape_of(type);
    wall.pose.orientation  = tni_quat_exp(tni_vec3(-1.5707963267948966, 0, 0));
    shape.pose.orientation = turn;
    tn_body_def def        = body_of(TN_BODY_STATIC, &wall, 1);
    (void)add_body(m, &def);
    def               = body_of(TN_BODY_PLANAR, &shape, 1);
    def.pose.position = tni_vec3(0, 0.3, 0.1);
    (void)add_body(m, &def);
    random_mechanism_build(m);
    tni_contact touches[TOUCHES_MAX];
    const int   count = find(m, gap + 1e-9, touches, TOUCHES_MAX);
    CHECK_NEAR(least_gap(touches, count), gap, 1e-15);
    random_mechanism_free(m);
    return count;
}

TEST(planar_points_above_each_other_count_once)
{
    const tn_quat none = {1, 0, 0, 0}, along_y = tni_quat_exp(tni_vec3(1.5707963267948966, 0, 0)),
                  along_x = tni_quat_exp(tni_vec3(0, 1.5707963267948966, 0)),
                  skew    = tni_quat_mul(along_y, tni_quat_exp(tni_vec3(0, 0, 0.6)));
    CHECK_INT(count_on_wall(TN_SHAPE_SPHERE, none, 0.1), 1);
    CHECK_INT(count_on_wall(TN_SHAPE_BOX, none, 0.1), 2);      // a rectangle
    CHECK_INT(count_on_wall(TN_SHAPE_BOX, along_y, 0), 2);     // standing on its end
    CHECK_INT(count_on_wall(TN_SHAPE_CAPSULE, none, 0.1), 1);  // a disc
    CHECK_INT(count_on_wall(TN_SHAPE_CYLINDER, none, 0.1), 1); // a disc
    CHECK_INT(count_on_wall(TN_SHAPE_CYLINDER, along_x, 0.1), 2);
    CHECK_INT(count_on_wall(TN_SHAPE_CYLINDER, along_y, -0.05), 3); // corners and middle
    CHECK_INT(count_on_wall(TN_SHAPE_CYLINDER, skew, -0.05), 3);    // its x axis does not matter
    CHECK_INT(count_on_wall(TN_SHAPE_CONVEX, none, -0.05), 1);
}

TEST(a_floor_does_not_touch_what_moves_in_it)
{
    random_mechanism* m = random_mechanism_make();
    tn_scene_set_ground(m->scene, 0.5, 0);
    (void)add_shape(m, TN_BODY_PLANAR, TN_SHAPE_SPHERE, tni_vec3(0, 0, 0));
    (void)add_shape(m, TN_BODY_PLANAR, TN_SHAPE_SPHERE, tni_vec3(0.3, 0, 0.9)); // discs overlap
    (void)add_shape(m, TN_BODY_PARTICLE, TN_SHAPE_SPHERE, tni_vec3(5, 0, 0.9));
    random_mechanism_build(m);
    tni_contact t[4];
    tn_vec3     position, normal;
    CHECK_INT(find(m, 0.01, t, 4), 1);
    CHECK_NEAR(t[0].gap, -0.1, 1e-15);
    place_of(m, &t[0], &position, &normal);
    CHECK(normal.x == 1 && normal.y == 0 && normal.z == 0);
    CHECK_INT(find(m, 0.8, t, 4), 2); // the particle over the floor
    random_mechanism_free(m);
}

// ---- Filters
// -------------------------------------------------------------------------------------

static void no_rows(const void* data, double time, const tn_body_view* bodies, double* C,
                    double* rate, double* const* J, double* gamma)
{
    (void)data, (void)time, (void)bodies, (void)C, (void)rate, (void)J, (void)gamma;
}

TEST(joined_and_excluded_bodies_do_not_touch)
{
    static const tn_constraint_table table = {.rows = 1, .holonomic = 1, .rows_at = no_rows};
    random_mechanism*                m     = random_mechanism_make();
    tn_body_id                       id[8] = {{0}};
    for (int i = 1; i < 7; ++i)
        id[i] = add_shape(m, TN_BODY_RIGID, TN_SHAPE_SPHERE, tni_vec3(0, 0, 0.1 * i));
    id[7]              = add_shape(m, TN_BODY_STATIC, TN_SHAPE_SPHERE, tni_vec3(0, 0, 0));
    tn_joint_def joint = tn_default_joint_def(TN_JOINT_BALL);
    joint.body1 = id[5], joint.body2 = id[2];
    (void)tn_scene_add_joint(m->scene, &joint);
    joint.body1 = id[0], joint.body2 = id[4];
    (void)tn_scene_add_joint(m->scene, &joint);
    const tn_body_id  both[] = {id[6], id[1]}, many[] = {id[1], id[2], id[3]};
    tn_constraint_def two   = {.bodies = both, .body_count = 2, .table = &table, .data = &table};
    tn_constraint_def three = {.bodies = many, .body_count = 3, .table = &table, .data = &table};
    (void)tn_scene_add_constraint(m->scene, &two);
    (void)tn_scene_add_constraint(m->scene, &three);
    CHECK_OK(tn_scene_exclude_contact(m->scene, id[6], id[3]));
    CHECK_OK(tn_scene_exclude_contact(m->scene, id[7], id[3]));
    random_mechanism_build(m);
    CHECK_INT(m->model->apart_count, 5);
    for (int i = 1; i < 5; ++i) CHECK(m->model->apart[i - 1] < m->model->apart[i]);
    static const int apart[5][2] = {{0, 4}, {1, 6}, {2, 5}, {3, 6}, {3, 7}};
    for (int i = 0; i < 8; ++i) {
        for (int j = 0; j < 8; ++j) {
            bool wanted = i != j && !((i == 0 || i == 7) && (j == 0 || j == 7));
            for (int k = 0; k < 5; ++k)
                wanted = wanted && !(apart[k][0] == i && apart[k][1] == j) &&
                         !(apart[k][0] == j && apart[k][1] == i);
            CHECK(tni_may_touch(m->model, i, j) == wanted);
        }
    }
    tni_contact touches[TOUCHES_MAX];
    CHECK_INT(find(m, anywhere, touches, TOUCHES_MAX), 7 * 6 / 2 - 4);
    random_mechanism_free(m);
}

// Keys sorted whatever their number: heaps of every shape.
TEST(pairs_that_never_touch_are_sorted)
{
    for (int count = 0; count < 40; ++count) {
        test_random       r = {(uint64_t)count + 7};
        random_mechanism* m = random_mechanism_make();
        tn_body_id        id[12];
        for (int i = 0; i < 12; ++i)
            id[i] = add_shape(m, TN_BODY_RIGID, TN_SHAPE_SPHERE, tni_vec3(0, 0, 0));
        bool apart[12][12] = {{false}};
        for (int i = 0; i < count; ++i) {
            const int a = test_random_int(&r, 0, 11), b = (a + test_random_int(&r, 1, 11)) % 12;
            CHECK_OK(tn_scene_exclude_contact(m->scene, id[a], id[b]));
            apart[a][b] = apart[b][a] = true;
        }
        random_mechanism_build(m);
        for (int i = 1; i < m->model->apart_count; ++i)
            CHECK(m->model->apart[i - 1] <= m->model->apart[i]);
        for (int a = 0; a < 12; ++a)
            for (int b = 0; b < 12; ++b)
                CHECK(tni_may_touch(m->model, a + 1, b + 1) == (a != b && !apart[a][b]));
        random_mechanism_free(m);
    }
}

TEST(only_shapes_that_collide_are_kept)
{
    random_mechanism* m        = random_mechanism_make();
    tn_shape_def      shape[4] = {shape_of(TN_SHAPE_BOX), shape_of(TN_SHAPE_SPHERE),
                                  shape_of(TN_SHAPE_MESH), shape_of(TN_SHAPE_CONVEX)};
    shape[0].collide           = false;
    shape[2].file              = "part.obj"; // not read
    shape[2].collide           = false;
    shape[3].pose              = (tn_frame){{1, 2, 3}, {0, 0, 0, 5}}; // any length
    tn_body_def def            = body_of(TN_BODY_RIGID, shape, 4);
    def.com                    = tni_vec3(0.5, 0, 0);
    (void)add_body(m, &def);
    def      = body_of(TN_BODY_AFFINE, shape, 4);
    def.name = NULL;
    (void)add_body(m, &def);
    def.kind = TN_BODY_STATIC;
    (void)add_body(m, &def);
    tn_scene_set_ground(m->scene, 0.5, 0);
    random_mechanism_build(m);
    const tni_shape* s       = m->model->shapes;
    static const int body[5] = {0, 1, 1, 3, 3};
    CHECK_INT(m->model->shape_count, 5);
    for (int i = 0; i < 5; ++i) CHECK_INT(s[i].body, body[i]);
    CHECK(s[0].geometry.type == TN_SHAPE_PLANE && s[1].geometry.type == TN_SHAPE_SPHERE);
    CHECK(s[2].geometry.type == TN_SHAPE_CONVEX && s[2].geometry.polytope->vertices != tetrahedron);
    CHECK(memcmp(s[2].geometry.polytope->vertices, tetrahedron, sizeof tetrahedron) == 0);
    CHECK(s[2].p.x == 0.5 && s[2].p.y == 2 && s[2].p.z == 3);
    CHECK(s[2].F.m[0] == -1 && s[2].F.m[4] == -1 && s[2].F.m[8] == 1);
    CHECK(s[4].p.x == 1); // bodies that do not move have no centre of mass
    tni_contact touches[TOUCHES_MAX];
    // The body on the floor, and its two on the static one.
    CHECK_INT(find(m, anywhere, touches, TOUCHES_MAX), 1 + 4 + 4);
    random_mechanism_free(m);
}

TEST(a_scene_without_shapes_has_no_touches)
{
    random_mechanism* m   = random_mechanism_make();
    const tn_body_def def = body_of(TN_BODY_RIGID, NULL, 0);
    (void)add_body(m, &def);
    random_mechanism_build(m);
    CHECK_INT(m->model->shape_count, 0);
    CHECK_INT(find(m, anywhere, NULL, 0), 0);
    random_mechanism_free(m);
}

TEST(compiling_shapes_survives_a_lack_of_memory)
{
    failing_host  f    = failing_host_make();
    const tn_host host = failing_host_of(&f);
    tn_scene*     scene;
    tn_vec3*      many = calloc(20000, sizeof *many); // a chunk of its own in every arena
    memcpy(many, tetrahedron, sizeof tetrahedron);
    tn_shape_def shape = shape_of(TN_SHAPE_CONVEX);
    shape.points = many, shape.point_count = 20000;
    const tn_body_def def = body_of(TN_BODY_RIGID, &shape, 1);
    CHECK_OK(tn_scene_create(&host, &scene));
    (void)tn_scene_add_body(scene, &def);
    for (int n = 1;; ++n) {
        tn_model* model;
        failing_host_rewind(&f, n);
        const tn_result result = tn_scene_compile(scene, &model, NULL);
        CHECK((result == TN_OK) == (f.refused == 0));
        if (result != TN_OK) CHECK_INT(result, TN_ERR_MEMORY);
        tn_model_free(model);
        if (f.refused == 0) break;
    }
    failing_host_rewind(&f, 0);
    tn_scene_free(scene);
    CHECK_INT(f.live_blocks, 0);
    free(many);
}
