// tree_form: the implicit step of trees of rigid bodies in joint velocities
// (docs/theory/linear-systems.md 6). The same matrix as the other forms, eliminated differently:
// multipliers are no unknowns, and stiff joint springs stand on a diagonal.
//
// Each body a, a link, hangs by one joint on its parent b. Velocities are taken at a point O of it:
// v there, and w. O is the joint's anchor where the joint holds the anchors together, else the
// centre of mass. With d from O of b to where O of a sits on b, and q the free velocities of the
// joint,
//
//     y = (v_b + w_b x d, w_b),      u_a = y + S q + p,      J_a S = 0,   J_a p = r
//
// This is exact for open joints too: rows of the anchors along world axes rotate with neither body,
// the others with both. Leaves first, with A, b of a and its whole subtree, and the spring's
// impulse g - W (S' q + ...) on q (articulated-body elimination):
//
//     D  = S^T A S + W,     G  = S^T A
//     A' = A - G^T D^-1 G,  b' = b - A p - G^T D^-1 (S^T (b - A p) + g)
//
// A' and b' at O of a are shifted by d and added to the parent's. Root first:
//
//     q = D^-1 (S^T (b - A p) + g - G y),     J_a^T mu = b' - A' y + (spring on a)
//
// Four kinds of joints:
//     TURNS   the anchors held, all turning free     S = (0, 1):  G = (H^T, I)
//     AXIS    the same, turning about s alone free   S = (0, s),  s = z of frame 2
//     FIXED   all held                               S empty
//     OTHER   anything, and roots: S and p from a QR factorisation of J_a^T, dense 6 x 6 algebra
// Blocks of A: M for v, H between v and w, I for w. For TURNS the parent gets
//     M' = M - H D^-1 H^T,  H' = H D^-1 W,  I' = I D^-1 W,  f' = f - M p - H x,  t' = W x - g
// with x = D^-1 (t + g - H^T p): products only, so nothing is lost whether W is tiny or huge.
//
// Instructions (callgrind) and ns a link of a chain, n = 1000, on one EPYC core (Zen 3) shared with
// other processes, gcc 12 -O3, AVX2 (SSE2): bench/micro/nullspace.c
//                       begin              flight           correction
//     anchors           1230   120 (143)   370   49 (74)    360   30
//     and an axis       1900   196 (242)   540   69 (97)    670   58
//     springs           2100   245         370   49         440   36
// docs/theory/linear-systems.md 7 counts 260 flops for the factorisation and 100 for a solve; the
// rest evaluates, gathers and builds K_g, in SIMD lanes where it can. Chains are bound by the
// latency from one link to the next: hence D^-1 H^T, not L and V, in the solves (a correction took
// 49 ns with those).
// Fails where a D is not positive: motion that is not finite, masses too far apart. Files:
// tree_form_link.h shared data, tree_form_tree.c the tree, tree_form_lanes.c SIMD kernels,
// tree_form_dense.c joints of any kind.
#include "math/elementary.h"
#include "math/simd.h"
#include "system/geometric_stiffness.h"
#include "system/tree_form_link.h"

tn_result tni_tree_form_create(tni_arena* arena, tni_system* system, tni_tree_form** out)
{
    const tn_model* model = system->model;
    tni_tree_form*  ns    = TNI_TAKE(arena, tni_tree_form, 1);
    TN_ASSERT(tni_tree_form_supports(model, NULL));
    if (ns == NULL) return TN_ERR_MEMORY;
    const int stiff = tni_external_count(model, true), plain = tni_external_count(model, false);
    const int link_forces = stiff + TN_HANDLES_MAX;
    ns->model             = model;
    ns->system            = system;
    ns->host              = &model->arena.host;
    ns->lanes             = tni_link_lanes_of(tni_simd_width());
    ns->count             = model->free_count;
    ns->links             = TNI_TAKE(arena, tni_link, ns->count);
    ns->works             = TNI_TAKE(arena, tni_link_work, ns->count);
    ns->ends              = TNI_TAKE(arena, tni_mat3, ns->count);
    ns->fixed             = TNI_TAKE(arena, int, ns->count);
    ns->roots             = TNI_TAKE(arena, int, ns->count);
    ns->link_of           = TNI_TAKE(arena, int, model->body_count);
    ns->link_forces       = TNI_TAKE(arena, tni_link_force, link_forces);
    ns->K_g               = TNI_TAKE(arena, tni_mat3, model->body_count);
    if (plain > 0) ns->plain = TNI_TAKE(arena, double, model->u_count);
    *out = ns;
    if (arena->failed) return TN_ERR_MEMORY;
    ns->needs_views = stiff + plain > 0;
    return tni_tree_form_build(ns, arena);
}

void tni_tree_form_use_baseline(tni_tree_form* ns)
{
    ns->lanes = tni_link_lanes_of(TNI_SIMD_NARROW);
}

int tni_tree_form_shared_parts(const tni_tree_form* ns)
{
    return ns->share_count;
}

void tni_tree_form_do_not_share(tni_tree_form* ns)
{
    for (int i = 0; i < ns->count; ++i) ns->links[i].share = 0;
    ns->parts[0]    = (tni_tree_part){.end = ns->count};
    ns->part_count  = 1;
    ns->share_count = 0;
}

bool tni_tree_form_needs_views(const tni_tree_form* ns)
{
    return ns->needs_views;
}

// ---- Articulated inertia ------------------------------------------------------------------------

// Moved to a point from which v here is v + w x d: M stays, H' = H - M [d]x, I' = I + [d]x H +
// ([d]x H')^T.
TNI_INLINE tni_link_inertia shifted(const tni_link_inertia* from, tn_vec3 d)
{
    const double*  H = from->H.m;
    const tni_sym *M = &from->M, *I = &from->I;
    const double   K[9] = {H[0] - (M->xy * d.z - M->xz * d.y), H[1] - (M->xz * d.x - M->xx * d.z),
                           H[2] - (M->xx * d.y - M->xy * d.x), H[3] - (M->yy * d.z - M->yz * d.y),
                           H[4] - (M->yz * d.x - M->xy * d.z), H[5] - (M->xy * d.y - M->yy * d.x),
                           H[6] - (M->yz * d.z - M->zz * d.y), H[7] - (M->zz * d.x - M->xz * d.z),
                           H[8] - (M->xz * d.y - M->yz * d.x)};
    return (tni_link_inertia){*M,
                              {{K[0], K[1], K[2], K[3], K[4], K[5], K[6], K[7], K[8]}},
                              {I->xx + (d.y * H[6] - d.z * H[3]) + (d.y * K[6] - d.z * K[3]),
                               I->xy + (d.y * H[7] - d.z * H[4]) + (d.z * K[0] - d.x * K[6]),
                               I->xz + (d.y * H[8] - d.z * H[5]) + (d.x * K[3] - d.y * K[0]),
                               I->yy + (d.z * H[1] - d.x * H[7]) + (d.z * K[1] - d.x * K[7]),
                               I->yz + (d.z * H[2] - d.x * H[8]) + (d.x * K[4] - d.y * K[1]),
                               I->zz + (d.x * H[5] - d.y * H[2]) + (d.x * K[5] - d.y * K[2])},
                              from->f,
                              tni_add(from->t, tni_cross(d, from->f))};
}

// The same for M, f and t alone (H = I = 0).
TNI_INLINE tni_link_inertia shifted_mass(const tni_sym* M, tn_vec3 f, tn_vec3 t, tn_vec3 d)
{
    const double K[9] = {
        M->xz * d.y - M->xy * d.z, M->xx * d.z - M->xz * d.x, M->xy * d.x - M->xx * d.y,
        M->yz * d.y - M->yy * d.z, M->xy * d.z - M->yz * d.x, M->yy * d.x - M->xy * d.y,
        M->zz * d.y - M->yz * d.z, M->xz * d.z - M->zz * d.x, M->yz * d.x - M->xz * d.y};
    return (tni_link_inertia){*M,
                              {{K[0], K[1], K[2], K[3], K[4], K[5], K[6], K[7], K[8]}},
                              {d.y * K[6] - d.z * K[3], d.z * K[0] - d.x * K[6],
                               d.x * K[3] - d.y * K[0], d.z * K[1] - d.x * K[7],
                               d.x * K[4] - d.y * K[1], d.x * K[5] - d.y * K[2]},
                              f,
                              tni_add(t, tni_cross(d, f))};
}

