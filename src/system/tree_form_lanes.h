// tree_form_lanes: kernels on links for one vector length. Compiled once for each, with
//     SET     its name
//     TARGET  the processor it is for, as an attribute
//     BYTES   of a vector
//     ROOT(x) its square root
// No include guard: the file is meant to be included several times. The result for a link does not
// depend on its lane or its neighbours, so all lengths give the same bits.
#include "math/lanes_vec3.h"

// I, symmetric: xx xy xz yy yz zz.
TNI_INLINE TARGET vec3 NAME(times)(const vec I[6], vec3 a)
{
    return (vec3){I[0] * a.x + I[1] * a.y + I[2] * a.z, I[1] * a.x + I[3] * a.y + I[4] * a.z,
                  I[2] * a.x + I[4] * a.y + I[5] * a.z};
}

TNI_INLINE TARGET vec3 NAME(bias)(vec3 w, vec3 r)
{
    return NAME(cross)(w, NAME(cross)(w, r));
}

// Number i of each lane.
TNI_INLINE TARGET vec NAME(take)(const double* const* p, int i)
{
#if !defined(__GNUC__)
    return p[0][i];
#elif BYTES == 32
    return (vec){p[0][i], p[1][i], p[2][i], p[3][i]};
#else
    return (vec){p[0][i], p[1][i]};
#endif
}

TNI_INLINE TARGET vec3 NAME(take3)(const double* const* p, int i)
{
    return (vec3){NAME(take)(p, i), NAME(take)(p, i + 1), NAME(take)(p, i + 2)};
}

// a turned by the unit quaternion (w, v).
TNI_INLINE TARGET vec3 NAME(turn)(vec w, vec3 v, vec3 a)
{
    const vec3 half = NAME(cross)(v, a), t = NAME(add)(half, half);
    return NAME(add)(NAME(add)(a, NAME(scale)(w, t)), NAME(cross)(v, t));
}

// As tni_quat_matrix.
TNI_INLINE TARGET void NAME(matrix)(vec w, vec3 v, vec R[9])
{
    const vec xx = v.x * v.x, yy = v.y * v.y, zz = v.z * v.z, xy = v.x * v.y, xz = v.x * v.z,
              yz = v.y * v.z, wx = w * v.x, wy = w * v.y, wz = w * v.z;
    R[0] = 1 - 2 * (yy + zz), R[1] = 2 * (xy - wz), R[2] = 2 * (xz + wy);
    R[3] = 2 * (xy + wz), R[4] = 1 - 2 * (xx + zz), R[5] = 2 * (yz - wx);
    R[6] = 2 * (xz - wy), R[7] = 2 * (yz + wx), R[8] = 1 - 2 * (xx + yy);
}

// ---- Survey -------------------------------------------------------------------------------------

// K += ee times the geometric stiffness of a force f at the arm r, as in geometric_stiffness.c,
// with the negative eigenvalue removed: c 1 - (f r^T + r f^T)/2 + (m - c)/(4 m (m + c)) b b^T for c
// > 0, b = |r| f + |f| r.
TNI_INLINE TARGET void NAME(stiffen)(double ee, vec3 f, vec3 r, vec K[6])
{
    const vec  F = ROOT(NAME(dot)(f, f)), L = ROOT(NAME(dot)(r, r)), m = F * L, c = NAME(dot)(f, r);
    const mask valid = (0.5 * (c + m) > 1e-14 * m) & (m > 1e-100), pulls = c >= 0;
    const vec  size = PICK(pulls, c, -c), sign = PICK(pulls, F, -F);
    const vec  s = ONLY(valid, ee * (m - size) / (4 * m * (m + size)));
    const vec  k = ONLY(valid & pulls, 0 * c + ee);
    const vec3 b = NAME(add)(NAME(scale)(L, f), NAME(scale)(sign, r)), sb = NAME(scale)(s, b),
               g = NAME(scale)(k, f), half = NAME(scale)(0.5 * k, f);
    const vec kc = NAME(dot)(g, r);
    K[0] += sb.x * b.x + (kc - g.x * r.x);
    K[1] += sb.x * b.y - (half.x * r.y + half.y * r.x);
    K[2] += sb.x * b.z - (half.x * r.z + half.z * r.x);
    K[3] += sb.y * b.y + (kc - g.y * r.y);
    K[4] += sb.y * b.z - (half.y * r.z + half.z * r.y);
    K[5] += sb.z * b.z + (kc - g.z * r.z);
}

