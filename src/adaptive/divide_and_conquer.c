// divide_and_conquer: the divide-and-conquer algorithm over the touched nodes of assembly trees.
//
// Per touched node C = (A, B, joint), four sweeps. X: place of the joint, from the limb that it
// leads out of (handle `at` of A) to B's base limb. Y_k, u_k: handle k of a node moves by
// v_k = Y_k v + u_k when its base limb moves by v.
//
//     up     X, S;  Y_B = X Y_at,  u_B = X u_at + S qdot;  B's handles: Y_k Y_B, Y_k u_B + u_k
//     down   v_A = v,  v_B = Y_B v + u_B,  c = v_B x (S qdot) + Sdot qdot
//     up     factors, Phi; gamma, R, b                                      see coefficients.c
//     down   qddot, and forces on the handles of A and B from those of C
//
// A node of the rigid front is one rigid body, of inertia I about its base limb:
//
//     b = I^-1 (F - v x* I v),   b_k = Y_k b,   Phi_kl = Y_k I^-1 Y_l^T
//
// F being the sum of the forces in it, found on the paths that lead to them. Gravity is an
// acceleration of the world, -g, under the root.
//
// Workers: touched nodes are listed in pre-order (B before A, so that the list read backwards is in
// post-order, as memory is). Subtrees of at most `grain` nodes are pieces, nodes above them the
// top. Pieces are shared out in groups of about the grain, then the top goes alone; down the other
// way round. The grain follows from the number of touched nodes only.
//
// Cost (gcc 12 -O3, EPYC): chain of 300 hinges 1.1 us a node, most of it its factors; 2 us beyond
// 10^4 nodes, which need 3 kB each and no longer lie in the cache.
#include "adaptive/divide_and_conquer.h"

enum { GRAIN_MIN = 24, SHARES = 32 };

// From the base limb of a node to one of its handles: v_k = Y v + u.
typedef struct lead {
    tni_shift Y;
    tni_six   u;
} lead;

// A node with a joint; there is one for each limb.
typedef struct knot {
    tni_shift X;
    tni_six   v, v_b; // motions of its base limb, of b's
    tni_six   c;      // S qdot after the first sweep, c after the second
    tni_six   force;  // through the joint, on b
    int       size;   // touched nodes at and below it
    int       d;
    lead*     leads;     // by handle but the first
    tni_six*  S;         // d
    double*   Phi;       // 6h x 6h
    double*   b;         // 6h; in the last sweep: f
    double *  gamma, *R; // 6, d
    double *  WH, *UH;   // 6 x 6h, d x 6h: how f goes through the joint, and moves it
} knot;

typedef struct piece {
    int  begin, end; // of the list
    bool whole;      // all that is touched of a tree
} piece;

typedef struct share {
    int  first; // piece
    int  visits;
    bool good;
} share;

struct tni_divide_and_conquer {
    const tni_joint_trees* limbs;
    const tni_assembly*    assembly;
    knot*                  knots;  // by limb
    double*                leaves; // by limb: I^-1
    tni_six*               sums;   // by node: F
    // Each tree has its part of these.
    int*   list; // touched nodes
    int*   top;  // while the list is made: what is still to be listed
    piece* pieces;
    share* shares; // one more than trees have limbs
};

// One call: what the workers see.
typedef struct work {
    const tni_divide_and_conquer* pass;
    const tni_tree_state*         at;
    double*                       qddot;
    int *                         list, *top;
    piece*                        pieces;
    share*                        shares;
    int                           list_count, top_count, piece_count, share_count;
} work;

// ---- Creation -----------------------------------------------------------------------------------

static double* carve(double** pool, size_t count)
{
    double* part = *pool;
    *pool += count;
    return part;
}

