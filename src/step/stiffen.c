// stiffen: geometric stiffness of light bodies under heavy load.
//
// A joint force f on a body at the arm r keeps its direction when the body rotates, so its torque r
// x f resists rotation when the joint pulls: the geometric stiffness
//
//     K = sum over the body's joints of (f.r) 1 - (f r^T + r f^T) / 2
//
// Rods of 1 kg that carry 7.5 t are stiff in this sense: an explicit step diverges where h^2 k > 4
// for a mode k of K relative to the mass that moves with it. Modes of a body with h^2 k > 2 are
// then treated implicitly, the others not at all, so that nothing is damped without need:
//
//     K v = k I v,   v^T I v = 1,   K' = sum over h^2 k > 2 of k (I v)(I v)^T
//
// and h^2 K' is added to the body's inertia in the kick (impulse.c). I is the body's own inertia,
// which overestimates k: a single rod between the ground and 7.5 t moves with its load. It would be
// damped without need, and lose a tenth of the energy in 2 s at h = 10 ms. Hence a part of the
// mechanism is stiffened only when the mode of the whole part is stiff: the largest eigenvalue of
// h^2 P K', P being the response of rotations to torques with all joints in place, by a few rounds
// of power iteration, a solve each. The Rayleigh quotient is a lower bound; the threshold 2 leaves
// a margin to 4. The mode w that this finds is judged by all of K, compression as well as tension:
// w^T h^2 K w > 2 w^T M w.
//
// Forces are those of the solve that predicts the velocities at the step's start. Where nothing is
// heavily loaded a bound from the multipliers shows it, at a few flops a joint.
#include "step/stepper.h"

#include "base/groups.h"
#include "system/cords.h"

static const double threshold = 2;   // h^2 k
static const double worth     = 0.1; // bound of h^2 k of a cord from which modes are looked at
static const double hopeless  = 0.2; // after two rounds: no mode can reach the threshold any more

enum { ROUNDS = 6 };

void tni_stiffen_prepare(tn_stepper* s)
{
    for (int i = 0; i < s->model->body_count; ++i) {
        const tni_body* body  = &s->model->bodies[i];
        const bool      turns = body->kind == TN_BODY_RIGID && body->node >= 0;
        tni_principal*  p     = &s->impulse.principal[i];
        p->moments            = tni_vec3(HUGE_VAL, HUGE_VAL, HUGE_VAL);
        if (turns) p->moments = tni_symmetric_eigen(&body->inertia, &p->axes);
        p->thin  = p->moments.x < 0.1 * p->moments.z;
        p->least = p->thin ? p->moments.y : p->moments.x;
    }
}

// Upper bounds of h^2 times the largest eigenvalue of K, by body. The answer's mu are impulses over
// h / 2.
static bool bound_loads(tn_stepper* s, double h)
{
    const tn_model* model = s->model;
    double*         load  = s->impulse.load;
    bool            any   = false;
    for (int i = 0; i < model->body_count; ++i) load[i] = 0;
    for (int i = 0; i < model->joint_count; ++i) {
        const tni_joint*      joint      = &model->joints[i];
        const tni_constraint* constraint = &model->constraints[joint->constraint];
        const double*         mu  = s->system->answer + model->u_count + constraint->row_start;
        double                sum = 0;
        for (int k = 0; k < constraint->row_count; ++k) sum += fabs(mu[k]);
        load[joint->body1] += 2 * h * sum * tni_norm(joint->p1);
        load[joint->body2] += 2 * h * sum * tni_norm(joint->p2);
    }
    for (int i = 0; i < model->body_count; ++i)
        any = any || load[i] > threshold * s->impulse.principal[i].least;
    return any;
}

static void add_joint(tni_mat3* K, tn_vec3 f, tn_vec3 r)
{
    const double a[3] = {f.x, f.y, f.z}, b[3] = {r.x, r.y, r.z}, fr = tni_dot(f, r);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            K->m[3 * i + j] += (i == j ? fr : 0) - 0.5 * (a[i] * b[j] + b[i] * a[j]);
}

