// query: against closed forms on scenes of balls: distances of points, lines and boxes to centres.
#include "tenon/query.h"

#include "math/rotation.h"
#include "support/failing_host.h"
#include "support/rig.h"

enum { BALLS = 300 };

static tn_vec3 random_vector(test_random* r, double size)
{
    const double x = test_random_between(r, -size, size), y = test_random_between(r, -size, size);
    return (tn_vec3){x, y, test_random_between(r, -size, size)};
}

/// Balls of random sizes, each its own body, in groups by turns, over the floor.
typedef struct balls {
    rig         r;
    tn_query*   query;
    test_random random;
    tn_vec3     x[BALLS + 1]; ///< by id; 0: the floor
    double      radius[BALLS + 1];
} balls;

static void balls_make(balls* b, uint64_t seed)
{
    *b = (balls){.r = rig_make((tn_vec3){0, 0, -9.81}), .random = {seed}};
    tn_scene_set_ground(b->r.scene, 0.5, 0);
    for (int i = 1; i <= BALLS; ++i) {
        tn_shape_def shape = tn_default_shape_def(TN_SHAPE_SPHERE);
        tn_body_def  def   = tn_default_body_def();
        shape.radius = b->radius[i] = test_random_between(&b->random, 0.1, 0.5);
        shape.pose.position         = random_vector(&b->random, 0.3);
        shape.group                 = i % 3;
        shape.density               = 1000;
        def.shapes = &shape, def.shape_count = 1;
        b->x[i]           = random_vector(&b->random, 4);
        def.pose.position = tni_sub(b->x[i], shape.pose.position);
        CHECK_INT(tn_scene_add_body(b->r.scene, &def).bits, i);
    }
    rig_ready(&b->r);
    CHECK_OK(tn_query_create(b->r.model, &b->query));
    tn_query_update(b->query, b->r.state);
}

static void balls_free(balls* b)
{
    tn_query_free(b->query);
    rig_free(&b->r);
}

// Where a ray of unit direction enters a ball or the floor; HUGE_VAL: nowhere.
static double enters(const balls* b, int i, tn_vec3 from, tn_vec3 u)
{
    if (i == 0) return from.z >= 0 && u.z < 0 ? -from.z / u.z : HUGE_VAL;
    const tn_vec3 o    = tni_sub(from, b->x[i]);
    const double  half = tni_dot(o, u), c = tni_dot(o, o) - b->radius[i] * b->radius[i];
    const double  root = half * half - c;
    return c >= 0 && half <= 0 && root >= 0 ? -half - sqrt(root) : HUGE_VAL;
}

static double first_of(const balls* b, tn_vec3 from, tn_vec3 u, uint32_t groups, int skip,
                       int* best)
{
    double first = HUGE_VAL;
    for (int i = 0; i <= BALLS; ++i) {
        if (i == skip || (groups >> (i % 3) & 1) == 0) continue;
        const double t = enters(b, i, from, u);
        if (t < first) first = t, *best = i;
    }
    return first;
}