// R S R^T
TNI_INLINE TARGET void NAME(turned)(const vec R[9], const vec S[6], vec out[6])
{
    const vec3 a = {R[0], R[1], R[2]}, b = {R[3], R[4], R[5]}, c = {R[6], R[7], R[8]};
    const vec3 x = NAME(times)(S, a), y = NAME(times)(S, b), z = NAME(times)(S, c);
    out[0] = NAME(dot)(x, a), out[1] = NAME(dot)(x, b), out[2] = NAME(dot)(x, c);
    out[3] = NAME(dot)(y, b), out[4] = NAME(dot)(y, c), out[5] = NAME(dot)(z, c);
}

TNI_INLINE TARGET void NAME(put)(double (*out)[TNI_LANES_MAX], int field, vec v)
{
    memcpy(out[field], &v, sizeof v);
}

TNI_INLINE TARGET void NAME(put3)(tni_survey out, int field, vec3 v)
{
    NAME(put)(out, field, v.x), NAME(put)(out, field + 1, v.y), NAME(put)(out, field + 2, v.z);
}

TNI_INLINE TARGET void NAME(exchange)(mask m, vec3* a, vec3* b)
{
    const vec3 c = *a;
    a->x = PICK(m, b->x, a->x), a->y = PICK(m, b->y, a->y), a->z = PICK(m, b->z, a->z);
    b->x = PICK(m, c.x, b->x), b->y = PICK(m, c.y, b->y), b->z = PICK(m, c.z, b->z);
}

// The joint's axes in the world: x, y of frame 1, x, y, z of frame 2. second: the link is body 2.
TNI_INLINE TARGET void NAME(axes)(const double* const* form, mask second, const vec R[9],
                                  const vec Rb[9], vec3 axes[5])
{
    enum { AXES = 26 }; // in tni_link_form
    vec R1[9], R2[9];
    for (int i = 0; i < 9; ++i) {
        R1[i] = PICK(second, Rb[i], R[i]);
        R2[i] = PICK(second, R[i], Rb[i]);
    }
    for (int i = 0; i < 5; ++i)
        axes[i] = NAME(rotated)(i < 2 ? R1 : R2, NAME(take3)(form, AXES + 3 * i));
}

// Target of the row s.t, s of body 1, t of body 2.
TNI_INLINE TARGET vec NAME(wanted)(const tni_tree_form* ns, vec3 s, vec3 t, vec3 w1, vec3 w2)
{
    const double h    = ns->scheme->h;
    vec          want = (-1 / h) * NAME(dot)(s, t);
    if (ns->start->second_order) {
        const vec rates = NAME(dot)(NAME(cross)(w1, s), NAME(cross)(w2, t));
        want -=
            0.5 * h *
            (NAME(dot)(NAME(bias)(w1, s), t) + NAME(dot)(s, NAME(bias)(w2, t)) + (rates + rates));
    }
    return want;
}

TNI_INLINE TARGET void NAME(hold_axis)(const tni_tree_form* ns, const vec3 axes[5], vec3 w1,
                                       vec3 w2, vec sign, tni_survey out)
{
    const vec3 s = axes[4], n1 = NAME(cross)(s, axes[0]), n2 = NAME(cross)(s, axes[1]);
    const vec  a = NAME(dot)(n1, n1), b = NAME(dot)(n1, n2), c = NAME(dot)(n2, n2),
              over = 1 / (a * c - b * b), g0 = over * c, g1 = -over * b, g2 = over * a;
    const vec r1 = NAME(wanted)(ns, axes[0], s, w1, w2), r2 = NAME(wanted)(ns, axes[1], s, w1, w2);
    const vec x = sign * (g0 * r1 + g1 * r2), y = sign * (g1 * r1 + g2 * r2);
    for (int i = 0; i < 5; ++i) NAME(put3)(out, TNI_SURVEY_AXES + 3 * i, axes[i]);
    NAME(put3)(out, TNI_SURVEY_N, n1);
    NAME(put3)(out, TNI_SURVEY_N + 3, n2);
    NAME(put3)(out, TNI_SURVEY_GRAM, (vec3){g0, g1, g2});
    NAME(put3)(out, TNI_SURVEY_TURN, NAME(add)(NAME(scale)(x, n1), NAME(scale)(y, n2)));
}

