// convex_decomposition: approximate decomposition of a closed mesh into few convex pieces.
//
// A part is a set of triangles: the surface on one side of the cuts made so far. Its hull is also
// the hull of the solid on that side: where one or two cuts go through the solid, the clipped
// surface has the corners. Where three meet inside, there is a corner that no triangle has: it is
// found and added. Concavity of a part: the largest depth of its surface below its hull,
//     error = max over p of min over faces f of  o_f - n_f . p,
// over those faces that are not cuts: a thin slice of a ring is far from its hull, which fills the
// hole, however near its surface is to the cuts. Surface that lies in a cut is on the hull.
// Conversely no point of these faces may be further than that from the surface; this is sampled.
// The inner function is concave; over a triangle it is at most min_f max_k (o_f - n_f . v_k), a
// bound that is exact where the triangle lies on the hull. So the maximum is found by branch and
// bound: triangles whose bound is not above the best value found are skipped, others split in four.
//
// Greedy, after [1]: while the part with the largest error is above the tolerance, cut it in two by
// the plane, of some candidates, that minimises
//     (V_1 + V_2 + balance |V_1 - V_2|) / V
// V being the volumes of the hulls. Candidates: through the deepest points, perpendicular to the
// axes of the frame and those of inertia; the planes of triangles around these points; slices at
// equal distances. Then parts are merged while some pair is within the tolerance as one, the best
// pair first; there the whole surface counts, not theirs alone: pieces on two sides of a hole would
// fill it.
//
// Differs from [1]: no tree search over future cuts, and volumes choose the cut, not errors. The
// balance compensates for the first where no single cut gains anything (a ring must be quartered
// before its pieces get better). Candidates are compared on at most SAMPLES triangles. Lengths are
// in units of the mesh's half size. Cost: about a hundred hulls for each cut. A ring of 480
// triangles: 8 pieces within 5 % in 0.1 s; one of 10,000, where samples cannot distinguish first
// cuts, 32 within 10 % in 13 s.
//
// A self-intersecting surface has no such pieces: each cut leaves crossings, and hundreds of pieces
// of eight triangles are still far off. So work is counted, in tests of a point against a plane,
// and limited: cuts times triangles, as many cuts as triangles; for large meshes, where candidates
// are compared on samples and pieces are few, in proportion to them. Meshes that can be decomposed
// took at most four fifths of it, most a third. Parts are merged only when none is left to be cut.
// [1] X. Wei, M. Liu, Z. Ling, H. Su, Approximate Convex Decomposition for 3D Meshes with
//     Collision-Aware Concavity and Tree Search, 2022.
#include "geom/mesh.h"

enum {
    SAMPLES  = 256,
    WORST    = 6,
    FLATS    = 24,
    SLICES   = 7,
    CUTS_MAX = 128,
    LEVELS   = 6,
    FEW      = 24,
    CORNERS  = 512,
    INNER    = 32
};
static const double balance = 1e-3;
// Work allowed for n triangles: work_least + work_each n min(n, work_bend).
static const int64_t work_least = 50000000, work_each = 4000, work_bend = 1024;
static const double  on_cut = 1e-9; // relative to the half size: closer to a plane counts as on it
static const double  in_cut = 1e-7; // the same for faces of a hull

typedef struct plane {
    tn_vec3 n;
    double  offset;
} plane;

/// Work done and its limit, in tests of a point against a plane.
typedef struct work_limit {
    int64_t done, most;
} work_limit;

static bool is_spent(const work_limit* e)
{
    return e->done > e->most;
}

static double over(const plane* p, tn_vec3 x)
{
    return tni_dot(p->n, x) - p->offset;
}

typedef struct part {
    tni_arena   arena; ///< of everything below
    tn_vec3*    soup;  ///< triangles, three points each
    int         count; ///< number of triangles
    tn_vec3*    inner; ///< corners inside the solid, where cuts meet
    int         inner_count;
    tn_vec3*    points;
    int         point_count; ///< corners of the hull
    plane*      faces;       ///< faces of the hull; first those that are not cuts
    int         face_count, uncut_count;
    tn_vec3*    hull_triangles; ///< the triangles of the hull's faces
    plane*      cuts;           ///< planes it was cut by: it is where over() <= 0
    int         cut_count;
    double      volume; ///< of the hull
    double      error;
    bool        done; ///< no cut found
    work_limit* work; ///< shared by all parts
} part;

static part part_make(const tn_host* host, work_limit* work, int triangles, int cuts)
{
    part p = {.arena = tni_arena_make(host), .work = work};
    p.soup = TNI_TAKE(&p.arena, tn_vec3, 3 * (size_t)triangles);
    p.cuts = TNI_TAKE(&p.arena, plane, cuts);
    return p;
}

static void put_cuts(part* p, const part* from)
{
    for (int i = 0; i < from->cut_count; ++i) p->cuts[p->cut_count++] = from->cuts[i];
}

static void put(part* p, tn_vec3 a, tn_vec3 b, tn_vec3 c)
{
    tn_vec3* at = p->soup + 3 * p->count++;
    at[0] = a, at[1] = b, at[2] = c;
}

// ---- Hulls -------------------------------------------------------------------------------------

