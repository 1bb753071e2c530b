// keyframes: values and poses over time. Linear between keys, constant outside; orientations rotate
// about one axis at a constant rate (slerp), computed as exp(s log(q1 q0*)) q0.
#include "model/model.h"

// The segment of a time: between keys[i] and keys[i + 1]; i = -1 before the first key, count - 1
// after the last. first: structs that begin with their time.
static int segment(const char* first, size_t stride, int count, double time)
{
    int lower = -1, upper = count; // keys[lower].time <= time < keys[upper].time
    while (upper - lower > 1) {
        const int middle = lower + (upper - lower) / 2;
        double    at;
        memcpy(&at, first + stride * (size_t)middle, sizeof at);
        if (at <= time) lower = middle;
        else upper = middle;
    }
    return lower;
}

void tni_values_at(const tn_value_key* keys, int count, double time, double* value, double* rate)
{
    const int i = segment((const char*)keys, sizeof *keys, count, time);
    if (i < 0 || i == count - 1) {
        *value = keys[i < 0 ? 0 : i].value;
        *rate  = 0;
        return;
    }
    *rate  = (keys[i + 1].value - keys[i].value) / (keys[i + 1].time - keys[i].time);
    *value = keys[i].value + (time - keys[i].time) * *rate;
}

tn_vec3 tni_vector_at(const tn_vector_key* keys, int count, double time)
{
    const int i = segment((const char*)keys, sizeof *keys, count, time);
    if (i < 0 || i == count - 1) return keys[i < 0 ? 0 : i].value;
    const double share = (time - keys[i].time) / (keys[i + 1].time - keys[i].time);
    return tni_add_scaled(keys[i].value, share, tni_sub(keys[i + 1].value, keys[i].value));
}

void tni_keys_at(const tn_key* keys, int count, double time, tn_frame* pose, tn_twist* velocity)
{
    const int i = segment((const char*)keys, sizeof *keys, count, time);
    if (i < 0 || i == count - 1) {
        *pose     = keys[i < 0 ? 0 : i].pose;
        *velocity = (tn_twist){{0, 0, 0}, {0, 0, 0}};
        return;
    }
    const tn_frame *a = &keys[i].pose, *b = &keys[i + 1].pose;
    const double    duration = keys[i + 1].time - keys[i].time, elapsed = time - keys[i].time;
    const tn_vec3   turn =
        tni_quat_log(tni_quat_mul(b->orientation, tni_quat_conjugate(a->orientation)));
    velocity->linear  = tni_scale(1 / duration, tni_sub(b->position, a->position));
    velocity->angular = tni_scale(1 / duration, turn);
    pose->position    = tni_add_scaled(a->position, elapsed, velocity->linear);
    pose->orientation =
        tni_quat_mul(tni_quat_exp(tni_scale(elapsed, velocity->angular)), a->orientation);
}
