/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers with units: what is accepted, what is refused and for which reason, that every number
 * survives being printed, and how numbers are rounded for people.
 */
#include "lib/rand.h"
#include "lib/unit.h"

#include "base/quantity.h"

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
    {FE_DECIMAL, "0", 0, "0"},
    {FE_DECIMAL, "1", 1000000000, "1"},
    {FE_DECIMAL, "0.99", 990000000, "0.99"},
    {FE_DECIMAL, "0.9900000", 990000000, "0.99"},
    {FE_DECIMAL, "1.000001", 1000001000, "1.000001"},
    {FE_DECIMAL, "0.000000001", 1, "0.000000001"},
    {FE_DECIMAL, "10000.05", UINT64_C(10000050000000), "10000.05"},
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
    {FE_SHARE, "%", "is not a number"},
    {FE_DECIMAL, "1.", "is not a number"},
    {FE_DECIMAL, ".9", "is not a number"},
    {FE_DECIMAL, "inf", "is not a number"},
    {FE_DECIMAL, "1K", "is not a plain number"},
    {FE_DECIMAL, "0.0000000001", "is not a whole number of 0.000000001"},
    {FE_DECIMAL, "18446744073.709551616", "is too large"},
};

/* Spans: what stands behind len does not count, and a blank is refused. */
static const struct {
    enum fe_quantity q;
    const char *text;
    bool ok;
    uint64_t value;
} spans[] = {
    {FE_SIZE, "512", true, 512},
    {FE_SIZE, "4K", true, 4096},
    {FE_SIZE, "4KiB", true, 4096},
    {FE_SIZE, "4k", true, 4096},
    {FE_SIZE, "2M", true, 2 << 20},
    {FE_SIZE, "8G", true, UINT64_C(8) << 30},
    {FE_SIZE, "1T", true, UINT64_C(1) << 40},
    {FE_SIZE, "1KB", true, 1000},
    {FE_SIZE, "16MB", true, 16000000},
    {FE_SIZE, "8GB", true, UINT64_C(8000000000)},
    {FE_SIZE, "2TB", true, UINT64_C(2000000000000)},
    {FE_SIZE, "1.5K", true, 1536},
    {FE_SIZE, "0.5KB", true, 500},
    {FE_SIZE, "16777215T", true, UINT64_C(16777215) << 40},
    {FE_SIZE, "16777216T", false, 0},
    {FE_SIZE, "1.5", false, 0},
    {FE_SIZE, "0.3K", false, 0},
    {FE_SIZE, "K", false, 0},
    {FE_SIZE, "", false, 0},
    {FE_SIZE, "4 K", false, 0},
    {FE_SIZE, " 4K", false, 0},
    {FE_SIZE, "4K\t", false, 0},
    {FE_SIZE, "4Kb", false, 0},
    {FE_SIZE, "4KK", false, 0},
    {FE_SIZE, "-4K", false, 0},
    {FE_SIZE, "4.K", false, 0},
    {FE_SIZE, ".5K", false, 0},
    {FE_SIZE, "1e3", false, 0},
    {FE_SIZE, "1,5K", false, 0},
    {FE_TIME, "0", true, 0},
    {FE_TIME, "1ns", true, 1},
    {FE_TIME, "25us", true, 25000},
    {FE_TIME, "1.5ms", true, 1500000},
    {FE_TIME, "2s", true, UINT64_C(2000000000)},
    {FE_TIME, "18446744073s", true, UINT64_C(18446744073000000000)},
    {FE_TIME, "18446744074s", false, 0},
    {FE_TIME, "0.5ns", false, 0},
    {FE_TIME, "1", false, 0},
    {FE_TIME, "1 s", false, 0},
    {FE_TIME, "1m", false, 0},
    {FE_TIME, "1sec", false, 0},
    {FE_SHARE, "12.5%", true, 125000},
    {FE_SHARE, "0.0001%", true, 1},
    {FE_SHARE, "50", false, 0},
    {FE_SHARE, "0.00001%", false, 0},
    {FE_DECIMAL, "0.99", true, 990000000},
    {FE_DECIMAL, " 1", false, 0},
    {FE_DECIMAL, "nan", false, 0},
};

static void test_quantity_takes_what_is_good(void **state)
{
    (void)state;
    for (size_t i = 0; i < ft_array_len(goods); i++) {
        const struct good *g = &goods[i];
        struct fe_err err = {""};
        uint64_t value = 1;
        char text[FE_VALUE_MAX];
        if (fe_quantity_parse(g->q, g->text, &value, &err) != 0)
            fail_msg("\"%s\" %s", g->text, err.text);
        fe_quantity_print(g->q, value, text, sizeof text);
        if (value != g->value || strcmp(text, g->canonical) != 0)
            fail_msg("\"%s\" gave %llu, \"%s\"", g->text, (unsigned long long)value, text);
    }
}

static void test_quantity_refuses_with_a_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < ft_array_len(bads); i++) {
        struct fe_err err = {""};
        uint64_t value = 4711;
        if (fe_quantity_parse(bads[i].q, bads[i].text, &value, &err) != -EINVAL)
            fail_msg("\"%s\" was taken", bads[i].text);
        assert_string_equal(err.text, bads[i].why);
        assert_int_equal(value, 4711);
    }
}

