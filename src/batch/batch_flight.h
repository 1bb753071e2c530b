// batch_flight: bodies from the start of a step to its end at given velocities (the flight of
// tree_form_lanes.h), and joint rows and rates there (tree_form.c).
#ifndef TNI_BATCH_FLIGHT_H
#define TNI_BATCH_FLIGHT_H

#include "batch/batch_tree.h"

TNI_INLINE vec3 times1(const tni_sym* I, vec3 a)
{
    return make3(I->xx * a.x + I->xy * a.y + I->xz * a.z, I->xy * a.x + I->yy * a.y + I->yz * a.z,
                 I->xz * a.x + I->yz * a.y + I->zz * a.z);
}

// a rotated by the unit quaternion (w, v).
TNI_INLINE vec3 turn_by(vec w, vec3 v, vec3 a)
{
    const vec3 half = cross(v, a), t = add(half, half);
    return add(add(a, scale(w, t)), cross(v, t));
}

// atan(|s|)/|s|, z = s.s
TNI_INLINE vec kappa(vec z)
{
    const vec z2 = z * z, z4 = z2 * z2;
    const vec a = (1 - z * (1.0 / 3)) + z2 * (1.0 / 5 - z * (1.0 / 7)),
              b = (1.0 / 9 - z * (1.0 / 11)) + z2 * (1.0 / 13 - z * (1.0 / 15)),
              c = (1.0 / 17 - z * (1.0 / 19)) + z2 * (1.0 / 21 - z * (1.0 / 23));
    return a + z4 * (b + z4 * c);
}

// Newton correction of s; inverse: rows of the inverse of dF.
TNI_INLINE vec3 off_by(const tni_sym* I, vec3 l, vec3 s, const vec3 inverse[3])
{
    const vec  k2 = 2 * kappa(dot(s, s));
    const vec3 Ia = times1(I, scale(k2, s)), m = add(Ia, l);
    const vec3 F = add(sub(Ia, l), cross(s, m));
    return make3(dot(F, inverse[0]), dot(F, inverse[1]), dot(F, inverse[2]));
}

TNI_INLINE void invert(const tni_sym* I, vec3 l, vec3 s, vec3 inverse[3])
{
    const vec  z = dot(s, s), k2 = 2 * kappa(z), slope = z * 1.6 - 4.0 / 3;
    const vec3 m = add(times1(I, scale(k2, s)), l);
    vec3       X = splat3(tni_vec3(I->xx, I->xy, I->xz)), Y = splat3(tni_vec3(I->xy, I->yy, I->yz)),
         Z        = splat3(tni_vec3(I->xz, I->yz, I->zz));
    X             = add(X, cross(s, X));
    Y             = add(Y, cross(s, Y));
    Z             = add(Z, cross(s, Z));
    const vec3 Bs = scale(slope, add(add(scale(s.x, X), scale(s.y, Y)), scale(s.z, Z)));
    X             = add(scale(k2, X), scale(s.x, Bs));
    Y             = add(scale(k2, Y), scale(s.y, Bs));
    Z             = add(scale(k2, Z), scale(s.z, Bs));
    X.y -= m.z, X.z += m.y;
    Y.x += m.z, Y.z -= m.x;
    Z.x -= m.y, Z.y += m.x;
    const vec3 YZ   = cross(Y, Z);
    const vec  over = 1 / dot(X, YZ);
    inverse[0]      = scale(over, YZ);
    inverse[1]      = scale(over, cross(Z, X));
    inverse[2]      = scale(over, cross(X, Y));
}

// s of a flight; a0 = h W / 2 at its start, l = I a0.
TNI_INLINE vec3 half_turn(const tni_link_form* form, vec3 a0, vec3 l)
{
    const tni_sym* I  = &form->inertia;
    const vec3     la = cross(l, a0), a1 = times1(&form->inverse, la), b = cross(a0, la),
               c    = cross(l, a1);
    const vec3 bend = make3(c.x - 0.5 * b.x, c.y - 0.5 * b.y, c.z - 0.5 * b.z);
    const vec3 a    = add(add(a0, a1), times1(&form->inverse, bend));
    const vec  n    = dot(a0, a0);
    vec3       s    = scale(0.5 + dot(a, a) * (1.0 / 24), a), inverse[3];
    invert(I, l, s, inverse);
    s = sub(s, off_by(I, l, s, inverse));
    for (int round = 0; round < 2; ++round) {
        const mask again = n > (round == 0 ? TNI_FLIGHT_ROUNDS_2 : TNI_FLIGHT_ROUNDS_3);
        if (!any(again)) break;
        s = pick3(again, sub(s, off_by(I, l, s, inverse)), s);
    }
    return s;
}

