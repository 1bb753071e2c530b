// query: rays, overlaps and closest points among the shapes of a model at a state.
//
// The broad phase (geom/broad_phase.h) lists candidates, the narrow phase tests them. The tree
// depends on where shapes were before, so its candidates and their order may differ from one
// history to another. The answers do not: rays take the least (distance, shape), and test each
// shape with the whole ray; all hits of a ray are found one after the other, each the least after
// the last; overlaps are gathered by rising index, BATCH at a time. Hence queries need no memory of
// their own, and threads may query at once.
#include "tenon/query.h"

#include "contact/contact.h"
#include "geom/broad_phase.h"
#include "geom/collide.h"
#include "geom/height_field.h"
#include "geom/ray_cast.h"

enum { BATCH = 256, SPOTS = 64 };

struct tn_query {
    const tn_model*  model;
    tni_arena        arena;
    tni_broad_phase* boxes;
    tni_pose*        poses; ///< by shape
    tni_aabb*        bounds;
    int*             first; ///< by body: its first shape; one more at the end
    tni_polytope     cube;  ///< half edge 1
};

// ---- Creation and update ------------------------------------------------------------------------

static bool never(const void* user, int a, int b) // no pairs are kept
{
    (void)user, (void)a, (void)b;
    return false;
}

static tn_result fill(tn_query* q)
{
    const tn_model* model = q->model;
    q->poses              = TNI_TAKE(&q->arena, tni_pose, model->shape_count);
    q->bounds             = TNI_TAKE(&q->arena, tni_aabb, model->shape_count);
    q->first              = TNI_TAKE(&q->arena, int, model->body_count + 1);
    if (q->arena.failed) return TN_ERR_MEMORY;
    for (int i = 0; i < model->shape_count; ++i) ++q->first[model->shapes[i].body + 1];
    for (int i = 0; i < model->body_count; ++i) q->first[i + 1] += q->first[i];
    const tn_result result = tni_polytope_of_box(&q->arena, tni_vec3(1, 1, 1), &q->cube);
    if (result != TN_OK) return result;
    return tni_broad_phase_create(&q->arena.host, model->shape_count, 0, never, NULL, &q->boxes);
}

tn_result tn_query_create(const tn_model* model, tn_query** query)
{
    const tn_host* host = &model->arena.host;
    tn_query*      q    = tni_host_take(host, sizeof *q);
    *query              = NULL;
    if (q == NULL) return TN_ERR_MEMORY;
    q->model               = model;
    q->arena               = tni_arena_make(host);
    const tn_result result = fill(q);
    if (result == TN_OK) *query = q;
    else tn_query_free(q);
    return result;
}

void tn_query_free(tn_query* query)
{
    if (query == NULL) return;
    const tn_host host = query->arena.host;
    tni_broad_phase_free(query->boxes);
    tni_arena_free(&query->arena);
    tni_host_give(&host, query, sizeof *query);
}

void tn_query_update(tn_query* query, const tn_state* state)
{
    const tn_model* model = query->model;
    TN_ASSERT(state->model == model);
    for (int body = 0; body < model->body_count; ++body) {
        if (query->first[body] == query->first[body + 1]) continue;
        const tni_view view = tni_state_view(state, body);
        for (int i = query->first[body]; i < query->first[body + 1]; ++i) {
            query->poses[i]  = tni_shape_pose(&model->shapes[i], &view);
            query->bounds[i] = tni_bounds(&model->shapes[i].geometry, &query->poses[i]);
        }
    }
    const bool done = tni_broad_phase_update(query->boxes, query->bounds);
    TN_ASSERT(done); // no pairs, so there is always room
    (void)done;
}

tn_query_filter tn_default_query_filter(void)
{
    return (tn_query_filter){.groups = UINT32_MAX};
}

static bool passes(const tn_query* q, const tn_query_filter* filter, int index)
{
    const tni_shape* shape = &q->model->shapes[index];
    if (filter == NULL) return true;
    for (int i = 0; i < filter->skip_count; ++i)
        if (filter->skip[i].bits == (uint32_t)shape->body) return false;
    return (filter->groups >> shape->group & 1) != 0;
}

static int shape_in_body(const tn_query* q, int index)
{
    return index - q->first[q->model->shapes[index].body];
}

// ---- Rays ---------------------------------------------------------------------------------------

