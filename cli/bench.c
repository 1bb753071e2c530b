// bench: a short test of speed. Some typical mechanisms, each by the method that suits it, at 60 steps a second: rounds
// of as many steps from the start, until some seconds of wall time are over. The benchmarks of the papers are
// a program of their own: bench/suite.
#include "motion.h"

#include "tenon/batch.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COPIES = 1000 };

static const double share = 2.5; ///< wall time a row, unless a number of rounds is asked for [s]

typedef struct row {
    const char* name;
    const char* what;
    const char* spec;
    const char* method;
    int         steps;  ///< a round
    int         copies; ///< stepped together; 0: one, by itself
} row;

static const row rows[] = {
    {"chain", "a chain of 1,000 links", "@chain:n=1000", "implicit", 120, 0},
    {"humanoid", "a person, hung up by the chest", "@humanoid", "implicit", 120, 0},
    {"strandbeest", "a walking machine: 36 closed loops", "@strandbeest", "impulse", 120, 0},
    {"heap", "4 limp people fall onto a heap", "@ragdoll_pile:n=4", "impulse", 120, 0},
    {"crowd", "200 people, 2,000 joints active", "@crowd", "adaptive", 30, 0},
    {"batch", "each of 1,000 people together", "@humanoid", "implicit", 12, COPIES},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

/// A row at work.
typedef struct measured {
    tnc_job    job;
    tn_pool*   pool; ///< of the batch
    tn_batch*  batch;
    tnc_times* times;    ///< of steps [s]
    double     error;    ///< of joints, the largest [m or rad]
    double     realtime; ///< simulated over wall time, of all copies
} measured;

static bool failed(const row* r, const tn_why* why)
{
    tnc_complain_why(r->spec, why);
    return false;
}

// ---- Copies --------------------------------------------------------------------------------------

// Within width of zero, the same on every machine.
static double scattered(uint64_t* seed, double width)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return 2 * width * ((double)(*seed >> 11) * 0x1p-53 - 0.5);
}

// Every copy starts in a pose of its own.
static bool scatter(const row* r, measured* m)
{
    const int n    = tn_model_coordinate_count(m->job.model);
    double*   z    = malloc(sizeof *z * 2 * (size_t)(n > 0 ? n : 1));
    tn_why    why  = {.result = TN_ERR_MEMORY};
    bool      good = z != NULL;
    for (int i = 0; good && i < r->copies; ++i) {
        uint64_t seed = (uint64_t)i + 1;
        for (int k = 0; k < n; ++k) z[k] = scattered(&seed, 0.3), z[n + k] = scattered(&seed, 1);
        good = tn_state_set_joints(tn_batch_state(m->batch, i), z, z + n, &why) == TN_OK;
    }
    free(z);
    return good || failed(r, &why);
}

static bool open_batch(const row* r, measured* m)
{
    tn_host host = tn_default_host();
    tn_why  why  = {.result = TN_ERR_MEMORY};
    m->pool      = tn_pool_create(tn_processor_count());
    host.each = tn_pool_each, host.workers = m->pool;
    if (m->pool == NULL ||
        tn_batch_create(m->job.model, &m->job.settings, r->copies, &host, &m->batch, &why) != TN_OK)
        return failed(r, &why);
    return true;
}

// ---- Measuring -----------------------------------------------------------------------------------

static bool open_row(const row* r, const tnc_options* asked, measured* m)
{
    tnc_options options = {.command = asked->command, .argument = r->spec, .setting_count = 2};
    options.settings[0] = (tnc_setting){.option = "bench", .key = "method", .value = r->method};
    options.settings[1] =
        (tnc_setting){.option = "bench", .key = "h", .value = "0.016666666666666666"};
    *m       = (measured){0};
    m->times = malloc(sizeof *m->times);
    if (!m->times) return failed(r, &(tn_why){.result = TN_ERR_MEMORY});
    tnc_times_clear(m->times);
    return tnc_job_open(&m->job, &options) == TNC_DONE && (r->copies == 0 || open_batch(r, m));
}

static void close_row(measured* m)
{
    tn_batch_free(m->batch);
    tn_pool_free(m->pool);
    tnc_job_close(&m->job);
    free(m->times);
}

static bool begin_round(const row* r, measured* m)
{
    if (m->batch) return scatter(r, m);
    tn_state_reset(m->job.state);
    return true;
}

static bool step(const row* r, measured* m)
{
    const double    h      = m->job.settings.h;
    tn_step_report  report = {0};
    tn_batch_report all    = {0};
    tn_why          why    = {0};
    const double    begun  = tnc_clock(NULL);
    const tn_result result = m->batch
                                 ? tn_batch_step(m->batch, h, &all, &why)
                                 : tn_stepper_step(m->job.stepper, m->job.state, h, &report, &why);
    if (result != TN_OK) return failed(r, &why);
    tnc_times_add(m->times, tnc_clock(NULL) - begun);
    m->error = fmax(m->error, m->batch ? all.joint_error : report.joint_error);
    return true;
}

