// lanes_vec3: 3-vectors, several at a time, one in each SIMD lane. For headers that are compiled
// once for each vector length; they define
//     SET     suffix of all names
//     TARGET  attribute: the instruction set to compile for
//     BYTES   length of a vector [bytes]
// before they include this. There is no include guard on purpose. The operations are those of
// vec3.h in the same order, so a lane gives the same bits as the scalar code. lanes_end.h undefines
// all names.
#define JOIN_(a, b) a##_##b
#define JOIN(a, b)  JOIN_(a, b)
#define NAME(x)     JOIN(x, SET)
#define vec         NAME(vec)
#define vec3        NAME(vec3)
#define mask        NAME(mask)

#if defined(__GNUC__)
typedef double  vec __attribute__((vector_size(BYTES)));
typedef int64_t mask __attribute__((vector_size(BYTES)));
#define AT(v, lane)   ((v)[lane])
#define ONLY(m, v)    ((vec)((m) & (mask)(v)))
#define PICK(m, a, b) ((vec)(((m) & (mask)(a)) | (~(m) & (mask)(b))))
#else
typedef double vec;
typedef int    mask;
#define AT(v, lane)   (*((double*)&(v) + (lane)))
#define ONLY(m, v)    ((m) ? (v) : 0)
#define PICK(m, a, b) ((m) ? (a) : (b))
#endif
#define LANES ((int)(sizeof(vec) / sizeof(double)))

typedef struct vec3 {
    vec x, y, z;
} vec3;

TNI_INLINE TARGET vec3 NAME(add)(vec3 a, vec3 b)
{
    return (vec3){a.x + b.x, a.y + b.y, a.z + b.z};
}

TNI_INLINE TARGET vec3 NAME(sub)(vec3 a, vec3 b)
{
    return (vec3){a.x - b.x, a.y - b.y, a.z - b.z};
}

TNI_INLINE TARGET vec3 NAME(scale)(vec s, vec3 a)
{
    return (vec3){s * a.x, s * a.y, s * a.z};
}

TNI_INLINE TARGET vec NAME(dot)(vec3 a, vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

TNI_INLINE TARGET vec3 NAME(cross)(vec3 a, vec3 b)
{
    return (vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

TNI_INLINE TARGET vec3 NAME(rotated)(const vec R[9], vec3 a)
{
    return (vec3){R[0] * a.x + R[1] * a.y + R[2] * a.z, R[3] * a.x + R[4] * a.y + R[5] * a.z,
                  R[6] * a.x + R[7] * a.y + R[8] * a.z};
}
