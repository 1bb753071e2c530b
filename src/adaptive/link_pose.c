// link_pose: from bodies to links and back.
//
// With o, x the attitude and centre of mass of a link's body, O, Y those of its parent's (the
// world: 1, 0), f, a the joint's frame on the parent and its origin, t, c the link's attitude and
// centre of mass,
//     O f q t = o                          products of quaternions
//     Y + O (a + f p + f q c) = x          p: the link's origin in the joint's frame
// Velocities: w = W + O f q (S v)_w, and those of points as in a rigid body.
#include "adaptive/joint_tree.h"

#include "math/elementary.h"

// Pose and velocity of a body: attitude, centre of mass.
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

// index -1: the world.
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

static int parent_body(const tni_joint_trees* trees, const tni_tree_link* link)
{
    return link->parent < 0 ? -1 : trees->links[link->parent].body;
}

// Projects the motion m onto S: first rotations, which are orthogonal; then translations.
static void project(const tni_tree_link* link, const tni_spatial* S, tni_spatial m, double* v)
{
    for (int k = 0; k < link->freedoms; ++k) {
        const double n = tni_dot(S[k].w, S[k].w);
        if (!(n > 0)) continue;
        v[k] = tni_dot(S[k].w, m.w) / n;
        m.v  = tni_add_scaled(m.v, -v[k], S[k].v);
    }
    for (int k = 0; k < link->freedoms; ++k) {
        if (!(tni_dot(S[k].w, S[k].w) > 0)) v[k] = tni_dot(S[k].v, m.v);
    }
}

// Configuration of a link in the joint's frame on its parent; returns its motion relative to the
// parent.
static tni_spatial relative_to(const tni_tree_link* link, const pose* body, const pose* parent,
                               double* q)
{
    const tn_quat  joint = tni_quat_mul(parent->o, link->turn), back = tni_quat_conjugate(joint);
    const tn_quat  o      = tni_quat_mul(body->o, tni_quat_conjugate(link->attitude));
    const tn_quat  turned = tni_quat_mul(back, o);
    const tni_mat3 R      = tni_quat_matrix(o);
    const tn_vec3  arm = tni_mul(&R, link->com), at = tni_sub(body->x, arm),
                  lever = tni_sub(at, parent->x);
    const tn_vec3 p     = tni_sub(lever, tni_rotate(parent->o, link->anchor));
    const tn_vec3 rate  = tni_sub(tni_sub(body->v, tni_cross(body->w, arm)),
                                  tni_add(parent->v, tni_cross(parent->w, lever)));
    q[0] = turned.w, q[1] = turned.x, q[2] = turned.y, q[3] = turned.z;
    tni_write3(q + 4, tni_rotate(back, p));
    return (tni_spatial){tni_mul_t(&R, tni_sub(body->w, parent->w)), tni_mul_t(&R, rate)};
}

static void read_link(const tni_tree_link* link, const pose* body, const pose* parent, double* q,
                      double* v)
{
    tni_spatial       S[TNI_TREE_LINK_FREEDOMS];
    const tni_spatial m = relative_to(link, body, parent, q);
    tni_tree_link_project(link, q);
    tni_tree_link_place(link, q, NULL, S);
    project(link, S, m, v);
}

void tni_joint_trees_read(const tni_joint_trees* trees, const double* body_q, const double* body_u,
                          double* q, double* v)
{
    for (int i = 0; i < trees->count; ++i) {
        const tni_tree_link* link = &trees->links[i];
        const pose           body = pose_of(trees->model, link->body, body_q, body_u),
                   parent         = pose_of(trees->model, parent_body(trees, link), body_q, body_u);
        read_link(link, &body, &parent, q + link->q, v + link->v);
    }
}

// S v; hinges and balls without S.
static tni_spatial motion_of(const tni_tree_link* link, const double* q, const double* v)
{
    tni_spatial S[TNI_TREE_LINK_FREEDOMS];
    if (link->kind == TNI_TREE_LINK_HINGE)
        return (tni_spatial){{0, 0, link->reversed ? -v[0] : v[0]}, {0, 0, 0}};
    if (link->kind == TNI_TREE_LINK_BALL) return (tni_spatial){tni_read3(v), {0, 0, 0}};
    tni_tree_link_place(link, q, NULL, S);
    return tni_tree_link_motion(link, S, v);
}