static void add_tensions(tn_stepper* s, const tni_configuration_buffer* place, double h,
                         tni_mat3* K)
{
    const tn_model*         model = s->model;
    const tni_configuration at    = tni_configuration_of(place);
    const tni_view*         views = s->system->views;
    memset(K, 0, sizeof *K * (size_t)model->body_count);
    if (s->impulse.loops || s->impulse.soft != NULL)
        tni_system_evaluate(s->system, &at); // it was evaluated at the step's end
    tni_system_reactions(s->system, &at, s->reactions);
    for (int i = 0; i < model->joint_count; ++i) {
        const tni_joint* joint = &model->joints[i];
        const tn_vec3    f     = tni_scale(2 * h, s->reactions[joint->constraint].force);
        add_joint(&K[joint->body1], tni_neg(f), tni_mul(&views[joint->body1].R, joint->p1));
        add_joint(&K[joint->body2], f, tni_mul(&views[joint->body2].R, joint->p2));
    }
}

// A thin body has no stiffness about its own axis: its anchors lie on it. The coupling of K to that
// rotation, relative to a moment that is next to zero, would look very stiff: removed.
static void leave_thin_axis(const tni_principal* p, const tni_mat3* R, tni_mat3* K)
{
    if (!p->thin) return;
    const tn_vec3 a = tni_mul(R, tni_column(&p->axes, 0)), Ka = tni_mul(K, a);
    const double  aKa = tni_dot(a, Ka), n[3] = {a.x, a.y, a.z}, m[3] = {Ka.x, Ka.y, Ka.z};
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            K->m[3 * i + j] += aKa * n[i] * n[j] - n[i] * m[j] - m[i] * n[j];
}

static double largest(const tni_mat3* K)
{
    double most = 0;
    for (int i = 0; i < 9; i += 3)
        most = fmax(most, fabs(K->m[i]) + fabs(K->m[i + 1]) + fabs(K->m[i + 2]));
    return most;
}

// K <- its part that is too stiff for the body's inertia; R: its axes. False: there is none.
static bool keep_stiff_modes(const tni_principal* p, const tni_mat3* R, tni_mat3* K)
{
    const bool may = largest(K) > threshold * p->least;
    tni_mat3   V   = tni_mat_mul(R, &p->axes);
    bool       any = false;
    if (!may) *K = (tni_mat3){{0}};
    if (!may) return false;
    // I^(1/2) and its inverse make it an ordinary eigenvalue problem.
    const double   x = sqrt(p->moments.x), y = sqrt(p->moments.y), z = sqrt(p->moments.z);
    const tni_mat3 root    = {{x, 0, 0, 0, y, 0, 0, 0, z}},
                   inverse = {{1 / x, 0, 0, 0, 1 / y, 0, 0, 0, 1 / z}};
    const tni_mat3 half    = tni_rotate_symmetric(&V, &root),
                   over = tni_rotate_symmetric(&V, &inverse), B = tni_rotate_symmetric(&over, K);
    const tn_vec3 k = tni_symmetric_eigen(&B, &V);
    *K              = (tni_mat3){{0}};
    for (int n = 0; n < 3; ++n) {
        if (!(tni_at(k, n) > threshold)) continue;
        const tn_vec3 v    = tni_mul(&half, tni_column(&V, n));
        const double  a[3] = {v.x, v.y, v.z};
        for (int i = 0; i < 9; ++i) K->m[i] += tni_at(k, n) * a[i / 3] * a[i % 3];
        any = true;
    }
    return any;
}

static bool is_zero(const tni_mat3* K)
{
    return K->m[0] + K->m[4] + K->m[8] == 0; // a semidefinite matrix with zero trace
}

// ---- Stiff modes of whole parts -----------------------------------------------------------------

// Start of the power iteration: pseudo-random numbers in -1 .. 1, the same for the same body.
static void begin_turning(const tn_stepper* s, double* w)
{
    uint64_t seed = 0x9e3779b97f4a7c15u;
    for (int i = 0; i < s->model->u_count; ++i) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        w[i] = (double)(seed >> 11) * 0x1p-52 - 1;
    }
}

// Parts that stiff cords couple count as one.
static void find_groups(tn_stepper* s)
{
    int*             up    = s->impulse.group;
    const tni_cords* cords = s->impulse.soft != NULL ? tni_soft_cords(s->impulse.soft) : NULL;
    for (int i = 0; i < s->model->body_count; ++i) up[i] = i;
    for (int i = 0; cords != NULL && i < cords->count; ++i) {
        const tni_cord* cord = &cords->at[i];
        if (!(cord->K > 0) || cord->dim[0] == 0 || cord->dim[1] == 0) continue;
        (void)tni_tie(up, tni_system_part(s->system, cord->body[0]),
                      tni_system_part(s->system, cord->body[1]));
    }
}