TNI_INLINE void add_inertia(tni_link_inertia* to, const tni_link_inertia* B)
{
    tni_sym_add(&to->M, &B->M);
    tni_sym_add(&to->I, &B->I);
    for (int i = 0; i < 9; ++i) to->H.m[i] += B->H.m[i];
    to->f = tni_add(to->f, B->f);
    to->t = tni_add(to->t, B->t);
}

// Adds to the parent's slot, which may be the one that this link has emptied.
TNI_INLINE void pass_to_parent(const tni_tree_form* ns, const tni_link* a,
                               const tni_link_inertia* B)
{
    if (a->parent_slot < 0) return;
    if (a->share > 0)
        ns->parts[a->share - 1].inertia = *B; // added to the slot when the parent is
                                              // processed
    else if (a->first) ns->slots[a->parent_slot] = *B;
    else add_inertia(&ns->slots[a->parent_slot], B);
}

TNI_INLINE tn_vec3 field3(const tni_survey s, int i, int lane)
{
    return tni_vec3(s[i][lane], s[i + 1][lane], s[i + 2][lane]);
}

TNI_INLINE tni_sym field6(const tni_survey s, int i, int lane)
{
    return (tni_sym){s[i][lane],     s[i + 1][lane], s[i + 2][lane],
                     s[i + 3][lane], s[i + 4][lane], s[i + 5][lane]};
}

static bool has_handles(const tni_tree_form* ns)
{
    const tni_inputs* outside = ns->system->inputs;
    for (int i = 0; outside != NULL && i < TN_HANDLES_MAX; ++i)
        if (outside->handles[i].body != 0) return true;
    return false;
}

static tni_scene_view scene_of(const tni_tree_form* ns)
{
    const tni_configuration* at = &ns->start->at;
    return (tni_scene_view){.model  = ns->model,
                            .time   = at->time,
                            .z      = at->z,
                            .views  = ns->system->views,
                            .flying = true,
                            .inputs = ns->system->inputs};
}

static tni_prediction ahead_of(const tni_tree_form* ns)
{
    return (tni_prediction){ns->scheme->h, ns->scheme->time, ns->start->predicted};
}

// ---- Forces -------------------------------------------------------------------------------------

static void take_link_force(void* user, const tni_soft* soft)
{
    tni_tree_form* ns = user;
    const int      k  = soft->kind == TNI_SOFT_BODY || tni_can_push(ns->model, soft->body[1]);
    const int      n = soft->row_count, body = soft->body[k];
    const double*  J = soft->J[k];
    double         W[TNI_SOFT_ROWS_MAX * TNI_SOFT_ROWS_MAX], g[TNI_SOFT_ROWS_MAX],
        WJ[TNI_SOFT_ROWS_MAX * 6];
    if (!tni_can_push(ns->model, body)) return;
    tni_link_force* to = &ns->link_forces[ns->link_force_count++];
    tni_link*       a  = &ns->links[to->link = ns->link_of[body]];
    to->next           = a->first_force;
    a->first_force     = ns->link_force_count;
    tni_soft_impulse(ns->model, soft, ns->scheme, W, g);
    tni_link_multiply(n, n, 6, false, W, J, WJ);
    tni_link_multiply(6, n, 6, true, J, WJ, to->A);
    tni_link_multiply(6, n, 1, true, J, g, to->b);
}

static void gather_forces(tni_tree_form* ns)
{
    const tni_scene_view at        = scene_of(ns);
    const tni_prediction predicted = ahead_of(ns);
    if (ns->plain != NULL) tni_nonstiff_forces(&at, ns->plain);
    tni_soften_external(&at, &predicted, take_link_force, ns);
}

static void add_link_forces(const tni_tree_form* ns, const tni_link* a, tn_vec3 ref,
                            tni_link_inertia* B)
{
    for (int i = a->first_force; i > 0; i = ns->link_forces[i - 1].next) {
        const tni_link_force*  o = &ns->link_forces[i - 1];
        const double*          A = o->A;
        const tni_link_inertia C = {
            .M = {A[0], A[6], A[12], A[7], A[13], A[14]},
            .H = {{A[3], A[4], A[5], A[9], A[10], A[11], A[15], A[16], A[17]}},
            .I = {A[21], A[27], A[33], A[28], A[34], A[35]},
            .f = tni_read3(o->b),
            .t = tni_read3(o->b + 3)};
        const tni_link_inertia D = shifted(&C, tni_neg(ref));
        add_inertia(B, &D);
    }
}

// Inertia and momentum of the link, forces on it alone, and the articulated inertia of its
// children; at O.
TNI_INLINE tni_link_inertia gather(const tni_tree_form* ns, const tni_link* a, const tni_survey s,
                                   int lane)
{
    const double  m = a->form->mass;
    const tn_vec3 r = field3(s, TNI_SURVEY_REF, lane), n = tni_scale(m, r);
    const tni_sym I = field6(s, TNI_SURVEY_I, lane);
    tn_vec3       f = field3(s, TNI_SURVEY_F, lane), t = field3(s, TNI_SURVEY_T, lane);
    if (ns->plain != NULL) {
        f = tni_add_scaled(f, ns->e, tni_read3(ns->plain + a->u));
        t = tni_add_scaled(t, ns->e, tni_read3(ns->plain + a->u + 3));
    }
    if (ns->system->extra != NULL) {
        f = tni_add_scaled(f, ns->e, tni_read3(ns->system->extra + a->u));
        t = tni_add_scaled(t, ns->e, tni_read3(ns->system->extra + a->u + 3));
    }
    if (ns->scheme->drift != NULL &&
        ns->start->multipliers != NULL) { // torque of K_g along the drift
        const tn_vec3 turned = tni_scale(ns->scheme->h, tni_read3(ns->scheme->drift + a->u + 3));
        t                    = tni_add_scaled(t, -ns->e, tni_mul(&ns->K_g[a->body], turned));
    }
    const double     along = tni_dot(n, r);
    tni_link_inertia B     = {{m, 0, 0, m, 0, m},
                              {{0, -n.z, n.y, n.z, 0, -n.x, -n.y, n.x, 0}},
                              {I.xx + (along - n.x * r.x), I.xy - n.x * r.y, I.xz - n.x * r.z,
                               I.yy + (along - n.y * r.y), I.yz - n.y * r.z,
                               I.zz + (along - n.z * r.z)},
                              f,
                              tni_add(t, tni_cross(f, r))};
    if (a->slot >= 0) add_inertia(&B, &ns->slots[a->slot]);
    return B;
}

// ---- Rows ---------------------------------------------------------------------------------------

/// The parent side of a joint.
typedef struct side {
    const tni_view* view; ///< if it is immovable, else NULL
    int             u;    ///< if it is movable
    tn_vec3         r;    ///< the anchor from its centre of mass
} side;

TNI_INLINE side parent_of(const tni_tree_form* ns, const tni_link* a, tn_vec3 r)
{
    if (a->parent >= 0) return (side){NULL, ns->links[a->parent].u, r};
    return (side){&ns->system->views[a->other], -1, r};
}

static tn_vec3 turning_of(const side* b, const double* u)
{
    return b->view == NULL ? tni_read3(u + b->u + 3) : b->view->w;
}

static tn_vec3 point_bias(tn_vec3 w, tn_vec3 r)
{
    return tni_cross(w, tni_cross(w, r));
}

