// options: one table of options serves the parser and the help pages alike.
//
// Every option has a long name and, unless it is a flag, a value: `--h 0.01` or `--h=0.01`. The last
// one wins. A command has traits (it has a mechanism, it simulates, ...), and an option serves the commands
// that have one of its traits; elsewhere it is refused, never ignored.
#include "options.h"

#include "cli.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef enum option_kind {
    OPTION_SETTING, ///< a method setting whose key is `key`
    OPTION_PAIR,    ///< KEY=VALUE
    OPTION_TEXT,    ///< const char* at offset
    OPTION_COUNT,   ///< long long at offset, at least 1
    OPTION_WHOLE,   ///< long long at offset, at least 0
    OPTION_FLAG     ///< bool at offset
} option_kind;

typedef struct option {
    const char* name;
    const char* value;  ///< as the help page calls it; NULL: a flag
    unsigned    traits; ///< of the commands that it serves: any of them will do
    option_kind kind;
    size_t      offset;
    const char* key;
    const char* help;
} option;

#define AT(field) offsetof(tnc_options, field), NULL
#define KEY(key)  0, key

static const option option_list[] = {
    {"--out", "FILE", TNC_WRITES, OPTION_TEXT, AT(out), "the file to write; its ending says what"},
    {"--size", "WxH", TNC_SHOOTS, OPTION_TEXT, AT(picture.size),
     "size of a picture [px] (default 640x480)"},
    {"--at", "T,T", TNC_SHOOTS, OPTION_TEXT, AT(picture.at),
     "times of still pictures [s] (default: the end); several stand side by side"},
    {"--fps", "N", TNC_SHOOTS, OPTION_TEXT, AT(picture.fps),
     "frames per second of a film (default 30)"},
    {"--speed", "X", TNC_SHOOTS, OPTION_TEXT, AT(picture.speed),
     "simulated seconds per second of a film (default 1; 0.1 is slow motion)"},
    {"--from", "A,E", TNC_SHOOTS, OPTION_TEXT, AT(picture.from),
     "where the camera stands: azimuth and elevation [rad]"},
    {"--trail", "JOINT,JOINT", TNC_SHOOTS, OPTION_TEXT, AT(picture.trail),
     "joints whose path is drawn"},
    {"--overlays", "WHAT,WHAT", TNC_SHOOTS, OPTION_TEXT, AT(picture.overlays),
     "error | forces | contacts | active: drawn on top"},
    {"--theme", "T", TNC_SHOOTS, OPTION_TEXT, AT(picture.theme), "light (default) | dark"},
    {"--method", "M", TNC_HAS_MECHANISM, OPTION_SETTING, KEY("method"),
     "multiplier | implicit | impulse | adaptive | auto (default: what the scene says, else auto)"},
    {"--h", "S", TNC_HAS_MECHANISM, OPTION_SETTING, KEY("h"),
     "step [s] (default: what the scene says, else 1/60 by auto, 0.001 by a method that is named)"},
    {"--duration", "S", TNC_HAS_MECHANISM, OPTION_SETTING, KEY("duration"), "simulated time [s]"},
    {"--accuracy", "A", TNC_HAS_MECHANISM, OPTION_SETTING, KEY("accuracy"),
     "split steps until their error is below A of the size of the mechanism (auto, impulse)"},
    {"--set", "KEY=VALUE", TNC_HAS_MECHANISM, OPTION_PAIR, KEY(NULL),
     "any method setting (tenon help settings lists them)"},
    {"--report", "FILE", TNC_REPORTS, OPTION_TEXT, AT(report),
     "JSON report ('-': standard output, and then nothing else goes there)"},
    {"--trajectory", "FILE", TNC_KEEPS_FILES, OPTION_TEXT, AT(trajectory),
     "recorded states (.csv: CSV; any other name: Tenon's compact binary format)"},
    {"--of", "WHAT,WHAT", TNC_DRAWS, OPTION_TEXT, AT(of),
     "what to plot, a panel each (default: energy,error,step)"},
    {"--width", "N", TNC_DRAWS, OPTION_COUNT, AT(width), "width of the picture [px]"},
    {"--height", "N", TNC_DRAWS, OPTION_COUNT, AT(height), "height of the picture [px]"},
    {"--series", NULL, TNC_KEEPS_FILES, OPTION_FLAG, AT(series),
     "add energies, errors and step times over time to the report: at most 1000 samples"},
    {"--every", "K", TNC_RECORDS, OPTION_COUNT, AT(every),
     "record every K-th step (default 1; 'export' of films: 60 frames a second)"},
    {"--html", "FILE", TNC_KEEPS_FILES, OPTION_TEXT, AT(html),
     "a page that plays the motion, with plots of energy and joint error"},
    {"--mocap", "FILE", TNC_SIMULATES, OPTION_TEXT, AT(mocap),
     "follow a recorded motion (BVH); bodies are matched by name; sets the duration"},
    {"--mocap-scale", "S", TNC_SIMULATES, OPTION_TEXT, AT(mocap_scale),
     "metres per unit of that file (default: such that the bones fit)"},
    {"--mocap-up", "AXIS", TNC_SIMULATES, OPTION_TEXT, AT(mocap_up),
     "up axis of that file: y (default) or z"},
    {"--threads", "N", TNC_HAS_MECHANISM, OPTION_WHOLE, AT(threads),
     "number of threads (default 1; 0: one per processor); same results"},
    {"--seed", "N", TNC_HAS_MECHANISM, OPTION_WHOLE, AT(seed),
     "accepted, and without effect: nothing is random"},
    {"--port", "N", TNC_SERVES, OPTION_WHOLE, AT(port),
     "port at 127.0.0.1 (default 0: any that is free)"},
    {"--paused", NULL, TNC_SERVES, OPTION_FLAG, AT(paused), "start paused"},
    {"--csv", "FILE", TNC_MEASURES, OPTION_TEXT, AT(csv),
     "the measurements as CSV ('-': standard output)"},
    {"--repeat", "N", TNC_MEASURES, OPTION_COUNT, AT(repeat),
     "rounds of each measurement (default: as many as fit into 2.5 s)"},
    {"--list", NULL, TNC_LISTS, OPTION_FLAG, AT(list), "list them"},
    {"--quiet", NULL, TNC_HAS_MECHANISM | TNC_MEASURES, OPTION_FLAG, AT(quiet),
     "no progress bar, no summary"},
    {"--help", NULL, ~0u, OPTION_FLAG, AT(help), "this page"},
};
enum { OPTION_LIST_COUNT = sizeof option_list / sizeof option_list[0] };

