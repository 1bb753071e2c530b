#include "tenon/io.h"
#include "test.h"

#include <locale.h>
#include <stdlib.h>

#ifdef TENON_TEST_LIGHT
enum { FEWER = 20 }; // samples
#else
enum { FEWER = 1 };
#endif

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof bits);
    return value;
}

static bool parses(const char* text, double* value)
{
    const char *end = NULL, *limit = text + strlen(text);
    return tn_parse_number(text, limit, &end, value) && end == limit;
}

// The C library is the oracle: glibc's strtod is correctly rounded.
static void check_like_strtod(const char* text)
{
    const double wanted = strtod(text, NULL);
    double       value  = 7.0;
    const bool   good   = parses(text, &value);
    if (isinf(wanted)) {
        test_check(!good, __FILE__, __LINE__, "%s was taken, but is too large", text);
        return;
    }
    test_check(good && bits_of(value) == bits_of(wanted), __FILE__, __LINE__, "%s = %a, wanted %a",
               text, value, wanted);
}

static double random_finite(test_random* r)
{
    for (;;) {
        const double value = double_of(test_random_bits(r));
        if (isfinite(value)) return value;
    }
}

TEST(numbers_of_the_json_grammar_are_read)
{
    const char* good[] = {"0",        "-0",      "1",      "-1",    "10",       "0.5",
                          "-0.5e0",   "1e5",     "1E+5",   "1e-05", "123.4e-5", "1e00",
                          "0e999999", "0.0e-99", "1e-400", "9.81"};
    for (size_t i = 0; i < sizeof good / sizeof *good; ++i) check_like_strtod(good[i]);
}

TEST(invalid_json_numbers_are_refused)
{
    const char* bad[] = {"",     "-",     "+1",   ".5",       "1.",  "01",  "-01",
                         "1e",   "1e+",   "0x10", "--1",      "NaN", "inf", "-inf",
                         "1.e5", "1e5.5", "1 ",   "Infinity", " 1",  "1,5", "00"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        double value;
        test_check(!parses(bad[i], &value), __FILE__, __LINE__, "'%s' was taken", bad[i]);
    }
}

TEST(number_ends_before_other_text)
{
    const char* text = "12.5e1]";
    const char* end  = NULL;
    double      value;
    CHECK(tn_parse_number(text, text + strlen(text), &end, &value));
    CHECK_INT(end - text, 6);
    CHECK_NEAR(value, 125.0, 0.0);
    CHECK(tn_parse_number(text, text + 4, &end, &value)); // the limit is obeyed: no NUL is needed
    CHECK_NEAR(value, 12.5, 0.0);
}

TEST(too_large_is_told_apart_from_malformed_by_its_end)
{
    const char *large = "1e400,", *wrong = "1.x", *end = NULL;
    double      value = 0;
    CHECK(!tn_parse_number(large, large + 6, &end, &value));
    CHECK_INT(end - large, 5);
    CHECK(!tn_parse_number(wrong, wrong + 3, &end, &value));
    CHECK_INT(end - wrong, 0);
}

TEST(edges_of_the_range_round_correctly)
{
    const char* edges[] = {
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.7976931348623159e308",
        "1.8e308",
        "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273854845817711531764475730270069855571366959622842914819860834936475292719074168444365510704342711559699508093042880",
        "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273854845817711531764475730270069855571366959622842914819860834936475292719074168444365510704342711559699508093042879",
        "2.2250738585072011e-308",
        "2.2250738585072014e-308",
        "4.9406564584124654e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "2.4703282292062327208e-324",
        "1e-323",
        "1e-324",
        "3e-324",
        "9007199254740993",
        "9007199254740992.999999",
        "9007199254740993.0000000000000000000000000000000001",
        "0.1",
        "1e22",
        "1e23",
        "8.5e22",
        "6.02214076e23",
        "0.000000000000000000000000000000000000000000000000000000000000000001e66",
        "100000000000000000000000000000000000e-35"};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; ++i) check_like_strtod(edges[i]);
}

TEST(random_texts_are_read_like_strtod)
{
    test_random r = {1};
    char        text[900];
    for (int i = 0; i < 400000 / FEWER; ++i) { // digits and exponents of every size
        const int digits = test_random_int(&r, 1, i % 50 == 0 ? 820 : 25);
        char*     at     = text;
        *at++            = (char)('1' + test_random_int(&r, 0, 8));
        *at++            = '.';
        for (int k = 0; k < digits; ++k) *at++ = (char)('0' + test_random_int(&r, 0, 9));
        snprintf(at, 16, "e%d", test_random_int(&r, -345, 312));
        check_like_strtod(text);
    }
    for (int i = 0; i < 300000 / FEWER; ++i) { // doubles printed at every precision
        snprintf(text, sizeof text, "%.*e", test_random_int(&r, 0, 20), random_finite(&r));
        check_like_strtod(text);
    }
}

