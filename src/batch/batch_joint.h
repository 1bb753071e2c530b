// batch_joint: actuations of joints and targets of bodies, softened (force/joint_force.c, force/target.c). What the
// place alone says of them is found once a step; linearisations add what is expected of the motion.
#ifndef TNI_BATCH_JOINT_H
#define TNI_BATCH_JOINT_H

#include "batch/batch_workspace.h"

// ---- At the place --------------------------------------------------------------------------------

// tni_soft_torsion
TNI_INLINE void torsion(vec3 theta, vec S[9])
{
    const vec  phi2 = dot(theta, theta);
    const mask far  = phi2 >= 1e-4;
    vec        c    = 1 - phi2 * (1.0 / 12 + phi2 * (1.0 / 720 + phi2 / 30240));
    if (any(far)) {
        const vec half = 0.5 * ROOT(phi2);
        vec       sine, cosine;
        sine_cosine(half, &sine, &cosine);
        c = pick(far, half * cosine / sine, c);
    }
    c              = larger(c, splat(0.05));
    const vec over = only(phi2 > 0, (1 - c) / phi2);
    const vec t[3] = {theta.x, theta.y, theta.z}, none = {0};
    for (int i = 0; i < 9; ++i) S[i] = over * t[i / 3] * t[i % 3] + (i % 4 == 0 ? c : none);
}

TNI_INLINE void add_end(soft* s, int which, vec e0, vec3 n)
{
    const int k = s->end_count++;
    s->ends[k]  = which;
    s->e0[k]    = e0;
    write3(s->n[k], n);
}

// Those of a range along n, as soften_ends has them.
TNI_INLINE void add_range(soft* s, double lower, double upper, vec z, vec3 n)
{
    if (lower > upper) return;
    add_end(s, 1, z - upper, n);
    add_end(s, 2, lower - z, neg(n));
}

static void look_at_ends(const tn_limit* limit, const mat3* A, const mat3* B, quat q, soft* s)
{
    const vec3 z1 = column(A, 2), z2 = column(B, 2), over = cross(z1, z2);
    const vec  sine = ROOT(dot(over, over)), cosine = dot(z1, z2);
    const vec  twist      = 2 * arc(q.z, q.w);
    const vec3 swing_axis = only3(sine > 1e-12, scale(1 / sine, over)),
               twist_axis = only3(1 + cosine > 1e-9, scale(1 / (1 + cosine), add(z1, z2)));
    if (!isnan(limit->cone)) {
        const vec3 n = mul_t(A, swing_axis);
        s->swing     = arc(sine, cosine);
        s->turn      = cross(mul_t(A, z2), n);
        add_end(s, 0, s->swing - limit->cone, n);
    }
    add_range(s, limit->twist_lower, limit->twist_upper, twist, mul_t(A, twist_axis));
}

static bool has_ends(const tni_joint_force* act)
{
    return act->limit.given && !act->limit.hard;
}

static void look_at_ball(const herd* w, int i, soft* s)
{
    const tni_batch_link*  a     = &w->plan->links[i];
    const tni_joint*       joint = a->joint;
    const tni_joint_force* act   = a->act;
    const side             from = side_of(w, w->R, i, 0), to = side_of(w, w->R, i, 1);
    const mat3             A = mat_mul1(from.R, &joint->F1), B = mat_mul1(to.R, &joint->F2),
               At = transposed(&A), relative = mat_mul(&At, &B);
    const quat q       = matrix_quat(&relative);
    const vec3 stretch = quat_log(quat_mul(quat_exp(quat_log(q)), splat4(a->back)));
    const vec  way[3]  = {stretch.x, stretch.y, stretch.z};
    const vec3 none = zero3(), nil1 = cross(mul1(from.R, joint->p1), none),
               nil2 = cross(mul1(to.R, joint->p2), none);
    vec S[9];
    s->count = 3, s->end_count = 0;
    if (act->stiffness != 0) torsion(stretch, S);
    for (int k = 0; k < 3; ++k) {
        const vec3 axis = column(&A, k);
        s->J[1][k]      = add(nil2, axis);
        s->J[0][k]      = add(nil1, neg(axis));
        s->f[k]         = act->force[k] - act->stiffness * way[k];
    }
    for (int k = 0; k < 9; ++k) s->K[k] = act->stiffness != 0 ? 0 + act->stiffness * S[k] : none.x;
    if (has_ends(act)) look_at_ends(&act->limit, &A, &B, q, s);
}

/// An angle between axes of two bodies: atan2(a1_ky . a2_ly, a1_kx . a2_lx). See joint/rows.c.
typedef struct bend_of {
    int ky, ly, kx, lx;
} bend_of;

static const bend_of turn_about_axis = {1, 0, 0, 0}, turn_about_other = {2, 1, 2, 2};

