// batch: many states of one model, and what steps them.
//
// A copy is a whole tn_state, so that everything that works on a state works on a copy. A step
// splits the copies into tasks of TASK copies, by their number alone; the host's threads take the
// tasks. A task takes one of the workspaces: a stepper and, where the method allows it, lanes
// (batch_lanes.h), which step several copies at once in the lanes of vectors; copies that the lanes
// reject are stepped by the stepper. A step depends on the state alone, so it does not matter who
// does it.
//
// There are as many workspaces as threads of a tn_pool, or as processors for any other host: if
// that has more threads, a thread waits for a workspace, briefly, since its owner is working.
#include "tenon/batch.h"
#include "base/hands.h"
#include "batch/batch_lanes.h"
#include "step/stepper.h"

enum { TASK = 16, WORKSPACES_MAX = 256, ROUNDS_MAX = 64 };
_Static_assert(TASK % TNI_BATCH_LANES_MAX == 0, "a task fills whole vectors");

/// What a task works with; taken by one thread at a time.
typedef struct workspace {
    atomic_int       taken;
    tn_stepper*      stepper;
    tni_batch_lanes* lanes; ///< NULL: there is no plan
    int              alone; ///< copies rejected by the lanes in this step
    int              failed_copy;
    tn_why           why; ///< of failed_copy
} workspace;

typedef struct outcome {
    tn_result      result;
    tn_step_report report;
} outcome;

struct tn_batch {
    tni_arena       arena;
    const tn_model* model;
    int             count;
    tn_state**      states;
    outcome*        outcomes;
    int*            order; ///< copies in the order in which lanes take them
    tni_batch_plan* plan;  ///< NULL: method or model is not supported in lanes
    int             workspace_count;
    workspace*      workspaces;
    double          h; ///< of the present step
};

// ---- Creation ----------------------------------------------------------------------------------

static int task_count(const tn_batch* b)
{
    return (b->count + TASK - 1) / TASK;
}

static int count_workspaces(const tn_batch* b)
{
    const int hands = tni_hands_of(&b->arena.host);
    const int count = hands < WORKSPACES_MAX ? hands : WORKSPACES_MAX;
    return count < task_count(b) ? count : task_count(b) > 0 ? task_count(b) : 1;
}

static tn_result fill_workspace(tn_batch* b, workspace* s, const tn_settings* settings, tn_why* why)
{
    const tn_result result = tn_stepper_create(b->model, settings, &s->stepper, why);
    return result == TN_OK && b->plan != NULL ? tni_batch_create(&b->arena, b->plan, &s->lanes)
                                              : result;
}

static tn_result fill(tn_batch* b, const tn_settings* settings, tn_why* why)
{
    tn_result result = TN_OK;
    b->states        = TNI_TAKE(&b->arena, tn_state*, b->count);
    b->outcomes      = TNI_TAKE(&b->arena, outcome, b->count);
    b->order         = TNI_TAKE(&b->arena, int, b->count);
    b->workspaces    = TNI_TAKE(&b->arena, workspace, count_workspaces(b));
    if (b->arena.failed) return TN_ERR_MEMORY;
    b->workspace_count = count_workspaces(b);
    tn_settings of     = settings != NULL ? *settings : b->model->settings;
    result             = tni_batch_plan_create(&b->arena, b->model, &of, &b->plan);
    for (int i = 0; i < b->workspace_count && result == TN_OK; ++i)
        result = fill_workspace(b, &b->workspaces[i], settings, why);
    for (int i = 0; i < b->count && result == TN_OK; ++i)
        result = tn_state_create(b->model, &b->states[i]);
    return result;
}

tn_result tn_batch_create(const tn_model* model, const tn_settings* settings, int count,
                          const tn_host* host, tn_batch** out, tn_why* why)
{
    *out = NULL;
    if (count < 0) return tni_fail(why, TN_ERR_MODEL, "a batch of %d copies", count);
    tn_result result = TN_ERR_MEMORY;
    tni_arena arena  = tni_arena_make(host != NULL ? host : &model->arena.host);
    tn_batch* b      = TNI_TAKE(&arena, tn_batch, 1);
    if (b != NULL) {
        *b     = (tn_batch){.arena = arena, .model = model, .count = count};
        result = fill(b, settings, why);
        if (result == TN_OK) {
            *out = b;
            return TN_OK;
        }
        tn_batch_free(b);
    } else {
        tni_arena_free(&arena);
    }
    if (result != TN_ERR_MEMORY) return result; // *why is already set
    return tni_fail(why, result, "out of memory for %d copies of '%s'", count, model->name);
}

void tn_batch_free(tn_batch* b)
{
    if (b == NULL) return;
    for (int i = 0; b->states != NULL && i < b->count; ++i) tn_state_free(b->states[i]);
    for (int i = 0; i < b->workspace_count; ++i) tn_stepper_free(b->workspaces[i].stepper);
    tni_arena arena = b->arena; // the batch is in its own arena
    tni_arena_free(&arena);
}

int tn_batch_count(const tn_batch* batch)
{
    return batch->count;
}