static void take_corners(part* p, const tni_hull* hull, const tn_vec3* points, bool* used)
{
    for (int f = 0; f < hull->face_count; ++f) {
        for (int k = 0; hull->faces[f].alive && k < 3; ++k) used[hull->faces[f].vertex[k]] = true;
    }
    for (int i = 0; i < hull->point_count; ++i) {
        if (used[i]) p->points[p->point_count++] = points[i];
    }
}

// The normal of a thin triangle of the hull is arbitrary. With the largest offset of all points
// along it, its plane does not cut the hull.
static double offset_of(const part* p, tn_vec3 n)
{
    double most = -HUGE_VAL;
    for (int i = 0; i < p->point_count; ++i) most = fmax(most, tni_dot(n, p->points[i]));
    return most;
}

static bool lies_in(const plane* cut, tn_vec3 a, tn_vec3 b, tn_vec3 c)
{
    return fabs(over(cut, a)) <= in_cut && fabs(over(cut, b)) <= in_cut &&
           fabs(over(cut, c)) <= in_cut;
}

static bool is_cut(const part* p, tn_vec3 a, tn_vec3 b, tn_vec3 c)
{
    for (int i = 0; i < p->cut_count; ++i)
        if (lies_in(&p->cuts[i], a, b, c)) return true;
    return false;
}

static void take_faces(part* p, const tni_hull* hull, const tn_vec3* points, bool cuts)
{
    p->work->done += (int64_t)hull->face_count * (1 + p->cut_count);
    for (int f = 0; f < hull->face_count; ++f) {
        const int* v = hull->faces[f].vertex;
        if (!hull->faces[f].alive || is_cut(p, points[v[0]], points[v[1]], points[v[2]]) != cuts)
            continue;
        const tn_vec3 a = points[v[0]], u = tni_sub(points[v[1]], a), w = tni_sub(points[v[2]], a);
        const tn_vec3 cross = tni_cross(u, w), n = tni_normalised(cross);
        const double  size = fmax(tni_dot(u, u), tni_dot(w, w)), area = tni_norm(cross);
        if (!(area > 0)) continue;
        const double offset         = area > 1e-4 * size ? tni_dot(n, a) : offset_of(p, n);
        tn_vec3*     hull_triangles = p->hull_triangles + 3 * p->face_count;
        hull_triangles[0] = a, hull_triangles[1] = points[v[1]], hull_triangles[2] = points[v[2]];
        p->faces[p->face_count++] = (plane){n, offset};
    }
    if (!cuts) p->uncut_count = p->face_count;
}

// Computes the hull of the points and makes it the part's hull.
static tn_result make_hull(part* p, const tn_vec3* points, int count)
{
    tni_hull hull;
    TRY(tni_hull_create(&p->arena.host, points, count, &hull));
    p->work->done += 2 * hull.tests;
    bool* used        = TNI_TAKE(&p->arena, bool, count);
    p->points         = TNI_TAKE(&p->arena, tn_vec3, count);
    p->faces          = TNI_TAKE(&p->arena, plane, hull.face_count);
    p->hull_triangles = TNI_TAKE(&p->arena, tn_vec3, 3 * (size_t)hull.face_count);
    if (!p->arena.failed) {
        take_corners(p, &hull, points, used);
        take_faces(p, &hull, points, false);
        take_faces(p, &hull, points, true);
        p->volume = tni_hull_moments(&hull, points).volume;
    }
    tni_hull_free(&hull);
    return p->arena.failed ? TN_ERR_MEMORY : TN_OK;
}

// ---- Depth of the surface below the hull -------------------------------------------------------

// The depth of a point, exact if above `enough`; otherwise anything up to that. *hint: face of the
// last result, tested first.
static double depth_of(const part* p, tn_vec3 x, double enough, int* hint)
{
    double depth = -over(&p->faces[*hint], x);
    int    f     = 0;
    for (; f < p->uncut_count && depth > enough; ++f) {
        const double here = -over(&p->faces[f], x);
        if (here < depth) depth = here, *hint = f;
    }
    p->work->done += 1 + f;
    return depth;
}

static double face_bound(const plane* face, const tn_vec3 v[3])
{
    return -fmin(over(face, v[0]), fmin(over(face, v[1]), over(face, v[2])));
}

// An upper bound on the depth over a triangle; enough and hint as above.
static double depth_bound(const part* p, const tn_vec3 v[3], double enough, int* hint)
{
    double bound = face_bound(&p->faces[*hint], v);
    int    f     = 0;
    for (; f < p->uncut_count && bound > enough; ++f) {
        const double here = face_bound(&p->faces[f], v);
        if (here < bound) bound = here, *hint = f;
    }
    p->work->done += 3 * (1 + f);
    return bound;
}

typedef struct deepest {
    double found, proven; ///< largest value found; upper bound
    double resolution;
    int    hint;
} deepest;

