// Hybrid bodies against the same trees in dense algebra (hybrid_rig.h).
#include "support/hybrid_rig.h"

static double largest(int n, const double* x)
{
    double most = 0;
    for (int i = 0; i < n; ++i) most = fmax(most, fabs(x[i]));
    return most;
}

static void push_all(hybrid_rig* r)
{
    for (int i = r->first; i < r->trees.count; ++i) {
        const tni_link_place place = tni_hybrid_locate(&r->hybrid, i, r->touched, r->frames);
        tni_hybrid_add_force(&r->hybrid, &place, r->force[i]);
    }
}

// Largest difference of accelerations from the dense ones, relative to the largest of them.
static double acceleration_error(hybrid_rig* r)
{
    double * x = calloc((size_t)r->n * 3 + 1, sizeof *x), *right = x + r->n, *want = right + r->n;
    uint8_t* mask  = calloc((size_t)r->n + 1, 1);
    double   worst = 0;
    hybrid_rig_dense(r);
    hybrid_rig_mask(r, r->active, mask);
    for (int i = 0; i < r->n; ++i) right[i] = r->Q[i] - r->bias[i], x[i] = 1e30;
    hybrid_dense_solve(r->n, r->M, mask, right, want);
    tni_hybrid_move(&r->hybrid, r->q, r->v);
    push_all(r);
    CHECK(tni_hybrid_accelerate(&r->hybrid, r->gravity, r->q, r->v, r->Q, r->K, x));
    const double size = 1 + largest(r->n, want);
    for (int i = 0; i < r->n; ++i) {
        if (mask[i]) worst = fmax(worst, fabs(x[i] - want[i]) / size);
        else CHECK(x[i] == 1e30); // held joints are not written
    }
    free(x), free(mask);
    return worst;
}

TEST(accelerations_of_random_trees_with_held_joints_are_the_dense_ones)
{
    double worst = 0;
    for (uint64_t seed = 1; seed <= 400; ++seed) {
        hybrid_rig* r = hybrid_rig_random(seed, 14);
        worst         = fmax(worst, acceleration_error(r));
        hybrid_rig_free(r);
    }
    CHECK_LESS(worst, 1e-11);
}

// Long chains and combs, all joints active.
TEST(accelerations_of_long_chains_are_the_dense_ones)
{
    for (uint64_t seed = 1; seed <= 3; ++seed) {
        enum { COUNT = 40 };
        tni_tree_link_kind kinds[COUNT];
        int                parents[COUNT];
        for (int i = 0; i < COUNT; ++i) {
            kinds[i]   = seed == 1 || i % 3 != 0 ? TNI_TREE_LINK_HINGE : TNI_TREE_LINK_BALL;
            parents[i] = seed == 3 && i > 2 && i % 2 == 0 ? i - 2 : i - 1;
        }
        hybrid_rig* r = hybrid_rig_make(seed, COUNT, kinds, parents);
        memset(r->active, 1, COUNT);
        r->gravity = (tn_vec3){1, -2, -9};
        for (int i = 0; i < r->n; ++i) r->v[i] = hybrid_any(r), r->Q[i] = hybrid_any(r);
        hybrid_rig_bend(r);
        hybrid_rig_hold(r);
        CHECK_INT(r->hybrid.count, COUNT);
        CHECK_LESS(acceleration_error(r), 1e-11);
        hybrid_rig_free(r);
    }
}

