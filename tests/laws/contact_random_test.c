// Random scenes with contact: shapes of every kind, free and in mechanisms, dropped on floors and
// height fields, pushed by kinematic bodies. By every method: a step that succeeds is finite, its
// joints are closed or counted as open, contacts push and do not pull, and it depends on the state
// alone, whatever the stepper did before; one that fails has changed nothing and gives the reason.
#include "support/contact_rig.h"
#include "support/random_scene.h"

enum { STEPS = 24, MESH_VERTICES = 8, MESH_TRIANGLES = 12, GRID = 5, POINTS = 9 };

typedef struct drop {
    rig    r;
    bool   joints, driven, bounces;
    bool   turns; ///< some have rolling and spinning friction
    double mass;
} drop;

// ---- Scenes -------------------------------------------------------------------------------------

/// Materials and geometry while shapes are added.
typedef struct stock {
    tn_vec3 vertices[MESH_VERTICES], points[POINTS];
    double  heights[GRID * GRID];
} stock;

static const int box_triangles[3 * MESH_TRIANGLES] = {0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6,
                                                      0, 1, 5, 0, 5, 4, 2, 6, 7, 2, 7, 3,
                                                      0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5};

// About 0.6 m across at most.
static tn_shape_def random_solid(const drop* d, test_random* r, stock* s)
{
    static const tn_shape_type types[] = {TN_SHAPE_SPHERE,   TN_SHAPE_BOX,    TN_SHAPE_CAPSULE,
                                          TN_SHAPE_CYLINDER, TN_SHAPE_CONVEX, TN_SHAPE_MESH};
    tn_shape_def               shape   = tn_default_shape_def(types[test_random_int(r, 0, 5)]);
    const double x = test_random_between(r, 0.05, 0.3), y = test_random_between(r, 0.05, 0.3),
                 z    = test_random_between(r, 0.05, 0.3);
    shape.half_size   = (tn_vec3){x, y, z};
    shape.radius      = x;
    shape.half_length = y;
    shape.friction    = test_random_int(r, 0, 3) == 0 ? 0 : test_random_between(r, 0, 1);
    if (d->bounces) shape.restitution = test_random_unit(r);
    if (test_random_int(r, 0, 4) == 0 && d->turns)
        shape.rolling_friction = shape.spinning_friction = 0.01;
    for (int i = 0; i < MESH_VERTICES; ++i)
        s->vertices[i] = (tn_vec3){i & 1 ? x : -x, i & 2 ? y : -y, i & 4 ? z : -z};
    for (int i = 0; i < POINTS; ++i) s->points[i] = random_vec3(r, 0.3);
    shape.vertices       = s->vertices;
    shape.vertex_count   = MESH_VERTICES;
    shape.triangles      = box_triangles;
    shape.triangle_count = MESH_TRIANGLES;
    shape.points         = s->points;
    shape.point_count    = POINTS;
    return shape;
}

static tn_body_id add_solid(drop* d, test_random* r, tn_vec3 place)
{
    stock        s;
    tn_shape_def shape = random_solid(d, r, &s);
    const double mass  = random_log_uniform(r, 0.1, 10);
    tn_body_def  def   = rig_body(mass, tns_scale(0.03 * mass, tns_vec(1, 1.2, 1.4)), place);
    def.shapes         = &shape;
    def.shape_count    = 1;
    def.continuous     = test_random_int(r, 0, 5) == 0;
    if (test_random_int(r, 0, 2) > 0) def.pose.orientation = random_quat(r);
    d->mass += mass;
    return tn_scene_add_body(d->r.scene, &def);
}

