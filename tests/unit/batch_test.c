// The public functions of a batch: states in and out, flat arrays, reports, refusals; memory.
#include "support/batch_rig.h"
#include "support/failing_host.h"

static bool equal3(const double* a, tn_vec3 b)
{
    return a[0] == b.x && a[1] == b.y && a[2] == b.z;
}

TEST(flat_arrays_match_the_states)
{
    batch_rig r      = batch_rig_make("humanoid", "method=implicit", 6, NULL);
    const int bodies = tn_model_counts(r.model).bodies, n = tn_model_coordinate_count(r.model);
    double*   poses      = calloc((size_t)(6 * bodies * TN_BATCH_POSE), sizeof *poses);
    double*   velocities = calloc((size_t)(6 * bodies * TN_BATCH_VELOCITY), sizeof *velocities);
    double*   z          = calloc((size_t)(12 * n), sizeof *z);
    double    own[6];
    batch_rig_scatter(&r, 1, 0.3, 1);
    for (int i = 0; i < 3; ++i) batch_rig_step(&r, 1 / 60.0, "humanoid");
    tn_batch_poses(r.batch, poses);
    tn_batch_velocities(r.batch, velocities);
    tn_batch_joints(r.batch, z, z + 6 * n);
    for (int i = 0; i < 6; ++i) {
        for (int b = 0; b < bodies; ++b) {
            const tn_body_id body = {(uint32_t)b + 1};
            const tn_frame   pose = tn_state_pose(r.singles[i], body);
            const tn_twist   v    = tn_state_velocity(r.singles[i], body);
            const double *p = poses + (i * bodies + b) * 7, *u = velocities + (i * bodies + b) * 6;
            CHECK(equal3(p, pose.position) && p[3] == pose.orientation.w);
            CHECK(p[4] == pose.orientation.x && p[6] == pose.orientation.z);
            CHECK(equal3(u, v.linear) && equal3(u + 3, v.angular));
        }
        for (int j = 0; j < tn_model_counts(r.model).joints; ++j) {
            const tn_joint_id joint = {(uint32_t)j + 1};
            const int         at    = tn_model_joint_coordinate_start(r.model, joint),
                      count         = tn_model_joint_coordinates(r.model, joint);
            tn_state_joint_position(r.singles[i], joint, own);
            CHECK(batch_same(z + i * n + at, own, count));
            tn_state_joint_velocity(r.singles[i], joint, own);
            CHECK(batch_same(z + (6 + i) * n + at, own, count));
        }
    }
    free(poses), free(velocities), free(z);
    batch_rig_free(&r);
}

TEST(joints_and_targets_are_set_for_all)
{
    batch_rig r = batch_rig_make("humanoid", "method=implicit", 5, NULL);
    const int n = tn_model_coordinate_count(r.model);
    double*   z = calloc((size_t)(10 * n), sizeof *z);
    double    poses[5 * TN_BATCH_POSE], velocities[5 * TN_BATCH_VELOCITY] = {0};
    tn_why    why;
    for (int i = 0; i < 10 * n; ++i) z[i] = 0.01 * (i % 31) - 0.1;
    CHECK_OK(tn_batch_set_joints(r.batch, z, z + 5 * n, &why));
    for (int i = 0; i < 5; ++i) {
        const double   pose[7] = {0.1 * i, 0.2, 1.3, 1, 0.1 * i, 0, 0};
        const tn_frame frame   = {{pose[0], pose[1], pose[2]}, {pose[3], pose[4], 0, 0}};
        memcpy(poses + 7 * i, pose, sizeof pose);
        velocities[6 * i + 1] = i;
        const tn_twist go     = {{0, i, 0}, {0, 0, 0}};
        CHECK_OK(tn_state_set_joints(r.singles[i], z + i * n, z + (5 + i) * n, &why));
        CHECK_OK(tn_state_set_target(r.singles[i], (tn_target_id){1}, &frame, &go));
    }
    CHECK_OK(tn_batch_set_targets(r.batch, poses, velocities, &why));
    for (int i = 0; i < 4; ++i) batch_rig_step(&r, 1 / 60.0, "set");
    // A failed copy is unchanged; the others are set.
    const uint64_t before = tn_state_hash(tn_batch_view(r.batch, 2));
    z[2 * n]              = (double)NAN;
    CHECK(tn_batch_set_joints(r.batch, z, NULL, &why) != TN_OK);
    CHECK(strncmp(why.text, "copy 2: ", 8) == 0);
    CHECK(tn_state_hash(tn_batch_view(r.batch, 2)) == before);
    CHECK(tn_state_hash(tn_batch_view(r.batch, 3)) != tn_state_hash(r.singles[3]));
    poses[7 * 4] = (double)NAN;
    CHECK(tn_batch_set_targets(r.batch, poses, NULL, &why) == TN_ERR_MODEL);
    CHECK(strncmp(why.text, "copy 4: target 0", 16) == 0);
    free(z);
    batch_rig_free(&r);
}

