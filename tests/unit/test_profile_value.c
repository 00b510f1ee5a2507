/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers with units: what is taken, what is refused and why, and that every number
 * survives being printed.
 */
#include "lib/rand.h"
#include "lib/unit.h"

#include "profile/value.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>

struct good {
    enum fe_quantity q;
    const char *text;
    uint64_t value;
    const char *canonical;
};

static const struct good goods[] = {
    {FE_COUNT, "0", 0, "0"},
    {FE_COUNT, "007", 7, "7"},
    {FE_COUNT, "2.0", 2, "2"},
    {FE_COUNT, "18446744073709551615", UINT64_MAX, "18446744073709551615"},
    {FE_SIZE, "0", 0, "0"},
    {FE_SIZE, "512", 512, "512"},
    {FE_SIZE, "512B", 512, "512"},
    {FE_SIZE, "4K", 4096, "4K"},
    {FE_SIZE, "4k", 4096, "4K"},
    {FE_SIZE, "4KiB", 4096, "4K"},
    {FE_SIZE, "4096", 4096, "4K"},
    {FE_SIZE, "4KB", 4000, "4KB"},
    {FE_SIZE, "4kB", 4000, "4KB"},
    {FE_SIZE, "1000", 1000, "1KB"},
    {FE_SIZE, "2M", 2097152, "2M"},
    {FE_SIZE, "2MiB", 2097152, "2M"},
    {FE_SIZE, "2MB", 2000000, "2MB"},
    {FE_SIZE, "1.5M", 1572864, "1536K"},
    {FE_SIZE, "8G", UINT64_C(8) << 30, "8G"},
    {FE_SIZE, "8GB", UINT64_C(8000000000), "8GB"},
    {FE_SIZE, "8 GB", UINT64_C(8000000000), "8GB"},
    {FE_SIZE, " 8GB\t", UINT64_C(8000000000), "8GB"},
    {FE_SIZE, "7.5GB", UINT64_C(7500000000), "7500MB"},
    {FE_SIZE, "1T", UINT64_C(1) << 40, "1T"},
    {FE_SIZE, "1TB", UINT64_C(1000000000000), "1TB"},
    {FE_SIZE, "1TiB", UINT64_C(1) << 40, "1T"},
    {FE_SIZE, "0.5K", 512, "512"},
    {FE_SIZE, "0.00K", 0, "0"},
    {FE_SIZE, "1.500000000000000000000000000000K", 1536, "1536"},
    {FE_SIZE, "16777215T", UINT64_MAX - (UINT64_C(1) << 40) + 1, "16777215T"},
    {FE_SIZE, "0.0009765625T", UINT64_C(1) << 30, "1G"},
    {FE_TIME, "0", 0, "0"},
    {FE_TIME, "0s", 0, "0"},
    {FE_TIME, "1ns", 1, "1ns"},
    {FE_TIME, "25us", 25000, "25us"},
    {FE_TIME, "25000ns", 25000, "25us"},
    {FE_TIME, "1.5ms", 1500000, "1500us"},
    {FE_TIME, "2.5 ms", 2500000, "2500us"},
    {FE_TIME, "0.000001ms", 1, "1ns"},
    {FE_TIME, "3600s", UINT64_C(3600000000000), "3600s"},
    {FE_RATE, "0", 0, "0"},
    {FE_RATE, "1B/s", 1, "1B/s"},
    {FE_RATE, "41MB/s", 41000000, "41MB/s"},
    {FE_RATE, "1.216MB/s", 1216000, "1216KB/s"},
    {FE_RATE, "400MT/s", 400000000, "400MB/s"},
    {FE_RATE, "1GT/s", 1000000000, "1GB/s"},
    {FE_RATE, "9KT/s", 9000, "9KB/s"},
    {FE_RATE, "1kB/s", 1000, "1KB/s"},
    {FE_RATE, "1MiB/s", 1048576, "1048576B/s"},
    {FE_SHARE, "0", 0, "0%"},
    {FE_SHARE, "7%", 70000, "7%"},
    {FE_SHARE, "12.5%", 125000, "12.5%"},
    {FE_SHARE, "12.50 %", 125000, "12.5%"},
    {FE_SHARE, "0.0001%", 1, "0.0001%"},
    {FE_SHARE, "7.0203%", 70203, "7.0203%"},
    {FE_SHARE, "100%", 1000000, "100%"},
};

