// forward: joint coordinates in, joint accelerations out, with nothing but joint coordinates between.
//
// For trees of hinges, sliders, universals, balls and welds that nothing pushes from outside: then v' of the
// articulated-body algorithm is what is asked for, but for the axes of balls. With R the limb's axes in the parent's frame of the
// joint, w' their angular acceleration in the scene's sense (frame 2 against frame 1, axes of frame 1),
//     w' = R v'   or, of a limb that is body 1 of its joint,   w' = -v'
// and forces the other way round. A root that floats follows from the body of its tree that stays (tn_state_set_joints):
// the one that comes first in the scene.
#include "joint/joint.h"

#include "adaptive/adaptive.h"
#include "math/elementary.h"

static bool is_simple(const tni_tree_link* limb)
{
    const tni_tree_link_kind kind = limb->kind;
    return (kind == TNI_TREE_LINK_HINGE && limb->angle >= 0) || kind == TNI_TREE_LINK_SLIDER ||
           kind == TNI_TREE_LINK_UNIVERSAL || kind == TNI_TREE_LINK_BALL ||
           kind == TNI_TREE_LINK_WELD || kind == TNI_TREE_LINK_FREE;
}

// Clusters with all joints active are those of the choice that is never made. Welds stand where they always stand.
static void build_all(tni_adaptive* adaptive, int tree)
{
    const tni_joint_trees* limbs    = adaptive->limbs;
    const tni_assembly*    assembly = adaptive->assembly;
    const int              root     = assembly->root[tree];
    for (int n = assembly->nodes[root].first; n <= root; ++n)
        adaptive->touched[n] = assembly->nodes[n].b >= 0;
    for (int i = limbs->first[tree]; i < limbs->first[tree + 1]; ++i) {
        const double none[7] = {1};
        adaptive->active[i]  = limbs->limbs[i].freedoms > 0;
        if (limbs->limbs[i].kind == TNI_TREE_LINK_WELD)
            tni_tree_link_place(&limbs->limbs[i], none, &adaptive->frames[assembly->joint[i]].join,
                                NULL);
    }
    tni_hybrid_build(&adaptive->figures[tree].next, adaptive->active, adaptive->touched,
                     adaptive->frames);
    for (int n = assembly->nodes[root].first; n <= root; ++n) adaptive->touched[n] = 0;
}

void tni_forward_create(tni_adaptive* adaptive)
{
    const tni_joint_trees* limbs = adaptive->limbs;
    if (!adaptive->all || adaptive->footings != NULL || adaptive->pushed_count > 0 ||
        adaptive->flat)
        return;
    for (int i = 0; i < limbs->count; ++i)
        if (!is_simple(&limbs->limbs[i]) || limbs->limbs[i].limit_count > 0) return;
    for (int t = 0; t < limbs->tree_count; ++t) {
        int* keeps = &adaptive->figures[t].keeps;
        *keeps     = limbs->first[t];
        for (int i = limbs->first[t]; i < limbs->first[t + 1]; ++i)
            if (limbs->limbs[i].body < limbs->limbs[*keeps].body) *keeps = i;
        build_all(adaptive, t);
    }
    adaptive->forwards = true;
}

bool tni_has_forward(const tni_adaptive* adaptive, const tn_state* state)
{
    for (int i = 0; i < TN_HANDLES_MAX; ++i)
        if (state->inputs.handles[i].body > 0) return false;
    return adaptive->forwards;
}

// ---- Into limbs ----------------------------------------------------------------------------------

static tn_quat half_turn(double angle, bool x)
{
    tn_quat q = {1, 0, 0, 0};
    tni_sincos(0.5 * angle, x ? &q.x : &q.z, &q.w);
    return q;
}

static void write_turn(const tni_tree_link* limb, tn_quat g, double* q)
{
    if (limb->reversed) g = tni_quat_conjugate(g);
    q[0] = g.w, q[1] = g.x, q[2] = g.y, q[3] = g.z;
}

// z, rate: of its joint. A ball's rates in limb axes.
static void set_limb(const tni_tree_link* limb, const double* z, const double* rate, double* q,
                     double* v)
{
    q[0] = 1;
    for (int k = 1; k < 7; ++k) q[k] = 0;
    for (int k = 0; k < limb->freedoms; ++k) v[k] = rate != NULL ? rate[k] : 0;
    switch (limb->kind) {
    case TNI_TREE_LINK_HINGE: write_turn(limb, half_turn(z[0], false), q); break;
    case TNI_TREE_LINK_SLIDER: q[6] = limb->reversed ? -z[0] : z[0]; break;
    case TNI_TREE_LINK_UNIVERSAL:
        write_turn(limb, tni_quat_mul(half_turn(z[0], false), half_turn(z[1], true)), q);
        break;
    case TNI_TREE_LINK_BALL: {
        const tn_quat g = tni_quat_exp(tni_read3(z));
        const tn_vec3 w = tni_read3(v);
        write_turn(limb, g, q);
        tni_write3(v, limb->reversed ? tni_neg(w) : tni_rotate(tni_quat_conjugate(g), w));
        break;
    }
    default: break; // welds
    }
}

