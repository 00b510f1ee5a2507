/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/copy.h"

#include "lib/rand.h"
#include "lib/unit.h"

enum { ROOM = 700 };

/* By stores of so many bytes; 0: as the program does. */
static bool copy(unsigned store_bytes, uint8_t *to, const uint8_t *from, size_t n)
{
    if (store_bytes)
        return fe_copy_by(store_bytes, to, from, n);
    fe_copy_past_cache(to, from, n);
    return true;
}

/* Every length from every place in a cache line to every place: exactly those bytes change. */
static void check(unsigned store_bytes)
{
    struct ft_rand r = {.seed = 1};
    uint8_t from[ROOM], to[ROOM], want[ROOM];
    ft_fill(&r, from, sizeof from);
    for (size_t at = 0; at < 65; at++) {
        for (size_t n = 0; n < 400; n++) {
            size_t source = ft_below(&r, 65);
            memset(to, 0xee, sizeof to);
            memset(want, 0xee, sizeof want);
            memcpy(want + at, from + source, n);
            if (!copy(store_bytes, to + at, from + source, n))
                skip();
            if (memcmp(to, want, sizeof to) != 0)
                fail_msg("%zu bytes from %zu to %zu", n, source, at);
        }
    }
}

static void test_copy_past_cache_copies_these_bytes_only(void **state)
{
    (void)state;
    check(0);
}

static void test_copy_by_64_copies_these_bytes_only(void **state)
{
    (void)state;
    check(64);
}

static void test_copy_by_32_copies_these_bytes_only(void **state)
{
    (void)state;
    check(32);
}

static void test_copy_by_16_copies_these_bytes_only(void **state)
{
    (void)state;
    check(16);
}

/* No processor has them: nothing is copied. */
static void test_copy_by_other_widths_copies_nothing(void **state)
{
    uint8_t from[ROOM] = {1}, to[ROOM] = {0};
    (void)state;
    assert_false(fe_copy_by(8, to, from, sizeof to));
    assert_false(fe_copy_by(0, to, from, sizeof to));
    assert_int_equal(to[0], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy_past_cache_copies_these_bytes_only),
        cmocka_unit_test(test_copy_by_64_copies_these_bytes_only),
        cmocka_unit_test(test_copy_by_32_copies_these_bytes_only),
        cmocka_unit_test(test_copy_by_16_copies_these_bytes_only),
        cmocka_unit_test(test_copy_by_other_widths_copies_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
