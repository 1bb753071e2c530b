// mocap_names: maps the joints of a recorded skeleton to bodies by name.
//
// A name is split into words at separators and capital letters; namespaces ("mixamorig:") and
// prefixes of tools are dropped. A word for left or right gives the side; the others form the stem,
// in lower case, without leading zeros of numbers:
//
//     LeftUpLeg, thigh_l, L_Thigh, Bip01 L Thigh, lThigh    ->    left, "upleg" or "thigh"
//
// Matches, in order of confidence, each joint and each body at most once:
//     1. pairs given by the caller          2. equal names
//     3. the same body part on the same side, by the table of usual names below
//     4. the same side and stem
// A line of the table has the names of one part, best first: of several joints for a body, or
// several bodies, the one named first is taken. The order of lines resolves ambiguous names:
// "shoulder" is the upper arm unless there is a joint "arm", and then the collar; "hip" with a side
// is the thigh. Cost: O(joints + bodies) labels and, for each word of the table, a pass over all of
// them.
#include "model/mocap.h"

#include <stdio.h>

static const char* const parts[] = {
    "pelvis hips hip root",
    "chest4 chest3 chest2 upperchest thorax chest torso spine4 spine3 spine2 spine1 t6 spine",
    "abdomen lowerback lowerspine belly waist spine spine1 chest l3 torso",
    "neck neck1 neck2",
    "head skull",
    "upperarm uparm arm humerus shoulder",
    "forearm lowerarm lowarm loarm elbow ulna radius",
    "hand wrist palm",
    "collar clavicle shoulder shoulderblade scapula",
    "thigh upleg upperleg femur hip leg",
    "shank shin calf lowerleg lowleg loleg knee leg tibia",
    "foot ankle heel",
    "toe toes toebase ball toe1",
};
enum { PART_COUNT = sizeof parts / sizeof parts[0], WORDS_MAX = 16 };

// ---- Splitting names ---------------------------------------------------------------------------

typedef struct words {
    int  count;
    char text[WORDS_MAX][TNI_STEM_MAX + 1];
} words;

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}
static bool is_lower(char c)
{
    return (c >= 'a' && c <= 'z') || (c & 0x80) != 0; // bytes beyond ASCII are kept
}
static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// True if a new word begins at name[i]: after "left" in "leftArm", after "L" in "LArm".
static bool begins_word(const char* name, int i)
{
    if (i == 0) return true;
    const char before = name[i - 1], here = name[i];
    if (!is_upper(before) && !is_lower(before) && !is_digit(before)) return true;
    if (!is_upper(here)) return false;
    return !is_upper(before) || is_lower(name[i + 1]);
}

static words words_of(const char* name)
{
    words w = {0};
    int   n = 0; // letters in the last word
    for (int i = 0; name[i] != 0; ++i) {
        const char c = name[i];
        if (!is_upper(c) && !is_lower(c) && !is_digit(c)) continue;
        if (begins_word(name, i) && w.count < WORDS_MAX) {
            ++w.count;
            n = 0;
        }
        char*      text  = w.text[w.count - 1];
        const bool after = n > 0 && is_digit(text[n - 1]); // follows a digit
        if (c == '0' && !after && is_digit(name[i + 1])) continue;
        if (n < TNI_STEM_MAX) text[n++] = is_upper(c) ? (char)(c - 'A' + 'a') : c;
    }
    return w;
}

static bool is_one_of(const char* word, const char* list)
{
    const size_t length = strlen(word);
    if (length == 0) return false;
    for (const char* at = strstr(list, word); at != NULL; at = strstr(at + 1, word)) {
        const bool starts = at == list || at[-1] == ' ', ends = at[length] == ' ' || !at[length];
        if (starts && ends) return true;
    }
    return false;
}

static char side_of(const char* word)
{
    return is_one_of(word, "l left lft lt") ? 'l' : is_one_of(word, "r right rgt rt") ? 'r' : 0;
}

