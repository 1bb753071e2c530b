// Scenes with closed loops: what they count, that they are assembled with the lengths they promise,
// and how freely they may move, by the rank of their rows at the start. The rows are made here,
// apart from the library's own, and eliminated with full pivoting.
#include "scenes/scenes.h"
#include "test.h"

#include <stdlib.h>

static tn_scene* build(const char* spec)
{
    tn_scene* scene = NULL;
    tn_why    why;
    CHECK_OK(tns_build(NULL, spec, &scene, &why));
    if (scene == NULL) abort();
    CHECK_OK(tn_scene_problem(scene, &why));
    return scene;
}

static tn_vec3 sub(tn_vec3 a, tn_vec3 b)
{
    return (tn_vec3){a.x - b.x, a.y - b.y, a.z - b.z};
}
static tn_vec3 scale(double s, tn_vec3 a)
{
    return (tn_vec3){s * a.x, s * a.y, s * a.z};
}
static double dot(tn_vec3 a, tn_vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static double length(tn_vec3 a)
{
    return sqrt(dot(a, a));
}
static tn_vec3 cross(tn_vec3 a, tn_vec3 b)
{
    return (tn_vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
static tn_vec3 rotate_back(tn_quat q, tn_vec3 v)
{
    const tn_vec3 u = {-q.x, -q.y, -q.z}, t = scale(2, cross(u, v)), w = cross(u, t);
    return (tn_vec3){v.x + q.w * t.x + w.x, v.y + q.w * t.y + w.y, v.z + q.w * t.z + w.z};
}
static tn_vec3 into(tn_frame pose, tn_vec3 p)
{
    return rotate_back(pose.orientation, sub(p, pose.position));
}

static int row_count(const tn_scene* scene)
{
    int rows = 0;
    for (int i = 0; i < tn_scene_joint_count(scene); ++i) {
        const tn_joint_type type = tn_scene_joint(scene, i)->type;
        const bool          six  = type == TN_JOINT_WELD || type == TN_JOINT_MOTOR;
        rows += six ? 6 : 5; // hinges and sliders have five
        CHECK(six || type == TN_JOINT_HINGE || type == TN_JOINT_SLIDER);
    }
    return rows;
}

// ---- Rank
// -----------------------------------------------------------------------------------------

typedef struct matrix {
    int     rows, columns;
    double* entries;
    int     rank;
    double* motion; ///< the one motion left, when rank = columns - 1
} matrix;

static void add_row(matrix* J, int row, tn_body_id body, double sign, tn_vec3 center, tn_vec3 point,
                    tn_vec3 direction, bool turning)
{
    if (body.bits == 0) return;
    double* at = J->entries + (size_t)row * (size_t)J->columns + 6 * (body.bits - 1);
    // d . (v + w x r) = d . v + (r x d) . w
    const tn_vec3 v      = turning ? (tn_vec3){0, 0, 0} : direction;
    const tn_vec3 w      = turning ? direction : cross(sub(point, center), direction);
    const double  six[6] = {v.x, v.y, v.z, w.x, w.y, w.z};
    for (int i = 0; i < 6; ++i) at[i] += sign * six[i];
}

static void add_rows(matrix* J, int* row, const tn_scene* scene, const tn_joint_def* def)
{
    const tn_vec3 z     = scale(1 / length(def->axis), def->axis);
    const tn_vec3 other = fabs(z.x) < 0.5 ? (tn_vec3){1, 0, 0} : (tn_vec3){0, 1, 0};
    const tn_vec3 n = cross(z, other), x = scale(1 / length(n), n), axes[3] = {x, cross(z, x), z};
    const int     straight = def->type == TN_JOINT_SLIDER ? 2 : 3;
    const int     turning  = def->type == TN_JOINT_HINGE ? 2 : 3;
    for (int i = 0; i < straight + turning; ++i) {
        const tn_vec3    d         = i < straight ? axes[i] : axes[i - straight];
        const tn_body_id bodies[2] = {def->body1, def->body2};
        for (int k = 0; k < 2; ++k) {
            if (bodies[k].bits == 0) continue;
            const tn_vec3 center = tn_scene_body(scene, (int)bodies[k].bits - 1)->pose.position;
            add_row(J, *row, bodies[k], k == 0 ? -1 : 1, center, def->anchor, d, i >= straight);
        }
        ++*row;
    }
}

// Gauss and Jordan with full pivoting. order[] is the columns as they were picked.
static void eliminate(matrix* J, int* order)
{
    double first = 0;
    for (int k = 0; k < J->rows && k < J->columns; ++k) {
        int    row = k, column = k;
        double best = 0;
        for (int i = k; i < J->rows; ++i) {
            const double* line = J->entries + (size_t)i * (size_t)J->columns;
            for (int j = k; j < J->columns; ++j) {
                if (fabs(line[j]) > best) best = fabs(line[j]), row = i, column = j;
            }
        }
        if (k == 0) first = best;
        if (best <= 1e-9 * first) return;
        CHECK(best > 1e-5 * first); // no doubt between the two
        const int kept = order[k];
        order[k]       = order[column];
        order[column]  = kept;
        for (int i = 0; i < J->rows; ++i) {
            double* line = J->entries + (size_t)i * (size_t)J->columns;
            double  t    = line[k];
            line[k] = line[column], line[column] = t;
        }
        double* pivot = J->entries + (size_t)k * (size_t)J->columns;
        double* from  = J->entries + (size_t)row * (size_t)J->columns;
        for (int j = 0; j < J->columns; ++j) {
            const double t = pivot[j];
            pivot[j] = from[j], from[j] = t;
        }
        for (int i = 0; i < J->rows; ++i) {
            double* line = J->entries + (size_t)i * (size_t)J->columns;
            if (i == k || line[k] == 0) continue;
            const double factor = line[k] / pivot[k];
            for (int j = k; j < J->columns; ++j) line[j] -= factor * pivot[j];
        }
        J->rank = k + 1;
    }
}

static matrix analyse(const tn_scene* scene)
{
    matrix J   = {row_count(scene), 6 * tn_scene_body_count(scene), NULL, 0, NULL};
    J.entries  = calloc((size_t)J.rows * (size_t)J.columns, sizeof(double));
    J.motion   = calloc((size_t)J.columns, sizeof(double));
    int* order = calloc((size_t)J.columns, sizeof(int));
    if (J.entries == NULL || J.motion == NULL || order == NULL) abort();
    int row = 0;
    for (int i = 0; i < tn_scene_joint_count(scene); ++i)
        add_rows(&J, &row, scene, tn_scene_joint(scene, i));
    for (int i = 0; i < J.columns; ++i) order[i] = i;
    eliminate(&J, order);
    if (J.rank == J.columns - 1) {
        J.motion[order[J.rank]] = 1;
        for (int i = 0; i < J.rank; ++i) {
            const double* line = J.entries + (size_t)i * (size_t)J.columns;
            J.motion[order[i]] = -line[J.rank] / line[i];
        }
    }
    free(order);
    return J;
}

static void forget(matrix* J)
{
    free(J->entries);
    free(J->motion);
}

static void check_counts(const char* spec, int bodies, int rows)
{
    tn_scene* scene = build(spec);
    CHECK_INT(tn_scene_body_count(scene), bodies);
    CHECK_INT(row_count(scene), rows);
    tn_scene_free(scene);
}

static void check_mobility(const char* spec, int rows, int redundant, int freedom)
{
    tn_scene* scene = build(spec);
    matrix    J     = analyse(scene);
    CHECK_INT(J.rows, rows);
    CHECK_INT(J.rows - J.rank, redundant);
    CHECK_INT(J.columns - J.rank, freedom);
    forget(&J);
    tn_scene_free(scene);
}

// ---- Ready to run
// --------------------------------------------------------------------------------

typedef struct machine {
    tn_model*   model;
    tn_state*   state;
    tn_stepper* stepper;
} machine;

static machine start(const char* spec)
{
    machine   m     = {NULL, NULL, NULL};
    tn_scene* scene = build(spec);
    CHECK_OK(tn_scene_compile(scene, &m.model, NULL));
    CHECK_OK(tn_state_create(m.model, &m.state));
    tn_settings settings = tn_default_settings();
    settings.method      = TN_METHOD_MULTIPLIER; // mechanics to many digits
    CHECK_OK(tn_stepper_create(m.model, &settings, &m.stepper, NULL));
    if (m.stepper == NULL) abort();
    tn_scene_free(scene);
    return m;
}

static void stop(machine* m)
{
    tn_stepper_free(m->stepper);
    tn_state_free(m->state);
    tn_model_free(m->model);
}

static double mass_of(const machine* m)
{
    double mass = 0;
    for (int i = 0; i < tn_model_counts(m->model).bodies; ++i)
        mass += tn_model_body_mass(m->model, (tn_body_id){(uint32_t)i + 1});
    return mass;
}

// ---- Tests
// ----------------------------------------------------------------------------------------

TEST(plane_loops_have_one_freedom_and_three_rows_too_many)
{
    check_mobility("fourbar", 20, 3, 1);
    check_mobility("fourbar:crank=0.4,coupler=1.2,rocker=0.6,ground=0.6", 20, 3, 1);
    check_mobility("fourbar:motor=2", 21, 3, 0);
    check_mobility("slider_crank", 20, 3, 1);
    check_mobility("slider_crank:motor=-1", 21, 3, 0);
}

TEST(peaucellier_has_nine_redundant_rows)
{
    check_mobility("peaucellier", 50, 9, 1);
}

TEST(bricard_moves_although_six_hinges_lock_a_ring)
{
    check_mobility("bricard", 30, 1, 1);
}

TEST(scissor_counts_its_freedom_for_every_foot) // loose axles spin: 2 n of them, and the foot's
{
    for (int n = 1; n <= 4; ++n) {
        char spec[64];
        snprintf(spec, sizeof spec, "scissor:segments=%d", n);
        check_mobility(spec, 50 * n + 5, 16 * n, 1 + 2 * n);
        snprintf(spec, sizeof spec, "scissor:segments=%d,foot=axle", n);
        check_mobility(spec, 50 * n, 16 * n - 3, 3 + 2 * n);
        snprintf(spec, sizeof spec, "scissor:segments=%d,foot=none", n);
        check_mobility(spec, 50 * n - 10, 16 * n - 8, 2 + 2 * n);
    }
    check_mobility("scissor:segments=10,foot=none", 490, 152, 22);
    check_counts("scissor:segments=10,foot=axle", 61, 500);
    check_counts("scissor:segments=50,foot=none", 300, 2490);
    check_counts("scissor:segments=220", 1321, 11005);
}

TEST(a_jansen_leg_adds_nine_redundant_rows)
{
    check_mobility("strandbeest:legs=1,motor=0", 56, 9, 1);
    check_mobility("strandbeest:legs=6,motor=0", 281, 54, 1);
    check_mobility("strandbeest:legs=6", 282, 54, 0);
    check_mobility("strandbeest:legs=2,motor=0,frame=free", 95, 18, 7);
    check_counts("strandbeest:legs=20,motor=0", 122, 911);
    check_counts("strandbeest:legs=100,motor=0,frame=free", 602, 4505);
}

TEST(octahedra_have_one_freedom)
{
    check_mobility("octahedron", 126, 7, 1);
    check_mobility("octahedron:b=0.01", 126, 7, 1);
    check_mobility("octahedron:b=0.18", 126, 7, 1);
    check_mobility("octahedron_cube:n=1", 126, 7, 1);
    check_mobility("octahedron_cube:n=2", 966, 151, 1);
    check_mobility("octahedron_tube:rings=1,around=3", 366, 43, 1);
    check_mobility("octahedron_tube:rings=1,around=5", 606, 67, 1);
    check_mobility("octahedron_tube:rings=2,around=4", 966, 151, 1);
}

TEST(octahedra_count_what_their_formulas_say)
{
    check_counts("octahedron_tube:rings=8,around=20", 2600, 19206);
    check_counts("octahedron_tube:rings=3,around=40", 2000, 14406);
    check_counts("octahedron_cube:n=5", 1900, 15006);
}

static tn_vec3 pin_of(const tn_scene* scene, const char* name)
{
    const tn_joint_id id = tn_scene_find_joint(scene, name);
    CHECK(id.bits != 0);
    return id.bits == 0 ? (tn_vec3){0, 0, 0} : tn_scene_joint(scene, (int)id.bits - 1)->anchor;
}

static void check_length(const tn_scene* scene, const char* pin1, const char* pin2, double wanted)
{
    const tn_vec3 way = sub(pin_of(scene, pin2), pin_of(scene, pin1));
    CHECK_NEAR(length(way), wanted, 1e-12);
}

TEST(plane_loops_have_their_lengths)
{
    tn_scene* scene = build("fourbar:crank=0.35,coupler=0.7,rocker=0.9,ground=0.65");
    check_length(scene, "O", "B", 0.35);
    check_length(scene, "B", "C", 0.7);
    check_length(scene, "C", "D", 0.9);
    check_length(scene, "O", "D", 0.65);
    tn_scene_free(scene);
    scene = build("slider_crank:crank=0.45,rod=1.3");
    check_length(scene, "O", "B", 0.45);
    check_length(scene, "B", "C", 1.3);
    CHECK(pin_of(scene, "C").z == 0 && pin_of(scene, "C").y == 0);
    tn_scene_free(scene);
}

TEST(every_fourbar_closes) // at the corners of the range
{
    for (int n = 0; n < 16; ++n) {
        char spec[128];
        snprintf(spec, sizeof spec, "fourbar:crank=%g,coupler=%g,rocker=%g,ground=%g",
                 n & 1 ? 0.1 : 0.4, n & 2 ? 0.6 : 1.2, n & 4 ? 0.6 : 1.0, n & 8 ? 0.6 : 1.0);
        tn_scene* scene = build(spec);
        check_length(scene, "B", "C", n & 2 ? 0.6 : 1.2);
        check_length(scene, "C", "D", n & 4 ? 0.6 : 1.0);
        tn_scene_free(scene);
    }
}

TEST(peaucellier_inverts_a_circle_to_a_line)
{
    tn_scene* scene = build("peaucellier");
    check_length(scene, "O1", "A1", 3);
    check_length(scene, "O2", "B2", 3);
    check_length(scene, "A1", "C1", 2);
    check_length(scene, "B1", "C2", 2);
    check_length(scene, "A2", "tip", 2);
    check_length(scene, "B2", "tip", 2);
    check_length(scene, "Q", "C1", 0.9);
    check_length(scene, "Q", "O1", 0.9);
    const tn_vec3 O = pin_of(scene, "O1"), C = pin_of(scene, "C1"), D = pin_of(scene, "tip");
    CHECK_NEAR(length(sub(C, O)) * length(sub(D, O)), 5, 1e-12);
    CHECK_NEAR(O.z - D.z, 5 / 1.8, 1e-12);
    tn_scene_free(scene);
}

static tn_vec3 velocity_at(const tn_scene* scene, const double* motion, tn_body_id body,
                           tn_vec3 point)
{
    const double* u = motion + 6 * (body.bits - 1);
    const tn_vec3 r = sub(point, tn_scene_body(scene, (int)body.bits - 1)->pose.position);
    const tn_vec3 w = cross((tn_vec3){u[3], u[4], u[5]}, r);
    return (tn_vec3){u[0] + w.x, u[1] + w.y, u[2] + w.z};
}

TEST(peaucellier_moves_its_tip_along_the_line)
{
    tn_scene*           scene = build("peaucellier");
    matrix              J     = analyse(scene);
    const tn_joint_id   tip   = tn_scene_find_joint(scene, "tip");
    const tn_joint_def* def   = tn_scene_joint(scene, (int)tip.bits - 1);
    const tn_vec3       v     = velocity_at(scene, J.motion, def->body1, def->anchor);
    CHECK(fabs(v.x) > 0.1);
    CHECK_LESS(fabs(v.z), 1e-12 * fabs(v.x));
    CHECK_LESS(fabs(v.y), 1e-12 * fabs(v.x));
    forget(&J);
    tn_scene_free(scene);
}

TEST(loops_left_to_gravity_do_not_stand_still) // its power on the one motion they have
{
    static const char* const specs[] = {"fourbar",
                                        "slider_crank",
                                        "peaucellier",
                                        "bricard",
                                        "strandbeest:legs=6,motor=0",
                                        "octahedron",
                                        "octahedron:b=0.15",
                                        "octahedron_tube:rings=1,around=4"};
    for (size_t n = 0; n < sizeof specs / sizeof specs[0]; ++n) {
        tn_scene* scene = build(specs[n]);
        matrix    J     = analyse(scene);
        double    power = 0, most = 0;
        for (int i = 0; i < J.columns / 6; ++i) power += J.motion[6 * i + 2];
        for (int i = 0; i < J.columns; ++i) most = fmax(most, fabs(J.motion[i]));
        CHECK(most > 0);
        CHECK(fabs(power) > 0.01 * most);
        forget(&J);
        tn_scene_free(scene);
    }
}

static void check_leg(const tn_scene* scene, int leg)
{
    static const struct {
        const char *pin1, *pin2;
        double      length;
    } bars[] = {{"B1", "X", 0.415}, {"B2", "Y2", 0.393}, {"B1", "Z", 0.401}, {"X", "Z", 0.558},
                {"Z", "W", 0.394},  {"W", "Y1", 0.367},  {"P1", "X", 0.5},   {"P2", "Y1", 0.619}};
    for (size_t i = 0; i < sizeof bars / sizeof bars[0]; ++i) {
        char pin1[32], pin2[32];
        snprintf(pin1, sizeof pin1, "leg%d.%s", leg, bars[i].pin1);
        snprintf(pin2, sizeof pin2, "leg%d.%s", leg, bars[i].pin2);
        check_length(scene, pin1, pin2, bars[i].length);
    }
}

TEST(strandbeest_has_the_holy_numbers)
{
    tn_scene* scene = build("strandbeest:legs=8");
    for (int leg = 0; leg < 8; ++leg) check_leg(scene, leg);
    const tn_vec3 P = pin_of(scene, "leg2.P1"), B = pin_of(scene, "leg2.B1");
    const tn_vec3 axis = {0, P.y, pin_of(scene, "crank").z};
    CHECK_NEAR(length(sub(P, axis)), 0.15, 1e-12);
    CHECK_NEAR(axis.z - B.z, 0.078, 1e-12);
    CHECK_NEAR(-B.x, 0.38, 1e-12);
    tn_scene_free(scene);
}

// Rows as the rank above has them, and a start on both kinds of constraints.
TEST(loops_start_assembled_and_with_velocities_that_fit)
{
    static const struct {
        const char* spec;
        int         mobility, redundant;
    } cases[] = {{"fourbar", 1, 3},
                 {"slider_crank", 1, 3},
                 {"bricard", 1, 1},
                 {"peaucellier", 1, 9},
                 {"peaucellier:speed=2.2678", 1, 9},
                 {"peaucellier:speed=-2.2678", 1, 9},
                 {"peaucellier:speed=0.1", 1, 9},
                 {"octahedron", 1, 7},
                 {"octahedron:b=0.02", 1, 7},
                 {"octahedron:b=0.17", 1, 7},
                 {"octahedron_cube:n=2", 1, 151},
                 {"octahedron_tube:rings=2,around=4", 1, 151},
                 {"scissor:segments=3", 7, 48},
                 {"strandbeest:legs=4,motor=0", 1, 36},
                 {"strandbeest:legs=4,motor=0,frame=free,load=20", 7, 36},
                 {"strandbeest:legs=4,motor=0,load=1e6", 1, 36}};
    for (size_t n = 0; n < sizeof cases / sizeof cases[0]; ++n) {
        machine  m     = start(cases[n].spec);
        tn_check check = {0};
        CHECK_OK(tn_stepper_check(m.stepper, m.state, &check, NULL));
        CHECK_INT(check.mobility, cases[n].mobility);
        CHECK_INT(check.redundant_count, cases[n].redundant);
        tn_check    by_default = {0}; // a check says the same for every method
        tn_stepper* stepper    = NULL;
        CHECK_OK(tn_stepper_create(m.model, NULL, &stepper, NULL));
        CHECK_OK(tn_stepper_check(stepper, m.state, &by_default, NULL));
        CHECK_INT(by_default.mobility, cases[n].mobility);
        CHECK_INT(by_default.redundant_count, cases[n].redundant);
        tn_stepper_free(stepper);
        CHECK_LESS(check.assembly_error, 1e-14);
        CHECK_LESS(check.velocity_error, 1e-14);
        stop(&m);
    }
}

// By inversion the tip stands at x = (l^2 - s^2) / 2r tan p, p being the angle of OC, and QC is at
// 2p by the angle at the centre: x' = (l^2 - s^2) / 4r (2p)' / cos^2 p.
TEST(peaucellier_starts_with_the_speed_asked_for)
{
    static const double speeds[] = {2.2678, -2.2678, 1, 0};
    for (int n = 0; n < 4; ++n) {
        char spec[64];
        snprintf(spec, sizeof spec, "peaucellier:speed=%g", speeds[n]);
        tn_scene*     scene    = build(spec);
        const tn_vec3 way      = sub(pin_of(scene, "C1"), pin_of(scene, "O1")),
                      tip      = pin_of(scene, "tip");
        machine          m     = start(spec);
        double           crank = 0;
        const tn_body_id AD    = tn_model_find_body(m.model, "AD");
        tn_state_joint_velocity(m.state, tn_model_find_joint(m.model, "Q"), &crank);
        CHECK_NEAR(crank, speeds[n], 1e-14);
        const tn_twist u = tn_state_velocity(m.state, AD);
        const tn_vec3  r = sub(tip, tn_state_pose(m.state, AD).position), w = cross(u.angular, r);
        const double   cosine = -way.z / length(way);
        CHECK_NEAR(u.linear.x + w.x, -speeds[n] * 5 / 3.6 / (cosine * cosine), 1e-13);
        CHECK_NEAR(u.linear.z + w.z, 0, 1e-14);
        stop(&m);
        tn_scene_free(scene);
    }
}

// There all pins but Q lie on a line from O, of which `down` is the cosine to the vertical. A bar
// has 2 kg/m and its centre in the middle: length * (sum of its ends) is its share of mass * depth.
TEST(peaucellier_just_reaches_its_singular_position_at_the_speed_it_names)
{
    machine         m = start("peaucellier:speed=2.26814164");
    const double    A = 3, C = 1, D = 5, down = C / 1.8; // OC = 2 r cos p
    const double    arms = 2 * (3 * A + 2 * (A + C) + 2 * (A + D)), crank = 0.9 * (0.9 + C * down);
    const tn_energy energy = tn_state_energy(m.state);
    CHECK_NEAR(energy.kinetic + energy.gravity, 9.81 * (4 * mass_of(&m) - arms * down - crank),
               1e-6); // of the last digit of the speed: I w dw = 40 * 2.3 * 5e-9
    stop(&m);
}

// It creeps up to OC = 1.00024, where its energy is spent, and turns at 3.2 s.
TEST(peaucellier_nearly_reaches_its_singular_position)
{
    machine          m    = start("peaucellier:speed=-2.2678");
    const tn_body_id QC   = tn_model_find_body(m.model, "QC");
    double           near = HUGE_VAL;
    for (int i = 0; i < 700; ++i) {
        CHECK_OK(tn_stepper_step(m.stepper, m.state, 0.005, NULL, NULL));
        const tn_vec3 Q = {0, 0, 3.1}, O = {0, 0, 4};
        const tn_vec3 middle = sub(tn_state_pose(m.state, QC).position, Q);
        near                 = fmin(near, length(sub(scale(2, middle), sub(O, Q))));
    }
    CHECK_NEAR(near, 1.00024, 1e-6);
    stop(&m);
}

TEST(octahedron_faces_are_alike_for_every_b)
{
    for (int n = 1; n <= 18; ++n) {
        char spec[64];
        snprintf(spec, sizeof spec, "octahedron:b=%g", n / 100.0);
        tn_scene* scene = build(spec);
        for (int j = 0; j < 24; ++j) { // three hinges after each other belong to one face
            const tn_vec3 here = tn_scene_joint(scene, j)->anchor;
            const tn_vec3 next = tn_scene_joint(scene, j % 3 == 2 ? j - 2 : j + 1)->anchor;
            CHECK_INT(tn_scene_joint(scene, j)->body2.bits, 13 + j / 3);
            CHECK_NEAR(length(sub(next, here)), 0.19 * sqrt(2), 1e-15);
        }
        tn_scene_free(scene);
    }
}

TEST(strandbeest_load_is_so_many_times_the_machine)
{
    static const double loads[] = {0.5, 5, 20, 1e6};
    static const int    legs[]  = {1, 12, 100};
    for (int n = 0; n < 3; ++n) {
        char spec[64];
        snprintf(spec, sizeof spec, "strandbeest:legs=%d", legs[n]);
        machine      m    = start(spec);
        const double bare = mass_of(&m);
        stop(&m);
        for (int i = 0; i < 4; ++i) {
            snprintf(spec, sizeof spec, "strandbeest:legs=%d,load=%g", legs[n], loads[i]);
            m = start(spec);
            CHECK_NEAR(mass_of(&m) / bare, 1 + loads[i], 1e-14 * (1 + loads[i]));
            stop(&m);
        }
    }
}

// The energy of the frame, turning about its origin, tells the slab: 0.684 by 0.4 by 0.03 m for
// four legs, 0.078 m below the crank.
TEST(strandbeest_load_has_the_inertia_of_a_slab)
{
    machine bare      = start("strandbeest:legs=4,frame=free"),
            m         = start("strandbeest:legs=4,frame=free,load=3");
    const double mass = 3 * mass_of(&bare), x = 0.684, y = 0.4, z = 0.03, arm = 0.078 * 0.078;
    const double inertia[3] = {mass * ((y * y + z * z) / 12 + arm),
                               mass * ((x * x + z * z) / 12 + arm), mass * (x * x + y * y) / 12};
    for (int axis = 0; axis < 3; ++axis) {
        const tn_twist   turn  = {{0, 0, 0}, {axis == 0, axis == 1, axis == 2}};
        const tn_body_id frame = tn_model_find_body(m.model, "frame");
        CHECK_OK(tn_state_set_velocity(bare.state, frame, turn));
        CHECK_OK(tn_state_set_velocity(m.state, frame, turn));
        const double more = tn_state_energy(m.state).kinetic - tn_state_energy(bare.state).kinetic;
        CHECK_NEAR(more / (inertia[axis] / 2), 1, 1e-13);
    }
    stop(&m);
    stop(&bare);
}

static const tn_body_def* body_of(const tn_scene* scene, const char* name)
{
    bool             found = false;
    const tn_body_id id    = tn_scene_find_body(scene, name, &found);
    CHECK(found);
    if (!found) abort();
    return tn_scene_body(scene, (int)id.bits - 1);
}

TEST(strandbeest_legs_bend_outwards_and_stand_on_their_feet)
{
    tn_scene* scene = build("strandbeest:legs=6");
    for (int leg = 0; leg < 6; ++leg) {
        char              names[5][32];
        const char* const parts[5] = {"W", "Z", "B1", "Y1", "lower"};
        for (int i = 0; i < 5; ++i) snprintf(names[i], 32, "leg%d.%s", leg, parts[i]);
        const tn_vec3      W = pin_of(scene, names[0]), Z = pin_of(scene, names[1]);
        const tn_vec3      B = pin_of(scene, names[2]), Y = pin_of(scene, names[3]);
        const tn_body_def* lower = body_of(scene, names[4]);
        const tn_vec3      F = sub(sub(scale(3, lower->pose.position), W), Y); // from the centroid
        CHECK_NEAR(length(sub(F, W)), 0.657, 1e-12);
        CHECK_NEAR(length(sub(F, Y)), 0.49, 1e-12);
        CHECK(F.z < W.z && F.z < Y.z && W.z < Z.z && fabs(Z.x) > fabs(B.x));
    }
    tn_scene_free(scene);
}

static double half_of(const tn_shape_def* shape)
{
    if (shape->type == TN_SHAPE_SPHERE) return 0;
    return shape->type == TN_SHAPE_BOX ? shape->half_size.z : shape->half_length;
}

// How far a point is from the middle lines of a body's rods.
static double off_rods(const tn_body_def* body, tn_vec3 point)
{
    double least = HUGE_VAL;
    for (int i = 0; i < body->shape_count; ++i) {
        const tn_shape_def* shape = &body->shapes[i];
        const tn_vec3       p     = into(shape->pose, into(body->pose, point));
        const double        z     = fmax(fabs(p.z) - half_of(shape), 0);
        least                     = fmin(least, sqrt(p.x * p.x + p.y * p.y + z * z));
    }
    return least;
}

TEST(every_pin_sits_on_the_rods_it_joins)
{
    static const char* const specs[] = {"fourbar",
                                        "slider_crank",
                                        "peaucellier",
                                        "bricard",
                                        "scissor",
                                        "scissor:foot=none",
                                        "strandbeest:legs=7",
                                        "octahedron:b=0.12",
                                        "octahedron_cube:n=2",
                                        "octahedron_tube:rings=2,around=7"};
    for (size_t n = 0; n < sizeof specs / sizeof specs[0]; ++n) {
        tn_scene* scene = build(specs[n]);
        for (int i = 0; i < tn_scene_joint_count(scene); ++i) {
            const tn_joint_def* joint     = tn_scene_joint(scene, i);
            const tn_body_id    bodies[2] = {joint->body1, joint->body2};
            for (int k = 0; k < 2; ++k) {
                if (bodies[k].bits == 0) continue;
                CHECK_LESS(off_rods(tn_scene_body(scene, (int)bodies[k].bits - 1), joint->anchor),
                           1e-12);
            }
        }
        tn_scene_free(scene);
    }
}

TEST(scissor_springs_are_slack_at_the_start)
{
    tn_scene* scene = build("scissor:segments=3");
    CHECK_INT(tn_scene_spring_count(scene), 2);
    for (int i = 0; i < tn_scene_spring_count(scene); ++i) {
        const tn_spring_def* spring = tn_scene_spring(scene, i);
        const tn_body_def*   bar    = tn_scene_body(scene, (int)spring->body2.bits - 1);
        const tn_vec3        foot   = {0.8, spring->anchor1.y, 0};
        CHECK_LESS(length(sub(into(bar->pose, foot), spring->anchor2)), 1e-12);
    }
    tn_scene_free(scene);
}
