// link_pose: from bodies to limbs and back.
//
// With o, x the attitude and centre of mass of a limb's body, O, Y those of its parent's (the world: 1, 0),
// f, a the joint's frame there and its origin, t, c the limb's attitude and centre of mass,
//     O f q t = o                          products of quaternions
//     Y + O (a + f p + f q c) = x          p: the limb's origin in the joint's frame
// Velocities: w = W + O f q (S v)_w, and those of points as rigid bodies have them.
#include "adaptive/joint_tree.h"

#include "math/elementary.h"

// A body as it stands: centre of mass and attitude, and how they move.
typedef struct pose {
    tn_quat o;
    tn_vec3 x, v, w;
} pose;

static double near(double angle, double earlier)
{
    return angle + TNI_TWO_PI * floor((earlier - angle) / TNI_TWO_PI + 0.5);
}

static tn_quat about_z(double angle)
{
    tn_quat q = {1, 0, 0, 0};
    tni_sincos(0.5 * angle, &q.z, &q.w);
    return q;
}

// body -1: the world.
static pose pose_of(const tn_model* model, int index, const double* q, const double* u)
{
    if (index < 0) return (pose){.o = {1, 0, 0, 0}};
    const tni_body* body = &model->bodies[index];
    q += body->q_start, u += body->u_start;
    if (body->kind == TN_BODY_PLANAR)
        return (pose){about_z(q[2]), tni_vec3(q[0], q[1], body->start.position.z),
                      tni_vec3(u[0], u[1], 0), tni_vec3(0, 0, u[2])};
    return (pose){{q[3], q[4], q[5], q[6]}, tni_read3(q), tni_read3(u), tni_read3(u + 3)};
}

static int parent_body(const tni_joint_trees* limbs, const tni_tree_link* limb)
{
    return limb->parent < 0 ? -1 : limbs->limbs[limb->parent].body;
}

// v of the motion m that S spans: turns first, which are at right angles to each other; then what slides.
static void project(const tni_tree_link* limb, const tni_six* S, tni_six m, double* v)
{
    for (int k = 0; k < limb->freedoms; ++k) {
        const double n = tni_dot(S[k].w, S[k].w);
        if (!(n > 0)) continue;
        v[k] = tni_dot(S[k].w, m.w) / n;
        m.v  = tni_add_scaled(m.v, -v[k], S[k].v);
    }
    for (int k = 0; k < limb->freedoms; ++k) {
        if (!(tni_dot(S[k].w, S[k].w) > 0)) v[k] = tni_dot(S[k].v, m.v);
    }
}

// Where a limb stands in the joint's frame on its parent, and its motion against the parent.
static tni_six relative_to(const tni_tree_link* limb, const pose* body, const pose* parent,
                           double* q)
{
    const tn_quat  joint = tni_quat_mul(parent->o, limb->turn), back = tni_quat_conjugate(joint);
    const tn_quat  o      = tni_quat_mul(body->o, tni_quat_conjugate(limb->attitude));
    const tn_quat  turned = tni_quat_mul(back, o);
    const tni_mat3 R      = tni_quat_matrix(o);
    const tn_vec3  arm = tni_mul(&R, limb->com), at = tni_sub(body->x, arm),
                  lever = tni_sub(at, parent->x);
    const tn_vec3 p     = tni_sub(lever, tni_rotate(parent->o, limb->anchor));
    const tn_vec3 rate  = tni_sub(tni_sub(body->v, tni_cross(body->w, arm)),
                                  tni_add(parent->v, tni_cross(parent->w, lever)));
    q[0] = turned.w, q[1] = turned.x, q[2] = turned.y, q[3] = turned.z;
    tni_write3(q + 4, tni_rotate(back, p));
    return (tni_six){tni_mul_t(&R, tni_sub(body->w, parent->w)), tni_mul_t(&R, rate)};
}