// Pose and motion of every link in the world, link by link.
TEST(link_places_have_the_pose_and_motion_of_the_links)
{
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        hybrid_rig*   r = hybrid_rig_random(seed, 20);
        tni_transform at[HYBRID_LIMBS_MAX + 2];
        double        error = 0, energy = 0;
        hybrid_rig_dense(r);
        tni_hybrid_move(&r->hybrid, r->q, r->v);
        for (int i = r->first; i < r->trees.count; ++i) {
            const tni_tree_link* link = &r->trees.links[i];
            tni_transform        X;
            tni_tree_link_place(link, r->q + link->q, &X, NULL);
            at[i] = link->parent < 0 ? X : tni_transform_then(&at[link->parent], &X);
            const tni_link_place place = tni_hybrid_locate(&r->hybrid, i, r->touched, r->frames);
            const tni_cluster*   c     = &r->hybrid.clusters[place.cluster];
            const tni_transform  is    = tni_transform_then(&c->world, &place.to_link);
            const tni_spatial    v     = tni_transform_motion(&place.to_link, c->v);
            double               moves[6], motion[6], I[36], Iv[6];
            tni_spatial_write(moves, v);
            for (int k = 0; k < 9; ++k) error = fmax(error, fabs(is.E.m[k] - at[i].E.m[k]));
            error = fmax(error, tni_max_abs(tni_sub(is.r, at[i].r)));
            for (int row = 0; row < 6; ++row) {
                motion[row] = 0;
                for (int k = 0; k < r->n; ++k)
                    motion[row] += r->J[6 * r->n * i + r->n * row + k] * r->v[k];
                error = fmax(error, fabs(motion[row] - moves[row]) / 40);
            }
            tni_rigid_inertia_matrix(&link->inertia, I);
            hybrid_apply(I, motion, Iv);
            for (int row = 0; row < 6; ++row) energy += 0.5 * motion[row] * Iv[row];
        }
        CHECK_LESS(error, 1e-13); // forty products of numbers up to ten
        CHECK_NEAR(tni_hybrid_kinetic(&r->hybrid), energy, 1e-13 * energy);
        hybrid_rig_free(r);
    }
}

// A cluster's parent comes before it, every link is in one cluster, and only touched nodes and the
// rigid front were visited: the root has one child, every other touched node two, so the front has
// as many nodes as there are touched ones.
TEST(building_visits_touched_nodes_and_the_rigid_front_only)
{
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        hybrid_rig* r       = hybrid_rig_random(seed, HYBRID_LIMBS_MAX);
        const bool  held    = !r->active[r->first];
        int         touched = 0, active = 0;
        double      mass = 0, sum = 0;
        for (int i = r->assembly->nodes[r->assembly->root[r->hybrid.tree]].first;
             i < r->assembly->count; ++i)
            touched += r->touched[i];
        for (int i = r->first; i < r->trees.count; ++i) {
            active += r->active[i];
            mass += r->trees.links[i].inertia.mass;
        }
        CHECK_INT(r->hybrid.visits, 2 * touched);
        CHECK_INT(r->hybrid.count, active + held);
        for (int i = 0; i < r->hybrid.count; ++i) {
            const tni_cluster* c = &r->hybrid.clusters[i];
            CHECK(c->parent < i);
            CHECK(c->held == (i == 0 && held));
            sum += c->inertia.mass;
        }
        CHECK_NEAR(sum, mass, 1e-13 * mass);
        hybrid_rig_free(r);
    }
}

// A hybrid body built for another set, moved and accelerated, then built again, gives the bits of a
// new one.
TEST(a_reused_hybrid_body_gives_the_same_bits)
{
    for (uint64_t seed = 1; seed <= 50; ++seed) {
        hybrid_rig *r = hybrid_rig_random(seed, 20), *used = hybrid_rig_random(seed, 20);
        const int   count = r->trees.count;
        double*     x     = calloc((size_t)r->n * 2 + 1, sizeof *x);
        uint8_t     active[HYBRID_LIMBS_MAX + 2];
        memcpy(active, used->active, (size_t)count);
        for (int i = r->first + 1; i < count; ++i) used->active[i] = !used->active[i];
        hybrid_rig_hold(used);
        acceleration_error(used);
        memcpy(used->active, active, (size_t)count);
        memcpy(used->v, r->v, (size_t)r->n * sizeof *x);
        hybrid_rig_hold(used);
        hybrid_rig* both[] = {r, used};
        for (int k = 0; k < 2; ++k) {
            tni_hybrid_move(&both[k]->hybrid, r->q, r->v);
            push_all(both[k]);
            CHECK(tni_hybrid_accelerate(&both[k]->hybrid, r->gravity, r->q, r->v, r->Q, NULL,
                                        x + k * r->n));
        }
        CHECK(memcmp(x, x + r->n, (size_t)r->n * sizeof *x) == 0);
        free(x);
        hybrid_rig_free(r), hybrid_rig_free(used);
    }
}