static const tnc_command command_list[] = {
    {"run", "SCENE",
     TNC_HAS_MECHANISM | TNC_SIMULATES | TNC_RECORDS | TNC_REPORTS | TNC_KEEPS_FILES,
     "simulate; a summary at the end, files on request",
     "Simulates round(duration / h) steps of h. On a terminal a progress bar shows how far it is.\n"
     "When the simulation cannot go on, or is interrupted, everything before that is kept and\n"
     "written, and the exit code is 1.\n"
     "\n"
     "    tenon run @chain                               a built-in scene\n"
     "    tenon run @chain:n=1000,joint=hinge --h 0.005  with parameters, and another step\n"
     "    tenon run crane.json --duration 10 --html crane.html\n"
     "    tenon run crane.json --report - --quiet | jq .joint_error\n"
     "    tenon run crane.json --trajectory crane.csv --every 10\n"
     "    tenon scene fourbar | tenon run -              from standard input\n"
     "    tenon run @chain:n=1000 --method implicit --h 0.0166667   stiff or driven: long steps\n"
     "    tenon run @humanoid --mocap scenes/walk.bvh    follows a recorded motion\n",
     tnc_run},
    {"view", "SCENE", TNC_HAS_MECHANISM | TNC_SIMULATES | TNC_SERVES,
     "simulate live in a browser; drag bodies, change settings",
     "Serves a page at 127.0.0.1, for browsers of this machine only, and simulates in real time while\n"
     "a page is open. Drag bodies, change settings, pause and go on there. Ctrl-C ends it.\n"
     "\n"
     "    tenon view @robot\n"
     "    tenon view @strandbeest:legs=8 --method impulse --port 8000\n"
     "    tenon view crane.json --paused\n",
     tnc_view},
    {"export", "SCENE", TNC_HAS_MECHANISM | TNC_SIMULATES | TNC_RECORDS | TNC_WRITES,
     "simulate, and write the motion for another program",
     "The ending of FILE says what is written (docs/export.md has the details):\n"
     "    .glb .gltf  glTF 2.0: bodies, their shapes and an animation, for Blender and the web\n"
     "    .bvh        a skeleton and its motion, for animation programs\n"
     "    .csv        time and poses, as tenon run --trajectory\n"
     "    .npy        numpy: an array [frame, body, 13] of poses and velocities\n"
     "    .npz        numpy: time, poses, velocities, joint coordinates and names\n"
     "Films (glTF, BVH) have about 60 frames a second, the others every step, unless --every says\n"
     "otherwise.\n"
     "\n"
     "    tenon export @robot --out robot.glb\n"
     "    tenon export @humanoid --mocap scenes/walk.bvh --out walk.bvh\n"
     "    tenon export crane.json --duration 10 --every 10 --out crane.npz\n",
     tnc_export},
    {"plot", "SCENE", TNC_HAS_MECHANISM | TNC_SIMULATES | TNC_WRITES | TNC_DRAWS,
     "simulate, and plot quantities over time (SVG)",
     "SCENE may also be a report that tenon run SCENE --report FILE --series wrote: then nothing is\n"
     "simulated. What can be plotted:\n"
     "    energy          kinetic, potential (gravity and springs), total\n"
     "    error           largest joint error; velocity_error: that of velocities\n"
     "    step            wall time of a step\n"
     "    contacts        points in contact\n"
     "    active          joints that the adaptive method simulates\n"
     "    position:JOINT  its free coordinates; velocity:JOINT: their rates\n"
     "    force:JOINT     size of the force in it\n"
     "    height:BODY     z of its frame's origin; speed:BODY: how fast that moves\n"
     "\n"
     "    tenon plot @fourbar --out fourbar.svg\n"
     "    tenon plot crane.json --of energy,force:hook,height:load --out crane.svg\n"
     "    tenon run @robot --report robot.json --series && tenon plot robot.json --out robot.svg\n",
     tnc_plot},
    {"render", "SCENE", TNC_HAS_MECHANISM | TNC_SIMULATES | TNC_WRITES | TNC_SHOOTS,
     "simulate, and make a picture or a film of it",
     "The ending of FILE says what is made: .png a picture, or several side by side; .mp4 or .gif a\n"
     "film. A headless Chromium draws (chromium, chromium-browser, google-chrome, or what CHROMIUM in\n"
     "the environment names), ffmpeg makes films: both have to be there.\n"
     "\n"
     "    tenon render @robot --out robot.mp4\n"
     "    tenon render @strandbeest --out walk.gif --size 320x240 --fps 20 --speed 0.5\n"
     "    tenon render @bricard --out bricard.png --at 0,0.4,0.8,1.2 --size 240x240\n"
     "    tenon render @peaucellier --out line.png --from -1.57,0.1 --trail tip --theme dark\n",
     tnc_render},
    {"accel", "SCENE", TNC_HAS_MECHANISM | TNC_REPORTS,
     "one evaluation at the start: exact accelerations and joint reactions",
     "Prints, as JSON, the acceleration of every body (of its frame's origin, world axes) and for\n"
     "every joint the force and torque on its second body at the anchor, and the multipliers; the\n"
     "force of hard limits and ropes, and every point in contact.\n"
     "\n"
     "    tenon accel @pendulum:n=3\n"
     "    tenon accel crane.json --report loads.json\n",
     tnc_accel},
    {"check", "SCENE", TNC_HAS_MECHANISM | TNC_REPORTS,
     "check a scene: mobility, redundant constraints, assembly, overlaps",
     "Reports the mobility, redundant constraints, whether the joints meet at the start, mass ratios,\n"
     "how near a singular position is, which joints are auxiliary, and which shapes overlap or hard\n"
     "limits are exceeded. The exit code is 1 when constraints contradict each other, shapes overlap\n"
     "or limits are exceeded, 2 when joints cannot close.\n"
     "\n"
     "    tenon check @fourbar\n"
     "    tenon check crane.json --report -\n",
     tnc_check},
    {"scene", "NAME", TNC_LISTS, "write a built-in scene as JSON on standard output",
     "A name may carry parameters: NAME:KEY=VALUE,KEY=VALUE.\n"
     "\n"
     "    tenon scene --list                             all of them, with their parameters\n"
     "    tenon scene chain:n=3 >chain.json\n",
     tnc_scene},
    {"bench", "[NAME]", TNC_LISTS | TNC_MEASURES,
     "a short test of speed: how fast this machine simulates",
     "Some typical mechanisms, each by the method that suits it, at 60 steps a second; 20 seconds in\n"
     "all. NAME: one of them alone. For each the least and the median time of a step, how many times\n"
     "faster than real time it runs, and the largest joint error. The last row steps 1,000 copies\n"
     "together, on all processors: its times are those of one copy, and it runs as many times faster\n"
     "than real time as there are copies that could run in it. Other rows use one processor.\n"
     "\n"
     "    tenon bench\n"
     "    tenon bench humanoid\n"
     "    tenon bench --csv speed.csv\n"
     "\n"
     "The benchmarks of the papers are a program of their own, in the sources: scripts/bench.\n",
     tnc_bench},
};
enum { COMMAND_LIST_COUNT = sizeof command_list / sizeof command_list[0] };

