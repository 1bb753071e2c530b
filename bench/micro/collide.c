// collide: the points where two convex shapes touch, ns a pair.
//     collide [repeats]
// One line a pair: how it lies, points found, best of ten rounds. The shapes are moved a little
// from call to call, so that nothing is guessed right.
#define _POSIX_C_SOURCE 200809L
#include "geom/collide.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(void) // of this process: others on the machine count less
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static tni_geometry box(tni_arena* arena, double x, double y, double z)
{
    tni_polytope* p = TNI_TAKE(arena, tni_polytope, 1);
    if (arena->failed || tni_polytope_of_box(arena, tni_vec3(x, y, z), p) != TN_OK) exit(1);
    return (tni_geometry){.type = TN_SHAPE_BOX, .half_size = {x, y, z}, .polytope = p};
}

// Points on a sphere, by golden angles.
static tni_geometry ball_of_points(tni_arena* arena, int count)
{
    tni_polytope* p      = TNI_TAKE(arena, tni_polytope, 1);
    tn_vec3*      points = TNI_TAKE(arena, tn_vec3, count);
    if (arena->failed) exit(1);
    for (int i = 0; i < count; ++i) {
        const double z = 1 - (2.0 * i + 1) / count, r = sqrt(1 - z * z),
                     a = 2.39996322972865332 * i;
        points[i]      = tni_vec3(0.5 * r * cos(a), 0.5 * r * sin(a), 0.5 * z);
    }
    if (tni_polytope_create(arena, points, count, p) != TN_OK) exit(1);
    return (tni_geometry){.type = TN_SHAPE_CONVEX, .polytope = p};
}

static tni_geometry bar(tn_shape_type type, double radius, double half_length)
{
    return (tni_geometry){.type = type, .radius = radius, .half_length = half_length};
}

static void measure(const char* name, const tni_geometry* g1, const tni_geometry* g2, tn_vec3 turn,
                    tn_vec3 x, int repeats)
{
    tni_pose       poses[16];
    const tni_pose home = {{0, 0, 0}, tni_quat_matrix(tni_quat_exp(tni_vec3(0.3, 0.2, 0.1)))};
    for (int i = 0; i < 16; ++i) {
        const tn_vec3  shake = tni_scale(1e-5 * (i % 4 - 1.5), tni_vec3(1, -0.5, 0.3));
        const tni_pose p = {tni_add(x, shake), tni_quat_matrix(tni_quat_exp(tni_add(turn, shake)))};
        poses[i]         = tni_pose_of(&home, &p);
    }
    double best  = HUGE_VAL;
    long   found = 0;
    for (int round = 0; round < 10; ++round) {
        const double start = seconds();
        found              = 0;
        for (int i = 0; i < repeats; ++i) {
            tni_manifold_point spots[TNI_MANIFOLD_MAX];
            found += tni_collide(g1, &home, g2, &poses[i % 16], 0.01, spots, TNI_MANIFOLD_MAX);
        }
        best = fmin(best, seconds() - start);
    }
    printf("%-44s %5.2f points %8.0f ns\n", name, (double)found / repeats, 1e9 * best / repeats);
}

int main(int count, char** arguments)
{
    const tn_host      host    = tn_default_host();
    const int          repeats = count > 1 ? atoi(arguments[1]) : 20000;
    const double       eighth  = 0.785398163397448310;
    tni_arena          arena   = tni_arena_make(&host);
    const tni_geometry a = box(&arena, 0.5, 0.5, 0.5), b = box(&arena, 0.4, 0.3, 0.2),
                       slab = box(&arena, 50, 50, 0.5), hull = ball_of_points(&arena, 32),
                       capsule  = bar(TN_SHAPE_CAPSULE, 0.2, 0.5),
                       cylinder = bar(TN_SHAPE_CYLINDER, 0.3, 0.5),
                       sphere   = bar(TN_SHAPE_SPHERE, 0.3, 0);
    const tn_vec3 flat = {0, 0, 0}, lying = {0, 2 * eighth, 0}, yaw = {0, 0, eighth};
    measure("box on box, centred", &a, &b, flat, tni_vec3(0, 0, 0.7), repeats);
    measure("box on box, overhanging and turned", &a, &b, tni_vec3(0, 0, 0.3),
            tni_vec3(0.4, 0.3, 0.7), repeats);
    measure("box on box, turned by 45 degrees", &a, &a, yaw, tni_vec3(0, 0, 1), repeats);
    measure("box on slab", &slab, &b, tni_vec3(0, 0, 0.3), tni_vec3(7, 9, 0.7), repeats);
    measure("boxes, edges crossed", &a, &a, tni_vec3(eighth, eighth, 0), tni_vec3(0.2, -0.95, 0.8),
            repeats);
    measure("boxes, corner near corner", &a, &b, flat, tni_vec3(0.901, 0.801, 0.701), repeats);
    measure("boxes apart", &a, &b, flat, tni_vec3(0.1, 0.2, 1.2), repeats);
    measure("hull of 32 on slab", &slab, &hull, flat, tni_vec3(0, 0, 0.99), repeats / 10);
    measure("hulls of 32, beyond reach", &hull, &hull, flat, tni_vec3(0, 0, 0.97), repeats / 10);
    measure("hulls of 32, overlapping", &hull, &hull, flat, tni_vec3(0, 0, 0.9), repeats / 100);
    measure("sphere on box", &a, &sphere, flat, tni_vec3(0, 0, 0.8), repeats);
    measure("capsule on capsule, parallel", &capsule, &capsule, flat, tni_vec3(0.4, 0, 0.1),
            repeats);
    measure("capsule lying on box", &a, &capsule, lying, tni_vec3(0, 0, 0.7), repeats);
    measure("cylinder lying on box, apart by 1e-4", &a, &cylinder, lying, tni_vec3(0, 0, 0.8001),
            repeats / 10);
    measure("cylinder standing on box, apart by 1e-4", &a, &cylinder, flat, tni_vec3(0, 0, 1.0001),
            repeats / 10);
    measure("cylinder standing on box, overlapping", &a, &cylinder, flat, tni_vec3(0, 0, 0.9999),
            repeats / 100);
    measure("cylinder on cylinder, crossed", &cylinder, &cylinder, lying, tni_vec3(0, 0.6, 0),
            repeats / 100);
    tni_arena_free(&arena);
    return 0;
}
