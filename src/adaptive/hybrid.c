// hybrid: clusters of an articulated body some of whose joints are held; their poses and motions.
//
// Building descends through touched nodes only [1, section 4.2]. With Xc the transform from cluster
// k to a node's base link:
//
//     visit(node, k, Xc):
//         rigid:   I_k += Xc^T I_node Xc;   its handles are in k, at their transforms after Xc
//         touched: visit(a, k, Xc);   its joint leads out of a link in cluster l, at Xl there
//                  active: a new cluster n of parent l;  visit(b, n, identity)
//                  held:   visit(b, l, join after Xl)
//
// b comes last, so a stack of the nodes whose b is pending is enough; its height is that of the
// assembly tree. Clusters come in the order of the joints in that tree from a to b, so the clusters
// of a smaller set of active joints are some of those of a larger one, in the same order
// (rigidify.c).
//
// Motion, outwards, in world axes about each cluster's own origin, d the offset from the parent's:
//     w = w_p + S_w v,   v = v_p + w_p x d + S_v v
// [1] S. Redon, N. Galoppo, M. C. Lin, Adaptive Dynamics of Articulated Bodies, SIGGRAPH 2005.
#include "adaptive/hybrid_parts.h"

static void find_steady(const tni_tree_link* link, tni_spatial* S)
{
    const double q[] = {1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}; // any q: S is constant
    if (link->steady) tni_tree_link_place(link, q, NULL, S);
}

tn_result tni_hybrid_create(tni_arena* arena, const tni_joint_trees* trees,
                            const tni_assembly* assembly, int tree, tni_hybrid* hybrid)
{
    const int first = trees->first[tree], end = trees->first[tree + 1], count = end - first;
    const tni_tree_link *head = &trees->links[first], *tail = &trees->links[end - 1];
    const int            freedoms = tail->v + tail->freedoms - head->v;
    const int            squares  = tail->k + tail->freedoms * tail->freedoms - head->k;

    struct tni_hybrid_work* work = TNI_TAKE(arena, struct tni_hybrid_work, 1);
    *hybrid                      = (tni_hybrid){.trees    = trees,
                                                .assembly = assembly,
                                                .tree     = tree,
                                                .clusters = TNI_TAKE(arena, tni_cluster, count),
                                                .work     = work};
    if (work == NULL) return TN_ERR_MEMORY;
    *work = (struct tni_hybrid_work){.cluster_work = TNI_TAKE(arena, tni_cluster_work, count),
                                     .steady       = TNI_TAKE(arena, tni_spatial, freedoms),
                                     .S            = TNI_TAKE(arena, tni_spatial, freedoms),
                                     .U            = TNI_TAKE(arena, tni_spatial, freedoms),
                                     .D            = TNI_TAKE(arena, double, squares),
                                     .u            = TNI_TAKE(arena, double, freedoms),
                                     .places       = TNI_TAKE(arena, tni_link_place, count),
                                     .identity     = TNI_TAKE(arena, bool, count),
                                     .stack        = TNI_TAKE(arena, int, assembly->depth + 1),
                                     .merged       = TNI_TAKE(arena, tni_merged_cluster, count),
                                     .first        = first,
                                     .first_v      = head->v,
                                     .first_k      = head->k};
    if (arena->failed) return TN_ERR_MEMORY;
    for (const tni_tree_link* link = head; link <= tail; ++link)
        find_steady(link, work->steady + link->v - head->v);
    return TN_OK;
}

// ---- building

static bool turns_about_z(const tni_tree_link* link, const tni_spatial* S)
{
    return link->kind == TNI_TREE_LINK_HINGE && S->w.x == 0 && S->w.y == 0 && fabs(S->w.z) == 1 &&
           S->v.x == 0 && S->v.y == 0 && S->v.z == 0;
}

static tni_path path_of(const tni_tree_link* link, const tni_spatial* S)
{
    if (link->kind == TNI_TREE_LINK_BALL) return TNI_PATH_BALL;
    if (link->kind == TNI_TREE_LINK_FREE) return TNI_PATH_FREE;
    return turns_about_z(link, S) ? TNI_PATH_HINGE : TNI_PATH_ANY;
}

// Adds the cluster moved by the joint of `link`; its inertia is set by the first node added to it.
// identity: to_predecessor is the identity.
static int add_cluster(tni_hybrid* hybrid, int link, int parent, const tni_transform* way,
                       bool identity, bool held)
{
    const struct tni_hybrid_work* work    = hybrid->work;
    const tni_tree_link*          l       = &hybrid->trees->links[link];
    const int                     n       = hybrid->count++;
    tni_cluster*                  cluster = &hybrid->clusters[n];
    tni_cluster_work*             m       = &work->cluster_work[n];
    cluster->link                         = link;
    cluster->parent                       = parent;
    cluster->held                         = held;
    cluster->to_predecessor               = *way;
    m->up       = parent >= 0 && !hybrid->clusters[parent].held ? parent : -1;
    m->freedoms = held ? 0 : l->freedoms;
    m->q = l->q, m->v = l->v, m->k = l->k;
    m->column            = l->v - work->first_v;
    m->square            = l->k - work->first_k;
    const tni_spatial* S = work->steady + m->column;
    m->path              = held ? TNI_PATH_ANY : path_of(l, S);
    if (m->path == TNI_PATH_HINGE) {
        m->sign   = S->w.z;
        m->before = identity ? l->before : tni_transform_then(way, &l->before);
    }
    return n;
}