static tn_vec3 point_rate(const double* u, tn_vec3 r)
{
    return tni_add(tni_read3(u), tni_cross(tni_read3(u + 3), r));
}

// Whether p has parts that the survey does not have.
TNI_INLINE bool has_lead_terms(const tni_tree_form* ns, const tni_link* a)
{
    return ns->scheme->drift != NULL || ns->scheme->share != 1 || a->parent < 0;
}

// Adds them to p of the anchors: the drift, and the prescribed motion of b.
static tn_vec3 add_lead_terms(const tni_tree_form* ns, const tni_link* a, tn_vec3 ref,
                              const side* b, tn_vec3 p)
{
    const tni_step_scheme* scheme = ns->scheme;
    if (b->view != NULL) p = tni_add(p, tni_add(b->view->v, tni_cross(b->view->w, b->r)));
    if (scheme->drift != NULL) {
        p = tni_sub(p, point_rate(scheme->drift + a->u, ref));
        if (b->view == NULL) p = tni_add(p, point_rate(scheme->drift + b->u, b->r));
    }
    return tni_scale(1 / scheme->share, p);
}

// Rotation rate of a against b by the drift.
static tn_vec3 drift_of(const tni_tree_form* ns, const tni_link* a, const side* b)
{
    const double* drift = ns->scheme->drift;
    const tn_vec3 by    = tni_read3(drift + a->u + 3);
    return b->view == NULL ? tni_sub(by, tni_read3(drift + b->u + 3)) : by;
}

// Target of the row s.t, s an axis of body 1 and t of body 2; its Jacobian on w2 - w1 is n = t x s.
static double turn_wanted(const tni_tree_form* ns, const tni_link* a, const side* b, tn_vec3 s,
                          tn_vec3 t, tn_vec3 n)
{
    const double sign       = a->form->sign;
    double       prescribed = 0, drifted = 0, gamma = 0;
    if (b->view != NULL) prescribed = -sign * tni_dot(n, b->view->w);
    if (ns->scheme->drift != NULL) drifted = sign * tni_dot(n, drift_of(ns, a, b));
    if (ns->start->second_order) {
        const tn_vec3 wa = tni_read3(ns->start->at.u + a->u + 3),
                      wb = turning_of(b, ns->start->at.u);
        const tn_vec3 w1 = sign > 0 ? wb : wa, w2 = sign > 0 ? wa : wb;
        gamma = tni_dot(point_bias(w1, s), t) + tni_dot(s, point_bias(w2, t)) +
                2 * tni_dot(tni_cross(w1, s), tni_cross(w2, t));
    }
    return tni_row_target(ns->start, ns->scheme, true, tni_dot(s, t), prescribed, drifted, gamma);
}

// e^2 times the geometric stiffness of a force f at the arm r (geometric_stiffness.c).
static void add_geometric(double ee, tn_vec3 f, tn_vec3 r, tni_sym* I)
{
    const double F = tni_norm(f), L = tni_norm(r), m = F * L, c = tni_dot(f, r);
    if (!(0.5 * (c + m) > 1e-14 * m && m > 1e-100)) return;
    const double size = fabs(c), s = ee * (m - size) / (4 * m * (m + size));
    const double turn = c < 0 ? -F : F;
    tni_sym_add_outer(I, s, tni_add_scaled(tni_scale(L, f), turn, r));
    if (c < 0) return;
    const double k = 0.5 * ee;
    I->xx += ee * (c - f.x * r.x), I->yy += ee * (c - f.y * r.y), I->zz += ee * (c - f.z * r.z);
    I->xy -= k * (f.x * r.y + r.x * f.y), I->xz -= k * (f.x * r.z + r.x * f.z);
    I->yz -= k * (f.y * r.z + r.y * f.z);
}

void tni_link_stiffen(const tni_tree_form* ns, tn_vec3 f, tn_vec3 arm, tn_vec3 arm_b, tni_sym* I,
                      tni_sym* Ib)
{
    const double ee = ns->e * ns->e;
    add_geometric(ee, f, arm, I);
    add_geometric(ee, tni_neg(f), arm_b, Ib);
}

// ---- TURNS --------------------------------------------------------------------------------------

static tn_quat attitude_of(const tni_tree_form* ns, const tni_link* a, bool parent)
{
    if (parent && a->parent < 0) return tni_matrix_quat(&ns->system->views[a->other].R);
    const double* p = ns->start->at.q + (parent ? ns->links[a->parent].q : a->q) + 3;
    return (tn_quat){p[0], p[1], p[2], p[3]};
}

// (phi/2)/sin(phi/2) of a rotation by phi, z = sin^2(phi/2): a series where z is small.
static double half_over_sine(double z, double cosine)
{
    static const double c[] = {0.0073125258735988454, 0.008390335809616815, 0.0097616095291940784,
                               0.011551800896139705,  0.01396484375,        0.017352764423076924,
                               0.022372159090909092,  0.030381944444444444, 0.044642857142857144,
                               0.074999999999999997,  0.16666666666666666,  1};
    if (z < 0.06) {
        double sum = c[0];
        for (int i = 1; i < 12; ++i) sum = c[i] + z * sum;
        return sum;
    }
    const double sine = sqrt(z);
    return tni_atan2(sine, cosine) / sine;
}

// W and g of a spring, on a. With the rotation vector theta on body 2, in world axes, its torque is
// -k theta and its stiffness k S, S = c 1 + over theta theta^T.
static void spring_of(const tni_tree_form* ns, const tni_link* a, const side* b, tni_sym* W,
                      tn_vec3* g)
{
    const double e = ns->e, k = a->form->stiffness, d = e * a->form->damping, ek = e * k,
                 eek = e * e * k;
    *W               = (tni_sym){d, 0, 0, d, 0, d};
    *g               = tni_vec3(0, 0, 0);
    if (k == 0) return;
    const tn_quat qa = attitude_of(ns, a, false), qb = attitude_of(ns, a, true);
    const bool    second = a->form->sign > 0;
    const tn_quat q1 = second ? qb : qa, q2 = second ? qa : qb;
    const tn_quat by = tni_quat_mul(tni_quat_mul(q2, a->form->twist), tni_quat_conjugate(q1));
    const double  z = by.x * by.x + by.y * by.y + by.z * by.z, cosine = fabs(by.w),
                 ratio = half_over_sine(z, cosine), c = fmax(0.05, ratio * cosine);
    const tn_vec3 theta = tni_scale(by.w < 0 ? -2 * ratio : 2 * ratio, tni_vec3(by.x, by.y, by.z));
    const double  over  = z > 0 ? (1 - c) / (4 * ratio * ratio * z) : 0;
    W->xx += eek * c, W->yy += eek * c, W->zz += eek * c;
    tni_sym_add_outer(W, eek * over, theta);
    *g = tni_scale(-ek * a->form->sign, theta);
    if (ns->scheme->drift == NULL) return;
    const tn_vec3 moved = tni_scale(ns->scheme->h, drift_of(ns, a, b)),
                  along = tni_scale(over * tni_dot(theta, moved), theta);
    *g                  = tni_add_scaled(*g, -ek, tni_add(tni_scale(c, moved), along));
}

const double* tni_link_soften(const tni_tree_form* ns, const tni_link* a, tni_soft* soft, double* W,
                              double* g)
{
    const tni_scene_view at        = scene_of(ns);
    const tni_prediction predicted = ahead_of(ns);
    tni_soften_actuation(&at, &predicted, a->actuation, soft);
    tni_soft_impulse(ns->model, soft, ns->scheme, W, g);
    return soft->J[a->form->sign > 0];
}

