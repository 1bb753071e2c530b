// assemble: closes the joints of a mechanism from a distant start, or tells which joints cannot
// close.
//
// One descent: damped steps (levenberg_marquardt.c), nu from 1e-2 down to 1e-11 by the ratio of
// actual to predicted decrease, no body rotating by more than half a radian a round. It is weighted
// by the masses, so a scene that nearly closes stays nearly where it was; and it may end in a local
// minimum. Then, in this order, until one of them closes all joints:
// joints:
//   outward a spanning forest is closed body by body (tree_assembly.c), which is enough for a tree
//   path    anchor errors are reduced along C = (1 - s) C_start, s from 0 to 1 (homotopy); frames
//           at once
//   shaken  from the start and the best configuration in turn, perturbed at random by more and more
//           (the same numbers each time), then outward
// Of 200 Bricard rings in pieces, perturbed by their own size and rotated at random, one descent
// closed 182, outward 12, shaken 6. (With path first it closed 3 of those left by the descent.)
// Four-bars need no second try, legs of the strandbeest in 5 of 100; chains of 1,000 links,
// perturbed by 20 links, always close outward.
//
// If all fail, the joint at fault is searched for at the best configuration. A joint is relaxed
// (its rows may stay open, at a millionth of the weight) and the others closed: where that works,
// the joint is one of those that cannot all close, and its remaining error is the least possible.
// Among such joints the one with the smallest error is named, among equals the last of the scene:
// that is the one with which its author closed the loop. Where no single joint helps, those with
// the largest errors are relaxed one after the other until the rest closes.
//
// Contacts, limits and ropes are ignored. Angles keep their number of full turns, except those of
// screws, which follow the path.
#include "step/stepper.h"
#include "system/levenberg_marquardt.h"

#include <stdio.h>

enum { ROUNDS_MAX = 400, PATH_ROUNDS = 25, SHAKES = 12, RELAX_ROUNDS = 60, ROUNDS_LEAST = 300 };
enum { SUSPECTS_MAX = 12, RINGS_MAX = 6, NAMED_MAX = 3 };

static const double closed = 1e-10; // error up to which a joint counts as closed [m or rad]
// Error that redundant rows with rounded data may keep [m or rad].
static const double settled     = 1e-6;
static const double kept_closed = 1e-3; // joints this near at the start keep opposite axes
static const double turn_max    = 0.5;  // rotation of a body in one round [rad]
static const double nu_least = 1e-11, nu_first = 1e-2, nu_most = 1e8;

typedef struct configuration {
    double *q, *z;
} configuration;

typedef struct search {
    const tn_model* model;
    tni_arena       arena;
    tni_lm*         lm;
    double          time;
    configuration   start, now, trial, kept, best;
    double          best_left;
    double*         start_errors; ///< by row: error at the start, without angles
    double*         shake;        ///< laid out as u
    double*         opening;      ///< by constraint: error at the best configuration
    double          length;       ///< longest arm of a joint [m]
    int             rounds, rounds_left;
    int             relax_left; ///< rounds left for the search for the joint at fault
} search;

// ---- Configurations -----------------------------------------------------------------------------

static void copy_configuration(const search* f, const configuration* to, const configuration* from)
{
    tni_copy_numbers(to->q, from->q, f->model->q_count);
    tni_copy_numbers(to->z, from->z, f->model->coordinate_count);
}

static tni_configuration configuration_of(const search* f, const configuration* p)
{
    return (tni_configuration){f->time, p->q, NULL, p->z};
}

static double evaluate(search* f, const configuration* p)
{
    const tni_configuration at = configuration_of(f, p);
    return tni_lm_evaluate(f->lm, &at);
}

// Largest error of all joints that are not relaxed.
static double largest_at(search* f, const configuration* p)
{
    int worst;
    (void)evaluate(f, p);
    return tni_lm_largest(f->lm, &worst);
}

// ---- One descent --------------------------------------------------------------------------------

// Rotation of a body in a step [rad].
static double turn_in(const tni_body* body, const double* d)
{
    double most = 0;
    if (body->kind == TN_BODY_RIGID) return tni_norm(tni_read3(d + 3));
    if (body->kind == TN_BODY_PLANAR) return fabs(d[2]);
    for (int k = 1; body->kind == TN_BODY_AFFINE && k < 4; ++k)
        most = fmax(most, tni_norm(tni_read3(d + 3 * k)));
    return most;
}

