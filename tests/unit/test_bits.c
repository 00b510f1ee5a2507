/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bit arrays against an array of bool.
 */
#include "base/bits.h"
#include "lib/rand.h"
#include "lib/unit.h"

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

static uint64_t plain_next(const bool *plain, uint64_t from, uint64_t end)
{
    while (from < end && !plain[from])
        from++;
    return from;
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
        default: /* more often than set, so that gaps of more than a word come about */
            fe_bit_clear(bits, i);
            plain[i] = false;
        }
        uint64_t from = ft_between(&r, 0, N), end = ft_between(&r, from, N);
        assert_int_equal(fe_bit(bits, i), plain[i]);
        assert_int_equal(fe_bits_next(bits, from, end), plain_next(plain, from, end));
    }
}

static void test_bits_next_finds_the_ends_of_words(void **state)
{
    (void)state;
    uint64_t bits[4] = {0};
    static const uint32_t at[] = {0, 63, 64, 127, 128, 255};
    for (unsigned k = 0; k < sizeof at / sizeof at[0]; k++) {
        memset(bits, 0, sizeof bits);
        fe_bit_set(bits, at[k]);
        assert_int_equal(fe_bits_next(bits, 0, 256), at[k]);
        assert_int_equal(fe_bits_next(bits, at[k], 256), at[k]);
        assert_int_equal(fe_bits_next(bits, at[k] + 1, 256), 256);
        assert_int_equal(fe_bits_next(bits, 0, at[k]), at[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits_words_round_up),
        cmocka_unit_test(test_bits_agree_with_an_array_of_bool),
        cmocka_unit_test(test_bits_next_finds_the_ends_of_words),
    };
    return cmocka_run_group_tests_name("bits", tests, NULL, NULL);
}
