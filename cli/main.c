// tenon: the command line. Exit codes: 0 done; 1 the simulation could not go on, or its result could
// not be written; 2 the command line or the input is wrong, with one line on standard error.
#define _POSIX_C_SOURCE 200809L

#include "cli.h"

#include <signal.h>
#include <string.h>

static bool is_word(const char* text, const char* word, const char* other)
{
    return strcmp(text, word) == 0 || strcmp(text, other) == 0;
}

static int help(const char* name)
{
    if (name && strcmp(name, "settings") == 0) {
        tnc_help_settings();
        return TNC_DONE;
    }
    const tnc_command* command = name ? tnc_command_find(name) : NULL;
    if (name && !command) return TNC_WRONG;
    tnc_help(command);
    return TNC_DONE;
}

static int dispatch(int argc, char** argv)
{
    if (argc < 2) {
        tnc_complain("no command; see tenon --help");
        return TNC_WRONG;
    }
    const char* word = argv[1];
    if (is_word(word, "--help", "-h")) return help(NULL);
    if (is_word(word, "help", "help")) return help(argc > 2 ? argv[2] : NULL);
    if (is_word(word, "--version", "version")) {
        printf("tenon %s\n", TN_VERSION);
        return TNC_DONE;
    }
    if (word[0] == '-') {
        tnc_complain("unknown option '%.200s' before a command; see tenon --help", word);
        return TNC_WRONG;
    }
    const tnc_command* command = tnc_command_find(word);
    if (!command) return TNC_WRONG;
    tnc_options options;
    if (!tnc_options_parse(&options, command, argc, argv)) return TNC_WRONG;
    return options.help ? help(command->name) : command->run(&options);
}

int main(int argc, char** argv)
{
    signal(SIGPIPE, SIG_IGN); // a reader that went away is a write that failed
    const int code = dispatch(argc, argv);
    if (code != TNC_DONE) return code;
    tnc_out console;
    return tnc_out_open(&console, "-") && tnc_out_close(&console) ? TNC_DONE : TNC_STOPPED;
}
