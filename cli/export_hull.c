// export_hull: the convex hull of some points, by adding one after the other [1]: triangles that see the new
// point go, and the edge of the hole they leave is joined to it. Points within a thousandth of a
// millionth of the size from a face are on it. Cost: points times triangles.
//
// [1] F. P. Preparata, M. I. Shamos, Computational Geometry, 1985, sec. 3.4.
#include "export.h"

#include <math.h>
#include <stdlib.h>

typedef struct hull {
    tnc_surface*   surface;
    const tn_vec3* points;
    int            count;
    double         near;  ///< the distance within which a point is on a face
    int*           edges; ///< of the hole: from, to
    int            edge_count, edge_room;
} hull;

// How far p is outside the plane of the face; negative: inside.
static double beyond(const hull* h, const int* face, tn_vec3 p)
{
    const tn_vec3 a = h->points[face[0]];
    const tn_vec3 n = tnc_cross(tnc_sub(h->points[face[1]], a), tnc_sub(h->points[face[2]], a));
    const double  l = tnc_length(n);
    return l > 0 ? tnc_dot(n, tnc_sub(p, a)) / l : 0;
}

// An edge of a face that goes. Where the face on its other side goes as well, both are forgotten.
static bool toggle_edge(hull* h, int from, int to)
{
    for (int i = 0; i < h->edge_count; ++i) {
        int* e = h->edges + 2 * (size_t)i;
        if (e[0] != to || e[1] != from) continue;
        h->edge_count--;
        e[0] = h->edges[2 * (size_t)h->edge_count];
        e[1] = h->edges[2 * (size_t)h->edge_count + 1];
        return true;
    }
    if (h->edge_count == h->edge_room) {
        const int room  = h->edge_room > 0 ? 2 * h->edge_room : 64;
        int*      edges = realloc(h->edges, 2 * (size_t)room * sizeof *edges);
        if (!edges) return false;
        h->edges     = edges;
        h->edge_room = room;
    }
    h->edges[2 * (size_t)h->edge_count]     = from;
    h->edges[2 * (size_t)h->edge_count + 1] = to;
    h->edge_count++;
    return true;
}

static void add(hull* h, int p)
{
    tnc_surface* s    = h->surface;
    int          kept = 0;
    h->edge_count     = 0;
    for (int i = 0; i < s->corner_count; i += 3) {
        const int face[3] = {s->corners[i], s->corners[i + 1], s->corners[i + 2]};
        if (beyond(h, face, h->points[p]) > h->near) {
            for (int k = 0; k < 3; ++k)
                if (!toggle_edge(h, face[k], face[(k + 1) % 3])) s->failed = true;
            continue;
        }
        for (int k = 0; k < 3; ++k) s->corners[kept++] = face[k];
    }
    s->corner_count = kept;
    for (int i = 0; i < h->edge_count; ++i)
        tnc_surface_triangle(s, h->edges[2 * i], h->edges[2 * i + 1], p);
}

// The point that is furthest from a point, a line or a plane of so many points; -1: none is off it.
static int furthest(const hull* h, const int* base, int base_count)
{
    int    best   = 0;
    double length = -1;
    for (int i = 0; i < h->count; ++i) {
        const tn_vec3 d = tnc_sub(h->points[i], h->points[base[0]]);
        double        l = tnc_length(d);
        if (base_count == 2) {
            const tn_vec3 e = tnc_sub(h->points[base[1]], h->points[base[0]]);
            l               = tnc_length(tnc_cross(d, e)) / tnc_length(e);
        } else if (base_count == 3) l = fabs(beyond(h, base, h->points[i]));
        if (l <= length) continue;
        length = l;
        best   = i;
    }
    return length > h->near ? best : -1;
}

// Four points that are not in a plane. False: there are none.
static bool first_four(hull* h, int base[4])
{
    base[0] = 0;
    for (int k = 1; k < 4; ++k) {
        base[k] = furthest(h, base, k);
        if (base[k] < 0) return false;
        if (k == 1) h->near = 1e-9 * tnc_length(tnc_sub(h->points[base[1]], h->points[base[0]]));
    }
    if (beyond(h, base, h->points[base[3]]) > 0) {
        const int swap = base[1];
        base[1]        = base[2];
        base[2]        = swap;
    }
    return true;
}

void tnc_surface_hull(tnc_surface* s)
{
    hull h = {.surface = s, .points = s->points, .count = s->point_count};
    int  base[4];
    if (h.count < 4 || !first_four(&h, base)) return;
    tnc_surface_triangle(s, base[0], base[1], base[2]);
    tnc_surface_triangle(s, base[0], base[3], base[1]);
    tnc_surface_triangle(s, base[1], base[3], base[2]);
    tnc_surface_triangle(s, base[2], base[3], base[0]);
    for (int i = 0; i < h.count && !s->failed; ++i) add(&h, i);
    free(h.edges);
}