static void search(const part* p, const tn_vec3 v[3], int level, deepest* d)
{
    const double bound = depth_bound(p, v, d->found, &d->hint);
    if (bound <= d->proven && bound <= d->found + d->resolution) return;
    const tn_vec3 middle = tni_scale(1.0 / 3, tni_add(v[0], tni_add(v[1], v[2])));
    d->found             = fmax(d->found, depth_of(p, middle, d->found, &d->hint));
    if (level == 0 || bound <= d->found + d->resolution) {
        d->proven = fmax(d->proven, bound);
        return;
    }
    const tn_vec3 m[3] = {tni_scale(0.5, tni_add(v[0], v[1])), tni_scale(0.5, tni_add(v[1], v[2])),
                          tni_scale(0.5, tni_add(v[2], v[0]))};
    const tn_vec3 part4[][3] = {
        {v[0], m[0], m[2]}, {m[0], v[1], m[1]}, {m[2], m[1], v[2]}, {m[0], m[1], m[2]}};
    for (int k = 0; k < 4; ++k) search(p, part4[k], level - 1, d);
}

// True if the triangle lies on a face of the hull that is a cut.
static bool is_on_cut(const part* p, const tn_vec3 v[3])
{
    for (int f = p->uncut_count; f < p->face_count; ++f)
        if (lies_in(&p->faces[f], v[0], v[1], v[2])) return true;
    return false;
}

// True if the triangle is outside the cuts of the hull: it belongs to other parts.
static bool is_beyond(const part* p, const tn_vec3 v[3])
{
    for (int f = p->uncut_count; f < p->face_count; ++f) {
        const plane* face = &p->faces[f];
        if (fmin(over(face, v[0]), fmin(over(face, v[1]), over(face, v[2]))) >= -in_cut)
            return true;
    }
    return false;
}

// Upper bound on the depth of the surface below the hull, within the resolution; stops above the
// limit.
static double error_of(const part* p, const tn_vec3* soup, int count, double resolution,
                       double limit)
{
    deepest d = {.resolution = resolution};
    p->work->done += 6 * (int64_t)count * (1 + p->face_count - p->uncut_count);
    for (int t = 0; t < count && d.found <= limit; ++t) {
        const tn_vec3* v = soup + 3 * t;
        if (p->uncut_count == 0 || is_on_cut(p, v) || is_beyond(p, v)) continue;
        for (int k = 0; k < 3; ++k) d.found = fmax(d.found, depth_of(p, v[k], d.found, &d.hint));
    }
    d.proven = d.found;
    for (int t = 0; t < count && d.found <= limit; ++t) {
        const tn_vec3* v = soup + 3 * t;
        if (p->uncut_count == 0 || is_on_cut(p, v) || is_beyond(p, v)) continue;
        search(p, v, LEVELS, &d);
    }
    return fmax(d.proven, d.found);
}

// ---- Distance of the hull from the surface -----------------------------------------------------

static double segment_distance(tn_vec3 a, tn_vec3 b, tn_vec3 x)
{
    const tn_vec3 d = tni_sub(b, a), w = tni_sub(x, a);
    const double  l = tni_dot(d, d), t = l > 0 ? fmin(fmax(tni_dot(w, d) / l, 0), 1) : 0;
    return tni_norm(tni_add_scaled(w, -t, d));
}

static double triangle_distance(const tn_vec3 v[3], tn_vec3 x)
{
    const tn_vec3 n       = tni_normalised(tni_cross(tni_sub(v[1], v[0]), tni_sub(v[2], v[0])));
    double        least   = HUGE_VAL;
    bool          over_it = true;
    for (int k = 0; k < 3; ++k) {
        const tn_vec3 a = v[k], b = v[(k + 1) % 3];
        if (tni_dot(tni_cross(n, tni_sub(b, a)), tni_sub(x, a)) < 0) over_it = false;
        least = fmin(least, segment_distance(a, b, x));
    }
    return over_it ? fabs(tni_dot(n, tni_sub(x, v[0]))) : least;
}

// Exact if above `enough`, as depth_of().
static double distance_of(const tn_vec3* soup, int count, tn_vec3 x, double enough, int* hint,
                          work_limit* work)
{
    double least = triangle_distance(soup + 3 * *hint, x);
    int    t     = 0;
    for (; t < count && least > enough; ++t) {
        const double here = triangle_distance(soup + 3 * t, x);
        if (here < least) least = here, *hint = t;
    }
    work->done += 12 * (1 + t);
    return least;
}

typedef struct farthest {
    const tn_vec3* soup;
    int            count, hint;
    double         found;
    double         fine; ///< smaller triangles are not sampled: their corners are on the surface
    work_limit*    work;
} farthest;

static void sample_distance(const tn_vec3 v[3], int level, farthest* f)
{
    const double size =
        fmax(tni_max_abs(tni_sub(v[1], v[0])),
             fmax(tni_max_abs(tni_sub(v[2], v[1])), tni_max_abs(tni_sub(v[0], v[2]))));
    if (level == 0 || !(size > f->fine)) return;
    const tn_vec3 middle = tni_scale(1.0 / 3, tni_add(v[0], tni_add(v[1], v[2])));
    f->found = fmax(f->found, distance_of(f->soup, f->count, middle, f->found, &f->hint, f->work));
    const tn_vec3 m[3] = {tni_scale(0.5, tni_add(v[0], v[1])), tni_scale(0.5, tni_add(v[1], v[2])),
                          tni_scale(0.5, tni_add(v[2], v[0]))};
    const tn_vec3 part4[][3] = {
        {v[0], m[0], m[2]}, {m[0], v[1], m[1]}, {m[2], m[1], v[2]}, {m[0], m[1], m[2]}};
    for (int k = 0; k < 4; ++k) sample_distance(part4[k], level - 1, f);
}

