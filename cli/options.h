// options.h: the command line, taken apart and checked.
#ifndef TNC_OPTIONS_H
#define TNC_OPTIONS_H

#include <stdbool.h>

enum { TNC_SETTING_MAX = 64, TNC_KEY_MAX = 64 };

/// A method setting as typed: --h 0.01 and --set h=0.01 are the same.
typedef struct tnc_setting {
    const char* option; ///< how it was typed: "--h", "--set"
    char        key[TNC_KEY_MAX];
    const char* value;
} tnc_setting;

/// What pictures are asked for, as typed; NULL: not given.
typedef struct tnc_picture_words {
    const char* size;
    const char* at;
    const char* fps;
    const char* speed;
    const char* from;
    const char* trail;
    const char* overlays;
    const char* theme;
} tnc_picture_words;

typedef struct tnc_command tnc_command;

typedef struct tnc_options {
    const tnc_command* command;
    const char*        argument; ///< SCENE or NAME; NULL: none given
    tnc_setting        settings[TNC_SETTING_MAX];
    int                setting_count;
    const char*        report;
    const char*        trajectory;
    const char*        html;
    const char*        out;
    const char*        of; ///< what to plot
    const char*        csv;
    const char*        mocap;       ///< a recorded motion
    const char*        mocap_scale; ///< as typed
    const char*        mocap_up;    ///< likewise
    tnc_picture_words  picture;
    long long          every;         ///< default 0: the command chooses
    long long          threads;       ///< default 1; 0 was typed: as many as processors
    long long          seed;          ///< default 0
    long long          width, height; ///< of a picture; default 0: the command chooses
    long long          repeat;        ///< default 0: the command chooses
    long long          port;          ///< default 0: any that is free
    bool               quiet, list, paused, series, help;
} tnc_options;

/// What a command does, and so which options it takes.
enum {
    TNC_HAS_MECHANISM = 1 << 0, ///< its argument is a scene, which is compiled with settings
    TNC_SIMULATES     = 1 << 1, ///< the mechanism moves, by the method asked for
    TNC_RECORDS       = 1 << 2, ///< every K-th step
    TNC_REPORTS       = 1 << 3, ///< JSON
    TNC_KEEPS_FILES   = 1 << 4, ///< of the motion, beside its report
    TNC_LISTS         = 1 << 5, ///< what there is to choose from
    TNC_MEASURES      = 1 << 6, ///< speed
    TNC_SERVES        = 1 << 7, ///< a page, while it runs
    TNC_WRITES        = 1 << 8, ///< one file, which it is all about
    TNC_DRAWS         = 1 << 9, ///< measures over the time
    TNC_SHOOTS        = 1 << 10 ///< pictures and films
};

struct tnc_command {
    const char* name;
    const char* argument; ///< as in the usage line
    unsigned    traits;
    const char* line; ///< one line of help
    const char* text; ///< what it does, with examples
    int (*run)(const tnc_options* options);
};

/// NULL past the end.
const tnc_command* tnc_command_at(int index);
/// Complains and returns NULL when there is none of that name.
const tnc_command* tnc_command_find(const char* name);

/// Takes argv[2..] apart for the command. False: already complained.
bool tnc_options_parse(tnc_options* options, const tnc_command* command, int argc, char** argv);

/// The page of the whole program, or that of one command, on standard output.
void tnc_help(const tnc_command* command);
/// All settings: everyday ones, then variants of the papers.
void tnc_help_settings(void);

#endif