TNI_INLINE tn_vec3 lane3(const vec* p, int lane)
{
    return tni_vec3(p[0][lane], p[1][lane], p[2][lane]);
}

// One lane's body that rotates far within a step: fly_far of tree_form_lanes.c.
static void fly_far(workspace* w, int i, int lane)
{
    const tni_link* a = w->plan->links[i].link;
    const vec *     p = w->q + a->q + 3, *u = w->v + a->u + 3;
    tn_quat         to  = {p[0][lane], p[1][lane], p[2][lane], p[3][lane]};
    tn_vec3         end = lane3(u, lane);
    tni_turn_freely(&w->plan->model->bodies[a->body].inertia, w->h, &to, &end);
    const tni_mat3 R     = tni_quat_matrix(to);
    const double   q1[4] = {to.w, to.x, to.y, to.z}, u1[3] = {end.x, end.y, end.z};
    for (int k = 0; k < 4; ++k) w->q1[a->q + 3 + k][lane] = q1[k];
    for (int k = 0; k < 3; ++k) w->u1[a->u + 3 + k][lane] = u1[k];
    for (int k = 0; k < 9; ++k) w->R1[i].m[k][lane] = R.m[k];
}

static void fly_link(workspace* w, int i)
{
    const tni_batch_link* a    = &w->plan->links[i];
    const tni_link_form*  form = a->form;
    const double          h = w->h, half = 0.5 * h, over = 2 / h;
    const vec *           q = w->q + a->link->q, *u = w->v + a->link->u;
    vec *                 q1 = w->q1 + a->link->q, *u1 = w->u1 + a->link->u;
    const vec3            axis = read3(q + 4), v = read3(u), x = read3(q);
    const vec3            W = turn_by(q[3], neg(axis), read3(u + 3)),
               a0           = make3(half * W.x, half * W.y, half * W.z);
    const vec3 l = times1(&form->inertia, a0), s = half_turn(form, a0, l);
    const vec  z = dot(s, s), c = 1 / (1 + z), bw = (1 - z) * c;
    const vec3 bv = scale(2 * c, s);
    vec        nw = q[3] * bw - dot(axis, bv);
    vec3       nv = add(add(scale(q[3], bv), scale(bw, axis)), cross(axis, bv));
    const vec  n  = 1 / ROOT(nw * nw + dot(nv, nv));
    nw            = n * nw;
    nv            = scale(n, nv);
    w->R1[i]      = quat_matrix((quat){nw, nv.x, nv.y, nv.z});
    const vec3 e  = times1(&form->inverse, turn_by(bw, neg(bv), l));
    write3(q1, make3(x.x + h * v.x, x.y + h * v.y, x.z + h * v.z));
    q1[3] = nw;
    write3(q1 + 4, nv);
    write3(u1, v);
    write3(u1 + 3, mul(&w->R1[i], make3(over * e.x, over * e.y, over * e.z)));
    const mask far = ~(z < TNI_FLIGHT_FAR);
    if (!any(far)) return;
    EACH(k) if (far[k]) fly_far(w, i, k);
}

// ---- Joint errors ------------------------------------------------------------------------------

// The largest of three; infinity if one is NaN.
TNI_INLINE vec largest3(vec3 r)
{
    const vec a = absolute(r.x), b = absolute(r.y), c = absolute(r.z), sum = a + b + c;
    const vec ab = pick(a > b, a, b);
    return pick(sum == sum, pick(ab > c, ab, c), splat(HUGE_VAL));
}

/// The largest value so far and its constraint; ties go to the smaller index.
typedef struct worst_of {
    vec  most;
    mask which;
} worst_of;

TNI_INLINE void count_in(worst_of* worst, vec e, int constraint)
{
    mask number = {0};
    number += constraint;
    const mask skip = (e < worst->most) | ((e == worst->most) & ~(number < worst->which));
    worst->most     = pick(skip, worst->most, pick(e == e, e, splat(HUGE_VAL)));
    worst->which    = (skip & worst->which) | (~skip & number);
}

TNI_INLINE vec count_row(vec most, vec e)
{
    return pick(e <= most, most, e);
}

static vec universal_rows(const workspace* w, int i, vec* r)
{
    const universal_state c    = universal_at(w, i, w->R1, w->q1, w->u1);
    vec                   most = {0};
    write3(r, c.at);
    r[3] = dot(c.s, c.t);
    for (int k = 0; k < UNIVERSAL_ROWS; ++k) most = count_row(most, absolute(r[k]));
    return most;
}