/// Finds the least (t, shape) after (after_t, after_shape).
typedef struct ray_search {
    const tn_query*        q;
    const tn_query_filter* filter;
    tn_vec3                from, u;
    double                 length, after_t;
    int                    after_shape;
    int                    shape; ///< -1: none yet
    tni_hit                hit;
} ray_search;

static bool comes_before(double t1, int shape1, double t2, int shape2)
{
    return t1 < t2 || (t1 == t2 && shape1 < shape2);
}

static double test_shape(void* user, int index, double most)
{
    ray_search*      s     = user;
    const tni_shape* shape = &s->q->model->shapes[index];
    tni_hit          hit;
    if (!passes(s->q, s->filter, index)) return most;
    if (!tni_cast_ray(&shape->geometry, &s->q->poses[index], s->from, s->u, s->length, &hit))
        return most;
    if (!comes_before(s->after_t, s->after_shape, hit.t, index)) return most;
    if (s->shape >= 0 && !comes_before(hit.t, index, s->hit.t, s->shape)) return most;
    s->hit   = hit;
    s->shape = index;
    return hit.t;
}

static bool find_hit(ray_search* s, tn_ray_hit* found)
{
    s->shape = -1;
    tni_broad_phase_ray(s->q->boxes, s->from, s->u, s->length, test_shape, s);
    if (s->shape < 0) return false;
    *found = (tn_ray_hit){.body     = {(uint32_t)s->q->model->shapes[s->shape].body},
                          .shape    = shape_in_body(s->q, s->shape),
                          .position = tni_add_scaled(s->from, s->hit.t, s->u),
                          .normal   = s->hit.n,
                          .distance = s->hit.t};
    return true;
}

// A direction of zero length, or NaN, hits nothing.
static ray_search begin_search(const tn_query* q, tn_vec3 from, tn_vec3 d, double length,
                               const tn_query_filter* filter)
{
    const double  size = tni_max_abs(d);
    const tn_vec3 u = size > 0 ? tni_normalised(tni_vec3(d.x / size, d.y / size, d.z / size)) : d;
    return (ray_search){.q           = q,
                        .filter      = filter,
                        .from        = from,
                        .u           = u,
                        .length      = length,
                        .after_t     = -1,
                        .after_shape = -1,
                        .shape       = -1};
}

bool tn_query_ray(const tn_query* query, tn_vec3 from, tn_vec3 direction, double length,
                  const tn_query_filter* filter, tn_ray_hit* hit)
{
    ray_search s = begin_search(query, from, direction, length, filter);
    return find_hit(&s, hit);
}

int tn_query_ray_all(const tn_query* query, tn_vec3 from, tn_vec3 direction, double length,
                     const tn_query_filter* filter,
                     bool (*visit)(void* user, const tn_ray_hit* hit), void* user)
{
    ray_search s     = begin_search(query, from, direction, length, filter);
    int        count = 0;
    tn_ray_hit hit;
    while (find_hit(&s, &hit)) {
        ++count;
        if (!visit(user, &hit)) break;
        s.after_t     = s.hit.t;
        s.after_shape = s.shape;
    }
    return count;
}

// ---- Two shapes ---------------------------------------------------------------------------------

// Whether a point is below the ground of a height field.
static bool is_below(const tni_height_field* field, const tni_pose* pose, tn_vec3 point)
{
    const tni_geometry g    = {.type = TN_SHAPE_HEIGHTS, .heights = field};
    const tni_pose     own  = tni_pose_home();
    const tn_vec3      p    = tni_mul_t(&pose->R, tni_sub(point, pose->x));
    const double       high = field->highest + 1 + fabs(p.z);
    tni_hit            hit;
    if (p.z > field->highest) return false;
    return tni_cast_ray(&g, &own, tni_vec3(p.x, p.y, high), tni_vec3(0, 0, -1), HUGE_VAL, &hit) &&
           high - hit.t >= p.z;
}

// Shape 1 is a plane, shape 2 convex.
static tni_nearest over_plane(const tni_pose* p1, const tni_geometry* g2, const tni_pose* p2)
{
    const tn_vec3 n      = tni_column(&p1->R, 2);
    const tn_vec3 low    = tni_pose_point(p2, tni_support(g2, tni_mul_t(&p2->R, tni_neg(n)), NULL));
    const double  height = tni_dot(n, tni_sub(low, p1->x));
    return (tni_nearest){.gap = height - tni_round_radius(g2),
                         .n   = n,
                         .c1  = tni_add_scaled(low, -height, n),
                         .c2  = low};
}