static void read_limb(const tni_tree_link* limb, const pose* body, const pose* parent, double* q,
                      double* v)
{
    tni_six       S[TNI_TREE_LINK_FREEDOMS];
    const tni_six m = relative_to(limb, body, parent, q);
    tni_tree_link_settle(limb, q);
    tni_tree_link_place(limb, q, NULL, S);
    project(limb, S, m, v);
}

void tni_joint_trees_read(const tni_joint_trees* limbs, const double* body_q, const double* body_u,
                          double* q, double* v)
{
    for (int i = 0; i < limbs->count; ++i) {
        const tni_tree_link* limb = &limbs->limbs[i];
        const pose           body = pose_of(limbs->model, limb->body, body_q, body_u),
                   parent         = pose_of(limbs->model, parent_body(limbs, limb), body_q, body_u);
        read_limb(limb, &body, &parent, q + limb->q, v + limb->v);
    }
}

// S v, of steady kinds without S.
static tni_six motion_of(const tni_tree_link* limb, const double* q, const double* v)
{
    tni_six S[TNI_TREE_LINK_FREEDOMS];
    if (limb->kind == TNI_TREE_LINK_HINGE)
        return (tni_six){{0, 0, limb->reversed ? -v[0] : v[0]}, {0, 0, 0}};
    if (limb->kind == TNI_TREE_LINK_BALL) return (tni_six){tni_read3(v), {0, 0, 0}};
    tni_tree_link_place(limb, q, NULL, S);
    return tni_tree_link_motion(limb, S, v);
}

// All but the last lines are in the parent's body axes and wait for nothing: limbs of a chain overlap.
static pose pose_by(const tni_tree_link* limb, const pose* parent, const double* q, const double* v)
{
    const tn_quat  o     = tni_quat_mul(limb->turn, (tn_quat){q[0], q[1], q[2], q[3]});
    const tn_quat  own   = tni_quat_mul(o, limb->attitude);
    const tni_mat3 A     = tni_quat_matrix(o);
    const tni_six  m     = motion_of(limb, q, v);
    const bool     stays = limb->kind == TNI_TREE_LINK_HINGE || limb->kind == TNI_TREE_LINK_BALL;
    const tn_vec3  com = tni_mul(&A, limb->com), turning = tni_mul(&A, m.w);
    tn_vec3        at = limb->anchor, rate = tni_cross(turning, com);
    if (!stays) {
        at   = tni_add(at, tni_rotate(limb->turn, tni_read3(q + 4)));
        rate = tni_add(rate, tni_mul(&A, m.v));
    }
    const tni_mat3 R   = tni_quat_matrix(parent->o);
    const tn_vec3  arm = tni_mul(&R, tni_add(at, com));
    pose           to;
    to.o = tni_quat_trimmed(tni_quat_mul(parent->o, own));
    to.x = tni_add(parent->x, arm);
    to.w = tni_add(parent->w, tni_mul(&R, turning));
    to.v = tni_add(tni_add(parent->v, tni_cross(parent->w, arm)), tni_mul(&R, rate));
    return to;
}

static void write_pose(const tni_body* body, const pose* at, double* q, double* u)
{
    q += body->q_start, u += body->u_start;
    if (body->kind == TN_BODY_PLANAR) {
        const double angle = 2 * tni_atan2(at->o.z, at->o.w);
        q[0] = at->x.x, q[1] = at->x.y;
        q[2] = near(angle, q[2]);
        u[0] = at->v.x, u[1] = at->v.y, u[2] = at->w.z;
        return;
    }
    tni_write3(q, at->x);
    q[3] = at->o.w, q[4] = at->o.x, q[5] = at->o.y, q[6] = at->o.z;
    tni_write3(u, at->v);
    tni_write3(u + 3, at->w);
}

static double largest(tn_vec3 a, tn_vec3 b)
{
    return fmax(tni_max_abs(a), tni_max_abs(b));
}

