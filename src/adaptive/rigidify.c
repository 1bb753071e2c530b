// rigidify: joints of a hybrid body lose their velocity, by impulses at those joints alone [1,
// section 5.4].
//
// Among all velocities of the smaller set of active joints, the result is the one nearest to the
// old velocities in the norm of the kinetic energy: momenta of joints that stay active are
// unchanged,
//     M_oo v2_o = (M v1)_o,    energy lost = 1/2 |v1 - v2|_M^2
// This is the articulated-body algorithm on the new clusters (articulated_body.c) with p minus the
// momentum of the old clusters, no bias accelerations and no forces: its "accelerations" are the
// new velocities. O(old + new clusters), where [1] solves with a matrix of all joints that become
// held.
//
// The new clusters are some of the old ones, in the same order (hybrid.c). An old cluster whose
// joint becomes held is merged into the new cluster of its parent, at an additional offset. The
// energy loss is summed over old clusters, as the energy of the difference of motions: never
// negative but for rounding, and accurate to its leading digits however small.
// [1] S. Redon, N. Galoppo, M. C. Lin, Adaptive Dynamics of Articulated Bodies, SIGGRAPH 2005.
#include "adaptive/hybrid_parts.h"

static tni_spatial momentum(const tni_cluster* c)
{
    const tni_spatial P = tni_rigid_inertia_times(&c->inertia, c->v);
    return (tni_spatial){tni_mul_t(&c->world.E, P.w), tni_mul_t(&c->world.E, P.v)};
}

// The new cluster of each old one, and the offset in it.
static void merge(const tni_hybrid* from, const tni_hybrid* to)
{
    const tni_cluster_work* cluster_work = from->work->cluster_work;
    tni_merged_cluster*     merged       = to->work->merged;
    int                     next         = 0;
    for (int i = 0; i < from->count; ++i) {
        if (next < to->count && to->clusters[next].link == from->clusters[i].link) {
            merged[i] = (tni_merged_cluster){next++, {0, 0, 0}};
            continue;
        }
        const tni_merged_cluster* parent = &merged[from->clusters[i].parent];
        merged[i].cluster                = parent->cluster;
        merged[i].offset                 = tni_add(parent->offset, cluster_work[i].offset);
    }
    TN_ASSERT(next == to->count); // else an active joint of `to` is not active in `from`
}

static double energy_lost(const tni_hybrid* from, const tni_hybrid* to)
{
    double sum = 0;
    for (int i = 0; i < from->count; ++i) {
        const tni_merged_cluster* s = &to->work->merged[i];
        const tni_cluster*        c = &from->clusters[i];
        const tni_spatial now = tni_offset_motion(s->offset, to->work->cluster_work[s->cluster].a);
        const tni_spatial difference = tni_spatial_sub(from->work->cluster_work[i].motion, now);
        const tni_spatial own        = {tni_mul(&c->world.E, difference.w),
                                        tni_mul(&c->world.E, difference.v)};
        sum += 0.5 * tni_spatial_dot(own, tni_rigid_inertia_times(&c->inertia, own));
    }
    return sum;
}

double tni_hybrid_rigidify(const tni_hybrid* from, tni_hybrid* to, const double* q, double* v)
{
    const tni_cluster_work* old          = from->work->cluster_work;
    tni_cluster_work*       cluster_work = to->work->cluster_work;
    tni_hybrid_move(to, q, v);
    if (from->count == to->count && from->clusters[0].held == to->clusters[0].held) return 0;
    merge(from, to);
    for (int k = 0; k < to->count; ++k) {
        tni_cluster_rest(&to->clusters[k], &cluster_work[k]);
        cluster_work[k].p = tni_spatial_zero();
    }
    for (int i = 0; i < from->count; ++i) {
        const tni_merged_cluster* s = &to->work->merged[i];
        const tni_spatial         P = tni_offset_force(s->offset, momentum(&from->clusters[i]));
        cluster_work[s->cluster].p  = tni_spatial_sub(cluster_work[s->cluster].p, P);
    }
    if (!tni_hybrid_inward_pass(to, NULL, NULL)) return HUGE_VAL;
    for (int i = 0; i < from->count; ++i)
        for (int k = 0; k < old[i].freedoms; ++k) v[old[i].v + k] = 0;
    tni_hybrid_outward_pass(to, v);
    return energy_lost(from, to);
}
