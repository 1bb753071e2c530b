// nullspace_fly: bodies fly in lanes, for one vector length. Compiled once for each, with
//     SET     its name
//     TARGET  the processor it is for, as an attribute
//     BYTES   of a vector
// There is no guard against being included twice: that is the point. What happens to one body does
// not depend on its lane or its neighbours, so the bits are the same for every length.
//
// The rule of state/flight.c, for turns by less than a radian. With a = h W / 2, l = h L / 2 in body
// axes, and s = tan(|a|/2) a/|a|, so that exp(-[a]x) = (1 + [s]x)^-1 (1 - [s]x),
//
//     F(s) = I a - l + s x (I a + l) = 0,    a = 2 k s,   k = atan(|s|)/|s|
//     dF   = (1 + [s]x) I da - [I a + l]x ds,   da = (2 k + 4 k' s s^T) ds
//
// by Newton's method from the first terms of a in powers of h; then the turn by 2 a is rational in s:
//     by = ((1 - s.s), 2 s) / (1 + s.s)
#define JOIN_(a, b) a##_##b
#define JOIN(a, b)  JOIN_(a, b)
#define NAME(x)     JOIN(x, SET)
#define vec         NAME(vec)
#define vec3        NAME(vec3)

#if defined(__GNUC__)
typedef double vec __attribute__((vector_size(BYTES)));
#define AT(v, lane) ((v)[lane])
#else
typedef double vec;
#define AT(v, lane) (*((double*)&(v) + (lane)))
#endif
#define LANES ((int)(sizeof(vec) / sizeof(double)))

typedef struct vec3 {
    vec x, y, z;
} vec3;

TNI_INLINE TARGET vec3 NAME(add)(vec3 a, vec3 b)
{
    return (vec3){a.x + b.x, a.y + b.y, a.z + b.z};
}

TNI_INLINE TARGET vec3 NAME(sub)(vec3 a, vec3 b)
{
    return (vec3){a.x - b.x, a.y - b.y, a.z - b.z};
}

TNI_INLINE TARGET vec3 NAME(scale)(vec s, vec3 a)
{
    return (vec3){s * a.x, s * a.y, s * a.z};
}

