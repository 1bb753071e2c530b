// forward: joint accelerations from joint coordinates, velocities and forces, without going through
// body coordinates.
//
// For trees of hinges, sliders, universals, balls and welds without external forces or contacts:
// the result is v' of the articulated-body algorithm, except for the axes of balls. With R the
// link's axes in the joint's frame on the parent, w' the angular acceleration in the scene's sense
// (frame 2 relative to frame 1, axes of frame 1),
//     w' = R v'   or, of a link that is body 1 of its joint,   w' = -v'
// and joint forces transform the other way round. A floating root follows from the body of its tree
// that keeps its pose (tn_state_set_joints()): the first of them in the scene.
#include "joint/joint.h"

#include "adaptive/adaptive.h"
#include "math/elementary.h"

static bool is_simple(const tni_tree_link* link)
{
    const tni_tree_link_kind kind = link->kind;
    return (kind == TNI_TREE_LINK_HINGE && link->angle >= 0) || kind == TNI_TREE_LINK_SLIDER ||
           kind == TNI_TREE_LINK_UNIVERSAL || kind == TNI_TREE_LINK_BALL ||
           kind == TNI_TREE_LINK_WELD || kind == TNI_TREE_LINK_FREE;
}

// Clusters with all joints active, in the hybrid body of a choice, which is never made here. Welds
// are placed once.
static void build_all(tni_adaptive* adaptive, int tree)
{
    const tni_joint_trees* trees    = adaptive->trees;
    const tni_assembly*    assembly = adaptive->assembly;
    const int              root     = assembly->root[tree];
    for (int n = assembly->nodes[root].first; n <= root; ++n)
        adaptive->touched[n] = assembly->nodes[n].b >= 0;
    for (int i = trees->first[tree]; i < trees->first[tree + 1]; ++i) {
        const double none[7] = {1};
        adaptive->active[i]  = trees->links[i].freedoms > 0;
        if (trees->links[i].kind == TNI_TREE_LINK_WELD)
            tni_tree_link_place(&trees->links[i], none, &adaptive->frames[assembly->joint[i]].join,
                                NULL);
    }
    tni_hybrid_build(&adaptive->figures[tree].next, adaptive->active, adaptive->touched,
                     adaptive->frames);
    for (int n = assembly->nodes[root].first; n <= root; ++n) adaptive->touched[n] = 0;
}

void tni_forward_create(tni_adaptive* adaptive)
{
    const tni_joint_trees* trees = adaptive->trees;
    if (!adaptive->all || adaptive->contacts != NULL || adaptive->loaded_count > 0 ||
        adaptive->has_planar)
        return;
    for (int i = 0; i < trees->count; ++i)
        if (!is_simple(&trees->links[i]) || trees->links[i].limit_count > 0) return;
    for (int t = 0; t < trees->tree_count; ++t) {
        int* fixed_link = &adaptive->figures[t].fixed_link;
        *fixed_link     = trees->first[t];
        for (int i = trees->first[t]; i < trees->first[t + 1]; ++i)
            if (trees->links[i].body < trees->links[*fixed_link].body) *fixed_link = i;
        build_all(adaptive, t);
    }
    adaptive->has_forward = true;
}

bool tni_has_forward(const tni_adaptive* adaptive, const tn_state* state)
{
    for (int i = 0; i < TN_HANDLES_MAX; ++i)
        if (state->inputs.handles[i].body > 0) return false;
    return adaptive->has_forward;
}

// ---- Joint coordinates to links ----------------------------------------------------------------

static tn_quat half_turn(double angle, bool x)
{
    tn_quat q = {1, 0, 0, 0};
    tni_sincos(0.5 * angle, x ? &q.x : &q.z, &q.w);
    return q;
}

static void write_turn(const tni_tree_link* link, tn_quat g, double* q)
{
    if (link->reversed) g = tni_quat_conjugate(g);
    q[0] = g.w, q[1] = g.x, q[2] = g.y, q[3] = g.z;
}