TEST(a_ray_finds_the_first_ball_or_the_floor)
{
    balls b;
    balls_make(&b, 1);
    int hits = 0, wrong = 0;
    for (int k = 0; k < 5000; ++k) {
        const tn_vec3    from = random_vector(&b.random, 6), d = random_vector(&b.random, 2);
        const tn_vec3    u      = tni_normalised(d);
        const double     length = k % 3 == 0 ? HUGE_VAL : test_random_between(&b.random, 0, 8);
        tn_query_filter  filter = tn_default_query_filter();
        const tn_body_id skip   = {(uint32_t)test_random_int(&b.random, 0, BALLS)};
        int              best = -1, left_out = -1;
        tn_ray_hit       hit = {0};
        if (k % 2 == 0) {
            filter.groups = (uint32_t)test_random_int(&b.random, 0, 7);
            filter.skip = &skip, filter.skip_count = 1;
            left_out = (int)skip.bits;
        }
        const double t     = first_of(&b, from, u, filter.groups, left_out, &best);
        const bool   found = tn_query_ray(b.query, from, d, length, k % 2 ? NULL : &filter, &hit);
        hits += found;
        wrong += found != (t <= length && best >= 0);
        if (!found) continue;
        const tn_vec3 p = tni_add_scaled(from, t, u);
        const tn_vec3 n =
            best == 0 ? tni_vec3(0, 0, 1) : tni_scale(1 / b.radius[best], tni_sub(p, b.x[best]));
        wrong += hit.body.bits != (uint32_t)best || hit.shape != 0;
        // A grazing ray loses half of the digits.
        wrong += !(fabs(hit.distance - t) < 1e-7 && tni_norm(tni_sub(hit.position, p)) < 1e-7);
        wrong += !(tni_norm(tni_sub(hit.normal, n)) < 1e-6);
    }
    CHECK_INT(wrong, 0);
    CHECK(hits > 1000);
    tn_ray_hit    hit;
    const tn_vec3 o = {0, 0, 9}, none = {0, 0, 0}, bad = {NAN, 0, 0}, down = {0, 0, -1};
    CHECK(!tn_query_ray(b.query, o, none, 9, NULL, &hit));
    CHECK(!tn_query_ray(b.query, o, bad, 9, NULL, &hit));
    CHECK(!tn_query_ray(b.query, bad, down, 9, NULL, &hit));
    CHECK(!tn_query_ray(b.query, o, down, NAN, NULL, &hit));
    CHECK(!tn_query_ray(b.query, o, down, -1, NULL, &hit));
    balls_free(&b);
}

typedef struct gathered {
    int        count, stop_after;
    int        times[BALLS + 1];
    int        last; ///< body
    double     distance;
    bool       rising;
    tn_ray_hit hits[BALLS + 1];
} gathered;

static bool gather_hit(void* user, const tn_ray_hit* hit)
{
    gathered* g = user;
    g->rising   = g->rising && hit->distance >= g->distance;
    g->distance = hit->distance;
    ++g->times[hit->body.bits];
    g->hits[g->count] = *hit;
    return ++g->count != g->stop_after;
}

static bool gather_body(void* user, tn_body_id body, int shape)
{
    gathered* g = user;
    g->rising   = g->rising && (int)body.bits > g->last && shape == 0;
    g->last     = (int)body.bits;
    ++g->times[body.bits];
    return ++g->count != g->stop_after;
}

static const gathered nothing = {.last = -1, .distance = -1, .rising = true};

TEST(all_hits_of_a_ray_come_once_and_by_distance)
{
    balls b;
    balls_make(&b, 2);
    int wrong = 0, most = 0;
    for (int k = 0; k < 500; ++k) {
        const tn_vec3 from  = random_vector(&b.random, 6);
        const tn_vec3 u     = tni_normalised(tni_sub(random_vector(&b.random, 2), from));
        gathered      g     = nothing;
        const int     count = tn_query_ray_all(b.query, from, u, 12, NULL, gather_hit, &g);
        wrong += count != g.count || !g.rising;
        for (int i = 0; i <= BALLS; ++i) wrong += g.times[i] != (enters(&b, i, from, u) <= 12);
        if (count > most) most = count;
        if (count < 2) continue;
        gathered two   = nothing;
        two.stop_after = 2;
        wrong += tn_query_ray_all(b.query, from, u, 12, NULL, gather_hit, &two) != 2;
        wrong += memcmp(two.hits, g.hits, 2 * sizeof(tn_ray_hit)) != 0;
    }
    CHECK_INT(wrong, 0);
    CHECK(most >= 5);
    balls_free(&b);
}

