// divide_and_conquer: the divide-and-conquer algorithm over the touched nodes of assembly trees.
//
// Four sweeps over touched nodes C = (A, B, joint). X: transform of the joint, from the link that
// it leads out of (handle `at` of A) to B's base link. Y_k, u_k: handle k of a node has the motion
// v_k = Y_k v + u_k when its base link has v.
//
//     up     X, S;  Y_B = X Y_at,  u_B = X u_at + S qdot;  B's handles: Y_k Y_B, Y_k u_B + u_k
//     down   v_A = v,  v_B = Y_B v + u_B,  c = v_B x (S qdot) + S' qdot
//     up     factors, Phi; gamma, R, b                                      see coefficients.c
//     down   qddot, and forces on the handles of A and B from those of C
//
// A node of the rigid front is one rigid body, of inertia I about its base link:
//
//     b = I^-1 (F - v x* I v),   b_k = Y_k b,   Phi_kl = Y_k I^-1 Y_l^T
//
// F being the sum of the forces in it, found on the paths that lead to them. Gravity is an
// acceleration -g of the world, at the root.
//
// Workers: touched nodes are listed in pre-order (B before A, so that the list read backwards is in
// post-order, like memory). Subtrees of at most `grain` nodes are shared out in jobs of about the
// grain; the nodes above them (top) are done serially, after the jobs on the way up, before them on
// the way down. The grain depends on the number of touched nodes only.
//
// Cost (gcc 12 -O3, EPYC): chain of 300 hinges 1.1 us a node, most of it its factors; 2 us beyond
// 10^4 nodes, which take 3 kB each and no longer fit the cache.
#include "adaptive/divide_and_conquer.h"

enum { GRAIN_MIN = 24, JOBS = 32 };

// Motion of a handle from that of the node's base link: v_k = Y v + u.
typedef struct handle_map {
    tni_transform Y;
    tni_spatial   u;
} handle_map;

// Data of a node with a joint; there is one for each link.
typedef struct node_work {
    tni_transform X;
    tni_spatial   v, v_b; // motions of its base link, of b's
    tni_spatial   c;      // S qdot after the first sweep, c after the second
    tni_spatial   force;  // through the joint, on b
    int           size;   // touched nodes at and below it
    int           d;
    handle_map*   maps;      // by handle but the first
    tni_spatial*  S;         // d
    double*       Phi;       // 6h x 6h
    double*       b;         // 6h; in the last sweep: f
    double *      gamma, *R; // 6, d
    double *      WH, *UH;   // 6 x 6h, d x 6h: force through the joint and acceleration from f
} node_work;

typedef struct subtree {
    int  begin, end; // of the list
    bool whole;      // all touched nodes of a tree
} subtree;

typedef struct job {
    int  first; // its first subtree
    int  visits;
    bool good;
} job;

struct tni_divide_and_conquer {
    const tni_joint_trees* trees;
    const tni_assembly*    assembly;
    node_work*             nodes;  // by link
    double*                leaves; // by link: I^-1; 0: I has no inverse
    tni_spatial*           sums;   // by node: F
    // Each tree has its own range of these.
    int*     list; // touched nodes
    int*     top;  // nodes above the subtrees; scratch while the list is made
    subtree* subtrees;
    job*     jobs; // one more per tree than it has links
};

// One call, as the workers see it.
typedef struct work {
    const tni_divide_and_conquer* pass;
    const tni_tree_state*         at;
    double*                       qddot;
    int *                         list, *top;
    subtree*                      subtrees;
    job*                          jobs;
    int                           list_count, top_count, subtree_count, job_count;
} work;

// ---- Creation -----------------------------------------------------------------------------------

static double* carve(double** pool, size_t count)
{
    double* part = *pool;
    *pool += count;
    return part;
}

// The arrays of a node from a pool; k NULL: only counts the numbers.
static size_t lay_out(const tni_node* node, size_t d, node_work* k, double** pool)
{
    const size_t h = node->handle_count, maps = h > 0 ? 18 * (h - 1) : 0;
    if (k) {
        k->Phi   = carve(pool, 36 * h * h);
        k->b     = carve(pool, 6 * h);
        k->maps  = (handle_map*)carve(pool, maps);
        k->WH    = carve(pool, 36 * h);
        k->UH    = carve(pool, 6 * h * d);
        k->gamma = carve(pool, 6);
        k->R     = carve(pool, d);
        k->S     = (tni_spatial*)carve(pool, 6 * d);
    }
    return 36 * h * h + 6 * h + maps + 36 * h + 6 * h * d + 6 + 7 * d;
}

