// ray_cast: ray casts, and the time of first contact of moving shapes.
//
// A ray is transformed to the shape's frame with a unit direction u. A convex shape is an
// intersection of sets (slabs, half spaces, an infinite cylinder): the ray enters it where the last
// of them is entered, if that is before the first of them is left. A capsule is a union, so the
// first entry of its parts counts. Balls: with the point m nearest to the centre, r^2 - m . m =
// s^2, and the ray is inside from s before that point to s behind it.
//
// Triangles [1]: in coordinates relative to the start of the ray, sheared so that it runs along its
// largest axis, the ray passes an edge a, b on the side of the sign of a_x b_y - a_y b_x. For the
// neighbour the two products are exchanged: exactly the opposite sign. So no ray passes between
// triangles (watertight), and one through an edge hits at least one of them.
//
// Meshes are traversed by their hierarchy; height fields cell by cell along the axis on which the
// ray crosses more of them, with the one or two cells across that it overlaps there. Closed meshes
// and height fields are entered through front faces only; an open mesh has no inside and is hit
// from both sides, its normal then being on the side the ray comes from.
//
// First contact by conservative advancement [2]: with the gap g along n at t, points approach along
// n, fixed in the world, at most at the rate
//     c = n . (move1 - move2) + |turn1 x n| rho1 + |turn2 x n| rho2,
// rho being the largest distance of a shape from its axis of rotation. So the gap stays above g - c
// dt, and t + (g - AIM reach) / c is never late. A rotating plane has no rho: there the height of a
// point over it changes at most at the rate of the relative velocity at the point. Triangles of
// meshes and height fields near the path are tried one by one. The iteration ends because each step
// is at least (1 - AIM) reach / c; after ROUNDS_MAX of them the time reached is returned as
// contact: early, but not late.
//
// Closest point of a surface to a shape: the triangles within a distance are tried; it is doubled
// until the gap found is not larger.
// [1] S. Woop, C. Benthin, I. Wald, Watertight Ray/Triangle Intersection, 2013.
// [2] B. Mirtich, Impulse-based Dynamic Simulation of Rigid Body Systems, 1996, section 2.3.
#include "geom/ray_cast.h"

#include "geom/height_field.h"
#include "geom/mesh.h"
#include "geom/surface.h"

enum { ROUNDS_MAX = 1000 };
static const double AIM = 0.92;

/// A ray in a shape's frame; most: length to the closest hit so far.
typedef struct local_ray {
    tn_vec3 from, u;
    double  most;
} local_ray;

/// The part of a ray inside a set: first .. last, entered through a surface with normal n.
typedef struct span {
    double  first, last;
    tn_vec3 n;
} span;

static const span everywhere = {-HUGE_VAL, HUGE_VAL, {0, 0, 0}};
static const span nowhere    = {HUGE_VAL, -HUGE_VAL, {0, 0, 0}};

// ---- Convex shapes -----------------------------------------------------------------------------

// Clips the span by the half space n . p <= offset.
static void cut(span* s, const local_ray* r, tn_vec3 n, double offset)
{
    const double height = tni_dot(n, r->from) - offset, rate = tni_dot(n, r->u);
    if (rate < 0) {
        const double t = height / -rate;
        if (t > s->first) s->first = t, s->n = n;
    } else if (rate > 0) {
        s->last = fmin(s->last, -height / rate);
    } else if (!(height <= 0)) {
        *s = nowhere;
    }
}

static span in_box(const local_ray* r, tn_vec3 half)
{
    span s = everywhere;
    for (int k = 0; k < 3; ++k) {
        const tn_vec3 e = {k == 0, k == 1, k == 2};
        cut(&s, r, e, tni_at(half, k));
        cut(&s, r, tni_neg(e), tni_at(half, k));
    }
    return s;
}

static span in_polytope(const local_ray* r, const tni_polytope* polytope)
{
    span s = everywhere;
    for (int i = 0; i < polytope->face_count; ++i)
        cut(&s, r, polytope->faces[i].n, polytope->faces[i].offset);
    return s;
}

