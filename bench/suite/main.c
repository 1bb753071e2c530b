#define _POSIX_C_SOURCE 200809L

// tenon-bench: the benchmarks. Each measurement is repeated; the smallest and the median time are printed,
// the smallest being the machine at its quietest. Repetitions of different sizes take turns, so that a slow spell of
// the machine hits all of them alike. Exit codes as those of tenon: 0 done, 1 something failed, 2 a wrong command line.
#include "suite.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// ---- What the suites share -----------------------------------------------------------------------

bool tnb_failed(const char* spec, const tn_why* why)
{
    tnc_complain_why(spec, why);
    return false;
}

void tnb_say(const tnb_run* run, const char* format, ...)
{
    va_list args;
    if (!run->progress.shown) return;
    va_start(args, format);
    fprintf(stderr, "\r");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\033[K");
    fflush(stderr);
    va_end(args);
}

void tnb_tell(const tnb_run* run, const char* format, ...)
{
    va_list args;
    FILE*   file = run->to->table.file;
    if (!file) return;
    if (run->progress.shown) fprintf(stderr, "\r\033[K");
    va_start(args, format);
    vfprintf(file, format, args);
    va_end(args);
    fflush(file);
}

double tnb_processor_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double tnb_log_slope(const double* x, const double* y, int count)
{
    const int first = count > 3 ? count / 2 : 0;
    double    n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = first; i < count; ++i) {
        const double u = log(x[i]), v = log(y[i]);
        n += 1, sx += u, sy += v, sxx += u * u, sxy += u * v;
    }
    return n > 1 ? (n * sxy - sx * sy) / (n * sxx - sx * sx) : 0;
}

// ---- The command line ----------------------------------------------------------------------------

static const tnb_suite* const suites[] = {&tnb_baraff,    &tnb_linear,  &tnb_scenes,
                                          &tnb_auxiliary, &tnb_impulse, &tnb_implicit,
                                          &tnb_adaptive,  &tnb_batch,   &tnb_crowds};
enum { SUITE_COUNT = sizeof suites / sizeof suites[0], PART_MAX = 16 };

typedef struct options {
    const tnb_suite* suite; ///< NULL: all of them
    const tnb_part*  part;  ///< NULL: all but those that run only when asked for
    const char*      csv;
    int              repeat; ///< 0: the benchmark chooses
    bool             large, quiet, list, help;
} options;

static void list(void)
{
    for (int i = 0; i < SUITE_COUNT; ++i) {
        printf("%-10s %s\n", suites[i]->name, suites[i]->help);
        for (const tnb_part* p = suites[i]->parts; p && p->name; ++p)
            printf("    %-10s %s%s\n", p->name, p->help, p->alone ? "; only when named" : "");
    }
}

static void help(void)
{
    printf(
        "tenon-bench [NAME [PART]] [options]: the benchmark suite, or one of it; a table and CSV\n\n");
    list();
    printf(
        "\nOptions:\n"
        "    --csv FILE   the measurements as CSV ('-': standard output, and then no table goes there)\n"
        "    --repeat N   repetitions of each measurement\n"
        "    --large      'linear' goes on to a million bodies, 'impulse' to the largest tubes and cubes\n"
        "    --quiet      no table, no progress\n"
        "    --list       what there is\n"
        "\n"
        "    tenon-bench impulse figure5 --csv figure5.csv\n"
        "    tenon-bench linear --large --csv linear.csv\n"
        "\nThe short test of speed for users is: tenon bench\n");
}

// " (did you mean 'x'?)", or a full stop's worth of nothing.
static bool unknown(const char* what, const char* word, const char* const* names, int count)
{
    const char* near = tn_nearest_word(word, names, count);
    if (near) tnc_complain("unknown %s '%.200s' (did you mean '%s'?)", what, word, near);
    else tnc_complain("unknown %s '%.200s'; tenon-bench --list shows them", what, word);
    return false;
}

static bool find_suite(options* o, const char* name)
{
    const char* names[SUITE_COUNT];
    for (int i = 0; i < SUITE_COUNT; ++i) {
        names[i] = suites[i]->name;
        if (strcmp(name, names[i]) == 0) o->suite = suites[i];
    }
    return o->suite || unknown("benchmark", name, names, SUITE_COUNT);
}

