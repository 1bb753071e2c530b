// batch_tree: elimination from the leaves and solution from the roots, as in system/tree_form.c and
// tree_form_lanes.h, link by link, a copy in each lane.
#ifndef TNI_BATCH_TREE_H
#define TNI_BATCH_TREE_H

#include "batch/batch_universal.h"

// ---- Articulated inertia and momentum ----------------------------------------------------------

// By fields: a struct assignment would be a memcpy.
TNI_INLINE void copy_bulk(bulk* to, const bulk* B)
{
    to->M                                         = B->M;
    to->I                                         = B->I;
    UNROLL for (int i = 0; i < 9; ++i) to->H.m[i] = B->H.m[i];
    to->f                                         = B->f;
    to->t                                         = B->t;
}

// Moved to a point whose velocity v' gives v = v' + w x d here.
TNI_INLINE void shift(bulk* B, vec3 d)
{
    vec*       H    = B->H.m;
    const sym* M    = &B->M;
    sym*       I    = &B->I;
    const vec  K[9] = {H[0] - (M->xy * d.z - M->xz * d.y), H[1] - (M->xz * d.x - M->xx * d.z),
                       H[2] - (M->xx * d.y - M->xy * d.x), H[3] - (M->yy * d.z - M->yz * d.y),
                       H[4] - (M->yz * d.x - M->xy * d.z), H[5] - (M->xy * d.y - M->yy * d.x),
                       H[6] - (M->yz * d.z - M->zz * d.y), H[7] - (M->zz * d.x - M->xz * d.z),
                       H[8] - (M->xz * d.y - M->yz * d.x)};
    I->xx           = I->xx + (d.y * H[6] - d.z * H[3]) + (d.y * K[6] - d.z * K[3]);
    I->xy           = I->xy + (d.y * H[7] - d.z * H[4]) + (d.z * K[0] - d.x * K[6]);
    I->xz           = I->xz + (d.y * H[8] - d.z * H[5]) + (d.x * K[3] - d.y * K[0]);
    I->yy           = I->yy + (d.z * H[1] - d.x * H[7]) + (d.z * K[1] - d.x * K[7]);
    I->yz           = I->yz + (d.z * H[2] - d.x * H[8]) + (d.x * K[4] - d.y * K[1]);
    I->zz           = I->zz + (d.x * H[5] - d.y * H[2]) + (d.x * K[5] - d.y * K[2]);
    UNROLL for (int i = 0; i < 9; ++i) H[i] = K[i];
    B->t                                    = add(B->t, cross(d, B->f));
}

TNI_INLINE bulk shifted_mass(const sym* M, vec3 f, vec3 t, vec3 d)
{
    const vec K[9] = {
        M->xz * d.y - M->xy * d.z, M->xx * d.z - M->xz * d.x, M->xy * d.x - M->xx * d.y,
        M->yz * d.y - M->yy * d.z, M->xy * d.z - M->yz * d.x, M->yy * d.x - M->xy * d.y,
        M->zz * d.y - M->yz * d.z, M->xz * d.z - M->zz * d.x, M->yz * d.x - M->xz * d.y};
    return (bulk){*M,
                  {{K[0], K[1], K[2], K[3], K[4], K[5], K[6], K[7], K[8]}},
                  {d.y * K[6] - d.z * K[3], d.z * K[0] - d.x * K[6], d.x * K[3] - d.y * K[0],
                   d.z * K[1] - d.x * K[7], d.x * K[4] - d.y * K[1], d.x * K[5] - d.y * K[2]},
                  f,
                  add(t, cross(d, f))};
}

TNI_INLINE void add_bulk(bulk* to, const bulk* B)
{
    sym_add(&to->M, &B->M);
    sym_add(&to->I, &B->I);
    for (int i = 0; i < 9; ++i) to->H.m[i] += B->H.m[i];
    to->f = add(to->f, B->f);
    to->t = add(to->t, B->t);
}

TNI_INLINE void leave(workspace* w, const tni_link* a, const bulk* B)
{
    if (a->parent_slot < 0) return;
    if (a->first) copy_bulk(&w->slots[a->parent_slot], B);
    else add_bulk(&w->slots[a->parent_slot], B);
}

// ---- Survey ------------------------------------------------------------------------------------

/// tni_survey of a link: its geometry, inertia and forces in the linearisation.
typedef struct survey {
    sym  I, K; ///< K: on the parent
    vec3 f, t, ref, rb, d, p;
    vec3 axes[5], n1, n2;
} survey;

