// hybrid: clusters of an articulated body some of whose joints are held; where they are and how
// they move.
//
// Building descends through touched nodes only [1, section 4.2]. With Xc the way from cluster k to
// a node's base limb:
//
//     visit(node, k, Xc):
//         rigid:   I_k += Xc^T I_node Xc;   its handles are in k, by their ways after Xc
//         touched: visit(a, k, Xc);   its joint leads out of a limb in cluster l, at Xl there
//                  active: a new cluster n of parent l;  visit(b, n, none)
//                  held:   visit(b, l, join after Xl)
//
// b comes last, so a stack of nodes whose b waits does it; its height is that of the assembly tree.
// Clusters come out in the order of the joints in that tree from a to b, so the clusters of a
// smaller set of active joints are some of those of a larger one, in the same order (rigidify.c).
//
// Motion, outwards, in world axes about each cluster's own origin, d the offset from the parent's:
//     w = w_p + S_w v,   v = v_p + w_p x d + S_v v
// [1] S. Redon, N. Galoppo, M. C. Lin, Adaptive Dynamics of Articulated Bodies, SIGGRAPH 2005.
#include "adaptive/hybrid_parts.h"

static void find_steady(const tni_tree_link* limb, tni_six* S)
{
    const double q[] = {1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}; // any: S depends on nothing
    if (limb->steady) tni_tree_link_place(limb, q, NULL, S);
}

tn_result tni_hybrid_create(tni_arena* arena, const tni_joint_trees* limbs,
                            const tni_assembly* assembly, int tree, tni_hybrid* hybrid)
{
    const int first = limbs->first[tree], end = limbs->first[tree + 1], count = end - first;
    const tni_tree_link *head = &limbs->limbs[first], *tail = &limbs->limbs[end - 1];
    const int            freedoms = tail->v + tail->freedoms - head->v;
    const int            squares  = tail->k + tail->freedoms * tail->freedoms - head->k;

    struct tni_hybrid_work* work = TNI_TAKE(arena, struct tni_hybrid_work, 1);
    *hybrid                      = (tni_hybrid){.limbs    = limbs,
                                                .assembly = assembly,
                                                .tree     = tree,
                                                .clusters = TNI_TAKE(arena, tni_cluster, count),
                                                .work     = work};
    if (work == NULL) return TN_ERR_MEMORY;
    *work = (struct tni_hybrid_work){.movers  = TNI_TAKE(arena, tni_mover, count),
                                     .steady  = TNI_TAKE(arena, tni_six, freedoms),
                                     .S       = TNI_TAKE(arena, tni_six, freedoms),
                                     .U       = TNI_TAKE(arena, tni_six, freedoms),
                                     .D       = TNI_TAKE(arena, double, squares),
                                     .u       = TNI_TAKE(arena, double, freedoms),
                                     .where   = TNI_TAKE(arena, tni_seat, count),
                                     .plain   = TNI_TAKE(arena, bool, count),
                                     .stack   = TNI_TAKE(arena, int, assembly->depth + 1),
                                     .settled = TNI_TAKE(arena, tni_settled, count),
                                     .first   = first,
                                     .first_v = head->v,
                                     .first_k = head->k};
    if (arena->failed) return TN_ERR_MEMORY;
    for (const tni_tree_link* limb = head; limb <= tail; ++limb)
        find_steady(limb, work->steady + limb->v - head->v);
    return TN_OK;
}

// ---- building

static bool turns_about_z(const tni_tree_link* limb, const tni_six* S)
{
    return limb->kind == TNI_TREE_LINK_HINGE && S->w.x == 0 && S->w.y == 0 && fabs(S->w.z) == 1 &&
           S->v.x == 0 && S->v.y == 0 && S->v.z == 0;
}

static tni_path path_of(const tni_tree_link* limb, const tni_six* S)
{
    if (limb->kind == TNI_TREE_LINK_BALL) return TNI_PATH_BALL;
    if (limb->kind == TNI_TREE_LINK_FREE) return TNI_PATH_FREE;
    return turns_about_z(limb, S) ? TNI_PATH_HINGE : TNI_PATH_ANY;
}

// A cluster that the joint of `limb` moves; its inertia comes with the first node that is put into
// it.
static int add_cluster(tni_hybrid* hybrid, int limb, int parent, const tni_shift* way, bool plain,
                       bool held)
{
    const struct tni_hybrid_work* work    = hybrid->work;
    const tni_tree_link*          l       = &hybrid->limbs->limbs[limb];
    const int                     n       = hybrid->count++;
    tni_cluster*                  cluster = &hybrid->clusters[n];
    tni_mover*                    m       = &work->movers[n];
    cluster->limb                         = limb;
    cluster->parent                       = parent;
    cluster->held                         = held;
    cluster->way                          = *way;
    m->up       = parent >= 0 && !hybrid->clusters[parent].held ? parent : -1;
    m->freedoms = held ? 0 : l->freedoms;
    m->q = l->q, m->v = l->v, m->k = l->k;
    m->column        = l->v - work->first_v;
    m->square        = l->k - work->first_k;
    const tni_six* S = work->steady + m->column;
    m->path          = held ? TNI_PATH_ANY : path_of(l, S);
    if (m->path == TNI_PATH_HINGE) {
        m->sign   = S->w.z;
        m->before = plain ? l->before : tni_shift_then(way, &l->before);
    }
    return n;
}