// The same for any joint force on rotation.
static void actuation_of(tni_tree_form* ns, const tni_link* a, tni_sym* W, tn_vec3* g)
{
    double        w[TNI_SOFT_ROWS_MAX * TNI_SOFT_ROWS_MAX], v[TNI_SOFT_ROWS_MAX];
    tni_soft      soft;
    const double* J = tni_link_soften(ns, a, &soft, w, v);
    *W              = (tni_sym){0};
    *g              = tni_vec3(0, 0, 0);
    for (int i = 0; i < 3; ++i) {
        const tn_vec3 x = tni_read3(J + 6 * i + 3);
        tn_vec3       y = {0, 0, 0};
        for (int j = 0; j < 3; ++j) y = tni_add_scaled(y, w[3 * i + j], tni_read3(J + 6 * j + 3));
        W->xx += x.x * y.x, W->xy += x.x * y.y, W->xz += x.x * y.z;
        W->yy += x.y * y.y, W->yz += x.y * y.z, W->zz += x.z * y.z;
        *g = tni_add_scaled(*g, v[i], x);
    }
}

// L, 1/d of a symmetric matrix.
TNI_INLINE bool factor3(const tni_sym* D, tn_vec3* l, tn_vec3* inv)
{
    const double a = 1 / D->xx;
    l->x = D->xy * a, l->y = D->xz * a;
    const double d1 = D->yy - l->x * D->xy, e = D->yz - l->x * D->xz, b = 1 / d1;
    l->z            = e * b;
    const double d2 = D->zz - l->y * D->xz - l->z * e;
    *inv            = tni_vec3(a, b, 1 / d2);
    return D->xx > 0 && d1 > 0 && d2 > 0;
}

TNI_INLINE tn_vec3 forward3(tn_vec3 l, tn_vec3 x)
{
    x.y -= l.x * x.x;
    x.z = x.z - l.y * x.x - l.z * x.y;
    return x;
}

TNI_INLINE tn_vec3 backward3(tn_vec3 l, tn_vec3 x)
{
    x.y -= l.z * x.z;
    x.x = x.x - l.x * x.y - l.y * x.z;
    return x;
}

TNI_INLINE tn_vec3 times3(tn_vec3 a, tn_vec3 b)
{
    return tni_vec3(a.x * b.x, a.y * b.y, a.z * b.z);
}

// Q = D^-1 H^T, M' = M - H Q.
TNI_INLINE void reduce_turns(tni_link_work* w, const tni_link_inertia* B)
{
    const tn_vec3 x = forward3(w->l, tni_read3(B->H.m)), y = forward3(w->l, tni_read3(B->H.m + 3)),
                  z = forward3(w->l, tni_read3(B->H.m + 6));
    const tn_vec3 X = backward3(w->l, times3(w->inv, x)), Y = backward3(w->l, times3(w->inv, y)),
                  Z = backward3(w->l, times3(w->inv, z));
    w->Q            = tni_columns(X, Y, Z);
    w->M            = B->M;
    tni_sym_add_outer(&w->M, -w->inv.x, tni_vec3(x.x, y.x, z.x));
    tni_sym_add_outer(&w->M, -w->inv.y, tni_vec3(x.y, y.y, z.y));
    tni_sym_add_outer(&w->M, -w->inv.z, tni_vec3(x.z, y.z, z.z));
}

TNI_INLINE tn_vec3 solve_turns(const tni_link_work* w, tn_vec3 x)
{
    return backward3(w->l, times3(w->inv, forward3(w->l, x)));
}

// With a spring: H' = H T, I' = I T, T = D^-1 W. Into B.
static void reduce_sprung(const tni_link_work* w, tni_link_more* more, const tni_sym* W,
                          tni_link_inertia* B)
{
    const tn_vec3 X = solve_turns(w, tni_vec3(W->xx, W->xy, W->xz)),
                  Y = solve_turns(w, tni_vec3(W->xy, W->yy, W->yz)),
                  Z = solve_turns(w, tni_vec3(W->xz, W->yz, W->zz));
    const tn_vec3 P = tni_sym_times(&B->I, X), R = tni_sym_times(&B->I, Y),
                  S = tni_sym_times(&B->I, Z);
    more->T         = tni_columns(X, Y, Z);
    more->H         = tni_mat_mul(&B->H, &more->T);
    more->I         = *W;
    B->M            = w->M;
    B->H            = more->H;
    B->I            = (tni_sym){P.x, R.x, S.x, R.y, S.y, S.z};
}

// f and t at O <- f' and t', without the part that a spring transmits.
TNI_INLINE void pass_turns(tni_link_work* w, tn_vec3 g, tn_vec3* f, tn_vec3* t)
{
    const tn_vec3 x = tni_add(*t, g);
    w->f = *f = tni_sub(tni_sub(*f, tni_sym_times(&w->M, w->p)), tni_mul_t(&w->Q, x));
    w->y      = tni_sub(solve_turns(w, x), tni_mul(&w->Q, w->p));
    *t        = tni_neg(g);
}

TNI_INLINE void pass_sprung(const tni_link_work* w, const tni_link_more* more, tn_vec3* t)
{
    *t = tni_add(*t, tni_sym_times(&more->I, w->y));
}

TNI_INLINE bool begin_turns(tni_link_work* w, tni_link_inertia* B)
{
    const bool good = factor3(&B->I, &w->l, &w->inv);
    reduce_turns(w, B);
    pass_turns(w, tni_vec3(0, 0, 0), &B->f, &B->t);
    return good;
}

static bool begin_sprung(tni_tree_form* ns, const tni_link* a, tni_link_work* w, const side* b,
                         tni_link_inertia* B)
{
    tni_link_more* more = &ns->mores[a->more];
    tni_sym        W, D = B->I;
    tn_vec3        g;
    if (a->plain) spring_of(ns, a, b, &W, &g);
    else actuation_of(ns, a, &W, &g);
    tni_sym_add(&D, &W);
    const bool good = factor3(&D, &w->l, &w->inv);
    reduce_turns(w, B);
    reduce_sprung(w, more, &W, B);
    pass_turns(w, g, &B->f, &B->t);
    pass_sprung(w, more, &B->t);
    return good;
}

// v: of the anchor on the parent. Returns w.
TNI_INLINE tn_vec3 end_turns(const tni_tree_form* ns, const tni_link* a, const tni_link_work* w,
                             tn_vec3 v, tn_vec3 wb, double* mu)
{
    tn_vec3 wa = tni_sub(w->y, tni_mul(&w->Q, v));
    tn_vec3 m  = tni_sub(w->f, tni_sym_times(&w->M, v));
    if (a->more >= 0) {
        const tni_link_more* more = &ns->mores[a->more];
        wa                        = tni_add(wa, tni_mul(&more->T, wb));
        m                         = tni_sub(m, tni_mul(&more->H, wb));
    }
    tni_write3(mu, tni_scale(a->form->sign, m));
    return wa;
}

// ---- AXIS and FIXED -----------------------------------------------------------------------------

/// The joint's axes: x, y of frame 1; x, y, z of frame 2. n1, n2: rotation rows.
typedef struct axes {
    tn_vec3 x1, y1, x2, y2, z2, n1, n2;
} axes;

static axes axes_of(const tni_survey s, int lane)
{
    const int at = TNI_SURVEY_AXES;
    return (axes){field3(s, at, lane),
                  field3(s, at + 3, lane),
                  field3(s, at + 6, lane),
                  field3(s, at + 9, lane),
                  field3(s, at + 12, lane),
                  field3(s, TNI_SURVEY_N, lane),
                  field3(s, TNI_SURVEY_N + 3, lane)};
}

// The angle plus the number of full turns that brings it nearest to `near`.
static double nearest_turn(double near, double angle)
{
    return angle + TNI_TWO_PI * floor((near - angle) / TNI_TWO_PI + 0.5);
}