tn_method tn_batch_method(const tn_batch* batch)
{
    return tn_stepper_method(batch->workspaces[0].stepper);
}

size_t tn_batch_bytes(const tn_batch* batch)
{
    size_t bytes = batch->arena.bytes;
    for (int i = 0; i < batch->workspace_count; ++i)
        bytes += tn_stepper_bytes(batch->workspaces[i].stepper);
    for (int i = 0; i < batch->count; ++i) bytes += batch->states[i]->bytes;
    return bytes;
}

int tn_batch_lanes(const tn_batch* batch)
{
    return batch->plan != NULL ? tni_batch_lane_count(batch->plan) : 1;
}

tn_state* tn_batch_state(tn_batch* batch, int copy)
{
    TN_ASSERT(copy >= 0 && copy < batch->count);
    return batch->states[copy];
}

const tn_state* tn_batch_view(const tn_batch* batch, int copy)
{
    TN_ASSERT(copy >= 0 && copy < batch->count);
    return batch->states[copy];
}

// ---- A step ------------------------------------------------------------------------------------

static workspace* take_workspace(tn_batch* b)
{
    for (int i = 0;; i = i + 1 < b->workspace_count ? i + 1 : 0)
        if (atomic_exchange(&b->workspaces[i].taken, 1) == 0) return &b->workspaces[i];
}

static void step_alone(tn_batch* b, workspace* s, int copy)
{
    outcome* to = &b->outcomes[copy];
    tn_why   why;
    to->result = tn_stepper_step(s->stepper, b->states[copy], b->h, &to->report, &why);
    if (to->result == TN_OK || (s->failed_copy >= 0 && s->failed_copy < copy)) return;
    s->failed_copy = copy;
    s->why         = why;
}

// Expected number of rounds of a copy's step: that of the step before. Copies without one, or
// changed from outside, come last.
static int rounds_of(const tn_batch* b, int copy)
{
    const int rounds = b->outcomes[copy].report.iteration_count;
    if (!(b->states[copy]->history.h > 0)) return ROUNDS_MAX - 1;
    return rounds < ROUNDS_MAX - 2 ? rounds : ROUNDS_MAX - 2;
}

// The lanes of a vector do as many rounds as the slowest, so copies with equal numbers of rounds go
// together.
static void order_copies(tn_batch* b)
{
    int start[ROUNDS_MAX + 1] = {0};
    for (int i = 0; i < b->count; ++i) ++start[rounds_of(b, i) + 1];
    for (int i = 0; i < ROUNDS_MAX; ++i) start[i + 1] += start[i];
    for (int i = 0; i < b->count; ++i) b->order[start[rounds_of(b, i)]++] = i;
}

// Steps copies order[first] .. order[end - 1] in lanes. The result of a copy does not depend on its
// neighbours.
static void step_together(tn_batch* b, workspace* s, int first, int end)
{
    const int       lane_count = tni_batch_lane_count(b->plan);
    tn_state*       states[TNI_BATCH_LANES_MAX];
    tn_step_report* reports[TNI_BATCH_LANES_MAX];
    for (int i = first; i < end; i += lane_count) {
        const int count = end - i < lane_count ? end - i : lane_count;
        for (int k = 0; k < count; ++k) {
            outcome* to = &b->outcomes[b->order[i + k]];
            to->result  = TN_OK;
            states[k]   = b->states[b->order[i + k]];
            reports[k]  = &to->report;
        }
        const unsigned left = tni_batch_step(s->lanes, states, count, b->h, reports);
        for (int k = 0; k < count; ++k) {
            if ((left >> k & 1) == 0) continue;
            ++s->alone;
            step_alone(b, s, b->order[i + k]);
        }
    }
}

static void step_task(void* data, int index)
{
    tn_batch*  b     = data;
    workspace* s     = take_workspace(b);
    const int  first = index * TASK, end = first + TASK < b->count ? first + TASK : b->count;
    if (s->lanes != NULL) step_together(b, s, first, end);
    else
        for (int i = first; i < end; ++i) step_alone(b, s, i);
    atomic_store(&s->taken, 0);
}

static void add_outcome(tn_batch_report* sum, int copy, const outcome* o)
{
    const tn_step_report* r = &o->report;
    if (o->result != TN_OK) {
        if (sum->failed_count++ == 0) sum->failed_copy = copy;
        return;
    }
    if (sum->stepped_count++ == 0 || r->joint_error > sum->joint_error) {
        sum->joint_error = r->joint_error;
        sum->worst_joint = r->worst_joint;
        sum->worst_copy  = copy;
    }
    if (r->velocity_error > sum->velocity_error) sum->velocity_error = r->velocity_error;
    if (r->iteration_count > sum->iteration_most) sum->iteration_most = r->iteration_count;
    if (r->substep_count > sum->substep_most) sum->substep_most = r->substep_count;
    sum->unclosed_count += r->unclosed_count;
}

static void sum_up(const tn_batch* b, tn_batch_report* report)
{
    *report = (tn_batch_report){.failed_copy = -1, .worst_copy = -1};
    for (int i = 0; i < b->workspace_count; ++i) report->alone_count += b->workspaces[i].alone;
    for (int i = 0; i < b->count; ++i) add_outcome(report, i, &b->outcomes[i]);
}