// Exactly half way between two neighbours, and slightly to both sides of it.
TEST(midpoints_round_like_strtod)
{
    test_random r = {2};
    char        text[1200], near[1300];
    for (int i = 0; i < 30000 / FEWER; ++i) {
        uint64_t bits = test_random_bits(&r) >> 1;
        if (i % 4 == 0) bits &= ((uint64_t)1 << 53) - 1; // subnormal, or just above
        if (i % 4 > 1)
            bits = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)test_random_int(&r, 970, 1080)
                                                            << 52;
        if (i % 4 == 3) bits &= ~(uint64_t)0 << 40; // few bits: ties among short texts
        const double a = double_of(bits), b = double_of(bits + 1);
        if (!isfinite(b)) continue;
        // (a + b)/2 has one bit more than a double; long double represents it, except for the
        // smallest.
        const long double half = ((long double)a + (long double)b) / 2;
        const int         n    = snprintf(text, sizeof text, "%.800Le", half);
        check_like_strtod(text);
        char* mark = strchr(text, 'e'); // ...000e+12: one more digit makes it larger
        snprintf(near, sizeof near, "%.*s1%s", (int)(mark - text), text, mark);
        check_like_strtod(near);
        snprintf(near, sizeof near, "%.30Le", half);
        check_like_strtod(near);
        CHECK(n < (int)sizeof text);
    }
}

TEST(numbers_are_written_plainly)
{
    const struct {
        double      value;
        const char* text;
    } cases[] = {{0.0, "0"},
                 {-0.0, "-0"},
                 {1, "1"},
                 {-1, "-1"},
                 {9.81, "9.81"},
                 {0.1, "0.1"},
                 {1000, "1000"},
                 {1e16, "10000000000000000"},
                 {1e17, "1e17"},
                 {0.001, "0.001"},
                 {0.00001, "0.00001"},
                 {0.000001, "1e-6"},
                 {1.5e-9, "1.5e-9"},
                 {6.02e23, "6.02e23"},
                 {1e300, "1e300"},
                 {123456.789, "123456.789"},
                 {1.0 / 3, "0.3333333333333333"},
                 {5e-324, "5e-324"},
                 {0x1p-44, "5.684341886080802e-14"},
                 {1.7976931348623157e308, "1.7976931348623157e308"},
                 {2.2250738585072014e-308, "2.2250738585072014e-308"},
                 {1e23, "1e23"},
                 {9007199254740993.0, "9007199254740992"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[32];
        CHECK_INT(tn_format_number(cases[i].value, text, sizeof text), (int)strlen(cases[i].text));
        CHECK_TEXT(text, cases[i].text);
    }
}

static int significant_digits(const char* text)
{
    int count = 0, zeros = 0;
    for (; *text != '\0' && *text != 'e'; ++text) {
        if (*text < '0' || *text > '9' || (count == 0 && *text == '0')) continue;
        ++count;
        zeros = *text == '0' ? zeros + 1 : 0;
    }
    return count - zeros;
}

static void check_round_trip(double value)
{
    char      text[32];
    double    back   = 0;
    const int length = tn_format_number(value, text, sizeof text);
    test_check(length == (int)strlen(text) && length < 32 && parses(text, &back) &&
                   bits_of(back) == bits_of(value),
               __FILE__, __LINE__, "%a was written as %s", value, text);
}

TEST(written_numbers_read_back_bit_for_bit)
{
    test_random r = {3};
    for (int i = 0; i < 500000 / FEWER; ++i) check_round_trip(random_finite(&r));
    for (int i = 0; i < 300000 / FEWER; ++i) check_round_trip(test_random_between(&r, -10, 10));
    for (int i = 0; i < 100000 / FEWER; ++i)
        check_round_trip(double_of(test_random_bits(&r) >> 12)); // subnormal
    for (int i = 0; i < 100000 / FEWER; ++i)
        check_round_trip(test_random_int(&r, -100000, 100000) / 1000.0);
    for (int e = -1074; e <= 1023; ++e) {
        for (int d = -2; d <= 2; ++d)
            check_round_trip(
                double_of(bits_of(ldexp(1, e)) + (uint64_t)(d > 0 || e > -1074 ? d : 0)));
    }
}

// One digit less, rounded to nearest, must read back as another number, or it was not the shortest.
TEST(written_numbers_are_the_shortest)
{
    test_random r = {4};
    for (int i = 0; i < 100000 / FEWER; ++i) {
        const double value = i % 2 == 0 ? random_finite(&r) : test_random_between(&r, -1, 1);
        char         text[32], shorter[40];
        tn_format_number(value, text, sizeof text);
        const int digits = significant_digits(text);
        CHECK(digits <= 17);
        if (digits < 2) continue;
        snprintf(shorter, sizeof shorter, "%.*e", digits - 2, value);
        test_check(bits_of(strtod(shorter, NULL)) != bits_of(value), __FILE__, __LINE__,
                   "%s instead of %s", text, shorter);
    }
}

TEST(locale_does_not_matter)
{
    const char* const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE"};
    for (size_t i = 0; i < sizeof locales / sizeof *locales; ++i) {
        if (setlocale(LC_ALL, locales[i]) != NULL) break;
    }
    char   text[32];
    double value = 0;
    tn_format_number(-12.75, text, sizeof text);
    CHECK_TEXT(text, "-12.75");
    CHECK(parses("-12.75", &value));
    CHECK_NEAR(value, -12.75, 0.0);
    setlocale(LC_ALL, "C");
}