tn_result tni_divide_and_conquer_create(tni_arena* arena, const tni_joint_trees* trees,
                                        const tni_assembly* assembly, tni_divide_and_conquer** pass)
{
    const int count = trees->count, tree_count = trees->tree_count;
    size_t    numbers = 0;
    for (int i = 0; i < count; ++i)
        numbers += lay_out(&assembly->nodes[assembly->joint[i]], (size_t)trees->links[i].freedoms,
                           NULL, NULL);
    tni_divide_and_conquer* p    = TNI_TAKE(arena, tni_divide_and_conquer, 1);
    double*                 pool = TNI_TAKE(arena, double, numbers);

    const tni_divide_and_conquer made = {.trees    = trees,
                                         .assembly = assembly,
                                         .nodes    = TNI_TAKE(arena, node_work, count),
                                         .leaves   = TNI_TAKE(arena, double, 36 * (size_t)count),
                                         .sums     = TNI_TAKE(arena, tni_spatial, assembly->count),
                                         .list     = TNI_TAKE(arena, int, count),
                                         .top      = TNI_TAKE(arena, int, count),
                                         .subtrees = TNI_TAKE(arena, subtree, count),
                                         .jobs     = TNI_TAKE(arena, job, count + tree_count)};

    *pass = NULL;
    if (arena->failed) return TN_ERR_MEMORY;
    *p = made;
    for (int i = 0; i < assembly->count; ++i) {
        const tni_node*      node = &assembly->nodes[i];
        const tni_tree_link* link = &trees->links[node->link];
        if (node->b < 0) // a singular inertia leaves it 0, which respond_rigid() checks
            (void)tni_rigid_inertia_inverse(&link->inertia, p->leaves + 36 * (size_t)node->link);
        else lay_out(node, (size_t)link->freedoms, &p->nodes[node->link], &pool);
    }
    *pass = p;
    return TN_OK;
}

// ---- The first sweeps: positions and motions ----------------------------------------------------

static const tni_node* node_at(const work* w, int i)
{
    return &w->pass->assembly->nodes[i];
}

static node_work* work_at(const work* w, int i)
{
    return &w->pass->nodes[node_at(w, i)->link];
}

// Of a touched or rigid child; handle > 0: the first handle is its base link.
static handle_map map_to(const work* w, int child, int handle)
{
    if (w->at->touched[child]) return work_at(w, child)->maps[handle - 1];
    return (handle_map){w->at->frames[child].handle[handle], tni_spatial_zero()};
}

static handle_map map_then(const handle_map* first, const handle_map* then)
{
    return (handle_map){tni_transform_then(&first->Y, &then->Y),
                        tni_spatial_add(tni_transform_motion(&then->Y, first->u), then->u)};
}

static void place(const work* w, int i, node_work* k)
{
    const tni_node*      node = node_at(w, i);
    const tni_tree_link* link = &w->pass->trees->links[node->link];
    k->d                      = w->at->active[node->link] ? link->freedoms : 0;
    k->c                      = tni_spatial_zero();
    if (w->at->active[node->link]) {
        tni_tree_link_place(link, w->at->q + link->q, &k->X, k->S);
        k->c = tni_tree_link_motion(link, k->S, w->at->v + link->v);
    } else k->X = w->at->frames[i].join;
}

static void sweep_places(const work* w, int i)
{
    const tni_node* node = node_at(w, i);
    node_work*      k    = work_at(w, i);
    place(w, i, k);
    if (node->a < 0) return;
    handle_map to_b = {k->X, k->c};
    if (node->at > 0) {
        const handle_map map = map_to(w, node->a, node->at);
        to_b                 = map_then(&map, &to_b);
    }
    handle_map* out = k->maps;
    for (int n = 1; n < node->keep_a; ++n) *out++ = map_to(w, node->a, node->kept_a[n]);
    for (int n = 0; n < node->keep_b; ++n) {
        if (node->kept_b[n] > 0) {
            const handle_map map = map_to(w, node->b, node->kept_b[n]);
            *out++               = map_then(&to_b, &map);
        } else *out++ = to_b;
    }
}

