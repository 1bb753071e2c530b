// common_joints: rows computed four at a time, against tni_constraint_rows, bit for bit.
#include "joint/joint.h"
#include "scenes/scenes.h"
#include "test.h"

#include <stdlib.h>

typedef struct place {
    tn_scene* scene;
    tn_model* model;
    tn_state* state;
    tni_view* views;
    double*   q;
} place;

// A scene with every body moved and turned at random, so that no joint is closed.
static place random_place(const char* spec, uint64_t seed)
{
    place       p      = {0};
    test_random random = {seed};
    tn_why      why    = {0};
    CHECK_OK(tns_build(NULL, spec, &p.scene, &why));
    CHECK_OK(tn_scene_compile(p.scene, &p.model, &why));
    CHECK_OK(tn_state_create(p.model, &p.state));
    double* d = calloc((size_t)p.model->u_count, sizeof *d);
    p.views   = calloc((size_t)p.model->body_count, sizeof *p.views);
    p.q       = calloc((size_t)p.model->q_count, sizeof *p.q);
    for (int i = 0; i < p.model->u_count; ++i) {
        d[i]          = seed == 0 ? 0 : test_random_between(&random, -0.3, 0.3);
        p.state->u[i] = seed == 0 ? 0 : test_random_between(&random, -2, 2);
    }
    tni_advance(p.model, p.state->q, d, p.q);
    tni_views(p.model, 0.5, p.q, p.state->u, p.views);
    free(d);
    return p;
}

static void place_free(place* p)
{
    free(p->views);
    free(p->q);
    tn_state_free(p->state);
    tn_model_free(p->model);
    tn_scene_free(p->scene);
}

static bool same(const double* a, const double* b, int count)
{
    return memcmp(a, b, sizeof *a * (size_t)count) == 0;
}

static void check_lane(const place* p, const tni_common_group* g, int lane, const double* C,
                       const double* rate, const double* gamma, double (*block)[36])
{
    const tni_constraint* c = &p->model->constraints[g->constraint[lane]];
    double                want[3][6], wanted[2][36], *J[2] = {wanted[0], wanted[1]};
    const tni_rows_out    out = {want[0], want[1], want[2], J, NULL};
    tni_constraint_rows(p->model, c, p->views, 0.5, p->state->z, &out);
    CHECK(same(C + c->row_start, want[0], c->row_count));
    CHECK(same(rate + c->row_start, want[1], c->row_count));
    CHECK(same(gamma + c->row_start, want[2], c->row_count));
    for (int side = 0; block != NULL && side < 2; ++side) {
        const int edge = g->edge[lane][side];
        if (edge >= 0) CHECK(same(block[side], wanted[edge - c->edge_start], 6 * c->row_count));
    }
}

static int check_scene(const char* spec, uint64_t seed, bool wide, bool jacobians)
{
    place             p     = random_place(spec, seed);
    tn_host           host  = tn_default_host();
    tni_arena         arena = tni_arena_make(&host);
    tni_common_joints commons;
    CHECK_OK(tni_common_joints_create(&arena, p.model, &commons));
    commons.wide  = commons.wide && wide;
    double *C     = calloc((size_t)p.model->row_count, sizeof *C),
           *rate  = calloc((size_t)p.model->row_count, sizeof *C),
           *gamma = calloc((size_t)p.model->row_count, sizeof *C);
    int grouped   = 0;
    for (int i = 0; i < commons.count; ++i) {
        const tni_common_group* g = &commons.group[i];
        double                  numbers[TNI_COMMON_LANES][2][36], *block[TNI_COMMON_LANES][2];
        for (int k = 0; k < 2 * TNI_COMMON_LANES; ++k)
            block[k / 2][k % 2] = g->edge[k / 2][k % 2] >= 0 ? numbers[k / 2][k % 2] : NULL;
        tni_common_values(p.model, &commons, g, p.views, C, rate, gamma, jacobians ? block : NULL);
        for (int lane = 0; lane < TNI_COMMON_LANES; ++lane)
            check_lane(&p, g, lane, C, rate, gamma, jacobians ? numbers[lane] : NULL);
    }
    for (int i = 0; i < p.model->constraint_count; ++i) grouped += commons.in[i];
    CHECK_INT(grouped, TNI_COMMON_LANES * commons.count);
    free(C);
    free(rate);
    free(gamma);
    tni_arena_free(&arena);
    place_free(&p);
    return grouped;
}

TEST(four_joints_at_a_time_have_the_bits_of_one)
{
    static const char* const scenes[] = {"strandbeest:legs=4", "octahedron_tube:rings=1,around=8",
                                         "humanoid", "scissor:segments=5", "bricard"};
    for (int i = 0; i < 5; ++i) {
        for (uint64_t seed = 0; seed < 4; ++seed) { // 0: zeros, whose signs count too
            for (int how = 0; how < 4; ++how)
                CHECK(check_scene(scenes[i], seed, how % 2 == 0, how < 2) >= 4);
        }
    }
}

TEST(joints_of_other_bodies_and_kinds_are_computed_one_by_one)
{
    CHECK_INT(check_scene("planar_web:joints=20,loops=3", 1, true, true), 0);
    CHECK(check_scene("slider_crank", 1, true, true) < 4);
}

TEST(forces_and_angles_alone_have_the_bits_of_whole_rows)
{
    static const char* const scenes[] = {"strandbeest:legs=4", "humanoid",
                                         "planar_web:joints=20,loops=3", "slider_crank",
                                         "differential"};
    test_random              random   = {3};
    for (int i = 0; i < 5; ++i) {
        place   p = random_place(scenes[i], 7);
        double *z = calloc((size_t)p.model->coordinate_count + 1, sizeof *z), lambda[6];
        for (int k = 0; k < p.model->coordinate_count; ++k)
            z[k] = p.state->z[k] = test_random_between(&random, -20, 20);
        tni_follow_coordinates(p.model, p.views, z);
        for (int k = 0; k < 6; ++k) lambda[k] = test_random_between(&random, -1, 1);
        for (int j = 0; j < p.model->joint_count; ++j) {
            const tni_joint* joint = &p.model->joints[j];
            const tni_sides  sides = tni_sides_of(joint, p.views);
            const tn_vec3
                f = tni_joint_reaction_force(p.model, joint, sides, 0.5, p.state->z, lambda),
                g = tni_joint_reaction(p.model, joint, sides, 0.5, p.state->z, lambda).force;
            CHECK(memcmp(&f, &g, sizeof f) == 0);
            for (int k = 0; k < joint->coordinate_count; ++k) {
                const uint8_t of    = joint->type->coordinates[k];
                const double  whole = tni_joint_coordinate(p.model, joint, k, sides, p.state->z).C;
                if (of == TNI_COORDINATE_ANGLE || of == TNI_COORDINATE_BEND)
                    CHECK(z[joint->coordinate_start + k] == whole);
                else
                    CHECK(z[joint->coordinate_start + k] ==
                          p.state->z[joint->coordinate_start + k]);
            }
        }
        free(z);
        place_free(&p);
    }
}