// The spring of an angle: *pull (impulse) and its W. Returns its row on a.
static tn_vec3 angle_spring(tni_tree_form* ns, const tni_link* a, tni_link_more* more,
                            const side* b, const axes* x, double* pull)
{
    if (!a->plain) {
        double        W[TNI_SOFT_ROWS_MAX * TNI_SOFT_ROWS_MAX], g[TNI_SOFT_ROWS_MAX];
        tni_soft      soft;
        const double* J = tni_link_soften(ns, a, &soft, W, g);
        more->grip      = W[0];
        *pull           = g[0];
        return tni_read3(J + 3);
    }
    const double           e = ns->e, k = a->form->stiffness;
    const tni_joint_force* act  = &ns->model->actuations[a->actuation];
    const double           near = ns->start->at.z[ns->model->joints[a->joint].coordinate_start];
    const double  X = tni_dot(x->x1, x->x2), Y = tni_dot(x->y1, x->x2), raw = tni_atan2(Y, X);
    const double  angle  = nearest_turn(near, raw);
    const tn_vec3 across = tni_cross(x->x2, tni_sub(tni_scale(X, x->y1), tni_scale(Y, x->x1)));
    const tn_vec3 row    = tni_scale(a->form->sign / (X * X + Y * Y), across);
    more->grip           = e * e * k + e * a->form->damping;
    *pull                = e * (act->force[0] - k * (angle - act->rest[0]));
    if (ns->scheme->drift != NULL)
        *pull -= e * k * ns->scheme->h * tni_dot(row, drift_of(ns, a, b));
    return row;
}

TNI_INLINE tn_vec3 row3(const tni_mat3* A, int i)
{
    return tni_read3(A->m + 3 * i);
}

// The angular p that rows n1, n2 ask for.
TNI_INLINE void turn_axis(const tni_link* a, tni_link_more* more, double r1, double r2)
{
    const double *g = more->gram, x = g[0] * r1 + g[1] * r2, y = g[1] * r1 + g[2] * r2;
    more->turn = tni_scale(
        a->form->sign, tni_add(tni_scale(x, row3(&more->T, 0)), tni_scale(y, row3(&more->T, 1))));
}

TNI_INLINE void pass_axis(tni_link_work* w, tni_link_more* more, double pull, tn_vec3* f,
                          tn_vec3* t)
{
    const tn_vec3 h = row3(&w->Q, 0), k = row3(&w->Q, 1), s = row3(&w->Q, 2), n = row3(&more->T, 2);
    const double  push = pull - more->grip * tni_dot(n, more->turn);
    const double  q    = w->inv.x * (tni_dot(s, *t) + tni_dot(n, s) * push);
    const tn_vec3 Mp   = tni_add(tni_sym_times(&w->M, w->p), tni_mul(&more->H, more->turn)),
                  Ip   = tni_add(tni_mul_t(&more->H, w->p), tni_sym_times(&more->I, more->turn));
    more->push         = push;
    more->q            = q - w->inv.x * (tni_dot(h, w->p) + tni_dot(k, more->turn));
    w->f = *f = tni_add_scaled(tni_sub(*f, Mp), -q, h);
    more->t = *t = tni_add_scaled(tni_sub(*t, Ip), -q, k);
}

static bool begin_axis(tni_tree_form* ns, const tni_link* a, tni_link_work* w, const side* b,
                       const axes* x, tni_link_inertia* B)
{
    tni_link_more* more = &ns->mores[a->more];
    const tn_vec3  s = x->z2, n1 = x->n1, n2 = x->n2, h = tni_mul(&B->H, s),
                  k = tni_sym_times(&B->I, s);
    tn_vec3 row     = {0, 0, 0};
    double  pull    = 0;
    more->grip      = 0;
    if (a->actuation >= 0) row = angle_spring(ns, a, more, b, x, &pull);
    more->T = (tni_mat3){{n1.x, n1.y, n1.z, n2.x, n2.y, n2.z, row.x, row.y, row.z}};
    if (has_lead_terms(ns, a))
        turn_axis(a, more, turn_wanted(ns, a, b, x->x1, s, n1),
                  turn_wanted(ns, a, b, x->y1, s, n2));
    const double along = tni_dot(row, s), D = tni_dot(s, k) + more->grip * along * along;
    w->Q             = (tni_mat3){{h.x, h.y, h.z, k.x, k.y, k.z, s.x, s.y, s.z}};
    w->inv.x         = 1 / D;
    const tn_vec3 hi = tni_scale(w->inv.x, h);
    tni_sym_add_outer(&B->M, -w->inv.x, h);
    tni_sym_add_outer(&B->I, -w->inv.x, k);
    B->H.m[0] -= hi.x * k.x, B->H.m[1] -= hi.x * k.y, B->H.m[2] -= hi.x * k.z;
    B->H.m[3] -= hi.y * k.x, B->H.m[4] -= hi.y * k.y, B->H.m[5] -= hi.y * k.z;
    B->H.m[6] -= hi.z * k.x, B->H.m[7] -= hi.z * k.y, B->H.m[8] -= hi.z * k.z;
    w->M = B->M, more->H = B->H, more->I = B->I;
    pass_axis(w, more, pull, &B->f, &B->t);
    return D > 0 && more->gram[0] > 0;
}

// Force and torque left for the joint to carry, at y = (v, wb).
TNI_INLINE void carried(const tni_link_work* w, const tni_link_more* more, tn_vec3 v, tn_vec3 wb,
                        tn_vec3* f, tn_vec3* t)
{
    *f = tni_sub(w->f, tni_add(tni_sym_times(&w->M, v), tni_mul(&more->H, wb)));
    *t = tni_sub(more->t, tni_add(tni_mul_t(&more->H, v), tni_sym_times(&more->I, wb)));
}

TNI_INLINE tn_vec3 end_axis(const tni_tree_form* ns, const tni_link* a, const tni_link_work* w,
                            tn_vec3 v, tn_vec3 wb, double* mu)
{
    const tni_link_more* more = &ns->mores[a->more];
    const tn_vec3        h = row3(&w->Q, 0), k = row3(&w->Q, 1), s = row3(&w->Q, 2);
    const tn_vec3        n1 = row3(&more->T, 0), n2 = row3(&more->T, 1), n = row3(&more->T, 2);
    const double         q    = more->q - w->inv.x * (tni_dot(h, v) + tni_dot(k, wb));
    const double         sign = a->form->sign, *g = more->gram;
    tn_vec3              f, t;
    carried(w, more, v, wb, &f, &t);
    t               = tni_add_scaled(t, more->push - more->grip * tni_dot(n, s) * q, n);
    const double m1 = sign * tni_dot(n1, t), m2 = sign * tni_dot(n2, t);
    tni_write3(mu, tni_scale(sign, f));
    mu[3] = g[0] * m1 + g[1] * m2;
    mu[4] = g[1] * m1 + g[2] * m2;
    return tni_add_scaled(tni_add(wb, more->turn), q, s);
}

static void pass_fixed(tni_link_work* w, tni_link_more* more, tn_vec3* f, tn_vec3* t)
{
    const tn_vec3 p = w->p, r = more->turn;
    w->f = *f = tni_sub(*f, tni_add(tni_sym_times(&w->M, p), tni_mul(&more->H, r)));
    more->t = *t = tni_sub(*t, tni_add(tni_mul_t(&more->H, p), tni_sym_times(&more->I, r)));
}

static bool begin_fixed(tni_tree_form* ns, const tni_link* a, tni_link_work* w, const side* b,
                        const axes* x, tni_link_inertia* B)
{
    tni_link_more* more = &ns->mores[a->more];
    const tn_vec3  n1 = x->n1, n2 = x->n2, n3 = tni_cross(x->y2, x->x1);
    const tn_vec3  r = {turn_wanted(ns, a, b, x->x1, x->z2, n1),
                        turn_wanted(ns, a, b, x->y1, x->z2, n2),
                        turn_wanted(ns, a, b, x->x1, x->y2, n3)};
    more->T          = (tni_mat3){{n1.x, n1.y, n1.z, n2.x, n2.y, n2.z, n3.x, n3.y, n3.z}};
    more->turn       = tni_scale(a->form->sign, tni_solve3(&more->T, r));
    w->M = B->M, more->H = B->H, more->I = B->I;
    pass_fixed(w, more, &B->f, &B->t);
    return fabs(tni_det(&more->T)) > 1e-12;
}