static int group_of(const tn_stepper* s, int body)
{
    return tni_root_of(s->impulse.group, tni_system_part(s->system, body));
}

// sum[of the group] += a . b
static void add_work(const tn_stepper* s, const double* a, const double* b, double* sum)
{
    for (int i = 0; i < s->model->free_count; ++i) {
        const tni_body* body = &s->model->bodies[s->model->free_bodies[i]];
        double          work = 0;
        for (int k = body->u_start; k < body->u_start + body->dim; ++k) work += a[k] * b[k];
        sum[group_of(s, s->model->free_bodies[i])] += work;
    }
}

// f <- K w
static void apply(const tn_stepper* s, const tni_mat3* K, const double* w, double* f)
{
    memset(f, 0, sizeof *f * (size_t)s->model->u_count);
    for (int i = 0; i < s->model->free_count; ++i) {
        const int body = s->model->free_bodies[i], at = s->model->bodies[body].u_start + 3;
        if (s->model->bodies[body].kind == TN_BODY_RIGID)
            tni_write3(f + at, tni_mul(&K[body], tni_read3(w + at)));
    }
    if (s->impulse.soft != NULL) tni_cords_push(tni_soft_cords(s->impulse.soft), w, f);
}

// The stiffest mode of each part by power iteration: before and after, at the part's first entries, become
// w^T h^2 K w and w^T M w. enough: a quotient that need not be known better.
static void find_modes(tn_stepper* s, double enough)
{
    const tn_model* model = s->model;
    double *        w = s->impulse.best, *torque = s->scratch;
    double *        before = s->impulse.part_work, *after = before + model->body_count;
    s->system->auxiliary.keep_forces = true; // no forces of springs in the right-hand sides
    begin_turning(s, w);
    find_groups(s);
    for (int round = 0; round < ROUNDS; ++round) {
        memset(before, 0, sizeof *before * 2 * (size_t)model->body_count);
        apply(s, s->impulse.stiffness, w, torque);
        add_work(s, torque, w, before);
        memset(s->impulse.target_rates, 0, sizeof(double) * (size_t)model->row_count);
        if (tni_system_solve_joints(s->system, torque, s->impulse.target_rates, false, NULL) !=
            TN_OK)
            break; // contacts are not linear
        tni_copy_numbers(w, s->system->answer, model->u_count);
        add_work(s, torque, w, after);
        bool known = true; // all parts are clearly stiff, or clearly not
        for (int i = 0; i < model->body_count; ++i)
            known = known && (after[i] > enough * before[i] ||
                              (round > 0 && after[i] <= hopeless * before[i]));
        if (known) break;
    }
    s->system->auxiliary.keep_forces = false;
    memset(before, 0, sizeof *before * (size_t)model->body_count);
    apply(s, s->impulse.tension, w, torque);
    add_work(s, torque, w, before); // w^T h^2 K w
}

// Removes K' from the parts whose stiffest mode is not stiff. Returns how many bodies keep some.
static int keep_stiff_parts(tn_stepper* s)
{
    const tn_model* model  = s->model;
    const double *  before = s->impulse.part_work, *after = before + model->body_count;
    int             count = 0;
    find_modes(s, threshold);
    for (int i = 0; i < model->body_count; ++i) {
        if (is_zero(&s->impulse.stiffness[i])) continue;
        const int part = group_of(s, i);
        if (before[part] > threshold * after[part]) ++count;
        else s->impulse.stiffness[i] = (tni_mat3){{0}};
    }
    return count;
}