// K += ee times the geometric stiffness of a force f at the arm r.
TNI_INLINE void stiffen(double ee, vec3 f, vec3 r, sym* K)
{
    const vec  F = ROOT(dot(f, f)), L = ROOT(dot(r, r)), m = F * L, c = dot(f, r);
    const mask valid = (0.5 * (c + m) > 1e-14 * m) & (m > 1e-100), pulls = c >= 0;
    const vec  size = pick(pulls, c, -c), sign = pick(pulls, F, -F);
    const vec  s = only(valid, ee * (m - size) / (4 * m * (m + size)));
    const vec  k = only(valid & pulls, splat(ee));
    const vec3 b = add(scale(L, f), scale(sign, r)), sb = scale(s, b), g = scale(k, f),
               half = scale(0.5 * k, f);
    const vec kc    = dot(g, r);
    K->xx += sb.x * b.x + (kc - g.x * r.x);
    K->xy += sb.x * b.y - (half.x * r.y + half.y * r.x);
    K->xz += sb.x * b.z - (half.x * r.z + half.z * r.x);
    K->yy += sb.y * b.y + (kc - g.y * r.y);
    K->yz += sb.y * b.z - (half.y * r.z + half.z * r.y);
    K->zz += sb.z * b.z + (kc - g.z * r.z);
}

// R S R^T of a constant S.
TNI_INLINE sym turned(const mat3* R, const tni_sym* S)
{
    const vec3 a = row3(R, 0), b = row3(R, 1), c = row3(R, 2);
    const sym  s = {splat(S->xx), splat(S->xy), splat(S->xz),
                    splat(S->yy), splat(S->yz), splat(S->zz)};
    const vec3 x = sym_times(&s, a), y = sym_times(&s, b), z = sym_times(&s, c);
    return (sym){dot(x, a), dot(x, b), dot(x, c), dot(y, b), dot(y, c), dot(z, c)};
}

// Axes of the joint in the world: x, y of frame 1, x, y, z of frame 2.
TNI_INLINE void axes_of(const tni_batch_link* a, const mat3* R, const mat3* Rb, vec3 axes[5])
{
    const mat3 *R1 = a->second ? Rb : R, *R2 = a->second ? R : Rb;
    for (int k = 0; k < 5; ++k) axes[k] = mul1(k < 2 ? R1 : R2, a->form->axes[k]);
}

static void evaluate_link(const workspace* w, int i, survey* s)
{
    const tni_batch_link* a    = &w->plan->links[i];
    const tni_link_form*  form = a->form;
    const tni_link*       b    = a->parent >= 0 ? w->plan->links[a->parent].link : NULL;
    const mat3 *          R = &w->R[i], *Rb = b != NULL ? &w->R[a->parent] : &w->fixeds[i].turned;
    const vec3            xb = b != NULL ? read3(w->q + b->q) : w->fixeds[i].x,
               wb            = b != NULL ? read3(w->u + b->u + 3) : zero3(),
               spin          = read3(w->u + a->link->u + 3);
    const double  m = form->mass, h = w->h, em = h * m, over = -1 / h, half = 0.5 * h;
    const tn_vec3 g = w->plan->model->gravity;
    s->ref          = mul1(R, form->ref);
    s->rb           = mul1(Rb, form->anchor);
    const vec3 gap  = sub(add(read3(w->q + a->link->q), s->ref), add(xb, s->rb));
    s->I            = turned(R, &form->inertia);
    s->f            = scale1(m, read3(w->u + a->link->u));
    s->t            = sym_times(&s->I, spin);
    s->f.x += em * g.x, s->f.y += em * g.y, s->f.z += em * g.z;
    const vec none = {0};
    s->K           = (sym){none, none, none, none, none, none};
    if (w->stiff && a->link->kind != TNI_LINK_OTHER) {
        const double ee   = h * h;
        const vec3   push = scale1(form->sign, read3(w->lambda + a->link->row));
        const vec3   off = a->second ? zero3() : gap, off_b = a->second ? gap : zero3();
        stiffen(ee, push, sub(s->ref, off), &s->I);
        stiffen(ee, neg(push), add(s->rb, off_b), &s->K);
    }
    s->d = b != NULL ? sub(s->rb, mul1(Rb, w->plan->links[a->parent].form->ref)) : s->rb;
    s->p = make3(over * gap.x, over * gap.y, over * gap.z);
    if (w->bend) {
        const vec3 at_b = bias(wb, s->rb), at_a = bias(spin, s->ref);
        s->p.x += half * (at_b.x - at_a.x), s->p.y += half * (at_b.y - at_a.y),
            s->p.z += half * (at_b.z - at_a.z);
    }
    if (a->between != TNI_BATCH_HINGE && a->between != TNI_BATCH_WELD) return;
    axes_of(a, R, Rb, s->axes);
    s->n1 = cross(s->axes[4], s->axes[0]);
    s->n2 = cross(s->axes[4], s->axes[1]);
}