// The numbers of a knot, from a pool; NULL: only counts them.
static size_t lay_out(const tni_node* node, size_t d, knot* k, double** pool)
{
    const size_t h = node->handle_count, leads = h > 0 ? 18 * (h - 1) : 0;
    if (k) {
        k->Phi   = carve(pool, 36 * h * h);
        k->b     = carve(pool, 6 * h);
        k->leads = (lead*)carve(pool, leads);
        k->WH    = carve(pool, 36 * h);
        k->UH    = carve(pool, 6 * h * d);
        k->gamma = carve(pool, 6);
        k->R     = carve(pool, d);
        k->S     = (tni_six*)carve(pool, 6 * d);
    }
    return 36 * h * h + 6 * h + leads + 36 * h + 6 * h * d + 6 + 7 * d;
}

tn_result tni_divide_and_conquer_create(tni_arena* arena, const tni_joint_trees* limbs,
                                        const tni_assembly* assembly, tni_divide_and_conquer** pass)
{
    const int count = limbs->count, trees = limbs->tree_count;
    size_t    numbers = 0;
    for (int i = 0; i < count; ++i)
        numbers += lay_out(&assembly->nodes[assembly->joint[i]], (size_t)limbs->limbs[i].freedoms,
                           NULL, NULL);
    tni_divide_and_conquer* p    = TNI_TAKE(arena, tni_divide_and_conquer, 1);
    double*                 pool = TNI_TAKE(arena, double, numbers);

    const tni_divide_and_conquer made = {.limbs    = limbs,
                                         .assembly = assembly,
                                         .knots    = TNI_TAKE(arena, knot, count),
                                         .leaves   = TNI_TAKE(arena, double, 36 * (size_t)count),
                                         .sums     = TNI_TAKE(arena, tni_six, assembly->count),
                                         .list     = TNI_TAKE(arena, int, count),
                                         .top      = TNI_TAKE(arena, int, count),
                                         .pieces   = TNI_TAKE(arena, piece, count),
                                         .shares   = TNI_TAKE(arena, share, count + trees)};

    *pass = NULL;
    if (arena->failed) return TN_ERR_MEMORY;
    *p = made;
    for (int i = 0; i < assembly->count; ++i) {
        const tni_node*      node = &assembly->nodes[i];
        const tni_tree_link* limb = &limbs->limbs[node->limb];
        if (node->b < 0) // where there is none it stays 0, which answer_rigid sees
            (void)tni_rigid_inverse(&limb->inertia, p->leaves + 36 * (size_t)node->limb);
        else lay_out(node, (size_t)limb->freedoms, &p->knots[node->limb], &pool);
    }
    *pass = p;
    return TN_OK;
}

// ---- The first sweeps: places and motions -------------------------------------------------------

static const tni_node* node_at(const work* w, int i)
{
    return &w->pass->assembly->nodes[i];
}

static knot* knot_at(const work* w, int i)
{
    return &w->pass->knots[node_at(w, i)->limb];
}

// Of a child, touched or rigid; the first handle is its base limb: nothing leads there.
static lead lead_to(const work* w, int child, int handle)
{
    if (w->at->touched[child]) return knot_at(w, child)->leads[handle - 1];
    return (lead){w->at->frames[child].handle[handle], tni_six_zero()};
}

static lead lead_on(const lead* first, const lead* then)
{
    return (lead){tni_shift_then(&first->Y, &then->Y),
                  tni_six_add(tni_shift_motion(&then->Y, first->u), then->u)};
}

static void place(const work* w, int i, knot* k)
{
    const tni_node*      node = node_at(w, i);
    const tni_tree_link* limb = &w->pass->limbs->limbs[node->limb];
    k->d                      = w->at->active[node->limb] ? limb->freedoms : 0;
    k->c                      = tni_six_zero();
    if (w->at->active[node->limb]) {
        tni_tree_link_place(limb, w->at->q + limb->q, &k->X, k->S);
        k->c = tni_tree_link_motion(limb, k->S, w->at->v + limb->v);
    } else k->X = w->at->frames[i].join;
}

static void sweep_places(const work* w, int i)
{
    const tni_node* node = node_at(w, i);
    knot*           k    = knot_at(w, i);
    place(w, i, k);
    if (node->a < 0) return;
    lead to_b = {k->X, k->c};
    if (node->at > 0) {
        const lead way = lead_to(w, node->a, node->at);
        to_b           = lead_on(&way, &to_b);
    }
    lead* out = k->leads;
    for (int n = 1; n < node->keep_a; ++n) *out++ = lead_to(w, node->a, node->kept_a[n]);
    for (int n = 0; n < node->keep_b; ++n) {
        if (node->kept_b[n] > 0) {
            const lead way = lead_to(w, node->b, node->kept_b[n]);
            *out++         = lead_on(&to_b, &way);
        } else *out++ = to_b;
    }
}