// Scales back bodies that would rotate too far, each on its own. Returns the mean factor.
// (Perturbed Bricard rings, 200 of them: 182 closed by one descent, 167 without.)
static double cut_back(const tn_model* model, double* d)
{
    double sum = 0;
    for (int i = 0; i < model->free_count; ++i) {
        const tni_body* body   = &model->bodies[model->free_bodies[i]];
        const double    turned = turn_in(body, d + body->u_start);
        const double    share  = turned > turn_max ? turn_max / turned : 1;
        for (int k = 0; k < body->dim; ++k) d[body->u_start + k] *= share;
        sum += share;
    }
    return model->free_count > 0 ? sum / model->free_count : 1;
}

// Sums of squares before and after a step, and the predicted one.
typedef struct outcome {
    double before, after, promised;
} outcome;

// One damped step from f->now to f->trial. If it fails, `after` is infinite.
static outcome try_step(search* f, double nu)
{
    const tni_configuration at   = configuration_of(f, &f->now);
    outcome                 bad  = {1, HUGE_VAL, 0}, o;
    double*                 d    = f->lm->system->answer;
    tn_result               made = tni_lm_factor(f->lm, &at, nu);
    if (made == TN_OK) made = tni_lm_solve(f->lm);
    if (made != TN_OK) return bad;
    const double share = cut_back(f->model, d);
    o.before           = tni_lm_predicted(f->lm, 0);
    o.promised         = tni_lm_predicted(f->lm, share);
    copy_configuration(f, &f->trial, &f->now);
    tni_lm_move(f->lm, d, f->now.q, f->trial.q);
    o.after = evaluate(f, &f->trial);
    tni_system_follow(f->lm->system, f->trial.z);
    return o;
}

static double next_nu(double nu, const outcome* o)
{
    if (!(o->after < o->before)) return fmax(10 * nu, 1e-6);
    const double kept = (o->before - o->after) / (o->before - o->promised);
    const double by   = kept > 0.9 ? 0.01 : kept > 0.5 ? 0.1 : kept > 0.1 ? 1 : 4;
    return fmax(nu_least, by * nu);
}

// From closed down to rounding.
static void polish(search* f, double left)
{
    for (int i = 0; i < 4 && left > 0; ++i) {
        ++f->rounds;
        (void)try_step(f, nu_least);
        const double next = largest_at(f, &f->trial);
        if (!(next < left)) return;
        copy_configuration(f, &f->now, &f->trial);
        left = next;
    }
}

// Descends from f->now until all joints that are not relaxed close to `enough`; with enough 0 as
// far as possible. Returns the largest error.
static double descend(search* f, int rounds_max, double enough)
{
    double nu = nu_first, left = largest_at(f, &f->now);
    int    slow = 0;
    for (int round = 0; round < rounds_max && f->rounds_left > 0; ++round) {
        if (left <= enough || slow > 8 || nu > nu_most) break;
        const outcome o = try_step(f, nu);
        nu              = next_nu(nu, &o);
        ++f->rounds;
        --f->rounds_left;
        if (!(o.after < o.before)) continue;
        slow = o.after > (enough > 0 ? 0.99 : 0.9999) * o.before ? slow + 1 : 0;
        copy_configuration(f, &f->now, &f->trial);
        left = largest_at(f, &f->now);
    }
    return left;
}

// ---- Ways to a closed configuration -------------------------------------------------------------

static bool finish(search* f)
{
    const double left = descend(f, ROUNDS_MAX, closed);
    if (left <= closed) polish(f, left);
    if (left < f->best_left) {
        f->best_left = left;
        copy_configuration(f, &f->best, &f->now);
    }
    return left <= settled;
}

static bool go_straight(search* f)
{
    copy_configuration(f, &f->now, &f->start);
    return finish(f);
}

static void set_goal(search* f, double share)
{
    for (int i = 0; i < f->model->row_count; ++i) f->lm->goal[i] = share * f->start_errors[i];
}

static bool go_along_path(search* f)
{
    double s = 0, by = 0.25;
    copy_configuration(f, &f->now, &f->start);
    while (s < 1 && by > 1.0 / 256 && f->rounds_left > 0) {
        const double next = fmin(1, s + by);
        copy_configuration(f, &f->kept, &f->now);
        set_goal(f, 1 - next);
        if (descend(f, PATH_ROUNDS, settled) <= settled) {
            s = next;
            by *= 2;
        } else {
            copy_configuration(f, &f->now, &f->kept);
            by /= 2;
        }
    }
    set_goal(f, 0);
    return s == 1 && finish(f);
}

static bool go_outward(search* f)
{
    const tni_configuration at = configuration_of(f, &f->now);
    tni_lm_assemble_tree(f->lm, &at, f->now.q);
    return finish(f);
}