static span in_ball(const local_ray* r, tn_vec3 centre, double radius)
{
    const tn_vec3 o     = tni_sub(r->from, centre);
    const double  t     = -tni_dot(o, r->u);
    const tn_vec3 m     = tni_add_scaled(o, t, r->u);
    const double  inner = radius * radius - tni_dot(m, m);
    if (!(inner >= 0)) return nowhere;
    const double s = sqrt(inner);
    return (span){t - s, t + s, tni_scale(1 / radius, tni_add_scaled(m, -s, r->u))};
}

// The infinite cylinder about z.
static span in_tube(const local_ray* r, double radius)
{
    const tn_vec3 o = {r->from.x, r->from.y, 0}, u = {r->u.x, r->u.y, 0};
    const double  uu = tni_dot(u, u);
    if (!(uu > 1e-200)) return tni_dot(o, o) <= radius * radius ? everywhere : nowhere;
    const double  t     = -tni_dot(o, u) / uu;
    const tn_vec3 m     = tni_add_scaled(o, t, u);
    const double  inner = radius * radius - tni_dot(m, m);
    if (!(inner >= 0)) return nowhere;
    const double s = sqrt(inner / uu);
    return (span){t - s, t + s, tni_scale(1 / radius, tni_add_scaled(m, -s, u))};
}

static span in_cylinder(const local_ray* r, double radius, double half_length)
{
    span s = in_tube(r, radius);
    cut(&s, r, tni_vec3(0, 0, 1), half_length);
    cut(&s, r, tni_vec3(0, 0, -1), half_length);
    return s;
}

static void join(span* a, const span* b)
{
    if (!(b->first <= b->last)) return;
    if (b->first < a->first) a->first = b->first, a->n = b->n;
    a->last = fmax(a->last, b->last);
}

// The parts overlap wherever the ray passes from one into another, so their union is one span.
static span in_capsule(const local_ray* r, double radius, double half_length)
{
    span       s      = nowhere;
    const span tube   = in_cylinder(r, radius, half_length);
    const span top    = in_ball(r, tni_vec3(0, 0, half_length), radius);
    const span bottom = in_ball(r, tni_vec3(0, 0, -half_length), radius);
    join(&s, &top);
    join(&s, &bottom);
    join(&s, &tube);
    return s;
}

static span in_shape(const tni_geometry* g, const local_ray* r)
{
    span s = everywhere;
    switch (g->type) {
    case TN_SHAPE_SPHERE: return in_ball(r, tni_vec3(0, 0, 0), g->radius);
    case TN_SHAPE_BOX: return in_box(r, g->half_size);
    case TN_SHAPE_CAPSULE: return in_capsule(r, g->radius, g->half_length);
    case TN_SHAPE_CYLINDER: return in_cylinder(r, g->radius, g->half_length);
    case TN_SHAPE_CONVEX: return in_polytope(r, g->polytope);
    case TN_SHAPE_PLANE: cut(&s, r, tni_vec3(0, 0, 1), 0); return s;
    default: return nowhere;
    }
}

// ---- Triangles ---------------------------------------------------------------------------------

/// A ray against triangles: axes permuted so that u is longest along the third; the best hit.
typedef struct triangle_ray {
    local_ray           ray;
    int                 k[3];
    double              shear[2];
    bool                both_sides;
    bool                found;
    tni_hit             hit;
    const tni_geometry* surface;
} triangle_ray;

static triangle_ray triangle_ray_of(const local_ray* r)
{
    triangle_ray n = {.ray = *r};
    const double x = fabs(r->u.x), y = fabs(r->u.y), z = fabs(r->u.z);
    n.k[2] = x >= y && x >= z ? 0 : y >= z ? 1 : 2;
    n.k[0] = (n.k[2] + 1) % 3;
    n.k[1] = (n.k[2] + 2) % 3;
    for (int i = 0; i < 2; ++i) n.shear[i] = tni_at(r->u, n.k[i]) / tni_at(r->u, n.k[2]);
    return n;
}

// A corner in the sheared coordinates; the third is along the ray.
static tn_vec3 sheared(const triangle_ray* n, tn_vec3 p)
{
    const tn_vec3 d = tni_sub(p, n->ray.from);
    const double  z = tni_at(d, n->k[2]);
    return tni_vec3(tni_at(d, n->k[0]) - n->shear[0] * z, tni_at(d, n->k[1]) - n->shear[1] * z, z);
}