// The largest distance of the hull, except its cuts, from the surface, by sampling: a thin disc
// over a hole has its surface near, but the middle of the hole is not. Stops above the limit.
static double hull_distance(const part* p, const tn_vec3* soup, int count, double fine,
                            double limit)
{
    farthest f = {.soup = soup, .count = count, .found = 1e-9, .fine = fine, .work = p->work};
    for (int i = 0; i < p->uncut_count && f.found <= limit; ++i)
        sample_distance(p->hull_triangles + 3 * i, 4, &f);
    return f.found > 1e-9 ? f.found : 0;
}

// ---- Cutting -----------------------------------------------------------------------------------

static double snapped(double height)
{
    return fabs(height) <= on_cut ? 0 : height;
}

static tn_vec3 crossing(tn_vec3 a, double ha, tn_vec3 b, double hb)
{
    return tni_add_scaled(a, ha / (ha - hb), tni_sub(b, a));
}

// Clips a triangle to the side where side * height >= 0; returns the number of corners, 0 to 4.
static int clip(const tn_vec3 v[3], const double height[3], double side, tn_vec3 out[4])
{
    int count = 0;
    for (int k = 0; k < 3; ++k) {
        const int    l = (k + 1) % 3;
        const double a = side * height[k], b = side * height[l];
        if (a >= 0) out[count++] = v[k];
        if ((a > 0 && b < 0) || (a < 0 && b > 0)) out[count++] = crossing(v[k], a, v[l], b);
    }
    return count;
}

// Clips a triangle to one side of a cut. One that lies in it belongs to the side of the solid.
static int clip_triangle(const tn_vec3 v[3], const plane* cut, double side, tn_vec3 out[4])
{
    double height[3];
    for (int k = 0; k < 3; ++k) height[k] = snapped(over(cut, v[k]));
    const double most  = fmax(height[0], fmax(height[1], height[2])),
                 least = fmin(height[0], fmin(height[1], height[2]));
    if (most == 0 && least == 0) {
        const tn_vec3 n = tni_cross(tni_sub(v[1], v[0]), tni_sub(v[2], v[0]));
        if (side * tni_dot(n, cut->n) >= 0) return 0;
    } else if ((side > 0 && most == 0) || (side < 0 && least == 0)) {
        return 0; // touches it with a corner or an edge only
    }
    return clip(v, height, side, out);
}

// ---- Corners where cuts meet inside ------------------------------------------------------------

// True if x is inside the closed surface: counts crossings of a ray in a generic direction.
static bool is_inside(const tn_vec3* soup, int count, tn_vec3 x)
{
    static const tn_vec3 ray       = {0.5377, 0.2871, 0.7933};
    int                  crossings = 0;
    for (int t = 0; t < count; ++t) {
        const tn_vec3 a = tni_sub(soup[3 * t], x), b = tni_sub(soup[3 * t + 1], x),
                      c = tni_sub(soup[3 * t + 2], x);
        const double u = tni_dot(ray, tni_cross(b, c)), v = tni_dot(ray, tni_cross(c, a)),
                     w = tni_dot(ray, tni_cross(a, b));
        const bool out = u >= 0 && v >= 0 && w >= 0, in = u < 0 && v < 0 && w < 0;
        if ((out || in) && tni_dot(a, tni_cross(b, c)) * (u + v + w) > 0) crossings += out ? 1 : -1;
    }
    return crossings > 0;
}

static bool is_within(const part* p, tn_vec3 x)
{
    for (int k = 0; k < p->cut_count; ++k)
        if (!(over(&p->cuts[k], x) <= on_cut)) return false;
    return true;
}

// Intersects the cut with the part's cuts i and j; true if that is a corner of the part: there is
// solid next to it, inside all three.
static bool is_corner(const part* p, int i, int j, const plane* cut, const tn_vec3* whole,
                      int whole_count, tn_vec3* x)
{
    static const double steps[7][3] = {{1, 1, 1},   {1, 0.1, 0.1}, {0.1, 1, 0.1}, {0.1, 0.1, 1},
                                       {1, 1, 0.1}, {1, 0.1, 1},   {0.1, 1, 1}};
    const plane *       a = &p->cuts[i], *b = &p->cuts[j];
    const tni_mat3      rows = tni_columns(a->n, b->n, cut->n), N = tni_transposed(&rows);
    if (!(fabs(tni_det(&N)) > 1e-6)) return false;
    *x = tni_solve3(&N, tni_vec3(a->offset, b->offset, cut->offset));
    p->work->done += p->cut_count;
    for (int k = 0; is_within(p, *x) && k < 7; ++k) {
        p->work->done += 4 * (int64_t)whole_count;
        const tn_vec3 into = tni_solve3(&N, tni_read3(steps[k]));
        if (is_inside(whole, whole_count, tni_add_scaled(*x, -1e-6, into))) return true;
    }
    return false;
}

static plane facing(const plane* cut, double side)
{
    return (plane){tni_scale(-side, cut->n), -side * cut->offset};
}