// The link's own inertia and momentum plus those of its children, at O.
TNI_INLINE void gather(const workspace* w, const tni_batch_link* a, const survey* s, bulk* B)
{
    const double m = a->form->mass;
    const vec3   r = s->ref, n = scale1(m, r);
    const vec    along = dot(n, r), none = {0}, mass = splat(m);
    B->M = (sym){mass, none, none, mass, none, mass};
    B->H = (mat3){{none, -n.z, n.y, n.z, none, -n.x, -n.y, n.x, none}};
    B->I = (sym){s->I.xx + (along - n.x * r.x), s->I.xy - n.x * r.y, s->I.xz - n.x * r.z,
                 s->I.yy + (along - n.y * r.y), s->I.yz - n.y * r.z, s->I.zz + (along - n.z * r.z)};
    B->f = s->f;
    B->t = add(s->t, cross(s->f, r));
    if (a->link->slot >= 0) add_bulk(B, &w->slots[a->link->slot]);
}

static void add_ones(const workspace* w, const tni_batch_link* a, vec3 ref, bulk* B)
{
    for (int i = a->target; i > 0; i = w->plan->targets[i - 1].next) {
        const one* o = &w->ones[w->plan->targets[i - 1].index];
        const vec* A = o->A;
        bulk       C = {{A[0], A[6], A[12], A[7], A[13], A[14]},
                        {{A[3], A[4], A[5], A[9], A[10], A[11], A[15], A[16], A[17]}},
                        {A[21], A[27], A[33], A[28], A[34], A[35]},
                        read3(o->b),
                        read3(o->b + 3)};
        shift(&C, neg(ref));
        add_bulk(B, &C);
    }
}

// ---- TURNS -------------------------------------------------------------------------------------

// (phi/2)/sin(phi/2), z = sin^2(phi/2).
TNI_INLINE vec half_over_sine(vec z, vec cosine)
{
    static const double c[]   = {0.0073125258735988454, 0.008390335809616815, 0.0097616095291940784,
                                 0.011551800896139705,  0.01396484375,        0.017352764423076924,
                                 0.022372159090909092,  0.030381944444444444, 0.044642857142857144,
                                 0.074999999999999997,  0.16666666666666666,  1};
    const mask          small = z < 0.06;
    vec                 sum   = splat(c[0]);
    for (int i = 1; i < 12; ++i) sum = c[i] + z * sum;
    if (all(small)) return sum;
    const vec sine = ROOT(z);
    return pick(small, sum, arc(sine, cosine) / sine);
}

TNI_INLINE quat attitude_of(const workspace* w, int i)
{
    return i >= 0 ? read4(w->q + w->plan->links[i].link->q + 3) : (quat){{0}, {0}, {0}, {0}};
}

// W and g of a spring that needs no tni_soft terms, on a.
static void spring_of(const workspace* w, int i, sym* W, vec3* g)
{
    const tni_batch_link* a = &w->plan->links[i];
    const double          e = w->h, k = a->form->stiffness, d = e * a->form->damping, ek = e * k,
                 eek = e * e * k;
    const vec none   = {0};
    *W               = (sym){splat(d), none, none, splat(d), none, splat(d)};
    *g               = zero3();
    if (k == 0) return;
    const quat qa = attitude_of(w, i),
               qb = a->parent >= 0 ? attitude_of(w, a->parent) : splat4(a->attitude);
    const quat q1 = a->second ? qb : qa, q2 = a->second ? qa : qb;
    const quat by =
        quat_mul(quat_mul(q2, splat4(a->form->twist)), (quat){q1.w, -q1.x, -q1.y, -q1.z});
    const vec z = by.x * by.x + by.y * by.y + by.z * by.z, cosine = absolute(by.w),
              ratio = half_over_sine(z, cosine), c = larger(splat(0.05), ratio * cosine);
    const vec3 theta = scale(pick(by.w < 0, -2 * ratio, 2 * ratio), make3(by.x, by.y, by.z));
    const vec  over  = only(z > 0, (1 - c) / (4 * ratio * ratio * z));
    W->xx += eek * c, W->yy += eek * c, W->zz += eek * c;
    sym_add_outer(W, eek * over, theta);
    *g = scale1(-ek * a->form->sign, theta);
}

