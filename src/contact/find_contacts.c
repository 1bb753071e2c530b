// find_contacts: collision detection: the points where shapes touch, or nearly so.
//
// Pairs that may touch come from the broad phase (geom/broad_phase.h), their points from the narrow
// phase (geom/collide.h). A face in contact is a plane of its body, round features are balls; see
// contact.h. Planes are unbounded, so they are tested against all shapes: planes.c.
//
// Planar bodies (z = constant): features that they have twice, one above the other, count once, and
// spheres are discs.
//
// On the way from one configuration to another: shapes that touch at the start, or nearly (skin),
// give the points that they have there. Others count if they overlap at the end, or if a body is
// marked as continuous: then the points are those of the first contact, by conservative
// advancement. At the end itself they may overlap so deeply that the nearest way out is the wrong
// one.
//
// Order. Pairs are sorted by their shapes, points of a pair by their features: the history of the
// tree does not change the result. Nor does the cached separating direction of a pair, which saves
// the narrow phase for most nearby pairs.
#include "contact/find_parts.h"

#include "geom/broad_phase.h"
#include "geom/gjk.h"
#include "geom/ray_cast.h"

enum { SPOTS = 512 };

// Relative to the smaller shape: gap that counts as nearly touching.
static const double skin       = 1e-3;
static const double skin_least = 1e-6; // [m]

// Bounds that overlap nothing.
static const tni_aabb nowhere = {{TN_UNSET, TN_UNSET, TN_UNSET}, {TN_UNSET, TN_UNSET, TN_UNSET}};

// A pair of shapes for the narrow phase.
typedef struct candidate {
    uint64_t key;  ///< of the shapes
    int      pair; ///< index in the broad phase; -1: with a plane
} candidate;

struct tni_finder {
    tni_arena        arena;
    const tn_model*  model;
    tni_broad_phase* boxes;
    int*             planes;
    int              plane_count;
    double*          extents; ///< by shape
    tni_aabb*        bounds;  ///< by shape, grown by the reach
    tni_spot*        spots;
    tni_arena        list_arena; ///< of the candidates: it grows
    candidate *      candidates, *sorted;
    int              capacity, count;
    bool             full;
    const uint8_t*   excluded; ///< by body: excluded (asleep); NULL: none
};

// ---- Memory -------------------------------------------------------------------------------------

static bool pair_may_meet(const void* user, int a, int b)
{
    return tni_shapes_may_touch(user, a, b);
}

static tn_result take_list(tni_finder* f, int capacity)
{
    tni_arena  arena  = tni_arena_make(&f->model->arena.host);
    candidate *list   = TNI_TAKE(&arena, candidate, capacity),
              *sorted = TNI_TAKE(&arena, candidate, capacity);
    if (arena.failed) {
        tni_arena_free(&arena);
        return TN_ERR_MEMORY;
    }
    tni_arena_free(&f->list_arena);
    f->list_arena = arena;
    f->candidates = list;
    f->sorted     = sorted;
    f->capacity   = capacity;
    return TN_OK;
}

tn_result tni_finder_create(const tn_model* model, tni_finder** out)
{
    tni_arena   arena = tni_arena_make(&model->arena.host);
    tni_finder* f     = TNI_TAKE(&arena, tni_finder, 1);
    const int   n     = model->shape_count;
    *out              = NULL;
    if (f == NULL) return TN_ERR_MEMORY;
    *f         = (tni_finder){.model = model, .list_arena = tni_arena_make(&model->arena.host)};
    f->planes  = TNI_TAKE(&arena, int, n);
    f->extents = TNI_TAKE(&arena, double, n);
    f->bounds  = TNI_TAKE(&arena, tni_aabb, n);
    f->spots   = TNI_TAKE(&arena, tni_spot, SPOTS);
    f->arena   = arena;
    tn_result result = arena.failed ? TN_ERR_MEMORY : TN_OK;
    for (int i = 0; result == TN_OK && i < n; ++i) {
        const tni_geometry* g = &model->shapes[i].geometry;
        f->extents[i]         = tni_extent(g);
        f->bounds[i]          = nowhere;
        if (g->type == TN_SHAPE_PLANE) f->planes[f->plane_count++] = i;
    }
    if (result == TN_OK)
        result = tni_broad_phase_create(&model->arena.host, n, 64 + 4 * n, pair_may_meet, model,
                                        &f->boxes);
    if (result == TN_OK) result = take_list(f, 64 + 4 * n);
    if (result != TN_OK) tni_finder_free(f);
    else *out = f;
    return result;
}