// Shape 1 is a mesh or height field, shape 2 convex. If they intersect: the deepest contact point.
static tni_nearest over_surface(const tni_geometry* g1, const tni_pose* p1, const tni_geometry* g2,
                                const tni_pose* p2)
{
    tni_nearest near  = tni_nearest_of_surface(g1, p1, g2, p2);
    const bool  below = g1->type == TN_SHAPE_HEIGHTS && is_below(g1->heights, p1, p2->x);
    tni_spot    spots[SPOTS];
    if (near.gap > 0 && !below) return near;
    if (near.gap > 0) near.gap = -near.gap, near.n = tni_neg(near.n);
    const int count = tni_collide_surface(g1, p1, g2, p2, 0, spots, SPOTS);
    int       best  = 0;
    for (int i = 1; i < count && i < SPOTS; ++i)
        if (spots[i].gap < spots[best].gap) best = i;
    if (count == 0) return near;
    return (tni_nearest){
        .gap = spots[best].gap, .n = spots[best].n, .c1 = spots[best].c1, .c2 = spots[best].c2};
}

static bool are_measured(const tni_geometry* g1, const tni_geometry* g2)
{
    return tni_is_convex(g1->type) || tni_is_convex(g2->type);
}

static tni_nearest turned(tni_nearest near)
{
    const tn_vec3 c1 = near.c1;
    near.n           = tni_neg(near.n);
    near.c1          = near.c2;
    near.c2          = c1;
    return near;
}

static tni_nearest nearest_of(const tni_geometry* g1, const tni_pose* p1, const tni_geometry* g2,
                              const tni_pose* p2)
{
    if (!tni_is_convex(g2->type)) return turned(nearest_of(g2, p2, g1, p1));
    if (g1->type == TN_SHAPE_PLANE) return over_plane(p1, g2, p2);
    if (!tni_is_convex(g1->type)) return over_surface(g1, p1, g2, p2);
    return tni_nearest_points(g1, p1, g2, p2);
}

// ---- Overlaps -----------------------------------------------------------------------------------

/// The BATCH smallest shape indices above `after` among the tree's candidates, rising.
typedef struct batch {
    const tn_query*        q;
    const tn_query_filter* filter;
    int                    after, count;
    int                    items[BATCH];
} batch;

static void gather(void* user, int index)
{
    batch* b = user;
    if (index <= b->after || !passes(b->q, b->filter, index)) return;
    if (b->count == BATCH && index > b->items[BATCH - 1]) return;
    int i = b->count < BATCH ? b->count++ : BATCH - 1;
    for (; i > 0 && b->items[i - 1] > index; --i) b->items[i] = b->items[i - 1];
    b->items[i] = index;
}

static int overlaps(const tn_query* q, const tni_geometry* g, const tni_pose* pose,
                    const tn_query_filter* filter,
                    bool (*visit)(void* user, tn_body_id body, int shape), void* user)
{
    const tni_aabb box    = tni_bounds(g, pose);
    batch          b      = {.q = q, .filter = filter, .after = -1};
    int            called = 0;
    do {
        b.count = 0;
        tni_broad_phase_query(q->boxes, &box, gather, &b);
        for (int i = 0; i < b.count; ++i) {
            const int        index = b.items[i];
            const tni_shape* shape = &q->model->shapes[index];
            if (!tni_aabb_meet(&box, &q->bounds[index])) continue;
            if (!(nearest_of(&shape->geometry, &q->poses[index], g, pose).gap <= 0)) continue;
            ++called;
            if (!visit(user, (tn_body_id){(uint32_t)shape->body}, shape_in_body(q, index)))
                return called;
        }
        b.after = b.count > 0 ? b.items[b.count - 1] : b.after;
    } while (b.count == BATCH);
    return called;
}

