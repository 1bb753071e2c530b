// Rigidification: joints lose their velocity by impulses at those joints alone. Momenta of the
// joints that stay active do not change, so kinetic energy never grows; against dense projections
// and against Redon's formulation with K_R.
#include "support/hybrid_rig.h"

// A random tree at its velocities, and the smaller set of joints that stays active.
typedef struct rigid_case {
    hybrid_rig* r;
    tni_hybrid  to;
    uint8_t *   stay, *touched; ///< by link, by node
    uint8_t *   mask, *was;     ///< by velocity: stays active; was active
    double *    before, *after; ///< velocities
    double      lost;
} rigid_case;

static rigid_case case_make(uint64_t seed, int cap)
{
    rigid_case  c = {.r = hybrid_rig_random(seed, cap)};
    hybrid_rig* r = c.r;
    memset(r->K, 0, (size_t)r->trees.k_count * sizeof *r->K); // no rotors
    c.stay             = TNI_TAKE(&r->arena, uint8_t, r->trees.count);
    c.touched          = TNI_TAKE(&r->arena, uint8_t, r->assembly->count);
    c.mask             = TNI_TAKE(&r->arena, uint8_t, r->n);
    c.was              = TNI_TAKE(&r->arena, uint8_t, r->n);
    c.before           = TNI_TAKE(&r->arena, double, r->n);
    c.after            = TNI_TAKE(&r->arena, double, r->n);
    const double share = test_random_unit(&r->random);
    for (int i = 0; i < r->trees.count; ++i)
        c.stay[i] = r->active[i] && (r->trees.links[i].kind == TNI_TREE_LINK_FREE ||
                                     test_random_unit(&r->random) < share);
    hybrid_rig_touch(r->assembly, c.stay, c.touched);
    hybrid_rig_mask(r, c.stay, c.mask);
    hybrid_rig_mask(r, r->active, c.was);
    CHECK_OK(tni_hybrid_create(&r->arena, &r->trees, r->assembly, r->hybrid.tree, &c.to));
    tni_hybrid_build(&c.to, c.stay, c.touched, r->frames);
    memcpy(c.before, r->v, (size_t)r->n * sizeof(double));
    memcpy(c.after, r->v, (size_t)r->n * sizeof(double));
    tni_hybrid_move(&r->hybrid, r->q, r->v);
    c.lost = tni_hybrid_rigidify(&r->hybrid, &c.to, r->q, c.after);
    return c;
}

static double norm_M(const hybrid_rig* r, const double* x, const double* y)
{
    double sum = 0;
    for (int i = 0; i < r->n; ++i)
        for (int j = 0; j < r->n; ++j) sum += x[i] * r->M[r->n * i + j] * y[j];
    return sum;
}

TEST(rigidified_velocities_are_the_dense_projection)
{
    double worst = 0;
    for (uint64_t seed = 1; seed <= 300; ++seed) {
        rigid_case  c     = case_make(seed, 14);
        hybrid_rig* r     = c.r;
        const int   n     = r->n;
        double *    right = TNI_TAKE(&r->arena, double, n), *want = TNI_TAKE(&r->arena, double, n);
        double      size = 1;
        hybrid_rig_dense(r);
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) right[i] += r->M[n * i + j] * c.before[j];
        hybrid_dense_solve(n, r->M, c.mask, right, want); // M_oo v2 = (M v1)_o
        for (int i = 0; i < n; ++i) size = fmax(size, fabs(want[i]));
        for (int i = 0; i < n; ++i) {
            worst = fmax(worst, fabs(c.after[i] - want[i]) / size);
            if (!c.mask[i]) CHECK(c.after[i] == 0);
        }
        hybrid_rig_free(r);
    }
    CHECK_LESS(worst, 1e-11);
}