TEST(overlaps_of_spheres_and_boxes)
{
    balls b;
    balls_make(&b, 3);
    int wrong = 0, most = 0;
    for (int k = 0; k < 400; ++k) {
        const tn_vec3  x = random_vector(&b.random, 4), turn = random_vector(&b.random, 3);
        const double   radius = test_random_between(&b.random, 0, k % 50 == 0 ? 9 : 2);
        const tn_vec3  half   = {0.2 + 0.3 * radius, 0.5, 1};
        const tn_frame pose   = {x, tni_quat_exp(turn)};
        const tni_mat3 R      = tni_quat_matrix(pose.orientation);
        gathered       s = nothing, c = nothing;
        wrong += tn_query_sphere(b.query, x, radius, NULL, gather_body, &s) != s.count || !s.rising;
        wrong += tn_query_box(b.query, pose, half, NULL, gather_body, &c) != c.count || !c.rising;
        for (int i = 1; i <= BALLS; ++i) {
            const tn_vec3 d = tni_sub(b.x[i], x), p = tni_mul_t(&R, d); // to the box: by clamping
            const tn_vec3 out = {p.x - fmax(-half.x, fmin(half.x, p.x)),
                                 p.y - fmax(-half.y, fmin(half.y, p.y)),
                                 p.z - fmax(-half.z, fmin(half.z, p.z))};
            wrong += s.times[i] != (tni_norm(d) <= radius + b.radius[i]);
            wrong += c.times[i] != (tni_norm(out) <= b.radius[i]);
        }
        const double reach = fabs(R.m[6]) * half.x + fabs(R.m[7]) * half.y + fabs(R.m[8]) * half.z;
        wrong += s.times[0] != (x.z <= radius) || c.times[0] != (x.z <= reach);
        if (s.count > most) most = s.count;
    }
    CHECK_INT(wrong, 0);
    CHECK(most > 256); // more than one batch
    gathered      g      = nothing;
    const tn_vec3 o      = {0, 0, 0};
    g.stop_after         = 3;
    tn_query_filter some = tn_default_query_filter();
    some.groups          = 2; // bodies 1, 4, 7, ...
    CHECK_INT(tn_query_sphere(b.query, o, 9, &some, gather_body, &g), 3);
    CHECK(g.times[1] && g.times[4] && g.times[7]);
    CHECK_INT(tn_query_sphere(b.query, o, -1, NULL, gather_body, &g), 0);
    CHECK_INT(tn_query_sphere(b.query, o, NAN, NULL, gather_body, &g), 0);
    balls_free(&b);
}

TEST(closest_points_of_balls_and_of_the_floor)
{
    balls b;
    balls_make(&b, 4);
    int wrong = 0;
    for (int i = 0; i <= BALLS; i += 7)
        for (int j = 1; j <= BALLS; j += 3) {
            tn_closest c;
            if (i == j) continue;
            CHECK_OK(tn_query_closest(b.query, (tn_body_id){(uint32_t)i}, (tn_body_id){(uint32_t)j},
                                      &c, NULL));
            const tn_vec3 foot = i == 0 ? tni_vec3(b.x[j].x, b.x[j].y, 0) : b.x[i];
            const tn_vec3 d    = tni_sub(b.x[j], foot);
            const tn_vec3 n    = i == 0 ? tni_vec3(0, 0, 1) : tni_normalised(d);
            wrong += !(fabs(c.distance - (tni_dot(n, d) - b.radius[i] - b.radius[j])) < 1e-13);
            wrong += !(tni_norm(tni_sub(c.normal, n)) < 1e-13);
            wrong += !(tni_norm(tni_sub(c.point1, tni_add_scaled(foot, b.radius[i], n))) < 1e-13);
            wrong +=
                !(tni_norm(tni_sub(c.point2, tni_add_scaled(b.x[j], -b.radius[j], n))) < 1e-13);
        }
    CHECK_INT(wrong, 0);
    balls_free(&b);
}