static void add_hills(drop* d, test_random* r)
{
    stock        s;
    tn_shape_def shape = tn_default_shape_def(TN_SHAPE_HEIGHTS);
    tn_body_def  def   = tn_default_body_def();
    for (int i = 0; i < GRID * GRID; ++i) s.heights[i] = test_random_between(r, -0.2, 0.2);
    shape.heights = s.heights;
    shape.rows = shape.columns = GRID;
    shape.spacing[0] = shape.spacing[1] = 1;
    shape.friction                      = 0.5;
    def.kind                            = TN_BODY_STATIC;
    def.shapes                          = &shape;
    def.shape_count                     = 1;
    (void)tn_scene_add_body(d->r.scene, &def);
}

static void add_mover(drop* d, test_random* r)
{
    tn_shape_def shape   = rig_box((tn_vec3){0.3, 1, 0.4});
    tn_body_def  def     = tn_default_body_def();
    const tn_key keys[2] = {{0, {{-2, 0, 0.5}, {1, 0, 0, 0}}},
                            {1, {{test_random_between(r, -1, 1), 0, 0.6}, {1, 0, 0, 0}}}};
    def.kind             = TN_BODY_KINEMATIC;
    def.shapes           = &shape;
    def.shape_count      = 1;
    def.keys             = keys;
    def.key_count        = 2;
    def.pose             = keys[0].pose;
    d->driven            = true;
    (void)tn_scene_add_body(d->r.scene, &def);
}

// A joint halfway between two bodies, in the tree or closing a loop, with a hard limit now and
// then.
static void add_joint(drop* d, test_random* r, tn_body_id one, tn_body_id two, tn_vec3 anchor)
{
    static const tn_joint_type types[] = {TN_JOINT_BALL, TN_JOINT_HINGE, TN_JOINT_UNIVERSAL,
                                          TN_JOINT_DISTANCE};
    tn_joint_def joint = tns_joint(types[test_random_int(r, 0, 3)], one, two, anchor, TNS_X);
    joint.axis2        = (tn_vec3){0, 1, 0};
    joint.role         = (tn_role)test_random_int(r, 0, TN_ROLE_COUNT - 1);
    if (joint.type == TN_JOINT_DISTANCE) joint.form = TN_JOINT_BY_POINTS;
    if (joint.type == TN_JOINT_HINGE && test_random_int(r, 0, 1) == 0)
        joint.limit = (tn_limit){.given       = true,
                                 .lower       = -0.3,
                                 .upper       = 0.5,
                                 .hard        = true,
                                 .cone        = TN_UNSET,
                                 .twist_lower = 1,
                                 .twist_upper = -1};
    d->joints = true;
    (void)tn_scene_add_joint(d->r.scene, &joint);
}

/// Things over a floor or hills, apart from each other, every other scene with joints; with what the method has.
static drop drop_make(tn_method method, unsigned seed)
{
    test_random r       = {seed};
    drop        d       = {.r = rig_make((tn_vec3){0, 0, -rig_g})};
    const int   count   = test_random_int(&r, 1, 7);
    tn_body_id  last    = {0};
    tn_vec3     at      = {0, 0, 0};
    d.r.settings.method = method;
    d.turns             = method != TN_METHOD_MULTIPLIER && method != TN_METHOD_IMPLICIT;
    d.bounces           = test_random_int(&r, 0, 1) == 0 && method != TN_METHOD_IMPLICIT;
    if (test_random_int(&r, 0, 2) == 0) add_hills(&d, &r);
    else tn_scene_set_ground(d.r.scene, test_random_unit(&r), 0);
    for (int i = 0; i < count; ++i) {
        const tn_vec3    place = {0.1 * (i % 3), 0.1 * (i % 2), 0.8 + 1.1 * i};
        const tn_body_id body  = add_solid(&d, &r, place);
        if (i > 0 && seed % 2 == 0)
            add_joint(&d, &r, last, body, tns_scale(0.5, tns_add(at, place)));
        last = body, at = place;
    }
    if (seed % 5 == 0) add_mover(&d, &r);
    d.r.settings.impulse.sleep = test_random_int(&r, 0, 1) == 0 ? 0 : 0.1;
    return d;
}

// ---- Checks -------------------------------------------------------------------------------------

