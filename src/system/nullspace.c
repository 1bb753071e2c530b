// nullspace: the implicit step of trees of rigid bodies, in the velocities of their joints
// (dynamics.md 4.6). The same matrix as the other forms, eliminated in another way: no multiplier is
// an unknown, and stiff joint springs stand on a diagonal.
//
// Each body a hangs by one joint on its parent b. Velocities are taken at a point O of the body: v
// there, and w. O is the joint's anchor where the joint holds the anchors together, else the centre of
// mass. With d from O of b to where O of a sits on b, and q the free velocities of the joint,
//
//     y = (v_b + w_b x d, w_b),      u_a = y + S q + p,      J_a S = 0,   J_a p = r
//
// Such an X is exact for open joints too: rows of the anchors along world axes turn with nothing, the
// others with both bodies. Leaves first, with A, b of a and all that hangs on it, and the spring's
// impulse g - W (S' q + ...) on q (articulated-body elimination):
//
//     D = S^T A S + W,    G = S^T A,    A' = A - G^T D^-1 G,    b' = b - A p - G^T D^-1 (S^T (b - A p) + g)
//
// A' and b' at O of a are shifted by d and added to the parent's. Root first:
//
//     q = D^-1 (S^T (b - A p) + g - G y),     J_a^T mu = b' - A' y + (spring on a)
//
// Four kinds of joints:
//     TURNS   the anchors held, all turning free     S = (0, 1):  G = (H^T, I)
//     AXIS    ... but about one axis s held          S = (0, s),  s = z of frame 2
//     FIXED   all held                               S empty
//     OTHER   anything, and roots: S and p from a QR factorisation of J_a^T, dense 6 x 6 algebra
// Blocks of A: M for v, H between v and w, I for w. For TURNS the parent gets
//     M' = M - H D^-1 H^T,  H' = H D^-1 W,  I' = I D^-1 W,  f' = f - M p - H x,  t' = W x - g
// with x = D^-1 (t + g - H^T p): products only, so nothing is lost whether W is tiny or huge.
//
// Cost a link without spring: some 700 flops for a begin, 130 for a correct, 350 for a flight.
// Fails where a D is not positive: motion that is not finite, masses too far apart.
#include "system/nullspace.h"

#include "force/force.h"
#include "math/elementary.h"
#include "system/geometric.h"

typedef struct sym {
    double xx, xy, xz, yy, yz, zz;
} sym;

/// What hangs on a point: inertia against v there and w, and the impulse on it.
typedef struct bulk {
    sym      M;
    tni_mat3 H; ///< v^T H w
    sym      I;
    tn_vec3  f, t;
} bulk;

typedef enum kind { TURNS, AXIS, FIXED, OTHER } kind;

enum { SOFT_MAX = 5 };

/// Rows between a joint's bodies that push with g - W rate, rate = (on u_a) Ja and (on y) Y.
typedef struct soft_rows {
    int    count;
    double W[SOFT_MAX * SOFT_MAX], g[SOFT_MAX];
    double Ja[SOFT_MAX * 6], Y[SOFT_MAX * 6];
} soft_rows;

/// A joint of kind OTHER.
typedef struct dense {
    int       rows;             ///< hard ones; 6 - rows are free
    double    Q[36];            ///< columns one after the other: the span of J_a^T, then S
    double    R[36];            ///< J_a^T = Q R, rows x rows, row-major
    double    G[36];            ///< free x 6
    double    D[36];            ///< free x free: L, and 1 / d on the diagonal
    double    A[36], left[36];  ///< A and A'
    double    SW[SOFT_MAX * 6]; ///< W Ja S: count x free
    double    p[6], q[6], b[6]; ///< of the solve at hand: q where y = 0, b'
    double    push[SOFT_MAX];   ///< of the soft rows where q = y = 0
    soft_rows soft;
} dense;

/// What never changes.
typedef struct link {
    kind    kind;
    int     body, joint, constraint, row; ///< joint -1: a root without
    int     parent;                       ///< link; -1: none that can be pushed
    int     other;                        ///< body on the parent's side
    int     q, u;                         ///< where its numbers begin
    int     actuation;                    ///< -1: none
    bool    plain;                        ///< of which only spring and damper count
    int     slot;                         ///< where children put their bulk; -1: has none
    int     parent_slot;
    bool    first; ///< of the children: nothing is there yet
    double  sign;  ///< +1: it is body 2 of its joint
    double  mass;
    sym     inertia, inverse; ///< body axes
    tn_vec3 ref;              ///< O from the centre of mass
    tn_vec3 anchor;           ///< on the parent, from its centre of mass
    tn_quat twist;            ///< plain: F2 rest^-1 F1^-1
    double  stiffness, damping;
    int     dense;  ///< OTHER
    bool    points; ///< OTHER: has rows of the anchors along world axes
} link;

/// What a step computes of a link.
typedef struct work {
    tni_mat3 R;
    tn_vec3  ref;  ///< world axes
    tn_vec3  arm;  ///< d
    tn_vec3  v, w; ///< of the solve at hand, at O
    sym      M;    ///< M'
    tn_vec3  f;    ///< f'
    tn_vec3  p;
    // TURNS: D = L diag(1/inv) L^T, V = L^-1 H^T. AXIS: rows h = H s, k = I s, s of V, inv.x = 1/D.
    tn_vec3  l, inv, y;
    tni_mat3 V;
    // With springs, and AXIS, FIXED
    tni_mat3 H; ///< H'
    sym      I; ///< W of TURNS; I' of AXIS and FIXED
    tni_mat3
        T; ///< TURNS: inv L^-1 W. AXIS: rows n1, n2, the spring's row. FIXED: the rows of turning
    tn_vec3 t, turn;    ///< AXIS, FIXED: t', the angular part of p
    double  q, gram[3]; ///< AXIS: q where y = 0; of n1 and n2: 11, 12, 22 of the inverse
    double  pull, grip; ///< AXIS: g and W of the spring
    int     one;        ///< the first stiff force on it alone, +1; 0: none
} work;

/// A stiff force on one link alone.
typedef struct one {
    int    link, next;  ///< next + 1
    double A[36], b[6]; ///< at the centre of mass
} one;

struct tni_nullspace {
    const tn_model*  model;
    tni_system*      system;
    int              count;
    link*            links; ///< children before parents
    work*            works;
    dense*           denses;
    bulk*            slots;
    int              fixed_count;
    int*             fixed;   ///< bodies that cannot be pushed and hold something
    bool             looks;   ///< asks for all views
    int*             link_of; ///< by body
    one*             ones;
    int              one_count;
    double*          plain; ///< forces, where there is more than weight
    const tni_start* start;
    const tni_lead*  lead;
    double           e;
    tni_soft         soft;
    tni_mat3*        ends; ///< R at the end of the last flight
    bool             wide; ///< the processor has vectors of four
};

// ---- Small algebra -------------------------------------------------------------------------------

TNI_INLINE tn_vec3 sym_times(const sym* A, tn_vec3 x)
{
    return tni_vec3(A->xx * x.x + A->xy * x.y + A->xz * x.z,
                    A->xy * x.x + A->yy * x.y + A->yz * x.z,
                    A->xz * x.x + A->yz * x.y + A->zz * x.z);
}

TNI_INLINE void sym_add(sym* A, const sym* B)
{
    A->xx += B->xx, A->xy += B->xy, A->xz += B->xz;
    A->yy += B->yy, A->yz += B->yz, A->zz += B->zz;
}

// A += s x x^T
TNI_INLINE void sym_add_outer(sym* A, double s, tn_vec3 x)
{
    const tn_vec3 y = tni_scale(s, x);
    A->xx += y.x * x.x, A->xy += y.x * x.y, A->xz += y.x * x.z;
    A->yy += y.y * x.y, A->yz += y.y * x.z, A->zz += y.z * x.z;
}

// R S R^T
TNI_INLINE sym turned(const tni_mat3* R, const sym* S)
{
    const double* r = R->m;
    const tn_vec3 x = sym_times(S, tni_read3(r)), y = sym_times(S, tni_read3(r + 3)),
                  z = sym_times(S, tni_read3(r + 6));
    return (sym){tni_dot(x, tni_read3(r)),     tni_dot(x, tni_read3(r + 3)),
                 tni_dot(x, tni_read3(r + 6)), tni_dot(y, tni_read3(r + 3)),
                 tni_dot(y, tni_read3(r + 6)), tni_dot(z, tni_read3(r + 6))};
}

// Seen from a point from which v here is v + w x d: M stays, H' = H - M [d]x,
// I' = I + [d]x H + ([d]x H')^T.
TNI_INLINE void add_shifted(bulk* to, const bulk* from, tn_vec3 d)
{
    const double* H    = from->H.m;
    const sym*    M    = &from->M;
    const double  K[9] = {H[0] - (M->xy * d.z - M->xz * d.y), H[1] - (M->xz * d.x - M->xx * d.z),
                          H[2] - (M->xx * d.y - M->xy * d.x), H[3] - (M->yy * d.z - M->yz * d.y),
                          H[4] - (M->yz * d.x - M->xy * d.z), H[5] - (M->xy * d.y - M->yy * d.x),
                          H[6] - (M->yz * d.z - M->zz * d.y), H[7] - (M->zz * d.x - M->xz * d.z),
                          H[8] - (M->xz * d.y - M->yz * d.x)};
    sym_add(&to->M, M);
    for (int i = 0; i < 9; ++i) to->H.m[i] += K[i];
    to->I.xx += from->I.xx + (d.y * H[6] - d.z * H[3]) + (d.y * K[6] - d.z * K[3]);
    to->I.xy += from->I.xy + (d.y * H[7] - d.z * H[4]) + (d.z * K[0] - d.x * K[6]);
    to->I.xz += from->I.xz + (d.y * H[8] - d.z * H[5]) + (d.x * K[3] - d.y * K[0]);
    to->I.yy += from->I.yy + (d.z * H[1] - d.x * H[7]) + (d.z * K[1] - d.x * K[7]);
    to->I.yz += from->I.yz + (d.z * H[2] - d.x * H[8]) + (d.x * K[4] - d.y * K[1]);
    to->I.zz += from->I.zz + (d.x * H[5] - d.y * H[2]) + (d.x * K[5] - d.y * K[2]);
    to->f = tni_add(to->f, from->f);
    to->t = tni_add(tni_add(to->t, from->t), tni_cross(d, from->f));
}

