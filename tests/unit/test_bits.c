/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bit arrays against an array of bool.
 */
#include "base/bits.h"
#include "lib/rand.h"
#include "lib/unit.h"

#include <stdlib.h>

enum { N = 300 };

static void test_bits_words_round_up(void **state)
{
    (void)state;
    assert_int_equal(fe_bits_words(0), 0);
    assert_int_equal(fe_bits_words(1), 1);
    assert_int_equal(fe_bits_words(64), 1);
    assert_int_equal(fe_bits_words(65), 2);
    assert_true(fe_bits_words(UINT64_MAX) == UINT64_C(1) << 58);
}

static uint64_t plain_get(const bool *plain, uint64_t from, uint32_t n)
{
    uint64_t word = 0;
    for (uint32_t i = 0; i < n; i++)
        word |= (uint64_t)plain[from + i] << i;
    return word;
}

static void test_bits_agree_with_an_array_of_bool(void **state)
{
    (void)state;
    uint64_t bits[(N + 63) / 64] = {0};
    bool plain[N] = {false};
    struct ft_rand r = {.seed = 7};
    for (int step = 0; step < 20000; step++) {
        uint32_t i = (uint32_t)ft_between(&r, 0, N - 1);
        switch (ft_between(&r, 0, 3)) {
        case 0:
            fe_bit_set(bits, i);
            plain[i] = true;
            break;
        case 1:
            fe_bit_put(bits, i, i % 3 == 0);
            plain[i] = i % 3 == 0;
            break;
        default:
            fe_bit_clear(bits, i);
            plain[i] = false;
        }
        uint32_t n = (uint32_t)ft_between(&r, 1, 64);
        uint64_t from = ft_between(&r, 0, N - n);
        assert_int_equal(fe_bit(bits, i), plain[i]);
        assert_true(fe_bits_get(bits, from, n) == plain_get(plain, from, n));
    }
}

/* Sets the bits of a range and no other one. */
static void test_bits_set_a_range(void **state)
{
    (void)state;
    struct ft_rand r = {.seed = 3};
    for (int i = 0; i < 2000; i++) {
        uint64_t bits[4] = {0}, from = ft_between(&r, 0, 255), n = ft_between(&r, 0, 256 - from);
        fe_bits_set(bits, from, n);
        for (uint64_t k = 0; k < 256; k++)
            assert_int_equal(fe_bit(bits, k), k >= from && k < from + n);
    }
}

static void test_bits_get_stays_inside(void **state)
{
    (void)state;
    uint64_t *bits = malloc(2 * sizeof *bits); /* a sanitizer sees a third word */
    assert_non_null(bits);
    bits[0] = UINT64_C(1) << 63;
    bits[1] = 1;
    assert_true(fe_bits_get(bits, 0, 64) == bits[0]);
    assert_true(fe_bits_get(bits, 64, 64) == 1);
    assert_true(fe_bits_get(bits, 63, 2) == 3);
    assert_true(fe_bits_get(bits, 65, 63) == 0);
    assert_true(fe_bits_get(bits, 1, 64) == UINT64_C(3) << 62);
    free(bits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits_words_round_up),
        cmocka_unit_test(test_bits_agree_with_an_array_of_bool),
        cmocka_unit_test(test_bits_set_a_range),
        cmocka_unit_test(test_bits_get_stays_inside),
    };
    return cmocka_run_group_tests_name("bits", tests, NULL, NULL);
}
