// collide_box: separating axis test of two boxes [1]: the axis of largest separation.
//
// The separation along n is s(n) = min over 2 of n . p - max over 1 of n . p, never more than the
// distance; if the sets overlap, the largest s is minus the penetration depth. For boxes it is
// attained by a face normal of either, or by the cross product of two edges:
//     3 + 3 + 9 directions [1], from the boxes' frames and R, the second in the frame of the first.
// A later direction must be better by the margin: a face has a patch of points, so it is preferred
// to edges of equal separation, and rounding must not decide. Edges count as parallel up to the
// sine `parallel`; then a face has the same separation up to that sine.
//
// Face normals are exact, and so is s where the boxes touch: nothing is divided by a gap.
// [1] S. Gottschalk, M. Lin, D. Manocha, OBBTree, SIGGRAPH 96.
#include "geom/collide_parts.h"

static const double parallel = 1e-6;

static tni_separating_axis nowhere(void)
{
    return (tni_separating_axis){.s = -HUGE_VAL, .n = {0, 0, 1}};
}

// Closest points of the line a + t d of shape 1 and the line b + t e of shape 2.
static void cross_lines(tni_separating_axis* axis, tn_vec3 a, tn_vec3 d, tn_vec3 b, tn_vec3 e)
{
    double t, u;
    tni_cross_lines(d, e, tni_sub(b, a), &t, &u);
    axis->c1 = tni_add_scaled(a, fmin(fmax(t, 0), 1), d);
    axis->c2 = tni_add_scaled(b, fmin(fmax(u, 0), 1), e);
}

typedef struct boxes {
    const double *h1, *h2, *R, *x; // half sizes; pose of 2
    double        A[9];            // |R|
    double        y[3];            // R^T x
    double        best_edge;
    int           i, j; // of the best edges
} boxes;

static tni_separating_axis box_faces(const boxes* b, double margin)
{
    tni_separating_axis best = nowhere();
    for (int i = 0; i < 3; ++i) {
        const double* A = &b->A[3 * i];
        const double  s =
            fabs(b->x[i]) - b->h1[i] - (A[0] * b->h2[0] + A[1] * b->h2[1] + A[2] * b->h2[2]);
        if (!(s > best.s + margin)) continue;
        double n[3] = {0, 0, 0};
        n[i]        = b->x[i] < 0 ? -1 : 1;
        best.s = s, best.n = tni_read3(n);
    }
    for (int j = 0; j < 3; ++j) {
        const double* A = &b->A[j];
        const double  s =
            fabs(b->y[j]) - b->h2[j] - (A[0] * b->h1[0] + A[3] * b->h1[1] + A[6] * b->h1[2]);
        if (!(s > best.s + margin)) continue;
        const double sign = b->y[j] < 0 ? -1 : 1;
        best.s = s, best.n = tni_scale(sign, tni_vec3(b->R[j], b->R[3 + j], b->R[6 + j]));
    }
    return best;
}

static void box_edges(boxes* b)
{
    for (int i = 0; i < 3; ++i) {
        const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
        for (int j = 0; j < 3; ++j) {
            const int    j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            const double p = b->R[3 * i1 + j], q = b->R[3 * i2 + j], l = sqrt(p * p + q * q);
            if (!(l > parallel)) continue;
            const double r1 = b->h1[i1] * b->A[3 * i2 + j] + b->h1[i2] * b->A[3 * i1 + j];
            const double r2 = b->h2[j1] * b->A[3 * i + j2] + b->h2[j2] * b->A[3 * i + j1];
            const double s  = (fabs(b->x[i2] * p - b->x[i1] * q) - r1 - r2) / l;
            if (s > b->best_edge) b->best_edge = s, b->i = i, b->j = j;
        }
    }
}

// Ends of the edge along axis k that is furthest along n, in the box's frame; returns its id.
static int box_edge(const double* half, int k, tn_vec3 n, tn_vec3* a, tn_vec3* d)
{
    double p[3] = {n.x < 0 ? -half[0] : half[0], n.y < 0 ? -half[1] : half[1],
                   n.z < 0 ? -half[2] : half[2]};
    p[k]        = -half[k];
    *a          = tni_read3(p);
    double e[3] = {0, 0, 0};
    e[k]        = 2 * half[k];
    *d          = tni_read3(e);
    return k << 3 | (p[0] > 0) << 2 | (p[1] > 0) << 1 | (p[2] > 0);
}

static tni_separating_axis box_crossing(const tni_shape_pair* pair, const boxes* b)
{
    double e[3] = {0, 0, 0};
    e[b->i]     = 1;
    tn_vec3 n   = tni_normalised(tni_cross(tni_read3(e), tni_column(&pair->pose.R, b->j)));
    if (tni_dot(n, pair->pose.x) < 0) n = tni_neg(n);
    tni_separating_axis axis = {.s = b->best_edge, .n = n, .edges = true};
    tn_vec3             p, d, q, f;
    axis.id1 = box_edge(b->h1, b->i, n, &p, &d);
    axis.id2 = box_edge(b->h2, b->j, tni_neg(tni_mul_t(&pair->pose.R, n)), &q, &f);
    cross_lines(&axis, p, d, tni_pose_point(&pair->pose, q), tni_mul(&pair->pose.R, f));
    return axis;
}

tni_separating_axis tni_box_separating_axis(const tni_shape_pair* pair)
{
    const tn_vec3 y = tni_mul_t(&pair->pose.R, pair->pose.x);
    double        h1[3], h2[3], x[3];
    tni_write3(h1, pair->g1->half_size), tni_write3(h2, pair->g2->half_size);
    tni_write3(x, pair->pose.x);
    boxes b = {.h1 = h1, .h2 = h2, .R = pair->pose.R.m, .x = x, .best_edge = -HUGE_VAL};
    tni_write3(b.y, y);
    for (int k = 0; k < 9; ++k) b.A[k] = fabs(b.R[k]);
    const tni_separating_axis best = box_faces(&b, 0.1 * pair->margin);
    if (best.s > pair->reach) return best;
    box_edges(&b);
    return b.best_edge > best.s + pair->margin ? box_crossing(pair, &b) : best;
}