// Corners of a part where the cut meets two older ones inside the solid: no triangle has them.
static int inner_corners(const part* from, const plane* cut, double side, const tn_vec3* whole,
                         int whole_count, tn_vec3* corners)
{
    const plane own   = facing(cut, side);
    int         count = 0;
    tn_vec3     x;
    for (int i = 0; i < from->cut_count && !is_spent(from->work); ++i) {
        for (int j = 0; j < i && count < INNER; ++j) {
            if (is_corner(from, i, j, &own, whole, whole_count, &x)) corners[count++] = x;
        }
    }
    return count;
}

// Candidate planes of a cut, and scratch for the points on one side of them.
typedef struct cutter {
    plane          cuts[CUTS_MAX];
    int            cut_count;
    tn_vec3*       points; ///< scratch: clipped samples
    const tn_vec3* whole;  ///< the whole surface
    int            whole_count;
} cutter;

static void take_inner(part* p, const part* from, const plane* cut, double side, const cutter* k)
{
    p->inner = TNI_TAKE(&p->arena, tn_vec3, from->inner_count + INNER);
    if (p->inner == NULL) return;
    for (int i = 0; i < from->inner_count; ++i)
        if (side * over(cut, from->inner[i]) >= -on_cut)
            p->inner[p->inner_count++] = from->inner[i];
    p->inner_count +=
        inner_corners(from, cut, side, k->whole, k->whole_count, p->inner + p->inner_count);
}

static part cut_off(const part* from, const plane* cut, double side, const cutter* k)
{
    part    p = part_make(&from->arena.host, from->work, 2 * from->count, from->cut_count + 1);
    tn_vec3 out[4];
    if (p.arena.failed) return p;
    put_cuts(&p, from);
    p.cuts[p.cut_count++] = facing(cut, side);
    for (int t = 0; t < from->count; ++t) {
        const int count = clip_triangle(from->soup + 3 * t, cut, side, out);
        if (count >= 3) put(&p, out[0], out[1], out[2]);
        if (count == 4) put(&p, out[0], out[2], out[3]);
    }
    take_inner(&p, from, cut, side, k);
    return p;
}

static int points_beside(const part* p, int stride, const plane* cut, double side, tn_vec3* points)
{
    int     n = 0;
    tn_vec3 out[4];
    for (int t = 0; t < p->count; t += stride) {
        const int count = clip_triangle(p->soup + 3 * t, cut, side, out);
        for (int k = 0; k < count; ++k) points[n++] = out[k];
    }
    for (int i = 0; i < p->point_count; i += 1 + p->point_count / CORNERS)
        if (side * over(cut, p->points[i]) > on_cut) points[n++] = p->points[i];
    return n;
}

// Volume of the hull on one side of a cut; 0 if it is flat or empty.
static tn_result volume_beside(const part* p, const cutter* k, const plane* cut, double side,
                               double* volume)
{
    const int stride = 1 + p->count / SAMPLES;
    int       count  = points_beside(p, stride, cut, side, k->points);
    p->work->done += 3 * (p->count / stride) + 8 * count; // clipping, and the first corners
    tni_hull hull;
    count += inner_corners(p, cut, side, k->whole, k->whole_count, k->points + count);
    const tn_result result = tni_hull_create(&p->arena.host, k->points, count, &hull);
    *volume                = 0;
    if (result == TN_ERR_MODEL) return TN_OK;
    if (result != TN_OK) return result;
    *volume = tni_hull_moments(&hull, k->points).volume;
    p->work->done += 2 * hull.tests;
    tni_hull_free(&hull);
    return TN_OK;
}

// ---- Candidate planes --------------------------------------------------------------------------

static void add_cut(cutter* k, tn_vec3 n, tn_vec3 through)
{
    const plane cut = {n, tni_dot(n, through)};
    if (k->cut_count == CUTS_MAX || !(tni_dot(n, n) > 0.5)) return;
    for (int i = 0; i < k->cut_count; ++i) {
        const double side = tni_dot(k->cuts[i].n, n);
        if (fabs(side) > 1 - 1e-9 && fabs(k->cuts[i].offset - side * cut.offset) < 1e-6) return;
    }
    k->cuts[k->cut_count++] = cut;
}

// Axes of inertia of the triangles' corners, as columns.
static tni_mat3 main_axes(const part* p)
{
    tn_vec3  middle = {0};
    tni_mat3 S      = {{0}}, axes;
    for (int i = 0; i < 3 * p->count; ++i) middle = tni_add(middle, p->soup[i]);
    middle = tni_scale(1 / (3.0 * p->count), middle);
    for (int i = 0; i < 3 * p->count; ++i) {
        const tn_vec3 d    = tni_sub(p->soup[i], middle);
        const double  x[3] = {d.x, d.y, d.z};
        for (int j = 0; j < 9; ++j) S.m[j] += x[j / 3] * x[j % 3];
    }
    (void)tni_symmetric_eigen(&S, &axes);
    return axes;
}

// Corners, edge midpoints and centre of a triangle: a concavity between two planes is deepest
// there.
static tn_vec3 sample(const tn_vec3 v[3], int k)
{
    if (k < 3) return v[k];
    if (k < 6) return tni_scale(0.5, tni_add(v[k - 3], v[(k - 2) % 3]));
    return tni_scale(1.0 / 3, tni_add(v[0], tni_add(v[1], v[2])));
}