TEST(reports_name_the_worst_copy)
{
    batch_rig       r = batch_rig_make("humanoid", "method=implicit", 9, NULL);
    tn_batch_report report;
    tn_step_report  own;
    double          most  = 0;
    int             worst = -1, rounds = 0;
    batch_rig_scatter(&r, 4, 0.3, 2);
    CHECK_OK(tn_batch_step(r.batch, 1 / 60.0, &report, NULL));
    for (int i = 0; i < 9; ++i) {
        CHECK_OK(tn_batch_outcome(r.batch, i, &own));
        if (own.joint_error > most) most = own.joint_error, worst = i;
        if (own.iteration_count > rounds) rounds = own.iteration_count;
    }
    CHECK(report.joint_error == most && most > 0 && most < 1e-8);
    CHECK_INT(report.worst_copy, worst);
    CHECK_INT(report.stepped_count, 9);
    CHECK_INT(report.failed_copy, -1);
    CHECK_INT(report.iteration_most, rounds);
    CHECK_INT(report.substep_most, 1);
    CHECK_INT(tn_batch_count(r.batch), 9);
    CHECK(tn_batch_method(r.batch) == TN_METHOD_IMPLICIT);
    CHECK(tn_batch_bytes(r.batch) > 9 * tn_state_coordinate_count(r.singles[0]) * sizeof(double));
    batch_rig_free(&r);
}

// ---- Memory ------------------------------------------------------------------------------------

static tn_result make(const tn_host* host, tn_scene** scene, tn_model** model, tn_batch** batch)
{
    tn_why    why;
    tn_result result = tns_build(host, "humanoid", scene, &why);
    if (result == TN_OK) result = tn_scene_compile(*scene, model, &why);
    if (result != TN_OK) return result;
    tn_settings settings = tn_scene_settings(*scene);
    settings.method      = TN_METHOD_IMPLICIT;
    return tn_batch_create(*model, &settings, 3, host, batch, &why);
}

TEST(every_allocation_may_fail)
{
    failing_host  f     = failing_host_make();
    const tn_host host  = failing_host_of(&f);
    tn_scene*     scene = NULL;
    tn_model*     model = NULL;
    tn_batch*     batch = NULL;
    CHECK_OK(make(&host, &scene, &model, &batch));
    tn_batch_free(batch);
    tn_settings of = tn_scene_settings(scene);
    of.method      = TN_METHOD_IMPLICIT;
    const int live = f.live_blocks;
    for (int n = 1;; ++n) {
        tn_why why;
        failing_host_rewind(&f, n);
        const tn_result result = tn_batch_create(model, &of, 3, &host, &batch, &why);
        if (f.refused == 0) {
            CHECK_OK(result);
            CHECK(n > 4);
            break;
        }
        CHECK(result == TN_ERR_MEMORY && batch == NULL);
        CHECK_INT(f.live_blocks, live);
    }
    tn_batch_free(batch);
    tn_model_free(model);
    tn_scene_free(scene);
    CHECK_INT(f.live_blocks, 0);
    CHECK_INT(f.size_errors, 0);
}

TEST(steps_do_not_allocate)
{
    failing_host  f     = failing_host_make();
    const tn_host host  = failing_host_of(&f);
    tn_scene*     scene = NULL;
    tn_model*     model = NULL;
    tn_batch*     batch = NULL;
    CHECK_OK(make(&host, &scene, &model, &batch));
    failing_host_rewind(&f, 0);
    for (int i = 0; i < 20; ++i) CHECK_OK(tn_batch_step(batch, 1 / 60.0, NULL, NULL));
    CHECK_INT(f.count, 0);
    tn_batch_free(batch);
    tn_model_free(model);
    tn_scene_free(scene);
    CHECK_INT(f.live_blocks, 0);
}

TEST(invalid_batches_are_refused)
{
    batch_rig   r = batch_rig_make("fourbar", "", 1, NULL);
    tn_settings s = tn_scene_settings(r.scene);
    tn_batch*   batch;
    tn_why      why;
    s.method        = TN_METHOD_IMPLICIT;
    s.implicit.form = TN_IMPLICIT_NULLSPACE; // which does not support loops
    CHECK(tn_batch_create(r.model, &s, 2, NULL, &batch, &why) == TN_ERR_UNSUPPORTED);
    CHECK(batch == NULL && strstr(why.text, "loops") != NULL);
    CHECK(tn_batch_create(r.model, NULL, -1, NULL, &batch, &why) == TN_ERR_MODEL);
    tn_batch_free(NULL);
    batch_rig_free(&r);
}