// a (n x n, row-major) <- L below, 1 / d on the diagonal. False when d is not positive.
static bool ldl(int n, double* a)
{
    bool good = true;
    for (int j = 0; j < n; ++j) {
        double d = a[j * n + j];
        for (int k = 0; k < j; ++k) d -= a[j * n + k] * a[j * n + k] / a[k * n + k];
        good         = good && d > 0;
        a[j * n + j] = 1 / d;
        for (int i = j + 1; i < n; ++i) {
            double x = a[i * n + j];
            for (int k = 0; k < j; ++k) x -= a[i * n + k] * a[j * n + k] / a[k * n + k];
            a[i * n + j] = x / d;
        }
    }
    return good;
}

static void ldl_solve(int n, const double* a, double* x)
{
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < i; ++k) x[i] -= a[i * n + k] * x[k];
    for (int i = n; i-- > 0;) {
        x[i] *= a[i * n + i];
        for (int k = i + 1; k < n; ++k) x[i] -= a[k * n + i] * x[k];
    }
}

// c (n x m) = a (n x k) b (k x m), all row-major; at: a is (k x n)^T.
static void multiply(int n, int k, int m, bool at, const double* a, const double* b, double* c)
{
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < m; ++j) {
            double sum = 0;
            for (int l = 0; l < k; ++l) sum += (at ? a[l * n + i] : a[i * k + l]) * b[l * m + j];
            c[i * m + j] = sum;
        }
}

// Householder: columns of Q (6 of them, one after the other) and R, rows x rows, of the 6 x rows matrix
// whose columns are the rows of J. False when they depend on each other.
static bool factor_rows(int rows, const double* J, double* Q, double* R)
{
    double A[36];
    bool   good = true;
    memcpy(A, J, sizeof(double) * (size_t)(6 * rows));
    for (int i = 0; i < 36; ++i) Q[i] = i % 7 == 0;
    for (int k = 0; k < rows; ++k) {
        double norm2 = 0, *a = A + 6 * k, v[6] = {0};
        double whole = tni_dot(tni_read3(J + 6 * k), tni_read3(J + 6 * k)) +
                       tni_dot(tni_read3(J + 6 * k + 3), tni_read3(J + 6 * k + 3));
        for (int i = k; i < 6; ++i) norm2 += a[i] * a[i];
        good               = good && norm2 > 1e-26 * whole;
        const double alpha = a[k] > 0 ? -sqrt(norm2) : sqrt(norm2);
        for (int i = k; i < 6; ++i) v[i] = a[i];
        v[k] -= alpha;
        const double beta = norm2 - alpha * a[k]; // |v|^2 / 2
        for (int j = 0; j < rows + 6; ++j) {      // columns of A, then Q's rows
            double *  to = j < rows ? A + 6 * j : Q + (j - rows), dot = 0;
            const int step = j < rows ? 1 : 6;
            for (int i = k; i < 6; ++i) dot += v[i] * to[i * step];
            for (int i = k; i < 6; ++i) to[i * step] -= v[i] * (dot / beta);
        }
    }
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < rows; ++j) R[i * rows + j] = i <= j ? A[6 * j + i] : 0;
    return good;
}

// ---- What it serves ------------------------------------------------------------------------------

static bool can_push(const tn_model* model, int body)
{
    return model->bodies[body].node >= 0;
}

static const char* obstacle(const tn_model* model)
{
    if (model->loop_count > 0) return "joints close loops";
    if (model->coupling_count > 0) return "there are couplings";
    if (model->user_count > 0) return "there are user-defined constraints";
    if (model->limit_count > 0) return "there are hard limits or ropes";
    if (model->shape_count > 1) return "there are shapes that may touch";
    for (int i = 0; i < model->free_count; ++i)
        if (model->bodies[model->free_bodies[i]].kind != TN_BODY_RIGID)
            return "there are bodies that are not rigid";
    for (int i = 0; i < model->joint_count; ++i)
        if (!can_push(model, model->joints[i].body1) && !can_push(model, model->joints[i].body2))
            return "a joint is between bodies that cannot be pushed";
    for (int i = 0; i < model->spring_count; ++i)
        if (can_push(model, model->springs[i].body1) && can_push(model, model->springs[i].body2))
            return "there are springs between bodies";
    return NULL;
}

bool tni_nullspace_serves(const tn_model* model, const char** why_not)
{
    const char* why = obstacle(model);
    if (why_not != NULL) *why_not = why;
    return why == NULL;
}

// ---- Making it -----------------------------------------------------------------------------------

/// The tree while it is built. By body.
typedef struct growing {
    const tn_model* model;
    int *           start, *joints; ///< of each body: those of free bodies only
    int *           up, *far;       ///< the joint towards the root (-1), distance in a search
    int *           queue, *order;
    uint8_t*        done;
} growing;

static int other_side(const tn_model* model, int joint, int body)
{
    const tni_joint* j = &model->joints[joint];
    return j->body1 == body ? j->body2 : j->body1;
}

static void list_joints(growing* g)
{
    const tn_model* model = g->model;
    for (int pass = 0; pass < 2; ++pass) {
        for (int i = 0; i < model->joint_count; ++i)
            for (int side = 0; side < 2; ++side) {
                const int body = side == 0 ? model->joints[i].body1 : model->joints[i].body2;
                if (!can_push(model, body)) continue;
                if (pass == 0) ++g->start[body + 1];
                else g->joints[g->start[body]++] = i;
            }
        for (int i = 0; pass == 0 && i < model->body_count; ++i) g->start[i + 1] += g->start[i];
        for (int i = model->body_count; pass == 1 && i > 0; --i) g->start[i] = g->start[i - 1];
    }
    g->start[0] = 0;
}

// The body farthest from `from` in its tree; up leads back. *held: the body that hangs on something
// that cannot be pushed, if any.
static int farthest(growing* g, int from, int* held)
{
    int head = 0, tail = 0;
    g->queue[tail++] = from;
    g->up[from]      = -1;
    while (head < tail) {
        const int body = g->queue[head++];
        for (int i = g->start[body]; i < g->start[body + 1]; ++i) {
            const int joint = g->joints[i], next = other_side(g->model, joint, body);
            if (!can_push(g->model, next)) *held = body;
            if (joint == g->up[body] || !can_push(g->model, next)) continue;
            g->up[next]      = joint;
            g->far[next]     = g->far[body] + 1;
            g->queue[tail++] = next;
        }
    }
    return g->queue[tail - 1];
}

// The body that is held, or the middle of the longest path.
static int root_of(growing* g, int body)
{
    int held = -1, end = farthest(g, body, &held);
    if (held >= 0) return held;
    g->far[end] = 0;
    end         = farthest(g, end, &held);
    for (int steps = g->far[end] / 2; steps > 0; --steps)
        end = other_side(g->model, g->up[end], end);
    return end;
}

// Appends a tree to the order, parents first and each branch at one stretch.
static int walk(growing* g, int root, int count)
{
    int depth         = 0;
    g->queue[depth++] = root;
    g->up[root]       = -1;
    while (depth > 0) {
        const int body    = g->queue[--depth];
        g->done[body]     = 1;
        g->order[count++] = body;
        for (int i = g->start[body]; i < g->start[body + 1]; ++i) {
            const int joint = g->joints[i], next = other_side(g->model, joint, body);
            if (!can_push(g->model, next)) g->up[body] = joint;
            else if (!g->done[next]) g->up[next] = joint, g->queue[depth++] = next;
        }
    }
    return count;
}

static kind kind_of(const tn_model* model, const tni_joint* joint)
{
    static const uint8_t dots[3][2] = {{0, 2}, {1, 2}, {0, 1}}; // as in joint_types.c
    const int            rows       = model->constraints[joint->constraint].row_count;
    if (rows != 3 && rows != 5 && rows != 6) return OTHER;
    for (int i = 0; i < rows; ++i) {
        const tni_row_part* part = &joint->type->parts[joint->parts[i]];
        if (i < 3 && (part->op != TNI_ROW_POINT || part->k != i)) return OTHER;
        if (i < 3) continue;
        if (part->op != TNI_ROW_DOT || part->k != dots[i - 3][0] || part->l != dots[i - 3][1])
            return OTHER;
    }
    return rows == 3 ? TURNS : rows == 5 ? AXIS : FIXED;
}

// Whether only spring and damper count, between bodies that do not move by themselves.
static bool is_plain(const tn_model* model, const link* a, const tni_actuation* act)
{
    for (int k = 0; k < model->joints[act->joint].coordinate_count; ++k)
        if (a->kind == TURNS && act->force[k] != 0) return false;
    return (a->kind == TURNS || a->kind == AXIS) && act->friction == 0 && !act->limit.given &&
           model->bodies[a->other].kind != TN_BODY_KINEMATIC;
}

static void set_joint(tni_nullspace* ns, link* a, int index)
{
    const tn_model*  model = ns->model;
    const tni_joint* joint = &model->joints[index];
    a->joint               = index;
    a->constraint          = joint->constraint;
    a->row                 = model->constraints[joint->constraint].row_start;
    a->kind                = kind_of(model, joint);
    a->sign                = joint->body2 == a->body ? 1 : -1;
    a->other               = joint->body2 == a->body ? joint->body1 : joint->body2;
    if (a->kind != OTHER) a->ref = joint->body2 == a->body ? joint->p2 : joint->p1;
    a->anchor = joint->body2 == a->body ? joint->p1 : joint->p2;
    a->points = joint->type->parts[0].op == TNI_ROW_POINT;
    ns->looks = ns->looks || a->kind == OTHER;
}