int tn_query_box(const tn_query* query, tn_frame pose, tn_vec3 half_size,
                 const tn_query_filter* filter,
                 bool (*visit)(void* user, tn_body_id body, int shape), void* user)
{
    tn_vec3        vertices[8];
    tni_face       faces[6];
    tni_polytope   polytope = query->cube;
    const tni_pose at = {pose.position, tni_quat_matrix(tni_quat_normalised(pose.orientation))};
    const tn_vec3  h  = half_size;
    if (!(h.x > 0 && h.y > 0 && h.z > 0)) return 0;
    for (int i = 0; i < 8; ++i) {
        const tn_vec3 v = query->cube.vertices[i];
        vertices[i]     = tni_vec3(v.x * h.x, v.y * h.y, v.z * h.z);
    }
    for (int i = 0; i < 6; ++i) {
        faces[i]        = query->cube.faces[i];
        faces[i].offset = fabs(tni_dot(faces[i].n, h));
    }
    polytope.vertices    = vertices;
    polytope.faces       = faces;
    const tni_geometry g = {.type = TN_SHAPE_BOX, .half_size = h, .polytope = &polytope};
    return overlaps(query, &g, &at, filter, visit, user);
}

int tn_query_sphere(const tn_query* query, tn_vec3 centre, double radius,
                    const tn_query_filter* filter,
                    bool (*visit)(void* user, tn_body_id body, int shape), void* user)
{
    const tni_geometry g  = {.type = TN_SHAPE_SPHERE, .radius = radius};
    const tni_pose     at = {centre, tni_identity3()};
    if (!(radius >= 0)) return 0;
    return overlaps(query, &g, &at, filter, visit, user);
}

// ---- Closest points -----------------------------------------------------------------------------

// A lower bound of the distance between the contents of two boxes.
static double boxes_apart(const tni_aabb* a, const tni_aabb* b)
{
    const tn_vec3 d = {fmax(0, fmax(a->lower.x - b->upper.x, b->lower.x - a->upper.x)),
                       fmax(0, fmax(a->lower.y - b->upper.y, b->lower.y - a->upper.y)),
                       fmax(0, fmax(a->lower.z - b->upper.z, b->lower.z - a->upper.z))};
    return tni_norm(d);
}

static tn_closest closest_of(const tn_query* q, int i, int j, const tni_nearest* near)
{
    const double r1 = tni_round_radius(&q->model->shapes[i].geometry);
    const double r2 = tni_round_radius(&q->model->shapes[j].geometry);
    return (tn_closest){.distance = near->gap,
                        .point1   = tni_add_scaled(near->c1, r1, near->n),
                        .point2   = tni_add_scaled(near->c2, -r2, near->n),
                        .normal   = near->n,
                        .shape1   = shape_in_body(q, i),
                        .shape2   = shape_in_body(q, j)};
}

static tn_result check_body(const tn_query* q, tn_body_id body, tn_why* why)
{
    if (body.bits >= (uint32_t)q->model->body_count)
        return tni_fail(why, TN_ERR_MODEL, "closest points: no such body");
    if (q->first[body.bits] < q->first[body.bits + 1]) return TN_OK;
    return tni_fail(why, TN_ERR_MODEL, "body '%s' has no shape that collides",
                    tn_model_body_name(q->model, body));
}

tn_result tn_query_closest(const tn_query* query, tn_body_id body1, tn_body_id body2,
                           tn_closest* closest, tn_why* why)
{
    const tn_query* q      = query;
    bool            found  = false;
    tn_result       result = check_body(q, body1, why);
    if (result == TN_OK) result = check_body(q, body2, why);
    if (result != TN_OK) return result;
    if (body1.bits == body2.bits)
        return tni_fail(why, TN_ERR_MODEL, "closest points of '%s' and itself",
                        tn_model_body_name(q->model, body1));
    for (int i = q->first[body1.bits]; i < q->first[body1.bits + 1]; ++i) {
        for (int j = q->first[body2.bits]; j < q->first[body2.bits + 1]; ++j) {
            const tni_geometry *g1 = &q->model->shapes[i].geometry,
                               *g2 = &q->model->shapes[j].geometry;
            if (!are_measured(g1, g2)) continue;
            const double least = boxes_apart(&q->bounds[i], &q->bounds[j]);
            if (found && least > fmax(closest->distance, 0) * (1 + 1e-12)) continue;
            const tni_nearest near = nearest_of(g1, &q->poses[i], g2, &q->poses[j]);
            if (found && !(near.gap < closest->distance)) continue;
            *closest = closest_of(q, i, j, &near);
            found    = true;
        }
    }
    if (found) return TN_OK;
    return tni_fail(why, TN_ERR_UNSUPPORTED, "'%s' and '%s' have no convex shape",
                    tn_model_body_name(q->model, body1), tn_model_body_name(q->model, body2));
}