static void actuation_of(workspace* w, int i, sym* W, vec3* g)
{
    const tni_batch_link* a    = &w->plan->links[i];
    soft*                 s    = &w->softs[a->soft];
    const vec             none = {0};
    soften(w, i, s);
    const vec3* J = s->J[a->second ? 1 : 0];
    *W            = (sym){none, none, none, none, none, none};
    *g            = zero3();
    for (int k = 0; k < 3; ++k) {
        const vec3 x = J[k];
        vec3       y = zero3();
        for (int j = 0; j < 3; ++j) y = add_scaled(y, s->W[3 * k + j], J[j]);
        W->xx += x.x * y.x, W->xy += x.x * y.y, W->xz += x.x * y.z;
        W->yy += x.y * y.y, W->yz += x.y * y.z, W->zz += x.z * y.z;
        *g = add_scaled(*g, s->g[k], x);
    }
}

TNI_INLINE mask factor3(const sym* D, vec3* l, vec3* inv)
{
    const vec a = 1 / D->xx;
    l->x = D->xy * a, l->y = D->xz * a;
    const vec d1 = D->yy - l->x * D->xy, e = D->yz - l->x * D->xz, b = 1 / d1;
    l->z         = e * b;
    const vec d2 = D->zz - l->y * D->xz - l->z * e;
    *inv         = make3(a, b, 1 / d2);
    return (D->xx > 0) & (d1 > 0) & (d2 > 0);
}

TNI_INLINE vec3 forward3(vec3 l, vec3 x)
{
    x.y -= l.x * x.x;
    x.z = x.z - l.y * x.x - l.z * x.y;
    return x;
}

TNI_INLINE vec3 backward3(vec3 l, vec3 x)
{
    x.y -= l.z * x.z;
    x.x = x.x - l.x * x.y - l.y * x.z;
    return x;
}

TNI_INLINE vec3 times3(vec3 a, vec3 b)
{
    return make3(a.x * b.x, a.y * b.y, a.z * b.z);
}

TNI_INLINE void reduce_turns(work* w, const bulk* B)
{
    const vec3 x = forward3(w->l, read3(B->H.m)), y = forward3(w->l, read3(B->H.m + 3)),
               z = forward3(w->l, read3(B->H.m + 6));
    w->Q         = columns(backward3(w->l, times3(w->inv, x)), backward3(w->l, times3(w->inv, y)),
                           backward3(w->l, times3(w->inv, z)));
    w->M         = B->M;
    sym_add_outer(&w->M, -w->inv.x, make3(x.x, y.x, z.x));
    sym_add_outer(&w->M, -w->inv.y, make3(x.y, y.y, z.y));
    sym_add_outer(&w->M, -w->inv.z, make3(x.z, y.z, z.z));
}

TNI_INLINE vec3 solve_turns(const work* w, vec3 x)
{
    return backward3(w->l, times3(w->inv, forward3(w->l, x)));
}

TNI_INLINE void reduce_sprung(const work* w, more* m, const sym* W, bulk* B)
{
    const vec3 X = solve_turns(w, make3(W->xx, W->xy, W->xz)),
               Y = solve_turns(w, make3(W->xy, W->yy, W->yz)),
               Z = solve_turns(w, make3(W->xz, W->yz, W->zz));
    const vec3 P = sym_times(&B->I, X), R = sym_times(&B->I, Y), S = sym_times(&B->I, Z);
    m->T = columns(X, Y, Z);
    m->H = mat_mul(&B->H, &m->T);
    m->I = *W;
    B->M = w->M;
    B->H = m->H;
    B->I = (sym){P.x, R.x, S.x, R.y, S.y, S.z};
}

TNI_INLINE void pass_turns(work* w, vec3 g, vec3* f, vec3* t)
{
    const vec3 x = add(*t, g);
    w->f = *f = sub(sub(*f, sym_times(&w->M, w->p)), mul_t(&w->Q, x));
    w->y      = sub(solve_turns(w, x), mul(&w->Q, w->p));
    *t        = neg(g);
}

TNI_INLINE void pass_sprung(const work* w, const more* m, vec3* t)
{
    *t = add(*t, sym_times(&m->I, w->y));
}

static void begin_sprung(workspace* h, int i, work* w, bulk* B)
{
    const tni_batch_link* a = &h->plan->links[i];
    more*                 m = &h->mores[a->link->more];
    sym                   W, D = B->I;
    vec3                  g;
    if (a->soft < 0) spring_of(h, i, &W, &g);
    else actuation_of(h, i, &W, &g);
    sym_add(&D, &W);
    h->bad |= ~factor3(&D, &w->l, &w->inv);
    reduce_turns(w, B);
    reduce_sprung(w, m, &W, B);
    pass_turns(w, g, &B->f, &B->t);
    pass_sprung(w, m, &B->t);
}