static void set_actuations(tni_nullspace* ns, const int* link_of_joint)
{
    for (int i = 0; i < ns->model->actuation_count; ++i) {
        const tni_actuation* act   = &ns->model->actuations[i];
        const tni_joint*     joint = &ns->model->joints[act->joint];
        link*                a     = &ns->links[link_of_joint[act->joint]];
        const tn_quat        rest  = tni_quat_exp(tni_neg(tni_read3(act->rest))),
                      F1           = tni_quat_conjugate(tni_matrix_quat(&joint->F1)),
                      F2           = tni_matrix_quat(&joint->F2);
        a->actuation               = i;
        a->plain                   = is_plain(ns->model, a, act);
        a->twist                   = tni_quat_mul(F2, tni_quat_mul(rest, F1));
        a->stiffness               = act->stiffness;
        a->damping                 = act->damping;
        ns->looks                  = ns->looks || !a->plain;
    }
}

// Children leave their bulk in their parent's slot, which is free again when the parent has taken it.
static int set_slots(tni_nullspace* ns, int* unused)
{
    int count = 0, unused_count = 0;
    for (int i = 0; i < ns->count; ++i) {
        link* a = &ns->links[i];
        if (a->slot >= 0) unused[unused_count++] = a->slot;
        if (a->parent < 0) continue;
        link* b  = &ns->links[a->parent];
        a->first = b->slot < 0;
        if (a->first) b->slot = unused_count > 0 ? unused[--unused_count] : count++;
        a->parent_slot = b->slot;
    }
    return count;
}

static bool has_wide(void)
{
#if defined(__GNUC__) && defined(__x86_64__)
    return __builtin_cpu_supports("avx2");
#else
    return false;
#endif
}

// A^-1 of a symmetric matrix.
static sym inverse_of(const tni_mat3* A)
{
    const tn_vec3 x = tni_solve3(A, tni_vec3(1, 0, 0)), y = tni_solve3(A, tni_vec3(0, 1, 0)),
                  z = tni_solve3(A, tni_vec3(0, 0, 1));
    return (sym){x.x, y.x, z.x, y.y, z.y, z.z};
}

static void set_links(tni_nullspace* ns, const growing* g, int* link_of_joint)
{
    int denses = 0;
    for (int i = 0; i < ns->count; ++i) {
        link*           a    = &ns->links[i];
        const int       body = g->order[ns->count - 1 - i];
        const tni_body* b    = &ns->model->bodies[body];
        const double*   I    = b->inertia.m;
        *a                   = (link){.kind        = OTHER,
                                      .body        = body,
                                      .joint       = -1,
                                      .constraint  = -1,
                                      .actuation   = -1,
                                      .parent      = -1,
                                      .slot        = -1,
                                      .parent_slot = -1,
                                      .q           = b->q_start,
                                      .u           = b->u_start,
                                      .mass        = b->mass,
                                      .inertia     = {I[0], I[3], I[6], I[4], I[7], I[8]},
                                      .sign        = 1};
        a->inverse           = inverse_of(&b->inertia);
        ns->link_of[body]    = i;
        if (g->up[body] >= 0) {
            set_joint(ns, a, g->up[body]);
            link_of_joint[g->up[body]] = i;
            if (!can_push(ns->model, a->other)) ns->fixed[ns->fixed_count++] = a->other;
        }
        if (a->kind == OTHER) a->dense = denses++;
    }
    for (int i = 0; i < ns->count; ++i) {
        link* a = &ns->links[i];
        if (a->joint >= 0 && can_push(ns->model, a->other)) a->parent = ns->link_of[a->other];
    }
}

static tn_result grow(tni_nullspace* ns, tni_arena* arena, tni_arena* scratch)
{
    const tn_model* model    = ns->model;
    const int       bodies   = model->body_count;
    growing         g        = {.model  = model,
                                .start  = TNI_TAKE(scratch, int, bodies + 1),
                                .joints = TNI_TAKE(scratch, int, 2 * model->joint_count),
                                .up     = TNI_TAKE(scratch, int, bodies),
                                .far    = TNI_TAKE(scratch, int, bodies),
                                .queue  = TNI_TAKE(scratch, int, bodies),
                                .order  = TNI_TAKE(scratch, int, bodies),
                                .done   = TNI_TAKE(scratch, uint8_t, bodies)};
    int*            of_joint = TNI_TAKE(scratch, int, model->joint_count);
    int             count = 0, denses = 0;
    ns->fixed = TNI_TAKE(arena, int, bodies);
    if (scratch->failed || arena->failed) return TN_ERR_MEMORY;
    list_joints(&g);
    for (int i = 0; i < model->free_count; ++i)
        if (!g.done[model->free_bodies[i]])
            count = walk(&g, root_of(&g, model->free_bodies[i]), count);
    set_links(ns, &g, of_joint);
    set_actuations(ns, of_joint);
    for (int i = 0; i < ns->count; ++i) denses += ns->links[i].kind == OTHER;
    ns->denses = TNI_TAKE(arena, dense, denses);
    ns->slots  = TNI_TAKE(arena, bulk, set_slots(ns, g.queue));
    return arena->failed ? TN_ERR_MEMORY : TN_OK;
}

tn_result tni_nullspace_create(tni_arena* arena, tni_system* system, tni_nullspace** out)
{
    const tn_model* model = system->model;
    tni_nullspace*  ns    = TNI_TAKE(arena, tni_nullspace, 1);
    TN_ASSERT(tni_nullspace_serves(model, NULL));
    if (ns == NULL) return TN_ERR_MEMORY;
    ns->model  = model;
    ns->system = system;
    ns->count  = model->free_count;
    ns->links  = TNI_TAKE(arena, link, ns->count);
    ns->works  = TNI_TAKE(arena, work, ns->count);
    ns->ones   = TNI_TAKE(
        arena, one, model->target_count + model->drag_count + model->spring_count + TN_HANDLES_MAX);
    ns->link_of = TNI_TAKE(arena, int, model->body_count);
    ns->ends    = TNI_TAKE(arena, tni_mat3, ns->count);
    ns->wide    = has_wide();
    if (model->load_count > 0) ns->plain = TNI_TAKE(arena, double, model->u_count);
    *out = ns;
    if (arena->failed) return TN_ERR_MEMORY;
    tni_arena       scratch = tni_arena_make(&model->arena.host);
    const tn_result result  = grow(ns, arena, &scratch);
    tni_arena_free(&scratch);
    ns->looks = ns->looks || model->load_count > 0 || model->target_count > 0 ||
                model->drag_count > 0 || model->spring_count > 0;
    return result;
}

void tni_nullspace_narrow(tni_nullspace* ns)
{
    ns->wide = false;
}

bool tni_nullspace_looks(const tni_nullspace* ns)
{
    return ns->looks;
}

// ---- Looking -------------------------------------------------------------------------------------

/// The side of a joint that the link hangs on.
typedef struct side {
    const tni_mat3* R;
    const tni_view* view; ///< of one that cannot be pushed; else NULL
    tn_vec3         x;    ///< centre of mass
    tn_vec3         r;    ///< the anchor from there
    const link*     link; ///< NULL: cannot be pushed
    work*           work;
} side;

TNI_INLINE side parent_of(const tni_nullspace* ns, const link* a, const double* q)
{
    side b = {.link = NULL};
    if (a->parent >= 0) {
        b.link = &ns->links[a->parent];
        b.work = &ns->works[a->parent];
        b.R    = &b.work->R;
        b.x    = tni_read3(q + b.link->q);
    } else {
        b.view = &ns->system->views[a->other];
        b.R    = &b.view->R;
        b.x    = b.view->x;
    }
    b.r = tni_mul(b.R, a->anchor);
    return b;
}

static tn_vec3 turning_of(const side* b, const double* u)
{
    return b->link != NULL ? tni_read3(u + b->link->u + 3) : b->view->w;
}

static void look(tni_nullspace* ns, const double* q)
{
    for (int i = 0; i < ns->count; ++i) {
        const double* p = q + ns->links[i].q + 3;
        work*         w = &ns->works[i];
        w->R            = tni_quat_matrix((tn_quat){p[0], p[1], p[2], p[3]});
        w->ref          = tni_mul(&w->R, ns->links[i].ref);
    }
}

static bool has_handles(const tni_nullspace* ns)
{
    const tni_outside* outside = ns->system->outside;
    for (int i = 0; outside != NULL && i < TN_HANDLES_MAX; ++i)
        if (outside->handles[i].body != 0) return true;
    return false;
}

static tni_scene_view scene_of(const tni_nullspace* ns)
{
    const tni_place* at = &ns->start->at;
    return (tni_scene_view){.model   = ns->model,
                            .time    = at->time,
                            .z       = at->z,
                            .views   = ns->system->views,
                            .flying  = true,
                            .outside = ns->system->outside};
}

static tni_ahead ahead_of(const tni_nullspace* ns)
{
    return (tni_ahead){ns->lead->h, ns->lead->time, ns->start->ahead};
}

// ---- Forces --------------------------------------------------------------------------------------

static void take_one(void* user, const tni_soft* soft)
{
    tni_nullspace* ns = user;
    const int      k  = soft->kind == TNI_SOFT_BODY || can_push(ns->model, soft->body[1]);
    const int      n = soft->row_count, body = soft->body[k];
    const double*  J = soft->J[k];
    double         W[TNI_SOFT_ROWS_MAX * TNI_SOFT_ROWS_MAX], g[TNI_SOFT_ROWS_MAX],
        WJ[TNI_SOFT_ROWS_MAX * 6];
    if (!can_push(ns->model, body)) return;
    one*  to = &ns->ones[ns->one_count++];
    work* w  = &ns->works[to->link = ns->link_of[body]];
    to->next = w->one;
    w->one   = ns->one_count;
    tni_soft_impulse(ns->model, soft, ns->lead, W, g);
    multiply(n, n, 6, false, W, J, WJ);
    multiply(6, n, 6, true, J, WJ, to->A);
    multiply(6, n, 1, true, J, g, to->b);
}

static void gather_forces(tni_nullspace* ns)
{
    static const tni_force* const forces[] = {&tni_force_spring, &tni_force_target,
                                              &tni_force_handle, &tni_force_drag};
    const tni_scene_view          at       = scene_of(ns);
    const tni_ahead               ahead    = ahead_of(ns);
    if (ns->plain != NULL) tni_plain_forces(&at, ns->plain);
    for (int i = 0; i < 4; ++i) forces[i]->soften(&at, &ahead, take_one, ns);
}

