// batch_universal: links on universal joints, and roots that float: dense algebra at the centre of mass, as
// system/tree_form_dense.c has it.
#ifndef TNI_BATCH_UNIVERSAL_H
#define TNI_BATCH_UNIVERSAL_H

#include "batch/batch_joint.h"

TNI_INLINE vec dot6(const vec* a, const vec* b)
{
    vec sum = {0};
    UNROLL for (int k = 0; k < 6; ++k) sum += a[k] * b[k];
    return sum;
}

// Of rows that turn only.
TNI_INLINE vec dot_turn(vec3 J, const vec* b)
{
    return 0 + J.x * b[3] + J.y * b[4] + J.z * b[5];
}

// L below, 1 / d on the diagonal. Lanes where d is positive.
TNI_INLINE mask ldl(int n, vec* a)
{
    mask good = {0};
    good      = ~good;
    for (int j = 0; j < n; ++j) {
        vec d = a[j * n + j];
        UNROLL for (int k = 0; k < j; ++k) d -= a[j * n + k] * a[j * n + k] / a[k * n + k];
        good &= d > 0;
        a[j * n + j] = 1 / d;
        for (int i = j + 1; i < n; ++i) {
            vec x = a[i * n + j];
            UNROLL for (int k = 0; k < j; ++k) x -= a[i * n + k] * a[j * n + k] / a[k * n + k];
            a[i * n + j] = x / d;
        }
    }
    return good;
}

TNI_INLINE void ldl_solve(int n, const vec* a, vec* x)
{
    for (int i = 0; i < n; ++i) UNROLL for (int k = 0; k < i; ++k) x[i] -= a[i * n + k] * x[k];
    for (int i = n; i-- > 0;) {
        x[i] *= a[i * n + i];
        for (int k = i + 1; k < n; ++k) x[i] -= a[k * n + i] * x[k];
    }
}

static void spread(const bulk* B, vec* A)
{
    const vec* H    = B->H.m;
    const vec  m[9] = {B->M.xx, B->M.xy, B->M.xz, B->M.xy, B->M.yy,
                       B->M.yz, B->M.xz, B->M.yz, B->M.zz},
              t[9]  = {B->I.xx, B->I.xy, B->I.xz, B->I.xy, B->I.yy,
                       B->I.yz, B->I.xz, B->I.yz, B->I.zz};
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            A[6 * i + j] = m[3 * i + j], A[6 * (3 + i) + 3 + j] = t[3 * i + j];
            A[6 * i + 3 + j] = H[3 * i + j], A[6 * (3 + j) + i] = H[3 * i + j];
        }
}

// ---- Roots ---------------------------------------------------------------------------------------

// All six velocities are free: S = 1, D = A.
static void begin_root(herd* w, dense* o, const bulk* B)
{
    spread(B, o->D);
    for (int k = 0; k < 36; ++k) o->D[k] = 0 + o->D[k];
    w->bad |= ~ldl(6, o->D);
    write3(o->q, B->f), write3(o->q + 3, B->t);
    for (int k = 0; k < 6; ++k) o->q[k] = 0 + o->q[k];
    ldl_solve(6, o->D, o->q);
}

static void pass_root(dense* o, vec3 f, vec3 t)
{
    write3(o->q, f), write3(o->q + 3, t);
    for (int k = 0; k < 6; ++k) o->q[k] = 0 + o->q[k];
    ldl_solve(6, o->D, o->q);
}

static void end_root(const dense* o, vec* u)
{
    for (int k = 0; k < 6; ++k) u[k] = 0 + o->q[k];
}

// ---- Universal joints ----------------------------------------------------------------------------

// to -= v (v.to)/beta, its numbers k .. 5 being `step` apart.
TNI_INLINE void reflect(int k, const vec* v, vec beta, vec* to, int step)
{
    vec along = {0};
    UNROLL for (int i = k; i < 6; ++i) along += v[i] * to[i * step];
    const vec by = along / beta;
    UNROLL for (int i = k; i < 6; ++i) to[i * step] -= v[i] * by;
}

// The same of all columns of the unit matrix.
TNI_INLINE void reflect_unit(const vec* v, vec beta, vec* Q)
{
    for (int j = 0; j < 6; ++j) {
        const vec by                                    = (0 + v[j]) / beta;
        UNROLL for (int i = 0; i < 6; ++i) Q[6 * i + j] = (i == j ? 1.0 : 0.0) - v[i] * by;
    }
}