// Writes C of a joint at the end into r; returns the largest.
static vec rows_of(const workspace* w, int i)
{
    const tni_batch_link* a = &w->plan->links[i];
    vec*                  r = w->r + a->link->row;
    if (a->between == TNI_BATCH_UNIVERSAL) return universal_rows(w, i, r);
    const mat3 *R = &w->R1[i], *Rb = a->parent >= 0 ? &w->R1[a->parent] : &w->fixeds[i].R;
    const vec3  xb =
        a->parent >= 0 ? read3(w->q1 + w->plan->links[a->parent].link->q) : w->fixeds[i].x;
    const vec3 P = add(read3(w->q1 + a->link->q), mul1(R, a->form->ref)),
               Q = add(xb, mul1(Rb, a->form->anchor)), gap = scale1(a->form->sign, sub(P, Q));
    vec e = largest3(gap);
    write3(r, gap);
    if (a->between == TNI_BATCH_BALL) return e;
    vec3 axes[5];
    axes_of(a, R, Rb, axes);
    r[3] = dot(axes[0], axes[4]), r[4] = dot(axes[1], axes[4]);
    if (a->between == TNI_BATCH_HINGE) return larger(e, larger(absolute(r[3]), absolute(r[4])));
    r[5] = dot(axes[0], axes[3]);
    return larger(e, largest3(read3(r + 3)));
}

/// Moves all bodies with v to the end: q1, u1, and r. Returns the largest joint error.
static worst_of fly(workspace* w)
{
    worst_of worst = {{0}, {0}};
    worst.which -= 1;
    for (int i = w->plan->count; i-- > 0;) fly_link(w, i);
    for (int i = w->plan->count; i-- > 0;)
        if (w->plan->links[i].joint != NULL)
            count_in(&worst, rows_of(w, i), w->plan->links[i].link->constraint);
    return worst;
}

// ---- Measuring ---------------------------------------------------------------------------------

static vec measure_universal(workspace* w, int i)
{
    const tni_batch_link* a    = &w->plan->links[i];
    const universal_state c    = universal_at(w, i, w->R1, w->q1, w->u1);
    const side            from = side_of(w, w->R1, i, 0), to = side_of(w, w->R1, i, 1);
    vec*                  z    = w->z + a->z;
    vec                   most = {0};
    most                       = count_row(most, absolute(c.rate.x));
    most                       = count_row(most, absolute(c.rate.y));
    most                       = count_row(most, absolute(c.rate.z));
    most                       = count_row(most, absolute(right_angle_rate(&c)));
    z[0]                       = angle_between(a->joint, from.R, to.R, turn_about_axis, z[0]);
    z[1]                       = angle_between(a->joint, from.R, to.R, turn_about_other, z[1]);
    return most;
}

// The largest rate of a joint's rows at the end; updates its angles in z.
static vec rates_of(workspace* w, int i)
{
    const tni_batch_link* a = &w->plan->links[i];
    if (a->between == TNI_BATCH_UNIVERSAL) return measure_universal(w, i);
    const mat3 *R = &w->R1[i], *Rb = a->parent >= 0 ? &w->R1[a->parent] : &w->fixeds[i].turned;
    const vec * v = w->u1 + a->link->u,
              *b  = a->parent >= 0 ? w->u1 + w->plan->links[a->parent].link->u : NULL;
    const vec3 wa = read3(v + 3), wb = b != NULL ? read3(b + 3) : zero3(),
               vb   = b != NULL ? read3(b) : zero3();
    const vec3 at_a = cross(wa, mul1(R, a->form->ref)), at_b = cross(wb, mul1(Rb, a->form->anchor));
    const vec3 D = sub(add(read3(v), at_a), add(vb, at_b));
    vec        e = largest3(D);
    if (a->between == TNI_BATCH_BALL) return e;
    vec3 axes[5];
    axes_of(a, R, Rb, axes);
    const vec3 turning = a->second ? sub(wa, wb) : sub(wb, wa);
    const vec  r3      = dot(turning, cross(axes[4], axes[0])),
              r4       = dot(turning, cross(axes[4], axes[1]));
    if (a->between == TNI_BATCH_WELD)
        return larger(e, largest3(make3(r3, r4, dot(turning, cross(axes[3], axes[0])))));
    w->z[a->z] = unwrapped(w->z[a->z], arc(dot(axes[1], axes[2]), dot(axes[0], axes[2])));
    return larger(e, larger(absolute(r3), absolute(r4)));
}

/// At the end: the largest rate of all rows; updates the angles in z.
static vec measure(workspace* w)
{
    worst_of worst = {{0}, {0}};
    worst.which -= 1;
    for (int i = w->plan->count; i-- > 0;)
        if (w->plan->links[i].joint != NULL)
            count_in(&worst, rates_of(w, i), w->plan->links[i].link->constraint);
    return worst.most;
}

#endif