static bool find_part(options* o, const char* name)
{
    const char* names[PART_MAX];
    char        what[40];
    int         count = 0;
    if (!o->suite->parts) {
        tnc_complain("unexpected argument '%.200s': benchmark '%s' has no parts", name,
                     o->suite->name);
        return false;
    }
    for (const tnb_part* p = o->suite->parts; p->name && count < PART_MAX; ++p) {
        names[count++] = p->name;
        if (strcmp(name, p->name) == 0) o->part = p;
    }
    snprintf(what, sizeof what, "part of %s", o->suite->name);
    return o->part || unknown(what, name, names, count);
}

static bool take_argument(options* o, const char* text)
{
    if (!o->suite) return find_suite(o, text);
    if (!o->part) return find_part(o, text);
    tnc_complain("unexpected argument '%.200s' after '%s'", text, o->part->name);
    return false;
}

static bool take_flag(options* o, const char* text)
{
    bool* const flag = strcmp(text, "--large") == 0                             ? &o->large
                       : strcmp(text, "--quiet") == 0                           ? &o->quiet
                       : strcmp(text, "--list") == 0                            ? &o->list
                       : strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0 ? &o->help
                                                                                : NULL;
    if (flag) *flag = true;
    return flag != NULL;
}

static bool take_value(options* o, const char* option, const char* value)
{
    char* end = NULL;
    if (strcmp(option, "--csv") == 0) {
        o->csv = value;
        return true;
    }
    const long count = strtol(value, &end, 10);
    if (count >= 1 && count <= 1000000000 && !*end) o->repeat = (int)count;
    else tnc_complain("option '--repeat' takes a whole number from 1, not '%.200s'", value);
    return o->repeat > 0;
}

static bool parse(options* o, int argc, char** argv)
{
    *o = (options){0};
    for (int i = 1; i < argc; ++i) {
        const char* const text = argv[i];
        if (text[0] != '-') {
            if (!take_argument(o, text)) return false;
        } else if (strcmp(text, "--csv") == 0 || strcmp(text, "--repeat") == 0) {
            if (i + 1 == argc) {
                tnc_complain("option '%s' needs a value", text);
                return false;
            }
            if (!take_value(o, text, argv[++i])) return false;
        } else if (!take_flag(o, text)) {
            tnc_complain("unknown option '%.200s'; see tenon-bench --help", text);
            return false;
        }
    }
    return true;
}

// ---- Running -------------------------------------------------------------------------------------

static bool run_suite(const tnb_suite* suite, const options* o, tnb_run* run)
{
    bool good     = true;
    run->progress = tnc_progress_begin(o->quiet);
    if (suite->begin) suite->begin(run);
    if (suite->run) good = suite->run(run);
    for (const tnb_part* p = suite->parts; p && p->name; ++p) {
        if (o->part ? p != o->part : p->alone) continue;
        good = p->run(run) && good;
    }
    tnc_progress_end(&run->progress);
    return good;
}

static bool open_sheet(tnb_sheet* to, const options* o)
{
    *to = (tnb_sheet){0};
    if (o->csv && !tnc_out_open(&to->csv, o->csv)) return false;
    tnc_put(&to->csv, "suite,scene,bodies,quantity,min,median\n");
    const bool console = to->csv.file == stdout;
    return console || o->quiet || tnc_out_open(&to->table, "-");
}

static int run_all(const options* o)
{
    tnb_sheet to;
    bool      good = true;
    if (!open_sheet(&to, o)) return TNC_WRONG;
    tnb_run run = {.to = &to, .repeat = o->repeat, .large = o->large};
    for (int i = 0; i < SUITE_COUNT; ++i)
        if (!o->suite || o->suite == suites[i]) good = run_suite(suites[i], o, &run) && good;
    return tnc_out_close(&to.csv) && tnc_out_close(&to.table) && good ? TNC_DONE : TNC_STOPPED;
}

int main(int argc, char** argv)
{
    options o;
    if (!parse(&o, argc, argv)) return TNC_WRONG;
    if (!o.help && !o.list) return run_all(&o);
    if (o.help) help();
    else list();
    return TNC_DONE;
}
