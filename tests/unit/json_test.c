#include "io/json.h"
#include "test.h"

#include <stdlib.h>

static tn_result read_bytes(const char* text, size_t length, tni_json* json, tn_why* why)
{
    // A copy of just this size, so that the sanitizer sees every byte read beyond the end.
    char* copy = malloc(length > 0 ? length : 1);
    memcpy(copy, text, length);
    const tn_result result = tni_json_read(NULL, copy, length, json, why);
    free(copy);
    return result;
}

static void check_good(const char* text)
{
    tni_json        json;
    tn_why          why    = {0};
    const tn_result result = read_bytes(text, strlen(text), &json, &why);
    test_check(result == TN_OK, __FILE__, __LINE__, "%s: %s", text, why.text);
    if (result == TN_OK) CHECK_INT(json.values[0].size, json.count);
    tni_json_free(&json);
}

static void check_bad(const char* text, size_t length, int line, int column, const char* fragment)
{
    tni_json        json;
    tn_why          why    = {0};
    const tn_result result = read_bytes(text, length, &json, &why);
    test_check(result == TN_ERR_PARSE && why.result == TN_ERR_PARSE, __FILE__, __LINE__,
               "%s was taken", text);
    test_check(why.line == line && why.column == column && strstr(why.text, fragment) != NULL,
               __FILE__, __LINE__, "%s: %d:%d: %s, wanted %d:%d and '%s'", text, why.line,
               why.column, why.text, line, column, fragment);
    CHECK(json.values == NULL && json.texts == NULL);
    CHECK(tni_json_read(NULL, text, length, &json, NULL) == TN_ERR_PARSE); // no reason wanted
}

TEST(valid_json_is_read)
{
    const char* const texts[] = {"0",
                                 "null",
                                 "true",
                                 " false ",
                                 "\"\"",
                                 "[]",
                                 "{}",
                                 "[[]]",
                                 "[{}]",
                                 "{\"\":{}}",
                                 "[1,2,3]",
                                 "{\"a\":1,\"b\":[true,null]}",
                                 "\t\r\n[\n]\n",
                                 "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"",
                                 "[-0,0.0,1e5]",
                                 "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"",
                                 "\"\\uD83D\\uDE00\"",
                                 "\xef\xbb\xbf{}",
                                 "\"\x7f\"",
                                 "[1e-400]",
                                 "{\"a\":{\"a\":{\"a\":1}}}",
                                 "\"\xf4\x8f\xbf\xbf\"",
                                 "\"\xed\x9f\xbf\""};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) check_good(texts[i]);
}