tn_result tn_batch_step(tn_batch* b, double h, tn_batch_report* report, tn_why* why)
{
    const tn_host*  host = &b->arena.host;
    tn_batch_report own;
    if (report == NULL) report = &own;
    *report = (tn_batch_report){.failed_copy = -1, .worst_copy = -1};
    if (!(h > 0 && isfinite(h))) return tni_fail(why, TN_ERR_MODEL, "step %g: must be positive", h);
    b->h = h;
    for (int i = 0; i < b->workspace_count; ++i) {
        b->workspaces[i].alone       = 0;
        b->workspaces[i].failed_copy = -1;
    }
    if (b->plan != NULL) order_copies(b);
    if (host->each != NULL && b->workspace_count > 1)
        host->each(host->workers, task_count(b), step_task, b);
    else
        for (int i = 0; i < task_count(b); ++i) step_task(b, i);
    sum_up(b, report);
    for (int i = 0; i < b->workspace_count && report->failed_count > 0; ++i) {
        if (b->workspaces[i].failed_copy != report->failed_copy) continue;
        return tni_fail(why, b->outcomes[report->failed_copy].result, "copy %d: %s",
                        report->failed_copy, b->workspaces[i].why.text);
    }
    return TN_OK;
}

tn_result tn_batch_outcome(const tn_batch* batch, int copy, tn_step_report* report)
{
    TN_ASSERT(copy >= 0 && copy < batch->count);
    if (report != NULL) *report = batch->outcomes[copy].report;
    return batch->outcomes[copy].result;
}

// ---- In flat arrays ----------------------------------------------------------------------------

void tn_batch_poses(const tn_batch* b, double* poses)
{
    for (int i = 0; i < b->count; ++i)
        for (int k = 1; k < b->model->body_count; ++k, poses += TN_BATCH_POSE) {
            const tn_frame pose = tn_state_pose(b->states[i], (tn_body_id){(uint32_t)k});
            const tn_quat  o    = pose.orientation;
            tni_write3(poses, pose.position);
            poses[3] = o.w, poses[4] = o.x, poses[5] = o.y, poses[6] = o.z;
        }
}

void tn_batch_velocities(const tn_batch* b, double* velocities)
{
    for (int i = 0; i < b->count; ++i)
        for (int k = 1; k < b->model->body_count; ++k, velocities += TN_BATCH_VELOCITY) {
            const tn_twist v = tn_state_velocity(b->states[i], (tn_body_id){(uint32_t)k});
            tni_write3(velocities, v.linear);
            tni_write3(velocities + 3, v.angular);
        }
}

void tn_batch_joints(const tn_batch* b, double* positions, double* velocities)
{
    for (int i = 0; i < b->count; ++i) {
        const size_t to = (size_t)i * (size_t)b->model->coordinate_count;
        for (int k = 0; k < b->model->joint_count; ++k) {
            const tn_joint_id joint = {(uint32_t)b->model->joints[k].constraint + 1};
            const size_t      at    = to + (size_t)b->model->joints[k].coordinate_start;
            if (positions != NULL) tn_state_joint_position(b->states[i], joint, positions + at);
            if (velocities != NULL) tn_state_joint_velocity(b->states[i], joint, velocities + at);
        }
    }
}

tn_result tn_batch_set_joints(tn_batch* b, const double* positions, const double* velocities,
                              tn_why* why)
{
    tn_result first = TN_OK;
    for (int i = 0; i < b->count; ++i) {
        const size_t    at = (size_t)i * (size_t)b->model->coordinate_count;
        tn_why          own;
        const tn_result result = tn_state_set_joints(
            b->states[i], positions + at, velocities != NULL ? velocities + at : NULL, &own);
        if (result == TN_OK || first != TN_OK) continue;
        first = tni_fail(why, result, "copy %d: %s", i, own.text);
    }
    return first;
}

static tn_result set_target(tn_state* state, tn_target_id target, const double* pose,
                            const double* velocity)
{
    const tn_frame frame = {tni_read3(pose), {pose[3], pose[4], pose[5], pose[6]}};
    if (velocity == NULL) return tn_state_set_target(state, target, &frame, NULL);
    const tn_twist twist = {tni_read3(velocity), tni_read3(velocity + 3)};
    return tn_state_set_target(state, target, &frame, &twist);
}

tn_result tn_batch_set_targets(tn_batch* b, const double* poses, const double* velocities,
                               tn_why* why)
{
    tn_result first = TN_OK;
    for (int i = 0; i < b->count; ++i)
        for (int k = 0; k < b->model->target_count; ++k, poses += TN_BATCH_POSE) {
            const tn_result result =
                set_target(b->states[i], (tn_target_id){(uint32_t)k + 1}, poses, velocities);
            if (velocities != NULL) velocities += TN_BATCH_VELOCITY;
            if (result == TN_OK || first != TN_OK) continue;
            first = tni_fail(why, result, "copy %d: target %d: not a valid pose", i, k);
        }
    return first;
}