static tn_vec3 end_fixed(const tni_tree_form* ns, const tni_link* a, const tni_link_work* w,
                         tn_vec3 v, tn_vec3 wb, double* mu)
{
    const tni_link_more* more = &ns->mores[a->more];
    const tni_mat3       T    = tni_transposed(&more->T);
    tn_vec3              f, t;
    carried(w, more, v, wb, &f, &t);
    tni_write3(mu, tni_scale(a->form->sign, f));
    tni_write3(mu + 3, tni_scale(a->form->sign, tni_solve3(&T, t)));
    return tni_add(wb, more->turn);
}

// ---- Inward and outward -------------------------------------------------------------------------

static bool begin_held(tni_tree_form* ns, const tni_link* a, tni_link_work* w, const side* b,
                       const tni_survey s, int lane, tni_link_inertia* B)
{
    tni_link_more* more = &ns->mores[a->more];
    const axes     x    = axes_of(s, lane);
    if (a->kind == TNI_LINK_FIXED) return begin_fixed(ns, a, w, b, &x, B);
    tni_write3(more->gram, field3(s, TNI_SURVEY_GRAM, lane));
    more->turn = field3(s, TNI_SURVEY_TURN, lane);
    return begin_axis(ns, a, w, b, &x, B);
}

// Common to joints that hold the anchors together.
TNI_INLINE void hold_anchors(const tni_tree_form* ns, const tni_link* a, tni_link_work* w,
                             const tni_survey s, int lane)
{
    w->ref = field3(s, TNI_SURVEY_REF, lane);
    w->arm = field3(s, TNI_SURVEY_D, lane);
    w->p   = field3(s, TNI_SURVEY_P, lane);
    if (!has_lead_terms(ns, a)) return;
    const side b = parent_of(ns, a, field3(s, TNI_SURVEY_RB, lane));
    w->p         = add_lead_terms(ns, a, w->ref, &b, w->p);
}

static bool begin_anchored(tni_tree_form* ns, const tni_link* a, tni_link_work* w,
                           const tni_survey s, int lane, tni_link_inertia* B)
{
    const tni_sym K = field6(s, TNI_SURVEY_KB, lane);
    const side    b = parent_of(ns, a, field3(s, TNI_SURVEY_RB, lane));
    hold_anchors(ns, a, w, s, lane);
    const bool good = a->kind == TNI_LINK_TURNS ? begin_sprung(ns, a, w, &b, B)
                                                : begin_held(ns, a, w, &b, s, lane, B);
    *B              = shifted(B, w->arm);
    tni_sym_add(&B->I, &K);
    return good;
}

static bool begin_unanchored(tni_tree_form* ns, const tni_link* a, tni_link_work* w,
                             const tni_survey s, int lane, tni_link_inertia* B)
{
    tni_sym       K    = {0};
    const bool    good = tni_link_begin_other(ns, a, B, &K);
    const tn_vec3 off  = tni_sub(field3(s, TNI_SURVEY_RB, lane), field3(s, TNI_SURVEY_D, lane));
    w->ref             = tni_vec3(0, 0, 0);
    w->arm             = tni_sub(ns->denses[a->more].d, off); // off: O of b from its centre
    if (a->parent < 0) return good;
    *B = shifted(B, w->arm);
    tni_sym_add(&B->I, &K);
    return good;
}

static bool inward_any(tni_tree_form* ns, const tni_link* a, tni_link_work* w, const tni_survey s,
                       int lane)
{
    tni_link_inertia B = gather(ns, a, s, lane);
    if (a->first_force > 0) add_link_forces(ns, a, field3(s, TNI_SURVEY_REF, lane), &B);
    const bool good = a->kind != TNI_LINK_OTHER ? begin_anchored(ns, a, w, s, lane, &B)
                                                : begin_unanchored(ns, a, w, s, lane, &B);
    pass_to_parent(ns, a, &B);
    return good;
}

// TURNS without a spring. No address of an articulated inertia leaves this function, so that it
// stays in registers.
TNI_INLINE bool inward_free(tni_tree_form* ns, const tni_link* a, tni_link_work* to_w,
                            const tni_survey s, int lane)
{
    const tni_sym    K = field6(s, TNI_SURVEY_KB, lane);
    tni_link_inertia B = gather(ns, a, s, lane);
    if (a->first_force > 0) {
        tni_link_inertia more = {.f = {0, 0, 0}};
        add_link_forces(ns, a, field3(s, TNI_SURVEY_REF, lane), &more);
        add_inertia(&B, &more);
    }
    tni_link_work w;
    hold_anchors(ns, a, &w, s, lane);
    const bool       good = begin_turns(&w, &B);
    tni_link_inertia to   = shifted_mass(&w.M, B.f, B.t, w.arm);
    *to_w                 = w;
    tni_sym_add(&to.I, &K);
    pass_to_parent(ns, a, &to);
    return good;
}

// b: motion of the link after it.
TNI_INLINE tni_link_motion outward(const tni_tree_form* ns, int i, tni_link_motion b, double* u,
                                   double* mu)
{
    const tni_link*      a = &ns->links[i];
    const tni_link_work* w = &ns->works[i];
    if (a->parent < 0) {
        b = (tni_link_motion){{0, 0, 0}, {0, 0, 0}};
    } else if (a->parent != i + 1) {
        const double* ub = u + ns->links[a->parent].u;
        b.w              = tni_read3(ub + 3);
        b.v              = tni_add(tni_read3(ub), tni_cross(b.w, ns->works[a->parent].ref));
    }
    const tn_vec3 v = tni_add(b.v, tni_cross(b.w, w->arm));
    tn_vec3       wa;
    u += a->u, mu += a->row;
    if (a->kind == TNI_LINK_OTHER) {
        tni_link_end_other(ns, a, v, b.w, u, mu);
        return (tni_link_motion){tni_read3(u), tni_read3(u + 3)};
    }
    if (a->kind == TNI_LINK_TURNS) wa = end_turns(ns, a, w, v, b.w, mu);
    else if (a->kind == TNI_LINK_AXIS) wa = end_axis(ns, a, w, v, b.w, mu);
    else wa = end_fixed(ns, a, w, v, b.w, mu);
    const tn_vec3 va = tni_add(v, w->p);
    tni_write3(u, tni_sub(va, tni_cross(wa, w->ref)));
    tni_write3(u + 3, wa);
    return (tni_link_motion){va, wa};
}

// ---- Parts --------------------------------------------------------------------------------------

/// A pass over the parts, with its arguments.
typedef struct job {
    tni_tree_form* ns;
    void (*what)(const struct job*, tni_tree_part*);
    double *                 u, *mu;
    const double *           b, *r;
    const tni_step_start*    start;
    const tni_step_scheme*   scheme;
    const tni_configuration* at;
    double *                 q1, *u1, *rows, *z;
} job;

static void do_share(void* data, int i)
{
    const job*     j  = data;
    tni_tree_form* ns = j->ns;
    j->what(j, &ns->parts[ns->shares[i]]);
}

static void each_share(job* j)
{
    const tn_host* host = j->ns->host;
    if (host->each != NULL && j->ns->share_count > 1)
        host->each(host->workers, j->ns->share_count, do_share, j);
    else
        for (int i = 0; i < j->ns->share_count; ++i) do_share(j, i);
}

// Parts that are not shared first, from the last one down, then the shared ones in parallel.
static void each_outward(job* j)
{
    for (int i = j->ns->part_count; i-- > 0;)
        if (!j->ns->parts[i].shared) j->what(j, &j->ns->parts[i]);
    each_share(j);
}

