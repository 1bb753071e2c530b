// common_joints_lanes: joints of common_joints.c for one vector length. Compiled once for each,
// with
//     SET     its name
//     TARGET  the processor it is for, as an attribute
//     BYTES   of a vector
// No include guard: the file is meant to be included several times. The result for a joint does not
// depend on its lane or its neighbours, so all lengths give the same bits.
#include "math/lanes_vec3.h"

#define motion NAME(motion)
#if !defined(__GNUC__)
#define TAKE(p, what) ((p)[0]->what)
#elif BYTES == 32
#define TAKE(p, what) ((vec){(p)[0]->what, (p)[1]->what, (p)[2]->what, (p)[3]->what})
#else
#define TAKE(p, what) ((vec){(p)[0]->what, (p)[1]->what})
#endif
#define TAKE3(p, what) ((vec3){TAKE(p, what.x), TAKE(p, what.y), TAKE(p, what.z)})

typedef struct motion {
    vec3 at, rate, bias;
} motion;

TNI_INLINE TARGET motion NAME(turned)(const vec R[9], vec3 w, vec3 d)
{
    motion m;
    m.at   = NAME(rotated)(R, d);
    m.rate = NAME(cross)(w, m.at);
    m.bias = NAME(cross)(w, m.rate);
    return m;
}

TNI_INLINE TARGET void NAME(store)(double* to, vec v)
{
    memcpy(to, &v, sizeof v);
}

TNI_INLINE TARGET void NAME(store3)(double* to, vec3 v)
{
    NAME(store)(to, v.x);
    NAME(store)(to + TNI_COMMON_LANES, v.y);
    NAME(store)(to + 2 * TNI_COMMON_LANES, v.z);
}

// Values of row i: C, its rate, gamma.
TNI_INLINE TARGET void NAME(store_values)(common_values* out, int i, int lane, vec C, vec rate,
                                          vec gamma)
{
    NAME(store)(out->value[i][0] + lane, C);
    NAME(store)(out->value[i][1] + lane, rate);
    NAME(store)(out->value[i][2] + lane, gamma);
}

TARGET static void NAME(values)(const tni_common_group* g, const tni_joint* const* j,
                                const tni_view* const* a, const tni_view* const* b, int lane,
                                bool jacobians, common_values* out)
{
    vec R1[9], R2[9];
    for (int i = 0; i < 9; ++i) R1[i] = TAKE(a, R.m[i]), R2[i] = TAKE(b, R.m[i]);
    const vec3   w1 = TAKE3(a, w), w2 = TAKE3(b, w), zero = {{0}, {0}, {0}};
    const motion p = NAME(turned)(R1, w1, TAKE3(j, p1)), q = NAME(turned)(R2, w2, TAKE3(j, p2));
    const vec3   at   = NAME(sub)(NAME(add)(q.at, TAKE3(b, x)), NAME(add)(p.at, TAKE3(a, x)));
    const vec3   rate = NAME(sub)(NAME(add)(q.rate, TAKE3(b, v)), NAME(add)(p.rate, TAKE3(a, v)));
    const vec3   bias = NAME(sub)(q.bias, p.bias);
    motion       s, t;
    int          known_s = -1, known_t = -1;
    if (jacobians) {
        NAME(store3)(out->arm[0][0] + lane, p.at);
        NAME(store3)(out->arm[1][0] + lane, q.at);
    }
    for (int i = 0; i < g->row_count; ++i) {
        const int k = g->part[i].k, l = g->part[i].l;
        if (g->part[i].op == TNI_ROW_POINT) {
            NAME(store_values)
            (out, i, lane,
             k == 0   ? at.x
             : k == 1 ? at.y
                      : at.z,
             k == 0   ? rate.x
             : k == 1 ? rate.y
                      : rate.z,
             k == 0   ? bias.x
             : k == 1 ? bias.y
                      : bias.z);
            continue;
        }
        if (k != known_s)
            s = NAME(turned)(R1, w1,
                             (vec3){TAKE(j, F1.m[k]), TAKE(j, F1.m[3 + k]), TAKE(j, F1.m[6 + k])});
        if (l != known_t)
            t = NAME(turned)(R2, w2,
                             (vec3){TAKE(j, F2.m[l]), TAKE(j, F2.m[3 + l]), TAKE(j, F2.m[6 + l])});
        known_s = k, known_t = l;
        NAME(store_values)
        (out, i, lane, NAME(dot)(s.at, t.at), NAME(dot)(s.rate, t.at) + NAME(dot)(s.at, t.rate),
         NAME(dot)(s.bias, t.at) + 2 * NAME(dot)(s.rate, t.rate) + NAME(dot)(s.at, t.bias));
        if (!jacobians) continue;
        NAME(store3)(out->torque[i][0][0] + lane, NAME(add)(zero, NAME(cross)(s.at, t.at)));
        NAME(store3)(out->torque[i][1][0] + lane, NAME(add)(zero, NAME(cross)(t.at, s.at)));
    }
}

TARGET static void NAME(four)(const tni_common_group* g, const tni_joint* const* j,
                              const tni_view* const* a, const tni_view* const* b, bool jacobians,
                              common_values* out)
{
    for (int lane = 0; lane < TNI_COMMON_LANES; lane += LANES) {
        if (jacobians) NAME(values)(g, j + lane, a + lane, b + lane, lane, true, out);
        else NAME(values)(g, j + lane, a + lane, b + lane, lane, false, out);
    }
}

#undef TAKE3
#undef TAKE
#undef motion
#include "math/lanes_end.h"