// Numbers in -1 .. 1, the same each time (splitmix64).
static double random_number(uint64_t* seed)
{
    uint64_t x = *seed += 0x9e3779b97f4a7c15u;
    x          = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x          = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    return (double)(x >> 11) * (2.0 / 9007199254740992.0) - 1;
}

static bool go_shaken(search* f, int number)
{
    const double by   = 0.2 * (1 + number); // [rad], and lengths of arms
    uint64_t     seed = (uint64_t)number;
    for (int i = 0; i < f->model->free_count; ++i) {
        const tni_body* body   = &f->model->bodies[f->model->free_bodies[i]];
        const int       linear = body->kind == TN_BODY_PLANAR ? 2 : 3;
        const double    turn   = body->kind == TN_BODY_AFFINE ? 0.1 : by;
        for (int k = 0; k < body->dim; ++k) {
            const double most           = body->kind == TN_BODY_USER ? 0.1
                                          : k < linear               ? by * f->length
                                                                     : turn;
            f->shake[body->u_start + k] = most * random_number(&seed);
        }
    }
    const configuration* from = number % 2 == 0 ? &f->start : &f->best;
    copy_configuration(f, &f->now, from);
    tni_lm_move(f->lm, f->shake, from->q, f->now.q);
    return go_outward(f);
}

static bool find_closed(search* f)
{
    if (go_straight(f)) return true;
    copy_configuration(f, &f->now, &f->start);
    if (go_outward(f)) return true;
    if (go_along_path(f)) return true;
    for (int i = 0; i < SHAKES && f->rounds_left > 0; ++i) {
        if (go_shaken(f, i)) return true;
    }
    return false;
}

// ---- Joints that cannot close -------------------------------------------------------------------

typedef struct suspect {
    int    constraint;
    double gap;
    bool   angle; ///< the gap is an angle [rad], else [m]
} suspect;

// Minimises with some joints relaxed: first a little, then almost completely, because descent along
// nearly hard directions is slow.
static void settle_relaxed(search* f)
{
    static const double softness[] = {1e-2, 1e-4, 1e-6};
    for (int i = 0; i < 3; ++i) {
        f->lm->softness  = softness[i];
        const int rounds = f->relax_left < RELAX_ROUNDS ? f->relax_left : RELAX_ROUNDS;
        f->rounds_left   = rounds;
        (void)descend(f, rounds, 0);
        f->relax_left -= rounds - f->rounds_left;
    }
}

// Remaining error of a relaxed joint when the others have closed; HUGE_VAL if they do not.
static suspect relax(search* f, int constraint)
{
    suspect s               = {constraint, HUGE_VAL, false};
    f->lm->soft[constraint] = 1;
    copy_configuration(f, &f->now, &f->best);
    settle_relaxed(f);
    const double left = largest_at(f, &f->now);
    const double gap  = tni_lm_gap(f->lm, constraint, &s.angle);
    if (left <= fmax(settled, 1e-4 * gap)) s.gap = gap;
    f->lm->soft[constraint] = 0;
    return s;
}

static void note_openings(search* f)
{
    (void)evaluate(f, &f->best);
    for (int i = 0; i < f->model->constraint_count; ++i)
        f->opening[i] = f->lm->soft[i] ? 0 : tni_lm_residual(f->lm, i);
}

// The constraint with the largest error that was not returned before; -1: all others are closed.
static int next_open(search* f)
{
    int most = -1;
    for (int i = 0; i < f->model->constraint_count; ++i) {
        if (f->opening[i] > settled && (most < 0 || f->opening[i] > f->opening[most])) most = i;
    }
    if (most >= 0) f->opening[most] = 0;
    return most;
}

// Finds joints each of which, relaxed, lets the rest close; returns how many.
static int find_suspects(search* f, suspect* found)
{
    int count = 0;
    note_openings(f);
    for (int i = 0, c; i < SUSPECTS_MAX && (c = next_open(f)) >= 0; ++i) {
        const suspect s = relax(f, c);
        if (s.gap < HUGE_VAL) found[count++] = s;
    }
    return count;
}

// Several loops that do not close: the joint with the largest error is relaxed for good, until one
// loop is left.
static int find_culprits(search* f, suspect* found)
{
    int count = find_suspects(f, found);
    for (int i = 0; count == 0 && i < RINGS_MAX; ++i) {
        note_openings(f);
        const int most = next_open(f);
        if (most < 0) break;
        f->lm->soft[most] = 1;
        copy_configuration(f, &f->now, &f->best);
        settle_relaxed(f);
        copy_configuration(f, &f->best, &f->now);
        count = find_suspects(f, found);
    }
    return count;
}