TNI_INLINE vec3 end_turns(const workspace* h, const tni_batch_link* a, const work* w, vec3 v,
                          vec3 wb, vec* mu)
{
    vec3 wa = sub(w->y, mul(&w->Q, v));
    vec3 m  = sub(w->f, sym_times(&w->M, v));
    if (a->link->more >= 0) {
        const more* x = &h->mores[a->link->more];
        wa            = add(wa, mul(&x->T, wb));
        m             = sub(m, mul(&x->H, wb));
    }
    write3(mu, scale1(a->form->sign, m));
    return wa;
}

// ---- AXIS and FIXED ----------------------------------------------------------------------------

// Velocity-dependent term (gamma) of the row s.t, s of body 1 and t of body 2.
TNI_INLINE vec bend_of_row(vec3 s, vec3 t, vec3 w1, vec3 w2)
{
    return dot(bias(w1, s), t) + dot(s, bias(w2, t)) + 2 * dot(cross(w1, s), cross(w2, t));
}

// turn_wanted() of tree_form.c; n = t x s.
static vec turn_wanted(const workspace* w, int i, vec3 s, vec3 t, vec3 n)
{
    const tni_batch_link* a    = &w->plan->links[i];
    const double          sign = a->form->sign;
    vec                   led = {0}, bend = {0};
    if (a->parent < 0) led = -sign * dot(n, zero3());
    if (w->bend) {
        const vec3 wa = read3(w->u + a->link->u + 3),
                   wb = a->parent >= 0 ? read3(w->u + w->plan->links[a->parent].link->u + 3)
                                       : zero3();
        bend          = 0.5 * w->h * bend_of_row(s, t, a->second ? wb : wa, a->second ? wa : wb);
    }
    return -dot(s, t) / w->h - 0.0 - led - bend;
}

// As in tree_form_lanes.h.
TNI_INLINE vec wanted(const workspace* w, vec3 s, vec3 t, vec3 w1, vec3 w2)
{
    vec want = (-1 / w->h) * dot(s, t);
    if (w->bend) {
        const vec rates = dot(cross(w1, s), cross(w2, t));
        want -= 0.5 * w->h * (dot(bias(w1, s), t) + dot(s, bias(w2, t)) + (rates + rates));
    }
    return want;
}

TNI_INLINE void turn_axis(double sign, more* m, vec r1, vec r2)
{
    const vec *g = m->gram, x = g[0] * r1 + g[1] * r2, y = g[1] * r1 + g[2] * r2;
    m->turn = scale1(sign, add(scale(x, row3(&m->T, 0)), scale(y, row3(&m->T, 1))));
}

static void hold_axis(const workspace* w, int i, const survey* s, more* m)
{
    const tni_batch_link* a  = &w->plan->links[i];
    const vec3            n1 = s->n1, n2 = s->n2, axis = s->axes[4];
    const vec A = dot(n1, n1), B = dot(n1, n2), C = dot(n2, n2), over = 1 / (A * C - B * B);
    m->gram[0] = over * C, m->gram[1] = -over * B, m->gram[2] = over * A;
    if (a->parent < 0) {
        turn_axis(a->form->sign, m, turn_wanted(w, i, s->axes[0], axis, n1),
                  turn_wanted(w, i, s->axes[1], axis, n2));
        return;
    }
    const vec3 wa = read3(w->u + a->link->u + 3),
               wb = read3(w->u + w->plan->links[a->parent].link->u + 3), w1 = a->second ? wb : wa,
               w2 = a->second ? wa : wb;
    const vec r1 = wanted(w, s->axes[0], axis, w1, w2), r2 = wanted(w, s->axes[1], axis, w1, w2);
    const vec x = a->form->sign * (m->gram[0] * r1 + m->gram[1] * r2),
              y = a->form->sign * (m->gram[1] * r1 + m->gram[2] * r2);
    m->turn     = add(scale(x, n1), scale(y, n2));
}

