#include "support/tree_rig.h"
#include "tenon/step.h"

// ---- The same mechanism with held joints welded -------------------------------------------------

static tn_frame pose_in(const tn_state* state, tn_body_id body)
{
    return body.bits == 0 ? (tn_frame){{0, 0, 0}, {1, 0, 0, 0}} : tn_state_pose(state, body);
}

// Bodies are where the state has them; a weld takes body 2's frame relative to body 1.
static tn_joint_def weld_of(const tn_joint_def* joint, const tn_state* state)
{
    const tn_frame one = pose_in(state, joint->body1), two = pose_in(state, joint->body2);
    const tn_quat  back = tni_quat_conjugate(one.orientation);
    tn_joint_def   weld = tn_default_joint_def(TN_JOINT_WELD);
    weld.body1 = joint->body1, weld.body2 = joint->body2;
    weld.name = joint->name, weld.form = TN_JOINT_BY_FRAMES;
    weld.frame1 = (tn_frame){tni_rotate(back, tni_sub(two.position, one.position)),
                             tni_quat_mul(back, two.orientation)};
    weld.frame2 = (tn_frame){{0, 0, 0}, {1, 0, 0, 0}};
    return weld;
}

static random_mechanism* welded(const random_mechanism* m, const tree_rig* t)
{
    random_mechanism* w = random_mechanism_make();
    tn_scene_set_gravity(w->scene, tn_scene_gravity(m->scene));
    for (int i = 1; i < m->body_count; ++i)
        (void)tn_scene_add_body(w->scene, tn_scene_body(m->scene, i - 1));
    for (int i = 0; i < tn_scene_load_count(m->scene); ++i)
        (void)tn_scene_add_load(w->scene, tn_scene_load(m->scene, i));
    for (int i = 0; i < t->trees->count; ++i) {
        const tni_tree_link* link = &t->trees->links[i];
        if (link->joint < 0) continue;
        const tn_joint_def* def  = tn_scene_joint(m->scene, link->joint);
        const tn_joint_def  held = weld_of(def, m->state);
        (void)tn_scene_add_joint(w->scene, t->active[i] ? def : &held);
    }
    random_mechanism_build(w);
    memcpy(w->state->q, m->state->q, sizeof(double) * (size_t)m->model->q_count);
    memcpy(w->state->u, m->state->u, sizeof(double) * (size_t)m->model->u_count);
    tni_view* views = malloc(sizeof *views * (size_t)w->model->body_count);
    tni_views(w->model, 0, w->state->q, w->state->u, views);
    tni_follow_coordinates(w->model, views, w->state->z);
    free(views);
    return w;
}

// ---- Accelerations ------------------------------------------------------------------------------

// Accelerations at the rig's state; bodies of m are placed accordingly.
static bool accelerate(tree_rig* t, random_mechanism* m, const tn_host* host)
{
    int visits = 0;
    tni_joint_trees_write(t->trees, t->q, t->v, m->state->q, m->state->u);
    tni_view* views = malloc(sizeof *views * (size_t)m->model->body_count);
    tni_views(m->model, 0, m->state->q, m->state->u, views);
    tni_follow_coordinates(m->model, views, m->state->z);
    free(views);
    tree_rig_joint_forces(t, m->state->z);
    memset(t->qddot, 0, sizeof(double) * (size_t)t->trees->v_count);
    const bool good =
        tni_tree_accelerate(t->pass, host, 0, t->trees->tree_count, &t->at, t->qddot, &visits);
    tree_rig_follow(t);
    return good;
}

// Against the multiplier method; the largest error, relative to the largest acceleration.
static double compare(const tree_rig* t, const random_mechanism* m)
{
    random_mechanism* w        = welded(m, t);
    tn_settings       settings = tn_default_settings();
    tn_stepper*       stepper;
    double            error = 0, size = 1;
    settings.method               = TN_METHOD_MULTIPLIER;
    settings.multiplier.baumgarte = 0;
    CHECK_OK(tn_stepper_create(w->model, &settings, &stepper, NULL));
    CHECK_OK(tn_stepper_evaluate(stepper, w->state, NULL, NULL));
    for (int i = 0; i < t->trees->count; ++i) {
        const tn_body_id body = {(uint32_t)t->trees->links[i].body};
        const tn_twist a = tn_stepper_acceleration(stepper, body), b = tree_rig_acceleration(t, i);
        size  = fmax(size, fmax(tni_norm(a.linear), tni_norm(a.angular)));
        error = fmax(error, fmax(tni_norm(tni_sub(a.linear, b.linear)),
                                 tni_norm(tni_sub(a.angular, b.angular))));
        if (!(error < HUGE_VAL)) break;
    }
    tn_stepper_free(stepper);
    random_mechanism_free(w);
    return error / size;
}