static bool is_known(const char* stem)
{
    for (int i = 0; i < PART_COUNT; ++i) {
        if (is_one_of(stem, parts[i])) return true;
    }
    return false;
}

// Sides not set apart by a separator or capital: "leftarm", "armleft", "larm".
static void find_hidden_side(tni_label* label)
{
    static const char* const sides[] = {"left", "right"};
    char* const              stem    = label->stem;
    const size_t             length  = strlen(stem);
    for (int i = 0; i < 2; ++i) {
        const size_t n = strlen(sides[i]);
        if (length <= n) continue;
        const bool front = strncmp(stem, sides[i], n) == 0;
        if (!front && strcmp(stem + length - n, sides[i]) != 0) continue;
        label->side = sides[i][0];
        if (front) memmove(stem, stem + n, length - n + 1);
        else stem[length - n] = 0;
        return;
    }
    if ((stem[0] != 'l' && stem[0] != 'r') || is_known(stem) || !is_known(stem + 1)) return;
    label->side = stem[0];
    memmove(stem, stem + 1, length);
}

tni_label tni_label_of(const char* name)
{
    static const char noise[] = "bip bip1 mixamorig mixamorig1 character1 def jnt b j bn bone";
    tni_label         label   = {0};
    const char*       space   = strrchr(name, ':');
    const words       w       = words_of(space != NULL && space[1] != 0 ? space + 1 : name);
    size_t            n       = 0;
    int               left    = w.count; // words after this one, which may form the stem
    for (int i = 0; i < w.count; ++i) {
        --left;
        const bool spare = n > 0 || left > 0;
        if (spare && is_one_of(w.text[i], noise)) continue;
        if (spare && label.side == 0 && side_of(w.text[i]) != 0) {
            label.side = side_of(w.text[i]);
            continue;
        }
        const size_t room = sizeof label.stem - n;
        n += (size_t)snprintf(label.stem + n, room, "%s", w.text[i]);
        if (n >= sizeof label.stem) n = sizeof label.stem - 1;
    }
    if (label.side == 0) find_hidden_side(&label);
    return label;
}

// ---- Matching ----------------------------------------------------------------------------------

typedef struct matcher {
    const tn_scene* scene;
    const tn_mocap* mocap;
    const char*     prefix;
    int             joint_count, body_count;
    tni_label *     joint_labels, *body_labels;
    bool*           free; ///< by body: can be driven and is not driven yet
    int*            body_of;
} matcher;

bool tni_can_be_driven(const tn_body_def* def)
{
    return def->kind == TN_BODY_RIGID || def->kind == TN_BODY_PLANAR || def->kind == TN_BODY_AFFINE;
}

static const char* body_name(const matcher* m, int body)
{
    return tn_scene_body(m->scene, body)->name + strlen(m->prefix);
}

static void match(matcher* m, int joint, int body)
{
    m->body_of[joint] = body;
    m->free[body]     = false;
}

static tn_result match_pairs(matcher* m, const tn_mocap_options* options, tn_why* why)
{
    for (int i = 0; i < options->pair_count; ++i) {
        const tn_mocap_pair* pair  = &options->pairs[i];
        int                  joint = 0;
        bool                 found;
        const int            body = (int)tn_scene_find_body(m->scene, pair->body, &found).bits - 1;
        while (joint < m->joint_count && strcmp(tn_mocap_joint_name(m->mocap, joint), pair->joint))
            ++joint;
        if (joint == m->joint_count)
            return tni_fail(why, TN_ERR_MODEL, "the motion has no joint '%.60s'", pair->joint);
        if (body < 0 || !m->free[body] || m->body_of[joint] >= 0)
            return tni_fail(why, TN_ERR_MODEL, "joint '%.60s' cannot drive body '%.60s': %s",
                            pair->joint, pair->body,
                            body < 0        ? "there is no such body"
                            : m->free[body] ? "the joint drives another body already"
                                            : "the body is driven already or cannot rotate");
        match(m, joint, body);
    }
    return TN_OK;
}