// The limb of a body as it stands: from the world to its frame, and its motion there.
static tni_shift limb_at(const tni_tree_link* limb, const double* q, const double* u,
                         tni_six* motion)
{
    const tni_mat3 R = tni_quat_matrix((tn_quat){q[3], q[4], q[5], q[6]}), Rt = tni_transposed(&R);
    const tni_mat3 E   = tni_mat_mul(&limb->axes, &Rt);
    const tn_vec3  arm = tni_mul_t(&E, limb->com), w = tni_read3(u + 3);
    motion->w = tni_mul(&E, w);
    motion->v = tni_mul(&E, tni_sub(tni_read3(u), tni_cross(w, arm)));
    return (tni_shift){E, tni_sub(tni_read3(q), arm)};
}

// A root that floats, by the body of its tree that stays; all joints have been set.
static void set_root(const tni_adaptive* adaptive, int tree, const tn_state* state, double* q,
                     double* v)
{
    const tni_joint_trees* limbs = adaptive->limbs;
    const int              root = limbs->first[tree], keeps = adaptive->figures[tree].keeps;
    const tni_body*        body = &adaptive->model->bodies[limbs->limbs[keeps].body];
    tni_six                motion;
    tni_shift              world =
        limb_at(&limbs->limbs[keeps], state->q + body->q_start, state->u + body->u_start, &motion);
    for (int i = keeps; i != root; i = limbs->limbs[i].parent) { // to its parent
        const tni_tree_link* limb = &limbs->limbs[i];
        tni_six              S[TNI_TREE_LINK_FREEDOMS];
        tni_shift            X;
        tni_tree_link_place(limb, q + limb->q, &X, S);
        const tni_shift back = tni_shift_inverse(&X);
        motion               = tni_shift_motion(&back,
                                                tni_six_sub(motion, tni_tree_link_motion(limb, S, v + limb->v)));
        world                = tni_shift_then(&world, &back);
    }
    const tni_tree_link* limb = &limbs->limbs[root];
    const tni_mat3       R    = tni_transposed(&world.E);
    const tn_quat        g    = tni_matrix_quat(&R);
    double*              to   = q + limb->q;
    to[0] = g.w, to[1] = g.x, to[2] = g.y, to[3] = g.z;
    tni_write3(to + 4, world.r);
    tni_six_write(v + limb->v, motion);
}

// ---- Forces and accelerations --------------------------------------------------------------------

static void add_force(const tni_tree_link* limb, const double* tau, const double* q, double* Q)
{
    if (limb->kind != TNI_TREE_LINK_BALL) {
        for (int k = 0; k < limb->freedoms; ++k) Q[k] += tau[k];
        return;
    }
    const tn_quat g = {q[0], q[1], q[2], q[3]};
    const tn_vec3 t = tni_read3(tau);
    tni_write3(Q, tni_add(tni_read3(Q),
                          limb->reversed ? tni_neg(t) : tni_rotate(tni_quat_conjugate(g), t)));
}

static void read_acceleration(const tni_tree_link* limb, const double* q, const double* rate,
                              double* out)
{
    if (limb->kind != TNI_TREE_LINK_BALL) {
        for (int k = 0; k < limb->freedoms; ++k) out[k] = rate[k];
        return;
    }
    const tn_quat g = {q[0], q[1], q[2], q[3]};
    const tn_vec3 a = tni_read3(rate);
    tni_write3(out, limb->reversed ? tni_neg(a) : tni_rotate(g, a));
}

// ---- All of it -----------------------------------------------------------------------------------

static bool all_finite(const double* x, int count)
{
    double nothing = 0;
    for (int i = 0; i < count; ++i) nothing += x[i] - x[i]; // 0, or NaN
    return nothing == 0;
}