static void test_quantity_parses_spans(void **state)
{
    (void)state;
    for (size_t i = 0; i < ft_array_len(spans); i++) {
        size_t len = strlen(spans[i].text);
        uint64_t value = 4711;
        char more[32];
        snprintf(more, sizeof more, "%s4K", spans[i].text);
        bool ok = fe_quantity_parse_span(spans[i].q, more, len, &value);
        if (ok != spans[i].ok || value != (ok ? spans[i].value : 4711))
            fail_msg("\"%s\": %s %llu", spans[i].text, ok ? "taken as" : "refused",
                     (unsigned long long)value);
    }
}

static void check_round_trip(enum fe_quantity q, uint64_t value)
{
    char text[FE_VALUE_MAX];
    uint64_t again = ~value;
    fe_quantity_print(q, value, text, sizeof text);
    if (fe_quantity_parse(q, text, &again, NULL) != 0 || again != value)
        fail_msg("quantity %d: %llu -> \"%s\" -> %llu", q, (unsigned long long)value, text,
                 (unsigned long long)again);
}

static void test_quantity_survives_printing(void **state)
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
static void test_quantity_takes_random_text_whole_or_not(void **state)
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
            if (fe_quantity_parse((enum fe_quantity)q, text, &value, NULL) == 0) {
                check_round_trip((enum fe_quantity)q, value);
                taken++;
            }
        }
    }
    assert_true(taken > 1000);
}

static void test_quantity_ignores_the_locale(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "de_DE@euro",
                                        "tr_TR.UTF-8", "fr_FR.UTF-8"};
    bool any = false;
    for (size_t i = 0; i < ft_array_len(names); i++)
        if (setlocale(LC_ALL, names[i])) {
            any = true;
            test_quantity_takes_what_is_good(state);
            test_quantity_refuses_with_a_reason(state);
        }
    setlocale(LC_ALL, "C");
    if (!any)
        skip();
}

static void test_quantity_prints_into_a_short_buffer(void **state)
{
    char text[4] = "xxx";
    (void)state;
    fe_quantity_print(FE_SIZE, 123456789, text, sizeof text);
    assert_string_equal(text, "123");
}

static void test_quantity_is_rounded_for_people(void **state)
{
    static const struct {
        enum fe_quantity q;
        double value;
        const char *text;
    } samples[] = {
        {FE_SIZE, 0, "0 B"},
        {FE_SIZE, 512, "512 B"},
        {FE_SIZE, 4096, "4 KiB"},
        {FE_SIZE, 12288000, "11.72 MiB"},
        {FE_SIZE, 1023 * 1024, "1023 KiB"},
        {FE_SIZE, 8589934592, "8 GiB"},
        {FE_SIZE, 1e15, "909.5 TiB"},
        {FE_TIME, 0.5, "0.5 ns"},
        {FE_TIME, 999, "999 ns"},
        {FE_TIME, 1000, "1 us"},
        {FE_TIME, 1250000, "1.25 ms"},
        {FE_TIME, 123456789, "123.5 ms"},
        {FE_TIME, 12345.6e9, "12346 s"},
        {FE_RATE, 14200000, "14.2 MB/s"},
        {FE_RATE, 30000, "0.03 MB/s"},
        {FE_RATE, 3.2e9, "3200 MB/s"},
    };
    char text[FE_ROUNDED_MAX];
    (void)state;
    for (size_t i = 0; i < ft_array_len(samples); i++)
        assert_string_equal(fe_quantity_round(samples[i].q, samples[i].value, text),
                            samples[i].text);
    assert_string_equal(fe_quantity_unit(FE_TIME, 2.5e6).name, "ms");
    assert_true(fe_quantity_unit(FE_SIZE, 1048576).size == 1048576);
}

static void test_quantity_has_as_many_digits(void **state)
{
    static const struct {
        double value;
        int digits;
        const char *text;
    } samples[] = {
        {4, 3, "4.00"},        {49.07, 3, "49.1"},    {818.4, 3, "818"},     {12345.6, 3, "12346"},
        {0.01412, 3, "0.0141"}, {9.994, 3, "9.99"},   {9.996, 3, "10.0"},    {99.96, 3, "100"},
        {0.09994, 3, "0.0999"}, {0.09996, 3, "0.100"}, {0.9996, 3, "1.00"},  {-3.127, 3, "-3.13"},
        {0, 3, "0"},           {375, 4, "375.0"},     {0.01096, 4, "0.01096"}, {7, 1, "7"},
        {1e-30, 3, "0.000000000"},
    };
    char text[FE_ROUNDED_MAX];
    (void)state;
    for (size_t i = 0; i < ft_array_len(samples); i++)
        assert_string_equal(fe_digits_text(samples[i].value, samples[i].digits, text),
                            samples[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantity_takes_what_is_good),
        cmocka_unit_test(test_quantity_refuses_with_a_reason),
        cmocka_unit_test(test_quantity_parses_spans),
        cmocka_unit_test(test_quantity_survives_printing),
        cmocka_unit_test(test_quantity_takes_random_text_whole_or_not),
        cmocka_unit_test(test_quantity_ignores_the_locale),
        cmocka_unit_test(test_quantity_prints_into_a_short_buffer),
        cmocka_unit_test(test_quantity_is_rounded_for_people),
        cmocka_unit_test(test_quantity_has_as_many_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