// The spring of an angle: *pull and grip. Returns its row on a.
static vec3 angle_spring(workspace* w, int i, more* m, const survey* s, vec* pull)
{
    const tni_batch_link* a = &w->plan->links[i];
    if (a->soft >= 0) {
        soft* of = &w->softs[a->soft];
        soften(w, i, of);
        m->grip = of->W[0];
        *pull   = of->g[0];
        return of->J[a->second ? 1 : 0][0];
    }
    const double e = w->h, k = a->form->stiffness;
    const vec3   x1 = s->axes[0], y1 = s->axes[1], x2 = s->axes[2];
    const vec    X = dot(x1, x2), Y = dot(y1, x2), angle = unwrapped(w->z[a->z], arc(Y, X));
    const vec3   over = cross(x2, sub(scale(X, y1), scale(Y, x1)));
    m->grip           = splat(e * e * k + e * a->form->damping);
    *pull             = e * (a->act->force[0] - k * (angle - a->act->rest[0]));
    return scale(a->form->sign / (X * X + Y * Y), over);
}

TNI_INLINE void pass_axis(work* w, more* m, vec pull, vec3* f, vec3* t)
{
    const vec3 h = row3(&w->Q, 0), k = row3(&w->Q, 1), s = row3(&w->Q, 2), n = row3(&m->T, 2);
    const vec  push = pull - m->grip * dot(n, m->turn);
    const vec  q    = w->inv.x * (dot(s, *t) + dot(n, s) * push);
    const vec3 Mp   = add(sym_times(&w->M, w->p), mul(&m->H, m->turn)),
               Ip   = add(mul_t(&m->H, w->p), sym_times(&m->I, m->turn));
    m->push         = push;
    m->q            = q - w->inv.x * (dot(h, w->p) + dot(k, m->turn));
    w->f = *f = add_scaled(sub(*f, Mp), -q, h);
    m->t = *t = add_scaled(sub(*t, Ip), -q, k);
}

static void begin_axis(workspace* h, int i, work* w, const survey* x, bulk* B)
{
    const tni_batch_link* a = &h->plan->links[i];
    more*                 m = &h->mores[a->link->more];
    const vec3            s = x->axes[4], hs = mul(&B->H, s), k = sym_times(&B->I, s);
    vec3                  row  = zero3();
    vec                   pull = {0};
    m->grip                    = pull;
    if (a->act != NULL) row = angle_spring(h, i, m, x, &pull);
    m->T = rows(x->n1, x->n2, row);
    hold_axis(h, i, x, m);
    const vec along = dot(row, s), D = dot(s, k) + m->grip * along * along;
    w->Q          = rows(hs, k, s);
    w->inv.x      = 1 / D;
    const vec3 hi = scale(w->inv.x, hs);
    sym_add_outer(&B->M, -w->inv.x, hs);
    sym_add_outer(&B->I, -w->inv.x, k);
    vec* H = B->H.m;
    H[0] -= hi.x * k.x, H[1] -= hi.x * k.y, H[2] -= hi.x * k.z;
    H[3] -= hi.y * k.x, H[4] -= hi.y * k.y, H[5] -= hi.y * k.z;
    H[6] -= hi.z * k.x, H[7] -= hi.z * k.y, H[8] -= hi.z * k.z;
    w->M = B->M, m->H = B->H, m->I = B->I;
    pass_axis(w, m, pull, &B->f, &B->t);
    h->bad |= ~((D > 0) & (m->gram[0] > 0));
}

TNI_INLINE void carried(const work* w, const more* m, vec3 v, vec3 wb, vec3* f, vec3* t)
{
    *f = sub(w->f, add(sym_times(&w->M, v), mul(&m->H, wb)));
    *t = sub(m->t, add(mul_t(&m->H, v), sym_times(&m->I, wb)));
}

TNI_INLINE vec3 end_axis(const workspace* h_, const tni_batch_link* a, const work* w, vec3 v,
                         vec3 wb, vec* mu)
{
    const more*  m = &h_->mores[a->link->more];
    const vec3   h = row3(&w->Q, 0), k = row3(&w->Q, 1), s = row3(&w->Q, 2);
    const vec3   n1 = row3(&m->T, 0), n2 = row3(&m->T, 1), n = row3(&m->T, 2);
    const vec    q    = m->q - w->inv.x * (dot(h, v) + dot(k, wb));
    const double sign = a->form->sign;
    const vec*   g    = m->gram;
    vec3         f, t;
    carried(w, m, v, wb, &f, &t);
    t            = add_scaled(t, m->push - m->grip * dot(n, s) * q, n);
    const vec m1 = sign * dot(n1, t), m2 = sign * dot(n2, t);
    write3(mu, scale1(sign, f));
    mu[3] = g[0] * m1 + g[1] * m2;
    mu[4] = g[1] * m1 + g[2] * m2;
    return add_scaled(add(wb, m->turn), q, s);
}