// A rod on a hinge: I theta'' = -m g l cos(theta).
TEST(a_pendulum_has_the_textbook_acceleration)
{
    const tni_tree_link_kind kind   = TNI_TREE_LINK_HINGE;
    const int                parent = -1;
    hybrid_rig*              r      = hybrid_rig_make(1, 1, &kind, &parent);
    tni_tree_link*           link   = &r->trees.links[0];
    link->reversed                  = false;
    link->inertia =
        (tni_rigid_inertia){.mass = 2, .moment = {1, 0, 0}, .xx = 0.01, .yy = 0.7, .zz = 0.7};
    link->before = tni_transform_identity(); // rotates about world z
    r->gravity   = (tn_vec3){0, -9.81, 0};
    r->active[0] = 1;
    r->v[0]      = 3;
    CHECK_OK(tni_hybrid_create(&r->arena, &r->trees, r->assembly, 0, &r->hybrid));
    const double by = 0.3;
    double       x  = 0;
    tni_tree_link_advance(link, 1, &by, r->q);
    hybrid_rig_hold(r);
    tni_hybrid_move(&r->hybrid, r->q, r->v);
    CHECK(tni_hybrid_accelerate(&r->hybrid, r->gravity, r->q, r->v, NULL, NULL, &x));
    CHECK_NEAR(x, -1 * 9.81 * cos(by) / 0.7, 1e-14 * 20);
    link->inertia = (tni_rigid_inertia){.mass = 2}; // a point on the axis has no moment about it
    hybrid_rig_hold(r);
    tni_hybrid_move(&r->hybrid, r->q, r->v);
    CHECK(!tni_hybrid_accelerate(&r->hybrid, r->gravity, r->q, r->v, NULL, NULL, &x));
    hybrid_rig_free(r);
}

// A massless link in any joint: accelerations and rigidification fail.
TEST(massless_links_are_refused)
{
    const tni_tree_link_kind kinds[] = {TNI_TREE_LINK_HINGE, TNI_TREE_LINK_BALL, TNI_TREE_LINK_FREE,
                                        TNI_TREE_LINK_SLIDER, TNI_TREE_LINK_UNIVERSAL};
    for (int n = 0; n < 5; ++n) {
        const tni_tree_link_kind pair[]    = {kinds[n], TNI_TREE_LINK_HINGE};
        const int                parents[] = {-1, 0};
        hybrid_rig*              r         = hybrid_rig_make(3, 2, pair, parents);
        uint8_t                  stay[]    = {1, 0}, touched[4];
        tni_hybrid               to;
        double                   x[7], v[7];
        for (int i = 0; i < 2; ++i)
            r->trees.links[i].inertia = (tni_rigid_inertia){0}, r->active[i] = 1;
        for (int i = 0; i < r->n; ++i) v[i] = r->v[i] = hybrid_any(r);
        hybrid_rig_bend(r);
        hybrid_rig_hold(r);
        tni_hybrid_move(&r->hybrid, r->q, r->v);
        CHECK(!tni_hybrid_accelerate(&r->hybrid, r->gravity, r->q, r->v, r->Q, r->K, x));
        CHECK_OK(tni_hybrid_create(&r->arena, &r->trees, r->assembly, 0, &to));
        hybrid_rig_touch(r->assembly, stay, touched);
        tni_hybrid_build(&to, stay, touched, r->frames);
        CHECK(tni_hybrid_rigidify(&r->hybrid, &to, r->q, r->v) == HUGE_VAL);
        for (int i = 0; i < r->n; ++i) CHECK(v[i] == r->v[i]);
        r->active[1] = 0;
        hybrid_rig_hold(r); // its own joint only
        tni_hybrid_move(&r->hybrid, r->q, r->v);
        CHECK(!tni_hybrid_accelerate(&r->hybrid, r->gravity, r->q, r->v, r->Q, r->K, x));
        hybrid_rig_free(r);
    }
}
