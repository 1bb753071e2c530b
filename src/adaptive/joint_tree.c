// joint_tree: finds the trees of a scene and what their joints are made of.
//
// All that cannot be pushed is the world, one node; a joint that joins what is joined already closes a loop. A
// tree with a joint to the world has its root there. Of one that floats it is a centre: the middle of a longest
// path, so that no way to a limb is longer than need be; of two centres the one with the lower number. Limbs are
// numbered as a walk in depth meets them, children by their body's number: a limb and all beyond it follow
// each other.
//
// Rows that ask for right angles (model/joint_types.h: DOT) leave a choice: axes may agree or be opposite. The
// start decides, and frame 2 is turned so that here they agree.
//
// Trees of planar bodies are laid into one plane: axes that stand on it do so exactly, places have no height.
// The moments that such bodies do not have are set to that about z: nothing turns that way.
#include "adaptive/joint_tree.h"

#include "base/groups.h"

#define OTHERS "the multiplier and impulse methods take this"

// ---- What is refused -----------------------------------------------------------------------------

static const struct {
    tn_joint_type      type;
    tni_tree_link_kind kind;
    int                freedoms;
    int                angle; ///< as in tni_tree_link, and which of the joint's coordinates that is
    bool               steady, flat; ///< planar bodies take it
} kinds[] = {{TN_JOINT_WELD, TNI_TREE_LINK_WELD, 0, -1, true, true},
             {TN_JOINT_HINGE, TNI_TREE_LINK_HINGE, 1, 0, true, true},
             {TN_JOINT_SLIDER, TNI_TREE_LINK_SLIDER, 1, -1, true, true},
             {TN_JOINT_SCREW, TNI_TREE_LINK_SCREW, 1, 0, true, false},
             {TN_JOINT_CYLINDER, TNI_TREE_LINK_CYLINDER, 2, 0, true, false},
             {TN_JOINT_UNIVERSAL, TNI_TREE_LINK_UNIVERSAL, 2, 0, false, false},
             {TN_JOINT_BALL, TNI_TREE_LINK_BALL, 3, -1, true, true},
             {TN_JOINT_PLANE, TNI_TREE_LINK_PLANE, 3, 2, true, false},
             {TN_JOINT_POINT_ON_LINE, TNI_TREE_LINK_LINE, 4, -1, false, false},
             {TN_JOINT_POINT_ON_PLANE, TNI_TREE_LINK_SURFACE, 5, -1, false, false},
             {TN_JOINT_DISTANCE, TNI_TREE_LINK_DISTANCE, 5, -1, false, false}};
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

// Which line of the table; -1: none.
static int kind_of(const tni_joint* joint)
{
    for (int i = 0; i < KIND_COUNT; ++i) {
        if (joint->type == tni_joint_type_of(kinds[i].type, TN_JOINT_HINGE)) return i;
    }
    return -1;
}

static tn_result refuse_joint(const tni_joint* joint, const char* what, tn_why* why)
{
    return tni_fail(why, TN_ERR_UNSUPPORTED,
                    "joint '%s': %s; method adaptive takes trees of rigid bodies; " OTHERS,
                    joint->name, what);
}

static bool upright(tn_vec3 a)
{
    return fabs(a.z) > 0.5;
}

static bool is_planar(const tn_model* model, int body)
{
    return model->bodies[body].kind == TN_BODY_PLANAR;
}

// The z axis of body 1's frame, in the world at the start.
static tn_vec3 axis_at_start(const tn_model* model, const tni_joint* joint)
{
    return tni_rotate(model->bodies[joint->body1].start.orientation, tni_column(&joint->F1, 2));
}

