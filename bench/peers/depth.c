// depth: how deep shapes are in each other, by closed forms, from poses alone. None of it is code
// that an engine or Tenon uses to find contacts.
//     plane over sphere, capsule, box, cylinder    the lowest point
//     sphere and capsule, any two                  radii less the distance of their segments
//     box and box                                  the least overlap over 15 axes
//     sphere and box                               the nearest point of the box, or its nearest face
#include "peer.h"

#include <math.h>
#include <string.h>

typedef struct placed {
    const peer_shape* shape;
    double            x[3], q[4];
    double            z[3][3]; ///< axes in the world
} placed;

static double dot(const double* a, const double* b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static placed place(const peer_shape* s, const peer_pose* poses)
{
    const peer_pose* at = &poses[s->body];
    placed           p  = {.shape = s};
    peer_turn(at->q, s->x, p.x);
    for (int k = 0; k < 3; ++k) p.x[k] += at->x[k];
    peer_times(at->q, s->q, p.q);
    for (int k = 0; k < 3; ++k) {
        const double unit[3] = {k == 0, k == 1, k == 2};
        peer_turn(p.q, unit, p.z[k]);
    }
    return p;
}

// How far a shape reaches from its middle along a unit vector.
static double reach(const placed* p, const double* n)
{
    const double* size  = p->shape->size;
    const double  along = fabs(dot(p->z[2], n));
    switch (p->shape->type) {
    case TN_SHAPE_SPHERE: return size[0];
    case TN_SHAPE_CAPSULE: return size[0] + size[1] * along;
    case TN_SHAPE_CYLINDER: return size[1] * along + size[0] * sqrt(fmax(0, 1 - along * along));
    case TN_SHAPE_BOX:
        return size[0] * fabs(dot(p->z[0], n)) + size[1] * fabs(dot(p->z[1], n)) + size[2] * along;
    default: return NAN;
    }
}

static double plane_depth(const placed* plane, const placed* other)
{
    double from[3];
    for (int k = 0; k < 3; ++k) from[k] = other->x[k] - plane->x[k];
    return reach(other, plane->z[2]) - dot(from, plane->z[2]);
}

static double clamp(double value, double end)
{
    return fmax(-end, fmin(end, value));
}

// Segments x + s a, |s| <= A, and y + t b, |t| <= B, of unit a and b. For a given s the best t is
// the clamped (d + s a).b, d = x - y; the distance is convex, so going to and fro from the best
// of the lines, clamped, ends at the minimum.
static double segment_distance(const placed* p, double A, const placed* q, double B)
{
    const double *a = p->z[2], *b = q->z[2];
    double        d[3];
    for (int k = 0; k < 3; ++k) d[k] = p->x[k] - q->x[k];
    const double c = dot(a, b), da = dot(d, a), db = dot(d, b), den = 1 - c * c;
    double       s = den > 1e-12 ? clamp((c * db - da) / den, A) : 0, t = 0;
    for (int round = 0; round < 3; ++round) {
        t = clamp(db + s * c, B);
        s = clamp(t * c - da, A);
    }
    double r[3];
    for (int k = 0; k < 3; ++k) r[k] = d[k] + s * a[k] - t * b[k];
    return sqrt(dot(r, r));
}

static bool is_round(const peer_shape* s)
{
    return s->type == TN_SHAPE_SPHERE || s->type == TN_SHAPE_CAPSULE;
}

static double half_segment(const peer_shape* s)
{
    return s->type == TN_SHAPE_CAPSULE ? s->size[1] : 0;
}

static void cross(const double* a, const double* b, double* out)
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static double overlap(const placed* p, const placed* q, const double* n)
{
    double d[3];
    for (int k = 0; k < 3; ++k) d[k] = p->x[k] - q->x[k];
    return reach(p, n) + reach(q, n) - fabs(dot(d, n));
}

static double box_depth(const placed* p, const placed* q)
{
    double least = HUGE_VAL;
    for (int i = 0; i < 3; ++i) {
        least = fmin(least, fmin(overlap(p, q, p->z[i]), overlap(p, q, q->z[i])));
        for (int j = 0; j < 3; ++j) {
            double n[3];
            cross(p->z[i], q->z[j], n);
            const double length = sqrt(dot(n, n));
            if (length < 1e-9) continue; // parallel: an axis of a face says the same
            for (int k = 0; k < 3; ++k) n[k] /= length;
            least = fmin(least, overlap(p, q, n));
        }
    }
    return least;
}

// Ball in a box: from the nearest point of the box; from inside, the nearest face.
static double ball_in_box(const placed* ball, const placed* box)
{
    double d[3], outside = 0, inside = HUGE_VAL;
    for (int k = 0; k < 3; ++k) d[k] = ball->x[k] - box->x[k];
    for (int k = 0; k < 3; ++k) {
        const double out = fabs(dot(d, box->z[k])) - box->shape->size[k];
        outside += out > 0 ? out * out : 0;
        inside = fmin(inside, -out);
    }
    return ball->shape->size[0] + (outside > 0 ? -sqrt(outside) : inside);
}

double peer_pair_depth(const peer_plain* d, int shape1, int shape2, const peer_pose* poses)
{
    const placed p = place(&d->shapes[shape1], poses), q = place(&d->shapes[shape2], poses);
    if (p.shape->type == TN_SHAPE_PLANE) return plane_depth(&p, &q);
    if (q.shape->type == TN_SHAPE_PLANE) return plane_depth(&q, &p);
    if (is_round(p.shape) && is_round(q.shape))
        return p.shape->size[0] + q.shape->size[0] -
               segment_distance(&p, half_segment(p.shape), &q, half_segment(q.shape));
    if (p.shape->type == TN_SHAPE_SPHERE && q.shape->type == TN_SHAPE_BOX)
        return ball_in_box(&p, &q);
    if (q.shape->type == TN_SHAPE_SPHERE && p.shape->type == TN_SHAPE_BOX)
        return ball_in_box(&q, &p);
    if (p.shape->type == TN_SHAPE_BOX && q.shape->type == TN_SHAPE_BOX) return box_depth(&p, &q);
    return NAN;
}

// A ball around the shape.
static double extent(const peer_shape* s)
{
    const double* size = s->size;
    if (s->type == TN_SHAPE_PLANE) return HUGE_VAL;
    if (s->type == TN_SHAPE_BOX) return sqrt(dot(size, size));
    return size[0] + size[1];
}

static bool far_apart(const peer_plain* d, int i, int j, const peer_pose* poses)
{
    const peer_shape *a = &d->shapes[i], *b = &d->shapes[j];
    const peer_pose * p = &poses[a->body], *q = &poses[b->body];
    const double      r = extent(a) + sqrt(dot(a->x, a->x)) + extent(b) + sqrt(dot(b->x, b->x));
    double            e[3];
    for (int k = 0; k < 3; ++k) e[k] = p->x[k] - q->x[k];
    return dot(e, e) > r * r;
}

double peer_depth(const peer_plain* d, const peer_pose* poses)
{
    double worst = -HUGE_VAL;
    for (int i = 0; i < d->shape_count; ++i) {
        for (int j = i + 1; j < d->shape_count; ++j) {
            if (far_apart(d, i, j, poses) || !peer_may_touch(d, i, j)) continue;
            const double depth = peer_pair_depth(d, i, j, poses);
            if (isnan(depth)) return NAN;
            worst = fmax(worst, depth);
        }
    }
    return worst;
}