static void match_names(matcher* m)
{
    for (int j = 0; j < m->joint_count; ++j) {
        for (int b = 0; b < m->body_count && m->body_of[j] < 0; ++b) {
            if (m->free[b] && strcmp(tn_mocap_joint_name(m->mocap, j), body_name(m, b)) == 0)
                match(m, j, b);
        }
    }
}

static bool has_label(const tni_label* label, char side, const char* stem, size_t length)
{
    return label->side == side && strncmp(label->stem, stem, length) == 0 && !label->stem[length];
}

// The first free joint (or body) with one of the names of the part, best name first; -1: none.
static int first_of(const matcher* m, bool joints, char side, const char* part)
{
    const int        count  = joints ? m->joint_count : m->body_count;
    const tni_label* labels = joints ? m->joint_labels : m->body_labels;
    for (const char* stem = part; *stem != 0;) {
        const size_t length = strcspn(stem, " ");
        for (int i = 0; i < count; ++i) {
            const bool open = joints ? m->body_of[i] < 0 : m->free[i];
            if (open && has_label(&labels[i], side, stem, length)) return i;
        }
        stem += length + (stem[length] == ' ');
    }
    return -1;
}

static void match_parts(matcher* m)
{
    static const char sides[] = {0, 'l', 'r'};
    for (int i = 0; i < PART_COUNT; ++i) {
        for (int k = 0; k < 3; ++k) {
            const int body  = first_of(m, false, sides[k], parts[i]);
            const int joint = body >= 0 ? first_of(m, true, sides[k], parts[i]) : -1;
            if (joint >= 0) match(m, joint, body);
        }
    }
}

static void match_labels(matcher* m)
{
    for (int j = 0; j < m->joint_count; ++j) {
        const tni_label* label = &m->joint_labels[j];
        for (int b = 0; b < m->body_count && m->body_of[j] < 0; ++b) {
            if (m->free[b] && label->stem[0] != 0 &&
                has_label(&m->body_labels[b], label->side, label->stem, strlen(label->stem)))
                match(m, j, b);
        }
    }
}

static bool matcher_make(matcher* m, tni_arena* arena)
{
    m->joint_labels = TNI_TAKE(arena, tni_label, m->joint_count);
    m->body_labels  = TNI_TAKE(arena, tni_label, m->body_count);
    m->free         = TNI_TAKE(arena, bool, m->body_count);
    if (arena->failed) return false;
    for (int j = 0; j < m->joint_count; ++j) {
        m->joint_labels[j] = tni_label_of(tn_mocap_joint_name(m->mocap, j));
        m->body_of[j]      = -1;
    }
    for (int b = 0; b < m->body_count; ++b) {
        const tn_body_def* def = tn_scene_body(m->scene, b);
        m->free[b] =
            tni_can_be_driven(def) && strncmp(def->name, m->prefix, strlen(m->prefix)) == 0;
        if (m->free[b]) m->body_labels[b] = tni_label_of(body_name(m, b));
    }
    return true;
}

tn_result tni_mocap_match(const tn_scene* scene, const tn_mocap* mocap,
                          const tn_mocap_options* options, tni_arena* arena, int* body_of,
                          tn_why* why)
{
    matcher m = {.scene       = scene,
                 .mocap       = mocap,
                 .prefix      = options->prefix != NULL ? options->prefix : "",
                 .joint_count = tn_mocap_joint_count(mocap),
                 .body_count  = tn_scene_body_count(scene),
                 .body_of     = body_of};
    if (!matcher_make(&m, arena))
        return tni_fail(why, TN_ERR_MEMORY, "out of memory while matching a motion");
    TRY(match_pairs(&m, options, why));
    match_names(&m);
    match_parts(&m);
    match_labels(&m);
    for (int j = 0; j < m.joint_count; ++j) {
        if (body_of[j] >= 0) return TN_OK;
    }
    return tni_fail(why, TN_ERR_MODEL,
                    "no joint of the motion ('%.40s' and %d more) drives a body of the scene",
                    tn_mocap_joint_name(mocap, 0), m.joint_count - 1);
}