// A rigid node, base limb at Xc in cluster k.
static void put_rigid(tni_hybrid* hybrid, const tni_node* node, const tni_frames* frames, int k,
                      const tni_shift* Xc, bool plain)
{
    const struct tni_hybrid_work* work    = hybrid->work;
    tni_cluster*                  cluster = &hybrid->clusters[k];
    if (plain) cluster->inertia = frames->inertia; // the first of the cluster
    else {
        const tni_rigid seen = tni_rigid_shift(Xc, &frames->inertia);
        cluster->inertia     = tni_rigid_add(&cluster->inertia, &seen);
    }
    for (int h = 0; h < node->handle_count; ++h) {
        const int slot    = node->handles[h] - work->first;
        tni_seat* seat    = &work->where[slot];
        seat->cluster     = k;
        work->plain[slot] = plain && h == 0;
        if (h == 0) seat->way = *Xc;
        else if (plain) seat->way = frames->handle[h];
        else seat->way = tni_shift_then(Xc, &frames->handle[h]);
    }
}

void tni_hybrid_build(tni_hybrid* hybrid, const uint8_t* active, const uint8_t* touched,
                      const tni_frames* frames)
{
    struct tni_hybrid_work* work  = hybrid->work;
    const tni_node*         nodes = hybrid->assembly->nodes;
    const tni_shift         none  = tni_shift_none();
    const int               root  = hybrid->assembly->root[hybrid->tree];
    const bool              held  = !active[nodes[root].limb];
    hybrid->count                 = 0;
    int       k                   = add_cluster(hybrid, nodes[root].limb, -1, &none, true, held);
    int       node = nodes[root].b, waiting = 0;
    tni_shift Xc    = none;
    bool      plain = true;
    if (held) hybrid->clusters[0].X = frames[root].join;
    ++hybrid->visits;
    for (;;) {
        for (; touched[node]; node = nodes[node].a) {
            work->stack[waiting++] = node;
            ++hybrid->visits;
        }
        ++hybrid->visits;
        put_rigid(hybrid, &nodes[node], &frames[node], k, &Xc, plain);
        if (waiting == 0) return;
        const tni_node* above = &nodes[work->stack[--waiting]];
        const int       slot  = nodes[above->a].handles[above->at] - work->first;
        const tni_seat* out   = &work->where[slot];
        plain                 = active[above->limb] != 0;
        if (plain) {
            k = add_cluster(hybrid, above->limb, out->cluster, &out->way, work->plain[slot], false);
            Xc = none;
        } else {
            k  = out->cluster;
            Xc = tni_shift_then(&out->way, &frames[above - nodes].join);
        }
        node = above->b;
    }
}

tni_seat tni_hybrid_seat(const tni_hybrid* hybrid, int limb, const uint8_t* touched,
                         const tni_frames* frames)
{
    const struct tni_hybrid_work* work  = hybrid->work;
    const tni_node*               nodes = hybrid->assembly->nodes;
    tni_shift                     way   = tni_shift_none();
    int                           node  = hybrid->assembly->leaf[limb];
    for (int up = nodes[node].up; !touched[up]; node = up, up = nodes[node].up)
        if (nodes[up].b == node) way = tni_shift_then(&frames[up].to_b, &way);
    const tni_seat* base = &work->where[nodes[node].base - work->first];
    return (tni_seat){base->cluster, tni_shift_then(&base->way, &way)};
}

// ---- moving

// X of a hinge: its quaternion (c, 0, 0, s) turns about z.
static void place_hinge(const tni_mover* m, const double* q, tni_shift* X)
{
    const double  c = q[0] * q[0] - q[3] * q[3], s = 2 * (q[0] * q[3]);
    const double* E = m->before.E.m;
    for (int k = 0; k < 3; ++k) {
        X->E.m[k]     = c * E[k] + s * E[3 + k];
        X->E.m[3 + k] = c * E[3 + k] - s * E[k];
        X->E.m[6 + k] = E[6 + k];
    }
    X->r = m->before.r;
}

static void place_world(const tni_cluster* clusters, tni_cluster* cluster, tni_mover* m)
{
    if (cluster->parent < 0) {
        cluster->world = cluster->X;
        m->offset      = cluster->X.r;
        return;
    }
    const tni_shift* parent = &clusters[cluster->parent].world;
    cluster->world.E        = tni_mat_mul(&cluster->X.E, &parent->E);
    m->offset               = tni_mul_t(&parent->E, cluster->X.r);
    cluster->world.r        = tni_add(parent->r, m->offset);
}

