// tree_assembly: closes a spanning forest of the joints body by body, outward from what the world holds
// and from one body of every tree that floats. Each body is moved alone onto its joint with the one
// before: turned by the turn between the two frames (levenberg_marquardt.c), then shifted by what is left of the
// rows that hold places,
//     t = -sum C_i n_i,   n_i the direction in which row i pushes this side
// which closes them, their directions being at right angles. Exact for trees of bodies that are
// free to turn and move; for others (planar ones in space, the user's own) it is a start to search
// from. Bodies come to lie far from where they were: it is for what does not close otherwise.
//
// Cost: a pass over the joints for each change of direction in their order; PASSES_MAX at most.
#include "joint/joint.h"
#include "system/levenberg_marquardt.h"

enum { PASSES_MAX = 1000 };

typedef struct walk {
    const tni_lm* align;
    double        time;
    double*       q;
    const double* z;
    uint8_t *     known, *done; ///< by body; by joint: used, or closes a loop
} walk;

static void see(const walk* w, int body)
{
    tni_view_body(w->align->model, body, w->time, w->q, NULL, &w->align->system->views[body]);
}

static void turn_body(const walk* w, int index, tn_vec3 by)
{
    const tni_body* body = &w->align->model->bodies[index];
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
    see(w, index);
}

static void shift_body(const walk* w, const tni_joint* joint, int index)
{
    const tn_model*       model = w->align->model;
    const tni_body*       body  = &model->bodies[index];
    const tni_constraint* c     = &model->constraints[joint->constraint];
    tn_vec3               t     = {0, 0, 0};
    tni_row               rows[TNI_JOINT_ROWS_MAX];
    const tni_sides       sides = tni_sides_of(joint, w->align->system->views);
    (void)tni_joint_rows(model, joint, sides, w->time, w->z, rows);
    for (int i = 0; i < c->held_count; ++i) {
        if (!tni_lm_turns(w->align, joint->constraint, i))
            t = tni_add_scaled(t, -rows[i].C, rows[i].push[index == joint->body2].force);
    }
    if (!(tni_norm(t) < HUGE_VAL)) return; // ends of a distance that lie on each other
    for (int k = 0; k < (body->kind == TN_BODY_PLANAR ? 2 : 3); ++k)
        w->q[body->q_start + k] += tni_at(t, k);
    see(w, index);
}

static void place(const walk* w, const tni_joint* joint, int index)
{
    tn_vec3      e;
    const double theta = tni_lm_turn(w->align, joint->constraint, &e);
    if (w->align->model->bodies[index].kind == TN_BODY_USER) return;
    if (theta != 0) turn_body(w, index, tni_scale(index == joint->body2 ? -theta : theta, e));
    shift_body(w, joint, index);
}

// Places the body at the other end of a joint, when one end is known. Whether it did.
static bool step_over(const walk* w, int i)
{
    const tni_joint* joint = &w->align->model->joints[i];
    if (w->done[i] || w->known[joint->body1] == w->known[joint->body2]) return false;
    const int next = w->known[joint->body1] ? joint->body2 : joint->body1;
    place(w, joint, next);
    w->known[next] = w->done[i] = 1;
    return true;
}

static void spread(const walk* w)
{
    const int count = w->align->model->joint_count;
    bool      any   = true;
    for (int pass = 0; any && pass < PASSES_MAX; ++pass) {
        any = false;
        for (int i = 0; i < count; ++i) any = step_over(w, pass % 2 ? count - 1 - i : i) || any;
    }
}

void tni_lm_outward(tni_lm* a, const tni_configuration* at, double* q)
{
    const tn_model* model = a->model;
    const walk      w     = {a, at->time, q, at->z, a->known, a->done};
    memset(w.done, 0, (size_t)model->joint_count);
    tni_views(model, at->time, q, NULL, a->system->views);
    for (int i = 0; i < model->forest.auxiliary_count; ++i) {
        const tni_constraint* c = &model->constraints[model->forest.auxiliary[i]];
        if (c->kind == TNI_CONSTRAINT_JOINT) w.done[c->index] = 1;
    }
    for (int i = 0; i < model->body_count; ++i) w.known[i] = model->bodies[i].dim == 0;
    spread(&w);
    for (int i = 0; i < model->body_count; ++i) { // a tree that floats: this body stays
        if (w.known[i]) continue;
        w.known[i] = 1;
        spread(&w);
    }
}
