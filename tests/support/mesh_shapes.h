// Meshes for tests: boxes, spheres, tori, prisms over polygons, bumpy sheets.
//
//     mesh_shape s = mesh_torus(1, 0.3, 48, 24);
//     tni_mesh_create(&arena, s.vertices, s.vertex_count, s.triangles, s.triangle_count, ...);
//     mesh_shape_free(&s);
#ifndef MESH_SHAPES_H
#define MESH_SHAPES_H

#include "math/vec3.h"

#include <stdlib.h>

typedef struct mesh_shape {
    tn_vec3* vertices;
    int*     triangles;
    int      vertex_count, triangle_count, vertex_room, triangle_room;
} mesh_shape;

static inline void mesh_shape_free(mesh_shape* s)
{
    free(s->vertices);
    free(s->triangles);
    *s = (mesh_shape){0};
}

static inline int mesh_vertex(mesh_shape* s, double x, double y, double z)
{
    if (s->vertex_count == s->vertex_room) {
        s->vertex_room = 2 * s->vertex_room + 16;
        s->vertices    = realloc(s->vertices, sizeof(tn_vec3) * (size_t)s->vertex_room);
    }
    s->vertices[s->vertex_count] = tni_vec3(x, y, z);
    return s->vertex_count++;
}

static inline void mesh_triangle(mesh_shape* s, int a, int b, int c)
{
    if (s->triangle_count == s->triangle_room) {
        s->triangle_room = 2 * s->triangle_room + 16;
        s->triangles     = realloc(s->triangles, 3 * sizeof(int) * (size_t)s->triangle_room);
    }
    int* t = s->triangles + 3 * s->triangle_count++;
    t[0] = a, t[1] = b, t[2] = c;
}

static inline void mesh_quad(mesh_shape* s, int a, int b, int c, int d)
{
    mesh_triangle(s, a, b, c);
    mesh_triangle(s, a, c, d);
}

/// A box around the point m.
static inline void mesh_add_box(mesh_shape* s, tn_vec3 m, tn_vec3 half)
{
    const int v = s->vertex_count;
    for (int i = 0; i < 8; ++i)
        mesh_vertex(s, m.x + (i & 1 ? half.x : -half.x), m.y + (i & 2 ? half.y : -half.y),
                    m.z + (i & 4 ? half.z : -half.z));
    mesh_quad(s, v, v + 2, v + 3, v + 1);
    mesh_quad(s, v + 4, v + 5, v + 7, v + 6);
    mesh_quad(s, v, v + 1, v + 5, v + 4);
    mesh_quad(s, v + 2, v + 6, v + 7, v + 3);
    mesh_quad(s, v, v + 4, v + 6, v + 2);
    mesh_quad(s, v + 1, v + 3, v + 7, v + 5);
}

static inline mesh_shape mesh_sphere(double radius, int rings, int sides)
{
    mesh_shape   s   = {0};
    const double pi  = 3.14159265358979323846;
    const int    top = mesh_vertex(&s, 0, 0, radius);
    for (int r = 1; r < rings; ++r) {
        for (int k = 0; k < sides; ++k) {
            const double a = pi * r / rings, b = 2 * pi * k / sides;
            mesh_vertex(&s, radius * sin(a) * cos(b), radius * sin(a) * sin(b), radius * cos(a));
        }
    }
    const int bottom = mesh_vertex(&s, 0, 0, -radius);
    for (int k = 0; k < sides; ++k) {
        const int l = (k + 1) % sides, last = 1 + (rings - 2) * sides;
        mesh_triangle(&s, top, 1 + k, 1 + l);
        for (int r = 0; r + 2 < rings; ++r)
            mesh_quad(&s, 1 + r * sides + k, 1 + (r + 1) * sides + k, 1 + (r + 1) * sides + l,
                      1 + r * sides + l);
        mesh_triangle(&s, bottom, last + l, last + k);
    }
    return s;
}

static inline mesh_shape mesh_torus(double R, double r, int around, int sides)
{
    mesh_shape   s  = {0};
    const double pi = 3.14159265358979323846;
    for (int i = 0; i < around; ++i) {
        for (int k = 0; k < sides; ++k) {
            const double a = 2 * pi * i / around, b = 2 * pi * k / sides, d = R + r * cos(b);
            mesh_vertex(&s, d * cos(a), d * sin(a), r * sin(b));
        }
    }
    for (int i = 0; i < around; ++i) {
        for (int k = 0; k < sides; ++k) {
            const int j = (i + 1) % around, l = (k + 1) % sides;
            mesh_quad(&s, i * sides + k, j * sides + k, j * sides + l, i * sides + l);
        }
    }
    return s;
}

/// A prism of height 2 h over a simple polygon, counter-clockwise; ears are cut off.
static inline mesh_shape mesh_prism(const double (*xy)[2], int count, double h)
{
    mesh_shape s = {0};
    int        left[64], n = count;
    for (int i = 0; i < count; ++i) mesh_vertex(&s, xy[i][0], xy[i][1], -h), left[i] = i;
    for (int i = 0; i < count; ++i) mesh_vertex(&s, xy[i][0], xy[i][1], h);
    for (int i = 0; i < count; ++i)
        mesh_quad(&s, i, (i + 1) % count, count + (i + 1) % count, count + i);
    while (n >= 3) {
        int ear = -1;
        for (int i = 0; i < n && ear < 0; ++i) {
            const double *a = xy[left[(i + n - 1) % n]], *b = xy[left[i]],
                         *c   = xy[left[(i + 1) % n]];
            const double turn = (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0]);
            bool         good = turn > 0;
            for (int j = 0; j < n && good; ++j) {
                const double* p = xy[left[j]];
                if (p == a || p == b || p == c) continue;
                const double u = (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]),
                             v = (c[0] - b[0]) * (p[1] - b[1]) - (c[1] - b[1]) * (p[0] - b[0]),
                             w = (a[0] - c[0]) * (p[1] - c[1]) - (a[1] - c[1]) * (p[0] - c[0]);
                good           = !(u >= 0 && v >= 0 && w >= 0);
            }
            if (good) ear = i;
        }
        if (ear < 0) break;
        const int a = left[(ear + n - 1) % n], b = left[ear], c = left[(ear + 1) % n];
        mesh_triangle(&s, count + a, count + b, count + c);
        mesh_triangle(&s, a, c, b);
        for (int j = ear; j + 1 < n; ++j) left[j] = left[j + 1];
        --n;
    }
    return s;
}

/// z over an even grid of columns x rows vertices, spaced d, around the origin.
static inline mesh_shape mesh_sheet(int columns, int rows, double d,
                                    double (*z)(double x, double y))
{
    mesh_shape s = {0};
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j) {
            const double x = (j - 0.5 * (columns - 1)) * d, y = (i - 0.5 * (rows - 1)) * d;
            mesh_vertex(&s, x, y, z(x, y));
        }
    }
    for (int i = 0; i + 1 < rows; ++i) {
        for (int j = 0; j + 1 < columns; ++j) {
            const int a = i * columns + j;
            mesh_quad(&s, a, a + 1, a + columns + 1, a + columns);
        }
    }
    return s;
}

#endif