// Bodies as limbs have them, or the state as it was.
static tn_result place(tni_adaptive* adaptive, const double* z, const double* q, const double* v,
                       tn_state* state, tn_why* why)
{
    const tn_model* model  = adaptive->model;
    const size_t    q_size = sizeof(double) * (size_t)model->q_count,
                 u_size    = sizeof(double) * (size_t)model->u_count;
    memcpy(adaptive->was_q, state->q, q_size);
    memcpy(adaptive->was_u, state->u, u_size);
    tni_joint_trees_write(adaptive->limbs, q, v, adaptive->was_q, adaptive->was_u);
    for (int t = 0; t < adaptive->limbs->tree_count; ++t) {
        const tni_figure* figure = &adaptive->figures[t];
        const tni_body*   body   = &model->bodies[adaptive->limbs->limbs[figure->keeps].body];
        if (!figure->floats) continue; // to the bit
        memcpy(adaptive->was_q + body->q_start, state->q + body->q_start, sizeof(double) * 7);
        memcpy(adaptive->was_u + body->u_start, state->u + body->u_start, sizeof(double) * 6);
    }
    if (!all_finite(adaptive->was_q, model->q_count) ||
        !all_finite(adaptive->was_u, model->u_count))
        return tni_fail(why, TN_ERR_MODEL,
                        "joint coordinates take bodies of '%s' out of all bounds", model->name);
    tni_state_forget(state);
    memcpy(state->q, adaptive->was_q, q_size);
    memcpy(state->u, adaptive->was_u, u_size);
    for (int i = 0; i < adaptive->limbs->count; ++i) { // from here angles count their turns
        const tni_tree_link* limb = &adaptive->limbs->limbs[i];
        if (limb->angle < 0) continue;
        state->z[limb->coordinate] = z[limb->coordinate];
        if (limb->kind == TNI_TREE_LINK_UNIVERSAL)
            state->z[limb->coordinate + 1] = z[limb->coordinate + 1];
    }
    return TN_OK;
}

static int start_of(const tni_adaptive* adaptive, const tni_tree_link* limb)
{
    return adaptive->model->joints[limb->joint].coordinate_start;
}

static void find_forces(tni_adaptive* adaptive, double time, const double* z, const double* tau,
                        const double* q, const double* v, double* Q)
{
    const tni_joint_trees* limbs = adaptive->limbs;
    for (int i = 0; i < limbs->count; ++i) {
        const tni_tree_link* limb = &limbs->limbs[i];
        double               K[TNI_TREE_LINK_FREEDOMS * TNI_TREE_LINK_FREEDOMS];
        for (int k = 0; k < limb->freedoms; ++k) Q[limb->v + k] = 0;
        if (limb->actuation >= 0)
            tni_tree_link_force(limbs, i, time, z, q + limb->q, v + limb->v, 0, Q + limb->v, K);
        if (limb->joint >= 0 && tau != NULL)
            add_force(limb, tau + start_of(adaptive, limb), q + limb->q, Q + limb->v);
    }
}

tn_result tni_forward(tni_adaptive* adaptive, tn_state* state, const double* z, const double* rates,
                      const double* forces, double* accelerations, tn_why* why)
{
    const tni_joint_trees* limbs = adaptive->limbs;
    double *               q = adaptive->read, *v = adaptive->read_v;
    double *               Q = adaptive->first, *qddot = adaptive->last;
    tn_result              result = tni_check_coordinates(adaptive->model, z, rates, why);
    if (result != TN_OK) return result;
    for (int i = 0; i < limbs->count; ++i) {
        const tni_tree_link* limb = &limbs->limbs[i];
        if (limb->joint < 0) continue;
        const int at = start_of(adaptive, limb);
        set_limb(limb, z + at, rates != NULL ? rates + at : NULL, q + limb->q, v + limb->v);
    }
    for (int t = 0; t < limbs->tree_count; ++t)
        if (adaptive->figures[t].floats) set_root(adaptive, t, state, q, v);
    result = place(adaptive, z, q, v, state, why);
    if (result != TN_OK) return result;
    find_forces(adaptive, state->time, z, forces, q, v, Q);
    for (int t = 0; t < limbs->tree_count; ++t) {
        tni_hybrid* all = &adaptive->figures[t].next;
        tni_hybrid_move(all, q, v);
        if (!tni_hybrid_accelerate(all, adaptive->model->gravity, q, v, Q, NULL, qddot))
            return tni_fail(why, TN_ERR_SINGULAR,
                            "the articulated body of '%s' has no inertia along one of its joints",
                            adaptive->model->bodies[limbs->limbs[limbs->first[t]].body].name);
    }
    for (int i = 0; i < limbs->count; ++i) {
        const tni_tree_link* limb = &limbs->limbs[i];
        if (limb->joint >= 0)
            read_acceleration(limb, q + limb->q, qddot + limb->v,
                              accelerations + start_of(adaptive, limb));
    }
    return TN_OK;
}