static TARGET void NAME(survey)(const tni_tree_form* ns, int first, tni_survey out)
{
    static const double   none[3] = {0, 0, 0};
    const tni_step_start* start   = ns->start;
    const double *        q[LANES], *x[LANES], *qb[LANES], *xb[LANES], *from[LANES], *form[LANES],
        *lambda[LANES], *form_b[LANES], *w[LANES], *wb[LANES];
    tn_quat       of_fixed[LANES];
    const double* moving = start->momentum != NULL ? start->momentum : start->at.u;
    for (int k = 0; k < LANES; ++k) {
        const int       i = first + k < ns->count ? first + k : ns->count - 1;
        const tni_link* a = &ns->links[i];
        x[k]              = start->at.q + a->q;
        q[k]              = x[k] + 3;
        from[k]           = moving + a->u;
        w[k]              = start->at.u + a->u + 3;
        form[k]           = &a->form->mass;
        lambda[k]         = start->multipliers != NULL && a->kind != TNI_LINK_OTHER
                                ? start->multipliers + a->row
                                : none;
        if (a->parent >= 0) {
            xb[k]     = start->at.q + ns->links[a->parent].q;
            qb[k]     = xb[k] + 3;
            form_b[k] = &ns->links[a->parent].form->mass;
            wb[k]     = start->at.u + ns->links[a->parent].u + 3;
        } else {
            of_fixed[k] = tni_matrix_quat(&ns->system->views[a->other].R);
            xb[k]       = &ns->system->views[a->other].x.x;
            qb[k]       = &of_fixed[k].w;
            form_b[k]   = form[k];
            wb[k]       = &ns->system->views[a->other].w.x;
        }
    }
    enum { MASS = 0, INERTIA = 1, REF = 13, ANCHOR = 16, SIGN = 19 }; // in tni_link_form
    const vec m = NAME(take)(form, MASS), sign = NAME(take)(form, SIGN);
    vec       R[9], Rb[9], S[6], I[6], K[6] = {0 * m, 0 * m, 0 * m, 0 * m, 0 * m, 0 * m};
    NAME(matrix)(NAME(take)(q, 0), NAME(take3)(q, 1), R);
    NAME(matrix)(NAME(take)(qb, 0), NAME(take3)(qb, 1), Rb);
    for (int i = 0; i < 6; ++i) S[i] = NAME(take)(form, INERTIA + i);
    const vec3 ref = NAME(rotated)(R, NAME(take3)(form, REF)),
               rb  = NAME(rotated)(Rb, NAME(take3)(form, ANCHOR));
    const vec3 gap =
        NAME(sub)(NAME(add)(NAME(take3)(x, 0), ref), NAME(add)(NAME(take3)(xb, 0), rb));
    NAME(turned)(R, S, I);
    vec3 f = NAME(take3)(from, 0), t = NAME(take3)(from, 3);
    if (start->momentum == NULL) f = NAME(scale)(m, f), t = NAME(times)(I, t);
    if (ns->plain == NULL) {
        const tn_vec3 g  = ns->model->gravity;
        const vec     em = ns->e * m;
        f.x += em * g.x, f.y += em * g.y, f.z += em * g.z;
    }
    if (start->multipliers != NULL) {
        const double ee   = ns->e * ns->e;
        const vec3   push = NAME(scale)(sign, NAME(take3)(lambda, 0)),
                   back   = {-push.x, -push.y, -push.z};
        // The force acts at body 2's anchor.
        const mask second = sign > 0;
        const vec3 off    = {ONLY(~second, gap.x), ONLY(~second, gap.y), ONLY(~second, gap.z)};
        const vec3 off_b  = {ONLY(second, gap.x), ONLY(second, gap.y), ONLY(second, gap.z)};
        NAME(stiffen)(ee, push, NAME(sub)(ref, off), I);
        NAME(stiffen)(ee, back, NAME(add)(rb, off_b), K);
    }
    for (int i = 0; i < 6; ++i) {
        NAME(put)(out, TNI_SURVEY_I + i, I[i]);
        NAME(put)(out, TNI_SURVEY_KB + i, K[i]);
    }
    NAME(put3)(out, TNI_SURVEY_F, f);
    NAME(put3)(out, TNI_SURVEY_T, t);
    NAME(put3)(out, TNI_SURVEY_REF, ref);
    NAME(put3)(out, TNI_SURVEY_RB, rb);
    NAME(put3)(out, TNI_SURVEY_D, NAME(sub)(rb, NAME(rotated)(Rb, NAME(take3)(form_b, REF))));
    const double over = -1 / ns->scheme->h;
    vec3         p    = {over * gap.x, over * gap.y, over * gap.z};
    if (start->second_order) {
        const vec3   b = NAME(bias)(NAME(take3)(wb, 0), rb), a = NAME(bias)(NAME(take3)(w, 0), ref);
        const double half = 0.5 * ns->scheme->h;
        p.x += half * (b.x - a.x), p.y += half * (b.y - a.y), p.z += half * (b.z - a.z);
    }
    NAME(put3)(out, TNI_SURVEY_P, p);
    if (!ns->holds_rotation) return;
    const mask second = sign > 0;
    vec3       axes[5];
    NAME(axes)(form, second, R, Rb, axes);
    vec3 w1 = NAME(take3)(wb, 0), w2 = NAME(take3)(w, 0);
    NAME(exchange)(~second, &w1, &w2);
    NAME(hold_axis)(ns, axes, w1, w2, sign, out);
}

