// peak: what this machine can do at most, as one line of numbers for bench/limits.
//     peak            GHz-free: scalar, SSE2 and AVX2 flop/s (one product and one sum, never fused), GB/s
// Sums and products in many independent chains, so that only the units' throughput counts; best of some
// repetitions. No fused multiply-add: results have the same bits everywhere, so Tenon has none either.
// Bytes: a copy of arrays that fit the level-1, level-2 cache and no cache (read and written).
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef double four __attribute__((vector_size(32)));
typedef double two __attribute__((vector_size(16)));
enum { CHAINS = 6, ROUNDS = 2000000, TURNS = 7 };

// Half of the chains multiply, half of them add: 2 CHAINS operations a round. What stands in the empty
// assembly is unknown to the compiler, so nothing is merged or left out.
#define UNKNOWN(a, b, c, d, e, f) \
    __asm__ volatile("" : "+x"(a), "+x"(b), "+x"(c), "+x"(d), "+x"(e), "+x"(f))
#define KERNEL(name, type, attribute)                                               \
    attribute static double name(type one, type tiny)                               \
    {                                                                               \
        type m0 = one, m1 = one, m2 = one, m3 = one, m4 = one, m5 = one;            \
        type a0 = one, a1 = one, a2 = one, a3 = one, a4 = one, a5 = one;            \
        __asm__ volatile("" : "+x"(one), "+x"(tiny));                               \
        const double begun = seconds();                                             \
        for (int i = 0; i < ROUNDS; ++i) {                                          \
            m0 *= one, m1 *= one, m2 *= one, m3 *= one, m4 *= one, m5 *= one;       \
            a0 += tiny, a1 += tiny, a2 += tiny, a3 += tiny, a4 += tiny, a5 += tiny; \
            UNKNOWN(m0, m1, m2, m3, m4, m5);                                        \
            UNKNOWN(a0, a1, a2, a3, a4, a5);                                        \
        }                                                                           \
        return seconds() - begun;                                                   \
    }

KERNEL(scalar, double, )
KERNEL(sse2, two, )
#ifdef __x86_64__
KERNEL(avx2, four, __attribute__((target("avx2"))))
#endif

static double flops(double took, int lanes)
{
    return 2.0 * CHAINS * lanes * ROUNDS / took;
}

// Bytes read and written a second by copies of so many bytes.
static double copying(size_t bytes)
{
    char *    from = malloc(bytes), *to = malloc(bytes);
    const int rounds = (int)(((size_t)1 << 29) / bytes) + 1;
    double    best   = 0;
    if (!from || !to) exit(1);
    memset(from, 1, bytes);
    memset(to, 2, bytes);
    for (int turn = 0; turn < TURNS; ++turn) {
        const double begun = seconds();
        for (int i = 0; i < rounds; ++i) {
            memcpy(to, from, bytes);
            __asm__ volatile("" : : "r"(to) : "memory");
        }
        const double rate = 2.0 * (double)bytes * rounds / (seconds() - begun);
        if (rate > best) best = rate;
    }
    free(from);
    free(to);
    return best;
}

int main(void)
{
    double best[3] = {0, 0, 0};
    for (int turn = 0; turn < TURNS; ++turn) {
        double rate[3] = {0, 0, 0};
        rate[0]        = flops(scalar(1, 1e-9), 1);
        rate[1]        = flops(sse2((two){1, 1}, (two){1e-9, 1e-9}), 2);
#ifdef __x86_64__
        if (__builtin_cpu_supports("avx2"))
            rate[2] = flops(avx2((four){1, 1, 1, 1}, (four){1e-9, 1e-9, 1e-9, 1e-9}), 4);
#endif
        for (int k = 0; k < 3; ++k)
            if (rate[k] > best[k]) best[k] = rate[k];
    }
    printf("scalar %.4g sse2 %.4g avx2 %.4g flop/s; copy L1 %.4g L2 %.4g memory %.4g bytes/s\n",
           best[0], best[1], best[2], copying(8 << 10), copying(256 << 10),
           copying((size_t)64 << 20));
    return 0;
}