static void add_ones(const tni_nullspace* ns, const work* w, bulk* B)
{
    for (int i = w->one; i > 0; i = ns->ones[i - 1].next) {
        const one*    o = &ns->ones[i - 1];
        const double* A = o->A;
        const bulk    C = {.M = {A[0], A[6], A[12], A[7], A[13], A[14]},
                           .H = {{A[3], A[4], A[5], A[9], A[10], A[11], A[15], A[16], A[17]}},
                           .I = {A[21], A[27], A[33], A[28], A[34], A[35]},
                           .f = tni_read3(o->b),
                           .t = tni_read3(o->b + 3)};
        add_shifted(B, &C, tni_neg(w->ref));
    }
}

// The link's own inertia and momentum, forces on it alone, and what its children left; at O.
TNI_INLINE bulk gather(const tni_nullspace* ns, const link* a, const work* w)
{
    const tni_start* start = ns->start;
    const double     m     = a->mass;
    const tn_vec3    r     = w->ref;
    const sym        I     = turned(&w->R, &a->inertia);
    const double*    from  = start->momentum != NULL ? start->momentum : start->at.u;
    bulk             B;
    B.f = tni_read3(from + a->u), B.t = tni_read3(from + a->u + 3);
    if (start->momentum == NULL) B.f = tni_scale(m, B.f), B.t = sym_times(&I, B.t);
    if (ns->plain == NULL) {
        B.f = tni_add_scaled(B.f, ns->e * m, ns->model->gravity);
    } else {
        B.f = tni_add_scaled(B.f, ns->e, tni_read3(ns->plain + a->u));
        B.t = tni_add_scaled(B.t, ns->e, tni_read3(ns->plain + a->u + 3));
    }
    if (ns->system->extra != NULL) {
        B.f = tni_add_scaled(B.f, ns->e, tni_read3(ns->system->extra + a->u));
        B.t = tni_add_scaled(B.t, ns->e, tni_read3(ns->system->extra + a->u + 3));
    }
    B.t                = tni_add(B.t, tni_cross(B.f, r));
    const tn_vec3 n    = tni_scale(m, r);
    B.M                = (sym){m, 0, 0, m, 0, m};
    B.H                = (tni_mat3){{0, -n.z, n.y, n.z, 0, -n.x, -n.y, n.x, 0}};
    const double along = tni_dot(n, r);
    B.I                = (sym){I.xx + (along - n.x * r.x), I.xy - n.x * r.y, I.xz - n.x * r.z,
                               I.yy + (along - n.y * r.y), I.yz - n.y * r.z, I.zz + (along - n.z * r.z)};
    if (a->slot >= 0) {
        const bulk* C = &ns->slots[a->slot];
        sym_add(&B.M, &C->M);
        sym_add(&B.I, &C->I);
        for (int i = 0; i < 9; ++i) B.H.m[i] += C->H.m[i];
        B.f = tni_add(B.f, C->f);
        B.t = tni_add(B.t, C->t);
    }
    return B;
}

// The parent's slot, ready for what this link leaves: it may be the one that this link has emptied.
TNI_INLINE void open_slot(const tni_nullspace* ns, const link* a)
{
    if (a->first) ns->slots[a->parent_slot] = (bulk){.f = {0, 0, 0}};
}

TNI_INLINE void leave(const tni_nullspace* ns, const link* a, const bulk* B, tn_vec3 d)
{
    if (a->parent_slot >= 0) add_shifted(&ns->slots[a->parent_slot], B, d);
}

// e^2 times the stiffness of a force f at the arm r (geometric.c).
static void add_geometric(double ee, tn_vec3 f, tn_vec3 r, sym* I)
{
    const double F = tni_norm(f), L = tni_norm(r), m = F * L, c = tni_dot(f, r);
    if (!(0.5 * (c + m) > 1e-14 * m)) return;
    const double size = fabs(c), s = ee * (m - size) / (4 * m * (m + size));
    const double turn = c < 0 ? -F : F;
    sym_add_outer(I, s, tni_add_scaled(tni_scale(L, f), turn, r));
    if (c < 0) return;
    const double k = 0.5 * ee;
    I->xx += ee * (c - f.x * r.x), I->yy += ee * (c - f.y * r.y), I->zz += ee * (c - f.z * r.z);
    I->xy -= k * (f.x * r.y + r.x * f.y), I->xz -= k * (f.x * r.z + r.x * f.z);
    I->yz -= k * (f.y * r.z + r.y * f.z);
}

// Of the force f that a joint puts on link a, at its body 2's anchor: on a, and on the parent.
TNI_INLINE void stiffen(const tni_nullspace* ns, const link* a, tn_vec3 f, tn_vec3 arm,
                        tn_vec3 arm_b, sym* I)
{
    const double ee = ns->e * ns->e;
    add_geometric(ee, f, arm, I);
    if (a->parent_slot >= 0) {
        bulk* to = &ns->slots[a->parent_slot];
        add_geometric(ee, tni_neg(f), arm_b, &to->I);
    }
}

// ---- Rows ----------------------------------------------------------------------------------------

static tn_vec3 point_bias(tn_vec3 w, tn_vec3 r)
{
    return tni_cross(w, tni_cross(w, r));
}

static tn_vec3 point_rate(const double* u, tn_vec3 r)
{
    return tni_add(tni_read3(u), tni_cross(tni_read3(u + 3), r));
}

// p of the anchors: a's less b's are `gap` apart.
TNI_INLINE tn_vec3 close_gap(const tni_nullspace* ns, const link* a, const work* w, const side* b,
                             tn_vec3 gap)
{
    const tni_lead* lead = ns->lead;
    tn_vec3         want = tni_scale(-1 / lead->h, gap);
    if (b->view != NULL) want = tni_add(want, tni_add(b->view->v, tni_cross(b->view->w, b->r)));
    if (lead->drift != NULL) {
        want = tni_sub(want, point_rate(lead->drift + a->u, w->ref));
        if (b->link != NULL) want = tni_add(want, point_rate(lead->drift + b->link->u, b->r));
    }
    if (ns->start->bend) {
        const double* u = ns->start->at.u;
        const tn_vec3 g = tni_sub(point_bias(tni_read3(u + a->u + 3), w->ref),
                                  point_bias(turning_of(b, u), b->r));
        want            = tni_add_scaled(want, -0.5 * lead->h, g);
    }
    return lead->share == 1 ? want : tni_scale(1 / lead->share, want);
}

// What the row s.t asks for, s an axis of body 1 and t of body 2; its row on w2 - w1 is n = t x s.
static double turn_wanted(const tni_nullspace* ns, const link* a, const side* b, tn_vec3 s,
                          tn_vec3 t, tn_vec3 n)
{
    const double* drift = ns->lead->drift;
    double        led = 0, drifted = 0, gamma = 0;
    if (b->view != NULL) led = -a->sign * tni_dot(n, b->view->w);
    if (drift != NULL) drifted = a->sign * tni_dot(n, tni_read3(drift + a->u + 3));
    if (drift != NULL && b->link != NULL)
        drifted -= a->sign * tni_dot(n, tni_read3(drift + b->link->u + 3));
    if (ns->start->bend) {
        const tn_vec3 wa = tni_read3(ns->start->at.u + a->u + 3),
                      wb = turning_of(b, ns->start->at.u);
        const tn_vec3 w1 = a->sign > 0 ? wb : wa, w2 = a->sign > 0 ? wa : wb;
        gamma = tni_dot(point_bias(w1, s), t) + tni_dot(s, point_bias(w2, t)) +
                2 * tni_dot(tni_cross(w1, s), tni_cross(w2, t));
    }
    return tni_row_wanted(ns->start, ns->lead, true, tni_dot(s, t), led, drifted, gamma);
}

// What is common to joints that hold the anchors: gap, p, d, geometric stiffness.
TNI_INLINE void hold_anchors(const tni_nullspace* ns, const link* a, work* w, const side* b,
                             bulk* B)
{
    const tn_vec3 x   = tni_read3(ns->start->at.q + a->q);
    const tn_vec3 gap = tni_sub(tni_add(x, w->ref), tni_add(b->x, b->r));
    w->p              = close_gap(ns, a, w, b, gap);
    w->arm            = b->link != NULL ? tni_sub(b->r, b->work->ref) : tni_vec3(0, 0, 0);
    if (ns->start->multipliers == NULL) return;
    const tn_vec3 f = tni_scale(a->sign, tni_read3(ns->start->multipliers + a->row));
    if (a->sign > 0) stiffen(ns, a, f, w->ref, tni_add(b->r, gap), &B->I);
    else stiffen(ns, a, f, tni_sub(w->ref, gap), b->r, &B->I);
}

// ---- TURNS ---------------------------------------------------------------------------------------

// Relative rotation that the spring feels, world axes, on body 2; S = c 1 + (1 - c) u u^T.
static tn_vec3 stretch_of(const tni_nullspace* ns, const link* a, const side* b, double* c,
                          tn_vec3* unit)
{
    const double* p  = ns->start->at.q + a->q + 3;
    const tn_quat qa = {p[0], p[1], p[2], p[3]};
    tn_quat       qb;
    if (b->link != NULL) {
        const double* o = ns->start->at.q + b->link->q + 3;
        qb              = (tn_quat){o[0], o[1], o[2], o[3]};
    } else {
        qb = tni_matrix_quat(b->R);
    }
    const tn_quat q1 = a->sign > 0 ? qb : qa, q2 = a->sign > 0 ? qa : qb;
    const tn_quat by    = tni_quat_mul(tni_quat_mul(q2, a->twist), tni_quat_conjugate(q1));
    const tn_vec3 theta = tni_quat_log(by);
    const double  n = sqrt(by.x * by.x + by.y * by.y + by.z * by.z), phi = tni_norm(theta);
    *c    = n > 1e-8 ? fmax(0.05, 0.5 * phi * fabs(by.w) / n) : 1;
    *unit = phi > 0 ? tni_scale(1 / phi, theta) : tni_vec3(0, 0, 0);
    return theta;
}