static tn_result check_joint(const tn_model* model, const tni_joint* joint, tn_why* why)
{
    const int  row    = kind_of(joint);
    const bool rigid1 = model->bodies[joint->body1].kind == TN_BODY_RIGID,
               rigid2 = model->bodies[joint->body2].kind == TN_BODY_RIGID;
    const bool flat   = is_planar(model, joint->body1) || is_planar(model, joint->body2);
    if (model->bodies[joint->body1].kind == TN_BODY_KINEMATIC ||
        model->bodies[joint->body2].kind == TN_BODY_KINEMATIC)
        return refuse_joint(joint, "it is held by a body that moves by itself", why);
    if (row < 0)
        return tni_fail(
            why, TN_ERR_UNSUPPORTED,
            "joint '%s': a %s has no coordinates of its own; method adaptive takes trees of "
            "rigid bodies; " OTHERS,
            joint->name, joint->type->word);
    if (flat && (rigid1 || rigid2))
        return refuse_joint(joint, "it joins a planar body to a rigid one", why);
    if (!flat) return TN_OK;
    const bool stands = upright(axis_at_start(model, joint));
    if (!kinds[row].flat || (kinds[row].kind == TNI_TREE_LINK_HINGE && !stands) ||
        (kinds[row].kind == TNI_TREE_LINK_SLIDER && stands))
        return tni_fail(
            why, TN_ERR_UNSUPPORTED,
            "joint '%s': of planar bodies method adaptive takes welds, balls, hinges that "
            "stand on the plane and sliders that lie in it; " OTHERS,
            joint->name);
    return TN_OK;
}

static tn_result check_bodies(const tn_model* model, tn_why* why)
{
    for (int i = 1; i < model->body_count; ++i) {
        const tni_body* body = &model->bodies[i];
        if (body->dim == 0 || body->kind == TN_BODY_RIGID || body->kind == TN_BODY_PLANAR) continue;
        return tni_fail(
            why, TN_ERR_UNSUPPORTED,
            "body '%s': method adaptive takes trees of rigid or planar bodies, and this is "
            "neither; " OTHERS,
            body->name);
    }
    return TN_OK;
}

static tn_result check(const tn_model* model, tn_why* why)
{
    if (model->user_count > 0)
        return tni_fail(why, TN_ERR_UNSUPPORTED,
                        "constraint '%s': it is user-defined; method adaptive takes trees of rigid "
                        "bodies; " OTHERS,
                        model->users[0].name);
    if (model->coupling_count > 0)
        return tni_fail(
            why, TN_ERR_UNSUPPORTED,
            "'%s': method adaptive takes trees of rigid bodies without couplings; " OTHERS,
            model->couplings[0].name);
    tn_result result = check_bodies(model, why);
    for (int i = 0; result == TN_OK && i < model->joint_count; ++i)
        result = check_joint(model, &model->joints[i], why);
    return result;
}

// ---- Trees --------------------------------------------------------------------------------------

typedef struct builder {
    const tn_model*  model;
    tni_joint_trees* limbs;
    int *            first, *joints; ///< those of body i, by the number of the other body
    int *            queue, *from;   ///< of a walk: bodies in order; the joint that led to each, -1
    int *            depth, *up;     ///< by body
    tni_shift*       world;          ///< by limb: from the world to its frame at the start
    int*             actuation;      ///< by joint, -1: none
    int *            limit, *limit_count;
} builder;

// The node of a body: all that cannot be pushed is the world, 0.
static int node_of(const tn_model* model, int body)
{
    return model->bodies[body].dim == 0 ? 0 : body;
}

static int other_end(const tn_model* model, int joint, int body)
{
    const tni_joint* j = &model->joints[joint];
    return node_of(model, j->body1 == body ? j->body2 : j->body1);
}

static tn_result find_loops(const builder* b, tn_why* why)
{
    const tn_model* model = b->model;
    for (int i = 0; i < model->body_count; ++i) b->up[i] = i;
    for (int i = 0; i < model->joint_count; ++i) {
        const tni_joint* joint = &model->joints[i];
        if (!tni_tie(b->up, node_of(model, joint->body1), node_of(model, joint->body2)))
            return refuse_joint(joint, "it closes a loop", why);
    }
    return TN_OK;
}

// Joints by body. Filled by the number of the other body, so that each list is in that order.
static tn_result list_joints(builder* b, tni_arena* spare)
{
    const tn_model* model = b->model;
    const int       n = model->body_count, count = 2 * model->joint_count;
    int *           at = TNI_TAKE(spare, int, n), *any = TNI_TAKE(spare, int, count);
    if (spare->failed) return TN_ERR_MEMORY;
    for (int i = 0; i < model->joint_count; ++i) {
        ++b->first[node_of(model, model->joints[i].body1) + 1];
        ++b->first[node_of(model, model->joints[i].body2) + 1];
    }
    for (int i = 0; i < n; ++i) b->first[i + 1] += b->first[i], at[i] = b->first[i];
    for (int i = 0; i < model->joint_count; ++i) {
        any[at[node_of(model, model->joints[i].body1)]++] = i;
        any[at[node_of(model, model->joints[i].body2)]++] = i;
    }
    for (int i = 0; i < n; ++i) at[i] = b->first[i];
    for (int i = 0; i < n; ++i) {
        for (int k = b->first[i]; k < b->first[i + 1]; ++k) {
            const tni_joint* j  = &model->joints[any[k]];
            const int        n1 = node_of(model, j->body1), n2 = node_of(model, j->body2);
            b->joints[at[n1 == i ? n2 : n1]++] = any[k];
        }
    }
    return TN_OK;
}

