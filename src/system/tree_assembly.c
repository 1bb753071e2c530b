// tree_assembly: closes a spanning forest of the joints body by body, outward from immovable bodies
// and from one body of every floating tree. Each body is moved alone onto its joint with the
// previous one: rotated by the rotation between the two frames (levenberg_marquardt.c), then
// shifted by the residual of the position rows,
//     t = -sum C_i n_i,   n_i the direction in which row i pushes this side
// which closes them, as their directions are perpendicular. Exact for trees of bodies with all six
// degrees of freedom; for others (planar ones in space, user-defined ones) it is a start for the
// search. Bodies may end far from where they were: used only for what does not close otherwise.
//
// Cost: a pass over the joints for each change of direction in their order; PASSES_MAX at most.
#include "joint/joint.h"
#include "system/levenberg_marquardt.h"

enum { PASSES_MAX = 1000 };

typedef struct traversal {
    const tni_lm* lm;
    double        time;
    double*       q;
    const double* z;
    uint8_t *     known, *done; ///< by body; by joint: used, or closes a loop
} traversal;

static void evaluate(const traversal* w, int body)
{
    tni_view_body(w->lm->model, body, w->time, w->q, NULL, &w->lm->system->views[body]);
}

static void turn_body(const traversal* w, int index, tn_vec3 by)
{
    const tni_body* body = &w->lm->model->bodies[index];
    double*         q    = w->q + body->q_start;
    const tn_quat   turn = tni_quat_exp(by);
    if (body->kind == TN_BODY_PLANAR) q[2] += by.z;
    for (int k = 1; body->kind == TN_BODY_AFFINE && k < 4; ++k)
        tni_write3(q + 3 * k, tni_rotate(turn, tni_read3(q + 3 * k)));
    if (body->kind == TN_BODY_RIGID) {
        const tn_quat o =
            tni_quat_normalised(tni_quat_mul(turn, (tn_quat){q[3], q[4], q[5], q[6]}));
        q[3] = o.w, q[4] = o.x, q[5] = o.y, q[6] = o.z;
    }
    evaluate(w, index);
}

static void shift_body(const traversal* w, const tni_joint* joint, int index)
{
    const tn_model*       model = w->lm->model;
    const tni_body*       body  = &model->bodies[index];
    const tni_constraint* c     = &model->constraints[joint->constraint];
    tn_vec3               t     = {0, 0, 0};
    tni_row               rows[TNI_JOINT_ROWS_MAX];
    const tni_sides       sides = tni_sides_of(joint, w->lm->system->views);
    (void)tni_joint_rows(model, joint, sides, w->time, w->z, rows);
    for (int i = 0; i < c->held_count; ++i) {
        if (!tni_lm_is_angle(w->lm, joint->constraint, i))
            t = tni_add_scaled(t, -rows[i].C, rows[i].push[index == joint->body2].force);
    }
    if (!(tni_norm(t) < HUGE_VAL)) return; // coincident ends of a distance joint
    for (int k = 0; k < (body->kind == TN_BODY_PLANAR ? 2 : 3); ++k)
        w->q[body->q_start + k] += tni_at(t, k);
    evaluate(w, index);
}

static void place_body(const traversal* w, const tni_joint* joint, int index)
{
    tn_vec3      e;
    const double theta = tni_lm_rotation(w->lm, joint->constraint, &e);
    if (w->lm->model->bodies[index].kind == TN_BODY_USER) return;
    if (theta != 0) turn_body(w, index, tni_scale(index == joint->body2 ? -theta : theta, e));
    shift_body(w, joint, index);
}

// Places the body at the other end of a joint if exactly one end is known. Returns whether it did.
static bool place_over_joint(const traversal* w, int i)
{
    const tni_joint* joint = &w->lm->model->joints[i];
    if (w->done[i] || w->known[joint->body1] == w->known[joint->body2]) return false;
    const int next = w->known[joint->body1] ? joint->body2 : joint->body1;
    place_body(w, joint, next);
    w->known[next] = w->done[i] = 1;
    return true;
}

static void place_all(const traversal* w)
{
    const int count = w->lm->model->joint_count;
    bool      any   = true;
    for (int pass = 0; any && pass < PASSES_MAX; ++pass) {
        any = false;
        for (int i = 0; i < count; ++i)
            any = place_over_joint(w, pass % 2 ? count - 1 - i : i) || any;
    }
}

void tni_lm_assemble_tree(tni_lm* a, const tni_configuration* at, double* q)
{
    const tn_model* model = a->model;
    const traversal w     = {a, at->time, q, at->z, a->known, a->done};
    memset(w.done, 0, (size_t)model->joint_count);
    tni_views(model, at->time, q, NULL, a->system->views);
    for (int i = 0; i < model->forest.auxiliary_count; ++i) {
        const tni_constraint* c = &model->constraints[model->forest.auxiliary[i]];
        if (c->kind == TNI_CONSTRAINT_JOINT) w.done[c->index] = 1;
    }
    for (int i = 0; i < model->body_count; ++i) w.known[i] = model->bodies[i].dim == 0;
    place_all(&w);
    for (int i = 0; i < model->body_count; ++i) { // a floating tree: this body stays
        if (w.known[i]) continue;
        w.known[i] = 1;
        place_all(&w);
    }
}