// Householder, as factor_rows. J: the rows, one after the other.
static void factor_rows(herd* w, const vec* J, vec* Q, vec* R)
{
    vec A[6 * CROSS_ROWS];
    for (int i = 0; i < 6 * CROSS_ROWS; ++i) A[i] = J[i];
    UNROLL for (int k = 0; k < CROSS_ROWS; ++k)
    {
        vec *     a = A + 6 * k, norm2 = {0}, v[6];
        const vec whole = dot(read3(J + 6 * k), read3(J + 6 * k)) +
                          dot(read3(J + 6 * k + 3), read3(J + 6 * k + 3));
        UNROLL for (int i = k; i < 6; ++i) norm2 += a[i] * a[i];
        w->bad |= ~(norm2 > 1e-26 * whole);
        const vec root = ROOT(norm2), alpha = pick(a[k] > 0, -root, root);
        UNROLL for (int i = k; i < 6; ++i) v[i] = a[i];
        v[k] -= alpha;
        const vec beta = norm2 - alpha * a[k];
        for (int j = k; j < CROSS_ROWS; ++j)
            reflect(k, v, beta, A + 6 * j, 1); // others are done with
        if (k > 0)
            for (int j = 0; j < 6; ++j) reflect(k, v, beta, Q + j, 6);
        else reflect_unit(v, beta, Q);
    }
    for (int i = 0; i < CROSS_ROWS; ++i)
        for (int j = i; j < CROSS_ROWS; ++j) R[i * CROSS_ROWS + j] = A[6 * j + i];
}

/// A joint's anchors and crossed axes, at a place.
typedef struct crossing {
    vec3 r[2], v[2], turning[2]; ///< arms, and how the bodies move
    vec3 at, rate;               ///< anchor 2 less anchor 1
    vec3 s, t;                   ///< z of frame 1, x of frame 2
} crossing;

// Where a body is and how it moves; zero where it cannot.
TNI_INLINE void crossing_side(const herd* w, int i, const side* on, const vec* q, const vec* u,
                              vec3* x, vec3* v, vec3* turning)
{
    if (on->link < 0) {
        *x = w->fixeds[i].x, *v = *turning = zero3();
        return;
    }
    const tni_link* a = w->plan->links[on->link].link;
    *x                = read3(q + a->q);
    *v                = read3(u + a->u);
    *turning          = read3(u + a->u + 3);
}

static crossing crossing_of(const herd* w, int i, const mat3* R, const vec* q, const vec* u)
{
    const tni_joint* joint = w->plan->links[i].joint;
    const side       on[2] = {side_of(w, R, i, 0), side_of(w, R, i, 1)};
    const tn_vec3    p[2]  = {joint->p1, joint->p2};
    crossing         c;
    vec3             at[2], rate[2];
    for (int k = 0; k < 2; ++k) {
        vec3 x;
        crossing_side(w, i, &on[k], q, u, &x, &c.v[k], &c.turning[k]);
        c.r[k]  = mul1(on[k].R, p[k]);
        at[k]   = add(c.r[k], x);
        rate[k] = add(cross(c.turning[k], c.r[k]), c.v[k]);
    }
    c.at   = sub(at[1], at[0]);
    c.rate = sub(rate[1], rate[0]);
    c.s    = mul1(on[0].R, tni_column(&joint->F1, 2));
    c.t    = mul1(on[1].R, tni_column(&joint->F2, 0));
    return c;
}

TNI_INLINE vec right_angle_rate(const crossing* c)
{
    return dot(cross(c->turning[0], c->s), c->t) + dot(c->s, cross(c->turning[1], c->t));
}

// The rows on body k.
static void crossing_rows(const crossing* c, int k, vec J[6 * CROSS_ROWS])
{
    const vec  none = {0}, unit = splat(k == 1 ? 1 : -1);
    const vec3 axes[3] = {make3(unit, k == 1 ? none : -none, k == 1 ? none : -none),
                          make3(k == 1 ? none : -none, unit, k == 1 ? none : -none),
                          make3(k == 1 ? none : -none, k == 1 ? none : -none, unit)};
    for (int i = 0; i < 3; ++i) {
        write3(J + 6 * i, axes[i]);
        write3(J + 6 * i + 3, add(cross(c->r[k], axes[i]), zero3()));
    }
    const vec3 push = add(zero3(), k == 1 ? c->s : c->t), axis = k == 1 ? c->t : c->s;
    write3(J + 18, zero3());
    write3(J + 21, add(zero3(), cross(axis, push)));
}

