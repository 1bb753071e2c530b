// Errors of rows in axes that rotate with body 1, converted to the axes where it was: offsets and
// tilts are vectors, and components that the joint leaves free count as zero. Rows in world axes do
// not change.
#include "joint/joint.h"
#include "support/random_scene.h"

static tni_mat3 random_turn(test_random* r)
{
    return tni_quat_matrix(random_quat(r));
}

// A vector of the world that has no component along axis z of F.
static tn_vec3 across(test_random* r, const tni_mat3* F, double size)
{
    const tn_vec3 z = tni_column(F, 2), d = random_vec3(r, size);
    return tni_add_scaled(d, -tni_dot(d, z), z);
}

// Rows of an offset d and a small turn t of frame 2, where frame 1 has the axes F.
static void write_rows(const tni_joint* joint, int count, const tni_mat3* F, tn_vec3 d, tn_vec3 t,
                       double* values)
{
    for (int i = 0; i < count; ++i) {
        const tni_row_part* part = &joint->type->parts[joint->parts[i]];
        if (part->op == TNI_ROW_LINE) values[i] = tni_dot(d, tni_column(F, part->k));
        if (part->op == TNI_ROW_DOT) // a1_k . (t x a_l)
            values[i] = tni_dot(tni_column(F, part->k), tni_cross(t, tni_column(F, part->l)));
        if (part->op == TNI_ROW_POINT) values[i] = tni_at(d, part->k);
    }
}

static void check_type(tn_joint_type type, uint64_t seed)
{
    test_random       r    = {seed};
    random_mechanism* m    = random_mechanism_make();
    const tn_body_id  one  = random_add_body(m, &r, RANDOM_RIGID, random_vec3(&r, 1), false),
                     two   = random_add_body(m, &r, RANDOM_RIGID, random_vec3(&r, 1), false);
    const tn_joint_def def = random_joint(m, &r, (random_joint_type){type, 0}, one, two);
    (void)tn_scene_add_joint(m->scene, &def);
    random_mechanism_build(m);
    const tni_joint* joint = &m->model->joints[0];
    const int        count = m->model->constraints[joint->constraint].held_count;
    const tni_mat3   R = random_turn(&r), R0 = random_turn(&r), F = tni_mat_mul(&R, &joint->F1),
                   F0  = tni_mat_mul(&R0, &joint->F1);
    const bool    weld = type == TN_JOINT_WELD; // it holds all three turns
    const tn_vec3 d = across(&r, &F, 1), t = weld ? random_vec3(&r, 1) : across(&r, &F, 1);
    double        values[6], wanted[6];
    write_rows(joint, count, &F, d, t, values);
    write_rows(joint, count, &F0, d, t, wanted);
    tni_joint_rotate_errors(m->model, joint, &R0, &R, values);
    for (int i = 0; i < count; ++i) CHECK_NEAR(values[i], wanted[i], 1e-14);
    random_mechanism_free(m);
}

TEST(rotated_errors_are_those_of_the_same_offset_and_rotation)
{
    static const tn_joint_type types[] = {TN_JOINT_HINGE, TN_JOINT_CYLINDER, TN_JOINT_WELD,
                                          TN_JOINT_BALL, TN_JOINT_POINT_ON_LINE};
    for (int k = 0; k < 5; ++k)
        for (uint64_t seed = 1; seed <= 20; ++seed) check_type(types[k], 10 * seed + (uint64_t)k);
}