// In breadth from a body, over its tree; returns how many there are.
static int walk(const builder* b, int start)
{
    int count         = 0;
    b->from[start]    = -1;
    b->depth[start]   = 0;
    b->queue[count++] = start;
    for (int i = 0; i < count; ++i) {
        const int body = b->queue[i];
        for (int k = b->first[body]; k < b->first[body + 1]; ++k) {
            const int joint = b->joints[k], other = other_end(b->model, joint, body);
            if (joint == b->from[body] || other == 0) continue;
            b->from[other]    = joint;
            b->depth[other]   = b->depth[body] + 1;
            b->queue[count++] = other;
        }
    }
    return count;
}

static int world_joint(const builder* b, int body)
{
    for (int k = b->first[body]; k < b->first[body + 1]; ++k) {
        if (other_end(b->model, b->joints[k], body) == 0) return b->joints[k];
    }
    return -1;
}

// The middle of a longest path: from anywhere to a farthest body, from there to a farthest one, half way back.
static int centre_of(const builder* b, int body)
{
    int count = walk(b, body);
    count     = walk(b, b->queue[count - 1]);
    int end   = b->queue[count - 1];
    for (int k = b->depth[end] / 2; k > 0; --k) end = other_end(b->model, b->from[end], end);
    const bool two = b->depth[b->queue[count - 1]] % 2 == 1;
    if (!two) return end;
    const int twin = other_end(b->model, b->from[end], end);
    return twin < end ? twin : end;
}

static int root_of(const builder* b, int body)
{
    const int count = walk(b, body);
    for (int i = 0; i < count; ++i) {
        if (world_joint(b, b->queue[i]) >= 0) return b->queue[i];
    }
    return centre_of(b, body);
}

// ---- Frames -------------------------------------------------------------------------------------

// A joint's frame on one side: in body axes from the centre of mass; of the world, in the world.
typedef struct side {
    tn_vec3  p;
    tni_mat3 F;
    tni_mat3 R; ///< attitude of those axes at the start
} side;

static side side_of(const tn_model* model, int index, tn_vec3 p, const tni_mat3* F)
{
    const tni_body* body = &model->bodies[index];
    const tni_mat3  R    = tni_quat_matrix(body->start.orientation);
    if (body->dim > 0) return (side){p, *F, R};
    return (side){tni_add(body->start.position, tni_mul(&R, p)), tni_mat_mul(&R, F),
                  tni_identity3()};
}

// The nearest axes of which one stands on the plane.
static tni_mat3 laid_flat(const tni_mat3* F)
{
    int up = 0;
    for (int k = 1; k < 3; ++k) {
        if (fabs(F->m[6 + k]) > fabs(F->m[6 + up])) up = k;
    }
    const int a = (up + 1) % 3, c = (up + 2) % 3; // a x c = up
    tn_vec3   axes[3];
    axes[up] = tni_vec3(0, 0, F->m[6 + up] < 0 ? -1 : 1);
    axes[a]  = tni_normalised(tni_vec3(F->m[a], F->m[3 + a], 0));
    axes[c]  = tni_cross(axes[up], axes[a]);
    return tni_columns(axes[0], axes[1], axes[2]);
}

static void lay_flat(tni_tree_link_kind kind, side* s)
{
    s->p.z = 0;
    s->F   = kind == TNI_TREE_LINK_BALL ? tni_identity3() : laid_flat(&s->F);
}

// The nearest rotation that swaps and reverses axes only; 1 where that is not clear.
static tni_mat3 nearest_swap(const tni_mat3* E)
{
    tni_mat3 P;
    for (int k = 0; k < 9; ++k) P.m[k] = floor(E->m[k] + 0.5);
    for (int k = 0; k < 3; ++k) {
        const tn_vec3 row = tni_read3(P.m + 3 * k), column = tni_column(&P, k);
        if (tni_dot(row, row) != 1 || tni_dot(column, column) != 1) return tni_identity3();
    }
    return tni_det(&P) > 0 ? P : tni_identity3();
}

