// impulse, figures 5 and 6 of Tomcin, Sibbing, Kobbelt 2014: how each way of solving for the
// impulses grows with the number of rows n_C.
//     figure5    mechanisms without loops: time of a factorisation and of one exact solve. A spider's
//                body makes a clique of all its legs in S = J M^-1 J^T: cubic; the others are linear
//     figure6    mechanisms with loops: numbers in the matrix and in its factor. That needs no
//                numbers, only orders; what is not too slow is also stepped, at 60 steps a second
#include "impulse.h"

#include <math.h>
#include <stdlib.h>

enum { SIZES_MAX = 12 };

typedef struct family {
    const char* name;
    const char* format; ///< of its spec, with one %d
    int         count;
    int         sizes[SIZES_MAX];
    int         few; ///< of the sizes, where large ones are not asked for
} family;

/// A family in all its sizes and forms.
typedef struct board {
    const family* family;
    tnb_machine   machines[SIZES_MAX];
    tnb_runner    runners[SIZES_MAX][TNB_FORM_COUNT];
} board;

static bool open_size(board* b, int i)
{
    char spec[96];
    snprintf(spec, sizeof spec, b->family->format, b->family->sizes[i]);
    return tnb_machine_open(&b->machines[i], spec);
}

// False: this form is not there, or takes more memory than there is.
static bool open_form(board* b, int i, int form)
{
    tnb_runner* r = &b->runners[i][form];
    if (tnb_runner_open_form(r, &b->machines[i], form, tnb_frame)) return true;
    tnb_runner_close(r);
    return false;
}

static void close_size(board* b, int i)
{
    for (int form = 0; form < TNB_FORM_COUNT; ++form) tnb_runner_close(&b->runners[i][form]);
    tnb_machine_close(&b->machines[i]);
}

// ---- Figure 5 ------------------------------------------------------------------------------------

static const family trees[] = {
    {"spider", "@spider:segments=3,legs=%d", 8, {5, 10, 20, 50, 100, 200, 400, 800}, 8},
    {"tree", "@tree:depth=%d", 9, {4, 5, 6, 7, 8, 9, 10, 11, 12}, 9},
};

static double factor_and_solve(const tnb_runner* r)
{
    return 1e6 * (r->factor->min + r->solve->min);
}

// Small ones several times a turn, so that all get about the same attention.
static bool time_turn(board* b)
{
    for (int i = 0; i < b->family->count; ++i) {
        for (int form = 0; form < TNB_FORM_COUNT; ++form) {
            tnb_runner*  r     = &b->runners[i][form];
            const double begun = tnc_clock(NULL);
            for (int k = 0; r->stepper && k < 50; ++k) {
                if (!tnb_runner_evaluate(r)) return false;
                if (tnc_clock(NULL) - begun > 2e-3) break;
            }
        }
    }
    return true;
}

static bool time_board(const tnb_run* run, board* b)
{
    const int    turns   = run->repeat > 0 ? run->repeat : 20;
    const double seconds = 60, begun = tnc_clock(NULL);
    for (int turn = -1; turn < turns; ++turn) { // the first one only warms up
        if (turn > 1 && tnc_clock(NULL) - begun > seconds) break;
        tnb_say(run, "figure5: %s, turn %d of %d", b->family->name, turn + 1, turns);
        if (!time_turn(b)) return false;
        for (int i = 0; turn < 0 && i < b->family->count; ++i)
            for (int form = 0; form < TNB_FORM_COUNT; ++form)
                if (b->runners[i][form].stepper) tnb_runner_clear(&b->runners[i][form]);
    }
    return true;
}

static void tell_time(const tnb_run* run, const board* b, int i, int form)
{
    const tnb_runner* r = &b->runners[i][form];
    const tn_counts   n = b->machines[i].counts;
    const char*       w = tnb_form_words[form];
    if (!r->stepper) return;
    const double factor = tnc_times_median(r->factor), solve = tnc_times_median(r->solve);
    tnb_tell(run, "%-8s %6d %6d  %-14s %11.1f %11.1f %11.1f %11.1f %7.1f %9.2e\n", b->family->name,
             b->family->sizes[i], n.rows, w, 1e6 * r->factor->min, 1e6 * factor,
             1e6 * r->solve->min, 1e6 * solve, (double)r->refinements / r->steps,
             r->solver.factor_flops);
    tnc_put(&run->to->csv,
            "figure5,%s,%d,rows,%d,\nfigure5,%s,%d,%s_factor_us,%.3f,%.3f\n"
            "figure5,%s,%d,%s_solve_us,%.3f,%.3f\nfigure5,%s,%d,%s_flops,%.6e,\n",
            b->family->name, n.bodies, n.rows, b->family->name, n.bodies, w, 1e6 * r->factor->min,
            1e6 * factor, b->family->name, n.bodies, w, 1e6 * r->solve->min, 1e6 * solve,
            b->family->name, n.bodies, w, r->solver.factor_flops);
}