TNI_INLINE vec angle_between(const tni_joint* joint, const mat3* R1, const mat3* R2, bend_of b,
                             vec near)
{
    const vec y = dot(mul1(R1, tni_column(&joint->F1, b.ky)),
                      mul1(R2, tni_column(&joint->F2, b.ly))),
              x = dot(mul1(R1, tni_column(&joint->F1, b.kx)),
                      mul1(R2, tni_column(&joint->F2, b.lx)));
    return counted_on(near, arc(y, x));
}

// Its rows on the turning of both bodies; returns the angle.
static vec look_at_angle(const tni_joint* joint, const mat3* R1, const mat3* R2, bend_of b,
                         vec near, vec3* J1, vec3* J2)
{
    const vec3 sy = mul1(R1, tni_column(&joint->F1, b.ky)),
               ty = mul1(R2, tni_column(&joint->F2, b.ly)),
               sx = mul1(R1, tni_column(&joint->F1, b.kx)),
               tx = mul1(R2, tni_column(&joint->F2, b.lx));
    const vec  y = dot(sy, ty), x = dot(sx, tx), n = x * x + y * y, cx = x / n, cy = -y / n;
    const vec3 none = zero3();
    if (b.ly == b.lx) { // the same axis is pushed twice
        *J2 = add(none, cross(ty, add_scaled(add_scaled(none, cx, sy), cy, sx)));
    } else {
        *J2 = add(add(none, cross(ty, add_scaled(none, cx, sy))),
                  cross(tx, add_scaled(none, cy, sx)));
    }
    if (b.ky == b.kx) {
        *J1 = add(none, cross(sy, add_scaled(add_scaled(none, cx, ty), cy, tx)));
    } else { // kx before ky
        *J1 = add(add(none, cross(sx, add_scaled(none, cy, tx))),
                  cross(sy, add_scaled(none, cx, ty)));
    }
    return counted_on(near, arc(y, x));
}

// A hinge, or a universal joint: along one or two angles.
static void look_at_angles(const herd* w, int i, soft* s)
{
    const tni_batch_link*  a    = &w->plan->links[i];
    const tni_joint_force* act  = a->act;
    const side             from = side_of(w, w->R, i, 0), to = side_of(w, w->R, i, 1);
    const vec              none = {0};
    vec                    z[2];
    s->count = a->between == TNI_BATCH_HINGE ? 1 : 2, s->end_count = 0;
    z[0] = look_at_angle(a->joint, from.R, to.R, turn_about_axis, w->z[a->z], &s->J[0][0],
                         &s->J[1][0]);
    if (s->count > 1)
        z[1] = look_at_angle(a->joint, from.R, to.R, turn_about_other, w->z[a->z + 1], &s->J[0][1],
                             &s->J[1][1]);
    for (int k = 0; k < s->count * s->count; ++k) s->K[k] = none;
    for (int k = 0; k < s->count; ++k) {
        s->f[k]                = act->force[k] - act->stiffness * (z[k] - act->rest[k]);
        s->K[k * s->count + k] = splat(act->stiffness);
    }
    if (has_ends(act))
        add_range(s, act->limit.lower, act->limit.upper, z[0], make3(splat(1), none, none));
}

// ---- With the motion that is expected ------------------------------------------------------------

/// How the coordinates are expected to move: until the end, and how fast.
typedef struct outlook {
    vec d[3], rate[3];
} outlook;

static outlook look_ahead(const herd* w, int i, const soft* s, const vec* u)
{
    const vec none = {0};
    outlook   look;
    for (int k = 0; k < s->count; ++k) look.d[k] = look.rate[k] = none;
    for (int k = 0; k < 2; ++k) {
        const side on = side_of(w, w->R, i, k);
        if (on.link < 0) continue;
        const vec* turning = u + w->plan->links[on.link].link->u + 3;
        for (int j = 0; j < s->count; ++j) {
            const vec3 J    = s->J[k][j];
            const vec  rate = 0 + J.x * turning[0] + J.y * turning[1] + J.z * turning[2];
            look.rate[j] += rate, look.d[j] += w->h * rate;
        }
    }
    return look;
}

/// An end: what it is beyond, pushes and resists with.
typedef struct met_end {
    mask met;
    vec  k, d, push;
} met_end;

TNI_INLINE met_end meet(const herd* w, const tn_limit* limit, const soft* s, int end,
                        const outlook* look)
{
    const vec  none = {0};
    vec        rate = none, moved = none;
    const mask there = s->e0[end] > 0;
    for (int k = 0; k < s->count; ++k) {
        rate += s->n[end][k] * look->rate[k];
        moved += s->n[end][k] * look->d[k];
    }
    const vec e = s->e0[end] + moved,
              k = pick(there, splat(limit->stiffness),
                       splat(limit->stiffness + limit->damping / w->h)),
              d = only(there, splat(limit->damping)), push = k * e + d * rate;
    return (met_end){(e > 0) & (push > 0), k, d, push};
}