// Turns frame 2 so that axes which may be opposite agree.
static void agree(tni_tree_link_kind kind, const side* one, side* two)
{
    const tni_mat3 A1 = tni_mat_mul(&one->R, &one->F), A2 = tni_mat_mul(&two->R, &two->F),
                   A1t = tni_transposed(&A1), E = tni_mat_mul(&A1t, &A2);
    tni_mat3 P = tni_identity3();
    if (kind == TNI_TREE_LINK_WELD || kind == TNI_TREE_LINK_SLIDER) P = nearest_swap(&E);
    else if (kind <= TNI_TREE_LINK_CYLINDER || kind == TNI_TREE_LINK_PLANE)
        P.m[4] = P.m[8] = E.m[8] < 0 ? -1 : 1;
    const tni_mat3 Pt = tni_transposed(&P);
    two->F            = tni_mat_mul(&two->F, &Pt);
}

static tni_rigid inertia_of(const tni_body* body, const tni_tree_link* limb)
{
    const double m = body->mass;
    tni_mat3     J = body->inertia;
    if (body->kind == TN_BODY_PLANAR) {
        const double zz = J.m[8];
        J               = (tni_mat3){{zz, 0, 0, 0, zz, 0, 0, 0, zz}};
    }
    const tni_rigid about_com = {m, {0, 0, 0}, J.m[0], J.m[3], J.m[6], J.m[4], J.m[7], J.m[8]};
    // From the limb's frame to that at the centre of mass with body axes.
    const tni_shift X = {tni_transposed(&limb->axes), limb->com};
    return tni_rigid_shift(&X, &about_com);
}

// Of the limb and of the joint's frame on the parent.
static void set_frames(const builder* b, tni_tree_link* limb, const side* own, const side* there)
{
    limb->axes     = tni_transposed(&own->F);
    limb->attitude = tni_quat_conjugate(tni_matrix_quat(&own->F));
    limb->com      = tni_neg(tni_mul_t(&own->F, own->p));
    limb->turn     = tni_matrix_quat(&there->F);
    limb->anchor   = there->p;
    limb->before   = (tni_shift){tni_transposed(&there->F), there->p};
    if (limb->parent < 0) return;
    // The parent's frame -> its centre of mass with body axes -> the joint's frame.
    const tni_tree_link* parent = &b->limbs->limbs[limb->parent];
    const tni_shift      body   = {tni_transposed(&parent->axes), parent->com};
    limb->before                = tni_shift_then(&body, &limb->before);
}

static void set_floating(const builder* b, tni_tree_link* limb)
{
    const tni_body* body   = &b->model->bodies[limb->body];
    const bool      planar = body->kind == TN_BODY_PLANAR;
    const side      own    = {.F = tni_identity3()},
               there = {.F = tni_identity3(), .p = {0, 0, planar ? body->start.position.z : 0}};
    limb->kind       = planar ? TNI_TREE_LINK_PLANE : TNI_TREE_LINK_FREE;
    limb->freedoms   = planar ? 3 : 6;
    limb->steady     = true;
    set_frames(b, limb, &own, &there);
}

static void set_jointed(const builder* b, tni_tree_link* limb)
{
    const tn_model*  model = b->model;
    const tni_joint* joint = &model->joints[limb->joint];
    const int        row   = kind_of(joint);
    const bool       flat  = is_planar(model, limb->body);
    side             one   = side_of(model, joint->body1, joint->p1, &joint->F1),
         two               = side_of(model, joint->body2, joint->p2, &joint->F2);
    limb->reversed         = joint->body1 == limb->body;
    limb->kind             = kinds[row].kind;
    limb->freedoms         = kinds[row].freedoms;
    limb->steady           = kinds[row].steady;
    limb->angle            = kinds[row].angle;
    limb->size             = joint->size;
    if (limb->angle >= 0) limb->coordinate = joint->coordinate_start + limb->angle;
    if (limb->kind == TNI_TREE_LINK_PLANE && limb->reversed) limb->angle_sign = -1;
    if (flat) {
        lay_flat(limb->kind, &one);
        lay_flat(limb->kind, &two);
        side* there = limb->reversed ? &two : &one;
        if (limb->parent < 0) there->p.z = model->bodies[limb->body].start.position.z;
        if (limb->kind == TNI_TREE_LINK_BALL) limb->kind = TNI_TREE_LINK_HINGE, limb->freedoms = 1;
    }
    agree(limb->kind, &one, &two);
    set_frames(b, limb, limb->reversed ? &one : &two, limb->reversed ? &two : &one);
    limb->actuation   = b->actuation[limb->joint];
    limb->first_limit = b->limit[limb->joint];
    limb->limit_count = b->limit_count[limb->joint];
}