// W and g of a spring, on a.
static void spring_of(tni_nullspace* ns, const link* a, const side* b, sym* W, tn_vec3* g)
{
    const double e = ns->e, k = a->stiffness, d = e * a->damping, *drift = ns->lead->drift;
    *W = (sym){d, 0, 0, d, 0, d};
    *g = tni_vec3(0, 0, 0);
    if (k == 0) return;
    double        c;
    tn_vec3       unit;
    const tn_vec3 theta = stretch_of(ns, a, b, &c, &unit);
    W->xx += e * e * k * c, W->yy += e * e * k * c, W->zz += e * e * k * c;
    sym_add_outer(W, e * e * k * (1 - c), unit);
    *g = tni_scale(-e * k * a->sign, theta);
    if (drift == NULL) return;
    tn_vec3 by = tni_read3(drift + a->u + 3); // of a against b
    if (b->link != NULL) by = tni_sub(by, tni_read3(drift + b->link->u + 3));
    by                  = tni_scale(ns->lead->h, by);
    const tn_vec3 along = tni_scale((1 - c) * tni_dot(unit, by), unit);
    *g                  = tni_add_scaled(*g, -e * k, tni_add(tni_scale(c, by), along));
}

// The same of any actuation; its rows turn only. soft.J of a, W, g.
static const double* soften(tni_nullspace* ns, const link* a, double* W, double* g)
{
    const tni_scene_view at    = scene_of(ns);
    const tni_ahead      ahead = ahead_of(ns);
    tni_soften_actuation(&at, &ahead, a->actuation, &ns->soft);
    tni_soft_impulse(ns->model, &ns->soft, ns->lead, W, g);
    return ns->soft.J[a->sign > 0];
}