static double random_error(uint64_t seed, double held, bool closed)
{
    test_random       r      = {seed};
    const int         count  = test_random_int(&r, 1, 40);
    const int         spread = test_random_int(&r, 1, 8);
    random_mechanism* m      = tree_random(&r, count, spread);
    tree_rig*         t      = tree_rig_make(m->model);
    tree_rig_disturb(t, m->state, &r, 0.7, 1);
    tree_rig_hold(t, m->scene, &r, held, closed);
    CHECK(accelerate(t, m, NULL));
    const double error = compare(t, m);
    tree_rig_free(t);
    random_mechanism_free(m);
    return error;
}

static void check_many(uint64_t first, int rounds, double held, bool closed, double tolerance)
{
    double worst = 0;
    for (uint64_t seed = first; seed < first + (uint64_t)rounds; ++seed) {
        const double error = random_error(seed, held, closed);
        test_check(error < tolerance, __FILE__, __LINE__, "seed %llu: %.3g",
                   (unsigned long long)seed, error);
        worst = fmax(worst, error);
    }
    printf("    %d trees, %.0f%% held: worst %.2g\n", rounds, 100 * held, worst);
}

// Relative to the largest acceleration; links of 1 m with 0.1 to 10 kg. 4000 trees: 5e-12.
TEST(trees_accelerate_as_by_multipliers)
{
    check_many(1, 500, 0, false, 1e-10);
}

TEST(held_joints_are_as_good_as_welds)
{
    check_many(1001, 200, 0.9, true, 1e-10);
    check_many(2001, 100, 0.97, true, 1e-10);
}

// A held joint with active ones below it in the assembly tree is solved like those: terms of a
// light link that it holds to heavy ones nearly cancel. 4000 trees: all but two below 1e-9, the
// worst 2e-9.
TEST(held_joints_above_active_ones_are_nearly_as_good)
{
    check_many(3001, 200, 0.5, false, 1e-8);
    check_many(4001, 100, 0.1, false, 1e-8);
}

// ---- Joint forces -------------------------------------------------------------------------------

// Newton and Euler, link by link: f_i - sum over children of X^T f_c + F = I (a + g) + v x* I v.
TEST(joint_forces_satisfy_newton_euler_for_every_link)
{
    for (uint64_t seed = 1; seed <= 50; ++seed) {
        test_random       r = {seed};
        random_mechanism* m = tree_random(&r, test_random_int(&r, 1, 20), 4);
        tree_rig*         t = tree_rig_make(m->model);
        tree_rig_disturb(t, m->state, &r, 0.7, 1);
        tree_rig_hold(t, m->scene, &r, 0, false);
        for (int i = 0; i < t->trees->count; i += 3) t->active[i] = t->trees->links[i].joint < 0;
        for (int i = 0; i < t->assembly->count; ++i) // all are touched, most are held
            t->touched[i] = t->assembly->nodes[i].b >= 0;
        tree_rig_frames(t);
        for (int i = 0; i < t->trees->count; ++i)
            for (int k = 0; k < t->trees->links[i].freedoms && !t->active[i]; ++k)
                t->v[t->trees->links[i].v + k] = 0;
        CHECK(accelerate(t, m, NULL));
        tni_spatial* rest = calloc((size_t)t->trees->count, sizeof *rest);
        double       size = 1;
        for (int i = 0; i < t->trees->count; ++i) {
            const tni_tree_link* link = &t->trees->links[i];
            const tni_spatial    v = t->motion[i], f = tni_tree_reaction(t->pass, i);
            tni_spatial          a = t->acceleration[i];
            a.v                    = tni_sub(a.v, tni_mul(&t->world[i].E, t->at.gravity));
            const tni_spatial inertial =
                tni_spatial_add(tni_rigid_inertia_times(&link->inertia, a),
                                tni_cross_force(v, tni_rigid_inertia_times(&link->inertia, v)));
            rest[i] = tni_spatial_add(rest[i],
                                      tni_spatial_sub(tni_spatial_add(f, t->force[i]), inertial));
            size    = fmax(size, tni_norm(f.w) + tni_norm(f.v));
            if (link->parent < 0) continue;
            tni_transform X;
            tni_spatial   S[TNI_TREE_LINK_FREEDOMS];
            tni_tree_link_place(link, t->q + link->q, &X, S);
            rest[link->parent] = tni_spatial_sub(rest[link->parent], tni_transform_force(&X, f));
        }
        for (int i = 0; i < t->trees->count; ++i)
            CHECK_LESS(tni_max_abs(rest[i].w) + tni_max_abs(rest[i].v), 1e-9 * size);
        free(rest);
        tree_rig_free(t);
        random_mechanism_free(m);
    }
}