static bool measure(const row* r, measured* m, long long rounds)
{
    long long done = 0;
    for (; rounds > 0 ? done < rounds : m->times->total < share; ++done) {
        if (!begin_round(r, m)) return false;
        for (int i = 0; i < r->steps; ++i)
            if (!step(r, m)) return false;
    }
    const double simulated = (double)done * r->steps * m->job.settings.h;
    m->realtime            = simulated * (r->copies > 0 ? r->copies : 1) / m->times->total;
    return true;
}

// ---- The table -----------------------------------------------------------------------------------

// The processor's name, where the system has it in a file.
static void name_processor(char* name, size_t size)
{
    char  line[256];
    FILE* file = fopen("/proc/cpuinfo", "r");
    snprintf(name, size, "unknown processor");
    while (file && fgets(line, sizeof line, file)) {
        const char* value = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !value) continue;
        for (++value; isspace((unsigned char)*value); ++value) continue;
        snprintf(name, size, "%.*s", (int)strcspn(value, "\n\""), value);
        break;
    }
    if (file) fclose(file);
}

static void put_head(tnc_out* table, tnc_out* csv, const char* machine)
{
    tnc_put(table, "tenon %s on %s, %d processor%s\n\n", TN_VERSION, machine, tn_processor_count(),
            tn_processor_count() > 1 ? "s" : "");
    tnc_put(table, "%-36s %-9s %7s %11s %11s %12s %12s\n", "60 steps a second", "method", "bodies",
            "step [us]", "median", "x real time", "joint error");
    tnc_put(
        csv,
        "name,scene,method,bodies,copies,h,steps,seconds,min_us,median_us,real_time,joint_error,"
        "machine\n");
}

static void put_row(tnc_out* table, tnc_out* csv, const row* r, measured* m, const char* machine)
{
    const double each = 1e6 / (r->copies > 0 ? r->copies : 1), least = each * m->times->min;
    const double median = each * tnc_times_median(m->times);
    const int    bodies = tn_model_counts(m->job.model).bodies;
    tnc_put(table, "%-36s %-9s %7d %11.1f %11.1f %12.1f %12.1e\n", r->what, r->method, bodies,
            least, median, m->realtime, m->error);
    tnc_put(csv, "%s,%s,%s,%d,%d,%.9g,%lld,%.6g,%.3f,%.3f,%.3f,%.3e,\"%s, %d processors\"\n",
            r->name, r->spec, r->method, bodies, r->copies > 0 ? r->copies : 1, m->job.settings.h,
            m->times->seen, m->times->total, least, median, m->realtime, m->error, machine,
            tn_processor_count());
    if (table->file) fflush(table->file);
}

static bool bench_row(const row* r, const tnc_options* options, tnc_out* table, tnc_out* csv,
                      const char* machine)
{
    measured   m;
    const bool good = open_row(r, options, &m) && measure(r, &m, options->repeat);
    if (good) put_row(table, csv, r, &m, machine);
    close_row(&m);
    return good;
}

static bool is_known(const char* name)
{
    const char* names[ROWS];
    for (int i = 0; i < ROWS; ++i) {
        names[i] = rows[i].name;
        if (strcmp(name, names[i]) == 0) return true;
    }
    const char* near = tn_nearest_word(name, names, ROWS);
    if (near) tnc_complain("unknown benchmark '%.200s' (did you mean '%s'?)", name, near);
    else tnc_complain("unknown benchmark '%.200s'; tenon bench --list shows them", name);
    return false;
}

static bool open_sheet(const tnc_options* options, tnc_out* table, tnc_out* csv)
{
    if (options->csv && !tnc_out_open(csv, options->csv)) return false;
    return csv->file == stdout || options->quiet || tnc_out_open(table, "-");
}

int tnc_bench(const tnc_options* options)
{
    if (options->list) {
        for (int i = 0; i < ROWS; ++i) printf("%-12s %s\n", rows[i].name, rows[i].what);
        return TNC_DONE;
    }
    tnc_out table = {0}, csv = {0};
    char    machine[128];
    bool    good = true;
    if (options->argument && !is_known(options->argument)) return TNC_WRONG;
    if (!open_sheet(options, &table, &csv)) return TNC_WRONG;
    name_processor(machine, sizeof machine);
    put_head(&table, &csv, machine);
    tnc_progress progress = tnc_progress_begin(options->quiet);
    for (int i = 0; i < ROWS; ++i) {
        if (options->argument && strcmp(options->argument, rows[i].name) != 0) continue;
        tnc_progress_count(&progress, i, ROWS, "measured");
        tnc_progress_end(&progress);
        good = bench_row(&rows[i], options, &table, &csv, machine) && good;
    }
    return tnc_out_close(&csv) && tnc_out_close(&table) && good ? TNC_DONE : TNC_STOPPED;
}
