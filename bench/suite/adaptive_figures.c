// adaptive, figures 5 and 6 of Redon, Galoppo, Lin 2005 ("R"): what is lost when few joints are simulated.
//     figure5    the pendulum of 300 hinges falls for a second with 300, 100, 50, 20 and 1 of them active. The poses
//                go into the CSV, and bench/plots makes a picture of them
//     figure6    a chain of 50 links comes to rest where a spring draws it: the shape and the energy that it ends
//                with, when 5 or 10 joints are active, the same ones for ever or chosen as it moves
#include "adaptive.h"

#include <math.h>
#include <stdlib.h>

// The end of a rod: half its length along its z axis.
static tn_vec3 rod_end(const tn_state* state, int rod, double half)
{
    const tn_frame pose = tn_state_pose(state, (tn_body_id){(uint32_t)rod});
    const tn_quat  q    = pose.orientation;
    return (tn_vec3){pose.position.x + half * 2 * (q.x * q.z + q.w * q.y),
                     pose.position.y + half * 2 * (q.y * q.z - q.w * q.x),
                     pose.position.z + half * (1 - 2 * (q.x * q.x + q.y * q.y))};
}

// Root mean square of the distances between ends of rods, over the length of the whole chain.
static double shape_error(const tn_state* a, const tn_state* b, int rods, double length)
{
    double sum = 0;
    for (int i = 1; i <= rods; ++i) {
        const tn_vec3 p = rod_end(a, i, 0.5 * length), q = rod_end(b, i, 0.5 * length);
        sum += (p.x - q.x) * (p.x - q.x) + (p.y - q.y) * (p.y - q.y) + (p.z - q.z) * (p.z - q.z);
    }
    return sqrt(sum / rods) / (rods * length);
}

// The chain in the plane, as the picture has it: x and z in place of a least and a median.
static void put_pose(const tnb_run* run, const char* figure, const char* name, const tnb_trial* t,
                     int stride)
{
    for (int rod = 0; rod <= t->counts.bodies; rod += stride) {
        const tn_vec3 p = rod > 0 ? rod_end(t->state, rod, 0.05) : (tn_vec3){0, 0, 0};
        tnc_put(&run->to->csv, "%s,%s,%d,pose_%.2f_%d,%.5f,%.5f\n", figure, name, t->counts.bodies,
                tn_state_time(t->state), rod, p.x, p.z);
    }
}

// ---- Figure 5 ------------------------------------------------------------------------------------

enum { HINGES = 300, POSES = 5, STRIDE = 5 };

typedef struct fall {
    const char* name;
    int         active;  ///< 0: all
    bool        printed; ///< as R has it: as many looked at as active, and closed upward
    double      told;    ///< by R [ms a step]; 0: nothing
} fall;

static const fall falls[] = {{"300", 0, false, 5},           {"100", 100, false, 1.7},
                             {"50", 50, false, 0.7},         {"20", 20, false, 0.25},
                             {"1", 1, false, 0.02},          {"100_as_printed", 100, true, 0},
                             {"50_as_printed", 50, true, 0}, {"20_as_printed", 20, true, 0}};
enum { FALLS = sizeof falls / sizeof *falls };

static bool open_fall(tnb_trial* t, const fall* f)
{
    if (!tnb_trial_load(t, "@pendulum", NULL)) return false;
    tnb_set_method(&t->settings, TN_METHOD_ADAPTIVE);
    t->settings.adaptive.active = f->active;
    if (f->printed) {
        t->settings.adaptive.update  = f->active;
        t->settings.adaptive.weights = TN_WEIGHTS_ONE;
        t->settings.adaptive.choice  = TN_CHOICE_CLOSED;
    }
    return tnb_trial_ready(t);
}

// worst: the largest error of all poses.
static bool fall_through(const tnb_run* run, const fall* f, tnb_trial* t, tn_state** reference,
                         double* worst)
{
    *worst = 0;
    for (int pose = 0; pose < POSES; ++pose) {
        const int steps = (int)(1 / t->settings.h / POSES + 0.5);
        if (!tnb_trial_go(t, steps)) return false;
        if (f->active == 0 && tn_state_create(t->model, &reference[pose]) != TN_OK) return false;
        if (f->active == 0) tn_state_copy(reference[pose], t->state);
        *worst = fmax(*worst, shape_error(t->state, reference[pose], HINGES, 0.1));
        if (!f->printed) put_pose(run, "adaptive_figure5", f->name, t, STRIDE);
    }
    return true;
}

