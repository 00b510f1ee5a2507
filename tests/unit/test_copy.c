/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/copy.h"

#include "lib/rand.h"
#include "lib/unit.h"

enum { ROOM = 700 };

/* Every length from every place in a cache line to every place: exactly those bytes change. */
static void test_copy_past_cache_copies_these_bytes_only(void **state)
{
    struct ft_rand r = {.seed = 1};
    uint8_t from[ROOM], to[ROOM], want[ROOM];
    (void)state;
    ft_fill(&r, from, sizeof from);
    for (size_t at = 0; at < 65; at++) {
        for (size_t n = 0; n < 400; n++) {
            size_t source = ft_below(&r, 65);
            memset(to, 0xee, sizeof to);
            memset(want, 0xee, sizeof want);
            memcpy(want + at, from + source, n);
            fe_copy_past_cache(to + at, from + source, n);
            if (memcmp(to, want, sizeof to) != 0)
                fail_msg("%zu bytes from %zu to %zu", n, source, at);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy_past_cache_copies_these_bytes_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