static bool is_among(const tn_vec3* points, int count, tn_vec3 x)
{
    for (int i = 0; i < count; ++i)
        if (tni_max_abs(tni_sub(points[i], x)) < 1e-6) return true;
    return false;
}

// The deepest samples of the surface, at different places; returns how many.
static int find_worst(const part* p, tn_vec3 worst[WORST])
{
    int    count = 0, hint = 0;
    bool   skip = false;
    double depth[WORST];
    p->work->done += 3 * (int64_t)p->count * (p->face_count - p->uncut_count);
    for (int i = 0; p->uncut_count > 0 && i < 7 * p->count; ++i) {
        if (i % 7 == 0) skip = is_on_cut(p, p->soup + 3 * (i / 7));
        if (skip) continue;
        const tn_vec3 x      = sample(p->soup + 3 * (i / 7), i % 7);
        const double  enough = count == WORST ? depth[WORST - 1] : 1e-6;
        const double  d      = depth_of(p, x, enough, &hint);
        if (!(d > enough)) continue;
        if (is_among(worst, count, x)) continue;
        int at = count < WORST ? count++ : WORST - 1;
        for (; at > 0 && depth[at - 1] < d; --at)
            depth[at] = depth[at - 1], worst[at] = worst[at - 1];
        depth[at] = d;
        worst[at] = x;
    }
    return count;
}

static void add_flats(cutter* k, const part* p, tn_vec3 at)
{
    const int most = k->cut_count + FLATS / WORST;
    p->work->done += 7 * (int64_t)p->count;
    for (int t = 0; t < p->count && k->cut_count < most; ++t) {
        const tn_vec3* v = p->soup + 3 * t;
        for (int j = 0; j < 7; ++j) {
            if (tni_max_abs(tni_sub(sample(v, j), at)) > 1e-9) continue;
            add_cut(k, tni_normalised(tni_cross(tni_sub(v[1], v[0]), tni_sub(v[2], v[0]))), at);
        }
    }
}

static void add_slices(cutter* k, const part* p, tn_vec3 n)
{
    double lower = HUGE_VAL, upper = -HUGE_VAL;
    for (int i = 0; i < p->point_count; ++i) {
        lower = fmin(lower, tni_dot(n, p->points[i]));
        upper = fmax(upper, tni_dot(n, p->points[i]));
    }
    for (int i = 1; i <= SLICES; ++i)
        add_cut(k, n, tni_scale(lower + (upper - lower) * i / (SLICES + 1), n));
}

static void find_cuts(cutter* k, const part* p)
{
    const tni_mat3 frames[2] = {tni_identity3(), main_axes(p)};
    tn_vec3        worst[WORST];
    const int      count = find_worst(p, worst);
    k->cut_count         = 0;
    for (int i = 0; i < count; ++i) {
        add_flats(k, p, worst[i]);
        for (int j = 0; j < 6; ++j) add_cut(k, tni_column(&frames[j / 3], j % 3), worst[i]);
    }
    for (int j = 0; j < 6; ++j) add_slices(k, p, tni_column(&frames[j / 3], j % 3));
}

// *best: -1 if no plane has volume on both sides.
static tn_result choose_cut(const part* p, const cutter* k, int* best)
{
    double least = HUGE_VAL;
    *best        = -1;
    for (int i = 0; i < k->cut_count && !is_spent(p->work); ++i) {
        double          left, right;
        const plane*    cut    = &k->cuts[i];
        const tn_result first  = volume_beside(p, k, cut, 1, &left);
        const tn_result second = volume_beside(p, k, cut, -1, &right);
        if (first != TN_OK || second != TN_OK) return TN_ERR_MEMORY;
        if (!(left > 0) || !(right > 0)) continue;
        const double cost = left + right + balance * fabs(left - right);
        if (cost < least * (1 - 1e-9)) least = cost, *best = i;
    }
    return TN_OK;
}

// ---- The list of parts -------------------------------------------------------------------------

typedef struct decomposition {
    tn_host     host;
    tn_vec3*    soup; ///< the whole surface
    int         triangle_count;
    part*       parts;
    int         count, most;
    double      tolerance; ///< in half sizes
    double      resolution;
    work_limit* work;
} decomposition;

static tn_result measure(const decomposition* c, part* p)
{
    if (p->arena.failed) return TN_ERR_MEMORY;
    const int count  = 3 * p->count + p->inner_count;
    tn_vec3*  points = TNI_TAKE(&p->arena, tn_vec3, count);
    if (points == NULL) return TN_ERR_MEMORY;
    memcpy(points, p->soup, sizeof *points * 3 * (size_t)p->count);
    for (int i = 0; i < p->inner_count; ++i) points[3 * p->count + i] = p->inner[i];
    TRY(make_hull(p, points, count));
    p->error = error_of(p, p->soup, p->count, c->resolution, HUGE_VAL);
    p->error = fmax(p->error, hull_distance(p, p->soup, p->count, c->tolerance, HUGE_VAL));
    return TN_OK;
}

