/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/table.h"

#include "lib/unit.h"

#include <errno.h>

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

/* A mapped table likewise; a large one begins at a huge page. */
static void test_table_maps_zeros_of_every_size(void **state)
{
    (void)state;
    size_t sizes[] = {1, 4096, (4u << 20) - 1, 4u << 20, (4u << 20) + 1, 9u << 20};
    for (size_t i = 0; i < ft_array_len(sizes); i++) {
        uint8_t *t = fe_table_map(sizes[i]);
        assert_non_null(t);
        assert_int_equal((uintptr_t)t % (sizes[i] < 4u << 20 ? 4096 : 2u << 20), 0);
        for (size_t at = 0; at < sizes[i]; at++)
            if (t[at] != 0)
                fail_msg("byte %zu of %zu is %u", at, sizes[i], t[at]);
        memset(t, 0xa5, sizes[i]);
        fe_table_unmap(t, sizes[i]);
    }
    fe_table_unmap(NULL, 4096);
}

static void test_table_refuses_more_than_an_address_space(void **state)
{
    (void)state;
    errno = 0;
    assert_null(fe_table_map(SIZE_MAX - 5));
    assert_int_equal(errno, ENOMEM);
    errno = 0;
    assert_null(fe_table_map(SIZE_MAX / 2));
    assert_int_equal(errno, ENOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_is_zeroed_at_every_size),
        cmocka_unit_test(test_table_refuses_a_product_that_does_not_fit),
        cmocka_unit_test(test_table_maps_zeros_of_every_size),
        cmocka_unit_test(test_table_refuses_more_than_an_address_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