// The tree keeps a history; the answers must not depend on it.
TEST(answers_depend_on_the_state_alone)
{
    balls     b;
    tn_query* young;
    balls_make(&b, 5);
    for (int k = 0; k < 40; ++k) {
        for (int i = 1; i <= BALLS; ++i) {
            const tn_frame pose = {random_vector(&b.random, 4),
                                   tni_quat_exp(random_vector(&b.random, 3))};
            CHECK_OK(tn_state_set_pose(b.r.state, (tn_body_id){(uint32_t)i}, pose));
            if (k > 0 && i > 20) break;
        }
        tn_query_update(b.query, b.r.state);
    }
    CHECK_OK(tn_query_create(b.r.model, &young));
    tn_query_update(young, b.r.state);
    for (int k = 0; k < 300; ++k) {
        const tn_vec3 from = random_vector(&b.random, 6), u = random_vector(&b.random, 1);
        gathered      g = nothing, h = nothing;
        tn_query_ray_all(b.query, from, u, 20, NULL, gather_hit, &g);
        tn_query_ray_all(young, from, u, 20, NULL, gather_hit, &h);
        CHECK(memcmp(&g, &h, sizeof g) == 0);
        g = h = nothing;
        tn_query_sphere(b.query, from, 2, NULL, gather_body, &g);
        tn_query_sphere(young, from, 2, NULL, gather_body, &h);
        CHECK(memcmp(&g, &h, sizeof g) == 0);
    }
    tn_query_free(young);
    balls_free(&b);
}