static void tell_growth(const tnb_run* run, const board* b)
{
    tnb_tell(run, "\n%s, growth with rows (upper half): time, flops\n", b->family->name);
    for (int form = 0; form < TNB_FORM_AUTO; ++form) {
        double rows[SIZES_MAX], time[SIZES_MAX], flops[SIZES_MAX];
        int    count = 0;
        for (int i = 0; i < b->family->count; ++i) {
            const tnb_runner* r = &b->runners[i][form];
            if (!r->stepper) continue;
            rows[count]    = b->machines[i].counts.rows;
            time[count]    = factor_and_solve(r);
            flops[count++] = r->solver.factor_flops;
        }
        if (count < 2) continue;
        tnb_tell(run, "    %-14s n_C^%.2f  n_C^%.2f\n", tnb_form_words[form],
                 tnb_log_slope(rows, time, count), tnb_log_slope(rows, flops, count));
    }
    tnb_tell(run, "\n");
}

static bool bench_trees(tnb_run* run, board* b)
{
    bool good = true;
    for (int i = 0; good && i < b->family->count; ++i) {
        tnb_say(run, "figure5: %s, preparing size %d", b->family->name, b->family->sizes[i]);
        good = open_size(b, i);
        for (int form = 0; good && form < TNB_FORM_AUTO; ++form) (void)open_form(b, i, form);
    }
    good = good && time_board(run, b);
    for (int i = 0; good && i < b->family->count; ++i)
        for (int form = 0; form < TNB_FORM_AUTO; ++form) tell_time(run, b, i, form);
    if (good) tell_growth(run, b);
    for (int i = 0; i < b->family->count; ++i) close_size(b, i);
    return good;
}

bool tnb_figure5(tnb_run* run)
{
    board* b    = malloc(sizeof *b);
    bool   good = b != NULL;
    tnb_tell(run,
             "figure 5: one factorisation and one exact solve, with refinement, [us]; flops of "
             "the factorisation, predicted\n\n"
             "%-8s %6s %6s  %-14s %11s %11s %11s %11s %7s %9s\n",
             "scene", "size", "rows", "form", "factor min", "median", "solve min", "median",
             "refined", "flops");
    for (int i = 0; good && i < (int)(sizeof trees / sizeof *trees); ++i) {
        *b   = (board){.family = &trees[i]};
        good = bench_trees(run, b);
    }
    free(b);
    return good;
}

// ---- Figure 6 ------------------------------------------------------------------------------------

static const family loops[] = {
    {"scissor", "@scissor:segments=%d", 6, {10, 20, 50, 100, 150, 220}, 6},
    {"strandbeest", "@strandbeest:legs=%d", 5, {12, 24, 36, 50, 100}, 5},
    {"octahedron_tube", "@octahedron_tube:around=20,rings=%d", 8, {1, 2, 4, 8, 16, 32, 75, 150}, 6},
    {"octahedron_cube", "@octahedron_cube:n=%d", 11, {1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 17}, 7},
};

static const double flops_max   = 3e9; // beyond this a form is not stepped
static const double seconds_max = 1;   // of wall time for the steps of a form

/// Kept of a form at one size, when it is closed again.
typedef struct filled {
    double rows, matrix, fill; ///< rows 0: nothing
} filled;

static bool step_a_little(tnb_runner* r)
{
    enum { STEPS = 11 };
    for (int i = 0; i < STEPS; ++i) { // the first one only warms up
        if (i > 1 && r->step->total > seconds_max) break;
        if (!tnb_runner_step(r)) return false;
        if (i == 0) tnb_runner_clear(r);
    }
    return true;
}