static void actuation_of(tni_nullspace* ns, const link* a, sym* W, tn_vec3* g)
{
    double        w[TNI_SOFT_ROWS_MAX * TNI_SOFT_ROWS_MAX], v[TNI_SOFT_ROWS_MAX];
    const double* J = soften(ns, a, w, v);
    *W              = (sym){0};
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
TNI_INLINE bool factor3(const sym* D, tn_vec3* l, tn_vec3* inv)
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

// M' = M - V^T inv V.
TNI_INLINE void reduce_turns(work* w, bulk* B)
{
    const double* H = B->H.m;
    for (int j = 0; j < 3; ++j) {
        const tn_vec3 x = forward3(w->l, tni_read3(H + 3 * j));
        w->V.m[j] = x.x, w->V.m[3 + j] = x.y, w->V.m[6 + j] = x.z;
    }
    sym_add_outer(&B->M, -w->inv.x, tni_read3(w->V.m));
    sym_add_outer(&B->M, -w->inv.y, tni_read3(w->V.m + 3));
    sym_add_outer(&B->M, -w->inv.z, tni_read3(w->V.m + 6));
    w->M = B->M;
}

// What a spring lets through: H' = V^T T, I' = I Z, T = inv L^-1 W, Z = L^-T T = D^-1 W.
static void reduce_sprung(work* w, const sym* W, bulk* B)
{
    const tn_vec3 columns[3] = {
        {W->xx, W->xy, W->xz}, {W->xy, W->yy, W->yz}, {W->xz, W->yz, W->zz}};
    tn_vec3 P[3];
    for (int j = 0; j < 3; ++j) {
        const tn_vec3 t = times3(w->inv, forward3(w->l, columns[j]));
        w->T.m[j] = t.x, w->T.m[3 + j] = t.y, w->T.m[6 + j] = t.z;
        P[j] = sym_times(&B->I, backward3(w->l, t));
    }
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            w->H.m[3 * i + j] = w->V.m[i] * w->T.m[j] + w->V.m[3 + i] * w->T.m[3 + j] +
                                w->V.m[6 + i] * w->T.m[6 + j];
    w->I = *W;
    B->H = w->H;
    B->I = (sym){P[0].x, P[1].x, P[2].x, P[1].y, P[2].y, P[2].z};
}

// f and t at O <- f' and t'.
TNI_INLINE void pass_turns(const link* a, work* w, tn_vec3 g, tn_vec3* f, tn_vec3* t)
{
    const tn_vec3 y = times3(w->inv, forward3(w->l, tni_add(*t, g)));
    w->f = *f = tni_sub(tni_sub(*f, sym_times(&w->M, w->p)), tni_mul_t(&w->V, y));
    w->y      = tni_sub(y, times3(w->inv, tni_mul(&w->V, w->p)));
    *t        = tni_neg(g);
    if (a->actuation >= 0) *t = tni_add(*t, sym_times(&w->I, backward3(w->l, w->y)));
}

TNI_INLINE bool begin_turns(tni_nullspace* ns, const link* a, work* w, const side* b, bulk* B)
{
    sym     W, D = B->I;
    tn_vec3 g = {0, 0, 0};
    if (a->actuation >= 0) {
        if (a->plain) spring_of(ns, a, b, &W, &g);
        else actuation_of(ns, a, &W, &g);
        sym_add(&D, &W);
    }
    const bool good = factor3(&D, &w->l, &w->inv);
    reduce_turns(w, B);
    if (a->actuation >= 0) {
        reduce_sprung(w, &W, B);
    } else {
        B->H = (tni_mat3){{0}};
        B->I = (sym){0};
    }
    pass_turns(a, w, g, &B->f, &B->t);
    return good;
}

// v: of the anchor on the parent.
TNI_INLINE void end_turns(const link* a, work* w, tn_vec3 v, tn_vec3 wb, double* mu)
{
    tn_vec3 z = tni_sub(w->y, times3(w->inv, tni_mul(&w->V, v)));
    tn_vec3 m = tni_sub(w->f, sym_times(&w->M, v));
    if (a->actuation >= 0) {
        z = tni_add(z, tni_mul(&w->T, wb));
        m = tni_sub(m, tni_mul(&w->H, wb));
    }
    w->v = tni_add(v, w->p);
    w->w = backward3(w->l, z);
    tni_write3(mu, tni_scale(a->sign, m));
}

// ---- AXIS and FIXED ------------------------------------------------------------------------------

/// The joint's axes: x, y of frame 1; x, y, z of frame 2.
typedef struct axes {
    tn_vec3 x1, y1, x2, y2, z2;
} axes;

static axes axes_of(const tni_nullspace* ns, const link* a, const tni_mat3* Ra, const tni_mat3* Rb)
{
    const tni_joint* joint = &ns->model->joints[a->joint];
    const tni_mat3 * R1 = a->sign > 0 ? Rb : Ra, *R2 = a->sign > 0 ? Ra : Rb;
    return (axes){tni_mul(R1, tni_column(&joint->F1, 0)), tni_mul(R1, tni_column(&joint->F1, 1)),
                  tni_mul(R2, tni_column(&joint->F2, 0)), tni_mul(R2, tni_column(&joint->F2, 1)),
                  tni_mul(R2, tni_column(&joint->F2, 2))};
}

// The spring of an angle: pull, grip and its row on a.
static tn_vec3 angle_spring(tni_nullspace* ns, const link* a, work* w, const side* b, const axes* x)
{
    if (!a->plain) {
        double        W[TNI_SOFT_ROWS_MAX * TNI_SOFT_ROWS_MAX], g[TNI_SOFT_ROWS_MAX];
        const double* J = soften(ns, a, W, g);
        w->grip = W[0], w->pull = g[0];
        return tni_read3(J + 3);
    }
    const tni_actuation* act  = &ns->model->actuations[a->actuation];
    const tni_joint*     j    = &ns->model->joints[a->joint];
    const double *       near = ns->start->at.z + j->coordinate_start, *drift = ns->lead->drift;
    const double  X = tni_dot(x->x1, x->x2), Y = tni_dot(x->y1, x->x2), two_pi = 6.283185307179586;
    const double  raw = tni_atan2(Y, X), e = ns->e;
    const double  angle  = raw + two_pi * floor((*near - raw) / two_pi + 0.5);
    const tn_vec3 across = tni_cross(x->x2, tni_sub(tni_scale(X, x->y1), tni_scale(Y, x->x1)));
    const tn_vec3 row    = tni_scale(a->sign / (X * X + Y * Y), across);
    w->grip              = e * e * a->stiffness + e * a->damping;
    w->pull              = e * (act->force[0] - a->stiffness * (angle - act->rest[0]));
    if (drift != NULL) {
        tn_vec3 by = tni_read3(drift + a->u + 3);
        if (b->link != NULL) by = tni_sub(by, tni_read3(drift + b->link->u + 3));
        w->pull -= e * a->stiffness * ns->lead->h * tni_dot(row, by);
    }
    return row;
}

TNI_INLINE tn_vec3 row3(const tni_mat3* A, int i)
{
    return tni_read3(A->m + 3 * i);
}

// The angular p that rows n1, n2 want.
TNI_INLINE void turn_axis(const link* a, work* w, double r1, double r2)
{
    const double x = w->gram[0] * r1 + w->gram[1] * r2, y = w->gram[1] * r1 + w->gram[2] * r2;
    w->turn =
        tni_scale(a->sign, tni_add(tni_scale(x, row3(&w->T, 0)), tni_scale(y, row3(&w->T, 1))));
}

TNI_INLINE void pass_axis(work* w, double pull, tn_vec3* f, tn_vec3* t)
{
    const tn_vec3 h = row3(&w->V, 0), k = row3(&w->V, 1), s = row3(&w->V, 2), row = row3(&w->T, 2);
    const double  push = pull - w->grip * tni_dot(row, w->turn);
    const double  q    = w->inv.x * (tni_dot(s, *t) + tni_dot(row, s) * push);
    w->q               = q - w->inv.x * (tni_dot(h, w->p) + tni_dot(k, w->turn));
    w->f = *f = tni_sub(tni_sub(*f, tni_add(sym_times(&w->M, w->p), tni_mul(&w->H, w->turn))),
                        tni_scale(q, h));
    w->t = *t = tni_sub(tni_sub(*t, tni_add(tni_mul_t(&w->H, w->p), sym_times(&w->I, w->turn))),
                        tni_scale(q, k));
    w->pull   = push;
}

TNI_INLINE bool begin_axis(tni_nullspace* ns, const link* a, work* w, const side* b, bulk* B)
{
    const axes    x  = axes_of(ns, a, &w->R, b->R);
    const tn_vec3 n1 = tni_cross(x.z2, x.x1), n2 = tni_cross(x.z2, x.y1), s = x.z2;
    const double  g11 = tni_dot(n1, n1), g12 = tni_dot(n1, n2), g22 = tni_dot(n2, n2),
                 over = 1 / (g11 * g22 - g12 * g12);
    tn_vec3 row       = {0, 0, 0};
    w->grip = w->pull = 0;
    if (a->actuation >= 0) row = angle_spring(ns, a, w, b, &x);
    w->gram[0] = over * g22, w->gram[1] = -over * g12, w->gram[2] = over * g11;
    w->T = (tni_mat3){{n1.x, n1.y, n1.z, n2.x, n2.y, n2.z, row.x, row.y, row.z}};
    turn_axis(a, w, turn_wanted(ns, a, b, x.x1, s, n1), turn_wanted(ns, a, b, x.y1, s, n2));
    const tn_vec3 h = tni_mul(&B->H, s), k = sym_times(&B->I, s);
    const double  along = tni_dot(row, s), D = tni_dot(s, k) + w->grip * along * along, inv = 1 / D;
    w->V             = (tni_mat3){{h.x, h.y, h.z, k.x, k.y, k.z, s.x, s.y, s.z}};
    w->inv.x         = inv;
    const tn_vec3 hi = tni_scale(inv, h);
    sym_add_outer(&B->M, -inv, h);
    sym_add_outer(&B->I, -inv, k);
    const double H[9] = {hi.x * k.x, hi.x * k.y, hi.x * k.z, hi.y * k.x, hi.y * k.y,
                         hi.y * k.z, hi.z * k.x, hi.z * k.y, hi.z * k.z};
    for (int i = 0; i < 9; ++i) B->H.m[i] -= H[i];
    w->M = B->M, w->H = B->H, w->I = B->I;
    pass_axis(w, w->pull, &B->f, &B->t);
    return D > 0 && over > 0;
}

// What is left for the joint to carry, and the velocity.
TNI_INLINE void end_axis(const link* a, work* w, tn_vec3 v, tn_vec3 wb, double* mu)
{
    const tn_vec3 h = row3(&w->V, 0), k = row3(&w->V, 1), s = row3(&w->V, 2), row = row3(&w->T, 2);
    const double  q = w->q - w->inv.x * (tni_dot(h, v) + tni_dot(k, wb));
    const tn_vec3 m = tni_sub(w->f, tni_add(sym_times(&w->M, v), tni_mul(&w->H, wb)));
    tn_vec3       t = tni_sub(w->t, tni_add(tni_mul_t(&w->H, v), sym_times(&w->I, wb)));
    t               = tni_add_scaled(t, w->pull - w->grip * tni_dot(row, s) * q, row);
    w->v            = tni_add(v, w->p);
    w->w            = tni_add_scaled(tni_add(wb, w->turn), q, s);
    const double m1 = a->sign * tni_dot(row3(&w->T, 0), t),
                 m2 = a->sign * tni_dot(row3(&w->T, 1), t);
    tni_write3(mu, tni_scale(a->sign, m));
    mu[3] = w->gram[0] * m1 + w->gram[1] * m2;
    mu[4] = w->gram[1] * m1 + w->gram[2] * m2;
}

static void pass_fixed(work* w, tn_vec3* f, tn_vec3* t)
{
    w->f = *f = tni_sub(*f, tni_add(sym_times(&w->M, w->p), tni_mul(&w->H, w->turn)));
    w->t = *t = tni_sub(*t, tni_add(tni_mul_t(&w->H, w->p), sym_times(&w->I, w->turn)));
}

static bool begin_fixed(tni_nullspace* ns, const link* a, work* w, const side* b, bulk* B)
{
    const axes    x  = axes_of(ns, a, &w->R, b->R);
    const tn_vec3 n1 = tni_cross(x.z2, x.x1), n2 = tni_cross(x.z2, x.y1),
                  n3 = tni_cross(x.y2, x.x1);
    const tn_vec3 r = {turn_wanted(ns, a, b, x.x1, x.z2, n1), turn_wanted(ns, a, b, x.y1, x.z2, n2),
                       turn_wanted(ns, a, b, x.x1, x.y2, n3)};
    w->T            = (tni_mat3){{n1.x, n1.y, n1.z, n2.x, n2.y, n2.z, n3.x, n3.y, n3.z}};
    w->turn         = tni_scale(a->sign, tni_solve3(&w->T, r));
    w->M = B->M, w->H = B->H, w->I = B->I;
    pass_fixed(w, &B->f, &B->t);
    return fabs(tni_det(&w->T)) > 1e-12;
}

static void end_fixed(const link* a, work* w, tn_vec3 v, tn_vec3 wb, double* mu)
{
    const tn_vec3  m = tni_sub(w->f, tni_add(sym_times(&w->M, v), tni_mul(&w->H, wb)));
    const tn_vec3  t = tni_sub(w->t, tni_add(tni_mul_t(&w->H, v), sym_times(&w->I, wb)));
    const tni_mat3 T = tni_transposed(&w->T);
    w->v             = tni_add(v, w->p);
    w->w             = tni_add(wb, w->turn);
    tni_write3(mu, tni_scale(a->sign, m));
    tni_write3(mu + 3, tni_scale(a->sign, tni_solve3(&T, t)));
}

// ---- OTHER ---------------------------------------------------------------------------------------

// J_b in terms of y: y is b's twist taken along by d.
static void back_to_y(int rows, tn_vec3 d, double* J)
{
    for (int i = 0; i < rows; ++i) {
        const tn_vec3 v = tni_read3(J + 6 * i), w = tni_read3(J + 6 * i + 3);
        tni_write3(J + 6 * i + 3, tni_sub(w, tni_cross(d, v)));
    }
}

static double dot6(const double* a, const double* b)
{
    double sum = 0;
    for (int k = 0; k < 6; ++k) sum += a[k] * b[k];
    return sum;
}

// The rows on a into Ja, what they want into r.
static void hard_rows(const tni_nullspace* ns, const link* a, double* Ja, double* r)
{
    const tn_model*       model = ns->model;
    const tni_constraint* of    = &model->constraints[a->constraint];
    const tni_start*      start = ns->start;
    const tni_lead*       lead  = ns->lead;
    double                Jb[36], C[6], rate[6], gamma[6], *J[2];
    const int             ub = a->parent >= 0 ? ns->links[a->parent].u : -1;
    for (int e = 0; e < of->edge_count; ++e)
        J[e] = model->edge_body[of->edge_start + e] == a->body ? Ja : Jb;
    tni_constraint_rows(model, of, ns->system->views, lead->time, start->at.z,
                        &(tni_rows_out){C, rate, gamma, J, NULL});
    for (int i = 0; i < of->row_count; ++i) {
        double own   = dot6(Ja + 6 * i, start->at.u + a->u),
               drift = lead->drift != NULL ? dot6(Ja + 6 * i, lead->drift + a->u) : 0;
        if (ub >= 0) own += dot6(Jb + 6 * i, start->at.u + ub);
        if (ub >= 0 && lead->drift != NULL) drift += dot6(Jb + 6 * i, lead->drift + ub);
        r[i] =
            tni_row_wanted(start, lead, i < of->held_count, C[i], rate[i] - own, drift, gamma[i]);
    }
}

// Soft rows of the actuation, or the stiffness of a distance.
static void soft_rows_of(tni_nullspace* ns, const link* a, tn_vec3 d, soft_rows* s)
{
    const tni_joint* joint = &ns->model->joints[a->joint];
    const tni_sides  sides = tni_sides_of(joint, ns->system->views);
    double           W[TNI_SOFT_ROWS_MAX * TNI_SOFT_ROWS_MAX], g[TNI_SOFT_ROWS_MAX] = {0};
    double           Jb[SOFT_MAX * 6] = {0};
    s->count                          = 0;
    if (a->actuation >= 0) {
        const double* Ja = soften(ns, a, W, g);
        s->count         = ns->soft.row_count;
        memcpy(s->Ja, Ja, sizeof(double) * (size_t)(6 * s->count));
        if (a->parent >= 0)
            memcpy(Jb, ns->soft.J[a->sign < 0], sizeof(double) * (size_t)(6 * s->count));
    } else if (tni_holds_distance(joint) && ns->start->multipliers != NULL) {
        const tni_mat3 K =
            tni_geometric_between(ns->model, joint, sides, ns->start->multipliers[a->row]);
        const tn_vec3 p    = a->sign > 0 ? joint->p2 : joint->p1;
        const tn_vec3 r[2] = {tni_mul(&ns->system->views[a->body].R, p),
                              tni_mul(&ns->system->views[a->other].R, a->anchor)};
        s->count           = 3;
        for (int i = 0; i < 9; ++i) W[i] = ns->e * ns->e * K.m[i];
        for (int i = 0; i < 3; ++i) {
            const tn_vec3 axis = {i == 0, i == 1, i == 2};
            tni_write3(s->Ja + 6 * i, axis);
            tni_write3(s->Ja + 6 * i + 3, tni_cross(r[0], axis));
            if (a->parent < 0) continue;
            tni_write3(Jb + 6 * i, tni_neg(axis));
            tni_write3(Jb + 6 * i + 3, tni_neg(tni_cross(r[1], axis)));
        }
    }
    memcpy(s->W, W, sizeof(double) * (size_t)(s->count * s->count));
    memcpy(s->g, g, sizeof(double) * (size_t)s->count);
    back_to_y(s->count, d, Jb);
    for (int i = 0; i < 6 * s->count; ++i) s->Y[i] = a->parent >= 0 ? s->Ja[i] + Jb[i] : 0;
}

static void spread(const bulk* B, double* A)
{
    const double* H = B->H.m;
    const sym *   M = &B->M, *I = &B->I;
    const double  m[9] = {M->xx, M->xy, M->xz, M->xy, M->yy, M->yz, M->xz, M->yz, M->zz},
                 w[9]  = {I->xx, I->xy, I->xz, I->xy, I->yy, I->yz, I->xz, I->yz, I->zz};
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            A[6 * i + j] = m[3 * i + j], A[6 * (3 + i) + 3 + j] = w[3 * i + j];
            A[6 * i + 3 + j] = H[3 * i + j], A[6 * (3 + j) + i] = H[3 * i + j];
        }
}