TNI_INLINE void pass_fixed(work* w, more* m, vec3* f, vec3* t)
{
    const vec3 p = w->p, r = m->turn;
    w->f = *f = sub(*f, add(sym_times(&w->M, p), mul(&m->H, r)));
    m->t = *t = sub(*t, add(mul_t(&m->H, p), sym_times(&m->I, r)));
}

static void begin_fixed(workspace* h, int i, work* w, const survey* x, bulk* B)
{
    const tni_batch_link* a  = &h->plan->links[i];
    more*                 m  = &h->mores[a->link->more];
    const vec3            n3 = cross(x->axes[3], x->axes[0]);
    const vec3            r  = {turn_wanted(h, i, x->axes[0], x->axes[4], x->n1),
                                turn_wanted(h, i, x->axes[1], x->axes[4], x->n2),
                                turn_wanted(h, i, x->axes[0], x->axes[3], n3)};
    m->T                     = rows(x->n1, x->n2, n3);
    m->turn                  = scale1(a->form->sign, solve3(&m->T, r));
    w->M = B->M, m->H = B->H, m->I = B->I;
    pass_fixed(w, m, &B->f, &B->t);
    h->bad |= ~(absolute(determinant(&m->T)) > 1e-12);
}

static vec3 end_fixed(const workspace* h, const tni_batch_link* a, const work* w, vec3 v, vec3 wb,
                      vec* mu)
{
    const more* m = &h->mores[a->link->more];
    const mat3  T = transposed(&m->T);
    vec3        f, t;
    carried(w, m, v, wb, &f, &t);
    write3(mu, scale1(a->form->sign, f));
    write3(mu + 3, scale1(a->form->sign, solve3(&T, t)));
    return add(wb, m->turn);
}

// ---- Inward and outward ------------------------------------------------------------------------

TNI_INLINE void hold_anchors(const tni_batch_link* a, work* w, const survey* s)
{
    w->ref = s->ref;
    w->arm = s->d;
    w->p   = s->p;
    if (a->parent < 0) w->p = add(w->p, zero3()); // the static side does not move
}

// A ball without a spring.
static void inward_free(workspace* h, int i, const survey* s)
{
    const tni_batch_link* a = &h->plan->links[i];
    work*                 w = &h->works[i];
    bulk                  B;
    gather(h, a, s, &B);
    if (a->target > 0) {
        const vec  none = {0};
        const vec3 zero = zero3();
        bulk       own  = {{none, none, none, none, none, none},
                           {{none, none, none, none, none, none, none, none, none}},
                           {none, none, none, none, none, none},
                           zero,
                           zero};
        add_ones(h, a, s->ref, &own);
        add_bulk(&B, &own);
    }
    hold_anchors(a, w, s);
    h->bad |= ~factor3(&B.I, &w->l, &w->inv);
    reduce_turns(w, &B);
    pass_turns(w, zero3(), &B.f, &B.t);
    bulk to = shifted_mass(&w->M, B.f, B.t, w->arm);
    sym_add(&to.I, &s->K);
    leave(h, a->link, &to);
}

static void inward_universal(workspace* h, int i, const survey* s, bulk* B)
{
    const tni_batch_link* a    = &h->plan->links[i];
    work*                 w    = &h->works[i];
    dense*                o    = &h->denses[a->link->more];
    const vec             none = {0};
    sym                   K    = {none, none, none, none, none, none};
    w->ref                     = zero3();
    if (a->joint == NULL) {
        w->arm = zero3();
        begin_root(h, o, B);
        return;
    }
    begin_universal(h, i, o, B, &K);
    w->arm = sub(o->d, sub(s->rb, s->d));
    if (a->parent < 0) return;
    shift(B, w->arm);
    sym_add(&B->I, &K);
}

static void inward(workspace* h, int i)
{
    const tni_batch_link* a = &h->plan->links[i];
    survey                s;
    evaluate_link(h, i, &s);
    if (a->between == TNI_BATCH_BALL && a->act == NULL) {
        inward_free(h, i, &s);
        return;
    }
    bulk B;
    gather(h, a, &s, &B);
    if (a->target > 0) add_ones(h, a, s.ref, &B);
    if (a->link->kind == TNI_LINK_OTHER) {
        inward_universal(h, i, &s, &B);
    } else {
        work* w = &h->works[i];
        hold_anchors(a, w, &s);
        if (a->between == TNI_BATCH_BALL) begin_sprung(h, i, w, &B);
        else if (a->between == TNI_BATCH_HINGE) begin_axis(h, i, w, &s, &B);
        else begin_fixed(h, i, w, &s, &B);
        shift(&B, w->arm);
        sym_add(&B.I, &s.K);
    }
    leave(h, a->link, &B);
}