static void sweep_motions(const work* w, int i)
{
    const tni_node*      node = node_at(w, i);
    const tni_tree_link* link = &w->pass->trees->links[node->link];
    node_work*           k    = work_at(w, i);
    tni_spatial          v    = node->a < 0 ? tni_spatial_zero() : k->v;
    if (node->at > 0) {
        const handle_map map = map_to(w, node->a, node->at);
        v                    = tni_spatial_add(tni_transform_motion(&map.Y, v), map.u);
    }
    k->v_b = tni_spatial_add(tni_transform_motion(&k->X, v), k->c);
    k->c   = tni_cross_motion(k->v_b, k->c);
    if (k->d > 0 && !link->steady)
        k->c =
            tni_spatial_add(k->c, tni_tree_link_bias(link, w->at->q + link->q, w->at->v + link->v));
    if (node->a >= 0 && w->at->touched[node->a]) work_at(w, node->a)->v = k->v;
    if (w->at->touched[node->b]) work_at(w, node->b)->v = k->v_b;
}

// ---- Forces in rigid nodes ----------------------------------------------------------------------

// The first node in post-order, at or below node i, with a force at or below it.
static int descend(const work* w, int i)
{
    for (;;) {
        const tni_node* node = node_at(w, i);
        if (node->b < 0) return i;
        i = w->at->loaded[node->a] ? node->a : node->b;
    }
}

static void sum_children(const work* w, int i, tni_spatial* sums)
{
    const tni_node* node = node_at(w, i);
    sums[i]              = w->at->loaded[node->a] ? sums[node->a] : tni_spatial_zero();
    if (w->at->loaded[node->b])
        sums[i] =
            tni_spatial_add(sums[i], tni_transform_force(&w->at->frames[i].to_b, sums[node->b]));
}

// Sum of all forces in a rigid node about its base link: in post-order through the nodes that have
// some.
static tni_spatial force_in(const work* w, int top, int* visits)
{
    tni_spatial* sums = w->pass->sums;
    for (int i = descend(w, top);;) {
        const tni_node* node = node_at(w, i);
        if (node->b < 0) sums[i] = w->at->force[node->link];
        else sum_children(w, i, sums);
        if (i == top) return sums[i];
        ++*visits;
        const tni_node* up = node_at(w, node->up);
        i                  = i == up->a && w->at->loaded[up->b] ? descend(w, up->b) : node->up;
    }
}

// ---- The third sweep: responses of nodes --------------------------------------------------------

// Every row of a 6 x 6 matrix transformed as a motion: M Y^T; Y M, if columns are stored as rows.
static void shift_rows(const tni_transform* Y, const double* M, double* out)
{
    for (int i = 0; i < 6; ++i)
        tni_spatial_write(out + 6 * i, tni_transform_motion(Y, tni_spatial_read(M + 6 * i)));
}

// Phi of a rigid node from M = I^-1: block (k, l) is Y_k M Y_l^T.
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

static tni_spatial times(const double* M, tni_spatial f)
{
    const double x[6] = {f.w.x, f.w.y, f.w.z, f.v.x, f.v.y, f.v.z};
    double       y[6];
    for (int i = 0; i < 6; ++i)
        y[i] = M[6 * i] * x[0] + M[6 * i + 1] * x[1] + M[6 * i + 2] * x[2] + M[6 * i + 3] * x[3] +
               M[6 * i + 4] * x[4] + M[6 * i + 5] * x[5];
    return tni_spatial_read(y);
}

// Phi and b of a child; own_...: storage for a rigid one.
typedef struct response {
    const double*   Phi;
    tni_state_terms at_state;
    double          own_Phi[TNI_FORCES * TNI_FORCES], own_b[TNI_FORCES];
} response;

// F - v x* I v
static tni_spatial net_force(const work* w, int i, const tni_rigid_inertia* I, tni_spatial v,
                             int* visits)
{
    const tni_spatial gyroscopic = tni_cross_force(v, tni_rigid_inertia_times(I, v));
    const bool        loaded     = w->at->force && w->at->loaded && w->at->loaded[i];
    return tni_spatial_sub(loaded ? force_in(w, i, visits) : tni_spatial_zero(), gyroscopic);
}

static bool respond_rigid(const work* w, int i, tni_spatial v, response* out, int* visits)
{
    const tni_node*          node    = node_at(w, i);
    const tni_frames*        frames  = &w->at->frames[i];
    const tni_rigid_inertia* I       = &w->pass->trees->links[node->link].inertia;
    const double*            inverse = w->pass->leaves + 36 * (size_t)node->link;
    double                   own[36];
    if (node->b >= 0) {
        I = &frames->inertia, inverse = own;
        if (!tni_rigid_inertia_inverse(I, own)) return false;
        spread(node, frames, own, out->own_Phi);
    } else if (!(inverse[0] > 0)) return false;
    const tni_spatial b = times(inverse, net_force(w, i, I, v, visits));
    tni_spatial_write(out->own_b, b);
    for (int k = 1; k < node->handle_count; ++k)
        tni_spatial_write(out->own_b + 6 * k, tni_transform_motion(&frames->handle[k], b));
    out->Phi      = node->b < 0 ? inverse : out->own_Phi;
    out->at_state = (tni_state_terms){.b = out->own_b};
    ++*visits;
    return true;
}