static tn_result cut_part(decomposition* c, int index, cutter* k)
{
    part* p = &c->parts[index];
    int   best;
    find_cuts(k, p);
    tn_result result = choose_cut(p, k, &best);
    p->done          = true; // unless it succeeds below
    if (result != TN_OK || best < 0 || is_spent(c->work)) return result;
    part left = cut_off(p, &k->cuts[best], 1, k), right = cut_off(p, &k->cuts[best], -1, k);
    result = measure(c, &left);
    if (result == TN_OK) result = measure(c, &right);
    if (result != TN_OK) {
        tni_arena_free(&left.arena);
        tni_arena_free(&right.arena);
        return result == TN_ERR_MODEL ? TN_OK : result; // no volume: leave it as it is
    }
    tni_arena_free(&p->arena);
    *p                   = left;
    c->parts[c->count++] = right;
    return TN_OK;
}

static int worst_part(const decomposition* c)
{
    int worst = -1;
    for (int i = 0; i < c->count; ++i) {
        const part* p = &c->parts[i];
        if (p->done || !(p->error > c->tolerance)) continue;
        if (worst < 0 || p->error > c->parts[worst].error) worst = i;
    }
    return worst;
}

static tn_result cut_all(decomposition* c)
{
    tni_arena arena = tni_arena_make(&c->host);
    cutter*   k     = TNI_TAKE(&arena, cutter, 1);
    if (k != NULL) k->whole = c->soup, k->whole_count = c->triangle_count;
    if (k != NULL) k->points = TNI_TAKE(&arena, tn_vec3, 4 * (SAMPLES + 1) + CORNERS + INNER);
    tn_result result = arena.failed ? TN_ERR_MEMORY : TN_OK;
    for (int i; result == TN_OK && c->count < c->most && (i = worst_part(c)) >= 0;) {
        result = cut_part(c, i, k);
        if (is_spent(c->work)) break;
    }
    tni_arena_free(&arena);
    return result;
}

// ---- Merging -----------------------------------------------------------------------------------

// The hull of both parts, with its error: the depth of the whole surface below it, since it may
// reach over other parts.
static tn_result merge_hulls(const decomposition* c, const part* a, const part* b, part* joined)
{
    const int count = a->point_count + b->point_count;
    *joined         = part_make(&c->host, c->work, 0, a->cut_count + b->cut_count);
    tn_vec3* points = TNI_TAKE(&joined->arena, tn_vec3, count);
    if (joined->arena.failed) return TN_ERR_MEMORY;
    put_cuts(joined, a);
    put_cuts(joined, b);
    memcpy(points, a->points, sizeof *points * (size_t)a->point_count);
    memcpy(points + a->point_count, b->points, sizeof *points * (size_t)b->point_count);
    const tn_result result = make_hull(joined, points, count);
    if (result != TN_OK) return TN_ERR_MEMORY; // each has volume, so both have
    joined->error = error_of(joined, c->soup, c->triangle_count, c->resolution, c->tolerance);
    if (joined->error > c->tolerance) return TN_OK;
    const double span =
        hull_distance(joined, c->soup, c->triangle_count, c->tolerance, c->tolerance);
    joined->error = fmax(joined->error, span);
    return TN_OK;
}

// True if two parts may be merged. Few parts are all tried: opposite arms of a cross are one bar.
static bool are_near(const decomposition* c, const part* a, const part* b)
{
    if (c->count <= FEW) return true;
    for (int k = 0; k < 3; ++k) {
        double lower[2] = {HUGE_VAL, HUGE_VAL}, upper[2] = {-HUGE_VAL, -HUGE_VAL};
        for (int side = 0; side < 2; ++side) {
            const part* p = side == 0 ? a : b;
            for (int i = 0; i < p->point_count; ++i) {
                lower[side] = fmin(lower[side], tni_at(p->points[i], k));
                upper[side] = fmax(upper[side], tni_at(p->points[i], k));
            }
        }
        if (lower[0] > upper[1] + c->tolerance || lower[1] > upper[0] + c->tolerance) return false;
    }
    return true;
}

// Errors of part i merged with parts `first` and later; HUGE_VAL: too large.
static tn_result try_pairs(const decomposition* c, int i, int first, double* errors)
{
    for (int j = first; j < c->count; ++j) {
        part joined = {.error = HUGE_VAL};
        if (j != i && !is_spent(c->work) && are_near(c, &c->parts[i], &c->parts[j])) {
            const tn_result result = merge_hulls(c, &c->parts[i], &c->parts[j], &joined);
            tni_arena_free(&joined.arena);
            if (result != TN_OK) return result;
        }
        const double error      = joined.error <= c->tolerance ? joined.error : HUGE_VAL;
        errors[i * c->most + j] = errors[j * c->most + i] = error;
    }
    return TN_OK;
}

// The pair with the least error; false if none is within the tolerance.
static bool best_pair(const decomposition* c, const double* errors, int* first, int* second)
{
    double least = HUGE_VAL;
    for (int i = 0; i < c->count; ++i) {
        for (int j = i + 1; j < c->count; ++j) {
            if (!(errors[i * c->most + j] < least)) continue;
            least = errors[i * c->most + j], *first = i, *second = j;
        }
    }
    return least < HUGE_VAL;
}