static const struct {
    enum fe_quantity q;
    const char *text, *why;
} bads[] = {
    {FE_COUNT, "", "is empty"},
    {FE_COUNT, " \t", "is empty"},
    {FE_COUNT, "-1", "is negative"},
    {FE_COUNT, "+1", "is not a number"},
    {FE_COUNT, "abc", "is not a number"},
    {FE_COUNT, "0x10", "is not a plain number"},
    {FE_COUNT, "1e3", "is not a plain number"},
    {FE_COUNT, "4K", "is not a plain number"},
    {FE_COUNT, "1 2", "is not a plain number"},
    {FE_COUNT, "1.5", "is not a whole number"},
    {FE_COUNT, "1.", "is not a number"},
    {FE_COUNT, ".5", "is not a number"},
    {FE_COUNT, "18446744073709551616", "is too large"},
    {FE_COUNT, "999999999999999999999999999999999999999999999999", "is too large"},
    {FE_SIZE, "nan", "is not a number"},
    {FE_SIZE, "4X", "has an unknown unit \"X\" (known: K M G T, KB MB GB TB)"},
    {FE_SIZE, "4Kb", "has an unknown unit \"Kb\" (known: K M G T, KB MB GB TB)"},
    {FE_SIZE, "1,5K", "has an unknown unit \",5K\" (known: K M G T, KB MB GB TB)"},
    {FE_SIZE, "4K 4K", "has an unknown unit \"K 4K\" (known: K M G T, KB MB GB TB)"},
    {FE_SIZE, "0.3K", "is not a whole number of bytes"},
    {FE_SIZE, "1.0000001K", "is not a whole number of bytes"},
    {FE_SIZE, "16777216T", "is too large"},
    {FE_SIZE, "340282366920938463463374607431768211455T", "is too large"},
    {FE_SIZE, "0.0000000000000000001T", "has too many decimals"},
    {FE_TIME, "5", "has no unit (ns, us, ms or s)"},
    {FE_TIME, "5m", "has an unknown unit \"m\" (known: ns us ms s)"},
    {FE_TIME, "5 US", "has an unknown unit \"US\" (known: ns us ms s)"},
    {FE_TIME, "5ususususususususususus",
     "has an unknown unit \"usususususususus\" (known: ns us ms s)"},
    {FE_TIME, "0.5ns", "is not a whole number of ns"},
    {FE_TIME, "18446744074s", "is too large"},
    {FE_TIME, "infs", "is not a number"},
    {FE_RATE, "5", "has no unit (KB/s, MB/s, GB/s or MT/s)"},
    {FE_RATE, "5MB", "has an unknown unit \"MB\" (known: B/s KB/s MB/s GB/s MT/s)"},
    {FE_RATE, "5Mb/s", "has an unknown unit \"Mb/s\" (known: B/s KB/s MB/s GB/s MT/s)"},
    {FE_RATE, "0.0001KB/s", "is not a whole number of bytes a second"},
    {FE_SHARE, "7", "has no unit (%)"},
    {FE_SHARE, "0.07", "has no unit (%)"},
    {FE_SHARE, "7.00001%", "is not a whole number of 0.0001%"},
    {FE_SHARE, "7%%", "has an unknown unit \"%%\" (known: %)"},
};

static void test_value_takes_what_is_good(void **state)
{
    (void)state;
    for (size_t i = 0; i < ft_array_len(goods); i++) {
        const struct good *g = &goods[i];
        struct fe_err err = {""};
        uint64_t value = 1;
        char text[FE_VALUE_MAX];
        if (fe_value_parse(g->q, g->text, &value, &err) != 0)
            fail_msg("\"%s\" %s", g->text, err.text);
        fe_value_print(g->q, value, text, sizeof text);
        if (value != g->value || strcmp(text, g->canonical) != 0)
            fail_msg("\"%s\" gave %llu, \"%s\"", g->text, (unsigned long long)value, text);
    }
}