void tni_finder_free(tni_finder* f)
{
    if (f == NULL) return;
    tni_broad_phase_free(f->boxes);
    tni_arena_free(&f->list_arena);
    tni_arena arena = f->arena; // the finder lies in its own arena
    tni_arena_free(&arena);
}

tn_result tni_finder_grow(tni_finder* f)
{
    const int       pairs  = tni_broad_phase_pair_count(f->boxes);
    const tn_result result = f->count > f->capacity || 2 * pairs < f->capacity
                                 ? take_list(f, 2 * f->capacity)
                                 : tni_broad_phase_grow(f->boxes);
    if (result == TN_OK) f->full = false;
    return result;
}

void tni_finder_exclude(tni_finder* f, const uint8_t* bodies)
{
    if (f != NULL) f->excluded = bodies;
}

// Whether a shape is immovable or excluded.
static bool rests(const tni_finder* f, int shape)
{
    const int       index = f->model->shapes[shape].body;
    const tni_body* body  = &f->model->bodies[index];
    if (body->dim == 0) return body->kind != TN_BODY_KINEMATIC;
    return f->excluded != NULL && f->excluded[index];
}

static bool is_excluded(const tni_finder* f, int shape)
{
    return f->excluded != NULL && f->excluded[f->model->shapes[shape].body];
}

// Excluded, and its bounds are known: they are those of some reach, at least its own.
static bool has_kept_bounds(const tni_finder* f, int shape)
{
    return is_excluded(f, shape) && !isnan(f->bounds[shape].lower.x);
}

bool tni_finder_is_full(const tni_finder* f)
{
    return f->full;
}

// ---- Touches ------------------------------------------------------------------------------------

tni_contact tni_contact_of(const tn_model* model, int first, int second)
{
    const tni_shape *shape1 = &model->shapes[first], *shape2 = &model->shapes[second];
    return (tni_contact){.body1    = shape1->body,
                         .body2    = shape2->body,
                         .p1       = shape1->p,
                         .p2       = shape2->p,
                         .F1       = shape1->F,
                         .surface1 = shape1->surface,
                         .surface2 = shape2->surface,
                         .material = tni_material_of(model, first, second)};
}

static int first_of(const candidate* c)
{
    return (int)(c->key >> TNI_SHAPE_BITS);
}

static int second_of(const candidate* c)
{
    return (int)(c->key & ((1 << TNI_SHAPE_BITS) - 1));
}

// ---- Pairs of shapes ----------------------------------------------------------------------------

static tni_pose pose_of(const tn_model* model, int shape, const tni_view* views)
{
    const tni_shape* s = &model->shapes[shape];
    return tni_shape_pose(s, &views[s->body]);
}

// Reorders the axes of a frame so that the one most perpendicular to d comes first.
static tni_mat3 most_across_first(const tni_mat3* F, tn_vec3 d)
{
    const double x = fabs(tni_dot(tni_column(F, 0), d)), y = fabs(tni_dot(tni_column(F, 1), d)),
                 z = fabs(tni_dot(tni_column(F, 2), d));
    const int k    = x <= y && x <= z ? 0 : y <= z ? 1 : 2;
    return tni_columns(tni_column(F, k), tni_column(F, (k + 1) % 3), tni_column(F, (k + 2) % 3));
}

static tni_mat3 plane_axes(tn_vec3 n)
{
    const tn_vec3 x = tni_perpendicular(n);
    return tni_columns(x, tni_cross(n, x), n);
}

// A world point in body axes, from the centre of mass.
static tn_vec3 in_body(const tni_view* view, tn_vec3 at)
{
    return tni_mul_t(&view->R, tni_sub(at, view->x));
}

// The contact point of a spot; the views are those where it was found.
static tni_contact contact_at(const tn_model* model, int first, int second, const tni_view* view1,
                              const tni_view* view2, const tni_spot* spot)
{
    const bool  other = spot->kind == TNI_SPOT_FACE_2; // then its owner comes first
    tni_contact contact =
        other ? tni_contact_of(model, second, first) : tni_contact_of(model, first, second);
    const tni_view *owner = other ? view2 : view1, *guest = other ? view1 : view2;
    const tn_vec3   n = other ? tni_neg(spot->n) : spot->n, c1 = other ? spot->c2 : spot->c1,
                  c2 = other ? spot->c1 : spot->c2;
    const double r1  = other ? spot->r2 : spot->r1;
    contact.id       = tni_contact_id(tni_contact_key(first, second), (int)spot->feature);
    contact.round    = spot->kind == TNI_SPOT_ROUND;
    contact.radius2  = other ? spot->r1 : spot->r2;
    contact.gap      = spot->gap;
    contact.p2       = in_body(guest, c2);
    if (contact.round) {
        contact.radius1 = r1;
        contact.p1      = in_body(owner, c1);
        contact.F1      = most_across_first(&contact.F1, tni_mul_t(&owner->R, n));
    } else {
        contact.p1 = in_body(owner, tni_add_scaled(c1, r1, n));
        contact.F1 = plane_axes(tni_normalised(tni_mul_t(&owner->R, n)));
    }
    return contact;
}