// Merges parts i and j into i; the last part moves to j.
static tn_result merge_parts(decomposition* c, int i, int j, double* errors)
{
    part            joined;
    const int       last   = c->count - 1;
    const tn_result result = merge_hulls(c, &c->parts[i], &c->parts[j], &joined);
    if (result != TN_OK) {
        tni_arena_free(&joined.arena);
        return result;
    }
    tni_arena_free(&c->parts[i].arena);
    tni_arena_free(&c->parts[j].arena);
    c->parts[i] = joined;
    c->parts[j] = c->parts[last]; // j > i; no change if j is the last
    for (int k = 0; k < last; ++k)
        errors[j * c->most + k] = errors[k * c->most + j] = errors[last * c->most + k];
    errors[j * c->most + j] = HUGE_VAL;
    --c->count;
    return try_pairs(c, i, 0, errors);
}

static tn_result merge_all(decomposition* c)
{
    tni_arena arena  = tni_arena_make(&c->host);
    double*   errors = TNI_TAKE(&arena, double, (size_t)c->most*(size_t)c->most);
    tn_result result = errors != NULL ? TN_OK : TN_ERR_MEMORY;
    for (int i = 0; result == TN_OK && i < c->count; ++i) result = try_pairs(c, i, i, errors);
    for (int i = 0, j = 0; result == TN_OK && !is_spent(c->work) && best_pair(c, errors, &i, &j);)
        result = merge_parts(c, i, j, errors);
    tni_arena_free(&arena);
    return result;
}

// ---- Entry -------------------------------------------------------------------------------------

// Reverses the triangles of a mesh that is inside out.
static void orient_outward(part* p)
{
    tni_moments sums = {0};
    for (int t = 0; t < p->count; ++t)
        tni_moments_add(&sums, p->soup[3 * t], p->soup[3 * t + 1], p->soup[3 * t + 2]);
    for (int t = 0; sums.volume < 0 && t < p->count; ++t) {
        const tn_vec3 swapped = p->soup[3 * t + 1];
        p->soup[3 * t + 1]    = p->soup[3 * t + 2];
        p->soup[3 * t + 2]    = swapped;
    }
}

// Makes the first part of the whole mesh, scaled, and keeps the surface for comparison.
static tn_result begin(decomposition* c, tni_arena* arena, const tni_mesh* mesh, tn_vec3 middle,
                       double size)
{
    const size_t count = 3 * (size_t)mesh->triangle_count;
    part*        p     = &c->parts[0];
    c->soup            = TNI_TAKE(arena, tn_vec3, count);
    *p                 = part_make(&c->host, c->work, mesh->triangle_count, 0);
    c->count           = 1;
    if (arena->failed || p->arena.failed) return TN_ERR_MEMORY;
    for (size_t i = 0; i < count; ++i) {
        const tn_vec3 d = tni_sub(mesh->vertices[mesh->triangles[i]], middle);
        p->soup[i]      = tni_vec3(d.x / size, d.y / size, d.z / size);
    }
    p->count = c->triangle_count = mesh->triangle_count;
    orient_outward(p);
    memcpy(c->soup, p->soup, sizeof(tn_vec3) * count);
    return measure(c, p);
}

static tn_result copy_pieces(tni_arena* arena, const decomposition* c, tn_vec3 middle, double size,
                             tni_convex_pieces* pieces)
{
    int total = 0;
    for (int i = 0; i < c->count; ++i) total += c->parts[i].point_count;
    int*     start  = TNI_TAKE(arena, int, c->count + 1);
    tn_vec3* points = TNI_TAKE(arena, tn_vec3, total);
    if (arena->failed) return TN_ERR_MEMORY;
    *pieces = (tni_convex_pieces){.count = c->count, .start = start, .points = points};
    for (int i = 0, n = 0; i < c->count; ++i) {
        const part* p = &c->parts[i];
        for (int k = 0; k < p->point_count; ++k)
            points[n++] = tni_add_scaled(middle, size, p->points[k]);
        start[i + 1]  = n;
        pieces->error = fmax(pieces->error, size * p->error);
    }
    return TN_OK;
}

static int64_t allowed(int triangles)
{
    return work_least + work_each * triangles * (triangles < work_bend ? triangles : work_bend);
}

tn_result tni_mesh_convex_pieces(tni_arena* arena, const tni_mesh* mesh, double tolerance, int most,
                                 tni_convex_pieces* pieces)
{
    tn_vec3       middle;
    const double  size = tni_points_extent(mesh->vertices, mesh->vertex_count, &middle);
    tni_arena     list = tni_arena_make(&arena->host);
    work_limit    work = {.most = allowed(mesh->triangle_count)};
    decomposition c    = {.host       = arena->host,
                          .work       = &work,
                          .most       = most > 1 ? most : 1,
                          .tolerance  = fmax(tolerance / size, 1e-8), // the grid of the hull
                          .resolution = fmax(tolerance / size, 1e-6) / 20};
    *pieces            = (tni_convex_pieces){0};
    c.parts            = TNI_TAKE(&list, part, c.most);
    tn_result result   = c.parts != NULL ? begin(&c, &list, mesh, middle, size) : TN_ERR_MEMORY;
    if (result == TN_OK) result = cut_all(&c);
    if (result == TN_OK && worst_part(&c) < 0) result = merge_all(&c);
    if (result == TN_OK) result = copy_pieces(arena, &c, middle, size, pieces);
    for (int i = 0; i < c.count; ++i) tni_arena_free(&c.parts[i].arena);
    tni_arena_free(&list);
    pieces->work = work.done;
    return result;
}
