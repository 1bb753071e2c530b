// common_joints: the rows of the most common joints (balls, hinges, universals, welds) between
// rigid or immovable bodies, four joints at a time, written straight to their place.
//
// They consist of two kinds of rows only, coincident points and perpendicular axes:
//     D = p2 - p1 = 0                J = -1, [p1]x   and   1, -[p2]x
//     s . t = 0                      J = 0, s x t    and   0, t x s
// with the same operations as rows.c and kinematics.c, so with the same bits; but an axis is
// rotated once a joint, not once a row and side, no intermediate tni_push is built, and four joints
// with the same rows share a vector, one in each lane. Joints that are left over, or of other
// kinds, are computed by rows.c.
//
// Measured, instructions of a hinge: 1420 -> 320 without J, 2760 -> 800 with it.
#include "joint/joint.h"

// Results of the lanes.
typedef struct common_values {
    double value[TNI_JOINT_ROWS_MAX][3][TNI_COMMON_LANES];     // C, rate, gamma
    double arm[2][3][TNI_COMMON_LANES];                        // from the centre to the anchor
    double torque[TNI_JOINT_ROWS_MAX][2][3][TNI_COMMON_LANES]; // of the rows of axes, by side
} common_values;

#define SET plain
#define TARGET
#define BYTES 16
#include "joint/common_joints_lanes.h"

#if defined(__GNUC__) && defined(__x86_64__)
#define SET    avx2
#define TARGET __attribute__((target("avx2")))
#define BYTES  32
#include "joint/common_joints_lanes.h"
#define HAS_WIDE __builtin_cpu_supports("avx2")
#else
#define four_avx2 four_plain
#define HAS_WIDE  false
#endif

// --- grouping ------------------------------------------------------------------------------------

static bool stands_still(tn_body_kind kind)
{
    return kind == TN_BODY_STATIC || kind == TN_BODY_KINEMATIC;
}

static bool is_common(const tn_model* model, const tni_constraint* constraint)
{
    if (constraint->kind != TNI_CONSTRAINT_JOINT || constraint->row_count == 0) return false;
    const tni_joint*   joint = &model->joints[constraint->index];
    const tn_body_kind one   = model->bodies[joint->body1].kind,
                       other = model->bodies[joint->body2].kind;
    if (one != TN_BODY_RIGID && !stands_still(one)) return false;
    if (other != TN_BODY_RIGID && !stands_still(other)) return false;
    for (int i = 0; i < constraint->row_count; ++i) {
        const tni_row_op op = joint->type->parts[joint->parts[i]].op;
        if (op != TNI_ROW_POINT && op != TNI_ROW_DOT) return false;
    }
    return true;
}

static const tni_row_part* part_of(const tn_model* model, const tni_constraint* constraint, int i)
{
    const tni_joint* joint = &model->joints[constraint->index];
    return &joint->type->parts[joint->parts[i]];
}

static bool is_alike(const tn_model* model, int one, int other)
{
    const tni_constraint *a = &model->constraints[one], *b = &model->constraints[other];
    if (a->row_count != b->row_count) return false;
    for (int i = 0; i < a->row_count; ++i) {
        const tni_row_part *p = part_of(model, a, i), *q = part_of(model, b, i);
        if (p->op != q->op || p->k != q->k || p->l != q->l) return false;
    }
    return true;
}

static int edge_to(const tn_model* model, const tni_constraint* constraint, int body)
{
    for (int e = constraint->edge_start; e < constraint->edge_start + constraint->edge_count; ++e) {
        if (model->edge_body[e] == body) return e;
    }
    return -1;
}

static tni_common_group group_of(const tn_model* model, const int* constraints)
{
    const tni_constraint* first = &model->constraints[constraints[0]];
    tni_common_group      g     = {.row_count = first->row_count};
    for (int i = 0; i < g.row_count; ++i) g.part[i] = *part_of(model, first, i);
    for (int lane = 0; lane < TNI_COMMON_LANES; ++lane) {
        const tni_constraint* c     = &model->constraints[constraints[lane]];
        const tni_joint*      joint = &model->joints[c->index];
        g.constraint[lane]          = constraints[lane];
        g.edge[lane][0]             = edge_to(model, c, joint->body1);
        g.edge[lane][1]             = edge_to(model, c, joint->body2);
    }
    return g;
}

