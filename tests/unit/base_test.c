// base: the version, and what happens when an assertion fails.
#include "base/base.h"

#include "test.h"

#include <setjmp.h>
#include <stdlib.h>

TEST(the_version_is_told_the_same_way_everywhere)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", TN_VERSION_MAJOR, TN_VERSION_MINOR, TN_VERSION_PATCH);
    CHECK_TEXT(TN_VERSION, text);
    CHECK_TEXT(tn_version(), text);
    CHECK_INT(tn_version_number(), TN_VERSION_NUMBER);
    int number = 0;
    for (const char* at = text; at != NULL; at = strchr(at, '.'))
        number = 100 * number + atoi(at += *at == '.');
    CHECK_INT(tn_version_number(), number);
}

static struct {
    int         count, line;
    char        file[256];
    const char* expression;
} failed;
static jmp_buf back;

static void note(const char* expression, const char* file, int line)
{
    ++failed.count;
    failed.line       = line;
    failed.expression = expression;
    snprintf(failed.file, sizeof failed.file, "%s", file);
}

static void leave(const char* expression, const char* file, int line)
{
    note(expression, file, line);
    longjmp(back, 1);
}

static void divide(int by)
{
    if (by == 0)
        tni_assert_failed("by != 0", __FILE__, __LINE__); // as TN_ASSERT() does without NDEBUG
}

TEST(the_assert_handler_can_be_replaced)
{
    failed.count                   = 0;
    tn_assert_handler* const first = tn_set_assert_handler(note);
    divide(1);
    CHECK_INT(failed.count, 0);
    divide(0); // goes on
    CHECK_INT(failed.count, 1);
    CHECK_TEXT(failed.expression, "by != 0");
    CHECK(strstr(failed.file, "base_test.c") != NULL && failed.line > 0);
    CHECK(tn_set_assert_handler(leave) == note);
    if (setjmp(back) == 0) {
        divide(0);
        CHECK(false); // not reached
    }
    CHECK_INT(failed.count, 2);
    CHECK(tn_set_assert_handler(NULL) == leave);
    CHECK(tn_set_assert_handler(NULL) == first); // the default one
}

#ifndef NDEBUG
TEST(a_failed_assertion_of_the_library_reaches_the_handler)
{
    failed.count = 0;
    tn_set_assert_handler(leave);
    if (setjmp(back) == 0) TN_ASSERT(failed.count > 0);
    tn_set_assert_handler(NULL);
    CHECK_INT(failed.count, 1);
    CHECK_TEXT(failed.expression, "failed.count > 0");
}
#endif