int tni_stiffen(tn_stepper* s, double h)
{
    const tn_model* model = s->model;
    tni_mat3*       K     = s->impulse.stiffness;
    int             count = 0;
    if (!bound_loads(s, h)) return 0;
    add_tensions(s, &s->now, h, s->impulse.tension);
    for (int i = 0; i < model->body_count; ++i)
        leave_thin_axis(&s->impulse.principal[i], &s->system->views[i].R, &s->impulse.tension[i]);
    memcpy(K, s->impulse.tension, sizeof *K * (size_t)model->body_count);
    for (int i = 0; i < model->body_count; ++i) {
        const tni_principal* p = &s->impulse.principal[i];
        if (s->impulse.load[i] > threshold * p->least)
            count += keep_stiff_modes(p, &s->system->views[i].R, &K[i]);
        else K[i] = (tni_mat3){{0}};
    }
    return count == 0 || s->impulse.safer_mode ? count : keep_stiff_parts(s);
}

// ---- With implicit springs ----------------------------------------------------------------------
//
// There K enters both halves of the step with the weight a of a spring of its stiffness, z = h^2 k of the stiffest
// mode of the part of the mechanism, less 1, so that what is not stiff is left alone to the bit:
//
//     w = max(0, z - 1),  a = w^2/(w^2 + 16)
//     kick   (M + S)(u+ - u) = .. - S u         S = a h^2 K / 2
//     land   (M + S)(u1 - u') = .. + 0.8 S u'   s = 1.8 of the velocity before

static const double look_back = 1.8;
static const double still     = 1e-9; // a turn in a step that is none [rad]
static const double spin      = 0.5;  // and one that no step follows

// K <- its positive part.
static void keep_tension(tni_mat3* K)
{
    tni_mat3      V;
    const tn_vec3 k = tni_symmetric_eigen(K, &V);
    *K              = (tni_mat3){{0}};
    for (int n = 0; n < 3; ++n) {
        const tn_vec3 v    = tni_column(&V, n);
        const double  a[3] = {v.x, v.y, v.z};
        for (int i = 0; i < 9; ++i) K->m[i] += fmax(0, tni_at(k, n)) * a[i / 3] * a[i % 3];
    }
}

static void find_tension(tn_stepper* s, const tni_configuration_buffer* place, double h)
{
    const tn_model* model = s->model;
    add_tensions(s, place, h, s->impulse.tension);
    for (int i = 0; i < model->body_count; ++i) {
        const bool turns = model->bodies[i].kind == TN_BODY_RIGID && model->bodies[i].node >= 0;
        leave_thin_axis(&s->impulse.principal[i], &s->system->views[i].R, &s->impulse.tension[i]);
        s->impulse.stiffness[i] = turns ? s->impulse.tension[i] : (tni_mat3){{0}};
        keep_tension(&s->impulse.stiffness[i]);
    }
}

static int weigh_tension(tn_stepper* s)
{
    int count = 0;
    for (int i = 0; i < s->model->body_count; ++i) {
        const double a = s->impulse.load[i];
        for (int k = 0; k < 9; ++k) s->impulse.stiffness[i].m[k] *= 0.5 * a;
        count += a > 0;
    }
    return count;
}

// h^2 T of distance joints and ropes, from the last answer.
static const double* find_pulls(tn_stepper* s, double h)
{
    const tn_model*        model = s->model;
    const tni_unilaterals* a     = &s->system->unilaterals;
    double*                pull  = s->impulse.pull;
    for (int i = 0; i < model->joint_count; ++i) {
        const tni_constraint* c = &model->constraints[model->joints[i].constraint];
        pull[i] = c->row_count == 1 ? 2 * h * s->system->answer[model->u_count + c->row_start] : 0;
    }
    for (int i = 0; i < a->unilateral_count; ++i) {
        const tni_limit* limit =
            a->unilaterals[i].limit >= 0 ? &model->limits[a->unilaterals[i].limit] : NULL;
        if (limit != NULL && limit->kind == TNI_LIMIT_ROPE)
            pull[limit->joint] = 2 * h * a->unilaterals[i].force[0];
    }
    return pull;
}

static double weight_of(const tn_stepper* s, int body)
{
    const double *before = s->impulse.part_work, *after = before + s->model->body_count;
    const int     group = group_of(s, body);
    const double  z     = after[group] > 0 ? before[group] / after[group] : 0;
    const double  w     = s->impulse.safer_mode ? 1e3 : fmax(0, z - 1);
    return w * w / (w * w + 16);
}