static void outward_part(const job* j, tni_tree_part* part)
{
    const tni_tree_form* ns = j->ns;
    tni_link_motion      b  = part->from;
    for (int i = part->end; i-- > part->first;) b = outward(ns, i, b, j->u, j->mu);
    if (!part->shared && part > ns->parts) part[-1].from = b;
}

static void all_outward(tni_tree_form* ns, double* u, double* mu)
{
    job j = {.ns = ns, .what = outward_part, .u = u, .mu = mu};
    each_outward(&j);
}

// Keeps the largest error, a NaN counting as infinite; of equal ones that of the first constraint.
static void note_error(tni_tree_part* part, double e, int constraint)
{
    if (e < part->most || (e == part->most && !(constraint < part->worst))) return;
    part->most  = isnan(e) ? HUGE_VAL : e;
    part->worst = constraint;
}

// The largest error of all parts.
static double worst_of(const tni_tree_form* ns, int* worst)
{
    tni_tree_part all = {.worst = -1};
    for (int i = 0; i < ns->part_count; ++i)
        if (ns->parts[i].worst >= 0) note_error(&all, ns->parts[i].most, ns->parts[i].worst);
    *worst = all.worst;
    return all.most;
}

static void evaluate_immovable(const tni_tree_form* ns, double time, const double* q,
                               const double* u)
{
    for (int i = 0; i < ns->fixed_count; ++i)
        tni_view_body(ns->model, ns->fixed[i], time, q, u, &ns->system->views[ns->fixed[i]]);
}

static void inward_part(const job* j, tni_tree_part* part)
{
    tni_tree_form* ns    = j->ns;
    const int      lanes = ns->lanes->lanes;
    tni_survey     survey;
    part->bad = -1;
    for (int i = part->first; i < part->end; i += lanes) {
        ns->lanes->survey(ns, i, survey);
        for (int k = 0; k < lanes && i + k < part->end; ++k) {
            const tni_link* a    = &ns->links[i + k];
            tni_link_work*  w    = &ns->works[i + k];
            const bool      good = a->kind == TNI_LINK_TURNS && a->actuation < 0
                                       ? inward_free(ns, a, w, survey, k)
                                       : inward_any(ns, a, w, survey, k);
            if (!good && part->bad < 0) part->bad = i + k;
        }
    }
}

// Adds the result of a shared part to the slot of its parent link.
static void take_inertia(const tni_tree_form* ns, const tni_tree_part* share)
{
    const tni_link* a = &ns->links[share->end - 1];
    if (a->parent_slot < 0) return;
    if (a->first) ns->slots[a->parent_slot] = share->inertia;
    else add_inertia(&ns->slots[a->parent_slot], &share->inertia);
}

tn_result tni_tree_form_begin(tni_tree_form* ns, const tni_step_start* start,
                              const tni_step_scheme* scheme, double* u, double* mu, tn_why* why)
{
    const tni_configuration* at  = &start->at;
    int                      bad = -1;
    ns->start = start, ns->scheme = scheme, ns->e = scheme->share * scheme->h;
    for (; ns->link_force_count > 0; --ns->link_force_count)
        ns->links[ns->link_forces[ns->link_force_count - 1].link].first_force = 0;
    const bool turning = scheme->drift != NULL && start->multipliers != NULL;
    if (ns->needs_views || turning || has_handles(ns)) {
        tni_views(ns->model, at->time, at->q, at->u, ns->system->views);
        gather_forces(ns);
        if (turning)
            tni_geometric_stiffness(ns->model, ns->system->views, at->time, at->z,
                                    start->multipliers, ns->K_g);
    } else {
        evaluate_immovable(ns, at->time, at->q, at->u);
    }
    job j = {.ns = ns, .what = inward_part};
    each_share(&j);
    for (int i = 0; i < ns->part_count; ++i) {
        tni_tree_part* part = &ns->parts[i];
        if (part->shared) take_inertia(ns, part);
        else inward_part(&j, part);
        if (bad < 0) bad = part->bad;
    }
    if (bad >= 0) return tni_system_fail_at(ns->system, ns->links[bad].u, why);
    all_outward(ns, u, mu);
    return TN_OK;
}

TNI_INLINE void pass_load(const tni_tree_form* ns, const tni_link* a, tn_vec3 f, tn_vec3 t)
{
    tni_link_inertia* to = &ns->slots[a->parent_slot];
    to->f                = a->first ? f : tni_add(to->f, f);
    to->t                = a->first ? t : tni_add(to->t, t);
}

// last: load from the link before, if that is its only child.
TNI_INLINE tni_link_load pass(tni_tree_form* ns, int i, tni_link_load last, const double* b,
                              const double* r)
{
    const tni_link* a = &ns->links[i];
    tni_link_work*  w = &ns->works[i];
    tn_vec3         f = last.f, t = last.t;
    if (a->slot < 0) f = t = tni_vec3(0, 0, 0);
    else if (!a->single) f = ns->slots[a->slot].f, t = ns->slots[a->slot].t;
    if (b != NULL) {
        const tn_vec3 own = tni_read3(b + a->u);
        f                 = tni_add(f, own);
        t                 = tni_add(t, tni_add(tni_read3(b + a->u + 3), tni_cross(own, w->ref)));
    }
    r += a->row;
    if (a->kind == TNI_LINK_OTHER) {
        tni_link_pass_other(ns, a, r, &f, &t);
    } else {
        w->p = tni_scale(a->form->sign, tni_read3(r));
        if (a->kind == TNI_LINK_TURNS) {
            pass_turns(w, tni_vec3(0, 0, 0), &f, &t);
            if (a->more >= 0) pass_sprung(w, &ns->mores[a->more], &t);
        } else if (a->kind == TNI_LINK_AXIS) {
            turn_axis(a, &ns->mores[a->more], r[3], r[4]);
            pass_axis(w, &ns->mores[a->more], 0, &f, &t);
        } else {
            tni_link_more* more = &ns->mores[a->more];
            more->turn          = tni_scale(a->form->sign, tni_solve3(&more->T, tni_read3(r + 3)));
            pass_fixed(w, more, &f, &t);
        }
    }
    t = tni_add(t, tni_cross(w->arm, f));
    if (a->parent_slot >= 0 && !ns->links[a->parent].single && a->share == 0)
        pass_load(ns, a, f, t);
    return (tni_link_load){f, t};
}

static void pass_part(const job* j, tni_tree_part* part)
{
    tni_link_load last = {{0, 0, 0}, {0, 0, 0}};
    if (!part->shared && part > j->ns->parts) last = part[-1].load;
    for (int i = part->first; i < part->end; ++i) last = pass(j->ns, i, last, j->b, j->r);
    part->load = last;
}

tn_result tni_tree_form_correct(tni_tree_form* ns, const double* b, const double* r, double* u,
                                double* mu, tn_why* why)
{
    (void)why;
    job j = {.ns = ns, .what = pass_part, .b = b, .r = r};
    each_share(&j);
    for (int i = 0; i < ns->part_count; ++i) {
        tni_tree_part*  part = &ns->parts[i];
        const tni_link* a    = &ns->links[part->end - 1];
        if (!part->shared) pass_part(&j, part);
        else if (a->parent_slot >= 0 && !ns->links[a->parent].single)
            pass_load(ns, a, part->load.f, part->load.t);
    }
    all_outward(ns, u, mu);
    return TN_OK;
}

// ---- Flying -------------------------------------------------------------------------------------