const tnc_command* tnc_command_at(int index)
{
    return index >= 0 && index < COMMAND_LIST_COUNT ? &command_list[index] : NULL;
}

// " (did you mean 'x'?)", or nothing when no word is near.
static const char* hint(const char* word, const char* const* words, int count, char text[96])
{
    const char* near = tn_nearest_word(word, words, count);
    text[0]          = '\0';
    if (near) snprintf(text, 96, " (did you mean '%s'?)", near);
    return text;
}

const tnc_command* tnc_command_find(const char* name)
{
    const char* names[COMMAND_LIST_COUNT + 1];
    for (int i = 0; i < COMMAND_LIST_COUNT; ++i) {
        if (strcmp(name, command_list[i].name) == 0) return &command_list[i];
        names[i] = command_list[i].name;
    }
    names[COMMAND_LIST_COUNT] = "help";
    char text[96];
    hint(name, names, COMMAND_LIST_COUNT + 1, text);
    tnc_complain("unknown command '%.200s'%s", name, text[0] ? text : "; see tenon --help");
    return NULL;
}

static bool serves(const option* o, const tnc_command* command)
{
    return (o->traits & command->traits) != 0;
}

// A length of name_length bytes stands before '=' or the end.
static const option* find_option(const tnc_command* command, const char* name, int name_length)
{
    const char* names[OPTION_LIST_COUNT];
    int         count = 0;
    for (int i = 0; i < OPTION_LIST_COUNT; ++i) {
        const option* o     = &option_list[i];
        const bool    known = serves(o, command);
        const bool same = strncmp(o->name, name, (size_t)name_length) == 0 && !o->name[name_length];
        if (same && known) return o;
        if (same) {
            tnc_complain("option '%s' does not belong to 'tenon %s'; see tenon help %s", o->name,
                         command->name, command->name);
            return NULL;
        }
        if (known) names[count++] = o->name;
    }
    char word[64], text[96];
    snprintf(word, sizeof word, "%.*s", name_length, name);
    hint(word, names, count, text);
    tnc_complain("unknown option '%.*s'%s", name_length > 200 ? 200 : name_length, name,
                 text[0] ? text : "; see tenon --help");
    return NULL;
}