static void tell_fill(const tnb_run* run, board* b, int i, int form)
{
    tnb_runner*     r    = &b->runners[i][form];
    const tn_solver s    = r->solver;
    const tn_counts n    = b->machines[i].counts;
    const char *    name = b->family->name, *w = tnb_form_words[form];
    tnb_tell(run, "%-16s %5d %7d  %-6s %11.0f %12.0f %12.0f %9.2e %8.1f", name, b->family->sizes[i],
             n.rows, w, s.matrix_numbers, s.factor_numbers, s.factor_numbers - s.matrix_numbers,
             s.factor_flops, (double)tn_stepper_bytes(r->stepper) / (1 << 20));
    tnc_put(&run->to->csv,
            "figure6,%s,%d,rows,%d,\nfigure6,%s,%d,%s_matrix,%.0f,\nfigure6,%s,%d,%s_fill,%.0f,\n"
            "figure6,%s,%d,%s_flops,%.6e,\n",
            name, n.bodies, n.rows, name, n.bodies, w, s.matrix_numbers, name, n.bodies, w,
            s.factor_numbers - s.matrix_numbers, name, n.bodies, w, s.factor_flops);
    if (r->steps > 0) {
        tnb_tell(run, " %9.3f %9.3f %9.3f %8.2f", 1e3 * r->factor->min, 1e3 * r->solve->min,
                 1e3 * r->step->min, (double)r->iterations / r->steps);
        tnc_put(&run->to->csv,
                "figure6,%s,%d,%s_factor_us,%.1f,%.1f\nfigure6,%s,%d,%s_step_us,%.1f,%.1f\n", name,
                n.bodies, w, 1e6 * r->factor->min, 1e6 * tnc_times_median(r->factor), name,
                n.bodies, w, 1e6 * r->step->min, 1e6 * tnc_times_median(r->step));
    }
    tnb_tell(run, "\n");
}

// One form at a time: large ones need the memory.
static bool fill_form(const tnb_run* run, board* b, int i, int form, filled* kept)
{
    bool good = true;
    tnb_say(run, "figure6: %s, size %d, %s", b->family->name, b->family->sizes[i],
            tnb_form_words[form]);
    if (open_form(b, i, form)) {
        tnb_runner* r = &b->runners[i][form];
        if (r->solver.factor_flops < flops_max) good = step_a_little(r);
        tell_fill(run, b, i, form);
        *kept = (filled){b->machines[i].counts.rows, r->solver.matrix_numbers,
                         r->solver.factor_numbers - r->solver.matrix_numbers};
    } else {
        tnb_tell(run, "%-16s %5d %7d  %-6s not enough memory\n", b->family->name,
                 b->family->sizes[i], b->machines[i].counts.rows, tnb_form_words[form]);
    }
    tnb_runner_close(&b->runners[i][form]);
    return good;
}

static void tell_fill_growth(const tnb_run* run, const family* f,
                             filled kept[SIZES_MAX][TNB_FORM_COUNT])
{
    tnb_tell(run, "\n%s, growth with rows (upper half): numbers in the matrix, fill\n", f->name);
    for (int form = 0; form <= TNB_FORM_SPLIT; ++form) {
        double rows[SIZES_MAX], matrix[SIZES_MAX], fill[SIZES_MAX];
        int    count = 0;
        for (int i = 0; i < f->count; ++i) {
            const filled* k = &kept[i][form];
            if (!(k->rows > 0 && k->fill > 0)) continue;
            rows[count]   = k->rows;
            matrix[count] = k->matrix;
            fill[count++] = k->fill;
        }
        if (count < 2) continue;
        tnb_tell(run, "    %-6s n_C^%.2f  n_C^%.2f\n", tnb_form_words[form],
                 tnb_log_slope(rows, matrix, count), tnb_log_slope(rows, fill, count));
    }
    tnb_tell(run, "\n");
}

static bool bench_loops(tnb_run* run, board* b)
{
    filled    kept[SIZES_MAX][TNB_FORM_COUNT] = {0};
    bool      good                            = true;
    const int count                           = run->large ? b->family->count : b->family->few;
    for (int i = 0; good && i < count; ++i) {
        tnb_say(run, "figure6: %s, size %d, compiling", b->family->name, b->family->sizes[i]);
        good = open_size(b, i);
        for (int form = 0; good && form <= TNB_FORM_SPLIT; ++form)
            good = fill_form(run, b, i, form, &kept[i][form]);
        close_size(b, i);
    }
    if (good) tell_fill_growth(run, b->family, kept);
    return good;
}

bool tnb_figure6(tnb_run* run)
{
    board* b    = malloc(sizeof *b);
    bool   good = b != NULL;
    tnb_tell(
        run,
        "figure 6: numbers in the matrix and in its factor, one triangle with the diagonal; flops of "
        "the\nfactorisation, predicted; memory of the stepper [MiB]; factorisation, solves and whole "
        "step of 1/60 s\n[ms], the least of a few; --large: more sizes of the tube and the cube\n\n"
        "%-16s %5s %7s  %-6s %11s %12s %12s %9s %8s %9s %9s %9s %8s\n",
        "scene", "size", "rows", "form", "matrix", "factor", "fill", "flops", "memory", "factor.",
        "solves", "step", "iterat.");
    for (int i = 0; good && i < (int)(sizeof loops / sizeof *loops); ++i) {
        *b   = (board){.family = &loops[i]};
        good = bench_loops(run, b);
    }
    free(b);
    return good;
}