/// Velocity of a link at O.
typedef struct motion {
    vec3 v, w;
} motion;

TNI_INLINE motion outward(const workspace* h, int i, motion b, vec* u, vec* mu)
{
    const tni_batch_link* a = &h->plan->links[i];
    const work*           w = &h->works[i];
    if (a->parent < 0) {
        b = (motion){zero3(), zero3()};
    } else if (a->parent != i + 1) {
        const vec* ub = u + h->plan->links[a->parent].link->u;
        b.w           = read3(ub + 3);
        b.v           = add(read3(ub), cross(b.w, h->works[a->parent].ref));
    }
    const vec3 v = add(b.v, cross(b.w, w->arm));
    vec3       wa;
    u += a->link->u, mu += a->link->row;
    if (a->link->kind == TNI_LINK_OTHER) {
        if (a->joint == NULL) end_root(&h->denses[a->link->more], u);
        else end_universal(&h->denses[a->link->more], v, b.w, u, mu);
        return (motion){read3(u), read3(u + 3)};
    }
    if (a->between == TNI_BATCH_BALL) wa = end_turns(h, a, w, v, b.w, mu);
    else if (a->between == TNI_BATCH_HINGE) wa = end_axis(h, a, w, v, b.w, mu);
    else wa = end_fixed(h, a, w, v, b.w, mu);
    const vec3 va = add(v, w->p);
    write3(u, sub(va, cross(wa, w->ref)));
    write3(u + 3, wa);
    return (motion){va, wa};
}

static void all_outward(const workspace* h, vec* u, vec* mu)
{
    motion b = {zero3(), zero3()};
    for (int i = h->plan->count; i-- > 0;) b = outward(h, i, b, u, mu);
}

/// Linearises, eliminates and solves for v and mu.
static void begin(workspace* h)
{
    for (int i = 0; i < h->plan->count; ++i) inward(h, i);
    all_outward(h, h->v, h->mu);
}

// ---- Correction --------------------------------------------------------------------------------

static const int rows_between[] = {[TNI_BATCH_FREE]      = 0,
                                   [TNI_BATCH_BALL]      = 3,
                                   [TNI_BATCH_HINGE]     = 5,
                                   [TNI_BATCH_WELD]      = 6,
                                   [TNI_BATCH_UNIVERSAL] = UNIVERSAL_ROWS};

// Right-hand side of the rows r at the end of a flight, inward.
TNI_INLINE void pass(workspace* h, int i)
{
    const tni_batch_link* a    = &h->plan->links[i];
    work*                 w    = &h->works[i];
    const double          over = -1 / h->h;
    vec                   r[6];
    vec3                  f = zero3(), t = zero3();
    if (a->link->slot >= 0) f = h->slots[a->link->slot].f, t = h->slots[a->link->slot].t;
    if (a->joint == NULL) {
        pass_root(&h->denses[a->link->more], f, t);
        return;
    }
    for (int k = 0; k < rows_between[a->between]; ++k) r[k] = h->r[a->link->row + k] * over;
    if (a->link->kind == TNI_LINK_OTHER) {
        dense* o    = &h->denses[a->link->more];
        vec    b[6] = {f.x, f.y, f.z, t.x, t.y, t.z};
        want_universal(o, r);
        pass_universal(o, NULL, b);
        f = read3(b), t = read3(b + 3);
    } else {
        w->p = scale1(a->form->sign, read3(r));
        if (a->between == TNI_BATCH_BALL) {
            pass_turns(w, zero3(), &f, &t);
            if (a->link->more >= 0) pass_sprung(w, &h->mores[a->link->more], &t);
        } else if (a->between == TNI_BATCH_HINGE) {
            turn_axis(a->form->sign, &h->mores[a->link->more], r[3], r[4]);
            pass_axis(w, &h->mores[a->link->more], splat(0), &f, &t);
        } else {
            more* m = &h->mores[a->link->more];
            m->turn = scale1(a->form->sign, solve3(&m->T, read3(r + 3)));
            pass_fixed(w, m, &f, &t);
        }
    }
    t = add(t, cross(w->arm, f));
    if (a->link->parent_slot < 0) return;
    bulk* to = &h->slots[a->link->parent_slot];
    to->f    = a->link->first ? f : add(to->f, f);
    to->t    = a->link->first ? t : add(to->t, t);
}

/// Solves J u = r with the same factorisation, for dv and dmu.
static void correct(workspace* h)
{
    for (int i = 0; i < h->plan->count; ++i) pass(h, i);
    all_outward(h, h->dv, h->dmu);
}

#endif