TNI_INLINE TARGET vec NAME(dot)(vec3 a, vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

TNI_INLINE TARGET vec3 NAME(cross)(vec3 a, vec3 b)
{
    return (vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

// I, symmetric: xx xy xz yy yz zz.
TNI_INLINE TARGET vec3 NAME(times)(const vec I[6], vec3 a)
{
    return (vec3){I[0] * a.x + I[1] * a.y + I[2] * a.z, I[1] * a.x + I[3] * a.y + I[4] * a.z,
                  I[2] * a.x + I[4] * a.y + I[5] * a.z};
}

// a turned by the unit quaternion (w, v).
TNI_INLINE TARGET vec3 NAME(turn)(vec w, vec3 v, vec3 a)
{
    const vec3 t = NAME(scale)(2 + 0 * w, NAME(cross)(v, a));
    return NAME(add)(NAME(add)(a, NAME(scale)(w, t)), NAME(cross)(v, t));
}

// atan(|s|)/|s|, z = s.s up to 0.0653.
TNI_INLINE TARGET vec NAME(kappa)(vec z)
{
    static const double c[] = {1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13,
                               1.0 / 11, 1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3,  1};
    vec                 k   = 0 * z + c[0];
    for (int i = 1; i < 12; ++i) k = c[i] - z * k;
    return k;
}

// A round of Newton's method.
TNI_INLINE TARGET vec3 NAME(improve)(const vec I[6], vec3 l, vec3 s)
{
    const vec  z = NAME(dot)(s, s), k2 = 2 * NAME(kappa)(z), slope = z * 1.6 - 4.0 / 3; // 4 k'
    const vec3 Ia = NAME(times)(I, NAME(scale)(k2, s)), m = NAME(add)(Ia, l);
    const vec3 F = NAME(add)(NAME(sub)(Ia, l), NAME(cross)(s, m));
    // Columns of B = (1 + [s]x) I, then of D = B (k2 + slope s s^T) - [m]x.
    vec3 X = {I[0], I[1], I[2]}, Y = {I[1], I[3], I[4]}, Z = {I[2], I[4], I[5]};
    X             = NAME(add)(X, NAME(cross)(s, X));
    Y             = NAME(add)(Y, NAME(cross)(s, Y));
    Z             = NAME(add)(Z, NAME(cross)(s, Z));
    const vec3 Bs = NAME(scale)(
        slope, NAME(add)(NAME(add)(NAME(scale)(s.x, X), NAME(scale)(s.y, Y)), NAME(scale)(s.z, Z)));
    X = NAME(add)(NAME(scale)(k2, X), NAME(scale)(s.x, Bs));
    Y = NAME(add)(NAME(scale)(k2, Y), NAME(scale)(s.y, Bs));
    Z = NAME(add)(NAME(scale)(k2, Z), NAME(scale)(s.z, Bs));
    X.y -= m.z, X.z += m.y;
    Y.x += m.z, Y.z -= m.x;
    Z.x -= m.y, Z.y += m.x;
    const vec3 YZ = NAME(cross)(Y, Z), XF = NAME(cross)(X, F);
    const vec  over = 1 / NAME(dot)(X, YZ);
    return (vec3){s.x - over * NAME(dot)(F, YZ), s.y - over * NAME(dot)(Z, XF),
                  s.z + over * NAME(dot)(Y, XF)};
}

// Links of lane 0, 1, ... fly: at q with u for h. Their R is left in ends.
static TARGET void NAME(fly_lanes)(const tni_nullspace* ns, const int* lane, double h,
                                   const double* q, const double* u, double* q1, double* u1)
{
    const link* of[LANES];
    vec         at[4], x[3], v[3], I[6], inverse[6];
    vec3        w;
    for (int k = 0; k < LANES; ++k) {
        of[k]           = &ns->links[lane[k]];
        const double *p = q + of[k]->q, *r = u + of[k]->u, *a = &of[k]->inertia.xx,
                     *b = &of[k]->inverse.xx;
        for (int i = 0; i < 3; ++i) AT(x[i], k) = p[i], AT(v[i], k) = r[i];
        for (int i = 0; i < 4; ++i) AT(at[i], k) = p[3 + i];
        for (int i = 0; i < 6; ++i) AT(I[i], k) = a[i], AT(inverse[i], k) = b[i];
        AT(w.x, k) = r[3], AT(w.y, k) = r[4], AT(w.z, k) = r[5];
    }
    const vec3 axis = {at[1], at[2], at[3]}, back = {-at[1], -at[2], -at[3]};
    const vec3 a0 = NAME(scale)(0.5 * h + 0 * w.x, NAME(turn)(at[0], back, w));
    const vec3 l = NAME(times)(I, a0), la = NAME(cross)(l, a0), a1 = NAME(times)(inverse, la);
    const vec3 bend =
        NAME(sub)(NAME(cross)(l, a1), NAME(scale)(0.5 + 0 * w.x, NAME(cross)(a0, la)));
    const vec3 a = NAME(add)(NAME(add)(a0, a1), NAME(times)(inverse, bend));
    vec3       s = NAME(scale)(0.5 + NAME(dot)(a, a) * (1.0 / 24), a);
    for (int i = 0; i < NEWTON_ROUNDS; ++i) s = NAME(improve)(I, l, s);
    const vec  z = NAME(dot)(s, s), c = 1 / (1 + z), bw = (1 - z) * c;
    const vec3 bv = NAME(scale)(2 * c, s), bb = {-bv.x, -bv.y, -bv.z};
    vec        nw = at[0] * bw - NAME(dot)(axis, bv);
    vec3       nv =
        NAME(add)(NAME(add)(NAME(scale)(at[0], bv), NAME(scale)(bw, axis)), NAME(cross)(axis, bv));
    const vec n2 = nw * nw + NAME(dot)(nv, nv);
    vec       n;
    for (int k = 0; k < LANES; ++k) AT(n, k) = sqrt(AT(n2, k));
    n             = 1 / n;
    nw            = n * nw;
    nv            = NAME(scale)(n, nv);
    const vec3 e  = NAME(scale)(2 / h + 0 * w.x, NAME(times)(inverse, NAME(turn)(bw, bb, l)));
    const vec  xx = nv.x * nv.x, yy = nv.y * nv.y, zz = nv.z * nv.z, xy = nv.x * nv.y,
              xz = nv.x * nv.z, yz = nv.y * nv.z, wx = nw * nv.x, wy = nw * nv.y, wz = nw * nv.z;
    const vec R[9]  = {1 - 2 * (yy + zz), 2 * (xy - wz),     2 * (xz + wy),
                       2 * (xy + wz),     1 - 2 * (xx + zz), 2 * (yz - wx),
                       2 * (xz - wy),     2 * (yz + wx),     1 - 2 * (xx + yy)};
    const vec w1[3] = {R[0] * e.x + R[1] * e.y + R[2] * e.z, R[3] * e.x + R[4] * e.y + R[5] * e.z,
                       R[6] * e.x + R[7] * e.y + R[8] * e.z};
    for (int k = 0; k < LANES; ++k) {
        double *p = q1 + of[k]->q, *r = u1 + of[k]->u, *to = ns->ends[lane[k]].m;
        for (int i = 0; i < 9; ++i) to[i] = AT(R[i], k);
        for (int i = 0; i < 3; ++i) {
            p[i]     = AT(x[i], k) + h * AT(v[i], k);
            r[i]     = AT(v[i], k);
            r[3 + i] = AT(w1[i], k);
        }
        p[3] = AT(nw, k), p[4] = AT(nv.x, k), p[5] = AT(nv.y, k), p[6] = AT(nv.z, k);
        if (!(AT(z, k) < far_turn)) fly_far(ns, lane[k], h, q, u, q1, u1);
    }
}

// All links, roots first.
static TARGET void NAME(fly_all)(const tni_nullspace* ns, double h, const double* q,
                                 const double* u, double* q1, double* u1)
{
    for (int i = ns->count; i > 0; i -= LANES) {
        int lane[LANES];
        for (int k = 0; k < LANES; ++k) lane[k] = i - 1 - k > 0 ? i - 1 - k : 0;
        NAME(fly_lanes)(ns, lane, h, q, u, q1, u1);
    }
}

#undef JOIN_
#undef JOIN
#undef NAME
#undef vec
#undef vec3
#undef AT
#undef LANES
#undef SET
#undef TARGET
#undef BYTES