static void sweep_motions(const work* w, int i)
{
    const tni_node*      node = node_at(w, i);
    const tni_tree_link* limb = &w->pass->limbs->limbs[node->limb];
    knot*                k    = knot_at(w, i);
    tni_six              v    = node->a < 0 ? tni_six_zero() : k->v;
    if (node->at > 0) {
        const lead way = lead_to(w, node->a, node->at);
        v              = tni_six_add(tni_shift_motion(&way.Y, v), way.u);
    }
    k->v_b = tni_six_add(tni_shift_motion(&k->X, v), k->c);
    k->c   = tni_cross_motion(k->v_b, k->c);
    if (k->d > 0 && !limb->steady)
        k->c = tni_six_add(k->c, tni_tree_link_bend(limb, w->at->q + limb->q, w->at->v + limb->v));
    if (node->a >= 0 && w->at->touched[node->a]) knot_at(w, node->a)->v = k->v;
    if (w->at->touched[node->b]) knot_at(w, node->b)->v = k->v_b;
}

// ---- Forces in rigid nodes ----------------------------------------------------------------------

// The first in post-order of the nodes at or below node i that have a force at or below them.
static int descend(const work* w, int i)
{
    for (;;) {
        const tni_node* node = node_at(w, i);
        if (node->b < 0) return i;
        i = w->at->pushed[node->a] ? node->a : node->b;
    }
}

static void sum_children(const work* w, int i, tni_six* sums)
{
    const tni_node* node = node_at(w, i);
    sums[i]              = w->at->pushed[node->a] ? sums[node->a] : tni_six_zero();
    if (w->at->pushed[node->b])
        sums[i] = tni_six_add(sums[i], tni_shift_force(&w->at->frames[i].to_b, sums[node->b]));
}

// All forces in a rigid node, about its base limb: in post-order through the nodes that have some.
static tni_six force_in(const work* w, int top, int* visits)
{
    tni_six* sums = w->pass->sums;
    for (int i = descend(w, top);;) {
        const tni_node* node = node_at(w, i);
        if (node->b < 0) sums[i] = w->at->force[node->limb];
        else sum_children(w, i, sums);
        if (i == top) return sums[i];
        ++*visits;
        const tni_node* up = node_at(w, node->up);
        i                  = i == up->a && w->at->pushed[up->b] ? descend(w, up->b) : node->up;
    }
}

// ---- The third sweep: what nodes answer ---------------------------------------------------------

// Y M or, with columns as rows, M Y^T: every row of a 6 x 6 matrix shifted as a motion.
static void shift_rows(const tni_shift* Y, const double* M, double* out)
{
    for (int i = 0; i < 6; ++i)
        tni_six_write(out + 6 * i, tni_shift_motion(Y, tni_six_read(M + 6 * i)));
}

// Phi of a rigid node from M = I^-1: blocks (k, l) are Y_k M Y_l^T.
static void spread(const tni_node* node, const tni_frames* frames, const double* M, double* Phi)
{
    const int n = 6 * node->handle_count;
    for (int k = 0; k < node->handle_count; ++k) {
        double MY[36], YM[36], block[36]; // M Y_k^T, its transpose, Y_k M Y_l^T
        shift_rows(&frames->handle[k], M, MY);
        for (int i = 0; i < 36; ++i) YM[i] = MY[6 * (i % 6) + i / 6];
        for (int l = k; l < node->handle_count; ++l) {
            shift_rows(&frames->handle[l], YM, block);
            for (int i = 0; i < 36; ++i) {
                const int row = 6 * k + i / 6, col = 6 * l + i % 6;
                Phi[n * row + col] = Phi[n * col + row] = block[i];
            }
        }
    }
}

