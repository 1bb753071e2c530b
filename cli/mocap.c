// mocap: --mocap FILE: a recorded motion drives the bodies of the scene that its joints name.
#include "mocap.h"

#include <stdlib.h>
#include <string.h>

static bool read_choice(const tnc_mocap_choice* choice, tn_mocap_options* options)
{
    *options = tn_default_mocap_options();
    if (choice->scale) {
        const char *limit = choice->scale + strlen(choice->scale), *end;
        const bool  good  = tn_parse_number(choice->scale, limit, &end, &options->scale);
        if (!good || end != limit || !(options->scale > 0)) {
            tnc_complain("option '--mocap-scale' takes metres a unit of the file, above zero, not "
                         "'%.200s'",
                         choice->scale);
            return false;
        }
    }
    if (choice->up && strcmp(choice->up, "y") != 0 && strcmp(choice->up, "z") != 0) {
        tnc_complain("option '--mocap-up' takes y or z, not '%.200s'", choice->up);
        return false;
    }
    options->up = choice->up && choice->up[0] == 'z' ? TN_MOCAP_UP_Z : TN_MOCAP_UP_Y;
    return true;
}

static int drive(tnc_mocap* m, const tn_host* host, tn_scene* scene,
                 const tn_mocap_options* options)
{
    tn_why    why    = {0};
    tn_result result = tn_mocap_read_file(host, m->path, &m->motion, &why);
    if (result == TN_OK) {
        m->report.bodies = calloc((size_t)tn_mocap_joint_count(m->motion), sizeof(tn_body_id));
        result     = m->report.bodies ? tn_mocap_drive(scene, m->motion, options, &m->report, &why)
                                      : TN_ERR_MEMORY;
        why.result = result;
    }
    if (result != TN_OK) tnc_complain_why(m->path, &why);
    return tnc_exit_code(result);
}

int tnc_mocap_open(const tn_host* host, tn_scene* scene, const tnc_mocap_choice* choice,
                   tnc_mocap** mocap)
{
    tn_mocap_options options;
    *mocap = NULL;
    if (!choice->path && !choice->scale && !choice->up) return TNC_DONE;
    if (!choice->path) {
        tnc_complain("option '%s' needs --mocap FILE",
                     choice->scale ? "--mocap-scale" : "--mocap-up");
        return TNC_WRONG;
    }
    if (!read_choice(choice, &options)) return TNC_WRONG;
    tnc_mocap* m = calloc(1, sizeof *m);
    if (!m) {
        tnc_complain("%s", tn_result_text(TN_ERR_MEMORY));
        return TNC_STOPPED;
    }
    m->path        = choice->path;
    const int code = drive(m, host, scene, &options);
    if (code == TNC_DONE) *mocap = m;
    else tnc_mocap_close(m);
    return code;
}

void tnc_mocap_close(tnc_mocap* mocap)
{
    if (!mocap) return;
    tn_mocap_free(mocap->motion);
    free(mocap->report.bodies);
    free(mocap);
}

// ---- What follows what ---------------------------------------------------------------------------

// The next joint that drives nothing, from `joint` on; -1: none.
static int next_unmapped(const tnc_mocap* m, int joint)
{
    const int count = tn_mocap_joint_count(m->motion);
    while (joint < count && m->report.bodies[joint].bits) ++joint;
    return joint < count ? joint : -1;
}

static bool is_driven(const tnc_mocap* m, int body)
{
    const int count = tn_mocap_joint_count(m->motion);
    for (int j = 0; j < count; ++j) {
        if (m->report.bodies[j].bits == (uint32_t)body + 1) return true;
    }
    return false;
}

// The next body that moves, but not along the recording; -1: none.
static int next_still(const tnc_mocap* m, const tn_scene* scene, int body)
{
    for (; body < tn_scene_body_count(scene); ++body) {
        const tn_body_kind kind = tn_scene_body(scene, body)->kind;
        if (kind != TN_BODY_STATIC && kind != TN_BODY_KINEMATIC && !is_driven(m, body)) return body;
    }
    return -1;
}

// "Toe1, Toe2 and 3 more": names as they come, the first few of them.
typedef struct name_list {
    int shown, more;
} name_list;

static void list_name(name_list* list, const char* head, const char* name)
{
    enum { SHOWN_MAX = 8 };
    if (list->shown == SHOWN_MAX) {
        list->more++;
        return;
    }
    printf("%s%s", list->shown++ == 0 ? head : ", ", name);
}

static void end_list(const name_list* list)
{
    if (list->more > 0) printf(" and %d more", list->more);
    if (list->shown > 0) printf("\n");
}

void tnc_mocap_print(const tnc_mocap* mocap, const tn_scene* scene)
{
    const tn_mocap* motion = mocap->motion;
    printf("mocap         %s: %d of %d joints drive a body; %d frames, %g s, %g m a unit\n",
           mocap->path, mocap->report.driven_count, tn_mocap_joint_count(motion),
           tn_mocap_frame_count(motion), tn_mocap_duration(motion), mocap->report.scale);
    name_list list = {0};
    for (int j = next_unmapped(mocap, 0); j >= 0; j = next_unmapped(mocap, j + 1))
        list_name(&list, "no body for   ", tn_mocap_joint_name(motion, j));
    end_list(&list);
    list = (name_list){0};
    for (int b = next_still(mocap, scene, 0); b >= 0; b = next_still(mocap, scene, b + 1))
        list_name(&list, "no motion for ", tn_scene_body(scene, b)->name);
    end_list(&list);
}

static void put_mapped(tnc_out* out, const tnc_mocap* m, const tn_scene* scene)
{
    const int   count = tn_mocap_joint_count(m->motion);
    const char* comma = "";
    for (int j = 0; j < count; ++j) {
        const uint32_t bits = m->report.bodies[j].bits;
        if (!bits) continue;
        tnc_put(out, "%s{\"joint\": ", comma);
        tnc_put_text(out, tn_mocap_joint_name(m->motion, j));
        tnc_put_text_member(out, ", ", "body", tn_scene_body(scene, (int)bits - 1)->name);
        tnc_put(out, "}");
        comma = ", ";
    }
}

void tnc_put_mocap(tnc_out* out, const tnc_mocap* mocap, const tn_scene* scene)
{
    const tn_mocap* motion = mocap->motion;
    const char*     comma  = "";
    tnc_put_text_member(out, "{", "file", mocap->path);
    tnc_put(out, ", \"frames\": %d, \"frame_time\": ", tn_mocap_frame_count(motion));
    tnc_put_number(out, tn_mocap_frame_time(motion));
    tnc_put_member(out, ", ", "duration", tn_mocap_duration(motion));
    tnc_put_member(out, ", ", "scale", mocap->report.scale);
    tnc_put(out, ",\n    \"mapped\": [");
    put_mapped(out, mocap, scene);
    tnc_put(out, "],\n    \"unmapped\": [");
    for (int j = next_unmapped(mocap, 0); j >= 0; j = next_unmapped(mocap, j + 1), comma = ", ") {
        tnc_put(out, "%s", comma);
        tnc_put_text(out, tn_mocap_joint_name(motion, j));
    }
    tnc_put(out, "],\n    \"still\": [");
    comma = "";
    for (int b = next_still(mocap, scene, 0); b >= 0;
         b = next_still(mocap, scene, b + 1), comma = ", ") {
        tnc_put(out, "%s", comma);
        tnc_put_text(out, tn_scene_body(scene, b)->name);
    }
    tnc_put(out, "]}");
}