static int weigh_cords(tn_stepper* s)
{
    tni_cords* cords = tni_soft_cords(s->impulse.soft);
    int        count = 0;
    for (int i = 0; i < cords->count; ++i) {
        tni_cord* cord = &cords->at[i];
        const int side = cord->dim[1] > 0 ? 1 : 0;
        cord->S =
            cord->K > 0 && cord->dim[side] > 0 ? 0.5 * weight_of(s, cord->body[side]) * cord->K : 0;
        count += cord->S > 0;
    }
    if (count > 0) tni_soft_taut(s->impulse.soft, s->now.u);
    return count;
}

// A contact's force turns with its normal, and the force of a joint with what the contacts of both its bodies do: a
// link that lies on a turning sprocket turns with all that holds it. s->impulse.turn <- by body, the mean over its
// joints of what their forces turn with.
static void find_turns(tn_stepper* s, const tni_view* views, double h)
{
    const tn_model*        model = s->model;
    const tni_unilaterals* a     = &s->system->unilaterals;
    tn_vec3 *              turn = s->impulse.turn, *own = s->impulse.own_turn;
    double *               all = s->impulse.part_work, *joints = all + model->body_count;
    for (int i = 0; i < model->body_count; ++i) turn[i] = own[i] = tni_vec3(0, 0, 0);
    memset(all, 0, sizeof *all * 2 * (size_t)model->body_count);
    for (int i = 0; i < a->unilateral_count; ++i) {
        const tni_unilateral* u = &a->unilaterals[i];
        int                   bodies[2];
        if (u->limit >= 0 || !(u->force[0] > 0)) continue;
        const tn_vec3 w = tni_contact_turn(model, &u->contact, views);
        tni_unilateral_bodies(a, u, bodies);
        for (int side = u->contact.round ? 0 : 1; side < 2; ++side) {
            own[bodies[side]] = tni_add(own[bodies[side]], tni_scale(u->force[0], w));
            all[bodies[side]] += u->force[0];
        }
    }
    for (int i = 0; i < model->body_count; ++i) {
        if (all[i] > 0) own[i] = tni_scale(1 / all[i], own[i]);
        const double far = h * tni_norm(own[i]);
        if (!(far > still && far < spin)) own[i] = tni_vec3(0, 0, 0);
    }
    for (int i = 0; i < model->joint_count; ++i) {
        const int     body[2] = {model->joints[i].body1, model->joints[i].body2};
        const tn_vec3 mean    = tni_scale(0.5, tni_add(own[body[0]], own[body[1]]));
        for (int side = 0; side < 2; ++side) {
            turn[body[side]] = tni_add(turn[body[side]], mean);
            ++joints[body[side]];
        }
    }
    for (int i = 0; i < model->body_count; ++i)
        if (joints[i] > 0) turn[i] = tni_scale(1 / joints[i], turn[i]);
}

int tni_tension(tn_stepper* s, double h)
{
    const tn_model* model = s->model;
    tni_cords*      cords = tni_soft_cords(s->impulse.soft);
    const double*   pull  = find_pulls(s, h);
    const bool      taut  = tni_cords_find(cords, s->system->views, h, pull) > worth;
    if (!bound_loads(s, h) && !taut) return 0;
    find_tension(s, &s->now, h);
    (void)tni_cords_find(cords, s->system->views, h, pull); // until here, where the flight has led
    find_modes(s, 100);
    for (int i = 0; i < model->body_count; ++i) {
        const bool none    = model->bodies[i].node < 0 || is_zero(&s->impulse.stiffness[i]);
        s->impulse.load[i] = none ? 0 : weight_of(s, i);
    }
    const int cord_count = weigh_cords(s);
    find_turns(s, s->impulse.views, h);
    return weigh_tension(s) + cord_count;
}

void tni_tension_land(tn_stepper* s, double h)
{
    find_tension(s, &s->next, h);
    (void)weigh_tension(s);
    find_turns(s, s->system->views, h);
}

void tni_tension_push(const tn_stepper* s, double* b)
{
    for (int i = 0; i < s->model->body_count; ++i) {
        const tni_body* body = &s->model->bodies[i];
        if (body->kind != TN_BODY_RIGID || body->node < 0) continue;
        const tn_vec3 w =
            tni_sub(tni_read3(s->impulse.plus + body->u_start + 3), s->impulse.turn[i]);
        tni_accumulate(b + body->u_start + 3,
                       tni_scale(look_back - 1, tni_mul(&s->impulse.stiffness[i], w)));
    }
}