static tni_six times(const double* M, tni_six f)
{
    const double x[6] = {f.w.x, f.w.y, f.w.z, f.v.x, f.v.y, f.v.z};
    double       y[6];
    for (int i = 0; i < 6; ++i)
        y[i] = M[6 * i] * x[0] + M[6 * i + 1] * x[1] + M[6 * i + 2] * x[2] + M[6 * i + 3] * x[3] +
               M[6 * i + 4] * x[4] + M[6 * i + 5] * x[5];
    return tni_six_read(y);
}

// What a child answers: its own Phi and b, or room for those of a rigid one.
typedef struct answer {
    const double* Phi;
    tni_moving    moving;
    double        own_Phi[TNI_FORCES * TNI_FORCES], own_b[TNI_FORCES];
} answer;

// F - v x* I v
static tni_six net_force(const work* w, int i, const tni_rigid* I, tni_six v, int* visits)
{
    const tni_six gyroscopic = tni_cross_force(v, tni_rigid_times(I, v));
    const bool    pushed     = w->at->force && w->at->pushed && w->at->pushed[i];
    return tni_six_sub(pushed ? force_in(w, i, visits) : tni_six_zero(), gyroscopic);
}

static bool answer_rigid(const work* w, int i, tni_six v, answer* out, int* visits)
{
    const tni_node*   node    = node_at(w, i);
    const tni_frames* frames  = &w->at->frames[i];
    const tni_rigid*  I       = &w->pass->limbs->limbs[node->limb].inertia;
    const double*     inverse = w->pass->leaves + 36 * (size_t)node->limb;
    double            own[36];
    if (node->b >= 0) {
        I = &frames->inertia, inverse = own;
        if (!tni_rigid_inverse(I, own)) return false;
        spread(node, frames, own, out->own_Phi);
    } else if (!(inverse[0] > 0)) return false;
    const tni_six b = times(inverse, net_force(w, i, I, v, visits));
    tni_six_write(out->own_b, b);
    for (int k = 1; k < node->handle_count; ++k)
        tni_six_write(out->own_b + 6 * k, tni_shift_motion(&frames->handle[k], b));
    out->Phi    = node->b < 0 ? inverse : out->own_Phi;
    out->moving = (tni_moving){.b = out->own_b};
    ++*visits;
    return true;
}

static bool answer_of(const work* w, int i, tni_six v, answer* out, int* visits)
{
    if (!w->at->touched[i]) return answer_rigid(w, i, v, out, visits);
    const knot* k = knot_at(w, i);
    out->Phi      = k->Phi;
    out->moving   = (tni_moving){.b = k->b};
    return true;
}

static void save_factors(const tni_node* node, const tni_factors* factors, const knot* k)
{
    const int n = 6 * node->handle_count;
    memcpy(k->WH, factors->WH, sizeof(double) * (size_t)(6 * n));
    for (int i = 0; i < k->d; ++i) {
        const double* U = factors->U + 6 * i;
        for (int j = 0; j < n; ++j) {
            const double* H  = factors->H + j;
            k->UH[n * i + j] = U[0] * H[0] + U[1] * H[n] + U[2] * H[2 * n] + U[3] * H[3 * n] +
                               U[4] * H[4 * n] + U[5] * H[5 * n];
        }
    }
}

// K is that of a joint: a limb that floats has none, and its factors are simple then.
static tni_join join_of(const work* w, const tni_node* node, const knot* k)
{
    const tni_tree_link* limb = &w->pass->limbs->limbs[node->limb];
    const double* K = w->at->K && limb->kind != TNI_TREE_LINK_FREE ? w->at->K + limb->k : NULL;
    return (tni_join){k->X, k->S, k->d, K};
}