// Adds a rigid node to cluster k, its base link at Xc there. identity: Xc is the identity.
static void add_rigid_node(tni_hybrid* hybrid, const tni_node* node, const tni_frames* frames,
                           int k, const tni_transform* Xc, bool identity)
{
    const struct tni_hybrid_work* work    = hybrid->work;
    tni_cluster*                  cluster = &hybrid->clusters[k];
    if (identity) cluster->inertia = frames->inertia; // the first of the cluster
    else {
        const tni_rigid_inertia seen = tni_rigid_inertia_transform(Xc, &frames->inertia);
        cluster->inertia             = tni_rigid_inertia_add(&cluster->inertia, &seen);
    }
    for (int h = 0; h < node->handle_count; ++h) {
        const int       slot  = node->handles[h] - work->first;
        tni_link_place* place = &work->places[slot];
        place->cluster        = k;
        work->identity[slot]  = identity && h == 0;
        if (h == 0) place->to_link = *Xc;
        else if (identity) place->to_link = frames->handle[h];
        else place->to_link = tni_transform_then(Xc, &frames->handle[h]);
    }
}

void tni_hybrid_build(tni_hybrid* hybrid, const uint8_t* active, const uint8_t* touched,
                      const tni_frames* frames)
{
    struct tni_hybrid_work* work  = hybrid->work;
    const tni_node*         nodes = hybrid->assembly->nodes;
    const tni_transform     none  = tni_transform_identity();
    const int               root  = hybrid->assembly->root[hybrid->tree];
    const bool              held  = !active[nodes[root].link];
    hybrid->count                 = 0;
    int           k               = add_cluster(hybrid, nodes[root].link, -1, &none, true, held);
    int           node = nodes[root].b, waiting = 0;
    tni_transform Xc       = none;
    bool          identity = true;
    if (held) hybrid->clusters[0].X = frames[root].join;
    ++hybrid->visits;
    for (;;) {
        for (; touched[node]; node = nodes[node].a) {
            work->stack[waiting++] = node;
            ++hybrid->visits;
        }
        ++hybrid->visits;
        add_rigid_node(hybrid, &nodes[node], &frames[node], k, &Xc, identity);
        if (waiting == 0) return;
        const tni_node*       above = &nodes[work->stack[--waiting]];
        const int             slot  = nodes[above->a].handles[above->at] - work->first;
        const tni_link_place* out   = &work->places[slot];
        identity                    = active[above->link] != 0;
        if (identity) {
            k  = add_cluster(hybrid, above->link, out->cluster, &out->to_link, work->identity[slot],
                             false);
            Xc = none;
        } else {
            k  = out->cluster;
            Xc = tni_transform_then(&out->to_link, &frames[above - nodes].join);
        }
        node = above->b;
    }
}

tni_link_place tni_hybrid_locate(const tni_hybrid* hybrid, int link, const uint8_t* touched,
                                 const tni_frames* frames)
{
    const struct tni_hybrid_work* work  = hybrid->work;
    const tni_node*               nodes = hybrid->assembly->nodes;
    tni_transform                 way   = tni_transform_identity();
    int                           node  = hybrid->assembly->leaf[link];
    for (int up = nodes[node].up; !touched[up]; node = up, up = nodes[node].up)
        if (nodes[up].b == node) way = tni_transform_then(&frames[up].to_b, &way);
    const tni_link_place* base = &work->places[nodes[node].base - work->first];
    return (tni_link_place){base->cluster, tni_transform_then(&base->to_link, &way)};
}

// ---- moving

// X of a hinge: its quaternion (c, 0, 0, s) is a rotation about z.
static void place_hinge(const tni_cluster_work* m, const double* q, tni_transform* X)
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

static void place_world(const tni_cluster* clusters, tni_cluster* cluster, tni_cluster_work* m)
{
    if (cluster->parent < 0) {
        cluster->world = cluster->X;
        m->offset      = cluster->X.r;
        return;
    }
    const tni_transform* parent = &clusters[cluster->parent].world;
    cluster->world.E            = tni_mat_mul(&cluster->X.E, &parent->E);
    m->offset                   = tni_mul_t(&parent->E, cluster->X.r);
    cluster->world.r            = tni_add(parent->r, m->offset);
}

// S in world axes; returns S v.
static tni_spatial turn_freedoms(const tni_mat3* E, int count, const tni_spatial* local,
                                 const double* v, tni_spatial* S)
{
    tni_spatial motion = tni_spatial_zero();
    for (int k = 0; k < count; ++k) {
        S[k]   = (tni_spatial){tni_mul_t(E, local[k].w), tni_mul_t(E, local[k].v)};
        motion = tni_spatial_add_scaled(motion, v[k], S[k]);
    }
    return motion;
}

