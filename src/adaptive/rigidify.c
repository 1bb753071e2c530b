// rigidify: joints of a hybrid body lose their velocity, by impulses at those joints alone [1,
// section 5.4].
//
// Among all velocities of the smaller set of active joints it leaves those nearest to the old ones
// in the norm of the kinetic energy: momenta of joints that stay active are as they were,
//     M_oo v2_o = (M v1)_o,    energy lost = 1/2 |v1 - v2|_M^2
// This is the articulated-body algorithm on the new clusters (articulated_body.c), where p is minus the
// momentum of the old clusters, nothing drifts and nothing pushes: "accelerations" are the new
// velocities. O(old + new clusters), where [1] solves with a matrix of all joints that are to be
// held.
//
// New clusters are some of the old ones, in the same order (hybrid.c); an old one whose joint is
// held now lies in the new cluster of its parent, further out by its offset. What is lost is summed
// over old clusters, as the energy of the difference of motions: never negative but for rounding,
// and good to its leading digits however small.
// [1] S. Redon, N. Galoppo, M. C. Lin, Adaptive Dynamics of Articulated Bodies, SIGGRAPH 2005.
#include "adaptive/hybrid_parts.h"

static tni_six momentum(const tni_cluster* c)
{
    const tni_six P = tni_rigid_times(&c->inertia, c->v);
    return (tni_six){tni_mul_t(&c->world.E, P.w), tni_mul_t(&c->world.E, P.v)};
}

// Which new cluster each old one lies in, and how far out.
static void settle(const tni_hybrid* from, const tni_hybrid* to)
{
    const tni_mover* movers  = from->work->movers;
    tni_settled*     settled = to->work->settled;
    int              next    = 0;
    for (int i = 0; i < from->count; ++i) {
        if (next < to->count && to->clusters[next].limb == from->clusters[i].limb) {
            settled[i] = (tni_settled){next++, {0, 0, 0}};
            continue;
        }
        const tni_settled* parent = &settled[from->clusters[i].parent];
        settled[i].cluster        = parent->cluster;
        settled[i].offset         = tni_add(parent->offset, movers[i].offset);
    }
    TN_ASSERT(next == to->count); // else it has active joints that `from` has not
}

static double lost(const tni_hybrid* from, const tni_hybrid* to)
{
    double sum = 0;
    for (int i = 0; i < from->count; ++i) {
        const tni_settled* s     = &to->work->settled[i];
        const tni_cluster* c     = &from->clusters[i];
        const tni_six      now   = tni_offset_motion(s->offset, to->work->movers[s->cluster].a);
        const tni_six      apart = tni_six_sub(from->work->movers[i].motion, now);
        const tni_six      own   = {tni_mul(&c->world.E, apart.w), tni_mul(&c->world.E, apart.v)};
        sum += 0.5 * tni_six_dot(own, tni_rigid_times(&c->inertia, own));
    }
    return sum;
}

double tni_hybrid_rigidify(const tni_hybrid* from, tni_hybrid* to, const double* q, double* v)
{
    const tni_mover* old    = from->work->movers;
    tni_mover*       movers = to->work->movers;
    tni_hybrid_move(to, q, v);
    if (from->count == to->count && from->clusters[0].held == to->clusters[0].held) return 0;
    settle(from, to);
    for (int k = 0; k < to->count; ++k) {
        tni_mover_rest(&to->clusters[k], &movers[k]);
        movers[k].p = tni_six_zero();
    }
    for (int i = 0; i < from->count; ++i) {
        const tni_settled* s = &to->work->settled[i];
        const tni_six      P = tni_offset_force(s->offset, momentum(&from->clusters[i]));
        movers[s->cluster].p = tni_six_sub(movers[s->cluster].p, P);
    }
    if (!tni_movers_reduce(to, NULL, NULL)) return HUGE_VAL;
    for (int i = 0; i < from->count; ++i)
        for (int k = 0; k < old[i].freedoms; ++k) v[old[i].v + k] = 0;
    tni_movers_spread(to, v);
    return lost(from, to);
}