static bool respond(const work* w, int i, tni_spatial v, response* out, int* visits)
{
    if (!w->at->touched[i]) return respond_rigid(w, i, v, out, visits);
    const node_work* k = work_at(w, i);
    out->Phi           = k->Phi;
    out->at_state      = (tni_state_terms){.b = k->b};
    return true;
}

static void save_factors(const tni_node* node, const tni_factors* factors, const node_work* k)
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

// K belongs to a joint; a floating link has none, and simple factors then.
static tni_node_joint join_of(const work* w, const tni_node* node, const node_work* k)
{
    const tni_tree_link* link = &w->pass->trees->links[node->link];
    const double* K = w->at->K && link->kind != TNI_TREE_LINK_FREE ? w->at->K + link->k : NULL;
    return (tni_node_joint){k->X, k->S, k->d, K};
}

static bool sweep_responses(const work* w, int i, int* visits)
{
    const tni_node *node = node_at(w, i), *a = node->a < 0 ? NULL : node_at(w, node->a),
                   *b         = node_at(w, node->b);
    const node_work*     k    = work_at(w, i);
    const tni_node_joint join = join_of(w, node, k);
    const double*        Q    = w->at->Q ? w->at->Q + w->pass->trees->links[node->link].v : NULL;
    response             of_a, of_b;
    tni_factors          factors;
    ++*visits;
    if (a && !respond(w, node->a, k->v, &of_a, visits)) return false;
    if (!respond(w, node->b, k->v_b, &of_b, visits)) return false;
    if (!tni_join_factor(node, a, b, &join, a ? of_a.Phi : NULL, of_b.Phi, &factors,
                         a ? k->Phi : NULL))
        return false;
    tni_state_terms   out   = {.b = k->b};
    const tni_spatial world = {{0, 0, 0}, tni_neg(w->at->gravity)};
    const tni_spatial root  = tni_transform_motion(&k->X, world);
    tni_join_state_terms(node, a, b, &join, &factors, Q, 0, k->c, a ? NULL : &root,
                         a ? &of_a.at_state : NULL, &of_b.at_state, k->gamma, k->R,
                         a ? &out : NULL);
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

// Sets f of a touched child: the forces of the node's kept handles, and the joint's force at one of
// them.
static void hand_down(const work* w, int child, const double* f, int count, const uint8_t* kept,
                      int at, tni_spatial force)
{
    if (!w->at->touched[child]) return; // f is not needed
    double* out = work_at(w, child)->b;
    for (int i = 0; i < 6 * node_at(w, child)->handle_count; ++i) out[i] = 0;
    for (int k = 0; k < count; ++k)
        for (int i = 0; i < 6; ++i) out[6 * kept[k] + i] = f[6 * k + i];
    tni_spatial_write(out + 6 * at, tni_spatial_add(tni_spatial_read(out + 6 * at), force));
}

// fc = W H f + gamma, qddot = R - U H f; tni_join_back() from the saved factors.
static void sweep_forces(const work* w, int i)
{
    const tni_node* node = node_at(w, i);
    node_work*      k    = work_at(w, i);
    const int       n    = 6 * node->handle_count;
    const double*   f    = k->b;
    double          force[6];
    through(6, n, k->gamma, 1, k->WH, f, force);
    through(k->d, n, k->R, -1, k->UH, f, w->qddot + w->pass->trees->links[node->link].v);
    k->force = tni_spatial_read(force);
    hand_down(w, node->b, f + 6 * node->keep_a, node->keep_b, node->kept_b, 0, k->force);
    if (node->a < 0) return;
    const tni_spatial back = tni_transform_force(&k->X, k->force);
    hand_down(w, node->a, f, node->keep_a, node->kept_a, node->at,
              tni_spatial_sub(tni_spatial_zero(), back));
}

// ---- Jobs ---------------------------------------------------------------------------------------

// Touched nodes of a tree, parents before children.
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
        if (node->a >= 0 && w->at->touched[node->a]) size += work_at(w, node->a)->size;
        if (w->at->touched[node->b]) size += work_at(w, node->b)->size;
        work_at(w, w->list[n])->size = size;
    }
}

