#include "base/groups.h"
#include "base/sort.h"
#include "test.h"

enum { COUNT = 300 };

static bool is_less(const void* user, int a, int b)
{
    const int* keys = user;
    return keys[a] < keys[b];
}

// Ascending keys, each index once, and equal keys in their original order.
TEST(indices_are_sorted_and_equal_ones_keep_their_order)
{
    test_random r = {1};
    for (int count = 0; count < COUNT; ++count) {
        int keys[COUNT], items[COUNT], spare[COUNT], place[COUNT], seen = 0;
        for (int i = 0; i < count; ++i) {
            const int other = test_random_int(&r, 0, i);
            keys[i]         = test_random_int(&r, 0, count / 3);
            items[i]        = items[other]; // shuffled: original order is not index order
            items[other]    = i;
        }
        for (int i = 0; i < count; ++i) place[items[i]] = i;
        tni_sort(items, spare, count, is_less, keys);
        for (int i = 1; i < count; ++i) {
            const int a = items[i - 1], b = items[i];
            CHECK(keys[a] < keys[b] || (keys[a] == keys[b] && place[a] < place[b]));
        }
        for (int i = 0; i < count; ++i) seen += place[items[i]] >= 0, place[items[i]] = -1;
        CHECK_INT(seen, count);
    }
}

// Against labels that are overwritten one by one.
TEST(groups_agree_with_naive_relabelling)
{
    test_random r = {2};
    int         up[COUNT], label[COUNT];
    for (int i = 0; i < COUNT; ++i) up[i] = label[i] = i;
    for (int tie = 0; tie < COUNT; ++tie) {
        const int a = test_random_int(&r, 0, COUNT - 1), b = test_random_int(&r, 0, COUNT - 1);
        const int one = label[a], two = label[b];
        CHECK(tni_tie(up, a, b) == (one != two));
        for (int i = 0; i < COUNT; ++i)
            if (label[i] == one || label[i] == two) label[i] = one < two ? one : two;
        for (int i = tie % 7; i < COUNT; i += 7) CHECK_INT(tni_root_of(up, i), label[i]);
    }
}