static bool add_setting(tnc_options* options, const option* o, const char* key, size_t key_length,
                        const char* value)
{
    if (options->setting_count == TNC_SETTING_MAX) {
        tnc_complain("more than %d settings", (int)TNC_SETTING_MAX);
        return false;
    }
    tnc_setting* s = &options->settings[options->setting_count];
    if (key_length == 0 || key_length >= sizeof s->key) {
        tnc_complain("--set: '%.200s' has no setting's name before '='", key);
        return false;
    }
    memcpy(s->key, key, key_length);
    s->key[key_length] = '\0';
    s->option          = o->name;
    s->value           = value;
    options->setting_count++;
    return true;
}

static bool add_pair(tnc_options* options, const option* o, const char* text)
{
    const char* equals = strchr(text, '=');
    if (!equals) {
        tnc_complain("--set: '%.200s' is not KEY=VALUE, as in --set multiplier.integrator=rk4",
                     text);
        return false;
    }
    return add_setting(options, o, text, (size_t)(equals - text), equals + 1);
}

static bool read_whole(const option* o, const char* text, long long* value)
{
    const long long lower = o->kind == OPTION_COUNT ? 1 : 0;
    const size_t    count = strspn(text, "0123456789");
    const bool      whole = count > 0 && count <= 18 && !text[count];
    *value                = whole ? strtoll(text, NULL, 10) : -1;
    if (*value >= lower) return true;
    tnc_complain("option '%s' takes a whole number from %lld, not '%.200s'", o->name, lower, text);
    return false;
}

static bool take_option(tnc_options* options, const option* o, const char* value)
{
    void* field = (char*)options + o->offset;
    switch (o->kind) {
    case OPTION_SETTING: return add_setting(options, o, o->key, strlen(o->key), value);
    case OPTION_PAIR: return add_pair(options, o, value);
    case OPTION_COUNT:
    case OPTION_WHOLE: return read_whole(o, value, field);
    case OPTION_FLAG: *(bool*)field = true; return true;
    case OPTION_TEXT: break;
    }
    if (!value[0]) {
        tnc_complain("option '%s' needs %s", o->name,
                     strcmp(o->value, "FILE") == 0 ? "a file name" : "a value");
        return false;
    }
    *(const char**)field = value;
    return true;
}

