/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/table.h"

#include "lib/unit.h"

/* Around the sizes where the hint begins, the whole table is zero and can be written.  Nothing next
 * to the table is touched. */
static void test_table_is_zeroed_at_every_size(void **state)
{
    (void)state;
    size_t sizes[] = {1, 4096, (4u << 20) - 1, 4u << 20, (4u << 20) + 1, 9u << 20};
    for (size_t i = 0; i < ft_array_len(sizes); i++) {
        uint8_t *t = fe_table_alloc(sizes[i], 1);
        assert_non_null(t);
        for (size_t at = 0; at < sizes[i]; at++)
            if (t[at] != 0)
                fail_msg("byte %zu of %zu is %u", at, sizes[i], t[at]);
        memset(t, 0xa5, sizes[i]);
        free(t);
    }
}

static void test_table_refuses_a_product_that_does_not_fit(void **state)
{
    (void)state;
    volatile size_t n = SIZE_MAX / 4; /* unknown to the compiler, which would warn */
    assert_null(fe_table_alloc(n, 8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_is_zeroed_at_every_size),
        cmocka_unit_test(test_table_refuses_a_product_that_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