static void tell_fall(const tnb_run* run, const fall* f, const tnb_trial* t, double error,
                      double worst)
{
    const double us = 1e6 * tnc_times_median(t->times);
    tnb_tell(run, "%-16s %10.4f %10.4f %10.2f %10.1f %10.0f %12.3g", f->name, 100 * error,
             100 * worst, us, t->visits / (double)t->steps, t->choices, t->kinetic_loss);
    if (f->told > 0) tnb_tell(run, " %9.2f", f->told);
    tnb_tell(run, "\n");
    tnc_put(&run->to->csv,
            "adaptive_figure5,%s,%d,error,%.4e,%.4e\nadaptive_figure5,%s,%d,step_us,%.3f,\n",
            f->name, (int)HINGES, error, worst, f->name, (int)HINGES, us);
}

// How far the fall of all joints is from that by multipliers of fourth order: what the step costs.
static bool tell_integrator(const tnb_run* run, const tn_state* all)
{
    tnb_trial t;
    bool      good = tnb_trial_load(&t, "@pendulum", NULL);
    if (good) {
        tnb_set_method(&t.settings, TN_METHOD_MULTIPLIER);
        t.settings.multiplier.integrator = TN_INTEGRATOR_RK4;
        good = tnb_trial_ready(&t) && tnb_trial_warm(&t, (int)(1 / t.settings.h + 0.5));
    }
    if (good)
        tnb_tell(run, "all active against multipliers, rk4, same step: %.4f %%\n",
                 100 * shape_error(t.state, all, HINGES, 0.1));
    tnb_trial_close(&t);
    return good;
}

bool tnb_pendulum(tnb_run* run)
{
    tnb_trial* t                = calloc(FALLS, sizeof *t);
    tn_state*  reference[POSES] = {0};
    bool       good             = t != NULL;
    tnb_tell(
        run,
        "figure 5: the pendulum of 300 hinges falls for one second, h = 1 ms. error: of the ends of rods, root mean\n"
        "square over the length, against all joints active, in percent: at the end, the most at fifths of a second;\n"
        "us (median of fifths) and nodes visited a step; loss: energy that holding joints took [J]; R: Redon et al., ms a step\n\n"
        "%-16s %10s %10s %10s %10s %10s %12s %9s\n",
        "active", "error [%]", "the most", "us", "nodes", "choices", "loss", "R");
    for (int i = 0; good && i < FALLS; ++i) {
        double worst = 0;
        tnb_say(run, "figure5: %s active", falls[i].name);
        good =
            open_fall(&t[i], &falls[i]) && fall_through(run, &falls[i], &t[i], reference, &worst);
        if (good)
            tell_fall(run, &falls[i], &t[i],
                      shape_error(t[i].state, reference[POSES - 1], HINGES, 0.1), worst);
    }
    good = good && tell_integrator(run, reference[POSES - 1]);
    for (int i = 0; i < POSES; ++i) tn_state_free(reference[i]);
    for (int i = 0; t && i < FALLS; ++i) tnb_trial_close(&t[i]);
    free(t);
    tnb_tell(run, "\n");
    return good;
}

// ---- Figure 6 ------------------------------------------------------------------------------------

enum { CHAIN = 50 };

typedef struct pull {
    const char* name;
    int         active, update; ///< update 0: twice as many
    tn_choice   choice;
} pull;

static const pull pulls[] = {
    {"all_50", 0, 0, TN_CHOICE_AUTO},      {"5_fixed", 5, 0, TN_CHOICE_FIXED},
    {"10_fixed", 10, 0, TN_CHOICE_FIXED},  {"5_as_R", 5, 5, TN_CHOICE_CLOSED},
    {"10_as_R", 10, 10, TN_CHOICE_CLOSED}, {"5_closed", 5, 10, TN_CHOICE_CLOSED},
    {"5_auto", 5, 0, TN_CHOICE_AUTO},      {"10_auto", 10, 0, TN_CHOICE_AUTO},
    {"10_mixed", 10, 0, TN_CHOICE_MIXED},
};
enum { PULLS = sizeof pulls / sizeof *pulls };

static const double places[][2] = {{2.2, 0.6}, {1.5, 0.5}, {2.5, 1.5}, {1, 2},
                                   {3, 1},     {2, -0.5},  {0.8, 1.2}};
enum { PLACES = sizeof places / sizeof *places };