static bool take_argument(tnc_options* options, const char* text)
{
    if (options->argument) {
        tnc_complain("unexpected argument '%.200s' after '%.200s'", text, options->argument);
        return false;
    }
    options->argument = text;
    return true;
}

static bool is_option(const char* text)
{
    return text[0] == '-' && text[1];
}

bool tnc_options_parse(tnc_options* options, const tnc_command* command, int argc, char** argv)
{
    *options            = (tnc_options){.command = command, .threads = 1};
    bool only_arguments = false;
    for (int i = 2; i < argc; ++i) {
        const char* text = strcmp(argv[i], "-h") == 0 ? "--help" : argv[i];
        if (only_arguments || !is_option(text)) {
            if (!take_argument(options, text)) return false;
            continue;
        }
        only_arguments = strcmp(text, "--") == 0;
        if (only_arguments) continue;
        const int     length = (int)strcspn(text, "=");
        const char*   value  = text[length] ? text + length + 1 : NULL;
        const option* o      = find_option(command, text, length);
        if (!o) return false;
        if (!o->value && value) {
            tnc_complain("option '%s' takes no value", o->name);
            return false;
        }
        if (o->value && !value) {
            const bool given = i + 1 < argc && strncmp(argv[i + 1], "--", 2) != 0;
            if (!given) {
                tnc_complain("option '%s' needs a value: %s %s", o->name, o->name, o->value);
                return false;
            }
            value = argv[++i];
        }
        if (!take_option(options, o, value)) return false;
    }
    if (options->threads == 0) options->threads = tn_processor_count();
    return true;
}

// ---- Help ----------------------------------------------------------------------------------------

static void print_options(const tnc_command* command)
{
    for (int i = 0; i < OPTION_LIST_COUNT; ++i) {
        const option* o = &option_list[i];
        if (!serves(o, command)) continue;
        char left[48];
        snprintf(left, sizeof left, "%s %s", o->name, o->value ? o->value : "");
        printf("    %-18s %s\n", left, o->help);
    }
}

static void list_settings(bool variants)
{
    const tn_settings standard = tn_default_settings();
    for (int i = 0; tn_setting_at(i).key; ++i) {
        const tn_setting_info info = tn_setting_at(i);
        char                  value[40];
        tn_settings_get(&standard, info.key, value, sizeof value);
        if (info.variant == variants)
            printf("    %-29s %s (%s; default %s)\n", info.key, info.help, info.values, value);
    }
}

void tnc_help_settings(void)
{
    printf(
        "Settings, for --set KEY=VALUE, and for a scene file, where the first is called \"name\", as in\n"
        "\"method\": {\"name\": \"impulse\", \"h\": 0.02, \"impulse.tolerance\": 1e-9}\n"
        "\nEveryday settings:\n");
    list_settings(false);
    printf("\nVariants of the papers' methods, to compare them; the defaults serve:\n");
    list_settings(true);
}

static void print_program_help(void)
{
    printf("tenon %s: exact simulation of mechanisms\n\nCommands:\n", TN_VERSION);
    for (int i = 0; i < COMMAND_LIST_COUNT; ++i) {
        char left[32];
        snprintf(left, sizeof left, "%s %s", command_list[i].name, command_list[i].argument);
        printf("    tenon %-14s %s\n", left, command_list[i].line);
    }
    printf(
        "    tenon help COMMAND   how to use it, with examples\n"
        "    tenon help settings  everything that --set and scene files can set\n"
        "    tenon --version\n"
        "\nSCENE is a path, '-' for standard input, or a built-in scene such as @chain:n=1000.\n"
        "\nOptions of run; view, render, accel and check take those that make sense for them:\n");
    print_options(&command_list[0]);
    printf(
        "\nExit codes: 0 done; 1 the simulation could not go on; 2 the command line or the input\n"
        "is wrong.\n"
        "\n    tenon run @fourbar --html fourbar.html     a first motion to look at\n");
}

void tnc_help(const tnc_command* command)
{
    if (!command) {
        print_program_help();
        return;
    }
    printf("tenon %s %s [options]: %s\n\n%s\nOptions:\n", command->name, command->argument,
           command->line, command->text);
    print_options(command);
    if (!(command->traits & TNC_HAS_MECHANISM)) return;
    printf("\n");
    tnc_help_settings();
}