// Splits the list into top and subtrees, and subtrees into jobs.
static void make_jobs(work* w)
{
    const int grain = w->list_count / JOBS > GRAIN_MIN ? w->list_count / JOBS : GRAIN_MIN;
    int       taken = grain; // of the present job; starts full
    for (int n = 0; n < w->list_count;) {
        const int size = work_at(w, w->list[n])->size;
        if (size > grain) {
            w->top[w->top_count++] = w->list[n++];
            continue;
        }
        if (taken + size > grain) {
            w->jobs[w->job_count++] = (job){.first = w->subtree_count, .good = true};
            taken                   = 0;
        }
        taken += size;
        w->subtrees[w->subtree_count++] = (subtree){n, n + size, node_at(w, w->list[n])->up < 0};
        n += size;
    }
    w->jobs[w->job_count].first = w->subtree_count;
}

static void run_jobs(const work* w, const tn_host* host, tn_task* task)
{
    if (host && host->each && w->job_count > 1) {
        host->each(host->workers, w->job_count, task, (void*)w);
        return;
    }
    for (int i = 0; i < w->job_count; ++i) task((void*)w, i);
}

static void places_of(const work* w, const subtree* p)
{
    for (int n = p->end - 1; n >= p->begin; --n) sweep_places(w, w->list[n]);
}

static void responses_of(const work* w, const subtree* p, job* s)
{
    for (int n = p->begin; n < p->end; ++n) sweep_motions(w, w->list[n]);
    for (int n = p->end - 1; n >= p->begin && s->good; --n)
        s->good = sweep_responses(w, w->list[n], &s->visits);
}

static void forces_of(const work* w, const subtree* p)
{
    for (int n = p->begin; n < p->end; ++n) sweep_forces(w, w->list[n]);
}

// Whole trees depend on no other node: all their sweeps at once, while they are in the cache.
static void places_task(void* data, int index)
{
    const work* w = data;
    job*        s = &w->jobs[index];
    for (int i = s[0].first; i < s[1].first; ++i) {
        const subtree* p = &w->subtrees[i];
        places_of(w, p);
        if (!p->whole) continue;
        responses_of(w, p, s);
        if (s->good) forces_of(w, p);
    }
}

static void responses_task(void* data, int index)
{
    const work* w = data;
    job*        s = &w->jobs[index];
    for (int i = s[0].first; i < s[1].first; ++i)
        if (!w->subtrees[i].whole) responses_of(w, &w->subtrees[i], s);
}

static void forces_task(void* data, int index)
{
    const work* w = data;
    for (int i = w->jobs[index].first; i < w->jobs[index + 1].first; ++i)
        if (!w->subtrees[i].whole) forces_of(w, &w->subtrees[i]);
}

static bool run(const work* w, const tn_host* host, int* visits)
{
    bool good = true;
    run_jobs(w, host, places_task);
    for (int n = w->top_count - 1; n >= 0; --n) sweep_places(w, w->top[n]);
    for (int n = 0; n < w->top_count; ++n) sweep_motions(w, w->top[n]);
    if (w->top_count > 0) run_jobs(w, host, responses_task);
    for (int i = 0; i < w->job_count; ++i) {
        good = good && w->jobs[i].good;
        *visits += w->jobs[i].visits;
    }
    for (int n = w->top_count - 1; n >= 0 && good; --n)
        good = sweep_responses(w, w->top[n], visits);
    if (!good || w->top_count == 0) return good;
    for (int n = 0; n < w->top_count; ++n) sweep_forces(w, w->top[n]);
    run_jobs(w, host, forces_task);
    return true;
}

bool tni_tree_accelerate(tni_divide_and_conquer* pass, const tn_host* host, int first, int last,
                         const tni_tree_state* at, double* qddot, int* visits)
{
    const int start = pass->trees->first[first];
    work      w     = {.pass     = pass,
                       .at       = at,
                       .qddot    = qddot,
                       .list     = pass->list + start,
                       .top      = pass->top + start,
                       .subtrees = pass->subtrees + start,
                       .jobs     = pass->jobs + start + first};
    for (int t = first; t < last; ++t) list_tree(&w, pass->assembly->root[t], w.top);
    measure(&w);
    make_jobs(&w);
    return run(&w, host, visits);
}

tni_spatial tni_tree_reaction(const tni_divide_and_conquer* pass, int link)
{
    return pass->nodes[link].force;
}