static void sort_spots(tni_spot* spots, int count)
{
    for (int i = 1; i < count; ++i) {
        const tni_spot spot = spots[i];
        int            k    = i;
        for (; k > 0 && spots[k - 1].feature > spot.feature; --k) spots[k] = spots[k - 1];
        spots[k] = spot;
    }
}

// For planar bodies: whether an earlier point is straight above or below.
static bool is_above(const tni_spot* spots, int i, double size)
{
    for (int k = 0; k < i; ++k) {
        const tn_vec3 d = tni_sub(spots[i].c2, spots[k].c2);
        if (fabs(d.x) <= 1e-9 * size && fabs(d.y) <= 1e-9 * size) return true;
    }
    return false;
}

// Spheres of planar bodies are discs, whatever their z.
static bool discs_meet(tni_finder* f, int first, int second, const tni_pose* pose1,
                       const tni_pose* pose2, double reach, tni_spot* spot)
{
    const double r1  = f->model->shapes[first].geometry.radius,
                 r2  = f->model->shapes[second].geometry.radius;
    tn_vec3 D        = tni_sub(pose2->x, pose1->x);
    D.z              = 0;
    const double gap = tni_norm(D) - r1 - r2;
    *spot            = (tni_spot){.kind = TNI_SPOT_ROUND,
                                  .n    = tni_norm(D) > 0 ? tni_normalised(D) : tni_vec3(1, 0, 0),
                                  .c1   = pose1->x,
                                  .c2   = pose2->x,
                                  .r1   = r1,
                                  .r2   = r2,
                                  .gap  = gap};
    return gap <= reach;
}

// Contact points of two shapes at the given poses, into f->spots.
static int collide(tni_finder* f, int first, int second, const tni_pose* pose1,
                   const tni_pose* pose2, double reach)
{
    const tni_shape *shape1 = &f->model->shapes[first], *shape2 = &f->model->shapes[second];
    const bool       flat = tni_is_flat(&f->model->bodies[shape1->body]) &&
                      tni_is_flat(&f->model->bodies[shape2->body]);
    if (flat && shape1->geometry.type == TN_SHAPE_SPHERE &&
        shape2->geometry.type == TN_SHAPE_SPHERE)
        return discs_meet(f, first, second, pose1, pose2, reach, f->spots);
    int count =
        tni_collide(&shape1->geometry, pose1, &shape2->geometry, pose2, reach, f->spots, SPOTS);
    if (count > SPOTS) count = SPOTS;
    sort_spots(f->spots, count);
    if (!flat) return count;
    int kept = 0;
    for (int i = 0; i < count; ++i) {
        const double size = fmin(f->extents[first], f->extents[second]);
        if (fabs(f->spots[i].n.z) > TNI_LEANS_MAX || is_above(f->spots, i, size)) continue;
        f->spots[kept++] = f->spots[i];
    }
    return kept;
}

static void take_spots(tni_finder* f, int first, int second, const tni_view* view1,
                       const tni_view* view2, int count, tni_contact_list* out)
{
    for (int i = 0; i < count; ++i) {
        const tni_contact contact = contact_at(f->model, first, second, view1, view2, &f->spots[i]);
        tni_contact_add(out, &contact);
    }
}

// Pairs whose narrow phase costs much more than a test along the cached direction.
static bool is_costly(const tni_finder* f, int first, int second)
{
    const tn_shape_type one = f->model->shapes[first].geometry.type,
                        two = f->model->shapes[second].geometry.type;
    return tni_is_convex(one) && tni_is_convex(two) &&
           (one == TN_SHAPE_CYLINDER || one == TN_SHAPE_CONVEX || two == TN_SHAPE_CYLINDER ||
            two == TN_SHAPE_CONVEX);
}

