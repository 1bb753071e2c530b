// lanes_vec3: 3-vectors, several at a time, one in each SIMD lane, for kernels that are compiled
// once for each vector length (math/simd.h). There is no include guard on purpose. The operations
// are those of vec3.h in the same order, so a lane gives the same bits as the scalar code.
#define vec3 NAME(vec3)

typedef struct vec3 {
    vec x, y, z;
} vec3;

TNI_INLINE vec3 NAME(add)(vec3 a, vec3 b)
{
    return (vec3){a.x + b.x, a.y + b.y, a.z + b.z};
}

TNI_INLINE vec3 NAME(sub)(vec3 a, vec3 b)
{
    return (vec3){a.x - b.x, a.y - b.y, a.z - b.z};
}

TNI_INLINE vec3 NAME(scale)(vec s, vec3 a)
{
    return (vec3){s * a.x, s * a.y, s * a.z};
}

TNI_INLINE vec NAME(dot)(vec3 a, vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

TNI_INLINE vec3 NAME(cross)(vec3 a, vec3 b)
{
    return (vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

TNI_INLINE vec3 NAME(rotated)(const vec R[9], vec3 a)
{
    return (vec3){R[0] * a.x + R[1] * a.y + R[2] * a.z, R[3] * a.x + R[4] * a.y + R[5] * a.z,
                  R[6] * a.x + R[7] * a.y + R[8] * a.z};
}