// ---- Flight -------------------------------------------------------------------------------------

// atan(|s|)/|s| = 1 - z/3 + z^2/5 - ..., z = s.s up to 0.0653. Grouped in fours for short
// dependency chains.
TNI_INLINE TARGET vec NAME(kappa)(vec z)
{
    const vec z2 = z * z, z4 = z2 * z2;
    const vec a = (1 - z * (1.0 / 3)) + z2 * (1.0 / 5 - z * (1.0 / 7)),
              b = (1.0 / 9 - z * (1.0 / 11)) + z2 * (1.0 / 13 - z * (1.0 / 15)),
              c = (1.0 / 17 - z * (1.0 / 19)) + z2 * (1.0 / 21 - z * (1.0 / 23));
    return a + z4 * (b + z4 * c);
}

// First-order error of s, with the rows of the inverse of dF.
TNI_INLINE TARGET vec3 NAME(off)(const vec I[6], vec3 l, vec3 s, const vec3 rows[3])
{
    const vec  k2 = 2 * NAME(kappa)(NAME(dot)(s, s));
    const vec3 Ia = NAME(times)(I, NAME(scale)(k2, s)), m = NAME(add)(Ia, l);
    const vec3 F = NAME(add)(NAME(sub)(Ia, l), NAME(cross)(s, m));
    return (vec3){NAME(dot)(F, rows[0]), NAME(dot)(F, rows[1]), NAME(dot)(F, rows[2])};
}

// Rows of the inverse of dF.
TNI_INLINE TARGET void NAME(invert)(const vec I[6], vec3 l, vec3 s, vec3 rows[3])
{
    const vec  z = NAME(dot)(s, s), k2 = 2 * NAME(kappa)(z), slope = z * 1.6 - 4.0 / 3; // 4 k'
    const vec3 m = NAME(add)(NAME(times)(I, NAME(scale)(k2, s)), l);
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
    const vec3 YZ   = NAME(cross)(Y, Z);
    const vec  over = 1 / NAME(dot)(X, YZ);
    rows[0]         = NAME(scale)(over, YZ);
    rows[1]         = NAME(scale)(over, NAME(cross)(Z, X));
    rows[2]         = NAME(scale)(over, NAME(cross)(X, Y));
}