// What the rows want of u (tni_row_target), J[0] being those on body 1.
static void rows_wanted(const herd* w, int i, const crossing* c, vec J[2][6 * CROSS_ROWS], vec* r)
{
    const tni_batch_link* a   = &w->plan->links[i];
    const int             own = a->second ? 1 : 0;
    const vec3            b1 = bias(c->turning[0], c->r[0]), b2 = bias(c->turning[1], c->r[1]),
               b  = sub(b2, b1);
    const vec3 sr = cross(c->turning[0], c->s), tr = cross(c->turning[1], c->t);
    const vec  C[4]    = {c->at.x, c->at.y, c->at.z, dot(c->s, c->t)},
              rate[4]  = {c->rate.x, c->rate.y, c->rate.z, right_angle_rate(c)},
              gamma[4] = {b.x, b.y, b.z,
                          dot(cross(c->turning[0], sr), c->t) + 2 * dot(sr, tr) +
                              dot(c->s, cross(c->turning[1], tr))};
    const vec none     = {0};
    for (int k = 0; k < CROSS_ROWS; ++k) {
        vec mine = dot6(J[own] + 6 * k, w->u + a->link->u);
        if (a->parent >= 0)
            mine += dot6(J[1 - own] + 6 * k, w->u + w->plan->links[a->parent].link->u);
        const vec bend = w->bend ? 0.5 * w->h * gamma[k] : none;
        r[k]           = -C[k] / w->h - 0.0 - (rate[k] - mine) - bend;
    }
}

// add_geometric of tree_form.c
static void stiffen_turning(double ee, vec3 f, vec3 r, sym* I)
{
    const vec  F = ROOT(dot(f, f)), L = ROOT(dot(r, r)), m = F * L, c = dot(f, r);
    const mask on = (0.5 * (c + m) > 1e-14 * m) & (m > 1e-100), push = c < 0, pulls = on & ~push;
    const vec  size = absolute(c), s = ee * (m - size) / (4 * m * (m + size));
    sym        J = *I;
    sym_add_outer(&J, s, add_scaled(scale(L, f), pick(push, -F, F), r));
    I->xx = pick(on, J.xx, I->xx), I->xy = pick(on, J.xy, I->xy), I->xz = pick(on, J.xz, I->xz);
    I->yy = pick(on, J.yy, I->yy), I->yz = pick(on, J.yz, I->yz), I->zz = pick(on, J.zz, I->zz);
    const double k = 0.5 * ee;
    I->xx          = pick(pulls, I->xx + ee * (c - f.x * r.x), I->xx);
    I->yy          = pick(pulls, I->yy + ee * (c - f.y * r.y), I->yy);
    I->zz          = pick(pulls, I->zz + ee * (c - f.z * r.z), I->zz);
    I->xy          = pick(pulls, I->xy - k * (f.x * r.y + r.x * f.y), I->xy);
    I->xz          = pick(pulls, I->xz - k * (f.x * r.z + r.x * f.z), I->xz);
    I->yz          = pick(pulls, I->yz - k * (f.y * r.z + r.y * f.z), I->yz);
}

// Of the joint's force, which acts at body 2's anchor.
static void stiffen_cross(const herd* w, int i, const crossing* c, bulk* B, sym* K)
{
    const tni_batch_link* a   = &w->plan->links[i];
    const double          ee  = w->h * w->h;
    const side            two = side_of(w, w->R, i, 1);
    const vec3            f = scale1(a->form->sign, add(zero3(), read3(w->lambda + a->link->row)));
    const vec3 x2 = two.link >= 0 ? read3(w->q + w->plan->links[two.link].link->q) : w->fixeds[i].x,
               at = add(x2, c->r[1]), xa = read3(w->q + a->link->q),
               xb = a->parent >= 0 ? read3(w->q + w->plan->links[a->parent].link->q)
                                   : w->fixeds[i].x;
    stiffen_turning(ee, f, sub(at, xa), &B->I);
    stiffen_turning(ee, neg(f), sub(at, xb), K);
}