// D, G, A' of a joint whose Q and soft rows are known.
static bool reduce_other(dense* o)
{
    const int        n = 6 - o->rows, m = o->soft.count;
    const double*    S                = o->Q + 6 * o->rows; // n x 6, rows are directions
    const soft_rows* s                = &o->soft;
    double           SJ[SOFT_MAX * 6] = {0}, WY[SOFT_MAX * 6], add[36], AS[36], DG[36];
    multiply(n, 6, 6, false, S, o->A, o->G);
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) SJ[i * n + j] = dot6(s->Ja + 6 * i, S + 6 * j);
    multiply(m, m, n, false, s->W, SJ, o->SW);
    multiply(m, m, 6, false, s->W, s->Y, WY);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) o->D[i * n + j] = dot6(o->G + 6 * i, S + 6 * j);
    multiply(n, m, n, true, SJ, o->SW, add);
    for (int i = 0; i < n * n; ++i) o->D[i] += add[i];
    multiply(n, m, 6, true, o->SW, s->Y, add);
    for (int i = 0; i < n * 6; ++i) o->G[i] += add[i];
    const bool good = ldl(n, o->D);
    for (int j = 0; j < 6; ++j) {
        double x[6];
        for (int i = 0; i < n; ++i) x[i] = o->G[6 * i + j];
        ldl_solve(n, o->D, x);
        for (int i = 0; i < n; ++i) DG[6 * i + j] = x[i];
    }
    multiply(6, n, 6, true, o->G, DG, AS);
    multiply(6, m, 6, true, s->Y, WY, add);
    for (int i = 0; i < 36; ++i) o->left[i] = o->A[i] + add[i] - AS[i];
    return good;
}

// p from what the hard rows want: R^T z = r.
static void p_other(dense* o, const double* r)
{
    double z[6];
    for (int k = 0; k < 6; ++k) o->p[k] = 0;
    for (int i = 0; i < o->rows; ++i) {
        z[i] = r[i];
        for (int k = 0; k < i; ++k) z[i] -= o->R[k * o->rows + i] * z[k];
        z[i] /= o->R[i * o->rows + i];
        for (int k = 0; k < 6; ++k) o->p[k] += z[i] * o->Q[6 * i + k];
    }
}

// g: of the soft rows, or NULL. b <- b'.
static void pass_other(dense* o, const double* g, double* b)
{
    const int        n = 6 - o->rows, m = o->soft.count;
    const double*    S = o->Q + 6 * o->rows;
    const soft_rows* s = &o->soft;
    for (int i = 0; i < m; ++i) { // the push where q = y = 0
        o->push[i] = g != NULL ? g[i] : 0;
        for (int k = 0; k < m; ++k) o->push[i] -= s->W[i * m + k] * dot6(s->Ja + 6 * k, o->p);
    }
    for (int k = 0; k < 6; ++k) o->b[k] = b[k] - dot6(o->A + 6 * k, o->p);
    for (int j = 0; j < n; ++j) {
        o->q[j] = dot6(S + 6 * j, o->b);
        for (int i = 0; i < m; ++i) o->q[j] += dot6(s->Ja + 6 * i, S + 6 * j) * o->push[i];
    }
    ldl_solve(n, o->D, o->q);
    for (int k = 0; k < 6; ++k) {
        for (int i = 0; i < m; ++i) o->b[k] += s->Y[6 * i + k] * o->push[i];
        for (int j = 0; j < n; ++j) o->b[k] -= o->G[6 * j + k] * o->q[j];
        b[k] = o->b[k];
    }
}

static void stiffen_other(const tni_nullspace* ns, const link* a, bulk* B)
{
    const tni_joint* joint = &ns->model->joints[a->joint];
    const tni_view*  views = ns->system->views;
    const tni_sides  sides = tni_sides_of(joint, views);
    tn_vec3 f = tni_joint_reaction(ns->model, joint, sides, ns->start->at.time, ns->start->at.z,
                                   ns->start->multipliers + a->row)
                    .force;
    const tn_vec3 at = tni_add(sides.view2->x, tni_mul(&sides.view2->R, joint->p2));
    stiffen(ns, a, tni_scale(a->sign, f), tni_sub(at, views[a->body].x),
            tni_sub(at, views[a->other].x), &B->I);
}

static bool begin_other(tni_nullspace* ns, const link* a, work* w, bulk* B)
{
    dense*          o     = &ns->denses[a->dense];
    const tni_view* views = ns->system->views;
    double          Ja[36], r[6] = {0}, b[6];
    tn_vec3         d    = {0, 0, 0};
    bool            good = true;
    o->rows = o->soft.count = 0;
    if (a->joint >= 0) {
        const tni_joint* joint = &ns->model->joints[a->joint];
        o->rows                = ns->model->constraints[a->constraint].row_count;
        const tni_view *va = &views[a->body], *vb = &views[a->other];
        d = tni_sub(va->x, vb->x);
        if (a->points)
            d = tni_sub(tni_mul(&vb->R, a->anchor),
                        tni_mul(&va->R, a->sign > 0 ? joint->p2 : joint->p1));
        if (ns->start->multipliers != NULL) stiffen_other(ns, a, B);
        hard_rows(ns, a, Ja, r);
        soft_rows_of(ns, a, d, &o->soft);
        w->arm = a->parent >= 0 ? tni_sub(d, ns->works[a->parent].ref) : d;
    }
    good = factor_rows(o->rows, Ja, o->Q, o->R) && good;
    spread(B, o->A);
    good = reduce_other(o) && good;
    p_other(o, r);
    tni_write3(b, B->f), tni_write3(b + 3, B->t);
    pass_other(o, o->soft.g, b);
    const double* A = o->left;
    *B              = (bulk){.M = {A[0], A[6], A[12], A[7], A[13], A[14]},
                             .H = {{A[3], A[4], A[5], A[9], A[10], A[11], A[15], A[16], A[17]}},
                             .I = {A[21], A[27], A[33], A[28], A[34], A[35]},
                             .f = tni_read3(b),
                             .t = tni_read3(b + 3)};
    return good;
}

static void end_other(dense* o, work* w, tn_vec3 v, tn_vec3 wb, double* mu)
{
    const int        n = 6 - o->rows, m = o->soft.count;
    const double *   S = o->Q + 6 * o->rows, y[6] = {v.x, v.y, v.z, wb.x, wb.y, wb.z};
    const soft_rows* s = &o->soft;
    double           Gy[6], u[6], f[6];
    multiply(n, 6, 1, false, o->G, y, Gy);
    ldl_solve(n, o->D, Gy);
    for (int k = 0; k < 6; ++k) u[k] = y[k] + o->p[k];
    for (int j = 0; j < n; ++j)
        for (int k = 0; k < 6; ++k) u[k] += S[6 * j + k] * (o->q[j] - Gy[j]);
    w->v = tni_read3(u), w->w = tni_read3(u + 3);
    for (int k = 0; k < 6; ++k) f[k] = o->b[k] - dot6(o->left + 6 * k, y);
    for (int i = 0; i < m; ++i) {
        double push = o->push[i];
        for (int j = 0; j < n; ++j) push -= o->SW[i * n + j] * (o->q[j] - Gy[j]);
        for (int k = 0; k < m; ++k) push -= s->W[i * m + k] * dot6(s->Y + 6 * k, y);
        for (int k = 0; k < 6; ++k) f[k] += (s->Ja[6 * i + k] - s->Y[6 * i + k]) * push;
    }
    for (int i = o->rows; i-- > 0;) { // R mu = Q^T f
        mu[i] = dot6(o->Q + 6 * i, f);
        for (int k = i + 1; k < o->rows; ++k) mu[i] -= o->R[i * o->rows + k] * mu[k];
        mu[i] /= o->R[i * o->rows + i];
    }
}

// ---- The three services --------------------------------------------------------------------------

static bool inward(tni_nullspace* ns, int i)
{
    const link* a = &ns->links[i];
    work*       w = &ns->works[i];
    bulk        B = gather(ns, a, w);
    bool        good;
    if (w->one > 0) add_ones(ns, w, &B);
    open_slot(ns, a);
    if (a->kind == OTHER) {
        good = begin_other(ns, a, w, &B);
    } else {
        const side b = parent_of(ns, a, ns->start->at.q);
        hold_anchors(ns, a, w, &b, &B);
        if (a->kind == TURNS) good = begin_turns(ns, a, w, &b, &B);
        else if (a->kind == AXIS) good = begin_axis(ns, a, w, &b, &B);
        else good = begin_fixed(ns, a, w, &b, &B);
    }
    leave(ns, a, &B, w->arm);
    return good;
}

TNI_INLINE void outward(const tni_nullspace* ns, int i, double* u, double* mu)
{
    const link* a = &ns->links[i];
    work*       w = &ns->works[i];
    tn_vec3     v = {0, 0, 0}, wb = {0, 0, 0};
    if (a->parent >= 0) {
        const work* b = &ns->works[a->parent];
        wb            = b->w;
        v             = tni_add(b->v, tni_cross(wb, w->arm));
    }
    if (a->kind == TURNS) end_turns(a, w, v, wb, mu + a->row);
    else if (a->kind == AXIS) end_axis(a, w, v, wb, mu + a->row);
    else if (a->kind == FIXED) end_fixed(a, w, v, wb, mu + a->row);
    else end_other(&ns->denses[a->dense], w, v, wb, mu + a->row);
    tni_write3(u + a->u, tni_sub(w->v, tni_cross(w->w, w->ref)));
    tni_write3(u + a->u + 3, w->w);
}