// Redon: unit impulses on the joints to be held, at rest and without gravity, give K_R, the R block
// of M_T^-1; impulses with K_R Q_R = -v1_R stop them.
TEST(impulses_by_the_matrix_of_held_joints_do_the_same)
{
    double worst = 0, energy_error = 0;
    for (uint64_t seed = 1; seed <= 150; ++seed) {
        rigid_case  c   = case_make(seed, 12);
        hybrid_rig* r   = c.r;
        const int   n   = r->n;
        double * answer = TNI_TAKE(&r->arena, double, n* n), *unit = TNI_TAKE(&r->arena, double, n);
        double * K = TNI_TAKE(&r->arena, double, n* n), *push = TNI_TAKE(&r->arena, double, n);
        double * right = TNI_TAKE(&r->arena, double, n), *rest = TNI_TAKE(&r->arena, double, n);
        uint8_t* held = TNI_TAKE(&r->arena, uint8_t, n);
        double   size = 1, loss = 0;
        hybrid_rig_dense(r);
        tni_hybrid_move(&r->hybrid, r->q, rest);
        for (int i = 0; i < n; ++i) {
            held[i]  = c.was[i] && !c.mask[i];
            right[i] = -c.before[i];
            if (!held[i]) continue;
            unit[i] = 1;
            CHECK(tni_hybrid_accelerate(&r->hybrid, (tn_vec3){0, 0, 0}, r->q, rest, unit, NULL,
                                        answer + n * i));
            unit[i] = 0;
            for (int j = 0; j < n; ++j) K[n * j + i] = answer[n * i + j];
        }
        hybrid_dense_solve(n, K, held, right, push);
        for (int j = 0; j < n; ++j) {
            double v = c.before[j];
            for (int i = 0; i < n; ++i) v += answer[n * i + j] * push[i];
            size  = fmax(size, fabs(c.after[j]));
            worst = fmax(worst, fabs(v - c.after[j]) / size);
            loss -= 0.5 * c.before[j] * push[j]; // 1/2 v1_R^T K_R^-1 v1_R
        }
        energy_error = fmax(energy_error, fabs(loss - c.lost) / (1 + loss));
        hybrid_rig_free(r);
    }
    CHECK_LESS(worst, 1e-11);
    CHECK_LESS(energy_error, 1e-12);
}

TEST(kinetic_energy_never_grows_in_ten_thousand_cases)
{
    double worst = -1, apart = 0;
    for (uint64_t seed = 1; seed <= 10000; ++seed) {
        rigid_case   c      = case_make(seed, 9);
        const double before = tni_hybrid_kinetic(&c.r->hybrid);
        tni_hybrid_move(&c.to, c.r->q, c.after);
        const double after = tni_hybrid_kinetic(&c.to);
        CHECK(c.lost >= 0);
        worst = fmax(worst, (after - before) / (before + 1e-30));
        apart = fmax(apart, fabs(before - after - c.lost) / (before + 1e-30));
        hybrid_rig_free(c.r);
    }
    CHECK_LESS(worst, 1e-13); // rounding of the two sums
    CHECK_LESS(apart, 1e-12); // energy lost is energy missing
}

// Joints with velocities of 1e-9 among others of 1: they lose 1e-18 of the energy, and the loss is
// still accurate.
TEST(small_losses_are_exact)
{
    double worst = 0;
    for (uint64_t seed = 1; seed <= 100; ++seed) {
        rigid_case  c     = case_make(seed, 12);
        hybrid_rig* r     = c.r;
        const int   n     = r->n;
        double*     apart = TNI_TAKE(&r->arena, double, n);
        for (int i = 0; i < n; ++i) r->v[i] = c.before[i] * (c.mask[i] ? 1 : 1e-9);
        tni_hybrid_move(&r->hybrid, r->q, r->v);
        memcpy(c.after, r->v, (size_t)n * sizeof(double));
        const double lost = tni_hybrid_rigidify(&r->hybrid, &c.to, r->q, c.after);
        hybrid_rig_dense(r);
        for (int i = 0; i < n; ++i) apart[i] = r->v[i] - c.after[i];
        const double want = 0.5 * norm_M(r, apart, apart);
        if (want > 0) worst = fmax(worst, fabs(lost - want) / (want + 1e-24));
        hybrid_rig_free(r);
    }
    CHECK_LESS(worst, 1e-3); // the velocity difference 1e-9 is known to 1e-16
}

// Total momentum: world axes, about the world's origin.
static tni_spatial whole_momentum(const tni_hybrid* hybrid)
{
    tni_spatial sum = tni_spatial_zero();
    for (int i = 0; i < hybrid->count; ++i) {
        const tni_cluster* c = &hybrid->clusters[i];
        sum                  = tni_spatial_add(
            sum, tni_transform_force(&c->world, tni_rigid_inertia_times(&c->inertia, c->v)));
    }
    return sum;
}

TEST(momentum_of_floating_bodies_stays)
{
    double worst = 0;
    for (uint64_t seed = 1; seed <= 400; ++seed) {
        rigid_case c = case_make(seed, 16);
        if (c.r->trees.links[c.r->first].kind == TNI_TREE_LINK_FREE) {
            const tni_spatial before = whole_momentum(&c.r->hybrid);
            tni_hybrid_move(&c.to, c.r->q, c.after);
            const tni_spatial after = whole_momentum(&c.to);
            double            size  = 1;
            for (int i = 0; i < c.r->hybrid.count;
                 ++i) { // rounding, relative to the terms of the sum
                const tni_cluster* k = &c.r->hybrid.clusters[i];
                const tni_spatial  P =
                    tni_transform_force(&k->world, tni_rigid_inertia_times(&k->inertia, k->v));
                size += tni_norm(P.w) + tni_norm(P.v);
            }
            const tni_spatial apart = tni_spatial_sub(after, before);
            worst = fmax(worst, fmax(tni_max_abs(apart.w), tni_max_abs(apart.v)) / size);
        }
        hybrid_rig_free(c.r);
    }
    CHECK_LESS(worst, 1e-13);
}