static void narrow_phase(tni_finder* f, const tni_view* views, const candidate* c, double reach,
                         tni_contact_list* out)
{
    const int      first = first_of(c), second = second_of(c);
    const tni_pose pose1   = pose_of(f->model, first, views),
                   pose2   = pose_of(f->model, second, views);
    const tni_geometry *g1 = &f->model->shapes[first].geometry,
                       *g2 = &f->model->shapes[second].geometry;
    const bool costly      = is_costly(f, first, second);
    tn_vec3*   note        = tni_broad_phase_note(f->boxes, c->pair);
    if (costly && tni_known_apart(g1, &pose1, g2, &pose2, reach, *note)) return;
    const int count = collide(f, first, second, &pose1, &pose2, reach);
    if (costly && count == 0) *note = tni_nearest_points(g1, &pose1, g2, &pose2).n;
    take_spots(f, first, second, &views[f->model->shapes[first].body],
               &views[f->model->shapes[second].body], count, out);
}

// ---- Broad phase --------------------------------------------------------------------------------

// The box of a disc is unbounded along z.
static tni_aabb bounds_at(const tn_model* model, int shape, const tni_view* views)
{
    const tni_pose pose = pose_of(model, shape, views);
    tni_aabb       box  = tni_bounds(&model->shapes[shape].geometry, &pose);
    if (tni_is_flat(&model->bodies[model->shapes[shape].body]) &&
        model->shapes[shape].geometry.type == TN_SHAPE_SPHERE) {
        box.lower.z = -HUGE_VAL;
        box.upper.z = HUGE_VAL;
    }
    return box;
}

static void list_candidate(tni_finder* f, uint64_t key, int pair)
{
    if (f->count++ < f->capacity) f->candidates[f->count - 1] = (candidate){key, pair};
}

// By rising key: a natural merge sort, as most runs are in order already.
static void sort_candidates(tni_finder* f)
{
    candidate *from = f->candidates, *to = f->sorted;
    for (int runs = 2; runs > 1;) {
        int at = 0;
        runs   = 0;
        while (at < f->count) {
            int middle = at + 1, end;
            while (middle < f->count && from[middle - 1].key < from[middle].key) ++middle;
            end = middle < f->count ? middle + 1 : middle;
            while (end < f->count && from[end - 1].key < from[end].key) ++end;
            int i = at, k = middle;
            for (int m = at; m < end; ++m)
                to[m] =
                    k >= end || (i < middle && from[i].key < from[k].key) ? from[i++] : from[k++];
            at = end;
            ++runs;
        }
        candidate* swap = from;
        from            = to;
        to              = swap;
    }
    f->candidates = from;
    f->sorted     = to;
}

// All pairs with overlapping bounds, and planes with what is near them at either view. False: no
// room.
static bool list_candidates(tni_finder* f, const tni_view* views, const tni_view* end, double reach)
{
    const tn_model* model = f->model;
    f->count              = 0;
    f->full               = !tni_broad_phase_update(f->boxes, f->bounds);
    if (f->full) return false;
    for (int p = 0; p < f->plane_count; ++p) {
        for (int i = 0; i < model->shape_count; ++i) {
            if (is_excluded(f, i) && rests(f, f->planes[p])) continue;
            if (!tni_is_over(model, views, f->planes[p], i, f->extents[i], reach) &&
                !(end != NULL && tni_is_over(model, end, f->planes[p], i, f->extents[i], reach)))
                continue;
            if (tni_shapes_may_touch(model, f->planes[p], i))
                list_candidate(f, tni_contact_key(f->planes[p], i), -1);
        }
    }
    const tni_pair* pairs = tni_broad_phase_pairs(f->boxes);
    for (int i = 0; i < tni_broad_phase_pair_count(f->boxes); ++i) {
        if (rests(f, pairs[i].a) && rests(f, pairs[i].b)) continue;
        if (tni_aabb_meet(&f->bounds[pairs[i].a], &f->bounds[pairs[i].b]))
            list_candidate(f, tni_contact_key(pairs[i].a, pairs[i].b), i);
    }
    f->full = f->count > f->capacity;
    if (!f->full) sort_candidates(f);
    return !f->full;
}