// Across the swing the push turns with the axis.
static void turn_push(soft* s, const met_end* m, vec K[9])
{
    vec sine, cosine;
    if (!any(m->met)) return;
    sine_cosine(s->swing, &sine, &cosine);
    const mask on   = m->met & (cosine > 0) & (sine > 1e-3);
    const vec  by   = m->push * cosine / sine;
    const vec  t[3] = {s->turn.x, s->turn.y, s->turn.z};
    for (int i = 0; i < 9; ++i) K[i] += only(on, by * t[i / 3] * t[i % 3]);
}

// W and g of an actuation (tni_soft_impulse), ends being met as the motion `ahead` says.
static void soften(herd* w, int i, soft* s)
{
    const tni_joint_force* act  = w->plan->links[i].act;
    const outlook          look = look_ahead(w, i, s, w->ahead);
    const int              n    = s->count;
    const double           e    = w->h;
    vec                    f[3], K[9], D[9];
    for (int k = 0; k < n; ++k) f[k] = s->f[k];
    for (int k = 0; k < n * n; ++k)
        K[k] = s->K[k], D[k] = splat(k % (n + 1) == 0 ? act->damping : 0);
    for (int end = 0; end < s->end_count; ++end) {
        const met_end m = meet(w, &act->limit, s, end, &look);
        s->met[end]     = m.met;
        if (!any(m.met)) continue;
        for (int k = 0; k < n; ++k) {
            const vec nk = s->n[end][k];
            f[k]         = pick(m.met, f[k] - m.k * s->e0[end] * nk, f[k]);
            for (int j = 0; j < n; ++j) {
                const vec nj = s->n[end][j];
                K[k * n + j] = pick(m.met, K[k * n + j] + m.k * nk * nj, K[k * n + j]);
                D[k * n + j] = pick(m.met, D[k * n + j] + m.d * nk * nj, D[k * n + j]);
            }
        }
        if (s->ends[end] == 0) turn_push(s, &m, K);
    }
    for (int k = 0; k < n; ++k) s->g[k] = e * f[k];
    for (int k = 0; k < n * n; ++k) s->W[k] = e * e * K[k] + e * D[k];
}

/// Lanes in which the ends that a step with u meets are those that it was softened for.
static mask ends_stand(const herd* w, const vec* u)
{
    mask same = {0};
    same      = ~same;
    for (int i = 0; i < w->plan->count; ++i) {
        const tni_batch_link* a = &w->plan->links[i];
        if (a->soft < 0) continue;
        const soft* s = &w->softs[a->soft];
        if (s->end_count == 0) continue;
        const outlook look = look_ahead(w, i, s, u);
        for (int end = 0; end < s->end_count; ++end)
            same &= ~(meet(w, &a->act->limit, s, end, &look).met ^ s->met[end]);
    }
    return same;
}

// ---- Targets -------------------------------------------------------------------------------------

// Where a target is at the end of a lane's step, and how it moves there.
static void pose_at(const herd* w, const tni_batch_target* t, int lane, tn_frame* pose,
                    tn_twist* velocity)
{
    const tni_target_pose* pushed = &w->inputs[lane]->targets[t->index];
    if (!pushed->given) {
        tni_keys_at(t->of->keys, t->of->key_count, w->end[lane], pose, velocity);
        return;
    }
    const double since = w->end[lane] - pushed->time;
    *velocity          = pushed->velocity;
    pose->position     = tni_add_scaled(pushed->pose.position, since, velocity->linear);
    pose->orientation =
        tni_quat_mul(tni_quat_exp(tni_scale(since, velocity->angular)), pushed->pose.orientation);
}

TNI_INLINE void put_lane(vec3* a, int lane, tn_vec3 b)
{
    a->x[lane] = b.x, a->y[lane] = b.y, a->z[lane] = b.z;
}

TNI_INLINE void add_outer(vec s, vec3 a, vec K[9])
{
    const vec v[3] = {a.x, a.y, a.z};
    for (int i = 0; i < 9; ++i) K[i] += s * v[i / 3] * v[i % 3];
}

// tni_soft_geometric
static void stiffen_arm(vec3 f, vec3 r, vec K[9])
{
    const vec F = ROOT(dot(f, f)), L = ROOT(dot(r, r)), m = F * L, c = dot(f, r), s = 0.5 * (c + m);
    const mask on = (s > 1e-14 * m) & (m > 1e-100), pulls = c >= 0;
    vec        push[9], pull[9];
    for (int i = 0; i < 9; ++i) push[i] = pull[i] = K[i];
    add_outer(s / (2 * m * (m - c)), sub(scale(L, f), scale(F, r)), push);
    for (int i = 0; i < 9; i += 4) pull[i] += s;
    add_outer(-0.25 / m, add(scale(L, f), scale(F, r)), pull);
    add_outer(-0.25 / s, cross(f, r), pull);
    for (int i = 0; i < 9; ++i) K[i] = pick(on, pick(pulls, pull[i], push[i]), K[i]);
}