// Moves the joint to be named to the front.
static void choose(suspect* found, int count)
{
    int least = 0;
    for (int i = 1; i < count; ++i) {
        const suspect *a = &found[i], *b = &found[least];
        const bool     equal = fabs(a->gap - b->gap) <= 0.01 * b->gap;
        if (equal ? a->constraint > b->constraint : a->gap < b->gap) least = i;
    }
    const suspect named = found[least];
    found[least]        = found[0];
    found[0]            = named;
}

static const char* name_at(const search* f, int constraint)
{
    return tni_constraint_name(f->model, &f->model->constraints[constraint]);
}

static tn_result name_culprits(const search* f, const suspect* found, int count, tn_why* why)
{
    char others[100] = "";
    for (int i = 1, at = 0; i < count && i <= NAMED_MAX; ++i) {
        const char* name = name_at(f, found[i].constraint);
        if (at + (int)strlen(name) + 40 > (int)sizeof others) break;
        at += snprintf(others + at, sizeof others - (size_t)at, "%s'%s'",
                       i > 1 ? ", " : " (in one ring with ", name);
    }
    if (others[0] != 0)
        strncat(others, count > NAMED_MAX + 1 ? " and more)" : ")",
                sizeof others - strlen(others) - 1);
    return tni_fail(why, TN_ERR_MODEL,
                    "joint '%s' cannot close: its two sides stay %.3g %s apart however the others "
                    "move%s",
                    name_at(f, found[0].constraint), found[0].gap, found[0].angle ? "rad" : "m",
                    others);
}

static tn_result refuse(search* f, tn_assembly* report, tn_why* why)
{
    suspect found[SUSPECTS_MAX];
    f->lm->equal_masses = true; // it does not matter which body moves
    f->relax_left       = ROUNDS_LEAST + (int)(5e6 / (1000.0 + f->model->row_count));
    const int count     = find_culprits(f, found);
    report->error_after = f->best_left;
    if (count > 0) {
        choose(found, count);
        report->worst_joint = tni_constraint_id(f->model, found[0].constraint);
        return name_culprits(f, found, count, why);
    }
    note_openings(f);
    const int most      = next_open(f);
    report->worst_joint = tni_constraint_id(f->model, most);
    return tni_fail(why, TN_ERR_MODEL,
                    "joint '%s' cannot close: the least error found, all joints together, is "
                    "%.3g m or rad",
                    most >= 0 ? name_at(f, most) : "none", f->best_left);
}

// ---- The call -----------------------------------------------------------------------------------

static bool take_configuration(search* f, configuration* p)
{
    p->q = TNI_TAKE(&f->arena, double, f->model->q_count);
    p->z = TNI_TAKE(&f->arena, double, f->model->coordinate_count);
    return !f->arena.failed;
}

static double longest_arm(const tn_model* model)
{
    double most = 0;
    for (int i = 0; i < model->joint_count; ++i)
        most = fmax(most, fmax(tni_norm(model->joints[i].p1), tni_norm(model->joints[i].p2)));
    return most > 0 ? most : 1;
}

static tn_result begin(search* f, const tn_state* state)
{
    const tn_model* model = f->model;
    f->arena              = tni_arena_make(&model->arena.host);
    f->time               = state->time;
    f->best_left          = HUGE_VAL;
    f->length             = longest_arm(model);
    f->rounds_left        = ROUNDS_LEAST + (int)(5e6 / (1000.0 + model->row_count));
    f->start_errors       = TNI_TAKE(&f->arena, double, model->row_count);
    f->shake              = TNI_TAKE(&f->arena, double, model->u_count);
    f->opening            = TNI_TAKE(&f->arena, double, model->constraint_count);
    const bool taken      = take_configuration(f, &f->start) && take_configuration(f, &f->now) &&
                       take_configuration(f, &f->trial) && take_configuration(f, &f->kept) &&
                       take_configuration(f, &f->best);
    if (!taken || tni_lm_create(model, &f->lm) != TN_OK) return TN_ERR_MEMORY;
    copy_configuration(f, &f->start, &(configuration){state->q, state->z});
    copy_configuration(f, &f->best, &f->start);
    (void)evaluate(f, &f->start);
    tni_system_follow(f->lm->system, f->start.z);
    for (int i = 0; i < model->constraint_count; ++i) {
        const tni_constraint* c = &model->constraints[i];
        double                C = 0;
        for (int k = 0; k < c->held_count; ++k) {
            const double left = f->lm->residual[c->row_start + k];
            C                 = fmax(C, fabs(left));
            if (!tni_lm_is_angle(f->lm, i, k)) f->start_errors[c->row_start + k] = left;
        }
        f->lm->keeps_opposite[i] =
            C <= kept_closed; // axes against each other are the author's choice
    }
    return TN_OK;
}