static double side_of(tn_vec3 a, tn_vec3 b)
{
    return a.x * b.y - a.y * b.x;
}

static tn_vec3 plain_normal(const tn_vec3 v[3])
{
    return tni_normalised(tni_cross(tni_sub(v[1], v[0]), tni_sub(v[2], v[0])));
}

static void intersect_triangle(triangle_ray* n, int triangle)
{
    tn_vec3 corner[3];
    tni_surface_corners(n->surface, triangle, corner);
    const tn_vec3 a = sheared(n, corner[0]), b = sheared(n, corner[1]), c = sheared(n, corner[2]);
    const double  u = side_of(b, c), v = side_of(c, a), w = side_of(a, b);
    if ((u < 0 || v < 0 || w < 0) && (u > 0 || v > 0 || w > 0)) return;
    const double all = u + v + w;
    if (!(fabs(all) > 0)) return; // seen edge on: a neighbour is hit
    const double t = (u * a.z + v * b.z + w * c.z) / all / tni_at(n->ray.u, n->k[2]);
    if (!(t >= 0 && t <= n->ray.most)) return;
    if (n->found && t == n->ray.most && triangle > n->hit.triangle) return;
    tn_vec3 out = plain_normal(corner);
    if (tni_dot(out, n->ray.u) > 0) {
        if (!n->both_sides) return;
        out = tni_neg(out);
    }
    n->found    = true;
    n->ray.most = t;
    n->hit      = (tni_hit){t, out, triangle};
}

static double enters_node(const triangle_ray* n, int node)
{
    return tni_ray_enters(&n->surface->mesh->nodes[node].box, n->ray.from, n->ray.u, n->ray.most);
}

static void through_mesh(triangle_ray* n)
{
    const tni_mesh* mesh = n->surface->mesh;
    struct {
        int    node;
        double t;
    } stack[TNI_MESH_DEPTH_MAX + 2] = {{0, enters_node(n, 0)}};
    for (int depth = 1; depth > 0;) {
        const int            at   = stack[--depth].node;
        const tni_mesh_node* node = &mesh->nodes[at];
        if (!(stack[depth].t <= n->ray.most)) continue;
        for (int i = 0; i < node->count; ++i) intersect_triangle(n, mesh->order[node->first + i]);
        if (node->count > 0) continue;
        const double a = enters_node(n, node->first), b = enters_node(n, node->first + 1);
        const int    far_one = a <= b; // visit the nearer one first
        stack[depth].node = node->first + far_one, stack[depth++].t = far_one ? b : a;
        stack[depth].node = node->first + !far_one, stack[depth++].t = far_one ? a : b;
    }
}

// ---- Height fields -----------------------------------------------------------------------------

static void intersect_cell(triangle_ray* n, int column, int row)
{
    const int cell = row * (n->surface->height_field->columns - 1) + column;
    intersect_triangle(n, 2 * cell);
    intersect_triangle(n, 2 * cell + 1);
}

/// One of the two axes of the grid, in units of cells.
typedef struct grid_axis {
    double from, rate; ///< of the ray
    int    count;      ///< cells
} grid_axis;

static int clamped(double x, int count)
{
    return !(x > 0) ? 0 : x < count - 1 ? (int)x : count - 1;
}

// Walks over the cells of `along` from t0 to t1, and for each over the cells of `across` that the
// ray overlaps, with a margin of 1e-6 for rounding.
static void walk(triangle_ray* n, grid_axis along, grid_axis across, bool by_column, double t0,
                 double t1)
{
    const double margin = 1e-6;
    const bool   up     = along.rate >= 0;
    const double start = along.from + t0 * along.rate, end = along.from + t1 * along.rate;
    const int    first = clamped(start + (up ? -margin : margin), along.count);
    const int    last  = clamped(end + (up ? margin : -margin), along.count);
    for (int i = first; up ? i <= last : i >= last; i += up ? 1 : -1) {
        double in = t0, out = t1;
        if (along.rate != 0) {
            in  = fmax(t0, ((up ? i - margin : i + 1 + margin) - along.from) / along.rate);
            out = fmin(t1, ((up ? i + 1 + margin : i - margin) - along.from) / along.rate);
        }
        if (!(in <= n->ray.most)) return;
        const double a = across.from + in * across.rate, b = across.from + out * across.rate;
        const int    high = clamped(fmax(a, b) + margin, across.count);
        for (int j = clamped(fmin(a, b) - margin, across.count); j <= high; ++j)
            intersect_cell(n, by_column ? i : j, by_column ? j : i);
    }
}