tn_result tni_common_joints_create(tni_arena* arena, const tn_model* model,
                                   tni_common_joints* common)
{
    const int count = model->constraint_count;
    *common         = (tni_common_joints){.wide = HAS_WIDE};
    common->group   = TNI_TAKE(arena, tni_common_group, count / TNI_COMMON_LANES);
    common->in      = TNI_TAKE(arena, uint8_t, count);
    if (arena->failed) return TN_ERR_MEMORY;
    // Joints wait by kind until there are four of a kind.
    int waiting[TNI_COMMON_KINDS][TNI_COMMON_LANES], waiting_count[TNI_COMMON_KINDS] = {0},
                                                     kinds = 0;
    for (int i = 0; i < count; ++i) {
        int kind = 0;
        if (!is_common(model, &model->constraints[i])) continue;
        while (kind < kinds && !is_alike(model, waiting[kind][0], i)) ++kind;
        if (kind == TNI_COMMON_KINDS) continue;
        if (kind == kinds) ++kinds;
        waiting[kind][waiting_count[kind]++] = i;
        if (waiting_count[kind] < TNI_COMMON_LANES) continue;
        common->group[common->count++] = group_of(model, waiting[kind]);
        for (int lane = 0; lane < TNI_COMMON_LANES; ++lane) common->in[waiting[kind][lane]] = 1;
        waiting_count[kind] = 0;
    }
    return TN_OK;
}

// --- rows ----------------------------------------------------------------------------------------

// Torque of a unit force along world axis k at the arm r: a cross product, but with positive zeros.
TNI_INLINE void write_torque(const double r[3][TNI_COMMON_LANES], int lane, int k, double sign,
                             double* J)
{
    const int next = (k + 1) % 3, last = (k + 2) % 3;
    J[k]    = 0;
    J[next] = 0 + sign * r[last][lane];
    J[last] = 0 - sign * r[next][lane];
}

static void write_block(const tni_common_group* g, const common_values* v, int lane, int side,
                        double* J)
{
    for (int i = 0; i < g->row_count; ++i, J += 6) {
        const double sign = side == 0 ? -1 : 1;
        if (g->part[i].op == TNI_ROW_POINT) {
            for (int k = 0; k < 3; ++k) J[k] = sign * (k == g->part[i].k);
            write_torque(v->arm[side], lane, g->part[i].k, sign, J + 3);
        } else {
            for (int k = 0; k < 3; ++k) {
                J[k]     = 0;
                J[3 + k] = v->torque[i][side][k][lane];
            }
        }
    }
}

void tni_common_values(const tn_model* model, const tni_common_joints* common,
                       const tni_common_group* g, const tni_view* views, double* C, double* rate,
                       double* gamma, double* (*block)[2])
{
    const tni_joint* joint[TNI_COMMON_LANES];
    const tni_view * one[TNI_COMMON_LANES], *other[TNI_COMMON_LANES];
    common_values    v;
    for (int lane = 0; lane < TNI_COMMON_LANES; ++lane) {
        joint[lane] = &model->joints[model->constraints[g->constraint[lane]].index];
        one[lane]   = &views[joint[lane]->body1];
        other[lane] = &views[joint[lane]->body2];
    }
    if (common->wide) four_avx2(g, joint, one, other, block != NULL, &v);
    else four_plain(g, joint, one, other, block != NULL, &v);
    for (int lane = 0; lane < TNI_COMMON_LANES; ++lane) {
        const int row = model->constraints[g->constraint[lane]].row_start;
        for (int i = 0; i < g->row_count; ++i) {
            C[row + i]     = v.value[i][0][lane];
            rate[row + i]  = v.value[i][1][lane];
            gamma[row + i] = v.value[i][2][lane];
        }
        for (int side = 0; block != NULL && side < 2; ++side) {
            if (block[lane][side] != NULL) write_block(g, &v, lane, side, block[lane][side]);
        }
    }
}