static double potential(const tn_state* state)
{
    const tn_energy e = tn_state_energy(state);
    return e.gravity + e.elastic;
}

static bool open_pull(tnb_trial* t, const char* spec, const pull* p)
{
    if (!tnb_trial_load(t, spec, NULL)) return false;
    tnb_set_method(&t->settings, TN_METHOD_ADAPTIVE);
    t->settings.adaptive.active = p->active;
    t->settings.adaptive.update = p->update;
    t->settings.adaptive.choice = p->choice;
    if (p->choice == TN_CHOICE_CLOSED) t->settings.adaptive.weights = TN_WEIGHTS_ONE; // as R
    return tnb_trial_ready(t);
}

static bool to_rest(tnb_trial* t)
{
    enum { TURNS = 60 };
    const int steps = (int)(t->settings.duration / t->settings.h / TURNS + 0.5);
    for (int i = 0; i < TURNS; ++i)
        if (!tnb_trial_go(t, steps)) return false;
    return true;
}

static void tell_pull(const tnb_run* run, const pull* p, const tnb_trial* t, const tn_state* rest,
                      const double* place)
{
    const double shape = shape_error(t->state, rest, CHAIN, 0.1);
    const double above = potential(t->state) - potential(rest);
    tnb_tell(run, "%-12s %10.4f %12.3e %12.1e %10.2f %10.1f\n", p->name, 100 * shape, above,
             tn_state_energy(t->state).kinetic, 1e6 * t->times->min, t->visits / (double)t->steps);
    tnc_put(&run->to->csv, "adaptive_figure6,%s,%d,shape_%g_%g,%.4e,%.4e\n", p->name, (int)CHAIN,
            place[0], place[1], shape, above);
    if (place == places[0]) put_pose(run, "adaptive_figure6", p->name, t, 1);
}

// Where the implicit method comes to rest, which knows nothing of held joints, after ten times as long: the truth.
static bool find_rest(tnb_trial* t, const char* spec)
{
    if (!tnb_trial_load(t, spec, NULL)) return false;
    t->settings.method = TN_METHOD_IMPLICIT;
    t->settings.h      = tnb_frame;
    return tnb_trial_ready(t) && tnb_trial_warm(t, (int)(10 * t->settings.duration / tnb_frame));
}

static bool bench_place(tnb_run* run, const double* place)
{
    tnb_trial* t    = calloc(PULLS + 1, sizeof *t);
    tnb_trial* rest = &t[PULLS];
    bool       good = t != NULL;
    char       spec[96];
    snprintf(spec, sizeof spec, "@spring_pendulum:aside=%g,below=%g", place[0], place[1]);
    good = good && find_rest(rest, spec);
    if (good)
        tnb_tell(run, "spring to %g m aside, %g m below the pivot; at rest to %.0e J\n", place[0],
                 place[1], tn_state_energy(rest->state).kinetic);
    if (good && place == places[0]) put_pose(run, "adaptive_figure6", "rest", rest, 1);
    for (int i = 0; good && i < PULLS; ++i) {
        tnb_say(run, "figure6: %s, %s active", spec, pulls[i].name);
        good = open_pull(&t[i], spec, &pulls[i]) && to_rest(&t[i]);
        if (good) tell_pull(run, &pulls[i], &t[i], rest->state, place);
    }
    for (int i = 0; t && i <= PULLS; ++i) tnb_trial_close(&t[i]);
    free(t);
    tnb_tell(run, "\n");
    return good;
}

bool tnb_spring(tnb_run* run)
{
    bool good = true;
    tnb_tell(
        run,
        "figure 6: a hanging chain of 50 links of 0.1 m, drawn aside by a spring of 100 N/m at the end of its 30th, for\n"
        "60 s, h = 2 ms, choices every 20 steps. fixed: the joints next to the root of the assembly tree; as_R: chosen by\n"
        "the accelerations of as many, with those above them, as Redon et al. have it; closed: of twice as many; auto:\n"
        "the default. shape: root mean square of the distances of the ends of links to where they come to rest by the\n"
        "implicit method after 600 s, over the length; energy above that [J]; kinetic: what it still moves with [J]; us\n"
        "and nodes visited a step\n\n"
        "%-12s %10s %12s %12s %10s %10s\n",
        "active", "shape [%]", "energy", "kinetic", "us", "nodes");
    for (int i = 0; i < PLACES; ++i) good = bench_place(run, places[i]) && good;
    return good;
}