static void through_height_field(triangle_ray* n)
{
    const tni_height_field* f = n->surface->height_field;
    const tn_vec3           o = n->ray.from, u = n->ray.u;
    const int               nx = f->columns - 1, ny = f->rows - 1;
    const double            thick = f->highest - f->lowest, margin = 1e-6 * (thick + f->dx + f->dy);
    const tn_vec3           half = {0.5 * nx * f->dx, 0.5 * ny * f->dy, 0};
    const tni_aabb          box  = {{-half.x - margin, -half.y - margin, f->lowest - margin},
                                    {half.x + margin, half.y + margin, f->highest + margin}};
    const double            t0   = tni_ray_enters(&box, o, u, n->ray.most);
    if (!(t0 <= n->ray.most)) return;
    // The exit: where the reversed ray from beyond enters.
    const double    end  = fmin(n->ray.most, t0 + 4 * (tni_norm(half) + thick + margin));
    const tn_vec3   back = tni_add_scaled(o, end, u);
    const double    left = tni_ray_enters(&box, back, tni_neg(u), end - t0);
    const double    t1   = left <= end - t0 ? end - left : end;
    const grid_axis x    = {o.x / f->dx + 0.5 * nx, u.x / f->dx, nx};
    const grid_axis y    = {o.y / f->dy + 0.5 * ny, u.y / f->dy, ny};
    if (fabs(x.rate) >= fabs(y.rate)) walk(n, x, y, true, t0, t1);
    else walk(n, y, x, false, t0, t1);
}

static bool through_surface(const tni_geometry* g, const local_ray* r, tni_hit* hit)
{
    triangle_ray n = triangle_ray_of(r);
    n.surface      = g;
    if (g->type == TN_SHAPE_MESH) {
        n.both_sides = !g->mesh->closed;
        through_mesh(&n);
    } else {
        through_height_field(&n);
    }
    *hit = n.hit;
    return n.found;
}

bool tni_cast_ray(const tni_geometry* geometry, const tni_pose* pose, tn_vec3 from, tn_vec3 d,
                  double most, tni_hit* hit)
{
    const double size = tni_max_abs(d);
    if (!(size > 0 && size < HUGE_VAL && most >= 0)) return false;
    const tn_vec3 scaled = tni_vec3(d.x / size, d.y / size, d.z / size);
    const double  norm = tni_norm(scaled), length = size * norm;
    local_ray     r;
    r.from = tni_mul_t(&pose->R, tni_sub(from, pose->x));
    r.u    = tni_mul_t(&pose->R, tni_scale(1 / norm, scaled));
    r.most = most * length;
    if (tni_is_surface(geometry->type)) {
        if (!through_surface(geometry, &r, hit)) return false;
    } else {
        const span s = in_shape(geometry, &r);
        if (!(s.first >= 0 && s.first <= s.last && s.first <= r.most)) return false;
        *hit = (tni_hit){s.first, s.n, -1};
    }
    hit->t = fmin(hit->t / length, most);
    hit->n = tni_mul(&pose->R, hit->n);
    return true;
}

// ---- First contact -----------------------------------------------------------------------------

tni_pose tni_rigid_motion_at(const tni_rigid_motion* motion, double t)
{
    const tni_mat3 turned = tni_quat_matrix(tni_quat_exp(tni_scale(t, motion->turn)));
    const tn_vec3  centre =
        tni_add_scaled(tni_pose_point(&motion->start, motion->centre), t, motion->move);
    tni_pose pose;
    pose.R = tni_mat_mul(&turned, &motion->start.R);
    pose.x = tni_sub(centre, tni_mul(&pose.R, motion->centre));
    return pose;
}