// Soft rows of the actuation; Y = Ja + Jb in terms of y.
static void soft_cross(herd* w, int i, dense* o)
{
    const tni_batch_link* a   = &w->plan->links[i];
    const int             own = a->second ? 1 : 0;
    o->sprung                 = false;
    if (a->soft < 0) return;
    soft* s = &w->softs[a->soft];
    soften(w, i, s);
    o->sprung       = true;
    const vec3 none = zero3(), nil = cross(o->d, none);
    for (int k = 0; k < CROSS_FREE; ++k) {
        o->Ja[k] = s->J[own][k];
        o->Y[k]  = a->parent >= 0 ? add(o->Ja[k], sub(s->J[1 - own][k], nil)) : none;
    }
    for (int k = 0; k < CROSS_FREE * CROSS_FREE; ++k) o->W[k] = s->W[k];
}

TNI_INLINE const vec* free_of(const dense* o, int j)
{
    return o->Q + 6 * (CROSS_ROWS + j);
}

// D, G, A' (reduce_other).
static void reduce_cross(herd* w, dense* o)
{
    const vec* S = o->Q + 6 * CROSS_ROWS;
    const int  n = CROSS_FREE;
    vec        SJ[4], WY[12] = {{0}}, Y[12] = {{0}}, sum[36], DG[12];
    multiply(n, 6, 6, false, S, o->A, o->G);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) o->D[i * n + j] = dot6(o->G + 6 * i, S + 6 * j);
    if (o->sprung) {
        for (int i = 0; i < n; ++i) {
            write3(Y + 6 * i, zero3()), write3(Y + 6 * i + 3, o->Y[i]);
            for (int j = 0; j < n; ++j) SJ[i * n + j] = dot_turn(o->Ja[i], S + 6 * j);
        }
        multiply(2, 2, 2, false, o->W, SJ, o->SW);
        multiply(2, 2, 6, false, o->W, Y, WY);
        multiply(2, 2, 2, true, SJ, o->SW, sum);
        for (int i = 0; i < n * n; ++i) o->D[i] += sum[i];
        multiply(2, 2, 6, true, o->SW, Y, sum);
        for (int i = 0; i < n * 6; ++i) o->G[i] += sum[i];
    } else {
        for (int i = 0; i < n * n; ++i) o->D[i] += 0.0;
        for (int i = 0; i < n * 6; ++i) o->G[i] += 0.0;
    }
    w->bad |= ~ldl(2, o->D);
    for (int j = 0; j < 6; ++j) {
        vec x[2] = {o->G[j], o->G[6 + j]};
        ldl_solve(2, o->D, x);
        DG[j] = x[0], DG[6 + j] = x[1];
    }
    vec AS[36];
    multiply(6, 2, 6, true, o->G, DG, AS);
    if (o->sprung) multiply(6, 2, 6, true, Y, WY, sum);
    for (int i = 0; i < 36; ++i)
        o->left[i] = (o->sprung ? o->A[i] + sum[i] : o->A[i] + 0.0) - AS[i];
}

// p from what the hard rows want: R^T z = r.
static void want_cross(dense* o, const vec* r)
{
    vec z[CROSS_ROWS];
    for (int k = 0; k < 6; ++k) o->p[k] = splat(0);
    for (int i = 0; i < CROSS_ROWS; ++i) {
        z[i] = r[i];
        for (int k = 0; k < i; ++k) z[i] -= o->R[k * CROSS_ROWS + i] * z[k];
        z[i] /= o->R[i * CROSS_ROWS + i];
        for (int k = 0; k < 6; ++k) o->p[k] += z[i] * o->Q[6 * i + k];
    }
}

// What the soft rows push with where q = y = 0, and what that does to q and b; g NULL: zero.
static void push_cross(dense* o, const vec* g)
{
    for (int i = 0; i < CROSS_FREE; ++i) {
        o->push[i] = g != NULL ? g[i] : splat(0);
        for (int k = 0; k < CROSS_FREE; ++k)
            o->push[i] -= o->W[i * CROSS_FREE + k] * dot_turn(o->Ja[k], o->p);
    }
    for (int j = 0; j < CROSS_FREE; ++j)
        for (int i = 0; i < CROSS_FREE; ++i)
            o->q[j] += dot_turn(o->Ja[i], free_of(o, j)) * o->push[i];
    for (int i = 0; i < CROSS_FREE; ++i) {
        for (int k = 0; k < 3; ++k) o->b[k] += splat(0) * o->push[i];
        o->b[3] += o->Y[i].x * o->push[i];
        o->b[4] += o->Y[i].y * o->push[i];
        o->b[5] += o->Y[i].z * o->push[i];
    }
}

