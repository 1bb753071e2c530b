// Geometric stiffness: the closed form of its positive part against the eigenvalues of the derivative of
// a torque, for forces and arms in any directions; where it stands in targets and handles.
#include "force/soft.h"
#include "support/force_rig.h"
#include "support/random_scene.h"
#include "system/geometric_stiffness.h"

// -d(r x f)/dtheta, the arm turning: its symmetric part, by differences of the torque itself.
static tni_mat3 derivative(tn_vec3 f, tn_vec3 r)
{
    tni_mat3 K;
    for (int k = 0; k < 3; ++k) {
        const double  h    = 1e-4;
        const tn_vec3 axis = tni_vec3(k == 0, k == 1, k == 2);
        const tn_quat a = tni_quat_exp(tni_scale(h, axis)), b = tni_quat_exp(tni_scale(-h, axis));
        const tn_vec3 d = tni_scale(
            -0.5 / h, tni_sub(tni_cross(tni_rotate(a, r), f), tni_cross(tni_rotate(b, r), f)));
        K.m[k] = d.x, K.m[3 + k] = d.y, K.m[6 + k] = d.z;
    }
    tni_mat3 S;
    for (int i = 0; i < 9; ++i) S.m[i] = 0.5 * (K.m[i] + K.m[3 * (i % 3) + i / 3]);
    return S;
}

static tni_mat3 positive(const tni_mat3* S)
{
    tni_mat3      V, K = {{0}};
    const tn_vec3 k = tni_symmetric_eigen(S, &V);
    for (int n = 0; n < 3; ++n) {
        const tn_vec3 v    = tni_column(&V, n);
        const double  a[3] = {v.x, v.y, v.z};
        for (int i = 0; i < 9; ++i) K.m[i] += fmax(0, tni_at(k, n)) * a[i / 3] * a[i % 3];
    }
    return K;
}

static void check_arm(tn_vec3 f, tn_vec3 r)
{
    const tni_mat3 S = derivative(f, r), wanted = positive(&S);
    tni_mat3       K = {{0}};
    tni_soft_geometric(f, r, &K);
    // Differences of h^2 leave 1e-8 of the size.
    for (int i = 0; i < 9; ++i)
        CHECK_NEAR(K.m[i], wanted.m[i], 1e-7 * (1e-30 + tni_norm(f) * tni_norm(r)));
}

TEST(the_closed_form_is_the_positive_part)
{
    test_random r = {11};
    for (int i = 0; i < 300; ++i)
        check_arm(random_vec3(&r, random_log_uniform(&r, 1e-3, 1e6)), random_vec3(&r, 2));
    const tn_vec3 a = {0.3, -2, 1.1}, across = tni_cross(a, tni_vec3(0, 0, 1));
    check_arm(a, tni_scale(3, a));  // tension
    check_arm(a, tni_scale(-3, a)); // compression: nothing is left
    check_arm(a, across);           // neither
    check_arm(a, tni_add_scaled(a, 1e-9, across));
    check_arm(tni_vec3(0, 0, 0), a);
    check_arm(a, tni_vec3(0, 0, 0));
    tni_mat3 K = {{0}};
    tni_soft_geometric(tni_scale(1e-160, a), a, &K); // a force that vanishes
    for (int i = 0; i < 9; ++i) CHECK(K.m[i] == 0 || isfinite(K.m[i]));
}

// ---- Where it stands ------------------------------------------------------------------------------

typedef struct found {
    tni_mat3 K;
    int      count;
} found;

static void take(void* user, const tni_soft* soft)
{
    found* f = user;
    CHECK_INT(soft->row_count, 6);
    for (int i = 0; i < 9; ++i) f->K.m[i] = soft->K[6 * (3 + i / 3) + 3 + i % 3];
    ++f->count;
}

// A body pulled at a point by a target or a handle: rotation rows have the stiffness of the pull on
// its arm.
TEST(targets_and_handles_have_geometric_stiffness)
{
    for (int handle = 0; handle < 2; ++handle) {
        random_mechanism* m   = random_mechanism_make();
        tn_body_def       def = tn_default_body_def();
        def.mass              = 1;
        for (int k = 0; k < 6; ++k) def.inertia[k] = k < 3;
        const tn_body_id body   = tn_scene_add_body(m->scene, &def);
        const tn_key     key    = {0, {{5, 1, -2}, {1, 0, 0, 0}}};
        const tn_vec3    point  = {0.4, 0.1, 0.2};
        tn_target_def    target = tn_default_target_def();
        target.body = body, target.keys = &key, target.key_count = 1, target.point = point;
        target.stiffness = 30;
        if (!handle) CHECK_OK(tn_scene_add_target(m->scene, &target));
        random_mechanism_build(m);
        if (handle) {
            CHECK_OK(tn_state_grab(m->state, 0, body, point, 30, 0));
            CHECK_OK(tn_state_move(m->state, 0, key.pose.position, tni_vec3(0, 0, 0)));
        }
        tni_scene_view at = tni_state_scene(m->state);
        tni_view       views[2];
        tni_views(m->model, 0, m->state->q, m->state->u, views);
        at.views                   = views;
        const tni_prediction ahead = {0.01, 0.01, NULL};
        found                f     = {.count = 0};
        tni_soften(&at, &ahead, take, &f);
        const tn_vec3 pull = tni_scale(30, tni_sub(key.pose.position, point));
        tni_mat3      K    = {{0}};
        tni_soft_geometric(pull, point, &K);
        CHECK_INT(f.count, 1);
        CHECK(K.m[0] + K.m[4] + K.m[8] > 10); // it pulls outward
        for (int i = 0; i < 9; ++i) CHECK_NEAR(f.K.m[i], K.m[i], 1e-12 * 100);
        random_mechanism_free(m);
    }
}