static bool sweep_answers(const work* w, int i, int* visits)
{
    const tni_node *node = node_at(w, i), *a = node->a < 0 ? NULL : node_at(w, node->a),
                   *b   = node_at(w, node->b);
    const knot*    k    = knot_at(w, i);
    const tni_join join = join_of(w, node, k);
    const double*  Q    = w->at->Q ? w->at->Q + w->pass->limbs->limbs[node->limb].v : NULL;
    answer         of_a, of_b;
    tni_factors    factors;
    ++*visits;
    if (a && !answer_of(w, node->a, k->v, &of_a, visits)) return false;
    if (!answer_of(w, node->b, k->v_b, &of_b, visits)) return false;
    if (!tni_join_factor(node, a, b, &join, a ? of_a.Phi : NULL, of_b.Phi, &factors,
                         a ? k->Phi : NULL))
        return false;
    tni_moving    out   = {.b = k->b};
    const tni_six world = {{0, 0, 0}, tni_neg(w->at->gravity)};
    const tni_six root  = tni_shift_motion(&k->X, world);
    tni_join_moving(node, a, b, &join, &factors, Q, 0, k->c, a ? NULL : &root,
                    a ? &of_a.moving : NULL, &of_b.moving, k->gamma, k->R, a ? &out : NULL);
    save_factors(node, &factors, k);
    return true;
}

// ---- The last sweep: forces and accelerations ---------------------------------------------------

// out = start + sign M f, of rows x n.
static void through(int rows, int n, const double* start, double sign, const double* M,
                    const double* f, double* out)
{
    for (int i = 0; i < rows; ++i) {
        double sum = 0;
        for (int j = 0; j < n; ++j) sum += M[n * i + j] * f[j];
        out[i] = start[i] + sign * sum;
    }
}

// f of a child: what the node's kept handles take, and the joint's force at one of them.
static void hand_down(const work* w, int child, const double* f, int count, const uint8_t* kept,
                      int at, tni_six force)
{
    if (!w->at->touched[child]) return; // nobody asks
    double* out = knot_at(w, child)->b;
    for (int i = 0; i < 6 * node_at(w, child)->handle_count; ++i) out[i] = 0;
    for (int k = 0; k < count; ++k)
        for (int i = 0; i < 6; ++i) out[6 * kept[k] + i] = f[6 * k + i];
    tni_six_write(out + 6 * at, tni_six_add(tni_six_read(out + 6 * at), force));
}

// fc = W H f + gamma, qddot = R - U H f; as tni_join_back, with less to keep.
static void sweep_forces(const work* w, int i)
{
    const tni_node* node = node_at(w, i);
    knot*           k    = knot_at(w, i);
    const int       n    = 6 * node->handle_count;
    const double*   f    = k->b;
    double          force[6];
    through(6, n, k->gamma, 1, k->WH, f, force);
    through(k->d, n, k->R, -1, k->UH, f, w->qddot + w->pass->limbs->limbs[node->limb].v);
    k->force = tni_six_read(force);
    hand_down(w, node->b, f + 6 * node->keep_a, node->keep_b, node->kept_b, 0, k->force);
    if (node->a < 0) return;
    const tni_six back = tni_shift_force(&k->X, k->force);
    hand_down(w, node->a, f, node->keep_a, node->kept_a, node->at,
              tni_six_sub(tni_six_zero(), back));
}

// ---- Sharing out --------------------------------------------------------------------------------

// Touched nodes of a tree, each before those below it.
static void list_tree(work* w, int root, int* stack)
{
    int pending = 0;

    stack[pending++] = root;
    while (pending > 0) {
        const int       i    = stack[--pending];
        const tni_node* node = node_at(w, i);

        w->list[w->list_count++] = i;
        if (node->a >= 0 && w->at->touched[node->a]) stack[pending++] = node->a;
        if (w->at->touched[node->b]) stack[pending++] = node->b;
    }
}

static void measure(const work* w)
{
    for (int n = w->list_count - 1; n >= 0; --n) {
        const tni_node* node = node_at(w, w->list[n]);
        int             size = 1;
        if (node->a >= 0 && w->at->touched[node->a]) size += knot_at(w, node->a)->size;
        if (w->at->touched[node->b]) size += knot_at(w, node->b)->size;
        knot_at(w, w->list[n])->size = size;
    }
}