// s of a flight; a0 = h W / 2 at its start, l = I a0. As many rounds as the size of a0 needs for
// 1e-13.
TNI_INLINE TARGET vec3 NAME(solve)(const vec I[6], const vec inverse[6], vec3 a0, vec3 l)
{
    const vec3 la = NAME(cross)(l, a0), a1 = NAME(times)(inverse, la), b = NAME(cross)(a0, la);
    const vec3 c    = NAME(cross)(l, a1);
    const vec3 bend = {c.x - 0.5 * b.x, c.y - 0.5 * b.y, c.z - 0.5 * b.z};
    const vec3 a    = NAME(add)(NAME(add)(a0, a1), NAME(times)(inverse, bend));
    const vec  n    = NAME(dot)(a0, a0);
    vec3       s    = NAME(scale)(0.5 + NAME(dot)(a, a) * (1.0 / 24), a), rows[3];
    NAME(invert)(I, l, s, rows);
    s = NAME(sub)(s, NAME(off)(I, l, s, rows));
    for (int round = 0; round < 2; ++round) {
        const double limit = round == 0 ? rounds_2 : rounds_3;
        const mask   more  = n > limit;
        bool         any   = false;
        for (int k = 0; k < LANES; ++k) any = any || AT(n, k) > limit;
        if (!any) break;
        const vec3 next = NAME(sub)(s, NAME(off)(I, l, s, rows));
        s = (vec3){PICK(more, next.x, s.x), PICK(more, next.y, s.y), PICK(more, next.z, s.z)};
    }
    return s;
}

// A number of the lanes' forms; one: all lanes share a form.
TNI_INLINE TARGET vec NAME(of_form)(const double* const* form, bool one, int i)
{
    if (!one) return NAME(take)(form, i);
    const vec zero = {0};
    return zero + form[0][i];
}

// Anchor rows of link i; P: its own anchor, C: that of its only child, if it has just one. A parent
// stores C in the rows of the child, which is processed later.
TNI_INLINE TARGET void NAME(land)(const tni_tree_form* ns, int i, tn_vec3 P, tn_vec3 C,
                                  const double* q1, double* r)
{
    const tni_link* a = &ns->links[i];
    if (a->single && ns->links[i - 1].kind != TNI_LINK_OTHER)
        tni_write3(r + ns->links[i - 1].row, C);
    if (a->kind == TNI_LINK_OTHER) return;
    tn_vec3 on_parent = tni_read3(r + a->row);
    if (a->parent >= 0 && !ns->links[a->parent].single)
        on_parent = tni_add(tni_read3(q1 + ns->links[a->parent].q),
                            tni_mul(&ns->ends[a->parent], a->form->anchor));
    tni_write3(r + a->row, tni_scale(a->form->sign, tni_sub(P, on_parent)));
}