// Distance from the axis of rotation, which is fixed in the shape.
static double off_axis(const tni_rigid_motion* m, tn_vec3 axis, tn_vec3 p)
{
    return tni_norm(tni_cross(axis, tni_sub(p, m->centre)));
}

// rho of a shape: largest distance from its axis of rotation.
static double reach_of(const tni_geometry* g, const tni_rigid_motion* m)
{
    const tn_vec3       axis     = tni_normalised(tni_mul_t(&m->start.R, m->turn));
    double              most     = 0;
    const tni_polytope* polytope = tni_polytope_of(g);
    if (polytope != NULL) {
        for (int i = 0; i < polytope->vertex_count; ++i)
            most = fmax(most, off_axis(m, axis, polytope->vertices[i]));
        return most;
    }
    if (!tni_is_convex(g->type)) return tni_extent(g) + tni_norm(m->centre);
    const double end = g->type == TN_SHAPE_SPHERE ? 0 : g->half_length;
    return g->radius +
           fmax(off_axis(m, axis, tni_vec3(0, 0, end)), off_axis(m, axis, tni_vec3(0, 0, -end)));
}

/// Two moving shapes.
typedef struct moving_pair {
    const tni_geometry *    g1, *g2;
    const tni_rigid_motion *m1, *m2;
    double                  rho1, rho2;
    double                  reach;
} moving_pair;

// The gap at t and the largest rate at which it may close.
static double gap_of(const moving_pair* c, double t, double* rate)
{
    const tni_pose    p1 = tni_rigid_motion_at(c->m1, t), p2 = tni_rigid_motion_at(c->m2, t);
    const tni_nearest near = tni_nearest_points(c->g1, &p1, c->g2, &p2);
    *rate                  = tni_dot(near.n, tni_sub(c->m1->move, c->m2->move)) +
            c->rho1 * tni_norm(tni_cross(c->m1->turn, near.n)) +
            c->rho2 * tni_norm(tni_cross(c->m2->turn, near.n));
    return near.gap;
}

// Shape 1 is a plane. A rotating one has a bound on its speed for everything within reach.
static double gap_over_plane(const moving_pair* c, double t, double* rate)
{
    const tni_pose p1 = tni_rigid_motion_at(c->m1, t), p2 = tni_rigid_motion_at(c->m2, t);
    const tn_vec3  n      = tni_column(&p1.R, 2);
    const tn_vec3  low    = tni_support(c->g2, tni_mul_t(&p2.R, tni_neg(n)), NULL);
    const tn_vec3  moving = tni_sub(c->m1->move, c->m2->move);
    const double   turn   = tni_norm(c->m1->turn);
    *rate                 = tni_dot(n, moving) + c->rho2 * tni_norm(tni_cross(c->m2->turn, n));
    if (turn > 0) {
        const tn_vec3 apart =
            tni_sub(tni_pose_point(&p2, c->m2->centre), tni_pose_point(&p1, c->m1->centre));
        *rate = tni_norm(moving) + c->rho2 * tni_norm(c->m2->turn) +
                turn * (tni_norm(apart) + tni_norm(moving) + tni_extent(c->g2) +
                        tni_norm(c->m2->centre));
    }
    return tni_dot(n, tni_sub(tni_pose_point(&p2, low), p1.x)) - tni_round_radius(c->g2);
}

// Conservative advancement up to `until`. True: contact at *t.
static bool advance(const moving_pair* c, double until, double* t)
{
    const bool plane = c->g1->type == TN_SHAPE_PLANE;
    *t               = 0;
    for (int round = 0; round < ROUNDS_MAX; ++round) {
        double       rate;
        const double gap = plane ? gap_over_plane(c, *t, &rate) : gap_of(c, *t, &rate);
        if (!(gap > c->reach)) return true;
        const double way = gap - AIM * c->reach;
        if (!(rate * (until - *t) > way)) return false;
        *t += way / rate;
    }
    return true;
}

/// Shape 1 is a mesh or a height field: the earliest contact with its triangles.
typedef struct earliest {
    moving_pair c;
    bool        found;
    double      t;
} earliest;

