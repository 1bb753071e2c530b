#include "test.h"

#include <stdarg.h>
#include <stdlib.h>

static test_case *first, *last;
static int        failures_here;

void test_register(test_case* test)
{
    if (last != NULL) last->next = test;
    else first = test;
    last = test;
}

void test_check(bool good, const char* file, int line, const char* format, ...)
{
    if (good) return;
    if (++failures_here > 10) return; // ten are enough to see what is wrong
    fprintf(stderr, "  %s:%d: ", file, line);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

uint64_t test_random_bits(test_random* r) // splitmix64
{
    uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
    z          = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z          = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double test_random_unit(test_random* r)
{
    return (double)(test_random_bits(r) >> 11) * 0x1p-53;
}

double test_random_between(test_random* r, double lower, double upper)
{
    return lower + (upper - lower) * test_random_unit(r);
}

int test_random_int(test_random* r, int lower, int upper)
{
    return lower + (int)(test_random_bits(r) % (uint64_t)(upper - lower + 1));
}

int main(int count, char** arguments)
{
    const char* wanted = count > 1 ? arguments[1] : "";
    int         passed = 0, failed = 0;
    for (test_case* test = first; test != NULL; test = test->next) {
        if (strstr(test->name, wanted) == NULL) continue;
        failures_here = 0;
        test->run();
        if (failures_here == 0) ++passed;
        else ++failed;
        if (failures_here > 0)
            fprintf(stderr, "FAILED %s (%d checks)\n", test->name, failures_here);
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 && passed > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
