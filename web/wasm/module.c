// module: the playground's simulation. The page's worker writes commands into `room` and reads messages and frames back; all
// but three of the commands are the stage's. `scene` puts another mechanism on the stage, which stays as it was when that cannot be had;
// `gallery` and `source` tell of the built-in scenes. A scene that is opened plays.
#define _POSIX_C_SOURCE 200809L

#include "module.h"

#include "scenes/scenes.h"
#include "stage/stage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct tnw_player {
    tng_stage* stage; ///< NULL: no scene yet
    char*      room;
    tng_text   waiting; ///< messages of our own, each with its NUL
    size_t     read;    ///< of them
    size_t     length;  ///< of what was handed out last
};

static double clock_now(void* unused)
{
    (void)unused;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// ---- What there is to say ------------------------------------------------------------------------

static void end_message(tnw_player* player)
{
    tng_put_bytes(&player->waiting, "", 1);
}

static void complain(tnw_player* player, const tn_why* why)
{
    tng_put_notice(&player->waiting, "error", why);
    end_message(player);
}

static void put_words(tng_text* out, const char* words)
{
    char word[64];
    if (!words) tng_put(out, "null");
    for (const char* next = words; next; next = strchr(next, '|')) {
        next += *next == '|';
        snprintf(word, sizeof word, "%.*s", (int)strcspn(next, "|"), next);
        tng_put(out, next == words ? "[" : ",");
        tng_put_text(out, word);
    }
    if (words) tng_put(out, "]");
}

static void put_param(tng_text* out, const tns_param* p)
{
    tng_put(out, "{\"name\":");
    tng_put_text(out, p->name);
    tng_put(out, ",\"help\":");
    tng_put_text(out, p->help);
    tng_put(out, ",\"value\":");
    tng_put_number(out, p->value);
    tng_put(out, ",\"lower\":");
    tng_put_number(out, p->lower);
    tng_put(out, ",\"upper\":");
    tng_put_number(out, p->upper);
    tng_put(out, ",\"whole\":%s,\"words\":", p->whole ? "true" : "false");
    put_words(out, p->words);
    tng_put(out, "}");
}

static void say_gallery(tnw_player* player)
{
    tng_text* out = &player->waiting;
    tng_put(out, "{\"type\":\"gallery\",\"scenes\":[");
    for (int i = 0; tns_at(i); ++i) {
        tng_put(out, i > 0 ? ",{\"name\":" : "{\"name\":");
        tng_put_text(out, tns_at(i)->name);
        tng_put(out, ",\"help\":");
        tng_put_text(out, tns_at(i)->help);
        tng_put(out, ",\"params\":[");
        for (const tns_param* p = tns_at(i)->params; p->name; ++p) {
            if (p > tns_at(i)->params) tng_put(out, ",");
            put_param(out, p);
        }
        tng_put(out, "]}");
    }
    tng_put(out, "]}");
    end_message(player);
}

static bool sink(void* user, const char* bytes, size_t count)
{
    tng_text* text = user;
    tng_put_bytes(text, bytes, count);
    return !text->failed;
}

static void say_source(tnw_player* player, const char* spec)
{
    tn_scene* scene  = NULL;
    tng_text  text   = {0};
    tn_why    why    = {0};
    tn_result result = tns_build(NULL, spec, &scene, &why);
    if (result == TN_OK) result = tn_scene_write(scene, sink, &text, &why);
    if (result == TN_OK) {
        tng_put(&player->waiting, "{\"type\":\"source\",\"text\":");
        tng_put_text(&player->waiting, text.bytes);
        tng_put(&player->waiting, "}");
        end_message(player);
    } else {
        why.result = result;
        complain(player, &why);
    }
    tng_text_free(&text);
    tn_scene_free(scene);
}

// ---- Scenes --------------------------------------------------------------------------------------

static void say_mechanism(tnw_player* player)
{
    size_t      length;
    const char* text = tng_stage_mechanism(player->stage, &length);
    if (text) tng_put_bytes(&player->waiting, text, length + 1);
    else player->waiting.failed = true;
}

static void open_scene(tnw_player* player, const char* text, size_t length)
{
    static const tng_clock clock  = {.now = clock_now};
    tn_scene*              scene  = NULL;
    tng_stage*             stage  = NULL;
    tn_why                 why    = {0};
    tn_result              result = tng_scene_open(NULL, text, length, &scene, &why);
    if (result == TN_OK)
        result = tng_stage_create(NULL, text[0] == '@' ? text : "text", scene, NULL, clock, &stage,
                                  &why);
    if (result != TN_OK) {
        why.result = result;
        complain(player, &why);
        return;
    }
    tng_stage_free(player->stage);
    player->stage = stage;
    tng_stage_command(stage, "play", 4);
    while (tng_stage_message(stage, &length)) {} // all of it is in the mechanism
    say_mechanism(player);
}

// ---- The page's side -----------------------------------------------------------------------------

tnw_player* tnw_create(void)
{
    return calloc(1, sizeof(tnw_player));
}

char* tnw_room(tnw_player* player, size_t bytes)
{
    free(player->room);
    player->room = bytes < SIZE_MAX ? malloc(bytes + 1) : NULL;
    return player->room;
}

static bool begins(const char* text, const char* word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

void tnw_command(tnw_player* player, size_t length)
{
    char* text = player->room;
    if (!text) return;
    text[length] = '\0';
    player->room = NULL;
    if (strcmp(text, "gallery") == 0) say_gallery(player);
    else if (begins(text, "source ")) say_source(player, text + strlen("source "));
    else if (begins(text, "scene ")) {
        const size_t word = strlen("scene ");
        open_scene(player, text + word, length - word);
    } else if (player->stage) tng_stage_command(player->stage, text, length);
    else complain(player, &(tn_why){.result = TN_ERR_PARSE, .text = "there is no scene yet"});
    free(text);
}

bool tnw_advance(tnw_player* player, double budget)
{
    return player->stage && tng_stage_advance(player->stage, budget);
}

double tnw_wait(const tnw_player* player)
{
    return player->stage ? tng_stage_wait(player->stage) : (double)INFINITY;
}

const char* tnw_message(tnw_player* player)
{
    tng_text* waiting = &player->waiting;
    if (!waiting->failed && player->read < waiting->length) {
        const char* message = waiting->bytes + player->read;
        player->length      = strlen(message);
        player->read += player->length + 1;
        return message;
    }
    const bool failed = waiting->failed;
    player->read      = 0;
    tng_text_free(waiting); // sources may be large
    if (failed) {
        complain(player, &(tn_why){.result = TN_ERR_MEMORY});
        return waiting->failed ? NULL : tnw_message(player);
    }
    return player->stage ? tng_stage_message(player->stage, &player->length) : NULL;
}

const char* tnw_frame(tnw_player* player)
{
    return player->stage ? tng_stage_frame(player->stage, &player->length) : NULL;
}

size_t tnw_length(const tnw_player* player)
{
    return player->length;
}

uint64_t tnw_hash(const tnw_player* player)
{
    return player->stage ? tn_state_hash(tng_stage_state(player->stage)) : 0;
}