// A triangle of a surface as a convex shape.
static void triangle_as_shape(const tni_geometry* g, int index, tni_triangle_shape* shape)
{
    tni_surface_corners(g, index, shape->vertices);
    tni_triangle_shape_make(shape, plain_normal(shape->vertices));
}

static void try_triangle(void* user, int index)
{
    earliest*          e = user;
    tni_triangle_shape shape;
    double             t;
    triangle_as_shape(e->c.g1, index, &shape);
    moving_pair c = e->c;
    c.g1          = &shape.geometry;
    c.rho1        = reach_of(c.g1, c.m1);
    if (!advance(&c, e->t, &t)) return;
    e->t     = t; // not later than the old e->t
    e->found = true;
}

// The box of shape 2's path in the frame of shape 1: a ball around its centre that moves straight,
// enlarged by the rotation of shape 1.
static tni_aabb path_of(const moving_pair* c)
{
    const tni_pose* p1    = &c->m1->start;
    const tn_vec3   moved = tni_sub(c->m2->move, c->m1->move);
    const tn_vec3   apart = tni_sub(tni_pose_point(&c->m2->start, c->m2->centre), p1->x);
    const tn_vec3   a = tni_mul_t(&p1->R, apart), b = tni_add(a, tni_mul_t(&p1->R, moved));
    const double    arm = tni_norm(tni_sub(a, c->m1->centre)) + tni_norm(moved);
    const double    r   = 1.001 * (tni_extent(c->g2) + tni_norm(c->m2->centre) + c->reach +
                              tni_norm(c->m1->turn) * arm);
    return (tni_aabb){{fmin(a.x, b.x) - r, fmin(a.y, b.y) - r, fmin(a.z, b.z) - r},
                      {fmax(a.x, b.x) + r, fmax(a.y, b.y) + r, fmax(a.z, b.z) + r}};
}

static bool touch_surface(const moving_pair* c, double* t)
{
    earliest       e    = {*c, false, 1};
    const tni_aabb path = path_of(c);
    tni_surface_visit(c->g1, &path, try_triangle, &e);
    *t = e.t;
    return e.found;
}

bool tni_first_touch(const tni_geometry* g1, const tni_rigid_motion* m1, const tni_geometry* g2,
                     const tni_rigid_motion* m2, double reach, double* t)
{
    TN_ASSERT(reach > 0);
    if (!tni_is_convex(g2->type)) {
        if (!tni_is_convex(g1->type)) return false;
        return tni_first_touch(g2, m2, g1, m1, reach, t);
    }
    const bool        plane = g1->type == TN_SHAPE_PLANE;
    const moving_pair c = {g1, g2, m1, m2, plane ? 0 : reach_of(g1, m1), reach_of(g2, m2), reach};
    if (plane || tni_is_convex(g1->type)) return advance(&c, 1, t);
    return touch_surface(&c, t);
}

// ---- The closest triangle ----------------------------------------------------------------------

typedef struct nearby {
    const tni_geometry *g1, *g2;
    const tni_pose *    p1, *p2;
    tni_nearest         best;
} nearby;

static void try_nearest(void* user, int index)
{
    nearby*            s = user;
    tni_triangle_shape shape;
    triangle_as_shape(s->g1, index, &shape);
    const tni_nearest found = tni_nearest_points(&shape.geometry, s->p1, s->g2, s->p2);
    if (found.gap < s->best.gap) s->best = found;
}

// Tries the triangles within a distance that is doubled until it is not less than the gap found.
tni_nearest tni_nearest_of_surface(const tni_geometry* g1, const tni_pose* p1,
                                   const tni_geometry* g2, const tni_pose* p2)
{
    nearby         s    = {g1, g2, p1, p2, {.gap = HUGE_VAL}};
    const tni_pose pose = tni_pose_seen(p1, p2);
    const double   size = tni_extent(g2), all = tni_norm(pose.x) + size + tni_extent(g1);
    for (double within = 0.25 * size;; within *= 2) {
        const tni_aabb box = tni_aabb_grown(tni_bounds(g2, &pose), within);
        tni_surface_visit(g1, &box, try_nearest, &s);
        if (s.best.gap <= within || !(within <= all)) return s.best;
    }
}