static void test_value_refuses_with_a_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < ft_array_len(bads); i++) {
        struct fe_err err = {""};
        uint64_t value = 4711;
        if (fe_value_parse(bads[i].q, bads[i].text, &value, &err) != -EINVAL)
            fail_msg("\"%s\" was taken", bads[i].text);
        assert_string_equal(err.text, bads[i].why);
        assert_int_equal(value, 4711);
    }
}

static void check_round_trip(enum fe_quantity q, uint64_t value)
{
    char text[FE_VALUE_MAX];
    uint64_t again = ~value;
    fe_value_print(q, value, text, sizeof text);
    if (fe_value_parse(q, text, &again, NULL) != 0 || again != value)
        fail_msg("quantity %d: %llu -> \"%s\" -> %llu", q, (unsigned long long)value, text,
                 (unsigned long long)again);
}

static void test_value_survives_printing(void **state)
{
    static const uint64_t round[] = {1, 10, 1000, 1024, 1000000, 1 << 20, 1000000000, 1 << 30,
                                     UINT64_C(1) << 40, UINT64_C(1000000000000), 512, 12500};
    struct ft_rand rand = {.seed = 7};
    (void)state;
    for (int q = 0; q < FE_N_QUANTITIES; q++) {
        check_round_trip((enum fe_quantity)q, 0);
        check_round_trip((enum fe_quantity)q, UINT64_MAX);
        for (int i = 0; i < 20000; i++) {
            uint64_t any = ft_rand(&rand) >> ft_below(&rand, 64);
            uint64_t factor = round[ft_below(&rand, ft_array_len(round))];
            check_round_trip((enum fe_quantity)q, any);
            check_round_trip((enum fe_quantity)q, any % (UINT64_MAX / factor) * factor);
        }
    }
}

/* What the parser takes it must take whole: no text of these characters may be accepted
 * and mean something else when printed. */
static void test_value_takes_random_text_whole_or_not(void **state)
{
    static const char letters[] = "0123456789..  KMGTBiuµmns/%-+eExX";
    struct ft_rand rand = {.seed = 8};
    unsigned taken = 0;
    (void)state;
    for (int i = 0; i < 300000; i++) {
        char text[12];
        size_t len = ft_below(&rand, sizeof text);
        for (size_t k = 0; k < len; k++)
            text[k] = letters[ft_below(&rand, sizeof letters - 1)];
        text[len] = '\0';
        for (int q = 0; q < FE_N_QUANTITIES; q++) {
            uint64_t value;
            if (fe_value_parse((enum fe_quantity)q, text, &value, NULL) == 0) {
                check_round_trip((enum fe_quantity)q, value);
                taken++;
            }
        }
    }
    assert_true(taken > 1000);
}

static void test_value_ignores_the_locale(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "de_DE@euro",
                                        "tr_TR.UTF-8", "fr_FR.UTF-8"};
    bool any = false;
    for (size_t i = 0; i < ft_array_len(names); i++)
        if (setlocale(LC_ALL, names[i])) {
            any = true;
            test_value_takes_what_is_good(state);
            test_value_refuses_with_a_reason(state);
        }
    setlocale(LC_ALL, "C");
    if (!any)
        skip();
}

static void test_value_prints_into_a_short_buffer(void **state)
{
    char text[4] = "xxx";
    (void)state;
    fe_value_print(FE_SIZE, 123456789, text, sizeof text);
    assert_string_equal(text, "123");
    assert_string_equal(fe_value_units(FE_TIME), "ns us ms s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_value_takes_what_is_good),
        cmocka_unit_test(test_value_refuses_with_a_reason),
        cmocka_unit_test(test_value_survives_printing),
        cmocka_unit_test(test_value_takes_random_text_whole_or_not),
        cmocka_unit_test(test_value_ignores_the_locale),
        cmocka_unit_test(test_value_prints_into_a_short_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
