// frame: one moment as bytes, little endian; docs/protocol.md has the layout. Contacts of the last
// step are read before forces are evaluated, because the evaluation replaces them by contacts of
// its own.
#include "stage/stage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAGIC = 0x31464e54, HEAD_BYTES = 112, CONTACTS_MAX = 4096, PARTS_AT = 8, BYTES_AT = 4 };

static void put_word(tng_text* out, uint32_t word)
{
    const unsigned char bytes[4] = {(unsigned char)word, (unsigned char)(word >> 8),
                                    (unsigned char)(word >> 16), (unsigned char)(word >> 24)};
    tng_put_bytes(out, bytes, 4);
}

static void put_long(tng_text* out, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    put_word(out, (uint32_t)bits);
    put_word(out, (uint32_t)(bits >> 32));
}

static void put_short(tng_text* out, double number)
{
    const float value = (float)number;
    uint32_t    bits;
    memcpy(&bits, &value, sizeof bits);
    put_word(out, bits);
}

static void put_vec3(tng_text* out, tn_vec3 v)
{
    put_short(out, v.x);
    put_short(out, v.y);
    put_short(out, v.z);
}

static void set_word(tng_text* out, size_t at, uint32_t word)
{
    if (out->failed) return;
    for (int i = 0; i < 4; ++i) out->bytes[at + (size_t)i] = (char)(word >> 8 * i & 255);
}

static int count_handles(const tn_state* state)
{
    int count = 0;
    for (int i = 0; i < TN_HANDLES_MAX; ++i) {
        tn_handle handle;
        count += tn_state_handle(state, i, &handle);
    }
    return count;
}

static void put_head(tng_text* out, const tng_cast* cast, const tng_measures* m, int parts,
                     int bodies)
{
    const tn_counts counts  = tn_model_counts(cast->model);
    const tn_energy e       = tn_state_energy(cast->state);
    const double    longs[] = {
        m->step,        tn_state_time(cast->state), e.kinetic,       e.gravity,   e.elastic,
        m->joint_error, m->velocity_error,          m->step_seconds, m->real_time};
    int contacts = tn_stepper_contact_count(cast->stepper);
    if (!(parts & TNG_CONTACTS)) contacts = 0;
    if (contacts > CONTACTS_MAX) contacts = CONTACTS_MAX;
    put_word(out, MAGIC);
    put_word(out, 0); // size of the frame, set at the end
    put_word(out, (uint32_t)parts);
    put_word(out, (m->playing ? 1u : 0u) | (m->stopped ? 2u : 0u));
    for (int i = 0; i < 9; ++i) put_long(out, longs[i]);
    put_word(out, (uint32_t)bodies);
    put_word(out, (uint32_t)counts.joints);
    put_word(out, (uint32_t)tn_model_coordinate_count(cast->model));
    put_word(out, (uint32_t)contacts);
    put_word(out, (uint32_t)count_handles(cast->state));
    put_word(out, (uint32_t)m->active);
}

static void put_poses(tng_text* out, const tng_cast* cast, int bodies)
{
    for (int i = 0; i < bodies; ++i) {
        const tn_frame pose = tn_state_pose(cast->state, (tn_body_id){(uint32_t)i + 1});
        put_vec3(out, pose.position);
        put_short(out, pose.orientation.w);
        put_short(out, pose.orientation.x);
        put_short(out, pose.orientation.y);
        put_short(out, pose.orientation.z);
    }
}

static void put_errors(tng_text* out, const tng_cast* cast, int joints)
{
    for (int i = 0; i < joints; ++i)
        put_short(out, tn_state_joint_error(cast->state, (tn_joint_id){(uint32_t)i + 1}));
}

static void put_forces(tng_text* out, const tng_cast* cast, int joints)
{
    for (int i = 0; i < joints; ++i) {
        const tn_wrench w = tn_stepper_reaction(cast->stepper, (tn_joint_id){(uint32_t)i + 1});
        put_vec3(out, w.force);
        put_vec3(out, w.torque);
    }
}

