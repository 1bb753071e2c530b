// gjk: distance of two convex sets from their support mappings.
//
// With y = b - a, a in core 1 and b in core 2, the distance is that of the origin to the convex set
// of all y (the Minkowski difference). A simplex of at most four of them is kept, support points of
// previous directions v [1]:
//     v   = the point nearest to the origin of the simplex, reduced to the face that has it,
//     w   = the y with the least v . y;      v . w / |v| <= distance <= |v|.
// w joins the simplex, and |v| decreases, until both bounds agree to rounding, or w is already in
// the simplex, or |v| does not decrease any more. The nearest point of a simplex is found by
// testing all faces that contain the newest point, the others being known not to have it: at most
// 7, and none is decided by the sign of a nearly zero number alone, since a face that is too thin
// is left to its edges. This gives the result of [2] with a few more operations but without wrong
// decisions.
//
// Everything is computed in the frame of shape 1: its faces and edges are exact there, and distance
// from the world's origin costs no digits. On a triangle v is along the cross product of the edges,
// so that n is accurate also if the gap is 1e-9 of the sizes; on an edge or a vertex it is a
// difference of points, and n has what remains of their digits. Then a face of either shape that
// gives the same gap to rounding determines n: boxes that rest flat on each other.
//
// If the tetrahedron contains the origin the cores overlap (also if |v| is below TOUCH of the
// size), unless some v . w was positive, which proves separation. Then epa.c finds the depth.
//
// Polytopes terminate after a few iterations, exact to rounding. On rims of cylinders v converges,
// the gap to 1e-14 of the sizes, n to the square root of that.
// [1] E. Gilbert, D. Johnson, S. Keerthi, A Fast Procedure for Computing the Distance, 1988.
// [2] M. Montanari, N. Petrinic, E. Barbieri, Improving the GJK Algorithm, 2017.
#include "geom/gjk.h"

#include "geom/epa.h"

enum { ROUNDS_MAX = 128 };
static const double TOUCH = 1e-14, ENOUGH = 1e-15, THIN = 1e-13;

tni_difference tni_support_difference(const tni_cores* c, tn_vec3 n)
{
    tni_difference w;
    w.a             = tni_support(c->g1, n, &w.f1);
    const tn_vec3 b = tni_support(c->g2, tni_mul_t(&c->R, tni_neg(n)), &w.f2);
    w.y             = tni_sub(tni_add(c->t, tni_mul(&c->R, b)), w.a);
    return w;
}

// ---- Nearest points of simplices ---------------------------------------------------------------

typedef struct simplex {
    int            count;
    tni_difference p[4];
    double         share[4]; ///< barycentric coordinates: v = sum share y
    tn_vec3        v;
    double         length; ///< of v
} simplex;

static bool nearest_of_edge(simplex* s)
{
    const tn_vec3 a = s->p[0].y, e = tni_sub(s->p[1].y, a);
    const double  ee = tni_dot(e, e), t = -tni_dot(a, e) / ee;
    if (!(t > 0 && t < 1)) return false;
    const tn_vec3 v = tni_add_scaled(a, t, e);
    s->v            = tni_add_scaled(v, -tni_dot(v, e) / ee, e); // orthogonal to e in all digits
    s->share[0] = 1 - t, s->share[1] = t;
    return true;
}

// The corner opposite to the longest edge: its edges determine the normal best.
static int blunt_corner(const simplex* s)
{
    int    best = 0;
    double most = -1;
    for (int k = 0; k < 3; ++k) {
        const tn_vec3 e = tni_sub(s->p[(k + 1) % 3].y, s->p[(k + 2) % 3].y);
        if (tni_dot(e, e) > most) most = tni_dot(e, e), best = k;
    }
    return best;
}

static bool nearest_of_triangle(simplex* s)
{
    const int     k  = blunt_corner(s);
    const tn_vec3 a  = s->p[k].y;
    const tn_vec3 ab = tni_sub(s->p[(k + 1) % 3].y, a), ac = tni_sub(s->p[(k + 2) % 3].y, a);
    const tn_vec3 n  = tni_cross(ab, ac);
    const double  nn = tni_dot(n, n);
    if (!(nn > THIN * THIN * tni_dot(ab, ab) * tni_dot(ac, ac))) return false;
    s->v = tni_scale(tni_dot(n, a) / nn, n);
    // v - a as a combination of ab and ac: a small coefficient of a long edge is accurate to
    // rounding, and an error in the coefficient of a short one has little effect.
    const tn_vec3 av      = tni_sub(s->v, a);
    const double  to_b    = tni_dot(n, tni_cross(av, ac)) / nn,
                 to_c     = tni_dot(n, tni_cross(ab, av)) / nn;
    s->share[k]           = 1 - to_b - to_c;
    s->share[(k + 1) % 3] = to_b;
    s->share[(k + 2) % 3] = to_c;
    return to_b > 0 && to_c > 0 && s->share[k] > 0;
}