// z, rate: of its joint. A ball's velocities are in link axes.
static void set_link(const tni_tree_link* link, const double* z, const double* rate, double* q,
                     double* v)
{
    q[0] = 1;
    for (int k = 1; k < 7; ++k) q[k] = 0;
    for (int k = 0; k < link->freedoms; ++k) v[k] = rate != NULL ? rate[k] : 0;
    switch (link->kind) {
    case TNI_TREE_LINK_HINGE: write_turn(link, half_turn(z[0], false), q); break;
    case TNI_TREE_LINK_SLIDER: q[6] = link->reversed ? -z[0] : z[0]; break;
    case TNI_TREE_LINK_UNIVERSAL:
        write_turn(link, tni_quat_mul(half_turn(z[0], false), half_turn(z[1], true)), q);
        break;
    case TNI_TREE_LINK_BALL: {
        const tn_quat g = tni_quat_exp(tni_read3(z));
        const tn_vec3 w = tni_read3(v);
        write_turn(link, g, q);
        tni_write3(v, link->reversed ? tni_neg(w) : tni_rotate(tni_quat_conjugate(g), w));
        break;
    }
    default: break; // welds
    }
}

// The link of a body: from the world to its frame, and its motion there.
static tni_transform link_at(const tni_tree_link* link, const double* q, const double* u,
                             tni_spatial* motion)
{
    const tni_mat3 R = tni_quat_matrix((tn_quat){q[3], q[4], q[5], q[6]}), Rt = tni_transposed(&R);
    const tni_mat3 E   = tni_mat_mul(&link->axes, &Rt);
    const tn_vec3  arm = tni_mul_t(&E, link->com), w = tni_read3(u + 3);
    motion->w = tni_mul(&E, w);
    motion->v = tni_mul(&E, tni_sub(tni_read3(u), tni_cross(w, arm)));
    return (tni_transform){E, tni_sub(tni_read3(q), arm)};
}

// A floating root from the body of its tree that keeps its pose; all joints have been set.
static void set_root(const tni_adaptive* adaptive, int tree, const tn_state* state, double* q,
                     double* v)
{
    const tni_joint_trees* trees = adaptive->trees;
    const int       root = trees->first[tree], fixed_link = adaptive->figures[tree].fixed_link;
    const tni_body* body = &adaptive->model->bodies[trees->links[fixed_link].body];
    tni_spatial     motion;
    tni_transform   world = link_at(&trees->links[fixed_link], state->q + body->q_start,
                                    state->u + body->u_start, &motion);
    for (int i = fixed_link; i != root; i = trees->links[i].parent) { // towards the root
        const tni_tree_link* link = &trees->links[i];
        tni_spatial          S[TNI_TREE_LINK_FREEDOMS];
        tni_transform        X;
        tni_tree_link_place(link, q + link->q, &X, S);
        const tni_transform back = tni_transform_inverse(&X);
        motion                   = tni_transform_motion(
            &back, tni_spatial_sub(motion, tni_tree_link_motion(link, S, v + link->v)));
        world = tni_transform_then(&world, &back);
    }
    const tni_tree_link* link = &trees->links[root];
    const tni_mat3       R    = tni_transposed(&world.E);
    const tn_quat        g    = tni_matrix_quat(&R);
    double*              to   = q + link->q;
    to[0] = g.w, to[1] = g.x, to[2] = g.y, to[3] = g.z;
    tni_write3(to + 4, world.r);
    tni_spatial_write(v + link->v, motion);
}

// ---- Forces and accelerations ------------------------------------------------------------------

static void add_force(const tni_tree_link* link, const double* tau, const double* q, double* Q)
{
    if (link->kind != TNI_TREE_LINK_BALL) {
        for (int k = 0; k < link->freedoms; ++k) Q[k] += tau[k];
        return;
    }
    const tn_quat g = {q[0], q[1], q[2], q[3]};
    const tn_vec3 t = tni_read3(tau);
    tni_write3(Q, tni_add(tni_read3(Q),
                          link->reversed ? tni_neg(t) : tni_rotate(tni_quat_conjugate(g), t)));
}

static void read_acceleration(const tni_tree_link* link, const double* q, const double* rate,
                              double* out)
{
    if (link->kind != TNI_TREE_LINK_BALL) {
        for (int k = 0; k < link->freedoms; ++k) out[k] = rate[k];
        return;
    }
    const tn_quat g = {q[0], q[1], q[2], q[3]};
    const tn_vec3 a = tni_read3(rate);
    tni_write3(out, link->reversed ? tni_neg(a) : tni_rotate(g, a));
}

// ---- All of it ---------------------------------------------------------------------------------