// c (n x m) = a (n x k) b (k x m); at: a is (k x n)^T.
TNI_INLINE void multiply(int n, int k, int m, bool at, const vec* a, const vec* b, vec* c)
{
    UNROLL for (int i = 0; i < n; ++i)
    {
        UNROLL for (int j = 0; j < m; ++j)
        {
            vec sum = {0};
            UNROLL for (int l = 0; l < k; ++l) sum +=
                (at ? a[l * n + i] : a[i * k + l]) * b[l * m + j];
            c[i * m + j] = sum;
        }
    }
}

// Rows: the point's velocity, then turning.
static void target_rows(vec3 arm, vec J[36])
{
    const vec  none = {0}, unit = splat(1);
    const vec3 axes[3] = {make3(unit, none, none), make3(none, unit, none),
                          make3(none, none, unit)};
    for (int k = 0; k < 36; ++k) J[k] = none;
    for (int k = 0; k < 3; ++k) {
        write3(J + 6 * k, axes[k]);
        write3(J + 6 * k + 3, add(cross(arm, axes[k]), zero3()));
        write3(J + 6 * (k + 3) + 3, axes[k]);
    }
}

static void look_at_target(herd* w, const tni_batch_target* t)
{
    const tni_target* of    = t->of;
    const bool        turns = of->angular_stiffness != 0 || of->angular_damping != 0;
    const mat3*       R     = &w->R[t->link];
    const vec3   arm = mul1(R, of->p), at = add(arm, read3(w->q + w->plan->links[t->link].link->q));
    const double e  = w->h;
    vec3         to = zero3(), go = to, spin = to;
    vec o[4] = {to.x, to.x, to.x, to.x}, f[6], K[36], D[36], W[36], g[6], J[36], WJ[36], k3[9],
        none = {0};
    EACH(lane)
    {
        tn_frame pose;
        tn_twist velocity;
        pose_at(w, t, lane, &pose, &velocity);
        put_lane(&to, lane, pose.position);
        put_lane(&go, lane, velocity.linear);
        put_lane(&spin, lane, velocity.angular);
        o[0][lane] = pose.orientation.w, o[1][lane] = pose.orientation.x;
        o[2][lane] = pose.orientation.y, o[3][lane] = pose.orientation.z;
    }
    const vec3 pull = add_scaled(scale1(-of->stiffness, sub(at, to)), splat(of->damping), go);
    for (int k = 0; k < 36; ++k) K[k] = D[k] = none;
    for (int k = 0; k < 9; ++k) k3[k] = none;
    write3(f, pull), write3(f + 3, zero3());
    for (int k = 0; k < 3; ++k) K[7 * k] = splat(of->stiffness), D[7 * k] = splat(of->damping);
    stiffen_arm(pull, arm, k3);
    for (int k = 0; k < 9; ++k) K[6 * (3 + k / 3) + 3 + k % 3] = 0 + k3[k];
    if (turns) {
        const mat3 T = quat_matrix(read4(o)), Tt = transposed(&T), relative = mat_mul(R, &Tt);
        const vec3 turn = quat_log(matrix_quat(&relative));
        vec        S[9];
        torsion(turn, S);
        write3(f + 3,
               add_scaled(scale1(-of->angular_stiffness, turn), splat(of->angular_damping), spin));
        for (int k = 0; k < 9; ++k) K[6 * (3 + k / 3) + 3 + k % 3] += of->angular_stiffness * S[k];
        for (int k = 0; k < 3; ++k) D[7 * (3 + k)] = splat(of->angular_damping);
    }
    for (int k = 0; k < 36; ++k) W[k] = e * e * K[k] + e * D[k];
    for (int k = 0; k < 6; ++k) g[k] = e * f[k];
    target_rows(arm, J);
    multiply(6, 6, 6, false, W, J, WJ);
    multiply(6, 6, 6, true, J, WJ, w->ones[t->index].A);
    multiply(6, 6, 1, true, J, g, w->ones[t->index].b);
}

// All that the place alone decides.
static void look_at_forces(herd* w)
{
    for (int i = 0; i < w->plan->count; ++i) {
        const tni_batch_link* a = &w->plan->links[i];
        if (a->soft < 0) continue;
        if (a->between == TNI_BATCH_BALL) look_at_ball(w, i, &w->softs[a->soft]);
        else look_at_angles(w, i, &w->softs[a->soft]);
    }
    for (int i = 0; i < w->plan->target_count; ++i) look_at_target(w, &w->plan->targets[i]);
}

#endif