// A body of two balls on a stick, a level height field at height 1, and a mesh of one triangle.
TEST(several_shapes_height_fields_and_meshes)
{
    rig           r          = rig_make((tn_vec3){0, 0, 0});
    tn_shape_def  parts[3]   = {tn_default_shape_def(TN_SHAPE_SPHERE),
                                tn_default_shape_def(TN_SHAPE_CAPSULE),
                                tn_default_shape_def(TN_SHAPE_SPHERE)};
    const double  level[9]   = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    const tn_vec3 corners[3] = {{-20, 0, 0}, {-30, 0, 0}, {-20, 10, 0}};
    const int     indices[3] = {0, 1, 2};
    tn_shape_def  field = tn_default_shape_def(TN_SHAPE_HEIGHTS), mesh = field;
    mesh            = tn_default_shape_def(TN_SHAPE_MESH);
    parts[0].radius = 0.5, parts[0].pose.position = (tn_vec3){-2, 0, 0};
    parts[1].collide = false, parts[1].radius = 0.1, parts[1].half_length = 2;
    parts[2].radius = 0.25, parts[2].pose.position = (tn_vec3){2, 0, 0};
    parts[0].density = parts[2].density = 1000;
    field.heights = level, field.rows = field.columns = 3, field.spacing[0] = field.spacing[1] = 5;
    mesh.vertices = corners, mesh.vertex_count = 3, mesh.triangles = indices;
    mesh.triangle_count = 1;
    tn_body_def def     = tn_default_body_def();
    def.shapes = parts, def.shape_count = 3, def.name = "dumbbell";
    def.pose.position         = (tn_vec3){0, 0, 3};
    const tn_body_id dumbbell = tn_scene_add_body(r.scene, &def);
    def                       = tn_default_body_def();
    def.kind = TN_BODY_STATIC, def.shapes = &field, def.shape_count = 1;
    const tn_body_id hill  = tn_scene_add_body(r.scene, &def);
    def.shapes             = &mesh;
    const tn_body_id leaf  = tn_scene_add_body(r.scene, &def);
    def.shape_count        = 0;
    def.name               = "ghost";
    const tn_body_id ghost = tn_scene_add_body(r.scene, &def);
    rig_ready(&r);
    tn_query*  q;
    tn_closest c;
    tn_ray_hit hit;
    tn_why     why;
    CHECK_OK(tn_query_create(r.model, &q));
    tn_query_update(q, r.state);
    CHECK_OK(tn_query_closest(q, hill, dumbbell, &c, NULL)); // the larger ball is lower
    CHECK_NEAR(c.distance, 1.5, 1e-13);
    CHECK_NEAR(c.normal.z, 1, 1e-13);
    CHECK_INT(c.shape2, 0);
    CHECK_OK(tn_query_closest(q, dumbbell, hill, &c, NULL));
    CHECK_NEAR(c.normal.z, -1, 1e-13);
    CHECK_NEAR(c.point1.z, 2.5, 1e-13);
    CHECK_NEAR(c.point2.z, 1, 1e-13);
    CHECK_OK(tn_query_closest(q, leaf, dumbbell, &c, NULL)); // to the corner (-20, 0, 0)
    CHECK_NEAR(c.distance, sqrt(18.0 * 18 + 9) - 0.5, 1e-12);
    CHECK(tn_query_ray(q, tni_vec3(2, 0, 9), tni_vec3(0, 0, -2), 20, NULL, &hit));
    CHECK(hit.body.bits == dumbbell.bits && hit.shape == 1); // what does not collide is not counted
    CHECK_NEAR(hit.distance, 5.75, 1e-14);
    CHECK(tn_query_ray(q, tni_vec3(0, 0, 9), tni_vec3(0, 0, -2), 20, NULL, &hit));
    CHECK(hit.body.bits == hill.bits);
    CHECK_NEAR(hit.distance, 8, 1e-14);
    // Below the ground of the field all is solid; outside its area there is nothing.
    gathered g = nothing;
    CHECK_INT(tn_query_sphere(q, tni_vec3(1, 1, -5), 0.5, NULL, gather_body, &g), 1);
    CHECK_INT(tn_query_sphere(q, tni_vec3(6, 1, -5), 0.5, NULL, gather_body, &g), 0);
    tn_frame low = {{0, 0, 1.25}, {1, 0, 0, 0}};
    CHECK_OK(tn_state_set_pose(r.state, dumbbell, low)); // the larger ball goes in by 0.25
    tn_query_update(q, r.state);
    CHECK_OK(tn_query_closest(q, hill, dumbbell, &c, NULL));
    CHECK_NEAR(c.distance, -0.25, 1e-13);
    CHECK_NEAR(c.normal.z, 1, 1e-13);
    CHECK_INT(tn_query_closest(q, hill, leaf, &c, &why), TN_ERR_UNSUPPORTED);
    CHECK_INT(tn_query_closest(q, ghost, leaf, &c, &why), TN_ERR_MODEL);
    CHECK_TEXT(why.text, "body 'ghost' has no shape that collides");
    CHECK_INT(tn_query_closest(q, hill, (tn_body_id){0}, &c, &why), TN_ERR_MODEL);
    CHECK_INT(tn_query_closest(q, hill, hill, &c, &why), TN_ERR_MODEL);
    CHECK_INT(tn_query_closest(q, (tn_body_id){99}, hill, &c, NULL), TN_ERR_MODEL);
    tn_query_free(q);
    tn_query_free(NULL);
    rig_free(&r);
}

TEST(refused_memory_is_reported)
{
    failing_host  f    = failing_host_make();
    const tn_host host = failing_host_of(&f);
    tn_scene*     scene;
    tn_model*     model;
    tn_state*     state;
    CHECK_OK(tn_scene_create(&host, &scene));
    tn_scene_set_ground(scene, 0.5, 0);
    CHECK_OK(tn_scene_compile(scene, &model, NULL));
    CHECK_OK(tn_state_create(model, &state));
    const int before = f.live_blocks;
    for (int n = 1;; ++n) {
        tn_query* query;
        failing_host_rewind(&f, n);
        const tn_result result = tn_query_create(model, &query);
        CHECK((result == TN_OK) == (f.refused == 0) && (query != NULL) == (result == TN_OK));
        if (result == TN_OK) {
            const int asked = f.count;
            tn_query_update(query, state);
            CHECK_INT(f.count, asked);
        }
        tn_query_free(query);
        CHECK_INT(f.live_blocks, before);
        CHECK_INT(f.size_errors, 0);
        if (f.refused == 0) break;
    }
    tn_state_free(state);
    tn_model_free(model);
    tn_scene_free(scene);
    CHECK_INT(f.live_blocks, 0);
}