static bool holds_origin(const simplex* s)
{
    const tn_vec3 w    = s->p[3].y;
    const tn_vec3 u[3] = {tni_sub(s->p[0].y, w), tni_sub(s->p[1].y, w), tni_sub(s->p[2].y, w)};
    double volume = tni_dot(u[0], tni_cross(u[1], u[2])), rest = volume, sign = volume > 0 ? 1 : -1;
    for (int k = 0; k < 3; ++k) {
        const double part = -tni_dot(w, tni_cross(u[(k + 1) % 3], u[(k + 2) % 3]));
        if (!(sign * part >= 0)) return false;
        rest -= part;
    }
    return volume != 0 && sign * rest >= 0;
}

// The face of s nearest to the origin, of those with its last point. False: none is valid, because
// of rounding. A tetrahedron around the origin gives v = 0.
static bool reduce(const simplex* s, simplex* best)
{
    static const int masks[8] = {0, 1, 2, 4, 3, 5, 6, 7}; // small faces first
    const int        others   = s->count - 1;
    best->count               = 0;
    for (int i = 0; i < 8; ++i) {
        if (masks[i] >= 1 << others) continue;
        simplex face = {.count = 0};
        for (int k = 0; k < others; ++k)
            if (masks[i] >> k & 1) face.p[face.count++] = s->p[k];
        face.p[face.count++] = s->p[others];
        bool counts          = true;
        switch (face.count) {
        case 1: face.v = face.p[0].y, face.share[0] = 1; break;
        case 2: counts = nearest_of_edge(&face); break;
        case 3: counts = nearest_of_triangle(&face); break;
        default:
            counts = holds_origin(&face);
            face.v = tni_vec3(0, 0, 0);
            break;
        }
        if (!counts) continue;
        face.length = tni_norm(face.v);
        if (best->count == 0 || face.length < best->length) *best = face;
    }
    return best->count > 0;
}

// ---- The search --------------------------------------------------------------------------------

static bool is_corner(const simplex* s, const tni_difference* w)
{
    for (int k = 0; k < s->count; ++k) {
        const tn_vec3 d = tni_sub(s->p[k].y, w->y);
        if (d.x == 0 && d.y == 0 && d.z == 0) return true;
    }
    return false;
}

static simplex first_point(const tni_cores* c)
{
    const tn_vec3 m = tni_mul(&c->R, tni_middle_of(c->g2));
    tn_vec3       d = tni_sub(tni_add(c->t, m), tni_middle_of(c->g1));
    if (!(tni_max_abs(d) > 0)) d = tni_vec3(1, 0, 0);
    simplex s = {.count = 1, .share = {1}};
    s.p[0]    = tni_support_difference(c, d);
    s.v       = s.p[0].y;
    s.length  = tni_norm(s.v);
    return s;
}

// One iteration. True: s is the result. *proof: the largest distance proved so far. Each iteration
// but the last shortens v or increases the proof: so no simplex repeats.
static bool advance(const tni_cores* c, simplex* s, double* proof, bool* overlap)
{
    *overlap = !(s->length > TOUCH * c->size);
    if (*overlap) return true;
    const tni_difference w   = tni_support_difference(c, s->v);
    const double         low = tni_dot(s->v, w.y) / s->length;
    if (!(s->length - low > ENOUGH * c->size) || is_corner(s, &w)) return true;
    simplex next;
    s->p[s->count++] = w; // it had at most three; four would have ended the search
    const bool found = reduce(s, &next);
    --s->count;
    if (!found || !(next.length < s->length || (next.length == s->length && low > *proof)))
        return true;
    *proof = fmax(*proof, low);
    if (next.count == 4) {
        *overlap = !(*proof > 0);
        return true;
    }
    *s = next;
    return false;
}

tni_distance tni_core_distance(const tni_cores* c)
{
    tni_distance out   = {.rounds = 0};
    simplex      s     = first_point(c);
    double       proof = 0;
    while (out.rounds < ROUNDS_MAX && !advance(c, &s, &proof, &out.overlap)) ++out.rounds;
    out.v      = s.v;
    out.length = s.length;
    for (int k = 0; k < s.count; ++k) out.a = tni_add_scaled(out.a, s.share[k], s.p[k].a);
    return out;
}

// ---- Face normals ------------------------------------------------------------------------------

// *best: the normal nearest to `from` that gives the gap `least`.
typedef struct snap {
    const tni_cores* cores;
    tn_vec3          from, best;
    double           least, off;
} snap;