// How far a limb is from where its joint wants it, and from how it should move.
static double error_of(const tni_tree_link* limb, const pose* body, const pose* parent,
                       const double* q, const double* v, double* rate)
{
    double        is[7];
    const tni_six m = relative_to(limb, body, parent, is), goal = motion_of(limb, q, v);
    const tn_quat off =
        tni_quat_mul((tn_quat){q[0], -q[1], -q[2], -q[3]}, (tn_quat){is[0], is[1], is[2], is[3]});
    *rate = fmax(*rate, largest(tni_sub(m.w, goal.w), tni_sub(m.v, goal.v)));
    return largest(tni_sub(tni_read3(is + 4), tni_read3(q + 4)),
                   tni_vec3(2 * off.x, 2 * off.y, 2 * off.z));
}

// The parent's body stands already where it belongs.
static void place_some(const tni_joint_trees* limbs, int first, int last, const double* q,
                       const double* v, double* body_q, double* body_u, tni_joint_trees_fit* fit)
{
    for (int i = first; i < last; ++i) {
        const tni_tree_link* limb = &limbs->limbs[i];
        const pose parent         = pose_of(limbs->model, parent_body(limbs, limb), body_q, body_u);
        const pose to             = pose_by(limb, &parent, q + limb->q, v + limb->v);
        write_pose(&limbs->model->bodies[limb->body], &to, body_q, body_u);
        if (fit == NULL || limb->joint < 0) continue;
        const double e = error_of(limb, &to, &parent, q + limb->q, v + limb->v, &fit->rate);
        if (e > fit->error) fit->error = e, fit->worst = i;
    }
}

void tni_joint_trees_write(const tni_joint_trees* limbs, const double* q, const double* v,
                           double* body_q, double* body_u)
{
    place_some(limbs, 0, limbs->count, q, v, body_q, body_u, NULL);
}

tni_joint_trees_fit tni_joint_trees_place(const tni_joint_trees* limbs, int tree, const double* q,
                                          const double* v, double* body_q, double* body_u)
{
    tni_joint_trees_fit fit = {.worst = -1};
    place_some(limbs, limbs->first[tree], limbs->first[tree + 1], q, v, body_q, body_u, &fit);
    return fit;
}

// All but universal joints turn about z alone. Those: E = Rz(a) Rx(b), as a quaternion
// (ca cb, ca sb, sa sb, sa cb) of half the angles; reversed, q is the inverse of that.
void tni_tree_link_follow(const tni_tree_link* limb, const double* q, double* z)
{
    const double s = limb->reversed ? -1 : 1;
    if (limb->angle < 0) return;
    if (limb->kind != TNI_TREE_LINK_UNIVERSAL) {
        z[limb->coordinate] = near(2 * tni_atan2(s * q[3], q[0]), z[limb->coordinate]);
        return;
    }
    const double x = s * q[1], y = s * q[2], zz = s * q[3], c = q[0] * q[0] + zz * zz;
    const double a = q[0] * zz + x * y, ca = q[0] * q[0] + x * x; // halves of sin a, 1 + cos a
    z[limb->coordinate] = near(tni_atan2(2 * a, 2 * ca - 1), z[limb->coordinate]);
    z[limb->coordinate + 1] =
        near(tni_atan2(2 * (q[0] * x + y * zz), 2 * c - 1), z[limb->coordinate + 1]);
}

void tni_tree_link_view(const tni_joint_trees* limbs, int index, const tni_shift* world,
                        tni_six motion, tni_view* view)
{
    const tni_tree_link* limb = &limbs->limbs[index];
    const tni_body*      body = &limbs->model->bodies[limb->body];
    const tni_mat3       R    = tni_transposed(&world->E);
    view->R                   = tni_mat_mul(&R, &limb->axes);
    view->x                   = tni_add(world->r, tni_mul(&R, limb->com));
    view->w                   = tni_mul(&R, motion.w);
    view->v                   = tni_mul(&R, tni_add(motion.v, tni_cross(motion.w, limb->com)));
    if (body->kind == TN_BODY_PLANAR) view->x.z = body->start.position.z;
}