// Angles keep their number of full turns. A screw's follows from its slide.
static void settle_angles(const search* f, const double* before, double* z)
{
    const tn_model* model = f->model;
    for (int i = 0; i < model->joint_count; ++i) {
        const tni_joint* joint = &model->joints[i];
        const bool       screw = joint->type == tni_joint_type_of(TN_JOINT_SCREW, TN_JOINT_HINGE);
        for (int k = 0; k < joint->coordinate_count; ++k) {
            const int at = joint->coordinate_start + k;
            z[at]        = screw ? f->now.z[at] : before[at];
        }
    }
    tni_system_follow(f->lm->system, z);
}

static void measure_move(const search* f, tn_assembly* report)
{
    for (int i = 0; i < f->model->free_count; ++i) {
        const int       index = f->model->free_bodies[i];
        const tni_body* body  = &f->model->bodies[index];
        tni_view        from, to;
        tni_view_body(f->model, index, f->time, f->start.q, NULL, &from);
        tni_view_body(f->model, index, f->time, f->now.q, NULL, &to);
        const tn_frame a = tni_view_pose(body, &from), b = tni_view_pose(body, &to);
        const tn_quat  turn  = tni_quat_mul(b.orientation, tni_quat_conjugate(a.orientation));
        const double   moved = tni_norm(tni_sub(b.position, a.position));
        report->turned       = fmax(report->turned, tni_norm(tni_quat_log(turn)));
        if (moved <= report->moved && report->moved_body.bits != 0) continue;
        report->moved      = moved;
        report->moved_body = (tn_body_id){(uint32_t)index};
    }
}

static tn_result put_together(tn_stepper* s, tn_state* state, tn_assembly* report, tn_why* why)
{
    search    f      = {.model = s->model};
    tn_result result = begin(&f, state);
    if (result != TN_OK) {
        (void)tni_fail(why, result, "out of memory for assembling '%s'", s->model->name);
    } else if (find_closed(&f)) {
        int worst;
        (void)evaluate(&f, &f.now);
        report->error_after = tni_lm_largest(f.lm, &worst);
        report->worst_joint = tni_constraint_id(s->model, worst);
        measure_move(&f, report);
        settle_angles(&f, state->z, state->z);
        tni_copy_numbers(state->q, f.now.q, s->model->q_count);
    } else {
        result = refuse(&f, report, why);
    }
    report->round_count = f.rounds;
    tni_lm_free(f.lm);
    tni_arena_free(&f.arena);
    return result;
}

// Makes the velocities fit the joints at the new configuration: an impulse of the joints alone.
static tn_result fit_velocities(tn_stepper* s, tn_state* state, tn_why* why)
{
    tn_step_report  report;
    const tn_result result = tn_stepper_impulse(s, state, NULL, &report, why);
    double          speed  = 1;
    for (int i = 0; i < s->model->u_count; ++i) speed = fmax(speed, fabs(state->u[i]));
    if (result != TN_OK || report.velocity_error <= settled * speed) return result;
    return tni_fail(
        why, TN_ERR_SINGULAR,
        "the prescribed velocities of the joints contradict each other: error %.3g m/s or rad/s",
        report.velocity_error);
}

tn_result tn_stepper_assemble(tn_stepper* s, tn_state* state, tn_assembly* report, tn_why* why)
{
    tn_assembly own;
    if (report == NULL) report = &own;
    TN_ASSERT(state->model == s->model);
    *report          = (tn_assembly){0};
    s->next_factored = false; // the system will be evaluated elsewhere
    tni_unilaterals_clear(&s->system->unilaterals);
    int                     worst;
    const tni_configuration at = {state->time, state->q, state->u, state->z};
    tni_system_evaluate(s->system, &at);
    report->error_before = report->error_after = tni_system_position_error(s->system, &worst);
    report->worst_joint                        = tni_constraint_id(s->model, worst);
    const bool open                            = report->error_before > closed;
    if (!open && tni_system_velocity_error(s->system, &worst) <= closed) return TN_OK;
    tn_state* before;
    if (tn_state_create(s->model, &before) != TN_OK)
        return tni_fail(why, TN_ERR_MEMORY, "out of memory for assembling '%s'", s->model->name);
    tn_state_copy(before, state);
    tn_result result = open ? put_together(s, state, report, why) : TN_OK;
    if (result == TN_OK) result = fit_velocities(s, state, why);
    if (result != TN_OK) tn_state_copy(state, before);
    tn_state_free(before);
    return result;
}