int tni_find_contacts(tni_finder* f, const tni_view* views, double reach, tni_contact* contacts,
                      int capacity)
{
    const tn_model*  model = f->model;
    tni_contact_list out   = {.contacts = contacts, .capacity = capacity};
    for (int i = 0; i < model->shape_count; ++i) {
        if (has_kept_bounds(f, i)) continue;
        f->bounds[i] = nowhere;
        if (model->shapes[i].geometry.type != TN_SHAPE_PLANE)
            f->bounds[i] = tni_aabb_grown(bounds_at(model, i, views), fmax(0, 0.5 * reach));
    }
    if (!list_candidates(f, views, NULL, reach)) return TNI_FINDER_FULL;
    for (int i = 0; i < f->count; ++i) {
        const candidate* c = &f->candidates[i];
        if (c->pair >= 0) narrow_phase(f, views, c, reach, &out);
        else tni_over_plane(model, views, first_of(c), second_of(c), reach, &out);
    }
    return out.count;
}

// ---- On the way ---------------------------------------------------------------------------------

static tni_gauss_seidel_motion motion_of(const tn_model* model, int shape, const tni_view* start,
                                         const tni_view* end)
{
    const tni_shape* s  = &model->shapes[shape];
    const tni_view * v0 = &start[s->body], *v1 = &end[s->body];
    const tni_mat3   Rt = tni_transposed(&v0->R), turn = tni_mat_mul(&v1->R, &Rt);
    return (tni_gauss_seidel_motion){.start  = pose_of(model, shape, start),
                                     .centre = tni_neg(tni_mul_t(&s->F, s->p)),
                                     .move   = tni_sub(v1->x, v0->x),
                                     .turn   = tni_quat_log(tni_matrix_quat(&turn))};
}

// The view of a body whose shape is at a pose.
static tni_view view_at(const tni_shape* shape, const tni_pose* pose)
{
    const tni_mat3 Ft   = tni_transposed(&shape->F);
    tni_view       view = {.R = tni_mat_mul(&pose->R, &Ft)};
    view.x              = tni_sub(pose->x, tni_mul(&view.R, shape->p));
    return view;
}

static double skin_of(const tni_finder* f, int first, int second)
{
    return skin_least + skin * fmin(f->extents[first], f->extents[second]);
}

// The points where two shapes that are apart at the start first touch.
static void first_contact(tni_finder* f, const tni_view* start, const tni_view* end, int first,
                          int second, tni_contact_list* out)
{
    const tn_model*  model  = f->model;
    const tni_shape *shape1 = &model->shapes[first], *shape2 = &model->shapes[second];
    const tni_pose   pose1 = pose_of(model, first, end), pose2 = pose_of(model, second, end);
    const double     near = skin_of(f, first, second);
    double           t;
    if (!shape1->continuous && !shape2->continuous &&
        collide(f, first, second, &pose1, &pose2, 0) == 0)
        return;
    const tni_gauss_seidel_motion m1 = motion_of(model, first, start, end),
                                  m2 = motion_of(model, second, start, end);
    if (!tni_first_touch(&shape1->geometry, &m1, &shape2->geometry, &m2, 0.5 * near, &t)) return;
    const tni_pose at1 = tni_gauss_seidel_at(&m1, t), at2 = tni_gauss_seidel_at(&m2, t);
    const tni_view view1 = view_at(shape1, &at1), view2 = view_at(shape2, &at2);
    const int      count = collide(f, first, second, &at1, &at2, near);
    take_spots(f, first, second, &view1, &view2, count, out);
}

int tni_find_ahead(tni_finder* f, const tni_view* start, const tni_view* end, tni_contact* contacts,
                   int capacity)
{
    const tn_model*  model = f->model;
    tni_contact_list out   = {.contacts = contacts, .capacity = capacity};
    double           most  = skin_least;
    for (int i = 0; i < model->shape_count; ++i) {
        if (has_kept_bounds(f, i)) continue;
        f->bounds[i] = nowhere;
        if (model->shapes[i].geometry.type == TN_SHAPE_PLANE) continue;
        const double   near = skin_of(f, i, i);
        const tni_aabb a = bounds_at(model, i, start), b = bounds_at(model, i, end);
        f->bounds[i] = tni_aabb_grown(tni_aabb_united(&a, &b), near);
        most         = fmax(most, near);
    }
    if (!list_candidates(f, start, end, most)) return TNI_FINDER_FULL;
    for (int i = 0; i < f->count; ++i) {
        const candidate* c     = &f->candidates[i];
        const int        first = first_of(c), second = second_of(c), before = out.count;
        if (c->pair < 0) {
            tni_towards_plane(model, start, end, first, second, skin_of(f, second, second), &out);
            continue;
        }
        narrow_phase(f, start, c, skin_of(f, first, second), &out);
        if (out.count == before) first_contact(f, start, end, first, second, &out);
    }
    return out.count;
}