// b <- b'.
static void pass_cross(dense* o, const vec* g, vec* b)
{
    for (int k = 0; k < 6; ++k) o->b[k] = b[k] - dot6(o->A + 6 * k, o->p);
    for (int j = 0; j < CROSS_FREE; ++j) o->q[j] = dot6(free_of(o, j), o->b);
    if (o->sprung) push_cross(o, g);
    ldl_solve(CROSS_FREE, o->D, o->q);
    for (int k = 0; k < 6; ++k) {
        for (int j = 0; j < CROSS_FREE; ++j) o->b[k] -= o->G[6 * j + k] * o->q[j];
        b[k] = o->b[k];
    }
}

static void begin_cross(herd* w, int i, dense* o, bulk* B, sym* K)
{
    const tni_batch_link* a   = &w->plan->links[i];
    const int             own = a->second ? 1 : 0;
    const crossing        c   = crossing_of(w, i, w->R, w->q, w->u);
    vec                   J[2][6 * CROSS_ROWS], r[CROSS_ROWS], b[6];
    crossing_rows(&c, 0, J[0]);
    crossing_rows(&c, 1, J[1]);
    o->d = sub(c.r[1 - own], c.r[own]);
    if (w->stiff) stiffen_cross(w, i, &c, B, K);
    rows_wanted(w, i, &c, J, r);
    soft_cross(w, i, o);
    factor_rows(w, J[own], o->Q, o->R);
    spread(B, o->A);
    reduce_cross(w, o);
    want_cross(o, r);
    write3(b, B->f), write3(b + 3, B->t);
    pass_cross(o, o->sprung ? w->softs[a->soft].g : NULL, b);
    const vec* A = o->left;
    *B           = (bulk){{A[0], A[6], A[12], A[7], A[13], A[14]},
                          {{A[3], A[4], A[5], A[9], A[10], A[11], A[15], A[16], A[17]}},
                          {A[21], A[27], A[33], A[28], A[34], A[35]},
                          read3(b),
                          read3(b + 3)};
}

static void end_cross(const dense* o, vec3 v, vec3 wb, vec* u, vec* mu)
{
    const vec y[6] = {v.x, v.y, v.z, wb.x, wb.y, wb.z};
    vec       Gy[CROSS_FREE], f[6];
    multiply(CROSS_FREE, 6, 1, false, o->G, y, Gy);
    ldl_solve(CROSS_FREE, o->D, Gy);
    for (int k = 0; k < 6; ++k) u[k] = y[k] + o->p[k];
    for (int j = 0; j < CROSS_FREE; ++j)
        for (int k = 0; k < 6; ++k) u[k] += free_of(o, j)[k] * (o->q[j] - Gy[j]);
    for (int k = 0; k < 6; ++k) f[k] = o->b[k] - dot6(o->left + 6 * k, y);
    for (int i = 0; i < CROSS_FREE && o->sprung; ++i) {
        vec push = o->push[i];
        for (int j = 0; j < CROSS_FREE; ++j) push -= o->SW[i * CROSS_FREE + j] * (o->q[j] - Gy[j]);
        for (int k = 0; k < CROSS_FREE; ++k)
            push -= o->W[i * CROSS_FREE + k] * dot_turn(o->Y[k], y);
        const vec3 J = sub(o->Ja[i], o->Y[i]);
        for (int k = 0; k < 3; ++k) f[k] += splat(0) * push;
        f[3] += J.x * push, f[4] += J.y * push, f[5] += J.z * push;
    }
    for (int i = CROSS_ROWS; i-- > 0;) { // R mu = Q^T f
        mu[i] = dot6(o->Q + 6 * i, f);
        for (int k = i + 1; k < CROSS_ROWS; ++k) mu[i] -= o->R[i * CROSS_ROWS + k] * mu[k];
        mu[i] /= o->R[i * CROSS_ROWS + i];
    }
}

#endif
