// export_math: vectors and quaternions, as far as exports need them. Public headers have none.
#include "export.h"

#include <math.h>

tn_vec3 tnc_add(tn_vec3 a, tn_vec3 b)
{
    return (tn_vec3){a.x + b.x, a.y + b.y, a.z + b.z};
}

tn_vec3 tnc_sub(tn_vec3 a, tn_vec3 b)
{
    return (tn_vec3){a.x - b.x, a.y - b.y, a.z - b.z};
}

tn_vec3 tnc_scale(tn_vec3 a, double factor)
{
    return (tn_vec3){a.x * factor, a.y * factor, a.z * factor};
}

double tnc_dot(tn_vec3 a, tn_vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

tn_vec3 tnc_cross(tn_vec3 a, tn_vec3 b)
{
    return (tn_vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

double tnc_length(tn_vec3 a)
{
    return sqrt(tnc_dot(a, a));
}

tn_vec3 tnc_turn(tn_quat q, tn_vec3 v)
{
    const tn_vec3 u = {q.x, q.y, q.z};
    const tn_vec3 t = tnc_scale(tnc_cross(u, v), 2);
    return tnc_add(v, tnc_add(tnc_scale(t, q.w), tnc_cross(u, t)));
}

tn_quat tnc_turned(tn_quat a, tn_quat b)
{
    return (tn_quat){a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
                     a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                     a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                     a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}

tn_quat tnc_back(tn_quat q)
{
    return (tn_quat){q.w, -q.x, -q.y, -q.z};
}

tn_vec3 tnc_place(tn_frame pose, tn_vec3 point)
{
    return tnc_add(pose.position, tnc_turn(pose.orientation, point));
}

tn_vec3 tnc_unplace(tn_frame pose, tn_vec3 point)
{
    return tnc_turn(tnc_back(pose.orientation), tnc_sub(point, pose.position));
}