static void try_normal(snap* s, tn_vec3 n)
{
    const double off = tni_norm(tni_sub(n, s->from));
    if (!(off < s->off) || !(tni_dot(n, tni_support_difference(s->cores, n).y) >= s->least)) return;
    s->off  = off;
    s->best = n;
}

static void try_normals_of(snap* s, const tni_geometry* g, const tni_mat3* R, double sign)
{
    const tni_polytope* polytope = tni_polytope_of(g);
    if (g->type == TN_SHAPE_CYLINDER) {
        const tn_vec3 z = tni_column(R, 2);
        try_normal(s, z);
        try_normal(s, tni_neg(z));
    }
    for (int f = 0; polytope != NULL && f < polytope->face_count; ++f)
        try_normal(s, tni_scale(sign, tni_mul(R, polytope->faces[f].n)));
}

// If rounding leaves few digits of v's direction: uses a face normal within the uncertainty.
static void snap_to_face(const tni_cores* c, tni_distance* d)
{
    if (!(d->length < 1e-2 * c->size)) return; // v is accurate enough
    const tn_vec3  n   = tni_scale(1 / d->length, d->v);
    const tni_mat3 one = tni_identity3();
    const double   off = TOUCH * c->size / d->length;
    snap           s   = {c, n, n, d->length - 4 * ENOUGH * c->size, off};
    try_normals_of(&s, c->g1, &one, 1);
    try_normals_of(&s, c->g2, &c->R, -1);
    d->v = tni_scale(d->length, s.best);
}

// ---- World frame -------------------------------------------------------------------------------

// The largest |x|, |y|, |z| of a core: used as the scale of rounding.
static double core_size(const tni_geometry* g)
{
    switch (g->type) {
    case TN_SHAPE_BOX: return tni_max_abs(g->half_size);
    case TN_SHAPE_CAPSULE: return g->half_length;
    case TN_SHAPE_CYLINDER: return fmax(g->radius, g->half_length);
    case TN_SHAPE_CONVEX: break;
    default: return 0;
    }
    const tn_vec3 one = {1, 1, 1}; // two corners are enough
    return fmax(tni_max_abs(tni_support(g, one, NULL)),
                tni_max_abs(tni_support(g, tni_neg(one), NULL)));
}

static tni_cores cores_of(const tni_geometry* g1, const tni_pose* p1, const tni_geometry* g2,
                          const tni_pose* p2)
{
    const tni_pose seen = tni_pose_seen(p1, p2);
    return (tni_cores){.g1   = g1,
                       .g2   = g2,
                       .R    = seen.R,
                       .t    = seen.x,
                       .size = tni_max_abs(seen.x) + core_size(g1) + core_size(g2)};
}

tni_nearest tni_nearest_points(const tni_geometry* g1, const tni_pose* p1, const tni_geometry* g2,
                               const tni_pose* p2)
{
    const tni_cores c   = cores_of(g1, p1, g2, p2);
    tni_distance    d   = tni_core_distance(&c);
    tni_nearest     out = {.deep = d.overlap, .rounds = d.rounds};
    if (d.overlap) {
        const tni_depth in = tni_core_depth(&c);
        out.gap            = in.gap;
        out.n              = tni_mul(&p1->R, in.n);
        out.c1             = tni_pose_point(p1, in.a);
        out.c2             = tni_pose_point(p1, in.b);
        out.rounds += in.rounds;
    } else {
        snap_to_face(&c, &d);
        out.gap = d.length;
        out.n   = tni_mul(&p1->R, tni_scale(1 / d.length, d.v));
        out.c1  = tni_pose_point(p1, d.a);
        out.c2  = tni_pose_point(p1, tni_add(d.a, d.v));
    }
    out.gap -= tni_round_radius(g1) + tni_round_radius(g2);
    return out;
}

bool tni_known_apart(const tni_geometry* g1, const tni_pose* p1, const tni_geometry* g2,
                     const tni_pose* p2, double reach, tn_vec3 axis)
{
    if (axis.x == 0 && axis.y == 0 && axis.z == 0) return false;
    const tn_vec3 a   = tni_mul(&p1->R, tni_support(g1, tni_mul_t(&p1->R, axis), NULL));
    const tn_vec3 b   = tni_mul(&p2->R, tni_support(g2, tni_mul_t(&p2->R, tni_neg(axis)), NULL));
    const tn_vec3 t   = tni_sub(p2->x, p1->x);
    const double  gap = tni_dot(axis, tni_add(t, tni_sub(b, a))) / tni_norm(axis) -
                       tni_round_radius(g1) - tni_round_radius(g2);
    const double size =
        tni_norm(t) + tni_norm(a) + tni_norm(b) + tni_round_radius(g1) + tni_round_radius(g2);
    return gap > reach + 1e-9 * size;
}