// Added inertia K with Q gives what Q - K qddot gives without.
TEST(added_inertia_acts_as_a_force_against_acceleration)
{
    for (uint64_t seed = 1; seed <= 50; ++seed) {
        test_random            r = {seed};
        random_mechanism*      m = tree_random(&r, test_random_int(&r, 1, 20), 4);
        tree_rig*              t = tree_rig_make(m->model);
        const tni_joint_trees* l = t->trees;
        tree_rig_disturb(t, m->state, &r, 0.7, 1);
        tree_rig_hold(t, m->scene, &r, 0.3, false);
        double *plain = malloc(sizeof(double) * (size_t)(l->v_count + 1)), largest = 1;
        int     visits = 0;
        random_numbers(&r, t->Q, l->v_count, 3);
        for (int i = 0; i < l->count; ++i)
            for (int k = 0; k < l->links[i].freedoms && l->links[i].joint >= 0; ++k)
                t->K[l->links[i].k + k * (l->links[i].freedoms + 1)] =
                    test_random_between(&r, 0, 2);
        CHECK(tni_tree_accelerate(t->pass, NULL, 0, l->tree_count, &t->at, t->qddot, &visits));
        for (int i = 0; i < l->count; ++i)
            for (int k = 0; k < l->links[i].freedoms && l->links[i].joint >= 0; ++k)
                t->Q[l->links[i].v + k] -= t->K[l->links[i].k + k * (l->links[i].freedoms + 1)] *
                                           t->qddot[l->links[i].v + k];
        memcpy(plain, t->qddot, sizeof(double) * (size_t)l->v_count);
        t->at.K = NULL;
        CHECK(tni_tree_accelerate(t->pass, NULL, 0, l->tree_count, &t->at, t->qddot, &visits));
        double error = 0;
        for (int i = 0; i < l->v_count; ++i) {
            largest = fmax(largest, fabs(plain[i]));
            error   = fmax(error, fabs(plain[i] - t->qddot[i]));
        }
        CHECK_LESS(error, 1e-9 * largest);
        free(plain);
        tree_rig_free(t);
        random_mechanism_free(m);
    }
}

// ---- Visited nodes ------------------------------------------------------------------------------

// Touched nodes, the rigid front (as many), and rigid nodes below it on the way to a force.
TEST(only_touched_nodes_and_loaded_nodes_are_visited)
{
    for (uint64_t seed = 1; seed <= 50; ++seed) {
        test_random       r = {seed};
        random_mechanism* m = tree_random(&r, 30, 4);
        tree_rig*         t = tree_rig_make(m->model);
        tree_rig_disturb(t, m->state, &r, 0.7, 1);
        tree_rig_hold(t, m->scene, &r, 0.8, seed % 2 == 0);
        int wanted = 0, visits = 0;
        for (int i = 0; i < t->assembly->count; ++i) {
            const int up = t->assembly->nodes[i].up;
            wanted += t->touched[i] || t->touched[up] || t->loaded[i];
        }
        CHECK(
            tni_tree_accelerate(t->pass, NULL, 0, t->trees->tree_count, &t->at, t->qddot, &visits));
        CHECK_INT(visits, wanted);
        tree_rig_free(t);
        random_mechanism_free(m);
    }
}

// ---- Failures -----------------------------------------------------------------------------------

TEST(a_link_without_inertia_is_an_outcome)
{
    for (int i = 0; i < 24; ++i) {
        test_random       r      = {9};
        random_mechanism* m      = tree_random(&r, 12, 4);
        tree_rig*         t      = tree_rig_make(m->model);
        int               visits = 0;
        memset(&t->trees->links[i / 2].inertia, 0, sizeof(tni_rigid_inertia));
        CHECK_OK(tni_divide_and_conquer_create(&t->arena, t->trees, t->assembly, &t->pass));
        tree_rig_disturb(t, m->state, &r, 0.7, 1);
        tree_rig_hold(t, m->scene, &r, i % 2 ? 0.5 : 0, false);
        for (int k = 0; k < t->assembly->count && i % 2; ++k) // nor does any node have one
            memset(&t->frames[k].inertia, 0, sizeof(tni_rigid_inertia));
        CHECK(!tni_tree_accelerate(t->pass, NULL, 0, t->trees->tree_count, &t->at, t->qddot,
                                   &visits));
        tree_rig_free(t);
        random_mechanism_free(m);
    }
}

TEST(no_memory_is_an_outcome)
{
    test_random       r = {9};
    random_mechanism* m = tree_random(&r, 12, 4);
    tree_rig*         t = tree_rig_make(m->model);
    t->arena.failed     = true;
    CHECK_INT(tni_divide_and_conquer_create(&t->arena, t->trees, t->assembly, &t->pass),
              TN_ERR_MEMORY);
    CHECK(t->pass == NULL);
    tree_rig_free(t);
    random_mechanism_free(m);
}