static double total(const tn_state* state)
{
    const tn_energy e = tn_state_energy(state);
    return e.kinetic + e.gravity + e.elastic;
}

static void check_contacts(const tn_stepper* stepper, unsigned seed, int step)
{
    int         count;
    tn_contact* contacts = rig_contacts(stepper, &count);
    for (int i = 0; i < count; ++i) {
        const tn_contact c    = contacts[i];
        const double     push = tns_dot(c.normal, c.force), all = tns_length(c.force);
        test_check(fabs(tns_length(c.normal) - 1) < 1e-9 && push >= -1e-6 * (1 + all) &&
                       isfinite(all + c.gap + c.slip),
                   __FILE__, __LINE__, "seed %u, step %d: contact %d pushes with %.3g of %.3g N",
                   seed, step, i, push, all);
    }
    free(contacts);
}

// A step by a stepper with a history, and of a copy of the state by a new one.
static bool step_twice(drop* d, tn_state* copy, double h, unsigned seed, int step)
{
    rig*           r      = &d->r;
    tn_stepper*    fresh  = NULL;
    tn_why         why    = {.text = ""};
    const uint64_t before = tn_state_hash(r->state);
    CHECK_OK(tn_stepper_create(r->model, &r->settings, &fresh, &why));
    tn_state_copy(copy, r->state);
    const tn_result result = tn_stepper_step(r->stepper, r->state, h, &r->report, &why),
                    again  = tn_stepper_step(fresh, copy, h, NULL, NULL);
    tn_stepper_free(fresh);
    test_check(result == again && tn_state_hash(r->state) == tn_state_hash(copy), __FILE__,
               __LINE__, "seed %u, step %d: a stepper with a past steps otherwise (%d, %d)", seed,
               step, result, again);
    if (result != TN_OK)
        test_check(tn_state_hash(r->state) == before && why.text[0] != '\0', __FILE__, __LINE__,
                   "seed %u, step %d: a failed step has changed the state, or does not say why",
                   seed, step);
    return result == TN_OK;
}

// Steps of changing length. Returns how many succeeded.
static int run(drop* d, double h, double tolerance, unsigned seed)
{
    rig*        r     = &d->r;
    tn_state*   copy  = NULL;
    test_random order = {seed};
    int         i     = 0;
    CHECK_OK(tn_state_create(r->model, &copy));
    for (bool good = true; good && i < STEPS; i += good) {
        good = step_twice(d, copy, h * test_random_between(&order, 0.5, 1.5), seed, i);
        if (!good) break;
        test_check(isfinite(total(r->state)), __FILE__, __LINE__, "seed %u, step %d: not finite",
                   seed, i);
        test_check(r->report.joint_error <= tolerance || r->report.unclosed_count > 0, __FILE__,
                   __LINE__, "seed %u, step %d: joints open by %.3g", seed, i,
                   r->report.joint_error);
        check_contacts(r->stepper, seed, i);
    }
    tn_state_free(copy);
    return i;
}

static double run_all(tn_method method, double h, double tolerance, unsigned last)
{
    int done = 0;
    for (unsigned seed = 1; seed <= last; ++seed) {
        drop d = drop_make(method, seed);
        rig_ready(&d.r);
        done += run(&d, h, tolerance, seed);
        rig_free(&d.r);
    }
    return (double)done / (last * STEPS);
}

TEST(random_contacts_by_the_impulse_method)
{
    CHECK(run_all(TN_METHOD_IMPULSE, 1.0 / 30, 1e-8, 40) > 0.98);
}

TEST(random_contacts_by_the_multiplier_method)
{
    CHECK(run_all(TN_METHOD_MULTIPLIER, 1.0 / 40, 1e-8, 4) > 0.9);
}

TEST(random_contacts_by_the_implicit_method)
{
    CHECK(run_all(TN_METHOD_IMPLICIT, 1.0 / 40, 1e-6, 16) > 0.95);
}