// ---- Limbs --------------------------------------------------------------------------------------

static tn_result add_limb(const builder* b, int body, int joint, int parent, tn_why* why)
{
    tni_joint_trees* limbs = b->limbs;
    const int        index = limbs->count++;
    tni_tree_link*   limb  = &limbs->limbs[index];
    double           inverse[36];
    *limb = (tni_tree_link){.body       = body,
                            .parent     = parent,
                            .joint      = joint,
                            .tree       = limbs->tree_count,
                            .actuation  = -1,
                            .angle      = -1,
                            .coordinate = -1,
                            .angle_sign = 1,
                            .q          = limbs->q_count,
                            .v          = limbs->v_count,
                            .k          = limbs->k_count};
    if (joint < 0) set_floating(b, limb);
    else set_jointed(b, limb);
    limb->inertia = inertia_of(&b->model->bodies[body], limb);
    limbs->q_count +=
        limb->kind == TNI_TREE_LINK_DISTANCE ? TNI_TREE_LINK_NUMBERS : TNI_TREE_LINK_NUMBERS - 4;
    limbs->v_count += limb->freedoms;
    limbs->k_count += limb->freedoms * limb->freedoms;
    limbs->actuated      = limbs->actuated || limb->actuation >= 0 || limb->limit_count > 0;
    limbs->of_body[body] = index;
    if (!tni_rigid_inverse(&limb->inertia, inverse))
        return tni_fail(
            why, TN_ERR_UNSUPPORTED,
            "body '%s': its inertia is not positive definite seen from its joint, as method "
            "adaptive needs it; " OTHERS,
            b->model->bodies[body].name);
    return TN_OK;
}

// In depth from the root; the queue is the stack. Each body is pushed once, with the joint that led to it.
static tn_result add_tree(const builder* b, int root, tn_why* why)
{
    tni_joint_trees* limbs          = b->limbs;
    int              count          = 0;
    limbs->first[limbs->tree_count] = limbs->count;
    b->from[root]                   = world_joint(b, root);
    b->queue[count++]               = root;
    while (count > 0) {
        const int       body = b->queue[--count], joint = b->from[body];
        const int       before = joint < 0 ? 0 : other_end(b->model, joint, body);
        const tn_result result =
            add_limb(b, body, joint, before == 0 ? -1 : limbs->of_body[before], why);
        if (result != TN_OK) return result;
        for (int k = b->first[body + 1] - 1; k >= b->first[body]; --k) {
            if (b->joints[k] == joint) continue;
            const int other   = other_end(b->model, b->joints[k], body);
            b->from[other]    = b->joints[k];
            b->queue[count++] = other;
        }
    }
    limbs->first[++limbs->tree_count] = limbs->count;
    return TN_OK;
}

// Where the limb's frame is at the start, whether or not its joint agrees.
static tni_shift start_of(const tn_model* model, const tni_tree_link* limb)
{
    const tn_frame* start = &model->bodies[limb->body].start;
    const tni_mat3  R = tni_quat_matrix(start->orientation), axes = tni_transposed(&limb->axes),
                   A = tni_mat_mul(&R, &axes);
    return (tni_shift){tni_transposed(&A), tni_sub(start->position, tni_mul(&A, limb->com))};
}

static double gyration(const tni_tree_link* limb)
{
    const tni_rigid* I = &limb->inertia;
    const double     m = I->mass, c2 = tni_dot(limb->com, limb->com);
    return sqrt(fmax(0, 0.5 * (I->xx + I->yy + I->zz) / m - c2));
}