TEST(rigidification_without_held_joints_changes_no_bit)
{
    for (uint64_t seed = 1; seed <= 30; ++seed) {
        hybrid_rig* r = hybrid_rig_random(seed, 12);
        tni_hybrid  same;
        double*     v = TNI_TAKE(&r->arena, double, r->n);
        CHECK_OK(tni_hybrid_create(&r->arena, &r->trees, r->assembly, r->hybrid.tree, &same));
        tni_hybrid_build(&same, r->active, r->touched, r->frames);
        tni_hybrid_move(&r->hybrid, r->q, r->v);
        memcpy(v, r->v, (size_t)r->n * sizeof *v);
        CHECK(tni_hybrid_rigidify(&r->hybrid, &same, r->q, v) == 0);
        CHECK(memcmp(v, r->v, (size_t)r->n * sizeof *v) == 0);
        hybrid_rig_free(r);
    }
}

// Figure 4 of the paper: five equal masses on sliders in a row along x, a force f on the second.
// All joints active: joint 1 accelerates with f/m, joint 2 with -f/m, the others not at all. Only
// joint 1 active: all but the first mass move together, with f/(4 m).
TEST(figure_4_of_the_paper)
{
    enum { COUNT = 5 };
    const double       m = 2, f = 3;
    tni_tree_link_kind kinds[COUNT];
    int                parents[COUNT];
    for (int i = 0; i < COUNT; ++i) kinds[i] = TNI_TREE_LINK_SLIDER, parents[i] = i - 1;
    hybrid_rig* r = hybrid_rig_make(1, COUNT, kinds, parents);
    for (int i = 0; i < COUNT; ++i) {
        tni_tree_link* link = &r->trees.links[i];
        link->reversed      = false;
        link->before        = (tni_transform){tni_identity3(), {0, 0, 1}}; // along z
        link->inertia       = (tni_rigid_inertia){.mass = m, .xx = 0.1, .yy = 0.1, .zz = 0.1};
        r->active[i]        = i > 0; // the first is held
    }
    double all[COUNT] = {0}, one[COUNT] = {0};
    CHECK_OK(tni_hybrid_create(&r->arena, &r->trees, r->assembly, 0, &r->hybrid));
    for (int only = 0; only < 2; ++only) {
        if (only) memset(r->active + 2, 0, COUNT - 2);
        hybrid_rig_hold(r);
        tni_hybrid_move(&r->hybrid, r->q, r->v);
        const tni_link_place place = tni_hybrid_locate(&r->hybrid, 1, r->touched, r->frames);
        tni_hybrid_add_force(&r->hybrid, &place, (tni_spatial){{0, 0, 0}, {0, 0, f}});
        CHECK(tni_hybrid_accelerate(&r->hybrid, (tn_vec3){0, 0, 0}, r->q, r->v, NULL, NULL,
                                    only ? one : all));
    }
    CHECK_NEAR(all[1], f / m, 1e-15);
    CHECK_NEAR(all[2], -f / m, 1e-15);
    CHECK_NEAR(all[3], 0, 1e-15);
    CHECK_NEAR(all[4], 0, 1e-15);
    CHECK_NEAR(one[1], f / (4 * m), 1e-15);

    // The impulse that holds joints 2 to 5 shares the momentum of l2 among l2 .. l5: v/4.
    tni_hybrid one_joint;
    uint8_t    touched[2 * COUNT], stay[COUNT] = {0, 1, 0, 0, 0};
    hybrid_rig_touch(r->assembly, stay, touched);
    CHECK_OK(tni_hybrid_create(&r->arena, &r->trees, r->assembly, 0, &one_joint));
    memset(r->active + 1, 1, COUNT - 1);
    r->v[1] = 1, r->v[2] = -1;
    hybrid_rig_hold(r);
    tni_hybrid_build(&one_joint, stay, touched, r->frames);
    tni_hybrid_move(&r->hybrid, r->q, r->v);
    const double lost = tni_hybrid_rigidify(&r->hybrid, &one_joint, r->q, r->v);
    CHECK_NEAR(r->v[1], 0.25, 1e-15);
    CHECK(r->v[2] == 0);
    CHECK_NEAR(lost, 0.5 * m * (1 - 0.25), 1e-15);
    hybrid_rig_free(r);
}