// Body pose and velocity from joint coordinates. Only the last lines depend on the parent's pose,
// so that links of a chain overlap in the processor.
static pose pose_by(const tni_tree_link* link, const pose* parent, const double* q, const double* v)
{
    const tn_quat     o     = tni_quat_mul(link->turn, (tn_quat){q[0], q[1], q[2], q[3]});
    const tn_quat     own   = tni_quat_mul(o, link->attitude);
    const tni_mat3    A     = tni_quat_matrix(o);
    const tni_spatial m     = motion_of(link, q, v);
    const bool        stays = link->kind == TNI_TREE_LINK_HINGE || link->kind == TNI_TREE_LINK_BALL;
    const tn_vec3     com = tni_mul(&A, link->com), turning = tni_mul(&A, m.w);
    tn_vec3           at = link->anchor, rate = tni_cross(turning, com);
    if (!stays) {
        at   = tni_add(at, tni_rotate(link->turn, tni_read3(q + 4)));
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

// Difference of a link from its joint coordinates: position [m or rad], velocities into *rate.
static double error_of(const tni_tree_link* link, const pose* body, const pose* parent,
                       const double* q, const double* v, double* rate)
{
    double            is[7];
    const tni_spatial m = relative_to(link, body, parent, is), goal = motion_of(link, q, v);
    const tn_quat     off =
        tni_quat_mul((tn_quat){q[0], -q[1], -q[2], -q[3]}, (tn_quat){is[0], is[1], is[2], is[3]});
    *rate = fmax(*rate, largest(tni_sub(m.w, goal.w), tni_sub(m.v, goal.v)));
    return largest(tni_sub(tni_read3(is + 4), tni_read3(q + 4)),
                   tni_vec3(2 * off.x, 2 * off.y, 2 * off.z));
}

// Writes bodies of links first .. last - 1; the parents' bodies are already written.
static void place_some(const tni_joint_trees* trees, int first, int last, const double* q,
                       const double* v, double* body_q, double* body_u, tni_joint_trees_fit* fit)
{
    for (int i = first; i < last; ++i) {
        const tni_tree_link* link = &trees->links[i];
        const pose parent         = pose_of(trees->model, parent_body(trees, link), body_q, body_u);
        const pose to             = pose_by(link, &parent, q + link->q, v + link->v);
        write_pose(&trees->model->bodies[link->body], &to, body_q, body_u);
        if (fit == NULL || link->joint < 0) continue;
        const double e = error_of(link, &to, &parent, q + link->q, v + link->v, &fit->rate);
        if (e > fit->error) fit->error = e, fit->worst = i;
    }
}

void tni_joint_trees_write(const tni_joint_trees* trees, const double* q, const double* v,
                           double* body_q, double* body_u)
{
    place_some(trees, 0, trees->count, q, v, body_q, body_u, NULL);
}

tni_joint_trees_fit tni_joint_trees_place(const tni_joint_trees* trees, int tree, const double* q,
                                          const double* v, double* body_q, double* body_u)
{
    tni_joint_trees_fit fit = {.worst = -1};
    place_some(trees, trees->first[tree], trees->first[tree + 1], q, v, body_q, body_u, &fit);
    return fit;
}

// Joints other than universals rotate about z alone. Universal: E = Rz(a) Rx(b), as a quaternion
// (ca cb, ca sb, sa sb, sa cb) of the half angles; reversed, q is its inverse.
void tni_tree_link_track_angle(const tni_tree_link* link, const double* q, double* z)
{
    const double s = link->reversed ? -1 : 1;
    if (link->angle < 0) return;
    if (link->kind != TNI_TREE_LINK_UNIVERSAL) {
        z[link->coordinate] = near(2 * tni_atan2(s * q[3], q[0]), z[link->coordinate]);
        return;
    }
    const double x = s * q[1], y = s * q[2], zz = s * q[3], c = q[0] * q[0] + zz * zz;
    const double a = q[0] * zz + x * y, ca = q[0] * q[0] + x * x; // halves of sin a, 1 + cos a
    z[link->coordinate] = near(tni_atan2(2 * a, 2 * ca - 1), z[link->coordinate]);
    z[link->coordinate + 1] =
        near(tni_atan2(2 * (q[0] * x + y * zz), 2 * c - 1), z[link->coordinate + 1]);
}

void tni_tree_link_view(const tni_joint_trees* trees, int index, const tni_transform* world,
                        tni_spatial motion, tni_view* view)
{
    const tni_tree_link* link = &trees->links[index];
    const tni_body*      body = &trees->model->bodies[link->body];
    const tni_mat3       R    = tni_transposed(&world->E);
    view->R                   = tni_mat_mul(&R, &link->axes);
    view->x                   = tni_add(world->r, tni_mul(&R, link->com));
    view->w                   = tni_mul(&R, motion.w);
    view->v                   = tni_mul(&R, tni_add(motion.v, tni_cross(motion.w, link->com)));
    if (body->kind == TN_BODY_PLANAR) view->x.z = body->start.position.z;
}