// Free flight of `count` links from `last` down, at q with u for h. r NULL: their R goes into ends;
// else R is stored only where children need it, and the anchors' rows go into r.
TNI_INLINE TARGET void NAME(fly_some)(const tni_tree_form* ns, int last, int count, double h,
                                      const double* q, const double* u, double* q1, double* u1,
                                      double* r)
{
    enum { INERTIA = 1, INVERSE = 7, REF = 13, ANCHOR = 16 }; // in tni_link_form
    const double *x[LANES], *at[LANES], *v[LANES], *form[LANES], *child[LANES];
    vec           I[6], inverse[6], R[9];
    bool          one = true;
    for (int k = 0; k < LANES; ++k) {
        const int       i = last - (k < count ? k : 0);
        const tni_link* a = &ns->links[i];
        x[k] = q + a->q, at[k] = x[k] + 3, v[k] = u + a->u, form[k] = &a->form->mass;
        child[k] = &ns->links[i > 0 ? i - 1 : 0].form->mass;
        one      = one && form[k] == form[0] && child[k] == form[0];
    }
    for (int i = 0; i < 6; ++i) {
        I[i]       = NAME(of_form)(form, one, INERTIA + i);
        inverse[i] = NAME(of_form)(form, one, INVERSE + i);
    }
    const vec  w    = NAME(take)(at, 0);
    const vec3 axis = NAME(take3)(at, 1), back = {-axis.x, -axis.y, -axis.z};
    const vec3 W  = NAME(turn)(w, back, NAME(take3)(v, 3)),
               a0 = {0.5 * h * W.x, 0.5 * h * W.y, 0.5 * h * W.z};
    const vec3 l = NAME(times)(I, a0), s = NAME(solve)(I, inverse, a0, l);
    const vec  z = NAME(dot)(s, s), c = 1 / (1 + z), bw = (1 - z) * c;
    const vec3 bv = NAME(scale)(2 * c, s), bb = {-bv.x, -bv.y, -bv.z};
    vec        nw = w * bw - NAME(dot)(axis, bv);
    vec3       nv =
        NAME(add)(NAME(add)(NAME(scale)(w, bv), NAME(scale)(bw, axis)), NAME(cross)(axis, bv));
    const vec n = 1 / ROOT(nw * nw + NAME(dot)(nv, nv));
    nw          = n * nw;
    nv          = NAME(scale)(n, nv);
    NAME(matrix)(nw, nv, R);
    const double over = 2 / h;
    const vec3   e    = NAME(times)(inverse, NAME(turn)(bw, bb, l)),
               w1     = NAME(rotated)(R, (vec3){over * e.x, over * e.y, over * e.z}),
               x0 = NAME(take3)(x, 0), v0 = NAME(take3)(v, 0),
               x1 = {x0.x + h * v0.x, x0.y + h * v0.y, x0.z + h * v0.z};
    vec3 P = x1, C = x1;
    if (r != NULL) {
        const vec3 ref    = {NAME(of_form)(form, one, REF), NAME(of_form)(form, one, REF + 1),
                             NAME(of_form)(form, one, REF + 2)},
                   anchor = {NAME(of_form)(child, one, ANCHOR),
                             NAME(of_form)(child, one, ANCHOR + 1),
                             NAME(of_form)(child, one, ANCHOR + 2)};
        P = NAME(add)(x1, NAME(rotated)(R, ref)), C = NAME(add)(x1, NAME(rotated)(R, anchor));
    }
    UNROLL for (int k = 0; k < LANES; ++k)
    {
        if (k >= count) break;
        const int       i = last - k;
        const tni_link* a = &ns->links[i];
        double *        p = q1 + a->q, *u_end = u1 + a->u, *to = ns->ends[i].m;
        p[0] = AT(x1.x, k), p[1] = AT(x1.y, k), p[2] = AT(x1.z, k);
        p[3] = AT(nw, k), p[4] = AT(nv.x, k), p[5] = AT(nv.y, k), p[6] = AT(nv.z, k);
        u_end[0] = AT(v0.x, k), u_end[1] = AT(v0.y, k), u_end[2] = AT(v0.z, k);
        u_end[3] = AT(w1.x, k), u_end[4] = AT(w1.y, k), u_end[5] = AT(w1.z, k);
        if (r == NULL || (a->slot >= 0 && !a->single))
            for (int j = 0; j < 9; ++j) to[j] = AT(R[j], k);
        tn_vec3 own  = {AT(P.x, k), AT(P.y, k), AT(P.z, k)},
                held = {AT(C.x, k), AT(C.y, k), AT(C.z, k)};
        if (!(AT(z, k) < far_turn)) fly_far(ns, i, h, q, u, q1, u1, &own, &held);
        if (r != NULL) NAME(land)(ns, i, own, held, q1, r);
    }
}

static TARGET void NAME(fly)(const tni_tree_form* ns, int first, int end, double h, const double* q,
                             const double* u, double* q1, double* u1, double* r)
{
    for (int i = end; i > first; i -= LANES)
        NAME(fly_some)(ns, i - 1, i - first < LANES ? i - first : LANES, h, q, u, q1, u1, r);
}