// C of a joint's rows, rates of velocity-only rows. Returns the largest.
static double other_rows(const tni_tree_form* ns, const tni_link* a, const tni_step_scheme* scheme,
                         const double* z, const double* q1, const double* u1, double* r)
{
    const tn_model*       model = ns->model;
    const tni_joint*      joint = &model->joints[a->joint];
    const tni_constraint* of    = &model->constraints[a->constraint];
    double                most  = 0;
    tni_view              view[2];
    tni_row               rows[TNI_JOINT_ROWS_MAX];
    tni_view_body(model, joint->body1, scheme->time, q1, u1, &view[0]);
    tni_view_body(model, joint->body2, scheme->time, q1, u1, &view[1]);
    (void)tni_joint_rows(model, joint, (tni_sides){&view[0], &view[1]}, scheme->time, z, rows);
    for (int i = 0; i < of->row_count; ++i) {
        const bool   held = i < of->held_count;
        const double e    = fabs(held ? rows[i].C : scheme->h * rows[i].rate);
        r[i]              = held ? rows[i].C : rows[i].rate;
        if (!(e <= most)) most = e;
    }
    return most;
}

// The largest of three; infinite if one is NaN.
TNI_INLINE double largest3(const double* x)
{
    const double a = fabs(x[0]), b = fabs(x[1]), c = fabs(x[2]), sum = a + b + c;
    const double ab = a > b ? a : b;
    return sum == sum ? (ab > c ? ab : c) : HUGE_VAL;
}

// Rows at the end of a flight that left R in ends.
static void find_gaps(const tni_tree_form* ns, const tni_tree_part* part, const double* q1,
                      double* r)
{
    static const int count[] = {[TNI_LINK_TURNS] = 3, [TNI_LINK_AXIS] = 5, [TNI_LINK_FIXED] = 6};
    const int        lanes   = ns->lanes->lanes;
    double           gap[6][TNI_LANES_MAX];
    for (int last = part->end - 1; last >= part->first; last -= lanes) {
        ns->lanes->gaps(ns, part->first, last, q1, gap);
        for (int k = 0; k < lanes && last - k >= part->first; ++k) {
            const tni_link* a = &ns->links[last - k];
            if (a->kind == TNI_LINK_OTHER) continue;
            for (int row = 0; row < count[a->kind]; ++row)
                r[a->row + row] = row < 3 ? a->form->sign * gap[row][k] : gap[row][k];
        }
    }
}

// Positions of the roots' anchors on the immovable side.
static void place_roots(const tni_tree_form* ns, double* r)
{
    for (int i = 0; i < ns->root_count; ++i) {
        const tni_link* a    = &ns->links[ns->roots[i]];
        const tni_view* view = &ns->system->views[a->other];
        if (a->kind == TNI_LINK_OTHER) continue;
        tni_write3(r + a->row, tni_add(view->x, tni_mul(&view->R, a->form->anchor)));
    }
}

static bool is_straight(const tni_step_scheme* scheme)
{
    return scheme->share == 1 && scheme->drift == NULL;
}

static void fly_part(const job* j, tni_tree_part* part)
{
    const tni_tree_form* ns       = j->ns;
    const bool           straight = is_straight(j->scheme);
    double*              r        = j->rows;
    if (straight)
        ns->lanes->fly(ns, part->first, part->end, j->scheme->h, j->start->at.q, j->u, j->q1, j->u1,
                       ns->holds_rotation ? NULL : r);
    if (!straight || ns->holds_rotation) find_gaps(ns, part, j->q1, r);
    part->most  = 0;
    part->worst = -1;
    for (int i = part->end; i-- > part->first;) {
        const tni_link* a = &ns->links[i];
        const double*   C = r + a->row;
        double          e;
        if (a->joint < 0) continue;
        if (a->kind == TNI_LINK_OTHER) {
            e = other_rows(ns, a, j->scheme, j->start->at.z, j->q1, j->u1, r + a->row);
        } else {
            e = largest3(C);
            if (a->kind == TNI_LINK_AXIS) e = fmax(e, fmax(fabs(C[3]), fabs(C[4])));
            if (a->kind == TNI_LINK_FIXED) e = fmax(e, largest3(C + 3));
        }
        note_error(part, e, a->constraint);
    }
}

double tni_tree_form_fly(tni_tree_form* ns, const tni_step_start* start,
                         const tni_step_scheme* scheme, const double* u, double* q1, double* u1,
                         double* r, int* worst)
{
    job j = {.ns     = ns,
             .what   = fly_part,
             .u      = (double*)u,
             .start  = start,
             .scheme = scheme,
             .q1     = q1,
             .u1     = u1,
             .rows   = r};
    evaluate_immovable(ns, scheme->time, q1, u1);
    if (is_straight(scheme)) {
        if (!ns->holds_rotation) place_roots(ns, r);
    } else {
        tni_fly_mean(ns->model, scheme->h, scheme->share, scheme->drift, start->at.q, u, q1, u1);
        for (int i = 0; i < ns->count; ++i) {
            const double* p = q1 + ns->links[i].q + 3;
            ns->ends[i]     = tni_quat_matrix((tn_quat){p[0], p[1], p[2], p[3]});
        }
    }
    each_outward(&j);
    return worst_of(ns, worst);
}

// ---- Measuring ----------------------------------------------------------------------------------

// The largest rate of a joint's rows; its angles into z.
static double measure_other(const tni_tree_form* ns, const tni_link* a, const tni_configuration* at,
                            double* z)
{
    const tn_model*  model = ns->model;
    const tni_joint* joint = &model->joints[a->joint];
    double           most  = 0;
    tni_view         view[2];
    tni_row          rows[TNI_JOINT_ROWS_MAX];
    tni_view_body(model, joint->body1, at->time, at->q, at->u, &view[0]);
    tni_view_body(model, joint->body2, at->time, at->q, at->u, &view[1]);
    const tni_sides sides = {&view[0], &view[1]};
    const int       count = tni_joint_rows(model, joint, sides, at->time, z, rows);
    for (int i = 0; i < count; ++i)
        if (!(fabs(rows[i].rate) <= most)) most = fabs(rows[i].rate);
    for (int k = 0; k < joint->coordinate_count; ++k) {
        const uint8_t coordinate = joint->type->coordinates[k];
        if (coordinate == TNI_COORDINATE_ANGLE || coordinate == TNI_COORDINATE_BEND)
            z[joint->coordinate_start + k] = tni_joint_coordinate(model, joint, k, sides, z).C;
    }
    return most;
}

static void measure_part(const job* j, tni_tree_part* part)
{
    const tni_tree_form*     ns    = j->ns;
    const tni_configuration* at    = j->at;
    const int                lanes = ns->lanes->lanes;
    double                   out[8][TNI_LANES_MAX];
    part->most  = 0;
    part->worst = -1;
    for (int last = part->end - 1; last >= part->first; last -= lanes) {
        ns->lanes->rates(ns, part->first, last, at->q, at->u, out);
        for (int k = 0; k < lanes && last - k >= part->first; ++k) {
            const tni_link* a = &ns->links[last - k];
            const double D[6] = {out[0][k], out[1][k], out[2][k], out[3][k], out[4][k], out[5][k]};
            double       e;
            if (a->joint < 0) continue;
            if (a->kind == TNI_LINK_OTHER) e = measure_other(ns, a, at, j->z);
            else e = largest3(D);
            if (a->kind == TNI_LINK_FIXED) e = fmax(e, largest3(D + 3));
            if (a->kind == TNI_LINK_AXIS) {
                double* angle = &j->z[ns->model->joints[a->joint].coordinate_start];
                e             = fmax(e, fmax(fabs(D[3]), fabs(D[4])));
                *angle        = nearest_turn(*angle, tni_atan2(out[7][k], out[6][k]));
            }
            note_error(part, e, a->constraint);
        }
    }
}

double tni_tree_form_measure(tni_tree_form* ns, const tni_configuration* at, double* z, int* worst)
{
    job j = {.ns = ns, .what = measure_part, .at = at, .z = z};
    evaluate_immovable(ns, at->time, at->q, at->u);
    each_outward(&j);
    return worst_of(ns, worst);
}