static void move_any(const tni_hybrid* hybrid, tni_cluster* cluster, tni_cluster_work* m,
                     const double* q, const double* v)
{
    const struct tni_hybrid_work* work = hybrid->work;
    tni_spatial                   S_now[TNI_TREE_LINK_FREEDOMS], own = tni_spatial_zero();
    if (!cluster->held) {
        const tni_tree_link* link = &hybrid->trees->links[cluster->link];
        tni_transform        X;
        tni_tree_link_place(link, q + m->q, &X, link->steady ? NULL : S_now);
        cluster->X = cluster->parent < 0 ? X : tni_transform_then(&cluster->to_predecessor, &X);
        place_world(hybrid->clusters, cluster, m);
        own = turn_freedoms(&cluster->world.E, m->freedoms,
                            link->steady ? work->steady + m->column : S_now, v + m->v,
                            work->S + m->column);
    } else {
        place_world(hybrid->clusters, cluster, m);
    }
    m->motion = own;
    if (m->up < 0) return;
    const tni_spatial from_parent = tni_offset_motion(m->offset, work->cluster_work[m->up].motion);
    m->motion                     = tni_spatial_add(from_parent, own);
}

static void move_hinge(const tni_hybrid* hybrid, tni_cluster* cluster, tni_cluster_work* m,
                       const double* q, const double* v)
{
    place_hinge(m, q + m->q, &cluster->X);
    place_world(hybrid->clusters, cluster, m);
    const tn_vec3 axis           = tni_scale(m->sign, tni_read3(cluster->world.E.m + 6));
    hybrid->work->S[m->column].w = axis; // S.v stays zero
    const tn_vec3 own            = tni_scale(v[m->v], axis);
    m->motion                    = (tni_spatial){own, {0, 0, 0}};
    if (m->up < 0) return;
    const tni_spatial from_parent =
        tni_offset_motion(m->offset, hybrid->work->cluster_work[m->up].motion);
    m->motion = (tni_spatial){tni_add(from_parent.w, own), from_parent.v};
}

static void move_ball(const tni_hybrid* hybrid, tni_cluster* cluster, tni_cluster_work* m,
                      const double* q, const double* v)
{
    tni_transform X;
    tni_tree_link_place(&hybrid->trees->links[cluster->link], q + m->q, &X, NULL);
    cluster->X = cluster->parent < 0 ? X : tni_transform_then(&cluster->to_predecessor, &X);
    place_world(hybrid->clusters, cluster, m);
    m->motion = (tni_spatial){tni_mul_t(&cluster->world.E, tni_read3(v + m->v)), {0, 0, 0}};
    if (m->up < 0) return;
    const tni_spatial from_parent =
        tni_offset_motion(m->offset, hybrid->work->cluster_work[m->up].motion);
    m->motion = (tni_spatial){tni_add(from_parent.w, m->motion.w), from_parent.v};
}

static void move_free(const tni_hybrid* hybrid, tni_cluster* cluster, tni_cluster_work* m,
                      const double* q, const double* v)
{
    tni_tree_link_place(&hybrid->trees->links[cluster->link], q + m->q, &cluster->X, NULL);
    place_world(hybrid->clusters, cluster, m);
    const tni_mat3* E = &cluster->world.E;
    m->motion =
        (tni_spatial){tni_mul_t(E, tni_read3(v + m->v)), tni_mul_t(E, tni_read3(v + m->v + 3))};
}

void tni_hybrid_move(tni_hybrid* hybrid, const double* q, const double* v)
{
    hybrid->resistance_count = 0;
    for (int i = 0; i < hybrid->count; ++i) {
        tni_cluster*      cluster = &hybrid->clusters[i];
        tni_cluster_work* m       = &hybrid->work->cluster_work[i];
        switch (m->path) {
        case TNI_PATH_HINGE: move_hinge(hybrid, cluster, m, q, v); break;
        case TNI_PATH_BALL: move_ball(hybrid, cluster, m, q, v); break;
        case TNI_PATH_FREE: move_free(hybrid, cluster, m, q, v); break;
        default: move_any(hybrid, cluster, m, q, v);
        }
        const tni_mat3* E = &cluster->world.E;
        cluster->v        = (tni_spatial){tni_mul(E, m->motion.w), tni_mul(E, m->motion.v)};
        cluster->force    = tni_spatial_zero();
    }
}

void tni_hybrid_add_force(tni_hybrid* hybrid, const tni_link_place* place, tni_spatial force)
{
    tni_spatial* sum = &hybrid->clusters[place->cluster].force;
    *sum             = tni_spatial_add(*sum, tni_transform_force(&place->to_link, force));
}

double tni_hybrid_kinetic(const tni_hybrid* hybrid)
{
    double sum = 0;
    for (int i = 0; i < hybrid->count; ++i) {
        const tni_cluster* c = &hybrid->clusters[i];
        sum += 0.5 * tni_spatial_dot(c->v, tni_rigid_inertia_times(&c->inertia, c->v));
    }
    return sum;
}