tn_result tni_nullspace_begin(tni_nullspace* ns, const tni_start* start, const tni_lead* lead,
                              double* u, double* mu, tn_why* why)
{
    const tn_model* model = ns->model;
    int             bad   = -1;
    ns->start = start, ns->lead = lead, ns->e = lead->share * lead->h;
    for (; ns->one_count > 0; --ns->one_count) ns->works[ns->ones[ns->one_count - 1].link].one = 0;
    if (ns->looks || has_handles(ns)) {
        tni_views(model, start->at.time, start->at.q, start->at.u, ns->system->views);
        gather_forces(ns);
    } else {
        for (int i = 0; i < ns->fixed_count; ++i)
            tni_view_body(model, ns->fixed[i], start->at.time, start->at.q, start->at.u,
                          &ns->system->views[ns->fixed[i]]);
    }
    look(ns, start->at.q);
    for (int i = 0; i < ns->count; ++i)
        if (!inward(ns, i) && bad < 0) bad = i;
    if (bad >= 0) return tni_system_fail_at(ns->system, ns->links[bad].u, why);
    for (int i = ns->count; i-- > 0;) outward(ns, i, u, mu);
    return TN_OK;
}

// f and t of a link, as its children left them and b adds, at O.
static void pass(tni_nullspace* ns, int i, const double* b, const double* r)
{
    const link* a = &ns->links[i];
    work*       w = &ns->works[i];
    tn_vec3     f = {0, 0, 0}, t = {0, 0, 0};
    if (b != NULL) {
        f = tni_read3(b + a->u);
        t = tni_add(tni_read3(b + a->u + 3), tni_cross(f, w->ref));
    }
    if (a->slot >= 0) {
        f = tni_add(f, ns->slots[a->slot].f);
        t = tni_add(t, ns->slots[a->slot].t);
    }
    r += a->row;
    if (a->kind == OTHER) {
        dense* o    = &ns->denses[a->dense];
        double x[6] = {f.x, f.y, f.z, t.x, t.y, t.z};
        p_other(o, r);
        pass_other(o, NULL, x);
        f = tni_read3(x), t = tni_read3(x + 3);
    } else {
        w->p = tni_scale(a->sign, tni_read3(r));
        if (a->kind == TURNS) {
            pass_turns(a, w, tni_vec3(0, 0, 0), &f, &t);
        } else if (a->kind == AXIS) {
            turn_axis(a, w, r[3], r[4]);
            pass_axis(w, 0, &f, &t);
        } else {
            w->turn = tni_scale(a->sign, tni_solve3(&w->T, tni_read3(r + 3)));
            pass_fixed(w, &f, &t);
        }
    }
    if (a->parent_slot < 0) return;
    bulk* to = &ns->slots[a->parent_slot];
    if (a->first) to->f = to->t = tni_vec3(0, 0, 0);
    to->f = tni_add(to->f, f);
    to->t = tni_add(tni_add(to->t, t), tni_cross(w->arm, f));
}

tn_result tni_nullspace_correct(tni_nullspace* ns, const double* b, const double* r, double* u,
                                double* mu, tn_why* why)
{
    (void)why;
    for (int i = 0; i < ns->count; ++i) pass(ns, i, b, r);
    for (int i = ns->count; i-- > 0;) outward(ns, i, u, mu);
    return TN_OK;
}

// ---- Flying --------------------------------------------------------------------------------------

enum { NEWTON_ROUNDS = 3 };
static const double far_turn = 0.0652; // s.s of a turn by one radian

// A body that turns far in a step: the same rule, with functions for any angle.
static void fly_far(const tni_nullspace* ns, int i, double h, const double* q, const double* u,
                    double* q1, double* u1)
{
    enum { ROUNDS_MAX = 20 };
    const link*     a  = &ns->links[i];
    const tni_mat3* I  = &ns->model->bodies[a->body].inertia;
    const double*   p  = q + a->q + 3;
    const tn_quat   at = {p[0], p[1], p[2], p[3]};
    const tn_vec3   W0 = tni_rotate(tni_quat_conjugate(at), tni_read3(u + a->u + 3));
    const tn_vec3   L  = tni_mul(I, W0);
    tn_vec3         W  = tni_add_scaled(W0, 0.5 * h, tni_solve3(I, tni_cross(L, W0)));
    for (int round = 0; round < ROUNDS_MAX; ++round) {
        const tn_vec3  Lm   = tni_rotate(tni_quat_exp(tni_scale(-0.5 * h, W)), L);
        const tn_vec3  left = tni_sub(tni_mul(I, W), Lm), b = tni_scale(0.5 * h, Lm);
        const double*  m = I->m;
        const tni_mat3 D = {{m[0], m[1] + b.z, m[2] - b.y, m[3] - b.z, m[4], m[5] + b.x, m[6] + b.y,
                             m[7] - b.x, m[8]}};
        const tn_vec3  change = tni_solve3(&D, left);
        W                     = tni_sub(W, change);
        if (!(tni_max_abs(change) > 1e-12 * tni_max_abs(W))) break;
    }
    const tn_quat by  = tni_quat_exp(tni_scale(h, W));
    const tn_quat to  = tni_quat_normalised(tni_quat_mul(at, by));
    const tn_vec3 end = tni_solve3(I, tni_rotate(tni_quat_conjugate(by), L));
    double*       p1  = q1 + a->q + 3;
    p1[0] = to.w, p1[1] = to.x, p1[2] = to.y, p1[3] = to.z;
    tni_write3(u1 + a->u + 3, tni_rotate(to, end));
    ns->ends[i] = tni_quat_matrix(to);
}

#define SET plain
#define TARGET
#define BYTES 16
#include "system/nullspace_fly.h"

#if defined(__GNUC__) && defined(__x86_64__)
#define SET    wide
#define TARGET __attribute__((target("avx2")))
#define BYTES  32
#include "system/nullspace_fly.h"
#endif

static void fly_straight(const tni_nullspace* ns, double h, const double* q, const double* u,
                         double* q1, double* u1)
{
#if defined(__GNUC__) && defined(__x86_64__)
    if (ns->wide) {
        fly_all_wide(ns, h, q, u, q1, u1);
        return;
    }
#endif
    fly_all_plain(ns, h, q, u, q1, u1);
}

// Where a link is at the end.
typedef struct end {
    const tni_mat3* R;
    tn_vec3         x;
} end;

TNI_INLINE end end_of(const tni_nullspace* ns, const link* a, const double* q1)
{
    if (a->parent >= 0) return (end){&ns->ends[a->parent], tni_read3(q1 + ns->links[a->parent].q)};
    const tni_view* view = &ns->system->views[a->other];
    return (end){&view->R, view->x};
}

// C of a joint's rows, rates where there is none.
static void other_rows(const tni_nullspace* ns, const link* a, const tni_lead* lead,
                       const double* z, const double* q1, const double* u1, double* r)
{
    const tn_model*       model = ns->model;
    const tni_joint*      joint = &model->joints[a->joint];
    const tni_constraint* of    = &model->constraints[a->constraint];
    tni_view              view[2];
    tni_row               rows[TNI_JOINT_ROWS_MAX];
    tni_view_body(model, joint->body1, lead->time, q1, u1, &view[0]);
    tni_view_body(model, joint->body2, lead->time, q1, u1, &view[1]);
    (void)tni_joint_rows(model, joint, (tni_sides){&view[0], &view[1]}, lead->time, z, rows);
    for (int i = 0; i < of->row_count; ++i) r[i] = i < of->held_count ? rows[i].C : rows[i].rate;
}

static void turn_rows(const tni_nullspace* ns, const link* a, const tni_mat3* Ra,
                      const tni_mat3* Rb, double* r)
{
    const axes x = axes_of(ns, a, Ra, Rb);
    r[3] = tni_dot(x.x1, x.z2), r[4] = tni_dot(x.y1, x.z2);
    if (a->kind == FIXED) r[5] = tni_dot(x.x1, x.y2);
}

double tni_nullspace_fly(tni_nullspace* ns, const tni_start* start, const tni_lead* lead,
                         const double* u, double* q1, double* u1, double* r, int* worst)
{
    const tn_model* model    = ns->model;
    const bool      straight = lead->share == 1 && lead->drift == NULL;
    double          most     = 0;
    if (straight) fly_straight(ns, lead->h, start->at.q, u, q1, u1);
    else tni_fly_mean(model, lead->h, lead->share, lead->drift, start->at.q, u, q1, u1);
    for (int i = 0; i < ns->fixed_count; ++i)
        tni_view_body(model, ns->fixed[i], lead->time, q1, u1, &ns->system->views[ns->fixed[i]]);
    *worst = -1;
    for (int i = ns->count; i-- > 0;) {
        const link* a = &ns->links[i];
        double*     C = r + a->row;
        double      e;
        if (!straight) {
            const double* p = q1 + a->q + 3;
            ns->ends[i]     = tni_quat_matrix((tn_quat){p[0], p[1], p[2], p[3]});
        }
        if (a->joint < 0) continue;
        if (a->kind == OTHER) {
            const tni_constraint* of = &model->constraints[a->constraint];
            other_rows(ns, a, lead, start->at.z, q1, u1, C);
            e = 0;
            for (int k = 0; k < of->row_count; ++k) {
                const double size = fabs(k < of->held_count ? C[k] : lead->h * C[k]);
                if (!(size <= e)) e = size;
            }
        } else {
            const end     b = end_of(ns, a, q1);
            const tn_vec3 D = tni_sub(tni_add(tni_read3(q1 + a->q), tni_mul(&ns->ends[i], a->ref)),
                                      tni_add(b.x, tni_mul(b.R, a->anchor)));
            tni_write3(C, tni_scale(a->sign, D));
            e = fabs(D.x) > fabs(D.y) ? fabs(D.x) : fabs(D.y);
            e = e > fabs(D.z) ? e : fabs(D.z);
            if (!(D.x + D.y + D.z == D.x + D.y + D.z)) e = HUGE_VAL;
            if (a->kind != TURNS) {
                turn_rows(ns, a, &ns->ends[i], b.R, C);
                for (int k = 3; k < (a->kind == AXIS ? 5 : 6); ++k)
                    if (!(fabs(C[k]) <= e)) e = fabs(C[k]);
            }
        }
        if (e <= most && !(e == most && a->constraint < *worst)) continue;
        most   = isnan(e) ? HUGE_VAL : e;
        *worst = a->constraint;
    }
    return most;
}