// The list in pieces and a top, pieces in shares.
static void share_out(work* w)
{
    const int grain = w->list_count / SHARES > GRAIN_MIN ? w->list_count / SHARES : GRAIN_MIN;
    int       taken = grain; // by the last share: it is full
    for (int n = 0; n < w->list_count;) {
        const int size = knot_at(w, w->list[n])->size;
        if (size > grain) {
            w->top[w->top_count++] = w->list[n++];
            continue;
        }
        if (taken + size > grain) {
            w->shares[w->share_count++] = (share){.first = w->piece_count, .good = true};
            taken                       = 0;
        }
        taken += size;
        w->pieces[w->piece_count++] = (piece){n, n + size, node_at(w, w->list[n])->up < 0};
        n += size;
    }
    w->shares[w->share_count].first = w->piece_count;
}

static void run_shares(const work* w, const tn_host* host, tn_task* task)
{
    if (host && host->each && w->share_count > 1) {
        host->each(host->workers, w->share_count, task, (void*)w);
        return;
    }
    for (int i = 0; i < w->share_count; ++i) task((void*)w, i);
}

static void places_of(const work* w, const piece* p)
{
    for (int n = p->end - 1; n >= p->begin; --n) sweep_places(w, w->list[n]);
}

static void answers_of(const work* w, const piece* p, share* s)
{
    for (int n = p->begin; n < p->end; ++n) sweep_motions(w, w->list[n]);
    for (int n = p->end - 1; n >= p->begin && s->good; --n)
        s->good = sweep_answers(w, w->list[n], &s->visits);
}

static void forces_of(const work* w, const piece* p)
{
    for (int n = p->begin; n < p->end; ++n) sweep_forces(w, w->list[n]);
}

// Whole trees wait for nobody: all of their sweeps at once, while they are at hand.
static void places_task(void* data, int index)
{
    const work* w = data;
    share*      s = &w->shares[index];
    for (int i = s[0].first; i < s[1].first; ++i) {
        const piece* p = &w->pieces[i];
        places_of(w, p);
        if (!p->whole) continue;
        answers_of(w, p, s);
        if (s->good) forces_of(w, p);
    }
}

static void answers_task(void* data, int index)
{
    const work* w = data;
    share*      s = &w->shares[index];
    for (int i = s[0].first; i < s[1].first; ++i)
        if (!w->pieces[i].whole) answers_of(w, &w->pieces[i], s);
}

static void forces_task(void* data, int index)
{
    const work* w = data;
    for (int i = w->shares[index].first; i < w->shares[index + 1].first; ++i)
        if (!w->pieces[i].whole) forces_of(w, &w->pieces[i]);
}

static bool run(const work* w, const tn_host* host, int* visits)
{
    bool good = true;
    run_shares(w, host, places_task);
    for (int n = w->top_count - 1; n >= 0; --n) sweep_places(w, w->top[n]);
    for (int n = 0; n < w->top_count; ++n) sweep_motions(w, w->top[n]);
    if (w->top_count > 0) run_shares(w, host, answers_task);
    for (int i = 0; i < w->share_count; ++i) {
        good = good && w->shares[i].good;
        *visits += w->shares[i].visits;
    }
    for (int n = w->top_count - 1; n >= 0 && good; --n) good = sweep_answers(w, w->top[n], visits);
    if (!good || w->top_count == 0) return good;
    for (int n = 0; n < w->top_count; ++n) sweep_forces(w, w->top[n]);
    run_shares(w, host, forces_task);
    return true;
}

bool tni_tree_accelerate(tni_divide_and_conquer* pass, const tn_host* host, int first, int last,
                         const tni_tree_state* at, double* qddot, int* visits)
{
    const int start = pass->limbs->first[first];
    work      w     = {.pass   = pass,
                       .at     = at,
                       .qddot  = qddot,
                       .list   = pass->list + start,
                       .top    = pass->top + start,
                       .pieces = pass->pieces + start,
                       .shares = pass->shares + start + first};
    for (int t = first; t < last; ++t) list_tree(&w, pass->assembly->root[t], w.top);
    measure(&w);
    share_out(&w);
    return run(&w, host, visits);
}

tni_six tni_tree_reaction(const tni_divide_and_conquer* pass, int limb)
{
    return pass->knots[limb].force;
}