static TARGET void NAME(gaps)(const tni_tree_form* ns, int first, int last, const double* q1,
                              double gap[6][TNI_LANES_MAX])
{
    enum { REF = 13, ANCHOR = 16, SIGN = 19 }; // in tni_link_form
    const double *x[LANES], *xb[LANES], *r[LANES], *rb[LANES], *form[LANES];
    vec           R[9], Rb[9];
    for (int k = 0; k < LANES; ++k) {
        const int       i = last - k > first ? last - k : first;
        const tni_link* a = &ns->links[i];
        x[k] = q1 + a->q, r[k] = ns->ends[i].m, form[k] = &a->form->mass;
        xb[k] = a->parent >= 0 ? q1 + ns->links[a->parent].q : &ns->system->views[a->other].x.x;
        rb[k] = a->parent >= 0 ? ns->ends[a->parent].m : ns->system->views[a->other].R.m;
    }
    for (int i = 0; i < 9; ++i) R[i] = NAME(take)(r, i), Rb[i] = NAME(take)(rb, i);
    const vec3 P = NAME(add)(NAME(take3)(x, 0), NAME(rotated)(R, NAME(take3)(form, REF))),
               Q = NAME(add)(NAME(take3)(xb, 0), NAME(rotated)(Rb, NAME(take3)(form, ANCHOR))),
               D = NAME(sub)(P, Q);
    memcpy(gap[0], &D.x, sizeof D.x);
    memcpy(gap[1], &D.y, sizeof D.y);
    memcpy(gap[2], &D.z, sizeof D.z);
    if (!ns->holds_rotation) return;
    vec3 axes[5];
    NAME(axes)(form, NAME(take)(form, SIGN) > 0, R, Rb, axes);
    const vec tilt1 = NAME(dot)(axes[0], axes[4]), tilt2 = NAME(dot)(axes[1], axes[4]),
              twist = NAME(dot)(axes[0], axes[3]);
    memcpy(gap[3], &tilt1, sizeof tilt1);
    memcpy(gap[4], &tilt2, sizeof tilt2);
    memcpy(gap[5], &twist, sizeof twist);
}

static TARGET void NAME(rates)(const tni_tree_form* ns, int first, int last, const double* q,
                               const double* u, double out[8][TNI_LANES_MAX])
{
    enum { REF = 13, ANCHOR = 16, SIGN = 19 }; // in tni_link_form
    const double *p[LANES], *pb[LANES], *v[LANES], *vb[LANES], *wb[LANES], *form[LANES];
    tn_quat       of_fixed[LANES];
    vec           R[9], Rb[9];
    for (int k = 0; k < LANES; ++k) {
        const tni_link* a    = &ns->links[last - k > first ? last - k : first];
        const tni_view* view = &ns->system->views[a->other];
        p[k] = q + a->q + 3, v[k] = u + a->u, form[k] = &a->form->mass;
        if (a->parent >= 0) {
            pb[k] = q + ns->links[a->parent].q + 3;
            vb[k] = u + ns->links[a->parent].u;
            wb[k] = vb[k] + 3;
        } else {
            of_fixed[k] = tni_matrix_quat(&view->R);
            pb[k] = &of_fixed[k].w, vb[k] = &view->v.x, wb[k] = &view->w.x;
        }
    }
    NAME(matrix)(NAME(take)(p, 0), NAME(take3)(p, 1), R);
    NAME(matrix)(NAME(take)(pb, 0), NAME(take3)(pb, 1), Rb);
    vec3       w1 = NAME(take3)(wb, 0), w2 = NAME(take3)(v, 3);
    const vec3 at_a = NAME(cross)(w2, NAME(rotated)(R, NAME(take3)(form, REF))),
               at_b = NAME(cross)(w1, NAME(rotated)(Rb, NAME(take3)(form, ANCHOR)));
    const vec3 D =
        NAME(sub)(NAME(add)(NAME(take3)(v, 0), at_a), NAME(add)(NAME(take3)(vb, 0), at_b));
    NAME(put)(out, 0, D.x), NAME(put)(out, 1, D.y), NAME(put)(out, 2, D.z);
    if (!ns->holds_rotation) return;
    const mask second = NAME(take)(form, SIGN) > 0;
    vec3       axes[5];
    NAME(axes)(form, second, R, Rb, axes);
    NAME(exchange)(~second, &w1, &w2);
    const vec3 w = NAME(sub)(w2, w1);
    NAME(put)(out, 3, NAME(dot)(w, NAME(cross)(axes[4], axes[0])));
    NAME(put)(out, 4, NAME(dot)(w, NAME(cross)(axes[4], axes[1])));
    NAME(put)(out, 5, NAME(dot)(w, NAME(cross)(axes[3], axes[0])));
    NAME(put)(out, 6, NAME(dot)(axes[0], axes[2]));
    NAME(put)(out, 7, NAME(dot)(axes[1], axes[2]));
}

static const tni_link_lanes SET = {LANES, NAME(survey), NAME(fly), NAME(gaps), NAME(rates)};

#include "math/lanes_end.h"
