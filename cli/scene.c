// scene: built-in scenes as JSON, and the list of them.
#include "cli.h"

#include "scenes/scenes.h"

#include <string.h>

static void default_text(const tns_param* p, char* text, size_t size)
{
    if (!p->words) {
        char number[40];
        tn_format_number(p->value, number, sizeof number);
        snprintf(text, size, "%s", number);
        return;
    }
    const char* word = p->words;
    for (int i = 0; i < (int)p->value && strchr(word, '|'); ++i) word = strchr(word, '|') + 1;
    snprintf(text, size, "%.*s", (int)strcspn(word, "|"), word);
}

static void list_params(const tns_builtin* builtin)
{
    for (const tns_param* p = builtin->params; p->name; ++p) {
        char value[40], left[80];
        default_text(p, value, sizeof value);
        snprintf(left, sizeof left, "%s=%s", p->name, value);
        printf("    %-22s %s", left, p->help);
        if (p->words) printf(" (%s)", p->words);
        else printf(" (%g to %g)", p->lower, p->upper);
        printf("\n");
    }
}

static int list(void)
{
    for (int i = 0; tns_at(i); ++i) {
        printf("%-22s     %s\n", tns_at(i)->name, tns_at(i)->help);
        list_params(tns_at(i));
    }
    return TNC_DONE;
}

static bool sink(void* user, const char* bytes, size_t count)
{
    return fwrite(bytes, 1, count, ((tnc_out*)user)->file) == count;
}

static int write_scene(const tn_scene* scene, const char* name)
{
    tnc_out   out;
    tn_why    why    = {0};
    tn_result result = tn_scene_problem(scene, &why);
    if (result == TN_OK && !tnc_out_open(&out, "-")) return TNC_STOPPED;
    if (result == TN_OK) {
        result = tn_scene_write(scene, sink, &out, &why);
        if (!tnc_out_close(&out)) return TNC_STOPPED;
    }
    if (result == TN_OK) return TNC_DONE;
    tnc_complain_why(name, &why);
    return tnc_exit_code(result);
}

int tnc_scene(const tnc_options* options)
{
    if (options->list) return list();
    if (!options->argument) {
        tnc_complain(
            "tenon scene needs the name of a built-in scene; tenon scene --list shows them");
        return TNC_WRONG;
    }
    const char*     name  = options->argument;
    tn_scene*       scene = NULL;
    tn_why          why   = {0};
    const tn_result built = tns_build(NULL, name, &scene, &why);
    if (built != TN_OK) tnc_complain_why(name, &why);
    const int code = built == TN_OK ? write_scene(scene, name) : tnc_exit_code(built);
    tn_scene_free(scene);
    return code;
}