// S in world axes, and S v.
static tni_six turn_freedoms(const tni_mat3* E, int count, const tni_six* local, const double* v,
                             tni_six* S)
{
    tni_six motion = tni_six_zero();
    for (int k = 0; k < count; ++k) {
        S[k]   = (tni_six){tni_mul_t(E, local[k].w), tni_mul_t(E, local[k].v)};
        motion = tni_six_add_scaled(motion, v[k], S[k]);
    }
    return motion;
}

static void move_any(const tni_hybrid* hybrid, tni_cluster* cluster, tni_mover* m, const double* q,
                     const double* v)
{
    const struct tni_hybrid_work* work = hybrid->work;
    tni_six                       bent[TNI_TREE_LINK_FREEDOMS], own = tni_six_zero();
    if (!cluster->held) {
        const tni_tree_link* limb = &hybrid->limbs->limbs[cluster->limb];
        tni_shift            X;
        tni_tree_link_place(limb, q + m->q, &X, limb->steady ? NULL : bent);
        cluster->X = cluster->parent < 0 ? X : tni_shift_then(&cluster->way, &X);
        place_world(hybrid->clusters, cluster, m);
        own = turn_freedoms(&cluster->world.E, m->freedoms,
                            limb->steady ? work->steady + m->column : bent, v + m->v,
                            work->S + m->column);
    } else {
        place_world(hybrid->clusters, cluster, m);
    }
    m->motion = own;
    if (m->up < 0) return;
    const tni_six carried = tni_offset_motion(m->offset, work->movers[m->up].motion);
    m->motion             = tni_six_add(carried, own);
}

static void move_hinge(const tni_hybrid* hybrid, tni_cluster* cluster, tni_mover* m,
                       const double* q, const double* v)
{
    place_hinge(m, q + m->q, &cluster->X);
    place_world(hybrid->clusters, cluster, m);
    const tn_vec3 axis           = tni_scale(m->sign, tni_read3(cluster->world.E.m + 6));
    hybrid->work->S[m->column].w = axis; // v stays zero
    const tn_vec3 own            = tni_scale(v[m->v], axis);
    m->motion                    = (tni_six){own, {0, 0, 0}};
    if (m->up < 0) return;
    const tni_six carried = tni_offset_motion(m->offset, hybrid->work->movers[m->up].motion);
    m->motion             = (tni_six){tni_add(carried.w, own), carried.v};
}

static void move_ball(const tni_hybrid* hybrid, tni_cluster* cluster, tni_mover* m, const double* q,
                      const double* v)
{
    tni_shift X;
    tni_tree_link_place(&hybrid->limbs->limbs[cluster->limb], q + m->q, &X, NULL);
    cluster->X = cluster->parent < 0 ? X : tni_shift_then(&cluster->way, &X);
    place_world(hybrid->clusters, cluster, m);
    m->motion = (tni_six){tni_mul_t(&cluster->world.E, tni_read3(v + m->v)), {0, 0, 0}};
    if (m->up < 0) return;
    const tni_six carried = tni_offset_motion(m->offset, hybrid->work->movers[m->up].motion);
    m->motion             = (tni_six){tni_add(carried.w, m->motion.w), carried.v};
}

static void move_free(const tni_hybrid* hybrid, tni_cluster* cluster, tni_mover* m, const double* q,
                      const double* v)
{
    tni_tree_link_place(&hybrid->limbs->limbs[cluster->limb], q + m->q, &cluster->X, NULL);
    place_world(hybrid->clusters, cluster, m);
    const tni_mat3* E = &cluster->world.E;
    m->motion = (tni_six){tni_mul_t(E, tni_read3(v + m->v)), tni_mul_t(E, tni_read3(v + m->v + 3))};
}

void tni_hybrid_move(tni_hybrid* hybrid, const double* q, const double* v)
{
    hybrid->resistance_count = 0;
    for (int i = 0; i < hybrid->count; ++i) {
        tni_cluster* cluster = &hybrid->clusters[i];
        tni_mover*   m       = &hybrid->work->movers[i];
        switch (m->path) {
        case TNI_PATH_HINGE: move_hinge(hybrid, cluster, m, q, v); break;
        case TNI_PATH_BALL: move_ball(hybrid, cluster, m, q, v); break;
        case TNI_PATH_FREE: move_free(hybrid, cluster, m, q, v); break;
        default: move_any(hybrid, cluster, m, q, v);
        }
        const tni_mat3* E = &cluster->world.E;
        cluster->v        = (tni_six){tni_mul(E, m->motion.w), tni_mul(E, m->motion.v)};
        cluster->force    = tni_six_zero();
    }
}

void tni_hybrid_push(tni_hybrid* hybrid, const tni_seat* seat, tni_six force)
{
    tni_six* sum = &hybrid->clusters[seat->cluster].force;
    *sum         = tni_six_add(*sum, tni_shift_force(&seat->way, force));
}

double tni_hybrid_kinetic(const tni_hybrid* hybrid)
{
    double sum = 0;
    for (int i = 0; i < hybrid->count; ++i) {
        const tni_cluster* c = &hybrid->clusters[i];
        sum += 0.5 * tni_six_dot(c->v, tni_rigid_times(&c->inertia, c->v));
    }
    return sum;
}