static void put_coordinates(tng_text* out, const tng_cast* cast, int joints)
{
    for (int i = 0; i < joints; ++i) {
        const tn_joint_id joint = {(uint32_t)i + 1};
        double            z[6]  = {0};
        tn_state_joint_position(cast->state, joint, z);
        for (int k = 0; k < tn_model_joint_coordinates(cast->model, joint); ++k)
            put_short(out, z[k]);
    }
}

static void put_active(tng_text* out, const tng_cast* cast, int joints)
{
    for (int i = 0; i < joints; i += 32) {
        uint32_t word = 0;
        for (int k = i; k < joints && k < i + 32; ++k) {
            const tn_joint_id joint = {(uint32_t)k + 1};
            if (tn_model_joint_rows(cast->model, joint) < 6 &&
                tn_state_joint_active(cast->state, joint))
                word |= 1u << (k - i);
        }
        put_word(out, word);
    }
}

static void put_contacts(tng_text* out, const tng_cast* cast)
{
    int count = tn_stepper_contact_count(cast->stepper);
    if (count > CONTACTS_MAX) count = CONTACTS_MAX;
    if (count == 0) return;
    tn_contact* contacts = malloc(sizeof *contacts * (size_t)count);
    out->failed          = out->failed || contacts == NULL;
    if (contacts == NULL) return;
    tn_stepper_contacts(cast->stepper, contacts, count);
    for (int i = 0; i < count; ++i) {
        put_vec3(out, contacts[i].position);
        put_vec3(out, contacts[i].normal);
        put_vec3(out, contacts[i].force);
        put_short(out, contacts[i].gap);
    }
    free(contacts);
}

static void put_handles(tng_text* out, const tn_state* state)
{
    for (int i = 0; i < TN_HANDLES_MAX; ++i) {
        tn_handle handle;
        if (!tn_state_handle(state, i, &handle)) continue;
        put_short(out, i);
        put_short(out, (int)handle.body.bits - 1);
        put_vec3(out, handle.point);
        put_vec3(out, handle.target);
        put_vec3(out, handle.force);
    }
}

// Contacts follow the joint forces in a frame but are read before those are evaluated.
static int put_parts(tng_text* out, const tng_cast* cast, int parts, int bodies)
{
    const int joints   = tn_model_counts(cast->model).joints;
    tng_text  contacts = {0};
    if (parts & TNG_CONTACTS) put_contacts(&contacts, cast);
    put_poses(out, cast, bodies);
    if (parts & TNG_ERRORS) put_errors(out, cast, joints);
    if (parts & TNG_FORCES && tn_stepper_evaluate(cast->stepper, cast->state, NULL, NULL) != TN_OK)
        parts &= ~TNG_FORCES;
    if (parts & TNG_FORCES) put_forces(out, cast, joints);
    if (parts & TNG_COORDINATES) put_coordinates(out, cast, joints);
    if (parts & TNG_ACTIVE) put_active(out, cast, joints);
    tng_put_bytes(out, contacts.bytes, contacts.length);
    out->failed = out->failed || contacts.failed;
    tng_text_free(&contacts);
    put_handles(out, cast->state);
    return parts;
}

void tng_put_frame(tng_text* text, const tng_cast* cast, const tng_measures* measures, int parts)
{
    const size_t at     = text->length;
    const int    all    = tn_model_counts(cast->model).bodies;
    const int    bodies = all < TNG_BODIES_MAX ? all : TNG_BODIES_MAX;
    put_head(text, cast, measures, parts, bodies);
    parts = put_parts(text, cast, parts, bodies);
    if ((text->length - at) % 8 != 0) put_word(text, 0);
    set_word(text, at + PARTS_AT, (uint32_t)parts);
    set_word(text, at + BYTES_AT, (uint32_t)(text->length - at));
}
