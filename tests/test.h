// A test program: TEST(name) { CHECK(...); } as often as wanted, then TEST_MAIN() is linked from
// test_main.c. Every program ends with `N passed, N failed` and takes a name filter as its argument.
#ifndef TEST_H
#define TEST_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct test_case {
    const char* name;
    void (*run)(void);
    struct test_case* next;
} test_case;

void test_register(test_case* test);
void test_check(bool good, const char* file, int line, const char* format, ...)
    __attribute__((format(printf, 4, 5)));

#define TEST(id)                                                                      \
    static void                              test_##id(void);                         \
    static test_case                         test_case_##id = {#id, test_##id, NULL}; \
    __attribute__((constructor)) static void test_register_##id(void)                 \
    {                                                                                 \
        test_register(&test_case_##id);                                               \
    }                                                                                 \
    static void test_##id(void)

#define CHECK(condition) test_check((condition), __FILE__, __LINE__, "%s", #condition)
#define CHECK_OK(call)                                                                \
    do {                                                                              \
        const int check_result = (int)(call);                                         \
        test_check(check_result == 0, __FILE__, __LINE__, "%s gave result %d", #call, \
                   check_result);                                                     \
    } while (0)
#define CHECK_INT(a, b)                                                                           \
    do {                                                                                          \
        const long long check_a = (long long)(a), check_b = (long long)(b);                       \
        test_check(check_a == check_b, __FILE__, __LINE__, "%s = %lld, wanted %lld", #a, check_a, \
                   check_b);                                                                      \
    } while (0)
#define CHECK_LESS(a, b)                                                                           \
    do {                                                                                           \
        const double check_a = (a), check_b = (b);                                                 \
        test_check(check_a < check_b, __FILE__, __LINE__, "%s = %.6g, wanted < %.6g", #a, check_a, \
                   check_b);                                                                       \
    } while (0)
#define CHECK_NEAR(a, b, tolerance)                                                    \
    do {                                                                               \
        const double check_a = (a), check_b = (b), check_t = (tolerance);              \
        test_check(fabs(check_a - check_b) <= check_t, __FILE__, __LINE__,             \
                   "%s = %.17g, wanted %.17g +- %.3g", #a, check_a, check_b, check_t); \
    } while (0)
#define CHECK_TEXT(a, b)                                                \
    do {                                                                \
        const char *check_a = (a), *check_b = (b);                      \
        test_check(strcmp(check_a, check_b) == 0, __FILE__, __LINE__,   \
                   "%s = \"%s\", wanted \"%s\"", #a, check_a, check_b); \
    } while (0)

/// Small deterministic random numbers for tests: the same everywhere.
typedef struct test_random {
    uint64_t state;
} test_random;
uint64_t test_random_bits(test_random* r);
double   test_random_unit(test_random* r); ///< [0, 1)
double   test_random_between(test_random* r, double lower, double upper);
int      test_random_int(test_random* r, int lower, int upper); ///< lower <= n <= upper

#endif