// What is beyond each limb, from the last to the first. A limb that bears none is twice as long as its centre
// of mass is far from its joint; all are at least their radius of gyration.
static void measure(const builder* b)
{
    tni_joint_trees* limbs = b->limbs;
    tni_tree_link*   all   = limbs->limbs;
    for (int i = 0; i < limbs->count; ++i) {
        b->world[i]     = start_of(b->model, &all[i]);
        all[i].outboard = all[i].inertia;
    }
    for (int i = limbs->count - 1; i >= 0; --i) {
        tni_tree_link* limb = &all[i];
        const bool     leaf = !(limb->length > 0);
        limb->length        = fmax(leaf ? 2 * tni_norm(limb->com) : limb->length, gyration(limb));
        limb->reach         = fmax(limb->reach, tni_norm(limb->com));
        if (limb->parent < 0) continue;
        tni_tree_link*  parent   = &all[limb->parent];
        const double    away     = tni_norm(tni_sub(b->world[i].r, b->world[limb->parent].r));
        const tni_shift to_world = tni_shift_inverse(&b->world[limb->parent]),
                        X        = tni_shift_then(&to_world, &b->world[i]);
        const tni_rigid beyond   = tni_rigid_shift(&X, &limb->outboard);
        parent->outboard         = tni_rigid_add(&parent->outboard, &beyond);
        parent->length           = fmax(parent->length, tni_norm(limb->before.r));
        parent->reach            = fmax(parent->reach, away + limb->reach);
    }
}

static void list_forces(const builder* b)
{
    const tn_model* model = b->model;
    for (int i = 0; i < model->joint_count; ++i) b->actuation[i] = -1;
    for (int i = 0; i < model->actuation_count; ++i) b->actuation[model->actuations[i].joint] = i;
    for (int i = model->limit_count - 1; i >= 0; --i) { // those of a joint follow each other
        b->limit[model->limits[i].joint] = i;
        ++b->limit_count[model->limits[i].joint];
    }
}

static tn_result take(builder* b, tni_arena* arena, tni_arena* spare)
{
    const tn_model* model = b->model;
    const int       n = model->body_count, joints = model->joint_count, count = model->free_count;
    b->limbs = TNI_TAKE(arena, tni_joint_trees, 1);
    if (b->limbs != NULL) {
        b->limbs->model   = model;
        b->limbs->limbs   = TNI_TAKE(arena, tni_tree_link, count);
        b->limbs->first   = TNI_TAKE(arena, int, count + 1);
        b->limbs->of_body = TNI_TAKE(arena, int, n);
    }
    b->first       = TNI_TAKE(spare, int, n + 1);
    b->joints      = TNI_TAKE(spare, int, 2 * joints);
    b->queue       = TNI_TAKE(spare, int, n);
    b->from        = TNI_TAKE(spare, int, n);
    b->depth       = TNI_TAKE(spare, int, n);
    b->up          = TNI_TAKE(spare, int, n);
    b->world       = TNI_TAKE(spare, tni_shift, count);
    b->actuation   = TNI_TAKE(spare, int, joints);
    b->limit       = TNI_TAKE(spare, int, joints);
    b->limit_count = TNI_TAKE(spare, int, joints);
    return arena->failed || spare->failed ? TN_ERR_MEMORY : TN_OK;
}

static tn_result build(builder* b, tni_arena* arena, tni_arena* spare, tn_why* why)
{
    tn_result result = take(b, arena, spare);
    if (result == TN_OK) result = list_joints(b, spare);
    if (result == TN_ERR_MEMORY)
        return tni_fail(why, result, "out of memory for the joint tree of '%s'", b->model->name);
    if (result == TN_OK) result = find_loops(b, why);
    list_forces(b);
    for (int i = 0; i < b->model->body_count; ++i) b->limbs->of_body[i] = -1;
    for (int i = 1; result == TN_OK && i < b->model->body_count; ++i) {
        if (b->model->bodies[i].dim > 0 && b->limbs->of_body[i] < 0)
            result = add_tree(b, root_of(b, i), why);
    }
    if (result == TN_OK) measure(b);
    return result;
}

tn_result tni_joint_trees_create(tni_arena* arena, const tn_model* model, tni_joint_trees** limbs,
                                 tn_why* why)
{
    *limbs           = NULL;
    tn_result result = check(model, why);
    if (result != TN_OK) return result;
    tni_arena spare = tni_arena_make(&arena->host);
    builder   b     = {.model = model};
    result          = build(&b, arena, &spare, why);
    tni_arena_free(&spare);
    if (result == TN_OK) result = tni_tree_link_scenes_create(arena, b.limbs);
    if (result == TN_OK) *limbs = b.limbs;
    return result;
}