TEST(invalid_json_is_refused_with_its_position)
{
    static const struct {
        const char* text;
        int         line, column;
        const char* fragment;
    } cases[] = {{"", 1, 1, "empty"},
                 {"  \n ", 2, 2, "empty"},
                 {"\xef\xbb\xbf", 1, 1, "empty"},
                 {"[1,2", 1, 5, "expected ',' or ']' after an element"},
                 {"{\"a\":1", 1, 7, "expected ',' or '}' after a member"},
                 {"[1 2]", 1, 4, "expected ',' or ']'"},
                 {"[1,]", 1, 4, "no ',' allowed before ']'"},
                 {"{\"a\":1,}", 1, 8, "no ',' allowed before '}'"},
                 {"[,1]", 1, 2, "expected a value"},
                 {"[1,,2]", 1, 4, "expected a value"},
                 {"{,}", 1, 2, "expected a key"},
                 {"{a:1}", 1, 2, "expected a key in double quotes"},
                 {"{'a':1}", 1, 2, "expected a key in double quotes"},
                 {"{\"a\" 1}", 1, 6, "expected ':'"},
                 {"{\"a\":}", 1, 6, "expected a value"},
                 {"{\"a\"", 1, 5, "expected ':'"},
                 {"{1:2}", 1, 2, "expected a key"},
                 {"[", 1, 2, "the text ends"},
                 {"{", 1, 2, "expected a key"},
                 {"]", 1, 1, "expected a value"},
                 {"[}", 1, 2, "expected a value"},
                 {"{]", 1, 2, "expected a key"},
                 {"[1}", 1, 3, "expected ',' or ']'"},
                 {"1 2", 1, 3, "more text"},
                 {"{} x", 1, 4, "more text"},
                 {"[]]", 1, 3, "more text"},
                 {"{}\n{}", 2, 1, "more text"},
                 {"nul", 1, 1, "found 'nul'"},
                 {"True", 1, 1, "found 'True'"},
                 {"nullx", 1, 1, "found 'nullx'"},
                 {"NaN", 1, 1, "found 'NaN'"},
                 {"Infinity", 1, 1, "found 'Infinity'"},
                 {"-Infinity", 1, 1, "malformed number"},
                 {"01", 1, 1, "malformed number"},
                 {"1.", 1, 1, "malformed number"},
                 {".5", 1, 1, "expected a value, found '.5'"},
                 {"+1", 1, 1, "expected a value"},
                 {"1e", 1, 1, "malformed number"},
                 {"-", 1, 1, "malformed number"},
                 {"0x10", 1, 1, "malformed number"},
                 {"1.2.3", 1, 1, "malformed number"},
                 {"[1e999]", 1, 2, "too large"},
                 {"[-1e999]", 1, 2, "too large"},
                 {"1-2", 1, 1, "malformed number"},
                 {"\"abc", 1, 1, "no closing"},
                 {"\"a\nb\"", 1, 1, "no closing"},
                 {"\"a\tb\"", 1, 3, "control character 0x09"},
                 {"\"\\x\"", 1, 2, "unknown escape"},
                 {"\"\\", 1, 2, "unknown escape"},
                 {"\"\\u12\"", 1, 2, "four hexadecimal"},
                 {"\"\\u12g4\"", 1, 2, "four hexadecimal"},
                 {"\"\\ud800\"", 1, 2, "surrogate"},
                 {"\"\\udc00\"", 1, 2, "surrogate"},
                 {"\"\\ud800\\u0041\"", 1, 2, "surrogate"},
                 {"\"\\u0000\"", 1, 2, "U+0000"},
                 {"\"\xff\"", 1, 2, "not UTF-8"},
                 {"\"\xc0\x80\"", 1, 2, "not UTF-8"},
                 {"\"\xed\xa0\x80\"", 1, 2, "not UTF-8"},
                 {"\"\xe2\x82\"", 1, 2, "not UTF-8"},
                 {"\"\xf4\x90\x80\x80\"", 1, 2, "not UTF-8"},
                 {"\"\xe0\x80\x80\"", 1, 2, "not UTF-8"},
                 {"\xff\xfe{", 1, 1, "expected a value"},
                 {"{\"a\":1,\n  \"a\":2}", 2, 3, "duplicate key 'a'; first given in line 1"},
                 {"{\"a\":{\"b\":1,\"\\u0062\":2}}", 1, 13, "duplicate key 'b'"},
                 {"/* no */ 1", 1, 1, "expected a value"},
                 {"[1, // no\n2]", 1, 5, "expected a value"},
                 {"{\"a\":1\n\"b\":2}", 2, 1, "expected ',' or '}' after a member"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        check_bad(cases[i].text, strlen(cases[i].text), cases[i].line, cases[i].column,
                  cases[i].fragment);
    }
}

TEST(nul_bytes_are_refused)
{
    check_bad("[1]\0", 4, 1, 4, "more text");
    check_bad("\"a\0b\"", 5, 1, 3, "control character 0x00");
    check_bad("\0", 1, 1, 1, "expected a value");
}

TEST(empty_text_is_refused)
{
    tni_json json;
    tn_why   why = {0};
    CHECK(tni_json_read(NULL, NULL, 0, &json, &why) == TN_ERR_PARSE);
    CHECK_INT(why.line, 1);
}

TEST(every_truncation_is_refused)
{
    const char* text = "{\"a\": [1.5e3, {\"b\": \"\\u00e9\xc3\xa9\"}, true], \"c\": null}";
    for (size_t length = 0; length < strlen(text); ++length) {
        tni_json json;
        tn_why   why = {0};
        CHECK(read_bytes(text, length, &json, &why) == TN_ERR_PARSE);
        CHECK(why.line == 1 && why.column >= 1 && why.column <= (int)length + 1 &&
              why.text[0] != '\0');
    }
    check_good(text);
}

TEST(nesting_ends_at_64_levels)
{
    char text[200] = {0};
    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    check_good(text);
    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    check_bad(text, 130, 1, 65, "nested deeper than 64");
}

TEST(values_have_their_line_and_column)
{
    const char* text =
        "{\n  \"name\": \"\\u00e9\\ud83d\\ude00\\n\",\n  \"list\": [1, [2, 3], {\"x\": -0.5}],\n  \"on\": true\n}";
    tni_json json;
    CHECK_OK(read_bytes(text, strlen(text), &json, NULL));
    const tni_json_value* root = json.values;
    CHECK_INT(root->count, 3);
    const tni_json_value* name = tni_json_member(root, "name");
    CHECK_TEXT(name->text, "\xc3\xa9\xf0\x9f\x98\x80\n");
    CHECK(name->line == 2 && name->column == 11);
    const tni_json_value* list = tni_json_member(root, "list");
    CHECK(list->kind == TNI_JSON_ARRAY && list->count == 3 && list->size == 8);
    const tni_json_value* pair = list + 1 + list[1].size;
    CHECK(pair->kind == TNI_JSON_ARRAY && pair->count == 2);
    const tni_json_value* object = pair + pair->size;
    const tni_json_value* x      = tni_json_member(object, "x");
    CHECK_NEAR(x->number, -0.5, 0.0);
    CHECK(x->line == 3 && x->column == 29);
    CHECK(tni_json_member(root, "on")->flag);
    CHECK(tni_json_member(root, "off") == NULL);
    tni_json_free(&json);
}

TEST(large_objects_have_a_limit)
{
    char*  text = malloc(1025 * 12);
    size_t n    = 0;
    text[n++]   = '{';
    for (int i = 0; i < 1024; ++i) n += (size_t)snprintf(text + n, 12, "\"%d\":0,", i);
    text[n - 1] = '}';
    tni_json json;
    CHECK_OK(tni_json_read(NULL, text, n, &json, NULL));
    CHECK_INT(json.values[0].count, 1024);
    tni_json_free(&json);
    const int column = (int)n + 1;
    memcpy(text + n - 1, ",\"x\":0}", 7);
    check_bad(text, n + 6, 1, column, "more than 1024 members");
    free(text);
}

TEST(quoted_texts_are_safe_in_messages)
{
    CHECK_TEXT(tni_quote("link").text, "'link'");
    CHECK_TEXT(tni_quote("a\nb\x01").text, "'a?b?'");
    char text[400];
    memset(text, 'x', 399);
    text[399]               = '\0';
    const tni_quoted quoted = tni_quote(text);
    CHECK(strlen(quoted.text) < sizeof quoted.text);
    CHECK(strstr(quoted.text, "x...'") != NULL);
    for (int i = 0; i < 398; i += 2) memcpy(text + i, "\xc3\xa9", 2); // cut between characters only
    const tni_quoted two   = tni_quote(text);
    const char*      limit = two.text + strlen(two.text);
    for (const char* at = two.text; at < limit; at += tni_utf8_length(at, limit)) {
        CHECK(tni_utf8_length(at, limit) > 0);
        if (tni_utf8_length(at, limit) == 0) break;
    }
}