// Writes the state's bodies from the links; the state is unchanged on failure.
static tn_result place(tni_adaptive* adaptive, const double* z, const double* q, const double* v,
                       tn_state* state, tn_why* why)
{
    const tn_model* model  = adaptive->model;
    const size_t    q_size = sizeof(double) * (size_t)model->q_count,
                 u_size    = sizeof(double) * (size_t)model->u_count;
    memcpy(adaptive->placed_q, state->q, q_size);
    memcpy(adaptive->placed_u, state->u, u_size);
    tni_joint_trees_write(adaptive->trees, q, v, adaptive->placed_q, adaptive->placed_u);
    for (int t = 0; t < adaptive->trees->tree_count; ++t) {
        const tni_figure* figure = &adaptive->figures[t];
        const tni_body*   body   = &model->bodies[adaptive->trees->links[figure->fixed_link].body];
        if (!figure->floats) continue; // unchanged to the bit
        memcpy(adaptive->placed_q + body->q_start, state->q + body->q_start, sizeof(double) * 7);
        memcpy(adaptive->placed_u + body->u_start, state->u + body->u_start, sizeof(double) * 6);
    }
    if (!tni_all_finite(adaptive->placed_q, model->q_count) ||
        !tni_all_finite(adaptive->placed_u, model->u_count))
        return tni_fail(why, TN_ERR_MODEL,
                        "joint coordinates move bodies of '%s' to positions that are not finite",
                        model->name);
    tni_state_forget(state);
    memcpy(state->q, adaptive->placed_q, q_size);
    memcpy(state->u, adaptive->placed_u, u_size);
    for (int i = 0; i < adaptive->trees->count; ++i) { // angles count their turns from here on
        const tni_tree_link* link = &adaptive->trees->links[i];
        if (link->angle < 0) continue;
        state->z[link->coordinate] = z[link->coordinate];
        if (link->kind == TNI_TREE_LINK_UNIVERSAL)
            state->z[link->coordinate + 1] = z[link->coordinate + 1];
    }
    return TN_OK;
}

static int start_of(const tni_adaptive* adaptive, const tni_tree_link* link)
{
    return adaptive->model->joints[link->joint].coordinate_start;
}

static void find_forces(tni_adaptive* adaptive, double time, const double* z, const double* tau,
                        const double* q, const double* v, double* Q)
{
    const tni_joint_trees* trees = adaptive->trees;
    for (int i = 0; i < trees->count; ++i) {
        const tni_tree_link* link = &trees->links[i];
        double               K[TNI_TREE_LINK_FREEDOMS * TNI_TREE_LINK_FREEDOMS];
        for (int k = 0; k < link->freedoms; ++k) Q[link->v + k] = 0;
        if (link->actuation >= 0)
            tni_tree_link_force(trees, i, time, z, q + link->q, v + link->v, 0, Q + link->v, K);
        if (link->joint >= 0 && tau != NULL)
            add_force(link, tau + start_of(adaptive, link), q + link->q, Q + link->v);
    }
}

tn_result tni_forward(tni_adaptive* adaptive, tn_state* state, const double* z, const double* rates,
                      const double* forces, double* accelerations, tn_why* why)
{
    const tni_joint_trees* trees = adaptive->trees;
    double *               q = adaptive->read_q, *v = adaptive->read_v;
    double *               Q = adaptive->first, *qddot = adaptive->last;
    TRY(tni_check_coordinates(adaptive->model, z, rates, why));
    for (int i = 0; i < trees->count; ++i) {
        const tni_tree_link* link = &trees->links[i];
        if (link->joint < 0) continue;
        const int at = start_of(adaptive, link);
        set_link(link, z + at, rates != NULL ? rates + at : NULL, q + link->q, v + link->v);
    }
    for (int t = 0; t < trees->tree_count; ++t)
        if (adaptive->figures[t].floats) set_root(adaptive, t, state, q, v);
    TRY(place(adaptive, z, q, v, state, why));
    find_forces(adaptive, state->time, z, forces, q, v, Q);
    for (int t = 0; t < trees->tree_count; ++t) {
        tni_hybrid* all = &adaptive->figures[t].next;
        tni_hybrid_move(all, q, v);
        if (!tni_hybrid_accelerate(all, adaptive->model->gravity, q, v, Q, NULL, qddot))
            return tni_fail(why, TN_ERR_SINGULAR,
                            "the articulated body of '%s' has no inertia along one of its joints",
                            adaptive->model->bodies[trees->links[trees->first[t]].body].name);
    }
    for (int i = 0; i < trees->count; ++i) {
        const tni_tree_link* link = &trees->links[i];
        if (link->joint >= 0)
            read_acceleration(link, q + link->q, qddot + link->v,
                              accelerations + start_of(adaptive, link));
    }
    return TN_OK;
}
